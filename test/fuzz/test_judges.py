"""The judges of the fuzzing themselves: each must see what is wrong, and pass what is right."""

import contextlib
import json

import numpy as np
import pytest
from checkpoint import Checkpoint
from fuzz_logs import Recorded, compare, compare_bag, csv_text, motion
from fuzz_tools import Finding, Verdict, expect, mutated_bytes, random_of, time_limit
from fuzz_urdf import seeds, verdict
from rich.console import Console
from source_tree import ROOT

from robodyn_ros.sensing.log import Log

RIGHT = (ROOT / "urdf" / "planar_2r.urdf").read_bytes()
WRONG = {
    "cut short": RIGHT[:-30],
    "DOCTYPE": b"<!DOCTYPE robot>" + RIGHT,
    "another root": RIGHT.replace(b"<robot", b"<sdf").replace(b"</robot", b"</sdf"),
    "a link twice": RIGHT.replace(b'<link name="link_2"', b'<link name="link_1"'),
    "a joint twice": RIGHT.replace(b'<joint name="joint_2"', b'<joint name="joint_1"'),
    "unknown kind": RIGHT.replace(b'type="continuous"', b'type="spherical"', 1),
    "negative mass": RIGHT.replace(b'mass value="', b'mass value="-', 1),
    **{
        limit.decode(): RIGHT.replace(b"<axis", b"<limit " + limit + b"/><axis", 1).replace(
            b'type="continuous"', b'type="revolute"', 1
        )
        for limit in (
            b'lower="1" upper="0.5"',
            b'effort="-1" lower="0" upper="1"',
            b'velocity="nan"',
            b'lower="inf" upper="1"',
        )
    },
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_urdf_is_judged_bad(name):
    assert WRONG[name] != RIGHT
    assert verdict(WRONG[name]) is Verdict.BAD


@pytest.mark.parametrize("tag, name", [("mass", "value"), ("inertia", "ixx"), ("axis", "xyz")])
def test_a_number_that_is_none_is_judged_bad(tag, name):
    start = RIGHT.index(f"<{tag} ".encode())
    first = RIGHT.index(f'{name}="'.encode(), start) + len(name) + 2
    wrong = RIGHT[:first] + b"nan" + RIGHT[RIGHT.index(b'"', first) :]
    assert verdict(wrong) is Verdict.BAD


def test_right_urdfs_are_not_judged_bad():
    assert all(verdict(text) is Verdict.EITHER for text in seeds()[:4])
    assert verdict(RIGHT) is Verdict.EITHER
    prefixed = RIGHT.replace(b"</robot>", b"<xacro:property name='a'/></robot>")
    assert verdict(prefixed) is Verdict.EITHER


FRAME = b"""<link name="frame"><inertial><mass value="-0.001"/>
<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
<joint name="fixed" type="fixed"><parent link="link_2"/><child link="frame"/></joint></robot>"""


def test_a_mass_is_judged_with_all_that_is_fixed_to_it():
    lumped = RIGHT.replace(b"</robot>", FRAME)
    assert verdict(lumped) is Verdict.EITHER
    assert verdict(lumped.replace(b"-0.001", b"-100")) is Verdict.BAD
    at_base = FRAME.replace(b"-0.001", b"-100").replace(b"link_2", b"base_link")
    assert verdict(RIGHT.replace(b"</robot>", at_base)) is Verdict.EITHER


def test_endless_limits_are_not_judged_bad():
    limit = b'<limit lower="-inf" upper="inf" effort="inf" velocity="inf"/><axis'
    text = RIGHT.replace(b"<axis", limit, 1).replace(b'"continuous"', b'"revolute"', 1)
    assert verdict(text) is Verdict.EITHER


def test_csv_files_of_both_kinds_are_made():
    made = [csv_text(random_of(1, "csv", case)) for case in range(60)]
    assert {one.verdict for one in made} == {Verdict.BAD, Verdict.EITHER}
    assert any(one.table is not None and (np.diff(one.table[:, 0]) < 0.0).any() for one in made)


def test_a_log_that_is_not_what_was_written_is_found():
    table = motion()
    t, q, qd, tau = table[:, 0], table[:, 1:3], table[:, 3:5], table[:, 5:]
    compare(Log(t, q, qd, tau), table, warned=False)
    with pytest.raises(Finding, match="not written"):
        compare(Log(t, q, qd, tau + 1e-9), table, warned=False)
    back = np.insert(table, 30, table[3], axis=0)
    compare(Log(t, q, qd, tau), back, warned=True)
    with pytest.raises(Finding, match="did not say so"):
        compare(Log(t, q, qd, tau), back, warned=False)


def test_a_bag_that_is_not_what_was_written_is_found():
    table = motion()
    rows = [(row[0], [row[1:3], row[3:5], row[5:]]) for row in table]
    log = Log(table[:, 0], table[:, 1:3], table[:, 3:5], table[:, 5:])
    assert Recorded(rows).verdict() is Verdict.EITHER
    compare_bag(log, Recorded(rows), warned=False)
    with pytest.raises(Finding, match="q that was not written"):
        compare_bag(log, Recorded([(t, [v[0] + 1e-9, *v[1:]]) for t, v in rows]), warned=False)
    lacking = Recorded([*rows[:9], (rows[9][0], [np.zeros(3)] * 3), *rows[10:]])
    with pytest.raises(Finding, match="times that was not written"):
        compare_bag(log, lacking, warned=True)
    with pytest.raises(Finding, match="did not say so"):
        compare_bag(log, lacking, warned=False)
    for bad in (np.nan, np.inf, 1e308):
        worse = [*rows[:9], (rows[9][0], [np.full(2, bad), *rows[9][1][1:]]), *rows[10:]]
        assert Recorded(worse).verdict() is Verdict.BAD


def test_a_case_is_the_same_each_time():
    a, b = (mutated_bytes(random_of(3, "x", 5), RIGHT) for _ in range(2))
    assert a == b != mutated_bytes(random_of(3, "x", 6), RIGHT)


def test_a_hang_is_a_finding():
    def hang():
        while True:
            pass

    with pytest.raises(Finding, match="hangs"), time_limit(0.05):
        hang()


def test_expect_tells():
    expect(True, "nothing")
    with pytest.raises(Finding, match="one 2"):
        expect(False, "one", 2)


def fuzzed(kept, ends=None):
    """Fuzz by a check that finds something in case 2, up to an interruption."""
    long_run = pytest.importorskip("long_run")

    def check(seed, case):
        if case == ends:
            raise KeyboardInterrupt
        expect(case != 2, "found", seed)
        return {"even" if case % 2 == 0 else "odd": 3}

    kinds = [long_run.Kind(name, 20, check) for name in ("urdfs", "csvs")]
    with contextlib.suppress(KeyboardInterrupt):
        long_run.run_all(kinds, [], kept, 7, Console(quiet=True))
    return [(kind.done, kind.cases, kind.inputs, [c for c, _ in kind.findings]) for kind in kinds]


def test_a_long_run_goes_on_from_its_checkpoint_and_keeps_its_findings():
    kept = Checkpoint(None, {})
    assert fuzzed(kept, ends=4)[0][1:] == (4, 10, [2])
    kept.state = json.loads(json.dumps(kept.state))
    assert fuzzed(kept) == fuzzed(Checkpoint(None, {})) != []
