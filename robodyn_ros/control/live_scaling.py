"""LiveScaling: a clock between path and reference that keeps the limits, sample by sample.

The reference is q(s(t)) on a path q(s); s is the time that the trajectory asks for. The clock
runs at the rate v = ds/dt = 1 where the limits allow it, slower elsewhere, and up to `catch_up`
while it makes up for a delay. With a = dv/dt and ' = d/ds,

    qd = q' v,   qdd = q' a + q'' v^2
    tau = m a + c v^2 + g,   m = M q',   c = M q'' + C(q, q') q'

so that limits of torque, torque rate, velocity and acceleration are intervals of a at the next
sample. The law takes the largest a after which the clock could still brake to rest within the
same limits. That is tried on a table of m, c, g at evenly spaced nodes of the path ahead, from
node to node with y = v^2,  y_k+1 = y_k + (a_k + a_k+1) ds. The purpose, limits of torque rates on
line, is that of [GuarinoLoBianco2009] and [GuarinoLoBianco2011].

The path is a quintic between two nodes, with the trajectory's q, q', q'' there. Where its velocity
jumps, also at its ends, q is averaged over the two cells around: a corner of 1 rad/s is rounded by
0.7 mrad, and the clock nearly stops there.
"""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..dynamics.compile import inline, kernel
from ..dynamics.force_rate import force_rate
from ..dynamics.limit_use import Binding, largest_use, most_used
from ..dynamics.motion import Motion
from ..dynamics.newton_euler import _gravity, _newton_euler, gravity_torque, inverse_dynamics
from ..errors import ArgumentError
from ..model.packed_model import U, aligned_copy
from ..model.robot import RobotModel
from .controller import Array

NODE_SPACING = 4e-3  # [s] of the path; larger where a path would have more than MAX_NODES
MIN_NODES, MAX_NODES = 100, 4000
NODES_AHEAD = 150  # in which the clock must be able to stop
DONE = 1000  # more than these
STEP_SHARE = 0.98  # of the limits, used by the reference; the rest is for feedback
STEP_RATE, PLAN_RATE = 0.8, 0.7  # the same of torque rates, of which feedback needs more
SPEED_SHARE = 0.97  # of velocity limits, where they slow the clock down
PLAN_SHARE = 0.85  # of the limits, used by the way to rest that is tried ahead
MAX_STEP = 5e-3  # [s]; a longer one is divided
MAX_RATE = 4.0  # of the clock
MAX_ACCELERATION, MAX_JERK = 50.0, 3e3  # of the clock [1/s, 1/s^2], where nothing else limits it
# Ends of a path at which M q' is smaller than the largest by these factors: there the clock hardly
# moves the arm; and there it has slowed down for the end
FREE_INERTIA, EARLY_INERTIA = 20.0, 3.0
FREE_RATE = 0.85  # of the rate at which c v^2 + g changes as fast as the torque may
FREE_SHARE = 0.15  # of the torque rate, for changes of the clock's rate there
MIN_LEFT = 0.1  # of a torque rate, always counted on
JERK_SHARE = 0.6  # of what the torque rate allows, when the end of braking is foreseen
APPROACH = 40.0  # [1/s], at which the clock takes on the wanted rate
CATCH_UP = 4.0  # [1/s], at which a delay is made up for
START_SHARE = 0.8  # of the largest rate at which a path can be begun
BISECTIONS = 3  # between the wanted acceleration and braking
JUMP = 1e-3  # of the largest velocity: a larger step between two nodes is a corner
ON_TIME, ON_RATE = 1e-7, 1e-5  # [s], [1]: differences from the trajectory's clock that count as 0
AVERAGED = 16  # samples on each side of a corner

# Rows of a node, n numbers each
Q, Q1, Q2, M, C, G = (U(k) for k in range(6))
# Rows of the limits, n numbers each
TAU, RATE, QD, QDD = (U(k) for k in range(4))
# Rows of the state of the joints, n numbers each; TRIED: torque along the way to rest
TORQUE, TRIED, TAU_0, TAU_1, QD_X, QDD_X = (U(k) for k in range(6))
# Rows of the clock's limits at the nodes, see `PathTable.bounds`
Y_MAX, JERK, FREE, EASY, USED, AT_END = (U(k) for k in range(6))
# State of the clock
S, V, A, B, WANTED, WAY = (U(k) for k in range(6))


