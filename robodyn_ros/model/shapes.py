"""Shapes of links: points evenly spread over their surface, with exact inward normals.

The normals of a round housing point at its axis, which is often a joint's: a push along them does
not load that joint. Those of a polygon do not, so round shapes are not made of triangles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from .packed_model import frame_with_axis_z
from .rigid_body import Array

GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))  # [rad]: turns by it fill a circle evenly
# Multiples of these, modulo 1, fill a square evenly: powers of 1/1.3247…
EVEN = np.array([0.7548776662466927, 0.5698402909980532])
Flags = npt.NDArray[np.bool_]
INSIDE = 1e-6  # [m], depth in a shape from which on a point is hidden by it
STL_HEADER, STL_TRIANGLE = 84, 50  # bytes
STL_FIELDS = np.dtype([("normal", "<3f4"), ("corners", "<9f4"), ("attribute", "<u2")])


class Shape(Protocol):
    """A shape with its surface's area [m^2]."""

    @property
    def area(self) -> float:
        """Area of the surface [m^2]."""

    def sample(self, count: int) -> tuple[Array, Array]:
        """Return points (count, 3) [m] and inward unit normals (count, 3)."""

    def contains(self, points: Array) -> Flags:
        """Return which points (P, 3) lie inside (P,)."""


@dataclass(frozen=True, eq=False)
class Capsule:
    """A capsule along z about the origin; of length 0, a sphere."""

    radius: float  # [m]
    length: float  # [m], between the centres of its ends

    @property
    def area(self) -> float:
        """Area of the surface [m^2]."""
        return float(2.0 * np.pi * self.radius * (self.length + 2.0 * self.radius))

    def sample(self, count: int) -> tuple[Array, Array]:
        """Return points and inward normals on a spiral: equal heights have equal areas."""
        k = np.arange(count) + 0.5
        half = 0.5 * self.length
        z = (k / count - 0.5) * (self.length + 2.0 * self.radius)
        centre = np.clip(z, -half, half)
        rise = (z - centre) / self.radius
        flat = np.sqrt(np.maximum(1.0 - rise**2, 0.0))
        turn = GOLDEN_ANGLE * k
        out = np.stack([flat * np.cos(turn), flat * np.sin(turn), rise], axis=1)
        return self.radius * out + centre[:, None] * [0.0, 0.0, 1.0], -out

    def contains(self, points: Array) -> Flags:
        """Return which points lie inside."""
        off = points.copy()
        off[:, 2] -= np.clip(points[:, 2], -0.5 * self.length, 0.5 * self.length)
        return np.asarray(np.linalg.norm(off, axis=1) < self.radius - INSIDE)


@dataclass(frozen=True, eq=False)
class Cylinder:
    """A cylinder along z about the origin."""

    radius: float  # [m]
    length: float  # [m]

    @property
    def area(self) -> float:
        """Area of the surface [m^2]."""
        return float(2.0 * np.pi * self.radius * (self.length + self.radius))

    def sample(self, count: int) -> tuple[Array, Array]:
        """Return points and inward normals: a spiral up the side, and one on each end."""
        k = np.arange(count) + 0.5
        turn = GOLDEN_ANGLE * k
        side = self.length / (self.length + self.radius)
        height = 2.0 * k / count - 1.0  # by area, from bottom to top
        end = np.maximum(np.abs(height) - side, 0.0) / (1.0 - side)  # 0 at the rim, 1 at the axis
        flat = np.sqrt(1.0 - end)
        z = 0.5 * self.length * np.clip(height / side, -1.0, 1.0)
        around = np.stack([np.cos(turn), np.sin(turn), 0.0 * turn], axis=1)
        points = self.radius * flat[:, None] * around
        points[:, 2] = z
        up = np.sign(height)[:, None] * [0.0, 0.0, 1.0]
        return points, -np.where(end[:, None] > 0.0, up, around)

    def contains(self, points: Array) -> Flags:
        """Return which points lie inside."""
        within = np.hypot(points[:, 0], points[:, 1]) < self.radius - INSIDE
        return np.asarray(within & (np.abs(points[:, 2]) < 0.5 * self.length - INSIDE))


