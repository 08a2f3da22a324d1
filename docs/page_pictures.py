"""Take the pictures of the live page again: the real page, in a real browser, of a real push.

python docs/page_pictures.py [FOLDER]

Without a graphics card Chromium takes long for a picture. So that this does not show, the demo's
arm, its controller and its detector run here in simulated time, and wait for each picture to be
taken. They are set as in config/demo.yaml: the arm differs from the model, its sensors are noisy.
"""

from __future__ import annotations

import io
import sys
import time
from dataclasses import replace
from pathlib import Path

import yaml
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "dashboard"))

from browser import window

import robodyn_ros as rd
from robodyn_ros.control.arm_controller import ArmController
from robodyn_ros.control.arm_settings import ArmSettings
from robodyn_ros.dashboard.feed import Feed
from robodyn_ros.dashboard.page import Page
from robodyn_ros.dashboard.visuals import Visuals
from robodyn_ros.detection.detector import Level
from robodyn_ros.detection.monitor import ContactMonitor
from robodyn_ros.detection.monitor_settings import MonitorSettings
from robodyn_ros.nodes.demo_trajectory import DemoTrajectory
from robodyn_ros.nodes.node_settings import PlantSettings
from robodyn_ros.nodes.simulation_setup import make_plant
from robodyn_ros.settings import changed, converted, leaves

STEP = 0.002  # [s]
FRAME = 0.125  # [s] of simulated time between two pictures
SPAN = 10.0  # [s] of the animation
SIZE = (864, 540)  # of the animation
COLOURS = 256
DEMO = yaml.safe_load(rd.share_path("config", "demo.yaml").read_text(encoding="utf-8"))


def taken_over(settings, values):
    """Return a parameter set with the values of a file."""
    known = {name: value for name, value, _ in leaves(settings)}
    flat = {}
    for name, value in values.items():
        inner = value.items() if isinstance(value, dict) else ()
        flat |= {f"{name}.{key}": x for key, x in inner} if inner else {name: value}
    return changed(settings, {name: converted(x, known[name]) for name, x in flat.items()})


def section(node, group):
    return DEMO[f"/**/{node}"]["ros__parameters"][group]


PLANT = taken_over(PlantSettings(), section("simulator_node", "plant"))
DETECTOR = taken_over(MonitorSettings(), section("dynamics_node", "monitor"))
ARM = taken_over(ArmSettings(), section("controller_node", "arm"))


