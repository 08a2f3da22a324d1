"""Fewer operations for the same outputs: common factors, and common parts of sums and products.

First, sums and products with a single use in another of their kind are merged into it, so that the
order of terms in a sweep does not matter. Then these steps are repeated while they help:

    a x + b x          becomes  (a + b) x       if the two products have no other use
    a + b + c, a + b   share    a + b           products likewise, the most common pair first

No step adds an operation. Ties go to the first candidate, so that the result is reproducible.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from .expression import Expression, Graph, Reference

Pair = tuple[int, int]


def shared(outputs: Sequence[Expression]) -> list[Expression]:
    """Return the same outputs with fewer operations, in a new graph."""
    graph = outputs[0].graph
    network = _Network(graph, [x.reference for x in outputs])
    while True:
        network.merge()
        changed = network.factor()
        changed |= network.share("+")
        changed |= network.share("*")
        if not changed:
            return network.rebuilt()


class _Network:
    """The part of a graph needed by the outputs, with sums and products of any length."""

    def __init__(self, graph: Graph, outputs: list[Reference]):
        self.graph, self.outputs = graph, outputs
        self.kind: dict[int, str] = {}
        self.terms: dict[int, list[Reference]] = {}
        self.next = len(graph.operation) + 1
        for place in in_order(graph, outputs):
            if not graph.constant[place - 1]:
                operation = graph.operation[place - 1]
                self.kind[place] = operation
                if operation != "symbol":
                    self.terms[place] = list(graph.arguments[place - 1])

    def _uses(self) -> Counter[int]:
        uses = Counter(abs(x) for x in self.outputs)
        for terms in self.terms.values():
            uses.update(abs(x) for x in terms)
        return uses

    def merge(self) -> None:
        """Merge sums with a single use into the sum that uses them, and products likewise."""
        uses = self._uses()
        for place in sorted(self.terms):
            kind = self.kind.get(place, "")  # empty if it was merged before
            if kind and kind in "+*":
                merged: list[Reference] = []
                for x in self.terms[place]:
                    inner = abs(x)
                    if self.kind.get(inner) == kind and uses[inner] == 1:
                        sign = 1 if x > 0 else -1
                        merged += [sign * y for y in self.terms.pop(inner)]
                        del self.kind[inner]
                    else:
                        merged.append(x)
                self.terms[place] = _without_opposites(merged) if kind == "+" else merged
        self._remove_trivial()

    def factor(self) -> bool:
        """Factor common factors out of each sum; return whether any was found."""
        uses, changed = self._uses(), False
        for place in sorted(self.terms):
            while self.kind.get(place) == "+" and self._factor_one(place, uses):
                changed = True
        return changed

    def _factor_one(self, place: int, uses: Counter[int]) -> bool:
        terms = self.terms[place]
        own = [x for x in terms if self.kind.get(abs(x)) == "*" and uses[abs(x)] == 1]
        counts = Counter(f for x in own for f in sorted(set(self.terms[abs(x)])))
        if not counts:
            return False
        best = min(counts, key=lambda f: (-counts[f], f))
        if counts[best] < 2:
            return False
        inner: list[Reference] = []
        for x in own:
            factors = self.terms[abs(x)]
            if best in factors:
                terms.remove(x)
                factors.remove(best)
                sign = 1 if x > 0 else -1
                if len(factors) == 1:
                    inner.append(sign * factors[0])
                    del self.terms[abs(x)], self.kind[abs(x)]
                else:
                    inner.append(x)
        total = self._new("+", inner)
        product = self._new("*", [best, total])
        uses[total] = uses[product] = 1
        if terms:
            terms.append(product)
        else:  # the whole sum becomes a product
            self.kind[place], self.terms[place] = "*", [best, total]
            del self.kind[product], self.terms[product]
        return True

    def share(self, kind: str) -> bool:
        """Extract pairs that occur in several sums, or products; return whether any was found."""
        changed = False
        while True:
            counts: Counter[Pair] = Counter()
            for place in sorted(self.terms):
                if self.kind[place] == kind:
                    counts.update(set(_pairs(self.terms[place])))
            if not counts:
                return changed
            best = min(counts, key=lambda pair: (-counts[pair], pair))
            if counts[best] < 2:
                return changed
            self._extract(kind, best)
            changed = True

    def _extract(self, kind: str, pair: Pair) -> None:
        a, b = pair
        holders = [
            place
            for place in sorted(self.terms)
            if self.kind[place] == kind and pair in _pairs(self.terms[place])
        ]
        own = self._new(kind, [a, b])
        for place in holders:
            terms = self.terms[place]
            sign = 1 if a in terms and b in terms else -1
            terms.remove(sign * a)
            terms.remove(sign * b)
            terms.append(sign * own)
        self._remove_trivial()

    def _remove_trivial(self) -> None:
        """Replace sums and products of one term by it, and empty sums by zero."""
        while True:
            stand_in = {
                place: terms[0] if terms else self.graph.zero
                for place, terms in self.terms.items()
                if self.kind[place] in "+*" and len(terms) < 2
            }
            if not stand_in:
                return
            for place in stand_in:
                del self.terms[place], self.kind[place]

            def now(x: Reference, known: dict[int, Reference] = stand_in) -> Reference:
                while abs(x) in known:
                    x = known[abs(x)] if x > 0 else -known[abs(x)]
                return x

            self.outputs = [now(x) for x in self.outputs]
            for place, terms in self.terms.items():
                self.terms[place] = [now(x) for x in terms]

    def _new(self, kind: str, terms: list[Reference]) -> int:
        place, self.next = self.next, self.next + 1
        self.kind[place], self.terms[place] = kind, terms
        return place

    def rebuilt(self) -> list[Expression]:
        """Return the outputs as expressions of a new graph."""
        new = Graph()
        made: dict[int, Expression] = {}
        stack = [abs(x) for x in reversed(self.outputs)]
        while stack:
            place = stack[-1]
            if place not in made:
                terms = self._arguments(place)
                missing = [abs(x) for x in terms if abs(x) not in made]
                if missing:
                    stack += reversed(missing)
                    continue
                arguments = [made[abs(x)] if x > 0 else -made[abs(x)] for x in terms]
                made[place] = self._make(new, place, arguments)
            stack.pop()
        return [made[x] if x > 0 else -made[-x] for x in self.outputs]

    def _arguments(self, place: int) -> list[Reference]:
        if place in self.terms:
            terms = self.terms[place]
            return sorted(terms, key=abs) if self.kind[place] in "+*" else terms
        if self.graph.operation[place - 1] in ("symbol", "number"):
            return []
        return list(self.graph.arguments[place - 1])

    def _make(self, new: Graph, place: int, arguments: list[Expression]) -> Expression:
        kind = self.kind.get(place) or self.graph.operation[place - 1]
        if kind == "number":
            return Expression(new, new.number(self.graph.arguments[place - 1][0]))
        if kind == "symbol":
            name = self.graph.arguments[place - 1][0]
            return new.symbol(name, constant=self.graph.constant[place - 1])
        if kind == "/":
            return arguments[0] / arguments[1]
        if kind not in "+*":
            return arguments[0].apply(kind)
        # Constants first: their sum or product is computed off line
        arguments.sort(key=lambda x: not new.is_constant(x.reference))
        total = arguments[0]
        for x in arguments[1:]:
            total = total + x if kind == "+" else total * x
        return total


def _without_opposites(terms: list[Reference]) -> list[Reference]:
    left = list(terms)
    for x in terms:
        if x in left and -x in left:
            left.remove(x)
            left.remove(-x)
    return left


def _pairs(terms: list[Reference]) -> Iterator[Pair]:
    """Yield pairs of terms up to a common sign: the smaller place first, and positive."""
    for a, b in combinations(sorted(terms, key=abs), 2):
        yield (a, b) if a > 0 else (-a, -b)


def in_order(graph: Graph, outputs: Sequence[Reference]) -> list[int]:
    """Return the places of all expressions that the outputs need, arguments first."""
    needed: set[int] = set()
    stack = [abs(x) for x in outputs]
    while stack:
        place = stack.pop()
        if place not in needed:
            needed.add(place)
            if graph.operation[place - 1] not in ("symbol", "number"):
                stack += [abs(x) for x in graph.arguments[place - 1]]
    return sorted(needed)
