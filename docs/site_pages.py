"""Pages of the site that are made when it is built, as a hook of MkDocs: see `mkdocs.yml`.

The first page is the README; CONTRIBUTING.md is a page, too. The parameters come from the settings
classes, the functions and classes from the list of public names. Files of the repository to which
a page links are copied into the site, so that it is complete by itself.
"""

import ast
import math
import re
from pathlib import Path

from mkdocs.structure.files import File

from robodyn_ros.detection.guard.settings import MeansSettings
from robodyn_ros.nodes.node_settings import SETTINGS
from robodyn_ros.nodes.simulation_setup import FaultSettings, ObstacleSettings, PushSettings
from robodyn_ros.settings import About, leaves

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
OUTSIDE = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md"}  # pages beside docs/
LINK = re.compile(r"(\]\()(?!\w+:)([^)#\s]+)")
TABLES = {  # rows with names of one's choice
    "simulator_node": {
        "pushes": PushSettings,
        "faults": FaultSettings,
        "obstacles": ObstacleSettings,
    },
    "guard_node": {"means": MeansSettings},
}
PARTS = {
    "model": "Robots",
    "dynamics": "Dynamics",
    "sensing": "Measured data",
    "detection": "Contact",
    "recording": "Recordings",
    "control": "Control",
    "trajectory": "Trajectories",
    "identification": "Identification",
    "simulation": "Simulated arms",
    "codegen": "Code for one robot",
    "resources": "Installed files",
    "errors": "Errors",
}


def on_files(files, config):
    """Add the generated pages, and the files outside of docs/ to which pages link."""
    made = {"parameters.md": parameters(), "api.md": functions()}
    made |= {page: from_outside(name) for name, page in OUTSIDE.items()}
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    for page in [*DOCS.rglob("*.md"), *(ROOT / name for name in OUTSIDE)]:
        for _, target in LINK.findall(page.read_text(encoding="utf-8")):
            path = (page.parent / target).resolve()
            if path.is_file() and not path.is_relative_to(DOCS):
                place = in_site(path)
                if files.get_file_from_path(place) is None:
                    files.append(File.generated(config, place, content=path.read_bytes()))
    return files


def on_page_markdown(markdown, page, config, files):
    """Let links to files outside of docs/ point to their copies."""
    source = DOCS / page.file.src_uri

    def moved(found):
        path = (source.parent / found[2]).resolve()
        if path.is_relative_to(DOCS) or not path.is_file():
            return found[0]
        return found[1] + "../" * page.file.src_uri.count("/") + in_site(path)

    return LINK.sub(moved, markdown)


def in_site(path):
    """Return where a file of the repository, outside of docs/, lies in the site."""
    name = path.relative_to(ROOT).as_posix()
    return OUTSIDE.get(name, f"files/{name}")


def from_outside(name):
    """Return a page beside docs/ with its links as seen from docs/."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return LINK.sub(lambda found: found[1] + beside_docs(found[2]), text)


def beside_docs(target):
    """Return a link of a page beside docs/ as one of a page in docs/."""
    inside = target.removeprefix("docs/")
    return inside if inside != target else f"../{target}"


def parameters():
    """Return the page of all parameters, by node."""
    lines = [
        "# Parameters",
        "",
        "After this page you can set every parameter of the nodes: its default, unit, range and",
        "meaning, from the classes that declare it.",
        "",
        "Those that are fixed are read at the start; all others can be changed while the node",
        "runs. Files to copy from: `config/<robot>/<node>.yaml`.",
    ]
    for node, kind in SETTINGS.items():
        rows = list(leaves(kind()))
        for table, row in TABLES.get(node, {}).items():
            rows.append((f"{table}.names", (), About("names of your choice", fixed=True)))
            rows += leaves(row(), f"{table}.<name>.")
        lines += ["", f"## {node}", "", "| parameter | meaning | default | unit | range |"]
        lines.append("|---|---|---|---|---|")
        for name, value, about in rows:
            cells = (f"`{name}`", meaning(about), shown(value), about.unit, bounds(about))
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def shown(value):
    """Return a default for people."""
    if isinstance(value, tuple):
        return ", ".join(map(shown, value)) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value) or "empty"


def meaning(about):
    """Return what a parameter means, its choices, and whether it is fixed."""
    choices = f"; one of {', '.join(about.choices)}" if about.choices else ""
    return about.text + choices + (" (fixed)" if about.fixed else "")


def bounds(about):
    """Return the range of a parameter for people; empty: any, or one of its choices."""
    low, high = (f"{x:g}" if math.isfinite(x) else "" for x in (about.low, about.high))
    return f"{low} to {high}" if low and high else f"≥ {low}" if low else f"≤ {high}" * bool(high)


def functions():
    """Return the page of all public names, by part of the package."""
    found = {part: [] for part in PARTS}
    for node in ast.parse((ROOT / "robodyn_ros" / "__init__.pyi").read_bytes()).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                path = f"robodyn_ros.{node.module}.{alias.name}"
                found[node.module.partition(".")[0]].append(path)
    lines = [
        "# Functions and classes",
        "",
        "After this page you can call every public name of `import robodyn_ros as rd`, with its",
        "arguments, units and shapes. What to use for which purpose: [names](names.md).",
    ]
    for part, title in PARTS.items():
        lines += ["", f"## {title}", ""]
        for path in found[part]:
            lines += [f"::: {path}", ""]
    return "\n".join(lines) + "\n"
