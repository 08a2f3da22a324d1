"""Suggested thresholds: from the part without contact, quiet on it, and taken by the node."""

import json

import numpy as np
import pytest
from recording_cases import MODEL, TOUCHES, write_bag

from robodyn_ros.detection.monitor_settings import MonitorSettings, ThresholdSettings
from robodyn_ros.errors import ArgumentError
from robodyn_ros.recording import node_yaml
from robodyn_ros.recording.command import AnalysisOptions, analysed
from robodyn_ros.recording.command import tuned as tuned_command
from robodyn_ros.recording.offline import detect
from robodyn_ros.recording.tuning import (
    COLLISION_FACTOR,
    MARGIN,
    MIN_THRESHOLD,
    RATES,
    SCALES,
    tune,
)
from robodyn_ros.sensing.effort_settings import EffortSettings

pytest.importorskip("rosbags")


def tuned(path, **how):
    with analysed(AnalysisOptions(path, robot="lwr_iii", **how)) as answer:
        spans = answer.spans or ()
        return answer, tune(answer.run, answer.found, spans, answer.early)


@pytest.fixture(scope="module")
def touched(tmp_path_factory):
    return tuned(write_bag(tmp_path_factory.mktemp("bags") / "touched"))


def test_contacts_do_not_count(touched, tmp_path):
    """The same noise with and without the touches: the same thresholds, nearly."""
    _, free = tuned(write_bag(tmp_path / "free", touches=()))
    _, with_touches = touched
    np.testing.assert_allclose(with_touches.shape.base, free.shape.base, rtol=0.35)
    assert with_touches.shape.base.max() < 1.0  # the touches reach 12
    # Where they are not known, they count
    _, blind = tuned(write_bag(tmp_path / "blind", truth=False))
    assert blind.shape.at(np.zeros(MODEL.n)).max() > 5.0
    told = tuple((begin, end) for begin, end, _ in TOUCHES)
    _, given = tuned(tmp_path / "blind", contacts=told)
    np.testing.assert_allclose(given.shape.base, with_touches.shape.base, rtol=0.35)


def test_quiet_at_scale_one_and_every_touch_found(touched):
    answer, tuning = touched
    just = int(np.flatnonzero(SCALES == 1.0)[0])
    assert tuning.alarms[just:].max() == 0.0
    assert tuning.alarms[0] > 0.0  # it is a trade-off
    assert (np.diff(tuning.alarms) <= 0.0).all()
    assert tuning.contacts == 2 and tuning.found[SCALES >= 1.0].min() == 2
    run = answer.run
    found = detect(MODEL, run.samples, tuning.at(tuning.scale(0)))
    about = (run.t > 1.9) & (run.t < 3.0) | (run.t > 4.9) & (run.t < 6.0)
    assert found.level[~about].max() == 1 and found.level[about].max() == 3


def test_a_shape_from_few_samples_is_quiet_on_all(touched, monkeypatch):
    answer, _ = touched
    monkeypatch.setattr("robodyn_ros.recording.tuning.BUCKETS", 10)
    tuning = tune(answer.run, answer.found, answer.spans)
    assert tuning.alarms[SCALES >= 1.0].max() == 0.0


def test_rates_order_the_scales(touched):
    _, tuning = touched
    scales = [tuning.scale(rate) for rate in RATES]
    assert scales[0] == MARGIN and scales == sorted(scales, reverse=True)
    assert not tuning.measurable(1)  # eight seconds
    for rate in RATES[1:]:
        assert tuning.alarms[tuning.scale(rate) == SCALES] <= rate


def test_levels_and_floor(touched, tmp_path):
    _, tuning = touched
    settings = tuning.at(1.0)
    ratio = np.array(settings.collision.base) / np.array(settings.contact.base)
    np.testing.assert_allclose(ratio, COLLISION_FACTOR, rtol=0.02)
    _, exact = tuned(write_bag(tmp_path / "exact", touches=(), noise=0.0))
    for scale in (SCALES[0], 1.0):
        assert (np.array(exact.at(scale).contact.base) >= MIN_THRESHOLD * MODEL.tau_max).all()


