"""Customized kernels behind the public functions of the dynamics.

`load_customized` gives a model whose functions run on code made for this one robot. The kernels
are made when they are first needed, and kept on disk: as text in a cache directory, and compiled
beside it by the compiler's own cache.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..dynamics.compile import EDITION
from ..dynamics.cpython_binding import bind
from ..dynamics.force_rate import _force_rate
from ..dynamics.forward_dynamics import _articulated_bodies, _through_mass_matrix
from ..dynamics.mass_matrix import _mass_matrix
from ..dynamics.momentum import _momentum_terms, _momentum_terms_batch
from ..dynamics.ne_star import _ne_star
from ..dynamics.newton_euler import _gravity, _newton_euler
from ..errors import ResourceError
from ..model.robot import RobotModel
from .kernel_code import batch_code, single_code
from .quantities import QUANTITIES, customized
from .source import checksum, identifier

WITHOUT_GRAVITY = " without gravity"
OTHER_NAMES = {"forward_dynamics through M": "forward_dynamics"}

# The generic kernels that run on batches, with the constants they take, and what they compute
BATCHES: dict[tuple[Any, tuple[Any, ...]], str] = {
    (_newton_euler, ()): "inverse_dynamics",
    (_gravity, ()): "gravity_torque",
    (_ne_star, (1,)): "ne_star",
    (_momentum_terms, ()): "momentum_terms",
    (_momentum_terms_batch, ()): "momentum_terms",
    (_force_rate, ()): "force_rate",
    (_mass_matrix, ()): "mass_matrix",
    (_articulated_bodies, ()): "forward_dynamics",
    (_through_mass_matrix, ()): "forward_dynamics",
}


def load_customized(model: RobotModel) -> RobotModel:
    """The same robot; on it, the public functions run kernels made for it alone.

    Numbers agree with those of `model` to rounding. A changed copy (`replace`), and one that
    comes out of a pickle, is an ordinary model again.
    """
    twin = model.replace()
    object.__setattr__(twin, "bound", CustomizedKernels(model))
    return twin


class CustomizedKernels(dict[Any, Any]):
    """The kernels of a customized model, made on demand. Asked for by name, a kernel for single
    states; by (generic kernel, constants, weightless), one for batches.
    """

    def __init__(self, model: RobotModel):
        super().__init__()
        self.model = model

    def __missing__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            kernel, constants, weightless = key
            found = _batch_kernel(self.model, BATCHES[kernel, constants], not weightless)
        else:
            name = OTHER_NAMES.get(key, key).removesuffix(WITHOUT_GRAVITY)
            if name not in QUANTITIES:
                raise KeyError(key)
            found = _single_kernel(self.model, name, not key.endswith(WITHOUT_GRAVITY))
        self[key] = found
        return found


def _single_kernel(model: RobotModel, name: str, gravity: bool) -> Any:
    kernel, work = _loaded(model, name, gravity, "single")
    quantity, n = QUANTITIES[name], model.n
    shape = {"M": (n, n), "Y": (n, 10 * len(model.link_names))}
    shapes = [shape.get(output, (n,)) for output in quantity.outputs]
    return bind(np.zeros(work), n, kernel, len(quantity.inputs), shapes)


def _batch_kernel(model: RobotModel, name: str, gravity: bool) -> Any:
    return _loaded(model, name, gravity, "batch")[0]


def _loaded(model: RobotModel, name: str, gravity: bool, kind: str) -> tuple[Any, int]:
    """A kernel from the cache on disk, where it is written first if it is not there, and how many
    numbers its work space holds.
    """
    weight = "" if gravity else "_weightless"
    key = hashlib.sha256(f"{checksum(model)} {_edition()}".encode()).hexdigest()[:16]
    path = _directory() / f"{identifier(model.name)}_{name}{weight}_{kind}_{key}.py"
    if not path.exists():
        write = single_code if kind == "single" else batch_code
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(write(customized(model, name, gravity=gravity)), encoding="utf-8")
        part.replace(path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ResourceError(f"{path} cannot be loaded; remove it, and it is made again")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # the compiler's cache asks for it by name
    spec.loader.exec_module(module)
    return getattr(module, f"{name}_{kind}"), module.WORK


@cache
def _edition() -> str:
    """A digest of all that makes the kernels: others are made when it changes."""
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    return f"{EDITION} {digest}"


@cache
def _directory() -> Path:
    """Where kernels are kept: the user's cache, or, where that cannot be written, for this run."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    directory = root / "robodyn_ros" / "kernels"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if os.access(directory, os.W_OK):
            return directory
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="robodyn_ros_"))
