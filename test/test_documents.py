"""The documents: pages, links and commands exist, examples run, the site can be built."""

import ast
import json
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import yaml
from documents import PAGES, alike, anchors_of, blocks_of, links_of, unfenced
from recording.recording_cases import BagWriter, write_bag, write_states
from source_tree import ROOT
from typer.main import get_command

import robodyn_ros as rd
from robodyn_ros import cli
from robodyn_ros.nodes.node_settings import SETTINGS
from robodyn_ros.renamed_parameters import RENAMED
from robodyn_ros.settings import leaves

DOCS = ROOT / "docs"
BLOCKS = [block for page in PAGES for block in blocks_of(page)]
LANGUAGES = {"python", "bash", "console", "yaml", "text"}
MADE = {"index.md", "contributing.md", "parameters.md", "api.md"}  # by docs/site_pages.py
TABLES = ("means.", "pushes.", "faults.", "obstacles.")  # parameters with names of one's choice
ELSEWHERE = ("export", "ROS_SECURITY_ENCLAVE_OVERRIDE", "pip", "audit/bin/pip-audit", "cp", "mcap")


def name_of(page):
    return str(page.relative_to(ROOT))


def each(items, name=name_of):
    return pytest.mark.parametrize("page", list(items), ids=name)


# Pages


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 200


def navigation(entry):
    """Return the files of the site's navigation."""
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry
    return [file for part in parts for file in navigation(part)]


def test_the_navigation_has_every_page_once():
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    files = navigation(settings["nav"])
    pages = [page.relative_to(DOCS).as_posix() for page in PAGES[1:]]
    assert sorted(files) == sorted([*pages, *MADE])


OTHER_PAGES = [ROOT / name for name in ("CONTRIBUTING.md", "launch/README.md", "config/README.md")]


@each([*PAGES, *OTHER_PAGES])
def test_links_lead_somewhere(page):
    for target in links_of(page):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.is_file(), target
        assert not anchor or anchor in anchors_of(file), target


@each([*PAGES[1:], *OTHER_PAGES[1:]])
def test_a_page_begins_with_what_the_reader_can_do_after_it(page):
    title, empty, first = page.read_text(encoding="utf-8").splitlines()[:3]
    assert title.startswith("# ") and not empty
    assert first.startswith("After this page you can ")


def test_the_readme_has_the_figures_of_real_arms():
    told = (ROOT / "README.md").read_text(encoding="utf-8").split("## On real arms")[1]
    rows = re.findall(r"^\| (?!figure).+ \|$", told.split("\n## ")[0], re.MULTILINE)
    page = (DOCS / "real_arms.md").read_text(encoding="utf-8").splitlines()
    assert len(rows) > 5
    assert [row for row in rows if row not in page] == []


def test_every_public_name_stands_in_its_table():
    told = set(re.findall(r"\w+", (DOCS / "names.md").read_text(encoding="utf-8")))
    assert set(rd.__all__) - told == {"__version__"}


def test_papers_lead_to_their_files():
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    listed = (DOCS / "references.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\[\w+\].*?) \| .*? \| `(.+?)`", page, re.MULTILINE)
    assert len(rows) > 10
    for papers, file in rows:
        source = (ROOT / "robodyn_ros" / file).read_text(encoding="utf-8")
        for key in re.findall(r"\[\w+\]", papers):
            assert key in source and f"**{key}**" in listed, (key, file)


def test_papers_cited_in_the_code_are_listed():
    listed = (DOCS / "references.md").read_text(encoding="utf-8")
    for path in (ROOT / "robodyn_ros").rglob("*.py"):
        for key in re.findall(r"\[[A-Z][A-Za-z]+\d{4}\]", path.read_text(encoding="utf-8")):
            assert f"**{key}**" in listed, (path.name, key)


# Code blocks


def test_every_block_has_a_language_that_is_tested():
    assert len(BLOCKS) > 60
    for block in BLOCKS:
        place = f"{name_of(block.page)}:{block.line}"
        assert block.language in LANGUAGES | {""}, place
        if not block.language:  # commands
            assert block.lines and not re.search(r"\brd\.|^import ", block.text, re.M), place


def with_python():
    pages = {block.page for block in BLOCKS if block.language == "python"}
    return sorted(pages)


