"""Properties that all laws share."""

import tracemalloc

import numpy as np
import pytest
from control_cases import wave

import robodyn_ros as rd
from robodyn_ros.control.controller import JointState
from robodyn_ros.control.laws.computed_torque import ComputedTorqueController
from robodyn_ros.control.laws.elastic import ElasticJointController
from robodyn_ros.control.laws.friction_compensation import FrictionFeedForward, FrictionObserver
from robodyn_ros.control.laws.passivity import PassivityController
from robodyn_ros.control.laws.pd_gravity import PdGravityController
from robodyn_ros.control.laws.pid import PidController
from robodyn_ros.control.laws.task_space import PoseMotion, TaskSpaceController, TaskSpacePid

MODEL = rd.robots.kuka_lwr4()
LINK = MODEL.link_names[-1]
LAWS = {
    "passivity": lambda **o: PassivityController(MODEL, 20.0, 10.0, **o),
    "tracking": lambda **o: ComputedTorqueController(MODEL, 100.0, 20.0, **o),
    "position": lambda **o: ComputedTorqueController(MODEL, 100.0, 20.0, mode="position", **o),
    "predictive": lambda **o: ComputedTorqueController(MODEL, 100.0, 20.0, mode="predictive", **o),
    "pd_gravity": lambda **o: PdGravityController(MODEL, 100.0, 20.0, **o),
    "pid": lambda **o: PidController(MODEL, 100.0, 20.0, 50.0, **o),
    "elastic": lambda **o: ElasticJointController.with_frequency(
        MODEL, 20.0, 1e4, 10.0, measured="motor", **o
    ),
    "task": lambda **o: TaskSpaceController(MODEL, LINK, 100.0, 20.0, **o),
    "task_pid": lambda **o: TaskSpacePid(MODEL, LINK, 100.0, 20.0, 50.0, gravity=True, **o),
}
COMPENSATIONS = {
    "none": lambda: None,
    "feed_forward": lambda: FrictionFeedForward(MODEL, velocity="measured"),
    "observer": lambda: FrictionObserver(MODEL, 50.0),
}


def reference_of(law):
    motion = wave(MODEL)(0.3)
    if law.startswith("task"):
        T = rd.forward_kinematics(MODEL, motion.q, LINK)
        return PoseMotion(T, np.full(6, 0.1), np.full(6, 0.2))
    return motion


def state():
    q, qd, tau = np.random.default_rng(3).uniform(-0.5, 0.5, (3, MODEL.n))
    return JointState(q, qd, tau)


@pytest.mark.parametrize("compensation", COMPENSATIONS)
@pytest.mark.parametrize("law", LAWS)
def test_a_call_allocates_nothing(law, compensation):
    controller = LAWS[law](compensation=COMPENSATIONS[compensation]())
    seen, wanted = state(), reference_of(law)
    for _ in range(10):
        controller.torque(seen, wanted)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        for _ in range(50):
            controller.torque(seen, wanted, 1e-3)
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # An array of 7 numbers takes 56 bytes and its header 112; the frame of the call may show.
    assert now - before < 100
    assert peak - before < 1000


def test_an_allocation_would_show():
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        kept = [np.zeros(7) for _ in range(50)]
        assert tracemalloc.get_traced_memory()[0] - before > 50 * 56
    finally:
        tracemalloc.stop()
    assert len(kept) == 50


@pytest.mark.parametrize("law", LAWS)
def test_the_array_is_the_controllers_own(law):
    controller = LAWS[law]()
    tau = controller.torque(state(), reference_of(law))
    kept = tau.copy()
    again = controller.torque(JointState(np.zeros(7), np.zeros(7)), reference_of(law))
    assert again is tau and controller.tau is tau
    assert np.abs(kept - tau).max() > 0.1


@pytest.mark.parametrize("law", LAWS)
def test_lists_integers_and_read_only_arrays_are_accepted(law):
    seen = JointState([0, 1, 0, -1, 0, 1, 0], np.broadcast_to(0.25, 7))
    wanted = reference_of(law)
    plain = JointState(np.array(seen.q, dtype=float), np.full(7, 0.25))
    lists = type(wanted)(*(part.tolist() for part in wanted))
    expected = LAWS[law]().torque(plain, wanted)
    np.testing.assert_array_equal(LAWS[law]().torque(seen, lists), expected)


