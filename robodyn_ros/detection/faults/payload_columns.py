"""Torque of an unknown payload on a link, linear in its mass m, first moment h = m c and inertia J
about the link's origin o.

With the rotation R of the link a body needs the force and moment

    f = m (a - g) + d/dt(w x R h),      n = R h x (a - g) + d/dt(R J R' w)

to be carried, where a is the acceleration of o and w the angular velocity of the link. The joints
feel -J^T (f, n). Means over a block of samples: the accelerations are differences of velocities at
its ends, the Jacobian and R are those of the mean posture.
"""

from ...dynamics.compile import U1, U3, index, inline, uncounted_kernel
from ...dynamics.joints import R_, place_base, place_bodies, unit_motion
from ...dynamics.kinematics import link_at, point_on_link
from ...dynamics.vector import ZERO, add, cross, dot, load3, load9, matmul, scale, store3, sub
from ...model import packed_model as at
from ...model.packed_model import U

# Velocities of the link behind the frame and the point of `link_at`: of its origin, of the three
# axes of its frame, its angular momentum by each element of J; at the end of the previous block,
# then at the end of this one
VELOCITIES = U(16)
MOMENTA = U(12)
PARTS = U(30)
UNKNOWNS = U(10)  # mass, first moment (x, y, z), inertia (xx, xy, xz, yy, yz, zz)
ROOM = 3 + 2 * int(PARTS)  # numbers behind the packed frame: its point, then the velocities


@inline
def _axes(block):
    """Return the rotation of the link in the base's axes."""
    f = link_at(block)
    return matmul(load9(block, index(block[f]) + R_), load9(block, f + U1))


@uncounted_kernel("int64(vector, vector, vector, uint64)")
def link_velocities(block, q, qd, first):
    """Write the velocities of the link's origin and axes and its momenta, from `first` on."""
    place_base(block)
    place_bodies(block, q, U(0))
    place, v, w = point_on_link(block), ZERO, ZERO
    b = index(block[link_at(block)])
    while b != at.HEADER:
        rate = qd[index(block[b + at.COORDINATE])]
        linear, angular = unit_motion(block, b, place)
        v, w = add(v, scale(rate, linear)), add(w, scale(rate, angular))
        b = index(block[b + at.PARENT])
    R, x = _axes(block), link_at(block) + VELOCITIES + first
    store3(block, x, v)
    for i in range(U3):
        axis = (R[i], R[i + U3], R[i + U3 + U3])
        store3(block, x + U3 + U3 * i, cross(w, axis))
    row = x + MOMENTA
    for i in range(U3):
        axis = (R[i], R[i + U3], R[i + U3 + U3])
        for j in range(i, U3):
            other = (R[j], R[j + U3], R[j + U3 + U3])
            mixed = scale(dot(other, w), axis)
            if i != j:
                mixed = add(mixed, scale(dot(axis, w), other))
            store3(block, row, mixed)
            row += U3
    return 0


@uncounted_kernel("int64(vector, vector, vector, vector, float64, matrix)")
def payload_columns(block, q, qd, mean_q, seconds, out):
    """Write the joint torques (n, 10) that mass [1 kg], first moment [1 kg m] and inertia
    [1 kg m^2] add, as means over the block of samples that ends with q, qd.
    """
    link_velocities(block, q, qd, PARTS)
    x = link_at(block) + VELOCITIES
    place_bodies(block, mean_q, U(0))
    R, place = _axes(block), point_on_link(block)
    a = scale(1.0 / seconds, sub(load3(block, x + PARTS), load3(block, x)))
    a = sub(a, load3(block, at.GRAVITY))
    for k in range(U(out.shape[0])):
        for i in range(UNKNOWNS):
            out[k, i] = 0.0
    b = index(block[link_at(block)])
    while b != at.HEADER:
        k = index(block[b + at.COORDINATE])
        linear, angular = unit_motion(block, b, place)
        out[k, U(0)] -= dot(linear, a)
        for i in range(U3):
            axis, row = (R[i], R[i + U3], R[i + U3 + U3]), x + U3 + U3 * i
            turned = scale(1.0 / seconds, sub(load3(block, row + PARTS), load3(block, row)))
            out[k, i + U1] -= dot(linear, turned) + dot(angular, cross(axis, a))
        for i in range(UNKNOWNS - U(4)):
            row = x + MOMENTA + U3 * i
            turned = scale(1.0 / seconds, sub(load3(block, row + PARTS), load3(block, row)))
            out[k, i + U(4)] -= dot(angular, turned)
        b = index(block[b + at.PARENT])
    for i in range(PARTS):
        block[x + i] = block[x + PARTS + i]
    return 0
