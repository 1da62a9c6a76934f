"""Opens pages of the site and of reports in Chromium: is every one accessible, as wide as the window, and silent?

    python -m judges browser --seed 1 --count 40 [--pictures DIR]

Sixteen pages of the site, others drawn by the seed, and a report of each kind are opened at 1280 and 390 pixels in the
light and in the dark scheme. A fault is what a rule of axe finds, a page that is wider than its window, a message on
the console, and a request for anything but a file. `--pictures` keeps a picture of the first screen of each page.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.docgen.chromium import CHROMIUM, accessibility_faults, is_too_wide, start_chromium

ROOT = Path(__file__).parents[2]
WINDOWS = ((1280, 900), (390, 844))
ALWAYS = (
    "index.html", "ai.onnx/index.html", "ai.onnx/Softmax.html", "ai.onnx/Resize.html", "ai.onnx/LSTM.html",
    "ai.onnx/Scatter.html", "ai.onnx.ml/TreeEnsemble.html", "opsets/ai.onnx-13.html", "releases.html",
    "types/index.html", "types/float16.html", "errors/C204.html", "guides/converting.html", "api.html",
    "runtimes/tensorrt.html", "runtimes/onnxruntime-xnnpack.html",
)  # fmt: skip
"""A page of each template, and of each kind of parts that they have."""
DECODER, SEARCH, TAGGER = (
    f"{ROOT}/examples/{name}.onnx" for name in ("decoder_opset23", "search_opset12", "tagger_opset11")
)
REPORTS = {
    "convert": f"convert {DECODER} --to 17 --verify -o decoder.onnx",
    "refused": f"convert {SEARCH} --to 5",
    "many": f"convert {ROOT}/examples --to 9 --plan",
    "lower": f"lower {DECODER} --ops Attention -o lowered.onnx",
    "inline": f"inline {DECODER} -o inlined.onnx",
    "check": f"check {ROOT}/examples",
    "blockers": f"blockers {SEARCH} --to 5",
    "infer": f"infer {SEARCH} --values",
    "verify": f"verify {DECODER} decoder.onnx",
    "different": f"verify {TAGGER} other.onnxtxt",
    "diff": f"diff {DECODER} decoder.onnx",
    "breaking": f"breaking {ROOT}/examples --schemas {ROOT}/examples --no-examples",
}
"""The calls whose reports are opened."""


def write_pages(folder: Path, seed: int, count: int) -> list[str]:
    """Write the site and the reports into a folder; return the paths of the pages to open."""
    call = [sys.executable, "-m", "opset"]
    subprocess.run([*call, "docs", "-o", "site", "-q"], cwd=folder, check=True)
    text = subprocess.run([*call, "text", TAGGER], cwd=folder, check=True, capture_output=True, text=True).stdout
    (folder / "other.onnxtxt").write_text(text.replace("largest: int = 1", "largest: int = 0"), encoding="utf-8")
    for name, words in REPORTS.items():
        subprocess.run([*call, *words.split(), "--report", f"{name}.html"], cwd=folder, capture_output=True)
    reports = [name for name in (f"{each}.html" for each in REPORTS) if (folder / name).exists()]
    pages = sorted(str(path.relative_to(folder)) for path in (folder / "site").rglob("*.html"))
    first = [f"site/{name}" for name in ALWAYS]
    others = random.Random(seed).sample([each for each in pages if each not in first], max(0, count - len(first)))
    return [*reports, *first, *others]


def faults_of(page: Any, address: str, heard: list[str]) -> Iterator[str]:
    """Yield the faults of a page, which is opened; `heard` collects messages and requests."""
    heard.clear()
    page.goto(address)
    if is_too_wide(page):
        yield "wider than the window"
    for rule, elements in accessibility_faults(page).items():
        yield f"{rule}: {' '.join(elements)}"
    yield from heard


def main(arguments: Sequence[str] | None = None) -> int:
    """Open the pages, and print faults and counts; return the exit status."""
    parser = argparse.ArgumentParser(prog="judges browser", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--count", type=int, default=40, help="how many pages of the site are opened")
    parser.add_argument("--pictures", type=Path, help="a folder for pictures of the first screens")
    options = parser.parse_args(arguments)
    if CHROMIUM is None:
        print("there is no Chromium", file=sys.stderr)
        return 2
    faults = opened = 0
    with tempfile.TemporaryDirectory() as name, start_chromium() as browser:
        folder = Path(name)
        paths = write_pages(folder, options.seed, options.count)
        for width, height in WINDOWS:
            for scheme in ("light", "dark"):
                context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
                page, heard = context.new_page(), []
                page.on("console", lambda message, heard=heard: heard.append(message.text))
                page.on("pageerror", lambda error, heard=heard: heard.append(str(error)))
                page.on("request", lambda asked, heard=heard: asked.url.startswith("file:") or heard.append(asked.url))
                for path in paths:
                    opened += 1
                    for fault in faults_of(page, f"{folder.as_uri()}/{path}", heard):
                        faults += 1
                        print(f"{path}, {width} px, {scheme}: {fault}", flush=True)
                    if options.pictures:
                        options.pictures.mkdir(parents=True, exist_ok=True)
                        picture = f"{path.removesuffix('.html').replace('/', '_')}_{width}_{scheme}.png"
                        page.screenshot(path=str(options.pictures / picture))
                context.close()
    print(f"{len(paths)} pages ({len(REPORTS)} reports asked), opened {opened} times; {faults} faults")
    return int(faults > 0 or len([each for each in paths if "/" not in each]) < len(REPORTS))


if __name__ == "__main__":
    sys.exit(main())
