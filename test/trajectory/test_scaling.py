"""Time scaling: limits kept and reached, durations against exact ones, and the report."""

from functools import cache

import numpy as np
import pytest
from oracle import Pinocchio, close

import robodyn_ros as rd
from robodyn_ros.dynamics.motion import Motion
from robodyn_ros.model.assemble import JointRow, assemble
from robodyn_ros.model.rigid_body import RigidBody
from robodyn_ros.trajectory.fourier import Fourier
from robodyn_ros.trajectory.joint_move import joint_move
from robodyn_ros.trajectory.path import Warped, path_of
from robodyn_ros.trajectory.piecewise import PiecewisePolynomial
from robodyn_ros.trajectory.scaling import (
    ScaledTrajectory,
    check_limits,
    fastest,
    stretched,
)
from robodyn_ros.trajectory.splines import spline
from robodyn_ros.trajectory.time_law import (
    PathDynamics,
    check_points,
    fastest_law,
    limits_of,
    steady_duration,
    steady_law,
)
from robodyn_ros.trajectory.trajectory import Trajectory

RATE = np.array([1000.0, 1000.0, 570.0, 570.0, 570.0, 220.0, 220.0])  # [N m/s]
MOVES = [(0, "lwr_iii"), (1, "lwr_iii"), (0, "kuka_lwr4")]
INERTIA, ANGLE = 2.0, 1.5  # [kg m^2], [rad] of the wheel


@cache
def arm(name="lwr_iii"):
    return getattr(rd.robots, name)()


@cache
def wheel(offset=0.0):
    """Return one joint of inertia 2 kg m^2; offset [m]: of its mass from the axis."""
    body = RigidBody(1.0, np.array([offset, 0.0, 0.0]), (INERTIA - offset**2) * np.eye(3))
    axis = np.array([0.0, 1.0, 0.0])
    return assemble("wheel", [JointRow("hub", "rim", -1, False, axis=axis, body=body)])


def random_move(seed, name):
    model = arm(name)
    start, end = np.random.default_rng(seed).uniform(model.q_min, model.q_max, (2, model.n))
    return joint_move(start, end, qdd_max=10.0, model=model)


@cache
def scaled_move(seed, name):
    return fastest(arm(name), random_move(seed, name), tau_rate_max=RATE)


def shares(model, trajectory, tau_rate_max, instants=20001):
    """Return the shares of the limits (kinds, instants, joints), torque steps included."""
    t = np.linspace(0.0, trajectory.duration, instants)
    motion = trajectory.at(t)
    tau, rate = rd.force_rate(model, *motion)
    step = np.abs(np.diff(tau, axis=0, append=tau[-1:])) / t[1]
    rate = np.maximum(np.abs(rate), step)
    return np.abs([tau / model.tau_max, rate / tau_rate_max, motion.qd / model.qd_max])


def at_rest(motion):
    """Return whether it begins and ends at rest, if the time is rounded by 1e-9 s."""
    qd, qdd, qddd = (np.abs(x[[0, -1]]).max() for x in motion[1:4])
    return qd < 1e-7 and qdd < max(1e-7, 1e-9 * qddd)


class Curve(Trajectory):
    """A curved path with the time law of a profile, like a task-space move."""

    def __init__(self, profile, n=7):
        acceleration = None if profile == "linear" else 3.0  # a third of the time each, 0.5 s
        self.profile = joint_move([0.0], [1.0], profile=profile, qd_max=1.0, qdd_max=acceleration)
        self.n, self.duration = n, self.profile.duration
        self.size = np.random.default_rng(3).normal(size=(2, n))

    def along(self, s):
        """Return position and derivatives with respect to s."""
        w = np.array([1.0, 2.5])
        return [(w**k * np.sin(np.outer(s, w) + k * np.pi / 2)) @ self.size for k in range(4)]

    def _during(self, times):
        s, sd, sdd, sddd = self.profile.at(times)
        q, q1, q2, q3 = self.along(s[:, 0])
        return Motion(
            q,
            q1 * sd,
            q2 * sd**2 + q1 * sdd,
            q3 * sd**3 + 3 * q2 * sd * sdd + q1 * sddd,
        )


