"""MomentumObserver: the residual of [DeLuca2009] (6), sample by sample.

    r = K [ p - p(0) - integral of (tau + C^T qd - g + r) ]        so that  rdot = K (tau_ext - r)

Between two samples the momentum changes by the applied torque, C^T qd - g and the external torque.
So the mean external torque over the step is known up to the curvature of b, and the observer is
its first-order filter:

    mean = (p_k - p_k-1) / dt - tau - (b_k + b_k-1) / 2 + friction,       b = C^T qd - g
    r_k  = r_k-1 + (1 - exp(-K dt)) (mean - r_k-1)

which is exact for a constant external torque and any dt, and of second order in dt otherwise.
Friction is its mean over the step (`dynamics.friction.mean_loss`). Only changes of momentum count:
starting in motion leaves no error.
"""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import U1, U3, index, inline, kernel
from ..dynamics.cpython_binding import bind
from ..dynamics.dispatch import for_kernel, per_joint, states_of
from ..dynamics.friction import (
    WIDTH,
    friction_of_drive,
    friction_over_log,
    mean_loss,
    mean_losses,
    next_sign,
    usual_inertia,
)
from ..dynamics.momentum import _momentum_terms, momentum_terms
from ..errors import ArgumentError
from ..model import packed_model as at
from ..model.packed_model import FRICTION_ROWS, U, aligned_copy, friction_rows, pack_friction
from ..model.robot import RobotModel

Array = npt.NDArray[np.float64]

# What the observer keeps behind the model's block: switches, then vectors of n numbers
STARTED, DT, GRAVITY_FREE, FRICTION = (U(k) for k in range(4))
GAIN, R, P, B, P_NEW, CTQD, G, S, QD, LOST, INERTIA, LOSSES = (U(k) for k in range(12))
VECTORS = int(LOSSES) + FRICTION_ROWS
SWITCHES = U(4)


@kernel("int64(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])")
def observe(block, q, qd, tau, out):
    """Take one sample and write the residual; return 1, and keep nothing, if it is not finite."""
    n = index(block[at.COORDINATES])
    s = index(block[at.POSITIONS]) + U3 * index(block[at.PADDED])
    v = s + SWITCHES
    if q.size != n or tau.size != n:
        return 1
    p, ctqd = block[v + P_NEW * n : v + CTQD * n], block[v + CTQD * n : v + G * n]
    g = block[v + G * n : v + S * n]
    if _momentum_terms(block, q, qd, p, ctqd, g) != 0:
        return 1
    bad = 0.0
    for k in range(n):
        bad += 0.0 * tau[k]
    if bad != 0.0:
        return 1
    dt, started = block[s + DT], block[s + STARTED] != 0.0
    gain, blend = -1.0, 0.0
    for k in range(n):
        b, drive, loss = ctqd[k], tau[k], 0.0
        if block[s + GRAVITY_FREE] == 0.0:
            b -= g[k]
        else:
            drive += g[k]
        if block[s + FRICTION] != 0.0:
            f, i = v + LOSSES * n + k, v + S * n + k
            before = block[v + QD * n + k]
            block[i] = next_sign(block, f, n, block[i], before, started, qd[k], dt)
            lost = friction_of_drive(block, f, n, block[i], qd[k], drive)
            inertia = block[v + INERTIA * n + k]
            loss = mean_loss(block[v + LOST * n + k], lost, before, qd[k], inertia, dt)
            block[v + QD * n + k], block[v + LOST * n + k] = qd[k], lost
        if started:
            mean = (p[k] - block[v + P * n + k]) / dt - tau[k] - 0.5 * (b + block[v + B * n + k])
            mean += loss
            if block[v + GAIN * n + k] != gain:  # most arms have one gain for all joints
                gain = block[v + GAIN * n + k]
                blend = -math.expm1(-gain * dt)
            block[v + R * n + k] += blend * (mean - block[v + R * n + k])
        block[v + P * n + k] = p[k]
        block[v + B * n + k] = b
        out[k] = block[v + R * n + k]
    block[s + STARTED] = 1.0
    return 0


@inline
def _switches(block):
    """Return where the observer's own numbers begin in its block."""
    return index(block[at.POSITIONS]) + U3 * index(block[at.PADDED])


@kernel("int64(float64[::1], float64)")
def set_step(block, dt):
    """Set the time that the next sample came after the previous one [s]."""
    block[_switches(block) + DT] = dt
    return 0


