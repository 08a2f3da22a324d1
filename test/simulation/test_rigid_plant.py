"""RigidPlant: energy, accuracy, friction, stops, pushes, contacts, faults, sensors."""

import numpy as np
import pytest
from oracle import close, random_tree

import robodyn_ros as rd
from robodyn_ros.model.assemble import JointRow, assemble
from robodyn_ros.model.rigid_body import RigidBody
from robodyn_ros.simulation.disturbances import KINDS
from robodyn_ros.simulation.obstacles import Box, Pendulum, Plane, Probe, Sphere
from robodyn_ros.simulation.rigid import RigidPlant
from robodyn_ros.simulation.sensors import LWR_SENSORS, SensorModel

LWR = rd.robots.lwr_iii()
KUKA = rd.robots.kuka_lwr4()
BENT = np.array([0.3, 0.7, -0.4, 1.1, 0.2, -0.6, 0.1])
STILL = np.zeros(7)
POINT = (0.02, -0.03, 0.05)
DT = 1e-3


def energies(model, states):
    """Return total and kinetic energy (T,) [J] of states."""
    q, qd = np.array([state.q for state in states]), np.array([state.qd for state in states])
    kinetic = rd.kinetic_energy(model, q, qd)
    return kinetic + rd.potential_energy(model, q), kinetic


def run(plant, seconds, tau=None, dt=DT):
    """Return all states of a run under a constant torque, the initial one included."""
    tau = np.zeros(plant.model.n) if tau is None else tau
    states = [plant.state]
    states += [plant.step(tau, dt) for _ in range(round(seconds / dt))]
    return states


def sledge(mass=2.0):
    """Return a ball on a vertical prismatic joint."""
    row = JointRow(
        joint="lift",
        link="ball",
        parent=-1,
        prismatic=True,
        axis=np.array([0.0, 0.0, 1.0]),
        body=RigidBody(mass, np.zeros(3), 1e-3 * np.eye(3)),
    )
    return assemble("sledge", [row])


def place(model, q, link, point):
    return (rd.forward_kinematics(model, q, link) @ [*point, 1.0])[:3]


def test_free_swinging_arm_keeps_its_energy():
    plant = RigidPlant(LWR, BENT, friction=False, stops=False)
    assert np.all(LWR.rotor_inertia > 0.0)
    total, kinetic = energies(LWR, run(plant, 10.0))
    assert kinetic.max() > 10.0
    assert np.abs(total - total[0]).max() / kinetic.max() < 1e-6
    assert np.abs(total - total[0]).max() / abs(total[0]) < 1e-6


@pytest.mark.parametrize(("method", "order"), [("semi_implicit", 1), ("fourth_order", 4)])
def test_order_of_the_integrators(method, order):
    def end(dt, method=method):
        plant = RigidPlant(LWR, BENT, -BENT, method=method, friction=False, stops=False)
        return run(plant, 0.4, dt=dt)[-1].q

    exact = end(5e-4, "fourth_order")
    coarse, fine = (np.abs(end(dt) - exact).max() for dt in (0.02, 0.01))
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.3)


def test_substeps_are_smaller_steps():
    coarse = RigidPlant(LWR, BENT, substeps=4)
    fine = RigidPlant(LWR, BENT)
    close(run(coarse, 0.1, dt=4e-3)[-1].q, run(fine, 0.1)[-1].q, 1e-12)


def test_friction_dissipates():
    total, _ = energies(LWR, run(RigidPlant(LWR, BENT, 0.5 * BENT, stops=False), 2.0))
    assert np.all(np.diff(total) < 1e-9)
    assert total[-1] < total[0] - 1.0


def test_friction_is_the_models():
    model = KUKA.replace(stiction=2.0 * KUKA.coulomb, stribeck=3.0)
    plant = RigidPlant(model, BENT, 0.3 * np.cos(BENT), friction_width=0.05)
    state, dt = plant.state, 1e-6
    qdd = rd.forward_dynamics(model, state.q, state.qd, STILL, friction=True, friction_width=0.05)
    close((plant.step(STILL, dt).qd - state.qd) / dt, qdd, 1e-4)


