"""Hostile models are inferred as far as that goes: a typed error, a finding or unknown, in little memory."""

import itertools
from functools import partial

import pytest
from onnx import AttributeProto, TensorProto, helper, parser

from opset import Inference, ModelError, OpsetError, infer
from opset.inference.building.dimensions import Dim
from opset.opsets.registry import default_registry
from tests.bounds import THOROUGH, growth, lines, megabytes

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
HUGE = 2**63 - 1
LEAST = -(2**63)


def value(name, shape, element=FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


def whole(name, numbers, dims=None):
    return helper.make_tensor(name, INT64, [len(numbers)] if dims is None else dims, numbers)


def model(nodes, inputs, constants=(), outputs=None, opset=17, functions=(), **imports):
    """Return a model; without `outputs` its output is the last one of the last node."""
    outputs = nodes[-1].output[-1:] if outputs is None else outputs
    named = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph(nodes, "main", inputs, named, constants)
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(*each) for each in imports.items())]
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=9)


def inferred(proto, room=300, refusable=False):
    """Return what is inferred, in so many megabytes more; None where one that is refusable is refused."""
    data = proto if isinstance(proto, bytes) else proto.SerializeToString()
    with megabytes(room):
        try:
            found = infer(data, check_type=True)
        except OpsetError as error:
            assert refusable, error
            found = None
        if found is not None:
            assert all(str(finding) for finding in found.findings)
            assert all(gap.place for gap in found.gaps)
            assert sum(found.coverage.values()) == sum(1 for _ in found.values())
            assert len(found.written().proto.graph.node) == len(found.model.proto.graph.node)
    return found


def shape(found, name="y"):
    assert isinstance(found, Inference)
    return found.shape(name)


def codes(found):
    return {finding.code for finding in found.findings}


NUMBERS = [0, 1, -1, 2**40, HUGE, LEAST]
X4 = [value("x", [2, 4, 9, 9])]


@pytest.mark.parametrize("size", NUMBERS)
def test_sizes_of_any_number(size):
    relu = helper.make_node("Relu", ["x"], ["r"])
    product = helper.make_node("MatMul", ["r", "x"], ["m"])
    joined = helper.make_node("Concat", ["x", "x", "x"], ["c"], axis=0)
    flat = helper.make_node("Flatten", ["x"], ["f"])
    total = helper.make_node("Size", ["x"], ["y"])
    proto = model([relu, product, joined, flat, total], [value("x", [size, size])])
    found = inferred(proto)
    assert shape(found) == ()
    if size >= 0:
        assert shape(found, "r") == (size, size)


def test_no_tensor_has_a_size_beyond_64_bits():
    found = inferred(model([helper.make_node("Concat", ["x", "x"], ["y"], axis=0)], [value("x", [HUGE, 3])]))
    assert isinstance(shape(found)[0], Dim)
    assert shape(found)[1] == 3
    (finding,) = found.findings
    assert finding.why == "output 0 would have a size beyond 64 bits: [18446744073709551614, 3]"


RANKED = ("Relu", "Shape", "Transpose", "Flatten")


@pytest.mark.parametrize("rank", [10**4, 10**6])
def test_a_type_of_great_rank(rank):
    proto = model([helper.make_node(name, ["x"], [name]) for name in RANKED], [], outputs=RANKED)
    entry = proto.graph.input.add(name="x")
    entry.type.tensor_type.elem_type = FLOAT
    dims = b"\x0a\x02\x08\x01" * rank
    entry.type.tensor_type.shape.MergeFromString(dims)
    found = inferred(proto)
    assert found.type("Relu").element == "float"


def test_tensors_of_great_rank():
    great = helper.make_tensor("great", FLOAT, [1] * 100_000, [1.0])
    nodes = [helper.make_node("Constant", [], ["c"], value=great)]
    for number in range(3000):
        nodes += [helper.make_node("Relu", [name], [f"{name}{number}"]) for name in ("great", "c")]
    found = inferred(model(nodes, [], [great]))
    assert found.type("c2999").element == "float"


