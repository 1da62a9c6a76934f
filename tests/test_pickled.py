"""What the public functions return goes from one process to another, with all that it says."""

import inspect
import pickle
from pathlib import Path

import numpy as np
import pytest

import opset
from opset.opsets.registry import registry_with
from tests.cli.commands import REFUSED, SMALL

ROOT = Path(__file__).parents[1]
EXAMPLES = [*sorted((ROOT / "examples").glob("*.onnx"))]
OWN = """<ir_version: 8, opset_import: ["": 17, "com.acme": 1]>
main (float[N] x) => (float[M] y) { y = com.acme.Thin <skip = 1> (x) }"""
CALLS = """<ir_version: 8, opset_import: ["": 17, "f": 1]>
main (float[N] x, bool c) => (float[M] y) {
    a = f.F (x)  b = NonZero (a)  d = Cast <to = 1> (b)
    y = If <then_branch = g1 () => (float[P] r) { r = f.F (d) },
            else_branch = g2 () => (float[P] r) { r = Neg (x) }> (c)
}
<domain: "f", opset_import: ["": 17]> F (p) => (q) { q = Relu (p) }"""


def model(text=SMALL):
    return opset.load(opset.parse_model(text).SerializeToString())


def own(function):
    """What a function returns of a model of an own operator, with kernels, inference and adapters in Python files."""
    return lambda: function(model(OWN), schemas=[ROOT / "examples"])


def evaluator():
    found = opset.ReferenceEvaluator(model(OWN), schemas=[ROOT / "examples"], seed=1)
    found.run(None, {"x": np.zeros(3, np.float32)})
    return found


def reports(tmp_path):
    (tmp_path / "m.onnx").write_bytes(model().as_given().SerializeToString())
    return next(opset.convert_many([tmp_path / "m.onnx"], 13, output=tmp_path / "out"))


RESULTS = {
    "Conversion": [lambda: opset.plan(model(), 13), lambda: opset.plan(model(REFUSED), 12),
                   own(lambda each, schemas: opset.plan(each, {"com.acme": 2}, schemas=schemas))],
    "Finding": [lambda: opset.Finding("C204", "it would", "node 'a'")],
    "Inference": [lambda: opset.infer(model()), own(opset.infer), lambda: opset.infer(model(CALLS))],
    "InterfaceComparison": [lambda: opset.compare_interfaces(model(), model(REFUSED))],
    "Limits": [lambda: opset.Limits(3, 4, 5)],
    "Model": [model, lambda: opset.convert(model(), 13), lambda: opset.lower(model(), ["Softmax"]),
              lambda: opset.infer_shapes(model()), lambda: opset.inline_functions(model(CALLS)),
              lambda: opset.change_sizes(model(CALLS), {"N": 3}), lambda: opset.extract(model(CALLS), outputs=["b"]),
              lambda: opset.merge(model(), model(), {"y": "x"}, prefixes=("a", "b")),
              lambda: opset.reduce(model(REFUSED), 12)],
    "ModelComparison": [lambda: opset.compare_models(model(), model(REFUSED))],
    "ModelDescription": [lambda: opset.info(model(), runtimes=["tensorrt"])],
    "ModelReport": [reports],
    "ModelVersion": [lambda: opset.ModelVersion.parse("1.2.3")],
    "OpSchema": [lambda: opset.get_schema("Gelu")],
    "OperatorSet": [lambda: opset.get_operator_set("ai.onnx.ml")],
    "ReferenceEvaluator": [lambda: opset.ReferenceEvaluator(model()), evaluator],
    "Registry": [lambda: registry_with([ROOT / "examples"])],
    "Repair": [lambda: opset.repair(model())],
    "Verification": [lambda: opset.verify(model(), model(), seeds=1)],
}  # fmt: skip
PUBLIC = [name for name in dir(opset) if inspect.isclass(getattr(opset, name))]


@pytest.mark.parametrize("name", [name for name in PUBLIC if not name.endswith("Error")])
def test_each_public_class_of_results_is_pickled(name, tmp_path):
    for make in RESULTS[name]:
        result = make(tmp_path) if make is reports else make()
        assert type(result).__name__ == name
        again = pickle.loads(pickle.dumps(result))
        assert type(again) is type(result)
        if "object at 0x" not in repr(result):
            assert repr(again) == repr(result)
        if hasattr(result, "_repr_html_"):
            assert again._repr_html_() == result._repr_html_()
        assert pickle.loads(pickle.dumps(again)) is not None


@pytest.mark.parametrize("name", [name for name in PUBLIC if name.endswith("Error")])
def test_each_public_error_is_pickled(name):
    error = getattr(opset, name)([opset.Finding("C204", "it would", "node 'a'", "why", "help")])
    assert pickle.loads(pickle.dumps(error)).findings == error.findings


def everything(inference):
    """All that an inference says."""
    values = [(each.name, str(each.type), each.place, each.operator, each.coverage) for each in inference.values()]
    gaps = [(each.value, each.place, each.known, each.reason) for each in inference.gaps]
    scopes = [(each.body.label, each.repeated, each.unused, each.guarded) for each in inference.scopes]
    named = [(name, inference.type(name), inference.shape(name)) for name, *_ in values]
    facts = inference.notes, inference.findings, inference.omitted, inference.stopped, inference.variables
    written = inference.written()
    return values, gaps, scopes, named, facts, inference.coverage, written.proto, inference.findings_in_branches()


@pytest.mark.parametrize("source", [*EXAMPLES, CALLS], ids=[*[each.stem for each in EXAMPLES], "calls"])
def test_an_inference_says_the_same(source):
    inference = opset.infer(model(source) if isinstance(source, str) else source)
    again = pickle.loads(pickle.dumps(inference))
    assert everything(again) == everything(inference)
    assert {id(each.body) for each in again.values()} <= {id(body) for body in again.index.bodies}


def test_a_model_is_once_in_the_pickle_of_its_inference():
    message = opset.parse_model(SMALL)
    message.graph.initializer.add(name="w", data_type=1, dims=[250_000], raw_data=bytes(1_000_000))
    assert len(pickle.dumps(opset.infer(message.SerializeToString()))) < 2_100_000


def test_an_evaluator_computes_the_same():
    feeds = {"x": np.arange(5, dtype=np.float32)}
    found = evaluator()
    again = pickle.loads(pickle.dumps(found))
    assert again.run(None, feeds)[0].tolist() == found.run(None, feeds)[0].tolist() == [0, 2, 4]
    changed = opset.ReferenceEvaluator(model(SMALL), freeze="all", strict=False, limits=opset.Limits(max_steps=1))
    again = pickle.loads(pickle.dumps(changed))
    assert (again.notes, again.limits, again.input_names) == (changed.notes, changed.limits, changed.input_names)
