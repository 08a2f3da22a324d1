"""Portable C99 without dependencies, say for the micro-controller of a joint."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.robot import RobotModel
from .program import NAME, Assignment, Program, with_constants, written
from .quantities import Customized
from .source import about_constants, header, identifier

FUNCTIONS = {"abs": "fabs", "sign": "sign_of"}
SIGN = """static double sign_of(double x)
{
    return (double)(x > 0.0) - (double)(x < 0.0);
}
"""


def c_code(model: RobotModel, made: Customized) -> str:
    """One function `<robot>_<quantity>(inputs, outputs)`; with symbolic parameters a second one,
    `…_constants(parameters, constants)`, which is called once for each set of parameters.
    """
    program, constants = with_constants(written([x for part in made.outputs for x in part]))
    name = identifier(f"{model.name}_{made.name}")
    lines = ["/*", *(f" * {line}".rstrip() for line in header(model, made))]
    if constants:
        lines += [" *", *(f" * {line}" for line in about_constants(f"{name}_constants"))]
    lines += [" */", "#include <math.h>", ""]
    if "sign" in program.functions():
        lines.append(SIGN)
    if constants:
        lines += _constants(name, program, constants)
    arguments = [f"const double {x}[{made.n}]" for x in made.quantity.inputs]
    if constants:
        arguments.append(f"const double constants[{len(constants)}]")
    parts = list(zip(made.quantity.outputs, made.outputs, strict=True))
    arguments += [f"double {x}[{len(part)}]" for x, part in parts]
    lines += _prototype(name, arguments)
    start = len(lines)
    lines.append("{")
    lines += _steps(program.steps)
    outputs = iter(program.outputs)
    for x, part in parts:
        lines += [f"    {x}[{k}] = {next(outputs)};" for k in range(len(part))]
    read = {name.split("[")[0] for name in NAME.findall(" ".join(lines[start:]))}
    lines += [f"    (void){x};" for x in made.quantity.inputs if x not in read]
    return "\n".join([*lines, "}", ""])


def _prototype(name: str, arguments: list[str]) -> list[str]:
    lines = [f"void {name}("]
    lines += [f"    {argument}," for argument in arguments[:-1]]
    return [*lines, f"    {arguments[-1]})"]


def _steps(steps: Sequence[Assignment]) -> list[str]:
    return [f"    const double {step.name} = {step.text(FUNCTIONS)};" for step in steps]


def _constants(name: str, program: Program, constants: list[str]) -> list[str]:
    lines = _prototype(
        f"{name}_constants", ["const double parameters[]", f"double constants[{len(constants)}]"]
    )
    lines += ["{", *_steps(program.off_line)]
    lines += [f"    constants[{k}] = {text};" for k, text in enumerate(constants)]
    return [*lines, "}", ""]
