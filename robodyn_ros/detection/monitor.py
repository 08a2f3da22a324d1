"""ContactMonitor: from samples to verdicts.

    Sample ─► gap compensation ─► observer ─► noise test, bias ─► effort scale ─► stuck readings ─►
    detector ─► joint stops, mean of the contact ─► link decisions, fault cases ─► Verdict

One compiled step (`monitor_step`, on the arrays of `monitor_memory`) does all of it but deciding
the link, the wrench and the fault; `monitor_rows` runs the same step over a whole recording.
`monitor_parts` makes the parts from settings, `monitor_verdict` says why a level is UNKNOWN and
where the arm is touched. There is no clock here: times come with the samples, which `sensing` has
judged.
"""

import math
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..model.robot import Payload, RobotModel
from ..model.surface import LinkSurfaces, surface_points
from ..sensing.effort_settings import EffortSettings
from ..sensing.sample import Sample, Status
from ..sensing.sampler import Samples
from ..sensing.settings import SensingSettings
from . import contact_mean
from . import monitor_step as at
from .detector import Level
from .faults.stream import FaultStream
from .monitor_memory import MonitorMemory
from .monitor_parts import Load, Parts, PartsMaker
from .monitor_settings import MonitorSettings
from .monitor_verdict import located, unknown_cause, unknown_fault
from .noise import BIAS
from .payload_noise import payload_doubt
from .thresholds import Thresholds
from .verdict import Verdict

Array = npt.NDArray[np.float64]