@each(with_python())
def test_python_examples_run(page, tmp_path):
    if page.name == "recipes.md":
        write_recordings(tmp_path)
    program = [sys.executable, str(ROOT / "test" / "documents.py"), name_of(page)]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def write_recordings(folder):
    """Write what the recipes read: a push, two free motions, a gripped payload, a weak motor."""
    model = rd.robots.lwr_iii()
    plant = rd.RigidPlant(model, [0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5], friction=False)
    plant.push("link_5", force=(0, 40, -20), point=(0.06, 0, 0.2), duration=0.2, start=0.3)
    states = [plant.step(rd.gravity_torque(model, plant.state.q), 0.001) for _ in range(800)]
    columns = ([getattr(state, name) for state in states] for name in ("t", "q", "qd", "tau"))
    with BagWriter(folder / "run") as out:
        write_states(out, "/joint_states", *map(np.array, columns))
    for seed in (1, 2):
        write_bag(folder / f"free_{seed}", touches=(), seed=seed)
    t = 0.002 * np.arange(1500)
    angle = 4.0 * t[:, None] + np.arange(7)
    q, qd, qdd = 0.6 + 0.3 * np.sin(angle), 1.2 * np.cos(angle), -4.8 * np.sin(angle)
    loaded = model.replace(payload=rd.Payload("link_7", 1.5, (0.0, 0.0, 0.05)))
    empty, full = (rd.inverse_dynamics(arm, q, qd, qdd) for arm in (model, loaded))
    rd.Log(t, q, qd, np.where(t[:, None] > 0.8, full, empty)).to_csv(folder / "pick.csv")
    weak_motor(model).to_csv(folder / "weak.csv")


def weak_motor(model):
    """Return the log of a move with commanded torque; joint 2 gives half of it from 0.6 s on."""
    move = rd.joint_move(np.full(7, 0.2), np.full(7, 1.0), model=model, duration=2.0)
    plant = rd.RigidPlant(model, move.at(0.0).q)
    law, rows = rd.PassivityController.with_frequency(model, 30.0), []
    for k in range(2000):
        if k == 600:
            plant.fail("joint_2", "effectiveness", 0.5)
        state = plant.step(law.torque(plant.state, move.at(0.001 * k)), 0.001)
        rows.append((state.t, state.q, state.qd, law.tau.copy()))
    return rd.Log(*(np.array(column) for column in zip(*rows)))


def test_what_is_printed_is_compared():
    assert alike("0.30 s: link_5, 44 N", "0.31 s: link_5,  40 N\n")
    assert not alike("0.30 s: link_5, 44 N", "0.31 s: link_6, 44 N")
    assert not alike("0.30 s: link_5, 44 N", "0.31 s: link_5, 20 N")
    assert not alike("1 alarms", "2 alarms")


@each([block for block in BLOCKS if block.language == "yaml"], name=lambda b: name_of(b.page))
def test_parameters_of_the_pages_exist(page):
    tree = yaml.safe_load(page.text)
    for node, section in tree.items():
        known = (
            {name for name, _, _ in leaves(SETTINGS[node[4:]]())}
            if node[:4] == "/**/"
            else {name for kind in SETTINGS.values() for name, _, _ in leaves(kind())}
        )
        inner = section["ros__parameters"] if node[:4] == "/**/" else {node: section}
        for name in dotted(inner):
            assert name in known or name.startswith(TABLES), name


def test_the_guard_takes_the_parameters_of_its_recipe(tmp_path):
    pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    from ros_harness import bench

    from robodyn_ros.nodes.guard_node import GuardNode

    (block,) = (b for b in BLOCKS if b.language == "yaml" and b.page.name == "recipes.md")
    (tmp_path / "guard.yaml").write_text(block.text, encoding="utf-8")
    args = ["--params-file", str(tmp_path / "guard.yaml"), "-p", "robot.name:=lwr_iii"]
    with bench(GuardNode, args=args) as there:
        (node,) = there.nodes
        assert node.settings.guard.rearm_after == 2.0
        assert set(node.means) == {"moveit", "cancel"}


def dotted(tree, prefix=""):
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from dotted(value, f"{prefix}{name}.")
        else:
            yield prefix + name


# Commands that are not run: those of a robot or of ROS 2, and those within a sentence


def commands():
    for block in BLOCKS:
        if block.language in ("console", "bash", ""):
            yield from ((block.page, line) for line in block.lines)
    for page in PAGES:
        for code in re.findall(
            r"`((?:robodyn|make|ros2 (?:run|launch)) [^`…<]+)`", unfenced(page)
        ):
            yield page, " ".join(code.split())


@each(PAGES)
def test_commands_name_what_exists(page):
    for place, command in commands():
        if place == page:
            check_command(re.split(r" [>|&] ", command)[0])