class Path(Protocol):
    """A path to follow; before 0 and after `duration` it rests at its ends."""

    @property
    def duration(self) -> float:
        """Duration [s]."""

    def at(self, t: float) -> Any:
        """Return the `Motion` at the time t [s], (n,) each."""


class ScalingLimits(NamedTuple):
    """Limits of the joints, (n,) each; inf for no limit."""

    tau_max: Array  # [N m or N]
    tau_rate_max: Array  # [N m/s or N/s]
    qd_max: Array  # [rad/s or m/s]
    qdd_max: Array  # [rad/s^2 or m/s^2]


@inline
def _on_path(table, spacing, s, q, q1, q2, q3):
    """Evaluate the path and three derivatives at s [s] after its first node."""
    cells = table.shape[0] - 1
    k = U(min(max(int(s / spacing), 0), cells - 1))
    x, h = min(max(s / spacing - k, 0.0), 1.0), spacing
    for j in range(U(table.shape[2])):
        p0, v0, w0 = table[k, Q, j], h * table[k, Q1, j], h * h * table[k, Q2, j]
        p1, v1, w1 = (
            table[k + U(1), Q, j],
            h * table[k + U(1), Q1, j],
            h * h * table[k + U(1), Q2, j],
        )
        d, e, f = p1 - p0 - v0 - 0.5 * w0, v1 - v0 - w0, w1 - w0
        c3, c4, c5 = (
            10.0 * d - 4.0 * e + 0.5 * f,
            -15.0 * d + 7.0 * e - f,
            6.0 * d - 3.0 * e + 0.5 * f,
        )
        q[j] = p0 + x * (v0 + x * (0.5 * w0 + x * (c3 + x * (c4 + x * c5))))
        q1[j] = (v0 + x * (w0 + x * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5)))) / h
        q2[j] = (w0 + x * (6.0 * c3 + x * (12.0 * c4 + x * 20.0 * c5))) / (h * h)
        q3[j] = (6.0 * c3 + x * (24.0 * c4 + x * 60.0 * c5)) / (h * h * h)


@inline
def _braking(bounds, node, v, floor):
    """Return the acceleration that can still end when the clock has slowed down to `floor`."""
    left = max(1.0 - bounds[USED, node] * v**3, MIN_LEFT)  # of the torque rates
    change = 2.0 * left * bounds[JERK, node] * max(v - floor, 0.0)
    return max(-math.sqrt(change), -MAX_ACCELERATION)


@inline
def _can_rest(table, limits, own, node, v, a):
    """Return whether the torque can become the weight until the clock rests, in 2 v / |a|."""
    time = 2.0 * v / max(-a, 1e-9)
    for j in range(U(table.shape[2])):
        if abs(own[TRIED, j] - table[node, G, j]) > limits[RATE, j] * time:
            return False
    return True