def test_the_command_prints_settings_that_are_quiet_on_the_recordings(touched, tmp_path):
    """Touches are known: what is left raises no alarm, and every touch is still found."""
    answer, _ = touched
    path = tmp_path / "dynamics_node.yaml"
    result = tuned_command([answer, answer], 0.0)
    path.write_text(result.yaml)
    found = node_yaml.from_file(path)
    assert found.monitor.noise.long.threshold > 0.0 and found.monitor.bias.rate > 0.0
    assert found.robot == {"name": "lwr_iii"} and found.source == "joint_states"
    assert "N is found" in result.yaml and set(result.forces) == set(MODEL.link_names)
    with analysed(AnalysisOptions(answer.bag.path, params=path)) as again:
        assert all(event.true for event in again.events)
        assert all(event.detected for event in again.events)


def test_the_command_decides_about_friction(tmp_path):
    """Friction in the recording: taken off where the model has it."""
    answer, _ = tuned(write_bag(tmp_path / "free", touches=()))
    result = tuned_command([answer], 0.0)
    assert "not taken off" in result.friction
    assert node_yaml_effort(result.yaml, tmp_path).friction == "none"


def node_yaml_effort(text, folder):
    path = folder / "effort.yaml"
    path.write_text(text)
    return node_yaml.from_file(path).effort


def test_yaml_of_odd_numbers(tmp_path):
    odd = MonitorSettings(
        gain=(1000.0,), contact=ThresholdSettings(base=(1e-6, 3.0, 12345.0)), settling=2.0
    )
    path = tmp_path / "odd.yaml"
    path.write_text(node_yaml.text(node_yaml.NodeParameters({}, "", odd)))
    found = node_yaml.from_file(path).monitor
    assert found.gain == (1000.0,) and found.settling == 2.0
    np.testing.assert_allclose(found.contact.base, odd.contact.base, rtol=1e-3)


def test_the_node_takes_the_yaml(touched, tmp_path):
    pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    from ros_harness import bench

    from robodyn_ros.nodes.dynamics_node import DynamicsNode

    answer, _ = touched
    path = tmp_path / "tuned.yaml"
    path.write_text(tuned_command([answer], 0.0).yaml)
    expected = node_yaml.from_file(path).monitor
    with bench(DynamicsNode, args=["--params-file", str(path)]) as there:
        settings = there.nodes[0].settings
        assert there.nodes[0].robot.name == "lwr_iii"
    assert settings.monitor == expected and expected.noise.short.threshold > 0.0
    assert settings.effort.source == "joint_states"


def test_yaml_holds_the_effort_and_refuses_old_names(tmp_path):
    effort = EffortSettings(gain=(14.87, -1.0), offset=(0.5, 0.0), side="link", friction="model")
    robot = {"name": "lwr_iii", "friction.load": [0.1, 0.2]}
    path = tmp_path / "effort.yaml"
    given = node_yaml.NodeParameters(robot, "joint_states", MonitorSettings(), effort=effort)
    path.write_text(node_yaml.text(given))
    found = node_yaml.from_file(path)
    assert found.effort == effort and found.source == "joint_states"
    assert node_yaml.friction_of(found.robot).load == (0.1, 0.2)
    path.write_text("dynamics_node:\n  ros__parameters: {effort: command, monitor.friction: true}")
    with pytest.raises(ArgumentError, match=r"effort is now effort.source, monitor.friction is"):
        node_yaml.from_file(path)


def test_parameters_of_older_bags_keep_their_meaning():
    old = {"effort": "command", "monitor.friction": True, "monitor.gravity_free": True}
    found = node_yaml.from_bag({node_yaml.KEY: json.dumps(old)})
    assert found.source == "command"
    assert found.effort.friction == "model" and found.effort.gravity == "removed"
