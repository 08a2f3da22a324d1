"""The mass matrix: its properties, and comparison with Pinocchio and MuJoCo."""

import numpy as np
import pytest
from dynamics_cases import ARMS, MIMICS, SOME, pinocchio, robot
from oracle import close, random_state

import robodyn_ros as rd


@pytest.mark.parametrize("name", [*ARMS, *SOME[2:]])
def test_mass_matrix_is_pinocchios_symmetric_and_positive_definite(name):
    model = robot(name)
    for seed in range(3):
        (q,) = random_state(model, seed, 1)
        M = rd.mass_matrix(model, q)
        close(M, pinocchio(name).mass_matrix(q))
        np.testing.assert_array_equal(M, M.T)
        assert np.linalg.eigvalsh(M)[0] > 0.0


@pytest.mark.parametrize("name", ["kuka_lwr4", *MIMICS])
def test_rotors_stand_on_the_diagonal(name):
    model = robot(name)
    (q,) = random_state(model, 4, 1)
    bare = rd.mass_matrix(model.replace(rotor_inertia=0.0), q)
    close(rd.mass_matrix(model, q) - bare, np.diag(model.rotor_inertia), 1e-12)
    assert np.all(model.rotor_inertia > 0.0)


class Mujoco:
    """The same robot in MuJoCo, from its URDF; rotors become armature."""

    def __init__(self, model):
        mujoco = self.mujoco = pytest.importorskip("mujoco")
        self.model = mujoco.MjModel.from_xml_string(rd.to_urdf(model))
        self.model.opt.gravity[:] = model.gravity
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        joints = [self.model.joint(name) for name in model.joint_names]
        assert self.model.nv == model.n
        self.order = np.array([joint.dofadr[0] for joint in joints])
        self.model.dof_armature[self.order] = model.rotor_inertia
        self.data = mujoco.MjData(self.model)

    def set(self, q, qd):
        self.data.qpos[self.order], self.data.qvel[self.order] = q, qd
        self.mujoco.mj_forward(self.model, self.data)

    def mass_matrix(self):
        M = np.zeros((self.model.nv, self.model.nv))
        try:
            self.mujoco.mj_fullM(self.model, self.data, M)  # MuJoCo 4
        except TypeError:
            self.mujoco.mj_fullM(self.model, M, self.data.qM)  # before
        return M[np.ix_(self.order, self.order)]

    def bias(self):
        return self.data.qfrc_bias[self.order]


@pytest.mark.parametrize("name", ["kuka_lwr4", "lwr_iii", "stanford", "planar_2r"])
def test_mujoco_agrees(name):
    model = robot(name)
    oracle = Mujoco(model)
    for seed in range(5):
        q, qd = random_state(model, seed)
        oracle.set(q, qd)
        close(rd.mass_matrix(model, q), oracle.mass_matrix(), 1e-9)
        bias = rd.velocity_torque(model, q, qd) + rd.gravity_torque(model, q)
        close(bias, oracle.bias(), 1e-9)
