"""The whole matrix C*(q, qd), with M and g, in one sweep over composite bodies.

NE* gives C* column by column in N sweeps. Written for a single body, both valid variants move its
centre of mass alike and differ only in the torque about it. With S_j = (z_j at its place) the
motion of joint j, its rate Sdot_j, and w the body's angular velocity, column j of C* is the wrench

    force   P(Sdot_j) + z_j x P            torque   L(Sdot_j) + H z_j

with P(.), L(.) the momenta of a composite body under a motion, P its linear momentum, and H summed
over its bodies, about the reference point,

    H = G + (c . m v_c) 1 - m v_c c^T,     G = [w x] I                    in variant 1110,
                                           G = ([w x] I)^T - [I w x]      in variant 0001.

Their mean is the Christoffel matrix: it is the symmetric half of the bilinear form c(q, qd), and
the variants are each other with the two velocities exchanged. For prismatic joints z_j = 0 here.
"""

from ..errors import ArgumentError
from ..model import packed_model as at
from ..model.packed_model import U
from ..model.robot import RobotModel
from .compile import U1, index, inline, kernel
from .dispatch import Array, ArrayLike, bind_to, evaluate
from .joints import axis_of, move_joint, o_, place_base, place_body, row_of, set_positions, sizes
from .mass_matrix import J_, along_joint, h_, shift_inertia, unit_momentum
from .ne_star import coriolis_matrix_by_columns
from .vector import *

# Work space of a body's row, after the composite's first moment and inertia
w_, v_, P_ = (J_ + U(k) for k in (6, 9, 12))
H_ = J_ + U(15)
sigma_, nu_ = J_ + U(24), J_ + U(27)  # Sdot of the joint: angular part, and linear at its origin

FACTORIZATIONS, CHRISTOFFEL = {"0001": 0, "1110": 1}, 2


@inline
def _shift_H(P, r):
    """Return the change of H when its reference point moves by -r: (r . P) 1 - P r^T."""
    d = dot(r, P)
    return (
        (d - P[0] * r[0], -P[0] * r[1], -P[0] * r[2])
        + (-P[1] * r[0], d - P[1] * r[1], -P[1] * r[2])
        + (-P[2] * r[0], -P[2] * r[1], d - P[2] * r[2])
    )


@inline
def _gyroscopic(w, S, factorization):
    """Return G, the torque about a centre of mass per unit rate, in one of 3 factorizations."""
    x = cross(w, (S[0], S[1], S[2]))
    y = cross(w, (S[1], S[3], S[4]))
    z = cross(w, (S[2], S[4], S[5]))
    if factorization == 1:
        return x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]  # [w x] I, columns x, y, z
    k = symvec(S, w)
    if factorization == 0:
        return (
            (x[0], x[1] + k[2], x[2] - k[1])
            + (y[0] - k[2], y[1], y[2] + k[0])
            + (z[0] + k[1], z[1] - k[0], z[2])
        )
    k = scale(0.5, k)
    a, b, c = 0.5 * (x[1] + y[0]), 0.5 * (x[2] + z[0]), 0.5 * (y[2] + z[1])
    return x[0], a + k[2], b - k[1], a - k[2], y[1], c + k[0], b + k[1], c - k[0], z[2]


