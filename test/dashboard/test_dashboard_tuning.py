"""The saved YAML reads back as what the nodes had."""

import pytest

from robodyn_ros.dashboard.tuning import parameter_yaml

yaml = pytest.importorskip("yaml")
VALUES = {
    "monitor.gain": [50.0],
    "monitor.contact.base": [2.5, 1e-05, 1e20],
    "monitor.masked": [""],
    "robot.strict": False,
    "robot.name": "lwr_iii",
    "robot.urdf": 'a "quoted": path\\#1',
    "plant.seed": 3,
    "rate": 500.0,
}


def test_all_values_read_back():
    ours = {"use_sim_time": True, "qos_overrides./clock.depth": 1}
    text = parameter_yaml("my\narm", {"dynamics_node": {**VALUES, **ours}, "controller_node": {}})
    read = yaml.safe_load(text)
    assert list(read) == ["/**/dynamics_node"]
    found = {}

    def walk(tree, prefix=""):
        for name, value in tree.items():
            if isinstance(value, dict):
                walk(value, f"{prefix}{name}.")
            else:
                found[prefix + name] = value

    walk(read["/**/dynamics_node"]["ros__parameters"])
    assert found == VALUES
    assert all(type(found[name]) is type(value) for name, value in VALUES.items())
    assert all(type(x) is float for x in found["monitor.contact.base"])
