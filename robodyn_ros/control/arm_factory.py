"""ArmParts: the laws and reactions that an `ArmController` makes of its settings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..dynamics.dispatch import per_joint
from ..dynamics.mass_matrix import mass_matrix
from ..model.robot import RobotModel
from .arm_settings import ArmSettings
from .controller import Controller
from .friction import FrictionFeedForward
from .laws.computed_torque import ComputedTorqueController
from .laws.passivity import PassivityController
from .laws.pd_gravity import PdGravityController
from .laws.pid import PidController
from .limits import Limiter, TorqueLimits
from .momentum_damping import YieldingController
from .reactions import Admittance, Float, Reaction, Reflex, Stop


class ArmParts(NamedTuple):
    """What works with one set of settings. All laws in it share one limiter."""

    settings: ArmSettings
    law: Controller
    reaction: Reaction | None  # None: a touch leads to nothing
    stop: Stop
    idle: YieldingController
    # If settings lower the torque limits, the torque comes down to them no faster than this:
    rate_limiter: Limiter

    @classmethod
    def of(cls, model: RobotModel, settings: ArmSettings) -> ArmParts:
        """For a robot, or the error that says what does not fit it."""
        law = _law(model, settings)
        return cls(
            settings,
            law,
            _reaction(law, settings),
            Stop(law, settings.braking),
            YieldingController.beside(law, damping=settings.damping),
            Limiter(model, TorqueLimits(np.inf, law.limits.tau_rate_max)),
        )


def _limits(model: RobotModel, settings: ArmSettings) -> TorqueLimits:
    """What the motors may be asked for."""
    rate = per_joint(model, "tau_rate_max", settings.tau_rate_max)
    return TorqueLimits(settings.torque_share * model.tau_max, rate)


def _law(model: RobotModel, settings: ArmSettings) -> Controller:
    """The law that tracks, within the limits."""
    w = per_joint(model, "frequency", settings.frequency)
    options: dict[str, Any] = {"limits": _limits(model, settings)}
    if settings.friction:
        options["compensation"] = FrictionFeedForward(model)
    if settings.controller == "passivity":
        return PassivityController.with_frequency(model, w, **options)
    if settings.controller == "computed_torque":
        return ComputedTorqueController.with_frequency(model, w, **options)
    inertia = np.diag(mass_matrix(model, np.zeros(model.n)))
    if settings.controller == "pd_gravity":
        return PdGravityController(model, w**2 * inertia, 2.0 * w * inertia, **options)
    return PidController.with_triple_pole(model, w, **options)


def _reaction(law: Controller, settings: ArmSettings) -> Reaction | None:
    """What a touch leads to; None: nothing. Gains are checked whether they are used or not."""
    reflex_gain = per_joint(law.model, "reflex_gain", settings.reflex_gain)
    admittance_gain = per_joint(law.model, "admittance_gain", settings.admittance_gain)
    if settings.reaction == "none":
        return None
    if settings.reaction == "stop":
        return Stop(law, settings.braking)
    if settings.reaction == "float":
        return Float(law, settings.damping)
    if settings.reaction == "reflex":
        return Reflex(law, reflex_gain, settings.damping)
    return Admittance(law, admittance_gain, settings.admittance_damping, settings.braking)
