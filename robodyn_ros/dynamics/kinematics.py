"""Kinematics of the links: poses, Jacobians, Jdot qd, and the joint torque of wrenches."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..model import packed_model as at
from ..model.packed_model import U, aligned_copy, pack_frame
from ..model.rigid_body import as_vector
from ..model.robot import RobotModel
from .compile import U1, U3, index, inline, kernel
from .dispatch import Array, ArrayLike, bind_to, checked, evaluate, finite
from .joints import *
from .vector import ZERO, add, cross, load3, load9, matmul, matvec, scale, store3, sub

ORIGIN = (0.0, 0.0, 0.0)

# Work space of a body's row
w_, wd_, a_, v_ = (WORLD_END + U(k) for k in (0, 3, 6, 9))


@inline
def link_at(block):
    """Return the offset of the link: row of its body, rotation (9), place (3), own point (3)."""
    return index(block[at.POSITIONS]) + U3 * index(block[at.PADDED])


@inline
def point_on_link(block):
    """Return the link's point in the base frame."""
    f = link_at(block)
    b = index(block[f])
    place = add(load3(block, f + U(10)), matvec(load9(block, f + U1), load3(block, f + U(13))))
    return add(load3(block, b + o_), matvec(load9(block, b + R_), place))


@kernel("int64(vector, vector, vector)")
def _pose(block, q, pose):
    _, n, T = sizes(block, q)
    if T == 0 or pose.size != T * U(16):
        return 1
    place_base(block)
    bad = 0.0
    for t in range(T):
        bad += place_bodies(block, q, t * n)
        f = link_at(block)
        R = matmul(load9(block, index(block[f]) + R_), load9(block, f + U1))
        r = point_on_link(block)
        row = t * U(16)
        store3(pose, row, (R[0], R[1], R[2]))
        store3(pose, row + U(4), (R[3], R[4], R[5]))
        store3(pose, row + U(8), (R[6], R[7], R[8]))
        store3(pose, row + U(12), ZERO)
        pose[row + U(3)], pose[row + U(7)], pose[row + U(11)] = r
        pose[row + U(15)] = 1.0
        bad += 0.0 * (r[0] + r[1] + r[2])
    return 0 if bad == 0.0 else 1


@kernel("int64(vector, vector, vector)")
def _jacobian(block, q, J):
    _, n, T = sizes(block, q)
    if T == 0 or J.size != T * U(6) * n:
        return 1
    place_base(block)
    bad = 0.0
    J[:] = 0.0
    for t in range(T):
        bad += place_bodies(block, q, t * n)
        place = point_on_link(block)
        b = index(block[link_at(block)])
        while b != at.HEADER:
            v, w = unit_motion(block, b, place)
            k = t * U(6) * n + index(block[b + at.COORDINATE])
            for i in range(3):
                J[k + U(i) * n] += v[i]
                J[k + U(3 + i) * n] += w[i]
                bad += 0.0 * v[i]
            b = index(block[b + at.PARENT])
    return 0 if bad == 0.0 else 1


@kernel("int64(vector, vector, vector, vector)")
def _acceleration_bias(block, q, qd, out):
    """The acceleration of the link's point while qdd = 0."""
    bodies, n, T = sizes(block, q)
    if T == 0 or qd.size != q.size or out.size != T * U(6):
        return 1
    place_base(block)
    store3(block, at.HEADER + w_, ZERO)
    store3(block, at.HEADER + wd_, ZERO)
    store3(block, at.HEADER + a_, ZERO)
    bad = 0.0
    for t in range(T):
        bad += set_positions(block, q, t * n)
        for i in range(bodies):
            b, p, k = row_of(block, i)
            _, o = place_body(block, b, p, i)
            zd = scale(qd[t * n + k], axis_of(block, b))
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
        b = index(block[link_at(block)])
        w, wd = load3(block, b + w_), load3(block, b + wd_)
        r = sub(point_on_link(block), load3(block, b + o_))
        a = add(load3(block, b + a_), add(cross(wd, r), cross(w, cross(w, r))))
        store3(out, t * U(6), a)
        store3(out, t * U(6) + U3, wd)
        for k in range(n):
            bad += 0.0 * qd[t * n + k]
        bad += 0.0 * (a[0] + a[1] + a[2])
    return 0 if bad == 0.0 else 1


@kernel("int64(vector, vector, vector, vector)")
def _jacobian_rate(block, q, qd, Jd):
    bodies, n, T = sizes(block, q)
    if T == 0 or qd.size != q.size or Jd.size != T * U(6) * n:
        return 1
    place_base(block)
    store3(block, at.HEADER + w_, ZERO)
    store3(block, at.HEADER + v_, ZERO)
    bad = 0.0
    Jd[:] = 0.0
    for t in range(T):
        bad += set_positions(block, q, t * n)
        for i in range(bodies):
            b, p, k = row_of(block, i)
            _, o = place_body(block, b, p, i)
            zd = scale(qd[t * n + k], axis_of(block, b))
            w = load3(block, p + w_)
            v = add(load3(block, p + v_), cross(w, sub(o, load3(block, p + o_))))
            if block[b + at.PRISMATIC] == 0.0:
                w = add(w, zd)
            else:
                v = add(v, zd)
            store3(block, b + w_, w)
            store3(block, b + v_, v)
        place = point_on_link(block)
        b = index(block[link_at(block)])
        v = add(
            load3(block, b + v_), cross(load3(block, b + w_), sub(place, load3(block, b + o_)))
        )
        while b != at.HEADER:
            z = axis_of(block, b)
            turned, moved = cross(load3(block, b + w_), z), ZERO  # the axis turns with its body
            if block[b + at.PRISMATIC] == 0.0:
                moved = cross(turned, sub(place, load3(block, b + o_)))
                moved = add(moved, cross(z, sub(v, load3(block, b + v_))))
            else:
                moved, turned = turned, ZERO
            k = t * U(6) * n + index(block[b + at.COORDINATE])
            for i in range(3):
                Jd[k + U(i) * n] += moved[i]
                Jd[k + U(3 + i) * n] += turned[i]
                bad += 0.0 * moved[i]
            b = index(block[b + at.PARENT])
    return 0 if bad == 0.0 else 1


