"""What a residual's history tells: a collision, a payload, or a drive or sensor that fails.

Every hypothesis says which torque u(t) it adds to a joint, linear in few parameters phi, from an
onset on. The residual sees it through the observer's filter, beside what the model has wrong:

    r = N theta + F(onset) phi + noise,      theta ~ ModelErrors,      F = filter(u)

theta is what masses, centres of mass, inertias and friction are off by. It is the same before and
after the onset: the part of a window before a fault tells what the model has wrong, and the fault
is what changed. The hypothesis that leaves least of r, at a price per parameter, is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..dynamics.friction import friction_torque
from ..errors import ArgumentError
from ..model.robot import Payload, RobotModel
from .observer import _filter_log, gains_of, residual

Array = npt.NDArray[np.float64]

ON_A_JOINT = ("free_swinging", "effectiveness", "bias", "locked", "friction", "sensor_freeze")
KINDS = ("none", "collision", "payload", *ON_A_JOINT, "effort_scale")
SHORTEST = 20  # samples of a window, and of a reading that is called frozen
FREE = 0.1  # a motor that gives less than this share of its torque gives none
SLIGHT = 0.05  # a share this close to 1 is no fault
STILL = 0.02  # [rad/s or m/s] and, times 1 s, [rad or m]: less than this is held
FARTHEST = 0.5  # [m] that the centre of a payload may be from the last link's frame
PUSHES = (0.02, 0.04, 0.07, 0.12, 0.2, 0.35, 0.5)  # how long, as shares of the window
PRICE = 2.0  # of a parameter, in units of log(samples)
BRAKE = 0.02  # [s], how long a brake needs to stop a joint
NOTABLE = 0.05  # of all samples' variance: to explain less is not worth a name


@dataclass(frozen=True)
class ModelErrors:
    """How far off the model may be: bounds, as `perturbed` takes them."""

    mass: float = 0.03  # share
    com: float = 0.003  # [m]
    inertia: float = 0.03  # share
    friction: float = 0.2  # share
    friction_width: float = 0.02  # [rad/s or m/s], below which dry friction is not known


@dataclass(frozen=True, eq=False)
class FaultReport:
    """What best explains a window of the residual."""

    kind: str  # one of KINDS
    joint: str | None = None  # of a fault; of a collision the outermost that feels it
    # Mass [kg] of a payload, share of effectiveness or effort, bias [N m or N], friction as a
    # multiple of the model's or, where the model's is not taken off, what was added [N m or N]
    value: float | None = None
    onset: float | None = None  # [s]
    confidence: float = 0.0  # 0 to 1: how much more of r the runner-up leaves
    scores: dict[str, float] = field(default_factory=dict)  # per kind, share of r explained


@dataclass(frozen=True, eq=False)
class _Fit:
    """A hypothesis at its best: by how much it lowers the squared misfit, price paid."""

    kind: str
    gain: float
    joint: int | None
    value: float | None
    start: int  # sample of the onset


def identify_fault(
    model: RobotModel,
    t: npt.ArrayLike,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    tau: npt.ArrayLike,
    *,
    gain: float = 50.0,
    noise: npt.ArrayLike | None = None,
    friction: bool = False,
    errors: ModelErrors | None = None,
) -> FaultReport:
    """Which fault best explains a window of a log, (T,) and (T, n) each as for `residual`.

    noise: standard deviation of each joint's residual [N m or N] but for what `errors` of the
    model explain; by default from the log's own jitter. friction: take the model's friction off.

    The window should begin before the fault, and the robot should move. Reported torque that is
    too large by a factor looks just like a motor that gives too little; only the step of the
    reported torque at the onset tells them apart, so an effort scale above 1 is named only if the
    window holds that step. A joint without load that friction stops at once may be free or locked.
    """
    window = _Window(model, (t, q, qd, tau), gain, noise, friction, errors or ModelErrors())
    fits = [fit for search in SEARCHES for fit in search(window)]
    gains = {kind: max([0.0, *(f.gain for f in fits if f.kind == kind)]) for kind in KINDS}
    scores = {kind: min(1.0, g / window.misfit) for kind, g in gains.items()}
    named = max(fits, key=lambda fit: fit.gain)
    if named.gain <= NOTABLE * window.y.size:
        quiet = min(1.0, 2.0 * window.y.size / window.misfit)
        return FaultReport("none", confidence=quiet, scores=scores | {"none": 1.0})
    second = max(g for kind, g in gains.items() if kind != named.kind)
    left = max(window.misfit - named.gain, 1.0)
    confidence = 1.0 - left / max(window.misfit - second, left)
    joint = None if named.joint is None else model.joint_names[named.joint]
    onset = float(window.t[named.start])
    return FaultReport(named.kind, joint, named.value, onset, confidence, scores)


class _Window:
    """A residual, thinned out and in units of its noise, and what model errors make of it."""

    def __init__(
        self,
        model: RobotModel,
        log: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
        gain: float,
        noise: npt.ArrayLike | None,
        friction: bool,
        errors: ModelErrors,
    ) -> None:
        self.model, self.friction, self.errors = model, friction, errors
        self.gain = float(gains_of(model, gain).max())
        r = residual(model, *log, self.gain)
        self.t, self.q, self.qd, self.tau = (np.asarray(x, dtype=np.float64) for x in log)
        if len(self.t) < SHORTEST:
            raise ArgumentError(f"a window needs {SHORTEST} samples or more, got {len(self.t)}")
        self.dt = np.diff(self.t, prepend=self.t[:1])
        self.smooth_sign = np.tanh(self.qd / errors.friction_width)
        if friction:
            r = r + self.filtered(friction_torque(model, self.qd, width=errors.friction_width))
        # Samples half a time constant of the filter apart carry nearly all there is
        step = max(1, round(0.5 / (self.gain * float(np.median(self.dt[1:])))))
        self.kept = np.arange(step, len(self.t), step)
        self.sigma = self._deviation(r, noise)
        self.floor = (self.sigma.min(axis=0) / self.sigma) ** 2  # what noise leaves of a sample
        self.y = r[self.kept] / self.sigma
        # Q: an orthonormal base of what model errors explain, as far as they are likely
        self.N = self._nuisance().reshape(self.y.size, -1)
        ridge = np.eye(self.N.shape[1])
        self.Q = np.linalg.qr(np.vstack([self.N, ridge]))[0][: self.y.size]
        self.Qy = self.Q.T @ self.y.ravel()
        self.misfit = max(float(np.sum(self.y**2) - self.Qy @ self.Qy), 1e-9)

    def filtered(self, u: Array) -> Array:
        """(T, c): torques u as the observer sees them."""
        still, out = np.zeros(u.size), np.zeros(u.shape)
        gains = np.full(u.shape[1], self.gain)
        _filter_log(gains, self.dt, still, still, -u.ravel(), out.reshape(-1))
        return out

    def since(self, start: int, Y: Array, k: int | None = None) -> Array:
        """(kept, n or 1, c): filtered torques Y of all joints, or of joint k, had they begun at
        a sample: the filter then started from 0.
        """
        fading = np.exp(-self.gain * np.maximum(self.t[self.kept] - self.t[start], 0.0))
        sigma = self.sigma if k is None else self.sigma[:, k, None]
        begun = np.where(self.kept > start, 1.0, 0.0)[:, None] / sigma
        return (Y[self.kept] - fading[:, None, None] * Y[start]) * begun[:, :, None]

    def improvement(self, F: Array, k: int | None = None) -> tuple[float, Array]:
        """By how much torques F lower the misfit, price paid, and how much of each does."""
        rows = slice(None) if k is None else slice(k, None, self.model.n)
        F = F.reshape(-1, F.shape[-1])
        QF = self.Q[rows].T @ F
        A, b = F.T @ F - QF.T @ QF, F.T @ self.y.ravel()[rows] - QF.T @ self.Qy
        size = np.sqrt(np.maximum(np.diag(A), 1e-12))
        A = A / np.outer(size, size) + 1e-9 * np.eye(b.size)
        phi = np.linalg.solve(A, b / size) / size
        return float(b @ phi) - self.price(b.size + 1), phi

    def without(self, rows: npt.NDArray[np.bool_]) -> float:
        """By how much the misfit falls where these (kept, n) need not be explained."""
        N, y = self.N[~rows.ravel()], self.y[~rows]
        b = N.T @ y
        left = float(y @ y - b @ np.linalg.solve(N.T @ N + np.eye(b.size), b))
        return self.misfit - left - float(np.sum(self.floor[rows])) - self.price(3)

    def price(self, parameters: int) -> float:
        return PRICE * parameters * math.log(self.y.size)

    def _deviation(self, r: Array, noise: npt.ArrayLike | None) -> Array:
        """(kept, n): the noise, larger where a joint is too slow to know its friction."""
        if noise is None:
            jitter = np.median(np.abs(np.diff(r[self.kept], 2, axis=0)), axis=0)
            limit = np.where(np.isfinite(self.model.tau_max), self.model.tau_max, 0.0)
            noise = np.maximum(0.85 * jitter, 5e-4 * limit + 1e-6)
        base = np.asarray(noise, dtype=np.float64)
        if base.shape not in ((), (self.model.n,)) or not np.all((base > 0.0) & (base < np.inf)):
            raise ArgumentError(f"noise must be positive, one or {self.model.n}, got {noise!r}")
        slow = 1.0 - np.tanh(np.abs(self.qd) / (3.0 * self.errors.friction_width))
        unknown = 0.3 * self.friction * self.model.coulomb * self.filtered(slow)
        # At its stop a joint feels what no hypothesis knows
        near = (self.q < self.model.q_min + STILL) | (self.q > self.model.q_max - STILL)
        stopped = 1e3 * base * self.filtered(np.where(near, 1.0, 0.0))
        return np.hypot(base, (unknown + stopped)[self.kept])

    def _nuisance(self) -> Array:
        """(kept, n, m): what each model error, one deviation large, makes of the residual."""
        model, e = self.model, self.errors
        thin = slice(0, None, max(1, int(0.5 / (self.gain * float(self.dt.max())))))
        log = (self.t[thin], self.q[thin], self.qd[thin], np.zeros_like(self.q[thin]), self.gain)
        at = np.searchsorted(self.t[thin], self.t[self.kept], side="right") - 1
        bare = residual(model, *log)
        columns = [(residual(other, *log) - bare)[at] for other in _altered(model, e)]
        if self.friction:
            for part in (model.coulomb * self.smooth_sign, model.viscous * self.qd):
                seen = e.friction * self.filtered(part)[self.kept]
                columns += [seen * joint for joint in np.eye(model.n)]
        # Uniform within bounds: a deviation is 1/sqrt(3) of them
        return np.stack(columns, axis=-1) / (math.sqrt(3.0) * self.sigma[:, :, None])


@lru_cache(maxsize=8)
def _altered(model: RobotModel, errors: ModelErrors) -> list[RobotModel]:
    """The model with one of its inertial parameters at the bound of its error, each in turn."""
    altered = []
    for one in np.eye(len(model.mass))[model.mass > 0.0]:
        altered.append(model.replace(mass=model.mass * (1.0 + errors.mass * one)))
        for x in np.eye(3):
            altered.append(model.replace(com=model.com + errors.com * np.outer(one, x)))
        share = 1.0 + errors.inertia * one
        altered.append(model.replace(inertia=model.inertia * share[:, None, None]))
    return altered


def _begun(window: _Window, Y: Array, k: int | None = None) -> tuple[float, Array, int]:
    """Improvement, parameters and onset from which on torques Y explain most."""
    T = len(window.t)
    tried: dict[int, tuple[float, Array]] = {}

    def best_of(starts: Iterable[int]) -> int:
        for start in {s for s in starts if 0 <= s < T - SHORTEST // 2} - set(tried):
            tried[start] = window.improvement(window.since(start, Y, k), k)
        return max(tried, key=lambda start: tried[start][0])

    step = max(1, T // 40)
    best = best_of(range(0, T, step))
    while step > 1:  # coarse, then fine
        step = max(1, step // 4)
        best = best_of(range(best - 3 * step, best + 4 * step, step))
    return *tried[best], best


def _motors(window: _Window) -> Iterator[_Fit]:
    """r_k = (share - 1) tau_k: free-swinging, loss of effectiveness, or a wrong effort scale."""
    Y = window.filtered(window.tau)
    for k in range(window.model.n):
        gain, phi, start = _begun(window, Y[:, k, None, None], k)
        share = 1.0 + float(phi[0])
        if share < -FREE or abs(share - 1.0) < SLIGHT:
            continue
        if share <= FREE:
            yield _Fit("free_swinging", gain, k, None, start)
        elif share > 1.0 or _reported_steps(window, k, start, share):
            yield _Fit("effort_scale", gain, k, 1.0 / share, start)
        else:
            yield _Fit("effectiveness", gain, k, share, start)


def _reported_steps(window: _Window, k: int, start: int, share: float) -> bool:
    """Whether the reported torque jumps to 1/share at the onset, in one sample: no motion does."""
    change = np.diff(window.tau[:, k])
    first = max(start - 10, 0)
    at = first + int(np.argmax(np.abs(change[first : start + 10])))
    expected = (1.0 / share - 1.0) * window.tau[at, k]
    usual = 4.0 * float(np.median(np.abs(change)))
    before = np.abs(change[max(at - 3, 0) : at])
    sudden = abs(expected) > 2.0 * usual and bool(np.all(before < usual))
    return start > 0 and sudden and abs(change[at] - expected) < usual + 0.1 * abs(expected)


def _bias(window: _Window) -> Iterator[_Fit]:
    """r_k is constant."""
    Y = window.filtered(np.ones((len(window.t), 1)))[:, :, None]
    for k in range(window.model.n):
        gain, phi, start = _begun(window, Y, k)
        yield _Fit("bias", gain, k, float(phi[0]), start)


def _friction(window: _Window) -> Iterator[_Fit]:
    """r_k = -(dc sign(qd_k) + dv qd_k), both apart or as in the model; if slow, up to some dc."""
    model = window.model
    dry, viscous = window.filtered(-window.smooth_sign), window.filtered(-window.qd)
    for k in range(model.n):
        apart = np.stack([dry[:, k, None], viscous[:, k, None]], axis=-1)
        own = np.array([model.coulomb[k], model.viscous[k]])
        for mix in (np.eye(2), own[:, None]) if window.friction and own.any() else (np.eye(2),):
            gain, phi, start = _begun(window, apart @ mix, k)
            added = mix @ phi
            speed = float(np.sqrt(np.mean(window.qd[start:, k] ** 2)))
            value = float(added[0] + added[1] * speed)
            if window.friction and own.any():
                value = 1.0 + value / float(own[0] + own[1] * speed)
            if value > 0.0:
                explained = np.zeros_like(window.y)
                explained[:, k] = (window.since(start, apart, k) @ added)[:, 0]
                gain += _stalled(window, k, explained, 2.0 * abs(added[0]))
                yield _Fit("friction", gain, k, value, start)


def _stalled(window: _Window, k: int, explained: Array, dry: float) -> float:
    """By how much the misfit falls if joint k, where slow, may be held by up to dry [N m or N]."""
    slow = np.abs(window.qd[window.kept, k]) < 3.0 * window.errors.friction_width
    slow &= explained[:, k] != 0.0  # since the onset
    left = (window.y - explained).ravel()
    left = np.abs(left - window.Q @ (window.Q.T @ left)).reshape(window.y.shape)[slow, k]
    unheld = np.maximum(left - dry / window.sigma[slow, k], 0.0)
    floor = window.floor[slow, k]
    return float(np.sum(np.maximum(left**2 - unheld**2 - floor, 0.0)))


def _payload(window: _Window) -> Iterator[_Fit]:
    """r = -(torque that moves and carries a mass on the last link), linear in m and m c."""
    link, com = window.model.link_names[-1], np.zeros(3)
    log = (window.t, window.q, window.qd, np.zeros_like(window.tau), window.gain)
    bare = residual(window.model, *log)

    def held(c: Array) -> Array:
        with_mass = window.model.replace(payload=Payload(link, 1.0, tuple(c)))
        return bare - residual(with_mass, *log)

    for _ in range(2):  # its inertia is not linear in c: once more about the c found
        slopes = [(held(com + 0.1 * x) - held(com - 0.1 * x)) / 0.2 for x in np.eye(3)]
        gain, phi, start = _begun(window, np.stack([held(com), *slopes], axis=-1))
        com = com + phi[1:] / (phi[0] or np.inf)
        if np.linalg.norm(com) > FARTHEST:
            return
    yield _Fit("payload", gain, None, float(phi[0]), start)


def _collision(window: _Window) -> Iterator[_Fit]:
    """A push: a step or a half sine of torque on the joints up to some link, and it is over."""
    n, T = window.model.n, len(window.t)

    def best_of(pulses: Iterable[tuple[int, int]]) -> tuple[_Fit, int]:
        fits = [
            (_pushed(window, start, length), length)
            for start, length in pulses
            if start >= 0 and 2 < length < T - start - SHORTEST // 2
        ]
        return max(fits, key=lambda fit: fit[0].gain, default=(none, 0))

    none = _Fit("collision", -math.inf, n - 1, None, 0)
    step = max(2, T // 60)
    lengths = [int(T * share) for share in PUSHES]
    best = best_of((s, d) for d in lengths for s in range(0, T, step * (1 if d < T // 10 else 3)))
    while step > 1:
        step //= 2
        moves = [(i * step, j * step) for i in (-1, 0, 1) for j in (-2, -1, 0, 1, 2)]
        best = best_of((best[0].start + i, best[1] + j) for i, j in moves)
    yield best[0]


def _pushed(window: _Window, start: int, length: int) -> _Fit:
    """The best push from one sample on, so many samples long."""
    n, span = window.model.n, window.t[start + length] - window.t[start]
    age = (window.t - window.t[start]) / span
    on = (age > 0.0) & (age <= 1.0)
    found = _Fit("collision", -math.inf, n - 1, None, start)
    Q = window.Q.reshape(*window.y.shape, -1)
    for shape in (np.where(on, 1.0, 0.0), np.where(on, np.sin(np.pi * age), 0.0)):
        pulse = window.filtered(shape[:, None])[window.kept] / window.sigma
        QF = np.einsum("tkm,tk->mk", Q, pulse)
        A = np.diag(np.sum(pulse**2, axis=0)) - QF.T @ QF
        b = np.sum(pulse * window.y, axis=0) - QF.T @ window.Qy
        # Joints 0..k explain the first k + 1 of these squares, whatever k
        squares = np.linalg.solve(np.linalg.cholesky(A + 1e-9 * np.eye(n)), b) ** 2
        gains = np.cumsum(squares) - window.price(1) * np.arange(3, n + 3)
        k = int(np.argmax(gains))
        if gains[k] > found.gain:
            found = _Fit("collision", float(gains[k]), k, None, start)
    return found


def _locked(window: _Window) -> Iterator[_Fit]:
    """A joint that stands still to the end, whatever its motor does: r_k is what holds it."""
    for k in range(window.model.n):
        moving = np.flatnonzero(np.abs(window.qd[:, k]) > STILL)
        start = int(moving[-1]) + 1 if moving.size else 0
        if len(window.t) - start < SHORTEST or np.ptp(window.q[start:, k]) > STILL:
            continue
        rows = np.zeros(window.y.shape, dtype=bool)
        # The brake took hold a little before all stood still
        rows[window.t[window.kept] >= window.t[start] - BRAKE, k] = True
        yield _Fit("locked", window.without(rows), k, None, start)


def _sensor_freeze(window: _Window) -> Iterator[_Fit]:
    """Readings that change by no bit to the end while others do: no r after that can be trusted.

    Who stands still reads so too: then the residual of all joints must be off as well.
    """
    same = (np.diff(window.q, axis=0) == 0.0) & (np.diff(window.qd, axis=0) == 0.0)
    for k in range(window.model.n):
        changes = np.flatnonzero(~same[:, k])
        start = int(changes[-1]) + 1 if changes.size else 0
        if len(window.t) - start < SHORTEST or same[start:].all():
            continue
        rows = np.repeat((window.kept >= start)[:, None], window.model.n, axis=1)
        moves = window.qd[-1, k] != 0.0
        gain = 2.0 * window.misfit + window.y.size if moves else window.without(rows)
        yield _Fit("sensor_freeze", gain, k, None, start)


SEARCHES = (_motors, _bias, _friction, _payload, _collision, _locked, _sensor_freeze)
