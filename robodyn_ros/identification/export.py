"""The identified robot as files: an updated URDF, and parameters for the nodes."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET
from xml.parsers import expat

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..model.friction_settings import friction_settings
from ..model.robot import RobotModel
from ..model.urdf_writer import to_urdf
from ..model.urdf_xml import read_urdf
from ..sensing.log import Array
from ..settings import yaml_section

if TYPE_CHECKING:
    from .identified import Identified

ROTOR_TAGS = ("gear_ratio", "rotor_inertia")
# Where each node takes the model's friction into account
FRICTION: dict[str, dict[str, Any]] = {
    "dynamics_node": {"effort.friction": "model"},
    "controller_node": {"arm.friction": True},
    "simulator_node": {"plant.friction": True},
}
CONTACT, COLLISION = 1.5, 2.5  # thresholds, as multiples of the largest error in the logs


def node_parameters(found: Identified, urdf: str, gains: npt.ArrayLike | None = None) -> str:
    """Return YAML per node: robot, friction, thresholds above the torque errors in the logs.

    gains: drive gains (n,) with which the logs' currents became torques; the detector needs them
    for the currents that the driver reports.
    """
    robot: dict[str, Any] = {"robot.name": "", "robot.urdf": urdf}
    if found.design.terms:
        for name, numbers in friction_settings(found.model).items():
            robot[f"robot.friction.{name}"] = _six_digits(numbers)
    live = [fit.residual for fit in found.fits if fit.residual is not None]
    worst = np.max([found.largest_errors, *live], axis=0)
    detector: dict[str, Any] = {
        "monitor.contact.base": _rounded(CONTACT * worst),
        "monitor.collision.base": _rounded(COLLISION * worst),
    }
    if gains is not None:
        each = np.broadcast_to(np.asarray(gains, dtype=np.float64), worst.shape)
        detector["effort.source"] = "joint_states"
        detector["effort.gain"] = _six_digits(each)
    above = "[N m or N], above the largest torque error or residual over all logs: "
    comments = {"monitor.contact.base": above + ", ".join(f"{x:.3g}" for x in worst)}
    text = "# The identified robot; load this file after those of config/.\n"
    for node, switch in FRICTION.items():
        values = dict(robot)
        if found.design.terms:
            values |= switch
        if node == "dynamics_node":
            values |= detector
        text += yaml_section(f"/**/{node}", values, comments)
    return text


def _six_digits(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(float(f"{x:.6g}") for x in values)


def _rounded(values: Array) -> tuple[float, ...]:
    return tuple(float(f"{max(x, 1e-3):.3f}") for x in values)


def updated_urdf(original: str | PathLike[str], model: RobotModel) -> str:
    """Return the original URDF (path or XML text) with the inertial data of the model.

    These are inertias, damping, friction and rotor inertias. Meshes, tool frames, simulation tags
    and comments are kept. Links fixed to a moving link lose their inertia to it.
    """
    robot = _parse(original)
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
            _replace(links[name], "inertial", bodies[name])
    for joint in new.findall("joint"):
        name = joint.get("name", "")
        if name in model.body_joint_names:
            _replace(joints[name], "dynamics", joint.find("dynamics"))
    _replace_rotors(robot, model)
    ET.indent(robot)
    return '<?xml version="1.0"?>\n' + ET.tostring(robot, encoding="unicode") + "\n"


def _parse(original: str | PathLike[str]) -> ET.Element:
    """Parse a document with its comments; prefixes stay as written, declared or not."""
    is_text = isinstance(original, str) and original.lstrip().startswith("<")
    read_urdf(original)  # rejects what is no URDF, too large, or harmful to a parser
    data = str(original).encode() if is_text else Path(original).read_bytes()
    builder = ET.TreeBuilder(insert_comments=True)
    parser = expat.ParserCreate("utf-8" if is_text else None)
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    parser.CharacterDataHandler, parser.CommentHandler = builder.data, builder.comment
    parser.Parse(data, True)
    return builder.close()


def _replace(owner: ET.Element, tag: str, new: ET.Element | None) -> None:
    for old in owner.findall(tag):
        owner.remove(old)
    if new is not None:
        owner.append(new)


def _replace_rotors(robot: ET.Element, model: RobotModel) -> None:
    """Write the rotor inertias as Drake reads them, into the existing transmissions."""
    for transmission in robot.findall("transmission"):
        if _joint_of(transmission) in model.body_joint_names:
            for owner in list(transmission.iter()):
                for child in list(owner):
                    if _local_tag(child) in ROTOR_TAGS:
                        owner.remove(child)
    if model.rotor_inertia.any():
        robot.set("xmlns:drake", "http://drake.mit.edu")
    for joint, inertia in zip(model.joint_names, model.rotor_inertia.tolist(), strict=True):
        if inertia > 0.0:
            actuator = _actuator(robot, joint)
            ET.SubElement(actuator, "drake:gear_ratio", value="1")
            ET.SubElement(actuator, "drake:rotor_inertia", value=repr(inertia))


def _actuator(robot: ET.Element, joint: str) -> ET.Element:
    """Return the actuator of a joint; add one if it has none."""
    for transmission in robot.findall("transmission"):
        if _joint_of(transmission) == joint:
            break
    else:
        transmission = ET.SubElement(robot, "transmission", name=f"{joint}_transmission")
        ET.SubElement(transmission, "type").text = "transmission_interface/SimpleTransmission"
        ET.SubElement(transmission, "joint", name=joint)
    actuator = transmission.find("actuator")
    if actuator is None:
        actuator = ET.SubElement(transmission, "actuator", name=f"{joint}_motor")
    return actuator


def _joint_of(transmission: ET.Element) -> str:
    joint = transmission.find("joint")
    return "" if joint is None else joint.get("name", "")


def _local_tag(element: ET.Element) -> str:
    """Return a tag without its prefix; '' for a comment."""
    return element.tag.rpartition(":")[2] if isinstance(element.tag, str) else ""
