"""Expressions and sharing: simplifications, common parts, and unchanged values."""

import numpy as np
import pytest
from codegen_cases import evaluated
from hypothesis import given, settings
from hypothesis import strategies as st

from robodyn_ros.codegen.expression import Graph
from robodyn_ros.codegen.program import Operations, operations, to_program
from robodyn_ros.codegen.sharing import shared


@pytest.fixture
def graph():
    return Graph()


def test_trivial_work_never_enters(graph):
    x, y = graph.symbol("x"), graph.symbol("y")
    assert (x * 0.0).is_zero and (x - x).is_zero and (0.0 * (x + y)).is_zero
    assert (1.0 * x + 0.0).reference == x.reference
    assert (-1.0 * x).reference == -x.reference
    assert (x / 1.0).reference == x.reference
    assert graph.value((x / x).reference) == 1.0


def test_equal_expressions_are_one(graph):
    x, y = graph.symbol("x"), graph.symbol("y")
    assert (x * y).reference == (y * x).reference
    assert (x - y).reference == -(y - x).reference
    assert ((-x) * y).reference == -(x * y).reference
    assert (-x).apply("cos").reference == x.apply("cos").reference
    assert (-x).apply("sin").reference == -x.apply("sin").reference


def test_constants_are_folded_off_line(graph):
    x, m, k = graph.symbol("x"), graph.symbol("m", constant=True), graph.symbol("k", constant=True)
    assert operations([2.0 * (3.0 * (m * (k * x)))]) == Operations(multiplications=1)
    assert operations([(m + k) * x]) == Operations(multiplications=1)
    assert operations([m * x + k * x]) == Operations(multiplications=1)  # (m + k) x


def test_sharing_finds_common_factors_and_parts():
    graph = Graph()
    a, b, c, x = (graph.symbol(name) for name in "abcx")
    outputs = [a * x + b * x, (a + c) + b, a + b]
    found = shared(outputs)
    assert operations(outputs).total == 3 + 2 + 1
    assert operations(found) == Operations(multiplications=1, additions=2)  # a + b serves thrice
    values = {"a": 0.3, "b": 1.7, "c": -2.2, "x": 0.9}
    np.testing.assert_allclose(evaluated(found, values), evaluated(outputs, values), rtol=1e-14)


def test_what_no_output_needs_is_not_written(graph):
    x, y = graph.symbol("x[0]"), graph.symbol("y[0]")
    x * y + x  # computed, and not asked for
    program = to_program([x + y])
    assert [(step.name, step.value) for step in program.steps] == [("x1", "x[0] + y[0]")]


NAMES = "abcd"
leaf = st.sampled_from(NAMES) | st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.5])
tree = st.recursive(leaf, lambda t: st.tuples(st.sampled_from("+-*"), t, t), max_leaves=25)


def built(graph, node, constants):
    if isinstance(node, tuple):
        kind, *children = node
        a, b = (built(graph, child, constants) for child in children)
        return {"+": a + b, "-": a - b, "*": a * b}[kind]
    if isinstance(node, str):
        return graph.symbol(node, constant=node in constants)
    return graph.symbol("one", constant=True) * node


def value(node, values):
    if isinstance(node, tuple):
        kind, *children = node
        a, b = (value(child, values) for child in children)
        return {"+": a + b, "-": a - b, "*": a * b}[kind]
    return values[node] if isinstance(node, str) else node


@settings(max_examples=150, deadline=None)
@given(trees=st.lists(tree, min_size=1, max_size=4), constants=st.sets(st.sampled_from(NAMES)))
def test_sharing_keeps_every_value_and_never_costs(trees, constants):
    graph = Graph()
    outputs = [built(graph, one, constants) for one in trees]
    found = shared(outputs)
    values = {"a": 0.7, "b": -1.3, "c": 2.1, "d": 0.4, "one": 1.0}
    expected = [value(one, values) for one in trees]
    size = 1.0 + np.abs(expected).max()
    np.testing.assert_allclose(evaluated(found, values), expected, atol=1e-9 * size)
    assert operations(found).total <= operations(outputs).total
