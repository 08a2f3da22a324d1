"""Adaptive control: Slotine and Li, [LuMeng1993] V, Craig; unknown and consistent parameters."""

import contextlib

import adaptive as bench
import numpy as np
import pytest
from control_cases import EXACT, exact_plant, follow, wave
from oracle import Pinocchio, close, random_tree

import robodyn_ros as rd
from robodyn_ros.control.controller import JointState
from robodyn_ros.control.laws.adaptive import AdaptiveController
from robodyn_ros.control.laws.adaptive_parameters import Load
from robodyn_ros.control.laws.passivity import PassivityController
from robodyn_ros.control.laws.physical_consistency import ConsistentBodies, nearest_load
from robodyn_ros.control.limits import TorqueLimits
from robodyn_ros.dynamics.motion import Motion
from robodyn_ros.errors import ArgumentError
from robodyn_ros.model.checks import check_model
from robodyn_ros.model.rigid_body import RigidBody, bodies_of, parameters_of, pseudo_inertia
from robodyn_ros.model.robot import Payload
from robodyn_ros.simulation.rigid import RigidPlant

FREE = TorqueLimits(np.inf)
PLACE = np.array([0.01, 0.02, 0.1])
HELD = Payload("link_7", 2.0, (0.03, -0.01, 0.13), (0.004, 0.005, 0.003))
KINDS = {
    "slotine_li": {"kd": 30.0, "law": "slotine_li"},
    "lu_meng": {"kd": None, "law": "lu_meng"},
    "lu_meng_kd": {"kd": 30.0, "law": "lu_meng"},
    "craig": {"kd": None, "law": "craig"},
}


def adaptive(model, kind="slotine_li", rate=8.0, **options):
    return AdaptiveController(model, rate=rate, **{"limits": FREE, **KINDS[kind], **options})


def random_case(model, seed):
    random = np.random.default_rng(seed)
    q, qd, q_d, qd_d, qdd_d = random.normal(0.0, 0.5, (5, model.n))
    return JointState(q, qd), Motion(q_d, qd_d, qdd_d, np.zeros(model.n))


def parameters_about(place, load):
    """Return the ten parameters of a payload about a place in its link's frame."""
    inertia = np.diag(np.broadcast_to(load.inertia, 3))
    return RigidBody(load.mass, np.asarray(load.com) - place, inertia).inertial_parameters()


def taught(controller, **values):
    """Return the controller with its estimate set, which only a test may do."""
    controller._theta = np.array([values.get(n, v) for n, v in controller.parameters.items()])
    controller._adapted = None
    return controller


# The laws


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("robot", ["lwr_iii", "stanford", "tree"])
def test_with_everything_known_it_is_the_passivity_controller(robot, seed):
    model = random_tree(5, 9, mimic=0.3) if robot == "tree" else getattr(rd.robots, robot)()
    state, reference = random_case(model, seed)
    gains = np.random.default_rng(seed).uniform(1.0, 30.0, (2, model.n))
    known = AdaptiveController(model, *gains, unknown=(), limits=FREE)
    expected = PassivityController(model, *gains, limits=FREE).torque(state, reference)
    close(known.torque(state, reference), expected, 1e-12)
    assert known.parameters == {}
    assert known.model is model


@pytest.mark.parametrize("kind", ["lu_meng", "craig"])
def test_with_everything_known_equation_95_is_computed_torque(kind):
    """qdd* = qdd_d + 2 lambda ed + lambda^2 e, (96)."""
    model = rd.robots.kuka_lwr4()
    state, reference = random_case(model, 1)
    e, ed = reference.q - state.q, reference.qd - state.qd
    expected = Pinocchio(model).inverse_dynamics(
        state.q, state.qd, reference.qdd + 2.0 * 8.0 * ed + 8.0**2 * e
    )
    close(adaptive(model, kind, unknown=()).torque(state, reference), expected, 1e-12)


