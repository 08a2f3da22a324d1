"""Rows 1 to 13: joint states of every bad kind reach the real nodes."""

import re
import time

import numpy as np
from fault_rig import (
    FOLLOWING,
    NORMAL_AFTER,
    SAFE_AFTER,
    SILENT_AFTER,
    Case,
    cases,
    copied,
    rig_of,
    seconds,
    set_stamp,
)
from offline_twin import recorded_rigs

import robodyn_ros as rd
from robodyn_ros.control.arm_controller import Mode
from robodyn_ros.sensing.sample import Status

NAMES = list(rd.robots.lwr_iii().joint_names)
MEASURED = {"effort.source": "joint_states"}
QUIET = {"UNKNOWN", "CLEAR"}


def spoiled(spoil, *says, lasts=0.2, safe=SAFE_AFTER, **parameters):
    """Every message is bad for a while: rejected, UNKNOWN, a safe hold, normal again, and no
    contact is reported.
    """

    def play():
        with rig_of(**parameters) as rig:
            rig.run_normally()
            taken = len(rig.residuals)

            def states(message):
                rig.bad += 1
                return [m for m in [spoil(message)] if m is not None]

            rig.states = states
            rig.run(lasts)
            assert len(rig.residuals) == taken
            assert rig.level == "UNKNOWN"
            rig.expect_safe_hold_within(safe)
            rig.expect_warnings(*says)
            rig.expect_recovery()
            rig.expect_no_contact()

    return play


def harmless(change, *says, run=0.6, within=0.0, **parameters):
    """With and without the change, residuals, torques and verdicts are the same, bit for bit or
    within some N m.
    """

    def logged(states):
        with rig_of(**parameters) as rig:
            rig.states = states
            rig.run(run)
            assert rig.normal() and rig.mode is Mode.TRACKING
            rig.expect_warnings(*(says if states else ()))
            r, tau = (np.array([x for _, x in log]) for log in (rig.residuals, rig.torques))
            return (r, tau), [level for _, level, *_ in rig.reports]

    def play():
        (clean_numbers, clean_words), (numbers, words) = logged(None), logged(change)
        assert words == clean_words
        for clean, changed in zip(clean_numbers, numbers, strict=True):
            np.testing.assert_allclose(changed, clean, rtol=0.0, atol=within)

    return play


def value(field, joint, number):
    def spoil(message):
        getattr(message, field)[joint] = number
        return message

    return spoil


def without(field):
    def change(message):
        setattr(message, field, [])
        return message

    return change


def one(change):
    """Turn a change of a message into the list of messages that arrive."""
    return lambda message: [change(message)]


HALVES = ([0, 1, 2], [3, 4, 5, 6])


def parts(*groups, apart=0.0):
    """Split a message among several publishers, each with some joints; the second has a stamp
    `apart` [s] from the first.
    """

    def change(message):
        found = []
        for k, group in enumerate(groups):
            part = copied(message, seconds(message.header.stamp) + (apart if k else 0.0))
            part.name = [message.name[k] for k in group]
            for field in ("position", "velocity", "effort"):
                setattr(part, field, [getattr(message, field)[k] for k in group])
            found.append(part)
        return found

    return change


def fewer(message):
    return parts([0, 1, 2, 3, 4, 5])(message)[0]


def mixed(message):
    """Another order each time, and the joints of a gripper among ours."""
    mixed.count += 1
    order = np.random.default_rng(mixed.count).permutation(9)
    names = [*message.name, "finger_1", "finger_2"]
    message.name = [names[k] for k in order]
    for field in ("position", "velocity", "effort"):
        values = [*getattr(message, field), np.nan, 1e308]
        setattr(message, field, [values[k] for k in order])
    return message


mixed.count = 0


def renamed(*names):
    def spoil(message):
        message.name = [*names, *message.name[len(names) :]]
        return message

    return spoil


def longer(field):
    def spoil(message):
        setattr(message, field, [*getattr(message, field), 0.0])
        return message

    return spoil


