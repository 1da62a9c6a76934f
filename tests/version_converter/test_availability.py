"""Conversion for a runtime: every node becomes one that it runs and computes the same, or is refused with the reasons.

The runtimes are small files. onnxruntime, or the reference evaluator, computes values before and after.
"""

from types import SimpleNamespace

import numpy as np
import onnxruntime
import pytest
from onnx import parser

import opset
from opset.budget import ALLOW_MORE, Limits
from opset.errors import ConversionError
from opset.model import load
from opset.model import proto as pb
from opset.opsets.registry import default_registry
from opset.opsets.runtimes import find_runtime
from opset.opsets.runtimes.model import Comparison, Kernel, KernelFault
from opset.version_converter.availability import NO_DEMANDS, Availability, _demands_of
from opset.version_converter.survey import Survey
from tests.version_converter.npu import ANY, runtime_file, takes

RANDOM = np.random.default_rng(22)


def model_of(nodes, given="float[2,3,4] x", made="float[2,3,4] y", version=17, imports="", ir=8, functions=""):
    return parser.parse_model(
        f'<ir_version: {ir}, opset_import: ["": {version}{imports}]> m ({given}) => ({made}) {{ {nodes} }} {functions}'
    )


def plan_for(model, file, **more):
    return opset.plan(model, runtime="npu==1.0", targets=[file], **more)


def converted(model, file, **more):
    """Return a model for the runtime, on which all of its nodes run."""
    after = opset.convert(model, runtime="npu==1.0", targets=[file], **more)
    assert [*Survey(load(after), default_registry()).find_lacks(find_runtime("npu==1.0", [file]))] == []
    again = opset.convert(after, runtime="npu==1.0", targets=[file], **more)
    assert again.SerializeToString() == after.SerializeToString()
    return after


def refusal(model, file, **more):
    """Return the reason why the only node that is refused cannot run."""
    (finding,) = plan_for(model, file, **more).refusals
    assert finding.code == "C209" and finding.message.endswith(" cannot run on npu 1.0")
    with pytest.raises(ConversionError):
        opset.convert(model, runtime="npu==1.0", targets=[file], **more)
    return finding.why


def feeds_of(model):
    """Return random values of a model's inputs: small integers, numbers, or booleans."""
    feeds = {}
    for value in model.graph.input:
        kind = value.type.tensor_type
        shape = [dim.dim_value or 2 for dim in kind.shape.dim]
        numbers = (
            RANDOM.integers(-4, 5, shape) if kind.elem_type not in (2, 4, 12, 13) else RANDOM.integers(0, 5, shape)
        )
        numbers = numbers if kind.elem_type not in (1, 10, 11) else RANDOM.normal(size=shape)
        dtype = {1: "f4", 2: "u1", 3: "i1", 5: "i2", 6: "i4", 7: "i8", 9: "?", 10: "f2", 11: "f8", 13: "u8"}
        feeds[value.name] = np.asarray(numbers).astype(dtype[kind.elem_type])
    return feeds


def run(model, feeds):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def assert_equal(before, after, run_before=run, rtol=0.0, atol=0.0):
    feeds = feeds_of(before)
    for expected, found in zip(run_before(before, feeds), run(after, feeds), strict=True):
        assert expected.dtype == found.dtype
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


def evaluate(model, feeds):
    return opset.ReferenceEvaluator(model).run(None, feeds)


def operators(model):
    return [node.op_type for node in model.graph.node]


# Nodes that the runtime runs


def test_a_model_that_is_there_already_stays_equal_in_every_byte(tmp_path):
    before = model_of("y = Relu (x)", imports=', "ai.onnx.ml": 2')
    before.metadata_props.add(key="a", value="b")
    after = opset.convert(before.SerializeToString(), runtime="npu==1.0", targets=[runtime_file(tmp_path, takes())])
    assert after.SerializeToString() == before.SerializeToString()
    conversion = plan_for(before, runtime_file(tmp_path, takes()))
    assert not conversion.changes and conversion.refusals == []


def test_an_import_that_nothing_uses_and_the_runtime_may_refuse_is_dropped(tmp_path):
    before = model_of("y = Relu (x)", imports=', "com.microsoft": 15, "ai.onnx.ml": 2')
    conversion = plan_for(before, runtime_file(tmp_path, takes()))
    assert conversion.notes == ["imports that nothing uses were dropped: com.microsoft"]
    after = converted(before, runtime_file(tmp_path, takes()))
    assert [each.domain for each in after.opset_import] == ["", "ai.onnx.ml"]
    assert_equal(before, after, run_before=evaluate)
    # Nodes in subgraphs and functions use a domain, too.
    inner = model_of(
        "y = If (c) <then_branch = t () => (float[2] a) { a = Relu (x) }, "
        "else_branch = e () => (float[2] b) { b = com.example.F (x) }>",
        given="float[2] x, bool c",
        made="float[2] y",
        imports=', "com.example": 15',
    )
    after = opset.convert(inner, runtime="npu==1.0", targets=[runtime_file(tmp_path, takes("If"))])
    assert len(after.opset_import) == 2


def test_an_import_that_nothing_uses_any_more_is_dropped(tmp_path):
    function = '<domain: "com.example", opset_import: ["": 17]> F (p) => (q) { q = Relu (p) }'
    before = model_of("y = com.example.F (x)", imports=', "com.example": 1', functions=function)
    file = runtime_file(tmp_path, takes())
    assert len(converted(before, file).opset_import) == 2
    without_calls = model_of("y = Relu (x)", imports=', "com.example": 1', functions=function)
    assert len(converted(without_calls, file).opset_import) == 2  # the function is there
    del without_calls.functions[:]
    assert len(converted(without_calls, file).opset_import) == 1


@pytest.mark.parametrize(
    ("limits", "nodes", "given", "why"),
    [
        ({"input_rank": [3]}, "y = Transpose (x)", "float[2,3,4] x", ""),
        ({"input_rank": [4, 2]}, "y = Transpose (x)", "float[2,3,4] x", "the rank is 3; it takes 2, 4"),
        ({"input_rank": [4]}, "y = Transpose (x)", "float[] s", ""),
        ({"attributes": {"perm": [0, 1, 2]}}, "y = Transpose <perm = [2, 1, 0]> (x)", "float[2,3,4] x", ""),
        (
            {"attributes": {"perm": [0, 2]}},
            "y = Transpose <perm = [1, 2, 0]> (x)",
            "float[2,3,4] x",
            "'perm' is (1, 2, 0); it has to be 0 or 2",
        ),
        ({"attributes": {"perm": "absent"}}, "y = Transpose (x)", "float[2,3,4] x", ""),
        (
            {"attributes": {"perm": "absent"}},
            "y = Transpose <perm = [1, 2, 0]> (x)",
            "float[2,3,4] x",
            "'perm' is (1, 2, 0); it has to be absent",
        ),
        ({"static_shape": True}, "y = Transpose (x)", "float[2,3,4] x", ""),
        ({"static_shape": True}, "y = Transpose (x)", "float[N,3,4] x", "the sizes of 'x' have to be numbers"),
        ({"outputs": 1}, "y = Transpose (x)", "float[2,3,4] x", ""),
    ],
)
def test_limits_of_kernels_are_compared_with_nodes(tmp_path, limits, nodes, given, why):
    if given == "float[] s":
        nodes, given = "x = Expand (s, n) y = Transpose (x)", "float[] s, int64[rank] n"
        why = "it takes inputs of rank 4, and the node's is not known"
    model = model_of(nodes, given=given, made="float y")
    file = runtime_file(tmp_path, takes("Expand", Transpose=[limits]))
    if why:
        assert refusal(model, file).startswith(f"npu 1.0: {why};")
    else:
        assert opset.convert(model, runtime="npu==1.0", targets=[file]) == model


