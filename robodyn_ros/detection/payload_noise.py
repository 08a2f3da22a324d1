"""What a payload adds to the residual without contact: noise, and what is not known of it.

A velocity that is off by dv makes the momentum off by M dv, of which the observer lets the gain K
through; a payload adds to M, and in a wrist that is measured behind its gears, it multiplies it.
Thresholds that were calibrated on the empty arm are below the noise of the loaded one, then. And a
payload that was estimated from half a second of motion has a centre that is known to some
millimetres.
"""

import numpy as np
import numpy.typing as npt

from ..dynamics.kinematics import forward_kinematics, jacobian
from ..dynamics.mass_matrix import mass_matrix
from ..model.robot import Payload, RobotModel

Array = npt.NDArray[np.float64]

POSTURES = 32  # at random: the arm moves on
PEAK = 5.5  # largest noise over its standard deviation
DOUBT = 3.0  # standard deviations that an estimate may be off by
MAX_DOUBT = 0.01  # [m], of the centre: if it is off by more, the residual is to show it


def payload_noise(
    empty: RobotModel, loaded: RobotModel, gain: Array, dt: float, noise: Array
) -> Array:
    """Return the peak (n,) [N m or N] of what the payload adds to the residual's noise, of the
    worst posture.

    gain (n,) [1/s] and step dt [s] of the observer; noise (n,): standard deviation of the velocity
    readings [rad/s or m/s].
    """
    postures = _postures(empty)
    squares = mass_matrix(loaded, postures) ** 2 - mass_matrix(empty, postures) ** 2
    added = np.sqrt(np.maximum(squares @ noise**2, 0.0)).max(axis=0)
    blend = -np.expm1(-gain * dt)
    passed = blend / dt * np.sqrt(2.0 / (2.0 - blend))
    return np.asarray(PEAK * passed * added)


def payload_doubt(model: RobotModel, payload: Payload, covariance: Array) -> Array:
    """Return by how much the weight of an estimated payload may be off in each joint (n,) [N m or
    N], in the worst posture. covariance (4, 4): of its mass [kg] and first moment [kg m].
    """
    postures, link = _postures(model), payload.link
    J, R = jacobian(model, postures, link), forward_kinematics(model, postures, link)[:, :3, :3]
    g = np.asarray(model.gravity)
    moments = np.cross(np.swapaxes(R, 1, 2), g)  # (T, axis, 3): of 1 kg m along each axis
    columns = np.concatenate([g @ J[:, None, :3], moments @ J[:, 3:]], axis=1)  # (T, 4, n)
    variance = np.einsum("tik,ij,tjk->tk", columns, covariance, columns)
    off = DOUBT * np.sqrt(np.maximum(variance, 0.0)).max(axis=0)
    return np.minimum(off, MAX_DOUBT * payload.mass * float(np.linalg.norm(g)))


def _postures(model: RobotModel) -> Array:
    low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
    return np.random.default_rng(0).uniform(low, high, (POSTURES, model.n))
