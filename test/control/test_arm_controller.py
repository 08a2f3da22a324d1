"""ArmController: every transition, and torque that is finite and within its limits all along."""

import dataclasses
import math

import numpy as np
import pytest
from control_cases import quintic

import robodyn_ros as rd
from robodyn_ros.control.arm_controller import ArmController, Mode
from robodyn_ros.control.arm_settings import ArmSettings
from robodyn_ros.control.live_scaling import LiveScaling
from robodyn_ros.control.path_shape import ScalingLimits
from robodyn_ros.control.reference import Reference, Rest
from robodyn_ros.detection.detector import CollisionDetector, Level
from robodyn_ros.detection.observer import MomentumObserver
from robodyn_ros.dynamics.motion import Motion
from robodyn_ros.settings import leaves
from robodyn_ros.simulation.obstacles import Plane, Probe
from robodyn_ros.simulation.rigid import RigidPlant

LWR = rd.robots.lwr_iii()
HAND = LWR.link_names[-1]
START = np.radians([-60.0, 40.0, 0.0, 70.0, 0.0, 40.0, 0.0])
END = np.radians([55.0, 60.0, 20.0, 50.0, 30.0, 20.0, 40.0])
STILL = np.zeros(7)
DT = 2e-3
RATE = 1000.0
LAWS = ("passivity", "computed_torque", "pd_gravity", "pid")


class Move:
    """A quintic from rest to rest, with the two names that a trajectory needs."""

    def __init__(self, start=START, end=END, duration=2.0):
        self.duration, self._at = duration, quintic(start, end, duration)

    def at(self, t):
        return self._at(t)


class Rig:
    """A simulated arm under control. Every torque is checked when it is given."""

    def __init__(self, q=START, dt=DT, obstacles=(), law=None, **settings):
        probes = [Probe(HAND)]
        self.plant = RigidPlant(LWR, q, friction=False, obstacles=obstacles, probes=probes)
        self.arm = ArmController(LWR, ArmSettings(**settings), law)
        self.dt, self.rate = dt, RATE
        self.observer = MomentumObserver(LWR, 50.0)
        self.detector = CollisionDetector(2.0, 4.0, LWR, release=0.05)
        self.detecting = False
        self.given_at = 0.0
        self.tau = self.arm.update(0.0, self.plant.state.q, self.plant.state.qd)
        self.states, self.modes = [self.plant.state], [self.arm.mode]
        self.wanted = [self.arm.reference.q]

    def run(self, seconds, dt=None, until=lambda rig: False):
        for _ in range(round(seconds / (dt or self.dt))):
            self.step(dt or self.dt)
            if until(self):
                return True
        return False

    def step(self, dt):
        state = self.plant.step(self.tau, dt)
        if self.detecting:
            r = self.observer.update(state.q, state.qd, self.tau, dt)
            level = self.detector.update(r, dt).level
            self.detector_is_clear = level is Level.CLEAR
            self.arm.contact(level >= Level.CONTACT, r)
        self.take(self.arm.update(state.t, state.q, state.qd), state.t)
        self.states.append(state)
        self.modes.append(self.arm.mode)
        self.wanted.append(self.arm.reference.q)

    def take(self, tau, t):
        assert np.isfinite(tau).all()
        assert (np.abs(tau) <= LWR.tau_max + 1e-9).all()
        assert np.abs(tau - self.tau).max() <= self.rate * abs(t - self.given_at) + 1e-9
        self.tau, self.given_at = tau, t

    def is_in(self, mode):
        return self.arm.mode is mode

    @property
    def state(self):
        return self.plant.state

    @property
    def largest_error(self):
        return max(np.abs(s.q - q).max() for s, q in zip(self.states, self.wanted, strict=True))


def scaling():
    """The clock of a reference with limits that are never reached."""
    none = np.full(7, np.inf)
    return LiveScaling(LWR, ScalingLimits(none, none, none, none), 1.25)


def wall_across(move, t):
    """A wall of 5 kN/m that the hand meets at the time t, straight on."""
    q, qd, *_ = move.at(t)
    place = rd.forward_kinematics(LWR, q, HAND)[:3, 3]
    velocity = rd.jacobian(LWR, q, HAND)[:3] @ qd
    normal = -velocity / np.linalg.norm(velocity)
    return Plane(place - 0.05 * normal, normal, stiffness=5000.0)


# ---------------------------------------------------------------- holding and tracking


@pytest.mark.parametrize("law", LAWS)
def test_first_sample_holds_the_pose_with_the_weight_carried(law):
    rig = Rig(controller=law)
    np.testing.assert_allclose(rig.tau, rd.gravity_torque(LWR, START), atol=1.0)
    rig.run(1.0)
    assert rig.is_in(Mode.HOLDING)
    assert rig.largest_error < 1e-6
    np.testing.assert_allclose(rig.arm.error, 0.0, atol=1e-6)


