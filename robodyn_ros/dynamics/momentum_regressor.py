"""Regressors without acceleration: of the momentum terms, and of the filtered torque.

p, C^T qd and g are matrices times the parameters of the bodies, so tau = d/dt(Y_p pi) +
(Y_g - Y_c) pi needs no acceleration. `momentum` derives the terms from the momenta m v + w x mc
and J w + mc x v, `regressor` the ten columns. Behind a low-pass filter, the rate d/dt(Y_p pi)
becomes a high-pass of Y_p: [LuMeng1993] remark 2.
"""

import numpy as np

from ..errors import ArgumentError
from ..model import packed_model as at
from ..model.packed_model import U
from ..model.robot import RobotModel
from .compile import index, kernel
from .dispatch import Array, ArrayLike, bind_to, checked, evaluate
from .joints import *
from .regressor import *
from .vector import *

# Work space of a body's row: its motion, and the rate of its joint's unit motion
w_, v_, sigma_, nu_ = (WORLD_END + U(k) for k in (0, 3, 6, 9))


@kernel("int64(vector, vector, vector, vector, vector, vector)")
def _momentum(block, q, qd, Yp, Yc, Yg):
    bodies, n, T = sizes(block, q)
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

            # The body's momenta in its own axes, and the rows of all joints that carry it
            R = own_axes(block, b)
            w, v, a = matvec_t(R, w), matvec_t(R, v), matvec_t(R, field)
            A, N = rates_by_place(w, NO_PRODUCTS), inertia_columns(w, NO_PRODUCTS)
            j = b
            while j != base:
                u, z = unit_motion(block, j, o)
                u, z = matvec_t(R, u), matvec_t(R, z)
                # The rate of joint j's unit motion of the body, in the body's axes
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
    """Return Y_p, Y_c, Y_g, (n, 10 N) or (T, n, 10 N) each: p, C^T qd and g per parameter.

    Y_p pi = M qd, Y_c pi = C^T qd, Y_g pi = g, so that tau = d/dt(Y_p pi) + (Y_g - Y_c) pi.
    """
    name, shapes = "momentum_regressor", [(model.n, 10 * len(model.link_names))] * 3
    try:
        parts = model.bound[name](q, qd)
    except KeyError:
        parts = bind_to(model, name, _momentum, 2, shapes, regressor_workspace(model))(q, qd)
    if parts is None:
        states, packed = {"q": q, "qd": qd}, regressor_workspace(model)
        parts = tuple(evaluate(_momentum, model, states, shapes, packed, threads=threads))
    return parts


def low_pass(t: ArrayLike, x: ArrayLike, cutoff: float, *, start: ArrayLike = 0.0) -> Array:
    """Return the samples x (T, …) after a first-order low-pass filter of that cut-off [Hz].

    The samples are joined by straight lines between the times t (T,) [s], for which the result is
    exact, also at uneven times. `start` is the filter's initial state.
    """
    x = np.asarray(x, dtype=np.float64)
    steps = _rate(cutoff) * np.diff(_times(t, len(x) if x.ndim else 0))
    decay = np.exp(-steps)
    mean = -np.expm1(-steps) / steps
    y = np.empty_like(x)
    y[0] = start
    for k in range(len(steps)):
        y[k + 1] = decay[k] * y[k] + (mean[k] - decay[k]) * x[k] + (1.0 - mean[k]) * x[k + 1]
    return y


def filtered_regressor(
    model: RobotModel, t: ArrayLike, q: ArrayLike, qd: ArrayLike, cutoff: float
) -> Array:
    """Return Y_f (T, n, 10 N) of a log: Y_f pi = low_pass(t, tau, cutoff), the filtered torque.

    t (T,) [s], q and qd (T, n), cutoff [Hz]. No acceleration is needed: the low-pass of a rate is
    a high-pass of the quantity itself, with tau = pdot - C^T qd + g.
    """
    q, qd = checked(model, q=q, qd=qd)
    rate, t = _rate(cutoff), _times(t, len(q) if q.ndim == 2 else 0)
    Y_p, Y_c, Y_g = momentum_regressor(model, q, qd)
    Y_p *= rate
    Y_g -= Y_c
    Y_g -= Y_p
    Y_p += low_pass(t, Y_g, cutoff, start=-Y_p[0])
    return Y_p


def filtered_rotor_columns(model: RobotModel, t: ArrayLike, qd: ArrayLike, cutoff: float) -> Array:
    """Return the columns (T, n, n) of `model.rotor_inertia` in the filtered torque."""
    (qd,) = checked(model, qd=qd)
    rate, t = _rate(cutoff), _times(t, len(qd) if qd.ndim == 2 else 0)
    columns = rate * qd + low_pass(t, -rate * qd, cutoff, start=-rate * qd[0])
    return columns[..., None] * np.eye(model.n)


def _rate(cutoff: float) -> float:
    if not (isinstance(cutoff, (int, float)) and 0.0 < cutoff < np.inf):
        raise ArgumentError(f"cutoff must be a positive frequency [Hz], got {cutoff!r}")
    return 2.0 * np.pi * cutoff


def _times(t: ArrayLike, count: int) -> Array:
    t = np.asarray(t, dtype=np.float64)
    if t.shape != (count,) or count == 0:
        raise ArgumentError(
            f"t must have one time per sample, and there must be samples: got shape {t.shape} "
            f"for {count} samples"
        )
    if not (np.isfinite(t).all() and (np.diff(t) > 0.0).all()):
        raise ArgumentError("t must be finite and increase from sample to sample")
    return t
