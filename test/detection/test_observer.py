"""The momentum residual: what it must converge to, how fast, and what must not disturb it."""

import math

import numpy as np
import pytest
from oracle import random_tree

import robodyn_ros as rd
from robodyn_ros.detection.observer import MomentumObserver, residual
from robodyn_ros.simulation.rigid import RigidPlant

DT = 1e-3


def moving_arm(model, seed, **options):
    random = np.random.default_rng(seed)
    q, qd = random.uniform(-0.5, 0.5, (2, model.n))
    options = {"friction": False, "stops": False, "saturate": False} | options
    return RigidPlant(model, q, qd, **options)


def run(plant, observer, steps, torque, dt=DT, model=None):
    """Drive a plant and an observer; returns the log and the true outside torque."""
    state = plant.state
    log = {"t": [state.t], "q": [state.q], "qd": [state.qd], "tau": [state.tau]}
    r, ext = [observer.update(state.q, state.qd, state.tau, dt)], [np.zeros(plant.model.n)]
    for k in range(steps):
        state = plant.step(torque(k, state), dt if np.isscalar(dt) else dt[k])
        for key in log:
            log[key].append(getattr(state, key))
        r.append(observer.update(state.q, state.qd, state.tau, dt))
        ext.append(state.tau_ext)
    return {key: np.array(x) for key, x in log.items()}, np.array(r), np.array(ext)


def sway(model):
    """Gravity carried, and every joint kept in motion."""
    phase, size = np.arange(model.n), 0.03 * model.tau_max
    return lambda k, s: rd.gravity_torque(model, s.q) + size * np.sin(0.01 * k + phase)


@pytest.mark.parametrize("name", ["lwr_iii", "kuka_lwr4", "stanford"])
def test_stays_zero_without_contact_though_started_in_motion(name):
    model = getattr(rd.robots, name)()
    observer = MomentumObserver(model, 50.0)
    _, r, _ = run(moving_arm(model, 1), observer, 400, sway(model))
    assert np.abs(r).max() < 1e-3


@pytest.mark.parametrize("gain", [10.0, 50.0, 200.0])
def test_is_the_first_order_filter_of_what_acts_from_outside(gain):
    """rdot = K (tau_ext - r), joint by joint, whatever the motion."""
    model = rd.robots.lwr_iii()
    plant, observer = moving_arm(model, 2), MomentumObserver(model, gain)
    plant.push("link_6", (20.0, 10.0, -15.0), (0.0, 0.1, 0.02), duration=0.3, start=0.1)
    _, r, ext = run(plant, observer, 600, sway(model))
    expected = np.zeros_like(r)
    for k in range(1, len(r)):
        expected[k] = expected[k - 1] + (1 - np.exp(-gain * DT)) * (ext[k] - expected[k - 1])
    np.testing.assert_allclose(r, expected, atol=5e-4 * np.abs(ext).max())


def test_gains_are_per_joint_and_decoupled():
    model = rd.robots.planar_2r()
    plant = moving_arm(model, 3)
    torque = np.array([3.0, 2.0])
    observer = MomentumObserver(model, [20.0, 80.0])

    def outside(k, s):
        return rd.gravity_torque(model, s.q) + torque

    # What is applied but not told to the observer comes from outside.
    state = plant.state
    observer.update(state.q, state.qd, state.tau, DT)
    for k in range(100):
        before = plant.state
        state = plant.step(outside(k, before), DT)
        r = observer.update(state.q, state.qd, state.tau - torque, DT)
        expected = torque * (1.0 - np.exp(-np.array([20.0, 80.0]) * (k + 1) * DT))
        np.testing.assert_allclose(r, expected, atol=2e-3)


def test_error_falls_with_the_square_of_the_step():
    model = rd.robots.lwr_iii()
    errors = []
    for dt in (4e-3, 2e-3, 1e-3):
        plant, observer = moving_arm(model, 4), MomentumObserver(model, 50.0)
        _, r, _ = run(
            plant, observer, int(0.4 / dt), lambda k, s: rd.gravity_torque(model, s.q), dt
        )
        errors.append(np.abs(r).max())
    assert 3.0 < errors[0] / errors[1] < 5.5
    assert 3.0 < errors[1] / errors[2] < 5.5


def test_irregular_steps_are_taken_for_what_they_are():
    model = rd.robots.kuka_lwr4()
    plant, observer = moving_arm(model, 5), MomentumObserver(model, 30.0)
    random = np.random.default_rng(5)
    state = plant.state
    observer.update(state.q, state.qd, state.tau, DT)
    for k in range(300):
        dt = float(random.uniform(2e-4, 3e-3))
        state = plant.step(sway(model)(k, state), dt)
        r = observer.update(state.q, state.qd, state.tau, dt)
        assert np.abs(r).max() < 2e-2


