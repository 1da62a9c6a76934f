"""Nodes in the place of others: which names their values get, what is removed, and which imports are set."""

from types import SimpleNamespace

import pytest

import opset
from opset.model import proto as pb
from opset.model.graph.index import index_model
from opset.version_converter.replacement import (
    bind_outputs,
    drop_imports,
    remove_unused,
    replace_nodes,
    set_imports,
    unused_after,
    unused_imports,
)
from opset.version_converter.rewrite import Refusal


def node(op_type, inputs, outputs, name=""):
    return pb.NodeProto(op_type=op_type, name=name, input=[*inputs], output=[*outputs])


class Builder:
    def __init__(self, *made):
        self.made = [(each, 13) for each in made]

    def Identity(self, value, outputs, domain):
        assert domain == ""
        self.made.append((node("Identity", [value], outputs), 13))


def bound(outputs, results, *made, name="old", read=""):
    old = SimpleNamespace(proto=SimpleNamespace(name=name), outputs=[*outputs])
    found = bind_outputs(old, tuple(results), Builder(*made), SimpleNamespace(is_read=lambda value: value in read))
    assert all(version == 13 for _, version in found)
    return [(each.op_type, each.name, " ".join(each.input), " ".join(each.output)) for each, _ in found]


def test_values_get_the_names_of_the_outputs():
    first, second = node("A", "x", "p"), node("B", "pp", "q")
    assert bound("y", "q", first, second) == [("A", "", "x", "p"), ("B", "old", "p p", "y")]
    first, second = node("A", "x", "p"), node("B", "pp", "q")
    assert bound("yz", "qp", first, second) == [("A", "", "x", "z"), ("B", "old", "z z", "y")]
    assert bound("yz", ["", "p"], node("A", "x", "p")) == [("A", "", "x", "z")]
    assert bound(["y", "", "z"], "pqr", node("A", "x", "pqr"), name="") == [("A", "", "x", "y q z")]


def test_a_value_that_cannot_be_renamed_is_passed_on():
    assert bound("y", "x", name="") == [("Identity", "", "x", "y")] and bound("y", "x") == [
        ("Identity", "old", "x", "y")
    ]
    assert bound("yz", "pp", node("A", "x", "p")) == [("A", "old", "x", "y"), ("Identity", "", "y", "z")]


def test_what_has_its_names_stays():
    assert bound("y", "y", node("A", "x", "y"), name="") == [("A", "", "x", "y")]
    assert bound("y", "y", node("A", "x", "y", "old")) == [("A", "old", "x", "y")]
    assert bound("y", "y", node("A", "x", "y")) == [("A", "old", "x", "y")]
    assert bound("y", "p", node("A", "x", "p"), node("B", "p", "q", "old"))[0] == ("A", "", "x", "y")


def test_an_output_that_is_read_needs_a_value():
    assert bound("yz", "p", node("A", "x", "p")) == [("A", "old", "x", "y")]
    for results in (["p"], ["p", ""]):
        with pytest.raises(Refusal) as caught:
            bound("yz", results, node("A", "x", "p"), read="z")
        assert caught.value.code == "C204" and caught.value.why == "the output 'z' has no equal there"


def graph():
    made = pb.GraphProto()
    made.node.extend([node("A", "x", "a"), node("B", "a", "b"), node("C", "b", "c")])
    for name in "xw":
        made.input.add(name=name)
    for name in "wv":
        made.initializer.add(name=name)
    for name in "ab":
        made.value_info.add(name=name)
    return made


@pytest.mark.parametrize(
    ("replaced", "expected"),
    [({1: ["D"]}, "ADC"), ({0: ["D"], 2: ["E"]}, "DBE"), ({1: []}, "AC"), ({0: ["D", "E"], 2: ["F"]}, "DEBF"),
     ({0: ["D"], 1: ["E", "F"]}, "DEFC"), ({1: ["D", "E"]}, "ADEC")],
)  # fmt: skip
def test_nodes_are_replaced_in_their_places(replaced, expected):
    made = graph()
    replace_nodes(made, {at: [node(name, "", "") for name in names] for at, names in replaced.items()})
    assert "".join(each.op_type for each in made.node) == expected


@pytest.mark.parametrize("function", [False, True])
def test_what_nothing_uses_is_removed(function):
    made = graph()
    constants = [node("Constant", "", "k"), node("Constant", "", "a"), node("D", "", "a")]
    constants.append(node("Constant", "", "a"))
    constants[-1].domain = "com.acme"
    replaced = {0: constants, 2: [node("E", "", "e")]}
    remove_unused(made, function, replaced, {"w", "a"}, {1})
    assert [[(each.op_type, each.domain, each.output[0]) for each in nodes] for nodes in replaced.values()] == [
        [("Constant", "", "k"), ("D", "", "a"), ("Constant", "com.acme", "a")], [("E", "", "e")], []]  # fmt: skip
    assert [*replaced] == [0, 2, 1]
    names = ["".join(each.name for each in entries) for entries in (made.initializer, made.input, made.value_info)]
    assert names == (["wv", "xw", "b"] if function else ["v", "x", "b"])


