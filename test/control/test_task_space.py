"""Task-space laws: [Khalil2019] 9.4.3 and 9.3.3, redundant arms, singular postures."""

import numpy as np
import pinocchio as pin
import pytest
from control_cases import exact_plant, follow
from oracle import close

import robodyn_ros as rd
from robodyn_ros.control.controller import JointState
from robodyn_ros.control.laws.task_space import PoseMotion, TaskSpaceController, TaskSpacePid
from robodyn_ros.control.limits import TorqueLimits
from robodyn_ros.simulation.rigid import RigidPlant

FREE = TorqueLimits(np.inf)
BENT = np.array([0.3, 0.6, -0.2, -1.2, 0.4, 0.9, 0.1])
POINT = (0.02, -0.03, 0.1)
ARM = rd.robots.kuka_lwr4()
HAND = ARM.link_names[-1]


def pose_of(model, q, link, point=(0.0, 0.0, 0.0)):
    T = rd.forward_kinematics(model, q, link)
    T[:3, 3] += T[:3, :3] @ point
    return T


def error_of(wanted, T):
    """Return the error of T, position then axis times angle, with Pinocchio's logarithm."""
    turn = pin.log3(wanted[:3, :3] @ T[:3, :3].T)
    return np.concatenate([wanted[:3, 3] - T[:3, 3], turn])


def turned(T, vector):
    T = T.copy()
    T[:3, :3] = pin.exp3(np.asarray(vector, dtype=float)) @ T[:3, :3]
    return T


def answer(w, e0, ed0, t):
    """Return the critically damped solution of [9.36]."""
    return (e0 + (ed0 + w * e0) * t) * np.exp(-w * t)


@pytest.mark.parametrize("robot", ["kuka_lwr4", "stanford", "rx90"])
@pytest.mark.parametrize("orientation", [True, False])
def test_9_33_with_9_35_the_law(robot, orientation):
    model = getattr(rd.robots, robot)()
    random, link, m = np.random.default_rng(1), model.link_names[-1], 6 if orientation else 3
    kp, kd, damping = random.uniform(5.0, 50.0, 6), random.uniform(5.0, 9.0, 6), 3.0
    posture = random.normal(0.0, 0.3, model.n)
    controller = TaskSpaceController(
        model, link, kp, kd, point=POINT, orientation=orientation, null_damping=damping,
        posture=posture, limits=FREE, dexterity_min=1e-6,
    )  # fmt: skip
    for _ in range(5):
        q, qd = random.uniform(-1.0, 1.0, (2, model.n))
        T = pose_of(model, q, link, POINT)
        wanted = PoseMotion(turned(T, random.normal(size=3)), *random.normal(size=(2, 6)))
        wanted.T[:3, 3] += random.normal(0.0, 0.1, 3)
        J = rd.jacobian(model, q, link, POINT)
        w = wanted.A + kd * (wanted.V - J @ qd) + kp * error_of(wanted.T, T)
        J, bias = J[:m], rd.jacobian_rate_product(model, q, qd, link, POINT)[:m]
        inverse = np.linalg.pinv(J)
        a = damping**2 / 4.0 * (posture - q) - damping * qd
        qdd = inverse @ (w[:m] - bias) + (np.eye(model.n) - inverse @ J) @ a
        tau = controller.torque(JointState(q, qd), wanted)
        close(tau, rd.inverse_dynamics(model, q, qd, qdd), 1e-8)
        close(controller.error, error_of(wanted.T, T), 1e-9)
        assert controller.dexterity == pytest.approx(np.trace(np.linalg.inv(J @ J.T)) ** -0.5)
        assert not controller.near_singular


def test_9_20_without_errors_the_joints_accelerate_as_the_second_order_kinematics_say():
    """qdd = J^-1 (Xdd - Jdot qd) [9.20], [9.21], and J qdd + Jdot qd = Xdd [9.34]."""
    model, q = rd.robots.rx90(), np.array([0.3, -0.5, 1.1, 0.4, 0.9, -0.3])
    link = model.link_names[-1]
    qd, A = np.random.default_rng(2).normal(size=(2, 6))
    J = rd.jacobian(model, q, link)
    wanted = PoseMotion(pose_of(model, q, link), J @ qd, A)
    tau = TaskSpaceController(model, link, 9.0, 6.0, limits=FREE).torque(JointState(q, qd), wanted)
    qdd = rd.forward_dynamics(model, q, qd, tau)
    h = 1e-6
    J_dot = (rd.jacobian(model, q + h * qd, link) - rd.jacobian(model, q - h * qd, link)) / (2 * h)
    close(qdd, np.linalg.solve(J, A - J_dot @ qd), 1e-7)


