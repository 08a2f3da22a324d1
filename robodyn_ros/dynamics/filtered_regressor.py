"""The filtered regressor: a log's torque behind a low-pass filter, without its acceleration."""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError
from ..model.robot import RobotModel
from .dispatch import Array, ArrayLike, checked
from .momentum_regressor import momentum_regressor


def low_pass(t: ArrayLike, x: ArrayLike, cutoff: float, *, start: ArrayLike = 0.0) -> Array:
    """What a first-order low-pass filter of that cut-off [Hz] makes of the samples x, (T, …).

    Between the times t [s] the samples are joined by straight lines, for which the answer is
    exact, however unevenly they lie. The filter's state begins with `start`.
    """
    x = np.asarray(x, dtype=np.float64)
    steps = _rate(cutoff) * np.diff(_times(t, len(x) if x.ndim else 0))
    fading = np.exp(-steps)
    mean = -np.expm1(-steps) / steps
    y = np.empty_like(x)
    y[0] = start
    for k in range(len(steps)):
        y[k + 1] = fading[k] * y[k] + (mean[k] - fading[k]) * x[k] + (1.0 - mean[k]) * x[k + 1]
    return y


def filtered_regressor(
    model: RobotModel, t: ArrayLike, q: ArrayLike, qd: ArrayLike, cutoff: float
) -> Array:
    """Y_f, (T, n, 10 N), of a log: Y_f pi = low_pass(t, tau, cutoff), the filtered torque.

    The acceleration is not needed, because low-passing a rate is high-passing what it is the rate
    of: [LuMeng1993] remark 2, with tau = pdot - C^T qd + g.
    """
    q, qd = checked(model, q=q, qd=qd)
    rate, t = _rate(cutoff), _times(t, len(q) if q.ndim == 2 else 0)
    Y_p, Y_c, Y_g = momentum_regressor(model, q, qd)
    Y_p *= rate
    Y_g -= Y_c
    Y_g -= Y_p
    Y_p += low_pass(t, Y_g, cutoff, start=-Y_p[0])
    return Y_p


def filtered_rotor_columns(model: RobotModel, t: ArrayLike, qd: ArrayLike, cutoff: float) -> Array:
    """(T, n, n): the rotors' columns of the filtered torque, without the acceleration."""
    (qd,) = checked(model, qd=qd)
    rate, t = _rate(cutoff), _times(t, len(qd) if qd.ndim == 2 else 0)
    columns = rate * qd + low_pass(t, -rate * qd, cutoff, start=-rate * qd[0])
    return columns[..., None] * np.eye(model.n)


def _rate(cutoff: float) -> float:
    """[rad/s] from [Hz]."""
    if not (isinstance(cutoff, (int, float)) and 0.0 < cutoff < np.inf):
        raise ArgumentError(f"cutoff must be a positive frequency [Hz], got {cutoff!r}")
    return 2.0 * np.pi * cutoff


def _times(t: ArrayLike, count: int) -> Array:
    t = np.asarray(t, dtype=np.float64)
    if t.shape != (count,) or count == 0:
        raise ArgumentError(
            f"t must have one time per sample, and there must be samples: got shape {t.shape} "
            f"for {count} samples"
        )
    if not (np.isfinite(t).all() and (np.diff(t) > 0.0).all()):
        raise ArgumentError("t must be finite and increase from sample to sample")
    return t
