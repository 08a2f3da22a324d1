"""Customized kernels as files of Python, in the form in which the dynamics call their kernels.

Two for each quantity. One takes a single state; its sines and cosines are made together, in the
work space it is bound to. The other takes a batch, sixteen states abreast: the compiler turns the
loop over them into vector instructions, with all their sines and cosines beside each other in a
flat buffer. What that loop reads and what it writes are in different arrays, or it would not dare.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .program import NAME, Assignment, Program, written
from .quantities import Customized

Place = tuple[int, int]  # which array, and which row of it

ELEMENT = re.compile(r"\b([a-z_]\w*)\[(\d+)\]")
LANE = 16
LINE = 8  # the angles of a single state fill whole vector registers

HEAD = '''"""{title}"""

import numpy as np
from numba import njit

from robodyn_ros.codegen.program import Assignment
from robodyn_ros.codegen.sines import filled, set_sines
from robodyn_ros.codegen.straight_line import straight_line
from robodyn_ros.dynamics.compile import COMPILE

WORK = {work}
STEPS = """{steps}"""
INPUTS = {inputs}
OUTPUTS = {outputs}

run = straight_line(
    [Assignment(*line.split("|")) for line in STEPS.splitlines()],
    INPUTS,
    OUTPUTS,
    {stride},
    {widths},
)


@njit("int64({signature})", **COMPILE)
def {name}({arguments}):
'''


@dataclass(frozen=True)
class _Parts:
    """A program with its angles apart: steps towards them, the angles, and all other steps."""

    towards: list[Assignment]
    angles: list[str]
    steps: list[Assignment]


def _apart(program: Program) -> _Parts:
    steps = {step.name: step for step in program.steps}
    angles = dict.fromkeys(s.value for s in program.steps if s.function in ("sin", "cos"))
    needed = [name for angle in angles for name in NAME.findall(angle) if name in steps]
    towards: set[str] = set()
    while needed:
        name = needed.pop()
        if name not in towards:
            towards.add(name)
            needed += [other for other in steps[name].names() if other in steps]
    first = [step for step in program.steps if step.name in towards]
    return _Parts(first, list(angles), [s for s in program.steps if s.name not in towards])


class _Kernel:
    """What both kinds of kernel are written from. `room` is how many angles there is room for."""

    def __init__(self, made: Customized, kind: str):
        self.made, self.kind = made, kind
        self.program = written([x for part in made.outputs for x in part])
        self.parts = _apart(self.program)
        angles = len(self.parts.angles)
        self.room = -(-angles // LINE) * LINE if kind == "single" else angles
        self.sizes = [len(part) for part in made.outputs]

    def places(self) -> tuple[dict[str, Place], list[Place]]:
        """Where inputs are read and outputs written: sines and cosines in the work space, behind
        their angles; all others in the arrays that the kernel is called with.
        """
        inputs: dict[str, Place] = {}
        for step in self.parts.steps:
            if step.function in ("sin", "cos"):
                row = self.room * (1 if step.function == "sin" else 2)
                inputs[step.name] = 0, row + self.parts.angles.index(step.value)
        names = self.made.quantity.inputs
        for i, name in enumerate(names):
            inputs |= {f"{name}[{k}]": (1 + i, k) for k in range(self.made.n)}
        first = 1 + len(names)
        outputs = [(first + i, k) for i, size in enumerate(self.sizes) for k in range(size)]
        return inputs, outputs

    def text(self, body: list[str], work: int) -> str:
        """The whole file."""
        made = self.made
        inputs, outputs = self.places()
        steps = [s for s in self.parts.steps if s.function not in ("sin", "cos")]
        first = "work" if self.kind == "single" else "block"
        variant = ["variant"] if self.kind == "batch" and made.name == "ne_star" else []
        names = [first, *made.quantity.inputs, *variant, *made.quantity.outputs]
        kinds = ["int64" if name == "variant" else "float64[::1]" for name in names]
        head = HEAD.format(
            title=f"{made.name}: customized kernel, {self.kind}.",
            work=work,
            steps="\n".join("|".join([s.name, s.value, s.function]) for s in steps),
            inputs=inputs,
            outputs=dict(zip(outputs, self.program.outputs, strict=True)),
            stride=1 if self.kind == "single" else LANE,
            widths=[made.n] * len(made.quantity.inputs) + self.sizes,
            signature=", ".join(kinds),
            name=f"{made.name}_{self.kind}",
            arguments=", ".join(names),
        )
        return head + "".join(f"    {line}\n" for line in body)

    def arrays(self) -> str:
        return ", ".join(["work", *self.made.quantity.inputs, *self.made.quantity.outputs])


def single_code(made: Customized) -> str:
    """The kernel for one state: (work space, inputs, outputs) to 0, or 1 if one is not finite."""
    kernel = _Kernel(made, "single")
    body = ["bad = 0.0"]
    if kernel.room:
        body += [f"{step.name} = {step.text()}" for step in kernel.parts.towards]
        body += [f"work[{row}] = {text}" for row, text in enumerate(kernel.parts.angles)]
        body.append(f"bad += set_sines(work, {kernel.room})")
    body += [f"bad += run(({kernel.arrays()}), 0, 0)", "return 0 if bad == 0.0 else 1"]
    return kernel.text(body, 3 * kernel.room)


def batch_code(made: Customized) -> str:
    """The kernel for a batch: (block, inputs, outputs), flat, to 0 or 1."""
    kernel = _Kernel(made, "batch")
    n, names, room = made.n, made.quantity.inputs, kernel.room
    pairs = list(zip(made.quantity.outputs, kernel.sizes, strict=True))
    checks = [f"{name}.size != {n} * T" for name in names]
    checks += [f"{name}.size != {size} * T" for name, size in pairs]
    body = [f"T = {names[0]}.size // {n}"]
    body += [f"if T == 0 or {' or '.join(checks)}:", "    return 1"]
    # A batch that does not fill a lane is worked on in copies that do
    body += [f"all_{name} = {name}" for name, _ in pairs]
    body += [f"few = T < {LANE}", "if few:", f"    T = {LANE}"]
    body += [f"    {name} = filled({name}, {LANE * n})" for name in names]
    body += [f"    {name} = filled({name}, {LANE * size})" for name, size in pairs]
    body += [
        f"work = np.zeros({LANE * 3 * room})",
        f"check = np.zeros({LANE})",
        "bad = 0.0",
        f"for t in range(0, T, {LANE}):",
        f"    start = min(t, T - {LANE})  # the last lane reaches back to be full",
    ]
    if room:
        body.append(f"    for lane in range({LANE}):")
        body += [f"        {s.name} = {_sampled(s.text(), n)}" for s in kernel.parts.towards]
        angles = enumerate(kernel.parts.angles)
        body += [f"        work[{LANE * r} + lane] = {_sampled(text, n)}" for r, text in angles]
        body.append(f"    bad += set_sines(work, {LANE * room})")
    body.append(f"    for lane in range({LANE}):")
    body.append(f"        check[lane] += run(({kernel.arrays()}), lane, start + lane)")
    body += [f"for lane in range({LANE}):", "    bad += check[lane]"]
    body.append("if few:")
    for name, _ in pairs:
        body += [f"    for k in range(all_{name}.size):", f"        all_{name}[k] = {name}[k]"]
    body.append("return 0 if bad == 0.0 else 1")
    return kernel.text(body, 0)


def _sampled(text: str, n: int) -> str:
    """The same of the sample at hand."""
    return ELEMENT.sub(rf"\1[{n} * (start + lane) + \2]", text)