@pytest.mark.parametrize("seed, name", MOVES)
def test_limits_are_kept_and_touched(seed, name):
    move, scaled = random_move(seed, name), scaled_move(seed, name)
    largest = shares(arm(name), scaled, RATE).max(axis=(1, 2))
    assert (largest <= 1.001).all()
    assert largest[:2].max() >= 0.999
    motion = scaled.at(np.array([0.0, scaled.duration]))
    assert at_rest(motion)
    close(motion.q, move.at(np.array([0.0, move.duration])).q, 1e-12)


def test_limits_are_kept_according_to_pinocchio():
    scaled, oracle = scaled_move(*MOVES[0]), Pinocchio(arm())
    t = np.linspace(0.0, scaled.duration, 500)
    motions = list(zip(*scaled.at(t), strict=True))
    tau = [oracle.inverse_dynamics(*motion[:3]) for motion in motions]
    rate = [oracle.force_rate(*motion) for motion in motions]
    used = max(np.abs(tau / arm().tau_max).max(), np.abs(rate / RATE).max())
    assert 0.995 < used < 1.001


def exact(path, law, t):
    """Return the motion along a path with a time law, by the chain rule."""
    u, ud, udd, uddd = law.at(t)
    q, q1, q2, q3 = path.at(u[:, 0])
    jerk = q3 * ud**3 + 3.0 * q2 * ud * udd + q1 * uddd
    return Motion(q, q1 * ud, q2 * ud**2 + q1 * udd, jerk)


@pytest.mark.parametrize("steady", [True, False])
@pytest.mark.parametrize("kind", ["cubic", "Fourier"])
def test_the_quintics_are_the_scaled_path_to_1e_9(kind, steady):
    """Its jerk to 1e-4 of the largest, but for the first and last thousandth."""
    a, b = np.random.default_rng(7).normal(scale=0.2, size=(2, 7, 2))
    points = np.random.default_rng(5).uniform(-1.0, 1.0, (4, 7))
    given = spline(points, [0.0, 1.0, 1.8, 3.0])
    path = path_of(Fourier(np.zeros(7), a, b, 0.5, 1.5) if kind == "Fourier" else given)
    limits = limits_of(arm(), None, RATE, None)
    T = steady_duration(PathDynamics(arm(), path, check_points(path, 1200)), limits)
    law = steady_law(T) if steady else fastest_law(arm(), path, limits, T, 20)
    scaled = ScaledTrajectory(arm(), path, law, limits)
    t = np.linspace(1e-3, 1.0 - 1e-3, 7001) * scaled.duration
    found, expected = scaled.at(t), exact(path, law, t)
    close(found.q, expected.q, 1e-9)
    close(found.qd, expected.qd, 1e-8)
    close(found.qdd, expected.qdd, 1e-6)
    close(found.qddd, expected.qddd, 1e-4)


@pytest.mark.parametrize("seed, name", MOVES)
def test_some_limit_is_in_use_nearly_all_the_time(seed, name):
    """Otherwise the motion could be faster."""
    used = shares(arm(name), scaled_move(seed, name), RATE).max(axis=(0, 2))
    assert np.mean(used > 0.98) > 0.9


def test_derivatives_are_those_of_the_position():
    scaled, h = scaled_move(*MOVES[0]), 1e-5
    t = np.linspace(0.1, scaled.duration - 0.1, 200)
    before, here, after = scaled.at(t - h), scaled.at(t), scaled.at(t + h)
    for k in range(3):
        close((after[k] - before[k]) / (2 * h), here[k + 1], 2e-4)


@pytest.mark.parametrize("seed, name", MOVES)
def test_never_slower_than_the_best_stretch_of_the_quintic(seed, name):
    slow = stretched(arm(name), random_move(seed, name), tau_rate_max=RATE)
    assert slow.binding[0].share == pytest.approx(1.0, abs=1e-3)
    assert scaled_move(seed, name).duration < 0.9 * slow.duration


def test_stretching_is_one_factor():
    move = random_move(*MOVES[0])
    slow = stretched(arm(), move, tau_rate_max=RATE)
    x = np.linspace(0.0, 1.0, 50)
    ratio = move.duration / slow.duration
    for k, (found, given) in enumerate(
        zip(slow.at(x * slow.duration), move.at(x * move.duration), strict=True)
    ):
        close(found, given * ratio**k, 1e-5)


