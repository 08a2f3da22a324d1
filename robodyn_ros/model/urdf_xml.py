"""Safe reader of untrusted URDFs: size and depth are limited, no reference is followed.

It keeps the elements that dynamics need: links with their <inertial>, joints, transmissions.
Everything else (visual, collision, gazebo, ros2_control, …) is dropped while reading, so no mesh
is opened and broken geometry does not matter.
"""

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element, SubElement
from xml.parsers import expat

from ..errors import ArgumentError, UrdfError

MAX_BYTES = 5_000_000
MAX_TAG_BYTES = 1_000_000  # the parser reads all attributes of a tag before it reports it
MAX_LEVELS = 64
MAX_ELEMENTS = 100_000
MAX_PARTS = 1000  # links, and joints

RUN_XACRO = "run xacro first: xacro robot.urdf.xacro > robot.urdf"

Kept = Mapping[str, Any]  # tag -> tags that are kept inside it

INSIDE_LINK: Kept = {"inertial": {"origin": {}, "mass": {}, "inertia": {}}}
INSIDE_JOINT: Kept = dict.fromkeys(
    ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"), {}
)
ROTOR: Kept = {"gear_ratio": {}, "rotor_inertia": {}}
KEPT: Kept = {
    "link": INSIDE_LINK,
    "joint": INSIDE_JOINT,
    "drake:joint": INSIDE_JOINT,  # kept, to be rejected by its type
    "transmission": {"joint": {"actuator": ROTOR, **ROTOR}, "actuator": ROTOR},
}


@dataclass
class Document:
    """A URDF reduced to the elements that dynamics need; their values are not checked yet."""

    robot: Element = field(default_factory=lambda: Element("robot"))  # links and joints only
    transmissions: list[Element] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read_urdf(source: Any) -> Document:
    """Return the reduced URDF in a file (str or PathLike) or in XML text (str or bytes)."""
    text = _text_of(source)
    _check_pieces(text)
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _reject_doctype
    parser.StartElementHandler = lambda tag, values: reader.start(
        tag, values, parser.CurrentLineNumber
    )
    parser.EndElementHandler = reader.end
    try:
        parser.Parse(text, True)
    except UrdfError:
        raise
    except expat.ExpatError as fault:
        reason = expat.ErrorString(fault.code)
        raise UrdfError(
            f"the URDF is not well-formed XML: line {fault.lineno}, column {fault.offset}: "
            f"{reason}; correct that line"
        ) from None
    except (LookupError, ValueError) as fault:
        raise UrdfError(
            f"the URDF cannot be decoded ({one_line(fault)}); save it as UTF-8"
        ) from None
    return reader.document


def quoted(text: object, most: int = 80) -> str:
    """Return a name or value quoted for a message, on one line and shortened."""
    text = str(text)
    half = most // 2
    return repr(text if len(text) <= most else f"{text[:half]}…{text[-half:]}")


def one_line(fault: object) -> str:
    """Return the message of another library on one line, shortened."""
    text = " ".join(str(fault).split()) or type(fault).__name__
    return text if len(text) <= 200 else text[:197] + "…"


def _text_of(source: Any) -> str | bytes:
    if isinstance(source, (bytes, bytearray)):
        _check_size(len(source))
        return _from_declaration(bytes(source))
    if isinstance(source, str):
        if len(source) > MAX_BYTES:  # longer than any path
            _check_size(len(source))
        if re.match(r"[\ufeff\s]*<", source):
            _check_size(len(source.encode("utf-8", "replace")))
            return _from_declaration(source.lstrip("\ufeff"))
        return _from_declaration(_read_file(source))
    if isinstance(source, os.PathLike):
        return _from_declaration(_read_file(os.fspath(source)))
    raise ArgumentError(
        "path_or_xml must be a path (str or PathLike) or XML text (str or bytes), "
        f"got {type(source).__name__}"
    )


def _from_declaration(text: Any) -> Any:
    """Return the text without blanks before an XML declaration, which parsers reject."""
    start = text.lstrip()
    return start if start[:5] in ("<?xml", b"<?xml") else text


def _read_file(path: Any) -> bytes:
    """Return the content of a regular file up to MAX_BYTES; pipes and devices are rejected."""
    what = f"URDF file {quoted(path, most=300)}"
    if not path:
        raise UrdfError("the URDF is empty; give a path or XML text that begins with '<'")
    try:
        _check_regular(os.stat(path), what)
        # The file may be exchanged before it is opened: do not block, and check again.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
            _check_regular(os.fstat(file.fileno()), what)
            content = file.read(MAX_BYTES + 1)
    except UrdfError:
        raise
    except OSError as fault:
        reason = one_line(fault.strerror or fault)
        raise UrdfError(
            f"{what} cannot be read: {reason}; give an existing path, or XML text that begins "
            "with '<'"
        ) from None
    except ValueError as fault:  # a path that holds a null character
        raise UrdfError(f"{what} is no path: {one_line(fault)}; give another one") from None
    _check_size(len(content), what)
    return content


