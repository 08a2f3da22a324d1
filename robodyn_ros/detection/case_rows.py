"""Fault cases over a whole recording: what `ContactMonitor` names, sample by sample.

The monitor's compiled step and that of the cases run over all samples in one loop. It returns to
Python only where a payload is taken into the model.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import uncounted_kernel as kernel
from ..model.packed_model import U
from ..model.robot import Payload, RobotModel
from ..sensing.effort_settings import EffortSettings
from ..sensing.sampler import Samples
from ..sensing.settings import SensingSettings
from . import monitor_step as at
from .fault import Fault
from .faults import case
from .faults.race import HYPOTHESES
from .monitor import ContactMonitor
from .monitor_rows import Rows, empty_rows
from .monitor_settings import MonitorSettings
from .monitor_step import COLLISION, CONTACT, EXTERNAL, MEAN, STEP, rejected_before, take_row
from .noise import BIAS

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

ROOM = 1024  # changes of the name between two returns to Python


class CaseRows(NamedTuple):
    """Names of the open case over the samples of a recording."""

    rows: Codes  # (C,) where the name changes
    faults: tuple[Fault | None, ...]  # C names, each until the next change
    carried: tuple[tuple[int, Payload | None], ...]  # after which row which payload was taken over
    chances: Array  # (C, 7) probability of each of `race.CAUSES`; NaN: no case is open

    def at(self, row: int) -> Fault | None:
        """Return the name at this row; None: no case is open."""
        k = int(np.searchsorted(self.rows, row, side="right")) - 1
        return self.faults[k] if k >= 0 else None

    def payload(self, row: int) -> Payload | None:
        """Return the payload in the model at this row."""
        known = [payload for after, payload in self.carried if after <= row]
        return known[-1] if known else None


@kernel(f"int64({at.MEMORY}, {case.MEMORY}, int64, {at.SAMPLES}, {at.FOUND}, int64[::1], matrix)")
def _follow_rows(
    observer, gap, gap_common, scale, scale_time, stuck, noise_ring, noise, noise_own, whitening,
    before, contact, contact_own, detector, common, own, rows,
    block, ring, marks, columns, gram, filters, bank, case_rows, case_own, told, table, phi, work,
    first, status, late, max_invalid, t, q, qd, tau,
    r, certain, found, value, above, external, due, means, changed, out,
):  # fmt: skip
    """Run over the samples from `first` on; write what is found in each, where the name of the
    case changes and what is told then.

    Return the next row, negative with an offset of 1 if the payload is to be taken over before.
    changed[0]: number of changes.
    """
    rejected, count = rejected_before(status, first), U(0)
    changed[0] = 0
    for k in range(U(first), U(t.size)):
        rejected = rejected + 1 if status[k] == 2 else 0
        stepped = take_row(
            observer, gap, gap_common, scale, scale_time, stuck, noise_ring, noise, noise_own,
            whitening, before, contact, contact_own, detector, common, own, rows,
            status, late, max_invalid, t, q, qd, tau,
            r, certain, found, value, above, external, due, means,
            k, rejected,
        )  # fmt: skip
        if not stepped:
            continue
        if found[k] > COLLISION:
            news = case.pause_case(
                block, ring, marks, columns, gram, filters, bank, case_rows, case_own, told,
                table, phi, work, t[k],
            )  # fmt: skip
        else:
            news = case.take_case(
                block, ring, marks, columns, gram, filters, bank, case_rows, case_own, told,
                table, phi, work,
                found[k] >= CONTACT, t[k], own[STEP], q[k], qd[k], rows[MEAN], rows[EXTERNAL],
                noise[BIAS],
            )  # fmt: skip
        if news & case.CHANGED:
            for i in range(case.TOLD):
                out[count, i] = told[i]
            count += U(1)
            changed[count] = k
            changed[0] = count
        if news & case.FOLLOW:
            return -1 - (int(k) + 1)
        if count == U(out.shape[0]):
            return int(k) + 1
    return t.size


def case_rows(
    model: RobotModel,
    samples: Samples,
    settings: MonitorSettings,
    sensing: SensingSettings | None = None,
    *,
    commanded: bool = False,
    certain: bool = False,
    effort: EffortSettings | None = None,
) -> tuple[Rows, CaseRows]:
    """Return what `ContactMonitor` finds in these samples, as `monitor_rows`, and how it names the
    causes of contacts.
    """
    monitor = ContactMonitor(
        model, settings, sensing, commanded=commanded, effort=effort, links=False
    )
    rows: list[int] = []
    faults: list[Fault | None] = []
    carried: list[tuple[int, Payload | None]] = []
    chances: list[Array] = []
    over = np.full(int(HYPOTHESES), math.nan)
    found, arrays = empty_rows(samples, certain), monitor.recording(samples)
    changed, out = np.zeros(ROOM + 1, dtype=np.int64), np.zeros((ROOM, int(case.TOLD)))
    first, T = 0, samples.t.size
    if monitor.cases is None:
        at.steps(*monitor.memory, *arrays, *found)
    while first < T and (stream := monitor.cases) is not None:
        told = _follow_rows(*monitor.memory, *stream.memory, first, *arrays, *found, changed, out)
        for k in range(int(changed[0])):
            rows.append(int(changed[k + 1]))
            faults.append(stream.take(out[k]))
            chances.append(out[k, int(case.CHANCES) :].copy() if faults[-1] else over)
        first = told if told >= 0 else -1 - told
        if told < 0:
            payload = stream.found
            monitor.carry(payload, float(samples.t[first - 1]))
            carried.append((first - 1, payload))
            rows.append(first - 1)
            faults.append(None)
            chances.append(over)
    table = np.array(chances).reshape(-1, over.size)
    named = CaseRows(np.array(rows, dtype=np.int64), tuple(faults), tuple(carried), table)
    return found, named
