"""Surfaces of the links, as points with inward normals: where an arm can be touched.

They come from the collision geometry of the model's URDF: STL meshes, boxes, cylinders, spheres
and capsules. For a link without any that can be read, shapes of a known arm with these names are
taken, if the package has them; else a capsule from its joint to the next. Where two joints lie on
one axis a URDF does not tell which link the housing between them belongs to: each gets half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError, ResourceError, UrdfError
from ..resources import share_path
from .rigid_body import Array, ReadOnlyArrays
from .robot import RobotModel
from .shapes import Box, Capsule, Cylinder, Mesh, Placed, Shape, read_stl
from .urdf_geometry import (
    MAX_MESH_BYTES,
    find_mesh,
    numbers,
    origin_pose,
    read_bytes,
    read_geometry,
    shape_of,
)

POINTS_PER_LINK = 600
RADIUS_PER_REACH = 0.045  # of the capsule that stands for an unknown shape
MIN_LENGTH = 1e-3  # [m], of a capsule
_SURFACES = "surfaces"  # key in RobotModel.bound
MIN_SHARE = 0.05  # of a link's points that lie outside its other shapes


@dataclass(frozen=True, eq=False)
class LinkSurfaces(ReadOnlyArrays):
    """Points on all moving links, in the frame of each one's body.

    Body i has the rows start[i] to start[i + 1]. A body without rows cannot be named.
    """

    points: Array  # (P, 3) [m]
    normals: Array  # (P, 3), unit, inward: the direction of a push
    start: npt.NDArray[np.int64]  # (N + 1,)
    missing: tuple[str, ...] = ()  # geometry that was left out, and why

    def __post_init__(self) -> None:
        rows = len(self.points)
        if self.points.shape != (rows, 3) or self.normals.shape != (rows, 3):
            raise ArgumentError(
                f"points and normals must be (P, 3), got {self.points.shape}, {self.normals.shape}"
            )
        if self.start[0] != 0 or self.start[-1] != rows or np.any(np.diff(self.start) < 0):
            raise ArgumentError(f"start must rise from 0 to {rows}, got {self.start}")
        if not np.isfinite(self.points).all():
            raise ArgumentError("points must be finite")
        if not np.allclose(np.linalg.norm(self.normals, axis=1), 1.0, atol=1e-6):
            raise ArgumentError("each normal must have length 1")
        self._freeze()


def surface_points(
    model: RobotModel,
    urdf: str | None = None,
    *,
    per_link: int = POINTS_PER_LINK,
    radius: float | None = None,
    known: bool = True,
) -> LinkSurfaces:
    """Return points on the links of a robot, evenly spread over each.

    urdf: path or text of a URDF with <collision> elements, by names of links, instead of the
    model's own. radius: of links without readable geometry [m], by default a share of the arm's
    length. known: take shapes of the package for links without, if the names are those of an arm
    that it knows. What cannot be read is left out and listed in `missing`.
    """
    if per_link < 1 or (radius is not None and not radius > 0.0):
        raise ArgumentError(f"per_link and radius must be positive, got {per_link}, {radius}")
    usual = urdf is None and per_link == POINTS_PER_LINK and radius is None and known
    if usual and _SURFACES in model.bound:
        kept: LinkSurfaces = model.bound[_SURFACES]
        return kept
    shapes: list[list[Shape]] = [[] for _ in model.link_names]
    missing: list[str] = []
    source = urdf or model.geometry
    if source:
        try:
            _read_collisions(model, source, shapes, missing)
        except (OSError, UrdfError) as fault:
            missing.append(f"the geometry of the URDF cannot be read: {fault}")
    if known and not all(shapes):
        _fill_known(model, shapes, missing)
    plain = _capsules(model, radius or RADIUS_PER_REACH * _reach(model))
    parts = [_spread(own or plain[i], per_link) for i, own in enumerate(shapes)]
    found = LinkSurfaces(
        np.concatenate([points for points, _ in parts]),
        np.concatenate([normals for _, normals in parts]),
        np.cumsum([0, *(len(points) for points, _ in parts)]),
        tuple(missing),
    )
    if usual:
        model.bound[_SURFACES] = found
    return found


def _fill_known(model: RobotModel, shapes: list[list[Shape]], missing: list[str]) -> None:
    """Give links without shapes those of the package, where its names are those of this arm."""
    for path in _known_shapes(model):
        found: list[list[Shape]] = [[] for _ in shapes]
        robot, _ = read_geometry(str(path))
        names = {link.get("name", "") for link in robot.findall("link") if len(link)}
        if not names <= model.frames.keys():
            continue
        _read_collisions(model, str(path), found, [])
        for i, link in enumerate(model.link_names):
            if shapes[i] or not found[i]:
                continue
            shapes[i] = found[i]
            if model.geometry:
                missing.append(f"{link}: its shape is that of {path.parent.name}/{path.name}")


def _known_shapes(model: RobotModel) -> list[Path]:
    """Return files with shapes: of a robot of this name, and of an arm that its links name."""
    files: list[Path] = []
    for folder, pattern in (("urdf", "*.urdf"), ("config", "*/shapes.urdf")):
        try:
            files += sorted(share_path(folder).glob(pattern))
        except ResourceError:
            continue
    return [
        path
        for path in files
        if path.stem == model.name
        or any(link.startswith(path.parent.name) for link in model.link_names)
    ]


def _read_collisions(
    model: RobotModel, urdf: str, shapes: list[list[Shape]], missing: list[str]
) -> None:
    robot, path = read_geometry(urdf)
    for link in robot.findall("link"):
        frame = model.frames.get(link.get("name", ""))
        if frame is None or frame.body < 0:
            continue
        for collision in link.findall("collision"):
            try:
                shape = _shape(shape_of(collision), path)
            except (OSError, ValueError) as fault:
                missing.append(f"{link.get('name')}: {fault}")
                continue
            R, p = origin_pose(collision.find("origin"))
            placed = Placed(shape, frame.rotation @ R, frame.rotation @ p + frame.place)
            shapes[frame.body].append(placed)


def _shape(element: Element, urdf: Path | None) -> Shape:
    """Return the shape of an element, or raise ValueError."""
    if element.tag == "mesh":
        path = find_mesh(element.get("filename", ""), urdf)
        if path.suffix.lower() != ".stl":
            raise ValueError(f"mesh {path.name}: only STL files are read")
        scale = np.array(numbers(element.get("scale", "1 1 1"), 3))
        return Mesh(read_stl(read_bytes(path, MAX_MESH_BYTES)) * scale)
    if element.tag == "box":
        return Box(np.array(_positive(element, "size", 3)))
    (radius,) = _positive(element, "radius", 1)
    if element.tag == "sphere":
        return Capsule(radius, 0.0)
    (length,) = _positive(element, "length", 1)
    return Capsule(radius, length) if element.tag == "capsule" else Cylinder(radius, length)


def _positive(element: Element, name: str, count: int) -> list[float]:
    found = numbers(element.get(name, ""), count)
    if min(found) <= 0.0:
        raise ValueError(f"{element.tag} with {name} {element.get(name)}: it must be positive")
    return found


def _spread(shapes: Sequence[Shape], count: int) -> tuple[Array, Array]:
    """Return about `count` points and inward normals on the outside of a link's shapes."""
    share = 1.0
    total = sum(shape.area for shape in shapes)
    for _ in range(3):  # points inside another shape are dropped: ask for more
        points, normals = [], []
        for shape in shapes:
            number = max(round(count / share * shape.area / total), 1)
            p, n = shape.sample(number)
            keep = np.ones(number, dtype=bool)
            for other in shapes:
                if other is not shape:
                    keep &= ~other.contains(p)
            points.append(p[keep])
            normals.append(n[keep])
        found = sum(len(p) for p in points)
        if abs(found - count) <= 0.03 * count:
            break
        share = max(share * found / count, MIN_SHARE)
    return np.concatenate(points), np.concatenate(normals)


