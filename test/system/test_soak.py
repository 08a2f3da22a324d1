"""The soak: a slice of it with the real nodes, and a verdict that can fail."""

import io
import json
from argparse import Namespace
from dataclasses import asdict, replace

import numpy as np
import pytest
from checkpoint import Checkpoint
from ros_harness import own_domain
from soak_verdict import Outcome, Row, figures, growth, leaked, verdict
from soak_witness import Tally, Witness

pytest.importorskip("matplotlib", reason="the plot needs matplotlib")

import soak  # noqa: E402  isort: skip
import soak_verdict  # noqa: E402  isort: skip
from rich.console import Console  # noqa: E402  isort: skip

PERIOD = 0.01  # [s]


def play(alarms=(), pushes=((1.0, 1.2),), end=3.0):
    """A witness of a script: spans of time in which the detector tells a touch, and of pushes."""
    witness = Witness(np.full(2, 10.0), 100.0, PERIOD)
    for k in range(round(end / PERIOD)):
        t = k * PERIOD
        witness.truth(t, float(any(a <= t < b for a, b in pushes)))
        witness.word(t, "COLLISION" if any(a <= t < b for a, b in alarms) else "CLEAR")
    return witness.tally


def test_a_push_that_is_told_is_no_false_alarm():
    tally = play(alarms=[(1.05, 1.25)])
    assert (tally.pushes, tally.told, tally.false_alarms) == (1, 1, 0)
    assert tally.delays == pytest.approx([0.05])


@pytest.mark.parametrize(
    "alarms", [[(0.5, 0.6)], [(1.05, 2.0)], [(0.9, 1.2)]], ids=["before", "too long", "too early"]
)
def test_alarms_without_a_push_are_counted(alarms):
    assert play(alarms).false_alarms == 1


def test_a_push_that_is_not_told_is_noticed():
    tally = play()
    assert (tally.pushes, tally.told, tally.cut) == (1, 0, 0)


@pytest.mark.parametrize("end", [1.1, 1.3], ids=["under way", "just over"])
def test_a_push_is_cut_only_if_it_may_still_have_been_told(end):
    tally = play(end=end)
    assert (tally.pushes, tally.told, tally.cut) == (1, 0, 1)
    assert play(alarms=[(1.05, 1.25)], end=end).cut == int(end < 1.15)  # judged 0.1 s later


@pytest.mark.parametrize("pushed", [False, True])
def test_running_into_a_joints_end_is_no_false_alarm_but_counted(pushed):
    witness = Witness(np.full(2, 10.0), 100.0, PERIOD)
    for k in range(200):
        witness.truth(k * PERIOD, float(pushed and k < 10))
        witness.posture(k * PERIOD, 0.5 if k < 50 else 0.0, "elbow")
        witness.word(k * PERIOD, "COLLISION" if k in (60, 61) else "CLEAR")
    found = witness.tally
    assert (found.stops, found.carried, found.false_alarms) == (not pushed, pushed, 0)
    assert found.stops_at[0].startswith("elbow at 0.500 s")


def faulty(alarms=(), names=(), end=8.0):
    """A witness of a fault from 1 to 3 s: when the detector tells a touch, and what kind when."""
    witness = Witness(np.full(2, 10.0), 100.0, PERIOD)
    for k in range(round(end / PERIOD)):
        t = k * PERIOD
        witness.truth(t, 0.0)
        if k in (100, 300):
            witness.fault(t, "bias" if k == 100 else "")
        for at, kind in names:
            if k == round(at / PERIOD):
                witness.name(t, kind)
        witness.word(t, "COLLISION" if any(a <= t < b for a, b in alarms) else "CLEAR")
    return witness.tally


def test_a_fault_is_noticed_by_an_alarm_or_a_name_and_is_no_false_alarm():
    tally = faulty([(1.1, 4.0)], [(1.5, "payload"), (2.0, "bias"), (2.5, "bias")])
    assert (tally.injected, tally.noticed, tally.named, tally.false_alarms) == (1, 1, 1, 0)
    assert faulty(names=[(2.0, "friction")]).noticed == 1


@pytest.mark.parametrize("alarms", [[], [(0.5, 0.6)], [(6.0, 6.1)]])
def test_a_fault_that_nobody_noticed_is_told(alarms):
    tally = faulty(alarms)
    assert (tally.noticed, tally.unnoticed_at) == (0, ["bias"])
    assert tally.false_alarms == len(alarms)  # before it, and long after it


def test_the_witness_sees_bad_torques_residuals_and_unknown():
    witness = Witness(np.full(2, 10.0), 100.0, PERIOD)
    for t, tau in enumerate([0.0, 1.0, 5.0, np.nan, 11.0]):
        witness.truth(t * PERIOD, 0.0)
        witness.command(np.array([0.0, tau]), t * PERIOD)
    witness.residual(0.05, np.array([np.inf, 0.0]))
    witness.word(0.1, "UNKNOWN")
    witness.word(0.3, "CLEAR")
    assert witness.tally.steps == 1  # from 1 to 5 in 10 ms; what is not finite is counted beside
    assert witness.tally.bad_numbers == 3
    assert witness.tally.unknown == pytest.approx(0.2)


