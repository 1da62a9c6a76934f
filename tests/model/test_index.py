"""The index of a model: bodies, scopes, order, names."""

import pytest
from onnx import TensorProto, helper

import opset.model
from opset.errors import Finding, ModelError
from opset.model import proto as pb
from opset.model.graph.index import (
    FreshNames,
    ModelIndex,
    bodies,
    check_head,
    imports_of,
    messages_of,
    node_label,
    use_faults,
    verify_names,
)
from opset.model.graph.sorting import count_moved_nodes
from opset.model.graph.walking import subgraphs


def ours(model):
    return pb.ModelProto.FromString(model.SerializeToString())


def info(name):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1])


def graph(nodes, inputs=("x",), outputs=("y",), name="g", **more):
    return helper.make_graph(nodes, name, [info(n) for n in inputs], [info(n) for n in outputs], **more)


def model(*arguments, **more):
    functions = more.pop("functions", [])
    return ours(helper.make_model(graph(*arguments, **more), functions=functions))


def ours_of_graph(nodes):
    return pb.GraphProto.FromString(graph(nodes, ["c"], ["z"]).SerializeToString())


def codes(proto):
    with pytest.raises(ModelError) as caught:
        verify_names(bodies(proto))
    return [finding.code for finding in caught.value.findings]


def nested(levels, use="x"):
    inner = graph([helper.make_node("Identity", [use], ["z0"])], [], ["z0"])
    for level in range(1, levels):
        node = helper.make_node("If", ["c"], [f"z{level}"], name=f"if{level}", then_branch=inner, else_branch=inner)
        inner = graph([node], [], [f"z{level}"])
    return inner


def test_bodies_come_parents_first_with_their_paths():
    inner = nested(3)
    proto = model([helper.make_node("If", ["c"], ["y"], name="top", then_branch=inner, else_branch=inner)], ["x", "c"])
    found = bodies(proto)
    assert len(found) == 1 + 2 + 4 + 8
    assert found[0].label == "graph 'g'"
    assert found[1].label == "graph 'g', node 'top' (If), else_branch"
    assert all(found.index(body.parent) < found.index(body) for body in found[1:])
    assert {body.root for body in found} == {found[0]}
    verify_names(found)


def test_of_many_levels_the_outermost_and_the_innermost_are_said():
    inner = nested(6)
    proto = model([helper.make_node("If", ["c"], ["y"], name="top", then_branch=inner, else_branch=inner)], ["x", "c"])
    labels = [body.label for body in bodies(proto)]
    above = "graph 'g', node 'top' (If), else_branch"
    nodes = [f"node 'if{level}' (If), else_branch" for level in range(5, 0, -1)]
    assert {", ".join([above, *nodes[:3]]), ", ".join([above, "… 2 levels …", *nodes[2:]])} <= {*labels}


def test_a_node_without_a_name_or_with_a_long_one_is_said_by_its_number():
    assert node_label("n", "Add", 3) == "node 'n' (Add)"
    assert node_label("", "Add", 3) == "node number 3 (Add)"
    long = node_label("n" * 1000, "Add", 3)
    assert long.startswith("node 'nnn") and long.endswith("…' number 3 (Add)")


@pytest.mark.parametrize(
    ("kind", "fields", "names"),
    [
        (5, "g", ["a"]),
        (5, "", ["a"]),
        (5, "g graphs", ["a"]),
        (10, "graphs", ["a[0]", "a[1]"]),
        (10, "g graphs", ["a[0]", "a[1]"]),
        (10, "g", []),
        (2, "g graphs", []),
        (0, "g", ["a"]),
        (0, "graphs", ["a[0]", "a[1]"]),
        (0, "", []),
    ],
)
def test_the_type_of_an_attribute_says_which_graphs_it_holds(kind, fields, names):
    node = pb.NodeProto()
    attribute = node.attribute.add(name="a", type=kind)
    if "g" in fields.split():
        attribute.g.name = "a"
    if "graphs" in fields:
        attribute.graphs.extend([pb.GraphProto(name="a[0]"), pb.GraphProto(name="a[1]")])
    found = [*subgraphs(node)]
    assert [name for name, _ in found] == names
    assert [graph.name for _, graph in found] == (names if fields else [""] * len(names))


