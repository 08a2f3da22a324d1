"""URDFs of real robots, broken: by elements, by values, by bytes.

What is refused must be refused in one line. What is accepted must be computable, and must be what
Pinocchio makes of the same text, where it makes anything of it. What is plainly wrong, read here
once more and in another way, must not be accepted.
"""

from __future__ import annotations

import copy
import math
import os
import re
import sysconfig
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET
from xml.parsers.expat import ExpatError, ParserCreate

import numpy as np
from fuzz_tools import Verdict, expect, mutated_bytes, pick, random_of, time_limit
from source_tree import ROOT

import robodyn_ros as rd

try:
    import pinocchio as pin
except ImportError:  # the comparison is left out
    pin = None

LONGEST = 2.0  # [s] of computing within which a URDF must be judged
LARGEST_SEED = 25_000  # bytes: large files cost time and show nothing new
OTHERS = Path(sysconfig.get_path("purelib"), "cmeel.prefix/share/example-robot-data/robots")
MOVABLE = ("revolute", "continuous", "prismatic")
KNOWN = (*MOVABLE, "fixed", "floating", "planar")
ROUNDING = 1e-9  # [kg], of a sum of masses
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
TOKENS = (
    ["nan", "inf", "-inf", "1e308", "-1e308", "1e-320", "", "0", "-1", "1", "x", "1 2", "0 0 0"]
    + ["0 0 1", "1e6", "1e-9", "0.5", "1,5", "0x10", "1_0", "é", "base", "fixed", "floating"]
    + ["prismatic", "continuous", "&#10;", "${x}", "$(arg x)", "../../etc/passwd", "nan nan nan"]
)


def seeds() -> list[bytes]:
    """The texts to start from, always in the same order."""
    files = sorted((ROOT / "urdf").glob("*.urdf")) + sorted(OTHERS.rglob("*.urdf"))
    return [path.read_bytes() for path in files if path.stat().st_size <= LARGEST_SEED]


# mutations


def mutated(random: Any, text: bytes) -> bytes:
    """The text, broken in one to three places."""
    how = random.random()
    if how < 0.15:
        return mutated_bytes(random, text)
    if how < 0.3:
        return _by_tokens(random, text.decode("utf-8", "replace")).encode()
    robot = ET.fromstring(text)
    for _ in range(int(random.integers(1, 4))):
        _by_elements(random, robot)
    return ET.tostring(robot, encoding="utf-8")


def _by_tokens(random: Any, text: str) -> str:
    patterns = ['"[^"]*"', r"-?\d[\d.]*", "<[^>]*/>", r' \w+="[^"]*"', "<[^>]*>", r"\w+"]
    pieces = list(re.finditer(pick(random, patterns), text))
    if not pieces:
        return text
    piece = pick(random, pieces)
    token = pick(random, TOKENS)
    new = pick(random, ["", piece.group() * 2, token, f'"{token}"'])
    return text[: piece.start()] + new + text[piece.end() :]


def _by_elements(random: Any, robot: ET.Element) -> None:
    """Change a value, or delete, double, move or misname an element."""
    kept = [e for e in robot.iter() if e.tag not in ("visual", "collision", "mesh", "geometry")]
    element = pick(random, kept)
    how = int(random.integers(8))
    if how <= 2 and element.attrib:
        element.set(pick(random, list(element.attrib)), pick(random, TOKENS))
    elif how == 3 and element.attrib:
        del element.attrib[pick(random, list(element.attrib))]
    elif how == 4:
        _scale(random, element)
    elif how == 5 and len(element):
        element.remove(pick(random, list(element)))
    elif how == 6 and len(element):
        pick(random, kept).append(copy.deepcopy(pick(random, list(element))))
    else:
        _reconnect(random, robot)


def _scale(random: Any, element: ET.Element) -> None:
    """Make a number another one that may be right."""
    for name, value in element.attrib.items():
        if NUMBER.match(value):
            element.set(name, repr(float(value) * float(random.normal()) * 2.0))
            return


def _reconnect(random: Any, robot: ET.Element) -> None:
    """Let a joint have another parent, child or kind."""
    joints, links = robot.findall("joint"), robot.findall("link")
    if not joints or not links:
        return
    joint = pick(random, joints)
    end = joint.find(pick(random, ["parent", "child"]))
    if random.random() < 0.4:
        joint.set("type", pick(random, KNOWN))
    elif end is not None:
        end.set("link", pick(random, links).get("name", ""))


