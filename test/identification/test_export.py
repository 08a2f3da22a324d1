"""Files of the identified robot: an updated URDF, and parameters that the nodes accept."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from identification_cases import ARM, log_of, motion_of
from ros_harness import bench
from sample_cases import valid_sample

import robodyn_ros as rd
from robodyn_ros.detection.observer import residual
from robodyn_ros.errors import ArgumentError, UrdfError
from robodyn_ros.identification.export import updated_urdf
from robodyn_ros.identification.identify import identify
from robodyn_ros.identification.residual import GAIN, largest_residual
from robodyn_ros.nodes.controller_node import ControllerNode
from robodyn_ros.nodes.dynamics_node import DynamicsNode
from robodyn_ros.nodes.simulator_node import SimulatorNode
from robodyn_ros.sensing.log import Log
from robodyn_ros.simulation.disturbances import perturbed
from robodyn_ros.simulation.rigid import RigidPlant
from robodyn_ros.simulation.sensors import LWR_SENSORS

pytest.importorskip("cvxpy")
yaml = pytest.importorskip("yaml")


@pytest.fixture
def arm(tmp_path):
    """The path of a URDF, and another robot of the same shape."""
    path = tmp_path / "arm.urdf"
    path.write_text(ARM, encoding="utf-8")
    nominal = rd.load_urdf(path)
    other = perturbed(nominal, 3, mass=0.3, com=0.05, inertia=0.3, friction=0.0)
    return path, other.replace(rotor_inertia=[2.0, 0.7], viscous=[3.0, 4.0], coulomb=[0.0, 6.0])


def test_the_urdf_reads_back_as_the_other_robot(arm):
    path, other = arm
    for original in (path, str(path), ARM):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again = rd.load_urdf(updated_urdf(original, other), strict=True)
        for name in ("inertial_parameters", "rotor_inertia", "viscous", "coulomb"):
            mine, yours = (getattr(m, name) for m in (again, other))
            if callable(mine):
                mine, yours = mine(), yours()
            np.testing.assert_allclose(mine, yours, rtol=1e-12, atol=1e-15, err_msg=name)
        assert list(again.frames) == list(other.frames)
        np.testing.assert_array_equal(again.frames["tool"].place, [0.0, 0.0, 0.1])


def test_meshes_comments_and_other_tags_are_kept(arm):
    path, other = arm
    text = updated_urdf(path, other)
    for kept in ("package://arm/upper.dae", "wrong here: é", "Gazebo/Red", "EffortJointInterface"):
        assert kept in text, kept
    assert text.count("<inertial>") == 3  # the tool's is lumped into its carrier's
    assert text.count("<transmission") == 2 and text.count("gear_ratio") == 2
    assert updated_urdf(text, other) == text


def test_the_urdf_of_another_robot_is_rejected(arm):
    path, other = arm
    with pytest.raises(ArgumentError, match="no joint_1, joint_2, link_1, link_2: give that of"):
        updated_urdf(path, rd.robots.planar_2r())
    with pytest.raises(UrdfError):
        updated_urdf('<!DOCTYPE robot [<!ENTITY a "b">]><robot name="arm"/>', other)


def leaves(tree, prefix=""):
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


@pytest.fixture(scope="module")
def identified(tmp_path_factory):
    """An identified robot, its log, and the parameter file."""
    folder = tmp_path_factory.mktemp("found")
    nominal = rd.robots.planar_2r().replace(viscous=1.0, coulomb=2.0)
    real = perturbed(nominal, 1, mass=0.2, com=0.02, inertia=0.3, friction=0.4)
    log = log_of(real, motion_of(nominal, 1), noise=0.01)
    found = identify(nominal, [log], friction=("viscous", "coulomb"))
    (folder / "robot.urdf").write_text(found.to_urdf())
    found.to_yaml(folder / "nodes.yaml", folder / "robot.urdf")
    return found, log, folder / "nodes.yaml"


@pytest.mark.parametrize("kind", [DynamicsNode, ControllerNode, SimulatorNode])
def test_a_node_accepts_every_parameter(identified, kind):
    found, _, path = identified
    with bench(kind, args=["--params-file", str(path)]) as ros:
        (node,) = ros.nodes
        given = yaml.safe_load(path.read_text())[f"/**/{node.get_name()}"]["ros__parameters"]
        for name, value in leaves(given):
            assert node.has_parameter(name), name
            assert node.get_parameter(name).value == (
                pytest.approx(value) if isinstance(value, list) else value
            ), name
        np.testing.assert_allclose(
            node.robot.inertial_parameters(), found.model.inertial_parameters()
        )
        np.testing.assert_allclose(node.robot.viscous, found.model.viscous, rtol=1e-5)


def test_the_detector_is_quiet_on_the_motion_and_detects_a_push(identified):
    """Thresholds and friction are those of nodes.yaml."""
    _, log, path = identified
    with bench(DynamicsNode, args=["--params-file", str(path)]) as ros:
        monitor = ros.nodes[0].monitor
        levels = []
        for k in range(600):
            push = 20.0 if k > 500 else 0.0
            sample = valid_sample(log.t[k], log.q[k], log.qd[k], log.tau[k] - push)
            levels.append(monitor.update(sample).level.name)
    assert set(levels[50:500]) == {"CLEAR"}
    assert levels[-1] == "COLLISION"


# ---------------------------------------------------------------- a robot with real friction

LAW = {"friction_offset": [0.4, -0.2], "friction_load": 0.1, "presliding": 4e-4}


def recorded(model, real, motion, seed, rest=1.0):
    """Return what the sensors of a simulated arm report: the motion, then rest."""
    dt, at_rest = 1e-3, round(rest / 1e-3)
    times = dt * np.arange(round(motion.duration / dt) + at_rest)
    q, qd, qdd, _ = motion.at(np.minimum(times, motion.duration))
    qd[-at_rest:] = qdd[-at_rest:] = 0.0
    plant, seen = RigidPlant(real, q[0], sensor=LWR_SENSORS, seed=seed, stops=False), []
    feed_forward = rd.inverse_dynamics(model, q, qd, qdd, friction=True)
    for k in range(times.size):
        m = plant.measurement
        plant.step(feed_forward[k] + 200.0 * (q[k] - m.q) + 20.0 * (qd[k] - m.qd), dt)
        seen.append(plant.measurement)
    arrays = (np.array([getattr(m, name) for m in seen]) for name in ("t", "q", "qd", "tau"))
    return Log(*arrays, f"seed {seed}")


@pytest.fixture(scope="module")
def rough(tmp_path_factory):
    """An identified robot with every term of friction, an unseen log and the parameter file."""
    folder = tmp_path_factory.mktemp("rough")
    nominal = rd.robots.planar_2r().replace(viscous=1.0, coulomb=2.0, tau_max=200.0)
    real = perturbed(nominal, 1, mass=0.1, com=0.02, inertia=0.1, friction=0.4).replace(**LAW)
    used, unseen = (recorded(nominal, real, motion_of(nominal, s), s) for s in (1, 2))
    found = identify(nominal, [used])
    (folder / "robot.urdf").write_text(found.to_urdf())
    found.to_yaml(folder / "nodes.yaml", folder / "robot.urdf")
    return real, found, unseen, folder / "nodes.yaml"


def test_the_model_keeps_every_term_of_the_friction(rough):
    real, found, _, _ = rough
    model, law = found.model, found.friction
    np.testing.assert_array_equal(model.friction_offset, law.offset)
    np.testing.assert_array_equal(model.friction_load, law.load)
    np.testing.assert_array_equal(model.presliding, law.shape.presliding)
    np.testing.assert_array_equal(model.friction_width, law.shape.width)
    np.testing.assert_allclose(model.friction_offset, real.friction_offset, atol=0.1)
    np.testing.assert_allclose(model.friction_load, real.friction_load, atol=0.03)
    np.testing.assert_allclose(model.presliding, real.presliding, rtol=0.6)
    assert (model.friction_speed < 5.0).all()
    assert not found.straight.friction_load.any()  # a URDF has none


@pytest.mark.parametrize("viscous", [3.0, 0.0])
def test_the_straight_line_is_the_best_one_where_dry_friction_falls(rough, viscous):
    """Its slope is that of all friction; without viscous friction it is 0, as a URDF needs."""
    law = {"viscous": viscous, "coulomb": 2.0, "stiction": 4.0, "stribeck": 3.0}
    model = rough[1].model.replace(**law, friction_load=0.0, friction_offset=0.0)
    straight = replace(rough[1], model=model).straight
    for j in range(model.n):
        fastest = max(np.abs(fit.qd[:, j]).max() for fit in rough[1].fits)
        speed = np.linspace(0.1, 1.0, 50) * fastest
        wanted = viscous * speed + 2.0 + 2.0 * np.exp(-3.0 * speed)
        error = wanted - straight.viscous[j] * speed - straight.coulomb[j]
        assert np.mean(error) == pytest.approx(0.0, abs=1e-9)  # else a shift would be better
        if viscous:
            assert error @ speed == pytest.approx(0.0, abs=1e-9)  # else another slope
        assert (straight.viscous[j] > 0.0) == (viscous > 0.0)


def test_the_residual_of_a_fit_is_that_of_the_observer(rough):
    _, found, log, _ = rough
    r = residual(found.model, log.t, log.q, log.qd, log.tau, GAIN, True)
    late = log.t - log.t[0] > 0.3
    largest = largest_residual(found.model, log, True)
    np.testing.assert_allclose(largest, np.abs(r[late]).max(axis=0), rtol=1e-6)


def test_a_node_on_the_written_set_is_quiet_with_friction_on(rough):
    _, found, log, path = rough
    with bench(DynamicsNode, args=["--params-file", str(path)]) as ros:
        node = ros.nodes[0]
        assert node.settings.effort.friction == "model"
        for name in ("coulomb", "friction_offset", "friction_load", "presliding"):
            given, wanted = getattr(node.robot, name), getattr(found.model, name)
            np.testing.assert_allclose(given, wanted, rtol=1e-4, atol=1e-9, err_msg=name)
        settings, robot = node.settings, node.robot
    quiet = rd.detect(robot, log, settings.monitor, effort=settings.effort)
    assert (quiet.level[quiet.t > quiet.t[0] + 0.2] == rd.Level.CLEAR).all()
    assert rd.detect(robot, log, settings.monitor).events  # the friction is above the thresholds
    pushed = Log(log.t, log.q, log.qd, log.tau - np.where(log.t > 8.0, 6.0, 0.0)[:, None])
    assert rd.detect(robot, pushed, settings.monitor, effort=settings.effort).events


def test_a_node_takes_currents_if_the_logs_held_currents(rough, tmp_path):
    """The set holds the drive gains: the same log in amperes, through the node's settings."""
    _, found, log, path = rough
    gains = np.array([12.0, -5.0])
    found.to_yaml(tmp_path / "nodes.yaml", path.with_name("robot.urdf"), gains)
    with bench(DynamicsNode, args=["--params-file", str(tmp_path / "nodes.yaml")]) as ros:
        settings, robot = ros.nodes[0].settings, ros.nodes[0].robot
    assert settings.effort.source == "joint_states"
    currents = Log(log.t, log.q, log.qd, log.tau / gains)
    quiet = rd.detect(robot, currents, settings.monitor, effort=settings.effort)
    assert (quiet.level[quiet.t > quiet.t[0] + 0.2] == rd.Level.CLEAR).all()