def gripper_beside(times):
    """A gripper's own messages on the same topic, so many for each of ours."""

    def change(message):
        gripper = copied(message)
        gripper.name, gripper.effort = ["finger_1"], []
        gripper.position, gripper.velocity = [0.1], [0.0]
        return [*times * [gripper], message]

    return change


def others_alone(states, *says):
    """Only the gripper's messages continue: for the arm that is silence."""

    def play():
        with rig_of() as rig:
            rig.run_normally()
            rig.states = states
            assert rig.run(0.1, lambda: rig.level == "UNKNOWN")
            assert rig.now - rig.begun_at <= SILENT_AFTER + 1e-9
            rig.run(0.1)
            rig.expect_safe_hold_within(SILENT_AFTER)
            rig.expect_warnings(*says)
            rig.expect_recovery()
            rig.expect_no_contact()

    return play


# row 1


def numbers_at_rest():
    """An arm at rest goes to a safe hold, too, without valid joint states."""
    with rig_of(motion="hold") as rig:
        rig.run(0.3)
        rig.begun_at = rig.now

        def states(message):
            rig.bad += 1
            return [value("position", 2, np.nan)(message)]

        rig.states = states
        rig.run(0.1)
        rig.expect_safe_hold_within()
        rig.expect_warnings("position of joint 'joint_3' is nan")
        rig.expect_recovery()


def one_bad_message():
    """A single one is rejected: the arm moves on, and the state stays CLEAR."""
    with rig_of() as rig:
        rig.run_normally()
        rig.states = one(value("velocity", 1, np.nan))
        rig.step()
        rig.states = None
        rig.run(0.05)
        assert rig.normal() and rig.mode is Mode.TRACKING
        rig.expect_warnings("velocity of joint 'joint_2' is nan")


def before_each(spoil, *says):
    """A bad message right before each good one is rejected, without an effect on the detector or
    on the controller's rate limit.
    """

    def play():
        with rig_of() as rig:
            rig.run_normally()
            rig.reports.clear()
            rig.modes.clear()
            rig.states = lambda message: [spoil(copied(message)), message]
            for _ in range(250):
                rig.step()
                assert np.abs(rig.controller.arm.error).max() < 2e-3
            assert rig.levels == {"CLEAR"}
            assert {mode for _, mode in rig.modes} == {Mode.TRACKING}
            rig.expect_warnings(*says)
            rig.expect_recovery()

    return play


# row 2


def no_velocity_from_the_start():
    """Velocities are differences of positions; the first sample waits for the second."""
    with rig_of() as rig:
        seen = []
        take = rig.controller.on_sample
        rig.controller.on_sample = lambda sample: (seen.append(sample), take(sample))
        rig.states = one(without("velocity"))
        rig.run(1.0)
        assert rig.normal() and rig.mode is Mode.TRACKING
        assert rig.levels <= {"UNKNOWN", "CLEAR"}
        assert seen.pop(0).status is Status.INVALID  # no velocity yet
        assert seen[0].status is Status.RESTART
        assert {sample.status for sample in seen[1:]} == {Status.OK}
        q, qd = (np.array([getattr(s, name) for s in seen]) for name in ("q", "qd"))
        np.testing.assert_allclose(qd[1:], np.diff(q, axis=0) / rig.dt, atol=1e-6)
        assert np.abs(qd[-1]).max() > 0.05  # never zeros
        rig.expect_warnings("differences of positions")


def velocity_vanishes_in_motion():
    with rig_of() as rig:
        rig.run_normally()
        rig.states = one(without("velocity"))
        rig.run(0.3)
        assert rig.mode is Mode.TRACKING and rig.levels <= {"UNKNOWN", "CLEAR"}
        rig.expect_warnings("differences of positions")
        rig.expect_recovery()


def noisy_velocity():
    """Velocity noise above the rest speed: a safe hold can still be cleared."""
    random = np.random.default_rng(2)

    def noisy(message):
        for k in range(7):
            message.velocity[k] += random.normal(0.0, 0.02)
        return [message]

    with rig_of(arm__reaction="none") as rig:
        rig.states = noisy
        rig.run(0.5)
        rig.lose_states = True
        assert rig.run(0.1, lambda: rig.mode is Mode.SAFE_HOLD)
        rig.lose_states = False
        rig.run(0.3)
        assert rig.clear().success
        assert rig.run(NORMAL_AFTER, lambda: rig.mode in FOLLOWING)


