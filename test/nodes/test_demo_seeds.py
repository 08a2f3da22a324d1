"""The demo with arms that differ from the model, as benchmark/demo_seeds.py runs many."""

import numpy as np
import pytest
from ros_harness import own_domain

from demo_seeds import outcome, run  # isort: skip
from robodyn_ros.nodes.demo import PlantOptions  # isort: skip


@pytest.mark.parametrize(("plant", "seed"), [("rigid", 21), ("mujoco", 22)])
def test_every_push_is_found_with_its_link_and_none_is_invented(plant, seed, monkeypatch):
    if plant == "mujoco":
        pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    monkeypatch.setenv("ROS_DOMAIN_ID", str(own_domain()))
    found = outcome(run(plant=PlantOptions(plant, seed=seed)))
    assert found.ok, found.text
    assert [event.link for event in found.events] == ["link_4", "link_5", "link_6", "link_7"]
    assert all(event.judgement == "found" and event.link_clear for event in found.events)
    # Noise and model error are there, and thresholds are far enough from them to name links
    assert np.all(found.free > 0.05) and np.all(found.contact > 1.8 * found.free)


def test_the_ideal_arm_has_no_residual_without_contact(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(own_domain()))
    found = outcome(run(plant=PlantOptions(ideal=True), duration=5.0))
    assert found.ok, found.text
    assert np.all(found.free < 1e-3)
