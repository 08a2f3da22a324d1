"""Guard controls of the page: arm and disarm guard_node, expect a contact, its settings."""

from __future__ import annotations

import viser

from ..detection.guard.settings import ExpectSettings, GuardSettings
from .controls import Answers, ArmClient, RunLater, add_buttons
from .feed import Feed
from .inputs import ParameterInputs

ABSENT = (
    "<b>No guard_node is running.</b> It stops what other nodes drive, such as MoveIt, on the "
    "detector's verdict: ros2 run robodyn_ros guard_node"
)


class GuardControls:
    """Buttons and inputs of guard_node; a note while there is none."""

    def __init__(
        self,
        gui: viser.GuiApi,
        feed: Feed,
        client: ArmClient,
        answers: Answers,
        run_later: RunLater,
    ) -> None:
        self.feed, self.client, self.answers = feed, client, answers
        self.inputs = inputs = ParameterInputs(gui, feed, client, answers, "guard_node")
        links = feed.model.link_names
        with gui.add_folder("Guard"):
            self.state = gui.add_html("")
            arm = {"Arm": lambda: self.arm(True), "Disarm": lambda: self.arm(False)}
            add_buttons(gui, run_later, "guard", arm)
            names = ("level", "unknown", "delay", "rearm_after")
            inputs.add(GuardSettings(), "guard.", names, step=0.1)
        with gui.add_folder("Expected contact"):
            self.link = gui.add_dropdown("link", links, initial_value=links[-1])
            self.force = gui.add_number("up to [N]", 20.0, min=1.0, max=100.0, step=1.0)
            inputs.add(ExpectSettings(), "expect.", ["time"], step=0.5)
            expect = {"Expect": self.expect, "Expect none": self.expect_none}
            add_buttons(gui, run_later, "contact", expect)

    def update(self) -> None:
        """Show mode, last stop and expected contacts."""
        guard = self.feed.guard if self.feed.fresh_guard else None
        text = ABSENT if guard is None else guard.html()
        content = f'<div id="robodyn-guard" style="font-size:13px;padding:2px 12px">{text}</div>'
        if content != self.state.content:
            self.state.content = content
        self.inputs.update()

    def arm(self, armed: bool) -> None:
        """Arm or disarm the guard."""
        answer = self.answers.to("arm the guard" if armed else "disarm the guard")
        self.client.call("guard_node", "arm", answer, armed)

    def expect(self) -> None:
        """Expect a contact of the chosen link, up to the chosen force."""
        link, force = self.link.value, float(self.force.value)
        self.client.expect(link, force, self.answers.to(f"expect up to {force:g} N on {link}"))

    def expect_none(self) -> None:
        """Expect no contact any more."""
        self.client.call("guard_node", "expect", self.answers.to("expect no contact"), False)
