"""Robots from Denavit-Hartenberg tables, standard or modified.

    standard   frame i sits at the end of link i:        Rz(theta) Tz(d) Tx(a) Rx(alpha)
    modified   frame i sits at the joint of link i:      Rx(alpha) Tx(a) Rz(theta) Tz(d)

[DeLuca2009] uses the standard one, [Khalil2019] and [GuarinoLoBianco2009] the modified.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..errors import ArgumentError
from .assemble import INFINITE, JointRow, assemble
from .checks import check_model
from .rigid_body import Array, RigidBody, as_inertia, as_numbers, as_vector
from .robot import GRAVITY, Frame, RobotModel


@dataclass(frozen=True, eq=False)
class DHRow:
    """One row of the table, with the inertial parameters and limits of its link.

    The joint's variable adds to theta (revolute) or d (prismatic). In a modified table, a and
    alpha of a row are those that lead from the previous frame to this one.
    """

    a: float = 0.0  # [m]
    alpha: float = 0.0  # [rad]
    d: float = 0.0  # [m]
    theta: float = 0.0  # [rad]
    prismatic: bool = False
    mass: float = 0.0  # [kg]
    com: Sequence[float] = (0.0, 0.0, 0.0)  # [m], in the row's DH frame
    inertia: Any = 0.0  # [kg m^2] about the centre of mass, DH axes: (3, 3), diagonal, or a number
    parent: int | None = None  # index of the parent's row; None: the row before, -1: the base
    q_min: float = -INFINITE
    q_max: float = INFINITE
    qd_max: float = INFINITE
    tau_max: float = INFINITE
    rotor_inertia: float = 0.0  # [kg m^2 or kg], reflected
    viscous: float = 0.0
    coulomb: float = 0.0


LIMITS = ("q_min", "q_max", "qd_max", "tau_max", "rotor_inertia", "viscous", "coulomb")


def from_dh(
    rows: Sequence[DHRow | Mapping[str, Any]],
    *,
    convention: str = "standard",
    name: str = "robot",
    gravity: Sequence[float] = GRAVITY,
    base_rotation: Any = None,
) -> RobotModel:
    """Return the robot of a DH table, with joints joint_1 …, links link_1 …, DH frames dh_1 ….

    `convention` is standard or modified. `gravity` (3,) [m/s^2] is in the base's axes.
    `base_rotation` (3, 3) is the rotation of the table's frame 0 in the base frame.
    """
    if convention not in ("standard", "modified"):
        raise ArgumentError(f"convention must be 'standard' or 'modified', got {convention!r}")
    table = [_row(i, row) for i, row in enumerate(rows)]
    turn = np.eye(3) if base_rotation is None else as_numbers("base_rotation", base_rotation)
    if turn.shape != (3, 3) or not np.allclose(turn @ turn.T, np.eye(3), atol=1e-9):
        raise ArgumentError(f"base_rotation must be a rotation matrix, got {base_rotation!r}")
    joints: list[JointRow] = []
    ends: list[tuple[Array, Array]] = []  # DH frame on its body
    frames: dict[str, Frame] = {}
    for i, row in enumerate(table):
        parent = i - 1 if row.parent is None else row.parent
        if not -1 <= parent < i:
            raise ArgumentError(f"parent of DH row {i + 1} must be a row before it, got {parent}")
        R_p, p_p = (turn, np.zeros(3)) if parent < 0 else ends[parent]
        slide, swing = np.array([0.0, 0.0, row.d]), rotation_z(row.theta)
        if convention == "standard":
            rotation, place = R_p @ swing, p_p
            end = (rotation_x(row.alpha), slide + np.array([row.a, 0.0, 0.0]))
        else:
            tilt = R_p @ rotation_x(row.alpha)
            rotation, place = tilt @ swing, p_p + R_p @ np.array([row.a, 0.0, 0.0]) + tilt @ slide
            end = (np.eye(3), np.zeros(3))
        ends.append(end)
        what = f"of DH row {i + 1}"
        body = RigidBody(
            row.mass, as_vector(f"com {what}", row.com), as_inertia(f"inertia {what}", row.inertia)
        )
        joints.append(
            JointRow(
                joint=f"joint_{i + 1}",
                link=f"link_{i + 1}",
                parent=parent,
                prismatic=row.prismatic,
                rotation=exact(rotation),
                place=exact(place),
                body=body.seen_from(*end),
                continuous=not row.prismatic and math.isinf(row.q_max - row.q_min),
                **{key: getattr(row, key) for key in LIMITS},
            )
        )
        frames[f"dh_{i + 1}"] = Frame(i, exact(end[0]), exact(end[1]))
    model = assemble(name, joints, frames, gravity=as_vector("gravity", gravity))
    check_model(model)
    return model


def _row(i: int, row: DHRow | Mapping[str, Any]) -> DHRow:
    if isinstance(row, DHRow):
        return row
    known = {item.name for item in fields(DHRow)}
    unknown = set(row) - known
    if unknown:
        found, expected = ", ".join(sorted(unknown)), ", ".join(sorted(known))
        raise ArgumentError(f"DH row {i + 1} has no {found}; it knows {expected}")
    return DHRow(**row)


def rotation_x(angle: float) -> Array:
    """Return the rotation matrix (3, 3) about x."""
    c, s = math.cos(angle), math.sin(angle)
    return exact(np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]))


def rotation_z(angle: float) -> Array:
    """Return the rotation matrix (3, 3) about z."""
    c, s = math.cos(angle), math.sin(angle)
    return exact(np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]))


def exact(x: Array) -> Array:
    """Return x with rounding errors such as cos(pi/2) = 6e-17 set to 0."""
    return np.where(np.abs(x) < 1e-15, 0.0, x)
