"""Models that attack."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, TensorProto, TypeProto, helper

from judges.hostile.attacks import ESCAPES, MODELS, Statuses, attack

FLOAT, INT64, BOOL, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.STRING
HUGE, LEAST = 2**63 - 1, -(2**63)
SECRET = b"a secret" * 2


def model(every: int | Statuses, alone: bool = False, **some: int | Statuses) -> Any:
    """Return a decorator for a function that returns a model's bytes.

    The names of `some` are verbs, `load`, and `up`, `down` and `written` for forms of convert and infer. What can be
    loaded has a text.
    """
    some.setdefault("text", some.get("load", every))
    return attack(MODELS, "model.onnx", every, alone, **some)


# How models are written


def varint(number: int) -> bytes:
    """Return a number in the form of protobuf."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def field(number: int, content: bytes) -> bytes:
    """Return a field of bytes or of a message in the form of protobuf."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def value(name: str, shape: Sequence[int | str] | None, element: int = FLOAT) -> Any:
    """Return a value_info of a tensor."""
    return helper.make_tensor_value_info(name, element, shape)


def whole(name: str, numbers: Sequence[int], dims: Sequence[int] | None = None) -> TensorProto:
    """Return a tensor of int64."""
    return helper.make_tensor(name, INT64, [len(numbers)] if dims is None else dims, numbers)


def node(operator: str, inputs: str, outputs: str, **attributes: Any) -> NodeProto:
    """Return a node; names of inputs and outputs are separated by blanks, and `_` is an input that is left out."""
    given = ["" if name == "_" else name for name in inputs.split()]
    return helper.make_node(operator, given, outputs.split(), **attributes)


X, Y = value("x", [2, 3]), helper.make_empty_tensor_value_info("y")


def proto(
    nodes: Iterable[NodeProto],
    inputs: Sequence[Any] = (X,),
    outputs: Sequence[Any] = (Y,),
    *,
    constants: Sequence[TensorProto] = (),
    functions: Sequence[FunctionProto] = (),
    opset: int = 13,
    **imports: int,
) -> ModelProto:
    """Return a model; `imports` are those of domains other than the default one."""
    graph = helper.make_graph(list(nodes), "main", inputs, outputs, constants)
    opsets = [helper.make_opsetid(*each) for each in {"": opset, **imports}.items()]
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=8)


def written(*arguments: Any, **also: Any) -> bytes:
    """Return a model's bytes."""
    return proto(*arguments, **also).SerializeToString()


def chain(operator: str, count: int, more: str = "", first: str = "x", **attributes: Any) -> list[NodeProto]:
    """Return `count` nodes from `first` to y, each with the one before it and `more` as inputs."""
    names = [first, *(f"v{number}" for number in range(1, count)), "y"]
    return [node(operator, f"{names[n]} {more}", names[n + 1], **attributes) for n in range(count)]


def function(name: str, nodes: Iterable[NodeProto]) -> FunctionProto:
    """Return a function of x to y in the domain d."""
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("d", 1)]
    return helper.make_function("d", name, ["x"], ["y"], list(nodes), opsets)


def call(name: str, given: str = "x", made: str = "y") -> NodeProto:
    """Return a call of a function in the domain d."""
    return node(name, given, made, domain="d")


def loop(turns: int, body: Iterable[NodeProto], scanned: int = 0, **also: Any) -> bytes:
    """Return a model with a Loop over `s` to `t`, or without that where the body has a `scanned` output `t`."""
    carried = [] if scanned else [value("s", None)]
    inside = helper.make_graph(
        [*body, node("Identity", "go", "on")],
        "body",
        [value("i", [], INT64), value("go", [], BOOL), *carried],
        [value("on", [], BOOL), value("t", None)],
    )
    constants = [whole("turns", [turns], []), helper.make_tensor("yes", BOOL, [], [True])]
    return written(
        [node("Loop", "turns yes" if scanned else "turns yes x", "y", body=inside)], constants=constants, **also
    )


def branch(name: str, nodes: Iterable[NodeProto], output: str) -> Any:
    """Return a graph for an If."""
    return helper.make_graph(list(nodes), name, [], [helper.make_empty_tensor_value_info(output)])


def weighty(size: int) -> bytes:
    """Return a model with a weight of so many bytes."""
    weight = helper.make_tensor("w", TensorProto.UINT8, [size], bytes(size), raw=True)
    return written([node("Cast", "w", "c", to=FLOAT), node("ReduceSum", "c", "y")], [], constants=[weight])


# What is no model, or a damaged one

