"""What results show of themselves: one line as `repr`, HTML for notebooks, and where to look for what they lack."""

import copy
import dataclasses
import pickle
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import onnx
import pytest

import opset
from opset.description.interface import InterfaceChange
from opset.errors import FindingList
from opset.html_text import MOST_CHARACTERS, MOST_ROWS, Table, html_of, missing_attribute
from opset.schemas.documentation import Docs, SpecialCase
from opset.schemas.model import Attribute, OpSchema, Parameter
from opset.verification.report import FirstDifference
from tests.cli.commands import REFUSED, SMALL

EVIL = "<script>alert(1)</script>\x1b[2J" * 20
LARGEST = 200_000


def model(text=SMALL):
    return opset.load(opset.parse_model(text).SerializeToString())


def large():
    """A model of many nodes, each with a name that is markup and long."""
    graph = "".join(f"v{n + 1} = Unsqueeze <axes = [0]> (v{n})\n" for n in range(600))
    message = opset.parse_model(f'<ir_version: 6, opset_import: ["": 11]> g (float x, float v0) => (y) {{ {graph} }}')
    message.graph.output[0].name = "v600"
    message.graph.name = EVIL
    for each in message.graph.node:
        each.name = EVIL
    for number in range(500):
        value = message.graph.input.add()
        value.name = f"{EVIL}{number}"
        value.type.tensor_type.elem_type = 1
    return opset.load(message.SerializeToString())


def verified(count):
    """A verification; of a large model, each name and reason in it is markup and long."""
    small = opset.verify(model(), model(), seeds=1)
    if count < 100:
        return small
    evil = dataclasses.replace(small.outputs[0], name=EVIL, why=EVIL)
    first = FirstDifference(EVIL, EVIL, EVIL, EVIL)
    return dataclasses.replace(small, outputs=[evil] * count, notes=[EVIL] * count, first_difference=first)


RESULTS = {
    "Model": lambda each: each,
    "Conversion": lambda each: opset.plan(each, 13),
    "Inference": opset.infer,
    "FindingList": opset.check,
    "Finding": lambda each: opset.Finding("C204", EVIL, EVIL, EVIL, EVIL, EVIL),
    "OpSchema": lambda each: opset.get_schema("Attention"),
    "Repair": opset.repair,
    "ModelDescription": lambda each: opset.info(each, runtimes=["tensorrt"]),
    "InterfaceComparison": lambda each: opset.compare_interfaces(model(), each),
    "ModelComparison": lambda each: opset.compare_models(model(), each),
    "Verification": lambda each: verified(len(each.graph.node)),
    "OperatorSet": lambda each: opset.get_operator_set("ai.onnx"),
}


