"""Model error on purpose: the robot that the detector knows is never quite the real one."""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError
from ..model.robot import RobotModel


def perturbed(
    model: RobotModel,
    seed: int,
    *,
    mass: float = 0.03,
    com: float = 0.003,
    inertia: float = 0.03,
    friction: float = 0.2,
) -> RobotModel:
    """A copy with masses, inertias and friction off by up to these shares, and centres of mass by
    up to `com` [m] along each axis; the same seed gives the same robot.

    Inertias scale as a whole, so that they stay those of possible bodies.
    """
    bounds = {"mass": mass, "com": com, "inertia": inertia, "friction": friction}
    for name, bound in bounds.items():
        if not 0.0 <= bound < (np.inf if name == "com" else 1.0):
            raise ArgumentError(f"{name} must be a share from 0 to 1 (com: metres), got {bound!r}")
    random = np.random.default_rng(seed)

    def factor(share: float, count: int) -> np.ndarray:
        return 1.0 + random.uniform(-share, share, count)

    bodies = len(model.link_names)
    losses = factor(friction, model.n)
    return model.replace(
        mass=model.mass * factor(mass, bodies),
        com=model.com + random.uniform(-com, com, (bodies, 3)),
        inertia=model.inertia * factor(inertia, bodies)[:, None, None],
        viscous=model.viscous * factor(friction, model.n),
        coulomb=model.coulomb * losses,
        stiction=model.stiction * losses,
    )
