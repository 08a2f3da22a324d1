"""The momentum regressor: p, C^T qd and g, linear in the parameters."""

import pytest
from dynamics_cases import ARMS, CHAINS, MIMICS, SOME, TREES, Motion, derivative, robot
from oracle import close, random_state

import robodyn_ros as rd
from robodyn_ros.dynamics.momentum_regressor import momentum_regressor
from robodyn_ros.dynamics.regressor import regressor

every_robot = pytest.mark.parametrize("name", [*ARMS, *CHAINS, *TREES, *MIMICS])
some_robots = pytest.mark.parametrize("name", SOME)


@every_robot
def test_momentum_regressor_gives_the_residuals_terms(name):
    model = robot(name).replace(rotor_inertia=0.0)
    q, qd = random_state(model, 8)
    pi = model.inertial_parameters()
    expected = rd.momentum_terms(model, q, qd)
    for Y, term in zip(momentum_regressor(model, q, qd), expected, strict=True):
        close(Y @ pi, term)


@some_robots
def test_the_momentum_regressors_rate_is_the_regressor_column_by_column(name):
    # [DeLuca2009] (23) for every parameter: d/dt Y_p + Y_g - Y_c = Y
    model = robot(name)
    motion = Motion(model, 9)

    def Y_p(t):
        return momentum_regressor(model, *motion.at(t)[:2])[0]

    q, qd, qdd, _ = motion.at(0.0)
    _, Y_c, Y_g = momentum_regressor(model, q, qd)
    close(derivative(Y_p) + Y_g - Y_c, regressor(model, q, qd, qdd), 1e-8)
