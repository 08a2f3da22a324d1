"""ArmSettings: the parameters of `Supervisor` and `ArmController`."""

from dataclasses import dataclass

from ..settings import check, group, setting
from .elastic_settings import ElasticSettings
from .fault_answers import FaultAnswers
from .law_settings import AdaptiveSettings, TaskSettings

Numbers = tuple[float, ...]
LAWS = ("passivity", "computed_torque", "pd_gravity", "pid", "task_space", "adaptive", "elastic")
OWN = "own"  # the law that the program has given, see `law_factory.LawMaker`


@dataclass(frozen=True)
class ArmSettings:
    """Parameters of a controlled arm."""

    controller: str = setting(
        "passivity",
        "tracking law",
        choices=(*LAWS, OWN),
    )
    computed_torque: str = setting(
        "tracking", "form of the computed torque", choices=("tracking", "position", "predictive")
    )
    gravity_at: str = setting(
        "measured",
        "pd_gravity: posture at which gravity is compensated",
        choices=("measured", "desired"),
    )
    task: TaskSettings = group(TaskSettings)
    adaptive: AdaptiveSettings = group(AdaptiveSettings)
    elastic: ElasticSettings = group(ElasticSettings)
    frequency: Numbers = setting(
        (30.0,), "natural frequency of the law, critically damped at posture 0", "rad/s", 0.1, 1e3
    )
    kp: Numbers = setting(
        (), "K_P, as the law defines it; empty: by frequency", low=0.0, numbers=True
    )
    kd: Numbers = setting(
        (), "K_D, as the law defines it; empty: by frequency", low=0.0, numbers=True
    )
    ki: Numbers = setting(
        (), "pid: K_I; empty: by frequency", "N m/(rad s)", low=0.0, numbers=True
    )
    rate: Numbers = setting(
        (), "passivity, adaptive: Lambda; empty: the frequency", "1/s", low=0.0, numbers=True
    )
    friction: bool = setting(False, "compensate the model's friction at the reference velocity")
    friction_observer: float = setting(
        0.0,
        "observe the drives' friction at this rate and compensate it, if the effort is measured "
        "behind them; 0: do not",
        "1/s",
        0.0,
        1e3,
    )
    torque_share: float = setting(
        1.0, "share of the model's torque limits that is used", "", 0.01, 1.0
    )
    tau_rate_max: Numbers = setting((1000.0,), "torque rate limit", "N m/s or N/s", 1.0)
    qdd_max: Numbers = setting(
        (), "acceleration limit of the reference; empty: none", "rad/s^2", low=0.01, numbers=True
    )
    scaling: str = setting(
        "live",
        "trajectories beyond the limits: slow down where needed, or reject",
        choices=("live", "strict"),
    )
    catch_up: float = setting(
        1.25, "largest speed-up of the trajectory to make up for a delay", "", 1.0, 4.0
    )
    reaction: str = setting(
        "stop",
        "reaction to contact: go on, brake, float freely, follow the push, retract along it, give "
        "way but keep the hand",
        choices=("none", "stop", "float", "reflex", "admittance", "null_space"),
    )
    reflex_gain: Numbers = setting(
        (2.0,), "reflex, null_space: amplification of the external torque", "", 0.0, 100.0
    )
    admittance_gain: Numbers = setting(
        (5.0,), "admittance: ratio of the arm's inertia to the apparent one", "", 1e-3, 100.0
    )
    admittance_damping: float = setting(
        10.0, "admittance: decay rate of the velocity", "1/s", 0.1, 100.0
    )
    damping: float = setting(
        3.0, "float, reflex, disabled: decay rate of the velocity", "1/s", 0.0, 100.0
    )
    braking: float = setting(
        30.0, "stop, safe hold: decay rate of the velocity, within the limits", "1/s", 1.0, 100.0
    )
    resume_after: float = setting(
        0.0, "resume after this long at rest without contact; 0: only after `clear`", "s", 0.0
    )
    return_speed: float = setting(
        0.25, "share of the speed limits for the return to the path", "", 0.01, 1.0
    )
    ramp: float = setting(
        0.5, "shortest time to start, to stop, or to speed up again", "s", 0.01, 10.0
    )
    start_tolerance: float = setting(
        0.1, "largest distance to the start of a trajectory", "rad or m", 0.0, 10.0
    )
    error_max: float = setting(
        0.5,
        "safe hold above this tracking error; velocity errors: see swing_time",
        "rad or m",
        1e-3,
        10.0,
    )
    timeout: float = setting(
        0.02, "safe hold of a moving arm after this long without a valid sample", "s", 1e-3, 1.0
    )
    rest_timeout: float = setting(
        5.0, "safe hold of a resting arm after this long without a valid sample", "s", 0.01, 3600.0
    )
    feedback_delay: float = setting(
        0.1, "command feedback is ignored for this long after a start", "s", 0.0, 10.0
    )
    start_speed: float = setting(
        0.1, "brake first if the arm is faster than this at the start", "rad/s or m/s", 0.0, 100.0
    )
    swing_time: float = setting(
        0.03,
        "safe hold if the velocity error exceeds error_max per second, with the torque at its "
        "limits, for this long",
        "s",
        0.0,
        10.0,
    )
    ramp_down_time: float = setting(
        0.5, "shutdown: remove the torque after braking for this long", "s", 0.0, 10.0
    )
    on_fault: FaultAnswers = group(FaultAnswers)
    disabled: str = setting("gravity", "torque while disabled", choices=("gravity", "zero"))

    def __post_init__(self) -> None:
        check(self)