def test_a_rank_that_grows():
    nodes = [helper.make_node("Gather", [f"g{number}", "i"], [f"g{number + 1}"]) for number in range(9)]
    found = inferred(model(nodes, [value("g0", ["N"]), value("i", ["M"] * 9, INT64)], outputs=("g9",)))
    assert len(shape(found, "g7")) == 57
    assert shape(found, "g8") is None
    assert [gap.reason for gap in found.gaps] == ["a rank of 65 is too great to be followed"]


def test_types_that_are_long_are_written_as_far_as_there_is_room():
    sizes = [chr(97 + number % 26) * (1400 + number) for number in range(64)]
    nodes = chain("Relu", 5000)
    nodes[0].input[0] = "x"
    found = inferred(model(nodes, [value("x", sizes)]), room=500)
    assert found.written().proto.ByteSize() < 100_000_000
    assert len(found.written().proto.graph.value_info) > 500
    assert found.left_out == 5000 - len(found.written().proto.graph.value_info)


def calls(count):
    function = helper.make_function(
        "d", "f", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 17)]
    )
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Concat", ["s"] * 20, ["c"], axis=0)]
    nodes += [helper.make_node("f", ["c"], [f"y{number}"], domain="d") for number in range(count)]
    return model(nodes, [value("x", [f"N{number}" for number in range(50)])], functions=[function], d=1)


def test_many_calls_with_many_elements():
    found = inferred(calls(500))
    assert shape(found, "y499") == (1000,)
    assert growth(lambda count: partial(infer, calls(count).SerializeToString()), 12, 4) < 2


DATA = {
    "Expand": ("x", "s"), "Reshape": ("x", "s"), "Tile": ("x", "s"), "Pad": ("x", "s"), "ConstantOfShape": ("s",),
    "Slice": ("x", "s", "s"), "Unsqueeze": ("x", "s"), "Squeeze": ("x", "s"), "Split": ("x", "s"),
    "OneHot": ("s", "s", "x"), "TopK": ("x", "s"), "Resize": ("x", "", "", "s"), "CenterCropPad": ("x", "s"),
    "ReduceSum": ("x", "s"), "Gather": ("x", "s"), "GatherND": ("x", "s"), "Upsample": ("x", "s"), "Trilu": ("x", "s"),
}  # fmt: skip


@pytest.mark.parametrize("numbers", [[2**40] * 4, [HUGE] * 4, [LEAST] * 4, [-1] * 4, [1] * 200_000, [2] * 1024, []])
@pytest.mark.parametrize("operator", DATA)
def test_shapes_axes_and_counts_of_any_number(operator, numbers):
    node = helper.make_node(operator, DATA[operator], ["y"])
    inferred(model([node], [value("x", [1, 1, 1, 1])], [whole("s", numbers)]))
    inferred(model([node], [value("x", [1, 1, 1, 1])], [whole("s", numbers[:1], [] if numbers else None)]))
    inferred(model([node], [value("x", ["N"] * 4)], [whole("s", numbers)], opset=18))
    inferred(model([node], [value("x", None)], [whole("s", numbers)], opset=18))


@pytest.mark.parametrize("numbers", [(0, 2**40, 1), (LEAST, HUGE, 1), (0, 1, 0), (HUGE, LEAST, LEAST)])
def test_ranges_of_any_number(numbers):
    constants = [whole(name, [number], []) for name, number in zip("abc", numbers, strict=True)]
    nodes = [
        helper.make_node("Range", ["a", "b", "c"], ["r"]),
        helper.make_node("Add", ["r", "r"], ["s"]),
        helper.make_node("ConstantOfShape", ["r"], ["y"]),
    ]
    inferred(model(nodes, [], constants))


def test_expanding_to_great_shapes_and_back():
    nodes = [
        helper.make_node("Expand", ["one", "great"], ["e"]),
        helper.make_node("Shape", ["e"], ["s"]),
        helper.make_node("ConstantOfShape", ["s"], ["c"]),
        helper.make_node("Tile", ["c", "great"], ["t"]),
        helper.make_node("ReduceSum", ["c"], ["y"], keepdims=0),
    ]
    found = inferred(model(nodes, [], [whole("one", [1]), whole("great", [2**40])]))
    assert shape(found, "c") == (2**40,)
    assert shape(found) == ()


