"""What a kernel or a fault in a runtime's table asks of a node, compared one question at a time."""

from types import SimpleNamespace

import pytest
from onnx import parser

from opset.model import load
from opset.opsets.registry import default_registry
from opset.opsets.runtimes import Kernel
from opset.opsets.runtimes.model import KernelFault
from opset.schemas.model import Attribute
from opset.version_converter.availability import (
    NO_DEMANDS,
    RUNS,
    Availability,
    Judgement,
    _captures_values,
    _demanded_facts,
    faults_at,
    judge_faults,
)
from opset.version_converter.lacks import (
    ABSENT,
    DEFAULT,
    IGNORED,
    STATED_ALONE,
    Lack,
    _has_to_be_constant,
    _is_static,
    _is_within,
    _limit_of_input,
    _limit_text,
    is_phrase,
    lack_of_limits,
    lack_of_types,
    takes_all,
    values_without_rank,
)
from opset.version_converter.routes import routes_of
from opset.version_converter.survey import Survey

REGISTRY = default_registry()
INT, TEXT, INTS = Attribute("a", "int", 1), Attribute("a", "string", "x"), Attribute("a", "ints")


def last_node(text, opset=17):
    """Return the last node of a graph, the facts about its values, and the schema of its operator."""
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> m ({text} }}')
    survey = Survey(load(model), REGISTRY)
    (body, *_) = [each for each in survey.index.bodies if each.root is each and not each.function]
    node = body.nodes[-1]
    return node, survey.facts[body], REGISTRY.schema(node.op_type, opset)


def runtime(**casts):
    return SimpleNamespace(cast_of=lambda element: casts.get(element, element))


@pytest.mark.parametrize(
    ("declared", "limit", "kept", "broken"),
    [
        (INT, ABSENT, [None], [0, 1]), (INT, DEFAULT, [None, 1], [0, 2]), (INT, 2, [2], [1, None]),
        (INT, [1, 2], [1, 2], [0, 3, None]), (INT, (1, 2), [1, 2], [0, 3]), (INT, frozenset((1, 2)), [1, 2], [0, 3]),
        (INT, "not 0", [1, -1], [0, None]), (INT, "not -1", [1, 0], [-1]), (INT, "not 0.5", [1, 0], [0.5]),
        (TEXT, "x", ["x", b"x"], ["y", b"y", None]), (TEXT, "not x", ["y", b"y", None], ["x", b"x"]),
        (TEXT, "not x or y", ["z", b"xy"], ["x", b"y"]), (TEXT, ["x", "y"], ["x", b"y"], ["z", None]),
        (INTS, "not 0", [None, [], [1], [1, 2]], [[0], [1, 0]]), (INTS, "not -1", [[1, 0]], [[-1], [-1, 1]]),
        (INTS, 1, [None, [], [1], [1, 1]], [[2], [1, 2], [2, 1]]), (INTS, [1, 2], [None, [2, 1]], [[3], [1, 3]]),
    ],
)  # fmt: skip
def test_limits_of_attributes(declared, limit, kept, broken):
    assert [_is_within(value, limit, declared) for value in (*kept, *broken)] == [True] * len(kept) + [False] * len(
        broken
    )


def test_what_is_a_phrase_in_words():
    schema = SimpleNamespace(
        attributes={
            "i": INT,
            "t": TEXT,
            "c": Attribute("c", "string", choices=("up", "down")),
        }
    )
    phrases = {
        name: [
            limit
            for limit in (
                1,
                [1],
                ABSENT,
                IGNORED,
                DEFAULT,
                "not 0",
                "not -1.5",
                "not up",
                "not up or down",
                "up",
                "few",
            )
            if is_phrase(limit, schema, name)
        ]
        for name in ("i", "t", "c", "other")
    }
    words = ["not up", "not up or down", "up", "few"]
    assert phrases == {"i": words, "t": [], "c": ["not -1.5", "few"], "other": ["not 0", "not -1.5", *words]}


