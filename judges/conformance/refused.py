"""Writes the page of what is refused, by operator and reason, from the outcomes of the matrix.

python -m judges matrix --json plain.json
python -m judges matrix --bake --json baked.json
python -m judges refused plain.json baked.json > docs/refused.md
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from judges.conformance.matrix import Outcome, ranges
from opset.opsets.registry import default_registry

QUOTED = re.compile(r"'([^']*)'")
VALUE = re.compile(r" \('[^']*'\)")
TYPES = re.compile(r": \w+ \d+ (takes|has) .*")
NO_TYPE = re.compile(r"there is no element type (\w+) at opset \d+; it came with (\d+)")
WHY = re.compile(r"^  why +(.*)$", re.MULTILINE)
HEAD = """# What is refused

Every node test case of the standard ({cases:,} models) is converted to each opset from {lowest} to {highest}, and
the result is judged by onnxruntime, or by onnx's evaluator where onnxruntime has no kernel. "Constant" are the same
cases with shapes, axes and sizes as initializers, as exporters write them, where the cases have them as inputs.

| cases | direction | conversions | same | refused | wrong |
|---|---|---|---|---|---|
{totals}

The tables below list what is refused of the cases as they are, on the way to older opsets, by operator and reason. A
conversion may have several reasons. The few that no column counts are those on which the judges disagree.

## Element types

Models with an element type that the target lacks. Another type in its place would round or wrap differently.

| element type | came with | targets | cases | conversions | operators |
|---|---|---|---|---|---|
{types}

## Operators

| operator | targets | cases | conversions | code | reason |
|---|---|---|---|---|---|"""
Refused = tuple[str, int]
"""The case and the target of a conversion."""


def page(plain: Sequence[Outcome], baked: Sequence[Outcome]) -> Iterator[str]:
    """Yield the lines of the page in Markdown, most refusals first."""
    types: dict[tuple[str, str], set[Refused]] = defaultdict(set)
    operators: dict[tuple[str, str], set[str]] = defaultdict(set)
    others: dict[tuple[str, str, str], set[Refused]] = defaultdict(set)
    for outcome in plain:
        where = outcome.case, outcome.to[1]
        for code, operator, message in outcome.reasons if outcome.kind == "refused" else ():
            why = WHY.search(message)
            text = why.group(1) if why else message.split("\n")[0]
            if missing := NO_TYPE.search(text):
                types[missing.group(1, 2)].add(where)
                operators[missing.group(1, 2)].add(operator)
            else:
                others[operator, code, reason(operator, text)].add(where)
    rows = [
        f"| {element} | {since} | {counts(places)} | {', '.join(sorted(operators[element, since]))} |"
        for (element, since), places in most_first(types)
    ]
    versions = [o.to[1] for o in plain]
    yield HEAD.format(
        cases=len({o.case for o in plain}),
        lowest=min(versions),
        highest=max(versions),
        totals="\n".join([*total("as they are", plain), *total("constant", baked)]),
        types="\n".join(rows),
    )
    for (operator, code, text), places in most_first(others):
        yield f"| {operator} | {counts(places)} | {code} | {text} |"


def most_first(found: dict[Any, set[Refused]]) -> list[tuple[Any, set[Refused]]]:
    """Return what was refused, by the number of conversions."""
    return sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))


def counts(places: set[Refused]) -> str:
    """Return the cells for the targets, the number of cases and that of conversions."""
    return f"{ranges(to for _, to in places)} | {len({case for case, _ in places})} | {len(places)}"


def total(what: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the rows of the directions."""
    for direction in ("down", "up"):
        rows = [o for o in outcomes if o.direction == direction]
        same, refused, wrong = (sum(o.kind == kind for o in rows) for kind in ("same", "refused", "wrong"))
        if rows:
            share = 100 * same / len(rows)
            yield f"| {what} | {direction} | {len(rows):,} | {same:,} ({share:.1f} %) | {refused:,} | {wrong:,} |"


@cache
def own_names(operator: str) -> frozenset[str]:
    """Return the names of attributes, inputs and outputs that any version of an operator has."""
    return frozenset(
        name
        for schema in default_registry().versions(operator)
        for name in (*schema.attributes, *(each.name for each in (*schema.inputs, *schema.outputs)))
    )


def reason(operator: str, why: str) -> str:
    """Return why something is refused, without what differs by model and by target."""
    why = TYPES.sub("", VALUE.sub("", why))
    known = own_names(operator)
    return QUOTED.sub(lambda name: name[0] if name[1] in known else "'…'", why).replace("|", "\\|")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the page; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges refused", description=about)
    parser.add_argument("plain", type=Path, help="what the matrix wrote with --json")
    parser.add_argument("baked", type=Path, help="and with --bake --json")
    options = parser.parse_args(arguments)
    read = [
        [Outcome(**{**each, "to": tuple(each["to"])}) for each in json.loads(path.read_text())]
        for path in (options.plain, options.baked)
    ]
    print("\n".join(page(*read)))
    return 0
