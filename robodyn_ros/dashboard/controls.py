"""Controls of the page; clicks of other threads are run later by the loop that draws it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import viser

from .. import palette
from ..dynamics.kinematics import forward_kinematics
from ..errors import RobodynError
from ..model.robot import RobotModel
from ..trajectory.joint_move import joint_move
from ..trajectory.trajectory_msg import TrajectoryPoint, to_points
from .feed import Feed, Force
from .scene import Scene
from .shapes import link_shapes

Array = npt.NDArray[np.float64]
Answer = Callable[[bool, str], None]  # whether it was done, and the node's message
RunLater = Callable[[Callable[[], None]], None]

DIRECTIONS = {
    f"{sign}{axis}": factor * unit
    for axis, unit in zip("xyz", np.eye(3), strict=True)
    for sign, factor in (("+", 1.0), ("−", -1.0))
}
DEMO, START, ZERO = "demo motion", "to the start posture", "to posture 0"
PUSH_POSITION = 0.3  # along the link: the detector reports the force as if at the joint
MOVE_SPEED = 0.3  # of a move, share of the joints' speed limits
STOP_TIME = 0.5  # [s] from motion to rest
POINT_SPACING = 0.05  # [s] between two points of a trajectory
ANSWERS_SHOWN = 3


class ArmClient(Protocol):
    """What the page can do to the arm. Calls return at once; answers come in a later frame."""

    def push(self, link: str, force: Array, torque: Array, answer: Answer) -> None:
        """Push a simulated arm: force [N] and torque [N m] at the link's origin, in its axes."""

    def follow(
        self, points: Sequence[TrajectoryPoint], names: Sequence[str], answer: Answer
    ) -> None:
        """Send a trajectory of these joints."""

    def expect(self, link: str, force: float, answer: Answer) -> None:
        """Let the guard expect a contact of a link, up to a force [N]."""

    def call(self, node: str, service: str, answer: Answer, data: bool | None = None) -> None:
        """Call a service of a node: enable (with data), clear, reset and others."""

    def set(self, node: str, values: dict[str, Any], answer: Answer) -> None:
        """Set parameters of a node, all or none."""