@kernel(
    "int64(float64[:, :, ::1], matrix, matrix, matrix, float64, float64, float64, float64,"
    " float64)"
)
def _survives(table, bounds, limits, own, spacing, s, v, a, floor):
    """Return after how many nodes no rate keeps the limits, or DONE; TRIED: the torque here.

    floor: rate of the clock down to which it brakes.
    """
    tau, n = own[TRIED], U(table.shape[2])
    nodes = table.shape[0]
    k = int(s / spacing) + 1
    ds = k * spacing - s
    if ds < 0.3 * spacing:
        k, ds = k + 1, ds + spacing
    y = v * v
    for passed in range(NODES_AHEAD):
        if k >= nodes or v <= 0.0:
            return DONE
        node = U(k)
        jerk = bounds[JERK, node]
        free = bounds[FREE, node]
        if free < np.inf and k > 3:
            if y > 1.03 * bounds[Y_MAX, node] or abs(a) > free:
                return passed
            if bounds[AT_END, node] != 0.0:
                return DONE
        after = math.sqrt(max(y + 2.0 * a * ds, 0.01 * y))
        dt = 2.0 * ds / (v + after)
        lo, hi = max(a - MAX_JERK * dt, -MAX_ACCELERATION), a + MAX_JERK * dt
        hi = min(hi, (bounds[Y_MAX, node] - y) / ds - a)
        for j in range(n):
            slope = table[node, M, j] + table[node, C, j] * ds
            base = table[node, C, j] * (y + a * ds) + table[node, G, j]
            most = max(
                PLAN_SHARE * limits[TAU, j], min(limits[TAU, j], 1.02 * abs(table[node, G, j]))
            )
            step = PLAN_RATE * limits[RATE, j] * dt
            if free < np.inf:
                break
            low, high = max(-most, tau[j] - step) - base, min(most, tau[j] + step) - base
            if slope < 0.0:
                slope, low, high = -slope, -high, -low
            if slope > 1e-9:
                lo, hi = max(lo, low / slope), min(hi, high / slope)
            elif low > 0.0 or high < 0.0:
                return passed
            if limits[QDD, j] < np.inf:
                slope = table[node, Q1, j] + table[node, Q2, j] * ds
                base = table[node, Q2, j] * (y + a * ds)
                low, high = -PLAN_SHARE * limits[QDD, j] - base, PLAN_SHARE * limits[QDD, j] - base
                if slope < 0.0:
                    slope, low, high = -slope, -high, -low
                if slope > 1e-9:
                    lo, hi = max(lo, low / slope), min(hi, high / slope)
                elif low > 0.0 or high < 0.0:
                    return passed
        if lo > hi:
            return passed
        following = min(max(_braking(bounds, node, after, floor), lo), hi)
        y += (a + following) * ds
        if y <= 0.0:
            return DONE if _can_rest(table, limits, own, node, v, a) else passed
        for j in range(n):
            tau[j] = table[node, M, j] * following + table[node, C, j] * y + table[node, G, j]
        v, a, k, ds = math.sqrt(y), following, k + 1, spacing
        # Nearly there: along a = -sqrt(2 jerk v), it is 2/3 v^2 / |a| to rest
        if (
            a <= 0.0
            and y * v < 4.5 * jerk * ds * ds
            and free == np.inf
            and _can_rest(table, limits, own, node, v, a)
        ):
            return DONE
    return NODES_AHEAD


@inline
def _try(table, bounds, limits, own, spacing, clock, a, floor, dt):
    """Return what `_survives` says after dt [s] to the acceleration a."""
    s = clock[S] + dt * (clock[V] + dt * (2.0 * clock[A] + a) / 6.0)
    v = max(clock[V] + 0.5 * dt * (clock[A] + a), 0.0)
    for j in range(U(table.shape[2])):
        own[TRIED, j] = own[TAU_0, j] + own[TAU_1, j] * a
    return _survives(table, bounds, limits, own, spacing, s, v, a, floor)


@inline
def _floor(bounds, way):
    """Return the rate to brake to: 0, or that at which the path can end."""
    return 0.0 if way == 0 else math.sqrt(bounds[Y_MAX, bounds.shape[1] - 1])


@inline
def _is_safe(table, bounds, limits, own, spacing, clock, a, dt):
    """Return whether the clock can come to rest after dt [s] to the acceleration a."""
    for attempt in range(2):
        way = clock[WAY] if attempt == 0 else 1.0 - clock[WAY]
        floor = _floor(bounds, way)
        if _try(table, bounds, limits, own, spacing, clock, a, floor, dt) == DONE:
            clock[WAY] = way
            return True
    return False


@inline
def _longest(table, bounds, limits, own, spacing, clock, node, lo, hi, dt):
    """Return the acceleration of the way that keeps the limits longest."""
    best, most = 0.0, -1
    for way in range(2):
        floor = _floor(bounds, way)
        a = min(max(_braking(bounds, node, clock[V], floor), lo), hi)
        passed = _try(table, bounds, limits, own, spacing, clock, a, floor, dt)
        if passed > most:
            best, most = a, passed
            clock[WAY] = way
    return best


@inline
def _fastest(bounds, spacing, s):
    """Return the largest rate of the clock at s by velocities, between the nodes."""
    k = U(min(max(int(s / spacing), 0), bounds.shape[1] - 2))
    x = min(max(s / spacing - k, 0.0), 1.0)
    return (1.0 - x) * math.sqrt(bounds[Y_MAX, k]) + x * math.sqrt(bounds[Y_MAX, k + U(1)])


