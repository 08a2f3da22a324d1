"""Hands: what the page can do to the arm; who fulfils it knows how to reach the nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Answer = Callable[[bool, str], None]  # whether it was done, and what the node said


class Hands(Protocol):
    """All calls return at once; answers come later, from the loop that draws the page."""

    def push(self, link: str, force: Array, torque: Array, answer: Answer) -> None:
        """Push a simulated arm: force [N] and torque [N m] at the link's origin, in its axes."""

    def follow(
        self,
        points: Sequence[tuple[float, Array, Array, Array]],
        names: Sequence[str],
        answer: Answer,
    ) -> None:
        """Move: (time [s], q, qd, qdd) point by point, of these joints."""

    def call(self, node: str, service: str, answer: Answer, data: bool | None = None) -> None:
        """Ask a node for something: enable (with data), clear, reset."""

    def set(self, node: str, values: dict[str, Any], answer: Answer) -> None:
        """Set parameters of a node, all or none."""
