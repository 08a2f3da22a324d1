"""The `robodyn` command: what people see, what scripts read, and how it fails."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from rich.text import Text
from typer.main import get_command
from typer.testing import CliRunner

import robodyn_ros as rd
from robodyn_ros import cli
from robodyn_ros.codegen.generate import generate
from robodyn_ros.commands.common import console
from robodyn_ros.commands.recordings import events_table

URDF = str(rd.share_path("urdf", "kuka_lwr4.urdf"))


@pytest.fixture
def robodyn(monkeypatch, capsys):
    """Run the command in this process; return exit code, output and messages on stderr."""

    def run(*words, columns="120"):
        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setattr(sys, "argv", ["robodyn", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        return ended.value.code or 0, printed.out, printed.err

    return run


def all_commands(command, path=()):
    """Yield the words and the click object of every sub-command."""
    yield path, command
    for name, sub_command in getattr(command, "commands", {}).items():
        yield from all_commands(sub_command, (*path, name))


COMMANDS = dict(all_commands(get_command(cli.app)))


def test_options_are_declared_for_every_typer():
    """Those of typer itself, in `Annotated`, are not known to Debian 12's typer 0.7."""
    folder = rd.share_path("urdf").parent / "robodyn_ros"
    for path in (folder / "cli.py", *(folder / "commands").glob("*.py")):
        words = re.search(r"from typer import|typer\.(Typer|Option|Argument)\(", path.read_text())
        assert words is None, path


def test_the_command_as_a_process():
    """As a user runs it: the version, and an error on one line of stderr without a traceback."""
    for words, code in ((["--version"], 0), (["info", "no_such_file.urdf"], 1)):
        done = subprocess.run(
            [sys.executable, "-m", "robodyn_ros.cli", *words],
            capture_output=True,
            text=True,
            timeout=120,
            env={"COLUMNS": "500", "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
        )
        assert done.returncode == code
        if code:
            assert done.stdout == "" and "no_such_file.urdf" in done.stderr
            assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr
        else:
            assert rd.__version__ in done.stdout and done.stderr == ""


def test_help_lists_all_commands():
    shown = CliRunner(env={"COLUMNS": "120"}).invoke(cli.app, ["--help"]).stdout
    listed = re.findall(r"^│ (\w+) ", shown.partition("Commands")[2], re.MULTILINE)
    expected = [
        *("excite", "identify", "record", "residual", "report", "tune", "detect", "info", "tour"),
        *("configure", "generate", "demo", "view", "topics", "echo", "doctor", "warmup", "param"),
    ]
    assert listed in (expected, sorted(expected))  # old releases of typer sort


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_shows_every_unit(words):
    """Rich takes an unescaped "[s]" for markup and drops it."""
    assert CliRunner().invoke(cli.app, [*words, "--help"]).exit_code == 0
    for parameter in COMMANDS[words].params:
        text = getattr(parameter, "help", "") or ""
        assert Text.from_markup(text).plain == text.replace("\\[", "["), parameter.name


@pytest.mark.parametrize("name", ["residual", "report", "tune"])
def test_commands_on_recordings_share_their_options(name):
    options = {option for p in COMMANDS[(name,)].params for option in p.opts}
    assert options & {"recording", "recordings"}
    assert options >= {
        *("--robot", "--urdf", "--params", "--gain", "--effort", "--states"),
        *("--commands", "--columns", "--gains", "--contact", "--json"),
    }


def test_info_shows_joints_limits_masses_and_the_weight_of_the_arm(robodyn):
    code, out, _ = robodyn("info", URDF)
    assert code == 0
    for text in ("joint_1", "link_7", "-2.97 … 2.97", "176", "3.19", "14.000 kg", "stretched out"):
        assert text in out, text


def test_info_in_json_finds_the_heaviest_posture(robodyn):
    code, out, _ = robodyn("info", URDF, "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["joints"] == [f"joint_{i}" for i in range(1, 8)]
    # facts of the arm: 47.28 N m on joint 2 when it is level
    torque = np.array(facts["stretched_out"]["gravity_torque"])
    assert abs(torque[1]) == pytest.approx(47.28, rel=2e-3)
    assert facts["moving_mass"] == pytest.approx(14.0)


def test_info_takes_a_part_of_a_robot(robodyn):
    code, out, _ = robodyn("info", URDF, "--json", "--tip", "link_5", "--lock", "joint_3=0.5")
    assert code == 0
    assert json.loads(out)["joints"] == ["joint_1", "joint_2", "joint_4", "joint_5"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("info", "no_such_file.urdf"), "no_such_file.urdf"),
        (("info", URDF, "--tip", "hand"), "hand"),
        (("info", URDF, "--lock", "joint_3=much"), "much"),
        (("info", URDF, "--lock", "elbow"), "elbow"),
        (("generate", "rx90", "--quantity", "weight"), "no quantity 'weight'"),
        (("generate", "rx90", "--language", "ada"), "language must be c or python"),
        (("generate", "rx90", "--out", "/nonexistent/x.c"), "cannot be written"),
        (("generate", "no_such_arm"), "no_such_arm"),
    ],
)
def test_errors_are_one_line(robodyn, words, message):
    code, out, err = robodyn(*words, columns="80")
    assert code == 1 and out == ""
    assert message in err and err.count("\n") == 1


def test_tour_proves_what_it_shows(robodyn):
    code, out, _ = robodyn("tour", "stanford")
    assert code == 0
    shown = [line.split() for line in out.splitlines() if line.rstrip().endswith("µs")]
    assert len(shown) == 6
    assert all(float(words[-3]) < 1e-7 for words in shown), out


def test_generate_writes_the_file_and_shows_its_cost(robodyn, tmp_path):
    out = tmp_path / "rx90.c"
    words = ("generate", "rx90", "--quantity", "inverse_dynamics", "--out", str(out))
    code, shown, _ = robodyn(*words)
    made = generate(rd.robots.rx90(), "inverse_dynamics", "c")
    assert code == 0
    assert out.read_text() == made.text
    assert "inverse_dynamics" in shown and str(made.operations.multiplications) in shown


def test_generate_counts_for_scripts(robodyn):
    words = ("--language", "python", "--standard", "--symbolic-parameters", "--json")
    code, shown, _ = robodyn("generate", "lwr_iii", *words)
    made = generate(
        rd.robots.lwr_iii(), "momentum_terms", "python", base=False, symbolic_parameters=True
    )
    facts = json.loads(shown)
    assert code == 0
    assert facts["multiplications"] == made.operations.multiplications
    assert facts["parameters"] == "standard" and facts["checksum"] == made.checksum


def test_the_table_of_events_shows_its_units(capsys):
    console.print(events_table([]), width=120)
    shown = capsys.readouterr().out
    assert all(heading in shown for heading in ("time [s]", "force [N]", "delay [ms]"))
