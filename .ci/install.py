"""`pip install` that shows how far it is, in one line: python .ci/install.py -e '.[demo,ros]'."""

import os
import re
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from threading import Thread

# .pyc files are written when a module is first imported: few of them ever are
PIP = (sys.executable, "-u", "-m", "pip", "install", "--no-compile", "--progress-bar", "off")
TICK = 0.2  # [s]
LINE_INTERVAL = 5.0  # [s] between lines where the terminal cannot rewrite one
ERROR_LINES = 40  # of pip's output, shown when it fails

FOUND = re.compile(r"\s*(?:Collecting|Processing|Obtaining) (?:\S*/)?([\w.]+(?:-[a-zA-Z_]\w*)*)")
DOWNLOAD = re.compile(r"\s*Downloading (?:\S*/)?(\w+)-\S+ (\([\d.]+ .B\))")
INSTALL = "Installing collected packages: "
NOISE = "is neither a file nor a directory"  # an index that lacks a package


class Progress:
    """What pip has said so far."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._found = self._total = 0
        self._now = "starting pip"
        self._site = Path(sysconfig.get_path("purelib"))
        self._before = self._packages()

    def _packages(self) -> set[str]:
        return {path.name for path in self._site.glob("*.dist-info")}

    def read(self, line: str) -> None:
        """Take in a line of pip's output."""
        if NOISE in line:
            return
        self.lines.append(line)
        if match := FOUND.match(line):
            self._found += 1
            self._now = match[1]
        elif match := DOWNLOAD.match(line):
            self._now = f"downloading {match[1]} {match[2]}"
        elif line.startswith(INSTALL):
            self._total = line.count(",") + 1

    def __str__(self) -> str:
        if not self._total:
            return f"{self._found} packages found: {self._now}"
        return f"{len(self._packages() - self._before)} of {self._total} packages installed"


def main() -> int:
    """Run pip with the given arguments; return its exit code."""
    progress, begun = Progress(), time.monotonic()
    pip = subprocess.Popen(
        [*PIP, *sys.argv[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert pip.stdout is not None
    reader = Thread(target=lambda: [progress.read(line) for line in pip.stdout])
    reader.start()
    rewrite = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    shown = begun
    try:
        while reader.is_alive():
            reader.join(TICK)
            now = time.monotonic()
            if rewrite:
                print(f"\r{now - begun:4.0f} s  {progress}"[:79], end="\x1b[K", flush=True)
            elif now - shown >= LINE_INTERVAL:
                shown = now
                print(f"{now - begun:4.0f} s  {progress}", flush=True)
        code = pip.wait()
    except KeyboardInterrupt:  # pip has it, too
        pip.wait()
        print("\nstopped; the next make goes on from here")
        return 130
    print(f"\r{time.monotonic() - begun:4.0f} s  {progress}", end="\x1b[K\n" if rewrite else "\n")
    if code:
        print(*progress.lines[-ERROR_LINES:], sep="", end="")
    return code


if __name__ == "__main__":
    sys.exit(main())
