"""Momentum increments tested by their noise, and the bias that is learnt without contact."""

from dataclasses import replace

import numpy as np
import pytest
from sample_cases import valid_sample

import robodyn_ros as rd
from robodyn_ros.detection.detector import Level
from robodyn_ros.detection.monitor import ContactMonitor
from robodyn_ros.detection.monitor_rows import monitor_rows
from robodyn_ros.detection.monitor_settings import (
    BiasSettings,
    DragSettings,
    MonitorSettings,
    NoiseSettings,
    NoiseWindow,
    ThresholdSettings,
)
from robodyn_ros.detection.monitor_verdict import TARING
from robodyn_ros.detection.noise import (
    SCORE,
    NoiseDetector,
    deviations,
    find_contact,
    whitening,
)
from robodyn_ros.dynamics.friction import SlidingFriction
from robodyn_ros.sensing.sampler import sample_rows

MODEL = rd.robots.lwr_iii()
N = MODEL.n
Q = np.array([0.1, 0.6, -0.2, 1.1, 0.3, 0.7, 0.2])
STILL = np.zeros(N)
DT = 1e-3
G = rd.gravity_torque(MODEL, Q)
OFF = ThresholdSettings(base=(1e6,))
SIGMA = 0.1  # [N m]
NOISE = NoiseSettings(
    short=NoiseWindow(window=0.02, threshold=8.0, base=(2 * SIGMA,)),
    long=NoiseWindow(window=0.1, threshold=8.0, base=(SIGMA,)),
)
BIAS = BiasSettings(rate=1.0, limit=(3.0,), start_limit=(1.0,))
SETTINGS = MonitorSettings(contact=OFF, collision=OFF, settling=0.02, noise=NOISE, bias=BIAS)


class Stream:
    """An arm at rest that is held against external torques."""

    def __init__(self, settings=SETTINGS):
        self.monitor, self.t, self.levels = ContactMonitor(MODEL, settings), 100.0, []

    def stay(self, seconds, push=STILL):
        for _ in range(round(seconds / DT)):
            self.t += DT
            verdict = self.monitor.update(valid_sample(self.t, Q, STILL, G - push))
            self.levels.append(verdict.level)
        return verdict


def on(joint, torque):
    return torque * np.eye(N)[joint]


def test_increments_are_means_over_their_windows():
    """Against a plain evaluation of R on a random motion with a gap of two samples."""
    rng = np.random.default_rng(3)
    T = 400
    t = np.delete(DT * np.arange(T), [200, 201])
    q = Q + 0.1 * np.sin(3.0 * t[:, None] + np.arange(N))
    qd = 0.3 * np.cos(3.0 * t[:, None] + np.arange(N))
    tau = G + rng.normal(0.0, 3.0, (t.size, N))
    samples = sample_rows(MODEL, t, q, qd, tau, period=DT)
    plain = MonitorSettings(contact=OFF, collision=OFF)
    external = monitor_rows(MODEL, samples, plain, certain=True).external
    p, ctqd, g = rd.momentum_terms(MODEL, q, qd)
    b = ctqd - g
    dt = np.diff(t)[:, None]
    R_steps = p[1:] - p[:-1] - dt * (tau[1:] + 0.5 * (b[1:] + b[:-1]))
    whole = np.flatnonzero(np.isclose(dt[:, 0], DT)) + 1
    np.testing.assert_allclose(external[whole], (R_steps / dt)[whole - 1], atol=1e-9)


def test_a_faint_push_is_found_by_the_long_window_only():
    """1.2 N m are 12 standard deviations over 0.1 s, above 8; over 0.02 s they are 6."""
    stream = Stream()
    assert stream.stay(0.5).level is Level.CLEAR
    found = stream.stay(0.2, on(2, 1.2))
    assert found.level is Level.CONTACT and found.joints == ("joint_3",)
    first = stream.levels[500:].index(Level.CONTACT)
    assert 0.1 * 8.0 / 12.0 <= 1e-3 * first + 2e-3 <= 0.1  # when the mean has grown to 0.8
    assert (
        Stream(replace(SETTINGS, noise=replace(NOISE, long=replace(NOISE.long, threshold=0.0))))
        .stay(0.5, STILL)
        .level
        is Level.CLEAR
    )


