"""robodyn_ros: rigid-body dynamics from a URDF, and what touches the arm, without a force sensor.

    import robodyn_ros as rd

The public names stand in `__init__.pyi`. Each is imported at first use: importing this is cheap.
"""

import ast
from importlib import import_module
from pathlib import Path

__version__ = "0.1.0"

_MODULE = {  # public name -> its module
    alias.name: "model.robots" if alias.name == "robots" else node.module
    for node in ast.parse(Path(__file__).with_name("__init__.pyi").read_bytes()).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
__all__ = ["__version__", *_MODULE]


def __getattr__(name):
    if name not in _MODULE:
        raise AttributeError(f"module 'robodyn_ros' has no attribute '{name}'")
    module = import_module(f".{_MODULE[name]}", __name__)
    value = globals()[name] = module if name == "robots" else getattr(module, name)
    return value


def __dir__():
    return sorted(__all__)
