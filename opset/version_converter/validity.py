"""Whether the nodes of a model fit their operators at the version that they are written in, checked once for each form.

What a node has to fit is its operator's signature, and the constraints that attributes declare. Ranks that they depend
on and that the model does not state are inferred only for values that are unusual: inference takes longer than the
conversion of a model whose nodes are kept. Forms that runtimes accept pass (opset/schemas/quirks.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from opset.errors import printable
from opset.model.attributes import attribute_type, attribute_value
from opset.model.graph.index import Body, Operator
from opset.opsets.registry import Registry
from opset.schemas import quirks
from opset.schemas.constraints.signature import (
    Misfit,
    arity_misfits,
    attribute_misfits,
    constraint_misfits,
    declared_attributes,
    needs_ranks,
)
from opset.schemas.constraints.subgraphs import check_graphs
from opset.schemas.constraints.violation import Violation
from opset.schemas.model import OpSchema
from opset.version_converter.facts import ValueFacts
from opset.version_converter.rewrite import Refusal

USUAL_RANK = 4
"""What a value fits that also fits most tensors."""
_SMALL = ("int", "float", "string")


class Fit(NamedTuple):
    """What the nodes of an operator are checked against, and the forms that fit.

    `constrained` are the attributes that declare a constraint; `ranked` says that one depends on the ranks of inputs,
    `small` that the values of attributes are part of a form.
    """

    schema: OpSchema
    constrained: frozenset[str]
    ranked: bool
    small: bool
    forms: set[tuple[Any, ...]]


class Validity:
    """Checks the nodes of one model."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._fits: dict[tuple[Operator, int], Fit] = {}

    def plain_nodes_fit(self, body: Body, versions: Mapping[str, int]) -> bool:
        """Whether all nodes without attributes whose inputs are all given fit; most nodes of most models are such."""
        counts = map(len, body.reads), map(len, body.computes), map(bool, body.attributes)
        for (op_type, domain), reads, computes, has_attributes in {*zip(body.operators, *counts, strict=True)}:
            schema = None if has_attributes else self._registry.schema(op_type, versions.get(domain, 0), domain)
            if schema is not None and (
                any(arity_misfits(schema, ["x"] * reads))
                or any(arity_misfits(schema, ["x"] * computes, outputs=True))
                or any(attribute_misfits(schema, {}))
            ):
                return False
        return True

    def check(self, body: Body, index: int, version: int, facts: ValueFacts) -> None:
        """Raise Refusal C103 where a node does not fit its operator, which exists at that version."""
        operator, reads, attributes = body.operators[index], body.reads[index], body.attributes[index]
        fit = self._fits.get((operator, version))
        if fit is None:
            fit = self._fits[operator, version] = self._fit(operator, version)
        _check_graphs(fit.schema, version, body, index)
        absent = tuple(map(bool, reads)) if "" in reads else len(reads)
        form: tuple[Any, ...] = (absent, len(body.computes[index]))
        ranks: tuple[int | None, ...] = ()
        if attributes and fit.small:
            form += tuple([each.SerializeToString() for each in attributes])
            if fit.ranked:
                ranks = tuple([facts.stated_rank(name) if name else None for name in reads])
                form += ranks
        elif attributes:
            form += tuple([(a.name, a.type or attribute_type(a), not a.ref_attr_name) for a in attributes])
        if form not in fit.forms:
            values = _checked(fit, body, index)
            usual = [USUAL_RANK if rank is None else rank for rank in ranks]
            unusual = None in ranks and any(_illegal(fit, version, values, usual))
            if unusual:
                shapes = [facts.shape(name) if name else None for name in reads]
                ranks = tuple([None if shape is None else len(shape) for shape in shapes])
            for misfit in _illegal(fit, version, values, ranks):
                raise Refusal("C103", f"{misfit.what}: {misfit.why} (constraint {misfit.constraint})")
            if not unusual:
                fit.forms.add(form)

    def _fit(self, operator: Operator, version: int) -> Fit:
        schema = self._registry.schema(operator[0], version, operator[1])
        assert schema is not None
        declared = [each for each in declared_attributes(schema) if each.constraint]
        constrained = frozenset([each.name for each in declared])
        small = bool(constrained) or all(each.type.removesuffix("s") in _SMALL for each in schema.attributes.values())
        return Fit(schema, constrained, any(map(needs_ranks, declared)), small, set())


def _checked(fit: Fit, body: Body, index: int) -> dict[str, Any]:
    """Return the values of a node's constrained attributes.

    Raises Refusal C103 with the first thing in which the node does not fit its operator's signature.
    """
    schema, attributes = fit.schema, body.attributes[index]
    types: dict[str, str | None] = {}
    for attribute in attributes:
        if attribute.name in types:
            raise Refusal("C103", f"the attribute '{printable(attribute.name)}' is a duplicate")
        types[attribute.name] = None if attribute.ref_attr_name else attribute_type(attribute)
    types = {name: type_ for name, type_ in types.items() if not quirks.is_internal(name)}
    for misfits in (
        arity_misfits(schema, body.reads[index]),
        arity_misfits(schema, body.computes[index], outputs=True),
        attribute_misfits(schema, types),
    ):
        for misfit in misfits:
            raise Refusal("C103", f"{misfit.what}: {misfit.why}")
    return {
        each.name: attribute_value(each)
        for each in attributes
        if each.name in fit.constrained and not each.ref_attr_name
    }


def _check_graphs(schema: OpSchema, version: int, body: Body, index: int) -> None:
    """Raise Refusal C103 where a graph of a node does not take or give what the node passes."""
    attributes = {each.name: each for each in body.attributes[index] if not each.ref_attr_name}
    graphs = {name: each.g for name, each in attributes.items() if attribute_type(each) == "graph"}
    if not graphs or schema.domain:
        return
    scans = attribute_value(attributes["num_scan_inputs"]) if "num_scan_inputs" in attributes else None
    counts = len(body.reads[index]), len(body.computes[index])
    try:
        check_graphs(schema.name, version, *counts, graphs, scans if isinstance(scans, int) else None)
    except Violation as violation:
        raise Refusal("C103", f"{violation.detail} (constraint {violation.label})") from None


def _illegal(fit: Fit, version: int, values: Mapping[str, Any], ranks: Sequence[int | None]) -> Iterator[Misfit]:
    """Yield what breaks a constraint at these ranks of the inputs."""
    for misfit in constraint_misfits(fit.schema, values, ranks):
        if not quirks.is_kept(fit.schema, version, misfit.name, values[misfit.name]):
            yield misfit
