"""Stop: the requests of one stop, what became of each, and what is tried when one fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .settings import MeansSettings


@dataclass
class Request:
    """A request by one means; times are since the sample that was the reason [s]."""

    means: str
    after: float  # when it was sent
    due: float  # wall time by which an answer is awaited [s]
    answered: float | None = None
    done: str = ""  # what was answered, if it was accepted
    failure: str = ""  # why it failed

    @property
    def waiting(self) -> bool:
        """Whether there is no answer yet."""
        return not (self.done or self.failure)

    def text(self) -> str:
        """Return delays and result, for people."""
        sent = f"requested after {1e3 * self.after:.1f} ms"
        if self.waiting:
            return f"{sent}, no answer yet"
        result = self.done or f"failed: {self.failure}"
        if self.answered is None:
            return f"{sent}: {result}"
        return f"{sent}, answered after {1e3 * self.answered:.1f} ms: {result}"


class Stop:
    """One stop by some means. t: time of the sample that was the reason [s], by its clock."""

    def __init__(self, reason: str, t: float, means: Mapping[str, MeansSettings]) -> None:
        self.reason, self.t, self._means = reason, t, means
        self.requests: dict[str, Request] = {}

    def first(self) -> list[str]:
        """Return the means that are asked at once: those that are not the next of another."""
        later = {row.next for row in self._means.values()}
        return [name for name in self._means if name not in later]

    def sent(self, name: str, now: float, wall: float) -> None:
        """Note a request; now: by the clock of the sample, wall: by a steady clock [s]."""
        due = wall + self._means[name].timeout
        self.requests[name] = Request(name, now - self.t, due)

    def accepted(self, name: str, text: str, now: float | None) -> None:
        """Note that a request was accepted, and when; None: it needs no answer."""
        request = self.requests[name]
        if request.waiting:
            request.done = text
            request.answered = None if now is None else now - self.t

    def failed(self, name: str, why: str, now: float | None) -> str:
        """Note that a request failed; return the means to try next, or ''."""
        request = self.requests[name]
        if not request.waiting:
            return ""
        request.failure, request.answered = why, None if now is None else now - self.t
        following = self._means[name].next
        return following if following not in self.requests else ""

    def overdue(self, wall: float) -> list[str]:
        """Return the means whose answer is overdue at this wall time [s]."""
        return [r.means for r in self.requests.values() if r.waiting and wall >= r.due]

    @property
    def finished(self) -> bool:
        """Whether all means have been asked that are asked at once, and each has its answer."""
        asked = all(name in self.requests for name in self.first())
        return asked and not any(request.waiting for request in self.requests.values())

    def failures(self) -> Iterator[str]:
        """Yield what failed, and why."""
        for request in self.requests.values():
            if request.failure:
                yield f"{request.means}: {request.failure}"
