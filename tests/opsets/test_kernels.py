"""Kernels of onnxruntime: facts that were looked up by hand, and models of one node that load or do not."""

import json
from pathlib import Path

import onnx
import onnxruntime
import pytest
from onnx import helper

from opset.opsets.registry import default_registry, registry_with
from opset.opsets.runtime_kernels import RuntimeKernel, kernels_data, kernels_of, releases

REGISTRY = default_registry()
FLOATS = ("float", "double", "float16", "bfloat16")
NEWEST = ".".join(onnxruntime.__version__.split(".")[:2])


def schema(operator, version, domain=""):
    return REGISTRY.schema(operator, version, domain)


def text(operator, version):
    return kernels_data(schema(operator, version))["text"]


def test_releases_are_numbered_without_patches_up_to_the_installed_one():
    assert (releases()[0], releases()[-1], len(releases())) == ("1.16", NEWEST, 16)


def test_an_open_entry_serves_its_own_version_alone():
    assert text("RoiAlign", 16) == "1.16 to 1.31: float, double"
    assert kernels_of(schema("RoiAlign", 22)) == ((), False)
    assert text("RoiAlign", 22) == "none"


def test_softmax():
    assert kernels_of(schema("Softmax", 12)).kernels == (
        RuntimeKernel({"T": ("tensor(double)", "tensor(float)")}, "1.16", "1.31"),
    )
    assert kernels_of(schema("Softmax", 13)).function
    assert not kernels_of(schema("Softmax", 12)).function


def test_attention_came_with_two_types_and_its_newest_version_has_no_kernel():
    assert text("Attention", 23) == "1.23 to 1.31: T1: float, float16; T2: float, float16; U: float, bool, float16"
    assert text("Attention", 24).startswith("1.24 to 1.31: ")
    assert text("Attention", 25) == "by its function, if at all"
    attention = kernels_data(schema("Attention", 23))
    taken = {"releases": [["1.23", "1.31"]], "any": False}
    floats = ["tensor(float)", "tensor(float16)"]
    assert attention == {
        "runtime": "onnxruntime", "provider": "CPUExecutionProvider", "known": ["1.16", NEWEST], "function": True,
        "releases": taken["releases"],
        "types": {"T1": [{"types": floats, **taken}], "T2": [{"types": floats, **taken}],
                  "U": [{"types": ["tensor(float)", "tensor(bool)", "tensor(float16)"], **taken}]},
        "text": "1.23 to 1.31: T1: float, float16; T2: float, float16; U: float, bool, float16",
    }  # fmt: skip


def test_types_that_came_later_are_named_with_their_releases():
    found = kernels_data(schema("Cast", 21))
    assert found["text"] == (
        "1.18 to 1.31: T1: all but uint4, int4 (uint4, int4 from 1.23); T2: all but uint4, int4 (uint4, int4 from 1.23)"
    )
    assert found["types"]["T1"][1] == {
        "types": ["tensor(uint4)", "tensor(int4)"],
        "releases": [["1.23", "1.31"]],
        "any": False,
    }
    assert text("Cast", 13) == "1.16 to 1.31: T1: any type; T2: any type"
    assert text("Add", 7) == "1.16 to 1.31: float, int32, int64, double (uint32, uint64 from 1.21)"


def test_types_that_no_version_of_the_operator_has_give_no_kernel():
    # That of 1.23 names the types of the scale wrongly, so no node fits it.
    assert [each.first for each in kernels_of(schema("QuantizeLinear", 23)).kernels] == ["1.24"]


def test_a_release_that_does_not_accept_the_opset_has_no_kernel():
    assert text("Identity", 21).startswith("1.18 to ")
    assert kernels_of(schema("Range", 27)).kernels == ()  # of all releases that have one, none takes opset 27


def test_other_domains():
    found = kernels_data(schema("TreeEnsemble", 5, "ai.onnx.ml"))
    assert (found["text"], found["types"]["T"][0]["any"]) == ("1.21 to 1.31: float, double", False)
    own = registry_with([Path(__file__).with_name("own")]).versions("Stretch", "com.example")[-1]
    assert kernels_of(own) == ((), False)
    assert json.loads(json.dumps(kernels_data(own)))["text"] == "none"


# Operator, version, how many inputs of the element type, attributes.
LOADED = [
    *[(name, version, 1, {}) for name, version in [
        ("Abs", 6), ("Abs", 13), ("Acos", 7), ("Acos", 22), ("Ceil", 13), ("Celu", 12), ("Cosh", 9), ("Cosh", 22),
        ("Elu", 6), ("Erf", 13), ("Exp", 13), ("Floor", 6), ("Identity", 14), ("IsNaN", 20), ("Log", 6),
        ("LpNormalization", 22), ("Neg", 13), ("Relu", 14), ("Round", 22), ("Sign", 13), ("Softmax", 11),
        ("Softplus", 22), ("Sqrt", 13), ("Tanh", 13), ("ThresholdedRelu", 22),
    ]],
    *[(name, version, 2, {}) for name, version in [
        ("Add", 13), ("Add", 14), ("Max", 8), ("Max", 13), ("Mod", 13), ("PRelu", 16), ("Pow", 15), ("Equal", 19),
        ("Less", 13),
    ]],
]  # fmt: skip


@pytest.mark.parametrize(("operator", "version", "inputs", "attributes"), LOADED)
def test_the_installed_release_loads_what_has_a_kernel_and_nothing_else(operator, version, inputs, attributes):
    declared = schema(operator, version)
    found = kernels_of(declared)
    runs = {each for kernel in found.kernels if kernel.last == NEWEST for each in kernel.types[declared.inputs[0].type]}
    for element in (*FLOATS, "int8", "int64", "string"):
        if f"tensor({element})" in declared.allowed_types(declared.inputs[0]):
            # The runtime casts to float around nodes of float16 that have no kernel.
            expected = f"tensor({element})" in runs or (element == "float16" and "tensor(float)" in runs)
            if expected or not found.function:
                assert loads(operator, version, inputs, attributes, element) is expected, element


def loads(operator, version, inputs, attributes, element):
    number = getattr(onnx.TensorProto, element.upper())
    if operator == "Mod" and element in FLOATS:
        attributes = {"fmod": 1}
    given = [helper.make_tensor_value_info(f"x{index}", number, [2, 3]) for index in range(inputs)]
    node = helper.make_node(operator, [each.name for each in given], ["y"], **attributes)
    graph = helper.make_graph([node], "g", given, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        return False
    return True
