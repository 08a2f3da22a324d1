"""Joint states by their bytes: the same numbers as message by message."""

import numpy as np
import pytest
from recording_cases import MODEL

from robodyn_ros.errors import ArgumentError
from robodyn_ros.recording.joint_states import TYPE, JointStates, serialized

typesys = pytest.importorskip("rosbags.typesys")
STORES = {
    True: typesys.get_typestore(typesys.Stores.ROS2_JAZZY),
    False: typesys.get_typestore(typesys.Stores.ROS1_NOETIC),
}
RNG = np.random.default_rng(7)


def message(store, names, sec, nanosec, *sizes, frame=""):
    time = store.types["builtin_interfaces/msg/Time"](sec, nanosec)
    kind = store.types["std_msgs/msg/Header"]
    head = {"stamp": time, "frame_id": frame}
    if "seq" in kind.__dataclass_fields__:
        head["seq"] = int(RNG.integers(1, 1 << 30))
    fields = [RNG.normal(size=size) for size in sizes]
    return store.types[TYPE](kind(**head), list(names), *fields)


def raw(store, ros2, made):
    return bytes(store.serialize_cdr(made, TYPE) if ros2 else store.serialize_ros1(made, TYPE))


@pytest.mark.parametrize("ros2", [True, False], ids=["ros2", "ros1"])
def test_series_of_changing_messages(ros2):
    store = STORES[ros2]
    shapes = [
        (("b", "a"), (2, 2, 2), "base"),
        (("b", "a"), (2, 2, 2), "base"),
        (("a", "finger", "b"), (3, 3, 3), ""),  # another order, other joints beside
        (("b", "a"), (2, 0, 2), "x"),  # no velocity, with the same length as
        (("b", "a"), (2, 2, 0), "x"),  # no effort
        (("finger",), (1, 1, 1), ""),  # none of ours: left out
    ]
    made = [
        message(store, names, 1_700_000_000 + k, 10 * k + 1, *sizes, frame=frame)
        for k, (names, sizes, frame) in enumerate(shapes)
    ]
    found = JointStates([(k, raw(store, ros2, m)) for k, m in enumerate(made)], aligned=ros2)
    assert found.received.tolist() == [0, 1, 2, 3, 4, 5]
    assert found.found == {"a", "b", "finger"}
    stamps = [one.header.stamp.sec + 1e-9 * one.header.stamp.nanosec for one in made]
    np.testing.assert_array_equal(found.stamps, stamps)
    for field in ("position", "velocity", "effort"):
        whole = [
            (t, getattr(one, field)[[one.name.index(name) for name in ("a", "b")]])
            for t, one in zip(stamps, made, strict=True)
            if "a" in one.name and len(getattr(one, field))
        ]
        t, values = found.columns(("a", "b"), field)
        np.testing.assert_array_equal(t, [when for when, _ in whole])
        np.testing.assert_array_equal(values, [numbers for _, numbers in whole])


@pytest.mark.parametrize("cut", [20, 60, 100, 139])
def test_a_message_that_was_cut_is_refused(cut):
    store = STORES[True]
    whole = raw(store, True, message(store, ("a", "b"), 1, 2, 2, 2, 2))
    with pytest.raises(ArgumentError, match="damaged"):
        JointStates([(0, whole[: min(cut, len(whole) - 1)])], aligned=True)


def test_written_messages_are_what_rosbags_reads():
    store = STORES[True]
    t = np.array([5, 1_700_000_000_123_456_789], np.int64)
    q, tau = RNG.normal(size=(2, 2, 7))
    template = raw(store, True, message(store, MODEL.joint_names, 0, 0, 7, 0, 7))
    for k, one in enumerate(serialized(template, t, q, tau)):
        read = store.deserialize_cdr(one, TYPE)
        assert read.header.stamp.sec * 10**9 + read.header.stamp.nanosec == t[k]
        assert tuple(read.name) == MODEL.joint_names
        np.testing.assert_array_equal(read.position, q[k])
        np.testing.assert_array_equal(read.effort, tau[k])
        assert len(read.velocity) == 0