def test_first_torque_is_that_of_gravity():
    arm = ArmController(LWR)
    np.testing.assert_allclose(arm.update(7.0, START, STILL), rd.gravity_torque(LWR, START))
    assert arm.mode is Mode.HOLDING


@pytest.mark.parametrize(
    ("law", "error"), [("passivity", 1e-3), ("computed_torque", 1e-3), ("pd_gravity", 0.1)]
)
def test_tracks_a_trajectory_to_its_end(law, error):
    rig, move = Rig(controller=law), Move()
    rig.arm.follow(move)
    rig.run(1.0)
    assert rig.is_in(Mode.TRACKING)
    np.testing.assert_allclose(rig.arm.reference.q, move.at(rig.state.t).q, atol=1e-12)
    rig.run(1.5)
    assert rig.is_in(Mode.HOLDING)
    assert rig.largest_error < error
    np.testing.assert_allclose(rig.state.q, END, atol=1e-3)


def test_model_friction_is_made_up_for():
    errors = []
    for friction in (False, True):
        rig = Rig(friction=friction)
        rig.plant = RigidPlant(LWR, START)
        rig.arm.follow(Move())
        rig.run(2.0)
        errors.append(rig.largest_error)
    assert errors[1] < 0.2 * errors[0]


def test_trajectory_that_begins_elsewhere_is_refused():
    arm = ArmController(LWR)
    with pytest.raises(rd.RobodynError, match="no sample"):
        arm.follow(Move())
    arm.update(0.0, START, STILL)
    away = START.copy()
    away[3] += 0.2
    with pytest.raises(rd.ArgumentError, match=r"\+0\.2 .*joint '" + LWR.joint_names[3]):
        arm.follow(Move(away))
    assert arm.mode is Mode.HOLDING


def test_small_offset_at_the_start_is_blended_out():
    rig = Rig()
    move = Move(START + 0.05, END)
    rig.arm.follow(move)
    q, qd, qdd, _ = rig.arm.reference
    np.testing.assert_allclose(q, START)
    rig.run(3.0)
    wanted = np.array(rig.wanted)
    assert np.abs(np.diff(wanted, 2, axis=0)).max() / DT**2 < 20.0  # no kink
    assert rig.largest_error < 1e-3
    np.testing.assert_allclose(rig.state.q, END, atol=1e-6)


def test_new_trajectory_while_moving():
    rig = Rig(ramp=1.0)
    rig.arm.follow(Move())
    rig.run(0.9)
    assert np.abs(rig.state.qd).max() > 1.0
    rig.arm.follow(Move(rig.arm.reference.q, START))  # begins at rest: the speed is blended out
    rig.run(3.0)
    assert np.abs(np.diff(rig.wanted, 2, axis=0)).max() / DT**2 < 30.0
    assert rig.largest_error < 1e-3
    np.testing.assert_allclose(rig.state.q, START, atol=1e-6)


@pytest.mark.parametrize("at", [0.3, 0.0, -0.2])
def test_trajectory_begins_at_a_given_time(at):
    rig, move = Rig(start_tolerance=0.2), Move()
    rig.arm.follow(move, at=at)
    rig.run(1.2)
    np.testing.assert_allclose(rig.arm.reference.q, move.at(rig.state.t - at).q, atol=1e-12)
    assert rig.largest_error < 1e-3


def test_hold_comes_to_rest_where_it_is():
    rig = Rig(ramp=0.4)
    rig.arm.follow(Move())
    rig.run(1.0)
    q, qd = rig.arm.reference[:2]
    rig.arm.hold()
    rig.run(0.6)
    assert rig.is_in(Mode.HOLDING)
    np.testing.assert_allclose(rig.state.q, q + 0.2 * qd, atol=1e-4)
    assert not rig.arm.reference.qd.any()
    assert rig.largest_error < 1e-3


def test_irregular_samples_are_taken_at_their_times():
    rig, move, random = Rig(), Move(), np.random.default_rng(3)
    rig.arm.follow(move)
    for _ in range(800):
        rig.step(random.uniform(2e-4, 4e-3))
    np.testing.assert_allclose(rig.arm.reference.q, move.at(rig.state.t).q, atol=1e-9)
    assert rig.largest_error < 2e-3


# ---------------------------------------------------------------- touched


def test_reaction_none_goes_on():
    rig = Rig(reaction="none")
    rig.arm.follow(Move())
    rig.arm.contact(True, np.full(7, 5.0))
    rig.run(0.5)
    assert rig.is_in(Mode.TRACKING)


