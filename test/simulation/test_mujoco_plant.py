"""MujocoPlant: agreement with RigidPlant, and contact forces."""

import builtins
import sys

import numpy as np
import pytest
from oracle import close, random_tree

import robodyn_ros as rd
from robodyn_ros.resources import share_path
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.obstacles import Box, Pendulum, Plane, Sphere
from robodyn_ros.simulation.rigid import RigidPlant
from robodyn_ros.simulation.sensors import LWR_SENSORS

pytest.importorskip("mujoco")

LWR = rd.robots.lwr_iii()
KUKA = rd.robots.kuka_lwr4()
BENT = np.array([0.3, 0.7, -0.4, 1.1, 0.2, -0.6, 0.1])
LEVEL = np.array([0.0, np.pi / 2.0, 0.0, 0.0, 0.0, 0.0, 0.0])  # stretched along -x, 0.31 m high
STILL = np.zeros(7)
DT = 1e-3
FREE = {"friction": False, "stops": False}


def positions(plant, seconds, tau=None):
    n = plant.model.n
    wave = [3.0 * np.sin(4.0 * i * DT + np.arange(n)) for i in range(round(seconds / DT))]
    return np.array([plant.step(w if tau is None else tau, DT).q for w in wave])


def local(model, q, link, point):
    pose = rd.forward_kinematics(model, q, link)
    return pose[:3, :3].T @ (point - pose[:3, 3])


