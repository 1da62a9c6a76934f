"""Writes models of torch, each exported at several sizes of one axis, with inputs of these sizes.

    python -m judges export_sizes --folder DIR [-k PATTERN] [--only torch,dynamo] [--seed 7]

Run it by the Python of an environment that has torch, onnxscript and onnx beside this project's dependencies. Of each
module of `judges export` whose inputs share an axis, it writes NAME-SIZE.onnx at each size in SIZES, with the same
weights, and NAME-SIZE.npz with the inputs; NAME.json says which axis of each input it is. Whether that axis is a batch
is not looked at: `python -m judges sizes` has to find out.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the models and say how many; return the exit status, 1 if there are fewer than 60."""
    parser = argparse.ArgumentParser(
        prog="python -m judges export_sizes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True, metavar="DIR", help="where the models are written")
    parser.add_argument("-k", dest="pattern", default="", help="only models whose name this is found in")
    parser.add_argument("--only", default="torch,dynamo", help="exporters, torch, dynamo")
    parser.add_argument("--seed", type=int, default=7, help="of weights and inputs")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    options.folder.mkdir(parents=True, exist_ok=True)
    from judges.exporters.sized_models import SIZES, write_all  # which imports torch

    count, failed = write_all(options.folder, options.only.split(","), options.pattern, options.seed)
    print(f"{count} models at {len(SIZES)} sizes; {len(failed)} were not exported", *failed, sep="\n  ")
    return int(count < 60)


if __name__ == "__main__":
    sys.exit(main())
