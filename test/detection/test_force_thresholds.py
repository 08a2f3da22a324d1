"""Thresholds in terms of force: the lever of the push as the arm moves, live and offline."""

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.detection.detector import CollisionDetector
from robodyn_ros.detection.force_thresholds import follow_posture, force_memory
from robodyn_ros.detection.monitor_rows import compare_rows

MODEL = rd.robots.lwr_iii()
HAND = MODEL.link_names[-1]
POINT = (0.02, -0.01, 0.15)
CONTACT, COLLISION = 15.0, 40.0  # [N]
FLOOR = 0.3  # [N m], thresholds of the joints
RNG = np.random.default_rng(5)
DT, SAMPLES = 1e-3, 700


def settings(contact=CONTACT, collision=COLLISION, **where):
    return rd.MonitorSettings(
        contact=rd.ThresholdSettings((FLOOR,)),
        collision=rd.ThresholdSettings((2.0 * FLOOR,)),
        force=rd.ForceSettings(contact, collision, **where),
    )


def columns(q, link=HAND, point=POINT):
    """Columns of the Jacobian of the pushed point (3, n)."""
    return rd.jacobian(MODEL, q, link, point)[:3]


def pushed(force, q, link=HAND, point=POINT):
    """A log of an arm that rests at q and is pushed from its middle on, (3,) [N]."""
    t = DT * np.arange(SAMPLES)
    torque = columns(q, link, point).T @ force
    tau = np.tile(rd.gravity_torque(MODEL, q), (SAMPLES, 1))
    tau[SAMPLES // 2 :] -= torque
    return rd.Log(t, np.tile(q, (SAMPLES, 1)), np.zeros((SAMPLES, MODEL.n)), tau)


def worst_level(force, q, chosen, **where):
    return rd.Level(int(rd.detect(MODEL, pushed(force, q, **where), chosen).level.max()))


def test_levers_are_those_of_the_jacobian():
    force = force_memory(MODEL, rd.ForceSettings(CONTACT, COLLISION, "link_5", POINT))
    own, common = CollisionDetector(1.0, 2.0, MODEL, force=force).memory
    for q in RNG.normal(size=(5, MODEL.n)):
        assert follow_posture(own, common, q) == 0
        wanted = np.linalg.norm(columns(q, "link_5"), axis=0)
        np.testing.assert_allclose(own[-1], wanted, atol=1e-14)
    assert follow_posture(own, common, np.full(MODEL.n, np.nan)) == 1
    np.testing.assert_allclose(own[-1], wanted, atol=1e-14)


@pytest.mark.parametrize("link", [HAND, "link_5"])
def test_smaller_pushes_are_no_contact_and_larger_ones_are(link):
    """In any direction and posture; a push is seen by the joint that it loads best."""
    chosen = settings(link=link, point=POINT)
    for q in RNG.normal(scale=0.8, size=(6, MODEL.n)):
        u = RNG.normal(size=3)
        u /= np.linalg.norm(u)
        J = columns(q, link)
        lever = np.linalg.norm(J, axis=0)
        best = max(abs(J[:, k] @ u) / lever[k] for k in range(MODEL.n) if lever[k] > 0.05)
        where = {"link": link, "point": POINT}
        plain = rd.MonitorSettings(contact=chosen.contact, collision=chosen.collision)
        assert worst_level(0.95 * CONTACT * u, q, plain, **where) >= rd.Level.CONTACT
        assert worst_level(0.95 * CONTACT * u, q, chosen, **where) is rd.Level.CLEAR
        assert worst_level(1.05 * CONTACT / best * u, q, chosen, **where) is rd.Level.CONTACT
        assert worst_level(0.95 * COLLISION * u, q, chosen, **where) < rd.Level.COLLISION
        assert worst_level(1.05 * COLLISION / best * u, q, chosen, **where) is rd.Level.COLLISION


def test_joint_thresholds_are_the_floor():
    q = np.array([0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5])
    log = pushed(np.array([0.0, 4.0, -3.0]), q)
    plain, tiny = (rd.detect(MODEL, log, settings(force, force)) for force in (0.0, 1e-3))
    assert plain.level.max() >= rd.Level.CONTACT
    np.testing.assert_array_equal(plain.level, tiny.level)


def test_live_is_offline_while_the_arm_moves():
    t = DT * np.arange(1500)
    q = 0.8 * np.sin(t[:, None] * (1.0 + np.arange(MODEL.n)))
    qd = np.gradient(q, t, axis=0)
    tau = rd.inverse_dynamics(MODEL, q, qd, np.gradient(qd, t, axis=0))
    for k in range(700, 1500):
        tau[k] -= columns(q[k]).T @ np.array([0.0, 30.0, 20.0])
    chosen = settings(20.0, 34.0, point=POINT)
    found = rd.detect(MODEL, rd.Log(t, q, qd, tau), chosen)
    monitor = rd.ContactMonitor(MODEL, chosen)
    levels = [
        monitor.update(rd.Sample(t[k], DT, q[k], qd[k], tau[k], rd.Status(found.status[k]))).level
        for k in range(t.size)
    ]
    assert levels == found.level.tolist()
    assert {rd.Level.CLEAR, rd.Level.CONTACT, rd.Level.COLLISION} <= set(levels[200:])
    # `tune` compares recorded residuals with other thresholds: these are the same ones
    recorded = rd.detect(MODEL, rd.Log(t, q, qd, tau), settings(0.0, 0.0), certain=True)
    again = compare_rows(MODEL, recorded.samples, recorded.rows, chosen)
    np.testing.assert_array_equal(again[200:], found.level[200:])
    assert (recorded.level[200:] != again[200:]).any()


def test_wrong_settings_name_the_remedy():
    with pytest.raises(rd.ArgumentError, match="swap them"):
        rd.ForceSettings(40.0, 15.0)
    with pytest.raises(rd.ArgumentError, match="three numbers"):
        rd.ForceSettings(point=(1.0,))
    with pytest.raises(rd.RobodynError, match="no_such_link"):
        rd.ContactMonitor(MODEL, settings(link="no_such_link"))
