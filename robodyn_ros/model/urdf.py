"""load_urdf: a fixed-base tree in a URDF as a RobotModel."""

import dataclasses
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ArgumentError, ModelWarning, UrdfError
from .assemble import JointRow, assemble
from .checks import check_model, rotation_about
from .rigid_body import Array, RigidBody
from .robot import GRAVITY, Frame, RobotModel
from .urdf_elements import LARGEST, Joint, parse_elements, rotor_inertias
from .urdf_tree import Plan, Tree, locked_positions
from .urdf_xml import quoted, read_urdf


def load_urdf(
    path_or_xml: str | bytes | PathLike[str],
    *,
    root: str | None = None,
    tip: str | None = None,
    lock: Mapping[str, float] | Iterable[str] | None = None,
    strict: bool = False,
    rotor_inertia: float | Sequence[float] | Mapping[str, float] | None = None,
    gravity: Sequence[float] = GRAVITY,
) -> RobotModel:
    """Return the robot in a URDF, given as a path or as XML text that begins with '<'.

    Joints are ordered depth first from the root, siblings as in the document. Links on fixed
    joints are lumped into the body that carries them; every link keeps its name in `frames`. A
    mimic joint has no coordinate: its motion, rotor inertia and friction are added to its
    leader's. Missing limits, and an effort or velocity of 0, mean "not limited".

    root: link that becomes the fixed base; only its subtree is kept; gravity is in its axes.
    tip: link at which the arm ends; movable joints that do not lead to it are cut off with their
        subtrees, except locked ones.
    lock: joints that are fixed, at 0 or at the mapped position [rad or m], and their mimic joints.
    strict: raise instead of warn, e.g. about physically inconsistent inertias.
    rotor_inertia: reflected to the joint [kg m^2 or kg]: one number, one per coordinate, or by
        joint name; overrides gear_ratio^2 * rotor_inertia of the <transmission>s (Drake's tags).
    gravity: (3,) [m/s^2].

    Raises UrdfError, whose message names the element, the fault and the remedy. Untrusted files
    are safe: their size is limited, and no file or address in them is opened. The model keeps the
    path, or the text, for `surface_points`.
    """
    document = read_urdf(path_or_xml)
    tree = Tree(parse_elements(document))
    root = tree.root if root is None else tree.check_link(root, "root")
    tip = None if tip is None else tree.check_link(tip, "tip")
    plan = Plan(tree, root, tip, locked_positions(tree, lock))
    bodies = _Bodies(plan)
    rotors = _rotors(plan, rotor_inertias(document), rotor_inertia)
    rows = _rows(plan, bodies, rotors)
    model = assemble(tree.name, rows, bodies.frames, root, bodies.base, _gravity(gravity))
    for sentence in document.warnings + bodies.negative_masses():
        if strict:
            raise UrdfError(sentence)
        warnings.warn(sentence, ModelWarning, stacklevel=2)
    check_model(model, strict=strict, error=UrdfError)
    return dataclasses.replace(model, geometry=_geometry(path_or_xml))


def _geometry(path_or_xml: str | bytes | PathLike[str]) -> str:
    """Return where the links' shapes are: the absolute path of a file, or the text."""
    if isinstance(path_or_xml, bytes):
        return path_or_xml.decode("utf-8", "replace")
    text = fspath(path_or_xml)
    return text if text.lstrip().startswith("<") else str(Path(text).absolute())


class _Bodies:
    """The moving bodies of a plan, each lumped with all links that are fixed to it."""

    def __init__(self, plan: Plan) -> None:
        self.tree = plan.tree
        self.rows = {name: row for row, name in enumerate(plan.moving)}
        self.body = [RigidBody() for _ in self.rows]
        self.base = RigidBody()
        self.parent: list[int] = []
        self.pose: list[tuple[Array, Array]] = []  # in the parent body's frame, at position 0
        self.frames: dict[str, Frame] = {}
        self._put(plan.root, Frame(-1, np.eye(3), np.zeros(3)))
        for joint in self.tree.walk(plan.root):
            if joint.name in plan.moving:
                self._add_moving(joint)
            elif joint.name in plan.rigid:
                self._add_rigid(joint, plan.rigid[joint.name])

    def negative_masses(self) -> list[str]:
        """Return warnings about links of negative mass; raise if a whole body's is negative."""
        found = []
        for link, frame in self.frames.items():
            mass = self.tree.links[link].mass
            if mass >= 0.0:
                continue
            body = self.base if frame.body < 0 else self.body[frame.body]
            sentence = f"link {quoted(link)} has mass {mass:g} kg; a mass must not be negative"
            if body.mass < 0.0:
                raise UrdfError(sentence + ": correct its <mass>")
            found.append(sentence + " (its body's is not): correct its <mass>")
        return found

    def _add_moving(self, joint: Joint) -> None:
        carrier = self.frames[joint.parent]
        self.parent.append(carrier.body)
        self.pose.append(_joined(carrier, joint.rotation, joint.place))
        self._put(joint.child, Frame(self.rows[joint.name], np.eye(3), np.zeros(3)))

    def _add_rigid(self, joint: Joint, position: float) -> None:
        rotation, place = joint.rotation, joint.place
        if position:  # the axis of a fixed joint may be invalid
            axis = unit_axis(joint)
            if joint.kind == "prismatic":
                place = place + rotation @ axis * position
            else:
                rotation = rotation @ rotation_about(axis, position)
        carrier = self.frames[joint.parent]
        self._put(joint.child, Frame(carrier.body, *_joined(carrier, rotation, place)))

    def _put(self, link: str, frame: Frame) -> None:
        self.frames[link] = frame
        if frame.body >= 0:
            part = self.tree.links[link].seen_from(frame.rotation, frame.place)
            self.body[frame.body] = self.body[frame.body] + part
        else:
            self.base += self.tree.links[link].seen_from(frame.rotation, frame.place)


