"""plot_trajectory: four panels with the samples and their limits."""

import sys

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.errors import ArgumentError, RobodynError
from robodyn_ros.trajectory.joint_move import joint_move
from robodyn_ros.trajectory.plot import plot_trajectory


def lines(axes, style):
    return [line for line in axes.lines if line.get_linestyle() == style]


def test_four_panels_hold_the_motion_and_its_limits():
    pytest.importorskip("matplotlib")
    model = rd.robots.kuka_lwr4()
    move = joint_move(np.zeros(7), np.linspace(-0.8, 0.7, 7), model=model, qdd_max=6.0)
    figure = plot_trajectory(move, model=model, qdd_max=6.0, qddd_max=np.arange(1.0, 8.0))
    panels = figure.axes
    assert len(panels) == 4 and panels[-1].get_xlabel() == "time [s]"
    for axes, order, unit in zip(
        panels, range(4), ("rad", "rad/s", "rad/s²", "rad/s³"), strict=True
    ):
        assert f"[{unit} or" in axes.get_ylabel()
        drawn = lines(axes, "-")
        assert len(drawn) == 7
        for j, line in enumerate(drawn):
            t, values = line.get_data()
            np.testing.assert_array_equal(values, move.at(t)[order][:, j])
            assert t[0] == 0.0 and t[-1] == move.duration
    bounds = [sorted(line.get_ydata()[0] for line in lines(axes, "--")) for axes in panels]
    np.testing.assert_allclose(bounds[0], sorted([*model.q_min, *model.q_max]))
    np.testing.assert_allclose(bounds[1], sorted([*model.qd_max, *-model.qd_max]))
    np.testing.assert_allclose(bounds[2], [-6.0] * 7 + [6.0] * 7)
    np.testing.assert_allclose(bounds[3], [*range(-7, 0), *range(1, 8)])
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == list(model.joint_names)


def test_without_limits_none_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    move = joint_move([0.0, 0.0], [1.0, -1.0], duration=2.0)
    figure = plot_trajectory(move, names=["left", "right"], q_min=-2.0)
    assert [len(lines(axes, "--")) for axes in figure.axes] == [2, 0, 0, 0]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["left", "right"]
    figure.savefig(tmp_path / "motion.png")
    assert (tmp_path / "motion.png").stat().st_size > 10_000


def test_wrong_arguments_are_rejected():
    move = joint_move([0.0, 0.0], [1.0, -1.0], duration=2.0)
    for options, message in [
        ({"names": ["left"]}, "2 joints move, 1 names"),
        ({"q_max": [1.0, 2.0, 3.0]}, "q_max must be one number or 2"),
        ({"qd_max": -1.0}, "qd_max of joint 'joint_1' must be positive"),
        ({"model": rd.robots.kuka_lwr4()}, "has 7 joints"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            plot_trajectory(move, **options)


def test_missing_matplotlib_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(RobodynError, match="pip install matplotlib"):
        plot_trajectory(joint_move([0.0], [1.0], duration=2.0))
