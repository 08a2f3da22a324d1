"""The momentum regressor: p, C^T qd and g as matrices times the parameters of the bodies.

With them tau = d/dt(Y_p pi) + (Y_g - Y_c) pi needs no acceleration. `momentum` says what a joint
sees of the momenta m v + w x mc and J w + mc x v, `body_columns` how that becomes ten columns.
"""

from __future__ import annotations

from ..model import packed_model as at
from ..model.packed_model import U
from ..model.robot import RobotModel
from .base_axes import WORLD_END, move_joint, o_, place_base, place_body, unit_motion
from .body_columns import (
    NO_PRODUCTS,
    TEN,
    add_row,
    block_of_turns,
    inertia_columns,
    own_axes,
    rates_by_place,
)
from .compile import index, kernel, samples
from .dispatch import Array, ArrayLike, bind_to, evaluate
from .joints import row_of, set_positions
from .vector import ZERO, add, cross, load3, matvec_t, scale, store3, sub

# Work space of a body's row: its motion, and the rate of its joint's unit motion
w_, v_, sigma_, nu_ = (WORLD_END + U(k) for k in (0, 3, 6, 9))


@kernel(
    "int64(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])"
)
def _momentum(block, q, qd, Yp, Yc, Yg):
    bodies, n = index(block[at.BODIES]), index(block[at.COORDINATES])
    T = samples(n, U(q.size))
    width = TEN * bodies
    if T == 0 or qd.size != q.size or Yp.size != q.size * width:
        return 1
    if Yc.size != Yp.size or Yg.size != Yp.size:
        return 1
    base = at.HEADER
    place_base(block)
    store3(block, base + w_, ZERO)
    store3(block, base + v_, ZERO)
    field = scale(-1.0, load3(block, at.GRAVITY))
    A_still, N_still = rates_by_place(ZERO, NO_PRODUCTS), inertia_columns(ZERO, NO_PRODUCTS)
    Yp[:] = 0.0
    Yc[:] = 0.0
    Yg[:] = 0.0

    bad = 0.0
    for t in range(T):
        s = t * n
        bad += set_positions(block, q, s)
        for i in range(bodies):
            b, p, k = row_of(block, i)
            _, o = place_body(block, b, p, i)
            w = load3(block, p + w_)
            v = add(load3(block, p + v_), cross(w, sub(o, load3(block, p + o_))))
            w, v, sigma, nu = move_joint(block, b, qd[s + k], w, v)
            store3(block, b + w_, w)
            store3(block, b + v_, v)
            store3(block, b + sigma_, sigma)
            store3(block, b + nu_, nu)

            # The body's momenta in its own axes, and what each joint that carries it sees of them
            R = own_axes(block, b)
            w, v, a = matvec_t(R, w), matvec_t(R, v), matvec_t(R, field)
            A, N = rates_by_place(w, NO_PRODUCTS), inertia_columns(w, NO_PRODUCTS)
            j = b
            while j != base:
                u, z = unit_motion(block, j, o)
                u, z = matvec_t(R, u), matvec_t(R, z)
                # What a small move of joint j changes in the body's motion, as the body sees it
                turn = load3(block, j + sigma_)
                move = add(load3(block, j + nu_), cross(turn, sub(o, load3(block, j + o_))))
                turn, move = matvec_t(R, turn), matvec_t(R, move)
                y = (s + index(block[j + at.COORDINATE])) * width + TEN * i
                bad += add_row(Yp, y, u, z, v, A, N)
                bad += add_row(Yc, y, move, turn, v, A, N)
                bad += add_row(Yg, y, u, z, a, A_still, N_still)
                j = index(block[j + at.PARENT])
    return 0 if bad == 0.0 else 1


def momentum_regressor(
    model: RobotModel, q: ArrayLike, qd: ArrayLike, *, threads: int = 1
) -> tuple[Array, Array, Array]:
    """(Y_p, Y_c, Y_g), (n, 10 N) each: times the parameters they are p = M qd, C^T qd and g.

    tau = d/dt(Y_p pi) + (Y_g - Y_c) pi.
    """
    name, shapes = "momentum_regressor", [(model.n, 10 * len(model.link_names))] * 3
    try:
        call = model.bound[name]
    except KeyError:
        call = bind_to(model, name, _momentum, 2, shapes, block_of_turns(model))
    parts = call(q, qd)
    if parts is None:
        arguments, block = {"q": q, "qd": qd}, block_of_turns(model)
        Y_p, Y_c, Y_g = evaluate(_momentum, model, block, arguments, shapes, threads=threads)
        return Y_p, Y_c, Y_g
    return parts
