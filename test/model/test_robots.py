"""The built-in arms: their kinematics in closed form, and the URDF files made from them."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from oracle import close, random_state
from source_tree import ROOT

import robodyn_ros as rd

ARMS = ("lwr_iii", "kuka_lwr4", "stanford", "planar_2r", "rx90", "puma_4dof")
FILES = sorted(Path(ROOT, "urdf").glob("*.urdf"))
every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
PI_2 = np.pi / 2.0


def arm(path):
    return getattr(rd.robots, path.stem)()


def turn(axis, angle):
    """Homogeneous rotation about a coordinate axis."""
    T = np.eye(4)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    T[[i, j], [i, j]] = np.cos(angle)
    T[i, j], T[j, i] = -np.sin(angle), np.sin(angle)
    return T


def shift(axis, length):
    T = np.eye(4)
    T[axis, 3] = length
    return T


def standard(a, alpha, d, theta):
    return turn(2, theta) @ shift(2, d) @ shift(0, a) @ turn(0, alpha)


def modified(a, alpha, d, theta):
    return turn(0, alpha) @ shift(0, a) @ turn(2, theta) @ shift(2, d)


@pytest.mark.parametrize("name", ARMS)
def test_names_joints_and_mass(name):
    model = getattr(rd.robots, name)()
    assert model.name == name
    assert model.joint_names == tuple(f"joint_{i + 1}" for i in range(model.n))
    assert model.link_names == tuple(f"link_{i + 1}" for i in range(model.n))
    assert np.linalg.eigvalsh(rd.mass_matrix(model, np.full(model.n, 0.3)))[0] > 0.0


def test_lwr_iii_is_table_i_of_de_luca_and_ferrajoli():
    model = rd.robots.lwr_iii()
    L, a7 = 0.2, 0.08
    alpha = [PI_2, -PI_2, PI_2, -PI_2, -PI_2, PI_2, 0.0]
    d = [L, 0.0, 2 * L, 0.0, 2 * L, 0.0, 0.0]
    a = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, a7]
    for seed in range(3):
        (q,) = random_state(model, seed, 1)
        T = np.eye(4)
        for i in range(7):
            T = T @ standard(a[i], alpha[i], d[i], q[i])
            close(rd.forward_kinematics(model, q, f"dh_{i + 1}"), T, 1e-13)


def test_stanford_is_table_i_of_guarino_lo_bianco():
    model = rd.robots.stanford()
    assert list(np.flatnonzero(model.prismatic)) == [2]
    alpha = [0.0, -PI_2, PI_2, 0.0, -PI_2, PI_2]
    (q,) = random_state(model, 4, 1)
    theta = [q[0], q[1], -PI_2, q[3], q[4], q[5]]
    d = [0.412, 0.154, q[2], 0.0, 0.0, 0.263]
    T = np.eye(4)
    for i in range(6):
        T = T @ modified(0.0, alpha[i], d[i], theta[i])
        close(rd.forward_kinematics(model, q, f"dh_{i + 1}"), T, 1e-13)


def test_rx90_is_khalils_geometry():
    model = rd.robots.rx90()
    alpha, a = [0.0, PI_2, 0.0, -PI_2, PI_2, -PI_2], [0.0, 0.0, 0.45, 0.0, 0.0, 0.0]
    d = [0.0, 0.0, 0.0, 0.45, 0.0, 0.0]
    (q,) = random_state(model, 5, 1)
    T = np.eye(4)
    for i in range(6):
        T = T @ modified(a[i], alpha[i], d[i], q[i])
    close(rd.forward_kinematics(model, q, "dh_6"), T, 1e-13)


def test_kuka_lwr4_by_its_offsets_and_axes():
    model = rd.robots.kuka_lwr4()
    height = [0.11, 0.2005, 0.2, 0.2, 0.2, 0.19, 0.078]
    axes = [(2, 1), (1, -1), (2, 1), (1, 1), (2, 1), (1, -1), (2, 1)]
    (q,) = random_state(model, 6, 1)
    T = np.eye(4)
    for i, (axis, sign) in enumerate(axes):
        T = T @ shift(2, height[i]) @ turn(axis, sign * q[i])
    close(rd.forward_kinematics(model, q, "link_7"), T, 1e-13)
    assert model.mass.sum() == pytest.approx(14.0)


def test_planar_2r_moves_in_a_vertical_plane_and_counts_from_the_horizontal():
    model = rd.robots.planar_2r(0.7, 0.4)
    (q,) = random_state(model, 7, 1)
    tip = rd.forward_kinematics(model, q, "dh_2")[:3, 3]
    both = q.sum()
    expected = [
        0.7 * np.cos(q[0]) + 0.4 * np.cos(both), 0.0, 0.7 * np.sin(q[0]) + 0.4 * np.sin(both)
    ]  # fmt: skip
    close(tip, expected, 1e-13)


def test_puma_4dof_carries_its_load_at_the_hand():
    light, heavy = rd.robots.puma_4dof(load=0.0), rd.robots.puma_4dof(load=0.75)
    (q,) = random_state(light, 8, 1)
    hand = rd.jacobian(light, q, "dh_4", light.com[3])[:3]
    close(
        rd.gravity_torque(heavy, q) - rd.gravity_torque(light, q),
        hand.T @ [0.0, 0.0, 9.81 * 0.75],
        1e-11,
    )


def test_there_are_files():
    assert {path.stem for path in FILES} >= {"lwr_iii", "kuka_lwr4", "stanford", "planar_2r"}


@every_file
def test_file_is_what_to_urdf_writes(path):
    assert path.read_bytes() == rd.to_urdf(arm(path)).encode("utf-8")
    assert "<capsule" not in path.read_text(encoding="utf-8")


@every_file
def test_file_loads_back_to_the_same_robot(path):
    model, loaded = arm(path), rd.load_urdf(path, strict=True)
    assert loaded.name == model.name
    assert loaded.joint_names == model.joint_names
    assert set(loaded.frames) == set(model.frames)
    for key in ("q_min", "q_max", "qd_max", "tau_max", "rotor_inertia", "viscous", "coulomb"):
        np.testing.assert_array_equal(getattr(loaded, key), getattr(model, key), err_msg=key)
    np.testing.assert_array_equal(loaded.continuous, model.continuous)
    for seed in range(3):
        q, qd, qdd = random_state(model, seed, 3)
        tau = rd.inverse_dynamics(model, q, qd, qdd)
        close(rd.inverse_dynamics(loaded, q, qd, qdd), tau, 1e-12)
        close(rd.mass_matrix(loaded, q), rd.mass_matrix(model, q), 1e-12)
        for link in model.frames:
            here, there = (rd.forward_kinematics(m, q, link) for m in (model, loaded))
            close(there, here, 1e-12)


@pytest.mark.parametrize("name", ARMS)
def test_any_arm_survives_a_round_trip_through_urdf(name):
    model = getattr(rd.robots, name)()
    loaded = rd.load_urdf(rd.to_urdf(model))
    q, qd, qdd = random_state(model, 9, 3)
    tau = rd.inverse_dynamics(model, q, qd, qdd)
    close(rd.inverse_dynamics(loaded, q, qd, qdd), tau, 1e-12)


@every_file
def test_pinocchio_loads_the_file(path):
    model, other = arm(path), pin.buildModelFromUrdf(str(path))
    assert tuple(other.names)[1:] == model.joint_names
    q, qd, qdd = random_state(model, 10, 3)
    configuration = pin.integrate(other, pin.neutral(other), q)
    tau = pin.rnea(other, other.createData(), configuration, qd, qdd) + model.rotor_inertia * qdd
    close(rd.inverse_dynamics(model, q, qd, qdd), tau, 1e-11)


@every_file
def test_mujoco_loads_the_file(path):
    mujoco = pytest.importorskip("mujoco")
    model, other = arm(path), mujoco.MjModel.from_xml_path(str(path))
    assert [other.joint(i).name for i in range(other.njnt)] == list(model.joint_names)
    assert other.body_mass.sum() == pytest.approx(model.mass.sum())


@every_file
def test_yourdfpy_loads_the_file(path):
    yourdfpy = pytest.importorskip("yourdfpy")
    model = arm(path)
    other = yourdfpy.URDF.load(str(path), load_meshes=False, build_scene_graph=True)
    assert tuple(other.actuated_joint_names) == model.joint_names
    (q,) = random_state(model, 11, 1)
    other.update_cfg(q)
    link = model.link_names[-1]
    close(rd.forward_kinematics(model, q, link), other.get_transform(link), 1e-10)


@every_file
def test_check_urdf_finds_nothing_wrong(path):
    tool = shutil.which("check_urdf")
    if tool is None:
        pytest.skip("check_urdf (Debian: liburdfdom-tools) is not installed")
    done = subprocess.run([tool, path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Successfully Parsed" in done.stdout
    assert done.stderr == ""