# row 3


def effort_is_missing(change, says):
    def play():
        with rig_of(**MEASURED) as rig:
            rig.run_normally()

            def states(message):
                rig.bad += 1
                return [change(message)]

            rig.states = states
            rig.run(0.2)
            assert rig.level == "UNKNOWN" and says in rig.reason
            assert rig.mode is Mode.TRACKING  # who only controls needs no effort
            rig.expect_warnings(says)
            rig.expect_recovery()

    return play


# row 4


def half_as_often(message):
    """The second of two publishers sends every other time."""
    half_as_often.count = getattr(half_as_often, "count", 0) + 1
    return parts(*HALVES)(message)[: 1 + half_as_often.count % 2]


def parts_get_lost(message):
    parts_get_lost.random = getattr(parts_get_lost, "random", np.random.default_rng(4))
    return [part for part in parts(*HALVES)(message) if parts_get_lost.random.random() > 0.1]


def no_alarm(states, **parameters):
    """The usable part is used: the arm moves on, and no contact is reported."""

    def play():
        with rig_of(**parameters) as rig:
            rig.run_normally()
            rig.reports.clear()
            rig.modes.clear()
            rig.states = states
            rig.run(2.0)
            assert rig.levels <= QUIET and "CLEAR" in rig.levels
            assert {mode for _, mode in rig.modes} <= set(FOLLOWING)
            rig.expect_recovery()

    return play


# row 7


def leap_ahead(by, lasts, says):
    """The torque keeps its rate limit when such a jump is accepted, and when it ends."""

    def play():
        with rig_of() as rig:
            rig.run_normally()
            rig.states = one(lambda m: copied(m, seconds(m.header.stamp) + by))
            rig.run(lasts)
            rig.states = None
            rig.expect_warnings(says)
            rig.expect_recovery()
            rig.expect_no_contact()

    return play


def held_up(message):
    return copied(message, seconds(message.header.stamp) - 0.5)


def stamp_zero():
    with rig_of() as rig:
        rig.run_normally()
        rig.states = lambda message: [copied(message, 0.0)]
        rig.run(0.3)
        assert rig.normal() and rig.mode is Mode.TRACKING
        rig.expect_warnings("the time of receipt is taken")


def stamps_ten_seconds_back():
    """The robot's clock is set back: rejected until that is certain, then a restart."""
    with rig_of() as rig:
        rig.run_normally()
        rig.states = lambda message: [copied(message, seconds(message.header.stamp) - 10.0)]
        rig.run(0.06)
        assert rig.level == "UNKNOWN"
        rig.expect_safe_hold_within()
        rig.run(0.1)
        rig.clear()
        assert rig.run(1.0, rig.normal)  # with stamps that stay 10 s behind
        rig.expect_warnings("10 s behind")
        rig.states = None
        rig.begun_at = rig.now
        rig.step()
        assert rig.level == "UNKNOWN"  # and forward again: a gap of 10 s
        rig.expect_recovery()


def one_stamp_ten_seconds_back():
    """A delayed message is no clock reset."""
    with rig_of() as rig:
        rig.run_normally()
        rig.states = lambda message: [copied(message, seconds(message.header.stamp) - 10.0)]
        rig.step()
        rig.states = None
        rig.run(0.02)
        assert rig.normal() and rig.mode is Mode.TRACKING
        rig.expect_warnings("10 s old")


def stamp_that_stays(back):
    def play():
        with rig_of() as rig:
            rig.run_normally()
            t = rig.residuals[-1][0] - back

            def states(message):
                rig.bad += 1
                return [copied(message, t)]

            rig.states = states
            rig.run(0.1)
            assert rig.level == "UNKNOWN"
            rig.expect_safe_hold_within()
            rig.expect_warnings("stamp goes back by 0.001 s" if back else "stamp repeated")
            rig.expect_recovery()

    return play


