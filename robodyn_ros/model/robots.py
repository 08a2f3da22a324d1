"""The built-in arms, those of the papers, and `load_robot`, which finds a robot by its name."""

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .assemble import JointRow, assemble
from .checks import check_model
from .dh import DHRow, from_dh, rotation_x
from .rigid_body import Array, RigidBody
from .robot import RobotModel
from .urdf import load_urdf
from .urdf_writer import to_urdf

BUILT_IN = ("lwr_iii", "kuka_lwr4", "stanford", "planar_2r", "rx90", "puma_4dof")
PI_2 = math.pi / 2.0

# Limits, drives and friction of the KUKA LWR 4+, the commercial version of the LWR-III
LWR_REACH = np.radians([170.0, 120.0, 170.0, 120.0, 170.0, 120.0, 170.0])
LWR_DRIVES = {
    "q_min": (-LWR_REACH).tolist(),
    "q_max": LWR_REACH.tolist(),
    "qd_max": np.radians([110.0, 110.0, 128.0, 128.0, 204.0, 184.0, 184.0]).tolist(),
    "tau_max": [176.0, 176.0, 100.0, 100.0, 100.0, 38.0, 38.0],
    "rotor_inertia": [3.19, 3.2, 2.01, 1.92, 0.776, 0.391, 0.399],
    "coulomb": [11.9, 11.5, 8.98, 8.35, 8.31, 4.72, 6.04],
    "viscous": [14.4, 15.3, 6.55, 11.0, 4.29, 2.26, 1.6],
}
LWR_MASS = [2.534, 2.362, 3.535, 1.688, 2.509, 1.207, 0.165]


def load_robot(
    robot: str,
    root: str | None = None,
    tip: str | None = None,
    lock: dict[str, float] | list[str] | None = None,
    strict: bool = False,
) -> RobotModel:
    """Return a built-in arm by name, or the robot of a URDF (path or text) as `load_urdf` does."""
    description = robot
    if robot in BUILT_IN and not Path(robot).exists():
        model: RobotModel = globals()[robot]()
        if not (root or tip or lock or strict):
            return model
        description = to_urdf(model)
    return load_urdf(description, root=root, tip=tip, lock=lock, strict=strict)


def _rows(kind: Callable[..., Any], **columns: Any) -> list[Any]:
    values = zip(*columns.values(), strict=True)
    return [kind(**dict(zip(columns, row, strict=True))) for row in values]


def cylinder(mass: float, radius: float, axis: Array) -> Array:
    """Return the inertia (3, 3) [kg m^2] of a uniform cylinder along the vector `axis` [m]."""
    length = float(np.linalg.norm(axis))
    u = np.asarray(axis) / length
    across = mass * (3.0 * radius**2 + length**2) / 12.0
    along = mass * radius**2 / 2.0
    return across * np.eye(3) + (along - across) * np.outer(u, u)


@cache
def lwr_iii() -> RobotModel:
    """Return the DLR LWR-III: table I of [DeLuca2009], standard DH.

    The paper gives no numbers. Chosen here: L = 0.2 m, a7 = 0.08 m, the masses of the LWR 4+, and
    uniform cylinders along the links, 0.12 m along the joint's axis for links without length.
    """
    L, a7 = 0.2, 0.08
    alpha = [PI_2, -PI_2, PI_2, -PI_2, -PI_2, PI_2, 0.0]
    d = [L, 0.0, 2.0 * L, 0.0, 2.0 * L, 0.0, 0.0]
    a = [0.0] * 6 + [a7]
    radius = [0.06, 0.06, 0.06, 0.06, 0.06, 0.05, 0.04]
    turns = [rotation_x(angle).T for angle in alpha]
    # From the previous frame's origin to this one's, in this frame's axes
    spans = [R @ np.array([x, 0.0, z]) for R, x, z in zip(turns, a, d, strict=True)]
    ends = [
        span if span.any() else R @ np.array([0.0, 0.0, 0.12]) for R, span in zip(turns, spans)
    ]
    com, inertia = [-span / 2.0 for span in spans], list(map(cylinder, LWR_MASS, radius, ends))
    rows = _rows(
        DHRow, a=a, alpha=alpha, d=d, mass=LWR_MASS, com=com, inertia=inertia, **LWR_DRIVES
    )
    return from_dh(rows, name="lwr_iii")