@pytest.mark.parametrize(
    ("model", "tolerance"),
    [
        (LWR, 1e-9),
        (KUKA, 1e-9),
        (rd.robots.stanford(), 1e-4),
        (rd.robots.puma_4dof(), 1e-5),
        (random_tree(5, 8), 1e-9),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_moves_as_the_rigid_plant_does(model, tolerance):
    q = np.linspace(-0.5, 0.6, model.n)
    expected = positions(RigidPlant(model, q, **FREE), 1.0)
    found = positions(MujocoPlant(model, q, integrator="rk4", **FREE), 1.0)
    assert np.abs(expected - expected[0]).max() > 0.05
    assert np.abs(found - expected).max() < tolerance * max(1.0, np.abs(expected).max())


def test_small_steps_of_first_order_agree_too():
    expected = positions(RigidPlant(LWR, BENT, **FREE), 1.0)
    errors = []
    for timestep in (1e-4, 5e-5):
        found = positions(MujocoPlant(LWR, BENT, timestep=timestep, **FREE), 1.0)
        errors.append(np.abs(found - expected).max())
    assert errors[1] < 2e-4
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)


def test_friction_is_the_same_law():
    model = KUKA.replace(stiction=1.3 * KUKA.coulomb, stribeck=5.0)
    options = {"friction_width": 0.05, "stops": False}
    expected = positions(RigidPlant(model, BENT, 0.5 * BENT, **options), 1.0, STILL)
    twin = MujocoPlant(model, BENT, 0.5 * BENT, timestep=2e-4, integrator="rk4", **options)
    assert np.abs(positions(twin, 1.0, STILL) - expected).max() < 2e-4
    free = positions(RigidPlant(model, BENT, 0.5 * BENT, **FREE), 1.0, STILL)
    assert np.abs(free - expected).max() > 0.1


def test_mimic_joints():
    model = random_tree(3, 6, mimic=0.5)
    assert model.coupled
    expected = positions(RigidPlant(model, **FREE), 0.3)
    found = positions(MujocoPlant(model, integrator="rk4", **FREE), 0.3)
    assert np.abs(expected).max() > 0.05
    assert np.abs(found - expected).max() < 1e-3


@pytest.mark.parametrize("shape", ["step", "ramp", "half_sine"])
def test_pushes_do_the_same(shape):
    link, point = "link_5", (0.01, -0.02, 0.03)
    plants = [
        RigidPlant(LWR, BENT, **FREE),
        MujocoPlant(LWR, BENT, timestep=2.5e-4, integrator="rk4", **FREE),
    ]
    for plant in plants:
        plant.push(link, (40, 30, -20), point, 0.2, shape, torque=(1, 2, 3), start=0.05)
    torques = []
    for plant in plants:
        states = [plant.step(STILL, DT) for _ in range(300)]
        torques.append([state.tau_ext for state in states])
    assert np.abs(plants[0].state.q - plants[1].state.q).max() < 1e-4
    close(torques[1], torques[0], 5e-3)
    assert np.abs(torques[0]).max() > 5.0


def test_push_on_a_link_at_a_fixed_joint():
    plant = MujocoPlant(LWR, BENT, **FREE)
    assert LWR.frame("dh_4").place.any() or LWR.frame("dh_4").rotation.any()
    plant.push("dh_4", (5.0, 6.0, 7.0), (0.1, 0.2, 0.3))
    J = rd.jacobian(LWR, BENT, "dh_4", (0.1, 0.2, 0.3))
    close(plant.step(STILL, DT).tau_ext, J[:3].T @ [5.0, 6.0, 7.0], 1e-9)


def test_contact_force_is_the_change_of_momentum():
    box = Box((-0.8, 0.0, 0.15), (0.05, 0.3, 0.05))
    plant = MujocoPlant(KUKA, LEVEL, obstacles=[box], **FREE)
    touching = 0
    for _ in range(400):
        q, qd = plant.state.q, plant.state.qd
        state = plant.step(STILL, DT)
        drive = rd.mass_matrix(KUKA, q) @ (state.qd - qd) / DT
        close(drive + rd.inverse_dynamics(KUKA, q, qd, STILL), state.tau_ext, 1e-8)
        total = STILL
        for contact in plant.contacts:
            J = rd.jacobian(KUKA, q, contact.link, local(KUKA, q, contact.link, contact.point))
            total = total + J[:3].T @ contact.force
        close(total, state.tau_ext, 1e-6)
        touching += bool(plant.contacts)
    assert touching > 50


def test_mean_contact_force_over_substeps():
    plants = [
        MujocoPlant(KUKA, LEVEL, obstacles=[Sphere((-0.7, 0.0, 0.0), 0.2)], timestep=t, **FREE)
        for t in (DT, 0.25 * DT)
    ]
    impulses = []
    for plant in plants:
        impulse, turn = np.zeros(3), np.zeros(7)
        for _ in range(700):
            turn += DT * plant.step(STILL, DT).tau_ext
            impulse += DT * sum((contact.force for contact in plant.contacts), np.zeros(3))
        impulses.append((impulse, turn))
    assert impulses[0][0][2] > 1.0
    for coarse, fine in zip(*impulses, strict=True):
        close(fine, coarse, 0.2)


def test_contacts_push_the_robot_out():
    floor = Plane((0.0, 0.0, 0.04), (0.0, 0.0, 1.0))
    damped = KUKA.replace(coulomb=0.0, viscous=20.0)
    plant = MujocoPlant(damped, LEVEL, obstacles=[floor], stops=False)
    for _ in range(4000):
        state = plant.step(STILL, DT)
    assert plant.contacts
    assert {contact.link for contact in plant.contacts} <= set(KUKA.link_names[2:])
    for contact in plant.contacts:
        assert contact.force[2] > 0.0
        assert contact.point[2] == pytest.approx(0.04, abs=0.01)
    assert np.abs(state.qd).max() < 0.05
    close(rd.gravity_torque(damped, state.q) + 20.0 * state.qd, state.tau_ext, 2e-2)


def test_a_tilted_wall_holds():
    wall = Plane((-0.6, 0.0, 0.0), (1.0, 0.2, 0.0))
    plant = MujocoPlant(KUKA, [0.0, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0], obstacles=[wall])
    for _ in range(1000):
        state = plant.step([0.0, 40.0, 0.0, 0.0, 0.0, 0.0, 0.0], DT)
    normal = np.array([1.0, 0.2, 0.0]) / np.sqrt(1.04)
    assert state.tau_ext[1] < -20.0
    assert plant.contacts
    for contact in plant.contacts:
        assert contact.force @ normal > 0.9 * np.linalg.norm(contact.force) / np.sqrt(2.0)
        assert normal @ (contact.point - [-0.6, 0.0, 0.0]) == pytest.approx(0.0, abs=0.01)


def test_pendulum_swings_and_hits_the_arm():
    ball = Pendulum((-0.5, 0.0, 1.3), 0.9, 0.08, 3.0, angle=1.2, axis=(1.0, 0.0, 0.0))
    away = Pendulum((0.0, 5.0, 1.3), 0.9, 0.01, 3.0, angle=0.05)
    plant = MujocoPlant(KUKA, LEVEL, obstacles=[ball, away])
    weight = rd.gravity_torque(KUKA, LEVEL)
    impulse, first = np.zeros(3), None
    for _ in range(800):
        state = plant.step(weight, DT)
        for contact in plant.contacts:
            first = first or contact.link
            impulse += DT * contact.force
        if first is None:
            assert np.array_equal(state.tau_ext, STILL) and np.abs(state.q - LEVEL).max() < 1e-2
        # A thread of this length swings with sqrt(l / g).
        angle = 0.05 * np.cos(np.sqrt(9.81 / 0.9) * state.t)
        assert plant.swings[1][0] == pytest.approx(angle, abs=2e-3)
    assert first in ("link_3", "link_4", "link_5")
    # It falls from 1.2 rad: the arm receives its momentum, and more if it bounces.
    momentum = 3.0 * np.sqrt(2.0 * 9.81 * 0.9 * (1.0 - np.cos(1.2)))
    assert 0.5 * momentum < abs(impulse[1]) < 2.2 * momentum
    assert abs(state.q[0]) > 0.02
    plant.reset()
    assert plant.swings[0] == (1.2, 0.0) and plant.contacts == []


def test_robot_does_not_touch_itself():
    plant = MujocoPlant(KUKA, KUKA.q_max, obstacles=[Sphere((5.0, 0.0, 0.0), 0.1)], **FREE)
    for _ in range(200):
        state = plant.step(STILL, DT)
        assert plant.contacts == [] and np.array_equal(state.tau_ext, STILL)


def test_payload():
    held = rd.Payload("dh_7", 1.5, (0.02, 0.0, 0.1), (0.01, 0.02, 0.015))
    plants = [
        RigidPlant(LWR, BENT, **FREE),
        MujocoPlant(LWR, BENT, integrator="rk4", **FREE),
    ]
    for plant in plants:
        positions(plant, 0.1)
        before = plant.state
        plant.attach(held)
        assert plant.state is before
        positions(plant, 0.1)
        plant.attach(rd.Payload("link_4", 1.0))
        positions(plant, 0.1)
        plant.drop()
        positions(plant, 0.1)
    close(plants[1].state.q, plants[0].state.q, 1e-7)
    with pytest.raises(rd.ArgumentError, match="hand"):
        plants[1].attach(rd.Payload("hand", 1.0))
    plants[1].attach(held)
    plants[1].reset()
    light = positions(plants[1], 0.1)
    close(light, positions(MujocoPlant(LWR, BENT, integrator="rk4", **FREE), 0.1), 1e-12)


@pytest.fixture(scope="module")
def twins():
    """A rigid and a MuJoCo plant of the same arm, for tests that reset them."""
    return RigidPlant(KUKA, BENT), MujocoPlant(KUKA, BENT, timestep=2e-4)


@pytest.mark.parametrize(
    ("kind", "value"),
    [("free_swinging", None), ("effectiveness", 0.3), ("bias", 20.0), ("friction", 3.0)],
)
def test_faults_do_the_same(twins, kind, value):
    tau = rd.gravity_torque(KUKA, BENT) + [20.0, 40.0, 10.0, 10.0, 0.0, 0.0, 0.0]
    ends = []
    for plant in twins:
        plant.reset()
        plant.fail("joint_2", kind, value)
        ends.append(positions(plant, 0.3, tau)[-1])
    healthy = positions(RigidPlant(KUKA, BENT), 0.3, tau)[-1]
    assert np.abs(ends[0] - ends[1]).max() < 1e-3
    assert np.abs(ends[0] - healthy).max() > 1e-2


def test_a_locked_joint_stays_and_is_let_go():
    plant = MujocoPlant(KUKA, BENT, 2.0 * np.eye(7)[1], **FREE)
    held = plant.state.q[1]
    plant.fail("joint_2", "locked")
    assert positions(plant, 0.004)[-1, 1] > held + 1e-3
    plant.attach(rd.Payload("link_7", 1.0))
    positions(plant, 0.5)
    assert plant.state.q[1] == pytest.approx(held, abs=5e-4)
    assert abs(plant.state.q[3] - BENT[3]) > 0.01
    assert np.array_equal(plant.state.tau_ext, STILL)  # a brake is not a contact
    plant.mend("joint_2")
    positions(plant, 0.2)
    assert abs(plant.state.q[1] - held) > 0.02


def test_stops_and_saturation():
    plant = MujocoPlant(KUKA, BENT)
    positions(plant, 3.0, np.full(7, 1000.0))
    close(plant.state.tau, KUKA.tau_max)
    assert np.all(plant.state.q < KUKA.q_max + 0.1)
    assert np.array_equal(plant.state.tau_ext, STILL)
    assert np.any(positions(MujocoPlant(KUKA, BENT, stops=False), 3.0, KUKA.tau_max) > 3.5)


def test_gravity_is_the_models():
    tilted = KUKA.replace(gravity=(3.0, -5.0, 8.0))
    expected = positions(RigidPlant(tilted, BENT, **FREE), 0.3)
    found = positions(MujocoPlant(tilted, BENT, integrator="rk4", **FREE), 0.3)
    assert np.abs(found - expected).max() < 1e-9


def test_measurements_and_reset():
    plant = MujocoPlant(KUKA, BENT, sensor=LWR_SENSORS, seed=4)
    first = positions(plant, 0.05)
    seen = plant.measurement
    assert np.abs(seen.q - plant.state.q).max() <= np.radians(0.005) + 1e-12
    assert 0.0 < np.abs(seen.qd - plant.state.qd).max() < 0.01
    plant.reset()
    assert plant.state.t == 0.0
    assert np.array_equal(positions(plant, 0.05), first)
    assert np.array_equal(plant.measurement.qd, seen.qd)
    plant.reset(q=STILL, qd=BENT)
    assert np.array_equal(plant.state.q, STILL) and np.array_equal(plant.state.qd, BENT)


def test_a_given_urdf_is_the_same_robot():
    path = share_path("urdf/kuka_lwr4.urdf")
    expected = positions(MujocoPlant(KUKA, BENT), 0.1)
    for urdf in (path, str(path), path.read_text()):
        close(positions(MujocoPlant(KUKA, BENT, urdf=urdf), 0.1), expected, 1e-6)
    text = path.read_text()
    for other, says in (
        (text.replace("3.535", "3.6"), "masses"),
        (text.replace("0.2005", "0.21"), "link_[0-9]' is .* off"),
        (text.replace("joint_5", "elbow"), "elbow"),
        (rd.to_urdf(rd.robots.planar_2r()), "same moving joints"),
    ):
        assert other != text
        with pytest.raises(rd.ArgumentError, match=says):
            MujocoPlant(KUKA, urdf=other)


def test_meshes_are_not_loaded():
    mesh = '<geometry><mesh filename="package://nowhere/arm.dae"/></geometry>'
    text = rd.to_urdf(KUKA)
    head, link, rest = text.partition('<link name="link_3">')
    inside, end, rest = rest.partition("</link>")
    inside = inside.partition("<visual>")[0] + f"<visual>{mesh}</visual>"
    text = head + link + f"{inside}<collision>{mesh}</collision>" + end + rest
    positions(MujocoPlant(KUKA, urdf=text), 0.01)
    with pytest.raises(rd.ArgumentError, match="link_3.*mesh"):
        MujocoPlant(KUKA, urdf=text, obstacles=[Sphere((1, 0, 0), 0.1)])


def test_wrong_arguments_are_rejected():
    for arguments, says in (
        ({"integrator": "verlet"}, "integrator"),
        ({"timestep": 0.0}, "timestep"),
        ({"contact_time": -1.0}, "contact_time"),
        ({"obstacles": ["wall"]}, "wall"),
        ({"obstacles": [Pendulum((0, 0, 1), 1.0, 0.1, 1.0, axis=(0, 0, 2))]}, "gravity"),
        ({"q": [1.0]}, "q must be 7"),
    ):
        with pytest.raises(rd.ArgumentError, match=says):
            MujocoPlant(KUKA, **arguments)


def test_missing_mujoco_names_the_package(monkeypatch):
    real = builtins.__import__

    def without_mujoco(name, *arguments, **options):
        if name == "mujoco":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.delitem(sys.modules, "mujoco", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_mujoco)
    with pytest.raises(rd.RobodynError, match="pip install 'mujoco"):
        MujocoPlant(KUKA)