@pytest.mark.parametrize(
    ("nodes", "elsewhere", "unused", "dead"),
    [
        ("p = Neg (v)  q = Add (p, v)  s = Abs (q)", "", "pqsv", {0, 1, 2}),
        ("p = Neg (v)  q = Add (p, v)  s = Abs (q)", "q", "s", {2}),
        ("p = Neg (v)  s = Abs (p)  z = Abs (p)", "", "s", {1}),
        ("p = Neg (v)  s, q = Split (p)", "", "s", set()),
        ("p = Neg (v)  s, q = Split (p)  r = Abs (q)", "", "s", set()),
        ("p = Neg (x)  q = Neg (w)  s = Add (p, q)", "", "pqs", {0, 1, 2}),
        ("p = Neg (v)  s = d.F (p)", "", "s", set()),
        ("p = Neg (v)  s = ai.onnx.Abs (p)", "", "psv", {0, 1}),
        ("p = Neg (v)  s = Clip (p, , w)", "", "psv", {0, 1}),
        ("p, q = Split (v)  s = Add (q, p)  z = Abs (v)", "", "pqs", {0, 1}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("annotated", ["", "s", "v"])
def test_what_nothing_reads_any_more(nodes, elsewhere, unused, dead, annotated):
    """The node of y is replaced, and does not read s any more; what a node without outputs reads stays."""
    proto = opset.parse_model(f"""<ir_version: 8, opset_import: ["": 13, "d": 1]> m (float[2] x, float[2] w)
        => (float[2] y) <float[2] v = {{1, 2}}, float[2] k = {{1, 2}}> {{ {nodes}  y = Reshape (x, s) }}""")
    if annotated:
        entry = proto.graph.quantization_annotation.add(tensor_name="y").quant_parameter_tensor_names.add()
        entry.key, entry.value = "SCALE_TENSOR", annotated
    at = len(proto.graph.node) - 1
    for _ in range(2):
        body = index_model(proto, {}).main
        found = unused_after(body, proto.graph, {at: [node("Relu", "x", "y")]}, {"s"}, elsewhere)
        assert found == ((set(), set()) if annotated == "s" else ({*unused} - {annotated}, dead))
        proto.graph.node.append(node("Abs", "k", [""]))


def test_imports_are_set_added_and_dropped():
    proto = pb.ModelProto()
    for domain, version in (("ai.onnx", 7), ("com.acme", 1), ("d", 4)):
        proto.opset_import.add(domain=domain, version=version)

    def imports():
        return [(each.domain, each.version) for each in proto.opset_import]

    set_imports(proto, {"": 13, "com.acme": 2, "e": 5}, {"": 9, "d": 9, "e": 6, "f": 7})
    assert imports() == [("ai.onnx", 13), ("com.acme", 2), ("d", 4), ("e", 5), ("f", 7)]
    drop_imports(proto, {"com.acme", "f", "g"})
    assert imports() == [("ai.onnx", 13), ("d", 4), ("e", 5)]


def test_imports_that_nothing_uses():
    """A node uses its domain in any graph: d in the main one, e in a branch, f in training, h in a function."""
    nodes = "y = If (c) <then_branch = t () => (a) { a = e.A () }, else_branch = s () => (b) { b = d.A () }>"
    imports = ", ".join(f'"{domain}": 1' for domain in ("", "d", "e", "f", "h", "i", "j", "ai.onnx.ml"))
    proto = opset.parse_model(f"""<ir_version: 8, opset_import: [{imports}]> m (bool c) => (y) {{ {nodes} }}
        <domain: "i", opset_import: ["h": 1]> F (p) => (q) {{ q = h.A (p) }}
        <domain: "i", opset_import: ["h": 1]> G (p) => (q) {{ q = h.A (p) }}""")
    proto.training_info.add().algorithm.node.append(pb.NodeProto(op_type="A", domain="f"))
    assert unused_imports(proto) == ["j", "ai.onnx.ml"]
    proto.training_info.add().initialization.node.append(pb.NodeProto(op_type="A", domain="j"))
    assert unused_imports(proto) == ["ai.onnx.ml"]
    proto.graph.node[0].domain = "ai.onnx.ml"
    assert unused_imports(proto) == []


def test_a_node_stays_as_long_as_one_of_its_outputs_is_read():
    model = opset.parse_model("""<ir_version: 5, opset_import: ["": 11]> m (float[8] x) => (float[4, 2] y, int64[2] n)
        <int64[4] s = {4, 2, 8, 1}> { t, n = Split <axis = 0> (s)  y = Reshape (x, t) }""")
    assert [each.op_type for each in opset.convert(model, 4).graph.node] == ["Split", "Reshape"]
