"""The demo's trajectories: where they lead, and when the next one is sent."""

import numpy as np
import pytest
from ros_harness import bench

import robodyn_ros as rd
from robodyn_ros.nodes.demo_trajectory import (
    DETECTOR_WAIT,
    REJECTED_AFTER,
    DemoTrajectory,
    demo_postures,
    split_postures,
)

LWR = rd.robots.lwr_iii()
START = np.array([0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5])


def holding(q=START, reason="found here", heard=True, **options):
    """Return a demo whose controller holds the arm at q."""
    demo = DemoTrajectory(LWR, **options)
    demo.on_controller("HOLDING", reason, heard)
    assert demo.needs_position(0.0)
    demo.on_position(q)
    return demo


@pytest.mark.parametrize("where", [0.0, 0.2, 0.5, 1.0])
def test_postures_keep_away_from_the_joint_limits(where):
    q = LWR.q_min + where * (LWR.q_max - LWR.q_min)
    postures = np.array(demo_postures(LWR, q))
    share = (postures - LWR.q_min) / (LWR.q_max - LWR.q_min)
    assert share.min() > 0.049 and share.max() < 0.951
    assert np.ptp(postures, axis=0).min() > 0.5  # and every joint moves


def test_postures_are_around_the_one_in_which_the_arm_was_found():
    np.testing.assert_allclose(demo_postures(LWR, START)[-1], START, atol=1e-9)


def test_the_next_trajectory_is_sent_when_the_last_has_arrived():
    demo, t, q, ends = holding(), 10.0, START, []
    for _ in range(6):
        move = demo.next(t)
        np.testing.assert_allclose(move.q0, q)
        assert demo.next(t) is None
        demo.on_controller("TRACKING", "", True)
        assert demo.next(t + 1.0) is None
        demo.on_controller("HOLDING", "arrived", True)
        t, q = t + move.duration, move.q1
        ends.append(q)
    np.testing.assert_allclose(ends[:3], demo_postures(LWR, START))
    np.testing.assert_allclose(ends[3:], ends[:3])


def test_a_reaction_does_not_need_a_new_trajectory():
    demo = holding()
    move = demo.next(0.0)
    for mode in ("TRACKING", "REACTING", "RESUMING", "TRACKING"):
        demo.on_controller(mode, "", True)
        assert demo.next(1.0) is None and not demo.needs_position(1.0)
    demo.on_controller("HOLDING", "arrived", True)
    np.testing.assert_allclose(demo.next(5.0).q0, move.q1)


@pytest.mark.parametrize("mode", ["SAFE_HOLD", "DISABLED"])
def test_after_a_safe_hold_it_starts_from_where_the_arm_is(mode):
    demo = holding()
    demo.next(0.0)
    demo.on_controller("TRACKING", "", True)
    demo.on_controller(mode, "joint_states have stopped", True)
    assert demo.next(100.0) is None and not demo.needs_position(100.0)
    demo.on_controller("HOLDING", "cleared", True)
    assert demo.next(101.0) is None and demo.needs_position(101.0)
    demo.on_position(START + 0.1)
    np.testing.assert_allclose(demo.next(101.0).q0, START + 0.1)


def test_a_refused_trajectory_is_followed_by_another_after_a_while():
    demo = holding()
    first = demo.next(0.0)
    assert not demo.needs_position(REJECTED_AFTER - 0.01) and demo.needs_position(REJECTED_AFTER)
    demo.on_position(START)
    second = demo.next(REJECTED_AFTER)
    assert np.abs(second.q1 - first.q1).max() > 0.1


def test_it_waits_for_the_detectors_first_message_but_not_forever():
    demo = holding(heard=False)
    assert demo.next(5.0) is None and demo.next(5.0 + 0.9 * DETECTOR_WAIT) is None
    assert demo.next(5.0 + DETECTOR_WAIT) is not None
    demo = holding(heard=False)
    assert demo.next(5.0) is None
    demo.on_controller("HOLDING", "found here", True)
    assert demo.next(5.1) is not None


def test_postures_can_be_given():
    numbers = tuple(np.concatenate([START, START + 0.2]).tolist())
    demo = holding(postures=split_postures(LWR, numbers))
    np.testing.assert_allclose(demo.next(0.0).q1, START + 0.2)  # not to where it is
    assert split_postures(LWR, (0.0,)) == []
    for wrong in (numbers[:7], numbers[:13], (1.0,)):
        with pytest.raises(rd.ArgumentError, match="7 numbers each"):
            split_postures(LWR, wrong)


def test_speed_is_a_share_of_the_limits():
    move = holding(speed=0.2).next(0.0)
    t = np.linspace(0.0, move.duration, 200)
    share = np.abs(move.at(t).qd) / LWR.qd_max
    np.testing.assert_allclose(share.max(), 0.2, rtol=0.01)


SCENE = """
/**:
  ros__parameters:
    robot: {name: lwr_iii}
/**/simulator_node:
  ros__parameters:
    plant: {start: [0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5]}
    command_timeout: 0.5
    rate: 200.0
/**/controller_node:
  ros__parameters:
    arm: {timeout: 1.0, reaction: none, swing_time: 1.0}  # a busy machine makes commands late
    rate: 200.0
    detector_timeout: 0.0
/**/demo_node:
  ros__parameters:
    active: true
    speed: 0.8
    postures: [0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5,  0.1, -0.5, 0.4, 1.1, 0.5, -0.6, 0.6]
"""


def subscribers(node, topic):
    """Return the names of the nodes that subscribe to a topic."""
    return {info.node_name for info in node.get_subscriptions_info_by_topic(topic)}


def test_the_node_moves_the_arm_stops_when_told_and_goes_on(tmp_path):
    """By topics, without a detector; the subscription to joint states comes and goes."""
    from robodyn_ros.control.arm_controller import Mode
    from robodyn_ros.nodes.controller_node import ControllerNode
    from robodyn_ros.nodes.demo_node import DemoNode
    from robodyn_ros.nodes.simulator_node import SimulatorNode

    path = tmp_path / "scene.yaml"
    path.write_text(SCENE)
    with bench(SimulatorNode, ControllerNode, DemoNode, args=["--params-file", str(path)]) as on:
        _, controller, demo = on.nodes
        sent, modes = [], []
        demo.to_trajectory.local.append(sent.append)
        controller.to_state.local.append(lambda m: modes.append(m.status[0].message))
        on.until(lambda: len(sent) >= 2 and controller.arm.mode is Mode.TRACKING, 30.0)
        # it arrived where it was sent: no position is needed
        on.until(lambda: "demo_node" not in subscribers(on.node, "/joint_states"))
        assert on.set(demo, active=False).successful
        on.until(lambda: controller.arm.mode is Mode.HOLDING, 20.0)
        count = len(sent)
        on.run(0.5)
        assert len(sent) == count and controller.arm.mode is Mode.HOLDING
        controller.arm.safe_hold("by the test")
        assert on.set(demo, active=True).successful
        on.run(0.5)
        assert len(sent) == count
        controller.arm.clear()
        on.until(lambda: controller.arm.mode is Mode.TRACKING, 10.0)
        assert not on.set(demo, postures=[0.0, 1.0]).successful
        wanted = ["HOLDING", "SAFE_HOLD", "HOLDING", "TRACKING"]
        on.until(lambda: modes[-4:] == wanted)
