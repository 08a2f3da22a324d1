"""The robot as one flat array of floats, as the compiled kernels read it.

    header | row of the base | row of body 1 | … | row of body N | rotor inertia per coordinate
           | positions, sines and cosines of all joints

A row holds the constants of one moving body, then work space. Each body frame is rotated so that
its joint axis is +z. `packed` is read-only: kernels run on an `aligned_copy`. Offsets are
unsigned: without tests for negative indices a kernel saves a third of its time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .rigid_body import UPPER, Array, steiner

if TYPE_CHECKING:
    from .robot import RobotModel

U = np.uintp

# Header
BODIES, COORDINATES, GRAVITY, ROTORS = U(0), U(1), U(2), U(5)
POSITIONS, PADDED = U(6), U(7)  # offset of the positions; their number, padded to whole lines
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
MASS_BEYOND = U(27)  # mass of this body and of all bodies it carries
BRANCHES = U(28)  # 1 if it carries another body than the one in the next row
# Row: work space. It follows the constants that every sweep reads, to share their cache lines.
WORK = U(29)
# Row: constants that only NE* and C* read
CENTRE = U(127)  # c (3): centre of mass
INERTIA_C = U(130)  # I_c (6): about the centre of mass
ROW = U(136)  # 17 cache lines: an odd number, so that the rows spread over the whole cache
LINE = 8  # numbers in a cache line, and in the widest vector register

# The packed friction parameters: number of joints, then rows of n numbers each
FRICTION_HEADER = U(1)
VISCOUS, COULOMB, STICTION, FADING, FRICTION_OFFSET, LOAD, WIDTH, PRESLIDING, FRICTION_SPEED = (
    U(k) for k in range(9)
)
FRICTION_ROWS = 9


def frame_with_axis_z(axis: Array) -> Array:
    """Return a rotation (3, 3) whose third column is `axis`; exact for coordinate axes."""
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


def upper_triangle(S: Array) -> Array:
    """Return the six numbers of a symmetric matrix: xx, xy, xz, yy, yz, zz."""
    return S[UPPER]


def _whole_lines(count: int) -> int:
    return -(-count // LINE) * LINE


def _aligned_zeros(count: int) -> Array:
    room = np.zeros(count + LINE)
    start = -(room.ctypes.data // 8) % LINE
    return room[start : start + count]


def aligned_copy(*parts: npt.ArrayLike) -> Array:
    """Return packed parameters, and arrays to append to them, as a writable array of its own."""
    whole = np.concatenate(parts) if len(parts) > 1 else np.asarray(parts[0])
    copy = _aligned_zeros(whole.size)
    copy[:] = whole
    return copy


def pack(model: RobotModel) -> Array:
    """Return the packed parameters of a robot, with zeros for the work space; read-only."""
    header, row = int(HEADER), int(ROW)
    bodies = model.parent.size
    rotors = header + row * (bodies + 1)
    positions = _whole_lines(rotors + model.n)
    padded = _whole_lines(bodies)
    packed = _aligned_zeros(positions + 3 * padded)
    packed[int(BODIES)], packed[int(COORDINATES)], packed[int(ROTORS)] = bodies, model.n, rotors
    packed[int(POSITIONS)], packed[int(PADDED)] = positions, padded
    packed[int(GRAVITY) : int(GRAVITY) + 3] = model.gravity
    packed[rotors : rotors + model.n] = model.rotor_inertia

    turns = [np.eye(3)] + [frame_with_axis_z(axis) for axis in model.axis]
    for i in range(bodies):
        turn, turn_parent = turns[i + 1], turns[model.parent[i] + 1]
        start = header + row * (i + 1)

        def put(at: np.uintp, *values: float, start: int = start) -> None:
            packed[start + int(at) : start + int(at) + len(values)] = values

        put(PARENT, header + row * (model.parent[i] + 1))
        put(PRISMATIC, model.prismatic[i])
        put(COORDINATE, model.coordinate[i])
        put(RATIO, model.ratio[i])
        put(OFFSET, model.offset[i])
        put(ROTATION, *(turn_parent.T @ model.rotation[i] @ turn).ravel())
        put(PLACE, *(turn_parent.T @ model.place[i]))
        put(BRANCHES, float(np.any(np.flatnonzero(model.parent == i) != i + 1)))
        _put_inertia(packed, model, i, turn)
    _put_masses_beyond(packed, model)
    packed.setflags(write=False)
    return packed


def pack_body(packed: Array, model: RobotModel, i: int) -> Array:
    """Return the packed parameters of a robot that differs from `packed` in body i alone."""
    changed = aligned_copy(packed)
    _put_inertia(changed, model, i, frame_with_axis_z(model.axis[i]))
    _put_masses_beyond(changed, model)
    changed.setflags(write=False)
    return changed


def _put_inertia(packed: Array, model: RobotModel, i: int, turn: Array) -> None:
    mass, com = model.mass[i], turn.T @ model.com[i]
    inertia_com = turn.T @ model.inertia[i] @ turn
    start = int(HEADER) + int(ROW) * (i + 1)
    for at, values in (
        (MASS, (mass,)),
        (MOMENT, mass * com),
        (INERTIA, upper_triangle(inertia_com + steiner(mass, com))),
        (CENTRE, com),
        (INERTIA_C, upper_triangle(inertia_com)),
    ):
        packed[start + int(at) : start + int(at) + len(values)] = values


def _put_masses_beyond(packed: Array, model: RobotModel) -> None:
    beyond = model.mass.copy()
    for i in reversed(range(beyond.size)):
        if model.parent[i] >= 0:
            beyond[model.parent[i]] += beyond[i]
    first = int(HEADER) + int(ROW) + int(MASS_BEYOND)
    packed[first : first + int(ROW) * beyond.size : int(ROW)] = beyond


def pack_frame(model: RobotModel, link: str) -> Array:
    """Return a link's frame (13,), made once: its body's row, rotation (9) and place (3) on it."""
    key = f"frame of {link}"
    if key not in model.bound:
        frame = model.frame(link)
        turn = np.eye(3) if frame.body < 0 else frame_with_axis_z(model.axis[frame.body])
        row = int(HEADER) + int(ROW) * (frame.body + 1)
        packed = np.array([row, *(turn.T @ frame.rotation).ravel(), *(turn.T @ frame.place)])
        packed.setflags(write=False)
        model.bound[key] = packed
    return model.bound[key]


def pack_friction(model: RobotModel, width: float = 0.0) -> Array:
    """Return the friction parameters (1 + 9 n,).

    width [rad/s or m/s]: of the step, for joints of which the model does not know it; 0: sharp.
    """
    key = "friction parameters"
    if key not in model.bound:
        rows = (
            model.viscous,
            model.coulomb,
            model.stiction,
            model.stribeck,
            model.friction_offset,
            model.friction_load,
            model.friction_width,
            model.presliding,
            model.friction_speed,
        )
        model.bound[key] = np.concatenate([[model.n], *rows])
    packed: Array = model.bound[key].copy()
    if width:
        widths = friction_rows(packed)[int(WIDTH)]
        widths[widths == 0.0] = width
    return packed


def friction_rows(packed: Array) -> Array:
    """Return the rows (9, n) of packed friction parameters; a view."""
    return packed[int(FRICTION_HEADER) :].reshape(FRICTION_ROWS, -1)
