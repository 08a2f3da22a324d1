"""Straight-line Python, compiled by Numba: a file that stands on its own."""

from __future__ import annotations

from ..model.robot import RobotModel
from .program import with_constants, written
from .quantities import Customized
from .source import about_constants, header

SIGN = """
@njit
def sign(x):
    return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else 0.0)
"""
COMPILE = 'cache=True, fastmath={"contract"}, error_model="numpy"'


def python_code(model: RobotModel, made: Customized) -> str:
    """One function `<quantity>(inputs, outputs)` that fills its output arrays; with symbolic
    parameters a second one, `constants_of(parameters, constants)`.
    """
    program, constants = with_constants(written([x for part in made.outputs for x in part]))
    lines = ['"""' + header(model, made)[0], *header(model, made)[1:]]
    if constants:
        lines += ["", *about_constants("constants_of")]
    lines += ['"""', ""]
    needed = [name for name in program.functions() if name in ("sin", "cos", "exp")]
    if needed:
        lines.append(f"from math import {', '.join(needed)}")
        lines.append("")
    lines.append("from numba import njit")
    if "sign" in program.functions():
        lines.append(SIGN)
    if constants:
        lines += ["", *_head("constants_of", ["parameters", "constants"])]
        lines += [f"    {step.name} = {step.text()}" for step in program.off_line]
        lines += [f"    constants[{k}] = {text}" for k, text in enumerate(constants)]
        lines.append("")
    inputs, outputs = made.quantity.inputs, made.quantity.outputs
    lines += ["", *_head(made.name, [*inputs, *(["constants"] if constants else []), *outputs])]
    lines += [f"    {step.name} = {step.text()}" for step in program.steps]
    values = iter(program.outputs)
    for name, part in zip(outputs, made.outputs, strict=True):
        lines += [f"    {name}[{k}] = {next(values)}" for k in range(len(part))]
    return "\n".join([*lines, ""])


def _head(name: str, arguments: list[str]) -> list[str]:
    signature = ", ".join(["float64[::1]"] * len(arguments))
    return [
        "",
        "@njit(",
        f'    "void({signature})",',
        f"    {COMPILE},",
        ")",
        f"def {name}({', '.join(arguments)}):",
    ]
