"""Conversion of verdicts and states to messages and back; no other module does this.

Numbers travel in typed fields: the stamp in the header, the level in the status, the residual on
`~/residual`, link and force on `~/external_wrench`, a payload on `~/payload`. The texts beside
them are for people; nodes read only names from them: of joints, links, levels and kinds of faults.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import InertiaStamped, Point, Wrench, WrenchStamped
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import Marker, MarkerArray

from ..detection.detector import Level
from ..detection.fault import HARMLESS_KINDS, Fault
from ..detection.verdict import LEVEL_OF, SEVERITY, Verdict
from ..model.rigid_body import as_inertia
from ..model.robot import Payload
from ..trajectory.trajectory_msg import TrajectoryPoint

Array = npt.NDArray[np.float64]

ARROW_SCALE = 0.01  # [m/N]
# Row, column and field of an inertia in a message
INERTIA_FIELDS = [(i, j, f"i{'xyz'[i]}{'xyz'[j]}") for i in range(3) for j in range(i, 3)]
ARROW_COLOURS = {Level.CONTACT: (1.0, 0.7, 0.0), Level.COLLISION: (0.9, 0.1, 0.1)}


class CollisionReport(NamedTuple):
    """Content of a message on `~/collision_state`."""

    t: float  # [s], of the sample
    level: Level
    joints: tuple[str, ...]
    link: str  # touched; empty: none or unknown
    cause: str  # why the level is UNKNOWN
    link_cause: str  # why no link is named
    fault: str  # kind of fault, or empty
    fault_joint: str
    worst: Level  # since the last reset
    where: str = ""  # the touched link for people: 'link_5', 'link_5 or beyond'
    ended: str = ""  # link of a contact that is over, when it is decided for the last time


class FaultReport(NamedTuple):
    """Content of a status on `~/fault`."""

    t: float  # [s], of the sample
    kind: str  # empty: no fault
    joint: str
    value: str  # size of the fault, for people
    unit: str
    confidence: str
    onset: str
    runner_up: str
    remedy: str
    text: str  # all of it in words


def seconds(stamp: Time) -> float:
    """Return a stamp as a time [s]."""
    return float(stamp.sec + 1e-9 * stamp.nanosec)


def set_stamp(stamp: Time, t: float) -> None:
    """Write a time [s] into a stamp; `seconds` returns exactly the same time."""
    whole = math.floor(t)
    nanosec = round((t - whole) * 1e9)
    stamp.sec, stamp.nanosec = whole + nanosec // 1_000_000_000, nanosec % 1_000_000_000


def status_message(
    name: str, t: float, level: bytes, text: str, values: Mapping[str, Any], hardware: str = ""
) -> DiagnosticArray:
    """Return a DiagnosticArray of one status, of the time t [s]."""
    message = DiagnosticArray(status=[_status(name, level, text, values, hardware)])
    set_stamp(message.header.stamp, t)
    return message


def _status(
    name: str, level: bytes, text: str, values: Mapping[str, Any], hardware: str = ""
) -> DiagnosticStatus:
    pairs = [KeyValue(key=key, value=str(value)) for key, value in values.items()]
    return DiagnosticStatus(
        name=name, level=level, message=text, hardware_id=hardware, values=pairs
    )


def collision_state(verdict: Verdict, source: str, worst: Level) -> DiagnosticArray:
    """Return the message for `~/collision_state`; worst: level since the last reset."""
    level = bytes([SEVERITY[verdict.level]])
    texts = verdict.texts() | {"worst": worst.name}
    return status_message(source, verdict.t, level, verdict.level.name, texts)


def read_collision_state(message: DiagnosticArray) -> CollisionReport:
    """Return the content of a message on `~/collision_state`; undefined levels become UNKNOWN."""
    if not message.status:
        return CollisionReport(0.0, Level.UNKNOWN, (), "", "empty", "", "", "", Level.UNKNOWN)
    status = message.status[0]
    texts = {item.key: item.value for item in status.values}
    worst = texts.get("worst", "")
    return CollisionReport(
        seconds(message.header.stamp),
        LEVEL_OF.get(status.level[0], Level.UNKNOWN),
        tuple(texts.get("joints", "").split()),
        texts.get("link", ""),
        texts.get("cause", ""),
        texts.get("link_cause", ""),
        texts.get("fault", ""),
        texts.get("fault_joint", ""),
        Level[worst] if worst in Level.__members__ else Level.UNKNOWN,
        texts.get("where", ""),
        texts.get("ended", ""),
    )


def fault_state(source: str, t: float, *faults: Fault | None) -> DiagnosticArray:
    """Return the message for `~/fault`, one status per fault; None: there is none."""
    message = DiagnosticArray(status=[_fault_status(source, fault) for fault in faults])
    set_stamp(message.header.stamp, t)
    return message


def _fault_status(source: str, fault: Fault | None) -> DiagnosticStatus:
    if fault is None:
        return _status(source, DiagnosticStatus.OK, "no fault", {"kind": ""})
    level = DiagnosticStatus.WARN if fault.kind in HARMLESS_KINDS else DiagnosticStatus.ERROR
    texts = {
        "kind": fault.kind,
        "joint": fault.joint,
        "value": "" if fault.value is None else f"{fault.value:.3g}",
        "unit": fault.unit,
        "confidence": f"{fault.confidence:.0%}",
        "onset": "" if fault.onset is None else f"{fault.onset:.3f}",
        "runner_up": fault.runner_up,
        "remedy": fault.remedy,
    }
    return _status(source, level, fault.text(), texts)


def read_fault_state(message: DiagnosticArray) -> list[FaultReport]:
    """Return the faults in a message on `~/fault`; kinds are empty where there is none."""
    t, names, found = seconds(message.header.stamp), FaultReport._fields[1:-1], []
    for status in message.status:
        texts = {item.key: item.value for item in status.values}
        read = {name: texts.get(name, "") for name in names}
        found.append(FaultReport(t=t, text=status.message, **read))
    return found


def payload_message(t: float, link: str, held: Payload | None) -> InertiaStamped:
    """Return the message for `~/payload`; without a payload its mass is 0.

    The frame is the link that holds it; the inertia is about the centre of mass, in its axes.
    """
    message = InertiaStamped()
    set_stamp(message.header.stamp, t)
    message.header.frame_id = link if held is None else held.link
    if held is not None:
        body = message.inertia
        body.m = float(held.mass)
        body.com.x, body.com.y, body.com.z = (float(x) for x in held.com)
        matrix = as_inertia("inertia", held.inertia).tolist()
        for row, column, name in INERTIA_FIELDS:
            setattr(body, name, matrix[row][column])
    return message


def read_payload(message: InertiaStamped) -> Payload | None:
    """Return the payload of a message; None: there is none."""
    body, matrix = message.inertia, np.zeros((3, 3))
    if body.m == 0.0:
        return None
    for row, column, name in INERTIA_FIELDS:
        matrix[row, column] = matrix[column, row] = getattr(body, name)
    com = (body.com.x, body.com.y, body.com.z)
    return Payload(message.header.frame_id, body.m, com, matrix)


def controller_state(
    source: str, t: float, mode: str, reason: str, follows: bool, detector_heard: bool
) -> DiagnosticArray:
    """Return the message for `controller_node/state`, of the time t [s]."""
    texts = {"reason": reason, "detector": "heard" if detector_heard else "not heard"}
    level = DiagnosticStatus.OK if follows else DiagnosticStatus.WARN
    return status_message(source, t, level, mode, texts)


def read_controller_state(message: DiagnosticArray) -> tuple[str, str, bool]:
    """Return mode, reason, and whether the controller has received a verdict."""
    (status,) = message.status
    texts = {item.key: item.value for item in status.values}
    return status.message, texts.get("reason", ""), texts.get("detector") == "heard"


def read_guard_health(status: DiagnosticStatus) -> tuple[str, str, str, list[str]]:
    """Return mode, problem, last stop and expected contacts of guard_node's status, for people."""
    texts = {item.key: item.value for item in status.values}
    start = "expected on "
    expected = [
        f"{key.removeprefix(start)} up to {value}"
        for key, value in texts.items()
        if key.startswith(start)
    ]
    problem = "" if status.level == DiagnosticStatus.OK else status.message
    return texts.get("mode", ""), problem, texts.get("last stop", ""), expected


