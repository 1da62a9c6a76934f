"""Registers how types and shapes of outputs follow from inputs, with sizes that may be symbolic.

The inference of an operator's outputs from its inputs is declared once:

- in its YAML, `shape: same(X)`, by a named rule (`rules/`): one for all outputs, or one for each, `same(X); scalar`;
- or by a function in `opset/inference/families/<family>.py`, found by its decorator. It holds for every version from
  `since` on (without it, from the first), until a later one is registered:

      @infer("TopK", since=10)
      def top_k(call): ...

Either takes the `Call`: the node's inputs and attributes as far as they are known. It returns one output, or a list of
several, each of which is

- a shape, which is a tuple of sizes (an int, a `Dim`, or None for one that depends on data); the element type then
  follows from the operator's signature;
- a whole `Type`;
- or None if nothing is known; nothing is known of outputs that a list lacks, either.

A function may also

- `raise Violation("C1", "axis 2, rank 2")` if the node breaks that constraint of the operator's YAML;
- `raise Unknown("the axes are not constant")` if nothing more can be inferred, or `call.doubt(reason)` beside a result;
- infer graphs of the node as a generator: `outputs = yield graph, [types]`, each a Type or None; see `GraphRequest`.

Elements of small tensors may follow from elements of inputs, as in the arithmetic by which exporters compute shapes. A
second function returns them, a flat tuple for the first output or a list of tuples; sizes among them may be symbolic:

      @data("Concat")
      def concat_data(call): ...

Operators of one's own are registered in the same way, with their domain. An `inference.py` beside the YAML of a domain
is run when an inference first meets an operator of it; its functions are seen by inferences with that folder alone.
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
from opset.schemas.names import domain_name

__all__ = ["LAYER", "RuleLookup", "data", "function_of_rules", "infer", "registered_rules", "rule", "rule_problem"]

LAYER = Layer("inference.py", "opset.inference.families", "function", InferenceError, "I301", "opset explain inference")
_rules: dict[str, Function] = {}


def infer(*operators: str, since: int = 0, domain: str = "") -> Callable[[Function], Function]:
    """Return a decorator that registers a function as the one that infers the outputs of some operators.

    The function takes the node as a Call. It returns a shape, a Type or None for one output, or a list of these. The
    decorator returns the function unchanged.

    Args:
        operators: the names of the operators.
        since: the first version of the operators that the function is for, by default their very first. It is used up
            to the next version for which another function is registered.
        domain: the domain of the operators, by default ONNX's own.

    Raises:
        InferenceError: I301, by the decorator, if a version has another function already, or if code outside of this
            package registers one for an operator of the standard.
    """
    return LAYER.register("infer", operators, since, domain)


def data(*operators: str, since: int = 0, domain: str = "") -> Callable[[Function], Function]:
    """Return a decorator that registers a function as the one that computes elements of outputs of some operators.

    The function takes the node as a Call. It returns a tuple of elements for the first output, a list with a tuple for
    each output, or None if nothing is known. Parameters and errors are the same as in `infer`.
    """
    return LAYER.register("data", operators, since, domain)


def rule(name: str) -> Callable[[Function], Function]:
    """Return a decorator that registers a function as the rule called `name`, which YAML names in `shape:`.

    For `same(X)`, the name is "same". The function is called with the Call of the node, the index of the output, and
    one argument for each word in brackets. A word that names an input becomes its index, the name of an attribute stays
    a string, and a number becomes an int. An earlier rule of the same name is replaced.
    """

    def register(function: Function) -> Function:
        """Register the function as the rule, and return it."""
        _rules[name] = function
        return function

    return register


class RuleLookup:
    """Finds the inference functions of a registry's operators: rules that YAML names, or registered functions."""

    def __init__(self, registry: Registry) -> None:
        """Prepare the lookup for the operators of a registry."""
        self._lookup = Lookup(LAYER, registry)

    def find(self, schema: OpSchema) -> Hook | None:
        """Return the function that infers an operator's outputs, or None if there is none.

        If the schema names rules in `shape`, the function applies these rules. Otherwise, it is the one that `infer`
        registered. Raises InferenceError I302 if the rules are wrong, I301 if the Python files of a user's domain
        cannot be run.
        """
        if not schema.shape:
            return self._find_hook("infer", schema)
        try:
            return Hook(function_of_rules(schema), "", False)
        except LookupError as error:
            message = f"the rule for the outputs of {schema.name} {schema.since_version} cannot be used"
            place = f"{domain_name(schema.domain)}/{schema.name}.yaml"
            finding = Finding("I302", message, place, str(error.args[0]), "correct it: opset lint")
            raise InferenceError(finding) from error

    def find_data(self, schema: OpSchema) -> Hook | None:
        """Return the function that `data` registered for the elements of an operator's outputs, or None.

        Raises InferenceError I301 if the Python files of a user's domain cannot be run.
        """
        return self._find_hook("data", schema)

    def left_out(self, domain: str) -> str:
        """Return a sentence if the Python file of a domain was not run because its folder is not trusted, else ""."""
        return self._lookup.left_out(domain)

    def _find_hook(self, kind: str, schema: OpSchema) -> Hook | None:
        """Return the function that the decorator `kind`, "infer" or "data", registered for an operator, or None.

        Raises InferenceError I301 if the Python files of a user's domain cannot be run.
        """
        return self._lookup.find(kind, schema.domain, schema.name, schema.since_version, schema.family)


