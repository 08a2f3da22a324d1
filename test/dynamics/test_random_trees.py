"""All quantities against Pinocchio, on random trees, our arms and published URDFs."""

import sysconfig
import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from dynamics_cases import ARMS, robot
from oracle import Pinocchio, close, random_state, random_tree

import robodyn_ros as rd

ROBOTS = Path(sysconfig.get_path("purelib"), "cmeel.prefix/share/example-robot-data/robots")
MIMIC_SEEDS = (201, 202, 203, 204, 205, 206, 208, 209, 210, 211, 213, 215, 216, 217, 218)
NAMES = [*ARMS, *(f"tree {seed}" for seed in range(100, 125))]
NAMES += [f"mimic {seed}" for seed in MIMIC_SEEDS]

# Fixed-base arms as others publish them
URDFS = (
    "panda_description/urdf/panda",
    "ur_description/urdf/ur5_robot",
    "ur_description/urdf/ur10_robot",
    "kinova_description/robots/kinova",
    "xarm_description/urdf/xarm7",
    "so_arm_description/urdf/so101",
    "z1_description/urdf/z1",
    "talos_data/robots/talos_left_arm",
    "tiago_description/robots/tiago_no_hand",
    "allegro_hand_description/urdf/allegro_right_hand",
    "finger_edu_description/robots/finger_edu",
    "double_pendulum_description/urdf/double_pendulum",
)


def compare(model, oracle, seed):
    q, qd, qdd, qddd = random_state(model, seed, 4)
    M, C, g = oracle.mass_matrix(q), oracle.coriolis(q, qd), oracle.gravity(q)
    tau = oracle.inverse_dynamics(q, qd, qdd)

    close(rd.inverse_dynamics(model, q, qd, qdd), tau)
    close(rd.ne_star(model, q, qd, qd, qdd), tau)
    close(rd.ne_star(model, q, qd, qd, qdd, variant="1110"), tau)
    close(rd.gravity_torque(model, q), g)
    close(rd.velocity_torque(model, q, qd), C @ qd)
    close(rd.mass_matrix(model, q), M)
    found_M, found_C, found_g = rd.equations_of_motion(model, q, qd)
    close(found_M, M)
    close(found_C @ qd, C @ qd)
    close(found_C + found_C.T, C + C.T)
    close(found_g, g)
    for found, expected in zip(
        rd.momentum_terms(model, q, qd), (M @ qd, C.T @ qd, g), strict=True
    ):
        close(found, expected)
    found_tau, rate = rd.force_rate(model, q, qd, qdd, qddd)
    close(found_tau, tau)
    close(rate, oracle.force_rate(q, qd, qdd, qddd))
    # An acceleration may lose what M's condition costs; the torque it needs may not.
    acceleration = rd.forward_dynamics(model, q, qd, tau)
    close(oracle.inverse_dynamics(q, qd, acceleration), tau)
    close(acceleration, qdd, 1e-10 * max(1.0, np.linalg.cond(M) / 1e4))


@pytest.mark.parametrize("name", NAMES)
def test_pinocchio_agrees_on_everything(name):
    model = robot(name)
    compare(model, Pinocchio(model), 7)


def test_the_trees_have_all_kinds_of_joints_and_sizes():
    models = [robot(name) for name in NAMES if name not in ARMS]
    assert max(len(model.link_names) for model in models) >= 29
    assert sum(model.prismatic.any() and not model.prismatic.all() for model in models) > 20
    assert sum(model.coupled for model in models) >= 12
    assert any((np.bincount(model.parent + 1) > 1).any() for model in models)
    assert any((model.ratio < 0.0).any() for model in models)


class FromUrdf(Pinocchio):
    """Pinocchio's own reading of a URDF, its joints brought into our order by name."""

    def __init__(self, path, model):
        self.robot = model
        self.model = pin.buildModelFromUrdf(str(path))
        self.model.gravity.linear = model.gravity
        self.data = self.model.createData()
        joints = [
            self.model.joints[self.model.getJointId(name)] for name in model.body_joint_names
        ]
        self.P = np.zeros((len(joints), self.model.nv))
        self.P[range(len(joints)), [joint.idx_v for joint in joints]] = 1.0
        self.G = np.zeros((len(joints), model.n))
        self.G[range(len(joints)), model.coordinate] = model.ratio

    def positions(self, q):
        return pin.integrate(self.model, pin.neutral(self.model), super().positions(q))


@pytest.mark.skipif(not ROBOTS.is_dir(), reason="example-robot-data is not installed")
@pytest.mark.parametrize("file", URDFS)
def test_pinocchio_agrees_on_others_urdfs(file):
    path = ROBOTS / f"{file}.urdf"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.ModelWarning)
        model = rd.load_urdf(path, rotor_inertia=0.0)
    oracle = FromUrdf(path, model)
    assert oracle.model.nv == len(model.link_names)
    compare(model, oracle, 8)


def test_trees_are_seeded():
    np.testing.assert_array_equal(random_tree(9).place, random_tree(9).place)