def ahead(message):
    return copied(message, seconds(message.header.stamp) + 10.0)


# row 8


def gap(motion):
    def play():
        with rig_of(motion=motion) as rig:
            rig.run(0.5)
            assert rig.normal()
            rig.begun_at = rig.now
            rig.lose_states = True
            assert rig.run(0.1, lambda: rig.level == "UNKNOWN")
            assert rig.now - rig.begun_at <= SILENT_AFTER + 1e-9
            rig.run(10.0)
            assert rig.level == "UNKNOWN" and rig.mode is Mode.SAFE_HOLD
            if motion == "demo":
                rig.expect_safe_hold_within(SILENT_AFTER)
            rig.lose_states = False
            rig.reports.clear()
            rig.residuals.clear()
            assert rig.run(NORMAL_AFTER, lambda: bool(rig.residuals))
            assert not rig.residuals[0][1].any()  # the observer starts anew, from nothing
            rig.run(0.09)
            assert rig.levels == {"UNKNOWN"}  # and has to settle
            rig.run(0.1)
            assert rig.level == "CLEAR" and rig.mode is Mode.SAFE_HOLD  # until cleared
            rig.expect_no_contact()
            rig.expect_warnings("nothing received on")
            rig.expect_recovery()

    return play


# row 9


def burst():
    with rig_of() as rig:
        rig.run_normally()
        message, taken = copied(rig.plant_node.states.message), len(rig.residuals)
        last = seconds(message.header.stamp)
        begun = time.process_time()
        for k in range(1000):
            set_stamp(message.header.stamp, last - 2.0 + 0.002 * k)
            rig.deliver(message)
        assert len(rig.residuals) == taken
        assert time.process_time() - begun < 0.3  # [s]; 0.05 on a quiet machine, unchecked
        given = len(rig.torques)
        rig.step()  # the very next good one is answered
        assert len(rig.residuals) == taken + 1 and len(rig.torques) == given + 1
        late = rig.controller.statistics.latencies[-1], rig.detector.statistics.latencies[-1]
        assert max(late) < 0.02
        assert rig.mode is Mode.TRACKING
        rig.expect_warnings("stamp")
        rig.expect_recovery()


# row 10


NOTICED, SILENT = 0.1, 1.05  # [s] until it is told, and until nothing is commanded any more


def stuck_at(kept, joints=range(7), noise=0.0):
    """Positions that stay what they were, with velocities of then or of noise alone [rad/s]."""
    random = np.random.default_rng(10)

    def states(message):
        for k in joints:
            message.position[k] = kept.position[k]
            message.velocity[k] = random.normal(0.0, noise) if noise else kept.velocity[k]
        return [message]

    return states


def noticed(rig, says, taken_for_a_push=False):
    """Expect UNKNOWN and a safe hold, both in time; then silence, so that the plant brakes while
    the arm is slow and away from its joint limits. No contact is reported, unless position and
    velocity together look like a push.
    """
    while rig.now - rig.begun_at < NOTICED + SILENT + 0.5:
        rig.step()
        state = rig.plant_node.plant.state
        assert np.abs(state.qd).max() < 1.0, rig.now - rig.begun_at
        assert (np.minimum(state.q - rig.model.q_min, rig.model.q_max - state.q) > 0.05).all()
    told = [(t - rig.begun_at, reason) for t, _, _, reason in rig.reports if says in reason]
    assert told and told[0][0] <= NOTICED + 1e-9, told[:1]
    known = [t for t, level, *_ in rig.reports if level != "UNKNOWN"]
    assert not known or known[-1] - rig.begun_at <= NOTICED
    rig.expect_safe_hold_within(NOTICED)
    if not taken_for_a_push:
        rig.expect_no_contact()
    assert rig.torques[-1][0] - rig.begun_at < NOTICED + SILENT
    assert rig.plant_node.braked and np.abs(state.qd).max() < 0.01
    rig.expect_warnings(says)
    rig.expect_recovery()


