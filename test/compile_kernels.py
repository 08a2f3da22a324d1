"""Compile every kernel into the cache, before several test processes would do so at a time."""

from importlib import import_module
from pkgutil import walk_packages

import robodyn_ros as rd

for module in walk_packages(rd.__path__, "robodyn_ros."):
    try:
        import_module(module.name)
    except ModuleNotFoundError as error:  # what it needs is not installed
        if not error.name or error.name.startswith("robodyn_ros"):
            raise
rd.warmup(rd.robots.planar_2r())
