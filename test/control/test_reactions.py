"""Reactions: momentum damping, braking, and the response of each reaction to a push."""

import numpy as np
import pytest
from control_cases import exact_plant

import robodyn_ros as rd
from robodyn_ros.control.controller import JointState
from robodyn_ros.control.laws.momentum_damping import MomentumDampingController, Push
from robodyn_ros.control.laws.passivity import PassivityController
from robodyn_ros.control.limits import TorqueLimits
from robodyn_ros.control.reactions import Admittance, Float, Reflex, Stop

LWR = rd.robots.lwr_iii()
KUKA = rd.robots.kuka_lwr4()
BENT = np.array([0.3, 0.7, -0.4, 1.1, 0.2, -0.6, 0.1])
FAST = np.array([1.2, -0.8, 1.0, 0.9, -1.5, 1.1, -2.0])
NOTHING = Push(np.zeros(7), np.zeros(7))
RATE = 1000.0
DT = 1e-3


def law(model=LWR, rate=RATE, frequency=30.0):
    limits = TorqueLimits(model.tau_max, rate)
    made = PassivityController.with_frequency(model, frequency, limits=limits)
    made.reset(rd.gravity_torque(model, BENT))
    return made


def energy(model, state):
    return float(rd.kinetic_energy(model, state.q, state.qd))


def run(plant, reaction, seconds, r=lambda t: None, dt=DT):
    """Run a reaction; return states and torques."""
    reaction.begin(plant.state)
    states, torques = [plant.state], [reaction.law.tau.copy()]
    for _ in range(round(seconds / dt)):
        tau = reaction.torque(plant.state, r(plant.state.t), dt).copy()
        torques.append(tau)
        states.append(plant.step(tau, dt))
    return states, np.array(torques)


