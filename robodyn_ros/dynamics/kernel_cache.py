"""The compiler's cache on disk: whether a function is in it, and locks among processes.

Processes that start together, such as the nodes of an arm, need many of the same kernels. A kernel
is locked while one process compiles it; the others then load it.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba import config, njit

LOCK_FILE = "robodyn_ros.lock"  # in each folder of the cache
LOCKS = 1 << 62  # bytes of that file that can be locked, one for each kernel


def is_cached(function: Any) -> bool:
    """Return whether the compiler will find this function, of a unique name, in its cache."""
    if config.DISABLE_JIT:
        return True
    name = f".{function.__qualname__}-"
    with suppress(OSError):
        changed = os.stat(function.__code__.co_filename).st_mtime
        with os.scandir(_folder(function)) as files:
            for file in files:
                if name in file.name and file.name.endswith(".nbi"):
                    return file.stat().st_mtime >= changed
    return False


@contextmanager
def locked(function: Any, *, wait: bool = True) -> Iterator[bool]:
    """Lock a function among processes; yield False if another has it and we do not wait."""
    if config.DISABLE_JIT:
        yield True
        return
    digest = hashlib.sha1(function.__qualname__.encode(), usedforsecurity=False).digest()
    place = int.from_bytes(digest[:8], "big") % LOCKS
    try:
        file = _lock_file(_folder(function))
        fcntl.lockf(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, place)
    except BlockingIOError:
        yield False
        return
    except OSError:  # a file system without locks: processes then repeat each other's work
        yield True
        return
    try:
        yield True
    finally:
        fcntl.lockf(file, fcntl.LOCK_UN, 1, place)


def _folder(function: Any) -> Path:
    """Return the folder in which the compiler caches a function."""
    source = function.__code__.co_filename
    if source not in _folders:
        _folders[source] = Path(njit(cache=True)(function).stats.cache_path)
    return _folders[source]


_folders: dict[str, Path] = {}  # by source file


@cache
def _lock_file(folder: Path) -> int:
    """Return the descriptor of a folder's lock file; closing it would end all locks."""
    folder.mkdir(parents=True, exist_ok=True)
    return os.open(folder / LOCK_FILE, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
