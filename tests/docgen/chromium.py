"""Pages in the Chromium of the system: opened, examined by axe, and photographed."""

import shutil
from contextlib import contextmanager

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
DESKTOP, PHONE = {"width": 1400, "height": 900}, {"width": 390, "height": 844}


@contextmanager
def start_chromium():
    """Yield a browser without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def is_too_wide(page):
    """Whether a page is wider than its window, so that all of it moves sideways."""
    return page.evaluate("document.documentElement.scrollWidth > window.innerWidth")


def accessibility_faults(page, colors_alone=False):
    """Return the first elements that break each rule of axe, by the rule; `colors_alone` examines contrast only."""
    # Style sheets that it reads again are requests that a page from a file may not make.
    options = {"preload": False}
    if colors_alone:
        options["runOnly"] = {"type": "rule", "values": ["color-contrast"]}
    violations = Axe().run(page, options=options).response["violations"]
    return {each["id"]: [node["html"][:200] for node in each["nodes"][:2]] for each in violations}