@pytest.mark.parametrize("reaction", ["stop", "float", "reflex", "admittance"])
def test_wall(reaction):
    """Driven against 5 kN/m: the force is gone after 0.3 s, and the arm comes to rest."""
    force = {}
    for kind in ("none", reaction):
        move = Move()
        rig = Rig(reaction=kind, obstacles=[wall_across(move, 0.9)], error_max=10.0)
        rig.observer.update(START, STILL, rig.tau, DT)
        rig.detecting = True
        rig.arm.follow(move)
        assert rig.run(2.0, until=lambda rig: rig.state.tau_ext.any())
        rig.run(0.3)
        force[kind] = np.linalg.norm(rig.state.tau_ext)
    assert force["none"] > 20.0
    assert force[reaction] < 0.1 * force["none"]
    assert rig.is_in(Mode.REACTING)
    assert rig.run(2.5, until=lambda rig: np.abs(rig.state.qd).max() < 0.02)
    assert rig.is_in(Mode.REACTING)


def touched_on_the_way(**settings):
    """An arm on its way that was pushed, and has come to rest."""
    rig, move = Rig(return_speed=1.0, **settings), Move()
    rig.observer.update(START, STILL, rig.tau, DT)
    rig.arm.follow(move)
    rig.run(0.8)
    rig.detecting = True
    rig.plant.push(HAND, (0.0, -60.0, 30.0), duration=0.15)
    assert rig.run(0.5, until=lambda rig: rig.is_in(Mode.REACTING))
    stopped = rig.state.t - DT
    assert rig.run(0.5, until=lambda rig: rig.detector_is_clear)
    rig.run(2.5, until=lambda rig: np.abs(rig.state.qd).max() < 0.01)
    assert rig.is_in(Mode.REACTING)
    return rig, move, stopped


@pytest.mark.parametrize("reaction", ["stop", "float", "reflex", "admittance"])
@pytest.mark.parametrize("law", ["passivity", "pid"])
def test_resume_rejoins_the_path_without_a_step(reaction, law):
    rig, move, stopped = touched_on_the_way(reaction=reaction, controller=law)
    away = np.abs(rig.state.q - move.at(stopped).q).max()
    assert away > 0.05
    rig.arm.clear()
    assert rig.run(1.0, until=lambda rig: rig.is_in(Mode.RESUMING))
    back_at = rig.state.t
    largest = 0.02 if law == "pid" else 1e-3
    near = math.inf
    while rig.is_in(Mode.RESUMING):
        rig.step(DT)
        near = min(near, np.abs(rig.state.q - move.at(stopped).q).max())
        assert np.abs(rig.arm.error).max() < largest
        assert rig.state.t < back_at + 4.0
    assert near < largest  # it has been where it was interrupted
    assert rig.is_in(Mode.TRACKING)
    rig.run(0.3)
    # On the path, later than planned by the same time for all joints
    s = np.linspace(stopped, 2.0, 2000)
    q = np.array([move.at(x).q for x in s])
    assert np.abs(q - rig.arm.reference.q).max(axis=1).min() < 1e-3
    assert np.abs(q - rig.state.q).max(axis=1).min() < 1e-3 + largest
    rig.run(2.0)
    assert rig.is_in(Mode.HOLDING)
    np.testing.assert_allclose(rig.state.q, END, atol=1e-3)


def test_resumes_by_itself_after_a_set_time_without_contact():
    rig, move, stopped = touched_on_the_way(reaction="reflex", resume_after=10.0)
    rig.arm.apply(rig.arm.prepare(dataclasses.replace(rig.arm.settings, resume_after=0.5)))
    assert rig.run(2.0, until=lambda rig: rig.is_in(Mode.RESUMING))
    rig.run(8.0)
    assert rig.is_in(Mode.HOLDING)
    np.testing.assert_allclose(rig.state.q, END, atol=1e-3)


def test_without_resume_after_it_waits_for_clear():
    rig, _, _ = touched_on_the_way(reaction="stop")
    rig.run(1.0)
    assert rig.is_in(Mode.REACTING)


def test_an_unknown_contact_state_is_not_clear():
    rig, _, _ = touched_on_the_way(reaction="stop", resume_after=1.0)
    rig.detecting = False
    rig.arm.contact(None)
    rig.run(1.5)
    assert rig.is_in(Mode.REACTING)


def test_a_touch_on_the_way_back_leads_to_a_reaction_again():
    rig, move, stopped = touched_on_the_way(reaction="admittance")
    rig.arm.clear()
    assert rig.run(1.0, until=lambda rig: rig.is_in(Mode.RESUMING))
    rig.run(0.2)
    rig.plant.push(HAND, (0.0, -60.0, 30.0), duration=0.15)
    assert rig.run(0.3, until=lambda rig: rig.is_in(Mode.REACTING))
    rig.run(1.0)
    assert rig.is_in(Mode.REACTING)  # the earlier `clear` is forgotten
    rig.arm.clear()
    rig.run(8.0)
    assert rig.is_in(Mode.HOLDING)
    np.testing.assert_allclose(rig.state.q, END, atol=1e-3)


