"""Rows 9 and 28 to 32 in simulated time: dead nodes, clocks, queues, contact at the start."""

import array
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from unittest import mock

import numpy as np
from fault_processes import memory_of
from fault_rig import SILENT_AFTER, Case, cases, copied, rig_of, set_stamp
from node_calls import call_service, fire_timer
from ros_harness import bench

from diagnostic_msgs.msg import DiagnosticArray  # isort: skip
from rclpy.qos import QoSProfile, ReliabilityPolicy  # isort: skip
from sensor_msgs.msg import JointState  # isort: skip
from std_msgs.msg import Bool, Float64MultiArray  # isort: skip
from trajectory_msgs.msg import JointTrajectory  # isort: skip

from robodyn_ros.control.arm_controller import FOLLOWING, Mode  # isort: skip
from robodyn_ros.nodes.controller_node import ControllerNode  # isort: skip
from robodyn_ros.nodes.dynamics_node import DynamicsNode  # isort: skip
from robodyn_ros.nodes.runtime import LATCHED, STATE_OUT  # isort: skip
from robodyn_ros.nodes.simulator_node import SimulatorNode  # isort: skip

ELSEWHERE = [0.5, -0.2, 0.0, 0.9, 0.0, -0.3, 0.2]

# row 28


def detector_dies():
    with rig_of() as rig:
        rig.run_normally()
        rig.lose_verdicts = True
        rig.run(0.1)
        rig.expect_safe_hold_within(SILENT_AFTER)
        rig.expect_warnings("no verdict of the detector")
        rig.lose_verdicts = False
        rig.replace_detector()
        rig.expect_recovery()


def plant_dies(pace=1.0, **parameters):
    """UNKNOWN and a safe hold after 20 ms, in simulated time as well, however slow that is."""

    def play():
        with rig_of(**parameters) as rig:
            rig.pace = pace
            rig.run_normally()
            rig.run(0.2)
            assert rig.normal() and rig.mode is Mode.TRACKING  # slow is no fault
            rig.begun_at = rig.now
            rig.modes.clear()
            rig.lose_states = True
            assert rig.run(0.1, lambda: rig.level == "UNKNOWN")
            assert rig.now - rig.begun_at <= SILENT_AFTER + 1e-9
            rig.run(0.1)
            rig.expect_safe_hold_within(SILENT_AFTER)
            rig.expect_warnings("nothing received on")
            rig.lose_states = False
            rig.expect_recovery()
            rig.expect_no_contact()

    return play


def controller_dies():
    """The plant brakes and the state is UNKNOWN 20 ms after the last command."""
    with rig_of() as rig:
        rig.run_normally()
        rig.controller.receive = lambda topic, message: None
        rig.controller.watchdog = lambda: None
        rig.run(0.026)
        assert rig.plant_node.braked and rig.level == "UNKNOWN"
        assert rig.now - rig.begun_at <= SILENT_AFTER
        rig.run(0.3)
        rig.replace_controller()
        rig.run(0.05)
        assert rig.mode is Mode.SAFE_HOLD or np.abs(rig.plant_node.plant.state.qd).max() < 0.1
        rig.expect_recovery()


def controller_stays_blind():
    """It commands for a second, then stops: the plant brakes. No torque step."""
    with rig_of() as rig:
        rig.run_normally()
        rig.lose_states = True
        rig.run(0.9)
        assert rig.mode is Mode.SAFE_HOLD and not rig.plant_node.braked
        rig.run(0.2)
        given = len(rig.torques)
        rig.run(0.5)
        assert len(rig.torques) == given and rig.plant_node.braked
        rig.lose_states = False
        rig.expect_recovery()
        rig.expect_no_contact()


# row 29


def begins_anew(change):
    """The observer restarts, no contact is reported, and the arm moves on."""

    def play():
        with rig_of() as rig:
            rig.run_normally()
            rig.reports.clear()
            change(rig)
            rig.run(0.05)
            assert rig.level == "UNKNOWN"
            rig.expect_recovery()
            assert rig.levels == {"UNKNOWN", "CLEAR"}

    return play


def reset(rig):
    call_service(rig.plant_node, "reset")


def teleport(rig):
    rig.plant_node.plant.reset(q=ELSEWHERE)
    rig.plant_node.start = rig.now


def clock_back(seconds):
    def change(rig):
        rig.now -= seconds
        rig.plant_node.start -= seconds
        rig.forget_commands()  # of another time

    return change