def trajectory_message(names: Sequence[str], points: Sequence[TrajectoryPoint]) -> JointTrajectory:
    """Return a trajectory of these joints as a message."""
    message = JointTrajectory(joint_names=list(names))
    for point in points:
        sec, nanosec = divmod(round(point.time_from_start * 1e9), 1_000_000_000)
        made = JointTrajectoryPoint(time_from_start=Duration(sec=sec, nanosec=nanosec))
        made.positions, made.velocities = list(point.positions), list(point.velocities)
        made.accelerations = list(point.accelerations)
        message.points.append(made)
    return message


def set_wrench(wrench: Wrench, values: Sequence[float]) -> None:
    """Write force and torque (6,) [N, N m] into a message."""
    force, torque = wrench.force, wrench.torque
    force.x, force.y, force.z, torque.x, torque.y, torque.z = values


def fill_wrench(message: WrenchStamped, verdict: Verdict) -> WrenchStamped:
    """Write the verdict's wrench, which must be known, in the axes of the link that the frame
    names and about its origin.
    """
    assert verdict.wrench is not None
    set_stamp(message.header.stamp, verdict.t)
    message.header.frame_id = verdict.wrench_link
    set_wrench(message.wrench, verdict.wrench.tolist())
    return message


def read_wrench(message: WrenchStamped) -> tuple[float, str, Array]:
    """Return time [s], link, and force and torque (6,) [N, N m] in the link's axes."""
    force, torque = message.wrench.force, message.wrench.torque
    values = np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])
    return seconds(message.header.stamp), message.header.frame_id, values


def read_effort(message: JointState) -> tuple[float, Array]:
    """Return time [s] and effort (n,) [N m or N], such as a residual or an external torque."""
    return seconds(message.header.stamp), np.array(message.effort, dtype=np.float64)


def force_arrow(verdict: Verdict) -> MarkerArray:
    """Return an arrow for RViz that ends at the touched link; its removal if no force is known."""
    arrow = Marker(ns="contact_force", type=Marker.ARROW, action=Marker.DELETE)
    arrow.header.frame_id = verdict.wrench_link
    set_stamp(arrow.header.stamp, verdict.t)
    if verdict.touched and verdict.wrench is not None:
        arrow.action = Marker.ADD
        x, y, z = (-ARROW_SCALE * verdict.wrench[:3]).tolist()
        arrow.points = [Point(x=x, y=y, z=z), Point()]
        arrow.scale.x, arrow.scale.y, arrow.scale.z = 0.02, 0.05, 0.08
        arrow.color.r, arrow.color.g, arrow.color.b = ARROW_COLOURS[verdict.level]
        arrow.color.a = 1.0
        arrow.pose.orientation.w = 1.0
    return MarkerArray(markers=[arrow])
