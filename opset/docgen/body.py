"""Nodes as pictures: function bodies of operators, and the nodes that a conversion makes of one.

Constants stand in the nodes that use them, and a subgraph is one node.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from markupsafe import Markup

from opset.docgen.picture import LONGEST, Box, Diagram, Edge, picture
from opset.errors import ModelError, SchemaError, escape_text
from opset.model.attributes import attribute_type, attribute_value
from opset.model.elements import element_name
from opset.model.storage.tensor import tensor_values
from opset.schemas.function_bodies import body_nodes
from opset.schemas.model import FunctionBody, OpSchema
from opset.schemas.names import domain_name

MOST, MOST_EDGES, MOST_LINES = 45, 200, 8
"""Most nodes, besides constants, and edges of a body that is drawn, and most lines of detail of a node.

A larger body is easier to read as text.
"""
_SHORT = 22
"""Characters of a constant that stands in the node that uses it."""
# Tensors whose values are the entries of a field, whatever their bits.
_FIELDS = {1: "float_data", 11: "double_data", 7: "int64_data", **dict.fromkeys((2, 3, 4, 5, 6, 9), "int32_data")}


def body_picture(schema: OpSchema, body: FunctionBody, links: Mapping[str, str] | None = None) -> Markup:
    """Return a function body drawn as SVG.

    The result is empty markup if the body has no nodes, is too large to draw, or is no valid ONNX text. `links` maps
    operators, as the body's text names them, to the addresses to which their boxes link.
    """
    graph = None
    with suppress(SchemaError):
        graph = body_graph(schema, body, links or {})
    return picture(graph) if graph else Markup("")


def body_graph(schema: OpSchema, body: FunctionBody, links: Mapping[str, str]) -> Diagram | None:
    """Return the nodes and values of a function body as a graph to draw, None if it is empty or too large to draw.

    A constant gets no box; its value is shown in the nodes that read it. `links` maps operators, as the body's text
    names them, to the addresses to which their boxes link.

    Raises:
        SchemaError: S233, the text of the body has faulty syntax.
    """
    inputs, outputs = ([each.name for each in parameters] for parameters in (schema.inputs, schema.outputs))
    return _graph_of_nodes(
        f"{schema.name} {schema.since_version} as a graph", body_nodes(body.nodes), inputs, outputs, links
    )


def replacement_pictures(given: str, made: Sequence[str]) -> tuple[Markup, Markup]:
    """Return two pictures as SVG: one of a node, one of the nodes that replace it.

    A picture that would be too large is empty markup. Both are empty markup if a text is no valid ONNX text, for
    example because a large tensor in it is cut. New nodes whose results nothing needs are not drawn.

    Args:
        given: The node in ONNX text syntax.
        made: The nodes that replace it, each in ONNX text syntax.
    """
    try:
        (node,), nodes = body_nodes(given), body_nodes("\n".join(made))
    except (SchemaError, ValueError):  # the texts of large tensors are cut
        return Markup(""), Markup("")
    inputs = [*dict.fromkeys(name for each in (node, *nodes) for name in _names_used(each))]
    outputs = [*filter(None, node.output)]
    needed = {*outputs, *(name for each in nodes for name in _names_used(each))}
    # What adapters made before others is removed with the model's unused constants.
    nodes = tuple(_with_short_names(each, outputs) for each in nodes if not needed.isdisjoint(each.output))
    graphs = (
        _graph_of_nodes(title, part, inputs, outputs, {}) for title, part in (("Before", (node,)), ("After", nodes))
    )
    before, after = (picture(graph) if graph else Markup("") for graph in graphs)
    return before, after


def _with_short_names(node: Any, outputs: Sequence[str]) -> Any:
    """Return a copy of a NodeProto in which a value "y__Mul" is named "…Mul" if "y" is one of `outputs`.

    `outputs` has the names of the outputs of the node that is replaced. Other names stay.
    """

    def cut(name: str) -> str:
        """Return "…Mul" for "y__Mul" if "y" is one of `outputs`; any other name unchanged."""
        start = next((each for each in outputs if name.startswith(f"{each}__")), None)
        return name if start is None else f"…{name[len(start) + 2 :]}"

    short = type(node)()
    short.CopyFrom(node)
    short.input[:], short.output[:] = map(cut, node.input), map(cut, node.output)
    return short


def _graph_of_nodes(
    title: str, nodes: Iterable[Any], inputs: Sequence[str], outputs: Sequence[str], links: Mapping[str, str]
) -> Diagram | None:
    """Return nodes and their values as a graph to draw.

    The result is None if there are no nodes besides constants, more than MOST nodes, or more than MOST_EDGES edges.

    Args:
        title: The beginning of the graph's title; ": " and the names of the operators follow.
        nodes: The NodeProtos in order.
        inputs: Names of values that no node computes. One that is read gets a box.
        outputs: Names of values that get a box as outputs.
        links: Addresses of operators' pages, by operator.
    """
    constants: dict[str, str] = {}
    nodes = [node for node in nodes if not _fold_constant(node, constants, outputs)]
    if not 0 < len(nodes) <= MOST:
        return None
    computed = {name for node in nodes for name in node.output}
    used_names = {name for node in nodes for name in _names_used(node)} - constants.keys() - computed
    inputs = [name for name in inputs if name in used_names]
    boxes = [Box(_shorten_name(name), kind="input") for name in inputs]
    positions = {name: index for index, name in enumerate(inputs)}
    edges = []
    for node in nodes:
        used = [name for name in dict.fromkeys(_names_used(node)) if name in positions]
        edges += [Edge(positions[name], len(boxes), _shorten_name(name)) for name in used]
        positions |= dict.fromkeys(filter(None, node.output), len(boxes))
        operator = f"{domain_name(node.domain)}.{node.op_type}" if node.domain else node.op_type
        arguments = [constants.get(name, _shorten_name(name)) if name else "\u2013" for name in node.input]
        attributes = [_shorten(f"{each.name}={_attribute_text(node, each) or '…'}") for each in node.attribute]
        arguments[:1] = [f"({each}" for each in arguments[:1]]
        detail = [*_wrap(arguments, ")"), *_wrap(attributes)]
        detail = detail if len(detail) <= MOST_LINES else [*detail[:MOST_LINES], "…"]
        boxes.append(Box(_shorten(operator), detail, links.get(operator, "")))
    for name in outputs:
        if name in positions:
            edges.append(Edge(positions[name], len(boxes), _shorten_name(name)))
            boxes.append(Box(_shorten_name(name), kind="output"))
    if len(edges) > MOST_EDGES:
        return None
    operators = ", ".join(dict.fromkeys(node.op_type for node in nodes))
    return Diagram(f"{title}: {operators}", boxes, edges)


def _fold_constant(node: Any, constants: dict[str, str], outputs: Sequence[str]) -> bool:
    """Return whether a node is a short constant that needs no box; if so, add its value as text to `constants`.

    A short constant is a Constant whose value has at most _SHORT characters. A CastLike of a short constant is one,
    too, and so is a Reshape or Unsqueeze that makes a vector of one element from it. A node that computes one of
    `outputs` always needs a box.

    Args:
        node: The NodeProto.
        constants: Values of the short constants found so far, as text, by the names of their outputs.
        outputs: Names of values that are drawn as outputs.
    """
    if node.domain or len(node.output) != 1 or node.output[0] in outputs:
        return False
    text = ""
    if node.op_type == "Constant" and len(node.attribute) == 1:
        text = _value_text(node.attribute[0])
    elif node.input and (value := constants.get(node.input[0], "")):
        second = constants.get(node.input[1], "") if len(node.input) == 2 else ""
        if node.op_type == "CastLike":
            text = value
        elif (node.op_type, second) in (("Reshape", "[1]"), ("Unsqueeze", "[0]")) and not value.startswith("["):
            text = f"[{value}]"
    if not text or len(text) > _SHORT:
        return False
    constants[node.output[0]] = text
    return True


def _names_used(node: Any) -> Iterator[str]:
    """Yield the names of values that a NodeProto reads, with repetitions.

    Values that its subgraphs read from outside are included; values that the subgraphs define are not.
    """
    pending = [(node, frozenset[str]())]
    while pending:
        user, inner = pending.pop()
        yield from (name for name in user.input if name and name not in inner)
        for attribute in user.attribute:
            graphs = [attribute.g] if attribute.HasField("g") else []
            for graph in (*graphs, *attribute.graphs):
                defined = {value.name for value in (*graph.input, *graph.initializer)}
                defined.update(name for nested in graph.node for name in nested.output)
                pending += [(nested, inner | defined) for nested in reversed(graph.node)]


def _attribute_text(node: Any, attribute: Any) -> str:
    """Return the value of an attribute as short text; "" if there is none, as for a long tensor.

    The text of an element type's number is the name of the type: "float" for `to=1` of a Cast. `node` is the NodeProto,
    `attribute` its AttributeProto.
    """
    is_type = not node.domain and attribute.name in ("to", "dtype", "output_dtype") and not attribute.ref_attr_name
    return (element_name(attribute.i) if is_type else None) or _value_text(attribute)


def _wrap(parts: Sequence[str], end: str = "") -> Iterator[str]:
    """Yield lines that list the parts with commas between them; `end` follows the last part without a comma.

    A line is at most as long as a box is wide, unless a single part is longer. Nothing is yielded for no parts.
    """
    line = ""
    for number, part in enumerate(parts, 1):
        part += end if number == len(parts) else ","
        if line and len(line) + 1 + len(part) > LONGEST:
            yield line
            line = part
        else:
            line = f"{line} {part}" if line else part
    if line:
        yield line


def _shorten(text: str) -> str:
    """Return text with control characters escaped; one that is too long for a line in a box is cut and ends in "…"."""
    text = escape_text(text)
    return text if len(text) <= LONGEST - 4 else f"{text[: LONGEST - 5]}…"


def _shorten_name(name: str) -> str:
    """Return a value's name with control characters escaped; "…" replaces the middle of one too long for a line."""
    name = escape_text(name)
    most = LONGEST - 4
    return name if len(name) <= most else f"{name[: most // 3]}…{name[-(most - most // 3 - 1) :]}"


