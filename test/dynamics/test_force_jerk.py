"""tau and two derivatives, of the arm's own motion and of NE*."""

import dual_numbers
import numpy as np
import pytest
from dynamics_cases import SOME, Motion, derivative, robot, with_friction
from oracle import close, random_state

import robodyn_ros as rd

every_robot = pytest.mark.parametrize("name", SOME)
some_robots = pytest.mark.parametrize("name", ["stanford", "tree 2", "mimic 5"])


@every_robot
@pytest.mark.parametrize("gravity", [True, False])
def test_tau_and_its_rate_are_those_of_force_rate(name, gravity):
    model = robot(name)
    state = random_state(model, 1, 5)
    found = rd.force_jerk(model, *state, gravity=gravity)
    for x, expected in zip(found, rd.force_rate(model, *state[:4], gravity=gravity), strict=False):
        close(x, expected)


@every_robot
def test_second_derivative_is_that_of_force_rate_along_a_motion(name):
    model = robot(name)
    motion = Motion(model, 2)
    for t in (0.0, 1.3):
        found = rd.force_jerk(model, *motion.with_snap(t))[2]
        expected = derivative(lambda s, t=t: rd.force_rate(model, *motion.at(t + s))[1])
        close(found, expected, 1e-8)


@pytest.mark.parametrize("name", ["kuka_lwr4", "stanford", "chain PRRPRPR", "tree 2", "mimic 5"])
def test_nested_dual_numbers(name):
    """An independent evaluation, exact but for rounding."""
    model = robot(name)
    state = random_state(model, 3, 5)
    found, expected = rd.force_jerk(model, *state), dual_numbers.force_jerk(model, *state)
    for one, other in zip(found, expected, strict=True):
        close(one, other, 1e-12)


@some_robots
@pytest.mark.parametrize("width", [0.0, 0.3])
def test_friction_and_its_derivatives_are_added_when_asked_for(name, width):
    model = with_friction(robot(name)).replace(friction_width=width, friction_load=0.1)
    motion = Motion(model, 4)

    def clear(t):
        """How far each joint is from a reversal, of its motion and of its torque."""
        return min(
            np.abs(motion.at(t)[1]).min(),
            0.02 * np.abs(rd.inverse_dynamics(model, *motion.at(t)[:3])).min(),
        )

    t = max(np.arange(0.0, 10.0, 0.1), key=clear)
    assert clear(t) > 5e-3
    found = rd.force_jerk(model, *motion.with_snap(t), friction=True)
    expected = rd.force_rate(model, *motion.at(t), friction=True)
    close(found[0], expected[0])
    close(found[1], expected[1])

    def rate(s):
        return rd.force_rate(model, *motion.at(t + s), friction=True)[1]

    close(found[2], derivative(rate, 2e-4), 1e-6)


@every_robot
def test_ne_star_with_the_arms_own_velocity_is_force_jerk(name):
    model = robot(name)
    q, *rates = random_state(model, 5, 5)
    found = rd.ne_star_jerk(model, q, *rates[:3], *rates)
    for one, other in zip(found, rd.force_jerk(model, q, *rates), strict=True):
        close(one, other)


@every_robot
@pytest.mark.parametrize("gravity", [True, False])
def test_ne_star_and_its_derivatives(name, gravity):
    """Variant 1110, with an auxiliary velocity that has a motion of its own."""
    model = robot(name)
    motion, other = Motion(model, 6), Motion(model, 7)

    def jerk(s):
        return rd.ne_star_jerk(
            model, *motion.at(0.4 + s), *other.with_snap(0.4 + s)[1:], gravity=gravity
        )

    def star(s):
        q, qd = motion.at(0.4 + s)[:2]
        qd_a, qdd_a = other.at(0.4 + s)[1:3]
        return rd.ne_star(model, q, qd, qd_a, qdd_a, variant="1110", gravity=gravity)

    tau, tau_dot, tau_ddot = jerk(0.0)
    close(tau, star(0.0))
    close(tau_dot, derivative(star), 1e-8)
    close(tau_ddot, derivative(lambda s: jerk(s)[1]), 1e-8)


@some_robots
def test_the_split_is_passive(name):
    """qd_a^T (Mdot - 2 C*) qd_a = 0, and so the energy of a passivity-based law is kept."""
    model = robot(name)
    q, qd, qdd, qddd, qd_a = random_state(model, 8, 5)
    still = np.zeros(model.n)
    Cqd_a = rd.ne_star_jerk(
        model, q, qd, qdd, qddd, qd_a, still, still, still, gravity=False
    )[0]  # fmt: skip
    Md = derivative(lambda s: rd.mass_matrix(model, q + s * qd))
    close(np.array([2.0 * qd_a @ Cqd_a]), np.array([qd_a @ Md @ qd_a]), 1e-8)


def test_faster_motion_scales_the_derivatives():
    """Without gravity, the k-th derivative of tau grows with the (2 + k)-th power of the speed."""
    model, s = robot("stanford"), 3.0
    q, *rates = random_state(model, 9, 5)
    slow = rd.force_jerk(model, q, *rates, gravity=False)
    fast = rd.force_jerk(model, q, *(s ** (k + 1) * x for k, x in enumerate(rates)), gravity=False)
    for k, (one, other) in enumerate(zip(slow, fast, strict=True)):
        close(other, s ** (2 + k) * one)
