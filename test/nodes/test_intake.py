"""Joint-state messages of every odd kind, and what becomes of them."""

import array
import re
from types import SimpleNamespace

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.nodes.intake import Intake, torques_of

MODEL = rd.robots.planar_2r()
NAMES = list(MODEL.joint_names)


def message(t, q=(0.1, 0.2), qd=(0.0, 0.0), tau=(1.0, 2.0), names=NAMES):
    sec, rest = divmod(round(t * 1e9), 10**9)
    return SimpleNamespace(
        name=list(names),
        position=array.array("d", q),
        velocity=array.array("d", qd),
        effort=array.array("d", tau),
        header=SimpleNamespace(stamp=SimpleNamespace(sec=sec, nanosec=rest)),
    )


def take(intake, t, now=None, **fields):
    return intake.take(message(t, **fields), t if now is None else now)


@pytest.fixture
def intake():
    fresh = Intake(MODEL)
    assert take(fresh, 10.0).restart
    return fresh


def test_a_sample_is_in_the_models_order(intake):
    sample = take(
        intake,
        10.01,
        names=["gripper", NAMES[1], NAMES[0]],
        q=(9.0, 0.2, 0.1),
        qd=(9.0, 2.0, 1.0),
        tau=(9.0, 4.0, 3.0),
    )
    assert sample.t == pytest.approx(10.01)
    np.testing.assert_array_equal(sample.q, [0.1, 0.2])
    np.testing.assert_array_equal(sample.qd, [1.0, 2.0])
    np.testing.assert_array_equal(sample.tau, [3.0, 4.0])
    assert not sample.restart
    again = take(intake, 10.02)  # the order changes while running
    np.testing.assert_array_equal(again.q, [0.1, 0.2])


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"q": (np.nan, 0.2)}, "position of joint 'joint_1' is nan"),
        ({"q": (0.1, np.inf)}, "position of joint 'joint_2' is inf"),
        ({"q": (0.1, 1e308)}, "position of joint 'joint_2'"),
        ({"qd": (np.nan, 0.0)}, "velocity of joint 'joint_1' is nan"),
        ({"q": (0.1,)}, "2 names but 1 positions"),
        ({"qd": (0.1,)}, "2 names but 2 positions, 1 velocities"),
        ({"tau": (0.1,)}, "2 velocities and 1 efforts"),
        ({"names": [NAMES[0], NAMES[0]]}, "is named twice"),
        ({"names": ["", NAMES[0]]}, "empty"),
        ({"names": ["x" * 10**6, NAMES[0]]}, "absurdly long"),
        ({"names": ["a", "b"]}, "none of our joints"),
        ({"names": [], "q": (), "qd": (), "tau": ()}, "missing, empty"),
        ({"q": (0.6 + 0.1, 0.2)}, "joint 'joint_1' jumped by \\+0.6"),
    ],
)
def test_what_cannot_be_trusted_is_dropped(intake, fields, reason):
    assert take(intake, 10.001, **fields) is None
    assert re.search(reason, intake.reason), intake.reason
    assert take(intake, 10.002) is not None  # and the next good one is taken


@pytest.mark.parametrize(
    ("stamp", "now", "reason"),
    [
        (9.999, 10.001, "goes back by 0.001"),
        (10.0, 10.001, "repeated"),
        (20.1, 10.001, "10.1 s in the future"),
        (10.001, 30.0, "20 s old"),
    ],
)
def test_stamps_that_cannot_be_trusted(intake, stamp, now, reason):
    assert take(intake, stamp, now=now) is None
    assert reason in intake.reason


def test_a_stamp_far_back_begins_anew(intake):
    assert take(intake, 0.5).restart


def test_a_zero_stamp_takes_the_time_of_receipt(intake):
    sample = take(intake, 0.0, now=10.5)
    assert sample.t == 10.5
    assert "time of receipt" in intake.remark


def test_time_of_receipt_on_demand():
    intake = Intake(MODEL, "receipt")
    assert take(intake, 3.0, now=100.0).t == 100.0


def test_missing_effort_is_none_and_bad_effort_too(intake):
    assert take(intake, 10.001, tau=()).tau is None
    assert take(intake, 10.002, tau=(np.nan, 1.0)).tau is None


def test_missing_effort_says_why(intake):
    take(intake, 10.001, tau=(1.0, np.inf))
    assert intake.no_effort == "effort of joint 'joint_2' is inf"
    take(intake, 10.002)
    assert intake.no_effort == ""


def test_the_first_sample_without_velocities_waits_for_the_second():
    intake = Intake(MODEL)
    assert take(intake, 1.0, qd=()) is None
    assert "from the next message on" in intake.reason
    sample = take(intake, 1.01, qd=(), q=(0.12, 0.2))
    assert sample.restart
    np.testing.assert_allclose(sample.qd, [2.0, 0.0], atol=1e-6)


def test_missing_velocities_are_differences(intake):
    sample = take(intake, 10.01, qd=(), q=(0.11, 0.2))
    np.testing.assert_allclose(sample.qd, [1.0, 0.0], atol=1e-6)
    assert "differences" in intake.remark


