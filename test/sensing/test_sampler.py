"""Joint-state messages of every odd kind, and the samples they become."""

import array
import re
from types import SimpleNamespace

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.sensing.effort import CommandedEffort, reject_torque
from robodyn_ros.sensing.sample import Status
from robodyn_ros.sensing.sampler import Sampler, sample_rows
from robodyn_ros.sensing.settings import SensingSettings

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


def take(sampler, t, now=None, **fields):
    return sampler.message(message(t, **fields), t if now is None else now)


def rejected(sample):
    """Whether this is an INVALID sample; its measurements are NaN."""
    return sample.status is Status.INVALID and np.isnan(sample.q).all()


@pytest.fixture
def sampler():
    fresh = Sampler(MODEL)
    assert take(fresh, 10.0).status is Status.RESTART
    return fresh


def test_a_sample_is_in_the_models_order(sampler):
    sample = take(
        sampler,
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
    assert sample.status is Status.OK and sample.dt == pytest.approx(0.01)
    again = take(sampler, 10.02)  # the order changes while running
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
        ({"names": ["x" * 10**6, NAMES[0]]}, "too long"),
        ({"names": [], "q": (), "qd": (), "tau": ()}, "missing, empty"),
        ({"q": (0.6 + 0.1, 0.2)}, "joint 'joint_1' jumped by \\+0.6"),
    ],
)
def test_what_cannot_be_trusted_is_dropped(sampler, fields, reason):
    sample = take(sampler, 10.001, **fields)
    assert rejected(sample) and re.search(reason, sample.cause), sample
    assert take(sampler, 10.002).status is Status.OK  # and the next good one is taken


@pytest.mark.parametrize(
    ("stamp", "now", "reason"),
    [
        (9.999, 10.001, "goes back by 0.001"),
        (10.0, 10.001, "repeated"),
        (20.1, 10.001, "10.1 s in the future"),
        (10.001, 30.0, "20 s old"),
    ],
)
def test_stamps_that_cannot_be_trusted(sampler, stamp, now, reason):
    sample = take(sampler, stamp, now=now)
    assert rejected(sample) and reason in sample.cause


@pytest.mark.parametrize("stamp", [13.0, 7.0], ids=["ahead", "behind"])
def test_stamps_of_another_clock_name_the_remedy(sampler, stamp):
    cause = take(sampler, stamp, now=10.001).cause
    assert "sensing.stamps to receipt" in cause and "use_sim_time" in cause, cause


def test_a_stamp_far_back_begins_anew(sampler):
    assert take(sampler, 0.5).status is Status.RESTART


def test_a_zero_stamp_takes_the_time_of_receipt(sampler):
    sample = take(sampler, 0.0, now=10.5)
    assert sample.t == 10.5
    assert "time of receipt" in sample.remark


def test_time_of_receipt_on_demand():
    sampler = Sampler(MODEL, SensingSettings(stamps="receipt"))
    assert take(sampler, 3.0, now=100.0).t == 100.0


def test_missing_effort_is_none_and_bad_effort_too(sampler):
    assert take(sampler, 10.001, tau=()).tau is None
    assert take(sampler, 10.002, tau=(np.nan, 1.0)).tau is None


def test_missing_effort_says_why(sampler):
    assert take(sampler, 10.001, tau=(1.0, np.inf)).cause == "effort of joint 'joint_2' is inf"
    assert take(sampler, 10.002).cause == ""


def test_the_first_sample_without_velocities_waits_for_the_second():
    sampler = Sampler(MODEL)
    assert "from the next message on" in take(sampler, 1.0, qd=()).cause
    sample = take(sampler, 1.01, qd=(), q=(0.12, 0.2))
    assert sample.status is Status.RESTART
    np.testing.assert_allclose(sample.qd, [2.0, 0.0], atol=1e-6)


