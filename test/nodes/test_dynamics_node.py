"""dynamics_node with real publishers and subscribers."""

from functools import partial

import numpy as np
import pytest
from ros_harness import bench

import robodyn_ros as rd

from diagnostic_msgs.msg import DiagnosticArray  # isort: skip
from geometry_msgs.msg import WrenchStamped  # isort: skip
from builtin_interfaces.msg import Time  # isort: skip
from rosgraph_msgs.msg import Clock  # isort: skip
from sensor_msgs.msg import JointState  # isort: skip
from std_msgs.msg import Bool, Float64MultiArray, String  # isort: skip
from std_srvs.srv import Trigger  # isort: skip
from visualization_msgs.msg import Marker, MarkerArray  # isort: skip

from robodyn_ros.nodes import arm_node  # isort: skip
from robodyn_ros.nodes.dynamics_node import DynamicsNode  # isort: skip
from robodyn_ros.nodes.codec import read_collision_state, read_wrench, set_stamp  # isort: skip
from robodyn_ros.nodes.runtime import LATCHED, STATE_IN  # isort: skip

MODEL = rd.robots.planar_2r()
# In simulated time, which only the stamps tell: a busy machine leaves no gaps then
SIMULATED = ["-p", "use_sim_time:=true", "-p", "monitor.settling:=0.01"]
ARGS = ["-p", "robot.name:=planar_2r", *SIMULATED]
DT = 1e-3


class Arm:
    """An arm at rest that publishes joint states and can be pushed."""

    def __init__(self, there, q=(0.3, 0.4), effort=True, order=(0, 1)):
        self.there, self.q, self.order, self.effort = there, np.array(q), list(order), effort
        self.to_states = there.node.create_publisher(JointState, "joint_states", 10)
        self.to_command = there.node.create_publisher(
            Float64MultiArray, "effort_controller/commands", 10
        )
        self.g = rd.gravity_torque(MODEL, self.q)
        self.t = 100.0
        there.until(lambda: self.to_states.get_subscription_count() == 1)
        if there.nodes[0].settings.effort.source == "command":
            there.until(lambda: self.to_command.get_subscription_count() == 1)

    def stay(self, samples, push=(0.0, 0.0)):
        """At rest but for a tremble, the motors holding against a push that is not told."""
        for _ in range(samples):
            self.q = self.q + 1e-14
            tau = self.g - np.array(push)
            self.to_command.publish(Float64MultiArray(data=tau.tolist()))
            self.there.run(0.001)
            message = JointState()
            self.t += DT
            set_stamp(message.header.stamp, self.t)
            message.name = [MODEL.joint_names[k] for k in self.order]
            message.position = self.q[self.order].tolist()
            message.velocity = [0.0, 0.0]
            message.effort = tau[self.order].tolist() if self.effort else []
            self.to_states.publish(message)
            self.there.run(0.001)


def reports_of(there):
    """A list that fills with the detector's collision states."""
    found, topic = [], "dynamics_node/collision_state"

    def keep(message):
        found.append(read_collision_state(message))

    there.node.create_subscription(DiagnosticArray, topic, keep, LATCHED)
    return found


@pytest.fixture
def there():
    with bench(DynamicsNode, args=ARGS) as found:
        yield found


def test_a_push_is_felt_and_told(there):
    arm = Arm(there)
    residuals = there.collect(JointState, "dynamics_node/residual", STATE_IN)
    states = reports_of(there)
    flags = there.collect(Bool, "dynamics_node/collision", LATCHED)
    wrenches = there.collect(WrenchStamped, "dynamics_node/external_wrench", STATE_IN)
    arm.stay(100)
    there.until(lambda: states and states[-1].level is rd.Level.CLEAR)
    assert not flags[-1].data
    assert np.abs(residuals[-1].effort).max() < 1e-9
    arm.stay(150, push=(6.0, 5.0))
    there.until(lambda: states[-1].level is rd.Level.COLLISION)
    assert flags[-1].data
    assert list(residuals[-1].name) == list(MODEL.joint_names)
    np.testing.assert_allclose(residuals[-1].effort, [6.0, 5.0], rtol=0.05)
    assert states[-1].link == MODEL.link_names[1]
    assert states[-1].joints == ("joint_1", "joint_2")
    # Where along the link it is pushed is not known, and so is the force: it is not published
    assert {read_wrench(W)[2].any() for W in wrenches} == {np.False_}
    begun = next(state.t for state in states if state.level >= rd.Level.CONTACT)
    assert read_wrench(wrenches[-1])[0] < begun
    arm.stay(150)
    there.until(lambda: states[-1].level is rd.Level.CLEAR)
    assert not flags[-1].data


