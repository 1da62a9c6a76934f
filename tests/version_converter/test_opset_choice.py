"""The opset for a runtime: that in which it runs most nodes, and of several the nearest to the model's."""

import numpy as np
import pytest
from onnx import parser

import opset
from opset.errors import UsageError
from opset.model.graph.index import index_model
from opset.opsets.registry import default_registry
from opset.opsets.runtimes import find_runtime
from opset.version_converter.conversion import convert_model, targets_by_kernels
from opset.version_converter.targets import target_of_runtime
from tests.version_converter.npu import ANY, runtime_file, takes

REGISTRY = default_registry()


def model_of(version, nodes="y = Relu (x)", given="float[2,3] x", made="float[2,3] y"):
    return parser.parse_model(f'<ir_version: 8, opset_import: ["": {version}]> m ({given}) => ({made}) {{ {nodes} }}')


def reached(model, file):
    after = opset.convert(model, runtime="npu==1.0", targets=[file])
    return after.opset_import[0].version


@pytest.mark.parametrize(("version", "expected"), [(6, 9), (9, 9), (12, 12), (15, 15), (17, 15), (21, 15)])
def test_the_nearest_opset_is_chosen_if_all_serve(tmp_path, version, expected):
    assert reached(model_of(version), runtime_file(tmp_path, takes(), opset=(9, 15))) == expected


def test_the_opset_in_which_most_nodes_run_is_chosen(tmp_path):
    before = model_of(18, "a = Relu (x) b = Identity (a) c = Identity (b) y = Relu (c)")
    entries = {name: [{"opsets": [7, 21]}] for name in ("Relu", "Add")} | {"Identity": [{"opsets": [7, 14]}]}
    file = runtime_file(tmp_path, entries, opset=(7, 21), match="opset")
    assert reached(before, file) == 14  # four nodes run, in place of two
    entries["Relu"] = [{"opsets": [16, 21]}]
    file = runtime_file(tmp_path, entries, opset=(7, 21), match="opset")
    conversion = opset.plan(before, runtime="npu==1.0", targets=[file])
    assert [finding.message for finding in conversion.refusals] == ["Identity cannot run on npu 1.0"] * 2


def test_an_opset_that_does_not_have_the_types_of_a_node_is_not_chosen_for_it(tmp_path):
    """Less takes no int16 before opset 9, whatever the runtime has there."""
    before = model_of(13, "y = Less (x, x)", given="int16[4] x", made="bool[4] y")
    entries = [{"versions": [7, 8]}, {"versions": [9, 13], "types": {"T": ["float"]}}]
    file = runtime_file(tmp_path, takes(Less=entries), opset=(7, 13))
    after = opset.convert(before, runtime="npu==1.0", targets=[file])
    assert after.opset_import[0].version == 13
    assert [node.op_type for node in after.graph.node] == ["Cast", "Cast", "Less"]


def test_an_opset_that_does_not_have_an_attribute_of_a_node_is_not_chosen_for_it(tmp_path):
    """AveragePool has no ceil_mode before opset 10: the node would be rewritten there as well."""
    entries = [{"versions": [7, 7]}, {"versions": [10, 19], "attributes": {"ceil_mode": 0}}]
    file = runtime_file(tmp_path, takes(AveragePool=entries), opset=(7, 19))
    for mode, expected in ((1, 19), (0, 19)):
        node = f"y = AveragePool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], ceil_mode = {mode}> (x)"
        assert reached(model_of(21, node, "float[1,1,6,6] x", "float[a,b,c,d] y"), file) == expected
    del entries[1]
    file = runtime_file(tmp_path, takes(AveragePool=entries), opset=(7, 19))
    # A default that is stated is no attribute that is missing.
    assert reached(model_of(21, node, "float[1,1,6,6] x", "float[a,b,c,d] y"), file) == 9


def test_notes_about_the_release_are_told_once(tmp_path):
    file = runtime_file(tmp_path, takes())
    conversion = opset.plan(model_of(22), runtime="npu==1.0.5", targets=[file])
    assert conversion.notes == ["1.0.5 is not known: taken as 1.0"]


def test_the_next_opset_is_tried_if_a_conversion_is_refused(tmp_path):
    """At 10 and 11 the runtime has all nodes, but Resize of a size that is not known cannot go there."""
    nodes = 'y = Resize <mode = "nearest"> (x, , , n)'
    before = model_of(13, nodes, given="float[A,B] x, int64[2] n", made="float[C,D] y")
    file = runtime_file(
        tmp_path, {"Resize": [{"versions": [10, 10]}, {"versions": [13, 13]}], "Relu": ANY}, opset=(10, 13)
    )
    assert reached(before, file) == 13
    runtime = find_runtime("npu==1.0", [file])
    assert len(runtime.kernels("Resize")) == 2


def test_an_unbounded_runtime_takes_up_to_the_newest_opset(tmp_path):
    rows = [{"release": "1.0", "opset": [9, None], "how": "documented"}]
    file = runtime_file(tmp_path, takes(), releases=rows)
    assert reached(model_of(8), file) == 9
    assert reached(model_of(22), file) == 22
    rows = [{"release": "1.0", "opset": [None, 11], "how": "documented"}]
    file = runtime_file(tmp_path, takes(), releases=rows)
    assert reached(model_of(8), file) == 8
    assert reached(model_of(22), file) == 11


def test_a_target_with_a_version_is_the_only_one(tmp_path):
    file = runtime_file(tmp_path, takes())
    target = target_of_runtime("npu==1.0", REGISTRY, files=[file])
    index = index_model(opset.load(model_of(13)).proto, REGISTRY.domains)
    fixed = target._replace(opsets={"": 17}, least=None)
    assert [each.opsets[""] for each in targets_by_kernels([], index, fixed, REGISTRY)] == [17]
    conversion = convert_model(opset.load(model_of(13)), fixed, REGISTRY)
    assert conversion.target[""] == 17
    versions = [each.opsets[""] for each in targets_by_kernels([], index, target, REGISTRY)]
    assert versions == [13, 14, 12]  # and the last one is the nearest again


def test_a_version_beside_a_runtime_is_taken(tmp_path):
    file = runtime_file(tmp_path, takes(), opset=(9, 15))
    for version in (9, 12, 15):
        after = opset.convert(model_of(13), version, runtime="npu==1.0", targets=[file])
        assert after.opset_import[0].version == version
    after = opset.convert(model_of(13), {"ai.onnx.ml": 3}, runtime="npu==1.0", targets=[file])
    assert after.opset_import[0].version == 13
    for version, said in ((16, "npu 1.0 does not take ai.onnx 16"), (0, "ai.onnx has no version 0")):
        with pytest.raises(UsageError, match=said):
            opset.plan(model_of(13), version, runtime="npu==1.0", targets=[file])


def test_the_choice_changes_no_value(tmp_path):
    entries = {name: [{"opsets": [7, 12]}] for name in ("Relu", "Softmax")}
    before = model_of(13, "a = Relu (x) y = Softmax (a)")
    after = opset.convert(before, runtime="npu==1.0", targets=[runtime_file(tmp_path, entries, match="opset")])
    assert after.opset_import[0].version == 12
    x = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    expected, found = (opset.ReferenceEvaluator(each).run(None, {"x": x})[0] for each in (before, after))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