def test_clear_is_refused_while_the_arm_is_touched():
    rig = Rig(reaction="stop")
    rig.arm.contact(True)
    rig.run(0.3)
    with pytest.raises(rd.RobodynError, match="touched"):
        rig.arm.clear()
    with pytest.raises(rd.RobodynError, match="reacting"):
        rig.arm.follow(Move())
    rig.arm.contact(False)
    rig.arm.clear()
    rig.arm.contact(True)  # before anything has happened
    rig.run(0.5)
    rig.arm.contact(False)
    rig.run(0.5)
    assert rig.is_in(Mode.REACTING)
    assert Mode.RESUMING not in rig.modes


def test_an_arm_that_held_a_pose_returns_to_it():
    rig = Rig(reaction="float", resume_after=0.5)
    rig.observer.update(START, STILL, rig.tau, DT)
    rig.detecting = True
    rig.plant.push(HAND, (0.0, -60.0, 30.0), duration=0.2)
    rig.run(0.3)
    assert rig.is_in(Mode.REACTING)
    assert np.abs(rig.state.q - START).max() > 0.02
    assert rig.run(5.0, until=lambda rig: rig.is_in(Mode.RESUMING))
    rig.run(4.0)
    assert rig.is_in(Mode.HOLDING)
    np.testing.assert_allclose(rig.state.q, START, atol=1e-4)


# ---------------------------------------------------------------- faults


def test_safe_hold_is_kept_until_cleared():
    rig = Rig()
    rig.arm.follow(Move())
    rig.run(1.0)
    rig.arm.safe_hold("told by the test")
    rig.arm.contact(True, np.full(7, 5.0))
    rig.run(1.0)
    assert rig.is_in(Mode.SAFE_HOLD)
    assert rig.arm.reason == "told by the test"
    assert np.abs(rig.state.qd).max() < 1e-3
    with pytest.raises(rd.RobodynError, match="told by the test"):
        rig.arm.follow(Move())
    rig.arm.contact(False)
    here = rig.state.q
    rig.arm.clear()
    rig.run(1.0)
    assert rig.is_in(Mode.HOLDING)
    np.testing.assert_allclose(rig.state.q, here, atol=1e-4)


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize(
    ("settings", "mode"),
    [
        ({}, Mode.SAFE_HOLD),
        ({"resume_after": 0.5}, Mode.HOLDING),
        ({"reaction": "none"}, Mode.HOLDING),
    ],
)
def test_a_touch_before_the_start_must_be_cleared(settings, mode, begun):
    rig = Rig(**settings)
    if not begun:
        rig.arm = ArmController(LWR, ArmSettings(**settings))
    rig.arm.on_earlier_contact()
    rig.run(0.3)
    assert rig.arm.mode is mode
    rig.arm.clear()
    rig.run(0.1)
    assert rig.arm.mode is Mode.HOLDING


def coast(rig, seconds, dt=DT, tell=True):
    """Let the arm move on without samples."""
    for _ in range(round(seconds / dt)):
        state = rig.plant.step(rig.tau, dt)
        if tell:
            rig.take(rig.arm.lost(state.t, "no joint states"), state.t)


@pytest.mark.parametrize("tell", [True, False])
def test_silence_while_moving_leads_to_a_safe_hold(tell):
    rig = Rig()
    rig.arm.follow(Move())
    rig.run(0.8)
    coast(rig, 0.015, tell=tell)
    rig.step(DT)
    assert rig.is_in(Mode.TRACKING)  # a short gap does no harm
    rig.run(0.1)
    coast(rig, 0.03, tell=tell)
    assert rig.is_in(Mode.SAFE_HOLD) == tell
    rig.step(DT)
    assert rig.is_in(Mode.SAFE_HOLD)
    assert "no" in rig.arm.reason
    rig.run(1.0)
    assert np.abs(rig.state.qd).max() < 1e-3


def test_without_samples_the_torque_goes_to_that_of_gravity():
    rig = Rig()
    rig.arm.follow(Move())
    rig.run(0.5)
    seen = rig.state.q
    coast(rig, 0.5)
    np.testing.assert_allclose(rig.tau, rd.gravity_torque(LWR, seen), atol=1e-9)


def test_safe_hold_after_silence_is_where_the_arm_is_then():
    rig = Rig()
    rig.arm.safe_hold("told by the test")
    rig.run(0.3)
    rig.plant.push(HAND, (0.0, 60.0, 0.0), duration=0.2)
    coast(rig, 0.5)
    away = np.abs(rig.state.q - START).max()
    assert away > 0.1
    rig.run(1.0)
    assert np.abs(rig.arm.reference.q - START).max() >= away
    assert np.abs(rig.state.qd).max() < 1e-3


