"""Compile every kernel into the cache, before several test processes would do so at a time."""

from importlib import import_module
from pkgutil import walk_packages

import robodyn_ros as rd

for module in walk_packages(rd.__path__, "robodyn_ros."):
    import_module(module.name)
rd.warmup(rd.robots.planar_2r())
