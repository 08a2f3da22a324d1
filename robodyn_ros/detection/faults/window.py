"""How much of a residual window an added torque explains from its onset on.

    y = -N theta + F(onset) phi + noise

theta, the model errors, is the same before and after the onset. So the part of the window before
the fault determines the model errors, and the fault is the change.
"""

import math

import numpy as np
import numpy.typing as npt

from ...model.robot import RobotModel
from ..model_errors import ModelErrors
from ..residual_window import LogArrays, ResidualWindow

Array = npt.NDArray[np.float64]

PRICE = 2.0  # of a parameter, in units of log(samples): noise is explained by chance
REGULARIZATION = 1e-9  # relative: keeps the equations solvable if model errors mimic the torque


class FaultWindow(ResidualWindow):
    """A residual window, and the improvement of its misfit by a hypothesis.

    misfit: |y|^2 that likely model errors do not explain.
    """

    def __init__(
        self,
        model: RobotModel,
        log: LogArrays,
        gain: npt.ArrayLike,
        noise: npt.ArrayLike | None,
        friction: bool,
        errors: ModelErrors,
    ) -> None:
        super().__init__(model, log, gain, noise, friction, errors)
        self.floor = (self.sigma.min(axis=0) / self.sigma) ** 2  # what noise leaves of a sample
        # Q: an orthonormal base of what model errors explain, as far as they are likely
        ridge = np.eye(self.N.shape[1])
        self.Q = np.linalg.qr(np.vstack([self.N, ridge]))[0][: self.y.size]
        self.Qy = self.Q.T @ self.y.ravel()
        self.misfit = max(float(np.sum(self.y**2) - self.Qy @ self.Qy), REGULARIZATION)

    def since(self, starts: npt.NDArray[np.int64], Y: Array, k: int | None = None) -> Array:
        """Return filtered torques (kept, n or 1, starts, c) that begin at these samples, of all
        joints or of joint k; Y (T, n or 1, c): as if they had acted all the time.
        """
        age = self.t[self.kept, None] - self.t[starts]
        fading = np.exp(-self.gain * np.maximum(age, 0.0))[:, None, :, None]
        sigma = self.sigma if k is None else self.sigma[:, k, None]
        begun = (self.kept[:, None] > starts)[:, None, :] / sigma[:, :, None]
        at_start = np.swapaxes(Y[starts], 0, 1)
        return (Y[self.kept][:, :, None, :] - fading * at_start) * begun[..., None]

    def improvement(self, F: Array, k: int | None = None) -> tuple[Array, Array]:
        """Return the improvement of the misfit by torques F, as from `since`, minus the price
        (starts,), and their coefficients (starts, c).
        """
        rows = slice(None) if k is None else slice(k, None, self.model.n)
        starts, c = F.shape[2:]
        flat = F.reshape(-1, starts * c)
        QF = np.moveaxis((self.Q[rows].T @ flat).reshape(-1, starts, c), 0, 1)
        F = np.moveaxis(flat.reshape(-1, starts, c), 0, 1)
        # What F explains beyond model errors: A phi = b
        A = np.swapaxes(F, 1, 2) @ F - np.swapaxes(QF, 1, 2) @ QF
        b = np.swapaxes(F, 1, 2) @ self.y.ravel()[rows] - np.swapaxes(QF, 1, 2) @ self.Qy
        size = np.sqrt(np.maximum(np.diagonal(A, axis1=1, axis2=2), REGULARIZATION))
        A = A / (size[:, :, None] * size[:, None, :]) + REGULARIZATION * np.eye(c)
        phi = np.linalg.solve(A, (b / size)[..., None])[..., 0] / size
        return np.sum(b * phi, axis=1) - self.price(c + 1), phi  # and the onset is one more

    def without(self, rows: npt.NDArray[np.bool_]) -> float:
        """Return the improvement if these residuals (kept, n) need no explanation."""
        N, y = self.N[~rows.ravel()], self.y[~rows]
        b = N.T @ y
        left = float(y @ y - b @ np.linalg.solve(N.T @ N + np.eye(b.size), b))
        # What pure noise would have left there is no gain; joint, onset and kind have their price
        return self.misfit - left - float(np.sum(self.floor[rows])) - self.price(3)

    def price(self, parameters: int) -> float:
        """Return the improvement that this many parameters must exceed."""
        return PRICE * parameters * math.log(self.y.size)
