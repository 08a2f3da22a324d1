"""controller_node against the simulated arm, in simulated time."""

from functools import partial

import numpy as np
import pytest
from ros_harness import bench

import robodyn_ros as rd
from robodyn_ros.dynamics.inverse_kinematics import rotation_vector

from builtin_interfaces.msg import Duration  # isort: skip
from diagnostic_msgs.msg import DiagnosticArray  # isort: skip
from geometry_msgs.msg import PoseStamped  # isort: skip
from sensor_msgs.msg import JointState  # isort: skip
from std_msgs.msg import Float64MultiArray  # isort: skip
from std_srvs.srv import SetBool, Trigger  # isort: skip
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # isort: skip

from robodyn_ros.control.arm_controller import Mode  # isort: skip
from robodyn_ros.nodes.controller_node import ControllerNode  # isort: skip
from robodyn_ros.nodes.codec import collision_state, seconds  # isort: skip
from robodyn_ros.nodes.runtime import LATCHED, STATE_IN  # isort: skip
from robodyn_ros.nodes.simulator_node import SimulatorNode  # isort: skip
from robodyn_ros.trajectory.joint_move import joint_move  # isort: skip

MODEL = rd.robots.lwr_iii()
START = [0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0]
ARGS = ["-p", "robot.name:=lwr_iii", "-p", "free_running:=true", "-p", "use_sim_time:=true"]
ARGS += ["-p", f"plant.start:={START}", "-p", "detector_timeout:=0.0"]


class Talk:
    """What is said between plant and controller, and a detector played by the test."""

    def __init__(self, there):
        self.there = there
        self.simulator, self.node = there.nodes
        self.arm = self.node.arm
        self.states = there.collect(JointState, "joint_states", STATE_IN)
        self.commands = there.collect(Float64MultiArray, "effort_controller/commands", STATE_IN)
        self.references = there.collect(JointState, "controller_node/reference", STATE_IN)
        self.to_trajectory = there.node.create_publisher(
            JointTrajectory, "controller_node/joint_trajectory", 10
        )
        self.to_state = there.node.create_publisher(
            DiagnosticArray, "dynamics_node/collision_state", LATCHED
        )
        there.until(lambda: self.to_trajectory.get_subscription_count() == 1)
        there.until(lambda: self.to_state.get_subscription_count() == 1)
        there.until(lambda: len(self.states) > 5)

    @property
    def t(self):
        return seconds(self.states[-1].header.stamp)

    def let(self, simulated):
        """Let so much simulated time [s] go by."""
        end = self.t + simulated
        self.there.until(lambda: self.t >= end, 60.0)

    def go(self, q, duration, names=MODEL.joint_names):
        point = JointTrajectoryPoint(
            positions=[float(x) for x in q], velocities=7 * [0.0], accelerations=7 * [0.0]
        )
        point.time_from_start = Duration(sec=int(duration), nanosec=int(duration % 1 * 1e9))
        self.to_trajectory.publish(JointTrajectory(joint_names=list(names), points=[point]))

    def say(self, level):
        verdict = rd.Verdict(0.0, rd.Level[level], np.zeros(7))
        self.to_state.publish(collision_state(verdict, "test", rd.Level.CLEAR))

    def torques(self):
        return np.array([list(c.data) for c in self.commands])


@pytest.fixture
def talk():
    with bench(SimulatorNode, ControllerNode, args=ARGS) as there:
        yield Talk(there)


def test_without_orders_it_holds_the_pose_it_found(talk):
    talk.let(0.3)
    np.testing.assert_allclose(talk.states[-1].position, START, atol=1e-4)
    assert talk.arm.mode is Mode.HOLDING
    np.testing.assert_allclose(talk.references[-1].position, START, atol=1e-9)


def test_it_follows_a_trajectory_with_joints_in_any_order(talk):
    goal = np.array(START) + 0.2 * np.arange(7) / 7.0
    order = [3, 1, 0, 2, 6, 5, 4]
    talk.go(goal[order], 1.0, [MODEL.joint_names[k] for k in order])
    talk.let(0.5)
    assert talk.arm.mode is Mode.TRACKING
    talk.let(0.8)
    assert talk.arm.mode is Mode.HOLDING
    np.testing.assert_allclose(talk.states[-1].position, goal, atol=1e-3)
    rate = np.abs(np.diff(talk.torques(), axis=0)).max() / 0.002
    assert rate <= 1000.0 * (1 + 1e-9)


