"""Every fixed-base arm of example-robot-data loads, with Pinocchio's mass matrix."""

import sysconfig
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from pinocchio_oracle import Oracle, relative_error

from robodyn_ros.errors import ModelWarning, UrdfError
from robodyn_ros.model.checks import mass_matrix_by_jacobians
from robodyn_ros.model.urdf import load_urdf

ROBOTS = Path(sysconfig.get_path("purelib"), "cmeel.prefix/share/example-robot-data/robots")
pytestmark = pytest.mark.skipif(not ROBOTS.is_dir(), reason="example-robot-data is not installed")


def series(pattern, last):
    return [pattern.format(i) for i in range(1, last + 1)]


UR_JOINTS = ["shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"]
UR = [f"{name}_joint" for name in UR_JOINTS]
BAXTER = [f"left_{name}" for name in ("s0", "s1", "e0", "e1", "w0", "w1", "w2")]
PR2_JOINTS = ["shoulder_pan", "shoulder_lift", "upper_arm_roll", "elbow_flex", "forearm_roll"]
PR2 = [f"r_{name}_joint" for name in (*PR2_JOINTS, "wrist_flex", "wrist_roll")]
PANDA = [*series("panda_joint{}", 7), "panda_finger_joint1"]
FINGER = {"panda_finger_joint2": ("panda_finger_joint1", 1.0, 0.0)}
Z1 = [*series("joint{}", 6), "jointGripper"]
SO_ARM = ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper"]
ALLEGRO = [f"joint_{i}.0" for i in range(16)]
ALLEGRO_LEFT = [*ALLEGRO[8:12], *ALLEGRO[4:8], *ALLEGRO[:4], *ALLEGRO[12:]]  # as in its file
PENDULUM = ["joint1", "joint2"]
FINGER_EDU = ["finger_base_to_upper_joint", "finger_upper_to_middle_joint"]
FINGER_EDU.append("finger_middle_to_lower_joint")
TALOS = series("arm_left_{}_joint", 7)
TIAGO = ["torso_lift_joint", *series("arm_{}_joint", 7)]

# File, how to load it, the joints that must come out (None: whatever moves), the mimic joints.
ARMS = {
    "panda": ("panda_description/urdf/panda", {}, PANDA, FINGER),
    "panda_collision": ("panda_description/urdf/panda_collision", {}, PANDA, FINGER),
    "ur3": ("ur_description/urdf/ur3_robot", {}, UR, {}),
    "ur3_limited": ("ur_description/urdf/ur3_joint_limited_robot", {}, UR, {}),
    "ur3_gripper": ("ur_description/urdf/ur3_gripper", {}, UR, {}),
    "ur5": ("ur_description/urdf/ur5_robot", {}, UR, {}),
    "ur5_limited": ("ur_description/urdf/ur5_joint_limited_robot", {}, UR, {}),
    "ur5_gripper": ("ur_description/urdf/ur5_gripper", {}, UR, {}),
    "ur10": ("ur_description/urdf/ur10_robot", {}, UR, {}),
    "ur10_limited": ("ur_description/urdf/ur10_joint_limited_robot", {}, UR, {}),
    "kinova": ("kinova_description/robots/kinova", {}, series("j2s6s200_joint_{}", 6), {}),
    "xarm7": ("xarm_description/urdf/xarm7", {}, series("joint{}", 7), {}),
    "so100": ("so_arm_description/urdf/so100", {}, SO_ARM, {}),
    "so101": ("so_arm_description/urdf/so101", {}, SO_ARM, {}),
    "z1": ("z1_description/urdf/z1", {}, Z1, {}),
    "twodofs": ("asr_twodof_description/urdf/TwoDofs", {}, None, {}),
    "pendulum": ("double_pendulum_description/urdf/double_pendulum", {}, PENDULUM, {}),
    "pendulum_simple": (
        "double_pendulum_description/urdf/double_pendulum_simple", {}, PENDULUM, {}
    ),
    "pendulum_continuous": (
        "double_pendulum_description/urdf/double_pendulum_continuous", {}, PENDULUM, {}
    ),
    "allegro_left": ("allegro_hand_description/urdf/allegro_left_hand", {}, ALLEGRO_LEFT, {}),
    "allegro_right": ("allegro_hand_description/urdf/allegro_right_hand", {}, ALLEGRO, {}),
    "finger_edu": ("finger_edu_description/robots/finger_edu", {}, FINGER_EDU, {}),
    "talos_left_arm": ("talos_data/robots/talos_left_arm", {}, None, {}),
    "tiago_no_hand": ("tiago_description/robots/tiago_no_hand", {}, None, {}),
    "human": ("human_description/robots/human", {}, None, {}),
    "baxter_arm": (
        "baxter_description/urdf/baxter", {"root": "torso", "tip": "left_gripper"}, BAXTER, {}
    ),
    "talos_arm": (
        "talos_data/robots/talos_full_v2",
        {"root": "torso_2_link", "tip": "gripper_left_base_link"},
        TALOS,
        {},
    ),
    "talos_reduced_arm": (
        "talos_data/robots/talos_reduced",
        {"root": "torso_2_link", "tip": "gripper_left_base_link"},
        TALOS,
        {},
    ),
    "tiago_arm": (
        "tiago_description/robots/tiago",
        {"root": "base_link", "tip": "arm_tool_link"},
        TIAGO,
        {},
    ),
    "tiago_pro_arm": (
        "tiago_pro_description/robots/tiago_pro",
        {"root": "torso_lift_link", "tip": "arm_left_tool_link"},
        TALOS,
        {},
    ),
    "pr2_arm": (
        "pr2_description/urdf/pr2",
        {"root": "torso_lift_link", "tip": "r_gripper_tool_frame"},
        PR2,
        {},
    ),
    "b1_z1_arm": ("b1_description/urdf/b1-z1", {"root": "link00"}, Z1, {}),
}  # fmt: skip


