"""Plant, controller and detector in one process and in simulated time: the same, every time."""

import numpy as np
from ros_harness import bench

from diagnostic_msgs.msg import DiagnosticStatus  # isort: skip
from sensor_msgs.msg import JointState  # isort: skip

from robodyn_ros.control.arm_controller import Mode  # isort: skip
from robodyn_ros.nodes.controller_node import ControllerNode  # isort: skip
from robodyn_ros.nodes.dynamics_node import DynamicsNode  # isort: skip
from robodyn_ros.nodes.runtime import LATCHED, STATE_IN, seconds  # isort: skip
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
    effort: joint_states
    heartbeat: 0.0
/**/controller_node:
  ros__parameters:
    motion: demo
    lockstep: true
    arm: {reaction: reflex, resume_after: 0.2}
"""


def play(path, until):
    """Stamps and residuals up to a time, what the detector said, and the controller's modes."""
    modes = []
    with bench(SimulatorNode, ControllerNode, DynamicsNode, args=["--params-file", path]) as there:
        _, controller, _ = there.nodes
        residuals = there.collect(JointState, "dynamics_node/residual", STATE_IN)
        states = there.collect(DiagnosticStatus, "dynamics_node/collision_state", LATCHED)

        def over():
            if not modes or modes[-1] is not controller.arm.mode:
                modes.append(controller.arm.mode)
            return residuals and seconds(residuals[-1].header.stamp) >= until

        there.until(over, 60.0)
    found = {seconds(r.header.stamp): tuple(r.effort) for r in residuals}
    return found, [s.message for s in states], modes


def test_the_loop_is_deterministic_and_does_all_that_it_should(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text(SCENE)
    first, states, modes = play(str(path), 5.0)
    again, _, _ = play(str(path), 5.0)
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
