"""ArmSettings: how an arm is controlled, the parameter set of an `ArmController`."""

from __future__ import annotations

from dataclasses import dataclass

from ..settings import check, setting


@dataclass(frozen=True)
class ArmSettings:
    """How an arm is controlled."""

    controller: str = setting(
        "passivity",
        "law that tracks",
        choices=("passivity", "computed_torque", "pd_gravity", "pid"),
    )
    frequency: tuple[float, ...] = setting(
        (30.0,), "of the law, critically damped at posture 0", "rad/s", low=0.1, high=1e3
    )
    friction: bool = setting(False, "add the model's friction at the wanted velocity")
    torque_share: float = setting(
        1.0, "how much of the model's torque limits may be used", low=0.01, high=1.0
    )
    tau_rate_max: tuple[float, ...] = setting(
        (1000.0,), "fastest change of torque", "N m/s or N/s", low=1.0
    )
    reaction: str = setting(
        "stop",
        "to a touch: go on, brake, be free, follow the push, retract along it",
        choices=("none", "stop", "float", "reflex", "admittance"),
    )
    reflex_gain: tuple[float, ...] = setting(
        (2.0,), "reflex: how many times the push is given once more", low=0.0, high=100.0
    )
    admittance_gain: tuple[float, ...] = setting(
        (5.0,), "admittance: how many times lighter than the arm it is", low=1e-3, high=100.0
    )
    admittance_damping: float = setting(
        10.0, "admittance: how fast it comes to rest", "1/s", low=0.1, high=100.0
    )
    damping: float = setting(
        3.0, "float, reflex, disabled: rate at which the speed falls", "1/s", low=0.0, high=100.0
    )
    braking: float = setting(
        30.0, "stop, safe hold: the same, as far as the limits let it", "1/s", low=1.0, high=100.0
    )
    resume_after: float = setting(
        0.0, "time at rest without contact after which it goes on; 0: only when told", "s", low=0.0
    )
    return_speed: float = setting(
        0.25, "share of the joints' speeds with which it returns to its path", low=0.01, high=1.0
    )
    ramp: float = setting(
        0.5, "in which it begins, stops or is back at its pace, at least", "s", low=0.01, high=10.0
    )
    start_tolerance: float = setting(
        0.1, "how far away a trajectory may begin", "rad or m", low=0.0, high=10.0
    )
    error_max: float = setting(
        0.5,
        "tracking error at which it goes to a safe hold, or that much a second of speed while the "
        "torque changes as fast as it may",
        "rad or m",
        low=1e-3,
        high=10.0,
    )
    timeout: float = setting(
        0.02, "silence at which a moving arm goes to a safe hold", "s", low=1e-3, high=1.0
    )
    rest_timeout: float = setting(
        5.0, "silence at which an arm at rest goes to a safe hold", "s", low=0.01, high=3600.0
    )
    feedback_delay: float = setting(
        0.1, "command feedback is ignored for this long after a start", "s", low=0.0, high=10.0
    )
    start_speed: float = setting(
        0.1, "brake an arm that is found faster", "rad/s or m/s", low=0.0, high=100.0
    )
    swing_time: float = setting(
        0.03,
        "velocity error beyond error_max a second, at the torque limits, for this long: safe hold",
        "s",
        low=0.0,
        high=10.0,
    )
    ramp_down_time: float = setting(
        0.5, "shutdown: remove the torque after braking for this long", "s", low=0.0, high=10.0
    )
    disabled: str = setting("gravity", "torque while disabled", choices=("gravity", "zero"))

    def __post_init__(self) -> None:
        check(self)