@cache
def wheel_time(tau_max, tau_rate_max, qd_max=np.inf, **options):
    move = joint_move([0.0], [ANGLE], qd_max=1.0)
    limits = {"tau_max": tau_max, "tau_rate_max": tau_rate_max, "qd_max": qd_max}
    return fastest(wheel(), move, **limits, **options).duration


def test_time_of_a_wheel_with_limited_torque_rate():
    """Jerk +, -, + for a quarter, a half and a quarter of T: D = R / M T^3 / 32."""
    assert wheel_time(np.inf, 100.0) == pytest.approx(
        (32 * ANGLE * INERTIA / 100) ** (1 / 3), 2e-3
    )


@pytest.mark.parametrize("tau_rate_max", [30.0, 100.0, 1000.0])
def test_time_of_a_wheel_with_both_limits(tau_rate_max):
    """Torque rises in tau / R to its limit: D M / tau = (t + r)(t + 2 r), T = 2 t + 4 r."""
    tau_max = 10.0
    r = tau_max / tau_rate_max
    t = np.roots([1.0, 3 * r, 2 * r * r - ANGLE * INERTIA / tau_max]).max()
    assert wheel_time(tau_max, tau_rate_max) == pytest.approx(2 * t + 4 * r, 3e-3)


def test_time_of_a_wheel_tends_to_bang_bang():
    """Without a limit of the rate: T = 2 sqrt(D M / tau)."""
    assert wheel_time(10.0, 2000.0) == pytest.approx(2 * np.sqrt(ANGLE * INERTIA / 10.0), 2e-2)


def test_jerk_jumps_cost_no_time():
    """The wheel's time again, over a path whose third derivative jumps at 1/3 and 2/3."""
    move = joint_move([0.0], [1.0], profile="smooth_trapezoid", qd_max=1.0, qdd_max=3.0)
    path, limits = Warped(move), limits_of(wheel(), None, 100.0, None)
    close(path.breaks, [1 / 3, 2 / 3])
    steady = steady_duration(PathDynamics(wheel(), path, check_points(path, 1200)), limits)
    law = fastest_law(wheel(), path, limits, steady, 30)
    assert law.duration == pytest.approx((32 * INERTIA / 100) ** (1 / 3), 5e-3)


def test_velocity_limit_alone():
    """With nearly unlimited torque, D / qd_max; never faster than the limit."""
    scaled = fastest(
        wheel(), joint_move([0.0], [ANGLE], qd_max=9.0), tau_rate_max=1e4, tau_max=1e3, qd_max=1.0
    )
    assert scaled.duration == pytest.approx(ANGLE / 1.0, 5e-2)
    velocity = next(b for b in scaled.binding if b.limit == "velocity")
    assert velocity.share == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(
    "profile", ["linear", "cubic", "septic", "bang_bang", "trapezoid", "smooth_trapezoid"]
)
def test_the_scaled_line_does_not_depend_on_the_profile(profile):
    limits = {} if profile == "linear" else {"qdd_max": 5.0}
    move = joint_move([0.0], [ANGLE], profile=profile, qd_max=1.0, **limits)
    found = fastest(wheel(), move, tau_rate_max=100.0, tau_max=10.0, intervals=20)
    expected = wheel_time(10.0, 100.0, intervals=20)
    assert found.duration == pytest.approx(expected, 1e-9)


@pytest.mark.parametrize("order", ["cubic", "quintic"])
def test_a_spline_keeps_its_path(order):
    points = np.random.default_rng(5).uniform(-1.0, 1.0, (4, 7))
    given = spline(points, [0.0, 1.0, 1.8, 3.0], order=order)
    scaled = fastest(arm(), given, tau_rate_max=RATE, intervals=30)
    largest = shares(arm(), scaled, RATE).max(axis=(1, 2))
    assert 0.999 < largest[:2].max() <= largest.max() <= 1.001
    assert at_rest(scaled.at(np.array([0.0, scaled.duration])))
    assert distance(scaled, given) < 1e-7


