"""How kernels fit versions of operators: the rules, and the kernels that runtimes have of each other."""

import pytest

from opset.opsets.runtimes import Kernel, find_runtime
from opset.opsets.runtimes.model import KERNEL, NAME, OPSET, RANGE, _limit_kernel, serves_version

SERVED = [
    (KERNEL, (6, 12), {6: True, 7: True, 12: True, 5: False, 13: False}),
    (KERNEL, (13, None), {13: True, 12: False, 14: False}),
    (KERNEL, (7, 7), {7: True, 6: False, 8: False}),
    (RANGE, (6, 12), {6: True, 9: True, 12: True, 5: False, 13: False}),
    (RANGE, (13, None), {13: True, 28: True, 12: False}),
    (NAME, None, {1: True, 28: True}),
]


@pytest.mark.parametrize(("match", "versions", "served"), SERVED)
def test_rules_for_versions(match, versions, served):
    kernel = Kernel(versions=versions)
    assert {version: serves_version(kernel, version, match) for version in served} == served


def test_the_rule_for_opsets_asks_for_that_of_the_model():
    mlir = find_runtime("onnx-mlir==0.4.1")
    (pool,) = mlir.kernels("AveragePool")
    assert (mlir.match, pool.opsets, pool.versions) == (OPSET, (6, 18), None)
    assert [mlir.takes_version(pool, 7, opset) for opset in (5, 6, 18, 19)] == [False, True, True, False]


def taken(runtime, operator, version, opset):
    return any(runtime.takes_version(each, version, opset) for each in runtime.kernels(operator))


def test_an_open_kernel_of_onnxruntime_serves_its_own_version_alone():
    ort = find_runtime("onnxruntime==1.31")
    assert taken(ort, "RoiAlign", 16, 21) and not taken(ort, "RoiAlign", 22, 22)
    openvino = find_runtime("openvino==2026.4")
    assert taken(openvino, "Abs", 13, 28) and not taken(openvino, "BitwiseAnd", 19, 28)


def test_kernels_change_with_releases():
    assert find_runtime("tensorrt==7.2").kernels("Abs")[0].types == {}
    assert find_runtime("tensorrt==8.6").kernels("Abs")[0].types == {"": {"float", "float16", "int32"}}
    assert find_runtime("ort==1.15").kernels("Attention") == ()
    assert find_runtime("ort==1.4").kernels("Abs") == () and not find_runtime("ort==1.4").lists_operators


def test_a_domain_has_one_name():
    ort = find_runtime("ort==1.21")
    assert ort.kernels("Abs") == ort.kernels("Abs", "ai.onnx") != ()
    assert [each.versions for each in ort.kernels("TreeEnsemble", "ai.onnx.ml")] == [(5, None)]
    assert ort.kernels("TreeEnsemble") == ort.kernels("Abs", "com.example") == ()


def test_kernels_of_another_runtime():
    wasm, cpu = find_runtime("onnxruntime-web==1.20"), find_runtime("ort==1.20")
    assert wasm.operators() == cpu.operators() and wasm.kernels("Pad") == cpu.kernels("Pad")
    assert (wasm.match, wasm.opsets, wasm.max_ir) == (cpu.match, cpu.opsets, cpu.max_ir)
    assert "bfloat16" in wasm.io_types_not
    triton, cuda = find_runtime("triton==23.10"), find_runtime("onnxruntime-gpu==1.16")
    assert triton.kernels("Pad") == cuda.kernels("Pad") and triton.fallback.release == "1.16"
    assert triton.opsets == {"": (7, 19), "ai.onnx.ml": (None, 3)}


def test_kernels_of_another_runtime_with_limits():
    mobile = find_runtime("onnxruntime-mobile==1.14")
    assert len(mobile.operators()) == 95 and mobile.opsets[""] == (12, 15) and mobile.kernels("Det") == ()
    first, second = mobile.kernels("Abs")
    assert (first.versions, second.versions) == ((6, 12), (13, None))
    assert first.types[""] == {"float", "int8", "uint8"} and "double" in first.types["T"] and len(first.notes) == 1


def test_functions_of_the_standard():
    for spec in ("ort==1.31", "onnxruntime-gpu==1.31", "onnxruntime-web==1.30", "triton==26.08"):
        runtime = find_runtime(spec)
        assert runtime.has_function("Gelu", "", 20) and not runtime.has_function("Gelu", "ai.onnx", 19)
    assert not find_runtime("tensorrt==8.6").has_function("Gelu", "", 20)


def test_a_kernel_with_further_limits_has_both():
    one = Kernel(
        types={"T": frozenset(("float", "double")), "U": frozenset(("int64",))}, types_not=frozenset(("bool",)),
        attributes={"a": 1, "b": 2}, constant_inputs=frozenset(("A",)), values={"x": 1}, notes=("one",),
        input_ranks=frozenset((1, 2)),
    )  # fmt: skip
    other = Kernel(
        types={"T": frozenset(("double", "int8")), "V": frozenset(("int8",))}, types_not=frozenset(("string",)),
        attributes={"b": 3}, constant_inputs=frozenset(("B",)), values={"y": 2}, notes=("two",), static_shape=True,
    )  # fmt: skip
    both = _limit_kernel(one, other)
    assert both.types == {"T": frozenset(("double",)), "U": frozenset(("int64",)), "V": frozenset(("int8",))}
    assert (both.types_not, both.constant_inputs) == (frozenset(("bool", "string")), frozenset(("A", "B")))
    assert (both.attributes, both.values, both.notes) == ({"a": 1, "b": 3}, {"x": 1, "y": 2}, ("one", "two"))
    assert both.input_ranks == _limit_kernel(other, one).input_ranks == {1, 2}
    assert _limit_kernel(one, Kernel(input_ranks=frozenset((2,)))).input_ranks == {2}
    assert both.static_shape and _limit_kernel(other, one).static_shape and not both.known_ranks
