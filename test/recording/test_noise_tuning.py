"""Settings learnt from motion without contact, judged on another motion."""

from dataclasses import replace

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.detection.free_motion import FreeMotion, MotionWindows
from robodyn_ros.detection.monitor_settings import ForceSettings, MonitorSettings, NoiseSettings
from robodyn_ros.detection.noise_shape import noise_shape
from robodyn_ros.dynamics.friction import SlidingFriction
from robodyn_ros.recording.noise_tuning import learn
from robodyn_ros.recording.offline import samples_of

MODEL = rd.robots.kuka_lwr4()
REAL = rd.perturbed(MODEL, 4, mass=0.03, com=0.003)
N, DT = MODEL.n, 0.002
GAIN = MonitorSettings(gain=(50.0,))
POSTURE = np.array([0.3, 0.7, -0.4, 1.1, 0.2, -0.8, 0.5])


def free_log(seed, seconds=8.0, offset=0.0, push=None):
    """A smooth motion of the real arm, its torque with noise; push: from, to [s], link, force."""
    rng = np.random.default_rng(seed)
    t = DT * np.arange(round(seconds / DT))[:, None]
    a, w, phase = rng.uniform(0.1, 0.4, N), rng.uniform(0.8, 2.5, N), rng.uniform(0, 6, N)
    q = a * np.sin(w * t + phase)
    qd, qdd = a * w * np.cos(w * t + phase), -a * w**2 * np.sin(w * t + phase)
    tau = rd.inverse_dynamics(REAL, q, qd, qdd) + offset + rng.normal(0.0, 0.1, q.shape)
    if push:
        start, end, link, force = push
        for k in range(round(start / DT), round(end / DT)):
            tau[k] -= rd.jacobian(MODEL, q[k], link)[:3].T @ force
    return rd.Log(t[:, 0], q, qd, tau)


@pytest.fixture(scope="module")
def learnt():
    return learn(MODEL, [free_log(k) for k in (1, 2, 3)], GAIN, names=["one", "two", "three"])


def test_an_unseen_motion_is_quiet_and_a_push_on_it_is_found(learnt):
    assert rd.detect(MODEL, free_log(9, offset=0.3), learnt.settings).events == []
    pushed = free_log(10, push=(6.0, 6.4, "link_5", np.array([10.0, -12.0, 8.0])))
    (event,) = rd.detect(MODEL, pushed, learnt.settings).events
    assert 6.0 <= event.start <= 6.1 and 6.3 <= event.end <= 6.6


def test_it_hears_more_than_joint_thresholds_do(learnt):
    """At equal quiet, the test of all joints together finds a force that thresholds miss."""
    only = replace(learnt.settings, noise=NoiseSettings())
    pushed = free_log(11, push=(6.0, 6.4, "link_5", np.array([0.6, 0.5, 0.0])))
    assert rd.detect(MODEL, pushed, only).events == []
    assert len(rd.detect(MODEL, pushed, learnt.settings).events) == 1


def test_tune_is_the_settings_of_learn(learnt):
    assert rd.tune(MODEL, [free_log(k) for k in (1, 2, 3)], GAIN) == learnt.settings


def test_recordings_that_disagree_are_told():
    """The third one has eight times the noise of the others."""
    logs = [free_log(k) for k in (1, 2, 3)]
    rng = np.random.default_rng(0)
    loud = logs[2].tau + rng.normal(0.0, 0.8, logs[2].tau.shape)
    logs[2] = rd.Log(logs[2].t, logs[2].q, logs[2].qd, loud)
    needs = learn(MODEL, logs, GAIN, names=["one", "two", "three"]).needs
    assert needs["three"] > 2.0 * max(needs["one"], needs["two"])


def test_known_contacts_are_left_out():
    force = np.array([30.0, -30.0, 20.0])
    pushed = [free_log(k, push=(6.0, 6.4, "link_6", force)) for k in (1, 2)]
    spans = [[(5.9, 6.8)]] * 2
    told = rd.tune(MODEL, pushed, GAIN, contacts=spans).noise.long.threshold
    untold = rd.tune(MODEL, pushed, GAIN).noise.long.threshold
    assert untold > 2.0 * told


def test_one_recording_is_judged_in_parts():
    settings = rd.tune(MODEL, [free_log(1)], GAIN)
    assert rd.detect(MODEL, free_log(1), settings).events == []


