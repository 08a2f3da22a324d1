"""Moves in task space, [Khalil2019] (8.48)-(8.57), and robots that follow them."""

import re
from functools import cache

import numpy as np
import pytest
from oracle import close, random_rotation
from scipy.spatial.transform import Rotation, Slerp

import robodyn_ros as rd
from robodyn_ros.dynamics.inverse_kinematics import (
    JointLimitError,
    OutOfReachError,
    SingularityError,
    Tip,
)
from robodyn_ros.trajectory.joint_move import joint_move
from robodyn_ros.trajectory.task_following import follow
from robodyn_ros.trajectory.task_space import axis_angle, euler_angles, line, rotations, turn

PROFILES = ("cubic", "quintic", "septic", "bang_bang", "trapezoid", "smooth_trapezoid")
LIMITS = {"v_max": 0.3, "a_max": 1.0, "w_max": 1.0, "alpha_max": 3.0}
BENT = np.array([0.3, 0.6, -0.2, 1.2, 0.4, -0.8, 0.5])  # a posture of the KUKA LWR 4+


def robot(name):
    return getattr(rd.robots, name)()


def derivative(f, h=1e-3):
    """Return f'(0) by fourth-order differences."""
    return (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)


def random_pose(random, scale=0.5):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = random_rotation(random), random.normal(scale=scale, size=3)
    return T


def moved(T, shift, turn=(0.0, 0.0, 0.0)):
    """Return a pose shifted and rotated, both in the base axes."""
    T = T.copy()
    T[:3, 3] += shift
    T[:3, :3] = Rotation.from_rotvec(turn).as_matrix() @ T[:3, :3]
    return T


def some_moves():
    random = np.random.default_rng(0)
    for profile in PROFILES:
        T_start, T_end = random_pose(random), random_pose(random)
        axis, centre = random.normal(size=(2, 3))
        yield line(T_start, T_end, profile=profile, **LIMITS)
        yield line(T_start, T_end, profile=profile, euler=True, **LIMITS)
        yield turn(T_start, axis, 2.0, profile=profile, **LIMITS)
        yield turn(T_start, axis, -4.0, centre=centre, profile=profile, **LIMITS)
        yield turn(T_start, axis, 1.0, centre=centre, axis_frame="tool", duration=9.0)


@pytest.mark.parametrize("angle", [1e-9, 1e-4, 1.0, np.pi / 2, 3.0, np.pi - 1e-8, np.pi])
def test_axis_and_angle_8_49_to_8_51(angle):
    random = np.random.default_rng(1)
    for _ in range(20):
        R, u = random_rotation(random), random.normal(size=3)
        u /= np.linalg.norm(u)
        R_end = R @ Rotation.from_rotvec(angle * u).as_matrix()
        found, alpha = axis_angle(R, R_end)
        assert alpha == pytest.approx(angle, abs=1e-14)
        sign = np.sign(found @ u) if angle == np.pi else 1.0
        np.testing.assert_allclose(sign * found, u, rtol=0, atol=1e-6 if angle < 1e-6 else 1e-11)
        np.testing.assert_allclose(R @ rotations(found, np.array([alpha]))[0], R_end, atol=1e-14)


def test_an_axis_fixed_in_the_base_8_56():
    random = np.random.default_rng(2)
    R, R_end = random_rotation(random), random_rotation(random)
    u, alpha = axis_angle(R, R_end, axis_frame="base")
    close(Rotation.from_rotvec(alpha * u).as_matrix() @ R, R_end, 1e-14)
    in_tool, same = axis_angle(R, R_end, axis_frame="tool")
    assert same == alpha
    close(R @ in_tool, u, 1e-14)


def test_no_rotation_needs_no_axis():
    u, alpha = axis_angle(np.eye(3), np.eye(3))
    assert alpha == 0.0 and np.linalg.norm(u) == 1.0


@pytest.mark.parametrize("profile", ("linear", *PROFILES))
def test_lines_are_straight_and_turn_evenly_8_52_to_8_54(profile):
    random = np.random.default_rng(3)
    T_start, T_end = random_pose(random), random_pose(random)
    move = line(T_start, T_end, profile=profile, duration=2.0)
    t = np.linspace(0.0, 2.0, 41)
    r = joint_move([0.0], [1.0], profile=profile, duration=2.0).at(t).q
    T = move.at(t).T
    close(T[:, :3, 3], T_start[:3, 3] + r * (T_end - T_start)[:3, 3], 1e-14)
    between = Slerp([0.0, 1.0], Rotation.from_matrix([T_start[:3, :3], T_end[:3, :3]]))
    close(T[:, :3, :3], between(np.clip(r[:, 0], 0.0, 1.0)).as_matrix(), 1e-13)
    close(T[0], T_start, 1e-14)
    close(T[-1], T_end, 1e-14)