def test_9_32_a_hand_that_accelerates_so_is_driven_by_this_torque():
    """A J^-1 (Xdd - Jdot qd) + H, with Xdd of the hand's motion under a torque by differences."""
    model, q = rd.robots.rx90(), np.array([0.3, -0.5, 1.1, 0.4, 0.9, -0.3])
    link, h = model.link_names[-1], 1e-5
    qd, tau = np.random.default_rng(5).normal(size=(2, 6)) * [[1.0], [20.0]]
    qdd = rd.forward_dynamics(model, q, qd, tau)

    def velocity(t):
        """Velocity of the hand by Pinocchio's logarithm, over 2 h around t."""
        before, after = (
            pose_of(model, q + s * qd + 0.5 * s**2 * qdd, link) for s in (t - h, t + h)
        )
        return error_of(after, before) / (2.0 * h)

    Xdd = (velocity(2e-4) - velocity(-2e-4)) / 4e-4
    J = rd.jacobian(model, q, link)
    J_dot_qd = rd.jacobian_rate_product(model, q, qd, link)
    A, H = rd.mass_matrix(model, q), rd.inverse_dynamics(model, q, qd, np.zeros(6))
    close(A @ np.linalg.solve(J, Xdd - J_dot_qd) + H, tau, 1e-5)
    # The law that is asked for this acceleration gives the torque again
    law = TaskSpaceController(model, link, 9.0, 6.0, limits=FREE, dexterity_min=1e-6)
    wanted = PoseMotion(pose_of(model, q, link), J @ qd, Xdd)
    close(law.torque(JointState(q, qd), wanted), tau, 1e-5)


@pytest.mark.parametrize("robot", ["kuka_lwr4", "rx90"])
def test_9_34_the_hand_becomes_a_double_integrator(robot):
    """Xdd = w in any posture and for any error, also of a redundant arm."""
    model, random = getattr(rd.robots, robot)(), np.random.default_rng(9)
    link, kp, kd = model.link_names[-1], 20.0, 9.0
    law = TaskSpaceController(model, link, kp, kd, limits=FREE, dexterity_min=1e-6)
    for _ in range(5):
        q, qd = random.uniform(-1.0, 1.0, (2, model.n))
        T, J = pose_of(model, q, link), rd.jacobian(model, q, link)
        wanted = PoseMotion(turned(T, random.normal(size=3)), *random.normal(size=(2, 6)))
        w = wanted.A + kd * (wanted.V - J @ qd) + kp * error_of(wanted.T, T)
        qdd = rd.forward_dynamics(model, q, qd, law.torque(JointState(q, qd), wanted))
        close(J @ qdd + rd.jacobian_rate_product(model, q, qd, link), w, 1e-7)


def test_9_37_the_error_leads_from_the_hand_to_the_reference():
    """X_d - X: a difference of positions, and the rotation from R to R_d."""
    random = np.random.default_rng(6)
    controller = TaskSpaceController(ARM, HAND, 1.0, 1.0, point=POINT)
    for _ in range(10):
        q = random.uniform(-1.0, 1.0, 7)
        T = pose_of(ARM, q, HAND, POINT)
        wanted = turned(T, random.normal(size=3))
        wanted[:3, 3] += random.normal(size=3)
        controller.torque(JointState(q, np.zeros(7)), PoseMotion.at_rest(wanted))
        e = controller.error
        close(T[:3, 3] + e[:3], wanted[:3, 3], 1e-12)
        close(pin.exp3(e[3:]) @ T[:3, :3], wanted[:3, :3], 1e-12)


