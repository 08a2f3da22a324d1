"""PathTable: nodes of a path with the dynamics there, and the rates at which its limits hold."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dynamics.force_rate import force_rate
from ..dynamics.limit_use import Binding, largest_use, most_used
from ..dynamics.newton_euler import gravity_torque, inverse_dynamics
from ..errors import ArgumentError
from ..model.packed_model import U
from ..model.robot import RobotModel
from .controller import Array
from .path_shape import Path, PathShape, ScalingLimits
from .speed_profile import speed_profile

NODE_SPACING = 4e-3  # [s] of the path; larger where a path would have more than MAX_NODES
MIN_NODES, MAX_NODES = 400, 4000
FULL_SHARE = 0.98  # of the limits, up to which a trajectory is followed as it was sent
SPEED_SHARE = 0.97  # of velocity limits, where they slow the clock down

# Rows of a node, n numbers each
Q, Q1, Q2, M, C, G = (U(k) for k in range(6))
# Rows of the clock's limits at the nodes, see `PathTable.bounds`
ON_TIME, LATE, LAG, USED = (U(k) for k in range(4))


class PathTable:
    """Nodes of a path from its time s0 [s] on, by the time u of its `PathShape`.

    fade: coefficients (6, n) of an offset that fades within `seconds` of the path, or None.
    limits: those for which corners are shaped. from_rest: begun at rest, else in motion. end: u at
    which the path comes to rest [s].
    """

    def __init__(
        self,
        model: RobotModel,
        path: Path,
        s0: float = 0.0,
        fade: Array | None = None,
        seconds: float = 0.0,
        *,
        limits: ScalingLimits | None = None,
        from_rest: bool = True,
    ) -> None:
        self.model, self.s0, self.from_rest = model, s0, from_rest
        length = max(path.duration - s0, seconds if fade is not None else 0.0, NODE_SPACING)
        node = length / min(max(math.ceil(length / NODE_SPACING), MIN_NODES), MAX_NODES)

        def at(s: Array) -> tuple[Array, ...]:
            motion = _sampled(path, s0 + np.maximum(s, 0.0), model.n)
            if fade is not None:
                motion = with_offset(motion, fade, np.maximum(s, 0.0) / seconds, seconds)
            if from_rest:
                for part in motion[1:]:
                    part[s < 0.0] = 0.0
            return motion

        def inertia(q: Array, x: Array) -> Array:
            return inverse_dynamics(model, q, np.zeros_like(q), x, gravity=False)

        none = np.full(model.n, np.inf)
        limits = limits or ScalingLimits(none, none, none, none)
        self.shape = PathShape(at, length, node, limits, inertia)
        self._as_sent(at, length, node)
        cells = max(math.ceil(self.shape.duration / node - 1e-9), 1)
        self.spacing = self.shape.duration / cells
        self.end = self.shape.duration
        self.u: Array = self.spacing * np.arange(cells + 2.0)  # the last cell rests
        self.u[-2] = self.end  # exactly: beyond it, the path rests
        q, q1, q2 = self.shape.motion(self.u)
        q1[-1] = q2[-1] = 0.0
        g = gravity_torque(model, q)
        c = inverse_dynamics(model, q, q1, q2) - g
        self.nodes = np.ascontiguousarray(np.stack([q, q1, q2, inertia(q, q1), c, g], axis=1))

    def _as_sent(self, at: Any, length: float, node: float) -> None:
        """Note the trajectory as it was sent, a corner as the acceleration within one node."""
        self.s: Array = np.linspace(0.0, length, round(length / node) + 1)
        q, q1, q2, q3 = at(self.s)
        breaks = self.shape.breaks
        for place, jump in zip(breaks.s, breaks.velocity, strict=True):
            k = min(max(round(place / node), 0), self.s.size - 1)
            q2[k] = q2[k] + jump / node
        self.tau, self.tau_dot = force_rate(self.model, q, q1, q2, q3)
        self._sent = (gravity_torque(self.model, q), q1, q2)

    def path_time(self, u: float) -> float:
        """Return the time of the path [s] at u."""
        return self.s0 + float(self.shape.time(np.array([u]))[0][0])

    def bounds(self, limits: ScalingLimits, catch_up: float, late: bool = False) -> Array:
        """Return limits of the clock at the nodes (4, N), by the limits of the joints.

        late: the clock has a delay already; else a path that keeps all limits will have none.
        ON_TIME: largest square of its rate if that is at most 1. LATE: the same if it is at most
        `catch_up`. LAG: u - s, by which u runs behind the path's time. USED: share of the torque
        rates that the trajectory uses as it was sent, where it keeps all limits.
        """
        found = np.zeros((4, self.u.size))
        found[int(LAG)] = self.u - self.shape.time(self.u)[0]
        found[int(LAG), -1] = found[int(LAG), -2]
        q1 = self.nodes[:, int(Q1)]
        with np.errstate(divide="ignore"):
            fastest = (limits.qd_max / np.abs(q1)).min(axis=1)
        fastest = np.where(
            fastest < 1.0, SPEED_SHARE * fastest, np.maximum(SPEED_SHARE * fastest, 1.0)
        )
        if self.is_easy(limits):
            found[int(ON_TIME)] = found[int(LATE)] = 1.0
            found[int(USED)] = FULL_SHARE
            if late and catch_up > 1.0:
                faster = self._profile(limits, np.minimum(fastest, catch_up) ** 2)
                found[int(LATE)] = np.maximum(faster, 1.0)
            return found
        found[int(LATE)] = self._profile(limits, np.minimum(fastest, catch_up) ** 2)
        found[int(ON_TIME)] = found[int(LATE)]
        if (found[int(LATE)] > 1.0).any():
            found[int(ON_TIME)] = self._profile(
                limits, np.minimum(fastest, 1.0) ** 2, found[int(LATE)]
            )
        return found

    def _profile(self, limits: ScalingLimits, y_max: Array, start: Array | None = None) -> Array:
        """Return y (N,); start: within the limits, but for y_max."""
        rows = [int(row) for row in (M, C, G, Q1, Q2)]
        nodes = self.nodes[:-1, rows]
        kinks = np.zeros_like(nodes[:-1, :1])
        c = nodes[:, rows.index(int(C))]
        kinks[1:, 0] = 0.5 * np.diff(c, n=2, axis=0)
        cells = np.concatenate([0.5 * (nodes[1:] + nodes[:-1]), kinks], axis=1)
        # Before and after, at rest: mirrored, so that the torque at the ends is the weight
        mirrored = -cells[[0, -1]]
        mirrored[:, 2] += 2.0 * nodes[[0, -1], 2]
        first = [mirrored[:1]] if self.from_rest else []
        cells = np.concatenate([*first, cells, mirrored[1:]])
        y_max = np.pad(y_max[:-1], (len(first), 1), mode="edge")
        if start is not None:
            start = np.pad(start[:-1], (len(first), 1), mode="edge")
        y = speed_profile(cells, limits, self.spacing, y_max, start)[len(first) : -1]
        return np.append(y, y[-1])

    def is_easy(self, limits: ScalingLimits) -> bool:
        """Return whether the path keeps all limits at its own speed."""
        if not self.shape.is_path:
            return False
        _, q1, q2 = self._sent
        shares = [np.abs(self.tau) / limits.tau_max, np.abs(q2) / limits.qdd_max]
        steps = np.abs(np.diff(self.tau, axis=0, prepend=self.tau[:1])) / (self.s[1] - self.s[0])
        shares += [np.maximum(np.abs(self.tau_dot), steps) / limits.tau_rate_max]
        slow = bool((np.abs(q1) / limits.qd_max <= 1.0 + 1e-9).all())
        return slow and max(float(share.max()) for share in shares) <= FULL_SHARE

    def exceeded(self, limits: ScalingLimits) -> tuple[Binding, ...]:
        """Return which limits the trajectory breaks at its own speed, the worst first."""
        t, (g, q1, q2) = self.s0 + self.s, self._sent
        # From rest and to rest, the torque begins and ends with the weight
        tau = np.concatenate([g[:1] if self.from_rest else self.tau[:1], self.tau, g[-1:]])
        steps = np.diff(tau, axis=0) / (self.s[1] - self.s[0])
        tau_dot = np.append(self.tau_dot, 0.0 * g[-1:], axis=0)
        rates = np.where(np.abs(steps) > np.abs(tau_dot), steps, tau_dot)
        bound = limits.tau_rate_max
        found = [
            *largest_use(self.model, "velocity", t, q1, limits.qd_max),
            *largest_use(self.model, "acceleration", t, q2, limits.qdd_max),
            *largest_use(self.model, "torque", t, self.tau, limits.tau_max),
            *largest_use(self.model, "torque_rate", np.append(t, t[-1]), rates, bound),
        ]
        return most_used([binding for binding in found if binding.share > 1.0 + 1e-6])

    def check_weight(self, limits: ScalingLimits) -> None:
        """Reject a path on which a joint cannot carry the arm, however slow it is."""
        t, g = self.s0 + self.s, self._sent[0]
        worst = most_used(largest_use(self.model, "torque", t, g, limits.tau_max))
        if worst and worst[0].share >= FULL_SHARE:
            raise ArgumentError(f"the arm is too heavy for this path: {worst[0]}")


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


def with_offset(motion: Sequence[Array], fade: Array, x: Array, T: float) -> tuple[Array, ...]:
    """Add the offset of the coefficients `fade` (6, n) at the share x (N,) of its time T [s]."""
    x = np.clip(x, 0.0, 1.0)[:, None]
    powers = np.arange(6.0)
    total = []
    for order, part in enumerate(motion):
        factor = np.array([math.perm(k, order) for k in range(6)])
        value = factor * x ** np.maximum(powers - order, 0.0) / T**order
        total.append(part + np.where(x < 1.0, value @ fade, 0.0))
    return tuple(total)