def test_euler_angles_interpolated_8_55():
    random = np.random.default_rng(4)
    for _ in range(20):
        T_start, T_end = random_pose(random), random_pose(random)
        move = line(T_start, T_end, euler=True, duration=1.0)
        angles = euler_angles(T_start[:3, :3])
        close(Rotation.from_euler("ZXZ", angles).as_matrix(), T_start[:3, :3], 1e-14)
        change = euler_angles(T_end[:3, :3]) - angles
        change -= 2.0 * np.pi * np.round(change / (2.0 * np.pi))
        r = 10 * 0.3**3 - 15 * 0.3**4 + 6 * 0.3**5
        expected = Rotation.from_euler("ZXZ", angles + r * change).as_matrix()
        close(move.at(0.3).T[:3, :3], expected, 1e-13)
        close(move.at(1.0).T, T_end, 1e-13)


@pytest.mark.parametrize("theta", [0.0, np.pi])
@pytest.mark.parametrize("phi", [0.0, 0.7, -2.0])
def test_euler_angles_where_only_two_of_three_count(theta, phi):
    R = Rotation.from_euler("ZXZ", [0.4, theta, 0.9]).as_matrix()
    angles = euler_angles(R, phi)
    assert angles[0] == phi
    np.testing.assert_allclose(Rotation.from_euler("ZXZ", angles).as_matrix(), R, atol=1e-14)


def test_euler_angles_from_such_a_pose_do_not_rotate_needlessly():
    """From theta = 0, a tilt about the x axis turned by 0.7 is a change of theta only."""
    T_end = np.eye(4)
    T_end[:3, :3] = Rotation.from_euler("ZXZ", [0.7, 0.5, -0.7]).as_matrix()
    for T in (T_end, T_end.T):
        path = line(np.eye(4), T, euler=True, duration=1.0).path
        np.testing.assert_allclose(path.change, [0.0, 0.5, 0.0], atol=1e-12)
        path = line(T, np.eye(4), euler=True, duration=1.0).path
        np.testing.assert_allclose(path.change, [0.0, -0.5, 0.0], atol=1e-12)


@pytest.mark.parametrize("move", list(some_moves()), ids=lambda move: type(move.path).__name__)
def test_velocities_and_accelerations_8_57(move):
    """Both are the derivatives of the pose, and the turning ones in the base's axes."""
    T_all, V_all, A_all = move.at(move.duration * np.array([0.08, 0.43, 0.52, 0.9]))
    for k, t in enumerate(move.duration * np.array([0.08, 0.43, 0.52, 0.9])):
        T, V, A = move.at(t)
        np.testing.assert_array_equal(T, T_all[k])
        np.testing.assert_array_equal(np.stack([V, A]), np.stack([V_all[k], A_all[k]]))

        def place(h, t=t):
            return move.at(t + h).T[:3, 3]

        def turned(h, t=t, R=T[:3, :3]):
            return Rotation.from_matrix(move.at(t + h).T[:3, :3] @ R.T).as_rotvec()

        np.testing.assert_allclose(V[:3], derivative(place), rtol=0, atol=1e-9)
        np.testing.assert_allclose(V[3:], derivative(turned), rtol=0, atol=1e-9)
        np.testing.assert_allclose(A, derivative(lambda h, t=t: move.at(t + h).V), atol=1e-8)


def test_the_angular_velocity_of_a_line_is_along_its_axis_8_57():
    random = np.random.default_rng(5)
    T_start, T_end = random_pose(random), random_pose(random)
    move = line(T_start, T_end, duration=1.0)
    u, alpha = axis_angle(T_start[:3, :3], T_end[:3, :3], axis_frame="base")
    rd_at = joint_move([0.0], [1.0], duration=1.0).at(0.4).qd
    close(move.at(0.4).V[3:], u * rd_at * alpha, 1e-13)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("turn_by", [0.02, 0.5, 3.0])
