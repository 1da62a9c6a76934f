"""The pictures in docs/pictures/: a page of the site, and the page of a conversion, as Chromium shows them.

python -m tests.docgen.pictures        # writes them
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from tests.docgen.chromium import start_chromium

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pictures"
CONVERT = "convert examples/decoder_opset23.onnx --to 17 --verify -o decoder.onnx --report report.html"
PAGES = {"site": ("site/ai.onnx/Softmax.html", 800), "report": ("report.html", 1720)}
"""The page of each picture, and its height in pixels."""


def main():
    call = [sys.executable, "-m", "opset"]
    with tempfile.TemporaryDirectory() as name, start_chromium() as browser:
        folder = Path(name)
        (folder / "examples").symlink_to(ROOT / "examples")
        subprocess.run([*call, "docs", "-o", "site", "-q"], cwd=folder, check=True)
        subprocess.run([*call, *CONVERT.split()], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for picture, (path, height) in PAGES.items():
            page = browser.new_page(viewport={"width": 1280, "height": height}, color_scheme="light")
            page.goto(f"{folder.as_uri()}/{path}")
            file = FOLDER / f"{picture}.png"
            page.screenshot(path=file)
            Image.open(file).convert("RGB").quantize(64).save(file, optimize=True)


if __name__ == "__main__":
    main()
