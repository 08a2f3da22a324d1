"""ElasticJointPlant: [Khalil2019] (7.35), and RigidPlant as its limit of stiff joints."""

import numpy as np
import pytest
from oracle import close, random_tree

import robodyn_ros as rd
from robodyn_ros.dynamics.friction import friction_torque
from robodyn_ros.model.assemble import JointRow, assemble
from robodyn_ros.model.rigid_body import RigidBody
from robodyn_ros.simulation.elastic import ElasticJointPlant
from robodyn_ros.simulation.obstacles import Box, Plane, Probe
from robodyn_ros.simulation.rigid import RigidPlant

LWR = rd.robots.lwr_iii()
KUKA = rd.robots.kuka_lwr4()
LINKS = KUKA.replace(rotor_inertia=0.0)
BENT = np.array([0.3, 0.7, -0.4, 1.1, 0.2, -0.6, 0.1])
STILL = np.zeros(7)
DT = 1e-3


def wave(t):
    return np.sin(4.0 * t + np.arange(7)) * [20.0, 20.0, 10.0, 10.0, 4.0, 2.0, 1.0]


def positions(plant, seconds, tau=wave):
    return np.array([plant.step(tau(i * DT), DT).q for i in range(round(seconds / DT))])


def wheel(inertia=0.2, rotor=0.5):
    """Return one link on a vertical axis, without the effect of gravity."""
    row = JointRow(
        joint="turn",
        link="wheel",
        parent=-1,
        axis=np.array([0.0, 0.0, 1.0]),
        body=RigidBody(1.0, np.zeros(3), inertia * np.eye(3)),
        rotor_inertia=rotor,
    )
    return assemble("wheel", [row])


@pytest.mark.parametrize("model", [LWR, KUKA], ids=lambda m: m.name)
@pytest.mark.parametrize("friction", [False, True])
def test_stiff_joints_are_rigid(model, friction):
    def options(friction):
        return {"friction": friction, "friction_width": 0.2}

    rigid = positions(RigidPlant(model, BENT, **options(friction)), 0.2)
    errors = []
    for stiffness in (1e4, 1e5, 1e6):
        plant = ElasticJointPlant(model, BENT, stiffness=stiffness, **options(friction))
        errors.append(np.abs(positions(plant, 0.2) - rigid).max())
    ratios = np.divide(errors[:-1], errors[1:])
    assert 1e-5 < errors[0] < 0.05
    assert np.all((ratios > 6.0) & (ratios < 16.0)), (errors, ratios)


def test_one_joint_oscillates_as_computed():
    stiffness, torque, inertia, rotor = 5e3, 30.0, 0.2, 0.5
    plant = ElasticJointPlant(wheel(inertia, rotor), stiffness=stiffness)
    omega = np.sqrt(stiffness * (1.0 / inertia + 1.0 / rotor))
    for _ in range(60):
        state = plant.step([torque], DT)
        bent = torque / (rotor * omega**2) * (1.0 - np.cos(omega * state.t))
        assert plant.motor_q[0] - state.q[0] == pytest.approx(bent, abs=1e-2 * torque / stiffness)
        assert plant.joint_torque[0] == pytest.approx(stiffness * (plant.motor_q - state.q)[0])
    # The common centre moves as one body would.
    together = (inertia * state.qd + rotor * plant.motor_qd) / (inertia + rotor)
    assert together[0] == pytest.approx(torque * state.t / (inertia + rotor), rel=1e-9)


def test_damping_ends_the_oscillation():
    plant = ElasticJointPlant(wheel(), stiffness=5e3, damping=20.0)
    for _ in range(500):
        state = plant.step([30.0], DT)
    assert plant.motor_q[0] - state.q[0] == pytest.approx(30.0 * 0.2 / 0.7 / 5e3, rel=1e-3)
    assert plant.motor_qd[0] == pytest.approx(state.qd[0], rel=1e-4)


def test_energy_is_kept():
    plant = ElasticJointPlant(LWR, BENT, stiffness=2e3, friction=False, stops=False, substeps=30)
    links = LWR.replace(rotor_inertia=0.0)

    def motion():
        return plant.state.q, plant.state.qd, plant.motor_q, plant.motor_qd

    states = [motion()]
    for _ in range(2000):
        plant.step(STILL, DT)
        states.append(motion())
    q, qd, theta, thetad = (np.array(x) for x in zip(*states, strict=True))
    kinetic = rd.kinetic_energy(links, q, qd) + 0.5 * thetad**2 @ LWR.rotor_inertia
    energy = kinetic + rd.potential_energy(LWR, q) + 0.5 * 2e3 * ((theta - q) ** 2).sum(axis=1)
    assert np.ptp(energy) < 1e-6 * abs(energy[0])
    assert np.abs(plant.motor_q - plant.state.q).max() > 1e-4


