"""NoiseDetector: whether momentum increments over short windows exceed their noise.

The mean external torque over the last w seconds is a difference of momenta,

    y_w = (R(t) - R(t - w)) / w,       R = p - integral of (tau + C^T qd - g),

here with two windows, a short one for impacts and a long one for faint touches. All joints are
tested together, by their covariance, which grows with speed and acceleration of each joint:

    d_w^2 = (y_w - b)^T Sigma_w^-1 (y_w - b),   Sigma_w = D C_w D,   D = diag(sigma_w(|qd|, |a|))
    score = max over w of d_w / threshold_w

a is the acceleration by a first-order filter on the velocity, as slow as the long window: errors
of inertias, delays and elastic joints grow with it, and an arm that stops hard swings after it.

A spike of the torque, up and down from sample to sample, is not trusted: beyond its usual height
it bounds the error of the mean, and y counts only as far as it exceeds that.

The bias b is what sensors and model are off by. It is learnt while the arm is untouched: while the
score of all tests has been below `doubt` for `quiet` seconds; otherwise it is frozen. At the start
the mean of the first moments is taken for it, up to `start_limit`; a contact that is there already
and exceeds this limit is therefore reported. The first moments must be steady: while the windows
leave their mean by more than `doubt`, as in the jolt of an arm that starts to move, it begins
anew, for LONGEST_TARE times `start_time` at most.

A contact begins at a score of 1 and ends below RELEASE, or when the score falls suddenly far below
its peak: dry friction keeps some of the torque in the joints when a hand lets go. The remainder is
learnt as bias, and for a moment another contact must rise above it and above the echo of the last
one, such as the arm's swing. So one touch is one event.
"""

import math

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import inline, kernel, uncounted_kernel
from ..dynamics.dispatch import per_joint
from ..errors import ArgumentError
from ..model.packed_model import U
from ..model.robot import RobotModel
from .monitor_settings import (
    MIN_SIGMA,
    BiasSettings,
    MonitorSettings,
    NoiseSettings,
    NoiseWindow,
)

Array = npt.NDArray[np.float64]

CAPACITY = 1024  # samples kept: the long window at up to 8 kHz
LONGEST, SHORTEST = 1.25, 0.5  # shares of a window that may stand for it
RELEASE = 0.6  # score below which a contact ends
FALL, PEAK_TIME = 0.35, 1.0  # share of its peak, which fades with this [s], where it ends, too
ECHO, ECHO_TIME = 0.15, 0.4  # share of the last peak that does not count, fading with this [s]
RISE, HALF_RISE = 0.4, 0.2  # of the score above its valley, for another contact
VALLEY_RATE = 1.0  # [1/s], at which the valley may rise: joints swing before they settle
REST_TIME = (
    1.5  # [s] after a contact in which the valley counts: the joints have settled elsewhere
)
NOISE_PER_THRESHOLD = 0.1  # deviation over contact threshold, where no noise is tuned
LONGEST_TARE = 4.0  # times `start_time`: the bias is taken although the torque is not steady
RESTING = 0.25  # share of the speed of creeping: no joint of a resting arm is faster
COME_TO_REST = 0.05  # unrest, from 1 in motion to 0, below which an arm is at rest
INVOLVED = 0.5  # share of the threshold at which a joint alone is named

