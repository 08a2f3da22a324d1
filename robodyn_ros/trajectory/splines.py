"""spline: a smooth motion through all points, cubic or quintic.

Without given times, a local search chooses them within limits of velocity and acceleration.
"""

import numpy as np
import numpy.typing as npt
from scipy.interpolate import make_interp_spline

from ..errors import ArgumentError, one_of
from ..model.robot import RobotModel
from .piecewise import PiecewisePolynomial, hermite
from .trajectory import (
    RANGE_TOLERANCE,
    Array,
    MotionLimits,
    check_range,
    names_of,
    postures,
    times_of,
)

ORDERS = {"cubic": 2, "quintic": 3}  # r, the degree being 2 r - 1
LIMIT_TOLERANCE = 1e-9  # relative distance at which a limit counts as reached
MAX_ITERATIONS = 200  # of scaling until a limit is reached
FIRST_STEP, LAST_STEP = 0.4, 0.01  # relative change of a piece's duration in the search
MAX_TRIES = 400  # of such changes
UNLIMITED = 1e5  # [rad or m], joint limit of a joint without limits


def spline(
    points: npt.ArrayLike,
    times: npt.ArrayLike | None = None,
    *,
    order: str = "cubic",
    qd_max: npt.ArrayLike | None = None,
    qdd_max: npt.ArrayLike | None = None,
    start_velocity: npt.ArrayLike = 0.0,
    end_velocity: npt.ArrayLike = 0.0,
    start_acceleration: npt.ArrayLike = 0.0,
    end_acceleration: npt.ArrayLike = 0.0,
    model: RobotModel | None = None,
) -> PiecewisePolynomial:
    """Return the motion through points (m, n) [rad or m], a cubic or quintic spline.

    A cubic has two continuous derivatives, a quintic four. times (m,) [s] start with 0; limits on
    velocity and acceleration are checked. Without times, they are chosen so that the limits hold
    and one is reached; a local search makes them nearly the fastest. Velocities and accelerations
    at the ends are one number or one per joint; a cubic cannot prescribe accelerations. Velocity
    limits default to the model's; points outside its joint limits are rejected, and motion that
    leaves them in between.
    """
    one_of("order", order, ORDERS)
    names = names_of(np.shape(points)[-1] if np.ndim(points) else 0, model)
    q = postures("points", points, names, 2)
    if q.shape[0] < 2:
        raise ArgumentError(f"a spline needs two points at least, got {q.shape[0]}")
    limits = MotionLimits.of(len(names), qd_max, qdd_max, None, model)
    given = {"start_velocity": start_velocity, "start_acceleration": start_acceleration}
    given |= {"end_velocity": end_velocity, "end_acceleration": end_acceleration}
    ends = np.reshape([_for_all(*item, names) for item in given.items()], (2, 2, -1))
    ends = ends[:, : ORDERS[order] - 1]
    check_range("points", q, model, q[0])
    if times is None:
        path = _with_free_times(q, ends, limits)
    else:
        path = _checked(_through(q, _times(times, q.shape[0]), ends), limits)
    if model is not None:
        _check_between(path, model, q)
    return path


def _for_all(name: str, value: npt.ArrayLike, names: tuple[str, ...]) -> Array:
    return postures(name, value if np.ndim(value) else np.full(len(names), value), names, 1)


def _times(times: npt.ArrayLike, m: int) -> Array:
    t = times_of(times)
    if t.shape != (m,):
        raise ArgumentError(f"times must be one per point, ({m},), got {t.shape}")
    if t[0] != 0.0 or not (np.diff(t) > 0.0).all():
        raise ArgumentError(f"times must start with 0 and increase [s], got {t}")
    return t


def _checked(path: PiecewisePolynomial, limits: MotionLimits) -> PiecewisePolynomial:
    """Return the path; reject one that exceeds the limits at the given times."""
    bounds = (limits.qd_max, limits.qdd_max)
    for order, what, bound in zip((1, 2), ("velocity", "acceleration"), bounds, strict=True):
        peak = path.peaks(order).max(axis=0)
        j = int(np.argmax(peak / bound))
        if peak[j] > bound[j] * (1.0 + LIMIT_TOLERANCE):
            raise ArgumentError(
                f"the {what} of joint '{limits.joint_names[j]}' reaches {peak[j]:.6g}, its limit "
                f"is {bound[j]:g}: stretch the times, or leave them out to have them chosen"
            )
    return path


