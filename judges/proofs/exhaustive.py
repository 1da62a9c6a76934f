"""Proofs by exhaustion: all values of 8 and 16 bits, and all pairs of 8 bits, through operators of single elements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from judges.conformance.bodies import RANDOM_VALUES, SINGLE_RULES, Use
from judges.conformance.judge import RANDOM
from judges.proofs.running import Outcome
from judges.proofs.subjects import REGISTRY, Subject
from opset.docgen.proofs import ProofPart
from opset.model.arrays import dtype_of_element
from opset.model.elements import NUMBERS
from opset.reference.example_models import model_of
from opset.schemas.example import Example, example_versions
from opset.schemas.model import VARIADIC, OpSchema

NUMERIC = ("int", "uint", "float", "bfloat", "double", "bool")
OUTSIDE = {
    *("Hardmax", "Softmax", "LogSoftmax", "LpNormalization", "MeanVarianceNormalization", "InstanceNormalization"),
    *("Dropout", "BitCast", "DynamicQuantizeLinear", "LRN", "Identity", "SwiGLU"),
}
"""Operators with the shape rule of single elements that read more than one element, or are none."""
DEFINED_SHIFTS = 28
"""The version of BitShift since which a shift by the width of the type or more is defined."""


def prove(subject: Subject, emulated: Sequence[str] = ()) -> tuple[list[ProofPart], list[str]]:
    """Return what sweeps of all values show, and what is wrong; of the types `emulated` alone, if any are named."""
    schema = subject.source
    if not is_single(schema):
        return [], []
    swept: dict[str, Outcome] = defaultdict(Outcome)
    totals: dict[str, int] = {}
    for element, complete, total, use in sweeps(schema, emulated):
        about = ("exhaustive " if complete else "sampled ") + element
        swept[about].add(subject, use)
        totals[about] = total
    parts, wrong = [], []
    for kind, words in (("exhaustive", "all {}"), ("sampled", "{} drawn and special values (seed 1)")):
        names = [about for about in swept if about.startswith(kind) and swept[about].cases]
        wrong += [line for about in names for line in swept[about].wrong]
        for total in sorted({totals[about] for about in names}):
            group = [about for about in names if totals[about] == total]
            worst = max((swept[about] for about in group), key=lambda each: each.worst)
            number = f"{total:,} pairs" if kind == "exhaustive" and _is_pair(schema) else f"{total:,} values"
            if kind == "sampled":
                number = f"{total:,}"
            shown = f"{words.format(number)} of each: {worst.distance}"
            parts.append(ProofPart(kind, ", ".join(about.partition(" ")[2] for about in group), shown))
    refused = sorted({about.partition(" ")[2] for about in swept if swept[about].refused and not swept[about].cases})
    if refused and (codes := sorted({code for each in swept.values() for code in each.refused})):
        parts.append(ProofPart("refused", ", ".join(refused), ", ".join(codes)))
    return parts, wrong


def is_single(schema: OpSchema) -> bool:
    """Whether an element of the output follows from one element of each input of one type."""
    name = schema.shape.partition("(")[0]
    kinds = {each.type for each in schema.inputs}
    return (
        name in SINGLE_RULES
        and len(kinds) == 1
        and len(schema.inputs) <= 3
        and not schema.domain
        and schema.name not in RANDOM | OUTSIDE
    )


def sweeps(schema: OpSchema, emulated: Sequence[str] = ()) -> Iterator[tuple[str, bool, int, Use]]:
    """Yield for each type, and each list of attributes in the examples, a model with all values, or many.

    Each comes with the type, whether the values are complete, and their number.
    """
    (kind,) = {each.type for each in schema.inputs}
    examples = [each for each in REGISTRY.examples(schema.name, schema.domain) if not each.error]
    examples = [each for each in examples if example_versions(each, [schema.since_version])]
    attributes = {repr(sorted(each.attributes.items())): each.attributes for each in examples}
    types = [type_[7:-1] for type_ in schema.types.get(kind, (kind,))]
    for element in types:
        if not element.startswith(NUMERIC) or (emulated and element not in emulated):
            continue
        complete, columns = _columns(schema, element)
        for number, chosen in enumerate(attributes.values()):
            feeds = {f"x{index}": column for index, column in enumerate(columns)}
            if schema.name == "Clip" and len(columns) > 1:  # bounds are scalars
                feeds |= {
                    name: np.asarray(feeds[name][len(columns[0]) // part]) for name, part in (("x1", 3), ("x2", 2))
                }
            if schema.name == "BitShift" and schema.since_version < DEFINED_SHIFTS:
                feeds["x1"] = feeds["x1"] % (8 * columns[1].itemsize)
            model = _model(schema, examples[0], element, chosen, feeds)
            yield element, complete, len(columns[0]), Use(f"all {element}, attributes {number}", model, feeds)


def _is_pair(schema: OpSchema) -> bool:
    return _arity(schema) == 2


def _arity(schema: OpSchema) -> int:
    """Return how many inputs a sweep gives."""
    return 2 if schema.inputs[-1].option == VARIADIC else len(schema.inputs)


def _columns(schema: OpSchema, element: str) -> tuple[bool, list[Any]]:
    """Return whether these are all values of a type, or all pairs, and the values of each input."""
    dtype = dtype_of_element(element)
    count = 1 if schema.name == "Clip" else _arity(schema)
    narrow = _all_values(element) if dtype.itemsize * count <= 2 else None
    if narrow is not None and count == 2:
        left, right = np.meshgrid(np.arange(len(narrow)), np.arange(len(narrow)), indexing="ij")
        return True, [narrow[left.ravel()], narrow[right.ravel()]]
    if narrow is not None:
        return True, [narrow] * _arity(schema)
    values = _many_values(dtype)
    rng = np.random.default_rng(1)
    return False, [values, *(rng.permutation(values) for _ in range(_arity(schema) - 1))]


def _all_values(element: str) -> Any:
    """Return all values of a type of at most 16 bits."""
    dtype = dtype_of_element(element)
    if element == "bool":
        return np.array([False, True])
    if element in ("int4", "uint4", "int2", "uint2", "float4e2m1"):
        bits = 16 if "4" in element else 4
        return np.arange(bits, dtype=np.uint8).view(dtype) if element == "float4e2m1" else np.arange(bits).astype(dtype)
    bits_type = {1: np.uint8, 2: np.uint16}[dtype.itemsize]
    return np.arange(1 << (8 * dtype.itemsize), dtype=np.uint32).astype(bits_type).view(dtype)


def _many_values(dtype: Any) -> Any:
    """Return random patterns of bits, usual and special values of a type that has too many."""
    rng = np.random.default_rng(1)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        few = np.array([0, 1, info.min, info.max, info.max - 1, 3, 7], dtype)
        small = rng.integers(max(info.min, -20), 20, RANDOM_VALUES).astype(dtype)
        return np.concatenate([rng.integers(info.min, info.max, RANDOM_VALUES, dtype, endpoint=True), small, few])
    if dtype.itemsize == 1:
        return np.arange(256, dtype=np.uint8).view(dtype)
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[dtype.itemsize]
    patterns = rng.integers(0, np.iinfo(bits).max, RANDOM_VALUES, bits).view(dtype)
    usual = np.concatenate([rng.normal(0, scale, RANDOM_VALUES) for scale in (1e-6, 1e-2, 1, 10, 1000)]).astype(dtype)
    few = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2.5, -2.5], dtype)
    return np.concatenate([patterns, usual, few])


def _model(
    schema: OpSchema, example: Example, element: str, attributes: Mapping[str, Any], feeds: Mapping[str, Any]
) -> Any:
    """Return a model of one node with inputs of a type."""
    model = model_of(schema, example._replace(attributes=attributes, inputs=(), outputs=None))
    node = model.graph.node[0]
    for name, value in feeds.items():
        node.input.append(name)
        made = model.graph.input.add(name=name)
        made.type.tensor_type.elem_type = NUMBERS[element]
        made.type.tensor_type.shape.SetInParent()
        for size in value.shape:
            made.type.tensor_type.shape.dim.add(dim_value=size)
    return model
