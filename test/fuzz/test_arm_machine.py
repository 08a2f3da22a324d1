"""A state machine over the three nodes: hypothesis looks for an order of events that breaks one.

The rig checks after each event: finite outputs, torque and torque rate within their limits, never
CLEAR on bad data. In the end all must be back to normal.
"""

import copy
import math

import hypothesis
import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed: pip install '.[ros]'")

from arm_rig import DT, EXCUSE, LOST, Rig, rig  # noqa: E402
from fuzz_messages import (  # noqa: E402
    STATES,
    Sent,
    command,
    joint_state,
    push,
    trajectory,
    word,
)
from fuzz_parameters import parameter_set  # noqa: E402
from fuzz_tools import Finding, Verdict, expect, warm_up  # noqa: E402
from hypothesis import HealthCheck, Phase, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from hypothesis.stateful import (  # noqa: E402
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from std_msgs.msg import Float64MultiArray  # noqa: E402

from robodyn_ros.detection.detector import Level  # noqa: E402
from robodyn_ros.detection.verdict import SEVERITY  # noqa: E402

SEEDS = st.integers(0, 2**32 - 1)
COUNTS = st.integers(1, 40)
EXAMPLES = 10  # of one run of the machine


class Arm(RuleBasedStateMachine):
    """Events that may happen to an arm, in any order."""

    rig: Rig | None = None

    @initialize()
    def begin(self):
        self.rig = Rig()
        self.rig.run(100)
        self.tuned = False

    def teardown(self):
        if self.rig is not None:
            try:
                self.end()
            finally:
                self.rig.close()

    def end(self):
        """Recover, unless settings were changed: then a second may be too short."""
        if not self.tuned:
            self.rig.recover()

    @rule(count=COUNTS)
    def good_messages(self, count):
        self.rig.run(count)

    @rule(what=st.sampled_from(sorted(STATES)), seed=SEEDS, count=st.integers(1, 20))
    def bad_messages(self, what, seed, count):
        random = np.random.default_rng(seed)
        for _ in range(count):
            right = self.rig.step()
            self.rig.deliver_state(joint_state(random, right.message, self.rig.accepted, what))

    @rule(periods=COUNTS)
    def silence(self, periods):
        self.rig.silence(periods * DT)

    @rule(seed=SEEDS)
    def strange_command(self, seed):
        random, arm = np.random.default_rng(seed), self.rig.controller.arm
        self.rig.deliver_command(command(random, arm.tau, self.rig.model.tau_max))

    @rule(seed=SEEDS)
    def order(self, seed):
        random, arm = np.random.default_rng(seed), self.rig.controller.arm
        names = self.rig.model.joint_names
        self.rig.deliver_trajectory(trajectory(random, names, arm.reference.q))

    @rule(seed=SEEDS)
    def strange_word(self, seed):
        self.rig.deliver_word(word(np.random.default_rng(seed), self.rig.word))

    @rule(seed=SEEDS)
    def push(self, seed):
        links = list(self.rig.model.link_names)
        self.rig.deliver_push(push(np.random.default_rng(seed), links))

    @rule(seed=SEEDS)
    def parameters(self, seed):
        self.rig.excused, self.tuned = math.inf, True
        parameter_set(self.rig, np.random.default_rng(seed))

    @rule()
    def reset(self):
        self.rig.reset_plant()

    @rule()
    def clear(self):
        self.rig.clear()

    @rule(enabled=st.booleans())
    def enable(self, enabled):
        self.rig.enable(enabled)

    @invariant()
    def sound(self):
        if self.rig is None:
            return
        rig, arm = self.rig, self.rig.controller.arm
        expect(rig.bad < LOST or rig.level is Level.UNKNOWN, rig.level)
        expect(np.isfinite(arm.tau).all() and np.isfinite(arm.reference.q).all(), arm.mode)
        expect(np.isfinite(rig.plant.plant.state.q).all(), rig.plant.plant.state)


def run_machine(examples, seed=None):
    """Try a number of orders of events: always the same ones, or those of a seed."""
    machine = type("SeededArm", (Arm,), {})
    if seed is not None:
        hypothesis.seed(repr(seed))(machine)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=15,
            deadline=None,
            derandomize=seed is None,
            database=None,
            phases=[Phase.generate],  # to shrink what was found takes long
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_no_order_of_events_breaks_the_arm():
    warm_up()
    run_machine(EXAMPLES)


@pytest.fixture
def made():
    with rig() as found:
        yield found


def test_a_controller_without_limits_is_found(made, monkeypatch):
    wild = 10.0 * made.model.tau_max
    monkeypatch.setattr(made.controller.arm, "update", lambda sample: wild)
    with pytest.raises(Finding, match="over the limit"):
        made.run(1)


def test_a_step_of_torque_is_found(made):
    made.tau = made.tau + 20.0
    with pytest.raises(Finding, match="a step of torque"):
        made.deliver_state(made.step())


def test_a_detector_that_believes_anything_is_found(made):
    with pytest.raises(Finding, match="believed"):
        made.deliver_state(made.step()._replace(verdict=Verdict.BAD))


def test_a_plant_that_obeys_anything_is_found(made):
    right = Float64MultiArray(data=made.tau.tolist())
    with pytest.raises(Finding, match="obeyed"):
        made.deliver_command(Sent(right, "right", Verdict.BAD))


def say(made, level):
    """Publish this level as the detector's verdict."""
    word = copy.deepcopy(made.word)
    word.status[0].level = bytes([SEVERITY[level]])
    made.detector.to_state.publish(word)


def test_a_false_alarm_is_found(made):
    with pytest.raises(Finding, match="a false alarm"):
        say(made, Level.CONTACT)


def test_the_excuse_for_an_alarm_ends(made):
    lie = Sent(made.step().message, "drifting", Verdict.EITHER, alarms=True)
    made.deliver_state(lie)
    made.run(round(0.9 * EXCUSE / DT))
    say(made, Level.CONTACT)
    made.run(round(0.2 * EXCUSE / DT))
    with pytest.raises(Finding, match="a false alarm"):
        say(made, Level.CONTACT)


def test_a_real_touch_is_an_excuse_while_it_lasts(made):
    made.plant.plant.push("link_4", [0.0, 0.0, 30.0], duration=2.0 * EXCUSE)
    made.run(round(1.9 * EXCUSE / DT))
    assert made.level >= Level.CONTACT


@pytest.mark.parametrize("seconds", [0.9, 1.1])
def test_the_second_to_recover_is_measured(made, monkeypatch, seconds):
    """The arm is cleared only after this many seconds."""
    made.controller.arm.safe_hold("told to")
    due = made.now + seconds
    clear = made.clear
    monkeypatch.setattr(made, "clear", lambda: clear() if made.now >= due else None)
    if seconds < 1.0:
        assert 0.9 <= made.recover() < 1.0
    else:
        with pytest.raises(Finding, match="a second later"):
            made.recover()
