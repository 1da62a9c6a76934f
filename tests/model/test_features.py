"""Which features of which IR version a model uses, and which node uses them."""

import pytest

from opset.model import load
from opset.model import proto as pb
from opset.model.features import COLLECTIONS, UNLISTED, body_features, model_features
from opset.model.graph.index import bodies


def model_of(build):
    model = pb.ModelProto(ir_version=8)
    model.opset_import.add(version=17)
    model.graph.name = "g"
    build(model)
    return model


def features(build, above=3):
    """The features of the first body of a model: (version, name, whether it is an annotation, index of the node)."""
    body = bodies(model_of(build))[-1]
    return [(*feature, index) for feature, index in body_features(body, above)]


def node(model, **fields):
    return model.graph.node.add(op_type="Relu", input=["x"], output=["y"], **fields)


def with_attribute(name, domain="", op_type="Cast", **fields):
    def build(model):
        added = model.graph.node.add(op_type=op_type, domain=domain, input=["x"], output=["y"])
        attribute = added.attribute.add(name=name)
        for key, value in fields.items():
            if key in ("t", "tp"):
                getattr(attribute, key).CopyFrom(value)
            else:
                setattr(attribute, key, value)

    return build


def value_of_type(**kinds):
    type_ = pb.TypeProto()
    current = type_
    for kind, element in kinds.items():
        if element is not None:
            getattr(current, kind).elem_type = element
        else:
            current = getattr(getattr(current, kind), "value_type" if kind == "map_type" else "elem_type")
            current.SetInParent()
    return type_


def with_value(side, type_):
    return lambda model: getattr(model.graph, side).add(name="x").type.CopyFrom(type_)


METADATA = "metadata of graphs, nodes or functions"
FLOAT8 = pb.TensorProto(data_type=17)
FLOAT8_TYPE = value_of_type(tensor_type=17)


@pytest.mark.parametrize(
    ("build", "found"),
    [
        (lambda model: node(model), []),
        (lambda model: model.graph.initializer.add(name="w", data_type=1), [(4, UNLISTED, False, -1)]),
        (lambda model: (model.graph.initializer.add(name="w", data_type=1), model.graph.input.add(name="w")), []),
        (lambda model: model.graph.initializer.add(name="w", data_type=17),
         [(4, UNLISTED, False, -1), (9, "the type float8e4m3fn", False, -1)]),
        (lambda model: model.graph.quantization_annotation.add(), [(5, "quantization annotations", True, -1)]),
        (lambda model: model.graph.sparse_initializer.add(), [(6, "sparse initializers", False, -1)]),
        (lambda model: model.graph.metadata_props.add(key="k"), [(10, METADATA, True, -1)]),
        (lambda model: model.graph.value_info.add(name="v").metadata_props.add(key="k"),
         [(10, "metadata of values", True, -1)]),
        (with_value("value_info", FLOAT8_TYPE), [(9, "the type float8e4m3fn", False, -1)]),
        (with_value("input", FLOAT8_TYPE), [(9, "the type float8e4m3fn", False, -1)]),
        (with_value("output", FLOAT8_TYPE), [(9, "the type float8e4m3fn", False, -1)]),
        (with_value("input", value_of_type(tensor_type=1)), []),
        (with_value("input", value_of_type(sequence_type=None, tensor_type=1)), [(6, COLLECTIONS, False, -1)]),
        (with_value("input", value_of_type(map_type=None, tensor_type=17)),
         [(6, COLLECTIONS, False, -1), (9, "the type float8e4m3fn", False, -1)]),
        (with_value("input", value_of_type(optional_type=None, sequence_type=None, tensor_type=1)),
         [(8, "optional types", False, -1), (6, COLLECTIONS, False, -1)]),
        (with_value("input", value_of_type(sparse_tensor_type=17)),
         [(8, "sparse tensor types", False, -1), (9, "the type float8e4m3fn", False, -1)]),
        (lambda model: (node(model), node(model).device_configurations.add()),
         [(11, "device configurations", True, 1)]),
        (lambda model: (node(model), node(model, overload="o").metadata_props.add(key="k")),
         [(10, METADATA, True, 1), (10, "overloads of functions", False, 1)]),
        (with_attribute("to", i=17, type=2), [(9, "the type float8e4m3fn", False, 0)]),
        (with_attribute("to", "ai.onnx", i=17, type=2), [(9, "the type float8e4m3fn", False, 0)]),
        (with_attribute("to", "com.acme", i=17, type=2), []),
        (with_attribute("axis", i=17, type=2), []),
        (with_attribute("to", t=FLOAT8, type=4), [(9, "the type float8e4m3fn", False, 0)]),
        (with_attribute("to", tp=FLOAT8_TYPE, type=13), [(9, "the type float8e4m3fn", False, 0)]),
        (with_attribute("to", i=17, type=1), []),
        (with_attribute("type", tp=value_of_type(sparse_tensor_type=1), type=13),
         [(8, "sparse tensor types", False, 0)]),
        (with_attribute("type", tp=value_of_type(sequence_type=None, sparse_tensor_type=1), type=13),
         [(6, COLLECTIONS, False, 0), (8, "sparse tensor types", False, 0)]),
        (with_attribute("value", "com.acme", t=FLOAT8, type=4), [(9, "the type float8e4m3fn", False, 0)]),
        (with_attribute("type", "com.acme", tp=FLOAT8_TYPE, type=13), [(9, "the type float8e4m3fn", False, 0)]),
    ],
)  # fmt: skip
def test_features_of_a_graph(build, found):
    assert features(build) == found
    for above in (4, 5, 6, 8, 9, 10, 11):
        assert features(build, above) == [each for each in found if each[0] > above]


