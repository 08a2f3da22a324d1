"""One time step of a rigid arm, compiled: everything that acts on it, then its direct dynamics.

What acts on the arm besides its motors comes as flat tables, one row each:

    loads      row of the body, point (3) on it, force (3), torque (3) in the base's axes
    probes     row of the body, point (3) on it, radius: a ball that can touch obstacles
    obstacles  plane: 0, a point (3) of it, unit normal (3); sphere: 1, centre (3), radius, 0, 0;
               then stiffness [N/m] and damping [N s/m^2] (the latter times the depth)
    stops      per joint: lowest and highest position, stiffness, damping
"""

from __future__ import annotations

import math

from ..dynamics.forward import _articulated_bodies, _through_mass_matrix
from ..dynamics.kinematics import R_, o_, place_base, place_bodies
from ..dynamics.vector import (
    U1,
    U2,
    U3,
    ZERO,
    add,
    column_z,
    cross,
    dot,
    index,
    inline,
    kernel,
    load3,
    load9,
    matvec,
    scale,
    sub,
)
from ..model import block as at
from ..model.block import U

LOAD, PROBE, OBSTACLE, STOP = U(10), U(5), U(9), U(4)
SEMI_IMPLICIT, FOURTH_ORDER = 0, 1


@inline
def _point(block, b, on_body):
    return add(load3(block, b + o_), matvec(load9(block, b + R_), on_body))


@inline
def _velocity(block, b, place, qd):
    """Velocity of a point that moves with the body in row b."""
    v = ZERO
    while b != at.HEADER:
        rate = block[b + at.RATIO] * qd[index(block[b + at.COORDINATE])]
        z = scale(rate, column_z(load9(block, b + R_)))
        if block[b + at.PRISMATIC] == 0.0:
            z = cross(z, sub(place, load3(block, b + o_)))
        v = add(v, z)
        b = index(block[b + at.PARENT])
    return v


@inline
def _add_wrench(block, b, place, force, torque, ext):
    """ext += J^T (force at the place, torque)."""
    while b != at.HEADER:
        z = scale(block[b + at.RATIO], column_z(load9(block, b + R_)))
        k = index(block[b + at.COORDINATE])
        if block[b + at.PRISMATIC] == 0.0:
            arm = sub(place, load3(block, b + o_))
            ext[k] += dot(z, add(cross(arm, force), torque))
        else:
            ext[k] += dot(z, force)
        b = index(block[b + at.PARENT])


@inline
def _contact(obstacles, j, centre, radius, v):
    """Force on a ball of the robot from obstacle j: a spring whose damping grows with the depth,
    so that the force starts at zero and never pulls.
    """
    where = load3(obstacles, j + U1)
    if obstacles[j] == 0.0:
        normal = load3(obstacles, j + U(4))
        depth = radius - dot(normal, sub(centre, where))
    else:
        away = sub(centre, where)
        distance = math.sqrt(dot(away, away))
        if distance == 0.0:
            return ZERO
        normal = scale(1.0 / distance, away)
        depth = radius + obstacles[j + U(4)] - distance
    if depth <= 0.0:
        return ZERO
    stiffness, damping = obstacles[j + U(7)], obstacles[j + U(8)]
    size = stiffness * depth - damping * depth * dot(normal, v)
    return scale(max(size, 0.0), normal)


@inline
def _acceleration(
    block, friction, width, stops, loads, probes, obstacles, coupled, q, qd, tau, ext, total, qdd
):
    n = index(block[at.COORDINATES])
    for k in range(n):
        ext[k] = 0.0
    if loads.size > 0 or (obstacles.size > 0 and probes.size > 0):
        place_base(block)
        place_bodies(block, q, U(0))
        for i in range(U(0), U(loads.size), LOAD):
            b = index(loads[i])
            place = _point(block, b, load3(loads, i + U1))
            _add_wrench(block, b, place, load3(loads, i + U(4)), load3(loads, i + U(7)), ext)
        for i in range(U(0), U(probes.size), PROBE):
            b = index(probes[i])
            centre = _point(block, b, load3(probes, i + U1))
            v = _velocity(block, b, centre, qd)
            for j in range(U(0), U(obstacles.size), OBSTACLE):
                force = _contact(obstacles, j, centre, probes[i + U(4)], v)
                _add_wrench(block, b, centre, force, ZERO, ext)
    for k in range(n):
        v = qd[k]
        coulomb = friction[n + k]
        dry = coulomb
        if friction[U2 * n + k] != coulomb:
            dry += (friction[U2 * n + k] - coulomb) * math.exp(-abs(v) * friction[U3 * n + k])
        total[k] = tau[k] + ext[k] - friction[k] * v - dry * math.tanh(v / width)
        s = k * STOP
        beyond = max(q[k] - stops[s + U1], 0.0) + min(q[k] - stops[s], 0.0)
        if beyond != 0.0:
            total[k] -= stops[s + U2] * beyond + stops[s + U3] * v
    if coupled:
        return _through_mass_matrix(block, q, qd, total, qdd)
    return _articulated_bodies(block, q, qd, total, qdd)


@kernel(
    "int64(float64[::1], float64[::1], float64, float64[::1], float64[::1], float64[::1],"
    " float64[::1], boolean, int64, int64, float64, float64[::1], float64[::1], float64[::1],"
    " float64[::1], float64[::1], float64[::1])"
)
def rigid_step(
    block,
    friction,
    width,
    stops,
    loads,
    probes,
    obstacles,
    coupled,
    method,
    substeps,
    dt,
    limit,
    gain,
    bias,
    command,
    state,
    scratch,
):
    """Advance state = (q, qd, …) by dt under a command to the motors.

    Behind q and qd it receives the external torque, mean over the step, and the torque that the
    motors gave: gain * command within the limit + bias. Returns 1 if the motion is not finite.
    """
    n = index(block[at.COORDINATES])
    q, qd, mean, tau = (
        state[:n],
        state[n : U2 * n],
        state[U2 * n : U3 * n],
        state[U3 * n : U(4) * n],
    )
    x, xd = scratch[:n], scratch[n : n + n]
    ext, total = scratch[U2 * n : U3 * n], scratch[U3 * n : U(4) * n]
    qdd, sum_v, sum_a = (
        scratch[U(4) * n : U(5) * n],
        scratch[U(5) * n : U(6) * n],
        scratch[U(6) * n : U(7) * n],
    )
    h = dt / substeps
    for k in range(n):
        mean[k] = 0.0
        tau[k] = gain[k] * min(max(command[k], -limit[k]), limit[k]) + bias[k]
    for _ in range(substeps):
        stages = 1 if method == SEMI_IMPLICIT else 4
        for k in range(n):
            x[k], xd[k], sum_v[k], sum_a[k] = q[k], qd[k], 0.0, 0.0
        for stage in range(stages):
            bad = _acceleration(
                block, friction, width, stops, loads, probes, obstacles, coupled,
                x, xd, tau, ext, total, qdd,
            )  # fmt: skip
            if bad != 0:
                return 1
            weight = 1.0 if stages == 1 else (1.0 / 6.0 if stage == 0 or stage == 3 else 1.0 / 3.0)
            ahead = h if stage == 2 else 0.5 * h
            for k in range(n):
                sum_v[k] += weight * xd[k]
                sum_a[k] += weight * qdd[k]
                mean[k] += weight * ext[k] / substeps
                x[k] = q[k] + ahead * xd[k]
                xd[k] = qd[k] + ahead * qdd[k]
        for k in range(n):
            qd[k] += h * sum_a[k]
            q[k] += h * (qd[k] if method == SEMI_IMPLICIT else sum_v[k])
    return 0
