"""Plant, controller and detector on three hosts: network namespaces, real DDS."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import reporting_node
from network import DELAY, JITTER, network
from ros_harness import own_domain
from soak_processes import write_parameters

from robodyn_ros.resources import share_path

RATE = 200.0  # [Hz], so that three processes fit on a busy machine
LONGEST = 60.0  # [s] for anything to happen
BUSY = 0.1  # [s] that a busy machine may keep a process waiting
HEARTBEAT = 0.1  # [s], of the detector
TOUCHED = {"CONTACT", "COLLISION"}
NODES = {"plant": "simulator_node", "controller": "controller_node", "detector": "dynamics_node"}
SLOW = {  # what a loop with 40 ms of delay can bear
    "arm.frequency": [5.0],
    "arm.braking": 5.0,
    "arm.timeout": 0.5,
}
# and a detector: of samples that come so late, those that were overtaken are lost, several in a
# row, and a gap in their stamps may not be longer than 1 / gain
BEARS_GAPS = {"rate": 50.0, "monitor.gain": [20.0]}
PUSH = {
    "pushes.names": ["tap"],
    "pushes.tap.at": 2.0,
    "pushes.tap.link": "link_6",
    "pushes.tap.force": [-20.0, -20.0, -20.0],
    "pushes.tap.point": [0.05, -0.04, 0.0],
}
QUIET = {"pushes.names": [""]}


@pytest.fixture
def hosts():
    try:
        with network(*NODES) as made:
            yield made
    except OSError as error:
        pytest.skip(f"no network namespaces here: {error}")


class Host:
    """A node's process on its host, and its output."""

    def __init__(self, command, environment, log):
        self.log = log
        with log.open("w") as out, log.with_suffix(".err").open("w") as err:
            self.process = subprocess.Popen(command, stdout=out, stderr=err, env=environment)

    @property
    def said(self):
        lines = self.log.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def states(self, since=0.0):
        return [line["is"] for line in self.said if line["at"] >= since]

    def share(self, state, begin, end):
        """Return the share of this time that it was in a state."""
        lines = [line for line in self.said if line["at"] < end]
        times = [max(line["at"], begin) for line in lines] + [end]
        spans = zip(lines, times, times[1:], strict=False)
        return sum(b - a for line, a, b in spans if line["is"] == state) / (end - begin)

    def comes_to(self, state):
        """Wait until this is its current state."""
        end = time.monotonic() + LONGEST
        while self.states()[-1:] != [state]:
            assert time.monotonic() < end, f"not {state}: {self.said[-5:]}"
            assert self.process.poll() is None, self.log.with_suffix(".err").read_text()
            time.sleep(0.02)

    def until(self, state, since=0.0):
        """Wait for its first change to a state after a time [s]; return the line."""
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            for line in self.said:
                if line["is"] == state and line["at"] >= since:
                    return line
            assert self.process.poll() is None, self.log.with_suffix(".err").read_text()
            time.sleep(0.02)
        errors = self.log.with_suffix(".err").read_text()
        raise AssertionError(f"never {state}: {self.states()}\n{errors}")


@contextmanager
def nodes_on(hosts, plant, controller, detector=None):
    """Run the nodes, each on its host; stop them in the end."""
    own = {node: {"rate": RATE} for node in NODES.values()}
    own["simulator_node"] |= plant
    own["controller_node"] |= controller
    own["dynamics_node"] |= detector or {}
    own["demo_node"] = {"speed": 0.1}
    environment = {
        **os.environ,
        "ROS_DOMAIN_ID": str(own_domain()),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET",
        "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4",  # shared memory would go round the network
    }
    script = str(Path(__file__).with_name("reporting_node.py"))
    with tempfile.TemporaryDirectory() as folder:
        files = [share_path("config", "demo.yaml"), write_parameters(Path(folder, "own"), own)]
        given = [word for path in files for word in ("--params-file", str(path))]
        running = {}
        try:
            for host, node in NODES.items():
                command = [*hosts.inside(host), sys.executable, script, node, "--ros-args", *given]
                running[host] = Host(command, environment, Path(folder, host))
            command = [*hosts.inside("controller"), sys.executable, script, "demo_node"]
            command += ["--ros-args", *given]
            running["demo"] = Host(command, environment, Path(folder, "demo"))
            yield running
        finally:
            for host in running.values():
                host.process.send_signal(signal.SIGTERM)
            for host in running.values():
                try:
                    host.process.wait(20.0)
                except subprocess.TimeoutExpired:
                    host.process.kill()
                    host.process.wait()
                host.end = [line["why"] for line in host.said if line["is"] == "STOPPING"]