# Rows, n numbers each: bias and its limits, at the start and later; sum of the first increments;
# deviation of each joint in the worse window, over the threshold; work space; filtered velocity;
# then for each window sigma at rest, its rise in motion, per speed and per acceleration, and the
# windowed mean
BIAS, START_LIMIT, LIMIT, FIRST, DEVIATION, WORK, VELOCITY, SHORT = (U(k) for k in range(8))
BASE, IN_MOTION, PER_VELOCITY, PER_ACCELERATION, AT_REST, MEAN, WINDOW_ROWS = (
    U(k) for k in range(7)
)
LONG = SHORT + WINDOW_ROWS
ROWS = LONG + WINDOW_ROWS
# Scalars: number of samples, sample at the start of each window, windows and thresholds (0: off),
# speed of the motion term; bias rate, doubt, quiet time, time at the start over which the bias is
# averaged, that time so far, whether it is known, time since the start; calm time; score; level,
# and time above it; the contact's peak, when it ended, and the valley since; score of a collision;
# time constant with which an arm comes to rest, and its unrest: 1 in motion, fading to 0
(
    COUNT, TAILS, _LONG_TAIL, WINDOWS, _LONG_WINDOW, THRESHOLDS, _LONG_THRESHOLD, SPEED,
    RATE, DOUBT, QUIET, START_TIME, FIRST_TIME, TARED, TARE_TIME, CALM, SCORE, LEVEL, ABOVE,
    PEAK, FELL, VALLEY, COLLISION_SCORE, REST_TIME_CONSTANT, UNREST, SCALARS,
) = (U(k) for k in range(26))  # fmt: skip

STATE = (
    COUNT, TAILS, _LONG_TAIL, FIRST_TIME, TARED, TARE_TIME, CALM, SCORE, LEVEL, ABOVE, PEAK,
    FELL, VALLEY, UNREST,
)  # fmt: skip


@kernel("int64(float64[:, ::1], float64[::1])")
def restart_noise(rows, own):
    """Forget the increments and the event; a bias that is known stays."""
    own[COUNT] = own[TAILS] = own[TAILS + U(1)] = 0.0
    own[CALM] = own[SCORE] = own[LEVEL] = own[ABOVE] = 0.0
    own[PEAK], own[FELL], own[VALLEY] = 0.0, -math.inf, 0.0
    if own[TARED] == 0.0:
        own[FIRST_TIME] = own[TARE_TIME] = 0.0
        for k in range(U(rows.shape[1])):
            rows[FIRST, k] = rows[BIAS, k] = 0.0
    return 0


@inline
def spike(before, after, usual):
    """Return the height of a spike between two changes of the torque, beyond the usual one."""
    if before * after >= 0.0:
        return 0.0
    return max(min(abs(before), abs(after)) - usual, 0.0)


def spikes(tau: Array) -> Array:
    """Return the heights (T, n) of the spikes in a torque (T, n), where they are over."""
    change = np.diff(tau, axis=0)
    found = np.zeros_like(tau)
    turned = change[:-1] * change[1:] < 0.0
    found[2:] = np.where(turned, np.minimum(np.abs(change[:-1]), np.abs(change[1:])), 0.0)
    return found


@inline
def still_unrest(unrest, qd, dt, speed, time_constant):
    """Return the unrest after dt [s]: 1 while a joint moves; then it fades."""
    fastest = 0.0
    for k in range(U(qd.size)):
        fastest = max(fastest, abs(qd[k]))
    return 1.0 if fastest > RESTING * speed else unrest * math.exp(-dt / time_constant)


@kernel("void(vector, matrix, float64, float64, vector)")
def unrest_of(t, qd, speed, time_constant, unrest):
    """Write the unrest of an arm, 1 in motion and fading to 0, at all samples of a recording."""
    last = 0.0
    for k in range(U(t.size)):
        dt = t[k] - t[k - U(1)] if k > 0 else 0.0
        last = still_unrest(last, qd[k], dt, speed, time_constant)
        unrest[k] = last


@kernel("void(vector, matrix, float64, matrix)")
def acceleration_of(t, qd, time_constant, acceleration):
    """Write the size of the acceleration (T, n), as `find_contact` takes it, of a recording."""
    velocity = qd[0].copy()
    for k in range(U(1), U(t.size)):
        fade = math.exp(-(t[k] - t[k - U(1)]) / time_constant)
        for j in range(U(qd.shape[1])):
            velocity[j] = qd[k, j] + (velocity[j] - qd[k, j]) * fade
            acceleration[k, j] = abs(qd[k, j] - velocity[j]) / time_constant


