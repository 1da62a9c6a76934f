"""Faults that a converter could make, put into a model one at a time, each by a function that is drawn a place."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, NodeProto, helper, numpy_helper

Inject = Callable[[ModelProto, random.Random], bool]
"""Puts a fault into a model, and returns whether there was a place for it."""
FAULTS: dict[str, Inject] = {}


def fault(name: str) -> Callable[[Inject], Inject]:
    """Register a kind of fault."""

    def register(inject: Inject) -> Inject:
        FAULTS[name] = inject
        return inject

    return register


def bodies(model: ModelProto) -> Iterator[Any]:
    """Yield all graphs and functions of a model."""
    pending: list[Any] = [model.graph, *model.functions]
    while pending:
        body = pending.pop()
        yield body
        for node in body.node:
            for attribute in node.attribute:
                pending += [attribute.g] if attribute.type == AttributeProto.GRAPH else attribute.graphs


def nodes(model: ModelProto) -> list[NodeProto]:
    return [node for body in bodies(model) for node in body.node]


def floats(model: ModelProto) -> list[onnx.TensorProto]:
    """Return the weights of floating point."""
    return [each for each in constants(model) if each.data_type in (1, 11) and each.dims and not each.external_data]


def constants(model: ModelProto) -> list[onnx.TensorProto]:
    """Return the initializers and the values of Constant nodes."""
    found = [tensor for body in bodies(model) if isinstance(body, onnx.GraphProto) for tensor in body.initializer]
    for node in nodes(model):
        if node.op_type == "Constant":
            found += [each.t for each in node.attribute if each.name == "value"]
    return found


def replace(tensor: onnx.TensorProto, value: np.ndarray) -> bool:
    """Put another value into a tensor; say whether it is another one."""
    before = numpy_helper.to_array(tensor)
    made = numpy_helper.from_array(np.ascontiguousarray(value.astype(before.dtype)), tensor.name)
    tensor.CopyFrom(made)
    return not np.array_equal(before, value, equal_nan=before.dtype.kind == "f")


def attributed(name: str, change: Callable[[AttributeProto, random.Random], None], *operators: str) -> Inject:
    """Return the fault that changes an attribute which a node states."""

    def inject(model: ModelProto, rng: random.Random) -> bool:
        found = [
            each
            for node in nodes(model)
            if not operators or node.op_type in operators
            for each in node.attribute
            if each.name == name and not each.ref_attr_name
        ]
        if not found:
            return False
        chosen = rng.choice(found)
        before = chosen.SerializeToString()
        change(chosen, rng)
        return chosen.SerializeToString() != before

    return inject


def renamed(pairs: dict[str, str]) -> Inject:
    """Return the fault that puts another operator in a node's place."""

    def inject(model: ModelProto, rng: random.Random) -> bool:
        found = [node for node in nodes(model) if node.op_type in pairs and node.domain in ("", "ai.onnx")]
        if not found:
            return False
        node = rng.choice(found)
        node.op_type = pairs[node.op_type]
        return True

    return inject


def other_number(attribute: AttributeProto, rng: random.Random) -> None:
    attribute.i += rng.choice([-1, 1])


def other_flag(attribute: AttributeProto, rng: random.Random) -> None:
    attribute.i = 1 - attribute.i


def other_list(attribute: AttributeProto, rng: random.Random) -> None:
    if attribute.ints:
        attribute.ints[rng.randrange(len(attribute.ints))] += 1


def shuffled(attribute: AttributeProto, rng: random.Random) -> None:
    if len(attribute.ints) > 1:
        first, second = rng.sample(range(len(attribute.ints)), 2)
        attribute.ints[first], attribute.ints[second] = attribute.ints[second], attribute.ints[first]


def hundredfold(attribute: AttributeProto, rng: random.Random) -> None:
    attribute.f *= 100


def a_little_more(attribute: AttributeProto, rng: random.Random) -> None:
    attribute.f = attribute.f * 1.1 + 0.01


