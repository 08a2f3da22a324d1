"""Scene: the arm in 3-D, its reference posture, and the forces on it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import viser
import viser.transforms as vtf

from ..dynamics.kinematics import forward_kinematics
from ..model.robot import RobotModel
from ..palette import BLUE, GREEN, GREY, LEVEL_COLOURS, RED, rgb
from .feed import Feed, Force, Push, scripted_pushes, true_force
from .shapes import Mesh, foot, ground, join, link_shapes, middle, reach
from .visuals import Colour, Visual

Array = npt.NDArray[np.float64]

SHELL, TRIM, DARK = (236, 239, 243), (104, 120, 138), (70, 78, 90)  # none of them means a state
GHOST = rgb(BLUE)
NO_SHADOW = {"cast_shadow": False, "receive_shadow": False}
ESTIMATED, TRUE, PLANNED = rgb(RED), rgb(GREEN), rgb(GREY)
TOUCHED = {level: rgb(LEVEL_COLOURS[level][0]) for level in ("CONTACT", "COLLISION")}
GHOST_DISTANCE = 0.015  # [m, or of a rotation matrix]; the ghost is hidden below it
ARROW_SCALE = 0.008  # [m/N]
ARROW_MAX = 0.9  # [m]
ARROW_MIN_FORCE = 0.5  # [N]


class Scene:
    """The 3-D view of one arm: its frames move, the meshes on them are sent once."""

    def __init__(
        self, server: viser.ViserServer, model: RobotModel, visuals: list[Visual], q: Array
    ) -> None:
        self.server, self.model = server, model
        self._shells: list[list[tuple[viser.MeshHandle, Colour]]] = [[] for _ in model.link_names]
        self._painted: dict[int, Colour] = {}  # touched bodies
        self._add_surroundings(q)
        with server.atomic():
            self._arm = [self._frame(f"/arm/{name}") for name in model.link_names]
            self._ghost = [self._frame(f"/ghost/{name}") for name in model.link_names]
            self._build(visuals)
            self._estimate = _Arrow(server, "/forces/estimated", ESTIMATED, 0.011)
            self._truth = _Arrow(server, "/forces/true", TRUE, 0.007)
            self.planned = _Arrow(server, "/forces/planned", PLANNED, 0.006)
        self._ghost_visible = np.ones(len(model.link_names), dtype=bool)
        self._scripted: tuple[int, list[Push]] = (-1, [])

    def draw(self, feed: Feed) -> None:
        """Show the latest state."""
        if feed.q is None:
            return
        poses = self._place(self._arm, feed.q)
        q_ref = feed.q_ref if feed.fresh("reference") else None
        reference = poses if q_ref is None else self._place(self._ghost, q_ref)
        visible = np.abs(reference - poses).max(axis=(1, 2)) > GHOST_DISTANCE
        for k in np.flatnonzero(visible != self._ghost_visible):
            self._ghost[k].visible = bool(visible[k])
        self._ghost_visible = visible
        self._paint(feed)
        self._estimate.show(self._estimated(feed))
        self._truth.show(self._true(feed))
        if feed.detector.touched:
            self.planned.show(None)

    def _place(self, frames: list[viser.FrameHandle], q: Array) -> Array:
        """Move the frames to the posture q; return their poses (N, 4, 4)."""
        poses = forward_kinematics(self.model, q)
        for frame, pose in zip(frames, poses, strict=True):
            frame.position = pose[:3, 3]
            frame.wxyz = vtf.SO3.from_matrix(pose[:3, :3]).wxyz
        return poses

    def _paint(self, feed: Feed) -> None:
        state, painted = feed.detector, {}
        if feed.fresh("detector") and state.touched and state.link in self.model.frames:
            painted = {self.model.frames[state.link].body: TOUCHED[state.level]}
        if painted == self._painted:
            return
        for body in {*painted, *self._painted} - {-1}:
            for handle, own in self._shells[body]:
                handle.color = painted.get(body, own)
        self._painted = painted

    def _estimated(self, feed: Feed) -> Force | None:
        """Return the detector's force, drawn at the centre of mass of the link it names."""
        if not (feed.fresh("detector") and feed.detector.touched) or feed.q is None:
            return None
        if math.isnan(feed.detector.force) or feed.force_link not in self.model.frames:
            return None  # the last force that was known may be of another moment
        frame = self.model.frames[feed.force_link]
        pose = forward_kinematics(self.model, feed.q, feed.force_link)
        com = self.model.com[frame.body] if frame.body >= 0 else np.zeros(3)
        place = frame.rotation.T @ (com - frame.place)
        return Force(pose[:3, 3] + pose[:3, :3] @ place, pose[:3, :3] @ feed.force)

    def _true(self, feed: Feed) -> Force | None:
        """Return the true force of a simulated arm, if a known push explains it."""
        if not feed.fresh("truth") or feed.tau_ext is None or feed.q is None:
            return None
        if self._scripted[0] != feed.changes:
            script = scripted_pushes(self.model, feed.parameters.get("simulator_node", {}))
            self._scripted = feed.changes, script
        return true_force(self.model, feed.q, feed.tau_ext, [*feed.pushes, *self._scripted[1]])

    def _build(self, visuals: list[Visual]) -> None:
        """Add the visuals of each body, or a plain shape where the URDF has none."""
        with_visuals = {visual.body for visual in visuals}
        for body in range(-1, len(self.model.link_names)):
            meshes: dict[Colour, list[Mesh]] = {}
            for visual in (v for v in visuals if v.body == body):
                meshes.setdefault(visual.colour or SHELL, []).append(visual.mesh)
            if body not in with_visuals and not (with_visuals and body < 0):
                shape = foot(self.model) if body < 0 else link_shapes(self.model)[body]
                meshes = {DARK if body < 0 else SHELL: [shape.shell], TRIM: [shape.trim]}
            parent, from_urdf = "/arm/base", body in with_visuals
            if body >= 0:
                parent = self._arm[body].name
            for k, (colour, parts) in enumerate(meshes.items()):
                side = {"side": "double" if from_urdf else "front"}
                handle = self._add(f"{parent}/part_{k}", parts, color=colour, **side)
                if body >= 0 and (from_urdf or colour != TRIM):
                    self._shells[body].append((handle, colour))
            if body >= 0 and meshes:
                every = [mesh for parts in meshes.values() for mesh in parts]
                name = f"{self._ghost[body].name}/part"
                self._add(name, every, color=GHOST, opacity=0.18, **NO_SHADOW)

    def _add(self, name: str, meshes: list[Mesh], **options: Any) -> viser.MeshHandle:
        vertices, faces = join(meshes)
        return self.server.scene.add_mesh_simple(name, vertices, faces, **options)

    def _frame(self, name: str) -> viser.FrameHandle:
        return self.server.scene.add_frame(name, show_axes=False)

    def _add_surroundings(self, q: Array) -> None:
        """Add ground, lights (shadows would need a graphics card), and the first camera view."""
        scene, size = self.server.scene, reach(self.model)
        scene.set_up_direction("+z")
        scene.configure_environment_map(None)
        scene.configure_default_lights(False)
        scene.add_light_hemisphere(
            "/light/sky", sky_color=(255, 255, 255), ground_color=(214, 217, 222), intensity=1.5
        )
        lights = {"sun": ((2.0, -3.0, 4.0), 1.7), "rim": ((-3.0, 2.0, 2.0), 0.6)}
        for name, (place, strength) in lights.items():
            scene.add_light_directional(f"/light/{name}", position=place, intensity=strength)
        scene.add_grid(
            "/ground",
            width=6.0 * size,
            height=6.0 * size,
            cell_size=0.1,
            section_size=0.5,
            cell_color=(222, 226, 232),
            section_color=(196, 203, 212),
            fade_distance=6.0 * size,
            fade_from="origin",
            position=(0.0, 0.0, ground(self.model)),
        )
        camera, target = self.server.initial_camera, middle(self.model, q)
        camera.look_at = tuple(target)
        camera.position = tuple(target + size * np.array([0.92, -0.82, 0.34]))


class _Arrow:
    """An arrow that ends where a force acts."""

    def __init__(
        self, server: viser.ViserServer, name: str, colour: Colour, thickness: float
    ) -> None:
        self._handle = server.scene.add_arrows(
            name,
            np.array([[[0.0, 0.0, 0.0], [0.0, 0.0, 0.1]]]),
            np.array(colour),
            shaft_radius=thickness,
            head_radius=2.4 * thickness,
            head_length=5.0 * thickness,
            visible=False,
        )
        self._shown: Force | None = None

    def show(self, force: Force | None) -> None:
        """Draw a force, or hide the arrow."""
        if force is not None and np.linalg.norm(force.force) < ARROW_MIN_FORCE:
            force = None
        if (force is None) != (self._shown is None):
            self._handle.visible = force is not None
        self._shown = force
        if force is not None:
            size = float(np.linalg.norm(force.force))
            arrow = force.force / size * min(ARROW_SCALE * size, ARROW_MAX)
            self._handle.points = np.array([[force.point - arrow, force.point]], dtype=np.float32)