@pytest.mark.parametrize("name", ["q", "qd"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("law", LAWS)
def test_a_bad_state_is_rejected_by_joint_and_changes_nothing(law, bad, name):
    controller, other = LAWS[law](), LAWS[law]()
    seen, wanted = state(), reference_of(law)
    broken = seen._replace(**{name: getattr(seen, name).copy()})
    getattr(broken, name)[2] = bad
    before = controller.torque(seen, wanted).copy()
    other.torque(seen, wanted)
    joint = MODEL.joint_names[2]
    with pytest.raises(rd.ArgumentError, match=rf"^{name} of joint '{joint}' is {bad}"):
        controller.torque(broken, wanted)
    np.testing.assert_array_equal(controller.tau, before)
    # ... and the integrals are unchanged
    np.testing.assert_array_equal(controller.torque(seen, wanted), other.torque(seen, wanted))


@pytest.mark.parametrize("law", LAWS)
def test_a_bad_reference_is_rejected(law):
    controller, wanted = LAWS[law](), reference_of(law)
    field = "V" if law.startswith("task") else "q"
    broken = getattr(wanted, field).copy()
    broken[1] = np.nan
    with pytest.raises(rd.ArgumentError, match=f"reference.{field}"):
        controller.torque(state(), wanted._replace(**{field: broken}))
    with pytest.raises(rd.ArgumentError, match="a reference must have"):
        controller.torque(state(), 3.0)
    with pytest.raises(rd.ArgumentError, match="a state must have 'q'"):
        controller.torque(None, wanted)
    with pytest.raises(rd.ArgumentError, match=r"q must have shape \(7,\)"):
        controller.torque(JointState(np.zeros(6), np.zeros(7)), wanted)
    with pytest.raises(rd.ArgumentError, match="q must be one sample"):
        controller.torque(JointState(np.zeros((2, 7)), np.zeros(7)), wanted)


@pytest.mark.parametrize("law", LAWS)
def test_infinite_torques_are_rejected(law):
    racing = JointState(np.zeros(7), np.full(7, 1e308))
    with pytest.raises(rd.ArgumentError, match="the torque.* is not finite"):
        LAWS[law]().torque(racing, reference_of(law))


@pytest.mark.parametrize("dt", [0.0, -1e-3, np.nan, np.inf])
def test_dt_must_be_positive(dt):
    with pytest.raises(rd.ArgumentError, match="dt must be positive"):
        LAWS["pid"]().torque(state(), reference_of("pid"), dt)
    with pytest.raises(rd.ArgumentError, match="period must be positive"):
        LAWS["pid"](period=dt)


@pytest.mark.parametrize("law", ["pid", "task_pid"])
def test_the_period_is_the_default_of_dt(law):
    fast, told = LAWS[law](period=2e-3), LAWS[law]()
    for _ in range(3):
        a = fast.torque(state(), reference_of(law))
        b = told.torque(state(), reference_of(law), 2e-3)
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("law", ["pid", "task_pid"])
def test_reset_forgets_the_integral(law):
    controller = LAWS[law]()
    first = controller.torque(state(), reference_of(law)).copy()
    for _ in range(20):
        controller.torque(state(), reference_of(law))
    assert np.abs(controller.tau - first).max() > 1e-3
    controller.reset()
    np.testing.assert_array_equal(controller.torque(state(), reference_of(law)), first)


@pytest.mark.parametrize("value", [-1.0, 0.0])
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda x: PassivityController(MODEL, x, 10.0), "kd"),
        (lambda x: PassivityController(MODEL, 10.0, x), "rate"),
        (lambda x: PassivityController(MODEL, 10.0, 10.0, x), "kp"),
        (lambda x: PassivityController.with_frequency(MODEL, x), "frequency"),
        (lambda x: ComputedTorqueController(MODEL, x, 1.0), "kp"),
        (lambda x: ComputedTorqueController(MODEL, 1.0, x), "kd"),
        (lambda x: PidController(MODEL, 1.0, x, 1.0), "kd"),
        (lambda x: PidController.with_triple_pole(MODEL, x), "frequency"),
        (lambda x: TaskSpaceController(MODEL, LINK, 1.0, 1.0, null_damping=x), "null_damping"),
        (lambda x: FrictionObserver(MODEL, x), "gain"),
    ],
)
def test_a_wrong_gain_is_rejected_by_joint(make, name, value):
    gains = np.ones(MODEL.n)
    gains[3] = value
    joint = MODEL.joint_names[3]
    with pytest.raises(rd.ArgumentError, match=f"{name} of joint '{joint}' must be positive"):
        make(gains)
    with pytest.raises(rd.ArgumentError, match=f"{name} must be one number or 7"):
        make([1.0, 2.0])
    with pytest.raises(rd.ArgumentError, match=f"{name} must be finite"):
        make(np.nan)


def test_gains_whose_product_is_not_finite_are_rejected():
    with pytest.raises(rd.ArgumentError, match="kp must be finite"):
        PassivityController(MODEL, 1e200, 1e200)


def test_some_gains_may_be_zero_but_none_negative():
    PdGravityController(MODEL, 0.0, 0.0)
    PidController(MODEL, 1.0, 1.0, 0.0)
    with pytest.raises(rd.ArgumentError, match="ki of joint '.*' must not be negative"):
        PidController(MODEL, 1.0, 1.0, -1.0)


class Constant(rd.Controller):
    """A law of a user, by the public method alone."""

    def law_torque(self, state, reference, dt):
        return reference.q - state.q


def test_a_law_of_ones_own_has_the_limits_and_the_errors():
    model = rd.robots.planar_2r()
    law = Constant(model, limits=rd.TorqueLimits(2.0, np.inf))
    state, goal = rd.JointState([0.0, 0.0], [0.0, 0.0]), rd.Motion(*np.zeros((4, 2)))
    goal.q[:] = [1.0, 5.0]
    assert law.torque(state, goal).tolist() == [1.0, 2.0]
    with pytest.raises(rd.ArgumentError, match=r"q of joint '\w+' is nan"):
        law.torque(state._replace(q=[np.nan, 0.0]), goal)
    with pytest.raises(NotImplementedError, match="law_torque"):
        rd.Controller(model).torque(state, goal)