def clock_back_and_deaf():
    """The clock is set back and joint states stop: silence counts from then on."""
    with rig_of() as rig:
        rig.run_normally()
        clock_back(10.0)(rig)
        rig.begun_at, rig.lose_states = rig.now, True
        rig.modes.clear()
        rig.run(1.5)
        rig.expect_safe_hold_within(2.0 * SILENT_AFTER)  # silence counts from when that is noticed
        assert rig.level == "UNKNOWN" and rig.plant_node.braked
        rig.lose_states = False
        rig.expect_recovery()


def clock_of_the_plant_back():
    """The plant's own timer continues in the new time."""
    with rig_of() as rig:
        rig.run_normally()
        before = rig.plant_node.plant.state.t
        rig.now -= 3600.0
        rig.forget_commands()  # of another time
        for _ in range(100):
            rig.pass_time(rig.dt)
            fire_timer(rig.plant_node, rig.dt)
        assert rig.plant_node.plant.state.t - before > 0.15
        rig.expect_warnings("the clock was set back: by 3599.99")
        rig.expect_recovery()


def clock_stands_still(motion):
    """/clock stops: after a second of wall time the state is UNKNOWN and a moving arm in a safe
    hold; a second later commands stop.
    """

    def play():
        with rig_of(use_sim_time=True, motion=motion) as rig:
            rig.run(0.5)
            assert rig.normal()
            rig.reports.clear()
            rig.pace = 0.0
            rig.pass_wall(0.9)
            assert rig.normal()  # it may just be slow
            rig.pass_wall(0.2)
            assert rig.level == "UNKNOWN" and "nothing received on" in rig.reason
            assert rig.mode is (Mode.SAFE_HOLD if motion == "demo" else Mode.HOLDING)
            rig.pass_wall(1.0)
            commands = len(rig.torques)
            rig.pass_wall(2.0)
            assert len(rig.torques) == commands
            rig.expect_warnings("nothing received on")
            rig.pace = 1.0
            rig.run(0.3)
            assert rig.mode is (Mode.SAFE_HOLD if motion == "demo" else Mode.HOLDING)  # latched
            rig.expect_recovery()
            rig.expect_no_contact()

    return play


def clock_is_slow():
    """Simulated time at a tenth of its speed: normal operation."""
    with rig_of(use_sim_time=True) as rig:
        rig.pace = 0.1
        rig.run_normally()
        rig.reports.clear()
        rig.run(0.5)
        assert rig.levels == {"CLEAR"} and rig.mode is Mode.TRACKING


def clock_ten_times_as_fast():
    with rig_of() as rig:
        rig.run_normally()
        for _ in range(100):
            rig.now += 9.0 * rig.dt
            rig.forget_commands()  # rates in such a time mean nothing
            rig.step()
        assert rig.level == "UNKNOWN" and rig.mode is Mode.SAFE_HOLD
        rig.expect_warnings("s old")
        rig.now = rig.plant_node.start + rig.plant_node.plant.state.t
        rig.forget_commands()
        rig.expect_recovery()
        rig.expect_no_contact()


# row 30


def peers(reliability):
    """Publishers and subscribers of either kind connect, and who comes late is told at once."""

    def play():
        qos = QoSProfile(depth=10, reliability=reliability)
        given = ("robot.name:=lwr_iii", "effort.source:=joint_states")
        args = [*(x for one in given for x in ("-p", one)), "--log-level", "fatal"]
        with bench(SimulatorNode, DynamicsNode, args=args) as there:
            detector = there.nodes[1]
            there.until(lambda: detector.last_state is not None)
            residuals = there.collect(JointState, "dynamics_node/residual", qos)
            there.until(lambda: len(residuals) > 5)
            publisher = there.node.create_publisher(JointState, "joint_states", qos)
            there.until(lambda: publisher.get_subscription_count() == 1)
            words = there.collect(DiagnosticArray, "dynamics_node/collision_state", LATCHED)
            flags = there.collect(Bool, "dynamics_node/collision", LATCHED)
            there.until(lambda: words and flags, 1.0)

    return play


def incompatible():
    """A best-effort publisher of trajectories cannot be heard: the node says why."""
    args = ["-p", "robot.name:=lwr_iii", "--log-level", "info"]
    with errors_kept() as said, bench(ControllerNode, args=args) as there:
        qos = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
        there.node.create_publisher(JointTrajectory, "controller_node/joint_trajectory", qos)
        there.until(lambda: "incompatible QoS" in said() and "RELIABILITY" in said())


