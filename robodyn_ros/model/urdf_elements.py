"""Links, joints and rotors of a reduced URDF, with a check of every value."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, tostring

import numpy as np

from ..errors import UrdfError
from .rigid_body import Array, RigidBody
from .urdf_xml import Document, one_line, quoted

LARGEST = 1e9  # [SI], above any robot; larger squares and sums could overflow

# Tag -> attributes -> count of numbers
NUMBERS = {
    "origin": {"xyz": 3, "rpy": 3},
    "axis": {"xyz": 3},
    "mass": {"value": 1},
    "inertia": dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), 1),
    "limit": dict.fromkeys(("lower", "upper", "effort", "velocity"), 1),
    "dynamics": {"damping": 1, "friction": 1},
    "mimic": {"multiplier": 1, "offset": 1},
    "gear_ratio": {"value": 1},
    "rotor_inertia": {"value": 1},
}
NAMES = {"parent": ("link",), "child": ("link",), "mimic": ("joint",), "joint": ("name", "type")}
OPTIONAL = {"origin", "limit", "dynamics"}  # tags whose attributes may be missing
OPTIONAL_ATTRIBUTES = {"multiplier", "offset"}
PARSED_KINDS = {"revolute", "continuous", "prismatic", "fixed", "floating", "planar"}
CHILDREN = {"inertial": ("mass", "inertia"), "joint": ("parent", "child")}


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint as the URDF gives it, with the defaults filled in."""

    name: str
    kind: str
    parent: str
    child: str
    rotation: Array  # (3, 3), its frame seen from the parent link's
    place: Array  # (3,) [m]
    axis: Array  # (3,), as written
    lower: float
    upper: float
    effort: float  # 0: not given
    velocity: float  # 0: not given
    damping: float
    friction: float
    mimic: tuple[str, float, float] | None  # joint, multiplier, offset


@dataclass(frozen=True, eq=False)
class Elements:
    """All links and joints of a URDF, in the order of the document."""

    name: str
    links: list[tuple[str, RigidBody]]
    joints: list[Joint]


def parse_elements(document: Document) -> Elements:
    """Return the links and joints of a document, after a check of every value."""
    from urdf_parser_py.urdf import Robot  # here, because its import of lxml is slow

    kinds = []
    for part in document.robot:
        _check_part(part)
        if part.tag == "joint":
            kinds.append(part.attrib["type"])
            if kinds[-1] not in PARSED_KINDS:  # rejected later, if the joint is used
                part.set("type", "unknown")
    try:
        robot = Robot.from_xml_string(tostring(document.robot, encoding="utf-8"))
    except Exception as fault:  # the parser raises exceptions of any type
        raise UrdfError(
            f"the URDF cannot be read: {one_line(fault)}; correct that element"
        ) from fault
    return Elements(
        robot.name,
        [(link.name, _rigid_body(link.inertial)) for link in robot.links],
        [_joint(joint, kind) for joint, kind in zip(robot.joints, kinds)],
    )


def rotor_inertias(document: Document) -> dict[str, float]:
    """Return joint -> gear_ratio^2 * rotor_inertia [kg m^2], from the transmissions."""
    found: dict[str, float] = {}
    for transmission in document.transmissions:
        reflected = sum(
            _reflected_inertia(owner, transmission)
            for owner in transmission.iter()
            if owner.find("rotor_inertia") is not None
        )
        if reflected:
            joint = _driven_joint(transmission)
            found[joint] = found.get(joint, 0.0) + reflected
    return found


def pose(origin: Any) -> tuple[Array, Array]:
    """Return rotation (3, 3) and place (3,) [m] of an <origin>; identity if it is missing."""
    if origin is None:
        return np.eye(3), np.zeros(3)
    return rotation_from_rpy(origin.rpy or (0.0, 0.0, 0.0)), np.array(origin.xyz or (0.0,) * 3)


def rotation_from_rpy(rpy: Sequence[float]) -> Array:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll) (3, 3), rotations about fixed axes [rad]."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def _check_part(part: Element) -> None:
    """Check a link or joint, and remove attributes that the parser does not know."""
    what = f"{part.tag} {quoted(part.get('name'))}"
    for element in part.iter():
        for tag in CHILDREN.get(element.tag, ()):
            if element.find(tag) is None:
                raise UrdfError(f"{what}: <{element.tag}> has no <{tag}>; add it")
        if element.tag == "limit":
            _complete_limit(element)
        _check_names(element, what)
        _check_numbers(element, what)


