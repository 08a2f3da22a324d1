"""NE: the recursive Newton-Euler algorithm of Luh, Walker and Paul, and its special cases.

Forward over the bodies for velocities and accelerations, backward for forces and torques. Written
about the joint origins and not the centres of mass, [Khalil2019] (7.38)-(7.39), which saves work.
All vectors are in the body's own frame.
"""

from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..model import packed_model as at
from ..model.packed_model import U
from ..model.robot import RobotModel
from .compile import U1, index, inline, kernel
from .dispatch import Array, ArrayLike, bind_to, checked, evaluate, per_joint, workspace
from .friction import friction_torque
from .joints import joint_frame, row_of, set_positions, sizes
from .kinematics import external_torque
from .vector import *

# Work space of a body's row
R_ = at.WORK
r_, w_, wd_, a_, f_, n_ = (at.WORK + U(k) for k in (9, 12, 15, 18, 21, 24))
U_ = at.WORK + U(27)


@inline
def start_at_base(block):
    """Set the base at rest, accelerating against gravity."""
    base = at.HEADER
    store3(block, base + w_, ZERO)
    store3(block, base + wd_, ZERO)
    store3(block, base + a_, scale(-1.0, load3(block, at.GRAVITY)))
    for k in range(U(9)):
        block[base + U_ + k] = 0.0


@inline
def add_torques(block, bodies, s, tau):
    """Add the bodies' wrenches to the torques at tau[s]; return 0, or NaN if one is not finite."""
    bad = 0.0
    for j in range(bodies):
        b, p, k = row_of(block, bodies - U1 - j)
        f, torque = load3(block, b + f_), load3(block, b + n_)
        along_axis = torque[2] if block[b + at.PRISMATIC] == 0.0 else f[2]  # (FP)
        tau[s + k] += block[b + at.RATIO] * along_axis
        bad += 0.0 * tau[s + k]
        # Add the wrench to the parent's
        R = load9(block, b + R_)
        f = matvec(R, f)
        accumulate3(block, p + f_, f)
        accumulate3(block, p + n_, add(matvec(R, torque), cross(load3(block, b + r_), f)))
    return bad


@kernel("int64(vector, vector, vector, vector, vector)")
def _newton_euler(block, q, qd, qdd, tau):
    bodies, n, T = sizes(block, q)
    if T == 0 or qd.size != q.size or qdd.size != q.size or tau.size != q.size:
        return 1
    rotors = index(block[at.ROTORS])
    start_at_base(block)

    bad = 0.0  # becomes NaN with any number that is not finite
    for t in range(T):
        s = t * n
        bad += set_positions(block, q, s)
        for k in range(n):
            tau[s + k] = block[rotors + k] * qdd[s + k]  # the rotors

        for i in range(bodies):
            b, p, k = row_of(block, i)
            ratio = block[b + at.RATIO]
            xd, xdd = ratio * qd[s + k], ratio * qdd[s + k]
            R, r = joint_frame(block, b, i)
            revolute = block[b + at.PRISMATIC] == 0.0
            w = matvec_t(R, load3(block, p + w_))
            wd = matvec_t(R, load3(block, p + wd_))
            a = matvec_t(R, add(load3(block, p + a_), matvec(load9(block, p + U_), r)))
            if revolute:
                wd = add_z(add(wd, cross_z(w, xd)), xdd)
                w = add_z(w, xd)
            else:
                a = add_z(add(a, cross_z(w, 2.0 * xd)), xdd)
            # The force and torque (about the joint origin) that move this body
            rates = rate_matrix(wd, w, w)
            mc, J = load3(block, b + at.MOMENT), load6(block, b + at.INERTIA)
            f = add(scale(block[b + at.MASS], a), matvec(rates, mc))
            torque = add(add(symvec(J, wd), cross(w, symvec(J, w))), cross(mc, a))

            store9(block, b + R_, R)
            store3(block, b + r_, r)
            store3(block, b + w_, w)
            store3(block, b + wd_, wd)
            store3(block, b + a_, a)
            store3(block, b + f_, f)
            store3(block, b + n_, torque)
            store9(block, b + U_, rates)
        bad += add_torques(block, bodies, s, tau)
    return 0 if bad == 0.0 else 1