@contextmanager
def errors_kept():
    """What the process writes to standard error, also from below Python."""
    sys.stderr.flush()
    before = os.dup(2)
    with tempfile.TemporaryFile() as kept:
        os.dup2(kept.fileno(), 2)
        try:
            yield lambda: os.pread(kept.fileno(), 100_000, 0).decode()
        finally:
            os.dup2(before, 2)
            os.close(before)


# row 9


def burst_on_the_wire():
    """A thousand stale messages through the middleware; what comes after them is answered soon."""
    args = ["-p", "robot.name:=lwr_iii", "-p", "sensing.stamps:=header", "--log-level", "fatal"]
    with bench(SimulatorNode, ControllerNode, args=args) as there:
        plant, controller = there.nodes
        there.until(lambda: controller.statistics.samples > 100)
        talker = there.node.create_publisher(JointState, "joint_states", STATE_OUT)
        there.until(lambda: talker.get_subscription_count() == 1)
        late = []
        for _ in range(5):  # the best of them: the machine may be busy
            stale = copied(plant.states.message)
            set_stamp(stale.header.stamp, plant.now() - 2.0)
            for _ in range(1000):
                talker.publish(stale)
            sent, before = time.perf_counter(), controller.statistics.samples
            there.until(lambda before=before: controller.statistics.samples > before + 5)
            late.append(time.perf_counter() - sent)
        assert min(late) < 0.1, late


# row 31


def bounded_queue():
    """For a reliable subscriber that stands still as many messages are kept as the queue holds."""
    with mock.patch.dict(os.environ, {"ROS_DOMAIN_ID": "0"}), bench() as there:
        os.environ["ROS_DOMAIN_ID"] = str(there.node.context.get_domain_id())
        talker = there.node.create_publisher(Float64MultiArray, "large", STATE_OUT)
        slow = subprocess.Popen([sys.executable, "-c", DEAF], stdout=subprocess.PIPE, text=True)
        try:
            there.until(lambda: talker.get_subscription_count() == 1)
            slow.send_signal(signal.SIGSTOP)
            message = Float64MultiArray(data=array.array("d", bytes(LARGE)))
            talker.publish(message)
            before = memory_of(os.getpid())
            for _ in range(200):
                talker.publish(message)
            kept = (memory_of(os.getpid()) - before) / LARGE
        finally:
            slow.kill()
            slow.wait()
    assert kept < 40, f"{kept:.0f} of 200 messages are kept"


DEAF = """
import rclpy
from std_msgs.msg import Float64MultiArray
rclpy.init()
node = rclpy.create_node("deaf")
node.create_subscription(Float64MultiArray, "large", lambda message: None, 10)
rclpy.spin(node)
"""
LARGE = 1_000_000  # bytes of a message


# row 32


def starts_in_contact():
    with rig_of(motion="hold") as rig:
        rig.plant_node.plant.push("link_5", (30.0, 30.0, 0.0), duration=2.0, shape="step")
        rig.run(0.05)
        assert rig.levels == {"UNKNOWN"}
        rig.run(0.5)
        assert rig.level in ("CONTACT", "COLLISION") and "CLEAR" not in rig.levels
        assert rig.mode is Mode.REACTING


def collided(rig):
    rig.run_normally()
    rig.plant_node.plant.push("link_5", (30.0, 30.0, 0.0), duration=0.3)
    assert rig.run(0.3, lambda: rig.mode is Mode.REACTING)


def detector_restarts_after_collision():
    """The controller keeps reacting until it is cleared."""
    with rig_of() as rig:
        collided(rig)
        rig.replace_detector()
        rig.reports.clear()
        rig.run(0.05)
        assert rig.levels == {"UNKNOWN"} and rig.mode is Mode.REACTING
        assert rig.run(1.0, lambda: rig.level == "CLEAR")
        rig.run(0.3)
        assert rig.mode is Mode.REACTING
        rig.expect_recovery()
        rig.run(1.0)  # the way back: the rig looks at every torque
        assert rig.normal()


def controller_restarts_after_collision():
    """During contact the latched verdict makes a new controller react at once."""
    with rig_of(motion="hold") as rig:
        rig.run(0.3)
        rig.plant_node.plant.push("link_5", (30.0, 30.0, 0.0), duration=1.0)
        assert rig.run(0.5, lambda: rig.level == "COLLISION")
        rig.run(0.1)
        rig.replace_controller()
        rig.run(3 * rig.dt)
        assert rig.mode is Mode.REACTING
        rig.run(1.5)
        assert rig.level == "CLEAR" and rig.mode is Mode.REACTING
        rig.expect_recovery()


