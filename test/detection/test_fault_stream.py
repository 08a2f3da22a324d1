"""The causes of contacts are named on the stream: touch, payload, faults of drives and sensors."""

import time

import numpy as np
import pytest
from sample_cases import valid_sample

import robodyn_ros as rd
from robodyn_ros.detection import fault as kinds
from robodyn_ros.detection.fault import Fault
from robodyn_ros.detection.faults import stream
from robodyn_ros.detection.faults.settings import FaultSettings
from robodyn_ros.detection.monitor import ContactMonitor
from robodyn_ros.sensing.effort_settings import EffortSettings
from robodyn_ros.sensing.sample import Status

MODEL = rd.robots.lwr_iii()
DT, ONSET = 0.002, 1.0  # [s]
LIMIT = (2.0, 2.0, 1.0, 1.0, 0.6, 1.0, 0.5)
CENTRE = np.array([0.2, 0.7, -0.3, 1.2, 0.3, 0.8, 0.1])
LINK = MODEL.link_names[-1]


def motion(seconds=3.0, size=0.3, model=MODEL, seed=0):
    """A log of free motion: t, q, qd with noise, exact torque; and the true torque."""
    t = DT * np.arange(round(seconds / DT))
    w = 2.0 * np.pi * np.array([0.5, 0.6, 0.45, 0.7, 0.8, 0.55, 0.65])
    angle = t[:, None] * w + np.arange(7)
    q, qd = CENTRE + size * np.sin(angle), size * w * np.cos(angle)
    tau = rd.inverse_dynamics(model, q, qd, -size * w**2 * np.sin(angle))
    noise = np.random.default_rng(seed).normal(0.0, 1.0, (2, *q.shape))
    return t, q + 1e-6 * noise[0], qd + 2e-4 * noise[1], tau


def settings(**faults):
    return rd.MonitorSettings(
        contact=rd.ThresholdSettings(LIMIT),
        collision=rd.ThresholdSettings(tuple(2.0 * x for x in LIMIT)),
        faults=FaultSettings(**faults),
    )


def follow(log, commanded=True, effort=None, model=MODEL, **faults):
    """The verdicts on a log."""
    monitor = ContactMonitor(
        model, settings(**faults), commanded=commanded, effort=effort, links=False
    )
    rows = zip(*log, strict=True)
    return [
        monitor.update(valid_sample(*row, Status.OK if k else Status.RESTART))
        for k, row in enumerate(rows)
    ], monitor


def after(log, change):
    """The log with another torque from ONSET on; change(q, qd, tau) returns it."""
    t, q, qd, tau = log
    return t, q, qd, np.where((t > ONSET)[:, None], change(q, qd, tau.copy()), tau)


def one(k, f):
    """Change the torque of joint k alone."""

    def change(q, qd, tau):
        tau[:, k] = f(qd[:, k], tau[:, k])
        return tau

    return change


def name_at(verdicts, seconds):
    return verdicts[round((ONSET + seconds) / DT)].fault


LINK_SIDE = EffortSettings(side="link")
# kind, joint, value, what happens to the torque, torque of the command
SINGLE = {
    "effectiveness": (3, 0.5, one(3, lambda qd, tau: tau / 0.5), True),
    "bias": (3, 6.0, one(3, lambda qd, tau: tau - 6.0), True),
    "friction": (3, None, one(3, lambda qd, tau: tau + 5.0 * np.tanh(qd / 0.02) + qd), True),
    "effort_scale": (1, 0.7, one(1, lambda qd, tau: 0.7 * tau), False),
    "effort_sign": (1, -1.0, one(1, lambda qd, tau: -tau), False),
}


def watch(seconds, change, commanded):
    """The verdicts on a changed torque: commanded, or measured where no rotor shows."""
    model = MODEL if commanded else MODEL.replace(rotor_inertia=0.0)
    effort = None if commanded else LINK_SIDE
    return follow(after(motion(seconds, model=model), change), commanded, effort)


@pytest.mark.parametrize("kind", SINGLE)
def test_a_fault_of_one_joint_is_named_with_its_value(kind):
    k, value, change, commanded = SINGLE[kind]
    verdicts, _ = watch(2.2, change, commanded)
    fault = name_at(verdicts, 1.0)
    assert (fault.kind, fault.joint) == (kind, MODEL.joint_names[k])
    assert fault.confidence > 0.9 and abs(fault.onset - ONSET) < 0.1
    if value is not None:
        assert fault.value == pytest.approx(value, rel=0.1)


