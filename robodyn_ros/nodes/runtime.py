"""Runtime of all nodes: spinning, shutdown, and messages that are filled in place."""

from __future__ import annotations

import array
import gc
import io
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from .. import interrupts
from ..dynamics.compile import Kernel
from ..dynamics.compile_ahead import compile_kernels, ended_by, estimate, missing
from ..errors import RobodynError
from .codec import set_stamp
from .later_kernels import compile_later
from .parameters import refused_arguments

STOP_POLL = 0.05  # [s] between two checks of whether a spin should end
STOP_TIMEOUT = 1.0  # [s] for nodes to come to rest after a signal
GC_PERIOD = 10.0  # [s] between two garbage collections

# Publish reliably and subscribe best-effort: this fits every peer
STATE_OUT = QoSProfile(depth=10)
STATE_IN = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def make_executor() -> Executor:
    """Return the events executor, which needs half the CPU time, or else the usual one."""
    try:
        from rclpy.experimental import EventsExecutor

        return EventsExecutor()
    except (ImportError, io.UnsupportedOperation):  # the latter: stderr is no file, in a notebook
        return SingleThreadedExecutor()


def run(
    *makers: Callable[[], Node],
    args: Sequence[str] | None = None,
    made: Callable[[list[Node]], None] = lambda nodes: None,
    kernels: Sequence[Kernel] = (),
    later: Sequence[Kernel] = (),
) -> int:
    """Create nodes and spin them until a signal arrives or one has stopped; return the exit code.

    made: called with the nodes before they spin. kernels: compiled before that; later: compiled
    by another process meanwhile (see `later_kernels`). A node may have
    `begin_stop()`, called after a signal, and `stopped`, which is waited for.
    """
    os.environ.setdefault("AMENT_PREFIX_PATH", sys.prefix)
    if "HOME" not in os.environ:
        os.environ.setdefault("ROS_LOG_DIR", os.path.join(os.getcwd(), "log"))
    compile_for_nodes(kernels)
    logger = get_logger("robodyn_ros")
    compile_later(later, lambda line: logger.info(line), lambda line: logger.error(line))
    # rclpy's own handlers race with publishing: the context is gone while callbacks still run
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # e.g. an unreadable parameter file
        print(f"error: {refused_arguments(error)}", file=sys.stderr)
        return 1
    nodes: list[Node] = []
    with signals_caught() as signalled:
        executor = make_executor()
        try:
            for make in makers:
                nodes.append(make())
                executor.add_node(nodes[-1])
                if signalled():  # while kernels were compiled
                    return 0
            made(nodes)
            collect_garbage_regularly(nodes[0])
            spin(executor, until=lambda: signalled() or any(map(_stopped, nodes)))
            for node in nodes:
                getattr(node, "begin_stop", lambda: None)()
            spin(executor, until=lambda: all(map(_stopped, nodes)), longest=STOP_TIMEOUT)
            for node in nodes:
                if not _stopped(node):
                    node.get_logger().warning(f"not at rest {STOP_TIMEOUT:g} s after the signal")
            return max((getattr(node, "exit_code", 0) for node in nodes), default=0)
        except (RobodynError, ParameterException, rclpy_implementation.RCLError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        finally:
            gc.unfreeze()
            shut_down(executor, nodes)


def compile_for_nodes(kernels: Sequence[Kernel]) -> None:
    """Load the kernels; compile those that are missing, with a log line before and after.

    A signal ends the process here: there is nothing to stop yet.
    """
    todo, begun, logger = missing(kernels), time.monotonic(), get_logger("robodyn_ros")
    with ended_by({signal.SIGINT: 0, signal.SIGTERM: 0}):
        if todo:
            logger.info(
                f"compiling {len(todo)} kernels, about {estimate(todo):.0f} s the first time; "
                "`robodyn warmup` does this ahead"
            )
        compile_kernels(kernels, helpers=True)
        if todo:
            logger.info(f"compiled {len(todo)} kernels in {time.monotonic() - begun:.1f} s")
            gc.freeze()  # what the compiler leaves is not looked through again and again


def _stopped(node: Node) -> bool:
    return getattr(node, "stopped", False)


@contextmanager
def signals_caught() -> Iterator[Callable[[], bool]]:
    """Catch SIGINT and SIGTERM; yield a function that returns whether one has arrived."""
    received = interrupts.take_held()
    previous = {
        number: signal.signal(number, lambda caught, _: received.append(caught))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def collect_garbage_regularly(node: Node) -> None:
    """Collect garbage by a timer; exempt all objects that exist now.

    Otherwise a collection visits all objects of numba, 0.05 s in the middle of a control loop, or
    there is none for hours and the memory grows.
    """

    def collect() -> None:  # Kilted gives a timer's facts to a callback that takes arguments
        gc.collect()

    gc.collect()
    gc.freeze()
    node.create_timer(GC_PERIOD, collect, clock=Clock(clock_type=ClockType.STEADY_TIME))


def spin(
    executor: Executor,
    until: Callable[[], bool],
    longest: float = math.inf,
    every: float = STOP_POLL,
) -> None:
    """Spin until a condition holds, checked `every` [s], or for `longest` [s].

    Raises `Interrupted` if a signal is held, as by `open_terminal`. A timer checks and completes a
    future: the events executor ignores a timeout while events keep arriving, and its spin without
    a future never ends.
    """
    node = executor.get_nodes()[0]
    end, over = time.monotonic() + longest, Future()

    def check() -> None:
        try:
            interrupts.raise_held()
            if not over.done() and (until() or time.monotonic() >= end):
                over.set_result(None)
        except (Exception, interrupts.Interrupted) as error:
            over.set_exception(error)

    timer = node.create_timer(every, check, clock=Clock(clock_type=ClockType.STEADY_TIME))
    try:
        while not over.done():
            executor.spin_until_future_complete(over, timeout_sec=1.0)
    finally:
        node.destroy_timer(timer)
    over.result()


def spin_until_signal(executor: Executor, until: Callable[[], bool], **limits: float) -> bool:
    """Spin as `spin` does; return whether SIGINT or SIGTERM ended it."""
    with signals_caught() as signalled:
        spin(executor, lambda: signalled() or until(), **limits)
        return signalled()


def shut_down(executor: Executor, nodes: Sequence[Node]) -> None:
    """Destroy timers and subscriptions, then nodes, executor and context."""
    for node in nodes:
        for timer in list(node.timers):
            node.destroy_timer(timer)
        for subscription in list(node.subscriptions):
            node.destroy_subscription(subscription)
    for node in nodes:
        executor.remove_node(node)
        node.destroy_node()
    executor.shutdown()
    rclpy.try_shutdown()


def shared_array(message: Any, field: str, n: int) -> np.ndarray:
    """Return an array (n,) that shares its memory with a field of the message."""
    setattr(message, field, array.array("d", bytes(8 * n)))
    return np.frombuffer(getattr(message, field))


class JointStateMessage:
    """A JointState that is reused; `position`, `velocity`, `effort` are views into it."""

    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray

    def __init__(self, names: Sequence[str], *fields: str) -> None:
        self.message = JointState(name=list(names))
        for field in fields:
            setattr(self, field, shared_array(self.message, field, len(names)))

    def at(self, t: float) -> JointState:
        """Return the message with the stamp t [s]."""
        set_stamp(self.message.header.stamp, t)
        return self.message


class EffortMessage:
    """A command of n torques that is reused; `data` is a view into it."""

    def __init__(self, n: int) -> None:
        self.message = Float64MultiArray()
        self.data = shared_array(self.message, "data", n)
