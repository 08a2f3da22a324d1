"""What all fuzzing shares: findings, a time limit, and seeded choices.

A case is known by the seed, its kind and its number alone, so each can be run again by itself.
"""

from __future__ import annotations

import signal
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any

import numpy as np

import robodyn_ros as rd

LONGEST = 10.0  # [s] for a case: far more than any needs, also on a busy machine

ODD_NUMBERS = (
    float("nan"),
    float("inf"),
    float("-inf"),
    1e308,
    -1e308,
    1e-320,
    -0.0,
    0.0,
    1e9,
    -1e9,
    2.0**63,
)
NOT_FINITE = ODD_NUMBERS[:3]


class Verdict(Enum):
    """What must become of an input, judged by who made it and not by the code under test."""

    BAD = "must be refused"
    GOOD = "must be accepted"
    EITHER = "may be refused or accepted"


class Finding(AssertionError):  # noqa: N818
    """Something that must not happen has happened."""


def expect(condition: Any, *told: Any) -> None:
    """A finding unless this is true; what is told is only put together then."""
    if not condition:
        raise Finding(" ".join(str(item) for item in told))


def random_of(seed: int, kind: str, case: int) -> np.random.Generator:
    """The random numbers of one case."""
    return np.random.default_rng([seed, zlib.crc32(kind.encode()), case])


def warm_up() -> None:
    """Compile what is not compiled yet, so that it does not count as a hang."""
    rd.warmup(rd.robots.planar_2r())
    rd.mass_matrix(rd.robots.planar_2r(), [0.0, 0.0])


def pick(random: np.random.Generator, items: Sequence[Any]) -> Any:
    """One of them, as it is: numpy's own choice would make arrays of them."""
    return items[int(random.integers(len(items)))]


@contextmanager
def time_limit(seconds: float = LONGEST) -> Iterator[None]:
    """What computes for longer than this, or waits for ten times as long, is a hang: a finding."""
    timers = {
        signal.SIGPROF: (signal.ITIMER_PROF, seconds),
        signal.SIGALRM: (signal.ITIMER_REAL, 10.0 * seconds),
    }

    def over(*_: Any) -> None:
        raise Finding(f"it hangs: still at it after {seconds:g} s")

    before = {number: signal.signal(number, over) for number in timers}
    for timer, longest in timers.values():
        signal.setitimer(timer, longest)
    try:
        yield
    finally:
        for timer, _ in timers.values():
            signal.setitimer(timer, 0.0)
        for number, handler in before.items():
            signal.signal(number, handler)


def mutated_bytes(random: np.random.Generator, data: bytes, most: int = 8) -> bytes:
    """The same with some bytes changed, deleted, doubled or moved, or cut short."""
    changed = bytearray(data)
    for _ in range(int(random.integers(1, most + 1))):
        if not changed:
            break
        at = int(random.integers(len(changed)))
        length = int(min(len(changed) - at, 1 + random.geometric(0.2)))
        how = int(random.integers(6))
        if how <= 1:
            changed[at] ^= 1 << int(random.integers(8))
        elif how == 2:
            changed[at : at + length] = random.bytes(length)
        elif how == 3:
            del changed[at : at + length]
        elif how == 4:
            changed[at:at] = changed[at : at + length]
        elif random.random() < 0.2:
            del changed[at:]
    return bytes(changed)
