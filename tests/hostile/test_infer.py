"""Inference of small models that would take long: it stops where its budget does, and says so."""

from functools import partial

import pytest
from onnx import TensorProto, helper

import opset
from judges.hostile.processes import attack, own
from tests.bounds import growth

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def value(name, shape, element=INT64):
    return helper.make_tensor_value_info(name, element, shape)


def number(name, element):
    return helper.make_tensor(name, INT64, [], [element])


def model(nodes, inputs, constants=(), functions=(), **imports):
    outputs = [helper.make_empty_tensor_value_info(nodes[-1].output[0])]
    graph = helper.make_graph(nodes, "main", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", 17), *(helper.make_opsetid(*each) for each in imports.items())]
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=9).SerializeToString()


ALL = [helper.make_node("Shape", ["x"], ["s"])]
for at, letter in enumerate("nmk"):
    ALL += [
        helper.make_node("Gather", ["s", f"c{at}"], [letter]),
        helper.make_node("Add", [letter, "c1024"], [f"{letter}_end"]),
        helper.make_node("Range", [letter, f"{letter}_end", "c1"], [f"{letter}s"]),
    ]
SIZED = value("x", ["N", "M", "K"], FLOAT)
NUMBERS = [number(f"c{each}", each) for each in (0, 1, 2, 1024)]


def arithmetic(count, operators):
    """Return a model with 1024 different sizes N, N + 1, … of three variables, with which nodes compute."""
    nodes = [*ALL, helper.make_node("Mul", ["ns", "ms"], ["v0"]), helper.make_node("Mul", ["ms", "ks"], ["w"])]
    for each in range(count):
        op_type = operators[each % len(operators)]
        nodes.append(helper.make_node(op_type, [f"v{each}", "w" if each % 2 else "ns"], [f"v{each + 1}"]))
    return nodes


def complex_sizes():
    return model(arithmetic(150, ["Mul", "Add", "Div", "Max", "Mul", "Mod"]), [SIZED], NUMBERS)


def compared_sizes():
    nodes = arithmetic(3, ["Div", "Max"])
    nodes += [helper.make_node("Less", ["v2", "w"], [f"l{each}"], name=f"n{each}") for each in range(150)]
    for each in range(150):
        nodes[-150 + each].input[1] = "ns" if each % 2 else "ks"
    return model(nodes, [SIZED], NUMBERS)


def nested_loops():
    """Return loops in loops whose values change in every turn, each with some arithmetic."""
    inner = [helper.make_node("Concat", ["state", "ns"], ["joined"], axis=0)]
    inner += [helper.make_node("Mul", ["joined", "joined"], [f"m{each}"]) for each in range(5)]
    inner.append(helper.make_node("Slice", ["joined", "one", "end"], ["out"]))
    for level in range(7):
        body = helper.make_graph(
            [*inner, helper.make_node("Identity", ["go"], ["on"])],
            f"level{level}",
            [value(f"i{level}", []), value("go", [], BOOL), value("state", None)],
            [value("on", [], BOOL), value("out", None)],
        )
        inner = [helper.make_node("Loop", ["count", "yes", "state" if level < 6 else "ns"], ["out"], body=body)]
    constants = [*NUMBERS, number("count", 3), helper.make_tensor("yes", BOOL, [], [True])]
    constants += [helper.make_tensor(name, INT64, [1], [each]) for name, each in (("one", 1), ("end", 900))]
    return model([*ALL, *inner], [SIZED], constants)