def test_features_of_a_function():
    def build(model):
        function = model.functions.add(name="f", domain="d", overload="o", input=["x"], output=["y"])
        function.opset_import.add(version=17)
        function.node.add(op_type="Relu", input=["x"], output=["y"])
        function.attribute_proto.add(name="a", type=4).t.CopyFrom(FLOAT8)
        function.value_info.add(name="y").type.CopyFrom(value_of_type(tensor_type=21))
        function.metadata_props.add(key="k")

    found = [
        (9, "defaults of function attributes", False, -1),
        (10, "overloads of functions", False, -1),
        (10, "value_info of functions", True, -1),
        (9, "the type float8e4m3fn", False, -1),
        (10, METADATA, True, -1),
        (10, "the type uint4", False, -1),
    ]
    for above in (0, 8, 9, 10):
        assert features(build, above) == [each for each in found if each[0] > above]


@pytest.mark.parametrize(
    ("part", "found"),
    [
        ("", []),
        ("training_info", [(7, "training_info", False)]),
        ("functions", [(8, "model-local functions", False)]),
        ("configuration", [(11, "device configurations", True)]),
    ],
)
def test_features_of_a_model(part, found):
    model = model_of(lambda model: part and getattr(model, part).add())
    assert [tuple(each) for each in model_features(model)] == [(3, "imports of operator sets", False), *found]
    del model.opset_import[:]
    assert [tuple(each) for each in model_features(model)] == found


@pytest.mark.parametrize("more", [0, 1])
def test_a_model_is_shown_in_one_line(more):
    def build(model):
        for at in range(4 + more):
            model.opset_import.add(domain=f"d{at}", version=at + 1)
        node(model)
        model.graph.initializer.add(name="w", data_type=1)
        for at in range(3 + more):
            model.graph.input.add(name=f"x{at}")

    shown = repr(load(model_of(build).SerializeToString()))
    opsets = "ai.onnx 17, d0 1, d1 2, d2 3, d3 4" if not more else "ai.onnx 17, d0 1, d1 2, d2 3, d3 4 and 1 more"
    inputs = "x0, x1, x2" if not more else "x0, x1, x2 and 1 more"
    assert f"{opsets}, IR version 8, 1 nodes, 1 initializers" in shown and inputs in shown
