"""Controls: push the arm, move it, choose how it is controlled and how it gives way.

What is clicked is done by the loop that draws the page, one after the other: see `Page.soon`.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt
import viser

from ..control.arm_settings import ArmSettings
from ..dynamics.kinematics import forward_kinematics
from ..errors import RobodynError
from ..settings import leaves
from .feed import Feed
from .hands import Answer, Hands
from .motions import Point, halt, move
from .shapes import link_shapes
from .stage import Stage
from .truth import Force

Array = npt.NDArray[np.float64]
Soon = Callable[[Callable[[], None]], None]

DIRECTIONS = {
    "+x": (1, 0, 0),
    "−x": (-1, 0, 0),
    "+y": (0, 1, 0),
    "−y": (0, -1, 0),
    "+z": (0, 0, 1),
    "−z": (0, 0, -1),
}
ROUND, HOME, ZERO = "demo motion", "to the start posture", "to posture 0"
ALONG = 0.3  # of the link, where it is pushed: the detector tells the force as if at the joint
CHOICES = {name: about.choices for name, _, about in leaves(ArmSettings()) if about.choices}


class Answers:
    """What the nodes said to the latest wishes, newest first."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._html = server.gui.add_html("")
        self._lines: list[str] = []
        self.say(True, "ready")

    def say(self, done: bool, text: str) -> None:
        """Show an answer: done, or why not."""
        colour, mark = ("#149a5b", "✓") if done else ("#d92626", "✗")
        line = f'<div style="color:{colour}">{mark} {escape(text)}</div>'
        self._lines = [line, *self._lines][:3]
        older = "".join(self._lines[1:])
        self._html.content = (
            '<div id="robodyn-answer" style="font:12px/1.45 system-ui,sans-serif;min-height:54px;'
            f'padding:2px 12px;overflow-wrap:anywhere">{self._lines[0]}'
            f'<div style="opacity:.5">{older}</div></div>'
        )

    def about(self, what: str) -> Answer:
        """An answer to a wish that goes by this name."""
        return lambda done, said: self.say(done, f"{what}: {said}" if said else what)


