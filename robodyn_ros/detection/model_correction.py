"""What contact-free motion tells about a model's errors.

Nothing touches the arm, so its residual is what the model has wrong, and noise. The most likely
errors, given how large they may be, solve a small ridge regression:

    min |y + N theta|^2 + |theta|^2

Only what shows in the motion is set right: of masses that move no joint, or only together with
others, the model keeps its word as far as it can. `identify` finds parameters from scratch; this
needs less motion, and trusts the model more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..model.robot import RobotModel
from .model_errors import ModelErrors, with_errors
from .residual_window import LogArrays, ResidualWindow

ROUNDS = 3  # mass and centre of mass multiply, all else is linear: a few steps with one N do


def correct_model(
    model: RobotModel,
    logs: Sequence[LogArrays],
    *,
    gain: float = 10.0,
    errors: ModelErrors | None = None,
    noise: npt.ArrayLike | None = None,
    friction: bool = False,
) -> RobotModel:
    """The model with its most likely errors set right, from motion in which nothing touches it.

    logs: one or more (t, q, qd, tau), (T,) and (T, n) each as for `residual`; half a minute or so
    in which all joints move far. friction: the model's friction is in the torque, and set right
    too. errors: how large they may be; twice as much is unlikely, not impossible. gain [1/s]: of
    the residual looked at; a low one averages noise. noise: standard deviation of each joint's
    residual [N m or N]; by default from the logs' own jitter.
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
    for _ in range(ROUNDS):
        r = np.concatenate([(window.y * window.sigma).ravel() for window in windows(corrected)])
        theta = np.linalg.solve(A, N.T @ (N @ theta - r / sigma))
        corrected = with_errors(model, bounds, theta / math.sqrt(3.0), friction)
    return corrected
