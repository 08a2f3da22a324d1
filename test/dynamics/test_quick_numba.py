"""numba is imported without scipy's linear algebra, and finds it all the same when it needs it."""

import subprocess
import sys

PROGRAM = """
import sys
import robodyn_ros.dynamics.newton_euler
print("scipy.linalg" in sys.modules)
import numba
import numpy as np
print(numba.njit(lambda a, b: np.dot(a, b))(np.eye(2), np.ones(2)))
"""


def test_scipy_is_imported_only_where_it_is_needed():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:2] == ["False", "[1. 1.]"]
