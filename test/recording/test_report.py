"""The report of a recording: one small file, opened in a real browser without network."""

import json
import re
import shutil

import numpy as np
import pytest
from recording_cases import MODEL, motion, write_bag

from robodyn_ros.detection.monitor_rows import Rows
from robodyn_ros.detection.monitor_settings import MonitorSettings, ThresholdSettings
from robodyn_ros.html_page import table
from robodyn_ros.recording.command import AnalysisOptions, analysed, save_report
from robodyn_ros.recording.figures import thinned
from robodyn_ros.recording.node_yaml import NodeParameters
from robodyn_ros.recording.offline import Detection, detect
from robodyn_ros.recording.report import report
from robodyn_ros.recording.run import Run
from robodyn_ros.recording.tuning import SCALES, tune
from robodyn_ros.sensing.sampler import Samples, sample_rows

pytest.importorskip("rosbags")
pytest.importorskip("plotly")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SIZE_LIMIT = 8e6  # [bytes]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    out = folder / "report.html"
    with analysed(AnalysisOptions(write_bag(folder / "run<1>"), robot="lwr_iii")) as answer:
        save_report(answer, out)
    return out


def test_thinning_keeps_every_peak():
    x = np.random.default_rng(2).normal(size=100_003)
    rows = thinned(x, 500)
    assert rows.size <= 1002 and (np.diff(rows) > 0).all()
    assert {0, x.size - 1, int(x.argmax()), int(x.argmin())} <= set(rows.tolist())
    edges = np.linspace(0, x.size, 501).astype(int)
    for a, b in zip(edges, edges[1:], strict=False):
        kept = x[rows[(rows >= a) & (rows < b)]]
        assert kept.max() == x[a:b].max() and kept.min() == x[a:b].min()
    assert thinned(x[:800], 500).size == 800


def test_ten_minutes_at_1_khz_are_below_8_mb():
    rng = np.random.default_rng(1)
    t = 1e-3 * np.arange(600_000)
    noise = rng.normal(size=(t.size, MODEL.n))
    zeros = np.zeros(t.size, np.int64)
    samples = Samples(t, np.full(t.size, 1e-3), noise, noise, noise, zeros, zeros, {})
    run = Run("long", samples, "joint_states", reference=(t, noise))
    settings = motion_settings()
    rows = Rows(
        noise, noise, zeros + 1, 0.0 * t, np.zeros(noise.shape, bool), noise, 0.0 * t, noise
    )
    found = Detection(MODEL, settings, samples, rows)
    # Thresholds that depend on the motion make the longest lines
    short = Run("short", sample_rows(MODEL, *motion(duration=4.0, touches=())[:4]), "joint_states")
    seen = detect(MODEL, short.samples, settings, certain=True)
    text = report(run, found, tune(short, seen), [], NodeParameters({}, "", settings), "")
    assert len(text.encode()) < SIZE_LIMIT


def motion_settings():
    limits = ThresholdSettings((1.0,), (0.5,), (0.3,), (0.1,))
    return MonitorSettings(contact=limits, collision=limits)


def test_names_cannot_break_the_page(page):
    text = page.read_text()
    assert "<h1>run&lt;1&gt;</h1>" in text
    assert "<b>" not in table(("a",), [("<b>",)])
    data = re.search(r'id="trials">(.*?)</script>', text, re.DOTALL)[1]
    assert len(json.loads(data)["trials"]) == SCALES.size


def test_the_page_has_all_sections(page):
    text = page.read_text()
    parts = (
        "Residual",
        "Events",
        "Causes of contacts",
        "Suggested thresholds",
        "Tracking",
        "Torque",
    )
    for part in (*parts, "lwr_iii", "runner-up"):
        assert part in text
    assert text.count("COLLISION</td>") == 2
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="http', text)


@pytest.fixture
def opened(page):
    """The page in a browser that may open files only; other requests, and error messages."""
    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    requests, errors = [], []

    def guard(route):
        if route.request.url.startswith(("file:", "data:", "blob:")):
            route.continue_()
        else:
            requests.append(route.request.url)
            route.abort()

    with sync_api.sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        try:
            sheet = browser.new_page(viewport={"width": 1300, "height": 2000})
            sheet.route("**/*", guard)
            sheet.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
            sheet.on("pageerror", lambda error: errors.append(str(error)))
            sheet.goto(page.as_uri())
            sheet.wait_for_selector("#residual .main-svg")
            yield sheet, requests, errors
        finally:
            browser.close()


def test_the_page_works_offline_in_a_browser(opened):
    sheet, requests, errors = opened
    drawn = sheet.evaluate("document.querySelectorAll('.js-plotly-plot').length")
    assert drawn == 5
    buttons = sheet.evaluate(
        "[...document.querySelectorAll('.modebar-btn')].map(b => b.dataset.title ?? '')"
    )
    assert buttons and not [b for b in buttons if re.search("cloud|send|share", b, re.I)], buttons
    rows = sheet.evaluate(
        "Object.keys(document.getElementById('residual')._fullLayout)"
        ".filter(k => /^yaxis/.test(k)).length"
    )
    assert rows == MODEL.n

    def limit():
        return sheet.evaluate(
            "(() => { const p = document.getElementById('residual');"
            " return p.data.filter(d => d.name === 'suggested contact')[0].y[0]; })()"
        )

    def base():
        return re.search(r"base: \[([\d.]+)", sheet.inner_text("#yaml"))[1]

    base_before, line_before, summary = base(), limit(), sheet.inner_text("#chosen")
    assert "0 false alarms per hour, 2 of 2 contacts detected" in summary
    sheet.locator("#scale").focus()
    for _ in range(20):
        sheet.keyboard.press("ArrowLeft")
    lower = limit()
    assert float(base()) < float(base_before) and lower < line_before
    assert sheet.inner_text("#chosen") != summary
    sheet.click("button[data-trial]:first-of-type")
    assert base() == base_before and limit() == pytest.approx(line_before)
    sheet.click("#copy")
    sheet.wait_for_function("document.getElementById('copy').textContent === 'copied'")
    copied = sheet.evaluate("getSelection().toString()")
    assert copied.strip() == sheet.inner_text("#yaml").strip()
    assert requests == [] and errors == []
