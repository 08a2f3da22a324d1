"""Tuning: the detector's gain and thresholds, and a button to save all parameters."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import viser

from ..detection.monitor_settings import MonitorSettings
from ..settings import yaml_section
from .controls import Answers, ArmClient, RunLater
from .feed import Feed
from .inputs import TYPING_TIME, ParameterInput, ParameterInputs

Array = npt.NDArray[np.float64]

FACTOR_RANGE: Any = {"min": 0.1, "max": 5.0, "step": 0.05}  # of all thresholds together
FACTOR_HINT = "all thresholds of this level, times those when the page was opened"
THRESHOLD_RANGE: Any = {"min": 0.05, "max": 500.0, "step": 0.05}  # [N m or N]
LEVELS = ("contact", "collision")
NODES = ("simulator_node", "controller_node", "dynamics_node", "demo_node", "guard_node")
# Parameters of every node that do not concern the arm
NOT_SAVED = ("use_sim_time", "start_type_description_service", "qos_overrides")


class Tuning:
    """Numbers that show the detector's values. Changing one sets the parameter."""

    def __init__(
        self,
        gui: viser.GuiApi,
        feed: Feed,
        client: ArmClient,
        answers: Answers,
        run_later: RunLater,
        folder: Path,
    ) -> None:
        self.feed, self.answers, self.folder = feed, answers, folder
        self.inputs = inputs = ParameterInputs(gui, feed, client, answers, "dynamics_node")
        self._first: dict[str, Array] = {}  # thresholds when the page was opened
        self.factors, self.each = {}, {}
        with gui.add_folder("Detector"):
            inputs.add(MonitorSettings(), "monitor.", ["gain"], step=1.0)
            for level in LEVELS:
                handle = gui.add_number(f"{level} ×", 1.0, **FACTOR_RANGE, hint=FACTOR_HINT)
                factor, scale = partial(self._factor, level), partial(self.scale, level)
                self.factors[level] = ParameterInput(handle, factor, scale, TYPING_TIME)
        save = gui.add_button("Save parameters", icon=viser.Icon.DEVICE_FLOPPY)
        save.on_click(lambda event: run_later(lambda: self.save(event.client)))
        for level in LEVELS:
            with gui.add_folder(f"{level} threshold [N m or N]"):
                self.each[level] = [
                    ParameterInput(
                        gui.add_number(name, 1.0, **THRESHOLD_RANGE),
                        partial(self._base, level, k),
                        partial(self.set_one, level, k),
                        TYPING_TIME,
                    )
                    for k, name in enumerate(feed.model.joint_names)
                ]

    def update(self) -> None:
        """Send changes and show the node's values."""
        for level in LEVELS:
            base = self.feed.thresholds(level)
            if base is not None:
                self._first.setdefault(level, base)
        self.inputs.update()
        for one in (*self.factors.values(), *chain.from_iterable(self.each.values())):
            one.update()

    def scale(self, level: str, factor: float) -> None:
        """Set all thresholds of a level to a multiple of those when the page was opened."""
        self._set(level, None if level not in self._first else factor * self._first[level])

    def set_one(self, level: str, k: int, value: float) -> None:
        """Set the threshold of one joint [N m or N]."""
        base = self._wanted(level)
        if base is not None:
            base[k] = value
        self._set(level, base)

    def _set(self, level: str, base: Array | None) -> None:
        if base is None:
            self.answers.show(False, "the detector's thresholds are not known yet")
            return
        self.inputs.set(f"monitor.{level}.base", [float(x) for x in np.round(base, 4)])

    def _wanted(self, level: str) -> Array | None:
        """Return the thresholds (n,) that the node has, or will have once it answers."""
        wanted = self.inputs.wanted(f"monitor.{level}.base")
        return self.feed.thresholds(level) if wanted is None else np.array(wanted)

    def _base(self, level: str, k: int) -> float | None:
        base = self._wanted(level)
        return None if base is None else float(base[k])

    def _factor(self, level: str) -> float | None:
        base, first = self._wanted(level), self._first.get(level)
        if base is None or first is None:
            return None
        return float(np.median(base / np.maximum(first, 1e-9)))

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


def parameter_yaml(robot: str, parameters: Mapping[str, Mapping[str, Any]]) -> str:
    """Return parameters (node -> name -> value) as a parameter file for any namespace."""
    text = f"# Parameters of {' '.join(robot.split())}, saved from the running nodes.\n"
    for node in (*NODES, *sorted(set(parameters) - set(NODES))):
        found = sorted(parameters.get(node, {}).items())
        values = {name: x for name, x in found if name.partition(".")[0] not in NOT_SAVED}
        text += yaml_section(f"/**/{node}", values) if values else ""
    return text