def test_limits_in_messages():
    assert [_limit_text(each) for each in (1, [1, 2], ("a",), "not 0", "not a or b", ABSENT)] == [
        "it has to be 1", "it has to be 1 or 2", "it has to be a", "it may not be 0", "it may not be a or b",
        "it has to be absent",
    ]  # fmt: skip


def test_inputs_are_named_in_full_or_by_the_end_of_the_name():
    named = Kernel(constant_inputs=frozenset({"scale", "w_zero_point"}))
    names = ("scale", "x_scale", "xscale", "zero_point", "w_zero_point", "scale_x")
    assert [_has_to_be_constant(named, name, 0) for name in names] == [True, True, False, False, True, False]
    others = Kernel(constant_inputs=frozenset({STATED_ALONE}))
    assert [_has_to_be_constant(others, "x", position) for position in (0, 1, 2)] == [False, True, True]
    limits = {"point": 0, "x": 5}
    assert [_limit_of_input(limits, name) for name in ("x", "a_point", "point", "apoint", "x_a")] == [
        5,
        0,
        0,
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("versions", "opsets", "since", "opset", "holds"),
    [
        (None, None, 14, 17, True), ((1, 13), None, 14, 17, False), ((14, 14), None, 14, 17, True),
        ((15, None), None, 14, 17, False), (None, (17, 17), 14, 17, True), (None, (16, 17), 14, 17, True),
        (None, (17, 18), 14, 17, True), (None, (18, 19), 14, 17, False), (None, (15, 16), 14, 17, False),
        ((1, 13), (17, 17), 14, 17, False),
    ],
)  # fmt: skip
def test_a_fault_concerns_some_versions_and_opsets(versions, opsets, since, opset, holds):
    fault = KernelFault(Kernel(versions=versions, opsets=opsets), "wrong", "nonsense")
    asked = []

    def faults(*operator):
        asked.append(operator)
        return (fault,)

    schema = SimpleNamespace(name="Relu", domain="d", since_version=since)
    assert faults_at(SimpleNamespace(faults=faults), schema, opset) == ([fault] if holds else [])
    assert asked == [("Relu", "d")]


def test_sizes_that_are_known_as_numbers():
    _, facts, _ = last_node("float[2, 3] x, float[2, N] z, float w) => (float v) { a = Unknown (x) v = Relu (w)")
    assert [_is_static(facts, name) for name in "xzwa"] == [True, False, True, False]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("float[2, N] x) => (float[2, N] y) { y = Relu (x)", []),
        ("float[2] x) => (float[2] y) { a = Unknown (x) y = Sum (x, a, a)", ["a", "a"]),
        ("seq(float[2]) x) => (seq(float[2]) y) { y = Identity (x)", []),
        ("float[2] x, float[2] z) => (float[2] y) { y = Clip (x, , z)", []),
        ("bool b, float[2] x) => (float[2] y) { y = If (b) <then_branch = t () => (float[2] z) { z = Neg (x) },"
         " else_branch = e () => (float[2] q) { q = Abs (x) }>", []),
        ("bool b, float[2] x) => (float y) { k = Constant <value_ints = [1, 2]> () y = If (b) "
         "<then_branch = t () => (z) { z = Neg (x) }, else_branch = e () => (q) { q = Reshape (x, k) }>",
         ["y"]),
    ],
)  # fmt: skip
def test_values_of_unknown_rank(text, names):
    node, facts, _ = last_node(text)
    assert [*values_without_rank(node, facts)] == names
    del node.output[:]
    assert [*values_without_rank(node, facts)] == [name for name in names if name != "y"]


