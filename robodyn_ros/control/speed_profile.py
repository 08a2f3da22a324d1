"""The fastest rate of a clock along a path within limits, y = v^2 at evenly spaced nodes.

    minimize  sum ds / sqrt(y)      the time it takes
    |tau|              <= tau_max   tau = m y'/2 + c y + g, in the middle of each cell
    |tau' - tau| v     <= R ds      torque rate, between the cells on both sides of a node; less
                                    where c has a kink
    |q' y'/2 + q'' y|  <= qdd_max
    0 < y < y_max                   velocities, and the largest rate of the clock

Any motion along the path keeps the limits if it is slow enough. From such a start, Newton steps
on the logarithmic barrier of the limits [Boyd2004] stay strictly within them, and can end at any
time. A limit couples three nodes at most: each step is the solution of a pentadiagonal system.
"""

import math

import numpy as np

from ..dynamics.compile import inline, kernel
from ..model.packed_model import U
from .controller import Array
from .path_shape import ScalingLimits

PLAN_SHARE = 0.85  # of torque and acceleration limits
PLAN_RATE = 0.62  # of torque rates
WEIGHT = 0.02  # of the torque limit, beyond the weight
CLOCK_ACCELERATION, CLOCK_JERK = 15.0, 300.0  # limits of the clock itself [1/s, 1/s^2]
WEIGHTS = (1e3, 3e4, 3e5)  # of the time in the barrier function [1/s]
MAX_STEPS = 25  # for each of them
MIN_DECREASE = 10.0  # of the barrier function: a step that promises less ends the search
START_Y, MIN_START_Y = (
    0.5,
    1e-7,
)  # y at the start, least one tried, over y_max
START_SHARE = 0.9  # of y_max and of a given start, so that the search begins within the limits
BACKTRACK, MAX_BACKTRACKS = 0.5, 25
ARMIJO = 0.05  # of the decrease that a step promises

# Rows of a cell, n numbers each; KINK: half the second difference of c at its first node
M, C, G, Q1, Q2, KINK = (U(k) for k in range(6))
# Rows of the limits, n numbers each
TAU, RATE, QD, QDD = (U(k) for k in range(4))


@inline
def _coefficients(cells, k, j, kind, limits, ds):
    """Return a, b, g and the bound of |a y_k + b y_k+1 + g|: torque (kind 0) or acceleration."""
    if kind == 0:
        rise, mean, g, bound = cells[k, M, j], cells[k, C, j], cells[k, G, j], limits[TAU, j]
        bound = max(PLAN_SHARE * bound, min(bound, abs(g) + WEIGHT * bound))
    else:
        rise, mean, g = cells[k, Q1, j], cells[k, Q2, j], 0.0
        bound = PLAN_SHARE * limits[QDD, j]
    return 0.5 * (mean - rise / ds), 0.5 * (mean + rise / ds), g, bound


@inline
def _change(cells, k, j, ds):
    """Return a, b, d, e: the torque changes by a y_k-1 + b y_k + d y_k+1 + e at node k."""
    here, below = U(k), U(k - 1)
    up, down = 0.5 * cells[here, M, j] / ds, 0.5 * cells[below, M, j] / ds
    c_up, c_down = 0.5 * cells[here, C, j], 0.5 * cells[below, C, j]
    e = cells[here, G, j] - cells[below, G, j]
    return down - c_down, c_up - c_down - up - down, up + c_up, e


