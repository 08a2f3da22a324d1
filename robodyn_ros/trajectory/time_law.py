"""The fastest time law u(t) along a path within limits of torque, torque rate and velocity.

With y = (du/dt)^2 as a function of u, and ' = d/du along the path,

    tau     = m y'/2 + c y + g                     m = M q',  c = M q'' + C(q, q') q'
    tau_dot = sqrt(y) (m y''/2 + (m'/2 + c) y' + c' y + g')
    T       = integral of du / sqrt(y)

Torque and velocity limits are linear in y, and T is convex. The limit R of the torque rate reads

    |m y''/2 + (m'/2 + c) y' + c' y + g'| <= R / sqrt(y)

whose right side lies above its tangents: with the tangent at the last y, a linear program finds a
faster y, until T settles. y is a cubic spline. m, c, g and derivatives come from `force_rate`
[GuarinoLoBianco2009].
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.interpolate import BSpline
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

from ..dynamics.force_rate import force_rate
from ..errors import ArgumentError
from ..model.robot import RobotModel
from .path import Path
from .piecewise import PiecewisePolynomial, hermite
from .trajectory import Array, check_positive, for_each_joint

Speeds = tuple[Array, Array, Array]  # y, y', y'' at the same points

TARGET_SHARE = 0.9999  # of the limits; the rest is for rounding and for between the points
PROGRAM_POINTS, FINAL_POINTS = 8, 40  # per knot interval, at which limits are checked
MAX_PROGRAMS = 25
MIN_GAIN = 1e-4  # relative gain of time that is worth another program
MAX_CHANGE = 4.0  # factor by which y may change from one program to the next
TANGENTS = np.array([0.25, 0.5, 0.7, 0.85, 0.93, 0.98, 1.0, 1.02, 1.07, 1.15, 1.4, 2.0, 4.0])
ACTIVE = 0.02  # limits with less than this left are constraints of a program from its start
VIOLATED = 1e-5  # limits exceeded by more than this are added to it
PIECES, GAUSS = 16, 5  # of u(t) per knot interval; points of the quadrature in each
STEADY_PIECES = 500  # of a time law with constant speed
BESIDE = 1e-9  # distance in u of the check points on both sides of a break
MAX_FACTOR = 1e60  # of y, beyond which nothing limits the motion


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of a robot's joints, (n,) each; inf for no limit."""

    tau_max: Array  # [N m or N]
    tau_rate_max: Array  # [N m/s or N/s]
    qd_max: Array  # [rad/s or m/s]


def limits_of(
    model: RobotModel,
    tau_max: npt.ArrayLike | None,
    tau_rate_max: npt.ArrayLike | None,
    qd_max: npt.ArrayLike | None,
) -> Limits:
    """Return positive limits, one or one per joint; torque and velocity default to the model's."""
    given = {
        "tau_max": model.tau_max if tau_max is None else tau_max,
        "tau_rate_max": tau_rate_max,
        "qd_max": model.qd_max if qd_max is None else qd_max,
    }
    numbers = {name: for_each_joint(name, value, model.n) for name, value in given.items()}
    for name, values in numbers.items():
        check_positive(name, values, model.joint_names)
    return Limits(**numbers)


class PathDynamics:
    """m, c, g of a path and their derivatives at points u (U,), 0 to `duration`; (U, n) each."""

    def __init__(self, model: RobotModel, path: Path, u: Array, duration: float = 1.0) -> None:
        self.u = u
        self.q, q1, q2, q3 = path.at(u / duration)
        self.q1, q2, q3 = q1 / duration, q2 / duration**2, q3 / duration**3
        # With du/dt = 1: without gravity, then also with an acceleration of 1, then with gravity
        self.c, self.c1 = force_rate(model, self.q, self.q1, q2, q3, gravity=False)
        tau, tau_dot = force_rate(
            model, self.q, self.q1, q2 + self.q1, q3 + 3.0 * q2, gravity=False
        )
        self.m, self.m1 = tau - self.c, tau_dot - self.c1 - 2.0 * self.c
        tau, tau_dot = force_rate(model, self.q, self.q1, q2, q3)
        self.g, self.g1 = tau - self.c, tau_dot - self.c1

    def share(self, limits: Limits, speeds: Speeds) -> float:
        """Return the largest share of a limit that is used anywhere."""
        y, y1, y2 = (x[:, None] for x in speeds)
        tau = 0.5 * self.m * y1 + self.c * y + self.g
        slope = 0.5 * self.m * y2 + (0.5 * self.m1 + self.c) * y1 + self.c1 * y + self.g1
        speed = np.sqrt(y)
        shares = (
            tau / limits.tau_max,
            speed * slope / limits.tau_rate_max,
            speed * self.q1 / limits.qd_max,
        )
        return max(float(np.abs(x).max()) for x in shares)

    def largest_factor(self, limits: Limits, speeds: Speeds) -> float:
        """Return the factor of y with which a limit is reached."""
        y, y1, y2 = speeds

        def fits(factor: float) -> bool:
            return self.share(limits, (factor * y, factor * y1, factor * y2)) <= TARGET_SHARE

        low = high = 1.0
        while not fits(low):
            low, high = 0.25 * low, low
        while fits(high):
            low, high = high, 4.0 * high
            if high > MAX_FACTOR:
                raise ArgumentError("nothing limits this motion: the moving links have no mass")
        for _ in range(50):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low


