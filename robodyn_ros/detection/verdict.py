"""Verdict: what the monitor says about one sample."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .detector import Level
from .fault import Fault

Array = npt.NDArray[np.float64]

# DiagnosticStatus.level of each level: OK, WARN, ERROR, STALE
SEVERITY = {Level.CLEAR: 0, Level.CONTACT: 1, Level.COLLISION: 2, Level.UNKNOWN: 3}
LEVEL_OF = {severity: level for level, severity in SEVERITY.items()}


class Verdict(NamedTuple):
    """Contact state of the arm at the time of a sample."""

    t: float  # [s], of the sample
    level: Level
    r: Array  # (n,) residual [N m or N]
    joints: tuple[str, ...] = ()  # above their thresholds, or concerned by the fault
    link: str = ""  # touched link; empty: none, or it cannot be told (`link_cause`)
    wrench: Array | None = None  # (6,) force [N], torque [N m] in the axes of `wrench_link`
    wrench_link: str = ""
    fault: Fault | None = None
    cause: str = ""  # why the level is UNKNOWN
    link_cause: str = ""  # why no link is named

    @property
    def touched(self) -> bool:
        """Whether the level is CONTACT or COLLISION."""
        return self.level >= Level.CONTACT

    @property
    def force(self) -> float:
        """Size of the external force [N]; 0 without a wrench."""
        return 0.0 if self.wrench is None else math.hypot(*self.wrench[:3])

    def texts(self) -> dict[str, str]:
        """Return the verdict in words, for people: the values of a diagnostic status."""
        fault = self.fault
        return {
            "joints": " ".join(self.joints),
            "link": self.link,
            "force": f"{self.force:.3f} N" if self.touched else "",
            "cause": self.cause,
            "link_cause": self.link_cause,
            "fault": fault.kind if fault else "",
            "fault_joint": fault.joint if fault else "",
        }
