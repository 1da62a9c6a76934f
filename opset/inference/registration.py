"""What types and shapes the values of a model have, with sizes that may be symbolic, and how far that is known.

How the outputs of an operator follow from its inputs is declared once:

- in its YAML, `shape: same(X)`, by a named rule (`rules/`): one for all outputs, or one for each, `same(X); scalar`;
- or by a function in `opset/inference/families/<family>.py`, found by its decorator. It holds for every version from
  `since` on (without it, from the first), until a later one is registered:

      @infer("TopK", since=10)
      def top_k(call): ...

Either takes the `Call`: the node's inputs and attributes as far as they are known. It returns one output, or a list of
several: a shape, a tuple of sizes (an int, a `Dim`, None for one that depends on data), where the element type follows
from the operator's signature; a whole `Type`; or None where nothing is known; so are outputs that a list lacks.

- `raise Violation("C1", "axis 2, rank 2")` where the node breaks that constraint of the operator's YAML;
- `raise Unknown("the axes are not constant")` where nothing more can be inferred, `call.doubt(reason)` beside a result;
- a rule that has graphs is a generator: `outputs = yield graph, [types]`, each a Type or None; see `GraphRequest`.

Where the elements of small tensors follow from those of inputs, as in the arithmetic by which exporters compute shapes,
a second function returns them, a flat tuple for the first output or a list of those; sizes among them may be symbolic:

      @data("Concat")
      def concat_data(call): ...

Operators of one's own are registered in the same way, with their domain. An `inference.py` beside the YAML of a domain
is run when an inference first meets an operator of it; what it registers is seen by inferences with that folder alone.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable
from typing import Any

from opset.errors import Finding, InferenceError
from opset.inference.building.call import Unknown
from opset.opsets.hooks import Function, Hook, Layer, Lookup
from opset.opsets.registry import Registry
from opset.schemas.model import OpSchema
from opset.schemas.names import shown

__all__ = ["LAYER", "RuleLookup", "data", "function_of_rules", "infer", "registered_rules", "rule", "rule_problem"]

LAYER = Layer("inference.py", "opset.inference.families", "function", InferenceError, "I301", "opset explain inference")
_rules: dict[str, Function] = {}


def infer(*operators: str, since: int = 0, domain: str = "") -> Callable[[Function], Function]:
    """Register how outputs of operators are inferred from version `since` on; without it, from the first on.

    Raises InferenceError I301 where there are two, and for an operator of the standard.
    """
    return LAYER.register("infer", operators, since, domain)


def data(*operators: str, since: int = 0, domain: str = "") -> Callable[[Function], Function]:
    """Register how elements of outputs follow from those of inputs, as `infer` does for types."""
    return LAYER.register("data", operators, since, domain)


def rule(name: str) -> Callable[[Function], Function]:
    """Register a rule that YAML names: a function of the call, the output's number, and the arguments in brackets.

    Among those, an input's name is given as its number, an attribute's as text, a number as such.
    """

    def register(function: Function) -> Function:
        _rules[name] = function
        return function

    return register


class RuleLookup:
    """How the operators of a registry are inferred: by the rule that their YAML names, or by a registered function."""

    def __init__(self, registry: Registry) -> None:
        self._lookup = Lookup(LAYER, registry)

    def find(self, schema: OpSchema) -> Hook | None:
        """Return how an operator's outputs are inferred, None if nothing says it.

        Raises InferenceError I302 for a rule that is not there, I301 where the functions of users cannot be loaded.
        """
        if not schema.shape:
            return self._find_hook("infer", schema)
        try:
            return Hook(function_of_rules(schema), "", False)
        except LookupError as error:
            message = f"the rule for the outputs of {schema.name} {schema.since_version} cannot be used"
            place = f"{shown(schema.domain)}/{schema.name}.yaml"
            finding = Finding("I302", message, place, str(error.args[0]), "correct it: opset lint")
            raise InferenceError(finding) from error

    def find_data(self, schema: OpSchema) -> Hook | None:
        """Return how elements of an operator's outputs follow from those of its inputs, None if nothing says it."""
        return self._find_hook("data", schema)

    def left_out(self, domain: str) -> str:
        """Return why the functions of a domain may be incomplete, "" where they are not."""
        return self._lookup.left_out(domain)

    def _find_hook(self, kind: str, schema: OpSchema) -> Hook | None:
        return self._lookup.find(kind, schema.domain, schema.name, schema.since_version, schema.family)


_RULE = re.compile(r"([a-z_]+)(?:\(([\w, -]*)\))?")


def function_of_rules(schema: OpSchema) -> Function:
    """Return the function that a schema's `shape` stands for. Raises LookupError for what is not known in it."""
    importlib.import_module("opset.inference.rules")
    if schema.shape.count(";") >= max(len(schema.outputs), 1):
        raise LookupError(f"there are {schema.shape.count(';') + 1} rules for {len(schema.outputs)} outputs")
    inputs = {parameter.name: index for index, parameter in enumerate(schema.inputs)}
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
        return [_infer_output(call, index, *parts[min(index, len(parts) - 1)]) for index in range(call.output_count)]

    return outputs


def _infer_output(call: Any, index: int, function: Function, given: tuple[int | str, ...]) -> Any:
    """Return what a rule says of one of several outputs; where it is not known, the others may be."""
    try:
        return function(call, index, *given)
    except Unknown as error:
        call.doubt(str(error))
        return None


def registered_rules(families: Iterable[str]) -> frozenset[tuple[str, str, int]]:
    """Return the (domain, operator, since) of every function of the families that infers outputs."""
    return LAYER.registered("infer", families)


def rule_problem(schema: OpSchema) -> str:
    """Return what is wrong with the rules that a schema's `shape` names, "" where nothing is."""
    try:
        function_of_rules(schema)
    except LookupError as error:
        return str(error.args[0])
    return ""