def check_points(path: Path, count: int) -> Array:
    """Return the u (U,), 0 to 1, at which limits are checked: evenly, and beside breaks."""
    even = np.linspace(0.0, 1.0, count + 1)
    even = even[_distance(even, path.breaks) > BESIDE]  # on a break, rounding picks the side
    return np.sort(np.concatenate([even, path.breaks - BESIDE, path.breaks + BESIDE]))


def _distance(points: Array, breaks: Array) -> Array:
    """Return the distance of each point to the nearest break; 1 if there is none."""
    return np.abs(points[:, None] - breaks).min(axis=1, initial=1.0)


def steady_duration(dynamics: PathDynamics, limits: Limits) -> float:
    """Return the duration [s] at the largest constant du/dt; u runs from 0 to 1."""
    one, zero = np.ones_like(dynamics.u), np.zeros_like(dynamics.u)
    return dynamics.largest_factor(limits, (one, zero, zero)) ** -0.5


def steady_law(duration: float) -> PiecewisePolynomial:
    """Return u(t) from 0 to 1 with constant du/dt, in pieces for `ScaledTrajectory`."""
    u = np.linspace(0.0, 1.0, STEADY_PIECES + 1)
    rate = np.full(STEADY_PIECES, 1.0 / duration)
    return PiecewisePolynomial(duration * u, np.stack([u[:-1], rate], axis=1)[:, None])


def fastest_law(
    model: RobotModel, path: Path, limits: Limits, duration: float, intervals: int
) -> PiecewisePolynomial:
    """Return u(t) from 0 to 1 in the shortest time; duration [s]: that at constant du/dt."""
    # u in seconds at constant speed, so that y is about 1
    knots = duration * _knots(path, intervals)
    u = duration * check_points(path, PROGRAM_POINTS * intervals)
    program = _Program(PathDynamics(model, path, u, duration), limits, knots)
    y = program.solve()
    u = duration * check_points(path, FINAL_POINTS * intervals)
    dynamics = PathDynamics(model, path, u, duration)
    factor = dynamics.largest_factor(limits, (y(u), y(u, 1), y(u, 2)))
    return _law(BSpline(knots, factor * y.c, 3))


def _knots(path: Path, intervals: int) -> Array:
    """Return even knots from 0 to 1, doubled at the path's breaks, where y'' may jump."""
    even, h = np.linspace(0.0, 1.0, intervals + 1), 1.0 / intervals
    breaks = path.breaks[(path.breaks > 0.3 * h) & (path.breaks < 1.0 - 0.3 * h)]
    even = even[_distance(even, breaks) > 0.3 * h]
    return np.pad(np.sort(np.concatenate([even, breaks, breaks])), 3, mode="edge")


