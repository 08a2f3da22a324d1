"""Torque and torque-rate limits, applied in one place."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dynamics.compile import kernel
from ..errors import ArgumentError
from ..model.packed_model import U
from ..model.rigid_body import Array
from ..model.robot import RobotModel

# Rows of a limiter's own array, n numbers each
TAU_MAX, RATE_MAX, TAU, EXCESS, BEGUN = U(0), U(1), U(2), U(3), U(4)


@kernel("int64(matrix, vector, float64)")
def _limit(own, wanted, dt):
    """Bring TAU as close to `wanted` as the limits allow; return 1, unchanged, if that is bad."""
    n = U(own.shape[1])
    if wanted.size != n:
        return 1
    bad = 0.0
    for k in range(n):
        bad += 0.0 * wanted[k]
    if bad != 0.0:
        return 1
    for k in range(n):
        given = wanted[k]
        if own[BEGUN, k] != 0.0:
            last, reach = own[TAU, k], own[RATE_MAX, k] * dt
            given = min(max(given, last - reach), last + reach)
        given = min(max(given, -own[TAU_MAX, k]), own[TAU_MAX, k])
        own[TAU, k] = given
        own[EXCESS, k] = wanted[k] - given
        own[BEGUN, k] = 1.0
    return 0


@dataclass(frozen=True, eq=False)
class TorqueLimits:
    """Limits of torque [N m or N] and torque rate [N m/s or N/s], for all joints or one each."""

    tau_max: Any
    tau_rate_max: Any = np.inf

    def __post_init__(self) -> None:
        for name in ("tau_max", "tau_rate_max"):
            value = getattr(self, name)
            try:
                numbers = np.array(value, dtype=np.float64)
            except (TypeError, ValueError):
                numbers = np.array(np.nan)
            if numbers.ndim > 1 or not (numbers > 0.0).all():
                raise ArgumentError(f"{name} must be positive, one number or one each: {value!r}")
            numbers.setflags(write=False)
            object.__setattr__(self, name, numbers)


class Limiter:
    """Keeps a torque within its limits.

    Between two calls the torque changes by no more than the rate allows, unless it returns from
    beyond the torque limits. The first torque is free unless `reset` gives a start.
    tau: last torque (n,). excess: what the limits cut off (n,), of that sign or 0.
    """

    def __init__(self, model: RobotModel, limits: TorqueLimits | None = None) -> None:
        self.limits = TorqueLimits(model.tau_max) if limits is None else limits
        self._own = np.zeros((5, model.n))
        for row, name in ((TAU_MAX, "tau_max"), (RATE_MAX, "tau_rate_max")):
            numbers = getattr(self.limits, name)
            if numbers.shape not in ((), (model.n,)):
                raise ArgumentError(
                    f"{name} has {numbers.size} numbers, robot '{model.name}' {model.n} joints"
                )
            self._own[int(row)] = numbers
        self.tau = self._own[int(TAU)]
        self.excess = self._own[int(EXCESS)]

    def apply(self, wanted: Array, dt: float) -> bool:
        """Limit `wanted` (n,), dt [s] after the last; return False if it is bad."""
        return _limit(self._own, wanted, dt) == 0

    def reset(self, tau: Array | None = None) -> None:
        """Start at this torque (n,), or anywhere."""
        self._own[int(TAU) :] = 0.0
        if tau is not None:
            self._own[int(TAU)], self._own[int(BEGUN)] = tau, 1.0
