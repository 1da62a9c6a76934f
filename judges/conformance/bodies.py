"""Runs function bodies of operators beside the kernels of the operators, and shows how far their results are apart.

    python -m judges bodies [-k PATTERN] [--cases examples,node,sweep] [-v]

A body takes the place of the node as a conversion does it, at each opset that it is written for and at the last one
before the operator's next version. The cases are the examples of the YAML, the node cases of the onnx package, and for
operators of one element at a time a sweep: all values of the types of 16 bits, random bit patterns of wider ones, NaN,
infinities, zeros, empty tensors and scalars. The table has the greatest difference by element type in units of the last
digit (ulp) of what the kernel gives. The exit status is 1 where a difference is above ULP, a shape or type is another
one, or NaN or an infinity stands where none is expected.
"""

from __future__ import annotations

import argparse
import itertools
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

import opset
from judges.conformance.judge import RANDOM
from judges.conformance.matrix import node_cases
from opset import ReferenceEvaluator
from opset.model import proto as pb
from opset.model.arrays import dtype_of_element
from opset.model.elements import NUMBERS
from opset.opsets.registry import default_registry
from opset.reference.comparison import ulps
from opset.reference.example_models import feeds_of, model_of
from opset.schemas.example import example_versions
from opset.schemas.model import OpSchema
from opset.workflow.examples.conversions import ULP, body_opsets, express_by_body

REGISTRY = default_registry()
SINGLE_RULES = ("same", "broadcast", "onto")
RANDOM_VALUES = 4000


class Use(NamedTuple):
    """A model of one node, and its inputs."""

    name: str
    model: Any
    feeds: Mapping[str, Any]


def schemas_with_bodies(pattern: str = "") -> list[OpSchema]:
    """Return all versions of operators that have function bodies."""
    return [
        schema
        for domain in REGISTRY.domains
        for name in REGISTRY.operators(domain)
        if re.search(pattern, name)
        for schema in REGISTRY.versions(name, domain)
        if schema.function
    ]


def uses(schema: OpSchema, kinds: Iterable[str]) -> Iterator[Use]:
    """Yield the cases of a version."""
    if "examples" in kinds:
        for example in REGISTRY.examples(schema.name, schema.domain):
            if not example.error and schema.since_version in example_versions(example, [schema.since_version]):
                yield Use(example.name, model_of(schema, example), feeds_of(example))
    if "node" in kinds:
        yield from _node_cases().get((schema.name, schema.since_version), ())
    if "sweep" in kinds and schema.name not in RANDOM:
        yield from sweeps(schema)


@lru_cache(maxsize=1)
def _node_cases() -> dict[tuple[str, int], list[Use]]:
    found = defaultdict(list)
    for case in node_cases():
        nodes = case.model.graph.node
        if len(nodes) == 1 and not nodes[0].domain:
            version = next(each.version for each in case.model.opset_import if not each.domain)
            if schema := REGISTRY.schema(nodes[0].op_type, version):
                model = pb.ModelProto.FromString(case.model.SerializeToString())
                found[schema.name, schema.since_version].append(Use(case.name, model, case.feeds))
    return found


def sweeps(schema: OpSchema) -> Iterator[Use]:
    """Yield uses with all kinds of values of an operator that works element by element, for each type and attribute."""
    kinds = {each.type for each in schema.inputs}
    if schema.shape.partition("(")[0] not in SINGLE_RULES or len(kinds) > 1 or schema.name.endswith("max"):
        return
    (kind,) = kinds
    examples = REGISTRY.examples(schema.name, schema.domain)
    attributes = {repr(each.attributes): each.attributes for each in examples if not each.error}
    attributes = {key: each for key, each in attributes.items() if each.keys() <= schema.attributes.keys()}
    for type_, chosen in itertools.product(schema.types.get(kind, (kind,)), attributes.values()):
        element = type_[7:-1]
        values = _values(element)
        for name, shape in (("sweep", None), ("scalar", ()), ("empty", (2, 0))):
            rng = np.random.default_rng(7)
            columns = [values, *(rng.permutation(values) for _ in schema.inputs[1:])]
            feeds = {
                each.name: column if shape is None else np.resize(column[-8:-7] if shape == () else column[:0], shape)
                for each, column in zip(schema.inputs, columns, strict=True)
            }
            if schema.name == "Clip":
                feeds |= {each: feeds[each].reshape(-1)[:1].reshape(()) for each in ("min", "max") if feeds[each].size}
                if shape == (2, 0):
                    continue
            if schema.name == "DynamicQuantizeLinear":
                continue
            yield Use(f"{name}_{element}_{chosen}", _model(schema, element, chosen, feeds), feeds)


