"""Generated files: C that compiles without a warning, Python for Numba, headers, bytes."""

import importlib.util
import re
import subprocess
import sys

import numpy as np
import pytest
from codegen_cases import error, made, reference, robot, run_c, states

import robodyn_ros as rd
from robodyn_ros.codegen.generate import LANGUAGES, checksum, generate, identifier
from robodyn_ros.codegen.quantities import QUANTITIES
from robodyn_ros.codegen.symbolic_model import parameters_of


def inputs_of(model, quantity, state):
    return [state[name] for name in QUANTITIES[quantity].inputs]


def sizes(model, quantity):
    n = model.n
    size = {"M": n * n, "Y": 10 * n * len(model.link_names)}
    return [size.get(name, n) for name in QUANTITIES[quantity].outputs]


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("name", ["lwr_iii", "stanford", "tree_4"])
def test_c_agrees_with_the_generic_function(name, quantity, tmp_path):
    model = robot(name)
    state = states(model, 1)
    function = identifier(f"{model.name}_{quantity}")
    text = LANGUAGES["c"](model, made(name, quantity))
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


def test_c_compiles_without_a_warning_about_unused_inputs(tmp_path):
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
def test_the_header_names_robot_quantity_and_counts(language):
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
from robodyn_ros.codegen.generate import LANGUAGES
from robodyn_ros.codegen.quantities import customized
for name in sys.argv[1:]:
    model = getattr(rd.robots, name)()
    for quantity in ("momentum_terms", "force_rate"):
        for symbolic in (False, True):
            made = customized(model, quantity, symbolic=symbolic)
            for language in ("c", "python"):
                sys.stdout.write(LANGUAGES[language](model, made))
"""


def test_reproducible_byte_for_byte():
    """Also in another process, whose hashes of names differ."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, "rx90", "stanford"],
            stdout=subprocess.PIPE,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        )
        for seed in ("1", "2")
    ]
    texts = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert texts[0] == texts[1]
    assert len(texts[0]) > 50_000


def test_names_from_files_cannot_end_the_comment(tmp_path):
    model = rd.robots.planar_2r().replace(name='7 arm*/ int x; /* """ \\')
    text = generate(model, "gravity_torque", "c").text
    assert text.count("*/") == 1
    run_c(text, tmp_path, identifier(f"{model.name}_gravity_torque"), [[0.1, 0.2]], [2])
    compile(generate(model, "gravity_torque", "python").text, "generated", "exec")


def test_an_unknown_language_is_rejected():
    with pytest.raises(rd.ArgumentError, match="language must be c or python, got 'fortran'"):
        generate(rd.robots.planar_2r(), "mass_matrix", "fortran")