def test_the_smallest_force_is_found_and_a_tenth_of_it_is_not(learnt):
    log = free_log(12)
    forces = rd.smallest_forces(MODEL, learnt.settings, log.q, log.qd)
    assert list(forces) == list(MODEL.link_names)
    assert forces["link_7"] < forces["link_2"] < np.inf
    rng = np.random.default_rng(5)
    found = {1.5: 0, 0.1: 0}
    for share in found:
        for _ in range(12):
            u = rng.normal(size=3)
            u *= share * forces["link_6"] / np.linalg.norm(u)
            pushed = free_log(12, push=(6.0, 6.3, "link_6", u))
            found[share] += len(rd.detect(MODEL, pushed, learnt.settings).events) > 0
    assert found[1.5] == 12 and found[0.1] < 6


def test_no_force_is_found_where_no_joint_feels_it():
    """A force on the first link has no lever about a vertical axis through its centre."""
    model = rd.robots.kuka_lwr4().replace(com=np.zeros_like(MODEL.com))
    forces = rd.smallest_forces(model, MonitorSettings(), np.zeros(N), np.zeros(N))
    assert forces["link_1"] == np.inf
    assert forces["link_7"] < 1e6


def test_the_smallest_force_knows_of_thresholds_in_newton_and_of_masked_joints():
    """Pushes of less than 40 N on the centre of the last link are no contact in any direction."""
    plain = rd.smallest_forces(MODEL, MonitorSettings(), POSTURE, np.zeros(N))["link_7"]
    assert plain < 40.0
    point = tuple(MODEL.com[-1])
    newton = MonitorSettings(force=ForceSettings(contact=40.0, collision=80.0, point=point))
    assert rd.smallest_forces(MODEL, newton, POSTURE, np.zeros(N))["link_7"] > 40.0
    masked = MonitorSettings(masked=MODEL.joint_names)
    assert set(rd.smallest_forces(MODEL, masked, POSTURE, np.zeros(N)).values()) == {np.inf}


