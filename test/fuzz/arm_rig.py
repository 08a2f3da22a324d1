"""Plant, detector and controller as real nodes whose messages the test passes on.

Nothing is spun: time is simulated and advances when the rig says so. A case is cheap and
repeatable. Every message that a node publishes is checked; a violation is a `Finding`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

import rclpy  # noqa: E402
from fuzz_messages import OTHERS, Sent  # noqa: E402
from fuzz_tools import Verdict, expect  # noqa: E402
from node_calls import call_service, fire_timers  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.signals import SignalHandlerOptions  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from source_tree import own_domain  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402
from std_srvs.srv import SetBool  # noqa: E402

from robodyn_ros.control.arm_controller import Mode  # noqa: E402
from robodyn_ros.detection.detector import Level  # noqa: E402
from robodyn_ros.nodes.codec import read_collision_state, seconds, set_stamp  # noqa: E402
from robodyn_ros.nodes.controller_node import ControllerNode  # noqa: E402
from robodyn_ros.nodes.dynamics_node import DynamicsNode  # noqa: E402
from robodyn_ros.nodes.simulator_node import SimulatorNode  # noqa: E402

DT = 0.002  # [s] between joint states
VERDICTS = "dynamics_node/collision_state"
LOST = 3  # rejected joint states in a row after which the collision state is UNKNOWN
AS_IT_IS = "as it is"  # the unchanged joint state of the plant
SLACK = 0.005  # [s] by which the torque may be ahead of its rate: stamps and clock differ
SAFE = 0.1  # [s] without a valid sample after which a moving arm is in a safe hold
RECOVERY_STEPS = 500  # periods to recover in: a second
SLOW = 0.02  # [rad/s], speed of an arm at rest
# [s] for which an alarm is allowed after a contact, or an input that may look like one. The
# residual decays at 50 1/s: after 0.4 s to 2e-9 of it; the detector's release takes 0.05 s more.
EXCUSE = 0.5
LATCHED = (Mode.SAFE_HOLD, Mode.REACTING)
THROWN = 1.0  # [rad/s]: faster than any trajectory here
NORMAL = (Mode.HOLDING, Mode.TRACKING, Mode.RESUMING)
START = [0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5]
ARGS = {
    "robot.name": "lwr_iii",
    "free_running": "true",
    "use_sim_time": "true",
    "rate": 1.0 / DT,
    "plant.start": START,
}


# An arm that differs from the model, with friction, and the thresholds made for it in
# config/demo.yaml
BELIEVABLE = {
    "plant.friction": "true",
    "plant.model_error.mass": 0.03,
    "plant.model_error.com": 0.003,
    "plant.model_error.friction": 0.03,
    "arm.friction": "true",
    "effort.friction": "model",
    "monitor.contact.base": [2.5, 3.0, 1.5, 1.6, 0.9, 0.6, 0.7],
    "monitor.collision.base": [5.0, 6.0, 3.0, 3.2, 1.8, 1.2, 1.2],
}
# Faults and payloads of it, which may give alarms while they act and for a while after
INJECTIONS: list[dict[str, Any]] = [
    {"payload.mass": 0.8},
    {"payload.mass": 2.0},
    {"fault.kind": "bias", "fault.joint": "joint_2", "fault.value": [15.0]},
    {"fault.kind": "effectiveness", "fault.joint": "joint_2", "fault.value": [0.6]},
    {"fault.kind": "friction", "fault.joint": "joint_4", "fault.value": [3.0]},
    {"fault.kind": "effort_scale", "fault.joint": "joint_2", "fault.value": [0.4]},
]
NOTHING = {"payload.mass": 0.0, "fault.kind": "none"}


def listen(node: Any, topic: str, callback: Any) -> None:
    """Call back on every message that a node publishes on this topic."""
    next(p for p in node.local_publishers if p.topic.endswith(topic)).local.append(callback)


def same_state(message: JointState) -> JointState:
    """Return a copy of a joint state."""
    copied = JointState(name=list(message.name))
    copied.position, copied.velocity = message.position[:], message.velocity[:]
    copied.effort = message.effort[:]
    stamp = message.header.stamp
    copied.header.stamp.sec, copied.header.stamp.nanosec = stamp.sec, stamp.nanosec
    return copied


class Rig:
    """The three nodes; `deliver_…` passes a message on, `step` advances one period."""

    def __init__(self, **changes: Any) -> None:
        """Changes: of parameters, of whichever node has them."""
        parameters = [
            x for name, value in {**ARGS, **changes}.items() for x in ("-p", f"{name}:={value}")
        ]
        rclpy.init(
            args=["--ros-args", "--log-level", "fatal", *parameters],
            domain_id=own_domain(),
            signal_handler_options=SignalHandlerOptions.NO,
        )
        self.plant, self.detector = SimulatorNode(), DynamicsNode()
        self.controller = ControllerNode()
        self.nodes = (self.plant, self.detector, self.controller)
        self.model = self.controller.robot
        self.now = 0.0  # [s], the clock
        self.tally = Counter[str]()  # verdicts of the detector, how many were judged, and so on
        self._connect()
        self.forget()

    def close(self) -> None:
        """End the nodes."""
        for node in self.nodes:
            node.destroy_node()
        rclpy.try_shutdown()

    def _connect(self) -> None:
        listen(self.plant, "joint_states", self._hear_state)
        listen(self.plant, "/external_torque", self._hear_numbers)
        listen(self.detector, "/residual", self._hear_residual)
        listen(self.detector, "/external_wrench", self._hear_wrench)
        listen(self.detector, "/collision_state", self._hear_word)
        listen(self.controller, "effort_controller/commands", self._hear_command)
        listen(self.controller, "/reference", self._hear_numbers)

    def forget(self) -> None:
        """Forget all that was seen so far."""
        self.state: Any = None  # the last joint state of the plant
        self.word: Any = None  # the last verdict of the detector
        self.level = Level.UNKNOWN  # and its level
        self.tau: np.ndarray | None = None  # the last command
        self.accepted: float | None = (
            None  # [s], stamp of the last joint state, if it was accepted
        )
        self._plain = False  # whether it was the true one
        self.bad = 0  # rejected joint states in a row
        self.seen_at = 0.0  # [s], when one may have been accepted last, or the arm was at rest
        self.excused = 0.0  # [s] for which an alarm is allowed; inf: with any settings
        self._residuals = 0
        self._room = SLACK  # [s] of its rate by which the torque may change now

    # messages of the nodes

    def _hear_state(self, message: Any) -> None:
        for field in ("position", "velocity", "effort"):
            expect(np.isfinite(getattr(message, field)).all(), "the plant is at", message)
        self.state = same_state(message)

    def _hear_numbers(self, message: Any) -> None:
        for field in ("position", "velocity", "effort"):
            expect(np.isfinite(getattr(message, field)).all(), "a node says", message)

    def _hear_residual(self, message: Any) -> None:
        expect(np.isfinite(message.effort).all(), "the residual is", list(message.effort))
        self._residuals += 1

    def _hear_wrench(self, message: Any) -> None:
        force, torque = message.wrench.force, message.wrench.torque
        numbers = [force.x, force.y, force.z, torque.x, torque.y, torque.z]
        expect(np.isfinite(numbers).all(), "the wrench is", numbers)

    def _hear_word(self, message: Any) -> None:
        self.word, self.level = message, read_collision_state(message).level
        if self.level is not Level.UNKNOWN:
            self.tally["known"] += 1
            self.tally["judged"] += not self.excused
        touched = self.level >= Level.CONTACT
        expect(self.excused or not touched, "a false alarm:", message.status)
        self.controller.receive(VERDICTS, message)

    def _hear_command(self, message: Any) -> None:
        tau = np.array(message.data)
        expect(np.isfinite(tau).all(), "the torque is", tau)
        expect((np.abs(tau) <= self.model.tau_max * (1.0 + 1e-9)).all(), "over the limit:", tau)
        if self.tau is not None:
            used = np.abs(tau - self.tau) / np.array(self.controller.settings.arm.tau_rate_max)
            self._room -= used.max()
            mode = self.controller.arm.mode
            expect(self._room > -1e-9, f"a step of torque, {used.max():.3g} s of its rate;", mode)
        self.tau, self._room = tau, min(self._room, SLACK)

    def _excuse(self, alarming: bool) -> None:
        """Allow an alarm for a while."""
        if alarming:
            self.excused = max(self.excused, EXCUSE)

    # messages to the nodes

    def set_clock(self, t: float) -> None:
        """Set the simulated time of all nodes [s]."""
        self._room += max(t - self.now, 0.0)
        self.now = t
        tick = Clock()
        set_stamp(tick.clock, t)
        for node in self.nodes:
            node.receive("/clock", tick)

    def deliver_state(self, sent: Sent) -> None:
        """Pass a joint state to detector and controller."""
        before, moving = self._residuals, self.controller.arm.moving
        stamp = seconds(sent.message.header.stamp)
        self._excuse(sent.alarms)
        for node in (self.detector, self.controller):
            node.receive("joint_states", sent.message)
        taken = self._residuals > before
        expect(not (taken and sent.verdict is Verdict.BAD), "believed a joint state:", sent.what)
        follows = self._plain and self.accepted is not None and 0.0 < stamp - self.accepted < 0.1
        possible = (np.abs(self.plant.plant.state.qd) <= self.model.qd_max).all()
        refused = follows and possible and sent.verdict is Verdict.GOOD and not taken
        expect(not refused, "refused a joint state:", sent.what)
        self._plain = sent.verdict is Verdict.GOOD or sent.what == AS_IT_IS
        self.accepted = stamp if taken else None
        if taken:
            self.bad = 0
        elif sent.verdict is Verdict.BAD and sent.what != OTHERS:
            self.bad += 1
        if sent.verdict is not Verdict.BAD or not moving:
            self.seen_at = self.now
        if self.bad >= LOST:
            expect(self.level is Level.UNKNOWN, f"{self.level.name} on bad data:", sent.what)
        if self.bad >= LOST and self.now - self.seen_at > SAFE:
            mode = self.controller.arm.mode
            expect(mode not in (Mode.TRACKING, Mode.RESUMING), "goes on blindly:", mode)

    def deliver_command(self, sent: Sent) -> None:
        """Pass a command to detector and plant."""
        self._excuse(sent.alarms)
        before, self.state = self.state, None
        for node in (self.detector, self.plant):
            node.receive("effort_controller/commands", sent.message)
        taken, self.state = self.state is not None, self.state or before
        expect(not (taken and sent.verdict is Verdict.BAD), "obeyed a command:", sent.what)
        expect(taken or sent.verdict is not Verdict.GOOD, "rejected a command:", sent.what)

    def deliver_push(self, sent: Sent) -> None:
        """Pass a push to the plant."""
        before = len(self.plant.plant.pushes)
        self.plant.receive("~/push", sent.message)
        taken = len(self.plant.plant.pushes) > before
        self._excuse(taken)
        expect(not (taken and sent.verdict is Verdict.BAD), "was pushed:", sent.what, sent.message)
        expect(taken or sent.verdict is not Verdict.GOOD, "rejected a push:", sent.message)

    def deliver_trajectory(self, sent: Sent) -> None:
        """Pass a trajectory to the controller."""
        arm = self.controller.arm
        mode, wanted = arm.mode, arm.reference
        self.controller.receive("~/joint_trajectory", sent.message)
        if sent.verdict is Verdict.BAD:
            same = arm.mode is mode and np.array_equal(arm.reference.q, wanted.q)
            expect(same, "followed a trajectory:", sent.what, sent.message)
        elif sent.verdict is Verdict.GOOD and mode in (Mode.HOLDING, Mode.TRACKING):
            expect(arm.mode is Mode.TRACKING, "rejected a trajectory:", sent.message)

    def deliver_word(self, sent: Sent) -> None:
        """Pass a verdict to the controller."""
        self.controller.receive(VERDICTS, sent.message)

    # time, and calls

    def step(self) -> Sent:
        """Move the plant by the controller's command for a period; return its joint state."""
        tau = self.tau if self.tau is not None else np.zeros(self.model.n)
        self.deliver_command(Sent(Float64MultiArray(data=tau.tolist()), "the own", Verdict.GOOD))
        self.set_clock(seconds(self.state.header.stamp))
        self.excused = max(self.excused - DT, 0.0)
        self._excuse(self._is_touched())
        return Sent(self.state, AS_IT_IS, Verdict.EITHER)

    def run(self, steps: int) -> None:
        """Run a number of periods without a fault."""
        for _ in range(steps):
            self.deliver_state(self.step())

    def inject(self, values: dict[str, Any]) -> None:
        """Set a fault or payload of the plant, or `NOTHING` to end it."""
        wanted = [Parameter(name, value=value) for name, value in values.items()]
        answer = self.plant.set_parameters_atomically(wanted)
        expect(answer.successful, "refused a fault:", values, answer.reason)
        self._excuse(True)

    def silence(self, duration: float) -> None:
        """Advance the clock [s] without messages; all timers fire twice."""
        self.set_clock(self.now + duration)
        for _ in range(2):
            for node in self.nodes:
                fire_timers(node)

    def reset_plant(self) -> None:
        """Reset the simulated arm and the time."""
        call_service(self.plant, "reset")
        self.tau = self.accepted = None

    def clear(self) -> Any:
        """Call `clear` of the controller; return its response."""
        return call_service(self.controller, "clear")

    def enable(self, enabled: bool) -> None:
        """Enable or disable the controller."""
        call_service(self.controller, "enable", SetBool.Request(data=enabled))

    def recover(self) -> float:
        """Expect normal operation within a second, with `enable` and `clear` where needed; return
        how long it took [s].

        Only an arm that was really thrown is given the time to come to rest before.
        """
        self.plant.plant.pushes.clear()  # end the last of them
        if self._is_thrown():
            self.tally["thrown"] += 1
            self._come_to_rest()
        self.enable(True)
        normal_at = None  # period since which all is normal
        for k in range(RECOVERY_STEPS):
            if self.controller.arm.mode in LATCHED:
                self.clear()
            self.run(1)
            if self._abnormal():
                normal_at = None
            elif normal_at is None:
                normal_at = k + 1
        expect(normal_at is not None, "a second later:", self._abnormal())
        return normal_at * DT

    def _abnormal(self) -> str:
        """What is not as it should be, or nothing."""
        arm = self.controller.arm
        if self.level is not Level.CLEAR:
            return f"{self.level.name}, {read_collision_state(self.word).cause}"
        if arm.mode not in NORMAL:
            return f"{arm.mode}, {arm.reason}"
        return "" if self.accepted == self.now else "no sample is believed"

    def _is_thrown(self) -> bool:
        """Return whether the arm was moved from outside: it is at a stop, or faster than any
        trajectory here.
        """
        return self._is_stopped() or bool(np.abs(self.plant.plant.state.qd).max() > THROWN)

    def _is_stopped(self) -> bool:
        q = self.plant.plant.state.q
        return bool(((q <= self.model.q_min) | (q >= self.model.q_max)).any())

    def _is_touched(self) -> bool:
        """Return whether a push, a stop, a fault or an unknown payload acts on the arm."""
        state, acting = self.plant.plant.state, self.plant.plant.acting
        return self._is_stopped() or bool(acting) or bool(state.tau_ext.any())

    def _come_to_rest(self) -> None:
        """Wait until the arm is at rest; reset it if it does not come to rest."""
        for _ in range(5):
            self.run(RECOVERY_STEPS)
            if np.abs(self.plant.plant.state.qd).max() < SLOW and not self._is_touched():
                return
        self.reset_plant()
        self.run(RECOVERY_STEPS)


@contextmanager
def rig(**changes: Any) -> Iterator[Rig]:
    """Yield a rig whose arm is at rest. changes: of parameters."""
    made = Rig(**changes)
    try:
        made.run(100)
        expect(made.level is Level.CLEAR and made.controller.arm.mode is Mode.HOLDING)
        yield made
    finally:
        made.close()
