"""The regressor of [LuMeng1993]: sixteen parameters per link, and a closed form by link Jacobians.

Their parameters are m, m p, the products m p p and the inertia I about the centre of mass p:

    theta = [m, m px, m py, m pz, m px^2, m py^2, m pz^2, m px py, m px pz, m py pz,
             Ixx, Iyy, Izz, Ixy, Ixz, Iyz]            (125), (106)

with the signs of (105): the products of inertia are the negative entries of the matrix. The torque
sees only ten combinations of them, the standard parameters T theta; so Y16 = Y10 T.

The closed form comes from the energy of one link. With its Jacobian and axes, X = R^T J holds the
link's velocities in its own axes per joint rate, the kinetic energy is k(X qd, X qd) theta / 2
with a fixed bilinear k, and Lagrange's equation gives (47): d/dt(k(X_j, X qd)) is their W', the
derivative by q_j their Y1 and Y2, gravity their Y3.
"""

from dataclasses import dataclass

import numpy as np

from ..errors import ArgumentError
from ..model.robot import RobotModel
from .dispatch import Array, ArrayLike, checked, finite
from .kinematics import forward_kinematics, jacobian
from .regressor import regressor

SIXTEEN = 16


def _standard_from_sixteen() -> Array:
    """Return T (10, 16): [m, mcx, mcy, mcz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz] = T theta."""
    T = np.zeros((10, SIXTEEN))
    T[:4, :4] = np.eye(4)
    xx, yy, zz, xy, xz, yz = range(4, 10)  # the products m p p; I is six places behind them
    for row, squares in ((4, (yy, zz)), (7, (xx, zz)), (9, (xx, yy))):
        T[row, squares] = 1.0  # Steiner
    for row, own in ((4, xx), (7, yy), (9, zz)):
        T[row, own + 6] = 1.0
    for row, product in ((5, xy), (6, xz), (8, yz)):
        T[row, [product, product + 6]] = -1.0
    T.setflags(write=False)
    return T


STANDARD_FROM_SIXTEEN = _standard_from_sixteen()


def lu_meng_parameters(model: RobotModel) -> Array:
    """Return theta (16 N,) of all bodies, each in its joint frame, SI units. [LuMeng1993] (76)."""
    upper = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)
    signs = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    rows = [
        np.concatenate([[m], m * p, m * np.outer(p, p)[upper], signs * inertia[upper]])
        for m, p, inertia in zip(model.mass, model.com, model.inertia, strict=True)
    ]
    return np.concatenate(rows)


def lu_meng_regressor(model: RobotModel, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Return Y16 (n, 16 N) or (T, n, 16 N), no rotors, from ten columns. [LuMeng1993] (85)."""
    Y = regressor(model, q, qd, qdd)
    ten = Y.reshape(*Y.shape[:-1], len(model.link_names), 10)
    with np.errstate(over="ignore"):
        sixteen = ten @ STANDARD_FROM_SIXTEEN
    width = SIXTEEN * len(model.link_names)
    return finite(model, sixteen.reshape(*Y.shape[:-1], width), q=q, qd=qd, qdd=qdd)


@dataclass(frozen=True, eq=False)
class LinkRegressor:
    """A link's part of the regressor in closed form, (n, 16) each. [LuMeng1993] (47)."""

    W: Array  # [W1 W2] of (30): momentum, dk/dqd
    W_rate: Array  # its time derivative
    Y_kinetic: Array  # [Y1 Y2] of (33) and (41): -dk/dq
    Y_gravity: Array  # Y3 of (44): du/dq

    @property
    def Y(self) -> Array:
        """Y^(i)(q, qd, qdd), (n, 16): the link's regressor."""
        return self.W_rate + self.Y_kinetic + self.Y_gravity


def link_regressor(
    model: RobotModel, link: str, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
) -> LinkRegressor:
    """Return the regressor of a body fixed to any link's frame, at q, qd, qdd (n,)."""
    if model.coupled:
        raise ArgumentError(
            f"robot '{model.name}' has mimic joints, which the closed form does not cover: use "
            "lu_meng_regressor"
        )
    q, qd, qdd = checked(model, q=q, qd=qd, qdd=qdd)
    if q.ndim != 1:
        raise ArgumentError(f"the closed form takes one state at a time, got {len(q)}")
    J, R = jacobian(model, q, link), forward_kinematics(model, q, link)[:3, :3]
    X = _in_axes(R, J)
    dX = _in_axes(R, _jacobian_derivatives(model, link, J) - _turned(J))  # dX[k] = dX/dq_k
    X_rate = np.tensordot(qd, dX, 1)
    motion, motion_rate = X @ qd, X_rate @ qd + X @ qdd
    Y_gravity = np.zeros((model.n, SIXTEEN))
    Y_gravity[:, 0] = -J[:3].T @ model.gravity  # (45)
    Y_gravity[:, 1:4] = np.cross(J[3:].T, model.gravity) @ R  # (46)
    return LinkRegressor(
        W=_energy_columns(X.T, motion),
        W_rate=_energy_columns(X_rate.T, motion) + _energy_columns(X.T, motion_rate),
        Y_kinetic=-_energy_columns(dX @ qd, motion),
        Y_gravity=Y_gravity,
    )


def _in_axes(R: Array, J: Array) -> Array:
    """Return both halves of (…, 6, n) in the axes R."""
    return np.concatenate([R.T @ J[..., :3, :], R.T @ J[..., 3:, :]], axis=-2)


def _turned(J: Array) -> Array:
    """Return J_wk x J (n, 6, n), the change of J when joint k rotates all its columns."""
    w = J[3:].T[:, None, :]
    halves = [np.cross(w, half.T) for half in (J[:3], J[3:])]
    return np.swapaxes(np.concatenate(halves, axis=-1), 1, 2)


def _jacobian_derivatives(model: RobotModel, link: str, J: Array) -> Array:
    """Return dJ/dq_k (n, 6, n), from J alone: a joint moves all axes beyond it, and the link."""
    dJ = np.zeros((model.n, *J.shape))
    chain: list[int] = []
    body = model.frame(link).body
    while body >= 0:
        chain.insert(0, int(model.coordinate[body]))
        body = int(model.parent[body])
    for place, j in enumerate(chain):
        v_j, w_j = J[:3, j], J[3:, j]
        for k in chain[: place + 1]:
            dJ[k, :3, j], dJ[k, 3:, j] = np.cross(J[3:, k], v_j), np.cross(J[3:, k], w_j)
        for k in chain[place + 1 :]:
            dJ[k, :3, j] = np.cross(w_j, J[:3, k])
    return dJ


def _energy_columns(x: Array, y: Array) -> Array:
    """Return k(x, y) (…, 16): twice the mixed kinetic energy of two motions (velocity, angular
    velocity) in the link's axes, per parameter. For a Jacobian's columns x it is (127), (29).
    """
    (v, w), (V, D) = (x[..., :3], x[..., 3:]), (y[:3], y[3:])
    squares = w * D
    products = np.stack([w[..., i] * D[j] + w[..., j] * D[i] for i, j in ((0, 1), (0, 2), (1, 2))])
    products = -np.moveaxis(products, 0, -1)
    total = squares.sum(axis=-1, keepdims=True)
    moment = np.cross(v, D) + np.cross(V, w)
    mass = (v @ V)[..., None]
    return np.concatenate([mass, moment, total - squares, products, squares, products], axis=-1)
