"""What a node compiles: all that it calls, before it is ready, and with a word about it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ros_harness import own_domain
from test_free_running import SCENE

from robodyn_ros.resources import share_path

COMPILING = "kernels, about"
COMPILED = "] [robodyn_ros]: compiled"

# In a process of its own, where no other test has loaded a kernel
LATE = """
import sys
sys.path[:0] = sys.argv[2:]
from ros_harness import bench
from test_free_running import connect_demo
from robodyn_ros.dynamics.compile import KERNELS
from robodyn_ros.dynamics.compile_ahead import compile_kernels
from robodyn_ros.nodes import composed as nodes
from robodyn_ros.nodes.node_kernels import ALL

def loaded():
    return {kernel for kernel in KERNELS if "compiled" in kernel.__dict__}

compile_kernels(ALL)
makers = nodes.SimulatorNode, nodes.DynamicsNode, nodes.ControllerNode, nodes.DemoNode
laws = ["passivity", "computed_torque", "pd_gravity", "pid", "task_space", "adaptive", "elastic"]
reactions = ["reflex", "admittance", "float", "stop", "null_space", "stop", "stop"]
with bench(*makers, args=["--params-file", sys.argv[1]]) as there:
    controller = there.nodes[2]
    connect_demo(there.nodes)
    nodes.connect(there.nodes)
    first, reacted = loaded(), set()
    for law, reaction in zip(laws, reactions):
        assert there.set(controller, arm__controller=law, arm__friction=True).successful
        assert there.set(controller, arm__reaction=reaction).successful
        until = controller.now() + 1.5

        def over():
            reacted.add(controller.arm.mode.name)
            return controller.now() > until

        there.until(over, 60.0)
print(sorted(kernel.__name__ for kernel in loaded() - first), "REACTING" in reacted)
"""

# What a detector calls while it is made
MADE = """
import sys
import rclpy
from robodyn_ros.dynamics.compile import KERNELS, with_callees
from robodyn_ros.nodes.dynamics_node import DETECTOR, NAMES, DynamicsNode

rclpy.init(args=sys.argv)
DynamicsNode().destroy_node()
loaded = {kernel for kernel in KERNELS if "compiled" in kernel.__dict__}
print(sorted(kernel.__name__ for kernel in loaded - set(with_callees((*DETECTOR, *NAMES)))))
"""

# A payload that is taken over by a detector whose kernels have arrived
LOADED = """
import numpy as np
import robodyn_ros as rd
from robodyn_ros.detection.monitor import ContactMonitor
from robodyn_ros.dynamics.compile import KERNELS, with_callees
from robodyn_ros.nodes.detector_kernels import DETECTOR, NAMES
from robodyn_ros.sensing.sample import Sample, Status

for kernel in with_callees((*DETECTOR, *NAMES)):
    _ = kernel.compiled
model = rd.robots.lwr_iii()
monitor = ContactMonitor(model, commanded=True)
q, rest = np.full(7, 0.5), np.zeros(7)
first = {kernel for kernel in KERNELS if "compiled" in kernel.__dict__}
for k in range(200):
    status = Status.OK if k else Status.RESTART
    monitor.update(Sample(0.001 * k, 0.001, q + 1e-6 * k, rest, np.zeros(7), status))
monitor.set_payload(rd.Payload("link_7", 1.5, (0.0, 0.0, 0.1)))
loaded = {kernel for kernel in KERNELS if "compiled" in kernel.__dict__}
print(sorted(kernel.__name__ for kernel in loaded - first))
"""


@pytest.fixture
def env(tmp_path):
    """The environment of a process for which nothing is compiled."""
    return {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "ROS_DOMAIN_ID": str(own_domain()),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
    }


def start(node, env):
    parameters = str(share_path("config", "demo.yaml"))
    command = ["-m", f"robodyn_ros.nodes.{node}", "--ros-args", "--params-file", parameters]
    return subprocess.Popen([sys.executable, *command], env=env, stderr=subprocess.PIPE, text=True)


def lines_until(process, text):
    """Return what a process logs, up to a line with this text."""
    lines = []
    for line in process.stderr:
        lines.append(line)
        if text in line:
            return lines
    raise AssertionError("".join(lines))


def test_a_first_start_says_that_it_compiles_and_a_second_does_not(env):
    for count in (1, 0):
        process = start("demo_node", env)
        try:
            lines = lines_until(process, "ready for lwr_iii")
        finally:
            process.send_signal(signal.SIGINT)
            rest = process.communicate(timeout=60)[1]
        assert sum(COMPILING in line for line in lines) == count
        assert sum(COMPILED in line for line in lines) == count
        assert (process.returncode, rest) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_compilation_ends_a_node_with_one_line(env, number):
    process = start("dynamics_node", env)
    lines = lines_until(process, COMPILING)
    process.send_signal(number)
    rest = process.communicate(timeout=60)[1]
    assert len(lines) == 1
    assert (process.returncode, rest) == (0, "interrupted while compiling kernels\n")


def test_a_detector_is_made_of_its_own_kernels(env):
    del env["NUMBA_CACHE_DIR"]
    command = ["-c", MADE, "--ros-args", "--params-file", str(share_path("config", "demo.yaml"))]
    done = subprocess.run([sys.executable, *command], env=env, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stdout + done.stderr


def test_a_first_payload_loads_no_kernel(env):
    del env["NUMBA_CACHE_DIR"]
    done = subprocess.run([sys.executable, "-c", LOADED], env=env, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stdout + done.stderr


def test_no_kernel_is_left_for_the_control_loop(tmp_path, env):
    push = "{{at: {}, link: link_6, force: [30.0, 20.0, 0.0], duration: 0.1}}"
    pushes = {f"tap_{k}": push.format(0.6 + 1.5 * k) for k in range(6)}
    scene, _, rest = SCENE.partition("      names: [tap]\n")
    names = f"      names: [{', '.join(pushes)}]\n"
    taps = "".join(f"      {name}: {value}\n" for name, value in pushes.items())
    path = tmp_path / "scene.yaml"
    path.write_text(scene + names + taps + rest.partition("\n")[2])
    del env["NUMBA_CACHE_DIR"]
    here = Path(__file__).parent
    command = [sys.executable, "-c", LATE, str(path), str(here), str(here.parent)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=900)
    assert done.stdout == "[] True\n", done.stdout + done.stderr