def test_stops_hold():
    plant = RigidPlant(KUKA, BENT, friction=False)
    push = 0.9 * KUKA.tau_max
    for sign in (1.0, -1.0):
        states = run(plant, 3.0, sign * push)
        q = np.array([state.q for state in states])
        assert np.all(q < KUKA.q_max + 0.15) and np.all(q > KUKA.q_min - 0.15)
        assert np.all(np.abs(q[-1]) > KUKA.q_max) and np.all(np.abs(q[-1]) < KUKA.q_max + 0.015)
    free = run(RigidPlant(KUKA, BENT, friction=False, stops=False), 3.0, push)
    assert np.any(free[-1].q > KUKA.q_max + 0.5)


def test_torque_saturates():
    tau = np.full(7, 1000.0)
    state = RigidPlant(KUKA).step(tau, DT)
    close(state.tau, KUKA.tau_max)
    close(RigidPlant(KUKA).step(-tau, DT).tau, -KUKA.tau_max)
    assert np.all(RigidPlant(KUKA, saturate=False).step(tau, DT).tau == 1000.0)
    measured = RigidPlant(KUKA)
    measured.step(tau, DT)
    close(measured.measurement.tau, KUKA.tau_max)


def test_pushes_do_work():
    plant = RigidPlant(LWR, BENT, friction=False, stops=False)
    force = np.array([40.0, -30.0, 25.0])
    plant.push("link_6", force, POINT, duration=0.3)
    start = plant.state
    end = run(plant, 0.3)[-1]
    travel = place(LWR, end.q, "link_6", POINT) - place(LWR, start.q, "link_6", POINT)
    work = force @ travel
    assert abs(work) > 1.0
    assert np.diff(energies(LWR, [start, end])[0])[0] == pytest.approx(work, rel=1e-6)
    assert np.all(run(plant, 0.01)[-1].tau_ext == 0.0)


@pytest.mark.parametrize("robot", [KUKA, random_tree(5, 6, mimic=0.5)], ids=lambda m: m.name)
def test_external_torque_of_a_push(robot):
    q = np.linspace(-0.5, 0.6, robot.n)
    link, force, torque = robot.link_names[-1], np.array([10.0, 20.0, -5.0]), [1.0, 2.0, 3.0]
    plant = RigidPlant(robot, q, stops=False)
    plant.push(link, force, POINT, torque=torque)
    expected = rd.jacobian(robot, q, link, POINT).T @ [*force, *torque]
    close(plant.step(np.zeros(robot.n), 1e-6).tau_ext, expected, 1e-4)


@pytest.mark.parametrize(
    ("shape", "strength"),
    [
        ("step", lambda age: np.ones_like(age)),
        ("ramp", lambda age: np.minimum(1.0, age / 0.02)),
        ("half_sine", lambda age: np.sin(np.pi * age / 0.05)),
    ],
)
def test_shapes_of_pushes(shape, strength):
    model = sledge()
    plant = RigidPlant(model)
    plant.push("ball", (0.0, 0.0, 8.0), duration=0.05, shape=shape, start=0.01, ramp=0.02)
    states = run(plant, 0.07)[1:]
    seen = np.array([state.tau_ext[0] for state in states])
    middle = (np.arange(len(states)) + 0.5) * DT - 0.01
    acts = (middle > 0.0) & (middle < 0.05)
    close(seen, np.where(acts, 8.0 * strength(middle), 0.0), 1e-9)


@pytest.mark.parametrize(
    "obstacle",
    [
        Plane((0.0, 0.0, 0.1), (0.0, 0.0, 3.0), damping=3e4),
        Sphere((0.0, 0.0, -0.1), 0.2, damping=3e4),
    ],
    ids=["plane", "sphere"],
)
def test_a_ball_comes_to_rest_on_an_obstacle(obstacle):
    model = sledge()
    plant = RigidPlant(
        model, [0.3], obstacles=[obstacle], probes=[Probe("ball", (0.0, 0.0, 0.0), 0.05)]
    )
    states = run(plant, 5.0)
    force = np.array([state.tau_ext[0] for state in states])
    weight = 2.0 * 9.81
    assert np.all(force >= 0.0) and force.max() > 2.0 * weight  # an impact that never pulls
    assert force[:100].max() == 0.0
    assert force[-1] == pytest.approx(weight, rel=1e-3)
    assert states[-1].q[0] == pytest.approx(0.15 - weight / obstacle.stiffness, abs=1e-5)
    torn_off = run(plant, 0.05, [400.0])  # faster than the surface follows
    assert min(state.tau_ext[0] for state in torn_off) == 0.0


