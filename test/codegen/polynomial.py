"""Exact normal form of symbolic expressions: polynomials with whole coefficients.

An expression of the code generator that adds and multiplies becomes a sum of monomials in its
symbols. Cosines appear at most once in each, by c^2 = 1 - s^2, so that an expression is zero for
all values of its symbols exactly if nothing is left of it: that is a proof, not a sample.
"""

from __future__ import annotations

BITS = 6  # of an exponent
MASK = (1 << BITS) - 1

Polynomial = dict[int, int]  # monomial, whose exponents stand side by side -> coefficient


class Ring:
    """Polynomials in these symbols; pairs: (sine, cosine) of the same angle."""

    def __init__(self, symbols: list[str], pairs: list[tuple[str, str]]):
        self.place = {name: BITS * k for k, name in enumerate(symbols)}
        self.pairs = [(self.place[s], self.place[c]) for s, c in pairs]
        self.twice = sum((MASK - 1) << c for _, c in self.pairs)  # a bit here: c^2 or more

    def number(self, value: float) -> Polynomial:
        assert value == int(value), f"{value!r} is no whole number"
        return {0: int(value)} if value else {}

    def symbol(self, name: str) -> Polynomial:
        return {1 << self.place[name]: 1}

    def add(self, p: Polynomial, q: Polynomial, factor: int = 1) -> Polynomial:
        total = dict(p)
        for monomial, x in q.items():
            value = total.get(monomial, 0) + factor * x
            if value:
                total[monomial] = value
            else:
                total.pop(monomial, None)
        return total

    def multiply(self, p: Polynomial, q: Polynomial) -> Polynomial:
        product: Polynomial = {}
        for a, x in p.items():
            for b, y in q.items():
                product[a + b] = product.get(a + b, 0) + x * y
        return self._reduced(product)

    def _reduced(self, p: Polynomial) -> Polynomial:
        """Replace c^2 by 1 - s^2, for all pairs."""
        done: Polynomial = {}
        left = p
        while left:
            ahead: Polynomial = {}
            for monomial, x in left.items():
                if not monomial & self.twice:
                    done[monomial] = done.get(monomial, 0) + x
                    continue
                s, c = next(pair for pair in self.pairs if (monomial >> pair[1]) & MASK > 1)
                rest = monomial - (2 << c)
                ahead[rest] = ahead.get(rest, 0) + x
                squared = rest + (2 << s)
                ahead[squared] = ahead.get(squared, 0) - x
            left = ahead
        return {monomial: x for monomial, x in done.items() if x}

    def derivative(self, p: Polynomial, name: str) -> Polynomial:
        """Return dp / d name."""
        at = self.place[name]
        return {
            monomial - (1 << at): x * ((monomial >> at) & MASK)
            for monomial, x in p.items()
            if (monomial >> at) & MASK
        }

    def by_angle(self, p: Polynomial, sine: str, cosine: str) -> Polynomial:
        """Return the derivative by the angle of a pair."""
        by_sine = self.multiply(self.derivative(p, sine), self.symbol(cosine))
        return self.add(by_sine, self.multiply(self.derivative(p, cosine), self.symbol(sine)), -1)

    def of(self, expressions: list) -> list[Polynomial]:
        """Return the normal forms of expressions of one graph, or of numbers."""
        known: list[Polynomial | None] = []

        def signed(x: int) -> Polynomial:
            p = known[abs(x) - 1]
            assert p is not None
            return p if x > 0 else {monomial: -y for monomial, y in p.items()}

        graph = next((x.graph for x in expressions if hasattr(x, "graph")), None)
        if graph is None:
            return [self.number(float(x)) for x in expressions]
        needed = set()
        todo = [abs(graph.reference(x)) for x in expressions]
        while todo:
            node = todo.pop()
            if node not in needed:
                needed.add(node)
                if graph.operation[node - 1] in "+*":
                    todo += [abs(x) for x in graph.arguments[node - 1]]
        for node, (kind, arguments) in enumerate(
            zip(graph.operation, graph.arguments, strict=True), 1
        ):
            if node not in needed:
                known.append(None)
            elif kind == "number":
                known.append(self.number(arguments[0]))
            elif kind == "symbol":
                known.append(self.symbol(arguments[0]))
            elif kind == "+":
                known.append(self.add(*map(signed, arguments)))
            else:
                assert kind == "*", f"{kind} is no polynomial"
                known.append(self.multiply(*map(signed, arguments)))
        return [signed(graph.reference(x)) for x in expressions]
