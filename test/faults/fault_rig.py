"""Plant, detector and controller as real nodes; the rig passes on, changes or drops each message.

Nothing is spun and nothing waits: time is simulated and advances with `step`. Every message of the
nodes is checked: finite, within the limits, and never CLEAR on bad data.
"""

import os
from dataclasses import dataclass

import numpy as np
import pytest

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
rclpy = pytest.importorskip("rclpy", reason="ROS 2 is not installed: pip install '.[ros]'")

from rclpy.parameter import Parameter  # noqa: E402
from rclpy.signals import SignalHandlerOptions  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from source_tree import own_domain  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from robodyn_ros.control.arm_controller import FOLLOWING, Mode  # noqa: E402
from robodyn_ros.nodes.codec import (  # noqa: E402
    read_collision_state,
    read_controller_state,
    read_fault_state,
    seconds,
    set_stamp,
    trajectory_message,
)
from robodyn_ros.nodes.controller_node import ControllerNode  # noqa: E402
from robodyn_ros.nodes.demo_node import POINT_SPACING  # noqa: E402
from robodyn_ros.nodes.demo_trajectory import DemoTrajectory  # noqa: E402
from robodyn_ros.nodes.dynamics_node import DynamicsNode  # noqa: E402
from robodyn_ros.nodes.simulator_node import SimulatorNode  # noqa: E402
from robodyn_ros.nodes.state_node import WATCHDOG_PERIOD  # noqa: E402
from robodyn_ros.trajectory.trajectory_msg import to_points  # noqa: E402

STATES, COMMANDS = "joint_states", "effort_controller/commands"
VERDICTS, PAYLOADS = "dynamics_node/collision_state", "dynamics_node/payload"
START = [0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5]
FIELDS = ("position", "velocity", "effort")
LEVELS = ("UNKNOWN", "CLEAR", "CONTACT", "COLLISION")
TOUCHED = {"CONTACT", "COLLISION"}
UNKNOWN_AFTER = 3  # bad messages in a row
SAFE_AFTER = 0.025  # [s] of bad messages: 20 ms, and the two periods before and after them
SILENT_AFTER = 0.027  # [s] without messages: 20 ms, one period, and the watchdog's 5 ms
NORMAL_AFTER, STAYS = 1.0, 0.2  # [s] to recover in, and for which it must last
INSTANT = 1e-6  # [s]: commands closer together count as simultaneous


class Recorder:
    """A logger that records warnings: (time [s], text)."""

    def __init__(self, rig):
        self.rig, self.warnings = rig, []

    def warning(self, text):
        self.warnings.append((self.rig.wall, text))

    def info(self, text):
        pass

    error = warning


