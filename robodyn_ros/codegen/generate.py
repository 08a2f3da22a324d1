"""Files of code for one robot and one quantity: portable C99, or Python for Numba.

Straight-line code: one function `(inputs, outputs)`; with symbolic parameters also one
`(parameters, constants)`, to be called once for each set of parameters.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ArgumentError
from ..model.robot import FRICTION, RobotModel
from .program import NAME, Assignment, Operations, Program, to_program, with_constants
from .quantities import Customized, customized

STRUCTURE = ("parent", "prismatic", "coordinate", "ratio", "offset", "axis", "rotation", "place")
INERTIA = ("mass", "com", "inertia", "rotor_inertia", "gravity")

C_FUNCTIONS = {"abs": "fabs", "sign": "sign_of"}
C_SIGN = """static double sign_of(double x)
{
    return (double)(x > 0.0) - (double)(x < 0.0);
}
"""
PYTHON_SIGN = """
@njit
def sign(x):
    return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else 0.0)
"""
PYTHON_OPTIONS = 'cache=True, fastmath={"contract"}, error_model="numpy"'


@dataclass(frozen=True)
class GeneratedCode:
    """Text of a generated file, with its operation counts and the model it is for."""

    text: str
    operations: Operations  # of one evaluation
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
    """Return straight-line code for a quantity: a name of QUANTITIES, in C99 ('c') or in Python
    for Numba ('python'). The same model always gives the same text.

    base: use base or standard inertial parameters; None: those that cost less.
    symbolic_parameters: the code takes the parameters as an argument, see `parameters_of`.
    """
    if language not in LANGUAGES:
        raise ArgumentError(f"language must be {' or '.join(LANGUAGES)}, got {language!r}")
    made = customized(model, quantity, base=base, symbolic=symbolic_parameters)
    text = LANGUAGES[language](model, made)
    return GeneratedCode(text, made.operations, made.base, checksum(model))


def checksum(model: RobotModel) -> str:
    """Return the SHA-256 of all numbers that the dynamics of a robot depend on."""
    digest = hashlib.sha256()
    for name in (*STRUCTURE, *INERTIA, *FRICTION):
        numbers = np.ascontiguousarray(getattr(model, name), dtype="<f8") + 0.0
        digest.update(f"{name}{numbers.shape}".encode())
        digest.update(numbers.tobytes())
    return digest.hexdigest()


def identifier(text: str) -> str:
    """Return a name that C and Python accept."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    return f"_{name}" if name[:1].isdigit() else name


def _c_code(model: RobotModel, made: Customized) -> str:
    program, constants = with_constants(to_program(made.expressions))
    name = identifier(f"{model.name}_{made.name}")
    lines = ["/*", *(f" * {line}".rstrip() for line in _header(model, made))]
    if constants:
        lines += [" *", *(f" * {line}" for line in _about_constants(f"{name}_constants"))]
    lines += [" */", "#include <math.h>", ""]
    if "sign" in program.functions():
        lines.append(C_SIGN)
    if constants:
        lines += _c_constants(name, program, constants)
    arguments = [f"const double {x}[{made.n}]" for x in made.quantity.inputs]
    if constants:
        arguments.append(f"const double constants[{len(constants)}]")
    parts = list(zip(made.quantity.outputs, made.outputs, strict=True))
    arguments += [f"double {x}[{len(part)}]" for x, part in parts]
    lines += _c_prototype(name, arguments)
    start = len(lines)
    lines += ["{", *_c_steps(program.steps)]
    outputs = iter(program.outputs)
    for x, part in parts:
        lines += [f"    {x}[{k}] = {next(outputs)};" for k in range(len(part))]
    read = {name.split("[")[0] for name in NAME.findall(" ".join(lines[start:]))}
    lines += [f"    (void){x};" for x in made.quantity.inputs if x not in read]
    return "\n".join([*lines, "}", ""])


def _c_prototype(name: str, arguments: list[str]) -> list[str]:
    lines = [f"void {name}("]
    lines += [f"    {argument}," for argument in arguments[:-1]]
    return [*lines, f"    {arguments[-1]})"]