@inline
def _sweep(block, q, qd, factorization, M, C, g):
    bodies, n, T = sizes(block, q)
    if T == 0 or qd.size != q.size or g.size != q.size:
        return 1
    if M.size != q.size * n or C.size != M.size:
        return 1
    rotors = index(block[at.ROTORS])
    base = at.HEADER
    field = load3(block, at.GRAVITY)
    place_base(block)
    store3(block, base + w_, ZERO)
    store3(block, base + v_, ZERO)
    M[:] = 0.0
    C[:] = 0.0
    g[:] = 0.0

    bad = 0.0
    for t in range(T):
        s = t * n
        bad += set_positions(block, q, s)
        for k in range(n):
            M[(s + k) * n + k] = block[rotors + k]

        for i in range(bodies):
            b, p, k = row_of(block, i)
            R, o = place_body(block, b, p, i)
            bad += 0.0 * qd[s + k]
            w = load3(block, p + w_)
            v = add(load3(block, p + v_), cross(w, sub(o, load3(block, p + o_))))
            w, v, sigma, nu = move_joint(block, b, qd[s + k], w, v)
            m = block[b + at.MASS]
            c = matvec(R, load3(block, b + at.CENTRE))
            h = scale(m, c)
            inertia = congruence(R, load6(block, b + at.INERTIA_C))
            P = add(scale(m, v), cross(w, h))
            store3(block, b + w_, w)
            store3(block, b + v_, v)
            store3(block, b + sigma_, sigma)
            store3(block, b + nu_, nu)
            store3(block, b + h_, h)
            store6(block, b + J_, add6(inertia, shift_inertia(m, ZERO, c)))
            store3(block, b + P_, P)
            store9(block, b + H_, add9(_gyroscopic(w, inertia, factorization), _shift_H(P, c)))

        for j in range(bodies):
            b, p, k = row_of(block, bodies - U1 - j)
            o, h, J = load3(block, b + o_), load3(block, b + h_), load6(block, b + J_)
            m, P, H = block[b + at.MASS_BEYOND], load3(block, b + P_), load9(block, b + H_)
            z = axis_of(block, b)
            sigma, nu = load3(block, b + sigma_), load3(block, b + nu_)

            # Momentum at unit rate of this joint, the wrench of its column, and z^T H for its row
            f1, n1 = unit_momentum(block, b, z, h, J)
            f2 = add(scale(m, nu), cross(sigma, h))
            n2 = add(symvec(J, sigma), cross(h, nu))
            if block[b + at.PRISMATIC] == 0.0:
                f2 = add(f2, cross(z, P))
                n2 = add(n2, matvec(H, z))
                y = matvec_t(H, z)
                g[s + k] -= dot(z, cross(h, field))
            else:
                y = cross(P, z)
                g[s + k] -= m * dot(z, field)
            M[(s + k) * n + k] += along_joint(block, b, z, f1, n1)
            C[(s + k) * n + k] += along_joint(block, b, z, f2, n2)
            bad += 0.0 * C[(s + k) * n + k]

            # Add this composite to the parent's
            r = sub(o, load3(block, p + o_))
            accumulate3(block, p + h_, add(h, scale(m, r)))
            accumulate6(block, p + J_, add6(J, shift_inertia(m, h, r)))
            accumulate3(block, p + P_, P)
            accumulate9(block, p + H_, add9(H, _shift_H(P, r)))

            # Project on the joints below
            while p != base:
                o_p = load3(block, p + o_)
                r = sub(o, o_p)
                o = o_p
                n1 = add(n1, cross(r, f1))
                n2 = add(n2, cross(r, f2))
                z_p = axis_of(block, p)
                k_p = index(block[p + at.COORDINATE])
                value = along_joint(block, p, z_p, f1, n1)
                M[(s + k) * n + k_p] += value
                M[(s + k_p) * n + k] += value
                C[(s + k_p) * n + k] += along_joint(block, p, z_p, f2, n2)
                value = dot(f1, load3(block, p + nu_)) + dot(n1, load3(block, p + sigma_))
                if block[p + at.PRISMATIC] == 0.0:
                    value += dot(y, z_p)
                C[(s + k) * n + k_p] += value
                p = index(block[p + at.PARENT])
    return 0 if bad == 0.0 else 1


@kernel("int64(vector, vector, vector, vector, vector, vector)")
def _equations_of_motion(block, q, qd, M, C, g):
    return _sweep(block, q, qd, 0, M, C, g)


@kernel("int64(vector, vector, vector, int64, vector, vector, vector)")
def _equations_of_motion_in(block, q, qd, factorization, M, C, g):
    return _sweep(block, q, qd, factorization, M, C, g)


def equations_of_motion(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    *,
    christoffel: bool = False,
    variant: str = "0001",
    threads: int = 1,
) -> tuple[Array, Array, Array]:
    """Return M (n, n), C* (n, n), g (n,) of M qdd + C* qd + g = tau, in one sweep, SI units.

    A batch returns (T, n, n), (T, n, n), (T, n). `variant` is 0001 or 1110, both of which make
    Mdot - 2 C* skew-symmetric, as does their mean, the Christoffel matrix.
    """
    n = model.n
    shapes = [(n, n), (n, n), (n,)]
    if variant == "0001" and not christoffel:
        try:
            result = model.bound["equations_of_motion"](q, qd)
        except KeyError:
            call = bind_to(model, "equations_of_motion", _equations_of_motion, 2, shapes)
            result = call(q, qd)
        if result is not None:
            return result
    if variant not in FACTORIZATIONS:
        raise ArgumentError(f"variant must be 0001 or 1110 here, got {variant!r}")
    constants = (CHRISTOFFEL if christoffel else FACTORIZATIONS[variant],)
    states, sweep = {"q": q, "qd": qd}, _equations_of_motion_in
    M, C, g = evaluate(sweep, model, states, shapes, None, constants, threads)
    return M, C, g


def coriolis_matrix(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    *,
    christoffel: bool = False,
    variant: str = "0001",
    threads: int = 1,
) -> Array:
    """Return C*(q, qd) (n, n) or (T, n, n) [N m s, N s] of NE*, or the Christoffel matrix.

    Each times qd is c(q, qd). The two valid variants take one sweep, the fourteen others one sweep
    per column. The Christoffel matrix is the mean of the valid two and has no variants.
    """
    if variant in FACTORIZATIONS:
        return equations_of_motion(
            model, q, qd, christoffel=christoffel, variant=variant, threads=threads
        )[1]
    return coriolis_matrix_by_columns(model, q, qd, variant=variant)
