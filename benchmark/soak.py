"""The demo for hours: pushed, its parameters changed, its nodes restarted, and watched.

    python benchmark/soak.py [--mode free|wall|both] [--time SECONDS] [--rate HZ] [--processes]
                             [--out PREFIX] [--seed N] [--checkpoint FILE]

free: as fast as it goes, the time is simulated. wall: on the wall clock, 1 kHz unless told. In the
first fifth the nodes are restarted again and again, by SIGTERM and by kill -9 in turn; from then
on memory, threads and files are watched, while a second detector comes and goes beside them, and
faults and payloads of the arm, during which nobody pushes it. The
nodes run in one process, or with --processes (on the wall clock) in one each. Everything that was
seen goes to PREFIX_<mode>.rows while it runs, in the end a table, PREFIX_<mode>.json and .png; it
fails if a bar is missed. A run that was ended goes on from its checkpoint, with new processes:
what was counted is kept, and memory is judged within each sitting.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from checkpoint import OPTION, Checkpoint
from diagnostic_msgs.msg import DiagnosticArray
from figures import Figure, figures_table
from geometry_msgs.msg import WrenchStamped
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rich.console import Console
from rich.progress import Progress
from soak_processes import (
    NodeProcess,
    busy_cores,
    node_command,
    stay_apart,
    stopped_in_the_end,
    write_parameters,
)
from soak_verdict import Outcome, Row, figures, plot, verdict
from soak_witness import Tally
from std_msgs.msg import String
from std_srvs.srv import Trigger

from robodyn_ros.nodes.demo import DEMO_NODES, NODES
from robodyn_ros.nodes.runtime import spin
from robodyn_ros.nodes.terminal import open_terminal
from robodyn_ros.resources import share_path

RATES = {"free": 250.0, "wall": 1000.0}  # [Hz]
# [s] after which memory can be judged: 20 minutes each where a free run is 15 times as fast
TIMES = {"free": 18000.0, "wall": 1200.0}
STARTING = 3.0  # [s] in which a process still grows
RESTARTING, SETTLED = 0.2, 0.35  # shares of the time: restarts until, watched from
RESTARTS, SOONEST = 12, 10.0  # in the first part, and [s] that each life lasts at least
YOUNG = 4.0  # [s] after a start in which nothing is asked of a node, nor counted
PUSH, SETTING, GUEST, VISIT = 2.0, 3.0, 30.0, 5.0  # [s] of wall time, from one to the next
TOLD = 120.0  # [s] between lines where there is no terminal
LOST = 60.0  # [s] without a sign of life: it hangs
# Where the arm is pushed, and how hard about the joint's axis: twice what makes a collision [N m]
PUSHES = {
    "link_2": 10.0,
    "link_3": 4.0,
    "link_4": 4.0,
    "link_5": 2.4,
    "link_6": 4.0,
    "link_7": 2.0,
}
SIDEWAYS = 10.0  # [N], beside it
# The sensors' noise grows with the gain: at 60 1/s the lowest threshold is 7.6 standard deviations
# of it; at 80, 5.8: an alarm of noise alone in ten days
CHANGES: list[tuple[str, str, Any]] = [
    ("dynamics_node", "monitor.gain", [40.0, 50.0, 60.0]),
    ("dynamics_node", "monitor.release", [0.03, 0.05]),
    ("controller_node", "arm.frequency", [20.0, 25.0, 30.0]),
    ("controller_node", "arm.reaction", ["stop", "float", "reflex", "admittance", "none"]),
    ("controller_node", "arm.damping", [3.0, 5.0, 8.0]),
    ("simulator_node", "push_duration", [0.15, 0.2, 0.3]),
]
# Every so many seconds of wall time a fault or payload, for so long; then all is well again
INJECTED, LASTS, HEALED = 20.0, 3.0, 6.0  # [s]
INJECTIONS: dict[str, dict[str, Any]] = {
    "payload of 0.8 kg": {"payload.mass": 0.8},
    "bias": {"fault.kind": "bias", "fault.joint": "joint_2", "fault.value": [15.0]},
    "payload of 2 kg": {"payload.mass": 2.0},
    "effectiveness": {
        "fault.kind": "effectiveness",
        "fault.joint": "joint_2",
        "fault.value": [0.6],
    },
    "effort_scale": {"fault.kind": "effort_scale", "fault.joint": "joint_2", "fault.value": [0.4]},
    "sensor_freeze": {"fault.kind": "sensor_freeze", "fault.joint": "joint_4"},
}
NOTHING = {"payload.mass": 0.0, "fault.kind": "none"}
REFUSED: list[tuple[str, str, Any]] = [
    ("dynamics_node", "monitor.gain", [-1.0]),
    ("controller_node", "arm.frequency", [math.nan]),
    ("controller_node", "arm.torque_share", [3.0]),
    ("simulator_node", "push_duration", [0.0]),
]


def parameters(mode: str, rate: float, folder: Path) -> list[Path]:
    """The demo's, with noisy sensors, and pushes from outside instead of the script."""
    free = {"use_sim_time": True} if mode == "free" else {}
    own: dict[str, dict[str, Any]] = {node: {"rate": rate, **free} for node in NODES}
    own["demo_node"] = free
    own["simulator_node"] |= {"pushes.names": [""], "plant.noise": True}
    own["simulator_node"] |= {"free_running": True} if mode == "free" else {}
    own["dynamics_node"] |= {"heartbeat": 0.05, "payload.follow": True}
    own["witness_node"] = {"rate": rate}
    return [share_path("config", "demo.yaml"), write_parameters(folder / "own.yaml", own)]


