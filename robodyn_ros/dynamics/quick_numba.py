"""numba, imported without what nobody here needs: every process that computes starts with it."""

import sys
from importlib import import_module

ASKS = "numba.np.arraymath"
BLAS = "scipy.linalg.cython_blas"


def import_numba() -> None:
    """Import numba, but not scipy's linear algebra with it: a seventh of a node's start.

    numba looks for scipy's BLAS to see whether `np.convolve` may use it. What cannot do without,
    such as `np.dot`, looks again when it is compiled, and finds it.
    """
    if ASKS in sys.modules or BLAS in sys.modules:
        return
    sys.modules[BLAS] = None  # type: ignore[assignment]  # an import of it fails at once
    try:
        import_module(ASKS)
    finally:
        del sys.modules[BLAS]
