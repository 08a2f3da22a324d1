"""Bodies in the base's axes: where they are, how a joint moves them. Several sweeps begin so."""

from ..model import packed_model as at
from ..model.packed_model import U
from .compile import index, inline
from .joints import joint_frame, row_of, set_positions
from .vector import (
    ZERO,
    add,
    column_z,
    cross,
    load3,
    load9,
    matmul,
    matvec,
    scale,
    store3,
    store9,
    sub,
)

# Work space of a body's row, for all kernels that work in the base's axes
R_ = at.WORK  # the body's axes
o_ = at.WORK + U(9)  # its origin
WORLD_END = at.WORK + U(12)  # where the users' own work space begins


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
        b, p, _ = row_of(block, i)
        place_body(block, b, p, i)
    return bad


@inline
def axis_of(block, b):
    """The axis of the joint in row b, as long as its motion per unit of the coordinate."""
    return scale(block[b + at.RATIO], column_z(load9(block, b + R_)))


@inline
def unit_motion(block, b, point):
    """How the joint in row b moves a point that it carries: velocity, and angular velocity, per
    unit rate of its coordinate.
    """
    z = axis_of(block, b)
    if block[b + at.PRISMATIC] == 0.0:
        return cross(z, sub(point, load3(block, b + o_))), z
    return z, ZERO


@inline
def move_joint(block, b, rate, w, v):
    """What the joint in row b adds to the angular velocity w and the velocity v, at its body's
    origin, that it inherits; and the rate of its own unit motion, angular and linear there.
    """
    z = axis_of(block, b)
    if block[b + at.PRISMATIC] == 0.0:
        return add(w, scale(rate, z)), v, cross(w, z), cross(v, z)
    return w, add(v, scale(rate, z)), ZERO, cross(w, z)
