"""Inverse kinematics against Pinocchio's poses, with limits, redundancy and error messages."""

import pickle
import re

import numpy as np
import pinocchio as pin
import pytest
from dynamics_cases import ARMS, pinocchio, robot
from oracle import close, random_rotation
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import robodyn_ros as rd
from robodyn_ros.dynamics.inverse_kinematics import (
    InverseKinematicsError,
    JointLimitError,
    OutOfReachError,
    SingularityError,
    Tip,
    approach,
    inverse_kinematics,
    rotation_vector,
    within,
)

BENT = np.array([0.3, 0.6, -0.2, 1.2, 0.4, -0.8, 0.5])  # a posture of the KUKA LWR 4+
POINT = np.array([0.05, -0.1, 0.2])


def ranges(model):
    low = np.where(np.isfinite(model.q_min), model.q_min, -np.pi)
    return low, np.where(np.isfinite(model.q_max), model.q_max, np.pi)


def pose_by_pinocchio(name, q, link):
    oracle = pinocchio(name)
    frame = oracle.frame(link)
    pin.framesForwardKinematics(oracle.model, oracle.data, oracle.positions(q))
    return oracle.data.oMf[frame].homogeneous


def planar(*lengths):
    """Revolute joints with parallel axes; "tip" is the end of the last link."""
    model = rd.from_dh([rd.DHRow(a=a, mass=1.0, inertia=0.1) for a in lengths], name="planar")
    return model, f"dh_{len(lengths)}"


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-7, 0.3, 1.5707, 1.5709, 3.0, np.pi - 1e-9])
def test_rotation_vectors_are_scipys_8_51(angle):
    random = np.random.default_rng(1)
    u = random.normal(size=(20, 3))
    vectors = angle * u / np.linalg.norm(u, axis=1, keepdims=True)
    R = Rotation.from_rotvec(vectors).as_matrix()
    np.testing.assert_allclose(rotation_vector(R), vectors, rtol=0, atol=1e-14)
    np.testing.assert_allclose(rotation_vector(R[3]), vectors[3], rtol=0, atol=1e-14)


def test_half_a_turn_has_an_axis_either_way():
    for u in (*np.eye(3), np.array([0.6, -0.8, 0.0]), np.array([-2.0, 1.0, 2.0]) / 3.0):
        vector = rotation_vector(2.0 * np.outer(u, u) - np.eye(3))
        close(np.outer(vector, vector), np.pi**2 * np.outer(u, u), 1e-14)


def test_poses_of_all_arms_are_reached():
    """At least 99 % of random reachable poses, from starts within 0.5 rad of a solution."""
    random = np.random.default_rng(2)
    failed, tries = [], 60
    for name in ARMS:
        model = robot(name)
        low, high = ranges(model)
        link = model.link_names[-1]
        for _ in range(tries):
            q = random.uniform(low, high)
            T = pose_by_pinocchio(name, q, link)
            q0 = np.clip(q + random.uniform(-0.5, 0.5, model.n), low, high)
            try:
                found = inverse_kinematics(model, T, q0)
            except InverseKinematicsError as error:
                failed.append(f"{name}: {error}")
                continue
            assert (found >= model.q_min).all() and (found <= model.q_max).all()
            np.testing.assert_allclose(pose_by_pinocchio(name, found, link), T, rtol=0, atol=3e-9)
    assert len(failed) <= 0.01 * tries * len(ARMS), "\n".join(failed)


def test_a_point_beside_the_links_origin_is_placed():
    model, link = robot("kuka_lwr4"), "link_5"
    T = pose_by_pinocchio("kuka_lwr4", BENT, link)
    T[:3, 3] += T[:3, :3] @ POINT
    q = inverse_kinematics(model, T, BENT + 0.2, link=link, point=POINT)
    reached = pose_by_pinocchio("kuka_lwr4", q, link)
    np.testing.assert_allclose(reached[:3, :3] @ POINT + reached[:3, 3], T[:3, 3], atol=3e-9)
    np.testing.assert_allclose(reached[:3, :3], T[:3, :3], atol=3e-9)
    np.testing.assert_array_equal(q[5:], BENT[5:] + 0.2)  # the joints behind it do not matter


