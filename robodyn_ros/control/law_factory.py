"""The tracking law and the reaction that a set of `ArmSettings` asks for.

Gains that are not given follow from `frequency`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics.dispatch import per_joint
from ..dynamics.mass_matrix import mass_matrix
from ..errors import ArgumentError
from ..model.robot import RobotModel
from ..settings import one_or_each
from .arm_settings import OWN, ArmSettings
from .controller import Compensation, Controller
from .laws.adaptive import AdaptiveController
from .laws.adaptive_parameters import Load
from .laws.computed_torque import ComputedTorqueController
from .laws.elastic import ElasticJointController
from .laws.friction_compensation import FrictionFeedForward, FrictionObserver
from .laws.passivity import PassivityController
from .laws.pd_gravity import PdGravityController
from .laws.pid import PidController
from .laws.task_space import JointTaskController
from .limits import TorqueLimits
from .reactions import Admittance, Float, NullSpace, Reaction, Reflex, Stop

Array = npt.NDArray[np.float64]

# Makes a law of one's own, by (model, settings, limits=, compensation=): a subclass of Controller
LawMaker = Callable[..., Controller]


def tracking_law(
    model: RobotModel, settings: ArmSettings, own: LawMaker | None = None
) -> Controller:
    """Return the law for a robot; raise an error if the settings do not fit it.

    own: makes the law for `controller: own`.
    """
    rate = per_joint(model, "tau_rate_max", one_or_each(settings.tau_rate_max))
    limits = TorqueLimits(settings.torque_share * model.tau_max, rate)
    options = {"limits": limits, "compensation": _compensation(model, settings)}
    for name in ("kp", "kd", "ki", "rate"):
        if given := getattr(settings, name):
            per_joint(model, name, one_or_each(given))  # checked even if it is not used
    w = per_joint(model, "frequency", one_or_each(settings.frequency))
    if settings.controller != OWN:
        return LAWS[settings.controller](model, settings, w, options)
    if own is None:
        raise ArgumentError(
            "controller 'own' needs a program that gives a law: ArmController(..., law=...), or "
            "controller_node.main(law=...)"
        )
    return own(model, settings, **options)


def _gains(settings: ArmSettings, **by_frequency: npt.ArrayLike) -> dict[str, Any]:
    """Return the gains that are given, and by frequency those that are not."""
    given = {name: getattr(settings, name) for name in by_frequency}
    return {
        name: one_or_each(given[name]) if given[name] else default
        for name, default in by_frequency.items()
    }


def _inertia(model: RobotModel) -> Array:
    return np.diag(mass_matrix(model, np.zeros(model.n)))


def _passivity(model: RobotModel, settings: ArmSettings, w: Array, options: Any) -> Controller:
    gains = _gains(settings, kd=w * _inertia(model), rate=w)
    if settings.kp:
        gains["kp"] = one_or_each(settings.kp)
    return PassivityController(model, **gains, **options)


def _computed_torque(
    model: RobotModel, settings: ArmSettings, w: Array, options: Any
) -> Controller:
    gains = _gains(settings, kp=w**2, kd=2.0 * w)
    return ComputedTorqueController(model, **gains, mode=settings.computed_torque, **options)


def _pd_gravity(model: RobotModel, settings: ArmSettings, w: Array, options: Any) -> Controller:
    inertia = _inertia(model)
    gains = _gains(settings, kp=w**2 * inertia, kd=2.0 * w * inertia)
    return PdGravityController(model, **gains, gravity_at=settings.gravity_at, **options)


def _pid(model: RobotModel, settings: ArmSettings, w: Array, options: Any) -> Controller:
    law = PidController.with_triple_pole(model, w, **options)
    if settings.kp or settings.kd or settings.ki:
        gains = _gains(settings, kp=law.kp, kd=law.kd, ki=law.ki)
        law = PidController(model, **gains, **options)
    return law


def _task_space(model: RobotModel, settings: ArmSettings, w: Array, options: Any) -> Controller:
    if np.ptp(w) > 0.0 and not (settings.kp and settings.kd):
        raise ArgumentError(
            "the task_space law needs one frequency for all directions, or one kp and one kd; "
            f"frequency is {settings.frequency}"
        )
    gains = _gains(settings, kp=w[0] ** 2, kd=2.0 * w[0])
    task = settings.task
    return JointTaskController(
        model,
        task.link or model.link_names[-1],
        **gains,
        point=task.point,
        orientation=task.orientation,
        null_damping=task.null_damping,
        **options,
    )


def _adaptive(model: RobotModel, settings: ArmSettings, w: Array, options: Any) -> Controller:
    adaptive = settings.adaptive
    kd: Any = one_or_each(settings.kd) if settings.kd else None
    if adaptive.law == "slotine_li" and kd is None:
        kd = w * _inertia(model)
    return AdaptiveController(
        model,
        kd,
        **_gains(settings, rate=w),
        law=adaptive.law,
        unknown=adaptive.unknown,
        gain=adaptive.gain,
        load=Load(link=adaptive.link, reach=adaptive.reach),
        dead_zone=adaptive.dead_zone,
        **options,
    )


def _elastic(model: RobotModel, settings: ArmSettings, w: Array, options: Any) -> Controller:
    elastic = settings.elastic.options()
    return ElasticJointController.with_frequency(model, w, **elastic, **options)


LAWS = {
    "passivity": _passivity,
    "computed_torque": _computed_torque,
    "pd_gravity": _pd_gravity,
    "pid": _pid,
    "task_space": _task_space,
    "adaptive": _adaptive,
    "elastic": _elastic,
}


def _compensation(model: RobotModel, settings: ArmSettings) -> Compensation | None:
    if settings.friction and settings.friction_observer:
        raise ArgumentError(
            "friction is compensated by its model or by an observer: friction is true and "
            f"friction_observer {settings.friction_observer:g}; choose one"
        )
    if settings.friction_observer:
        return FrictionObserver(model, settings.friction_observer)
    return FrictionFeedForward(model) if settings.friction else None


def reaction_of(law: Controller, settings: ArmSettings) -> Reaction | None:
    """Return the reaction to contact, or None if contact is ignored."""
    # Gains are checked even if they are not used
    reflex_gain = per_joint(law.model, "reflex_gain", one_or_each(settings.reflex_gain))
    admittance_gain = per_joint(
        law.model, "admittance_gain", one_or_each(settings.admittance_gain)
    )
    if settings.reaction == "none":
        return None
    if settings.reaction == "stop":
        return Stop(law, settings.braking)
    if settings.reaction == "float":
        return Float(law, settings.damping)
    if settings.reaction == "reflex":
        return Reflex(law, reflex_gain, settings.damping)
    if settings.reaction == "null_space":
        task = settings.task
        link = task.link or law.model.link_names[-1]
        return NullSpace(
            law,
            reflex_gain,
            settings.damping,
            link=link,
            point=task.point,
            orientation=task.orientation,
        )
    return Admittance(law, admittance_gain, settings.admittance_damping, settings.braking)
