"""Recordings: read by column or by joint name, and refused when damaged."""

import math
from pathlib import Path

import numpy as np
import pytest

from robodyn_ros.errors import ArgumentError, LogWarning
from robodyn_ros.sensing.bag_log import read_bag
from robodyn_ros.sensing.csv_log import ColumnMap, read_csv
from robodyn_ros.sensing.log import Log

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "ur10e"
ROWS = 100
T = 0.01 * np.arange(ROWS)
Q = np.column_stack([np.sin(T), np.cos(2.0 * T)])
QD = np.column_stack([np.cos(T), -2.0 * np.sin(2.0 * T)])
TAU = np.column_stack([3.0 * T, 1.0 - T])


def write(path, table, names=()):
    lines = [",".join(names)] if names else []
    lines += [",".join(repr(float(x)) for x in row) for row in table]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_file_with_names(tmp_path):
    table = np.column_stack([TAU, T, Q, QD])
    path = write(tmp_path / "run.csv", table, ["i1", "i2", "time", "a", "b", "va", "vb"])
    log = read_csv(path, ColumnMap("time", ["a", "b"], ["i1", "i2"], ["va", "vb"]), gains=[2, 10])
    np.testing.assert_array_equal(log.q, Q)
    np.testing.assert_array_equal(log.qd, QD)
    np.testing.assert_allclose(log.tau, TAU * [2.0, 10.0])
    assert log.name == "run" and log.n == 2


def test_rows_whose_time_goes_back_are_left_out_with_a_warning(tmp_path):
    table = np.insert(np.column_stack([T, Q, QD, TAU]), [20, 60], [[0.05] * 7], axis=0)
    path = write(tmp_path / "log.csv", table)
    with pytest.warns(LogWarning, match="2 of 102 rows left out"):
        log = read_csv(path, ColumnMap.parse("t=0 q=1-2 qd=3,4 tau=5-6"))
    np.testing.assert_array_equal(log.q, Q)


def test_a_row_of_one_number_is_refused(tmp_path):
    path = write(tmp_path / "log.csv", np.column_stack([T, Q, QD, TAU]))
    path.write_text(path.read_text() + "2.0\n")
    with pytest.raises(ArgumentError, match="row 100 does not hold 7 numbers"):
        read_csv(path, ColumnMap.parse("t=0 q=1-2 qd=3,4 tau=5-6"))


def test_column_numbers_rows_and_repeated_times(tmp_path):
    table = np.column_stack([T, Q, QD, TAU])
    table = np.insert(table, 40, table[40], axis=0)
    path = write(tmp_path / "run.csv", table)
    log = read_csv(path, ColumnMap.parse("t=0 q=1-2 qd=3,4 tau=5-6"), rows=(10, 90))
    np.testing.assert_array_equal(log.t, T[10:89])
    np.testing.assert_array_equal(log.tau, TAU[10:89])


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_and_a_mark_before_the_first_name(tmp_path, delimiter):
    path = write(tmp_path / "run.csv", np.column_stack([T, Q, TAU]), ["t", "a", "b", "c", "d"])
    path.write_text("\ufeff" + path.read_text().replace(",", delimiter), encoding="utf-8")
    log = read_csv(path, ColumnMap("t", ["a", "b"], ["c", "d"]))
    np.testing.assert_array_equal(log.tau, TAU)
    with pytest.raises(ArgumentError, match="does not hold 1 number with ',' between"):
        read_csv(path, ColumnMap(0, [1], [2]), delimiter=",")


def test_a_log_is_written_as_it_is_read(tmp_path):
    Log(T, Q, QD, TAU).to_csv(tmp_path / "log.csv")
    again = read_csv(tmp_path / "log.csv", ColumnMap("t", ["q1", "q2"], ["tau1", "tau2"], [3, 4]))
    for name in ("t", "q", "qd", "tau"):
        np.testing.assert_allclose(
            getattr(again, name), {"t": T, "q": Q, "qd": QD, "tau": TAU}[name]
        )


def test_velocities_that_are_not_there_are_differences(tmp_path):
    path = write(tmp_path / "run.csv", np.column_stack([T, Q, TAU]))
    log = read_csv(path, ColumnMap.parse("t=0 q=1-2 tau=3-4"))
    np.testing.assert_allclose(log.qd[1:-1], QD[1:-1], atol=1e-3)


@pytest.mark.parametrize("bad", [1e293, math.nan, math.inf, -1e8])
def test_damage_is_told_by_row_and_column(tmp_path, bad):
    table = np.column_stack([T, Q, QD, TAU])
    table[57, 4] = bad
    path = write(tmp_path / "run.csv", table)
    columns = ColumnMap.parse("t=0 q=1-2 qd=3-4 tau=5-6")
    with pytest.raises(ArgumentError, match=r"damaged: row 57, column 4 holds"):
        read_csv(path, columns, rows=(3, None))
    assert read_csv(path, columns, rows=(0, 57)).t.size == 57


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no recordings in {DATA}")
def test_the_damaged_recording_of_a_ur10e_is_refused():
    columns = ColumnMap.parse("t=0 q=1-6 qd=7-12 tau=13-18")
    with pytest.raises(ArgumentError, match=r"damaged: row \d+, column \d+ holds"):
        read_csv(DATA / "ur-19_09_27-11_32_02.csv", columns)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t=0 q=1-2", "lacks tau"),
        ("t=0 q=1-2 tau=3", "same number"),
        ("time=0 q=1 tau=2", "no column map"),
    ],
)
def test_column_maps_that_say_nothing(text, message):
    with pytest.raises(ArgumentError, match=message):
        ColumnMap.parse(text)