def check_command(command):
    name, *words = shlex.split(command.replace("…", ""))
    if name == "robodyn":
        check_robodyn(words)
    elif name == "make":
        targets = (ROOT / "Makefile").read_text(encoding="utf-8")
        for word in (word for word in words if "=" not in word):
            assert re.search(rf"^{word}:", targets, re.M), command
        for word in (word for word in words if word.startswith("BENCH=")):
            assert (ROOT / "benchmark" / f"{word[6:]}.py").is_file(), command
    elif name in ("python", ".venv/bin/python"):
        assert words[0] == "-m" or (ROOT / words[0]).is_file(), command
    elif name == "ros2" and words[:2] == ["launch", "robodyn_ros"]:
        source = (ROOT / "launch" / words[2]).read_text(encoding="utf-8")
        declared = set(re.findall(r'DeclareLaunchArgument\(\s*"(\w+)"', source))
        assert {word.partition(":=")[0] for word in words[3:]} <= declared, command
    elif name == "ros2" and words[:2] == ["run", "robodyn_ros"]:
        assert (ROOT / "robodyn_ros" / "nodes" / "shims" / words[2]).is_file(), command
    elif name == "ros2" and words[:2] == ["param", "set"]:
        known = {name for name, _, _ in leaves(SETTINGS[words[2].lstrip("/")]())}
        assert words[3] in known, command
    else:
        assert name == "ros2" or name.startswith(ELSEWHERE) or "venv" in words, command


def check_robodyn(words):
    """Check sub-commands and options without running them."""
    command = get_command(cli.app)
    while words and not words[0].startswith("-") and hasattr(command, "commands"):
        assert words[0] in command.commands, words
        command = command.commands[words.pop(0)]
    known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
    used = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    assert used <= known | {"--help", "--install-completion"}, (command.name, used - known)


def test_wrong_commands_are_noticed():
    wrong = (
        "robodyn repair run",
        "robodyn tune run --colour red",
        "make coffee",
        "make bench BENCH=coffee",
        "ros2 launch robodyn_ros detector_only.launch.py coffee:=true",
        "ros2 run robodyn_ros coffee_node",
        "ros2 param set /dynamics_node monitor.coffee 1.0",
        "python benchmark/coffee.py",
        "coffee --strong",
    )
    for command in wrong:
        with pytest.raises((AssertionError, OSError)):
            check_command(command)


# Upgrading


def test_the_upgrade_notes_name_all_renamed_parameters():
    page = (DOCS / "upgrading.md").read_text(encoding="utf-8")
    table = page.partition("## Parameters")[2].partition("## Topics")[0]
    rows = re.findall(r"^\| `([\w.]+).*?\| `([\w.]+)[^`]*`( of `(\w+)`)?", table, re.MULTILINE)
    found = {old: f"{new} of {node}" if node else new for old, new, _, node in rows}
    assert found == RENAMED


# Views


def topics():
    """Return the topics of the package, absolute, as the demo has them."""
    page = (DOCS / "ros.md").read_text(encoding="utf-8")
    found = set()
    for node, cells in re.findall(r"^\| `(\w+_node)` \|(.*)$", page, re.MULTILINE):
        for name in re.findall(r"`([~/\w]+)`", cells):
            found.add("/" + name.replace("~", node).lstrip("/"))
    return found | {"/robot_description", "/tf", "/diagnostics"}


def test_views_show_topics_that_exist():
    known = topics()
    assert {"/joint_states", "/dynamics_node/residual", "/controller_node/reference"} <= known
    found = {path.name: view_topics(path) for path in (ROOT / "rviz").iterdir()}
    assert set(found) == {"robodyn.rviz", "plotjuggler.xml", "foxglove.json"}
    for name, used in found.items():
        assert used and used <= known, f"{name}: {used - known}"


def test_the_nodes_topics_have_their_quality_of_service():
    pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    from robodyn_ros.nodes.recorder import NODE_TOPICS

    page = (DOCS / "ros.md").read_text(encoding="utf-8")
    table = page.split("## Quality of service")[1].split("\n\n")[1]
    told = {name.rpartition("/")[2] for name in re.findall(r"`([~/\w]+)`", table)}
    assert {topic.rpartition("/")[2] for topic in NODE_TOPICS} - told == set()