def test_an_arm_that_is_elsewhere_after_a_gap_is_held_there():
    """As after a restart of the plant, without a sample in between."""
    rig = Rig(timeout=1.0)
    rig.arm.follow(Move(duration=4.0))
    rig.run(1.5)
    there = rig.state.q + 0.5
    again, begun = RigidPlant(LWR, there, friction=False), rig.state.t + 1.2
    for _ in range(1000):
        q, qd, t = again.state.q, again.state.qd, again.state.t
        again.step(rig.arm.update(begun + t, q, qd), DT)
        assert np.abs(q - there).max() < 0.1
    assert rig.is_in(Mode.SAFE_HOLD)
    assert np.abs(again.state.qd).max() < 1e-3


def test_an_arm_that_the_driver_held_is_taken_over_with_its_weight_carried():
    rig = Rig(timeout=0.1)
    rig.arm.follow(Move(duration=1.0))
    rig.run(0.3)
    assert np.abs(rig.tau - rd.gravity_torque(LWR, rig.state.q)).max() > 2.0
    t, there = rig.state.t + 1.5, rig.state.q + 0.3
    rig.arm.lost(t, "no joint states")
    rig.arm.release_command()
    tau = rig.arm.update(t + DT, there, STILL)
    np.testing.assert_allclose(tau, rd.gravity_torque(LWR, there), atol=2.0)
    assert rig.is_in(Mode.SAFE_HOLD)


def test_silence_at_rest_does_not_matter():
    rig = Rig()
    rig.run(0.1)
    coast(rig, 1.0)
    rig.run(0.5)
    assert rig.is_in(Mode.HOLDING)
    np.testing.assert_allclose(rig.state.q, START, atol=1e-6)


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e308])
@pytest.mark.parametrize("which", ["q", "qd"])
def test_invalid_samples_count_as_missing(bad, which):
    rig = Rig()
    rig.arm.follow(Move())
    rig.run(0.8)
    for _ in range(20):
        state = rig.plant.step(rig.tau, DT)
        values = {"q": state.q.copy(), "qd": state.qd.copy()}
        values[which][2] = bad
        rig.take(rig.arm.update(state.t, **values), state.t)
    assert rig.is_in(Mode.SAFE_HOLD)
    rig.run(1.0)
    assert rig.is_in(Mode.SAFE_HOLD)
    if not math.isfinite(bad):
        assert LWR.joint_names[2] in rig.arm.reason
    rig.arm.clear()
    rig.run(0.2)
    assert rig.is_in(Mode.HOLDING)


def test_before_the_first_good_sample_there_is_no_torque():
    arm = ArmController(LWR)
    assert not arm.lost(0.0, "nothing yet").any()
    assert not arm.update(0.1, np.full(7, math.nan), STILL).any()
    np.testing.assert_allclose(arm.update(0.2, START, STILL), rd.gravity_torque(LWR, START))


def test_fifty_samples_a_second_are_enough():
    rig = Rig(frequency=(20.0,))
    rig.arm.follow(Move(duration=4.0))
    rig.run(1.0)
    rig.run(2.5, dt=0.02)
    assert rig.is_in(Mode.TRACKING)
    assert np.abs(rig.arm.error).max() < 0.03


def test_lost_samples_of_a_slow_stream_do_no_harm():
    """50 a second, and 30 % of them lost, up to two in a row."""
    rig = Rig(frequency=(10.0,))
    rig.run(1.0, dt=0.02)
    rig.arm.follow(Move(duration=4.0))
    for k in range(100):
        state = rig.plant.step(rig.tau, 0.02)
        if k % 10 not in (3, 6, 7):
            rig.take(rig.arm.update(state.t, state.q, state.qd), state.t)
    assert rig.is_in(Mode.TRACKING)


def test_stuck_readings_are_found():
    rig = Rig()
    rig.arm.follow(Move())
    rig.run(0.8)
    q, qd = rig.state.q, rig.state.qd
    for step in range(1, 50):
        t = rig.state.t + step * DT
        rig.take(rig.arm.update(t, q, qd), t)
    assert rig.is_in(Mode.SAFE_HOLD)
    assert "the same" in rig.arm.reason


def test_the_same_sample_after_a_gap_is_not_stuck():
    rig = Rig(timeout=1.0)
    rig.arm.follow(Move(duration=20.0))
    rig.run(5.0)
    rig.arm.update(rig.state.t + 0.5, rig.state.q, rig.state.qd)
    assert rig.is_in(Mode.TRACKING)