def node_processes(nodes: str, files: list[Path], log: Path) -> dict[str, NodeProcess]:
    """The processes under watch, and a witness of its own where they are several."""
    modules = {"composed": "soak_nodes.py composed"}
    if nodes == "processes":
        modules = {node: f"robodyn_ros.nodes.{node}" for node in DEMO_NODES}
        modules["witness"] = "soak_nodes.py alone"
    return {name: NodeProcess(node_command(what, files), log) for name, what in modules.items()}


class Soak:
    """One run: what happens when, and what is seen of it."""

    def __init__(
        self, arguments: argparse.Namespace, mode: str, folder: Path, kept: Checkpoint
    ) -> None:
        self.span = arguments.time or TIMES[mode]
        self.random = np.random.default_rng(arguments.seed)
        nodes = "processes" if arguments.processes and mode == "wall" else "composed"
        self.outcome = Outcome(mode, nodes, arguments.rate or RATES[mode])
        self.out = arguments.out.with_name(f"{arguments.out.name}_{mode}")
        files = parameters(mode, self.outcome.rate, folder)
        self.processes = node_processes(nodes, files, self.out.with_suffix(".log"))
        guest = ["-r", "__node:=guest", "-p", "robot.name:=lwr_iii"]
        guest += ["-p", "effort.source:=joint_states"]
        guest += ["-p", f"use_sim_time:={str(mode == 'free').lower()}"]
        self.guest = NodeProcess(
            node_command("robodyn_ros.nodes.dynamics_node", [], *guest),
            self.out.with_suffix(".log"),
        )
        self._witness = "composed" if nodes == "composed" else "witness"
        self.rows: list[Row] = []
        self.mode = ""  # of the arm
        self.begun = math.inf  # [s], when the nodes were first heard
        self._due: dict[str, float] = {}  # [s], when each thing happens next
        self._base, self._seen = (0, 0), (0, 0)  # cycles and misses of the plant's process
        self._latency = (0.0, 0.0)
        self._busy, self._used, self._looked = 0.0, 0.0, 0.0
        self._injected = ""  # what acts, or acted lately
        self._ends = self._heals = math.inf  # [s] of wall time
        self.kept = kept
        # Of the sittings before this one: how many, [s] that they lasted, with and without starts
        self.sitting, self.lasted, self._wall = 0, 0.0, 0.0
        self.ended = False  # to its end, or by a failure
        if mode in kept.state:
            self._resume(**kept.state[mode])
        self._from = self.progress  # where this sitting begins

    def _resume(
        self, outcome: dict, random: dict, rows: int, sitting: int, lasted: float, ended: bool
    ) -> None:
        """Go on where the last sitting was when it was kept last."""
        self.outcome = Outcome.read(outcome)
        self.random.bit_generator.state = random
        lines = self.out.with_suffix(".rows").read_text(encoding="utf-8").splitlines()[:rows]
        self.rows = [Row(**json.loads(line)) for line in lines]
        self._wall = self.rows[-1].wall if self.rows else 0.0
        self.sitting, self.lasted, self.ended = sitting + 1, lasted, ended

    def keep(self) -> None:
        """Write the checkpoint; the rows are in their own file."""
        self.kept.state[self.outcome.mode] = {
            "outcome": asdict(self.outcome),
            "random": self.random.bit_generator.state,
            "rows": len(self.rows),
            "sitting": self.sitting,
            "lasted": self.progress * self.span,
            "ended": self.ended,
        }
        self.kept.save()

    # what it is asked

    def connect(self, node: Any) -> None:
        """Hear and speak to the nodes."""
        self._node = node
        node.create_subscription(String, "soak/tally", self._tallied, 10)
        node.create_subscription(DiagnosticArray, "/diagnostics", self._diagnosed, 10)
        self._pusher = node.create_publisher(WrenchStamped, "simulator_node/push", 10)
        self._clear = node.create_client(Trigger, "controller_node/clear")
        self._clients = {name: AsyncParameterClient(node, name) for name in NODES}

    @property
    def progress(self) -> float:
        """Share of the time that is over."""
        if self.outcome.mode == "free":
            return self.simulated / self.span
        return (self.lasted + max(time.monotonic() - self.begun, 0.0)) / self.span

    @property
    def simulated(self) -> float:
        """[s], of all lives together."""
        return sum(t.now - t.first for t in self.outcome.tallies if t.now is not None)

    @property
    def settled(self) -> bool:
        """Whether memory and the like are to stay from now on."""
        youngest = max(process.started for process in self.processes.values())
        # New processes are given as long as after the last restart of a first sitting
        begun = max(SETTLED, self._from + SETTLED - RESTARTING) if self.sitting else SETTLED
        return self.progress >= begun and time.monotonic() - youngest > STARTING

    def run(self, show: Callable[[Soak], None]) -> None:
        """All of it; show(self) is called every second."""
        everything = [*self.processes.values(), self.guest]
        rows = "".join(json.dumps(asdict(row)) + "\n" for row in self.rows)
        self.out.with_suffix(".rows").write_text(rows, encoding="utf-8")
        if not self.sitting:
            self.out.with_suffix(".log").write_text("", encoding="utf-8")
        with stopped_in_the_end(everything), open_terminal() as (node, executor):
            self.connect(node)
            self.started = self._looked = time.monotonic()
            for process in self.processes.values():
                process.start()
            self.outcome.tallies.append(Tally())
            self._alive, self._born = time.monotonic(), math.inf
            try:
                spin(executor, lambda: self._step(show), every=0.1)
                self.ended = True
                for name, process in self.processes.items():
                    if process.stop() != 0:
                        self.outcome.wrong_ends.append(f"{name} at the end")
            finally:
                self.keep()

    def _step(self, show: Callable[[Soak], None]) -> bool:
        now = time.monotonic()
        for name, process in self.processes.items():
            if not process.running:
                self.outcome.wrong_ends.append(f"{name}: exit code {process.process.returncode}")
                return True
        if now - self._alive > LOST:
            self.outcome.wrong_ends.append(f"nothing heard for {LOST:g} s")
            return True
        if self._is_due("look", 1.0):
            self._look()
            self.keep()
            show(self)
        if self.progress < RESTARTING:
            share = RESTARTING * self.outcome.restarts / RESTARTS
            if now - self._born > SOONEST and self.progress >= share:
                self._restart()
        elif not self.guest.running and self._is_due("guest", GUEST):
            self.guest.start()
        if self.guest.running and self._guest_is_there():
            if self._is_due("leave", VISIT):
                self._dismiss()
        elif "leave" in self._due:
            del self._due["leave"]
        if self.progress >= RESTARTING:
            self._injections(now)
        if now - self._born > YOUNG:
            if not self._injected and self._is_due("push", PUSH):
                self._push()
            if self._is_due("setting", SETTING):
                self._set()
        return self.progress >= 1.0

    def _is_due(self, what: str, every: float) -> bool:
        now = time.monotonic()
        if what not in self._due:
            self._due[what] = now + every
        if now < self._due[what]:
            return False
        self._due[what] = now + every
        return True

    # what is done to it

    def _restart(self) -> None:
        """The next process, by a signal and by force in turn."""
        names = [name for name in self.processes if name != "witness"]
        count = self.outcome.restarts
        name = names[(count // 2) % len(names)]
        process = self.processes[name]
        if count % 2:
            process.kill()
        elif process.stop() != 0:
            self.outcome.wrong_ends.append(f"{name} at restart {count}")
        process.start()
        self.outcome.restarts += 1
        self._alive = time.monotonic()
        self._born = math.inf if name == "composed" else self._alive
        if name in ("composed", "simulator_node"):
            self._base = self._seen = (0, 0)
        if name == "composed":
            self.outcome.tallies.append(Tally())

    def _guest_is_there(self) -> bool:
        return "guest" in self._node.get_node_names()

    def _dismiss(self) -> None:
        """The guest goes, by a signal and by force in turn."""
        if self.outcome.guests % 2:
            self.guest.kill()
        elif self.guest.stop() != 0:
            self.outcome.wrong_ends.append("the guest")
        self.outcome.guests += 1

    def _injections(self, now: float) -> None:
        """Faults and payloads by turns, between the pushes."""
        if not self._injected and self._is_due("inject", INJECTED):
            names = list(INJECTIONS)
            self._injected = names[len(self.outcome.injections) % len(names)]
            self.outcome.injections.append(self._injected)
            self._ends, self._heals = now + LASTS, now + LASTS + HEALED
            self._ask(INJECTIONS[self._injected])
        elif self._injected and now > self._heals:
            if self.mode == "SAFE_HOLD":
                self.outcome.unhealed.append(f"{self._injected} at {self.simulated:.1f} s")
            self._injected = ""
        elif self._injected and now > self._ends:
            self._ends = math.inf
            self._ask(NOTHING)

    def _ask(self, values: dict[str, Any]) -> None:
        """Set parameters of the plant, all at once."""
        asked = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        done = self._clients["simulator_node"].set_parameters_atomically(asked)
        done.add_done_callback(lambda done: self._set_all(done, values))

    def _set_all(self, done: Any, values: dict[str, Any]) -> None:
        result = done.result().result
        if not result.successful:
            self.outcome.wrong_settings.append(f"simulator_node {values}: {result.reason}")

    def _push(self) -> None:
        link = str(self.random.choice(list(PUSHES)))
        message = WrenchStamped()
        message.header.frame_id = link
        force = message.wrench.force
        force.x, force.y, force.z = self.random.uniform(-SIDEWAYS, SIDEWAYS, 3).tolist()
        message.wrench.torque.z = float(self.random.choice([-1.0, 1.0])) * PUSHES[link]
        self._pusher.publish(message)
        self.outcome.sent += 1

    def _set(self) -> None:
        wanted = self.random.random() < 0.8
        table = CHANGES if wanted else REFUSED
        node, name, values = table[self.random.integers(len(table))]
        value = values[self.random.integers(len(values))]
        client = self._clients[node]
        if client.services_are_ready():
            asked = client.set_parameters([Parameter(name, value=value).to_parameter_msg()])
            asked.add_done_callback(lambda done: self._answered(done, node, name, value, wanted))

    def _answered(self, done: Any, node: str, name: str, value: Any, wanted: bool) -> None:
        result = done.result().results[0]
        self.outcome.settings += 1
        if result.successful != wanted or not (wanted or result.reason):
            self.outcome.wrong_settings.append(f"{node} {name}={value}: {result.reason}")

    # what is seen of it

    def _tallied(self, message: String) -> None:
        """What the witness has seen; one that has just been killed may still be heard."""
        told = json.loads(message.data)
        if told.pop("pid") == self.processes[self._witness].process.pid:
            self._alive = time.monotonic()
            self._born = min(self._born, self._alive)
            self.begun = min(self.begun, self._alive)
            self.outcome.tallies[-1] = Tally(**told)

    def _diagnosed(self, message: DiagnosticArray) -> None:
        for status in message.status:
            facts = {item.key: item.value for item in status.values}
            if status.name == "simulator_node":
                self._counted(facts)
            elif status.name == "controller_node":
                self._in_mode(facts.get("mode", ""), facts.get("reason", ""))

    def _counted(self, facts: dict[str, str]) -> None:
        """Cycles and misses since the plant's process has found its pace."""
        counts = int(facts["samples"]), int(facts["missed"])
        _, p99, worst = (float(x) for x in facts["latency p50, p99, max [ms]"].split(","))
        self._latency = p99, worst
        if time.monotonic() - self._born < YOUNG or self._base == (0, 0):
            self._base = self._seen = counts
        self.outcome.cycles += counts[0] - self._seen[0]
        self.outcome.missed += counts[1] - self._seen[1]
        self._seen = counts

    def _in_mode(self, mode: str, reason: str) -> None:
        if mode == "SAFE_HOLD":
            expected = self._injected or time.monotonic() - self._born < 2.0 * YOUNG
            if self.mode != mode and not expected:
                self.outcome.safe_holds.append(f"{reason} at {self.simulated:.1f} s")
            self._clear.call_async(Trigger.Request())
        self.mode = mode

    def _look(self) -> None:
        holds = {name: process.resources() for name, process in self.processes.items()}
        now, busy = time.monotonic(), busy_cores()
        used = sum(h.cpu for h in holds.values()) + time.process_time()
        if self.guest.running:
            used += self.guest.resources().cpu
        span = max(now - self._looked, 1e-3)
        others = max((busy - self._busy - max(used - self._used, 0.0)) / span, 0.0)
        row = Row(
            self._wall + now - self.started,
            self.simulated,
            self.settled,
            {name: list(h[:3]) for name, h in holds.items() if name != "witness"},
            *self._latency,
            others if self.rows else 0.0,
            self.sitting,
        )
        self._busy, self._used, self._looked = busy, used, now
        self.rows.append(row)
        with self.out.with_suffix(".rows").open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(row)) + "\n")


