"""The page with a simulated feed: what it shows, what its controls ask for, and read-only."""

import asyncio
import contextlib
import time
from concurrent.futures import Future

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed: pip install '.[dashboard]'")

from viser._messages import GuiUpdateMessage  # noqa: E402

import robodyn_ros as rd  # noqa: E402
from robodyn_ros.control.arm_settings import ArmSettings  # noqa: E402
from robodyn_ros.dashboard.charts import error_chart, residual_charts  # noqa: E402
from robodyn_ros.dashboard.feed import Feed  # noqa: E402
from robodyn_ros.dashboard.inputs import ParameterInput  # noqa: E402
from robodyn_ros.dashboard.page import Page  # noqa: E402
from robodyn_ros.dashboard.panels import fault_banner, hint, state_banner, torque_bars  # noqa: E402
from robodyn_ros.dashboard.visuals import Visuals  # noqa: E402
from robodyn_ros.settings import leaves  # noqa: E402
from robodyn_ros.simulation.disturbances import KINDS  # noqa: E402

MODEL = rd.robots.lwr_iii()
Q = np.array([0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5])
DETECTOR = {
    "monitor.gain": [50.0],
    "monitor.contact.base": [2.5, 2.5, 1.0, 1.0, 0.6, 1.0, 0.5],
    "monitor.collision.base": [5.0, 5.0, 2.0, 2.0, 1.2, 2.0, 1.0],
}


class Notes:
    """A client that records its requests and gives a fixed answer."""

    def __init__(self):
        self.asked, self.verdict = [], (True, "")

    def push(self, link, force, torque, answer):
        self.asked.append(("push", link, force, torque))
        answer(*self.verdict)

    def follow(self, points, names, answer):
        self.asked.append(("follow", points, names))
        answer(*self.verdict)

    def expect(self, link, force, answer):
        self.asked.append(("expect", link, force))
        answer(*self.verdict)

    def call(self, node, service, answer, data=None):
        self.asked.append(("call", node, service, data))
        answer(*self.verdict)

    def set(self, node, values, answer):
        self.asked.append(("set", node, values))
        answer(*self.verdict)


def fill(feed):
    names = MODEL.joint_names
    feed.on_parameters("dynamics_node", dict(DETECTOR), whole=True)
    for k in range(100):
        t = 1.0 + 0.01 * k
        feed.on_state(t, names, Q, np.full(7, 20.0))
        feed.on_reference(t, names, Q + 0.002, np.zeros(7))
        feed.on_residual(t, names, np.full(7, 0.3 + 0.1 * (k % 2)))
    feed.on_parameters("controller_node", {"arm.controller": "pid", "arm.reaction": "reflex"})
    feed.on_detector("CLEAR", "", 0.0, "", "")


@contextlib.contextmanager
def opened(tmp_path, client):
    feed = Feed(MODEL)
    fill(feed)
    page = Page(feed, Visuals([], []), client, 8250, tmp_path)
    page.server.get_clients = lambda: {0: None}  # as if a browser were open
    try:
        page.draw()
        yield page
    finally:
        page.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("page"), Notes()) as page:
        yield page


@pytest.fixture
def page(shared):
    client = shared.controls.client
    client.asked.clear()
    client.verdict = (True, "")
    fill(shared.feed)
    shared.draw()
    return shared


def said(page):
    return page.answers._html.content


def test_a_push_has_the_force_and_direction_that_were_chosen(page):
    controls = page.controls
    controls.link.value, controls.force.value = "link_5", 40
    controls.direction.value, controls.duration.value = "−y", 0.3
    controls.push()
    first, (what, link, force, torque) = controls.client.asked
    assert first == ("set", "simulator_node", {"push_duration": 0.3})
    assert (what, link) == ("push", "link_5")
    R = rd.forward_kinematics(MODEL, Q, "link_5")[:3, :3]
    assert R @ force == pytest.approx([0.0, -40.0, 0.0])
    # At the side of the link, so that the joint before it feels it, too
    J = rd.jacobian(MODEL, Q, "link_5")
    torques = J.T @ np.concatenate([R @ force, R @ torque])
    assert abs(torques[4]) > 1.2
    assert "push link_5 with 40 N" in said(page)


def test_a_rejected_request_shows_the_reason(page):
    page.controls.client.verdict = (False, "gain must be <at least> 0.001")
    page.tuning.inputs.set("monitor.gain", [0.0])
    assert "✗" in said(page) and "gain must be &lt;at least&gt; 0.001" in said(page)


