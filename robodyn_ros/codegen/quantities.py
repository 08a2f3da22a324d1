"""The quantities that code is generated for: their inputs, outputs and sweeps."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import ArgumentError
from ..model.robot import REST_OF_FRICTION, RobotModel
from .expression import Expression
from .program import Operations, operations
from .robot import Robot
from .sharing import shared
from .sweeps.mass_matrix import articulated, mass_matrix, momentum_terms, through_mass_matrix
from .sweeps.newton_euler import (
    force_rate,
    friction_torque,
    gravity_torque,
    inverse_dynamics,
    ne_star,
    regressor,
)
from .symbolic_model import robot_of, to_base_parameters

Sweep = Callable[[Robot], list[list[Expression]]]


@dataclass(frozen=True)
class Quantity:
    """A public function of the dynamics, on symbols; of several sweeps the cheapest is used."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    sweeps: tuple[Sweep, ...]
    inertial: bool = True  # whether it depends on inertial parameters
    own_frames: bool = False  # whether its result refers to the model's own frames


QUANTITIES = {
    "inverse_dynamics": Quantity(("q", "qd", "qdd"), ("tau",), (inverse_dynamics,)),
    "gravity_torque": Quantity(("q",), ("tau",), (gravity_torque,)),
    "ne_star": Quantity(("q", "qd", "qd_a", "qdd"), ("tau",), (ne_star,)),
    "momentum_terms": Quantity(("q", "qd"), ("p", "ctqd", "g"), (momentum_terms,)),
    "force_rate": Quantity(("q", "qd", "qdd", "qddd"), ("tau", "tau_dot"), (force_rate,)),
    "mass_matrix": Quantity(("q",), ("M",), (mass_matrix,)),
    "forward_dynamics": Quantity(("q", "qd", "tau"), ("qdd",), (through_mass_matrix, articulated)),
    "regressor": Quantity(
        ("q", "qd", "qdd"), ("Y",), (regressor,), inertial=False, own_frames=True
    ),
    "friction_torque": Quantity(("qd",), ("tau",), (friction_torque,), inertial=False),
}


@dataclass(frozen=True)
class Customized:
    """One quantity of one robot as expressions, ready to be written as code."""

    name: str
    quantity: Quantity
    n: int
    outputs: list[list[Expression]]
    operations: Operations
    base: bool
    symbolic: bool
    gravity: bool

    @property
    def expressions(self) -> list[Expression]:
        return [x for part in self.outputs for x in part]


def has_more_friction(model: RobotModel) -> bool:
    """Return whether the robot's steady friction has terms that no code is generated for."""
    names = ("friction_offset", "friction_width", "friction_speed")
    return any(bool(np.any(getattr(model, name) != REST_OF_FRICTION[name])) for name in names)


def customized(
    model: RobotModel,
    name: str,
    *,
    base: bool | None = None,
    symbolic: bool = False,
    gravity: bool = True,
    sweep: Sweep | None = None,
) -> Customized:
    """Return a quantity as expressions with few operations; base None: the cheaper parameters."""
    try:
        quantity = QUANTITIES[name]
    except KeyError:
        known = ", ".join(QUANTITIES)
        raise ArgumentError(f"there is no quantity '{name}'; choose one of {known}") from None
    if name == "friction_torque" and has_more_friction(model):
        raise ArgumentError(
            f"friction of '{model.name}' is more than generated code knows: viscous, Coulomb, "
            "static and Stribeck; leave out friction_offset, friction_width and friction_speed"
        )
    sweeps = quantity.sweeps if sweep is None else (sweep,)
    if model.coupled:
        sweeps = tuple(one for one in sweeps if one is not articulated)
    bases = [True, False] if base is None else [base]
    if not quantity.inertial:
        bases = [False]
    candidates = []
    for one in sweeps:
        for choice in bases:
            robot = robot_of(
                model, gravity=gravity, symbolic=symbolic, own_frames=quantity.own_frames
            )
            if choice:
                to_base_parameters(robot)
            outputs = _shared(robot, one(robot))
            cost = operations([x for part in outputs for x in part])
            candidates.append(
                Customized(name, quantity, model.n, outputs, cost, choice, symbolic, gravity)
            )
    return min(candidates, key=lambda found: found.operations.total)


def _shared(robot: Robot, parts: list[list[Expression]]) -> list[list[Expression]]:
    graph = robot.graph
    flat = shared([Expression(graph, graph.reference(x)) for part in parts for x in part])
    split, start = [], 0
    for part in parts:
        split.append(flat[start : start + len(part)])
        start += len(part)
    return split
