"""Fault hypotheses: the torque that each kind of fault adds, fitted to a residual window.

Each search tries one kind on all joints and from all onsets, and yields its best fits.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...model.robot import Payload
from ..observer import residual
from ..residual_window import MIN_SAMPLES
from .window import REGULARIZATION, FaultWindow

Array = npt.NDArray[np.float64]

FREE_SWINGING = 0.1  # share of the torque below which a motor counts as free-swinging
MIN_LOSS = 0.05  # a share this close to 1 is no fault
REST_SPEED = 0.02  # [rad/s or m/s] and, times 1 s, [rad or m]: slower is at rest
MAX_PAYLOAD_DISTANCE = 0.5  # [m], of a payload's centre from the last link's frame
PUSH_LENGTHS = (0.02, 0.04, 0.07, 0.12, 0.2, 0.35, 0.5)  # shares of the window
ONSET_ERROR = 10  # samples by which an onset may be off
MAX_STEP = 4.0  # medians: larger changes of torque between samples are jumps
BRAKE_TIME = 0.02  # [s] that a brake needs to stop a joint
SLOW = 3.0  # friction widths: a joint slower than this may be held by dry friction


@dataclass(frozen=True, eq=False)
class Fit:
    """Best fit of a hypothesis: improvement of the squared misfit, minus the price."""

    kind: str
    gain: float
    joint: int | None
    value: float | None
    start: int  # sample of the onset


def _begun(window: FaultWindow, Y: Array, k: int | None = None) -> tuple[float, Array, int]:
    """Return improvement, parameters and onset for which torques Y explain most."""
    T = len(window.t)
    tried: dict[int, tuple[float, Array]] = {}

    def best_of(starts: Iterable[int]) -> int:
        new = sorted({s for s in starts if 0 <= s < T - MIN_SAMPLES // 2} - set(tried))
        if new:
            gains, phis = window.improvement(window.since(np.array(new), Y, k), k)
            tried.update(zip(new, zip(gains.tolist(), phis, strict=True), strict=True))
        return max(tried, key=lambda start: tried[start][0])

    step = max(1, T // 40)  # coarse, then fine
    best = best_of(range(0, T, step))
    while step > 1:
        step = max(1, step // 4)
        best = best_of(range(best - 3 * step, best + 4 * step, step))
    return *tried[best], best


def _motors(window: FaultWindow) -> Iterator[Fit]:
    """Yield fits of r_k = (share - 1) tau_k: free-swinging, effectiveness, or effort scale."""
    Y = window.filtered(window.tau)
    for k in range(window.model.n):
        gain, phi, start = _begun(window, Y[:, k, None, None], k)
        share = 1.0 + float(phi[0])
        if share < -FREE_SWINGING or abs(share - 1.0) < MIN_LOSS:
            continue
        if share <= FREE_SWINGING:
            yield Fit("free_swinging", gain, k, None, start)
        elif share > 1.0 or _reported_steps(window, k, start, share):
            yield Fit("effort_scale", gain, k, 1.0 / share, start)
        else:
            yield Fit("effectiveness", gain, k, share, start)


def _reported_steps(window: FaultWindow, k: int, start: int, share: float) -> bool:
    """Return whether the reported torque jumps to 1/share within a sample of the onset."""
    change = np.diff(window.tau[:, k])
    first = max(start - ONSET_ERROR, 0)
    at = first + int(np.argmax(np.abs(change[first : start + ONSET_ERROR])))
    expected = (1.0 / share - 1.0) * window.tau[at, k]
    usual = MAX_STEP * float(np.median(np.abs(change)))
    calm = bool(np.all(np.abs(change[max(at - 3, 0) : at]) < usual))
    clear = abs(expected) > 2.0 * usual  # or noise could hide the jump, or make one
    fits = abs(change[at] - expected) < usual + 0.1 * abs(expected)
    return start > 0 and clear and calm and fits


def _bias(window: FaultWindow) -> Iterator[Fit]:
    """Yield fits of a constant r_k."""
    Y = window.filtered(np.ones((len(window.t), 1)))[:, :, None]
    for k in range(window.model.n):
        gain, phi, start = _begun(window, Y, k)
        yield Fit("bias", gain, k, float(phi[0]), start)


def _friction(window: FaultWindow) -> Iterator[Fit]:
    """Yield fits of r_k = -(dc sign(qd_k) + dv qd_k), free or in the ratio of the model."""
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
                explained[:, k] = (window.since(np.array([start]), apart, k) @ added)[:, 0, 0]
                # Sticking takes more than sliding, the model's own friction included
                gain += _stalled(window, k, explained, 2.0 * abs(added[0]))
                yield Fit("friction", gain, k, value, start)


def _stalled(window: FaultWindow, k: int, explained: Array, dry: float) -> float:
    """Return the improvement if dry friction up to `dry` [N m or N] holds joint k while slow."""
    slow = np.abs(window.qd[window.kept, k]) < SLOW * window.errors.friction_width
    slow &= explained[:, k] != 0.0  # since the onset
    left = (window.y - explained).ravel()
    left = np.abs(left - window.Q @ (window.Q.T @ left)).reshape(window.y.shape)[slow, k]
    unheld = np.maximum(left - dry / window.sigma[slow, k], 0.0)
    floor = window.floor[slow, k]
    return float(np.sum(np.maximum(left**2 - unheld**2 - floor, 0.0)))


def _payload(window: FaultWindow) -> Iterator[Fit]:
    """Yield fits of a mass on the last link, linear in m and m c."""
    link, com = window.model.link_names[-1], np.zeros(3)
    log = (window.t, window.q, window.qd, np.zeros_like(window.tau), window.gain)
    bare = residual(window.model, *log)

    def held(c: Array) -> Array:
        with_mass = window.model.replace(payload=Payload(link, 1.0, tuple(c)))
        return bare - residual(with_mass, *log)

    for _ in range(2):  # its inertia is not linear in c: once more about the c found
        slopes = [(held(com + 0.1 * x) - held(com - 0.1 * x)) / 0.2 for x in np.eye(3)]  # 1/m
        gain, phi, start = _begun(window, np.stack([held(com), *slopes], axis=-1))
        com = com + phi[1:] / (phi[0] or np.inf)
        if np.linalg.norm(com) > MAX_PAYLOAD_DISTANCE:
            return
    yield Fit("payload", gain, None, float(phi[0]), start)


def _collision(window: FaultWindow) -> Iterator[Fit]:
    """Yield fits of a push: a step or half sine of torque on the joints up to some link."""
    T = len(window.t)
    step = max(2, T // 60)  # coarse, then fine
    pulses = []
    for length in (int(T * share) for share in PUSH_LENGTHS):
        pulses += [(s, length) for s in range(0, T, step if length < T // 10 else 3 * step)]
    best, length = _best_push(window, pulses)
    while step > 1:
        step //= 2
        moves = [(i * step, j * step) for i in (-1, 0, 1) for j in (-2, -1, 0, 1, 2)]
        best, length = _best_push(window, [(best.start + i, length + j) for i, j in moves])
    yield best


def _best_push(window: FaultWindow, pulses: list[tuple[int, int]]) -> tuple[Fit, int]:
    """Return the best of pushes (start, length) [samples] in two shapes, and its length."""
    n, T = window.model.n, len(window.t)
    fitting = [(s, d) for s, d in pulses if s >= 0 and 2 < d < T - s - MIN_SAMPLES // 2]
    if not fitting:
        return Fit("collision", -math.inf, n - 1, None, 0), 0
    starts, lengths = np.array(fitting).T
    age = (window.t[:, None] - window.t[starts]) / (window.t[starts + lengths] - window.t[starts])
    on = (age > 0.0) & (age <= 1.0)
    shapes = np.hstack([np.where(on, 1.0, 0.0), np.where(on, np.sin(np.pi * age), 0.0)])
    # F[k]: (pulses, kept), one pulse on joint k; what it explains beyond model errors is A, b
    F = window.filtered(shapes)[window.kept].T / window.sigma.T[:, None, :]
    Q = window.Q.reshape(*window.y.shape, -1)
    QF = np.stack([F[k] @ Q[:, k] for k in range(n)], axis=1)  # (pulses, n, m)
    A = np.sum(F**2, axis=2).T[:, :, None] * np.eye(n) - QF @ np.swapaxes(QF, 1, 2)
    b = np.stack([F[k] @ window.y[:, k] for k in range(n)], axis=1) - QF @ window.Qy
    # Joints 0..k explain the first k + 1 of these squares, whatever k
    root = np.linalg.cholesky(A + REGULARIZATION * np.eye(n))
    squares = np.linalg.solve(root, b[..., None])[..., 0] ** 2
    gains = np.cumsum(squares, axis=1) - window.price(1) * np.arange(3, n + 3)
    i, k = np.unravel_index(int(np.argmax(gains)), gains.shape)
    start, length = fitting[i % len(fitting)]
    return Fit("collision", float(gains[i, k]), int(k), None, start), length


def _locked(window: FaultWindow) -> Iterator[Fit]:
    """Yield fits of a joint that stands still to the end: r_k is the torque that holds it."""
    for k in range(window.model.n):
        moving = np.flatnonzero(np.abs(window.qd[:, k]) > REST_SPEED)
        start = int(moving[-1]) + 1 if moving.size else 0
        if len(window.t) - start < MIN_SAMPLES or np.ptp(window.q[start:, k]) > REST_SPEED:
            continue
        rows = np.zeros(window.y.shape, dtype=bool)
        # The brake took hold a little before all stood still
        rows[window.t[window.kept] >= window.t[start] - BRAKE_TIME, k] = True
        yield Fit("locked", window.without(rows), k, None, start)


def _sensor_freeze(window: FaultWindow) -> Iterator[Fit]:
    """Yield fits of readings that stay exactly the same to the end while others change.

    A joint at rest reads the same, too: it must have moved before, and then the residual of all
    joints must be large as well. Rounding, 1e-15, is no motion.
    """
    same = (np.diff(window.q, axis=0) == 0.0) & (np.diff(window.qd, axis=0) == 0.0)
    for k in range(window.model.n):
        changes = np.flatnonzero(~same[:, k])
        start = int(changes[-1]) + 1 if changes.size else 0
        if len(window.t) - start < MIN_SAMPLES or same[start:].all():
            continue
        rows = np.repeat((window.kept >= start)[:, None], window.model.n, axis=1)
        moves = abs(window.qd[-1, k]) > REST_SPEED
        if not moves and not np.any(np.abs(window.qd[:start, k]) > REST_SPEED):
            continue
        gain = 2.0 * window.misfit + window.y.size if moves else window.without(rows)
        yield Fit("sensor_freeze", gain, k, None, start)


SEARCHES = (_motors, _bias, _friction, _payload, _collision, _locked, _sensor_freeze)
