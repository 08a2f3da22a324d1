"""ElasticJointController: tracking and rest on elastic joints, and what it needs to be told."""

from types import SimpleNamespace

import elastic as bench
import numpy as np
import pytest
from control_cases import follow

import robodyn_ros as rd
from robodyn_ros.control.controller import JointState
from robodyn_ros.control.laws.elastic import ElasticJointController, SnapMotion, riccati
from robodyn_ros.control.limits import TorqueLimits
from robodyn_ros.control.reactions import Stop
from robodyn_ros.dynamics.elastic import links_of
from robodyn_ros.dynamics.motion import Motion

LWR = rd.robots.lwr_iii()
BENT = np.array([0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5])
STILL = np.zeros(7)
DT = 1e-3
each_spring = pytest.mark.parametrize(("stiffness", "damping"), bench.SPRINGS)


def law(stiffness=1e4, damping=10.0, measured="both", frequency=30.0, **options):
    springs = {"stiffness": stiffness, "damping": damping, "measured": measured}
    return ElasticJointController.with_frequency(LWR, frequency, **springs, **options)


def plant(stiffness=1e4, damping=10.0, q=BENT, **options):
    options = {"friction": False, "stops": False} | options
    return rd.ElasticJointPlant(LWR, q, stiffness=stiffness, damping=damping, **options)


def seen(arm, measured):
    """What the sensors tell."""
    if measured == "motor":
        return JointState(arm.motor_q, arm.motor_qd)
    x = arm.state
    return JointState(x.q, x.qd, arm.joint_torque, arm.motor_qd, arm.motor_q)


@each_spring
@pytest.mark.parametrize("friction", [False, True])
def test_a_quintic_is_tracked_within_a_tenth_of_a_milliradian(stiffness, damping, friction):
    """The first of the benchmark's moves; and the rigid law shakes the same arm."""
    (run,) = bench.runs(bench.elastic_law, stiffness, damping, friction, 1)
    assert run.worst < bench.TRACKING
    assert run.rest < bench.REST_TIME
    (rigid,) = bench.runs(bench.rigid_law, stiffness, damping, friction, 1)
    assert rigid.shaking > 0.1 and rigid.worst > 10.0 * bench.TRACKING


@pytest.mark.parametrize("measured", ["both", "torque", "motor"])
def test_oscillation_after_a_push_ends(measured):
    arm, controller = plant(), law(measured=measured)
    arm.push("link_4", [0.0, 40.0, -40.0], [0.06, 0.0, 0.0], 0.1, start=0.1)
    rest = Motion.at_rest(BENT)
    t, q, qd, _ = follow(arm, controller, lambda t: rest, 700, DT, lambda arm: seen(arm, measured))
    assert np.abs(qd[t < 0.3]).max() > 0.1
    assert np.abs(qd[t > 0.55]).max() < 2e-3
    assert np.abs(q[t > 0.6] - BENT).max() < 1e-4


def test_feedback_of_the_links_ends_the_oscillation_of_soft_joints_sooner():
    ends = {}
    for measured in ("both", "motor"):
        arm, controller = plant(3e3, 1.0), law(3e3, 1.0, measured)
        arm.push("link_4", [0.0, 40.0, -40.0], [0.06, 0.0, 0.0], 0.1)
        rest = Motion.at_rest(BENT)
        t, _, qd, _ = follow(
            arm, controller, lambda t, rest=rest: rest, 700, DT,
            lambda arm, measured=measured: seen(arm, measured),
        )  # fmt: skip
        ends[measured] = np.abs(qd[t > 0.5]).max()
    assert ends["both"] < 0.3 * ends["motor"]