@pytest.mark.parametrize("inertia", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_true_parameters_give_the_true_torque(kind, inertia):
    """On the reference, where s = 0, the torque is the inverse dynamics of arm and payload."""
    model = rd.robots.kuka_lwr4()
    load = Load(place=PLACE, reach=0.05, inertia=inertia)
    controller = adaptive(model, kind, load=load)
    truth = parameters_about(PLACE, HELD)
    if not inertia:  # then the inertia follows from the reach
        truth[4:] = 2.0 * truth[0] * 0.05**2 * np.eye(3)[np.triu_indices(3)]
    mass, arm, matrix = (values[0] for values in bodies_of(truth).values())
    true_model = model.replace(payload=Payload("link_7", float(mass), PLACE + arm, matrix))
    taught(controller, **dict(zip(controller.names, truth, strict=False)))
    _, reference = random_case(model, 2)
    tau = controller.torque(JointState(reference.q, reference.qd), reference)
    close(tau, Pinocchio(true_model).inverse_dynamics(*reference[:3]), 1e-11)
    close(controller.model.inertial_parameters(), true_model.inertial_parameters(), 1e-11)


def test_a_payload_may_be_held_by_any_link_of_a_tree():
    model = random_tree(7, 8)
    link = model.link_names[4]
    load = Load(link=link, place=(0.1, -0.2, 0.05))
    controller = taught(
        adaptive(model, unknown="payload.mass", load=load), **{"payload.mass": 1.7}
    )
    expected = model.replace(payload=Payload(link, 1.7, load.place))
    close(controller.model.inertial_parameters(), expected.inertial_parameters(), 1e-12)
    _, reference = random_case(model, 3)
    tau = controller.torque(JointState(reference.q, reference.qd), reference)
    close(tau, Pinocchio(expected).inverse_dynamics(*reference[:3]), 1e-11)


def test_links_rotors_and_friction_have_names():
    model = rd.robots.kuka_lwr4()
    heavier = model.replace(mass=1.3 * model.mass, inertia=1.3 * model.inertia)
    controller = adaptive(model, unknown="all")
    truth = dict(
        zip(
            [f"{link}.{p}" for link in model.link_names for p in bench_names()],
            heavier.inertial_parameters(),
            strict=True,
        )
    )
    truth |= {"joint_2.viscous": 3.0, "joint_2.coulomb": 4.0, "joint_3.rotor_inertia": 1.0}
    assert len(controller.names) == 10 * 7 + 3 * 7
    adapted = taught(controller, **truth).model
    close(adapted.inertial_parameters(), heavier.inertial_parameters(), 1e-11)
    assert (adapted.viscous[1], adapted.coulomb[1], adapted.rotor_inertia[2]) == (3.0, 4.0, 1.0)
    assert (adapted.viscous[2], adapted.rotor_inertia[1]) == (model.viscous[2], 3.2)
    _, reference = random_case(model, 4)
    tau = controller.torque(JointState(reference.q, reference.qd), reference)
    expected = Pinocchio(heavier.replace(rotor_inertia=adapted.rotor_inertia)).inverse_dynamics(
        *reference[:3]
    ) + rd.friction_torque(adapted, reference.qd, width=controller.friction_width)
    close(tau, expected, 1e-11)


def bench_names():
    return ("mass", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


# Why they are stable


def lyapunov(controller, state, reference, true_model, truth):
    """V = 1/2 s^T M s + 1/2 phi^T Gamma^-1 phi; Craig's has s^T s."""
    s = reference.qd - state.qd + controller.rate * (reference.q - state.q)
    M = np.eye(s.size)
    if controller.law != "craig":
        M = rd.mass_matrix(true_model, state.q)
    phi = truth - np.array(list(controller.parameters.values()))
    return 0.5 * s @ M @ s + 0.5 * phi @ np.linalg.solve(controller.gain, phi)


def loaded_case(kind, **options):
    """Return a controller that holds ten unknown parameters, the true arm, and the truth."""
    model = rd.robots.kuka_lwr4()
    load = Load(place=PLACE, inertia=True)
    controller = adaptive(model, kind, load=load, **options)
    return controller, model.replace(payload=HELD), parameters_about(PLACE, HELD)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_v_falls_at_the_predicted_rate(kind, seed):
    """-s^T Kd s; -s^T (lambda M - Mdot / 2) s, (93); -s^T Lambda s; by central differences."""
    controller, true_model, truth = loaded_case(kind, gain=0.7)
    guess = truth * 1.3
    state, _ = random_case(true_model, seed)
    motion, h = wave(true_model, seed), 1e-5
    now = motion(h)
    taught(controller, **dict(zip(controller.names, guess, strict=True)))
    tau = controller.torque(state, now).copy()
    qdd = rd.forward_dynamics(true_model, state.q, state.qd, tau)
    V = []
    for step in (-h, h):
        moved = JointState(state.q + step * state.qd + 0.5 * step**2 * qdd, state.qd + step * qdd)
        slope = controller._slope
        if kind == "craig":  # which needs the measured acceleration
            controller.torque(JointState(state.q, state.qd - 1e-3 * qdd), now, 1e-3)
            controller.torque(state, now, 1e-3)
            slope = controller._slope
        controller._theta = guess + step * slope
        V.append(lyapunov(controller, moved, motion(h + step), true_model, truth))
    s = now.qd - state.qd + controller.rate * (now.q - state.q)
    M = rd.mass_matrix(true_model, state.q)
    C = rd.coriolis_matrix(true_model, state.q, state.qd)
    expected = {
        "slotine_li": -30.0 * s @ s,
        "lu_meng": -s @ (8.0 * M - C) @ s,
        "lu_meng_kd": -s @ (30.0 * np.eye(7) - C) @ s,
        "craig": -8.0 * s @ s,
    }[kind]
    assert (V[1] - V[0]) / (2.0 * h) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("kind", ["slotine_li", "craig"])
def test_v_never_rises_and_every_estimate_is_consistent(kind):
    """Ten unknown parameters, from zero: the estimate reaches the border of consistency often."""
    controller, true_model, truth = loaded_case(kind, gain=20.0 if kind == "slotine_li" else 2.0)
    motion, dt = wave(true_model, 3), 2e-4
    plant = exact_plant(true_model, motion(0.0).q + 0.2, motion(0.0).qd)
    V, edge = [], 0
    for _ in range(1500):
        before = controller._theta.copy()
        wanted = motion(plant.state.t)
        controller.torque(plant.state, wanted, dt)
        V.append(lyapunov(controller, plant.state, wanted, true_model, truth))
        least = np.linalg.eigvalsh(pseudo_inertia(controller._theta))[0]
        assert least > 0.0
        edge += bool(least < 1e-8 and np.any(before != controller._theta))
        plant.step(controller.tau, dt)
    assert edge > 100
    assert np.diff(V).max() < 2e-5 * V[0]  # the torque is held for dt
    assert V[-1] < 0.7 * V[0]
    check_model(controller.model, strict=True)


@pytest.mark.parametrize(
    ("unknown", "kind"),
    [
        ("coulomb", "slotine_li"),
        ("viscous", "slotine_li"),
        ("friction", "slotine_li"),
        ("coulomb", "lu_meng"),
    ],
)
def test_friction_is_learnt_from_the_tracking_error(unknown, kind):
    model = rd.robots.kuka_lwr4()
    if unknown != "friction":  # the other kind of friction is 0
        model = model.replace(**{"coulomb" if unknown == "viscous" else "viscous": 0.0})
    motion = wave(model, 5, speed=3.0)
    plant = RigidPlant(model, motion(0.0).q, motion(0.0).qd, stops=False, saturate=False)
    kd = PassivityController.with_frequency(model, 20.0).kd if kind == "slotine_li" else None
    bare = model.replace(viscous=0.0, coulomb=0.0)
    controller = adaptive(bare, kind, 20.0, kd=kd, unknown=unknown, gain=300.0)
    steps = 3000 if unknown == "friction" else 2000
    t, q, qd, _ = follow(plant, controller, motion, steps, 2e-3)
    error = np.abs(q - np.array([motion(s).q for s in t])).max(axis=1)
    assert error[-250:].max() < 0.15 * error[:250].max()
    # The sum of both kinds converges faster than each
    lost, found = (rd.friction_torque(m, qd[-1000:]) for m in (model, controller.model))
    assert (np.std(lost - found, axis=0) < 0.1 * np.std(lost, axis=0)).all()
    np.testing.assert_array_equal(controller.model.mass, model.mass)
    if unknown != "friction":
        np.testing.assert_allclose(
            getattr(controller.model, unknown), getattr(model, unknown), rtol=0.05
        )


@pytest.mark.parametrize("kind", ["slotine_li", "lu_meng"])
def test_with_everything_unknown_the_arm_learns_to_track(kind):
    """Links a third too light, rotors half as large, no friction: 91 wrong parameters."""
    model = rd.robots.kuka_lwr4()
    wrong = model.replace(
        mass=model.mass / 1.5, inertia=model.inertia / 1.5, rotor_inertia=model.rotor_inertia / 2.0
    ).replace(viscous=0.0, coulomb=0.0)
    motion = wave(model, 2, size=0.5, speed=2.0)
    errors = {}
    for unknown in ((), "all"):
        plant = RigidPlant(model, motion(0.0).q, motion(0.0).qd, stops=False, saturate=False)
        kd = PassivityController.with_frequency(model, 20.0).kd if kind == "slotine_li" else None
        gain = {"links": 1.0, "friction": 300.0, "rotors": 3.0}
        controller = adaptive(wrong, kind, 20.0, kd=kd, unknown=unknown, gain=gain)
        t, q, _, _ = follow(plant, controller, motion, 1400, 2e-3)
        errors[unknown] = np.abs(q - np.array([motion(s).q for s in t])).max(axis=1)
        check_model(controller.model, strict=True)
    assert errors["all"][-500:].max() < 0.1 * errors[()][-500:].max()


@pytest.mark.parametrize("inertia", [False, True])
def test_the_mass_that_an_lwr_holds_is_found_within_2_percent(inertia):
    model = rd.robots.kuka_lwr4()
    motion = wave(model, 1, size=0.5, speed=1.5)
    plant = RigidPlant(model, motion(0.0).q, motion(0.0).qd, **EXACT)
    plant.attach(HELD)
    kd = PassivityController.with_frequency(model, 20.0).kd
    load = Load(place=(0.0, 0.0, 0.1), inertia=inertia)
    controller = adaptive(model, kd=kd, rate=20.0, gain=60.0, load=load)
    follow(plant, controller, motion, 2000, 2e-3)
    assert controller.parameters["payload.mass"] == pytest.approx(HELD.mass, rel=0.02)
    moment = HELD.mass * (np.array(HELD.com) - load.place)
    found = [controller.parameters[f"payload.mc{axis}"] for axis in "xyz"]
    np.testing.assert_allclose(found[:2], moment[:2], atol=0.01)


# Physical consistency


def random_body(random, unit):
    """Return the parameters of some body near the unit."""
    L, points = np.linalg.cholesky(unit), random.normal(size=(4, 5))
    return parameters_of(L @ points @ points.T @ L.T / random.uniform(1.0, 20.0))


@pytest.mark.parametrize("bounds", [(0.0, np.inf), (0.0, 0.8), (1.5, 2.0)])
@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_body_is_the_projection(seed, bounds):
    """(x - nearest)^T Gamma^-1 (y - nearest) <= 0 for every consistent y."""
    random = np.random.default_rng(seed)
    unit = pseudo_inertia(rd.robots.kuka_lwr4().inertial_parameters()[20:30]) / 3.0
    bodies = ConsistentBodies(unit, *bounds)
    metric = np.linalg.inv(bodies.gain)
    tried = [random_body(random, unit) for _ in range(1500)]
    inside = [y for y in tried if bounds[0] <= y[0] <= bounds[1]]
    assert len(inside) > 20
    for y in inside:
        np.testing.assert_array_equal(bodies.nearest(y), y)
    for _ in range(20):
        x = random_body(random, unit) + np.linalg.cholesky(bodies.gain) @ random.normal(size=10)
        nearest = bodies.nearest(x)
        assert np.linalg.eigvalsh(pseudo_inertia(nearest))[0] > 0.0
        assert bounds[0] - 1e-9 <= nearest[0] <= bounds[1] + 1e-9
        away = metric @ (x - nearest)
        assert max(away @ (y - nearest) for y in inside) <= 1e-7 * (1.0 + away @ (x - nearest))


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_load_is_the_projection(seed):
    random, reach, low, high = np.random.default_rng(seed), 0.07, 0.2, 3.0
    metric = np.diag([1.0] + [reach**-2] * 3)
    mass = random.uniform(low, high, 300)
    way = random.normal(size=(300, 3))
    way *= (reach * mass * random.uniform(0.0, 1.0, 300) / np.linalg.norm(way, axis=1))[:, None]
    inside = np.column_stack([mass, way])
    for y in inside:
        np.testing.assert_array_equal(nearest_load(y, reach, low, high), y)
    for _ in range(50):
        x = random.normal(0.0, [3.0, 0.2, 0.2, 0.2])
        nearest = nearest_load(x, reach, low, high)
        assert low <= nearest[0] <= high
        assert np.linalg.norm(nearest[1:]) <= reach * nearest[0] * (1.0 + 1e-12)
        assert ((inside - nearest) @ metric @ (x - nearest)).max() < 1e-12


@pytest.mark.parametrize(("inertia", "share"), [(False, 1.0), (True, 0.5)])
def test_the_gain_of_first_moments_follows_from_that_of_the_mass(inertia, share):
    gain = adaptive(rd.robots.lwr_iii(), load=Load(reach=0.2, inertia=inertia)).gain
    close(gain[:4, :4], gain[0, 0] * np.diag([1.0] + [share * 0.2**2] * 3), 1e-12)


def test_a_load_within_its_reach_is_consistent():
    model, reach = rd.robots.lwr_iii(), 0.1
    controller = adaptive(model, load=Load(place=(0.1, 0.0, 0.0), reach=reach))
    for way in ([1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.6, -0.8]):
        moment = dict(zip(controller.names[1:], 5.0 * reach * np.array(way), strict=True))
        check_model(taught(controller, **{"payload.mass": 5.0}, **moment).model, strict=True)


@pytest.mark.parametrize(
    ("unknown", "bounds"),
    [
        ("payload", {"payload.mass": (0.5, 1.0)}),
        ("payload.mass", {"payload.mass": (0.5, 1.0)}),
        ("link_7", {"link_7.mass": (0.1, 0.3)}),
        ("friction", {"joint_2.coulomb": (1.0, 2.0)}),
    ],
)
def test_the_estimate_stays_within_its_bounds(unknown, bounds):
    """A large gain drives the estimate to both bounds."""
    model = rd.robots.kuka_lwr4()
    (name, (low, high)), seen = next(iter(bounds.items())), []
    controller = adaptive(model, rate=1.0, unknown=unknown, bounds=bounds, gain=1e4)
    for seed in range(40):
        controller.torque(*random_case(model, seed))
        seen.append(controller.parameters[name])
        check_model(controller.model, strict=True)
    assert min(seen) == pytest.approx(low)
    assert max(seen) == pytest.approx(high)


# When the estimate is frozen


def test_within_the_dead_zone_the_estimate_is_still():
    model = rd.robots.kuka_lwr4()
    reference = wave(model)(0.3)
    edge = 0.08 / 8.0
    controller = adaptive(model, gain=100.0, dead_zone=0.1)
    for _ in range(5):
        controller.torque(JointState(reference.q + edge, reference.qd), reference)
        controller.torque(JointState(reference.q - edge, reference.qd), reference)
    assert controller.parameters == dict.fromkeys(controller.names, 0.0)
    beyond = adaptive(model, gain=100.0, dead_zone=0.02)
    whole = adaptive(model, gain=100.0)
    for each, q in ((beyond, edge), (whole, 0.75 * edge)):  # 0.08 - 0.02 = 0.06
        each.torque(JointState(reference.q + q, reference.qd), reference)
    away = JointState(reference.q + edge, reference.qd)
    Y = rd_columns(beyond, away, reference)
    expected = beyond.gain @ Y.T @ np.full(model.n, -0.06)
    np.testing.assert_allclose(beyond._slope, expected, rtol=1e-10)


def rd_columns(controller, state, reference):
    """Return the payload's columns by differences of the torque: one unit of each more."""
    base, columns = controller.torque(state, reference).copy(), []
    theta = controller._theta.copy()
    controller.adapting = False
    for k in range(theta.size):
        controller._theta = theta + np.eye(theta.size)[k]
        columns.append(controller.torque(state, reference) - base)
    controller._theta = theta
    controller.torque(state, reference)
    controller.adapting = True
    return np.array(columns).T


def test_the_estimate_is_frozen_on_request_and_at_a_limit():
    model = rd.robots.kuka_lwr4()
    state, reference = random_case(model, 1)
    resting = adaptive(model, gain=10.0)
    resting.adapting = False
    limited = adaptive(model, gain=10.0, limits=TorqueLimits(0.1))
    free = adaptive(model, gain=10.0)
    for _ in range(5):
        for controller in (resting, limited, free):
            controller.torque(state, reference)
    assert limited.excess.any()
    assert resting.parameters == limited.parameters == dict.fromkeys(free.names, 0.0)
    assert any(free.parameters.values())
    resting.adapting = True
    resting.torque(state, reference)
    assert any(resting.parameters.values())


def test_the_first_call_only_starts_and_steps_add_up():
    model = rd.robots.kuka_lwr4()
    state, reference = random_case(model, 1)
    one, many = adaptive(model, load=Load(reach=1.0)), adaptive(model, load=Load(reach=1.0))
    for controller in (one, many):
        controller.torque(state, reference, 1.0)
        assert not any(controller.parameters.values())
    one._slope = many._slope = np.array([1.0, 0.1, 0.0, 0.0])  # well inside the consistent set
    one.torque(state, reference, 1e-3)
    first = 0.5e-3 * (np.array([1.0, 0.1, 0.0, 0.0]) + one._slope)
    np.testing.assert_allclose(one._theta, nearest_load(first, 1.0, 0.0, np.inf))


def test_reset_forgets_what_was_learnt():
    model = rd.robots.kuka_lwr4()
    state, reference = random_case(model, 2)
    controller = adaptive(model, gain=10.0, unknown=("payload", "friction"))
    first = controller.parameters
    taus = [controller.torque(state, reference).copy() for _ in range(3)]
    assert controller.parameters != first
    assert controller.model.viscous[0] != model.viscous[0]
    controller.reset()
    assert controller.parameters == first
    np.testing.assert_array_equal(controller.model.mass, model.mass)
    np.testing.assert_array_equal(controller.torque(state, reference), taus[0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_sample_leaves_no_trace(kind):
    model = rd.robots.kuka_lwr4()
    state, reference = random_case(model, 2)
    controller = adaptive(model, kind, gain=0.1)
    for _ in range(2):
        controller.torque(state, reference)
    kept = controller.parameters, controller.tau.copy(), controller._slope.copy()
    bad = np.array(state.qd)
    bad[3] = np.nan
    with pytest.raises(ArgumentError, match="qd of joint 'joint_4' is nan"):
        controller.torque(JointState(state.q, bad), reference)
    with pytest.raises(ArgumentError, match="q"):
        controller.torque(JointState(state.q[:3], state.qd), reference)
    with pytest.raises(ArgumentError, match="dt"):
        controller.torque(state, reference, 0.0)
    assert controller.parameters == kept[0]
    np.testing.assert_array_equal(controller.tau, kept[1])
    np.testing.assert_array_equal(controller._slope, kept[2])


@pytest.mark.parametrize("huge", [1e80, 1e150, 1e300])
@pytest.mark.parametrize("unknown", ["payload", "link_7"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_huge_sample_does_not_ruin_the_estimate(kind, unknown, huge):
    """Finite, but its squares are not: it may be rejected, the next good one must not be."""
    model = rd.robots.kuka_lwr4()
    state, reference = random_case(model, 2)
    controller = adaptive(model, kind, gain=0.1, unknown=unknown)
    for q, qd in ((huge, 0.0), (0.0, huge)):
        with contextlib.suppress(ArgumentError):
            controller.torque(JointState(state.q + q, state.qd + qd), reference)
        for _ in range(3):
            assert np.isfinite(controller.torque(state, reference)).all()
        assert np.isfinite(list(controller.parameters.values())).all()


def test_its_model_is_its_estimate_and_nothing_else():
    controller = adaptive(rd.robots.kuka_lwr4())
    with pytest.raises(ArgumentError, match="is its estimate"):
        controller.model = rd.robots.lwr_iii()


def test_lists_are_accepted():
    model = rd.robots.kuka_lwr4()
    state, reference = random_case(model, 2)
    plain = JointState(state.q.tolist(), state.qd.tolist())
    one, other = adaptive(model), adaptive(model)
    np.testing.assert_array_equal(one.torque(plain, reference), other.torque(state, reference))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"law": "pid"}, "law must be one of slotine_li, lu_meng, craig, got 'pid'"),
        ({"kd": None}, "needs kd"),
        ({"law": "craig"}, "has no kd"),
        ({"law": "lu_meng", "kd": None, "rate": range(1, 8)}, "one rate for all joints"),
        ({"rate": 0.0}, "rate of joint 'joint_1' must be positive"),
        ({"unknown": "tool"}, "nothing unknown is called 'tool'"),
        ({"unknown": ("payload", 3)}, "nothing unknown is called 3"),
        ({"unknown": "joint_9.viscous"}, "nothing unknown is called 'joint_9.viscous'"),
        ({"unknown": ("friction", "joint_2.coulomb")}, "'joint_2.coulomb' is unknown twice"),
        ({"load": Load(link="base")}, "base"),
        ({"gain": 0.0}, "gain must be positive and finite, got 0.0 for payload"),
        ({"gain": {"friction": 1.0}}, "gain needs 'payload'"),
        ({"gain": {"payload": 1.0, "load": 1.0}}, "gain needs 'payload' and may have"),
        ({"bounds": {"payload.mass": (2.0, 1.0)}}, "bounds of 'payload.mass' must be"),
        ({"bounds": {"payload.mass": 1.0}}, "bounds of 'payload.mass' must be"),
        ({"bounds": {"payload.mcx": (0.0, 1.0)}}, "only masses, friction and rotors"),
        ({"bounds": {"link_1.mass": (0.0, 1.0)}}, "not among the unknown payload.mass"),
        ({"dead_zone": -1.0}, "dead_zone of joint 'joint_1' must not be negative"),
        ({"friction_width": 0.0}, "friction_width must be positive"),
    ],
)
def test_invalid_options_are_rejected(options, message):
    with pytest.raises(ArgumentError, match=message):
        AdaptiveController(rd.robots.kuka_lwr4(), **{"kd": 10.0, "rate": 10.0, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [({"reach": 0.0}, "reach must be positive"), ({"place": (1.0, 2.0)}, "place of the load")],
)
def test_a_load_without_place_or_reach_is_rejected(options, message):
    with pytest.raises(ArgumentError, match=message):
        Load(**options)


def test_craig_inverts_the_mass_matrix_of_the_estimate():
    model = rd.robots.kuka_lwr4()
    controller = adaptive(model, "craig", unknown=("payload", "rotors", "friction"))
    values = {"payload.mass": 2.0, "payload.mcx": 0.1, "joint_3.rotor_inertia": 0.4}
    taught(controller, **values)
    q = np.linspace(-1.0, 1.0, 7)
    close(controller._mass_matrix(q), rd.mass_matrix(controller.model, q), 1e-12)


# The paper, and the observer


@pytest.mark.parametrize("law", ["lu_meng", "craig"])
def test_the_case_of_lu_and_meng_section_v(law):
    """Less than 0.3 s, about 0.35 s; m4 = 1 kg from a guess of 0.5 kg."""
    run = bench.paper_case(law)
    assert run.mass[0] == 0.5
    np.testing.assert_allclose(run.q[0], 0.8 * run.q_d[0])
    if law == "lu_meng":
        assert 0.1 < run.tracked_after < 0.3
    else:
        assert run.tracked_after == pytest.approx(0.35, abs=0.05)
    assert run.mass[-1] == pytest.approx(1.0, abs=0.02)
    assert run.found_after < 1.0


def test_an_adapted_model_ends_the_flags_of_a_payload():
    """The nominal model flags the payload all the time; the adapted one flags only a push."""
    story = bench.Story(picked=3.8, learnt=5.5, pushed=6.0, end=6.3)
    run = bench.payload_story(story)
    held = (run.t > story.learnt) & (run.t <= story.pushed)
    assert not run.flag_nominal[run.t <= story.picked].any()
    assert run.flag_adapted[(run.t > story.picked) & ~held].any()
    assert run.flag_nominal[held].all()
    assert not run.flag_adapted[held].any()
    assert run.flag_adapted[run.t > story.pushed].any()
