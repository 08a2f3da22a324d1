# ruff: noqa: I001 (the names of one module in one statement)
"""Public names and their modules. `__init__.py` reads this list and imports on demand."""

from .codegen.customized import load_customized as load_customized
from .codegen.generate import generate as generate
from .control.arm_controller import ArmController as ArmController, Mode as Mode
from .control.arm_settings import ArmSettings as ArmSettings
from .control.controller import Controller as Controller, JointState as JointState
from .control.fault_answers import FaultAnswers as FaultAnswers
from .control.laws.adaptive import AdaptiveController as AdaptiveController
from .control.laws.adaptive_parameters import Load as Load
from .control.laws.computed_torque import ComputedTorqueController as ComputedTorqueController
from .control.laws.elastic import ElasticJointController as ElasticJointController
from .control.laws.friction_compensation import (
    FrictionFeedForward as FrictionFeedForward,
    FrictionObserver as FrictionObserver,
)
from .control.laws.passivity import PassivityController as PassivityController
from .control.laws.pd_gravity import PdGravityController as PdGravityController
from .control.laws.pid import PidController as PidController
from .control.laws.task_space import (
    PoseMotion as PoseMotion,
    TaskSpaceController as TaskSpaceController,
    TaskSpacePid as TaskSpacePid,
)
from .control.limits import TorqueLimits as TorqueLimits
from .detection.detector import (
    CollisionDetector as CollisionDetector,
    CollisionState as CollisionState,
    Level as Level,
)
from .detection.fault import Fault as Fault
from .detection.faults.identification import (
    FaultReport as FaultReport,
    identify_fault as identify_fault,
)
from .detection.faults.settings import FaultSettings as FaultSettings
from .detection.isolation import (
    ContactIsolator as ContactIsolator,
    Isolation as Isolation,
    isolate as isolate,
)
from .detection.isolation_settings import IsolationSettings as IsolationSettings
from .detection.link_naming import LinkNaming as LinkNaming
from .detection.model_correction import correct_model as correct_model
from .detection.model_errors import ModelErrors as ModelErrors
from .detection.monitor import ContactMonitor as ContactMonitor
from .detection.monitor_settings import (
    BiasSettings as BiasSettings,
    ForceSettings as ForceSettings,
    MonitorSettings as MonitorSettings,
    NoiseSettings as NoiseSettings,
    NoiseWindow as NoiseWindow,
    ThresholdSettings as ThresholdSettings,
)
from .detection.observer import MomentumObserver as MomentumObserver, residual as residual
from .detection.other_observers import (
    EnergyObserver as EnergyObserver,
    InverseDynamicsObserver as InverseDynamicsObserver,
    VelocityObserver as VelocityObserver,
)
from .detection.thresholds import Thresholds as Thresholds, calibrate as calibrate
from .detection.verdict import Verdict as Verdict
from .detection.wrench import (
    ContactPoint as ContactPoint,
    contact_point as contact_point,
    external_wrench as external_wrench,
    force_doubt as force_doubt,
)
from .dynamics.base_parameters import (
    BaseParameters as BaseParameters,
    base_parameters as base_parameters,
)
from .dynamics.coriolis import (
    coriolis_matrix as coriolis_matrix,
    equations_of_motion as equations_of_motion,
)
from .dynamics.elastic import (
    MotorMotion as MotorMotion,
    elastic_inverse_dynamics as elastic_inverse_dynamics,
)
from .dynamics.energy import kinetic_energy as kinetic_energy, potential_energy as potential_energy
from .dynamics.force_jerk import force_jerk as force_jerk, ne_star_jerk as ne_star_jerk
from .dynamics.force_rate import force_rate as force_rate
from .dynamics.forward_dynamics import forward_dynamics as forward_dynamics
from .dynamics.friction import friction_rate as friction_rate, friction_torque as friction_torque
from .dynamics.inverse_kinematics import (
    InverseKinematicsError as InverseKinematicsError,
    JointLimitError as JointLimitError,
    OutOfReachError as OutOfReachError,
    SingularityError as SingularityError,
    inverse_kinematics as inverse_kinematics,
)
from .dynamics.kinematics import (
    external_torque as external_torque,
    forward_kinematics as forward_kinematics,
    jacobian as jacobian,
    jacobian_rate_product as jacobian_rate_product,
)
from .dynamics.limit_use import Binding as Binding
from .dynamics.link_motion import (
    LinkMotion as LinkMotion,
    joint_wrenches as joint_wrenches,
    link_motion as link_motion,
)
from .dynamics.lu_meng import (
    link_regressor as link_regressor,
    lu_meng_parameters as lu_meng_parameters,
    lu_meng_regressor as lu_meng_regressor,
)
from .dynamics.mass_matrix import mass_matrix as mass_matrix
from .dynamics.momentum import (
    momentum_terms as momentum_terms,
    momentum_terms_by_sweeps as momentum_terms_by_sweeps,
)
from .dynamics.momentum_regressor import (
    filtered_regressor as filtered_regressor,
    filtered_rotor_columns as filtered_rotor_columns,
    low_pass as low_pass,
    momentum_regressor as momentum_regressor,
)
from .dynamics.motion import Motion as Motion
from .dynamics.ne_star import (
    coriolis_matrix_by_columns as coriolis_matrix_by_columns,
    coriolis_product_by_kawasaki as coriolis_product_by_kawasaki,
    ne_star as ne_star,
)
from .dynamics.newton_euler import (
    feedback_linearizing_torque as feedback_linearizing_torque,
    gravity_torque as gravity_torque,
    inverse_dynamics as inverse_dynamics,
    mass_matrix_column as mass_matrix_column,
    momentum as momentum,
    velocity_torque as velocity_torque,
)
from .dynamics.regressor import (
    friction_columns as friction_columns,
    regressor as regressor,
    rotor_columns as rotor_columns,
    slotine_li_regressor as slotine_li_regressor,
)
from .dynamics.warmup import warmup as warmup
from .errors import (
    ArgumentError as ArgumentError,
    LogWarning as LogWarning,
    ModelError as ModelError,
    ModelWarning as ModelWarning,
    ResourceError as ResourceError,
    RobodynError as RobodynError,
    UrdfError as UrdfError,
)
from .identification.excitation import Excitation as Excitation, excitation as excitation
from .identification.identified import Identified as Identified
from .identification.identify import identify as identify
from .identification.payload import find_gains as find_gains, identify_payload as identify_payload
from .model import robots as robots
from .model.dh import DHRow as DHRow, from_dh as from_dh
from .model.robot import Frame as Frame, Payload as Payload, RobotModel as RobotModel
from .model.robots import load_robot as load_robot
from .model.surface import LinkSurfaces as LinkSurfaces, surface_points as surface_points
from .model.urdf import load_urdf as load_urdf
from .model.urdf_writer import to_urdf as to_urdf
from .recording.noise_tuning import smallest_forces as smallest_forces, tune as tune
from .recording.offline import Detection as Detection, Event as Event, detect as detect
from .resources import share_path as share_path
from .sensing.bag_log import read_bag as read_bag
from .sensing.csv_log import ColumnMap as ColumnMap, read_csv as read_csv
from .sensing.effort_settings import EffortSettings as EffortSettings
from .sensing.log import Log as Log
from .sensing.sample import Sample as Sample, Status as Status
from .sensing.sampler import Sampler as Sampler
from .sensing.settings import SensingSettings as SensingSettings
from .simulation.disturbances import perturbed as perturbed
from .simulation.elastic import ElasticJointPlant as ElasticJointPlant
from .simulation.mujoco_plant import MujocoPlant as MujocoPlant
from .simulation.obstacles import (
    Box as Box,
    Pendulum as Pendulum,
    Plane as Plane,
    Probe as Probe,
    Sphere as Sphere,
)
from .simulation.plant import Plant as Plant, PlantState as PlantState
from .simulation.rigid import RigidPlant as RigidPlant
from .simulation.sensors import (
    LWR_SENSORS as LWR_SENSORS,
    Measurement as Measurement,
    SensorModel as SensorModel,
)
from .trajectory.fourier import Fourier as Fourier
from .trajectory.joint_move import JointMove as JointMove, joint_move as joint_move
from .trajectory.piecewise import PiecewisePolynomial as PiecewisePolynomial
from .trajectory.plot import plot_trajectory as plot_trajectory
from .trajectory.scaling import (
    ScaledTrajectory as ScaledTrajectory,
    check_limits as check_limits,
    fastest as fastest,
    stretched as stretched,
)
from .trajectory.splines import spline as spline
from .trajectory.task_following import follow as follow
from .trajectory.task_space import (
    TaskMotion as TaskMotion,
    TaskMove as TaskMove,
    line as line,
    turn as turn,
)
from .trajectory.trajectory import Trajectory as Trajectory
from .trajectory.trajectory_msg import (
    TrajectoryPoint as TrajectoryPoint,
    from_points as from_points,
    to_points as to_points,
)

__version__: str