def many_calls():
    """Return functions that call the one before twice, each with elements of its own."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)]
    made = [helper.make_function("d", "f0", ["a"], ["b"], [helper.make_node("Mul", ["a", "a"], ["b"])], opsets)]
    for level in range(1, 40):
        nodes = [
            helper.make_node(f"f{level - 1}", ["a"], ["c"], domain="d"),
            helper.make_node("Add", ["c", "a"], ["e"]),
            helper.make_node(f"f{level - 1}", ["e"], ["b"], domain="d"),
        ]
        made.append(helper.make_function("d", f"f{level}", ["a"], ["b"], nodes, opsets))
    return model([*ALL, helper.make_node("f39", ["ns"], ["y"], domain="d")], [SIZED], NUMBERS, made, d=1)


def empty_tensors():
    """Return arithmetic on tensors without elements, along whose other axes nobody should walk."""
    nodes = [helper.make_node("ConstantOfShape", ["great"], ["e"]), helper.make_node("Cast", ["e"], ["v0"], to=INT64)]
    nodes += [helper.make_node("Add", ["v0", "thin"], ["y"]), helper.make_node("Gather", ["v0", "c0"], ["z"], axis=1)]
    nodes += [helper.make_node("Concat", ["v0", "v0"], ["u"], axis=1)]
    constants = [*NUMBERS, helper.make_tensor("great", INT64, [2], [2**40, 0])]
    return model(nodes, [SIZED], [*constants, helper.make_tensor("thin", INT64, [1, 0], [])])


STOPPED = {"complex sizes": complex_sizes, "compared sizes": compared_sizes, "loops": nested_loops, "calls": many_calls}


@pytest.mark.parametrize("name", [*STOPPED, "empty tensors"])
def test_inference_ends_soon(name, tmp_path):
    (tmp_path / "m.onnx").write_bytes(STOPPED.get(name, empty_tensors)())
    outcome = own(attack("infer", tmp_path / "m.onnx"), 0, 1)
    assert outcome.megabytes < 400


def test_what_follows_is_a_gap(monkeypatch):
    monkeypatch.setattr("opset.inference.building.work.BASE_STEPS", 1200)
    monkeypatch.setattr("opset.inference.building.work.STEPS_PER_BYTE", 0)
    nodes = [*arithmetic(20, ["Mul", "Add"]), helper.make_node("Relu", ["x"], ["y"])]
    found = opset.infer(model(nodes, [SIZED], NUMBERS))
    assert found.stopped and found.shape("s") == (3,)
    assert found.shape("y") is None
    assert "inference stopped" in found.gaps[-1].reason and found.stopped.split(":")[0] in found.gaps[-1].reason
    assert not found.findings
    assert len(found.written().proto.graph.node) == len(nodes)


def test_nothing_is_told_of_the_graphs_of_a_node_that_was_not_finished(monkeypatch):
    """What a Loop was found to compute in its first turn need not hold in later ones."""
    monkeypatch.setattr("opset.inference.building.work.STEPS_PER_BYTE", 0)
    branch = "() => (float o) { w = Neg (x)  o = ReduceSum <keepdims = 0> (w) }"
    text = f"""<ir_version: 10, opset_import: ["": 21]> main (float[1] x, int64 n, bool on) => (float[?] y, float z) {{
        z = If (on) <then_branch = t {branch}, else_branch = e {branch}>
        y = Loop (n, on, x) <body = b (int64 i, bool go, float[?] h) => (bool c, float[?] o) {{
            c = Identity (go)  w = Concat <axis = 0> (h, h)  o = Neg (w) }}> }}"""
    seen = set()
    for steps in range(140, 740, 40):
        monkeypatch.setattr("opset.inference.building.work.BASE_STEPS", steps)
        found = opset.infer(opset.parse_model(text))
        graphs = [each.g for node in found.written().proto.graph.node for each in node.attribute]
        where = found.stopped.split(":")[0].split(", ")[1:2]
        seen.add((*where, *[len(graph.value_info) for graph in graphs]))
    assert seen == {("node number 0 (If)", 0, 0, 0), ("node number 1 (Loop)", 1, 1, 0), (1, 1, 1)}


@pytest.mark.parametrize("limit", [("--max-steps", "500"), ("--timeout", "0.000001"), ("--max-bytes", "1K")])
def test_a_limit_that_was_set_is_an_error(limit, tmp_path):
    (tmp_path / "m.onnx").write_bytes(model(arithmetic(20, ["Mul", "Add"]), [SIZED], NUMBERS))
    assert "I401" in own(attack("infer", tmp_path / "m.onnx", *limit), 1).text


def test_a_conversion_refuses_what_it_does_not_know(tmp_path):
    """The budget of an inference for a conversion is used up: nothing is known of what follows, and nothing guessed."""
    nodes = [*arithmetic(400, ["Mul", "Add", "Div", "Max", "Mul", "Mod"]), helper.make_node("Shape", ["x"], ["t"])]
    nodes += [helper.make_node("Expand", ["x", "t"], ["e"]), helper.make_node("Softmax", ["e"], ["y"], axis=1)]
    (tmp_path / "m.onnx").write_bytes(model(nodes, [SIZED], NUMBERS))
    outcome = own(attack("convert", tmp_path / "m.onnx", "--to", "12", "-o", tmp_path / "out.onnx"), 0, 1)
    assert outcome.status == 0 or "C207" in outcome.text


def test_work_is_in_proportion_to_the_model():
    def inference(count):
        nodes = arithmetic(count, ["Mul", "Add", "Div", "Max", "Mul", "Mod"])
        return partial(opset.infer, model(nodes, [SIZED], NUMBERS))

    assert growth(inference, 100, 4) < 1.5
