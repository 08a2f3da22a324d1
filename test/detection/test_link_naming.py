"""One name per contact: when it is decided, from what, and how often it may change."""

import numpy as np
import pytest

from robodyn_ros.detection.isolation import Isolation
from robodyn_ros.detection.link_naming import LinkNaming

DT = 0.001
BIAS = np.array([0.5, -0.2])
TOUCH = np.array([3.0, 1.0])  # [N m]


def run(naming, seconds, alarm=0.1, begin=0.07, period=DT, quiet=0.05):
    """Jobs of a contact that begins before its alarm and ends after so many seconds."""
    jobs, R, t = [], np.zeros(2), 0.0
    for k in range(round((alarm + seconds + quiet) / period) + 1):
        t = k * period
        touched = alarm - 1e-9 <= t < alarm + seconds - 1e-9
        R = R + period * (BIAS + TOUCH * (begin < t - 1e-9 < alarm + seconds))
        q = np.array([0.1 * t, 1.0])
        job = naming.update(t, touched, q, R, BIAS + 9.0 * (t > alarm), np.array([-0.1, 0.0]))
        if job:
            jobs.append((t, job))
    return jobs


def test_decisions_come_at_50_100_and_200_ms_and_at_the_end():
    jobs = run(LinkNaming(2), 0.5)
    assert [t - 0.1 for t, _ in jobs] == pytest.approx([0.05, 0.1, 0.2, 0.5])
    assert [job.seconds for _, job in jobs] == pytest.approx([0.08, 0.13, 0.23, 0.529])


def test_the_mean_begins_30_ms_before_the_alarm_without_the_bias_known_then():
    naming = LinkNaming(2)
    for t, job in run(naming, 0.5):
        np.testing.assert_allclose(job.y, TOUCH, atol=1e-9)
        assert job.q == pytest.approx([(0.1 + min(t, 0.599)) / 20.0, 1.0], abs=1e-9)
        assert job.speed == pytest.approx([0.1, 0.0]) and job.over == (t > 0.55)


def test_the_mean_stops_where_the_arm_has_moved_on_or_after_a_second():
    jobs = run(LinkNaming(2), 1.5)
    assert jobs[-1][1].seconds == pytest.approx(1.03, abs=0.002)  # look back, and one second
    naming = LinkNaming(2)
    for k in range(600):
        q = np.array([0.0, 0.002 * max(k - 200, 0)])  # 2 rad/s: 0.2 rad after 0.1 s
        job = naming.update(k * DT, 200 <= k < 500, q, np.zeros(2), BIAS)
        if job and job.over:
            assert job.seconds == pytest.approx(0.13, abs=0.002)
            assert job.q[1] == pytest.approx(0.1, abs=0.002)
            break
    else:
        raise AssertionError("no decision at the end")


def test_a_short_contact_is_decided_at_its_end():
    assert [t - 0.1 for t, _ in run(LinkNaming(2), 0.02)] == pytest.approx([0.02])
    times = [t - 0.1 for t, _ in run(LinkNaming(2), 0.15)]
    assert times == pytest.approx([0.05, 0.1, 0.15])


def test_slow_samples_give_each_decision_once():
    times = [t - 0.1 for t, _ in run(LinkNaming(2), 0.5, period=0.01)]
    assert times == pytest.approx([0.05, 0.1, 0.2, 0.5])
    times = [t - 0.12 for t, _ in run(LinkNaming(2), 0.5, alarm=0.12, period=0.06)]
    assert times == pytest.approx([0.06, 0.12, 0.24, 0.54])


def test_every_contact_starts_without_a_name():
    naming = LinkNaming(2)
    run(naming, 0.5)
    naming.decide(Isolation("a", 0.9))
    naming.update(1.0, False, np.zeros(2), np.zeros(2), BIAS)
    assert naming.answer.name == "a"  # the last contact's
    naming.update(1.1, True, np.zeros(2), np.zeros(2), BIAS)
    assert naming.answer.name == ""


def test_the_link_changes_once_and_once_more_at_the_end_and_never_to_nothing():
    naming = LinkNaming(2)
    for told, stands in [
        (Isolation(None, 0.0), ""),
        (Isolation("a", 0.6), "a"),
        (Isolation("a", 0.9), "a"),
        (Isolation(None, 0.0), "a"),
        (Isolation(None, 0.8, beyond=True, innermost="b"), "b or beyond"),
        (Isolation("b", 0.9), "b"),  # more certain: no change
        (Isolation("c", 0.9), "b"),
        (Isolation("b", 0.99), "b"),
    ]:
        assert naming.decide(told).name == stands
    assert naming.changes == 1 and naming.answer.confidence == 0.99
    assert naming.decide(Isolation("c", 0.9), over=True).name == "c"
    assert naming.changes == 2


def test_nothing_is_asked_for_without_a_sample_before_the_alarm():
    naming = LinkNaming(2)
    for k in range(300):
        assert naming.update(k * DT, True, np.zeros(2), np.zeros(2), BIAS) is None


def test_reset_forgets_the_contact():
    naming = LinkNaming(2)
    naming.update(0.0, False, np.zeros(2), np.zeros(2), BIAS)
    naming.update(0.001, True, np.zeros(2), np.zeros(2), BIAS)
    naming.decide(Isolation("a", 0.9))
    naming.reset()
    assert naming.answer.name == ""
    assert naming.update(0.002, False, np.zeros(2), np.zeros(2), BIAS) is None