@kernel("int64(float64[::1])")
def restart_observer(block):
    """Set r to 0; the next sample only starts the observer."""
    s, n = _switches(block), index(block[at.COORDINATES])
    block[s + STARTED] = 0.0
    for k in range(n):
        block[s + SWITCHES + R * n + k] = 0.0
    return 0


def gains_of(model: RobotModel, gain: npt.ArrayLike) -> Array:
    """Return observer gains (n,) [1/s], given one for all joints or one each."""
    gains = per_joint(model, "gain", gain)
    if not (gains > 0.0).all():
        raise ArgumentError(f"gain must be positive [1/s], got {gain!r}")
    return gains


def _packed_friction(model: RobotModel, width: float) -> Array:
    if not 0.0 <= width < math.inf:
        raise ArgumentError(f"friction_width must be finite and not negative, got {width!r}")
    return pack_friction(model, width)


class MomentumObserver:
    """Residual r (n,) [N m or N]: the external torque, low-passed at rate `gain` [1/s].

    friction: subtract the model's friction, which has a state, see `SlidingFriction`;
    friction_width [rad/s or m/s]: dry friction fades to 0 below it where the model has no
    `friction_width`. gravity_free: the torque excludes gravity compensation, as some drivers
    report it.
    """

    def __init__(
        self,
        model: RobotModel,
        gain: npt.ArrayLike,
        friction: bool = False,
        *,
        friction_width: float = WIDTH,
        gravity_free: bool = False,
    ) -> None:
        n = model.n
        self.model = model
        self.gain = gains_of(model, gain)
        self.longest_step = 1.0 / float(self.gain.max())  # [s]: K dt of 1
        self._block = aligned_copy(model.packed, np.zeros(int(SWITCHES) + VECTORS * n))
        self._own = self._block[model.packed.size :]
        self._own[int(GRAVITY_FREE)], self._own[int(FRICTION)] = gravity_free, friction
        self._vectors = self._own[int(SWITCHES) :].reshape(VECTORS, n)
        self._vectors[int(GAIN)] = self.gain
        self._vectors[int(INERTIA)] = usual_inertia(model) if friction else 1.0
        losses = _packed_friction(model, friction_width)
        self._vectors[int(LOSSES) :] = friction_rows(losses)

    @cached_property
    def _update(self) -> Callable[..., Any]:
        """The bound kernel; the monitor, which compiles a whole step, has no use for it."""
        n = self.model.n
        return bind(self._block, n, observe, 3, [(n,)])

    @property
    def memory(self) -> Array:
        """The model and the observer's state in one array, as `observe` takes it."""
        return self._block

    @property
    def r(self) -> Array:
        """Residual (n,) [N m or N]; a copy."""
        return self._vectors[int(R)].copy()

    def update(self, q: npt.ArrayLike, qd: npt.ArrayLike, tau: npt.ArrayLike, dt: float) -> Array:
        """Return the residual (n,) after a sample; tau was applied during the dt [s] before it.

        The first call only starts the observer. A sample that is not finite raises and is not
        kept; the dt of the next one then spans the gap.
        """
        if not 0.0 < dt <= self.longest_step:
            self._refuse(dt)
        self._own[1] = dt
        r = self._update(q, qd, tau)
        if r is None:
            r = self._carefully(q, qd, tau)
        return r

    def continue_from(self, other: "MomentumObserver") -> None:
        """Continue where another observer of the same robot stands: r does not jump.

        If the model or the definition of the external torque differs, the next sample only starts
        this one.
        """
        for vector in (R, P, B, S, QD, LOST):
            self._vectors[int(vector)] = other._vectors[int(vector)]
        alike = self.model is other.model and all(
            self._own[int(k)] == other._own[int(k)] for k in (GRAVITY_FREE, FRICTION)
        )
        self._own[int(STARTED)] = other._own[int(STARTED)] if alike else 0.0

    def reset(self) -> None:
        """Set r to 0; the next sample only starts the observer."""
        self._own[int(STARTED)] = 0.0
        self._vectors[int(R)] = 0.0

    def _refuse(self, dt: float) -> None:
        if not (isinstance(dt, (int, float)) and math.isfinite(dt) and dt > 0.0):
            raise ArgumentError(f"dt must be positive and finite [s], got {dt!r}")
        joint = self.model.joint_names[int(np.argmax(self.gain))]
        raise ArgumentError(
            f"dt = {dt:g} s is too long for the gain {self.gain.max():g} 1/s of joint '{joint}': "
            f"K dt must not exceed 1; sample faster, lower the gain, or reset after a gap"
        )

    def _carefully(self, q: Any, qd: Any, tau: Any) -> Array:
        """Update from lists and other arrays, or raise an error that names the argument."""
        states = [states_of(self.model, *item) for item in (("q", q), ("qd", qd), ("tau", tau))]
        for name, array in zip(("q", "qd", "tau"), states, strict=True):
            if array.ndim != 1:
                raise ArgumentError(f"{name} must be one sample; `residual` takes whole logs")
            if not np.isfinite(array).all():
                k = int(np.flatnonzero(~np.isfinite(array))[0])
                joint = self.model.joint_names[k]
                raise ArgumentError(f"{name} of joint '{joint}' is {array[k]}; it must be finite")
        r = self._update(*map(for_kernel, states))
        if r is None:
            raise ArgumentError("the momentum of this sample is not finite: it moves too fast")
        return r


