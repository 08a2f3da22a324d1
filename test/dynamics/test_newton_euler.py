"""NE and its special cases, against Pinocchio and against each other."""

import numpy as np
import pinocchio as pin
import pytest
from dynamics_cases import SOME, pinocchio, robot, with_friction, with_tool
from oracle import Pinocchio, close, random_state

import robodyn_ros as rd

every_robot = pytest.mark.parametrize("name", SOME)


@every_robot
def test_inverse_dynamics_is_pinocchios(name):
    model = robot(name)
    q, qd, qdd = random_state(model, 1, 3)
    close(rd.inverse_dynamics(model, q, qd, qdd), pinocchio(name).inverse_dynamics(q, qd, qdd))


@every_robot
def test_inverse_dynamics_is_the_sum_of_its_parts(name):
    model = robot(name)
    q, qd, qdd = random_state(model, 2, 3)
    inertial, c = rd.mass_matrix(model, q) @ qdd, rd.velocity_torque(model, q, qd)
    g = rd.gravity_torque(model, q)
    close(rd.inverse_dynamics(model, q, qd, qdd), inertial + c + g)
    close(rd.inverse_dynamics(model, q, qd, qdd, gravity=False), inertial + c)


@every_robot
def test_gravity_torque_is_pinocchios_and_that_of_standing_still(name):
    model = robot(name)
    (q,) = random_state(model, 3, 1)
    still = np.zeros(model.n)
    close(rd.gravity_torque(model, q), pinocchio(name).gravity(q))
    close(rd.gravity_torque(model, q), rd.inverse_dynamics(model, q, still, still))


@every_robot
def test_velocity_torque_is_quadratic_and_pinocchios(name):
    model = robot(name)
    q, qd = random_state(model, 4)
    c = rd.velocity_torque(model, q, qd)
    close(c, pinocchio(name).coriolis(q, qd) @ qd)
    close(rd.velocity_torque(model, q, -3.0 * qd), 9.0 * c)


@every_robot
def test_columns_of_the_mass_matrix(name):
    model = robot(name)
    (q,) = random_state(model, 5, 1)
    columns = [rd.mass_matrix_column(model, q, i) for i in range(model.n)]
    close(np.column_stack(columns), pinocchio(name).mass_matrix(q))


@every_robot
def test_momentum(name):
    model = robot(name)
    q, qd = random_state(model, 6)
    close(rd.momentum(model, q, qd), pinocchio(name).mass_matrix(q) @ qd)


@every_robot
@pytest.mark.parametrize("per_joint", [False, True])
def test_feedback_linearization_makes_the_robot_accelerate_as_commanded(name, per_joint):
    model = robot(name)
    q, qd, q_d, qd_d, qdd_d = random_state(model, 7, 5)
    kp, kd = (np.linspace(10.0, 30.0, model.n), np.full(model.n, 8.0)) if per_joint else (25, 10)
    tau = rd.feedback_linearizing_torque(model, q, qd, q_d, qd_d, qdd_d, kp, kd)
    a = qdd_d + kp * (q_d - q) + kd * (qd_d - qd)
    close(rd.forward_dynamics(model, q, qd, tau), a, 1e-8)


def random_wrenches(model, seed):
    random = np.random.default_rng(seed)
    links = ["tool", model.link_names[0], model.link_names[model.n // 2]]
    return {link: random.normal(scale=10.0, size=6) for link in links}


@every_robot
def test_external_torque_is_the_virtual_work_of_the_wrenches(name):
    model = with_tool(robot(name))
    oracle = Pinocchio(model)
    (q,) = random_state(model, 8, 1)
    wrenches = random_wrenches(model, 8)
    expected = np.zeros(model.n)
    for link, wrench in wrenches.items():
        frame = oracle.frame(link)
        J = pin.computeFrameJacobian(
            oracle.model, oracle.data, oracle.positions(q), frame, pin.LOCAL_WORLD_ALIGNED
        )
        expected += oracle.reduce(J.T @ wrench)
    close(rd.external_torque(model, q, wrenches), expected)


@every_robot
def test_external_wrenches_relieve_the_motors(name):
    # Khalil 7.3.6: Gamma = A qdd + H + J^T F_e, F_e the wrench that the robot exerts.
    model = with_tool(robot(name))
    q, qd, qdd = random_state(model, 9, 3)
    wrenches = random_wrenches(model, 9)
    relief = rd.external_torque(model, q, wrenches)
    free, pushed = (rd.inverse_dynamics(model, q, qd, qdd, external=w) for w in (None, wrenches))
    close(free - pushed, relief, 1e-9)
    close(rd.forward_dynamics(model, q, qd, pushed, external=wrenches), qdd, 1e-8)
    assert np.abs(rd.forward_dynamics(model, q, qd, pushed) - qdd).max() > 1e-3


def test_a_wrench_on_the_base_does_nothing():
    model = with_tool(robot("kuka_lwr4"))
    q, qd, qdd = random_state(model, 10, 3)
    on_base = {"table": np.ones(6), "base_link": np.ones(6)}
    expected = rd.inverse_dynamics(model, q, qd, qdd)
    np.testing.assert_array_equal(
        rd.inverse_dynamics(model, q, qd, qdd, external=on_base), expected
    )


def test_wrenches_beside_a_batch_of_states():
    model = with_tool(robot("stanford"))
    random = np.random.default_rng(11)
    q, qd, qdd = random.normal(size=(3, 4, model.n))
    W = random.normal(size=(4, 6))
    tau = rd.inverse_dynamics(model, q, qd, qdd, external={"tool": W})
    for t in range(4):
        one = rd.inverse_dynamics(model, q[t], qd[t], qdd[t], external={"tool": W[t]})
        close(tau[t], one, 1e-13)


@pytest.mark.parametrize("wrench", [np.ones(5), np.ones((2, 2, 6)), [np.nan] * 6, "push", None])
def test_a_bad_wrench_is_named(wrench):
    model = robot("stanford")
    with pytest.raises(rd.ArgumentError, match="link_6"):
        rd.external_torque(model, np.zeros(model.n), {"link_6": wrench})


def test_a_wrench_on_an_unknown_link_is_named():
    model = robot("stanford")
    with pytest.raises(rd.ArgumentError, match="no link 'hand'"):
        rd.external_torque(model, np.zeros(model.n), {"hand": np.zeros(6)})


def test_friction_is_added_only_when_asked_for():
    model = with_friction(robot("tree 2"))
    q, qd, qdd = random_state(model, 12, 3)
    without, with_it = (
        rd.inverse_dynamics(model, q, qd, qdd, friction=asked) for asked in (False, True)
    )
    close(without, rd.inverse_dynamics(robot("tree 2"), q, qd, qdd))
    close(with_it - without, rd.friction_torque(model, qd), 1e-9)
    close(rd.forward_dynamics(model, q, qd, with_it, friction=True), qdd, 1e-8)