def test_motor_side_alone_takes_energy_from_the_arm():
    """For a reference at rest V of the docstring never rises, in any posture."""
    controller = ElasticJointController(LWR, 3e3, 5.0, kp=2e3, kd=60.0, measured="motor")
    arm = plant(3e3, 5.0, BENT + 0.2, substeps=40)
    rest = Motion.at_rest(BENT)
    links, K = links_of(LWR), arm.stiffness
    theta_d = BENT + rd.gravity_torque(LWR, BENT) / K

    def energy():
        x, e, bent = arm.state, theta_d - arm.motor_q, arm.motor_q - arm.state.q
        kinetic = rd.kinetic_energy(links, x.q, x.qd) + 0.5 * LWR.rotor_inertia @ arm.motor_qd**2
        springs = 0.5 * K @ bent**2 + 0.5 * controller.kp @ e**2
        # The torque that holds the arm at rest is constant: it has a potential, too
        held = rd.gravity_torque(LWR, BENT) @ arm.motor_q
        return kinetic + springs + rd.potential_energy(LWR, x.q) - held

    V = [energy()]
    dt = 1e-4
    for _ in range(3000):
        arm.step(controller.torque(seen(arm, "motor"), rest, dt), dt)
        V.append(energy())
    assert np.diff(V).max() < 1e-4 * (V[0] - V[-1])
    assert V[-1] < V[0] - 1.0


def test_the_snap_is_taken_from_the_jerk_where_it_is_missing():
    arm, controller = plant(), law()
    motion = [BENT, *(np.full(7, x) for x in (0.02, 0.3, 0.4))]
    later = [*motion[:3], np.full(7, 0.4 + DT * 7.0)]
    controller.torque(seen(arm, "both"), Motion(*motion), DT)
    found = controller.torque(seen(arm, "both"), Motion(*later), DT).copy()
    exact = law().torque(seen(arm, "both"), SnapMotion(*later, np.full(7, 7.0)), DT)
    np.testing.assert_allclose(found, exact, rtol=1e-9)
    other = law().torque(seen(arm, "both"), SnapMotion(*later, STILL), DT)
    assert np.abs(found - other).max() > 1e-4


def test_joint_torques_tell_the_motor_state():
    """And nothing of an earlier sample after a reset."""
    arm, controller, other = plant(), law(measured="torque"), law(measured="both")
    reference = Motion.at_rest(BENT + 0.01)
    for _ in range(200):
        tau = controller.torque(seen(arm, "torque"), reference, DT)
        expected = other.torque(seen(arm, "both"), reference, DT)
        arm.step(tau, DT)
    assert (
        np.abs(tau - expected).max()
        < 0.05 * np.abs(expected - rd.gravity_torque(LWR, BENT)).max() + 0.5
    )
    controller.reset()
    at_rest = JointState(BENT, STILL, np.full(7, 50.0))
    first = controller.torque(at_rest, Motion.at_rest(BENT), DT).copy()
    same = controller.torque(at_rest, Motion.at_rest(BENT), DT)
    np.testing.assert_allclose(first, same)


def test_friction_is_compensated_at_the_velocity_of_the_motors():
    compensation = SimpleNamespace(reset=lambda: None, seen=[])
    compensation.add = lambda state, reference, *rest: compensation.seen.append(
        reference.qd.copy()
    )
    controller = law(3e3, 1.0, compensation=compensation)
    motion = [np.full(7, x) for x in (0.1, 0.5, 2.0, 30.0, 0.0)]
    controller.torque(seen(plant(3e3, 1.0), "both"), SnapMotion(*motion), DT)
    expected = rd.elastic_inverse_dynamics(LWR, *motion, stiffness=3e3, damping=1.0).qd
    np.testing.assert_allclose(compensation.seen[0], expected, rtol=1e-12)
    assert np.abs(expected - 0.5).max() > 1e-3


