"""JointStateReader: message-like objects to arrays in the model's joint order.

A message may name the joints in any order, which may change, and other joints beside ours. Several
publishers may each report some of the joints: their parts are merged within a sample period.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

LONGEST_NAME = 256  # characters
SAME_SAMPLE = 0.99  # periods: parts that are further apart belong to different samples
NOTHING = np.zeros(0)


class Reading(NamedTuple):
    """Positions, velocities and efforts of all joints; empty where a message has none."""

    t: float  # [s]
    q: Array
    qd: Array
    tau: Array


class Part(NamedTuple):
    """What a message says about one joint."""

    t: float  # [s]
    q: float
    qd: float | None
    tau: float | None


class JointStateReader:
    """Reads the messages about one robot's joints; period [s]: within which parts are merged."""

    def __init__(self, joints: Sequence[str], period: float) -> None:
        self.joints, self.period = tuple(joints), period
        self._names: list[str] = []
        self._order: npt.NDArray[np.int64] | None = None  # of our joints in the message, if whole
        self._parts: dict[str, Part] = {}
        self._in_parts = True  # whether samples arrive in parts, as far as known

    def only_others(self, message: Any) -> bool:
        """Whether the message is about other joints; one with unusable names may be about ours."""
        if message.name == self._names or not self.joints_missing_in(message.name):
            return False
        return bool(message.name) and all(0 < len(x) <= LONGEST_NAME for x in message.name)

    def joints_missing_in(self, names: Sequence[str]) -> bool:
        """Whether none of our joints is named."""
        return set(self.joints).isdisjoint(names)

    def reject_layout(self, message: Any) -> str:
        """Return why names and lengths do not fit, or an empty text; learns a new order."""
        if message.name != self._names:
            cause = self._learn(list(message.name))
            if cause:
                return cause
        count, moving, loaded = len(self._names), len(message.velocity), len(message.effort)
        if len(message.position) == count and moving in (0, count) and loaded in (0, count):
            return ""
        return (
            f"{count} names but {len(message.position)} positions, {moving} velocities and "
            f"{loaded} efforts"
        )

    def read(self, message: Any, t: float) -> Reading | str:
        """Return the reading of a message whose layout fits, of time t [s].

        A text instead: joints are missing. An empty text: their parts are still expected.
        """
        if self._order is None:
            return self._merge(message, t)
        self._in_parts = False
        fields = (message.position, message.velocity, message.effort)
        return Reading(t, *(np.frombuffer(x)[self._order] if len(x) else NOTHING for x in fields))

    def _learn(self, names: list[str]) -> str:
        """Remember where our joints are among these names, or return why that is impossible."""
        if not names or any(not 0 < len(name) <= LONGEST_NAME for name in names):
            return "joint names that are missing, empty or too long"
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            return f"joint '{twice}' is named twice"
        place = {name: k for k, name in enumerate(names)}
        self._names = names
        whole = all(name in place for name in self.joints)
        self._order = np.array([place[name] for name in self.joints]) if whole else None
        return ""

    def _merge(self, message: Any, t: float) -> Reading | str:
        """Return all joints once each has arrived within a period."""
        repeated = False  # a joint arrives a second time before all have arrived once
        for k, name in enumerate(self._names):
            if name in self.joints:
                repeated = repeated or name in self._parts
                qd = message.velocity[k] if len(message.velocity) else None
                tau = message.effort[k] if len(message.effort) else None
                self._parts[name] = Part(t, message.position[k], qd, tau)
        missing = [
            name
            for name in self.joints
            if name not in self._parts
            or not abs(t - self._parts[name].t) < SAME_SAMPLE * self.period
        ]
        if missing:
            if self._in_parts and not repeated:
                return ""
            return f"joints {', '.join(missing)} are missing for {self.period:.3g} s, a period"
        times, *columns = zip(*(self._parts[name] for name in self.joints), strict=True)
        self._parts.clear()
        self._in_parts = True
        return Reading(max(times), *(NOTHING if None in x else np.array(x) for x in columns))