@inline
def _follow_velocity(rows, own, qd, dt):
    """Filter the velocity; the first one after a start is taken as it is."""
    fade = math.exp(-dt / own[WINDOWS + U(1)]) if own[COUNT] > 0.0 else 0.0
    for k in range(U(qd.size)):
        rows[VELOCITY, k] = qd[k] + (rows[VELOCITY, k] - qd[k]) * fade


@inline
def _keep(ring, own, t, dt, mean, error):
    """Append the momentum that external torques gave, and the bound of its error, up to t [s]."""
    n, count = U(mean.size), U(int(own[COUNT]))
    new, old = count % U(CAPACITY), (count - U(1)) % U(CAPACITY)
    for k in range(n):
        ring[new, k], ring[new, n + k] = mean[k] * dt, error[k] * dt
        if count > 0:
            ring[new, k] += ring[old, k]
            ring[new, n + k] += ring[old, n + k]
    ring[new, n + n] = t
    own[COUNT] += 1.0
    return new


@inline
def _distance(ring, rows, own, whitening, qd, new, i):
    """Return d of window i, 0 until it is filled; WORK gets the deviation of each joint."""
    n, count, z = U(qd.size), U(int(own[COUNT])), rows[WORK]
    first, window, t = SHORT + i * WINDOW_ROWS, own[WINDOWS + i], ring[new, n + n]
    long = own[WINDOWS + U(1)]
    tail = U(int(own[TAILS + i]))
    if count > U(CAPACITY) and tail < count - U(CAPACITY):
        tail = count - U(CAPACITY)
    # At least one step: where samples are further apart, it is the window
    while tail + U(2) < count and t - ring[tail % U(CAPACITY), n + n] > LONGEST * window:
        tail += U(1)
    own[TAILS + i] = float(tail)
    begin = tail % U(CAPACITY)
    span = t - ring[begin, n + n]
    if span < SHORTEST * window:
        return 0.0
    for k in range(n):
        y = (ring[new, k] - ring[begin, k]) / span
        wrong = (ring[new, n + k] - ring[begin, n + k]) / span
        rows[first + MEAN, k] = y
        off, speed = y - rows[BIAS, k], abs(qd[k])
        off -= min(max(off, -wrong), wrong)
        sigma = rows[first + BASE, k]
        sigma += (1.0 - own[UNREST]) * (rows[first + AT_REST, k] - sigma)
        moving = rows[first + BASE, k] + rows[first + IN_MOTION, k]
        if moving != sigma:  # between both, which may lie far apart, it stays positive
            sigma += (moving - sigma) * math.tanh((speed / own[SPEED]) ** 2)
        sigma += rows[first + PER_VELOCITY, k] * speed
        sigma += rows[first + PER_ACCELERATION, k] * abs(qd[k] - rows[VELOCITY, k]) / long
        z[k] = off / sigma
    total = 0.0
    for k in range(n):
        part = 0.0
        for j in range(k + U(1)):
            part += whitening[i * n + k, j] * z[j]
        total += part * part
    return math.sqrt(total)


@uncounted_kernel(
    "int64(matrix, matrix, vector, matrix, float64, float64, vector, vector, vector, float64)",
    on_request=True,
)
def find_contact(ring, rows, own, whitening, t, dt, qd, mean, error, debounce):
    """Take the mean external torque of a step and the bound of its error; return 0 (clear),
    1 (contact) or 2 (collision).
    """
    _follow_velocity(rows, own, qd, dt)
    new, score = _keep(ring, own, t, dt, mean, error), 0.0
    own[UNREST] = still_unrest(own[UNREST], qd, dt, own[SPEED], own[REST_TIME_CONSTANT])
    for i in range(U(2)):
        if own[THRESHOLDS + i] == 0.0:
            continue
        share = _distance(ring, rows, own, whitening, qd, new, i) / own[THRESHOLDS + i]
        if share >= score:
            for k in range(U(qd.size)):
                rows[DEVIATION, k] = abs(rows[WORK, k]) / own[THRESHOLDS + i]
        score = max(score, share)
    own[SCORE] = score
    if own[LEVEL] == 0.0:
        _begin(own, score, t, dt, debounce)
    else:
        own[PEAK] = max(score, own[PEAK] * math.exp(-dt / PEAK_TIME))
        if score < max(RELEASE, FALL * own[PEAK]):
            own[LEVEL], own[FELL], own[VALLEY] = 0.0, t, score
        elif score < RELEASE * own[COLLISION_SCORE]:
            own[LEVEL] = 1.0
    if own[LEVEL] != 0.0 and score >= own[COLLISION_SCORE]:
        own[LEVEL] = 2.0
    return int(own[LEVEL])