def test_after_a_gap_the_motion_is_late_but_does_not_leap():
    """As after a simulator that was too slow and has given up half a second."""
    rig = Rig(timeout=1.0, frequency=(20.0,))
    rig.arm.follow(Move(duration=4.0))
    rig.run(2.0)
    seen, late = rig.wanted[-1], 0.5
    for _ in range(750):
        state = rig.plant.step(rig.tau, DT)
        rig.take(rig.arm.update(state.t + late, state.q, state.qd), state.t + late)
        assert np.abs(rig.arm.reference.q - seen).max() < 0.1
        seen = rig.arm.reference.q
        assert np.abs(rig.arm.error).max() < 0.1
    assert rig.is_in(Mode.TRACKING)


def test_after_a_gap_the_torque_changes_by_two_periods_worth():
    rig = Rig(timeout=1.0)
    rig.arm.follow(Move(duration=20.0))
    rig.run(5.0)
    tau = rig.arm.update(rig.state.t + 0.5, rig.state.q + 0.1, rig.state.qd)
    assert np.abs(tau - rig.tau).max() == pytest.approx(RATE * 2.0 * DT)


def test_returned_arrays_are_copies():
    arm = ArmController(LWR)
    arm.error[:] = 9.0
    assert not arm.error.any()
    arm.update(0.0, START, np.zeros(7))
    for told in (arm.tau, arm.error, *arm.reference):
        told += 0.5
    np.testing.assert_array_equal(arm.reference.q, START)
    np.testing.assert_array_equal(arm.reference.qd, 0.0)


def test_old_and_repeated_samples_change_nothing():
    rig = Rig()
    rig.arm.follow(Move())
    rig.run(0.8)
    before = rig.arm.reference
    for t in (rig.state.t, rig.state.t - 1e-3, rig.state.t - 0.5):
        rig.take(rig.arm.update(t, rig.state.q + 0.1, rig.state.qd), rig.given_at)
    np.testing.assert_array_equal(rig.arm.reference, before)
    rig.run(2.0)
    assert rig.largest_error < 1e-3


def test_after_a_clock_reset_the_arm_is_held_where_it_is():
    rig = Rig()
    rig.arm.follow(Move())
    rig.run(1.5)
    rig.plant.reset(END)
    rig.run(0.5)
    assert rig.is_in(Mode.HOLDING)
    np.testing.assert_allclose(rig.arm.reference.q, END, atol=1e-2)


def test_an_arm_far_from_its_reference_is_not_pulled_back():
    rig = Rig(error_max=0.3)
    rig.run(0.1)
    q = START.copy()
    q[1] += 0.4
    rig.take(rig.arm.update(rig.state.t + DT, q, STILL), rig.state.t + DT)
    assert rig.is_in(Mode.SAFE_HOLD)
    assert LWR.joint_names[1] in rig.arm.reason


def test_a_trajectory_that_becomes_nan_is_refused():
    class Bad(Move):
        def at(self, t):
            motion = super().at(t)
            return motion if t < 0.5 else Motion(*(x * math.nan for x in motion))

    rig = Rig()
    with pytest.raises(rd.ArgumentError, match="joint_1.*nan"):
        rig.arm.follow(Bad())
    rig.run(0.5)
    assert rig.is_in(Mode.HOLDING)


# ---------------------------------------------------------------- on and off


@pytest.mark.parametrize("kind", ["gravity", "zero"])
def test_disabled_brakes_and_lets_go(kind):
    rig = Rig(disabled=kind)
    rig.arm.follow(Move())
    rig.run(1.0)
    rig.arm.enable(False)
    rig.run(1.0)
    assert rig.is_in(Mode.DISABLED)
    wanted = rd.gravity_torque(LWR, rig.state.q) if kind == "gravity" else STILL
    if kind == "zero":
        assert not rig.tau.any()
    else:
        np.testing.assert_allclose(rig.tau, wanted, atol=0.5)
    rig.arm.enable(True)
    rig.run(1.0)
    assert rig.is_in(Mode.HOLDING)
    assert np.abs(rig.state.qd).max() < 1e-2


def test_ramp_down_ends_without_torque():
    rig = Rig()
    rig.arm.follow(Move())
    rig.run(1.0)
    rig.arm.ramp_down()
    assert not rig.arm.at_rest
    assert rig.run(1.5, until=lambda rig: rig.arm.at_rest)
    assert not rig.tau.any()


def test_ramp_down_ends_though_the_velocity_is_all_noise():
    rig, random = Rig(), np.random.default_rng(1)
    rig.arm.ramp_down()
    for _ in range(500):
        state, noise = rig.plant.step(rig.tau, DT), random.normal(0.0, 0.3, 7)
        rig.take(rig.arm.update(state.t, state.q, noise), state.t)
        if rig.arm.at_rest:
            break
    assert rig.arm.at_rest and state.t < 0.8


