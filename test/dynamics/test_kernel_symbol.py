"""Kernels call each other by symbols: in any order of compilation, and with their errors."""

import re
from functools import cache

import numpy as np
import pytest
from numba import njit

from robodyn_ros.detection.monitor_step import judge
from robodyn_ros.dynamics import compile as compiler
from robodyn_ros.dynamics.compile import BASE, KERNELS, inline, kernel, with_callees
from robodyn_ros.nodes.node_kernels import ALL


@kernel("int64(int64, vector)")
def _callee(x, out):
    if x < 0:
        raise ValueError("negative")
    out[0] = 2.0 * x
    return x + 1


@inline
def _between(x, out):
    return _callee(x, out)


@kernel("float64(int64, vector)")
def _caller(x, out):
    return 0.5 * _between(x, out)


def test_a_caller_can_be_compiled_before_what_it_calls(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    assert _caller.alone is not None
    assert "alone" not in _callee.__dict__
    out = np.zeros(1)
    assert _caller(4, out) == 2.5
    assert out[0] == 8.0
    with pytest.raises(ValueError, match="negative"):
        _caller(-1, out)


@kernel("int64(int64)")
def _next(x):
    return x + 1


@njit
def _no_kernel(x):
    return 2 * _next(x)


def test_a_function_that_is_no_kernel_loads_what_it_calls():
    assert "alone" not in _next.__dict__
    assert _no_kernel(3) == 8


def symbols(target):
    """Return the names of the kernels that the compiled code of one calls."""
    (made,) = target.alone.overloads.values()
    text = str(made.library._get_module_for_linking())
    return set(re.findall(r'@"?(robodyn_ros\.[\w.]+)"? = external', text))


@pytest.mark.parametrize("target", ALL, ids=lambda target: target.__name__)
def test_all_that_a_kernel_calls_is_found(target):
    known = with_callees([target])
    if hasattr(target.alone, "overloads"):  # not one of the functions for C
        loaded = {other.symbol.name for other in known}
        on_request = {other.symbol.name for other in KERNELS if other.on_request}
        assert symbols(target) <= loaded | on_request
    # The name of a cached kernel tells of changes in these parts
    own = target.py_func.__module__.split(".")[1]
    for other in known:
        assert other.py_func.__module__.split(".")[1] in {"dynamics", "sensing", own}


def test_symbols_are_seen():
    assert len(symbols(judge)) > 5


def test_kernels_of_a_part_call_those_of_it_and_of_the_parts_below():
    """The name of a kernel, and so its place in the cache, says no more than that."""

    def part(target):
        return target.py_func.__module__.split(".")[1]

    for target in ALL:
        parts = {part(called) for called in with_callees([target])}
        assert parts <= {*BASE, part(target)}, target.__name__


def test_a_source_that_changes_during_an_import_does_not_mix_names(tmp_path, monkeypatch):
    """Else a cached kernel calls one of an older name, which no later process has."""
    for name in (*BASE, "control"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kernels.py").write_text("before", encoding="utf-8")
    monkeypatch.setattr(compiler, "_root", tmp_path)
    plain = compiler.edition.__wrapped__

    def editions(meanwhile=lambda: None):
        monkeypatch.setattr(compiler, "edition", cache(plain))
        dynamics = compiler.edition("dynamics")
        meanwhile()
        return dynamics, compiler.edition("control")

    before = editions()
    change = tmp_path / "dynamics" / "kernels.py"
    assert editions(lambda: change.write_text("after", encoding="utf-8")) == before
    after = editions()
    assert after[0] != before[0] and after[1] != before[1]