@pytest.mark.parametrize(
    ("attributes", "given", "why"),
    [
        ({"alpha": 0.5}, "<alpha = 0.5>", ""),
        ({"alpha": 0.5}, "", "'alpha' is 1.0; it has to be 0.5"),
        ({"alpha": "default"}, "", ""),
        ({"alpha": "default"}, "<alpha = 1.0>", ""),
        ({"alpha": "default"}, "<alpha = 2.0>", "'alpha' is 2.0; it has to be default"),
        ({"alpha": "ignored"}, "<alpha = 2.0>", ""),
        ({"alpha": [1, 2, 3]}, "<alpha = 2.0>", ""),
        ({"alpha": [1, 3]}, "<alpha = 2.0>", "'alpha' is 2.0; it has to be 1 or 3"),
        ({"alpha": "not below 0"}, "<alpha = 2.0>", ""),
        ({"unheard_of": 1}, "", ""),
    ],
)
def test_values_of_attributes_are_compared(tmp_path, attributes, given, why):
    nodes = f"y = Elu {given} (x)"
    file = runtime_file(tmp_path, takes(Elu=[{"attributes": attributes}]))
    conversion = plan_for(model_of(nodes), file)
    assert not conversion.changes
    if why:
        lowering = "it is expressed by Tanh, and npu 1.0 has no Tanh"
        assert refusal(model_of(nodes), file) == f"npu 1.0: {why}; {lowering}; no other type helps"
    words = ["limits of npu 1.0 that are not checked: Elu: alpha: not below 0"] if "not" in str(attributes) else []
    assert conversion.notes == words


def test_values_of_attributes_are_excluded(tmp_path):
    limits = {"versions": [11, None], "attributes": {"mode": "not linear or cubic"}}
    file = runtime_file(tmp_path, takes(Resize=[limits]), opset=(11, 17))
    for mode, is_taken in (("nearest", True), ("linear", False), ("cubic", False)):
        model = model_of(
            f'y = Resize <mode = "{mode}"> (x, , s)', given="float[1,1,2,2] x, float[4] s", made="float[1,1,N,M] y"
        )
        conversion = plan_for(model, file)
        assert conversion.notes == []
        assert bool(conversion.refusals) is not is_taken
        if not is_taken:
            assert f"npu 1.0: 'mode' is {mode}; it may not be linear or cubic;" in refusal(model, file)
    # Of an attribute that is no text, these are words.
    file = runtime_file(tmp_path, takes(Elu=[{"attributes": {"alpha": "not negative"}}]))
    assert plan_for(model_of("y = Elu (x)"), file).notes[0].endswith("Elu: alpha: not negative")


def test_each_element_of_an_attribute_that_is_a_list_is_compared(tmp_path):
    file = runtime_file(tmp_path, takes(RNN=[{"attributes": {"activations": ["Relu", "Tanh"], "hidden_size": 2}}]))
    given, made = "float[3,1,2] x, float[1,2,2] w, float[1,2,2] r", "float[3,1,1,2] y"
    # Without the attribute, the operator says what it is.
    for attributes in ("hidden_size = 2", 'hidden_size = 2, activations = ["Relu"]'):
        model = model_of(f"y = RNN <{attributes}> (x, w, r)", given=given, made=made)
        assert opset.convert(model, runtime="npu==1.0", targets=[file]) == model
    model = model_of('y = RNN <hidden_size = 2, activations = ["Affine"]> (x, w, r)', given=given, made=made)
    assert "'activations' is ('Affine',); it has to be Relu or Tanh" in refusal(model, file)


def test_outputs_that_a_kernel_does_not_compute_are_told(tmp_path):
    nodes = "y, i = MaxPool <kernel_shape = [2]> (x)"
    for outputs in (1, ["Y"]):
        file = runtime_file(tmp_path, takes(MaxPool=[{"outputs": outputs}]))
        model = model_of(nodes, made="float[2,3,3] y, int64[2,3,3] i")
        why = (
            "npu 1.0: it does not compute the output 'Indices'; there is no lowering of MaxPool; "
            "it is expressed by Gather, and npu 1.0 has no Gather; no other type helps"
        )
        assert refusal(model, file) == why
        unread = model_of("y = MaxPool <kernel_shape = [2]> (x)", made="float[2,3,3] y")
        assert opset.convert(unread, runtime="npu==1.0", targets=[file]) == unread


def test_values_of_inputs_are_compared(tmp_path):
    file = runtime_file(tmp_path, takes(Dropout=[{"values": {"training_mode": False}}]))
    nodes = "t = Constant <value = bool {{{}}}> () y = Dropout (x, r, t)"
    for value, is_taken in (("0", True), ("1", False)):
        model = model_of(nodes.format(value), given="float[2,3,4] x, float r")
        if is_taken:
            assert opset.convert(model, runtime="npu==1.0", targets=[file]) == model
        else:
            assert "the elements of 'training_mode' have to be False" in refusal(model, file)
    model = model_of("y = Dropout (x, r, t)", given="float[2,3,4] x, float r, bool t")
    assert "the elements of 'training_mode' have to be False" in refusal(model, file)
    model = model_of("y = Dropout (x)")
    assert opset.convert(model, runtime="npu==1.0", targets=[file]) == model


def test_a_type_that_the_runtime_casts_is_taken_in_releases_that_do(tmp_path):
    relu = takes(Relu=[{"types": {"T": ["float", "int32"]}}])
    rows = [{"release": release, "opset": [7, 21], "how": "documented"} for release in ("1.0", "2.0")]
    file = runtime_file(tmp_path, relu, casts={"double": "float", "int64": "int32 before 2.0"}, releases=rows)
    double, integer = (
        model_of("y = Relu (x)", given=f"{each}[2] x", made=f"{each}[2] y") for each in ("double", "int64")
    )
    assert opset.convert(double, runtime="npu==1.0", targets=[file]) == double
    assert opset.convert(integer, runtime="npu==1.0", targets=[file]) == integer
    assert opset.convert(double, runtime="npu==2.0", targets=[file]) == double
    (finding,) = opset.plan(integer, runtime="npu==2.0", targets=[file]).refusals
    assert "npu 2.0: no kernel of Relu 14 takes int64 as 'X'" in finding.why


def test_inputs_and_outputs_have_types_that_callers_can_give(tmp_path):
    file = runtime_file(tmp_path, takes(), io_types_not=["float16"])
    model = model_of("h = Relu (x) y = Cast <to = 1> (h)", given="float16[2] x", made="float[2] y")
    (finding,) = plan_for(model, file).refusals
    assert (finding.code, finding.message) == ("C209", "the input 'x' cannot be given to npu 1.0")


# Nodes that become others


def test_a_type_without_a_kernel_is_computed_in_a_wider_one(tmp_path):
    before = model_of("y = Less (x, z)", given="int16[40] x, int16[40] z", made="bool[40] y")
    for types, wide in ((["int32"], 6), (["float"], 1), (["float16", "int64"], 7), (["int32", "float"], 1)):
        file = runtime_file(tmp_path, takes(Less=[{"types": {"T": types}}]))
        after = converted(before, file)
        assert operators(after) == ["Cast", "Cast", "Less"]
        assert after.graph.node[0].attribute[0].i == wide
        assert_equal(before, after)
    file = runtime_file(tmp_path, takes(Less=[{"types": {"T": ["float16"]}}]))
    assert refusal(before, file) == (
        "npu 1.0: no kernel of Less 13 takes int16 as 'A'; there is no lowering of Less; "
        "no wider type gives certainly the same"
    )


def test_a_type_without_a_kernel_is_found_in_any_of_several_entries(tmp_path):
    entries = [{"types": {"T": ["float"]}}, {"types": {"T": ["int16"]}}]
    file = runtime_file(tmp_path, takes(Less=entries))
    before = model_of("y = Less (x, z)", given="int16[40] x, int16[40] z", made="bool[40] y")
    assert opset.convert(before, runtime="npu==1.0", targets=[file]) == before
    file = runtime_file(tmp_path, takes(Less=[{"types": {"T": ["float16"]}}, {"types": {"T": ["float"]}}]))
    assert_equal(before, converted(before, file))


def test_results_may_differ_only_if_that_is_permitted(tmp_path):
    nodes = 'y = Resize <mode = "linear"> (x, , s)'
    before = model_of(nodes, given="double[1,1,2,2] x, float[4] s", made="double[1,1,4,4] y")
    file = runtime_file(tmp_path, takes(Resize=[{"types": {"T1": ["float"]}}]), opset=(11, 17))
    assert refusal(before, file).endswith("no wider type gives certainly the same")
    conversion = plan_for(before, file, inexact_types=True)
    assert conversion.notes == ["nodes that compute in a type in which results may differ: Resize 13 in float (1)"]
    after = converted(before, file, inexact_types=True)
    assert operators(after) == ["Cast", "Resize", "Cast"]
    feeds = {"x": RANDOM.normal(size=(1, 1, 2, 2)), "s": np.array([1, 1, 2, 2], np.float32)}
    (found,) = run(after, feeds)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, evaluate(before, feeds)[0], rtol=1e-6)


