"""Trajectory messages: both conversions, names in any order, and wrong messages."""

import dataclasses
from array import array
from types import SimpleNamespace

import numpy as np
import pytest

from robodyn_ros.errors import ArgumentError
from robodyn_ros.trajectory.joint_move import joint_move
from robodyn_ros.trajectory.trajectory_msg import TrajectoryPoint, from_points, to_points

NAMES = ("hip", "knee", "foot")


def some_move():
    return joint_move([0.0, 1.0, 2.0], [1.0, 0.5, -2.0], qd_max=1.0)


def a_point(t, q, *derivatives):
    fields = dict(zip(("velocities", "accelerations"), derivatives, strict=False))
    return TrajectoryPoint(q, **fields, time_from_start=t)


def test_points_are_the_samples():
    move = some_move()
    names, points = to_points(move, 0.2, NAMES)
    t, motion = move.sample(0.2)
    assert names == NAMES
    np.testing.assert_array_equal([p.time_from_start for p in points], t)
    for field, values in zip(("positions", "velocities", "accelerations"), motion, strict=False):
        np.testing.assert_array_equal([getattr(p, field) for p in points], values)
    with pytest.raises(dataclasses.FrozenInstanceError):
        points[0].time_from_start = 3.0


def test_there_and_back_is_the_same_motion():
    """A quintic sampled with two derivatives is reproduced exactly."""
    move = some_move()
    back = from_points(*to_points(move, 0.37, NAMES))
    t = np.linspace(0.0, move.duration, 101)
    for order in range(3):
        np.testing.assert_allclose(back.at(t)[order], move.at(t)[order], atol=1e-10)
    assert back.duration == move.duration


def test_joints_are_put_in_order_by_name():
    names, points = to_points(some_move(), 0.37, NAMES)
    turned = from_points(names, points, joint_names=("foot", "hip", "knee"))
    t = np.linspace(0.0, 1.0, 11)
    for order in range(3):
        expected = some_move().at(t)[order][:, [2, 0, 1]]
        np.testing.assert_allclose(turned.at(t)[order], expected, atol=1e-10)


def test_positions_only_give_lines():
    path = from_points(["a"], [a_point(0.0, [1.0]), a_point(2.0, [3.0]), a_point(3.0, [0.0])])
    t = np.array([0.0, 0.5, 1.9, 2.0, 2.5, 3.0])
    np.testing.assert_allclose(path.at(t).q[:, 0], np.interp(t, [0, 2, 3], [1, 3, 0]))
    np.testing.assert_allclose(path.at(t).qd[:, 0], [1, 1, 1, -3, -3, -3])


def test_velocities_give_cubics_and_accelerations_quintics():
    """Against the 4 and 6 conditions at the ends, solved as linear equations."""
    h, left, right = 0.7, [1.0, -0.5, 2.0], [0.3, 0.8, -1.0]
    for r in (2, 3):
        points = [a_point(0.0, *([x] for x in left[:r])), a_point(h, *([x] for x in right[:r]))]
        path = from_points(["a"], points)
        rows, wanted = [], []
        for x, values in ((0.0, left), (h, right)):
            for k in range(r):
                basis = np.polynomial.Polynomial.basis
                polynomials = [basis(i).deriv(k) if k else basis(i) for i in range(2 * r)]
                rows.append([p(x) for p in polynomials])
                wanted.append(values[k])
        c = np.linalg.solve(rows, wanted)
        np.testing.assert_allclose(path.coefficients[0, 0], np.pad(c, (0, 6 - 2 * r)), atol=1e-9)


def test_each_piece_takes_what_both_its_ends_have():
    points = [
        a_point(0.0, [0.0], [0.0], [0.0]),
        a_point(1.0, [1.0], [0.5], [0.2]),
        a_point(2.0, [1.5], [0.0]),
        a_point(3.0, [2.0]),
    ]
    c = from_points(["a"], points).coefficients[:, 0]
    assert [int(np.flatnonzero(row)[-1]) for row in c] == [5, 3, 1]


