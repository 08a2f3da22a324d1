"""guard_node with real action servers, services and topics: what is asked, what if it fails."""

import sys
import time
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from ros_harness import bench

import robodyn_ros as rd

pytest.importorskip("test_msgs", reason="test_msgs is not installed: pip install '.[test]'")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # isort: skip
from geometry_msgs.msg import WrenchStamped  # isort: skip
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse  # isort: skip
from rclpy.node import Node  # isort: skip
from sensor_msgs.msg import JointState  # isort: skip
from std_msgs.msg import Bool, Float64MultiArray, String  # isort: skip
from std_srvs.srv import SetBool, Trigger  # isort: skip
from test_msgs.action import Fibonacci  # isort: skip
from trajectory_msgs.msg import JointTrajectory  # isort: skip

from robodyn_ros.detection.verdict import Verdict  # isort: skip
from robodyn_ros.nodes import stop_means  # isort: skip
from robodyn_ros.nodes.codec import collision_state, fill_wrench  # isort: skip
from robodyn_ros.nodes.guard_node import GuardNode  # isort: skip
from robodyn_ros.nodes.runtime import LATCHED  # isort: skip

JOINTS = ("joint_1", "joint_2")
ACTION = "arm/follow"
CANCEL = {"kind": "cancel", "target": ACTION}


def args_of(means, **settings):
    """Return the arguments for a guard with these means, dots of parameters written as __."""
    names = ", ".join(means) or '""'
    given = {"robot.name": "planar_2r", "means.names": f"[{names}]"}
    given |= {name.replace("__", "."): value for name, value in settings.items()}
    for name, row in means.items():
        given |= {f"means.{name}.{key}": value for key, value in row.items()}
    return [x for name, value in given.items() for x in ("-p", f"{name}:={value}")]


class Detector:
    """Publishes verdicts as dynamics_node does."""

    def __init__(self, there):
        self.there = there
        topic = "dynamics_node/collision_state"
        self.to_state = there.node.create_publisher(DiagnosticArray, topic, LATCHED)
        topic = "dynamics_node/external_wrench"
        self.to_wrench = there.node.create_publisher(WrenchStamped, topic, 10)
        there.until(lambda: self.to_state.get_subscription_count() == 1)

    def tell(self, level, link="", force=0.0, joints=("joint_1",), **more):
        """Publish a verdict of now, and its wrench."""
        wrench = np.array([force, 0.0, 0.0, 0.0, 0.0, 0.0])
        level = rd.Level[level]
        verdict = Verdict(
            round(time.time(), 6), level, np.zeros(2), joints, link, wrench, link, **more
        )
        self.to_wrench.publish(fill_wrench(WrenchStamped(), verdict))
        self.to_state.publish(collision_state(verdict, "dynamics_node", level))
        self.there.run(0.002)

    def clear(self):
        """Tell that nothing touches, until the guard is armed or has its reason not to be."""
        guard = self.there.nodes[0].guard
        self.tell("CLEAR", joints=())
        self.there.until(lambda: guard.has_verdict)


class Driver:
    """A server of the action that a trajectory controller offers; its goals last."""

    def __init__(self, there, cancels=CancelResponse.ACCEPT, action=ACTION):
        self.there, self.handles = there, []
        self.server = ActionServer(
            there.node,
            Fibonacci,
            action,
            execute_callback=lambda handle: Fibonacci.Result(),
            goal_callback=lambda goal: GoalResponse.ACCEPT,
            handle_accepted_callback=self.handles.append,  # accepted, not executed
            cancel_callback=lambda handle: cancels,
        )
        self.client = ActionClient(there.node, Fibonacci, action)
        there.until(self.client.server_is_ready)

    def move(self):
        """Accept one more goal."""
        count = len(self.handles)
        self.client.send_goal_async(Fibonacci.Goal(order=3))
        self.there.until(lambda: len(self.handles) > count)
        self.there.run(0.05)  # the status reaches the guard

    @property
    def cancelled(self):
        return [handle.is_cancel_requested for handle in self.handles]