# judgement


def verdict(text: bytes) -> Verdict:
    """BAD if the text is plainly no robot; a second reading, short and strict."""
    if b"<!DOCTYPE" in text:
        return Verdict.BAD
    try:
        robot = _tree(text)
    except (ExpatError, ValueError, LookupError):
        return Verdict.BAD
    links, joints = robot.findall("link"), robot.findall("joint")
    wrong = (
        robot.tag != "robot"
        or _misnamed(links)
        or _misnamed(joints)
        or _misconnected(links, joints)
        or any(_misshapen(joint) for joint in joints)
        or any(_impossible(link) for link in links)
        or _weighs_less_than_nothing(links, joints)
    )
    return Verdict.BAD if wrong else Verdict.EITHER


def _tree(text: bytes) -> ET.Element:
    """Prefixes need no declaration: many a URDF has none, and other readers do not mind."""
    builder, parser = ET.TreeBuilder(), ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    parser.Parse(text, True)
    return builder.close()


def _misnamed(parts: list[ET.Element]) -> bool:
    names = [part.get("name", "") for part in parts]
    return "" in names or len(set(names)) != len(names)


def _misconnected(links: list[ET.Element], joints: list[ET.Element]) -> bool:
    names = {link.get("name") for link in links}
    ends = [_ends(joint) for joint in joints]
    if any(parent not in names or child not in names for parent, child in ends):
        return True
    carried = Counter(child for _, child in ends)
    roots = names - carried.keys()
    if max(carried.values(), default=0) > 1 or len(roots) != 1:
        return True
    reached, before = set(roots), 0
    while len(reached) > before:
        before = len(reached)
        reached |= {child for parent, child in ends if parent in reached}
    return reached != names  # the rest goes round in a loop


def _ends(joint: ET.Element) -> tuple[str | None, str | None]:
    found = [joint.find(tag) for tag in ("parent", "child")]
    parent, child = (None if end is None else end.get("link") for end in found)
    return parent, child


def _misshapen(joint: ET.Element) -> bool:
    """A joint of unknown kind, or with numbers that are none; those of limits only if it moves."""
    kind = joint.get("type")
    if kind not in (*MOVABLE, "fixed"):
        return True
    origin, axis, limit = (joint.find(tag) for tag in ("origin", "axis", "limit"))
    if origin is not None and not all(
        _numbers(origin.get(name, "0 0 0"), 3) for name in ("xyz", "rpy")
    ):
        return True
    if kind == "fixed":
        return False
    if axis is not None and not any(_numbers(axis.get("xyz", "0 0 0"), 3) or ()):
        return True
    return limit is not None and _no_limits(limit, kind)


def _no_limits(limit: ET.Element, kind: str | None) -> bool:
    """Limits may be endless, but must be numbers, the lower one not above the upper."""
    found = [_limit(limit.get(name, "0")) for name in ("effort", "velocity", "lower", "upper")]
    if any(math.isnan(value) for value in found) or min(found[:2]) < 0.0:
        return True
    return kind != "continuous" and found[2] > found[3]


