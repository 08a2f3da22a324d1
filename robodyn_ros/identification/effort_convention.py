"""What a driver's effort is: torque or current, its sign, with or without gravity, which side.

The effort of each joint is fitted by what could be in it,

    effort = s_g g(q) + s_a (M qdd + C qd) + f_c tanh(qd / w) + f_v qd + o,

with g, M, C of the model. Joints that carry weight count most: s_g is the scale with its sign,
near 0 if the driver has removed gravity while s_a is not. Friction beside the largest gravity
torque of a joint shows the side: behind a gear there is little, before it a tenth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.signal import butter, sosfiltfilt

from ..dynamics.newton_euler import gravity_torque, inverse_dynamics
from ..dynamics.posture import maximum_over_postures
from ..errors import ArgumentError
from ..model.robot import RobotModel
from ..sensing.effort_settings import EffortSettings
from ..sensing.log import Log, derivative

Array = npt.NDArray[np.float64]

CUTOFF = 5.0  # [Hz] of the filter before the fit, and at most this share of the rate:
CUTOFF_SHARE = 0.2
FILTER_ORDER = 3
FRICTION_WIDTH = 0.02  # [rad/s or m/s] within which dry friction changes sign
MOVING = 0.02  # [rad/s or m/s]: slower counts as rest
BOTH_WAYS = 0.1  # share of the time in which a joint moves each way
HEAVY = 0.15  # share of the arm's largest gravity torque: a joint that carries weight
# A scale counts if it is known to this share, and gravity is this share of the effort's range
KNOWN_SCALE, SEEN_SHARE = 0.25, 0.1
MIN_SWING = 0.02  # of the arm's largest gravity torque, by which a joint's weight must vary
RIGHT_SCALE = 1.4  # a scale within this factor of 1 is torque: inertias of URDFs err that much
RIGHT_INERTIAL_SCALE = 2.0  # the same where only inertia shows it, to which rotors add
CURRENT_SCALE = 0.4  # effort per torque below which it is a current: gears make 3 to 50 N m/A
REMOVED_SHARE = 0.3  # s_g over s_a below which gravity is removed
LINK_FRICTION = 0.045  # friction over the largest gravity torque: below it, the link's side
FRICTION_DOUBT = 2.0  # standard deviations by which that must be sure
AT_REST = 0.005  # [rad/s or m/s]
REST_TIME = 0.2  # [s] for which an arm rests
REST_SHARE = 0.3  # weight of a posture at rest, of the largest, that shows the sign


class JointFit(NamedTuple):
    """Fit of the effort of one joint; efforts are in the driver's unit."""

    joint: str
    scale: float  # s_g, effort per gravity torque
    deviation: float  # its standard deviation
    inertial: float  # s_a
    inertial_deviation: float
    friction: float  # f_c + f_v |qd| at the mean speed, in the unit of the effort
    friction_deviation: float
    offset: float
    gravity: float  # [N m or N], standard deviation of g over the motion
    largest_gravity: float  # [N m or N] over all postures
    effort: float  # standard deviation
    error: float  # standard deviation of what the fit leaves
    moves: bool  # to and fro, which separates friction from an offset
    heavy: bool  # carries a good part of the arm's weight
    swings: bool  # and that weight varies over the motion

    @property
    def seen(self) -> bool:
        """Whether the motion shows the weight in the effort, so that the scale is known."""
        share = abs(self.scale) * self.gravity / max(self.effort, 1e-12)
        known = self.deviation < KNOWN_SCALE * abs(self.scale)
        return self.swings and known and share > SEEN_SHARE


@dataclass(frozen=True)
class EffortConvention:
    """What the effort of a driver means, and the evidence for it."""

    unit: str  # torque, current, scaled (a multiple of the torque), or unknown
    sign: int  # 1, -1, or 0 if it is unknown
    scale: float  # effort per torque, without sign; nan if it is unknown
    gravity: str  # included, removed, or unknown
    side: str  # motor, link, or unknown
    fits: tuple[JointFit, ...]
    offset: tuple[float, ...]  # (n,) [N m or N], as for `EffortSettings`
    evidence: tuple[str, ...]  # a sentence for each of these
    rested: bool  # whether the offset was found at rest

    @property
    def gain(self) -> tuple[float, ...]:
        """Torque per effort (n,); that of the whole arm for joints that carry no weight."""
        if not self.sign or math.isnan(self.scale):
            return (1.0,)
        if self.unit == "torque":
            return (float(self.sign),)
        whole = self.sign / self.scale
        found = [1.0 / fit.scale if fit.seen else whole for fit in self.fits]
        return tuple(found) if self.unit == "current" else (whole,)

    def settings(self) -> EffortSettings:
        """Return the effort settings for a detector; what is unknown is left as it is."""
        side = self.side if self.side != "unknown" else "motor"
        gravity = self.gravity if self.gravity != "unknown" else "included"
        gain = tuple(float(f"{value:.4g}") for value in self.gain)
        offset = tuple(float(f"{value:.3g}") for value in self.offset)
        return EffortSettings("joint_states", gain, offset, side, gravity)


