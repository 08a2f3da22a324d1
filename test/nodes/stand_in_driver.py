"""A driver as a vendor's: joint states with measured torque, and an action that moves the arm.

    python stand_in_driver.py

Joint 1 of planar_2r turns while a goal runs, and brakes when it is cancelled. `push` sets a torque
on the joints that is not told, but seen in the effort.
"""

import signal
import time

import numpy as np
import rclpy
from rclpy.action import ActionServer, CancelResponse
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from test_msgs.action import Fibonacci

import robodyn_ros as rd
from robodyn_ros.nodes.codec import set_stamp
from robodyn_ros.nodes.runtime import make_executor, shut_down, spin

RATE = 200.0  # [Hz]
SPEED, BRAKING = 0.3, 1.0  # [rad/s], [rad/s^2]
ACTION = "arm/follow"


class StandInDriver(Node):
    """Moves joint 1 while a goal runs."""

    def __init__(self):
        super().__init__("driver")
        self.model = rd.robots.planar_2r()
        self.q, self.qd = np.array([0.3, 0.4]), np.zeros(2)
        self.push, self.goal = np.zeros(2), None
        self.at = time.time()  # [s], of the last step
        self.to_states = self.create_publisher(JointState, "joint_states", QoSProfile(depth=10))
        self.create_subscription(Float64MultiArray, "push", self.on_push, 10)
        self.server = ActionServer(
            self,
            Fibonacci,
            ACTION,
            execute_callback=lambda goal: Fibonacci.Result(),
            handle_accepted_callback=self.on_goal,
            cancel_callback=lambda goal: CancelResponse.ACCEPT,
        )
        self.create_timer(1.0 / RATE, self.step)

    def on_push(self, message):
        self.push = np.array(message.data)

    def on_goal(self, goal):
        self.goal = goal

    def step(self):
        now = time.time()
        dt, self.at = now - self.at, now
        moving = self.goal is not None and not self.goal.is_cancel_requested
        wanted, change = (SPEED if moving else 0.0), BRAKING * dt
        qdd = np.array([np.clip(wanted - self.qd[0], -change, change) / dt, 0.0])
        before, self.qd = self.qd, self.qd + qdd * dt
        self.q = self.q + 0.5 * (before + self.qd) * dt + 1e-12
        tau = rd.inverse_dynamics(self.model, self.q, self.qd, qdd) - self.push
        message = JointState(name=list(self.model.joint_names))
        set_stamp(message.header.stamp, now)
        message.position, message.velocity = self.q.tolist(), self.qd.tolist()
        message.effort = tau.tolist()
        self.to_states.publish(message)
        if self.goal is not None and self.goal.is_cancel_requested and not self.qd.any():
            self.goal.canceled()
            self.goal = None


def main():
    ended = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.append(True))
    rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    executor, node = make_executor(), StandInDriver()
    executor.add_node(node)
    try:
        spin(executor, lambda: bool(ended))
    finally:
        shut_down(executor, [node])


if __name__ == "__main__":
    main()