SAMPLE = written([node("Unsqueeze", "x axes", "u"), node("Relu", "u", "y")], constants=[whole("axes", [0])])


@model(3)
def an_empty_file() -> bytes:
    return b""


@model(3)
def a_model_that_is_cut_short() -> bytes:
    return SAMPLE[: len(SAMPLE) // 2]


@model(3)
def random_bytes() -> bytes:
    return bytes(range(255, 0, -1)) * 40


@model(3)
def a_text_file() -> bytes:
    return b"operator: Relu\nfamily: activation\n" * 20


@model(3)
def a_pointer_of_git_lfs() -> bytes:
    return b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"


@model(3)
def a_field_longer_than_the_file() -> bytes:
    return b"\x08\x08" + varint(7 << 3 | 2) + varint(HUGE) + SAMPLE


@model(3, load=(0, 3))
def a_model_without_a_graph() -> bytes:
    return b"\x08\x08" + field(8, b"\x10\x0d")


# Nesting, cycles, length


def nested(depth: int) -> bytes:
    """Return a model with If inside If, written from the inside out, each level's start alone: in linear time."""
    constant = field(2, b"c") + field(4, b"Constant") + field(5, field(1, b"value_int") + b"\x18\x01\xa0\x01\x02")
    inner = field(1, constant) + field(2, b"g") + field(12, field(1, b"c"))
    starts, size = [inner], len(inner)
    attribute, start_of_node = field(1, b"then_branch") + b"\xa0\x01\x05", field(4, b"If") + field(2, b"c")
    for _ in range(depth):
        for number, before in ((6, attribute), (5, start_of_node), (1, b"")):
            start = before + varint(number << 3 | 2) + varint(size)
            starts.append(start)
            size += len(start)
    return b"\x08\x08" + field(8, b"\x10\x0d") + varint(7 << 3 | 2) + varint(size) + b"".join(reversed(starts))


@model(3)
def graphs_nested_beyond_the_limit() -> bytes:
    return nested(34)


@model(3)
def graphs_nested_100_000_deep() -> bytes:
    return nested(100_000)


@model((0, 1))
def graphs_nested_as_deep_as_protobuf_reads() -> bytes:
    return nested(32)


@model(3)
def types_nested_10_000_deep() -> bytes:
    inner = field(1, b"\x08\x01")
    for level in range(10_000):
        inner = field(4 if level % 2 else 9, field(1, inner))
    return SAMPLE + field(7, field(11, field(1, b"z") + field(2, inner)))


@model(3, load=0, show=0)
def nodes_in_a_cycle() -> bytes:
    return written([node("Add", "x b", "a"), node("Abs", "a", "b"), node("Abs", "b", "y")])


@model(3, load=0, show=0)
def a_node_that_uses_its_own_output() -> bytes:
    return written([node("Add", "x y", "y")])


@model((0, 3), load=0)
def a_function_that_calls_itself() -> bytes:
    return written([call("f")], functions=[function("f", [call("f")])], d=1)


@model((0, 3), load=0)
def functions_that_call_each_other_in_branches() -> bytes:
    nodes = [[node("If", "c", "y", then_branch=branch("g", [call(name, "x", "z")], "z"))] for name in ("g", "f")]
    made = [function(name, each) for name, each in zip("fg", nodes, strict=True)]
    return written([call("f")], functions=made, d=1)


@model(0, alone=True)
def a_chain_of_50_000_nodes() -> bytes:
    return written(chain("Relu", 50_000))


@model(0)
def a_chain_of_3_000_functions() -> bytes:
    made = [function("f0", [node("Relu", "x", "y")])]
    made += [function(f"f{number}", [call(f"f{number - 1}")]) for number in range(1, 3000)]
    return written([call("f2999")], functions=made, d=1)


@model(0, run=1, inline=1)
def functions_that_double_25_times() -> bytes:
    made = [function("f0", [node("Relu", "x", "y")])]
    made += [
        function(f"f{number}", [call(f"f{number - 1}", "x", "a"), call(f"f{number - 1}", "a", "y")])
        for number in range(1, 26)
    ]
    return written([call("f25")], functions=made, d=1)


@model(0, run=1, inline=1, alone=True)
def functions_whose_sizes_double_25_times() -> bytes:
    made = [function("f0", [node("Concat", "x x", "y", axis=0)])]
    for number in range(1, 26):
        before = f"f{number - 1}"
        made.append(
            function(f"f{number}", [call(before, "x", "a"), node("Concat", "a x", "b", axis=0), call(before, "b")])
        )
    return written([call("f25")], functions=made, d=1)


# Shapes and ranks


@model(0, run=(1, 2))
def an_input_of_2_to_the_40() -> bytes:
    return written([node("Relu", "x", "y")], [value("x", [2**40, 2**20])])


@model(0, run=1, down=(0, 1))
def an_array_of_a_petabyte() -> bytes:
    return written([node("ConstantOfShape", "s", "y")], [], constants=[whole("s", [2**40, 2**10])])


@model(0, infer=(0, 1), run=1, down=(0, 1))
def a_tensor_repeated_2_to_the_40_times() -> bytes:
    nodes = [node("Tile", "x s", "t"), node("Expand", "t s", "e"), node("Shape", "e", "y")]
    return written(nodes, constants=[whole("s", [2**40, 2**20])])


@model(0, run=1, down=(0, 1), infer=1)
def a_range_of_2_to_the_63() -> bytes:
    constants = [whole(name, [number], []) for name, number in zip("abc", (LEAST, HUGE, 1), strict=True)]
    return written([node("Range", "a b c", "r"), node("ConstantOfShape", "r", "y")], [], constants=constants)


@model(3, load=0, show=0, up=(0, 3), down=(0, 3), infer=(0, 1), inline=0)
def initializers_that_are_larger_than_their_data() -> bytes:
    weights = [whole(name, [2, 3]) for name in ("s", "t", "u")]
    weights[0].dims[:] = [2**40, 2**40]
    weights[1].dims[:] = [-5]
    weights[2].dims[:] = [0, HUGE, HUGE]
    return written(
        [node("Reshape", f"x {name}", f"{name}y") for name in "stu"] + [node("Add", "sy ty", "y")], constants=weights
    )


@model((0, 1), load=0, show=0, run=(1, 2, 3), alone=True)
def a_type_of_rank_one_million() -> bytes:
    made = proto(
        [node("Relu", "x", "r"), node("Shape", "r", "s"), node("Transpose", "r", "t"), node("Flatten", "r", "y")]
    )
    made.graph.input[0].type.tensor_type.shape.MergeFromString(b"\x0a\x02\x08\x01" * 10**6)
    return made.SerializeToString()


@model(0, run=(1, 3), infer=(0, 1), down=(0, 1))
def a_tensor_of_rank_100_000() -> bytes:
    great = helper.make_tensor("great", FLOAT, [1] * 100_000, [1.0])
    return written(
        [node("Relu", "great", "r"), node("Transpose", "r", "t"), node("Flatten", "t", "y")], constants=[great]
    )


@model(0, run=(1, 2))
def a_rank_that_grows_with_every_node() -> bytes:
    nodes = [node("Gather", f"g{number} i", f"g{number + 1}") for number in range(9)]
    return written([*nodes, node("Relu", "g9", "y")], [value("g0", ["N"]), value("i", ["M"] * 9, INT64)])


@model((0, 1), load=0, show=0, run=(1, 2, 3))
def sizes_named_by_a_megabyte() -> bytes:
    names = [name * (2**20 // len(name)) for name in ("N", "+", "(", "floor(", "N + ")]
    inputs = [value(f"x{number}", [name, 2]) for number, name in enumerate(names)]
    nodes = [node("Concat", " ".join(each.name for each in inputs), "c", axis=0), node("Relu", "c", "y")]
    return written(nodes, inputs)


# External data


def external(folder: Path, location: str, dims: Sequence[int] = (16,), **entries: object) -> bytes:
    """Return a model that adds up the bytes of an external file; beside its folder is a file with a secret."""
    (folder / "outside").mkdir()
    (folder / "outside" / "secret").write_bytes(SECRET)
    (folder / "weights").write_bytes(SECRET)
    weight = TensorProto(name="w", data_type=TensorProto.UINT8, dims=dims, data_location=TensorProto.EXTERNAL)
    for key, each in {"location": location, **entries}.items():
        weight.external_data.add(key=key, value=str(each))
    return written([node("Cast", "w", "c", to=FLOAT), node("ReduceSum", "c", "y")], [], constants=[weight])


def data(moved: int | Statuses = 3, run: int | Statuses = 3) -> Any:
    """Return a decorator for a model whose external data nobody may read.

    What needs no weights does not notice; where the result is in another folder, the data is `moved` there.
    """
    return attack(
        MODELS, "model/model.onnx", 3, load=0, text=0, show=0, up=0, inline=0, infer=0, down=moved, written=moved,
        run=run,
    )  # fmt: skip


def below(folder: Path) -> Path:
    """Return the folder of the model, with `outside` beside it."""
    (folder / "model").mkdir()
    return folder / "model"


@data()
def data_in_the_folder_above(folder: Path) -> bytes:
    made = external(below(folder), "../outside/secret")
    (folder / "model" / "outside").rename(folder / "outside")
    return made


@data()
def data_at_an_absolute_path(folder: Path) -> bytes:
    return external(below(folder), "/etc/passwd")


@data()
def data_through_a_link(folder: Path) -> bytes:
    inside = below(folder)
    (inside / "link").symlink_to("/etc/passwd")
    return external(inside, "link")


@data()
def data_through_a_linked_folder(folder: Path) -> bytes:
    inside = below(folder)
    (inside / "door").symlink_to("/etc")
    return external(inside, "door/passwd")


@data()
def data_through_a_hard_link(folder: Path) -> bytes:
    inside = below(folder)
    (folder / "secret").write_bytes(SECRET)
    os.link(folder / "secret", inside / "hard")
    return external(inside, "hard")


@data()
def data_from_a_pipe(folder: Path) -> bytes:
    inside = below(folder)
    os.mkfifo(inside / "pipe")
    return external(inside, "pipe")


@data()
def data_from_a_device(folder: Path) -> bytes:
    return external(below(folder), "/dev/zero")


@data()
def data_from_a_folder(folder: Path) -> bytes:
    return external(below(folder), "outside")


@data()
def data_whose_name_has_a_nul(folder: Path) -> bytes:
    return external(below(folder), "wei\0ghts")


@data(moved=0)
def data_past_the_end_of_its_file(folder: Path) -> bytes:
    return external(below(folder), "weights", offset=10)


@data(moved=0)
def data_at_an_offset_of_2_to_the_63(folder: Path) -> bytes:
    return external(below(folder), "weights", offset=HUGE, length=16)


@data(moved=0, run=(1, 3))
def data_longer_than_its_file(folder: Path) -> bytes:
    return external(below(folder), "weights", dims=[2**40], length=2**40)


@data(moved=0)
def data_at_a_negative_offset(folder: Path) -> bytes:
    return external(below(folder), "weights", offset=-1)


@data(moved=0)
def data_whose_length_has_100_000_digits(folder: Path) -> bytes:
    return external(below(folder), "weights", length="9" * 100_000)


# Names and text


@model(1, load=0, show=0, infer=(0, 1), run=(1, 2), inline=0)
def escape_sequences_in_every_name() -> bytes:
    opsets = {f"com.{ESCAPES}": 1}
    nodes = [
        helper.make_node("Relu", ["x"], [ESCAPES], name=ESCAPES, doc_string=ESCAPES),
        helper.make_node(f"Op{ESCAPES}", [ESCAPES], ["z"], domain=f"com.{ESCAPES}", name=ESCAPES),
        helper.make_node(f"Op{ESCAPES}", ["z"], ["w"], name=ESCAPES),
        helper.make_node("Squeeze", ["w", ESCAPES], ["y"], name=ESCAPES),
    ]
    made = proto(nodes, [value("x", [f"N{ESCAPES}", 3])], [value("y", None)], **opsets)
    made.producer_name = made.producer_version = made.graph.name = made.graph.doc_string = made.doc_string = ESCAPES
    made.metadata_props.add(key=ESCAPES, value=ESCAPES)
    return made.SerializeToString()


@model(0)
def template_text_in_every_doc_string() -> bytes:
    text = "{{ 7 * 7 }}{% include '/etc/passwd' %}${HOME}$(id)`id`<script>alert(1)</script>\0%n%s{0.__class__}"
    made = proto([node("Relu", "x", "y", name=text, doc_string=text)])
    made.doc_string = made.graph.doc_string = made.graph.input[0].doc_string = text
    return made.SerializeToString()


@model(3, load=(0, 3), show=(0, 3))
def an_operator_that_is_not_utf_8() -> bytes:
    return written([node("Relu", "x", "mid"), node("Abs", "mid", "y")]).replace(b"Relu", b"R\xff\xfeu")


@model(3, load=(0, 3), show=(0, 3))
def a_value_that_is_not_utf_8() -> bytes:
    return written([node("Relu", "x", "mid"), node("Abs", "mid", "y")]).replace(b"mid", b"m\xffd")


@model((0, 1))
def an_attribute_that_is_not_utf_8() -> bytes:
    nodes = [
        node("Constant", "", "c", value_string=b"\xff\xfe\xed\xa0\x80"),
        node("Resize", "x _ sizes", "r", mode=b"\xff\xfe"),
        node("Identity", "c", "y"),
    ]
    return written(nodes, constants=[whole("sizes", [2, 3])])


@model(3, load=0, show=0)
def the_empty_name_for_everything() -> bytes:
    made = proto([node("Relu", "_", "r"), node("", "r", "y")])
    made.graph.input[0].name = made.graph.node[0].output[0] = ""
    return made.SerializeToString()


@model(0, run=1, down=(0, 1))
def a_megabyte_of_name_above_4_000_nodes() -> bytes:
    """Locations of nodes inside repeat the name of the node outside."""
    inside = branch("b", [*chain("Relu", 4000), node("Nonesuch", "y", "z", domain="d")], "z")
    outside = node("If", "c", "y", name="n" * 2**20, then_branch=inside, else_branch=inside)
    return written([outside], [X, value("c", [], BOOL)], d=1)


@model(1, load=0, show=0, up=1, infer=(0, 1), inline=0)
def a_megabyte_of_name_above_4_000_wrong_nodes() -> bytes:
    inside = branch("b", [node("Squeeze", "x x x x x", f"z{number}" if number else "z") for number in range(4000)], "z")
    outside = node("If", "c", "y", name="n" * 2**20, then_branch=inside, else_branch=inside)
    return written([outside], [X, value("c", [], BOOL)])


@model(1, load=0, show=0, up=1, infer=(0, 1), inline=0)
def a_megabyte_of_domain_in_1_000_nodes_of_a_function() -> bytes:
    name = "f" * 2**20
    made = function(name, [*chain("Nonesuch", 1000)])
    return written([call(name)], functions=[made], d=1)


@model(3, load=0, alone=True)
def a_megabyte_of_empty_imports() -> bytes:
    return field(8, b"") * 500_000 + SAMPLE


@model(3, load=0, alone=True)
def domains_that_are_imported_50_000_times() -> bytes:
    return SAMPLE + b"".join(field(8, field(1, b"d%d" % (n // 2)) + b"\x10" + varint(1 + n % 2)) for n in range(50_000))


@model(3, load=0, show=0, alone=True)
def values_that_are_undefined_30_000_times() -> bytes:
    return written([node("Relu", f"u{number}", f"v{number}") for number in range(30_000)] + [node("Relu", "x", "y")])


# Evaluation: memory that views keep alive, time that no step shows


@model(0, run=1)
def a_loop_without_end() -> bytes:
    return loop(HUGE, [node("Relu", "s", "t")])


@model(0, run=(0, 1), down=(0, 1))
def a_loop_of_views_of_100_megabytes() -> bytes:
    body = [
        node("Constant", "", "size", value_ints=[25_000_000]),
        node("Constant", "", "zero", value_ints=[0]),
        node("Constant", "", "one", value_ints=[1]),
        node("ConstantOfShape", "size", "big"),
        node("Slice", "big zero one", "t"),
    ]
    return loop(1000, body, scanned=1)


@model(0, run=1, down=(0, 1))
def a_sequence_that_grows_by_a_megabyte_a_turn() -> bytes:
    body = [
        node("Constant", "", "size", value_ints=[2**18]),
        node("ConstantOfShape", "size", "big"),
        node("Concat", "s big", "t", axis=0),
    ]
    return loop(10**6, body, inputs=[value("x", [1])])


@model(0, run=1, down=(0, 1))
def text_that_doubles_40_times() -> bytes:
    names = ["x", *(f"t{number}" for number in range(40)), "y"]
    nodes = [node("StringConcat", f"{a} {a}", b) for a, b in itertools.pairwise(names)]
    return written(nodes, [value("x", [1], STRING)], opset=20)


@model(0, run=(0, 1), alone=True)
def thirty_thousand_outputs() -> bytes:
    names = [f"y{number}" for number in range(30_000)]
    return written([node("Relu", "x", name) for name in names], outputs=[value(name, [2, 3]) for name in names])


@model(0, run=(0, 1), down=(0, 1))
def an_output_of_300_megabytes() -> bytes:
    return written([node("ConstantOfShape", "s", "y")], [], constants=[whole("s", [75_000_000])])


@model(0, run=1, down=(0, 1))
def a_matrix_product_of_minutes() -> bytes:
    nodes = [node("ConstantOfShape", "s", "a"), *chain("MatMul", 50, "a", "a")]
    return written(nodes, [], constants=[whole("s", [4000, 4000])])


@model(0, run=1, down=(0, 1))
def a_fourier_transform_of_a_prime_length() -> bytes:
    nodes = [node("ConstantOfShape", "s", "a"), node("DFT", "a", "y", axis=1)]
    return written(nodes, [], constants=[whole("s", [64, 1_000_003, 1])], opset=17)


@model(0, run=(0, 1), down=(0, 1))
def a_contraction_of_five_letters() -> bytes:
    nodes = [node("ConstantOfShape", "s", "a"), node("Einsum", "a a a", "y", equation="ab,cd,ef->")]
    return written(nodes, [], constants=[whole("s", [3000, 3000])])


# Conversion: what adapters compute and write


def resizes(count: int, rank: int) -> bytes:
    """Return a model of Resize nodes, each of whose axes grows from 3 to 8,191 elements by rounding of coordinates."""
    nodes = [node("Resize", "x roi roi sizes", f"r{n}", mode="nearest") for n in range(count)]
    constants = [helper.make_tensor("roi", FLOAT, [0], []), whole("sizes", [8191] * rank)]
    return written([*nodes, node("Relu", "x", "y")], [value("x", [3] * rank)], constants=constants, opset=11)


@model(0, down=(0, 1), run=1)
def a_resize_of_60_axes() -> bytes:
    return resizes(1, 60)


@model(0, down=(0, 1), run=(0, 1))
def one_thousand_resizes() -> bytes:
    return resizes(1000, 4)


# Inference: sums of products of sizes


@model(0, run=(0, 1, 2), down=(0, 1))
def ten_kilobytes_of_products_of_sums() -> bytes:
    nodes = [node("Shape", "x", "s0"), node("Shape", "z", "s1")]
    for number in range(2, 9):
        nodes.append(node("Concat", f"s{number - 2} s{number - 1}", f"s{number}", axis=0))
    last = "s8"
    for number in range(120):
        nodes.append(node("Mul" if number % 2 else "Add", f"{last} s8", f"p{number}"))
        last = f"p{number}"
    inputs = [value(name, [f"{name}{n}" for n in range(40)]) for name in "xz"]
    return written([*nodes, node("ConstantOfShape", last, "y")], inputs)


@model(0, run=2)
def four_hundred_sizes_in_1_000_nodes() -> bytes:
    inputs = [value(f"x{n}", [f"n{n}"]) for n in range(400)]
    nodes = [node("Concat", " ".join(each.name for each in inputs), "c", axis=0)]
    nodes += [node("Add", f"{'c' if not n else f'a{n - 1}'} x{n % 400}", f"a{n}") for n in range(1000)]
    return written([*nodes, node("Relu", "c", "y")], inputs)


@model(0, infer=(0, 1), run=2)
def loops_18_deep() -> bytes:
    yes = helper.make_tensor("yes", BOOL, [], [True])
    inner = node("Concat", "state x", "out", axis=0)
    for level in range(18):
        body = helper.make_graph(
            [inner, node("Identity", "go", "on")],
            f"level{level}",
            [value("i", [], INT64), value("go", [], BOOL), value("state", None)],
            [value("on", [], BOOL), value("out", None)],
        )
        inner = node("Loop", "count yes x" if level == 17 else "count yes state", "out", body=body)
    return written([inner, node("Relu", "out", "y")], [value("x", ["N"])], constants=[whole("count", [3], []), yes])


# Graphs that are put together wrongly


@model(0)
def nodes_in_no_order() -> bytes:
    return written([node("Abs", "mid", "y"), node("Relu", "x", "mid")])


@model(0, run=(0, 1), alone=True)
def nodes_20_000_in_reverse_order() -> bytes:
    nodes = [node("Relu", f"v{number + 1}", f"v{number}") for number in range(20_000)]
    return written([node("Abs", "v0", "y"), *nodes, node("Abs", "x", "v20000")])


@model(3, load=0, show=0)
def a_cycle_of_20_000_nodes() -> bytes:
    nodes = [node("Relu", f"v{number + 1}", f"v{number}") for number in range(20_000)]
    return written([node("Abs", "v0", "y"), *nodes, node("Abs", "v0", "v20000")])


@model(0, alone=True)
def a_domain_that_is_imported_50_000_times() -> bytes:
    return SAMPLE + field(8, field(1, b"d") + b"\x10\x01") * 50_000


@model(0, down=(0, 1))
def unsorted_graphs_in_one_another() -> bytes:
    nodes = [node("Abs", "mid", "out0"), node("Relu", "x", "mid")]
    for level in range(1, 25):
        other = branch("else_branch", [node("Neg", f"late{level}", "other")], "other")
        inner = branch("then_branch", nodes, f"out{level - 1}")
        holder = node("If", "yes", f"out{level}", then_branch=inner, else_branch=other)
        nodes = [holder, node("Exp", "x", f"late{level}")]
    yes = helper.make_tensor("yes", BOOL, [], [True])
    return written([node("Identity", "out24", "y"), *nodes], constants=[yes])


@model(3, load=0, show=0)
def a_value_that_is_defined_twice() -> bytes:
    return written([node("Relu", "x", "y"), node("Relu", "x", "y")])


@model(3, load=0, show=0)
def a_value_that_is_not_defined() -> bytes:
    return written([node("Abs", "mid", "y")])


@model(3, load=0)
def no_operator_set() -> bytes:
    made = proto([node("Relu", "x", "y")])
    del made.opset_import[:]
    return made.SerializeToString()


@model(3, load=0)
def an_operator_set_of_version_zero() -> bytes:
    return written([node("Relu", "x", "y")], opset=0)


@model(3, load=0)
def one_domain_by_two_names() -> bytes:
    return written([node("Relu", "x", "y")], **{"ai.onnx": 12})


@model(1, load=0, show=0, infer=0, inline=0)
def an_operator_that_there_is_not() -> bytes:
    return written([node("Relo", "x", "y")])


@model((0, 1, 3), load=0)
def a_node_whose_graph_was_cut() -> bytes:
    made = ModelProto.FromString(loop(3, [node("Relu", "s", "t")]))
    body = made.graph.node[0].attribute[0].g
    del body.node[:], body.output[1:], body.input[1:]
    return made.SerializeToString()


@model((0, 1, 3), load=0)
def a_graph_that_was_cut() -> bytes:
    made = ModelProto.FromString(SAMPLE)
    del made.graph.input[:], made.graph.initializer[:]
    made.graph.node[0].ClearField("output")
    made.graph.output.add()
    return made.SerializeToString()


@model((0, 1, 3), load=0, show=0)
def the_same_input_twice() -> bytes:
    return written([node("Relu", "x", "y")], [value("x", [2, 3]), value("x", [3, 2], INT64)])


@model((0, 1, 3), load=0, show=0)
def a_branch_whose_output_is_a_value_outside() -> bytes:
    nodes = [
        node("Relu", "x", "r"),
        node("If", "c", "y", then_branch=branch("a", [], "r"), else_branch=branch("b", [], "x")),
    ]
    return written(nodes, [X, value("c", [], BOOL)])


@model((0, 1, 3), load=0, show=0)
def constants_of_every_kind_of_attribute() -> bytes:
    nodes = [
        node("Constant", "", "a", value=branch("g", [], "x")),
        node("Constant", "", "b", value_string=""),
        node("Constant", "", "c", value_float=1.0, value_int=2),
        node("Constant", "", "d"),
    ]
    typed = NodeProto(op_type="Constant", output=["e"])
    kind = typed.attribute.add(name="value", type=AttributeProto.TYPE_PROTO)
    kind.tp.CopyFrom(TypeProto())
    uses = [node("Reshape", f"x {name}", f"r{name}") for name in "abcde"]
    return written([*nodes, typed, *uses, node("Relu", "x", "y")])


@model((0, 1), load=0, show=0, run=(1, 3))
def scales_that_are_no_numbers() -> bytes:
    scales = [
        helper.make_tensor(f"s{number}", FLOAT, [2], each)
        for number, each in enumerate(
            ([float("nan")] * 2, [1, float("inf")], [-1, -float("inf")], [1e38, 1e38], [0, -0.0])
        )
    ]
    nodes = [node("Upsample", f"x {each.name}", f"u{each.name}") for each in scales]
    return written([*nodes, node("Upsample", "x s0", "y")], constants=scales, opset=9)


@model((0, 1), load=0, show=0, run=(1, 3))
def sizes_that_are_no_numbers() -> bytes:
    roi = helper.make_tensor("roi", FLOAT, [0], [])
    scales = [
        helper.make_tensor(f"s{number}", FLOAT, [2], each)
        for number, each in enumerate(
            ([float("nan")] * 2, [1, float("inf")], [-1, -float("inf")], [1e38, 1e38], [0, -0.0])
        )
    ]
    nodes = [node("Resize", f"x roi {each.name}", f"u{each.name}", mode="cubic") for each in scales]
    return written([*nodes, node("Resize", "x roi s0", "y")], constants=[roi, *scales])


@model((0, 1), load=0, show=0)
def windows_of_every_type() -> bytes:
    names = [(operator, kind) for operator in ("HannWindow", "BlackmanWindow") for kind in (0, 7, 9, 8, 16, 99)]
    nodes = [node(op, "size", f"w{kind}{op}", output_datatype=kind) for op, kind in names]
    return written([*nodes, node("Relu", "x", "y")], constants=[whole("size", [9], [])], opset=17)


@model((0, 1), load=0, show=0)
def attributes_of_any_number() -> bytes:
    nodes = []
    for number in (0, -1, HUGE, LEAST):
        nodes += [
            node("MaxPool", "p", f"m{len(nodes)}", kernel_shape=[number] * 2, strides=[number] * 2, pads=[number] * 4),
            node("Flatten", "p", f"f{len(nodes)}", axis=number),
            node("SpaceToDepth", "p", f"s{len(nodes)}", blocksize=number),
            node("Split", "p", f"t{len(nodes)}", axis=number),
            node("Cast", "p", f"c{len(nodes)}", to=number % 2**31),
            node("LRN", "p", f"l{len(nodes)}", size=number),
        ]
    return written([*nodes, node("Relu", "p", "y")], [value("p", [1, 4, 8, 8])])


@model((0, 1, 3), load=0, show=0)
def nodes_that_lack_everything() -> bytes:
    operators = ("", "Relu", "Concat", "Reshape", "Loop", "If", "Scan", "Conv", "LSTM")
    return written([*(node(name, "", f"n{name}") for name in operators), node("Relu", "", "y")])


@model((0, 1, 2, 3), load=0, show=0)
def element_types_that_there_are_not() -> bytes:
    made = proto([node("Relu", "x", "y")], constants=[helper.make_tensor("t", FLOAT, [1], [1.0])])
    made.graph.input[0].type.tensor_type.elem_type = 99
    made.graph.initializer[0].data_type = 2**31 - 1
    return made.SerializeToString()


@model((0, 1, 2, 3), load=0, show=0)
def versions_that_there_are_not() -> bytes:
    return written([node("Relu", "x", "y")], opset=2**62, d=-5)


# Names in other places, sequences that are none, and sizes that are declared


@model(3, load=0, text=(0, 3))
def a_domain_that_is_not_utf_8() -> bytes:
    made = written([node("Relu", "x", "y", domain="com.acmeX")], **{"com.acmeX": 1})
    return made.replace(b"com.acmeX", b"com.acm\xff\xfe")


def mapped(declared: Any) -> bytes:
    """Return a SequenceMap whose output is declared to be anything."""
    inside = helper.make_graph([node("Relu", "a", "b")], "b", [value("a", None)], [value("b", None)])
    sequence = helper.make_tensor_sequence_value_info("x", FLOAT, None)
    return written([node("SequenceMap", "x", "y", body=inside)], [sequence], [declared], opset=17)


@model((0, 1), load=0, show=0, run=(1, 2))
def sequences_that_are_declared_tensors() -> bytes:
    return mapped(value("y", [2]))


@model((0, 1), load=0, show=0, run=(1, 2))
def sequences_of_sequences() -> bytes:
    inner = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, [2]))
    return mapped(helper.make_value_info("y", helper.make_sequence_type_proto(inner)))


@model((0, 1), load=0, show=0, run=(1, 2))
def axes_that_are_200_million() -> bytes:
    inputs = [X, value("axes", [200_000_000], INT64)]
    return written([node("ReduceSum", "x axes", "y")], inputs, opset=13)


@model((0, 1), load=0, show=0, run=(1, 2))
def a_shape_of_2_to_the_31_sizes() -> bytes:
    return written([node("Expand", "x shape", "y")], [X, value("shape", [2**31], INT64)], opset=13)


@model((0, 1), load=0, show=0, run=(1, 2))
def an_axis_of_2_to_the_31_under_windows_with_gaps() -> bytes:
    pooled = node("AveragePool", "x", "y", kernel_shape=[2], dilations=[2])
    return written([pooled], [value("x", [1, 1, 2**31 - 1])], opset=19)


@model((0, 1), load=0, show=0, run=(1, 2))
def sequences_that_are_made_of_nothing() -> bytes:
    makers = [
        node(operator, "", f"s{number}")
        for number, operator in enumerate(("SplitToSequence", "Identity", "SequenceInsert", "SequenceErase"))
    ]
    makers.append(node("SequenceInsert", "s0", "s4"))
    lengths = [node("SequenceLength", f"s{number}", f"y{number}") for number in range(5)]
    outputs = [helper.make_empty_tensor_value_info(f"y{number}") for number in range(5)]
    return written([*makers, *lengths], [], outputs, opset=17)
