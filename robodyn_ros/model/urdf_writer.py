"""to_urdf: a model as URDF text, with simple visual and collision shapes."""

import math
import xml.etree.ElementTree as ET

import numpy as np

from .rigid_body import Array, RigidBody
from .robot import RobotModel

NO_LIMIT = 1e6  # [rad or m], for an infinite limit: URDF requires a number
COLOURS = {"light": "0.85 0.87 0.9 1", "dark": "0.25 0.3 0.36 1"}


def to_urdf(model: RobotModel, *, radius: float = 0.05) -> str:
    """Return the robot as URDF text: joints, inertias, limits, friction and rotor inertias.

    Each link is drawn as a sphere of `radius` [m] at its joint and cylinders to the joints it
    carries. Rotor inertias are written as Drake reads them, as a transmission with gear ratio 1.
    URDF has no elements for stiction and the Stribeck rate: they are left out.
    """
    robot = ET.Element("robot", name=model.name, attrib={"xmlns:drake": "http://drake.mit.edu"})
    for name, rgba in COLOURS.items():
        ET.SubElement(ET.SubElement(robot, "material", name=name), "color", rgba=rgba)
    on_base = [name for name, frame in model.frames.items() if frame.body < 0]
    base = on_base[0]
    foot = ET.SubElement(robot, "link", name=base)
    if model.base_body.mass > 0.0:
        _add_inertial(foot, model.base_body)
    _add_shapes(foot, _reach(model, -1), radius, "dark")
    for i, name in enumerate(model.link_names):
        link = ET.SubElement(robot, "link", name=name)
        _add_inertial(link, model.body(i))
        _add_shapes(link, _reach(model, i), radius, "dark" if i % 2 else "light")
    for name, frame in model.frames.items():
        if name == base or name in model.link_names:
            continue
        ET.SubElement(robot, "link", name=name)
        joint = ET.SubElement(robot, "joint", name=f"{name}_fixed", type="fixed")
        parent = base if frame.body < 0 else model.link_names[frame.body]
        _add_origin(joint, frame.rotation, frame.place)
        ET.SubElement(joint, "parent", link=parent)
        ET.SubElement(joint, "child", link=name)
    for i in range(len(model.link_names)):
        _add_joint(robot, model, i, base)
    for k, name in enumerate(model.joint_names):
        if model.rotor_inertia[k] > 0.0:
            _add_rotor(robot, name, float(model.rotor_inertia[k]))
    ET.indent(robot)
    return '<?xml version="1.0"?>\n' + ET.tostring(robot, encoding="unicode") + "\n"


def _add_joint(robot: ET.Element, model: RobotModel, i: int, base: str) -> None:
    k = int(model.coordinate[i])
    name = model.body_joint_names[i]
    follows = name != model.joint_names[k]
    kind = "prismatic" if model.prismatic[i] else "revolute"
    low, high = float(model.q_min[k]), float(model.q_max[k])
    if kind == "revolute" and (model.continuous[k] or (np.isinf(low) and np.isinf(high))):
        kind = "continuous"
    joint = ET.SubElement(robot, "joint", name=name, type=kind)
    _add_origin(joint, model.rotation[i], model.place[i])
    ET.SubElement(
        joint, "parent", link=base if model.parent[i] < 0 else model.link_names[model.parent[i]]
    )
    ET.SubElement(joint, "child", link=model.link_names[i])
    ET.SubElement(joint, "axis", xyz=_numbers(model.axis[i]))
    limit = {}
    if kind != "continuous":
        low, high = max(low, -NO_LIMIT), min(high, NO_LIMIT)
        if follows:
            low, high = sorted(model.ratio[i] * x + model.offset[i] for x in (low, high))
        limit = {"lower": _number(low), "upper": _number(high)}
    # URDF cannot express "no limit"; load_urdf reads 0 as such.
    limit["effort"] = _number(model.tau_max[k] if np.isfinite(model.tau_max[k]) else 0.0)
    limit["velocity"] = _number(model.qd_max[k] if np.isfinite(model.qd_max[k]) else 0.0)
    if kind != "continuous" or float(limit["effort"]) or float(limit["velocity"]):
        ET.SubElement(joint, "limit", attrib=limit)
    if follows:
        ET.SubElement(
            joint,
            "mimic",
            joint=model.joint_names[k],
            multiplier=_number(model.ratio[i]),
            offset=_number(model.offset[i]),
        )
    elif model.viscous[k] or model.coulomb[k]:
        damping, friction = _number(model.viscous[k]), _number(model.coulomb[k])
        ET.SubElement(joint, "dynamics", damping=damping, friction=friction)