def test_arm_leans_on_a_table_in_balance():
    model = KUKA.replace(coulomb=0.0, viscous=20.0)
    table = Plane((0.0, 0.0, 0.2), (0.0, 0.0, 1.0), damping=3e4)
    probes = [Probe(f"link_{i}") for i in (3, 5, 7)]
    start = [0.0, np.pi / 2.0, 0.3, 0.0, 0.0, 0.0, 0.0]
    plant = RigidPlant(model, start, obstacles=[table], probes=probes)
    state = run(plant, 10.0)[-1]
    assert np.abs(state.qd).max() < 0.02
    assert state.tau_ext[1] < -10.0
    close(rd.gravity_torque(model, state.q) + 20.0 * state.qd, state.tau_ext, 1e-3)


def test_payload_changes_gravity_and_nothing_else():
    held = rd.Payload("link_7", 2.0, (0.0, 0.0, 0.1), 0.01)
    loaded = KUKA.replace(payload=held)
    plant = RigidPlant(KUKA, BENT, friction=False)
    before = plant.step(rd.gravity_torque(KUKA, BENT), DT)
    plant.attach(held)
    assert plant.state is before
    dt = 1e-5
    after = plant.step(STILL, dt)
    qdd = rd.forward_dynamics(loaded, before.q, before.qd, STILL)
    close((after.qd - before.qd) / dt, qdd, 1e-4)
    plant.drop()
    last = plant.step(STILL, dt)
    qdd = rd.forward_dynamics(KUKA, after.q, after.qd, STILL)
    close((last.qd - after.qd) / dt, qdd, 1e-4)
    assert plant.model is KUKA
    with pytest.raises(rd.ArgumentError, match="nothing_7"):
        plant.attach(rd.Payload("nothing_7", 1.0))


def after_fault(kind, value=None, tau=30.0):
    """Return the plant 0.2 s after a fault of joint 2."""
    plant = RigidPlant(KUKA, BENT, 0.2 * np.ones(7))
    tau = rd.gravity_torque(KUKA, BENT) + tau * np.eye(7)[1]
    plant.step(tau, DT)
    if kind:
        plant.fail("joint_2", kind, value)
    run(plant, 0.2, tau)
    return plant


def test_each_fault_of_a_drive_has_its_effect():
    healthy = after_fault(None)
    believed = healthy.measurement.tau[1]
    tau = {
        kind: after_fault(kind, value).state.tau[1]
        for kind, value in [("free_swinging", None), ("effectiveness", 0.4), ("bias", 7.0)]
    }
    assert tau["free_swinging"] == 0.0
    assert tau["effectiveness"] == pytest.approx(0.4 * healthy.state.tau[1])
    assert tau["bias"] == pytest.approx(healthy.state.tau[1] + 7.0)
    for kind in tau:
        faulty = after_fault(kind)
        assert faulty.measurement.tau[1] == believed  # the fault does not show in the reading
        assert abs(faulty.state.q[1] - healthy.state.q[1]) > 1e-3
    locked = after_fault("locked")
    assert abs(locked.state.qd[1]) < 1e-3 < abs(healthy.state.qd[1])
    stuck = after_fault("friction", 3.0)
    assert abs(stuck.state.qd[1]) < abs(healthy.state.qd[1])


def test_each_fault_of_a_sensor_has_its_effect():
    healthy, frozen = after_fault(None), after_fault("sensor_freeze")
    close(frozen.state.q, healthy.state.q)
    first = RigidPlant(KUKA, BENT, 0.2 * np.ones(7))
    first.step(rd.gravity_torque(KUKA, BENT) + 30.0 * np.eye(7)[1], DT)
    assert frozen.measurement.q[1] == first.state.q[1]
    assert frozen.measurement.qd[1] == first.state.qd[1]
    others = np.arange(7) != 1
    close(frozen.measurement.q[others], healthy.measurement.q[others])
    scaled = after_fault("effort_scale", 0.1)
    close(scaled.measurement.tau[1], 0.1 * healthy.measurement.tau[1])
    close(scaled.state.q, healthy.state.q)


@pytest.mark.parametrize("kind", KINDS)
def test_a_mended_arm_is_as_before(kind):
    tau = rd.gravity_torque(KUKA, BENT)
    plants = [RigidPlant(KUKA, BENT), RigidPlant(KUKA, BENT)]
    plants[0].fail("joint_3", kind)
    plants[0].mend("joint_3")
    one, other = (run(plant, 0.05, tau)[-1] for plant in plants)
    assert np.array_equal(one.q, other.q) and np.array_equal(one.tau, other.tau)
    assert np.array_equal(plants[0].measurement.q, plants[1].measurement.q)