@cache
def arm(name):
    """The arm's model, and Pinocchio's view of the same arm."""
    file, options, joints, mimic = ARMS[name]
    path = ROBOTS / f"{file}.urdf"
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        model = load_urdf(path, **options)
    if joints is not None:
        assert list(model.joint_names) == joints
    xml = path.read_text(encoding="utf-8")
    every = Oracle(xml).model
    kept = {*model.joint_names, *mimic, *above_root(every, model.joint_names[0])}
    cut = [joint for joint in list(every.names)[1:] if joint not in kept]
    assert options or not cut, "something that moves got lost"
    return model, Oracle(xml, mimic=mimic, cut=cut)


def above_root(every, first):
    """Names of the joints that carry the joint `first`: they do not count in its mass matrix."""
    above, j = set(), every.parents[every.getJointId(first)]
    while j:
        above.add(every.names[j])
        j = every.parents[j]
    return above


@pytest.mark.parametrize("name", ARMS)
def test_mass_matrix_is_pinocchios(name, capfd):
    model, oracle = arm(name)
    random = np.random.default_rng(sum(map(ord, name)))
    for _ in range(5):
        q = random.uniform(-2.0, 2.0, model.n)
        found = mass_matrix_by_jacobians(model, q)
        expected = oracle.mass_matrix(model.joint_names, q)
        assert relative_error(found, expected) < 1e-10
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ARMS)
def test_limits_are_pinocchios(name):
    model, oracle = arm(name)
    for k, joint in enumerate(model.joint_names):
        j = oracle.model.joints[oracle.model.getJointId(joint)]
        assert model.continuous[k] == (j.nq == 2)
        if j.nq == 1 and np.isfinite(model.q_min[k]):
            assert model.q_min[k] == oracle.model.lowerPositionLimit[j.idx_q]
            assert model.q_max[k] == oracle.model.upperPositionLimit[j.idx_q]
        effort = oracle.model.upperEffortLimit[j.idx_v]
        assert model.tau_max[k] == (effort if effort > 0.0 else np.inf)


@pytest.mark.parametrize(
    ("file", "element"),
    [
        ("ur_description/urdf/ur3", "no <link>"),  # nothing but a comment
        ("romeo_description/urdf/romeo_laas_small", "LHipPitch_link"),  # a negative moment
        ("romeo_description/urdf/romeo", "LHand"),  # fingers without mass
        ("alex_description/urdf/alex_psyonic_hands", "index_q1"),  # mimics a joint that is not
        ("hector_description/robots/quadrotor_base", "no movable joint"),
    ],
)
def test_what_is_wrong_there_is_refused(file, element):
    with warnings.catch_warnings(), pytest.raises(UrdfError, match=element):
        warnings.simplefilter("ignore", ModelWarning)
        load_urdf(ROBOTS / f"{file}.urdf")


def test_locking_the_massless_fingers_of_romeo_is_the_remedy():
    path = ROBOTS / "romeo_description/urdf/romeo.urdf"
    model = load_urdf(path, lock=["LHand", "RHand"])
    oracle = Oracle(path.read_text(encoding="utf-8"))
    q = np.random.default_rng(1).uniform(-1.0, 1.0, model.n)
    expected = oracle.mass_matrix(model.joint_names, q)
    assert relative_error(mass_matrix_by_jacobians(model, q), expected) < 1e-10