def _check_regular(status: os.stat_result, what: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise UrdfError(f"{what} is a directory; give the path of the .urdf file inside it")
    if not stat.S_ISREG(status.st_mode):
        raise UrdfError(f"{what} is a device, pipe or socket; give a regular file")
    _check_size(status.st_size, what)


def _check_size(size: int, what: str = "the URDF") -> None:
    if size > MAX_BYTES:
        raise UrdfError(
            f"{what} is larger than the {MAX_BYTES / 1e6:g} MB allowed; a URDF refers to its "
            "meshes, it does not hold them: remove what does not belong there"
        )
    if size == 0 and what == "the URDF":
        raise UrdfError("the URDF is empty; give a path or XML text that begins with '<'")


def _check_pieces(text: Any) -> None:
    """Reject a tag that is too long; no tag has a second '<' in it."""
    mark = "<" if isinstance(text, str) else b"<"
    step = MAX_TAG_BYTES // 2
    for start in range(0, len(text) - step, step):
        if text.find(mark, start, start + step) < 0:
            raise UrdfError(
                f"the URDF has a piece of more than {step} characters without any '<' after "
                f"character {start}; remove what does not belong there"
            )


def _reject_doctype(name: str, *_: object) -> None:
    raise UrdfError(
        f"the URDF declares a DOCTYPE ({quoted(name)}), which can define harmful entities; "
        "delete the <!DOCTYPE …> line"
    )


class _Reader:
    def __init__(self) -> None:
        self.document = Document()
        self.elements = 0
        self.parts = {"link": 0, "joint": 0}
        # The open elements, and the tags kept inside each; None: the element is dropped.
        self.open: list[tuple[Element, Kept] | None] = []

    def start(self, tag: str, values: dict[str, str], line: int) -> None:
        self.elements += 1
        self._check_limits()
        if tag.startswith("xacro:"):
            raise UrdfError(f"line {line}: <{tag[:80]}> is unprocessed xacro; {RUN_XACRO}")
        if not self.open:
            self._start_robot(tag, values)
            return
        above = self.open[-1]
        tag = _without_prefix(tag)
        if above is None or (inside := above[1].get(tag)) is None:
            self.open.append(None)
            return
        _check_values(tag, values, line)
        self.open.append((self._keep(above[0], tag, values, line), inside))

    def end(self, _: str) -> None:
        self.open.pop()

    def _check_limits(self) -> None:
        if len(self.open) >= MAX_LEVELS:
            raise UrdfError(
                f"the URDF nests its elements more than {MAX_LEVELS} levels deep; a robot needs "
                "5: remove what does not belong there"
            )
        if self.elements > MAX_ELEMENTS:
            raise UrdfError(
                f"the URDF has more than {MAX_ELEMENTS} elements; remove what does not belong "
                "there"
            )

    def _start_robot(self, tag: str, values: dict[str, str]) -> None:
        if tag != "robot":
            raise UrdfError(
                f"the outermost element is <{tag[:80]}>, not <robot>; give a URDF (SDF and MJCF "
                "must be converted first)"
            )
        self.document.robot.set("name", values.get("name", "unnamed"))
        self.open.append((self.document.robot, KEPT))

    def _keep(self, above: Element, tag: str, values: dict[str, str], line: int) -> Element:
        if above is not self.document.robot:
            return self._keep_inside(above, tag, values)
        if tag == "transmission":
            self.document.transmissions.append(Element(tag, values))
            return self.document.transmissions[-1]
        return self._keep_part(tag.removeprefix("drake:"), values, line)

    def _keep_inside(self, above: Element, tag: str, values: dict[str, str]) -> Element:
        """Return the new child; warn about a second one where only one is allowed."""
        if tag not in ("joint", "actuator") and above.find(tag) is not None:
            self.document.warnings.append(
                f"{self._part()} has more than one <{tag}>, of which only the first counts: "
                "delete the others"
            )
            return Element(tag)
        return SubElement(above, tag, values)

    def _part(self) -> str:
        """Return the current link, joint or transmission, for a message."""
        part = self.open[1][0] if self.open[1] else self.document.robot
        return f"{part.tag} {quoted(part.get('name', ''))}"

    def _keep_part(self, tag: str, values: dict[str, str], line: int) -> Element:
        if not values.get("name"):
            raise UrdfError(f"line {line}: a <{tag}> has no name; give it one")
        self.parts[tag] += 1
        if self.parts[tag] > MAX_PARTS:
            raise UrdfError(
                f"the URDF has more than {MAX_PARTS} {tag}s (the last one is "
                f"{quoted(values['name'])}); leave out fixed ones"
            )
        return SubElement(self.document.robot, tag, values)


def _without_prefix(tag: str) -> str:
    """Return the local name of Drake's extensions, whose prefix varies; else the tag."""
    local = tag.rpartition(":")[2]
    return local if local in ROTOR else tag


def _check_values(tag: str, values: dict[str, str], line: int) -> None:
    for name, value in values.items():
        if "${" in value or "$(" in value:
            raise UrdfError(
                f"line {line}: <{tag[:80]} {name[:80]}={quoted(value)}> is unprocessed xacro; "
                f"{RUN_XACRO}"
            )
