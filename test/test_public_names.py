"""`import robodyn_ros as rd`: cheap, and the same names for people and for type checkers."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import robodyn_ros as rd


def test_every_public_name_is_there():
    for name in rd.__all__:
        assert getattr(rd, name) is not None, name
    assert set(rd.__all__) <= set(dir(rd))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'inverse_dynamic'"):
        rd.inverse_dynamic  # noqa: B018


def test_every_public_name_is_at_home_in_the_module_that_the_stub_names():
    tree = ast.parse(Path(rd.__file__).with_name("__init__.pyi").read_text())
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            module = import_module(f"robodyn_ros.{node.module}")
            for alias in node.names:
                assert alias.name == alias.asname, "type checkers re-export `x as x` only"
                assert getattr(rd, alias.name) is getattr(module, alias.name)


def test_the_compiler_is_imported_at_first_use_only():
    program = (
        "import sys, robodyn_ros as rd\n"
        "model = rd.load_urdf(rd.share_path('urdf', 'kuka_lwr4.urdf'))\n"
        "assert 'numba' not in sys.modules, 'numba was imported too early'\n"
        "rd.gravity_torque(model, [0.0] * 7)\n"
        "assert 'numba' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