@pytest.mark.parametrize("scaled", [True, False])
def test_a_reading_is_multiplied_with_its_noise(scaled):
    """A push that follows the load of a joint looks like a larger effort but for the noise."""
    log = motion(2.5, model=MODEL.replace(rotor_inertia=0.0))
    noise = np.random.default_rng(5).normal(0.0, 0.4, log[3].shape)
    tau = after(log, one(1, lambda qd, tau: 1.5 * tau))[3]
    amplified = after((*log[:3], noise), one(1, lambda qd, noise: 1.5 * noise))[3]
    verdicts, _ = follow((*log[:3], tau + (amplified if scaled else noise)), False, LINK_SIDE)
    told = {v.fault.kind for v in verdicts if v.fault and v.t > ONSET + 0.3}
    assert (kinds.EFFORT_SCALE in told) == scaled
    assert verdicts[-1].level is rd.Level.COLLISION


def payload_log(mass=1.5, seconds=3.0, until=np.inf):
    t, q, qd, tau = motion(seconds)
    loaded = MODEL.replace(payload=rd.Payload(LINK, mass, (0.02, 0.0, 0.1)))
    held = motion(seconds, model=loaded)[3]
    return t, q, qd, np.where(((t > ONSET) & (t < until))[:, None], held, tau)


def test_a_payload_is_named_with_mass_and_centre():
    verdicts, monitor = follow(payload_log())
    fault = name_at(verdicts, 1.0)
    assert (fault.kind, fault.joint, fault.unit) == (kinds.PAYLOAD, LINK, "kg")
    assert fault.value == pytest.approx(1.5, rel=0.05)
    assert np.allclose(fault.com, (0.02, 0.0, 0.1), atol=0.02)
    assert monitor.found_payload.mass == pytest.approx(1.5, rel=0.05)
    assert monitor.verdict.payload is None  # none was taken over


def test_the_first_word_is_fast_and_undecided():
    verdicts, _ = follow(payload_log(3.0, 1.6))
    first = next(v for v in verdicts if v.touched)
    assert first.t < ONSET + 0.05 and first.fault.kind == kinds.UNDECIDED
    early = [v for v in verdicts if first.t <= v.t < first.t + 0.299]
    assert {v.fault.kind for v in early} == {kinds.UNDECIDED}
    assert all(v.fault is None for v in verdicts if v.t < first.t)


@pytest.mark.parametrize("size", [0.3, 0.0])
@pytest.mark.parametrize("seconds", [0.1, 0.5, 1.5])
def test_a_push_is_a_collision(seconds, size):
    t, q, qd, tau = motion(1.5 + seconds, size)
    course = ((t > ONSET) & (t < ONSET + seconds)).astype(float)
    link, force = MODEL.link_names[4], np.array([25.0, 30.0, -12.0])
    J = rd.jacobian(MODEL, q, link, (0.0, 0.05, 0.05))[:, :3]
    verdicts, _ = follow((t, q, qd, tau - course[:, None] * np.einsum("tij,i->tj", J, force)))
    told = [v.fault.kind for v in verdicts if v.fault]
    assert set(told) <= {kinds.UNDECIDED, kinds.COLLISION} and told[-1] == kinds.COLLISION
    assert verdicts[-1].fault is None  # the case is closed


@pytest.mark.parametrize("force", [(0.0, 0.0, -15.0), (2.0, -3.0, -25.0), (5.0, 4.0, 20.0)])
def test_a_steady_push_down_on_the_last_link_is_no_payload(force):
    """It does not weigh: its torque departs from that of a payload as the arm turns."""
    t, q, qd, tau = motion(3.2)
    J = rd.jacobian(MODEL, q, LINK, (0.0, 0.03, 0.05))[:, :3]
    pushed = np.where((t > ONSET)[:, None], tau - np.einsum("tij,i->tj", J, force), tau)
    verdicts, _ = follow((t, q, qd, pushed))
    told = [v.fault.kind for v in verdicts if v.fault]
    assert set(told) <= {kinds.UNDECIDED, kinds.COLLISION} and told[-1] == kinds.COLLISION