def soak(
    arguments: argparse.Namespace, mode: str, console: Console, kept: Checkpoint | None = None
) -> list[Figure]:
    """Run it; every figure, printed and plotted."""
    with tempfile.TemporaryDirectory() as folder, Progress(console=console) as bar:
        run = Soak(arguments, mode, Path(folder), kept or Checkpoint(None, {}))
        task = bar.add_task(f"{mode}, {run.outcome.nodes}, {run.outcome.rate:g} Hz", total=1.0)
        told = [time.monotonic()]

        def show(run: Soak) -> None:
            bar.update(task, completed=min(run.progress, 1.0))
            if not console.is_terminal and time.monotonic() - told[0] > TOLD:
                told[0] = time.monotonic()
                _save(run, figures(run.rows, run.outcome))
                console.print(_line(run), highlight=False, soft_wrap=True)

        if not run.ended:
            run.run(show)
    found = figures(run.rows, run.outcome)
    _save(run, found)
    if run.rows:
        plot(run.rows, run.outcome, run.out.with_suffix(".png"))
    console.print(figures_table(found, f"{mode}, {os.cpu_count()} cores"))
    console.print(f"plot: {run.out.with_suffix('.png')}", highlight=False)
    return found


def _line(run: Soak) -> str:
    total = run.outcome.total
    holds = "; ".join(
        f"{name} {h[0]:.1f} MB, {h[1]:.0f} threads, {h[2]:.0f} files"
        for name, h in run.rows[-1].holds.items()
    )
    return (
        f"{run.progress:.1%}: {run.simulated:.0f} s in {run.rows[-1].wall:.0f} s; {holds}; "
        f"{total('told'):.0f} of {total('pushes'):.0f} pushes, "
        f"{total('false_alarms'):.0f} false alarms, {len(run.outcome.safe_holds)} safe holds"
    )


