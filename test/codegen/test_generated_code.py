"""Generated files: C that compiles without a warning, Python for Numba, headers, bytes."""

import importlib.util
import re
import subprocess
import sys

import numpy as np
import pytest
from codegen_cases import ROBOTS, error, reference, run_c, states
from oracle import random_tree

import robodyn_ros as rd
from robodyn_ros.codegen.generate import checksum, generate, identifier
from robodyn_ros.codegen.quantities import QUANTITIES
from robodyn_ros.codegen.symbolic_model import parameters_of


def inputs_of(model, quantity, state):
    return [state[name] for name in QUANTITIES[quantity].inputs]


def sizes(model, quantity):
    n = model.n
    size = {"M": n * n, "Y": 10 * n * len(model.link_names)}
    return [size.get(name, n) for name in QUANTITIES[quantity].outputs]


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("name", ["lwr_iii", "stanford", "tree"])
def test_c_agrees_with_the_generic_function(name, quantity, tmp_path):
    model = random_tree(4, bodies=5) if name == "tree" else getattr(rd.robots, name)()
    state = states(model, 1)
    function = identifier(f"{model.name}_{quantity}")
    text = generate(model, quantity, "c").text
    found = run_c(
        text, tmp_path, function, inputs_of(model, quantity, state), sizes(model, quantity)
    )
    assert error(found, reference(model, quantity, state)) < 1e-12


def test_c_takes_symbolic_parameters(tmp_path):
    """One file serves an arm with any payload: the parameters are its argument."""
    model = rd.robots.rx90()
    loaded = model.replace(payload=rd.Payload("link_6", 3.0, com=(0.0, 0.01, 0.1)))
    made = generate(model, "inverse_dynamics", "c", symbolic_parameters=True)
    count = int(re.search(r"double constants\[(\d+)\]", made.text)[1])
    for arm in (model, loaded):
        state = states(arm, 3)
        inputs = inputs_of(arm, "inverse_dynamics", state)
        constants = (parameters_of(arm), count)
        folder = tmp_path / str(arm is loaded)
        folder.mkdir()
        found = run_c(made.text, folder, "rx90_inverse_dynamics", inputs, [6], constants)
        assert error(found, reference(arm, "inverse_dynamics", state)) < 1e-12


def test_c_says_nothing_of_inputs_that_do_not_matter(tmp_path):
    """A single joint about the vertical: its torque depends on neither position nor rate."""
    rows = [rd.DHRow(mass=1.0, com=(0.1, 0.0, 0.0), inertia=0.01)]
    model = rd.from_dh(rows, name="turntable")
    text = generate(model, "inverse_dynamics", "c").text
    assert "(void)q;" in text and "(void)qd;" in text
    found = run_c(text, tmp_path, "turntable_inverse_dynamics", [[1.0], [2.0], [3.0]], [1])
    np.testing.assert_allclose(found, 3.0 * (0.01 + 0.01), rtol=1e-12)


def loaded(text, path):
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("quantity", ["momentum_terms", "friction_torque"])
def test_python_agrees_with_the_generic_function(quantity, tmp_path):
    model = rd.robots.planar_2r().replace(viscous=0.3, coulomb=0.7, stiction=0.9, stribeck=2.0)
    state = states(model, 1)
    module = loaded(generate(model, quantity, "python").text, tmp_path / f"plain_{quantity}.py")
    outputs = [np.zeros(size) for size in sizes(model, quantity)]
    getattr(module, quantity)(*inputs_of(model, quantity, state), *outputs)
    assert error(np.hstack(outputs), reference(model, quantity, state)) < 1e-12


def test_python_takes_symbolic_parameters(tmp_path):
    model = rd.robots.planar_2r()
    made = generate(model, "inverse_dynamics", "python", symbolic_parameters=True)
    module = loaded(made.text, tmp_path / "symbolic_2r.py")
    constants, tau, state = np.zeros(made.text.count("    constants[")), np.zeros(2), states(model)
    module.constants_of(parameters_of(model), constants)
    module.inverse_dynamics(state["q"], state["qd"], state["qdd"], constants, tau)
    assert error(tau, reference(model, "inverse_dynamics", state)) < 1e-12


@pytest.mark.parametrize("language", ["c", "python"])
def test_the_header_says_what_it_is(language):
    model = rd.robots.rx90()
    made = generate(model, "inverse_dynamics", language, base=True)
    head = made.text[:1200]
    assert "rx90" in head and "inverse_dynamics" in head and "base inertial" in head
    assert str(made.operations) in head and checksum(model) in head
    assert made.checksum == checksum(model)


def test_the_checksum_tells_models_apart():
    model = rd.robots.rx90()
    assert checksum(model) == checksum(model.replace())
    assert checksum(model) == checksum(model.replace(name="another"))
    for change in ({"rotor_inertia": 1.0}, {"gravity": (0.0, 0.0, -1.6)}, {"viscous": 0.1}):
        assert checksum(model) != checksum(model.replace(**change))


SCRIPT = """
import sys
import robodyn_ros as rd
from robodyn_ros.codegen.generate import generate
for name in sys.argv[1:]:
    model = getattr(rd.robots, name)()
    for quantity in ("momentum_terms", "force_rate"):
        for symbolic in (False, True):
            for language in ("c", "python"):
                made = generate(model, quantity, language, symbolic_parameters=symbolic)
                sys.stdout.write(made.text)
"""


def test_reproducible_byte_for_byte():
    """Also in another process, whose hashes of names differ."""
    texts = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, "rx90", "stanford"],
            capture_output=True,
            check=True,
            timeout=120,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    ]
    assert texts[0] == texts[1]
    assert len(texts[0]) > 50_000


def test_names_of_strangers_cannot_leave_the_comment(tmp_path):
    model = rd.robots.planar_2r().replace(name='7 arm*/ int x; /* """ \\')
    text = generate(model, "gravity_torque", "c").text
    assert text.count("*/") == 1
    run_c(text, tmp_path, identifier(f"{model.name}_gravity_torque"), [[0.1, 0.2]], [2])
    compile(generate(model, "gravity_torque", "python").text, "generated", "exec")


@pytest.mark.parametrize("name", ROBOTS)
def test_every_quantity_of_every_robot_is_written(name):
    model = getattr(rd.robots, name)()
    for quantity in QUANTITIES:
        compile(generate(model, quantity, "python").text, quantity, "exec")


def test_an_unknown_language_is_refused():
    with pytest.raises(rd.ArgumentError, match="language must be c or python, got 'fortran'"):
        generate(rd.robots.planar_2r(), "mass_matrix", "fortran")
