"""Kernels are compiled ahead, once among processes that start together, and announced."""

import os
import signal
import subprocess
import sys

import pytest

from robodyn_ros.dynamics.compile import with_callees
from robodyn_ros.dynamics.compile_ahead import missing
from robodyn_ros.dynamics.forward_dynamics import _articulated_bodies, _through_mass_matrix
from robodyn_ros.dynamics.mass_matrix import _mass_matrix
from robodyn_ros.dynamics.newton_euler import _newton_euler
from robodyn_ros.simulation.rigid_step import rigid_step

SMALL = """
from robodyn_ros.control.limits import _limit
from robodyn_ros.control.reactions.reaction import _excursion, largest_speed
from robodyn_ros.detection.detector import forget_times
KERNELS = [_limit, _excursion, largest_speed, forget_times]
"""
SHARE = f"""
{SMALL}
from robodyn_ros.dynamics.compile_ahead import compile_kernels
print("imported", flush=True)
input()
compile_kernels(KERNELS)
print(sum(sum(kernel.compiled.stats.cache_misses.values()) for kernel in KERNELS))
"""
SHOW = f"""
{SMALL}
from rich.console import Console
from robodyn_ros.dynamics.compile_progress import compile_with_progress
print(compile_with_progress(KERNELS, Console(width=200)))
"""


@pytest.fixture
def empty_cache(tmp_path):
    """The environment of a process for which nothing is compiled."""
    return {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}


def start(program, env, *arguments):
    command = [sys.executable, *(program if isinstance(program, list) else ["-c", program])]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*command, *arguments], env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )


def test_callees_come_first():
    assert with_callees([rigid_step]).index(rigid_step) == len(with_callees([rigid_step])) - 1
    assert {_articulated_bodies, _through_mass_matrix} <= set(with_callees([rigid_step]))
    order = with_callees([rigid_step, _mass_matrix, _newton_euler])
    assert order.index(_newton_euler) < order.index(_through_mass_matrix)


def test_a_compiled_kernel_is_not_missing():
    assert _mass_matrix.compiled
    assert missing([_mass_matrix]) == []


def test_two_processes_compile_each_kernel_once(empty_cache):
    processes = [start(SHARE, empty_cache) for _ in range(2)]
    for process in processes:
        assert process.stdout.readline() == "imported\n"
    results = []
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        results.append(int(out))
    assert sum(results) == 4


def test_a_command_announces_what_it_compiles_and_only_that(empty_cache):
    first, _ = start(SHOW, empty_cache).communicate(timeout=300)
    lines = first.splitlines()
    assert lines[0] == "compiling 4 kernels, once on this machine"
    assert lines[1].startswith("compiled 4 kernels in ")
    assert lines[2:] == ["4"]
    second, _ = start(SHOW, empty_cache).communicate(timeout=300)
    assert second == "0\n"


def test_ctrl_c_ends_robodyn_warmup_with_one_line(empty_cache):
    process = start(["-m", "robodyn_ros.cli"], empty_cache, "warmup")
    assert process.stdout.readline().startswith("compiling ")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (out, err.strip()) == ("", "interrupted while compiling kernels")


def test_robodyn_warmup_says_that_all_is_compiled(tmp_path):
    for _ in range(2):  # the first compiles what other tests did not need
        process = start(["-m", "robodyn_ros.cli"], dict(os.environ), "warmup", "--nodes")
        out, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
    assert out.startswith("all ")
    assert out.endswith(" kernels are in the cache\n")