def test_a_type_of_another_node_does_not_hide_one_that_is_permitted(tmp_path):
    """Conv of bfloat16 is certainly equal in float; that of double is not, and is permitted."""
    before = model_of("y = Conv (x, w)", given="double[1,1,4,4] x, double[1,1,3,3] w", made="double[1,1,2,2] y")
    file = runtime_file(tmp_path, takes(Conv=[{"types": {"T": ["float"]}}]))
    assert refusal(before, file).endswith("no wider type gives certainly the same")
    after = converted(before, file, inexact_types=True)
    assert operators(after) == ["Cast", "Cast", "Conv", "Cast"]
    assert_equal(before, after, run_before=evaluate, rtol=1e-5, atol=1e-6)
    assert plan_for(before, file, inexact_types=True).notes == [
        "nodes that compute in a type in which results may differ: Conv 11 in float (1)"
    ]


def test_an_exact_type_is_preferred_where_others_are_permitted(tmp_path):
    file = runtime_file(tmp_path, takes(Less=[{"types": {"T": ["int64"]}}]))
    before = model_of("y = Less (x, z)", given="int32[40] x, int32[40] z", made="bool[40] y")
    conversion = plan_for(before, file, inexact_types=True)
    assert conversion.notes == [] and not conversion.refusals
    assert_equal(before, converted(before, file, inexact_types=True))


def test_an_operator_that_is_lacking_is_expressed_by_others(tmp_path):
    before = model_of("y = LayerNormalization (x, s)", given="float[2,3,4] x, float[4] s")
    file = runtime_file(tmp_path, takes("ReduceMean", "Pow"))
    after = converted(before, file)
    assert "LayerNormalization" not in operators(after)
    assert (after.opset_import[0].version, after.ir_version) == (17, 8)
    assert_equal(before, after, rtol=1e-5, atol=1e-6)
    # So are the operators that it is expressed by: here Pow is Mul or nothing.
    lacking = runtime_file(tmp_path, takes("ReduceMean"))
    assert "it is expressed by Pow, and npu 1.0 has no Pow" in refusal(before, lacking)


def test_a_version_that_is_lacking_is_another_one_or_expressed_by_others(tmp_path):
    before = model_of("y = Hardmax (x)", version=13)
    file = runtime_file(tmp_path, {"Hardmax": [{"versions": [1, 11]}]}, opset=(7, 17))
    # The model is moved to an opset in which the runtime has the operator, if the node means the same there.
    axis_last = model_of("y = Hardmax (x)", given="float[2,3] x", made="float[2,3] y", version=13)
    after = converted(axis_last, file)
    assert after.opset_import[0].version == 12
    assert_equal(axis_last, after)
    file = runtime_file(tmp_path, {"Hardmax": [{"versions": [1, 11]}]}, opset=(13, 17))
    assert "npu 1.0 has no kernel of Hardmax 13; there is no lowering of Hardmax" in refusal(before, file)


def test_a_type_is_widened_if_the_nodes_of_a_lowering_are_lacking(tmp_path):
    before = model_of("y = Gelu (x)", given="float16[2,3] x", made="float16[2,3] y", version=20, ir=9)
    file = runtime_file(tmp_path, takes(Gelu=[{"types": {"T": ["float"]}}]))
    after = converted(before, file)
    assert operators(after) == ["Cast", "Gelu", "Cast"]
    assert_equal(before, after, run_before=evaluate, rtol=1e-3, atol=1e-3)


def test_inputs_become_the_constants_that_inference_knows(tmp_path):
    nodes = "s = Shape (x) y = Reshape (z, s)"
    file = runtime_file(tmp_path, takes(Reshape=[{"constant_inputs": ["shape"]}]))
    before = model_of(nodes, given="float[2,3,4] x, float[24] z")
    after = converted(before, file)
    assert operators(after)[-2:] == ["Constant", "Reshape"]
    assert_equal(before, after)
    conversion = plan_for(before, file)
    assert [action.steps for action in conversion.actions] == [("Reshape 14 with constants",)]
    open_sizes = model_of(nodes, given="float[N,3,4] x, float[z] z", made="float[N,3,4] y")
    assert "npu 1.0: 'shape' has to be constant; there is no lowering of Reshape" in refusal(open_sizes, file)
    after = opset.convert(open_sizes, runtime="npu==1.0", targets=[file], dims={"N": 2})
    assert operators(after)[-1] == "Reshape" and "Constant" in operators(after)


def test_inputs_in_functions_become_constants_too(tmp_path):
    function = '<domain: "f", opset_import: ["": {0}]> g (p, q) => (r) {{ s = Shape (q) r = Reshape (p, s) }}'
    file = runtime_file(tmp_path, takes(Reshape=[{"constant_inputs": ["shape"]}]))
    for version in (17, 8):
        before = model_of(
            "y = f.g (z, x)",
            given="float[2,3,4] x, float[24] z",
            imports=', "f": 1',
            version=version,
            functions=function.format(version),
        )
        conversion = plan_for(before, file)
        if version == 17:
            assert_equal(before, converted(before, file))
        else:  # Constant holds no integers there, and a function has no initializers
            assert [finding.code for finding in conversion.refusals] in ([], ["C209"])


def test_nodes_in_subgraphs_and_functions_become_others(tmp_path):
    file = runtime_file(tmp_path, takes("If", Less=[{"types": {"T": ["int32"]}}]))
    before = model_of(
        "y = If (c) <then_branch = t () => (bool[3] a) { a = Less (x, z) }, "
        "else_branch = e () => (bool[3] b) { b = f.g (z, x) }>",
        given="int16[3] x, int16[3] z, bool c",
        made="bool[3] y",
        imports=', "f": 1',
        functions='<domain: "f", opset_import: ["": 17]> g (p, q) => (r) { r = Less (p, q) }',
    )
    after = converted(before, file)
    assert operators(after) == ["If"]
    assert [node.op_type for node in after.functions[0].node] == ["Cast", "Cast", "Less"]
    for _ in range(4):
        assert_equal(before, after)


CALLS = {
    "nodes": "z = f.g <a = 2.0> (x) y = f.h (z)",
    "imports": ', "f": 1',
    "functions": """<domain: "f", opset_import: ["": 17, "f": 1]> g <a> (p) => (r)
    { q = Elu <alpha: float = @a> (p) r = f.h (q) }
    <domain: "f", opset_import: ["": 17]> h (p) => (r) { r = Relu (p) }""",
}
NO_FUNCTIONS = [{"release": "1.0", "opset": [7, 21], "ir": 10, "how": "documented", "local_functions": False}]


def test_functions_are_inlined_for_a_runtime_that_runs_none(tmp_path):
    file = runtime_file(tmp_path, takes("Elu"), releases=NO_FUNCTIONS)
    before = model_of(**CALLS)
    lacks = [*Survey(load(before), default_registry()).find_lacks(find_runtime("npu==1.0", [file]))]
    assert [each.why for each in lacks] == ["the model has the function f.g", "the model has the function f.h"]
    assert {each.message for each in lacks} == {"npu 1.0 runs no functions that a model defines"}
    conversion = plan_for(before, file)
    assert conversion.changes
    assert conversion.notes == ["functions that npu 1.0 does not run were inlined: f.g (1), f.h (2)"]
    after = converted(before, file)
    assert operators(after) == ["Elu", "Relu", "Relu"] and not after.functions
    assert_equal(before, after)
    # A function that nothing calls goes, too, and a runtime that runs functions keeps them.
    without_calls = model_of(**{**CALLS, "nodes": "y = Relu (x)"})
    assert not converted(without_calls, file).functions
    file = runtime_file(tmp_path, takes("Elu"))
    assert opset.convert(before, runtime="npu==1.0", targets=[file]) == before