def test_loss_and_jitter_are_no_collision_and_a_short_timeout_holds_at_a_real_gap_only(hosts):
    with nodes_on(hosts, PUSH, SLOW, BEARS_GAPS) as at:
        plant, controller, detector = (at[host] for host in NODES)
        detector.until("COLLISION")  # the controller may react before this line is written
        reacting = controller.until("REACTING")
        controller.until("TRACKING", since=reacting["at"])
        detector.comes_to("CLEAR")
        with hosts.rough() as how:
            begun = time.monotonic()
            time.sleep(5.0)
            pushed = time.monotonic()
            assert not TOUCHED & set(detector.states(begun)), (how, detector.said)
            plant.process.send_signal(signal.SIGUSR1)
            reported = detector.until("COLLISION", since=pushed)  # a push is still detected
            reacting = controller.until("REACTING", since=pushed)
            assert reported["at"] - pushed < reporting_node.PUSH_DURATION + BUSY
            assert reacting["at"] - reported["at"] < 2.0 * (DELAY + JITTER) + BUSY
            clear = detector.share("CLEAR", begun, pushed)
            assert clear > 0.7, (how, clear, detector.said)  # else no alarm would mean nothing
            assert "SAFE_HOLD" not in controller.states(), (how, controller.said)
            controller.until("TRACKING", since=reacting["at"])
            detector.comes_to("CLEAR")

            shortened = time.monotonic()
            controller.process.send_signal(signal.SIGUSR2)
            held = controller.until("SAFE_HOLD", since=shortened)
            assert max(held["silence"], held["gap"]) > reporting_node.SHORT_TIMEOUT, held
            time.sleep(1.0)
        assert controller.states(held["at"]) == ["SAFE_HOLD"]  # until it is cleared
        assert not TOUCHED & set(detector.states(shortened))
    _, missed, _, samples = controller.end[0].split()
    assert int(missed) > 0.05 * int(samples)  # the network was rough indeed
    assert [host.process.returncode for host in at.values()] == [0, 0, 0, 0]


def test_a_cut_link_leads_to_a_safe_hold_in_time(hosts):
    """Each link in turn. In the end the network is rough, for a detector that tolerates no gaps:
    it reports UNKNOWN and no contact.
    """
    timeout, detector_timeout = 0.1, 0.5
    given = {**SLOW, "arm.timeout": timeout, "detector_timeout": detector_timeout}
    with nodes_on(hosts, QUIET, given) as at:
        for lost in NODES:
            at["controller"].comes_to("TRACKING")
            at["detector"].comes_to("CLEAR")
            at["plant"].comes_to("DRIVEN")
            cut = time.monotonic()
            hosts.cut(lost)
            held = at["controller"].until("SAFE_HOLD", since=cut)
            if lost == "detector":
                assert "no verdict of the detector" in held["why"]
                assert held["at"] - cut < detector_timeout + HEARTBEAT + BUSY, held
            else:
                assert timeout < held["silence"] < 2.0 * timeout + BUSY, held
                braked = at["plant"].until("HELD", since=cut)
                assert 0.1 < braked["gap"] < 0.1 + 3.0 / RATE, braked  # in the plant's own time
            if lost != "controller":
                blind = at["detector"].until("UNKNOWN", since=cut)
                assert blind["silence"] < 0.06 + BUSY, blind
            hosts.mend(lost)
            mended = time.monotonic()
            if lost != "detector":
                at["plant"].until("DRIVEN", since=mended)
            at["detector"].comes_to("CLEAR")
            time.sleep(0.5)
            assert at["controller"].states(held["at"]) == ["SAFE_HOLD"]  # until it is cleared
            at["controller"].process.send_signal(signal.SIGUSR1)
        assert not TOUCHED & set(at["detector"].states())
        with hosts.rough():
            begun = time.monotonic()
            time.sleep(2.0)
        over = time.monotonic()
        assert at["detector"].share("UNKNOWN", begun, over) > 0.3
        at["detector"].comes_to("CLEAR")
        assert not TOUCHED & set(at["detector"].states())