@inline
def _substep(
    block, table, bounds, limits, own, motion, spacing, clock, ceiling, ramp, catch_up, dt
):
    """Advance the clock by dt [s] at most MAX_STEP; return 0, or 1 if a number is not finite."""
    n = U(table.shape[2])
    q, q1, q2, q3 = motion[0], motion[1], motion[2], motion[3]
    s, v, a = clock[S], clock[V], clock[A]
    clock[WANTED] += ceiling * dt
    delay = clock[WANTED] - s
    rate = ceiling
    if delay > ceiling * dt:
        rate = min(ceiling + CATCH_UP * (delay - ceiling * dt), max(ceiling, catch_up))
    # Torque at the next sample, TAU_0 + TAU_1 a
    v_next = max(v + a * dt, 0.0)
    s_next = s + dt * (v + 0.5 * a * dt)
    _on_path(table, spacing, s_next, q, q1, q2, q3)
    for j in range(n):
        own[QD_X, j] = q1[j] * v_next
        own[QDD_X, j] = q2[j] * v_next * v_next
    if _newton_euler(block, q, own[QD_X], own[QDD_X], own[TAU_0]) != 0:
        return 1
    for j in range(n):
        own[QDD_X, j] += q1[j]
    if _newton_euler(block, q, own[QD_X], own[QDD_X], own[TAU_1]) != 0:
        return 1
    if _gravity(block, q, own[QD_X]) != 0:
        return 1
    node = U(min(max(int(s_next / spacing + 0.5), 0), table.shape[0] - 1))
    free, jerk = bounds[FREE, node], bounds[JERK, node] / JERK_SHARE
    if free < np.inf:
        jerk *= FREE_SHARE
    lo = max(a - jerk * dt if free < np.inf else a - MAX_JERK * dt, -MAX_ACCELERATION)
    hi = min(a + jerk * dt if free < np.inf else a + MAX_JERK * dt, MAX_ACCELERATION, free)
    fastest = _fastest(bounds, spacing, s_next)
    if free < np.inf:
        rate = min(rate, fastest)
    else:
        hi = min(hi, (fastest - v) * 2.0 / dt - a)
    lo_t, hi_t = -np.inf, np.inf  # by torque and its rate
    for j in range(n):
        own[TAU_1, j] -= own[TAU_0, j]
        if v_next > 0.0:  # v at the next sample depends on a as well
            change = (own[TAU_0, j] - own[QD_X, j]) / v_next * dt
            own[TAU_1, j] += change
            own[TAU_0, j] -= change * a
        if free < np.inf:
            continue
        slope, base = own[TAU_1, j], own[TAU_0, j]
        most, step = STEP_SHARE * limits[TAU, j], STEP_RATE * limits[RATE, j] * dt
        low = max(-most, own[TORQUE, j] - step) - base
        high = min(most, own[TORQUE, j] + step) - base
        if slope < 0.0:
            slope, low, high = -slope, -high, -low
        if slope > 1e-9:
            lo_t, hi_t = max(lo_t, low / slope), min(hi_t, high / slope)
        if limits[QDD, j] < np.inf and abs(q1[j]) > 1e-9:
            slope, base = q1[j], q2[j] * v_next * v_next
            low, high = -STEP_SHARE * limits[QDD, j] - base, STEP_SHARE * limits[QDD, j] - base
            if slope < 0.0:
                slope, low, high = -slope, -high, -low
            lo, hi = max(lo, low / slope), min(hi, high / slope)
    if lo_t > hi_t:  # no acceleration keeps every limit: the least excess, but no faster
        lo_t = hi_t = min(0.5 * (lo_t + hi_t), 0.0)
    lo, hi = max(lo, lo_t), min(hi, hi_t)
    if lo > hi:
        lo = hi = min(max(hi, lo_t, -MAX_ACCELERATION), hi_t)
    # Towards the wanted rate
    away = rate - v - 0.5 * ramp * dt
    most = math.sqrt(2.0 * 0.6 * jerk * abs(away))
    wanted = ramp + min(max(APPROACH * away, -most), most)
    wanted = min(max(wanted, lo), hi)
    on_rate = (
        ramp == 0.0 and abs(away) < ON_RATE and abs(a) < APPROACH * ON_RATE and lo <= 0.0 <= hi
    )
    if on_rate:
        wanted = 0.0
    easy = on_rate and rate <= 1.0 and bounds[EASY, node] == 1.0
    if not easy and not _is_safe(table, bounds, limits, own, spacing, clock, wanted, dt):
        best = _longest(table, bounds, limits, own, spacing, clock, node, lo, hi, dt)
        step = wanted - best
        for _ in range(BISECTIONS):
            step *= 0.5
            if _is_safe(table, bounds, limits, own, spacing, clock, best + step, dt):
                best += step
        wanted = best
    wanted = min(max(wanted, a - MAX_JERK * dt, -MAX_ACCELERATION), a + MAX_JERK * dt)
    clock[B] = (wanted - a) / dt
    clock[S] = s + dt * (v + dt * (2.0 * a + wanted) / 6.0)
    clock[V] = max(v + 0.5 * dt * (a + wanted), 0.0)
    clock[A] = wanted if clock[V] > 0.0 or wanted > 0.0 else 0.0
    late = abs(clock[WANTED] - clock[S])
    if (
        ramp == 0.0
        and late < ON_TIME
        and abs(clock[V] - ceiling) < ON_RATE
        and abs(clock[A]) < 1e-2
    ):
        clock[S], clock[V], clock[A], clock[B] = clock[WANTED], ceiling, 0.0, 0.0
    return 0


