"""The feed of the page: peaks are kept, memory is bounded, old data do not count, pushes fit."""

import math

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.dashboard.feed import (
    MAX_AGE,
    Feed,
    History,
    Noise,
    Push,
    push_from_wrench,
    scripted_pushes,
    true_force,
)

Q = np.array([0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5])


@pytest.fixture
def clock():
    return [100.0]


@pytest.fixture
def feed(clock):
    return Feed(rd.robots.lwr_iii(), clock=lambda: clock[0])


def test_a_peak_of_one_sample_is_kept():
    history = History(2, span=10.0, slots=50)
    for k in range(20_000):
        history.add(1e-3 * k, np.array([0.1, -7.0 if k == 15_123 else 0.2]))
    t, values = history.arrays()
    assert len(t) <= 50 and t[-1] == 0.0 and t[0] > -10.0
    assert (np.diff(t) > 0.0).all()
    assert values[:, 1].min() == -7.0
    assert values[:, 0].max() == 0.1


def test_old_samples_are_dropped_and_time_may_restart():
    history = History(1, span=1.0, slots=10)
    history.add(0.0, np.array([9.0]))
    history.add(5.0, np.array([1.0]))
    assert history.arrays()[1].tolist() == [[1.0]]
    history.add(0.5, np.array([2.0]))
    assert history.arrays()[1].tolist() == [[2.0]]


def test_joints_are_matched_by_name(feed):
    names = feed.model.joint_names[::-1] + ("gripper",)
    feed.on_state(1.0, names, np.arange(8.0), np.arange(8.0) + 10.0)
    assert feed.q.tolist() == [6, 5, 4, 3, 2, 1, 0]
    assert feed.tau.tolist() == [16, 15, 14, 13, 12, 11, 10]
    feed.on_state(2.0, names[2:], np.zeros(6), np.zeros(6))  # of another robot, or a part
    assert feed.q.tolist() == [6, 5, 4, 3, 2, 1, 0]


def test_the_tracking_error_is_of_equal_stamps(feed):
    names = feed.model.joint_names
    for k in range(5):
        feed.on_state(1.0 + 0.001 * k, names, Q + 0.1 * k, Q)
    feed.on_reference(1.002, names, Q, Q)
    assert feed.error.arrays()[1][-1] == pytest.approx(-0.2)
    feed.on_reference(7.0, names, Q, Q)  # its state has not come
    assert len(feed.error.arrays()[0]) == 1


def test_old_messages_do_not_count(feed, clock):
    feed.on_detector("CLEAR", "", 0.0, "", "")
    assert feed.fresh("detector")
    clock[0] += 0.99 * MAX_AGE
    assert feed.fresh("detector")
    clock[0] += 0.02 * MAX_AGE
    assert not feed.fresh("detector")


def test_a_contact_goes_on_while_the_detector_knows_nothing(feed, clock):
    feed.on_detector("COLLISION", "link_5", 43.0, "", "")
    clock[0] += 1.0
    feed.on_detector("UNKNOWN", "", math.nan, "", "joint states were silent")
    feed.on_detector("COLLISION", "", math.nan, "", "")
    assert (feed.contact.state.link, feed.contact.begun) == ("link_5", 100.0)
    feed.on_detector("CLEAR", "", 0.0, "", "")
    feed.on_detector("UNKNOWN", "", math.nan, "", "joint states were silent")
    feed.on_detector("CONTACT", "", math.nan, "", "")
    assert (feed.contact.state.link, feed.contact.begun) == ("", 101.0)


def test_the_most_severe_state_of_a_contact_is_kept(feed, clock):
    feed.on_detector("CONTACT", "", 5.0, "", "")
    feed.on_detector("COLLISION", "link_5", 38.0, "", "")
    feed.on_detector("COLLISION", "", 60.0, "", "")
    feed.on_detector("CONTACT", "link_2", 90.0, "", "")
    feed.on_detector("CLEAR", "", 0.0, "", "")
    assert feed.contact.begun == 100.0
    assert (feed.contact.state.link, feed.contact.state.force) == ("link_5", 38.0)
    clock[0] = 101.0
    feed.on_detector("CONTACT", "link_1", 3.0, "", "")
    assert feed.contact.state.link == "link_1" and feed.contact.begun == 101.0