def test_a_number_sets_the_parameter_and_returns_if_rejected(page):
    tuning, client = page.tuning, page.controls.client
    gain = tuning.inputs.inputs["monitor.gain"].handle
    assert gain.value == 50.0
    tuning.scale("contact", 2.0)
    asked = client.asked[-1]
    assert asked[:2] == ("set", "dynamics_node")
    assert asked[2]["monitor.contact.base"] == [5.0, 5.0, 2.0, 2.0, 1.2, 2.0, 1.0]
    page.draw()
    assert tuning.factors["contact"].handle.value == 2.0
    tuning.set_one("collision", 6, 3.0)
    assert client.asked[-1][2]["monitor.collision.base"][5:] == [2.0, 3.0]
    client.verdict = (False, "no")
    gain.value = 90.0
    deadline = time.monotonic() + 10.0
    while gain.value != 50.0 and time.monotonic() < deadline:
        page.draw()
    assert client.asked[-1] == ("set", "dynamics_node", {"monitor.gain": [90.0]})
    assert gain.value == 50.0


def test_a_choice_is_sent_though_frames_come_before_viser_calls_back(page, monkeypatch):
    """A browser's message changes the value at once; callbacks run later, in other threads."""
    gui, later = page.server.gui, []

    class Later:
        def submit(self, callback, event):
            later.append(lambda: callback(event))
            return Future()

    monkeypatch.setattr(gui, "_thread_executor", Later())
    monkeypatch.setattr(gui, "_resolve_client", lambda client_id: "a browser")
    menu = page.laws.inputs.inputs["arm.reaction"].handle
    assert menu.value == "reflex"
    for choice in ("stop", "float", "reflex"):
        message = GuiUpdateMessage(menu._impl.uuid, {"value": choice})
        asyncio.run(gui._handle_gui_updates(0, message))
        page.draw()
        for call in later:
            call()
        later.clear()
        page.draw()
        assert menu.value == choice
    asked = [values for _, node, values in page.controls.client.asked]
    assert asked == [{"arm.reaction": choice} for choice in ("stop", "float", "reflex")]


class Box:
    """A number box without a page."""

    min, max, step, value = 0.0, 100.0, 0.5, 20.0


def test_a_number_is_sent_once_when_it_is_typed_and_does_not_jump_back_meanwhile():
    box, now, node, sent = Box(), [0.0], [20.0], []
    one = ParameterInput(box, lambda: node[0], sent.append, 0.4, lambda: now[0])
    for digit in (0.0, 0.7, 0.75):
        box.value = digit
        one.update()
        now[0] += 0.3
        one.update()
        assert (sent, box.value) == ([], digit)
    now[0] += 0.2
    one.update()
    assert sent == [0.75]
    node[0] = 0.5  # the node has its own
    one.update()
    one.update()
    assert box.value == 0.75  # within half a step
    node[0] = 33.0
    one.update()
    assert box.value == 33.0


def test_a_number_does_not_jump_back_when_an_earlier_one_is_answered(page, monkeypatch):
    answers, inputs = [], page.tuning.inputs
    monkeypatch.setattr(inputs.client, "set", lambda *asked: answers.append(asked[-1]))
    for gain in (60.0, 70.0):
        inputs.set("monitor.gain", [gain])
    for done in (True, False):
        answers.pop(0)(done, "")
        page.draw()
        assert inputs.inputs["monitor.gain"].handle.value == (70.0 if done else 60.0)


def test_every_law_reaction_answer_and_injection_can_be_chosen(page):
    inputs = page.laws.inputs.inputs
    for name, _, about in leaves(ArmSettings()):
        if about.choices and name != "disabled":
            assert inputs["arm." + name].handle.options == about.choices
    assert page.faults.kind.options == tuple(KINDS)
    owned = {"adaptive": "adaptive.law", "elastic": "elastic.measured"}
    for law, name in owned.items():
        page.feed.on_parameters("controller_node", {"arm.controller": law})
        page.draw()
        shown = {other: inputs["arm." + other].handle.visible for other in owned.values()}
        assert shown == {other: other == name for other in owned.values()}
    page.laws.inputs.set("arm.reaction", "null_space")
    assert page.controls.client.asked[-1][2] == {"arm.reaction": "null_space"}


def test_the_guard_is_shown_armed_and_told_what_to_expect(page):
    guard, asked = page.guard, page.controls.client.asked
    page.draw()
    assert "No guard_node" in guard.state.content and "guard:" not in fault_banner(page.feed)
    page.feed.on_guard("stopped", "stop failed: <x>", "collision on link_5", ["link_7 up to 20 N"])
    page.draw()
    for text in ("guard: stopped, stop failed: &lt;x&gt;", "collision on link_5", "link_7 up to"):
        assert text in guard.state.content and text in page._fault.content
    guard.arm(True)
    guard.link.value, guard.force.value = "link_6", 30.0
    guard.expect()
    guard.expect_none()
    assert asked == [
        ("call", "guard_node", "arm", True),
        ("expect", "link_6", 30.0),
        ("call", "guard_node", "expect", False),
    ]