def _values(element: str) -> Any:
    dtype = dtype_of_element(element)
    rng = np.random.default_rng(1)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        few = np.array([0, 1, info.min, info.max, info.max - 1, 3, 7], dtype)
        return np.concatenate([rng.integers(info.min, info.max, RANDOM_VALUES, dtype, endpoint=True), few])
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[dtype.itemsize]
    if dtype.itemsize == 2:
        return np.arange(1 << 16, dtype=bits).view(dtype)
    patterns = rng.integers(0, np.iinfo(bits).max, RANDOM_VALUES, bits).view(dtype)
    usual = np.concatenate([rng.normal(0, scale, RANDOM_VALUES) for scale in (1e-6, 1e-2, 1, 10, 1000)]).astype(dtype)
    few = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2.5, -2.5], dtype)
    return np.concatenate([patterns, usual, few])


def _model(schema: OpSchema, element: str, attributes: Mapping[str, Any], feeds: Mapping[str, Any]) -> Any:
    example = next(each for each in REGISTRY.examples(schema.name, schema.domain) if not each.error)
    model = model_of(schema, example._replace(attributes=attributes, inputs=(), outputs=None))
    node = model.graph.node[0]
    for name, value in feeds.items():
        node.input.append(name)
        made = model.graph.input.add(name=name)
        made.type.tensor_type.elem_type = NUMBERS[element]
        for size in value.shape:
            made.type.tensor_type.shape.dim.add(dim_value=size)
    return model


class Row(NamedTuple):
    """What was found of a version at an opset: cases by outcome, differences by element type, and what is wrong."""

    schema: OpSchema
    opset: int
    counts: Counter[str]
    ulps: dict[str, float]
    wrong: list[str]


def compared(schema: OpSchema, opset_version: int, kinds: Iterable[str]) -> Row:
    """Return what the bodies of a version give at an opset beside its kernel."""
    row = Row(schema, opset_version, Counter(), {}, [])
    for use in uses(schema, kinds):
        found = express_by_body(REGISTRY, use.model, schema, opset_version)
        if found.refusals:
            row.counts["refused"] += 1
            row.counts[f"{found.refusals[0].code}: {found.refusals[0].why}"] += 1
            continue
        row.counts["cases"] += 1
        expected, actual = outputs_of(use, use.model), outputs_of(use, found.model.proto)
        if isinstance(actual, str):
            row.wrong.append(f"{use.name}: {actual}")
            continue
        for want, have in zip(expected, actual, strict=True):
            why, ulp = ulps(want, have)
            if schema.name in RANDOM:
                why, ulp = ("", 0.0) if (want.dtype, want.shape) == (have.dtype, have.shape) else (why, ulp)
            key = str(getattr(want, "dtype", type(want).__name__))
            row.ulps[key] = max(ulp, row.ulps.get(key, 0.0))
            if why or ulp > ULP:
                row.wrong.append(f"{use.name}: {why or f'{ulp:.1f} ulp'}")
    return row


def outputs_of(use: Use, model: Any) -> Sequence[Any] | str:
    """Return the outputs that the evaluator gives, or its error as text."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return ReferenceEvaluator(model, seed=0).run(None, dict(use.feeds))
        except opset.errors.OpsetError as error:
            return str(error)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", default="", help="pattern of operator names")
    parser.add_argument("--cases", default="examples,node,sweep", help="which cases are run")
    parser.add_argument("-v", action="store_true", help="list what is wrong or refused")
    options = parser.parse_args(arguments)
    wrong = 0
    print(f"{'operator':<28}{'since':>6}{'opset':>6}{'cases':>6}{'refused':>8}  greatest difference in ulp")
    for schema in schemas_with_bodies(options.k):
        for version in body_opsets(REGISTRY, schema):
            row = compared(schema, version, options.cases.split(","))
            wrong += len(row.wrong)
            ulps = ", ".join(f"{kind} {ulp:.3g}" for kind, ulp in sorted(row.ulps.items()))
            print(
                f"{schema.name:<28}{schema.since_version:>6}{version:>6}{row.counts['cases']:>6}"
                f"{row.counts['refused']:>8}  {ulps}{'  WRONG' if row.wrong else ''}",
                flush=True,
            )
            for line in row.wrong[:5] if options.v else ():
                print(f"      {line}")
            for line, count in row.counts.items() if options.v else ():
                if ":" in line:
                    print(f"      {count} {line}")
    return 1 if wrong else 0