@kernel(
    "int64(vector, float64[:, :, ::1], matrix, matrix, matrix, matrix, vector, float64, float64,"
    " float64, float64, float64)"
)
def _advance(
    block, table, bounds, limits, own, motion, clock, spacing, ceiling, slope, catch_up, dt
):
    steps = int(math.ceil(dt / MAX_STEP))
    for _ in range(steps):
        failed = _substep(
            block, table, bounds, limits, own, motion, spacing, clock, ceiling, slope, catch_up,
            dt / steps,
        )  # fmt: skip
        if failed != 0:
            return 1
        _motion(table, spacing, clock, motion)
        if _newton_euler(block, motion[0], motion[1], motion[2], own[TORQUE]) != 0:
            return 1
    return 0


@inline
def _motion(table, spacing, clock, motion):
    """Fill q, qd, qdd, qddd of the reference from the path and the clock."""
    q, q1, q2, q3 = motion[0], motion[1], motion[2], motion[3]
    _on_path(table, spacing, clock[S], q, q1, q2, q3)
    v, a, b = clock[V], clock[A], clock[B]
    for j in range(U(table.shape[2])):
        q3[j] = q3[j] * v**3 + 3.0 * q2[j] * v * a + q1[j] * b
        q2[j] = q2[j] * v * v + q1[j] * a
        q1[j] *= v


@kernel("boolean(float64[:, :, ::1], matrix, matrix, matrix, float64, float64)")
def _can_start(table, bounds, limits, own, spacing, v):
    """Return whether the clock can start from rest at the rate v without a step of the torque."""
    y = v * v
    if y > bounds[Y_MAX, 0]:
        return False
    for j in range(U(table.shape[2])):
        if abs(table[0, Q1, j]) * v > 1e-6:
            return False
        own[TRIED, j] = table[0, C, j] * y + table[0, G, j]
        if abs(table[0, C, j]) * y > 1e-3 * limits[RATE, j] * PLAN_RATE:
            return False
    return _survives(table, bounds, limits, own, spacing, 0.0, v, 0.0, 0.0) == DONE


