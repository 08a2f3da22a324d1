"""The live page in a real browser: push, watch, tune, choose by mouse and keys, at two sizes."""

import re
from pathlib import Path

import pytest
from browser import CHROMIUM, live_page, window
from ros_harness import own_domain

pytest.importorskip("viser", reason="viser is not installed: pip install '.[dashboard]'")
pytest.importorskip("playwright", reason="playwright is not installed: pip install '.[test]'")
if CHROMIUM is None:
    pytest.skip("no chromium here: apt install chromium", allow_module_level=True)

from playwright.sync_api import expect  # noqa: E402

from robodyn_ros.control.arm_settings import OWN, ArmSettings  # noqa: E402
from robodyn_ros.nodes import terminal  # noqa: E402
from robodyn_ros.nodes.demo import IDEAL, Demo, running  # noqa: E402
from robodyn_ros.resources import share_path  # noqa: E402
from robodyn_ros.settings import leaves  # noqa: E402

SPACE = "left"
LONGEST = 120_000  # [ms], for a busy machine
TABS = ("Act", "Control", "Detector", "Faults", "Guard")
SIZES = ((1366, 768), (1920, 1080))
SMALL = (820, 900)  # without a graphics card, a large picture takes long
CHOICES = {
    name: [choice for choice in about.choices if choice != OWN]  # which this node has not
    for name, _, about in leaves(ArmSettings())
    if about.choices
}
LAYOUT = (Path(__file__).parent / "layout.js").read_text(encoding="utf-8")
# Numbers all that a keyboard should reach in the right panel, and notes what got the focus
REACH = """
() => {
  const panel = document.querySelector('#robodyn-answer').closest('.mantine-ScrollArea-viewport');
  const wanted = [...panel.querySelectorAll('input, button, [role=tab]')].filter(
    e => e.checkVisibility() && !e.disabled && e.tabIndex >= 0);
  window.reached = {};
  wanted.forEach((e, k) => { e.dataset.reach = k; });
  panel.onfocusin = null;
  panel.addEventListener('focusin', event => {
    const e = event.target, style = getComputedStyle(e);
    if (e.dataset.reach) window.reached[e.dataset.reach] = parseFloat(style.outlineWidth) || 0;
  });
  return wanted.map(e => e.labels?.[0]?.innerText || e.innerText || e.ariaLabel || '');
}
"""
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