def test_files_that_do_not_fit(tmp_path):
    path = write(tmp_path / "run.csv", np.column_stack([T, Q, QD, TAU]))
    with pytest.raises(ArgumentError, match="columns 0 to 6, not 9"):
        read_csv(path, ColumnMap(0, [1, 2], [6, 9]))
    with pytest.raises(ArgumentError, match="no column 'time'"):
        read_csv(path, ColumnMap("time", [1, 2], [5, 6]))
    with pytest.raises(ArgumentError, match="cannot read"):
        read_csv(tmp_path / "none.csv", ColumnMap(0, [1], [2]))
    path.write_text("0,1,2\n0.01,x,3\n")
    with pytest.raises(ArgumentError, match="row 1 does not hold 3 numbers"):
        read_csv(path, ColumnMap(0, [1], [2]))


@pytest.mark.parametrize("text", ["", "t,q,tau\n", "\n\n"])
def test_a_file_without_numbers_is_refused(tmp_path, text):
    path = tmp_path / "empty.csv"
    path.write_text(text)
    with pytest.raises(ArgumentError, match="holds no numbers"):
        read_csv(path, ColumnMap("t", ["q"], ["tau"]))


@pytest.mark.parametrize("names, count", [("t,q,qd,tau", 4), ("t,q", 2)])
def test_names_that_are_more_or_fewer_than_the_columns_are_refused(tmp_path, names, count):
    path = tmp_path / "shifted.csv"
    path.write_text(f"{names}\n0.0,1.0,2.0\n0.1,1.0,2.0\n")
    with pytest.raises(ArgumentError, match=f"names {count} columns and the next one holds 3"):
        read_csv(path, ColumnMap("t", ["q"], ["q"]))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"qd": QD[:, :1]}, "qd must have q's shape"),
        ({"t": T[::-1]}, "goes back at sample 1"),
        ({"tau": TAU * math.nan}, "tau of joint 1 at sample 0 is nan"),
        ({"q": Q * 1e300}, "damaged: q of joint 2 at sample 0"),
        ({"t": "yesterday"}, "must be numbers"),
    ],
)
def test_logs_that_cannot_be(changed, message):
    with pytest.raises(ArgumentError, match=message):
        Log(**({"t": T, "q": Q, "qd": QD, "tau": TAU} | changed))


def test_a_log_keeps_its_numbers():
    mine = TAU.copy()
    log = Log(T, Q, QD, mine)
    mine[:] = 0.0
    np.testing.assert_array_equal(log.tau, TAU)
    np.testing.assert_array_equal(log.part(10, 80).q, Q[10:80])


def write_bag(folder, with_velocity=True):
    """Joint states in another order, some of them about other joints."""
    from rosbags.rosbag2 import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    types = store.types
    Time, Header = types["builtin_interfaces/msg/Time"], types["std_msgs/msg/Header"]
    JointState = types["sensor_msgs/msg/JointState"]
    with Writer(folder, version=9) as writer:
        kind = "sensor_msgs/msg/JointState"
        connection = writer.add_connection("/joint_states", kind, typestore=store)
        for k in range(ROWS):
            stamp = Time(sec=5 + int(T[k]), nanosec=round(1e9 * (T[k] % 1.0)))
            qd = QD[k, ::-1].copy() if with_velocity else np.zeros(0)
            message = JointState(
                Header(stamp, ""), ["b", "a"], Q[k, ::-1].copy(), qd, TAU[k, ::-1].copy()
            )
            stranger = JointState(
                Header(stamp, ""), ["finger"], np.ones(1), np.ones(1), np.ones(1)
            )
            for one in (message, stranger):
                writer.write(connection, 1000 * k, store.serialize_cdr(one, kind))


@pytest.mark.parametrize("with_velocity", [True, False])
def test_a_bag_is_read_by_joint_name(tmp_path, with_velocity):
    pytest.importorskip("rosbags")
    write_bag(tmp_path / "bag", with_velocity)
    log = read_bag(tmp_path / "bag", ["a", "b"], gains=2.0)
    np.testing.assert_allclose(log.t, T, atol=1e-6)
    np.testing.assert_array_equal(log.q, Q)
    np.testing.assert_allclose(log.qd[1:-1], QD[1:-1], atol=0.0 if with_velocity else 1e-3)
    np.testing.assert_array_equal(log.tau, 2.0 * TAU)


def test_bags_that_do_not_fit(tmp_path):
    pytest.importorskip("rosbags")
    with pytest.raises(ArgumentError, match="cannot read the bag"):
        read_bag(tmp_path, ["a"])
    write_bag(tmp_path / "bag")
    with pytest.raises(ArgumentError, match="no JointState on /elsewhere; it has /joint_states"):
        read_bag(tmp_path / "bag", ["a"], topic="/elsewhere")
    with pytest.raises(ArgumentError, match="all of a, c"):
        read_bag(tmp_path / "bag", ["a", "c"])
