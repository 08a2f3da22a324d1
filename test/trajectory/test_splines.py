"""Splines through points: against a dense solve, continuity, times within limits."""

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.errors import ArgumentError
from robodyn_ros.trajectory.joint_move import joint_move
from robodyn_ros.trajectory.splines import spline

TIMES = np.array([0.0, 0.3, 1.0, 1.2, 2.5, 3.0])
DEGREE = {"cubic": 3, "quintic": 5}


def some_points(m=6, n=3, seed=1):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (m, n))


def end_conditions(seed=2, n=3):
    names = ("start_velocity", "end_velocity", "start_acceleration", "end_acceleration")
    return dict(zip(names, np.random.default_rng(seed).normal(size=(4, n)), strict=True))


def use(path, kv, ka):
    return max((path.peaks(1) / kv).max(), (path.peaks(2) / ka).max())


def derivative_row(powers, order, x):
    """Return the factors of a polynomial's coefficients in its derivative at x."""
    basis = np.polynomial.Polynomial.basis
    return np.array([(basis(k).deriv(order) if order else basis(k))(x) for k in range(powers)])


def dense_spline(q, t, degree, start, end):
    """Return the coefficients (P, n, degree + 1) by one dense system of all conditions."""
    pieces, powers = len(t) - 1, degree + 1
    rows, right = [], []

    def condition(value, *terms):
        row = np.zeros((pieces, powers))
        for piece, order, x, sign in terms:
            row[piece] += sign * derivative_row(powers, order, x)
        rows.append(row.ravel())
        right.append(value)

    for p, h in enumerate(np.diff(t)):
        condition(q[p], (p, 0, 0.0, 1.0))
        condition(q[p + 1], (p, 0, h, 1.0))
        for order in range(1, degree if p < pieces - 1 else 1):
            condition(0.0 * q[0], (p, order, h, 1.0), (p + 1, order, 0.0, -1.0))
    for order, (a, b) in enumerate(zip(start, end, strict=True), start=1):
        condition(a, (0, order, 0.0, 1.0))
        condition(b, (pieces - 1, order, t[-1] - t[-2], 1.0))
    found = np.linalg.solve(np.array(rows), np.array(right))
    return found.reshape(pieces, powers, -1).transpose(0, 2, 1)