@pytest.mark.parametrize(
    ("then", "captures"),
    [
        ("t () => (float[2] z) { z = Neg (x) }", True),
        ("t () => (float[2] z) { z = RandomNormal <shape = [2]> () }", False),
        ("t () => (float[2] z) { k = RandomNormal <shape = [2]> () z = Clip (k, , ) }", False),
        ("t () => (float[2] z) <float[2] w = {1, 2}> { z = Neg (w) }", False),
        ("t () => (x) { z = RandomNormal <shape = [2]> () }", True),
        ("""t () => (float[2] z) { c = Constant <value = bool {1}> () z = If (c) <
            then_branch = u () => (float[2] v) { v = Neg (x) },
            else_branch = w () => (float[2] o) { o = RandomNormal <shape = [2]> () }> }""", True),
        ("""t () => (float[2] z) { c = Constant <value = bool {1}> () k = RandomNormal <shape = [2]> () z = If (c) <
            then_branch = u () => (float[2] v) { v = Neg (k) },
            else_branch = w () => (float[2] o) <float[2] i = {1, 2}> { o = Neg (i) }> }""", False),
    ],
)  # fmt: skip
def test_graphs_that_use_values_from_outside(then, captures):
    graph = "e () => (float[2] q) { q = RandomNormal <shape = [2]> () }"
    for branches in ((then, graph), (graph, then)):
        text = f"""<ir_version: 8, opset_import: ["": 17]> m (bool b, float[2] x) => (float[2] y) {{
            y = If (b) <then_branch = {branches[0]}, else_branch = {branches[1]}> }}"""
        (node,) = parser.parse_model(text).graph.node
        assert _captures_values(node) is captures
        for branch in (each.g for each in node.attribute if each.g.initializer):
            branch.sparse_initializer.add().values.CopyFrom(branch.initializer.pop())
            assert _captures_values(node) is captures


MATMUL = "uint8[2, 2] a, uint8[2, 2] b, uint8 z) => (int32[2, 2] y) { y = MatMulInteger (a, b, , z)"


@pytest.mark.parametrize(
    ("text", "kernel", "expected"),
    [
        (MATMUL, {"types": {"T1": {"uint8"}, "T2": {"uint8"}}}, None),
        (MATMUL, {"types": {"T1": {"uint8"}, "T2": {"int8"}}}, ("uint8 as 'B'", {"T2": {"int8"}})),
        (MATMUL, {"types": {"b_zero_point": {"int8"}}}, ("uint8 as 'b_zero_point'", {"T2": {"int8"}})),
        (MATMUL, {"types": {"": {"int8"}}}, ("uint8 as 'A'", {"T1": {"int8"}})),
        (MATMUL, {"types": {"T3": {"int64"}}}, ("int32 as 'Y'", {"T3": set()})),
        (MATMUL, {"types_not": {"int8"}}, None),
        (MATMUL, {"types_not": {"uint8"}}, ("uint8 as 'A'", {"T1": {"int8"}})),
        (MATMUL, {"types_not": {"int32"}}, ("int32 as 'Y'", {"T3": set()})),
        ("uint8[2, 2] a) => (int32[2, 2] y) { b = Unknown (a) y = MatMulInteger (a, b)", {"types": {"T2": {"uint8"}}},
         "it takes not every type of 'B', and the node's is not known"),
        ("uint8[2, 2] a) => (int32[2, 2] y) { b = Unknown (a) y = MatMulInteger (a, b)",
         {"types": {"T2": {"uint8", "int8"}}}, None),
        ("float[2] a, float[2] b) => (float[2] y) { y = Sum (a, b, a)", {"types": {"T": {"double"}}},
         ("float as 'data_0'", {"T": {"double"}})),
    ],
)  # fmt: skip
def test_types_that_a_kernel_takes(text, kernel, expected):
    node, facts, schema = last_node(text)
    given = {"types": {name: frozenset(types) for name, types in kernel.get("types", {}).items()}}
    found = lack_of_types(
        Kernel(types=given["types"], types_not=frozenset(kernel.get("types_not", ()))), runtime(), node, schema, facts
    )
    if isinstance(expected, tuple):
        why = f"no kernel of {schema.name} {schema.since_version} takes {expected[0]}"
        expected = Lack(why, {name: frozenset(types) for name, types in expected[1].items()})
    assert found == (Lack(expected) if isinstance(expected, str) else expected)


