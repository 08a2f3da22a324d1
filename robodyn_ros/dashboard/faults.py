"""Fault controls of the page: inject faults into a simulated arm, grip a payload, accept one."""

from __future__ import annotations

import math
from collections.abc import Callable

import viser

from ..model.robot import RobotModel
from ..simulation.disturbances import FAULT_DEFAULTS, KINDS, ON_ALL_JOINTS
from .controls import Answers, ArmClient, RunLater

ALL_JOINTS = "all joints"
USUAL = "usual"  # value of a fault that is left to the plant
GRIP_COM = (0.0, 0.0, 0.05)  # [m], centre of a gripped payload in its link's frame


class FaultControls:
    """Buttons that break and load a simulated arm, and one that accepts a payload."""

    def __init__(
        self,
        server: viser.ViserServer,
        model: RobotModel,
        client: ArmClient,
        answers: Answers,
        run_later: RunLater,
    ) -> None:
        self.client, self.answers = client, answers
        gui, joints = server.gui, (*model.joint_names, ALL_JOINTS)
        middle = joints[min(3, model.n - 1)]

        def add_buttons(label: str, actions: dict[str, Callable[[], None]]) -> None:
            group = gui.add_button_group(label, tuple(actions))
            group.on_click(lambda event: run_later(actions[event.target.value]))

        with gui.add_folder("Faults and payload", expand_by_default=False):
            self.kind = gui.add_dropdown("fault", tuple(KINDS))
            self.joint = gui.add_dropdown("joint", joints, initial_value=middle)
            self.value = gui.add_text("value", USUAL)
            add_buttons("", {"Inject": self.inject, "Mend": self.mend})
            self.mass = gui.add_slider("payload [kg]", 0.1, 5.0, 0.1, 1.5)
            add_buttons(" ", {"Grip": self.grip, "Release": self.release, "Accept": self.accept})

    def update(self) -> None:
        """Show nothing of the nodes: what acts is in the banner."""

    def inject(self) -> None:
        """Inject the chosen fault into the simulated arm."""
        kind, joint, text = self.kind.value, self.joint.value, self.value.value.strip()
        if joint == ALL_JOINTS and kind not in ON_ALL_JOINTS:
            self.answers.show(False, f"{kind} is a fault of one joint: choose it")
            return
        value = _number(text)
        if value is None and text not in ("", USUAL):
            self.answers.show(False, f"value of a fault: a number or '{USUAL}', not '{text}'")
            return
        usual = FAULT_DEFAULTS.get(kind, 0.0)
        named = {
            "fault.kind": kind,
            "fault.joint": "" if joint == ALL_JOINTS else joint,
            "fault.value": [usual if value is None else value],
        }
        self.client.set("simulator_node", named, self.answers.to(f"inject {kind}, {joint}"))

    def mend(self) -> None:
        """Mend the simulated arm."""
        self.client.set("simulator_node", {"fault.kind": "none"}, self.answers.to("mend"))

    def grip(self) -> None:
        """Let the simulated arm hold the chosen mass."""
        mass = float(self.mass.value)
        held = {"payload.mass": mass, "payload.com": list(GRIP_COM)}
        self.client.set("simulator_node", held, self.answers.to(f"grip {mass:g} kg"))

    def release(self) -> None:
        """Let the simulated arm release what it holds."""
        self.client.set("simulator_node", {"payload.mass": 0.0}, self.answers.to("release"))

    def accept(self) -> None:
        """Let the detector take over the payload that it has found."""
        self.client.call("dynamics_node", "accept_payload", self.answers.to("accept payload"))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
