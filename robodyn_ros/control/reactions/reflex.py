"""Reflex: follow the push."""

from typing import Any

import numpy.typing as npt

from ..controller import Array, Controller
from ..laws.momentum_damping import Push
from .reaction import Reaction


class Reflex(Reaction):
    """Follows the push, tau = g + K_r r, and holds where the arm comes to rest after it."""

    uses_residual = True

    def __init__(self, law: Controller, gain: npt.ArrayLike = 2.0, damping: float = 3.0) -> None:
        super().__init__(law, gain, damping)

    def push(self, state: Any, r: Array | None, dt: float) -> Push | None:
        """Return what the arm follows: the residual."""
        return None if r is None else Push(r, self.yielding.no_push.qd)
