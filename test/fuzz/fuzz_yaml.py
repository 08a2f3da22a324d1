"""Parameter files that are damaged: a node starts with what is right, or says why it does not."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

import rclpy  # noqa: E402
from fuzz_tools import Verdict, expect, mutated_bytes, pick, random_of, time_limit  # noqa: E402
from rclpy.exceptions import ParameterException  # noqa: E402
from rclpy.signals import SignalHandlerOptions  # noqa: E402
from source_tree import ROOT, own_domain  # noqa: E402

import robodyn_ros as rd  # noqa: E402
from robodyn_ros.nodes.controller_node import ControllerNode  # noqa: E402
from robodyn_ros.nodes.demo_node import DemoNode  # noqa: E402
from robodyn_ros.nodes.dynamics_node import DynamicsNode  # noqa: E402
from robodyn_ros.nodes.simulator_node import SimulatorNode  # noqa: E402
from robodyn_ros.settings import leaves  # noqa: E402

NODES = {
    "simulator_node": SimulatorNode,
    "controller_node": ControllerNode,
    "dynamics_node": DynamicsNode,
    "demo_node": DemoNode,
}
# Wrong for every parameter that is a number or a list of numbers
NEVER = (".nan", "-.inf", "[.nan]", "-1.0e300", "[-1.0, -1.0]", "up", "[true]", "true", '["x"]')
ODD = (*NEVER, "", "[]", "{a: 1}", "1", "0x10", "1e999", "&a [*a]", "!!python/object:os.x", "- -")
LINE = re.compile(r"^( +)(\w+): +(\[?-?[\d.][^#\n]*?)( *#.*)?$", re.MULTILINE)  # of a number


def parameter_file(random: Any, text: str) -> tuple[bytes, Verdict]:
    """A parameter file with one value exchanged, or with damaged bytes."""
    if random.random() < 0.3:
        return mutated_bytes(random, text.encode()), Verdict.EITHER
    line = pick(random, list(LINE.finditer(text)))
    value = pick(random, ODD)
    new = f"{line.group(1)}{line.group(2)}: {value}"
    bad = value in NEVER
    return (
        (text[: line.start()] + new + text[line.end() :]).encode(),
        Verdict.BAD if bad else Verdict.EITHER,
    )


def yaml_file(folder: Path, seed: int, case: int) -> str:
    """Start one node with a damaged file; 'refused' or 'started'."""
    random = random_of(seed, "yaml", case)
    name = pick(random, list(NODES))
    text = (ROOT / "config" / "lwr_iii" / f"{name}.yaml").read_text(encoding="utf-8")
    data, expected = parameter_file(random, text)
    path = folder / "parameters.yaml"
    path.write_bytes(data)
    with time_limit():
        try:
            settings = _settings(name, path)
        except (rd.RobodynError, ParameterException, RuntimeError) as refusal:
            # RuntimeError: rcl's own, when it cannot read the file; `run` reports all of these
            expect(str(refusal), "refused without a reason")
            return "refused"
    expect(expected is not Verdict.BAD, name, "started with an invalid value")
    for field, value, _ in leaves(settings):
        numbers = value if isinstance(value, tuple) else (value,)
        finite = all(math.isfinite(x) for x in numbers if isinstance(x, (int, float)))
        expect(finite, "started with", field, "=", value)
    return "started"


def _settings(name: str, path: Path) -> Any:
    """What a node that is given this file works with."""
    try:
        rclpy.init(
            args=["--ros-args", "--log-level", "fatal", "--params-file", str(path)],
            domain_id=own_domain(),
            signal_handler_options=SignalHandlerOptions.NO,
        )
        node = NODES[name]()
        node.destroy_node()
        return node.settings
    finally:
        rclpy.try_shutdown()
