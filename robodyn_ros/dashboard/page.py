"""Page: the live page of one arm; it draws what a `Feed` knows and asks its `Hands` to act."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ..errors import RobodynError
from ..model.robot import RobotModel
from .banner import arrows_key, banner, torque_bars
from .charts import error_chart, residual_charts
from .controls import Answers, Controls
from .feed import Feed
from .guard import guarded_server
from .hands import Hands
from .stage import Stage
from .tuning import Tuning
from .visuals import Visuals, read_visuals

RATE = 30.0  # frames a second, at most
SLOWLY = 3  # frames after which charts and numbers are drawn again
WISHES = 100  # that may wait


class Page:
    """`draw` is to be called some 30 times a second, always by the same thread.

    Without hands the page is for looking only: it has no controls, and there is nothing behind it
    that a visitor could reach.
    """

    def __init__(
        self,
        feed: Feed,
        visuals: Visuals,
        hands: Hands | None = None,
        port: int = 8080,
        folder: Path | None = None,
    ) -> None:
        self.feed = feed
        self._wishes: queue.Queue[Callable[[], None]] = queue.Queue(WISHES)
        self._frame = 0
        self.server = server = guarded_server(port)
        gui = server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(31, 111, 235))
        gui.set_panel_label(f"robodyn · {feed.model.name}")
        start = feed.q if feed.q is not None else np.zeros(feed.model.n)
        self.stage = Stage(server, feed.model, visuals.shown, start)
        self._build_state()
        self.parts: list[Controls | Tuning] = []
        self.answers = Answers(server)
        if hands is not None:
            self.parts = [
                Controls(server, feed, self.stage, hands, self.answers, self.soon),
                Tuning(server, feed, hands, self.answers, self.soon, folder or Path.cwd()),
            ]
        else:
            self.answers.say(True, "read-only: this page only looks on")
        for sentence in visuals.missing[:3]:
            self.answers.say(False, sentence)

    @property
    def url(self) -> str:
        """Where a browser on this machine finds it."""
        return f"http://127.0.0.1:{self.server.get_port()}"

    def soon(self, wish: Callable[[], None]) -> None:
        """Do this before the next frame; visitors' clicks come from other threads."""
        try:
            self._wishes.put_nowait(wish)
        except queue.Full:
            return  # somebody clicks faster than anything can be done

    def draw(self) -> None:
        """Do what was wished, then show everything as it is known now."""
        while not self._wishes.empty():
            try:
                self._wishes.get_nowait()()
            except RobodynError as error:
                self.answers.say(False, str(error))
        self._frame += 1
        if not self.server.get_clients():
            return
        slow = self._frame % SLOWLY == 0
        with self.server.atomic():
            self.stage.draw(self.feed)
            self._state.content = banner(self.feed)
            for part in self.parts:
                part.update()
            if slow:
                self._residuals.content = residual_charts(self.feed)
                self._error.content = error_chart(self.feed)
                self._torque.content = torque_bars(self.feed)

    def close(self) -> None:
        """Stop serving."""
        self.server.stop()

    def _build_state(self) -> None:
        """The left side: state, residuals, tracking, torque."""
        gui = self.server.gui
        panel = gui.add_panel()
        panel.dock_left()
        panel.set_width(430)
        with panel.add_tab("State"):
            self._state = gui.add_html(banner(self.feed))
            self._residuals = gui.add_html("")
            self._error = gui.add_html("")
            self._torque = gui.add_html(torque_bars(self.feed))
            gui.add_html(arrows_key())
        gui.main_panel.dock_right()
        gui.main_panel.set_width(330)


@contextmanager
def open_page(
    model: RobotModel, description: str, hands: Hands | None = None, port: int = 8080
) -> Iterator[Page]:
    """The page of an arm, with the pictures of its description (URDF path or text), if any."""
    visuals = read_visuals(description, model) if description else Visuals([], [])
    page = Page(Feed(model), visuals, hands, port)
    try:
        yield page
    finally:
        page.close()
