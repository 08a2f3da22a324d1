"""Sampler: the way from a joint state to a sample, live and from recordings.

    message ─► joint_states ─► stamps ─► validator ─► Sample

Whatever arrives becomes at most one sample; its status says whether it can be used.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import uncounted_kernel as kernel
from ..model.packed_model import U
from ..model.robot import RobotModel
from . import stamps, validator
from .joint_states import JointStateReader, Reading
from .sample import Sample, Status, missing
from .settings import SensingSettings
from .stamps import ACCEPTED, LAST, NO_VELOCITY, PERIOD, REMARK, TIME, VALUE, sample_time
from .validator import DT, MOTION, NO_EFFORT, RESTART, Validator, judge_values

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

STOPPED = 1.0  # [s] of wall time without a message: silent, also if simulated time stands still
TRANSPORT = 0.015  # [s] of wall time that messages may take after simulated time has advanced

CAUSES = {
    stamps.REPEATED: "stamp repeated",
    stamps.BACKWARD: "stamp goes back by {value:.3g} s",
    stamps.AHEAD: "stamp is {value:.3g} s in the future; synchronise the clocks (chrony, PTP), or "
    "set sensing.stamps to receipt; if one side runs on simulated time, set use_sim_time on both",
    stamps.BEHIND: "stamp is {value:.3g} s old; if the clocks differ, set sensing.stamps to "
    "receipt, or for a bag use_sim_time and play with --clock",
    stamps.LEAP: "stamp leaps {value:.3g} s ahead of the clock",
    stamps.POSITION: "position of joint '{joint}' is {q:g}",
    stamps.VELOCITY: "velocity of joint '{joint}' is {qd:g}",
    stamps.JUMP: "joint '{joint}' jumped by {value:+.3g} in {dt:.3g} s",
    stamps.STUCK: "joint '{joint}' reads the same for {value:.3g} s and reports a velocity of "
    "{qd:+.3g}",
    stamps.NO_VELOCITY: "no velocities: they are differences, from the next message on",
}
REMARKS = {
    stamps.ZERO_STAMP: "stamps are 0: the time of receipt is taken",
    stamps.CLOCK_SHIFTED: "the publisher's clock is {value:.3g} s behind: accepted",
    stamps.CLOCK_RIGHT: "the publisher's clock is right again",
    stamps.DIFFERENCES: "no velocities: they are differences of positions",
}
NO_EFFORT_TEXT = "joint_states have no effort"
SENSOR_FREEZE = "sensor_freeze"  # kind of fault


class Sampler:
    """Samples of one robot from its joint states.

    period: nominal [s] between samples. simulated: silence is measured by the clock of the
    stamps instead of wall time. topic: the name of theirs, for words about silence.
    """

    def __init__(
        self,
        model: RobotModel,
        settings: SensingSettings | None = None,
        period: float = 0.02,
        *,
        simulated: bool = False,
        topic: str = "joint_states",
    ) -> None:
        self.model, self.settings = model, settings or SensingSettings()
        self.simulated, self.topic = simulated, topic
        self._reader = JointStateReader(model.joint_names, period)
        self._validator = Validator(model, self.settings, period)
        self._clock, self._limits = self._validator.clock, self._validator.clock_limits
        self._arrival_wall = math.inf  # [s], wall time of the last message about our joints
        self._late = False  # silence preceded the next valid sample
        self._behind = 0.0  # [s], the samples' time behind the clock
        self._reset_at: float | None = None  # [s], the clock when it was first seen to be reset

    @property
    def period(self) -> float:
        """Mean interval between samples [s]."""
        return float(self._clock[int(PERIOD)])

    @property
    def last(self) -> float:
        """Time of the last valid sample [s]; -inf before the first."""
        t = float(self._clock[int(LAST)])
        return t if t < math.inf else -math.inf

    def apply(self, settings: SensingSettings) -> None:
        """Judge by new settings from now on; nothing is forgotten."""
        fresh = Validator(self.model, settings, self.period)
        self._limits[:], self._validator.limits[:] = fresh.clock_limits, fresh.limits
        for row in (validator.SPEED, validator.TRAVEL):
            self._validator.rows[int(row)] = fresh.rows[int(row)]
        self.settings = settings

    def message(self, message: Any, now: float, wall: float | None = None) -> Sample | None:
        """Return the sample of a joint state that arrived at the time `now` [s].

        message: anything with the fields of sensor_msgs/JointState. wall: by the clock that
        measures silence; `now` if not given. None: parts are still expected, or the message is
        about other joints only; SILENT if that is all that arrives.
        """
        wall = now if wall is None else wall
        if self._reader.only_others(message):
            return self._without_ours(now, wall)
        if stamps.note_arrival(self._clock, self._limits, now if self.simulated else wall):
            self._late = True
        self._arrival_wall = wall
        cause = self._reader.reject_layout(message)
        if cause:
            return self._missing(now, cause)
        stamp = message.header.stamp
        code = sample_time(self._clock, self._limits, stamp.sec + 1e-9 * stamp.nanosec, now)
        if code != ACCEPTED:
            return self._missing(now, self._text(code))
        reading = self._reader.read(message, float(self._clock[int(TIME)]))
        if isinstance(reading, str):
            return self._missing(now, reading) if reading else None
        return self._judged(reading, now)

    def silence(self, now: float, wall: float) -> Sample | None:
        """Return a SILENT sample if no joint state has arrived for longer than allowed, else None;
        to be asked now and then.
        """
        stopped = wall - self._arrival_wall > STOPPED
        if self.simulated and not stopped and wall - self._arrival_wall <= TRANSPORT:
            return None
        if not stopped and not stamps.is_silent(
            self._clock, self._limits, now if self.simulated else wall
        ):
            return None
        cause = f"nothing received on {self.topic} for {wall - self._arrival_wall:.2g} s"
        return self._missing(now, cause, silent=True)

    def stopped(self, wall: float) -> bool:
        """Whether no joint state arrived for long by wall time, as when simulated time rests."""
        return wall - self._arrival_wall > STOPPED

    def _without_ours(self, now: float, wall: float) -> Sample | None:
        """Return a SILENT sample if only messages about other joints arrive."""
        never = math.isinf(self._arrival_wall)
        if never or self.silence(now, wall) is not None:
            cause = f"none of our joints ({', '.join(self.model.joint_names)}) is named"
            return self._missing(now, cause, silent=True)
        return None

    def _judged(self, reading: Reading, now: float) -> Sample:
        self._clock[int(TIME)] = reading.t
        code, k = self._validator.judge(reading.q, reading.qd, reading.tau)
        scalars = self._validator.scalars
        if code != ACCEPTED:
            joint = self.model.joint_names[k] if code != NO_VELOCITY else ""
            qd = float(reading.qd[k]) if reading.qd.size else 0.0
            text = self._text(code, joint, float(reading.q[k]), qd)
            fault = SENSOR_FREEZE if code == stamps.STUCK else ""
            return self._missing(now, text, joint)._replace(fault=fault)
        late, self._late = self._late, False
        self._behind, self._reset_at = now - reading.t, None
        speeds = reading.qd if reading.qd.size else self._validator.rows[int(MOTION)].copy()
        tau, cause = self._effort(reading.tau)
        restart = scalars[int(RESTART)] != 0.0
        remark = REMARKS.get(int(self._clock[int(REMARK)]), "")
        dt = 0.0 if restart else float(scalars[int(DT)])
        status = Status.RESTART if restart else Status.OK
        text = remark.format(value=self._clock[int(VALUE)])
        fields = (reading.t, dt, reading.q, speeds, tau, status, cause, "", text, late, "")
        return Sample._make(fields)  # the arrays are our own: nothing to check

    def _effort(self, tau: Array) -> tuple[Array | None, str]:
        """Return the measured torque, or None and why there is none."""
        if not tau.size:
            return None, NO_EFFORT_TEXT
        k = int(self._validator.scalars[int(NO_EFFORT)])
        if k < 0:
            return tau, ""
        return None, f"effort of joint '{self.model.joint_names[k]}' is {tau[k]:g}"

    def _missing(self, now: float, cause: str, joint: str = "", silent: bool = False) -> Sample:
        t, status = now - self._behind, Status.SILENT if silent else Status.INVALID
        dt = t - self.last
        if dt < 0.0:  # the clock was reset: silence counts from when that was seen
            self._reset_at = t if self._reset_at is None else min(self._reset_at, t)
            dt = t - self._reset_at
        return missing(t, dt, self.model.n, status, cause, joint)

    def _text(self, code: int, joint: str = "", q: float = 0.0, qd: float = 0.0) -> str:
        value, dt = self._clock[int(VALUE)], self._validator.scalars[int(DT)]
        return CAUSES[code].format(value=value, joint=joint, q=q, qd=qd, dt=dt)


@kernel(
    "int64(float64[::1], float64[::1], float64[:, ::1], float64[::1], float64[::1],"
    " float64[:, ::1], float64[::1], float64[::1], int64[::1], float64[:, ::1],"
    " float64[:, ::1], float64[:, ::1], float64[:, ::1], int64[:, ::1])"
)
def _sample_rows(
    clock, time_limits, rows, scalars, limits, stuck, stamp, now, moving, q, qd, tau, x, c
):
    """The same over many messages of one layout. moving: whether a message has velocities. Rows of
    x: t, dt, the cause's value and interval; of c: status, cause * n + joint, whether silence
    preceded the sample, and 1 + the joint without effort. What is 0 is not written: memory that
    is not touched costs nothing.
    """
    n, nothing, behind, late = U(q.shape[1]), clock[:0], 0.0, 0
    for k in range(U(stamp.size)):
        late |= stamps.note_arrival(clock, time_limits, now[k])
        code = sample_time(clock, time_limits, stamp[k], now[k])
        found = code * n
        measured = moving[k] != 0
        if code == ACCEPTED:
            speeds = qd[k] if measured else nothing
            found = judge_values(
                clock, time_limits, rows, scalars, limits, stuck, q[k], speeds, tau[k]
            )
        if found != ACCEPTED:
            c[0, k], c[1, k], x[2, k], x[3, k] = 2, found, clock[VALUE], scalars[DT]
            x[0, k] = now[k] - behind
            x[1, k] = x[0, k] - clock[LAST] if clock[LAST] < math.inf else math.inf
            continue
        behind = now[k] - clock[TIME]
        if late:
            c[2, k], late = 1, 0
        if not measured:
            for j in range(n):
                qd[k, j] = rows[MOTION, j]
        x[0, k] = clock[TIME]
        if scalars[RESTART] != 0.0:
            c[0, k] = 1
        else:
            x[1, k] = scalars[DT]
        if scalars[NO_EFFORT] >= 0.0:
            c[3, k] = 1 + int(scalars[NO_EFFORT])
    return 0


@dataclass(frozen=True, eq=False)
class Samples:
    """Many samples as arrays, row by row as `Sampler` would have made them."""

    t: Array  # (T,) [s]
    dt: Array  # (T,) [s], since the previous valid sample; 0 after a restart
    q: Array  # (T, n) [rad or m]
    qd: Array  # (T, n) [rad/s or m/s]
    tau: Array  # (T, n) [N m or N]; NaN where the torque is unknown
    status: Codes  # (T,), as in `Status`
    late: Codes  # (T,): 1 where silence preceded the sample
    causes: dict[int, str]  # row: why it is not valid, or why its torque is unknown
    # Row: kind of fault behind the cause, and its joint or ""
    faults: dict[int, tuple[str, str]] = field(default_factory=dict)

    @property
    def valid(self) -> npt.NDArray[np.bool_]:
        """Which rows are OK or RESTART (T,)."""
        return np.asarray(self.status <= Status.RESTART)

    @cached_property
    def usable(self) -> npt.NDArray[np.bool_]:
        """Which rows are valid and have a torque (T,)."""
        known = ~np.isnan(self.tau[:, 0])  # of no joint, or of all
        return np.asarray(self.valid & known)

    @classmethod
    def of(cls, model: RobotModel, samples: list[Sample]) -> "Samples":
        """Collect samples made one by one."""
        unknown = np.full(model.n, math.nan)

        def table(rows: list[Array]) -> Array:
            return np.array(rows, dtype=np.float64).reshape(-1, model.n)

        return cls(
            t=np.array([s.t for s in samples], dtype=np.float64),
            dt=np.array([s.dt for s in samples], dtype=np.float64),
            q=table([s.q for s in samples]),
            qd=table([s.qd for s in samples]),
            tau=table([unknown if s.tau is None else s.tau for s in samples]),
            status=np.array([s.status for s in samples], dtype=np.int64),
            late=np.array([s.late for s in samples], dtype=np.int64),
            causes={k: s.cause for k, s in enumerate(samples) if s.cause},
            faults={k: (s.fault, s.joint) for k, s in enumerate(samples) if s.fault},
        )


def sample_rows(
    model: RobotModel,
    stamp: Array,
    q: Array,
    qd: Array,
    tau: Array,
    settings: SensingSettings | None = None,
    *,
    received: Array | None = None,
    period: float = 0.02,
    copy: bool = True,
) -> Samples:
    """Return the samples of messages that all name every joint: stamps (T,) [s] and (T, n) each.

    Rows of qd that are all NaN have no velocities. received (T,) [s]: the clock at receipt;
    without it, stamps are taken as they are. copy: False if the samples may keep and change q, qd
    and tau.
    """
    check = Validator(model, settings or SensingSettings(), period)
    take = np.array if copy else np.asarray
    q, qd, tau = (take(x, dtype=np.float64, order="C") for x in (q, qd, tau))
    moving = np.ones(len(qd), dtype=np.int64)
    if np.isnan(qd[:, :1]).any():
        moving[np.isnan(qd).all(axis=1)] = 0
    stamp = np.array(stamp, dtype=np.float64)  # a copy: kernels take no read-only arrays
    now = stamp if received is None else np.array(received, dtype=np.float64)
    x, c = np.zeros((4, stamp.size)), np.zeros((4, stamp.size), dtype=np.int64)
    arrays = (check.clock, check.clock_limits, check.rows, check.scalars, check.limits)
    _sample_rows(*arrays, check.stuck, stamp, now, moving, q, qd, tau, x, c)
    causes, faults = {}, {}
    for k in np.flatnonzero(c[1]).tolist():
        code, j = divmod(int(c[1, k]), model.n)
        joint = model.joint_names[j] if code not in (NO_VELOCITY, *range(stamps.POSITION)) else ""
        causes[k] = CAUSES[code].format(
            value=x[2, k], joint=joint, q=q[k, j], qd=qd[k, j], dt=x[3, k]
        )
        if code == stamps.STUCK:
            faults[k] = (SENSOR_FREEZE, joint)
    for k in np.flatnonzero(c[3]).tolist():
        j = int(c[3, k]) - 1
        missing_all = bool(np.isnan(tau[k]).all())
        joint = model.joint_names[j]
        causes[k] = (
            NO_EFFORT_TEXT if missing_all else f"effort of joint '{joint}' is {tau[k, j]:g}"
        )
        tau[k] = math.nan
    return Samples(x[0], x[1], q, qd, tau, c[0], c[2], causes, faults)