def test_what_is_inferred_of_inlined_functions_decides_about_kernels(tmp_path):
    """The kernel takes a constant shape, which inference of the inlined nodes finds."""
    function = '<domain: "f", opset_import: ["": 17]> h (p) => (r) { s = Shape (p) r = Reshape (p, s) }'
    before = model_of("y = f.h (x)", imports=', "f": 1', functions=function)
    kernels = takes("Constant", Reshape=[{"constant_inputs": ["shape"]}])
    file = runtime_file(tmp_path, kernels, releases=NO_FUNCTIONS)
    for limits in (Limits(), Limits(max_bytes=1 << 30), Limits(max_steps=1 << 30)):
        after = converted(before, file, limits=limits)
        assert not after.functions and "Reshape" in operators(after)
        assert_equal(before, after)


def test_functions_at_other_opsets_are_inlined(tmp_path):
    """Softmax of version 11 flattens its input, and that of 17 does not."""
    function = '<domain: "f", opset_import: ["": 11]> h (p) => (r) { r = Softmax (p) }'
    before = model_of("y = f.h (x)", imports=', "f": 1', functions=function)
    everything = takes("Softmax", "Flatten", "Reshape", "Constant")
    after = converted(before, runtime_file(tmp_path, everything, releases=NO_FUNCTIONS))
    assert not after.functions
    assert_equal(before, after, run_before=evaluate, rtol=1e-6)


def test_a_function_that_cannot_be_inlined_is_refused(tmp_path):
    function = '<domain: "f", opset_import: ["": 17]> h (p) => (r) { r = com.example.F (p) }'
    before = model_of("y = f.h (x)", imports=', "f": 1', functions=function)
    conversion = plan_for(before, runtime_file(tmp_path, takes(), releases=NO_FUNCTIONS))
    assert [finding.code for finding in conversion.refusals] == ["C501"]
    with pytest.raises(ConversionError):
        opset.convert(before, runtime="npu==1.0", targets=[runtime_file(tmp_path, takes(), releases=NO_FUNCTIONS)])


def test_functions_are_copied_if_calls_need_other_nodes(tmp_path):
    file = runtime_file(tmp_path, takes("Not", Less=[{"types": {"T": ["int32"]}}]))
    before = model_of(
        "y = f.g (x, z) v = f.g (k, k)",
        given="int16[3] x, int16[3] z, int32[3] k",
        made="bool[3] y, bool[3] v",
        imports=', "f": 1',
        functions='<domain: "f", opset_import: ["": 17]> g (p, q) => (r) { r = Less (p, q) }',
    )
    after = converted(before, file)
    assert len(after.functions) == 2
    assert_equal(before, after)
    elu = runtime_file(tmp_path, {"Elu": [{"versions": [1, None], "attributes": {"alpha": [1.0, 2.0]}}]})
    before = model_of(
        "h = f.g <a = 2.0> (x) y = f.g <a = 1.0> (h)",
        imports=', "f": 1',
        functions='<domain: "f", opset_import: ["": 17]> g <a> (p) => (r) { r = Elu <alpha: float = @a> (p) }',
    )
    after = converted(before, elu)
    assert_equal(before, after, rtol=1e-6)
    assert len(after.functions) == 2


def test_new_subgraphs_have_operators_that_the_runtime_has(tmp_path):
    before = model_of(
        "e, y = Scan <num_scan_inputs = 1, body = b (float[2] s, float[2] i) => (float[2] o, float[2] p) "
        "{ o = Add (s, i) p = Identity (o) }> (n, x)",
        given="float[2] n, float[3,2] x",
        made="float[2] e, float[3,2] y",
        version=16,
    )
    everything = takes("Loop", "Gather", "Constant", "Squeeze", "Unsqueeze", "Concat", "Slice")
    after = converted(before, runtime_file(tmp_path, everything))
    assert "Scan" not in operators(after) and "Loop" in operators(after)
    assert_equal(before, after, rtol=1e-6)
    del everything["Gather"]
    why = refusal(before, runtime_file(tmp_path, everything))
    assert "it needs a subgraph with Gather, and npu 1.0 has no kernel of Gather 13" in why


def test_the_body_of_a_scan_states_shapes_for_a_runtime(tmp_path):
    """onnxruntime 1.16 does not infer that the sum has the shape of the state."""
    before = model_of(
        "e, y = Scan <num_scan_inputs = 1, body = b (float[2] s, float[2] i) => (float o, float p) "
        "{ o = Add (s, i) p = Identity (o) }> (n, x)",
        given="float[2] n, float[3,2] x",
        made="float[2] e, float[3,2] y",
        version=22,
        ir=10,
    )
    (scan,) = before.graph.node
    for value in scan.attribute[0].g.output or scan.attribute[1].g.output:
        value.type.tensor_type.ClearField("shape")
    after = converted(before, runtime_file(tmp_path, takes("Scan")))
    (scan,) = after.graph.node
    (body,) = (each.g for each in scan.attribute if each.name == "body")
    assert [[dim.dim_value for dim in each.type.tensor_type.shape.dim] for each in body.output] == [[2], [2]]
    assert_equal(before, after)
    # Of a value whose element type nothing states, no shape is stated.
    (body,) = (each.g for each in before.graph.node[0].attribute if each.name == "body")
    for value in (*before.graph.input, *body.input, *body.output):
        value.type.tensor_type.elem_type = 0
    body.node[0].CopyFrom(parser.parse_node("o = Identity (s)"))
    after = opset.convert(before, runtime="npu==1.0", targets=[runtime_file(tmp_path, takes("Scan"))])
    (body,) = (each.g for each in after.graph.node[0].attribute if each.name == "body")
    assert not any(each.type.tensor_type.HasField("shape") for each in body.output)


def test_a_model_without_an_import_of_ai_onnx_is_refused_with_its_nodes(tmp_path):
    model = parser.parse_model("""<ir_version: 8, opset_import: ["ai.onnx.ml": 3]>
        m (float[2] x) => (float[2] y) { y = ai.onnx.ml.Binarizer (x) }""")
    why = "npu 1.0 has no Binarizer; there is no lowering of Binarizer; no other type helps"
    assert refusal(model, runtime_file(tmp_path, takes())) == why


def test_given_nodes_in_a_subgraph_are_no_new_ones(tmp_path):
    """Det is refused where it stands, and not again as part of the node around it."""
    before = model_of(
        "y = If (c) <then_branch = t () => (float a) { a = Det (x) }, else_branch = e () => (float b) { b = Det (x) }>",
        given="float[2,2] x, bool c",
        made="float y",
        version=12,
    )
    conversion = plan_for(before, runtime_file(tmp_path, takes("If"), opset=(13, 17)))
    assert [finding.message for finding in conversion.refusals] == ["Det cannot run on npu 1.0"] * 2


@pytest.mark.parametrize(
    ("node", "given", "made"),
    [
        ("ConvInteger (x, w, z, v)", "uint8[1,3,5,5] x, int8[4,3,3,3] w, uint8 z, int8 v", "int32[1,4,3,3] y"),
        (
            "QLinearConv (x, s, z, w, t, v, s, z, b)",
            "uint8[1,3,5,5] x, int8[4,3,3,3] w, uint8 z, int8[4] v, float s, float[4] t, int32[4] b",
            "uint8[1,4,3,3] y",
        ),
    ],
)
def test_quantized_convolutions_run_where_no_shape_of_bytes_changes(tmp_path, node, given, made):
    """TensorRT reshapes no uint8; the zero points are numbers before they get a shape."""
    reshape = [{"types": {"T": ["float", "int32"]}}]
    names = ("Constant", "Conv", "Clip", "Where", "Less", "Floor", "Ceil", "Greater", "Not", "And", "Or")
    before = model_of(f"y = {node}", given=given, made=made)
    file = runtime_file(tmp_path, takes(*names, Reshape=reshape))
    after = converted(before, file)
    feeds = feeds_of(before)
    for name, value in feeds.items():
        if value.dtype == np.float32:
            feeds[name] = np.asarray(np.abs(value) + 0.5, np.float32)
    np.testing.assert_array_equal(run(after, feeds)[0], evaluate(before, feeds)[0])


# Nodes that the runtime computes wrongly


def faulty(**faults):
    """Return the key `faults` of a runtime's file, with one fault for each operator."""
    stated = {"result": "wrong", "gives": "nonsense"}
    return {"faults": {"ai.onnx": {name: [{**stated, **fault}] for name, fault in faults.items()}}}