def effort_convention(model: RobotModel, log: Log) -> EffortConvention:
    """Return what the effort in a log is; its `tau` is the effort as the driver reports it.

    Some seconds of motion of the joints that carry weight are needed; from an arm at rest only
    sign, gravity and unit can be found.
    """
    if log.n != model.n:
        raise ArgumentError(f"the log has {log.n} joints and the model {model.n}")
    rows = _fresh(log)
    t, q, qd, effort = (x[rows] for x in (log.t, log.q, log.qd, log.tau))
    largest = _largest_gravity(model)
    fits = _fits(model, t, q, qd, effort, largest)
    seen = [fit for fit in fits if fit.seen]
    evidence: list[str] = []
    sign, scale, gravity = _by_motion(seen, fits, evidence)
    rest = _at_rest(t, qd)
    if not sign:
        sign, scale, gravity = _by_rest(model, q, effort, rest, largest, evidence)
    unit = _unit(scale, gravity, evidence) if sign else "unknown"
    side = _side(fits, sign, scale, evidence) if sign else "unknown"
    found = EffortConvention(
        unit, sign, scale, gravity, side, fits, (0.0,), tuple(evidence), bool(rest.any())
    )
    return replace(found, offset=_offsets(model, found, (t, q, qd, effort), rest))


def _fresh(log: Log) -> npt.NDArray[np.bool_]:
    """Return which samples are new; many drivers repeat the last one."""
    changed = (np.diff(log.q, axis=0) != 0.0) | (np.diff(log.tau, axis=0) != 0.0)
    fresh = np.concatenate([[True], changed.any(axis=1)])
    return fresh if fresh.sum() >= len(fresh) // 20 else np.ones_like(fresh)


def _largest_gravity(model: RobotModel) -> Array:
    """Return the largest gravity torque (n,) [N m or N] of each joint over all postures."""

    def weight_of(k: int) -> Callable[[Array], Array]:
        return lambda q: np.abs(gravity_torque(model, q)[:, k])

    return np.array([maximum_over_postures(model, weight_of(k))[1] for k in range(model.n)])


def _fits(
    model: RobotModel, t: Array, q: Array, qd: Array, effort: Array, largest: Array
) -> tuple[JointFit, ...]:
    """Return the fit of each joint, on samples at an even rate."""
    dt = float(np.median(np.diff(t)))
    even = np.arange(t[0], t[-1], dt)
    q, qd, effort = (_resampled(even, t, x) for x in (q, qd, effort))
    cutoff = min(CUTOFF, CUTOFF_SHARE / dt)
    sos = butter(FILTER_ORDER, 2.0 * dt * cutoff, output="sos")

    def smooth(x: Array) -> Array:
        return np.asarray(sosfiltfilt(sos, x, axis=0))

    qdd = derivative(even, smooth(qd))
    g = gravity_torque(model, q)
    terms = (g, inverse_dynamics(model, q, qd, qdd) - g, np.tanh(qd / FRICTION_WIDTH), qd)
    columns, wanted = [smooth(x) for x in terms], smooth(effort)
    # Filtered samples are not independent: the number that counts as independent
    independent = max(2.0 * cutoff * (even[-1] - even[0]), 1.0)
    fits = []
    for k, name in enumerate(model.joint_names):
        A = np.column_stack([*(x[:, k] for x in columns), np.ones(even.size)])
        size = np.maximum(np.linalg.norm(A, axis=0), 1e-12)
        x, *_ = np.linalg.lstsq(A / size, wanted[:, k], rcond=1e-8)
        x, left = x / size, wanted[:, k] - A @ (x / size)
        variance = left.var() * even.size / max(independent - A.shape[1], 1e-6)
        covariance = variance * np.linalg.pinv((A / size).T @ (A / size)) / np.outer(size, size)
        deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        # At one speed both parts of friction look alike: only their sum is known
        speed = float(np.sqrt((qd[:, k] ** 2).mean()))
        both = np.array([0.0, 0.0, 1.0, speed, 0.0])
        heavy = bool(largest[k] >= HEAVY * largest.max())
        fits.append(
            JointFit(
                name,
                float(x[0]),
                float(deviation[0]) if columns[0][:, k].std() > 1e-9 else math.inf,
                float(x[1]),
                float(deviation[1]),
                float(both @ x),
                float(np.sqrt(max(both @ covariance @ both, 0.0))),
                float(x[4]),
                float(columns[0][:, k].std()),
                float(largest[k]),
                float(wanted[:, k].std()),
                float(left.std()),
                _to_and_fro(qd[:, k]),
                heavy,
                bool(heavy and columns[0][:, k].std() > MIN_SWING * largest.max()),
            )
        )
    return tuple(fits)


