"""Inputs of the page that show and set parameters of a node.

Number boxes, not sliders: each has a label, is one stop of the Tab key, and takes arrow keys.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import viser

from ..settings import About, leaves
from .controls import Answers, ArmClient, set_value
from .feed import Feed

TYPING_TIME = 0.4  # [s] without a change, after which a number is sent: its digits come one by one


class ParameterInput:
    """One input: sends what the user changes, shows what the node has.

    A browser changes the handle's value at any time, from another thread. So no callback reports
    it, which may come after a frame has put the node's value back: whatever the page did not put
    there itself is the user's.
    """

    def __init__(
        self,
        handle: Any,
        shown: Callable[[], Any],
        send: Callable[[Any], None],
        delay: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.handle, self._shown, self._send = handle, shown, send
        self._delay, self._clock = delay, clock
        self._seen = handle.value  # put there by the page, or found there and taken up
        self._changed_at: float | None = None  # [s], by the user, not sent yet

    def update(self) -> None:
        """Send what the user has chosen; else show the node's value."""
        handle = self.handle
        found = handle.value  # read once: the next reading may differ
        if found != self._seen:
            self._seen, self._changed_at = found, self._clock()
        if self._changed_at is not None:
            if self._clock() - self._changed_at >= self._delay:
                self._changed_at = None
                self._send(found)
            return
        value = self._shown()
        if value is None:
            return
        if isinstance(handle, viser.GuiDropdownHandle) and value not in handle.options:
            return
        if isinstance(value, float):
            value = min(max(value, handle.min), handle.max)
            if abs(value - found) <= 0.5 * handle.step:
                return
        if value != found:
            self._seen = value
            set_value(handle, value)


class ParameterInputs:
    """Inputs for parameters of one node, made from their settings."""

    def __init__(
        self, gui: viser.GuiApi, feed: Feed, client: ArmClient, answers: Answers, node: str
    ) -> None:
        self.gui, self.feed, self.client, self.answers = gui, feed, client, answers
        self.node = node
        self.inputs: dict[str, ParameterInput] = {}
        self._wanted: dict[str, Any] = {}  # sent, not answered yet

    def add(
        self, settings: Any, prefix: str, names: Iterable[str], step: float | None = None
    ) -> None:
        """Add inputs for these parameters of a set; their prefix is that in the node."""
        found = {name: (value, about) for name, value, about in leaves(settings)}
        for name in names:
            value, about = found[name]
            self._add(prefix + name, name.rpartition(".")[2], value, about, step)

    def _add(self, name: str, label: str, value: Any, about: About, step: float | None) -> None:
        gui, hint, many = self.gui, about.described, isinstance(value, tuple)
        label = label.replace("_", " ") + (f" [{about.unit}]" if about.unit else "")
        handle: Any
        delay = 0.0
        if about.choices:
            handle = gui.add_dropdown(label, about.choices, initial_value=value, hint=hint)
        elif isinstance(value, bool):
            handle = gui.add_checkbox(label, value, hint=hint)
        else:
            first = float(value[0]) if many else float(value)
            high, delay = min(about.high, 1e4), TYPING_TIME
            step = step or 10.0 ** np.floor(np.log10(max(first, 1.0) / 10.0))
            low = about.low if np.isfinite(about.low) else -high
            handle = gui.add_number(label, first, min=low, max=high, step=step, hint=hint)
        self.inputs[name] = ParameterInput(
            handle,
            lambda: self.present(name, many),
            lambda chosen: self.set(name, [float(chosen)] if many else chosen),
            delay,
        )

    def add_texts(self, name: str, label: str, choices: tuple[str, ...], hint: str) -> None:
        """Add a menu for a parameter that is a list of texts, one of which is chosen."""
        handle = self.gui.add_dropdown(label, choices, hint=hint)
        self.inputs[name] = ParameterInput(
            handle, lambda: self.present(name, True), lambda chosen: self.set(name, [chosen])
        )

    def add_choice(self, name: str, label: str, choices: tuple[str, ...], hint: str = "") -> None:
        """Add a menu for a parameter with these choices."""
        handle = self.gui.add_dropdown(label, choices, hint=hint or None)
        self.inputs[name] = ParameterInput(
            handle, lambda: self.present(name), lambda chosen: self.set(name, chosen)
        )

    def wanted(self, name: str) -> Any:
        """Return the value that was sent and is not answered yet, or None."""
        return self._wanted.get(name)

    def present(self, name: str, many: bool = False) -> Any:
        """Return the value that the node has, or will have once it answers; None: not known."""
        values = self.feed.parameters.get(self.node, {})
        value = self._wanted.get(name, values.get(name))
        if many and value is not None:
            items = _items(value)
            if not items:
                return None
            value = items[0] if isinstance(items[0], str) else float(np.mean(items))
        return value

    def set(self, name: str, value: Any) -> None:
        """Set a parameter and show the node's answer."""
        shown = [round(x, 4) if isinstance(x, float) else x for x in _items(value)]
        text = f"{self.node}: {name} = {', '.join(map(str, shown))}"
        answer = self.answers.to(text)

        def answered(done: bool, said: str) -> None:
            if self._wanted.get(name) is value:  # not when a newer one is under way
                del self._wanted[name]
            if done:
                self.feed.on_parameters(self.node, {name: value})
            answer(done, said)

        self._wanted[name] = value  # the input keeps it until the node answers
        self.client.set(self.node, {name: value}, answered)

    def update(self) -> None:
        """Send changes and show the node's values."""
        for one in self.inputs.values():
            one.update()


def _items(value: Any) -> list[Any]:
    """Return the items of an array parameter, or the only one of another."""
    return [value] if isinstance(value, (str, bool, int, float)) else list(value)