WINDOWS = {
    "Conv": (["x", "w"], ["kernel_shape", "strides", "dilations", "pads"]),
    "ConvTranspose": (["x", "w"], ["kernel_shape", "strides", "dilations", "pads", "output_padding", "output_shape"]),
    "ConvInteger": (["u", "u"], ["kernel_shape", "strides", "dilations", "pads"]),
    "MaxPool": (["x"], ["kernel_shape", "strides", "dilations", "pads"]),
    "AveragePool": (["x"], ["kernel_shape", "strides", "pads"]),
    "LpPool": (["x"], ["kernel_shape", "strides", "pads"]),
    "MaxUnpool": (["x", "i"], ["kernel_shape", "strides", "pads"]),
}


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("operator", WINDOWS)
def test_windows_of_any_number(operator, number):
    inputs = [*X4, value("w", [4, 4, 3, 3]), value("i", [2, 4, 9, 9], INT64), value("u", [2, 4, 9, 9], 2)]
    given, names = WINDOWS[operator]
    base = {"kernel_shape": [3, 3]}
    nodes = []
    for name in names:
        for length in (2, 4, 0, 1000):
            for padding in ("NOTSET", "SAME_UPPER", "nonsense"):
                node = helper.make_node(operator, given, [f"y{len(nodes)}"], auto_pad=padding)
                for key, numbers in (base | {name: [number] * length}).items():
                    node.attribute.append(helper.make_attribute(key, numbers, attr_type=AttributeProto.INTS))
                nodes.append(node)
    if operator.startswith("Conv"):
        nodes.append(helper.make_node(operator, given, ["group"], group=number, **base))
    nodes.append(helper.make_node(operator, given, ["ceil"], ceil_mode=number, **base))
    inferred(model(nodes, inputs))


REGISTRY = default_registry()
OPERATORS = [(domain, name) for domain in REGISTRY.domains for name in REGISTRY.operators(domain)]
BRANCH = helper.make_graph([helper.make_node("Relu", ["x"], ["in"])], "g", [value("a", None)], [value("in", None)])
GIVEN = [
    *NUMBERS, *([number] * length for number in NUMBERS for length in (1, 4)), [1] * 1000, 1.5, float("nan"), [1e30],
    "text", b"\xff", ["a", "b"], whole("t", [1]), BRANCH,
]  # fmt: skip
FED = [["x"], ["x", "i", "x"], ["x", "w", "w"], ["s"], ["", "x"]]


@pytest.mark.parametrize(("domain", "name"), OPERATORS)
def test_attributes_of_any_number_and_kind(domain, name):
    newest = REGISTRY.versions(name, domain)[-1]
    nodes = []
    turns = itertools.count(len(name))
    for attribute in newest.attributes:
        for given in GIVEN:
            for inputs in FED if THOROUGH else [FED[next(turns) % len(FED)], FED[next(turns) % len(FED)]]:
                node = helper.make_node(name, inputs, [f"y{len(nodes)}", f"z{len(nodes)}"], domain=domain)
                node.attribute.append(helper.make_attribute(attribute, given))
                nodes.append(node)
    inputs = [*X4, value("i", [3], INT64), value("w", [4, 4, 3, 3])]
    inputs.append(helper.make_tensor_sequence_value_info("s", FLOAT, [2, "N"]))
    nodes.append(helper.make_node("Identity", ["x"], ["y"]))
    imports = {} if domain in ("", "ai.onnx") else {domain: newest.since_version}
    opset = 17 if imports else newest.since_version
    inferred(model(nodes, inputs, opset=opset, **imports), refusable=name == "Constant")


# Functions


