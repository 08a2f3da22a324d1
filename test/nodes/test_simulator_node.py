"""simulator_node with real publishers and subscribers."""

from functools import partial

import numpy as np
import pytest
from ros_harness import bench

import robodyn_ros as rd

from geometry_msgs.msg import WrenchStamped  # isort: skip
from rosgraph_msgs.msg import Clock  # isort: skip
from sensor_msgs.msg import JointState  # isort: skip
from std_msgs.msg import Float64MultiArray  # isort: skip
from std_srvs.srv import Trigger  # isort: skip

from robodyn_ros.nodes.codec import seconds  # isort: skip
from robodyn_ros.nodes.runtime import STATE_IN  # isort: skip
from robodyn_ros.nodes.node_settings import ModelErrorSettings, PlantSettings  # isort: skip
from robodyn_ros.nodes.brake import BRAKE_RATE  # isort: skip
from robodyn_ros.nodes.simulation_setup import make_plant  # isort: skip
from robodyn_ros.nodes.simulator_node import BRAKE_RELEASE, SimulatorNode  # isort: skip

MODEL = rd.robots.planar_2r()
ARGS = ["-p", "robot.name:=planar_2r", "-p", "rate:=250.0", "-p", "plant.start:=[0.3, 0.4]"]


class Talk:
    """What the simulator says, and a way to command it."""

    def __init__(self, there):
        self.there, (self.node,) = there, there.nodes
        self.states = there.collect(JointState, "joint_states", STATE_IN)
        self.truth = there.collect(JointState, "simulator_node/external_torque", STATE_IN)
        self.to_command = there.node.create_publisher(
            Float64MultiArray, "effort_controller/commands", 10
        )
        self.to_push = there.node.create_publisher(WrenchStamped, "simulator_node/push", 10)
        there.until(lambda: self.to_command.get_subscription_count() == 1)
        there.until(lambda: self.to_push.get_subscription_count() == 1)
        there.until(lambda: bool(self.states))

    def command(self, tau):
        self.to_command.publish(Float64MultiArray(data=[float(x) for x in tau]))

    def push(self, link, force):
        message = WrenchStamped()
        message.header.frame_id = link
        message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = force
        self.to_push.publish(message)


@pytest.fixture
def talk():
    with bench(SimulatorNode, args=ARGS) as there:
        yield Talk(there)


@pytest.fixture
def free():
    with bench(SimulatorNode, args=[*ARGS, "-p", "free_running:=true"]) as there:
        yield Talk(there)


def test_a_new_controllers_first_commands_two_at_a_time_are_no_step(talk):
    node = talk.node
    allowed = BRAKE_RATE * node.dt
    assert node.braked  # no command yet

    def acts(tau):
        node.receive("effort_controller/commands", Float64MultiArray(data=[float(x) for x in tau]))
        node.step()
        return node.plant.measurement.tau.copy()

    held = acts(node.limiter.tau)
    once = acts(held + allowed)
    thrice = acts(held + 3.0 * allowed)  # of two commands in one cycle only the second acts
    np.testing.assert_allclose(once - held, allowed)
    np.testing.assert_allclose(thrice - once, allowed)
    for _ in range(round(2.0 * BRAKE_RELEASE / node.dt)):
        acts(held)
    np.testing.assert_allclose(acts(held + 3.0 * allowed) - held, 3.0 * allowed)  # in its hands


def test_it_keeps_the_wall_clocks_pace_and_holds_itself(talk):
    begin = seconds(talk.states[-1].header.stamp)
    talk.there.run(0.5)
    last = talk.states[-1]
    assert seconds(last.header.stamp) - begin == pytest.approx(0.5, abs=0.2)
    assert list(last.name) == list(MODEL.joint_names)
    np.testing.assert_allclose(last.position, [0.3, 0.4], atol=1e-3)  # no commands: it holds
    steps = np.diff([seconds(s.header.stamp) for s in talk.states])
    assert np.median(steps) == pytest.approx(0.004, abs=1e-6)
    assert abs(seconds(last.header.stamp) - talk.node.now()) < 0.3


def test_it_does_what_it_is_told(free):
    """Free-running: a step per command, the same as the plant by itself."""
    plant = rd.RigidPlant(MODEL, [0.3, 0.4], friction=False)
    for k in range(20):
        count = len(free.states)
        tau = rd.gravity_torque(MODEL, plant.state.q) + [1.0, -0.5 * k]
        plant.step(tau, 0.004)
        free.command(tau)
        free.there.until(lambda count=count: len(free.states) > count)
    np.testing.assert_array_equal(free.states[-1].position, plant.state.q)
    np.testing.assert_array_equal(free.states[-1].effort, plant.measurement.tau)
    assert seconds(free.states[-1].header.stamp) == pytest.approx(1.08)


def test_free_running_it_is_the_clock(free):
    ticks = free.there.collect(Clock, "/clock", STATE_IN)
    for _ in range(5):
        count = len(free.states)
        free.command([0.0, 0.0])
        free.there.until(lambda count=count: len(free.states) > count)
    free.there.until(lambda: ticks and seconds(ticks[-1].clock) == pytest.approx(1.02))


@pytest.mark.parametrize("bad", [[1.0], [1.0, 2.0, 3.0], [np.nan, 0.0], [0.0, np.inf]])
def test_bad_commands_are_refused(talk, bad):
    talk.command(bad)
    talk.there.run(0.1)
    assert not talk.node.tau.any()
    np.testing.assert_allclose(talk.states[-1].position, [0.3, 0.4], atol=1e-3)


