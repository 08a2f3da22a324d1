"""RigidPlant: forward dynamics with friction, joint stops, pushes and obstacles."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..dynamics.friction import usual_inertia
from ..dynamics.mass_matrix import mass_matrix
from ..errors import ArgumentError, RobodynError, one_of
from ..model import packed_model as at
from ..model.packed_model import aligned_copy, pack_frame
from ..model.robot import RobotModel
from .obstacles import Obstacle, Plane, Probe, Sphere
from .plant import Array, Plant
from .rigid_step import FOURTH_ORDER, SEMI_IMPLICIT, rigid_step
from .sensors import SensorModel

METHODS = {"semi_implicit": SEMI_IMPLICIT, "fourth_order": FOURTH_ORDER}
# Step over the time in which friction brakes a joint, within which each method is stable
LONGEST_STEPS = {SEMI_IMPLICIT: 1.0, FOURTH_ORDER: 2.0}
STOP_FREQUENCY = 100.0  # [rad/s], of a joint's inertia on its stop
BRAKE_FREQUENCY = 300.0  # [rad/s], of a locked joint's inertia on its brake
EMPTY = np.zeros(0)


class RigidPlant(Plant):
    """Simulated arm of rigid links and joints.

    q (n,) [rad or m] and qd (n,) [rad/s or m/s]: initial state, 0 by default. method:
    'fourth_order' (Runge-Kutta) or 'semi_implicit' (Euler); each step is cut into `substeps`.
    friction: the model's friction, whose step is smoothed over at least `friction_width`
    [rad/s or m/s]; long steps are cut further as it needs.
    stops: whether joints bounce softly off their limits. saturate: whether torques are clipped to
    the actuator limits. probes: balls on the robot that touch obstacles; by default one at each
    link's origin. seed: random seed of the sensor noise.
    """

    _elastic = False  # joints

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
        one_of("method", method, METHODS)
        if not substeps >= 1:
            raise ArgumentError(f"substeps must be at least 1, got {substeps!r}")
        self.method, self.substeps = METHODS[method], int(substeps)
        self.stops = stops
        self.probes = [Probe(link) for link in model.link_names] if probes is None else probes
        self.obstacles: list[Plane | Sphere] = []
        for obstacle in obstacles:
            if not isinstance(obstacle, (Plane, Sphere)):
                raise ArgumentError(
                    f"{type(self).__name__} supports obstacles of type Plane and Sphere, got "
                    f"{obstacle!r}; MujocoPlant supports Box and Pendulum too"
                )
            self.obstacles.append(obstacle)
        super().__init__(
            model,
            q,
            qd,
            friction=friction,
            friction_width=friction_width,
            saturate=saturate,
            sensor=sensor,
            seed=seed,
        )

    def restart(self) -> None:
        """Start from `state`, as after a reset."""
        self._begin(self.state.q, self.state.qd)
        self.rebuild()

    def _begin(self, x: Array, xd: Array) -> None:
        """Start from these positions and velocities of all bodies, motors included."""
        n = self.model.n
        self._numbers = np.concatenate([x, xd, np.zeros(3 * n)])
        self._scratch = np.zeros(5 * x.size + 2 * n)

    def rebuild(self) -> None:
        """Fill the kernel's tables anew."""
        self._block = aligned_copy(self._links().packed)
        self._probe_rows = self._make_probe_rows()
        rows = [obstacle.row() for obstacle in self.obstacles]
        self._obstacle_rows = np.concatenate(rows) if rows else EMPTY
        motors = np.column_stack([self.motor_limit, self.motor_gain, self.motor_bias])
        friction, stops, springs = self.friction_rows(), self._stop_rows(), self._spring_rows()
        self._drives = np.hstack([friction, stops, motors, springs]).ravel()
        self._braking_rate = self._fastest_braking(friction)

    def _spring_rows(self) -> Array:
        return np.zeros((self.model.n, 6))

    def _links(self) -> RobotModel:
        return self.model

    def _drive_positions(self) -> Array:
        """Return the motor positions (n,) [rad or m], reflected to the joints."""
        return self.state.q

    def _substeps(self, dt: float) -> int:
        """At long steps more than asked for: friction would make the integration unstable."""
        longest = LONGEST_STEPS[self.method]
        return max(self.substeps, math.ceil(dt * self._braking_rate / longest))

    def _fastest_braking(self, friction: Array) -> float:
        """Return the highest rate [1/s] at which friction, rows (n, 9), brakes a slow joint."""
        viscous, coulomb, stiction, width, travel = (
            friction[:, int(k)]
            for k in (at.VISCOUS, at.COULOMB, at.STICTION, at.WIDTH, at.PRESLIDING)
        )
        inertia, dry = usual_inertia(self.model), np.maximum(coulomb, stiction)
        smooth = (viscous + dry / width) / inertia
        bending = viscous / inertia + np.sqrt(dry / np.where(travel > 0.0, travel, 1.0) / inertia)
        return float(np.max(np.where(travel > 0.0, bending, smooth)))

    def _stop_rows(self) -> Array:
        """Return limits, stiffness, damping of each stop (n, 4); locked: both limits equal."""
        model = self.model
        inertia = np.diag(mass_matrix(model, self.state.q))
        rows = np.zeros((model.n, 4))
        rows[:, 0], rows[:, 1] = (model.q_min, model.q_max) if self.stops else (-np.inf, np.inf)
        rows[:, 2], rows[:, 3] = STOP_FREQUENCY**2 * inertia, 2.0 * STOP_FREQUENCY * inertia
        w = BRAKE_FREQUENCY
        for joint, position in self.locked_joints(self._drive_positions()).items():
            k = self._joint(joint)
            rows[k] = [position, position, w**2 * inertia[k], 2.0 * w * inertia[k]]
        return rows

    def _make_probe_rows(self) -> Array:
        rows = []
        for probe in self.probes:
            self.model.frame(probe.link)
            row, place = self._on_body(probe.link, np.asarray(probe.point, dtype=float))
            rows.append([row, *place, probe.radius])
        return np.array(rows).ravel()

    def _on_body(self, link: str, point: Array) -> tuple[float, Array]:
        """Return the row of a link's body, and a point [m] of the link in the body's frame."""
        frame = pack_frame(self.model, link)
        return float(frame[0]), frame[1:10].reshape(3, 3) @ point + frame[10:13]

    def _push_rows(self, dt: float) -> Array:
        rows = []
        for push in self.pushes:
            strength = push.strength(self.state.t + 0.5 * dt)
            if strength > 0.0:
                row, place = self._on_body(push.link, push.point)
                rows.append([row, *place, *(strength * push.force), *(strength * push.torque)])
        return np.array(rows).ravel() if rows else EMPTY

    def advance(self, command: Array, dt: float) -> tuple[Array, Array, Array, Array]:
        """Integrate over dt [s]; return q, qd, motor torque and external torque (n,) each."""
        n = self.model.n
        pushes = self._push_rows(dt) if self.pushes else EMPTY
        tables = (self._drives, pushes, self._probe_rows, self._obstacle_rows)
        options = (self.model.coupled, self.method, self._substeps(dt), dt)
        numbers = (command, self._numbers, self._scratch)
        if rigid_step(self._block, *tables, *options, *numbers, self._elastic):
            raise RobodynError(
                f"the simulation of '{self.model.name}' diverged at {self.state.t:.3f} s: "
                "take a smaller dt, more substeps or softer contacts"
            )
        x = self._numbers.copy()
        half = (x.size - 3 * n) // 2  # positions, velocities, sliding, external and motor torque
        return x[:n], x[half : half + n], x[-n:], x[-2 * n : -n]