@pytest.mark.parametrize("noise", [0.0, 0.02])  # [rad/s]; below the limit, and as large as it
def test_a_safe_hold_is_cleared_though_the_velocity_is_noisy(noise):
    rig, random = Rig(), np.random.default_rng(2)
    rig.arm.follow(Move())
    rig.run(1.0)
    rig.arm.safe_hold("told to")
    rig.arm.clear()
    for _ in range(500):
        state = rig.plant.step(rig.tau, DT)
        noisy = state.qd + random.normal(0.0, noise, 7)
        rig.take(rig.arm.update(state.t, state.q, noisy), state.t)
        if rig.arm.mode is Mode.HOLDING:
            break
    assert rig.arm.mode is Mode.HOLDING and np.abs(state.qd).max() < 0.02


def test_silence_after_the_clock_went_back_is_silence():
    rig = Rig()
    rig.arm.follow(Move())
    rig.run(1.0)
    back = rig.state.t - 10.0
    assert rig.arm.mode is Mode.TRACKING
    for k in range(100):
        rig.arm.lost(back + 0.001 * k, "nothing comes")
    assert rig.arm.mode is Mode.SAFE_HOLD and rig.arm.reason == "nothing comes"
    rig.arm.lost(math.nan, "no time")
    rig.arm.lost(-math.inf, "no time")
    assert np.isfinite(rig.arm.update(back + 0.2, rig.state.q, rig.state.qd)).all()


def test_ramp_down_works_without_samples_too():
    rig = Rig()
    rig.arm.follow(Move())
    rig.run(1.0)
    rig.arm.ramp_down()
    coast(rig, 0.3)
    assert not rig.tau.any()


# ---------------------------------------------------------------- settings


def test_settings_change_in_motion_without_a_step():
    rig = Rig()
    rig.arm.follow(Move(duration=4.0))
    for law in (*LAWS, *reversed(LAWS)):
        for w in ((20.0,), (40.0,)):
            rig.arm.apply(rig.arm.prepare(ArmSettings(controller=law, frequency=w)))
            rig.run(0.2)
    assert rig.is_in(Mode.TRACKING)
    rig.arm.apply(rig.arm.prepare(ArmSettings()))
    rig.run(1.5)
    assert rig.is_in(Mode.HOLDING)
    np.testing.assert_allclose(rig.state.q, END, atol=1e-3)


def test_changed_reaction_takes_over_while_reacting():
    rig = Rig(reaction="stop")
    rig.arm.follow(Move())
    rig.run(1.0)
    rig.arm.contact(True, np.zeros(7))
    rig.run(0.05)
    for kind in ("float", "reflex", "admittance", "none", "stop"):
        rig.arm.apply(rig.arm.prepare(ArmSettings(reaction=kind)))
        rig.run(0.2)
        assert rig.is_in(Mode.REACTING)


