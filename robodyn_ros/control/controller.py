"""Controller: base of all control laws, from state and reference to a torque within limits."""

import math
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from ..dynamics.dispatch import per_joint, states_of
from ..dynamics.motion import Motion
from ..errors import ArgumentError, positive
from ..model.packed_model import aligned_copy
from ..model.robot import RobotModel
from .limits import Limiter, TorqueLimits

Array = npt.NDArray[np.float64]

PERIOD = 1e-3  # [s], default time between two samples


class JointState(NamedTuple):
    """Measured state of the joints; laws take any object with these names."""

    q: Array  # [rad or m]
    qd: Array  # [rad/s or m/s]
    tau: Array | None = None  # [N m or N], measured behind the drives; for FrictionObserver
    motor_qd: Array | None = None  # [rad/s or m/s] of the motors, reflected to the joints
    motor_q: Array | None = None  # [rad or m] of the motors, for ElasticJointController


class Compensation(Protocol):
    """A torque added to that of a law before the limits: see `laws.friction_compensation`."""

    def add(self, state: Any, reference: Any, given: Array, wanted: Array, dt: float) -> None:
        """Add to `wanted` (n,). `given` (n,): commanded during the dt [s] before this state."""

    def reset(self) -> None:
        """Forget all estimates."""


class Controller:
    """Control law with its limits, by default the model's torque limits and any rate.

    A law of your own is a subclass with `law_torque`.
    period: default of `dt` [s]. compensation: added to the law's torque. To switch laws in motion,
    start the new one at the old torque, `new.reset(old.tau)`: an integral takes up the difference.
    """

    def __init__(
        self,
        model: RobotModel,
        *,
        limits: TorqueLimits | None = None,
        period: float = PERIOD,
        compensation: Compensation | None = None,
    ) -> None:
        self._robot = model  # as given; an adaptive law changes `model`
        self.model = model
        self.period = positive("period", period, "s")
        self.compensation = compensation
        self._limiter = Limiter(model, limits)
        self._packed = aligned_copy(model.packed)  # with the work space of the law's kernel
        self._wanted = np.zeros(model.n)
        self._taking_over = False  # the next torque is the first after `reset(tau)`

    @property
    def limits(self) -> TorqueLimits:
        """Limits in use."""
        return self._limiter.limits

    @property
    def tau(self) -> Array:
        """Last torque (n,) [N m or N], from which the rate limit starts; not a copy."""
        return self._limiter.tau

    @property
    def excess(self) -> Array:
        """Torque (n,) [N m or N] that the limits cut off in the last call, with its sign."""
        return self._limiter.excess

    def torque(self, state: Any, reference: Any, dt: float | None = None) -> Array:
        """Return the torque (n,) [N m or N] for a state and a reference.

        state: any object with q and qd, (n,) each. reference: a `Motion`, or what the law follows.
        dt: time since the last call [s]. The array belongs to the controller and changes with the
        next call: copy it to keep it. Raises if a number is not finite; `tau` is unchanged then.
        """
        step = self.period if dt is None else dt
        if not 0.0 < step < math.inf:
            raise ArgumentError(f"dt must be positive and finite [s], got {dt!r}")
        try:
            failed = self._law(state, reference, step)
        except (TypeError, AttributeError):
            failed = 1
        if failed:  # not arrays, or not finite
            state, reference = self._checked(state, reference)
            if self._law(state, reference, step):
                self._refuse()
        if self.compensation is not None:
            drives = self._drives(reference)
            self.compensation.add(state, drives, self._limiter.tau, self._wanted, step)
        if self._taking_over:
            self._take_over()
        if not self._limiter.apply(self._wanted, step):
            self._checked(state, reference)
            self._refuse()
        return self._limiter.tau

    def at_drives(self, state: Any, dt: float) -> Any:
        """Return the state for a law that damps the motion: with the velocity of the drives.

        dt: time since the last call of this or of `torque` [s].
        """
        return state

    def reset(self, tau: npt.ArrayLike | None = None) -> None:
        """Reset integrals and rate limit; the next torque is near `tau` (n,), if given."""
        self._limiter.reset(None if tau is None else joint_array(self._robot, "tau", tau))
        self._taking_over = tau is not None
        if self.compensation is not None:
            self.compensation.reset()

    def take_over(self, tau: npt.ArrayLike) -> None:
        """Start at the torque `tau` (n,), as `reset`; what was learned is kept."""
        self.reset(tau)

    def share_limits(self, law: "Controller") -> None:
        """Use limits and last torque of another law: the torque does not jump between the two."""
        self._limiter = law._limiter

    def law_torque(self, state: Any, reference: Any, dt: float) -> npt.ArrayLike:
        """Return the torque (n,) [N m or N] that the law asks for, before compensation and limits.

        The method to write for a law of your own; arguments as of `torque`.
        """
        raise NotImplementedError(f"{type(self).__name__} must define law_torque")

    def _law(self, state: Any, reference: Any, dt: float) -> int:
        """Write `self._wanted`; return 0, or 1 and keep nothing if an input is bad.

        Compiled laws override this instead of `law_torque`.
        """
        tau = self.law_torque(state, reference, dt)
        try:
            self._wanted[:] = tau
        except (TypeError, ValueError):
            raise ArgumentError(
                f"law_torque of {type(self).__name__} must return {self.model.n} numbers, "
                f"got {tau!r}"
            ) from None
        return 0

    def _drives(self, reference: Any) -> Any:
        """Return the reference of the drives, at which friction is compensated."""
        return reference

    def _take_over(self) -> None:
        """Make the first torque equal to the last one, as far as the law's integral allows."""
        limit = self.limits.tau_max
        missing = np.clip(self._limiter.tau, -limit, limit) - self._wanted
        if np.isfinite(missing).all():
            self._taking_over = False
            self._wanted += self._taken_up(missing)

    def _taken_up(self, missing: Array) -> Array:
        """Let an integral take up a missing torque (n,); return the share taken up."""
        return np.zeros_like(missing)

    def _checked(self, state: Any, reference: Any) -> tuple[JointState, Any]:
        """Return both as arrays for the kernels, or raise the error that names the fault."""
        return self._checked_state(state), self._checked_reference(reference)

    def _checked_state(self, state: Any) -> JointState:
        known = {name: part(state, "state", name) for name in ("q", "qd")}
        for name in JointState._fields[2:]:
            if getattr(state, name, None) is not None:
                known[name] = getattr(state, name)
        return JointState(**{name: joint_array(self._robot, name, x) for name, x in known.items()})

    def _checked_reference(self, reference: Any) -> Any:
        q, qd, qdd = (
            joint_array(self._robot, f"reference.{name}", part(reference, "reference", name))
            for name in ("q", "qd", "qdd")
        )
        return Motion(q, qd, qdd, np.zeros(self._robot.n))

    def _refuse(self) -> NoReturn:
        bad = np.flatnonzero(~np.isfinite(self._wanted))
        joint = f" of joint '{self._robot.joint_names[bad[0]]}'" if bad.size else ""
        raise ArgumentError(
            f"the torque{joint} is not finite: state and reference are too far apart, or too fast"
        )


