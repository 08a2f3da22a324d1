"""Feed: what was last heard of an arm and its nodes, and for how long nothing was.

Whoever listens to the nodes calls the methods; the page reads the fields. No ROS is known here.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..model.robot import RobotModel
from .history import History
from .truth import KnownPush, heard_push

Array = npt.NDArray[np.float64]

SILENCE = 0.5  # [s] after which what was heard does not count any more
STATES = 16  # latest joint states, among which a reference finds its own
PUSHES = 16  # latest pushes that are remembered
LEVELS = ("UNKNOWN", "CLEAR", "CONTACT", "COLLISION")


@dataclass(frozen=True)
class Word:
    """What the detector says."""

    level: str = "UNKNOWN"
    link: str = ""
    force: float = 0.0  # [N]
    joints: str = ""
    reason: str = ""

    @property
    def touched(self) -> bool:
        """Whether something touches the arm."""
        return self.level in ("CONTACT", "COLLISION")


@dataclass
class Touch:
    """The latest time at which the arm was touched, and the worst that was said about it."""

    word: Word
    begun: float  # [s], of the page's clock


@dataclass
class Feed:
    """The arm as it is known now."""

    model: RobotModel
    clock: Callable[[], float] = time.monotonic

    q: Array | None = None  # (n,) [rad or m]
    tau: Array | None = None  # (n,) [N m or N], applied
    q_wanted: Array | None = None
    qd_wanted: Array | None = None
    tau_ext: Array | None = None  # the truth, where there is a simulation
    force: Array = field(default_factory=lambda: np.zeros(3))  # [N], estimated, link's axes
    force_link: str = ""  # at which link
    word: Word = field(default_factory=Word)
    touch: Touch | None = None
    mode: str = ""
    mode_reason: str = ""
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)  # node -> name -> value
    changes: int = 0  # of parameters, ever

    def __post_init__(self) -> None:
        n = self.model.n
        self.residual = History(n)
        self.error = History(n)
        self.pushes: deque[KnownPush] = deque(maxlen=PUSHES)
        self._heard: dict[str, float] = {}
        self._states: deque[tuple[float, Array]] = deque(maxlen=STATES)
        self._orders: dict[tuple[str, ...], list[int] | None] = {}

    def alive(self, what: str) -> bool:
        """Whether something of this kind came lately: state, residual, word, reference, truth."""
        return self.clock() - self._heard.get(what, -np.inf) < SILENCE

    def take_state(self, t: float, names: Sequence[str], q: Array, tau: Array) -> None:
        """A joint state; the torque may be missing."""
        order = self._order(names)
        if order is None or q.size != len(names):
            return
        self.q = q[order]
        self.tau = tau[order] if tau.size == len(names) else None
        self._states.append((t, self.q))
        self._came("state")

    def take_reference(self, t: float, names: Sequence[str], q: Array, qd: Array) -> None:
        """Where the arm is to be; with the state of the same stamp it tells the error."""
        order = self._order(names)
        if order is None:
            return
        self.q_wanted, self.qd_wanted = q[order], qd[order]
        self._came("reference")
        for stamp, measured in self._states:
            if abs(stamp - t) < 1e-6:
                self.error.add(t, self.q_wanted - measured)

    def take_residual(self, t: float, names: Sequence[str], r: Array) -> None:
        """What acts from outside, as the detector sees it."""
        order = self._order(names)
        if order is not None:
            self.residual.add(t, r[order])
            self._came("residual")

    def take_truth(self, names: Sequence[str], tau_ext: Array) -> None:
        """What acts from outside, as the plant knows it."""
        order = self._order(names)
        if order is not None:
            self.tau_ext = tau_ext[order]
            self._came("truth")

    def take_word(self, level: str, link: str, force: float, joints: str, reason: str) -> None:
        """What the detector says now."""
        word = Word(level if level in LEVELS else "UNKNOWN", link, force, joints, reason)
        if word.touched:
            if self.touch is None or not self.word.touched:
                self.touch = Touch(word, self.clock())
            elif _weight(word) >= _weight(self.touch.word):
                self.touch.word = word
        self.word = word
        self._came("word")

    def take_force(self, link: str, force: Array) -> None:
        """The estimated contact force, in the axes of the link."""
        self.force_link, self.force = link, force

    def take_push(self, link: str, force: Array, torque: Array) -> None:
        """Somebody pushes: force and torque at the link's origin, in its axes."""
        if self.q is not None and link in self.model.frames:
            push = heard_push(self.model, self.q, link, force, torque)
            if push is not None:
                self.pushes.append(push)

    def take_parameters(self, node: str, values: dict[str, Any], *, whole: bool = False) -> None:
        """Parameters of a node: all of them, or some that changed."""
        known = {} if whole else self.parameters.get(node, {})
        self.parameters[node] = {**known, **values}
        self.changes += 1

    def thresholds(self, level: str) -> Array | None:
        """(n,) [N m or N]: those at rest, of 'contact' or 'collision'; None: not known yet."""
        base = self.parameters.get("dynamics_node", {}).get(f"monitor.{level}.base")
        numbers = np.atleast_1d(np.asarray(base if base is not None else [], dtype=np.float64))
        n = self.model.n
        return np.array(np.broadcast_to(numbers, n)) if numbers.size in (1, n) else None

    def _came(self, what: str) -> None:
        self._heard[what] = self.clock()

    def _order(self, names: Sequence[str]) -> list[int] | None:
        """Where each joint of the model stands among these; None: some are missing."""
        key = tuple(names)
        if key not in self._orders:
            whole = set(self.model.joint_names) <= set(key)
            if len(self._orders) > 16:
                self._orders.clear()
            self._orders[key] = [key.index(j) for j in self.model.joint_names] if whole else None
        return self._orders[key]


def _weight(word: Word) -> tuple[int, bool, float]:
    """The higher its level, the surer its place and the greater its force, the more it says."""
    return LEVELS.index(word.level), bool(word.link), word.force
