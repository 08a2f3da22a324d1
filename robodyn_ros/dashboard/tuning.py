"""Tuning: sliders for the detector's gain and thresholds, and a button to save all parameters."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import viser

from ..settings import yaml_section
from .controls import Answers, ArmClient, RunLater, set_value
from .feed import Feed

Array = npt.NDArray[np.float64]
Slider = viser.GuiSliderHandle[float]

GAIN_RANGE = (1.0, 300.0)  # [1/s], range of the slider
FACTOR_RANGE = (0.1, 5.0)  # of all thresholds together
LEVELS = ("contact", "collision")
NODES = ("simulator_node", "controller_node", "dynamics_node", "demo_node")
# Parameters of every node that do not concern the arm
NOT_SAVED = ("use_sim_time", "start_type_description_service", "qos_overrides")


class Tuning:
    """Sliders that show the node's values. Moving one sets the parameter, or returns to it."""

    def __init__(
        self,
        server: viser.ViserServer,
        feed: Feed,
        client: ArmClient,
        answers: Answers,
        run_later: RunLater,
        folder: Path,
    ) -> None:
        self.feed, self.client, self.answers, self.folder = feed, client, answers, folder
        self._run_later, self._changes_shown = run_later, -1
        self._first: dict[str, Array] = {}  # thresholds when the page was opened
        gui, names = server.gui, feed.model.joint_names
        with gui.add_folder("Detector"):
            self.gain = gui.add_slider("gain [1/s]", *GAIN_RANGE, 1.0, 50.0)
            self._on_move(self.gain, lambda value: {"monitor.gain": [float(value)]})
            self.factors = {}
            for level in LEVELS:
                self.factors[level] = gui.add_slider(f"{level} ×", *FACTOR_RANGE, 0.05, 1.0)
                self._on_move(self.factors[level], partial(self._scaled, level))
            self.each = {}
            with gui.add_folder("Each joint [N m or N]", expand_by_default=False):
                for level in LEVELS:
                    self.each[level] = [
                        gui.add_slider(f"{level} {name}", 0.05, 50.0, 0.05, 1.0) for name in names
                    ]
                    for k, slider in enumerate(self.each[level]):
                        self._on_move(slider, partial(self._single, level, k))
        save = gui.add_button("Save parameters", icon=viser.Icon.DEVICE_FLOPPY)
        save.on_click(lambda event: run_later(lambda: self.save(event.client)))

    def _on_move(self, slider: Slider, values: Callable[[float], dict[str, list[float]]]) -> None:

        def moved(event: viser.GuiEvent) -> None:
            if event.client is not None:  # not when the page itself shows the node's value
                self._run_later(lambda: self.set(values(slider.value)))

        slider.on_update(moved)

    def set(self, values: dict[str, list[float]]) -> None:
        """Set a parameter of the detector and show its answer."""
        if not values:
            self.answers.show(False, "the detector's thresholds are not known yet")
            return
        ((name, value),) = values.items()
        text = f"dynamics_node: {name} = {[round(x, 3) for x in value]}"

        def answer(done: bool, said: str) -> None:
            self.answers.show(done, f"{text}: {said}" if said else text)
            if not done:
                self._changes_shown = -1  # the sliders return to the node's values

        self.client.set("dynamics_node", values, answer)

    def update(self) -> None:
        """Move the sliders to the node's values."""
        if self._changes_shown == self.feed.changes:
            return
        self._changes_shown = self.feed.changes
        gain = self.feed.parameters.get("dynamics_node", {}).get("monitor.gain")
        if gain is not None:
            _move(self.gain, float(np.mean(gain)))
        for level in LEVELS:
            base = self.feed.thresholds(level)
            if base is None:
                continue
            first = self._first.setdefault(level, base)
            _move(self.factors[level], float(np.median(base / np.maximum(first, 1e-9))))
            for slider, value in zip(self.each[level], base, strict=True):
                _move(slider, float(value))

    def save(self, client: viser.ClientHandle | None) -> None:
        """Write all parameters to a file, and offer it to the user for download."""
        if not self.feed.parameters:
            self.answers.show(False, "save: no parameters received yet")
            return
        text = parameter_yaml(self.feed.model.name, self.feed.parameters)
        plain = "".join(c if c.isalnum() or c in "-_" else "_" for c in self.feed.model.name)
        path = self.folder / f"{plain}-{time.strftime('%Y%m%d-%H%M%S')}.yaml"
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            self.answers.show(False, f"save: {error}")
        else:
            self.answers.show(True, f"saved {path}")
        if client is not None:
            client.send_file_download(path.name, text.encode())

    def _scaled(self, level: str, factor: float) -> dict[str, list[float]]:
        first = self._first.get(level)
        if first is None:
            return {}
        return {f"monitor.{level}.base": [float(x) for x in np.round(factor * first, 4)]}

    def _single(self, level: str, k: int, value: float) -> dict[str, list[float]]:
        base = self.feed.thresholds(level)
        if base is None:
            return {}
        base[k] = value
        return {f"monitor.{level}.base": [float(x) for x in base]}


def _move(slider: Slider, value: float) -> None:
    value = min(max(value, slider.min), slider.max)
    if abs(slider.value - value) > 0.5 * slider.step:
        set_value(slider, value)


def parameter_yaml(robot: str, parameters: Mapping[str, Mapping[str, Any]]) -> str:
    """Return parameters (node -> name -> value) as a parameter file for any namespace."""
    text = f"# Parameters of {' '.join(robot.split())}, saved from the running nodes.\n"
    for node in (*NODES, *sorted(set(parameters) - set(NODES))):
        found = sorted(parameters.get(node, {}).items())
        values = {name: x for name, x in found if name.partition(".")[0] not in NOT_SAVED}
        text += yaml_section(f"/**/{node}", values) if values else ""
    return text
