"""Law controls of the page: control law, reaction to contact, answers to faults."""

from __future__ import annotations

import viser

from ..control.arm_settings import ArmSettings
from ..settings import leaves
from .controls import Answers, ArmClient
from .feed import Feed
from .inputs import ParameterInputs

UNKNOWNS = ("payload", "payload.mass", "links", "friction", "rotors", "all")
# Parameters that only some laws or reactions have; the others are hidden while another is chosen
OF_LAW = {
    "computed_torque": ("computed_torque",),
    "gravity_at": ("pd_gravity",),
    "task.orientation": ("task_space",),
    "task.null_damping": ("task_space",),
    "adaptive.law": ("adaptive",),
    "adaptive.unknown": ("adaptive",),
    "adaptive.gain": ("adaptive",),
    "adaptive.dead_zone": ("adaptive",),
    "elastic.measured": ("elastic",),
    "elastic.stiffness": ("elastic",),
    "elastic.damping": ("elastic",),
}
OF_REACTION = {
    "braking": ("stop",),
    "damping": ("float", "reflex"),
    "reflex_gain": ("reflex", "null_space"),
    "admittance_gain": ("admittance",),
    "admittance_damping": ("admittance",),
}
FOR_ALL_LAWS = ("frequency", "friction", "friction_observer", "torque_share", "scaling")


class LawControls:
    """Inputs for the parameters of controller_node that can change while the arm moves."""

    def __init__(self, gui: viser.GuiApi, feed: Feed, client: ArmClient, answers: Answers) -> None:
        self.inputs = inputs = ParameterInputs(gui, feed, client, answers, "controller_node")
        settings = ArmSettings()
        texts = {name: about.text for name, _, about in leaves(settings)}
        with gui.add_folder("Control law"):
            inputs.add(settings, "arm.", ["controller"])
            for name in OF_LAW:
                if name == "adaptive.unknown":
                    inputs.add_texts("arm." + name, "unknown", UNKNOWNS, texts[name])
                else:
                    inputs.add(settings, "arm.", [name])
            inputs.add(settings, "arm.", FOR_ALL_LAWS)
        with gui.add_folder("Reaction to contact"):
            inputs.add(settings, "arm.", ["reaction"])
            inputs.add(settings, "arm.", OF_REACTION)
            inputs.add_choice("react_to", "react to", ("contact", "collision"))
            inputs.add(settings, "arm.", ["resume_after"], step=0.5)
        with gui.add_folder("Answer to a fault"):
            inputs.add(settings, "arm.", [name for name in texts if name.startswith("on_fault.")])

    def update(self) -> None:
        """Show the inputs of the chosen law and reaction, with the node's values."""
        self.inputs.update()
        for chooser, owners in (("controller", OF_LAW), ("reaction", OF_REACTION)):
            chosen = self.inputs.inputs["arm." + chooser].handle.value
            for name, which in owners.items():
                handle = self.inputs.inputs["arm." + name].handle
                if handle.visible != (chosen in which):
                    handle.visible = chosen in which