class Arm:
    """Plant, controller and detector, and a page that looks on and pushes."""

    def __init__(self, port: int) -> None:
        self.model = rd.robots.lwr_iii()
        self.plant, _ = make_plant(self.model, PLANT, {}, STEP)
        self.controller = ArmController(self.model, ARM)
        self.monitor = ContactMonitor(self.model, replace(DETECTOR, friction=True))
        self.demo = DemoTrajectory(self.model, 0.2)
        self.feed = Feed(self.model, clock=lambda: self.plant.state.t)
        for node, prefix, values in (
            ("dynamics_node", "monitor", DETECTOR),
            ("controller_node", "arm", ARM),
        ):
            parameters = {f"{prefix}.{name}": value for name, value, _ in leaves(values)}
            self.feed.on_parameters(node, parameters, whole=True)
        self.duration = 0.3
        self.step()
        self.page = Page(self.feed, Visuals([], []), self, port)
        self.page.hide_hint()
        self.mark = self.page.server.gui.add_html("")
        self.frames = 0

    def set(self, node, values, answer) -> None:
        """Only how long a push lasts."""
        self.duration = values["push_duration"]
        answer(True, "")

    def push(self, link, force, torque, answer) -> None:
        """Push the plant, and let the page hear it as it would by topic."""
        self.feed.on_push(link, force, torque)
        self.plant.push(link, force, torque=torque, axes="link", duration=self.duration)
        answer(True, "")

    def step(self) -> None:
        """One sample of everything."""
        state, names = self.plant.measurement, self.model.joint_names
        sample = rd.Sample(state.t, STEP, state.q, state.qd, state.tau, rd.Status.OK)
        verdict = self.monitor.update(sample)
        self.controller.contact(verdict.level is Level.COLLISION, verdict.r)
        tau = self.controller.update(state.t, state.q, state.qd)
        self.demo.on_controller(self.controller.mode.name, self.controller.reason, True)
        if self.demo.needs_position(state.t):
            self.demo.on_position(self.controller.reference.q)
        if move := self.demo.next(state.t):
            self.controller.follow(move)
        feed, wanted = self.feed, self.controller.reference
        feed.on_state(state.t, names, state.q, state.tau, state.qd)
        feed.on_reference(state.t, names, wanted.q, wanted.qd)
        feed.on_residual(state.t, names, verdict.r)
        feed.on_truth(names, self.plant.state.tau_ext)
        if verdict.wrench is not None:
            feed.on_wrench(verdict.wrench_link, verdict.wrench[:3])
        joints = " ".join(verdict.joints)
        feed.on_detector(verdict.level.name, verdict.link, verdict.force, joints, verdict.cause)
        feed.mode = self.controller.mode.name
        self.plant.step(tau, STEP)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP)):
            self.step()

    def show(self, browser) -> None:
        """Draw, and wait until the browser has drawn it, too."""
        self.frames += 1
        for _ in range(3):  # charts are drawn every third time
            self.page.draw()
        self.mark.content = f'<div id="frame" data-number="{self.frames}"></div>'
        browser.wait_for_function(
            f"document.getElementById('frame')?.dataset.number === '{self.frames}'",
            timeout=120_000,
        )
        browser.evaluate("() => new Promise(r => requestAnimationFrame(() => setTimeout(r, 60)))")

    def picture(self, browser) -> Image.Image:
        self.show(browser)
        return Image.open(io.BytesIO(browser.screenshot(timeout=120_000))).convert("RGB")

    def press(self, browser) -> None:
        browser.get_by_role("button", name="Push", exact=True).click(timeout=120_000)
        while self.page._actions.empty():
            time.sleep(0.05)


def tidy(arm: Arm, browser) -> None:
    """Let the charts fill, and take away what viser says about the missing graphics card."""
    arm.run(12.0)
    arm.show(browser)
    time.sleep(2.0)
    for close in browser.locator(".mantine-Notification-closeButton").all():
        close.click(timeout=120_000)


def still(arm: Arm, folder: Path) -> None:
    """The page amid a push."""
    arm.page.controls.duration.value = 0.5
    with window(arm.page.url, 1366, 768) as (browser, _):
        tidy(arm, browser)
        # One that is over, and one that is not, in a posture whose torques determine the force
        for seconds in (8.0, 0.3):
            arm.press(browser)
            arm.show(browser)
            arm.run(seconds)
        path = folder / "dashboard.png"
        image = arm.picture(browser)
    image.quantize(255, dither=Image.Dither.NONE).save(path, optimize=True)
    print(path)


def animation(arm: Arm, folder: Path) -> None:
    """Ten seconds with a push in them."""
    arm.page.controls.duration.value = 0.8
    images = []
    with window(arm.page.url, 1280, 800) as (browser, _):
        tidy(arm, browser)
        arm.run(3.0)  # until the force can be told in the posture of the push
        for k in range(round(SPAN / FRAME)):
            if k == 20:
                arm.press(browser)
            picture = arm.picture(browser)
            images.append(picture.resize(SIZE, Image.Resampling.LANCZOS))
            arm.run(FRAME)
    both = Image.new("RGB", (SIZE[0], 2 * SIZE[1]))  # colours of both states
    both.paste(images[10], (0, 0))
    both.paste(images[22], (0, SIZE[1]))
    palette = both.quantize(COLOURS)
    frames = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    shown = [120 if k % 2 else 130 for k in range(len(frames))]  # [ms], in whole hundredths
    path = folder / "push.gif"
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=shown, loop=0, optimize=True
    )
    print(path)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images"
    folder.mkdir(parents=True, exist_ok=True)
    arm = Arm(8300)
    try:
        still(arm, folder)
        animation(arm, folder)
    finally:
        arm.page.close()


if __name__ == "__main__":
    main()
