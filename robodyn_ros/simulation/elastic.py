"""ElasticJointPlant: motors that drive the links through springs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..dynamics.mass_matrix import mass_matrix
from ..dynamics.newton_euler import gravity_torque
from ..errors import ArgumentError
from ..model.robot import RobotModel
from .obstacles import Obstacle, Probe
from .plant import Array
from .rigid import RigidPlant
from .rigid_step import elastic_step
from .sensors import SensorModel

REACH = 1.0  # [rad], how far the fastest oscillation may go in a substep
POSTURES = 8  # how many are looked at, besides the present one, for the fastest oscillation


class ElasticJointPlant(RigidPlant):
    """An arm of rigid links on elastic joints, [Khalil2019] (7.35):

        M(q) qdd + c(q, qd) + g(q) = K (theta - q) + D (thetad - qd) + tau_ext
        Ia thetadd + friction(thetad) + K (theta - q) + D (thetad - qd) = tau

    with M of the links alone and Ia the rotors' inertias, of which no joint may lack one. theta,
    the motors' positions, are reflected to the joints. `state.q` and `state.qd` are those of the
    links. Friction, stops and the brake of a locked joint act on the motors.

    stiffness [N m/rad or N/m], damping [N m s/rad or N s/m]: K and D, one number or one per joint.
    substeps: by default as many as the fastest motion calls for; many, where a strong damper meets
    a light link. The rest is as for the rigid plant. The arm starts with its springs bent as
    gravity would bend them at rest.
    """

    _kernel = staticmethod(elastic_step)

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
        self.stiffness = _per_joint(model, "stiffness", stiffness)
        self.damping = _per_joint(model, "damping", damping)
        for joint, K, rotor in zip(
            model.joint_names, self.stiffness, model.rotor_inertia, strict=True
        ):
            if K == 0.0:
                raise ArgumentError(f"stiffness of joint '{joint}' must be positive, got {K!r}")
            if rotor == 0.0:
                raise ArgumentError(
                    f"joint '{joint}' has no rotor inertia: an elastic joint needs a motor of its "
                    "own, give the model one with replace(rotor_inertia=…)"
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
        """Positions of the motors, reflected to the joints."""
        n = self.model.n
        return self._numbers[n : 2 * n].copy()

    @property
    def motor_qd(self) -> Array:
        """Velocities of the motors, reflected to the joints."""
        n = self.model.n
        return self._numbers[3 * n : 4 * n].copy()

    @property
    def joint_torque(self) -> Array:
        """K (theta - q) [N m or N]: what torque sensors in the joints would read."""
        return self.stiffness * (self.motor_q - self.state.q)

    def _restart(self) -> None:
        q, qd = self.state.q, self.state.qd
        bent = gravity_torque(self.model, q) / self.stiffness
        self._held = {}
        self._begin(np.concatenate([q, q + bent]), np.concatenate([qd, qd]))
        self._rebuild()

    def _rebuild(self) -> None:
        super()._rebuild()
        self._fastest = self._fastest_rate()

    def _springs(self) -> Array:
        return np.column_stack([self.stiffness, self.damping, self.model.rotor_inertia])

    def _links(self) -> RobotModel:
        return self.model.replace(rotor_inertia=0.0)

    def _drive_positions(self) -> Array:
        return self.motor_q

    def _substeps(self, dt: float) -> int:
        return math.ceil(dt * self._fastest / REACH) if self._automatic else self.substeps

    def _fastest_rate(self) -> float:
        """[1/s]: no oscillation and no decay is faster, in the postures looked at.

        A spring bends by  K (theta - q)  and meets  1 / (M^-1 + Ia^-1)  of inertia.
        """
        model, n = self.model, self.model.n
        low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
        random = np.random.default_rng(0)
        postures = [self.state.q, *random.uniform(low, high, (POSTURES, n))]
        M = mass_matrix(model, np.array(postures)) - np.diag(model.rotor_inertia)
        yielding = np.linalg.inv(M) + np.diag(1.0 / model.rotor_inertia)

        def largest(factors: Array) -> float:
            root = np.sqrt(factors)
            return float(np.linalg.eigvalsh(root[:, None] * yielding * root).max())

        viscous, coulomb, stiction, _ = self._losses().T
        low, high, stop, brake = self._stops().T
        there = np.isfinite(low) | np.isfinite(high)
        drag = viscous + np.maximum(coulomb, stiction) / self.friction_width + there * brake
        rate = largest(self.damping) + np.max(drag / model.rotor_inertia)
        square = largest(self.stiffness) + np.max(there * stop / model.rotor_inertia)
        return float(max(rate, math.sqrt(square)))


def _per_joint(model: RobotModel, name: str, value: npt.ArrayLike) -> Array:
    try:
        numbers = np.array(np.broadcast_to(value, (model.n,)), dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if not (numbers.shape == (model.n,) and np.isfinite(numbers).all() and (numbers >= 0.0).all()):
        raise ArgumentError(
            f"{name} must be one number or {model.n}, finite and not negative, got {value!r}"
        )
    return numbers
