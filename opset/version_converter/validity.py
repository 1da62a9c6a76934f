"""Validity: whether nodes fit their operators at the version that they are written in, checked once for each form.

A node has to fit its operator's signature, and the declared constraints as far as attributes, and the presence of
inputs, decide them. Ranks that they depend on and that the model does not state are inferred only for values that are
unusual: inference takes longer than the conversion of a model whose nodes are kept. Forms that runtimes accept pass
(opset/schemas/quirks.py).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from opset.errors import Finding, safe_text
from opset.model.attributes import attribute_type, attribute_value
from opset.model.elements import ELEMENTS, NUMBERS, element_name
from opset.model.graph.index import Body, Operator
from opset.opsets.registry import Registry
from opset.schemas import quirks
from opset.schemas.constraints.input_shapes import Match, plan_of
from opset.schemas.constraints.signature import (
    Misfit,
    constraint_misfits,
    declared_attributes,
    needs_ranks,
    node_misfits,
)
from opset.schemas.constraints.violation import Violation
from opset.schemas.model import OpSchema
from opset.version_converter.facts import ValueFacts
from opset.version_converter.helps import version_help
from opset.version_converter.rewrite import Refusal

USUAL_RANK = 4
"""The rank of a tensor that most values of attributes fit."""
_SMALL = ("int", "float", "string")


class Fit(NamedTuple):
    """A version of an operator, and the forms of nodes that are known to fit it: facts on which the check depends.

    - `constrained`: names of attributes with a constraint; `ranked`: whether a constraint depends on ranks of inputs;
    - `small`: whether attributes are small, so that their values are part of a form; `forms`: the forms that fit.
    """

    schema: OpSchema
    constrained: frozenset[str]
    ranked: bool
    small: bool
    forms: set[tuple[Any, ...]]


class Validity:
    """Checks that nodes of one model fit their operators; nodes of the same form are checked once."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._fits: dict[tuple[Operator, int], Fit] = {}

    def plain_nodes_fit(self, body: Body, versions: Mapping[str, int]) -> bool:
        """Whether all nodes without attributes have as many inputs and outputs as their operators allow.

        Absent inputs, named "", count as present here; callers have to check nodes with absent inputs one by one. Nodes
        of unknown operators are not checked. `versions` are the opsets by domain.
        """
        counts = map(len, body.reads), map(len, body.computes), map(bool, body.attributes)
        for (op_type, domain), reads, computes, has_attributes in {*zip(body.operators, *counts, strict=True)}:
            schema = None if has_attributes else self._registry.schema(op_type, versions.get(domain, 0), domain)
            if schema is not None and any(node_misfits(schema, ["x"] * reads, ["x"] * computes, {})):
                return False
            if schema is not None and _broken_condition(schema, ["x"] * reads, {}):
                return False
        return True

    def check(self, body: Body, index: int, version: int, facts: ValueFacts) -> None:
        """Raise Refusal C103 if the node at `index` does not fit its operator, which must exist at the opset `version`.

        The number of inputs and outputs, attributes with their constraints, and the signatures of subgraphs are
        checked; types of inputs are not. A constraint that depends on an unknown rank counts as kept.
        """
        operator, reads, attributes = body.operators[index], body.reads[index], body.attributes[index]
        fit = self._fits.get((operator, version))
        if fit is None:
            fit = self._fits[operator, version] = self._fit_of(operator, version)
        _check_graphs(fit.schema, version, body, index)
        absent = tuple(map(bool, reads)) if "" in reads else len(reads)
        form: tuple[Any, ...] = (absent, len(body.computes[index]))
        ranks: tuple[int | None, ...] = ()
        if attributes and fit.small:
            form += tuple([attribute.SerializeToString() for attribute in attributes])
            if fit.ranked:
                ranks = tuple([facts.stated_rank(name) if name else None for name in reads])
                form += ranks
        elif attributes:
            form += tuple([(a.name, a.type or attribute_type(a), not a.ref_attr_name) for a in attributes])
        if form not in fit.forms:
            values = _check_signature(fit, body, index, self._registry)
            self._check_conditions(fit, version, body, index)
            usual = [USUAL_RANK if rank is None else rank for rank in ranks]
            unusual = None in ranks and any(_broken_constraints(fit, version, values, usual))
            if unusual:
                shapes = [facts.shape(name) if name else None for name in reads]
                ranks = tuple([None if shape is None else len(shape) for shape in shapes])
            for misfit in _broken_constraints(fit, version, values, ranks):
                raise Refusal("C103", f"{misfit.what}: {misfit.why} (constraint {misfit.constraint})")
            if not unusual:
                fit.forms.add(form)

    def _check_conditions(self, fit: Fit, version: int, body: Body, index: int) -> None:
        """Raise Refusal C103 if the node at `index` breaks a declared constraint, whatever shapes its inputs have.

        The value of an attribute counts as unknown if it refers to an attribute of a function. If the operator may have
        large attributes (`fit.small` is False), the values of all attributes count as unknown. An operator is not
        checked if runtimes accept some of its illegal values at `version`, the opset of ai.onnx.
        """
        schema, attributes = fit.schema, body.attributes[index]
        values = {each.name: attribute_value(each) for each in attributes if fit.small and not each.ref_attr_name}
        unknown = {each.name for each in attributes} - values.keys()
        broken = _broken_condition(schema, body.reads[index], values, unknown)
        if broken is None or (not schema.domain and quirks.quirk_of_values(schema.name, version) is not None):
            return
        text = self._registry.documentation(schema).constraints.get(broken.label, "")
        raise Refusal("C103", f"{broken.detail}: {text} (constraint {broken.label})")

    def _fit_of(self, operator: Operator, version: int) -> Fit:
        """Return a new Fit for an operator at an opset: its schema, and the facts on which the check of a node depends.

        Its `forms`, the forms of nodes that are known to fit, are empty. `operator` is the pair of name and domain; the
        registry must have it at this version.
        """
        schema = self._registry.schema(operator[0], version, operator[1])
        assert schema is not None
        constrained = [attribute for attribute in declared_attributes(schema) if attribute.constraint]
        small = all(attribute.type.removesuffix("s") in _SMALL for attribute in schema.attributes.values())
        return Fit(
            schema,
            constrained=frozenset([attribute.name for attribute in constrained]),
            ranked=any(map(needs_ranks, constrained)),
            small=small or bool(constrained),
            forms=set(),
        )


