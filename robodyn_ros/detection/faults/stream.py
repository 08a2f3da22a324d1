"""FaultStream: a name for the cause of every contact, sample by sample, beside the monitor.

    samples ─► blocks of 20 ms ─► evidence of each hypothesis ─► race ─► name

The recursion is compiled and takes some microseconds, so that it runs in the monitor's own
thread; there is no clock here and no worker, and an offline run says what the node said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...model.packed_model import aligned_copy, pack_frame
from ...model.rigid_body import SYMMETRIC, RigidBody, as_inertia, steiner
from ...model.robot import Payload, RobotModel
from .. import fault as kinds
from ..fault import Fault
from . import blocks, case, evidence, race
from .payload_body import likely_body
from .payload_columns import ROOM, UNKNOWNS
from .settings import FaultSettings

Array = npt.NDArray[np.float64]

KIND_OF = {
    case.UNDECIDED: kinds.UNDECIDED,
    case.COLLISION: kinds.COLLISION,
    case.PAYLOAD: kinds.PAYLOAD,
    case.FREE_SWINGING: kinds.FREE_SWINGING,
    case.EFFECTIVENESS: kinds.EFFECTIVENESS,
    case.BIAS: kinds.BIAS,
    case.LOCKED: kinds.LOCKED,
    case.FRICTION: kinds.FRICTION,
    case.SENSOR_FREEZE: kinds.SENSOR_FREEZE,
    case.EFFORT_SCALE: kinds.EFFORT_SCALE,
    case.EFFORT_SIGN: kinds.EFFORT_SIGN,
}
STICKING = 1.5  # friction of a joint at rest that is possible, over the model's
MAX_CENTRE = 0.5  # [m], of a payload's centre from the frame of its link
GYRATION = (0.001, 0.1)  # [m], bounds of the mean distance of a payload's mass from its centre


class Torque(NamedTuple):
    """What the torque of the samples is."""

    commanded: bool = False
    motor_side: bool = True  # faults of motors show in it
    friction: bool = False  # the model's friction is subtracted


class FaultStream:
    """Cases of one robot, one after the other.

    limit: contact threshold at rest (n,) [N m or N].
    """

    def __init__(
        self, model: RobotModel, settings: FaultSettings, limit: Array, torque: Torque
    ) -> None:
        self.model, self.settings, self.torque = model, settings, torque
        self.link = settings.payload_link or model.link_names[-1]
        n, starts = model.n, int(evidence.STARTS)
        columns, unknowns = int(blocks.COLUMNS), int(UNKNOWNS)
        self._rows, self._own = np.zeros((int(case.ROWS), n)), np.zeros(int(case.SCALARS))
        self._told = np.zeros(int(case.TOLD))
        self.memory = (
            aligned_copy(model.packed, pack_frame(model, self.link), np.zeros(ROOM)),
            np.zeros((int(blocks.CAPACITY), n, columns + 1)),
            np.zeros((int(blocks.CAPACITY), int(blocks.MARKS))),
            np.zeros((n, unknowns)),
            np.zeros((starts, n, columns, columns)),
            np.zeros((starts, n, 2 * columns)),
            np.zeros((starts, n, int(evidence.BANK))),
            self._rows,
            self._own,
            self._told,
            np.zeros((int(race.HYPOTHESES), int(race.WIDTH))),
            np.zeros(unknowns + 1),
            np.zeros((int(evidence.SCRATCH), int(evidence.SUMS))),
        )
        self._set_limit(limit)
        self._rows[int(blocks.SQUARE)] = (blocks.START_NOISE * self._rows[int(blocks.LIMIT)]) ** 2
        scalars = {
            case.FIRST: settings.first,
            case.PERIOD: settings.period,
            case.WINDOW: settings.window,
            case.LEAD: settings.lead,
            case.CLOSE: settings.close,
            case.HOLD: settings.hold,
            case.MOTOR_SIDE: torque.motor_side,
            case.COMMANDED: torque.commanded,
            case.FOLLOW_TIME: settings.payload_time if settings.payload_follow else math.inf,
            case.MAX_MASS: settings.payload_max_mass,
        }
        for place, value in scalars.items():
            self._own[int(place)] = value
        self.payload: Payload | None = None  # that the observed model includes already
        self.fault: Fault | None = None  # of the open case
        self._last: tuple[Array, Payload | None] | None = None  # payload told last, known one then
        self.reset()

    def _set_limit(self, limit: Array) -> None:
        self._rows[int(blocks.LIMIT)] = np.maximum(limit, 1e-6)
        friction = STICKING * np.maximum(self.model.coulomb, self.model.stiction)
        self._rows[int(race.HOLDS)] = friction + 0.5 * self._rows[int(blocks.LIMIT)]

    def reset(self) -> None:
        """Forget what was measured, and the case."""
        case.restart_case(*self.memory)
        self.fault = None

    def pause(self, t: float) -> None:
        """Take a sample of unknown level at time t [s]; a fault that was named stands."""
        if case.pause_case(*self.memory, t):
            self.take(self._told)

    def continue_from(self, other: FaultStream) -> None:
        """Continue where another one of the same robot stands, with its own settings."""
        first = int(case.OPEN)
        if len(self._own) == len(other._own) and self.link == other.link:
            for mine, old in zip(self.memory[:7], other.memory[:7], strict=True):
                mine[:] = old
            held = self._rows[int(race.HOLDS)].copy()
            self._rows[1:] = other._rows[1:]
            self._rows[int(race.HOLDS)] = held
            self._own[: int(blocks.SCALARS)] = other._own[: int(blocks.SCALARS)]
            self._own[first:], self._told[:] = other._own[first:], other._told
            self.fault = other.fault
        self.payload, self._last = other.payload, other._last
        self._own[int(case.KNOWN_MASS)] = other._own[int(case.KNOWN_MASS)]

    def update(
        self,
        touched: bool,
        t: float,
        dt: float,
        q: Array,
        qd: Array,
        tau: Array,
        external: Array,
        bias: Array,
    ) -> bool:
        """Take a sample, as `case.follow_case` describes it; `fault` is up to date then. Return
        whether the payload found is to be taken into the model.
        """
        told = case.follow_case(*self.memory, touched, t, dt, q, qd, tau, external, bias)
        if told:
            self.take(self._told)
        return bool(told & case.FOLLOW)

    def take(self, told: Array) -> Fault | None:
        """Take what is told; return it as a fault."""
        self.fault = self.fault_of(told)
        if self.fault is not None and self.fault.kind == kinds.PAYLOAD:
            self._last = told.copy(), self.payload
        return self.fault

    @property
    def found(self) -> Payload | None:
        """The payload of the last case that was one."""
        return None if self._last is None else self._payload_of(*self._last)

    def fault_of(self, told: Array) -> Fault | None:
        """Return what an array that `follow_case` filled tells; None: no case is open."""
        code, joint = int(told[int(case.CODE)]), int(told[int(case.JOINT)])
        if code == case.NONE:
            return None
        kind, name = KIND_OF[code], "" if joint < 0 else self.model.joint_names[joint]
        onset, confidence = (
            float(told[int(case.ONSET)]),
            round(float(told[int(case.CONFIDENCE)]), 4),
        )
        second = KIND_OF.get(int(told[int(case.SECOND)]), "")
        if code == case.UNDECIDED:
            first = KIND_OF.get(int(told[int(case.BEST)]), "")
            both = " or ".join(x for x in (first, second) if x)
            return Fault(
                kind, name if first else "", None, confidence, onset=onset, runner_up=both
            )
        value, unit = self._value_of(code, joint, told)
        com = None
        if code == case.PAYLOAD:
            mass, com = _mass_and_centre(told, self.payload)
            name, value = self.link, 0.0 if com is None else mass
        return Fault(kind, name, value, confidence, unit, onset, second, com)

    def _value_of(self, code: int, joint: int, told: Array) -> tuple[float | None, str]:
        value, model = float(told[int(case.VALUE)]), self.model
        unit = "N m"
        if joint >= 0 and model.prismatic[int(np.argmax(model.coordinate == joint))]:
            unit = "N"
        if code == case.PAYLOAD:
            return value, "kg"
        if code == case.BIAS:
            return value, unit
        if code in (case.EFFECTIVENESS, case.EFFORT_SCALE, case.EFFORT_SIGN):
            return (value, "") if math.isfinite(value) else (None, "")
        if code == case.FRICTION:
            dry, viscous = float(told[int(case.DRY)]), float(told[int(case.VISCOUS)])
            speed = float(told[int(case.SPEED)])
            own = float(model.coulomb[joint] + model.viscous[joint] * speed)
            added = max(dry + viscous * speed, 0.0)
            return (1.0 + added / own, "") if self.torque.friction and own else (added, unit)
        return None, ""

    def _payload_of(self, told: Array, known: Payload | None) -> Payload | None:
        if _mass_and_centre(told, known)[1] is None:
            return None
        likely, _ = _body_of(told, known)
        mass = max(float(likely[0]), race.MIN_MASS)
        com = _near(likely[1:4] / mass)
        about_com = likely_inertia(likely[SYMMETRIC] - steiner(mass, np.array(com)), mass)
        rows = tuple(tuple(row) for row in about_com.tolist())
        return Payload(self.link, mass, com, rows)

    @property
    def covariance(self) -> Array | None:
        """Covariance (4, 4) of the mass [kg] and first moment [kg m] of the payload that is told
        now; None: none is told.
        """
        if self.fault is None or self.fault.kind != kinds.PAYLOAD:
            return None
        return _body_of(self._told, self.payload)[1][:4, :4]

    def carry(self, payload: Payload | None, t: float, limit: Array) -> None:
        """The observed model includes this payload from now on, and these are the thresholds; the
        case is over.
        """
        self.payload = payload
        self._set_limit(limit)
        self._own[int(case.KNOWN_MASS)] = 0.0 if payload is None else payload.mass
        grace = t + case.GRACE
        self.reset()
        self._own[int(case.GRACE_UNTIL)] = grace


def _mass_and_centre(
    told: Array, known: Payload | None
) -> tuple[float, tuple[float, float, float] | None]:
    """Return mass [kg] and centre [m] of the payload held by a told case, the known one included;
    no centre: none is left.
    """
    first = int(case.MOMENT)
    mass, moment = float(told[int(case.VALUE)]), told[first : first + 3].tolist()
    if known is not None:
        mass += known.mass
        moment = [h + known.mass * float(c) for h, c in zip(moment, known.com, strict=True)]
    if mass < race.MIN_MASS:
        return mass, None
    return mass, _near(h / mass for h in moment)


def _near(centre: Iterable[float]) -> tuple[float, float, float]:
    """Return a centre [m] no farther from the link's origin than a payload's may be."""
    x, y, z = map(float, centre)
    share = min(MAX_CENTRE / max(math.hypot(x, y, z), 1e-12), 1.0)
    return share * x, share * y, share * z


def _body_of(told: Array, known: Payload | None) -> tuple[Array, Array]:
    """Return ten parameters of the payload held by a told case, the known one included, and their
    covariance (10, 10).
    """
    held, size, first = np.zeros(int(UNKNOWNS)), int(evidence.SUMS), int(case.PRODUCTS)
    if known is not None:
        inertia = as_inertia("inertia", known.inertia)
        held = RigidBody(known.mass, np.asarray(known.com), inertia).inertial_parameters()
    products = told[first : first + size * size].reshape(size, size)
    return likely_body(products, held, race.MIN_MASS)


def likely_inertia(inertia: Array, mass: float) -> Array:
    """Return the nearest inertia (3, 3) [kg m^2] about its centre that a body of this mass has."""
    second = 0.5 * np.trace(inertia) * np.eye(3) - inertia  # integral of x x^T dm
    size, axes = np.linalg.eigh(second)
    second = (axes * np.clip(size, mass * GYRATION[0] ** 2, mass * GYRATION[1] ** 2)) @ axes.T
    found = np.trace(second) * np.eye(3) - second
    return np.asarray(0.5 * (found + found.T))
