"""Compile, or load from the cache, every kernel before a loop begins."""

from __future__ import annotations

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


def warmup(model: RobotModel, *, threads: int = 1) -> None:
    """Make the first call of every function as fast as the next.

    The first time on a machine this compiles for some seconds; afterwards it takes less than one.
    Kernels that share a batch among threads are compiled only if `threads` says so.
    """
    q = np.zeros(model.n)
    if threads > 1:
        _compile_for_threads(model, threads)
    inverse_dynamics(model, q, q, q)
    gravity_torque(model, q)
    ne_star(model, q, q, q, q)
    equations_of_motion(model, q, q)
    momentum_terms(model, q, q)
    mass_matrix(model, q)
    forward_dynamics(model, q, q, q)
    force_rate(model, q, q, q, q)
    regressor(model, q, q, q)
    slotine_li_regressor(model, q, q, q, q)
    momentum_regressor(model, q, q)
    friction_torque(model, q)
    potential_energy(model, q)
    link = model.link_names[-1]
    forward_kinematics(model, q, link)
    jacobian(model, q, link)
    jacobian_rate_product(model, q, q, link)


def _compile_for_threads(model: RobotModel, threads: int) -> None:
    q = np.zeros((64 * threads, model.n))
    inverse_dynamics(model, q, q, q, threads=threads)
    gravity_torque(model, q, threads=threads)
    ne_star(model, q, q, q, q, threads=threads)
    equations_of_motion(model, q, q, threads=threads)
    momentum_terms(model, q, q, threads=threads)
    mass_matrix(model, q, threads=threads)
    forward_dynamics(model, q, q, q, threads=threads)
    force_rate(model, q, q, q, q, threads=threads)
    regressor(model, q, q, q, threads=threads)
    slotine_li_regressor(model, q, q, q, q, threads=threads)
    momentum_regressor(model, q, q, threads=threads)