@pytest.fixture
def start(request, monkeypatch):
    """Return a function that starts a guard, and what is there."""
    opened = []

    def begin(means, **settings):
        settings = {"guard__silence": 60.0} | settings  # a busy machine tells no verdict in time
        found = bench(GuardNode, args=args_of(means, **settings))
        opened.append(found)
        there = found.__enter__()
        there.log, (guard,) = [], there.nodes
        for severity in ("info", "warning", "error"):
            keep = keeper(there.log, severity)
            monkeypatch.setattr(type(guard.get_logger()), severity, keep)
        return there, Detector(there)

    yield begin
    for found in opened:
        found.__exit__(None, None, None)


def keeper(log, severity):
    return lambda self, text, **_: log.append((severity, text))


def lines(there, severity):
    return [text for kind, text in there.log if kind == severity]


def last_stop(there):
    """Return how each request went, once all are finished."""
    (guard,) = there.nodes
    there.until(lambda: guard.stop is not None and guard.stop.finished)
    return {name: (request.done, request.failure) for name, request in guard.stop.requests.items()}


def test_goals_of_an_action_are_cancelled_and_it_is_logged_in_one_line(start):
    there, detector = start({"cancel": CANCEL})
    driver, armed = Driver(there), there.collect(Bool, "guard_node/armed", LATCHED)
    reports = there.collect(DiagnosticArray, "/diagnostics")
    detector.clear()
    there.until(lambda: armed and armed[-1].data)
    driver.move()
    driver.move()
    detector.tell("CONTACT", "link_1")
    assert not any(driver.cancelled)
    begun = time.time()
    detector.tell("COLLISION", "link_2", joints=JOINTS)
    there.until(lambda: all(driver.cancelled))
    assert last_stop(there) == {"cancel": ("2 goals are cancelled", "")}
    there.until(lambda: not armed[-1].data)
    assert lines(there, "warning") == [
        "STOP: COLLISION on link_2 (joint_1, joint_2); asked cancel"
    ]
    assert lines(there, "error") == []
    request = there.nodes[0].stop.requests["cancel"]
    assert 0.0 < request.after < request.answered < time.time() - begun + 0.01
    there.until(lambda: any(status_of(report, "by cancel") for report in reports))
    text = status_of(next(r for r in reports if status_of(r, "by cancel")), "by cancel")
    assert text == request.text()
    for _ in range(5):
        detector.tell("COLLISION", "link_2")
    assert len(lines(there, "warning")) == 1


def status_of(report, key):
    """Return a value of the guard's diagnostics, or None."""
    (status,) = report.status
    values = {item.key: item.value for item in status.values}
    return values.get(key) if status.name == "guard_node" else None


def test_an_action_without_goals_is_no_failure(start):
    there, detector = start({"cancel": CANCEL})
    Driver(there)
    detector.clear()
    detector.tell("COLLISION")
    assert last_stop(there) == {"cancel": ("no goal", "")}


def test_a_goal_that_rejects_its_end_is_noticed_and_the_next_means_tried(start):
    means = {"cancel": {**CANCEL, "next": "halt"}, "halt": {"kind": "trigger", "target": "halt"}}
    there, detector = start(means)
    driver, called = Driver(there, CancelResponse.REJECT), []
    there.node.create_service(Trigger, "halt", answering(called, True))
    there.run(0.1)
    driver.move()
    detector.clear()
    detector.tell("COLLISION", "link_2")
    there.until(lambda: called)
    assert last_stop(there) == {
        "cancel": ("", "rejected by 1 goal"),
        "halt": ("accepted: as told", ""),
    }
    assert lines(there, "error") == [
        "stop by cancel (arm/follow) failed: rejected by 1 goal; trying halt"
    ]