def test_heads_and_imports():
    head = pb.ModelProto(ir_version=2)
    with pytest.raises(ModelError) as caught:
        check_head(head)
    assert caught.value.code == "M109"
    head.graph.SetInParent()
    check_head(head)
    head.ir_version = 3
    with pytest.raises(ModelError) as caught:
        check_head(head)
    assert caught.value.code == "M107"
    proto = pb.ModelProto()
    entries = [("", 7), ("ai.onnx", 8), ("d", 1), ("d", 2), ("known", 0), ("other", 0), ("e", 1), ("e", 1)]
    for domain, version in entries:
        proto.opset_import.add(domain=domain, version=version)
    with pytest.raises(ModelError) as caught:
        imports_of(proto, "here", ("known", ""))
    assert [(each.code, each.message, each.why) for each in caught.value.findings] == [
        ("M108", "the domain 'ai.onnx' is imported twice, at 7 and 8", '"" and "ai.onnx" are one domain'),
        ("M108", "the domain 'd' is imported twice, at 1 and 2", ""),
        ("M107", "the domain 'known' has no version", ""),
    ]
    del proto.opset_import[:5]
    assert imports_of(proto, "here", ("known", "")) == {"other": 0, "e": 1}


def test_a_subgraph_sees_only_what_stands_before_its_node():
    branch = graph([helper.make_node("Identity", ["late"], ["z"])], [], ["z"])
    if_node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    late = helper.make_node("Relu", ["x"], ["late"])
    verify_names(bodies(model([late, if_node], ["x", "c"])))
    assert codes(model([if_node, late], ["x", "c"])) == ["M112", "M112"]


