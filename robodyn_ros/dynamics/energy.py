"""Kinetic and potential energy."""

import numpy as np

from ..model import packed_model as at
from ..model.robot import RobotModel
from .compile import U1, kernel
from .dispatch import Array, ArrayLike, bind_to, checked, evaluate, finite
from .joints import R_, o_, place_base, place_bodies, sizes
from .momentum import momentum_terms
from .vector import add, dot, load3, load9, matvec, scale


@kernel("int64(vector, vector, vector)")
def _potential_energy(block, q, energy):
    bodies, n, T = sizes(block, q)
    if T == 0 or energy.size != T:
        return 1
    bad = 0.0
    field = load3(block, at.GRAVITY)
    place_base(block)
    for t in range(T):
        bad += place_bodies(block, q, t * n)
        energy[t] = 0.0
        for i in range(bodies):
            b = at.HEADER + (i + U1) * at.ROW
            moment = matvec(load9(block, b + R_), load3(block, b + at.MOMENT))
            moment = add(moment, scale(block[b + at.MASS], load3(block, b + o_)))
            energy[t] -= dot(field, moment)
        bad += 0.0 * energy[t]
    return 0 if bad == 0.0 else 1


def potential_energy(model: RobotModel, q: ArrayLike) -> Array:
    """Return U(q) [J], 0 at the base's origin; a number, or (T,). [Khalil2019] (7.24)."""
    try:
        energy = model.bound["potential_energy"](q)
    except KeyError:
        energy = bind_to(model, "potential_energy", _potential_energy, 1, [()])(q)
    if energy is None:
        energy = evaluate(_potential_energy, model, {"q": q}, [()])[0]
    return energy[()]


def kinetic_energy(model: RobotModel, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return T(q, qd) = qd . p / 2 [J], rotors included; a number, or (T,). [Khalil2019] (7.5)."""
    q, qd = checked(model, q=q, qd=qd)
    energy = np.asarray(0.5 * np.sum(momentum_terms(model, q, qd)[0] * qd, axis=-1))
    return finite(model, energy, q=q, qd=qd)[()]