class Controls:
    """All that moves the arm."""

    def __init__(
        self,
        server: viser.ViserServer,
        feed: Feed,
        stage: Stage,
        hands: Hands,
        answers: Answers,
        soon: Soon,
    ) -> None:
        self.feed, self.stage, self.hands, self.answers = feed, stage, hands, answers
        self.model = feed.model
        self._shapes = link_shapes(self.model)
        self._start: Array | None = None  # the posture in which the page found the arm
        self._seen = -1
        gui = server.gui
        with gui.add_folder("Push"):
            self._add_push(gui, soon)
        with gui.add_folder("Move"):
            self._add_motion(gui, soon)
        with gui.add_folder("Control and reaction"):
            self._chosen = {
                name: self._add_choice(gui, soon, name) for name in ("controller", "reaction")
            }

    def _add_push(self, gui: Any, soon: Soon) -> None:
        links = self.model.link_names
        self.link = gui.add_dropdown("link", links, initial_value=links[min(4, len(links) - 1)])
        self.force = gui.add_slider("force [N]", 5, 150, 1, 40)
        self.direction = gui.add_dropdown("direction", tuple(DIRECTIONS), initial_value="−y")
        self.duration = gui.add_slider("duration [s]", 0.05, 2.0, 0.05, 0.3)
        button = gui.add_button("Push", color=(217, 38, 38), icon=viser.Icon.HAND_FINGER)
        button.on_click(lambda _: soon(self.push))

    def _add_motion(self, gui: Any, soon: Soon) -> None:
        self.motion = gui.add_dropdown("motion", (ROUND, HOME, ZERO))
        run = gui.add_button_group("", ("Start", "Stop"))
        run.on_click(
            lambda event: soon(self.start if event.target.value == "Start" else self.stop)
        )
        state = gui.add_button_group(" ", ("Clear", "Reset"))
        state.on_click(
            lambda event: soon(self.clear if event.target.value == "Clear" else self.reset)
        )
        power = gui.add_button_group("  ", ("Enable", "Disable"))
        power.on_click(lambda event: soon(lambda: self.enable(event.target.value == "Enable")))

    def _add_choice(self, gui: Any, soon: Soon, name: str) -> Any:
        handle = gui.add_dropdown(name, CHOICES[name])
        changed = {"arm." + name: handle}

        def wish(event: Any) -> None:
            if event.client is not None:  # the page itself also sets it, to what the node has
                soon(lambda: self.choose("arm." + name, changed["arm." + name].value))

        handle.on_update(wish)
        return handle

    def update(self) -> None:
        """Show the push that would come, and what the controller has chosen by now."""
        if self.feed.q is None:
            return
        if self._start is None:
            self._start = self.feed.q.copy()
        if not self.feed.word.touched:
            self.stage.planned.show(self._planned(self.feed.q))
        if self._seen != self.feed.changes:
            self._seen = self.feed.changes
            known = self.feed.parameters.get("controller_node", {})
            for name, handle in self._chosen.items():
                value = known.get("arm." + name)
                if value in CHOICES[name] and handle.value != value:
                    handle.value = value

    def push(self) -> None:
        """Push as chosen: first how long, then the push itself."""
        if self.feed.q is None:
            self.answers.say(False, "push: nobody knows where the arm is")
            return
        link, (point, force) = self.link.value, self._planned(self.feed.q)
        pose = forward_kinematics(self.model, self.feed.q, link)
        R = pose[:3, :3]
        torque = np.cross(point - pose[:3, 3], force)
        what = f"push {link} with {self.force.value:g} N along {self.direction.value}"

        def now(done: bool, said: str) -> None:
            if done:
                self.hands.push(link, R.T @ force, R.T @ torque, self.answers.about(what))
            else:
                self.answers.say(False, f"{what}: {said}")

        self.hands.set("simulator_node", {"push_duration": float(self.duration.value)}, now)

    def start(self) -> None:
        """Begin the chosen motion."""
        if self.motion.value == ROUND:
            answer = self.answers.about("demo motion")
            self.hands.set("demo_node", {"active": True}, answer)
            return
        start, home = self._reference(), self._start
        if start is None or home is None:
            self.answers.say(False, "move: nobody knows where the arm is")
            return
        end = home if self.motion.value == HOME else np.zeros(self.model.n)
        what = self.motion.value

        def now(done: bool, said: str) -> None:
            try:
                points = move(self.model, start, end) if done else []
            except RobodynError as error:
                done, said = False, str(error)
            if done:
                self._follow(points, f"moves {what}")
            else:
                self.answers.say(False, f"{what}: {said}")

        self._stop_demo(now)

    def stop(self) -> None:
        """End the motion, now, and start no other."""
        wanted, rate = self._reference(), self.feed.qd_wanted

        def now(done: bool, said: str) -> None:
            if done and wanted is not None and rate is not None:
                self._follow(halt(wanted, rate), "stops")
            else:
                self.answers.say(done, f"stops: {said}" if said else "stops after this move")

        self._stop_demo(now)

    def _stop_demo(self, then: Answer) -> None:
        """Stop the demo motion, if there is a demo_node, then go on."""
        if "demo_node" in self.feed.parameters:
            self.hands.set("demo_node", {"active": False}, then)
        else:
            then(True, "")

    def clear(self) -> None:
        """Go on after a collision or a safe hold."""
        self.hands.call("controller_node", "clear", self.answers.about("clear"))

    def reset(self) -> None:
        """The plant back to its start, and the observer anew."""
        self.hands.call("simulator_node", "reset", self.answers.about("plant"))
        self.hands.call("dynamics_node", "reset", self.answers.about("detector"))

    def enable(self, enabled: bool) -> None:
        """Hold and track, or give no torque but that which carries the arm."""
        answer = self.answers.about("enable" if enabled else "disable")
        self.hands.call("controller_node", "enable", answer, enabled)

    def choose(self, name: str, value: str) -> None:
        """Set a parameter of the controller that has a few values."""
        answer = self.answers.about(f"controller_node: {name} = {value}")
        self.hands.set("controller_node", {name: value}, answer)

    def _follow(self, points: list[Point], what: str) -> None:
        self.hands.follow(points, self.model.joint_names, self.answers.about(what))

    def _reference(self) -> Array | None:
        """Where the arm is to be, or is."""
        return self.feed.q_wanted if self.feed.alive("reference") else self.feed.q

    def _planned(self, q: Array) -> Force:
        """The chosen push, as a hand would: at the side of the link, not far from its joint."""
        k = self.model.link_names.index(self.link.value)
        shape, pose = self._shapes[k], forward_kinematics(self.model, q, self.link.value)
        force = float(self.force.value) * np.array(DIRECTIONS[self.direction.value], dtype=float)
        way = pose[:3, :3] @ (shape.end if shape.end.any() else self.model.axis[k])
        side = np.cross(way, force)
        size = float(np.linalg.norm(side))
        offset = shape.radius * side / size if size > 1e-9 else np.zeros(3)
        return Force(pose[:3, 3] + pose[:3, :3] @ (ALONG * shape.end) + offset, force)
