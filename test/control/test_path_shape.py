"""PathShape: breaks are found where they are, and rounded within the tolerance."""

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control.path_shape import TOLERANCE, PathShape, ScalingLimits, find_breaks
from robodyn_ros.trajectory.trajectory_msg import TrajectoryPoint, from_points

NODE, RATE = 4e-3, 1000.0
LIMITS = ScalingLimits(*(np.full(2, x) for x in (100.0, RATE, np.inf, np.inf)))
INERTIA = np.array([3.0, 1.0])


def sampler(path):
    """Sample a path that rests outside its duration."""

    def at(s):
        motion = [np.array(x) for x in path.at(np.clip(s, 0.0, path.duration))[:4]]
        for part in motion[1:]:
            part[(s < 0.0) | (s > path.duration)] = 0.0
        return motion

    return at


def shape_of(path):
    return PathShape(sampler(path), path.duration, NODE, LIMITS, lambda q, x: INERTIA * x)


def through(points, times, *derivatives):
    rows = [
        TrajectoryPoint(tuple(q), *(tuple(x[k]) for x in derivatives), time_from_start=t)
        for k, (q, t) in enumerate(zip(points, times, strict=True))
    ]
    return from_points(("a", "b"), rows)


POINTS = np.array([[0.0, 0.0], [1.0, 0.2], [1.1, -0.5], [0.0, 0.0]])
TIMES = [0.0, 0.7003, 1.2, 2.1]
LINES = through(POINTS, TIMES)
CUBIC = through(POINTS, TIMES, np.array([[0.0, 0.0], [1.0, 0.3], [-0.5, 0.1], [0.5, 0.5]]))


def test_a_smooth_path_is_left_as_it_is():
    move = rd.joint_move([0.0, 0.0], [1.0, -0.4], duration=0.8)
    shape = shape_of(move)
    assert shape.is_path and shape.duration == move.duration
    u = np.linspace(0.0, 0.8, 50)
    for found, wanted in zip(shape.motion(u), move.at(u)[:3], strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("path", [LINES, CUBIC])
def test_breaks_are_found_where_they_are(path):
    breaks = find_breaks(sampler(path), path.duration, NODE)
    np.testing.assert_allclose(breaks.s, TIMES, atol=1e-9)
    before, after = (sampler(path)(np.array(TIMES) + x) for x in (-1e-8, 1e-8))
    np.testing.assert_allclose(breaks.velocity, after[1] - before[1], atol=1e-6)
    np.testing.assert_allclose(breaks.acceleration, after[2] - before[2], atol=1e-5)


@pytest.mark.parametrize("path", [LINES, CUBIC])
def test_the_shape_is_near_its_path_with_continuous_acceleration(path):
    shape = shape_of(path)
    u = np.linspace(0.0, shape.duration, 200_001)
    q, q1, q2 = shape.motion(u)
    s, s1, _ = shape.time(u)
    assert (s1 > 0.0).all() and (np.diff(s) > 0.0).all()
    assert np.abs(q - sampler(path)(s)[0]).max() < 1.01 * TOLERANCE
    h = u[1] - u[0]
    np.testing.assert_allclose(np.diff(q, axis=0) / h, 0.5 * (q1[1:] + q1[:-1]), atol=1e-5)
    np.testing.assert_allclose(np.diff(q1, axis=0) / h, 0.5 * (q2[1:] + q2[:-1]), atol=1e-2)
    assert np.abs(np.diff(q2, axis=0)).max() < 0.02 * np.abs(q2).max()
    for end in (0, -1):  # at rest
        assert np.abs(q1[end]).max() < 1e-9 and np.abs(q2[end]).max() < 1e-6


def test_corners_of_a_dense_polygon_are_not_passed_slowly():
    t = np.arange(0.0, 2.0, 0.02)
    arc = np.stack([np.sin(t), 1.0 - np.cos(t)], axis=1)
    shape = shape_of(through(arc, t.tolist()))
    inside = (shape.breaks.s > 0.1) & (shape.breaks.s < 1.8)
    assert inside.sum() > 80 and (shape._sigma[inside] == 1.0).all()
    u = np.linspace(0.2, 1.8, 2001)
    q, _, q2 = shape.motion(u)
    radius = q - [0.0, 1.0]
    away = np.abs(radius - radius / np.linalg.norm(radius, axis=1)[:, None]).max()
    assert away < TOLERANCE + 0.02**2 / 8.0  # the polygon's own distance
    assert np.abs(q2).max() < 2.0  # of an arc with 1 rad/s^2