def frozen(joints, says, noise=0.0):
    def play():
        with rig_of() as rig:
            rig.run_normally()
            kept = copied(rig.plant_node.states.message)
            rig.reports.clear()
            rig.states = stuck_at(kept, joints, noise)
            noticed(rig, says, taken_for_a_push=True)  # an arm that stops within 2 ms, at first

    return play


def stopped_dead(joints, **parameters):
    """Readings freeze in motion with zero velocity, as if the joint had been stopped: a safe hold
    before the arm moves far because of them.
    """

    def play():
        with rig_of(**parameters) as rig:
            rig.run_normally()
            rig.run(0.3)
            kept = copied(rig.plant_node.states.message)
            for k in joints:
                kept.velocity[k] = 0.0
            rig.reports.clear()
            rig.modes.clear()
            rig.begun_at = rig.now
            rig.states = stuck_at(kept, joints)
            while rig.now - rig.begun_at < 2.0:
                rig.step()
                assert np.abs(rig.plant_node.plant.state.qd).max() < 1.0, rig.now - rig.begun_at
            rig.expect_safe_hold_within(NOTICED)
            assert "has read the same" in rig.controller.arm.reason
            assert rig.plant_node.braked
            rig.expect_recovery()

    return play


def frozen_at_rest(duration, joints=range(7), says="'joint_", noise=0.0):
    """Readings stay at rest although the arm is commanded to move."""

    def play():
        with rig_of(motion="hold") as rig:
            rig.run(0.4)
            assert rig.normal()
            rig.states = stuck_at(copied(rig.plant_node.states.message), joints, noise)
            rig.run(0.3)
            assert rig.normal()  # not detectable while it is commanded to stay there
            start = rig.controller.arm.reference.q
            rig.controller.arm.follow(rd.joint_move(start, start + 0.3, duration=duration))
            rig.begun_at = rig.now
            rig.reports.clear()
            rig.modes.clear()
            noticed(rig, says)

    return play


def encoder_steps(duration):
    """An encoder of 0.01 degrees repeats readings at the start of a motion: no fault. Neither is
    an arm of which one joint moves and six are at rest.
    """

    def play():
        with rig_of(motion="hold", plant__noise=True) as rig:
            rig.run(0.4)
            assert rig.normal()
            rig.reports.clear()
            start = rig.controller.arm.reference.q
            goal = start + 0.3 * (np.arange(7) == 0)
            rig.controller.arm.follow(rd.joint_move(start, goal, duration=duration))
            rig.run(duration + 0.2)
            assert rig.levels == {"CLEAR"} and rig.mode is Mode.HOLDING, rig.controller.arm.reason
            assert np.abs(rig.plant_node.plant.state.q - goal).max() < 1e-3

    return play


# row 11


def turn_of_an_endless_joint():
    two = {"robot": "planar_2r", "plant__start": [0.3, 0.4]}

    def change(message):
        message.position[1] -= 2.0 * np.pi
        return [message]

    switched = {"count": 0}

    def now_and_then(message):
        switched["count"] += 1
        return change(message) if switched["count"] // 50 % 2 else [message]

    harmless(now_and_then, within=1e-9, **two)()  # a turn more costs digits of the reading


def spike(size, messages, says):
    """Rejected, and no collision is reported."""

    def play():
        with rig_of() as rig:
            rig.run_normally()

            def states(message):
                message.position[0] += size
                return [message]

            rig.states = states
            taken = len(rig.residuals)
            rig.reports.clear()
            rig.run(messages * rig.dt)
            assert len(rig.residuals) == taken  # dropped
            rig.states = None
            rig.run(0.3)
            assert len(rig.residuals) == taken + 150
            assert rig.levels == {"CLEAR"} and rig.mode is Mode.TRACKING
            rig.expect_warnings(says)
            rig.expect_recovery()

    return play


def moved(joint, by):
    """A permanent jump by full turns, or beyond the limits, is never accepted."""

    def spoil(message):
        message.position[joint] += by
        return message

    return spoil


def scattered(message):
    """A different position each time: none is accepted."""
    scattered.random = getattr(scattered, "random", np.random.default_rng(4))
    message.position[3] += float(scattered.random.uniform(0.5, 3.0)) * scattered.sign
    scattered.sign = -scattered.sign
    return message