def forward_kinematics(model: RobotModel, q: ArrayLike, link: str | None = None) -> Array:
    """Return the pose of a link in the base frame (4, 4) [m], or of all moving links (N, 4, 4).

    `link` may be any link of the description, also one on a fixed joint. A batch of T states
    returns (T, 4, 4) or (T, N, 4, 4).
    """
    if link is None:
        return np.stack([forward_kinematics(model, q, name) for name in model.link_names], axis=-3)
    return _on_link(_pose, model, link, ORIGIN, (4, 4), q=q)


def jacobian(model: RobotModel, q: ArrayLike, link: str, point: ArrayLike = ORIGIN) -> Array:
    """Return J (6, n), or (T, 6, n): velocity of a link's point, then angular velocity, per qd.

    `point` (3,) [m] is in the link's frame; J is in the base's axes, so that J^T W is the joint
    torque of a wrench W (force, torque) at that point.
    """
    return _on_link(_jacobian, model, link, point, (6, model.n), q=q)


def jacobian_rate_product(
    model: RobotModel, q: ArrayLike, qd: ArrayLike, link: str, point: ArrayLike = ORIGIN
) -> Array:
    """Return Jdot qd (6,) or (T, 6): acceleration [m/s^2, rad/s^2] at qdd = 0, base's axes."""
    return _on_link(_acceleration_bias, model, link, point, (6,), q=q, qd=qd)


def jacobian_rate(
    model: RobotModel, q: ArrayLike, qd: ArrayLike, link: str, point: ArrayLike = ORIGIN
) -> Array:
    """Return Jdot (6, n), or (T, 6, n): the rate of `jacobian` while the joints move with qd."""
    return _on_link(_jacobian_rate, model, link, point, (6, model.n), q=q, qd=qd)


def external_torque(model: RobotModel, q: ArrayLike, wrenches: Mapping[str, ArrayLike]) -> Array:
    """Return the joint torque (n,) or (T, n) [N m or N] of wrenches on links: the sum of J^T W.

    A wrench (force [N], torque [N m]) acts at its link's origin, in the base's axes: (6,), or
    (T, 6) with a batch of states. [Khalil2019] 7.3.6.
    """
    (q,) = checked(model, q=q)
    total = np.zeros(q.shape)
    for link, wrench in wrenches.items():
        W = _wrench(q, link, wrench)
        total = total + np.einsum("...ij,...i->...j", jacobian(model, q, link), W)
    return finite(model, total, q=q)


def external_torque_rate(
    model: RobotModel, q: ArrayLike, qd: ArrayLike, wrenches: Mapping[str, Any]
) -> tuple[Array, Array]:
    """Return `external_torque` and its rate (n,) or (T, n) [1/s], while the joints move with qd.

    wrenches: link -> (wrench, rate of the wrench), both as for `external_torque`.
    """
    q, qd = checked(model, q=q, qd=qd)
    rate = np.zeros(q.shape)
    for link, pair in wrenches.items():
        try:
            wrench, change = pair
        except (TypeError, ValueError):
            raise ArgumentError(
                f"external['{link}'] must be a wrench and its rate, got {pair!r}"
            ) from None
        W, Wd = _wrench(q, link, wrench), _wrench(q, link, change, "the rate of the wrench")
        rate = rate + np.einsum("...ij,...i->...j", jacobian(model, q, link), Wd)
        rate = rate + np.einsum("...ij,...i->...j", jacobian_rate(model, q, qd, link), W)
    torque = external_torque(model, q, {link: pair[0] for link, pair in wrenches.items()})
    return torque, finite(model, rate, q=q, qd=qd)


def _wrench(q: Array, link: str, wrench: Any, what: str = "the wrench") -> Array:
    """Return a wrench (6,), or (T, 6) with a batch of states, or raise the error that names it."""
    try:
        W = np.asarray(wrench, dtype=np.float64)
    except (TypeError, ValueError):
        W = np.empty(0)
    fits = W.shape == (6,) or (q.ndim == 2 and W.shape == (len(q), 6))
    if not fits or not np.isfinite(W).all():
        raise ArgumentError(
            f"{what} on '{link}' must be 6 finite numbers (force, torque), for all states or for "
            f"each, got {wrench!r}"
        )
    return W


def _on_link(
    kernel: Any,
    model: RobotModel,
    link: str,
    point: ArrayLike,
    shape: tuple[int, ...],
    **states: ArrayLike,
) -> Array:
    """Run a kernel on a point of a link; for the link's origin the kernel is bound once."""
    name = f"{kernel.__name__} of {link}"
    call = model.bound.get(name) if point is ORIGIN else None
    if call is not None:
        result = call(*states.values())
        if result is not None:
            return result
    packed = aligned_copy(model.packed, pack_frame(model, link), as_vector("point", point))
    if point is ORIGIN and call is None:
        bind_to(model, name, kernel, len(states), [shape], packed)
    return evaluate(kernel, model, states, [shape], packed)[0]
