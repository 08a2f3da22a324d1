"""The files of this repository as a user gets them, for the tests of the repository itself."""

import itertools
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[1]
MADE = {
    ".git",
    ".venv",
    ".venv-kilted",
    ".venv-oldest",
    "build",
    "dist",
    "install",
    "log",
    "__pycache__",
}


def source_files() -> list[Path]:
    """Return the files that belong to the source, relative to ROOT.

    In a checkout those that git tracks or would add; in an unpacked archive all that is not made.
    """
    if (ROOT / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=60)
        paths = (Path(os.fsdecode(name)) for name in listed.stdout.split(b"\0") if name)
    else:
        paths = (path.relative_to(ROOT) for path in ROOT.rglob("*"))
    return sorted(p for p in paths if (ROOT / p).is_file() and not MADE & set(p.parts))


_count = itertools.count()


def own_domain():
    """Return a ROS domain that no other test uses now: 1 to 101, divided among the workers."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    share = 101 // workers
    return 1 + worker * share + (os.getpid() * 7 + next(_count)) % share


@contextmanager
def users_environment():
    """Set an unused domain and no other ROS settings: the environment of a user."""
    with mock.patch.dict(os.environ, {"ROS_DOMAIN_ID": str(own_domain())}):
        os.environ.pop("ROS_AUTOMATIC_DISCOVERY_RANGE", None)
        yield