def test_a_push_on_an_arm_at_rest_is_no_frozen_reading():
    """The arm gives way a little; then the encoder does not move any more, but the velocity is
    measured, and the command that fights the push has its noise.
    """
    t, q, qd, tau = motion(2.2, 0.0)
    tau = tau + 0.25 * np.array(LIMIT) * np.random.default_rng(3).normal(0.0, 1.0, tau.shape)
    J = rd.jacobian(MODEL, CENTRE, MODEL.link_names[4], (0.0, 0.05, 0.05))[:3]
    course = ((t > ONSET) & (t < ONSET + 0.8))[:, None]
    q = CENTRE + 1e-3 * course * np.ones(7)
    verdicts, _ = follow((t, q, qd, tau - course * (J.T @ [25.0, 30.0, -12.0])))
    pushed = [v for v in verdicts if ONSET + 0.05 < v.t < ONSET + 0.8]
    assert all(v.level is rd.Level.COLLISION for v in pushed)
    assert {v.fault.kind for v in pushed} <= {kinds.UNDECIDED, kinds.COLLISION}


@pytest.mark.parametrize("share", [0.65, 0.95])
def test_a_frozen_reading_shows_in_more_than_the_noise_of_a_command(share):
    """The command of an arm at rest changes within its threshold; where the velocity is measured,
    it may do so by noise.
    """
    t, q, qd, tau = motion(2.2, 0.0)
    tau[:, 3] += np.interp(t, [ONSET, ONSET + 0.1], [0.0, share * LIMIT[3]])
    verdicts, _ = follow((t, np.broadcast_to(CENTRE, q.shape).copy(), qd, tau))
    told = {v.fault.kind for v in verdicts if v.fault}
    assert told == (set() if share < 0.8 else {kinds.SENSOR_FREEZE})


def test_a_payload_is_estimated_with_its_inertia():
    held = rd.Payload(LINK, 2.0, (0.03, -0.02, 0.1), np.diag([0.01, 0.012, 0.008]))
    t, q, qd, tau = motion(3.0)
    loaded = motion(3.0, model=MODEL.replace(payload=held))[3]
    _, monitor = follow((t, q, qd, np.where((t > ONSET)[:, None], loaded, tau)))
    found = monitor.found_payload
    assert found.mass == pytest.approx(2.0, rel=0.01)
    assert np.allclose(found.com, held.com, atol=0.004)
    size = np.linalg.eigvalsh(np.array(found.inertia))
    assert size[0] >= 0.0 and size[2] <= size[0] + size[1] + 1e-12  # a body has it
    assert np.allclose(np.diag(found.inertia), [0.01, 0.012, 0.008], atol=0.006)


def test_what_no_physics_tells_apart_is_undecided_with_both_candidates():
    """A constant torque on the first joint is a bias, or a push on the first link."""
    verdicts, _ = follow(after(motion(2.2), one(0, lambda qd, tau: tau - 8.0)))
    fault = name_at(verdicts, 1.0)
    assert fault.kind == kinds.UNDECIDED and fault.joint == ""
    assert set(fault.runner_up.split(" or ")) == {kinds.BIAS, kinds.COLLISION}
    assert "bias" in fault.text() and "collision" in fault.text()


def test_a_velocity_that_is_frozen_is_named():
    t, q, qd, tau = motion(2.2)
    qd[t > ONSET, 3] = qd[np.searchsorted(t, ONSET), 3]
    verdicts, _ = follow((t, q, qd, tau))
    fault = name_at(verdicts, 1.0)
    assert (fault.kind, fault.joint) == (kinds.SENSOR_FREEZE, MODEL.joint_names[3])


def test_a_followed_payload_is_cleared_and_its_release_too():
    verdicts, monitor = follow(payload_log(2.0, 5.0, until=3.0), payload_follow=True)
    mass = [0.0 if v.payload is None else v.payload.mass for v in verdicts]
    carried = [v for v in verdicts if ONSET + 1.5 < v.t < 3.0]
    assert {v.level for v in carried} == {rd.Level.CLEAR}
    assert mass[round(2.9 / DT)] == pytest.approx(2.0, rel=0.05)
    released = [v for v in verdicts if v.t > 4.5]
    assert {v.level for v in released} == {rd.Level.CLEAR}
    assert mass[-1] == pytest.approx(0.0, abs=0.1)


