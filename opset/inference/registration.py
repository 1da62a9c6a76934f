"""What types and shapes the values of a model have, with sizes that may be symbolic, and how far that is known.

How the outputs of an operator follow from its inputs is said once:

- in its YAML, `shape: same(X)`, by a named rule (`rules/`): one for all outputs, or one for each, `same(X); scalar`;
- or by a function in `opset/inference/<family>.py`, found by its decorator. It holds for every version from
  `since` on (without it, from the first), until a later one is registered:

      @infer("TopK", since=10)
      def top_k(call): ...

Either takes the `Call`: the node's inputs and attributes as far as they are known. It gives one output, or a list of
several: a shape, a tuple of sizes (an int, a `Dim`, None for one that depends on data), where the element type follows
from the operator's signature; a whole `Type`; or None, where nothing can be known, as of outputs that a list lacks.

- `raise Violation("C1", "axis 2, rank 2")` where the node breaks that constraint of the operator's YAML;
- `raise Unknown("the axes are not constant")` where nothing more can be said, `call.doubt(reason)` beside a result;
- a rule that has graphs is a generator: `outputs = yield graph, [types]`, each a Type or None; see `Asked`.

Where the elements of small tensors follow from those of inputs, as in the arithmetic by which exporters compute shapes,
a second function gives them, a flat tuple for the first output or a list of those; sizes among them may be symbolic:

      @data("Concat")
      def concat_data(call): ...

Operators of one's own are registered in the same way, with their domain. An `inference.py` beside the YAML of a domain
is run when an inference first meets an operator of it; what it registers is seen by inferences with that folder alone.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from opset.errors import Finding, InferenceError
from opset.opsets.hooks import Hooks, Table
from opset.schemas.model import OpSchema
from opset.schemas.names import shown

__all__ = ["Hook", "data", "find", "find_data", "infer", "misnamed", "named", "rule", "written"]

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Hook:
    """A function that infers outputs, or their elements; `is_generator` where it asks for graphs to be inferred."""

    function: Function
    is_generator: bool
    origin: str = ""


HOOKS: Hooks[Hook] = Hooks("inference.py", "function", "opset.inference", InferenceError, "I301", "docs/inference.md")
_rules: dict[str, Function] = {}


def infer(*operators: str, since: int = 0, domain: str = "") -> Callable[[Function], Function]:
    """Register how outputs of operators are inferred from version `since` on, from the first on if nothing is said.

    Raises InferenceError I301 where there are two, and for an operator of the standard.
    """
    return HOOKS.register("infer", operators, since, domain, _described)


def data(*operators: str, since: int = 0, domain: str = "") -> Callable[[Function], Function]:
    """Register how elements of outputs follow from those of inputs, as `infer` does for types."""
    return HOOKS.register("data", operators, since, domain, _described)


def _described(function: Function, origin: str) -> Hook:
    return Hook(function, inspect.isgeneratorfunction(inspect.unwrap(function)), origin)


def rule(name: str) -> Callable[[Function], Function]:
    """Register a rule that YAML names: a function of the call, the output's number, and the arguments in brackets.

    Among those, an input's name is given as its number, an attribute's as text, a number as such.
    """

    def register(function: Function) -> Function:
        _rules[name] = function
        return function

    return register


def find(schema: OpSchema, own: Table[Hook] | None = None) -> Hook | None:
    """Return how an operator's outputs are inferred: by what its YAML names, or a registered function; None if neither.

    `own` are the functions of users' files. Raises InferenceError I302 for a rule that is not there, I301 where a
    function is registered twice.
    """
    if schema.shape:
        try:
            return Hook(named(schema), False)
        except LookupError as error:
            message = f"the rule for the outputs of {schema.name} {schema.since_version} cannot be used"
            place = f"{shown(schema.domain)}/{schema.name}.yaml"
            finding = Finding("I302", message, place, str(error.args[0]), "correct it: opset lint")
            raise InferenceError(finding) from error
    return _of(schema, "infer", own)


def find_data(schema: OpSchema, own: Table[Hook] | None = None) -> Hook | None:
    """Return how elements of an operator's outputs follow from those of its inputs, None if nothing is said."""
    return _of(schema, "data", own)


def _of(schema: OpSchema, decorator: str, own: Table[Hook] | None) -> Hook | None:
    if own is None:  # an operator of the standard; the family of another imports nothing
        _load(schema.family)
    return HOOKS.find(decorator, schema.domain, schema.name, schema.since_version, own)


_RULE = re.compile(r"([a-z_]+)(?:\(([\w, -]*)\))?")


def named(schema: OpSchema) -> Function:
    """Return the function that a schema's `shape` stands for. Raises LookupError for what is not known in it."""
    importlib.import_module("opset.inference.rules")
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
    name = f"opset.inference.{family}"
    if family.isidentifier() and find_spec(name) is not None:
        importlib.import_module(name)


def written(families: list[str]) -> frozenset[tuple[str, str, int]]:
    """Return the (domain, operator, since) of every function of the families that infers outputs."""
    for family in families:
        _load(family)
    return frozenset(
        (domain, name, since)
        for (decorator, domain, name), versions in HOOKS.table.items()
        if decorator == "infer"
        for since in versions
    )


def misnamed(schema: OpSchema) -> str:
    """Return what is wrong with the rules that a schema's `shape` names, "" where nothing is."""
    try:
        named(schema)
    except LookupError as error:
        return str(error.args[0])
    return ""