class ContactMonitor:
    """Contact state of one robot, sample by sample.

    commanded: the samples' torque is the commanded one, not measured; then a joint whose reading
    ignores its torque gives UNKNOWN, too. effort: what the torque includes; gain and offset are
    applied before, by `JointTorque`. surfaces: of the links, by default those of the model.
    links: whether the touched link is named; faults: whether the cause of a contact is.
    """

    def __init__(
        self,
        model: RobotModel,
        settings: MonitorSettings | None = None,
        sensing: SensingSettings | None = None,
        *,
        commanded: bool = False,
        effort: EffortSettings | None = None,
        surfaces: LinkSurfaces | None = None,
        links: bool = True,
        faults: bool = True,
    ) -> None:
        self.model = model
        self.naming = True  # False: links and causes stay open, while a node compiles for them
        self._memory = MonitorMemory(model, commanded)
        self._load = Load(None, np.zeros(model.n), 0.0, np.zeros(model.n))
        surfaces = (surfaces or surface_points(model)) if links else None
        self._maker = PartsMaker(model, surfaces, commanded=commanded, faults=faults)
        self.set_sensing(sensing or SensingSettings())
        self._take(self.prepare(settings or MonitorSettings(), effort or EffortSettings()))
        self._above = np.zeros(model.n, dtype=np.bool_)
        self._invalid = 0  # rejected messages in a row
        self._cause = ""  # why the level is UNKNOWN
        self._stop = 0  # the joint at its stop in the last contact, as `located` has it
        self._verdict = self.reset()

    @property
    def settings(self) -> MonitorSettings:
        """Settings in use."""
        return self._parts.settings

    @property
    def verdict(self) -> Verdict:
        """The last verdict."""
        return self._verdict

    def update(self, sample: Sample) -> Verdict:
        """Return the verdict on a sample.

        Rejected messages leave the previous verdict standing until there are more than
        `sensing.max_invalid` in a row.
        """
        if sample.status is Status.INVALID:
            self._invalid += 1
            if self._invalid <= self._sensing.max_invalid:
                return self._verdict
        else:
            self._invalid = 0
        usable = sample.status.valid and sample.tau is not None
        told = (
            at.USABLE * usable
            + at.RESTARTS * (sample.status is Status.RESTART)
            + at.LATE * sample.late
        )
        memory, t, q, qd = self._memory, sample.t, sample.q, sample.qd
        tau = memory.rows[int(at.TAU)] if sample.tau is None else sample.tau
        found = at.judge(*memory.step, told, t, q, qd, tau)
        if self.naming:
            at.follow_touch(*memory.touch, found, t, q, qd)
        r = memory.rows[int(at.R)].copy()
        self._decide(sample.t, found)
        self._follow_case(sample, found)
        if found <= at.COLLISION:
            self._verdict = self._located(sample.t, sample.q, r, Level(found))
        else:
            self._verdict = self._unknown(found, sample, r)
        return self._verdict

    def reset(self, cause: str = "just started") -> Verdict:
        """Forget everything; return the verdict, UNKNOWN until the observer has settled."""
        self._parts.noise.forget()
        self._parts.scale.forget()
        at.restart(*self._memory.step)
        if self._parts.links is not None:
            self._parts.links.reset()
        if self._parts.faults is not None:
            self._parts.faults.reset()
        self._invalid, self._cause = 0, cause
        self._verdict = Verdict(
            -math.inf,
            Level.UNKNOWN,
            np.zeros(self.model.n),
            cause=cause,
            payload=self._load.payload,
        )
        return self._verdict

    @property
    def thresholds(self) -> Thresholds:
        """Contact thresholds in force: those of the settings, and what a payload adds."""
        return self._parts.detector.contact

    @property
    def cases(self) -> FaultStream | None:
        """What names the causes of contacts; None: nothing does."""
        return self._parts.faults

    @property
    def memory(self) -> tuple[Array, ...]:
        """The state of all parts, as `monitor_step.judge` takes it."""
        return self._memory.step

    def recording(self, samples: Samples) -> tuple[Any, ...]:
        """Return the samples of a recording as `monitor_step.take_row` takes them."""
        limit = int(self._sensing.max_invalid)
        arrays = (samples.t, samples.q, samples.qd, samples.tau)
        return (samples.status, samples.late, limit, *arrays)

    @property
    def found_payload(self) -> Payload | None:
        """Payload of the last case that was named a payload; None: nothing held."""
        faults = self._parts.faults
        return None if faults is None else faults.found

    def set_payload(self, payload: Payload | None) -> None:
        """Take a payload into the observed model, between two samples: the residual does not jump.

        None: the arm holds nothing. The payload stands for all that the model has not by itself.
        """
        self.carry(payload, self._verdict.t)

    def carry(self, payload: Payload | None, t: float, doubt: Array | None = None) -> None:
        """`set_payload` after a sample at time t [s].

        doubt (n,): by how much its weight may be off [N m or N]; by default as the open case says.
        """
        estimate = None if self.cases is None else self.cases.covariance
        if doubt is None and payload is not None and estimate is not None:
            doubt = payload_doubt(self.model, payload, estimate)
        step = float(self._memory.own[int(at.STEP)]) or self._load.step
        doubt = np.zeros(self.model.n) if doubt is None else doubt
        load = Load(payload, doubt, step, self._memory.speed_noise)
        parts = self._maker.reloaded(self._parts, load)  # or raise
        self._load = load
        self._take(parts)
        if parts.faults is not None:
            parts.faults.carry(payload, t, parts.detector.contact.base)

    @property
    def bias(self) -> Array:
        """Offset of the residual without contact (n,) [N m or N]; a copy."""
        return self._parts.noise.bias

    def bias_problem(self) -> str:
        """Return which joint's bias is at its limit; empty: none is."""
        bias, limit = self.bias, self._parts.noise.limit
        over = np.flatnonzero((np.abs(bias) >= limit) & (bias != 0.0))
        if not over.size:
            return ""
        k = int(over[0])
        return (
            f"bias of {self.model.joint_names[k]} at its limit, {bias[k]:+.3g}: its torque is off "
            "by more (monitor.bias.limit, effort.offset)"
        )

    def tare(self) -> Array:
        """Take the present residual for its bias and return it (n,) [N m or N], or raise."""
        if self._verdict.level is Level.UNKNOWN:
            raise ArgumentError(f"nothing to tare from: {self._verdict.cause}")
        self._parts.noise.tare(self._memory.rows[int(at.RAW)])
        return self.bias

    def prepare(self, settings: MonitorSettings, effort: EffortSettings | None = None) -> Parts:
        """Return the parts for new settings, or raise; nothing changes yet.

        effort: as now by default.
        """
        load = self._load._replace(speed_noise=self._memory.speed_noise)
        return self._maker.parts(settings, effort or self._parts.effort, load)

    def apply(self, parts: Parts) -> None:
        """Take over what was prepared, between two samples: nothing jumps."""
        parts.continue_from(self._parts)
        self._take(parts)

    def set_sensing(self, sensing: SensingSettings) -> None:
        """Judge stuck readings and rejected samples by these limits from now on."""
        self._sensing = sensing
        self._memory.set_sensing(sensing)

    def _take(self, parts: Parts) -> None:
        self._parts = parts
        self._memory.take(parts)

    def _unknown(self, found: int, sample: Sample, r: Array) -> Verdict:
        """Return the verdict UNKNOWN, with its cause and the fault behind it."""
        joints, value = self.model.joint_names, self._memory.value(found)
        cause = unknown_cause(
            found,
            value,
            joints,
            status=sample.status,
            dt=sample.dt,
            cause=sample.cause,
            late=sample.late,
            stuck_time=self._memory.stuck.seconds(int(value)) if found == at.STUCK else None,
        )
        self._cause = cause or self._cause
        fault = unknown_fault(found, value, joints, sample.fault, sample.joint)
        concerned = (fault.joint,) if fault and fault.joint else ()
        if fault is None and self._parts.faults is not None:
            fault = self._parts.faults.fault
        return Verdict(
            sample.t,
            Level.UNKNOWN,
            r,
            concerned,
            fault=fault,
            cause=self._cause,
            payload=self._load.payload,
        )

    def _follow_case(self, sample: Sample, found: int) -> None:
        """Let the cause of a contact be named as far as it is due at this sample."""
        faults = self._parts.faults
        if faults is None or not self.naming:
            return
        if found > at.COLLISION:
            faults.pause(sample.t)
            return
        rows = self._memory.rows
        follow = faults.update(
            found >= at.CONTACT,
            sample.t,
            float(self._memory.own[int(at.STEP)]),
            sample.q,
            sample.qd,
            rows[int(at.MEAN)],
            rows[int(at.EXTERNAL)],
            self._parts.noise.rows[int(BIAS)],
        )
        if follow:
            self.carry(faults.found, sample.t)

    def _decide(self, t: float, found: int) -> None:
        """Let the link be decided as far as it is due at this sample."""
        links, due = self._parts.links, float(self._memory.own[int(at.LINK_DUE)])
        touched = at.CONTACT <= found <= at.COLLISION
        if links is None or not self.naming or not (touched or due or links.busy):
            return
        if found > at.COLLISION:
            links.reset()
            return
        rows = (contact_mean.Y, contact_mean.Q, contact_mean.SPEED)
        links.update(t, touched, due, *(self._memory.contact[int(row)] for row in rows))

    def _located(self, t: float, q: Array, r: Array, level: Level) -> Verdict:
        """Return the verdict of a known level, with link, wrench and fault."""
        joints: tuple[str, ...] = ()
        if level >= Level.CONTACT:
            detector, noise = self._parts.detector.memory[0], self._parts.noise
            at.mark_joints(detector, noise.rows, noise.own, self._above)
            joints = tuple(compress(self.model.joint_names, self._above.tolist()))
            self._stop = int(self._memory.own[int(at.STOP)])
        links = self._parts.links
        answer, ended = (None, None) if links is None else (links.answer, links.ended)
        where = (self.model, self.settings, q, r)
        faults = self._parts.faults
        case = None if faults is None else faults.fault
        verdict = Verdict(t, level, r, joints, fault=case, payload=self._load.payload)
        return located(verdict, *where, answer, ended, self._stop)