def test_the_body_of_a_payload_is_worked_out_when_it_is_asked_for(monkeypatch):
    """Not at every decision, on the loop's thread; what was told of it stands."""
    asked = []
    likely = stream.likely_body
    monkeypatch.setattr(stream, "likely_body", lambda *x: asked.append(x) or likely(*x))
    verdicts, monitor = follow(payload_log())
    assert verdicts[-1].fault.kind == kinds.PAYLOAD and not asked
    found = monitor.found_payload
    assert found.mass == pytest.approx(verdicts[-1].fault.value, rel=1e-3) and len(asked) == 1
    assert found.com == pytest.approx(verdicts[-1].fault.com, abs=4e-3)


def test_a_payload_beyond_the_bound_is_named_but_not_followed():
    verdicts, _ = follow(payload_log(3.0), payload_follow=True, payload_max_mass=2.0)
    assert name_at(verdicts, 1.5).kind == kinds.PAYLOAD
    assert all(v.payload is None for v in verdicts)


def test_a_payload_is_taken_over_without_a_jump():
    log = payload_log(2.0, 2.6)
    monitor = ContactMonitor(MODEL, settings(), commanded=True, links=False)
    last = None
    for k, row in enumerate(zip(*log, strict=True)):
        verdict = monitor.update(valid_sample(*row, Status.OK if k else Status.RESTART))
        if k == round(1.8 / DT) + 1:
            assert (verdict.r == last).all()  # the first sample only starts the observer anew
        last = verdict.r
        if k == round(1.8 / DT):
            monitor.set_payload(monitor.found_payload)
        if row[0] > 2.0:  # no flag but that of the payload itself
            assert verdict.level is rd.Level.CLEAR
    assert verdict.level is rd.Level.CLEAR and verdict.payload.mass == pytest.approx(2.0, rel=0.05)
    monitor.set_payload(None)
    assert monitor.update(valid_sample(row[0] + DT, *row[1:])).payload is None


def test_offline_is_live():
    log = payload_log(2.0, 3.0, until=2.4)
    for follows in (False, True):
        live, _ = follow(log, payload_follow=follows)
        found = rd.detect(MODEL, rd.Log(*log), settings(payload_follow=follows), commanded=True)
        for k in range(0, len(live), 7):
            told = found.verdict(k)
            assert (told.level, told.fault) == (live[k].level, live[k].fault)
            masses = [x and x.mass for x in (told.payload, live[k].payload)]
            assert masses[0] == masses[1]
        assert found.events[0].fault.kind == kinds.PAYLOAD


def test_the_name_changes_seldom():
    for _, _, change, commanded in SINGLE.values():
        verdicts, _ = watch(3.5, change, commanded)
        told = [(v.fault.kind, v.fault.joint) for v in verdicts if v.fault]
        named = [x for x in told if x[0] != kinds.UNDECIDED]
        assert sum(a != b for a, b in zip(named[:-1], named[1:], strict=True)) <= 1


def test_without_faults_nothing_is_named():
    verdicts, monitor = follow(payload_log(2.0, 2.0), enabled=False)
    assert all(v.fault is None for v in verdicts) and monitor.found_payload is None


def test_a_sample_costs_little():
    """The median of the samples with a case less that without."""
    log = payload_log(2.0, 2.0)
    medians = {}
    for enabled in (False, True):
        monitor = ContactMonitor(MODEL, settings(enabled=enabled), commanded=True, links=False)
        spent = []
        for k, row in enumerate(zip(*log, strict=True)):
            sample = valid_sample(*row, Status.OK if k else Status.RESTART)
            begun = time.perf_counter()
            monitor.update(sample)
            spent.append(time.perf_counter() - begun)
        medians[enabled] = float(np.median(spent[600:]))
    assert medians[True] - medians[False] < 15e-6


def test_texts_and_remedies():
    fault = Fault(kinds.PAYLOAD, "link_7", 1.52, 0.92, "kg")
    assert fault.text() == "payload of 1.52 kg on link_7 (92%)"
    every = [getattr(kinds, name) for name in dir(kinds) if name.isupper()]
    for kind in (x for x in every if isinstance(x, str)):
        assert Fault(kind).remedy and kind.replace("_", " ") in Fault(kind).text()
    assert kinds.BIAS in kinds.ACTUATOR_KINDS and kinds.COLLISION not in kinds.ACTUATOR_KINDS
