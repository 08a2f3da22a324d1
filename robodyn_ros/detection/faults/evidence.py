"""Evidence for each fault hypothesis since the onset of a case, recursively, block by block.

Each joint's y (see `blocks`) is

    y = F phi + slow error + white noise

with the columns F of a hypothesis from its onset on and a normal prior of phi; the slow error is
a first-order process. A Kalman filter of that error, with gains that do not depend on the data,
whitens y and all columns alike, so the sums of products of the whitened columns are all that the
marginal likelihood of each hypothesis needs:

    2 log Z = b' (A + L)^-1 b - log det(1 + A L^-1) + const,     A = F~'F~,  b = F~'y~

A touch may load several joints, each with a torque of any course: quiet, constant, or a
first-order process of one of several sizes and times. All evidence fades with the window's time
constant.

Several onsets are tried, from the alarm itself to well before it; before its onset a hypothesis
says that all is quiet. The block of the alarm, which may hold the onset, counts for none.
"""

import math

from ...dynamics.compile import U1, inline, uncounted_kernel
from ...model.packed_model import U
from .blocks import (
    CAPACITY,
    COLUMNS,
    DECAY,
    DECAYS,
    DEVIATION,
    ERROR_SHARE,
    GAIN,
    MASS,
    ONE,
    SECONDS,
    Y,
    noise_of,
)
from .payload_columns import UNKNOWNS

ONSETS = (0.0, 0.06, 0.3, 1.0)  # [s] before the alarm
STARTS = U(4)
# Courses of a touch: standard deviations in units of the noise, for each of `blocks.TIMES`
SIZES = (3.0, 10.0, 30.0, 100.0)
COURSES = U(8)
# Per joint and onset: evidence of quiet, then of each course with its estimate and its variance
QUIET, COURSE = U(0), U(1)
BANK = U1 + U(3) * COURSES
PAYLOAD_ERROR = 0.005  # share of a payload's torque that its estimate may leave
DRIFT = 0.02  # share by which that torque may change, as the model's errors do
# Rows of the scratch: to solve for a payload, then sums of the case, and of its two halves
SUMS = UNKNOWNS + U1
CASE, HALVES = UNKNOWNS, (UNKNOWNS + SUMS, UNKNOWNS + U(2) * SUMS)
SCRATCH = UNKNOWNS + U(3) * SUMS
# Standard deviations of a payload's mass [kg], first moment [kg m] and inertia [kg m^2]
PAYLOAD_PRIOR = (3.0, 0.4, 0.4, 0.4, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05)


@inline
def restart_evidence(gram, filters, bank):
    """Begin a case."""
    gram[:] = 0.0
    filters[:] = 0.0
    bank[:] = 0.0
    for s in range(STARTS):
        for k in range(U(bank.shape[1])):
            for i in range(COURSES):
                bank[s, k, COURSE + U(3) * i + U(2)] = SIZES[i % U(4)] ** 2


@inline
def start_evidence(ring, filters, at):
    """Continue the estimate of the slow error from before the block at row `at`."""
    for s in range(STARTS):
        for k in range(U(ring.shape[1])):
            filters[s, k, Y] = ring[at, k, COLUMNS]