def answering(called, success):
    def answer(request, response):
        called.append(request)
        response.success, response.message = success, "as told"
        return response

    return answer


def test_all_means_are_asked_at_once(start):
    means = {
        "moveit": {"kind": "event"},
        "cancel": CANCEL,
        "halt": {"kind": "trigger", "target": "driver/halt"},
        "brake": {"kind": "set_bool", "target": "driver/brake", "value": "false"},
        "still": {"kind": "zero_velocity", "target": "velocity/commands"},
        "stay": {"kind": "hold_position", "target": "jtc/joint_trajectory", "time": 0.25},
    }
    there, detector = start(means)
    driver, halts, brakes = Driver(there), [], []
    events = there.collect(String, "trajectory_execution_event")
    velocities = there.collect(Float64MultiArray, "velocity/commands")
    held = there.collect(JointTrajectory, "jtc/joint_trajectory")
    there.node.create_service(Trigger, "driver/halt", answering(halts, True))
    there.node.create_service(SetBool, "driver/brake", answering(brakes, True))
    states = there.node.create_publisher(JointState, "joint_states", 10)
    there.until(lambda: states.get_subscription_count() == 1)
    driver.move()
    detector.clear()
    state = JointState(name=["gripper", *reversed(JOINTS)], position=[9.0, 0.2, 0.1])
    states.publish(state)
    there.until(lambda: there.nodes[0].positions.of(JOINTS) == [0.1, 0.2])
    detector.tell("COLLISION", "link_2")
    done = last_stop(there)
    assert {name: failure for name, (_, failure) in done.items()} == dict.fromkeys(means, "")
    there.until(lambda: all((events, driver.cancelled, velocities, held, halts, brakes)))
    assert [event.data for event in events] == ["stop"]
    assert not brakes[0].data
    assert list(velocities[0].data) == [0.0, 0.0]
    (point,) = held[0].points
    assert list(held[0].joint_names) == list(JOINTS)
    assert list(point.positions) == [0.1, 0.2] and list(point.velocities) == [0.0, 0.0]
    assert point.time_from_start.nanosec == 250_000_000
    assert done["moveit"] == ("sent to 1 subscriber", "")


def test_requests_that_are_refused_hang_or_find_no_one_are_errors_and_the_chain_goes_on(start):
    there, detector = start(
        {
            "absent": {"kind": "trigger", "target": "absent", "next": "refusing"},
            "refusing": {"kind": "trigger", "target": "refusing", "next": "hanging"},
            "hanging": {"kind": "trigger", "target": "hanging", "timeout": 0.1, "next": "last"},
            "last": {"kind": "event"},
        }
    )
    calls, events = [], there.collect(String, "trajectory_execution_event")
    reports = there.collect(DiagnosticArray, "/diagnostics")

    there.node.create_service(Trigger, "refusing", answering(calls, False))
    hung = Node("hung", use_global_arguments=False)  # never spun: as a driver in a deadlock
    hung.create_service(Trigger, "hanging", answering(calls, True))
    there.run(0.3)
    detector.clear()
    detector.tell("COLLISION")
    there.until(lambda: events)
    done = last_stop(there)
    assert done == {
        "absent": ("", "no service absent"),
        "refusing": ("", "refused: as told"),
        "hanging": ("", "no answer within 0.1 s"),
        "last": ("sent to 1 subscriber", ""),
    }
    assert len(calls) == 1
    told = lines(there, "error")
    assert [text.partition(" (")[0] for text in told] == [
        "stop by absent",
        "stop by refusing",
        "stop by hanging",
    ]
    there.until(lambda: any(r.status[0].level == DiagnosticStatus.ERROR for r in reports))
    failed = next(r for r in reports if r.status[0].level == DiagnosticStatus.ERROR)
    assert failed.status[0].message.startswith("stop failed: absent: no service")
    assert "requested after" in status_of(failed, "by hanging")
    hung.destroy_node()


