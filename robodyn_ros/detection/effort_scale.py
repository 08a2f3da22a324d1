"""EffortScale: whether the effort is a torque, or a multiple of it: a current, a reversed sign.

The torque that the motion takes is known without knowing about contacts: w = F(tau) + r, with F
the observer's own filter. If the effort is s times that on every loaded joint, then F(tau) = s w.
There are two ways to s:

- **All of it**, for clean sensors: r = (1 - s) w explains the residual of all joints for 0.3 s.
- **Changes and load**, for real arms in motion, with an offset and dry friction of each joint left
  open: over the last second the changes of F(tau) follow s times those of w; or the loaded joints
  do, for an s that no payload makes. A push or a payload adds to the effort, but the changes of
  the rest still follow with s = 1: then no scale is reported.

No push does that for long: it would have to follow weight and motion on all joints alike.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import inline, kernel
from ..model.packed_model import U
from ..model.robot import RobotModel
from .fault import EFFORT_SCALE, EFFORT_SIGN, Fault

Array = npt.NDArray[np.float64]

USUAL_SCALES = (0.67, 1.5)  # within these, a scale may be a model error
EXTREME_SCALES = (0.25, 4.0)  # within these, it may be a payload, if not all is alike
MIN_JOINTS = 2  # that must agree
# All of the torque
MIN_TIME = 0.3  # [s] for which a scale must explain the residual
WINDOW = 0.2  # [s], time constant of the fading memory
MIN_EXPLAINED = 0.98  # share of the residual's energy that a scale must explain
LARGE = 2.0  # thresholds: a joint with a larger residual must agree
MAX_SPREAD = 0.1  # by which the scales of the joints may differ; of the scale, above 1
# Changes and load
MEMORY = 1.0  # [s], time constant of the fading memory
MIN_SEEN, MIN_HELD = 0.4, 0.1  # [s] seen, and for which the answer must hold
PAUSE = 0.005  # [s] between two comparisons: at 1 kHz every fifth sample is compared
MIN_CHANGE = 0.5  # noise levels (standard deviation) by which the torque of a joint must change
MIN_LOAD = 2.0  # noise levels of a loaded joint's torque
MIN_PATH = 0.05  # [rad or m] that a joint must have moved, of late
NOISE_SHARE = 0.02  # of the effort limit: noise level, unless the threshold is lower
DRY_SPEED = 0.05  # [rad/s or m/s] at which dry friction is fully there
MIN_REVERSALS = 0.02  # variance of the direction of motion above which friction can be estimated
EXPLAINED, ALIKE = 0.85, 2.0  # share that an extreme scale must explain; factor between joints
SIGN_EXPLAINED = 0.6  # the same for a reversed sign, which no push and no payload makes
STRICT_EXPLAINED, STRICT_ALIKE = 0.97, 1.15  # the same for scales between the extreme ones
STRICT_SCALES = (0.5, 2.0)  # within these, friction and payload may make the scale
LOAD_EXPLAINED = 0.9  # share of the load that an extreme scale must explain
# Start and end
OPEN_TIME = 1.0  # [s] after a start in which an extreme ratio is not taken for a contact
MIN_CALM = 0.3  # [s] without a large residual, after which the next one is judged by itself
LATE = 0.025  # [s] after a start, within which such a residual must be large
RELEASE_WINDOW, RELEASE_TIME = 0.05, 0.1  # [s], of a usual ratio that ends the fault

# Rows, n numbers each: weight, filtered torque and its share so far, threshold, noise level; sums
# of r w, w^2, r^2 (all of it); means of w, m = F(tau) and the direction of motion x; their
# covariances
(
    WEIGHT, TAU, FILLED, LIMIT, NOISE, RW, WW, RR,
    MEAN_W, MEAN_M, MEAN_X, C_WW, C_WM, C_MM, C_WX, C_MX, C_XX, ROWS,
) = (U(k) for k in range(18))  # fmt: skip
# Scalars: for how long the residual has been large, and not large; time since the start, of
# changes seen, and for which these have shown one scale [s]; that scale (NaN: none); fast sums of
# m w and w^2, and for how long their ratio has been usual [s]; path of late [rad or m]; scale,
# share explained and number of joints, of the changes and of the load; time since these were
# compared [s], and the scale that they show
(
    LARGE_TIME, CALM_TIME, ELAPSED, SEEN, HELD, FOUND_SCALE, FAST_MW, FAST_WW, USUAL_TIME, PATH,
    CHANGE_SCALE, CHANGE_SHARE, CHANGE_JOINTS, LOAD_SCALE, LOAD_SHARE, LOAD_JOINTS,
    PAUSED, IN_MOTION, SCALARS,
) = (U(k) for k in range(19))  # fmt: skip


@inline
def _is_usual(scale):
    return USUAL_SCALES[0] < scale < USUAL_SCALES[1]


@inline
def _is_extreme(scale):
    return not EXTREME_SCALES[0] < scale < EXTREME_SCALES[1]


@inline
def _alike(one, other, factor):
    """Return whether two numbers have the same sign and differ by at most this factor."""
    small, large = min(abs(one), abs(other)), max(abs(one), abs(other))
    return one * other > 0.0 and large <= factor * small


@inline
def _take_sample(own, common, r, tau, qd, dt, blend):
    """Update filters, sums and moments; return whether the residual is large."""
    fade, quick = math.exp(-dt / WINDOW), math.exp(-dt / RELEASE_WINDOW)
    common[ELAPSED] += dt
    common[SEEN] += dt
    part = max(-math.expm1(-dt / MEMORY), dt / common[SEEN])
    common[FAST_MW], common[FAST_WW] = quick * common[FAST_MW], quick * common[FAST_WW]
    large, moved, mw, ww, rest = False, 0.0, 0.0, 0.0, 1.0 - part
    for k in range(U(own.shape[1])):
        moved = max(moved, abs(qd[k]) * dt)
        own[TAU, k] += blend[k] * (tau[k] - own[TAU, k])
        own[FILLED, k] += blend[k] * (1.0 - own[FILLED, k])
        large = large or abs(r[k]) > own[LIMIT, k]
        w = own[TAU, k] + r[k]
        own[RW, k] = fade * own[RW, k] + r[k] * w * dt
        own[WW, k] = fade * own[WW, k] + w * w * dt
        own[RR, k] = fade * own[RR, k] + r[k] * r[k] * dt
        whole = 1.0 / own[FILLED, k]
        w *= whole
        m, x = own[TAU, k] * whole, min(max(qd[k] * (1.0 / DRY_SPEED), -1.0), 1.0)
        mw += own[WEIGHT, k] * m * w
        ww += own[WEIGHT, k] * w * w
        w, m, x = w - own[MEAN_W, k], m - own[MEAN_M, k], x - own[MEAN_X, k]
        own[MEAN_W, k] += part * w
        own[MEAN_M, k] += part * m
        own[MEAN_X, k] += part * x
        own[C_WW, k] = rest * (own[C_WW, k] + part * w * w)
        own[C_WM, k] = rest * (own[C_WM, k] + part * w * m)
        own[C_MM, k] = rest * (own[C_MM, k] + part * m * m)
        own[C_WX, k] = rest * (own[C_WX, k] + part * w * x)
        own[C_MX, k] = rest * (own[C_MX, k] + part * m * x)
        own[C_XX, k] = rest * (own[C_XX, k] + part * x * x)
    common[FAST_MW] += mw * dt
    common[FAST_WW] += ww * dt
    common[PATH] += moved - part * common[PATH]
    if not large:
        for k in range(U(own.shape[1])):
            own[RW, k] = own[WW, k] = own[RR, k] = 0.0
    return large


@inline
def _scale_of_all(own, common):
    """Return the scale that explains the residual of all joints; 1 if none does."""
    n, rw, ww, rr = U(own.shape[1]), 0.0, 0.0, 0.0
    if common[LARGE_TIME] < MIN_TIME:
        return 1.0
    for k in range(n):
        weight = 1.0 / own[LIMIT, k] ** 2
        rw += weight * own[RW, k]
        ww += weight * own[WW, k]
        rr += weight * own[RR, k]
    if rw * rw < MIN_EXPLAINED * ww * rr:
        return 1.0
    missing, alike = rw / ww, 0
    noisier = max(1.0, abs(1.0 - missing))  # noise and offsets are scaled, too
    spread = MAX_SPREAD * noisier
    energy = WINDOW * (1.0 - math.exp(-MIN_TIME / WINDOW))
    for k in range(n):
        if own[RR, k] > (LARGE * noisier * own[LIMIT, k]) ** 2 * energy:
            if abs(own[RW, k] / own[WW, k] - missing) > spread:
                return 1.0
            alike += 1
    return 1.0 - missing if alike >= MIN_JOINTS else 1.0


@inline
def _changes(own, k):
    """Return the covariances ww, wm, mm of joint k without offset and dry friction."""
    ww, wm, mm, xx = own[C_WW, k], own[C_WM, k], own[C_MM, k], own[C_XX, k]
    if xx > MIN_REVERSALS:
        ww -= own[C_WX, k] ** 2 / xx
        wm -= own[C_WX, k] * own[C_MX, k] / xx
        mm -= own[C_MX, k] ** 2 / xx
    return ww, wm, mm


@inline
def _load(own, k):
    """Return the mean squares ww, wm, mm of joint k; of an unloaded one, its changes."""
    ww, wm = own[C_WW, k] + own[MEAN_W, k] ** 2, own[C_WM, k] + own[MEAN_W, k] * own[MEAN_M, k]
    return ww, wm, own[C_MM, k] + own[MEAN_M, k] ** 2


@inline
def _compare(own, common, loads):
    """Write scale, share explained and number of joints, of changes or of loads."""
    first, least = (LOAD_SCALE, MIN_LOAD) if loads else (CHANGE_SCALE, MIN_CHANGE)
    total_ww, total_wm, total_mm, joints = 0.0, 0.0, 0.0, 0
    for k in range(U(own.shape[1])):
        weight = own[WEIGHT, k]
        ww, wm, mm = _load(own, k) if loads else _changes(own, k)
        if weight * ww > least**2:
            joints += 1
        elif loads:
            ww, wm, mm = _changes(own, k)
        total_ww += weight * ww
        total_wm += weight * wm
        total_mm += weight * mm
    known = joints >= MIN_JOINTS and common[SEEN] > MIN_SEEN and total_mm > 0.0
    common[first] = total_wm / total_ww if known else 1.0
    common[first + U(1)] = total_wm**2 / (total_ww * total_mm) if known else 0.0
    common[first + U(2)] = joints


@inline
def _agree(own, loads, scale, factor):
    """Return whether changes or loads of all joints that count have this scale, up to a factor or
    to noise.
    """
    least = MIN_LOAD if loads else MIN_CHANGE
    for k in range(U(own.shape[1])):
        ww, wm, _ = _load(own, k) if loads else _changes(own, k)
        noise = own[NOISE, k] * max(1.0, abs(scale))
        counts = ww > (least * own[NOISE, k]) ** 2
        off = abs(wm - scale * ww) > noise * math.sqrt(ww)
        if counts and off and not _alike(wm / ww, scale, factor):
            return False
    return True


@inline
def _scale_in_motion(own, common):
    """Return the scale with which changes or loads of the effort follow those of the torque; 1 if
    they do not.
    """
    for loads in (False, True):
        _compare(own, common, loads)
    scale, share, load = common[CHANGE_SCALE], common[CHANGE_SHARE], common[LOAD_SCALE]
    if share > EXPLAINED and _is_usual(scale):
        return 1.0
    extreme, factor, enough = _is_extreme(scale), ALIKE, EXPLAINED
    if scale < 0.0:
        enough = SIGN_EXPLAINED
    elif not extreme:
        factor, enough = STRICT_ALIKE, STRICT_EXPLAINED
    # A stiff arm that is pushed hardly moves: its effort follows the push, but its load does not
    loaded = scale < 0.0 if common[LOAD_SHARE] == 0.0 else _alike(load, scale, factor)
    usual = STRICT_SCALES[0] < scale < STRICT_SCALES[1]
    clear = share > enough and loaded and not usual
    heavy = common[LOAD_SHARE] > LOAD_EXPLAINED and _is_extreme(load) and common[PATH] > MIN_PATH
    for loads in (False, True):
        found, most = (load, ALIKE) if loads else (scale, factor)
        if (heavy if loads else clear) and _agree(own, loads, found, most):
            return found
    return 1.0


@kernel("float64(matrix, vector, vector, vector, vector, float64, vector)")
def find_scale(own, common, r, tau, qd, dt, blend):
    """Return the scale of the effort: 1 where it is usual, NaN where that is open after a start.

    r: residual with its bias; tau: mean effort of the step; both (n,) [N m or N]. blend (n,):
    share of the step in the residual.
    """
    large = _take_sample(own, common, r, tau, qd, dt, blend)
    if large and common[CALM_TIME] > MIN_CALM:
        _forget_changes(own, common)  # what begins now is judged by itself
    common[LARGE_TIME] = common[LARGE_TIME] + dt if large else 0.0
    common[CALM_TIME] = 0.0 if large else common[CALM_TIME] + dt
    scale = _scale_of_all(own, common)
    common[PAUSED] += dt
    if common[PAUSED] > PAUSE:
        common[PAUSED], common[IN_MOTION] = 0.0, _scale_in_motion(own, common)
    in_motion = common[IN_MOTION]
    if common[CHANGE_SHARE] > EXPLAINED and _is_usual(common[CHANGE_SCALE]):
        scale = 1.0  # the changes are those of a torque: something adds to it
    common[HELD] = 0.0 if _is_usual(in_motion) else common[HELD] + dt
    if _is_usual(scale) and common[HELD] > MIN_HELD:
        scale = in_motion
    if not _is_usual(scale):
        common[FOUND_SCALE], common[USUAL_TIME] = scale, 0.0
        return scale
    ratio = common[FAST_MW] / common[FAST_WW] if common[FAST_WW] > 0.0 else 1.0
    if not math.isnan(common[FOUND_SCALE]):
        common[USUAL_TIME] = common[USUAL_TIME] + dt if _is_usual(ratio) else 0.0
        if common[USUAL_TIME] < RELEASE_TIME:
            return common[FOUND_SCALE]
        common[FOUND_SCALE] = math.nan
        _forget_changes(own, common)
    started = common[ELAPSED] < OPEN_TIME and common[LARGE_TIME] > common[ELAPSED] - LATE
    return math.nan if started and large and _is_extreme(ratio) else 1.0


@inline
def _forget_changes(own, common):
    common[SEEN] = common[HELD] = common[LARGE_TIME] = common[PATH] = 0.0
    common[PAUSED], common[IN_MOTION] = PAUSE, 1.0
    for k in range(U(own.shape[1])):
        for row in range(RW, ROWS):
            own[row, k] = 0.0


@kernel("int64(matrix, vector)")
def restart_scale(own, common):
    """Clear the filtered torque, as the observer clears its residual, and the evidence. A
    reported scale stands until the effort is a torque again.
    """
    found = common[FOUND_SCALE]
    for k in range(U(common.size)):
        common[k] = 0.0
    common[FOUND_SCALE] = found
    common[CHANGE_SCALE] = common[LOAD_SCALE] = 1.0
    for k in range(U(own.shape[1])):
        own[TAU, k] = own[FILLED, k] = 0.0
    _forget_changes(own, common)
    return 0


class EffortEvidence(NamedTuple):
    """With which scale, over the last second, the effort follows what the motion takes."""

    scale: float  # 1 where it is unknown
    explained: float  # share that this scale explains, 0 to 1; 0: too little to tell
    joints: int  # that count


class EffortScale:
    """Memory of residual and effort of one robot.

    threshold: residuals above it need an explanation (n,) [N m or N].
    """

    def __init__(self, model: RobotModel, threshold: Array) -> None:
        self.own, self.common = np.zeros((int(ROWS), model.n)), np.zeros(int(SCALARS))
        limit = np.maximum(threshold, 1e-6)
        usual = np.where(np.isfinite(model.tau_max), NOISE_SHARE * model.tau_max, limit)
        noise = np.maximum(np.minimum(limit, usual), 1e-6)
        self.own[int(LIMIT)], self.own[int(NOISE)], self.own[int(WEIGHT)] = limit, noise, noise**-2
        self.forget()

    @property
    def changes(self) -> EffortEvidence:
        """What the changes of the effort say, without offset and dry friction."""
        scale, explained, joints = self.common[int(CHANGE_SCALE) : int(LOAD_SCALE)].tolist()
        return EffortEvidence(scale, explained, int(joints))

    @property
    def load(self) -> EffortEvidence:
        """What the loaded joints say."""
        scale, explained, joints = self.common[int(LOAD_SCALE) : int(PAUSED)].tolist()
        return EffortEvidence(scale, explained, int(joints))

    def forget(self) -> None:
        """Clear the filtered torque and the reported scale."""
        self.common[int(FOUND_SCALE)] = math.nan
        restart_scale(self.own, self.common)

    def continue_from(self, other: "EffortScale") -> None:
        """Take over the filtered torque of another one for the same robot, but not the scale
        that it reported: new settings may have corrected it.
        """
        for row in (TAU, FILLED):
            self.own[int(row)] = other.own[int(row)]
        self.common[int(ELAPSED)] = other.common[int(ELAPSED)]


def scale_fault(scale: float) -> Fault:
    """Return the fault of an effort of this scale."""
    return Fault(EFFORT_SIGN if scale < 0.0 else EFFORT_SCALE, value=scale)


def scale_text(scale: float) -> str:
    """Return what is wrong with an effort of this scale, and which parameter mends it."""
    kind = "effort-sign" if scale < 0.0 else "effort-scale"
    found = f"{kind} fault: effort is {scale:.3g} times what the motion takes, on all joints; "
    if abs(scale) < 0.02:
        return found + "is gravity removed by the driver? Then set effort.gravity: removed"
    if scale < 0.0:
        gain = -1.0 if abs(scale + 1.0) < 0.25 else 1.0 / scale
        return found + f"its sign is reversed: set effort.gain: [{gain:.3g}]"
    return found + (
        "is it a current, or without the gear ratio? Set effort.gain to the torque per unit of "
        f"effort, about [{1.0 / scale:.3g}]"
    )
