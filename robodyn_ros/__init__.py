"""robodyn_ros: rigid-body dynamics from a URDF, and what touches the arm, without a force sensor.

    import robodyn_ros as rd

The compiled parts are imported when they are first asked for, so that importing this is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public name -> the module that has it.
_HOME = {
    "errors": [
        "RobodynError",
        "ArgumentError",
        "ModelError",
        "ModelWarning",
        "ResourceError",
        "UrdfError",
    ],
    "resources": ["share_path"],
    "model.robot": ["RobotModel", "Payload", "Frame"],
    "model.urdf": ["load_urdf"],
    "model.urdf_writer": ["to_urdf"],
    "model.dh": ["from_dh", "DHRow"],
    "dynamics.newton_euler": [
        "inverse_dynamics",
        "gravity_torque",
        "velocity_torque",
        "mass_matrix_column",
        "momentum",
        "feedback_linearizing_torque",
    ],
    "dynamics.ne_star": [
        "ne_star",
        "coriolis_matrix_by_columns",
        "coriolis_product_by_kawasaki",
    ],
    "dynamics.coriolis": ["coriolis_matrix", "equations_of_motion"],
    "dynamics.momentum": ["momentum_terms", "momentum_terms_by_sweeps"],
    "dynamics.inertia": ["mass_matrix"],
    "dynamics.forward": ["forward_dynamics"],
    "dynamics.external": ["external_torque"],
    "dynamics.force_rate": ["force_rate"],
    "dynamics.friction": ["friction_torque", "friction_rate"],
    "dynamics.energy": ["kinetic_energy", "potential_energy"],
    "dynamics.kinematics": ["forward_kinematics", "jacobian", "jacobian_rate_product"],
    "dynamics.warmup": ["warmup"],
    "detection.observer": ["MomentumObserver", "residual"],
    "detection.other_observers": ["EnergyObserver", "InverseDynamicsObserver", "VelocityObserver"],
    "detection.thresholds": ["Thresholds", "calibrate"],
    "detection.detector": ["CollisionDetector", "CollisionState", "Level"],
    "detection.fault_identification": ["FaultReport", "ModelErrors", "identify_fault"],
    "detection.isolation": ["Isolation", "isolate"],
    "detection.wrench": ["ContactPoint", "contact_point", "external_wrench"],
    "simulation.plant": ["PlantState"],
    "simulation.rigid": ["RigidPlant"],
    "simulation.elastic": ["ElasticJointPlant"],
    "simulation.mujoco_plant": ["MujocoPlant"],
    "simulation.obstacles": ["Box", "Pendulum", "Plane", "Probe", "Sphere"],
    "simulation.sensors": ["LWR_SENSORS", "Measurement", "SensorModel"],
    "simulation.perturb": ["perturbed"],
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}
_MODULE["robots"] = "model.robots"

__all__ = ["__version__", *_MODULE]


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module 'robodyn_ros' has no attribute '{name}'")
    module = import_module(f".{_MODULE[name]}", __name__)
    value = module if name == "robots" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:  # the same for type checkers; a test keeps both lists alike
    from .detection.detector import CollisionDetector as CollisionDetector
    from .detection.detector import CollisionState as CollisionState
    from .detection.detector import Level as Level
    from .detection.fault_identification import FaultReport as FaultReport
    from .detection.fault_identification import ModelErrors as ModelErrors
    from .detection.fault_identification import identify_fault as identify_fault
    from .detection.isolation import Isolation as Isolation
    from .detection.isolation import isolate as isolate
    from .detection.observer import MomentumObserver as MomentumObserver
    from .detection.observer import residual as residual
    from .detection.other_observers import EnergyObserver as EnergyObserver
    from .detection.other_observers import InverseDynamicsObserver as InverseDynamicsObserver
    from .detection.other_observers import VelocityObserver as VelocityObserver
    from .detection.thresholds import Thresholds as Thresholds
    from .detection.thresholds import calibrate as calibrate
    from .detection.wrench import ContactPoint as ContactPoint
    from .detection.wrench import contact_point as contact_point
    from .detection.wrench import external_wrench as external_wrench
    from .dynamics.coriolis import coriolis_matrix as coriolis_matrix
    from .dynamics.coriolis import equations_of_motion as equations_of_motion
    from .dynamics.energy import kinetic_energy as kinetic_energy
    from .dynamics.energy import potential_energy as potential_energy
    from .dynamics.external import external_torque as external_torque
    from .dynamics.force_rate import force_rate as force_rate
    from .dynamics.forward import forward_dynamics as forward_dynamics
    from .dynamics.friction import friction_rate as friction_rate
    from .dynamics.friction import friction_torque as friction_torque
    from .dynamics.inertia import mass_matrix as mass_matrix
    from .dynamics.kinematics import forward_kinematics as forward_kinematics
    from .dynamics.kinematics import jacobian as jacobian
    from .dynamics.kinematics import jacobian_rate_product as jacobian_rate_product
    from .dynamics.momentum import momentum_terms as momentum_terms
    from .dynamics.momentum import momentum_terms_by_sweeps as momentum_terms_by_sweeps
    from .dynamics.ne_star import coriolis_matrix_by_columns as coriolis_matrix_by_columns
    from .dynamics.ne_star import coriolis_product_by_kawasaki as coriolis_product_by_kawasaki
    from .dynamics.ne_star import ne_star as ne_star
    from .dynamics.newton_euler import feedback_linearizing_torque as feedback_linearizing_torque
    from .dynamics.newton_euler import gravity_torque as gravity_torque
    from .dynamics.newton_euler import inverse_dynamics as inverse_dynamics
    from .dynamics.newton_euler import mass_matrix_column as mass_matrix_column
    from .dynamics.newton_euler import momentum as momentum
    from .dynamics.newton_euler import velocity_torque as velocity_torque
    from .dynamics.warmup import warmup as warmup
    from .errors import ArgumentError as ArgumentError
    from .errors import ModelError as ModelError
    from .errors import ModelWarning as ModelWarning
    from .errors import ResourceError as ResourceError
    from .errors import RobodynError as RobodynError
    from .errors import UrdfError as UrdfError
    from .model import robots as robots
    from .model.dh import DHRow as DHRow
    from .model.dh import from_dh as from_dh
    from .model.robot import Frame as Frame
    from .model.robot import Payload as Payload
    from .model.robot import RobotModel as RobotModel
    from .model.urdf import load_urdf as load_urdf
    from .model.urdf_writer import to_urdf as to_urdf
    from .resources import share_path as share_path
    from .simulation.elastic import ElasticJointPlant as ElasticJointPlant
    from .simulation.mujoco_plant import MujocoPlant as MujocoPlant
    from .simulation.obstacles import Box as Box
    from .simulation.obstacles import Pendulum as Pendulum
    from .simulation.obstacles import Plane as Plane
    from .simulation.obstacles import Probe as Probe
    from .simulation.obstacles import Sphere as Sphere
    from .simulation.perturb import perturbed as perturbed
    from .simulation.plant import PlantState as PlantState
    from .simulation.rigid import RigidPlant as RigidPlant
    from .simulation.sensors import LWR_SENSORS as LWR_SENSORS
    from .simulation.sensors import Measurement as Measurement
    from .simulation.sensors import SensorModel as SensorModel