def _capsules(model: RobotModel, radius: float) -> list[list[Shape]]:
    """Return capsules for all bodies: half way back on its own axis, and to the next joints."""
    bodies = range(len(model.link_names))
    back = [_half_way_back(model, i) for i in bodies]
    shapes: list[list[Shape]] = []
    for i in bodies:
        children = np.flatnonzero(model.parent == i)
        ends = [model.place[c] + model.rotation[c] @ back[c] for c in children]
        if not len(children):
            frames = [f.place for f in model.frames.values() if f.body == i]
            ends = [max([*frames, model.com[i]], key=lambda end: float(np.linalg.norm(end)))]
        far = [end for end in [back[i], *ends] if np.linalg.norm(end) > MIN_LENGTH]
        ball: list[Shape] = [Capsule(radius, 0.0)]
        shapes.append([Placed.between(end, radius) for end in far] or ball)
    return shapes


def _half_way_back(model: RobotModel, i: int) -> Array:
    """Return half of the way from a joint's origin back along its own axis to its parent's."""
    along = float(model.axis[i] @ model.rotation[i].T @ model.place[i])
    return np.asarray(-0.5 * along * model.axis[i])


def _reach(model: RobotModel) -> float:
    """Return the length [m] of the longest chain of links."""
    far = np.zeros(len(model.link_names))
    for i, parent in enumerate(model.parent):
        far[i] = np.linalg.norm(model.place[i]) + (far[parent] if parent >= 0 else 0.0)
    return max(float(far.max(initial=0.0)), 0.2)
