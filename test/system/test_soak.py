"""The soak: a slice of it with the real nodes, and a verdict that can fail."""

import io
from argparse import Namespace

import numpy as np
import pytest
from ros_harness import own_domain
from soak_verdict import Outcome, Row, figures, growth, leaked
from soak_witness import Tally, Witness

pytest.importorskip("matplotlib", reason="the plot needs matplotlib")

import soak  # noqa: E402  isort: skip
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
    assert (tally.pushes, tally.told) == (1, 0)


def test_running_into_a_joints_end_is_no_false_alarm():
    witness = Witness(np.full(2, 10.0), 100.0, PERIOD)
    for k in range(200):
        witness.truth(k * PERIOD, 0.0)
        witness.posture(k * PERIOD, 0.5 if k < 50 else 0.0)
        witness.word(k * PERIOD, "COLLISION" if k in (60, 61) else "CLEAR")
    assert (witness.tally.stops, witness.tally.false_alarms) == (1, 0)


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


def rows(per_hour, files=0.0, span=1200.0):
    """What was seen each second of a process that grows."""
    return [
        Row(
            t,
            t,
            t > 100.0,
            {"node": [200.0 + per_hour * t / 3600.0, 9, 20 + int(files * t)]},
            *3 * [0.1],
        )
        for t in np.arange(0.0, span)
    ]


def tally(pushes=4, told=4, **more):
    return Tally(0.0, 10.0, pushes=pushes, told=told, **more)


def good_outcome():
    return Outcome("wall", "composed", 1000.0, [tally()], 1000, 0)


def missed(found):
    return [figure.figure for figure in found if not figure.passed]


def test_the_verdict_passes_what_is_good():
    assert missed(figures(rows(0.1), good_outcome())) == []


def test_the_verdict_finds_leaks():
    slope, span = growth(rows(2.0), "node")
    assert slope == pytest.approx(2.0) and span > 1000.0
    assert missed(figures(rows(2.0), good_outcome())) == ["node: memory grows by"]
    assert missed(figures(rows(2.0, span=300.0), good_outcome())) == []  # too short to tell
    assert leaked(rows(0.0, files=0.01), "node", 2) > 5
    assert missed(figures(rows(0.0, files=0.01), good_outcome())) == [
        "node: threads, files leaked"
    ]


@pytest.mark.parametrize(
    ("change", "figure"),
    [
        ({"tallies": [tally(false_alarms=1)]}, "false alarms"),
        ({"tallies": [tally(pushes=9)]}, "pushes told"),
        ({"tallies": [tally(0, 0)]}, "pushes told"),
        ({"tallies": [tally(bad_numbers=1)]}, "bad numbers"),
        ({"tallies": [tally(steps=1)]}, "torque steps beyond the rate limit"),
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


@pytest.mark.parametrize(("mode", "span", "rate"), [("free", 60.0, 250.0), ("wall", 6.0, 200.0)])
def test_a_slice(mode, span, rate, tmp_path, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(own_domain()))
    for name, value in {"YOUNG": 0.5, "PUSH": 0.7, "SETTING": 0.3, "SOONEST": 3.0}.items():
        monkeypatch.setattr(soak, name, value)
    monkeypatch.setattr(soak, "RESTARTING", 0.5 if mode == "free" else 0.0)
    arguments = Namespace(time=span, rate=rate, processes=False, out=tmp_path / "soak", seed=3)
    found = soak.soak(arguments, mode, Console(file=io.StringIO()))
    allowed = {"cycles missed", "safe holds"}  # a busy machine
    assert set(missed(found)) <= allowed, [figure for figure in found if not figure.passed]
    assert (tmp_path / f"soak_{mode}.png").stat().st_size > 10_000
