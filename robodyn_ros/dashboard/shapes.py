"""Plain shapes for the links of an arm whose URDF has no visuals: bodies of revolution."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics.kinematics import forward_kinematics
from ..model.robot import RobotModel

Array = npt.NDArray[np.float64]

CIRCLE_CORNERS = 24
EDGE_STEPS = 4  # of a rounded edge
BASE_RADIUS = 0.068  # per reach of the arm
TIP_RADIUS = 0.6  # per radius at the base
MIN_LENGTH = 1e-3  # [m]: a shorter link is drawn without a tube


class Mesh(NamedTuple):
    """Vertices (V, 3) [m] and triangles (F, 3)."""

    vertices: Array
    faces: npt.NDArray[np.int64]

    def moved(self, R: Array, p: Array) -> Mesh:
        """Return the mesh rotated by R, then moved by p."""
        return Mesh(self.vertices @ R.T + p, self.faces)


class LinkShape(NamedTuple):
    """Shape of a link in its frame; shell and trim differ in colour."""

    shell: Mesh
    trim: Mesh
    radius: float  # [m], of the shell
    end: Array  # (3,) [m], where the next joint is


def join(meshes: list[Mesh]) -> Mesh:
    """Return several meshes as one."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes[:-1])])
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts, strict=True)]
    return Mesh(np.vstack([mesh.vertices for mesh in meshes]), np.vstack(faces))


def revolved(profile: Array) -> Mesh:
    """Return the surface of revolution of a profile (r, z) about z, from bottom to top."""
    angle = 2.0 * np.pi * np.arange(CIRCLE_CORNERS) / CIRCLE_CORNERS
    r, z = profile[:, 0, None], profile[:, 1, None]
    corners = np.stack([r * np.cos(angle), r * np.sin(angle), z + 0.0 * angle], axis=-1)
    k, j = np.meshgrid(np.arange(len(profile) - 1), np.arange(CIRCLE_CORNERS), indexing="ij")
    a, b = k * CIRCLE_CORNERS + j, k * CIRCLE_CORNERS + (j + 1) % CIRCLE_CORNERS
    c, d = a + CIRCLE_CORNERS, b + CIRCLE_CORNERS
    faces = np.concatenate([np.stack([a, b, d], -1), np.stack([a, d, c], -1)], axis=1)
    return Mesh(corners.reshape(-1, 3), faces.reshape(-1, 3))


def drum(radius: float, length: float, edge: float) -> Mesh:
    """Return a cylinder along z, centred at 0, with rounded edges; edge = radius: a capsule."""
    turn = np.linspace(0.0, np.pi / 2.0, EDGE_STEPS)
    inner, half = radius - edge, length / 2.0 - edge
    low = np.stack([inner + edge * np.sin(turn), -half - edge * np.cos(turn)], axis=-1)
    high = np.stack([low[::-1, 0], -low[::-1, 1]], axis=-1)
    tips = [[0.0, low[0, 1]], [0.0, high[-1, 1]]]
    return revolved(np.vstack([tips[0], low, high, tips[1]]))


def along(direction: Array) -> Array:
    """Return a rotation that takes z to this direction."""
    z = direction / np.linalg.norm(direction)
    x = np.cross([0.0, 1.0, 0.0] if abs(z[1]) < 0.9 else [1.0, 0.0, 0.0], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def tube(start: Array, end: Array, radius: float) -> Mesh:
    """Return a capsule from one point to another."""
    axis = end - start
    length = float(np.linalg.norm(axis))
    return drum(radius, length + 2.0 * radius, radius).moved(along(axis), (start + end) / 2.0)


def link_shapes(model: RobotModel) -> list[LinkShape]:
    """Return a shape per moving body: a drum about its joint axis, and tubes to its children."""
    return [_link(model, i, radius) for i, radius in enumerate(_radii(model))]


def foot(model: RobotModel) -> LinkShape:
    """Return the base: a plate on the ground, and tubes to the first joints."""
    radius, up = BASE_RADIUS * reach(model), np.array([0.0, 0.0, 1.0])
    floor = ground(model) * up
    ends = [model.place[i] for i in np.flatnonzero(model.parent == -1)]
    plate = drum(1.55 * radius, 0.4 * radius, 0.08 * radius)
    ring = drum(1.6 * radius, 0.12 * radius, 0.05 * radius)
    parts = [plate.moved(np.eye(3), floor + 0.2 * radius * up)]
    parts += [
        tube(floor + radius * up, end, radius)
        for end in ends
        if np.linalg.norm(end - floor) > 2.0 * radius
    ]
    return LinkShape(
        join(parts), ring.moved(np.eye(3), floor + 0.2 * radius * up), radius, np.zeros(3)
    )


def ground(model: RobotModel) -> float:
    """Return the height of the ground [m], below the first joint."""
    radius = BASE_RADIUS * reach(model)
    low = min(float(model.place[i, 2]) for i in np.flatnonzero(model.parent == -1))
    return min(0.0, low - 1.05 * radius)


def reach(model: RobotModel) -> float:
    """Return the length [m] of the longest chain of links."""
    far = np.zeros(len(model.link_names))
    for i, parent in enumerate(model.parent):
        step = float(np.linalg.norm(model.place[i]))
        far[i] = step + (far[parent] if parent >= 0 else 0.0)
    return max(float(far.max(initial=0.0)), 0.2)


def middle(model: RobotModel, q: Array) -> Array:
    """Return the middle (3,) [m] of the arm, for the camera."""
    places = forward_kinematics(model, q)[:, :3, 3]
    return np.asarray((places.min(axis=0) + places.max(axis=0)) / 2.0)


def _radii(model: RobotModel) -> list[float]:
    """Return the radius of each link [m], decreasing from the base to the tips."""
    depth = np.ones(len(model.link_names))
    for i, parent in enumerate(model.parent):
        depth[i] = 1.0 if parent < 0 else depth[parent] + 1.0
    share = (depth - 1.0) / max(float(depth.max(initial=1.0)) - 1.0, 1.0)
    return list(BASE_RADIUS * reach(model) * (1.0 + share * (TIP_RADIUS - 1.0)))


def _link(model: RobotModel, i: int, radius: float) -> LinkShape:
    axis = model.axis[i]
    R = along(axis)
    parts = [drum(radius, 2.1 * radius, 0.25 * radius).moved(R, np.zeros(3))]
    rings = [
        drum(0.72 * radius, 0.16 * radius, 0.06 * radius).moved(R, side * 1.07 * radius * axis)
        for side in (-1.0, 1.0)
    ]
    ends = _ends(model, i)
    for end in ends:
        parts.append(tube(np.zeros(3), end, 0.82 * radius))
        direction = end / np.linalg.norm(end)
        band = drum(0.86 * radius, 0.22 * radius, 0.05 * radius)
        if np.linalg.norm(end) > 3.0 * radius:
            rings.append(band.moved(along(direction), end / 2.0))
    last = max(ends, key=lambda end: float(np.linalg.norm(end)), default=np.zeros(3))
    return LinkShape(join(parts), join(rings), radius, last)


def _ends(model: RobotModel, i: int) -> list[Array]:
    """Return the ends of a link: its child joints, else its frames, else beyond its mass."""
    ends = [model.place[c] for c in np.flatnonzero(model.parent == i)]
    if not ends:
        frames = [f.place for f in model.frames.values() if f.body == i]
        ends = (
            frames if any(np.linalg.norm(f) > MIN_LENGTH for f in frames) else [2.0 * model.com[i]]
        )
    return [np.asarray(end) for end in ends if np.linalg.norm(end) > MIN_LENGTH]
