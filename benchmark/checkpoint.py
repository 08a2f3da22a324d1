"""Checkpoints of long runs: what was done so far, in a file from which the next sitting goes on.

A checkpoint belongs to its options and to the commit of the code; with others it is refused.
Failures are kept in it like all else that was found.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CODE = ("robodyn_ros", "benchmark", "config", "urdf", "test")  # documents may change meanwhile
EVERY = 5.0  # [s] between two writes of `save_now_and_then`
OPTION = "file to keep what is done in, and to go on from"


class Checkpoint:
    """State of a run, plain JSON; without a path it is kept in memory only.

    options: everything that changes the results.
    """

    def __init__(self, path: Path | None, options: dict[str, Any]) -> None:
        self.path, self.state = path, {}
        self._saved = time.monotonic()
        if path is None:
            return
        self._of = json.loads(json.dumps({**options, "commit": commit()}, default=str))
        if path.exists():
            self.state = self._read(path)

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            of, state = content["of"], content["state"]
        except (ValueError, KeyError, TypeError) as error:
            raise SystemExit(f"{path} is no checkpoint: {error!r}") from None
        for name in sorted({*of, *self._of}):
            old, new = of.get(name), self._of.get(name)
            if old != new:
                raise SystemExit(
                    f"{path} is a checkpoint of {name} {old}, not {new}: "
                    "give that one, another file, or remove it"
                )
        return state

    def save(self) -> None:
        """Write the state, all or nothing."""
        self._saved = time.monotonic()
        if self.path is None:
            return
        new = self.path.with_name(self.path.name + ".new")
        with new.open("w", encoding="utf-8") as file:
            json.dump({"of": self._of, "state": self.state}, file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.path)

    def save_now_and_then(self) -> None:
        """Write the state if it has not been written for a while."""
        if time.monotonic() - self._saved > EVERY:
            self.save()


def commit() -> str:
    """The last commit that changed the code, and which changes are not committed."""
    try:
        last = _git("log", "-1", "--format=%h", "--abbrev=12", "--", *CODE).decode().strip()
        changes = _git("diff", "HEAD", "--", *CODE)
    except (OSError, subprocess.CalledProcessError):
        raise SystemExit("a checkpoint needs git, to tell the commit that it is of") from None
    return f"{last} with changes {hashlib.sha256(changes).hexdigest()[:8]}" if changes else last


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout
