"""Shows how far what lowerings compute is from the kernels of the operators, in units of the last digit (ulp).

    python -m judges lowerings [-k PATTERN] [--targets 21,17,13,11,9,7] [-v] [--write]

Each example and node case of an operator that can be lowered is converted to targets that lack the operator, and the
evaluator of this project runs both. The table has the greatest difference by element type: in ulp of the expected
value, or of the largest value around it where sums cancel (marked ~). `--write` makes docs/lowerings.md of all
operators (4 minutes); set OPENBLAS_CORETYPE=Haswell for it, since products are summed in another order on other
processors. The exit status is 1 where a difference is above ULP, a shape or type is another one, or NaN or
an infinity stands where none is expected.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import onnx

import opset
from judges.conformance.bodies import REGISTRY, outputs_of, uses
from judges.conformance.judge import RANDOM
from judges.conformance.validity import faults
from opset.opsets.registry import default_registry
from opset.reference.comparison import ulps
from opset.schemas.model import OpSchema
from opset.version_converter import convert_model
from opset.version_converter.routes import RouteStep, routes_of
from opset.version_converter.targets import Target

ULP = 6
PAGE = Path(__file__).parents[2] / "docs" / "lowerings.md"
HEAD = """# How exact lowerings are

An operator that the target lacks is expressed by older ones (see [Converting](converting.md)). This page shows how far
the results are from those of the operator itself, by the reference kernels of both, in units of the last digit (ulp) of
the type of the output; 0 is the same to the last bit. Each is the greatest difference over all examples of the
operator's YAML and all node cases of the standard that are converted to that opset. Where sums cancel, the unit is that
of the largest value around (marked ~), as the last digits are then those of rounding alone.

An empty cell is an opset that has the operator, "refused" one to which no case of the type is converted (see
[What is refused](refused.md)). A difference above {most} ulp is an error of ours.

## To a few ulp

{others}

## Exact

The same to the last bit in all cases: their number for each type, and the opsets.

{exact}

## What is no number

NaN, an infinity, the greatest, the least and the smallest number or -0.0 in one sample of a batch changes no other
sample, to the last bit, and the sample itself becomes what the kernel makes of it, but for these:

