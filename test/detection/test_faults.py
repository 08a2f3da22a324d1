"""Each kind of fault, injected into a moving simulated arm, is named from its log alone.

The identifier's model has errors of mass, centre of mass, inertia and friction; sensors are noisy.
"""

import numpy as np
import pytest
from fault_scenarios import SECONDS, identify, simulate

import robodyn_ros as rd
from robodyn_ros.detection.faults.identification import KINDS, identify_fault

SEEDS = 2


@pytest.fixture(scope="module")
def reports():
    """(kind, seed) -> report, (injected joint, value); all kinds, all seeds."""
    found = [identify(kind, seed) for kind in KINDS for seed in range(SEEDS)]
    keys = [(kind, seed) for kind in KINDS for seed in range(SEEDS)]
    return {
        key: (one.report, (one.joint, one.value)) for key, one in zip(keys, found, strict=True)
    }


def test_names_nine_kinds_in_95_percent(reports):
    faults = {key: report for key, (report, _) in reports.items() if key[0] != "none"}
    wrong = {key: report for key, report in faults.items() if report.kind != key[0]}
    assert len(wrong) <= 0.05 * len(faults), wrong


def test_names_nothing_where_there_is_nothing(reports):
    for seed in range(SEEDS):
        report, _ = reports["none", seed]
        assert report.kind == "none" and report.joint is None and report.onset is None, report


def test_names_the_joint(reports):
    for (kind, seed), (report, (joint, _)) in reports.items():
        if joint is not None and report.kind == kind:
            assert report.joint == joint, (kind, seed, report)


@pytest.mark.parametrize(
    ("kind", "tolerance"),
    [("payload", 0.05), ("effectiveness", 0.1), ("effort_scale", 0.1), ("bias", 0.15)],
)
def test_tells_how_large_it_is(reports, kind, tolerance):
    for seed in range(SEEDS):
        report, (_, value) = reports[kind, seed]
        if report.kind == kind:
            assert report.value == pytest.approx(value, rel=tolerance), (seed, report)


def test_tells_how_much_friction_there_is_now(reports):
    for seed in range(SEEDS):
        report, (_, value) = reports["friction", seed]
        if report.kind == "friction":  # the model's own is off by 20 %
            assert report.value == pytest.approx(value, rel=0.35), (seed, report)


def test_report_is_complete(reports):
    for report, _ in reports.values():
        assert set(report.scores) == set(KINDS)
        assert all(0.0 <= score <= 1.0 for score in report.scores.values())
        assert 0.0 <= report.confidence <= 1.0
        if report.kind != "none":
            assert 0.3 * SECONDS < report.onset < 0.65 * SECONDS, report


def test_small_payload_without_friction():
    """Joint torque sensors see no friction: `friction` stays off, in plant and identifier."""
    known, log, *_ = simulate("payload", 3, friction=False, wanted=0.2)
    report = identify_fault(known, *log)
    assert report.kind == "payload"
    assert report.value == pytest.approx(0.2, rel=0.05)


def test_payload_that_was_there_all_along():
    """Without a time before it, the model's errors bound what can be said of its mass."""
    known, (t, q, qd, tau), _, mass = simulate("payload", 4, wanted=2.0)
    late = t > 0.6 * SECONDS
    report = identify_fault(known, t[late], q[late], qd[late], tau[late], friction=True)
    assert report.kind == "payload"
    assert report.value == pytest.approx(mass, rel=0.15)


def test_given_noise_hides_what_is_below():
    known, log, *_ = simulate("bias", 0)
    assert identify_fault(known, *log, friction=True, noise=0.1).kind == "bias"
    assert identify_fault(known, *log, friction=True, noise=1e3).kind == "none"


def test_effort_scale_above_one_needs_its_onset():
    """Afterwards it cannot be told from loss of effectiveness."""
    known, log, joint, value = simulate("effort_scale", 8, wanted=2.0)
    report = identify_fault(known, *log, friction=True)
    assert (report.kind, report.joint) == ("effort_scale", joint)
    late = log[0] > report.onset + 0.1
    report = identify_fault(known, *(x[late] for x in log), friction=True)
    assert (report.kind, report.joint) == ("effectiveness", joint)
    assert report.value == pytest.approx(1.0 / value, rel=0.1)


def test_refuses_what_it_cannot_use():
    known, (t, q, qd, tau), *_ = simulate("none", 0, seconds=0.1)
    with pytest.raises(rd.ArgumentError, match="window needs"):
        identify_fault(known, t[:5], q[:5], qd[:5], tau[:5])
    with pytest.raises(rd.ArgumentError, match="noise must be positive"):
        identify_fault(known, t, q, qd, tau, noise=0.0)


def exact_rest(seconds=1.5, bias=0.0):
    """A noiseless log at rest, but for rounding; a bias on joint_3 from the middle on."""
    model = rd.robots.lwr_iii()
    t = 0.002 * np.arange(round(seconds / 0.002))
    q = np.tile([0.1, 0.6, -0.2, 1.1, 0.3, 0.7, 0.2], (t.size, 1))
    qd = np.full_like(q, 1e-15)
    q[:, 1] += 1e-16 * np.arange(t.size) % 3e-16  # others change by rounding
    qd[::2, 0] = -1e-15
    tau = rd.gravity_torque(model, q)
    tau[t > 0.5 * seconds, 2] -= bias
    return model, (t, q, qd, tau)


def test_an_exact_arm_at_rest_is_healthy():
    model, log = exact_rest()
    assert identify_fault(model, *log).kind == "none"


def test_an_exact_bias_at_rest_is_no_frozen_sensor():
    model, log = exact_rest(bias=5.0)
    report = identify_fault(model, *log)
    assert report.kind != "sensor_freeze"
    assert report.scores["bias"] > 0.9
