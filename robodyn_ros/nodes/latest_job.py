"""LatestJob: one job at a time in a thread, beside the control loop; a newer one replaces it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

from ..errors import RobodynError

# [s] for which the interpreter lets the job's thread run while the loop's waits; 5 ms by default,
# several periods of a loop
SWITCH_INTERVAL = 5e-4

T = TypeVar("T")


class LatestJob(Generic[T]):
    """The result of the latest job, once it is there: the control loop goes on meanwhile."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted = 0  # number of the latest job
        self._found: T | RobodynError | None = None
        # One thread for all jobs: each new one would keep memory of its own
        self._jobs: SimpleQueue[tuple[int, Callable[[], T]]] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def begin(self, job: Callable[[], T]) -> None:
        """Run a job; one that is under way is forgotten once it ends, others are left out."""
        with self._lock:
            self._wanted += 1
            number, self._found = self._wanted, None
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_INTERVAL))
        self._jobs.put((number, job))
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()

    def cancel(self) -> None:
        """Forget the job that is under way."""
        with self._lock:
            self._wanted, self._found = self._wanted + 1, None

    def take(self) -> T | RobodynError | None:
        """Return the result or the error, once; None before and afterwards."""
        if self._found is None:
            return None
        with self._lock:
            found, self._found = self._found, None
        return found

    def _work(self) -> None:
        while True:
            number, job = self._jobs.get()
            if number == self._wanted:
                self._run(number, job)

    def _run(self, number: int, job: Callable[[], T]) -> None:
        found: T | RobodynError
        try:
            found = job()
        except RobodynError as error:
            found = error
        except Exception as error:  # else the thread would end, and the error be lost
            found = RobodynError(f"{type(error).__name__}: {error}")
        with self._lock:
            if number == self._wanted:
                self._found = found