def test_missing_velocities_are_differences(sampler):
    sample = take(sampler, 10.01, qd=(), q=(0.11, 0.2))
    np.testing.assert_allclose(sample.qd, [1.0, 0.0], atol=1e-6)
    assert "differences" in sample.remark


def test_parts_from_several_publishers_make_one_sample():
    sampler = Sampler(MODEL)
    # None: the rest of it is still expected
    assert take(sampler, 1.0, names=NAMES[:1], q=(0.1,), qd=(1.0,), tau=(3.0,)) is None
    sample = take(sampler, 1.001, names=NAMES[1:], q=(0.2,), qd=(2.0,), tau=(4.0,))
    np.testing.assert_array_equal(sample.q, [0.1, 0.2])
    np.testing.assert_array_equal(sample.tau, [3.0, 4.0])
    # Too far apart: they do not belong together
    assert take(sampler, 2.0, names=NAMES[:1], q=(0.1,), qd=(1.0,), tau=(3.0,)) is None
    assert take(sampler, 2.1, names=NAMES[1:], q=(0.2,), qd=(2.0,), tau=(4.0,)) is None
    sample = take(sampler, 2.2, names=NAMES[1:], q=(0.2,), qd=(2.0,), tau=(4.0,))
    assert rejected(sample) and "joints joint_1 are missing" in sample.cause


def test_a_part_of_what_came_whole_before_is_bad(sampler):
    sample = take(sampler, 10.001, names=NAMES[:1], q=(0.1,), qd=(0.0,), tau=(1.0,))
    assert rejected(sample) and "joints joint_2 are missing" in sample.cause


def test_messages_about_others_only_are_set_aside(sampler):
    assert take(sampler, 10.001, names=["a", "b"]) is None
    assert take(sampler, 10.002).status is Status.OK
    # They are no sign of life of the arm
    silent = take(sampler, 10.5, names=["a", "b"])
    assert silent.status is Status.SILENT and "none of our joints" in silent.cause
    assert sampler.silence(10.5, 10.5).status is Status.SILENT


def test_a_clock_that_was_set_back_is_believed_once_it_keeps_its_pace(sampler):
    samples = [take(sampler, 8.0 + 0.002 * k, now=10.0 + 0.002 * k) for k in range(1, 70)]
    believed = [sample.status.valid for sample in samples]
    assert believed.index(True) in (50, 51) and all(believed[51:])  # after 0.1 s
    assert samples[believed.index(True)].status is Status.RESTART
    assert samples[-1].status is Status.OK
    assert "right again" in take(sampler, 10.2, now=10.2).remark


def test_what_was_held_up_is_never_believed(sampler):
    """It comes faster than time goes."""
    assert all(rejected(take(sampler, 5.0 + 0.002 * k, now=10.0 + 1e-5 * k)) for k in range(2000))


def test_a_clock_that_goes_back_a_little_begins_anew(sampler):
    assert take(sampler, 9.7, now=9.7).status is Status.RESTART
    assert take(sampler, 9.701, now=9.701).status is Status.OK


def test_a_robot_that_stays_elsewhere_is_believed(sampler):
    assert rejected(take(sampler, 10.0005, q=(-2.0, 0.2)))  # another place does not count
    elsewhere = {"q": (2.0, 0.2)}
    assert rejected(take(sampler, 10.001, **elsewhere))
    assert rejected(take(sampler, 10.002, **elsewhere))
    assert take(sampler, 10.003, **elsewhere).status is Status.RESTART
    assert take(sampler, 10.004, **elsewhere).status is Status.OK


def test_a_turn_of_an_endless_joint_is_no_jump():
    assert MODEL.continuous.all()
    sampler = Sampler(MODEL)
    take(sampler, 1.0, q=(3.14, 0.0))
    sample = take(sampler, 1.001, q=(3.141 - 2.0 * np.pi, 0.0))
    np.testing.assert_allclose(sample.q, [3.141, 0.0])


