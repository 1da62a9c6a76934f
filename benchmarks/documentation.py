"""Measures the documentation of all operators in each form, beside the Markdown that the onnx package makes of its own.

    python -m benchmarks.documentation [--runs 5]

Every run is a process of its own, with its start-up in the time; a time is the median of the runs, a memory the highest
resident set. The exit status is 1 when the site takes more than 8 seconds or 12.2 MB.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.speed import compiled_once, run, summary
from opset.docgen import FORMS

SECONDS, MEGABYTES = 8.0, 12.2
ONNX = """
import sys, warnings
warnings.simplefilter("ignore")
from onnx.defs import gen_doc
gen_doc.ONNX_ML = True
gen_doc.main(gen_doc.Args(sys.argv[1] + "/Operators.md", sys.argv[1] + "/Changelog.md"))
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print the report; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.documentation", description=about)
    parser.add_argument("--runs", type=int, default=5, metavar="N")
    options = parser.parse_args(arguments)
    commands = {form: ["-m", "opset", "docs", "--format", form, "-q", "-o"] for form in FORMS}
    missed, peer = False, 0.0
    print(f"medians of {options.runs} runs")
    print(f"{'form':<10} {'seconds':>8} {'of onnx':>8} {'MB':>6} {'files':>6} {'written':>8} {'largest':>8}")
    with tempfile.TemporaryDirectory() as folder, compiled_once():
        for form, command in ({"onnx": ["-c", ONNX]} | commands).items():
            output = Path(folder, form)
            output.mkdir()
            found = summary([run([sys.executable, *command, str(output)]) for _ in range(options.runs)])
            if found.failure:
                print(f"{form:<10} fails: {found.failure[-80:]}")
                missed |= form != "onnx"
                continue
            peer = peer or found.seconds
            sizes = [path.stat().st_size / 1e6 for path in output.rglob("*") if path.is_file()]
            missed |= form == "html" and (found.seconds > SECONDS or sum(sizes) > MEGABYTES)
            print(
                f"{form:<10} {found.seconds:>8.2f} {found.seconds / peer:>8.2f} {found.megabytes:>6.0f} {len(sizes):>6}"
                f" {sum(sizes):>5.1f} MB {max(sizes):>5.2f} MB"
            )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