def test_the_force_on_a_chosen_link_is_told(there):
    assert there.set(there.nodes[0], monitor__wrench_link=MODEL.link_names[1]).successful
    arm = Arm(there)
    residuals = there.collect(JointState, "dynamics_node/residual", STATE_IN)
    wrenches = there.collect(WrenchStamped, "dynamics_node/external_wrench", STATE_IN)
    arm.stay(100)
    arm.stay(150, push=(6.0, 5.0))
    there.until(lambda: wrenches and read_wrench(wrenches[-1])[2].any())
    _, link, told = read_wrench(wrenches[-1])
    assert link == MODEL.link_names[1]
    expected = rd.external_wrench(MODEL, arm.q, np.array(residuals[-1].effort), link)
    assert np.linalg.norm(told[:3]) == pytest.approx(np.linalg.norm(expected[:3]), rel=0.1)


def test_joints_may_come_in_another_order(there):
    arm = Arm(there, order=(1, 0))
    residuals = there.collect(JointState, "dynamics_node/residual", STATE_IN)
    arm.stay(150, push=(3.0, 1.0))
    there.until(lambda: bool(residuals))
    np.testing.assert_allclose(residuals[-1].effort, [3.0, 1.0], rtol=0.05)


def test_without_torque_nothing_is_known():
    args = [*ARGS, "-p", "effort.source:=joint_states"]
    with bench(DynamicsNode, args=args) as there:
        states = reports_of(there)
        arm = Arm(there, effort=False)
        arm.stay(50)
        there.until(lambda: bool(states))
        assert {state.level for state in states} == {rd.Level.UNKNOWN}
        assert "no effort" in states[-1].cause
        arm.effort = True
        arm.stay(100)
        there.until(lambda: states[-1].level is rd.Level.CLEAR)


def test_silence_gives_unknown_and_says_why(there):
    states = reports_of(there)
    reports = there.collect(DiagnosticArray, "/diagnostics")
    Arm(there).stay(100)
    there.until(lambda: states and states[-1].level is rd.Level.UNKNOWN)
    assert "nothing received on" in states[-1].cause
    there.until(lambda: any("nothing received on" in r.status[0].message for r in reports))


def test_parameters_change_while_running_and_bad_ones_are_refused(there):
    (node,) = there.nodes
    arm = Arm(there)
    states = reports_of(there)
    residuals = there.collect(JointState, "dynamics_node/residual", STATE_IN)
    arm.stay(100, push=(1.0, 0.0))
    before = residuals[-1].effort[0]
    assert there.set(node, monitor__gain=[80.0, 60.0]).successful
    assert there.set(node, monitor__contact__base=1, monitor__collision__base=5.0).successful
    arm.stay(2, push=(1.0, 0.0))
    assert residuals[-1].effort[0] == pytest.approx(before, abs=0.02)  # nothing jumps
    assert states[-1].level is rd.Level.CLEAR
    arm.stay(100, push=(1.5, 0.0))
    there.until(lambda: states[-1].level is rd.Level.CONTACT)
    for bad, reason in (
        ({"monitor__gain": -1.0}, "gain"),
        ({"monitor__gain": [1.0, 2.0, 3.0]}, "one number or 2"),
        ({"monitor__gain": float("nan")}, "finite"),
        ({"monitor__contact__base": 9.0}, "below its contact"),
        ({"monitor__masked": ["elbow"]}, "elbow"),
        ({"effort__friction": True}, "type"),
        ({"effort__friction": "mine"}, "one of none, model"),
        ({"effort__gain": [1.0, 0.0]}, "not be 0"),
        ({"effort__offset": [1.0, 0.0, 0.0]}, "one number or 2"),
        ({"effort__source": "joint_states"}, "read-only"),
        ({"robot__friction__load": [0.1]}, "read-only"),
    ):
        result = there.set(node, **bad)
        assert not result.successful and reason in result.reason, (bad, result.reason)
    assert node.settings.monitor.gain == (80.0, 60.0)


def test_the_effort_is_turned_into_torque():
    """A current with the sign reversed and an offset; changed while it runs, too."""
    effort = ["effort.source:=joint_states", "effort.gain:=[-0.5, -2.0]", "effort.offset:=[3.0]"]
    with bench(DynamicsNode, args=[*ARGS, *(x for one in effort for x in ("-p", one))]) as there:
        arm, states = Arm(there), reports_of(there)
        residuals = there.collect(JointState, "dynamics_node/residual", STATE_IN)
        gravity = arm.g.copy()
        arm.g = (gravity + 3.0) / [-0.5, -2.0]
        arm.stay(100)
        there.until(lambda: states and states[-1].level is rd.Level.CLEAR)
        assert np.abs(residuals[-1].effort).max() < 1e-9
        node = there.nodes[0]
        assert there.set(node, effort__gain=[-1.0], effort__offset=0.0).successful
        arm.g = -gravity
        arm.stay(150)
        assert np.abs(residuals[-1].effort).max() < 0.1