def test_a_hard_push_is_a_collision_at_once():
    stream = Stream()
    stream.stay(0.5)
    stream.stay(0.05, on(1, 20.0))
    assert stream.levels[500:].index(Level.COLLISION) < 10  # [samples]


def test_all_joints_count_together():
    """Torques that no joint would notice by itself add up, by their covariance."""
    alone, together = Stream(), Stream()
    for stream in (alone, together):
        stream.stay(0.5)
    assert alone.stay(0.2, on(3, 0.5)).level is Level.CLEAR
    assert together.stay(0.2, np.full(N, 0.5)).level is Level.CONTACT  # 5 sqrt(7) = 13 > 8
    correlated = tuple(np.full(N * (N - 1) // 2, 0.9))
    noise = replace(NOISE, short=replace(NOISE.short, threshold=0.0))
    noise = replace(noise, long=replace(NOISE.long, correlation=correlated))
    usual = Stream(replace(SETTINGS, noise=noise))  # such a common torque is usual here
    usual.stay(0.5)
    assert usual.stay(0.2, np.full(N, 0.5)).level is Level.CLEAR


def test_a_bias_is_learnt_while_quiet_and_frozen_in_contact():
    stream = Stream()
    stream.stay(0.4, on(0, 0.5))
    np.testing.assert_allclose(stream.monitor.bias, on(0, 0.5), atol=1e-6)
    stream.stay(3.0, on(0, 0.7))  # a slow drift, 2 standard deviations: followed at 1/s
    assert stream.monitor.bias[0] == pytest.approx(0.7 - 0.2 * np.exp(-3.0), abs=0.02)
    before = stream.monitor.bias
    verdict = stream.stay(5.0, on(0, 3.0))
    assert verdict.level >= Level.CONTACT
    np.testing.assert_allclose(stream.monitor.bias, before, atol=0.02)  # frozen in half a window
    assert verdict.r[0] == pytest.approx(3.0 - stream.monitor.bias[0], abs=1e-3)


def test_the_first_moments_are_unknown_and_a_contact_there_is_told():
    stream = Stream()
    first = stream.stay(0.25, on(1, 4.0))
    assert first.level is Level.UNKNOWN and first.cause == TARING
    later = stream.stay(0.5, on(1, 4.0))
    assert later.level >= Level.CONTACT  # only start_limit, 1 N m, was taken for a bias
    assert later.r[1] == pytest.approx(3.0, abs=1e-2)


def test_a_bias_stays_within_its_limit():
    stream = Stream(replace(SETTINGS, bias=replace(BIAS, limit=(0.8,))))
    stream.stay(0.4)
    for torque in np.arange(0.0, 1.2, 0.002):  # slower than the bias can be noticed
        stream.stay(0.02, on(0, torque))
    assert stream.monitor.bias[0] == pytest.approx(0.8)


def test_tare_takes_the_residual_or_says_why_not():
    stream = Stream()
    with pytest.raises(rd.RobodynError, match="nothing to tare from"):
        stream.monitor.tare()
    stream.stay(0.5)
    stream.stay(0.5, on(4, 2.0))
    assert stream.monitor.tare()[4] == pytest.approx(2.0, abs=1e-3)
    assert stream.stay(0.3, on(4, 2.0)).level is Level.CLEAR
    stream.stay(0.5, on(4, 9.0))
    with pytest.raises(rd.RobodynError, match="joint_5.*9.*bias.limit"):
        stream.monitor.tare()


def test_one_touch_is_one_event():
    """Three touches a third of a second apart, each with a wobble and a remainder."""
    stream = Stream()
    stream.stay(1.0)
    for _ in range(3):
        for torque in (2.0, 5.0, 4.0, 5.0, 3.5):
            stream.stay(0.08, on(0, torque))
        stream.stay(0.35, on(0, 0.9))  # 9 standard deviations stay in the joints
    stream.stay(2.0, on(0, 0.9))
    touched = np.array(stream.levels) >= Level.CONTACT
    assert np.count_nonzero(np.diff(touched.astype(int)) == 1) == 3
    assert not touched[-1000:].any()
    assert stream.monitor.bias[0] == pytest.approx(0.9, abs=0.1)


def test_an_arm_that_swings_before_it_settles_is_not_touched_again():
    """A drive swings through the torque of rest and settles elsewhere: not a second touch."""
    stream = Stream()
    stream.stay(1.0)
    stream.stay(0.5, on(0, -5.0))
    for torque in (0.0, 0.2, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95):
        stream.stay(0.05, on(0, torque))
    stream.stay(0.8, on(0, 1.0))  # a score of 1.25
    touched = np.array(stream.levels) >= Level.CONTACT
    assert np.count_nonzero(np.diff(touched.astype(int)) == 1) == 1
    stream.stay(0.1, on(0, 2.5))
    assert stream.levels[-1] >= Level.CONTACT


def test_a_contact_that_fades_slowly_stays_a_contact():
    """Only a sudden fall ends it above a score of 1: this one takes 3 s to a fifth."""
    stream = Stream()
    stream.stay(0.5)
    for torque in np.linspace(10.0, 2.0, 300):
        stream.stay(0.01, on(0, torque))
    touched = np.array(stream.levels[600:]) >= Level.CONTACT
    assert touched.all()


def test_live_is_offline():
    rng = np.random.default_rng(11)
    T = 3000
    t = DT * np.arange(T)
    push = np.zeros((T, N))
    push[1200:1500, 2], push[2000:2100] = 2.0, 0.8
    phase = 2.0 * t[:, None] + np.arange(N)
    q, qd, qdd = Q + 0.1 * np.sin(phase), 0.2 * np.cos(phase), -0.4 * np.sin(phase)
    tau = rd.inverse_dynamics(MODEL, q, qd, qdd) - push + rng.normal(0.0, 0.2, (T, N))
    samples = sample_rows(MODEL, t, q, qd, tau, period=DT)
    long = replace(NOISE.long, per_acceleration=(0.1,))
    settings = replace(SETTINGS, noise=replace(NOISE, long=long))
    rows = monitor_rows(MODEL, samples, settings)
    monitor = ContactMonitor(MODEL, settings)
    live = [monitor.update(valid_sample(*row)) for row in zip(t, q, qd, tau, strict=True)]
    # The first sample of a recording is a restart, of a stream just the first
    assert [v.level for v in live] == rows.level.tolist()
    np.testing.assert_array_equal([v.r for v in live], rows.r)
    assert {Level.CLEAR, Level.CONTACT} <= set(rows.level.tolist())


def test_settings_change_without_a_jump():
    stream = Stream()
    stream.stay(0.5)
    stream.stay(0.3, on(2, 1.2))
    changed = replace(SETTINGS, noise=replace(NOISE, collision=3.0))
    stream.monitor.apply(stream.monitor.prepare(changed))
    assert stream.stay(DT, on(2, 1.2)).level is Level.CONTACT
    assert stream.stay(0.3).level is Level.CLEAR


@pytest.mark.parametrize("correlation", [(0.1, 0.2), tuple(np.full(21, 1.0))])
def test_correlations_must_fit(correlation):
    with pytest.raises(rd.RobodynError, match="correlation"):
        whitening(correlation, N)


def test_whitening():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 9))
    C = np.corrcoef(A)
    W = whitening(tuple(C[np.tril_indices(4, -1)]), 4)
    np.testing.assert_allclose(W @ C @ W.T, np.eye(4), atol=1e-12)


