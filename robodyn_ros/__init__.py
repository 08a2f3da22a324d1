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
        "LogWarning",
        "ModelWarning",
        "ResourceError",
        "UrdfError",
    ],
    "resources": ["share_path"],
    "model.robot": ["RobotModel", "Payload", "Frame"],
    "model.urdf": ["load_urdf"],
    "model.urdf_writer": ["to_urdf"],
    "model.dh": ["from_dh", "DHRow"],
    "model.robots": ["load_robot"],
    "dynamics.newton_euler": [
        "inverse_dynamics",
        "gravity_torque",
        "velocity_torque",
        "mass_matrix_column",
        "momentum",
        "feedback_linearizing_torque",
    ],
    "dynamics.ne_star": ["ne_star", "coriolis_matrix_by_columns", "coriolis_product_by_kawasaki"],
    "dynamics.coriolis": ["coriolis_matrix", "equations_of_motion"],
    "dynamics.momentum": ["momentum_terms", "momentum_terms_by_sweeps"],
    "dynamics.mass_matrix": ["mass_matrix"],
    "dynamics.forward_dynamics": ["forward_dynamics"],
    "dynamics.force_rate": ["force_rate"],
    "dynamics.friction": ["friction_torque", "friction_rate"],
    "dynamics.energy": ["kinetic_energy", "potential_energy"],
    "dynamics.kinematics": [
        "external_torque",
        "forward_kinematics",
        "jacobian",
        "jacobian_rate_product",
    ],
    "dynamics.warmup": ["warmup"],
    "dynamics.motion": ["Motion"],
    "dynamics.inverse_kinematics": [
        "InverseKinematicsError",
        "JointLimitError",
        "OutOfReachError",
        "SingularityError",
        "inverse_kinematics",
    ],
    "dynamics.regressor": [
        "friction_columns",
        "regressor",
        "rotor_columns",
        "slotine_li_regressor",
    ],
    "dynamics.momentum_regressor": [
        "filtered_regressor",
        "filtered_rotor_columns",
        "low_pass",
        "momentum_regressor",
    ],
    "dynamics.base_parameters": ["BaseParameters", "base_parameters"],
    "dynamics.lu_meng": ["link_regressor", "lu_meng_parameters", "lu_meng_regressor"],
    "trajectory.trajectory": ["Trajectory"],
    "trajectory.piecewise": ["PiecewisePolynomial"],
    "trajectory.joint_move": ["JointMove", "joint_move"],
    "trajectory.splines": ["spline"],
    "trajectory.fourier": ["Fourier"],
    "trajectory.task_space": ["TaskMotion", "TaskMove", "line", "turn"],
    "trajectory.task_following": ["follow"],
    "trajectory.scaling": ["Binding", "ScaledTrajectory", "check_limits", "fastest", "stretched"],
    "trajectory.trajectory_msg": ["TrajectoryPoint", "from_points", "to_points"],
    "trajectory.plot": ["plot_trajectory"],
    "control.controller": ["Controller", "JointState"],
    "control.limits": ["TorqueLimits"],
    "control.laws.passivity": ["PassivityController"],
    "control.laws.computed_torque": ["ComputedTorqueController"],
    "control.laws.pd_gravity": ["PdGravityController"],
    "control.laws.pid": ["PidController"],
    "control.laws.task_space": ["PoseMotion", "TaskSpaceController", "TaskSpacePid"],
    "control.laws.friction_compensation": ["FrictionFeedForward", "FrictionObserver"],
    "control.arm_controller": ["ArmController", "Mode"],
    "control.arm_settings": ["ArmSettings"],
    "codegen.customized": ["load_customized"],
    "codegen.generate": ["generate"],
    "control.laws.adaptive": ["AdaptiveController"],
    "control.laws.adaptive_parameters": ["Load"],
    "detection.observer": ["MomentumObserver", "residual"],
    "detection.other_observers": [
        "EnergyObserver",
        "InverseDynamicsObserver",
        "VelocityObserver",
    ],
    "detection.thresholds": ["Thresholds", "calibrate"],
    "detection.fault": ["Fault"],
    "detection.detector": ["CollisionDetector", "CollisionState", "Level"],
    "detection.faults.identification": ["FaultReport", "identify_fault"],
    "detection.isolation": ["Isolation", "isolate"],
    "detection.wrench": ["ContactPoint", "contact_point", "external_wrench", "force_doubt"],
    "detection.monitor": ["ContactMonitor"],
    "detection.verdict": ["Verdict"],
    "detection.monitor_settings": ["MonitorSettings", "ThresholdSettings"],
    "detection.model_errors": ["ModelErrors"],
    "detection.model_correction": ["correct_model"],
    "sensing.sample": ["Sample", "Status"],
    "sensing.sampler": ["Sampler"],
    "sensing.settings": ["SensingSettings"],
    "sensing.log": ["Log"],
    "sensing.csv_log": ["ColumnMap", "read_csv"],
    "sensing.bag_log": ["read_bag"],
    "identification.excitation": ["Excitation", "excitation"],
    "identification.identify": ["identify"],
    "identification.identified": ["Identified"],
    "identification.payload": ["find_gains", "identify_payload"],
    "recording.offline": ["Detection", "Event", "detect"],
    "simulation.plant": ["PlantState"],
    "simulation.rigid": ["RigidPlant"],
    "simulation.elastic": ["ElasticJointPlant"],
    "simulation.mujoco_plant": ["MujocoPlant"],
    "simulation.obstacles": ["Box", "Pendulum", "Plane", "Probe", "Sphere"],
    "simulation.sensors": ["LWR_SENSORS", "Measurement", "SensorModel"],
    "simulation.disturbances": ["perturbed"],
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
    from .codegen.customized import load_customized as load_customized
    from .codegen.generate import generate as generate
    from .control.arm_controller import ArmController as ArmController
    from .control.arm_controller import Mode as Mode
    from .control.arm_settings import ArmSettings as ArmSettings
    from .control.controller import Controller as Controller
    from .control.controller import JointState as JointState
    from .control.laws.adaptive import AdaptiveController as AdaptiveController
    from .control.laws.adaptive_parameters import Load as Load
    from .control.laws.computed_torque import ComputedTorqueController as ComputedTorqueController
    from .control.laws.friction_compensation import FrictionFeedForward as FrictionFeedForward
    from .control.laws.friction_compensation import FrictionObserver as FrictionObserver
    from .control.laws.passivity import PassivityController as PassivityController
    from .control.laws.pd_gravity import PdGravityController as PdGravityController
    from .control.laws.pid import PidController as PidController
    from .control.laws.task_space import PoseMotion as PoseMotion
    from .control.laws.task_space import TaskSpaceController as TaskSpaceController
    from .control.laws.task_space import TaskSpacePid as TaskSpacePid
    from .control.limits import TorqueLimits as TorqueLimits
    from .detection.detector import CollisionDetector as CollisionDetector
    from .detection.detector import CollisionState as CollisionState
    from .detection.detector import Level as Level
    from .detection.fault import Fault as Fault
    from .detection.faults.identification import FaultReport as FaultReport
    from .detection.faults.identification import identify_fault as identify_fault
    from .detection.isolation import Isolation as Isolation
    from .detection.isolation import isolate as isolate
    from .detection.model_correction import correct_model as correct_model
    from .detection.model_errors import ModelErrors as ModelErrors
    from .detection.monitor import ContactMonitor as ContactMonitor
    from .detection.monitor_settings import MonitorSettings as MonitorSettings
    from .detection.monitor_settings import ThresholdSettings as ThresholdSettings
    from .detection.observer import MomentumObserver as MomentumObserver
    from .detection.observer import residual as residual
    from .detection.other_observers import EnergyObserver as EnergyObserver
    from .detection.other_observers import InverseDynamicsObserver as InverseDynamicsObserver
    from .detection.other_observers import VelocityObserver as VelocityObserver
    from .detection.thresholds import Thresholds as Thresholds
    from .detection.thresholds import calibrate as calibrate
    from .detection.verdict import Verdict as Verdict
    from .detection.wrench import ContactPoint as ContactPoint
    from .detection.wrench import contact_point as contact_point
    from .detection.wrench import external_wrench as external_wrench
    from .detection.wrench import force_doubt as force_doubt
    from .dynamics.base_parameters import BaseParameters as BaseParameters
    from .dynamics.base_parameters import base_parameters as base_parameters
    from .dynamics.coriolis import coriolis_matrix as coriolis_matrix
    from .dynamics.coriolis import equations_of_motion as equations_of_motion
    from .dynamics.energy import kinetic_energy as kinetic_energy
    from .dynamics.energy import potential_energy as potential_energy
    from .dynamics.force_rate import force_rate as force_rate
    from .dynamics.forward_dynamics import forward_dynamics as forward_dynamics
    from .dynamics.friction import friction_rate as friction_rate
    from .dynamics.friction import friction_torque as friction_torque
    from .dynamics.inverse_kinematics import InverseKinematicsError as InverseKinematicsError
    from .dynamics.inverse_kinematics import JointLimitError as JointLimitError
    from .dynamics.inverse_kinematics import OutOfReachError as OutOfReachError
    from .dynamics.inverse_kinematics import SingularityError as SingularityError
    from .dynamics.inverse_kinematics import inverse_kinematics as inverse_kinematics
    from .dynamics.kinematics import external_torque as external_torque
    from .dynamics.kinematics import forward_kinematics as forward_kinematics
    from .dynamics.kinematics import jacobian as jacobian
    from .dynamics.kinematics import jacobian_rate_product as jacobian_rate_product
    from .dynamics.lu_meng import link_regressor as link_regressor
    from .dynamics.lu_meng import lu_meng_parameters as lu_meng_parameters
    from .dynamics.lu_meng import lu_meng_regressor as lu_meng_regressor
    from .dynamics.mass_matrix import mass_matrix as mass_matrix
    from .dynamics.momentum import momentum_terms as momentum_terms
    from .dynamics.momentum import momentum_terms_by_sweeps as momentum_terms_by_sweeps
    from .dynamics.momentum_regressor import filtered_regressor as filtered_regressor
    from .dynamics.momentum_regressor import filtered_rotor_columns as filtered_rotor_columns
    from .dynamics.momentum_regressor import low_pass as low_pass
    from .dynamics.momentum_regressor import momentum_regressor as momentum_regressor
    from .dynamics.motion import Motion as Motion
    from .dynamics.ne_star import coriolis_matrix_by_columns as coriolis_matrix_by_columns
    from .dynamics.ne_star import coriolis_product_by_kawasaki as coriolis_product_by_kawasaki
    from .dynamics.ne_star import ne_star as ne_star
    from .dynamics.newton_euler import feedback_linearizing_torque as feedback_linearizing_torque
    from .dynamics.newton_euler import gravity_torque as gravity_torque
    from .dynamics.newton_euler import inverse_dynamics as inverse_dynamics
    from .dynamics.newton_euler import mass_matrix_column as mass_matrix_column
    from .dynamics.newton_euler import momentum as momentum
    from .dynamics.newton_euler import velocity_torque as velocity_torque
    from .dynamics.regressor import friction_columns as friction_columns
    from .dynamics.regressor import regressor as regressor
    from .dynamics.regressor import rotor_columns as rotor_columns
    from .dynamics.regressor import slotine_li_regressor as slotine_li_regressor
    from .dynamics.warmup import warmup as warmup
    from .errors import ArgumentError as ArgumentError
    from .errors import LogWarning as LogWarning
    from .errors import ModelError as ModelError
    from .errors import ModelWarning as ModelWarning
    from .errors import ResourceError as ResourceError
    from .errors import RobodynError as RobodynError
    from .errors import UrdfError as UrdfError
    from .identification.excitation import Excitation as Excitation
    from .identification.excitation import excitation as excitation
    from .identification.identified import Identified as Identified
    from .identification.identify import identify as identify
    from .identification.payload import find_gains as find_gains
    from .identification.payload import identify_payload as identify_payload
    from .model import robots as robots
    from .model.dh import DHRow as DHRow
    from .model.dh import from_dh as from_dh
    from .model.robot import Frame as Frame
    from .model.robot import Payload as Payload
    from .model.robot import RobotModel as RobotModel
    from .model.robots import load_robot as load_robot
    from .model.urdf import load_urdf as load_urdf
    from .model.urdf_writer import to_urdf as to_urdf
    from .recording.offline import Detection as Detection
    from .recording.offline import Event as Event
    from .recording.offline import detect as detect
    from .resources import share_path as share_path
    from .sensing.bag_log import read_bag as read_bag
    from .sensing.csv_log import ColumnMap as ColumnMap
    from .sensing.csv_log import read_csv as read_csv
    from .sensing.log import Log as Log
    from .sensing.sample import Sample as Sample
    from .sensing.sample import Status as Status
    from .sensing.sampler import Sampler as Sampler
    from .sensing.settings import SensingSettings as SensingSettings
    from .simulation.disturbances import perturbed as perturbed
    from .simulation.elastic import ElasticJointPlant as ElasticJointPlant
    from .simulation.mujoco_plant import MujocoPlant as MujocoPlant
    from .simulation.obstacles import Box as Box
    from .simulation.obstacles import Pendulum as Pendulum
    from .simulation.obstacles import Plane as Plane
    from .simulation.obstacles import Probe as Probe
    from .simulation.obstacles import Sphere as Sphere
    from .simulation.plant import PlantState as PlantState
    from .simulation.rigid import RigidPlant as RigidPlant
    from .simulation.sensors import LWR_SENSORS as LWR_SENSORS
    from .simulation.sensors import Measurement as Measurement
    from .simulation.sensors import SensorModel as SensorModel
    from .trajectory.fourier import Fourier as Fourier
    from .trajectory.joint_move import JointMove as JointMove
    from .trajectory.joint_move import joint_move as joint_move
    from .trajectory.piecewise import PiecewisePolynomial as PiecewisePolynomial
    from .trajectory.plot import plot_trajectory as plot_trajectory
    from .trajectory.scaling import Binding as Binding
    from .trajectory.scaling import ScaledTrajectory as ScaledTrajectory
    from .trajectory.scaling import check_limits as check_limits
    from .trajectory.scaling import fastest as fastest
    from .trajectory.scaling import stretched as stretched
    from .trajectory.splines import spline as spline
    from .trajectory.task_following import follow as follow
    from .trajectory.task_space import TaskMotion as TaskMotion
    from .trajectory.task_space import TaskMove as TaskMove
    from .trajectory.task_space import line as line
    from .trajectory.task_space import turn as turn
    from .trajectory.trajectory import Trajectory as Trajectory
    from .trajectory.trajectory_msg import TrajectoryPoint as TrajectoryPoint
    from .trajectory.trajectory_msg import from_points as from_points
    from .trajectory.trajectory_msg import to_points as to_points
