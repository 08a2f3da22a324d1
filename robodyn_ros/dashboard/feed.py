"""Feed: the latest messages of an arm and its nodes, and their age. No ROS here."""

from __future__ import annotations

import contextlib
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..detection.monitor_settings import ThresholdSettings
from ..detection.thresholds import Thresholds
from ..dynamics.kinematics import forward_kinematics, jacobian
from ..errors import RobodynError
from ..model.robot import RobotModel

Array = npt.NDArray[np.float64]

MAX_AGE = 0.5  # [s], of a message that still counts
STATES_KEPT = 16  # latest joint states, to match a reference by its stamp
PUSHES_KEPT = 16
ORDERS_KEPT = 16  # joint orders of different publishers
SAME_STAMP = 1e-6  # [s]
LEVELS = ("UNKNOWN", "CLEAR", "CONTACT", "COLLISION")
HISTORY_SPAN = 12.0  # [s]
HISTORY_SLOTS = 300
GUARD_MAX_AGE = 3.0  # [s]: guard_node reports once a second
NOISE_TIME = 6.0  # [s], over which the residual's noise is averaged
THRESHOLD_FIELDS = ("base", "in_motion", "per_velocity")  # the acceleration is not measured
NO_TORQUE = 1e-3  # [N m or N], external torque below which nothing acts
MAX_MISFIT = 0.15  # share of the torque that a push may leave unexplained: the arm moves meanwhile


class History:
    """The latest seconds of n signals; each time slot keeps the value farthest from 0."""

    def __init__(self, n: int, span: float = HISTORY_SPAN, slots: int = HISTORY_SLOTS) -> None:
        self.span, self._width = span, span / slots
        self._t = np.zeros(slots)
        self._values = np.zeros((slots, n))
        self.clear()

    def clear(self) -> None:
        """Delete all samples."""
        self._count = 0  # slots begun so far
        self._slot = 0  # index of the current slot, counted from time 0

    def add(self, t: float, values: Array) -> None:
        """Add a sample (n,) of the time t [s]; restart if time goes back."""
        slot = int(t / self._width)
        if self._count and slot < self._slot:
            if self._slot - slot <= 1:  # stamps of two publishers may differ slightly
                slot = self._slot
            else:
                self.clear()
        size = self._t.size
        if self._count and slot == self._slot:
            row = self._values[(self._count - 1) % size]
            np.copyto(row, values, where=np.abs(values) > np.abs(row))
            return
        self._t[self._count % size] = slot * self._width
        self._values[self._count % size] = values
        self._count, self._slot = self._count + 1, slot

    def arrays(self) -> tuple[Array, Array]:
        """Return times (k,) [s] relative to the latest sample, and values (k, n)."""
        kept = min(self._count, self._t.size)
        order = np.arange(self._count - kept, self._count) % self._t.size
        t = self._t[order] - (self._t[order[-1]] if kept else 0.0)
        recent = t > -self.span
        return t[recent], self._values[order][recent]


class Noise:
    """Mean and standard deviation of n signals over the latest seconds."""

    def __init__(self, n: int, time_constant: float = NOISE_TIME) -> None:
        self._time_constant, self._t = time_constant, math.nan
        self.mean, self._variance = np.zeros(n), np.zeros(n)
        self.known = False

    def add(self, t: float, values: Array) -> None:
        """Add a sample (n,) of the time t [s]; restart after a gap or if time goes back."""
        dt, self._t = t - self._t, t
        if not (self.known and 0.0 <= dt < self._time_constant):
            self.mean, self._variance, self.known = values.copy(), np.zeros(values.size), True
            return
        share = 1.0 - math.exp(-dt / self._time_constant)
        step = values - self.mean
        self.mean = self.mean + share * step
        self._variance = (1.0 - share) * (self._variance + share * step * step)

    @property
    def deviation(self) -> Array:
        """Standard deviation (n,)."""
        return np.sqrt(self._variance)


@dataclass(frozen=True)
class DetectorState:
    """State of the detector."""

    level: str = "UNKNOWN"
    link: str = ""
    force: float = math.nan  # [N]; NaN: unknown
    joints: str = ""
    reason: str = ""
    where: str = ""  # the touched link for people, e.g. 'link_5 or beyond'

    @property
    def place(self) -> str:
        """Where the arm is touched, for people; empty: not known."""
        return self.where or self.link

    @property
    def touched(self) -> bool:
        """Whether the arm is touched."""
        return self.level in ("CONTACT", "COLLISION")

    @property
    def rank(self) -> tuple[int, bool, float]:
        """Sort key: by level, then known link, then force."""
        return LEVELS.index(self.level), bool(self.link), self.force if self.force > 0.0 else 0.0


class FaultState(NamedTuple):
    """Name of the open case, for people."""

    kind: str  # empty: none
    text: str = ""
    remedy: str = ""
    harmless: bool = False  # no defect of the arm


NO_FAULT = FaultState("")


