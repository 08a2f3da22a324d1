"""The residual that an identified robot leaves in a raw log: what a node would compare.

The filtered torque errors of a fit lack the sensors' noise, which an observer differentiates.
"""

import numpy as np
from scipy.signal import lfilter

from ..dynamics.dispatch import for_kernel
from ..dynamics.friction import WIDTH, friction_over_log, mean_losses, usual_inertia
from ..dynamics.momentum import momentum_terms
from ..model.packed_model import pack_friction
from ..model.robot import RobotModel
from ..sensing.log import Array, Log

GAIN = 50.0  # [1/s], the default of `MonitorSettings`
SETTLING = 0.3  # [s] at the start that do not count


def largest_residual(model: RobotModel, log: Log, friction: bool) -> Array:
    """Return the largest residual (n,) [N m or N] of a momentum observer over a log."""
    dt = np.diff(log.t, prepend=log.t[0] - 1.0)
    p, ctqd, g = momentum_terms(model, log.q, log.qd)
    b, losses = ctqd - g, np.zeros_like(p)
    if friction:
        qd, tau = for_kernel(log.qd).ravel(), for_kernel(log.tau).ravel()
        friction_over_log(pack_friction(model, WIDTH), dt, qd, tau, losses.reshape(-1))
        mean_losses(usual_inertia(model), dt, qd, losses.reshape(-1))
    mean = np.diff(p, axis=0) / dt[1:, None] - log.tau[1:] - 0.5 * (b[1:] + b[:-1]) + losses[1:]
    keep = float(np.exp(-min(1.0, GAIN * float(np.median(dt[1:])))))
    r = lfilter([1.0 - keep], [1.0, -keep], mean, axis=0)
    settled = log.t[1:] - log.t[0] > min(SETTLING, 0.1 * (log.t[-1] - log.t[0]))
    return np.asarray(np.abs(r[settled]).max(axis=0))
