"""History: the latest seconds of some signals, thinned so that no peak is lost."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

SPAN = 12.0  # [s] that is kept
SLOTS = 300  # into which it is divided


class History:
    """Of each slot of time, the value of each signal that is farthest from 0; memory is fixed."""

    def __init__(self, n: int, span: float = SPAN, slots: int = SLOTS) -> None:
        self.span, self._width = span, span / slots
        self._t = np.zeros(slots)
        self._values = np.zeros((slots, n))
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._count = 0  # slots ever begun
        self._slot = 0  # number of the slot that is being filled, since time 0

    def add(self, t: float, values: Array) -> None:
        """A sample of the time t [s]; time that goes back begins a new history."""
        slot = int(t / self._width)
        if self._count and slot < self._slot:
            if self._slot - slot <= 1:  # two senders may differ by a hair
                slot = self._slot
            else:
                self.clear()
        size = self._t.size
        if self._count and slot == self._slot:
            row = self._values[(self._count - 1) % size]
            np.copyto(row, values, where=np.abs(values) > np.abs(row))
            return
        self._t[self._count % size] = slot * self._width
        self._values[self._count % size] = values
        self._count, self._slot = self._count + 1, slot

    def arrays(self) -> tuple[Array, Array]:
        """Times (k,) [s], counted back from the latest, and values (k, n), of the span kept."""
        kept = min(self._count, self._t.size)
        order = np.arange(self._count - kept, self._count) % self._t.size
        t = self._t[order] - (self._t[order[-1]] if kept else 0.0)
        recent = t > -self.span
        return t[recent], self._values[order][recent]
