"""Sample: one measured state of the arm, and whether it can be used.

Messages, rows of a bag and lines of a CSV file all become samples. Everything behind `sensing`
trusts the status and checks nothing again.
"""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError

Array = npt.NDArray[np.float64]

DOUBLE = np.dtype(np.float64)


class Status(IntEnum):
    """Whether a sample can be used."""

    OK = 0  # it continues the previous valid sample
    RESTART = 1  # valid, but unrelated to the previous one: first sample, clock reset, teleport
    INVALID = 2  # a message arrived and was rejected: `cause` and `joint` say why
    SILENT = 3  # no message arrived for longer than `sensing.silence`

    @property
    def valid(self) -> bool:
        """Whether q and qd are measurements: OK or RESTART."""
        return self <= Status.RESTART


class _Fields(NamedTuple):
    t: float  # [s]
    dt: float  # [s], since the previous valid sample; inf if there was none, 0 after a RESTART
    q: Array  # (n,) [rad or m]
    qd: Array  # (n,) [rad/s or m/s]
    tau: Array | None  # (n,) [N m or N], applied during the step that ends at t
    status: Status
    cause: str  # why the sample is not valid, or why tau is None
    joint: str  # the joint that `cause` is about
    remark: str  # a valid sample's oddity, worth a warning
    late: bool  # valid, but more than `sensing.silence` after the previous one
    fault: str  # kind of fault behind `cause`: command_loss, sensor_freeze, or none


class Sample(_Fields):
    """A measured state in the model's joint order, or why there is none.

    q and qd are meaningful only if `status.valid`. tau is None where the torque is unknown: then
    `cause` says why, also for a valid sample. Any numbers will do for q, qd and tau, e.g. the rows
    of a `Log`; the sampler uses `_make`, which checks and copies nothing.
    """

    __slots__ = ()

    def __new__(
        cls,
        t: float,
        dt: float,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        tau: npt.ArrayLike | None,
        status: Status,
        cause: str = "",
        joint: str = "",
        remark: str = "",
        late: bool = False,
        fault: str = "",
    ) -> "Sample":
        """Return the sample; an array that kernels do not accept is copied."""
        q, qd = _numbers("q", q), _numbers("qd", qd)
        tau = None if tau is None else _numbers("tau", tau)
        texts = (cause, joint, remark, late, fault)
        return super().__new__(cls, float(t), float(dt), q, qd, tau, status, *texts)


def _numbers(name: str, value: npt.ArrayLike) -> Array:
    """Return the value as a contiguous, writable array of doubles: itself if it is one."""
    if type(value) is np.ndarray and value.dtype is DOUBLE and value.ndim == 1:
        return value if value.flags.carray else value.copy()
    try:
        array = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} of a sample must be numbers, got {value!r}") from None
    if array.ndim != 1:
        raise ArgumentError(f"{name} of a sample must be (n,), one each joint, got {array.shape}")
    return array


def missing(t: float, dt: float, n: int, status: Status, cause: str, joint: str = "") -> Sample:
    """Return a sample without a measurement: INVALID or SILENT; q and qd are NaN."""
    nothing = np.full(n, math.nan)
    return Sample(t, dt, nothing, nothing, None, status, cause, joint)
