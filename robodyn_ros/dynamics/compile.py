"""Compiler options of the kernels: one set of options, explicit signatures, one cache."""

import hashlib
from pathlib import Path

from numba import njit

from ..model import packed_model as at
from ..model.packed_model import U

# 'contract' lets the compiler fuse a*b + c and changes nothing else: NaN and infinity keep their
# meaning, so that bad data stays visible.
OPTIONS = {"fastmath": {"contract"}, "error_model": "numpy"}
COMPILE = {"cache": True, **OPTIONS}

inline = njit(forceinline=True, **OPTIONS)


def _edition() -> str:
    """Return a digest of all sources that kernels include.

    The compiler's cache on disk only compares a kernel's own file. With the digest in its name, a
    kernel is also compiled anew when an included source changes.
    """
    sources = [Path(at.__file__), *sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha1(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]


EDITION = _edition()


def kernel(signature):
    """Return a decorator that compiles for exactly this signature; other types raise."""

    def compile_for(function):
        function.__qualname__ = f"{function.__name__}_{EDITION}"
        return njit(signature, **COMPILE)(function)

    return compile_for


U1, U2, U3, U6 = U(1), U(2), U(3), U(6)


@inline
def index(x):
    """Return a whole number that is stored as a float, as an array index."""
    return U(int(x))


@inline
def samples(n, size):
    """Return the number of states of n joints in an array of that size; 0 if it is uneven."""
    if size == n:
        return U1
    count = size // n
    return count if count * n == size else U(0)