def test_a_node_with_a_fault_is_lowered(tmp_path):
    file = runtime_file(tmp_path, takes("Expand", "Constant", "ConstantOfShape"), **faulty(ConstantOfShape={}))
    before = model_of("y = ConstantOfShape <value = float[1] {3}> (x)", given="int64[2] x", made="float[A,B] y")
    after = converted(before, file)
    assert operators(after) == ["Constant", "Expand"]
    assert plan_for(before, file).notes == []
    feeds = {"x": np.int64([2, 3])}
    np.testing.assert_array_equal(run(after, feeds)[0], run(before, feeds)[0])


def test_a_node_with_a_fault_loses_the_attribute_that_has_it(tmp_path):
    fault = {"attributes": {"ceil_mode": 1, "count_include_pad": 1}}
    file = runtime_file(tmp_path, takes("AveragePool", "Pad", "Constant"), **faulty(AveragePool=fault))
    pool = (
        "y = AveragePool <kernel_shape = [2], strides = [2], ceil_mode = 1, count_include_pad = {0}, pads = [1, 0]> (x)"
    )
    for counts, is_left in ((0, True), (1, False)):
        before = model_of(pool.format(counts), given="float[1,1,6] x", made="float[1,1,4] y")
        after = converted(before, file)
        assert (after == before) is is_left
        if not is_left:
            assert "ceil_mode" not in {each.name for each in after.graph.node[-1].attribute}
            assert operators(after)[-2:] == ["Pad", "AveragePool"]
        assert_equal(before, after, run_before=evaluate)


def test_a_node_with_a_fault_computes_in_a_wider_type(tmp_path):
    less = takes(Less=[{"types": {"T": ["int16", "int32", "float"]}}])
    file = runtime_file(tmp_path, less, **faulty(Less={"types": {"T": ["int16"]}}))
    before = model_of("y = Less (x, z)", given="int16[40] x, int16[40] z", made="bool[40] y")
    after = converted(before, file)
    assert operators(after) == ["Cast", "Cast", "Less"]
    assert_equal(before, after)


def test_a_node_with_a_fault_stays_if_nothing_else_is_possible_and_a_note_says_so(tmp_path):
    file = runtime_file(tmp_path, takes("Elu"), **faulty(Elu={"attributes": {"alpha": [0.5, 2.0]}}))
    before = model_of("h = Elu <alpha = 2.0> (x) k = Elu <alpha = 0.5> (h) y = Elu (k)")
    conversion = plan_for(before, file)
    assert conversion.refusals == []
    note = "kernels with faults, as npu 1.0 computes otherwise than the standard: Elu 6: nonsense (2)"
    assert conversion.notes == [note]
    after = opset.convert(before, runtime="npu==1.0", targets=[file])
    assert after == before
    # A model that has to be converted has the note, too, and so have nodes in place of one.
    older = model_of("h = Elu <alpha = 2.0> (x) y = Elu (h)", version=22, ir=10)
    assert plan_for(older, file).notes == [note.replace("(2)", "(1)")]
    file = runtime_file(tmp_path, takes("Constant", "Pow", "ReduceMean"), **faulty(Sub={}))
    (note,) = plan_for(model_of("y = LayerNormalization (x, s)", given="float[2] x, float[2] s"), file).notes
    assert note.endswith(": Sub 14: nonsense (1)")


def test_a_node_at_which_the_runtime_fails_is_refused_if_nothing_else_is_possible(tmp_path):
    fault = {"attributes": {"alpha": 2.0}, "result": "fails"}
    file = runtime_file(tmp_path, takes("Elu"), **faulty(Elu=fault))
    why = refusal(model_of("y = Elu <alpha = 2.0> (x)"), file)
    assert why.startswith("Elu 6: nonsense; it is expressed by Tanh")
    assert plan_for(model_of("y = Elu <alpha = 1.0> (x)"), file).notes == []


def test_a_cast_to_the_type_that_a_value_has_is_left_out_if_the_runtime_fails_at_it(tmp_path):
    fault = {"types": {"T1": ["float16"], "T2": ["float16"]}, "result": "fails"}
    file = runtime_file(tmp_path, takes(), **faulty(Cast=fault))
    before = model_of("h = Cast <to = 10> (x) y = Cast <to = 1> (h)", given="float16[4] x", made="float[4] y")
    after = converted(before, file)
    assert operators(after) == ["Identity", "Cast"]
    assert_equal(before, after)


def test_only_a_cast_is_left_out_for_the_type_that_it_names(tmp_path):
    (tmp_path / "com.acme").mkdir()
    (tmp_path / "com.acme" / "Round.yaml").write_text(
        """operator: Round
family: acme
versions:
- since: 1
  doc: Rounds.
  inputs: [{name: X, type: tensor(float), doc: values}]
  outputs: [{name: Y, type: tensor(float), doc: results}]
  attributes: {to: {type: int, doc: number of digits}}
  shape: same(X)
"""
    )
    fault = {"result": "fails", "gives": "nonsense"}
    kernels = {"ai.onnx": takes(), "com.acme": {"Round": ANY}}
    file = runtime_file(tmp_path, kernels, faults={"com.acme": {"Round": [fault]}})
    before = model_of("y = com.acme.Round <to = 1> (x)", imports=', "com.acme": 1')
    assert "there is no lowering of Round" in refusal(before, file, schemas=[tmp_path])


@pytest.mark.parametrize(
    ("fault", "doubts"),
    [
        ({"when": "the moon is full"}, "Expand 13: nonsense, if the moon is full (1)"),
        ({"values": {"shape": 7}}, "Expand 13: nonsense (1)"),
        ({"values": {"shape": 7}, "versions": [8, 12]}, ""),
        ({"when": "the moon is full", "opsets": [18, 19]}, ""),
        ({"when": "the moon is full", "types": ["int64"]}, ""),
        ({"when": "the moon is full", "input_rank": [0]}, ""),
        ({"when": "the moon is full", "empty": ["input"]}, ""),
        ({"when": "the moon is full", "present": ["shape"]}, "Expand 13: nonsense, if the moon is full (1)"),
        ({"when": "the moon is full", "absent": ["shape"]}, ""),
        ({"when": "the moon is full", "computed": ["shape"]}, "Expand 13: nonsense, if the moon is full (1)"),
        ({"when": "the moon is full", "computed": ["input"]}, "Expand 13: nonsense, if the moon is full (1)"),
        ({"when": "the moon is full", "captures": True}, ""),
    ],
)
def test_a_fault_that_depends_on_values_is_told(tmp_path, fault, doubts):
    file = runtime_file(tmp_path, takes("Expand"), **faulty(Expand=fault))
    model = model_of("y = Expand (x, n)", given="float[2,3,4] x, int64[3] n", made="float[A,B,C] y")
    notes = [f"kernels with faults, which npu 1.0 may meet: {doubts}"] if doubts else []
    conversion = plan_for(model, file)
    assert conversion.notes == notes and not conversion.changes


@pytest.mark.parametrize(
    ("fault", "doubts"),
    [
        ({"present": ["max"]}, False),
        ({"absent": ["max"]}, True),
        ({"empty": ["max"]}, False),
        ({"empty": ["max", "input"]}, False),
        ({"computed": ["max"]}, False),
        ({"computed": ["max", "input"]}, True),
        ({"known": ["max"]}, True),
        ({"known": ["max", "input"]}, False),
        ({"scalars": ["max"]}, False),
        ({"values": {"max": 1}}, False),
        ({"values": {"max": 1, "input": 1}}, False),
    ],
)
def test_a_fault_may_name_inputs_that_a_node_does_not_have(tmp_path, fault, doubts):
    file = runtime_file(tmp_path, takes("Clip"), **faulty(Clip={"when": "the moon is full", **fault}))
    conversion = plan_for(model_of("y = Clip (x)"), file)
    told = ["kernels with faults, which npu 1.0 may meet: Clip 13: nonsense, if the moon is full (1)"]
    assert conversion.notes == told * doubts and not conversion.changes