@inline
def _barrier(cells, limits, y_max, ds, y, weight):
    """Return the barrier function of y, inf beyond a limit."""
    nodes, total = y.size, 0.0
    for k in range(nodes):
        i = U(k)
        if y[i] <= 0.0 or y[i] >= y_max[i]:
            return np.inf
        root = 1.0 / math.sqrt(y[i])
        product = y[i] * (1.0 - y[i] / y_max[i])
        total += weight * ds * root
        for j in range(U(cells.shape[2])):
            if k < nodes - 1:
                for kind in range(2):
                    a, b, g, bound = _coefficients(cells, i, j, kind, limits, ds)
                    if bound < np.inf:
                        value = (a * y[i] + b * y[U(k + 1)] + g) / bound
                        if abs(value) >= 1.0:
                            return np.inf
                        product *= 1.0 - value * value
            if 0 < k < nodes - 1 and limits[RATE, j] < np.inf:
                a, b, d, e = _change(cells, k, j, ds)
                bound = PLAN_RATE * limits[RATE, j] * ds
                value = (a * y[U(k - 1)] + b * y[i] + d * y[U(k + 1)] + e) / bound
                most = root - abs(cells[i, KINK, j]) * y[i] / bound
                if abs(value) >= most:
                    return np.inf
                product *= most * most - value * value
            if product < 1e-100 or product > 1e100:
                total -= math.log(product)
                product = 1.0
        total -= math.log(product)
    return total


@inline
def _newton(cells, limits, y_max, ds, y, weight, work):
    """Fill rows of `work`: gradient and three diagonals of the barrier function's Hessian.

    What the curve of the torque rate's bound adds is left out: it is negative.
    """
    nodes = y.size
    slope, h0, h1, h2 = work[0], work[1], work[2], work[3]
    for k in range(nodes):
        slope[U(k)] = h0[U(k)] = h1[U(k)] = h2[U(k)] = 0.0
    for k in range(nodes):
        i = U(k)
        root = 1.0 / math.sqrt(y[i])
        cube = root / y[i]
        slope[i] += -0.5 * weight * ds * cube - 1.0 / y[i] + 1.0 / (y_max[i] - y[i])
        h0[i] += 0.75 * weight * ds * cube / y[i] + 1.0 / y[i] ** 2 + 1.0 / (y_max[i] - y[i]) ** 2
        for j in range(U(cells.shape[2])):
            if k < nodes - 1:
                for kind in range(2):
                    a, b, g, bound = _coefficients(cells, i, j, kind, limits, ds)
                    if bound < np.inf:
                        value = a * y[i] + b * y[U(k + 1)] + g
                        up, down = 1.0 / (bound - value), 1.0 / (bound + value)
                        first, second = up - down, up * up + down * down
                        slope[i] += a * first
                        slope[U(k + 1)] += b * first
                        h0[i] += a * a * second
                        h0[U(k + 1)] += b * b * second
                        h1[i] += a * b * second
            if 0 < k < nodes - 1 and limits[RATE, j] < np.inf:
                a, b, d, e = _change(cells, k, j, ds)
                bound = PLAN_RATE * limits[RATE, j] * ds
                value = a * y[U(k - 1)] + b * y[i] + d * y[U(k + 1)] + e
                kink = abs(cells[i, KINK, j])
                less = 0.5 * bound * cube + kink  # by which the bound falls with y
                bound = bound * root - kink * y[i]
                up, down = 1.0 / (bound - value), 1.0 / (bound + value)
                first, second = up - down, up * up + down * down
                b_up, b_down = b + less, b - less
                slope[U(k - 1)] += a * first
                slope[i] += b_up * up - b_down * down
                slope[U(k + 1)] += d * first
                h0[U(k - 1)] += a * a * second
                h0[i] += (b_up * up) ** 2 + (b_down * down) ** 2
                h0[U(k + 1)] += d * d * second
                across = b_up * up * up + b_down * down * down
                h1[U(k - 1)] += a * across
                h1[i] += d * across
                h2[U(k - 1)] += a * d * second