@pytest.mark.parametrize("at_drives", [True, False])
def test_a_stop_damps_the_motors(at_drives, monkeypatch):
    """With the velocity of the links instead, as for rigid arms, soft joints shake on."""
    if not at_drives:
        monkeypatch.setattr(ElasticJointController, "at_drives", lambda self, state, dt: state)
    limits = TorqueLimits(LWR.tau_max, 1000.0)
    controller = law(3e3, 1.0, "torque", limits=limits)
    arm = rd.ElasticJointPlant(
        LWR, BENT, np.full(7, 0.4), stiffness=3e3, damping=1.0, friction=False, stops=False
    )
    stop = Stop(controller)
    controller.reset(rd.gravity_torque(LWR, BENT))
    stop.begin(arm.state)
    speed = []
    for _ in range(1500):
        arm.step(stop.torque(seen(arm, "torque"), None, DT), DT)
        speed.append(np.abs(arm.state.qd).max())
    assert (max(speed[-300:]) < 0.01) == at_drives


def test_lists_do_as_well():
    arm = plant()
    x, motion = seen(arm, "both"), Motion.at_rest(BENT + 0.01)
    expected = law().torque(x, motion, DT).copy()
    lists = SimpleNamespace(**{name: list(value) for name, value in x._asdict().items()})
    reference = SimpleNamespace(**{name: list(value) for name, value in motion._asdict().items()})
    np.testing.assert_allclose(law().torque(lists, reference, DT), expected)


@pytest.mark.parametrize(
    ("measured", "state", "says"),
    [
        ("both", JointState(BENT, STILL), "'motor_q' if measured is 'both'"),
        ("torque", JointState(BENT, STILL), "'tau' if measured is 'torque'"),
        ("torque", JointState(BENT, STILL, np.full(7, np.nan)), "tau of joint 'joint_1' is nan"),
        ("motor", JointState(BENT, np.full(7, np.inf)), "qd of joint 'joint_1' is inf"),
    ],
)
def test_a_state_without_what_is_measured_is_rejected(measured, state, says):
    with pytest.raises(rd.ArgumentError, match=says):
        law(measured=measured).torque(state, Motion.at_rest(BENT), DT)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"stiffness": None, "damping": None}, "is rigid"),
        ({"stiffness": 0.0, "damping": 1.0}, "stiffness of joint"),
        ({"stiffness": 1e4, "damping": 1.0, "measured": "all"}, "measured"),
        ({"stiffness": 1e307, "damping": 1.0}, "no gains for frequency"),
        ({"stiffness": 1e4, "damping": 1e307}, "no gains for frequency"),
    ],
)
def test_wrong_arguments_are_rejected(arguments, says):
    with pytest.raises(rd.ArgumentError, match=says):
        ElasticJointController.with_frequency(LWR, 30.0, **arguments)


def test_from_settings():
    """`arm.controller: elastic`, with springs of the settings or of the model."""
    from robodyn_ros.control.arm_torque import ArmParts
    from robodyn_ros.control.elastic_settings import ElasticSettings

    settings = rd.ArmSettings(
        controller="elastic", elastic=ElasticSettings(stiffness=(5e3,), damping=(2.0,))
    )
    made = ArmParts.of(LWR, settings).law
    assert isinstance(made, ElasticJointController) and made.measured == "torque"
    np.testing.assert_array_equal(made.stiffness, np.full(7, 5e3))
    springs = LWR.replace(joint_stiffness=7e3, joint_damping=3.0)
    settings = rd.ArmSettings(controller="elastic", elastic=ElasticSettings(stiffness=(0.0,)))
    made = ArmParts.of(springs, settings).law
    assert made.stiffness[0] == 7e3 and made.damping[0] == 3.0


def test_riccati_is_solved_as_by_scipy():
    from scipy.linalg import solve_continuous_are

    rng = np.random.default_rng(0)
    for _ in range(100):
        A, B, half = rng.normal(size=(4, 4)), rng.normal(size=(4, 1)), rng.normal(size=(4, 4))
        Q = half @ half.T
        expected = solve_continuous_are(A, B, Q, np.eye(1))
        assert np.abs(riccati(A, B, Q) - expected).max() < 1e-8 * np.abs(expected).max()