def test_a_topic_without_subscribers_and_a_position_that_is_not_known_are_failures(start):
    there, detector = start(
        {
            "moveit": {"kind": "event"},
            "stay": {"kind": "hold_position", "target": "jtc/joint_trajectory"},
        }
    )
    there.collect(JointTrajectory, "jtc/joint_trajectory")
    detector.clear()
    detector.tell("COLLISION")
    done = last_stop(there)
    assert done["moveit"] == ("", "no subscriber on /trajectory_execution_event")
    assert done["stay"] == ("", "no position of joint_1, joint_2 on joint_states")


def test_old_positions_are_not_held():
    now = [10.0]
    seen = stop_means.LastPositions(lambda: now[0], 0.1)
    seen.on_joint_state(JointState(name=["a", "b"], position=[1.0, 2.0]))
    now[0] += 0.2
    seen.on_joint_state(JointState(name=["a"], position=[1.5]))
    assert seen.of(["a"]) == [1.5]
    assert seen.of(["a", "b"]) == "positions are 0.2 s old"


def test_it_is_armed_and_disarmed_by_a_service(start):
    there, detector = start({"moveit": {"kind": "event"}})
    events = there.collect(String, "trajectory_execution_event")
    armed = there.collect(Bool, "guard_node/armed", LATCHED)
    there.until(lambda: armed)
    assert not armed[-1].data  # no verdict yet
    detector.clear()
    there.until(lambda: armed[-1].data)
    assert there.call(SetBool, "guard_node/arm", SetBool.Request(data=False)).success
    there.until(lambda: not armed[-1].data)
    detector.tell("COLLISION", "link_2")
    there.run(0.05)
    assert events == []
    refused = there.call(SetBool, "guard_node/arm", SetBool.Request(data=True))
    assert not refused.success and "COLLISION on link_2" in refused.message
    detector.tell("CLEAR")
    assert there.call(SetBool, "guard_node/arm", SetBool.Request(data=True)).success
    there.until(lambda: armed[-1].data)
    detector.tell("COLLISION", "link_2")
    there.until(lambda: events)


def test_a_contact_that_a_task_expects_does_not_stop_it(start):
    there, detector = start(
        {"moveit": {"kind": "event"}},
        expect__link="link_1",
        expect__time=30.0,
        expect__naming_time=1.0,
        guard__rearm_after=0.05,
    )
    (node,) = there.nodes
    events = there.collect(String, "trajectory_execution_event")
    expect = there.node.create_publisher(WrenchStamped, "guard_node/expect", 10)
    there.until(lambda: expect.get_subscription_count() == 1)
    message = WrenchStamped()
    message.header.frame_id, message.wrench.force.z = "link_2", 30.0
    expect.publish(message)
    there.until(lambda: node.guard.expected.windows)
    there.until(lambda: detector.to_wrench.get_subscription_count() == 1)
    detector.clear()
    for _ in range(50):
        detector.tell("COLLISION", "link_2", force=25.0)
    there.run(0.1)
    assert events == []
    detector.tell("COLLISION", "link_2", force=35.0)
    there.until(lambda: events)
    assert "above the expected 30 N" in node.stop.reason
    message.header.frame_id = "no_such_link"
    expect.publish(message)
    there.until(lambda: any("no_such_link" in text for text in lines(there, "warning")))
    # by the service, as the parameters say, and closed again
    opened = there.call(SetBool, "guard_node/expect", SetBool.Request(data=True))
    assert opened.success and opened.message == "20 N on link_1 for 30 s"
    assert set(node.guard.expected.windows) == {"link_1", "link_2"}
    assert there.call(SetBool, "guard_node/expect", SetBool.Request(data=False)).success
    assert not node.guard.expected.windows
    there.until(lambda: detector.to_wrench.get_subscription_count() == 0)