class PathTable:
    """Nodes of a path from its time s0 [s] on, with the dynamics there.

    fade: coefficients (6, n) of an offset that fades within `seconds` of the path, or None. end:
    where the path comes to rest [s after s0].
    """

    def __init__(
        self,
        model: RobotModel,
        path: Path,
        s0: float = 0.0,
        fade: Array | None = None,
        seconds: float = 0.0,
    ) -> None:
        self.model, self.s0 = model, s0
        length = max(path.duration - s0, seconds if fade is not None else 0.0, NODE_SPACING)
        cells = min(max(math.ceil(length / NODE_SPACING), MIN_NODES), MAX_NODES)
        self.spacing = length / cells

        def at(s: Array) -> tuple[Array, ...]:
            motion = _sampled(path, s0 + s, model.n)
            return motion if fade is None else _with_offset(motion, fade, s / seconds, seconds)

        self.s: Array = self.spacing * np.arange(cells + 2.0)  # the last cell rests
        self.s[-2] = length  # exactly: beyond it, the path rests
        motion = at(self.s)
        q, q1, q2, q3 = motion
        corners = _corners(q1, q2, self.spacing)
        at_rest = np.abs(q2[-2]).max() < 1e-6 * np.abs(q2).max() and not (corners > cells).any()
        self.end = length + (0.0 if at_rest else self.spacing)
        for k in corners[corners > 0]:
            q[k], q1[k], q2[k] = _averaged(at, self.s[k], self.spacing)
        self.tau, self.tau_dot = force_rate(model, q, q1, q2, q3)
        g = gravity_torque(model, q)
        m = inverse_dynamics(model, q, np.zeros_like(q), q1, gravity=False)
        self.nodes = np.ascontiguousarray(np.stack([q, q1, q2, m, self.tau - g, g], axis=1))

    def bounds(self, limits: ScalingLimits) -> Array:
        """Return limits of the clock at the nodes (6, N), by the limits of the joints.

        Y_MAX: of its squared rate. JERK: by the torque rates. FREE: of its acceleration
        where q' is so small that the torque hardly depends on it, as at the ends; there, the rate
        stays below the one at which c v^2 + g changes too fast. Inf elsewhere. AT_END: 1 at the
        last of these. EASY: 1 from where on
        the path keeps all limits at the rate 1. USED: share of the torque rates that c v^2 + g
        uses at the rate 1.
        """
        found = np.zeros((6, self.s.size))
        q1, m = self.nodes[:, int(Q1)], self.nodes[:, int(M)]
        with np.errstate(divide="ignore"):
            speed = (limits.qd_max / np.abs(q1)).min(axis=1)
            speed = np.where(
                speed < 1.0, SPEED_SHARE * speed, np.maximum(SPEED_SHARE * speed, 1.0)
            )
            jerk = (limits.tau_rate_max / np.abs(m)).min(axis=1)
        steady, keeps = self._steady_rate(limits), self._keeps(limits)
        found[int(FREE)], found[int(USED)] = np.inf, steady**-3
        jumps = self._torque_jumps(limits)
        speed[jumps] = np.minimum(speed[jumps], np.maximum(FREE_RATE * steady, keeps)[jumps])
        nearly = jerk > EARLY_INERTIA * jerk.min()
        for first, last in _runs(jerk > FREE_INERTIA * jerk.min()):
            run = slice(first, last)
            rate = max(FREE_RATE * steady[run].min(), float(keeps[run].all()))
            cell = min(max(first, 1), self.s.size - 2)
            slope = np.abs(m[cell + 1] - m[cell - 1]).max() / (2.0 * self.spacing)
            most = FREE_SHARE * limits.tau_rate_max.min()
            found[int(FREE), run] = most / (slope * min(rate, 2.0) + 1e-9)
            # Slow down in time: braking takes its torque, and that back, before the end
            while first > 0 and nearly[first - 1]:
                first -= 1
            speed[first:last] = np.minimum(speed[first:last], rate)
            if last == self.s.size:
                found[int(AT_END), run] = 1.0
        found[int(Y_MAX)] = np.minimum(speed, MAX_RATE) ** 2
        found[int(JERK)] = JERK_SHARE * np.minimum(jerk, MAX_JERK)
        found[int(EASY)] = np.cumprod(keeps[::-1])[::-1]
        return found

    def is_easy(self, limits: ScalingLimits) -> bool:
        """Return whether the path keeps all limits at its own speed."""
        return bool(self._keeps(limits).all())

    def _steady_rate(self, limits: ScalingLimits) -> Array:
        """Return the largest constant rate (N,) by torque rates and accelerations there."""
        slopes = np.abs(np.diff(self.nodes[:, int(C) :], axis=0)) / self.spacing
        c1, g1 = np.moveaxis(np.maximum(slopes[1:], slopes[:-1]), 1, 0)
        low, high = np.zeros(c1.shape), np.full(c1.shape, MAX_RATE)
        for _ in range(30):
            middle = 0.5 * (low + high)
            fits = c1 * middle**3 + g1 * middle <= STEP_RATE * limits.tau_rate_max
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        with np.errstate(divide="ignore"):
            bent = np.sqrt(STEP_SHARE * limits.qdd_max / np.abs(self.nodes[:, int(Q2)]))
        return np.minimum(np.pad(low.min(axis=1), 1, mode="edge"), bent.min(axis=1))

    def _torque_jumps(self, limits: ScalingLimits) -> Array:
        """Return the nodes beside a step of the torque that its rate does not explain."""
        steps = np.diff(self.tau, axis=0) / self.spacing
        smooth = 0.5 * (self.tau_dot[1:] + self.tau_dot[:-1])
        rest = np.abs(steps - smooth) - 0.2 * np.abs(smooth)
        cells = np.flatnonzero((rest > 0.2 * limits.tau_rate_max).any(axis=1))
        return np.unique(np.append(cells, cells + 1))

    def _keeps(self, limits: ScalingLimits) -> Array:
        """Return at which nodes (N,) the trajectory keeps all limits at its own speed."""
        _, q1, q2, _, _, _ = np.moveaxis(self.nodes, 1, 0)
        shares = [np.abs(self.tau) / limits.tau_max, np.abs(q2) / limits.qdd_max]
        steps = np.abs(np.diff(self.tau, axis=0, prepend=self.tau[:1])) / self.spacing
        shares += [np.maximum(np.abs(self.tau_dot), steps) / limits.tau_rate_max]
        usual = np.max(shares, axis=(0, 2)) <= STEP_SHARE
        return usual & (np.abs(q1) / limits.qd_max <= 1.0 + 1e-9).all(axis=1)

    def exceeded(self, limits: ScalingLimits) -> tuple[Binding, ...]:
        """Return which limits the trajectory breaks at its own speed, the worst first."""
        t, (_, q1, q2, _, _, _) = self.s0 + self.s, np.moveaxis(self.nodes, 1, 0)
        steps = np.diff(self.tau, axis=0) / self.spacing
        rates = np.where(np.abs(steps) > np.abs(self.tau_dot[1:]), steps, self.tau_dot[1:])
        found = [
            *largest_use(self.model, "velocity", t, q1, limits.qd_max),
            *largest_use(self.model, "acceleration", t, q2, limits.qdd_max),
            *largest_use(self.model, "torque", t, self.tau, limits.tau_max),
            *largest_use(self.model, "torque_rate", t[1:], rates, limits.tau_rate_max),
        ]
        return most_used([binding for binding in found if binding.share > 1.0 + 1e-6])

    def check_weight(self, limits: ScalingLimits) -> None:
        """Reject a path on which a joint cannot carry the arm, however slow it is."""
        g = self.nodes[:, int(G)]
        worst = most_used(largest_use(self.model, "torque", self.s0 + self.s, g, limits.tau_max))
        if worst and worst[0].share >= STEP_SHARE:
            raise ArgumentError(f"the arm is too heavy for this path: {worst[0]}")


