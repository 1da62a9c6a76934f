"""What the tests of adapters share: tiny models, converted, run before and after by judges that are not ours."""

import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import opset
from judges.conformance.validity import checker, types
from opset.errors import ConversionError, ModelError

ORT_OPSETS = range(1, 27)


def tiny(
    nodes: onnx.NodeProto | Sequence[onnx.NodeProto],
    version: int,
    feeds: Mapping[str, Any],
    constants: Mapping[str, Any] | None = None,
    outputs: Sequence[str] = ("y",),
    shapes: Mapping[str, Any] | None = None,
    kinds: Mapping[str, int] | None = None,
) -> onnx.ModelProto:
    """A model of these nodes. Inputs are described by arrays or (type, shape); `shapes` states others, None none.

    Outputs have the type in `kinds`, else what shape inference finds, else that of the first input.
    """
    nodes = [nodes] if isinstance(nodes, onnx.NodeProto) else list(nodes)
    described = {}
    for name, value in feeds.items():
        kind, shape = value if isinstance(value, tuple) else (helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        described[name] = helper.make_tensor_value_info(name, kind, (shapes or {}).get(name, shape))
    weights = [numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items()]
    first = next(iter(described.values())).type.tensor_type.elem_type if described else 1
    declared = [helper.make_tensor_value_info(name, (kinds or {}).get(name, 0), None) for name in outputs]
    graph = helper.make_graph(nodes, "g", list(described.values()), declared, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)
    bare = onnx.ModelProto.FromString(model.SerializeToString())
    for value in bare.graph.output:
        if not value.type.tensor_type.elem_type:
            value.ClearField("type")
    found = {}
    try:
        inferred = onnx.shape_inference.infer_shapes(bare).graph
        found = {value.name: value.type.tensor_type.elem_type for value in (*inferred.output, *inferred.value_info)}
    except Exception as error:
        warnings.warn(f"no inference: {error}", stacklevel=2)
    for value in model.graph.output:
        if not value.type.tensor_type.elem_type:
            value.type.tensor_type.elem_type = found.get(value.name) or first
    return model


@lru_cache(maxsize=4)
def _session(model: bytes) -> onnxruntime.InferenceSession:
    """Return a session of a model; tests that run one with many values share it."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])


def evaluate(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    """Return the outputs by onnxruntime where it has the opset, else by the evaluator of the onnx package."""
    if model.opset_import[0].version in ORT_OPSETS:
        try:
            return _session(model.SerializeToString()).run(None, dict(feeds))
        except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
            pass
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return list(ReferenceEvaluator(model).run(None, dict(feeds)))


def _valid(model: onnx.ModelProto, feeds: Mapping[str, Any], outputs: Sequence[Any]) -> None:
    """Hold that a model is valid also with the ranks of its inputs and outputs; without them, it is examined anyway."""
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    ranks = {name: np.ndim(value) for name, value in feeds.items()}
    ranks |= {value.name: np.ndim(output) for value, output in zip(copy.graph.output, outputs, strict=True)}
    for value in (*copy.graph.input, *copy.graph.output):
        if value.type.WhichOneof("value") == "tensor_type" and not value.type.tensor_type.HasField("shape"):
            value.type.tensor_type.shape.SetInParent()
            for _ in range(ranks[value.name]):
                value.type.tensor_type.shape.dim.add()
    assert [*checker(copy), *types(copy)] == []


def _check(
    nodes: Any,
    version: int,
    to: int,
    feeds: Mapping[str, Any],
    constants: Mapping[str, Any] | None = None,
    *,
    expect: Sequence[Any] | None = None,
    rtol: float = 0.0,
    atol: float = 0.0,
    operators: Sequence[str] | None = None,
    judge: Any = evaluate,
    **model: Any,
) -> onnx.ModelProto:
    """Convert, hold the result against onnx's checker and the values against those before (or `expect`); give it.

    `operators` are those of the result, in order. Equality is bit for bit unless a tolerance is given.
    """
    before = tiny(nodes, version, feeds, constants, **model)
    after = opset.convert(before, to)
    assert after.opset_import[0].version == to
    wanted = judge(before, feeds) if expect is None else expect
    _valid(after, feeds, wanted)
    found = judge(after, feeds)
    for want, have in zip(wanted, found, strict=True):
        want, have = np.asarray(want), np.asarray(have)
        assert (have.dtype, have.shape) == (want.dtype, want.shape)
        if rtol or atol:
            np.testing.assert_allclose(have.astype(float), want.astype(float), rtol=rtol, atol=atol)
        else:
            if have.dtype.kind == "V":
                # numpy finds NaN equal to NaN only in its own types.
                want, have = want.astype(np.float32), have.astype(np.float32)
            np.testing.assert_array_equal(have, want)
    if operators is not None:
        assert [node.op_type for node in after.graph.node if node.op_type != "Constant"] == list(operators)
    return after


def _refused(
    nodes: Any, version: int, to: int, feeds: Mapping[str, Any], code: str, constants: Any = None, **model: Any
) -> ConversionError:
    """Hold that a conversion is refused with this code alone; return the error."""
    before = tiny(nodes, version, feeds, constants, **model)
    with pytest.raises(ConversionError) as caught:
        opset.convert(before, to)
    assert {finding.code for finding in caught.value.findings} == {code}, str(caught.value)
    return caught.value


def _reject(graph: str, version: int, to: int, code: str, why: str) -> None:
    """Hold that a graph, in the text form of onnx, is refused for a reason of this code and with these words."""
    before = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {version}, "my" : 1]> g {graph}')
    with pytest.raises(ConversionError) as caught:
        opset.convert(before, to)
    reasons = [finding.why for finding in caught.value.findings if finding.code == code]
    assert any(why in reason for reason in reasons), str(caught.value)


def _attempt(model: onnx.ModelProto, to: int) -> str:
    """Convert a model that may be malformed; return "converted", or the first code with which it is refused."""
    try:
        after = opset.convert(model, to)
    except (ConversionError, ModelError) as error:
        assert all(finding.why or finding.help for finding in error.findings), str(error)
        return error.findings[0].code
    assert after.opset_import[0].version == to
    return "converted"


@pytest.fixture(scope="session")
def attempt():
    """Convert a model that may be malformed: see `_attempt`."""
    return _attempt


def _own(
    made: onnx.NodeProto, version: int, feeds: Mapping[str, Any], kinds: Mapping[str, int] | None = None
) -> list[Any]:
    """Return what our kernel of one node gives; its outputs have types of `kinds`, or that of the last floats."""
    described = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in feeds.items()
    ]
    floats = [
        value.type.tensor_type.elem_type
        for value, given in zip(described, feeds.values(), strict=True)
        if given.dtype.kind == "f"
    ]
    kinds = {**dict.fromkeys(filter(None, made.output), floats[-1] if floats else 0), **(kinds or {})}
    outputs = [helper.make_tensor_value_info(name, kinds[name], None) for name in made.output if name]
    graph = helper.make_graph([made], "g", described, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])
    return opset.ReferenceEvaluator(model).run(None, dict(feeds))


@pytest.fixture(scope="session")
def own():
    """Return what our kernel gives: see `_own`."""
    return _own


@pytest.fixture(scope="session")
def check():
    """Convert a tiny model and compare values: see `_check`."""
    return _check


@pytest.fixture(scope="session")
def refused():
    """Hold that a conversion is refused: see `_refused`."""
    return _refused


@pytest.fixture(scope="session")
def reject():
    """Hold that a graph in text form is refused for a stated reason: see `_reject`."""
    return _reject


@pytest.fixture(scope="session")
def build():
    """Make a tiny model: see `tiny`."""
    return tiny


@pytest.fixture(scope="session")
def run():
    """Run a model: see `evaluate`."""
    return evaluate


@pytest.fixture(scope="session")
def converted():
    """Convert a tiny model without running it, for versions that no judge implements; takes what `tiny` takes."""
    return lambda nodes, version, to, *args, **model: opset.convert(tiny(nodes, version, *args, **model), to)


@pytest.fixture(scope="session", name="evaluate")
def _evaluate():
    """Return the outputs of a model: see `evaluate`."""
    return evaluate
