"""The demo with many arms: each differs from the model in its own way, and its sensors are noisy.

    python benchmark/demo_seeds.py [--seeds N] [--first N] [--plants rigid mujoco] [--robot NAME]

The demo's own nodes run with config/demo.yaml in one process, in lockstep and simulated time: the
same pipeline as `robodyn demo`, several times faster than the clock. Fails if any push is missed
or named wrongly, or an alarm is false. In the end: the largest residual without contact, of which
the thresholds in config/demo.yaml are twice.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from robodyn_ros.nodes.composed import connect
from robodyn_ros.nodes.controller_node import ControllerNode
from robodyn_ros.nodes.demo import (
    DEMO_NODES,
    SCENARIOS,
    PlantOptions,
    overrides,
    scenario_files,
)
from robodyn_ros.nodes.demo_events import Event
from robodyn_ros.nodes.demo_node import DemoNode
from robodyn_ros.nodes.demo_observer import DemoObserver
from robodyn_ros.nodes.demo_view import verdict
from robodyn_ros.nodes.dynamics_node import DynamicsNode
from robodyn_ros.nodes.runtime import make_executor, shut_down, spin
from robodyn_ros.nodes.simulator_node import SimulatorNode
from robodyn_ros.nodes.terminal import use_loopback
from robodyn_ros.resources import share_path
from robodyn_ros.settings import yaml_section

DURATION = 19.0  # [s] of simulated time: four pushes, the last at 15 s
SETTLING = 0.5  # [s] of the residual after a push
LONGEST = 300.0  # [s] of wall time
FREE_RUN = {
    "simulator_node": {"free_running": True},
    "controller_node": {"lockstep": True},
    "dynamics_node": {"heartbeat": 0.0},
}


@dataclass(frozen=True)
class Outcome:
    """What became of one run."""

    ok: bool
    text: str
    events: list[Event]
    free: np.ndarray  # (n,) [N m or N], largest residual without contact
    contact: np.ndarray  # (n,) [N m or N], contact thresholds


def run(
    robot: str = "", plant: PlantOptions | None = None, duration: float = DURATION
) -> DemoObserver:
    """Run the demo in simulated time; return what was observed."""
    plant = plant or PlantOptions()
    own = overrides(robot, "", plant, guess=True)
    duration = max(duration, SCENARIOS[plant.scenario])
    for node in DEMO_NODES:
        own[node] |= {"use_sim_time": True} | FREE_RUN.get(node, {})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "own.yaml")
        path.write_text("".join(yaml_section(f"/{node}", own[node]) for node in DEMO_NODES))
        params = [share_path("config", "demo.yaml"), *scenario_files(plant.scenario, robot, "")]
        files = [part for file in (*params, path) for part in ("--params-file", file)]
        rclpy.init(
            args=["--ros-args", *map(str, files), "--log-level", "error"],
            signal_handler_options=SignalHandlerOptions.NO,
        )
        executor, nodes = make_executor(), []
        try:
            for make in (SimulatorNode, DynamicsNode, ControllerNode, DemoNode):
                nodes.append(make())
            connect(nodes)
            onlooker = Node("onlooker")
            observer = DemoObserver(onlooker)
            for publisher in [x for node in nodes for x in node.local_publishers]:
                for subscription in observer.subscriptions:
                    subscription.connect(publisher, publisher.queue)
            nodes.append(onlooker)
            for node in nodes:
                executor.add_node(node)

            def over() -> bool:
                reacts = observer.mode in ("REACTING", "RESUMING")
                late = observer.elapsed - duration
                scripted = bool(observer.script or observer.scripted_faults)
                return scripted and late > (10.0 if reacts else 0.0)

            spin(executor, over, LONGEST, every=0.01)
        finally:
            shut_down(executor, nodes)
    return observer


def outcome(observer: DemoObserver) -> Outcome:
    """Judge a run."""
    ok, text = verdict(observer)
    t, r = np.array(observer.t), np.abs(observer.r)
    free = t > t[0] + SETTLING
    for push in observer.pushes.found:
        free &= (t < push.begin) | (t > push.end + SETTLING)
    return Outcome(ok, text, observer.events(), r[free].max(axis=0), observer.contact)


def main() -> int:
    """Run all seeds on all plants; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="number of arms for each plant")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--plants", nargs="+", default=["rigid", "mujoco"])
    parser.add_argument("--robot", default="", help="a built-in arm; default: lwr_iii")
    given = parser.parse_args()
    use_loopback()
    console, found = Console(), []
    runs = [(plant, given.first + k) for plant in given.plants for k in range(given.seeds)]
    with Progress(console=console) as bar:
        task = bar.add_task("runs", total=len(runs))
        for plant, seed in runs:
            one = outcome(run(given.robot, PlantOptions(plant, seed=seed)))
            found.append(one)
            if not one.ok:
                told = [(e.t, e.link, e.judgement, e.reported) for e in one.events if not e.right]
                bar.console.print(f"{plant}, seed {seed}: {one.text}; {told}")
            bar.advance(task)
    table = Table(
        "plant", "seeds", "pushes", "found with link", "false alarms", "runs that failed"
    )
    for plant in given.plants:
        mine = [one for (kind, _), one in zip(runs, found, strict=True) if kind == plant]
        events = [event for one in mine for event in one.events]
        pushes = [event for event in events if event.pushed]
        counts = (
            len(pushes),
            sum(e.judgement == "found" for e in pushes),
            len(events) - len(pushes),
            sum(not one.ok for one in mine),
        )
        table.add_row(plant, f"{given.first} to {runs[-1][1]}", *map(str, counts))
    console.print(table)
    free = np.max([one.free for one in found], axis=0)
    delays = [event.delay for one in found for event in one.events if event.delay is not None]
    with np.printoptions(precision=2, suppress=True):
        console.print(f"largest residual without contact [N m]: {free}", markup=False)
        console.print(f"contact threshold over it: {found[0].contact / free}", markup=False)
    if delays:
        console.print(
            f"delay: median {1e3 * np.median(delays):.0f} ms, max {1e3 * max(delays):.0f} ms"
        )
    return 0 if all(one.ok for one in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