def test_a_type_that_a_runtime_casts_is_taken():
    node, facts, schema = last_node("double[2] x) => (double[2] y) { y = Relu (x)")
    kernel = Kernel(types={"T": frozenset({"float"})})
    assert lack_of_types(kernel, runtime(double="float"), node, schema, facts) is None
    assert lack_of_types(kernel, runtime(float="double"), node, schema, facts) is not None


TOPK = "float[8] x) => (float[2] y, int64[2] i) <int64[1] k = {2}> { y, i = TopK (x, k)"
SPLIT = "float[8] x, int64[2] s) => (float[4] y, float[4] z) { y, z = Split (x, s)"

HALVES = "float[8] x) => (float[4] y, float[4] z) <int64[2] s = {{4, {}}}> {{ y, z = Split (x, s)"
BRANCHES = """float[2] x, bool c) => (float[2] y) {{ y = If (c) <then_branch = t () => (a) {{ a = {} }},
    else_branch = e () => (b) {{ b = Neg (x) }}>"""
PAIRS = """float[2] x, bool c) => (float[2] y) {{ , y = If (c) <then_branch = t () => (o, a) {{ {} }},
    else_branch = e () => (p, b) {{ p = Abs (x)  b = Neg (x) }}>"""


@pytest.mark.parametrize(
    ("text", "kernel", "expected"),
    [
        (TOPK, {"outputs": 2}, ""), (TOPK, {"outputs": 1}, "it does not compute the output 'Indices'"),
        (TOPK, {"outputs": ("Indices",)}, "it does not compute the output 'Values'"),
        (TOPK, {"outputs": ("Values", "Indices")}, ""),
        (TOPK, {"outputs": ()}, "it does not compute the output 'Values'"),
        (TOPK.replace("{ y,", "{ ,").replace("float[2] y, ", ""), {"outputs": ("Indices",)}, ""),
        (TOPK, {"attributes": {"axis": -1}}, ""), (TOPK, {"attributes": {"axis": 0}}, "'axis' is -1; it has to be 0"),
        (TOPK, {"attributes": {"axis": "not -1", "largest": 0}}, "'axis' is -1; it may not be -1"),
        (TOPK, {"attributes": {"axis": IGNORED, "largest": 0}}, "'largest' is 1; it has to be 0"),
        (TOPK, {"attributes": {"axis": "few", "largest": [0, 2]}}, "'largest' is 1; it has to be 0 or 2"),
        (TOPK, {"attributes": {"other": 1, "largest": 0}}, "'largest' is 1; it has to be 0"),
        (TOPK, {"input_ranks": {1, 2}}, ""), (TOPK, {"input_ranks": {3, 2}}, "the rank is 1; it takes 2, 3"),
        (TOPK.replace("x, k", "u, k").replace("{ y", "{ u = Unknown (x) y"), {"input_ranks": {1}},
         "it takes inputs of rank 1, and the node's is not known"),
        (TOPK, {"values": {"K": 2}}, ""), (TOPK, {"values": {"K": 1}}, "the elements of 'K' have to be 1"),
        (TOPK, {"values": {"K": "small"}}, ""), (TOPK, {"values": {"X": 0}}, "the elements of 'X' have to be 0"),
        (HALVES.format(4), {"values": {"split": 4}}, ""),
        (HALVES.format(3), {"values": {"split": 4}}, "the elements of 'split' have to be 4"),
        (TOPK, {"constant_inputs": {"K"}}, ""), (TOPK, {"constant_inputs": {"X"}}, ("'X' has to be constant", (0,))),
        (SPLIT, {"constant_inputs": {"input", "split"}}, ("'input', 'split' have to be constant", (0, 1))),
        (SPLIT, {"constant_inputs": {STATED_ALONE}}, ("'split' has to be constant", (1,))),
        (TOPK, {"static_shape": True}, ""),
        (TOPK.replace("8", "N"), {"static_shape": True}, "the sizes of 'x' have to be numbers"),
        (TOPK, {"known_ranks": True}, ""),
        (TOPK.replace("x, k", "u, k").replace("{ y", "{ u = Unknown (x) y"), {"known_ranks": True},
         "the rank of 'u' has to be known"),
        (SPLIT, {"known_ranks": True, "constant_inputs": {"split"}}, ("'split' has to be constant", (1,))),
        (BRANCHES.format("Relu (x)"), {"known_ranks": True}, ""),
        (BRANCHES.format("ReduceSum <keepdims = 0> (x)"), {"known_ranks": True}, "the rank of 'y' has to be known"),
        (BRANCHES.format("Unknown (x)"), {"known_ranks": True}, ""),  # the graph states the rank
        (PAIRS.format("o = Neg (x)  a = ReduceSum <keepdims = 0> (x)"), {"known_ranks": True},
         "the rank of 'y' has to be known"),
        (PAIRS.format("o = ReduceSum <keepdims = 0> (x)  a = Neg (x)"), {"known_ranks": True}, ""),
    ],
)  # fmt: skip
def test_limits_of_a_kernel(text, kernel, expected):
    node, facts, schema = last_node(text)
    sets = {name: frozenset(value) if isinstance(value, set) else value for name, value in kernel.items()}
    found = lack_of_limits(Kernel(**sets), node, schema, facts)
    why, constants = expected if isinstance(expected, tuple) else (expected, ())
    assert found == (Lack(why, constants=constants) if why else None)