def doubling(count, grows):
    """Return functions of which each calls the one before twice, with the same argument or with ever longer ones."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)]
    made = [helper.make_function("d", "f0", ["x"], ["y"], [helper.make_node("Relu", ["x"], ["y"])], opsets)]
    for number in range(1, count):
        before = f"f{number - 1}"
        second = ["a", "x"] if grows else ["x"]
        nodes = [
            helper.make_node(before, ["x"], ["a"], domain="d"),
            helper.make_node("Concat", second, ["b"], axis=0),
            helper.make_node(before, ["b"], ["c"], domain="d"),
            helper.make_node("Concat", ["a", "c"], ["y"], axis=0) if grows else helper.make_node("Relu", ["c"], ["y"]),
        ]
        made.append(helper.make_function("d", f"f{number}", ["x"], ["y"], nodes, opsets))
    return made


@pytest.mark.parametrize("size", [3, "N"])
@pytest.mark.parametrize("grows", [False, True])
def test_functions_that_double(grows, size):
    node = helper.make_node("f24", ["x"], ["y"], domain="d")
    found = inferred(model([node], [value("x", [size])], functions=doubling(25, grows), d=1))
    (total,) = shape(found)
    assert isinstance(total, Dim) if grows else str(total) == str(size)


def test_functions_that_call_each_other():
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)]
    made = [
        helper.make_function("d", name, ["x"], ["y"], [helper.make_node(other, ["x"], ["y"], domain="d")], opsets)
        for name, other in (("f", "g"), ("g", "f"))
    ]
    proto = model([helper.make_node("f", ["x"], ["y"], domain="d")], [value("x", [2])], functions=made, d=1)
    proto = proto.SerializeToString()
    with pytest.raises(ModelError):
        infer(proto)


def test_a_long_chain_of_functions():
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)]
    made = [helper.make_function("d", "f0", ["x"], ["y"], [helper.make_node("Relu", ["x"], ["y"])], opsets)]
    for number in range(1, 3000):
        nodes = [helper.make_node(f"f{number - 1}", ["x"], ["y"], domain="d")]
        made.append(helper.make_function("d", f"f{number}", ["x"], ["y"], nodes, opsets))
    node = helper.make_node("f2999", ["x"], ["y"], domain="d")
    assert shape(inferred(model([node], [value("x", [3])], functions=made, d=1))) == (3,)


# Long chains and sizes that grow


def chain(operator, count, first=("x",), **attributes):
    names = [f"v{number}" for number in range(count - 1)] + ["y"]
    nodes, last = [], first[0]
    for name in names:
        nodes.append(helper.make_node(operator, [last, *first[1:]], [name], **attributes))
        last = name
    return nodes


def test_a_chain_of_10_000_nodes():
    found = inferred(model(chain("Relu", 10_000), [value("x", ["N", 3])]))
    assert [str(each) for each in shape(found)] == ["N", "3"]


def test_time_is_linear_in_nodes():
    def inference(count):
        return partial(infer, model(chain("Relu", count), [value("x", ["N", 3])]).SerializeToString())

    assert growth(inference, 200, 4) < 2


def doubled(operator, count):
    names = ["x", *(f"v{number}" for number in range(count - 1)), "y"]
    more = {"axis": 0} if operator == "Concat" else {}
    return [helper.make_node(operator, [a, a], [b], **more) for a, b in itertools.pairwise(names)]


@pytest.mark.parametrize("size", [3, "N"])
@pytest.mark.parametrize("operator", ["Add", "Mul", "Concat", "Sub", "Div"])
def test_sizes_that_double(operator, size):
    arithmetic = [
        helper.make_node("Shape", ["data"], ["x"]),
        *doubled(operator, 12 if operator == "Concat" else 200),
        helper.make_node("ConstantOfShape", ["y"], ["z"]),
    ]
    found = inferred(model(arithmetic, [value("data", [size])]))
    if operator != "Concat":
        assert len(shape(found, "z")) == 1
    assert len(shape(inferred(model(doubled("Concat", 200), [value("x", [size])])))) == 1


def test_four_thousand_variables_in_a_sum():
    inputs = [value(f"x{number}", [f"n{number}"]) for number in range(4_000)]
    nodes = [helper.make_node("Concat", [each.name for each in inputs], ["y"], axis=0)]
    assert len(shape(inferred(model(nodes, inputs)))) == 1
    step = [helper.make_node("Concat", ["x0", "x1"], ["c1"], axis=0)]
    step += [helper.make_node("Concat", [f"c{n - 1}", f"x{n}"], [f"c{n}"], axis=0) for n in range(2, 4_000)]
    assert len(shape(inferred(model(step, inputs, outputs=("c3999",))), "c3999")) == 1


def test_nodes_whose_sizes_are_not_known():
    nodes = []
    for number in range(5000):
        nodes.append(helper.make_node("NonZero", ["x"], [f"z{number}"]))
        nodes.append(helper.make_node("Concat", [f"z{number}", f"z{max(0, number - 1)}"], [f"c{number}"], axis=1))
    found = inferred(model(nodes, [value("x", ["N"])], outputs=("c4999",)))
    assert len(shape(found, "c4999")) == 2


# Names


NAMES = ["N" * 2**20, "+" * 2**20, "(" * 2**20, "floor(" * 2**17, "N + " * 2**17 + "N", "-N", "0*N", "floor(N/0)"]


@pytest.mark.parametrize("name", NAMES)
def test_long_and_strange_names_of_sizes(name):
    nodes = [helper.make_node("Concat", ["x", "x"], ["c"], axis=0), helper.make_node("Relu", ["c"], ["y"])]
    assert len(shape(inferred(model(nodes, [value("x", [name, 2])])))) == 2


@pytest.mark.parametrize("name", [b"\xff\xfe", b"\x00", b"\xed\xa0\x80", b"\xf5\x80\x80\x80"])
def test_names_that_are_no_text(name):
    mark = b"Q" * len(name)
    text = mark.decode()
    nodes = [helper.make_node("Relu", [f"x{text}"], [f"y{text}"]), helper.make_node(text, [f"y{text}"], ["y"])]
    proto = model(nodes, [value(f"x{text}", [f"n{text}", 2])])
    inferred(proto.SerializeToString().replace(mark, name), refusable=True)


# Graphs in nodes


def nested_loops(depth):
    yes = helper.make_tensor("yes", TensorProto.BOOL, [], [True])
    inner = helper.make_node("Concat", ["state", "x"], ["out"], axis=0)
    for level in range(depth):
        body = helper.make_graph(
            [inner, helper.make_node("Identity", ["go"], ["on"])],
            f"level{level}",
            [value("i", [], INT64), value("go", [], TensorProto.BOOL), value("state", None)],
            [value("on", [], TensorProto.BOOL), value("out", None)],
        )
        inner = helper.make_node("Loop", ["count", "yes", "x" if level == depth - 1 else "state"], ["out"], body=body)
    return model([inner], [value("x", ["N"])], [whole("count", [3], []), yes], outputs=("out",))


@pytest.mark.parametrize("depth", [1, 5, 18])
def test_loops_in_loops(depth):
    found = inferred(nested_loops(depth))
    (size,) = shape(found, "out")
    assert isinstance(size, Dim)


def test_loops_thirty_deep():
    inferred(nested_loops(30))


def test_branches_that_do_not_fit():
    none = helper.make_graph([], "none", [], [])
    two = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Shape", ["x"], ["b"])],
        "two",
        [],
        [value("a", [7]), value("b", None)],
    )
    missing = helper.make_graph([], "missing", [], [value("nowhere", [2])])
    condition = [value("c", [], TensorProto.BOOL), value("x", [2])]
    for then in (none, two, missing):
        for other in (none, two, missing):
            for outputs in ([], ["y"], ["", "y"], ["y", "z", "u"]):
                node = helper.make_node("If", ["c"], outputs, then_branch=then, else_branch=other)
                proto = model([node], condition, outputs=("y",) if "y" in outputs else ())
                inferred(proto, refusable=missing in (then, other))
    for attributes in ({}, {"then_branch": two}, {"then_branch": 3, "else_branch": "text"}):
        for inputs in ([], ["c"], ["x"], ["c", "x"]):
            inferred(model([helper.make_node("If", inputs, ["y"], **attributes)], condition))


@pytest.mark.parametrize("operator", ["Loop", "Scan", "SequenceMap"])
def test_bodies_that_do_not_fit(operator):
    grows = [helper.make_node("Concat", ["i", "i"], ["o"], axis=0)]
    bodies = [
        helper.make_graph([], "none", [], []),
        helper.make_graph([], "more", [value(f"i{number}", None) for number in range(9)], [value("i0", None)] * 9),
        helper.make_graph(grows, "grows", [value("i", [2])], [value("o", [2])]),
    ]
    inputs = [value("x", [2, 3]), value("n", [], INT64), value("b", [], TensorProto.BOOL)]
    inputs.append(helper.make_tensor_sequence_value_info("s", FLOAT, None))
    for body in bodies:
        for number in (-1, 0, 1, 2, HUGE, LEAST):
            attributes = {"num_scan_inputs": number, "scan_output_axes": [number]} if operator == "Scan" else {}
            for given in ([], ["x"], ["n", "b"], ["n", "b", "x"], ["", "", "x", "x"], ["s", "x"], ["x"] * 9):
                for outputs in (["y"], ["y", "z", "u"]):
                    node = helper.make_node(operator, given, outputs, body=body, **attributes)
                    inferred(model([node], inputs), refusable=True)


# Malformed


def field(number, content):
    """Return a field of a message of a message, in the form of protobuf."""
    length, size = b"", len(content)
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


@pytest.mark.parametrize("depth", [20, 40, 60, 10_000])
def test_types_in_types(depth):
    inner = field(1, b"\x08\x01")
    for level in range(depth):
        inner = field(4 if level % 2 else 9, field(1, inner))
    nodes = [helper.make_node(name, ["x"], [name]) for name in ("Identity", "SequenceAt", "OptionalGetElement", "Relu")]
    data = model(nodes, [], opset=18).SerializeToString()
    # The fields of a graph that comes twice are put together.
    found = inferred(data + field(7, field(11, field(1, b"x") + field(2, inner))), refusable=depth > 40)
    assert (found is None) == (depth > 40)


@pytest.mark.parametrize("number", [0, 99, -1, 2**31 - 1])
def test_element_types_that_there_are_not(number):
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Cast", ["x"], ["y"], to=number)]
    proto = model(nodes, [value("x", [2])], [helper.make_tensor("t", FLOAT, [1], [1.0])])
    proto.graph.input[0].type.tensor_type.elem_type = number
    proto.graph.initializer[0].data_type = number
    inferred(proto, refusable=True)


def test_initializers_that_say_more_than_they_hold():
    constants = [whole("s", [2, 3]), whole("t", [2, 3]), whole("u", [1])]
    constants[0].dims[:] = [2**40, 2**40]
    constants[1].dims[:] = [-5]
    constants[2].dims[:] = [1] * 5000
    nodes = [helper.make_node("Reshape", ["x", name], [f"{name}y"]) for name in "stu"]
    inferred(model(nodes, [value("x", [2, 3])], constants), refusable=True)


BARE = ["", "Nothing", "Relu", "Concat", "Reshape", "Loop", "If", "Scan", "Constant", "Conv", "LSTM", "Attention"]


def test_nodes_that_lack_everything():
    for operator in BARE:
        for inputs in ([], [""], ["", "", "", "", "", "", ""], ["x"]):
            for outputs in (["y"], ["", "y"], ["y", "a", "b", "c", "d", "e", "f", "g"]):
                inferred(model([helper.make_node(operator, inputs, outputs)], [value("x", None)]), refusable=True)


def test_a_model_of_nothing():
    assert inferred(b"", refusable=True) is None
    proto = model([], [], outputs=())
    proto.ClearField("graph")
    assert inferred(proto, refusable=True) is None


def test_empty_tensors_are_not_walked_through():
    """A row of no elements is as quick to describe as many of them."""
    proto = parser.parse_model("""<ir_version: 10, opset_import: ["" : 13]>
        g (int64[50000, 0] x) => (int64[?, ?] y) { y = Concat <axis = 1> (x, x) }""")
    with lines(20_000):
        assert str(infer(proto).type("y")) == "int64[50000, 0]"
