"""Edits of models after which they compute what they computed: constants, names, what is stated, nodes and their order.

Each is a function of a `Mutant`, which it changes, and raises LookupError if there is nothing of the kind.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from judges.conformance.exported import type_of
from judges.fuzz.drawing.rewriting import HINTS, Body, Mutant, copies, defined, free_names, named, rename
from judges.fuzz.drawing.sparse import LEAST_IR, sparse_of
from judges.fuzz.drawing.wrapped import wrap_in_function, wrap_in_if, wrap_in_loop, wrap_in_scan

__all__ = ["EDITS", "Edit", "edit"]

Edit = Callable[[Mutant], None]


# ---------------------------------------------------------------- constants


def constants_of(m: Mutant, graph: GraphProto) -> list[TensorProto]:
    """Return the initializers of a graph that nobody may override."""
    inputs = {value.name for value in m.model.graph.input} if m.model.ir_version >= 4 else set()
    return [tensor for tensor in graph.initializer if tensor.name not in inputs]


def without_input(m: Mutant, name: str) -> None:
    """Take an initializer, of a model of IR version 3, out of the inputs."""
    for value in [value for value in m.model.graph.input if value.name == name]:
        m.model.graph.input.remove(value)


def constant_node(m: Mutant, tensor: TensorProto) -> NodeProto:
    """Return a Constant node in one of its forms."""
    value = numpy_helper.to_array(tensor)
    forms = {"int64": ("value_int", "value_ints"), "float32": ("value_float", "value_floats")}.get(value.dtype.name)
    if forms and m.opset >= 12 and value.ndim < 2 and value.size and m.chance(0.5):
        return helper.make_node("Constant", [], [tensor.name], **{forms[value.ndim]: value.tolist()})
    if m.chance(0.3):
        tensor = numpy_helper.from_array(value, tensor.name)
    node = helper.make_node("Constant", [], [tensor.name], value=tensor)
    if m.chance(0.5):
        node.attribute[0].t.ClearField("name")
    return node


def initializer_to_node(m: Mutant) -> None:
    graph = m.one(graph for graph in m.graphs() if constants_of(m, graph))
    body = Body(graph)
    for tensor in m.some(constants_of(m, graph)):
        body.replace(0, 0, [constant_node(m, tensor)])
        without_input(m, tensor.name)
        graph.initializer.remove(tensor)


def constants(body: Body) -> list[NodeProto]:
    """Return the Constant nodes of a body that hold a tensor."""
    return [node for node in body.nodes if node.op_type == "Constant" and node.attribute[0].HasField("t")]


def node_to_initializer(m: Mutant) -> None:
    body = m.one(body for body in m.bodies() if isinstance(body.holder, GraphProto) and constants(body))
    for node in m.some(constants(body)):
        add_initializer(m, body.holder, node.attribute[0].t, node.output[0])
        body.nodes.remove(node)


def add_initializer(m: Mutant, graph: Any, tensor: TensorProto, name: str) -> None:
    graph.initializer.add().CopyFrom(tensor)
    graph.initializer[-1].name = name
    if graph is m.model.graph and m.model.ir_version < 4:
        overridable(m, graph.initializer[-1])


def overridable(m: Mutant, tensor: TensorProto) -> None:
    shape = list(tensor.dims) if m.chance(0.7) else [None] * len(tensor.dims)
    m.model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, shape))


def make_overridable(m: Mutant) -> None:
    """Make initializers inputs, too; the second run gives some of them other values."""
    if m.model.ir_version < 4:
        raise LookupError("they are")
    for tensor in m.some(constants_of(m, m.model.graph)):
        overridable(m, tensor)
        value = numpy_helper.to_array(tensor)
        if value.dtype.kind == "f" and value.size and m.chance(0.7):
            m.feeds[-1][tensor.name] = (value * 0.75).astype(value.dtype)


def make_sparse(m: Mutant) -> None:
    """State initializers by their non-zero elements."""
    if m.model.ir_version < LEAST_IR:
        raise LookupError("they came later")
    graph = m.one(graph for graph in m.graphs() if constants_of(m, graph))
    for tensor in m.some(constants_of(m, graph)):
        if sparse := sparse_of(numpy_helper.to_array(tensor), tensor.name, m.rng):
            graph.sparse_initializer.append(sparse)
            graph.initializer.remove(tensor)


def make_constant(m: Mutant) -> None:
    """Take initializers out of the inputs."""
    names = {tensor.name for tensor in m.model.graph.initializer}
    for value in m.some(value for value in m.model.graph.input if value.name in names):
        m.model.ir_version = max(m.model.ir_version, 4)
        m.model.graph.input.remove(value)
        for feed in m.feeds:
            feed.pop(value.name, None)


def compute_constant(m: Mutant) -> None:
    """Compute what was a constant from others."""
    body = m.one(body for body in m.bodies() if constants(body) or body_constants(m, body))
    for given in m.some([*constants(body), *body_constants(m, body)]):
        if isinstance(given, NodeProto):
            name, value = given.output[0], numpy_helper.to_array(given.attribute[0].t)
            body.nodes.remove(given)
        else:
            name, value = given.name, numpy_helper.to_array(given)
            without_input(m, name)
            body.holder.initializer.remove(given)
        body.replace(0, 0, computed(m, name, value))


def body_constants(m: Mutant, body: Body) -> list[TensorProto]:
    return constants_of(m, body.holder) if isinstance(body.holder, GraphProto) else []


def computed(m: Mutant, name: str, value: np.ndarray) -> list[NodeProto]:
    """Return nodes that compute a constant."""
    names = m.within("from", [name, f"{name} more", f"{name} between"])
    first, more, between = names.values()

    def constant(name: str, value: Any) -> NodeProto:
        return constant_node(m, numpy_helper.from_array(np.asarray(value), name))

    forms = ["Identity", "Reshape", "Cast", "Concat", "Transpose", "If"]
    form = m.rng.choice(forms)
    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    if form == "Reshape" and value.size:
        shape = np.array(value.shape, np.int64)
        reshape = helper.make_node("Reshape", [first, more], [name])
        return [constant(first, value.reshape(-1)), constant(more, shape), reshape]
    if form == "Cast" and value.dtype.name in ("float32", "int64", "int32", "bool"):
        wide = {"float32": TensorProto.DOUBLE, "bool": TensorProto.INT64}.get(value.dtype.name, TensorProto.INT32)
        if value.dtype.kind != "i" or (np.abs(value) < 2**31).all():
            return [
                constant(first, value),
                helper.make_node("Cast", [first], [between], to=wide),
                helper.make_node("Cast", [between], [name], to=kind),
            ]
    if form == "Concat" and value.ndim and len(value) > 1:
        return [
            constant(first, value[:1]),
            constant(more, value[1:]),
            helper.make_node("Concat", [first, more], [name], axis=0),
        ]
    if form == "Transpose" and value.ndim > 1:
        return [constant(first, value.T.copy()), helper.make_node("Transpose", [first], [name])]
    if form == "If":
        graphs = []
        for branch in (first, more):
            graphs.append(helper.make_graph([constant(branch, value)], "same", [], named([branch])))
        node = helper.make_node("If", [between], [name], then_branch=graphs[0], else_branch=graphs[1])
        return [constant(between, np.array(m.chance(0.5))), node]
    return [constant(first, value), helper.make_node("Identity", [first], [name])]


def move_out(m: Mutant) -> None:
    """Move constants of subgraphs into the main graph."""
    inner = [body for body in m.bodies()[1:] if body.function is None]
    body = m.one(body for body in inner if constants(body) or body.holder.initializer)
    for given in m.some([*constants(body), *body.holder.initializer]):
        if (given.output[0] if isinstance(given, NodeProto) else given.name) in body.results:
            continue  # what a graph gives has to come about in it
        if isinstance(given, NodeProto):
            add_initializer(m, m.model.graph, given.attribute[0].t, given.output[0])
            body.nodes.remove(given)
        else:
            add_initializer(m, m.model.graph, given, given.name)
            body.holder.initializer.remove(given)


def move_in(m: Mutant) -> None:
    """Give subgraphs constants of their own in place of those around them."""
    known = {tensor.name: tensor for tensor in constants_of(m, m.model.graph)}
    inner = [body for body in m.bodies()[1:] if body.function is None]
    body = m.one(body for body in inner if known.keys() & free_names(body.nodes))
    for name in m.some(known.keys() & free_names(body.nodes)):
        new = m.within("own", [name])
        rename(body.nodes, new)
        tensor = numpy_helper.from_array(numpy_helper.to_array(known[name]), new[name])
        if m.chance(0.5):
            body.holder.initializer.append(tensor)
        else:
            body.replace(0, 0, [constant_node(m, tensor)])


# ---------------------------------------------------------------- names

ODD = ("1", "0.5", "a/b:0", "ü", "Add", "x y", "-", "__const", "\\n", "%", "if", "x" * 400, "日", "::", "?", "onnx::X")


def rename_values(m: Mutant) -> None:
    """Give values odd names, or such as the converter could choose."""
    old = sorted(m.some(sorted(m.taken - {""})))
    new: dict[str, str] = {}
    outputs = [node.output[0] for node in m.model.graph.node if node.output[0]]
    for name in old:
        other = m.rng.choice(ODD) if m.chance(0.4) else f"{m.rng.choice(outputs)}__{m.rng.choice(HINTS)}"
        other += m.rng.choice(["", "", "_1"])
        if other not in m.taken:
            m.taken.add(other)
            new[name] = other
    rename([m.model.graph], new)
    m.feeds[:] = [{new.get(name, name): value for name, value in feed.items()} for feed in m.feeds]


def swap_names(m: Mutant) -> None:
    """Give the values of a function, or of a subgraph, the names of others where these cannot be seen."""
    body = m.one(m.bodies()[1:])
    inner = [name for name in defined([body.holder]) if name not in body.results]
    outer = sorted(m.taken - {""})
    if isinstance(body.holder, onnx.FunctionProto):
        inner = sorted({*inner, *body.holder.input})
    old = m.some(inner)
    new = dict(zip(old, m.rng.sample(outer, min(len(old), len(outer))), strict=False))
    new |= {b: f"{m.tag}/{b}" for b in new.values() if b in inner and b not in new}
    rename([body.holder], new)
    if isinstance(body.holder, onnx.FunctionProto):
        body.holder.input[:] = [new.get(name, name) for name in body.holder.input]


def rename_nodes(m: Mutant) -> None:
    nodes = [node for body in m.bodies() for node in body.nodes]
    values = sorted(m.taken)
    for node in m.some(nodes):
        name = m.rng.choice(["", "n", m.rng.choice(ODD), m.rng.choice(values), f"{m.rng.choice(values)}__Cast"])
        if all(other.name != name for other in nodes):
            node.name = name


def rename_functions(m: Mutant) -> None:
    """Name a function as an operator."""
    function = m.one(m.model.functions)
    name = m.rng.choice(["Add", "Reshape", "Cast", "Identity", "Split", "ü", "a/b"])
    old = function.domain, function.name
    if any((each.domain, each.name) == (old[0], name) for each in m.model.functions):
        raise LookupError("taken")
    for body in m.bodies():
        for node in body.nodes:
            if (node.domain, node.op_type) == old:
                node.op_type = name
    function.name = name


# ---------------------------------------------------------------- what is stated


def loosen_dims(m: Mutant) -> None:
    """State dimensions of inputs and outputs otherwise: as names, or not at all."""
    kept = {tensor.name for tensor in m.model.graph.initializer}
    for value in m.some([value for value in (*m.model.graph.input, *m.model.graph.output) if value.name not in kept]):
        kind = value.type.tensor_type
        if not value.type.HasField("tensor_type") or not kind.HasField("shape"):
            continue
        if m.chance(0.2):
            kind.ClearField("shape")
        for number, dim in enumerate(kind.shape.dim):
            if m.chance(0.6):
                names = [f"d{dim.dim_value}", f"{value.name}{number}", f"{value.name}_{number}" if number else "N"]
                dim.Clear()
                if m.chance(0.6):
                    dim.dim_param = m.rng.choice(names)


def vary_batch(m: Mutant) -> None:
    """Open the first dimension of inputs and outputs, which is 1, 0 or more in the second run."""
    batches = {value.shape[0] for value in m.feeds[0].values() if isinstance(value, np.ndarray) and value.ndim}
    batch = m.one(batches - {0})
    for value in (*m.model.graph.input, *m.model.graph.output):
        dims = value.type.tensor_type.shape.dim
        if dims and dims[0].dim_value == batch:
            dims[0].dim_param = "batch"
    size = m.rng.choice([0, 1, 1, batch + 1])
    for name, value in m.feeds[-1].items():
        if isinstance(value, np.ndarray) and value.ndim and value.shape[0] == batch:
            m.feeds[-1][name] = np.resize(value, (size, *value.shape[1:]))


def describe_values(m: Mutant) -> None:
    """State types and shapes of values inside, and of some that do not exist."""
    stated = {value.name for value in (*m.model.graph.value_info, *m.model.graph.input, *m.model.graph.output)}
    made = {name for node in m.model.graph.node for name in node.output}
    if m.chance(0.4):
        m.model.graph.value_info.add(name=f"{m.tag}/unused", type=helper.make_tensor_type_proto(1, [2, "N"]))
    for name, value in m.values.items():
        if name in stated or name not in made or not m.chance(0.6) or not isinstance(value, np.ndarray):
            continue
        kind = type_of(value)
        if m.chance(0.5):
            shape = None if m.chance(0.2) else list(value.shape)
            kind = helper.make_tensor_type_proto(kind.tensor_type.elem_type, shape)
            for dim in kind.tensor_type.shape.dim:
                if m.chance(0.3):
                    dim.Clear()
        m.model.graph.value_info.append(ValueInfoProto(name=name, type=kind))


def forget_values(m: Mutant) -> None:
    for graph in m.graphs():
        del graph.value_info[:]


def annotate(m: Mutant) -> None:
    m.model.doc_string = m.model.graph.doc_string = "an \x1b[31mannotation\n"
    entry = m.model.metadata_props.add()
    entry.key, entry.value = m.tag, "value"
    for body in m.bodies():
        for node in body.nodes:
            if m.chance(0.3):
                node.doc_string = "what it does"
                entry = node.metadata_props.add()
                entry.key, entry.value = "pkg.torch.onnx.name_scopes", "['', 'layer']"


def raise_ir_version(m: Mutant) -> None:
    m.model.ir_version = m.rng.randint(m.model.ir_version, max(m.model.ir_version, 11))


# ---------------------------------------------------------------- nodes


def permute(m: Mutant) -> None:
    """Put the nodes of a body into another order in which each comes after those that it needs."""
    body = m.one(body for body in m.bodies() if len(body.nodes) > 1)
    waiting, order = copies(body.nodes), list[NodeProto]()
    made = {name for node in waiting for name in node.output if name}
    while waiting:
        ready = [node for node in waiting if not made.intersection(free_names([node]))]
        node = m.rng.choice(ready)
        waiting.remove(node)
        order.append(node)
        made -= {*node.output}
    body.replace(0, len(order), order)


def expose(m: Mutant) -> None:
    """Make values inside outputs."""
    known = {value.name for value in m.model.graph.output}
    for name in m.some(name for node in m.model.graph.node for name in node.output if name and name not in known):
        m.model.graph.output.append(ValueInfoProto(name=name, type=type_of(m.values[name])))


def duplicate(m: Mutant) -> None:
    """Add a copy of a node of which nothing is needed, or that some of its users take."""
    body = m.one(body for body in m.bodies() if len(body.nodes))
    at = m.rng.randrange(len(body.nodes))
    copy = copies([body.nodes[at]])[0]
    copy.name = ""
    new = m.within("copy", defined([copy]))
    later = copies(body.nodes[at + 1 :])
    rename([copy], {name: new[name] for name in new})
    for node in later:
        if m.chance(0.5):
            rename([node], {name: new[name] for name in body.nodes[at].output if name})
    body.replace(at + 1, len(body.nodes), [copy, *later])


def identity(m: Mutant) -> None:
    """Put an Identity, a Cast to the same type or a double transposition behind a node."""
    body = m.one(body for body in m.bodies() if len(body.nodes))
    at = m.rng.randrange(len(body.nodes))
    outputs = [name for name in body.nodes[at].output if name]
    name = m.one(outputs)
    new = m.within("before", [name])[name]
    body.nodes[at].output[:] = [new if each == name else each for each in body.nodes[at].output]
    body.replace(at + 1, at + 1, [helper.make_node("Identity", [new], [name])])


def some_with_schemas(m: Mutant) -> Iterator[tuple[Any, Any]]:
    """Yield about half of the nodes of the default domain, each with its schema."""
    for body in m.bodies():
        for node in body.nodes:
            if node.domain in ("", "ai.onnx") and m.chance(0.5):
                yield node, onnx.defs.get_schema(node.op_type, m.opset, "")


def state_defaults(m: Mutant) -> None:
    """State attributes that have their defaults, or leave out those that are stated."""
    for node, schema in some_with_schemas(m):
        stated = {attribute.name: attribute for attribute in node.attribute}
        for name, declared in schema.attributes.items():
            default = declared.default_value
            if not default.name:
                continue
            if name not in stated and m.chance(0.5):
                node.attribute.append(default)
            elif name in stated and stated[name] == default:
                node.attribute.remove(stated[name])


def leave_open(m: Mutant) -> None:
    """Write optional inputs that are left out at the end as empty names, or not at all."""
    for node, schema in some_with_schemas(m):
        if len(node.input) > schema.min_input and not node.input[-1]:
            del node.input[-1]
        elif len(node.input) < len(schema.inputs):
            node.input.append("")


def omit_outputs(m: Mutant) -> None:
    """Leave out outputs of nodes that nobody needs."""
    for body in m.bodies():
        needed = {*body.results}
        needed |= {name for node in body.nodes for name in free_names([node])}
        for node in body.nodes:
            spare = [number for number, name in enumerate(node.output) if name and name not in needed]
            if spare and len(node.output) > 1:
                node.output[m.rng.choice(spare)] = ""


EDITS: tuple[Edit, ...] = (
    *(wrap_in_if, wrap_in_loop, wrap_in_scan, wrap_in_function) * 4,
    *(initializer_to_node, node_to_initializer, make_overridable, compute_constant, move_out, move_in) * 2,
    *(make_constant, rename_values, swap_names, rename_nodes, rename_functions, loosen_dims, describe_values),
    *(make_sparse, vary_batch, omit_outputs),
    *(forget_values, annotate, raise_ir_version, permute, expose, duplicate, identity, state_defaults, leave_open),
)


def edit(
    model: ModelProto,
    feeds: Sequence[Mapping[str, Any]],
    values: Mapping[str, Any],
    name: str,
    wanted: Sequence[Edit | None],
) -> tuple[ModelProto, list[dict[str, Any]]]:
    """Return a model after some edits, None for any, and the inputs of its runs; `values` are those that are known."""
    rng = random.Random(f"{name} edits")
    feeds = [dict(given) for given in feeds]
    for number, chosen in enumerate(wanted):
        mutant = Mutant(model, feeds, values, random.Random(f"{name} {number}"), f"m{number}")
        try:
            (chosen or rng.choice(EDITS))(mutant)
        except (LookupError, onnx.defs.SchemaError):  # there is nothing of the kind
            continue
        model, feeds = mutant.model, mutant.feeds
    return model, feeds
