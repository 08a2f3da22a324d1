"""Where the links are and how they move: frames, Jacobians, and Jdot qd."""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError
from ..model import block as at
from ..model.block import U
from ..model.robot import RobotModel
from .call import Array, ArrayLike, evaluate, explain
from .joints import joint_frame, set_positions
from .vector import (
    U1,
    U3,
    ZERO,
    add,
    column_z,
    cross,
    index,
    inline,
    kernel,
    load3,
    load9,
    matmul,
    matvec,
    samples,
    scale,
    store3,
    store9,
    sub,
)

# Work space of a body's row, for all kernels that work in the base's axes
R_ = at.WORK  # the body's axes
o_ = at.WORK + U(9)  # its origin
w_, wd_, a_ = (at.WORK + U(k) for k in (12, 15, 18))
WORLD_END = at.WORK + U(12)  # where the other users' own work space begins


@inline
def place_base(block):
    store9(block, at.HEADER + R_, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
    store3(block, at.HEADER + o_, ZERO)


@inline
def place_body(block, b, p, i):
    """Rotation and origin, in the base's axes, of body i in row b."""
    R_p = load9(block, p + R_)
    R, r = joint_frame(block, b, i)
    R = matmul(R_p, R)
    o = add(load3(block, p + o_), matvec(R_p, r))
    store9(block, b + R_, R)
    store3(block, b + o_, o)
    return R, o


@inline
def place_bodies(block, q, s):
    """Place all bodies for the joint positions that start at q[s]; NaN if one is not finite."""
    bad = set_positions(block, q, s)
    for i in range(index(block[at.BODIES])):
        b = at.HEADER + (i + U1) * at.ROW
        place_body(block, b, index(block[b + at.PARENT]), i)
    return bad


@inline
def point_on_body(block, frame, point):
    """The base's coordinates of a point given in a link's frame."""
    b = index(frame[U(0)])
    on_body = add(load3(frame, U(10)), matvec(load9(frame, U1), point))
    return add(load3(block, b + o_), matvec(load9(block, b + R_), on_body))


@kernel("int64(float64[::1], float64[::1], float64[::1], float64[::1])")
def _pose(block, q, frame, pose):
    n = index(block[at.COORDINATES])
    T = samples(n, U(q.size))
    if T == 0:
        return 1
    place_base(block)
    bad = 0.0
    for t in range(T):
        bad += place_bodies(block, q, t * n)
        R = matmul(load9(block, index(frame[U(0)]) + R_), load9(frame, U1))
        r = point_on_body(block, frame, ZERO)
        row = t * U(16)
        store3(pose, row, (R[0], R[1], R[2]))
        store3(pose, row + U(4), (R[3], R[4], R[5]))
        store3(pose, row + U(8), (R[6], R[7], R[8]))
        store3(pose, row + U(12), ZERO)
        pose[row + U(3)], pose[row + U(7)], pose[row + U(11)] = r
        pose[row + U(15)] = 1.0
    return 0 if bad == 0.0 else 1


@kernel("int64(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])")
def _jacobian(block, q, frame, point, J):
    n = index(block[at.COORDINATES])
    T = samples(n, U(q.size))
    if T == 0:
        return 1
    place_base(block)
    bad = 0.0
    J[:] = 0.0
    for t in range(T):
        bad += place_bodies(block, q, t * n)
        place = point_on_body(block, frame, load3(point, U(0)))
        b = index(frame[U(0)])
        while b != at.HEADER:
            z = scale(block[b + at.RATIO], column_z(load9(block, b + R_)))
            v = z
            k = t * U(6) * n + index(block[b + at.COORDINATE])
            if block[b + at.PRISMATIC] == 0.0:
                v = cross(z, sub(place, load3(block, b + o_)))
                for i in range(3):
                    J[k + U(3 + i) * n] += z[i]
            for i in range(3):
                J[k + U(i) * n] += v[i]
            b = index(block[b + at.PARENT])
    return 0 if bad == 0.0 else 1


@kernel(
    "int64(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])"
)
def _acceleration_bias(block, q, qd, frame, point, out):
    """The acceleration that is there when no joint accelerates."""
    bodies, n = index(block[at.BODIES]), index(block[at.COORDINATES])
    T = samples(n, U(q.size))
    if T == 0 or qd.size != q.size:
        return 1
    place_base(block)
    store3(block, at.HEADER + w_, ZERO)
    store3(block, at.HEADER + wd_, ZERO)
    store3(block, at.HEADER + a_, ZERO)
    bad = 0.0
    for t in range(T):
        bad += set_positions(block, q, t * n)
        for i in range(bodies):
            b = at.HEADER + (i + U1) * at.ROW
            p = index(block[b + at.PARENT])
            k = t * n + index(block[b + at.COORDINATE])
            R, o = place_body(block, b, p, i)
            zd = scale(block[b + at.RATIO] * qd[k], column_z(R))
            bad += 0.0 * qd[k]
            w, wd = load3(block, p + w_), load3(block, p + wd_)
            r = sub(o, load3(block, p + o_))
            a = add(load3(block, p + a_), add(cross(wd, r), cross(w, cross(w, r))))
            if block[b + at.PRISMATIC] == 0.0:
                wd = add(wd, cross(w, zd))
                w = add(w, zd)
            else:
                a = add(a, scale(2.0, cross(w, zd)))
            store3(block, b + w_, w)
            store3(block, b + wd_, wd)
            store3(block, b + a_, a)
        b = index(frame[U(0)])
        w, wd = load3(block, b + w_), load3(block, b + wd_)
        r = sub(point_on_body(block, frame, load3(point, U(0))), load3(block, b + o_))
        store3(out, t * U(6), add(load3(block, b + a_), add(cross(wd, r), cross(w, cross(w, r)))))
        store3(out, t * U(6) + U3, wd)
    return 0 if bad == 0.0 else 1


def forward_kinematics(model: RobotModel, q: ArrayLike, link: str | None = None) -> Array:
    """Pose of a link in the base frame, (4, 4); of all moving links, (N, 4, 4), without `link`.

    Any link of the description will do, also one on a fixed joint; batches get a leading T.
    """
    if link is None:
        return np.stack([forward_kinematics(model, q, name) for name in model.link_names], axis=-3)
    model.frame(link)
    block, frame = model.block, model.frame_blocks[link]
    pose = np.empty((4, 4))
    try:
        failed = _pose(block, q, frame, pose.reshape(-1))
    except TypeError:
        return evaluate(_pose, model, block, {"q": q}, [(4, 4)], (frame,))[0]
    if failed:
        explain(model, q=q)
    return pose


def jacobian(
    model: RobotModel, q: ArrayLike, link: str, point: ArrayLike = (0.0, 0.0, 0.0)
) -> Array:
    """(6, n): velocity of a link's point, then the link's angular velocity, per joint rate.

    `point` is in the link's frame; the result is in the base's axes, so that J^T turns a wrench
    (force, torque) at that point into joint torques.
    """
    model.frame(link)
    arguments, constants = {"q": q}, (model.frame_blocks[link], _point(point))
    J = np.empty((6, model.n))
    try:
        failed = _jacobian(model.block, q, *constants, J.reshape(-1))
    except TypeError:
        return evaluate(_jacobian, model, model.block, arguments, [J.shape], constants)[0]
    if failed:
        explain(model, **arguments)
    return J


def jacobian_rate_product(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    link: str,
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> Array:
    """Jdot(q, qd) qd, (6,): the point's and the link's acceleration while no joint accelerates."""
    model.frame(link)
    arguments, constants = {"q": q, "qd": qd}, (model.frame_blocks[link], _point(point))
    out = np.empty(6)
    try:
        failed = _acceleration_bias(model.block, q, qd, *constants, out)
    except TypeError:
        return evaluate(_acceleration_bias, model, model.block, arguments, [(6,)], constants)[0]
    if failed:
        explain(model, **arguments)
    return out


def _point(point: ArrayLike) -> Array:
    place = np.array(point, dtype=np.float64)
    if place.shape != (3,) or not np.isfinite(place).all():
        raise ArgumentError(f"point must be 3 finite numbers [m], got {point!r}")
    return place