def _complete_limit(limit: Element) -> None:
    """Add the defaults of missing attributes: effort, velocity and range are unknown."""
    for name in ("effort", "velocity"):
        limit.attrib.setdefault(name, "0")
    if "lower" not in limit.attrib and "upper" not in limit.attrib:
        limit.attrib.update(lower="-inf", upper="inf")


def _check_names(element: Element, what: str) -> None:
    for name in NAMES.get(element.tag, ()):
        if not element.get(name):
            raise UrdfError(f'{what}: <{element.tag}> has no {name}; add {name}="…"')


def _check_numbers(element: Element, what: str) -> None:
    tag, numbers = element.tag, NUMBERS.get(element.tag, {})
    if tag == "origin" and "quat_xyzw" in element.attrib:
        raise UrdfError(f"{what}: <origin> has quat_xyzw, which is not read; write rpy instead")
    for name, count in numbers.items():
        text = element.get(name)
        if text is not None:
            numbers_in(text, count, f"{what}: <{tag} {name}={quoted(text)}>", limit=tag == "limit")
        elif tag not in OPTIONAL and name not in OPTIONAL_ATTRIBUTES:
            raise UrdfError(f'{what}: <{tag}> has no {name}; add {name}="…"')
    known = {*numbers, *NAMES.get(tag, ()), "name"}
    for name in set(element.attrib) - known:
        del element.attrib[name]


def numbers_in(text: str, count: int, what: str, *, limit: bool = False) -> list[float]:
    """Return the `count` numbers in an attribute, finite and below LARGEST; limits may be inf."""
    try:
        values = [float(word) for word in text.split() if "_" not in word]
    except ValueError:
        values = []
    if len(values) != count or len(text.split()) != count:
        need = "one number" if count == 1 else f"{count} numbers separated by blanks"
        raise UrdfError(f"{what} must hold {need}; correct it")
    for value in values:
        if math.isnan(value) or (math.isinf(value) and not limit):
            raise UrdfError(f"{what} holds {value:g}, which is not a finite number; correct it")
        if abs(value) > LARGEST and not limit:
            raise UrdfError(
                f"{what} holds {value:g}, which is too large (at most {LARGEST:g} in SI units); "
                "correct it"
            )
    return values


def _rigid_body(inertial: Any) -> RigidBody:
    if inertial is None:
        return RigidBody()
    rotation, place = pose(inertial.origin)
    inertia = np.array(inertial.inertia.to_matrix())
    return RigidBody(inertial.mass, np.zeros(3), inertia).seen_from(rotation, place)


def _joint(joint: Any, kind: str) -> Joint:
    rotation, place = pose(joint.origin)
    limit, dynamics, mimic = joint.limit, joint.dynamics, joint.mimic
    return Joint(
        name=joint.name,
        kind=kind,
        parent=joint.parent,
        child=joint.child,
        rotation=rotation,
        place=place,
        axis=np.array(joint.axis or (1.0, 0.0, 0.0)),  # the URDF's default
        lower=limit.lower if limit else -math.inf,
        upper=limit.upper if limit else math.inf,
        effort=limit.effort if limit else 0.0,
        velocity=limit.velocity if limit else 0.0,
        damping=(dynamics and dynamics.damping) or 0.0,
        friction=(dynamics and dynamics.friction) or 0.0,
        mimic=mimic and (mimic.joint, _or(mimic.multiplier, 1.0), _or(mimic.offset, 0.0)),
    )


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _reflected_inertia(owner: Element, transmission: Element) -> float:
    what = f"transmission {quoted(transmission.get('name', ''))}"
    values = {"gear_ratio": 1.0, "rotor_inertia": 0.0}
    for tag in values:
        element = owner.find(tag)
        if element is not None:
            _check_numbers(element, what)
            values[tag] = float(element.attrib["value"])
    if values["rotor_inertia"] < 0.0:
        raise UrdfError(
            f"{what} has rotor inertia {values['rotor_inertia']:g}; it must not be negative: "
            "correct it"
        )
    return values["gear_ratio"] ** 2 * values["rotor_inertia"]


def _driven_joint(transmission: Element) -> str:
    joints = [joint.attrib["name"] for joint in transmission.findall("joint[@name]")]
    if len(joints) != 1:
        raise UrdfError(
            f"transmission {quoted(transmission.get('name', ''))} has a rotor inertia and "
            f"{len(joints)} joints; give it exactly one <joint>, or pass rotor_inertia="
        )
    return joints[0]