@dataclass(frozen=True, eq=False)
class Box:
    """A box about the origin."""

    size: Array  # (3,) [m]

    @property
    def area(self) -> float:
        """Area of the surface [m^2]."""
        a, b, c = self.size
        return float(2.0 * (a * b + b * c + c * a))

    def sample(self, count: int) -> tuple[Array, Array]:
        """Return points and inward normals, side by side."""
        pairs = np.prod(self.size) / self.size  # area of a side across each axis
        edges = np.cumsum(np.repeat(pairs, 2)) / (2.0 * pairs.sum())
        k = np.arange(count) + 0.5
        side = np.searchsorted(edges, k / count).clip(max=5)
        axis, sign = side // 2, 1.0 - 2.0 * (side % 2)
        place = (k[:, None] * EVEN) % 1.0 - 0.5
        out = np.zeros((count, 3))
        out[np.arange(count), axis] = sign
        points = 0.5 * out
        points[np.arange(count), (axis + 1) % 3] = place[:, 0]
        points[np.arange(count), (axis + 2) % 3] = place[:, 1]
        return points * self.size, -out

    def contains(self, points: Array) -> Flags:
        """Return which points lie inside."""
        return np.asarray(np.all(np.abs(points) < 0.5 * self.size - INSIDE, axis=1))


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles; those of a closed mesh are taken to face outward, whatever their order."""

    triangles: Array  # (F, 3, 3) [m]

    @property
    def area(self) -> float:
        """Area of the surface [m^2]."""
        return float(0.5 * np.linalg.norm(self._outward(), axis=1).sum())

    def sample(self, count: int) -> tuple[Array, Array]:
        """Return points and inward normals, by area."""
        a, b, c = np.swapaxes(self.triangles, 0, 1)
        out = self._outward()
        double = np.linalg.norm(out, axis=1)
        k = np.arange(count) + 0.5
        face = np.searchsorted(np.cumsum(double), k / count * double.sum())
        face = face.clip(max=len(double) - 1)
        u, v = ((k[:, None] * EVEN) % 1.0).T
        folded = u + v > 1.0
        u, v = np.where(folded, 1.0 - u, u)[:, None], np.where(folded, 1.0 - v, v)[:, None]
        points = a[face] + u * (b - a)[face] + v * (c - a)[face]
        return points, -out[face] / double[face, None]

    def contains(self, points: Array) -> Flags:
        """Return False for all: meshes may have any form."""
        return np.zeros(len(points), dtype=bool)

    def _outward(self) -> Array:
        """Return outward normals (F, 3), as long as twice the area of each triangle."""
        a, b, c = np.swapaxes(self.triangles, 0, 1)
        normals = np.cross(b - a, c - a)
        inside_out = np.einsum("ij,ij->", a - a.mean(axis=0), normals) < 0.0
        return np.asarray(-normals if inside_out else normals)


@dataclass(frozen=True, eq=False)
class Placed:
    """A shape at a pose in another frame."""

    shape: Shape
    rotation: Array  # (3, 3)
    place: Array  # (3,) [m]

    @staticmethod
    def between(end: Array, radius: float) -> Placed:
        """Return a capsule from the origin to a point."""
        length = float(np.linalg.norm(end))
        return Placed(Capsule(radius, length), frame_with_axis_z(end), 0.5 * end)

    @property
    def area(self) -> float:
        """Area of the surface [m^2]."""
        return self.shape.area

    def sample(self, count: int) -> tuple[Array, Array]:
        """Return points and inward normals."""
        points, normals = self.shape.sample(count)
        return points @ self.rotation.T + self.place, normals @ self.rotation.T

    def contains(self, points: Array) -> Flags:
        """Return which points lie inside."""
        return self.shape.contains((points - self.place) @ self.rotation)


def read_stl(content: bytes) -> Array:
    """Return the triangles (F, 3, 3) in the bytes of an STL file; raise ValueError if broken."""
    count = int.from_bytes(content[80:84], "little")
    if len(content) >= STL_HEADER and len(content) == STL_HEADER + count * STL_TRIANGLE:
        corners = np.frombuffer(content, STL_FIELDS, count, STL_HEADER)["corners"]
    elif content.lstrip()[:5].lower() == b"solid":
        words = content.split()
        found = [words[k + 1 : k + 4] for k, word in enumerate(words) if word == b"vertex"]
        if len(found) % 3 or any(len(three) != 3 for three in found):
            raise ValueError("the triangles of an STL file are incomplete")
        corners = np.array([float(x) for three in found for x in three])
    else:
        raise ValueError("a mesh is no STL file")
    triangles = corners.reshape(-1, 3, 3).astype(np.float64)
    if not len(triangles) or not np.isfinite(triangles).all():
        raise ValueError("an STL file is empty or holds numbers that are not finite")
    return triangles
