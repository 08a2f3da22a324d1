"""Visuals of a URDF: boxes, cylinders, spheres, and mesh files beside it.

Files are opened by the rules of `model/urdf_geometry.py`. Unreadable visuals are left out and
reported.
"""

from __future__ import annotations

import io
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np
import numpy.typing as npt

from ..errors import UrdfError
from ..model.robot import RobotModel
from ..model.urdf_geometry import (
    MAX_MESH_BYTES,
    find_mesh,
    numbers,
    origin_pose,
    read_bytes,
    read_geometry,
    shape_of,
)
from .shapes import Mesh, drum

Array = npt.NDArray[np.float64]

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
    try:
        robot, path = read_geometry(source)
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
            R, p = origin_pose(visual.find("origin"))
            mesh = mesh.moved(R, p).moved(frame.rotation, frame.place)
            found.shown.append(Visual(frame.body, mesh, _material(visual, colours)))
    return found


def _mesh(visual: Element, urdf: Path | None) -> Mesh:
    shape = shape_of(visual)
    if shape.tag == "mesh":
        mesh = load_mesh(find_mesh(shape.get("filename", ""), urdf))
        scale = np.array(numbers(shape.get("scale", "1 1 1"), 3))
        return Mesh(mesh.vertices * scale, mesh.faces)
    if shape.tag == "box":
        return _box(np.array(numbers(shape.get("size", ""), 3)))
    (radius,) = numbers(shape.get("radius", ""), 1)
    if shape.tag == "sphere":
        return drum(radius, 2.0 * radius, radius)
    (length,) = numbers(shape.get("length", ""), 1)
    whole = length + 2.0 * radius if shape.tag == "capsule" else length
    return drum(radius, whole, radius if shape.tag == "capsule" else 0.03 * min(radius, length))


def load_mesh(path: Path) -> Mesh:
    """Return the mesh of a file, read from its bytes alone so that it cannot name other files."""
    import trimesh

    kind = MESH_KINDS.get(path.suffix.lower())
    if kind is None:
        raise ValueError(f"mesh {path.name}: unknown kind; {', '.join(MESH_KINDS)} can be shown")
    try:
        content = io.BytesIO(read_bytes(path, MAX_MESH_BYTES))
        loaded: Any = trimesh.load(content, kind, force="mesh")
    except OSError:
        raise
    except Exception as fault:  # readers of untrusted files raise anything
        raise ValueError(f"mesh {path.name} cannot be read: {type(fault).__name__}") from None
    if not isinstance(loaded, trimesh.Trimesh) or not len(loaded.faces):
        raise ValueError(f"mesh {path.name} is empty")
    if len(loaded.faces) > MAX_FACES:
        raise ValueError(f"mesh {path.name} has {len(loaded.faces)} faces, more than {MAX_FACES}")
    return Mesh(np.array(loaded.vertices), np.array(loaded.faces))


def _box(size: Array) -> Mesh:
    """Return a box; each side has its own vertices, so that the edges are sharp."""
    corners = np.array(list(product((-0.5, 0.5), repeat=3))) * size
    faces = 4 * np.arange(6)[:, None, None] + np.array([[0, 1, 2], [0, 2, 3]])
    return Mesh(corners[BOX_SIDES.ravel()], faces.reshape(-1, 3))


def _material(visual: Element, colours: dict[str, Colour | None]) -> Colour | None:
    material = visual.find("material")
    if material is None:
        return None
    return _colour(material) or colours.get(material.get("name", ""))


def _colour(material: Element) -> Colour | None:
    colour = material.find("color")
    try:
        r, g, b, _ = numbers(colour.get("rgba", "") if colour is not None else "", 4)
    except ValueError:
        return None
    red, green, blue = (round(255 * min(max(x, 0.0), 1.0)) for x in (r, g, b))
    return red, green, blue