def test_jacobian_of_a_tip_is_that_of_its_point():
    model = robot("kuka_lwr4")
    tip = Tip(model, "link_6", POINT)
    close(tip.jacobian(BENT), rd.jacobian(model, BENT, "link_6", POINT), 1e-14)
    batch = np.stack([BENT, 0.5 * BENT])
    close(tip.jacobian(batch)[1], tip.jacobian(batch[1]), 1e-14)


@pytest.mark.parametrize(("name", "link"), [("puma_4dof", "dh_4"), ("planar_2r", "dh_2")])
def test_without_orientation_only_the_point_counts(name, link):
    model, random = robot(name), np.random.default_rng(3)
    for _ in range(20):
        q = random.uniform(-2.0, 2.0, model.n)
        T = np.eye(4)
        T[:3, :3] = random_rotation(random)
        T[:3, 3] = pose_by_pinocchio(name, q, link)[:3, 3]
        found = inverse_kinematics(
            model, T, q + random.uniform(-0.5, 0.5, model.n), link=link, orientation=False
        )
        reached = pose_by_pinocchio(name, found, link)[:3, 3]
        np.testing.assert_allclose(reached, T[:3, 3], rtol=0, atol=3e-9)


def test_a_tree_with_mimic_joints():
    name = "mimic 3"
    model, random = robot(name), np.random.default_rng(4)
    for link in model.link_names[::4]:
        q = random.normal(size=model.n)
        T = pose_by_pinocchio(name, q, link)
        found = inverse_kinematics(model, T, q + random.uniform(-0.2, 0.2, model.n), link=link)
        np.testing.assert_allclose(pose_by_pinocchio(name, found, link), T, rtol=0, atol=3e-9)


