"""Kernels that another process compiles while a node runs already."""

import os
import subprocess
import sys

import pytest

from robodyn_ros.control.arm_settings import ArmSettings
from robodyn_ros.nodes.node_kernels import ALL, LATER, LAWS, NAMES, START, more_kernels

PROGRAM = """
import sys, time
from robodyn_ros.control.limits import _limit
from robodyn_ros.detection.detector import forget_times
from robodyn_ros.nodes import later_kernels as later

told, failed, kernels = [], [], [_limit, forget_times]
{}
later.compile_later(kernels, told.append, failed.append)
before = later.have_arrived(kernels), later.have_arrived([])
later.wait_for(kernels)
time.sleep(0.2)
print(before, ["compiled" in kernel.__dict__ for kernel in kernels], told, failed)
"""
KILLED = """
import os, signal
def fork(todo, niceness, fork=later.fork_compiler):
    process = fork(todo, niceness)
    os.kill(process, signal.SIGKILL)
    return process
later.fork_compiler, later.wait_for = fork, lambda kernels: time.sleep(1.0)
"""


def output(program, cache):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_other_process_compiles_and_this_one_loads(tmp_path):
    first = output(PROGRAM.format(""), tmp_path)
    assert first.startswith("(False, True) [True, True] ['compiled 2 more kernels: links, causes")
    assert first.endswith(" []\n")
    assert output(PROGRAM.format(""), tmp_path) == "(True, True) [True, True] [] []\n"


def test_a_compiler_that_is_killed_is_told_with_the_remedy(tmp_path):
    told = output(PROGRAM.format(KILLED), tmp_path)
    assert told.startswith("(False, True) [False, False] [] ['")
    assert "`robodyn warmup`" in told


@pytest.mark.parametrize(
    ("settings", "kernels"),
    [
        ({}, ()),
        ({"reaction": "reflex"}, ()),
        ({"reaction": "null_space"}, LAWS),
        ({"controller": "pid"}, LAWS),
        ({"friction_observer": 50.0}, LAWS),
    ],
)
def test_only_what_is_not_usual_waits(settings, kernels):
    assert more_kernels(ArmSettings(**settings)) == kernels
    assert set(ALL) == {*START, *LATER}
    assert not {*START} & {*NAMES[:3]}
