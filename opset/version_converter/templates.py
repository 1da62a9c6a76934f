"""What lowerings made of a node, to be made again of other nodes of the same form: networks repeat their blocks.

A form is all that an adapter can read of a node: attributes, types, shapes and small constants of its inputs. Where
one reads more, or makes something else than nodes, there is no template.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from opset.model import proto as pb
from opset.model.attributes import attribute_type
from opset.model.graph.index import Body, FreshNames
from opset.version_converter.facts import ValueFacts

SEPARATOR = "__"
"""What stands between the name of a value or node and the rest of a name that was made for it."""


class Template(NamedTuple):
    """Nodes without names of values and nodes, and these names apart: of each node its own, its inputs and outputs.

    Names are numbers: those of the replaced node come first (its own, inputs, outputs), then those in `made`, each with
    the number of the name that it was made for and what follows.
    """

    nodes: list[Any]
    names: list[tuple[int, list[int], list[int]]]
    made: list[tuple[int, str]]
    released: list[int]
    what: tuple[tuple[str, ...], tuple[str, ...]]


def form_of(body: Body, index: int, facts: ValueFacts) -> Hashable | None:
    """Return all that a lowering may read of a node, None where it may depend on more."""
    node = body.nodes[index]
    if body.root.function or node.doc_string or node.device_configurations or node.overload:
        return None
    attributes = []
    for each in node.attribute:
        if each.ref_attr_name or attribute_type(each) in ("graph", "graphs"):
            return None
        attributes.append(each.SerializeToString())
    inputs, outputs = list(node.input), list(node.output)
    return (
        node.op_type,
        node.domain,
        bool(node.name),
        tuple(attributes),
        tuple([inputs.index(name) if name else -1 for name in inputs]),
        tuple([(facts.type(name), facts.shape(name), facts.small_constant(name)) for name in inputs if name]),
        tuple([(bool(name), name and facts.type(name), facts.is_read(name)) for name in outputs]),
    )


def template_of(
    node: Any, made: Sequence[Any], released: Iterable[str], looked_up: Iterable[str], what: tuple[Any, Any]
) -> Template | None:
    """Return the template of what a node became, None where it depends on more than the form of the node.

    `looked_up` are the values whose facts adapters read, `released` those that the node no longer uses.
    """
    own = [node.name, *node.input, *node.output]
    # Names of nodes apart from those of values: a node may be named as one of its values, and the next one may not.
    labels = {node.name: 0, "": -1}
    numbers: dict[str, int] = {"": -1}
    for number, name in enumerate(own[1:], 1):
        numbers.setdefault(name, number)
    stems = {name: number for number, name in enumerate(own) if name and (not number or number > len(node.input))}
    added: list[tuple[int, str]] = []

    def number_of(name: str, numbers: dict[str, int], stems: dict[str, int]) -> int:
        if name not in numbers:
            stem = max((each for each in stems if name.startswith(each + SEPARATOR)), key=len, default=None)
            if stem is None:
                raise _Unknown
            numbers[name] = len(own) + len(added)
            added.append((stems[stem], name[len(stem) :]))
        return numbers[name]

    try:
        outputs = [[number_of(name, numbers, stems) for name in each.output] for each in made]
        known = {*numbers}
        if {name for name in node.output if name}.difference(*[each.output for each in made]):
            return None  # an initializer has taken the place of the node
        if not known.issuperset(name for each in made for name in each.input):
            return None
        names = [
            (number_of(each.name, labels, {node.name: 0}), [numbers[name] for name in each.input], computed)
            for each, computed in zip(made, outputs, strict=True)
        ]
        if any(attribute_type(a) in ("graph", "graphs") for each in made for a in each.attribute):
            return None
        left = [number_of(name, numbers, stems) for name in released]
        for name in looked_up:
            number_of(name, numbers, stems)
    except _Unknown:
        return None
    bare = []
    for each in made:
        copy = pb.NodeProto()
        copy.CopyFrom(each)
        for field in ("input", "output", "name", "metadata_props"):
            copy.ClearField(field)
        bare.append(copy)
    return Template(bare, names, added, left, what)


def repeated(template: Template, node: Any, fresh: FreshNames) -> tuple[list[Any], list[str]]:
    """Return what a node of the template's form becomes, and the values that it no longer uses."""
    names = [node.name, *node.input, *node.output]
    for number, rest in template.made:
        names.append(fresh.fresh(names[number] + rest))
    names.append("")  # number -1
    made = []
    for bare, (name, inputs, outputs) in zip(template.nodes, template.names, strict=True):
        copy = pb.NodeProto()
        copy.CopyFrom(bare)
        if names[name]:
            copy.name = names[name]
        copy.input.extend([names[each] for each in inputs])
        copy.output.extend([names[each] for each in outputs])
        copy.metadata_props.extend(node.metadata_props)
        made.append(copy)
    return made, [names[each] for each in template.released]


class _Unknown(Exception):
    """A name that no rule made of the node's own."""