def test_friction_of_the_joints_may_be_given():
    given = ["coulomb:=[0.5, 0.2]", "load:=[0.1]", "presliding:=0.0002", "offset:=[-0.3, 0.1]"]
    args = [x for one in given for x in ("-p", f"robot.friction.{one}")]
    with bench(DynamicsNode, args=[*ARGS, *args]) as there:
        model = there.nodes[0].robot
    np.testing.assert_array_equal(model.coulomb, [0.5, 0.2])
    np.testing.assert_array_equal(model.friction_offset, [-0.3, 0.1])
    np.testing.assert_array_equal(model.friction_load, [0.1, 0.1])
    np.testing.assert_array_equal(model.presliding, [2e-4, 2e-4])
    wrong = ["-p", "robot.friction.load:=[0.1, 0.2, 0.3]"]
    with (
        pytest.raises(rd.ArgumentError, match="friction_load"),
        bench(DynamicsNode, args=[*ARGS, *wrong]),
    ):
        pass


def test_an_old_file_is_refused_even_beside_the_new_name(tmp_path):
    path = tmp_path / "old.yaml"
    path.write_text("/**/dynamics_node:\n  ros__parameters:\n    effort: joint_states\n")
    for more in ([], ["-p", "effort.source:=joint_states"]):
        with (
            pytest.raises(rd.ArgumentError, match="effort is now effort.source"),
            bench(DynamicsNode, args=[*ARGS, "--params-file", str(path), *more]),
        ):
            pass


def test_reset_starts_the_observer_anew(there):
    arm = Arm(there)
    residuals = there.collect(JointState, "dynamics_node/residual", STATE_IN)
    arm.stay(100, push=(1.0, 0.0))
    answer = there.call(Trigger, "dynamics_node/reset")
    assert answer.success
    arm.stay(1)
    there.until(lambda: abs(residuals[-1].effort[0]) < 0.1)  # 0.95 or more without the reset


def test_the_robot_may_come_by_topic():
    with bench(DynamicsNode, args=SIMULATED) as there:
        (node,) = there.nodes
        assert node.robot is None
        described = there.node.create_publisher(String, "robot_description", LATCHED)
        described.publish(String(data=rd.to_urdf(MODEL)))
        there.until(lambda: node.robot is not None)
        assert node.robot.joint_names == MODEL.joint_names
        states = reports_of(there)
        Arm(there).stay(100)
        there.until(lambda: states and states[-1].level is rd.Level.CLEAR)


def test_an_arrow_shows_the_force_while_something_touches(there):
    assert there.set(there.nodes[0], monitor__wrench_link=MODEL.link_names[1]).successful
    arm = Arm(there)
    drawn = there.collect(MarkerArray, "dynamics_node/markers", STATE_IN)
    there.until(lambda: there.nodes[0].to_markers.wanted)
    arm.stay(100)
    assert {marker.markers[0].action for marker in drawn} == {Marker.DELETE}
    arm.stay(150, push=(6.0, 5.0))
    arrow = drawn[-1].markers[0]
    assert arrow.action == Marker.ADD and arrow.type == Marker.ARROW
    assert arrow.header.frame_id == MODEL.link_names[1]
    tail, head = arrow.points
    force = rd.external_wrench(MODEL, arm.q, [6.0, 5.0], MODEL.link_names[1])[:3]
    assert np.linalg.norm([tail.x, tail.y, tail.z]) == pytest.approx(
        0.01 * np.linalg.norm(force), rel=0.1
    )
    assert (head.x, head.y, head.z) == (0.0, 0.0, 0.0)


def test_arrows_come_also_after_time_went_back(there):
    arm, node = Arm(there), there.nodes[0]
    drawn = there.collect(MarkerArray, "dynamics_node/markers", STATE_IN)
    there.until(lambda: node.to_markers.wanted)
    node.last_marker_time = 1e6  # [s], of another time
    arm.stay(20)
    there.until(lambda: drawn)


def test_time_cannot_be_made_simulated_while_running(there):
    verdict = there.set(there.nodes[0], use_sim_time=False)
    assert not verdict.successful and "use_sim_time is fixed" in verdict.reason