def distance(scaled, given):
    """Return the largest distance of points of a motion from another's path.

    Newton's method finds the nearest time of the other.
    """
    q = scaled.at(np.linspace(0.0, scaled.duration, 60)).q
    t = np.linspace(0.0, given.duration, 4001)
    path = given.at(t).q
    nearest = t[[np.argmin(np.square(path - posture).sum(axis=1)) for posture in q]]
    for _ in range(5):
        here, qd, *_ = given.at(nearest)
        ahead = ((q - here) * qd).sum(axis=1) / np.maximum(np.square(qd).sum(axis=1), 1e-12)
        nearest = np.clip(nearest + ahead, 0.0, given.duration)
    return np.abs(q - given.at(nearest).q).max()


@pytest.mark.parametrize("seed", [2, 6])
def test_torque_rate_on_both_sides_of_a_break(seed):
    """The jerk of a cubic spline jumps at its points."""
    random = np.random.default_rng(seed)
    points, pauses = random.uniform(-1.0, 1.0, (4, 1)), random.uniform(0.3, 1.0, 3)
    given = spline(points, np.append(0.0, np.cumsum(pauses)))
    scaled = fastest(wheel(), given, tau_rate_max=100.0, tau_max=1e3, intervals=20)
    assert 0.999 < shares(wheel(), scaled, 100.0)[1].max() < 1.001


@cache
def scaled_curve(profile):
    return fastest(arm(), Curve(profile), tau_rate_max=RATE, intervals=30)


@pytest.mark.parametrize("profile", ["linear", "quintic", "smooth_trapezoid", "trapezoid"])
def test_a_curve_keeps_its_path_with_any_profile(profile):
    given, scaled = Curve(profile), scaled_curve(profile)
    assert scaled.duration == pytest.approx(scaled_curve("quintic").duration, 1e-2)
    largest = shares(arm(), scaled, RATE).max(axis=(1, 2))
    assert 0.999 < largest[:2].max() <= largest.max() <= 1.001
    assert at_rest(scaled.at(np.array([0.0, scaled.duration])))
    assert distance(scaled, given) < 1e-6


def test_one_joint_may_reverse():
    given = spline([[0.0], [1.0], [-0.5], [1.0]], [0.0, 1.0, 2.0, 3.0])
    scaled = fastest(wheel(), given, tau_rate_max=100.0, tau_max=20.0, qd_max=np.inf)
    q = scaled.at(np.linspace(0.0, scaled.duration, 5001)).q[:, 0]
    ends = given.at(np.linspace(0.0, 3.0, 5001)).q
    close([q.max(), q.min()], [ends.max(), ends.min()], 1e-5)
    assert 0.999 < scaled.binding[0].share < 1.001


def test_a_trajectory_that_starts_in_motion_is_followed_from_rest():
    a, b = np.random.default_rng(7).normal(scale=0.2, size=(2, 7, 2))
    scaled = fastest(arm(), Fourier(np.zeros(7), a, b, 0.5, 1.5), tau_rate_max=RATE, intervals=30)
    largest = shares(arm(), scaled, RATE).max(axis=(1, 2))
    assert 0.999 < largest[:2].max() <= largest.max() <= 1.001
    assert at_rest(scaled.at(np.array([0.0, scaled.duration])))


def test_a_load_takes_more_time():
    loaded = arm().replace(payload=rd.Payload(arm().link_names[-1], 5.0))
    heavy = fastest(loaded, random_move(*MOVES[0]), tau_rate_max=RATE, intervals=30)
    assert heavy.duration > 1.01 * scaled_move(*MOVES[0]).duration
    assert shares(loaded, heavy, RATE).max() <= 1.001


def test_report_names_joint_and_instant():
    model, scaled = arm(), scaled_move(*MOVES[0])
    used = shares(model, scaled, RATE, instants=5001)
    assert len(scaled.binding) == 3 * model.n
    assert [b.share for b in scaled.binding] == sorted(b.share for b in scaled.binding)[::-1]
    for binding in scaled.binding:
        kind = ["torque", "torque_rate", "velocity"].index(binding.limit)
        joint = model.joint_names.index(binding.joint)
        assert binding.share == pytest.approx(used[kind, :, joint].max(), rel=1e-9)
        there = round(binding.t / scaled.duration * 5000)
        assert used[kind, there, joint] == pytest.approx(binding.share, rel=1e-2)
    assert scaled.binding[0].joint in str(scaled)
    assert f"{scaled.duration:.4g} s" in str(scaled)


