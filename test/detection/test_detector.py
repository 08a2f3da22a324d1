"""From residual to state: levels, debounce, hysteresis, settling, and never CLEAR on bad data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import robodyn_ros as rd
from robodyn_ros.detection.detector import CollisionDetector, Level
from robodyn_ros.detection.thresholds import Thresholds

ARM = rd.robots.planar_2r()
DT = 0.001


def detector(contact=1.0, collision=2.0, **options):
    return CollisionDetector(contact, collision, ARM, **options)


def test_two_levels_per_joint_name_joints_and_link():
    watch = detector([1.0, 3.0], [2.0, 4.0])
    assert watch.update([0.5, 2.5], DT).level is Level.CLEAR
    state = watch.update([1.5, 0.0], DT)
    assert (state.level, state.joints, state.link) == (Level.CONTACT, ("joint_1",), "link_1")
    state = watch.update([1.5, -4.5], DT)
    assert (state.level, state.link) == (Level.COLLISION, "link_2")
    assert state.joints == ("joint_1", "joint_2")


def test_works_without_a_model():
    watch = CollisionDetector([1.0, 1.0, 1.0], 2.0)
    state = watch.update([0.0, 3.0, 0.0], DT)
    assert (state.level, state.joints, state.link) == (Level.COLLISION, ("joint_2",), None)


def test_debounce_waits_and_hysteresis_holds():
    watch = detector(debounce=0.0025, hysteresis=0.5)
    levels = [watch.update([1.5, 0.0], DT).level for _ in range(4)]
    assert levels == [Level.CLEAR, Level.CLEAR, Level.CONTACT, Level.CONTACT]
    assert watch.update([0.6, 0.0], DT).level is Level.CONTACT  # below 1, above 0.5
    assert watch.update([0.4, 0.0], DT).level is Level.CLEAR
    assert watch.update([1.5, 0.0], DT).level is Level.CLEAR  # a single sample again


def test_release_takes_its_time():
    watch = detector(release=0.0025)
    watch.update([1.5, 0.0], DT)
    levels = [watch.update([0.0, 0.0], DT).level for _ in range(4)]
    assert levels == [Level.CONTACT, Level.CONTACT, Level.CLEAR, Level.CLEAR]


def test_unknown_while_it_settles_and_after_bad_data():
    watch = detector(settling=0.0025)
    levels = [watch.update([0.0, 0.0], DT).level for _ in range(4)]
    assert levels == [Level.UNKNOWN, Level.UNKNOWN, Level.CLEAR, Level.CLEAR]
    assert watch.update([np.nan, 0.0], DT).level is Level.UNKNOWN
    assert watch.update([0.0, 0.0], DT).level is Level.UNKNOWN


def test_masked_joints_are_not_looked_at():
    watch = detector(masked=("joint_1",))
    assert watch.update([9.0, 0.0], DT).level is Level.CLEAR
    assert watch.update([9.0, 9.0], DT).joints == ("joint_2",)


def test_thresholds_follow_the_motion():
    limits = Thresholds([1.0, 1.0], in_motion=2.0, per_velocity=3.0)
    watch = CollisionDetector(limits, limits.scaled(2.0), ARM)
    assert watch.update([2.0, 0.0], DT, qd=[0.0, 0.0]).level is Level.CONTACT
    assert watch.update([0.0, 0.0], DT, qd=[0.0, 0.0]).level is Level.CLEAR
    assert watch.update([5.0, 0.0], DT, qd=[1.0, 0.0]).level is Level.CLEAR  # 1 + 2 + 3
    assert watch.update([5.0, 0.0], DT, qd=[np.nan, 0.0]).level is Level.UNKNOWN


anything = st.one_of(
    st.none(),
    st.text(max_size=3),
    st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=4),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(anything, st.floats(allow_nan=True, allow_infinity=True)), max_size=20))
def test_bad_data_is_never_clear(samples):
    watch = detector()
    for r, dt in samples:
        state = watch.update(r, dt)
        good = isinstance(r, list) and len(r) == 2 and np.isfinite(r).all() and 0.0 < dt < np.inf
        assert good or state.level is Level.UNKNOWN
        assert good or state.reason


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((-1.0, 2.0), {}),
        ((1.0, [2.0, np.nan]), {}),
        ((1.0, [2.0] * 3), {}),
        ((3.0, 2.0), {}),
        ((1.0, 2.0), {"debounce": -1.0}),
        ((1.0, 2.0), {"hysteresis": 0.0}),
        ((1.0, 2.0), {"masked": ("elbow",)}),
    ],
)
def test_settings_are_checked(arguments, options):
    with pytest.raises(rd.ArgumentError):
        CollisionDetector(*arguments, ARM, **options)


@pytest.mark.parametrize("r", [np.zeros(3), np.zeros(1), np.zeros((1, 2)), "ab", {}, [[]]])
def test_a_residual_of_another_shape_is_bad_data(r):
    assert detector().update(r, DT).level is Level.UNKNOWN


def test_a_velocity_of_another_shape_is_bad_data():
    watch = detector(Thresholds([1.0, 1.0], per_velocity=1.0))
    assert watch.update(np.zeros(2), DT, np.zeros(2)).level is Level.CLEAR
    assert watch.update(np.zeros(2), DT, np.zeros(3)).level is Level.UNKNOWN
