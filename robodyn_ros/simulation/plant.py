"""Plant: the base class of simulated arms: time, pushes, faults, payloads, sensors, saturation."""

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics.kinematics import forward_kinematics, jacobian
from ..errors import ArgumentError, one_of, positive
from ..model import packed_model as at
from ..model.packed_model import friction_rows, pack_friction
from ..model.robot import Payload, RobotModel
from .disturbances import (
    FREEZES,
    ON_ALL_JOINTS,
    RAMP,
    Fault,
    Injection,
    Push,
    make_fault,
    make_push,
)
from .sensors import Measurement, SensorModel, Sensors

Array = npt.NDArray[np.float64]

# Friction parameters that are torques, per speed or per torque
SIZES = [int(k) for k in (at.VISCOUS, at.COULOMB, at.STICTION, at.FRICTION_OFFSET, at.LOAD)]


class PlantState(NamedTuple):
    """True state of a simulated arm, (n,) each."""

    t: float  # [s]
    q: Array  # [rad or m]
    qd: Array  # [rad/s or m/s]
    tau: Array  # [N m or N], motor torque during the last step
    tau_ext: Array  # [N m or N], joint torque of all external forces, mean over the last step


class Plant(ABC):
    """Simulated arm: pushes, faults, payloads and sensors around the motion that a subclass has.

    A plant of your own is a subclass with `advance`; with `rebuild`, if it keeps what depends on
    `model` or `faults`; with `restart`, if its state is more than q and qd. Time advances only in
    `step`.
    q (n,) [rad or m] and qd (n,) [rad/s or m/s]: initial state, 0 by default. friction: whether
    the joints have friction; friction_width [rad/s or m/s]: over which dry friction changes sign
    at least. saturate: whether torques are clipped to the actuator limits. seed: random seed of
    the sensor noise.
    """

    def __init__(
        self,
        model: RobotModel,
        q: npt.ArrayLike | None = None,
        qd: npt.ArrayLike | None = None,
        *,
        friction: bool = True,
        friction_width: float = 0.02,
        saturate: bool = True,
        sensor: SensorModel | None = None,
        seed: int = 0,
    ) -> None:
        self.bare = model  # without payload
        self.model = model  # with it
        self.friction = friction
        self.friction_width = positive("friction_width", friction_width)
        self.saturate = saturate
        self.sensor, self.seed = sensor or SensorModel(), seed
        self.pushes: list[Push] = []
        self.faults: dict[str, Fault] = {}  # by joint; '': of all joints
        self.payloads: list[Payload] = []
        self.injections: list[Injection] = []  # that act or will
        self._injected: list[Injection] = []  # those of them that act
        self._start = (self._vector("q", q).copy(), self._vector("qd", qd).copy())
        self.reset()

    def reset(self, q: npt.ArrayLike | None = None, qd: npt.ArrayLike | None = None) -> None:
        """Return to time 0 and the first posture, or to q and qd; remove all disturbances."""
        q0 = self._start[0] if q is None else self._vector("q", q)
        qd0 = self._start[1] if qd is None else self._vector("qd", qd)
        self.pushes.clear()
        self.faults.clear()
        self.payloads.clear()
        self.injections.clear()
        self._injected.clear()
        self.model = self.bare
        self.sensors = Sensors(self.sensor, self.model.tau_max, self.seed)
        # Stuck readings, position and velocity; None: it is right
        self._frozen: dict[int, tuple[float | None, float | None]] = {}
        self._locked: dict[str, float] = {}  # positions of locked joints
        self._command = zero = np.zeros(self.model.n)
        self.state = PlantState(0.0, q0.copy(), qd0.copy(), zero, zero)
        self._measured: Measurement | None = None
        self._exact_sensors = self.sensor == SensorModel()  # no state: measure on demand
        self._set_motors()
        self.restart()

    def step(self, tau: npt.ArrayLike, dt: float) -> PlantState:
        """Apply the torque tau (n,) [N m or N] for dt [s]; return the state at its end."""
        command = self._vector("tau", tau)
        if not 0.0 < dt < math.inf:
            raise ArgumentError(f"dt must be positive [s], got {dt!r}")
        if self.pushes:
            self.pushes = [p for p in self.pushes if self.state.t < p.start + p.duration]
        if self.injections:
            self._inject(self.state.t)
        self._command = command.copy()
        q, qd, given, tau_ext = self.advance(self._command, dt)
        self.state = PlantState(self.state.t + dt, q, qd, given, tau_ext)
        self._measured = None if self._exact_sensors else self._measure()
        return self.state

    @property
    def measurement(self) -> Measurement:
        """Current readings of the robot's own sensors."""
        if self._measured is None:
            self._measured = self._measure()
        return self._measured

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
        """Push a point [m] of a link, in axes 'base' or 'link', from `start` [s]; return it."""
        begin = self.state.t if start is None else start
        if one_of("axes", axes, ("base", "link")) == "link":
            R = forward_kinematics(self.model, self.state.q, link)[:3, :3]
            with np.errstate(invalid="ignore", over="ignore"):  # make_push rejects it
                force, torque = R @ np.asarray(force), R @ np.asarray(torque)
        made = make_push(self.model, link, force, point, begin, duration, shape, torque, ramp)
        self.pushes.append(made)
        return made

    def attach(self, payload: Payload) -> None:
        """Attach a payload to a link."""
        self.model = self.model.replace(payload=payload)  # raises if it is invalid
        self.payloads.append(payload)
        self.rebuild()

    def drop(self, payload: Payload | None = None) -> None:
        """Drop a payload; without an argument, all of them."""
        self.payloads = [held for held in self.payloads if payload not in (None, held)]
        self.model = self.bare
        for held in self.payloads:
            self.model = self.model.replace(payload=held)
        self.rebuild()

    def fail(self, joint: str, kind: str, value: float | None = None) -> Fault:
        """Inject a fault and return it; it replaces an earlier fault of the joint.

        joint: empty for a fault of the effort of all joints.
        """
        self._add_fault(fault := make_fault(joint, kind, value))
        return fault

    def mend(self, joint: str) -> None:
        """Remove a joint's fault; empty: that of all joints."""
        k = self._joint(joint) if joint else -1
        self.faults.pop(joint, None)
        self._frozen.pop(k, None)
        self._set_motors()
        self.rebuild()

    def schedule(
        self, what: Fault | Payload, start: float | None = None, duration: float = math.inf
    ) -> Injection:
        """Let a fault or a payload act from `start` [s], by default from now; return it."""
        if isinstance(what, Payload):
            self.bare.replace(payload=what)  # raises if it is invalid
        elif what.joint:
            self._joint(what.joint)
        if not duration > 0.0:
            raise ArgumentError(f"duration of a fault must be positive [s], got {duration!r}")
        made = Injection(what, self.state.t if start is None else start, duration)
        self.injections.append(made)
        return made

    def cancel(self, injection: Injection) -> None:
        """Remove a scheduled fault or payload, whether it acts or not."""
        if injection in self.injections:
            self.injections.remove(injection)
        if injection in self._injected:
            self._injected.remove(injection)
            self._end(injection.what)

    @property
    def acting(self) -> tuple[Fault | Payload, ...]:
        """Present faults and payloads."""
        return (*self.faults.values(), *self.payloads)

    def _inject(self, t: float) -> None:
        """Begin what is due at the time t [s], and end what is over."""
        for one in [one for one in self._injected if not one.acts(t)]:
            self._injected.remove(one)
            self._end(one.what)
        self.injections = [one for one in self.injections if t < one.start + one.duration]
        for one in self.injections:
            if one.acts(t) and one not in self._injected:
                self._injected.append(one)
                if isinstance(one.what, Payload):
                    self.attach(one.what)
                else:
                    self._add_fault(one.what)

    def _end(self, what: Fault | Payload) -> None:
        if isinstance(what, Payload):
            self.drop(what)
        elif self.faults.get(what.joint) is what:  # else another one has replaced it
            self.mend(what.joint)

    def _add_fault(self, fault: Fault) -> None:
        k = self._joint(fault.joint) if fault.joint else -1
        self.faults[fault.joint] = fault
        self._frozen.pop(k, None)
        if fault.kind in FREEZES:
            seen = float(self.measurement.q[k]), float(self.measurement.qd[k])
            shown = (
                {"kept": x, "zero": 0.0}.get(how) for how, x in zip(FREEZES[fault.kind], seen)
            )
            self._frozen[k] = next(shown), next(shown)
        self._set_motors()
        self.rebuild()

    # what a subclass defines

    @abstractmethod
    def advance(self, command: Array, dt: float) -> tuple[Array, Array, Array, Array]:
        """Integrate over dt [s]; return q, qd, motor torque and external torque (n,) each.

        It begins at `state`, with the torque of `motor_torque(command)` and the pushes of
        `push_torque`. The arrays become the next state.
        """

    def restart(self) -> None:
        """Start from `state` after a reset: it has the first q and qd again."""
        self.rebuild()

    def rebuild(self) -> None:  # noqa: B027 (most need none)
        """Adopt a changed `model` or changed faults: `friction_rows`, `locked_joints`."""

    def reported_effort(self) -> Array:
        """Return the torque (n,) that the robot reports, without the errors of its sensors.

        It is the commanded one: faults of the motors do not show in it.
        """
        return np.clip(self._command, -self.motor_limit, self.motor_limit)

    # what it needs for that

    def motor_torque(self, command: Array) -> Array:
        """Return the torque (n,) of the motors for a command, with their limits and faults."""
        limited = np.clip(command, -self.motor_limit, self.motor_limit)
        return np.asarray(self.motor_gain * limited + self.motor_bias)

    def push_torque(self, t: float, q: Array) -> Array:
        """Return the joint torque (n,) of all pushes at the time t [s] and the posture q (n,)."""
        total = np.zeros(self.model.n)
        for push in self.pushes:
            J = jacobian(self.model, q, push.link, push.point)
            total += push.strength(t) * (push.force @ J[:3] + push.torque @ J[3:])
        return total

    def friction_rows(self) -> Array:
        """Return the friction of each joint (n, 9), with faults, as in `packed_model`."""
        rows = friction_rows(pack_friction(self.model)).T.copy()
        # A narrower step than this is too stiff to integrate
        rows[:, int(at.WIDTH)] = np.maximum(rows[:, int(at.WIDTH)], self.friction_width)
        if not self.friction:
            rows[:, SIZES] = 0.0
        for fault in self.faults.values():
            if fault.kind == "friction":
                rows[self._joint(fault.joint), SIZES] *= fault.value
        return rows

    def locked_joints(self, positions: Array) -> dict[str, float]:
        """Return where joints with that fault are held; positions (n,): of the drives now."""
        self._locked = {
            fault.joint: self._locked.get(fault.joint, float(positions[self._joint(fault.joint)]))
            for fault in self.faults.values()
            if fault.kind == "locked"
        }
        return self._locked

    def _set_motors(self) -> None:
        """Set the motors' limits, gains and biases: torque = gain * clip(command) + bias."""
        n = self.bare.n
        self.motor_limit = np.array(self.bare.tau_max) if self.saturate else np.full(n, np.inf)
        self.motor_gain, self.motor_bias = np.ones(n), np.zeros(n)
        for fault in self.faults.values():
            if not fault.joint:  # of the reported effort
                continue
            k = self._joint(fault.joint)
            if fault.kind == "free_swinging":
                self.motor_gain[k] = 0.0
            elif fault.kind == "effectiveness":
                self.motor_gain[k] = fault.value
            elif fault.kind == "bias":
                self.motor_bias[k] = fault.value

    def _measure(self) -> Measurement:
        state = self.state
        measured = self.sensors.measure(state.t, state.q, state.qd, self.reported_effort())
        if not self.faults:
            return measured
        q, qd, tau = measured.q.copy(), measured.qd.copy(), measured.tau.copy()
        for k, (position, velocity) in self._frozen.items():
            q[k] = q[k] if position is None else position
            qd[k] = qd[k] if velocity is None else velocity
        for fault in self.faults.values():
            if fault.kind in ON_ALL_JOINTS:
                tau[self._joint(fault.joint) if fault.joint else slice(None)] *= fault.value
        return replace(measured, q=q, qd=qd, tau=tau)

    def _joint(self, joint: str) -> int:
        try:
            return self.model.joint_names.index(joint)
        except ValueError:
            known = ", ".join(self.model.joint_names)
            raise ArgumentError(f"unknown joint '{joint}'; the joints are {known}") from None

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