def test_torque_over_the_limit_is_clamped():
    with bench(
        SimulatorNode, args=["-p", "robot.name:=lwr_iii", "-p", "free_running:=true"]
    ) as there:
        talk = Talk(there)
        count = len(talk.states)
        talk.command([1e9, *6 * [0.0]])
        there.until(lambda: any(state.effort[0] > 1.0 for state in talk.states[count:]))
        largest = max(state.effort[0] for state in talk.states[count:])
        assert largest == rd.robots.lwr_iii().tau_max[0]


def test_a_push_by_topic_acts_in_the_links_axes(talk):
    link = MODEL.link_names[1]
    talk.push(link, (0.0, 10.0, 0.0))
    talk.there.until(lambda: any(np.any(s.effort) for s in talk.truth))
    felt = np.array(next(s.effort for s in talk.truth if np.any(s.effort)))
    q = np.array([0.3, 0.4])
    R = rd.forward_kinematics(MODEL, q, link)[:3, :3]
    expected = rd.jacobian(MODEL, q, link)[:3].T @ R @ [0.0, 10.0, 0.0]
    np.testing.assert_allclose(felt, expected, rtol=0.05, atol=0.05)
    talk.there.until(lambda: not np.any(talk.truth[-1].effort))


def test_a_push_on_no_link_is_refused(talk):
    talk.push("elbow", (1.0, 0.0, 0.0))
    talk.there.run(0.1)
    assert not any(np.any(s.effort) for s in talk.truth)


def test_reset_brings_it_back(talk):
    for _ in range(20):
        talk.command([5.0, 5.0])
        talk.there.run(0.004)
    assert talk.there.call(Trigger, "simulator_node/reset").success
    talk.there.run(0.1)
    np.testing.assert_allclose(talk.states[-1].position, [0.3, 0.4], atol=1e-2)


def test_scripted_pushes_and_obstacles_come_from_parameters(tmp_path):
    params = tmp_path / "scene.yaml"
    params.write_text(
        "/**/simulator_node:\n"
        "  ros__parameters:\n"
        "    robot: {name: planar_2r}\n"
        "    free_running: true\n"
        "    pushes:\n"
        "      names: [tap]\n"
        f"      tap: {{at: 0.01, link: {MODEL.link_names[1]}, force: [0.0, 0.0, 5.0],"
        " duration: 0.02}\n"
        "    obstacles:\n"
        "      names: [wall]\n"
        "      wall: {kind: plane, place: [3.0, 0.0, 0.0], normal: [-1.0, 0.0, 0.0]}\n"
    )
    with bench(SimulatorNode, args=["--params-file", str(params)]) as there:
        talk = Talk(there)
        assert len(talk.node.plant.obstacles) == 1
        for _ in range(30):
            count = len(talk.states)
            talk.command([0.0, 0.0])
            there.until(lambda count=count: len(talk.states) > count)
        # On a busy machine a state may be told twice
        truth = {seconds(s.header.stamp): bool(np.any(s.effort)) for s in talk.truth}
        felt = list(truth.values())
        assert felt.count(True) == pytest.approx(10, abs=1)  # 20 ms of steps of 2 ms
        assert felt.index(True) >= 4


def error_of(seed, **error):
    """Return the weight of the plant and of its model in one posture, [N m]."""
    model = rd.robots.lwr_iii()
    settings = PlantSettings(model_error=ModelErrorSettings(**error), seed=seed)
    plant, _ = make_plant(model, settings, {}, 0.002)
    q = np.full(7, 0.4)
    return rd.gravity_torque(plant.model, q) - rd.gravity_torque(model, q)


def test_the_plant_differs_from_the_model_as_set():
    assert not error_of(1).any()
    error = error_of(1, mass=0.03, com=0.003)
    np.testing.assert_array_equal(error, error_of(1, mass=0.03, com=0.003))
    assert 0.05 < np.abs(error).max() < 3.0
    assert np.abs(error - error_of(2, mass=0.03, com=0.003)).max() > 0.01


class EulerPlant(rd.Plant):
    """A plant of one's own."""

    def advance(self, command, dt):
        q, qd = self.state.q, self.state.qd
        tau, tau_ext = self.motor_torque(command), self.push_torque(self.state.t, q)
        qd = qd + dt * rd.forward_dynamics(self.model, q, qd, tau + tau_ext)
        return q + dt * qd, qd, tau, tau_ext


def test_the_plant_of_a_program_is_chosen_by_the_parameter():
    args = [*ARGS, "-p", "plant.kind:=own", "-p", "plant.friction:=false"]
    with bench(partial(SimulatorNode, EulerPlant), args=args) as there:
        talk = Talk(there)
        plant = talk.node.plant
        assert isinstance(plant, EulerPlant) and not plant.friction
        np.testing.assert_allclose(talk.states[0].position, [0.3, 0.4], atol=1e-3)
        talk.push(MODEL.link_names[-1], (0.0, 5.0, 0.0))
        there.until(lambda: any(np.abs(truth.effort).max() > 0.1 for truth in talk.truth))


def test_without_such_a_plant_the_parameter_is_refused():
    settings = PlantSettings(kind="own")
    with pytest.raises(rd.ArgumentError, match=r"main\(plant=...\)"):
        make_plant(MODEL, settings, {}, 0.004)
    with pytest.raises(rd.ArgumentError, match="obstacles"):
        make_plant(MODEL, settings, {"wall": None}, 0.004, EulerPlant)