def test_9_36_the_error_decays_as_designed():
    """Place while the reference moves on a circle; orientation while that rests."""
    w, dt = np.array([5.0, 7.0, 9.0, 6.0, 6.0, 6.0]), 2e-4
    start = pose_of(ARM, BENT, HAND, POINT)
    goal = turned(start, (0.5, -0.3, 0.4))
    centre = start[:3, 3] + (0.03, -0.05, 0.02)
    size, speed = np.array([0.06, 0.05, 0.04]), 3.0

    def motion(t):
        s, c, T = np.sin(speed * t), np.cos(speed * t), goal.copy()
        T[:3, 3] = centre + size * (s, c, s)
        V, A = np.zeros(6), np.zeros(6)
        V[:3], A[:3] = size * speed * (c, -s, c), -size * speed**2 * (s, c, s)
        return PoseMotion(T, V, A)

    controller = TaskSpaceController(ARM, HAND, w**2, 2.0 * w, point=POINT, limits=FREE)
    t, q, _, _ = follow(exact_plant(ARM, BENT), controller, motion, 4000, dt)
    e = np.array(
        [error_of(motion(s).T, pose_of(ARM, x, HAND, POINT)) for s, x in zip(t, q, strict=True)]
    )
    for i in range(6):
        expected = answer(w[i], e[0, i], motion(0.0).V[i], t)
        np.testing.assert_allclose(e[:, i], expected, atol=1e-3 * np.abs(e[0, i // 3 * 3 :]).max())


def test_motion_that_the_hand_does_not_see_dies_out_while_the_hand_stays():
    """|qd| = |qd(0)| exp(-D t): so says the law while J qd = 0."""
    start, damping, dt = pose_of(ARM, BENT, HAND), 4.0, 2e-4
    qd = 0.8 * np.linalg.svd(rd.jacobian(ARM, BENT, HAND))[2][-1]
    wanted = PoseMotion.at_rest(start)
    controller = TaskSpaceController(ARM, HAND, 400.0, 40.0, null_damping=damping, limits=FREE)
    plant = exact_plant(ARM, BENT, qd)
    t, q, qd, _ = follow(plant, controller, lambda t: wanted, 5000, dt)
    expected = 0.8 * np.exp(-damping * t)
    np.testing.assert_allclose(np.linalg.norm(qd, axis=1), expected, atol=1e-3)
    assert np.abs(q[-1] - BENT).max() > 0.05
    off = [error_of(start, pose_of(ARM, x, HAND)) for x in q[::100]]
    assert np.abs(off).max() < 1e-4


def test_spare_joints_go_to_the_posture_while_the_hand_stays():
    start = pose_of(ARM, BENT, HAND)
    posture = BENT + np.array([0.3, 0.0, -0.3, 0.0, 0.2, 0.0, 0.0])
    controller = TaskSpaceController(ARM, HAND, 400.0, 40.0, null_damping=8.0, posture=posture)
    wanted = PoseMotion.at_rest(start)
    _, q, qd, _ = follow(exact_plant(ARM, BENT), controller, lambda t: wanted, 4000)
    null = np.linalg.svd(rd.jacobian(ARM, q[-1], HAND))[2][-1]
    assert abs(null @ (posture - q[0])) > 0.1
    assert abs(null @ (posture - q[-1])) < 1e-3
    assert np.abs(qd[-1]).max() < 1e-3
    assert np.abs(error_of(start, pose_of(ARM, q[-1], HAND))).max() < 1e-4


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-6, 0.5, 2.0, 3.0, np.pi - 1e-6])
@pytest.mark.parametrize("seed", range(4))
def test_the_orientation_error_is_axis_times_angle(angle, seed):
    random = np.random.default_rng(seed)
    axis = random.normal(size=3) if seed else np.eye(3)[int(angle) % 3]
    vector = angle * axis / np.linalg.norm(axis)
    wanted = PoseMotion.at_rest(turned(pose_of(ARM, BENT, HAND), vector))
    controller = TaskSpaceController(ARM, HAND, 1.0, 1.0)
    controller.torque(JointState(BENT, np.zeros(7)), wanted)
    np.testing.assert_allclose(controller.error[3:], vector, rtol=1e-8, atol=2e-15)


@pytest.mark.parametrize("axis", np.vstack([np.eye(3), np.ones(3) / np.sqrt(3.0)]))
def test_half_a_turn_is_an_error_of_pi_about_the_right_axis(axis):
    T = pose_of(ARM, BENT, HAND)
    T[:3, :3] = (2.0 * np.outer(axis, axis) - np.eye(3)) @ T[:3, :3]
    controller = TaskSpaceController(ARM, HAND, 1.0, 1.0)
    controller.torque(JointState(BENT, np.zeros(7)), PoseMotion.at_rest(T))
    turn = controller.error[3:]
    np.testing.assert_allclose(np.abs(turn @ axis), np.pi, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(turn), np.pi, rtol=1e-9)


def accelerations(controller, q, wanted):
    tau = controller.torque(JointState(q, np.zeros(7)), wanted)
    return rd.forward_dynamics(ARM, q, np.zeros(7), tau)


def test_near_a_singular_posture_accelerations_stay_bounded_and_continuous():
    """|qdd| <= |w| / dexterity_min, through the stretched posture and without a step."""
    smallest = 0.05
    controller = TaskSpaceController(
        ARM, HAND, 1.0, 1.0, limits=FREE, dexterity_min=smallest, null_damping=1e-9
    )
    w = np.array([0.3, -0.2, 1.0, 0.1, 0.4, -0.2])
    qdd, flags = [], []
    for share in np.linspace(1.0, 0.0, 2001):
        q = share * BENT
        wanted = PoseMotion(pose_of(ARM, q, HAND), np.zeros(6), w)
        qdd.append(accelerations(controller, q, wanted))
        flags.append(controller.near_singular)
        assert controller.near_singular == (controller.dexterity < smallest)
        smallest_value = np.linalg.svd(rd.jacobian(ARM, q, HAND))[1][-1]
        assert smallest_value / np.sqrt(6.0) <= controller.dexterity + 1e-9
        assert controller.dexterity <= smallest_value + 1e-6
    qdd = np.array(qdd)
    assert not flags[0] and flags[-1]
    assert np.linalg.norm(qdd, axis=1).max() <= np.linalg.norm(w) / smallest
    assert np.abs(np.diff(qdd, axis=0)).max() < 0.02 * np.abs(qdd).max()


def test_a_pose_out_of_reach_does_no_harm():
    goal = pose_of(ARM, BENT, HAND)
    goal[:3, 3] *= 3.0
    controller = TaskSpaceController(ARM, HAND, 25.0, 10.0)
    plant = RigidPlant(ARM, BENT, friction=False)
    _, q, qd, tau = follow(plant, controller, lambda t: PoseMotion.at_rest(goal), 4000)
    assert controller.near_singular
    assert abs(q[-1, 3]) < 0.02  # the elbow is straight
    assert np.abs(qd[-500:]).max() < 0.05 < np.abs(qd).max()
    assert (np.abs(tau) <= ARM.tau_max).all()


@pytest.mark.parametrize("gravity", [False, True])
@pytest.mark.parametrize("orientation", [True, False])
def test_9_17_the_law_of_the_pid(gravity, orientation):
    model = rd.robots.rx90()
    random, link, m = np.random.default_rng(3), model.link_names[-1], 6 if orientation else 3
    kp, kd, ki = random.uniform(1.0, 9.0, (3, 6))
    controller = TaskSpacePid(
        model, link, kp, kd, ki, point=POINT, orientation=orientation, gravity=gravity, limits=FREE
    )
    integral = np.zeros(6)
    for _ in range(5):
        q, qd = random.uniform(-1.0, 1.0, (2, model.n))
        T = pose_of(model, q, link, POINT)
        wanted = PoseMotion(turned(T, random.normal(size=3)), *random.normal(size=(2, 6)))
        e, J = error_of(wanted.T, T), rd.jacobian(model, q, link, POINT)
        integral[:m] += e[:m] * 2e-3
        f = kp * e + kd * (wanted.V - J @ qd) + ki * integral
        expected = J[:m].T @ f[:m] + gravity * rd.gravity_torque(model, q)
        close(controller.torque(JointState(q, qd), wanted, 2e-3), expected, 1e-10)
    np.testing.assert_allclose(controller.integral, ki * integral, rtol=1e-10, atol=1e-15)


def test_the_pid_brings_the_hand_to_its_pose_with_an_unknown_weight():
    model, q = rd.robots.rx90(), np.array([0.2, -0.6, 1.2, 0.3, 0.8, 0.1])
    link = model.link_names[-1]
    goal = turned(pose_of(model, q, link), (0.1, -0.2, 0.1))
    goal[:3, 3] += (0.05, 0.05, -0.04)
    kp, kd = np.repeat([2e4, 600.0], 3), np.repeat([3e3, 60.0], 3)
    controller = TaskSpacePid(model, link, kp, kd, 3.0 * kp)
    plant = RigidPlant(model, q, friction=False, stops=False)
    _, q, _, _ = follow(plant, controller, lambda t: PoseMotion.at_rest(goal), 4000)
    assert np.abs(error_of(goal, pose_of(model, q[-1], link))).max() < 1e-4


def test_the_pid_takes_over_as_far_as_forces_at_the_hand_can():
    """Six joints: exactly that torque; a redundant arm: the nearest one."""
    random = np.random.default_rng(12)
    for model, q in ((rd.robots.rx90(), [0.3, -0.5, 0.3, 0.4, 1.2, -0.3]), (ARM, BENT)):
        link, tau = model.link_names[-1], random.uniform(-9.0, 9.0, model.n)
        state = JointState(np.array(q), random.normal(0.0, 0.1, model.n))
        wanted = PoseMotion.at_rest(turned(pose_of(model, state.q, link), (0.1, -0.2, 0.1)))
        controller = TaskSpacePid(model, link, 100.0, 10.0, 50.0, gravity=True, limits=FREE)
        free = controller.torque(state, wanted).copy()
        controller.reset(tau)
        J = rd.jacobian(model, state.q, link)
        near = free + J.T @ np.linalg.lstsq(J.T, tau - free, rcond=None)[0]
        np.testing.assert_allclose(controller.torque(state, wanted), near, atol=1e-9)
        assert (np.abs(near - tau).max() < 1e-9) == (model.n == 6)
        near += J.T @ (50.0 * controller.error) * 1e-3  # and from there on, the law
        np.testing.assert_allclose(controller.torque(state, wanted), near, atol=1e-9)


def test_the_pid_in_the_task_space_does_not_wind_up():
    model, q = rd.robots.rx90(), np.array([0.2, -0.6, 1.2, 0.3, 0.8, 0.1])
    link, state = model.link_names[-1], JointState(q, np.zeros(6))
    goal = pose_of(model, q, link)
    goal[:3, 3] += (0.2, 0.1, -0.3)
    controller = TaskSpacePid(model, link, 1e3, 10.0, 1e3, limits=TorqueLimits(5.0))
    J = rd.jacobian(model, q, link)
    vain = np.zeros(6)
    for _ in range(200):
        before = controller.integral
        controller.torque(state, PoseMotion.at_rest(goal))
        grown = controller.integral - before
        expected = np.where(vain * controller.error > 0.0, 0.0, controller.error)
        np.testing.assert_allclose(grown, expected, atol=1e-12)
        # What the integral still does never adds to what is held back
        assert grown @ vain <= 0.0
        vain = J @ controller.excess
    assert (np.abs(controller.integral[:3]) < 1.0).all()


def test_a_point_that_the_joints_cannot_move_is_rejected():
    small = rd.robots.puma_4dof()
    with pytest.raises(rd.ArgumentError, match="only 4 of the 6 .*; orientation=False"):
        TaskSpaceController(small, small.link_names[-1], 1.0, 1.0)
    flat = rd.robots.planar_2r()
    with pytest.raises(rd.ArgumentError, match="only 1 of the 3 directions that this law needs$"):
        TaskSpacePid(flat, flat.link_names[-1], 1.0, 1.0, orientation=False)
    with pytest.raises(rd.ArgumentError, match="no link 'tail'"):
        TaskSpaceController(ARM, "tail", 1.0, 1.0)
    with pytest.raises(rd.ArgumentError, match="point must be 3"):
        TaskSpaceController(ARM, HAND, 1.0, 1.0, point=(1.0, 2.0))
    with pytest.raises(rd.ArgumentError, match="dexterity_min must be positive"):
        TaskSpaceController(ARM, HAND, 1.0, 1.0, dexterity_min=0.0)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.inf, np.nan, [1.0, 2.0], "stiff"])
def test_gains_must_be_positive_and_one_or_six(bad):
    with pytest.raises(rd.ArgumentError, match="kp must be"):
        TaskSpaceController(ARM, HAND, bad, 1.0)
    with pytest.raises(rd.ArgumentError, match="kd must be"):
        TaskSpacePid(ARM, HAND, 1.0, bad)


@pytest.mark.parametrize(
    "T", [np.eye(3), 2.0 * np.eye(4), np.diag([1.0, 1.0, -1.0, 1.0]), np.full((4, 4), np.nan), "x"]
)
def test_a_reference_must_be_a_pose(T):
    controller = TaskSpaceController(ARM, HAND, 1.0, 1.0)
    wanted = PoseMotion(T, np.zeros(6), np.zeros(6))
    with pytest.raises(rd.ArgumentError, match="reference.T must be"):
        controller.torque(JointState(BENT, np.zeros(7)), wanted)