def test_check_limits_of_an_unscaled_move():
    """A quintic wheel move: peaks 5.7735 D / T^2 at 0.2113 T, 60 D / T^3 at its ends."""
    move = joint_move([0.0], [ANGLE], qd_max=10.0, duration=2.0)
    found = check_limits(wheel(), move, tau_max=5.0, tau_rate_max=10.0, qd_max=1.0)
    torque, rate, velocity = (
        next(b for b in found if b.limit == kind) for kind in ("torque", "torque_rate", "velocity")
    )
    assert abs(torque.value) == pytest.approx(5.7735 * ANGLE * INERTIA / 4.0, 1e-4)
    assert min(torque.t, 2.0 - torque.t) == pytest.approx(0.2113 * 2.0, abs=1e-3)
    assert rate.value == pytest.approx(60.0 * ANGLE * INERTIA / 8.0)
    assert rate.t in (0.0, 2.0) and rate.share == pytest.approx(2.25)
    assert velocity.value == pytest.approx(15 / 8 * ANGLE / 2.0)
    assert velocity.t == pytest.approx(1.0)
    assert "torque rate of joint 'hub' at" in str(rate) and "N m/s" in str(rate)


@pytest.mark.parametrize("profile, where", [("cubic", (0.0, 2.0)), ("bang_bang", (1.0,))])
def test_check_limits_sees_steps_of_torque(profile, where):
    """At the ends of a cubic move 6 D / T^2 starts, amid a bang-bang one 4 D / T^2 reverses."""
    move = joint_move([0.0], [ANGLE], profile=profile, qd_max=10.0, duration=2.0)
    step = INERTIA * ANGLE * (6.0 if profile == "cubic" else 8.0) / 4.0
    found = check_limits(wheel(), move, tau_rate_max=100.0, dt=1e-3)
    assert found[0].limit == "torque_rate"
    assert abs(found[0].value) == pytest.approx(step / 1e-3, 1e-2)
    assert min(abs(found[0].t - t) for t in where) < 2e-3


def test_without_limits_nothing_is_reported():
    assert check_limits(wheel(), joint_move([0.0], [ANGLE], qd_max=1.0)) == ()


@pytest.mark.parametrize("scale", [fastest, stretched])
def test_weight_beyond_the_torque_limit_is_rejected(scale):
    """The mass is level with the hub halfway: m g r = 0.5 * 9.81."""
    model, move = wheel(0.5), joint_move([-1.0], [1.0], qd_max=1.0)
    with pytest.raises(rd.ArgumentError, match=r"joint 'hub' .* 50 % .* 4\.905.* is 4\.9;"):
        scale(model, move, tau_rate_max=100.0, tau_max=4.9)
    assert scale(model, move, tau_rate_max=100.0, tau_max=4.95).duration > 0.0


CORNER = PiecewisePolynomial([0.0, 1.0, 2.0], [[[0.0, 1.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])
MOVE = joint_move([0.0], [1.0], qd_max=1.0)


@pytest.mark.parametrize(
    "trajectory, limits, message",
    [
        (joint_move([1.0], [1.0], qd_max=1.0, duration=1.0), {}, "does not move"),
        (CORNER, {}, "2 joints, robot 'wheel' has 1"),
        (MOVE, {"tau_max": 0.0}, "tau_max of joint 'hub' must be positive, got 0"),
        (MOVE, {"tau_max": [1.0, 2.0]}, "tau_max must be one number or 1"),
        (MOVE, {"qd_max": np.nan}, "qd_max of joint 'hub' must be positive, got nan"),
        (MOVE, {"tau_rate_max": -1.0}, "tau_rate_max of joint 'hub' must be positive, got -1"),
        (MOVE, {"tau_rate_max": np.inf}, "tau_rate_max must be finite"),
        (MOVE, {"intervals": 3}, "intervals must be"),
    ],
)
def test_wrong_arguments_are_rejected(trajectory, limits, message):
    with pytest.raises(rd.ArgumentError, match=message):
        fastest(wheel(), trajectory, **{"tau_rate_max": 10.0, **limits})


def test_corners_are_rejected():
    with pytest.raises(rd.ArgumentError, match="velocity jumps near t = 1"):
        fastest(rd.robots.planar_2r(), CORNER, tau_rate_max=10.0, tau_max=500.0)
