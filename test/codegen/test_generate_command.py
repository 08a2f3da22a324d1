"""`robodyn generate`: files, counts for people and for scripts, refusals in one line."""

import json
import subprocess
import sys

import robodyn_ros as rd
from robodyn_ros.codegen.generate import generate


def robodyn(*words):
    result = subprocess.run(
        [sys.executable, "-m", "robodyn_ros.cli", "generate", *words],
        capture_output=True,
        text=True,
        timeout=120,
        env={"COLUMNS": "80", "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)},
    )
    return result.returncode, result.stdout, result.stderr


def test_writes_the_file_and_shows_its_cost(tmp_path):
    out = tmp_path / "rx90.c"
    code, shown, _ = robodyn("rx90", "--quantity", "inverse_dynamics", "--out", str(out))
    made = generate(rd.robots.rx90(), "inverse_dynamics", "c")
    assert code == 0
    assert out.read_text() == made.text
    assert "inverse_dynamics" in shown and str(made.operations.multiplications) in shown


def test_counts_for_scripts():
    words = ("lwr_iii", "--language", "python", "--standard", "--symbolic-parameters", "--json")
    code, shown, _ = robodyn(*words)
    made = generate(
        rd.robots.lwr_iii(), "momentum_terms", "python", base=False, symbolic_parameters=True
    )
    facts = json.loads(shown)
    assert code == 0
    assert facts["multiplications"] == made.operations.multiplications
    assert facts["parameters"] == "standard" and facts["checksum"] == made.checksum


def test_refusals_are_one_line():
    for words, says in (
        (("rx90", "--quantity", "weight"), "no quantity 'weight'"),
        (("rx90", "--language", "ada"), "language must be c or python"),
        (("rx90", "--out", "/nonexistent/x.c"), "cannot be written"),
        (("nobody",), "nobody"),
    ):
        code, shown, complaint = robodyn(*words)
        assert code == 1 and shown == ""
        assert says in complaint and complaint.count("\n") == 1
