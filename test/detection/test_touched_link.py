"""The monitor names the touched link: steadily, alike live and offline, and unknown is unknown."""

import math
from dataclasses import replace

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.detection.isolation_settings import IsolationSettings
from robodyn_ros.detection.link_naming import LinkDecisions
from robodyn_ros.detection.monitor import ContactMonitor
from robodyn_ros.detection.monitor_verdict import stop_fault
from robodyn_ros.detection.noise import mean_noise
from robodyn_ros.model.surface import surface_points
from robodyn_ros.sensing.sample import Sample, Status

ARM = rd.robots.kuka_lwr4()
Q = np.array([0.3, 0.7, -0.4, 1.1, 0.2, -0.8, 0.5])
SETTINGS = rd.MonitorSettings(gain=(50.0,))
PERIODS = (0.001, 0.002, 0.01)
NOISE = 0.01  # [N m]


def surface_push(link, k=40, size=30.0):
    """A point of a link and a force into its surface (base axes)."""
    surfaces, row = surface_points(ARM), ARM.link_names.index(link)
    at = int(surfaces.start[row]) + k
    R = rd.forward_kinematics(ARM, Q, link)[:3, :3]
    return surfaces.points[at], size * R @ surfaces.normals[at]


def record(link, point, force, duration=0.4, dt=0.002, stop=None, total=1.5):
    """A log of an arm that stands still and is pushed once, from 0.5 s on."""
    t = np.arange(0.0, total, dt)
    q = np.tile(Q, (t.size, 1))
    tau = np.tile(rd.gravity_torque(ARM, Q), (t.size, 1))
    on = (t > 0.5) & (t <= 0.5 + duration)
    tau[on] -= rd.jacobian(ARM, Q, link, point)[:3].T @ np.asarray(force)
    if stop is not None:
        joint, torque = stop
        tau[on, joint] -= torque
    tau += NOISE * np.random.default_rng(1).normal(size=tau.shape)
    return rd.Log(t, q, 0.0 * q, tau)


def live(log, settings=SETTINGS, model=ARM):
    """Verdicts of the monitor, one sample after the other."""
    monitor, verdicts = ContactMonitor(model, settings), []
    for k, t in enumerate(log.t.tolist()):
        status = Status.OK if k else Status.RESTART
        dt = t - float(log.t[k - 1]) if k else 0.0
        verdicts.append(monitor.update(Sample(t, dt, *row(log, k), status)))
    return verdicts


def row(log, k):
    """Positions, velocities and torques of sample k, as a node has them."""
    return log.q[k].copy(), log.qd[k].copy(), log.tau[k].copy()


@pytest.mark.parametrize("dt", PERIODS)
@pytest.mark.parametrize("link", ["link_3", "link_5", "link_6", "link_7"])
def test_live_and_offline_name_the_same_link_at_every_sample(link, dt):
    log = record(link, *surface_push(link), dt=dt)
    verdicts, found = live(log), rd.detect(ARM, log, SETTINGS)
    for k, one in enumerate(verdicts):
        again = found.verdict(k)
        assert again[:2] == one[:2] and again.link == one.link and again.where == one.where
        assert again.confidence == one.confidence and again.link_cause == one.link_cause
        np.testing.assert_array_equal(again.force, one.force)
        assert (again.ended is None) == (one.ended is None)
        if one.ended is not None:
            assert again.ended[:3] == one.ended[:3]
    (event,) = found.events
    ended = [one.ended for one in verdicts if one.ended is not None]
    assert len(ended) == 1 and event.link == ended[0].link == link
    assert event.confidence == ended[0].confidence
    np.testing.assert_array_equal(found.link, [one.link for one in verdicts])