def stuck_for(sampler, seconds, dt=0.001):
    """The samples while joint_1 reports a velocity and reads the same."""
    count = round(seconds / dt)
    return [take(sampler, 1.0 + dt * k, q=(0.1, dt * k), qd=(0.3, 1.0)) for k in range(count)]


def test_a_joint_that_reads_the_same_but_reports_a_velocity_is_stuck():
    sampler = Sampler(MODEL)
    samples = stuck_for(sampler, 0.1)
    first = next(k for k, sample in enumerate(samples) if not sample.status.valid)
    assert 50 <= first < 60
    assert "joint 'joint_1' reads the same" in samples[first].cause
    assert samples[first].joint == "joint_1"
    assert take(sampler, 1.2, q=(0.101, 0.2), qd=(0.3, 1.0)).status is Status.OK


def test_a_stuck_reading_is_said_to_last_as_long_as_it_does():
    last = stuck_for(Sampler(MODEL), 3.0)[-1]
    found = float(re.search("the same for ([0-9.]+) s", last.cause).group(1))
    assert found == pytest.approx(3.0, abs=0.01)


def test_a_wrong_velocity_of_an_arm_at_rest_is_forgotten_within_a_second():
    sampler = Sampler(MODEL)
    samples = stuck_for(sampler, 0.3)
    assert not samples[-1].status.valid
    rest = [take(sampler, 1.3 + 0.001 * k, q=(0.1, 0.3)) for k in range(1000)]
    assert not rest[100].status.valid
    assert rest[-1].status.valid


def test_a_joint_that_reads_the_same_after_a_gap_is_not_stuck():
    sampler = Sampler(MODEL)
    take(sampler, 1.0, q=(0.1, 0.0), qd=(0.3, 1.0))
    assert take(sampler, 1.5, q=(0.1, 0.5), qd=(0.3, 1.0)).status.valid


def test_a_joint_at_rest_may_read_the_same_for_ever(sampler):
    assert all(take(sampler, 10.0 + 0.001 * k).status.valid for k in range(1, 500))


def test_silence_is_reported_and_the_next_sample_is_late(sampler):
    take(sampler, 10.002)
    assert sampler.silence(10.01, 10.01) is None
    silent = sampler.silence(10.1, 10.1)
    assert silent.status is Status.SILENT and silent.dt == pytest.approx(0.098)
    assert take(sampler, 10.2).late and not take(sampler, 10.202).late
    assert rejected(take(sampler, 10.4, q=(np.nan, 0.0)))  # nor is silence forgotten for that
    assert take(sampler, 10.402).late


def test_simulated_time_that_stands_still_is_silent_by_wall_time():
    sampler = Sampler(MODEL, simulated=True)
    sampler.message(message(10.0), 10.0, 500.0)
    assert sampler.silence(10.5, 500.01) is None  # messages may still be on their way
    assert sampler.silence(10.0, 500.5) is None
    assert sampler.silence(10.0, 501.1).status is Status.SILENT
    assert sampler.silence(10.5, 500.1).status is Status.SILENT


def test_new_settings_are_taken_over_while_running(sampler):
    sampler.apply(SensingSettings(max_jump=1.0))
    assert take(sampler, 10.001, q=(0.7, 0.2)).status is Status.OK


def odd_messages():
    """Two seconds of messages at 500 Hz with every fault that arrays can have."""
    random = np.random.default_rng(5)
    t = 10.0 + 0.002 * np.arange(1000)
    q = 0.3 * np.sin(t)[:, None] * [1.0, -1.0]
    qd = 0.3 * np.cos(t)[:, None] * [1.0, -1.0]
    tau, stamp = random.normal(size=q.shape), t.copy()
    q[100, 0], qd[120:124, 1], tau[140, 0] = np.nan, np.inf, np.nan
    q[200:202, 1] += 0.5  # a spike
    q[300:, 0] += 0.4  # a teleport
    q[400:460, 0] = q[400, 0]  # stuck
    qd[500:520] = np.nan  # no velocities
    tau[530, 1] = 1e13
    stamp[550] -= 0.001
    stamp[560] = stamp[559]
    stamp[570:580] += 10.0
    stamp[590] = 0.0
    stamp[600:] += 0.2  # leaps ahead
    now = t.copy()
    now[700:] += 0.5  # a gap
    stamp[700:] += 0.5
    stamp[800:] -= 5.0  # the publisher's clock is set back
    return stamp, now, q, qd, tau


