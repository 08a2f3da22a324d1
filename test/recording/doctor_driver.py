"""A driver that publishes a recorded motion of lwr_iii and its description, in its own process."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from source_tree import ROOT


def publish_states(t, q, qd, effort):
    """Start the driver; return its process."""
    path = Path(tempfile.mkdtemp()) / "states.npz"
    np.savez(path, t=t, q=q, qd=qd, effort=effort)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "test")])}
    return subprocess.Popen([sys.executable, __file__, str(path)], env=env)


def main():
    import rclpy
    from rclpy.signals import SignalHandlerOptions
    from sensor_msgs.msg import JointState
    from std_msgs.msg import String

    import robodyn_ros as rd
    from robodyn_ros.nodes.codec import set_stamp
    from robodyn_ros.nodes.discovery import use_loopback
    from robodyn_ros.nodes.runtime import LATCHED

    use_loopback()
    model, states = rd.robots.lwr_iii(), dict(np.load(sys.argv[1]))
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("driver")
    description = node.create_publisher(String, "robot_description", LATCHED)
    description.publish(String(data=rd.to_urdf(model)))
    publisher = node.create_publisher(JointState, "joint_states", 10)
    message = JointState(name=list(model.joint_names))
    begun, start, k = time.monotonic(), time.time(), 0
    while True:
        i = k % len(states["t"])
        time.sleep(max(0.0, begun + k * 0.005 - time.monotonic()))
        set_stamp(message.header.stamp, start + k * 0.005)  # when it was measured
        message.position = states["q"][i].tolist()
        message.velocity = states["qd"][i].tolist()
        message.effort = states["effort"][i].tolist()
        publisher.publish(message)
        k += 1


if __name__ == "__main__":
    main()