@pytest.mark.parametrize(
    "names", [[*MODEL.joint_names[:6], "elbow"], MODEL.joint_names[:6], 7 * ["joint_1"]]
)
def test_a_trajectory_that_does_not_fit_is_refused(talk, names):
    talk.go(START, 1.0, names)
    talk.let(0.2)
    assert talk.arm.mode is Mode.HOLDING


def test_it_reacts_and_resumes_when_cleared_and_logs_each_mode(talk, monkeypatch):
    goal, lines = np.array(START) + 0.3, []
    monkeypatch.setattr(talk.node, "log_line", lambda line: lines.append(line.text))
    talk.say("CLEAR")
    talk.go(goal, 1.0)
    talk.let(0.4)
    talk.say("CONTACT")  # not what it reacts to
    talk.let(0.05)
    assert talk.arm.mode is Mode.TRACKING
    talk.say("COLLISION")
    talk.let(0.5)
    assert talk.arm.mode is Mode.REACTING
    refused = talk.there.call(Trigger, "controller_node/clear")
    assert not refused.success and "touched" in refused.message
    talk.say("CLEAR")
    talk.let(0.5)
    assert talk.arm.mode is Mode.REACTING  # resume_after is 0: only when told
    cleared = talk.there.call(Trigger, "controller_node/clear")
    assert cleared.success and cleared.message == "reacting, which ends once the arm is at rest"
    talk.let(3.0)
    assert talk.arm.mode is Mode.HOLDING
    np.testing.assert_allclose(talk.states[-1].position, goal, atol=1e-3)
    assert lines == [
        "TRACKING: new trajectory",
        "REACTING: touched",
        "RESUMING: cleared",
        "TRACKING: trajectory rejoined",
        "HOLDING: arrived",
    ]


def test_disabled_it_lets_go_and_enabled_it_holds(talk):
    enable = SetBool.Request(data=False)
    assert talk.there.call(SetBool, "controller_node/enable", enable).success
    talk.let(0.5)
    assert talk.arm.mode is Mode.DISABLED
    talk.there.call(SetBool, "controller_node/enable", SetBool.Request(data=True))
    talk.let(0.3)
    assert talk.arm.mode is Mode.HOLDING


def test_law_gains_and_reaction_change_in_motion_without_a_step(talk):
    talk.go(np.array(START) + 0.4, 1.0)
    talk.let(0.3)
    for change in (
        {"arm__controller": "computed_torque"},
        {"arm__frequency": [40.0, 40.0, 40.0, 40.0, 50.0, 60.0, 60.0]},
        {"arm__reaction": "admittance", "arm__resume_after": 1},
        {"arm__controller": "pid"},
        {"arm__controller": "passivity"},
    ):
        assert talk.there.set(talk.node, **change).successful, change
        talk.let(0.1)
    talk.let(0.8)
    rate = np.abs(np.diff(talk.torques(), axis=0)).max() / 0.002
    assert rate <= 1000.0 * (1 + 1e-9)
    np.testing.assert_allclose(talk.states[-1].position, np.array(START) + 0.4, atol=2e-3)
    for bad in (
        {"arm__controller": "magic"},
        {"arm__frequency": [1.0, 2.0]},
        {"arm__tau_rate_max": -5.0},
        {"arm__torque_share": 2.0},
        {"react_to": "dance"},
    ):
        result = talk.there.set(talk.node, **bad)
        assert not result.successful and result.reason, bad


LAWS = ("passivity", "computed_torque", "pd_gravity", "pid", "task_space", "adaptive", "elastic")
REACTIONS = ("stop", "float", "reflex", "admittance", "null_space", "none")


def test_every_law_and_reaction_is_chosen_by_parameters_in_motion(talk):
    """Each pair of laws, and of reactions: test/control/test_switching.py."""
    talk.there.set(talk.node, arm__elastic__measured="motor")
    goal = np.array(START) + 0.3
    talk.go(goal, 1.0)
    talk.let(0.1)
    for law, reaction in zip(LAWS, (*REACTIONS, "stop"), strict=True):
        changed = talk.there.set(talk.node, arm__controller=law, arm__reaction=reaction)
        assert changed.successful, changed.reason
        talk.let(0.05)
    assert talk.there.set(talk.node, arm__controller="passivity").successful
    talk.let(1.0)
    assert talk.arm.mode is Mode.HOLDING, talk.arm.reason
    rate = np.abs(np.diff(talk.torques(), axis=0)).max() / 0.002
    assert rate <= 1000.0 * (1 + 1e-9)
    np.testing.assert_allclose(talk.states[-1].position, goal, atol=2e-3)


