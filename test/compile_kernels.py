"""Compile every kernel into the cache, before several test processes would do so at a time."""

from robodyn_ros.commands.kernels import warmup

warmup()
