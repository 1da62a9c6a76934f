"""Shows how far what lowerings compute is from the kernels of the operators, in units of the last digit (ulp).

    python -m tests.conformance.lowerings [-k PATTERN] [--targets 21,17,13,11,9,7] [-v]

Each example and node case of an operator that can be lowered is converted to targets that lack the operator, and the
evaluator of this project runs both. The table has the greatest difference by element type: in ulp of the expected
value, or of the largest value around it where sums cancel (marked ~). The exit status is 1 where a difference is above
ULP, a shape or type is another one, or NaN or an infinity stands where none is expected.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

import opset
from opset.opsets.registry import default_registry
from opset.schemas.model import OpSchema
from opset.version_converter import converted
from opset.version_converter.routes import Step, routes_of
from opset.version_converter.targets import Target
from tests.conformance.bodies import REGISTRY, distance, outputs_of, uses
from tests.conformance.judge import RANDOM

ULP = 6


def lowered() -> Iterator[tuple[OpSchema, ...]]:
    """Yield the versions of each operator that can be lowered."""
    routes = routes_of(default_registry())
    for domain in REGISTRY.domains:
        for name in REGISTRY.operators(domain):
            versions = REGISTRY.versions(name, domain)
            since = versions[0].since_version
            if since > 1 and isinstance(routes.step(domain, name, since, since - 1), Step):
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


def row(versions: Sequence[OpSchema], target: int) -> tuple[int, int, dict[str, str], list[str]]:
    """Return how many cases of an operator were compared and refused, differences by type, and what is wrong."""
    cases = refused = 0
    most: dict[str, tuple[float, str]] = {}
    wrong = []
    for use in (use for schema in versions for use in uses(schema, ("examples", "node"))):
        try:
            made = converted(opset.load(use.model), Target({versions[0].domain: target}), REGISTRY)
        except Exception as error:
            wrong.append(f"{use.name}: {type(error).__name__}: {error}")
            continue
        if made.model is None:
            refused += 1
            continue
        cases += 1
        expected, actual = outputs_of(use, use.model), outputs_of(use, made.model.proto)
        if isinstance(expected, str) or isinstance(actual, str):
            wrong.append(f"{use.name}: {actual}")
            continue
        for want, have in zip(expected, actual, strict=True):
            why, ulp = distance(want, have)
            mark = ""
            if not why and ulp > ULP and (want.dtype.kind == "f" or want.dtype == ml_dtypes.bfloat16):
                ulp, mark = relative(want, have), "~"
            key = str(getattr(want, "dtype", type(want).__name__))
            most[key] = max((ulp, mark), most.get(key, (0.0, "")))
            if why or ulp > ULP:
                wrong.append(f"{use.name}: {why or f'{ulp:.1f} ulp'}")
    return cases, refused, {key: f"{mark}{ulp:.3g}" for key, (ulp, mark) in sorted(most.items())}, wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.lowerings", description=about)
    parser.add_argument("-k", dest="pattern", default="", help="part of operators' names")
    parser.add_argument("--targets", default="21,17,13,11,9,7", help="opsets, where they lack the operator")
    parser.add_argument("-v", action="store_true", help="list what is wrong")
    options = parser.parse_args(arguments)
    faults = 0
    print("| operator | since | target | cases | refused | greatest difference in ulp |\n|---|---|---|---|---|---|")
    for versions in lowered():
        name, since = versions[0].name, versions[0].since_version
        targets = [int(each) for each in options.targets.split(",") if int(each) < since]
        if options.pattern not in name or name in RANDOM or versions[0].domain:
            continue
        for target in targets:
            cases, refused, most, wrong = row(versions, target)
            faults += len(wrong)
            ulps = ", ".join(f"{kind} {ulp}" for kind, ulp in most.items())
            mark = " WRONG" if wrong else ""
            print(f"| {name} | {since} | {target} | {cases} | {refused} | {ulps}{mark} |", flush=True)
            for line in wrong[:5] if options.v else ():
                print(f"      {line}")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
