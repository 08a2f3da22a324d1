"""Compilation of the dynamics' kernels, or their load from the cache, before a loop begins."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..model.robot import RobotModel
from .compile import KERNELS
from .compile_ahead import compile_kernels
from .coriolis import _equations_of_motion, equations_of_motion
from .cpython_binding import framed
from .energy import _potential_energy, potential_energy
from .force_jerk import _force_jerk, force_jerk
from .force_rate import _force_rate, force_rate
from .forward_dynamics import _articulated_bodies, _through_mass_matrix, forward_dynamics
from .friction import _friction, friction_torque
from .kinematics import (
    _acceleration_bias,
    _jacobian,
    _pose,
    forward_kinematics,
    jacobian,
    jacobian_rate_product,
)
from .mass_matrix import _mass_matrix, mass_matrix
from .momentum import _momentum_terms, momentum_terms
from .momentum_regressor import _momentum, momentum_regressor
from .ne_star import _ne_star_0001, ne_star
from .newton_euler import _gravity, _newton_euler, gravity_torque, inverse_dynamics
from .regressor import _regressor, _slotine_li, regressor, slotine_li_regressor

# Kernels that the public functions bind, with their numbers of inputs and outputs
for bound in (
    (_newton_euler, 3, 1),
    (_gravity, 1, 1),
    (_ne_star_0001, 4, 1),
    (_equations_of_motion, 2, 3),
    (_momentum_terms, 2, 3),
    (_mass_matrix, 1, 1),
    (_articulated_bodies, 3, 1),
    (_through_mass_matrix, 3, 1),
    (_force_rate, 4, 2),
    (_force_jerk, 5, 3),
    (_regressor, 3, 1),
    (_slotine_li, 4, 1),
    (_momentum, 2, 3),
    (_friction, 1, 1),
    (_potential_energy, 1, 1),
    (_pose, 1, 1),
    (_jacobian, 1, 1),
    (_acceleration_bias, 2, 1),
):
    framed(*bound)

# Functions that share a batch among threads, with the number of their states
THREADED: list[tuple[Callable[..., Any], int]] = [
    (inverse_dynamics, 3),
    (gravity_torque, 1),
    (ne_star, 4),
    (equations_of_motion, 2),
    (momentum_terms, 2),
    (mass_matrix, 1),
    (forward_dynamics, 3),
    (force_rate, 4),
    (force_jerk, 5),
    (regressor, 3),
    (slotine_li_regressor, 4),
    (momentum_regressor, 2),
]


def warmup(model: RobotModel, *, threads: int = 1) -> None:
    """Compile the dynamics' kernels, so that a function's first call is as fast as the next.

    The first time on a machine this takes some seconds, afterwards less than one; the command
    `robodyn warmup` does it ahead, for all parts of the package. Kernels that share a batch among
    threads are compiled only if `threads` is above 1.
    """
    package = __name__.rpartition(".")[0]
    compile_kernels([k for k in KERNELS if k.py_func.__module__.startswith(package)])
    q = np.zeros(model.n)
    batch = np.zeros((64 * threads, model.n))
    for function, states in THREADED:
        function(model, *[q] * states)
        if threads > 1:
            function(model, *[batch] * states, threads=threads)
    friction_torque(model, q)
    potential_energy(model, q)
    link = model.link_names[-1]
    forward_kinematics(model, q, link)
    jacobian(model, q, link)
    jacobian_rate_product(model, q, q, link)