def test_unsorted_cyclic_undefined_and_double_definitions_are_all_found_at_once():
    nodes = [
        helper.make_node("Relu", ["b"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Add", ["x", "nowhere"], ["b"]),
        helper.make_node("Relu", ["self"], ["self"]),
    ]
    nodes[-1].output.extend(["", ""])  # which are no values
    # The outputs are read in one pass, the inputs in the next.
    assert codes(model(nodes)) == ["M113", "M110", "M112", "M110", "M112"]


def test_faults_of_uses_name_the_place_and_what_to_do():
    nodes = [helper.make_node("Relu", ["x"], ["t"]), helper.make_node("Clip", ["t", "", "nowhere"], ["x"])]
    branch = graph(nodes, [], ["never", ""])
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=graph([], [], ["x"]))
    found = {each.name: [*use_faults(each)] for each in bodies(model([node], ["x", "c"]))[1:]}
    place = "graph 'g', node number 0 (If), then_branch"
    assert found["else_branch"] == []
    assert found["then_branch"] == [
        Finding(
            "M113", "the value 'x' of a graph around is defined again, after it was used",
            f"{place}, node number 0 (Relu)", "a name would stand for two values in one graph", "rename one of the two",
        ),
        Finding(
            "M112", "the input 'nowhere' is defined nowhere", f"{place}, node number 1 (Clip)",
            help="name a graph input, an initializer or the output of an earlier node",
        ),
        Finding(
            "M112", "the output 'never' is never computed", place,
            help="name a value of the graph, or let a node compute it",
        ),
    ]  # fmt: skip


def test_training_graphs_see_the_main_graph():
    proto = model([helper.make_node("Relu", ["x"], ["y"])])
    training = proto.training_info.add()
    training.algorithm.node.add(op_type="Neg", input=["y"], output=["t"])
    training.algorithm.output.add(name="t")
    verify_names(bodies(proto))
    training.algorithm.node.add(op_type="Neg", input=["unknown"], output=["u"])
    assert codes(proto) == ["M112"]


def test_optional_inputs_and_outer_names_are_fine():
    sparse = pb.SparseTensorProto()
    sparse.values.name = "s"
    proto = model([helper.make_node("Clip", ["x", "", "w"], ["y", ""]), helper.make_node("Abs", ["s"], ["q"])])
    proto.graph.initializer.add(name="w")
    proto.graph.sparse_initializer.append(sparse)
    verify_names(bodies(proto))


def test_invalid_utf8_is_found_in_inputs_outputs_and_operators():
    raw = model([helper.make_node("Relu", ["QQQ"], ["RRR"])], ["QQQ"], ["RRR"]).SerializeToString()
    with pytest.raises(ModelError) as caught:
        verify_names(bodies(pb.ModelProto.FromString(raw.replace(b"QQQ", b"\xff\xfe\xfd"))))
    assert [(each.code, each.help) for each in caught.value.findings] == [("M106", "write names as UTF-8")]
    assert "M106" in codes(pb.ModelProto.FromString(raw.replace(b"RRR", b"\xff\xfe\xfd")))
    assert "M106" in codes(pb.ModelProto.FromString(raw.replace(b"Relu", b"\xff\xfe\xfd\xfc")))


@pytest.mark.parametrize("part", [b"DDD", b"FFF", b"OOO"])
def test_invalid_utf8_in_the_identity_of_a_function_is_found(part):
    made = model([helper.make_node("Relu", ["x"], ["y"])], ["x"], ["y"])
    made.functions.add(domain="DDD", name="FFF", overload="OOO")
    raw = made.SerializeToString().replace(part, b"\xff\xfe\xfd")
    assert codes(pb.ModelProto.FromString(raw)) == ["M106"]


def test_invalid_utf8_in_an_imported_domain_is_found():
    made = model([helper.make_node("Relu", ["x"], ["y"])], ["x"], ["y"])
    made.opset_import.add(domain="QQQ", version=1)
    raw = made.SerializeToString().replace(b"QQQ", b"\xff\xfe\xfd")
    with pytest.raises(ModelError) as caught:
        imports_of(pb.ModelProto.FromString(raw), "opset_import", ("",))
    assert caught.value.code == "M106"
    assert caught.value.message == r"the domain \xff\xfe\xfd is not valid UTF-8"


def test_fresh_names_never_collide_with_names_of_any_body():
    proto = model([helper.make_node("If", ["c"], ["y"], then_branch=nested(2), else_branch=nested(2))], ["x", "c"])
    proto.graph.value_info.add(name="stale")
    found = bodies(proto)
    verify_names(found)
    names = FreshNames(found)
    assert [names.fresh("z0"), names.fresh("z0"), names.fresh("if1"), names.fresh("new"), names.fresh("new")] == [
        "z0_1",
        "z0_2",
        "if1_1",
        "new",
        "new_1",
    ]
    assert names.fresh("stale") == "stale_1"


def function(name, *calls):
    nodes = [helper.make_node(callee, ["a"], [f"v{i}"], domain="d") for i, callee in enumerate(calls)]
    nodes.append(helper.make_node("Identity", ["a"], ["b"]))
    return helper.make_function("d", name, ["a"], ["b"], nodes, [helper.make_opsetid("", 17)])


def test_functions_are_ordered_callers_first_and_circles_are_errors():
    proto = model(
        [helper.make_node("F", ["x"], ["y"], domain="d")],
        functions=[
            function("H"),
            function("G", "H"),
            function("F", "G", "H"),
        ],
    )
    assert [f.proto.name for f in ModelIndex(proto, ()).call_order()] == ["F", "G", "H"]
    call = helper.make_node("F", ["x"], ["y"], domain="d")
    circle = model([call], functions=[function("E", "F"), function("F", "G"), function("G", "F")])
    with pytest.raises(ModelError, match="M114") as caught:
        ModelIndex(circle, ()).call_order()
    assert caught.value.place == "d.F, d.G"


def test_a_chain_of_20000_nodes_and_30_levels_of_subgraphs_are_walked_without_recursion():
    proto = pb.ModelProto()
    proto.graph.input.add(name="v0")
    for number in range(20_000):
        proto.graph.node.add(op_type="Relu", input=[f"v{number}"], output=[f"v{number + 1}"])
    proto.graph.output.add(name="v20000")
    verify_names(bodies(proto))
    inner = pb.GraphProto()
    for level in range(30):
        outer = pb.GraphProto()
        node = outer.node.add(op_type="If", input=["c"], output=[f"y{level}"])
        attribute = node.attribute.add(name="then_branch", type=5)
        attribute.g.CopyFrom(inner)
        inner = outer
    deep = pb.ModelProto(graph=inner)
    deep.graph.input.add(name="c")
    verify_names(bodies(deep))
    assert len(bodies(deep)) == 31


def test_two_functions_of_one_identity_are_found():
    made = model([helper.make_node("Relu", ["x"], ["y"])], ["x"], ["y"])
    for name, overload in (("f", ""), ("f", "of floats"), ("g", ""), ("f", "")):
        made.functions.add(name=name, domain="local", overload=overload)
    with pytest.raises(ModelError) as caught:
        verify_names(bodies(made))
    (found,) = caught.value.findings
    assert (found.code, found.message) == ("M113", "the function 'f' is defined twice")
    assert found.help == "remove one, or rename it and its calls"


def test_a_value_is_defined_by_the_first_node_that_computes_it():
    nodes = [
        helper.make_node("Split", ["x"], ["a", "", "b"]),
        helper.make_node("Relu", ["a"], ["a"]),
        helper.make_node("Relu", ["a"], ["x"]),
        helper.make_node("Relu", ["b"], ["w"]),
        helper.make_node("Relu", ["b"], ["b"]),
        helper.make_node("Neg", ["b"], ["y"]),
    ]
    held = helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])
    (body,) = bodies(model(nodes, initializer=[held]))
    assert body.definitions == {"x": -1, "w": -1, "a": 0, "b": 0, "y": 5}