{special}
"""


class Special(NamedTuple):
    """Operators and poisons (regular expressions of both) for which a sample that is poisoned may differ, and why."""

    operators: str
    poisons: str
    what: str
    why: str


EXTREME = r"^(onnxruntime: )?([+-]inf|greatest|least|NaN)"
LARGE = r"^(onnxruntime: )?(greatest|least)"
ZERO = r"^(onnxruntime: )?(-0|subnormal)"
OF_NO_SAMPLE = "(?!)"
"""What no sample of a batch is poisoned with: the page tells of it, and nothing that is found is excused by it."""
SPECIAL: tuple[Special, ...] = (
    Special(
        "Attention",
        EXTREME + r" in (an element of )?([QK]|input_[01])$",
        "NaN, infinities, and numbers near the greatest, of queries and keys",
        "A mask of floats is added to scores, also where a window or the number of keys excludes them, which are one "
        "mask below 24 and 25: NaN and an infinity stay there. The kernel writes over them.",
    ),
    Special(
        "Attention",
        LARGE + r" in (an element of )?(V|input_2)$",
        "numbers near the greatest among values",
        "The weights of values sum up to 1 but for rounding. Whether the sum of their products overflows depends on "
        "the order, which libraries choose by processor.",
    ),
    Special(
        "DFT|STFT",
        ".*",
        "NaN, infinities, numbers near the greatest, and signs of zeros",
        "Every element is multiplied by a table, also by 0. The kernel transforms fast, and leaves out products with "
        "0, and imaginary parts that are 0 by symmetry: there it has a number, and NaN is here.",
    ),
    Special(
        "Det",
        ".*",
        "NaN, infinities, numbers near the greatest or 0",
        "The first row is expanded. The kernel eliminates, which overflows and cancels at other places: one may be NaN "
        "or 0 where the other is infinite, or the rounding error of a 0.",
    ),
    Special(
        "BatchNormalization",
        EXTREME,
        "infinities and numbers near the greatest as scale, in training",
        "The normal values are multiplied by the scale, as the standard writes it. The kernel and runtimes divide the "
        "scale by the deviation first, and subtract its product with the mean, which may be infinite.",
    ),
    Special("Dropout", ".*", "all, in training", "Which elements are dropped is drawn at random, by another operator."),
    Special(
        "ReduceMean",
        LARGE,
        "numbers near the greatest",
        "A mean of means is finite where the sum of all elements is not.",
    ),
    Special(
        "TopK",
        "NaN",
        "NaN, of the smallest elements",
        "They are the largest of the negated ones, and NaN comes first in both. The standard says nothing of NaN.",
    ),
    Special("AffineGrid|Resize", ZERO, "zeros", "A sum of products that are all -0.0 is one, and 0 in the kernel."),
    Special(
        "Resize",
        LARGE,
        "numbers near the greatest",
        "Weights of the cubic kernel are above 1 and below 0. Whether their sums overflow depends on the order.",
    ),
    Special("Clip", ZERO, "-0.0 beside a bound of 0", "Which of two equal zeros is taken is not defined."),
    Special(
        "Range",
        OF_NO_SAMPLE,
        "int64, if the limit less the start needs more than 64 bits",
        "The difference wraps around, as it does in runtimes, and the number of elements is another one. The kernel "
        "computes it exactly. If start and limit are constants, the number is exact if the step is one, too, and "
        "refused (C204) if not.",
    ),
)
"""What judges.conformance.poisoned finds, and is inherent; the page has a row for each."""


def special(operator: str, poison: str) -> str:
    """Return why an operator may differ in a poisoned sample, "" where it may not."""
    rows = (row for row in SPECIAL if re.fullmatch(row.operators, operator) and re.search(row.poisons, poison))
    return next((row.why for row in rows), "")


class Worst(NamedTuple):
    """The greatest difference of outputs of one type, "~" if it is in units of the largest value, and the cases."""

    ulp: float = 0.0
    mark: str = ""
    cases: int = 0

    def __str__(self) -> str:
        return f"{self.mark}{round(self.ulp, 1):g}"


def lowered() -> Iterator[tuple[OpSchema, ...]]:
    """Yield the versions of each operator that can be lowered."""
    routes = routes_of(default_registry())
    for domain in REGISTRY.domains:
        for name in REGISTRY.operators(domain):
            versions = REGISTRY.versions(name, domain)
            since = versions[0].since_version
            if since > 1 and isinstance(routes.step(domain, name, since, since - 1), RouteStep):
                yield tuple(versions)


def relative(expected: Any, actual: Any) -> float:
    """Return the greatest difference in ulp of the largest finite value: what rounding leaves where sums cancel."""
    if not isinstance(expected, np.ndarray) or not expected.size:
        return 0.0
    with np.errstate(all="ignore"):
        wide = expected.astype(np.float64), actual.astype(np.float64)
        finite = np.isfinite(wide[0]) & np.isfinite(wide[1])
        largest = np.abs(wide[0][finite]).max(initial=0.0).astype(expected.dtype)
        return float(np.abs(wide[0] - wide[1])[finite].max(initial=0.0) / np.float64(np.spacing(largest)))


class Row(NamedTuple):
    """What the cases of an operator gave at one target."""

    found: dict[str, Worst]
    refused: int
    wrong: list[str]


def row(versions: Sequence[OpSchema], target: int) -> Row:
    """Return how far the cases of an operator are from its kernel at a target, and what is wrong."""
    refused = 0
    found: dict[str, Worst] = {}
    wrong = []
    for use in (use for schema in versions for use in uses(schema, ("examples", "node"))):
        try:
            made = convert_model(opset.load(use.model), Target({versions[0].domain: target}), REGISTRY)
        except Exception as error:
            wrong.append(f"{use.name}: {type(error).__name__}: {error}")
            continue
        if made.model is None:
            refused += 1
            continue
        given, result = (onnx.ModelProto.FromString(each.SerializeToString()) for each in (use.model, made.model))
        if invalid := faults(result, given):
            wrong.append(f"{use.name}: {'; '.join(invalid)}")
            continue
        expected, actual = outputs_of(use, use.model), outputs_of(use, made.model.proto)
        if isinstance(expected, str) or isinstance(actual, str):
            wrong.append(f"{use.name}: {actual}")
            continue
        seen = set()
        for want, have in zip(expected, actual, strict=True):
            why, ulp = ulps(want, have)
            mark = ""
            if not why and ulp > ULP and (want.dtype.kind == "f" or want.dtype == ml_dtypes.bfloat16):
                ulp, mark = relative(want, have), "~"
            if why or ulp > ULP:
                wrong.append(f"{use.name}: {why or f'{ulp:.1f} ulp'}")
            key = str(getattr(want, "dtype", "sequence")).replace("object", "string")
            before = found.get(key, Worst())
            found[key] = Worst(*max((ulp, mark), before[:2]), before.cases + (key not in seen))
            seen.add(key)
    return Row(found, refused, wrong)


def cells(name: str, rows: Mapping[int, Row], targets: Sequence[int]) -> Iterator[list[str]]:
    """Yield the cells of a row of the table for each type of an operator's outputs."""
    for kind in sorted({kind for each in rows.values() for kind in each.found}):
        found = {target: each.found.get(kind) for target, each in rows.items()}
        cases = max(each.cases for each in found.values() if each is not None)
        yield [name, kind, str(cases), *("" if at not in found else str(found[at] or "refused") for at in targets)]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(each)} |" for each in (head, ["---"] * len(head), *rows))


