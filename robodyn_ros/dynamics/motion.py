"""Motion, the output of planners and input of controllers, and a smooth step."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..model.rigid_body import Array


class Motion(NamedTuple):
    """Reference of the joints at one instant, (n,) each, or at T instants, (T, n) each."""

    q: Array  # [rad or m]
    qd: Array  # [1/s]
    qdd: Array  # [1/s^2]
    qddd: Array  # [1/s^3]

    @classmethod
    def at_rest(cls, q: npt.ArrayLike) -> "Motion":
        """Return the motion that stays at q."""
        here = np.array(q, dtype=np.float64)
        still = np.zeros_like(here)
        return cls(here, still, still, still)


def smooth_step(x: float) -> tuple[float, float, float, float]:
    """Return 10 x^3 - 15 x^4 + 6 x^5, from 0 to 1, and 3 derivatives, [Khalil2019] (8.11)."""
    if x <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    if x >= 1.0:
        return 1.0, 0.0, 0.0, 0.0
    return (
        x**3 * (10.0 + x * (6.0 * x - 15.0)),
        30.0 * x**2 * (1.0 - x) ** 2,
        60.0 * x * (1.0 - x) * (1.0 - 2.0 * x),
        60.0 * (1.0 + 6.0 * x * (x - 1.0)),
    )