scattered.sign = 1.0


def to_and_fro(message):
    """Jump by as much as a joint may move in 50 ms: the time of the check does not count."""
    message.position[0] += to_and_fro.sign
    to_and_fro.sign = -to_and_fro.sign
    return message


to_and_fro.sign = 0.1


# row 12


def rate_falls(dt, loss, gain):
    """No false alarm, and the arm moves on: the true dt is used."""

    def play():
        with rig_of(rate=1000.0, monitor__gain=[gain]) as rig:
            rig.run_normally()
            random = np.random.default_rng(12)
            rig.states = lambda message: [] if random.random() < loss else [message]
            rig.reports.clear()
            rig.modes.clear()
            rig.run(0.5, dt=dt)
            rig.reports.clear()  # it has come to be known how rare they are
            rig.run(1.0, dt=dt)
            assert rig.levels == {"CLEAR"}
            assert {mode for _, mode in rig.modes} == {Mode.TRACKING}
            # The arm is where it is to be, and the residual what it is, though samples are rare
            assert np.abs(rig.controller.arm.error).max() < 0.02
            assert np.abs(rig.residuals[-1][1]).max() < 0.5
            rig.expect_recovery()
            rig.expect_no_contact()

    return play


def rare_and_lost(gain, **parameters):
    """50 Hz and 30 % loss: silence of some periods leads to a safe hold. It can be cleared, and no
    contact is reported. Where torque is measured and the plant does not brake at each loss, the
    state is known most of the time, and the arm moves on.
    """

    def play():
        with rig_of(rate=1000.0, monitor__gain=[gain], **parameters) as rig:
            rig.run_normally()
            random = np.random.default_rng(12)
            rig.states = lambda message: [] if random.random() < 0.3 else [message]
            rig.run(1.0, dt=0.02)
            known = moving = 0
            for _ in range(100):
                rig.clear()
                rig.step(0.02)
                known += rig.level == "CLEAR"
                moving += rig.mode is Mode.TRACKING
            rig.expect_no_contact()
            if parameters:
                assert known > 50 and moving > 50, (known, moving)
            rig.expect_recovery()

    return play


# row 13


def effort_is_no_torque(scale, from_the_start):
    def play():
        with rig_of(**MEASURED) as rig:

            def states(message):
                message.effort = [scale * x for x in message.effort]
                return [message]

            if from_the_start:
                rig.states = states
                rig.run(0.8)
                assert "CLEAR" not in rig.levels
            else:
                rig.run_normally()
                rig.states = states
                rig.run(0.8)
                assert rig.level == "UNKNOWN"
            found = float(re.search("effort is ([-0-9.e]+) times", rig.reason).group(1))
            assert abs(found - scale) < 0.01
            rig.expect_warnings("effort-scale fault")
            rig.expect_recovery()

    return play


def push_is_no_scale():
    """A long push stays a collision."""
    with rig_of(**MEASURED, arm__reaction="none") as rig:
        rig.run_normally()
        rig.plant_node.plant.push("link_5", (0.0, 40.0, 40.0), duration=1.5)
        rig.run(1.5)
        assert rig.level == "COLLISION"
        assert "effort" not in " ".join(word[3] for word in rig.reports)


