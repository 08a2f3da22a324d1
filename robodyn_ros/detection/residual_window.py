"""A window of a log's residual in units of its noise, and the effect of model errors on it.

    y = r / sigma = -N theta + noise,       theta ~ ModelErrors

Each column of N is the residual that one model error of a standard deviation would add: errors are
small, so they add up. `correct_model` and `identify_fault` both use it.
"""

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..dynamics.dispatch import for_kernel
from ..dynamics.friction import friction_over_log, mean_losses, usual_inertia
from ..errors import ArgumentError
from ..model.packed_model import pack_friction
from ..model.robot import RobotModel
from .model_errors import ModelErrors, each_error, with_errors
from .observer import _filter_log, gains_of, residual

Array = npt.NDArray[np.float64]
LogArrays = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]  # t, q, qd, tau

MIN_SAMPLES = 20
SPACING = 0.5  # time constants of the filter between kept samples, which carry nearly all
# White noise of deviation 1 has second differences of deviation sqrt(6), whose median size is
# 1.65; a bit more is taken for what is slower than these samples.
JITTER = 0.85
MIN_NOISE = 5e-4  # of the effort limit
STOP_NOISE = 1e3  # factor of the noise at a joint's stop, which is not modelled
STOP_DISTANCE = 0.02  # [rad or m]
SLOW = 3.0  # friction widths, below which dry friction is uncertain
FRICTION_ERROR = 0.3  # share of the dry friction that is uncertain then


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
        if len(self.t) < MIN_SAMPLES:
            raise ArgumentError(f"a window needs {MIN_SAMPLES} samples or more, got {len(self.t)}")
        self.dt = np.diff(self.t, prepend=self.t[:1])
        self.smooth_sign = np.tanh(self.qd / width)
        step = max(1, round(SPACING / (self.gain * float(np.median(self.dt[1:])))))
        self.kept = np.arange(step, len(self.t), step)
        self.sigma = self._deviation(r, noise)  # (kept, n)
        self.y = r[self.kept] / self.sigma  # (kept, n)

    def filtered(self, u: Array) -> Array:
        """Return torques u (T, c) as the observer filters them."""
        still, out = np.zeros(u.size), np.zeros(u.shape)
        gains = np.full(u.shape[1], self.gain)
        _filter_log(gains, self.dt, still, still, -u.ravel(), out.reshape(-1))
        return out

    @cached_property
    def N(self) -> Array:
        """Effect of each model error of one standard deviation on y, (kept n, m)."""
        model, errors = self.model, self.errors
        # The motion is smooth: its effects may be taken from fewer samples
        thin = slice(0, None, max(1, int(SPACING / (self.gain * float(self.dt.max())))))
        log = (self.t[thin], self.q[thin], self.qd[thin], np.zeros_like(self.q[thin]), self.gain)
        at = np.searchsorted(self.t[thin], self.t[self.kept], side="right") - 1
        bare = residual(model, *log)
        columns = [(residual(other, *log) - bare)[at] for other in each_error(model, errors)]
        if self.friction:
            exact_bodies, losses = np.zeros(len(columns)), self._losses(model)
            for parts in np.repeat(np.eye(2), model.n, axis=1):  # dry, then viscous of all joints
                other = with_errors(model, errors, np.append(exact_bodies, parts), friction=True)
                seen = self.filtered(self._losses(other) - losses)[self.kept]
                columns += [seen * joint for joint in np.eye(model.n)]
        # Uniform within bounds: a deviation is 1/sqrt(3) of them
        effects = np.stack(columns, axis=-1) / (math.sqrt(3.0) * self.sigma[:, :, None])
        return effects.reshape(self.y.size, -1)

    def _losses(self, model: RobotModel) -> Array:
        """Return the friction (T, n) [N m or N] of a model, with its state and its load."""
        packed, losses = pack_friction(model, self.errors.friction_width), np.zeros(self.q.shape)
        qd, tau = for_kernel(self.qd).ravel(), for_kernel(self.tau).ravel()
        friction_over_log(packed, self.dt, qd, tau, losses.reshape(-1))
        mean_losses(usual_inertia(model), self.dt, qd, losses.reshape(-1))
        return losses

    def _deviation(self, r: Array, noise: npt.ArrayLike | None) -> Array:
        """Return the noise (kept, n), larger for joints too slow to know their friction."""
        model = self.model
        if noise is None:
            jitter = np.median(np.abs(np.diff(r[self.kept], 2, axis=0)), axis=0)
            limit = np.where(np.isfinite(model.tau_max), model.tau_max, 0.0)
            noise = np.maximum(JITTER * jitter, MIN_NOISE * limit + 1e-6)
        base = np.asarray(noise, dtype=np.float64)
        if base.shape not in ((), (model.n,)) or not np.all((base > 0.0) & (base < np.inf)):
            raise ArgumentError(f"noise must be positive, one or {model.n}, got {noise!r}")
        slow = 1.0 - np.tanh(np.abs(self.qd) / (SLOW * self.errors.friction_width))
        unknown = FRICTION_ERROR * self.friction * model.coulomb * self.filtered(slow)
        near = (self.q < model.q_min + STOP_DISTANCE) | (self.q > model.q_max - STOP_DISTANCE)
        stopped = STOP_NOISE * base * self.filtered(np.where(near, 1.0, 0.0))
        return np.hypot(base, (unknown + stopped)[self.kept])