@pytest.mark.parametrize("dt", PERIODS)
def test_a_link_is_named_50_ms_after_the_alarm_and_changes_at_most_twice(dt):
    verdicts = live(record("link_6", *surface_push("link_6"), dt=dt))
    touched = [one for one in verdicts if one.touched]
    alarm, named = touched[0].t, [one for one in touched if one.link]
    # Seven links, one for each millisecond, or at once
    assert 0.05 - 1e-6 <= named[0].t - alarm <= 0.05 + max(0.008, dt)
    assert all(one.link for one in touched if one.t >= named[0].t)
    names = [one.link for one in named]
    assert sum(a != b for a, b in zip(names, names[1:], strict=False)) <= 1
    first = [one for one in touched if not one.link]
    assert {one.link_cause for one in first} == {"not decided yet"}
    assert all(math.isnan(one.force) for one in first)


def test_the_force_follows_the_residual_and_acts_at_the_found_point():
    point, force = surface_push("link_6", k=260, size=30.0)
    verdicts = live(record("link_6", point, force))
    late = [one for one in verdicts if one.touched and 0.75 < one.t < 0.9]
    R = rd.forward_kinematics(ARM, Q, "link_6")[:3, :3]
    assert late and all(one.wrench_link == one.link == "link_6" for one in late)
    for one in late:
        assert one.force == pytest.approx(30.0, rel=0.15)
        # A push does not twist
        assert one.wrench[:3] @ one.wrench[3:] == pytest.approx(0.0, abs=1e-9)
        assert one.wrench[:3] @ R.T @ force > 0.9 * 30.0 * one.force


def test_a_contact_too_short_for_a_decision_is_named_when_it_is_over():
    brief = replace(SETTINGS, release=0.0)
    verdicts = live(record("link_6", *surface_push("link_6"), duration=0.015), brief)
    assert not any(one.link for one in verdicts)
    (ended,) = (one.ended for one in verdicts if one.ended is not None)
    assert ended.link and 0.0 < ended.confidence <= 1.0


@pytest.mark.parametrize("body", range(2, 7))
def test_a_push_at_a_links_origin_is_this_link_or_beyond_with_unknown_force(body):
    link = ARM.link_names[body]
    found = rd.detect(ARM, record(link, (0.0, 0.0, 0.0), (25.0, -20.0, 24.0)), SETTINGS)
    (event,) = found.events
    assert ARM.link_names.index(event.link) <= body
    if event.link != link:
        assert event.where == f"{event.link} or beyond" and math.isnan(event.force)
    for k in np.flatnonzero(found.level >= rd.Level.CONTACT).tolist():
        verdict = found.verdict(k)
        assert not verdict.force < 0.1
        assert verdict.texts()["force"] == "unknown" or verdict.force > 0.1
        if "beyond" in verdict.where:
            assert verdict.wrench is None and "as well" in verdict.link_cause


def test_without_a_lead_no_link_is_named_but_where_it_may_be():
    sure = replace(SETTINGS, isolation=IsolationSettings(lead=1e6))
    log = record("link_6", (0.0, 0.0, 0.0), (25.0, -20.0, 24.0))
    (event,) = rd.detect(ARM, log, sure).events
    assert event.link == "" and event.confidence == 0.0 and "or beyond" in event.where
    late = [one for one in live(log, sure) if one.touched][-1]
    assert late.link == "" and "explains the residual" in late.link_cause


@pytest.mark.parametrize("sign", [1, -1])
def test_a_joint_at_its_stop_is_told_as_the_stop(sign):
    k = 3
    at_end = {"q_max": Q[k] + 0.01} if sign > 0 else {"q_min": Q[k] - 0.01}
    name = next(iter(at_end))
    limit = np.array(getattr(ARM, name))
    limit[k] = at_end[name]
    model = ARM.replace(**{name: limit})
    log = record("link_4", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), stop=(k, -sign * 15.0))
    verdicts = live(log, model=model)
    touched = [one for one in verdicts if one.touched]
    assert max(one.level for one in touched) is rd.Level.COLLISION
    side = "upper" if sign > 0 else "lower"
    for one in touched:
        assert one.fault == rd.Fault("joint_stop", "joint_4") and one.link == one.where == ""
        assert one.link_cause == f"joint_4 at its {side} stop" and math.isnan(one.force)
    told = {one.fault for one in verdicts}  # the case outlasts the contact
    assert told == {None, rd.Fault("joint_stop", "joint_4")} and verdicts[-1].fault is None
    assert not any(one.ended for one in verdicts)
    found = rd.detect(model, log, SETTINGS)
    assert [found.verdict(j).fault for j in range(log.t.size)] == [one.fault for one in verdicts]
    (event,) = found.events
    assert event.fault == rd.Fault("joint_stop", "joint_4") and event.link == ""
    # The same torque in the middle of its range, or away from the stop, is a touch
    assert rd.detect(ARM, log, SETTINGS).events[0].fault.kind == "collision"
    away = record("link_4", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), stop=(k, sign * 15.0))
    assert rd.detect(model, away, SETTINGS).events[0].fault.kind == "collision"


