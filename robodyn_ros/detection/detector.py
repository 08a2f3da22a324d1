"""CollisionDetector: from a residual to UNKNOWN, CLEAR, CONTACT or COLLISION."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..model.robot import RobotModel
from .thresholds import Thresholds, as_thresholds

Array = npt.NDArray[np.float64]


class Level(IntEnum):
    """What is known about contact, from nothing to the worst."""

    UNKNOWN = 0
    CLEAR = 1
    CONTACT = 2
    COLLISION = 3


@dataclass(frozen=True)
class CollisionState:
    """The detector's word at one instant."""

    level: Level
    joints: tuple[str, ...] = ()  # whose residual is above its threshold
    link: str | None = None  # the outermost link that these joints carry
    reason: str = ""  # why nothing is known


class CollisionDetector:
    """Watches a residual, joint by joint, against two thresholds.

    contact, collision: thresholds [N m or N] of the two levels: one for all joints, one each, or
    `Thresholds` that follow the motion. debounce [s]: how long a residual must be above before it
    counts. hysteresis: it counts until it falls below this share of the threshold. release [s]:
    and stays there so long. settling [s]: UNKNOWN for so long after the start, a gap or bad data.
    masked: joints that are not looked at. With a model, joints and links go by their names;
    without one, joints are joint_1, joint_2, … and no link is named.
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
        self.reset()

    def reset(self, reason: str = "just started") -> None:
        """Forget everything; UNKNOWN until it has settled."""
        n = len(self.joint_names)
        self._above = np.zeros((2, n))  # [s] for which each level has been exceeded
        self._below = np.zeros((2, n))  # [s] since it was, while it still counts
        self._on = np.zeros((2, n), dtype=bool)
        self._settled = 0.0
        self._reason = reason

    def continue_from(self, other: CollisionDetector) -> None:
        """Go on where another detector of the same robot stands: what it found still counts."""
        self._above, self._below = other._above.copy(), other._below.copy()
        self._on = other._on & self.watched
        self._settled, self._reason = other._settled, other._reason

    def update(
        self,
        r: npt.ArrayLike | None,
        dt: float,
        qd: npt.ArrayLike | None = None,
        qdd: npt.ArrayLike | None = None,
    ) -> CollisionState:
        """Take in the residual of a sample that came dt [s] after the one before.

        None, or anything that is not finite, is bad data: UNKNOWN, and settling begins anew.
        """
        residual = _finite(r, len(self.joint_names))
        if residual is None or not 0.0 < dt < math.inf:
            self.reset("the residual is not finite")
            return CollisionState(Level.UNKNOWN, reason=self._reason)
        for i, level in enumerate((self.contact, self.collision)):
            limit = self._limit(level, qd, qdd)
            if limit is None:
                self.reset("the velocity is not finite")
                return CollisionState(Level.UNKNOWN, reason=self._reason)
            self._follow(i, np.abs(residual), limit, dt)
        self._settled += dt
        if self._settled <= self.settling:
            return CollisionState(Level.UNKNOWN, reason=self._reason)
        return self._state()

    def _follow(self, i: int, size: Array, limit: Array, dt: float) -> None:
        """Which joints count as above the threshold of level i."""
        above = (size > limit) & self.watched
        self._above[i] = np.where(above, self._above[i] + dt, 0.0)
        calm = size <= self.hysteresis * limit
        self._below[i] = np.where(calm, self._below[i] + dt, 0.0)
        enter = above & (self._above[i] > self.debounce)
        leave = calm & (self._below[i] > self.release)
        self._on[i] = (self._on[i] & ~leave) | enter

    def _state(self) -> CollisionState:
        contact, collision = self._on
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

    def _limit(
        self, level: Thresholds, qd: npt.ArrayLike | None, qdd: npt.ArrayLike | None
    ) -> Array | None:
        """The thresholds now; None if they follow a motion that is not known."""
        if level.moving:
            for value in (qd, qdd):
                if value is not None and _finite(value, len(self.joint_names)) is None:
                    return None
        return level.at(qd, qdd)


def _how_many(contact: Any, collision: Any) -> int:
    """The number of joints, where only the thresholds can tell."""
    counts = [x.n if isinstance(x, Thresholds) else np.size(x) for x in (contact, collision)]
    return max(counts)


def _finite(value: npt.ArrayLike | None, n: int) -> Array | None:
    """The value as n finite numbers, or None."""
    if value is None:
        return None
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if array.shape != (n,) or not np.isfinite(array).all():
        return None
    return array
