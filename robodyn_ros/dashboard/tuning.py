"""Tuning: sliders for the detector's gain and thresholds, and a button to keep them."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import viser

from .controls import Answers, Soon
from .feed import Feed
from .hands import Hands
from .parameter_text import parameter_yaml

Array = npt.NDArray[np.float64]

GAINS = (1.0, 300.0)  # [1/s]
FACTORS = (0.1, 5.0)  # of all thresholds together
LEVELS = ("contact", "collision")


class Tuning:
    """Sliders show what the node has; moving one asks the node, which may refuse."""

    def __init__(
        self,
        server: viser.ViserServer,
        feed: Feed,
        hands: Hands,
        answers: Answers,
        soon: Soon,
        folder: Path,
    ) -> None:
        self.feed, self.hands, self.answers, self.folder = feed, hands, answers, folder
        self._soon, self._seen = soon, -1
        self._first: dict[str, Array] = {}  # thresholds as they were found
        gui, names = server.gui, feed.model.joint_names
        with gui.add_folder("Detector"):
            self.gain = gui.add_slider("gain [1/s]", *GAINS, 1.0, 50.0)
            self._wish(self.gain, lambda value: {"monitor.gain": [float(value)]})
            self.factors = {}
            for level in LEVELS:
                self.factors[level] = gui.add_slider(f"{level} ×", *FACTORS, 0.05, 1.0)
                self._wish(self.factors[level], partial(self._scaled, level))
            self.each = {}
            with gui.add_folder("Each joint [N m or N]", expand_by_default=False):
                for level in LEVELS:
                    self.each[level] = [
                        gui.add_slider(f"{level} {name}", 0.05, 50.0, 0.05, 1.0) for name in names
                    ]
                    for k, slider in enumerate(self.each[level]):
                        self._wish(slider, partial(self._single, level, k))
        save = gui.add_button("Save parameters", icon=viser.Icon.DEVICE_FLOPPY)
        save.on_click(lambda event: soon(lambda: self.save(event.client)))

    def _wish(self, slider: Any, values: Callable[[Any], dict[str, Any]]) -> None:
        """Ask for these values when a visitor lets go of the slider."""

        def moved(event: Any) -> None:
            if event.client is not None:  # the page itself also sets it, to what the node has
                self._soon(lambda: self.ask(values(slider.value)))

        slider.on_update(moved)

    def ask(self, values: dict[str, Any]) -> None:
        """Set parameters of the detector; show what it took, or why it did not."""
        if not values:
            self.answers.say(False, "the detector's thresholds are not known yet")
            return
        ((name, value),) = values.items()
        text = f"dynamics_node: {name} = {[round(x, 3) for x in value]}"

        def answer(done: bool, said: str) -> None:
            self.answers.say(done, f"{text}: {said}" if said else text)
            if not done:
                self._seen = -1  # the sliders go back to what the node has

        self.hands.set("dynamics_node", values, answer)

    def update(self) -> None:
        """Let the sliders stand where the node's parameters are."""
        if self._seen == self.feed.changes:
            return
        self._seen = self.feed.changes
        gain = self.feed.parameters.get("dynamics_node", {}).get("monitor.gain")
        if gain is not None:
            _stand(self.gain, float(np.mean(gain)))
        for level in LEVELS:
            base = self.feed.thresholds(level)
            if base is None:
                continue
            first = self._first.setdefault(level, base)
            _stand(self.factors[level], float(np.median(base / np.maximum(first, 1e-9))))
            for slider, value in zip(self.each[level], base, strict=True):
                _stand(slider, float(value))

    def save(self, client: Any) -> None:
        """Write all parameters as a file, and offer it to whoever clicked."""
        if not self.feed.parameters:
            self.answers.say(False, "save: no node has told its parameters yet")
            return
        text = parameter_yaml(self.feed.model.name, self.feed.parameters)
        plain = "".join(c if c.isalnum() or c in "-_" else "_" for c in self.feed.model.name)
        path = self.folder / f"{plain}-{time.strftime('%Y%m%d-%H%M%S')}.yaml"
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as fault:
            self.answers.say(False, f"save: {fault}")
        else:
            self.answers.say(True, f"saved {path}")
        if client is not None:
            client.send_file_download(path.name, text.encode())

    def _scaled(self, level: str, factor: float) -> dict[str, Any]:
        first = self._first.get(level)
        if first is None:
            return {}
        return {f"monitor.{level}.base": [float(x) for x in np.round(factor * first, 4)]}

    def _single(self, level: str, k: int, value: float) -> dict[str, Any]:
        base = self.feed.thresholds(level)
        if base is None:
            return {}
        base[k] = value
        return {f"monitor.{level}.base": [float(x) for x in base]}


def _stand(slider: Any, value: float) -> None:
    """Move a slider, within what it can show."""
    value = min(max(value, slider.min), slider.max)
    if abs(slider.value - value) > 0.5 * slider.step:
        slider.value = value