def windows_of(speed, size, lasting):
    """Windows of noise of this size (T, n) at these speeds (T, n), constant over some samples."""
    rng = np.random.default_rng(2)
    T = len(speed)
    samples = samples_of(
        MODEL, rd.Log(DT * np.arange(T), np.zeros((T, N)), speed, np.zeros((T, N)))
    )
    external = size * rng.normal(size=(T // lasting, N)).repeat(lasting, axis=0)
    motion = FreeMotion("noise", samples, external, np.ones(T, dtype=bool), external)
    return MotionWindows.of(motion, GAIN)


def test_deviations_follow_the_speed_of_the_noise():
    """Noise of 0.02 at rest and 0.2 per rad/s is found again, through the windows."""
    t = DT * np.arange(80_000)
    speed = np.abs(np.sin(0.7 * t))[:, None] * np.linspace(0.2, 1.0, N)
    windows = windows_of(speed, 0.02 + 0.2 * speed, 50)  # longer than a window
    at = replace(
        windows,
        speed=0.5 * np.linspace(0.2, 1.0, N)[None],
        acceleration=0.7 * np.sqrt(0.75) * np.linspace(0.2, 1.0, N)[None],
        unrest=np.ones((1, 1)),
    )
    found = noise_shape([windows], "short", GAIN.noise.speed, np.ones(N)).at(at, GAIN.noise.speed)[
        0
    ]
    np.testing.assert_allclose(found, 0.02 + 0.1 * np.linspace(0.2, 1.0, N), rtol=0.15)


def turns():
    """Velocities (T, n) of an arm that turns to and fro, slowly and fast in turns, and the size of
    its accelerations, by a filter of 0.1 s.
    """
    t = DT * np.arange(50_000)
    velocity = 0.5 * np.sin(DT * np.cumsum(np.where(t % 20.0 < 10.0, 0.5, 8.0)))
    filtered, acceleration = 0.0, np.zeros_like(t)
    for k, v in enumerate(velocity):
        filtered += (1.0 - np.exp(-DT / 0.1)) * (v - filtered)
        acceleration[k] = abs(v - filtered) / 0.1
    return np.tile(velocity[:, None], N), np.tile(acceleration[:, None], N)


def test_deviations_follow_the_acceleration_of_the_noise():
    """Its share is found again, but no more than a tenth of the joint's inertia."""
    speed, acceleration = turns()
    windows = windows_of(speed, 0.1 + 0.05 * acceleration, 1)
    inertia = np.full(N, 10.0)
    inertia[-1] = 0.02
    found = noise_shape([windows], "short", GAIN.noise.speed, inertia)
    np.testing.assert_allclose((found.per_acceleration / found.moving)[:-1], 0.5, rtol=0.3)
    assert found.per_acceleration[-1] == pytest.approx(0.002)


def test_noise_without_a_share_of_the_acceleration_has_none():
    speed, _ = turns()
    windows = windows_of(speed, np.full_like(speed, 0.1), 1)
    found = noise_shape([windows], "short", GAIN.noise.speed, np.full(N, 10.0))
    assert (found.per_acceleration < 0.03 * found.moving).all()


def test_tune_needs_recordings():
    with pytest.raises(rd.RobodynError, match="at least one recording"):
        rd.tune(MODEL, [])


def test_the_warning_names_recording_and_joint():
    logs = [free_log(k, seconds=4.0) for k in (1, 2, 3)]
    loud = logs[2].tau.copy()
    loud[:, 3] += np.random.default_rng(0).normal(0.0, 3.0, len(loud))
    logs[2] = rd.Log(logs[2].t, logs[2].q, logs[2].qd, loud)
    found = learn(MODEL, logs, GAIN, names=["one", "two", "three"])
    (text,) = found.warnings(MODEL.joint_names)
    assert "the recordings disagree: three" in text and f"'{MODEL.joint_names[3]}'" in text
    assert "one" not in text.split(" the largest")[0].split(":")[1].replace("three", "")


def test_gaps_lower_the_gain():
    """Every tenth sample is 35 ms late: an observer with 50 1/s would start anew there."""
    log = free_log(1)
    kept = np.arange(log.t.size) % 90 < 73
    gaps = rd.Log(log.t[kept], log.q[kept], log.qd[kept], log.tau[kept])
    assert rd.tune(MODEL, [gaps], GAIN).gain[0] == pytest.approx(1.0 / (1.1 * 0.036), rel=0.03)
    assert rd.tune(MODEL, [log], GAIN).gain == (50.0,)


def test_a_debounce_is_chosen_against_rare_outliers():
    """Outliers of the velocity at 100 Hz, one sample each, in one of two recordings."""
    logs = [free_log(k) for k in (1, 2)]
    logs = [rd.Log(x.t[::5], x.q[::5], x.qd[::5], x.tau[::5]) for x in logs]
    assert rd.tune(MODEL, logs, GAIN).debounce == 0.0
    tau = logs[1].tau.copy()
    tau[100::97, 1] += 60.0
    tau[101::97, 1] += 30.0  # no spike: it falls in two steps
    odd = [logs[0], rd.Log(logs[1].t, logs[1].q, logs[1].qd, tau)]
    assert rd.tune(MODEL, odd, GAIN).debounce > 0.0


def test_friction_that_the_model_lacks_is_learnt():
    law = np.linspace(0.2, 0.8, N)
    logs = []
    for k in (1, 2, 3):
        log = free_log(k)
        logs.append(rd.Log(log.t, log.q, log.qd, log.tau + law * np.tanh(log.qd / 0.05)))
    found = rd.tune(MODEL, logs, GAIN).drag
    usual = np.array(found.dry) + 0.3 * np.array(found.viscous)  # at the usual speed
    np.testing.assert_allclose(usual, law, atol=0.12)


@pytest.mark.parametrize("travel", [0.0, 0.008])
def test_presliding_is_learnt(travel):
    """Joints that need some travel to change the sign of their friction, or none."""
    law = np.linspace(0.4, 1.0, N)
    sliding = MODEL.replace(viscous=0.0, coulomb=law, friction_width=0.02, presliding=travel)
    logs = []
    for k in (1, 2, 3):
        log, state = free_log(k), SlidingFriction(sliding)
        friction = np.array([state.of_load(v, 0.0 * v, DT).copy() for v in log.qd])
        logs.append(rd.Log(log.t, log.q, log.qd, log.tau + friction))
    found = rd.tune(MODEL, logs, GAIN).drag
    usual = np.array(found.dry) + 0.3 * np.array(found.viscous)  # at the usual speed
    np.testing.assert_allclose(usual, law, atol=0.12)
    np.testing.assert_allclose(found.presliding, travel, atol=0.004)


def test_the_jolt_of_a_start_is_neither_bias_nor_noise():
    """A joint breaks away in the first 0.15 s, by 20 N m; a share of it may be stuck elsewhere."""

    def jolted(k):
        log = free_log(k)
        jolt = 20.0 * np.clip(1.0 - (log.t - log.t[0]) / 0.15, 0.0, 1.0)
        return rd.Log(log.t, log.q, log.qd, log.tau + jolt[:, None] * np.eye(N)[0])

    tuned = rd.tune(MODEL, [jolted(k) for k in (1, 2, 3)], GAIN)
    assert rd.detect(MODEL, jolted(4), tuned).events == []
    size = np.array(tuned.noise.long.base) * tuned.noise.long.threshold
    share = size / MODEL.tau_max
    assert 1.0 < size[0] < 10.0 and share.max() < 2.0 * share.min()
