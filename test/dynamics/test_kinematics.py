"""Frames, Jacobians and Jdot qd of any point on any link."""

import numpy as np
import pinocchio as pin
import pytest
from dynamics_cases import SOME, derivative, robot, with_tool
from oracle import Pinocchio, close, random_state

import robodyn_ros as rd

every_robot = pytest.mark.parametrize("name", SOME)
POINT = np.array([0.3, -0.2, 0.5])


def some_links(model):
    return ["tool", "table", "base_link", *model.link_names[:: max(1, model.n // 3)]]


def skew(r):
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


@every_robot
def test_frames_are_pinocchios(name):
    model = with_tool(robot(name))
    oracle = Pinocchio(model)
    (q,) = random_state(model, 1, 1)
    frames = {link: oracle.frame(link) for link in model.frames}
    pin.framesForwardKinematics(oracle.model, oracle.data, oracle.positions(q))
    for link, frame in frames.items():
        close(rd.forward_kinematics(model, q, link), oracle.data.oMf[frame].homogeneous)
    every = rd.forward_kinematics(model, q)
    assert every.shape == (len(model.link_names), 4, 4)
    for pose, link in zip(every, model.link_names, strict=True):
        np.testing.assert_array_equal(pose, rd.forward_kinematics(model, q, link))


@every_robot
def test_jacobians_are_pinocchios(name):
    model = with_tool(robot(name))
    oracle = Pinocchio(model)
    (q,) = random_state(model, 2, 1)
    for link in some_links(model):
        frame = oracle.frame(link)
        pin.computeJointJacobians(oracle.model, oracle.data, oracle.positions(q))
        pin.updateFramePlacements(oracle.model, oracle.data)
        J = pin.getFrameJacobian(oracle.model, oracle.data, frame, pin.LOCAL_WORLD_ALIGNED)
        J = J @ oracle.P.T @ oracle.G
        close(rd.jacobian(model, q, link), J)
        arm = rd.forward_kinematics(model, q, link)[:3, :3] @ POINT
        moved = np.vstack([J[:3] - skew(arm) @ J[3:], J[3:]])
        close(rd.jacobian(model, q, link, POINT), moved)


@every_robot
def test_jacobian_is_the_derivative_of_the_pose(name):
    model = with_tool(robot(name))
    q, qd = random_state(model, 3)
    for link in some_links(model):

        def pose(s, link=link):
            return rd.forward_kinematics(model, q + s * qd, link)

        rate, R = derivative(pose), pose(0.0)[:3, :3]
        W = rate[:3, :3] @ R.T
        omega = np.array([W[2, 1], W[0, 2], W[1, 0]])
        expected = np.concatenate([rate[:3, 3] + rate[:3, :3] @ POINT, omega])
        close(rd.jacobian(model, q, link, POINT) @ qd, expected, 1e-8)


@every_robot
def test_jacobian_rate_is_pinocchios_classical_acceleration(name):
    model = with_tool(robot(name))
    oracle = Pinocchio(model)
    q, qd = random_state(model, 4)
    for link in some_links(model):
        frame = oracle.frame(link)
        still = np.zeros(oracle.model.nv)
        pin.forwardKinematics(
            oracle.model, oracle.data, oracle.positions(q), oracle.full(qd), still
        )
        a = pin.getFrameClassicalAcceleration(
            oracle.model, oracle.data, frame, pin.LOCAL_WORLD_ALIGNED
        )
        close(rd.jacobian_rate_product(model, q, qd, link), a.vector)


@every_robot
def test_jacobian_rate_product_is_the_derivative_of_the_jacobian(name):
    model = with_tool(robot(name))
    q, qd = random_state(model, 5)
    for link in some_links(model):
        rate = derivative(lambda s, link=link: rd.jacobian(model, q + s * qd, link, POINT))
        close(rd.jacobian_rate_product(model, q, qd, link, POINT), rate @ qd, 1e-8)


CALLS = {
    "forward_kinematics": lambda model, q, link: rd.forward_kinematics(model, q, link),
    "jacobian": lambda model, q, link: rd.jacobian(model, q, link),
    "jacobian_rate_product": lambda model, q, link: rd.jacobian_rate_product(model, q, q, link),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_unknown_link_is_refused_with_the_known_ones(call):
    model = robot("stanford")
    with pytest.raises(rd.ArgumentError, match="no link 'hand'.*link_6"):
        call(model, np.zeros(6), "hand")


@pytest.mark.parametrize("point", [(1.0, 2.0), np.zeros((1, 3)), (0.0, np.inf, 0.0), "tip", None])
def test_a_bad_point_is_refused(point):
    model, q = robot("stanford"), np.zeros(6)
    with pytest.raises(rd.ArgumentError, match="point"):
        rd.jacobian(model, q, "link_6", point)
    with pytest.raises(rd.ArgumentError, match="point"):
        rd.jacobian_rate_product(model, q, q, "link_6", point)


@pytest.mark.parametrize("turns", [1.0, 1e3, 1e6, 1e12, 1e18])
def test_many_turns_are_one_posture(turns):
    model = robot("kuka_lwr4")
    (q,) = random_state(model, 6, 1)
    far = q + 2.0 * np.pi * turns
    exact = np.cos(far), np.sin(far)  # of the number as it is, rounding included
    near = np.arctan2(exact[1], exact[0])
    close(rd.forward_kinematics(model, far), rd.forward_kinematics(model, near), 1e-13)
    close(rd.mass_matrix(model, far), rd.mass_matrix(model, near), 1e-13)