def test_lowered_limits_are_approached_at_the_rate_limit():
    heavy = np.radians([0.0, 90.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    rig = Rig(heavy)
    rig.run(0.1)
    before = np.abs(rig.tau).max()
    share = 0.5 * before / LWR.tau_max[np.argmax(np.abs(rig.tau))]
    rig.arm.apply(rig.arm.prepare(ArmSettings(torque_share=share, tau_rate_max=(200.0,))))
    rig.rate = 200.0
    rig.run(0.5)
    assert (np.abs(rig.tau) <= share * LWR.tau_max + 1e-9).all()


def test_settings_are_refused_as_a_whole_and_nothing_changes():
    arm = ArmController(LWR)
    before = arm.settings
    with pytest.raises(rd.ArgumentError, match="controller"):
        ArmSettings(controller="magic")
    with pytest.raises(rd.ArgumentError, match="damping"):
        ArmSettings(damping=-1.0)
    with pytest.raises(rd.ArgumentError, match="frequency"):
        arm.prepare(ArmSettings(frequency=(10.0, 20.0)))
    with pytest.raises(rd.ArgumentError, match="tau_rate_max"):
        ArmSettings(tau_rate_max=(0.0,))
    with pytest.raises(rd.ArgumentError, match="reflex_gain"):
        arm.prepare(ArmSettings(reaction="reflex", reflex_gain=(1.0, 2.0)))
    assert arm.settings is before


def test_every_setting_is_explained():
    for name, value, about in leaves(ArmSettings()):
        assert len(about.text) > 10, name
        first = value[0] if isinstance(value, tuple) and value else value
        if not isinstance(first, (str, bool)):
            assert about.low > -math.inf, name


# ---------------------------------------------------------------- the reference alone


def test_a_safe_hold_that_is_thrown_brakes_anew_and_does_not_swing():
    """A stiff law whose torque may not change fast enough swings the arm up from there."""
    rig = Rig()
    rig.run(0.2)
    rig.arm.safe_hold("test")
    rig.run(0.4)
    for _ in range(40):
        rig.tau = rig.tau - 80.0 * (np.arange(7) == 1)
        state = rig.plant.step(rig.tau, DT)
        rig.tau = rig.arm.update(state.t, state.q, state.qd)
    assert np.abs(state.qd).max() > 0.3  # it was thrown
    rig.given_at = state.t
    rig.run(1.5)
    assert rig.arm.mode is Mode.SAFE_HOLD
    assert max(np.abs(s.qd).max() for s in rig.states[-500:]) < 0.01


def test_an_arm_that_is_thrown_goes_to_a_safe_hold_instead_of_swinging_up():
    rig = Rig()
    rig.run(0.4)
    for _ in range(40):
        rig.tau = rig.tau - 80.0 * (np.arange(7) == 1)
        state = rig.plant.step(rig.tau, DT)
        rig.tau = rig.arm.update(state.t, state.q, state.qd)
    rig.given_at = state.t
    rig.run(1.5)
    assert rig.arm.mode is Mode.SAFE_HOLD and "velocity error" in rig.arm.reason
    assert max(np.abs(s.qd).max() for s in rig.states[200:]) < 1.0
    assert np.abs(rig.state.qd).max() < 0.01


def test_a_joint_that_the_detector_found_stuck_is_not_moved():
    rig = Rig()
    rig.run(0.2)
    state = rig.plant.state
    rig.arm.on_stuck_joint("joint_3", "seen by the detector")  # at rest: not moving is right
    assert rig.arm.mode is Mode.HOLDING
    rig.arm.follow(Move(state.q, state.q + 0.1))
    rig.arm.on_stuck_joint("joint_3", "seen by the detector")
    assert (rig.arm.mode, rig.arm.reason) == (Mode.SAFE_HOLD, "seen by the detector")
    for k in range(1, 50):
        rig.arm.update(state.t + k * DT, state.q, state.qd + 1e-3 * (-1) ** k)
    assert rig.arm.blind  # its velocity may be noise
    rig.arm.update(state.t + 0.1, state.q + 1e-9, state.qd)
    assert not rig.arm.blind
    with pytest.raises(rd.RobodynError, match="safe hold"):
        rig.arm.follow(Move(state.q, state.q + 0.1))


@pytest.mark.parametrize(("timeout", "held"), [(0.02, True), (0.5, False)])
def test_commands_that_do_not_get_through_lead_to_a_safe_hold(timeout, held):
    rig = Rig(timeout=timeout)
    rig.arm.on_command_feedback(0.0, False)  # reported before its first commands could arrive
    rig.run(0.05)
    assert rig.arm.mode is Mode.HOLDING
    rig.run(0.1)
    rig.arm.on_command_feedback(rig.plant.state.t, False)
    rig.run(0.1)
    assert (rig.arm.mode is Mode.SAFE_HOLD) is held
    rig.arm.on_command_feedback(rig.plant.state.t, True)
    rig.run(1.0)
    assert (rig.arm.mode is Mode.SAFE_HOLD) is held  # until it is cleared


def test_reference_derivatives_are_those_of_its_position():
    """While an offset fades, and while the clock gets its pace: q' = q'(s) s', …"""
    dt = 1e-4
    reference, move = Reference(START + 0.3, scaling()), Move()
    reference.follow(move, 0.7, 0.4)
    reference.resume(START + 0.2, 0.3, 0.5)
    motions = [reference.advance(dt) for _ in range(9000)]
    assert not reference.resuming
    for low, high in ((0, 1), (1, 2)):
        x, xd = (np.array([m[k] for m in motions]) for k in (low, high))
        slope = (x[2:] - x[:-2]) / (2.0 * dt)
        np.testing.assert_allclose(slope, xd[1:-1], atol=2e-3 * np.abs(xd).max())
    xdd, xddd = (np.array([m[k] for m in motions]) for k in (2, 3))
    inside = np.r_[10:2900, 3100:7900, 8100:8990]  # jerk jumps where a piece ends
    slope = (xdd[inside + 1] - xdd[inside - 1]) / (2.0 * dt)
    np.testing.assert_allclose(slope, xddd[inside], atol=2e-3 * np.abs(xddd).max())


def test_reference_clock_loses_half_of_the_ramp():
    reference, move = Reference(START, scaling()), Move()
    reference.follow(move, 0.5, 0.4)
    reference.resume(move.at(0.5).q, 0.3, 0.5)  # nothing to fade: the clock starts at once
    for _ in range(350):
        reference.advance(DT)
    assert reference.s == pytest.approx(0.5 + 0.7 - 0.25, abs=2e-4)
    reference.stop(0.2)
    for _ in range(101):
        reference.advance(DT)
    assert reference.arrived
    assert isinstance(reference.path, Rest)