BIG, TURN = 1e308, 2.0 * np.pi
EMPTY = "missing, empty or too long"
CASES = [
    Case(1, "NaN in position", "D S", spoiled(value("position", 2, np.nan), "'joint_3' is nan")),
    Case(1, "NaN in velocity", "D S", spoiled(value("velocity", 0, np.nan), "'joint_1' is nan")),
    Case(1, "Inf in position", "D S", spoiled(value("position", 6, np.inf), "'joint_7' is inf")),
    Case(1, "-Inf in velocity", "D S", spoiled(value("velocity", 3, -np.inf), "joint_4' is -inf")),
    Case(1, "1e308 in position", "D S", spoiled(value("position", 1, BIG), "'joint_2' is 1e+308")),
    Case(1, "1e308 in velocity", "D S", spoiled(value("velocity", 5, BIG), "'joint_6' is 1e+308")),
    Case(1, "NaN while at rest", "D S", numbers_at_rest),
    Case(1, "one bad message", "D", one_bad_message),
    Case(
        1,
        "NaN before each good one",
        "D",
        before_each(value("position", 2, np.nan), "'joint_3' is nan"),
    ),
    Case(2, "no velocity from the start", "differences", no_velocity_from_the_start),
    Case(2, "velocity vanishes in motion", "differences", velocity_vanishes_in_motion),
    Case(2, "noisy velocity", "clears", noisy_velocity),
    Case(3, "effort empty, command is the source", "N", harmless(one(without("effort")))),
    Case(3, "effort NaN, command is the source", "N", harmless(one(value("effort", 1, np.nan)))),
    Case(3, "effort empty, but the source", "U", effort_is_missing(without("effort"), "no eff")),
    Case(
        3,
        "effort NaN, but the source",
        "U",
        effort_is_missing(value("effort", 4, np.nan), "effort of joint 'joint_5' is nan"),
    ),
    Case(4, "fewer joints", "D S", spoiled(fewer, "joints joint_7 are missing")),
    Case(4, "fewer joints before each good one", "D", before_each(fewer)),
    Case(4, "the second half as often", "merged", no_alarm(half_as_often)),
    Case(4, "parts get lost at full speed", "merged", no_alarm(parts_get_lost, demo_speed=1.0)),
    Case(4, "two publishers", "N", harmless(parts(*HALVES))),
    Case(4, "the second a moment before", "N", harmless(parts(*HALVES, apart=-4e-4), within=1e-6)),
    Case(4, "the second a moment after", "N", harmless(parts(*HALVES, apart=4e-4), within=1e-6)),
    Case(4, "four publishers", "N", harmless(parts([6, 5], [1, 3], [0, 2], [4]))),
    Case(5, "order that changes, joints of others", "N", harmless(one(mixed))),
    Case(5, "a gripper's messages beside", "N", harmless(gripper_beside(1))),
    Case(5, "3 of a gripper's for each of ours", "N", harmless(gripper_beside(3))),
    Case(5, "10 of a gripper's for each of ours", "N", harmless(gripper_beside(10))),
    Case(5, "only a gripper's go on", "S U", others_alone(lambda m: gripper_beside(10)(m)[:-1])),
    Case(6, "a name twice", "D S", spoiled(renamed("joint_1", "joint_1"), "named twice")),
    Case(6, "a name of 1 MB", "D S", spoiled(renamed("x" * 10**6), EMPTY, lasts=0.05)),
    Case(6, "an empty name", "D S", spoiled(renamed(""), EMPTY)),
    Case(6, "no names", "D S", spoiled(lambda m: copied(type(m)()), EMPTY)),
    Case(6, "none of our names", "S U", others_alone(one(renamed(*"abcdefg")), "none of our")),
    Case(6, "a position too many", "D S", spoiled(longer("position"), "8 positions")),
    Case(6, "a velocity too many", "D S", spoiled(longer("velocity"), "8 velocities")),
    Case(6, "an effort too many", "D S", spoiled(longer("effort"), "8 efforts")),
    Case(6, "no positions", "D S", spoiled(without("position"), "0 positions")),
    Case(7, "stamp zero", "receipt time", stamp_zero),
    Case(7, "stamp 1 ms back", "D", stamp_that_stays(0.001)),
    Case(7, "stamp repeated", "D", stamp_that_stays(0.0)),
    Case(7, "stamps 10 s back", "Z", stamps_ten_seconds_back),
    Case(7, "one stamp 10 s back", "D", one_stamp_ten_seconds_back),
    Case(7, "stamp 10 s ahead", "D", spoiled(ahead, "10 s in the future")),
    Case(7, "one held up before each good one", "D", before_each(held_up, "stamp goes back")),
    Case(7, "stamps 0.12 s ahead", "D Z", leap_ahead(0.12, 0.3, "leaps 0.12 s ahead")),
    Case(7, "stamps 0.95 s ahead for 10 ms", "D", leap_ahead(0.95, 0.01, "0.95 s in the future")),
    Case(8, "10 s gap in motion", "S Z", gap("demo")),
    Case(8, "10 s gap at rest", "S Z", gap("hold")),
    Case(9, "1000 stale messages", "D", burst),
    Case(10, "all joints frozen", "U S", frozen(range(7), "'joint_")),
    Case(10, "one joint frozen", "U S", frozen([3], "'joint_4'")),
    Case(10, "all frozen, noisy velocity", "U S", frozen(range(7), "'joint_", noise=1e-3)),
    Case(10, "one frozen as if stopped dead", "S", stopped_dead([6])),
    Case(10, "all as if stopped, measured torque", "S", stopped_dead(range(7), **MEASURED)),
    Case(10, "frozen at rest, told to move", "U S", frozen_at_rest(0.7)),
    Case(10, "at rest, told to move slowly", "U S", frozen_at_rest(3.0)),
    Case(10, "at rest, one joint frozen", "U S", frozen_at_rest(0.7, [3], "'joint_4'")),
    Case(10, "at rest, noisy velocity", "U S", frozen_at_rest(0.7, noise=1e-3)),
    Case(10, "an encoder's steps", "none", encoder_steps(1.0)),
    Case(10, "an encoder's steps, slowly", "none", encoder_steps(3.0)),
    Case(11, "2 pi, continuous joint", "N", turn_of_an_endless_joint),
    Case(11, "2 pi, revolute joint", "D", spike(2.0 * np.pi, 1, "'joint_1' jumped by +6.28")),
    Case(11, "spike of 0.5 rad", "D", spike(0.5, 1, "'joint_1' jumped by +0.5")),
    Case(
        11, "2 pi to stay, revolute joint", "D S", spoiled(moved(0, TURN), "'joint_1' jumped by")
    ),
    Case(
        11, "to stay out of the limits", "D S", spoiled(moved(3, -4.0), "'joint_4' jumped by -4")
    ),
    Case(11, "another place each time", "D S", spoiled(scattered, "'joint_4' jumped")),
    Case(11, "2 pi for long", "D S", spoiled(moved(0, TURN), "'joint_1' jumped", lasts=2.5)),
    Case(
        11,
        "2 pi for long, measured torque",
        "D S",
        spoiled(moved(0, TURN), "'joint_1' jumped", lasts=2.5, **MEASURED),
    ),
    Case(11, "out of the limits for long", "D S", spoiled(moved(3, -4.0), "'joint_4'", lasts=2.5)),
    Case(
        11,
        "0.1 rad to and fro",
        "D S",
        spoiled(to_and_fro, "'joint_1' jumped", lasts=0.5, **MEASURED),
    ),
    Case(12, "1000 to 50 Hz, gain 30 1/s", "true dt", rate_falls(0.02, 0.0, 30.0)),
    Case(12, "1000 to 50 Hz, gain 45 1/s", "true dt", rate_falls(0.02, 0.0, 45.0)),
    Case(12, "30 % loss at 1000 Hz, gain 50 1/s", "true dt", rate_falls(0.001, 0.3, 50.0)),
    Case(12, "50 Hz, 30 % loss, gain 10 1/s", "S U", rare_and_lost(10.0)),
    Case(
        12,
        "the same, torque measured, patient plant",
        "S",
        rare_and_lost(10.0, **MEASURED, command_timeout=0.3),
    ),
    Case(13, "a current from the start", "reported", effort_is_no_torque(0.1, True)),
    Case(13, "a current from now on", "reported", effort_is_no_torque(0.1, False)),
    Case(13, "without the gear ratio", "reported", effort_is_no_torque(0.01, True)),
    Case(13, "a push is no scale", "none", push_is_no_scale),
]


@cases(*CASES)
def test_joint_states(case, tmp_path):
    """The case itself; and a bag of what the detector received gives the same verdicts."""
    with recorded_rigs() as rigs:
        case.play()
    assert all([rig.check_offline(tmp_path) > 50 for rig in rigs])