def _add_inertial(link: ET.Element, body: RigidBody) -> None:
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "origin", xyz=_numbers(body.com), rpy="0 0 0")
    ET.SubElement(inertial, "mass", value=_number(body.mass))
    keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    values = body.inertia[np.triu_indices(3)]
    inertia = {key: _number(v) for key, v in zip(keys, values, strict=True)}
    ET.SubElement(inertial, "inertia", attrib=inertia)


def _add_rotor(robot: ET.Element, joint: str, inertia: float) -> None:
    transmission = ET.SubElement(robot, "transmission", name=f"{joint}_transmission")
    ET.SubElement(transmission, "type").text = "transmission_interface/SimpleTransmission"
    ET.SubElement(transmission, "joint", name=joint)
    actuator = ET.SubElement(transmission, "actuator", name=f"{joint}_motor")
    ET.SubElement(actuator, "drake:gear_ratio", value="1")
    ET.SubElement(actuator, "drake:rotor_inertia", value=_number(inertia))


def _reach(model: RobotModel, i: int) -> list[Array]:
    """Return the ends of a link [m]: its joints, else its frames, else twice its mass centre."""
    ends = [model.place[c] for c in np.flatnonzero(model.parent == i)]
    if not ends and i >= 0:
        ends = [f.place for f in model.frames.values() if f.body == i and f.place.any()]
        ends = ends or [2.0 * model.com[i]]
    return [np.asarray(end) for end in ends if np.linalg.norm(end) > 1e-3]


def _add_shapes(link: ET.Element, ends: list[Array], radius: float, colour: str) -> None:
    for use in ("visual", "collision"):
        shape = ET.SubElement(link, use)
        ET.SubElement(ET.SubElement(shape, "geometry"), "sphere", radius=_number(radius))
        if use == "visual":
            ET.SubElement(shape, "material", name=colour)
        for end in ends:
            tube = ET.SubElement(link, use)
            length = float(np.linalg.norm(end))
            x, y, z = end / length
            tilt = (0.0, math.acos(max(-1.0, min(1.0, z))), math.atan2(y, x))
            ET.SubElement(tube, "origin", xyz=_numbers(end / 2.0), rpy=_numbers(np.array(tilt)))
            geometry = ET.SubElement(tube, "geometry")
            size = {"radius": _number(round(0.8 * radius, 6)), "length": _number(length)}
            ET.SubElement(geometry, "cylinder", attrib=size)
            if use == "visual":
                ET.SubElement(tube, "material", name=colour)


def _add_origin(joint: ET.Element, rotation: Array, place: Array) -> None:
    ET.SubElement(joint, "origin", xyz=_numbers(place), rpy=_numbers(roll_pitch_yaw(rotation)))


def roll_pitch_yaw(R: Array) -> Array:
    """Return roll, pitch, yaw (3,) [rad] with R = Rz(yaw) Ry(pitch) Rx(roll)."""
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    if math.hypot(R[0, 0], R[1, 0]) < 1e-9:  # gimbal lock: yaw is set to 0
        return np.array([math.atan2(-R[1, 2], R[1, 1]), pitch, 0.0])
    return np.array([math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])])


def _number(value: float) -> str:
    """Return the shortest text that reads back as the same number."""
    return repr(float(value) + 0.0).removesuffix(".0")


def _numbers(values: Array) -> str:
    return " ".join(_number(v) for v in values)