def test_a_payload_can_be_accepted_beside_its_name(page):
    page.draw()
    assert not page._accept.visible
    page.feed.on_fault("payload", "payload of 1.5 kg", "Accept it.", True)
    page.draw()
    assert page._accept.visible
    page.feed.on_fault("", "", "", False)


def test_the_first_hint_has_three_sentences_and_goes_away(page):
    for read_only in (False, True):
        text = hint(read_only)
        assert text.count(". ") + text.count(".</div>") == 3
    assert page._hint.visible
    page.hide_hint()
    assert not page._hint.visible and not page._got_it.visible


def test_numbers_and_choices_follow_the_nodes(page):
    page.feed.on_parameters("dynamics_node", {"monitor.gain": [77.0]})
    page.draw()
    assert page.tuning.inputs.inputs["monitor.gain"].handle.value == 77.0
    assert page.laws.inputs.inputs["arm.controller"].handle.value == "pid"


def test_a_fault_is_shown_with_what_to_do_about_it(page):
    feed = page.feed
    assert 'data-kind=""' in fault_banner(feed)
    feed.on_fault("locked", "locked on <joint_4>", "Check the brake.", False)
    feed.mode, feed.reason = "SAFE_HOLD", "fault: locked on joint_4"
    feed.injected, feed.payload = ("locked on joint_4",), "1.50 kg on link_7"
    page.draw()
    shown = page._fault.content
    for text in ("&lt;joint_4&gt;", "Check the brake.", "safe hold: fault: locked", "1.50 kg"):
        assert text in shown
    assert 'data-kind="locked"' in shown and "in the simulation: locked on joint_4" in shown
    feed.on_fault("", "no fault", "", False)
    feed.mode, feed.reason, feed.injected, feed.payload = "HOLDING", "", (), ""
    assert "locked" not in fault_banner(feed)


def test_the_buttons_break_mend_and_load_a_simulated_arm(page):
    faults = page.faults
    asked = faults.client.asked
    faults.kind.value, faults.joint.value = "bias", "joint_3"
    page.draw()
    assert faults.value.value == 5.0  # the usual one
    faults.value.value = -4.5
    page.draw()  # leaves it
    faults.inject()
    bias = {"fault.kind": "bias", "fault.joint": "joint_3", "fault.value": [-4.5]}
    assert asked.pop() == ("set", "simulator_node", bias)
    faults.kind.value, faults.joint.value = "effort_sign", "all joints"
    page.draw()
    faults.inject()
    assert asked.pop()[2] == {
        "fault.kind": "effort_sign",
        "fault.joint": "",
        "fault.value": [-1.0],
    }
    faults.kind.value = "locked"
    faults.inject()
    assert not asked and "✗" in said(page)  # of all joints
    faults.mend()
    assert asked.pop() == ("set", "simulator_node", {"fault.kind": "none"})
    faults.link.value, faults.mass.value, faults.offset.value = "link_6", 2.0, 0.1
    faults.grip()
    held = {"payload.link": "link_6", "payload.mass": 2.0, "payload.com": [0.0, 0.0, 0.1]}
    assert asked.pop() == ("set", "simulator_node", held)
    faults.release()
    assert asked.pop()[2] == {"payload.mass": 0.0}
    faults.accept()
    assert asked.pop() == ("call", "dynamics_node", "accept_payload", None)


def test_motions_start_and_stop(page):
    controls = page.controls
    controls.motion.value = "demo motion"
    controls.start()
    assert controls.client.asked == [("set", "demo_node", {"active": True})]
    controls.motion.value = "to posture 0"
    controls.start()
    _, points, names = controls.client.asked[-1]
    assert names == MODEL.joint_names and points[-1].positions == pytest.approx(np.zeros(7))
    motion = rd.from_points(names, points, start=(Q + 0.002, 0 * Q, 0 * Q))
    assert rd.check_limits(MODEL, motion, qd_max=0.31 * MODEL.qd_max)[0].share < 1.0
    page.feed.on_reference(9.0, names, Q, np.full(7, 0.4))
    controls.stop()
    _, (point,), _ = controls.client.asked[-1]
    assert not any(point.velocities)
    assert point.positions == pytest.approx(Q + 0.2 * point.time_from_start)


