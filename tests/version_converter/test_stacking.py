"""A loop that fills a sequence is changed to stack tensors: its nodes, values and names, one by one."""

import pytest

import opset
from opset.budget import Budget, Limits
from opset.inference.building.types import tensor
from opset.model import proto as pb
from opset.model.attributes import attribute_value
from opset.model.graph.index import bodies, index_model
from opset.opsets.registry import default_registry
from opset.version_converter.lazy_inference import LazyInference
from opset.version_converter.stacking import (
    _count_reads,
    _FilledSequence,
    _insert_splits,
    _stack_in_loop,
    stack_sequences,
)


class Fresh:
    """Names that are marked, so that each shows where it is used."""

    def fresh(self, stem):
        return f"<{stem}>"


def names(values):
    return [value.name for value in values]


def loop(name):
    """A loop that carries `a`, a sequence and `b`, and has a scan output; its node, and its body."""
    node = pb.NodeProto(op_type="Loop", name=name, input=["n", "c", "a0", "s0", "b0"], output=["a1", "s1", "", "k1"])
    graph = pb.GraphProto()
    for value in ("i", "c", "a", "s", "b"):
        graph.input.add(name=value)
    for value in ("c2", "a2", "s2", "b2", "k2"):
        graph.output.add(name=value)
    graph.node.add(op_type="Neg", name="neg", input=["a"], output=["v"])
    graph.node.add(op_type="SequenceInsert", name="insert", input=["s", "v"], output=["s2"])
    for value in ("s2", "v", "k2"):
        graph.value_info.add(name=value)
    return node, graph


def test_the_sequence_becomes_a_scan_output():
    node, graph = loop("l")
    filled = [_FilledSequence(1, 1, "v", tensor("float", (2, "N", None)))]
    (split,) = _stack_in_loop(node, graph, filled, Fresh())
    assert ([*node.input], [*node.output]) == (["n", "c", "a0", "b0"], ["a1", "", "k1", "<s1__stack>"])
    assert names(graph.input) == ["i", "c", "a", "b"] and names(graph.output) == ["c2", "a2", "b2", "k2", "s2"]
    assert names(graph.value_info) == ["v", "k2"]
    made = graph.output[-1].type.tensor_type
    assert made.elem_type == 1
    assert [each.dim_value if each.HasField("dim_value") else each.dim_param for each in made.shape.dim] == [2, "", ""]
    identity = graph.node[1]
    assert (identity.op_type, identity.name, [*identity.input], [*identity.output]) == (
        "Identity", "insert", ["v"], ["s2"])  # fmt: skip
    assert (split.op_type, split.name, [*split.input], [*split.output]) == (
        "SplitToSequence", "<l__SplitToSequence>", ["<s1__stack>"], ["s1"])  # fmt: skip
    assert [(each.name, attribute_value(each)) for each in split.attribute] == [("keepdims", 0)]


def test_reads_of_a_loop_are_counted_and_charged():
    nodes = "t = Add (a, a)  u = If (c) <then_branch = p () => (q) { q = Add (a, t) }, else_branch = e () => (t) {}>"
    text = f'<ir_version: 8, opset_import: ["": 17]> g (float[2] a, bool c) => (float[2] u) {{ {nodes} }}'
    main = bodies(pb.ModelProto.FromString(opset.parse_model(text).SerializeToString()))[0]
    budget = Budget(Limits())
    assert _count_reads(main, budget) == {"a": 3, "c": 1, "t": 2, "q": 1, "u": 1}
    assert budget.steps == 3 + 5  # nodes, and what they read


def test_outputs_that_the_node_leaves_out_are_filled_up_and_nodes_without_names_get_none():
    node, graph = loop("")
    del node.output[2:]
    (split,) = _stack_in_loop(node, graph, [_FilledSequence(1, 1, "v", tensor("int64", ()))], Fresh())
    assert [*node.output] == ["a1", "", "", "<s1__stack>"] and split.name == ""


