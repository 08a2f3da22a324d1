"""Invalid URDFs are rejected; the message names the element and the remedy (rows 19 to 25)."""

import os
import re
import socket
import sys
import time
import tracemalloc
from xml.etree.ElementTree import tostring

import numpy as np
import pytest
from urdf_texts import COUPLED, PAIR, TREE, bare, joint, limit, link, mimic, robot

from robodyn_ros.errors import ArgumentError, ModelWarning, RobodynError, UrdfError
from robodyn_ros.model.checks import mass_matrix_by_jacobians
from robodyn_ros.model.packed_model import friction_rows, pack_friction
from robodyn_ros.model.urdf import load_urdf
from robodyn_ros.model.urdf_xml import read_urdf

PAIR_TEXT = robot(*PAIR)


def swapped(old, new, text=PAIR_TEXT):
    assert text.count(old) >= 1
    return text.replace(old, new, 1)


def two(*joints):
    return robot(bare("base"), link("a"), link("b"), *joints)


def on_joint(kind="revolute", **options):
    return robot(bare("base"), link("a"), joint("j1", "base", "a", kind, **options))


def transmission(inside, joints='<joint name="j1"/>'):
    return f'<transmission name="t1">{joints}<actuator name="m">{inside}</actuator></transmission>'


ROTOR = '<drake:rotor_inertia value="{}"/>'.format

