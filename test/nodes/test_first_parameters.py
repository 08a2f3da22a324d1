"""Parameters to begin with, for any arm."""

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from ros_harness import bench

from diagnostic_msgs.msg import DiagnosticArray  # isort: skip

import robodyn_ros as rd
from robodyn_ros.control.arm_controller import Mode
from robodyn_ros.dynamics.posture import start_posture
from robodyn_ros.model.robots import BUILT_IN
from robodyn_ros.nodes.composed import connect

from robodyn_ros.nodes.codec import read_collision_state  # isort: skip
from robodyn_ros.nodes.controller_node import ControllerNode
from robodyn_ros.nodes.demo_node import DemoNode
from robodyn_ros.nodes.dynamics_node import DynamicsNode
from robodyn_ros.nodes.first_parameters import (
    SETTINGS,
    as_yaml,
    first_parameters,
    robot_settings,
)
from robodyn_ros.nodes.runtime import LATCHED
from robodyn_ros.nodes.simulation_setup import PushSettings
from robodyn_ros.nodes.simulator_node import SimulatorNode
from robodyn_ros.settings import changed

ROBOTS = Path(sysconfig.get_path("purelib"), "cmeel.prefix/share/example-robot-data/robots")
OTHERS = {
    "ur_description/urdf/ur5_robot.urdf": [],
    "panda_description/urdf/panda.urdf": ["panda_finger_joint1", "panda_finger_joint2"],
    "z1_description/urdf/z1.urdf": ["jointGripper"],
    "xarm_description/urdf/xarm7.urdf": [],
}
ARMS = [
    *[pytest.param(name, [], id=name) for name in BUILT_IN],
    *[
        pytest.param(
            str(ROBOTS / name),
            lock,
            id=Path(name).stem,
            marks=pytest.mark.skipif(
                not (ROBOTS / name).is_file(), reason="example-robot-data is not installed"
            ),
        )
        for name, lock in OTHERS.items()
    ],
]


@pytest.mark.parametrize(("robot", "lock"), ARMS)
def test_the_posture_to_begin_with_is_within_limits_and_free_to_move(robot, lock):
    model = robot_settings(robot, "", "", lock).load("")
    q = start_posture(model)
    np.testing.assert_array_equal(q, start_posture(model))
    assert np.all((q > model.q_min) & (q < model.q_max))

    def volumes(postures):
        J = rd.jacobian(model, postures, model.link_names[-1])
        return np.linalg.svd(J, compute_uv=False).prod(axis=-1)

    low, high = np.maximum(model.q_min, -2), np.minimum(model.q_max, 2)
    others = np.random.default_rng(1).uniform(low, high, (200, model.n))
    assert volumes(q[None])[0] > np.median(volumes(others))


@pytest.mark.parametrize(("robot", "lock"), ARMS)
def test_nodes_take_them(robot, lock):
    settings = robot_settings(robot, "", "", lock)
    model = settings.load("")
    parameters = first_parameters(model, settings)
    for node, values in parameters.items():
        own = {name: _fixed(value) for name, value in values.items() if "pushes." not in name}
        changed(SETTINGS[node](), own)  # raises where a value is out of its range
    given = parameters["simulator_node"]
    assert given["pushes.names"]
    for name in given["pushes.names"]:
        prefix = f"pushes.{name}."
        fields = {k.removeprefix(prefix): v for k, v in given.items() if k.startswith(prefix)}
        push = PushSettings(**{key: _fixed(value) for key, value in fields.items()})
        assert push.link in model.link_names


def _fixed(value):
    return tuple(value) if isinstance(value, list) else value


@pytest.mark.parametrize("effort", ['effort="0"', 'effort="0.0"', ""])
def test_joints_without_an_effort_limit_are_named_and_get_no_tiny_threshold(tmp_path, effort):
    """Also those whose axis is vertical, which gravity does not load."""
    path = tmp_path / "arm.urdf"
    text = rd.share_path("urdf", "kuka_lwr4.urdf").read_text()
    path.write_text(re.sub(r'effort="[^"]*"', effort, text))
    settings = robot_settings(str(path), "", "", [])
    model = settings.load("")
    with pytest.warns(rd.ModelWarning, match=r"no effort limit .*joint_1.*joint_7.*robodyn tune"):
        found = first_parameters(model, settings)["dynamics_node"]
    assert min(found["monitor.contact.base"]) > 0.2
    # One joint alone: the others' limits are known
    path.write_text(re.sub(r'effort="[^"]*"', effort, text, count=1))
    model = settings.load("")
    with pytest.warns(rd.ModelWarning, match=r"no effort limit \(0 or missing\): joint_1\. "):
        found = first_parameters(model, settings)["dynamics_node"]
    usual = first_parameters(rd.robots.kuka_lwr4(), settings)["dynamics_node"]
    assert found["monitor.contact.base"][1:] == usual["monitor.contact.base"][1:]
    assert 0.5 < found["monitor.contact.base"][0] < usual["monitor.contact.base"][0]


def test_configure_tells_it_on_stderr_and_in_the_file(tmp_path):
    path = tmp_path / "arm.urdf"
    text = rd.share_path("urdf", "kuka_lwr4.urdf").read_text()
    path.write_text(text.replace('effort="38"', 'effort="0"'))
    done = subprocess.run(
        [sys.executable, "-m", "robodyn_ros.cli", "configure", str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    about = "no effort limit (0 or missing): joint_6, joint_7"
    assert done.stderr.startswith(f"warning: {about}") and len(done.stderr.splitlines()) == 1
    assert f"# Warning: {about}" in done.stdout


def test_a_strange_arm_runs_with_them(tmp_path):
    """A UR5: every push is felt, the link is right, and the arm resumes. In simulated time."""
    robot = ROBOTS / "ur_description/urdf/ur5_robot.urdf"
    if not robot.is_file():
        pytest.skip("example-robot-data is not installed")
    settings = robot_settings(str(robot), "", "", [])
    parameters = first_parameters(settings.load(""), settings)
    parameters["simulator_node"] |= {"free_running": True}
    parameters["controller_node"] |= {"lockstep": True}
    parameters["dynamics_node"] |= {"heartbeat": 0.0}
    path = tmp_path / "first.yaml"
    clock = "/**:\n  ros__parameters:\n    use_sim_time: true\n"
    path.write_text(clock + as_yaml(parameters))
    args = ["--params-file", str(path)]
    told = []
    with bench(SimulatorNode, DynamicsNode, ControllerNode, DemoNode, args=args) as there:
        simulator, detector, controller, _ = there.nodes
        connect(there.nodes)
        detector.to_state.local.append(
            lambda word: told.append((simulator.plant.state.t, _facts(word)))
        )
        there.collect(DiagnosticArray, "dynamics_node/collision_state", LATCHED)
        there.until(lambda: simulator.plant.state.t > 20.0, 120.0)
        assert controller.arm.mode is Mode.TRACKING
    script = [
        tuple(parameters["simulator_node"][f"pushes.push_{k}.{key}"] for key in ("at", "link"))
        for k in (1, 2, 3)
    ]
    touched = [(t, link) for t, (level, link) in told if level == "COLLISION"]
    assert all(any(at < t < at + 1 for at, _ in script) for t, _ in touched), "alarm without push"
    for at, link in script:
        assert link in {found for t, found in touched if at < t < at + 0.4}


def _facts(word):
    report = read_collision_state(word)
    return report.level.name, report.link