@cache
def kuka_lwr4() -> RobotModel:
    """Return the KUKA LWR 4+, with physically consistent inertias fitted to the base parameters
    of Gaz, Flacco and De Luca [Gaz2014]. The split of the mass between the links is chosen here,
    as the motion does not determine it.
    """
    height = [0.11, 0.2005, 0.2, 0.2, 0.2, 0.19, 0.078]
    z, y = [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]
    axes = [z, [0.0, -1.0, 0.0], z, y, z, [0.0, -1.0, 0.0], z]
    com = [
        [0.0, 0.0236, 0.1101],
        [0.0006, -0.0182, 0.0731],
        [0.0003, -0.0081, 0.0989],
        [-0.0021, 0.0166, 0.0777],
        [-0.0003, 0.0184, 0.0661],
        [0.0007, -0.0045, 0.0151],
        [-0.0018, 0.0058, -0.0152],
    ]
    # Ixx, Iyy, Izz, Ixy, Ixz, Iyz about the centre of mass [1e-3 kg m^2]
    inertia = [
        [15.63, 15.38, 4.46, 0.0, 0.0, 0.0],
        [15.51, 14.87, 4.83, -0.03, 0.10, -2.60],
        [18.05, 16.75, 5.18, -0.01, 0.28, 3.42],
        [13.92, 13.81, 4.94, -0.06, -0.27, 1.65],
        [7.77, 7.14, 2.59, -0.01, -0.17, 0.24],
        [2.970, 3.156, 2.779, -0.004, 0.012, -0.092],
        [0.047, 0.083, 0.114, -0.002, 0.003, -0.008],
    ]
    bodies = [
        RigidBody(mass, np.array(c), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) / 1000.0)
        for mass, c, (xx, yy, zz, xy, xz, yz) in zip(LWR_MASS, com, inertia, strict=True)
    ]
    rows = _rows(
        JointRow,
        joint=[f"joint_{i + 1}" for i in range(7)],
        link=[f"link_{i + 1}" for i in range(7)],
        parent=range(-1, 6),
        axis=np.array(axes),
        place=[np.array([0.0, 0.0, z]) for z in height],
        body=bodies,
        **LWR_DRIVES,
    )
    base = RigidBody(2.0, np.array([0.0, 0.0, 0.055]), np.diag([3.817, 3.817, 3.6]) / 1000.0)
    model = assemble("kuka_lwr4", rows, base_body=base)
    check_model(model)
    return model


@cache
def stanford() -> RobotModel:
    """Return the Stanford arm, 2R-P-3R: tables I and II of [GuarinoLoBianco2009], modified DH.

    Inertias about the centres of mass. The limits are chosen here, around the paper's motion.
    """
    alpha = [0.0, -PI_2, PI_2, 0.0, -PI_2, PI_2]
    d = [0.412, 0.154, 0.0, 0.0, 0.0, 0.263]
    theta = [0.0, 0.0, -PI_2, 0.0, 0.0, 0.0]
    mass = [9.29, 5.01, 4.25, 1.08, 0.63, 0.51]
    com = [
        [0.0, -0.1105, -0.0175],
        [0.0, 0.0, -0.1054],
        [0.0, 0.0, -0.6447],
        [0.0, -0.0054, -0.0092],
        [0.0, -0.0566, 0.0],
        [0.0, 0.0, 0.1554],
    ]
    inertia = [
        [0.276, 0.071, 0.255],
        [0.108, 0.100, 0.018],
        [2.51, 2.51, 0.006],
        [0.002, 0.001, 0.001],
        [0.003, 0.0004, 0.003],
        [0.013, 0.013, 0.0003],
    ]
    limits = {
        "prismatic": [i == 2 for i in range(6)],
        "q_min": [-0.1 if i == 2 else -math.pi for i in range(6)],
        "q_max": [2.1 if i == 2 else math.pi for i in range(6)],
        "qd_max": [3.0] * 6,
        "tau_max": [200.0] * 3 + [20.0] * 3,
    }
    geometry = {"alpha": alpha, "d": d, "theta": theta}
    rows = _rows(DHRow, **geometry, mass=mass, com=com, inertia=inertia, **limits)
    return from_dh(rows, convention="modified", name="stanford")


