"""Customized kernels as files of Python, in the form in which the dynamics call their kernels.

Two for each quantity. One takes a single state; its sines and cosines are made together, in the
work space it is bound to. The other takes a batch, sixteen states abreast: every number of the
program becomes a lane of sixteen in a flat buffer, and the compiler turns the loop over the lane
into vector instructions. What that loop reads and what it writes are in different arrays, or it
would not dare.
"""

from __future__ import annotations

from dataclasses import dataclass

from .program import NAME, Assignment, Program, written
from .quantities import Customized

Place = tuple[int, int]  # which array, and which row of it

LANE = 16
LINE = 8  # the angles of a single state fill whole vector registers

HEAD = '''"""{title}"""

import numpy as np
from numba import njit

from robodyn_ros.codegen.program import Assignment
from robodyn_ros.codegen.sines import set_sines
from robodyn_ros.codegen.straight_line import straight_line
from robodyn_ros.dynamics.vector import COMPILE

WORK = {work}
STEPS = """{steps}"""
INPUTS = {inputs}
OUTPUTS = {outputs}

run = straight_line(
    [Assignment(*line.split("|")) for line in STEPS.splitlines()], INPUTS, OUTPUTS
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

    def sines(self) -> dict[str, Place]:
        """Rows of the first array that hold sines and cosines, behind those of the angles."""
        found = {}
        for step in self.parts.steps:
            if step.function in ("sin", "cos"):
                row = self.room * (1 if step.function == "sin" else 2)
                found[step.name] = 0, row + self.parts.angles.index(step.value)
        return found

    def text(
        self,
        body: list[str],
        inputs: dict[str, Place],
        outputs: list[Place],
        work: int,
    ) -> str:
        """The whole file."""
        made = self.made
        steps = [s for s in self.parts.steps if s.function not in ("sin", "cos")]
        first = "work" if self.kind == "single" else "block"
        variant = ["variant"] if self.kind == "batch" and made.name == "ne_star" else []
        names = [first, *made.quantity.inputs, *variant, *made.quantity.outputs]
        kinds = ["int64" if name == "variant" else "float64[::1]" for name in names]
        head = HEAD.format(
            title=f"{made.name}: customized kernel, {self.kind}.",
            work=work,
            steps="\n".join("|".join([s.name, s.value, s.function]) for s in steps),
            inputs=self.sines() | inputs,
            outputs=dict(zip(outputs, self.program.outputs, strict=True)),
            signature=", ".join(kinds),
            name=f"{made.name}_{self.kind}",
            arguments=", ".join(names),
        )
        return head + "".join(f"    {line}\n" for line in body)


def single_code(made: Customized) -> str:
    """The kernel for one state: (work space, inputs, outputs) to 0, or 1 if one is not finite.
    Inputs and outputs are read and written where they are.
    """
    kernel = _Kernel(made, "single")
    names = made.quantity.inputs
    inputs = {f"{x}[{k}]": (1 + i, k) for i, x in enumerate(names) for k in range(made.n)}
    first = 1 + len(names)
    outputs = [(first + i, k) for i, size in enumerate(kernel.sizes) for k in range(size)]
    body = ["bad = 0.0"]
    if kernel.room:
        body += [f"{step.name} = {step.text()}" for step in kernel.parts.towards]
        body += [f"work[{row}] = {text}" for row, text in enumerate(kernel.parts.angles)]
        body.append(f"bad += set_sines(work, {kernel.room})")
    arrays = ", ".join(["work", *names, *made.quantity.outputs])
    body += [f"bad += run(({arrays}), 0, 1)", "return 0 if bad == 0.0 else 1"]
    return kernel.text(body, inputs, outputs, 3 * kernel.room)


def batch_code(made: Customized) -> str:
    """The kernel for a batch: (block, inputs, outputs), flat, to 0 or 1."""
    kernel = _Kernel(made, "batch")
    n, names, room = made.n, made.quantity.inputs, kernel.room
    first = {name: 3 * room + n * i for i, name in enumerate(names)}
    rows = {f"{name}[{k}]": start + k for name, start in first.items() for k in range(n)}

    def laned(text: str) -> str:
        return NAME.sub(
            lambda found: (
                f"given[{LANE * rows[found[0]]} + lane]" if found[0] in rows else found[0]
            ),
            text,
        )

    pairs = list(zip(made.quantity.outputs, kernel.sizes, strict=True))
    checks = [f"{name}.size != {n} * T" for name in names]
    checks += [f"{name}.size != {size} * T" for name, size in pairs]
    body = [
        f"T = {names[0]}.size // {n}",
        f"if T == 0 or {' or '.join(checks)}:",
        "    return 1",
        f"given = np.zeros({LANE * (3 * room + n * len(names))})",
        f"found = np.empty({LANE * sum(kernel.sizes)})",
        f"check = np.zeros({LANE})",
        "bad = 0.0",
        f"last = min({LANE}, T) - 1",
        f"for t in range(0, T, {LANE}):",
        f"    start = max(min(t, T - {LANE}), 0)  # the last lane reaches back to be full",
        f"    for lane in range({LANE}):",
        "        row = start + min(lane, last)",
    ]
    for name in names:
        body.append(f"        for k in range({n}):")
        place = f"given[{LANE} * ({first[name]} + k) + lane]"
        body.append(f"            {place} = {name}[{n} * row + k]")
    if room:
        body.append(f"    for lane in range({LANE}):")
        body += [f"        {step.name} = {laned(step.text())}" for step in kernel.parts.towards]
        angles = enumerate(kernel.parts.angles)
        body += [f"        given[{LANE * row} + lane] = {laned(text)}" for row, text in angles]
        body.append(f"    bad += set_sines(given, {LANE * room})")
    body.append(f"    for lane in range({LANE}):")
    body.append(f"        check[lane] += run((given, found), lane, {LANE})")
    body += [f"    for lane in range({LANE}):", "        row = start + min(lane, last)"]
    place = 0
    for name, size in pairs:
        body.append(f"        for k in range({size}):")
        body.append(f"            {name}[{size} * row + k] = found[{LANE} * ({place} + k) + lane]")
        place += size
    body += [f"for lane in range({LANE}):", "    bad += check[lane]"]
    body.append("return 0 if bad == 0.0 else 1")
    inputs = {name: (0, row) for name, row in rows.items()}
    return kernel.text(body, inputs, [(1, row) for row in range(place)], 0)
