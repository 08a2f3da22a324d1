"""Nodes as processes for soaks and crashes: started, killed, stopped, and watched."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from robodyn_ros.nodes.terminal import use_loopback

HERE = Path(__file__).parent
TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
DOMAINS = range(210, 230)
STOPPING = 20.0  # [s] that a node may take to end after a signal


def stay_apart() -> None:
    """On this machine only, as the demo does, in a domain where nobody is, nor any test."""
    empty = next(filter(_nobody_in, DOMAINS), DOMAINS[0])
    os.environ.setdefault("ROS_DOMAIN_ID", str(empty))
    use_loopback()


def _nobody_in(domain: int) -> bool:
    """Whether the port on which a domain's first participant is asked for is free."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.bind(("127.0.0.1", 7410 + 250 * domain))
        except OSError:
            return False
    return True


class Resources(NamedTuple):
    """What a process holds."""

    rss: float  # [MB]
    threads: int
    files: int
    cpu: float  # [s], used so far


class NodeProcess:
    """A node that can be started again and again."""

    def __init__(
        self, command: Sequence[str], log: Path, environment: dict[str, str] | None = None
    ) -> None:
        self.command, self.log = list(command), log
        self.environment = {**os.environ, **(environment or {})}
        self.started = 0.0  # [s], of the monotonic clock
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        """A new process; what it says is added to the log."""
        with self.log.open("a") as log:
            self.started = time.monotonic()
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, env=self.environment
            )

    @property
    def running(self) -> bool:
        """Whether it is there."""
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """As if it had crashed."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> int | None:
        """Asked politely; its exit code, or None if it had to be killed."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOPPING)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def resources(self) -> Resources:
        """What it holds now."""
        place = Path(f"/proc/{self.process.pid if self.process else 0}")
        fields = (place / "stat").read_text().rsplit(")", 1)[1].split()
        return Resources(
            int((place / "statm").read_text().split()[1]) * PAGE / 1e6,
            int(fields[17]),
            len(os.listdir(place / "fd")),
            (int(fields[11]) + int(fields[12])) / TICK,
        )


def node_command(module: str, files: Sequence[Path], *more: str) -> list[str]:
    """How to start a node of the package, or a script beside this one, with these parameters."""
    script, *words = module.split()
    how = [str(HERE / script), *words] if script.endswith(".py") else ["-m", script]
    given = [word for path in files for word in ("--params-file", str(path))]
    return [sys.executable, *how, "--ros-args", *given, *more]


def write_parameters(path: Path, nodes: dict[str, dict[str, Any]]) -> Path:
    """A parameter file by full node names, which win over patterns; JSON is YAML."""
    content = {f"/{node}": {"ros__parameters": values} for node, values in nodes.items()}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@contextmanager
def stopped_in_the_end(processes: Sequence[NodeProcess]) -> Iterator[None]:
    """Whatever happens, none of them is left behind: a signal ends the block like an error."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        for process in processes:
            if process.running:
                process.process.send_signal(signal.SIGTERM)
        for process in processes:
            process.stop()


def busy_cores() -> float:
    """[s] of processor time that all programs of this machine have used."""
    numbers = _processor_times()
    idle = numbers[3] + numbers[4]
    return (sum(numbers[:8]) - idle) / TICK


def withheld_time() -> float:
    """[s] in which this machine, if it is a virtual one, wanted to run and its host did not let
    it.
    """
    return _processor_times()[7] / TICK


def _processor_times() -> list[int]:
    """Ticks, of all cores: user, nice, system, idle, waiting, interrupts (2), withheld, guests."""
    return [int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