def steps(taus, seen=True, wall=PERIOD, **how):
    """How many of these torques, one a period, are steps; seen: whether samples come, too."""
    witness = Witness(np.full(2, 10.0), 100.0, PERIOD, **how)  # 1 N m in a period
    for k, tau in enumerate(taus):
        if seen or not k:
            witness.truth(k * PERIOD, 0.0)
        witness.command(np.array([0.0, tau]), k * wall)
    return witness.tally.steps


def test_a_step_of_the_torque_is_told_exactly_where_it_can_be():
    assert steps([0.0, 1.0, 0.0]) == 0
    assert steps([0.0, 1.1, 0.0]) == 2
    assert steps([0.0, 1.9, 3.0], apart=PERIOD) == 0  # by topics a command may come early
    assert steps([0.0, 2.1, 3.0], apart=PERIOD) == 1


def test_wall_time_is_an_excuse_only_for_a_controller_that_sees_nothing():
    assert steps([0.0, 5.0], wall=0.1) == 1
    assert steps([0.0, 5.0], wall=0.1, seen=False) == 0
    assert steps([0.0, 5.0], wall=0.01, seen=False) == 1


def rows(per_hour, files=0.0, span=1200.0, latency=0.1):
    """What was seen each second of a process that grows."""
    return [
        Row(
            t,
            t,
            t > 100.0,
            {"node": [200.0 + per_hour * t / 3600.0, 9, 20 + int(files * t)]},
            *3 * [latency],
        )
        for t in np.arange(0.0, span).tolist()
    ]


def tally(pushes=4, told=4, **more):
    return Tally(0.0, 10.0, pushes=pushes, told=told, **more)


def good_outcome():
    return Outcome("wall", "composed", 1000.0, [tally()], 1000, 0)


def missed(found):
    return [figure.figure for figure in found if not figure.passed]


def test_the_verdict_passes_what_is_good():
    found = figures(rows(0.1), good_outcome())
    assert missed(found) == [] and verdict(found) == "passed"


def test_the_verdict_says_what_it_did_not_judge():
    found = figures(rows(2.0, span=300.0), good_outcome())
    assert missed(found) == [] and verdict(found) == "passed, memory not judged: too short"
    assert verdict(figures(rows(2.0), good_outcome())) == "failed"
    settled = (1.0 - soak.SETTLED) * soak.TIMES["wall"] - soak.STARTING
    assert settled > soak_verdict.JUDGED  # without --time it is judged


def test_free_running_no_cycle_can_be_missed_and_no_answer_be_late():
    outcome = good_outcome()
    outcome.mode, outcome.missed = "free", 900
    found = {figure.figure: figure for figure in figures(rows(0.0, latency=5.0), outcome)}
    assert found["cycles missed"].bar == "(free-running: none can be)"
    assert all(figure.passed for figure in found.values())


def test_every_push_has_to_be_told_but_for_those_cut_short():
    lives = [tally(4, 3, cut=1), tally(4, 4)]
    assert missed(figures(rows(0.0), Outcome("wall", "composed", 1000.0, lives))) == []
    lives[1].told = 3
    assert missed(figures(rows(0.0), Outcome("wall", "composed", 1000.0, lives))) == [
        "pushes told"
    ]


def test_the_verdict_finds_leaks():
    slope, span = growth(rows(2.0), "node")
    assert slope == pytest.approx(2.0) and span > 1000.0
    assert missed(figures(rows(2.0), good_outcome())) == ["node: memory grows by"]
    assert missed(figures(rows(2.0, span=300.0), good_outcome())) == []  # too short to tell
    assert leaked(rows(0.0, files=0.01), "node", 2) > 5
    assert missed(figures(rows(0.0, files=0.01), good_outcome())) == [
        "node: threads, files leaked"
    ]
    short = rows(0.0, files=1.0, span=150.0)
    assert missed(figures(short, good_outcome())) == []  # a visiting node holds files, too


