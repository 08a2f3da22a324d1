"""A slice of the fuzzing in every run of the tests; `make fuzz` does the rest."""

from collections import Counter

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed: pip install '.[ros]'")

from arm_rig import DT  # noqa: E402
from fuzz_arm import KINDS, episode  # noqa: E402
from fuzz_logs import bag_log, csv_log  # noqa: E402
from fuzz_parameters import GAIN, RULES, border, parameter_sets  # noqa: E402
from fuzz_parameters import verdict as parameter_verdict  # noqa: E402
from fuzz_tools import Verdict, warm_up  # noqa: E402
from fuzz_urdf import seeds, urdf  # noqa: E402
from fuzz_yaml import yaml_file  # noqa: E402

from robodyn_ros.nodes.node_settings import (  # noqa: E402
    ControllerSettings,
    DynamicsSettings,
    SimulatorSettings,
)
from robodyn_ros.settings import leaves  # noqa: E402

SEED = 8


@pytest.fixture(scope="module", autouse=True)
def compiled():
    warm_up()


def test_messages():
    courses = [episode(SEED, case, messages=400) for case in range(6)]
    for course in courses:
        assert sum(course.sent.values()) >= 400
        assert set(course.sent) == set(KINDS)
    tally = sum((course.tally for course in courses), Counter())
    assert tally["judged"] > 0.3 * tally["known"] > 0  # the rest has an excuse for an alarm


@pytest.mark.parametrize(
    "node, defaults",
    [
        ("dynamics_node", DynamicsSettings()),
        ("controller_node", ControllerSettings()),
        ("simulator_node", SimulatorSettings()),
    ],
)
def test_there_is_a_rule_for_every_parameter(node, defaults):
    changeable = {name for name, _, about in leaves(defaults) if not about.fixed}
    assert set(RULES[node]) == changeable


def test_values_at_the_borders_are_tried():
    random = np.random.default_rng(SEED)
    gains = [border(random, GAIN) for _ in range(200)]
    judged = {gain: parameter_verdict(GAIN, [gain]) for gain in gains}
    assert judged[0.99 / DT] is judged[1e-3] is Verdict.EITHER
    assert judged[1.01 / DT] is judged[np.nextafter(1e-3, 0.0)] is Verdict.BAD


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
