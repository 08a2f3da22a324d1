"""Reading of the geometry in a URDF, and which mesh files it may name.

An untrusted URDF must not choose which files are opened: a mesh must be a regular file of limited
size inside the URDF's own folder or the package that it names. Nothing is downloaded, and no path
leaves these folders.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element
from xml.parsers import expat

import numpy as np

from ..errors import UrdfError
from .rigid_body import Array
from .urdf_elements import rotation_from_rpy
from .urdf_xml import MAX_BYTES, MAX_ELEMENTS, MAX_LEVELS

MAX_MESH_BYTES = 30_000_000  # bytes


def read_geometry(source: str) -> tuple[Element, Path | None]:
    """Return the elements of a URDF (path or text), and its path if it is a file."""
    path = None if source.lstrip().startswith("<") else Path(source)
    text = source if path is None else read_bytes(path, MAX_BYTES).decode("utf-8", "replace")
    return parse_geometry(text), path


def parse_geometry(text: str) -> Element:
    """Parse a URDF; reject a DOCTYPE (entities) and excessive size."""
    root = Element("nothing")
    path: list[Element] = []
    count = 0

    def start(tag: str, values: dict[str, str]) -> None:
        nonlocal root, count
        count += 1
        if count > MAX_ELEMENTS or len(path) > MAX_LEVELS:
            raise UrdfError("it is too large")
        element = Element(tag, values)
        if path:
            path[-1].append(element)
        else:
            root = element
        path.append(element)

    def refuse(*_: object) -> None:
        raise UrdfError("it declares a DOCTYPE")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: path.pop()
    try:
        parser.Parse(text.lstrip(), True)
    except expat.ExpatError as fault:
        raise UrdfError(expat.ErrorString(fault.code)) from None
    return root


def shape_of(element: Element) -> Element:
    """Return the shape inside a <visual> or <collision>, or raise ValueError."""
    geometry = element.find("geometry")
    shape = next(iter(geometry), None) if geometry is not None else None
    if shape is None:
        raise ValueError(f"a {element.tag} without geometry")
    return shape


def find_mesh(name: str, urdf: Path | None) -> Path:
    """Return the path of a mesh inside the URDF's folder or a package."""
    scheme, _, rest = name.rpartition("://")
    if scheme not in ("", "file", "package"):
        raise ValueError(f"{name[:80]} is not on this machine: meshes are not downloaded")
    for root, inside in _places(scheme, rest, urdf):
        path = (root / inside).resolve()
        if path.is_file() and path.is_relative_to(root.resolve()):
            return path
    raise ValueError(f"mesh {name[:80]} is not in the URDF's folder or package")


def _places(scheme: str, rest: str, urdf: Path | None) -> Iterator[tuple[Path, str]]:
    """Yield the folders that may hold a mesh, and its path inside each."""
    shares = [
        Path(prefix, "share")
        for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
        if prefix
    ]
    above = [] if urdf is None else list(urdf.resolve().parents)
    if scheme == "package":
        package, _, inside = rest.partition("/")
        if package in ("", ".", ".."):
            return
        yield from ((folder, inside) for folder in above if folder.name == package)
        yield from ((share / package, inside) for share in shares)
    else:
        yield from ((folder, rest) for folder in above[:1])
        yield from ((share, rest) for share in shares)


def read_bytes(path: Path, most: int) -> bytes:
    """Return the content of a regular file of at most `most` bytes."""
    if not path.is_file():
        raise OSError(f"{path} is no file")
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(f"{path.name} is larger than {most / 1e6:g} MB")
    return content


def numbers(text: str, n: int) -> list[float]:
    """Return the n finite numbers in an attribute, or raise ValueError."""
    try:
        found = [float(x) for x in text.split()]
    except ValueError:
        found = []
    if len(found) != n or not all(map(math.isfinite, found)):
        raise ValueError(f"'{text[:40]}' is not {n} finite numbers")
    return found


def origin_pose(origin: Element | None) -> tuple[Array, Array]:
    """Return rotation and position of an origin; the identity if it is invalid."""
    if origin is None:
        return np.eye(3), np.zeros(3)
    try:
        rpy = numbers(origin.get("rpy", "0 0 0"), 3)
        place = np.array(numbers(origin.get("xyz", "0 0 0"), 3))
    except ValueError:
        return np.eye(3), np.zeros(3)
    return rotation_from_rpy(rpy), place