@kernel(
    "int64(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])"
)
def _filter_log(gain, dt, p, b, tau, r):
    """Run the same recursion over a log; r holds n numbers per sample, the first are 0."""
    n = U(gain.size)
    for k in range(n):
        r[k] = 0.0
    for t in range(U1, U(dt.size)):
        for k in range(n):
            now, before = t * n + k, (t - U1) * n + k
            mean = (p[now] - p[before]) / dt[t] - tau[now] - 0.5 * (b[now] + b[before])
            r[now] = r[before] - math.expm1(-gain[k] * dt[t]) * (mean - r[before])
    return 0


def residual(
    model: RobotModel,
    t: npt.ArrayLike,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    tau: npt.ArrayLike,
    gain: npt.ArrayLike,
    friction: bool = False,
    *,
    kind: str = "momentum",
    friction_width: float = WIDTH,
    gravity_free: bool = False,
    threads: int = 1,
) -> Array:
    """Return the residual (T, n) [N m or N] over a log, as `MomentumObserver` gives it.

    tau[k] is the torque applied from t[k-1] to t[k]. Other kinds are 'energy',
    'inverse_dynamics' and 'velocity': see `other_observers`.
    """
    if kind != "momentum":
        if gravity_free or friction_width != WIDTH:
            raise ArgumentError(f"gravity_free and friction_width are not for kind {kind!r}")
        from .other_observers import residual_by  # here, because they build on this file

        return residual_by(kind, model, t, q, qd, tau, gain, friction)
    gains = gains_of(model, gain)
    times = np.asarray(t, dtype=np.float64)
    log = {name: states_of(model, name, x) for name, x in (("q", q), ("qd", qd), ("tau", tau))}
    if times.ndim != 1 or any(x.shape != (times.size, model.n) for x in log.values()):
        found = ", ".join(f"{name} {x.shape}" for name, x in log.items())
        raise ArgumentError(f"a log is t (T,) and (T, {model.n}) each: t {times.shape}, {found}")
    dt = np.diff(times, prepend=times[:1])
    if times.size and not (np.isfinite(times).all() and (dt[1:] > 0.0).all()):
        raise ArgumentError("t must be finite and rise from sample to sample [s]")
    if times.size > 1 and dt.max() * gains.max() > 1.0:
        raise ArgumentError(
            f"the longest step of the log, {dt.max():g} s, is too long for a gain of "
            f"{gains.max():g} 1/s: K dt must not exceed 1"
        )
    p, ctqd, g = momentum_terms(model, log["q"], log["qd"], threads=threads)
    b = ctqd if gravity_free else ctqd - g
    torque, qd_log = for_kernel(log["tau"]), for_kernel(log["qd"])
    if friction and times.size:
        losses, drive = np.zeros_like(p), torque + g if gravity_free else torque
        packed = _packed_friction(model, friction_width)
        friction_over_log(packed, dt, qd_log.ravel(), drive.ravel(), losses.reshape(-1))
        mean_losses(usual_inertia(model), dt, qd_log.ravel(), losses.reshape(-1))
        torque = torque - losses
    r = np.zeros_like(p)
    if times.size:
        _filter_log(gains, dt, p.ravel(), b.ravel(), torque.ravel(), r.reshape(-1))
    if not np.isfinite(r).all():
        raise ArgumentError("the log's torques are not finite, or too large")
    return r
