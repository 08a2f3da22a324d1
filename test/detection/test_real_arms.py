"""What benchmark/real_arms.py is made of: forces found again, touches counted."""

import numpy as np
import pytest
import real_dummy
import real_effort
import real_motion
import real_touches
import real_ur10e
import recorded_arms
from real_figures import scaled, todays_settings
from recorded_arms import Recording

import robodyn_ros as rd

MODEL = rd.robots.kuka_lwr4()
DT = 0.004


def free_log(seconds=8.0, seed=0, size=0.3):
    """Free motion with sensor noise."""
    t = DT * np.arange(int(seconds / DT))
    angle = t[:, None] * np.linspace(0.7, 1.5, 7) + np.arange(7)
    q, qd, qdd = size * np.sin(angle), size * np.cos(angle), -size * np.sin(angle)
    w = np.linspace(0.7, 1.5, 7)
    tau = rd.inverse_dynamics(MODEL, q, w * qd, w**2 * qdd)
    tau += np.random.default_rng(seed).normal(0.0, 0.5, q.shape)
    return rd.Log(t, q, w * qd, tau)


@pytest.fixture(scope="module")
def tuned():
    return rd.tune(MODEL, [free_log(seed=1), free_log(seed=2)])


def test_injected_forces_are_found_and_scale_with_the_thresholds(tuned):
    log = free_log(seed=3)
    assert real_motion.alarms_of(MODEL, log, tuned) == 0
    forces = real_motion.smallest_forces(MODEL, log, tuned, 8)
    coarse = real_motion.smallest_forces(MODEL, log, scaled(tuned, 3.0), 8)
    assert np.isfinite(forces).all() and (coarse > 1.5 * forces).all()
    onset = 4.0
    pushed = real_motion.with_force(log, MODEL, onset, np.array([0.0, 0.0, 60.0]))
    events = rd.detect(MODEL, pushed, tuned).events
    assert onset < events[0].start < onset + real_motion.WITHIN


def test_the_quiet_factor_is_the_edge_of_an_alarm(tuned):
    log = free_log(seed=4)
    factor = real_motion.quiet_factor(MODEL, log, tuned)
    assert real_motion.alarms_of(MODEL, log, scaled(tuned, factor)) == 0
    assert real_motion.alarms_of(MODEL, log, scaled(tuned, 0.9 * factor)) > 0


def test_todays_thresholds_are_quiet_on_what_they_come_from():
    log = free_log(seed=5)
    assert real_motion.alarms_of(MODEL, log, todays_settings(MODEL, [log])) == 0


def test_touches_events_and_false_alarms_are_counted(tuned):
    """Two touches, one of them unlabelled: a false alarm if the maker's torque is still."""
    log = free_log(size=0.0)
    link, force = MODEL.link_names[-1], np.array([40.0, 30.0, 0.0])
    push = rd.jacobian(MODEL, log.q[0], link)[:3].T @ force
    course = ((log.t > 2.0) & (log.t < 2.4)) | ((log.t > 5.0) & (log.t < 5.4))
    touched = rd.Log(log.t, log.q, log.qd, log.tau - course[:, None] * push)
    still, felt = np.zeros_like(log.q), course[:, None] * push
    for external, alarms in ((still, 1), (felt, 0)):
        judged = real_touches.Judged()
        one = Recording("link7", touched, 7, "1", [(2.0, 2.4), (7.0, 7.2)], external)
        real_touches.judge(MODEL, one, tuned, judged)
        assert [np.isfinite(x.delay) for x in judged.touches] == [True, False]
        assert 0.0 < judged.touches[0].delay < 0.1
        assert (judged.events, judged.alarms) == (1, alarms)
        assert judged.found(7) == 0.5


def test_free_pieces_lie_between_the_labels():
    one = Recording("link7", free_log(), 7, "1", [(2.0, 2.4), (5.0, 5.2)])
    pieces = real_touches.free_pieces(one)
    spans = [(piece.t[0], piece.t[-1]) for piece in pieces]
    np.testing.assert_allclose(spans, [(0.0, 1.7), (2.9, 4.7), (5.7, 8.0)], atol=0.01)


def test_the_stop_of_a_run_is_where_joint_1_rests():
    t = 0.01 * np.arange(800)
    q = np.zeros((800, 6))
    q[:, 0] = np.clip(0.09 * t, 0.0, 0.45)
    log = rd.Log(t, q, np.gradient(q, t, axis=0), np.zeros_like(q))
    assert real_dummy.stop_of(log) == pytest.approx(5.0, abs=0.06)


def test_slopes_ignore_the_jitter_of_stamps():
    random = np.random.default_rng(0)
    true = 0.008 * np.arange(500)
    t = np.sort(true + random.uniform(-0.003, 0.003, 500))
    q = np.outer(true, np.array([0.1, -0.2]))
    slopes = recorded_arms.slopes(t, q)[10:-10]
    np.testing.assert_allclose(slopes, np.tile([0.1, -0.2], (480, 1)), rtol=0.08)
    assert np.abs(np.gradient(q, t, axis=0)[10:-10, 0] - 0.1).max() > 0.03


def test_missing_files_are_named():
    assert "no nothing/here.csv" in recorded_arms.missing("nothing/here.csv")


@pytest.mark.skipif(
    bool(recorded_arms.missing(*real_touches.NEEDS)),
    reason=recorded_arms.missing(*real_touches.NEEDS),
)
def test_the_panda_s_recordings_are_read():
    recordings = recorded_arms.panda_touches()
    assert len(recordings) == 235 and sum(len(x.touches) for x in recordings) == 3449
    one = recordings[100]
    error = one.log.tau - rd.gravity_torque(recorded_arms.panda(), one.log.q)
    quiet = one.log.t < one.touches[0][0] - 0.3
    assert np.abs(error[quiet]).mean() < 0.6
    assert not real_effort.faults(rd.detect(recorded_arms.panda(), one.log))


def test_an_event_that_begins_long_before_its_push_is_a_false_alarm():
    """Of four pushes the first is found; the second overlaps what began 2 s before it."""
    log = free_log(seconds=6.0, size=0.0)
    link, force = MODEL.link_names[-1], np.array([60.0, 40.0, 0.0])
    push = rd.jacobian(MODEL, log.q[0], link)[:3].T @ force
    course = ((log.t > 2.2) & (log.t < 2.8)) | ((log.t > 3.6) & (log.t < 5.0))
    pushed = rd.Log(log.t, log.q, log.qd, log.tau - course[:, None] * push)
    events = rd.detect(MODEL, pushed, rd.tune(MODEL, [log])).events
    assert len(events) == 2 and events[1].end > real_ur10e.PUSHES[1][0]
    assert real_ur10e.of_pushes(events) == (1, 1)
    assert real_ur10e.of_pushes([]) == (0, 0)
