"""Fault controls of the page: inject faults into a simulated arm, grip a payload, accept one."""

from __future__ import annotations

from html import escape

import viser

from ..model.robot import RobotModel
from ..simulation.disturbances import FAULT_DEFAULTS, KINDS, ON_ALL_JOINTS
from .controls import Answers, ArmClient, RunLater, add_buttons, set_value

ALL_JOINTS = "all joints"
GRIP_OFFSET = 0.05  # [m], of a payload's centre along the z axis of its link


class FaultControls:
    """Buttons that break and load a simulated arm, and one that accepts a payload."""

    def __init__(
        self,
        gui: viser.GuiApi,
        model: RobotModel,
        client: ArmClient,
        answers: Answers,
        run_later: RunLater,
    ) -> None:
        self.client, self.answers = client, answers
        self._shown = ""  # kind whose usual value stands in the box
        joints, links = (*model.joint_names, ALL_JOINTS), model.link_names
        middle = joints[min(3, model.n - 1)]
        with gui.add_folder("Inject a fault"):
            self.kind = gui.add_dropdown("fault", tuple(KINDS))
            self.about = gui.add_html("")
            self.joint = gui.add_dropdown("joint", joints, initial_value=middle)
            self.value = gui.add_number("value", 0.0, step=0.05)
            actions = {"Inject": self.inject, "Mend": self.mend}
            add_buttons(gui, run_later, "simulated", actions)
        with gui.add_folder("Payload"):
            self.link = gui.add_dropdown("held by", links, initial_value=links[-1])
            self.mass = gui.add_number("mass [kg]", 1.5, min=0.1, max=20.0, step=0.1)
            self.offset = gui.add_number("offset z [m]", GRIP_OFFSET, min=-1.0, max=1.0, step=0.01)
            actions = {"Grip": self.grip, "Release": self.release}
            add_buttons(gui, run_later, "simulated", actions)
            add_buttons(gui, run_later, "detector", {"Accept": self.accept})

    def update(self) -> None:
        """Say what the chosen fault does, with its usual value; what acts is in the banner."""
        kind = self.kind.value
        if kind == self._shown:
            return
        self._shown = kind
        self.about.content = (
            f'<div style="font-size:12px;padding:0 12px 6px">{escape(KINDS[kind])}</div>'
        )
        set_value(self.value, FAULT_DEFAULTS.get(kind, 0.0))
        self.value.disabled = kind not in FAULT_DEFAULTS

    def inject(self) -> None:
        """Inject the chosen fault into the simulated arm."""
        kind, joint = self.kind.value, self.joint.value
        if joint == ALL_JOINTS and kind not in ON_ALL_JOINTS:
            self.answers.show(False, f"{kind} is a fault of one joint: choose it")
            return
        named = {
            "fault.kind": kind,
            "fault.joint": "" if joint == ALL_JOINTS else joint,
            "fault.value": [float(self.value.value)],
        }
        self.client.set("simulator_node", named, self.answers.to(f"inject {kind}, {joint}"))

    def mend(self) -> None:
        """Mend the simulated arm."""
        self.client.set("simulator_node", {"fault.kind": "none"}, self.answers.to("mend"))

    def grip(self) -> None:
        """Let the simulated arm hold the chosen mass."""
        mass = float(self.mass.value)
        held = {
            "payload.link": self.link.value,
            "payload.mass": mass,
            "payload.com": [0.0, 0.0, float(self.offset.value)],
        }
        answer = self.answers.to(f"grip {mass:g} kg with {self.link.value}")
        self.client.set("simulator_node", held, answer)

    def release(self) -> None:
        """Let the simulated arm release what it holds."""
        self.client.set("simulator_node", {"payload.mass": 0.0}, self.answers.to("release"))

    def accept(self) -> None:
        """Let the detector take over the payload that it has found."""
        self.client.call("dynamics_node", "accept_payload", self.answers.to("accept payload"))