@inline
def _solve(work, x):
    """Solve for the step x = -H^-1 slope by Cholesky's method; return slope . x."""
    slope, h0, h1, h2 = work[0], work[1], work[2], work[3]
    nodes = x.size
    for k in range(nodes):  # H = L D L^T; D in h0, L in h1 and h2
        i = U(k)
        d = h0[i]
        if k + 1 < nodes:
            one, two = h1[i], h2[i]
            h0[U(k + 1)] -= one * one / d
            if k + 2 < nodes:
                h1[U(k + 1)] -= one * two / d
                h0[U(k + 2)] -= two * two / d
            h1[i], h2[i] = one / d, two / d
    for k in range(nodes):
        x[U(k)] = -slope[U(k)]
    for k in range(nodes):
        if k + 1 < nodes:
            x[U(k + 1)] -= h1[U(k)] * x[U(k)]
        if k + 2 < nodes:
            x[U(k + 2)] -= h2[U(k)] * x[U(k)]
    for k in range(nodes - 1, -1, -1):
        value = x[U(k)] / h0[U(k)]
        if k + 1 < nodes:
            value -= h1[U(k)] * x[U(k + 1)]
        if k + 2 < nodes:
            value -= h2[U(k)] * x[U(k + 2)]
        x[U(k)] = value
    total = 0.0
    for k in range(nodes):
        total += slope[U(k)] * x[U(k)]
    return total


@kernel("int64(float64[:, :, ::1], matrix, vector, float64, vector, vector, matrix)", nogil=True)
def _fastest(cells, limits, y_max, ds, weights, y, work):
    """Make y (N + 1,), strictly within the limits of N cells, faster; return the steps taken."""
    step, trial, taken = work[4], work[5], 0
    for w in range(weights.size):
        weight = weights[U(w)]
        value = _barrier(cells, limits, y_max, ds, y, weight)
        for _ in range(MAX_STEPS):
            _newton(cells, limits, y_max, ds, y, weight, work)
            promised = _solve(work, step)
            if not promised < -MIN_DECREASE:
                break
            size, better = 1.0, np.inf
            for _ in range(MAX_BACKTRACKS):
                for k in range(U(y.size)):
                    trial[k] = y[k] + size * step[k]
                better = _barrier(cells, limits, y_max, ds, trial, weight)
                if better <= value + ARMIJO * size * promised:
                    break
                size *= BACKTRACK
            if not better < value:
                break
            taken += 1
            value = better
            for k in range(U(y.size)):
                y[k] = trial[k]
    return taken


@kernel("boolean(float64[:, :, ::1], matrix, vector, float64, vector)", nogil=True)
def _is_within(cells, limits, y_max, ds, y):
    """Return whether y is strictly within the limits."""
    return _barrier(cells, limits, y_max, ds, y, 0.0) < np.inf


def speed_profile(
    cells: Array, limits: ScalingLimits, ds: float, y_max: Array, start: Array | None = None
) -> Array:
    """Return y (N + 1,) below y_max, within the limits of N cells (N, 6, n).

    start: within the limits, but for y_max; with it, fewer steps are needed.
    """
    count = len(cells)
    # The clock is one more joint, of inertia 1
    clock = np.zeros((count, 6, 1))
    clock[:, int(M)] = 1.0
    cells = np.ascontiguousarray(np.concatenate([cells, clock], axis=2))
    more = (CLOCK_ACCELERATION, CLOCK_JERK, np.inf, np.inf)
    bounds = np.array([np.append(limit, x) for limit, x in zip(limits, more, strict=True)])
    y_max, weights = np.ascontiguousarray(y_max), np.array(WEIGHTS)
    if start is not None:
        y = START_SHARE * min(1.0, float((y_max / start).min())) * start
        weights = weights[1:]
    if start is None or not _is_within(cells, bounds, y_max, ds, y):
        y = np.full(count + 1, START_Y * y_max.min())
    least = MIN_START_Y * y_max.min()
    while not _is_within(cells, bounds, y_max, ds, y) and y.min() > least:
        y *= 0.5
    if y.min() > least:
        _fastest(cells, bounds, y_max, ds, weights, y, np.zeros((6, count + 1)))
    return y
