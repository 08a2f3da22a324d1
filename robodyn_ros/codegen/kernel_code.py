"""Text of the customized kernels: Python files with the signature of the generic kernels.

One kernel takes a single state, the other a batch, sixteen states at a time in a loop that the
compiler vectorizes, as it reads and writes different arrays. Sines and cosines come first.
"""

import re
from dataclasses import dataclass

from .kernel_runtime import Slot
from .program import NAME, Assignment, Program, to_program
from .quantities import Customized

ELEMENT = re.compile(r"\b([a-z_]\w*)\[(\d+)\]")
LANES = 16  # states of a batch that are computed at a time
REGISTER = 8  # the angles of a single state are padded to whole vector registers

HEAD = '''"""{title}"""

import numpy as np
from numba import njit

from robodyn_ros.codegen.kernel_runtime import filled, set_sines, straight_line
from robodyn_ros.codegen.program import Assignment
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
    """A program with its angles apart: the steps that compute them, the angles, other steps."""

    before: list[Assignment]
    angles: list[str]
    steps: list[Assignment]


def _split(program: Program) -> _Parts:
    steps = {step.name: step for step in program.steps}
    angles = dict.fromkeys(s.value for s in program.steps if s.function in ("sin", "cos"))
    needed = [name for angle in angles for name in NAME.findall(angle) if name in steps]
    before: set[str] = set()
    while needed:
        name = needed.pop()
        if name not in before:
            before.add(name)
            needed += [other for other in steps[name].names() if other in steps]
    first = [step for step in program.steps if step.name in before]
    return _Parts(first, list(angles), [s for s in program.steps if s.name not in before])


class _Kernel:
    """Text of a kernel of either kind; `room` is the number of angles in its work space."""

    def __init__(self, made: Customized, kind: str):
        self.made, self.kind = made, kind
        self.program = to_program(made.expressions)
        self.parts = _split(self.program)
        angles = len(self.parts.angles)
        self.room = -(-angles // REGISTER) * REGISTER if kind == "single" else angles
        self.sizes = [len(part) for part in made.outputs]

    def slots(self) -> tuple[dict[str, Slot], list[Slot]]:
        """Return where numbers are: sines behind their angles, all others in the arguments."""
        inputs: dict[str, Slot] = {}
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
        made = self.made
        inputs, outputs = self.slots()
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
            stride=1 if self.kind == "single" else LANES,
            widths=[made.n] * len(made.quantity.inputs) + self.sizes,
            signature=", ".join(kinds),
            name=f"{made.name}_{self.kind}",
            arguments=", ".join(names),
        )
        return head + "".join(f"    {line}\n" for line in body)

    def arrays(self) -> str:
        """Return the arguments of `run` that are arrays."""
        return ", ".join(["work", *self.made.quantity.inputs, *self.made.quantity.outputs])


def single_code(made: Customized) -> str:
    """Return the kernel for one state, which returns 0, or 1 if a number is not finite."""
    kernel = _Kernel(made, "single")
    body = ["bad = 0.0"]
    if kernel.room:
        body += [f"{step.name} = {step.text()}" for step in kernel.parts.before]
        body += [f"work[{row}] = {text}" for row, text in enumerate(kernel.parts.angles)]
        body.append(f"bad += set_sines(work, {kernel.room})")
    body += [f"bad += run(({kernel.arrays()}), 0, 0)", "return 0 if bad == 0.0 else 1"]
    return kernel.text(body, 3 * kernel.room)


def batch_code(made: Customized) -> str:
    """Return the kernel for a batch of flat states; it returns 1 if a number is not finite."""
    kernel = _Kernel(made, "batch")
    n, names, room = made.n, made.quantity.inputs, kernel.room
    pairs = list(zip(made.quantity.outputs, kernel.sizes, strict=True))
    checks = [f"{name}.size != {n} * T" for name in names]
    checks += [f"{name}.size != {size} * T" for name, size in pairs]
    body = [f"T = {names[0]}.size // {n}"]
    body += [f"if T == 0 or {' or '.join(checks)}:", "    return 1"]
    # A batch of fewer states is padded
    body += [f"all_{name} = {name}" for name, _ in pairs]
    body += [f"padded = T < {LANES}", "if padded:", f"    T = {LANES}"]
    body += [f"    {name} = filled({name}, {LANES * n})" for name in names]
    body += [f"    {name} = filled({name}, {LANES * size})" for name, size in pairs]
    body += [
        f"work = np.zeros({LANES * 3 * room})",
        f"check = np.zeros({LANES})",
        "bad = 0.0",
        f"for t in range(0, T, {LANES}):",
        f"    start = min(t, T - {LANES})  # the last states are computed twice",
    ]
    if room:
        body.append(f"    for lane in range({LANES}):")
        body += [f"        {s.name} = {_sampled(s.text(), n)}" for s in kernel.parts.before]
        angles = enumerate(kernel.parts.angles)
        body += [f"        work[{LANES * r} + lane] = {_sampled(text, n)}" for r, text in angles]
        body.append(f"    bad += set_sines(work, {LANES * room})")
    body.append(f"    for lane in range({LANES}):")
    body.append(f"        check[lane] += run(({kernel.arrays()}), lane, start + lane)")
    body += [f"for lane in range({LANES}):", "    bad += check[lane]"]
    body.append("if padded:")
    for name, _ in pairs:
        body += [f"    for k in range(all_{name}.size):", f"        all_{name}[k] = {name}[k]"]
    body.append("return 0 if bad == 0.0 else 1")
    return kernel.text(body, 0)


def _sampled(text: str, n: int) -> str:
    """Return the text with the elements of the current sample."""
    return ELEMENT.sub(rf"\1[{n} * (start + lane) + \2]", text)