def invalid_note(first: Finding, count: int) -> str:
    """Return the note that a model stays as it is and is not valid: with its first fault, and how many others it has.

    `count` is the number of all faults.
    """
    others = f", and {count - 1:,} more" if count > 1 else ""
    return f"the model is not valid: {first.brief}{others}; opset check shows all"


def check_fit(index: int, facts: ValueFacts) -> None:
    """Raise Refusal C103 if the inputs of the node at `index` do not fit its operator, as far as was inferred."""
    if why := facts.misfit(index):
        raise Refusal("C103", why)


def check_element_types(body: Body, index: int, facts: ValueFacts, final: int) -> None:
    """Raise Refusal C202 if a value of the node at `index` has an element type that the opset `final` lacks.

    Inputs and outputs are checked. Values of unknown type are not refused.
    """
    for name in filter(None, (*body.reads[index], *body.computes[index])):
        element = ELEMENTS.get(NUMBERS.get(facts.element(name) or "", 0))
        if element is not None and element.opset > final:
            why = f"there is no element type {element.name} at opset {final}; it came with {element.opset}"
            raise Refusal("C202", why, f"convert to {element.opset} or newer")


def check_casts(nodes: Sequence[tuple[Any, int]], registry: Registry) -> None:
    """Raise Refusal C202 if a new node is a Cast to a type that Cast does not have at the node's opset.

    `nodes` are pairs of a NodeProto and the opset of its domain.
    """
    for node, version in nodes:
        if (node.op_type, node.domain) != ("Cast", ""):
            continue
        values = {each.name: attribute_value(each) for each in node.attribute}
        having = [each for each in registry.versions("Cast") if not [*constraint_misfits(each, values)]]
        if not any(each.since_version <= version for each in having):
            why = (
                f"it is cast to {element_name(values['to'])}, which Cast does not have at version {version} of ai.onnx"
            )
            raise Refusal("C202", why, f"convert to ai.onnx {having[0].since_version} or newer, too" if having else "")