@inline
def _begin(own, score, t, dt, debounce):
    """Begin a contact at a score of 1; soon after another one, the score must also rise above the
    valley since then and the fading echo of its peak.
    """
    since, limit = t - own[FELL], 1.0
    own[VALLEY] = min(own[VALLEY] + VALLEY_RATE * dt, score)
    if since < REST_TIME:
        limit = max(limit, own[VALLEY] + RISE)
    limit += ECHO * own[PEAK] * math.exp(-since / ECHO_TIME)
    own[ABOVE] = own[ABOVE] + dt if score >= limit else 0.0
    if own[ABOVE] > debounce:
        own[LEVEL], own[PEAK] = 1.0, score


@inline
def _tare(rows, own, mean, dt):
    """Average the first moments, anew from the long window while the torque is not steady."""
    n, window = U(mean.size), own[WINDOWS + U(1)]
    own[LEVEL] = own[PEAK] = 0.0  # the score was that of the bias
    own[TARE_TIME] += dt
    own[FIRST_TIME] += dt
    steady = own[SCORE] < own[DOUBT] or own[THRESHOLDS + U(1)] == 0.0
    if window < own[TARE_TIME] < LONGEST_TARE * own[START_TIME] and not steady:
        own[FIRST_TIME] = window
        for k in range(n):
            rows[FIRST, k] = rows[LONG + MEAN, k] * window
    else:
        for k in range(n):
            rows[FIRST, k] += mean[k] * dt
    if own[FIRST_TIME] >= own[START_TIME]:
        own[TARED] = 1.0
    for k in range(n):
        start, most = rows[FIRST, k] / own[FIRST_TIME], rows[START_LIMIT, k]
        # Before, it may exceed its limit: only changes count
        rows[BIAS, k] = min(max(start, -most), most) if own[TARED] != 0.0 else start


@inline
def learn_bias(rows, own, mean, t, dt, score):
    """Follow the bias while the arm is untouched; score: of all tests. Return whether the bias at
    the start is still being averaged.
    """
    n = U(mean.size)
    if own[RATE] == 0.0:
        return False
    if own[TARED] == 0.0:
        _tare(rows, own, mean, dt)
        return True
    released = own[LEVEL] == 0.0 and t - own[FELL] < REST_TIME
    # Of an arm that comes to rest the friction of its motion is learnt, all that is no contact:
    # frozen, it would become an alarm as the arm's noise fades
    doubt = 1.0 if COME_TO_REST < own[UNREST] < 1.0 else own[DOUBT]
    calm = max(doubt, own[VALLEY] + HALF_RISE) if released else doubt
    own[CALM] = own[CALM] + dt if score < calm else 0.0
    if own[CALM] >= own[QUIET]:
        blend = -math.expm1(-own[RATE] * dt)
        for k in range(n):
            b = rows[BIAS, k] + blend * (mean[k] - rows[BIAS, k])
            rows[BIAS, k] = min(max(b, -rows[LIMIT, k]), rows[LIMIT, k])
    return False