class Answers:
    """The nodes' latest answers, newest first."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._html = server.gui.add_html("")
        self._lines: list[str] = []
        self.show(True, "ready")

    def show(self, done: bool, text: str) -> None:
        """Show an answer. done: whether the request was carried out."""
        colour, mark = (palette.GREEN, "✓") if done else (palette.RED, "✗")
        line = f'<div style="color:{colour}">{mark} {escape(text)}</div>'
        self._lines = [line, *self._lines][:ANSWERS_SHOWN]
        older = "".join(self._lines[1:])
        self._html.content = (
            '<div id="robodyn-answer" role="status" style="font-size:12px;line-height:1.45;'
            'height:54px;overflow:hidden;padding:2px 12px;overflow-wrap:anywhere">'
            f'{self._lines[0]}<div style="opacity:.75">{older}</div></div>'
        )

    def to(self, request: str) -> Answer:
        """Return a callback that shows the answer to a request."""
        return lambda done, text: self.show(done, f"{request}: {text}" if text else request)


class Controls:
    """Buttons and menus that move the arm."""

    def __init__(
        self,
        gui: viser.GuiApi,
        feed: Feed,
        scene: Scene,
        client: ArmClient,
        answers: Answers,
        run_later: RunLater,
    ) -> None:
        self.feed, self.scene, self.client, self.answers = feed, scene, client, answers
        self.model = feed.model
        self._shapes = link_shapes(self.model)
        self._start: Array | None = None  # posture when the page was opened
        links = self.model.link_names
        with gui.add_folder("Push"):
            fifth = links[min(4, len(links) - 1)]
            self.link = gui.add_dropdown("link", links, initial_value=fifth)
            self.force = gui.add_number("force [N]", 40.0, min=5.0, max=150.0, step=5.0)
            self.direction = gui.add_dropdown("direction", tuple(DIRECTIONS), initial_value="−y")
            self.duration = gui.add_number("duration [s]", 0.3, min=0.05, max=2.0, step=0.05)
            button = gui.add_button(
                "Push", color=palette.rgb(palette.RED), icon=viser.Icon.HAND_FINGER
            )
            button.on_click(lambda _: run_later(self.push))
        with gui.add_folder("Move"):
            self.motion = gui.add_dropdown("motion", (DEMO, START, ZERO))
            add_buttons(gui, run_later, "move", {"Start": self.start, "Stop": self.stop})
            enable = {"Enable": lambda: self.enable(True), "Disable": lambda: self.enable(False)}
            add_buttons(gui, run_later, "control", enable)
            state = {"Clear": self.clear, "Reset": self.reset, "Tare": self.tare}
            add_buttons(gui, run_later, "state", state)

    def update(self) -> None:
        """Show the chosen push."""
        if self.feed.q is None:
            return
        if self._start is None:
            self._start = self.feed.q.copy()
        if not self.feed.detector.touched:
            self.scene.planned.show(self._planned(self.feed.q))

    def push(self) -> None:
        """Push as chosen: set the duration, then push."""
        if self.feed.q is None:
            self.answers.show(False, "push: no joint states received")
            return
        link, (point, force) = self.link.value, self._planned(self.feed.q)
        pose = forward_kinematics(self.model, self.feed.q, link)
        R = pose[:3, :3]
        torque = np.cross(point - pose[:3, 3], force)
        answer = self.answers.to(
            f"push {link} with {self.force.value:g} N along {self.direction.value}"
        )

        def duration_set(done: bool, text: str) -> None:
            if done:
                self.client.push(link, R.T @ force, R.T @ torque, answer)
            else:
                answer(False, text)

        duration = {"push_duration": float(self.duration.value)}
        self.client.set("simulator_node", duration, duration_set)

    def start(self) -> None:
        """Start the chosen motion."""
        if self.motion.value == DEMO:
            self.client.set("demo_node", {"active": True}, self.answers.to(DEMO))
            return
        q, start = self._reference(), self._start
        if q is None or start is None:
            self.answers.show(False, "move: no joint states received")
            return
        end = start if self.motion.value == START else np.zeros(self.model.n)
        answer = self.answers.to(f"move {self.motion.value}")

        def demo_stopped(done: bool, text: str) -> None:
            if not done:
                answer(False, text)
                return
            try:
                points = move_points(self.model, q, end)
            except RobodynError as error:
                answer(False, str(error))
            else:
                self.client.follow(points, self.model.joint_names, answer)

        self._stop_demo(demo_stopped)

    def stop(self) -> None:
        """Stop the motion now, and the demo motion."""
        q, qd = self._reference(), self.feed.qd_ref

        def demo_stopped(done: bool, text: str) -> None:
            if done and q is not None and qd is not None:
                names, answer = self.model.joint_names, self.answers.to("stop")
                self.client.follow(stop_points(q, qd), names, answer)
            else:
                self.answers.show(done, f"stop: {text}" if text else "stop after this move")

        self._stop_demo(demo_stopped)

    def _stop_demo(self, then: Answer) -> None:
        """Stop the demo motion, if a demo_node runs, then continue."""
        if "demo_node" in self.feed.parameters:
            self.client.set("demo_node", {"active": False}, then)
        else:
            then(True, "")

    def clear(self) -> None:
        """Let the arm continue after a collision or a safe hold."""
        self.client.call("controller_node", "clear", self.answers.to("clear"))

    def reset(self) -> None:
        """Reset the plant to its start and restart the observer."""
        self.client.call("simulator_node", "reset", self.answers.to("plant"))
        self.client.call("dynamics_node", "reset", self.answers.to("detector"))

    def enable(self, enabled: bool) -> None:
        """Enable the controller, or let it give no torque but the one against gravity."""
        answer = self.answers.to("enable" if enabled else "disable")
        self.client.call("controller_node", "enable", answer, enabled)

    def tare(self) -> None:
        """Let the detector take the present residual of the untouched arm as its offset."""
        self.client.call("dynamics_node", "tare", self.answers.to("tare"))

    def _reference(self) -> Array | None:
        return self.feed.q_ref if self.feed.fresh("reference") else self.feed.q

    def _planned(self, q: Array) -> Force:
        """Return the chosen push: at the side of the link, not far from its joint."""
        k = self.model.link_names.index(self.link.value)
        shape, pose = self._shapes[k], forward_kinematics(self.model, q, self.link.value)
        force = float(self.force.value) * DIRECTIONS[self.direction.value]
        along = pose[:3, :3] @ (shape.end if shape.end.any() else self.model.axis[k])
        side = np.cross(along, force)
        size = float(np.linalg.norm(side))
        offset = shape.radius * side / size if size > 1e-9 else np.zeros(3)
        return Force(pose[:3, 3] + pose[:3, :3] @ (PUSH_POSITION * shape.end) + offset, force)


def add_buttons(
    gui: viser.GuiApi, run_later: RunLater, label: str, actions: dict[str, Callable[[], None]]
) -> None:
    """Add buttons side by side."""
    group = gui.add_button_group(label, tuple(actions))
    group.on_click(lambda event: run_later(actions[event.target.value]))


def set_value(handle: Any, value: Any) -> None:
    """Set the value of an input; the type checker does not see viser's setter."""
    handle.value = value


def move_points(model: RobotModel, start: Array, end: Array) -> list[TrajectoryPoint]:
    """Return the points of a move from rest to rest."""
    limit = MOVE_SPEED * np.where(np.isfinite(model.qd_max), model.qd_max, 1.0)
    move = joint_move(start, end, qd_max=limit, qdd_max=4.0 * limit, model=model)
    return to_points(move, POINT_SPACING, model.joint_names)[1][1:]  # from the reference on


def stop_points(q: Array, qd: Array) -> list[TrajectoryPoint]:
    """Return the point at which an arm that moves with qd at q comes to rest by even braking."""
    end, zero = q + 0.5 * STOP_TIME * qd, (0.0,) * q.size
    return [TrajectoryPoint(tuple(end.tolist()), zero, zero, STOP_TIME)]
