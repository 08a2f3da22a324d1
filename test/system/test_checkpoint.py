"""Checkpoints of the long runs: all or nothing, of one commit and its options alone."""

import json

import checkpoint
import pytest
from checkpoint import Checkpoint

OPTIONS = {"program": "soak", "seed": 1}


@pytest.fixture(autouse=True)
def commit(monkeypatch):
    monkeypatch.setattr(checkpoint, "commit", lambda: "abc")


def kept(path, **state):
    made = Checkpoint(path, OPTIONS)
    made.state |= state
    made.save()
    return path


def test_a_run_goes_on_from_what_was_kept(tmp_path):
    path = kept(tmp_path / "run.json", done=[0.1, float("inf")], failures=["a push missed"])
    again = Checkpoint(path, OPTIONS)
    assert again.state == {"done": [0.1, float("inf")], "failures": ["a push missed"]}
    assert [file.name for file in tmp_path.iterdir()] == ["run.json"]


def test_what_cannot_be_written_leaves_the_last_one_as_it_was(tmp_path):
    path = kept(tmp_path / "run.json", done=1)
    again = Checkpoint(path, OPTIONS)
    again.state["done"] = object()
    with pytest.raises(TypeError):
        again.save()
    assert Checkpoint(path, OPTIONS).state == {"done": 1}


@pytest.mark.parametrize(
    ("options", "now", "said"),
    [
        ({"program": "soak", "seed": 2}, "abc", "seed 1, not 2"),
        ({"program": "soak"}, "abc", "seed 1, not None"),
        ({**OPTIONS, "hours": 3}, "abc", "hours None, not 3"),
        (OPTIONS, "abd", "commit abc, not abd"),
    ],
)
def test_a_checkpoint_of_others_is_refused_in_one_line(options, now, said, tmp_path, monkeypatch):
    path = kept(tmp_path / "run.json", done=1)
    monkeypatch.setattr(checkpoint, "commit", lambda: now)
    with pytest.raises(SystemExit, match=said) as refused:
        Checkpoint(path, options)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "{", "[]", json.dumps({"of": OPTIONS})])
def test_a_file_that_is_no_checkpoint_is_refused(text, tmp_path):
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(SystemExit, match="is no checkpoint"):
        Checkpoint(path, OPTIONS)
    assert path.read_text() == text


def test_without_a_file_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Checkpoint(None, OPTIONS).save()
    assert not list(tmp_path.iterdir())


def test_the_commit_is_that_of_the_code_and_its_changes(monkeypatch):
    monkeypatch.undo()
    answers = {"log": b"abc\n", "diff": b""}
    monkeypatch.setattr(checkpoint, "_git", lambda what, *_: answers[what])
    assert checkpoint.commit() == "abc"
    answers["diff"] = b"+ a line"
    one = checkpoint.commit()
    answers["diff"] = b"+ another"
    assert "abc" < one != checkpoint.commit()
