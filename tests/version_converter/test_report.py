"""The report of a conversion and its text, each compared whole."""

import re

import pytest
from onnx import parser

import opset
from opset.errors import SHOWN
from opset.version_converter.report import (
    LONGEST,
    ConvertedNode,
    ImportedVersion,
    IrVersions,
    NodeCounts,
    NodePlace,
    OperatorGroup,
    PassedOperator,
    conversion_report,
    headline,
    refusal_line,
    report_lines,
)

MIXED = """<ir_version: 8, opset_import: ["": 20, "com.acme": 4, "org.other": 1]>
g (float[2] x, bool c) => (float[2] y) {
    [one] a = Gelu (x)
    b = Softplus (a)
    e = org.other.Zed (b)
    d = com.acme.Magic (e)
    f = com.acme.Magic (d)
    h = com.acme.Art (f)
    k = Erf (b)
    [pick] y = If (c) <
        then_branch = t () => (float[2] p) { [two] p = Gelu (k) },
        else_branch = e () => (float[2] q) { q = Gelu <approximate = "tanh"> (h) }
    >
}"""
MADE = ("Constant", "Constant", "Constant", "Mul", "Erf", "Add", "Mul", "Mul")


def test_a_report_of_all_kinds_of_nodes():
    report = conversion_report(opset.plan(parser.parse_model(MIXED), 13))
    assert report.opsets == [
        ImportedVersion("ai.onnx", 20, 13), ImportedVersion("com.acme", 4, 4), ImportedVersion("org.other", 1, 1)
    ]  # fmt: skip
    assert report.ir_version == IrVersions(8, 7)
    gelu, *kept = report.operators
    places = [NodePlace(0, 0, "two"), NodePlace(1, 0, "one")]  # graphs inside come first
    assert gelu._replace(example=None) == OperatorGroup(
        "ai.onnx", "Gelu", 20, 0, 2, False, ("Gelu 20 lowered",), MADE, places
    )
    assert gelu.example.given == "[two] p = Gelu (k)" and len(gelu.example.made) == len(MADE)
    assert gelu.example.made[-1] == "[two] p = Mul (p__Mul_1, k)"
    assert kept == [
        OperatorGroup("ai.onnx", "Erf", 13, 13, 1),
        OperatorGroup("ai.onnx", "If", 19, 13, 1),
        OperatorGroup("ai.onnx", "Softplus", 1, 1, 1),
    ]
    assert report.graphs == ["graph 'g', node 'pick' (If), then_branch", "graph 'g'"]
    passed = [("com.acme", "Art", 1), ("com.acme", "Magic", 2), ("org.other", "Zed", 1)]
    assert report.passed == [PassedOperator(*each) for each in passed]
    assert report.nodes == NodeCounts(10, 2, 3, 4, 1) and report.notes == []
    assert headline(report) == "ai.onnx 20 -> 13, com.acme 4, org.other 1, IR version 8 -> 7"
    assert report_lines(report) == [
        "  operator  version   nodes  what happens",
        "  Gelu      20            2  lowered to 8 nodes: 3 Constant, 3 Mul, Erf, Add",
        "  Erf       13            1  kept",
        "  If        19 -> 13      1  kept",
        "  Softplus  1             1  kept",
        "  passed through, as there are no schemas of com.acme: Art (1), Magic (2)",
        "  passed through, as there are no schemas of org.other: Zed (1)",
        "  10 nodes: 2 converted, 3 kept, 4 passed through, 1 refused",
    ]
    assert refusal_line(report.nodes) == "1 of 10 nodes cannot be converted; nothing was written."
    assert refusal_line(NodeCounts(1, 0, 0, 0, 1)) == "1 of 1 node cannot be converted; nothing was written."
    assert refusal_line(NodeCounts(3, 0, 3, 0, 0)) == "the model cannot be converted; nothing was written."
    bare = conversion_report(opset.plan(parser.parse_model(MIXED), 13), places=False)
    assert (bare.operators[0].places, bare.operators[0].example, bare.graphs) == ((), None, [])


