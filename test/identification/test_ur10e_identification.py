"""A real UR10e: better than plain least squares on held-out motions, without false alarms."""

import re
import warnings
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
    held_out = [f"{DATA / name}.csv" for name in bench.FREE]
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
    plain = bench.Plain(model, logs[0])
    for log, fit in zip(logs, found.fits, strict=True):
        before = plain.fit(log)
        np.testing.assert_allclose(before.measured, fit.measured)
        assert (fit.relative < before.relative).all(), log.name
        assert (bench.moving(fit) < 0.9 * bench.moving(before)).all(), log.name
        assert (fit.at_reversals < before.at_reversals).all(), log.name


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
    for out in logs[1:]:
        thresholds = watch.thresholds([x for x in logs[1:] if x is not out], 1.45)
        assert watch.alarms(thresholds, out).size == 0, out.name
        assert bench.pushes_heard(watch.alarms(thresholds, pushed)) == len(bench.PUSHES)
        nominal = bench.Watch(model, None).thresholds([x for x in logs[1:] if x is not out], 1.3)
        fast = np.full(6, bench.SPEED)
        assert (thresholds.at(fast) < nominal.at(fast)).all()


def test_friction_with_its_state_halves_the_residual_in_motion(case):
    """Joints 2 and 3, against a straight line of friction with a sharp sign."""
    _, found, logs, _ = case
    errors = {"whole": [], "line": []}
    for log in logs[1:]:
        arrays = (log.t, log.q, log.qd, log.tau, bench.OBSERVER_GAIN, True)
        whole = residual(found.model, *arrays)
        line = residual(found.straight, *arrays, friction_width=0.0)
        for name, r in (("whole", whole), ("line", line)):
            moving = [r[np.abs(log.qd[:, j]) > 0.02, j] for j in (1, 2)]
            errors[name].append([np.sqrt(np.mean(x**2)) for x in moving])
    ratio = np.mean(errors["whole"], axis=0) / np.mean(errors["line"], axis=0)
    assert (ratio < 0.66).all(), ratio


def test_a_payload_is_found_and_its_deviation_covers_the_error(case):
    _, found, _, _ = case
    rows = np.genfromtxt(DATA / "ur-20_02_19_15harm50secLoad.csv", delimiter=",", skip_footer=1)
    sound = (np.abs(rows[:, 1:19]) < 50.0).all(axis=1) & (rows[:, 0] > 0.0) & (rows[:, 0] < 1e5)
    rows = rows[sound]
    tau = rows[:, 13:19] * bench.GAINS
    loaded = rd.Log(rows[:, 0], rows[:, 1:7], rows[:, 7:13], tau, "loaded")
    payload, deviation = rd.identify_payload(found, [loaded], found.model.link_names[-1])
    assert payload.mass == pytest.approx(2.805, rel=0.075)
    assert abs(payload.mass - 2.805) < 2.0 * deviation and deviation < 0.3
