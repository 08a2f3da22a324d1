"""updated(): a URDF with the bodies, friction and rotors of another robot of the same shape.

Meshes, tool frames, simulation tags and comments stay as they are.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from xml.etree import ElementTree as ET
from xml.parsers import expat

from ..errors import ArgumentError
from ..model.robot import RobotModel
from ..model.urdf_writer import to_urdf
from ..model.urdf_xml import read_urdf

ROTOR = ("gear_ratio", "rotor_inertia")


def updated(original: str | PathLike[str], model: RobotModel) -> str:
    """The original URDF, a path or XML text, with the model's inertias, damping, friction and
    rotor inertias.

    What is fixed to a moving link is lumped into it: the mass stands there, and no longer at the
    fixed ones.
    """
    robot = _tree(original)
    links, joints = (
        {x.get("name", ""): x for x in robot.findall(tag)} for tag in ("link", "joint")
    )
    missing = (set(model.link_names) - set(links)) | (set(model.body_joint_names) - set(joints))
    if missing:
        raise ArgumentError(
            f"the URDF has no {', '.join(sorted(missing))}: give that of '{model.name}'"
        )
    new = ET.fromstring(to_urdf(model))
    bodies = {link.get("name"): link.find("inertial") for link in new.findall("link")}
    for name, frame in model.frames.items():
        if frame.body >= 0:
            _put(links[name], "inertial", bodies[name])
    for joint in new.findall("joint"):
        name = joint.get("name", "")
        if name in model.body_joint_names:
            _put(joints[name], "dynamics", joint.find("dynamics"))
    _put_rotors(robot, model)
    ET.indent(robot)
    return '<?xml version="1.0"?>\n' + ET.tostring(robot, encoding="unicode") + "\n"


def _tree(original: str | PathLike[str]) -> ET.Element:
    """The whole document with its comments; prefixes stay as written, declared or not."""
    is_text = isinstance(original, str) and original.lstrip().startswith("<")
    read_urdf(original)  # refuses what is no URDF, is too large, or would harm a parser
    data = str(original).encode() if is_text else Path(original).read_bytes()
    builder = ET.TreeBuilder(insert_comments=True)
    parser = expat.ParserCreate("utf-8" if is_text else None)
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.CommentHandler = builder.comment
    parser.Parse(data, True)
    return builder.close()


def _put(owner: ET.Element, tag: str, new: ET.Element | None) -> None:
    """The new child in place of the old ones of its kind."""
    for old in owner.findall(tag):
        owner.remove(old)
    if new is not None:
        owner.append(new)


def _put_rotors(robot: ET.Element, model: RobotModel) -> None:
    """The rotor inertias as Drake reads them, with the transmissions that are there."""
    for transmission in robot.findall("transmission"):
        if _driven(transmission) in model.body_joint_names:
            for owner in list(transmission.iter()):
                for child in list(owner):
                    if _plain(child) in ROTOR:
                        owner.remove(child)
    if model.rotor_inertia.any():
        robot.set("xmlns:drake", "http://drake.mit.edu")
    for joint, inertia in zip(model.joint_names, model.rotor_inertia.tolist(), strict=True):
        if inertia > 0.0:
            actuator = _actuator(robot, joint)
            ET.SubElement(actuator, "drake:gear_ratio", value="1")
            ET.SubElement(actuator, "drake:rotor_inertia", value=repr(inertia))


def _actuator(robot: ET.Element, joint: str) -> ET.Element:
    """The motor of a joint: the one that it has, or else a new one."""
    for transmission in robot.findall("transmission"):
        if _driven(transmission) == joint:
            break
    else:
        transmission = ET.SubElement(robot, "transmission", name=f"{joint}_transmission")
        ET.SubElement(transmission, "type").text = "transmission_interface/SimpleTransmission"
        ET.SubElement(transmission, "joint", name=joint)
    actuator = transmission.find("actuator")
    if actuator is None:
        actuator = ET.SubElement(transmission, "actuator", name=f"{joint}_motor")
    return actuator


def _driven(transmission: ET.Element) -> str:
    joint = transmission.find("joint")
    return "" if joint is None else joint.get("name", "")


def _plain(element: ET.Element) -> str:
    """A tag without its prefix; a comment has none."""
    return element.tag.rpartition(":")[2] if isinstance(element.tag, str) else ""
