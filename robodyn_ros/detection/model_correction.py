"""Model correction from motion without contact.

Without contact the residual is model error and noise. The most likely errors, given their bounds,
solve a small ridge regression:

    min |y + N theta|^2 + |theta|^2

Only excited errors are corrected; otherwise the model stays as it is. `identify` finds parameters
from scratch; this needs less motion and trusts the model more.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..model.robot import RobotModel
from .model_errors import ModelErrors, with_errors
from .residual_window import LogArrays, ResidualWindow

GAUSS_NEWTON_STEPS = 3  # mass and centre of mass multiply; the rest is linear


def correct_model(
    model: RobotModel,
    logs: Sequence[LogArrays],
    *,
    gain: float = 10.0,
    errors: ModelErrors | None = None,
    noise: npt.ArrayLike | None = None,
    friction: bool = False,
) -> RobotModel:
    """Return the model with its most likely errors corrected, from motion without contact.

    logs: one or more (t, q, qd, tau), (T,) and (T, n) each as for `residual`; about half a minute
    in which all joints move far. friction: the torque includes the model's friction; correct it,
    too. errors: their bounds, taken for sqrt(3) standard deviations. gain [1/s]: of the residual;
    a low one averages noise. noise: standard deviation of each joint's residual (n,) [N m or N];
    by default estimated from the logs.
    """
    if not logs:
        raise ArgumentError("correct_model needs at least one log of contact-free motion")
    bounds = errors or ModelErrors()

    def windows(of: RobotModel) -> list[ResidualWindow]:
        return [ResidualWindow(of, log, gain, noise, friction, bounds) for log in logs]

    first = windows(model)
    N = np.vstack([window.N for window in first])
    sigma = np.concatenate([window.sigma.ravel() for window in first])
    A = N.T @ N + np.eye(N.shape[1])
    corrected, theta = model, np.zeros(N.shape[1])
    for _ in range(GAUSS_NEWTON_STEPS):
        r = np.concatenate([(window.y * window.sigma).ravel() for window in windows(corrected)])
        theta = np.linalg.solve(A, N.T @ (N @ theta - r / sigma))
        corrected = with_errors(model, bounds, theta / math.sqrt(3.0), friction)
    return corrected