class Spring(rd.Controller):
    """A law of one's own."""

    def __init__(self, model, settings, **options):
        super().__init__(model, **options)

    def law_torque(self, state, reference, dt):
        pull = 300.0 * (reference.q - state.q) + 40.0 * (reference.qd - state.qd)
        return pull + rd.gravity_torque(self.model, state.q)


def test_the_law_of_a_program_is_chosen_by_the_parameter():
    with bench(SimulatorNode, partial(ControllerNode, Spring), args=ARGS) as there:
        talk, goal = Talk(there), np.array(START) + 0.1
        assert there.set(talk.node, arm__controller="own").successful
        assert isinstance(talk.arm._arm.parts.law, Spring)
        talk.go(goal, 1.0)
        talk.let(2.5)
        assert talk.arm.mode is Mode.HOLDING, talk.arm.reason
        np.testing.assert_allclose(talk.states[-1].position, goal, atol=1e-3)


def test_without_such_a_law_the_parameter_is_refused(talk):
    refused = talk.there.set(talk.node, arm__controller="own")
    assert not refused.successful and "law=" in refused.reason


def test_a_trajectory_beyond_the_limits_is_announced_and_slowed_down(talk, monkeypatch):
    lines = []
    monkeypatch.setattr(talk.node, "log_line", lambda line: lines.append(line.text))
    goal = np.array(START) + [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    talk.go(goal, 0.2)  # 9.4 rad/s of 1.9
    talk.let(0.2)
    assert talk.arm.mode is Mode.TRACKING
    told = next(line for line in lines if "exceeds limits" in line)
    assert "velocity of joint 'joint_1' at 0.1 s: 9.37" in told and "torque rate" in told
    talk.let(1.2)
    assert talk.arm.mode is Mode.HOLDING and talk.arm.reason == "arrived"
    np.testing.assert_allclose(talk.states[-1].position, goal, atol=1e-3)
    qd = np.array([list(r.velocity) for r in talk.references])
    assert (np.abs(qd) <= MODEL.qd_max * 1.001).all()


def test_strict_refuses_it(talk):
    assert talk.there.set(talk.node, arm__scaling="strict").successful
    talk.go(np.array(START) + 0.5, 0.2)
    talk.let(0.1)
    assert talk.arm.mode is Mode.HOLDING
    talk.go(np.array(START) + 0.5, 2.0)
    talk.let(0.1)
    assert talk.arm.mode is Mode.TRACKING


def test_the_hand_goes_straight_to_a_pose(talk):
    to_pose = talk.there.node.create_publisher(PoseStamped, "controller_node/pose_target", 10)
    talk.there.until(lambda: to_pose.get_subscription_count() == 1)
    assert talk.there.set(talk.node, arm__controller="task_space").successful
    hand = MODEL.link_names[-1]
    start = rd.forward_kinematics(MODEL, START, hand)
    pose = PoseStamped()
    pose.header.frame_id = "base_link"
    turn = quaternion(start)
    o, p = pose.pose.orientation, pose.pose.position
    o.w, o.x, o.y, o.z = turn
    p.x, p.y, p.z = (float(x) for x in start[:3, 3] + [0.0, 0.15, -0.1])
    to_pose.publish(pose)
    talk.there.until(lambda: talk.arm.mode is Mode.TRACKING, 20.0)
    talk.there.until(lambda: talk.arm.mode is Mode.HOLDING, 60.0)
    there = rd.forward_kinematics(MODEL, talk.states[-1].position, hand)
    np.testing.assert_allclose(there[:3, 3], [p.x, p.y, p.z], atol=1e-3)
    np.testing.assert_allclose(there[:3, :3], start[:3, :3], atol=2e-3)
    path = np.array([list(s.position) for s in talk.states[-3000::20]])
    places = rd.forward_kinematics(MODEL, path, hand)[:, :3, 3] - start[:3, 3]
    along = np.array([0.0, 0.15, -0.1]) / np.hypot(0.15, 0.1)
    assert np.linalg.norm(places - np.outer(places @ along, along), axis=1).max() < 1e-3


@pytest.mark.parametrize(
    ("frame", "place", "w", "says"),
    [
        ("base_link", (3.0, 0.0, 0.0), 1.0, "reach"),
        ("camera", (0.3, 0.0, 0.5), 1.0, "camera"),
        ("", (0.3, 0.0, 0.5), 0.2, "quaternion"),
        ("", (np.nan, 0.0, 0.5), 1.0, "finite"),
    ],
)
def test_a_pose_that_cannot_be_reached_is_refused(talk, monkeypatch, frame, place, w, says):
    refused = []
    monkeypatch.setattr(talk.node, "warn_refused", refused.append)
    pose = PoseStamped()
    pose.header.frame_id = frame
    pose.pose.orientation.w = w
    pose.pose.position.x, pose.pose.position.y, pose.pose.position.z = place
    talk.node.receive("~/pose_target", pose)
    talk.there.until(lambda: refused, 20.0)
    assert "rejected a pose target" in refused[0] and says in refused[0]
    assert talk.arm.mode is Mode.HOLDING


def quaternion(T):
    """Return w, x, y, z of a pose's rotation."""
    R = T[:3, :3]
    vector = rotation_vector(R)
    angle = float(np.linalg.norm(vector))
    axis = vector / angle if angle else vector
    return (float(np.cos(angle / 2)), *(float(x) for x in np.sin(angle / 2) * axis))


def test_bad_joint_states_lead_to_a_safe_hold_and_finite_torque():
    with bench(ControllerNode, args=["-p", "robot.name:=lwr_iii"]) as there:
        (node,) = there.nodes
        commands = there.collect(Float64MultiArray, "effort_controller/commands", STATE_IN)
        to_states = there.node.create_publisher(JointState, "joint_states", 10)
        there.until(lambda: to_states.get_subscription_count() == 1)
        t = [there.node.get_clock().now().nanoseconds * 1e-9]

        def state(q):
            t[0] += 0.002
            message = JointState(
                name=list(MODEL.joint_names), position=list(q), velocity=7 * [0.0]
            )
            message.header.stamp.sec = int(t[0])
            message.header.stamp.nanosec = int(t[0] % 1 * 1e9)
            to_states.publish(message)
            there.run(0.002)

        for _ in range(20):
            state(START)
        node.arm.follow(joint_move(START, np.array(START) + 0.5, duration=2.0))
        for k in range(10):
            state(np.array(START) + 1e-5 * k)
        for _ in range(20):
            state([np.nan, *START[1:]])
        assert node.arm.mode is Mode.SAFE_HOLD
        assert "joint_1" in node.arm.reason
        assert np.isfinite([list(c.data) for c in commands]).all()


def test_in_lockstep_a_lost_command_is_sent_again():
    """Once the plant has repeated its state twice: before, the command may be on its way."""
    args = [*ARGS, "-p", "lockstep:=true"]
    with bench(SimulatorNode, ControllerNode, args=args) as there:
        simulator, node = there.nodes
        sent = []
        node.to_command.local.append(lambda message: sent.append(list(message.data)))
        node.poll_graph = lambda: None  # as before it has found the plant: nothing leaves
        simulator.publish_state()
        state = simulator.states.message
        t = seconds(state.header.stamp)
        for _ in range(4):
            node.receive("/clock", simulator.clock_message)
            node.receive("joint_states", state)
            assert sent == []  # there is no verdict yet
        verdict = rd.Verdict(t, rd.Level.CLEAR, np.zeros(7))
        message = collision_state(verdict, "test", rd.Level.CLEAR)
        node.receive("dynamics_node/collision_state", message)
        assert len(sent) == 1
        node.receive("joint_states", state)
        assert len(sent) == 1
        node.receive("joint_states", state)
        assert len(sent) == 2 and sent[0] == sent[1]
        node.receive("joint_states", state)
        assert len(sent) == 2  # and again only after two more


def test_a_payload_is_put_down_under_every_law_that_was_accepted():
    """A pid law so slow that it fits the loaded arm alone is refused: it could be unloaded."""
    held = ["payload.mass:=5.0", "payload.com:=[0.0, 0.0, 0.3]"]
    args = [x for value in held for x in ("-p", value)]
    with bench(ControllerNode, args=["-p", "robot.name:=lwr_iii", *args]) as there:
        (node,) = there.nodes
        assert node.payload is not None
        slow = there.set(node, arm__controller="pid", arm__frequency=[1.5])
        assert not slow.successful and "viscous friction" in slow.reason
        assert there.set(node, arm__controller="pid", arm__frequency=[15.0]).successful
        assert there.set(node, payload__mass=0.0).successful
        assert node.payload is None and node.settings.arm.controller == "pid"
