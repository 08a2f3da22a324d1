"""Samples for the tests of the monitor."""

import numpy as np

from robodyn_ros.sensing.sample import Sample, Status, missing


def valid_sample(t, q, qd, tau, status=Status.OK, dt=0.0, **fields):
    """A sample that sensing has accepted."""
    arrays = [np.array(x, dtype=float) for x in (q, qd, tau)]
    return Sample(float(t), dt, *arrays, status, **fields)


def invalid_sample(t, cause, n=7):
    """A rejected message."""
    return missing(float(t), 0.0, n, Status.INVALID, cause)