class Rig:
    """The three nodes. `states` and `commands`, if set, turn each message into those that arrive.

    bad: number of latest messages in a row that the test made bad.
    """

    def __init__(
        self,
        rate=500.0,
        robot="lwr_iii",
        urdf="",
        motion="demo",
        demo_speed=0.3,
        **parameters,
    ):
        self.dt, self.now, self.wall, self.bad = 1.0 / rate, 1000.0, 0.0, 0
        self.pace = 1.0  # seconds of the nodes' clock per second of wall time
        self.level = ""  # of the detector's last verdict
        given = {"robot.name": "" if urdf else robot, "robot.urdf": urdf, "rate": rate}
        given |= {"plant.start": START}
        given |= {name.replace("__", "."): value for name, value in parameters.items()}
        arguments = [x for name, value in given.items() for x in ("-p", f"{name}:={_text(value)}")]
        rclpy.init(
            args=["--ros-args", "--log-level", "fatal", *arguments],
            domain_id=own_domain(),
            signal_handler_options=SignalHandlerOptions.NO,
        )
        self.states = self.commands = None
        self.lose_states = False  # whether joint states are lost on their way
        self.lose_verdicts = False  # whether the detector's messages are
        self.forget()
        self.plant_node = self._adopt(SimulatorNode())
        self.plant_node.restart()
        self.detector, self.controller = self._adopt(DynamicsNode()), None
        self.controller = self._adopt(ControllerNode())
        self.model = self.controller.robot
        self.moves = motion == "demo"
        self.demo = DemoTrajectory(self.model, demo_speed)
        self._listen()

    def forget(self):
        """Clear all records."""
        self.residuals, self.torques, self.reports, self.modes = [], [], [], []
        self.faults = []  # (time [s], FaultReport) on ~/fault
        self.forget_commands()

    def forget_commands(self):
        """Forget the last commands: the clock was set, or another controller follows."""
        self.tau, self.given_at = None, None  # last command, and its time
        self.tau_before, self.given_before = None, None  # and the one before

    def close(self):
        for node in (self.plant_node, self.detector, self.controller):
            node.destroy_node()
        rclpy.try_shutdown()

    def _adopt(self, node):
        """Give a node the rig's clocks; record its log and diagnostics."""
        node.now, node.wall = lambda: self.now, lambda: self.wall
        node.log, node.diagnosed = Recorder(self), []
        node.get_logger = lambda: node.log
        publish = node.publish_diagnostics

        def diagnose():
            wrong, _ = node.health()
            node.diagnosed.append(wrong or node.last_warning or "running")
            publish()

        node.publish_diagnostics = diagnose
        return node

    def _listen(self):
        """Subscribe to the nodes' topics, by plain calls."""
        plant, detector, controller = self.plant_node, self.detector, self.controller
        for publisher, callback in (
            (plant.to_states, self._measured),
            (controller.to_command, self._commanded),
            (controller.to_state, self._controller_state),
            (controller.to_reference, self._referred),
            (detector.to_residual, self._residual),
            (detector.to_wrench, self._wrench),
            (detector.to_state, self._word),
            (detector.to_flag, lambda flag: None),
            (detector.to_fault, self._named),
            (detector.to_payload, self._carried),
        ):
            publisher.local[:] = [callback]

    def replace_detector(self):
        """Replace the detector by a new one."""
        self.detector.destroy_node()
        self.detector = self._adopt(DynamicsNode())
        self._listen()

    def replace_controller(self):
        """Replace the controller by a new one, which receives the latched verdict."""
        self.controller.destroy_node()
        self.controller = self._adopt(ControllerNode())
        self.forget_commands()
        self._listen()
        if self.reports:
            self.controller.receive(VERDICTS, self.reports[-1][2])

    # messages

    def _measured(self, message):
        if self.lose_states:
            return
        arriving = [message] if self.states is None else self.states(copied(message))
        for one in arriving:
            self.deliver(one)

    def deliver(self, message):
        """Pass a joint state to detector and controller."""
        self.detector.receive(STATES, message)
        if self.bad >= UNKNOWN_AFTER:
            assert self.level != "CLEAR", "CLEAR on bad data"
        self.controller.receive(STATES, message)
        self._send_trajectory()

    def _send_trajectory(self):
        """Send the next trajectory when the controller holds the arm, as demo_node does."""
        if not self.moves:
            return
        if self.demo.needs_position(self.now):
            self.demo.on_position(self.controller.arm.reference.q)
        move = self.demo.next(self.now)
        if move is not None:
            points = to_points(move, POINT_SPACING, self.model.joint_names)
            self.controller.receive("~/joint_trajectory", trajectory_message(*points))

    def _controller_state(self, message):
        self.demo.on_controller(*read_controller_state(message))

    def _commanded(self, message):
        tau = np.array(message.data)
        self.check_torque(tau)
        self.torques.append((self.now, tau))
        arriving = [message] if self.commands is None else self.commands(message)
        for one in arriving:
            self.obey(one)

    def obey(self, message):
        """Pass a command to detector and plant."""
        self.detector.receive(COMMANDS, message)
        self.plant_node.receive(COMMANDS, message)

    def check_torque(self, tau):
        """Check that a torque is finite, within the limits and within the rate limit. Simultaneous
        commands share the time since the one before.
        """
        assert np.isfinite(tau).all()
        assert (np.abs(tau) <= self.model.tau_max + 1e-9).all()
        if self.given_at is None or abs(self.now - self.given_at) > INSTANT:
            self.tau_before, self.given_before = self.tau, self.given_at
        if self.tau_before is not None:
            elapsed = max(self.now - self.given_before, 0.0)
            rate = np.array(self.controller.settings.arm.tau_rate_max)
            step = np.abs(tau - self.tau_before)
            assert (step <= rate * elapsed + 1e-6).all(), (step, elapsed)
        self.tau, self.given_at = tau, self.now

    def _referred(self, message):
        for field in FIELDS:
            assert np.isfinite(getattr(message, field)).all()

    def _residual(self, message):
        r = np.array(message.effort)
        assert np.isfinite(r).all()
        self.residuals.append((seconds(message.header.stamp), r))
        if not self.lose_verdicts:
            self.controller.receive("dynamics_node/residual", message)

    def _wrench(self, message):
        force, torque = message.wrench.force, message.wrench.torque
        numbers = [force.x, force.y, force.z, torque.x, torque.y, torque.z]
        assert np.isfinite(numbers).all()

    def _word(self, message):
        verdict = read_collision_state(message)
        self.level = verdict.level.name
        self.reports.append((self.now, self.level, message, verdict.cause))
        if not self.lose_verdicts:
            self.controller.receive(VERDICTS, message)

    def _named(self, message):
        (fault,) = read_fault_state(message)
        self.faults.append((self.now, fault))

    def _carried(self, message):
        self.controller.receive(PAYLOADS, message)

    # time

    def step(self, dt=None):
        """Step the plant by a period, or by dt [s], and publish its joint state."""
        for _ in range(round((dt or self.dt) / self.plant_node.dt)):
            self.pass_time(self.plant_node.dt)
            self.plant_node.step()
        self.plant_node.publish_state()
        self.modes.append((self.now, self.mode))

    def pass_time(self, dt):
        """Let dt [s] pass without messages; the watchdogs run."""
        end = self.now + dt
        self.pass_wall(dt / self.pace)
        self.now = end

    def pass_wall(self, seconds):
        """Let wall time [s] pass without messages; the watchdogs run."""
        end = self.wall + seconds
        watchers = self.detector, self.controller
        watching = [(WATCHDOG_PERIOD, node.watchdog) for node in watchers]
        watching.append((1.0, self._diagnose))
        due = [
            (k * every, act)
            for every, act in watching
            for k in range(int(self.wall / every + 1e-6) + 1, int(end / every + 1e-6) + 1)
        ]
        for t, act in sorted(due, key=lambda look: look[0]):
            self._pass_to(t)
            act()
            self.modes.append((self.now, self.mode))
        self._pass_to(end)

    def _pass_to(self, wall):
        self.now += self.pace * (wall - self.wall)
        self.wall = wall

    def _diagnose(self):
        for node in (self.plant_node, self.detector, self.controller):
            node.publish_diagnostics()

    def run(self, simulated, until=lambda: False, dt=None):
        """Run for this time [s] or until the condition holds; return whether it does."""
        for _ in range(round(simulated / (dt or self.dt))):
            self.step(dt)
            if until():
                return True
        return False

    # state

    @property
    def mode(self):
        return self.controller.arm.mode

    @property
    def reason(self):
        return self.reports[-1][3]

    @property
    def levels(self):
        return {word[1] for word in self.reports}

    def warnings(self, *nodes):
        """Return all warnings and diagnostics of these nodes, by default of all."""
        nodes = nodes or (self.plant_node, self.detector, self.controller)
        for node in nodes:
            node.publish_diagnostics()
        return [text for node in nodes for _, text in node.log.warnings] + [
            text for node in nodes for text in node.diagnosed
        ]

    def normal(self):
        """Return whether the state is CLEAR and the arm follows its trajectory."""
        return self.level == "CLEAR" and self.mode in FOLLOWING

    def clear(self):
        """Call the controller's `clear`; return the response."""
        return self.controller.clear(Trigger.Request(), Trigger.Response())

    def accept_payload(self):
        """Call the detector's `accept_payload`; return the response."""
        return self.detector._accept_payload(Trigger.Request(), Trigger.Response())

    def set(self, node, **values):
        """Set parameters, dots written as __; return the result."""
        named = [Parameter(name.replace("__", "."), value=v) for name, v in values.items()]
        return node.set_parameters_atomically(named)

    # assertions

    def run_normally(self):
        """Run half a second of motion without a fault."""
        self.run(0.5)
        assert self.normal() and self.mode is Mode.TRACKING
        for node in (self.plant_node, self.detector, self.controller):
            node.log.warnings.clear()
        self.begun_at = self.now

    def expect_recovery(self, touched=False):
        """Expect normal operation within a second after the last bad input, once the safe hold is
        cleared, and that it lasts. No contact is reported meanwhile, unless the arm was touched.
        """
        self.states = self.commands = None
        self.bad = 0
        begun, heard = self.now, len(self.reports)
        while not self.normal():
            self.clear()
            self.step()
            assert self.now - begun < NORMAL_AFTER, (self.level, self.mode, self.reason)
        self.run(STAYS)
        assert self.normal(), (self.level, self.mode, self.reason, self.controller.arm.reason)
        told = [(t - begun, level) for t, level, *_ in self.reports[heard:] if level in TOUCHED]
        assert touched or not told, told[0]
        assert not np.isnan(self.plant_node.plant.state.q).any()

    def expect_no_contact(self):
        """Expect that no contact was reported and the arm did not react."""
        assert not self.levels & TOUCHED, self.levels
        assert all(mode is not Mode.REACTING for _, mode in self.modes)

    def expect_warnings(self, *texts):
        """Expect these texts in log or /diagnostics, and no warning twice within a second."""
        said = self.warnings()
        for text in texts:
            assert any(text in one for one in said), (text, said)
        for node in (self.plant_node, self.detector, self.controller):
            last = {}
            for t, text in node.log.warnings:
                about = text.partition(":")[0]
                assert t - last.get(about, -np.inf) >= 1.0 - 1e-6, text
                last[about] = t

    def expect_safe_hold_within(self, within=SAFE_AFTER):
        """Expect a safe hold within this time [s] after the fault began, and that it lasted."""
        modes = [(t - self.begun_at, mode) for t, mode in self.modes if t > self.begun_at]
        safe = [t for t, mode in modes if mode is Mode.SAFE_HOLD]
        assert safe, f"no safe hold: {self.mode}"
        assert safe[0] <= within + 1e-9, safe[0]
        assert all(mode is Mode.SAFE_HOLD for t, mode in modes if t > safe[0])