def test_a_stall_of_the_process_is_no_silence_in_simulated_time():
    """Messages wait after it. Silence that lasts is told at the next look."""
    args = ["-p", "robot.name:=lwr_iii", "-p", "use_sim_time:=true"]
    with bench(DynamicsNode, args=args) as there:
        (node,) = there.nodes
        wall, told = 100.0, []
        node.wall, node.on_sample = lambda: wall, lambda sample: told.append(sample.status)
        clock = Clock()
        set_stamp(clock.clock, 10.0)
        node.receive("/clock", clock)
        state = JointState(name=list(node.robot.joint_names), position=7 * [0.1])
        state.velocity, state.effort = 7 * [0.0], 7 * [0.0]
        set_stamp(state.header.stamp, 10.0)
        node.receive("joint_states", state)
        node.watchdog()
        wall += 1.4
        node.watchdog()
        assert told == [rd.Status.RESTART]
        wall += 0.005
        node.watchdog()
        assert told == [rd.Status.RESTART, rd.Status.SILENT]


class Log:
    """A logger that keeps its lines."""

    def __init__(self):
        self.lines = []
        for severity in ("info", "warning", "error"):
            setattr(self, severity, partial(self._keep, severity))

    def _keep(self, severity, text):
        self.lines.append(f"{severity} {text}")


def test_the_log_tells_when_a_push_comes_and_goes_and_when_nothing_is_known(there, monkeypatch):
    """By calls, in a time of its own: a busy machine has no say in it."""
    (node,), log, t, q = there.nodes, Log(), 100.0, np.array([0.3, 0.4])
    monkeypatch.setattr(node, "get_logger", lambda: log)
    monkeypatch.setattr(node, "wall", lambda: t)
    message = JointState(name=list(MODEL.joint_names), velocity=[0.0, 0.0])
    for push, samples in (((0.0, 0.0), 300), ((6.0, 5.0), 150), ((0.0, 0.0), 600)):
        tau = rd.gravity_torque(MODEL, q) - np.array(push)
        for _ in range(samples):
            t, q = t + DT, q + 1e-14
            node.receive("effort_controller/commands", Float64MultiArray(data=tau.tolist()))
            set_stamp(message.header.stamp, t)
            message.position = q.tolist()
            node.receive("joint_states", message)
    for wait in (2.0, 0.005):  # a single look may come late after a stall of this process
        t += wait
        node.watchdog()
    clear, contact, collision, *link, over, unknown = log.lines
    assert clear == "info CLEAR: watching for contact"
    assert contact.startswith("warning CONTACT: ")
    assert collision.startswith("error COLLISION")
    assert len(link) <= 1
    assert over.startswith("info CLEAR after 0.") and " on link_2, " in over
    assert unknown == "warning UNKNOWN: nothing received on /joint_states for 2 s"


def test_a_node_that_gets_no_joint_states_says_so(there, monkeypatch):
    (node,) = there.nodes
    warned, start = [], node.wall()
    node.receive("/clock", Clock(clock=Time(sec=100)))
    monkeypatch.setattr(node, "warn_throttled", warned.append)
    for seconds in (1.0, 5.5, 6.5):
        monkeypatch.setattr(node, "wall", lambda seconds=seconds: start + seconds)
        node.publish_diagnostics()
    (text,) = warned
    assert text.startswith("joint_states: none accepted on /joint_states for ")
    monkeypatch.undo()
    Arm(there).stay(5)
    monkeypatch.setattr(node, "warn_throttled", warned.append)
    monkeypatch.setattr(node, "wall", lambda: start + 100.0)
    node.publish_diagnostics()
    assert len(warned) == 1


def test_simulated_time_without_a_clock_is_warned_of(there, monkeypatch):
    (node,) = there.nodes
    warned, start = [], node.wall()
    monkeypatch.setattr(node, "warn_throttled", warned.append)
    for seconds in (1.0, arm_node.CLOCK_TIMEOUT + 0.5, arm_node.CLOCK_TIMEOUT + 1.5):
        monkeypatch.setattr(node, "wall", lambda seconds=seconds: start + seconds)
        node.publish_diagnostics()
    (text,) = (text for text in warned if "use_sim_time" in text)
    assert "nothing received on /clock for " in text and "set use_sim_time to false" in text
    node.receive("/clock", Clock(clock=Time(sec=1)))
    monkeypatch.setattr(node, "wall", lambda: start + 100.0)
    node.publish_diagnostics()
    assert sum("use_sim_time" in text for text in warned) == 1
