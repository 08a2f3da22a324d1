"""RigidPlant: direct dynamics with friction, stops, pushes and obstacles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..dynamics.mass_matrix import mass_matrix
from ..errors import ArgumentError, RobodynError
from ..model.packed_model import aligned_copy
from ..model.robot import RobotModel
from .obstacles import Obstacle, Plane, Probe, Sphere
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

    _kernel = staticmethod(rigid_step)

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
        if not substeps >= 1:
            raise ArgumentError(f"substeps must be at least 1, got {substeps!r}")
        if not friction_width > 0.0:
            raise ArgumentError(f"friction_width must be positive, got {friction_width!r}")
        self.method, self.substeps = METHODS[method], int(substeps)
        self.friction, self.friction_width, self.stops = friction, float(friction_width), stops
        self.probes = [Probe(link) for link in model.link_names] if probes is None else probes
        self.obstacles: list[Plane | Sphere] = []
        for obstacle in obstacles:
            if not isinstance(obstacle, (Plane, Sphere)):
                raise ArgumentError(
                    f"{type(self).__name__} knows obstacles of type Plane and Sphere, got "
                    f"{obstacle!r}; MujocoPlant knows Box and Pendulum too"
                )
            self.obstacles.append(obstacle)
        super().__init__(model, q, qd, sensor or SensorModel(), saturate, seed)

    def _restart(self) -> None:
        self._held: dict[str, float] = {}  # where the locked joints are
        self._begin(self.state.q, self.state.qd)
        self._rebuild()

    def _begin(self, x: Array, xd: Array) -> None:
        """Start from these positions and velocities of all that moves."""
        n = self.model.n
        self._numbers = np.concatenate([x, xd, np.zeros(2 * n)])
        self._scratch = np.zeros(5 * x.size + 2 * n)

    def _rebuild(self) -> None:
        self._block = aligned_copy(self._links().block)
        self._probe_rows = self._rows_of_probes()
        walls = [obstacle.row() for obstacle in self.obstacles]
        self._obstacle_rows = np.concatenate(walls) if walls else NONE
        motors = np.column_stack([self.motor_limit, self.motor_gain, self.motor_bias])
        losses, stops, springs = self._losses(), self._stops(), self._springs()
        self._drives = np.hstack([losses, stops, motors, springs]).ravel()

    def _losses(self) -> Array:
        """Viscous, Coulomb and static friction of each joint, and how the latter fades."""
        losses = self.model.friction_block[2:].reshape(4, -1).T * float(self.friction)
        for fault in self.faults.values():
            if fault.kind == "friction":
                losses[self._joint(fault.joint), :3] *= fault.value
        return losses

    def _springs(self) -> Array:
        """Stiffness and damping between each motor and its joint, and the rotor's inertia."""
        return np.zeros((self.model.n, 3))

    def _links(self) -> RobotModel:
        """The robot whose direct dynamics is computed."""
        return self.model

    def _drive_positions(self) -> Array:
        """Where the motors are, reflected to their joints."""
        return self.state.q

    def _substeps(self, dt: float) -> int:
        return self.substeps

    def _stops(self) -> Array:
        """Springs and dampers at the limits, each as hard as the inertia behind it allows."""
        model = self.model
        inertia = np.diag(mass_matrix(model, self.state.q))
        rows = np.zeros((model.n, 4))
        rows[:, 0], rows[:, 1] = (model.q_min, model.q_max) if self.stops else (-np.inf, np.inf)
        rows[:, 2], rows[:, 3] = STOP_FREQUENCY**2 * inertia, 2.0 * STOP_FREQUENCY * inertia
        locked = [fault.joint for fault in self.faults.values() if fault.kind == "locked"]
        here, w = self._drive_positions(), BRAKE_FREQUENCY
        self._held = {j: self._held.get(j, float(here[self._joint(j)])) for j in locked}
        for joint, held in self._held.items():
            k = self._joint(joint)
            rows[k] = [held, held, w**2 * inertia[k], 2.0 * w * inertia[k]]
        return rows

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
        bad = self._kernel(
            self._block,
            self._drives,
            self.friction_width,
            self._loads(dt) if self.pushes else NONE,
            self._probe_rows,
            self._obstacle_rows,
            self.model.coupled,
            self.method,
            self._substeps(dt),
            dt,
            self._command,  # a copy of the command that the kernel may read as it is
            self._numbers,
            self._scratch,
        )
        if bad:
            raise RobodynError(
                f"the simulated '{self.model.name}' ceased to be finite at {self.state.t:.3f} s: "
                "take a smaller dt, more substeps or softer contacts"
            )
        numbers = self._numbers.copy()
        half = numbers.size // 2 - n  # of the motion; the external and the motors' torque follow
        return numbers[:n], numbers[half : half + n], numbers[-n:], numbers[-2 * n : -n]