CLIP = "float[0] x, float m) => (float[0] y) <float n = {2}> { y = Clip (x, n, m)"
NAMES = frozenset


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        (CLIP, {}, "certain"), (CLIP, {"when": "it rains"}, ", if it rains"),
        (CLIP, {"present": NAMES({"min", "max"})}, "certain"), (CLIP, {"absent": NAMES({"min"})}, None),
        (CLIP.replace("x, n, m", "x, , m"), {"present": NAMES({"min"})}, None),
        (CLIP.replace("x, n, m", "x, , m"), {"absent": NAMES({"min"})}, "certain"),
        (CLIP, {"present": NAMES({"output"})}, "certain"),
        (CLIP, {"empty": NAMES({"input"})}, "certain"), (CLIP, {"empty": NAMES({"min"})}, None),
        (CLIP, {"empty": NAMES({"min", "input"})}, "certain"),
        (CLIP.replace("0", "N"), {"empty": NAMES({"input"})}, None),
        (CLIP, {"computed": NAMES({"min"})}, None), (CLIP, {"computed": NAMES({"max"})}, "certain"),
        (CLIP, {"computed": NAMES({"min", "max"})}, "certain"),
        (CLIP, {"known": NAMES({"min"})}, "certain"), (CLIP, {"known": NAMES({"max"})}, None),
        (CLIP, {"known": NAMES({"min", "max"})}, None),
        (CLIP, {"scalars": NAMES({"max"})}, (2,)), (CLIP, {"scalars": NAMES({"min", "max"})}, (1, 2)),
        (CLIP, {"scalars": NAMES({"input"})}, None), (CLIP, {"captures": True}, None),
        (CLIP, {"values": {"min": 2.0}}, "certain"), (CLIP, {"values": {"min": [1.0, 2.0]}}, "certain"),
        (CLIP, {"values": {"min": [1.0, 3.0]}}, None), (CLIP, {"values": {"max": 2.0}}, ""),
        (CLIP, {"values": {"max": 2.0, "min": 2.0}}, ""), (CLIP, {"values": {"max": 2.0, "min": 3.0}}, None),
        (CLIP.replace("x, n, m", "x, , m"), {"values": {"min": 2.0}}, None),
        (CLIP, {"attributes": {"axis": 1}}, None), (CLIP, {"types": {"T": NAMES({"float", "double"})}}, "types"),
        (CLIP, {"types": {"T": NAMES({"double"})}}, None), (CLIP, {"input_ranks": NAMES({1})}, "certain"),
        (CLIP, {"input_ranks": NAMES({2})}, None),
        ("float[2, 4] x) => (float[8] y) { s = Shape (x) k = ReduceProd (s) y = Reshape (x, k)",
         {"computed": NAMES({"shape"}), "known": NAMES({"shape"})}, {1}),
        ("float[2, 4] x) => (float[8] y) { s = Shape (x) k = ReduceProd (s) y = Reshape (x, k)",
         {"computed": NAMES({"shape"}), "known": NAMES({"data"})}, None),
    ],
)  # fmt: skip
def test_faults_that_a_node_meets(text, fields, expected):
    node, facts, schema = last_node(text)
    fields = dict(fields)
    of_nodes = {name: fields.pop(name) for name in ("attributes", "types", "input_ranks") if name in fields}
    fault = KernelFault(Kernel(**of_nodes), "wrong", "nonsense", **fields)
    other = KernelFault(Kernel(), "wrong", "else", absent=NAMES({schema.inputs[0].name}))
    runs_there = SimpleNamespace(faults=lambda *_: (other, fault), cast_of=lambda element: element)
    why = f"{schema.name} {schema.since_version}: nonsense"
    found = judge_faults(runs_there, node, schema, 17, facts)
    if expected is None:
        assert found is RUNS
    elif expected == "certain":
        assert found == Judgement(Lack(why, fault="wrong"))
    elif expected == "types":
        others = {each.removeprefix("tensor(").removesuffix(")") for each in schema.allowed_types(schema.inputs[0])}
        assert found == Judgement(Lack(why, {"T": NAMES(others - {"float", "double"})}, fault="wrong"))
        assert "int64" in found.lack.elements["T"]
    elif isinstance(expected, tuple):
        assert found == Judgement(Lack(why, fault="wrong", scalars=expected))
    elif isinstance(expected, set):
        assert found == Judgement(Lack(why, constants=tuple(expected), fault="wrong"))
    else:
        assert found == Judgement(None, doubt=why + expected)


