"""Page: the live page of one arm. It draws a `Feed` and acts through an `ArmClient`."""

from __future__ import annotations

import contextlib
import io
import queue
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
import viser

from ..detection.fault import PAYLOAD
from ..errors import RobodynError
from ..model.robot import RobotModel
from ..palette import BLUE, SLATE, rgb
from .charts import error_chart, residual_charts
from .controls import Answers, ArmClient, Controls
from .faults import FaultControls
from .feed import Feed
from .guard import guarded_server
from .laws import LawControls
from .panels import STYLE, fault_banner, hint, legend, state_banner, torque_bars
from .scene import Scene
from .stop_guard import GuardControls
from .tuning import Tuning
from .visuals import Visuals, read_visuals

FRAME_RATE = 30.0  # [Hz], highest frame rate
CHART_FRAMES = 3  # frames between two drawings of charts and numbers
ACTIONS_QUEUED = 100  # clicks waiting to be carried out
NOTES_SHOWN = 3  # sentences about visuals that are left out


class Part(Protocol):
    """A group of controls."""

    def update(self) -> None:
        """Show the latest state."""


class Page:
    """The page; call `draw` from one thread. Without a client it is read-only."""

    def __init__(
        self,
        feed: Feed,
        visuals: Visuals,
        client: ArmClient | None = None,
        port: int = 8080,
        folder: Path | None = None,
    ) -> None:
        self.feed = feed
        self._actions: queue.Queue[Callable[[], None]] = queue.Queue(ACTIONS_QUEUED)
        self._frame = 0
        self.server = server = guarded_server(port)
        gui = server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=rgb(BLUE))
        gui.set_panel_label(f"robodyn · {feed.model.name}")
        self._accept: viser.GuiButtonHandle | None = None
        start = feed.q if feed.q is not None else np.zeros(feed.model.n)
        self.scene = Scene(server, feed.model, visuals.shown, start)
        self._build_state()
        self.answers = Answers(server)
        self._hint = gui.add_html(hint(client is None))
        self.parts: list[Part] = []
        if client is not None:
            self._build_controls(client, folder or Path.cwd())
        else:
            self.answers.show(True, "read-only page")
        for note in visuals.missing[:NOTES_SHOWN]:
            self.answers.show(False, note)

    @property
    def url(self) -> str:
        """Address for a browser on this machine."""
        return f"http://127.0.0.1:{self.server.get_port()}"

    def run_later(self, action: Callable[[], None]) -> None:
        """Run an action before the next frame; clicks come from other threads."""
        with contextlib.suppress(queue.Full):  # clicks faster than they can be carried out
            self._actions.put_nowait(action)

    def draw(self) -> None:
        """Carry out the clicks, then show the latest state."""
        while not self._actions.empty():
            try:
                self._actions.get_nowait()()
            except RobodynError as error:
                self.answers.show(False, str(error))
        self._frame += 1
        if not self.server.get_clients():
            return
        with self.server.atomic():
            self.scene.draw(self.feed)
            self._state.content = state_banner(self.feed)
            self._fault.content = fault_banner(self.feed)
            if self._accept is not None:
                self._accept.visible = self.feed.fault.kind == PAYLOAD
            for part in self.parts:
                part.update()
            if self._frame % CHART_FRAMES == 0:
                self._residuals.content = residual_charts(self.feed)
                self._error.content = error_chart(self.feed)
                self._torque.content = torque_bars(self.feed)

    def close(self) -> None:
        """Stop serving."""
        with contextlib.redirect_stdout(io.StringIO()):  # viser prints that it stopped
            self.server.stop()

    def hide_hint(self) -> None:
        """Take the first hint away."""
        self._hint.visible = self._got_it.visible = False

    def _build_state(self) -> None:
        gui = self.server.gui
        panel = gui.add_panel()
        panel.dock_left()
        panel.set_width(430)
        with panel.add_tab("State"):
            gui.add_html(STYLE)
            self._state = gui.add_html(state_banner(self.feed))
            self._fault = gui.add_html(fault_banner(self.feed))
            self._accept_place = gui.add_folder(None)
            self._residuals = gui.add_html("")
            self._error = gui.add_html("")
            self._torque = gui.add_html(torque_bars(self.feed))
            gui.add_html(legend())
        gui.main_panel.dock_right()
        gui.main_panel.set_width(340)

    def _build_controls(self, client: ArmClient, folder: Path) -> None:
        """Add the tabs of the right panel: viser's folders cannot be opened by keys."""
        gui, feed, answers, later = self.server.gui, self.feed, self.answers, self.run_later
        self._got_it = gui.add_button("Got it", color=rgb(SLATE))
        self._got_it.on_click(lambda _: later(self.hide_hint))
        tabs = gui.add_tab_group()
        with tabs.add_tab("Act"):
            self.controls = Controls(gui, feed, self.scene, client, answers, later)
        with tabs.add_tab("Control"):
            self.laws = LawControls(gui, feed, client, answers)
        with tabs.add_tab("Detector"):
            self.tuning = Tuning(gui, feed, client, answers, later, folder)
        with tabs.add_tab("Faults"):
            self.faults = FaultControls(gui, feed.model, client, answers, later)
        with tabs.add_tab("Guard"):
            self.guard = GuardControls(gui, feed, client, answers, later)
        self.parts = [self.controls, self.laws, self.tuning, self.faults, self.guard]
        with self._accept_place:
            self._accept = gui.add_button("Accept this payload", color=rgb(SLATE), visible=False)
            self._accept.on_click(lambda _: later(self.faults.accept))


@contextlib.contextmanager
def open_page(
    model: RobotModel, description: str, client: ArmClient | None = None, port: int = 8080
) -> Iterator[Page]:
    """Open the page of an arm, with the visuals of its URDF (path or text), if given."""
    visuals = read_visuals(description, model) if description else Visuals([], [])
    page = Page(Feed(model), visuals, client, port)
    try:
        yield page
    finally:
        page.close()
