"""Initial parameters for an arm without a file in config/, guessed from its model.

They suffice for a first run on the simulated arm. On a real arm, record a motion without contact
and let `robodyn tune` find the thresholds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..dynamics.kinematics import jacobian
from ..dynamics.mass_matrix import mass_matrix
from ..dynamics.newton_euler import gravity_torque
from ..dynamics.posture import heaviest_posture, start_posture
from ..model.robot import RobotModel
from ..model.robots import BUILT_IN
from ..settings import leaves, yaml_section
from .node_settings import SETTINGS, RobotSettings

CONTACT_SHARE, COLLISION_SHARE = 0.015, 0.03  # thresholds over torque limits, as of lwr_iii
MIN_THRESHOLD = 0.05  # [N m or N], for a joint with little load
PUSH_MARGIN = 3.0  # torque of a scripted push on its joint, times the collision threshold
MAX_PUSH = 60.0  # [N]
MAX_ACCELERATION = 200.0  # [rad/s^2 or m/s^2] of the joint of a pushed link
LINK_RADIUS = 0.06  # [m], from a link's centre of mass to its surface
PUSHED_LINKS = 3  # from the last link downwards
FIRST_PUSH, PUSH_INTERVAL, PUSH_DURATION = 3.0, 5.0, 0.2  # [s]
DIGITS = 3  # of a number in the file

Parameters = dict[str, dict[str, Any]]  # node -> {parameter: value}

SOURCE = """# Initial parameters, guessed from masses, torque limits and joint ranges.
# On a real arm, record a motion without contact and let `robodyn tune` find the thresholds.
"""


def robot_settings(robot: str, root: str, tip: str, lock: list[str]) -> RobotSettings:
    """Return the settings of a robot given as the name of a built-in arm or the path of a URDF."""
    built_in = robot in BUILT_IN and not Path(robot).exists()
    name, urdf = (robot, "") if built_in else ("", str(Path(robot).resolve()))
    return RobotSettings(name, urdf, root, tip, tuple(lock))


def first_parameters(model: RobotModel, robot: RobotSettings) -> Parameters:
    """Return for each node what differs from the defaults: node -> {parameter: value}."""
    start = start_posture(model)
    # Where the URDF has no torque limit, twice the largest gravity torque
    twice_gravity = 2.0 * np.abs(gravity_torque(model, heaviest_posture(model)))
    limit = np.where(np.isfinite(model.tau_max), model.tau_max, twice_gravity)
    contact = np.maximum(CONTACT_SHARE * limit, MIN_THRESHOLD)
    collision = np.maximum(COLLISION_SHARE * limit, MIN_THRESHOLD)
    which = {f"robot.{name}": value for name, value, _ in leaves(robot) if value}
    return {
        "simulator_node": which
        | {"command_timeout": 0.1, "plant.start": _numbers(start)}
        | push_parameters(_pushes(model, start, collision)),
        "controller_node": which
        | {
            "detector_timeout": 1.0,
            "arm.reaction": "reflex",
            "arm.reflex_gain": [1.0],
            "arm.damping": 5.0,
            "arm.resume_after": 0.5,
            "arm.timeout": 1.0,
        },
        "demo_node": which | {"active": True},
        "dynamics_node": which
        | {
            "effort.source": "joint_states",
            "monitor.contact.base": _numbers(contact),
            "monitor.collision.base": _numbers(collision),
        },
    }


def push_parameters(pushes: list[dict[str, Any]]) -> dict[str, Any]:
    """Return scripted pushes as parameters of simulator_node."""
    names = [f"push_{k + 1}" for k in range(len(pushes))]
    table = {"pushes.names": names}
    for name, push in zip(names, pushes, strict=True):
        table |= {f"pushes.{name}.{key}": value for key, value in push.items()}
    return table


def as_yaml(parameters: Parameters) -> str:
    """Return a parameter file with comments."""
    text = ""
    for node, values in parameters.items():
        described = {name: about.described for name, _, about in leaves(SETTINGS[node]())}
        text += yaml_section(f"/**/{node}", values, described)
    return text


def _pushes(model: RobotModel, q: np.ndarray, collision: np.ndarray) -> list[dict[str, Any]]:
    """Return pushes on the last links, off the axis of the link's joint, so that they load it.

    Joints of little inertia are left out: many URDFs lack the rotors, and a push above the
    threshold would accelerate such a joint too much.
    """
    torque = PUSH_MARGIN * collision
    heavy = torque < MAX_ACCELERATION * np.diag(mass_matrix(model, q))
    pushes = []
    for k, i in enumerate(np.flatnonzero(heavy)[::-1][:PUSHED_LINKS]):
        link = model.link_names[i]
        point = model.com[i] + LINK_RADIUS * _normal(model.axis[i])
        column = jacobian(model, q, link, point)[:3, i]  # [N m/N], of the joint of this link
        lever = float(np.linalg.norm(column))
        force = _numbers(column / lever * min(MAX_PUSH, torque[i] / lever))
        push = {"at": FIRST_PUSH + k * PUSH_INTERVAL, "link": link, "force": force}
        pushes.append(push | {"point": _numbers(point), "duration": PUSH_DURATION})
    return pushes


def _normal(axis: np.ndarray) -> np.ndarray:
    other = np.eye(3)[int(np.argmin(np.abs(axis)))]
    normal = np.cross(axis, other)
    return normal / np.linalg.norm(normal)


def _numbers(values: np.ndarray) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]
