"""Samples that users make: any numbers will do."""

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.errors import ArgumentError

DT = 0.002  # [s]


@pytest.fixture(scope="module")
def log():
    """A planar arm at rest that somebody begins to push."""
    model, samples = rd.robots.planar_2r(), 300
    q = np.full((samples, model.n), 0.3)
    tau = np.full_like(q, 1.0) * rd.gravity_torque(model, q[0])
    tau[200:, 0] -= 30.0  # the motor holds against the push
    return rd.Log(DT * np.arange(samples), q, np.zeros_like(q), tau)


def levels(log, made):
    """Return the levels of a monitor that gets each row of q, qd and tau as `made` makes it."""
    monitor, status, found = rd.ContactMonitor(rd.robots.planar_2r()), rd.Status.RESTART, []
    for k in range(log.t.size):
        row = [made(getattr(log, field), k) for field in ("q", "qd", "tau")]
        found.append(monitor.update(rd.Sample(log.t[k], DT, *row, status)).level)
        status = rd.Status.OK
    return found


@pytest.mark.parametrize(
    "made",
    [
        lambda x, k: x[k],  # read-only
        lambda x, k: np.asfortranarray(x)[k],  # strided
        lambda x, k: x[k].tolist(),
        lambda x, k: x[k].astype(">f8"),
    ],
    ids=["read_only", "strided", "list", "big_endian"],
)
def test_rows_of_any_layout_give_the_same_verdicts(made, log):
    plain = levels(log, lambda x, k: x[k].copy())
    assert rd.Level.CLEAR in plain and rd.Level.COLLISION in plain
    assert levels(log, made) == plain


def test_arrays_that_kernels_take_are_not_copied():
    q, qd, tau = np.zeros((3, 2)).copy()
    sample = rd.Sample(0.0, 0.0, q, qd, tau, rd.Status.OK)
    assert (sample.q is q, sample.qd is qd, sample.tau is tau) == (True, True, True)
    assert rd.Sample(0.0, 0.0, q, qd, None, rd.Status.OK).tau is None
    assert isinstance(sample._replace(t=1.0), rd.Sample)


@pytest.mark.parametrize("wrong", [["a", "b"], [[0.0, 0.0]], 1.0, [[0.0], [0.0, 0.0]]])
def test_what_is_no_row_of_numbers_is_refused(wrong):
    with pytest.raises(ArgumentError, match="qd of a sample"):
        rd.Sample(0.0, 0.0, [0.0, 0.0], wrong, None, rd.Status.OK)
