"""Visuals of a URDF: boxes, cylinders, spheres, and mesh files beside it.

An untrusted URDF must not choose which files are opened: a mesh must be a regular file of limited
size inside the URDF's own folder or the package that it names. Nothing is downloaded, and no path
leaves these folders. Unreadable visuals are left out and reported.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element
from xml.parsers import expat

import numpy as np
import numpy.typing as npt

from ..errors import UrdfError
from ..model.robot import RobotModel
from ..model.urdf_elements import rotation_from_rpy
from ..model.urdf_xml import MAX_BYTES, MAX_ELEMENTS, MAX_LEVELS
from .shapes import Mesh, drum

Array = npt.NDArray[np.float64]

MAX_MESH_BYTES = 30_000_000  # bytes
MAX_FACES = 60_000  # of one mesh, drawn 30 times a second
MESH_KINDS = {".stl": "stl", ".obj": "obj", ".ply": "ply", ".dae": "dae", ".glb": "glb"}
# Corners of each side of a box, counter-clockwise from outside; corner k has the signs of k's bits
BOX_SIDES = np.array(
    [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
)
Colour = tuple[int, int, int]


class Visual(NamedTuple):
    """A mesh in the frame of a moving body, or of the base (body -1)."""

    body: int
    mesh: Mesh
    colour: Colour | None  # None: not in the URDF


class Visuals(NamedTuple):
    """Visuals to draw, and sentences about those left out."""

    shown: list[Visual]
    missing: list[str]


def read_visuals(source: str, model: RobotModel) -> Visuals:
    """Return the visuals of a URDF (path or text) for the links of the model."""
    found = Visuals([], [])
    path = None if source.lstrip().startswith("<") else Path(source)
    try:
        text = source if path is None else _read(path, MAX_BYTES).decode("utf-8", "replace")
        robot = _parse(text)
    except (OSError, UrdfError) as fault:
        found.missing.append(f"the visuals of the URDF cannot be read: {fault}")
        return found
    colours = {m.get("name", ""): _colour(m) for m in robot.findall("material")}
    for link in robot.findall("link"):
        frame = model.frames.get(link.get("name", ""))
        if frame is None:
            continue
        for visual in link.findall("visual"):
            try:
                mesh = _mesh(visual, path)
            except (OSError, ValueError) as fault:
                found.missing.append(f"{link.get('name')}: {fault}")
                continue
            R, p = _origin(visual.find("origin"))
            mesh = mesh.moved(R, p).moved(frame.rotation, frame.place)
            found.shown.append(Visual(frame.body, mesh, _material(visual, colours)))
    return found


def _parse(text: str) -> Element:
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


def _mesh(visual: Element, urdf: Path | None) -> Mesh:
    geometry = visual.find("geometry")
    shape = next(iter(geometry), None) if geometry is not None else None
    if shape is None:
        raise ValueError("a visual without geometry")
    if shape.tag == "mesh":
        mesh = load_mesh(find_mesh(shape.get("filename", ""), urdf))
        scale = np.array(_numbers(shape.get("scale", "1 1 1"), 3))
        return Mesh(mesh.vertices * scale, mesh.faces)
    if shape.tag == "box":
        return _box(np.array(_numbers(shape.get("size", ""), 3)))
    (radius,) = _numbers(shape.get("radius", ""), 1)
    if shape.tag == "sphere":
        return drum(radius, 2.0 * radius, radius)
    (length,) = _numbers(shape.get("length", ""), 1)
    whole = length + 2.0 * radius if shape.tag == "capsule" else length
    return drum(radius, whole, radius if shape.tag == "capsule" else 0.03 * min(radius, length))


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


def load_mesh(path: Path) -> Mesh:
    """Return the mesh of a file, read from its bytes alone so that it cannot name other files."""
    import trimesh

    kind = MESH_KINDS.get(path.suffix.lower())
    if kind is None:
        raise ValueError(f"mesh {path.name}: unknown kind; {', '.join(MESH_KINDS)} can be shown")
    try:
        loaded: Any = trimesh.load(io.BytesIO(_read(path, MAX_MESH_BYTES)), kind, force="mesh")
    except OSError:
        raise
    except Exception as fault:  # readers of untrusted files raise anything
        raise ValueError(f"mesh {path.name} cannot be read: {type(fault).__name__}") from None
    if not isinstance(loaded, trimesh.Trimesh) or not len(loaded.faces):
        raise ValueError(f"mesh {path.name} is empty")
    if len(loaded.faces) > MAX_FACES:
        raise ValueError(f"mesh {path.name} has {len(loaded.faces)} faces, more than {MAX_FACES}")
    return Mesh(np.array(loaded.vertices), np.array(loaded.faces))


def _read(path: Path, most: int) -> bytes:
    if not path.is_file():
        raise OSError(f"{path} is no file")
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(f"{path.name} is larger than {most / 1e6:g} MB")
    return content


def _box(size: Array) -> Mesh:
    """Return a box; each side has its own vertices, so that the edges are sharp."""
    corners = np.array(list(product((-0.5, 0.5), repeat=3))) * size
    faces = 4 * np.arange(6)[:, None, None] + np.array([[0, 1, 2], [0, 2, 3]])
    return Mesh(corners[BOX_SIDES.ravel()], faces.reshape(-1, 3))


def _numbers(text: str, n: int) -> list[float]:
    try:
        found = [float(x) for x in text.split()]
    except ValueError:
        found = []
    if len(found) != n or not all(map(math.isfinite, found)):
        raise ValueError(f"'{text[:40]}' is not {n} finite numbers")
    return found


def _origin(origin: Element | None) -> tuple[Array, Array]:
    """Return rotation and position of an origin; the identity if it is invalid."""
    if origin is None:
        return np.eye(3), np.zeros(3)
    try:
        rpy = _numbers(origin.get("rpy", "0 0 0"), 3)
        place = np.array(_numbers(origin.get("xyz", "0 0 0"), 3))
    except ValueError:
        return np.eye(3), np.zeros(3)
    return rotation_from_rpy(rpy), place


def _material(visual: Element, colours: dict[str, Colour | None]) -> Colour | None:
    material = visual.find("material")
    if material is None:
        return None
    return _colour(material) or colours.get(material.get("name", ""))


def _colour(material: Element) -> Colour | None:
    colour = material.find("color")
    try:
        r, g, b, _ = _numbers(colour.get("rgba", "") if colour is not None else "", 4)
    except ValueError:
        return None
    red, green, blue = (round(255 * min(max(x, 0.0), 1.0)) for x in (r, g, b))
    return red, green, blue
