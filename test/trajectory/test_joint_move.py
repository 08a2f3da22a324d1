"""Synchronized joint moves: limits, minimality, homothety, [Khalil2019] (8.14) to (8.47)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import robodyn_ros as rd
from robodyn_ros.dynamics.motion import Motion
from robodyn_ros.errors import ArgumentError
from robodyn_ros.trajectory.joint_move import (
    PROFILES,
    TRAPEZOIDS,
    JointMove,
    fastest_profile,
    joint_move,
)
from robodyn_ros.trajectory.trajectory import MotionLimits

BOUNDED = [name for name in PROFILES if name != "linear"]  # its acceleration has no bound
WITH_JERK = ["quintic", "septic", "smooth_trapezoid"]

distance = st.one_of(st.just(0.0), st.floats(1e-6, 10.0), st.floats(-10.0, -1e-6))
bound = st.floats(0.01, 100.0)


@st.composite
def distances_and_limits(draw):
    """Return distances and limits of velocity and acceleration; short and long moves mixed."""
    n = draw(st.integers(1, 7))
    rows = [draw(st.lists(x, min_size=n, max_size=n)) for x in (distance, bound, bound)]
    if not any(rows[0]):
        rows[0][0] = 1.0
    return np.array(rows)


def use(move, kv, ka):
    """Return the largest share of a limit that is used."""
    return max((move.peaks(1) / kv).max(), (move.peaks(2) / ka).max())


@pytest.mark.parametrize("profile", BOUNDED)
@settings(max_examples=150, deadline=None, derandomize=True)
@given(case=distances_and_limits())
def test_limits_hold_and_one_is_reached(profile, case):
    """(8.14), (8.22), (8.45): any shorter time would exceed the limit that is reached."""
    D, kv, ka = case
    move = joint_move(np.zeros(D.size), D, profile=profile, qd_max=kv, qdd_max=ka)
    assert use(move, kv, ka) == pytest.approx(1.0, abs=1e-9)
    if profile in TRAPEZOIDS:
        assert move.duration >= 2.0 * move.tau * (1 - 1e-12)
        assert move.breaks[-1] - move.breaks[-2] == pytest.approx(move.tau)
    np.testing.assert_allclose(move.at(move.duration).q, D, atol=1e-12)


@pytest.mark.parametrize("profile", WITH_JERK)
@settings(max_examples=100, deadline=None, derandomize=True)
@given(case=distances_and_limits(), jerk=st.floats(0.1, 1000.0))
def test_a_jerk_limit_holds_too_and_one_of_the_three_is_reached(profile, case, jerk):
    D, kv, ka = case
    options = {"qd_max": kv, "qdd_max": ka, "qddd_max": jerk}
    move = joint_move(np.zeros(D.size), D, profile=profile, **options)
    most = max(use(move, kv, ka), (move.peaks(3) / jerk).max())
    assert most == pytest.approx(1.0, abs=1e-9)
    if move.tau is not None:
        assert move.duration >= 2.0 * move.tau * (1 - 1e-12)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(case=distances_and_limits(), smooth=st.booleans())
def test_8_24_to_8_35_the_book_s_steps_give_the_same_tau_and_time(case, smooth):
    """lambda_1 and upsilon_1 by (8.34), tau by (8.33) or (8.41), t_f by (8.25) or (8.45), with
    the achievable velocity of (8.35) or (8.47) for joints that move too little for (8.18), (8.46).
    """
    c = 1.5 if smooth else 1.0
    D, kv, ka = case
    moving = D != 0.0
    travel, kv, ka = abs(D[moving]), kv[moving].copy(), ka[moving]
    short = travel < c * kv**2 / ka
    kv[short] = np.sqrt(travel[short] * ka[short] / c)
    lambda_1 = min(1.0, *(kv[j] * travel[0] / (kv[0] * travel[j]) for j in range(travel.size)))
    upsilon_1 = min(1.0, *(ka[j] * travel[0] / (ka[0] * travel[j]) for j in range(travel.size)))
    tau = c * lambda_1 * kv[0] / (upsilon_1 * ka[0])
    t_f = tau + travel[0] / (lambda_1 * kv[0])
    profile = "smooth_trapezoid" if smooth else "trapezoid"
    options = {"qd_max": case[1], "qdd_max": case[2]}
    move = joint_move(np.zeros(D.size), D, profile=profile, **options)
    assert t_f >= 2.0 * tau * (1 - 1e-12)
    assert move.tau == pytest.approx(tau, rel=1e-9)
    assert move.duration == pytest.approx(t_f, rel=1e-9)
    # (8.27), (8.28), (8.26): every joint's own lambda and upsilon give the same tau
    top, most = move.peaks(1).max(axis=0)[moving], move.peaks(2).max(axis=0)[moving]
    np.testing.assert_allclose(top / kv, lambda_1 * kv[0] * travel / (kv * travel[0]), rtol=1e-9)
    np.testing.assert_allclose(most / ka, upsilon_1 * ka[0] * travel / (ka * travel[0]), rtol=1e-9)
    np.testing.assert_allclose(c * top / most, move.tau, rtol=1e-9)
    assert np.all(top <= kv * (1 + 1e-9)) and np.all(most <= ka * (1 + 1e-9))  # (8.29) to (8.31)


@pytest.mark.parametrize("seed", range(5))
def test_8_24_to_8_33_two_joints(seed):
    """Alone they need (8.24); together lambda_1, upsilon_1 are as large as (8.29) to (8.31) let
    them be, (8.32), and tau is (8.33).
    """
    random = np.random.default_rng(seed)
    D, kv, ka = random.uniform(1.0, 3.0, 2), random.uniform(0.5, 1.0, 2), random.uniform(2, 4, 2)
    alone = kv / ka + D / kv
    lambda_1 = min(1.0, kv[1] * D[0] / (kv[0] * D[1]))
    upsilon_1 = min(1.0, ka[1] * D[0] / (ka[0] * D[1]))
    tau = lambda_1 * kv[0] / (upsilon_1 * ka[0])
    move = joint_move(np.zeros(2), D, profile="trapezoid", qd_max=kv, qdd_max=ka)
    for j in range(2):
        single = joint_move([0.0], D[j : j + 1], profile="trapezoid", qd_max=kv[j], qdd_max=ka[j])
        assert single.duration == pytest.approx(alone[j])
    assert move.duration >= alone.max() * (1.0 - 1e-12)
    assert move.duration == pytest.approx(tau + D[0] / (lambda_1 * kv[0]))
    assert move.tau == pytest.approx(tau)
    np.testing.assert_allclose(move.peaks(1).max(axis=0)[0], lambda_1 * kv[0], rtol=1e-12)
    np.testing.assert_allclose(move.peaks(2).max(axis=0)[0], upsilon_1 * ka[0], rtol=1e-12)


@pytest.mark.parametrize("profile", TRAPEZOIDS)
def test_no_other_homothetic_trapezoid_is_faster(profile):
    """Brute force over (tau, T): peaks are D / (T - tau) and c D / (tau (T - tau))."""
    c = 1.5 if profile == "smooth_trapezoid" else 1.0
    random = np.random.default_rng(5)
    for _ in range(40):
        D = random.uniform(-2.0, 2.0, 4) * random.choice([0.0, 0.01, 1.0], 4, p=[0.1, 0.3, 0.6])
        D[0] = 0.5
        kv, ka = random.uniform(0.2, 3.0, 4), 10.0 ** random.uniform(-1.0, 1.5, 4)
        move = joint_move(np.zeros(4), D, profile=profile, qd_max=kv, qdd_max=ka)
        T = move.duration * np.linspace(0.5, 1.0, 201)[:-1, None]
        tau = 0.5 * T * np.linspace(0.002, 1.0, 500)
        v, a = 1.0 / (T - tau), c / (tau * (T - tau))
        fits = (v <= (kv / abs(D).clip(1e-300)).min()) & (a <= (ka / abs(D).clip(1e-300)).min())
        assert not fits.any()


@pytest.mark.parametrize("profile", BOUNDED)
def test_8_14_a_shorter_duration_is_rejected_by_joint(profile):
    D, kv, ka = [1.0, -2.0, 0.3], [1.0, 1.0, 1.0], [2.0, 3.0, 4.0]
    options = {"profile": profile, "qd_max": kv, "qdd_max": ka}
    least = joint_move(np.zeros(3), D, **options)
    r = fastest_profile(profile, np.array(D), MotionLimits.of(3, kv, ka))
    shorter = JointMove(np.zeros(3), np.array(D), r, 0.999 * least.duration)
    assert use(shorter, kv, ka) > 1.0
    with pytest.raises(ArgumentError, match=f"'joint_2' needs {least.duration:.6g} s"):
        joint_move(np.zeros(3), D, duration=0.999 * least.duration, **options)
    again = joint_move(np.zeros(3), D, duration=least.duration, **options)
    assert again.duration == least.duration


@pytest.mark.parametrize("profile", PROFILES)
def test_a_longer_duration_slows_the_same_motion_down(profile):
    limits = {"qd_max": 1.0} if profile == "linear" else {"qd_max": 1.0, "qdd_max": 2.0}
    q0, q1 = np.array([[0.1, 0.2], [1.4, -0.3]])
    fast = joint_move(q0, q1, profile=profile, **limits)
    slow = joint_move(q0, q1, profile=profile, duration=3.0 * fast.duration, **limits)
    t = np.linspace(0.0, fast.duration, 101)
    for order in range(4):
        np.testing.assert_allclose(
            slow.at(3.0 * t)[order][1:-1], fast.at(t)[order][1:-1] / 3.0**order, atol=1e-9
        )


@pytest.mark.parametrize("profile", PROFILES)
def test_8_23_joint_velocities_are_in_proportion_at_all_times(profile):
    random = np.random.default_rng(3)
    q0, q1 = random.normal(size=(2, 7))
    q1[4] = q0[4]
    limits = {"qd_max": random.uniform(0.5, 2.0, 7)}
    if profile != "linear":
        limits["qdd_max"] = random.uniform(0.5, 9.0, 7)
    move = joint_move(q0, q1, profile=profile, **limits)
    _, motion = move.sample(move.duration / 200)
    for derivative in motion[1:]:
        alpha = np.outer(derivative[:, 0], (q1 - q0) / (q1[0] - q0[0]))
        np.testing.assert_allclose(derivative, alpha, atol=1e-9)
    np.testing.assert_array_equal(motion.qd[:, 4], 0.0)


def test_8_18_to_8_22_one_joint_alone():
    """Long: kv is held for a while; short: a triangle of velocity."""
    kv, ka = 1.5, 3.0
    long = joint_move([0.0], [-2.0], profile="trapezoid", qd_max=kv, qdd_max=ka)
    assert kv**2 / ka < 2.0 and len(long.breaks) == 4
    assert long.tau == pytest.approx(kv / ka)  # (8.20)
    assert long.duration == pytest.approx(kv / ka + 2.0 / kv)  # (8.22)
    assert kv * long.duration - kv**2 / ka == pytest.approx(2.0)  # (8.21)
    tau, t_f = long.tau, long.duration
    for t, q in [  # (8.19)
        (0.3 * tau, -0.5 * (0.3 * tau) ** 2 * ka),
        (t_f / 2, -(t_f / 2 - tau / 2) * kv),
        (t_f - 0.2 * tau, -2.0 + 0.5 * (0.2 * tau) ** 2 * ka),
    ]:
        assert long.at(t).q[0] == pytest.approx(q)
    short = joint_move([0.0], [0.4], profile="trapezoid", qd_max=kv, qdd_max=ka)
    assert kv**2 / ka > 0.4 and len(short.breaks) == 3
    assert short.peaks(1).max() == pytest.approx(np.sqrt(0.4 * ka))  # (8.35)
    assert short.duration == pytest.approx(2.0 * short.tau)


def test_8_41_8_46_8_47_one_joint_alone_smoothly():
    kv, ka = 1.5, 3.0
    options = {"profile": "smooth_trapezoid", "qd_max": kv, "qdd_max": ka}
    long, short = joint_move([0.0], [2.0], **options), joint_move([0.0], [1.0], **options)
    assert 2.0 > 1.5 * kv**2 / ka > 1.0
    assert long.tau == pytest.approx(1.5 * kv / ka)  # 1.5 times that of the trapezoid
    assert long.duration == pytest.approx(long.tau + 2.0 / kv)
    assert short.peaks(1).max() == pytest.approx(np.sqrt(2.0 / 3.0 * 1.0 * ka))
    assert short.duration == pytest.approx(2.0 * short.tau)


def test_8_3_a_moving_target_is_met_at_the_end_and_kept():
    move = joint_move([0.0, 1.0], [1.0, 0.5], qd_max=1.0)

    def target(t):
        t = np.asarray(t, dtype=float)[..., None]
        drift = np.array([0.2, -0.1])
        rest = np.zeros_like(t * drift)
        return Motion(move.q1 + t * drift, drift + rest, rest, rest)

    np.testing.assert_allclose(move.towards(0.0, target(0.0)).q, move.q0, atol=1e-15)
    for t in (move.duration, move.duration + 3.0):
        np.testing.assert_allclose(move.towards(t, target(t))[:3], target(t)[:3], atol=1e-10)
    t = np.linspace(0.1, move.duration - 0.1, 50)
    q, qd, qdd, qddd = move.towards(t, target(t))
    ratio = (move.at(t).q[:, :1] - move.q0[0]) / (move.q1[0] - move.q0[0])
    np.testing.assert_allclose(q, target(t).q - (1 - ratio) * (move.q1 - move.q0), atol=1e-13)
    h = 1e-6
    later, earlier = move.towards(t + h, target(t + h)), move.towards(t - h, target(t - h))
    for order, derivative in enumerate((qd, qdd, qddd)):
        slope = (later[order] - earlier[order]) / (2 * h)
        np.testing.assert_allclose(slope, derivative, atol=1e-7)


def test_velocity_limits_and_names_come_from_the_model():
    model = rd.robots.kuka_lwr4()
    q1 = np.full(7, 0.5)
    move = joint_move(np.zeros(7), q1, model=model)
    assert (move.peaks(1) / model.qd_max).max() == pytest.approx(1.0)
    slowest = model.joint_names[int(np.argmin(model.qd_max))]
    with pytest.raises(ArgumentError, match=f"joint '{slowest}' needs"):
        joint_move(np.zeros(7), q1, model=model, duration=0.1)
    faster = joint_move(np.zeros(7), q1, model=model, qd_max=10.0)
    assert faster.duration < move.duration
    with pytest.raises(ArgumentError, match=f"qdd_max of joint '{model.joint_names[2]}'"):
        joint_move(np.zeros(7), q1, model=model, qdd_max=[1, 1, 0, 1, 1, 1, 1])
    with pytest.raises(ArgumentError, match=r"start must have shape \(7,\)"):
        joint_move(np.zeros(3), q1, model=model)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"qd_max": 0.0}, "qd_max of joint 'joint_1' must be positive"),
        ({"qd_max": [1.0, -2.0]}, "qd_max of joint 'joint_2' must be positive, got -2"),
        ({"qdd_max": [1.0, np.nan]}, "qdd_max of joint 'joint_2' must be positive, got nan"),
        ({"qd_max": [1.0, 2.0, 3.0]}, "qd_max must be one number or 2"),
        ({"qd_max": "fast"}, "qd_max must be one number or 2"),
        ({"duration": 0.0}, "duration must be positive"),
        ({"duration": np.nan}, "duration must be positive"),
        ({"duration": "1"}, "duration must be positive"),
        ({}, "give a duration"),
        ({"qd_max": 1.0, "profile": "cube"}, "profile must be one of"),
        ({"profile": "linear", "qd_max": 1.0, "qdd_max": 1.0}, "no qdd_max can hold"),
        ({"profile": "cubic", "qd_max": 1.0, "qddd_max": 1.0}, "no qddd_max can hold"),
    ],
)
def test_wrong_arguments_are_rejected(options, message):
    with pytest.raises(ArgumentError, match=message):
        joint_move([0.0, 0.0], [1.0, 1.0], **options)


def test_wrong_postures_are_rejected():
    with pytest.raises(ArgumentError, match=r"end must have shape \(2,\), got \(3,\)"):
        joint_move([0.0, 0.0], [1.0, 1.0, 1.0], qd_max=1.0)
    with pytest.raises(ArgumentError, match="end of joint 'joint_2' is nan"):
        joint_move([0.0, 0.0], [1.0, np.nan], qd_max=1.0)
    with pytest.raises(ArgumentError, match="start must be numbers"):
        joint_move(["a", "b"], [1.0, 1.0], qd_max=1.0)


def test_an_end_outside_the_joint_limits_is_rejected():
    model = rd.robots.kuka_lwr4()
    end = np.zeros(7)
    end[3] = 2.2  # of 120 degrees
    name = model.joint_names[3]
    with pytest.raises(
        ArgumentError, match=rf"end of joint '{name}' is 2\.2, .* -2\.0944 to 2\.0944"
    ):
        joint_move(np.zeros(7), end, model=model)
    joint_move(np.zeros(7), model.q_max, model=model)
    joint_move(end, np.zeros(7), model=model)  # an arm that starts outside may return …
    end[0] = 1.0
    joint_move(np.where(np.arange(7) == 3, 2.2, 0.0), end, model=model)  # … or stay there
    with pytest.raises(ArgumentError, match="outside its limits"):
        joint_move(end, np.where(np.arange(7) == 3, 2.3, 0.0), model=model)
    joint_move(np.zeros(7), end, qd_max=1.0)  # without a model there is no limit


def test_no_motion_needs_a_duration():
    with pytest.raises(ArgumentError, match="give a duration"):
        joint_move([1.0, 2.0], [1.0, 2.0], qd_max=1.0, qdd_max=1.0)
    for profile in PROFILES:
        stay = joint_move([1.0, 2.0], [1.0, 2.0], profile=profile, duration=0.5, qd_max=1.0)
        _, motion = stay.sample(0.1)
        np.testing.assert_array_equal(motion.q, np.tile([1.0, 2.0], (6, 1)))
        assert not np.any(motion[1:])


def test_without_a_limit_on_velocity_trapezoids_have_no_steady_phase():
    D = [1.0, -0.2]
    triangle = joint_move([0.0, 0.0], D, profile="trapezoid", qdd_max=[3.0, 2.0])
    bang = joint_move([0.0, 0.0], D, profile="bang_bang", qdd_max=[3.0, 2.0])
    assert triangle.duration == pytest.approx(bang.duration) == pytest.approx(2.0 * triangle.tau)
    smooth = joint_move([0.0, 0.0], D, profile="smooth_trapezoid", qddd_max=5.0)
    assert smooth.duration == pytest.approx(2.0 * np.cbrt(6.0 * 1.0 / 5.0))
    assert smooth.peaks(3).max() == pytest.approx(5.0)
