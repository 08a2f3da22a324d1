"""The robot as one flat array of floats: the form in which the compiled kernels read it.

A kernel pays for every array it is handed, so parameters and work space share one array:

    header | row of the base | row of body 1 | … | row of body N | rotor inertia per coordinate
           | positions, sines and cosines of all joints

A row holds the constant parameters of one moving body and, behind them, room for what the kernels
compute about it. Each body frame is turned so that its joint axis is +z: a joint then turns or
slides about a known axis and no kernel ever multiplies by an axis vector.

Offsets are unsigned: the compiler then omits its test for negative indices, which is worth a
third of a kernel's time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .rigid_body import steiner

if TYPE_CHECKING:
    from .robot import Frame, RobotModel

U = np.uintp

# Header
BODIES, COORDINATES, GRAVITY, ROTORS = U(0), U(1), U(2), U(5)
POSITIONS, PADDED = U(6), U(7)  # where the positions start; how many there is room for
HEADER = U(8)

# Row: the constants of a body
PARENT = U(0)  # offset of the parent's row
PRISMATIC = U(1)  # 0 revolute, 1 prismatic
COORDINATE = U(2)  # which entry of q moves this joint
RATIO, OFFSET = U(3), U(4)  # joint position = RATIO * q[COORDINATE] + OFFSET
ROTATION = U(5)  # E (9): this frame seen from its parent's at position 0
PLACE = U(14)  # r0 (3): this frame's origin in its parent's frame at position 0
MASS = U(17)
MOMENT = U(18)  # mc (3): mass times centre of mass
INERTIA = U(21)  # J (6): about the frame's origin: xx, xy, xz, yy, yz, zz
MASS_BEYOND = U(27)  # mass of this body and of all it carries
BRANCHES = U(28)  # 1 if it carries more than the body in the next row
# Row: work space. It follows what every sweep reads, so that both share their cache lines.
WORK = U(29)
# Row: what only NE* and C* read
CENTRE = U(127)  # c (3): centre of mass
INERTIA_C = U(130)  # I_c (6): about the centre of mass
ROW = U(136)  # 17 cache lines: an odd number, so that the rows spread over the whole cache
LINE = 8  # numbers in a cache line, and in the widest vector register

# Friction has a block of its own: how many joints, the width of a smooth step (0: a sharp one),
# then viscous, Coulomb, static friction and fading, each for all joints.
FRICTION_JOINTS, FRICTION_WIDTH, FRICTION_HEADER = U(0), U(1), U(2)


def frame_with_axis_z(axis: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Rotation whose third column is `axis`; exact for axes along a coordinate axis."""
    z = axis / np.linalg.norm(axis)
    main = int(np.argmax(np.abs(z)))
    if np.count_nonzero(z) == 1:
        if main == 2:
            return np.eye(3) if z[2] > 0 else np.diag([1.0, -1.0, -1.0])
        x = np.eye(3)[(main + 1) % 3]
    else:
        x = np.eye(3)[int(np.argmin(np.abs(z)))]
        x = x - z * (z @ x)
        x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def six(S: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The upper triangle of a symmetric matrix: xx, xy, xz, yy, yz, zz."""
    return S[np.triu_indices(3)]


def _whole_lines(count: int) -> int:
    return -(-count // LINE) * LINE


def _aligned_zeros(count: int) -> npt.NDArray[np.float64]:
    """Zeros that begin with a cache line."""
    room = np.zeros(count + LINE)
    start = -(room.ctypes.data // 8) % LINE
    return room[start : start + count]


def aligned_copy(block: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A block with a work space of its own."""
    copy = _aligned_zeros(block.size)
    copy[:] = block
    return copy


def pack(model: RobotModel, gravity: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The block of `model` in the field `gravity`."""
    header, row = int(HEADER), int(ROW)
    bodies = model.parent.size
    rotors = header + row * (bodies + 1)
    positions = _whole_lines(rotors + model.n)
    padded = _whole_lines(bodies)
    block = _aligned_zeros(positions + 3 * padded)
    block[int(BODIES)], block[int(COORDINATES)], block[int(ROTORS)] = bodies, model.n, rotors
    block[int(POSITIONS)], block[int(PADDED)] = positions, padded
    block[int(GRAVITY) : int(GRAVITY) + 3] = gravity
    block[rotors : rotors + model.n] = model.rotor_inertia

    turns = [np.eye(3)] + [frame_with_axis_z(axis) for axis in model.axis]
    beyond = model.mass.copy()
    for i in reversed(range(bodies)):
        if model.parent[i] >= 0:
            beyond[model.parent[i]] += beyond[i]
    for i in range(bodies):
        turn, turn_parent = turns[i + 1], turns[model.parent[i] + 1]
        com = turn.T @ model.com[i]
        inertia_com = turn.T @ model.inertia[i] @ turn
        start = header + row * (i + 1)

        def put(at: np.uintp, *values: float, start: int = start) -> None:
            block[start + int(at) : start + int(at) + len(values)] = values

        put(PARENT, header + row * (model.parent[i] + 1))
        put(PRISMATIC, model.prismatic[i])
        put(COORDINATE, model.coordinate[i])
        put(RATIO, model.ratio[i])
        put(OFFSET, model.offset[i])
        put(ROTATION, *(turn_parent.T @ model.rotation[i] @ turn).ravel())
        put(PLACE, *(turn_parent.T @ model.place[i]))
        put(MASS, model.mass[i])
        put(MOMENT, *(model.mass[i] * com))
        put(INERTIA, *six(inertia_com + steiner(model.mass[i], com)))
        put(MASS_BEYOND, beyond[i])
        put(BRANCHES, float(np.any(np.flatnonzero(model.parent == i) != i + 1)))
        put(CENTRE, *com)
        put(INERTIA_C, *six(inertia_com))
    return block


def frame_block(model: RobotModel, frame: Frame) -> npt.NDArray[np.float64]:
    """A link's frame for the kernels: its body's row, rotation (9) and place (3) on that body."""
    turn = np.eye(3) if frame.body < 0 else frame_with_axis_z(model.axis[frame.body])
    row = int(HEADER) + int(ROW) * (frame.body + 1)
    return np.array([row, *(turn.T @ frame.rotation).ravel(), *(turn.T @ frame.place)])