@kernel("int64(vector, vector, vector)")
def _gravity(block, q, tau):
    """NE at rest: only the gravity field and the first moments of mass are passed on."""
    bodies, n, T = sizes(block, q)
    if T == 0 or tau.size != q.size:
        return 1
    base = at.HEADER
    store3(block, base + a_, scale(-1.0, load3(block, at.GRAVITY)))

    bad = 0.0
    for t in range(T):
        s = t * n
        bad += set_positions(block, q, s)
        for k in range(n):
            tau[s + k] = 0.0
        for i in range(bodies):
            b, p, _ = row_of(block, i)
            R, r = joint_frame(block, b, i)
            store9(block, b + R_, R)
            store3(block, b + r_, r)
            store3(block, b + a_, matvec_t(R, load3(block, p + a_)))
            store3(block, b + f_, load3(block, b + at.MOMENT))
        for j in range(bodies):
            b, p, k = row_of(block, bodies - U1 - j)
            a, mc, m = load3(block, b + a_), load3(block, b + f_), block[b + at.MASS_BEYOND]
            along_axis = (
                mc[0] * a[1] - mc[1] * a[0] if block[b + at.PRISMATIC] == 0.0 else m * a[2]
            )
            tau[s + k] += block[b + at.RATIO] * along_axis
            bad += 0.0 * tau[s + k]
            mc = add(matvec(load9(block, b + R_), mc), scale(m, load3(block, b + r_)))
            accumulate3(block, p + f_, mc)
    return 0 if bad == 0.0 else 1


def inverse_dynamics(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    gravity: bool = True,
    friction: bool = False,
    external: dict[str, Any] | None = None,
    threads: int = 1,
) -> Array:
    """Return the joint torque (n,) or (T, n) [N m or N] of a motion: M qdd + c(q, qd) + g(q).

    NE of [DeLuca2009] (10). `external` maps links to external wrenches (force, torque), at the
    link's origin and in the base's axes; they are the -F_e of [Khalil2019] (7.30).
    """
    name = "inverse_dynamics" if gravity else "inverse_dynamics without gravity"
    try:
        tau = model.bound[name](q, qd, qdd)
    except KeyError:
        packed = workspace(model, gravity)
        tau = bind_to(model, name, _newton_euler, 3, [(model.n,)], packed)(q, qd, qdd)
    if tau is None:
        packed, states = workspace(model, gravity), {"q": q, "qd": qd, "qdd": qdd}
        tau = evaluate(_newton_euler, model, states, [(model.n,)], packed, threads=threads)[0]
    if external:
        tau -= external_torque(model, q, external)
    if friction:
        tau += friction_torque(model, qd, load=tau)
    return tau


def gravity_torque(model: RobotModel, q: ArrayLike, *, threads: int = 1) -> Array:
    """Return g(q) (n,) or (T, n) [N m or N]: the torque that holds the arm. [DeLuca2009] (11)."""
    try:
        tau = model.bound["gravity_torque"](q)
    except KeyError:
        tau = bind_to(model, "gravity_torque", _gravity, 1, [(model.n,)])(q)
    if tau is None:
        tau = evaluate(_gravity, model, {"q": q}, [(model.n,)], threads=threads)[0]
    return tau


def velocity_torque(model: RobotModel, q: ArrayLike, qd: ArrayLike, *, threads: int = 1) -> Array:
    """Return c(q, qd) (n,) or (T, n) [N m or N], Coriolis and centrifugal. [DeLuca2009] (15)."""
    return inverse_dynamics(model, q, qd, np.zeros(model.n), gravity=False, threads=threads)


def mass_matrix_column(model: RobotModel, q: ArrayLike, i: int) -> Array:
    """Return column i of M(q), (n,) or (T, n) [kg m^2, kg m, kg]. [DeLuca2009] (12)."""
    if not isinstance(i, (int, np.integer)) or not -model.n <= i < model.n:
        raise ArgumentError(f"i must be a joint's number, 0 to {model.n - 1}, got {i!r}")
    still, unit = np.zeros(model.n), np.eye(model.n)[i]
    return inverse_dynamics(model, q, still, unit, gravity=False)


def momentum(model: RobotModel, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return p = M(q) qd (n,) or (T, n) [N m s or N s], by one sweep of NE. [DeLuca2009] (13)."""
    q, qd = checked(model, q=q, qd=qd)
    return inverse_dynamics(model, q, np.zeros(model.n), qd, gravity=False)


def feedback_linearizing_torque(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    q_d: ArrayLike,
    qd_d: ArrayLike,
    qdd_d: ArrayLike,
    kp: ArrayLike,
    kd: ArrayLike,
) -> Array:
    """Return NE(q, qd, qdd_d + kp e + kd ed), e = q_d - q: (n,) or (T, n) [N m or N].

    Each joint's error then obeys its own linear equation, [DeLuca2009] (14). Gains kp [1/s^2] and
    kd [1/s]: one number for all joints, or one per joint.
    """
    q, qd, q_d, qd_d, qdd_d = checked(model, q=q, qd=qd, q_d=q_d, qd_d=qd_d, qdd_d=qdd_d)
    kp, kd = per_joint(model, "kp", kp), per_joint(model, "kd", kd)
    a = qdd_d + kp * (q_d - q) + kd * (qd_d - qd)
    return inverse_dynamics(model, q, qd, a)