def test_views_can_be_put_into_a_namespace():
    page = (DOCS / "views.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"`(sed [^`]+) foxglove.json`", page)
    for name in ("foxglove.json", "plotjuggler.xml"):
        words = [*shlex.split(command), str(ROOT / "rviz" / name)]
        made = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        assert '"/left/dynamics_node/' in made and "/left/diagnostics" not in made
        assert set(re.findall(r'"(/(?!left/)\w+)', made)) <= {"/diagnostics"}


def test_a_recording_has_what_the_views_show():
    pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    from robodyn_ros.nodes.recorder import NODE_TOPICS

    recorded = {topic if topic.startswith("/") else f"/{topic}" for topic in NODE_TOPICS}
    assert recorded - topics() == set()
    shown = set().union(*map(view_topics, (ROOT / "rviz").iterdir()))
    assert shown - recorded == set()


def test_views_show_fields_that_exist():
    pytest.importorskip("sensor_msgs", reason="ROS 2 is not installed")
    from diagnostic_msgs.msg import DiagnosticStatus
    from geometry_msgs.msg import WrenchStamped
    from sensor_msgs.msg import JointState

    kinds = {"status": DiagnosticStatus(), "wrench": WrenchStamped(), "": JointState()}
    layout = json.loads((ROOT / "rviz" / "foxglove.json").read_text(encoding="utf-8"))
    panels = layout["configById"].values()
    paths = [path["value"] for panel in panels for path in panel.get("paths", ())]
    assert len(paths) > 10
    for path in paths:
        _, *fields = re.sub(r"\[\d+\]", "", path).split(".")
        if fields[0] == "status":
            message, fields = kinds["status"], fields[1:]
        else:
            message = kinds.get(fields[0], kinds[""])
        for field in fields:
            assert field in message.get_fields_and_field_types(), path
            message = getattr(message, field)
    placed = re.findall(r'"(\w+!\w+)"', json.dumps(layout["layout"]))
    assert sorted(placed) == sorted(layout["configById"])
    curves = ElementTree.parse(ROOT / "rviz" / "plotjuggler.xml").getroot().iter("curve")
    for name in (curve.get("name") for curve in curves):
        rest = name.removeprefix(match_topic(name))
        assert re.fullmatch(
            r"/joint_[1-7]/(position|velocity|effort)|/data(\[\d\])?|(\.\d)?/data\.\d"
            r"|/wrench/(force|torque)/[xyz]",
            rest,
        ), name


def view_topics(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".xml":
        root = ElementTree.fromstring(text)
        curves = [curve.get("name") for curve in root.iter("curve")]
        parts = [(curve, match_topic(curve)) for curve in curves]
        listed = {item.get("name") for item in root.iter("selected_datasources_topics")}
        return {topic for _, topic in parts} | listed
    if path.suffix == ".json":
        return set(re.findall(r'"(/[a-z_]+(?:/[a-z_]+)*)[".]', json.dumps(json.loads(text))))
    return {f"/{name}" for name in re.findall(r"Topic:\n +Value: (\S+)", text)}


def match_topic(curve):
    """Return the topic of a curve: /joint_states/joint_1/effort, or with the names of fields."""
    return max(
        (topic for topic in topics() if curve.startswith(f"{topic}/")), key=len, default=curve
    )


# The site


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if not find_spec("mkdocs"):
        pytest.skip("mkdocs is not installed: make docs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_has_every_page_parameter_and_public_name(site):
    for page in PAGES[1:]:
        name = page.relative_to(DOCS).with_suffix(".html").as_posix().replace("README", "index")
        assert (site / name).is_file(), name
    parameters = (site / "parameters.html").read_text(encoding="utf-8")
    for kind in SETTINGS.values():
        for name, _, _ in leaves(kind()):
            assert f"<code>{name}</code>" in parameters, name
    functions = (site / "api.html").read_text(encoding="utf-8")
    for node in ast.parse((ROOT / "robodyn_ros" / "__init__.pyi").read_bytes()).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                assert f'id="robodyn_ros.{node.module}.{alias.name}"' in functions, alias.name


def test_the_site_loads_nothing_from_outside_and_can_be_searched(site):
    sync = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not Path("/usr/bin/chromium").is_file():
        pytest.skip("no chromium here")
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        page, asked, wrong = browser.new_page(), [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto((site / "index.html").as_uri())
        page.click(".md-search__input")
        page.keyboard.type("residual")
        page.wait_for_selector(".md-search-result__item", timeout=30_000)
        browser.close()
    assert asked and not wrong
    assert all(address.startswith(("file:", "data:", "blob:")) for address in asked), asked