def test_a_later_first_point_is_reached_from_the_start():
    points = [a_point(1.0, [1.0, 10.0], [0.0, 0.0]), a_point(2.0, [2.0, 20.0], [0.0, 0.0])]
    start = ([9.0, 0.5], [0.3, -0.1])
    path = from_points(["a", "b"], points, joint_names=("b", "a"), start=start)
    np.testing.assert_allclose(path.at(0.0)[:2], start)
    np.testing.assert_allclose(path.at(1.0).q, [10.0, 1.0])
    np.testing.assert_allclose(path.breaks, [0.0, 1.0, 2.0])
    line = from_points(["a", "b"], points, start=([0.0, 0.0],))
    np.testing.assert_allclose(line.at(0.25).q, [0.25, 2.5])
    now = some_move().at(0.4)  # a Motion will do
    joined = from_points(NAMES, [a_point(1.0, [1.0] * 3, [0.0] * 3, [0.0] * 3)], start=now)
    np.testing.assert_allclose(joined.at(0.0)[:3], now[:3], atol=1e-12)
    with pytest.raises(ArgumentError, match="the first point is at 1 s: give `start`"):
        from_points(["a", "b"], points)


def test_reads_messages_too():
    """Arrays of doubles, and a duration in seconds and nanoseconds."""
    messages = [
        SimpleNamespace(
            positions=array("d", [x]),
            velocities=array("d"),
            accelerations=array("d"),
            time_from_start=SimpleNamespace(sec=sec, nanosec=nanosec),
        )
        for x, sec, nanosec in ((0.0, 0, 0), (1.0, 1, 500_000_000))
    ]
    path = from_points(["a"], messages)
    assert path.duration == 1.5
    assert path.at(0.75).q[0] == pytest.approx(0.5)


GOOD = [a_point(0.0, [0.0, 0.0]), a_point(1.0, [1.0, 1.0])]


@pytest.mark.parametrize(
    ("names", "points", "options", "message"),
    [
        (["a", "b"], GOOD, {"joint_names": ["a", "c"]}, "missing: c; unknown: b"),
        (["a", "b"], GOOD, {"joint_names": ["a"]}, "missing: -; unknown: b"),
        (["a", "b"], GOOD, {"joint_names": ["a", "b", "c"]}, "missing: c; unknown: -"),
        (["a", "a"], GOOD, {}, "more than once: a"),
        (["a", "b"], GOOD, {"joint_names": ["b", "b"]}, "more than once: b"),
        (["a", "b"], [], {}, "the list is empty"),
        (["a", "b"], GOOD[:1], {}, "no motion"),
        (["a"], GOOD, {}, "positions of point 0 must be 1 numbers"),
        (["a", "b"], [GOOD[0], a_point(1.0, [1.0])], {}, "positions of point 1 must be 2"),
        (["a", "b"], [a_point(0.0, [])], {}, "point 0 has no positions"),
        (["a", "b"], [a_point(0.0, [1.0, 2.0], [1.0])], {}, "velocities of point 0 must be 2"),
        (["a", "b"], [a_point(0.0, [1.0, 2.0], [], [1.0, 2.0])], {}, "but no velocities"),
        (["a", "b"], [GOOD[0], a_point(1.0, [1.0, np.nan])], {}, "joint 'b' has nan"),
        (["a", "b"], [GOOD[0], a_point(0.0, [1.0, 1.0])], {}, "0 s is followed by 0 s"),
        (["a", "b"], [*GOOD, a_point(0.5, [1.0, 1.0])], {}, "1 s is followed by 0.5 s"),
        (["a", "b"], [a_point(-1.0, [0.0, 0.0]), GOOD[1]], {}, "not negative"),
        (["a", "b"], [GOOD[0], a_point(np.nan, [0.0, 0.0])], {}, "must be finite"),
        (["a", "b"], GOOD[1:], {"start": ([0.0],)}, "start must be 2 numbers"),
        (["a", "b"], GOOD[1:], {"start": ()}, "positions at least"),
        (["a", "b"], GOOD[1:], {"start": ([0.0, np.inf],)}, "start must be finite; joint 'b'"),
    ],
)
def test_wrong_messages_are_rejected(names, points, options, message):
    with pytest.raises(ArgumentError, match=message):
        from_points(names, points, **options)


def test_wrong_names_are_rejected():
    with pytest.raises(ArgumentError, match="3 joints move, 2 names"):
        to_points(some_move(), 0.1, NAMES[:2])
    with pytest.raises(ArgumentError, match="more than once: hip"):
        to_points(some_move(), 0.1, ("hip", "hip", "knee"))
