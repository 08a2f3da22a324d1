"""ExpectedContacts: windows in which a task presses on purpose, up to a force on a link."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

from ...errors import ArgumentError


class Window(NamedTuple):
    """An expected contact."""

    force: float  # [N], largest
    until: float  # [s], wall time


class ExpectedContacts:
    """Open windows, one per link. links: those of the arm; max_force: of any window [N]."""

    def __init__(self, links: Collection[str], max_force: float) -> None:
        self.links, self.max_force = links, max_force
        self.windows: dict[str, Window] = {}
        self._measured = (-math.inf, "", 0.0)  # time of the sample [s], link, force [N]

    def open(self, link: str, force: float, now: float, time: float) -> None:
        """Expect up to this force [N] on a link for a time [s]; a force of 0 closes its window."""
        if link not in self.links:
            raise ArgumentError(f"no link {link!r}; the arm has {', '.join(self.links)}")
        if not 0.0 <= force <= self.max_force:
            raise ArgumentError(
                f"a force of {force:g} N on {link}: allowed are 0 to {self.max_force:g} N"
            )
        if force == 0.0:
            self.windows.pop(link, None)
        else:
            self.windows[link] = Window(force, now + time)

    def close(self) -> None:
        """Close all windows."""
        self.windows.clear()

    def expire(self, now: float) -> None:
        """Close windows whose time is over."""
        if self.windows:
            self.windows = {link: w for link, w in self.windows.items() if now < w.until}

    def measure(self, t: float, link: str, force: float) -> None:
        """Take the force [N] that was estimated on a link, for the sample of the time t [s]."""
        self._measured = (t, link, force)

    def allow(self, t: float, link: str) -> bool | None:
        """Return whether the contact of this sample is expected; None: not known yet.

        A contact whose link is not named yet, or whose force is not known, may be an expected one.
        """
        if not self.windows or (link and link not in self.windows):
            return False
        measured_t, measured_link, force = self._measured
        if not link or measured_t != t or measured_link != link:
            return None
        return force <= self.windows[link].force