class LiveScaling:
    """Clock of a reference on its path: `begin` on a table, then `advance` with every sample.

    catch_up: largest rate of the clock while it makes up for a delay, 1 or more.
    """

    def __init__(self, model: RobotModel, limits: ScalingLimits, catch_up: float) -> None:
        self.model = model
        self._packed = aligned_copy(model.packed)
        self._own, self._clock = np.zeros((6, model.n)), np.zeros(6)
        self._table: PathTable | None = None
        self._limits = np.zeros((len(limits), model.n))
        self.configure(limits, catch_up)

    def configure(self, limits: ScalingLimits, catch_up: float) -> None:
        """Use other limits from now on."""
        before, self._limits = self._limits, np.array(limits)
        self.limits, self.catch_up = limits, catch_up
        # Most changes of settings leave the limits as they are, and the bounds take milliseconds
        if self._table is not None and not np.array_equal(before, self._limits):
            self._bounds = self._table.bounds(limits)

    @property
    def s(self) -> float:
        """Time on the path [s]."""
        return self._clock[int(S)] + (self._table.s0 if self._table is not None else 0.0)

    @property
    def delay(self) -> float:
        """Time by which the clock is behind that of the trajectory [s]."""
        return float(self._clock[int(WANTED)] - self._clock[int(S)])

    @property
    def arrived(self) -> bool:
        """Whether the path is at its end, or there is none."""
        return self._table is None or bool(self._clock[int(S)] >= self._table.end)

    def leave(self) -> None:
        """Follow no path."""
        self._table, self._clock[:] = None, 0.0

    def begin(self, table: PathTable, motion: Motion, rate: float = 1.0) -> None:
        """Start on a path at this motion; from rest at the largest rate that is possible."""
        self._table, self._clock[:] = table, 0.0
        self._bounds = table.bounds(self.limits)
        own = self._own[int(TORQUE)]
        _newton_euler(self._packed, *(np.ascontiguousarray(x) for x in motion[:3]), own)
        if motion.qd.any() or motion.qdd.any():
            self._clock[int(V)] = rate
            return
        low, high = 0.0, 2.0 * rate
        for _ in range(8 if rate else 0):  # rate, and half of the rest in each step
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._can_start(middle) else (low, middle)
            if low == rate:
                break
        self._clock[int(V)] = rate if low == rate else START_SHARE * low

    def _can_start(self, v: float) -> bool:
        table = self._table
        assert table is not None  # noqa: S101
        own, limits = self._own, self._limits
        return bool(_can_start(table.nodes, self._bounds, limits, own, table.spacing, v))

    def advance(self, dt: float, ceiling: float = 1.0, slope: float = 0.0) -> Motion:
        """Return the reference dt [s] later.

        ceiling: mean rate of the clock that is wanted; slope: change of that rate [1/s].
        """
        table = self._table
        if table is None:
            raise ArgumentError("no path was begun")
        motion = np.empty((4, self.model.n))
        numbers = (self._limits, self._own, motion, self._clock, table.spacing, ceiling, slope)
        if _advance(self._packed, table.nodes, self._bounds, *numbers, self.catch_up, dt):
            raise ArgumentError("the reference is not finite")
        return Motion.at_rest(table.nodes[-1, int(Q)]) if self.arrived else Motion(*motion)