_RULE = re.compile(r"([a-z_]+)(?:\(([\w, -]*)\))?")


def function_of_rules(schema: OpSchema) -> Function:
    """Return the rules that a schema names in `shape`, such as "same(X); scalar", as one inference function.

    For an operator with one output, the function returns the result of its rule. Otherwise, it returns a list with the
    result for each output of the node; if there are fewer rules than outputs, the last rule is used for all further
    ones. In a list, an output whose rule raises Unknown is None, and the reason is added to the doubts of the Call.

    Raises:
        LookupError: a rule does not exist, an argument is no input, attribute or integer, or there are more rules than
            outputs.
    """
    importlib.import_module("opset.inference.rules")
    if schema.shape.count(";") >= max(len(schema.outputs), 1):
        raise LookupError(f"there are {schema.shape.count(';') + 1} rules for {len(schema.outputs)} outputs")
    inputs = {parameter.name: index for index, parameter in enumerate(schema.inputs)}
    parts = []
    for text in schema.shape.split(";"):
        match = _RULE.fullmatch(text.strip())
        if match is None or match[1] not in _rules:
            raise LookupError(f"there is no rule {text.strip()!r}; there are {', '.join(sorted(_rules))}")
        arguments: list[int | str] = []
        for word in filter(None, (match[2] or "").replace(" ", "").split(",")):
            if word in inputs:
                arguments.append(inputs[word])
            elif word in schema.attributes:
                arguments.append(word)
            elif word.lstrip("-").isdigit():
                arguments.append(int(word))
            else:
                raise LookupError(f"{schema.name} has no input or attribute {word!r}")
        parts.append((_rules[match[1]], tuple(arguments)))

    if len(parts) == 1 and len(schema.outputs) == 1 and schema.outputs[0].option != "variadic":
        function, only_arguments = parts[0]
        return lambda call: function(call, 0, *only_arguments)

    def outputs(call: Any) -> list[Any]:
        """Return the result of a rule for each output of the node, None if it raises Unknown."""
        results = []
        for index in range(call.output_count):
            function, arguments = parts[min(index, len(parts) - 1)]
            try:
                results.append(function(call, index, *arguments))
            except Unknown as error:  # the others may be known
                call.doubt(str(error))
                results.append(None)
        return results

    return outputs


def registered_rules(families: Iterable[str]) -> frozenset[tuple[str, str, int]]:
    """Return (domain, operator, first version) of each function that is registered by `infer`.

    The modules of `families` are imported first. Functions of modules that were imported before, and functions that
    users registered in Python, are included.
    """
    return LAYER.hook_versions("infer", families)


def rule_problem(schema: OpSchema) -> str:
    """Return why the rules in a schema's `shape` cannot be used, such as a rule that does not exist, or ""."""
    try:
        function_of_rules(schema)
    except LookupError as error:
        return str(error.args[0])
    return ""