def test_silence_of_the_detector_is_told_and_may_stop(start):
    there, detector = start(
        {"moveit": {"kind": "event"}},
        guard__silence=0.1,
        guard__unknown="act",
        guard__unknown_time=0.3,
    )
    events = there.collect(String, "trajectory_execution_event")
    armed = there.collect(Bool, "guard_node/armed", LATCHED)
    detector.clear()
    there.until(lambda: events)
    assert there.nodes[0].stop.reason.startswith("UNKNOWN for 0.3")
    there.until(lambda: not armed[-1].data)


def test_parameters_change_while_it_runs_and_bad_ones_are_refused(start):
    there, detector = start({"moveit": {"kind": "event"}})
    (node,), events = there.nodes, there.collect(String, "trajectory_execution_event")
    for bad, reason in (
        ({"guard__links": ["hand"]}, "guard.links: no hand"),
        ({"guard__level": "push"}, "one of contact"),
        ({"means__moveit__kind": "trigger"}, "read-only"),
    ):
        result = there.set(node, **bad)
        assert not result.successful and reason in result.reason
    assert there.set(node, guard__level="contact").successful
    detector.clear()
    detector.tell("CONTACT")
    there.until(lambda: events)


@pytest.mark.parametrize(
    ("means", "told"),
    [
        ({"a": {"kind": "cancel"}}, "means.a: target of a means of kind cancel is missing"),
        ({"a": {"kind": "event", "next": "b"}}, "means.a.next: no means 'b'"),
        (
            {"a": {"kind": "zero_velocity", "target": "x", "joints": "[wrist]"}},
            "means.a: no joint wrist",
        ),
        ({"a": {"kind": "switch", "deactivate": "[jtc]"}}, "means.a: .*controller_manager_msgs"),
    ],
)
def test_means_that_cannot_work_end_the_node(means, told, monkeypatch):
    monkeypatch.setitem(sys.modules, "controller_manager_msgs.srv", None)
    with pytest.raises(rd.ArgumentError, match=told), bench(GuardNode, args=args_of(means)):
        pass


def test_a_guard_without_means_says_so(start):
    there, _ = start({})
    assert any("means.names is empty" in text for text in lines(there, "error")) or (
        there.nodes[0].health()[0] == "means.names is empty: the guard can stop nothing"
    )
    assert there.nodes[0].problem_level == DiagnosticStatus.ERROR


def test_controllers_are_switched_where_the_messages_exist(monkeypatch):
    """With a stand-in for controller_manager_msgs, of which there is no wheel."""
    sent, module = [], ModuleType("controller_manager_msgs.srv")
    module.SwitchController = SimpleNamespace(Request=SimpleNamespace)
    monkeypatch.setitem(sys.modules, "controller_manager_msgs", ModuleType("x"))
    monkeypatch.setitem(sys.modules, "controller_manager_msgs.srv", module)

    class Client:
        srv_name = "/controller_manager/switch_controller"
        answer = SimpleNamespace(ok=True)

        def service_is_ready(self):
            return True

        def call_async(self, request):
            sent.append(request)
            return SimpleNamespace(add_done_callback=lambda f: f(None), result=lambda: self.answer)

    client, told = Client(), []
    asked = SimpleNamespace(create_client=lambda kind, name: told.append(name) or client)
    row = stop_means.MeansSettings(
        "switch", activate=("hold",), deactivate=("jtc", "servo"), timeout=1.5
    )
    means = stop_means.make_means(asked, row, JOINTS, lambda joints: [])
    results = []
    for ok in (True, False):
        client.answer.ok = ok
        assert means.send(lambda text, accepted: results.append((text, accepted))) == ""
    assert results == [("switched", True), ("refused", False)]
    assert told == ["controller_manager/switch_controller"]
    request = sent[0]
    assert request.activate_controllers == ["hold"]
    assert request.deactivate_controllers == ["jtc", "servo"]
    assert (request.strictness, request.activate_asap) == (2, True)
    assert (request.timeout.sec, request.timeout.nanosec) == (1, 500_000_000)