def _save(run: Soak, found: list[Figure]) -> None:
    content = {"outcome": asdict(run.outcome), "figures": [asdict(figure) for figure in found]}
    run.out.with_suffix(".json").write_text(json.dumps(content, indent=1), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=("free", "wall", "both"), default="both")
    parser.add_argument(
        "--time", type=float, help="[s], simulated if free; unless told about 20 minutes each"
    )
    parser.add_argument(
        "--rate", type=float, help="[Hz]; 250 free-running, 1000 on the wall clock"
    )
    parser.add_argument("--processes", action="store_true", help="a process per node (wall)")
    parser.add_argument("--out", type=Path, default=Path("soak"), help="prefix of all files")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checkpoint", type=Path, help=OPTION)
    arguments = parser.parse_args()
    kept = Checkpoint(
        arguments.checkpoint,
        {"program": "soak", **vars(arguments), "checkpoint": None},
    )
    stay_apart()
    console = Console()
    modes = ("free", "wall") if arguments.mode == "both" else (arguments.mode,)
    closing = verdict(
        [figure for mode in modes for figure in soak(arguments, mode, console, kept)]
    )
    failed = closing == "failed"
    console.print(closing, style="red" if failed else "green", highlight=False)
    sys.exit(failed)


if __name__ == "__main__":
    main()
