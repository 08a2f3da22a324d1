"""Compilation of every kernel, or its load from the cache, before a control loop begins."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..model.robot import RobotModel
from .coriolis import equations_of_motion
from .energy import potential_energy
from .force_rate import force_rate
from .forward_dynamics import forward_dynamics
from .friction import friction_torque
from .kinematics import forward_kinematics, jacobian, jacobian_rate_product
from .mass_matrix import mass_matrix
from .momentum import momentum_terms
from .momentum_regressor import momentum_regressor
from .ne_star import ne_star
from .newton_euler import gravity_torque, inverse_dynamics
from .regressor import regressor, slotine_li_regressor

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
    (regressor, 3),
    (slotine_li_regressor, 4),
    (momentum_regressor, 2),
]


def warmup(model: RobotModel, *, threads: int = 1) -> None:
    """Compile all kernels, so that the first call of every function is as fast as the next.

    The first time on a machine this takes some seconds, afterwards less than one. Kernels that
    share a batch among threads are compiled only if `threads` is above 1.
    """
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
