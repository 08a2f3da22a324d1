"""Controller: what all laws share. From where the arm is and should be to a torque it may have."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from ..dynamics.dispatch import per_joint, states_of
from ..dynamics.motion import Motion
from ..errors import ArgumentError
from ..model.packed_model import aligned_copy
from ..model.robot import RobotModel
from .limits import Limiter, TorqueLimits

Array = npt.NDArray[np.float64]

PERIOD = 1e-3  # [s]


class JointState(NamedTuple):
    """The part of a state that laws read. Anything else with these names will do as well."""

    q: Array  # [rad or m]
    qd: Array  # [1/s]
    tau: Array | None = None  # [N m or N] as measured; few ask for it, nor for the next
    motor_qd: Array | None = None  # [1/s] of the motors, reflected to the joints


class Compensation(Protocol):
    """A torque that is added to a law's, before the limits: see `friction`."""

    def add(self, state: Any, reference: Any, given: Array, wanted: Array, dt: float) -> None:
        """Add to `wanted`. `given` was commanded during the dt [s] that ends with this state."""

    def reset(self) -> None:
        """Forget the past."""


class Controller(ABC):
    """A control law with its limits.

    limits: by default the model's torque limits and any rate. period [s]: the time between two
    calls that do not say otherwise. compensation: added to the law's torque.

    To go from one law to another while the arm moves, let the new one begin where the old one
    ended, `new.reset(old.tau)`: an integral then takes up the difference, and without one the
    rate limit sees to it that nothing jumps.
    """

    def __init__(
        self,
        model: RobotModel,
        *,
        limits: TorqueLimits | None = None,
        period: float = PERIOD,
        compensation: Compensation | None = None,
    ) -> None:
        if not (isinstance(period, (int, float)) and 0.0 < period < math.inf):
            raise ArgumentError(f"period must be positive and finite [s], got {period!r}")
        self._robot = model  # as it was given, whatever a law may learn about it
        self.model = model
        self.period = float(period)
        self.compensation = compensation
        self._limiter = Limiter(model, limits)
        self._packed = aligned_copy(model.packed)  # with the work space of the law's kernel
        self._wanted = np.zeros(model.n)
        self._taking_over = False  # the next torque is the first after one that `reset` was told

    @property
    def limits(self) -> TorqueLimits:
        """The limits at work."""
        return self._limiter.limits

    @property
    def tau(self) -> Array:
        """The torque given last: where the rate limit starts from. As from `torque`: no copy."""
        return self._limiter.tau

    @property
    def excess(self) -> Array:
        """What the last call asked for beyond the torque given [N m or N], 0 if not limited."""
        return self._limiter.excess

    def torque(self, state: Any, reference: Any, dt: float | None = None) -> Array:
        """(n,): the torque [N m or N] for this state on the way along this reference.

        state: anything with q and qd, (n,) each. reference: a `Motion`, or what the law follows.
        dt [s]: since the last call. The array is the controller's own and the next call changes
        it: copy it to keep it. If anything is not finite, this raises and `tau` stays as it was.
        """
        step = self.period if dt is None else dt
        if not 0.0 < step < math.inf:
            raise ArgumentError(f"dt must be positive and finite [s], got {dt!r}")
        try:
            failed = self._law(state, reference, step)
        except (TypeError, AttributeError):
            failed = 1
        if failed:  # lists and the like, or the error that names what is wrong
            state, reference = self._checked(state, reference)
            if self._law(state, reference, step):
                self._refuse()
        if self.compensation is not None:
            self.compensation.add(state, reference, self._limiter.tau, self._wanted, step)
        if self._taking_over:
            self._take_over()
        if not self._limiter.apply(self._wanted, step):
            self._checked(state, reference)
            self._refuse()
        return self._limiter.tau

    def reset(self, tau: npt.ArrayLike | None = None) -> None:
        """Forget integrals and the last torque; begin at `tau`, else free of the rate limit.

        An integral starts so that the next torque is `tau`, as far as that can be.
        """
        self._limiter.reset(None if tau is None else joint_array(self._robot, "tau", tau))
        self._taking_over = tau is not None
        if self.compensation is not None:
            self.compensation.reset()

    @abstractmethod
    def _law(self, state: Any, reference: Any, dt: float) -> int:
        """Write the law's torque to `self._wanted`; not 0, and nothing kept, if it cannot be."""

    def _take_over(self) -> None:
        """Let the first torque be the last one, if the law has a way to keep that up."""
        limit = self.limits.tau_max
        missing = np.clip(self._limiter.tau, -limit, limit) - self._wanted
        if np.isfinite(missing).all():
            self._taking_over = False
            self._wanted += self._taken_up(missing)

    def _taken_up(self, missing: Array) -> Array:
        """(n,): as much of a missing torque as the law's integral, if it has one, takes up."""
        return np.zeros_like(missing)

    def _checked(self, state: Any, reference: Any) -> tuple[JointState, Any]:
        """Both in the form that kernels read, or the error that says what is wrong with them."""
        return self._checked_state(state), self._checked_reference(reference)

    def _checked_state(self, state: Any) -> JointState:
        known = {name: part(state, "state", name) for name in ("q", "qd")}
        known |= {name: getattr(state, name, None) for name in ("tau", "motor_qd")}
        return JointState(
            **{
                name: joint_array(self._robot, name, x)
                for name, x in known.items()
                if x is not None
            }
        )

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
    """owner.name, or the error that says what is missing."""
    try:
        return getattr(owner, name)
    except AttributeError:
        raise ArgumentError(f"a {what} must have '{name}'; {owner!r} has not") from None


def joint_array(model: RobotModel, name: str, value: Any) -> Array:
    """(n,): a copy of one sample of numbers, finite, or the error that names the joint."""
    array = np.array(states_of(model, name, value), order="C")
    if array.ndim != 1:
        raise ArgumentError(f"{name} must be one sample, ({model.n},), got {array.shape}")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        joint = model.joint_names[bad[0]]
        raise ArgumentError(f"{name} of joint '{joint}' is {array[bad[0]]}; it must be finite")
    return array


def gains_of(model: RobotModel, name: str, value: npt.ArrayLike, *, zero: bool = False) -> Array:
    """(n,): positive gains, or not negative if `zero` is allowed, from one for all or one each."""
    gains = per_joint(model, name, value)
    bad = np.flatnonzero(gains < 0.0 if zero else gains <= 0.0)
    if bad.size:
        joint, wanted = model.joint_names[bad[0]], "not be negative" if zero else "be positive"
        raise ArgumentError(f"{name} of joint '{joint}' must {wanted}, got {gains[bad[0]]:g}")
    return gains