class GuardState(NamedTuple):
    """Report of guard_node, for people."""

    mode: str = ""  # armed, stopped or disarmed
    problem: str = ""
    last_stop: str = ""
    expected: tuple[str, ...] = ()  # such as 'link_7 up to 20 N'

    def lines(self) -> list[str]:
        """Return what there is to say about the guard."""
        found = [f"guard: {self.mode}" + (f", {self.problem}" if self.problem else "")]
        if self.last_stop:
            found.append(f"last stop: {self.last_stop}")
        if self.expected:
            found.append("expected contact: " + ", ".join(self.expected))
        return found

    def html(self) -> str:
        """Return the lines as HTML."""
        return "<br>".join(map(escape, self.lines()))


class Push(NamedTuple):
    """A push that may act."""

    link: str
    force: Array  # (3,) [N], base's axes
    point: Array  # (3,) [m], in the link's frame


class Force(NamedTuple):
    """A force that acts, in the base's frame."""

    point: Array  # (3,) [m]
    force: Array  # (3,) [N]


@dataclass
class Contact:
    """A contact: its most severe state and when it began."""

    state: DetectorState
    begun: float  # [s], of the page's clock
    ended: bool = False


@dataclass
class Feed:
    """The arm as last reported."""

    model: RobotModel
    clock: Callable[[], float] = time.monotonic

    q: Array | None = None  # (n,) [rad or m]
    qd: Array | None = None  # (n,) [rad/s or m/s]
    tau: Array | None = None  # (n,) [N m or N], applied
    q_ref: Array | None = None  # (n,), of the controller's reference
    qd_ref: Array | None = None
    tau_ext: Array | None = None  # true external torque of a simulation
    force: Array = field(default_factory=lambda: np.zeros(3))  # [N], estimated, link's axes
    force_link: str = ""
    detector: DetectorState = field(default_factory=DetectorState)
    contact: Contact | None = None  # the current or last one
    mode: str = ""
    reason: str = ""  # of the mode
    fault: FaultState = NO_FAULT  # of the open case
    injected: tuple[str, ...] = ()  # faults and payloads of a simulation: the truth
    payload: str = ""  # what the detector's model holds, for people
    guard: GuardState = field(default_factory=GuardState)
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)  # node -> name -> value
    changes: int = 0  # of parameters

    def __post_init__(self) -> None:
        n = self.model.n
        self.residual = History(n)
        self.error = History(n)
        self.limits = {level: History(n) for level in ("contact", "collision")}
        self.noise = Noise(n)  # of the residual without contact
        self._thresholds: tuple[int, dict[str, Thresholds]] = (-1, {})  # of which change
        self.pushes: deque[Push] = deque(maxlen=PUSHES_KEPT)
        self._received: dict[str, float] = {}
        self._states: deque[tuple[float, Array]] = deque(maxlen=STATES_KEPT)
        self._orders: dict[tuple[str, ...], list[int] | None] = {}

    def fresh(self, what: str) -> bool:
        """Return whether `what` is recent: state, residual, detector, reference or truth."""
        return self.clock() - self._received.get(what, -np.inf) < MAX_AGE

    @property
    def fresh_guard(self) -> bool:
        """Whether a guard_node reports."""
        return self.clock() - self._received.get("guard", -np.inf) < GUARD_MAX_AGE

    def on_state(
        self, t: float, names: Sequence[str], q: Array, tau: Array, qd: Array | None = None
    ) -> None:
        """Take a joint state; torque and velocity may be missing."""
        order = self._order(names)
        if order is None or q.size != len(names):
            return
        self.q = q[order]
        self.qd = qd[order] if qd is not None and qd.size == len(names) else None
        self.tau = tau[order] if tau.size == len(names) else None
        self._states.append((t, self.q))
        self._stamp("state")

    def on_reference(self, t: float, names: Sequence[str], q: Array, qd: Array) -> None:
        """Take the reference; with the state of the same stamp it gives the tracking error."""
        order = self._order(names)
        if order is None:
            return
        self.q_ref, self.qd_ref = q[order], qd[order]
        self._stamp("reference")
        for stamp, measured in self._states:
            if abs(stamp - t) < SAME_STAMP:
                self.error.add(t, self.q_ref - measured)

    def on_residual(self, t: float, names: Sequence[str], r: Array) -> None:
        """Take the detector's residual (n,) [N m or N]."""
        order = self._order(names)
        if order is None:
            return
        self.residual.add(t, r[order])
        for level, thresholds in self._present_thresholds().items():
            self.limits[level].add(t, thresholds.at(self.qd))
        if self.detector.level == "CLEAR":
            self.noise.add(t, r[order])
        self._stamp("residual")

    def on_truth(self, names: Sequence[str], tau_ext: Array) -> None:
        """Take the plant's true external torque (n,) [N m or N]."""
        order = self._order(names)
        if order is not None:
            self.tau_ext = tau_ext[order]
            self._stamp("truth")

    def on_detector(
        self, level: str, link: str, force: float, joints: str, reason: str, where: str = ""
    ) -> None:
        """Take the state of the detector; force [N], NaN: unknown; where: the link for people."""
        known = level if level in LEVELS else "UNKNOWN"
        state = DetectorState(known, link, force, joints, reason, where)
        if state.touched:
            if self.contact is None or self.contact.ended:
                self.contact = Contact(state, self.clock())
            elif state.rank >= self.contact.state.rank:
                self.contact.state = state
        elif self.contact is not None and known == "CLEAR":
            self.contact.ended = True  # not by UNKNOWN: the push may go on meanwhile
        self.detector = state
        self._stamp("detector")

    def on_fault(self, kind: str, text: str, remedy: str, harmless: bool) -> None:
        """Take the name of the open case; kind empty: there is none."""
        self.fault = FaultState(kind, text, remedy, harmless)

    def on_wrench(self, link: str, force: Array) -> None:
        """Take the estimated contact force (3,) [N], in the link's axes."""
        self.force_link, self.force = link, force

    def on_push(self, link: str, force: Array, torque: Array) -> None:
        """Take a push by topic: force and torque at the link's origin, in its axes."""
        if self.q is not None and link in self.model.frames:
            push = push_from_wrench(self.model, self.q, link, force, torque)
            if push is not None:
                self.pushes.append(push)

    def on_parameters(self, node: str, values: dict[str, Any], *, whole: bool = False) -> None:
        """Take parameters of a node. whole: all of them, not only those that changed."""
        known = {} if whole else self.parameters.get(node, {})
        self.parameters[node] = {**known, **values}
        self.changes += 1

    def thresholds(self, level: str) -> Array | None:
        """Return the thresholds at rest (n,) [N m or N] of 'contact' or 'collision', if known."""
        base = self.parameters.get("dynamics_node", {}).get(f"monitor.{level}.base")
        numbers = np.atleast_1d(np.asarray(base if base is not None else [], dtype=np.float64))
        n = self.model.n
        return np.array(np.broadcast_to(numbers, n)) if numbers.size in (1, n) else None

    def _present_thresholds(self) -> dict[str, Thresholds]:
        """Return the thresholds by level, as far as the parameters are known and valid."""
        if self._thresholds[0] != self.changes:
            found = {}
            values = self.parameters.get("dynamics_node", {})
            for level in self.limits:
                names = {name: f"monitor.{level}.{name}" for name in THRESHOLD_FIELDS}
                given = {
                    k: tuple(values[v]) for k, v in names.items() if values.get(v) is not None
                }
                if "base" in given:
                    with contextlib.suppress(RobodynError):  # another robot's
                        found[level] = ThresholdSettings(**given).thresholds(self.model)
            self._thresholds = self.changes, found
        return self._thresholds[1]

    def on_guard(
        self, mode: str, problem: str, last_stop: str, expected: Sequence[str] = ()
    ) -> None:
        """Take the report of guard_node, for people."""
        self.guard = GuardState(mode, problem, last_stop, tuple(expected))
        self._stamp("guard")

    def _stamp(self, what: str) -> None:
        self._received[what] = self.clock()

    def _order(self, names: Sequence[str]) -> list[int] | None:
        """Return where each joint of the model is among `names`; None if one is missing."""
        key = tuple(names)
        if key not in self._orders:
            if len(self._orders) > ORDERS_KEPT:
                self._orders.clear()
            complete = set(self.model.joint_names) <= set(key)
            found = [key.index(j) for j in self.model.joint_names] if complete else None
            self._orders[key] = found
        return self._orders[key]


