"""The sweeps on symbols against the generic ones: all robots, random trees, all kinds."""

import numpy as np
import pytest
from codegen_cases import ROBOTS, error, evaluated, flat, reference, states
from oracle import random_tree

import robodyn_ros as rd
from robodyn_ros.codegen.quantities import QUANTITIES, customized
from robodyn_ros.codegen.sweeps.mass_matrix import articulated, through_mass_matrix
from robodyn_ros.codegen.symbolic_model import parameters_of

TREES = {f"tree_{seed}": {"seed": seed, "bodies": 6, "mimic": 0.3 * (seed % 2)} for seed in (3, 4)}


def robot(name):
    return random_tree(**TREES[name]) if name in TREES else getattr(rd.robots, name)()


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("name", [*ROBOTS, *TREES])
def test_agrees_with_the_generic_function(name, quantity):
    model = robot(name)
    for seed, (base, symbolic) in enumerate([(True, False), (False, False), (True, True)]):
        made = customized(model, quantity, base=base, symbolic=symbolic)
        state = states(model, seed)
        values = state | {"parameters": parameters_of(model)}
        found = evaluated(flat(made.outputs), values)
        assert error(found, reference(model, quantity, state)) < 1e-12


@pytest.mark.parametrize("sweep", [articulated, through_mass_matrix])
def test_both_ways_to_direct_dynamics(sweep):
    model = rd.robots.stanford()
    made = customized(model, "forward_dynamics", sweep=sweep)
    state = states(model, 5)
    expected = reference(model, "forward_dynamics", state)
    assert error(evaluated(flat(made.outputs), state), expected) < 1e-12


def test_base_parameters_also_give_the_same_coriolis_matrix():
    """NE* is not linear in ten parameters: its eleventh must be grouped as well."""
    model = random_tree(11, bodies=7)
    made = customized(model, "ne_star", base=True)
    for seed in range(3):
        state = states(model, seed)
        found = evaluated(flat(made.outputs), state)
        assert error(found, reference(model, "ne_star", state)) < 1e-12


def test_without_gravity():
    model = rd.robots.kuka_lwr4()
    state = states(model, 2)
    made = customized(model, "inverse_dynamics", gravity=False)
    expected = rd.inverse_dynamics(model, state["q"], state["qd"], state["qdd"], gravity=False)
    assert error(evaluated(flat(made.outputs), state), expected) < 1e-12


def test_the_cheaper_parameters_are_taken():
    """Point masses have few standard parameters: grouping them would cost more."""
    model = rd.robots.puma_4dof()
    cost = {base: customized(model, "inverse_dynamics", base=base).operations for base in (0, 1)}
    assert cost[0].total < cost[1].total
    assert customized(model, "inverse_dynamics").operations == cost[0]
    assert customized(rd.robots.lwr_iii(), "inverse_dynamics").base


def test_an_unknown_quantity_is_refused_with_those_there_are():
    with pytest.raises(rd.ArgumentError, match=r"no quantity 'torque'.*inverse_dynamics"):
        customized(rd.robots.planar_2r(), "torque")


def test_stribeck_friction():
    model = rd.robots.lwr_iii().replace(stiction=np.full(7, 20.0), stribeck=np.full(7, 3.0))
    state = states(model, 1)
    state["qd"][2] = 0.0
    made = customized(model, "friction_torque")
    expected = rd.friction_torque(model, state["qd"])
    assert error(evaluated(flat(made.outputs), state), expected) < 1e-12