def test_a_locked_joint_stays_where_it_was_locked():
    plant = RigidPlant(KUKA, BENT, 2.0 * np.eye(7)[1], friction=False)
    plant.fail("joint_2", "locked")
    assert run(plant, 0.004)[-1].q[1] > BENT[1] + 1e-3
    plant.fail("joint_6", "bias", 2.0)  # another fault does not shift it
    run(plant, 1.0)
    assert plant.state.q[1] == pytest.approx(BENT[1], abs=5e-4)
    assert abs(plant.state.q[3] - BENT[3]) > 0.05


def test_position_resolution():
    step = np.radians(0.5)
    plant = RigidPlant(KUKA, BENT, sensor=SensorModel(position_resolution=step))
    state = run(plant, 0.2, STILL)[-1]
    seen = plant.measurement.q
    close(seen / step, np.round(seen / step), 1e-9)
    assert 0.0 < np.abs(seen - state.q).max() <= 0.5 * step + 1e-12


def test_sensor_noise_has_its_size():
    sensor = SensorModel(velocity="noisy", velocity_noise=0.02, torque_noise=0.01)
    plant = RigidPlant(KUKA, BENT, sensor=sensor, seed=3)
    tau = rd.gravity_torque(KUKA, BENT)
    errors = []
    for _ in range(3000):
        state = plant.step(tau, DT)
        seen = plant.measurement
        errors.append([seen.qd - state.qd, seen.tau - state.tau])
        assert np.array_equal(seen.q, state.q)
    spread, mean = np.std(errors, axis=0), np.mean(errors, axis=0)
    close(spread[0], np.full(7, 0.02), 0.06)
    close(spread[1], 0.01 * KUKA.tau_max, 0.06)
    assert np.abs(mean[0]).max() < 0.02 * 4.0 / np.sqrt(3000)


def test_delay_and_differences():
    plant = RigidPlant(KUKA, BENT, sensor=SensorModel(velocity="difference", delay=3))
    states, seen = [], []
    for _ in range(20):
        states.append(plant.step(STILL, DT))
        seen.append(plant.measurement)
    assert seen[-1].t == pytest.approx(states[-4].t)
    assert np.array_equal(seen[-1].q, states[-4].q)
    close(seen[-1].qd, (states[-4].q - states[-5].q) / DT, 1e-9)


def test_same_seed_same_result():
    def measured(seed):
        plant = RigidPlant(KUKA, BENT, sensor=LWR_SENSORS, seed=seed)
        return np.array([run(plant, 0.05) and plant.measurement.qd for _ in range(3)])

    assert np.array_equal(measured(1), measured(1))
    assert not np.array_equal(measured(1), measured(2))


def test_reset_begins_again():
    plant = RigidPlant(KUKA, BENT, sensor=LWR_SENSORS)
    first = run(plant, 0.1)[-1]
    seen = plant.measurement
    plant.fail("joint_1", "locked")
    plant.push("link_4", (100.0, 0.0, 0.0))
    plant.attach(rd.Payload("link_7", 1.0))
    run(plant, 0.05)
    plant.reset()
    assert plant.state.t == 0.0 and np.array_equal(plant.state.q, BENT)
    assert np.array_equal(run(plant, 0.1)[-1].q, first.q)
    assert np.array_equal(plant.measurement.qd, seen.qd)
    plant.reset(q=STILL, qd=BENT)
    assert np.array_equal(plant.state.q, STILL) and np.array_equal(plant.state.qd, BENT)


def test_mimic_joints_swing_with_their_leader():
    model = random_tree(3, 8, mimic=0.5, prismatic=0.0)
    assert model.coupled
    plant = RigidPlant(model, friction=False, stops=False)
    total, kinetic = energies(model, run(plant, 1.0, dt=5e-4))
    assert kinetic.max() > 1.0
    assert np.abs(total - total[0]).max() / kinetic.max() < 1e-6


def test_any_array_of_numbers_is_a_command():
    many = np.random.default_rng(0).normal(size=(7, 7))
    expected = RigidPlant(KUKA, BENT).step(np.array(many[:, 2]), DT).q
    frozen = np.array(many[:, 2])
    frozen.setflags(write=False)
    for tau in (many[:, 2], frozen, list(many[:, 2])):
        assert np.array_equal(RigidPlant(KUKA, BENT).step(tau, DT).q, expected)