@kernel("void(vector, matrix, boolean[::1], float64, matrix, boolean[::1])")
def windowed_means(t, external, usable, window, y, filled):
    """Write the windowed means y (T, n) of a recording, as `find_contact` takes them.

    external (T, n): mean external torque of each step; usable (T,): windows hold only such steps.
    """
    n, tail = external.shape[1], 0
    R = np.zeros((t.size, n))
    for k in range(1, t.size):
        if not usable[k]:
            tail = k
            continue
        for j in range(n):
            R[k, j] = R[k - 1, j] + external[k, j] * (t[k] - t[k - 1])
        while tail + 1 < k and t[k] - t[tail] > LONGEST * window:
            tail += 1
        span = t[k] - t[tail]
        filled[k] = span >= SHORTEST * window
        if filled[k]:
            for j in range(n):
                y[k, j] = (R[k, j] - R[tail, j]) / span


@kernel("void(vector, matrix, boolean[::1], float64, matrix)")
def followed_bias(t, y, quiet, rate, bias):
    """Write the bias (T, n) that follows y (T, n) at a rate [1/s] where it is quiet (T,).

    After a contact it begins anew: friction may hold another torque in the joints.
    """
    started = False
    for k in range(U(t.size)):
        for j in range(U(y.shape[1])):
            if k > 0:
                bias[k, j] = bias[k - U(1), j]
            if quiet[k]:
                blend = -math.expm1(-rate * (t[k] - t[k - U(1)])) if started else 1.0
                bias[k, j] += blend * (y[k, j] - bias[k, j])
        started = quiet[k]


class NoiseDetector:
    """Memory of the increments, the bias and the present event of one robot."""

    def __init__(self, model: RobotModel, noise: NoiseSettings, bias: BiasSettings) -> None:
        n = model.n
        self.model = model
        self.active = noise.short.threshold > 0.0 or noise.long.threshold > 0.0
        if self.active:
            _ = find_contact.compiled
        self.ring = np.zeros((CAPACITY if self.active else 1, 2 * n + 1))
        self.rows, self.own = np.ones((int(ROWS), n)), np.zeros(int(SCALARS))
        self.whitening = np.zeros((2 * n, n))
        self.rows[: int(SHORT)] = 0.0
        for i, window in enumerate((noise.short, noise.long)):
            self.own[int(WINDOWS) + i] = window.window
            self.own[int(THRESHOLDS) + i] = window.threshold
            first = int(SHORT) + i * int(WINDOW_ROWS)
            sigma = {
                BASE: window.base,
                IN_MOTION: window.in_motion,
                PER_VELOCITY: window.per_velocity,
                PER_ACCELERATION: window.per_acceleration,
                AT_REST: resting(window),
            }
            for row, values in sigma.items():
                self.rows[first + int(row)] = per_joint(model, "noise", np.asarray(values))
            self.whitening[i * n : (i + 1) * n] = whitening(window.correlation, n)
        scalars = {
            SPEED: noise.speed,
            COLLISION_SCORE: noise.collision,
            REST_TIME_CONSTANT: noise.rest_time,
            RATE: bias.rate,
            DOUBT: bias.doubt,
            QUIET: bias.quiet,
            START_TIME: bias.start_time,
        }
        for place, value in scalars.items():
            self.own[int(place)] = value
        self.rows[int(START_LIMIT)] = per_joint(model, "bias.start_limit", bias.start_limit)
        self.rows[int(LIMIT)] = per_joint(model, "bias.limit", bias.limit)

    @property
    def memory(self) -> tuple[Array, Array, Array, Array]:
        """The state, as `find_contact` takes it."""
        return self.ring, self.rows, self.own, self.whitening

    @property
    def bias(self) -> Array:
        """Bias (n,) [N m or N]; a copy."""
        return self.rows[int(BIAS)].copy()

    @property
    def limit(self) -> Array:
        """Largest bias (n,) [N m or N]."""
        return self.rows[int(LIMIT)]

    @property
    def taring(self) -> bool:
        """Whether the bias at the start is still being averaged."""
        return bool(self.own[int(RATE)] > 0.0 and self.own[int(TARED)] == 0.0)

    def forget(self) -> None:
        """Forget the bias, too: it is averaged anew."""
        self.own[int(TARED)] = 0.0
        restart_noise(self.rows, self.own)

    def tare(self, mean: Array) -> None:
        """Take this residual without bias (n,) [N m or N] as the bias, or raise."""
        limit = self.rows[int(LIMIT)]
        if (np.abs(mean) > limit).any():
            k = int(np.argmax(np.abs(mean) - limit))
            raise ArgumentError(
                f"joint '{self.model.joint_names[k]}' feels {mean[k]:.3g}, more than bias.limit, "
                f"{limit[k]:.3g}: is the arm touched, or does it carry a payload?"
            )
        self.rows[int(BIAS)] = mean
        self.own[int(TARED)] = 1.0

    def continue_from(self, other: "NoiseDetector") -> None:
        """Continue where another one of the same robot stands."""
        for place in STATE:
            self.own[int(place)] = other.own[int(place)]
        for row in (BIAS, FIRST, DEVIATION, VELOCITY):
            self.rows[int(row)] = other.rows[int(row)]
        limit = self.rows[int(LIMIT)]
        self.rows[int(BIAS)] = np.clip(self.rows[int(BIAS)], -limit, limit)
        if self.ring.shape == other.ring.shape:
            self.ring[:] = other.ring
        else:  # the test was switched on or off
            restart_noise(self.rows, self.own)


