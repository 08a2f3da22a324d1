"""The mass matrix M(q) by composite bodies, in the base's axes and about each joint's own origin.

A composite is all that a joint carries, as one rigid body. Its momentum at unit rate of its joint,
projected on the joints below, is a column of M.
"""

from ..model import packed_model as at
from ..model.packed_model import U
from ..model.robot import RobotModel
from .compile import U1, index, inline, kernel
from .dispatch import Array, ArrayLike, bind_to, evaluate
from .joints import WORLD_END, axis_of, o_, place_base, place_body, row_of, set_positions, sizes
from .vector import *

# Work space of a body's row: the composite's first moment and inertia about the joint's origin
h_, J_ = WORLD_END, WORLD_END + U(3)


@inline
def shift_inertia(m, h, r):
    """Return the change of an inertia when its reference point moves by -r; h: first moment."""
    d = 2.0 * dot(r, h) + m * dot(r, r)
    k = add(scale(2.0, h), scale(m, r))  # r k^T symmetrized is r h^T + h r^T + m r r^T
    xy, xz = -0.5 * (r[0] * k[1] + r[1] * k[0]), -0.5 * (r[0] * k[2] + r[2] * k[0])
    yz = -0.5 * (r[1] * k[2] + r[2] * k[1])
    return d - r[0] * k[0], xy, xz, d - r[1] * k[1], yz, d - r[2] * k[2]


@inline
def unit_momentum(block, b, z, h, J):
    """Return the linear and angular momentum of a composite at unit rate of its joint."""
    if block[b + at.PRISMATIC] == 0.0:
        return cross(z, h), symvec(J, z)
    return scale(block[b + at.MASS_BEYOND], z), cross(h, z)


@inline
def along_joint(block, b, z, f, torque):
    """Return the part of a wrench along a joint's motion."""
    return dot(z, torque) if block[b + at.PRISMATIC] == 0.0 else dot(z, f)


@kernel("int64(vector, vector, vector)")
def _mass_matrix(block, q, M):
    bodies, n, T = sizes(block, q)
    if T == 0 or M.size != q.size * n:
        return 1
    rotors = index(block[at.ROTORS])
    base = at.HEADER
    place_base(block)
    M[:] = 0.0

    bad = 0.0
    for t in range(T):
        s = t * n
        bad += set_positions(block, q, s)
        for k in range(n):
            M[(s + k) * n + k] = block[rotors + k]
        for i in range(bodies):
            b, p, _ = row_of(block, i)
            R, _ = place_body(block, b, p, i)
            store3(block, b + h_, matvec(R, load3(block, b + at.MOMENT)))
            store6(block, b + J_, congruence(R, load6(block, b + at.INERTIA)))

        for j in range(bodies):
            b, p, k = row_of(block, bodies - U1 - j)
            o, h, J = load3(block, b + o_), load3(block, b + h_), load6(block, b + J_)
            m = block[b + at.MASS_BEYOND]
            z = axis_of(block, b)
            P, L = unit_momentum(block, b, z, h, J)
            M[(s + k) * n + k] += along_joint(block, b, z, P, L)
            bad += 0.0 * M[(s + k) * n + k]
            # Add this composite to the parent's
            r = sub(o, load3(block, p + o_))
            accumulate3(block, p + h_, add(h, scale(m, r)))
            accumulate6(block, p + J_, add6(J, shift_inertia(m, h, r)))
            # Project the momentum on the joints below
            while p != base:
                o_p = load3(block, p + o_)
                L = add(L, cross(sub(o, o_p), P))
                o = o_p
                z_p = axis_of(block, p)
                k_p = index(block[p + at.COORDINATE])
                value = along_joint(block, p, z_p, P, L)
                M[(s + k) * n + k_p] += value
                M[(s + k_p) * n + k] += value
                p = index(block[p + at.PARENT])
    return 0 if bad == 0.0 else 1


def mass_matrix(model: RobotModel, q: ArrayLike, *, threads: int = 1) -> Array:
    """Return M(q) (n, n) or (T, n, n) [kg m^2, kg m, kg], with the rotors on the diagonal."""
    try:
        M = model.bound["mass_matrix"](q)
    except KeyError:
        M = bind_to(model, "mass_matrix", _mass_matrix, 1, [(model.n, model.n)])(q)
    if M is None:
        M = evaluate(_mass_matrix, model, {"q": q}, [(model.n, model.n)], threads=threads)[0]
    return M