def true_force(
    model: RobotModel, q: Array, tau_ext: Array, pushes: Iterable[Push]
) -> Force | None:
    """Return the push that explains the true external torque, scaled to its present strength.

    A plant publishes the joint torque of all contacts, not the force; but the pushes are known.
    """
    size = float(np.linalg.norm(tau_ext))
    if size < NO_TORQUE:
        return None
    best, found = MAX_MISFIT * size, None
    for push in pushes:
        expected = jacobian(model, q, push.link, push.point)[:3].T @ push.force
        share = float(expected @ tau_ext) / max(float(expected @ expected), 1e-12)
        misfit = float(np.linalg.norm(tau_ext - share * expected))
        if share > 0.0 and misfit < best:
            pose = forward_kinematics(model, q, push.link)
            point = pose[:3, 3] + pose[:3, :3] @ push.point
            best, found = misfit, Force(point, share * push.force)
    return found


def push_from_wrench(
    model: RobotModel, q: Array, link: str, force: Array, torque: Array
) -> Push | None:
    """Return the push of a wrench at the link's origin, in its axes; None if it has no force."""
    size = float(force @ force)
    if size == 0.0:
        return None
    R = forward_kinematics(model, q, link)[:3, :3]
    return Push(link, R @ force, np.cross(force, torque) / size)


def scripted_pushes(model: RobotModel, parameters: Mapping[str, Any]) -> list[Push]:
    """Return the pushes in the parameters of a simulator_node."""
    found = []
    for name in parameters.get("pushes.names") or ():
        link = str(parameters.get(f"pushes.{name}.link", ""))
        vectors = (parameters.get(f"pushes.{name}.{key}") for key in ("force", "point"))
        force, point = (np.asarray(() if v is None else v, dtype=np.float64) for v in vectors)
        if link in model.frames and force.size == point.size == 3:
            found.append(Push(link, force, point))
    return found