MODES = {
    b"nearest": b"linear", b"linear": b"nearest", b"bilinear": b"nearest", b"constant": b"edge", b"edge": b"reflect",
    b"reflect": b"edge", b"DCR": b"CRD", b"CRD": b"DCR", b"half_pixel": b"asymmetric", b"asymmetric": b"half_pixel",
    b"align_corners": b"half_pixel", b"floor": b"ceil", b"ceil": b"floor", b"round_prefer_floor": b"floor",
    b"forward": b"reverse", b"reverse": b"forward", b"SAME_UPPER": b"SAME_LOWER", b"SAME_LOWER": b"SAME_UPPER",
    b"add": b"mul", b"mul": b"add", b"mean": b"sum", b"sum": b"mean", b"none": b"add", b"avg": b"max",
    b"pytorch_half_pixel": b"half_pixel", b"tanh": b"none", b"zeros": b"border", b"border": b"zeros",
    b"cubic": b"linear",    b"LEFT": b"RIGHT", b"RIGHT": b"LEFT",
}  # fmt: skip


def other_word(attribute: AttributeProto, rng: random.Random) -> None:
    attribute.s = MODES.get(attribute.s, attribute.s)


for label, name, change in (
    ("changed axis", "axis", other_number), ("changed axes", "axes", other_list), ("other padding", "pads", other_list),
    ("wrong perm", "perm", shuffled), ("keepdims", "keepdims", other_flag), ("epsilon", "epsilon", hundredfold),
    ("other mode", "mode", other_word), ("other coordinates", "coordinate_transformation_mode", other_word),
    ("other rounding of places", "nearest_mode", other_word), ("exclusive flag", "exclusive", other_flag),
    ("reverse flag", "reverse", other_flag), ("counted padding", "count_include_pad", other_flag),
    ("strides", "strides", other_list), ("dilations", "dilations", other_list), ("alpha", "alpha", a_little_more),
    ("beta", "beta", a_little_more), ("transA", "transA", other_flag), ("transB", "transB", other_flag),
    ("largest flag", "largest", other_flag), ("ceil_mode", "ceil_mode", other_flag),
    ("select_last_index", "select_last_index", other_flag), ("reduction", "reduction", other_word),
    ("direction", "direction", other_word), ("same padding", "auto_pad", other_word),
    ("kernel", "kernel_shape", other_list),
    ("block size", "blocksize", other_number), ("lower or upper", "upper", other_flag),
    ("p of a norm", "p", other_number),
    ("linear_before_reset", "linear_before_reset", other_flag), ("batch_dims", "batch_dims", other_number),
):  # fmt: skip
    FAULTS[label] = attributed(name, change)
for label, pairs in (
    ("min and max swapped", {"Min": "Max", "Max": "Min", "ReduceMin": "ReduceMax", "ReduceMax": "ReduceMin",
                             "ArgMin": "ArgMax", "ArgMax": "ArgMin"}),
    ("sum and difference", {"Add": "Sub", "Sub": "Add"}), ("product and quotient", {"Mul": "Div", "Div": "Mul"}),
    ("rounding", {"Floor": "Ceil", "Ceil": "Floor", "Round": "Floor"}),
    ("strict comparison", {"Less": "LessOrEqual", "Greater": "GreaterOrEqual", "LessOrEqual": "Less",
                           "GreaterOrEqual": "Greater"}),
    ("and, or", {"And": "Or", "Or": "And", "Xor": "Or"}), ("mean and sum", {"ReduceMean": "ReduceSum",
                                                                           "ReduceSum": "ReduceMean"}),
    ("other function", {"Sin": "Cos", "Cos": "Sin", "Tanh": "Sigmoid", "Sigmoid": "Tanh", "Exp": "Abs", "Erf": "Tanh",
                        "Relu": "Abs", "Softmax": "LogSoftmax", "LogSoftmax": "Softmax", "Elu": "Selu", "Selu": "Elu",
                        "Softplus": "Relu", "HardSwish": "Relu", "Mish": "Softplus"}),
    ("dropped node", dict.fromkeys(("Relu Neg Abs Exp Sqrt Log Sigmoid Tanh Floor Ceil Round Not Softmax Erf Sign "
                                    "Reciprocal Softplus LeakyRelu Elu Clip HardSigmoid Celu Gelu Mish").split(),
                                   "Identity")),
    ("dropped cast", {"Cast": "Identity", "CastLike": "Identity"}),
):  # fmt: skip
    FAULTS[label] = renamed(pairs)


