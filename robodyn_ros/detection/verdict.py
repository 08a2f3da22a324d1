"""Verdict: what the monitor says about one sample."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..model.robot import Payload
from .detector import Level
from .fault import Fault

Array = npt.NDArray[np.float64]

# DiagnosticStatus.level of each level: OK, WARN, ERROR, STALE
SEVERITY = {Level.CLEAR: 0, Level.CONTACT: 1, Level.COLLISION: 2, Level.UNKNOWN: 3}
LEVEL_OF = {severity: level for level, severity in SEVERITY.items()}


LEAST_FORCE = 0.1  # [N]: a smaller estimate during contact is none


class Ended(NamedTuple):
    """The final decision about the link of a contact that is over."""

    link: str  # touched; empty: not known
    where: str  # for people: 'link_5', 'link_5 or beyond'
    confidence: float  # probability of `link`, 0 to 1
    force: float  # [N], mean; NaN: unknown


class Verdict(NamedTuple):
    """Contact state of the arm at the time of a sample."""

    t: float  # [s], of the sample
    level: Level
    r: Array  # (n,) residual [N m or N]
    joints: tuple[str, ...] = ()  # above their thresholds, or concerned by the fault
    link: str = ""  # touched link; empty: none, or not known (`link_cause`)
    wrench: Array | None = None  # (6,) force [N], torque [N m] at `wrench_link`; None: unknown
    wrench_link: str = ""  # in whose axes and about whose origin the wrench is
    fault: Fault | None = None  # cause of the contact, as named so far, or of the level UNKNOWN
    cause: str = ""  # why the level is UNKNOWN
    link_cause: str = ""  # why no link is named, or which others come into question
    confidence: float = 0.0  # probability that `link` is the touched one, 0 to 1; 0: no link
    where: str = ""  # the touched link for people: 'link_5', 'link_5 or beyond'
    ended: Ended | None = None  # of a contact that is over, when its link is decided at last
    payload: Payload | None = None  # taken over into the observed model; None: none

    @property
    def touched(self) -> bool:
        """Whether the level is CONTACT or COLLISION."""
        return self.level >= Level.CONTACT

    @property
    def force(self) -> float:
        """Size of the external force [N]; NaN: unknown."""
        return math.nan if self.wrench is None else math.hypot(*self.wrench[:3])

    def texts(self) -> dict[str, str]:
        """Return the verdict in words, for people: the values of a diagnostic status."""
        fault = self.fault
        return {
            "joints": " ".join(self.joints),
            "link": self.link,
            "where": self.where,
            "confidence": f"{self.confidence:.0%}" if self.link else "",
            "force": force_text(self.force, 3) if self.touched else "",
            "cause": self.cause,
            "link_cause": self.link_cause,
            "fault": fault.kind if fault else "",
            "fault_joint": fault.joint if fault else "",
            "ended": self.ended.link if self.ended else "",
        }


def force_text(force: float, digits: int) -> str:
    """Return a force [N] in words; NaN, and nothing during a contact, is unknown."""
    return f"{force:.{digits}f} N" if force >= LEAST_FORCE else "unknown"