def _to_and_fro(qd: Array) -> bool:
    ways = (qd > MOVING).mean(), (qd < -MOVING).mean()
    return bool(min(ways) > BOTH_WAYS)


def _resampled(even: Array, t: Array, x: Array) -> Array:
    return np.column_stack([np.interp(even, t, column) for column in x.T])


def _by_motion(
    seen: list[JointFit], fits: tuple[JointFit, ...], evidence: list[str]
) -> tuple[int, float, str]:
    """Return sign, scale and gravity as the motion shows them; 0 for the sign if it does not."""
    moved = [
        fit
        for fit in fits
        if fit.swings and fit.inertial_deviation < KNOWN_SCALE * abs(fit.inertial)
    ]
    removed = [f for f in moved if abs(f.scale) < REMOVED_SHARE * abs(f.inertial)]
    swings = [f for f in removed if f.gravity * abs(f.inertial) > SEEN_SHARE * f.effort]
    if swings and len(removed) == len(moved):
        scale = _middle([f.inertial for f in swings], [f.effort for f in swings])
        evidence.append(
            "gravity is removed: "
            + _each(swings, lambda f: f"{f.scale:+.2f} of g and {f.inertial:+.2f} of M qdd + C qd")
        )
        return int(math.copysign(1, scale)), abs(scale), "removed"
    if not seen:
        return 0, math.nan, "unknown"
    weights = [f.gravity * abs(f.scale) for f in seen]
    scale = _middle([f.scale for f in seen], weights)
    against = [f for f in seen if f.scale * scale < 0.0]
    if sum(f.gravity * abs(f.scale) for f in against) > 0.2 * sum(weights):
        evidence.append("joints disagree on the sign: " + _each(seen, _scale_text))
        return 0, math.nan, "unknown"
    which = "reversed: effort falls" if scale < 0.0 else "as usual: effort rises"
    evidence.append(f"sign {which} with the gravity torque, " + _each(seen, _scale_text))
    evidence.append("gravity is included")
    return int(math.copysign(1, scale)), abs(scale), "included"


def _by_rest(
    model: RobotModel,
    q: Array,
    effort: Array,
    rest: npt.NDArray[np.bool_],
    largest: Array,
    evidence: list[str],
) -> tuple[int, float, str]:
    """Return sign, scale and gravity from postures at rest."""
    if not rest.any():
        evidence.append("the motion shows too little of the arm's weight: move the heavy joints")
        return 0, math.nan, "unknown"
    g, e = gravity_torque(model, q[rest]).mean(axis=0), effort[rest].mean(axis=0)
    loaded = np.flatnonzero(np.abs(g) > REST_SHARE * largest.max())
    if not loaded.size:
        evidence.append("at rest in a posture without weight: stretch the arm out, or move it")
        return 0, math.nan, "unknown"
    ratio = e[loaded] / g[loaded]
    scale = _middle(ratio.tolist(), np.abs(g[loaded]).tolist())
    names = ", ".join(
        f"{model.joint_names[k]} {e[k]:+.3g} for {g[k]:+.3g} N m" for k in loaded.tolist()
    )
    if np.abs(ratio).max() < CURRENT_SCALE / 20.0:
        evidence.append(
            f"no effort at rest although the arm is heavy, so gravity is removed: {names}"
        )
        return 0, math.nan, "removed"
    if (ratio * scale < 0.0).any():
        evidence.append(f"at rest the joints disagree on the sign: {names}")
        return 0, math.nan, "unknown"
    evidence.append(f"at rest only, sign and scale from the weight: {names}")
    return int(math.copysign(1, scale)), abs(scale), "included"


def _unit(scale: float, gravity: str, evidence: list[str]) -> str:
    factor = RIGHT_INERTIAL_SCALE if gravity == "removed" else RIGHT_SCALE
    if 1.0 / factor <= scale <= factor:
        evidence.append(f"torque: {scale:.2f} of the model's")
        return "torque"
    if scale < CURRENT_SCALE:
        evidence.append(f"a current: {scale:.3f} per N m, {1.0 / scale:.1f} N m/A")
        return "current"
    evidence.append(f"{scale:.2f} times the model's torque: another unit, or another arm's gains")
    return "scaled"


