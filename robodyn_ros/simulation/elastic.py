"""ElasticJointPlant: an arm whose motors drive the links through springs."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..dynamics.dispatch import per_joint
from ..dynamics.mass_matrix import mass_matrix
from ..dynamics.newton_euler import gravity_torque
from ..errors import ArgumentError
from ..model.robot import RobotModel
from .obstacles import Obstacle, Probe
from .plant import Array
from .rigid import RigidPlant
from .sensors import SensorModel

MAX_PHASE = 1.0  # [rad], of the fastest oscillation per substep
POSTURES = 8  # random postures, besides the present one, in which that oscillation is computed


class ElasticJointPlant(RigidPlant):
    """Simulated arm of rigid links on elastic joints, [Khalil2019] (7.35):

        M(q) qdd + c(q, qd) + g(q) = K (theta - q) + D (thetad - qd) + tau_ext
        Ia thetadd + friction(thetad) + K (theta - q) + D (thetad - qd) = tau

    M is that of the links alone, Ia the rotor inertias, which every joint must have. theta are the
    motor positions, reflected to the joints. `state.q` and `state.qd` are those of the links.
    Friction, stops and the brake of a locked joint act on the motors.

    stiffness K [N m/rad or N/m], damping D [N m s/rad or N s/m]: one number or one per joint.
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
        stiffness: npt.ArrayLike = 1e4,
        damping: npt.ArrayLike = 0.0,
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
        self.stiffness = per_joint(model, "stiffness", stiffness)
        self.damping = per_joint(model, "damping", damping)
        if (self.damping < 0.0).any():
            raise ArgumentError(f"damping must not be negative, got {damping!r}")
        for joint, K, rotor in zip(
            model.joint_names, self.stiffness, model.rotor_inertia, strict=True
        ):
            if not K > 0.0:
                raise ArgumentError(f"stiffness of joint '{joint}' must be positive, got {K!r}")
            if rotor == 0.0:
                raise ArgumentError(
                    f"joint '{joint}' has no rotor inertia, which an elastic joint needs: set it "
                    "with model.replace(rotor_inertia=...)"
                )
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

    def _restart(self) -> None:
        q, qd = self.state.q, self.state.qd
        deflection = gravity_torque(self.model, q) / self.stiffness
        self._begin(np.concatenate([q, q + deflection]), np.concatenate([qd, qd]))
        self._rebuild()

    def _rebuild(self) -> None:
        super()._rebuild()
        self._highest_rate = self._compute_highest_rate()

    def _spring_rows(self) -> Array:
        return np.column_stack([self.stiffness, self.damping, self.model.rotor_inertia])

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
        inverse = np.linalg.inv(M) + np.diag(1.0 / model.rotor_inertia)

        def largest(factors: Array) -> float:
            root = np.sqrt(factors)
            return float(np.linalg.eigvalsh(root[:, None] * inverse * root).max())

        viscous, coulomb, stiction, *_ = self._friction_rows().T
        low, high, stop, brake = self._stop_rows().T
        limited = np.isfinite(low) | np.isfinite(high)
        drag = viscous + np.maximum(coulomb, stiction) / self.friction_width + limited * brake
        rate = largest(self.damping) + np.max(drag / model.rotor_inertia)
        square = largest(self.stiffness) + np.max(limited * stop / model.rotor_inertia)
        return float(max(rate, math.sqrt(square)))