def controller_restarts_in_motion():
    """Touched, and found in motion: once it has braked it waits, though the touch is over."""
    with rig_of() as rig:
        collided(rig)
        rig.replace_controller()
        assert np.abs(rig.plant_node.plant.state.qd).max() > 0.1
        assert rig.run(0.1, lambda: rig.mode is Mode.SAFE_HOLD)
        rig.plant_node.plant.pushes.clear()
        rig.run(1.0)
        assert rig.level == "CLEAR" and rig.mode in (Mode.SAFE_HOLD, Mode.REACTING)
        rig.expect_recovery()


def controller_restarts_long_after_collision():
    """The detector remembers the contact; `clear` is needed again, and there is no torque step."""
    with rig_of() as rig:
        collided(rig)
        assert rig.run(1.5, lambda: rig.level == "CLEAR")
        rig.run(0.3)
        rig.replace_controller()
        rig.run(0.5)
        assert rig.level == "CLEAR" and rig.mode is Mode.SAFE_HOLD
        assert rig.controller.arm.reason == "touched before this controller began"
        rig.expect_recovery()
        rig.run(1.0)  # on its way: the rig looks at every torque
        assert rig.normal()


def controller_waits_for_the_first_word():
    """The demo does not move the arm before the detector was heard."""
    with rig_of() as rig:
        rig.lose_verdicts = True
        rig.run(1.9)
        assert rig.mode is Mode.HOLDING
        rig.run(0.2)  # there seems to be no detector
        assert rig.mode is Mode.TRACKING
    with rig_of() as rig:
        assert rig.run(0.01, lambda: rig.mode is Mode.TRACKING)


def controller_restarts_after_reset():
    """A reset of the detector clears its memory of contacts."""
    with rig_of() as rig:
        collided(rig)
        assert rig.run(1.5, lambda: rig.level == "CLEAR")
        call_service(rig.detector, "reset")
        assert rig.run(1.0, lambda: rig.level == "CLEAR")
        rig.replace_controller()
        rig.run(0.3)
        assert rig.mode in FOLLOWING


CASES = [
    Case(28, "the plant dies", "S U", plant_dies()),
    Case(28, "the plant dies, in simulated time", "S U", plant_dies(use_sim_time=True)),
    Case(28, "the plant dies, in slow time", "S U", plant_dies(0.1, use_sim_time=True)),
    Case(28, "the detector dies", "S", detector_dies),
    Case(28, "the controller dies", "S U", controller_dies),
    Case(28, "the controller stays blind", "S", controller_stays_blind),
    Case(29, "simulator reset", "Z", begins_anew(reset)),
    Case(29, "teleport", "Z", begins_anew(teleport)),
    Case(29, "clock back by 10 s", "Z", begins_anew(clock_back(10.0))),
    Case(29, "clock back by 0.3 s", "Z", begins_anew(clock_back(0.3))),
    Case(29, "clock back, then deaf", "S U", clock_back_and_deaf),
    Case(29, "the plant's clock back by 1 h", "Z", clock_of_the_plant_back),
    Case(29, "clock stands still in motion", "U S", clock_stands_still("demo")),
    Case(29, "clock stands still at rest", "U", clock_stands_still("hold")),
    Case(29, "clock a tenth as fast", "none", clock_is_slow),
    Case(29, "clock ten times as fast", "U S", clock_ten_times_as_fast),
    Case(30, "reliable peers", "connects", peers(ReliabilityPolicy.RELIABLE)),
    Case(30, "best-effort peers", "connects", peers(ReliabilityPolicy.BEST_EFFORT)),
    Case(30, "incompatible peers", "says why", incompatible),
    Case(9, "1000 stale messages on the wire", "D", burst_on_the_wire),
    Case(31, "a stopped subscriber's queue", "bounded", bounded_queue),
    Case(32, "start inside a contact", "U", starts_in_contact),
    Case(32, "detector restarts", "latched", detector_restarts_after_collision),
    Case(32, "controller restarts", "latched", controller_restarts_after_collision),
    Case(32, "controller restarts in motion", "latched", controller_restarts_in_motion),
    Case(32, "later restart", "latched", controller_restarts_long_after_collision),
    Case(32, "restart after reset", "N", controller_restarts_after_reset),
    Case(32, "no word yet", "waits", controller_waits_for_the_first_word),
]


@cases(*CASES)
def test_nodes(case):
    case.play()