@pytest.mark.parametrize(
    ("change", "figure"),
    [
        ({"tallies": [tally(false_alarms=1)]}, "false alarms"),
        ({"tallies": [tally(pushes=5)]}, "pushes told"),
        ({"tallies": [tally(stops=1)]}, "times at a joint's end by itself"),
        ({"tallies": [tally(0, 0)]}, "pushes told"),
        ({"tallies": [tally(bad_numbers=1)]}, "bad numbers"),
        ({"tallies": [tally(steps=1)]}, "torque steps beyond the rate limit"),
        ({"tallies": [tally(injected=1, unnoticed_at=["bias"])]}, "faults and payloads noticed"),
        ({"unhealed": ["bias"]}, "of these, the arm did not go on"),
        ({"missed": 20}, "cycles missed"),
        ({"safe_holds": ["silence"]}, "safe holds"),
        ({"wrong_settings": ["gain"]}, "settings wrongly taken or refused"),
        ({"wrong_ends": ["guest"]}, "nodes that ended as they should not"),
    ],
)
def test_the_verdict_finds_everything_else(change, figure):
    outcome = good_outcome()
    for name, value in change.items():
        setattr(outcome, name, value)
    assert missed(figures(rows(0.0), outcome)) == [figure]


def test_the_verdict_finds_answers_that_come_late():
    found = figures(rows(0.0, latency=1.1), good_outcome())  # [ms], at 1 kHz
    assert missed(found) == ["latency, 99 %: median"]


@pytest.mark.parametrize(
    ("mode", "processes", "span", "rate"),
    [("free", False, 60.0, 500.0), ("wall", True, 4.0, 500.0)],
    ids=["free, composed", "wall clock, processes"],
)
def test_a_slice(mode, processes, span, rate, tmp_path, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(own_domain()))
    for name, value in {"YOUNG": 0.5, "PUSH": 0.7, "SETTING": 0.3, "SOONEST": 3.0}.items():
        monkeypatch.setattr(soak, name, value)
    monkeypatch.setattr(soak, "RESTARTING", 0.5 if mode == "free" else 0.0)
    arguments = Namespace(time=span, rate=rate, processes=processes, out=tmp_path / "soak", seed=3)
    found = soak.soak(arguments, mode, Console(file=io.StringIO()))
    busy = {"cycles missed", "safe holds", "latency, 99 %: median"}
    assert set(missed(found)) <= busy, [figure for figure in found if not figure.passed]
    assert f"{mode}, {'processes' if processes else 'composed'}" in found[0].figure
    assert (tmp_path / f"soak_{mode}.png").stat().st_size > 10_000


def made(tmp_path, kept):
    arguments = Namespace(time=100.0, rate=500.0, processes=False, out=tmp_path / "soak", seed=3)
    return soak.Soak(arguments, "free", tmp_path, kept)


def test_a_soak_goes_on_with_what_was_counted(tmp_path):
    kept = Checkpoint(None, {})
    first, whole = made(tmp_path, kept), made(tmp_path, Checkpoint(None, {}))
    first.outcome.tallies = [Tally(10.0, 50.0, pushes=3, told=2, false_alarms=1)]
    first.outcome.wrong_ends.append("the guest")
    first.rows = rows(0.0, span=5.0)
    file = first.out.with_suffix(".rows")
    file.write_text("".join(json.dumps(asdict(row)) + "\n" for row in [*first.rows, rows(0.0)[9]]))
    drawn = [first.random.random(), first.random.random()]
    first.keep()
    second = made(tmp_path, kept)
    assert second.outcome == first.outcome and second.rows == first.rows
    assert second.progress == pytest.approx(0.4) and second.sitting == 1 and not second.ended
    assert [*drawn, second.random.random()] == [whole.random.random() for _ in range(3)]
    assert {"pushes told", "false alarms", "nodes that ended as they should not"} <= set(
        missed(figures(second.rows, second.outcome))
    )


def test_a_soak_that_ended_is_not_run_again_but_told(tmp_path, monkeypatch):
    kept = Checkpoint(None, {})
    run = made(tmp_path, kept)
    run.outcome.wrong_ends.append("composed: exit code 1")
    run.rows, run.ended = rows(0.0, span=5.0), True
    run.out.with_suffix(".rows").write_text(
        "".join(json.dumps(asdict(row)) + "\n" for row in run.rows)
    )
    run.keep()
    monkeypatch.setattr(soak, "plot", lambda *_: None)
    arguments = Namespace(time=100.0, rate=500.0, processes=False, out=tmp_path / "soak", seed=3)
    found = soak.soak(arguments, "free", Console(file=io.StringIO()), kept)
    assert "nodes that ended as they should not" in missed(found)


def test_memory_is_judged_within_each_sitting():
    first, second = rows(0.1, span=900.0), rows(0.1, span=900.0)
    second = [
        replace(row, wall=row.wall + 900.0, sitting=1, holds={"node": [350.0, 19, 40]})
        for row in second
    ]
    both = [*first, *second]
    slope, span = growth(both, "node")
    assert slope == pytest.approx(0.05, abs=0.01) and span == pytest.approx(1596.0)
    assert missed(figures(both, good_outcome())) == []
    leaking = [replace(row, sitting=1) for row in rows(0.0, files=0.01, span=900.0)]
    assert missed(figures([*first, *leaking], good_outcome())) == ["node: threads, files leaked"]