def _check_between(path: PiecewisePolynomial, model: RobotModel, q: Array) -> None:
    low = np.maximum(np.minimum(model.q_min, q[0]), -UNLIMITED)
    high = np.minimum(np.maximum(model.q_max, q[0]), UNLIMITED)
    centred = path.coefficients.copy()  # about the middle of the range
    centred[:, :, 0] -= 0.5 * (low + high)
    excess = PiecewisePolynomial(path.breaks, centred).peaks(0) - 0.5 * (high - low)
    k, j = (int(i) for i in np.unravel_index(np.argmax(excess), excess.shape))
    if excess[k, j] > RANGE_TOLERANCE:
        raise ArgumentError(
            f"between points {k} and {k + 1} joint '{model.joint_names[j]}' leaves its limits "
            f"{model.q_min[j]:.6g} to {model.q_max[j]:.6g} by {excess[k, j]:.3g}: put a point in "
            "between, or points farther inside"
        )


def _through(q: Array, t: Array, ends: Array) -> PiecewisePolynomial:
    """Return the spline through q (m, n) at times t; ends (2, r - 1, n): derivatives there."""
    r = ends.shape[1] + 1
    conditions = [[(k + 1, end[k]) for k in range(r - 1)] for end in ends]
    found = make_interp_spline(t, q, k=2 * r - 1, bc_type=conditions)
    values = np.stack([q, *(found(t, k) for k in range(1, r))], axis=1)
    return PiecewisePolynomial(t, hermite(t, values))


def _with_free_times(q: Array, ends: Array, limits: MotionLimits) -> PiecewisePolynomial:
    """Return the spline with durations from a local search for the shortest total."""
    best = _scaled_to_limits(q, _initial_durations(q, ends, limits), ends, limits)
    step, tries = FIRST_STEP, MAX_TRIES
    while step > LAST_STEP and tries > 0:
        before = best.duration
        for direction in _directions(best, limits):
            tries -= 1
            h = np.diff(best.breaks) * np.exp(step * direction)
            path = _scaled_to_limits(q, h, ends, limits)
            if path.duration < best.duration:
                best = path
        if best.duration > before * (1.0 - 0.01 * step):
            step *= 0.5
    return best


def _directions(path: PiecewisePolynomial, limits: MotionLimits) -> Array:
    """Return changes (k, m - 1) of the log durations: away from slack, then one piece each."""
    balance = np.log(_use(path, limits))
    each = np.eye(balance.size)
    return np.vstack([balance / np.abs(balance).max(initial=1e-12), each, -each])


def _initial_durations(q: Array, ends: Array, limits: MotionLimits) -> Array:
    """Return each piece's time (m - 1,) [s] for its slowest joint, from rest to rest."""
    if not (np.isfinite(limits.qd_max).any() or np.isfinite(limits.qdd_max).any()):
        raise ArgumentError("without times a spline needs qd_max or qdd_max")
    for k, bound in zip(range(ends.shape[1]), (limits.qd_max, limits.qdd_max)):
        if (np.abs(ends[:, k]) >= bound).any():
            j = int(np.argmax(np.abs(ends[:, k]).max(axis=0) / bound))
            raise ArgumentError(
                f"joint '{limits.joint_names[j]}' starts or ends at its limit {bound[j]:g} "
                "or beyond: give the times, or a higher limit"
            )
    travel = np.abs(np.diff(q, axis=0))
    h = np.maximum(travel / limits.qd_max, np.sqrt(travel / limits.qdd_max)).max(axis=1)
    if (h == 0.0).any():
        k = int(np.flatnonzero(h == 0.0)[0])
        raise ArgumentError(
            f"points {k} and {k + 1} are the same in all joints that have limits: leave one out, "
            "or give the times"
        )
    return np.asarray(h)


def _use(path: PiecewisePolynomial, limits: MotionLimits) -> Array:
    """Return the factor (m - 1,) by which each piece must be stretched to just reach a limit."""
    velocity = (path.peaks(1) / limits.qd_max).max(axis=1)
    acceleration = (path.peaks(2) / limits.qdd_max).max(axis=1)
    return np.asarray(np.maximum(velocity, np.sqrt(acceleration)))


def _scaled_to_limits(
    q: Array, h: Array, ends: Array, limits: MotionLimits
) -> PiecewisePolynomial:
    """Return the spline with durations ~ h scaled to a limit; end velocities need repeats."""
    for _ in range(MAX_ITERATIONS):
        path = _through(q, np.append(0.0, np.cumsum(h)), ends)
        use = float(_use(path, limits).max())
        if abs(use - 1.0) < LIMIT_TOLERANCE:
            return path
        h = h * use
    raise ArgumentError(
        "no times found within the limits for these velocities at the ends: give the times"
    )
