"""How the kernels are compiled: one set of options, explicit signatures, one cache."""

import hashlib
from pathlib import Path

from numba import njit

from ..model import packed_model as at
from ..model.packed_model import U

# The one way everything here is compiled. 'contract' lets the compiler fuse a*b + c and changes
# nothing else: NaN and infinity keep their meaning, so that bad data stays visible.
OPTIONS = {"fastmath": {"contract"}, "error_model": "numpy"}
COMPILE = {"cache": True, **OPTIONS}

inline = njit(forceinline=True, **OPTIONS)


def _edition() -> str:
    """A digest of all that kernels include.

    The compiler's cache on disk asks only whether a kernel's own file has changed. With this in
    the kernel's name, it is compiled anew whenever anything below it has.
    """
    sources = [Path(at.__file__), *sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha1(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]


EDITION = _edition()


def kernel(signature):
    """Compile for exactly this signature: nothing is compiled later, wrong types raise."""

    def compile_for(function):
        function.__qualname__ = f"{function.__name__}_{EDITION}"
        return njit(signature, **COMPILE)(function)

    return compile_for


U1, U2, U3, U4, U5, U6, U7, U8 = (U(i) for i in range(1, 9))


@inline
def index(x):
    """A whole number kept among the floats of a block, as an array index."""
    return U(int(x))


@inline
def samples(n, size):
    """How many states of n joints an array of that size holds; 0 if it does not come out even."""
    if size == n:
        return U1
    count = size // n
    return count if count * n == size else U(0)
