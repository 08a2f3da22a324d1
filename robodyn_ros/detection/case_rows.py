"""Fault cases over a whole recording: what `ContactMonitor` names, sample by sample.

The monitor's compiled step and that of the cases run over all samples in one loop. It returns to
Python only where a payload is taken into the model.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import kernel
from ..model.robot import Payload, RobotModel
from ..sensing.effort_settings import EffortSettings
from ..sensing.sampler import Samples
from ..sensing.settings import SensingSettings
from . import monitor_step as at
from .fault import Fault
from .faults import case
from .faults.race import HYPOTHESES
from .monitor import ContactMonitor
from .monitor_settings import MonitorSettings
from .monitor_step import COLLISION, CONTACT, EXTERNAL, LATE, MEAN, RESTARTS, STEP, USABLE, step
from .noise import BIAS

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

ROOM = 1024  # changes of the name between two returns to Python


class CaseRows(NamedTuple):
    """Names of the open case over the samples of a recording."""

    rows: Codes  # (C,) where the name changes
    faults: tuple[Fault | None, ...]  # C names, each until the next change
    # After which row which payload was taken over, and by how much its weight may be off (n,)
    carried: tuple[tuple[int, Payload | None, Array], ...]
    chances: Array  # (C, 7) probability of each of `race.CAUSES`; NaN: no case is open

    def at(self, row: int) -> Fault | None:
        """Return the name at this row; None: no case is open."""
        k = int(np.searchsorted(self.rows, row, side="right")) - 1
        return self.faults[k] if k >= 0 else None

    def payload(self, row: int) -> Payload | None:
        """Return the payload in the model at this row."""
        known = [payload for after, payload, _ in self.carried if after <= row]
        return known[-1] if known else None


@kernel(
    f"int64({at.MEMORY}, {case.MEMORY}, int64[::1], int64[::1], int64, int64, vector, matrix,"
    " matrix, matrix, int64[::1], matrix)"
)
def _follow_rows(
    observer, gap, gap_common, scale, scale_time, stuck, noise_ring, noise, noise_own, whitening,
    before, contact, contact_own, detector, common, own, rows,
    block, ring, marks, columns, gram, filters, bank, case_rows, case_own, told, table, phi, work,
    status, late, max_invalid, first, t, q, qd, tau, changed, out,
):  # fmt: skip
    """Run over the samples from `first` on; write where the name changes and what is told then.

    Return the next row, negative with an offset of 1 if the payload is to be taken over before.
    changed[0]: number of changes.
    """
    invalid, count = 0, 0
    changed[0] = 0
    for k in range(first, t.size):
        invalid = invalid + 1 if status[k] == 2 else 0
        if 0 < invalid <= max_invalid:  # the previous verdict stands
            continue
        bits = LATE * late[k]
        if status[k] == 1:
            bits |= RESTARTS
        if status[k] <= 1 and not math.isnan(tau[k, 0]):
            bits |= USABLE
        found = step(
            observer, gap, gap_common, scale, scale_time, stuck, noise_ring, noise, noise_own,
            whitening, before, contact, contact_own, detector, common, own, rows,
            bits, t[k], q[k], qd[k], tau[k],
        )  # fmt: skip
        if found > COLLISION:
            news = case.pause_case(
                block, ring, marks, columns, gram, filters, bank, case_rows, case_own, told,
                table, phi, work, t[k],
            )  # fmt: skip
        else:
            news = case.follow_case(
                block, ring, marks, columns, gram, filters, bank, case_rows, case_own, told,
                table, phi, work,
                found >= CONTACT, t[k], own[STEP], q[k], qd[k], rows[MEAN], rows[EXTERNAL],
                noise[BIAS],
            )  # fmt: skip
        if news & case.CHANGED:
            changed[count + 1] = k
            out[count] = told
            count += 1
            changed[0] = count
        if news & case.FOLLOW:
            return -1 - (k + 1)
        if count == out.shape[0]:
            return k + 1
    return t.size


def case_rows(
    model: RobotModel,
    samples: Samples,
    settings: MonitorSettings,
    sensing: SensingSettings | None = None,
    *,
    commanded: bool = False,
    effort: EffortSettings | None = None,
) -> CaseRows:
    """Return how `ContactMonitor` names the causes of contacts in these samples."""
    monitor = ContactMonitor(
        model, settings, sensing, commanded=commanded, effort=effort, links=False
    )
    rows: list[int] = []
    faults: list[Fault | None] = []
    carried: list[tuple[int, Payload | None, Array]] = []
    chances: list[Array] = []
    over = np.full(int(HYPOTHESES), math.nan)
    limit = int((sensing or SensingSettings()).max_invalid)
    arrays = (samples.t, samples.q, samples.qd, samples.tau)
    changed, out = np.zeros(ROOM + 1, dtype=np.int64), np.zeros((ROOM, int(case.TOLD)))
    first, T = 0, samples.t.size
    while first < T and (stream := monitor.cases) is not None:
        told = _follow_rows(
            *monitor.memory,
            *stream.memory,
            samples.status,
            samples.late,
            limit,
            first,
            *arrays,
            changed,
            out,
        )
        for k in range(int(changed[0])):
            rows.append(int(changed[k + 1]))
            faults.append(stream.take(out[k]))
            chances.append(out[k, int(case.CHANCES) :].copy() if faults[-1] else over)
        first = told if told >= 0 else -1 - told
        if told < 0:
            payload = stream.found
            monitor.carry(payload, float(samples.t[first - 1]))
            carried.append((first - 1, payload, monitor.payload_doubt))
            rows.append(first - 1)
            faults.append(None)
            chances.append(over)
    table = np.array(chances).reshape(-1, over.size)
    return CaseRows(np.array(rows, dtype=np.int64), tuple(faults), tuple(carried), table)
