"""kill -9 and restart of each node, a few times; the many times are benchmark/crash_cycles.py."""

from types import SimpleNamespace

import crash_cycles
import numpy as np
import pytest
from crash_cycles import Crashes, Onlooker, crashes, figures, latched, scene
from ros_harness import bench, own_domain

from robodyn_ros.nodes.demo import NODES

RATE = 200.0  # [Hz], so that three processes fit on a busy machine
# So gentle that commands may come a tenth of a second late: else the loop shakes the arm
GENTLE = {"arm.frequency": [6.0], "arm.braking": 6.0, "demo_speed": 0.1}


@pytest.fixture(autouse=True)
def domain(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(own_domain()))


def missed(found):
    return [figure.figure for figure in found if not figure.passed]


def test_each_node_comes_back_and_nothing_jumps():
    random = np.random.default_rng(2)
    with scene(RATE, **GENTLE) as there:
        for node in NODES:
            *_, found = crashes(there, node, 1, random)
            late = f"{node}: start to first valid output, worst"  # on a busy machine
            assert set(missed(figures(found))) <= {late}, list(figures(found))
            assert max(found.used) < 4.0  # [s] of processor time, also on a busy machine


def test_what_waits_to_be_cleared_outlasts_a_crash():
    assert missed(latched(RATE, **GENTLE)) == []


def test_the_verdict_can_fail():
    good = Crashes("controller_node", [1.0], [1.0], [2.0])
    assert missed(figures(good)) == []
    good.taken.append(2.5)
    assert missed(figures(good)) == ["controller_node: start to first valid output, worst"]
    bad = Crashes("controller_node", [1.0], [1.0], [2.0], 1.1, ["CONTACT"], 0, 0)
    assert len(missed(figures(bad))) == 2


def test_a_step_of_the_torque_is_seen():
    def state(t, tau):
        stamp = SimpleNamespace(sec=0, nanosec=round(t * 1e9))
        numbers = [0.0] * 7
        return SimpleNamespace(
            header=SimpleNamespace(stamp=stamp),
            position=numbers,
            velocity=numbers,
            effort=[tau] * 7,
        )

    with bench() as there:
        seen = Onlooker(there.node, RATE)
        seen._reference(state(0.1, 0.0))
        seen._reference(state(0.2, 50.0))
        assert seen.step == pytest.approx(0.5)
        seen.died("controller_node")
        seen._reference(state(0.3, 0.0))  # a new one begins where it likes
        assert seen.step == pytest.approx(0.5)
        seen._state(state(0.4, 0.0))
        seen._state(state(0.405, 10.0))  # but the torque that acts may not jump
        assert seen.step == pytest.approx(10.0 / (crash_cycles.RATE_MAX * 0.005))