def _limit(text: str) -> float:
    """A number that may be endless; nan if it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _impossible(link: ET.Element) -> bool:
    """An <inertial> with numbers that are none."""
    inertial = link.find("inertial")
    if inertial is None:
        return False
    mass, inertia, origin = (inertial.find(tag) for tag in ("mass", "inertia", "origin"))
    if mass is None or _numbers(mass.get("value", "x"), 1) is None:
        return True
    moments = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    if inertia is None or any(_numbers(inertia.get(name, "x"), 1) is None for name in moments):
        return True
    return origin is not None and not all(
        _numbers(origin.get(name, "0 0 0"), 3) for name in ("xyz", "rpy")
    )


def _weighs_less_than_nothing(links: list[ET.Element], joints: list[ET.Element]) -> bool:
    """Whether a moving body, with all links that are fixed to it, has a negative mass."""
    carrier = {
        child: (parent, joint.get("type")) for joint in joints for parent, child in [_ends(joint)]
    }
    masses = Counter[str | None]()
    for link in links:
        body, found = link.get("name"), link.find("inertial/mass")
        while body in carrier and carrier[body][1] == "fixed":
            body = carrier[body][0]
        masses[body] += 0.0 if found is None else float(found.get("value", "0"))
    return any(mass < -ROUNDING for body, mass in masses.items() if body in carrier)


def _numbers(text: str, count: int) -> list[float] | None:
    """So many finite numbers, or None."""
    parts = text.split()
    if len(parts) != count or not all(NUMBER.match(part) for part in parts):
        return None
    values = [float(part) for part in parts]
    return values if all(math.isfinite(value) for value in values) else None


# the check


def urdf(texts: list[bytes], seed: int, case: int) -> str:
    """Load one mutation: what became of it, 'refused', 'loaded' or 'compared'."""
    random = random_of(seed, "urdfs", case)
    text = mutated(random, pick(random, texts))
    begun = time.process_time()
    with time_limit(), warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.ModelWarning)
        try:
            model = rd.load_urdf(text)
        except rd.RobodynError as refusal:
            expect("\n" not in str(refusal) and len(str(refusal)) < 1000, refusal)
            model = None
        took = time.process_time() - begun
        expect(took < LONGEST, f"it took {took:.3g} s")
        if model is None:
            return "refused"
        expect(verdict(text) is not Verdict.BAD, "accepted what is plainly wrong")
        q = random.uniform(-1.0, 1.0, model.n)
        return _compute(model, text, q)


def _compute(model: rd.RobotModel, text: bytes, q: np.ndarray) -> str:
    """Whether the robot can be computed with, and is the one of the text."""
    M, g = rd.mass_matrix(model, q), rd.gravity_torque(model, q)
    expect(np.isfinite(M).all() and np.isfinite(g).all(), "M or g is not finite")
    expect(np.array_equal(M, M.T), "M is not symmetric")
    scale = np.sqrt(np.diag(M))
    expect((scale > 0.0).all(), "a joint has no inertia:", np.diag(M))
    least = np.linalg.eigvalsh(M / np.outer(scale, scale))[0]
    expect(least > -1e-9, "M has a negative direction:", least)
    expect((model.q_min <= model.q_max).all(), "limits are crossed")
    if pin is None or b"mimic" in text or b"rotor_inertia" in text:
        return "loaded"
    expected = _pinocchio(model.joint_names, text, q)
    if expected is None:
        return "loaded"
    for found, wanted in zip((M, g), expected, strict=True):
        size = 1.0 + np.abs(wanted).max()
        expect(np.abs(found - wanted).max() < 1e-6 * size, "Pinocchio has", wanted, "not", found)
    return "compared"


def _pinocchio(names: tuple[str, ...], text: bytes, q: np.ndarray) -> Any:
    """M and g of the same text, in our order; None if Pinocchio reads other joints or nothing."""
    try:
        with _quiet():
            model = pin.buildModelFromXML(text.decode())
    except (ValueError, RuntimeError, UnicodeDecodeError):
        return None
    ids = [model.getJointId(name) for name in names]
    if model.njoints - 1 != len(names) or max(ids) >= model.njoints:
        return None
    full, rows = pin.neutral(model), []
    for k, value in zip(ids, q, strict=True):
        joint = model.joints[k]
        turns = joint.nq == 2
        full[joint.idx_q : joint.idx_q + joint.nq] = (
            [math.cos(value), math.sin(value)] if turns else value
        )
        rows.append(joint.idx_v)
    data = model.createData()
    M = pin.crba(model, data, full)
    M = np.triu(M) + np.triu(M, 1).T
    if not (np.diag(M) > 0.0).all():  # it divides by masses that cancel where links are lumped
        return None
    g = pin.computeGeneralizedGravity(model, data, full)
    return M[np.ix_(rows, rows)], g[rows]


@contextmanager
def _quiet() -> Iterator[None]:
    """Let nothing that C++ prints reach the terminal."""
    kept = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in (1, 2):
            os.dup2(nowhere, number)
        yield
    finally:
        for number, old in zip((1, 2), kept, strict=True):
            os.dup2(old, number)
            os.close(old)
        os.close(nowhere)
