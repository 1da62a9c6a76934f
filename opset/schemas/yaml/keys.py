"""The keys of operator YAML, and the words that stand for some values: shared by the loader and the JSON Schema.

Keys are in the order in which they are printed.
"""

from __future__ import annotations

from opset.schemas.constraints.signature import ANY_CASE, AXES, AXIS, BOOL, DATA_TYPE
from opset.schemas.model import SIGNATURE, TYPES

_SINGLE_TYPES = ("float", "int", "string", "tensor", "graph", "sparse_tensor", "type_proto")
ATTRIBUTE_TYPES = (*_SINGLE_TYPES, *(f"{each}s" for each in _SINGLE_TYPES))
DETERMINISM = ("deterministic", "nondeterministic", "unknown")
UNKNOWN = (TYPES, SIGNATURE)

OPERATOR_KEYS = ("operator", "family", "versions", "special_cases", "implementations", "examples")
VERSION_KEYS = (
    *("since", "deprecated", "replacement", "experimental", "unknown", "determinism", "change", "like"),
    *("doc", "formula", "counterparts"),
    *("inputs", "outputs", "attributes", "types", "constraints", "shape", "function"),
)
FORMER_KEYS = {
    "same_as": "write like: N; what the version does not write is that of version N",
    "shares": "write like: N; what the version does not write is that of version N",
    "special_cases": "special cases stand beside examples, with since and until",
}
"""Keys that versions had, and what to write instead."""
PARAMETER_KEYS = ("name", "type", "optional", "variadic", "heterogeneous", "min_arity", "differentiable", "doc")
CASE_KEYS = ("text", "since", "until", "stated", "chosen")
NOTE_KEYS = ("text", "tested", "since", "until", "examples")
BODY_KEYS = ("opset", "where", "types", "emulate", "nodes")
ATTRIBUTE_KEYS = ("type", "default", "required", "kind", "choices", "range", "constraint", "doc")
KIND_TYPES = {
    BOOL: ("int", "ints"),
    AXIS: ("int",),
    AXES: ("ints",),
    DATA_TYPE: ("int", "ints", "string"),
    ANY_CASE: ("string", "strings"),
}
CHANGE_KEYS = (
    *("deprecated", "experimental", "determinism", "inputs", "outputs", "attributes", "types"),
    *("emulate", "renamed", "meaning", "clarified", "adapters"),
)
PARAMETER_CHANGE_KEYS = ("added", "removed", "order", "renamed", "retyped", "arity", "homogeneous", "min_arity")
FACETS = ("old", "ignored", "input", "negative", "only_for", "renamed", "values", "undefined")
ATTRIBUTE_CHANGE_KEYS = ("added", "removed", "type", "default", "required", *FACETS)
ADAPTERS_KEYS = ("up", "down")

GUIDANCE = "#: "
"""How a line begins that says what to write; such lines go when nothing is left to fill in."""