def test_8_48_distance_and_angle_are_synchronized_as_two_joints(profile, turn_by):
    """The time is that of joints D and alpha; nothing exceeds its limit and one touches it."""
    T_start = random_pose(np.random.default_rng(6))
    T_end = moved(T_start, (0.1, -0.2, 0.2), (0.0, turn_by, 0.0))
    move = line(T_start, T_end, profile=profile, **LIMITS)
    joints = joint_move(
        [0.0, 0.0], [0.3, turn_by], profile=profile, qd_max=[0.3, 1.0], qdd_max=[1.0, 3.0]
    )
    assert move.duration == pytest.approx(joints.duration, rel=1e-12)
    t = np.linspace(0.0, move.duration, 2001)
    T, V, A = move.at(t)
    done = np.linalg.norm(T[:, :3, 3] - T_start[:3, 3], axis=1)
    np.testing.assert_allclose(done, joints.at(t).q[:, 0], atol=1e-12)
    sizes = [np.linalg.norm(x, axis=-1).max() for x in (V[:, :3], V[:, 3:], A[:, :3], A[:, 3:])]
    shares = np.array(sizes) / [0.3, 1.0, 1.0, 3.0]
    assert shares.max() == pytest.approx(1.0, abs=1e-5)
    assert shares.max() <= 1.0 + 1e-9


def test_a_frame_rests_before_and_after():
    random = np.random.default_rng(7)
    T_start, T_end = random_pose(random), random_pose(random)
    move = line(T_start, T_end, profile="linear", duration=1.0)
    T, V, A = move.at([-1.0, 2.0])
    close(T[0], T_start, 1e-14)
    close(T[1], T_end, 1e-14)
    assert not V.any() and not A.any()
    t, motion = move.sample(0.3)
    np.testing.assert_allclose(t, [0.0, 0.3, 0.6, 0.9, 1.0])
    assert motion.T.shape == (5, 4, 4) and motion.V.shape == (5, 6)


def test_a_full_turn_about_a_point_is_a_circle():
    T_start = random_pose(np.random.default_rng(8))
    axis, centre = np.array([0.0, 2.0, 0.0]), np.array([0.2, 0.5, -0.3])
    move = turn(T_start, axis, 2.0 * np.pi, centre=centre, v_max=0.4, w_max=9.0)
    T, V, _ = move.at(np.linspace(0.0, move.duration, 201))
    arms = T[:, :3, 3] - centre
    radius = np.linalg.norm(arms[:, [0, 2]], axis=1)
    close(radius, np.full(201, radius[0]), 1e-13)
    close(arms[:, 1], np.full(201, arms[0, 1]), 1e-13)
    close(
        np.linalg.inv(T) @ [*centre, 1.0], np.tile(np.linalg.inv(T_start) @ [*centre, 1], (201, 1))
    )
    close(T[-1], T_start, 1e-13)
    assert np.linalg.norm(V[:, :3], axis=1).max() == pytest.approx(0.4, rel=1e-4)
    assert move.duration == pytest.approx(15.0 / 8.0 * 2.0 * np.pi * radius[0] / 0.4)


