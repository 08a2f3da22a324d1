"""One step of the clock of `LiveScaling`, compiled.

    qd = q' v,   qdd = q' a + q'' v^2,   tau = m a + c v^2 + g

Limits of torque, torque rate and acceleration at the next sample are intervals of the clock's
acceleration a. Within these it approaches the rate of the table.
"""

import math

import numpy as np

from ..dynamics.compile import inline, kernel
from ..dynamics.newton_euler import _gravity, _newton_euler
from ..model.packed_model import U
from .path_table import LAG, LATE, ON_TIME, Q1, Q2, USED, Q
from .speed_profile import QDD, RATE, TAU

STEP_SHARE = 0.98  # of the limits, used by the reference; the rest is for feedback
STEP_RATE = 0.8  # the same of torque rates, of which feedback needs more
MAX_STEP = 5e-3  # [s]; a longer one is divided
MAX_ACCELERATION, MAX_JERK = (
    30.0,
    1500.0,
)  # of the clock [1/s, 1/s^2], where nothing else limits it
APPROACH = 40.0  # [1/s], at which the clock takes on the wanted rate
APPROACH_JERK = 0.4  # of what the torque rate allows, counted on for the end of it
CATCH_UP = 4.0  # [1/s], at which a delay is made up for
NO_DELAY, NO_DIFFERENCE = 1e-7, 1e-6  # [s], [1]: differences from the trajectory that count as 0
NO_TORQUE = 0.5  # of the torque rate's step: less than this is not corrected by the clock

# Rows of the state of the joints, n numbers each
TORQUE, TAU_0, TAU_1, QD_X, QDD_X = (U(k) for k in range(5))
# State of the clock
S, V, A, B, WANTED = (U(k) for k in range(5))


@inline
def _on_path(table, spacing, s, q, q1, q2, q3):
    """Evaluate the path and three derivatives at s [s] after its first node."""
    cells = table.shape[0] - 1
    k = U(min(max(int(s / spacing), 0), cells - 1))
    x, h = min(max(s / spacing - k, 0.0), 1.0), spacing
    for j in range(U(table.shape[2])):
        p0, v0, w0 = table[k, Q, j], h * table[k, Q1, j], h * h * table[k, Q2, j]
        p1, v1, w1 = (
            table[k + U(1), Q, j],
            h * table[k + U(1), Q1, j],
            h * h * table[k + U(1), Q2, j],
        )
        d, e, f = p1 - p0 - v0 - 0.5 * w0, v1 - v0 - w0, w1 - w0
        c3, c4, c5 = (
            10.0 * d - 4.0 * e + 0.5 * f,
            -15.0 * d + 7.0 * e - f,
            6.0 * d - 3.0 * e + 0.5 * f,
        )
        q[j] = p0 + x * (v0 + x * (0.5 * w0 + x * (c3 + x * (c4 + x * c5))))
        q1[j] = (v0 + x * (w0 + x * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5)))) / h
        q2[j] = (w0 + x * (6.0 * c3 + x * (12.0 * c4 + x * 20.0 * c5))) / (h * h)
        q3[j] = (6.0 * c3 + x * (24.0 * c4 + x * 60.0 * c5)) / (h * h * h)


@inline
def _between(row, spacing, s):
    """Return a number of the nodes, and its slope, between two of them."""
    last = row.shape[0] - 1
    k = min(max(int(s / spacing), 0), last - 1)
    x = min(max(s / spacing - k, 0.0), 1.0)
    value = (1.0 - x) * row[U(k)] + x * row[U(k + 1)]
    middle = row[U(k + 1)] - row[U(k)]
    if x < 0.5:
        other = row[U(k)] - row[U(k - 1)] if k > 0 else middle
        slope = (0.5 - x) * other + (0.5 + x) * middle
    else:
        other = row[U(k + 2)] - row[U(k + 1)] if k + 2 <= last else middle
        slope = (1.5 - x) * middle + (x - 0.5) * other
    return value, slope / spacing