class _Program:
    """Linear programs for the coefficients x of the spline y, each around the last y."""

    def __init__(self, dynamics: PathDynamics, limits: Limits, knots: Array) -> None:
        d = dynamics
        self.knots = knots
        self.B, B1, B2 = (_basis(knots, d.u, order) for order in range(3))
        tau = 0.5 * _rows(d.m, B1) + _rows(d.c, self.B)
        slope = 0.5 * _rows(d.m, B2) + _rows(0.5 * d.m1 + d.c, B1) + _rows(d.c1, self.B)
        self.tau, self.g = tau / limits.tau_max[:, None], d.g / limits.tau_max
        self.slope = slope / limits.tau_rate_max[:, None]
        self.g1 = d.g1 / limits.tau_rate_max
        self.squares = np.square(d.q1 / limits.qd_max).max(axis=1)
        self.centres = _basis(knots, (knots[1:-3] + knots[2:-2] + knots[3:-1]) / 3.0)
        u, self.weights = _quadrature(np.unique(knots), 2)
        self.E = _basis(knots, u)

    def solve(self) -> BSpline:
        """Return y after as many programs as are worth it, from y = 1."""
        x = np.ones(self.B.shape[1])
        T = self._time(x)
        for _ in range(MAX_PROGRAMS):
            faster = self._improved(x)
            gain = T - self._time(faster)
            if gain > 0.0:
                x, T = faster, T - gain
            if gain <= MIN_GAIN * T:
                break
        return BSpline(self.knots, x, 3)

    def _time(self, x: Array) -> float:
        return float(self.weights @ (1.0 / np.sqrt(self.E @ x)))

    def _improved(self, x: Array) -> Array:
        """Solve one program; most limits are inactive, and are added only when violated."""
        A, b = self._limits(x)
        more, below = self._tangents(x)
        active = A @ x > b - ACTIVE
        y = self.centres @ x
        bounds = np.concatenate(
            [np.outer(y, [1.0 / MAX_CHANGE, MAX_CHANGE]), [[0, np.inf]] * len(self.E)]
        )
        cost = np.concatenate([np.zeros(x.size), self.weights])
        while True:
            rows = csr_array(A[active])
            rows.resize(rows.shape[0], cost.size)
            found = linprog(
                cost,
                A_ub=vstack([rows, more]),
                b_ub=np.concatenate([b[active], below]),
                bounds=bounds,
                method="highs-ds",
            )
            if found.status != 0:  # numerical trouble: the last x keeps the limits
                return x
            violated = A @ found.x[: x.size] > b + VIOLATED
            if not (violated & ~active).any():
                return found.x[: x.size]
            active |= violated

    def _limits(self, x: Array) -> tuple[Array, Array]:
        """Return A, b of A x <= b, as shares of the limits, with tangents to 1 / sqrt(y)."""
        y = self.B @ x
        root = TARGET_SHARE / np.sqrt(y)
        falling = (0.5 * root / y)[:, None] * self.B
        rows = (
            self.tau,
            -self.tau,
            falling[:, None] + self.slope,
            falling[:, None] - self.slope,
            self.squares[:, None] * self.B,
        )
        bounds = (
            TARGET_SHARE - self.g,
            TARGET_SHARE + self.g,
            1.5 * root[:, None] - self.g1,
            1.5 * root[:, None] + self.g1,
            np.full(y.size, TARGET_SHARE**2),
        )
        A = np.concatenate([row.reshape(-1, x.size) for row in rows])
        return A, np.concatenate([bound.ravel() for bound in bounds])

    def _tangents(self, x: Array) -> tuple[csr_array, Array]:
        """Return rows that keep z above tangents to 1 / sqrt(y); T is the weighted sum of z."""
        y = np.outer(TANGENTS, self.E @ x)
        slopes = -0.5 * y**-1.5
        A = np.concatenate([slope[:, None] * self.E for slope in slopes])
        z = np.tile(np.eye(len(self.E)), (len(TANGENTS), 1))
        return csr_array(np.hstack([A, -z])), (-1.5 / np.sqrt(y)).ravel()


def _basis(knots: Array, u: Array, order: int = 0) -> Array:
    """Return the derivatives (U, coefficients) of the cubic B-splines at u (U,)."""
    basis: Array = BSpline(knots, np.eye(knots.size - 4), 3)(u, order)
    return basis


def _rows(factor: Array, basis: Array) -> Array:
    return factor[:, :, None] * basis[:, None, :]


def _quadrature(edges: Array, points: int) -> tuple[Array, Array]:
    """Return points and weights of Gauss' rule in each interval between the edges."""
    x, weights = np.polynomial.legendre.leggauss(points)
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (1.0 + x)).ravel(), (half * weights).ravel()


def _law(y: BSpline) -> PiecewisePolynomial:
    """Return u(t) from 0 to 1 for a spline y(u), as quintics with the speed of y."""
    knots = np.unique(y.t)
    u = np.interp(np.arange(PIECES * (knots.size - 1) + 1) / PIECES, np.arange(knots.size), knots)
    between, weights = _quadrature(u, GAUSS)
    steps = (weights / np.sqrt(y(between))).reshape(-1, GAUSS).sum(axis=1)
    t = np.concatenate([[0.0], np.cumsum(steps)])
    values = np.stack([u, np.sqrt(y(u)), 0.5 * y(u, 1)], axis=1) / u[-1]
    return PiecewisePolynomial(t, hermite(t, values[:, :, None]))