@pytest.mark.parametrize("inputs", [[], [""]])
def test_a_node_without_a_first_input_lacks_no_kernel_of_a_body(inputs):
    assert Availability._lack_in_body(None, None, pb.NodeProto(op_type="Any", input=inputs), None, 17, None) is None


@pytest.mark.parametrize("local_functions", [True, False])
def test_what_a_runtime_lacks_behind_a_call_is_told(tmp_path, local_functions):
    rows = [{"release": "1.0", "opset": [7, 21], "ir": 10, "how": "documented", "local_functions": local_functions}]
    functions = """<domain: "f", opset_import: ["": 17, "f": 1]> G (p) => (q) { r = f.H (p)  q = Elu (r) }
        <domain: "f", opset_import: ["": 17]> H (p) => (q) { q = Relu (p) }"""
    model = model_of("a = f.G (x)  b = f.H (a)  y = Softplus (b)", imports=', "f": 1', functions=functions)
    runtime = find_runtime("npu==1.0", [runtime_file(tmp_path, takes(), releases=rows)])
    lacks = [(each.place, each.why) for each in Survey(load(model), default_registry()).find_lacks(runtime)]
    functions = [("functions", "the model has the function f.G"), ("functions", "the model has the function f.H")]
    nodes = [
        ("function 'f.G', node number 1 (Elu)", "npu 1.0 has no Elu"),
        ("graph 'm', node number 2 (Softplus)", "npu 1.0 has no Softplus"),
    ]
    assert sorted(lacks) == (nodes if local_functions else sorted([*functions, *nodes]))


OF_LESS = "no kernel of Less, which it consists of, takes {}"


@pytest.mark.parametrize(
    ("element", "kernels", "lack"),
    [
        ("int64", {"Less": [{"types": {"T": ["int64"]}}]}, ""),
        ("float", {"Less": [{"types": {"T": ["int64"]}}]}, OF_LESS.format("float")),
        ("float", {"Less": [{"types": {"T": ["int64"]}}, {"types": {"T": ["float"]}}]}, ""),
        ("float", {"Less": [{"versions": [1, 9], "types": {"T": ["float"]}}]}, OF_LESS.format("float")),
        ("double", {"Less": [{"types": {"T": ["int64"]}}]}, ""),  # it computes doubles as integers
        ("bfloat16", {"Less": [{"types": {"T": ["int64"]}}]}, ""),  # the body computes in FLOAT
        ("float", {"Greater": [{"types": {"T": ["int64"]}}]}, ""),  # no Greater of this body reads the first input
        ("float", {}, ""),  # nothing is known of the operators of the body
    ],
)
def test_a_body_that_the_runtime_runs_lacks_a_kernel_of_the_first_input(tmp_path, element, kernels, lack):
    file = runtime_file(tmp_path, takes(**kernels), functions={"ai.onnx": {"Clip": [13]}}, casts={"double": "int64"})
    runtime = find_runtime("npu==1.0", [file])

    def lacks(version):
        model = model_of("y = Clip (x, a, b)", f"{element}[2] x, {element} a, {element} b", f"{element}[2] y", version)
        return [each.why for each in Survey(load(model), default_registry()).find_lacks(runtime)]

    assert lacks(17) == [lack] * bool(lack)
    assert lacks(12) == ["npu 1.0 has no Clip"]  # it runs another version by its body


def test_a_body_may_read_the_first_input_late(tmp_path):
    file = runtime_file(tmp_path, takes(Div=[{"types": {"T": ["double"]}}]), functions={"ai.onnx": {"Celu": [12]}})
    lacks = Survey(load(model_of("y = Celu (x)")), default_registry()).find_lacks(find_runtime("npu==1.0", [file]))
    assert [each.why for each in lacks] == ["no kernel of Div, which it consists of, takes float"]


@pytest.mark.parametrize(
    ("read", "captures"),
    [("Relu (k)", False), ("Relu (x)", True), ("Cast <to = 1> (c)", True)],  # c is an input of the If itself
)
def test_graphs_that_use_values_from_outside_may_have_a_fault(tmp_path, read, captures):
    file = runtime_file(tmp_path, takes("If"), **faulty(If={"captures": True}))
    branch = f"(float[2] a) {{ k = Constant <value_floats = [1.0, 2.0]> () a = {read} }}"
    nodes = f"y = If (c) <then_branch = t () => {branch}, else_branch = e () => {branch}>"
    model = model_of(nodes, given="float[2] x, bool c", made="float[2] y")
    assert bool(plan_for(model, file).notes) is captures


def test_ranks_have_to_be_known(tmp_path):
    file = runtime_file(tmp_path, takes(Reshape=[{"known_ranks": True}]))
    known, unknown = (
        model_of("y = Reshape (x, n)", given=f"float[6] x, int64[{rank}] n", made="float y") for rank in ("2", "N")
    )
    for model in (known, unknown):
        model.graph.output[0].type.tensor_type.ClearField("shape")
    assert opset.convert(known, runtime="npu==1.0", targets=[file]) == known
    assert refusal(unknown, file).startswith("npu 1.0: the rank of 'y' has to be known;")
    assert opset.plan(unknown, runtime="npu==1.0", targets=[file], dims={"N": 2}).refusals == []


def test_values_and_sizes_that_are_known_decide_about_a_fault(tmp_path):
    expand = "n = Constant <value = int64[3] {{{}}}> () y = Expand (x, n)"
    file = runtime_file(tmp_path, takes("Expand", "Constant"), **faulty(Expand={"values": {"shape": [7, 8]}}))
    for values, is_met in (("7, 7, 7", True), ("7, 8, 7", True), ("8, 6, 8", False), ("6, 6, 6", False)):
        notes = plan_for(model_of(expand.format(values), given="float[1] x", made="float[A,B,C] y"), file).notes
        assert bool(notes) is is_met
    file = runtime_file(tmp_path, takes("ReduceMax"), **faulty(ReduceMax={"empty": ["data"]}))
    for size, is_met in (("0", True), ("1", False), ("N", False)):
        notes = plan_for(model_of("y = ReduceMax (x)", given=f"float[2,{size}] x", made="float[1,1] y"), file).notes
        assert bool(notes) is is_met


def test_what_the_runtime_casts_itself_is_cast_where_its_kernel_has_a_fault(tmp_path):
    fault = {"types": {"T": ["float16"]}, "result": "fails"}
    kernels = takes(Softmax=[{"types": {"T": ["float"]}}])
    file = runtime_file(tmp_path, kernels, casts={"float16": "float"}, **faulty(Softmax=fault))
    before = model_of("y = Softmax (x)", given="float16[2,3] x", made="float16[2,3] y")
    after = converted(before, file)
    assert operators(after) == ["Cast", "Softmax", "Cast"]
    assert_equal(before, after, rtol=1e-3)


# Notes


def test_nodes_that_the_fallback_runs_are_counted(tmp_path):
    rows = [{"release": "1.0", "opset": [7, 20], "ir": 9, "how": "documented", "fallback_release": "1.20"}]
    file = runtime_file(tmp_path, {"Relu": ANY}, fallback="onnxruntime-cpu", releases=rows)
    nodes = "a = Relu (x) b = Exp (a) c = Exp (b) y = Abs (c)"
    for version in (20, 21):
        conversion = plan_for(model_of(nodes, version=version, ir=9), file)
        assert conversion.changes is (version == 21)
        note = "onnxruntime on the CPU runs nodes for which npu 1.0 has no kernel: Abs (1), Exp (2)"
        assert conversion.notes == [note]
    assert plan_for(model_of("y = Relu (x)", ir=9), file).notes == []


def test_nodes_of_templates_are_counted_too(tmp_path):
    rows = [{"release": "1.0", "opset": [7, 15], "ir": 8, "how": "documented", "fallback_release": "1.20"}]
    file = runtime_file(tmp_path, takes("Pow"), fallback="onnxruntime-cpu", releases=rows)
    nodes = "a = LayerNormalization (x, s) b = LayerNormalization (a, s) y = LayerNormalization (b, s)"
    before = model_of(nodes, given="float[2,3,4] x, float[4] s")
    (note,) = plan_for(before, file).notes
    assert note.endswith("has no kernel: ReduceMean (6)")


