"""What types and shapes the values of a model have, with sizes that may be symbolic, and how far that is known.

How the outputs of an operator follow from its inputs is said once:

- in its YAML, `shape: same(X)`, by a named rule (`rules/`): one for all outputs, or one for each, `same(X); scalar`;
- or by a function in `opset/opsets/inference/<family>.py`, found by its decorator. It holds for every version from
  `since` on (without it, from the first), until a later one is registered:

      @infer("TopK", since=10)
      def top_k(call): ...

Either takes the `Call`: the node's inputs and attributes as far as they are known. It gives one output, or a list of
several: a shape, a tuple of sizes (an int, a `Dim`, None for one that depends on data), where the element type follows
from the operator's signature; a whole `Type`; or None, where nothing can be known, as of outputs that a list lacks.

- `raise Violation("C1", "axis 2, rank 2")` where the node breaks that constraint of the operator's YAML;
- `raise Unknown("the axes are not constant")` where nothing more can be said, `call.doubt(reason)` beside a result;
- a rule that has graphs is a generator: `outputs = yield graph, [types]`, each a Type or None.

Where the elements of small tensors follow from those of inputs, as in the arithmetic by which exporters compute shapes,
a second function gives them, a flat tuple for the first output or a list of those; sizes among them may be symbolic:

      @data("Concat")
      def concat_data(call): ...

Operators of one's own are registered in the same way, with their domain.
"""

from __future__ import annotations

import importlib
import inspect
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from opset.schemas.model import OpSchema
from opset.schemas.names import normalised

__all__ = ["Hook", "data", "find", "find_data", "infer", "misnamed", "named", "rule", "written"]

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Hook:
    """A function that infers outputs, or their elements; `is_generator` where it asks for graphs to be inferred."""

    function: Function
    is_generator: bool


Table = dict[tuple[str, str], dict[int, Hook]]
"""Hooks by (domain, operator), then by the version from which each holds."""

_infer: Table = {}
_data: Table = {}
_rules: dict[str, Function] = {}


def infer(*operators: str, since: int = 0, domain: str = "") -> Callable[[Function], Function]:
    """Register how outputs of operators are inferred from version `since` on, from the first on if nothing is said."""
    return _registering(_infer, operators, since, domain)


def data(*operators: str, since: int = 0, domain: str = "") -> Callable[[Function], Function]:
    """Register how elements of outputs follow from those of inputs, as `infer` does for types."""
    return _registering(_data, operators, since, domain)


def rule(name: str) -> Callable[[Function], Function]:
    """Register a rule that YAML names: a function of the call, the output's number, and the arguments in brackets.

    Among those, an input's name is given as its number, an attribute's as text, a number as such.
    """

    def register(function: Function) -> Function:
        _rules[name] = function
        return function

    return register


def _registering(table: Table, operators: tuple[str, ...], since: int, domain: str) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        hook = Hook(function, inspect.isgeneratorfunction(inspect.unwrap(function)))
        for operator in operators:
            table.setdefault((normalised(domain), operator), {})[since] = hook
        return function

    return register


def find(schema: OpSchema) -> Hook | None:
    """Give how an operator's outputs are inferred: by what its YAML names, or a registered function; None if neither.

    Raises LookupError for a rule that is not there.
    """
    if schema.shape:
        return Hook(named(schema), False)
    _load(schema.family)
    return _newest(_infer, schema)


def find_data(schema: OpSchema) -> Hook | None:
    """Give how elements of an operator's outputs follow from those of its inputs, None if nothing is said."""
    _load(schema.family)
    return _newest(_data, schema)


def _newest(table: Table, schema: OpSchema) -> Hook | None:
    versions = table.get((schema.domain, schema.name), {})
    known = sorted(versions)
    position = bisect_right(known, schema.since_version) - 1
    return versions[known[position]] if position >= 0 else None


_RULE = re.compile(r"([a-z_]+)(?:\(([\w, -]*)\))?")


def named(schema: OpSchema) -> Function:
    """Give the function that a schema's `shape` stands for. Raises LookupError for what is not known in it."""
    importlib.import_module(f"{__name__}.rules")
    if schema.shape.count(";") >= max(len(schema.outputs), 1):
        raise LookupError(f"there are {schema.shape.count(';') + 1} rules for {len(schema.outputs)} outputs")
    inputs = {parameter.name: place for place, parameter in enumerate(schema.inputs)}
    parts = []
    for text in schema.shape.split(";"):
        found = _RULE.fullmatch(text.strip())
        if found is None or found[1] not in _rules:
            raise LookupError(f"there is no rule {text.strip()!r}; there are {', '.join(sorted(_rules))}")
        arguments: list[int | str] = []
        for each in filter(None, (found[2] or "").replace(" ", "").split(",")):
            if each in inputs:
                arguments.append(inputs[each])
            elif each in schema.attributes:
                arguments.append(each)
            elif each.lstrip("-").isdigit():
                arguments.append(int(each))
            else:
                raise LookupError(f"{schema.name} has no input or attribute {each!r}")
        parts.append((_rules[found[1]], tuple(arguments)))

    if len(parts) == 1 and len(schema.outputs) == 1 and schema.outputs[0].option != "variadic":
        function, given = parts[0]
        return lambda call: function(call, 0, *given)

    def outputs(call: Any) -> list[Any]:
        places = range(call.output_count)
        return [
            function(call, place, *given)
            for place in places
            for function, given in [parts[min(place, len(parts) - 1)]]
        ]

    return outputs


@lru_cache(maxsize=64)
def _load(family: str) -> None:
    """Import a family's functions, if it has any."""
    name = f"{__name__}.{family}"
    if family.isidentifier() and find_spec(name) is not None:
        importlib.import_module(name)


def written(families: list[str]) -> frozenset[tuple[str, str, int]]:
    """Give the (domain, operator, since) of every function of the families that infers outputs."""
    for family in families:
        _load(family)
    return frozenset((*key, since) for key, versions in _infer.items() for since in versions)


def misnamed(schema: OpSchema) -> str:
    """Give what is wrong with the rules that a schema's `shape` names, "" where nothing is."""
    try:
        named(schema)
    except LookupError as error:
        return str(error.args[0])
    return ""
