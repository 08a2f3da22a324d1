"""Customized models: the public functions of the dynamics run on kernels for one robot.

A kernel is generated on first use and cached on disk: its text in a cache directory, its machine
code beside it by the compiler's own cache.
"""

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
from .generate import checksum, identifier
from .kernel_code import batch_code, single_code
from .quantities import QUANTITIES, customized, has_more_friction

WITHOUT_GRAVITY = " without gravity"
OTHER_NAMES = {"forward_dynamics through M": "forward_dynamics"}

# Generic kernels for batches, with the constants they take, and the quantity they compute
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
    """Return a copy of the robot on which the public functions run customized kernels.

    Results agree with those of `model` to rounding. A changed copy (`replace`) and an unpickled
    one are ordinary models again.
    """
    twin = model.replace()
    object.__setattr__(twin, "bound", CustomizedKernels(model))
    return twin


class CustomizedKernels(dict[Any, Any]):
    """Kernels generated on demand, by name or by (generic kernel, constants, weightless)."""

    def __init__(self, model: RobotModel):
        super().__init__()
        self.model = model

    def __missing__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            kernel, constants, weightless = key
            found, _ = _loaded(self.model, BATCHES[kernel, constants], not weightless, "batch")
        else:
            name = OTHER_NAMES.get(key, key).removesuffix(WITHOUT_GRAVITY)
            if name not in QUANTITIES or (
                name == "friction_torque" and has_more_friction(self.model)
            ):
                raise KeyError(key)  # the general kernel it is
            found = _single_kernel(self.model, name, not key.endswith(WITHOUT_GRAVITY))
        self[key] = found
        return found


def _single_kernel(model: RobotModel, name: str, gravity: bool) -> Any:
    kernel, work = _loaded(model, name, gravity, "single")
    quantity, n = QUANTITIES[name], model.n
    shape = {"M": (n, n), "Y": (n, 10 * len(model.link_names))}
    shapes = [shape.get(output, (n,)) for output in quantity.outputs]
    return bind(np.zeros(work), n, kernel, len(quantity.inputs), shapes)


def _loaded(model: RobotModel, name: str, gravity: bool, kind: str) -> tuple[Any, int]:
    """Return a kernel and its work space's size, from the cache on disk; write it if missing."""
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
        raise ResourceError(f"{path} cannot be loaded; remove it to have it generated again")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # the compiler's cache looks it up by name
    spec.loader.exec_module(module)
    return getattr(module, f"{name}_{kind}"), module.WORK


@cache
def _edition() -> str:
    """Return a digest of the code that generates kernels: a change of it makes new ones."""
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    return f"{EDITION} {digest}"


@cache
def _directory() -> Path:
    """Return the directory of kernels: the user's cache, or a temporary one if not writable."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    directory = root / "robodyn_ros" / "kernels"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if os.access(directory, os.W_OK):
            return directory
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="robodyn_ros_"))
