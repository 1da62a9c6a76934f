"""Compares the claims of `change:` blocks with the examples, on both sides of the transition.

The conversion of examples runs the adapters that follow from a claim. This module tests the claim itself: attributes
without effect get other values, a value for the old behavior is put into the converted node, and types that are
emulated are cast.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from opset.errors import Finding, RunError, safe_text
from opset.model import proto as pb
from opset.model.arrays import tensor_of
from opset.model.elements import NUMBERS, element_name
from opset.reference.comparison import ulps
from opset.reference.example_models import attribute_of, model_of, value_of
from opset.reference.values import type_of
from opset.rules import RuleTable
from opset.schemas.constraints.signature import BOOL, DATA_TYPE, value_misfits
from opset.schemas.example import Example, ExampleValue, example_versions, is_random
from opset.schemas.model import Attribute, OpSchema, Parameter
from opset.schemas.names import normalize_domain
from opset.workflow.examples.conversions import convert_example, with_standard
from opset.workflow.examples.runner import LIMITS, Examination, ExampleRunner, disagreements, version_name

MOST = 3
"""Other values of an attribute that are tried on one example."""
_ELEMENT = re.compile(r"\b(\w+)\)")
Values = tuple[ExampleValue | None, ...]


_FACETS: dict[str, Callable[[Any], str]] = {
    "ignored": lambda value: "true",
    "old": safe_text,
    "input": str,
    "only_for": lambda value: safe_text([*value]),
    "negative": lambda value: "true",
    "renamed": str,
    "values": lambda value: safe_text(dict(value)),
    "undefined": safe_text,
}
"""Facets of attributes, in the order of the guide, with the text of a value."""


class ClaimResult(NamedTuple):
    """The result of testing a claim, which is a statement of a `change:` block.

    - `shown`: whether an example tests it; `against`: the examples that contradict it, each with how;
    - `open`: the beginning of a sentence on a doubt that remains, "" if none does.
    """

    shown: bool
    against: Sequence[tuple[Example, str]] = ()
    open: str = ""


class Claim(NamedTuple):
    """A statement of a `change:` block that examples can contradict, such as `attributes: {alpha: {old: 1.0}}`.

    `key` is the code of its rule in CLAIMS, `keys` the path of YAML keys below the block, `text` the statement in
    messages, and `name` and `value` mostly an attribute and its stated value.
    """

    tests: ClaimTests
    key: str
    keys: tuple[str, ...]
    text: str
    name: str = ""
    value: Any = None


CLAIMS: RuleTable[ClaimResult] = RuleTable("opset.workflow.examples", ("claims",))
"""The rules that test claims, by keys of a change block; "moved" is the claim that an operator was renamed."""


def check_claims(runner: ExampleRunner, schema: OpSchema, report: Examination) -> None:
    """Test the claims of a version's `change:` block on its examples, and add the results to a report.

    Each claim is one test. It fails with the finding T108 if an example contradicts it. It is skipped if a kernel is
    missing, or if no example tests the claim. Otherwise, it passes. A claim that no example tests, or that examples
    test only in part, gets a note in the report.

    The first version, and one without the block, have no claims. If an adapter is declared as "written", but does not
    exist, this is a failed test with the finding T110.
    """
    versions = runner.registry.versions(schema.name, schema.domain)
    position = versions.index(schema)
    if schema.change is None or not position:
        return
    older = versions[position - 1]
    for direction in filter(partial(runner.lacks_written_adapter, schema), ("up", "down")):
        message = f"{version_name(schema)}: no adapter {direction} is written, and '{direction}: written' is declared"
        place = runner.place_of_key(schema, "change", "adapters", direction)
        help = "write it: opset explain adapters; or declare it derived, or impossible"
        report.count("claims", [Finding("T110", message, place, help=help)])
    missing = runner.why_not_computed(older) or runner.why_not_computed(schema)
    for claim in ClaimTests(runner, older, schema).claims():
        if missing:
            report.skip("claims", missing)
            continue
        ((_, result),) = CLAIMS.apply(claim, codes={claim.key})
        if result.against:
            example, why = result.against[0]
            place = runner.place_of_key(schema, "change", *claim.keys)
            message = f"{version_name(schema)}: the example '{example.name}' contradicts the claim '{claim.text}'"
            more = len(result.against) - 1
            why += f"; {more} more example{'s' * (more > 1)} contradict{'s' * (more == 1)} it" if more else ""
            help = f"the example is at {runner.place_of(schema, example)}"
            report.count("claims", [Finding("T108", message, place, why, help)])
        elif result.shown:
            report.count("claims", [])
        else:
            report.skip("claims", "no example shows it")
        if not result.against and (result.open or not result.shown):
            place = runner.place_of_key(schema, "change", *claim.keys)
            report.notes.append(f"{place}: {version_name(schema)}: {result.open or 'no example shows'} '{claim.text}'")


class ClaimTests:
    """Runs examples on the two versions of a transition, to test what its `change:` block claims."""

    def __init__(self, runner: ExampleRunner, older: OpSchema, newer: OpSchema) -> None:
        """Create the tests of the claims of `newer`, which has a `change:` block; `older` is the version before."""
        self.runner = runner
        self.older = older
        self.newer = newer
        assert newer.change is not None
        self.change = newer.change
        self._converted: dict[str, Any] = {}

    def claims(self) -> Iterator[Claim]:
        """Return an iterator of the claims of the `change:` block that examples can test, in a fixed order."""
        return (claim for claim in self._entries() if CLAIMS.by_code[claim.key].applies(claim))

    def _entries(self) -> Iterator[Claim]:
        """Yield every statement of the `change:` block as a claim, even statements that examples cannot test.

        The order is `clarified`, adapters that are derived (up, then down), attributes as in the file, `renamed`,
        `emulate`. `clarified` is left out if the block also says that the meaning changed.
        """
        change = self.change
        if change.clarified and not change.meaning:
            yield Claim(self, "clarified", ("clarified",), "clarified")
        for direction in ("up", "down"):
            if getattr(change, direction) == "derived":
                yield Claim(self, "derived", ("adapters", direction), f"{direction}: derived", direction)
        for name, facet in change.attributes.items():
            for key, text_of in _FACETS.items():
                value = getattr(facet, key)
                is_stated = value is not None if key in ("old", "undefined") else bool(value)
                if is_stated and not (key == "values" and facet.renamed):
                    text = f"{name}: {{{key}: {text_of(value)}}}"
                    yield Claim(self, key, ("attributes", name, key), text, name, value)
        if change.renamed:
            yield Claim(self, "moved", ("renamed",), "renamed: true", "up")
        for new, old in change.emulate.items():
            yield Claim(self, "emulate", ("emulate", new), f"emulate: {{{new}: {old}}}", new, old)

    def examples(self, schema: OpSchema) -> Iterator[tuple[Example, list[Any]]]:
        """Yield (example, outputs of the kernel) for each example of a version that its kernel computes correctly.

        Examples with random outputs are left out. Raises RunError if a limit is exceeded.
        """
        for example in self.runner.examples(schema):
            values = None if is_random(example) else self.kernel_outputs(schema, example)
            if values is not None and not disagreements(example, values):
                yield example, values

    def kernel_outputs(self, schema: OpSchema, example: Example) -> list[Any] | None:
        """Return the outputs that the kernel of a version computes for an example; None if it fails or does not exist.

        Raises RunError if a limit is exceeded, BudgetExceeded if the runner's budget is used up.
        """
        return self.run_model(model_of(schema, example), example)

    def run_model(self, model: Any, example: Example) -> list[Any] | None:
        """Return the outputs of a ModelProto for an example's inputs; None if it fails.

        Raises RunError if a limit is exceeded.
        """
        try:
            return self.runner.run(model, example)
        except RunError as error:
            if error.code in LIMITS:
                raise
            return None

    def convert_example(self, example: Example) -> Any:
        """Return the ModelProto of an example of the older version, converted to the newer version.

        The result is None if the conversion is refused. The ModelProto is kept for the next call, and must not be
        changed.
        """
        if example.name not in self._converted:
            _, converted = convert_example(self.runner, self.older, example, self.newer.since_version)
            self._converted[example.name] = None if converted.model is None else converted.model.as_given()
        return self._converted[example.name]

    def operator_nodes(self, model: Any) -> list[Any]:
        """Return the nodes of a ModelProto that call the operator whose claims are tested, in order.

        Only the model's main graph is searched: not subgraphs, and not functions.
        """
        operator = self.newer.name, self.newer.domain
        return [each for each in model.graph.node if (each.op_type, normalize_domain(each.domain)) == operator]

    def has_same_defaults(self, example: Example) -> bool:
        """Return whether each attribute that an example leaves out has the same default in both versions.

        Attributes that only one of the versions has are not compared. Two attributes without a default count as the
        same.
        """
        pairs = ((self.older.attributes.get(name), each) for name, each in self.newer.attributes.items())
        return all(old is None or old.default == new.default or new.name in example.attributes for old, new in pairs)

    def check_effect(
        self, schema: OpSchema, name: str, is_concerned: Callable[[Example, list[Any]], bool]
    ) -> ClaimResult:
        """Return the result of testing the claim that an attribute of the version `schema` has no effect on outputs.

        The kernel computes each example again with other values of the attribute `name`. If an output changes, the
        example contradicts the claim. Only examples for which `is_concerned(example, outputs)` is true are used.
        """
        attribute = schema.attributes[name]
        shown = False
        against = []
        for example, values in self.examples(schema):
            if not is_concerned(example, values):
                continue
            for other in other_values(schema, attribute, example.attributes.get(name, attribute.default)):
                varied = self.kernel_outputs(schema, example._replace(attributes={**example.attributes, name: other}))
                shown |= varied is not None
                if varied is not None and (why := _first_difference(values, varied)):
                    against.append((example, f"with {name} = {safe_text(other)}, {why}"))
                    break
        return ClaimResult(shown, against)

    def contradiction(
        self, example: Example, converted: Any, results: Sequence[Any], others: Iterable[Sequence[Any] | None]
    ) -> str:
        """Return how `results` differ from an example's outputs and so contradict a claim; "" if the claim may hold.

        The claim states the value of an attribute or input at the newer version. It is contradicted if the outputs with
        this value are wrong, and the outputs without the value or with another value are right. If the outputs are
        wrong in each case, something else may be the cause, and the result is "".

        Args:
            example: Example of the older version.
            converted: ModelProto of the example at the newer version, without the value.
            results: Outputs with the value that the claim states.
            others: For each other value that was tried, the outputs with it, or None if the model failed.

        Raises:
            RunError: If a limit is exceeded.
            BudgetExceeded: If the runner's budget is used up.
        """
        why = "; ".join(disagreements(example, results))
        if not why:
            return ""
        usual = self.run_model(converted, example)
        right = usual is not None and not disagreements(example, usual)
        return why if right or any(each is not None and not disagreements(example, each) for each in others) else ""

    def run_with_attribute(self, converted: Any, example: Example, name: str, value: Any) -> list[Any] | None:
        """Return the outputs of a converted example with the attribute `name` of its nodes set to `value`.

        `converted` is the ModelProto of the example, which is not changed. The result is None if no node is of the
        operator, or if the model fails.
        """
        model = pb.ModelProto()
        model.CopyFrom(converted)
        nodes = self.operator_nodes(model)
        if not nodes:
            return None
        for node in nodes:
            for each in [each for each in node.attribute if each.name == name]:
                node.attribute.remove(each)
            node.attribute.append(attribute_of(name, self.newer.attributes[name].type, value))
        return self.run_model(model, example)

    def run_with_input(self, converted: Any, example: Example, index: int, value: Any) -> list[Any] | None:
        """Return the outputs of a converted example with the constant at input `index` of its node set to `value`.

        `converted` is the ModelProto of the example, which is not changed. The result is None if the operator does not
        have exactly one node, if the input is no constant, or if the model fails.
        """
        model = pb.ModelProto()
        model.CopyFrom(converted)
        nodes = self.operator_nodes(model)
        if len(nodes) != 1 or len(nodes[0].input) <= index or not (name := nodes[0].input[index]):
            return None
        stated = [*value] if isinstance(value, list | tuple) else [value]
        tensors = [each for each in model.graph.initializer if each.name == name]
        for node in model.graph.node:
            if (node.op_type, normalize_domain(node.domain)) == ("Constant", "") and name in node.output:
                tensors += [each.t for each in node.attribute if each.HasField("t")]
        if len(tensors) != 1:
            return None
        dims = tuple(tensors[0].dims)
        type_ = f"tensor({element_name(tensors[0].data_type)})"
        content = ExampleValue(type_, stated, dims if math.prod(dims) == len(stated) else (len(stated),))
        tensors[0].CopyFrom(tensor_of(tensors[0].name, value_of(content)))
        return self.run_model(model, example)

    def examples_of_type(self, element: str) -> Iterator[Example]:
        """Yield examples of the newer version that have an input of an element type, such as "float16".

        An example without such an input is cast to the type. It is left out if no input may have the type, if the type
        cannot represent the elements, or if an attribute of the example names an element type.
        """
        type_ = f"tensor({element})"
        for example, _ in self.examples(self.newer):
            if any(each is not None and each.type == type_ for each in example.inputs):
                yield example
            elif not any(self.newer.attributes[name].kind == DATA_TYPE for name in example.attributes):
                retyped = self._retype(example, type_)
                if retyped.inputs != example.inputs and _is_representable(retyped):
                    yield retyped

    def _retype(self, example: Example, type_: str) -> Example:
        """Return a copy of an example in which inputs and outputs have the type `type_`, such as "tensor(float16)".

        A value changes only if the newer version allows the type there, and if both the old and the new type have
        floats, or both integers. Elements of inputs stay as they are, and elements of all outputs become unknown.
        """
        kinds = {name for name, types in self.newer.types.items() if type_ in types}

        def is_alike(old: str) -> bool:
            """Return whether a type has numbers of the same kind as `type_`: both have floats, or both integers."""
            return _is_number(old) and _is_float(old) == _is_float(type_)

        def values(given: Sequence[ExampleValue | None], formals: Sequence[Parameter]) -> Values:
            """Return the values `given` for the inputs or outputs `formals`, with the new type if they may have it."""
            types = [formals[min(index, len(formals) - 1)].type for index in range(len(given))]
            return tuple(
                each._replace(type=type_) if each is not None and kind in kinds and is_alike(each.type) else each
                for kind, each in zip(types, given, strict=True)
            )

        outputs = values(example.outputs or (), self.newer.outputs)
        unknown = tuple(each if each is None else each._replace(content=None) for each in outputs)
        return example._replace(inputs=values(example.inputs, self.newer.inputs), outputs=unknown)

    def emulating_model(self, example: Example, values: Sequence[Any], new: str, old: str) -> Any:
        """Return a ModelProto that runs an example's node in the type `old` instead of `new`, such as "float16".

        Casts to `old` stand before the node, and casts back to `new` behind it. An attribute that names the type `new`
        gets `old`. `values` are the outputs that the kernel computes for the example; those of the type `new` are cast
        back.
        """
        model = with_standard(model_of(self.newer, example))
        (node,) = model.graph.node
        nodes = []
        for index, name in enumerate(node.input):
            value = example.inputs[index]
            if value is not None and value.type == f"tensor({new})":
                nodes.append(_cast_node(name, f"wide_{name}", old))
                node.input[index] = f"wide_{name}"
        for attribute in node.attribute:
            declared = self.newer.attributes[attribute.name]
            if declared.kind == DATA_TYPE and attribute.i == NUMBERS[new]:
                attribute.i = NUMBERS[old]
        casts_back = []
        computed = iter(values)
        for index, name in enumerate(node.output):
            if name and type_of(next(computed)) == f"tensor({new})":
                node.output[index] = f"wide_{name}"
                casts_back.append(_cast_node(f"wide_{name}", name, new))
        nodes.append(pb.NodeProto())
        nodes[-1].CopyFrom(node)
        del model.graph.node[:]
        model.graph.node.extend([*nodes, *casts_back])
        return model


def states_old_value(claim: Claim) -> bool:
    """Return whether the claim `old: value` about an attribute has to be tested.

    The claim says that with this value, the newer version of the operator behaves as the older version did. It has to
    be tested if the YAML states it. It also has to be tested if the adapter to the newer version is derived from the
    YAML: without a stated value, such an adapter relies on the attribute's default.

    The result is False for an attribute that was renamed or removed.
    """
    tests = claim.tests
    if claim.name not in tests.newer.attributes or tests.change.attributes[claim.name].renamed:
        return False
    return tests.change.up == "derived" or tests.runner.has_key(tests.newer, "change", *claim.keys)


@CLAIMS.rule("clarified", Claim)
def check_clarified(claim: Claim) -> Iterator[ClaimResult]:
    """Yield one result for the claim `clarified`: the older and the newer version compute the same outputs.

    An example that holds at both versions confirms the claim. Any other example is run by the kernel of the version at
    which it does not hold. The claim is contradicted if this kernel computes outputs that differ from the example's.

    An example is left out if the version of the kernel lacks one of its attributes. It is also left out if the older
    and the newer version have different defaults for an attribute that the example does not state.
    """
    tests = claim.tests
    against = []
    shown = False
    for one, another in ((tests.older, tests.newer), (tests.newer, tests.older)):
        for example, values in tests.examples(one):
            if example_versions(example, (another.since_version,)):  # its kernel has to compute it anyway
                shown = True
                continue
            if not example.attributes.keys() <= another.attributes.keys() or not tests.has_same_defaults(example):
                continue
            outputs = tests.kernel_outputs(another, example)
            shown |= outputs is not None
            if outputs is not None and (why := disagreements(example, outputs) and _first_difference(values, outputs)):
                against.append((example, f"version {another.since_version} computes something else: {why}"))
    yield ClaimResult(shown, against)


@CLAIMS.rule("derived moved", Claim)
def check_conversion(claim: Claim) -> Iterator[ClaimResult]:
    """Yield one result for the claim that nodes can be converted: `up: derived`, `down: derived` or `renamed: true`.

    `shown` of the result is True if at least one example can be converted, else False. Outputs of the converted example
    are not computed. An example that cannot be converted is not taken as evidence against the claim.
    """
    tests = claim.tests
    source, target = (tests.older, tests.newer) if claim.name == "up" else (tests.newer, tests.older)
    for example in tests.runner.examples(source):
        _, converted = convert_example(tests.runner, source, example, target.since_version)
        if converted.model is not None:
            yield ClaimResult(True)
            return
    yield ClaimResult(False)


@CLAIMS.rule("ignored", Claim, applies=lambda claim: claim.name in claim.tests.older.attributes)
def check_ignored(claim: Claim) -> Iterator[ClaimResult]:
    """Yield one result for the claim `ignored: true`: an attribute that the newer version removes never had an effect.

    The kernel of the older version computes the examples of the older version with other values of the attribute. A
    change of an output contradicts the claim.
    """
    tests = claim.tests
    yield tests.check_effect(tests.older, claim.name, lambda example, values: True)


@CLAIMS.rule("only_for", Claim)
def check_only_for(claim: Claim) -> Iterator[ClaimResult]:
    """Yield one result for the claim `only_for: [types]`: without these element types, the attribute has no effect.

    Examples with one of the types in an input or output are left out. For each other example, the kernel computes the
    outputs again, with other values of the attribute. A change of an output contradicts the claim.
    """
    tests = claim.tests
    types = frozenset(claim.value)

    def is_concerned(example: Example, values: list[Any]) -> bool:
        """Return whether no input and no output of an example has one of the element types that the claim names."""
        texts = [each.type for each in example.inputs if each is not None] + [type_of(each) for each in values]
        return not any(types.intersection(_ELEMENT.findall(text)) for text in texts)

    yield tests.check_effect(tests.newer, claim.name, is_concerned)


@CLAIMS.rule("old", Claim, applies=states_old_value)
def check_old(claim: Claim) -> Iterator[ClaimResult]:
    """Yield one result for the claim `old: value`: with this value, the newer version computes what the older one did.

    Each example of the older version is converted to the newer one, and gets the value for the attribute. If its
    outputs then differ, this contradicts the claim only if another value gives the right ones. Examples that set the
    attribute in the older version are not used. If every other value gives the same outputs, too, the result has a note
    of doubt. There is no such note for an attribute with `only_for`, the only types for which it has an effect.
    """
    tests = claim.tests
    name = claim.name
    value = claim.value
    attribute = tests.newer.attributes[name]
    tried = distinct = False
    against = []
    for example, values in tests.examples(tests.older):
        converted = tests.convert_example(example)
        if converted is None or (name in tests.older.attributes and name in example.attributes):
            continue
        stated = value
        if isinstance(value, dict):
            stated = [value["all"]] * _list_length(converted, tests.operator_nodes(converted), name)
        results = tests.run_with_attribute(converted, example, name, stated)
        if results is None:
            continue
        tried = True
        others = [*other_values(tests.newer, attribute, stated)]
        varied = [tests.run_with_attribute(converted, example, name, each) for each in others]
        if why := tests.contradiction(example, converted, results, varied):
            against.append((example, f"with {name} = {safe_text(stated)}, {why}"))
        distinct = distinct or any(each is not None and _first_difference(values, each) for each in varied)
    unclear = tried and not distinct and not tests.change.attributes[name].only_for
    yield ClaimResult(tried, against, "the examples give the same with other values than" if unclear else "")


@CLAIMS.rule("renamed values", Claim)
def check_renamed(claim: Claim) -> Iterator[ClaimResult]:
    """Yield one result for the claim `renamed` (an attribute has a new name) or `values` (its values have new names).

    Each example of the older version that sets the attribute is converted to the newer one. The converted node then
    gets the attribute under its new name, with the new name of the value if there is one. If its outputs differ from
    the example's, this contradicts the claim only if another value gives the right ones. Examples that cannot be
    converted or run are left out. A doubt remains about values that no example has.
    """
    tests = claim.tests
    name = claim.name
    facet = tests.change.attributes[name]
    before = facet.renamed or name
    values = facet.values
    shown = False
    against = []
    missing = {*values}
    for example, _ in tests.examples(tests.older):
        if before not in example.attributes:
            continue
        old_value = example.attributes[before]
        value = values.get(old_value, old_value) if isinstance(old_value, str | int | float) else old_value
        converted = tests.convert_example(example)
        results = tests.run_with_attribute(converted, example, name, value) if converted is not None else None
        if results is None:
            continue
        shown = True
        if isinstance(old_value, str | int | float):
            missing.discard(old_value)
        others = other_values(tests.newer, tests.newer.attributes[name], value)
        varied = (tests.run_with_attribute(converted, example, name, each) for each in others)
        if why := tests.contradiction(example, converted, results, varied):
            against.append((example, f"with {name} = {safe_text(value)}, {why}"))
    yield ClaimResult(shown, against, f"no example has {safe_text(sorted(missing))} for" if missing and shown else "")


@CLAIMS.rule("undefined", Claim)
def check_undefined(claim: Claim) -> Iterator[ClaimResult]:
    """Yield one result for the claim `undefined: value`: the value has no defined meaning in the older version.

    Each example of the older version that sets the attribute to this value contradicts the claim.
    """
    tests = claim.tests
    name = claim.name
    value = claim.value
    examples = [each for each, _ in tests.examples(tests.older)]
    against = [each for each in examples if each.attributes.get(name) == value]
    yield ClaimResult(bool(examples), [(each, f"it shows what {name} = {safe_text(value)} means") for each in against])


@CLAIMS.rule("input", Claim)
def check_input(claim: Claim) -> Iterator[ClaimResult]:
    """Yield one result for the claim `input: name`, that an attribute became the input of this name.

    Each example of the older version has a value of the attribute: its own or the default. The example is converted to
    the newer version, and gets this value as the input. If its outputs then differ, this contradicts the claim only if
    another value gives the right ones. Examples are not used if they have no value, if they cannot be converted or run,
    or if the input is no constant after the conversion.
    """
    tests = claim.tests
    name = claim.name
    input_name = claim.value
    index = next(i for i, each in enumerate(tests.newer.inputs) if each.name == input_name)
    attribute = tests.older.attributes[name]
    shown = False
    against = []
    for example, _ in tests.examples(tests.older):
        value = example.attributes.get(name, attribute.default)
        converted = tests.convert_example(example) if value is not None else None
        results = tests.run_with_input(converted, example, index, value) if converted is not None else None
        if results is None:
            continue
        shown = True
        others = [value + 1, value - 1] if isinstance(value, int | float) else []
        varied = (tests.run_with_input(converted, example, index, each) for each in others)
        if why := tests.contradiction(example, converted, results, varied):
            against.append((example, f"with the input {input_name} = {safe_text(value)}, {why}"))
    yield ClaimResult(shown, against)


@CLAIMS.rule("negative", Claim)
def check_negative(claim: Claim) -> Iterator[ClaimResult]:
    """Yield one result for the claim `negative: true`, that an axis counted from the end gives the same outputs.

    The kernel computes each example of the newer version again, with its axes counted from the other end: at rank 3, -2
    in place of 1. Other outputs or an error contradict the claim. The rank is read from the first input that is given.
    Examples are left out if this rank is unknown or 0, or if they have no axis.
    """
    tests = claim.tests
    name = claim.name
    attribute = tests.newer.attributes[name]
    shown = False
    against = []
    for example, values in tests.examples(tests.newer):
        axis_value = example.attributes.get(name, attribute.default)
        first = next((each for each in example.inputs if each is not None), None)
        rank = len(first.shape) if first is not None and first.shape is not None else 0
        if axis_value is None or not rank:
            continue
        axes = axis_value if isinstance(axis_value, list | tuple) else [axis_value]
        if not all(-rank <= axis < rank for axis in axes):
            continue
        flipped = [axis - rank if axis >= 0 else axis + rank for axis in axes]
        other = flipped if isinstance(axis_value, list | tuple) else flipped[0]
        varied = example._replace(attributes={**example.attributes, name: other})
        try:
            results = tests.runner.outputs(tests.newer, varied)
        except RunError as error:
            why = f"it is refused: {error.why or error.message}"
        else:
            why = _first_difference(values, results)
        shown = True
        if why:
            against.append((example, f"with {name} = {safe_text(other)} in place of {safe_text(axis_value)}, {why}"))
    yield ClaimResult(shown, against)


@CLAIMS.rule("emulate", Claim)
def check_emulate(claim: Claim) -> Iterator[ClaimResult]:
    """Yield one result for the claim `emulate: {new: old}`: examples of the type `new` give the same outputs in `old`.

    Such a claim is `{float16: float}`. Each example of the type `new` is computed twice: as it is, and with inputs of
    this type cast to `old` and outputs cast back. An example contradicts the claim if outputs are not the same to the
    last digit. Examples that cannot be computed are left out; if none remains, the result says that nothing tests the
    claim.
    """
    tests = claim.tests
    new = claim.name
    old = claim.value
    shown = False
    against = []
    for example in tests.examples_of_type(new):
        values = tests.kernel_outputs(tests.newer, example)
        if values is None:
            continue
        results = tests.run_model(tests.emulating_model(example, values, new, old), example)
        if results is None:
            continue
        shown = True
        if why := _first_difference(values, results):
            against.append((example, f"through {old}, {why}"))
    yield ClaimResult(shown, against)


def _is_float(type_: str) -> bool:
    """Return whether a type, such as "tensor(float16)", has elements that are real floats of any width, also double."""
    return "float" in type_ or "double" in type_


def _is_number(type_: str) -> bool:
    """Return whether a type is a tensor of integers or real floats; False for bools, text and complex numbers."""
    return type_.startswith("tensor(") and not any(each in type_ for each in ("string", "bool", "complex"))


def _is_representable(example: Example) -> bool:
    """Return whether the inputs of an example can be built with their types; False if an integer is out of range.

    A float that is rounded, or becomes infinite, counts as representable. Outputs are not considered.
    """
    try:
        for each in filter(None, example.inputs):
            value_of(each)
    except (OverflowError, ValueError):
        return False
    return True


def _cast_node(source: str, target: str, element: str) -> Any:
    """Return a NodeProto of Cast from the value `source` to the value `target`.

    `element` is the new element type, such as "float16".
    """
    node = pb.NodeProto(op_type="Cast", input=[source], output=[target])
    node.attribute.append(attribute_of("to", "int", NUMBERS[element]))
    return node


def _list_length(model: Any, nodes: Sequence[Any], name: str) -> int:
    """Return the number of elements of the list attribute `name` in the first of `nodes` that has the attribute.

    If no node has the attribute, the result is the number of spatial dimensions: the rank of the model's first input
    minus 2, at least 0. If this rank is unknown, or the model has no input, the result is 0.
    """
    stated = [each for node in nodes for each in node.attribute if each.name == name]
    if stated:
        return len(stated[0].ints) or len(stated[0].floats)
    ranks = [len(each.type.tensor_type.shape.dim) for each in model.graph.input]
    return max(ranks[0] - 2, 0) if ranks else 0


def other_values(schema: OpSchema, attribute: Attribute, value: Any) -> list[Any]:
    """Return up to MOST legal values of an attribute that differ from `value`, to try them on examples.

    The result may be [], as for attributes that name an element type, and for text without choices.
    """
    if attribute.kind == DATA_TYPE:
        return []
    values: list[Any] = []
    if attribute.choices:
        values = [*attribute.choices]
    elif attribute.kind == BOOL:
        values = [0, 1]
    elif attribute.type == "int":
        values = [0, 1, 2, -1, *([value + 1] if isinstance(value, int) else [])]
    elif attribute.type == "float":
        values = [0.0, 1.0, 0.5, 2.0]
    elif attribute.type == "ints":
        listed = [*(value or ())]
        values = [[each + 1 for each in listed], listed[::-1], [0] * len(listed)] if listed else [[0], [1]]
    if attribute.type in ("ints", "floats", "strings") and attribute.choices:
        values = [[each] * len(value or (0,)) for each in values]
    legal = [each for each in values if each != value and not [*value_misfits(schema, {attribute.name: each})]]
    return legal[:MOST]


def _first_difference(expected: Sequence[Any], actual: Sequence[Any]) -> str:
    """Return the first difference between expected and actual outputs, even in the last digit; "" if there is none.

    Both lists must have the same length. An example is "output 0: it differs by 2 units of the last digit".
    """
    for index, (want, have) in enumerate(zip(expected, actual, strict=True)):
        why, apart = ulps(want, have)
        if why or apart:
            return f"output {index}: {why or f'it differs by {apart:.3g} units of the last digit'}"
    return ""