def _side(fits: tuple[JointFit, ...], sign: int, scale: float, evidence: list[str]) -> str:
    """Return motor or link, by the friction of heavy joints that move; else unknown."""
    moved = [fit for fit in fits if fit.heavy and fit.moves]
    # Torque that friction takes, over the largest weight; what drives the arm on is a model error
    shares = [max(sign * fit.friction, 0.0) / scale / fit.largest_gravity for fit in moved]
    doubts = [
        FRICTION_DOUBT * fit.friction_deviation / scale / fit.largest_gravity for fit in moved
    ]
    sure = [(fit, x) for fit, x, d in zip(moved, shares, doubts) if abs(x - LINK_FRICTION) > d]
    if not sure:
        evidence.append("side unknown: friction does not show; move heavy joints to and fro")
        return "unknown"
    side = "link" if float(np.median([x for _, x in sure])) < LINK_FRICTION else "motor"
    where = "behind the gear, by torque sensors" if side == "link" else "before the gear"
    texts = ", ".join(
        f"{fit.joint} {x * fit.largest_gravity:.2g} N m ({x:.1%})" for fit, x in sure
    )
    evidence.append(f"{side} side, {where}: friction, and over the largest weight: {texts}")
    return side


def _at_rest(t: Array, qd: Array) -> npt.NDArray[np.bool_]:
    """Return which samples are at rest, within a span of at least `REST_TIME`."""
    still = (np.abs(qd) < AT_REST).all(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], still.astype(int), [0]])))
    rest = np.zeros_like(still)
    for begin, end in edges.reshape(-1, 2).tolist():
        if t[end - 1] - t[begin] >= REST_TIME:
            rest[begin:end] = True
    return rest


def _offsets(
    model: RobotModel,
    found: EffortConvention,
    samples: tuple[Array, Array, Array, Array],
    rest: npt.NDArray[np.bool_],
) -> tuple[float, ...]:
    """Return the offset (n,) [N m or N]: at rest behind the gear, else beside the friction."""
    if not found.sign:
        return (0.0,)
    t, q, qd, effort = samples
    error = torque_error(model, found, t, q, qd, effort)
    if rest.any() and found.side == "link":  # before a gear friction holds a part of the weight
        return tuple(error[rest].mean(axis=0).tolist())
    return tuple(
        float(np.linalg.lstsq(_friction_columns(qd[:, k]), error[:, k], rcond=None)[0][0])
        for k in range(model.n)
    )


def torque_error(
    model: RobotModel, found: EffortConvention, t: Array, q: Array, qd: Array, effort: Array
) -> Array:
    """Return the torque from the effort less that of the model (T, n) [N m or N]; no offset."""
    dt = float(np.median(np.diff(t)))
    sos = butter(FILTER_ORDER, 2.0 * dt * min(CUTOFF, CUTOFF_SHARE / dt), output="sos")
    qdd = derivative(t, np.asarray(sosfiltfilt(sos, qd, axis=0)))
    tau = inverse_dynamics(model, q, qd, qdd)
    if found.gravity == "removed":
        tau = tau - gravity_torque(model, q)
    return np.asarray(np.array(found.gain) * effort - tau)


def model_errors(
    model: RobotModel, found: EffortConvention, log: Log
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the rms error of the model's torque (n,) [N m or N] without its offset, and what is
    left of it beside dry and viscous friction.
    """
    rows = _fresh(log)
    t, q, qd, effort = (x[rows] for x in (log.t, log.q, log.qd, log.tau))
    error = torque_error(model, found, t, q, qd, effort)
    left = []
    for k in range(model.n):
        A = _friction_columns(qd[:, k])
        x = np.linalg.lstsq(A, error[:, k], rcond=None)[0]
        left.append(float(np.sqrt(((error[:, k] - A @ x) ** 2).mean())))
    return tuple(error.std(axis=0).tolist()), tuple(left)


def _friction_columns(qd: Array) -> Array:
    return np.column_stack([np.ones(qd.size), np.tanh(qd / FRICTION_WIDTH), qd])


def _middle(values: list[float], weights: list[float]) -> float:
    """Return the weighted median."""
    order = np.argsort(values)
    total = np.cumsum(np.array(weights)[order])
    return float(np.array(values)[order][int(np.searchsorted(total, 0.5 * total[-1]))])


def _each(fits: list[JointFit], text: Callable[[JointFit], str]) -> str:
    return ", ".join(f"{fit.joint} {text(fit)}" for fit in fits)


def _scale_text(fit: JointFit) -> str:
    return f"{fit.scale:+.3g} ± {fit.deviation:.1g}"
