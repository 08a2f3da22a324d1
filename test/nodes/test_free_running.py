"""Plant, controller and detector in one process and in simulated time: the same, every time."""

import numpy as np
import pytest
from ros_harness import bench

from robodyn_ros.control.arm_controller import Mode  # isort: skip
from robodyn_ros.nodes.composed import connect  # isort: skip
from robodyn_ros.nodes.controller_node import ControllerNode  # isort: skip
from robodyn_ros.nodes.demo_node import DemoNode  # isort: skip
from robodyn_ros.nodes.dynamics_node import DynamicsNode  # isort: skip
from robodyn_ros.nodes.local_topics import LocalQueue  # isort: skip
from robodyn_ros.nodes.codec import seconds  # isort: skip
from robodyn_ros.nodes.simulator_node import SimulatorNode  # isort: skip

SCENE = """
/**:
  ros__parameters:
    use_sim_time: true
    robot: {name: lwr_iii}
/**/simulator_node:
  ros__parameters:
    free_running: true
    plant: {start: [0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0], noise: true, seed: 5}
    pushes:
      names: [tap]
      tap: {at: 0.6, link: link_6, force: [30.0, 20.0, 0.0], duration: 0.1}
/**/dynamics_node:
  ros__parameters:
    effort: {source: joint_states}
    heartbeat: 0.0
/**/demo_node:
  ros__parameters: {active: true}
/**/controller_node:
  ros__parameters:
    lockstep: true
    arm: {reaction: reflex, resume_after: 0.2}
"""


def connect_demo(nodes):
    """Let demo_node talk by plain calls: its trajectories begin at the same sample every time."""
    simulator, _, controller, demo = nodes
    connect([controller, demo])
    for subscription in demo.local_subscriptions:
        for publisher in simulator.local_publishers:
            subscription.connect(publisher, LocalQueue())


def play(path, until, near):
    """Stamps and residuals up to a time, what the detector said, and the controller's modes."""
    modes = []
    makers = SimulatorNode, DynamicsNode, ControllerNode, DemoNode
    with bench(*makers, args=["--params-file", path]) as there:
        controller = there.nodes[2]
        connect_demo(there.nodes)
        if near:
            connect(there.nodes)
        # As they are said: at full speed a subscription may miss some
        residuals, states = [], []

        def keep(message):
            residuals.append((seconds(message.header.stamp), tuple(message.effort)))

        there.nodes[1].to_residual.local.append(keep)
        there.nodes[1].to_state.local.append(lambda m: states.append(m.status[0].message))

        def over():
            if not modes or modes[-1] is not controller.arm.mode:
                modes.append(controller.arm.mode)
            return residuals and residuals[-1][0] >= until

        there.until(over, 60.0)
    return dict(residuals), states, modes


@pytest.mark.parametrize("near", [False, True], ids=["by topics", "by calls"])
def test_the_loop_is_deterministic_and_does_all_that_it_should(tmp_path, near):
    path = tmp_path / "scene.yaml"
    path.write_text(SCENE)
    first, states, modes = play(str(path), 5.0, near)
    again, _, _ = play(str(path), 5.0, near)
    both = sorted(set(first) & set(again))
    assert len(both) > 1900
    assert all(first[t] == again[t] for t in both)  # bit for bit
    assert np.ptp([first[t] for t in both]) > 1.0  # and it was no standstill
    assert "COLLISION" in states and states[-1] == "CLEAR"
    assert [m for m in modes if m is not Mode.HOLDING][:3] == [
        Mode.TRACKING,
        Mode.REACTING,
        Mode.RESUMING,
    ]
