"""Initial parameters for an arm without a file in config/, guessed from its model.

They suffice for a first run on the simulated arm. On a real arm, record a motion without contact
and let `robodyn tune` find the thresholds.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ..detection.monitor_settings import MonitorSettings
from ..detection.observer import residual
from ..dynamics.friction import WIDTH, friction_torque
from ..dynamics.kinematics import forward_kinematics, jacobian
from ..dynamics.mass_matrix import mass_matrix
from ..dynamics.newton_euler import gravity_torque, inverse_dynamics
from ..dynamics.posture import heaviest_posture, start_posture
from ..errors import ModelWarning
from ..model.robot import RobotModel
from ..model.robots import BUILT_IN
from ..model.surface import surface_points
from ..settings import leaves, yaml_section
from ..simulation.sensors import LWR_SENSORS, Sensors
from ..trajectory.joint_move import joint_move
from .demo_trajectory import SAME_POSTURE, demo_postures
from .node_settings import SETTINGS, DemoSettings, ModelErrorSettings, RobotSettings
from .simulation_setup import with_error

CONTACT_SHARE, COLLISION_SHARE = 0.015, 0.03  # thresholds over torque limits, as of lwr_iii
MIN_LIMIT_SHARE = 0.2  # guessed torque limit over the largest one, as of lwr_iii
MODEL_ERROR = ModelErrorSettings(mass=0.03, com=0.003, friction=0.03)  # of the demo's plant
TUNING_ARMS = 10  # with such errors, on whose motion thresholds are tuned
SAMPLE_TIME = 0.002  # [s], of that motion
# Contact threshold over the largest residual without contact: half of the threshold, at which a
# joint counts as touched, is still above noise
NOISE_MARGIN = 2.0
MIN_THRESHOLD = 0.05  # [N m or N], for a joint with little load
PUSH_MARGIN = 3.0  # torque of a scripted push on its joint, times the collision threshold
MAX_PUSH = 60.0  # [N]
MAX_ACCELERATION = 200.0  # [rad/s^2 or m/s^2] of the joint of a pushed link
MIN_LEVER = 0.03  # [m], of a push into a link's surface about the joint's axis
LINK_RADIUS = 0.06  # [m], from a link's centre of mass to its surface
ON_AXIS = 1e-3  # [m]: a centre of mass closer to the joint's axis counts as on it
PUSHED_LINKS = 3  # from the last link downwards
FIRST_PUSH, PUSH_INTERVAL, PUSH_DURATION = 3.0, 5.0, 0.2  # [s]
DIGITS = 3  # of a number in the file

Parameters = dict[str, dict[str, Any]]  # node -> {parameter: value}

SOURCE = """# Initial parameters, guessed from masses, torque limits, joint ranges, model errors.
# On a real arm, record a motion without contact and let `robodyn tune` find the thresholds.
"""


def robot_settings(robot: str, root: str, tip: str, lock: list[str]) -> RobotSettings:
    """Return the settings of a robot given as the name of a built-in arm or the path of a URDF."""
    built_in = robot in BUILT_IN and not Path(robot).exists()
    name, urdf = (robot, "") if built_in else ("", str(Path(robot).resolve()))
    return RobotSettings(name, urdf, root, tip, tuple(lock))


def first_parameters(model: RobotModel, robot: RobotSettings) -> Parameters:
    """Return for each node what differs from the defaults: node -> {parameter: value}.

    Warns of joints without an effort limit, whose thresholds are guesses.
    """
    start = start_posture(model)
    limit = effort_limits(model)
    if no_limits := no_limits_text(model):
        warnings.warn(ModelWarning(no_limits), stacklevel=2)
    expected = NOISE_MARGIN * largest_residual(model, start)
    contact = np.maximum.reduce([CONTACT_SHARE * limit, expected, np.full(model.n, MIN_THRESHOLD)])
    collision = COLLISION_SHARE / CONTACT_SHARE * contact
    which = {f"robot.{name}": value for name, value, _ in leaves(robot) if value}
    return {
        "simulator_node": which
        | {"command_timeout": 0.1, "plant.start": _numbers(start)}
        | {"plant.friction": True, "plant.noise": True}
        | {f"plant.model_error.{name}": value for name, value, _ in leaves(MODEL_ERROR)}
        | push_parameters(_pushes(model, start, collision)),
        "controller_node": which
        | {
            "detector_timeout": 1.0,
            "arm.friction": True,
            "arm.reaction": "reflex",
            "arm.reflex_gain": [1.0],
            "arm.damping": 10.0,
            "arm.resume_after": 0.5,
            "arm.timeout": 1.0,
        },
        "demo_node": which | {"active": True},
        "dynamics_node": which
        | {
            "effort.source": "joint_states",
            "effort.friction": "model",
            "monitor.contact.base": _numbers(contact),
            "monitor.collision.base": _numbers(collision),
        },
    }


def effort_limits(model: RobotModel) -> np.ndarray:
    """Return the torque limits (n,) [N m or N]; guessed where the URDF has none.

    The guess is twice the largest gravity torque, and for a joint with little load, such as one
    with a vertical axis, at least a share of the largest limit.
    """
    twice_gravity = 2.0 * np.abs(gravity_torque(model, heaviest_posture(model)))
    known = np.isfinite(model.tau_max)
    limit = np.where(known, model.tau_max, twice_gravity)
    return np.where(known, limit, np.maximum(limit, MIN_LIMIT_SHARE * limit.max()))


def no_limits_text(model: RobotModel) -> str:
    """Return which joints have no effort limit, and the remedy; '' if all have one."""
    names = [name for name, limit in zip(model.joint_names, model.tau_max) if np.isinf(limit)]
    if not names:
        return ""
    return (
        f"no effort limit (0 or missing): {', '.join(names)}. Their thresholds are guesses: set "
        "effort in <limit> of the URDF, or find them with `robodyn tune` on a recorded motion"
    )


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
        point, direction, lever = push_lever(model, q, int(i))
        force = _numbers(direction * min(MAX_PUSH, torque[i] / lever))
        push = {"at": FIRST_PUSH + k * PUSH_INTERVAL, "link": link, "force": force}
        pushes.append(push | {"point": _numbers(point), "duration": PUSH_DURATION})
    return pushes


def push_lever(
    model: RobotModel, q: np.ndarray, body: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return a point (3,) [m] on the surface of a body, the direction (3,) of a push there that
    loads the joint of the body, in the base's axes, and its lever [m]: means over the demo's
    motion around the posture q.

    It is a push into the surface where that has a lever, else one along it: a round link that
    turns about its own axis is only turned by the latter.
    """
    surface, axis = surface_points(model), model.axis[body]
    rows = slice(int(surface.start[body]), int(surface.start[body + 1]))
    points, normals = surface.points[rows], surface.normals[rows]
    moments = normals if model.prismatic[body] else np.cross(points, normals)
    levers = np.abs(moments @ axis)
    if levers.size and levers.max() > MIN_LEVER:
        best = int(np.argmax(levers))
        point, along = points[best], normals[best]
    else:
        com = model.com[body]
        off_axis = com - axis * (axis @ com)
        distance = float(np.linalg.norm(off_axis))
        outwards = off_axis / distance if distance > ON_AXIS else _normal(axis)
        point, along = com + LINK_RADIUS * outwards, np.cross(axis, outwards)
    postures, link = np.array([q, *demo_postures(model, q)]), model.link_names[body]
    turns = forward_kinematics(model, postures, link)[:, :3, :3]
    direction = (turns @ along).mean(axis=0)
    direction /= np.linalg.norm(direction)
    column = jacobian(model, postures, link, point)[:, :3, model.coordinate[body]].mean(axis=0)
    return point, direction, abs(float(column @ direction))