def test_limits_in_words_are_told(tmp_path):
    entries = [{"types": {"T": ["float"]}, "notes": ["not on Sundays"], "values": {"scales": "no 0", "X": 2}}]
    file = runtime_file(tmp_path, takes(Relu=entries, Constant=[{}]), opset=(7, 15))
    conversion = plan_for(model_of("x = Constant <value = float[2] {2, 2}> () y = Relu (x)", given=""), file)
    assert conversion.notes == ["limits of npu 1.0 that are not checked: Relu: not on Sundays; scales: no 0"]


def test_limits_in_words_are_told_of_each_kernel_that_runs_a_node(tmp_path):
    entries = [
        {"types": {"T": ["float"]}, "notes": ["slow", "not on Sundays"]},
        {"types": {"T": ["double"]}, "notes": ["slow", "not on Mondays"]},
    ]
    file = runtime_file(tmp_path, takes(Relu=entries), opset=(7, 15))
    before = model_of("y = Relu (x) z = Relu (w)", given="float[2] x, double[2] w", made="float[2] y, double[2] z")
    told = "Relu: slow; not on Sundays; not on Mondays"
    assert plan_for(before, file).notes == [f"limits of npu 1.0 that are not checked: {told}"]


def test_many_limits_in_words_are_told(tmp_path):
    names = ["Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Elu", "Erf", "Exp",
             "Floor", "HardSwish", "Log", "Neg", "Relu", "Round", "Sigmoid", "Sign", "Sin"]  # fmt: skip
    file = runtime_file(tmp_path, takes(**{name: [{"notes": ["slow"]}] for name in names}), opset=(7, 15))
    nodes = " ".join(f"{'y' if name == 'Abs' else name} = {name} (x)" for name in names)
    told = ", ".join(f"{name}: slow" for name in names)
    (note,) = plan_for(model_of(nodes), file).notes
    assert note == f"limits of npu 1.0 that are not checked: {told}"


def test_every_way_that_was_tried_is_a_reason(tmp_path):
    file = runtime_file(tmp_path, takes())
    model = model_of("y = Det (x)", given="float[2,2] x", made="float y")
    assert refusal(model, file) == (
        "npu 1.0 has no Det; it is expressed by Gather, and npu 1.0 has no Gather; no other type helps"
    )
    (finding,) = plan_for(model, file).refusals
    assert finding.help == "choose another release, or a provider that has it: opset targets show"


@pytest.mark.parametrize(("text", "fault"), [(None, "cannot be read"), ("runtime: [", "S101"), ("runtime: 3", "S10")])
def test_faults_of_a_file_that_is_not_needed_are_a_note(tmp_path, text, fault):
    file = tmp_path / "npu.yaml"
    if text is not None:
        file.write_text(text)
    model = model_of("y = Relu (x)")
    for target in ({"to": 18}, {"release": "1.13"}):
        (note,) = [each for each in opset.plan(model, **target, targets=[file]).notes if "`targets`" in each]
        assert str(file) in note and fault in note
        assert not any("`targets`" in each for each in opset.plan(model, **target).notes)
    with pytest.raises(opset.SchemaError):
        plan_for(model, file)


# Malformed models


def test_a_note_tells_of_nodes_that_are_kept_and_not_valid(tmp_path):
    """Whether the runtime has kernels of both types, or another node is expressed otherwise."""
    nodes = "s = Add (x, i)  r = Add (x, i)  q = Sub (i, x)  y = HardSwish (x)"
    model = model_of(nodes, "float[2] x, int64[2] i", "float[2] y")
    note = (
        "the model is not valid: graph 'm', node number 0 (Add): the input 'B' is tensor(int64), and 'A' is "
        "tensor(float) (both have the type T), I202, and 2 more; opset check shows all"
    )
    plain = ("HardSigmoid", "Max", "Min", "Constant")
    for kernels, lowered in ((plain, 1), ((*plain, "HardSwish"), 0)):
        plan = plan_for(model, runtime_file(tmp_path, takes(*kernels)))
        assert (bool(plan.refusals), len(plan.actions), [each for each in plan.notes if "not valid" in each]) == (
            False,
            lowered,
            [note],
        )


@pytest.mark.parametrize(
    "nodes",
    ["y = RandomNormal <shape = [2]> (x)", "y = Elu (x, x)", "y = Elu ()", "y, z = Elu (x)", "y = Relu <a = 1> (x)"],
)
def test_nodes_that_are_not_valid_are_refused_as_such(tmp_path, nodes):
    limits = {
        "types": {"T": ["float16"]},
        "input_rank": [7],
        "attributes": {"alpha": 3},
        "constant_inputs": ["X"],
        "values": {"X": 1},
        "outputs": 1,
        "static_shape": True,
    }
    file = runtime_file(tmp_path, takes(RandomNormal=[limits], Elu=[limits], Relu=[limits]))
    conversion = plan_for(model_of(nodes), file)
    assert {finding.code for finding in conversion.refusals} == {"C103"}


# Releases of runtimes that are known


def test_a_release_has_the_versions_of_operators_that_were_in_force(tmp_path):
    text = """<ir_version: 10, opset_import: ["": 25]>
    m (float[1,2,6,4] q) => (float[1,2,6,4] y) { y = Attention <left_window_size = 2> (q, q, q) }"""
    before = parser.parse_model(text)
    after = opset.convert(before, runtime="onnxruntime==1.24")
    assert "Range" in operators(after) and after.opset_import[0].version in (23, 24, 25)
    assert "left_window_size" not in {a.name for node in after.graph.node for a in node.attribute}
    assert_equal(before, after, run_before=evaluate, rtol=1e-4, atol=1e-5)
    file = runtime_file(
        tmp_path,
        takes(
            "MatMul",
            "Softmax",
            "Where",
            "Range",
            "Unsqueeze",
            "GreaterOrEqual",
            "Transpose",
            "Less",
            "ReduceMax",
            "Concat",
            "Gather",
            "Reshape",
            "Expand",
            "And",
            "Or",
            "Not",
            "Greater",
            "LessOrEqual",
            "Slice",
        ),
        opset=(7, 25),
    )
    after = converted(before, file)
    assert "Attention" not in operators(after)
    assert_equal(before, after, run_before=evaluate, rtol=1e-4, atol=1e-5)


PLAIN = Kernel(versions=(1, None))
SHAPES, CONSTANTS, OUTPUTS = {"shapes": True}, {"constants": True}, {"outputs": True}


def fault(**fields):
    nodes = Kernel(versions=(1, None), **{name: fields.pop(name) for name in [*fields] if hasattr(PLAIN, name)})
    return KernelFault(nodes, "fails", "", **fields)


