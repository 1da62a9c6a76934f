"""Checks models that are valid: every node test, the models that onnx ships, examples, graphs as exporters write them.

    python -m judges clean [--archive DIR] [--folder DIR]… [--to OPSET]…

`--archive` adds the cases that released onnx packages shipped, `--folder` models of yours. An error is a false alarm,
unless the model is in DECIDED; warnings are counted by code. With `--to`, each model without errors is also converted
to these opsets, and the results must have no errors. The exit status is 1 if there is a false alarm.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import opset
from judges.conformance.archive import archived_cases
from judges.conformance.matrix import node_cases
from judges.conformance.models import GROUPS, cases_of
from opset.errors import CODES, ConversionError, Finding, OpsetError

DECIDED = {
    r"test_(PixelShuffle|operator_repeat(_dim_overflow)?)@1\.2\.1": "Constant 1 holds floats, and they hold int64",
    r"test_mod_float_mixed_sign_example@1\.5\.0": "Mod 10 has fmod=1 for floats, and the case has 0",
    r"test_group_normalization_\w+@1\.13\.0": "GroupNormalization 18 was withdrawn by a later release",
    r"test_softplus(_example)?_expanded@1\.13\.0": "the body imports opset 1, whose Add does not broadcast so",
    r".*dynamo[-/](conv2d|pad)_circular-18(-\d+)?": "Pad has mode wrap from version 19 on",
    r".*torch[-/]bfloat16-11(-\d+)?": "Cast has bfloat16 from version 13 on",
    r".*torch[-/]scatter_most-17(-\d+)?": "ScatterElements has reduction max from version 18 on",
    r".*skl2onnx[-/]one_vs_one-\d+(-\d+)?": "the output label is stated as [?], and ArgMax makes it [?, 1]",
    r".*skl2onnx[-/]knn_imputer-\d+(-\d+)?": "Clip takes a scalar as min, and its min has shape [1]",
}
"""Models that break the specification: patterns of their names without suffix, with the reasons."""


def models(archive: Path | None, folders: Sequence[Path]) -> Iterator[tuple[str, Any]]:
    """Yield the models with their names."""
    yield from ((case.name, case.model) for case in node_cases())
    for group in GROUPS:
        if group != "light-drawn":
            yield from ((case.name, case.model) for case in cases_of(group))
    if archive is not None:
        yield from ((case.name, case.model) for case in archived_cases(archive))
    for folder in folders:
        yield from ((str(path), path) for path in sorted(folder.rglob("*.onnx")))


def errors_of(model: Any, warnings: Counter[str]) -> list[Finding]:
    """Return the errors of a model, and count the codes of its warnings."""
    try:
        findings = opset.check(model)
    except OpsetError as error:
        findings = error.finding_list
    warnings.update({finding.code for finding in findings if finding.severity != "error"})
    return [finding for finding in findings if finding.severity == "error"]


def faulty_results(model: Any, opsets: Sequence[int], counts: Counter[str]) -> Iterator[str]:
    """Yield what is wrong with the results of a model's conversions to these opsets; results are counted."""
    for target in opsets:
        try:
            result = opset.convert(model, target)
        except ConversionError:
            counts["refused"] += 1
            continue
        counts["converted"] += 1
        if errors := errors_of(result, Counter()):
            yield f"to {target}: {errors[0]}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the false alarms and the warnings by code; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges clean", description=about)
    parser.add_argument("--archive", type=Path, help="cases that the tool archive fetched")
    parser.add_argument("--folder", type=Path, action="append", default=[], help="models of yours; may be repeated")
    parser.add_argument("--to", type=int, action="append", default=[], metavar="OPSET", help="check results, too")
    options = parser.parse_args(arguments)
    count = wrong = decided = 0
    warnings: Counter[str] = Counter()
    results: Counter[str] = Counter()
    for name, model in models(options.archive, options.folder):
        count += 1
        errors = errors_of(model, warnings)
        if errors and any(re.fullmatch(pattern, name.removesuffix(".onnx")) for pattern in DECIDED):
            decided += 1
        elif errors:
            wrong += 1
            print(f"{name}: {errors[0]}", flush=True)
        else:
            for fault in faulty_results(model, options.to, results):
                wrong += 1
                print(f"{name} {fault}", flush=True)
    print(f"{count:,} models, {wrong} false alarms, {decided} that break the specification")
    if options.to:
        print(f"{results['converted']:,} results of conversions checked; {results['refused']:,} were refused")
    print("\n".join(f"  {code} {CODES[code]}: {number} models" for code, number in warnings.most_common()))
    return int(wrong > 0)