def test_the_tare_waits_until_the_torque_is_steady():
    """A jolt of 20 N m in the first 0.2 s, as of an arm that starts, is no bias."""
    stream = Stream(replace(SETTINGS, bias=replace(BIAS, start_limit=(30.0,), limit=(30.0,))))
    stream.stay(0.2, on(0, 20.0))
    assert stream.stay(0.15).cause == TARING
    assert stream.stay(0.4).level is Level.CLEAR
    assert abs(stream.monitor.bias[0]) < 0.5
    assert Level.CONTACT not in stream.levels and Level.COLLISION not in stream.levels


def test_a_torque_that_is_never_steady_is_tared_all_the_same():
    stream = Stream()
    for k in range(200):
        stream.stay(0.01, on(0, 20.0 * (-1) ** (k // 8)))
    assert stream.monitor.update(valid_sample(stream.t + DT, Q, STILL, G)).cause != TARING


def creep(stream, seconds, speed):
    """Joint 1 turns at a speed without any torque but that of the dynamics."""
    qd = on(0, speed)
    tau = rd.inverse_dynamics(MODEL, Q, qd, STILL)
    for _ in range(round(seconds / DT)):
        stream.t += DT
        stream.levels.append(stream.monitor.update(valid_sample(stream.t, Q, qd, tau)).level)


def test_an_arm_that_has_rested_hears_more():
    """0.6 N m are 2 standard deviations of a creeping joint, and 12 after some `rest_time`."""
    window = NoiseWindow(window=0.1, threshold=8.0, base=(0.3,), at_rest=(0.05,))
    off = NoiseWindow(window=0.02, threshold=0.0)
    for rest_time, level in ((0.2, Level.CONTACT), (20.0, Level.CLEAR)):
        noise = NoiseSettings(short=off, long=window, rest_time=rest_time)
        stream = Stream(replace(SETTINGS, noise=noise))
        stream.stay(0.5)
        creep(stream, 0.5, 0.05)
        assert stream.stay(1.5).level is Level.CLEAR
        assert stream.stay(0.15, on(2, 0.6)).level is level


def stop_hard(stream, lost):
    """Joint 1 is stopped within 10 ms from 0.5 rad/s; its torque is off by this share of its
    inertia's, as with a model that has a wrong one. Return the levels.
    """
    first, steps = len(stream.levels), 10
    inertia = rd.mass_matrix(MODEL, Q)[0, 0]
    creep(stream, 1.0, 0.5)
    for k in range(1, steps + 1):
        qd, qdd = on(0, 0.5 * (1 - k / steps)), on(0, -0.5 / (steps * DT))
        tau = rd.inverse_dynamics(MODEL, Q, qd, qdd) - lost * inertia * qdd[0] * on(0, 1.0)
        stream.t += DT
        stream.levels.append(stream.monitor.update(valid_sample(stream.t, Q, qd, tau)).level)
    stream.stay(0.3)
    return np.array(stream.levels[first:])


@pytest.mark.parametrize("share", [0.3, 0.0])
def test_a_hard_stop_is_as_noisy_as_its_acceleration(share):
    """A fifth of the inertia is wrong: quiet only where the noise grows with the acceleration. An
    obstacle that takes all of the momentum is found all the same.
    """
    per_acceleration = tuple(on(0, share * rd.mass_matrix(MODEL, Q)[0, 0]))

    def stream():
        windows = (
            replace(w, per_acceleration=per_acceleration) for w in (NOISE.short, NOISE.long)
        )
        return Stream(replace(SETTINGS, noise=NoiseSettings(*windows)))

    assert (max(stop_hard(stream(), 0.2)) < Level.CONTACT) == (share > 0.0)
    assert max(stop_hard(stream(), 1.0)) >= Level.CONTACT


@pytest.mark.parametrize(("usual", "level"), [(1.0, Level.CLEAR), (1e6, Level.CONTACT)])
def test_a_spike_is_not_trusted(usual, level):
    noise = replace(NOISE, spike=(usual,))
    stream = Stream(replace(SETTINGS, noise=noise, debounce=1.5 * DT))
    stream.stay(0.5)
    stream.stay(DT, on(0, 60.0))
    stream.stay(0.03)
    # A spike is known for one when it is over, so a debounce must let it pass
    assert max(stream.levels[-31:]) == level


def test_drag_is_taken_off_the_torque():
    """A joint with 3 N m of friction that the model lacks: quiet with `drag`, else an alarm."""
    for dry, level in ((3.0, Level.CLEAR), (0.0, Level.CONTACT)):
        drag = DragSettings(dry=tuple(on(0, dry)), speed=0.05)
        stream = Stream(replace(SETTINGS, drag=drag))
        stream.stay(0.5)
        qd = on(0, 0.5)
        tau = rd.inverse_dynamics(MODEL, Q, qd, STILL) + on(0, 3.0)
        p = rd.momentum_terms(MODEL, Q, qd)[0]
        for k in range(300):  # the momentum rises within 0.1 s
            share = min(k * DT / 0.1, 1.0)
            stream.t += DT
            v = share * qd
            drive = rd.inverse_dynamics(MODEL, Q, v, STILL) + on(0, 3.0) * np.tanh(v[0] / 0.05)
            drive += p / 0.1 if 0.0 < share < 1.0 else 0.0
            found = stream.monitor.update(valid_sample(stream.t, Q, v, drive))
        assert found.level >= level if level is Level.CONTACT else found.level is level, tau


@pytest.mark.parametrize("presliding", [0.0, 0.004])
def test_drag_is_the_friction_of_the_model_as_a_state(presliding):
    """What the law with its state adds to the torque, `drag` takes off: the residual stays."""
    dry, viscous, speed = np.linspace(-0.5, 2.0, N), np.linspace(0.0, 1.0, N), 0.02
    law = MODEL.replace(coulomb=1.0, friction_width=speed, presliding=presliding)
    state = SlidingFriction(law)
    t = DT * np.arange(600.0)
    swing = np.clip(t - 0.4, 0.0, 0.3)[:, None]  # at rest, to and fro, at rest
    phase = 2.0 * np.pi * swing / 0.3 + 0.0 * Q
    q, qd = Q + 0.01 * (1.0 - np.cos(phase)), 0.01 * 2.0 * np.pi / 0.3 * np.sin(phase)
    middle = 0.5 * (qd + np.vstack([qd[:1], qd[:-1]]))
    friction = []
    for v, now in zip(middle, qd, strict=True):
        state.of_load(now, STILL, DT)
        s = state.s if presliding else np.tanh(v / speed)
        friction.append(dry * s + viscous * v)
    assert np.abs(friction).max() > 1.5
    tau = np.array([rd.inverse_dynamics(MODEL, *x, STILL) for x in zip(q, qd, strict=True)])
    drag = DragSettings(tuple(dry), tuple(viscous), speed, (presliding,))
    plain, with_drag = MonitorSettings(), MonitorSettings(drag=drag)
    expected = rd.detect(MODEL, rd.Log(t, q, qd, tau), plain).r
    found = rd.detect(MODEL, rd.Log(t, q, qd, tau + friction), with_drag).r
    np.testing.assert_allclose(found, expected, atol=1e-9)
    monitor = ContactMonitor(MODEL, with_drag)
    for k in range(t.size):
        verdict = monitor.update(valid_sample(t[k], q[k], qd[k], tau[k] + friction[k]))
    np.testing.assert_allclose(verdict.r, found[-1], atol=1e-9)


def test_where_the_observer_starts_anew_no_external_torque_is_known():
    t = DT * np.arange(400.0)
    t[200:] += 0.5
    samples = sample_rows(MODEL, t, np.tile(Q, (400, 1)), np.zeros((400, N)), np.tile(G, (400, 1)))
    external = monitor_rows(MODEL, samples, MonitorSettings(), certain=True).external
    assert np.flatnonzero(np.isnan(external[:, 0])).tolist() == [0, 200]


@pytest.mark.parametrize("speed", [0.0, 0.02, 0.0245])
def test_a_rested_arm_that_creeps_has_a_deviation_between_rest_and_motion(speed):
    """Also where joints that creep are by far the loudest: then it does not fall below 0."""
    window = NoiseWindow(
        window=0.1, threshold=8.0, base=(0.5,), in_motion=(-0.4,), at_rest=(0.01,)
    )
    off = NoiseWindow(window=0.02, threshold=0.0)
    noise = NoiseDetector(MODEL, NoiseSettings(short=off, long=window), BiasSettings())
    qd, mean = np.full(N, speed), on(2, 0.02)
    for k in range(1000):
        level = find_contact(*noise.memory, DT * k, DT, qd, mean, STILL, 0.0)
    share = np.tanh((speed / 0.1) ** 2)
    sigma = 0.01 * (1.0 - share) + 0.1 * share
    assert level == 0 and noise.own[int(SCORE)] == pytest.approx(0.02 / sigma / 8.0)
    np.testing.assert_allclose(deviations(window, qd, 0.1), sigma)


@pytest.mark.parametrize(
    "name", ["base", "in_motion", "per_velocity", "per_acceleration", "at_rest"]
)
def test_numbers_whose_squares_are_not_finite_are_refused(name):
    with pytest.raises(rd.RobodynError, match=name):
        NoiseWindow(**{name: (1e200,)})
