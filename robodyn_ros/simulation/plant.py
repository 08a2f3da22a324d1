"""What all simulated arms share: time, pushes, faults, sensors, saturation."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics.kinematics import forward_kinematics
from ..errors import ArgumentError
from ..model.robot import Payload, RobotModel
from .faults import Fault, make_fault
from .pushes import RAMP, Push, make_push
from .sensors import Measurement, SensorModel, Sensors

Array = npt.NDArray[np.float64]


class PlantState(NamedTuple):
    """The truth about a simulated arm."""

    t: float  # [s]
    q: Array
    qd: Array
    tau: Array  # torque that the motors gave during the last step
    tau_ext: Array  # joint torque of all that touched the arm, mean over the last step


class Plant(ABC):
    """A robot to try things on. Times only ever come from `step`."""

    def __init__(
        self,
        model: RobotModel,
        q: npt.ArrayLike | None,
        qd: npt.ArrayLike | None,
        sensor: SensorModel,
        saturate: bool,
        seed: int,
    ) -> None:
        self.bare = model  # without payload
        self.model = model
        self.saturate = saturate
        self.sensor, self.seed = sensor, seed
        self.pushes: list[Push] = []
        self.faults: dict[str, Fault] = {}
        self._start = (self._vector("q", q).copy(), self._vector("qd", qd).copy())
        self.reset()

    def reset(self, q: npt.ArrayLike | None = None, qd: npt.ArrayLike | None = None) -> None:
        """Back to time 0 and the first posture, or to this one; pushes and faults are gone."""
        q0 = self._start[0] if q is None else self._vector("q", q)
        qd0 = self._start[1] if qd is None else self._vector("qd", qd)
        self.pushes.clear()
        self.faults.clear()
        self.model = self.bare
        self.sensors = Sensors(self.sensor, self.model.tau_max, self.seed)
        self._frozen: dict[int, tuple[float, float]] = {}
        self._command = still = np.zeros(self.model.n)
        self.state = PlantState(0.0, q0.copy(), qd0.copy(), still, still)
        self._seen: Measurement | None = None
        self._sees_all = self.sensor == SensorModel()  # then nothing is lost by looking later
        self._set_motors()
        self._restart()

    def step(self, tau: npt.ArrayLike, dt: float) -> PlantState:
        """Hold this torque [N m or N] for dt [s]; returns the state at its end."""
        command = self._vector("tau", tau)
        if not 0.0 < dt < math.inf:
            raise ArgumentError(f"dt must be positive [s], got {dt!r}")
        if self.pushes:
            self.pushes = [p for p in self.pushes if self.state.t < p.start + p.duration]
        self._command = command.copy()
        q, qd, given, tau_ext = self._advance(command, dt)
        self.state = PlantState(self.state.t + dt, q, qd, given, tau_ext)
        self._seen = None if self._sees_all else self._measure()
        return self.state

    @property
    def measurement(self) -> Measurement:
        """What the robot's own sensors report now."""
        if self._seen is None:
            self._seen = self._measure()
        return self._seen

    def push(
        self,
        link: str,
        force: npt.ArrayLike,
        point: npt.ArrayLike = (0.0, 0.0, 0.0),
        duration: float = 0.1,
        shape: str = "step",
        *,
        torque: npt.ArrayLike = (0.0, 0.0, 0.0),
        start: float | None = None,
        ramp: float = RAMP,
        axes: str = "base",
    ) -> Push:
        """Push a point [m] of a link with a force [N], now or from `start` on.

        axes: those in which force and torque are given: the base's, or the link's as they are now.
        """
        begin = self.state.t if start is None else start
        if axes not in ("base", "link"):
            raise ArgumentError(f"axes must be base or link, got {axes!r}")
        if axes == "link":
            R = forward_kinematics(self.model, self.state.q, link)[:3, :3]
            with np.errstate(invalid="ignore", over="ignore"):  # refused below
                force, torque = R @ np.asarray(force), R @ np.asarray(torque)
        made = make_push(self.model, link, force, point, begin, duration, shape, torque, ramp)
        self.pushes.append(made)
        return made

    def attach(self, payload: Payload) -> None:
        """Let a link hold something from now on."""
        self.model = self.model.replace(payload=payload)
        self._rebuild()

    def drop(self) -> None:
        """Let go of all payloads."""
        self.model = self.bare
        self._rebuild()

    def fail(self, joint: str, kind: str, value: float | None = None) -> Fault:
        """Inject a fault; a joint has one at a time."""
        k = self._joint(joint)
        fault = make_fault(joint, kind, value)
        self.faults[joint] = fault
        self._frozen.pop(k, None)
        if kind == "sensor_freeze":
            self._frozen[k] = (float(self.measurement.q[k]), float(self.measurement.qd[k]))
        self._set_motors()
        self._rebuild()
        return fault

    def mend(self, joint: str) -> None:
        """Undo a joint's fault."""
        self.faults.pop(joint, None)
        self._frozen.pop(self._joint(joint), None)
        self._set_motors()
        self._rebuild()

    @abstractmethod
    def _restart(self) -> None:
        """Take over self.state after a reset."""

    @abstractmethod
    def _rebuild(self) -> None:
        """Take over a changed model or changed faults."""

    @abstractmethod
    def _advance(self, command: Array, dt: float) -> tuple[Array, Array, Array, Array]:
        """Move on by dt under this command: q, qd, the motors' torque, external torque."""

    def _set_motors(self) -> None:
        """Each motor gives gain * clip(command) + bias."""
        n = self.bare.n
        self.motor_limit = np.array(self.bare.tau_max) if self.saturate else np.full(n, np.inf)
        self.motor_gain, self.motor_bias = np.ones(n), np.zeros(n)
        for fault in self.faults.values():
            k = self._joint(fault.joint)
            if fault.kind == "free_swinging":
                self.motor_gain[k] = 0.0
            elif fault.kind == "effectiveness":
                self.motor_gain[k] = fault.value
            elif fault.kind == "bias":
                self.motor_bias[k] = fault.value

    def through_motors(self, command: Array) -> Array:
        """The torque that the motors give for a command."""
        limited = np.clip(command, -self.motor_limit, self.motor_limit)
        return self.motor_gain * limited + self.motor_bias

    def _measure(self) -> Measurement:
        state = self.state
        # What the robot believes its motors to give: their faults do not show.
        believed = np.clip(self._command, -self.motor_limit, self.motor_limit)
        seen = self.sensors.measure(state.t, state.q, state.qd, believed)
        if not self.faults:
            return seen
        q, qd, tau = seen.q.copy(), seen.qd.copy(), seen.tau.copy()
        for k, (position, velocity) in self._frozen.items():
            q[k], qd[k] = position, velocity
        for fault in self.faults.values():
            if fault.kind == "effort_scale":
                tau[self._joint(fault.joint)] *= fault.value
        return replace(seen, q=q, qd=qd, tau=tau)

    def _joint(self, joint: str) -> int:
        try:
            return self.model.joint_names.index(joint)
        except ValueError:
            known = ", ".join(self.model.joint_names)
            raise ArgumentError(f"there is no joint '{joint}'; there are {known}") from None

    def _vector(self, name: str, value: npt.ArrayLike | None) -> Array:
        if value is None:
            return np.zeros(self.bare.n)
        if type(value) is np.ndarray and value.dtype == np.float64:
            vector = value
        else:
            vector = np.array(value, dtype=np.float64)
        if vector.shape != (self.bare.n,) or not np.isfinite(vector).all():
            raise ArgumentError(f"{name} must be {self.bare.n} finite numbers, got {value!r}")
        return vector
