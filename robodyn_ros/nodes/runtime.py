"""What all nodes run on: a spin that ends, an ordered shutdown, and messages filled in place."""

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
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ..errors import RobodynError
from .codec import set_stamp

LOOK = 0.05  # [s], how often the spin looks whether it should end
GRACE = 1.0  # [s], for nodes to come to rest after a signal
TIDY = 10.0  # [s] between two collections of garbage

# State goes out reliable and comes in best-effort, so that any peer connects
STATE_OUT = QoSProfile(depth=10)
STATE_IN = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def make_executor() -> Executor:
    """The events executor where it exists: it needs half the time of the usual one."""
    try:
        from rclpy.experimental import EventsExecutor

        return EventsExecutor()
    except (ImportError, io.UnsupportedOperation):  # the latter: stderr is no file, in a notebook
        return SingleThreadedExecutor()


def run(
    *makers: Callable[[], Node],
    args: Sequence[str] | None = None,
    made: Callable[[list[Node]], None] = lambda nodes: None,
) -> int:
    """Make the nodes and spin them until a signal or until one wants to end; the exit code.

    made: is called with the nodes before they run. A node may have `begin_stop()`, called after a
    signal, and `stopped`, waited for.
    """
    os.environ.setdefault("AMENT_PREFIX_PATH", sys.prefix)
    if "HOME" not in os.environ:
        os.environ.setdefault("ROS_LOG_DIR", os.path.join(os.getcwd(), "log"))
    # rclpy's own handlers race with publishing: the context is gone while callbacks still run
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # a parameter file that cannot be read, say
        print(f"error: {error}", file=sys.stderr)
        return 1
    with signals_caught() as signalled:
        return _run(makers, made, signalled)


def _run(
    makers: Sequence[Callable[[], Node]],
    made: Callable[[list[Node]], None],
    signalled: Callable[[], bool],
) -> int:
    nodes: list[Node] = []
    executor = make_executor()
    try:
        for make in makers:
            nodes.append(make())
            executor.add_node(nodes[-1])
        made(nodes)
        keep_tidy(nodes[0])
        spin(executor, until=lambda: signalled() or any(ended(node) for node in nodes))
        for node in nodes:
            getattr(node, "begin_stop", lambda: None)()
        spin(executor, until=lambda: all(ended(node) for node in nodes), longest=GRACE)
        for node in nodes:
            if not ended(node):
                node.get_logger().warning(f"ends before it has come to rest: {GRACE:g} s are over")
        return max((getattr(node, "exit_code", 0) for node in nodes), default=0)
    except (RobodynError, ParameterException, rclpy_implementation.RCLError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    finally:
        gc.unfreeze()
        shut_down(executor, nodes)


@contextmanager
def signals_caught() -> Iterator[Callable[[], bool]]:
    """Remember SIGINT and SIGTERM instead of ending; yields a function: whether one came."""
    received: list[int] = []
    previous = {
        number: signal.signal(number, lambda came, _: received.append(came))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def keep_tidy(node: Node) -> None:
    """Collect garbage now and then, in no time: what is there by now stays, and is not looked at.

    Else a collection looks at all that numba has made, 0.05 s in the midst of a control loop,
    or there is none for hours, and the interpreter hoards what it could use again.
    """
    gc.collect()
    gc.freeze()
    node.create_timer(TIDY, gc.collect, clock=Clock(clock_type=ClockType.STEADY_TIME))


def ended(node: Node) -> bool:
    """Whether a node has nothing more to do."""
    return getattr(node, "stopped", False)


def spin(
    executor: Executor,
    until: Callable[[], bool],
    longest: float = math.inf,
    every: float = LOOK,
) -> None:
    """Serve callbacks until something is true, at most so long [s]; look as often as told [s].

    A timer looks and completes the future that is spun for: the events executor does not heed a
    timeout while events keep coming, and its spin without one never ends.
    """
    node = executor.get_nodes()[0]
    end, over = time.monotonic() + longest, Future()

    def look() -> None:
        try:
            if not over.done() and (until() or time.monotonic() >= end):
                over.set_result(None)
        except Exception as error:
            over.set_exception(error)

    timer = node.create_timer(every, look, clock=Clock(clock_type=ClockType.STEADY_TIME))
    try:
        while not over.done():
            executor.spin_until_future_complete(over, timeout_sec=1.0)
    finally:
        node.destroy_timer(timer)
    over.result()


def spin_until_signal(
    executor: Executor,
    until: Callable[[], bool],
    longest: float = math.inf,
    every: float = LOOK,
) -> bool:
    """Spin as `spin` does; return whether SIGINT or SIGTERM ended it."""
    with signals_caught() as signalled:
        spin(executor, lambda: signalled() or until(), longest, every=every)
        return signalled()


def shut_down(executor: Executor, nodes: Sequence[Node]) -> None:
    """Timers and subscriptions first, then nodes, executor and context."""
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


def shared_numbers(message: Any, field: str, n: int) -> np.ndarray:
    """An array that shares its memory with a message's field: filling one fills the other."""
    setattr(message, field, array.array("d", bytes(8 * n)))
    return np.frombuffer(getattr(message, field))


class JointStateMessage:
    """A JointState that is made once; `position`, `velocity`, `effort` are views into it."""

    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray

    def __init__(self, names: Sequence[str], *fields: str) -> None:
        self.message = JointState(name=list(names))
        for field in fields:
            setattr(self, field, shared_numbers(self.message, field, len(names)))

    def at(self, t: float) -> JointState:
        """The message with its stamp set."""
        set_stamp(self.message.header.stamp, t)
        return self.message


class EffortMessage:
    """A command of n torques; `data` is a view into it."""

    def __init__(self, n: int) -> None:
        self.message = Float64MultiArray()
        self.data = shared_numbers(self.message, "data", n)
