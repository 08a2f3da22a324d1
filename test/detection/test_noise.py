"""Momentum increments tested by their noise, and the bias that is learnt without contact."""

from dataclasses import replace

import numpy as np
import pytest
from sample_cases import valid_sample

import robodyn_ros as rd
from robodyn_ros.detection.detector import Level
from robodyn_ros.detection.monitor import TARING, ContactMonitor, monitor_rows
from robodyn_ros.detection.monitor_settings import (
    BiasSettings,
    MonitorSettings,
    NoiseSettings,
    NoiseWindow,
    ThresholdSettings,
)
from robodyn_ros.detection.noise import whitening
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
    tau = G - push + rng.normal(0.0, 0.2, (T, N))
    q, qd = np.tile(Q, (T, 1)), np.zeros((T, N))
    samples = sample_rows(MODEL, t, q, qd, tau, period=DT)
    rows = monitor_rows(MODEL, samples, SETTINGS)
    monitor = ContactMonitor(MODEL, SETTINGS)
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