# What only computed a value that became an attribute, whether its own operator stays, is converted or is refused.
REMOVED = """<ir_version: 8, opset_import: ["": 20]>
g (float[2,3] x) => (float[2] y) {
    k = Constant <value = int64 {1}> ()
    zero = Constant <value_ints = [0]> ()
    ends = Constant <value_ints = [1]> ()
    s = Slice (ends, zero, ends)
    a = Identity (s)
    y = ReduceSum <keepdims = 0> (x, a)
}"""


def test_nodes_that_are_removed_are_no_nodes_that_are_kept():
    plan = opset.plan(parser.parse_model(REMOVED), 9)
    report = conversion_report(plan)
    assert report.nodes == NodeCounts(6, 1, 1, 0, 0, 4)
    assert report_lines(report) == [
        "  operator   version  nodes  what happens",
        "  ReduceSum  13 -> 1      1  converted to ReduceSum",
        "  Constant   19           2  removed: nothing reads it any more",
        "  Identity   19           1  removed: nothing reads it any more",
        "  Slice      13           1  removed: nothing reads it any more",
        "  Constant   19 -> 9      1  kept",
        "  6 nodes: 1 converted, 1 kept, 4 removed",
    ]
    after = opset.convert(parser.parse_model(REMOVED), 9).graph.node
    assert len(after) == report.nodes.total - report.nodes.removed
    assert re.findall(r">([^<>]+)<", plan._repr_html_()) == [
        "ai.onnx 20 -&gt; 9, IR version 8 -&gt; 4", "nodes", "operator", "version", "nodes", "what happens",
        *("ReduceSum", "13 -&gt; 1", "1", "ReduceSum"), *("Constant", "19 -&gt; 9", "1", "kept"),
        *("Constant", "19", "2", "removed"), *("Slice", "13", "1", "removed"), *("Identity", "19", "1", "removed"),
    ]  # fmt: skip


def test_nodes_that_become_the_same_in_other_steps_have_one_row():
    nodes = "a = ReduceSum (x, last) y = ReduceSum (a, first)"
    report = conversion_report(
        opset.plan(
            parser.parse_model(
                '<ir_version: 8, opset_import: ["": 13]> g (float[2,3] x) => (float[1,1] y)'
                f"<int64[1] last = {{-1}}, int64[1] first = {{0}}> {{ {nodes} }}"
            ),
            9,
        )
    )
    assert [(each.operator, each.nodes) for each in report.operators] == [("ReduceSum", 1)] * 2
    assert report_lines(report)[1:] == [
        "  ReduceSum  13 -> 1      2  converted to ReduceSum",
        "  2 nodes: 2 converted",
    ]


def test_lines_of_few_nodes_and_many_notes():
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 13]>
        g (float[2] x) => (float[1, 2] y) <int64[1] axes = {0}> { [n] y = Unsqueeze (x, axes) }""")
    report = conversion_report(opset.plan(model, 12))
    (group,) = report.operators
    assert group.example == ConvertedNode("[n] y = Unsqueeze (x, axes)", ["[n] y = Unsqueeze <axes: ints = [0]> (x)"])
    told = [f"note {number}\x07" for number in range(SHOWN + 2)]
    lines = report_lines(type(report)(**{**vars(report), "notes": told}))
    assert lines[:2] == [
        "  operator   version   nodes  what happens", "  Unsqueeze  13 -> 11      1  converted to Unsqueeze"
    ]  # fmt: skip
    assert lines[2:] == [
        *(f"  note: note {number}\\x07" for number in range(SHOWN)), "  … and 2 more notes", "  1 node: 1 converted"
    ]  # fmt: skip


@pytest.mark.parametrize(("size", "shown"), [(10, True), (LONGEST, False)])
def test_examples_are_short_and_have_no_metadata(size, shown):
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 13]>
        g (float[2] x) => (float[1, 2] y) <int64[1] axes = {0}> { y = Unsqueeze (x, axes) }""")
    model.graph.node[0].doc_string = "d" * size
    model.graph.node[0].metadata_props.add(key="source", value="here")
    (group,) = conversion_report(opset.plan(model, 12)).operators
    made = ConvertedNode("y = Unsqueeze (x, axes)", ["y = Unsqueeze <axes: ints = [0]> (x)"])
    assert group.example == (made if shown else None)
