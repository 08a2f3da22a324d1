"""What a payload is likely to be beyond what its torque has shown: a body of plausible size.

Half a second of motion shows the weight of a payload, but its first moment and its inertia only
about the axes about which the arm has turned by then. A centre far from the flange, or an inertia
far from that of a body of its mass and centre, may explain that half second best, and be off once
the arm turns otherwise. So the centre is expected near the flange, and the inertia is expected to
be that of the mass at this centre and of a compact body about it.
"""

import numpy as np
import numpy.typing as npt

from ...model.rigid_body import steiner

Array = npt.NDArray[np.float64]

# Standard deviation of the mass [kg], and of the centre along each axis of the link [m]; radius of
# gyration of a payload, and the one by whose square that may differ [m]
MASS, CENTRE, SIZE, SPREAD = 3.0, 0.2, 0.07, 0.05
TEMPER = 0.3  # of the evidence: what is wrong in y stays for about half a second
ROUNDS = 4  # the inertia of a body is not linear in its centre
UPPER = np.triu_indices(3)


def likely_body(products: Array, known: Array, least: float) -> tuple[Array, Array]:
    """Return the likely ten parameters of a payload (mass [kg], first moment [kg m], inertia about
    the link's origin [kg m^2]) and their covariance (10, 10).

    products (11, 11): of the columns of a change of the payload and of the torque y that it has
    to explain, all in units of the noise; known (10,): the payload before that change, 0: none.
    least [kg]: lighter is not known to be a body.
    """
    gram, y = TEMPER * products[:10, :10], TEMPER * products[:10, 10]
    likely = known + np.linalg.lstsq(gram, y, rcond=None)[0]
    y = y + gram @ known
    covariance = np.zeros((10, 10))
    for _ in range(ROUNDS):
        mass = max(float(likely[0]), least)
        body = _body_of(mass, likely[1:4] / mass)
        spread = np.array([MASS, *[CENTRE * mass] * 3, *[SPREAD**2 * mass] * 6])
        own = np.linalg.inv(body.T @ gram @ body + np.diag(spread**-2))
        likely, covariance = body @ (own @ (body.T @ y)), body @ own @ body.T
    return likely, covariance


def _body_of(mass: float, centre: Array) -> Array:
    """Return the ten parameters, linear about this body (10, 10), in its mass, its first moment
    and what its inertia is more than that of a compact body.
    """
    body = np.eye(10)
    body[4:, 0] = (2.0 * SIZE**2 / 3.0 * np.eye(3) - steiner(1.0, centre))[UPPER]
    for i, axis in enumerate(np.eye(3)):
        turned = np.outer(axis, centre) + np.outer(centre, axis)
        body[4:, 1 + i] = (2.0 * centre[i] * np.eye(3) - turned)[UPPER]
    return body
