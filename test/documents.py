"""Pages of the documentation, their links and code blocks; as a program, run the Python of a page.

A block that begins with an import stands for itself; any other one continues the block before it.
Every block prints something. A block of `text` right after it is what it prints.
"""

import io
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r" *```(\w*)$")
ITEM = re.compile(r"(-|\d+\.) ")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\w)")
SPREAD = 0.25  # of numbers printed elsewhere


class Block(NamedTuple):
    """A code block; language "": without one, or indented."""

    page: Path
    line: int  # before its first one
    language: str
    text: str
    follows: bool  # nothing stands between the block before and this one

    @property
    def lines(self):
        """Commands, without comments and empty lines."""
        found = (line.partition(" #")[0].strip() for line in self.text.splitlines())
        return [line for line in found if line and not line.startswith("#")]


def blocks_of(page):
    """Return the code blocks of a page, fenced or indented, in order."""
    found, lines, k, listed, last = [], page.read_text(encoding="utf-8").splitlines(), 0, False, 0
    while k < len(lines):
        fence, first = FENCE.match(lines[k]), k
        if fence:
            indent = lines[k].index("`")
            while not FENCE.match(lines[k := k + 1]):
                pass
            body = [line[indent:] for line in lines[first + 1 : k]]
        elif lines[k].startswith("    ") and not lines[k - 1].strip() and not listed:
            while k < len(lines) and (lines[k].startswith("    ") or not lines[k].strip()):
                k += 1
            k -= 1
            body = [line[4:] for line in lines[first : k + 1]]
        else:
            if lines[k].strip() and not lines[k].startswith(" "):
                listed = bool(ITEM.match(lines[k]))
            k += 1
            continue
        follows = not any(line.strip() for line in lines[last:first])
        language = fence[1] if fence else ""
        text = "\n".join(body).rstrip() + "\n"
        found.append(Block(page, first + bool(fence), language, text, follows))
        k += 1
        last = k
    return found


def unfenced(page):
    """Return the text of a page without its code blocks."""
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)


def links_of(page):
    """Return the targets of a page's links that are no addresses."""
    return re.findall(r"\]\((?!\w+:)([^)\s]+)\)", unfenced(page))


def anchors_of(page):
    """Return the anchors of a page's headings."""
    titles = re.findall(r"^#+ (.+)$", unfenced(page), re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", title).strip().lower() for title in titles)
    return {re.sub(r"[\s-]+", "-", title) for title in plain}


def alike(told, expected):
    """Return whether words are equal, and numbers nearly."""
    if NUMBER.sub("#", told).split() != NUMBER.sub("#", expected).split():
        return False
    pairs = zip(NUMBER.findall(told), NUMBER.findall(expected), strict=True)
    return all(abs(float(a) - float(b)) <= SPREAD * abs(float(b)) + 1e-9 for a, b in pairs)


def run(page):
    """Run the Python blocks of a page; end the program at the first that fails."""
    names, blocks = {}, blocks_of(page)
    for k, block in enumerate(blocks):
        if block.language != "python":
            continue
        if block.text.startswith(("import ", "from ")):
            names = {"__name__": "__main__"}
        told = io.StringIO()
        with redirect_stdout(told):
            exec(compile("\n" * block.line + block.text, str(page), "exec"), names)
        place = f"{page.relative_to(ROOT)}:{block.line}"
        print(f"{place}\n{told.getvalue()}")
        if not told.getvalue().strip():
            sys.exit(f"{place}: prints nothing")
        after = blocks[k + 1] if k + 1 < len(blocks) else None
        shown = after and after.language == "text" and after.follows
        if shown and not alike(told.getvalue(), after.text):
            sys.exit(f"{place}: printed\n{told.getvalue()}the page says\n{after.text}")


if __name__ == "__main__":
    run(ROOT / sys.argv[1])
