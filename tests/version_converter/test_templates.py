"""Nodes of one form are lowered once: the result is that of lowering each."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper, parser

import opset
from benchmarks.lowering import make
from judges.conformance.exported import graph_cases
from opset.budget import Budget, Limits
from opset.model import load
from opset.model.graph.index import FreshNames, ModelIndex, messages_of
from opset.opsets.registry import default_registry
from opset.version_converter import body_conversion
from opset.version_converter.context import Context
from opset.version_converter.result import Conversion
from opset.version_converter.routes import routes_of
from tests.bounds import lines


def with_and_without(model, to, monkeypatch):
    """Return a conversion that uses templates, and one that lowers each node."""
    found = opset.convert(model, to)
    with monkeypatch.context() as patch:
        patch.setattr(body_conversion, "form_of", lambda *_: None)
        return found, opset.convert(model, to)


@pytest.mark.parametrize("to", [22, 17, 13])
@pytest.mark.parametrize("named", [False, True])
def test_blocks_become_what_each_would(to, named, tmp_path, monkeypatch):
    make(tmp_path / "model.onnx", 4)
    model = onnx.load(tmp_path / "model.onnx")
    if named:
        for node in model.graph.node:
            node.name = f"/{node.output[0]}/{node.op_type}"
            node.metadata_props.add(key="trace", value=node.name)
    found, wanted = with_and_without(model, to, monkeypatch)
    assert found == wanted


@pytest.mark.parametrize("node", ["y{0} = Mish (x)", "y{0}, , i{0} = LayerNormalization (x, x)"])
def test_nodes_of_one_form_are_lowered_once(node):
    def steps(length):
        nodes = "\n".join(node.format(n) for n in range(length))
        outputs = ", ".join(f"float[3, 4] y{n}" for n in range(length))
        model = parser.parse_model(
            f'<ir_version: 7, opset_import: ["": 18]> m (float[3, 4] x) => ({outputs}) {{ {nodes} }}'
        )
        opset.convert(model, 12)  # caches
        with lines(10_000_000) as count:
            opset.convert(model, 12)
        return count()

    assert steps(40) < 10 * steps(1)  # less than 6 times; else it were 20 times


def test_whole_models_become_what_they_would(monkeypatch):
    refused = 0
    for case in graph_cases():
        for to in (9, 15):
            try:
                found, wanted = with_and_without(case.model, to, monkeypatch)
            except opset.ConversionError:
                refused += 1
                continue
            assert found == wanted, (case.name, to)
    assert refused < 60


def test_another_constant_is_another_form(monkeypatch):
    lines = "".join(f"y{n} = CumSum <reverse: int = {n % 2}> (x, a{n % 3})\n" for n in range(7))
    outputs = ", ".join(f"float[3, 4] y{n}" for n in range(7))
    model = parser.parse_model(
        f'<ir_version: 7, opset_import: ["": 11]> m (float[3, 4] x) => ({outputs}) {{ {lines} }}'
    )
    for number, axis in enumerate((0, 1, -1)):
        model.graph.initializer.append(numpy_helper.from_array(np.array(axis), f"a{number}"))
    found, wanted = with_and_without(model, 10, monkeypatch)
    assert found == wanted
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for before, after in zip(*(opset.ReferenceEvaluator(m).run(None, {"x": x}) for m in (model, found)), strict=True):
        np.testing.assert_array_equal(before, after)


def test_initializers_are_of_one_node_each(monkeypatch):
    text = """<ir_version: 6, opset_import: ["": 11]> m (int64[3] x) => (int64[3] y, int64[3] z) {
        start = Constant <value = int64 {0}> ()
        end = Constant <value = int64 {3}> ()
        step = Constant <value = int64 {1}> ()
        a = Range (start, end, step)
        b = Range (start, end, step)
        y = Add (x, a)
        z = Mul (x, b)
    }"""
    found, wanted = with_and_without(parser.parse_model(text), 7, monkeypatch)
    assert found == wanted
    onnx.checker.check_model(found, full_check=True)


@pytest.mark.parametrize("labels", [("p", "n"), ("n", "q"), ("a", "b"), ("b", "p")])
def test_a_node_named_as_one_of_its_values_is_a_template_for_others(labels):
    model = parser.parse_model(
        """<ir_version: 4, opset_import: ["": 10]> g (int64[3] a, int64[3] b, int64[3] e) => (int64[3] r)
        { p = Mod (a, e)  q = Mod (b, e)  r = Add (p, q) }"""
    )
    for node, label in zip(model.graph.node, labels, strict=False):
        node.name = label
    found = opset.convert(model, 9)
    onnx.checker.check_model(found, full_check=True)
    feeds = {"a": np.array([7, -7, 8]), "b": np.array([-1, 2, 5]), "e": np.array([3, 3, -3])}
    expected = np.mod(feeds["a"], feeds["e"]) + np.mod(feeds["b"], feeds["e"])
    session = onnxruntime.InferenceSession(found.SerializeToString(), providers=["CPUExecutionProvider"])
    assert session.run(None, feeds)[0].tolist() == expected.tolist()


FUNCTIONS = ((0, 11), (1, 11), (2, 12))


def test_bodies_that_import_the_same_versions_share_what_is_known_of_forms():
    functions = "".join(
        f'<domain: "c", opset_import: ["": {n}, "c": 1]> F{k} (a) => (b) {{ b = Abs (a) }}' for k, n in FUNCTIONS
    )
    proto = opset.parse_model(
        f"""<ir_version: 8, opset_import: ["": 11, "c": 1]> g (float[3] x, bool c) => (y) {{
        y = If (c) <then_branch = t () => (u) {{ u = c.F0 (x) }}, else_branch = e () => (v) {{ v = c.F1 (x) }}> }}
        {functions}"""
    )
    registry = default_registry()
    index = ModelIndex(load(proto).proto, registry.domains)
    names, budget, opsets = FreshNames(index.bodies), Budget(Limits()), {"": 13}
    conversion = Conversion(opsets, opsets, (8, 8))
    messages = messages_of(index, index.proto)
    context = Context(index, index.proto, messages, registry, routes_of(registry), opsets, conversion, names, budget)
    known = {body.proto.name: context.forms_of(body, dict(index.imports(body.root))) for body in index.bodies}
    assert known["g"] is known["t"] is known["e"]
    assert known["F0"] is known["F1"]
    assert len({id(forms) for forms in known.values()}) == 3
