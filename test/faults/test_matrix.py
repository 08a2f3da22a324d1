"""Every row of the matrix has its cases, and no case stands twice."""

import re
from collections import Counter

import pytest
import test_command_faults
import test_composed_faults
import test_contact_faults
import test_effort_faults
import test_joint_state_faults
import test_node_faults
import test_parameter_faults
import test_robot_faults
import test_system_faults
import test_urdf_rows
from source_tree import ROOT

TABLES = (
    test_joint_state_faults,
    test_command_faults,
    test_urdf_rows,
    test_parameter_faults,
    test_node_faults,
    test_system_faults,
    test_composed_faults,
    test_effort_faults,
    test_contact_faults,
    test_robot_faults,
)
CASES = [case for table in TABLES for case in table.CASES]


@pytest.mark.parametrize("row", range(1, 45))
def test_every_row_has_a_case(row):
    assert any(case.row == row for case in CASES)


def test_the_document_counts_them():
    lines = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if re.match(r"\| \d+ \|", line)]
    told = {int(row[0]): int(row[-1]) for row in rows}
    assert told == Counter(case.row for case in CASES)


def test_there_are_enough_cases():
    assert len(CASES) >= 100
    assert len({str(case) for case in CASES}) == len(CASES)