@pytest.mark.parametrize("kind", ["bias", "locked", "friction", "collision", "undecided"])
def test_what_a_stop_looks_like_is_told_as_the_stop(kind):
    stop = rd.Fault("joint_stop", "joint_4")
    assert stop_fault(rd.Fault(kind, "joint_4"), "joint_4") == stop_fault(None, "joint_4") == stop
    swings = rd.Fault("free_swinging", "joint_4")  # until it is there
    assert stop_fault(swings, "joint_4") == swings


def test_a_push_on_an_arm_at_its_stop_is_a_touch():
    limit = np.array(ARM.q_max)
    limit[3] = Q[3] + 0.01
    model = ARM.replace(q_max=limit)
    log = record("link_6", *surface_push("link_6"))
    (event,) = rd.detect(model, log, SETTINGS).events
    assert event.fault.kind == "collision" and event.link


def test_new_settings_keep_the_name_of_a_contact():
    log = record("link_6", *surface_push("link_6"))
    monitor = ContactMonitor(ARM, SETTINGS)
    for k, t in enumerate(log.t.tolist()):
        status = Status.OK if k else Status.RESTART
        verdict = monitor.update(Sample(t, 0.002, *row(log, k), status))
        if t > 0.7:
            break
    assert verdict.link == "link_6"
    monitor.apply(monitor.prepare(replace(SETTINGS, release=0.04)))
    verdict = monitor.update(Sample(t + 0.002, 0.002, *row(log, k), Status.OK))
    assert verdict.link == "link_6"


def test_work_is_spread_by_the_time_of_samples_alone():
    weighed = []

    class Isolator:
        def located_by_link(self, q, y, covariance):
            for k in range(7):
                if k:
                    yield
                weighed[-1] += 1
            return rd.Isolation("link_6", 0.9)

    def parts(dt):
        links = LinkDecisions(Isolator(), lambda speed: np.eye(7))
        weighed[:] = []
        for k in range(8):
            weighed.append(0)
            links.update(1.0 + k * dt, True, dt if k == 0 else 0.0, *np.zeros((3, 7)))
        return [x for x in weighed if x]

    assert parts(0.001) == [1] * 7 and parts(0.0005)[:1] == [1] and sum(parts(0.0005)) < 7
    assert parts(0.002) == [2, 2, 2, 1] and parts(0.01) == [7]


def test_noise_is_the_long_windows_or_a_share_of_the_thresholds():
    speed = np.array([0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    plain = mean_noise(ARM, SETTINGS, speed)
    np.testing.assert_allclose(plain, np.diag(np.full(7, 0.2**2)))
    window = rd.NoiseWindow(
        0.1, 8.0, tuple(0.1 + 0.01 * k for k in range(7)), (0.0,), (1.0,), (0.5,) + (0.0,) * 20
    )
    tuned = replace(SETTINGS, noise=replace(SETTINGS.noise, long=window))
    S = mean_noise(ARM, tuned, speed)
    assert np.sqrt(S[1, 1]) == pytest.approx(0.11 + 0.1) and S[0, 0] == pytest.approx(0.01)
    assert S[1, 0] == pytest.approx(0.5 * 0.1 * 0.21) and S[3, 2] == 0.0
