"""RigidPlant: direct dynamics with friction, stops, pushes and obstacles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..dynamics.inertia import mass_matrix
from ..errors import ArgumentError, RobodynError
from ..model.block import aligned_copy
from ..model.robot import RobotModel
from .obstacles import Obstacle, Probe
from .plant import Array, Plant
from .rigid_step import FOURTH_ORDER, SEMI_IMPLICIT, rigid_step
from .sensors import SensorModel

METHODS = {"semi_implicit": SEMI_IMPLICIT, "fourth_order": FOURTH_ORDER}
STOP_FREQUENCY = 100.0  # [rad/s], how hard a joint's stop is
BRAKE_FREQUENCY = 300.0  # [rad/s], how hard a locked joint is held
NONE = np.zeros(0)


class RigidPlant(Plant):
    """An arm of rigid links and joints.

    friction: smooth Stribeck friction as in the model, with `friction_width` [rad/s or m/s] in
    place of the step at rest. stops: joints bounce softly off their limits. probes: balls on the
    robot that obstacles can touch; by default one at each link's origin.
    """

    def __init__(
        self,
        model: RobotModel,
        q: npt.ArrayLike | None = None,
        qd: npt.ArrayLike | None = None,
        *,
        method: str = "fourth_order",
        substeps: int = 1,
        friction: bool = True,
        friction_width: float = 0.02,
        stops: bool = True,
        saturate: bool = True,
        sensor: SensorModel | None = None,
        obstacles: Sequence[Obstacle] = (),
        probes: Sequence[Probe] | None = None,
        seed: int = 0,
    ) -> None:
        if method not in METHODS:
            raise ArgumentError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
        if substeps < 1:
            raise ArgumentError(f"substeps must be at least 1, got {substeps!r}")
        if not friction_width > 0.0:
            raise ArgumentError(f"friction_width must be positive, got {friction_width!r}")
        self.method, self.substeps = METHODS[method], int(substeps)
        self.friction, self.friction_width, self.stops = friction, float(friction_width), stops
        self.probes = [Probe(link) for link in model.link_names] if probes is None else probes
        self.obstacles = list(obstacles)
        super().__init__(model, q, qd, sensor or SensorModel(), saturate, seed)

    def _restart(self) -> None:
        n = self.model.n
        self._numbers = np.concatenate([self.state.q, self.state.qd, np.zeros(2 * n)])
        self._scratch = np.zeros(7 * n)
        self._rebuild()

    def _rebuild(self) -> None:
        model = self.model
        self._block = aligned_copy(model.block)
        losses = model.friction_block[2:].copy()
        self._friction = losses if self.friction else np.zeros(4 * model.n)
        self._probe_rows = self._rows_of_probes()
        walls = [obstacle.row() for obstacle in self.obstacles]
        self._obstacle_rows = np.concatenate(walls) if walls else NONE
        self._stop_rows = self._rows_of_stops()
        for fault in self.faults.values():
            k = self._joint(fault.joint)
            if fault.kind == "friction":
                self._friction.reshape(4, model.n)[:3, k] *= fault.value

    def _rows_of_stops(self) -> Array:
        """Springs and dampers at the limits, each as hard as the inertia behind it allows."""
        model = self.model
        inertia = np.diag(mass_matrix(model, self.state.q))
        rows = np.zeros((model.n, 4))
        rows[:, 0], rows[:, 1] = (model.q_min, model.q_max) if self.stops else (-np.inf, np.inf)
        rows[:, 2], rows[:, 3] = STOP_FREQUENCY**2 * inertia, 2.0 * STOP_FREQUENCY * inertia
        for fault in self.faults.values():
            if fault.kind == "locked":
                k = self._joint(fault.joint)
                held, w = self.state.q[k], BRAKE_FREQUENCY
                rows[k] = [held, held, w**2 * inertia[k], 2.0 * w * inertia[k]]
        return rows.ravel()

    def _rows_of_probes(self) -> Array:
        rows = []
        for probe in self.probes:
            self.model.frame(probe.link)
            row, place = self._on_body(probe.link, np.asarray(probe.point, dtype=float))
            rows.append([row, *place, probe.radius])
        return np.array(rows).ravel()

    def _on_body(self, link: str, point: Array) -> tuple[float, Array]:
        """The row of a link's body, and a point of the link on it."""
        frame = self.model.frame_blocks[link]
        return float(frame[0]), frame[1:10].reshape(3, 3) @ point + frame[10:13]

    def _loads(self, dt: float) -> Array:
        """What the pushes do at the middle of the coming step."""
        rows = []
        for push in self.pushes:
            strength = push.strength(self.state.t + 0.5 * dt)
            if strength > 0.0:
                row, place = self._on_body(push.link, push.point)
                rows.append([row, *place, *(strength * push.force), *(strength * push.torque)])
        return np.array(rows).ravel() if rows else NONE

    def _advance(self, command: Array, dt: float) -> tuple[Array, Array, Array, Array]:
        n = self.model.n
        bad = rigid_step(
            self._block,
            self._friction,
            self.friction_width,
            self._stop_rows,
            self._loads(dt) if self.pushes else NONE,
            self._probe_rows,
            self._obstacle_rows,
            self.model.coupled,
            self.method,
            self.substeps,
            dt,
            self.motor_limit,
            self.motor_gain,
            self.motor_bias,
            command,
            self._numbers,
            self._scratch,
        )
        if bad:
            raise RobodynError(
                f"the simulated '{self.model.name}' ceased to be finite at {self.state.t:.3f} s: "
                "take a smaller dt, more substeps or softer contacts"
            )
        numbers = self._numbers.copy()
        return numbers[:n], numbers[n : 2 * n], numbers[3 * n :], numbers[2 * n : 3 * n]