def _value_text(attribute: Any) -> str:
    """Return the value of an AttributeProto as short text: "[1, 2]", "0.5", "{3 nodes}" for a graph.

    Of a list of numbers, the first _SHORT are shown. A string that is cut ends in "…". A reference to an attribute of
    the function is "@name". The text is "" for a long tensor, and for types without a short text.
    """
    if attribute.ref_attr_name:
        return f"@{_shorten(attribute.ref_attr_name)}"
    kind, value = attribute_type(attribute), attribute_value(attribute)
    if kind == "tensor":
        field = _FIELDS.get(value.data_type, "")
        values = [*getattr(value, field)] if field else []
        if not values:
            with suppress(ModelError):  # it is no tensor of numbers, or too long
                values = [each for each in tensor_values(None, value, _SHORT) if isinstance(each, int | float)]
        if not values or len(values) > _SHORT:
            return ""
        texts = [_number_text(each, value.data_type == 1) for each in values]
        return texts[0] if not value.dims and len(texts) == 1 else f"[{', '.join(texts)}]"
    if kind == "graph":
        return f"{{{len(value.node)} node{'s'[: len(value.node) != 1]}}}"
    if kind in ("floats", "ints"):
        return f"[{', '.join(_number_text(each, kind == 'floats') for each in value[:_SHORT])}]"
    if kind in ("float", "int"):
        return _number_text(value, kind == "float")
    return f'"{_shorten(value)}"' if isinstance(value, str) else ""


def _number_text(value: float, single: bool) -> str:
    """Return a number in at most six digits, with "≈" before it if they are not exact.

    `single` says that the number is a 32-bit float.
    """
    if isinstance(value, int):
        return str(value)
    short = f"{value:.6g}"
    form = "<f" if single else "<d"
    return short if struct.pack(form, float(short)) == struct.pack(form, value) else f"≈{short}"
