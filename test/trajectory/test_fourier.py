"""Sums of harmonics: against NumPy's sums and finite differences."""

import numpy as np
import pytest

from robodyn_ros.errors import ArgumentError
from robodyn_ros.trajectory.fourier import Fourier

N, H, F = 4, 5, 0.2


def some_motion(duration=10.0, seed=1):
    random = np.random.default_rng(seed)
    return Fourier(random.normal(size=N), *random.normal(size=(2, N, H)), F, duration)


def test_position_is_the_sum_of_harmonics():
    motion = some_motion()
    h, t = np.arange(1, H + 1), np.linspace(0.0, 10.0, 73)
    angle = 2 * np.pi * F * np.multiply.outer(t, h)
    expected = motion.centre + np.sin(angle) @ motion.a.T + np.cos(angle) @ motion.b.T
    np.testing.assert_allclose(motion.at(t).q, expected, atol=1e-12)
    np.testing.assert_allclose(motion.at(t[5]).q, expected[5], atol=1e-12)


def test_derivatives_are_slopes():
    motion, h = some_motion(), 1e-5
    t = np.linspace(0.1, 9.9, 60)
    now, later, earlier = motion.at(t), motion.at(t + h), motion.at(t - h)
    for order in range(3):
        slope = (later[order] - earlier[order]) / (2 * h)
        np.testing.assert_allclose(slope, now[order + 1], atol=1e-6 * abs(now[order + 1]).max())


def test_rests_before_and_after():
    motion = some_motion()
    for t, end in ((-1.0, 0.0), (10.1, 10.0)):
        np.testing.assert_array_equal(motion.at(t).q, motion.at(end).q)
        assert not np.any(motion.at(t)[1:])
    assert np.all(motion.at(10.0).qd != 0.0)
    both = motion.at([-1.0, 3.0])
    assert not np.any(both.qd[0]) and np.all(both.qd[1] != 0.0)


def test_at_rest_has_no_velocity_nor_acceleration_at_its_ends_and_changes_least():
    motion = some_motion()
    still = motion.at_rest()
    for t in (0.0, 10.0):
        np.testing.assert_allclose(still.at(t).qd, 0.0, atol=1e-12)
        np.testing.assert_allclose(still.at(t).qdd, 0.0, atol=1e-11)
    assert np.abs(still.at(3.4).qd).min() > 0.1
    # The nearest: the change is at right angles to every change that keeps it resting.
    h = np.arange(1, H + 1)
    random = np.random.default_rng(0)
    for old, new, weights in ((motion.a, still.a, h), (motion.b, still.b, h**2)):
        other = random.normal(size=(N, H))
        other -= np.outer(other @ weights, weights) / (weights @ weights)
        np.testing.assert_allclose(((old - new) * other).sum(axis=1), 0.0, atol=1e-12)
    again = still.at_rest()
    np.testing.assert_allclose([again.a, again.b], [still.a, still.b], atol=1e-13)


def test_the_motion_of_lu_and_meng():
    """c1 + a1 sin wt, c2 + a2 cos wt/2, c3 + a3 sin wt/3, c4 + a4 cos wt/4: harmonics of w/12."""
    w, c, amplitude = 3.0, np.array([0.1, 0.2, 0.3, 0.4]), np.array([1.0, 0.8, 0.6, 0.4])
    a, b = np.zeros((2, 4, 12))
    a[0, 11], b[1, 5], a[2, 3], b[3, 2] = amplitude
    motion = Fourier(c, a, b, w / 12 / (2 * np.pi), 5.0)
    t = np.linspace(0.0, 5.0, 40)
    shapes = [np.sin(w * t), np.cos(w * t / 2), np.sin(w * t / 3), np.cos(w * t / 4)]
    np.testing.assert_allclose(motion.at(t).q, c + amplitude * np.transpose(shapes), atol=1e-12)


def test_refuses_what_makes_no_sense():
    ones = np.ones((2, 3))
    for arguments, message in [
        (([0.0, 0.0], ones, ones[:, :2], 1.0, 1.0), "a and b must both be"),
        (([0.0, 0.0], ones[:, :0], ones[:, :0], 1.0, 1.0), "a and b must both be"),
        (([0.0], ones, ones, 1.0, 1.0), "a must have shape"),
        (([0.0, np.nan], ones, ones, 1.0, 1.0), "centre of joint 'joint_2'"),
        (([0.0, 0.0], ones * np.inf, ones, 1.0, 1.0), "a of joint 'joint_1'"),
        (([0.0, 0.0], ones, ones, 0.0, 1.0), "base_frequency must be positive"),
        (([0.0, 0.0], ones, ones, 1.0, np.inf), "duration must be positive"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            Fourier(*arguments)
    with pytest.raises(ArgumentError, match="whole periods of 5 s"):
        some_motion(duration=7.0).at_rest()
    with pytest.raises(ArgumentError, match="two at least"):
        Fourier([0.0], [[1.0]], [[1.0]], 1.0, 2.0).at_rest()