def test_an_axis_and_a_centre_in_the_tools_frame():
    T_start = random_pose(np.random.default_rng(9))
    axis, centre = np.array([1.0, 2.0, -1.0]), np.array([0.1, 0.2, 0.3])
    in_tool = turn(T_start, axis, 1.2, centre=centre, axis_frame="tool", duration=1.0)
    R, P = T_start[:3, :3], T_start[:3, 3]
    in_base = turn(T_start, R @ axis, 1.2, centre=P + R @ centre, duration=1.0)
    close(in_tool.at(0.6).T, in_base.at(0.6).T, 1e-13)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda T: line(T, np.eye(3), duration=1.0), r"T_end must be \(4, 4\)"),
        (lambda T: line(T, T, duration=1.0), "same pose"),
        (lambda T: line(T, moved(T, (1, 0, 0))), "give v_max or a_max"),
        (lambda T: line(T, moved(T, (1, 0, 0)), w_max=1.0), "give v_max or a_max"),
        (lambda T: line(T, moved(T, (1, 0, 0)), v_max=0.0), "v_max must be a positive"),
        (lambda T: line(T, moved(T, (1, 0, 0)), alpha_max=-1.0), "alpha_max must be a positive"),
        (lambda T: line(T, moved(T, (1, 0, 0)), duration=0.0), "duration must be positive"),
        (lambda T: line(T, moved(T, (1, 0, 0)), profile="jump", v_max=1.0), "profile must be"),
        (lambda T: line(T, moved(T, (1, 0, 0)), v_max=1.0, duration=1.0), "line needs 1.875 s"),
        (lambda T: turn(T, (0, 0, 1), 1.0, w_max=1.0, duration=1.0), "rotation needs 1.875 s"),
        (lambda T: turn(T, (0, 0, 0), 1.0, duration=1.0), "axis must have a length"),
        (lambda T: turn(T, (0, 0, 1), 0.0, duration=1.0), "angle must not be 0"),
        (lambda T: turn(T, (0, 0, 1), np.nan, duration=1.0), "angle must be finite"),
        (lambda T: turn(T, (0, 0, 1), 1.0, axis_frame="hand", duration=1.0), "axis_frame must be"),
        (lambda T: turn(T, (0, 0, 1), 1.0, centre=(0, 0), duration=1.0), "centre must be 3"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(rd.ArgumentError, match=message):
        call(np.eye(4))


FOLLOWED = {  # posture, shift [m], turn [rad], and what is followed
    "kuka_lwr4": (BENT, (-0.1, 0.25, -0.15), (0.3, 0.5, -0.4), {}),
    "lwr_iii": ([0.3, 0.7, -0.2, 1.2, 0.4, 0.9, 0.5], (0.1, -0.1, 0.1), (0.2, 0.0, 0.4), {}),
    "stanford": ([0.3, 0.9, 0.6, 0.4, 0.8, 0.5], (0.1, 0.2, -0.1), (0.3, -0.2, 0.0), {}),
    "rx90": ([0.2, 0.9, 1.2, 0.3, 0.8, 0.1], (-0.1, 0.15, 0.1), (0.0, 0.4, 0.3), {}),
    "puma_4dof": (
        [0.2, -0.6, 0.8, 0.5],
        (0.1, 0.2, 0.1),
        (0.0, 0.0, 0.0),
        {"link": "link_4", "point": (0.1, 0.0, 0.1), "orientation": False},
    ),
    "planar_2r": (
        [0.4, 1.2],
        (-0.5, 0.0, 0.2),
        (0.0, 0.0, 0.0),
        {"link": "dh_2", "orientation": False},
    ),
}


@cache
def followed(name):
    """Return model, line and the joint trajectory that follows it."""
    model = robot(name)
    q0, shift, turned, given = FOLLOWED[name]
    T_start = Tip(model, **given).pose(np.array(q0))
    move = line(T_start, moved(T_start, shift, turned), v_max=0.2, w_max=0.6, a_max=1.0)
    return model, move, follow(model, move, q0, **given)


def path_errors(model, move, trajectory, given, count=1500):
    """Return the largest errors of pose, velocity and acceleration at random times."""
    tip = Tip(model, **given)
    t = np.sort(np.random.default_rng(0).uniform(0.0, move.duration, count))
    q, qd, qdd, _ = trajectory.at(t)
    wanted = move.at(t)
    link, point = tip.link, given.get("point", (0.0, 0.0, 0.0))
    J = rd.jacobian(model, q, link, point)
    bias = rd.jacobian_rate_product(model, q, qd, link, point)
    V, A = np.einsum("kij,kj->ki", J, qd), np.einsum("kij,kj->ki", J, qdd) + bias
    place = rd.forward_kinematics(model, q, link) @ [*point, 1.0]
    off = np.abs(place[:, :3] - wanted.T[:, :3, 3]).max()
    turned = np.abs(tip.error(wanted.T, q)[:, 3:]).max(initial=0.0)
    rows = slice(0, tip.size)
    return off, turned, np.abs(V - wanted.V)[:, rows].max(), np.abs(A - wanted.A)[:, rows].max()


@pytest.mark.parametrize("name", FOLLOWED)
def test_all_arms_follow_a_line(name):
    """Off the line by less than 1e-6 m, also between the samples."""
    model, move, trajectory = followed(name)
    q0, _, _, given = FOLLOWED[name]
    assert trajectory.duration == pytest.approx(move.duration, rel=1e-12)
    off, turned, V, A = path_errors(model, move, trajectory, given)
    assert off < 1e-6 and turned < 1e-6 and V < 1e-5 and A < 1e-3, (off, turned, V, A)
    ends = trajectory.at([0.0, move.duration])
    np.testing.assert_allclose(ends.q[0], q0, atol=1e-9)
    np.testing.assert_allclose([ends.qd, ends.qdd], 0.0, atol=1e-9)


@pytest.mark.parametrize("name", ["rx90", "stanford", "kuka_lwr4"])
def test_9_18_to_9_21_from_the_task_space_to_the_joint_space(name):
    """FK(q) = X, qd = J^+ Xd; for six joints qdd = J^-1 (Xdd - Jdot qd), Jdot by differences."""
    model, move, trajectory = followed(name)
    h, link = 1e-6, model.link_names[-1]
    for t in np.linspace(0.1, 0.9, 9) * move.duration:
        (q, qd, qdd, _), (T, V, A) = trajectory.at(t), move.at(t)
        close(rd.forward_kinematics(model, q, link), T, 1e-6)  # (9.18)
        inverse = np.linalg.pinv(rd.jacobian(model, q, link))
        close(qd, inverse @ V, 1e-4)  # (9.19)
        if model.n == 6:
            ahead, behind = (rd.jacobian(model, q + s * qd, link) for s in (h, -h))
            J_dot = (ahead - behind) / (2.0 * h)  # (9.21)
            close(qdd, inverse @ (A - J_dot @ qd), 1e-3)  # (9.20)


@pytest.mark.parametrize("profile", ["linear", "trapezoid", "bang_bang", "smooth_trapezoid"])
def test_jumps_of_the_acceleration_are_followed(profile):
    model = robot("kuka_lwr4")
    T_start = Tip(model).pose(BENT)
    move = line(T_start, moved(T_start, (0.1, 0.2, 0.0)), profile=profile, duration=1.0)
    off, turned, V, A = path_errors(model, move, follow(model, move, BENT), {})
    assert off < 1e-8 and turned < 1e-8 and V < 1e-6 and A < 1e-4, (off, turned, V, A)


@pytest.mark.parametrize("kind", ["turn", "euler"])
def test_turns_are_followed(kind):
    model = robot("kuka_lwr4")
    T_start = Tip(model).pose(BENT)
    if kind == "turn":
        centre = T_start[:3, 3] + [0.0, 0.1, 0.0]
        move = turn(T_start, (1.0, 0.0, 0.2), 0.9, centre=centre, w_max=0.5)
    else:
        move = line(T_start, moved(T_start, (0, 0.1, 0), (0.4, 0, 0.3)), euler=True, w_max=0.5)
    off, turned, V, A = path_errors(model, move, follow(model, move, BENT), {})
    assert off < 1e-6 and turned < 1e-6 and V < 1e-5 and A < 1e-3, (off, turned, V, A)


def test_coarse_samples_are_refined():
    model = robot("kuka_lwr4")
    T_start = Tip(model).pose(BENT)
    move = line(T_start, moved(T_start, (-0.2, 0.3, -0.2), (0.5, 0.5, 0.0)), duration=4.0)
    for tolerance in (1e-3, 1e-6, 1e-9):
        trajectory = follow(model, move, BENT, dt=4.0, tolerance=tolerance)
        off, turned, _, _ = path_errors(model, move, trajectory, {})
        assert max(off, turned) < 1.5 * tolerance
        assert trajectory.breaks.size < 400


def test_a_redundant_arm_moves_towards_its_rest_posture():
    model = robot("kuka_lwr4")
    T_start = Tip(model).pose(BENT)
    move = line(T_start, moved(T_start, (0.1, 0.2, 0.0)), duration=3.0)
    rest = BENT + np.linalg.svd(Tip(model).jacobian(BENT))[2][6]  # about as the elbow swivels
    alone, drawn = follow(model, move, BENT), follow(model, move, BENT, rest=rest)
    ends = [np.linalg.norm(x.at(3.0).q - rest) for x in (alone, drawn)]
    assert ends[1] < 0.95 * ends[0]
    assert max(path_errors(model, move, drawn, {})[:2]) < 1e-6
    np.testing.assert_allclose(drawn.at([0.0, 3.0]).qd, 0.0, atol=1e-9)
    # The joint velocities are the shortest possible.
    t = np.linspace(0.1, 2.9, 20)
    for q, qd, V in zip(*alone.at(t)[:2], move.at(t).V, strict=True):
        shortest = np.linalg.pinv(rd.jacobian(model, q, "link_7")) @ V
        np.testing.assert_allclose(qd, shortest, rtol=0, atol=1e-7)


def test_a_start_beside_the_move_is_corrected():
    model = robot("kuka_lwr4")
    T_start = Tip(model).pose(BENT)
    move = line(T_start, moved(T_start, (0.1, 0.1, 0.0)), duration=2.0)
    trajectory = follow(model, move, BENT + 0.05)
    close(Tip(model).pose(trajectory.at(0.0).q), T_start, 1e-9)
    assert np.abs(trajectory.at(0.0).q - BENT).max() < 0.1


def stretching():
    """Return a line of the planar arm that reaches 2 m, its full length, after 1 s of 2 s."""
    model = robot("planar_2r")
    given = {"link": "dh_2", "orientation": False}
    q0 = np.array([np.arccos(0.75), -2.0 * np.arccos(0.75)])
    T_start = Tip(model, **given).pose(q0)
    np.testing.assert_allclose(T_start[:3, 3], [1.5, 0.0, 0.0], atol=1e-12)
    return model, line(T_start, moved(T_start, (1.0, 0.0, 0.0)), duration=2.0), q0, given


def test_a_singularity_is_reported_with_time_place_and_value():
    model, move, q0, given = stretching()
    with pytest.raises(
        SingularityError, match=r"move along \(-?1\.00, 0\.00, -?0\.0\d\)"
    ) as caught:
        follow(model, move, q0, singular=0.1, **given)
    found = re.search(
        r"at t = (\S+) s: link 'dh_2' at \((\S+),.* value is (\S+), below 0.1", str(caught.value)
    )
    t, x, sigma = (float(number) for number in found.groups())
    assert x == pytest.approx(move.at(t).T[0, 3], abs=0.02)
    # Of two bars of 1 m the singular values' product is |sin q2|, the sum of squares 3 + 2 cos q2.
    q2 = caught.value.q[1]
    sum_2, product_2 = 3.0 + 2.0 * np.cos(q2), np.sin(q2) ** 2
    expected = np.sqrt(0.5 * (sum_2 - np.sqrt(sum_2**2 - 4.0 * product_2)))
    assert sigma == pytest.approx(expected, rel=0.01)
    assert 0.08 < sigma < 0.1


def test_the_end_of_reach_is_reported_with_its_time():
    model, move, q0, given = stretching()
    with pytest.raises(
        (OutOfReachError, SingularityError), match=r"at t = 0\.99|at t = 1 ?"
    ) as caught:
        follow(model, move, q0, singular=0.0, **given)
    reach = np.linalg.norm(Tip(model, **given).pose(caught.value.q)[:3, 3])
    assert reach == pytest.approx(2.0, abs=1e-3)


def test_too_few_joints_for_the_orientation_are_reported():
    model = robot("puma_4dof")
    q0 = np.array([0.2, -0.6, 0.8, 0.5])
    T_start = Tip(model).pose(q0)
    move = line(T_start, moved(T_start, (0.1, 0.2, 0.1)), duration=2.0)
    with pytest.raises(OutOfReachError, match="at t = .*rad short"):
        follow(model, move, q0)


def test_a_joint_s_range_is_checked():
    model = robot("rx90")
    q0, shift, turned, _ = FOLLOWED["rx90"]
    T_start = Tip(model).pose(np.array(q0))
    move = line(T_start, moved(T_start, shift, turned), duration=2.0)
    q = follow(model, move, q0).at(np.linspace(0.0, 2.0, 200)).q
    k = int(np.argmax(np.abs(q[-1] - q[0])))
    halfway = 0.5 * (q[0, k] + q[-1, k])
    bound = {"q_max": model.q_max.copy(), "q_min": model.q_min.copy()}
    bound["q_max" if q[-1, k] > q[0, k] else "q_min"][k] = halfway
    with pytest.raises(JointLimitError, match=f"'joint_{k + 1}' would be at") as caught:
        follow(model.replace(**bound), move, q0)
    assert caught.value.q[k] == pytest.approx(halfway, abs=0.05)


def test_a_joint_s_velocity_is_checked():
    model = robot("kuka_lwr4")
    T_start = Tip(model).pose(BENT)
    T_end = moved(T_start, (-0.1, 0.25, -0.15), (0.3, 0.5, -0.4))
    with pytest.raises(JointLimitError, match="its limit is") as caught:
        follow(model, line(T_start, T_end, duration=0.2), BENT)
    enough = float(re.search(r"give the move (\S+) s", str(caught.value)).group(1))
    trajectory = follow(model, line(T_start, T_end, duration=1.001 * enough), BENT)
    qd = trajectory.at(np.linspace(0.0, trajectory.duration, 2001)).qd
    share = (np.abs(qd) / model.qd_max).max()
    assert 0.98 < share <= 1.0


def test_a_wrong_step_is_named():
    model = robot("kuka_lwr4")
    T_start = Tip(model).pose(BENT)
    move = line(T_start, moved(T_start, (0.1, 0.1, 0.0)), duration=2.0)
    with pytest.raises(rd.ArgumentError, match="dt must be positive"):
        follow(model, move, BENT, dt=0.0)
