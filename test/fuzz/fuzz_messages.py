"""Messages as a robot, an operator or a stranger may send them, each with what must become of it.

Every generator starts from a message that is right, and breaks it in one named way.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray, KeyValue
from fuzz_tools import NOT_FINITE, ODD_NUMBERS, Verdict, pick
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_ros.nodes.codec import seconds, set_stamp

Random = np.random.Generator
NAMES = ("", "joint_1", "joint_9", "x" * 300, "é\u0000", "base", "link_3", " ", "joint_1 ")
OTHERS = "other joints"  # of another device: neither a sample of the arm nor a bad one


class Sent(NamedTuple):
    """A message, what was done to it, and what must become of it."""

    message: Any
    what: str
    verdict: Verdict
    alarms: bool = False  # whether a contact may be told because of it


# joint_states


def _spoil(message: JointState, random: Random, field: str, value: float) -> None:
    values = getattr(message, field)
    values[int(random.integers(len(values)))] = value


def _not_finite(message: JointState, random: Random) -> None:
    _spoil(message, random, pick(random, ["position", "velocity"]), pick(random, NOT_FINITE))


def _absurd(message: JointState, random: Random) -> None:
    value = pick(random, [1e308, -1e308, 1e9, -1e9])
    _spoil(message, random, pick(random, ["position", "velocity"]), value)


def _lengths(message: JointState, random: Random) -> None:
    field = pick(random, ["position", "velocity", "name"])
    values = list(getattr(message, field))
    values = values + values[-1:] if random.random() < 0.5 else values[:-1]
    if field == "name" and len(values) > len(message.name):
        values[-1] = "one_more"
    setattr(message, field, values)


def _no_positions(message: JointState, random: Random) -> None:
    message.position = []


def _twice(message: JointState, random: Random) -> None:
    a, b = random.choice(len(message.name), 2, replace=False)
    message.name[a] = message.name[b]


def _unnamed(message: JointState, random: Random) -> None:
    message.name[int(random.integers(len(message.name)))] = pick(random, ["", "x" * 1_000_000])


def _other_joints(message: JointState, random: Random) -> None:
    message.name = [f"other_{k}" for k in range(len(message.name))]


def _empty(message: JointState, random: Random) -> None:
    message.name, message.position, message.velocity, message.effort = [], [], [], []


def _part(message: JointState, random: Random) -> None:
    _reorder(message, random)
    kept = int(random.integers(1, len(message.name)))
    for field in ("name", "position", "velocity", "effort"):
        setattr(message, field, list(getattr(message, field))[:kept])


def _reorder(message: JointState, random: Random) -> None:
    order = random.permutation(len(message.name)).tolist()
    for field in ("name", "position", "velocity", "effort"):
        values = getattr(message, field)
        if len(values) == len(order):
            setattr(message, field, [values[k] for k in order])


def _extra(message: JointState, random: Random) -> None:
    """Joints of others, whose values are none of our business."""
    message.name = [*message.name, "finger_1", "finger_2"]
    for field in ("position", "velocity", "effort"):
        more = [pick(random, ODD_NUMBERS), float(random.normal())]
        setattr(message, field, [*getattr(message, field), *more])
    _reorder(message, random)


def _no_velocity(message: JointState, random: Random) -> None:
    message.velocity = []


def _effort(message: JointState, random: Random) -> None:
    """Commands are the source of torque here: effort must not matter."""
    if random.random() < 0.5:
        message.effort = []
    else:
        _spoil(message, random, "effort", pick(random, ODD_NUMBERS))


def _stamp(seconds_later: float) -> Callable[[JointState, Random], None]:
    def change(message: JointState, random: Random) -> None:
        t = seconds(message.header.stamp) + seconds_later
        set_stamp(message.header.stamp, max(t, 0.0))

    return change


def _spike(message: JointState, random: Random) -> None:
    size = pick(random, [0.5, 1.0, 2.0 * np.pi])
    values = message.position
    k = int(random.integers(len(values)))
    values[k] += size * pick(random, [1.0, -1.0])


def _drift(message: JointState, random: Random) -> None:
    """Wrong, but possible for a real arm: not detectable."""
    _spoil(message, random, "velocity", float(random.normal()))


STATES: dict[str, tuple[Callable[[JointState, Random], None], Verdict, bool]] = {
    "not finite": (_not_finite, Verdict.BAD, False),
    "absurd": (_absurd, Verdict.BAD, False),
    "lengths differ": (_lengths, Verdict.BAD, False),
    "no positions": (_no_positions, Verdict.BAD, False),
    "a name twice": (_twice, Verdict.BAD, False),
    "a name empty or of 1 MB": (_unnamed, Verdict.BAD, False),
    OTHERS: (_other_joints, Verdict.BAD, False),
    "empty": (_empty, Verdict.BAD, False),
    "10 s ahead": (_stamp(10.0), Verdict.BAD, False),
    "1 ms back": (_stamp(-1e-3), Verdict.BAD, False),
    "repeated": (_stamp(0.0), Verdict.BAD, False),
    "10 s back": (_stamp(-10.0), Verdict.EITHER, False),
    "some joints": (_part, Verdict.EITHER, True),
    "a spike": (_spike, Verdict.EITHER, False),
    "drifting": (_drift, Verdict.EITHER, True),
    "0.5 s ahead": (_stamp(0.5), Verdict.EITHER, False),
    "another order": (_reorder, Verdict.GOOD, False),
    "more joints": (_extra, Verdict.GOOD, False),
    "no velocity": (_no_velocity, Verdict.GOOD, True),
    "effort missing": (_effort, Verdict.GOOD, False),
}


def joint_state(
    random: Random, right: JointState, accepted: float | None, what: str | None = None
) -> Sent:
    """A joint state made of the right one.

    accepted: the stamp [s] of the message before it, None if that was no good.
    """
    what = what or pick(random, list(STATES))
    change, verdict, alarms = STATES[what]
    message = copy.deepcopy(right)
    if what in ("1 ms back", "repeated"):
        set_stamp(message.header.stamp, accepted or seconds(right.header.stamp))
        verdict = Verdict.BAD if accepted else Verdict.EITHER
    change(message, random)
    return Sent(message, what, verdict, alarms)


# effort_controller/commands


def command(random: Random, right: np.ndarray, limit: np.ndarray) -> Sent:
    """A command of a second publisher."""
    n = right.size
    what = pick(random, ["count", "not finite", "count", "not finite", "another", "layout"])
    if random.random() < 0.02:  # not often: they are obeyed, and throw the arm about
        what = pick(random, ["over the limit", "overflow"])
    tau, verdict, alarms = right.tolist(), Verdict.BAD, False
    if what == "count":
        tau = random.normal(size=pick(random, [0, 1, n - 1, n + 1, 1000])).tolist()
    elif what == "not finite":
        tau[int(random.integers(n))] = pick(random, NOT_FINITE)
    elif what == "over the limit":
        tau = (limit * random.uniform(-1e3, 1e3, n)).tolist()
        verdict, alarms = Verdict.EITHER, True
    elif what == "overflow":
        tau, verdict, alarms = [pick(random, [1e308, -1e308])] * n, Verdict.EITHER, True
    elif what == "another":
        tau = (right + random.normal(size=n)).tolist()
        verdict, alarms = Verdict.EITHER, True
    else:  # the data are as they should be, what describes them is not
        verdict = Verdict.EITHER
    message = Float64MultiArray(data=tau)
    if what == "layout":
        message.layout.data_offset = int(random.integers(2**32))
    return Sent(message, what, verdict, alarms)


# simulator_node/push


def push(random: Random, links: list[str]) -> Sent:
    """A push on a link of the simulated arm."""
    what = pick(random, ["not finite", "unknown link", "absurd", "on the base", "end", "right"])
    message = WrenchStamped()
    message.header.frame_id = pick(random, links)
    parts = {"force": 30.0 * random.normal(size=3), "torque": random.normal(size=3)}
    if what in ("not finite", "absurd"):
        parts[pick(random, ["force", "torque"])][int(random.integers(3))] = pick(
            random, NOT_FINITE if what == "not finite" else [1e308, -1e308, 1e30, 1e12]
        )
    elif what == "unknown link":
        message.header.frame_id = pick(random, [n for n in NAMES if n not in links])
    elif what == "on the base":
        message.header.frame_id = "base"
    elif what == "end":
        parts = {"force": np.zeros(3), "torque": np.zeros(3)}
    for name, values in parts.items():
        vector = getattr(message.wrench, name)
        vector.x, vector.y, vector.z = values.tolist()
    verdict = Verdict.EITHER if what == "end" else Verdict.BAD
    return Sent(message, what, Verdict.GOOD if what == "right" else verdict, what == "right")


# controller_node/joint_trajectory


def trajectory(random: Random, names: tuple[str, ...], here: np.ndarray) -> Sent:
    """A motion from where the arm is to be now."""
    n = len(names)
    what = pick(
        random,
        ["not finite", "names", "counts", "times", "no points", "start", "accelerations", "right"]
        + ["overflow", "steep", "many points"],
    )
    order = random.permutation(n)
    count = 100 if what == "many points" else int(random.integers(1, 4))
    points = []
    for k in range(count):
        q = here + 0.1 * random.uniform(-1.0, 1.0, n)
        point = JointTrajectoryPoint(positions=q[order].tolist())
        if random.random() < 0.5:
            point.velocities = (0.05 * random.normal(size=n)).tolist()
        point.time_from_start = Duration(sec=k + 1, nanosec=int(random.integers(10**9 // 2)))
        points.append(point)
    message = JointTrajectory(joint_names=[names[k] for k in order], points=points)
    point = pick(random, message.points)
    verdict = Verdict.BAD
    if what == "not finite":
        values = point.velocities if len(point.velocities) else point.positions
        values[int(random.integers(n))] = pick(random, NOT_FINITE)
    elif what == "names":
        _misname(message, random)
    elif what == "counts":
        point.positions = list(point.positions)[: int(random.integers(n))]
    elif what == "times":
        _mistime(message, random)
    elif what == "no points":
        message.points = []
    elif what == "start":
        message.points[0].time_from_start = Duration()
        message.points[0].positions = (np.array(here)[order] + 0.5).tolist()
    elif what == "accelerations":
        point.velocities, point.accelerations = [], n * [0.1]
    elif what in ("overflow", "steep"):
        values = [1e308, -1e308, 1e30] if what == "overflow" else [1e6, -300.0, 10.0]
        point.positions[int(random.integers(n))] = pick(random, values)
        verdict = Verdict.EITHER
    else:
        verdict = Verdict.GOOD if what == "right" else Verdict.EITHER
    return Sent(message, what, verdict)


def _misname(message: JointTrajectory, random: Random) -> None:
    names = list(message.joint_names)
    how = int(random.integers(4))
    if how == 0:
        names[0] = names[1]
    elif how == 1:
        names.append("finger")
    elif how == 2:
        names.pop()
    else:
        names[0] = pick(random, [name for name in NAMES if name not in names])
    message.joint_names = names


def _mistime(message: JointTrajectory, random: Random) -> None:
    last = message.points[-1].time_from_start
    if len(message.points) > 1 and random.random() < 0.5:
        first = message.points[0].time_from_start
        last.sec, last.nanosec = first.sec, first.nanosec
    else:
        last.sec = -int(random.integers(1, 2**31))


# dynamics_node/collision_state


def word(random: Random, right: DiagnosticArray) -> Sent:
    """A collision state as the detector would not publish it."""
    what = pick(random, ["stamp", "texts", "level", "statuses", "right"])
    message = copy.deepcopy(right)
    odd = ["nan", "inf", "-1e308", "x", "", "0x10", "1 2", "9" * 400, "COLLISION", "elbow"]
    stamp = message.header.stamp
    if what == "stamp":
        stamp.sec = int(random.integers(-(2**31), 2**31))
        stamp.nanosec = int(random.integers(2**32))
    elif what == "texts":
        keys = ["joints", "link", "fault", "fault_joint", "worst", "cause", *NAMES]
        pairs = [KeyValue(key=pick(random, keys), value=pick(random, odd)) for _ in range(4)]
        message.status[0].values = pairs
    elif what == "level":
        message.status[0].message = pick(random, odd)
        message.status[0].level = bytes([int(random.integers(256))])
    elif what == "statuses":
        message.status = message.status * int(random.integers(3))
    return Sent(message, what, Verdict.EITHER)
