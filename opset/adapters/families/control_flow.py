"""If, Loop and Scan: shapes of branches, loops without loop-carried values, and the batch that Scan first had."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opset.adapters.building.shared import need_value, positive_axis
from opset.errors import safe_text
from opset.model import proto as pb
from opset.model.elements import NUMBERS
from opset.model.graph.walking import rename_values
from opset.model.types import Shape, shape_of
from opset.version_converter.registration import down, lower, up
from opset.version_converter.rewrite import Builder, Node, Refusal, Result, set_attribute, unknown_type


@down("If", since=11)
def if_11_down(op: Builder, node: Node) -> Result:
    """Write an If with branches of different shapes as two loops; a constant condition selects one branch for both.

    Before 11, their shapes had to be the same. The shapes inferred for each run of the graph around decide, or numbers
    that both branches state. Each loop runs once or not at all.
    """
    names = ("then_branch", "else_branch")
    branches = [node.attr(name).output for name in names]
    if not len(branches[0]) == len(branches[1]) == len(node.outputs):
        raise Refusal("C103", "the branches and the node have different numbers of outputs")
    value = next(filter(None, node.outputs), "")
    runs = list(zip(*[node.values.graph_shapes(value, name) for name in names], strict=False))
    for number, values in enumerate(zip(*branches, strict=True)):
        stated = [shape_of(output.type) for output in values]
        equal = _have_equal_shapes(*stated) and all(isinstance(size, int) for size in stated[0] or ())
        inferred = [_have_equal_shapes(*[shapes[number] for shapes in run]) for run in runs]
        if (
            _have_equal_shapes(*stated) is False
            or False in inferred
            or (not equal and (None in inferred or not inferred))
        ):
            if node.constant(0) is None:
                return _write_as_loops(op, node)
            branch = node.attr(names[not need_value(node, 0)])
            return op.copy(node, then_branch=branch, else_branch=branch)
    return None


def _write_as_loops(op: Builder, node: Node) -> Result:
    """Return the outputs of two loops, one of which runs once: the shapes of carried values may always change."""
    used = [index for index, name in enumerate(node.outputs) if name]
    elements = []
    for index in used:
        element = node.values.element(node.outputs[index])
        if element is None:
            raise unknown_type(node.outputs[index])
        elements.append(element)
    condition = op.Reshape(node.input(0), op.const([]))
    carried = [op.const("" if element == "string" else 0, element) for element in elements]
    outputs = [node.outputs[index] for index in used]
    for name, condition_of_branch in (("then_branch", condition), ("else_branch", op.Not(condition))):
        results = outputs if name == "else_branch" else [op.fresh("taken") for _ in used]
        branch = node.attr(name)
        body, _ = _loop_body(op, branch)
        body.node.extend(branch.node)
        branch_outputs = _new_values(op, elements)
        for index, value in zip(used, branch_outputs, strict=True):
            body.node.add(op_type="Identity", input=[branch.output[index].name], output=[value.name])
        body.input.extend(_new_values(op, elements))
        body.output.extend(branch_outputs)
        op.Loop(op.Cast(condition_of_branch, to=NUMBERS["int64"]), "", *carried, body=body, outputs=results)
        carried = results
    return node.outputs


def _have_equal_shapes(first_shape: Shape | None, second_shape: Shape | None) -> bool | None:
    """Whether two shapes are the same, None if it is not known; different names may be of one size."""
    if first_shape is None or second_shape is None:
        return None
    if len(first_shape) != len(second_shape):
        return False
    for first_size, second_size in zip(first_shape, second_shape, strict=True):
        if isinstance(first_size, int) and isinstance(second_size, int) and first_size != second_size:
            return False
    return True if first_shape == second_shape and None not in first_shape else None


@down("Loop", since=11)
def loop_11_down(op: Builder, node: Node) -> Result:
    """Add a loop-carried value that no iteration changes if there is none: before 11, a loop had at least one."""
    if len(node.inputs) > 2:
        return None
    source = node.attr("body")
    if len(source.input) != 2 or not source.output:
        raise Refusal("C103", "the body does not have the inputs and outputs of a loop without loop-carried values")
    body = pb.GraphProto()
    body.CopyFrom(source)
    del body.output[1:]
    _carry_nothing(op, body)
    body.output.extend(source.output[1:])
    inputs = [*node.inputs, op.const(0.0, "float")]
    return op.copy(node, inputs=inputs, outputs=[op.fresh("unused"), *node.outputs], body=body)[1:]


@up("Scan", since=9)
def scan_9_up(op: Builder, node: Node) -> Result:
    """Scan over the batch around the Scan: before 9, each sample of a batch was scanned by itself."""
    if node.input(0):
        why = "'sequence_lens' ends the scan of a sample early, which version 9 cannot do"
        raise Refusal("C204", why, "leave it out where all sequences have the full length")
    body = node.attr("body")
    inputs = list(node.inputs[1:])
    (states, scans) = _count_inputs(node, 1)
    directions = _numbers_of_attribute(node, "directions", scans)
    kinds = [[_element_of(value) for value in values] for values in (body.input, body.output)]
    batch = op.fresh("batch")
    outer = pb.GraphProto(name=batch, input=_new_values(op, kinds[0]), output=_new_values(op, kinds[1]))
    inner = outer.node.add(op_type="Scan", domain=node.proto.domain)
    inner.name = op.fresh("sample") if node.proto.name else ""
    inner.input.extend(value.name for value in outer.input)
    inner.output.extend(value.name for value in outer.output)
    set_attribute(inner, "body", "graph", body)
    set_attribute(inner, "num_scan_inputs", "int", scans)
    if any(directions):
        set_attribute(inner, "scan_input_directions", "ints", directions)
    return op.Scan(*inputs, outputs=len(body.output), body=outer, num_scan_inputs=states + scans)


@down("Scan", since=9)
def scan_9_down(op: Builder, node: Node) -> Result:
    """Make the inputs a batch of one sample, as before 9, and bring scanned axes to the front."""
    body = node.attr("body")
    (states, scans) = _count_inputs(node, 0)
    collected = len(body.output) - states
    axes = _numbers_of_attribute(node, "scan_input_axes", scans)
    inputs = [""]
    for index, name in enumerate(node.inputs):
        axis = axes[index - states] if index >= states else 0
        if axis:
            rank = _rank_of_value(node, "input", index)
            order = list(range(rank))
            name = op.Transpose(name, perm=[order.pop(positive_axis(axis, rank)), *order])
        inputs.append(op.Unsqueeze(name, axes=[0]))
    outputs = [op.fresh("batch") for _ in body.output]
    drop = ["scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions"]
    op.copy(node, inputs=inputs, outputs=outputs, drop=drop, directions=node.ints("scan_input_directions"))
    axes, directions = (
        _numbers_of_attribute(node, f"scan_output_{word}", collected) for word in ("axes", "directions")
    )
    results = []
    for index, name in enumerate(outputs[: len(node.outputs)]):
        scan_output = index - states
        if scan_output >= 0 and directions[scan_output]:
            name = _reverse_sequences(op, name, _element_of(body.output[index]))
        name = op.Squeeze(name, axes=[0])
        if scan_output >= 0 and axes[scan_output]:
            rank = _rank_of_value(node, "output", index)
            order = list(range(1, rank))
            order.insert(positive_axis(axes[scan_output], rank), 0)
            name = op.Transpose(name, perm=order)
        results.append(name)
    return results


@lower("Scan", since=8)
def scan_lowered(op: Builder, node: Node) -> Result:
    """Write a loop over the samples of the batch, and in it a loop over the positions of a sample."""
    if node.input(0):
        raise Refusal("C204", "'sequence_lens' ends the scan of a sample early, which a loop cannot do")
    source = _body_with_new_names(op, node)
    inputs = node.inputs[1:]
    (states, scans) = _count_inputs(node, 1)
    sizes = op.Shape(inputs[states])
    batch, length = (op.Gather(sizes, op.const(axis)) for axis in (0, 1))
    last = op.Sub(length, op.const(1))
    unused = op.const(0.0, "float")
    inner, position = _loop_body(op, source)
    outer, sample = _loop_body(op, pb.GraphProto(name=op.fresh("batch")))
    samples = [op.fresh("sample") for _ in inputs]
    for name, part in zip(inputs, samples, strict=True):
        outer.node.add(op_type="Gather", input=[name, sample], output=[part])
    backwards = op.fresh("position")
    inner.node.add(op_type="Sub", input=[last, position], output=[backwards])
    directions = _numbers_of_attribute(node, "directions", scans)
    for part, formal, direction in zip(samples[states:], source.input[states:], directions, strict=True):
        index = backwards if direction else position
        inner.node.add(op_type="Gather", input=[part, index], output=[formal.name])
    inner.node.extend(source.node)
    inner.input.extend(source.input[:states])
    results = _new_values(op, [_element_of(value) for value in source.output])
    _carry_nothing(op, outer)
    carried = samples[:states]
    if not states:
        _carry_nothing(op, inner)
        carried = [unused]
    inner.output.extend(source.output)
    loop = outer.node.add(op_type="Loop", input=[length, "", *carried])
    loop.output.extend([*(op.fresh("unused") for _ in range(not states)), *(value.name for value in results)])
    set_attribute(loop, "body", "graph", inner)
    outer.output.extend(results)
    return op.Loop(batch, "", unused, body=outer, outputs=len(outer.output) - 1)[1:]


def _body_with_new_names(op: Builder, node: Node) -> Any:
    """Return a copy of the body whose inputs have names that no value around it has."""
    # Checkers and runtimes accept such inputs, but not results of nodes, which the inputs become.
    new = {value.name: op.fresh("value") for value in node.attr("body").input if node.values.defines(value.name)}
    body = pb.GraphProto()
    body.CopyFrom(node.attr("body"))
    rename_values(body, new)
    return body


def _carry_nothing(op: Builder, body: Any) -> None:
    """Add a loop-carried value that no iteration changes to a body: before version 11, a loop had at least one."""
    before, after = _new_values(op, ["float", "float"])
    body.node.add(op_type="Identity", input=[before.name], output=[after.name])
    body.input.append(before)
    body.output.append(after)


def _loop_body(op: Builder, source: Any) -> tuple[Any, str]:
    """Return a loop body with all of a source graph but its nodes, inputs and outputs, and its iteration number."""
    body = pb.GraphProto()
    body.CopyFrom(source)
    for field in ("node", "input", "output"):
        body.ClearField(field)
    number, going, after = _new_values(op, ["int64", "bool", "bool"])
    for value in (number, going, after):
        value.type.tensor_type.shape.SetInParent()
    body.node.add(op_type="Identity", input=[going.name], output=[after.name])
    body.input.extend([number, going])
    body.output.append(after)
    return body, number.name


@down("Scan", since=11)
def scan_11_down(op: Builder, node: Node) -> Result:
    """Count negative axes from the front: before 11, axes could not be negative."""
    states, scans = _count_inputs(node, 0)
    changed: dict[str, Any] = {}
    for side, count in (("input", scans), ("output", len(node.attr("body").output) - states)):
        axes = _numbers_of_attribute(node, f"scan_{side}_axes", count)
        if any(axis < 0 for axis in axes):
            ranks = [_rank_of_value(node, side, states + index) for index in range(count)]
            changed[f"scan_{side}_axes"] = [positive_axis(axis, rank) for axis, rank in zip(axes, ranks, strict=True)]
    return op.copy(node, **changed) if changed else None


def _count_inputs(node: Node, first: int) -> tuple[int, int]:
    """Return the numbers of states and of scan inputs from the input `first` on; raise Refusal C103 for a misfit."""
    input_count = len(node.inputs) - first
    scans = node.attr("num_scan_inputs")
    body = node.attr("body")
    states = input_count - scans
    # That the numbers fit together is checked before; but a body may have inputs with defaults, too.
    if len(body.input) != input_count:
        raise Refusal("C103", f"the body has {len(body.input)} inputs, and the node gives it {input_count}")
    return states, scans


def _numbers_of_attribute(node: Node, name: str, count: int) -> list[int]:
    """Return `count` numbers from an attribute, by default all 0; raise Refusal C103 for a list of another length."""
    numbers = node.ints(name) or [0] * count
    if len(numbers) != count:
        raise Refusal("C103", f"'{name}' has {len(numbers)} elements, not {count}")
    return numbers


def _rank_of_value(node: Node, side: str, index: int) -> int:
    """Return the rank of a scanned "input" or stacked "output"; raise Refusal C207 if it is not known."""
    body = node.attr("body")
    name, part = (node.input(index), body.input) if side == "input" else (node.output(index), body.output)
    if name and (shape := node.values.shape(name)) is not None:
        return len(shape)
    if (shape := shape_of(part[index].type)) is not None:
        return len(shape) + 1
    why = f"the rank of '{safe_text(name or part[index].name)}' is not known"
    label = "the rank of a scanned or stacked value is not known"
    raise Refusal("C207", why, "declare the shapes of the inputs and outputs of the body", label=label)


def _element_of(value: Any) -> str:
    """Return the element type that a ValueInfoProto states, "" if it states none."""
    number = value.type.tensor_type.elem_type
    return next((name for name, other in NUMBERS.items() if other == number and number), "")


def _new_values(op: Builder, elements: Sequence[str]) -> list[Any]:
    """Return new inputs or outputs of a graph with these element types, "" for unknown ones, and unknown shapes."""
    values = [pb.ValueInfoProto(name=op.fresh("value")) for _ in elements]
    for value, element in zip(values, elements, strict=True):
        if element:
            value.type.tensor_type.elem_type = NUMBERS[element]
    return values


def _reverse_sequences(op: Builder, value: str, element: str) -> str:
    """Return a batch with its sequences in reverse order, by a Scan."""
    name = op.fresh("backwards")
    body = pb.GraphProto(name=name, input=_new_values(op, [element]), output=_new_values(op, [element]))
    body.node.add(op_type="Identity", input=[body.input[0].name], output=[body.output[0].name])
    return op.Scan("", value, body=body, num_scan_inputs=1, directions=[1])


@lower("SequenceMap", since=17)
def sequence_map_lowered(op: Builder, node: Node) -> Result:
    """Run the body in a loop that takes elements from the sequences and puts the results into new ones."""
    source = _body_with_new_names(op, node)
    sequence = node.input(0)
    outputs = list(node.outputs)
    if len(source.input) != len(node.inputs) or len(source.output) < len(outputs) or not all(outputs):
        raise Refusal("C103", "the body does not have the inputs and outputs of the node")
    kinds = [node.values.type(name) for name in (*node.inputs, *outputs)]
    unknown = next((name for name, kind in zip((*node.inputs, *outputs), kinds, strict=True) if kind is None), "")
    if unknown:
        raise unknown_type(unknown)
    body, number = _loop_body(op, source)
    for name, kind, formal in zip(node.inputs, kinds, source.input, strict=False):
        if str(kind).startswith("seq("):
            body.node.add(op_type="SequenceAt", input=[name, number], output=[formal.name])
        else:
            body.node.add(op_type="Identity", input=[name], output=[formal.name])
    body.node.extend(source.node)
    empty = []
    for kind, result in zip(kinds[len(node.inputs) :], source.output, strict=False):
        element = NUMBERS.get(str(kind).removeprefix("seq(tensor(").removesuffix("))"))
        if element is None:
            raise Refusal("C103", f"an output is {kind}, and those of {node.op_type} are sequences of tensors")
        before, longer = (pb.ValueInfoProto(name=op.fresh("results")) for _ in range(2))
        for value in (before, longer):
            value.type.sequence_type.elem_type.tensor_type.elem_type = element
        body.node.add(op_type="SequenceInsert", input=[before.name, result.name], output=[longer.name])
        body.input.append(before)
        body.output.append(longer)
        empty.append(op.SequenceEmpty(dtype=element))
    op.Loop(op.SequenceLength(sequence), "", *empty, body=body, outputs=outputs)
    return outputs
