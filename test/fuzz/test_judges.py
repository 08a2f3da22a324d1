"""The judges of the fuzzing themselves: each must see what is wrong, and pass what is right."""

import pytest
from fuzz_logs import csv_text
from fuzz_tools import Finding, Verdict, expect, mutated_bytes, random_of, time_limit
from fuzz_urdf import seeds, verdict
from source_tree import ROOT

RIGHT = (ROOT / "urdf" / "planar_2r.urdf").read_bytes()
WRONG = {
    "cut short": RIGHT[:-30],
    "DOCTYPE": b"<!DOCTYPE robot>" + RIGHT,
    "another root": RIGHT.replace(b"<robot", b"<sdf").replace(b"</robot", b"</sdf"),
    "a link twice": RIGHT.replace(b'<link name="link_2"', b'<link name="link_1"'),
    "a joint twice": RIGHT.replace(b'<joint name="joint_2"', b'<joint name="joint_1"'),
    "unknown kind": RIGHT.replace(b'type="continuous"', b'type="spherical"', 1),
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


def test_csv_files_of_both_kinds_are_made():
    made = {csv_text(random_of(1, "csv", case))[1] for case in range(30)}
    assert made == {Verdict.BAD, Verdict.EITHER}


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