def test_starts_in_balance_with_gravity():
    plant = ElasticJointPlant(KUKA, BENT, stiffness=3e3, friction=False)
    weight = rd.gravity_torque(KUKA, BENT)
    close(plant.joint_torque, weight)
    state = [plant.step(weight, DT) for _ in range(100)][-1]
    close(state.q, BENT, 1e-9)
    close(plant.joint_torque, weight, 1e-6)


def test_joint_torque_is_that_of_the_links_without_motor_friction():
    plant = ElasticJointPlant(KUKA, BENT, damping=0.0)
    for i in range(200):
        plant.step(wave(i * DT), DT)
    before, torque, motor = plant.state, plant.joint_torque, plant.motor_qd
    dt = 1e-6
    after = plant.step(wave(0.2), dt)
    qdd = (after.qd - before.qd) / dt
    close(torque, rd.inverse_dynamics(LINKS, before.q, before.qd, qdd), 1e-3)
    loss = friction_torque(KUKA, motor, width=0.02)
    assert np.abs(loss).max() > 1.0
    given = KUKA.rotor_inertia * (plant.motor_qd - motor) / dt + loss + torque
    close(given, after.tau, 1e-3)


def test_pushes_reach_the_torque_sensor():
    plant = ElasticJointPlant(KUKA, BENT, stiffness=1e4, damping=2.0)
    weight = rd.gravity_torque(KUKA, BENT)
    force = np.array([0.0, 0.0, -8.0])
    plant.push("link_7", force, duration=10.0)
    for _ in range(1000):  # too weak to break the motors loose
        state = plant.step(weight, DT)
    expected = rd.jacobian(KUKA, state.q, "link_7")[:3].T @ force
    close(state.tau_ext, expected, 1e-3)
    close(plant.joint_torque, rd.gravity_torque(KUKA, state.q) - expected, 2e-2)


@pytest.mark.parametrize("stiffness", [1e3, 1e5, 1e6])
@pytest.mark.parametrize("damping", [0.0, 100.0])
def test_substeps_suit_the_stiffness(stiffness, damping):
    plant = ElasticJointPlant(KUKA, BENT, 0.5 * BENT, stiffness=stiffness, damping=damping)
    for i in range(40):  # a third of the substeps diverges within 30 steps
        state = plant.step(wave(i * DT), DT)
    assert np.abs(plant.motor_q - state.q).max() < 100.0 / stiffness
    assert np.abs(state.qd).max() < 2.0


def test_too_few_substeps_are_reported():
    plant = ElasticJointPlant(KUKA, BENT, stiffness=1e6, substeps=1)
    with pytest.raises(rd.RobodynError, match="substeps"):
        positions(plant, 0.5)


def test_stiffness_may_differ_by_joint():
    stiffness = np.linspace(2e3, 2e4, 7)
    plant = ElasticJointPlant(KUKA, BENT, stiffness=stiffness)
    close(plant.motor_q - BENT, rd.gravity_torque(KUKA, BENT) / stiffness)


def test_brake_and_stops_hold_the_motor():
    plant = ElasticJointPlant(KUKA, BENT, stiffness=1e4, damping=1.0)
    plant.fail("joint_2", "locked")
    held = plant.motor_q[1]
    positions(plant, 0.5, lambda t: STILL)
    assert plant.motor_q[1] == pytest.approx(held, abs=1e-3)
    assert plant.state.q[1] == pytest.approx(BENT[1], abs=5e-3)
    assert abs(plant.state.q[3] - BENT[3]) > 0.005
    plant.reset()
    close(plant.motor_q - BENT, rd.gravity_torque(KUKA, BENT) / 1e4)
    q = positions(plant, 3.0, lambda t: 0.5 * KUKA.tau_max)
    assert np.all(q < KUKA.q_max + 0.1) and np.any(q > KUKA.q_max)


def test_faults_payload_and_obstacles_as_for_the_rigid_plant():
    table = Plane((0.0, 0.0, 0.25), (0.0, 0.0, 1.0))
    start = [0.0, np.pi / 2.0, 0.3, 0.0, 0.0, 0.0, 0.0]
    options = {"obstacles": [table], "probes": [Probe("link_7")]}
    plants = [
        RigidPlant(KUKA, start, **options),
        ElasticJointPlant(KUKA, start, stiffness=1e6, **options),
    ]
    for plant in plants:
        plant.attach(rd.Payload("link_6", 1.5))
        plant.fail("joint_1", "bias", 20.0)
        plant.fail("joint_4", "friction", 2.0)
    rigid, elastic = (positions(plant, 0.8, lambda t: STILL) for plant in plants)
    assert np.abs(plants[0].state.tau_ext).max() > 1.0
    assert np.abs(rigid[-1] - rigid[0]).max() > 0.1
    assert np.abs(elastic - rigid).max() < 2e-3


