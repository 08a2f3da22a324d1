"""Code made to measure for one robot and one quantity."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ArgumentError
from ..model.robot import RobotModel
from .c_code import c_code
from .program import Operations
from .python_code import python_code
from .quantities import customized
from .source import checksum

LANGUAGES = {"c": c_code, "python": python_code}


@dataclass(frozen=True)
class GeneratedCode:
    """A file's text, what one evaluation costs, and what it was made of."""

    text: str
    operations: Operations
    base: bool  # with base parameters instead of standard ones
    checksum: str  # of the model


def generate(
    model: RobotModel,
    quantity: str,
    language: str = "python",
    *,
    base: bool | None = None,
    symbolic_parameters: bool = False,
) -> GeneratedCode:
    """Straight-line code for a quantity: a name of QUANTITIES, in C99 ('c') or in Python for Numba
    ('python'). The same model always gives the same text.

    `base` takes base or standard inertial parameters; None, those that cost less. With
    `symbolic_parameters` the code takes them as an argument: see `parameters_of`.
    """
    if language not in LANGUAGES:
        raise ArgumentError(f"language must be {' or '.join(LANGUAGES)}, got {language!r}")
    made = customized(model, quantity, base=base, symbolic=symbolic_parameters)
    text = LANGUAGES[language](model, made)
    return GeneratedCode(text, made.operations, made.base, checksum(model))
