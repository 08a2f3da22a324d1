"""The live page in a real browser: push, watch, tune, choose; no request to other hosts."""

import re
import time

import pytest
from browser import CHROMIUM, live_page, window
from ros_harness import own_domain

pytest.importorskip("viser", reason="viser is not installed: pip install '.[dashboard]'")
pytest.importorskip("playwright", reason="playwright is not installed: pip install '.[test]'")
if CHROMIUM is None:
    pytest.skip("no chromium here: apt install chromium", allow_module_level=True)

from robodyn_ros.dashboard.controls import CHOICES  # noqa: E402
from robodyn_ros.nodes import terminal  # noqa: E402
from robodyn_ros.nodes.demo import IDEAL, Demo, running  # noqa: E402
from robodyn_ros.resources import share_path  # noqa: E402

SPACE = "left"
LONGEST = 120_000  # [ms], for a busy machine
QUIET = {  # a busy machine must not end the test: late samples, late commands
    "simulator_node": {"pushes.names": [""], "command_timeout": 5.0, "rate": 200.0}
    | IDEAL["simulator_node"],
    # Stop, so that a long push does not carry the arm into its joints' stops
    "controller_node": {
        "arm.reaction": "stop",
        "arm.timeout": 1.0,
        "rate": 200.0,
        **IDEAL["controller_node"],
    },
    "dynamics_node": {"rate": 200.0} | IDEAL["dynamics_node"],
    "demo_node": {"active": False},
}


@pytest.fixture
def arm(monkeypatch):
    """A simulated arm in a namespace, with all nodes in one process."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(own_domain()))
    demo = Demo(share_path("config", "demo.yaml"), 0.0, True, SPACE, overrides=QUIET)
    with running(demo):
        yield


def row(page, label):
    """Return the part of the page with the input of this label."""
    return page.locator(f"xpath=//*[normalize-space(text())='{label}']/ancestor::*[.//input][1]")


def chosen(name):
    parameter = f"arm.{name}"
    return terminal.get_parameters(f"{SPACE}/controller_node", [parameter])[parameter]


def choose(page, name, choices):
    """Make these choices of a menu, and the first one last; the node answers that it has it."""
    field = row(page, name).locator("input").first
    first = field.input_value()
    for choice in (*(x for x in choices if x != first), first):
        field.click(timeout=LONGEST)
        page.get_by_role("option", name=choice, exact=True).click(timeout=LONGEST)
        page.wait_for_function(
            "text => document.querySelector('#robodyn-answer > div').innerText === text",
            arg=f"✓ controller_node: arm.{name} = {choice}",
            timeout=LONGEST,
        )
    assert chosen(name) == first


def gain():
    return terminal.get_parameters(f"{SPACE}/dynamics_node", ["monitor.gain"])["monitor.gain"]


@pytest.mark.long
@pytest.mark.parametrize("name", ["reaction", "controller"])
def test_every_law_and_reaction_can_be_chosen(arm, name):
    with (
        live_page("--namespace", SPACE, "--port", "8200") as url,
        window(url, 820, 900) as (page, outside),
    ):
        page.wait_for_function("window.states.at(-1) === 'CLEAR'", timeout=LONGEST)
        choose(page, name, CHOICES[name])
        assert outside == []


def test_push_watch_tune_and_choose(arm, tmp_path):
    with (
        live_page("--namespace", SPACE, "--port", "8200") as url,
        window(url, 820, 900) as (page, outside),
    ):
        page.wait_for_function("window.states.at(-1) === 'CLEAR'", timeout=LONGEST)
        # The push lasts: a browser that is held up must not miss it
        for label, number in (("force [N]", "40"), ("duration [s]", "1.5")):
            field = row(page, label).locator("input[type=text]").last
            field.fill(number, timeout=LONGEST)
            field.press("Enter")
        assert row(page, "link").locator("input").first.input_value() == "link_5"
        page.evaluate("window.states.length = 0")
        page.get_by_role("button", name="Push", exact=True).click(timeout=LONGEST)
        page.wait_for_function("window.states.includes('COLLISION')", timeout=LONGEST)
        page.wait_for_function("window.states.at(-1) === 'CLEAR'", timeout=LONGEST)
        text = page.locator("#robodyn-state").inner_text()
        told = re.search(r"last: COLLISION on link_(\d)( or beyond)?, ", text)
        assert told and (told[1] == "5" or (told[1] < "5" and told[2])), text

        before = gain()
        thumb = page.get_by_role("slider").and_(page.locator("[aria-valuemax='300']"))
        thumb.focus(timeout=LONGEST)
        for _ in range(5):
            thumb.press("ArrowRight")
        wanted = list(before)[0] + 5.0
        page.wait_for_function(
            "text => document.getElementById('robodyn-answer').innerText.includes(text)",
            arg=f"monitor.gain = [{wanted}]",
            timeout=LONGEST,
        )
        end = time.monotonic() + 30.0
        while list(gain()) != [wanted] and time.monotonic() < end:
            time.sleep(0.2)
        assert list(gain()) == [wanted]
        choose(page, "controller", ["pid"])
        page.screenshot(path=tmp_path / "page.png", timeout=LONGEST)
        assert (tmp_path / "page.png").stat().st_size > 20_000
        assert outside == []
