"""PathShape: a path with continuous acceleration, within a tolerance of one that may have breaks.

Points without velocities are joined by lines with corners, cubic pieces have steps of the
acceleration, and the last point may have a velocity. No torque within its rate limit follows that.
The shape has a time u of its own, in which

- a corner is approached and left slowly: s'(u) falls to a share there, by 3 x^2 - 2 x^3;
- what is left of the corner, and a step of the acceleration, is replaced by the quintic with the
  path's position, velocity and acceleration at its ends, at most TOLERANCE away.

Away from corners u runs like the time s of the path, later by a constant. The path begins and ends
at rest; a velocity at its ends is a corner as any other.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from .controller import Array

TOLERANCE = 3e-4  # [rad or m], distance from a path by rounding
CORNER_NODES = 3.0, 8.0, 15.0  # half the width of a rounded corner: least, if slow, most
STEP_NODES = 6.0, 25.0  # the same of a rounded step of the acceleration, at least and at most
SMALL_STEP = 0.3  # of the torque rate within one node, which needs no rounding
JUMP, JUMP_2 = 1e-3, 1e-2  # of the largest velocity and acceleration: larger steps are breaks
REAL_JUMP = 1e-6  # the same, of a step at one instant
BISECTIONS = 32  # of a cell with a break
NEAR = 1e-9  # [s], distance from a break at which its later side applies
# Shares of the limits for the way to a corner and on: torque rate, torque, acceleration
SLOWING = 0.7, 0.5, 0.7
MIN_SLOWING = 4.0  # widths of the rounded corner

# Of the quintics over -1 <= x <= 1 that replace |x| / 2 and x |x| / 4, lowest power first
CORNER = np.array([3.0 / 16.0, 0.0, 3.0 / 8.0, 0.0, -1.0 / 16.0, 0.0])
STEP = np.array([0.0, 3.0 / 32.0, 0.0, 3.0 / 16.0, 0.0, -1.0 / 32.0])
ARC = 0.1  # distance of a rounded polygon from its arc, over acceleration and width^2
STEP_AWAY = 0.0108  # largest distance of the second
STEP_JERK = 1.125  # largest third derivative

Sampler = Callable[[Array], tuple[Array, ...]]  # times (N,) to q and derivatives (N, n)
Inertia = Callable[[Array, Array], Array]  # M(q) x for q, x (N, n)


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


class Breaks(NamedTuple):
    """Steps of velocity and acceleration at times s (K,) [s]; (K, n) each."""

    s: Array
    q: Array
    before: Array  # velocity [rad/s or m/s]
    velocity: Array
    acceleration: Array


class PathShape:
    """Shape of `at` from 0 to `length` [s]; sample: `motion(u)` from 0 to `duration`.

    at: rests before 0 and after `length`. node: spacing at which the shape will be sampled [s].
    """

    def __init__(
        self, at: Sampler, length: float, node: float, limits: ScalingLimits, inertia: Inertia
    ) -> None:
        self.at, self.breaks = at, find_breaks(at, length, node)
        count = self.breaks.s.size
        self._sigma, self._slowing = np.ones(count), np.zeros(count)
        self._corner = np.zeros(count)
        self._step = np.zeros(count)
        if count:
            room = np.minimum(self.breaks.s, length - self.breaks.s)
            self._inside = room >= NEAR  # of the path, not at its ends
            self._choose_widths(room, node, limits, inertia)
            self._choose_slowing(room, length, limits, inertia)
        delays = self._slowing * (1.0 - self._sigma)  # half before, half after the corner
        wide = np.maximum(self._corner, self._step)
        first = bool(count) and self.breaks.s[0] < NEAR
        last = bool(count) and self.breaks.s[-1] > length - NEAR
        # Rest before the start and after the end, as far as they are rounded
        self._u0 = -wide[0] + 0.5 * delays[0] if first else 0.0
        self._places = self.breaks.s + np.cumsum(delays) - 0.5 * delays - self._u0
        self._delays = delays
        end = self._places[-1] + wide[-1] if last else length + delays.sum() - self._u0
        self.duration = float(end)

    def _choose_widths(
        self, room: Array, node: float, limits: ScalingLimits, inertia: Inertia
    ) -> None:
        """Choose how far each break is rounded, and the share of speed left in a corner.

        room (K,): time from each break to the nearer end of the path [s].
        """
        at, inside = self.breaks, self._inside
        size = np.abs(at.velocity).max(axis=1)
        apart = np.diff(at.s, prepend=-np.inf, append=np.inf)
        apart = np.maximum(apart[1:], apart[:-1])
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = TOLERANCE / (CORNER[0] * size)
            dense = np.sqrt(TOLERANCE * apart / (ARC * size))  # corners of a polygon along an arc
            within = np.sqrt(TOLERANCE / (STEP_AWAY * np.abs(at.acceleration).max(axis=1)))
        wide = np.where((dense > apart) & (size > 0.0), dense, alone)
        least, usual, most = (nodes * node for nodes in CORNER_NODES)
        self._corner = np.where(wide >= least, np.minimum(wide, most), usual)
        self._sigma = np.where(wide >= least, 1.0, wide / usual)
        self._corner[size == 0.0] = 0.0
        rate = np.abs(inertia(at.q, at.acceleration)) / limits.tau_rate_max
        wide = STEP_JERK * rate.max(axis=1) / SLOWING[0]
        wide = np.clip(np.minimum(wide, within), STEP_NODES[0] * node, STEP_NODES[1] * node)
        wide[inside] = np.minimum(wide, room)[inside]
        self._step = np.where(rate.max(axis=1) > SMALL_STEP * node, wide, 0.0)
        self._step[self._step < node] = 0.0
        self._corner[inside] = np.minimum(self._corner, room)[inside]

    def _choose_slowing(
        self, room: Array, length: float, limits: ScalingLimits, inertia: Inertia
    ) -> None:
        """Choose in what time a corner is approached and left slowly; room: see above."""
        at, slow = self.breaks, self._sigma < 1.0
        speed = np.maximum(np.abs(at.before), np.abs(at.before + at.velocity))
        torque = np.maximum(
            np.abs(inertia(at.q, at.before)), np.abs(inertia(at.q, at.before + at.velocity))
        )
        times = np.stack(
            [
                np.sqrt(6.0 * torque / (SLOWING[0] * limits.tau_rate_max)),
                1.5 * torque / (SLOWING[1] * limits.tau_max),
                1.5 * speed / (SLOWING[2] * limits.qdd_max),
            ]
        ).max(axis=(0, 2))
        times = np.maximum(times, MIN_SLOWING * self._corner)
        # A corner's slow part ends where that of the next one, or the path, begins or ends
        places = np.concatenate([[-np.inf], at.s[slow], [np.inf]])
        between = 0.5 * np.minimum(np.diff(places)[:-1], np.diff(places)[1:])
        ends = np.where(self._inside, room, length)[slow]
        longest = 2.0 * np.minimum(between, ends) / (1.0 + self._sigma[slow])
        self._slowing[slow] = np.minimum(times[slow], longest)

    @property
    def is_path(self) -> bool:
        """Whether it is the path itself."""
        return not self.breaks.s.size

    def time(self, u: Array) -> tuple[Array, Array, Array]:
        """Return the time of the path at u (N,), and two derivatives by u."""
        u = np.asarray(u, dtype=np.float64)
        s, s1, s2 = u + self._u0, np.ones(u.shape), np.zeros(u.shape)
        rows = zip(
            self._places, self.breaks.s, self._sigma, self._slowing, self._delays, strict=True
        )
        for place, at, sigma, slowing, delay in rows:
            if slowing == 0.0:
                continue
            x = (u - place) / slowing
            s -= np.where(x >= 1.0, delay, 0.0)
            near = np.abs(x) < 1.0
            side, x = np.sign(x[near]), np.abs(x[near])
            s[near] = at + side * slowing * (sigma * x + (1.0 - sigma) * x**3 * (1.0 - 0.5 * x))
            s1[near] = sigma + (1.0 - sigma) * x**2 * (3.0 - 2.0 * x)
            s2[near] = side * (1.0 - sigma) * 6.0 * x * (1.0 - x) / slowing
        return s, s1, s2

    def motion(self, u: Array) -> tuple[Array, Array, Array]:
        """Return q, q', q'' (N, n) at u (N,), which ascends, with ' = d/du."""
        u = self._beside(u)
        s, s1, s2 = (x[:, None] for x in self.time(u))
        q, q1, q2, _ = self.at(s[:, 0])
        q, q1, q2 = q.copy(), q1 * s1, q2 * s1**2 + q1 * s2
        for k, place in enumerate(self._places):
            parts = (
                (CORNER, 1, self._corner[k], self._sigma[k] * self.breaks.velocity[k]),
                (STEP, 2, self._step[k], self._sigma[k] ** 2 * self.breaks.acceleration[k]),
            )
            for quintic, order, half, jump in parts:
                near = slice(*np.searchsorted(u, (place - half, place + half)))
                if half == 0.0 or near.start == near.stop:
                    continue
                x = (u[near] - place) / half
                for to, derivative in ((q, 0), (q1, 1), (q2, 2)):
                    change = _polynomial(quintic, x, derivative) - _broken(order, x, derivative)
                    to[near] += np.outer(change * half ** (order - derivative), jump)
        return q, q1, q2

    def _beside(self, u: Array) -> Array:
        """Return u, moved to the later side of a break that is very near."""
        if self.is_path:
            return u
        k = np.clip(np.searchsorted(self._places, u), 1, None) - 1
        u = np.array(u)
        for index in (k, np.minimum(k + 1, self._places.size - 1)):
            near = np.abs(u - self._places[index]) <= NEAR
            u[near] = self._places[index][near] + 2.0 * NEAR
        return u


def _polynomial(coefficients: Array, x: Array, derivative: int) -> Array:
    """Return a derivative, 0 to 2, of a quintic."""
    a, b, c, d, e, f = coefficients
    if derivative == 0:
        return np.asarray(a + x * (b + x * (c + x * (d + x * (e + x * f)))))
    if derivative == 1:
        return np.asarray(b + x * (2.0 * c + x * (3.0 * d + x * (4.0 * e + x * 5.0 * f))))
    return np.asarray(2.0 * c + x * (6.0 * d + x * (12.0 * e + x * 20.0 * f)))


def _broken(order: int, x: Array, derivative: int) -> Array:
    """Return a derivative of |x| / 2 (order 1) or x |x| / 4 (order 2)."""
    side = np.where(x >= 0.0, 1.0, -1.0)
    if order == 1:
        return (0.5 * np.abs(x), 0.5 * side, np.zeros(x.shape))[derivative]
    return (0.25 * side * x**2, 0.5 * np.abs(x), 0.5 * side)[derivative]


def find_breaks(at: Sampler, length: float, node: float) -> Breaks:
    """Return the breaks from 0 to `length`, one per node at most."""
    s = np.linspace(-node, length + node, round(length / node) + 3)
    s[[1, -2]] = -0.5 * NEAR, length + 0.5 * NEAR  # in rest
    s = np.insert(s, [2, s.size - 2], [0.5 * NEAR, length - 0.5 * NEAR])
    motion = at(s)
    scales = np.array([np.abs(x).max() + 1e-9 for x in motion[1:3]])
    steps = _unexplained(s[:-1], [x[:-1] for x in motion], s[1:], [x[1:] for x in motion])
    cells = np.flatnonzero(
        (steps > np.array([JUMP, JUMP_2])[:, None] * np.array(scales)[:, None]).any(0)
    )
    if not cells.size:
        nothing = np.zeros((0, motion[0].shape[1]))
        return Breaks(np.zeros(0), *4 * (nothing,))
    low, high = s[cells], s[cells + 1]
    before, after = [x[cells] for x in motion], [x[cells + 1] for x in motion]
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        there = at(middle)
        early, late = (
            (steps / scales[:, None]).sum(axis=0)
            for steps in (
                _unexplained(low, before, middle, there),
                _unexplained(middle, there, high, after),
            )
        )
        later = late > early
        low, high = np.where(later, middle, low), np.where(later, high, middle)
        for old, new in zip(before, there, strict=True):
            old[later] = new[later]
        for old, new in zip(after, there, strict=True):
            old[~later] = new[~later]
    velocity, acceleration = after[1] - before[1], after[2] - before[2]
    is_corner = np.abs(velocity).max(axis=1) > REAL_JUMP * scales[0]
    is_step = np.abs(acceleration).max(axis=1) > JUMP_2 * scales[1]
    velocity[~is_corner] = 0.0
    kept = is_corner | is_step
    found = (0.5 * (low + high), before[0], before[1], velocity, acceleration)
    return Breaks(*(x[kept] for x in found))


def _unexplained(a: Array, at_a: Sequence[Array], b: Array, at_b: Sequence[Array]) -> Array:
    """Return steps (2, K) of q' and q'' from a to b (K,) beyond those by the next derivative."""
    half = 0.5 * (b - a)[:, None]
    return np.array(
        [
            np.abs(at_b[k] - at_a[k] - half * (at_b[k + 1] + at_a[k + 1])).max(axis=1)
            for k in (1, 2)
        ]
    )