def test_parts_from_several_publishers_make_one_sample():
    intake = Intake(MODEL)
    assert take(intake, 1.0, names=NAMES[:1], q=(0.1,), qd=(1.0,), tau=(3.0,)) is None
    assert intake.reason == ""  # the rest of it may be on its way
    sample = take(intake, 1.001, names=NAMES[1:], q=(0.2,), qd=(2.0,), tau=(4.0,))
    np.testing.assert_array_equal(sample.q, [0.1, 0.2])
    np.testing.assert_array_equal(sample.tau, [3.0, 4.0])
    # Too far apart: they do not belong together
    assert take(intake, 2.0, names=NAMES[:1], q=(0.1,), qd=(1.0,), tau=(3.0,)) is None
    assert take(intake, 2.1, names=NAMES[1:], q=(0.2,), qd=(2.0,), tau=(4.0,)) is None
    assert take(intake, 2.2, names=NAMES[1:], q=(0.2,), qd=(2.0,), tau=(4.0,)) is None
    assert "joints joint_1 are missing" in intake.reason


def test_a_part_of_what_came_whole_before_is_bad(intake):
    assert take(intake, 10.001, names=NAMES[:1], q=(0.1,), qd=(0.0,), tau=(1.0,)) is None
    assert "joints joint_2 are missing" in intake.reason


def test_messages_about_others_only_are_set_aside(intake):
    assert take(intake, 10.001, names=["a", "b"]) is None
    assert intake.aside
    assert take(intake, 10.002) is not None
    assert not intake.aside


def test_a_clock_that_was_set_back_is_believed_once_it_keeps_its_pace(intake):
    samples = [take(intake, 8.0 + 0.002 * k, now=10.0 + 0.002 * k) for k in range(1, 70)]
    believed = [sample is not None for sample in samples]
    assert believed.index(True) in (50, 51) and all(believed[51:])  # after 0.1 s
    assert samples[believed.index(True)].restart
    assert not samples[-1].restart
    assert take(intake, 10.2, now=10.2) is not None  # and right again
    assert "right again" in intake.remark


def test_what_was_held_up_is_never_believed(intake):
    """It comes faster than time goes."""
    assert all(take(intake, 5.0 + 0.002 * k, now=10.0 + 1e-5 * k) is None for k in range(2000))


def test_a_clock_that_goes_back_a_little_begins_anew(intake):
    assert take(intake, 9.7, now=9.7).restart
    assert not take(intake, 9.701, now=9.701).restart


def test_a_robot_that_stays_elsewhere_is_believed(intake):
    assert take(intake, 10.0005, q=(-2.0, 0.2)) is None  # somewhere else again does not count
    elsewhere = {"q": (2.0, 0.2)}
    assert take(intake, 10.001, **elsewhere) is None
    assert take(intake, 10.002, **elsewhere) is None
    assert take(intake, 10.003, **elsewhere).restart
    assert not take(intake, 10.004, **elsewhere).restart


def test_a_turn_of_an_endless_joint_is_no_jump():
    assert MODEL.continuous.all()
    intake = Intake(MODEL)
    take(intake, 1.0, q=(3.14, 0.0))
    sample = take(intake, 1.001, q=(3.141 - 2.0 * np.pi, 0.0))
    np.testing.assert_allclose(sample.q, [3.141, 0.0])


def test_a_joint_that_reads_the_same_but_says_it_moves_is_stuck():
    intake = Intake(MODEL)
    last = None
    for k in range(100):
        last = take(intake, 1.0 + 0.001 * k, q=(0.1, 0.001 * k), qd=(0.3, 1.0))
        if last is None:
            break
    assert last is None and 50 <= k < 60
    assert "joint 'joint_1' reads the same" in intake.reason
    assert take(intake, 1.2, q=(0.101, 0.2), qd=(0.3, 1.0)) is not None


def test_a_joint_that_reads_the_same_after_a_gap_is_not_stuck():
    intake = Intake(MODEL)
    take(intake, 1.0, q=(0.1, 0.0), qd=(0.3, 1.0))
    assert take(intake, 1.5, q=(0.1, 0.5), qd=(0.3, 1.0)) is not None


def test_a_joint_at_rest_may_read_the_same_for_ever(intake):
    assert all(take(intake, 10.0 + 0.001 * k) is not None for k in range(1, 500))


def test_torques_of_a_command():
    tau, reason = torques_of(SimpleNamespace(data=array.array("d", (1.0, -2.0))), NAMES)
    assert tau.tolist() == [1.0, -2.0] and reason == ""
    for bad, says in (
        ((1.0,), "1 numbers, 2 joints"),
        ((1.0, np.nan), "torque of joint 'joint_2' is nan"),
        ((-np.inf, 1.0), "torque of joint 'joint_1' is -inf"),
        ((1e308, 1e308), "torque of joint 'joint_1' is 1e+308"),
    ):
        tau, reason = torques_of(SimpleNamespace(data=array.array("d", bad)), NAMES)
        assert tau is None and reason == says
