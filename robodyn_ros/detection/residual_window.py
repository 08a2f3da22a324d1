"""A stretch of a log's residual, in units of its noise, and what model errors make of it.

    y = r / sigma = -N theta + noise,       theta ~ ModelErrors

Each column of N is what one error of the model, a standard deviation large, would add to the
residual: errors are small, so they add up. Both `correct_model` and `identify_fault` look at logs
this way.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..dynamics.friction import friction_torque
from ..errors import ArgumentError
from ..model.robot import RobotModel
from .model_errors import ModelErrors, each_error
from .observer import _filter_log, gains_of, residual

Array = npt.NDArray[np.float64]
LogArrays = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]  # t, q, qd, tau

SHORTEST = 20  # samples
APART = 0.5  # time constants of the filter between samples: these carry nearly all there is
# White noise of deviation 1 has second differences of deviation sqrt(6), whose median size is
# 1.65; a bit more is taken for what is slower than these samples.
JITTER = 0.85
LEAST_NOISE = 5e-4  # of the effort limit
AT_STOP = 1e3  # how much more noise there is at a joint's stop, of which no model knows
NEAR_STOP = 0.02  # [rad or m]
SLOW = 3.0  # friction widths, below which dry friction is doubtful, and
DOUBTFUL = 0.3  # by which share of itself


class ResidualWindow:
    """The residual of a log, thinned out, with its noise and the effects of model errors."""

    def __init__(
        self,
        model: RobotModel,
        log: LogArrays,
        gain: npt.ArrayLike,
        noise: npt.ArrayLike | None,
        friction: bool,
        errors: ModelErrors,
    ) -> None:
        self.model, self.friction, self.errors = model, friction, errors
        self.gain = float(gains_of(model, gain).max())
        width = errors.friction_width
        r = residual(model, *log, self.gain, friction, friction_width=width)
        self.t, self.q, self.qd, self.tau = (np.asarray(x, dtype=np.float64) for x in log)
        if len(self.t) < SHORTEST:
            raise ArgumentError(f"a window needs {SHORTEST} samples or more, got {len(self.t)}")
        self.dt = np.diff(self.t, prepend=self.t[:1])
        self.smooth_sign = np.tanh(self.qd / width)
        step = max(1, round(APART / (self.gain * float(np.median(self.dt[1:])))))
        self.kept = np.arange(step, len(self.t), step)
        self.sigma = self._deviation(r, noise)  # (kept, n)
        self.y = r[self.kept] / self.sigma  # (kept, n)

    def filtered(self, u: Array) -> Array:
        """(T, c): torques u as the observer sees them."""
        still, out = np.zeros(u.size), np.zeros(u.shape)
        gains = np.full(u.shape[1], self.gain)
        _filter_log(gains, self.dt, still, still, -u.ravel(), out.reshape(-1))
        return out

    @cached_property
    def N(self) -> Array:
        """(kept n, m): what each model error, one deviation large, adds to y."""
        model, errors = self.model, self.errors
        # The motion is smooth: its effects may be taken from fewer samples
        thin = slice(0, None, max(1, int(APART / (self.gain * float(self.dt.max())))))
        log = (self.t[thin], self.q[thin], self.qd[thin], np.zeros_like(self.q[thin]), self.gain)
        at = np.searchsorted(self.t[thin], self.t[self.kept], side="right") - 1
        bare = residual(model, *log)
        columns = [(residual(other, *log) - bare)[at] for other in each_error(model, errors)]
        if self.friction:
            viscous = model.viscous * self.qd
            dry = friction_torque(model, self.qd, width=errors.friction_width) - viscous
            for part in (dry, viscous):
                seen = errors.friction * self.filtered(part)[self.kept]
                columns += [seen * joint for joint in np.eye(model.n)]
        # Uniform within bounds: a deviation is 1/sqrt(3) of them
        effects = np.stack(columns, axis=-1) / (math.sqrt(3.0) * self.sigma[:, :, None])
        return effects.reshape(self.y.size, -1)

    def _deviation(self, r: Array, noise: npt.ArrayLike | None) -> Array:
        """(kept, n): the noise, larger where a joint is too slow to know its friction."""
        model = self.model
        if noise is None:
            jitter = np.median(np.abs(np.diff(r[self.kept], 2, axis=0)), axis=0)
            limit = np.where(np.isfinite(model.tau_max), model.tau_max, 0.0)
            noise = np.maximum(JITTER * jitter, LEAST_NOISE * limit + 1e-6)
        base = np.asarray(noise, dtype=np.float64)
        if base.shape not in ((), (model.n,)) or not np.all((base > 0.0) & (base < np.inf)):
            raise ArgumentError(f"noise must be positive, one or {model.n}, got {noise!r}")
        slow = 1.0 - np.tanh(np.abs(self.qd) / (SLOW * self.errors.friction_width))
        unknown = DOUBTFUL * self.friction * model.coulomb * self.filtered(slow)
        near = (self.q < model.q_min + NEAR_STOP) | (self.q > model.q_max - NEAR_STOP)
        stopped = AT_STOP * base * self.filtered(np.where(near, 1.0, 0.0))
        return np.hypot(base, (unknown + stopped)[self.kept])