def largest_residual(model: RobotModel, start: np.ndarray) -> np.ndarray:
    """Return the largest residual (n,) [N m or N] without contact on the demo's motion, of many
    arms with the demo's model error and sensor noise.
    """
    limit = DemoSettings().speed * np.where(np.isfinite(model.qd_max), model.qd_max, 1.0)
    postures = [start, *demo_postures(model, start)]
    ways = [
        joint_move(a, b, qd_max=limit, qdd_max=4.0 * limit, model=model).sample(SAMPLE_TIME)[1]
        for a, b in zip(postures, [*postures[1:], postures[1]], strict=True)
        if np.abs(b - a).max() > SAME_POSTURE
    ]
    q, qd, qdd = (np.vstack([getattr(way, name) for way in ways]) for name in ("q", "qd", "qdd"))
    t = SAMPLE_TIME * np.arange(len(q))
    largest, gain = np.zeros(model.n), MonitorSettings().gain[0]
    for seed in range(TUNING_ARMS):
        real = with_error(model, MODEL_ERROR, seed)
        tau = inverse_dynamics(real, q, qd, qdd)
        tau += friction_torque(real, qd, width=WIDTH, load=tau)
        sensors = Sensors(LWR_SENSORS, model.tau_max, seed)
        seen = [sensors.measure(*sample) for sample in zip(t, q, qd, tau, strict=True)]
        q_seen, qd_seen, tau_seen = (
            np.array([getattr(one, name) for one in seen]) for name in ("q", "qd", "tau")
        )
        r = residual(model, t, q_seen, qd_seen, tau_seen, gain, friction=True)
        largest = np.maximum(largest, np.abs(r).max(axis=0))
    return largest


def _normal(axis: np.ndarray) -> np.ndarray:
    other = np.eye(3)[int(np.argmin(np.abs(axis)))]
    normal = np.cross(axis, other)
    return normal / np.linalg.norm(normal)


def _numbers(values: np.ndarray) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]