@pytest.mark.parametrize(
    ("asking", "demands"),
    [
        (Kernel(attributes={"a": 1}), {"attributes": frozenset("a")}), (Kernel(input_ranks=frozenset([2])), SHAPES),
        (Kernel(static_shape=True), SHAPES), (Kernel(constant_inputs=frozenset("x")), CONSTANTS),
        (Kernel(values={"x": 1}), CONSTANTS), (Kernel(outputs=1), OUTPUTS), (Kernel(outputs=()), OUTPUTS),
        (Kernel(known_ranks=True), {"ranks": True}), (fault(attributes={"a": 1}), {"attributes": frozenset("a")}),
        (fault(present=frozenset("x")), CONSTANTS | OUTPUTS), (fault(absent=frozenset("x")), CONSTANTS | OUTPUTS),
        (fault(empty=frozenset("x")), SHAPES), (fault(scalars=frozenset("x")), SHAPES),
        (fault(values={"x": 1}), CONSTANTS), (fault(computed=frozenset("x")), CONSTANTS),
        (fault(known=frozenset("x")), CONSTANTS), (fault(captures=True), {"captures": True}),
        (fault(static_shape=True), SHAPES), (KernelFault(PLAIN, "fails", "", values={"x": 1}), CONSTANTS),
        (fault(states={"a": ("x", 0)}), SHAPES),
        (fault(where=(Comparison("a", None, "<", "b"),)), CONSTANTS | {"attributes": frozenset("ab")}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("of_fallback", [False, True])
def test_what_one_of_several_kernels_and_faults_depends_on_is_asked(asking, demands, of_fallback):
    """Of a runtime and the one that it falls back to; what no kernel asks is not looked at."""
    schema = default_registry().versions("Relu")[-1]
    kernels, faults = [PLAIN, PLAIN], [fault(), fault()]
    asks = [PLAIN, asking, PLAIN] if isinstance(asking, Kernel) else kernels
    fails = faults if isinstance(asking, Kernel) else [fault(), asking, fault()]

    def runtime(kernels, faults, fallback):
        return SimpleNamespace(kernels=lambda *_: kernels, faults=lambda *_: faults, fallback=fallback)

    here = runtime(asks, fails, None)
    asked = runtime(kernels, faults, here) if of_fallback else runtime(asks, fails, runtime(kernels, faults, None))
    assert _demands_of(asked, schema, 20) == NO_DEMANDS._replace(**demands)
    assert _demands_of(runtime(kernels, faults, None), schema, 20) is NO_DEMANDS


def test_limits_that_are_used_up_before_a_node_is_converted_are_told(tmp_path):
    file = runtime_file(tmp_path, takes("Elu"))
    (finding,) = plan_for(model_of("a = Elu (x)  y = Relu (a)"), file, limits=opset.Limits(max_steps=1)).refusals
    assert (finding.code, finding.place, finding.why) == ("C401", "model", "more than 1 step is needed")
    assert finding.help == ALLOW_MORE


@pytest.mark.parametrize("highest", [17, 12])
def test_a_runtime_without_known_operators_is_noted(tmp_path, highest):
    row = {"release": "1.0", "opset": [7, highest], "how": "measured", "lists_operators": False}
    file = runtime_file(tmp_path, {}, releases=[row])
    plan = plan_for(model_of("y = Abs (x)"), file)
    assert not plan.refusals
    assert [*plan.notes] == ["the operators of npu 1.0 are not known: all nodes count as taken"]


def test_a_model_that_stays_notes_domains_of_which_nothing_is_known(tmp_path):
    nodes = "a = com.acme.Twist (x) y = own.F (a)"
    function = '<domain: "own", opset_import: ["": 17]> F (a) => (b) { b = Relu (a) }'
    model = model_of(nodes, imports=', "com.acme": 1, "own": 1', functions=function)
    plan = plan_for(model, runtime_file(tmp_path, takes()))
    assert not plan.refusals and not plan.passed
    assert [*plan.notes] == ["com.acme: nothing is known of its nodes, which count as taken"]
    lower = plan_for(model, runtime_file(tmp_path, takes(), opset=(7, 15)))  # whose report has such nodes anyway
    assert [*lower.passed] == [("com.acme", "Twist")] and not lower.notes


@pytest.mark.parametrize(
    "nodes",
    ["y = Attention (x, x, x)", "s = Constant <value = float16[4] {1, 1, 1, 1}> () y = RMSNormalization (x, s)"],
)
def test_types_of_a_fault_are_those_of_the_node_not_those_that_it_is_cast_to(nodes):
    """Faults of float beside float16 say nothing of float16 alone, although onnxruntime casts it to float elsewhere."""
    kind = "float16[1,2,3,4]"
    model = model_of(nodes, given=f"{kind} x", made=f"{kind} y", version=23, ir=11)
    plan = opset.plan(model, runtime="onnxruntime==1.31")
    assert not plan.refusals and not plan.actions
    feeds = {"x": RANDOM.normal(size=(1, 2, 3, 4)).astype("f2")}
    (found,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    (want,) = opset.ReferenceEvaluator(model).run(None, feeds)
    np.testing.assert_allclose(found.astype("f4"), want.astype("f4"), rtol=1e-2, atol=1e-2)


def test_a_kernel_that_computes_otherwise_is_not_avoided_by_a_cast_that_the_runtime_makes(tmp_path):
    """The runtime casts float16 where it has no kernel; here it has one, which results of float do not equal."""
    fault = {"types": {"T": ["float16"]}, "result": "wrong", "gives": "rounds twice"}
    file = runtime_file(tmp_path, takes("Sin"), casts={"float16": "float"}, **faulty(Sin=fault))
    plan = plan_for(model_of("y = Sin (x)", given="float16[2,3] x", made="float16[2,3] y"), file)
    assert not plan.refusals and not plan.actions
    (note,) = plan.notes
    assert note == "kernels with faults, as npu 1.0 computes otherwise than the standard: Sin 7: rounds twice (1)"


QUANTIZED = [
    ("float16", "float16", "", "written out"), ("float16", "float16", "<precision = 10>", "written out"),
    ("float16", "float16", "<precision = 1>", ""), ("float", "float", "", ""),
    ("float", "float", "<precision = 10>", "divides in float"), ("float", "float", "<precision = 1>", ""),
    ("float", "float16", "", "refused"), ("float16", "float", "<precision = 10>", "refused"),
    ("float", "float16", "<precision = 1>", "written out"), ("float16", "float", "", "written out"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "scale", "attributes", "expected"), QUANTIZED)
def test_onnxruntime_divides_in_float_and_takes_one_type(kind, scale, attributes, expected):
    nodes = f"t = Constant <value = float {{0.1}}> () s = Cast <to = {10 if scale == 'float16' else 1}> (t)"
    nodes += f" z = Constant <value = int8 {{0}}> () y = QuantizeLinear {attributes} (x, s, z)"
    model = model_of(nodes, given=f"{kind}[4000] x", made="int8[4000] y", version=23, ir=11)
    plan = opset.plan(model, runtime="onnxruntime==1.31")
    assert bool(plan.refusals) == (expected == "refused")
    assert ["divides in float" in note for note in plan.notes] == [True] * (expected == "divides in float")
    if expected == "refused":
        with pytest.raises(Exception, match="Tensor type mismatch"):
            run_there(model, kind)
        return
    made = opset.convert(model, runtime="onnxruntime==1.31")
    assert bool(plan.actions) == (expected == "written out")
    found, want = run_there(made, kind), opset.ReferenceEvaluator(model).run(None, {"x": values_of(kind)})[0]
    assert bool((found != want).any()) == (expected == "divides in float")


@pytest.mark.parametrize("zero", [np.uint8(3), np.int16(-7)])
@pytest.mark.parametrize("version", [21, 23, 24])
def test_onnxruntime_gets_scales_of_bfloat16_in_float(zero, version):
    """It has no kernel of QuantizeLinear and DequantizeLinear with them; quotients and products are rounded to them."""
    nodes = "t = Constant <value = float {0.1}> () s = Cast <to = 16> (t) h = Cast <to = 16> (x)"
    nodes += f" z = Constant <value = {zero.dtype} {{{zero}}}> () q = QuantizeLinear (h, s, z)"
    model = model_of(
        f"{nodes} d = DequantizeLinear (q, s, z) y = Cast <to = 1> (d)", "float[4000] x", "float[4000] y", version
    )
    with pytest.raises(Exception, match="NOT_IMPLEMENTED"):
        run_there(model, "float")
    found = run_there(opset.convert(model, runtime="onnxruntime==1.31"), "float")
    np.testing.assert_array_equal(found, opset.ReferenceEvaluator(model).run(None, {"x": values_of("float")})[0])


def values_of(kind):
    return (np.random.default_rng(3).normal(size=4000) * 5).astype({"float": "f4", "float16": "f2"}[kind])


def run_there(model, kind):
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": values_of(kind)})[0]


@pytest.mark.parametrize(("attributes", "takes"), [("<left_window_size = 1>", False), ("<is_causal = 1>", True)])
def test_an_attribute_that_a_later_release_brought_to_the_opset_is_not_taken(attributes, takes):
    kind = "float[1,2,3,4]"
    model = model_of(f"y = Attention {attributes} (x, x, x)", given=f"{kind} x", made=f"{kind} y", version=25, ir=13)
    (info,) = opset.info(model, runtimes=["onnxruntime"]).runtimes
    assert any(each.last == "1.31" for each in info.as_it_is) == takes
    assert (not opset.plan(model, runtime="onnxruntime==1.31").actions) == takes
    lacks = [*Survey(load(model), default_registry()).find_lacks(find_runtime("onnxruntime==1.31"))]
    why = "onnx 1.20.1 has version 24 of Attention at opset 25, without 'left_window_size'"
    assert [each.why for each in lacks] == ([] if takes else [why])
    if not takes:
        with pytest.raises(Exception, match="left_window_size"):
            onnxruntime.InferenceSession(model.SerializeToString())
