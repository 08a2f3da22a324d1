"""CollisionDetector: from a residual to UNKNOWN, CLEAR, CONTACT or COLLISION."""

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import U2, kernel
from ..errors import ArgumentError
from ..model.packed_model import U
from ..model.robot import RobotModel
from .thresholds import Thresholds, as_thresholds

Array = npt.NDArray[np.float64]

# Rows of a detector's own array, n numbers each: those of contact, the same of collision, a mask
BASE, IN_MOTION, PER_VELOCITY, PER_ACCELERATION, ABOVE, BELOW, ON, ROWS = (U(k) for k in range(8))
WATCHED, LEVER = U2 * ROWS, U2 * ROWS + U(1)
# What all joints have in common; the last ones by `force_thresholds`
DT, DEBOUNCE, HYSTERESIS, RELEASE, MOVING, SCORE, SPEEDS = (U(k) for k in range(7))
FORCES, FORCE_BLOCK = U(8), U(10)
NOT_FINITE, NOT_MEASURED = -1, -2
CONTACT_ON, COLLISION_ON, CHANGED = 1, 2, 4


@kernel("int64(float64[:, ::1], float64[::1], float64[::1], float64[::1], float64[::1])")
def follow(own, common, r, qd, qdd):
    """Compare a residual with its thresholds; return CONTACT_ON, COLLISION_ON and CHANGED as bits,
    or why that is impossible. ABOVE and BELOW: time above the threshold, and since then [s].
    SCORE: largest residual over its contact threshold.
    """
    n = U(own.shape[1])
    if r.size != n:
        return NOT_FINITE
    if qd.size != n or qdd.size != n:
        return NOT_MEASURED
    bad_r = bad_motion = 0.0
    for k in range(n):
        bad_r += 0.0 * r[k]
        bad_motion += 0.0 * qd[k] + 0.0 * qdd[k]
    if bad_r != 0.0:
        return NOT_FINITE
    moving = common[MOVING] != 0.0
    if moving and bad_motion != 0.0:
        return NOT_MEASURED
    found, score, one_speed = 0, 0.0, common[SPEEDS] == common[SPEEDS + U(1)]
    for k in range(n):
        speed = abs(qd[k])
        onset = math.tanh(speed / common[SPEEDS]) if moving else 0.0
        for i in range(U2):
            row = i * ROWS
            limit = own[row + BASE, k]
            if moving:
                if i > 0 and not one_speed:
                    onset = math.tanh(speed / common[SPEEDS + i])
                limit += own[row + IN_MOTION, k] * onset
                limit += own[row + PER_VELOCITY, k] * speed
                limit += own[row + PER_ACCELERATION, k] * abs(qdd[k])
            size, dt = abs(r[k]), common[DT]
            if i == 0 and own[WATCHED, k] != 0.0:
                score = max(score, size / limit)
            limit = max(limit, common[FORCES + i] * own[LEVER, k])
            above = size > limit and own[WATCHED, k] != 0.0
            calm = size <= common[HYSTERESIS] * limit
            own[row + ABOVE, k] = own[row + ABOVE, k] + dt if above else 0.0
            own[row + BELOW, k] = own[row + BELOW, k] + dt if calm else 0.0
            was = own[row + ON, k]
            if above and own[row + ABOVE, k] > common[DEBOUNCE]:
                own[row + ON, k] = 1.0
            elif calm and own[row + BELOW, k] > common[RELEASE]:
                own[row + ON, k] = 0.0
            if own[row + ON, k] != 0.0:
                found |= CONTACT_ON << i
            if own[row + ON, k] != was:
                found |= CHANGED
    common[SCORE] = score
    return found


@kernel("int64(float64[:, ::1])")
def forget_times(own):
    """Forget which thresholds were exceeded, and for how long."""
    for k in range(U(own.shape[1])):
        for row in range(ABOVE, ROWS):
            own[row, k] = own[row + ROWS, k] = 0.0
    return 0


class Level(IntEnum):
    """Contact state, in order of severity."""

    UNKNOWN = 0
    CLEAR = 1
    CONTACT = 2
    COLLISION = 3


@dataclass(frozen=True)
class CollisionState:
    """State of a detector at one instant."""

    level: Level
    joints: tuple[str, ...] = ()  # whose residual is above its threshold
    link: str | None = None  # the outermost link that these joints carry
    reason: str = ""  # why the level is UNKNOWN


