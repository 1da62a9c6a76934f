"""The site in a browser, opened as files: search, keyboard, links, both colour schemes, a phone; and no network.

Chromium is that of the system; without one the tests are skipped.
"""

import pytest

from benchmarks.reports import layered_text
from tests.cli.commands import run
from tests.docgen.chromium import CHROMIUM, DESKTOP, PHONE, accessibility_faults, is_too_wide, start_chromium

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
    pytest.mark.xdist_group("browser"),
]
PAGES = (
    "index.html", "ai.onnx/index.html", "ai.onnx/Softmax.html", "ai.onnx/Conv.html", "ai.onnx/Cast.html",
    "ai.onnx/Pad.html", "ai.onnx/LSTM.html", "ai.onnx/Loop.html", "ai.onnx/Attention.html", "ai.onnx/Gelu.html",
    "ai.onnx/Scatter.html", "ai.onnx.ml/TreeEnsemble.html", "opsets/index.html", "opsets/ai.onnx-13.html",
    "releases.html", "types/index.html", "types/float16.html", "families/norm.html", "errors/C204.html",
    "guides/converting.html", "api.html", "runtimes/index.html", "runtimes/tensorrt.html",
)  # fmt: skip


@pytest.fixture(scope="module")
def chromium():
    with start_chromium() as browser:
        yield browser


@pytest.fixture
def opened(chromium, site_folder):
    """Open pages; afterwards, nothing was printed on the console, and nothing but files was read."""
    contexts, heard, requests = [], [], []

    def open_page(path, viewport=DESKTOP, **options):
        context = chromium.new_context(viewport=viewport, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"{site_folder.as_uri()}/{path}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert heard == []
    assert [url for url in requests if not url.startswith("file:")] == []


def options_of(page):
    page.wait_for_selector(".search-option")
    return page.eval_on_selector_all(".search-option", "all => all.map(each => each.textContent)")


def test_search_by_keyboard_alone(opened):
    page = opened("ai.onnx/Softmax.html")
    page.keyboard.press("/")
    page.keyboard.type("batch norm")
    page.wait_for_function("document.querySelector('.search-option')?.textContent.startsWith('BatchNormalization')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")  # which keeps the query in this page's own address first
    page.wait_for_url("**/ai.onnx/BatchNormalization.html")


def test_facets_are_exact_and_lead_to_the_version(opened):
    page = opened("index.html")
    page.fill("#Search", "type:bfloat16 in:13 family:activation")
    found = options_of(page)
    assert any(each.startswith("Softmax") for each in found) and not any(each.startswith("Conv") for each in found)
    page.fill("#Search", "since:13 attr:axis softmax")
    options_of(page)
    page.wait_for_function("document.querySelector('.search-option').href?.includes('Softmax.html#v13')")


def test_escape_closes_the_list(opened):
    page = opened("releases.html")
    page.fill("#Search", "conv")
    options_of(page)
    page.keyboard.press("Escape")
    assert page.locator(".search-panel").is_hidden()


def test_a_difference_is_shown_when_it_is_chosen(opened):
    page = opened("ai.onnx/Softmax.html")
    assert page.locator("#diff-1-13").is_hidden()
    page.click("a[href='#diff-1-13']")
    assert page.locator("#diff-1-13").is_visible() and page.locator("#diff-13-1").is_hidden()


def test_without_scripts_everything_but_search_works(opened):
    page = opened("ai.onnx/Softmax.html", java_script_enabled=False)
    assert page.locator("form.search").is_hidden()
    assert page.locator("#v13-attr-axis").is_visible()
    page.click("nav[aria-label='Indexes'] a:has-text('Families')")
    assert page.url.endswith("families/index.html")


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_no_page_is_wider_than_the_window(opened, viewport):
    page = opened("index.html", viewport)
    for path in PAGES:
        page.goto(_beside(page, path))
        assert not is_too_wide(page), path


def _beside(page, path):
    return page.evaluate("new URL(document.documentElement.dataset.root || './', location.href).href") + path


@pytest.mark.parametrize(("scheme", "path"), [("light", "index.html"), ("dark", "ai.onnx/Gelu.html")])
def test_pages_are_accessible(opened, scheme, path):
    """`python -m judges browser` examines pages of every kind, which takes minutes."""
    assert accessibility_faults(opened(path, color_scheme=scheme)) == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_is_accessible(opened, site_folder, scheme):
    (site_folder / "model.onnxtxt").write_text(layered_text(1))
    path = site_folder / "report.html"
    result = run("convert", site_folder / "model.onnxtxt", "--to", "13", "--plan", "--report", path)
    assert result.exit_code == 0
    page = opened("report.html", color_scheme=scheme)
    assert not is_too_wide(page) and accessibility_faults(page) == {}


def test_examples_are_a_column_on_wide_screens_alone(opened):
    def beside(viewport):
        page = opened("ai.onnx/Softmax.html", viewport)
        return page.locator(".examples").bounding_box()["x"] > page.locator("#v13").bounding_box()["x"] + 100

    assert beside(DESKTOP) and not beside(PHONE)


def test_print_leaves_out_what_is_for_the_screen(opened):
    page = opened("ai.onnx/Softmax.html")
    page.emulate_media(media="print")
    assert page.locator("header.top").is_hidden() and page.locator("#v13").is_visible()
