"""Hosts of a test: network namespaces on a bridge."""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

SUBNET = "10.77.0"
LOSS, DELAY, JITTER = 0.05, 0.02, 0.02  # share; [s]


def ip(*words):
    """Run `ip`; raise OSError with its message."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True, timeout=20)
    if done.returncode:
        raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")


class Network:
    """A namespace per host, and one for the bridge."""

    def __init__(self, hosts):
        self.hosts = list(hosts)
        self.address = {host: f"{SUBNET}.{k + 1}" for k, host in enumerate(self.hosts)}
        self._made = []

    def name(self, host):
        return f"robodyn_{os.getpid()}_{host}"

    def inside(self, host):
        """Return the words before a command that runs it on this host."""
        return ["ip", "netns", "exec", self.name(host)]

    def make(self):
        for host in ("bridge", *self.hosts):
            ip("netns", "add", self.name(host))
            self._made.append(host)
        bridge = self.name("bridge")
        ip("-n", bridge, "link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        ip("-n", bridge, "link", "set", "br0", "up")
        for host in self.hosts:
            there = self.name(host)
            ip("-n", bridge, "link", "add", host, "type", "veth", "peer", "name", "eth0")
            ip("-n", bridge, "link", "set", "eth0", "netns", there)
            ip("-n", bridge, "link", "set", host, "master", "br0", "up")
            ip("-n", there, "address", "add", f"{self.address[host]}/24", "dev", "eth0")
            for link in ("lo", "eth0"):
                ip("-n", there, "link", "set", link, "up")
            ip("-n", there, "route", "add", "default", "dev", "eth0")  # for multicast

    def cut(self, host):
        ip("-n", self.name("bridge"), "link", "set", host, "down")

    def mend(self, host):
        ip("-n", self.name("bridge"), "link", "set", host, "up")

    @contextmanager
    def rough(self):
        """Lose and delay packets; yield by which means."""
        if self._netem("replace"):
            try:
                yield "tc netem"
            finally:
                self._netem("delete")
            return
        script = str(Path(__file__).with_name("rough_bridge.py"))
        numbers = [str(x) for x in (LOSS, DELAY, JITTER)]
        command = [*self.inside("bridge"), sys.executable, script, *numbers, *self.hosts]
        self._master("nomaster")
        bridge = subprocess.Popen(command)
        try:
            yield "a bridge in Python"
            assert bridge.poll() is None, "the bridge has ended"
        finally:
            bridge.kill()
            bridge.wait()
            self._master("master", "br0")

    def _netem(self, what):
        """Add or remove netem on all hosts; return whether the kernel can."""
        words = ["tc", "qdisc", what, "dev", "eth0", "root", "netem"]
        if what == "replace":
            words += ["delay", f"{1e3 * DELAY}ms", f"{1e3 * JITTER}ms", "loss", f"{100 * LOSS}%"]
        done = [
            subprocess.run([*self.inside(host), *words], capture_output=True, timeout=20)
            for host in self.hosts
        ]
        return all(one.returncode == 0 for one in done)

    def _master(self, *words):
        for host in self.hosts:
            ip("-n", self.name("bridge"), "link", "set", host, *words)

    def remove(self):
        for host in self._made:
            ip("netns", "delete", self.name(host))


@contextmanager
def network(*hosts):
    """Yield connected hosts; OSError if this is not permitted."""
    if os.geteuid() != 0:
        raise OSError("network namespaces need root")
    missing = [tool for tool in ("ip", "tc") if shutil.which(tool) is None]
    if missing:
        raise OSError(f"{', '.join(missing)} is not installed (iproute2)")
    made = Network(hosts)
    try:
        made.make()
        yield made
    finally:
        made.remove()