def part(owner: Any, what: str, name: str) -> Any:
    """Return owner.name, or raise the error that names what is missing."""
    try:
        return getattr(owner, name)
    except AttributeError:
        raise ArgumentError(f"a {what} must have '{name}'; {owner!r} has not") from None


def joint_array(model: RobotModel, name: str, value: Any) -> Array:
    """Return a copy (n,) of finite numbers, or raise the error that names the joint."""
    array = np.array(states_of(model, name, value), order="C")
    if array.ndim != 1:
        raise ArgumentError(f"{name} must be one sample, ({model.n},), got {array.shape}")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        joint = model.joint_names[bad[0]]
        raise ArgumentError(f"{name} of joint '{joint}' is {array[bad[0]]}; it must be finite")
    return array


def gains_of(model: RobotModel, name: str, value: npt.ArrayLike, *, zero: bool = False) -> Array:
    """Return positive gains (n,) from one for all joints or one each; `zero`: they may be 0."""
    gains = per_joint(model, name, value)
    bad = np.flatnonzero(gains < 0.0 if zero else gains <= 0.0)
    if bad.size:
        joint, wanted = model.joint_names[bad[0]], "not be negative" if zero else "be positive"
        raise ArgumentError(f"{name} of joint '{joint}' must {wanted}, got {gains[bad[0]]:g}")
    return gains