@dataclass(frozen=True)
class Case:
    """One row of the matrix, or a variant of it."""

    row: int
    name: str
    required: str  # the reaction, by its letter in docs/reliability.md
    play: object  # function that injects the fault and checks the reaction

    def __str__(self):
        return f"{self.row:02d} {self.name}"


def cases(*rows):
    """Return the decorator of the test that plays these cases."""
    return pytest.mark.parametrize("case", rows, ids=str)


def rig_of(**parameters):
    """Return a rig that is closed in the end: `with rig_of() as rig`."""
    return _Closing(parameters)


class _Closing:
    def __init__(self, parameters):
        self.parameters = parameters

    def __enter__(self):
        self.rig = Rig(**self.parameters)
        return self.rig

    def __exit__(self, *_):
        self.rig.close()


def copied(message, t=None):
    """Return a copy of a joint state, at another time [s] if given."""
    other = JointState(name=list(message.name))
    for field in FIELDS:
        setattr(other, field, list(getattr(message, field)))
    set_stamp(other.header.stamp, seconds(message.header.stamp) if t is None else t)
    return other


def command(tau):
    """Return a command of these torques."""
    return Float64MultiArray(data=[float(x) for x in tau])


def _text(value):
    if isinstance(value, str):
        return value or '""'
    return str(value).lower() if isinstance(value, bool) else str(value)