@fault("swapped inputs")
def swap_inputs(model: ModelProto, rng: random.Random) -> bool:
    operators = ("Sub", "Div", "Pow", "MatMul", "Less", "Greater", "Mod", "Concat", "Where", "PRelu", "BitShift")
    found = [node for node in nodes(model) if node.op_type in operators and len({*node.input}) > 1]
    if not found:
        return False
    node = rng.choice(found)
    node.input[-1], node.input[-2] = node.input[-2], node.input[-1]
    return node.input[-1] != node.input[-2]


@fault("wrong output of a node")
def swap_outputs(model: ModelProto, rng: random.Random) -> bool:
    found = [node for node in nodes(model) if len([name for name in node.output if name]) > 1]
    if not found:
        return False
    node = rng.choice(found)
    at = [number for number, name in enumerate(node.output) if name]
    first, second = rng.sample(at, 2)
    node.output[first], node.output[second] = node.output[second], node.output[first]
    return True


@fault("off by one in a constant")
def off_by_one(model: ModelProto, rng: random.Random) -> bool:
    found = [each for each in constants(model) if each.data_type in (6, 7) and not each.external_data]
    if not found:
        return False
    chosen = rng.choice(found)
    value = numpy_helper.to_array(chosen).copy()
    if not value.size:
        return False
    value.reshape(-1)[rng.randrange(value.size)] += rng.choice([-1, 1])
    return replace(chosen, value)


def weight_fault(change: Callable[[np.ndarray, random.Random], np.ndarray | None]) -> Inject:
    """Return the fault that changes a weight."""

    def inject(model: ModelProto, rng: random.Random) -> bool:
        found = floats(model)
        rng.shuffle(found)
        for chosen in found:
            value = change(numpy_helper.to_array(chosen).copy(), rng)
            if value is not None and replace(chosen, value):
                return True
        return False

    return inject


def one_element(value: np.ndarray, change: Callable[[Any], Any], rng: random.Random) -> np.ndarray | None:
    at = [*np.flatnonzero(value.reshape(-1))]
    if not at:
        return None
    chosen = rng.choice(at)
    value.reshape(-1)[chosen] = change(value.reshape(-1)[chosen])
    return value


FAULTS |= {
    "transposed weight": weight_fault(lambda w, rng: w.T if w.ndim == 2 and w.shape[0] == w.shape[1] else None),
    "weights rounded to float16": weight_fault(lambda w, rng: w.astype(np.float16).astype(w.dtype)),
    "sign of a weight": weight_fault(lambda w, rng: one_element(w, lambda x: -x, rng)),
    "a weight off by 1 %": weight_fault(lambda w, rng: one_element(w, lambda x: x * 1.01, rng)),
    "weights in another order": weight_fault(lambda w, rng: w[::-1] if w.shape[0] > 1 else None),
}


@fault("dropped attribute")
def drop_attribute(model: ModelProto, rng: random.Random) -> bool:
    found = [
        (node, at)
        for node in nodes(model)
        if node.op_type not in ("Constant", "If", "Loop", "Scan")
        for at, each in enumerate(node.attribute)
        if not is_default(node, each)
    ]
    if not found:
        return False
    node, at = rng.choice(found)
    del node.attribute[at]
    return True


@fault("dropped input")
def drop_input(model: ModelProto, rng: random.Random) -> bool:
    operators = ("Conv", "Gemm", "LayerNormalization", "Clip", "LSTM", "GRU", "RNN", "ConvTranspose", "Pad", "Slice")
    found = [node for node in nodes(model) if node.op_type in operators and len(node.input) > 2]
    if not found:
        return False
    node = rng.choice(found)
    del node.input[-1]
    return True


@fault("branches swapped")
def swap_branches(model: ModelProto, rng: random.Random) -> bool:
    found = [
        node
        for node in nodes(model)
        if node.op_type == "If" and len({each.g.SerializeToString() for each in node.attribute}) > 1
    ]
    if not found:
        return False
    for attribute in rng.choice(found).attribute:
        attribute.name = {"then_branch": "else_branch", "else_branch": "then_branch"}[attribute.name]
    return True


