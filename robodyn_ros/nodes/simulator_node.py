"""simulator_node: a simulated arm behind the topics of a real one."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from ..control.limits import Limiter, TorqueLimits
from ..errors import RobodynError
from ..model.robot import RobotModel
from ..simulation.plant import PlantState
from .arm_node import ArmNode
from .intake import torques_of
from .loop_statistics import Pace
from .node_settings import SimulatorSettings
from .parameters import declare_table
from .runtime import STATE_IN, STATE_OUT, JointStateMessage, run, set_stamp
from .simulation_setup import BRAKE_RATE, ObstacleSettings, PushSettings, make_plant

FIRST = 1.0  # [s], the first simulated time: a stamp of 0 means that there is none
BATCH = 10  # steps of a free run before others have their turn: as many as queues hold
REST = 1e-4  # [s] between two batches, at least
HANDOVER = 0.1  # [s] after the brake in which commands change the torque no faster than it did
LATE = 0.5  # [s] behind the clock after which lost time is given up instead of caught up
CLOCK_SET = "the clock was set back: by {:.3f} s"


class SimulatorNode(ArmNode):
    """Steps a plant with the commands that come, and publishes what it measures."""

    def __init__(self) -> None:
        super().__init__("simulator_node", SimulatorSettings())

    def configure(self, model: RobotModel) -> None:
        """Build the plant and connect."""
        settings = self.settings
        obstacles = declare_table(self, "obstacles", ObstacleSettings)
        self.script = declare_table(self, "pushes", PushSettings)
        self.dt = 1.0 / settings.rate
        self.plant, self.brake = make_plant(model, settings.plant, obstacles, self.dt)
        self.pace = Pace(self.dt)
        self.limit = model.tau_max
        self.limiter = Limiter(model, TorqueLimits(model.tau_max, BRAKE_RATE))
        self.braked = False  # whether the brake's torque acts, or the way back from it
        self.freed = 0.0  # [s] since the commanded torque has been reached on that way
        self.tau = np.zeros(model.n)
        self.fresh = False  # whether a command came since the last step
        self.stepping = False  # whether a free run is under way
        self.stepped = 0.0  # [s], wall time of the last step of one
        self.silent = math.inf  # [s], since the last command
        self.published = 0.0  # [s], wall time of the last joint states
        self.states = JointStateMessage(model.joint_names, "position", "velocity", "effort")
        self.truth = JointStateMessage(model.joint_names, "effort")
        self.clock_message = Clock()
        self.to_states = self.outlet(JointState, "joint_states", STATE_OUT)
        self.to_truth = self.outlet(JointState, "~/external_torque", STATE_OUT)
        self.listen(Float64MultiArray, "effort_controller/commands", self._command, STATE_IN)
        self.listen(WrenchStamped, "~/push", self._push, 10)
        self.create_service(Trigger, "~/reset", self._reset)
        self._restart()
        if settings.free_running:
            self.to_clock = self.outlet(Clock, "/clock", STATE_OUT)
            self.create_timer(0.2, self._remind, clock=self._wall)
            self.create_timer(0.001, self._go_on, clock=self._wall)
        else:
            self.create_timer(self.dt, self._tick, clock=self._wall)

    def _restart(self) -> None:
        """Time 0 of the plant is now; the script begins with the first command."""
        self.start = FIRST if self.settings.free_running else self.now()
        self.scheduled = False

    def _command(self, message: Float64MultiArray) -> None:
        tau, reason = torques_of(message, self.states.message.name)
        if tau is None:
            self.complain(f"refused a command: {reason}")
            return
        self.tau[:] = tau
        self.fresh, self.silent = True, 0.0
        if not self.scheduled:
            self.scheduled = True
            for push in self.script.values():
                push.schedule(self.plant)
        self.pace.latency(time.perf_counter() - self.published)
        if self.settings.free_running and not self.stepping:
            self._run_free()

    def _run_free(self) -> None:
        """A step per command. Commands that are answered within the call come right back: after a
        while others have their turn, and a timer goes on.
        """
        self.stepping = True
        for count in range(BATCH):
            if not self.fresh:
                break
            self._step()
            self._publish(tick=count == 0)
        self.stepping, self.stepped = False, time.perf_counter()

    def _go_on(self) -> None:
        """A batch, but not right after one: on a busy machine a batch takes longer than the
        timer's period, and the events executor then serves this timer and nobody else.
        """
        if time.perf_counter() - self.stepped > REST:
            self._run_free()

    def _tick(self) -> None:
        """A step when one is due, and two while time has been lost: stamps never leap, unless the
        clock itself was set.
        """
        due = self.now() - self.start - self.plant.state.t
        if abs(due) > LATE:
            told = "too slow: {:.3f} s of wall time given up" if due > 0.0 else CLOCK_SET
            self.complain(told.format(abs(due)))
            self.start += due - self.dt
            due = self.dt
        if due < 0.5 * self.dt:
            return
        for _ in range(2 if due > 1.5 * self.dt else 1):
            self._step()
            self._publish()

    def _step(self) -> None:
        state = self.plant.state
        self.pace.sample(state.t)
        if not self.fresh:
            self.pace.stale()
        try:
            self.plant.step(self._given(state), self.dt)
        except RobodynError as error:  # no limit held back a torque that no arm bears
            self.complain(f"begins anew: {error}")
            self._begin_anew()
        self.fresh = False
        self.silent += self.dt

    def _given(self, state: PlantState) -> np.ndarray:
        """The commanded torque; without commands that of the brake, and no jump to it or back,
        also if a new controller's first commands come two at a time.
        """
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
            self.braked = self.freed < HANDOVER
        return self.limiter.tau

    def _publish(self, tick: bool = True) -> None:
        """What is measured now. tick: tell the time to other processes, too."""
        seen, t = self.plant.measurement, self.start + self.plant.state.t
        self.states.position[:], self.states.velocity[:] = seen.q, seen.qd
        self.states.effort[:] = seen.tau
        if self.settings.free_running:
            set_stamp(self.clock_message.clock, t)
            self.to_clock.call(self.clock_message)
            if tick:
                self.to_clock.send(self.clock_message)
        if self.to_truth.wanted:
            self.truth.effort[:] = self.plant.state.tau_ext
            self.to_truth.publish(self.truth.at(t))
        self.published = time.perf_counter()
        self.to_states.publish(self.states.at(t))

    def _remind(self) -> None:
        """Free-running and no command: whoever has just come needs a first state."""
        if not self.fresh and time.perf_counter() - self.published > 0.15:
            self._publish()

    def _push(self, message: WrenchStamped) -> None:
        """A wrench in the axes of the link that frame_id names; a zero one ends all pushes."""
        force, torque = message.wrench.force, message.wrench.torque
        wrench = [force.x, force.y, force.z, torque.x, torque.y, torque.z]
        if not any(wrench):
            self.plant.pushes.clear()
            return
        try:
            self.plant.push(
                message.header.frame_id,
                wrench[:3],
                duration=self.settings.push_duration,
                torque=wrench[3:],
                axes="link",
            )
        except RobodynError as error:
            self.complain(f"refused a push: {error}")

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._begin_anew()
        response.success, response.message = True, "back at the start"
        return response

    def _begin_anew(self) -> None:
        self.plant.reset()
        self.tau[:], self.silent = 0.0, math.inf
        self.brake.release()
        self.braked = False
        self._restart()

    def health(self) -> tuple[str, dict[str, Any]]:
        """Whether commands come, and how regularly."""
        silent = "" if self.silent <= self.settings.command_timeout else "no commands: holding"
        return silent or self.pace.overrun(), self.pace.facts()


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal comes."""
    return run(SimulatorNode, args=args)


if __name__ == "__main__":
    raise SystemExit(main())
