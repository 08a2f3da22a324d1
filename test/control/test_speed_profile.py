"""speed_profile: strictly within the limits, and nearly as fast as the optimum of `fastest`."""

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control.path_shape import ScalingLimits
from robodyn_ros.control.path_table import LATE, ON_TIME, PathTable
from robodyn_ros.control.speed_profile import PLAN_RATE, PLAN_SHARE, speed_profile

LWR = rd.robots.lwr_iii()
NONE = np.full(7, np.inf)
LIMITS = ScalingLimits(LWR.tau_max, np.full(7, 1000.0), LWR.qd_max, NONE)
START = np.radians([-60.0, 40.0, 0.0, 70.0, 0.0, 40.0, 0.0])
END = np.radians([55.0, 60.0, 20.0, 50.0, 30.0, 20.0, 40.0])


def test_a_mass_moves_as_its_limits_say():
    """One joint of inertia 1, q' = 1: far from the ends, y is y_max."""
    cells = np.zeros((400, 6, 1))
    cells[:, 0] = cells[:, 3] = 1.0  # M, q'
    one = np.ones(1)
    limits = ScalingLimits(2.0 * one, 40.0 * one, np.inf * one, np.inf * one)
    ds, y_max = 4e-3, np.ones(401)
    y_max[200] = 0.25  # a slow place
    y = speed_profile(cells, limits, ds, y_max)
    assert (y > 0.0).all() and (y < y_max).all()
    a = np.diff(y) / (2.0 * ds)
    assert 0.8 * PLAN_SHARE * 2.0 < np.abs(a).max() < PLAN_SHARE * 2.0
    rates = np.abs(np.diff(a)) / ds * np.sqrt(y[1:-1])
    assert 0.8 * PLAN_RATE * 40.0 < rates.max() < PLAN_RATE * 40.0
    assert y[200] > 0.24 and y[20] > 0.98 and y[380] > 0.98


@pytest.mark.parametrize("seed", range(2))
def test_the_time_is_near_that_of_fastest_with_the_same_shares(seed):
    random = np.random.default_rng(seed)
    q = START + random.uniform(-0.2, 0.2, 7)
    move = rd.joint_move(q, END, duration=0.3)
    best = rd.fastest(LWR, move, tau_rate_max=PLAN_RATE * 1000.0, intervals=40).duration
    table = PathTable(LWR, move, limits=LIMITS)
    bounds = table.bounds(LIMITS, 1.25)
    for row in (ON_TIME, LATE):
        v = np.sqrt(bounds[int(row)])
        seconds = float((2.0 * table.spacing / (v[1:] + v[:-1])).sum())
        assert 0.97 * best < seconds < 1.08 * best


def test_a_path_within_its_limits_keeps_the_rate_1():
    bounds = PathTable(LWR, rd.joint_move(START, END, duration=2.1)).bounds(LIMITS, 1.25)
    assert (bounds[int(ON_TIME)] == 1.0).all()