def test_rows_are_judged_as_messages_are():
    stamp, now, q, qd, tau = odd_messages()
    rows = sample_rows(MODEL, stamp, q, qd, tau, received=now, period=0.002)
    sampler, found = Sampler(MODEL, period=0.002), []
    for k in range(stamp.size):
        speeds = () if np.isnan(qd[k]).all() else qd[k]
        found.append(sampler.message(message(stamp[k], q[k], speeds, tau[k]), now[k]))
    statuses = [sample.status for sample in found]
    assert set(statuses) == {Status.OK, Status.RESTART, Status.INVALID}
    np.testing.assert_array_equal(rows.status, statuses)
    np.testing.assert_array_equal(rows.late, [sample.late for sample in found])
    valid = rows.valid
    for name in ("t", "dt", "q", "qd"):
        wanted = np.array([getattr(sample, name) for sample in found], dtype=float)
        np.testing.assert_allclose(getattr(rows, name)[valid], wanted[valid], atol=1e-6)
    np.testing.assert_array_equal(
        np.isnan(rows.tau[valid]).any(axis=1), [s.tau is None for s in found if s.status.valid]
    )
    texts = {k: sample.cause for k, sample in enumerate(found) if sample.cause}
    assert texts == rows.causes


def test_a_command_is_checked_and_clipped():
    model = rd.robots.lwr_iii()
    effort = CommandedEffort(model, SensingSettings(), 0.002)
    state = Sampler(model, period=0.002)
    joints = list(model.joint_names)

    def sample(t):
        zeros = (0.0,) * 7
        given = state.message(message(t, zeros, zeros, zeros, joints), t)
        return effort.with_torque(given)

    assert sample(1.0).cause == "no command yet"
    assert effort.command(array.array("d", [1e3] * 7), 1.0) == ""
    known = sample(1.002)
    np.testing.assert_array_equal(known.tau, model.tau_max)
    assert known.cause == known.fault == ""
    late = sample(1.1)
    assert (
        late.fault == "command_loss"
        and late.tau is None
        and "no command for 0.100 s" in late.cause
    )
    effort.command(array.array("d", [0.0] * 7), 1.1)
    assert "unknown after command loss" in sample(1.102).cause
    for k in range(250):
        effort.command(array.array("d", [0.0] * 7), 1.102 + 0.002 * k)
        known = sample(1.104 + 0.002 * k)
    assert known.tau is not None


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ((1.0,), "1 numbers, 2 joints"),
        ((1.0, np.nan), "torque of joint 'joint_2' is nan"),
        ((-np.inf, 1.0), "torque of joint 'joint_1' is -inf"),
        ((1e308, 1e308), "torque of joint 'joint_1' is 1e+308"),
    ],
)
def test_numbers_that_are_no_torques_are_rejected(bad, says):
    assert reject_torque(array.array("d", bad), NAMES, 1e12) == says
    assert reject_torque(array.array("d", (1.0, -2.0)), NAMES, 1e12) == ""


def test_a_noisy_velocity_after_a_gap_is_no_stuck_reading(sampler):
    """1 mrad/s over 7 s would be more than `stuck_travel`, but one sample says little."""
    for k in range(1, 50):
        assert take(sampler, 10.0 + 0.002 * k).status.valid
    late = [take(sampler, 17.1 + 0.002 * k, qd=(0.001, 0.0)) for k in range(50)]
    assert all(sample.status.valid for sample in late)
