"""Verdicts as messages, and back: the one place that knows how.

Numbers travel in typed fields: the stamp in the header, the level in the status, the residual on
`~/residual`, link and force on `~/external_wrench`. The texts beside them are for people; the only
ones that nodes read back are names: of joints, links, levels and kinds of faults.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point, WrenchStamped
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import Marker, MarkerArray

from ..detection.detector import Level
from ..detection.verdict import LEVEL_OF, SEVERITY, Verdict
from ..trajectory.trajectory_msg import TrajectoryPoint

Array = npt.NDArray[np.float64]

ARROW_LENGTH = 0.01  # [m/N]
ARROW_COLOURS = {Level.CONTACT: (1.0, 0.7, 0.0), Level.COLLISION: (0.9, 0.1, 0.1)}


class CollisionReport(NamedTuple):
    """What `~/collision_state` says."""

    t: float  # [s], of the sample
    level: Level
    joints: tuple[str, ...]
    link: str  # touched; empty: none, or it cannot be told
    cause: str  # why the level is UNKNOWN
    link_cause: str  # why no link is named
    fault: str  # kind of fault, or empty
    fault_joint: str
    worst: Level  # since the last reset


def seconds(stamp: Time) -> float:
    """Return a stamp as a time [s]."""
    return float(stamp.sec + 1e-9 * stamp.nanosec)


def set_stamp(stamp: Time, t: float) -> None:
    """Write a time [s] into a stamp; `seconds` then gives exactly the same time."""
    whole = math.floor(t)
    nanosec = round((t - whole) * 1e9)
    stamp.sec, stamp.nanosec = whole + nanosec // 1_000_000_000, nanosec % 1_000_000_000


def collision_state(verdict: Verdict, t: float, source: str, worst: Level) -> DiagnosticArray:
    """Return the message for `~/collision_state` about a sample of the time t [s]."""
    texts = verdict.texts() | {"worst": worst.name}
    status = DiagnosticStatus(
        level=bytes([SEVERITY[verdict.level]]),
        name=source,
        message=verdict.level.name,
        values=[KeyValue(key=key, value=value) for key, value in texts.items()],
    )
    message = DiagnosticArray(status=[status])
    set_stamp(message.header.stamp, t)
    return message


def read_collision_state(message: DiagnosticArray) -> CollisionReport:
    """Return what a message on `~/collision_state` says; a level that is not known is UNKNOWN."""
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
    )


def controller_state(
    source: str, t: float, mode: str, reason: str, follows: bool, detector_heard: bool
) -> DiagnosticArray:
    """Return the message for `controller_node/state`, of the time t [s]."""
    texts = {"reason": reason, "detector": "heard" if detector_heard else "not heard"}
    status = DiagnosticStatus(
        name=source,
        level=DiagnosticStatus.OK if follows else DiagnosticStatus.WARN,
        message=mode,
        values=[KeyValue(key=key, value=value) for key, value in texts.items()],
    )
    message = DiagnosticArray(status=[status])
    set_stamp(message.header.stamp, t)
    return message


def read_controller_state(message: DiagnosticArray) -> tuple[str, str, bool]:
    """Return mode, reason, and whether the controller has heard a detector."""
    (status,) = message.status
    texts = {item.key: item.value for item in status.values}
    return status.message, texts.get("reason", ""), texts.get("detector") == "heard"


def trajectory_message(names: Sequence[str], points: Sequence[TrajectoryPoint]) -> JointTrajectory:
    """Return a trajectory of these joints as a message."""
    message = JointTrajectory(joint_names=list(names))
    for point in points:
        sec, nanosec = divmod(round(point.time_from_start * 1e9), 1_000_000_000)
        message.points.append(
            JointTrajectoryPoint(
                positions=list(point.positions),
                velocities=list(point.velocities),
                accelerations=list(point.accelerations),
                time_from_start=Duration(sec=sec, nanosec=nanosec),
            )
        )
    return message


def fill_wrench(message: WrenchStamped, verdict: Verdict) -> WrenchStamped:
    """Write the verdict's wrench, in the axes of the link that the frame names."""
    set_stamp(message.header.stamp, verdict.t)
    message.header.frame_id = verdict.wrench_link
    force, torque = message.wrench.force, message.wrench.torque
    values = [0.0] * 6 if verdict.wrench is None else verdict.wrench.tolist()
    force.x, force.y, force.z, torque.x, torque.y, torque.z = values
    return message


def read_wrench(message: WrenchStamped) -> tuple[float, str, Array]:
    """Return time [s], link, and force and torque (6,) [N, N m] in the link's axes."""
    force, torque = message.wrench.force, message.wrench.torque
    values = np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])
    return seconds(message.header.stamp), message.header.frame_id, values


def read_residual(message: JointState) -> tuple[float, Array]:
    """Return time [s] and residual (n,) [N m or N] of a message on `~/residual`."""
    return seconds(message.header.stamp), np.array(message.effort, dtype=np.float64)


def force_arrow(verdict: Verdict) -> MarkerArray:
    """Return an arrow for RViz that ends at the touched link, or its removal without contact."""
    arrow = Marker(ns="contact_force", type=Marker.ARROW, action=Marker.DELETE)
    arrow.header.frame_id = verdict.wrench_link
    set_stamp(arrow.header.stamp, verdict.t)
    if verdict.touched and verdict.wrench is not None:
        arrow.action = Marker.ADD
        x, y, z = (-ARROW_LENGTH * verdict.wrench[:3]).tolist()
        arrow.points = [Point(x=x, y=y, z=z), Point()]
        arrow.scale.x, arrow.scale.y, arrow.scale.z = 0.02, 0.05, 0.08
        arrow.color.r, arrow.color.g, arrow.color.b = ARROW_COLOURS[verdict.level]
        arrow.color.a = 1.0
        arrow.pose.orientation.w = 1.0
    return MarkerArray(markers=[arrow])
