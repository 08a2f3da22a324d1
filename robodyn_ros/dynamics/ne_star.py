"""NE*: the modified Newton-Euler algorithm of [DeLuca2009], with its 16 variants.

Wherever NE is quadratic in the velocity, one factor takes qd and the other an auxiliary qd_a:

    NE*(q, qd, qd_a, qdd) = M(q) qdd + C*(q, qd) qd_a + g(q)

There are four such places and two ways to split each, so the variants have names of four digits:

    digit   place     0                       1
    1       (AAR)     qd_i (wa x z)           qd_a,i (w x z)
    2       (LAR')    w x (wa x r)            wa x (w x r)          the next joint's origin
    3       (LAR)     w x (wa x c)            wa x (w x c)          the centre of mass
    4       (TR)      w x (I wa)              wa x (I w)

Only 0001 and 1110 make Mdot - 2 C* skew-symmetric; each is the other with qd and qd_a exchanged.
The paper leaves out prismatic joints: there the Coriolis term 2 w x z qd splits into
(w x z) qd_a + (wa x z) qd, in all variants.
"""

import numpy as np

from ..errors import one_of
from ..model import packed_model as at
from ..model.packed_model import U
from ..model.robot import RobotModel
from .compile import index, inline, kernel
from .dispatch import Array, ArrayLike, bind_to, checked, evaluate, workspace
from .joints import joint_frame, row_of, set_positions, sizes
from .newton_euler import *
from .vector import *

VARIANTS = tuple(f"{v:04b}" for v in range(16))
SKEW_SYMMETRIC = ("0001", "1110")

wa_ = U_ + U(9)  # work space of a body's row, behind that of NE


@inline
def _sweep(block, q, qd, qd_a, qdd, tau, aar, lar_origin, lar_centre, tr):
    """One sweep; the last four arguments are the digits of the variant."""
    bodies, n, T = sizes(block, q)
    if T == 0 or qd.size != q.size or qd_a.size != q.size or qdd.size != q.size:
        return 1
    if tau.size != q.size:
        return 1
    rotors = index(block[at.ROTORS])
    start_at_base(block)
    store3(block, at.HEADER + wa_, ZERO)

    bad = 0.0
    for t in range(T):
        s = t * n
        bad += set_positions(block, q, s)
        for k in range(n):
            tau[s + k] = block[rotors + k] * qdd[s + k]

        for i in range(bodies):
            b, p, k = row_of(block, i)
            ratio = block[b + at.RATIO]
            xd, xd_a, xdd = ratio * qd[s + k], ratio * qd_a[s + k], ratio * qdd[s + k]
            R, r = joint_frame(block, b, i)
            revolute = block[b + at.PRISMATIC] == 0.0
            w = matvec_t(R, load3(block, p + w_))
            wa = matvec_t(R, load3(block, p + wa_))
            wd = matvec_t(R, load3(block, p + wd_))
            # (LAR'*): the rates are those of the parent, on which this joint sits
            a = matvec_t(R, add(load3(block, p + a_), matvec(load9(block, p + U_), r)))
            if revolute:
                turning = cross_z(w, xd_a) if aar else cross_z(wa, xd)  # (AAR*)
                wd = add_z(add(wd, turning), xdd)
                w = add_z(w, xd)  # (AVR)
                wa = add_z(wa, xd_a)  # (AVR*)
            else:
                a = add_z(add(a, add(cross_z(w, xd_a), cross_z(wa, xd))), xdd)

            rates = rate_matrix(wd, wa, w) if lar_origin else rate_matrix(wd, w, wa)
            rates_c = rate_matrix(wd, wa, w) if lar_centre else rate_matrix(wd, w, wa)
            c, inertia = load3(block, b + at.CENTRE), load6(block, b + at.INERTIA_C)
            a_c = add(a, matvec(rates_c, c))  # (LAR*)
            f = scale(block[b + at.MASS], a_c)  # (FR)
            gyro = cross(wa, symvec(inertia, w)) if tr else cross(w, symvec(inertia, wa))
            torque = add(add(symvec(inertia, wd), gyro), cross(c, f))  # (TR*)

            store9(block, b + R_, R)
            store3(block, b + r_, r)
            store3(block, b + w_, w)
            store3(block, b + wa_, wa)
            store3(block, b + wd_, wd)
            store3(block, b + a_, a)
            store3(block, b + f_, f)
            store3(block, b + n_, torque)
            store9(block, b + U_, rates)
        bad += add_torques(block, bodies, s, tau)
    return 0 if bad == 0.0 else 1


@kernel("int64(vector, vector, vector, vector, vector, vector)")
def _ne_star_0001(block, q, qd, qd_a, qdd, tau):
    return _sweep(block, q, qd, qd_a, qdd, tau, False, False, False, True)


@kernel("int64(vector, vector, vector, vector, vector, int64, vector)")
def _ne_star(block, q, qd, qd_a, qdd, variant, tau):
    aar, lar_origin = (variant & 8) != 0, (variant & 4) != 0
    lar_centre, tr = (variant & 2) != 0, (variant & 1) != 0
    return _sweep(block, q, qd, qd_a, qdd, tau, aar, lar_origin, lar_centre, tr)


def ne_star(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    qd_a: ArrayLike,
    qdd: ArrayLike,
    *,
    gravity: bool = True,
    variant: str = "0001",
    threads: int = 1,
) -> Array:
    """Return M(q) qdd + C*(q, qd) qd_a + g(q) (n,) or (T, n) [N m or N]. [DeLuca2009] (16)."""
    if variant == "0001":
        name = "ne_star" if gravity else "ne_star without gravity"
        try:
            tau = model.bound[name](q, qd, qd_a, qdd)
        except KeyError:
            packed = workspace(model, gravity)
            call = bind_to(model, name, _ne_star_0001, 4, [(model.n,)], packed)
            tau = call(q, qd, qd_a, qdd)
        if tau is not None:
            return tau
    one_of("variant", variant, VARIANTS)
    states = {"q": q, "qd": qd, "qd_a": qd_a, "qdd": qdd}
    packed, constants = workspace(model, gravity), (int(variant, 2),)
    return evaluate(_ne_star, model, states, [(model.n,)], packed, constants, threads)[0]


def coriolis_matrix_by_columns(
    model: RobotModel, q: ArrayLike, qd: ArrayLike, *, variant: str = "0001"
) -> Array:
    """Return C*(q, qd) (n, n) or (T, n, n) by one NE* per column. [DeLuca2009] (18)-(19)."""
    still, units = np.zeros(model.n), np.eye(model.n)
    columns = [ne_star(model, q, qd, e, still, gravity=False, variant=variant) for e in units]
    return np.stack(columns, axis=-1)


def coriolis_product_by_kawasaki(
    model: RobotModel, q: ArrayLike, qd: ArrayLike, qd_r: ArrayLike
) -> Array:
    """Return C qd_r (n,) or (T, n) [N m or N], Christoffel C, by three NE. [Kawasaki1996]."""
    q, qd, qd_r = checked(model, q=q, qd=qd, qd_r=qd_r)

    def c(velocity: Array) -> Array:
        return velocity_torque(model, q, velocity)

    return 0.5 * (c(qd + qd_r) - c(qd) - c(qd_r))
