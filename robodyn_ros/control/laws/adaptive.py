"""AdaptiveController: tracking with parameters estimated on the way.

e = q_d - q,  qd_r = qd_d + Lambda e,  qdd_r = qdd_d + Lambda ed,  s = qd_r - qd = ed + Lambda e.
theta: unknown parameters by name (see `adaptive_parameters`), Y_u: their columns of the regressor.

slotine_li    tau = M qdd_r + C*(q, qd) qd_r + g + Kd s         theta' = Gamma Y_u^T s
              [SlotineLi1987], Y_u(q, qd, qd_r, qdd_r); the known part is one sweep of NE*. By
              V = 1/2 s^T M s + 1/2 phi^T Gamma^-1 phi,  Vdot = -s^T Kd s,  phi: error of theta.

lu_meng       tau = M (qdd_r + lambda s) + C qd + g             theta' = Gamma Y_u^T s
              [LuMeng1993] (95), (94): Y_u(q, qd, qdd*), qdd* = qdd_r + lambda s is (96), by plain
              Newton-Euler. Vdot = -s^T (lambda M - Mdot / 2) s: lambda must be large. With a kd
              it is (88), (89): Kd s in place of lambda M s.

craig         the same torque, but                              theta' = Gamma Y_u^T M^-1 s
              Y_u(q, qd, qdd) at the measured acceleration; V = 1/2 s^T s + 1/2 phi^T Gamma^-1 phi,
              Vdot = -s^T Lambda s. The law of [Craig1987] with Kv = 2 Lambda, Kp = Lambda^2 and
              the filtered error ed + Lambda e, which is s. The acceleration is the difference of
              two samples' velocities.

Hats are left out: M, C and g are those of the estimate. Unknown friction is taken at qd_r, not at
the measured velocity: as friction rises with speed, s^T (f(qd_r) - f(qd)) >= 0 only helps, and
velocity noise at rest does not excite the arm. Craig's law needs it at qd.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dynamics.friction import WIDTH
from ...dynamics.mass_matrix import mass_matrix
from ...dynamics.ne_star import ne_star
from ...dynamics.newton_euler import inverse_dynamics
from ...dynamics.regressor import regressor, slotine_li_regressor
from ...errors import ArgumentError, one_of, positive
from ...model.robot import RobotModel
from ..controller import Array, Controller, gains_of
from .adaptive_parameters import Bounds, Load, Unknowns

LAWS = ("slotine_li", "lu_meng", "craig")


class AdaptiveController(Controller):
    """Adaptive tracking of a `Motion`: the tracking error corrects unknown parameters.

    kd [N m s/rad or N s/m]: required by slotine_li, not allowed for craig. rate: Lambda [1/s].
    unknown: names, see `adaptive_parameters`. gain: Gamma, one number, or one per group (payload,
    links, friction, rotors), in the parameter's unit squared per joule; for first moments it is
    reach^2 times that of the mass, half of that if the load's inertia is unknown, too; for links
    it is relative to the link as given. load: what is known of a payload. bounds: (low, high) of
    masses, friction and rotors by name. Without bounds, no value is negative; all bodies stay
    physically consistent. dead_zone [rad/s or m/s]: only the part of s beyond it adapts.
    friction_width [rad/s or m/s]: of the smooth step in Coulomb friction. options: those of
    `Controller`.

    Known friction is left to a `compensation`. The estimate is frozen while a limit is active, and
    while `adapting` is False: use that during contact, which looks like a payload otherwise.
    """

    _adapted: RobotModel | None
    _theta: Array

    def __init__(
        self,
        model: RobotModel,
        kd: npt.ArrayLike | None,
        rate: npt.ArrayLike,
        *,
        law: str = "slotine_li",
        unknown: str | Iterable[str] = "payload",
        gain: float | Mapping[str, float] = 1.0,
        load: Load | None = None,
        bounds: Bounds | None = None,
        dead_zone: npt.ArrayLike = 0.0,
        friction_width: float = WIDTH,
        **options: Any,
    ) -> None:
        self.law = one_of("law", law, LAWS)
        self.friction_width = positive("friction_width", friction_width)
        self._unknowns = Unknowns(model, unknown, load or Load(), bounds or {})
        super().__init__(model, **options)
        self.rate = gains_of(model, "rate", rate)
        self._check_feedback(kd)
        self.kd = np.zeros(model.n) if kd is None else gains_of(model, "kd", kd)
        self._damping = self.rate if kd is None else np.zeros(model.n)  # of M s [1/s]
        self.dead_zone = gains_of(model, "dead_zone", dead_zone, zero=True)
        self.gain = self._unknowns.gain(gain)  # Gamma, (u, u)
        self.adapting = True
        self._torque_by_law: Callable[..., Array] = getattr(self, f"_{law}")
        self._forget()

    @property
    def model(self) -> RobotModel:
        """Robot with the present estimate of the parameters."""
        if self._adapted is None:
            self._adapted = self._unknowns.adapted(self._theta)
        return self._adapted

    @model.setter
    def model(self, given: RobotModel) -> None:
        if given is not self._robot:
            raise ArgumentError(
                "the model of an adaptive controller is its estimate; for another robot, make "
                "another controller"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknown parameters, in the order of `gain`."""
        return self._unknowns.names

    @property
    def parameters(self) -> dict[str, float]:
        """Estimate by name, SI units."""
        return dict(zip(self.names, self._theta.tolist(), strict=True))

    def reset(self, tau: npt.ArrayLike | None = None) -> None:
        """Return to the first estimate; start at `tau` (n,) as any `Controller`."""
        super().reset(tau)
        self._forget()

    def take_over(self, tau: npt.ArrayLike) -> None:
        """Start at the torque `tau` (n,) with the present estimate."""
        estimate, adapted = self._theta, self._adapted
        self.reset(tau)
        self._theta, self._adapted = estimate, adapted

    def _forget(self) -> None:
        self._theta = self._unknowns.start.copy()
        self._slope: Array | None = None  # Gamma Y_u^T s of the last call
        self._qd: Array | None = None
        self._adapted = None

    def _check_feedback(self, kd: npt.ArrayLike | None) -> None:
        if kd is None and self.law == "slotine_li":
            raise ArgumentError("law 'slotine_li' needs kd [N m s/rad or N s/m]")
        if kd is not None and self.law == "craig":
            raise ArgumentError("law 'craig' has no kd, its feedback is rate M s: pass None")
        if kd is None and self.law == "lu_meng" and np.ptp(self.rate) > 0.0:
            raise ArgumentError("law 'lu_meng' without kd needs one rate for all joints")

    @np.errstate(over="ignore", invalid="ignore")  # results that are not finite are rejected
    def _law(self, state: Any, reference: Any, dt: float) -> int:
        n = self._robot.n
        numbers = (state.q, state.qd, reference.q, reference.qd, reference.qdd)
        q, qd, q_d, qd_d, qdd_d = numbers
        if any(type(x) is not np.ndarray or x.shape != (n,) for x in numbers):
            return 1
        if not math.isfinite(sum(float(x.sum()) for x in numbers)):
            return 1
        e, ed = q_d - q, qd_d - qd
        qd_r, qdd_r = qd_d + self.rate * e, qdd_d + self.rate * ed
        before, good = (self._theta, self._adapted), False
        try:
            self._wanted[:] = self._torque_by_law(q, qd, qd_r, qdd_r, ed + self.rate * e, dt)
            good = math.isfinite(float(self._wanted.sum()))
        except np.linalg.LinAlgError:  # numbers too large for the projection
            pass
        finally:
            if not good:  # the estimate is kept, and the next call starts anew
                (self._theta, self._adapted), self._slope = before, None
        if not good:
            return 1
        self._qd = qd.copy()
        return 0

    def _slotine_li(
        self, q: Array, qd: Array, qd_r: Array, qdd_r: Array, s: Array, dt: float
    ) -> Array:
        known = ne_star(self._robot, q, qd, qd_r, qdd_r)
        Y_u = self._columns(q, qd, qd_r, qdd_r, qd_r)
        self._adapt(Y_u.T @ self._beyond(s), dt)
        return known + Y_u @ self._correction() + self.kd * s

    def _lu_meng(
        self, q: Array, qd: Array, qd_r: Array, qdd_r: Array, s: Array, dt: float
    ) -> Array:
        qdd = qdd_r + self._damping * s
        known = inverse_dynamics(self._robot, q, qd, qdd)
        Y_u = self._columns(q, qd, qd, qdd, qd_r)
        self._adapt(Y_u.T @ self._beyond(s), dt)
        return known + Y_u @ self._correction() + self.kd * s

    def _craig(self, q: Array, qd: Array, qd_r: Array, qdd_r: Array, s: Array, dt: float) -> Array:
        if self._qd is not None:
            Y_u = self._columns(q, qd, qd, (qd - self._qd) / dt, qd)
            pull = np.linalg.solve(self._mass_matrix(q), self._beyond(s))
            self._adapt(Y_u.T @ pull, dt)
        qdd = qdd_r + self._damping * s
        known = inverse_dynamics(self._robot, q, qd, qdd)
        return known + self._columns(q, qd, qd, qdd, qd) @ self._correction()

    def _columns(self, q: Array, qd: Array, qd_a: Array, qdd: Array, velocity: Array) -> Array:
        """Return Y_u(q, qd, qd_a, qdd) (n, u), with the friction at `velocity`."""
        Y = None
        if self._unknowns.moves_bodies:
            if qd_a is qd:
                Y = regressor(self._robot, q, qd, qdd)
            else:
                Y = slotine_li_regressor(self._robot, q, qd, qd_a, qdd)
        return self._unknowns.columns(Y, velocity, qdd, self.friction_width)

    def _correction(self) -> Array:
        return self._theta - self._unknowns.inside

    def _mass_matrix(self, q: Array) -> Array:
        """Return M of the estimate (n, n), from the regressor: [LuMeng1993] V, steps 1 to 3."""
        still, correction = np.zeros_like(q), self._correction()
        weight = self._columns(q, still, still, still, still)
        columns = [
            (self._columns(q, still, still, unit, still) - weight) @ correction
            for unit in np.eye(q.size)
        ]
        return mass_matrix(self._robot, q) + np.array(columns).T

    def _beyond(self, s: Array) -> Array:
        return s - np.clip(s, -self.dead_zone, self.dead_zone)

    def _adapt(self, pull: Array, dt: float) -> None:
        """Integrate the estimate along Gamma `pull` by the trapezoidal rule, and project it."""
        slope, before = self.gain @ pull, self._slope
        self._slope = slope
        if before is None or not self.adapting or np.any(self.excess):
            return
        change = 0.5 * dt * (before + slope)
        if np.any(change):
            self._theta = self._unknowns.nearest(self._theta + change)
            self._adapted = None
