"""The demo's motion, from wherever an arm is found."""

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.nodes.demo_trajectory import Rounds

LWR = rd.robots.lwr_iii()


@pytest.mark.parametrize("where", [0.0, 0.2, 0.5, 1.0])
def test_rounds_keep_away_from_the_joints_ends(where):
    q = LWR.q_min + where * (LWR.q_max - LWR.q_min)
    rounds, seen = Rounds(LWR, q, 0.3), []
    for _ in range(7):
        move = rounds.next(q)
        q = move.at(move.duration).q
        seen.append(q)
    share = (np.array(seen) - LWR.q_min) / (LWR.q_max - LWR.q_min)
    assert share.min() > 0.049 and share.max() < 0.951
    assert np.ptp(seen, axis=0).min() > 0.5  # and every joint moves


def test_rounds_go_about_the_posture_in_which_the_arm_was_found():
    start = np.array([0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5])
    rounds, q = Rounds(LWR, start, 0.3), start
    for _ in range(3):
        move = rounds.next(q)
        q = move.at(move.duration).q
    np.testing.assert_allclose(q, start, atol=1e-9)