@pytest.fixture(scope="module")
def live():
    """A simulated arm in a namespace, all its nodes in one process; its page in a browser."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", str(own_domain()))
        demo = Demo(share_path("config", "demo.yaml"), 0.0, True, SPACE, overrides=QUIET)
        with (
            running(demo),
            live_page("--namespace", SPACE, "--port", "8200") as url,
            window(url, *SMALL) as (page, outside),
        ):
            yield page, outside


@pytest.fixture
def page(live):
    """The page with a quiet arm; whatever a test does, nothing is asked of other hosts."""
    page, outside = live
    page.wait_for_function("window.states.at(-1) === 'CLEAR'", timeout=LONGEST)
    yield page
    assert outside == []


def open_tab(page, name):
    page.get_by_role("tab", name=name, exact=True).click(timeout=LONGEST)


def field(page, label):
    """Return the visible input of this label."""
    return page.get_by_label(label, exact=True).locator("visible=true").first


def answered(page, text):
    """Wait until the newest answer is to this request, which must have been carried out."""
    said = page.wait_for_function(
        """text => {
          const said = document.querySelector('#robodyn-answer > div').innerText;
          return (said === '✓ ' + text || said.startsWith('✗ ' + text)) && said;
        }""",
        arg=text,
        timeout=LONGEST,
    ).json_value()
    assert said == f"✓ {text}"


def chosen(name):
    parameter = f"arm.{name}"
    return terminal.get_parameters(f"{SPACE}/controller_node", [parameter])[parameter]


def choose(page, name, choices):
    """Make these choices of a menu, and the first one last; the node answers that it has it."""
    open_tab(page, "Control")
    menu, first = field(page, name), chosen(name)
    expect(menu).to_have_value(first, timeout=LONGEST)  # the page has asked the node
    for choice in (*(x for x in choices if x != first), first):
        menu.click(timeout=LONGEST)
        page.get_by_role("option", name=choice, exact=True).click(timeout=LONGEST)
        answered(page, f"controller_node: arm.{name} = {choice}")
    assert chosen(name) == first


def gain():
    return terminal.get_parameters(f"{SPACE}/dynamics_node", ["monitor.gain"])["monitor.gain"]


@pytest.mark.long
@pytest.mark.parametrize("name", ["reaction", "controller"])
def test_every_law_and_reaction_can_be_chosen(page, name):
    choose(page, name, CHOICES[name])


def test_push_watch_tune_and_choose(page):
    open_tab(page, "Act")
    # The push lasts: a browser that is held up must not miss it
    for label, number in (("force [N]", "40"), ("duration [s]", "1.5")):
        field(page, label).fill(number, timeout=LONGEST)
    assert field(page, "link").input_value() == "link_5"
    page.evaluate("window.states.length = 0")
    page.get_by_role("button", name="Push", exact=True).click(timeout=LONGEST)
    page.wait_for_function("window.states.includes('COLLISION')", timeout=LONGEST)
    # On a busy machine the detector may be CLEAR for a moment before it knows the link
    page.wait_for_function(
        """window.states.at(-1) === 'CLEAR'
             && / on link_/.test(document.querySelector('#robodyn-state').innerText)""",
        timeout=LONGEST,
    )
    text = page.locator("#robodyn-state").inner_text()
    told = re.search(r"last: COLLISION on link_(\d)( or beyond)?, ", text)
    assert told and (told[1] == "5" or (told[1] < "5" and told[2])), text

    open_tab(page, "Detector")
    (before,), number = gain(), field(page, "gain [1/s]")
    expect(number).to_have_value(f"{before:g}", timeout=LONGEST)
    wanted = [before + 5.0]
    for _ in range(5):
        number.press("ArrowUp", timeout=LONGEST)
    answered(page, f"dynamics_node: monitor.gain = {wanted[0]}")
    assert list(gain()) == wanted
    choose(page, "controller", ["pid"])


def test_everything_has_its_place_on_a_small_and_on_a_large_screen(page):
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        for tab in TABS:
            open_tab(page, tab)
            page.wait_for_function(f"({LAYOUT})().length === 0", timeout=20_000)
        # The state at the left is seen without scrolling
        page.wait_for_function(
            """() => { const e = document.querySelector('#robodyn-state')
                 .closest('.mantine-ScrollArea-viewport');
                 return e.scrollHeight <= e.clientHeight + 1; }""",
            timeout=20_000,
        )
    page.set_viewport_size(dict(zip(("width", "height"), SMALL, strict=True)))


def test_the_tab_key_reaches_every_control_and_shows_where_it_is(page):
    open_tab(page, TABS[0])
    for k, tab in enumerate(TABS):
        labels = page.evaluate(REACH)
        assert len(labels) > 8 and all(text.strip() for text in labels), (tab, labels)
        page.get_by_role("tab", name=TABS[0], exact=True).focus()
        # To the last control and back to the first, and not beyond: viser's notices outside the
        # panel, which come and go, have a place in the order, too, and not always both ways
        for _ in labels[labels.index(TABS[0]) + 1 :]:
            page.keyboard.press("Tab")
        for _ in labels[1:]:
            page.keyboard.press("Shift+Tab")
        reached = page.evaluate("window.reached")
        missed = [text for i, text in enumerate(labels) if reached.get(str(i), 0) < 2]
        assert not missed, (tab, missed)
        if k + 1 < len(TABS):  # on to the next one by keys
            page.get_by_role("tab", name=tab, exact=True).focus()
            page.keyboard.press("ArrowRight")
            following = page.get_by_role("tab", name=TABS[k + 1], exact=True, selected=True)
            following.wait_for(timeout=LONGEST)
