"""Rules that no tool checks: what may import what, and what a commit may hold."""

import ast
import os
import re
import subprocess

from source_tree import ROOT, source_files

# Each may import what stands above it; those on one line do not import each other.
LAYERS = [
    {"errors"},
    {"interrupts", "palette", "renamed_parameters", "resources", "settings"},
    {"html_page"},
    {"model"},
    {"dynamics"},
    {"sensing"},
    {"trajectory", "control", "detection", "identification", "simulation", "codegen"},
    {"nodes", "dashboard", "recording"},
    {"commands"},
    {"cli"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
ROS = {"rclpy", "ament_index_python", "launch", "launch_ros", "std_srvs"}


def imported(source, package):
    """Yield the full name of everything a module of the package imports, also inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            above = parts[: len(parts) + 1 - node.level] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def breaches(source, package, part):
    """Return the imports by which a module of this part breaks the layering."""
    found = []
    for name in imported(source, package):
        top, _, rest = name.partition(".")
        if top == "robodyn_ros":
            used = rest.partition(".")[0]
            if part == used:
                continue
            # A name that is no part comes from the package's own __init__, which imports them all.
            rank = RANK.get(used, RANK["nodes"] - 0.5)
            if rank >= RANK[part]:
                found.append(name)
        elif part != "nodes" and (top in ROS or top.endswith("_msgs")):
            found.append(name)
    return found


def modules():
    for path in source_files():
        if path.parts[0] == "robodyn_ros" and path.suffix == ".py" and len(path.parts) > 1:
            yield path


def part_of(path):
    return path.parts[1].removesuffix(".py")


def test_every_part_has_its_layer():
    parts = {part_of(path) for path in modules()} - {"__init__", "__main__"}
    assert parts
    assert parts <= set(RANK), f"{parts - set(RANK)}: give it a layer here and in CONTRIBUTING.md"


def test_imports_go_one_way():
    found = {}
    for path in modules():
        if part_of(path) in RANK:
            source, package = (
                (ROOT / path).read_text(encoding="utf-8"),
                ".".join(path.parent.parts),
            )
            found[str(path)] = breaches(source, package, part_of(path))
    assert len(found) > 100
    assert {path: names for path, names in found.items() if names} == {}


def test_the_layer_check_notices_wrong_imports_and_allows_right_ones():
    wrong = [
        ("model", "from robodyn_ros.dynamics.mass_matrix import mass_matrix"),
        ("model", "from ..dynamics import mass_matrix"),
        ("model", "from .. import dynamics"),
        ("dynamics", "def late():\n    import robodyn_ros.control"),
        ("dynamics", "import robodyn_ros as rd"),
        ("dynamics", "from robodyn_ros import mass_matrix"),
        ("control", "from robodyn_ros.detection import MomentumObserver"),
        ("simulation", "import rclpy"),
        ("dashboard", "from sensor_msgs.msg import JointState"),
        ("dashboard", "from robodyn_ros.nodes.dynamics_node import main"),
    ]
    right = [
        ("model", "import numpy as np\nfrom robodyn_ros.errors import ModelError"),
        ("dynamics", "from ..model.robot import RobotModel\nfrom .vector import cross"),
        ("control", "from robodyn_ros.dynamics import mass_matrix\nfrom robodyn_ros import model"),
        ("nodes", "import rclpy\nimport robodyn_ros as rd\nimport sensor_msgs.msg"),
    ]
    for allowed, cases in ((0, right), (1, wrong)):
        counts = [len(breaches(text, f"robodyn_ros.{part}", part)) for part, text in cases]
        found = dict(zip(cases, counts, strict=True))
        assert {case for case, count in found.items() if count != allowed} == set()


def test_continuous_integration_runs_make_test():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert re.search(r"^(exec )?make test$", script.read_text(encoding="utf-8"), re.MULTILINE)
    planned = subprocess.run(
        ["make", "--dry-run", "test"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert "-m pytest" in planned.stdout, planned.stderr


def test_no_file_names_a_machine_or_a_package_registry():
    slip = re.compile(r"[/](?:work|root)[/]|index[-_]url|https?://\S+/(?:simple|dists)[/]")
    found = []
    for path in source_files():
        text = (ROOT / path).read_bytes().decode("utf-8", errors="replace")
        found += [f"{path}: {slipped[0]}" for slipped in slip.finditer(text)]
    assert found == []
