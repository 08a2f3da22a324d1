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


# The compiler's cache on disk only compares a kernel's own file. With a digest of all sources that
# kernels include in its name, a kernel is also compiled anew when one of these changes.
_sources = [Path(at.__file__), *sorted(Path(__file__).parent.glob("*.py"))]
EDITION = hashlib.sha1(b"".join(path.read_bytes() for path in _sources)).hexdigest()[:12]


def kernel(signature):
    """Return a decorator that compiles for exactly this signature; other types raise.

    `vector` and `matrix` stand for contiguous arrays of float64 with one and two dimensions.
    """
    signature = signature.replace("vector", "float64[::1]").replace("matrix", "float64[:, ::1]")

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