# Name: (text, options, what the message names, what the remedy says).
REFUSED = {
    # 19: masses and inertias
    "negative mass": (swapped('value="1.0"', 'value="-1"'), {}, "'a'", "correct its <mass>"),
    "mass that is nan": (swapped('value="1.0"', 'value="nan"'), {}, "'a'", "correct it"),
    "mass that is inf": (swapped('value="1.0"', 'value="inf"'), {}, "'a'", "correct it"),
    "mass of a star": (swapped('value="1.0"', 'value="1e308"'), {}, "'a'", "correct it"),
    "mass that is a word": (swapped('value="1.0"', 'value="heavy"'), {}, "'a'", "correct it"),
    "mass with two values": (swapped('value="1.0"', 'value="1 2"'), {}, "'a'", "correct it"),
    "mass with underscore": (swapped('value="1.0"', 'value="1_0"'), {}, "'a'", "correct it"),
    "mass without value": (swapped(' value="1.0"', ""), {}, "'a'", 'add value="…"'),
    "no mass": (swapped('<mass value="1.0"/>', ""), {}, "'a'", "add it"),
    "no inertia": (re.sub("<inertia .*?/>", "", PAIR_TEXT), {}, "'a'", "add it"),
    "inertia lacks iyz": (swapped(' iyz="0.0015"', ""), {}, "'a'", 'add iyz="…"'),
    "inertia that is nan": (swapped('ixx="0.02"', 'ixx="nan"'), {}, "'a'", "correct it"),
    "negative moment": (swapped('ixx="0.02"', 'ixx="-1"'), {}, "'a'", "correct its inertia"),
    "indefinite by ixy": (swapped('ixy="0.001"', 'ixy="1"'), {}, "'a'", "correct its inertia"),
    "massless moving link": (
        robot(*PAIR, bare("b"), joint("j2", "a", "b")), {}, "'j2'", "lock the joint"
    ),
    "point mass on the axis": (
        robot(*PAIR, link("b", com="0 0 0.3", inertia=(0, 0, 0)), joint("j2", "a", "b"))
        .replace('ixx="0" ixy="0.001" ixz="-0.002"', 'ixx="0" ixy="0" ixz="0"')
        .replace('iyy="0" iyz="0.0015"', 'iyy="0" iyz="0"'),
        {}, "'j2'", "rotor inertia",
    ),
    "massless link between equal axes": (
        two(joint("j1", "base", "a"), joint("j2", "a", "b", origin='xyz="0 0 0"'))
        .replace(link("a"), bare("a")),
        {}, "'j", "give the link a mass",
    ),
    "triangle in strict mode": (
        swapped('izz="0.04"', 'izz="0.4"'), {"strict": True}, "'a'", "without strict"
    ),
    # 20: structure
    "loop": (
        two(joint("j1", "a", "b"), joint("j2", "b", "a")), {}, "'j", "delete one joint"
    ),
    "joint on itself": (
        two(joint("j1", "base", "b"), joint("j2", "a", "a")), {}, "'j2'", "delete"
    ),
    "loop beyond the root": (
        robot(*PAIR, link("b"), link("c"), joint("j2", "b", "c"), joint("j3", "c", "b")),
        {}, "'j", "delete",
    ),
    "link with two parents": (
        two(joint("j1", "base", "a"), joint("j2", "base", "b"), joint("j3", "a", "b")),
        {}, "'b'", "delete one",
    ),
    "two roots": (
        robot(*PAIR, link("c"), link("d"), joint("j2", "c", "d")), {}, "'c'", "fixed joint"
    ),
    "orphan": (robot(*PAIR, link("lost")), {}, "'lost'", "connect it"),
    "duplicate link": (robot(*PAIR, link("a")), {}, "'a'", "rename"),
    "duplicate joint": (
        two(joint("j1", "base", "a"), joint("j1", "a", "b")), {}, "'j1'", "rename"
    ),
    "unknown parent": (swapped('parent link="base"', 'parent link="x"'), {}, "'j1'", "add the"),
    "unknown child": (swapped('child link="a"', 'child link="x"'), {}, "'j1'", "add the link"),
    "no parent": (swapped('<parent link="base"/>', ""), {}, "'j1'", "add it"),
    "empty child": (swapped('child link="a"', 'child link=""'), {}, "'j1'", "add link"),
    "no links": (robot(), {}, "'r'", "complete URDF"),
    "no movable joint": (robot(bare("base")), {}, "'r'", "choose another root"),
    "link without name": (robot("<link/>"), {}, "line 1", "give it one"),
    "joint without name": (robot("\n\n<joint/>"), {}, "line 3", "give it one"),
    "joint without type": (swapped(' type="revolute"', ""), {}, "'j1'", "add type"),
    # 22: mimic; floating, planar
    "floating": (on_joint("floating"), {}, "'j1'", "lock=['j1']"),
    "planar": (on_joint("planar"), {}, "'j1'", "root='a'"),
    "spherical": (on_joint("spherical"), {}, "'j1'", "lock"),
    "Drake's ball joint": (
        on_joint("ball").replace("<joint", "<drake:joint").replace("</joint", "</drake:joint"),
        {}, "'j1'", "lock",
    ),
    "mimic of nothing": (on_joint(more=mimic("x")), {}, "'x'", "correct <mimic>"),
    "mimic of itself": (on_joint(more=mimic("j1")), {}, "'j1'", "remove one"),
    "mimic in a circle": (
        two(joint("j1", "base", "a", more=mimic("j2")), joint("j2", "a", "b", more=mimic("j1"))),
        {}, "'j1'", "remove one",
    ),
    "mimic without joint": (on_joint(more="<mimic/>"), {}, "'j1'", "add joint"),
    "mimic by nan": (on_joint(more=mimic("j1", "nan")), {}, "'j1'", "correct it"),
    "mimic of what is cut away": (
        COUPLED, {"tip": "finger_2"}, "'right_slide'", "lock=['finger_2']"
    ),
    "mimic of what is above the root": (
        two(joint("j1", "base", "a"), joint("j2", "a", "b", more=mimic("j1"))),
        {"root": "a"}, "'j2'", "lock",
    ),
    # 23: axes, limits, numbers
    "zero axis": (on_joint(axis="0 0 0"), {}, "'j1'", '<axis xyz="0 0 1"/>'),
    "zero axis, locked": (
        swapped('axis xyz="1 1 0"', 'axis xyz="0 0 0"', TREE),
        {"lock": {"left_slide": 1}}, "'left_slide'", "give it one",
    ),
    "nan axis": (on_joint(axis="0 nan 0"), {}, "'j1'", "correct it"),
    "short axis": (on_joint(axis="0 1"), {}, "'j1'", "correct it"),
    "axis without xyz": (swapped('<axis xyz="0 0 1"/>', "<axis/>"), {}, "'j1'", "add xyz"),
    "lower above upper": (on_joint(more=limit(1, -1)), {}, "'j1'", "swap"),
    "upper below default": (
        on_joint("prismatic", more='<limit upper="-1"/>'), {}, "'j1'", "correct"
    ),
    "endless lower": (on_joint(more=limit("inf", "inf")), {}, "'j1'", "correct them"),
    "nan limit": (on_joint(more=limit("nan")), {}, "'j1'", "correct it"),
    "nan effort": (on_joint(more=limit(effort="nan")), {}, "'j1'", "correct it"),
    "negative effort": (on_joint(more=limit(effort=-1)), {}, "'j1'", "correct <limit>"),
    "negative velocity": (on_joint(more=limit(velocity=-1)), {}, "'j1'", "correct <limit>"),
    "negative damping": (
        on_joint(more='<dynamics damping="-1"/>'), {}, "'j1'", "correct <dynamics>"
    ),
    "negative friction": (
        on_joint(more='<dynamics friction="-1"/>'), {}, "'j1'", "correct <dynamics>"
    ),
    "nan origin": (on_joint(origin='xyz="0 nan 0"'), {}, "'j1'", "correct it"),
    "inf rpy": (on_joint(origin='rpy="0 0 -inf"'), {}, "'j1'", "correct it"),
    "empty rpy": (on_joint(origin='rpy=""'), {}, "'j1'", "correct it"),
    "quaternion": (on_joint(origin='quat_xyzw="0 0 0 1"'), {}, "'j1'", "write rpy"),
    "negative rotor": (robot(*PAIR, transmission(ROTOR(-1))), {}, "'t1'", "correct it"),
    "nan rotor": (robot(*PAIR, transmission(ROTOR("nan"))), {}, "'t1'", "correct it"),
    "rotor of no joint": (robot(*PAIR, transmission(ROTOR(1), "")), {}, "'t1'", "exactly one"),
    "rotor of an unknown joint": (
        robot(*PAIR, transmission(ROTOR(1), '<joint name="x"/>')), {}, "'x'", "choose from 'j1'"
    ),
    # arguments that do not fit the URDF
    "unknown root": (TREE, {"root": "x"}, "'x'", "choose one of"),
    "root that is no name": (TREE, {"root": 3}, "'3'", "choose one of"),
    "unknown tip": (TREE, {"tip": "x"}, "'x'", "choose one of"),
    "tip not below root": (TREE, {"root": "mount", "tip": "right_1"}, "'right_1'", "another root"),
    "tip is the root": (TREE, {"tip": "base"}, "'world'", "choose another"),
    "unknown lock": (TREE, {"lock": ["x"]}, "'x'", "choose from"),
    "lock by number": (TREE, {"lock": 3}, "lock", "give joint names"),
    "lock at nan": (TREE, {"lock": {"turn": float("nan")}}, "'turn'", "finite position"),
    "lock at a word": (TREE, {"lock": {"turn": "up"}}, "'turn'", "finite position"),
    "lock all": (PAIR_TEXT, {"lock": ["j1"]}, "'r'", "lock fewer"),
    "lock floating elsewhere": (
        on_joint("floating"), {"lock": {"j1": 0.5}}, "'j1'", "lock it at 0"
    ),
    "rotor of an unknown name": (TREE, {"rotor_inertia": {"x": 1}}, "'x'", "choose from"),
    "rotor of what stands still": (
        TREE, {"rotor_inertia": {"turn": 1}, "lock": ["turn"]}, "'turn'", "leave it out"
    ),
    # 24 and what is no URDF at all
    "not xml": ("<robot>\n<a>\n</robot>", {}, "line 3", "correct that line"),
    "cut short": (TREE[: len(TREE) // 2], {}, "line", "correct that line"),
    "empty bytes": (b"", {}, "empty", "give a path"),
    "empty text": ("", {}, "empty", "give a path"),
    "binary": (bytes(range(256)), {}, "line 1", "correct that line"),
    "unknown encoding": (
        b'<?xml version="1.0" encoding="klingon"?><robot/>', {}, "encoding", ""
    ),
    "sdf": ('<sdf version="1.7"/>', {}, "<sdf>", "give a URDF"),
    "mjcf": ("<mujoco/>", {}, "<mujoco>", "converted"),
    "xacro element": (robot(*PAIR, "\n<xacro:arm/>"), {}, "line 5", "run xacro first"),
    "xacro value": (on_joint(origin='xyz="${x} 0 0"'), {}, "${x}", "run xacro first"),
    "xacro argument": (swapped('"base"', '"$(arg base)"'), {}, "$(arg base)", "run xacro first"),
    "no such file": ("no/such/robot.urdf", {}, "'no/such/robot.urdf'", "existing path"),
    "null in path": ("a\0b", {}, "x00", "give another"),
    "too many links": (robot(*(bare(f"l{i}") for i in range(1001))), {}, "'l1000'", "leave out"),
    "too many elements": (robot("<a/>" * 100_001), {}, "100000 elements", "remove"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_name_and_remedy(name):
    text, options, element, remedy = REFUSED[name]
    with pytest.raises(UrdfError) as caught:
        load_urdf(text, **options)
    message = str(caught.value)
    assert element in message
    assert remedy in message
    assert "\n" not in message
    assert len(message) < 700


def test_triangle_inequality_warns_and_names_the_link():
    with pytest.warns(ModelWarning, match="link 'a'"):
        load_urdf(swapped('izz="0.04"', 'izz="0.4"'))


def test_negative_mass_that_is_outweighed_warns():
    """Some files have a link of negative mass on a fixed joint; the whole body counts."""
    text = robot(*PAIR, link("hole", -0.01), joint("f", "a", "hole", "fixed"))
    with pytest.warns(ModelWarning, match="'hole'"):
        assert load_urdf(text).mass[0] == pytest.approx(0.99)
    with pytest.raises(UrdfError, match="'hole'"):
        load_urdf(text, strict=True)


def test_a_second_inertial_warns():
    again = re.search("<inertial>.*</inertial>", PAIR_TEXT).group()
    text = PAIR_TEXT.replace(again, again + again.replace('value="1.0"', 'value="7"'))
    with pytest.warns(ModelWarning, match="link 'a' has more than one <inertial>"):
        assert load_urdf(text).mass.tolist() == [1.0]
    with pytest.raises(UrdfError, match="delete"):
        load_urdf(text, strict=True)


@pytest.mark.parametrize("rotor", [-1.0, np.nan, [1.0, 2.0], "heavy", [[1.0]], {"j1": -1.0}])
def test_wrong_rotor_inertia(rotor):
    with pytest.raises(ArgumentError, match="rotor_inertia"):
        load_urdf(PAIR_TEXT, rotor_inertia=rotor)


@pytest.mark.parametrize("source", [None, 0, 1.5, ["<robot/>"]])
def test_wrong_type_of_source(source):
    with pytest.raises(ArgumentError, match="path_or_xml"):
        load_urdf(source)


# --- row 24: files that mean harm

BOMB = '<!DOCTYPE b [<!ENTITY a0 "ha">' + "".join(
    f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12)
)
EXTERNAL = '<!DOCTYPE r [<!ENTITY x SYSTEM "{}">]><robot name="r"><link name="&x;"/></robot>'
ATTRIBUTES = " ".join(f'a{i}=""' for i in range(90_000))
# Name: (text, what the message says).
HARMFUL = {
    "entity bomb": (BOMB + ']><robot name="&a11;"/>', "DOCTYPE"),
    "external file": (EXTERNAL.format("file:///etc/hostname"), "DOCTYPE"),
    "external address": (EXTERNAL.format("http://127.0.0.1:9/x"), "DOCTYPE"),
    "external DTD": ('<!DOCTYPE r SYSTEM "http://127.0.0.1:9/x">' + PAIR_TEXT, "DOCTYPE"),
    "parameter entity": ('<!DOCTYPE r [<!ENTITY % p SYSTEM "/x"> %p;]>' + PAIR_TEXT, "DOCTYPE"),
    "plain DOCTYPE": ("<!DOCTYPE robot>" + PAIR_TEXT, "DOCTYPE"),
    "50 MB of blanks": (PAIR_TEXT + " " * 50_000_000, "5 MB"),
    "50 MB of a name": ('<robot name="' + "x" * 50_000_000, "5 MB"),
    "50 MB before the text": (" " * 50_000_000 + PAIR_TEXT, "5 MB"),
    "5 MB of one name": (robot(*PAIR, f'<a name="{"x" * 4_900_000}"/>'), "piece"),
    "5 MB of attributes": (robot(*PAIR, f"<a {ATTRIBUTES * 4}/>"), "piece"),
    "1 MB of attributes": (f"<sdf {ATTRIBUTES}/>", "<sdf>"),
    "5 MB of elements": (robot(*PAIR, "<a/>" * 1_200_000), "elements"),
    "200,000 levels": ("<robot>" + "<a>" * 200_000, "64 levels"),
    "65 levels": (robot(*PAIR, "<a>" * 64 + "</a>" * 64), "64 levels"),
}


class Watch:
    """Records what Python opens, connects to or starts; an audit hook cannot be removed."""

    EVENTS = ("open", "socket.", "subprocess.", "os.system", "os.posix_spawn", "urllib.")

    def __init__(self):
        self.seen = None
        sys.addaudithook(self.hook)

    def hook(self, event, arguments):
        if self.seen is not None and event.startswith(self.EVENTS):
            self.seen.append((event, arguments[0] if arguments else None))

    def __enter__(self):
        self.seen = []
        return self.seen

    def __exit__(self, *_):
        self.seen = None


@pytest.fixture(scope="module")
def watch():
    load_urdf(PAIR_TEXT)  # imports what is imported late
    return Watch()


# Texts that the parser stops take a while each, and their form makes no difference to it.
STOPPED_BY_THE_PARSER = ("5 MB of attributes", "1 MB of attributes", "5 MB of elements")
FORMS = [
    (name, form)
    for name in HARMFUL
    for form in ("text", "bytes", "file")
    if form == "file" or name not in STOPPED_BY_THE_PARSER
]


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_harmful_text_is_refused_quickly(name, form, watch, tmp_path):
    source, reason = HARMFUL[name]
    allowed = []
    if form != "text":
        source = source.encode()
    if form == "file":
        path = tmp_path / "robot.urdf"
        path.write_bytes(source)
        source, allowed = path, [("open", os.fspath(path))]
    tracemalloc.start()
    start = time.process_time()  # the time it takes itself, whatever else the machine does
    with watch as opened, pytest.raises(UrdfError, match=reason) as caught:
        load_urdf(source)
    took = time.process_time() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert took < 1.0
    assert peak < 30e6
    assert [event for event in opened if event not in allowed] == []
    assert len(str(caught.value)) < 500


def test_64_levels_are_allowed():
    load_urdf(robot(*PAIR, "<a>" * 63 + "</a>" * 63))


def test_nearly_5_MB_are_allowed():
    load_urdf(PAIR_TEXT + "<!-- 8 -->\n" * 450_000)


@pytest.mark.parametrize("kind", ["directory", "fifo", "socket", "device", "dangling link"])
def test_only_regular_files_are_opened(kind, tmp_path, watch, monkeypatch):
    path = tmp_path / "robot.urdf"
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            monkeypatch.chdir(tmp_path)  # the path of a socket must be short
            server.bind(path.name)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.symlink_to(tmp_path / "nothing")
    start = time.process_time()
    with watch as opened, pytest.raises(UrdfError, match=r"robot\.urdf"):
        load_urdf(path)
    assert opened == []
    assert time.process_time() - start < 1.0


def test_a_file_that_hides_its_size(tmp_path):
    """Files under /proc say that they are empty."""
    with pytest.raises(UrdfError):
        load_urdf("/proc/self/maps")


# --- row 25: meshes

MESHES = [
    "../../../../etc/passwd",
    "file:///etc/passwd",
    "package://../../etc/passwd",
    "http://127.0.0.1:9/mesh.stl",
    "/dev/zero",
    "",
]


@pytest.mark.parametrize("mesh", MESHES)
def test_meshes_are_never_opened(mesh, watch, tmp_path):
    shape = f'<geometry><mesh filename="{mesh}"/></geometry>'
    seen = f"<visual>{shape}</visual><collision>{shape}</collision></link>"
    path = tmp_path / "robot.urdf"
    path.write_text(PAIR_TEXT.replace("</link>", seen), encoding="utf-8")
    with watch as opened:
        load_urdf(path)
    assert set(opened) == {("open", os.fspath(path))}
    # The parser behind it, whose own opening no hook would see, is not even told.
    assert b"mesh" not in tostring(read_urdf(path).robot)


def test_the_watch_can_see(watch, tmp_path):
    (tmp_path / "x").touch()
    with watch as opened:
        (tmp_path / "x").open().close()
    assert opened


# --- everything else: mutations

TOKENS = [
    "nan",
    "inf",
    "-inf",
    "1e308",
    "-1e308",
    "1e-320",
    "",
    "0",
    "-1",
    "x",
    "1 2",
    "0 0 0",
    "é",
]
TOKENS += ["base", "a", "turn", "fixed", "floating", "prismatic", "&#10;", "&lt;", "${x}", "1_0"]

# Mostly values: what is broken as XML does not get far.
PIECES = ['"[^"]*"', r"-?\d[\d.]*", r"-?\d[\d.]*", "<[^>]*/>", r' \w+="[^"]*"', "<[^>]*>", r"\w+"]


def mutate(text, random):
    """The text with a value, a tag or a piece of text changed, deleted or doubled."""
    for _ in range(random.integers(1, 4)):
        pattern = random.choice(PIECES)
        pieces = list(re.finditer(str(pattern), text))
        if not pieces:
            continue
        piece = pieces[random.integers(len(pieces))]
        token = str(random.choice(TOKENS))
        if piece.group().startswith('"'):
            token = f'"{token}"'
        new = ["", piece.group() * 2, token, token][random.integers(4)]
        text = text[: piece.start()] + new + text[piece.end() :]
    return text


@pytest.mark.filterwarnings("ignore::robodyn_ros.errors.ModelWarning")
def test_mutations_load_finite_or_are_refused():
    random = np.random.default_rng(7)
    gear = '<drake:gear_ratio value="100"/>' + ROTOR(1e-4)
    whole = COUPLED.replace("</robot>", transmission(gear, '<joint name="turn"/>') + "</robot>")
    loaded = 0
    for _ in range(400):
        text = mutate(whole, random)
        try:
            model = load_urdf(text)
        except RobodynError as refusal:
            assert "\n" not in str(refusal)
            continue
        loaded += 1
        assert np.all(np.isfinite(model.packed)), text
        *friction, speed = friction_rows(pack_friction(model))
        assert np.all(np.isfinite(friction)) and np.all(speed == np.inf), text
        assert np.all(np.isfinite(mass_matrix_by_jacobians(model, np.ones(model.n)))), text
        assert np.all(model.q_min <= model.q_max), text
    assert 40 < loaded < 360
