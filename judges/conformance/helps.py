"""Takes the help of refusals at its word: does what it says, and looks whether the reason is gone.

    python -m judges helps [--targets 7,9,12,18] [--cases REGEX] [--every N] [--folder DIR]

The models are the node cases of the onnx package, or those in a folder. Helps that a program can follow are followed:
another target, sizes, constants in place of what may be overridden or is computed, functions that are inlined. All
others are counted. The exit status is 1 where a refusal has no help, or one that does not help.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx import numpy_helper

import opset
from judges.conformance.folder import folder_cases
from judges.conformance.judge import Case, opset_of
from judges.conformance.matrix import node_cases, versions
from opset.errors import Finding, OpsetError

MALFORMED = ("C1", "M", "C3", "C4")
"""Codes of models that are wrong in themselves, and of limits: no other target helps."""
Follow = Callable[[Case, int, Finding, re.Match[str]], Sequence[Finding]]
"""Converts a case again in the way that a help says; the refusals of that."""


def refusals(model: onnx.ModelProto, to: Any, **options: Any) -> Sequence[Finding]:
    """Return why a conversion is refused, nothing where it is done."""
    try:
        opset.convert(model, to, **options)
    except OpsetError as error:
        return error.findings
    return ()


def another_target(case: Case, to: int, finding: Finding, match: re.Match[str]) -> Sequence[Finding]:
    """Convert to the version that a help names."""
    domain, version = match["domain"] or "", int(match["version"])
    return refusals(case.model, {domain: version})


def with_sizes(case: Case, to: int, finding: Finding, match: re.Match[str]) -> Sequence[Finding]:
    """Convert with the sizes of the inputs of the case."""
    dims = {}
    model = copy_of(case.model)
    for value in model.graph.input:
        given = getattr(case.feeds.get(value.name), "shape", ())
        for dim, size in zip(value.type.tensor_type.shape.dim, given, strict=False):
            if dim.dim_param:
                dims[dim.dim_param] = size
            elif dim.WhichOneof("value") is None:
                dim.dim_value = size  # what has no name gets one in an editor
    return refusals(model, to, dims=dims)


def frozen(case: Case, to: int, finding: Finding, match: re.Match[str]) -> Sequence[Finding]:
    """Convert with initializers that nobody may override."""
    return refusals(case.model, to, freeze=re.findall(r"--freeze (\S+)", finding.help))


def initialized(case: Case, to: int, finding: Finding, match: re.Match[str]) -> Sequence[Finding]:
    """Convert with inputs as initializers."""
    model = copy_of(case.model)
    for value in [*model.graph.input]:
        given = case.feeds.get(value.name)
        if getattr(given, "dtype", None) is not None and f"'{value.name}'" in finding.why:
            model.graph.initializer.append(numpy_helper.from_array(given, value.name))
            model.graph.input.remove(value)
    return refusals(model, to)


def inlined(case: Case, to: int, finding: Finding, match: re.Match[str]) -> Sequence[Finding]:
    """Convert without functions."""
    return refusals(opset.inline_functions(case.model), to)


FOLLOWED: tuple[tuple[str, Follow], ...] = (
    (r"convert to (?:(?P<domain>[a-z.]+) )?(?P<version>\d+) or (?:newer|older)", another_target),
    (r"--dim NAME=N", with_sizes),
    (r"--freeze \S+", frozen),
    (r"make (?:it|each) an initializer", initialized),
    (r"^inline the function", inlined),
)


def copy_of(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy of a model."""
    copied = onnx.ModelProto()
    copied.CopyFrom(model)
    return copied


def examined(case: Case, to: int) -> Iterator[tuple[str, Finding]]:
    """Yield each refusal of a conversion with what becomes of its help: true, untrue, none, or not followed.

    A help may name several ways, of which each that is followed has to help.
    """
    for finding in refusals(case.model, to):
        if finding.code.startswith(MALFORMED):
            continue
        ways = [(follow, match) for pattern, follow in FOLLOWED if (match := re.search(pattern, finding.help))]
        left = [
            any((each.place, each.code) == (finding.place, finding.code) for each in follow(case, to, finding, match))
            for follow, match in ways
        ]
        if not finding.help:
            yield "none", finding
        elif not ways:
            yield "not followed", finding
        else:
            yield "untrue" if any(left) else "true", finding


def main(arguments: Sequence[str] | None = None) -> int:
    """Follow the helps, print those that do not help; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges helps", description=about)
    parser.add_argument("--targets", type=versions, default=versions("7,9,12,18"), help="opsets, such as 7-12,18")
    parser.add_argument("--cases", default="", metavar="REGEX", help="only node cases whose name this is found in")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each Nth case")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="the models below this folder")
    options = parser.parse_args(arguments)
    cases = [*folder_cases(options.folder)] if options.folder else node_cases(options.cases)
    counts: Counter[str] = Counter()
    shown: set[tuple[str, str]] = set()
    for case in cases[:: options.every]:
        for to in options.targets:
            if to >= (opset_of(case.model) or 0):
                continue
            for kind, finding in examined(case, to):
                counts[kind] += 1
                if kind in ("untrue", "none") and (finding.why, finding.help) not in shown:
                    shown.add((finding.why, finding.help))
                    print(f"{kind}: {case.name} -> {to}: {finding.code} {finding.why} | {finding.help}")
    print(", ".join(f"{kind}: {count:,}" for kind, count in counts.most_common()) or "nothing is refused")
    return int(bool(counts["untrue"] or counts["none"]))