@inline
def _substep(
    block, table, bounds, limits, own, motion, spacing, clock, ceiling, ramp, catch_up, dt
):
    """Advance the clock by dt [s] at most MAX_STEP; return 0, or 1 if a number is not finite."""
    n = U(table.shape[2])
    q, q1, q2, q3 = motion[0], motion[1], motion[2], motion[3]
    s, v, a = clock[S], clock[V], clock[A]
    clock[WANTED] += ceiling * dt
    v_next = max(v + a * dt, 0.0)
    s_next = s + dt * (v + 0.5 * a * dt)
    lag, _ = _between(bounds[LAG], spacing, s)
    # The rate wanted: that of the table, larger while there is a delay
    y, slope = _between(bounds[ON_TIME], spacing, s_next)
    delay = clock[WANTED] - ceiling * dt - (s - lag)
    if delay > 0.0 and catch_up > 1.0:
        share = min(CATCH_UP * delay / (catch_up - 1.0), 1.0)
        y_late, slope_late = _between(bounds[LATE], spacing, s_next)
        y, slope = y + share * (y_late - y), slope + share * (slope_late - slope)
    rate = ceiling * math.sqrt(y)
    change = 0.5 * ceiling * ceiling * slope + ramp * math.sqrt(y)
    # Torque at the next sample, TAU_0 + TAU_1 a
    _on_path(table, spacing, s_next, q, q1, q2, q3)
    for j in range(n):
        own[QD_X, j] = q1[j] * v_next
        own[QDD_X, j] = q2[j] * v_next * v_next
    if _newton_euler(block, q, own[QD_X], own[QDD_X], own[TAU_0]) != 0:
        return 1
    for j in range(n):
        own[QDD_X, j] += q1[j]
    if _newton_euler(block, q, own[QD_X], own[QDD_X], own[TAU_1]) != 0:
        return 1
    if _gravity(block, q, own[QD_X]) != 0:
        return 1
    lo, hi = -MAX_ACCELERATION, MAX_ACCELERATION
    lo_t, hi_t = -np.inf, np.inf  # by torque and its rate
    jerk = MAX_JERK
    node = U(min(max(int(s_next / spacing + 0.5), 0), table.shape[0] - 1))
    used = max(bounds[USED, node], STEP_RATE)
    for j in range(n):
        own[TAU_1, j] -= own[TAU_0, j]
        jerk = min(jerk, limits[RATE, j] / max(abs(own[TAU_1, j]), 1e-9))
        if v_next > 0.0:  # v at the next sample depends on a as well
            part = (own[TAU_0, j] - own[QD_X, j]) / v_next * dt
            own[TAU_1, j] += part
            own[TAU_0, j] -= part * a
        slope, base = own[TAU_1, j], own[TAU_0, j]
        most, step = STEP_SHARE * limits[TAU, j], used * limits[RATE, j] * dt
        low = max(-most, own[TORQUE, j] - step) - base
        high = min(most, own[TORQUE, j] + step) - base
        if slope < 0.0:
            slope, low, high = -slope, -high, -low
        if slope * MAX_ACCELERATION > NO_TORQUE * min(step, most):
            lo_t, hi_t = max(lo_t, low / slope), min(hi_t, high / slope)
        if limits[QDD, j] < np.inf and abs(q1[j]) > 1e-9:
            slope, base = q1[j], q2[j] * v_next * v_next
            low, high = -STEP_SHARE * limits[QDD, j] - base, STEP_SHARE * limits[QDD, j] - base
            if slope < 0.0:
                slope, low, high = -slope, -high, -low
            lo, hi = max(lo, low / slope), min(hi, high / slope)
    if lo_t > hi_t:  # no acceleration keeps every limit
        lo_t, hi_t = hi_t, lo_t
    lo, hi = max(lo, lo_t), min(hi, hi_t)
    if lo > hi:
        lo = hi = min(max(hi, lo_t, -MAX_ACCELERATION), hi_t)
    # Towards the wanted rate, so that the acceleration can end there
    away = rate + 0.5 * dt * ramp * math.sqrt(y) - v - 0.5 * dt * (a + change)
    most = math.sqrt(2.0 * APPROACH_JERK * jerk * abs(away))
    wanted = change + min(max(APPROACH * away, -most), most)
    wanted = min(max(min(max(wanted, lo), hi), a - MAX_JERK * dt), a + MAX_JERK * dt)
    if ramp == 0.0 and change == 0.0 and abs(away) < NO_DIFFERENCE and lo <= 0.0 <= hi:
        wanted = 0.0
    clock[B] = (wanted - a) / dt
    clock[S] = s + dt * (v + dt * (2.0 * a + wanted) / 6.0)
    clock[V] = max(v + 0.5 * dt * (a + wanted), 0.0)
    clock[A] = wanted if clock[V] > 0.0 or wanted > 0.0 else 0.0
    on_time = abs(clock[WANTED] - (clock[S] - lag)) < NO_DELAY
    if (
        ramp == 0.0
        and on_time
        and y == 1.0
        and abs(clock[V] - ceiling) < NO_DIFFERENCE
        and abs(clock[A]) < 1e-2
    ):
        clock[S], clock[V], clock[A], clock[B] = clock[WANTED] + lag, ceiling, 0.0, 0.0
    return 0


@kernel(
    "int64(vector, float64[:, :, ::1], matrix, matrix, matrix, matrix, vector, float64, float64,"
    " float64, float64, float64)"
)
def _advance(
    block, table, bounds, limits, own, motion, clock, spacing, ceiling, slope, catch_up, dt
):
    steps = int(math.ceil(dt / MAX_STEP))
    for _ in range(steps):
        failed = _substep(
            block, table, bounds, limits, own, motion, spacing, clock, ceiling, slope, catch_up,
            dt / steps,
        )  # fmt: skip
        if failed != 0:
            return 1
        _motion(table, spacing, clock, motion)
        if _newton_euler(block, motion[0], motion[1], motion[2], own[TORQUE]) != 0:
            return 1
    return 0


@inline
def _motion(table, spacing, clock, motion):
    """Fill q, qd, qdd, qddd of the reference from the path and the clock."""
    q, q1, q2, q3 = motion[0], motion[1], motion[2], motion[3]
    _on_path(table, spacing, clock[S], q, q1, q2, q3)
    v, a, b = clock[V], clock[A], clock[B]
    for j in range(U(table.shape[2])):
        q3[j] = q3[j] * v**3 + 3.0 * q2[j] * v * a + q1[j] * b
        q2[j] = q2[j] * v * v + q1[j] * a
        q1[j] *= v