def nearest_by_slsqp(tip, T, q, rest):
    """The posture for T nearest to `rest`, by a general method."""
    found = minimize(
        lambda x: 0.5 * np.sum((x - rest) ** 2),
        q,
        jac=lambda x: x - rest,
        method="SLSQP",
        constraints={"type": "eq", "fun": lambda x: tip.error(T, x)},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert found.success
    return found.x


def test_a_redundant_arm_settles_nearest_to_its_rest_posture():
    model = robot("kuka_lwr4")
    tip, T = Tip(model), Tip(model).pose(BENT)
    swivel = np.linalg.svd(tip.jacobian(BENT))[2][6]
    for rest in (BENT + 1.5 * swivel, BENT - swivel + [0.2, 0.1, 0.0, -0.2, 0.0, 0.3, 0.1]):
        q = inverse_kinematics(model, T, BENT, rest=rest)
        close(tip.pose(q), T, 1e-8)
        assert np.linalg.norm(q - rest) < 0.8 * np.linalg.norm(BENT - rest)
        np.testing.assert_allclose(q, nearest_by_slsqp(tip, T, q, rest), rtol=0, atol=1e-5)


def test_a_redundant_arm_stays_near_its_start():
    model = robot("lwr_iii")
    tip, random = Tip(model), np.random.default_rng(5)
    for _ in range(10):
        q = random.uniform(-1.5, 1.5, 7)
        q0 = q + random.uniform(-0.2, 0.2, 7)
        T = tip.pose(q)
        found = inverse_kinematics(model, T, q0)
        least = np.linalg.norm(nearest_by_slsqp(tip, T, found, q0) - q0)
        assert least - 1e-9 <= np.linalg.norm(found - q0) < 1.1 * least


def test_joints_at_their_limits_are_taken_out():
    """Solutions at the edge of three joints' ranges, from one start: clipping alone finds half."""
    model = robot("kuka_lwr4")
    tip, random, found = Tip(model), np.random.default_rng(6), 0
    for _ in range(40):
        q = random.uniform(-1.2, 1.2, 7)
        q0 = q + random.uniform(-0.4, 0.4, 7)
        wide = np.where(random.permutation(7) < 3, 1e-3, 0.3)
        low, high = np.minimum(q, q0 - wide), np.maximum(q, q0 + wide)
        low, high = np.where(q < q0, q - wide, low), np.where(q > q0, q + wide, high)
        end, e = approach(tip, tip.pose(q), q0, low, high, 1e-9)
        assert (end >= low).all() and (end <= high).all()
        found += within(e, 1e-9)
    assert found >= 38


def test_a_redundant_arm_gets_around_a_limit():
    """Where the shortest step would leave a joint's range, the other joints compensate."""
    free = robot("kuka_lwr4")
    T = Tip(free).pose(BENT)
    T[:3, 3] += [0.0, -0.1, -0.05]
    q = inverse_kinematics(free, T, BENT)
    assert q[0] > BENT[0] + 0.1
    q_max = free.q_max.copy()
    q_max[0] = 0.5 * (q[0] + BENT[0])
    limited = free.replace(q_max=q_max)
    found = inverse_kinematics(limited, T, BENT)
    assert found[0] <= q_max[0]
    np.testing.assert_allclose(pose_by_pinocchio("kuka_lwr4", found, "link_7"), T, atol=3e-9)
    np.testing.assert_allclose(inverse_kinematics(limited, T, BENT, limits=False), q, atol=1e-6)


def test_an_arm_with_all_joints_at_their_limits():
    model = robot("planar_2r").replace(q_min=-0.5, q_max=0.5)
    T = Tip(model, "dh_2").pose(np.array([1.0, 1.0]))
    with pytest.raises(JointLimitError, match="'joint_1' .*, joint 'joint_2' ") as caught:
        inverse_kinematics(model, T, [0.6, 0.7], link="dh_2")
    np.testing.assert_array_equal(caught.value.q, [0.5, 0.5])


def test_a_limit_in_the_way_is_named():
    model = robot("rx90")
    q = np.array([0.4, 0.7, 0.9, 0.3, 0.8, 0.2])
    T = Tip(model).pose(q)
    q_max = model.q_max.copy()
    q_max[2] = 0.85
    limited = model.replace(q_max=q_max, q_min=q - 1.0)
    with pytest.raises(JointLimitError, match=r"'joint_3' .* to 0\.9, .* limit 0\.85") as caught:
        inverse_kinematics(limited, T, q - 0.2)
    assert caught.value.q.shape == (6,)
    assert caught.value.q[2] <= 0.85


@pytest.mark.parametrize("beyond", [0.01, 0.25, 5.0])
def test_a_pose_out_of_reach_is_short_by_so_much(beyond):
    model = robot("planar_2r")
    T = Tip(model, "dh_2").pose(np.zeros(2))
    assert T[0, 3] == pytest.approx(2.0)
    T[0, 3] += beyond
    with pytest.raises(OutOfReachError, match=r"move along \(-?1\.00, 0\.00, 0\.00\)") as caught:
        inverse_kinematics(model, T, [0.3, -0.4], link="dh_2", orientation=False)
    short = float(re.search(r"is ([\d.e-]+) m short", str(caught.value)).group(1))
    assert short == pytest.approx(beyond, rel=1e-3)
    np.testing.assert_allclose(caught.value.q, np.zeros(2), atol=1e-3)


def test_all_arms_say_that_two_kilometres_are_too_far():
    for name in ARMS:
        model = robot(name)
        T = Tip(model).pose(np.full(model.n, 0.3))
        T[:3, 3] = 2000.0
        with pytest.raises(OutOfReachError, match="short of it"):
            inverse_kinematics(model, T, np.full(model.n, 0.3))


def test_a_stretched_arm_bends_when_its_target_is_inside():
    """At q = 0 no joint moves the tip along the arm, so the first descent fails."""
    model = robot("planar_2r")
    T = np.eye(4)
    T[0, 3] = 1.5
    q = inverse_kinematics(model, T, np.zeros(2), link="dh_2", orientation=False)
    assert abs(q[1]) == pytest.approx(2.0 * np.arccos(0.75), abs=1e-8)


def test_a_singular_posture_is_refused_if_asked_for():
    model = robot("planar_2r")
    T = Tip(model, "dh_2").pose(np.zeros(2))
    q = inverse_kinematics(model, T, [0.2, -0.3], link="dh_2")
    np.testing.assert_allclose(q, np.zeros(2), atol=1e-8)  # with orientation nothing is lost
    given = {"link": "dh_2", "orientation": False}
    q = inverse_kinematics(model, T, [0.2, -0.3], **given)
    np.testing.assert_allclose(Tip(model, "dh_2").pose(q)[:3, 3], T[:3, 3], atol=1e-9)
    with pytest.raises(SingularityError, match=r"move along \(-?1\.00, 0\.00, 0\.00\)") as caught:
        inverse_kinematics(model, T, [0.2, -0.3], singular=1e-3, **given)
    sigma = float(re.search(r"value is ([\d.e+-]+), below 0\.001", str(caught.value)).group(1))
    assert sigma == pytest.approx(Tip(model, **given).smallest_singular_value(q), rel=0.1)


def test_a_wrist_that_lost_a_turn_says_which():
    """With joints 4 and 6 of the RX-90 in line, no joint moves the hand along what is square to
    all columns of its Jacobian.
    """
    model = robot("rx90")
    q = np.array([0.0, 0.9, 1.2, 0.0, 0.0, 0.0])
    tip = Tip(model)
    values, vectors = np.linalg.eigh(tip.jacobian(q) @ tip.jacobian(q).T)
    assert values[0] < 1e-12 < 1e-3 < values[1]
    with pytest.raises(SingularityError, match="turn about") as caught:
        inverse_kinematics(model, tip.pose(q), q, singular=1e-3)
    for verb, lost in (("move along", vectors[:3, 0]), ("turn about", vectors[3:, 0])):
        told = re.search(verb + r" \(([^)]*)\)", str(caught.value)).group(1)
        direction = np.array([float(x) for x in told.split(",")])
        assert abs(direction @ lost) == pytest.approx(np.linalg.norm(lost), rel=0.02)


def test_planar_arms_have_three_directions_however_many_joints():
    model, link = planar(0.5, 0.4, 0.3, 0.2)
    tip = Tip(model, link)
    assert tip.rank == 3
    q = np.array([0.3, 0.5, -0.4, 0.8])
    found = inverse_kinematics(model, tip.pose(q), q + 0.3, link=link, singular=1e-2)
    close(tip.pose(found), tip.pose(q), 1e-8)
    with pytest.raises(SingularityError):
        inverse_kinematics(model, tip.pose(np.zeros(4)), np.zeros(4), link=link, singular=1e-2)
    assert Tip(model, link, orientation=False).rank == 2


def test_errors_can_be_sent_to_another_process():
    error = SingularityError("near it", np.ones(2))
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == "near it" and isinstance(copy, rd.RobodynError)
    np.testing.assert_array_equal(copy.q, error.q)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pose": np.eye(3)}, r"pose must be \(4, 4\)"),
        ({"pose": np.full((4, 4), np.nan)}, "pose must be .* finite"),
        ({"pose": np.diag([1.0, 1.0, -1.0, 1.0])}, "rotation matrix"),
        ({"pose": np.diag([2.0, 1.0, 1.0, 1.0])}, "rotation matrix"),
        ({"pose": 2.0 * np.eye(4)}, "last row"),
        ({"pose": "here"}, r"pose must be \(4, 4\)"),
        ({"q0": np.zeros(6)}, "q0 must have shape"),
        ({"q0": np.zeros((2, 7))}, "q0 must be one posture"),
        ({"q0": [0.0] * 6 + [np.nan]}, "q0 of joint 'joint_7' is nan"),
        ({"rest": np.zeros(3)}, "rest must have shape"),
        ({"link": "link_8"}, "no link 'link_8'"),
        ({"link": "base_link"}, "fixed to the base"),
        ({"point": (1.0, 2.0)}, "point must be 3"),
        ({"tolerance": 0.0}, "tolerance must be positive"),
    ],
)
def test_wrong_arguments_are_named(given, message):
    model = robot("kuka_lwr4")
    arguments = {"pose": Tip(model).pose(BENT), "q0": BENT} | given
    with pytest.raises(rd.ArgumentError, match=message):
        inverse_kinematics(model, **arguments)
