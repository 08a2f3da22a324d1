"""Shared files of the package: robot descriptions, launch files and parameters."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from robodyn_ros.errors import ResourceError

PACKAGE = "robodyn_ros"


def share_path(*parts: str) -> Path:
    """Return the path of a shared file or folder, e.g. `share_path("urdf", "planar_2r.urdf")`.

    The source tree is searched first, so that an editable install uses the files next to its
    code, then the prefixes of the package and of the interpreter, then the sourced ROS workspaces.
    """
    roots = list(dict.fromkeys(_roots()))  # without repeats
    for root in roots:
        path = root.joinpath(*parts)
        if path.exists():
            return path
    raise ResourceError(
        f"no {'/'.join(parts)!r} among the shared files of {PACKAGE}: looked in "
        f"{', '.join(map(str, roots)) or 'no folder, because none exists'}; "
        "check the name, or install the package again: `pip install .`, or `colcon build`"
    )


def urdf_names() -> tuple[str, ...]:
    """Return the names of the robot descriptions in the shared folder `urdf`, without suffix."""
    return tuple(sorted(path.stem for path in share_path("urdf").glob("*.urdf")))


def _roots() -> Iterator[Path]:
    """Yield the folders that may hold `urdf`, `launch` and `config`, the likeliest first."""
    here = Path(__file__)
    folders = (here.parent, here.resolve().parent)  # colcon --symlink-install links to the source
    for folder in folders:
        if _is_source_tree(folder.parent):
            yield folder.parent
    # Upwards: <target>/robodyn_ros, or <prefix>/lib/python3.x/site-packages/robodyn_ros.
    prefixes = [parent for folder in folders for parent in folder.parents[:4]]
    prefixes.append(Path(sys.prefix))
    prefixes += map(Path, filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)))
    for prefix in prefixes:
        share = prefix / "share" / PACKAGE
        if share.is_dir():
            yield share


def _is_source_tree(folder: Path) -> bool:
    manifest = folder / "package.xml"
    return manifest.is_file() and f"<name>{PACKAGE}</name>" in manifest.read_text(encoding="utf-8")