@pytest.mark.parametrize("order", ["cubic", "quintic"])
def test_it_solves_all_conditions_at_once(order):
    """Interpolation, continuity and end conditions as one dense linear system."""
    ends, q = end_conditions(), some_points()
    given = [
        [ends[f"{side}_velocity"], ends[f"{side}_acceleration"]][: DEGREE[order] // 2]
        for side in ("start", "end")
    ]
    expected = dense_spline(q, TIMES, DEGREE[order], *given)
    found = spline(q, TIMES, order=order, **ends).coefficients
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(("order", "smooth"), [("cubic", 2), ("quintic", 4)])
def test_passes_all_points_and_is_continuous_there(order, smooth):
    """Cubic: C2; quintic: C4; the next derivative jumps. Both sides by their own polynomials."""
    q, path = some_points(), spline(some_points(), TIMES, order=order)
    for knot in range(1, 5):
        left, right = path.coefficients[knot - 1], path.coefficients[knot]
        h = TIMES[knot] - TIMES[knot - 1]
        for j in range(3):
            a, b = np.polynomial.Polynomial(left[j]), np.polynomial.Polynomial(right[j])
            assert a(h) == pytest.approx(q[knot, j], abs=1e-12)
            for k in range(1, smooth + 1):
                assert a.deriv(k)(h) == pytest.approx(b.deriv(k)(0.0), rel=1e-7, abs=1e-7)
            jump = abs(a.deriv(smooth + 1)(h) - b.deriv(smooth + 1)(0.0))
            assert jump > 1e-3
    np.testing.assert_allclose(path.at(TIMES).q, q, atol=1e-12)
    for t in (0.0, 3.0):
        np.testing.assert_allclose(path.at(t).qd, 0.0, atol=1e-12)
    if order == "quintic":
        np.testing.assert_allclose(path.at([0.0, 3.0]).qdd, 0.0, atol=1e-9)


@pytest.mark.parametrize("order", ["cubic", "quintic"])
def test_of_two_points_it_is_the_polynomial_of_table_8_1(order):
    """One piece from rest to rest, as fast as (8.14) allows."""
    q = some_points(2)
    kv, ka = np.array([1.0, 2.0, 0.7]), np.array([4.0, 0.5, 3.0])
    path = spline(q, order=order, qd_max=kv, qdd_max=ka)
    move = joint_move(*q, profile=order, qd_max=kv, qdd_max=ka)
    assert path.duration == pytest.approx(move.duration, rel=1e-8)
    np.testing.assert_allclose(path.at(0.3).q, move.at(0.3).q, atol=1e-7)


@pytest.mark.parametrize("order", ["cubic", "quintic"])
@pytest.mark.parametrize("seed", range(4))
def test_free_times_reach_a_limit_and_beat_equal_and_chord_times(order, seed):
    random = np.random.default_rng(seed)
    q = some_points(6, 3, seed)
    kv, ka = random.uniform(0.5, 2.0, 3), random.uniform(1.0, 6.0, 3)
    path = spline(q, order=order, qd_max=kv, qdd_max=ka)
    assert use(path, kv, ka) == pytest.approx(1.0, abs=1e-8)
    np.testing.assert_allclose(path.at(path.breaks).q, q, atol=1e-10)
    chords = np.linalg.norm(np.diff(q, axis=0), axis=1)
    for shares in (np.ones(5), chords, np.sqrt(chords)):
        other = spline(q, np.append(0.0, np.cumsum(shares)), order=order)
        v, a = (other.peaks(1) / kv).max(), np.sqrt((other.peaks(2) / ka).max())
        assert path.duration <= other.duration * max(v, a) * (1 + 1e-9)


def test_free_times_come_near_those_of_a_long_search():
    """A random search around the result finds nothing more than 5 % faster."""
    q, kv, ka = some_points(5, 3, 7), 1.5, 4.0
    random = np.random.default_rng(0)
    for order in DEGREE:
        path = spline(q, order=order, qd_max=kv, qdd_max=ka)
        h, best = np.diff(path.breaks), path.duration
        for k in range(400):
            shares = h * np.exp(random.normal(size=4) * (0.5 if k % 2 else 0.1))
            other = spline(q, np.append(0.0, np.cumsum(shares)), order=order)
            slow = max((other.peaks(1) / kv).max(), np.sqrt((other.peaks(2) / ka).max()))
            best = min(best, other.duration * slow)
        assert best > 0.95 * path.duration


@pytest.mark.parametrize("order", ["cubic", "quintic"])
def test_free_times_with_velocities_at_the_ends(order):
    for seed in range(2):
        ends = {k: 0.3 * x for k, x in end_conditions(seed).items()}
        path = spline(some_points(seed=seed), order=order, qd_max=1.5, qdd_max=4.0, **ends)
        assert use(path, 1.5, 4.0) == pytest.approx(1.0, abs=1e-8)
        np.testing.assert_allclose(path.at(0.0).qd, ends["start_velocity"], atol=1e-9)
        np.testing.assert_allclose(path.at(path.duration).qd, ends["end_velocity"], atol=1e-9)


def test_many_points():
    q = np.cumsum(some_points(200, 2, 5), axis=0)
    path = spline(q, np.arange(200.0), order="quintic")
    np.testing.assert_allclose(path.at(np.arange(200.0)).q, q, atol=1e-9)


def test_given_times_are_checked_against_limits_by_the_joint_s_name():
    q = some_points()
    peak = spline(q, TIMES).peaks(1).max(axis=0)
    limits = peak * [1.1, 0.9, 1.1]
    with pytest.raises(ArgumentError, match="velocity of joint 'joint_2' reaches"):
        spline(q, TIMES, qd_max=limits)
    most = spline(q, TIMES).peaks(2).max(axis=0)
    with pytest.raises(ArgumentError, match="acceleration of joint 'joint_3' reaches"):
        spline(q, TIMES, qdd_max=most * [1.1, 1.1, 0.9])
    spline(q, TIMES, qd_max=peak * 1.001, qdd_max=most * 1.001)


def test_motion_outside_the_joint_limits_is_rejected():
    model = rd.robots.kuka_lwr4()
    name, top = model.joint_names[1], model.q_max[1]
    points = np.zeros((4, 7))
    points[2, 1] = top + 0.1
    with pytest.raises(ArgumentError, match=rf"points of joint '{name}' in row 2 is 2\.19"):
        spline(points, model=model)
    points[1:3, 1] = top - 0.01, top - 0.02  # a spline overshoots between them
    overshoot = spline(points, qd_max=model.qd_max).at(np.arange(0.0, 9.0, 1e-3)).q[:, 1].max()
    assert overshoot > top
    with pytest.raises(ArgumentError, match=f"points 0 and 1 joint '{name}' leaves") as error:
        spline(points, model=model)
    assert f"by {overshoot - top:.3g}" in str(error.value)
    with pytest.raises(ArgumentError, match=f"points 0 and 1 joint '{name}' leaves"):
        spline(points, model=model.replace(q_min=-np.inf))
    points[1:3, 1] = top - 0.5, top - 0.6
    points[:, 3] = np.linspace(model.q_min[3] - 0.05, 0.0, 4)  # outside only where it starts
    spline(points, [0.0, 3.0, 6.0, 9.0], model=model)


def test_velocity_limits_come_from_the_model():
    model = rd.robots.kuka_lwr4()
    path = spline(some_points(4, 7), model=model)
    assert (path.peaks(1) / model.qd_max).max() == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        (some_points(), {}, "needs qd_max or qdd_max"),
        (some_points(), {"times": TIMES, "order": "septic"}, "order must be"),
        (some_points(1), {"times": [0.0]}, "two points"),
        (some_points(), {"times": TIMES[:-1]}, "one per point"),
        (some_points(), {"times": TIMES + 0.1}, "start with 0 and increase"),
        (some_points(), {"times": [0.0, 1.0, 1.0, 2.0, 3.0, 4.0]}, "start with 0 and increase"),
        ([[0.0, 1.0], [np.inf, 2.0]], {"qd_max": 1.0}, "points of joint 'joint_1' in row 1"),
        ([0.0, 1.0], {"qd_max": 1.0}, "points must have shape"),
        (3.0, {"qd_max": 1.0}, "points must have shape"),
        ([[0.0], [1.0], [1.0], [2.0]], {"qd_max": 1.0}, "points 1 and 2 are the same"),
        ([[0.0], [1.0]], {"qd_max": 1.0, "start_velocity": 1.0}, "joint 'joint_1' starts or ends"),
        ([[0.0], [1.0]], {"qd_max": 1.0, "end_velocity": np.nan}, "end_velocity of joint"),
        ([[0.0], [1.0]], {"qd_max": 1.0, "end_velocity": [1.0, 2.0]}, "end_velocity must"),
    ],
)
def test_wrong_arguments_are_rejected(points, options, message):
    with pytest.raises(ArgumentError, match=message):
        spline(points, **options)