def test_thresholds_are_one_number_or_one_per_joint(feed):
    assert feed.thresholds("contact") is None
    feed.on_parameters("dynamics_node", {"monitor.contact.base": [2.0]}, whole=True)
    assert feed.thresholds("contact").tolist() == [2.0] * 7
    feed.on_parameters("dynamics_node", {"monitor.contact.base": list(range(7))})
    assert feed.thresholds("contact").tolist() == list(range(7))
    feed.on_parameters("dynamics_node", {"monitor.contact.base": [1.0, 2.0]})
    assert feed.thresholds("contact") is None


def torque(model, push, share=1.0):
    J = rd.jacobian(model, Q, push.link, push.point)
    return share * J[:3].T @ push.force


def test_the_push_that_acts_is_found(feed):
    pushes = [
        Push("link_5", np.array([0.0, -40.0, 0.0]), np.array([0.0, 0.05, 0.2])),
        Push("link_7", np.array([10.0, 5.0, -20.0]), np.array([0.05, 0.0, 0.0])),
    ]
    for push in pushes:
        found = true_force(feed.model, Q, torque(feed.model, push, 0.5), pushes)
        assert found.force == pytest.approx(0.5 * push.force)
        pose = rd.forward_kinematics(feed.model, Q, push.link)
        assert found.point == pytest.approx(pose[:3, 3] + pose[:3, :3] @ push.point)


def test_an_unknown_push_is_not_shown_as_the_true_force(feed):
    known = Push("link_5", np.array([0.0, -40.0, 0.0]), np.zeros(3))
    other = Push("link_7", np.array([30.0, 0.0, 10.0]), np.array([0.1, 0.0, 0.0]))
    for share in (1.0, -1.0):
        assert true_force(feed.model, Q, torque(feed.model, other, share), [known]) is None
    assert true_force(feed.model, Q, np.zeros(7), [known]) is None
    assert true_force(feed.model, Q, -torque(feed.model, known), [known]) is None


def test_a_push_by_topic_acts_as_its_wrench_does(feed):
    force, point = np.array([5.0, -40.0, 3.0]), np.array([0.02, 0.05, 0.2])
    push = push_from_wrench(feed.model, Q, "link_5", force, np.cross(point, force))
    direct = Push("link_5", push.force, point)
    assert torque(feed.model, push) == pytest.approx(torque(feed.model, direct))
    assert push_from_wrench(feed.model, Q, "link_5", np.zeros(3), force) is None


def test_scripted_pushes_are_read_from_the_plants_parameters(feed):
    parameters = {
        "pushes.names": ["one", "gone", ""],
        "pushes.one.link": "link_6",
        "pushes.one.force": [1.0, 2.0, 3.0],
        "pushes.one.point": [0.0, 0.1, 0.0],
        "pushes.gone.link": "no_such_link",
    }
    (push,) = scripted_pushes(feed.model, parameters)
    assert (push.link, push.force.tolist()) == ("link_6", [1.0, 2.0, 3.0])


def test_thresholds_follow_the_motion(feed):
    names, n = feed.model.joint_names, feed.model.n
    values = {"monitor.contact.base": [2.0], "monitor.contact.per_velocity": [3.0]}
    feed.on_parameters("dynamics_node", values, whole=True)
    for t, speed in ((1.0, 0.0), (2.0, 0.5)):
        feed.on_state(t, names, Q, Q, np.full(n, -speed))
        feed.on_residual(t, names, np.zeros(n))
    assert feed.limits["contact"].arrays()[1][:, 3].tolist() == [2.0, 3.5]
    assert not feed.limits["collision"].arrays()[0].size  # not known


def test_noise_is_that_of_the_latest_seconds_without_contact(feed):
    names, rng = feed.model.joint_names, np.random.default_rng(1)
    feed.on_detector("CLEAR", "", 0.0, "", "")
    for k in range(5000):
        if k == 4000:
            feed.on_detector("CONTACT", "", 9.0, "", "")
        size = 0.2 if k < 4000 else 20.0
        feed.on_residual(0.01 * k, names, 0.5 + size * rng.standard_normal(7))
    assert feed.noise.deviation == pytest.approx(0.2, rel=0.15)
    assert feed.noise.mean == pytest.approx(0.5, abs=0.05)
    noise = Noise(1)
    noise.add(5.0, np.array([1.0]))
    noise.add(4.0, np.array([3.0]))  # time went back
    assert noise.mean == [3.0] and noise.deviation == [0.0]


def test_a_guard_that_is_silent_is_gone(feed, clock):
    assert not feed.fresh_guard
    feed.on_guard("armed", "", "", ["link_7 up to 20 N"])
    assert feed.fresh_guard and "expected contact: link_7 up to 20 N" in feed.guard.lines()
    clock[0] += 3.1
    assert not feed.fresh_guard