def test_log_gives_what_the_observer_gave():
    model = random_tree(3, bodies=5)
    plant, observer = moving_arm(model, 6), MomentumObserver(model, 40.0)
    plant.push(model.link_names[-1], (3.0, -2.0, 1.0), duration=1.0, start=0.05)
    log, r, _ = run(plant, observer, 200, lambda k, s: rd.gravity_torque(model, s.q))
    found = residual(model, log["t"], log["q"], log["qd"], log["tau"], 40.0)
    np.testing.assert_allclose(found, r, atol=1e-9)


def test_friction_is_taken_off_when_asked():
    model = rd.robots.kuka_lwr4()
    sharp = {"friction": True, "friction_width": 1e-3, "substeps": 8}
    plant = moving_arm(model, 7, **sharp)
    with_friction, without = MomentumObserver(model, 50.0, True), MomentumObserver(model, 50.0)
    state = plant.state
    for observer in (with_friction, without):
        observer.update(state.q, state.qd, state.tau, DT)
    for _ in range(30):  # before any joint comes to rest
        torque = rd.gravity_torque(model, state.q) + rd.friction_torque(model, state.qd)
        state = plant.step(torque, DT)
        r, raw = (o.update(state.q, state.qd, state.tau, DT) for o in (with_friction, without))
    assert np.abs(r).max() < 0.05 * np.abs(raw).max()


def test_friction_that_fades_with_speed_is_followed_through_reversals():
    """The plant's dry friction is F_c tanh(qd / width): a sharp one is off by up to F_c."""
    model, width = rd.robots.kuka_lwr4(), 0.02
    plant = moving_arm(model, 9, friction=True, friction_width=width)
    smooth = MomentumObserver(model, 50.0, True, friction_width=width)
    log, r, _ = run(plant, smooth, 300, lambda k, s: rd.gravity_torque(model, s.q))
    arrays = [log[name] for name in ("t", "q", "qd", "tau")]
    found = residual(model, *arrays, 50.0, True, friction_width=width)
    np.testing.assert_allclose(found, r, atol=1e-9)
    sharp = residual(model, *arrays, 50.0, True, friction_width=0.0)
    assert np.abs(sharp).max() > 2.0
    assert np.abs(r).max() < 0.1


def test_a_friction_width_that_makes_no_sense_is_refused():
    model = rd.robots.lwr_iii()
    with pytest.raises(rd.ArgumentError, match="friction_width"):
        MomentumObserver(model, 50.0, True, friction_width=-0.1)
    still = np.zeros((3, 7))
    with pytest.raises(rd.ArgumentError, match="width"):
        residual(model, [0.0, 0.01, 0.02], still, still, still, 50.0, True, friction_width=-0.1)
    with pytest.raises(rd.ArgumentError, match="not for kind 'energy'"):
        residual(
            model, [0.0], still[:1], still[:1], still[:1], 50.0, kind="energy", friction_width=0.1
        )


def with_whole_law(model):
    """The arm with every term of the friction law."""
    return model.replace(
        stiction=0.7 * model.coulomb,
        stribeck=3.0,
        friction_offset=0.5,
        friction_load=0.08,
        friction_width=0.02,
        presliding=2e-4,
        friction_speed=0.4,
    )


@pytest.mark.parametrize("gravity_free", [False, True])
def test_the_whole_friction_law_is_followed_through_reversals(gravity_free):
    model = with_whole_law(rd.robots.kuka_lwr4())
    plant = moving_arm(model, 9, friction=True)
    observer = MomentumObserver(model, 50.0, True)

    def torque(k, state):
        return rd.gravity_torque(model, state.q) + 25.0 * math.cos(0.02 * k)

    log, r, _ = run(plant, observer, 600, torque)
    assert np.abs(r).max() < 0.15  # of up to 20 N m
    turns = np.diff(np.sign(log["qd"]), axis=0) != 0
    assert turns.any(axis=0).sum() >= 4 and np.abs(log["qd"]).max() > 0.4
    arrays = [log[name] for name in ("t", "q", "qd", "tau")]
    np.testing.assert_allclose(residual(model, *arrays, 50.0, True), r, atol=1e-9)
    for left_out in ("friction_offset", "friction_load", "presliding"):
        without = residual(model.replace(**{left_out: 0.0}), *arrays, 50.0, True)
        assert np.abs(without).max() > 0.4, left_out
    if gravity_free:
        arrays[3] = arrays[3] - rd.gravity_torque(model, log["q"])
        free = residual(model, *arrays, 50.0, True, gravity_free=True)
        np.testing.assert_allclose(free, r, atol=0.05)