def _check_signature(fit: Fit, body: Body, index: int, registry: Registry) -> dict[str, Any]:
    """Check the inputs, outputs and attributes of a node; return the attribute values that have a constraint, by name.

    Raises Refusal C103 if an attribute is stated twice, or if the node's inputs, outputs or attributes do not fit the
    operator. An attribute that refers to one of a function is not in the result.
    """
    schema, attributes = fit.schema, body.attributes[index]
    types: dict[str, str | None] = {}
    for attribute in attributes:
        if attribute.name in types:
            raise Refusal("C103", f"the attribute '{safe_text(attribute.name)}' is a duplicate")
        types[attribute.name] = None if attribute.ref_attr_name else attribute_type(attribute)
    types = {name: type_ for name, type_ in types.items() if not quirks.is_internal(name)}
    for misfit in node_misfits(schema, body.reads[index], body.computes[index], types):
        help = version_help(registry, schema, body.reads[index], body.computes[index], types)
        raise Refusal("C103", f"{misfit.what}: {misfit.why}", help)
    return {
        attribute.name: attribute_value(attribute)
        for attribute in attributes
        if attribute.name in fit.constrained and not attribute.ref_attr_name
    }


def _broken_condition(
    schema: OpSchema, reads: Sequence[str], attributes: Mapping[str, Any], unknown: Container[str] = ()
) -> Violation | None:
    """Return the declared constraint that a node breaks, whatever shapes its inputs have; None if it breaks none.

    For example, a Split 18 without `split` and `num_outputs` breaks one.

    Args:
        schema: The operator version of the node.
        reads: The names of its inputs, "" for absent ones.
        attributes: The values of its attributes by name.
        unknown: The names of attributes of which not even the presence is known.
    """
    plan = plan_of(schema)
    if plan is None or not plan.checks:
        return None
    values = {name: attributes.get(name, declared.default) for name, declared in schema.attributes.items()}

    def is_given(name: str) -> bool | None:
        if name in values:
            return None if name in unknown else values[name] not in (None, ())
        return plan.positions[name] < len(reads) and bool(reads[plan.positions[name]])

    def value_of(name: str) -> Any:
        return None if name in unknown else values.get(name)

    try:
        Match(plan, [None] * len(reads), value_of, lambda index: None, is_given).check()
    except Violation as violation:
        return violation
    return None


def _check_graphs(schema: OpSchema, version: int, body: Body, index: int) -> None:
    """Raise Refusal C103 if a subgraph of the node at `index` has the wrong number of inputs or outputs.

    The numbers follow from the node's own inputs and outputs, and from `num_scan_inputs`. Only operators of ai.onnx are
    checked; `version` is its opset.
    """
    from opset.schemas.constraints.subgraphs import check_graphs

    attributes = {attribute.name: attribute for attribute in body.attributes[index] if not attribute.ref_attr_name}
    graphs = {name: attribute.g for name, attribute in attributes.items() if attribute_type(attribute) == "graph"}
    if not graphs or schema.domain:
        return
    scans = attribute_value(attributes["num_scan_inputs"]) if "num_scan_inputs" in attributes else None
    counts = len(body.reads[index]), len(body.computes[index])
    try:
        check_graphs(schema.name, version, *counts, graphs, scans if isinstance(scans, int) else None)
    except Violation as violation:
        raise Refusal("C103", f"{violation.detail} (constraint {violation.label})") from None


def _broken_constraints(
    fit: Fit, version: int, values: Mapping[str, Any], ranks: Sequence[int | None]
) -> Iterator[Misfit]:
    """Yield a Misfit, which says what is wrong and why, for each attribute in `values` that breaks its constraint.

    `ranks` are the ranks of the node's inputs, None for an unknown one; a constraint that depends on an unknown rank
    counts as kept. Illegal values that runtimes accept at the opset `version` are left out.
    """
    for misfit in constraint_misfits(fit.schema, values, ranks):
        if not quirks.is_kept(fit.schema, version, misfit.name, values[misfit.name]):
            yield misfit
