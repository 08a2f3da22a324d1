"""ElasticJointPlant: an arm whose motors drive the links through springs."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..dynamics.elastic import checked_springs, links_of
from ..dynamics.mass_matrix import mass_matrix
from ..dynamics.newton_euler import gravity_torque
from ..errors import one_of
from ..model.robot import RobotModel
from .obstacles import Obstacle, Probe
from .plant import Array
from .rigid import RigidPlant
from .sensors import SensorModel

DEFAULT_STIFFNESS = 1e4  # [N m/rad or N/m], of models that know none
EFFORTS = ("motor", "joint")
MAX_PHASE = 1.0  # [rad], of the fastest oscillation per substep
POSTURES = 8  # random postures, besides the present one, in which that oscillation is computed


class ElasticJointPlant(RigidPlant):
    """Simulated arm of rigid links on elastic joints, [Khalil2019] (7.35):

        M(q) qdd + c(q, qd) + g(q) + F_v qd + F_c sign(qd) = tau_J + tau_ext
        tau_J = K (theta - q) + D (thetad - qd)
        Ia thetadd + friction(thetad) + tau_J = tau

    M is that of the links alone, Ia the rotor inertias, which every joint must have. theta are the
    motor positions, reflected to the joints. `state.q` and `state.qd` are those of the links. The
    model's friction, stops and the brake of a locked joint act on the motors.

    stiffness K [N m/rad or N/m], by default the model's, or 1e4 if that is rigid; damping D
    [N m s/rad or N s/m], by default the model's. link_viscous F_v, link_coulomb F_c: friction on
    the side of the links (7.35a), which a torque sensor sees. One number or one per joint each.
    effort: what the measurement has as torque, of the 'motor' or of the 'joint', K (theta - q).
    substeps: by default as many as the fastest oscillation needs; these are many if a strong
    damper meets a light link. The other arguments are those of RigidPlant. The arm starts with its
    springs in balance with gravity.
    """

    _elastic = True

    def __init__(
        self,
        model: RobotModel,
        q: npt.ArrayLike | None = None,
        qd: npt.ArrayLike | None = None,
        *,
        stiffness: npt.ArrayLike | None = None,
        damping: npt.ArrayLike | None = None,
        link_viscous: npt.ArrayLike = 0.0,
        link_coulomb: npt.ArrayLike = 0.0,
        effort: str = "motor",
        method: str = "fourth_order",
        substeps: int | None = None,
        friction: bool = True,
        friction_width: float = 0.02,
        stops: bool = True,
        saturate: bool = True,
        sensor: SensorModel | None = None,
        obstacles: Sequence[Obstacle] = (),
        probes: Sequence[Probe] | None = None,
        seed: int = 0,
    ) -> None:
        if stiffness is None and np.isinf(model.joint_stiffness).all():
            stiffness = DEFAULT_STIFFNESS
        self.stiffness, self.damping = checked_springs(model, stiffness, damping)
        self.effort = one_of("effort", effort, EFFORTS)
        friction_of_links = links_of(model, link_viscous, link_coulomb)  # checks them
        self.link_viscous, self.link_coulomb = friction_of_links.viscous, friction_of_links.coulomb
        self._automatic = substeps is None
        super().__init__(
            model,
            q,
            qd,
            method=method,
            substeps=1 if substeps is None else substeps,
            friction=friction,
            friction_width=friction_width,
            stops=stops,
            saturate=saturate,
            sensor=sensor,
            obstacles=obstacles,
            probes=probes,
            seed=seed,
        )

    @property
    def motor_q(self) -> Array:
        """Motor positions (n,) [rad or m], reflected to the joints."""
        n = self.model.n
        return self._numbers[n : 2 * n].copy()

    @property
    def motor_qd(self) -> Array:
        """Motor velocities (n,) [rad/s or m/s], reflected to the joints."""
        n = self.model.n
        return self._numbers[3 * n : 4 * n].copy()

    @property
    def joint_torque(self) -> Array:
        """Torque K (theta - q) (n,) [N m or N], as joint torque sensors read it."""
        return self.stiffness * (self.motor_q - self.state.q)

    def restart(self) -> None:
        """Start from `state`, with springs in balance with gravity."""
        q, qd = self.state.q, self.state.qd
        deflection = gravity_torque(self.model, q) / self.stiffness
        self._begin(np.concatenate([q, q + deflection]), np.concatenate([qd, qd]))
        self.rebuild()

    def rebuild(self) -> None:
        """Fill the kernel's tables anew, and find the substeps that they need."""
        super().rebuild()
        self._highest_rate = self._compute_highest_rate()

    def _spring_rows(self) -> Array:
        width = np.full(self.model.n, self.friction_width)
        springs = [self.stiffness, self.damping, self.model.rotor_inertia]
        return np.column_stack([*springs, self.link_viscous, self.link_coulomb, width])

    def reported_effort(self) -> Array:
        """Return the torque (n,) of the motors or of the joints, as `effort` says."""
        return self.joint_torque if self.effort == "joint" else super().reported_effort()

    def _links(self) -> RobotModel:
        return self.model.replace(rotor_inertia=0.0)

    def _drive_positions(self) -> Array:
        return self.motor_q

    def _substeps(self, dt: float) -> int:
        return math.ceil(dt * self._highest_rate / MAX_PHASE) if self._automatic else self.substeps

    def _compute_highest_rate(self) -> float:
        """Return the highest rate [1/s] of the springs, on the inertia 1 / (M^-1 + Ia^-1)."""
        model, n = self.model, self.model.n
        low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
        random = np.random.default_rng(0)
        postures = [self.state.q, *random.uniform(low, high, (POSTURES, n))]
        M = mass_matrix(model, np.array(postures)) - np.diag(model.rotor_inertia)
        links: Array = np.asarray(np.linalg.inv(M), dtype=np.float64)
        inverse = links + np.diag(1.0 / model.rotor_inertia)

        def largest(factors: Array, inverse: Array = inverse) -> float:
            root = np.sqrt(factors)
            return float(np.linalg.eigvalsh(root[:, None] * inverse * root).max())

        viscous, coulomb, stiction, *_ = self.friction_rows().T
        low, high, stop, brake = self._stop_rows().T
        limited = np.isfinite(low) | np.isfinite(high)
        drag = viscous + np.maximum(coulomb, stiction) / self.friction_width + limited * brake
        rate = largest(self.damping) + np.max(drag / model.rotor_inertia)
        rate += largest(self.link_viscous + self.link_coulomb / self.friction_width, links)
        square = largest(self.stiffness) + np.max(limited * stop / model.rotor_inertia)
        return float(max(rate, math.sqrt(square)))