def _sampled(path: Path, s: Array, n: int) -> tuple[Array, ...]:
    """Return q and three derivatives (N, n) at times (N,) [s]."""
    try:
        motion: Any = path.at(s)  # type: ignore[arg-type]
        found = tuple(np.array(x, dtype=np.float64) for x in motion[:4])
        if all(x.shape == (s.size, n) for x in found):
            return found
    except (TypeError, ValueError, ArgumentError):
        pass  # one by one
    rows = [path.at(float(t)) for t in s]
    return tuple(np.array([np.asarray(row[k]) for row in rows]) for k in range(4))


def _with_offset(motion: tuple[Array, ...], fade: Array, x: Array, T: float) -> tuple[Array, ...]:
    """Add the offset of the coefficients `fade` (6, n) at the share x (N,) of its time T [s]."""
    x = np.clip(x, 0.0, 1.0)[:, None]
    powers = np.arange(6.0)
    total = []
    for order, part in enumerate(motion):
        factor = np.array([math.perm(k, order) for k in range(6)])
        value = factor * x ** np.maximum(powers - order, 0.0) / T**order
        total.append(part + np.where(x < 1.0, value @ fade, 0.0))
    return tuple(total)


def _runs(marked: Array) -> list[tuple[int, int]]:
    """Return first and last + 1 of each run of marked nodes."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], marked, [False]]).astype(int)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _corners(q1: Array, q2: Array, ds: float) -> Array:
    """Return the nodes on both sides of a step of the velocity that q'' does not explain."""
    unexplained = np.abs(np.diff(q1, axis=0) - 0.5 * ds * (q2[1:] + q2[:-1]))
    cells = np.flatnonzero((unexplained > JUMP * np.abs(q1).max() + 1e-9).any(axis=1))
    return np.unique(np.append(cells, cells + 1))


def _averaged(at: Any, s: float, ds: float) -> tuple[Array, Array, Array]:
    """Return q, q', q'' of the path averaged over two cells around s, weighted by a triangle."""
    x = np.arange(-AVERAGED, AVERAGED + 1) / AVERAGED
    q, q1, _, _ = at(s + x * ds)
    weights = (1.0 - np.abs(x)) / AVERAGED
    return weights @ q, weights @ q1, (q[-1] - 2.0 * q[AVERAGED] + q[0]) / ds**2
