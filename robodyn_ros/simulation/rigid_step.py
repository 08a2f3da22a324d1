"""Compiled time step of an arm: external forces, friction, stops, then forward dynamics.

In an elastic joint the motor is a body of its own, with friction and stops, and the state is
x = (q, theta), [Khalil2019] (7.35). Tables are flat, one row each:

    loads      row of the body, point (3) on it, force (3), torque (3) in the base axes
    probes     row of the body, point (3) on it, radius: a ball that can touch obstacles
    obstacles  plane: 0, a point (3) of it, unit normal (3); sphere: 1, centre (3), radius, 0, 0;
               then stiffness [N/m] and damping [N s/m^2] (multiplied by the depth)
    drives     friction, as in `packed_model`; stop: lowest and highest position, stiffness,
               damping; motor: limit, gain, bias; spring between motor and joint: stiffness,
               damping; rotor inertia; viscous and Coulomb friction of the link, width of its step
               (these six for elastic joints)

The state of dry friction of each joint, s, is integrated exactly at the speed of each stage.
"""

import math

from ..dynamics.compile import U1, U2, U3, index, inline, kernel
from ..dynamics.forward_dynamics import _articulated_bodies, _through_mass_matrix
from ..dynamics.friction import friction_of_drive, sliding
from ..dynamics.joints import R_, o_, place_base, place_bodies
from ..dynamics.vector import ZERO, add, column_z, cross, dot, load3, load9, matvec, scale, sub
from ..model import packed_model as at
from ..model.packed_model import U

LOAD, PROBE, OBSTACLE, DRIVE = U(10), U(5), U(9), U(22)
LOWEST, HIGHEST, STOP, STOP_DAMPING = (U(k) for k in range(9, 13))
LIMIT, GAIN, BIAS = (U(k) for k in range(13, 16))
SPRING, SPRING_DAMPING, ROTOR = (U(k) for k in range(16, 19))
LINK_VISCOUS, LINK_COULOMB, LINK_WIDTH = (U(k) for k in range(19, 22))
SEMI_IMPLICIT, FOURTH_ORDER = 0, 1


@inline
def _point(block, b, on_body):
    return add(load3(block, b + o_), matvec(load9(block, b + R_), on_body))


@inline
def _velocity(block, b, place, qd):
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
    """Return the force of obstacle j on a ball; damping grows with depth, so it never pulls."""
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
def _external(block, loads, probes, obstacles, q, qd, ext):
    for k in range(index(block[at.COORDINATES])):
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


@inline
def _driven(drives, d, s, dt, x, v, tau):
    """Return a motor's torque less friction and the torque of the joint's stop; s is dt old."""
    left = tau - friction_of_drive(drives, d, U1, sliding(drives, d, U1, s, v, dt), v, tau)
    beyond = max(x - drives[d + HIGHEST], 0.0) + min(x - drives[d + LOWEST], 0.0)
    if beyond != 0.0:
        left -= drives[d + STOP] * beyond + drives[d + STOP_DAMPING] * v
    return left


@kernel(
    "int64(vector, vector, vector, vector, vector, boolean, int64, int64, float64,"
    " vector, vector, vector, boolean)"
)
def rigid_step(
    block, drives, loads, probes, obstacles, coupled, method, substeps, dt, command, state,
    scratch, elastic,
):  # fmt: skip
    """Integrate (x, xd, mean tau_ext, motor tau) over dt; return 1 if the motion is not finite.

    x is q, or (q, theta) in an arm with elastic joints.
    """
    n = index(block[at.COORDINATES])
    N = n + n if elastic else n
    x, xd = state[:N], state[N : U2 * N]
    s, mean = state[U2 * N : U2 * N + n], state[U2 * N + n : U2 * N + U2 * n]
    tau = state[U2 * N + U2 * n : U2 * N + U3 * n]
    y, yd = scratch[:N], scratch[N : U2 * N]
    ydd, sum_v, sum_a = (
        scratch[U2 * N : U3 * N],
        scratch[U3 * N : U(4) * N],
        scratch[U(4) * N : U(5) * N],
    )
    ext, total = scratch[U(5) * N : U(5) * N + n], scratch[U(5) * N + n : U(5) * N + n + n]
    q, qd, qdd = y[:n], yd[:n], ydd[:n]  # of the links
    h = dt / substeps
    for k in range(n):
        mean[k] = 0.0
        d = k * DRIVE
        limited = min(max(command[k], -drives[d + LIMIT]), drives[d + LIMIT])
        tau[k] = drives[d + GAIN] * limited + drives[d + BIAS]
    for _ in range(substeps):
        stages = 1 if method == SEMI_IMPLICIT else 4
        for k in range(N):
            y[k], yd[k], sum_v[k], sum_a[k] = x[k], xd[k], 0.0, 0.0
        for stage in range(stages):
            old = 0.0 if stage == 0 else (h if stage == 3 else 0.5 * h)
            _external(block, loads, probes, obstacles, q, qd, ext)
            for k in range(n):
                d = k * DRIVE
                if elastic:
                    m = n + k
                    between = drives[d + SPRING] * (y[m] - q[k])
                    between += drives[d + SPRING_DAMPING] * (yd[m] - qd[k])
                    left = _driven(drives, d, s[k], old, y[m], yd[m], tau[k])
                    ydd[m] = (left - between) / drives[d + ROTOR]
                    dry = drives[d + LINK_COULOMB] * math.tanh(qd[k] / drives[d + LINK_WIDTH])
                    total[k] = between + ext[k] - drives[d + LINK_VISCOUS] * qd[k] - dry
                else:
                    total[k] = _driven(drives, d, s[k], old, q[k], qd[k], tau[k]) + ext[k]
            if coupled:
                bad = _through_mass_matrix(block, q, qd, total, qdd)
            else:
                bad = _articulated_bodies(block, q, qd, total, qdd)
            if bad != 0:
                return 1
            weight = 1.0 if stages == 1 else (1.0 / 6.0 if stage == 0 or stage == 3 else 1.0 / 3.0)
            ahead = h if stage == 2 else 0.5 * h
            for k in range(n):
                mean[k] += weight * ext[k] / substeps
            for k in range(N):
                sum_v[k] += weight * yd[k]
                sum_a[k] += weight * ydd[k]
                y[k] = x[k] + ahead * yd[k]
                yd[k] = xd[k] + ahead * ydd[k]
        for k in range(n):  # at the drive's mean speed over the step
            m = n + k if elastic else k
            s[k] = sliding(drives, k * DRIVE, U1, s[k], xd[m] + 0.5 * h * sum_a[m], h)
        for k in range(N):
            xd[k] += h * sum_a[k]
            x[k] += h * (xd[k] if method == SEMI_IMPLICIT else sum_v[k])
    return 0
