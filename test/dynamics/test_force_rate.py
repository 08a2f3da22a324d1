"""tau and its time derivative, and the Stanford arm of [GuarinoLoBianco2009]."""

import numpy as np
import pytest
from dynamics_cases import (
    SOME,
    Motion,
    derivative,
    pinocchio,
    quintic,
    robot,
    with_friction,
    with_tool,
)
from oracle import close, random_state

import robodyn_ros as rd

every_robot = pytest.mark.parametrize("name", SOME)


@every_robot
@pytest.mark.parametrize("gravity", [True, False])
def test_tau_is_that_of_ne(name, gravity):
    model = robot(name)
    q, qd, qdd, qddd = random_state(model, 1, 4)
    tau, _ = rd.force_rate(model, q, qd, qdd, qddd, gravity=gravity)
    close(tau, rd.inverse_dynamics(model, q, qd, qdd, gravity=gravity))


@every_robot
@pytest.mark.parametrize("gravity", [True, False])
def test_rate_is_the_derivative_of_tau_along_a_motion(name, gravity):
    model = robot(name)
    motion = Motion(model, 2)
    for t in (0.0, 1.3):
        _, rate = rd.force_rate(model, *motion.at(t), gravity=gravity)
        expected = derivative(
            lambda s, t=t: rd.inverse_dynamics(model, *motion.at(t + s)[:3], gravity=gravity)
        )
        close(rate, expected, 1e-8)


@every_robot
def test_rate_is_that_of_pinocchios_derivatives(name):
    model = robot(name)
    q, qd, qdd, qddd = random_state(model, 3, 4)
    _, rate = rd.force_rate(model, q, qd, qdd, qddd)
    close(rate, pinocchio(name).force_rate(q, qd, qdd, qddd))


@pytest.mark.parametrize("name", ["stanford", "tree 2", "mimic 5"])
def test_friction_and_its_rate_are_added_when_asked_for(name):
    model = with_friction(robot(name))
    motion = Motion(model, 4)
    # A moment when no joint is near a reversal
    t = max(np.arange(0.0, 10.0, 0.1), key=lambda t: np.abs(motion.at(t)[1]).min())
    assert np.abs(motion.at(t)[1]).min() > 0.01

    def tau(s):
        return rd.inverse_dynamics(model, *motion.at(t + s)[:3], friction=True)

    found, rate = rd.force_rate(model, *motion.at(t), friction=True)
    close(found, tau(0.0))
    close(rate, derivative(tau), 1e-8)
    close(
        rate - rd.force_rate(model, *motion.at(t))[1],
        derivative(lambda s: rd.friction_torque(model, motion.at(t + s)[1])),
        1e-8,
    )


@pytest.mark.parametrize("name", ["stanford", "tree 2", "mimic 5"])
@pytest.mark.parametrize("link", ["tool", None])
def test_external_wrench_and_its_rate(name, link):
    """Section III-B, on any link: the derivative of `inverse_dynamics` with the same wrench."""
    model = with_friction(with_tool(robot(name))).replace(friction_load=0.1, friction_width=0.3)
    link = link or model.link_names[len(model.link_names) // 2]
    motion, (W, Wd) = Motion(model, 5), np.random.default_rng(6).normal(size=(2, 6))

    def tau(s):
        external = {link: W + s * Wd}
        return rd.inverse_dynamics(
            model, *motion.at(0.7 + s)[:3], external=external, friction=True
        )

    external = {link: (W, Wd)}
    found, rate = rd.force_rate(model, *motion.at(0.7), external=external, friction=True)
    close(found, tau(0.0))
    close(rate, derivative(tau), 1e-8)
    plain = rd.force_rate(model, *motion.at(0.7))[1]
    assert np.abs(rate - plain).max() > 1e-2 * np.abs(rate).max()
    states = [np.stack([x, x]) for x in motion.at(0.7)]
    batch = {link: (np.stack([W, 2 * W]), np.stack([Wd, 2 * Wd]))}
    twice = rd.force_rate(model, *states, external=batch)[1]
    close(twice[1] - plain, 2.0 * (twice[0] - plain), 1e-9)


@pytest.mark.parametrize("wrong", [np.zeros(6), (np.zeros(6), np.zeros(5)), 3.0])
def test_an_external_wrench_needs_its_rate(wrong):
    model = robot("stanford")
    still = np.zeros(model.n)
    with pytest.raises(rd.ArgumentError, match="rate"):
        rd.force_rate(model, still, still, still, still, external={model.link_names[-1]: wrong})


def test_guarino_lo_bianco_section_v():
    # Tables I-III: the largest difference of tau_dot_1 to a backward difference grows with Ts.
    model = rd.robots.stanford()
    pi = np.pi
    start = [pi / 2, 0.0, 0.0, pi / 2, pi / 4, pi / 2]
    end = [pi / 4, pi / 2, 2.0, pi / 4, pi / 2, 0.0]
    for step, ours in ((1e-4, 2.402e-2), (1e-3, 2.402e-1), (1e-2, 2.402)):
        t = step * np.arange(round(2.0 / step) + 1)
        tau, rate = rd.force_rate(model, *quintic(start, end, 2.0, t))
        difference = np.abs(rate[1:] - np.diff(tau, axis=0) / step).max(axis=0)
        paper = 2.462e-2 * step / 1e-4
        assert difference[0] == pytest.approx(paper, rel=0.03)
        assert difference[0] == pytest.approx(ours, rel=1e-3)  # computed independently