class Reader(HTMLParser):
    """Collects the names of tags and attributes, and checks that each tag is closed."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.open = set(), set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


OF_NO_MODEL = {"Finding", "OpSchema", "OperatorSet"}
"""Results that are the same for each model."""


@pytest.mark.parametrize(
    ("name", "given"),
    [(name, each) for name in RESULTS for each in (model, large) if {name, each} - OF_NO_MODEL - {large}],
)
def test_a_result_is_shown(name, given):
    result = RESULTS[name](given())
    line = repr(result)
    assert line.startswith(f"<{name} ") and len(line) < 1000 and line.isprintable()
    html = result._repr_html_()
    assert len(html.encode()) < LARGEST
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    assert reader.tags <= {"div", "strong", "table", "caption", "tr", "th", "td", "p", "pre"}
    assert reader.attributes <= {"style"}
    assert "\x1b" not in html and "<script" not in html


def test_what_is_left_out_is_counted():
    html = html_of("many", [Table("", ("n",), [(n,) for n in range(MOST_ROWS + 7)])])
    assert "… and 7 more" in html and f"<td{''}" in html


def test_a_comparison_of_models_shows_changes_for_callers_and_of_the_structure():
    old = """<ir_version: 8, opset_import: ["": 17]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { [one] a = Elu <alpha = 1.5> (x)  y = Add (a, w) }"""
    new = old.replace("[one] a = Elu <alpha = 1.5>", "[two] a = Elu <alpha = 2.5>")
    found = opset.compare_models(*map(opset.parse_model, (old, new)))
    counts = "PATCH: 2 -> 2 nodes, 1 -> 1 weights"
    assert repr(found) == f"<ModelComparison {counts}, 1 change of these>"
    many = replace(found, structure=replace(found.structure, omitted=1))
    assert repr(many) == f"<ModelComparison {counts}, 2 changes of these>"
    html = found._repr_html_()
    assert re.findall("<caption[^>]*>([^<]*)<", html) == ["changes for callers", "changes of the structure"]
    callers, structure = (re.findall("<t[hd][^>]*>([^<]*)<", table) for table in unescape(html).split("<table>")[1:])
    assert callers[:9] == [*InterfaceChange._fields, "PATCH", "nodes"]
    assert structure == [
        "change", "place", "body", "details",
        "changed", "node 'two' (Elu)", "graph 'g'", "attribute 'alpha': 1.5 -> 2.5; name: 'one' -> 'two'",
    ]  # fmt: skip


def test_an_inference_shows_findings_gaps_values_and_notes():
    text = """<ir_version: 8, opset_import: ["": 20, "own": 1]> g (float[2] x) => (float[?] y) <float[3] z> {
        a = own.What (x)  z = Neg (x)  y = Gelu <approximate = "none", odd = 1> (a) }"""
    html = unescape(opset.infer(opset.parse_model(text))._repr_html_())
    assert re.findall("<caption[^>]*>([^<]*)<", html) == ["findings", "gaps", "values", "notes"]
    findings, gaps, values, notes = (re.findall("<t[hd][^>]*>([^<]*)<", table) for table in html.split("<table>")[1:])
    nodes = [f"graph 'g', node number {number}" for number in ("0 (What)", "1 (Neg)", "2 (Gelu)")]
    assert findings[5:7] == ["I101", nodes[1]]
    assert gaps == ["value", "node", "known", "reason", "a", nodes[0], "type", "there are no schemas of the domain own"]
    assert values == [
        "value", "node", "type", "a", nodes[0], "float", "z", nodes[1], "float[2]", "y", nodes[2], "float[y_d0]",
    ]  # fmt: skip
    assert notes == [f"{nodes[2]}: there is no attribute 'odd': Gelu 20 has none of this name"]


def test_the_lines_say_what_matters():
    given = model()
    assert "ai.onnx 11, IR version 6, 3 nodes" in repr(given) and "input x, output y" in repr(given)
    empty = opset.load(opset.parse_model('<ir_version: 8, opset_import: ["": 17]> g () => () {}'))
    assert repr(empty) == "<Model message: ai.onnx 17, IR version 8, 0 nodes, 0 initializers>"
    assert repr(opset.plan(given, 13)).startswith("<Conversion possible: ai.onnx 11 -> 13")
    refused = opset.plan(model(REFUSED), 12)
    assert repr(refused).startswith("<Conversion refused") and "StringConcat" in refused._repr_html_()
    assert repr(opset.infer(given)) == "<Inference 3 known>"
    assert repr(opset.get_schema("Softmax")) == "<OpSchema ai.onnx Softmax 13 (input; axis) -> (output)>"
    words = replace(opset.get_schema("Softmax"), prose=lambda: Docs(doc="It is\n\nso."))._repr_html_()
    assert re.findall(r"<td[^>]*>([^<]*)<", words)[:2] == ["It is", "so."]
    assert repr(FindingList()) == "<FindingList of 0>"
    assert repr(opset.Finding("C204", "it would", "node 'a'")) == "<Finding C204: it would at node 'a'>"


@pytest.mark.parametrize(
    ("result", "name", "said"),
    [
        ("Model", "node", "see model.graph.node"),
        ("Model", "functions", "see model.proto.functions"),
        ("Model", "convert", r"see opset.convert\(model\)"),
        ("Model", "ir_verson", "did you mean ir_version"),
        ("Conversion", "save", "see conversion.model.save"),
        ("Conversion", "refusal", "did you mean refusals"),
        ("Inference", "value_info", r"see inference.written\(\).graph.value_info"),
        ("OpSchema", "type_constraints", "see schema.types"),
        ("OpSchema", "min_inputs", "did you mean min_input"),
        ("Model", "_ipython_display_", "no attribute '_ipython_display_'$"),
    ],
)
def test_a_missing_attribute_says_where_to_look(result, name, said):
    with pytest.raises(AttributeError, match=said):
        getattr(RESULTS[result](model()), name)


def test_results_are_copied_and_pickled_as_before():
    given = model()
    assert copy.copy(given).ir_version == 6
    schema = opset.get_schema("Gelu")
    assert copy.deepcopy(schema) == pickle.loads(pickle.dumps(schema)) == schema
    assert pickle.loads(pickle.dumps(schema)).doc == schema.doc


def test_messages_are_pickled_with_all_that_is_in_them():
    message = large().proto
    message.graph.initializer.add(name="w", data_type=1, dims=[2], raw_data=bytes(8))
    parts = [message, message.graph.node[0], message.graph.initializer[0], message.graph.input[1].type.tensor_type]
    dim = message.graph.input[1].type.tensor_type.shape.dim.add(dim_param="N")
    for each in *parts, dim:
        again = pickle.loads(pickle.dumps(each))
        assert again == each and type(again) is type(each)
        assert copy.copy(each) == copy.deepcopy(each) == each


def test_plans_come_back_from_other_processes():
    plan, refused = opset.plan(model(), 13), opset.plan(model(REFUSED), 12)
    again = pickle.loads(pickle.dumps(plan))
    assert repr(again) == repr(plan) and (again.changes, again.kept) == (plan.changes, plan.kept)
    assert pickle.loads(pickle.dumps(refused)).refusals == refused.refusals != []


def test_a_model_has_the_parts_of_its_message():
    given = model()
    assert given.graph is given.proto.graph or given.graph == given.proto.graph
    assert [(each.domain, each.version) for each in given.opset_import] == [("", 11)]
    assert given.ir_version == 6


def test_a_model_becomes_one_of_onnx():
    given = model()
    message = given.to_onnx()
    assert type(message) is onnx.ModelProto and message.SerializeToString() == given.SerializeToString()


def test_a_model_becomes_one_of_onnx_ir():
    ir = pytest.importorskip("onnx_ir")
    made = model().to_ir()
    assert isinstance(made, ir.Model) and [node.op_type for node in made.graph] == ["Unsqueeze", "Relu", "Squeeze"]


@pytest.mark.parametrize(("name", "package"), [("to_onnx", "onnx"), ("to_ir", "onnx-ir")])
def test_a_package_that_is_missing_is_named(name, package, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, package.replace("-", "_"), None)
    with pytest.raises(opset.UsageError, match=f"the package {package} is not installed"):
        getattr(model(), name)()


def test_lower_takes_a_text():
    text = '<ir_version: 9, opset_import: ["": 20]> g (float[2] x) => (float[2] y) { z = Gelu (x)  y = Elu (z) }'
    lowered = opset.lower(model(text), "Gelu, Elu")
    assert not {"Gelu", "Elu"} & {node.op_type for node in lowered.graph.node}
    assert lowered.proto == opset.lower(model(text), ["Gelu", "Elu"]).proto
    with pytest.raises(opset.UsageError, match="did you mean Gelu"):
        opset.lower(model(text), "Gelux")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("Softmax", "ai.onnx.ml"), "Softmax is an operator of ai.onnx"),
        (("Softmax", 99), "there is no ai.onnx 99"),
        (("Softmax", 0), "there is no ai.onnx 0"),
        (("Gelu", 19), "it came with version 20"),
        (("Softmax", 1, "nope"), "nope has no operator Softmax"),
        (("Softmx",), "did you mean Softmax"),
    ],
)
def test_a_schema_that_does_not_exist(arguments, said):
    with pytest.raises(opset.UsageError, match=said) as raised:
        opset.get_schema(*arguments)
    assert raised.value.code == "U105"


def test_a_schema_has_its_prose():
    schema = opset.get_schema("Softmax")
    assert schema.doc.startswith("Turns the values along one dimension")
    assert schema.special_cases and schema.docs.attributes["axis"] and schema.docs.formula
    assert opset.get_schema("Softmax", 1).doc != schema.doc


def test_a_schema_of_a_folder_has_its_prose():
    from tests.test_docs import ROOT

    registry = opset.extend.registry_with([], data=[ROOT / "examples"]) if hasattr(opset, "extend") else None
    from opset.opsets.registry import registry_with

    registry = registry or registry_with([], data=[ROOT / "examples"])
    schema = registry.versions("Softcap", "com.acme")[-1]
    assert schema.doc == registry.documentation(schema).doc != ""


def test_tables_without_rows_are_left_out():
    html = html_of("title", [Table("none", ("head",), []), Table("one", ("head",), [("cell",)])])
    assert "none" not in html and html.count("<table>") == html.count("head") == 1


def test_private_names_are_no_help():
    assert "did you mean nodes?" in str(missing_attribute("Model", "node", {}, ["nodes"]))
    assert "did you mean" not in str(missing_attribute("Model", "node", {}, ["_node"]))


def test_rows_that_are_too_much_together_are_counted_with_all_behind_them():
    rows = [("&" * 300, "&" * 300)] * 60 + [("short",)]
    html = html_of("many", [Table("", (), rows), Table("next", (), [("last",)])])
    shown = html.count("<tr>")
    assert len(html) < MOST_CHARACTERS + 1000 and 40 < shown < 60
    assert f"… and {61 - shown} more" in html and "short" not in html and "… and 1 more" in html


def test_an_operator_is_shown_with_its_signature_and_prose():
    schema = OpSchema(
        "com.acme",
        "Scale",
        2,
        "acme",
        (Parameter("X", "T"), Parameter("by", "T", "optional")),
        (Parameter("Y", "T", "variadic"),),
        {"axis": Attribute("axis", "int", 1), "to": Attribute("to", "string", required=True)},
        {"T": ("tensor(double)", "tensor(float)"), "I": ("tensor(bool)",)},
        prose=lambda: Docs(
            "It scales.\n\nSo it is.", {"X": "what"}, {"Y": "result"}, {"to": "where"}, {"C1": "so"},
            special_cases=(SpecialCase("of none"),),
        ),
    )  # fmt: skip
    html = schema._repr_html_()
    assert "com.acme Scale 2 (X, by; axis, to) -&gt; (Y)" in html
    tables = [re.findall("<(?:t[hd]|caption)[^>]*>([^<]*)<", each) for each in html.split("<table>")[1:]]
    assert tables == [
        ["It scales.", "So it is."],
        ["inputs", "name", "type", "", "meaning", "X", "T", "single", "what", "by", "T", "optional", ""],
        ["outputs", "name", "type", "", "meaning", "Y", "T", "variadic", "result"],
        [
            "attributes",
            "name",
            "type",
            "default",
            "meaning",
            "axis",
            "int",
            "1",
            "",
            "to",
            "string",
            "required",
            "where",
        ],
        ["types", "name", "types", "T", "tensor(double), tensor(float)", "I", "tensor(bool)"],
        ["constraints", "C1", "so"],
        ["special cases", "of none"],
    ]