@cache
def planar_2r(length_1: float = 1.0, length_2: float = 1.0) -> RobotModel:
    """Return two thin rods, 10 and 5 kg, in a vertical plane, lengths [m]: [DeLucaSlides]."""

    def rod(mass: float, length: float) -> DHRow:
        across = mass * length**2 / 12.0
        along = mass * 0.01**2 / 2.0  # 1 cm thick: physics engines need positive moments
        return DHRow(
            a=length, mass=mass, com=(-length / 2.0, 0.0, 0.0), inertia=(along, across, across)
        )

    rods = [rod(10.0, length_1), rod(5.0, length_2)]
    return from_dh(rods, name="planar_2r", base_rotation=rotation_x(PI_2))


@cache
def rx90() -> RobotModel:
    """Return the Staubli RX-90 with the geometry of [Khalil2019], modified DH.

    Inertias (of cylinders) and drives are plausible values chosen here, not the manufacturer's.
    """
    alpha = [0.0, PI_2, 0.0, -PI_2, PI_2, -PI_2]
    a = [0.0, 0.0, 0.45, 0.0, 0.0, 0.0]
    d = [0.0, 0.0, 0.0, 0.45, 0.0, 0.0]
    mass = [35.0, 20.0, 12.0, 5.0, 1.5, 0.5]
    com = [[0, 0, -0.1], [0.2, 0, 0.05], [0, 0.08, 0], [0, 0, -0.15], [0, 0.02, 0], [0, 0, 0.06]]
    body = [[0, 0, 0.45], [0.5, 0, 0], [0, 0.25, 0], [0, 0, 0.3], [0, 0.1, 0], [0, 0, 0.08]]
    radius = [0.14, 0.09, 0.1, 0.06, 0.045, 0.03]
    reach = np.radians([160.0, 137.5, 142.5, 270.0, 120.0, 270.0])
    drives = {
        "q_min": (-reach).tolist(),
        "q_max": reach.tolist(),
        "qd_max": np.radians([236.0, 200.0, 286.0, 401.0, 320.0, 580.0]).tolist(),
        "tau_max": [320.0, 320.0, 150.0, 40.0, 30.0, 15.0],
        "rotor_inertia": [5.0, 5.0, 2.0, 0.3, 0.25, 0.1],
    }
    inertia = list(map(cylinder, mass, radius, np.array(body)))
    rows = _rows(DHRow, alpha=alpha, a=a, d=d, mass=mass, com=com, inertia=inertia, **drives)
    return from_dh(rows, convention="modified", name="rx90")


@cache
def puma_4dof(load: float = 0.5) -> RobotModel:
    """Return the simplified 4-joint PUMA of [LuMeng1993]: point masses of 2, 2, 2 and 0.5 kg, and
    a point load [kg] in its hand. Geometry of the PUMA 560.

    The paper does not give the distance of the hand from axis 4. On the axis its inertia would
    vanish; 0.1 m is chosen here.
    """
    rows = [
        DHRow(mass=2.0, com=(0.0, 0.0, -0.33)),
        DHRow(alpha=-PI_2, d=0.1491, mass=2.0, com=(0.2159, 0.0, 0.0)),
        DHRow(a=0.4318, mass=2.0, com=(-0.01015, 0.21655, 0.0)),
        DHRow(a=-0.0203, alpha=-PI_2, d=0.4331, mass=0.5 + load, com=(0.1, 0.0, 0.0)),
    ]
    return from_dh(rows, convention="modified", name="puma_4dof")
