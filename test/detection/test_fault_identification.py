"""Each kind of fault, injected into a moving simulated arm, is named from its log alone.

The identifier's model has errors of mass, centre of mass, inertia and friction; sensors are noisy.
"""

from functools import cache

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.detection.fault_identification import KINDS, identify_fault
from robodyn_ros.simulation.perturb import perturbed
from robodyn_ros.simulation.rigid import RigidPlant
from robodyn_ros.simulation.sensors import LWR_SENSORS

DT, SECONDS, SEEDS = 0.002, 3.0, 4
FAULTS = KINDS[1:]


def motion(rng, n):
    """A smooth motion of all joints about a bent posture: t -> q, qd, qdd."""
    centre = np.array([0.0, 0.7, 0.0, 1.2, 0.0, 0.8, 0.0]) + rng.uniform(-0.3, 0.3, n)
    size = rng.uniform(0.15, 0.35, (2, n))
    w = 2 * np.pi * np.array([0.35, 0.8])[:, None] * rng.uniform(0.8, 1.2, (2, n))
    size[1] /= 2.5
    phase = rng.uniform(0, 2 * np.pi, (2, n))

    def at(t):
        s, c = np.sin(w * t + phase), np.cos(w * t + phase)
        q = centre + (size * s).sum(0)
        return q, (size * w * c).sum(0), -(size * w * w * s).sum(0)

    return at


def push(plant, rng):
    """A push that some joint feels with 2 N m at least: no threshold is lower."""
    felt, model = 0.0, plant.bare
    while felt < 2.0:
        force = rng.normal(size=3)
        force *= rng.uniform(20, 80) / np.linalg.norm(force)
        link = model.link_names[int(rng.integers(1, model.n))]
        point = rng.uniform(-0.08, 0.08, 3)
        J = rd.jacobian(model, plant.state.q, link, point)
        felt = np.abs(J[:3].T @ force).max()
    shape = str(rng.choice(["step", "half_sine", "ramp"]))
    plant.push(link, force, point, rng.uniform(0.1, 0.4), shape)
    return None, None


def inject(plant, kind, rng, wanted=None):
    """Let it happen now, to a random joint, as strong as wanted or as a random number says."""
    model = plant.bare
    k = int(rng.integers(model.n))
    joint, sign = model.joint_names[k], rng.choice([-1.0, 1.0])
    if kind == "none":
        return None, None
    if kind == "payload":
        mass = wanted or float(rng.uniform(0.2, 2.0))
        com = rng.uniform([-0.05, -0.05, 0.0], [0.05, 0.05, 0.15])
        plant.attach(rd.Payload(model.link_names[-1], mass, com))
        return None, mass
    if kind == "collision":
        return push(plant, rng)
    value = wanted or {
        "effectiveness": rng.uniform(0.3, 0.75),
        "bias": sign * rng.uniform(0.06, 0.15) * model.tau_max[k],
        "friction": rng.uniform(2.0, 4.0),
        "effort_scale": rng.choice([rng.uniform(0.1, 0.7), rng.uniform(1.4, 3.0)]),
    }.get(kind)
    plant.fail(joint, kind, value)
    return joint, value


@cache
def robots(seed):
    """The true robot and what the identifier takes it for."""
    true = rd.robots.kuka_lwr4() if seed % 2 else rd.robots.lwr_iii()
    return true, perturbed(true, seed)


def simulate(kind, seed, wanted=None, *, friction=True, seconds=SECONDS):
    """The identifier's model, the log, and what was injected: joint, value."""
    rng = np.random.default_rng([seed, FAULTS.index(kind) if kind in FAULTS else 99])
    true, known = robots(seed)
    at = motion(rng, true.n)
    q0, qd0, _ = at(0.0)
    plant = RigidPlant(true, q0, qd0, friction=friction, sensor=LWR_SENSORS, seed=seed)
    onset = round(rng.uniform(0.35, 0.55) * SECONDS / DT)
    truth, q, qd, rows = (None, None), q0, qd0, []
    for i in range(round(seconds / DT)):
        if i == onset:
            truth = inject(plant, kind, rng, wanted)
        qr, qdr, qddr = at(i * DT)
        acc = qddr + 100.0 * (qr - q) + 20.0 * (qdr - qd)  # computed torque
        tau = rd.inverse_dynamics(known, q, qd, acc)
        if friction:
            tau = tau + rd.friction_torque(known, qdr, width=0.02)
        plant.step(tau, DT)
        seen = plant.measurement
        q, qd = seen.q, seen.qd
        rows.append((seen.t, q, qd, seen.tau))
    return known, tuple(np.array(column) for column in zip(*rows)), truth


def identify(kind, seed):
    known, log, truth = simulate(kind, seed)
    return identify_fault(known, *log, friction=True), truth


@pytest.fixture(scope="module")
def reports():
    """(kind, seed) -> report, injected joint, injected value; all kinds, all seeds."""
    return {(kind, seed): identify(kind, seed) for kind in KINDS for seed in range(SEEDS)}


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
    known, log, _ = simulate("payload", 3, friction=False, wanted=0.2)
    report = identify_fault(known, *log)
    assert report.kind == "payload"
    assert report.value == pytest.approx(0.2, rel=0.05)


def test_payload_that_was_there_all_along():
    """Without a time before it, the model's errors bound what can be said of its mass."""
    known, (t, q, qd, tau), (_, mass) = simulate("payload", 4, wanted=2.0)
    late = t > 0.6 * SECONDS
    report = identify_fault(known, t[late], q[late], qd[late], tau[late], friction=True)
    assert report.kind == "payload"
    assert report.value == pytest.approx(mass, rel=0.15)


def test_given_noise_hides_what_is_below():
    known, log, _ = simulate("bias", 0)
    assert identify_fault(known, *log, friction=True, noise=0.1).kind == "bias"
    assert identify_fault(known, *log, friction=True, noise=1e3).kind == "none"


def test_effort_scale_above_one_needs_its_onset():
    """Afterwards it cannot be told from loss of effectiveness."""
    known, log, (joint, value) = simulate("effort_scale", 8, wanted=2.0)
    report = identify_fault(known, *log, friction=True)
    assert (report.kind, report.joint) == ("effort_scale", joint)
    late = log[0] > report.onset + 0.1
    report = identify_fault(known, *(x[late] for x in log), friction=True)
    assert (report.kind, report.joint) == ("effectiveness", joint)
    assert report.value == pytest.approx(1.0 / value, rel=0.1)


def test_refuses_what_it_cannot_use():
    known, (t, q, qd, tau), _ = simulate("none", 0, seconds=0.1)
    with pytest.raises(rd.ArgumentError, match="window needs"):
        identify_fault(known, t[:5], q[:5], qd[:5], tau[:5])
    with pytest.raises(rd.ArgumentError, match="noise must be positive"):
        identify_fault(known, t, q, qd, tau, noise=0.0)
