"""The nodes' executables: a signal while a node is being imported ends it quietly."""

import signal
import subprocess
import sys

import pytest
from test_packaging import COMMANDS

from robodyn_ros.nodes import start

# `main` of the module is what would be compiled and run
SCRIPT = """
import os, signal, sys, time
from types import SimpleNamespace
from robodyn_ros.nodes import start

def slow(name, package):
    os.kill(os.getpid(), int(sys.argv[1]))
    time.sleep(20.0)

def quick(name, package):
    return SimpleNamespace(main=lambda: 3)

start.import_module = slow if len(sys.argv) > 1 else quick
sys.exit(start.dynamics_node())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_the_import_ends_it_without_a_word(number):
    command = [sys.executable, "-c", SCRIPT, str(int(number))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=15)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_its_exit_code_is_that_of_the_node():
    assert subprocess.run([sys.executable, "-c", SCRIPT], timeout=15).returncode == 3


def test_every_executable_has_its_entry_point():
    for name in COMMANDS - {"robodyn"}:
        assert callable(getattr(start, name)), name
