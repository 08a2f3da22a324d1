"""A slice of the fuzzing in every run of the tests; `make fuzz` does the rest."""

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed: pip install '.[ros]'")

from fuzz_arm import KINDS, episode  # noqa: E402
from fuzz_logs import bag_log, csv_log  # noqa: E402
from fuzz_parameters import parameter_sets  # noqa: E402
from fuzz_tools import Verdict, warm_up  # noqa: E402
from fuzz_urdf import seeds, urdf  # noqa: E402
from fuzz_yaml import yaml_file  # noqa: E402

SEED = 8


@pytest.fixture(scope="module", autouse=True)
def compiled():
    warm_up()


@pytest.mark.parametrize("case", range(4))
def test_messages(case):
    count = episode(SEED, case, messages=400)
    assert sum(count.values()) >= 400
    assert set(count) == set(KINDS)


def test_parameters():
    count = parameter_sets(SEED, 0)
    assert all(count[verdict] > 0 for verdict in Verdict)


def test_urdfs():
    texts = seeds()
    assert len(texts) >= 4
    came = [urdf(texts, SEED, case) for case in range(120)]
    assert 30 < came.count("refused") < 110


def test_parameter_files(tmp_path):
    came = {yaml_file(tmp_path, SEED, case) for case in range(20)}
    assert came == {"refused", "started"}


def test_csv_files(tmp_path):
    came = {csv_log(tmp_path, SEED, case) for case in range(100)}
    assert came == {"refused", "read"}


def test_bags(tmp_path):
    pytest.importorskip("rosbags")
    came = {bag_log(tmp_path, SEED, case) for case in range(12)}
    assert came == {"refused", "read"}
