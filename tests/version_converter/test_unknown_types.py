"""Where versions allow different types, a value of unknown type is refused: no conversion guesses it."""

from itertools import pairwise

import pytest
from onnx import helper, parser

import opset
from opset.errors import ConversionError
from opset.opsets.registry import default_registry
from opset.version_converter.derivation import derive_adapter

REGISTRY = default_registry()
VALUES = {"int": 1, "ints": [1, 1], "float": 1.0}
# What is refused before types are asked: nodes with a body, and those that need constants or one of several attributes.
OTHERWISE = {"Loop", "Scan", "Resize", "Tile", "Upsample", "LabelEncoder"}
ANY_TYPE = {("Flatten", 8)}
"""Transitions whose adapter writes the node for any type."""


def transitions():
    """Yield the neighbouring versions of each operator of which one restricts the type of a required input."""
    for domain in ("", "ai.onnx.ml"):
        for name in REGISTRY.operators(domain):
            versions = REGISTRY.versions(name, domain)
            for older, newer in pairwise(versions):
                for source, target in ((older, newer), (newer, older)):
                    restrictions = derive_adapter(source, target, newer.change).type_restrictions
                    required = max(source.min_input, 1)
                    restricted = any(not each.outputs and each.position < required for each in restrictions)
                    if restricted and name not in OTHERWISE and not (older.deprecated or newer.deprecated):
                        to = target.since_version if source is older else newer.since_version - 1
                        if (name, to) in ANY_TYPE:
                            continue
                        yield source, to


def test_a_type_that_nothing_states_is_refused():
    codes = {f"{source.name} {source.since_version} to {to}": refusal_code(source, to) for source, to in transitions()}
    assert len(codes) > 230
    assert {name: code for name, code in codes.items() if code != "C203"} == {}


def refusal_code(source, to):
    """Return the code with which a node of an operator version is refused whose input types nothing states."""
    inputs = [f"x{index}" for index in range(max(source.min_input, 1))]
    outputs = [f"y{index}" for index in range(max(source.min_output, 1))]
    required = {
        each.name: VALUES.get(each.type) or (each.choices or ("a",))[0]
        for each in source.attributes.values()
        if each.required
    }
    node = helper.make_node(source.name, inputs, outputs, domain=source.domain, **required)
    made = helper.make_node("Unknown", [], inputs, domain="com.example")
    graph = helper.make_graph([made, node], "g", [], [helper.make_empty_tensor_value_info(name) for name in outputs])
    imports = [helper.make_opsetid("com.example", 1), helper.make_opsetid(source.domain, source.since_version)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    with pytest.raises(ConversionError) as caught:
        opset.convert(model, {source.domain: to})
    return caught.value.code


def refusal(text, to):
    """Return the code with which a conversion of a model in text is refused."""
    with pytest.raises(ConversionError) as caught:
        opset.convert(parser.parse_model(text), to)
    (finding,) = caught.value.findings
    return finding.code, finding.why


def test_branches_of_unknown_type_do_not_become_loops():
    text = """<ir_version: 8, opset_import: ["": 11, "com.example": 1]>
    g (bool c, float[N] x) => (y) {
      y = If (c) <then_branch = t () => (a) { a = com.example.Unknown (x) },
                  else_branch = e () => (b) { b = com.example.Unknown (x) }>
    }"""
    assert refusal(text, 10) == ("C203", "the type of 'y' is not known")


@pytest.mark.parametrize("known", ["s", "t"])
def test_a_map_over_a_sequence_of_unknown_type_does_not_become_a_loop(known):
    unknown = "t" if known == "s" else "s"
    text = f"""<ir_version: 8, opset_import: ["": 17, "com.example": 1]>
    g (float[N] x) => (z) {{
      {known} = SequenceConstruct (x)
      {unknown} = com.example.Unknown (x)
      z = SequenceMap (s, t) <body = b (float[N] p, float[N] q) => (float[N] r) {{ r = Identity (p) }}>
    }}"""
    assert refusal(text, 16) == ("C203", f"the type of '{unknown}' is not known")


def test_types_in_a_function_are_those_of_each_call_or_not_known():
    """One that fits was seen before, in the graph."""
    text = """<ir_version: 8, opset_import: ["": 6, "f": 1]>
    g (float[2] x, int32[2] i) => (float[2] y, float[2] z, int32[2] j) { y = Neg (x)  z = f.F (x)  j = f.F (i) }
    <domain: "f", opset_import: ["": 6]> F (a) => (b) { b = Neg (a) }"""
    assert refusal(text, 5)[0] == "C202"
    called = text.replace("  j = f.F (i)", "").replace(", int32[2] j)", ")")
    assert opset.convert(parser.parse_model(called), 5).functions[0].node[0].op_type == "Neg"
    assert refusal(called.replace("f.F (x)", "Neg (x)"), 5) == ("C203", "the type of 'a' is not known")