@uncounted_kernel(
    "int64(float64[:, :, ::1], matrix, float64[:, :, :, ::1], float64[:, :, ::1],"
    " float64[:, :, ::1], uint64, uint64, float64, boolean)"
)
def add_block(ring, marks, gram, filters, bank, s, at, window, begun):
    """Add the block at row `at` to the sums of onset s; begun: it comes after that onset."""
    fade = math.exp(-marks[at, SECONDS] / window)
    a, gain, deviation = marks[at, DECAY], marks[at, GAIN], marks[at, DEVIATION]
    count = COLUMNS if begun else U1
    for k in range(U(ring.shape[1])):
        x = filters[s, k]
        white = x[COLUMNS:]
        for i in range(count):
            off = ring[at, k, i] - x[i]
            white[i] = off / deviation
            x[i] = a * (x[i] + gain * off)
        own, y = bank[s, k], ring[at, k, Y]
        quiet = -0.5 * white[Y] ** 2 - math.log(deviation)
        own[QUIET] = fade * own[QUIET] + quiet
        if not begun:
            for i in range(COURSES):
                own[COURSE + U(3) * i] = own[QUIET]
            continue
        sums = gram[s, k]
        for i in range(COLUMNS):
            for j in range(i, COLUMNS):
                sums[i, j] = fade * sums[i, j] + white[i] * white[j]
        for i in range(COURSES):
            c = COURSE + U(3) * i
            total = own[c + U(2)] + 1.0 - ERROR_SHARE
            off = y - own[c + U1]
            own[c] = fade * own[c] - 0.5 * (math.log(total) + off * off / total)
            part = own[c + U(2)] / total
            decay = marks[at, DECAYS + i // U(4)]
            own[c + U1] = decay * (own[c + U1] + part * off)
            left = own[c + U(2)] * (1.0 - part)
            own[c + U(2)] = decay**2 * left + SIZES[i % U(4)] ** 2 * (1.0 - decay**2)
    return 0


@inline
def skip_block(marks, filters, s, at):
    """Let the time of a block pass without evidence."""
    for k in range(U(filters.shape[1])):
        for i in range(COLUMNS):
            filters[s, k, i] *= marks[at, DECAY]


@inline
def log_sum(a, b):
    """Return log(exp(a) + exp(b))."""
    most = max(a, b)
    return most + math.log1p(math.exp(-abs(a - b)))


@inline
def fit_one(sums, column, prior):
    """Return twice the log evidence above quiet of one column, and its coefficient."""
    A, b = sums[column, column] + prior**-2, sums[Y, column]
    phi = b / A
    return b * phi - math.log(A * prior**2), phi


@inline
def score_one(sums, column, phi):
    """Return twice the log evidence above quiet of one column with this coefficient."""
    return (2.0 * sums[Y, column] - sums[column, column] * phi) * phi


@inline
def likeness(sums, column):
    """Return how much of y + column has the course of the column, 0 to 1."""
    own, mixed = sums[column, column], sums[column, column] + sums[Y, column]
    total = mixed + sums[Y, column] + sums[Y, Y]
    return mixed * mixed / max(own * total, 1e-12)


@inline
def fit_two(sums, first, second, prior, other):
    """The same of two columns: evidence, both coefficients."""
    A, B, C = sums[first, first] + prior**-2, sums[second, second] + other**-2, sums[first, second]
    b, c = sums[Y, first], sums[Y, second]
    det = A * B - C * C
    phi, psi = (B * b - C * c) / det, (A * c - C * b) / det
    return b * phi + c * psi - math.log(det * (prior * other) ** 2), phi, psi


@inline
def course_evidence(own):
    """Return the log evidence above quiet that one joint's torque takes any course."""
    best = -math.inf
    for i in range(COURSES):
        best = log_sum(best, own[COURSE + U(3) * i]) if i > 0 else own[COURSE]
    return best - math.log(float(COURSES)) - own[QUIET]


@uncounted_kernel("float64(float64[:, :, :, ::1], uint64, vector, matrix)")
def fit_payload(gram, s, phi, work):
    """Return twice the log evidence above quiet of a payload; phi: mass [kg], first moment
    [kg m] and inertia [kg m^2], then the variance of the mass [kg^2]. work: scratch.
    """
    for i in range(UNKNOWNS):
        work[i, UNKNOWNS] = 0.0
        for j in range(UNKNOWNS):
            work[i, j] = 0.0
        for k in range(U(gram.shape[1])):
            work[i, UNKNOWNS] += gram[s, k, Y, MASS + i]
            for j in range(i, UNKNOWNS):
                work[i, j] += gram[s, k, MASS + i, MASS + j]
    return _solve_payload(phi, work)


@inline
def weigh_payload(ring, rows, at, fade, work, first):
    """Add a block to the sums from row `first` of `work` on, from which a payload is estimated:
    products of its columns and of y, which is the last.

    Unlike evidence, which must bear faults of many kinds, they take the torque of a rigid body
    for exact: up to the noise, and a small share of it.
    """
    for k in range(U(ring.shape[1])):
        x = ring[at, k]
        y = x[Y] / x[ONE]
        weight = 1.0 / (noise_of(rows, k) ** 2 + (PAYLOAD_ERROR * y) ** 2) / x[ONE] ** 2
        for i in range(SUMS):
            part = weight * (x[MASS + i] if i < UNKNOWNS else x[Y])
            for j in range(i, SUMS):
                if k == 0:
                    work[first + i, j] *= fade
                work[first + i, j] += part * (x[MASS + j] if j < UNKNOWNS else x[Y])


@inline
def estimate_payload(phi, work, first):
    """Write the payload of the sums from row `first` of `work` on, as `fit_payload` does; return
    the weighted square of y that it leaves.
    """
    explained = 0.0
    for i in range(UNKNOWNS):
        for j in range(SUMS):
            work[i, j] = work[first + i, j]
    _solve_payload(phi, work)
    for i in range(UNKNOWNS):
        explained += work[first + i, UNKNOWNS] * phi[i]
    return work[first + UNKNOWNS, UNKNOWNS] - explained


@uncounted_kernel("float64(float64[:, :, ::1], matrix, uint64, uint64, vector, matrix)")
def payload_drift(ring, rows, first, count, phi, work):
    """Return how much better y of the blocks from number `first` to `count` is explained by two
    payloads, one for each half of the time, than by one, over what is usual of a payload:
    parameter constancy [Chow1960]. That of a push, which does not weigh, changes as the arm turns.
    """
    for row in range(HALVES[0], HALVES[1] + SUMS):
        for j in range(SUMS):
            work[row, j] = 0.0
    middle, left = first + (count - first) // U(2), 0.0
    for number in range(first, count):
        half = HALVES[0] if number < middle else HALVES[1]
        weigh_payload(ring, rows, U(number) % CAPACITY, 1.0, work, half)
    for half in HALVES:
        left += estimate_payload(phi, work, half)
    for i in range(SUMS):
        for j in range(i, SUMS):
            work[HALVES[0] + i, j] += work[HALVES[1] + i, j]
    whole, squares = estimate_payload(phi, work, HALVES[0]), work[HALVES[1] - U1, UNKNOWNS]
    free = max(float((count - first) * U(ring.shape[1])) - 2.0 * float(UNKNOWNS), 1.0)
    usual = float(UNKNOWNS) * max(left, 0.0) / free + DRIFT**2 * squares
    return (whole - left) / max(usual, 1e-12)


@inline
def _solve_payload(phi, work):
    """Solve for the payload with its prior. work: upper triangle of the sums, right-hand side."""
    size = UNKNOWNS
    for i in range(size):
        work[i, i] += PAYLOAD_PRIOR[i] ** -2
    # A = L L', L in the lower triangle; b' A^-1 b is the sum of the squares of L^-1 b
    gain, first = 0.0, 0.0
    for i in range(size):
        for j in range(i + U1):
            total = work[j, i] if j < i else work[i, i]
            for m in range(j):
                total -= work[i, m] * work[j, m]
            if i == j:
                work[i, i] = math.sqrt(max(total, 1e-12))
            else:
                work[i, j] = total / work[j, j]
        total = work[i, size]
        for m in range(i):
            total -= work[i, m] * work[m, size]
        work[i, size] = total / work[i, i]
        gain += work[i, size] ** 2 - 2.0 * math.log(work[i, i] * PAYLOAD_PRIOR[i])
    for r in range(size):
        row = size - U1 - r
        total = work[row, size]
        for m in range(row + U1, size):
            total -= work[m, row] * phi[m]
        phi[row] = total / work[row, row]
    # Variance of the mass: the first of A^-1, by L^-1 of the first unit vector
    for i in range(size):
        total = 1.0 if i == 0 else 0.0
        for m in range(i):
            total -= work[i, m] * work[m, size]
        work[i, size] = total / work[i, i]
        first += work[i, size] ** 2
    phi[size] = first
    return gain
