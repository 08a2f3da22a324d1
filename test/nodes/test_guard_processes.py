"""Driver, detector and guard as processes: the guard stops the driver, and each may be killed."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from ros_harness import own_domain
from source_tree import ROOT

pytest.importorskip("test_msgs", reason="test_msgs is not installed: pip install '.[test]'")

from rclpy.action import ActionClient  # isort: skip
from rclpy.node import Node  # isort: skip
from rclpy.signals import SignalHandlerOptions  # isort: skip
from sensor_msgs.msg import JointState  # isort: skip
from std_msgs.msg import Bool, Float64MultiArray, String  # isort: skip
from stand_in_driver import ACTION, RATE, SPEED  # isort: skip
from test_msgs.action import Fibonacci  # isort: skip
import rclpy  # isort: skip

from robodyn_ros.nodes.runtime import LATCHED, STATE_IN, make_executor, shut_down, spin  # isort: skip

PARAMETERS = f"""
/**/dynamics_node:
  ros__parameters:
    robot: {{name: planar_2r}}
    rate: {RATE}
    effort: {{source: joint_states}}
    sensing: {{silence: 1.0}}
    monitor:
      gain: [50.0]
      contact: {{base: [4.0]}}
      collision: {{base: [8.0]}}
/**/guard_node:
  ros__parameters:
    robot: {{name: planar_2r}}
    guard: {{silence: 1.0, unknown: act, unknown_time: 2.0, rearm_after: 0.5}}
    means:
      names: [cancel, moveit]
      cancel: {{kind: cancel, target: {ACTION}, timeout: 0.5, next: moveit}}
      moveit: {{kind: event}}
"""
DRIVER, DETECTOR, GUARD, BOTH = "driver", "dynamics_node", "guard_node", "guarded_detector"
LONGEST = 60.0  # [s] for what must happen, on a busy machine


class System:
    """The processes, and an onlooker who moves and pushes the arm."""

    def __init__(self, folder, started):
        self.folder, self.started, self.processes = folder, started, {}
        self.parameters = folder / "guard.yaml"
        self.parameters.write_text(PARAMETERS)
        self.env = {**os.environ, "ROS_DOMAIN_ID": os.environ["ROS_DOMAIN_ID"]}
        paths = [str(ROOT), str(ROOT / "test"), os.environ.get("PYTHONPATH", "")]
        self.env["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self.executor, self.node = make_executor(), Node("onlooker")
        self.executor.add_node(self.node)
        self.states, self.armed, self.events = [], [], []
        subscribe = self.node.create_subscription
        subscribe(JointState, "joint_states", self.states.append, STATE_IN)
        subscribe(Bool, "guard_node/armed", lambda m: self.armed.append(m.data), LATCHED)
        subscribe(String, "trajectory_execution_event", self.events.append, 10)
        self.to_push = self.node.create_publisher(Float64MultiArray, "push", 10)
        self.client = ActionClient(self.node, Fibonacci, ACTION)

    def start(self, name):
        here = Path(__file__).parent
        module = [str(here / "stand_in_driver.py")]
        if name != DRIVER:
            module = ["-m", f"robodyn_ros.nodes.{name}", "--ros-args"]
            module += ["--params-file", str(self.parameters)]
        log = (self.folder / f"{name}.log").open("a")
        process = subprocess.Popen([sys.executable, *module], env=self.env, stdout=log, stderr=log)
        self.processes[name] = process
        self.started.append(process)

    def kill(self, name):
        self.processes[name].send_signal(signal.SIGKILL)
        self.processes[name].wait()

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def until(self, condition, longest=LONGEST):
        spin(self.executor, condition, longest, every=0.01)
        assert condition(), {name: self.log(name) for name in self.processes}

    @property
    def speed(self):
        return self.states[-1].velocity[0] if self.states else 0.0

    def move(self):
        self.until(self.client.server_is_ready)
        self.client.send_goal_async(Fibonacci.Goal())
        self.until(lambda: self.speed > 0.99 * SPEED)

    def push(self, *torque):
        self.to_push.publish(Float64MultiArray(data=list(torque)))

    def until_armed(self):
        self.until(lambda: self.armed[-1:] == [True])


@contextmanager
def system(folder, *names):
    started = []
    there = System(folder, started)
    try:
        for name in names:
            there.start(name)
        yield there
    finally:
        for process in started:
            process.send_signal(signal.SIGINT)
        for process in started:
            try:
                process.wait(20.0)
            except subprocess.TimeoutExpired:
                process.kill()
        shut_down(there.executor, [there.node])


@pytest.fixture(autouse=True)
def domain(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(own_domain()))


def test_a_push_stops_the_driver_and_each_side_may_be_killed(tmp_path):
    with system(tmp_path, DRIVER, DETECTOR, GUARD) as there:
        there.until_armed()
        # a push stops the driver; the arm then rests although no one commands it to
        there.move()
        there.push(20.0, 15.0)
        there.until(lambda: abs(there.speed) < 1e-9)
        there.until(lambda: there.armed[-1] is False)
        there.push(0.0, 0.0)
        there.until_armed()  # rearm_after
        assert there.events == []
        # the guard is killed and comes back: armed by the first verdict, and it still stops
        there.kill(GUARD)
        there.armed.clear()
        there.start(GUARD)
        there.until_armed()
        there.move()
        there.push(20.0, 15.0)
        there.until(lambda: abs(there.speed) < 1e-9)
        there.push(0.0, 0.0)
        there.until_armed()
        # the detector is killed: a moving arm without a detector is stopped
        there.move()
        there.kill(DETECTOR)
        there.until(lambda: abs(there.speed) < 1e-9)
        assert "no verdict of the detector" in there.log(GUARD)
        assert there.armed[-1] is False
        there.start(DETECTOR)
        there.until_armed()
        # the driver is killed after it has moved: no answer, so the next means is tried
        assert there.events == []
        there.kill(DRIVER)
        there.until(lambda: there.events)
        said = there.log(GUARD)
        assert "stop by cancel (arm/follow) failed: no answer within 0.5 s; trying moveit" in said
        assert said.count("STOP: ") == 4
        assert "Traceback" not in said


def test_detector_and_guard_in_one_process_stop_the_driver(tmp_path):
    with system(tmp_path, DRIVER, BOTH) as there:
        there.until_armed()
        there.move()
        begun = time.monotonic()
        there.push(20.0, 15.0)
        there.until(lambda: abs(there.speed) < 1e-9)
        assert time.monotonic() - begun < LONGEST
        said = there.log(BOTH)
        assert "COLLISION" in said and said.count("STOP: ") == 1
        there.push(0.0, 0.0)
        there.until_armed()
    assert [process.returncode for process in there.processes.values()] == [0, 0]
    assert "Traceback" not in there.log(BOTH)