def test_the_module_of_models_has_its_names_alone():
    with pytest.raises(AttributeError, match=r"^module 'opset\.model' has no attribute 'Nonesuch'$"):
        opset.model.Nonesuch  # noqa: B018


def test_the_graphs_of_an_equal_message_are_found_by_bodies():
    branches = {"then_branch": nested(2), "else_branch": nested(1)}
    proto = model(
        [helper.make_node("If", ["c"], ["y"], **branches)],
        ["x", "c"],
        functions=[helper.make_function("f", "F", ["x", "c"], ["y"], [helper.make_node("If", ["c"], ["y"], **branches)],
                                        [helper.make_opsetid("", 17)])],
    )  # fmt: skip
    for part in ("initialization", "algorithm"):
        getattr(proto.training_info.add(), part).CopyFrom(
            ours_of_graph([helper.make_node("If", ["c"], ["z"], **branches)])
        )
    index, other = ModelIndex(proto, ()), pb.ModelProto()
    other.CopyFrom(proto)
    messages = messages_of(index, other)
    assert {*messages} == {*index.bodies} and len(index.bodies) == 4 * 5
    for body, message in messages.items():
        assert message == body.proto
        message.doc_string = body.label
    assert [body.label for body in index.bodies] == [body.proto.doc_string for body in bodies(other)]
    assert not any(body.proto.doc_string for body in index.bodies)


@pytest.mark.parametrize(("order", "moved"), [((), 0), ((0, 1, 2), 0), ((1, 0), 1), ((2, 0, 1), 1), ((2, 1, 0), 2)])
def test_nodes_that_an_order_moves_are_counted(order, moved):
    assert count_moved_nodes(order) == moved