def page(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return the page of these rows of the table."""
    exact, others = [], []
    for name, group in groupby(rows, lambda row: row[0]):
        of_types = [*group]
        if any(cell not in ("", "refused", "0") for row in of_types for cell in row[3:]):
            others += of_types
            continue
        types = []
        for _, kind, cases, *apart in of_types:
            at = [target for target, ulp in zip(head[3:], apart, strict=True) if ulp == "0"]
            types.append(f"{kind}: {cases} at {at[-1] if len(at) == 1 else f'{at[-1]}-{at[0]}'}")
        exact.append([name, "; ".join(types)])
    return HEAD.format(
        most=ULP, others=table(head, others), exact=table(["operator", "cases at opsets"], exact), special=specials()
    )


def specials() -> str:
    """Return the table of SPECIAL."""
    rows = [[row.operators.replace("|", ", "), row.what, row.why] for row in SPECIAL]
    return table(["operators", "values", "why they may differ"], rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges lowerings", description=about)
    parser.add_argument("-k", dest="pattern", default="", help="part of operators' names")
    parser.add_argument("--targets", default="21,17,13,11,9,7", help="opsets, where they lack the operator")
    parser.add_argument("-v", action="store_true", help="list what is wrong")
    parser.add_argument("--write", action="store_true", help="write docs/lowerings.md")
    options = parser.parse_args(arguments)
    targets = [int(each) for each in options.targets.split(",")]
    head = ["operator", "type", "cases", *map(str, targets)]
    print(table(head, []))
    faults, rows = 0, []
    for versions in lowered():
        name, since = versions[0].name, versions[0].since_version
        if options.pattern not in name or name in RANDOM or versions[0].domain:
            continue
        found = {target: row(versions, target) for target in targets if target < since}
        for each in cells(name, found, targets):
            rows.append(each)
            print(f"| {' | '.join(each)} |", flush=True)
        for target, at in found.items():
            faults += len(at.wrong)
            for fault in at.wrong[:5] if options.v else at.wrong[:1]:
                print(f"      WRONG at {target}: {fault}")
    if options.write:
        PAGE.write_text(page(head, rows), encoding="utf-8")
    return int(faults > 0)