@pytest.mark.parametrize("model", [LWR, KUKA])
def test_momentum_damping_law(model):
    """tau = g + K_r r - k M (qd - qd_r), where no limit is near."""
    random = np.random.default_rng(1)
    gain, k = random.uniform(0.5, 2.0, 7), 4.0
    yielding = MomentumDampingController(model, gain, k)
    for _ in range(20):
        q, qd, r, qd_r = random.uniform(-0.3, 0.3, (4, 7))
        wanted = rd.gravity_torque(model, q) + gain * r
        wanted -= k * rd.mass_matrix(model, q) @ (qd - qd_r)
        given = yielding.torque(JointState(q, qd), Push(r, qd_r))
        np.testing.assert_allclose(given, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", [3.0, 20.0])
def test_kinetic_energy_falls_at_twice_the_damping(k):
    """Tdot = -2 k T, in any posture."""
    plant = exact_plant(LWR, BENT, FAST)
    yielding = MomentumDampingController(LWR, 0.0, k, limits=TorqueLimits(1e4))
    start, dt = energy(LWR, plant.state), 1e-4
    for step in range(2000):
        plant.step(yielding.torque(plant.state, NOTHING, dt), dt)
        if step % 500 == 499:
            wanted = start * np.exp(-2.0 * k * plant.state.t)
            assert energy(LWR, plant.state) == pytest.approx(wanted, rel=6.0 * k * dt)


def test_a_braked_arm_keeps_to_its_path():
    """It is at q_free((1 - exp(-k t)) / k) of the free motion."""
    k, dt = 5.0, 1e-4
    braked, free = exact_plant(LWR, BENT, FAST), exact_plant(LWR, BENT, FAST)
    laws = [MomentumDampingController(LWR, 0.0, x, limits=TorqueLimits(1e4)) for x in (k, 0.0)]
    for _ in range(10_000):
        braked.step(laws[0].torque(braked.state, NOTHING, dt), dt)
    for _ in range(round(-np.expm1(-k * braked.state.t) / k / dt)):
        free.step(laws[1].torque(free.state, NOTHING, dt), dt)
    assert np.abs(braked.state.q - BENT).max() > 0.2
    np.testing.assert_allclose(braked.state.q, free.state.q, atol=1e-3)


@pytest.mark.parametrize("model", [LWR, KUKA])
@pytest.mark.parametrize("rate", [300.0, 1000.0, 1e5])
def test_stop_never_throws_the_arm_back(model, rate):
    """From full speed: within torque and rate limits, energy only falls, then it holds."""
    plant = exact_plant(model, BENT, 0.8 * np.sign(FAST) * model.qd_max)
    reaction = Stop(law(model, rate))
    states, torques = run(plant, reaction, 1.5)
    assert (np.abs(torques) <= model.tau_max + 1e-9).all()
    assert np.abs(np.diff(torques, axis=0)).max() <= rate * DT * (1.0 + 1e-9)
    energies = np.array([energy(model, state) for state in states])
    assert np.diff(energies).max() < 1e-6 * energies[0]
    assert reaction.at_rest
    assert np.abs(states[-1].qd).max() < 1e-3


def test_braking_at_the_torque_limits_keeps_to_the_path():
    """One motor at its limit slows all joints down alike: the arm keeps its path."""
    fast = np.sign(FAST) * LWR.qd_max
    limits, dt = TorqueLimits(0.5 * LWR.tau_max), 1e-4
    braked, free = exact_plant(LWR, BENT, fast), exact_plant(LWR, BENT, fast)
    brake, none = (MomentumDampingController(LWR, 0.0, k, limits=limits) for k in (50.0, 0.0))
    largest = 0.0
    for _ in range(4000):
        tau = brake.torque(braked.state, NOTHING, dt)
        largest = max(largest, float(np.abs(tau / limits.tau_max).max()))
        braked.step(tau, dt)
    way = [BENT]
    for _ in range(2000):
        way.append(free.step(none.torque(free.state, NOTHING, dt), dt).q)
    assert largest > 0.99
    assert np.abs(braked.state.q - BENT).max() > 0.1
    assert np.abs(np.array(way) - braked.state.q).max(axis=1).min() < 1e-3


def test_stop_holds_against_a_push():
    plant = exact_plant(LWR, BENT, 0.3 * FAST)
    reaction = Stop(law())
    states, _ = run(plant, reaction, 1.0)
    here = reaction.reference.q.copy()
    plant.push("link_4", (0.0, 20.0, 0.0), duration=0.2)
    for _ in range(1500):
        plant.step(reaction.torque(plant.state, np.full(7, 5.0), DT), DT)
    np.testing.assert_allclose(plant.state.q, here, atol=1e-4)


def test_float_gives_way_and_stays_free():
    plant = exact_plant(LWR, BENT)
    reaction = Float(law())
    run(plant, reaction, 0.2)
    assert reaction.at_rest
    np.testing.assert_allclose(plant.state.q, BENT, atol=1e-9)
    plant.push("link_4", (0.0, 20.0, 0.0), duration=0.3)
    states, _ = run(plant, reaction, 3.0)
    assert np.abs(states[-1].q - BENT).max() > 0.1
    assert np.abs(states[-1].qd).max() < 1e-3


def test_reflex_follows_the_push_further_than_float_does():
    ways = []
    for reaction in (Float(law()), Reflex(law(), gain=2.0)):
        plant = exact_plant(LWR, BENT)
        push = np.array([8.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])  # as a joint torque
        reaction.begin(plant.state)
        for step in range(4000):
            r = push if step < 300 else None
            tau = reaction.torque(plant.state, r, DT)
            plant.step(tau + (push if step < 300 else 0.0), DT)
        ways.append(plant.state.q - BENT)
        assert np.abs(plant.state.qd).max() < 1e-3
        assert reaction.at_rest
    assert ways[1][0] == pytest.approx(3.0 * ways[0][0], rel=0.1)  # 1 + K_r times


def test_reflex_torque_can_be_taken_back_in_time():
    """For a push of any size: the torque can be removed within 0.1 s, and has its direction."""
    yielding = MomentumDampingController(LWR, 2.0, 3.0, limits=TorqueLimits(LWR.tau_max, RATE))
    q, r = np.zeros(7), np.array([400.0, -100.0, 50.0, 10.0, 0.0, 0.0, 0.0])
    g = rd.gravity_torque(LWR, q)
    given = yielding.torque(JointState(q, np.zeros(7)), Push(r, np.zeros(7))) - g
    assert given[0] == pytest.approx(0.7 * RATE * 0.1)
    np.testing.assert_allclose(given, given[0] * r / r[0], atol=1e-12)


def test_admittance_retracts_and_then_holds():
    plant = exact_plant(LWR, BENT)
    reaction = Admittance(law(), gain=5.0, damping=10.0)
    push = np.array([0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0])
    run(plant, reaction, 0.5, lambda t: push)
    goal = 5.0 / rd.mass_matrix(LWR, BENT)[3, 3] * push[3] / 10.0
    assert plant.state.qd[3] == pytest.approx(goal, rel=0.05)
    for _ in range(1500):
        plant.step(reaction.torque(plant.state, None, DT), DT)
    assert reaction.at_rest
    here = reaction.reference.q
    assert here[3] > BENT[3] + 0.1
    plant.push("link_4", (0.0, 0.0, 10.0), duration=0.1)
    for _ in range(1500):
        plant.step(reaction.torque(plant.state, None, DT), DT)
    np.testing.assert_allclose(plant.state.q, here, atol=1e-4)


def test_admittance_does_not_leave_the_joint_limits():
    start = BENT.copy()
    start[3] = LWR.q_max[3] - 0.1
    plant = exact_plant(LWR, start)
    reaction = Admittance(law())
    push = np.array([0.0, 0.0, 0.0, 20.0, 0.0, 0.0, 0.0])
    states, _ = run(plant, reaction, 1.5, lambda t: push)
    assert LWR.q_max[3] - 0.01 < states[-1].q[3] < LWR.q_max[3] + 0.1
    assert abs(states[-1].qd[3]) < 0.01


def test_laws_with_one_limiter_switch_without_a_step():
    tracking = law()
    yielding = MomentumDampingController.sharing_limits(tracking, damping=3.0)
    tracking.reset(np.full(7, 5.0))
    given = yielding.torque(JointState(BENT, np.zeros(7)), NOTHING, DT)
    assert np.abs(given - 5.0).max() == pytest.approx(RATE * DT)
    assert tracking.tau is given
    for _ in range(200):
        released = yielding.release(DT)
    assert not released.any()


@pytest.mark.parametrize("count", [3, 8, 700])
def test_admittance_reads_nothing_beyond_a_residual_of_another_length(count):
    reaction, state = Admittance(law()), JointState(BENT, np.zeros(7))
    reaction.begin(state)
    with pytest.raises(rd.ArgumentError, match=r"r must have shape \(7,\)"):
        reaction.torque(state, np.ones(count), DT)
    with pytest.raises(rd.ArgumentError, match="q must have shape"):
        reaction.torque(JointState(np.ones(count), np.zeros(7)), np.ones(7), DT)


def test_a_residual_that_is_not_finite_changes_nothing_in_admittance():
    made = [Admittance(law()), Admittance(law())]
    state, push = JointState(BENT, np.zeros(7)), np.full(7, 3.0)
    for reaction in made:
        reaction.begin(state)
    with pytest.raises(rd.ArgumentError, match=f"r of joint '{LWR.joint_names[4]}' is nan"):
        made[0].torque(state, np.where(np.arange(7) == 4, np.nan, push), DT)
    expected = made[1].torque(state, push, DT)
    np.testing.assert_array_equal(made[0].torque(state, push.tolist(), DT), expected)


def test_bad_arguments_are_named():
    with pytest.raises(rd.ArgumentError, match="damping"):
        MomentumDampingController(LWR, 0.0, -1.0)
    with pytest.raises(rd.ArgumentError, match="gain of joint"):
        Reflex(law(), gain=-1.0)
    with pytest.raises(rd.ArgumentError, match="damping"):
        Admittance(law(), damping=0.0)
    push = Push(np.array([0.0, np.nan, 0.0, 0.0, 0.0, 0.0, 0.0]), np.zeros(7))
    with pytest.raises(rd.ArgumentError, match=f"r of joint '{LWR.joint_names[1]}'"):
        MomentumDampingController(LWR).torque(JointState(BENT, np.zeros(7)), push)


@pytest.mark.parametrize(
    ("reaction", "mass"),
    [(lambda: Reflex(law(), 1.0, 3.0), 1.03), (lambda: Stop(law()), 1.2)],
    ids=["reflex", "stop"],
)
def test_an_arm_whose_weight_is_not_known_exactly_is_held_too(reaction, mass):
    """It drifts, faster than an arm at rest, and would do so until it meets something."""
    plant = exact_plant(LWR.replace(mass=mass * LWR.mass), BENT, 0.3 * FAST)
    made = reaction()
    states, _ = run(plant, made, 3.0)
    assert made.at_rest
    assert np.abs(states[-1].qd).max() < 1e-3
    assert np.abs(states[-1].q - states[2500].q).max() < 1e-3  # [rad]
