"""Mutations that put some nodes of a model into an If, a Loop, a Scan or a function, which changes no output."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from judges.conformance.exported import type_of
from judges.conformance.judge import messages
from judges.fuzz.drawing.rewriting import Body, Mutant, Part, copies, defined, function_makers, named, rename

__all__ = ["wrap_in_function", "wrap_in_if", "wrap_in_loop", "wrap_in_scan"]


def condition(m: Mutant, part: Part, value: bool) -> tuple[str, list[NodeProto]]:
    """Return the name of a condition that holds or not, and nodes that give it."""
    form = m.rng.choice(["constant", "constant", "negated", "size", "input"])
    if form == "input" and part.body.holder is m.model.graph:
        name = m.fresh("condition")
        m.model.graph.input.append(helper.make_tensor_value_info(name, TensorProto.BOOL, []))
        for feed in m.feeds:
            feed[name] = np.array(value)
        return name, []
    if form == "size" and part.taken:
        size, wide, found = (m.fresh(stem) for stem in ("size", "wide", "decided"))
        bound, nodes = m.constant(part.body, np.array(1e9 if value else -1, np.float32))
        nodes += [
            helper.make_node("Size", [m.rng.choice(part.taken)], [size]),
            helper.make_node("Cast", [size], [wide], to=TensorProto.FLOAT),
            helper.make_node("Less", [wide, bound], [found]),
        ]
        return found, nodes
    if form == "negated":
        name, nodes = m.constant(part.body, np.array(not value))
        found = m.fresh("not")
        return found, [*nodes, helper.make_node("Not", [name], [found])]
    return m.constant(part.body, np.array(value))


def wrap_in_if(m: Mutant) -> None:
    """Put nodes into a branch; the other computes the same or gives constants, of other shapes too."""
    part = m.part()
    value = m.chance(0.5)
    decided, before = condition(m, part, value)
    new = m.within("inner", part.given)
    chosen = part.nodes
    rename(chosen, new)
    other = m.within("other", part.given)
    known = [m.values.get(name) for name in part.given]
    if m.chance(0.6) and all(isinstance(each, np.ndarray) for each in known):
        arrays = [np.resize(each, [*each.shape[:-1], 3]) if each.ndim and m.chance(0.3) else each for each in known]
        instead = [
            helper.make_node("Constant", [], [other[name]], value=numpy_helper.from_array(np.zeros_like(each)))
            for name, each in zip(part.given, arrays, strict=True)
        ]
    else:
        instead = part.nodes
        rename(instead, m.within("other", defined(instead)))
    graphs = [
        helper.make_graph(chosen, "chosen", [], named(new.values())),
        helper.make_graph(instead, "instead", [], named(other.values())),
    ]
    then, otherwise = graphs if value else reversed(graphs)
    node = helper.make_node("If", [decided], part.given, f"{m.tag}/If", then_branch=then, else_branch=otherwise)
    part.replace([*before, node])


def first_of(m: Mutant, body: Body, rows: str, name: str) -> list[NodeProto]:
    """Return nodes that take the first row."""
    if m.chance(0.5):
        at, nodes = m.constant(body, np.array(0))
        return [*nodes, helper.make_node("Gather", [rows, at], [name], axis=0)]
    axes, starts, ends, cut = m.within(f"of {rows}", ["axes", "starts", "ends", "cut"]).values()
    if m.opset < 10:
        first = helper.make_node("Slice", [rows], [cut], starts=[0], ends=[1], axes=[0])
        return [first, helper.make_node("Squeeze", [cut], [name], axes=[0])]
    nodes = []
    for key, value in ((axes, 0), (starts, 0), (ends, 1)):
        tensor = numpy_helper.from_array(np.array([value]))
        nodes.append(helper.make_node("Constant", [], [key], value=tensor))
    nodes.append(helper.make_node("Slice", [rows, starts, ends, axes], [cut]))
    last = {"axes": [0]} if m.opset < 13 else {}
    return [*nodes, helper.make_node("Squeeze", [cut] if last else [cut, axes], [name], **last)]


def wrap_in_loop(m: Mutant) -> None:
    """Put nodes into a loop that does the same in each turn, with some of what they take and give carried."""
    part = m.part()
    count = m.rng.choice([1, 1, 1, 2, 3])
    turns, before = m.constant(part.body, np.array(count))
    go = ""
    if m.chance(0.3) or m.opset < 11:
        go, more = m.constant(part.body, np.array(True))
        before += more
    known = [name for name in part.given if isinstance(m.values.get(name), np.ndarray)]
    carried = [name for name in part.taken if m.chance(0.3)] or part.taken[: m.opset < 11]
    ends = [name for name in known if m.chance(0.4)]
    rows = [name for name in part.given if name not in ends]
    formal = m.within("formal", carried)
    new = m.within("inner", part.given)
    nodes = part.nodes
    rename(nodes, new | formal)
    initial = []
    for name in ends:
        start, more = m.constant(part.body, np.zeros_like(m.values[name]))
        before += more
        initial.append(start)
    again = m.within("again", carried)
    nodes += [helper.make_node("Identity", [formal[name]], [again[name]]) for name in carried]
    turn, on, out = m.within("loop", ["turn", "on", "out"]).values()
    nodes.insert(m.rng.choice([0, len(nodes)]), helper.make_node("Identity", [on], [out]))
    inputs = [
        helper.make_tensor_value_info(turn, TensorProto.INT64, []),
        helper.make_tensor_value_info(on, TensorProto.BOOL, []),
        *named([*formal.values(), *m.within("start", ends).values()]),
    ]
    outputs = [out, *again.values(), *(new[name] for name in [*ends, *rows])]
    graph = helper.make_graph(nodes, "body", inputs, named(outputs))
    every = m.within("rows", rows)
    results = [*m.within("after", carried).values(), *ends, *every.values()]
    node = helper.make_node("Loop", [turns, go, *carried, *initial], results, f"{m.tag}/Loop", body=graph)
    after = [each for name in rows for each in first_of(m, part.body, every[name], name)]
    part.replace([*before, node, *after])


def wrap_in_scan(m: Mutant) -> None:
    """Put nodes into a scan of one row."""
    if m.opset < 9 or not m.values:
        raise LookupError("another form, or nothing known of the rank that onnxruntime wants of an output")
    part = m.part()
    states = [name for name in part.taken if m.chance(0.3)]
    through = [name for name in part.taken if name not in states and m.chance(0.4)]
    formal = m.within("formal", [*states, *through])
    before: list[NodeProto] = []
    rows = []
    for name in through:
        rows.append(m.fresh("row"))
        if m.opset < 13:
            before.append(helper.make_node("Unsqueeze", [name], [rows[-1]], axes=[0]))
        else:
            axes, more = m.constant(part.body, np.array([0]))
            before += [*more, helper.make_node("Unsqueeze", [name, axes], [rows[-1]])]
    if not rows:
        name, before = m.constant(part.body, np.array([[1.5]], np.float32))
        rows, through = [name], [name]
        formal |= m.within("formal", [name])
    new = m.within("inner", part.given)
    nodes = part.nodes
    rename(nodes, new | formal)
    again = m.within("again", states)
    nodes += [helper.make_node("Identity", [formal[name]], [again[name]]) for name in states]
    inputs = named(formal[name] for name in [*states, *through])
    outputs = named([*again.values(), *new.values()])
    for value, name in zip(outputs, [*states, *part.given], strict=True):
        if isinstance(m.values.get(name), np.ndarray):  # onnxruntime wants a rank, which it does not always infer
            value.type.CopyFrom(type_of(m.values[name]))
    graph = helper.make_graph(nodes, "body", inputs, outputs)
    every = m.within("rows", part.given)
    results = [*m.within("after", states).values(), *every.values()]
    node = helper.make_node("Scan", [*states, *rows], results, f"{m.tag}/Scan", body=graph, num_scan_inputs=len(rows))
    after = [each for name in part.given for each in first_of(m, part.body, every[name], name)]
    part.replace([*before, node, *after])


def wrap_in_function(m: Mutant) -> None:
    """Put nodes into a function: some attributes passed, inputs that no call passes, sometimes called once more."""
    part = m.part()
    m.model.ir_version = max(m.model.ir_version, 8)
    nodes = part.nodes
    formals = list(part.taken)
    if m.chance(0.5):
        m.rng.shuffle(formals)
    omitted = leave_out(m, nodes, formals)
    inner = {name: f"{name}" if m.chance(0.5) else f"f/{name}" for name in [*formals, *omitted]}
    if m.chance(0.2) and len(formals) > 1:  # the same names, for other things
        inner |= dict(zip(formals, [*formals[1:], formals[0]], strict=True))
    taken = {*inner.values()}
    own = {name: name if name not in taken and m.chance(0.5) else f"in/{name}" for name in defined(nodes)}
    rename(nodes, inner | own)
    imports = copies_of_imports(m)
    name = m.rng.choice([f"F{len(m.model.functions)}", f"Mul{len(m.model.functions)}", f"Ü {len(m.model.functions)}"])
    results = [own[each] for each in part.given]
    arguments = [inner[each] for each in [*formals, *omitted]]
    function = helper.make_function("mutant", name, arguments, results, nodes, imports)
    stated = function_makers(function, m.rng)
    passed = [*formals, *([""] * len(omitted) if m.chance(0.5) else [])]
    call = helper.make_node(name, passed, part.given, f"{m.tag}/call", domain="mutant")
    call.attribute.extend(stated)
    calls = [call]
    if m.chance(0.4):
        calls.append(once_more(m, part, call))
    m.model.functions.append(function)
    for holder in (m.model, part.body.function):
        if holder is not None and all(entry.domain != "mutant" for entry in holder.opset_import):
            holder.opset_import.append(helper.make_opsetid("mutant", 1))
    part.replace(calls)


def copies_of_imports(m: Mutant) -> list[onnx.OperatorSetIdProto]:
    return [helper.make_opsetid(entry.domain, entry.version) for entry in m.model.opset_import]


def leave_out(m: Mutant, nodes: Sequence[NodeProto], formals: Sequence[str]) -> list[str]:
    """Make optional inputs that nodes do without inputs of the function, which its calls omit; return their names."""
    found: list[str] = []
    for node in nodes:
        if node.domain not in ("", "ai.onnx") or not m.chance(0.5):
            continue
        schema = onnx.defs.get_schema(node.op_type, m.opset, "")
        optional = onnx.defs.OpSchema.FormalParameterOption.Optional
        for number, parameter in enumerate(schema.inputs):
            absent = number >= len(node.input) or not node.input[number]
            if parameter.option != optional or not absent or not m.chance(0.6):
                continue
            node.input.extend([""] * (number + 1 - len(node.input)))
            node.input[number] = f"omitted{len(found)}"
            found.append(node.input[number])
    return found


def once_more(m: Mutant, part: Part, call: NodeProto) -> NodeProto:
    """Return another call, which may omit one more input; what comes of it is an output, where there can be one."""
    again = copies([call])[0]
    again.name = f"{call.name} again"
    again.output[:] = m.within("again", call.output).values()
    inside = [each for node in part.nodes for each in messages(node) if isinstance(each, NodeProto)]
    endless = any(node.op_type == "Loop" or node.domain == "mutant" for node in inside)  # as it is without a count
    if len(again.input) and m.chance(0.6) and not endless:
        again.input[m.rng.randrange(len(again.input))] = ""
    if part.body.holder is m.model.graph:
        for old, new in zip(call.output, again.output, strict=True):
            m.model.graph.output.add(name=new, type=type_of(m.values[old]))
    return again
