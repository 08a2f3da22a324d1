"""Monitor over whole recordings: its compiled step on all samples, one after the other."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..model.robot import RobotModel
from ..sensing.effort_settings import EffortSettings
from ..sensing.sample import Status
from ..sensing.sampler import Samples
from ..sensing.settings import SensingSettings
from . import monitor_step as at
from .monitor import ContactMonitor
from .monitor_settings import MonitorSettings

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


class Rows(NamedTuple):
    """What the monitor finds in each of many samples."""

    r: Array  # (T, n) residual [N m or N]
    certain: Array  # (T, n) the same without what gaps may have caused; empty unless asked for
    found: Codes  # (T,) a level, or why it is UNKNOWN
    value: Array  # (T,) what that reason is about; in a contact, the joint at its stop
    above: npt.NDArray[np.bool_]  # (T, n) joints above a threshold
    external: Array  # (T, n) mean external torque since the previous sample; as `certain`
    due: Array  # (T,) when a decision about the link is due, as LINK_DUE of `monitor_step`
    means: Array  # (T, 3, n) there: mean residual [N m or N], posture and speed of the contact

    @property
    def level(self) -> Codes:
        """Levels (T,), as in `Level`."""
        return np.where(self.found <= at.COLLISION, self.found, at.UNKNOWN)


def empty_rows(samples: Samples, certain: bool) -> Rows:
    """Return room for what is found in these samples; certain: as in `monitor_rows`."""
    T, n = samples.q.shape
    return Rows(
        np.zeros((T, n)),
        np.zeros((T if certain else 0, n)),
        np.zeros(T, dtype=np.int64),
        np.zeros(T),
        np.zeros((T, n), dtype=np.bool_),
        np.zeros((T if certain else 0, n)),
        np.zeros(T),
        np.zeros((T, 3, n)),
    )


def monitor_rows(
    model: RobotModel,
    samples: Samples,
    settings: MonitorSettings,
    sensing: SensingSettings | None = None,
    *,
    commanded: bool = False,
    certain: bool = False,
    effort: EffortSettings | None = None,
) -> Rows:
    """Return what `ContactMonitor` finds in these samples, one after the other, without the causes
    of contacts; with these, see `case_rows`.

    certain: also the residual without what gaps may have caused, and the mean external torque of
    every step.
    """
    monitor = ContactMonitor(
        model, settings, sensing, commanded=commanded, effort=effort, links=False, faults=False
    )
    out = empty_rows(samples, certain)
    at.steps(*monitor.memory, *monitor.recording(samples), *out)
    return out


def compare_rows(
    model: RobotModel, samples: Samples, rows: Rows, settings: MonitorSettings
) -> Codes:
    """Return the levels (T,) that other thresholds would have given.

    rows: of the same samples, all usable, with `certain` residuals.
    """
    resets = (samples.status == Status.RESTART) | (samples.late != 0) | (rows.found > at.SETTLING)
    monitor = ContactMonitor(model, settings, links=False, faults=False)
    level = np.zeros(samples.t.size, dtype=np.int64)
    arrays = (resets.astype(np.int64), samples.t, rows.certain, samples.q, samples.qd)
    at.compare_samples(*monitor.memory[-4:], *arrays, level)
    return level
