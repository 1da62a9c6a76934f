"""Every refusal has a help line, and it is right: what cannot be cast is not cast, and a version that fits is named."""

import ast
from pathlib import Path

import onnx
import onnx.parser
import pytest

import opset
from judges.conformance.judge import opset_of
from judges.conformance.matrix import node_cases
from opset.errors import CODES
from opset.version_converter import helps

PACKAGE = Path(helps.__file__).parent


def refusals(text, to, **more):
    model = onnx.parser.parse_model(text)
    return opset.plan(model, to, **more).refusals


def test_every_code_has_a_help():
    assert all(helps.help_of_code(code) for code in CODES if code.startswith("C"))


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.stem)
def test_every_refusal_that_is_stated_has_a_help(path):
    """Reasons without a help (`Refusal`) get that of their code; a Finding of a conversion states its own."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding":
            code = node.args[0]
            if isinstance(code, ast.Constant) and str(code.value).startswith("C"):
                named = {each.arg for each in node.keywords}
                assert len(node.args) >= 5 or "help" in named, f"{path.name}:{node.lineno}"


@pytest.mark.parametrize("to", [4, 9, 12, 17])
def test_refusals_of_node_cases_have_helps(to):
    found = 0
    for case in node_cases()[::25]:
        if to < (opset_of(case.model) or 0):
            for finding in opset.plan(case.model, to).refusals:
                found += 1
                assert finding.help, str(finding)
                if "seq(" in finding.why or "optional(" in finding.why.partition(":")[0]:
                    assert "cast the value" not in finding.help
    assert found


def test_refusals_of_lowerings_have_helps():
    from opset.opsets.registry import default_registry

    refused = 0
    for case in node_cases()[::40]:
        operator = case.model.graph.node[0].op_type
        if case.model.graph.node[0].domain == "" and default_registry().versions(operator):
            target = helps_of_lowering(case.model, operator)
            refused += len(target)
            assert all(target)
    assert refused > 10


def helps_of_lowering(model, operator):
    try:
        opset.lower(model, [operator])
    except opset.ConversionError as error:
        return [finding.help for finding in error.findings]
    return []


def test_a_sequence_is_not_cast():
    text = """<ir_version: 8, opset_import: ["": 14]>
        g (seq(float[2]) x) => (seq(float[2]) y) { y = Identity (x) }"""
    (refusal,) = refusals(text, 13)
    assert refusal.help == "convert to 14 or newer"


def test_a_tensor_is_cast():
    text = """<ir_version: 8, opset_import: ["": 14]> g (uint8[2] x) => (uint8[2] y) { y = Add (x, x) }"""
    (refusal,) = refusals(text, 4)
    assert refusal.help.startswith("cast the value to a type that version takes, or convert to ")


PER_CHANNEL = """<ir_version: 7, opset_import: ["": 11]>
    g (int8[2, 3] x, float[2] s, int8[2] z) => (float[2, 3] y) { y = DequantizeLinear <axis = 0> (x, s, z) }"""


def test_importing_13_repairs_a_dequantization_by_channel():
    (refusal,) = refusals(PER_CHANNEL, 17)
    assert refusal.help == "it fits DequantizeLinear 13: import that version, --assume-opset 13"
    assert not refusals(PER_CHANNEL, 17, assume_opset=13)
    (finding,) = [each for each in opset.check(onnx.parser.parse_model(PER_CHANNEL)) if each.code == "G324"]
    assert finding.help == "import version 13, which has it: --assume-opset 13; or remove it, if it has no effect"


@pytest.mark.parametrize(
    ("node", "help"),
    [
        ("Nonesuch (x)", "correct the name or the domain"),
        ("Softmax <axis = 7> (x)", "--assume-opset auto"),
        ("Unsqueeze <axes = [0]> (x)", "it fits Unsqueeze 11: import that version, --assume-opset 11"),
    ],
)
def test_invalid_nodes_have_helps(node, help):
    text = f"""<ir_version: 7, opset_import: ["": 13]> g (float[2, 3] x) => (float y) {{ y = {node} }}"""
    (refusal,) = refusals(text, 17)
    assert help in refusal.help
