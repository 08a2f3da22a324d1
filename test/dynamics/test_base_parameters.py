"""Base parameters: their number, their grouping, and that they give the whole torque."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from dynamics_cases import ARMS, CHAINS, MIMICS, TREES, chain, robot
from oracle import close, random_state, random_tree

import robodyn_ros as rd
from robodyn_ros.dynamics.base_parameters import base_parameters
from robodyn_ros.dynamics.regressor import regressor, rotor_columns

every_robot = pytest.mark.parametrize("name", [*ARMS, *CHAINS, *TREES, *MIMICS])
UR10E = Path(__file__).parents[3] / "shared/data/ur10e/ur10e.urdf"


@cache
def base_of(name, rotors=False):
    return base_parameters(robot(name), rotors=rotors)


@pytest.mark.parametrize(
    ("name", "count", "with_rotors"),
    [
        ("kuka_lwr4", 43, 48),  # [Gaz2014]
        ("lwr_iii", 43, 48),
        ("rx90", 36, 40),
        ("planar_2r", 6, 7),
        # 7 per revolute joint, but 3 for the first; 4 for each prismatic joint
        ("chain RRRRRRR", 45, 51),
        ("chain RRPRRRR", 42, 48),
    ],
)
def test_known_counts(name, count, with_rotors):
    assert base_of(name).rank == count
    assert base_of(name, True).rank == with_rotors


def ur10e():
    """The UR10e's frames; the masses do not matter here."""
    a, d = (0.0, -0.6127, -0.57155, 0.0, 0.0, 0.0), (0.1807, 0.0, 0.0, 0.17415, 0.11985, 0.11655)
    alpha = np.array([1, 0, 0, 1, -1, 0]) * np.pi / 2.0
    rows = [rd.DHRow(*row, mass=1.0, inertia=0.01) for row in zip(a, alpha, d, strict=True)]
    return rd.from_dh(rows, name="ur10e")


@pytest.mark.parametrize(
    "load",
    [
        ur10e,
        pytest.param(
            lambda: rd.load_urdf(UR10E),
            marks=pytest.mark.skipif(not UR10E.is_file(), reason="its description is not here"),
        ),
    ],
    ids=["by its table", "by its description"],
)
def test_the_ur10e_has_36_and_40_with_rotors(load):
    model = load()
    assert base_parameters(model).rank == 36
    assert base_parameters(model, rotors=True).rank == 40


@pytest.mark.parametrize(("seed", "count"), [(4, 46), (16, 44), (33, 42)])
def test_one_coordinate_may_move_many_bodies(seed, count):
    """Mimic joints add columns but no rows, so more states are needed."""
    model = random_tree(seed, 8, mimic=0.9)
    assert model.n <= 2
    states = np.random.default_rng(3).uniform(-3.0, 3.0, (3, 600, model.n))
    Y = regressor(model, *states).reshape(-1, 80)
    assert np.linalg.matrix_rank(Y, tol=1e-12 * np.linalg.norm(Y)) == count
    assert base_parameters(model).rank == count


@every_robot
@pytest.mark.parametrize("rotors", [False, True])
def test_the_reduced_regressor_gives_the_torque(name, rotors):
    model = robot(name) if rotors else robot(name).replace(rotor_inertia=0.0)
    base = base_of(name, rotors)
    states = np.random.default_rng(1).normal(size=(3, 20, model.n))
    Y, pi = regressor(model, *states), model.inertial_parameters()
    if rotors:
        Y = np.concatenate([Y, rotor_columns(model, states[2])], axis=-1)
        pi = np.concatenate([pi, model.rotor_inertia])
    assert base.regressor(Y).shape == (20, model.n, base.rank)
    close(base.regressor(Y) @ base.combine(pi), rd.inverse_dynamics(model, *states))


@every_robot
def test_the_rank_is_that_of_the_singular_values(name):
    model, base = robot(name), base_of(name)
    states = np.random.default_rng(2).uniform(-3.0, 3.0, (3, 40, model.n))
    Y = regressor(model, *states).reshape(40 * model.n, -1)
    values = np.linalg.svd(Y, compute_uv=False)
    assert values[base.rank - 1] > 1e-8 * values[0]
    assert (values[base.rank :] < 1e-13 * values[0]).all()


def test_what_the_grouping_ignores_the_torque_does_not_see():
    model, base = robot("kuka_lwr4"), base_of("kuka_lwr4")
    null = np.linalg.svd(base.grouping)[2][base.rank :]
    Y = regressor(model, *random_state(model, 3, 3))
    assert np.abs(Y @ null.T).max() < 1e-11 * np.abs(Y).max()


def test_the_last_body_keeps_what_khalils_rules_say():
    # Of a revolute joint's body about z: m, mz and Iyy go over to the body before it.
    base = base_parameters(chain("RRR").replace(axis=(0.0, 0.0, 1.0)))
    kept = [base.names[k] for k in base.independent if base.names[k].endswith("3")]
    assert kept == ["mx3", "my3", "Ixx3", "Ixy3", "Ixz3", "Iyz3", "Izz3"]
    assert "Ixx3 - Iyy3" in base.lines()


def test_combinations_are_readable():
    base = base_of("kuka_lwr4")
    lines = str(base).splitlines()
    assert lines[0] == "43 base parameters of 70"
    assert "mz6 + 0.078 m7 + mz7" in lines  # the wrist's last link sits 0.078 m further out
    assert "Izz1 + Izz2" in lines
    assert len(lines) == 44


def test_rotors_on_the_first_axes_join_the_links():
    lines = base_of("rx90", True).lines()
    assert next(line for line in lines if line.startswith("Izz1")).endswith(" + Ia1")
    assert {"Ia3", "Ia4", "Ia5", "Ia6"} <= set(lines)
    assert "Ia2" not in lines


def test_gravity_decides_what_the_first_joint_sees():
    model = robot("kuka_lwr4").replace(gravity=(0.0, -9.81, 0.0))
    assert base_parameters(model).rank == 45  # a wall-mounted arm feels mx1 and my1


def test_the_answer_is_the_same_each_time_and_for_other_states():
    first, again, other = (base_parameters(robot("rx90"), seed=seed) for seed in (0, 0, 5))
    np.testing.assert_array_equal(first.grouping, again.grouping)
    assert first.independent == other.independent
    close(first.grouping, other.grouping)


def test_what_does_not_fit_is_refused():
    base = base_parameters(robot("planar_2r"))
    with pytest.raises(rd.ArgumentError, match=r"Y must have 20 columns.*m1.*Izz2"):
        base.regressor(np.zeros((2, 22)))
    with pytest.raises(rd.ArgumentError, match="parameters must have 20"):
        base.combine(np.zeros(19))
