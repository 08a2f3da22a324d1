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
    "errors": ["RobodynError", "ArgumentError", "ModelError", "ModelWarning", "UrdfError"],
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


if TYPE_CHECKING:
    from .dynamics.coriolis import coriolis_matrix, equations_of_motion
    from .dynamics.energy import kinetic_energy, potential_energy
    from .dynamics.external import external_torque
    from .dynamics.force_rate import force_rate
    from .dynamics.forward import forward_dynamics
    from .dynamics.friction import friction_rate, friction_torque
    from .dynamics.inertia import mass_matrix
    from .dynamics.kinematics import forward_kinematics, jacobian, jacobian_rate_product
    from .dynamics.momentum import momentum_terms, momentum_terms_by_sweeps
    from .dynamics.ne_star import (
        coriolis_matrix_by_columns,
        coriolis_product_by_kawasaki,
        ne_star,
    )
    from .dynamics.newton_euler import (
        feedback_linearizing_torque,
        gravity_torque,
        inverse_dynamics,
        mass_matrix_column,
        momentum,
        velocity_torque,
    )
    from .dynamics.warmup import warmup
    from .errors import ArgumentError, ModelError, ModelWarning, RobodynError, UrdfError
    from .model import robots
    from .model.dh import DHRow, from_dh
    from .model.robot import Frame, Payload, RobotModel
    from .model.urdf import load_urdf
    from .model.urdf_writer import to_urdf
    from .resources import share_path
