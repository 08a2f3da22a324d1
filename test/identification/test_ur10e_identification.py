"""A real UR10e: better than plain least squares on held-out motions, without false alarms."""

import re
import warnings
from dataclasses import replace
from pathlib import Path

import identification as bench
import mujoco
import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.detection.observer import residual
from robodyn_ros.identification.command import read_log, run

pytest.importorskip("cvxpy")

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "ur10e"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no recordings in {DATA}")


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.ModelWarning)
        model = rd.load_urdf(DATA / "ur10e.urdf")
    used = f"{DATA / bench.EXCITING}.csv:635:3510"
    held_out = [f"{DATA / name}.csv" for name in bench.UNSEEN]
    out = tmp_path_factory.mktemp("identified")
    found = run(
        model,
        [used],
        held_out=held_out,
        original=DATA / "ur10e.urdf",
        out=out,
        gains=bench.GAINS,
    )
    logs = [read_log(path, model, gains=bench.GAINS) for path in (used, *held_out)]
    return model, found, logs, out


def test_plain_least_squares_is_the_recordings_own(case):
    """The figures that come with the recordings."""
    model, _, logs, _ = case
    published = [5.1, 3.3, 4.4, 14.5, 10.7, 8.1]
    plain = 100.0 * bench.Plain(model, logs[0]).fit(logs[0]).relative
    np.testing.assert_allclose(plain, published, rtol=0.06)  # the ends are left out


def test_better_than_plain_least_squares_on_every_file_and_joint(case):
    model, found, logs, _ = case
    plain, turns = bench.Plain(model, logs[0]), []
    for log, fit in zip(logs, found.fits, strict=True):
        before = plain.fit(log)
        np.testing.assert_allclose(before.measured, fit.measured)
        assert (fit.relative < before.relative).all(), log.name
        assert (bench.moving(fit) < 0.9 * bench.moving(before)).all(), log.name
        turns.append(fit.at_reversals / before.at_reversals)
    assert (np.array(turns[: 1 + len(bench.FREE)]) < 1.0).all(), turns
    assert (np.mean(turns, axis=0) < 0.9).all(), turns  # joint 3 of one file: 1.05


def test_the_result_is_consistent(case):
    _, found, _, out = case
    again = rd.load_urdf(out / "robot.urdf", strict=True)
    np.testing.assert_allclose(again.inertial_parameters(), found.model.inertial_parameters())
    assert mujoco.MjModel.from_xml_string(found.to_urdf()).nv == 6
    text = (out / "robot.urdf").read_text()
    assert "package://ur_e_description/meshes/ur10e/visual/wrist3.dae" in text
    bare = re.sub(r"<(visual|collision)>.*?</\1>", "", text, flags=re.DOTALL)  # without meshes
    assert mujoco.MjModel.from_xml_string(bare).nv == 6
    assert (out / "report.html").stat().st_size > 1e4
    assert "robot.urdf" in (out / "nodes.yaml").read_text()


def test_no_false_alarm_on_held_out_motion_and_every_push_detected(case):
    model, found, logs, _ = case
    pushed = read_log(f"{DATA / bench.PUSHED}.csv", model, gains=bench.GAINS)
    watch = bench.Watch(found.model, found)
    free = logs[1 : 1 + len(bench.FREE)]
    for out in free:
        thresholds = watch.thresholds([x for x in free if x is not out], 1.45)
        assert watch.alarms(thresholds, out).size == 0, out.name
        assert bench.pushes_heard(watch.alarms(thresholds, pushed)) == len(bench.PUSHES)
        nominal = bench.Watch(model, None).thresholds([x for x in free if x is not out], 1.3)
        fast = np.full(6, bench.SPEED)
        assert (thresholds.at(fast) < nominal.at(fast)).all()


def test_friction_with_its_state_halves_the_error_in_motion(case):
    """Joints 2 and 3, against a straight line of friction with a sharp sign."""
    _, found, logs, _ = case
    law, line = bench.law_and_line(found, logs[1:], found.fits[1:])
    assert (law / line <= 0.6)[1:3].all(), law / line
    assert (law[1:3] < [2.1, 0.9]).all(), law


def test_the_residual_in_motion_shrinks_as_much(case):
    _, found, logs, _ = case
    errors = []
    for log, fit in zip(logs[1:], found.fits[1:], strict=True):
        arrays = (log.t, log.q, log.qd, log.tau, bench.OBSERVER_GAIN, True)
        sharp = residual(found.straight, *arrays, friction_width=0.0)
        raw = replace(fit, qd=log.qd)
        errors.append([bench.in_motion(raw, r) for r in (residual(found.model, *arrays), sharp)])
    whole, line = np.mean(errors, axis=0)
    assert (whole / line < 0.61)[1:3].all(), whole / line


@pytest.mark.parametrize("bare", [bench.EXCITING, bench.UNSEEN[-1]])
def test_a_payload_is_found_and_its_deviation_covers_the_error(case, bare):
    """The robot is identified from another motion, or from the same one without the payload."""
    model, found, logs, _ = case
    if bare != bench.EXCITING:
        found = rd.identify(model, logs[-1:])
    loaded = bench.damaged(DATA / f"{bench.LOADED}.csv")
    payload, deviation = rd.identify_payload(found, [loaded], model.link_names[-1])
    assert payload.mass == pytest.approx(bench.LOAD, rel=0.06)
    assert abs(payload.mass - bench.LOAD) < 2.0 * deviation and deviation < 0.3
