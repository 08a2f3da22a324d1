"""The compiled kernels that each node calls. A node compiles them before it says that it is ready,
but for NAMES and LAWS, which follow (`later_kernels`).

A kernel that is left out here is loaded, or compiled, in the middle of a control loop;
`test/nodes/test_node_kernels.py` finds it.
"""

from __future__ import annotations

from ..control.arm_controller import _squared_norm
from ..control.arm_settings import ArmSettings
from ..control.clock_step import _advance
from ..control.laws.computed_torque import _computed_torque
from ..control.laws.elastic import _elastic, _motors_from_torque
from ..control.laws.friction_compensation import _observe_friction
from ..control.laws.momentum_damping import _damp_momentum
from ..control.laws.passivity import _passivity
from ..control.laws.pd_gravity import _pd_gravity
from ..control.laws.pid import _pid
from ..control.laws.task_kernels import pose_reference, resolved_acceleration
from ..control.limits import _limit
from ..control.reactions.admittance import _retract
from ..control.reactions.null_space import _keep_hand
from ..control.reactions.reaction import _excursion, largest_speed
from ..control.speed_profile import _fastest, _is_within
from ..control.tracking_guard import _deviation
from ..dynamics.compile import Kernel
from ..dynamics.cpython_binding import builtin, framed
from ..dynamics.force_rate import _force_rate
from ..dynamics.friction import _friction, _slide
from ..dynamics.ne_star import _ne_star_0001
from ..dynamics.newton_euler import _gravity, _newton_euler
from ..dynamics.regressor import _regressor, _slotine_li
from ..simulation.rigid_step import rigid_step
from ..trajectory.piecewise import _instant, _instants, _peaks
from .detector_kernels import DETECTOR, LINKS, MASS_MATRIX, NAMES, SAMPLES

_TABLE = (
    _advance, _force_rate, framed(_force_rate, 4, 2), _newton_euler,
    framed(_newton_euler, 3, 1), framed(_friction, 1, 1),
)  # fmt: skip
_ADAPTIVE = (
    framed(_ne_star_0001, 4, 1), _regressor, framed(_regressor, 3, 1), _slotine_li,
    framed(_slotine_li, 4, 1),
)  # fmt: skip
_GRAVITY = (builtin, _gravity, framed(_gravity, 1, 1))
_PATHS = (_instants, _instant)
_BRAKE = (_passivity, _damp_momentum, _excursion, largest_speed, _limit)

SIMULATOR = (rigid_step, *MASS_MATRIX, *_BRAKE)
CONTROLLER = (
    *_TABLE, *MASS_MATRIX, *_BRAKE, _friction, _slide, *SAMPLES, *_GRAVITY, *_PATHS,
    _squared_norm, _deviation,
)  # fmt: skip
# In a thread: trajectories beyond the limits, paths to a pose
SLOWER = (_fastest, _is_within, _peaks)
LAWS = (  # laws but `passivity`, reactions but `stop`, `float` and `reflex`
    _keep_hand, resolved_acceleration, pose_reference, *_ADAPTIVE, _elastic, _motors_from_torque,
    _observe_friction, *LINKS, _computed_torque, _pd_gravity, _pid, _retract,
)  # fmt: skip
DEMO = _PATHS
START = tuple(dict.fromkeys((*DETECTOR, *CONTROLLER, *SIMULATOR, *DEMO)))
LATER = (*NAMES, *SLOWER, *LAWS)
ALL = tuple(dict.fromkeys((*START, *LATER)))


def more_kernels(arm: ArmSettings) -> tuple[Kernel, ...]:
    """Return those that a controller needs beside CONTROLLER."""
    usual = arm.controller == "passivity" and arm.reaction in ("none", "stop", "float", "reflex")
    return () if usual and not arm.friction_observer else LAWS