def unit_axis(joint: Joint) -> Array:
    """Return the unit axis (3,) of a joint, in its own frame."""
    size = np.abs(joint.axis).max()
    if size == 0.0:
        raise UrdfError(
            f"joint {quoted(joint.name)} has axis 0 0 0, which is no direction; give it one, such "
            'as <axis xyz="0 0 1"/>'
        )
    scaled = joint.axis / size  # against underflow of the squares
    return scaled / np.linalg.norm(scaled)


def _joined(frame: Frame, rotation: Array, place: Array) -> tuple[Array, Array]:
    """Return a pose that is given in `frame` in the frame of its body."""
    return frame.rotation @ rotation, frame.rotation @ place + frame.place


def _rows(plan: Plan, bodies: _Bodies, rotors: Mapping[str, float]) -> list[JointRow]:
    continuous = _continuous(plan)
    rows = []
    for row, (name, coupling) in enumerate(plan.moving.items()):
        joint = plan.tree.joints[name]
        q_min, q_max, qd_max, tau_max = _joint_limits(joint)
        viscous, coulomb = _friction(joint)
        rotation, place = bodies.pose[row]
        rows.append(
            JointRow(
                joint=name,
                link=joint.child,
                parent=bodies.parent[row],
                prismatic=joint.kind == "prismatic",
                axis=unit_axis(joint),
                rotation=rotation,
                place=place,
                body=bodies.body[row],
                q_min=q_min,
                q_max=q_max,
                qd_max=qd_max,
                tau_max=tau_max,
                continuous=continuous.get(name, False),
                rotor_inertia=rotors[name],
                viscous=viscous,
                coulomb=coulomb,
                mimics=None if coupling.joint == name else coupling.joint,
                ratio=coupling.ratio,
                offset=coupling.offset,
            )
        )
    return rows


def _joint_limits(joint: Joint) -> tuple[float, float, float, float]:
    what = f"joint {quoted(joint.name)}"
    for name, value in (("effort", joint.effort), ("velocity", joint.velocity)):
        if value < 0.0:
            raise UrdfError(
                f"{what} has {name} limit {value:g}; it must not be negative: correct <limit>"
            )
    speed, effort = joint.velocity or math.inf, joint.effort or math.inf
    if joint.kind == "continuous":
        return -math.inf, math.inf, speed, effort
    if joint.lower == math.inf or joint.upper == -math.inf:
        raise UrdfError(
            f"{what} has limits {joint.lower:g} … {joint.upper:g}, an empty range; "
            "correct them in <limit>"
        )
    if joint.lower > joint.upper:
        raise UrdfError(
            f"{what} has lower limit {joint.lower:g} above upper limit {joint.upper:g}; swap or "
            "correct them in <limit>"
        )
    return joint.lower, joint.upper, speed, effort


def _continuous(plan: Plan) -> dict[str, bool]:
    """Return which coordinates are periodic, their mimic joints included."""
    result = {name: plan.tree.joints[name].kind == "continuous" for name in plan.coordinates}
    for name, coupling in plan.moving.items():
        if plan.tree.joints[name].kind == "prismatic" or coupling.ratio % 1.0:
            result[coupling.joint] = False
    return result


def _friction(joint: Joint) -> tuple[float, float]:
    for name, value in (("damping", joint.damping), ("friction", joint.friction)):
        if value < 0.0:
            raise UrdfError(
                f"joint {quoted(joint.name)} has {name} {value:g}; it must not be negative: "
                "correct <dynamics>"
            )
    return joint.damping, joint.friction


def _rotors(plan: Plan, described: Mapping[str, float], given: Any) -> dict[str, float]:
    """Return the reflected inertia of each moving joint: the argument's, else the URDF's."""
    for name in described:
        plan.tree.check_joint(name, "a <transmission> with a rotor inertia")
    if given is not None and not isinstance(given, Mapping):
        return dict.fromkeys(plan.moving, 0.0) | _one_each(given, plan.coordinates)
    per_joint = {name: described.get(name, 0.0) for name in plan.moving}
    for name, value in (given or {}).items():
        if plan.tree.check_joint(name, "rotor_inertia").name not in per_joint:
            raise UrdfError(
                f"rotor_inertia names joint {quoted(name)}, which does not move in this model; "
                "leave it out"
            )
        per_joint[name] = _rotor(value, name)
    return per_joint


def _one_each(given: Any, names: Sequence[str]) -> dict[str, float]:
    values = [given] * len(names) if np.ndim(given) == 0 else list(given)
    if len(values) != len(names):
        raise ArgumentError(
            f"rotor_inertia has {len(values)} values for {len(names)} joints ({', '.join(names)})"
            "; give one number, one for each, or a mapping"
        )
    return {name: _rotor(value, name) for value, name in zip(values, names, strict=True)}


def _rotor(value: Any, joint: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0.0 <= number <= LARGEST:
        raise ArgumentError(
            f"rotor_inertia of joint {quoted(joint)} is {quoted(value)}; it must be a finite "
            "number that is not negative"
        )
    return number


def _gravity(gravity: Any) -> Array:
    try:
        vector = np.array(gravity, dtype=float)
    except (TypeError, ValueError):
        vector = np.full(3, np.nan)
    if vector.shape != (3,) or not np.all(np.abs(vector) <= LARGEST):
        raise ArgumentError(f"gravity must be 3 finite numbers [m/s^2], got {quoted(gravity)}")
    return vector
