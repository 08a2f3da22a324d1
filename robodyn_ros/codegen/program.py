"""Programs: a computation as a list of assignments, ready to be written as code; its cost.

On the right of an assignment stands a sum of two terms, a product, a quotient or a function. A
term may be a product with no other use. Expressions that no output needs do not appear.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from .expression import Expression, Graph, Reference
from .sharing import in_order

NAME = re.compile(r"\b[a-zA-Z_]\w*(?:\[\d+\])?")


@dataclass(frozen=True)
class Operations:
    """Operations of one evaluation. A change of sign costs nothing, as in [Khalil2019]."""

    multiplications: int = 0  # and divisions
    additions: int = 0  # and subtractions
    sines: int = 0  # and cosines
    others: int = 0  # exponentials, signs, absolute values

    @property
    def total(self) -> int:
        return sum(asdict(self).values())

    def __str__(self) -> str:
        text = f"{self.multiplications} multiplications, {self.additions} additions, "
        text += f"{self.sines} sines and cosines"
        return text + (f", {self.others} other functions" if self.others else "")


def operations(outputs: Sequence[Expression]) -> Operations:
    """Return the cost of all outputs: shared expressions count once, constants not at all."""
    graph = outputs[0].graph
    counts: Counter[str] = Counter()
    for place in in_order(graph, [x.reference for x in outputs]):
        if not graph.constant[place - 1]:
            counts[graph.operation[place - 1]] += 1
    return Operations(
        multiplications=counts["*"] + counts["/"],
        additions=counts["+"],
        sines=counts["sin"] + counts["cos"],
        others=counts["exp"] + counts["sign"] + counts["abs"],
    )


@dataclass(frozen=True)
class Assignment:
    """`name = value`, or `name = function(value)`."""

    name: str
    value: str
    function: str = ""

    def names(self) -> list[str]:
        return NAME.findall(self.value)

    def text(self, functions: dict[str, str] | None = None) -> str:
        """Return the right side; `functions` renames functions."""
        if not self.function:
            return self.value
        return f"{(functions or {}).get(self.function, self.function)}({self.value})"


@dataclass(frozen=True)
class Program:
    """Assignments in order: those computed off line, those of each evaluation, the outputs."""

    off_line: tuple[Assignment, ...]
    steps: tuple[Assignment, ...]
    outputs: tuple[str, ...]

    def functions(self) -> list[str]:
        """Return the names of all functions called."""
        found = {step.function for step in (*self.off_line, *self.steps)}
        return sorted(found - {""})


def to_program(outputs: Sequence[Expression]) -> Program:
    """Return the program of these outputs; the same outputs give the same text."""
    return _Writer(outputs[0].graph, [x.reference for x in outputs]).program()


class _Writer:
    """Names expressions in their order and writes their right sides."""

    def __init__(self, graph: Graph, outputs: list[Reference]):
        self.graph, self.outputs = graph, outputs
        self.places = in_order(graph, outputs)
        self.text: dict[int, str] = {}
        self.uses = Counter(abs(x) for x in outputs)
        self.in_sum: set[int] = set()  # terms of sums, both on line or both off line
        for place in self.places:
            kind = graph.operation[place - 1]
            if kind not in ("symbol", "number"):
                for x in map(abs, graph.arguments[place - 1]):
                    self.uses[x] += 1
                    if kind == "+" and graph.constant[x - 1] == graph.constant[place - 1]:
                        self.in_sum.add(x)

    def program(self) -> Program:
        off_line: list[Assignment] = []
        steps: list[Assignment] = []
        for place in self.places:
            kind, arguments = self.graph.operation[place - 1], self.graph.arguments[place - 1]
            if kind == "symbol":
                self.text[place] = arguments[0]
            elif kind == "number":
                self.text[place] = repr(arguments[0])
            elif kind == "*" and self.uses[place] == 1 and place in self.in_sum:
                self.text[place] = self._value(kind, arguments)
            else:
                into, letter = (off_line, "k") if self.graph.constant[place - 1] else (steps, "x")
                self.text[place] = f"{letter}{len(into) + 1}"
                function = "" if kind in "+*/" else kind
                value = self._value(kind, arguments)
                into.append(Assignment(self.text[place], value, function))
        outputs = tuple(self._signed(x) for x in self.outputs)
        return Program(tuple(off_line), tuple(steps), outputs)

    def _signed(self, x: Reference) -> str:
        return self.text[x] if x > 0 else f"-{self.text[-x]}"

    def _value(self, kind: str, arguments: tuple[Reference, ...]) -> str:
        if kind == "+":
            first, second = arguments
            return f"{self.text[first]} {'+' if second > 0 else '-'} {self.text[abs(second)]}"
        if kind in "*/":
            return f" {kind} ".join(self.text[x] for x in arguments)
        return self._signed(arguments[0])


def with_constants(program: Program) -> tuple[Program, list[str]]:
    """Return the program with its off-line values in one array `constants`, and their names."""
    off_line = {step.name for step in program.off_line}
    used: dict[str, str] = {}

    def stored(text: str) -> str:
        for name in NAME.findall(text):
            if (name in off_line or name.startswith("parameters[")) and name not in used:
                used[name] = f"constants[{len(used)}]"
        return NAME.sub(lambda found: used.get(found[0], found[0]), text)

    steps = tuple(Assignment(s.name, stored(s.value), s.function) for s in program.steps)
    outputs = tuple(stored(text) for text in program.outputs)
    return Program(program.off_line, steps, outputs), list(used)