def test_nodes_are_inserted_after_their_loop_and_what_nothing_reads_is_removed():
    graph = pb.GraphProto()
    for name in ("read", "free"):
        graph.node.add(op_type="SequenceEmpty", output=[name])
    graph.node.add(op_type="Loop", input=["read"], output=["x"])
    graph.node.add(op_type="Relu", input=["x"], output=["y"])
    _insert_splits(graph, {2: [pb.NodeProto(op_type="First"), pb.NodeProto(op_type="Second")]})
    assert [each.op_type for each in graph.node] == ["SequenceEmpty", "Loop", "First", "Second", "Relu"]
    assert graph.node[0].output[0] == "read"


LOOP = """Loop <body = b (int64 i, bool c, seq(float[3]) s) => (bool d, seq(float[3]) t) {
    v = Identity (x)  t = SequenceInsert (s, v)  d = Identity (c) }> (n, , e)"""
TWO = LOOP.replace("seq(float[3]) s)", "seq(float[3]) s, float w)").replace("(n, , e)", "(n, , e, k)")
SECOND = """Loop <body = b (int64 i, bool c, float w, seq(float[3]) s) => (bool d, float u, seq(float[3]) t) {
    v = Identity (x)  t = SequenceInsert (s, v)  u = Neg (w)  d = Identity (c) }> (n, , k, e)"""
ELSE = "else_branch = l () => (seq(float[3]) q) { q = Identity (e) }"
OUTER = LOOP.replace("seq(float[3]) t)", "seq(float[3]) f)").replace("v = Identity (x)", "d = Identity (c)")


@pytest.mark.parametrize(
    ("nodes", "count"),
    [
        (f"r = {LOOP}", 1),
        (f"r = {LOOP.replace('Loop', 'com.acme.Loop', 1)}", 0),
        (f"r = {LOOP.replace(', e)', ', given)')}", 0),
        (f"r = {LOOP.replace('(s, v)', '(given, v)')}", 0),
        (f"r = {LOOP.replace('(s, v)', '(s, v, i)')}", 0),
        (f"r = {LOOP.replace('= Identity (x)', '= com.acme.Unknown (x)')}", 0),
        (f"r = {LOOP.replace('= Identity (x)', '= Reshape (x, m)')}", 0),
        (f"r = {LOOP.replace('Insert (s, v)', 'Erase (s, i)')}", 0),
        (f"r = {LOOP.replace('SequenceInsert (s, v)', 'Identity (s)')}", 0),
        (f"r = {LOOP.replace('SequenceInsert', 'com.acme.SequenceInsert')}", 0),
        (OUTER.replace("Loop", "r = Loop", 1).replace("(s, v)", "(s, x)").replace("d = Identity (c) }", "}"), 0),
        (f"r, q = {TWO.replace('t) {', 't, float u) { u = Neg (w)')}", 1),
        (f", q = {TWO.replace('t) {', 't, float u) { u = Neg (w)')} r = Identity (e)", 0),
        (f"r = {TWO}", 0),
        (f"z = Equal (n, n) r = If (z) <then_branch = t () => (seq(float[3]) p) {{ p = {LOOP} }}, {ELSE}>", 0),
        (f"q, r = {SECOND}", 1),
        (f"r = {LOOP.replace(', seq(float[3]) t)', ')')}", 0),
        (f"r = {LOOP.replace('bool c, seq(float[3]) s)', 'bool c)').replace('(s, v)', '(e, v)')}", 0),
    ],
)
def test_what_is_a_loop_that_fills_a_sequence(nodes, count):
    """Malformed loops among them, which are refused elsewhere."""
    model = opset.load(
        opset.parse_model(
            f"""<ir_version: 8, opset_import: ["": 14, "com.acme": 1]>
            g (float[3] x, int64 n, float k, seq(float[3]) given, int64[a] m) => (seq(float[3]) r) {{
                e = SequenceEmpty ()  f = SequenceEmpty ()  {nodes}  h = SequenceEmpty () }}"""
        )
    )
    index, budget = index_model(model.proto, default_registry().domains), Budget(Limits())
    found = stack_sequences(index, LazyInference(model, index, default_registry()), budget)
    assert (0 if found is None else found[1]) == count
    assert budget.live == (model.proto.ByteSize() if count else 0)
    if found is not None:
        operators = [each.op_type for each in found[0].graph.node]
        assert operators == ["Loop", "SplitToSequence"] and len(model.proto.graph.node) == 4