def test_stop_also_stops_the_demo_motion(page):
    controls = page.controls
    page.feed.on_parameters("demo_node", {"active": True}, whole=True)
    controls.stop()
    del page.feed.parameters["demo_node"]
    first, (what, *_) = controls.client.asked
    assert first == ("set", "demo_node", {"active": False}) and what == "follow"


def test_clear_reset_enable_tare(page):
    controls = page.controls
    controls.clear()
    controls.reset()
    controls.enable(False)
    controls.tare()
    assert controls.client.asked == [
        ("call", "controller_node", "clear", None),
        ("call", "simulator_node", "reset", None),
        ("call", "dynamics_node", "reset", None),
        ("call", "controller_node", "enable", False),
        ("call", "dynamics_node", "tare", None),
    ]


def test_parameters_are_saved(page):
    import yaml

    page.tuning.save(None)
    (path,) = page.tuning.folder.glob("lwr_iii-*.yaml")
    read = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert read["/**/dynamics_node"]["ros__parameters"]["monitor"]["gain"] == [50.0]
    assert str(path) in said(page)


def test_clicks_of_other_threads_are_carried_out_in_the_loop(page):
    done = []
    page.run_later(lambda: done.append(1))
    assert not done
    page.draw()
    assert done == [1]
    for _ in range(10_000):  # clicks while nothing is drawn
        page.run_later(lambda: done.append(2))
    page.draw()
    assert len(done) <= 1 + 100


def test_a_read_only_page_has_no_inputs(tmp_path):
    with opened(tmp_path, None) as page:
        assert page.parts == []
        assert page.server.gui._gui_input_handle_from_uuid == {}
        assert "read-only" in said(page)


def test_the_page_with_controls_has_inputs(page):
    assert len(page.server.gui._gui_input_handle_from_uuid) > 10


def test_a_force_that_is_not_known_any_more_has_no_arrow(page):
    arrow, feed = page.scene._estimate._handle, page.feed
    feed.on_wrench("link_5", np.array([0.0, 40.0, 0.0]))
    for force, shown in ((40.0, True), (np.nan, False), (38.0, True)):
        feed.on_detector("COLLISION", "link_5", force, "joint_2", "")
        page.draw()
        assert arrow.visible == shown
    feed.on_detector("CLEAR", "", 0.0, "", "")
    page.draw()
    assert not arrow.visible


@pytest.mark.parametrize("level", ["UNKNOWN", "CLEAR", "CONTACT", "COLLISION"])
def test_the_banner_shows_level_link_and_force(level):
    feed = Feed(MODEL)
    fill(feed)
    touched = level in ("CONTACT", "COLLISION")
    feed.on_detector(level, "<b>link</b>" if touched else "", 37.6, "", "")
    text = state_banner(feed)
    assert f'data-level="{level}"' in text
    assert ("&lt;b&gt;link&lt;/b&gt; · 38 N" in text) == touched
    assert "<b>" not in text


def test_without_messages_the_state_is_unknown():
    now = [0.0]
    feed = Feed(MODEL, clock=lambda: now[0])
    fill(feed)
    assert 'data-level="CLEAR"' in state_banner(feed)
    now[0] = 0.6
    assert 'data-level="UNKNOWN"' in state_banner(feed) and "no data" in state_banner(feed)
    assert "–" in torque_bars(feed)


def test_charts_hold_every_joint_both_thresholds_and_the_noise():
    feed = Feed(MODEL)
    empty = residual_charts(feed)
    assert "polyline" not in empty and 'class="noise"' not in empty
    feed.on_detector("CLEAR", "", 0.0, "", "")
    fill(feed)
    text = residual_charts(feed)
    assert text.count("<polyline") == 7 * 5
    for dash in ("5 3", "11 4"):  # above and below, and in the key
        assert text.count(f'stroke-dasharray="{dash}"') == 7 * 2 + 1
    assert text.count('class="noise"') == 7
    assert all(name in text for name in MODEL.joint_names)
    assert error_chart(feed).count("<polyline") == 7
    assert "±2" in error_chart(feed)  # [mrad]


def test_a_residual_above_its_threshold_is_marked_not_only_coloured():
    feed = Feed(MODEL)
    fill(feed)
    assert "▲" not in residual_charts(feed)
    feed.on_residual(3.0, MODEL.joint_names, np.array([3.0, 6.0, 0, 0, 0, 0, 0]))
    assert ">▲+3.00<" in residual_charts(feed) and ">▲▲+6.00<" in residual_charts(feed)
    feed.tau = 0.9 * MODEL.tau_max
    assert torque_bars(feed).count("▲") == 7
