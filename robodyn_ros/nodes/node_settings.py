"""The parameters of the nodes, documented where they are declared; no ROS is needed here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ..control.arm_settings import ArmSettings
from ..detection.guard.settings import ExpectSettings, GuardSettings
from ..detection.monitor_settings import MonitorSettings
from ..errors import ArgumentError
from ..model.friction_settings import FrictionSettings
from ..model.payload_settings import MAX_MASS, PayloadSettings
from ..model.robot import RobotModel
from ..model.robots import load_robot
from ..sensing.effort_settings import EffortSettings
from ..sensing.settings import SensingSettings
from ..settings import ParameterSet, check, group, setting
from ..simulation.disturbances import KINDS as FAULT_KINDS
from ..simulation.disturbances import Fault, make_fault

Numbers = tuple[float, ...]

PLANTS = ("rigid", "elastic", "mujoco")
OWN = "own"  # the plant that the program has given, see `simulation_setup.PlantMaker`
POSITION_RANGE = {"low": -1000.0, "high": 1000.0}  # [rad or m]
NO_FAULT = "none"
NOMINAL_RATE = "nominal rate of joint states"


@dataclass(frozen=True)
class RobotSettings(ParameterSet):
    """The robot; with neither name nor file, it is read from the robot_description topic."""

    name: str = setting("", "a built-in arm, e.g. lwr_iii", fixed=True)
    urdf: str = setting("", "path of a URDF", fixed=True)
    root: str = setting("", "link to take as the fixed base; empty: the URDF's root", fixed=True)
    tip: str = setting("", "last link of the arm; empty: all links", fixed=True)
    lock: tuple[str, ...] = setting((), "joints fixed at 0, such as fingers", fixed=True)
    strict: bool = setting(
        False, "reject physically inconsistent inertias instead of a warning", fixed=True
    )
    shapes: str = setting(
        "",
        "path of a URDF with shapes of the links, by their names; empty: those of the robot",
        fixed=True,
    )
    friction: FrictionSettings = group(FrictionSettings)

    def load(self, description: str) -> RobotModel:
        """Return the model by name, from the file or from this description."""
        source, lock = self.name or self.urdf or description, list(self.lock) or None
        model = load_robot(source, self.root or None, self.tip or None, lock, self.strict)
        if self.shapes:
            if not Path(self.shapes).is_file():
                raise ArgumentError(f"robot.shapes names no file: '{self.shapes}'")
            model = model.replace(geometry=self.shapes)
        return self.friction.of(model)


@dataclass(frozen=True)
class ModelErrorSettings(ParameterSet):
    """Random differences of the plant from the model that controller and detector use."""

    mass: float = setting(
        0.0, "largest error of a mass or inertia, as a share", low=0.0, high=0.5, fixed=True
    )
    com: float = setting(
        0.0, "largest error of a centre of mass along each axis", "m", 0.0, 0.1, fixed=True
    )
    friction: float = setting(
        0.0, "largest error of friction, as a share", low=0.0, high=0.5, fixed=True
    )


@dataclass(frozen=True)
class PlantSettings(ParameterSet):
    """The simulated plant."""

    kind: str = setting("rigid", "kind of simulation", choices=(*PLANTS, OWN), fixed=True)
    start: Numbers = setting((0.0,), "initial posture", "rad or m", **POSITION_RANGE, fixed=True)
    friction: bool = setting(
        False, "motor-side friction; none behind a joint torque sensor", fixed=True
    )
    model_error: ModelErrorSettings = group(ModelErrorSettings)
    noise: bool = setting(False, "sensor noise of the LWR", fixed=True)
    stiffness: Numbers = setting(
        (1e4,), "stiffness of elastic joints", "N m/rad", low=1.0, fixed=True
    )
    damping: Numbers = setting(
        (10.0,), "damping of elastic joints", "N m s/rad", low=0.0, fixed=True
    )
    effort: str = setting(
        "motor",
        "effort of elastic joints: of the motor, or as torque sensors in the joints read it",
        choices=("motor", "joint"),
        fixed=True,
    )
    link_viscous: Numbers = setting(
        (0.0,), "viscous friction of links on elastic joints", "N m s/rad", low=0.0, fixed=True
    )
    link_coulomb: Numbers = setting(
        (0.0,), "Coulomb friction of links on elastic joints", "N m", low=0.0, fixed=True
    )
    seed: int = setting(0, "random seed of model error and sensor noise", low=0, fixed=True)


@dataclass(frozen=True)
class InjectedFaultSettings(ParameterSet):
    """A fault of the simulated arm, injected and mended while it runs."""

    kind: str = setting(NO_FAULT, "kind of fault", choices=(NO_FAULT, *FAULT_KINDS))
    joint: str = setting("", "faulty joint; empty: the effort of all joints")
    value: Numbers = setting((), "size of the fault; empty: a default for its kind", numbers=True)

    def fault(self) -> Fault | None:
        """Return the fault, or None."""
        if self.kind == NO_FAULT:
            return None
        return make_fault(self.joint, self.kind, self.value[0] if self.value else None)


@dataclass(frozen=True)
class FollowedPayloadSettings(PayloadSettings):
    """A payload that may change by itself while the arm works."""

    follow: bool = setting(False, "take over a found payload without a request")
    max_mass: float = setting(5.0, "heaviest payload to take over", "kg", 0.0, MAX_MASS)


@dataclass(frozen=True)
class SimulatorSettings(ParameterSet):
    """Parameters of simulator_node."""

    robot: RobotSettings = group(RobotSettings)
    rate: float = setting(500.0, "steps a second", "Hz", low=1.0, high=1e4, fixed=True)
    free_running: bool = setting(
        False, "step at every command, as fast as they arrive, and publish /clock", fixed=True
    )
    command_timeout: float = setting(
        0.02, "hold the arm after this much command silence", "s", low=1e-3
    )
    push_duration: float = setting(0.2, "how long a push by topic lasts", "s", low=1e-3)
    fault: InjectedFaultSettings = group(InjectedFaultSettings)
    payload: PayloadSettings = group(PayloadSettings)
    plant: PlantSettings = group(PlantSettings)


@dataclass(frozen=True)
class ControllerSettings:
    """Parameters of controller_node."""

    robot: RobotSettings = group(RobotSettings)
    rate: float = setting(500.0, NOMINAL_RATE, "Hz", low=1.0, high=1e4, fixed=True)
    react_to: str = setting(
        "collision", "level of the detector to react to", choices=("contact", "collision")
    )
    detector_timeout: float = setting(
        0.02, "safe hold after this much detector silence; 0: never", "s", low=0.0
    )
    lockstep: bool = setting(
        False,
        "answer a joint state only after the detector's verdict on it, for a free-running plant; "
        "needs a heartbeat of 0 there",
        fixed=True,
    )
    payload: FollowedPayloadSettings = group(FollowedPayloadSettings, follow=True)
    sensing: SensingSettings = group(SensingSettings)
    arm: ArmSettings = group(ArmSettings)

    def __post_init__(self) -> None:
        check(self)
        _check_sampled("arm.frequency", "rad/s", self.arm.frequency, self.rate)


@dataclass(frozen=True)
class DynamicsSettings:
    """Parameters of dynamics_node."""

    robot: RobotSettings = group(RobotSettings)
    rate: float = setting(500.0, NOMINAL_RATE, "Hz", low=1.0, high=1e4, fixed=True)
    heartbeat: float = setting(
        0.005, "longest time between two messages of the collision state", "s", low=0.0
    )
    payload: FollowedPayloadSettings = group(FollowedPayloadSettings)
    effort: EffortSettings = group(EffortSettings)
    sensing: SensingSettings = group(SensingSettings)
    monitor: MonitorSettings = group(MonitorSettings)

    def __post_init__(self) -> None:
        check(self)
        _check_sampled("gain", "1/s", self.monitor.gain, self.rate)

    @property
    def of_monitor(self) -> MonitorSettings:
        """Settings of the monitor, those of the payload included."""
        held = self.payload
        faults = replace(
            self.monitor.faults,
            payload_link=held.link,
            payload_follow=held.follow,
            payload_max_mass=held.max_mass,
        )
        return replace(self.monitor, faults=faults)


@dataclass(frozen=True)
class DemoSettings(ParameterSet):
    """Parameters of demo_node."""

    robot: RobotSettings = group(RobotSettings)
    active: bool = setting(False, "send trajectories; false: leave the arm where it is")
    speed: float = setting(0.3, "share of the joints' speed limits", low=0.01, high=1.0)
    postures: Numbers = setting(
        (0.0,),
        "joint positions of two or more postures, one after the other; a single 0: three postures "
        "near the start",
        "rad or m",
    )


@dataclass(frozen=True)
class GuardNodeSettings(ParameterSet):
    """Parameters of guard_node; its means are a table, `means.*`."""

    robot: RobotSettings = group(RobotSettings)
    guard: GuardSettings = group(GuardSettings)
    expect: ExpectSettings = group(ExpectSettings)


SETTINGS = {
    "simulator_node": SimulatorSettings,
    "controller_node": ControllerSettings,
    "demo_node": DemoSettings,
    "dynamics_node": DynamicsSettings,
    "guard_node": GuardNodeSettings,
}


def _check_sampled(name: str, unit: str, gain: tuple[float, ...], rate: float) -> None:
    """Reject gains that are unstable at this rate of joint states [Hz]."""
    fastest = max(gain, default=0.0)
    if fastest > rate:
        raise ArgumentError(
            f"{name} {fastest:g} {unit} times the period of joint states, {1.0 / rate:g} s, "
            f"must not exceed 1; take at most {rate:g} {unit} or a higher rate"
        )