def test_the_first_doubt_is_told_unless_a_fault_is_certain():
    node, facts, schema = last_node(CLIP)
    first, second = (KernelFault(Kernel(), "wrong", text, when="x") for text in ("one", "two"))
    certain = KernelFault(Kernel(), "fails", "three")
    for faults, expected in (
        ((first, second), Judgement(None, doubt="Clip 13: one, if x")),
        ((first, certain), Judgement(Lack("Clip 13: three", fault="fails"))),
    ):
        there = SimpleNamespace(faults=lambda *_, faults=faults: faults, cast_of=lambda element: element)
        assert judge_faults(there, node, schema, 17, facts) == expected


FLOATS = NAMES({"bfloat16", "float16", "float", "double"})


@pytest.mark.parametrize(
    ("name", "kernel", "takes"),
    [
        ("Elu", {}, True), ("Elu", {"types": {"T": FLOATS}}, True), ("Elu", {"types": {"T": FLOATS | {"x"}}}, True),
        ("Elu", {"types": {"T": NAMES({"float"})}}, False), ("Elu", {"types": {"": NAMES({"float"})}}, False),
        ("Elu", {"types": {"Y": NAMES({"float"})}}, False), ("Elu", {"types": {"B": NAMES({"float"})}}, True),
        ("Elu", {"types_not": NAMES({"x"})}, False), ("Elu", {"attributes": {"alpha": 1.0}}, False),
        ("Elu", {"input_ranks": NAMES({1})}, False), ("Elu", {"constant_inputs": NAMES({"X"})}, False),
        ("Elu", {"values": {"X": 1}}, False), ("Elu", {"outputs": 1}, False), ("Elu", {"static_shape": True}, False),
        ("Elu", {"known_ranks": True}, False), ("Elu", {"notes": ("few",)}, False),
    ],
)  # fmt: skip
def test_a_kernel_that_takes_every_node(name, kernel, takes):
    assert takes_all(Kernel(**kernel), REGISTRY.schema(name, 22)) is takes


def stand_in(kernels=(), faults=(), lists_operators=True, fallback=None, **casts):
    """Return a runtime, npu 1.0, with the same kernels and faults for every operator of ai.onnx."""

    def within(found):
        return lambda name, domain="": () if domain else found

    def takes_version(kernel, since, opset):
        first, last = kernel.versions
        return first <= since <= (last or since)

    return SimpleNamespace(
        title="npu",
        release="1.0",
        kernels=within(kernels),
        faults=within(faults),
        takes_version=takes_version,
        lists_operators=lists_operators,
        fallback=fallback,
        casts=casts,
    )


