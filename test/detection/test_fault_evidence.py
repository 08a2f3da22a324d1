"""Evidence of faults: what the sums say in corners that no stream of a whole arm reaches."""

import numpy as np
import pytest

from robodyn_ros.detection.faults import blocks as of
from robodyn_ros.detection.faults import evidence


@pytest.mark.parametrize("count", [10, 16, 20, 40])
def test_a_payload_on_one_joint_is_none_that_changes(count):
    """With fewer blocks than unknowns of two payloads, too."""
    rng = np.random.default_rng(0)
    ring = np.zeros((int(of.CAPACITY), 1, int(of.COLUMNS)))
    rows = np.zeros((int(of.ROWS), 1))
    rows[of.LIMIT] = rows[of.SQUARE] = 1.0
    angle = np.linspace(0.0, 1.0, count)
    ring[:count, 0, of.ONE] = 1.0 / of.MOST_NOISE
    ring[:count, 0, of.MASS] = 2.0 * np.cos(angle)
    ring[:count, 0, of.Y] = ring[:count, 0, of.MASS] + rng.normal(size=count)
    phi, work = np.zeros(int(evidence.UNKNOWNS) + 1), np.zeros((int(evidence.SCRATCH),) * 2)
    drift = evidence.payload_drift(ring, rows, np.uint64(0), np.uint64(count), phi, work)
    assert drift < 1.0