@pytest.mark.parametrize("presliding", [0.0, 1e-4])
def test_noise_at_rest_is_not_taken_for_friction(presliding):
    """Velocities of 1e-3 rad/s rms: the sharp sign makes N m of them."""
    model = rd.robots.kuka_lwr4().replace(presliding=presliding)
    q, random = np.full(7, 0.4), np.random.default_rng(3)
    watched = MomentumObserver(model, 50.0, True)
    bare = MomentumObserver(model, 50.0)
    sharp = MomentumObserver(model.replace(presliding=0.0), 50.0, True, friction_width=0.0)
    seen = []
    for _ in range(2000):
        sample = (q, 1e-3 * random.normal(size=7), rd.gravity_torque(model, q), 1e-3)
        seen.append([observer.update(*sample) for observer in (watched, bare, sharp)])
    smooth, without, jumps = np.abs(np.array(seen)[200:]).max(axis=0)
    assert (smooth - without).max() < 0.3 and (jumps - without).max() > 3.0


def test_gravity_free_commands():
    model = rd.robots.lwr_iii()
    plant, observer = moving_arm(model, 8), MomentumObserver(model, 50.0, gravity_free=True)
    state = plant.state
    observer.update(state.q, state.qd, state.tau, DT)
    for _ in range(200):
        state = plant.step(rd.gravity_torque(model, state.q), DT)
        r = observer.update(state.q, state.qd, np.zeros(model.n), DT)
    assert np.abs(r).max() < 0.05


def test_too_long_a_step_is_refused_and_names_the_joint():
    model = rd.robots.planar_2r()
    observer = MomentumObserver(model, [10.0, 200.0])
    x = np.zeros(2)
    observer.update(x, x, x, 0.005)
    with pytest.raises(rd.ArgumentError, match=r"0\.0051.*joint_2"):
        observer.update(x, x, x, 0.0051)
    for dt in (0.0, -1.0, np.nan, np.inf, "long"):
        with pytest.raises((rd.ArgumentError, TypeError)):
            observer.update(x, x, x, dt)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e308])
@pytest.mark.parametrize("place", [1, 2])
def test_a_bad_sample_raises_and_leaves_no_trace(bad, place):
    model = rd.robots.planar_2r()
    observer = MomentumObserver(model, 50.0)
    good = [np.array([0.1, 0.2]), np.array([0.3, -0.1]), np.array([1.0, 2.0])]
    observer.update(*good, DT)
    before = observer.update(*good, DT)
    broken = list(good)
    broken[place] = np.array([0.0, bad])
    if not (place == 2 and bad == 1e308):  # a finite torque, however large, is a torque
        with pytest.raises(rd.ArgumentError):
            observer.update(*broken, DT)
        np.testing.assert_array_equal(observer.r, before)


def test_reset_starts_anew():
    model = rd.robots.planar_2r()
    observer = MomentumObserver(model, 50.0)
    x = np.array([0.1, 0.2])
    observer.update(x, x, x, DT)
    observer.update(x, x, x, DT)
    observer.reset()
    np.testing.assert_array_equal(observer.update(x, x, x, DT), np.zeros(2))


@pytest.mark.parametrize("gain", [0.0, -1.0, np.nan, [1.0, 2.0, 3.0], "high"])
def test_gains_are_checked(gain):
    with pytest.raises(rd.ArgumentError, match="gain"):
        MomentumObserver(rd.robots.planar_2r(), gain)


def test_a_changed_model_takes_over_without_a_jump():
    """In motion, with a payload: r is kept, and follows the new model from the next sample on."""
    bare = rd.robots.lwr_iii()
    loaded = bare.replace(payload=rd.Payload("link_7", 2.0, com=(0.0, 0.0, 0.1)))
    plant = rd.RigidPlant(loaded, np.full(7, 0.3), np.full(7, 0.4), friction=False)
    old, new = rd.MomentumObserver(bare, 50.0), rd.MomentumObserver(loaded, 50.0)
    for k in range(600):
        state = plant.step(rd.gravity_torque(loaded, plant.state.q), 1e-3)
        observer = old if k < 300 else new
        if k == 300:
            before = old.r
            new.continue_from(old)
        r = observer.update(state.q, state.qd, state.tau, 1e-3)
        if k == 300:
            np.testing.assert_array_equal(r, before)
    assert np.abs(before).max() > 5.0  # the bare model takes the load for a touch
    assert np.abs(r).max() < 1e-3