ALL, OLD = Kernel(versions=(1, None)), Kernel(versions=(1, 5))
SOME = Kernel(versions=(1, None), types={"T": NAMES({"float"})})
WRONG = KernelFault(Kernel(), "wrong", "nonsense")


@pytest.mark.parametrize(
    ("runtime", "operator", "runs"),
    [
        (stand_in(), ("Elu", ""), False), (stand_in([ALL]), ("Elu", ""), True), (stand_in([SOME]), ("Elu", ""), False),
        (stand_in([SOME, ALL]), ("Elu", ""), True), (stand_in([ALL, SOME]), ("Elu", ""), True),
        (stand_in([OLD]), ("Elu", ""), False), (stand_in([ALL], [WRONG]), ("Elu", ""), False),
        (stand_in(lists_operators=False), ("Elu", ""), True), (stand_in(), ("Constant", ""), True),
        (stand_in([ALL], [WRONG]), ("Constant", ""), False), (stand_in(), ("Nothing", ""), True),
        (stand_in([ALL]), ("Scaler", "ai.onnx.ml"), False), (stand_in(), ("Elu", "com.acme"), True),
    ],
)  # fmt: skip
def test_operators_of_which_every_node_runs(runtime, operator, runs):
    availability = Availability(runtime, routes_of(REGISTRY, ""))
    opset = 3 if operator[1] else 17
    assert [availability.runs_all(*operator, opset) for _ in range(2)] == [runs, runs]
    expected = None
    if not (runs or runtime.kernels(*operator) in ([ALL], [SOME])):
        since = {"Elu": 6, "Scaler": 1}[operator[0]]
        expected = Lack(f"npu 1.0 has no kernel of {operator[0]} {since}")
    assert availability.find_lack_in_graph(*operator, opset) == expected


def test_a_fallback_has_kernels_for_new_graphs():
    there = stand_in(fallback=stand_in(fallback=stand_in([SOME])))
    assert Availability(there, routes_of(REGISTRY, "")).find_lack_in_graph("Elu", "", 17) is None


@pytest.mark.parametrize(
    ("name", "casts", "pairs"),
    [
        ("Elu", {"double": "float"}, [("double", "float")]),
        ("Elu", {"double": "float in old releases", "int64": "int32"}, [("int64", "int32")]),
    ],
)
def test_types_that_give_the_same(name, casts, pairs):
    availability = Availability(stand_in(**casts), routes_of(REGISTRY, ""))
    declared = [*Availability(stand_in(), routes_of(REGISTRY, "")).wider_types(REGISTRY.schema(name, 17))]
    assert [*availability.wider_types(REGISTRY.schema(name, 17))] == [*pairs, *declared]


def test_only_facts_that_are_asked_tell_nodes_apart():
    node, facts, _ = last_node(CLIP.replace("x, n, m", "x, , n").replace(", float m", ""))
    assert _demanded_facts(node, NO_DEMANDS, facts) == ((), (), (), (), (), False)
    constant = (True, facts.small_constant("n"))
    for asked, expected in (
        ({"shapes": True}, ((), ((0,), None, ()), (), (), (), False)),
        ({"constants": True}, ((), (), ((False, None), "", constant), (), (), False)),
        ({"outputs": True}, ((), (), (), (True,), (), False)),
    ):
        assert _demanded_facts(node, NO_DEMANDS._replace(**asked), facts) == expected
    node, facts, _ = last_node(TOPK.replace("(x, k)", "<axis = 0, largest = 1> (x, k)"))
    ((axis,), *_) = _demanded_facts(node, NO_DEMANDS._replace(attributes=NAMES({"axis", "sorted"})), facts)
    assert axis == next(each for each in node.attribute if each.name == "axis").SerializeToString()
