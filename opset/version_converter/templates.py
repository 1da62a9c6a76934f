"""Templates of the nodes that express one, for other nodes of the same form: networks repeat their blocks.

A form is all that an adapter can read of a node: attributes, types, shapes and small constants of its inputs. If an
adapter reads more, or makes anything else than nodes, there is no template.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from opset.model import proto as pb
from opset.model.attributes import attribute_type
from opset.model.graph.index import Body, FreshNames
from opset.version_converter.facts import ValueFacts

SEPARATOR = "__"
"""The separator of the name of a value or node and the rest of a name that was made for it."""


class Template(NamedTuple):
    """The nodes that replace a node of one form, from which nodes for other nodes of that form are made.

    All names are numbers, which index a list of names. The list begins with the replaced node's own name, its inputs
    and its outputs. The names in `added` follow. -1 is "".

    - `nodes`: the nodes, without names; `names`: for each node, the numbers of its own name, its inputs and its
      outputs;
    - `added`: names that were made, each as the number of the name that it begins with, and the rest as text;
    - `released`: values that the replaced node reads and the new nodes do not;
    - `outcome`: the steps that were crossed, and the new operators;
    - `counts`: the nodes that the notes about the target's runtime count, by kind of note and operator.
    """

    nodes: list[Any]
    names: list[tuple[int, list[int], list[int]]]
    added: list[tuple[int, str]]
    released: list[int]
    outcome: tuple[tuple[str, ...], tuple[str, ...]]
    counts: Mapping[tuple[str, str], int] = {}


def form_of(body: Body, index: int, facts: ValueFacts) -> Hashable | None:
    """Return a key for the node at `index` of a body: a lowering gives the same result for nodes with equal keys.

    The key has the node's operator, attributes, types, shapes and small constants. It also says which names are equal,
    and which are absent. A lowering that reads anything else, such as a large constant, sets `ValueFacts.large_read`.
    The result of such a lowering holds for one node only.

    Returns None for a node in a function, for a node with a subgraph, and for a node with documentation, device
    configurations or an overload.
    """
    node = body.nodes[index]
    if body.root.function or node.doc_string or node.device_configurations or node.overload:
        return None
    attributes = []
    for attribute in node.attribute:
        if attribute.ref_attr_name or attribute_type(attribute) in ("graph", "graphs"):
            return None
        attributes.append(attribute.SerializeToString())
    inputs, outputs = list(node.input), list(node.output)
    return (
        node.op_type,
        node.domain,
        bool(node.name),
        tuple(attributes),
        tuple([inputs.index(name) if name else -1 for name in inputs]),
        tuple([_facts_about(name, facts) for name in inputs]),
        tuple([(bool(name), facts.type(name), facts.is_read(name)) for name in outputs]),
    )


def _facts_about(name: str, facts: ValueFacts) -> Hashable:
    """Return (type, shape, whether it is constant, elements) for a value; None for each fact that is not known.

    The elements are None, too, if there are more than MAX_READ. The value has a name.
    """
    return facts.type(name), facts.shape(name), facts.is_constant(name), facts.small_constant(name)


def template_of(
    node: Any, made: Sequence[Any], released: Iterable[str], looked_up: Iterable[str], outcome: tuple[Any, Any]
) -> Template | None:
    """Return a template of the nodes `made` that replace `node`, or None if no template can be made.

    No template can be made in these cases:

    - a new node reads a value from elsewhere than `node` and the new nodes, such as an initializer;
    - an adapter looked up a value from elsewhere than `node` and the new nodes;
    - a new node has a subgraph;
    - an initializer replaces an output of `node`.

    Args:
        node: The NodeProto that is replaced.
        made: The nodes that replace it.
        released: Values that the node reads and the new nodes do not.
        looked_up: Names of the values whose types, shapes or elements adapters looked up to make the new nodes.
        outcome: The steps that were crossed, and the operators of the new nodes. The template keeps them.
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
        """Return the number of a name; a new name gets the next number in `numbers` and an entry in `added`.

        `stems` are the names with which new names may begin, with their numbers. Raises _UnknownName if a new name does
        not begin with one of them.
        """
        if name not in numbers:
            stem = max((stem for stem in stems if name.startswith(stem + SEPARATOR)), key=len, default=None)
            if stem is None:
                raise _UnknownName
            numbers[name] = len(own) + len(added)
            added.append((stems[stem], name[len(stem) :]))
        return numbers[name]

    try:
        outputs = [[number_of(name, numbers, stems) for name in new.output] for new in made]
        defined = {*numbers}
        if {name for name in node.output if name}.difference(*[new.output for new in made]):
            return None  # an initializer has taken the place of the node
        if not defined.issuperset(name for new in made for name in new.input):
            return None
        names = [
            (number_of(new.name, labels, {node.name: 0}), [numbers[name] for name in new.input], computed)
            for new, computed in zip(made, outputs, strict=True)
        ]
        if any(attribute_type(a) in ("graph", "graphs") for new in made for a in new.attribute):
            return None
        unused = [number_of(name, numbers, stems) for name in released]
        for name in looked_up:
            number_of(name, numbers, stems)
    except _UnknownName:
        return None
    nodes = []
    for new in made:
        bare = pb.NodeProto()
        bare.CopyFrom(new)
        for field in ("input", "output", "name", "metadata_props"):
            bare.ClearField(field)
        nodes.append(bare)
    return Template(nodes, names, added, unused, outcome)


def apply_template(template: Template, node: Any, fresh: FreshNames) -> tuple[list[Any], list[str]]:
    """Return copies of a template's nodes with the names of `node`, and the inputs of `node` that no copy reads.

    The copies compute the outputs of `node` and get its metadata. `fresh` makes names for new nodes and values. `node`
    must have the form (`form_of`) for which the template was made.
    """
    names = [node.name, *node.input, *node.output]
    for number, rest in template.added:
        names.append(fresh.fresh(names[number] + rest))
    names.append("")  # number -1
    made = []
    for bare, (name, inputs, outputs) in zip(template.nodes, template.names, strict=True):
        new = pb.NodeProto()
        new.CopyFrom(bare)
        if names[name]:
            new.name = names[name]
        new.input.extend([names[number] for number in inputs])
        new.output.extend([names[number] for number in outputs])
        new.metadata_props.extend(node.metadata_props)
        made.append(new)
    return made, [names[number] for number in template.released]


class _UnknownName(Exception):
    """Raised for a name that does not begin with a name of the replaced node."""
