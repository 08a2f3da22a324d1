"""Disturbances of a simulated arm: pushes, drive and sensor faults, payloads, model errors."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError, one_of, positive
from ..model.rigid_body import Array
from ..model.robot import Payload, RobotModel

SHAPES = ("step", "ramp", "half_sine")
MAX_PUSH = 1e5  # [N, N m or m], largest component of a push's force, torque or point
RAMP = 0.005  # [s], default rise time of a ramp

KINDS = {
    "free_swinging": "the motor produces no torque",
    "effectiveness": "the motor produces this share of the torque",
    "bias": "the motor adds this torque [N m or N]",
    "locked": "the joint is held in place",
    "friction": "friction is multiplied by this factor",
    "sensor_freeze": "position and velocity readings are stuck",
    "encoder_freeze": "the position reading is stuck, and the velocity reading 0",
    "position_freeze": "the position reading is stuck, the velocity reading is right",
    "velocity_freeze": "the velocity reading is stuck, the position reading is right",
    "effort_scale": "the reported torque is multiplied by this factor",
    "effort_sign": "the reported torque is multiplied by this negative factor",
}
FAULT_DEFAULTS = {
    "effectiveness": 0.5,
    "bias": 5.0,
    "friction": 3.0,
    "effort_scale": 0.1,
    "effort_sign": -1.0,
}
ON_ALL_JOINTS = ("effort_scale", "effort_sign")  # kinds that may concern all joints at once
# What a reading shows while it is stuck: position and velocity, each kept, zero or right
FREEZES = {
    "sensor_freeze": ("kept", "kept"),
    "encoder_freeze": ("kept", "zero"),
    "position_freeze": ("kept", "right"),
    "velocity_freeze": ("right", "kept"),
}


@dataclass(frozen=True, eq=False)
class Push:
    """Force [N] and torque [N m] on a point [m] of a link, with a shape in time."""

    link: str
    force: Array  # (3,) [N], base axes
    point: Array  # (3,) [m], link frame
    torque: Array  # (3,) [N m], base axes
    start: float  # [s]
    duration: float  # [s]
    shape: str = "step"
    ramp: float = RAMP  # [s], rise time

    def strength(self, t: float) -> float:
        """Return the share of the force that acts at time t [s], 0 to 1."""
        age = t - self.start
        if age < 0.0 or age >= self.duration:
            return 0.0
        if self.shape == "ramp":
            return min(1.0, age / self.ramp)
        if self.shape == "half_sine":
            return math.sin(math.pi * age / self.duration)
        return 1.0


def make_push(
    model: RobotModel,
    link: str,
    force: npt.ArrayLike,
    point: npt.ArrayLike,
    start: float,
    duration: float,
    shape: str = "step",
    torque: npt.ArrayLike = (0.0, 0.0, 0.0),
    ramp: float = RAMP,
) -> Push:
    """Return a push after checking every argument."""
    if model.frame(link).body < 0:
        raise ArgumentError(f"link '{link}' is fixed to the base: a push on it moves nothing")
    one_of("shape", shape, SHAPES)
    vectors = {}
    for name, value in (("force", force), ("point", point), ("torque", torque)):
        vector = np.array(value, dtype=np.float64)
        if vector.shape != (3,) or not (np.abs(vector) <= MAX_PUSH).all():
            raise ArgumentError(
                f"{name} of a push must be 3 finite numbers up to {MAX_PUSH:g}, got {value!r}"
            )
        vectors[name] = vector
    for name, seconds in (("duration", duration), ("ramp", ramp)):
        positive(f"{name} of a push", seconds, "s")
    return Push(link=link, start=start, duration=duration, shape=shape, ramp=ramp, **vectors)


@dataclass(frozen=True)
class Fault:
    """One fault of one joint, or of all if the joint is empty; `KINDS` says what a kind does."""

    joint: str
    kind: str
    value: float

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ArgumentError(f"a fault is one of {', '.join(KINDS)}, got {self.kind!r}")
        if not math.isfinite(self.value):
            raise ArgumentError(f"value of a fault must be finite, got {self.value!r}")
        if self.kind in ("effectiveness", "friction", "effort_scale") and self.value < 0.0:
            raise ArgumentError(f"{self.kind} must not be negative, got {self.value!r}")
        if self.kind == "effort_sign" and self.value >= 0.0:
            raise ArgumentError(f"effort_sign must be negative, got {self.value!r}")
        if not self.joint and self.kind not in ON_ALL_JOINTS:
            raise ArgumentError(f"{self.kind} is a fault of one joint: name it")


def make_fault(joint: str, kind: str, value: float | None = None) -> Fault:
    """Return a fault; without a value it gets the default of its kind."""
    return Fault(joint, kind, FAULT_DEFAULTS.get(kind, 0.0) if value is None else float(value))


@dataclass(frozen=True, eq=False)
class Injection:
    """A fault, or a payload in the gripper, that begins at a time and lasts."""

    what: Fault | Payload
    start: float  # [s]
    duration: float = math.inf  # [s]

    def acts(self, t: float) -> bool:
        """Return whether it acts at the time t [s]."""
        return self.start <= t < self.start + self.duration


def perturbed(
    model: RobotModel,
    seed: int,
    *,
    mass: float = 0.03,
    com: float = 0.003,
    inertia: float = 0.03,
    friction: float = 0.2,
) -> RobotModel:
    """Return a copy of the model with random errors; the same seed gives the same robot.

    Masses, inertias and friction change by up to these shares, centres of mass by up to `com` [m]
    along each axis. Inertias scale as a whole and so stay physically consistent.
    """
    bounds = {"mass": mass, "com": com, "inertia": inertia, "friction": friction}
    for name, bound in bounds.items():
        if not 0.0 <= bound < (np.inf if name == "com" else 1.0):
            raise ArgumentError(f"{name} must be a share from 0 to 1 (com: metres), got {bound!r}")
    random = np.random.default_rng(seed)

    def factor(share: float, count: int) -> np.ndarray:
        return 1.0 + random.uniform(-share, share, count)

    bodies = len(model.link_names)
    dry_friction = factor(friction, model.n)
    return model.replace(
        mass=model.mass * factor(mass, bodies),
        com=model.com + random.uniform(-com, com, (bodies, 3)),
        inertia=model.inertia * factor(inertia, bodies)[:, None, None],
        viscous=model.viscous * factor(friction, model.n),
        coulomb=model.coulomb * dry_friction,
        stiction=model.stiction * dry_friction,
        friction_load=model.friction_load * dry_friction,
    )