def test_mimic_joints():
    model = random_tree(3, 6, mimic=0.5, prismatic=0.0).replace(rotor_inertia=0.3)
    assert model.coupled
    still = np.zeros(model.n)
    rigid = RigidPlant(model, stops=False)
    elastic = ElasticJointPlant(model, stiffness=1e6, stops=False)
    for _ in range(200):
        one, other = (plant.step(still, DT) for plant in (rigid, elastic))
    assert np.abs(one.q).max() > 1e-2
    assert np.abs(one.q - other.q).max() < 1e-3


def test_measurements_are_the_links():
    plant = ElasticJointPlant(KUKA, BENT)
    state = plant.step(wave(0.0), DT)
    assert np.array_equal(plant.measurement.q, state.q)
    assert not np.array_equal(plant.measurement.q, plant.motor_q)


def test_effort_is_that_of_the_motor_or_of_the_joint():
    motor, joint = (
        ElasticJointPlant(KUKA, BENT, damping=5.0, effort=e) for e in ("motor", "joint")
    )
    assert np.array_equal(joint.measurement.tau, joint.joint_torque)  # already before a step
    for i in range(50):
        motor.step(wave(i * DT), DT)
        joint.step(wave(i * DT), DT)
    assert np.array_equal(motor.measurement.tau, wave(49 * DT))
    assert np.array_equal(joint.measurement.tau, joint.joint_torque)
    assert np.abs(joint.measurement.tau - motor.measurement.tau).max() > 1.0
    noisy = ElasticJointPlant(KUKA, BENT, effort="joint", sensor=rd.LWR_SENSORS)
    noisy.step(wave(0.0), DT)
    noise = noisy.measurement.tau - noisy.joint_torque
    assert 0.0 < np.abs(noise).max() < 5.0 * 3e-4 * KUKA.tau_max.max()


def test_friction_of_the_links():
    """(7.35a): it acts behind the springs, where a torque sensor sees it."""
    options = {"link_viscous": 2.0, "link_coulomb": np.linspace(0.5, 1.0, 7)}
    plant = ElasticJointPlant(KUKA, BENT, 0.3 * BENT, friction=False, **options)
    for i in range(100):
        plant.step(wave(i * DT), DT)
    before, torque = plant.state, plant.joint_torque
    after = plant.step(wave(0.1), 1e-6)
    qdd = (after.qd - before.qd) / 1e-6
    loss = 2.0 * before.qd + options["link_coulomb"] * np.tanh(before.qd / plant.friction_width)
    close(torque, rd.inverse_dynamics(LINKS, before.q, before.qd, qdd) + loss, 1e-3)
    assert np.abs(loss).max() > 0.3


def test_friction_of_the_links_stops_a_wheel():
    """One link and its motor: viscous friction slows them down, dry friction ends the motion."""
    plant = ElasticJointPlant(wheel(), qd=[2.0], stiffness=5e3, damping=5.0, link_viscous=1.4)
    for _ in range(500):
        state = plant.step([0.0], DT)
    assert state.qd[0] == pytest.approx(2.0 * np.exp(-1.4 * 0.5 / 0.7), rel=0.01)
    plant = ElasticJointPlant(wheel(), qd=[0.5], stiffness=5e3, damping=5.0, link_coulomb=1.0)
    for _ in range(800):
        state = plant.step([0.0], DT)
    assert abs(state.qd[0]) < 1e-3


def test_the_models_own_springs():
    model = KUKA.replace(joint_stiffness=4e3, joint_damping=3.0)
    plant = ElasticJointPlant(model, BENT)
    assert plant.stiffness[0] == 4e3 and plant.damping[0] == 3.0
    assert ElasticJointPlant(KUKA, BENT).stiffness[0] == 1e4


@pytest.mark.parametrize(
    ("model", "arguments", "says"),
    [
        (KUKA, {"stiffness": 0.0}, "stiffness of joint 'joint_1'"),
        (KUKA, {"stiffness": [1e4, 1e4]}, "stiffness must be one number or 7"),
        (KUKA, {"stiffness": np.nan}, "stiffness"),
        (KUKA, {"damping": -1.0}, "damping"),
        (KUKA, {"substeps": 0}, "substeps"),
        (KUKA, {"effort": "current"}, "effort must be one of motor, joint"),
        (KUKA, {"link_viscous": -1.0}, "link_viscous must not be negative"),
        (KUKA, {"link_coulomb": [1.0] * 3}, "link_coulomb must be one number or 7"),
        (
            KUKA,
            {"obstacles": [Box((1, 0, 0), (1, 1, 1))]},
            "ElasticJointPlant supports.*Mujoco",
        ),
        (
            KUKA.replace(rotor_inertia=[1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0]),
            {},
            "'joint_3' has no rotor inertia",
        ),
    ],
)
def test_wrong_arguments_are_rejected(model, arguments, says):
    with pytest.raises(rd.ArgumentError, match=says):
        ElasticJointPlant(model, **arguments)