def whitening(correlation: tuple[float, ...], n: int) -> Array:
    """Return W (n, n), lower triangular, with W C W^T = 1.

    correlation: of n joints, row by row below the diagonal of C; a single 0: none.
    """
    C = correlation_matrix(correlation, n)
    try:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(C)))
    except np.linalg.LinAlgError:
        raise ArgumentError("correlation must be that of a positive definite matrix") from None


def correlation_matrix(correlation: tuple[float, ...], n: int) -> Array:
    """Return C (n, n) of n joints from its numbers below the diagonal; a single 0: none."""
    C = np.eye(n)
    if correlation == (0.0,):
        return C
    if len(correlation) != n * (n - 1) // 2:
        raise ArgumentError(
            f"correlation must be {n * (n - 1) // 2} numbers for {n} joints, below the diagonal "
            f"row by row, or a single 0; got {len(correlation)}"
        )
    C[np.tril_indices(n, -1)] = correlation
    return np.asarray(C + np.tril(C, -1).T)


def moving_share(speed: Array, onset: float) -> Array:
    """Return how much of its noise in motion a joint has at a speed: 0 at rest, 1 beyond onset."""
    return np.asarray(np.tanh((speed / onset) ** 2))


def resting(window: NoiseWindow) -> Array:
    """Return the standard deviations of an arm that has rested (n,) or (1,) [N m or N]."""
    rest, base = np.broadcast_arrays(np.array(window.at_rest), np.array(window.base))
    return np.where(rest > 0.0, rest, base)


def deviations(window: NoiseWindow, speed: Array, onset: float) -> Array:
    """Return the standard deviations (n,) or (T, n) [N m or N] at steady speeds of that shape.

    An arm whose joints are all slow is taken for one that has rested.
    """
    still = (speed <= RESTING * onset).all(axis=-1, keepdims=True)
    low = np.where(still, resting(window), np.array(window.base))
    moving = np.array(window.base) + np.array(window.in_motion)
    between = low + (moving - low) * moving_share(speed, onset)
    return np.asarray(between + np.array(window.per_velocity) * speed)


def mean_noise(model: RobotModel, settings: MonitorSettings, speed: Array) -> Array:
    """Return the covariance (n, n) of the mean residual of a contact, at joint speeds (n,).

    It is that of the long window where it is tuned, else of the short one. Without either, the
    deviations are a share of the contact thresholds.
    """
    noise, n = settings.noise, model.n
    for window in (noise.long, noise.short):
        if window.threshold > 0.0:
            sigma = np.broadcast_to(deviations(window, speed, noise.speed), (n,))
            return correlation_matrix(window.correlation, n) * np.outer(sigma, sigma)
    limit = np.broadcast_to(settings.contact.thresholds(model).at(speed[None]), (1, n))[0]
    return np.diag(np.maximum(NOISE_PER_THRESHOLD * limit, MIN_SIGMA) ** 2)
