"""kill -9 and restart of nodes, once each; benchmark/crash_cycles.py does it many times."""

import json
import math
from types import SimpleNamespace

import crash_cycles
import pytest
from checkpoint import Checkpoint
from crash_cycles import WAITING, Crashes, Onlooker, Scene, crashes, figures, latched, scene
from ros_harness import bench, own_domain

RATE = 200.0  # [Hz], so that three processes fit on a busy machine
# Low gains: commands may be 0.1 s late without shaking the arm
GENTLE = {"arm.frequency": [6.0], "arm.braking": 6.0, "speed": 0.1}


@pytest.fixture(autouse=True)
def domain(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(own_domain()))


def missed(found):
    return [figure.figure for figure in found if not figure.passed]


def test_restarts_make_no_torque_step_and_a_latched_stop_outlasts_each_of_them():
    """Restarts in motion of the other nodes: row 28 of test_system_faults."""
    node = "controller_node"
    with scene(RATE, **GENTLE, **WAITING) as there:
        (found,) = crashes(there, node, Crashes(node), 1, seed=2)
        late = f"{node}: start to first valid output, worst"  # on a busy machine
        assert set(missed(figures(found))) <= {late}, list(figures(found))
        assert max(found.used) < 4.0  # [s] of processor time, also on a busy machine
        assert missed(latched(there, 1, rest=1.0)) == []


def test_the_verdict_can_fail():
    good = Crashes("controller_node", [1.0], [1.0], [2.0])
    assert missed(figures(good)) == []
    good.taken.append(2.5)
    assert missed(figures(good)) == ["controller_node: start to first valid output, worst"]
    bad = Crashes("controller_node", [1.0], [1.0], [2.0], 1.1, "acting", ["CONTACT"], 0, 0)
    assert len(missed(figures(bad))) == 2


@pytest.fixture
def seen():
    with bench() as there:
        yield Onlooker(there.node, RATE)


def step(seen):
    """Return the largest step so far, as a share of the limit."""
    seen.judge_all()
    return seen.step


def state(t, tau):
    stamp = SimpleNamespace(sec=0, nanosec=round(t * 1e9))
    numbers = [0.0] * 7
    header = SimpleNamespace(stamp=stamp)
    return SimpleNamespace(
        header=header, position=numbers, velocity=numbers, effort=[0.0] * 6 + [tau]
    )


def test_a_step_of_the_commanded_torque_is_seen(seen):
    seen.on_reference(state(0.1, 0.0))
    seen.on_reference(state(0.2, 50.0))
    assert seen.step == pytest.approx(0.5)
    seen.died()
    seen.on_reference(state(0.3, 0.0))  # an earlier message, still in transit
    seen.begins("controller_node")
    seen.on_reference(state(0.305, 90.0))  # a new one may start with any torque
    assert seen.step == pytest.approx(0.5)


@pytest.mark.parametrize("node", [None, "controller_node", "dynamics_node"])
def test_a_step_of_the_torque_that_acts_is_seen_whoever_is_dead(seen, node):
    seen.on_state(state(0.4, 0.0))
    if node:
        seen.died()
    seen.on_state(state(0.405, 10.0))  # the plant's brake, before the restart
    assert step(seen) == pytest.approx(2.0)
    if node:
        seen.begins(node)
    seen.on_state(state(0.410, -10.0))
    assert step(seen) == pytest.approx(4.0)


def test_a_pause_allows_for_no_more_than_commands_may_be_late(seen):
    for k in range(20):
        seen.on_state(state(0.1 + 0.005 * k, 90.0))
    assert step(seen) == 0.0
    seen.on_state(state(0.2, 90.0 - 1e3 * crash_cycles.LATE))
    assert step(seen) == pytest.approx(1.0)
    for k in range(20):
        seen.on_state(state(0.205 + 0.005 * k, 70.0))
    seen.on_state(state(0.305, -20.0))
    assert step(seen) == pytest.approx(4.5)


def test_two_commands_in_a_period_act_at_once_and_are_as_lawful_as_each_of_them(seen):
    for k in range(3):
        seen.on_reference(state(0.1 + 0.005 * k, 5.0 * k))
    seen.on_state(state(0.2, 0.0))
    seen.on_state(state(0.205, 10.0))
    assert step(seen) == pytest.approx(1.0)
    seen.on_state(state(0.21, 0.0))  # from the last to the first: not in a period
    assert step(seen) == pytest.approx(2.0)


def test_commands_that_were_held_up_are_no_excuse_for_more_than_they_may_be_late(seen):
    for k in range(20):
        seen.on_reference(state(0.1 + 0.005 * k, 4.0 * k))
    seen.on_state(state(0.2, 0.0))
    seen.on_state(state(0.205, 76.0))
    assert step(seen) == pytest.approx(76.0 / (crash_cycles.RATE_MAX * crash_cycles.LATE))


def test_a_command_may_be_heard_after_it_has_acted(seen):
    seen.on_reference(state(0.1, 0.0))
    seen.on_state(state(0.2, 0.0))
    seen.on_state(state(0.205, 10.0))
    seen.on_reference(state(0.11, 10.0))
    seen.on_state(state(0.4, 10.0))
    assert seen.step == pytest.approx(1.0)


def test_a_new_plant_begins_where_it_likes_and_is_compared_from_then_on(seen):
    seen.on_state(state(0.1, 50.0))
    seen.begins("simulator_node")
    seen.on_state(state(0.2, 0.0))
    assert step(seen) == 0.0
    seen.on_state(state(0.205, 20.0))
    assert step(seen) == pytest.approx(4.0)


def test_what_was_said_before_a_restart_does_not_count(seen):
    there = Scene({}, seen, None)
    seen.level, seen.mode, seen.speed = "CLEAR", "TRACKING", 1.0
    assert there.under_way()
    seen.unheard()
    seen.mode = "TRACKING"
    assert not there.under_way()  # no new verdict yet


class NoArm:
    """A scene in which nothing is started, and the third restart is interrupted."""

    def __init__(self, drawn, ends=math.inf):
        process = SimpleNamespace(started=0.0, resources=lambda: SimpleNamespace(cpu=1.0))
        self.processes, self.drawn, self.ends = {"controller_node": process}, drawn, ends
        self.seen = SimpleNamespace(first={"controller_node": 1.0}, exact=True, alarms=[])
        self.seen.unheard = self.seen.judge_all = self.under_way = lambda: None

    def pause(self, span):
        self.drawn.append(span)

    def crash(self, node, dead):
        self.drawn.append(dead)

    def wait(self, condition):
        self.ends -= 1
        if self.ends < 0:
            self.seen.alarms.append("CONTACT")
            raise KeyboardInterrupt
        return True


def test_restarts_go_on_from_a_checkpoint_with_the_same_numbers_and_the_failures():
    whole, parts = [], []
    found = Crashes("controller_node")
    for _ in crashes(NoArm(whole), "controller_node", found, 4, seed=5):
        pass
    kept = Checkpoint(None, {})
    first = crash_cycles._found(kept, "controller_node")
    with pytest.raises(KeyboardInterrupt):
        crash_cycles._crash_one(NoArm(parts, ends=4), "controller_node", first, 4, 5, kept)
    del parts[-2:]  # of the cycle that was cut short
    again = crash_cycles._found(
        SimpleNamespace(state=json.loads(json.dumps(kept.state))), "controller_node"
    )
    crash_cycles._crash_one(NoArm(parts), "controller_node", again, 4, 5, kept)
    assert parts == whole and len(again.back) == len(found.back) == 4
    assert again.alarms == ["CONTACT"] and found.alarms == []
