"""simulator_node: a simulated arm behind the topics of a real one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from ..control.limits import Limiter, TorqueLimits
from ..detection.fault import Fault as NamedFault
from ..errors import ArgumentError, RobodynError
from ..model.robot import Payload, RobotModel
from ..sensing.effort import reject_torque
from ..sensing.settings import SensingSettings
from ..simulation.disturbances import Fault, Injection
from ..simulation.plant import PlantState
from .arm_node import ArmNode
from .brake import BRAKE_RATE
from .codec import fault_state, read_wrench, set_stamp
from .loop_statistics import LoopStatistics
from .node_kernels import SIMULATOR
from .node_settings import SimulatorSettings
from .parameters import declare_table
from .runtime import LATCHED, STATE_IN, STATE_OUT, JointStateMessage, run
from .simulation_setup import (
    PAYLOAD,
    FaultSettings,
    ObstacleSettings,
    PlantMaker,
    PushSettings,
    make_plant,
)

START_TIME = 1.0  # [s], first simulated time: a stamp of 0 means no time
BATCH_STEPS = 10  # steps of a free run between two runs of other callbacks: the depth of queues
BATCH_PAUSE = 1e-4  # [s], shortest time between two batches
REPEAT_PERIOD, REPEAT_AGE = 0.2, 0.15  # [s] in which a free run without commands repeats a state
BRAKE_RELEASE = 0.1  # [s] after the brake in which commands change the torque at its rate limit
MAX_LAG = 0.5  # [s] behind the clock after which lost time is skipped instead of caught up
MAX_EFFORT = SensingSettings().max_effort  # [N m or N]
TOO_SLOW = "too slow: {:.3f} s of wall time skipped"
CLOCK_SET = "the clock was set back: by {:.3f} s"


class SimulatorNode(ArmNode):
    """Steps a plant with the commands that arrive and publishes its measurements.

    own_plant: makes the plant of `plant.kind: own`.
    """

    def __init__(self, own_plant: PlantMaker | None = None) -> None:
        super().__init__("simulator_node", SimulatorSettings())
        self.own_plant = own_plant
        self.wait_for_robot()

    def configure(self, model: RobotModel) -> None:
        """Create plant, topics and services."""
        settings = self.settings
        obstacles = declare_table(self, "obstacles", ObstacleSettings)
        self.script = declare_table(self, "pushes", PushSettings)
        self.faults = declare_table(self, "faults", FaultSettings)
        self.dt = 1.0 / settings.rate
        self.plant, self.brake = make_plant(
            model, settings.plant, obstacles, self.dt, self.own_plant
        )
        for fault in self.faults.values():
            self._check_fault(fault.what(model))
        self.live: list[Injection] = []  # set by parameters while running
        self._inject_live(self._live(settings))
        self.acting: tuple[Fault | Payload, ...] = ()  # as last published
        self.statistics = LoopStatistics(self.dt)
        self.limit = model.tau_max
        self.limiter = Limiter(model, TorqueLimits(model.tau_max, BRAKE_RATE))
        self.braked = False  # whether the brake acts or is being released
        self.freed = 0.0  # [s] since the torque has reached the command during the release
        self.tau = np.zeros(model.n)
        self.fresh = False  # whether a command arrived since the last step
        self.steps_left = BATCH_STEPS  # of a free run, before other callbacks run
        self.stepped = 0.0  # [s], wall time of the last step of a free run
        self.silent = math.inf  # [s] since the last command
        self.published = 0.0  # [s], wall time of the last joint states
        self.states = JointStateMessage(model.joint_names, "position", "velocity", "effort")
        self.truth = JointStateMessage(model.joint_names, "effort")
        self.clock_message = Clock()
        self.to_states = self.local_publisher(JointState, "joint_states", STATE_OUT)
        self.to_truth = self.local_publisher(JointState, "~/external_torque", STATE_OUT)
        self.to_faults = self.local_publisher(DiagnosticArray, "~/fault", LATCHED)
        commands = "effort_controller/commands"
        self.local_subscription(Float64MultiArray, commands, self._on_command, STATE_IN)
        self.local_subscription(WrenchStamped, "~/push", self._on_push, 10)
        self.create_service(Trigger, "~/reset", self._reset)
        self.restart()
        if settings.free_running:
            self.to_clock = self.local_publisher(Clock, "/clock", STATE_OUT)
            self.create_timer(REPEAT_PERIOD, self._publish_again, clock=self.steady_clock)
            self.create_timer(0.001, self._continue_free, clock=self.steady_clock)
        else:
            self.create_timer(self.dt, self._tick, clock=self.steady_clock)

    def prepare_settings(self, settings: SimulatorSettings) -> Callable[[], None]:
        """Return a function that applies these settings; raise if they are invalid."""
        now = self.settings
        if self.robot is None or (settings.fault, settings.payload) == (now.fault, now.payload):
            return super().prepare_settings(settings)
        wanted = self._live(settings)
        return lambda: self._inject_live(wanted)

    def _live(self, settings: SimulatorSettings) -> list[Fault | Payload]:
        """Return the fault and the payload of the parameters; raise if they do not fit."""
        found = (settings.fault.fault(), settings.payload.payload(self.plant.bare))
        wanted = [one for one in found if one is not None]
        for one in wanted:
            self._check_fault(one)
        return wanted

    def _check_fault(self, what: Fault | Payload) -> None:
        """Reject a fault of a joint, or of friction, that the arm does not have."""
        if isinstance(what, Fault):
            names = self.plant.bare.joint_names
            if what.joint and what.joint not in names:
                raise ArgumentError(f"unknown joint '{what.joint}'; the joints are {names}")
            if what.kind == "friction" and not self.plant.friction:
                raise ArgumentError("a plant without friction has no more of it: plant.friction")

    def _inject_live(self, wanted: list[Fault | Payload]) -> None:
        """Replace what was injected by parameters."""
        for injection in self.live:
            self.plant.cancel(injection)
        self.live = [self.plant.schedule(one) for one in wanted]

    def restart(self) -> None:
        """Restart the plant's time; its script begins with the first command."""
        self.start = START_TIME if self.settings.free_running else self.now()
        self.scheduled = False

    def _on_command(self, message: Float64MultiArray) -> None:
        cause = reject_torque(message.data, self.states.message.name, MAX_EFFORT)
        if cause:
            self.warn_throttled(f"rejected a command: {cause}")
            return
        self.tau[:] = message.data
        self.fresh, self.silent = True, 0.0
        if not self.scheduled:
            self.scheduled = True
            for one in (*self.script.values(), *self.faults.values()):
                one.schedule(self.plant)
        self.statistics.latency(time.perf_counter() - self.published)
        if self.settings.free_running:
            if not self.to_states.queue.delivering:  # a command of another process
                self.steps_left = BATCH_STEPS
            if self.steps_left > 0:
                self._step_free()

    def _step_free(self) -> None:
        """Step after a command; other callbacks run only between batches of steps."""
        self.steps_left -= 1
        self.step()
        self.publish_state(tick=self.steps_left == BATCH_STEPS - 1)
        self.stepped = time.perf_counter()

    def _continue_free(self) -> None:
        """Continue after a pause, or the events executor would serve only this timer."""
        if time.perf_counter() - self.stepped > BATCH_PAUSE:
            self.steps_left = BATCH_STEPS
            if self.fresh:
                self._step_free()

    def _tick(self) -> None:
        """Step when due, twice to catch up: stamps leap only if the clock was set."""
        due = self.now() - self.start - self.plant.state.t
        if abs(due) > MAX_LAG:
            text = TOO_SLOW if due > 0.0 else CLOCK_SET
            self.warn_throttled(text.format(abs(due)))
            self.start += due - self.dt
            due = self.dt
        if due < 0.5 * self.dt:
            return
        for _ in range(2 if due > 1.5 * self.dt else 1):
            self.step()
            self.publish_state()

    def step(self) -> None:
        """Step the plant by one period with the torque that acts."""
        state = self.plant.state
        self.statistics.sample(state.t)
        if not self.fresh:
            self.statistics.stale()
        try:
            self.plant.step(self._torque(state), self.dt)
        except RobodynError as error:  # the torque was beyond all limits
            self.warn_throttled(f"plant restarted: {error}")
            self._reset_plant()
        self.fresh = False
        self.silent += self.dt

    def _torque(self, state: PlantState) -> np.ndarray:
        """Return the command (n,), or the brake's torque without one; rate-limited in between."""
        held = self.silent > self.settings.command_timeout
        if not held and not self.braked:
            return self.tau
        if held and not self.braked:
            self.braked, self.freed, commanded = True, 0.0, self.silent < math.inf
            self.limiter.reset(np.clip(self.tau, -self.limit, self.limit) if commanded else None)
        before = self.limiter.tau if self.silent < math.inf else None
        wanted = self.brake.hold(state, before, self.dt) if held else self.tau
        self.limiter.apply(wanted, self.dt)
        if not held:
            self.brake.release()
            self.freed = 0.0 if self.limiter.excess.any() else self.freed + self.dt
            self.braked = self.freed < BRAKE_RELEASE
        return self.limiter.tau

    def publish_state(self, tick: bool = True) -> None:
        """Publish the measurement. tick: publish /clock also to other processes."""
        seen, t = self.plant.measurement, self.start + self.plant.state.t
        self.states.position[:], self.states.velocity[:] = seen.q, seen.qd
        self.states.effort[:] = seen.tau
        if self.settings.free_running:
            set_stamp(self.clock_message.clock, t)
            self.to_clock.publish_locally(self.clock_message)
            if tick:
                self.to_clock.publish_remotely(self.clock_message)
        if self.to_truth.wanted:
            self.truth.effort[:] = self.plant.state.tau_ext
            self.to_truth.publish(self.truth.at(t))
        if (acting := self.plant.acting) != self.acting:
            self.acting = acting
            faults: list[NamedFault | None] = [_named(one) for one in acting]
            self.to_faults.publish(fault_state(self.get_name(), t, *(faults or [None])))
        self.published = time.perf_counter()
        self.to_states.publish(self.states.at(t))

    def _publish_again(self) -> None:
        """Repeat the state while a free run waits for a command: a new peer needs one."""
        if not self.fresh and time.perf_counter() - self.published > REPEAT_AGE:
            self.publish_state()

    def _on_push(self, message: WrenchStamped) -> None:
        """Push the link that frame_id names by a wrench in its axes; zero ends all pushes."""
        _, link, wrench = read_wrench(message)
        if not wrench.any():
            self.plant.pushes.clear()
            return
        force, torque, duration = wrench[:3], wrench[3:], self.settings.push_duration
        try:
            self.plant.push(link, force, duration=duration, torque=torque, axes="link")
        except RobodynError as error:
            self.warn_refused(f"rejected a push: {error}")

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._reset_plant()
        response.success, response.message = True, "plant reset to its start"
        return response

    def _reset_plant(self) -> None:
        self.plant.reset()
        self._inject_live([one.what for one in self.live])
        self.tau[:], self.silent = 0.0, math.inf
        self.brake.release()
        self.braked = False
        self.restart()

    def health(self) -> tuple[str, dict[str, Any]]:
        """Return whether commands are missing, and loop statistics."""
        silent = self.silent > self.settings.command_timeout
        text = "no commands: holding" if silent else self.statistics.overrun()
        return text, self.statistics.facts()


def _named(what: Fault | Payload) -> NamedFault:
    """Return what acts as a fault, for its message."""
    if isinstance(what, Payload):
        return NamedFault(PAYLOAD, value=what.mass, unit="kg")
    return NamedFault(what.kind, what.joint, what.value)


def main(args: list[str] | None = None, plant: PlantMaker | None = None) -> int:
    """Run the node until a signal arrives; return the exit code.

    plant: makes the plant for `plant.kind: own`, by (model, q, friction=, sensor=, seed=).
    """
    return run(partial(SimulatorNode, plant), args=args, kernels=SIMULATOR)


if __name__ == "__main__":
    raise SystemExit(main())