class CollisionDetector:
    """Compares a residual, joint by joint, with the thresholds of two levels.

    contact, collision: thresholds [N m or N]: one for all joints, one each, or `Thresholds` that
    follow the motion. debounce [s]: time above the threshold before it counts. hysteresis: share
    of the threshold below which a contact ends, after `release` [s]. settling [s]: UNKNOWN after
    the start, a gap or bad data. masked: joints to ignore. force: by `force_memory`, thresholds in
    terms of force, which `follow_posture` keeps up to date. Without a model, joints are named
    joint_1, joint_2, … and no link is named.
    """

    def __init__(
        self,
        contact: Any,
        collision: Any,
        model: RobotModel | None = None,
        *,
        debounce: float = 0.0,
        hysteresis: float = 0.8,
        release: float = 0.0,
        settling: float = 0.0,
        masked: tuple[str, ...] = (),
        force: Array | None = None,
    ) -> None:
        n = model.n if model is not None else _how_many(contact, collision)
        self.model = model
        self.joint_names = (
            tuple(f"joint_{k + 1}" for k in range(n)) if model is None else model.joint_names
        )
        self.contact = as_thresholds("contact", contact, n)
        self.collision = as_thresholds("collision", collision, n)
        if np.any(self.collision.base < self.contact.base):
            k = int(np.argmax(self.contact.base - self.collision.base))
            raise ArgumentError(
                f"joint '{self.joint_names[k]}' has a collision threshold below its contact "
                "threshold; swap them"
            )
        spans = {"debounce": debounce, "release": release, "settling": settling}
        for name, seconds in spans.items():
            if not 0.0 <= seconds < math.inf:
                raise ArgumentError(f"{name} must be finite and not negative [s], got {seconds!r}")
        if not 0.0 < hysteresis <= 1.0:
            raise ArgumentError(f"hysteresis must be above 0 and at most 1, got {hysteresis!r}")
        unknown = set(masked) - set(self.joint_names)
        if unknown:
            raise ArgumentError(f"masked names joints that are not there: {', '.join(unknown)}")
        self.debounce, self.hysteresis = debounce, hysteresis
        self.release, self.settling = release, settling
        self.watched = np.array([name not in masked for name in self.joint_names])
        self._still = np.zeros(n)
        self._moving = self.contact.moving or self.collision.moving
        self._own = np.zeros((int(LEVER) + 1, n))
        self._own[int(WATCHED)] = self.watched
        for level, limit in enumerate((self.contact, self.collision)):
            self._rows(level)[: int(ABOVE)] = (
                limit.base,
                limit.in_motion,
                limit.per_velocity,
                limit.per_acceleration,
            )
        speeds = self.contact.speed, self.collision.speed
        own = (0.0, debounce, hysteresis, release, self._moving, 0.0, *speeds)
        self._common = np.concatenate([own, np.zeros(2) if force is None else force])
        self.reset()

    def reset(self, reason: str = "just started") -> None:
        """Forget everything; UNKNOWN until the detector has settled."""
        forget_times(self._own)
        self._settled = 0.0
        self._reason = reason
        self._state: CollisionState | None = None

    def continue_from(self, other: "CollisionDetector") -> None:
        """Continue where another detector of the same robot stands."""
        for level in range(2):
            self._rows(level)[int(ABOVE) :] = other._rows(level)[int(ABOVE) :]
            self._rows(level)[int(ON)] *= self.watched
        self._settled, self._reason = other._settled, other._reason
        self._state = None

    def update(
        self,
        r: npt.ArrayLike | None,
        dt: float,
        qd: npt.ArrayLike | None = None,
        qdd: npt.ArrayLike | None = None,
    ) -> CollisionState:
        """Return the state after a residual (n,) [N m or N], dt [s] after the previous one.

        None or a residual that is not finite gives UNKNOWN, and the detector settles again.
        """
        if not 0.0 < dt < math.inf:
            return self._unknown("the residual is not finite")
        self._common[int(DT)] = dt
        motion = [self._still if x is None or not self._moving else x for x in (qd, qdd)]
        try:
            found = follow(self._own, self._common, r, *motion)
        except (TypeError, ValueError):  # lists, None, and worse
            arrays = [_numbers(x, self._still.size) for x in (r, *motion)]
            found = follow(self._own, self._common, *arrays)
        if found == NOT_FINITE:
            return self._unknown("the residual is not finite")
        if found == NOT_MEASURED:
            return self._unknown("the velocity is not finite")
        self._settled += dt
        if self._settled <= self.settling:
            return CollisionState(Level.UNKNOWN, reason=self._reason)
        if self._state is None or found & CHANGED:
            self._state = self._present_state()
        return self._state

    @property
    def memory(self) -> tuple[Array, Array]:
        """The detector's state, as `follow` takes it."""
        return self._own, self._common

    @property
    def above(self) -> tuple[str, ...]:
        """Joints above a threshold."""
        on = (self._rows(0)[int(ON)] != 0.0) | (self._rows(1)[int(ON)] != 0.0)
        return tuple(name for name, above in zip(self.joint_names, on, strict=True) if above)

    def _rows(self, level: int) -> Array:
        """Return the rows (7, n) of contact (0) or collision (1)."""
        return self._own[level * int(ROWS) : (level + 1) * int(ROWS)]

    def _unknown(self, reason: str) -> CollisionState:
        self.reset(reason)
        return CollisionState(Level.UNKNOWN, reason=reason)

    def _present_state(self) -> CollisionState:
        contact, collision = (self._rows(level)[int(ON)] != 0.0 for level in range(2))
        level = Level.CLEAR
        if contact.any() or collision.any():
            level = Level.COLLISION if collision.any() else Level.CONTACT
        above = np.flatnonzero(contact | collision)
        joints = tuple(self.joint_names[k] for k in above)
        link = None
        if above.size and self.model is not None:
            rows = np.flatnonzero(np.isin(self.model.coordinate, above))
            link = self.model.link_names[int(rows[-1])]
        return CollisionState(level, joints, link)


def _how_many(contact: Any, collision: Any) -> int:
    """Return the number of joints that the thresholds are for."""
    counts = [x.n if isinstance(x, Thresholds) else np.size(x) for x in (contact, collision)]
    return max(counts)


def _numbers(value: Any, n: int) -> Array:
    """Return the value as an array (n,), NaN if it is none."""
    try:
        array = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        array = np.zeros(0)
    return array if array.shape == (n,) else np.full(n, np.nan)