def _c_steps(steps: Sequence[Assignment]) -> list[str]:
    return [f"    const double {step.name} = {step.text(C_FUNCTIONS)};" for step in steps]


def _c_constants(name: str, program: Program, constants: list[str]) -> list[str]:
    lines = _c_prototype(
        f"{name}_constants", ["const double parameters[]", f"double constants[{len(constants)}]"]
    )
    lines += ["{", *_c_steps(program.off_line)]
    lines += [f"    constants[{k}] = {text};" for k, text in enumerate(constants)]
    return [*lines, "}", ""]


def _python_code(model: RobotModel, made: Customized) -> str:
    program, constants = with_constants(to_program(made.expressions))
    title, *rest = _header(model, made)
    lines = [f'"""{title}', *rest]
    if constants:
        lines += ["", *_about_constants("constants_of")]
    lines += ['"""', ""]
    imported = [name for name in program.functions() if name in ("sin", "cos", "exp")]
    if imported:
        lines += [f"from math import {', '.join(imported)}", ""]
    lines.append("from numba import njit")
    if "sign" in program.functions():
        lines.append(PYTHON_SIGN)
    if constants:
        lines += ["", *_python_head("constants_of", ["parameters", "constants"])]
        lines += [f"    {step.name} = {step.text()}" for step in program.off_line]
        lines += [f"    constants[{k}] = {text}" for k, text in enumerate(constants)]
        lines.append("")
    inputs, outputs = made.quantity.inputs, made.quantity.outputs
    arguments = [*inputs, *(["constants"] if constants else []), *outputs]
    lines += ["", *_python_head(made.name, arguments)]
    lines += [f"    {step.name} = {step.text()}" for step in program.steps]
    values = iter(program.outputs)
    for name, part in zip(outputs, made.outputs, strict=True):
        lines += [f"    {name}[{k}] = {next(values)}" for k in range(len(part))]
    return "\n".join([*lines, ""])


def _python_head(name: str, arguments: list[str]) -> list[str]:
    signature = ", ".join(["float64[::1]"] * len(arguments))
    return [
        "",
        "@njit(",
        f'    "void({signature})",',
        f"    {PYTHON_OPTIONS},",
        ")",
        f"def {name}({', '.join(arguments)}):",
    ]


LANGUAGES = {"c": _c_code, "python": _python_code}


def _header(model: RobotModel, made: Customized) -> list[str]:
    kind = "base inertial parameters" if made.base else "standard inertial parameters"
    if not made.quantity.inertial:
        kind = "no inertial parameters" if made.name == "regressor" else "friction parameters"
    where = "as symbols" if made.symbolic else "as numbers"
    parts = zip(made.quantity.outputs, made.outputs, strict=True)
    shapes = ", ".join(f"{name}[{len(part)}]" for name, part in parts)
    joints = ", ".join(map(_plain, model.joint_names))
    return [
        f"{made.name} of robot '{_plain(model.name)}', customized by robodyn_ros: do not edit.",
        "",
        f"robot:       {_plain(model.name)}, {model.n} joints: {joints}",
        f"quantity:    {made.name}{'' if made.gravity else ', without gravity'}",
        f"in:          {', '.join(f'{name}[{model.n}]' for name in made.quantity.inputs)}",
        f"out:         {shapes}",
        f"parameters:  {kind}{'' if kind.startswith('no') else f', {where}'}",
        f"operations:  {made.operations}",
        f"model:       sha256 {checksum(model)}",
    ]


def _about_constants(function: str) -> list[str]:
    return [
        f"Call {function} once for each set of parameters: ten per body",
        "(m, mx, my, mz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz about its frame), then for all joints the",
        "rotor inertia, viscous, Coulomb and static friction, and the Stribeck decay rate.",
    ]


def _plain(text: str) -> str:
    """Return a robot's or joint's name without characters that could end a comment."""
    return re.sub(r"[^\w .:+-]", "_", text, flags=re.ASCII)
