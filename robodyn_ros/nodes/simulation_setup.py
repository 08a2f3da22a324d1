"""Set-up of simulator_node: the plant, obstacles, scripted pushes and faults."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..model.payload_settings import PayloadSettings
from ..model.robot import Payload, RobotModel
from ..settings import ParameterSet, one_or_each, setting
from ..simulation.disturbances import KINDS, SHAPES, Fault, make_fault, perturbed
from ..simulation.elastic import ElasticJointPlant
from ..simulation.obstacles import Box, Obstacle, Pendulum, Plane, Sphere
from ..simulation.plant import Plant
from ..simulation.rigid import RigidPlant
from ..simulation.sensors import LWR_SENSORS, SensorModel
from .brake import Brake
from .node_settings import OWN, ModelErrorSettings, Numbers, PlantSettings

PAYLOAD = "payload"  # kind of a scripted fault
USUAL_MASS = 1.5  # [kg], of a payload
OBSTACLES = ("plane", "sphere", "box", "pendulum")

# Makes a plant of one's own, by (model, q, friction=, sensor=, seed=): a subclass of Plant
PlantMaker = Callable[..., Plant]


@dataclass(frozen=True)
class PushSettings(ParameterSet):
    """A scripted push."""

    at: float = setting(1.0, "start, after the first command", "s", low=0.0, fixed=True)
    link: str = setting("", "pushed link", fixed=True)
    force: Numbers = setting((0.0, 0.0, 0.0), "force in the base's axes", "N", fixed=True)
    point: Numbers = setting(
        (0.0, 0.0, 0.0), "point of application in the link's frame", "m", fixed=True
    )
    duration: float = setting(0.2, "duration", "s", low=1e-3, fixed=True)
    shape: str = setting("ramp", "force over time", choices=SHAPES, fixed=True)

    def schedule(self, plant: Plant) -> None:
        """Schedule the push; the script starts now."""
        start = plant.state.t + self.at
        plant.push(self.link, self.force, self.point, self.duration, self.shape, start=start)


@dataclass(frozen=True)
class FaultSettings(ParameterSet):
    """A scripted fault, or a payload that is gripped and released."""

    at: float = setting(1.0, "start, after the first command", "s", low=0.0, fixed=True)
    duration: float = setting(0.0, "duration; 0: to the end", "s", low=0.0, fixed=True)
    kind: str = setting("bias", "kind of fault", choices=(*KINDS, PAYLOAD), fixed=True)
    joint: str = setting(
        "", "faulty joint; empty: the effort of all joints, or none for a payload", fixed=True
    )
    value: Numbers = setting(
        (), "size of the fault, mass of the payload; empty: usual", numbers=True, fixed=True
    )
    link: str = setting("", "link that holds the payload; empty: the last one", fixed=True)
    com: Numbers = setting((0.0, 0.0, 0.05), "centre of mass in its frame", "m", fixed=True)

    def what(self, model: RobotModel) -> Fault | Payload:
        """Return the fault or the payload; raise if it does not fit the robot."""
        value = self.value[0] if self.value else None
        if self.kind != PAYLOAD:
            return make_fault(self.joint, self.kind, value)
        mass = USUAL_MASS if value is None else value
        held = PayloadSettings(self.link, mass, self.com).payload(model)
        if held is None:
            raise ArgumentError("a payload of 0 kg is none")
        return held

    def schedule(self, plant: Plant) -> None:
        """Schedule it; the script starts now."""
        lasts = self.duration or math.inf
        plant.schedule(self.what(plant.bare), plant.state.t + self.at, lasts)


@dataclass(frozen=True)
class ObstacleSettings(ParameterSet):
    """An obstacle."""

    kind: str = setting("plane", "kind of obstacle", choices=OBSTACLES, fixed=True)
    place: Numbers = setting(
        (0.0, 0.0, 0.0), "a point of the plane, the centre, or the pivot", "m", fixed=True
    )
    normal: Numbers = setting(
        (0.0, 0.0, 1.0), "normal of a plane, towards the free side", fixed=True
    )
    radius: float = setting(
        0.1, "radius of a sphere or of a pendulum's ball", "m", low=1e-3, fixed=True
    )
    half_sizes: Numbers = setting(
        (0.1, 0.1, 0.1), "half the edges of a box", "m", low=0, fixed=True
    )
    length: float = setting(0.5, "length of a pendulum", "m", low=1e-3, fixed=True)
    mass: float = setting(1.0, "mass of a pendulum", "kg", low=1e-3, fixed=True)
    angle: float = setting(0.0, "initial angle of a pendulum", "rad", fixed=True)
    stiffness: float = setting(
        5000.0, "contact stiffness of a plane or sphere", "N/m", low=1.0, fixed=True
    )

    def obstacle(self) -> Obstacle:
        """Return the obstacle."""
        if self.kind == "plane":
            return Plane(self.place, self.normal, self.stiffness)
        if self.kind == "sphere":
            return Sphere(self.place, self.radius, self.stiffness)
        if self.kind == "box":
            return Box(self.place, self.half_sizes)
        return Pendulum(self.place, self.length, self.radius, self.mass, self.angle)


def with_error(model: RobotModel, error: ModelErrorSettings, seed: int) -> RobotModel:
    """Return the model with random errors up to these; the same seed gives the same arm."""
    bounds = {"mass": error.mass, "com": error.com, "friction": error.friction}
    return perturbed(model, seed, inertia=error.mass, **bounds) if any(bounds.values()) else model


def make_plant(
    model: RobotModel,
    settings: PlantSettings,
    obstacles: Mapping[str, ObstacleSettings],
    dt: float,
    own: PlantMaker | None = None,
) -> tuple[Plant, Brake]:
    """Return the plant, which differs from the model as set, and the brake that holds it.

    own: makes the plant for `kind: own`.
    """
    if len(settings.start) not in (1, model.n):
        raise ArgumentError(f"plant.start has {len(settings.start)} numbers for {model.n} joints")
    start = np.array(np.broadcast_to(settings.start, (model.n,)))
    common: dict[str, Any] = {
        "friction": settings.friction,
        "sensor": LWR_SENSORS if settings.noise else SensorModel(),
        "seed": settings.seed,
    }
    real = with_error(model, settings.model_error, settings.seed)
    brake = Brake(real)
    if settings.kind == OWN:
        if own is None:
            raise ArgumentError(
                "plant.kind 'own' needs a program that gives a plant: "
                "simulator_node.main(plant=...)"
            )
        if obstacles:
            raise ArgumentError("plant.kind 'own' has no obstacles from parameters")
        return own(real, start, **common), brake
    common["obstacles"] = [one.obstacle() for one in obstacles.values()]
    if settings.kind == "mujoco":
        from ..simulation.mujoco_plant import MujocoPlant

        return MujocoPlant(real, start, timestep=dt, **common), brake
    if settings.kind == "elastic":
        for name in ("stiffness", "damping", "link_viscous", "link_coulomb"):
            common[name] = one_or_each(getattr(settings, name))
        common["effort"] = settings.effort
        return ElasticJointPlant(real, start, **common), brake
    return RigidPlant(real, start, **common), brake
