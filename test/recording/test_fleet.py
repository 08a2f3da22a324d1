"""`robodyn detect`: many recordings, in processes and on a Dask cluster, resumed, summed up."""

import json
from dataclasses import replace

import pytest
from recording_cases import robodyn, write_bag

from robodyn_ros.errors import ArgumentError
from robodyn_ros.recording import fleet
from robodyn_ros.recording.command import AnalysisOptions, analysed
from robodyn_ros.recording.fleet import Journal, Outcome, key_of, outcome_of, run_fleet, totals

pytest.importorskip("rosbags")
DURATION = 4.0  # [s]
TOUCHES = ((2.0, 2.2, 2),)


@pytest.fixture(scope="module")
def bags(tmp_path_factory):
    """Three recordings: touched, not touched, touched."""
    folder = tmp_path_factory.mktemp("fleet")
    return [
        write_bag(folder / f"run_{k}", truth=False, duration=DURATION, seed=k, touches=touches)
        for k, touches in enumerate((TOUCHES, (), TOUCHES))
    ]


def options_of(bags):
    return [AnalysisOptions(bag, robot="lwr_iii") for bag in bags]


def without_times(outcomes):
    return [replace(outcome, took=0.0) for outcome in outcomes]


def test_an_outcome_is_that_of_the_analysis(bags):
    options = options_of(bags)[0]
    outcome = outcome_of(options)
    with analysed(options) as analysis:
        wanted = analysis.events
        assert outcome.duration == pytest.approx(analysis.run.duration, abs=1e-3)
        assert outcome.samples == analysis.run.t.size
    assert [event["t"] for event in outcome.events] == [round(e.start, 4) for e in wanted]
    assert [event["level"] for event in outcome.events] == [e.level.name for e in wanted]
    assert len(wanted) == 1 and outcome.robot == "lwr_iii" and not outcome.error


def test_processes_give_what_this_one_gives(bags):
    told = []
    options = options_of(bags)
    alone = run_fleet(options)
    both = run_fleet(options, jobs=2, done=lambda outcome, resumed: told.append(resumed))
    assert without_times(both) == without_times(alone)
    assert told == [False] * 3
    assert [len(outcome.events) for outcome in alone] == [1, 0, 1]


def test_what_is_known_is_not_run_again(bags, tmp_path, monkeypatch):
    journal = Journal(tmp_path / "out.jsonl")
    options = options_of(bags)
    first = run_fleet(options[:2], journal)
    with journal.path.open("a") as file:
        file.write('{"path": "cut by a k')  # ill on its way
    ran = []
    real = fleet.outcome_of
    monkeypatch.setattr(fleet, "outcome_of", lambda one: ran.append(one.path) or real(one))
    told = []
    found = run_fleet(options, journal, done=lambda outcome, resumed: told.append(resumed))
    assert ran == [bags[2]] and found[:2] == first and told == [True, True, False]
    assert run_fleet(options, journal) == found and len(ran) == 1
    assert set(journal.read()) == {key_of(one) for one in options}


def test_a_change_of_recording_or_options_is_a_new_run(bags, tmp_path):
    params = tmp_path / "params.yaml"
    params.write_text("x")
    options = AnalysisOptions(bags[0], robot="lwr_iii", params=params)
    keys = {
        key_of(options),
        key_of(replace(options, gain=20.0)),
        key_of(replace(options, robot="")),
    }
    params.write_text("longer")
    keys.add(key_of(options))
    assert len(keys) == 4


def test_a_bad_recording_is_told_and_tried_again(bags, tmp_path):
    bad = tmp_path / "bad.mcap"
    bad.write_bytes(b"no bag")
    journal = Journal(tmp_path / "out.jsonl")
    options = options_of([bad, bags[1]])
    failed, good = run_fleet(options, journal)
    assert "cannot read the bag" in failed.error and not good.error
    assert list(journal.read()) == [key_of(options[1])]
    arm, everything = totals([failed, good])
    assert (arm.recordings, everything.recordings, everything.failed) == (1, 2, 1)


def test_the_summary_counts_by_arm():
    def outcome(robot, levels, faults=None, where="link_3"):
        events = tuple({"level": level, "where": where, "fault": ""} for level in levels)
        return Outcome("x", "k", robot, 1800.0, 100, 0.1, events, faults or {})

    first, second, everything = totals(
        [
            outcome("a", ["CONTACT", "COLLISION"]),
            outcome("a", ["CONTACT"], {"joint_stop": 1}, where=""),
            outcome("b", []),
            Outcome("y", error="damaged"),
        ]
    )
    assert (first.robot, first.contacts, first.collisions, first.hours) == ("a", 2, 1, 1.0)
    assert first.per_hour == 3.0 and first.links == {"link_3": 2, "": 1}
    assert first.faults == {"joint_stop": 1} and first.unknown == pytest.approx(0.1)
    assert (second.robot, second.per_hour) == ("b", 0.0)
    assert (everything.recordings, everything.failed, everything.hours) == (4, 1, 1.5)


def test_jobs_are_at_least_one(bags):
    with pytest.raises(ArgumentError, match="jobs"):
        run_fleet(options_of(bags), jobs=0)


def test_the_command_prints_one_summary(bags, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out.jsonl"
    words = ("detect", *bags, "--robot", "lwr_iii", "--out", out, "--jobs", 1)
    code, text, _ = robodyn(monkeypatch, capsys, *words, "--each")
    assert code == 0 and "lwr_iii" in text and "run_2" in text
    assert len(out.read_text().splitlines()) == 3
    code, text, _ = robodyn(monkeypatch, capsys, *words, "--json")
    facts = json.loads(text)
    assert code == 0 and len(out.read_text().splitlines()) == 3
    (total,) = facts["totals"]
    assert total["contacts"] + total["collisions"] == 2
    assert total["per_hour"] == pytest.approx(2 / total["hours"])
    bad = tmp_path / "bad.mcap"
    bad.write_bytes(b"no bag")
    code, text, error = robodyn(monkeypatch, capsys, *words, bad)
    assert code == 1 and "1 failed" in text and "1 of 4 recordings" in error
    monkeypatch.setattr(fleet, "CONNECT_TIME", 0.5)
    code, _, error = robodyn(monkeypatch, capsys, *words, "--again", "--dask", "tcp://127.0.0.1:9")
    assert code == 1 and ("no Dask scheduler" in error or "needs Dask" in error)
    assert "Traceback" not in error


@pytest.mark.parametrize("processes", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_dask_cluster_gives_the_same(bags, processes):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    options = options_of(bags)
    cluster = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=processes,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address=None,
    )
    with cluster:
        assert len(cluster.workers) == 2
        found = run_fleet(options, dask=cluster.scheduler_address)
    assert without_times(found) == without_times(run_fleet(options))
