"""A headless Chromium for tests and pictures; it connects to the page only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",  # WebGL without a graphics card,
    "--enable-unsafe-swiftshader",
    "--disable-gpu-rasterization",  # but nothing else through it: that would be far slower
    "--disable-gpu-compositing",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Collects every state that the banner ever shows, however short
WATCH = """
() => {
  window.states = [];
  const look = () => {
    const banner = document.getElementById('robodyn-state');
    const level = banner ? banner.dataset.level : '';
    if (level && window.states[window.states.length - 1] !== level) window.states.push(level);
  };
  new MutationObserver(look).observe(
    document.body, {subtree: true, childList: true, attributes: true, characterData: true});
  look();
}
"""


@contextmanager
def live_page(*options: str) -> Iterator[str]:
    """Run `robodyn view` as a process; yields its address."""
    command = [sys.executable, "-m", "robodyn_ros.cli", "view", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    try:
        line = process.stdout.readline()
        assert line.startswith("live page: "), line
        yield line.split()[-1]
    finally:
        process.terminate()
        rest, _ = process.communicate(timeout=20)
    assert process.returncode == 0, rest


@contextmanager
def window(url: str, width: int, height: int) -> Iterator[tuple]:
    """Open a browser window; yields the page and the list of requests to other hosts."""
    from playwright.sync_api import sync_playwright

    outside: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        page = browser.new_page(viewport={"width": width, "height": height})

        def admit(route):
            if route.request.url.startswith((url, "data:", "blob:")):
                route.continue_()
            else:
                outside.append(route.request.url)
                route.abort()

        def hear(message):
            if "Content Security Policy" in message.text:
                outside.append(message.text)

        page.route("**/*", admit)
        page.on("console", hear)
        page.on(
            "websocket",
            lambda ws: outside.append(ws.url) if ws.url[2:] not in url + "/" else None,
        )
        page.goto(url, timeout=120_000)
        page.wait_for_selector("#robodyn-state", state="attached", timeout=120_000)
        page.evaluate(WATCH)
        yield page, outside
        browser.close()