def test_states_are_not_shared():
    plant = RigidPlant(KUKA, BENT)
    first = plant.step(STILL, DT)
    q = first.q.copy()
    plant.step(STILL, DT)
    assert np.array_equal(first.q, q)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"method": "euler"}, "method"),
        ({"substeps": 0}, "substeps"),
        ({"friction_width": 0.0}, "friction_width"),
        ({"q": [1.0]}, "q must be 7"),
        ({"qd": np.full(7, np.nan)}, "qd must be 7 finite"),
        ({"obstacles": [Plane((0, 0, 0), (0, 0, 0))]}, "normal"),
        ({"obstacles": [Sphere((0, 0, 0), -1.0)]}, "radius"),
        ({"obstacles": [Box((1, 0, 0), (0.1, 0.1, 0.1))]}, "MujocoPlant"),
        ({"obstacles": [Pendulum((0, 0, 1), 0.5, 0.1, 1.0)]}, "MujocoPlant"),
        ({"probes": [Probe("hand")]}, "hand"),
    ],
)
def test_wrong_arguments_are_rejected(arguments, says):
    with pytest.raises(rd.ArgumentError, match=says):
        RigidPlant(KUKA, **arguments)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda plant: plant.step([1.0], DT), "tau must be 7"),
        (lambda plant: plant.step(np.full(7, np.inf), DT), "tau must be 7 finite"),
        (lambda plant: plant.step(STILL, 0.0), "dt"),
        (lambda plant: plant.push("hand", (1, 0, 0)), "hand"),
        (lambda plant: plant.push("base_link", (1, 0, 0)), "base"),
        (lambda plant: plant.push("link_2", (1, 0)), "force"),
        (lambda plant: plant.push("link_2", (1, 0, 0), shape="square"), "shape"),
        (lambda plant: plant.push("link_2", (1, 0, 0), duration=0.0), "duration"),
        (lambda plant: plant.fail("joint_9", "locked"), "joint_9"),
        (lambda plant: plant.fail("joint_1", "melted"), "melted"),
        (lambda plant: plant.fail("joint_1", "effectiveness", -1.0), "effectiveness"),
    ],
)
def test_wrong_calls_are_rejected(call, says):
    with pytest.raises(rd.ArgumentError, match=says):
        call(RigidPlant(KUKA))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Box((0, 0), (1, 1, 1)),
        lambda: Box((0, 0, 0), (1, 0, 1)),
        lambda: Pendulum((0, 0, 1), -0.5, 0.1, 1.0),
        lambda: Pendulum((0, 0, 1), 0.5, 0.1, 1.0, axis=(0, 0, 0)),
        lambda: Pendulum((0, 0, 1), 0.5, 0.1, 1.0, angle=np.nan),
    ],
)
def test_obstacles_check_their_numbers(make):
    with pytest.raises(rd.ArgumentError, match="of a (box|pendulum)"):
        make()


def test_divergence_is_reported():
    plant = RigidPlant(KUKA, BENT, friction=False)  # with it, steps are cut
    with pytest.raises(rd.RobodynError, match="smaller dt"):
        run(plant, 100.0, dt=0.5)


def test_reset_does_not_depend_on_the_caller_s_array():
    q = np.full(7, 0.2)
    plant = rd.RigidPlant(rd.robots.lwr_iii(), q)
    q[:] = 1.0
    plant.reset()
    np.testing.assert_array_equal(plant.state.q, np.full(7, 0.2))


def test_another_fault_ends_a_frozen_sensor():
    plant = rd.RigidPlant(rd.robots.lwr_iii(), np.full(7, 0.2))
    plant.fail("joint_1", "sensor_freeze")
    plant.fail("joint_1", "bias", 20.0)
    for _ in range(20):
        plant.step(np.zeros(7), 1e-3)
    assert plant.measurement.q[0] == plant.state.q[0] != 0.2


def test_friction_at_long_steps_is_that_at_short_ones():
    """At 100 Hz an explicit step is unstable in the wrist: the residual would be some N m."""
    model = rd.robots.lwr_iii()
    tau = rd.gravity_torque(model, BENT) + 1.2 * model.coulomb
    ends = []
    for dt in (1e-2, 1e-3):
        plant = RigidPlant(model, BENT)
        for _ in range(round(0.2 / dt)):
            plant.step(tau, dt)
        ends.append(plant.state.qd)
    np.testing.assert_allclose(ends[0], ends[1], atol=2e-3)
