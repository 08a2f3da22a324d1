"""Sample: one measured state of the arm, and whether it can be used.

Messages, rows of a bag and lines of a CSV file all become samples. Everything behind `sensing`
trusts the status and checks nothing again.
"""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


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


class Sample(NamedTuple):
    """A measured state in the model's joint order, or why there is none.

    q and qd are meaningful only if `status.valid`. tau is None where the torque is unknown: then
    `cause` says why, also for a valid sample.
    """

    t: float  # [s]
    dt: float  # [s], since the previous valid sample; inf if there was none, 0 after a RESTART
    q: Array  # (n,) [rad or m]
    qd: Array  # (n,) [rad/s or m/s]
    tau: Array | None  # (n,) [N m or N], applied during the step that ends at t
    status: Status
    cause: str = ""  # why the sample is not valid, or why tau is None
    joint: str = ""  # the joint that `cause` is about
    remark: str = ""  # a valid sample's oddity, worth a warning
    late: bool = False  # valid, but more than `sensing.silence` after the previous one
    fault: str = ""  # kind of fault behind `cause`: command_loss, sensor_freeze, or none


def missing(t: float, dt: float, n: int, status: Status, cause: str, joint: str = "") -> Sample:
    """Return a sample without a measurement: INVALID or SILENT; q and qd are NaN."""
    nothing = np.full(n, math.nan)
    return Sample(t, dt, nothing, nothing, None, status, cause, joint)