@fault("dropped cast of two")
def drop_cast_of_two(model: ModelProto, rng: random.Random) -> bool:
    casts = {node.output[0]: node for node in nodes(model) if node.op_type == "Cast"}
    found = [(node, casts[node.input[0]]) for node in casts.values() if node.input[0] in casts]
    if not found:
        return False
    second, first = rng.choice(found)
    second.input[0] = first.input[0]
    return True


@fault("other type of a cast")
def cast_otherwise(model: ModelProto, rng: random.Random) -> bool:
    found = [each for node in nodes(model) if node.op_type == "Cast" for each in node.attribute if each.name == "to"]
    if not found:
        return False
    chosen = rng.choice(found)
    chosen.i = {1: 10, 10: 1, 11: 1, 7: 6, 6: 7, 9: 7}.get(chosen.i, 1)
    return True


def is_default(node: NodeProto, attribute: AttributeProto) -> bool:
    """Whether an attribute states its default."""
    try:
        declared = onnx.defs.get_schema(node.op_type, domain=node.domain).attributes[attribute.name].default_value
    except (KeyError, onnx.defs.SchemaError):
        return False
    return bool(declared.name) and helper.get_attribute_value(declared) == helper.get_attribute_value(attribute)


def in_function(model: ModelProto) -> ModelProto:
    """Return the model with all nodes in a function that it calls."""
    made = ModelProto()
    made.CopyFrom(model)
    made.ir_version = max(made.ir_version, 8)
    graph = made.graph
    inputs = [*dict.fromkeys([value.name for value in graph.input] + [each.name for each in graph.initializer])]
    outputs = [value.name for value in graph.output]
    function = helper.make_function("judged", "Whole", inputs, outputs, graph.node, made.opset_import)
    del graph.node[:], graph.value_info[:]
    graph.node.append(helper.make_node("Whole", inputs, outputs, name="whole", domain="judged"))
    made.functions.append(function)
    made.opset_import.append(helper.make_opsetid("judged", 1))
    return made


def inner_graph(graph: onnx.GraphProto, names: Sequence[str], extra: Sequence[str] = ()) -> onnx.GraphProto:
    """Return the nodes of a graph as a graph whose outputs have other names."""
    inner = onnx.GraphProto(name="inner")
    inner.node.extend(graph.node)
    for name in names:
        inner.node.append(helper.make_node("Identity", [name], [f"{name} inside"]))
    for name in [*extra, *(f"{name} inside" for name in names)]:
        inner.output.append(onnx.ValueInfoProto(name=name))
    for node in inner.node:
        for at, name in enumerate(node.output):
            if name in names:
                node.output[at] = f"{name} before"
        for at, name in enumerate(node.input):
            if name in names:
                node.input[at] = f"{name} before"
    return inner


def in_if(model: ModelProto) -> ModelProto:
    """Return the model with all nodes in a branch of If."""
    made = ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    names = [value.name for value in graph.output]
    inner = inner_graph(graph, names)
    del graph.node[:], graph.value_info[:]
    graph.node.append(helper.make_node("Constant", [], ["held"], value=numpy_helper.from_array(np.array(True))))
    graph.node.append(helper.make_node("If", ["held"], names, name="choice", then_branch=inner, else_branch=inner))
    return made


def in_loop(model: ModelProto) -> ModelProto:
    """Return the model with all nodes in the body of a Loop that runs once."""
    made = ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    names = [value.name for value in graph.output]
    body = inner_graph(graph, names, ["goes on"])
    body.node.append(helper.make_node("Identity", ["started"], ["goes on"]))
    body.input.append(helper.make_tensor_value_info("turn", onnx.TensorProto.INT64, []))
    body.input.append(helper.make_tensor_value_info("started", onnx.TensorProto.BOOL, []))
    del graph.node[:], graph.value_info[:]
    for name, value in (("turns", np.array(1)), ("held", np.array(True)), ("first", np.array(0))):
        graph.node.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value)))
    graph.node.append(helper.make_node("Loop", ["turns", "held"], [f"{name} all" for name in names], body=body))
    for name in names:
        graph.node.append(helper.make_node("Gather", [f"{name} all", "first"], [name], axis=0))
    return made


PLACES: dict[str, Callable[[ModelProto], ModelProto]] = {
    "in a branch of If": in_if, "in a body of Loop": in_loop, "in a function": in_function,
}  # fmt: skip
