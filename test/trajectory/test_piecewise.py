"""Pieces of polynomials: against NumPy's polynomials, at breaks, ends and outside."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from robodyn_ros.dynamics.motion import Motion
from robodyn_ros.errors import ArgumentError
from robodyn_ros.trajectory.piecewise import PiecewisePolynomial, hermite

BREAKS = np.array([0.0, 0.4, 1.0, 1.1, 2.5])


def some_pieces(degree=5, n=3, seed=1):
    c = np.random.default_rng(seed).normal(size=(BREAKS.size - 1, n, degree + 1))
    return PiecewisePolynomial(BREAKS, c)


def by_numpy(trajectory, piece, joint, order, t):
    p = Polynomial(trajectory.coefficients[piece, joint])
    return (p.deriv(order) if order else p)(t - BREAKS[piece])


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 5, 7])
def test_value_and_three_derivatives_are_those_of_the_polynomials(degree):
    trajectory = some_pieces(degree)
    for piece in range(4):
        for t in np.linspace(BREAKS[piece], BREAKS[piece + 1], 5)[:-1]:
            motion = trajectory.at(float(t))
            expected = [
                [by_numpy(trajectory, piece, j, order, t) for j in range(3)] for order in range(4)
            ]
            np.testing.assert_allclose(motion, expected, rtol=1e-13, atol=1e-12)


def test_at_a_break_the_later_piece_counts_and_at_the_end_the_last():
    trajectory = some_pieces()
    for piece, t in [(0, 0.0), (1, 0.4), (2, 1.0), (3, 1.1), (3, 2.5)]:
        expected = [by_numpy(trajectory, piece, 1, order, t) for order in range(4)]
        np.testing.assert_allclose([x[1] for x in trajectory.at(t)], expected, rtol=1e-12)


def test_rests_at_its_ends_before_and_after():
    trajectory = some_pieces()
    for t, end in [(-1e-9, 0.0), (-np.inf, 0.0), (2.5 + 1e-9, 2.5), (np.inf, 2.5)]:
        motion = trajectory.at(t)
        np.testing.assert_array_equal(motion.q, trajectory.at(end).q)
        assert not np.any(motion[1:])
    assert np.all(np.array(trajectory.at(0.0)[1:]) != 0.0)
    assert np.all(np.array(trajectory.at(2.5)[1:]) != 0.0)


def test_many_times_give_the_rows_of_each():
    trajectory = some_pieces()
    times = np.random.default_rng(2).uniform(-0.5, 3.0, 50)
    motion = trajectory.at(times)
    assert isinstance(motion, Motion)
    for k, t in enumerate(times):
        np.testing.assert_array_equal([x[k] for x in motion], trajectory.at(float(t)))


def test_takes_any_number_and_sequence_of_times():
    trajectory = some_pieces()
    expected = trajectory.at(1.0).q
    for one in (1, np.float64(1.0), np.int64(1), np.array(1.0), np.float32(1.0)):
        assert trajectory.at(one).q.shape == (3,)
        np.testing.assert_array_equal(trajectory.at(one).q, expected)
    frozen = np.array([0.5, 9.0, 1.0, 9.0])[::2]
    frozen.flags.writeable = False
    for several in ([0.5, 1.0], (0.5, 1), frozen):
        np.testing.assert_array_equal(trajectory.at(several).q[1], expected)
    assert trajectory.at([]).q.shape == (0, 3)


@pytest.mark.parametrize("t", [np.nan, [0.0, np.nan], "soon", None, [[0.0]], [[0.0], [1.0, 2.0]]])
def test_refuses_what_is_no_time(t):
    with pytest.raises(ArgumentError, match="^t must"):
        some_pieces().at(t)


def test_each_call_gives_new_arrays():
    trajectory = some_pieces()
    first = trajectory.at(0.7)
    kept = np.array(first)
    trajectory.at(2.0)
    np.testing.assert_array_equal(first, kept)


def test_peaks_are_those_of_dense_samples():
    for degree in (1, 2, 3, 5, 7):
        trajectory = some_pieces(degree, seed=degree)
        for order in range(4):
            peaks = trajectory.peaks(order)
            for piece in range(4):
                t = np.linspace(BREAKS[piece], BREAKS[piece + 1], 20_001)
                for joint in range(3):
                    seen = np.abs(by_numpy(trajectory, piece, joint, order, t)).max()
                    assert seen <= peaks[piece, joint] * (1 + 1e-12) + 1e-12
                    assert peaks[piece, joint] <= seen * (1 + 1e-6) + 1e-9


def test_sample_goes_to_the_end_whatever_the_step():
    trajectory = some_pieces()
    for dt, count in [(0.5, 6), (0.4, 8), (2.5, 2), (7.0, 2), (0.1, 26), (2.5 / 7.0, 8)]:
        t, motion = trajectory.sample(dt)
        assert t.size == count and t[0] == 0.0 and t[-1] == 2.5
        np.testing.assert_allclose(np.diff(t)[:-1], dt)
        assert 0.0 < t[-1] - t[-2] <= dt * (1 + 1e-9)
        np.testing.assert_array_equal(motion.q, trajectory.at(t).q)
    for dt in (0.0, -1.0, np.nan, np.inf, "x"):
        with pytest.raises(ArgumentError, match="dt must"):
            trajectory.sample(dt)


@pytest.mark.parametrize("r", [1, 2, 3])
def test_hermite_pieces_have_the_given_derivatives_at_both_ends(r):
    values = np.random.default_rng(r).normal(size=(BREAKS.size, r, 2))
    trajectory = PiecewisePolynomial(BREAKS, hermite(BREAKS, values))
    for piece in range(4):
        for knot in (piece, piece + 1):
            for order in range(r):
                got = [by_numpy(trajectory, piece, j, order, BREAKS[knot]) for j in range(2)]
                np.testing.assert_allclose(got, values[knot, order], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("breaks", "shape"),
    [
        ([0.0, 1.0], (2, 3, 4)),
        ([0.0], (0, 3, 4)),
        ([0.0, 1.0], (1, 0, 4)),
        ([0.0, 1.0], (1, 3, 0)),
        ([0.0, 1.0], (1, 3)),
        ([0.1, 1.0], (1, 3, 4)),
        ([0.0, 1.0, 1.0], (2, 3, 4)),
        ([0.0, np.nan], (1, 3, 4)),
        ([0.0, np.inf], (1, 3, 4)),
    ],
)
def test_refuses_pieces_that_do_not_fit(breaks, shape):
    with pytest.raises(ArgumentError):
        PiecewisePolynomial(breaks, np.ones(shape))


def test_is_a_copy_that_cannot_be_changed():
    c = np.ones((1, 2, 3))
    trajectory = PiecewisePolynomial([0.0, 1.0], c)
    c[:] = 7.0
    assert trajectory.at(0.0).q[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        trajectory.coefficients[0] = 2.0
    with pytest.raises(ArgumentError, match="finite"):
        PiecewisePolynomial([0.0, 1.0], np.full((1, 2, 3), np.nan))
    with pytest.raises(ArgumentError, match="order"):
        trajectory.peaks(4)
