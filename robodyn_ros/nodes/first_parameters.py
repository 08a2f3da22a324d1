"""Parameters to begin with, for an arm that has no file in config/ yet.

Guesses from the model alone, good enough for a first run on the simulated arm. On a real one,
record a motion without contact and let `robodyn tune` find the thresholds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..dynamics.kinematics import jacobian
from ..dynamics.mass_matrix import mass_matrix
from ..dynamics.newton_euler import gravity_torque
from ..dynamics.posture import heaviest_posture, start_posture
from ..model.robot import RobotModel
from ..model.robots import BUILT_IN
from ..settings import leaves
from .node_settings import (
    ControllerSettings,
    DemoSettings,
    DynamicsSettings,
    RobotSettings,
    SimulatorSettings,
)

CONTACT, COLLISION = 0.015, 0.03  # thresholds as shares of the torque limits: as config/lwr_iii/
LEAST = 0.05  # [N m or N], threshold of a joint that hardly carries anything
FELT = 3.0  # times the collision threshold that a scripted push makes its joint feel
HARDEST = 60.0  # [N]
SPIN = 200.0  # [rad/s^2 or m/s^2] to which a push may accelerate its joint
ASIDE = 0.06  # [m], from a link's middle to its surface
LINKS = 3  # so many links are pushed, from the hand downwards
FIRST, EVERY, LASTING = 3.0, 5.0, 0.2  # [s]

DIGITS = 3
SETTINGS = {
    "simulator_node": SimulatorSettings,
    "controller_node": ControllerSettings,
    "demo_node": DemoSettings,
    "dynamics_node": DynamicsSettings,
}
Parameters = dict[str, dict[str, Any]]  # node -> {parameter: value}

SOURCE = """# Parameters to begin with, guessed from masses, torque limits and ranges.
# On a real arm, record a motion without contact and let `robodyn tune` find the thresholds.
"""


def robot_settings(robot: str, root: str, tip: str, lock: list[str]) -> RobotSettings:
    """The robot as a user names it: a built-in arm, or a file."""
    if robot in BUILT_IN and not Path(robot).exists():
        return RobotSettings(name=robot, root=root, tip=tip, lock=tuple(lock))
    return RobotSettings(urdf=str(Path(robot).resolve()), root=root, tip=tip, lock=tuple(lock))


def first_parameters(model: RobotModel, robot: RobotSettings) -> Parameters:
    """Return for each node what differs from the defaults: node -> {parameter: value}."""
    start = start_posture(model)
    limit = _limits(model)
    contact, collision = (np.maximum(share * limit, LEAST) for share in (CONTACT, COLLISION))
    which = {f"robot.{name}": value for name, value, _ in leaves(robot) if value}
    return {
        "simulator_node": which
        | {"command_timeout": 0.1, "plant.start": _numbers(start)}
        | scripted(_pushes(model, start, collision)),
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
            "effort": "joint_states",
            "monitor.contact.base": _numbers(contact),
            "monitor.collision.base": _numbers(collision),
        },
    }


def scripted(pushes: list[dict[str, Any]]) -> dict[str, Any]:
    """A list of pushes as parameters of simulator_node."""
    names = [f"push_{k + 1}" for k in range(len(pushes))]
    table = {"pushes.names": names}
    for name, push in zip(names, pushes, strict=True):
        table |= {f"pushes.{name}.{key}": value for key, value in push.items()}
    return table


def as_yaml(parameters: Parameters) -> str:
    """A parameter file that says what each of them means. JSON is YAML, and rcl reads it."""
    lines = []
    for node, values in parameters.items():
        means = {name: about for name, _, about in leaves(SETTINGS[node]())}
        lines += [f"/**/{node}:", "  ros__parameters:"]
        for name, value in values.items():
            text = f"    {name}: {json.dumps(value)}"
            if name in means:
                unit = f" [{means[name].unit}]" if means[name].unit else ""
                text += f"  # {means[name].text}{unit}"
            lines.append(text)
    return "\n".join(lines) + "\n"


def _limits(model: RobotModel) -> np.ndarray:
    """Torque limits; where the URDF has none, twice what it takes to carry the arm."""
    carrying = 2.0 * np.abs(gravity_torque(model, heaviest_posture(model)))
    return np.where(np.isfinite(model.tau_max), model.tau_max, carrying)


def _pushes(model: RobotModel, q: np.ndarray, collision: np.ndarray) -> list[dict[str, Any]]:
    """Pushes on the last links, beside the axis of the link's own joint, so that it feels them.

    A joint without much inertia is spared: many URDFs leave the rotors out, and a push that such
    a joint feels would spin it.
    """
    heavy = FELT * collision < SPIN * np.diag(mass_matrix(model, q))
    pushes = []
    for k, i in enumerate(np.flatnonzero(heavy)[::-1][:LINKS]):
        link = model.link_names[i]
        point = model.com[i] + ASIDE * _across(model.axis[i])
        felt = jacobian(model, q, link, point)[:3, i]  # [N m/N], by the joint of this link
        lever = float(np.linalg.norm(felt))
        force = felt / lever * min(HARDEST, FELT * collision[i] / lever)
        pushes.append(
            {
                "at": FIRST + k * EVERY,
                "link": link,
                "force": _numbers(force),
                "point": _numbers(point),
                "duration": LASTING,
            }
        )
    return pushes


def _across(axis: np.ndarray) -> np.ndarray:
    """A direction at right angles to this one."""
    other = np.eye(3)[int(np.argmin(np.abs(axis)))]
    across = np.cross(axis, other)
    return across / np.linalg.norm(across)


def _numbers(values: np.ndarray) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]
