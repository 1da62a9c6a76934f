"""Operator-set documents: each form reads back the same, and documents of others are known as far as they tell."""

import json
import math
import os
import re
import sys
from functools import reduce
from pathlib import Path

import numpy as np
import onnx.checker
import onnx.onnx_operators_ml_pb2 as theirs
import onnx.parser
import onnx.reference
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx.onnx_ml_pb2 import EXPERIMENTAL, STABLE

import opset
from opset import OperatorSet, SchemaError, UsageError, get_operator_set, load_operator_set
from opset.cli import cli
from opset.extend import parse_model, registry_with
from opset.model import proto as pb
from opset.opsets.documents import reading
from opset.opsets.documents.declarations import MAX_DEPTH, MAX_KEY, declare_until, encode_json, node_of
from opset.opsets.documents.reading import MAX_DOCUMENT, MAX_VERSION
from opset.opsets.documents.writing import CARRIER, FORMS
from opset.opsets.registry import default_registry
from opset.schemas.index import FOLDER
from opset.schemas.yaml.loader import load_folder, read_declaration
from opset.schemas.yaml.reader import Findings
from tests.bounds import THOROUGH, draws
from tests.cli.commands import run

OWN = Path(__file__).with_name("own")
SCALED = """<opset_import: ["": 17], domain: "com.foreign"> Scaled <beta, alpha: float = 0.1> (X, Y) => (Z) {
    a = Constant <value_float = @alpha> ()  b = Constant <value_float: float = @beta> ()
    m = Mul (X, a)  n = Add (m, b)  Z = Relu (n) }"""
MODEL = """<ir_version: 8, opset_import: ["": 17, "com.foreign": 3]> main (float[2] x) => (float[2] y) {
    a = com.foreign.Scaled <alpha = 1.0, beta = 2.0> (x, x)  b = com.foreign.Named <u = 3> (a, a, a)  y = Relu (b) }"""


@pytest.fixture(scope="module")
def standard():
    """All operators of the standard, as their files declare them, by domain and name."""
    operators, sets = load_folder(FOLDER)
    return {(each.domain, each.name): each for each in operators}, sets


def foreign_message():
    """A document that onnx's classes write: an operator with a function, one by name alone, one without status."""
    message = theirs.OperatorSetProto(magic="ONNXOPSET", ir_version=8, domain="com.foreign", opset_version=3)
    message.operator.add(op_type="Scaled", since_version=2, status=STABLE, doc_string="Scales X.")
    message.operator.add(op_type="Named", since_version=1, status=STABLE, doc_string="Something.")
    message.operator.add(op_type="Odd", since_version=3)
    message.functions.append(onnx.parser.parse_function(SCALED))
    return message


@pytest.fixture
def foreign():
    return foreign_message()


def codes(source):
    """Return the codes of the findings that a document is refused with."""
    with pytest.raises(SchemaError) as caught:
        load_operator_set(source)
    return [each.code for each in caught.value.findings]


def content(found):
    """What has to come back of an operator set; examples may hold NaN, which is equal to nothing."""
    operators = [(each.name, each.schemas, each.docs, repr(each.examples)) for each in found.operators]
    changes = [schema.change for each in found.operators for schema in each.schemas]
    return found.domain, found.version, found.ir_version, found.doc, dict(found.sets), operators, changes


# Round trips


@pytest.mark.parametrize(
    ("domain", "version", "form"),
    [*(("ai.onnx.ml", 3, form) for form in FORMS), ("ai.onnx.preview.training", 1, "json")],
)
def test_an_operator_set_reads_back_the_same(domain, version, form):
    written = get_operator_set(domain, version)
    data = written.to_bytes(form)
    again = load_operator_set(data)
    assert content(again) == content(written) and again.notes == ()
    assert again.to_bytes(form) == data
    registry = default_registry()
    known = [registry.schema(name, version, domain) for name in registry.operators(domain)]
    assert list(again.schemas) == [each for each in known if each is not None and not each.deprecated]


def test_every_operator_reads_back_at_every_version(standard):
    """At every version if THOROUGH, else one version of each operator in turn."""
    operators, sets = standard
    count = 0
    for number, ((domain, name), operator) in enumerate(operators.items()):
        turn = number % len(operator.schemas)
        for schema in operator.schemas if THOROUGH else operator.schemas[turn : turn + 1]:
            findings = Findings("")
            declared = declare_until(operator, schema.since_version)
            cut = read_declaration(node_of(declared, findings), domain, sets, findings)
            assert findings == []
            assert cut.schemas == default_registry().versions(name, domain)[: len(cut.schemas)]
            document = OperatorSet(domain, schema.since_version, (cut,), ir_version=10)
            form = FORMS[count % len(FORMS)]
            assert content(load_operator_set(document.to_bytes(form))) == content(document), (name, form)
            count += 1
    assert count >= (659 if THOROUGH else 227)


@pytest.mark.parametrize("form", FORMS)
def test_a_domain_of_ones_own_reads_back_the_same(form, tmp_path):
    (tmp_path / "schemas/com.acme").mkdir(parents=True)
    (tmp_path / "schemas/types.yaml").write_text("some: [float, double]\nmore: [some, int64]\nleft: [bool]\n")
    text = "operator: Scale\nfamily: acme\nversions:\n- {since: 2, doc: 'Ā\U0001f600 {{ 1 }}', types: {T: [more]}}\n"
    (tmp_path / "schemas/com.acme/Scale.yaml").write_text(text, encoding="utf-8")
    written = get_operator_set("com.acme", schemas=[tmp_path / "schemas"])
    path = tmp_path / f"document.{form}"
    written.save(path)
    again = load_operator_set(path)
    assert again.schemas == written.schemas == (registry_with([tmp_path / "schemas"]).schema("Scale", 2, "com.acme"),)
    assert again.schemas[0].types == {"T": ("tensor(double)", "tensor(float)", "tensor(int64)")}
    assert registry_with([path]).phrase(again.schemas[0].types["T"]) == "more"
    with pytest.raises(UsageError, match="U102"):
        written.save(path)
    written.save(path, form, force=True)


def test_what_a_document_declares_goes_out_again(tmp_path):
    (tmp_path / "schemas/com.acme").mkdir(parents=True)
    (tmp_path / "schemas/types.yaml").write_text("some: [float, double]\n")
    text = "operator: {}\nfamily: acme\nversions:\n- {{since: {}, doc: it, types: {{T: [some]}}}}\n"
    for name, since in (("Turn", 1), ("Scale", 2)):
        (tmp_path / f"schemas/com.acme/{name}.yaml").write_text(text.format(name, since))
    (tmp_path / "schemas/org.other").mkdir()
    (tmp_path / "schemas/org.other/Other.yaml").write_text(text.format("Other", 4))
    documents = []
    for domain in ("com.acme", "org.other"):
        documents.append(tmp_path / f"{domain}.onnxopset")
        get_operator_set(domain, schemas=[tmp_path / "schemas"]).save(documents[-1])
    for order in (documents, documents[::-1]):
        again = get_operator_set("com.acme", schemas=order)
        assert [each.name for each in again.operators] == ["Scale", "Turn"]
        assert (again.domain, again.version, again.sets) == (
            "com.acme",
            2,
            {"some": ("tensor(double)", "tensor(float)")},
        )
        assert content(again) == content(load_operator_set(documents[0]))
    assert [each.name for each in get_operator_set("org.other", schemas=documents).operators] == ["Other"]
    assert [each.name for each in get_operator_set("com.acme", 1, schemas=documents).operators] == ["Turn"]
    get_operator_set("ai.onnx.ml", 3).save(tmp_path / "ml.onnxopset")  # the standard's operators are its own
    assert content(get_operator_set("ai.onnx.ml", 3, schemas=[tmp_path / "ml.onnxopset"])) == content(
        get_operator_set("ai.onnx.ml", 3)
    )


def test_a_file_that_became_faulty_after_it_was_read_is_told(tmp_path):
    (tmp_path / "com.acme").mkdir()
    for name in ("Turn", "Scale"):
        text = f"operator: {name}\nfamily: acme\nversions:\n- {{since: 1, doc: it}}\n"
        (tmp_path / f"com.acme/{name}.yaml").write_text(text)
    registry = registry_with([tmp_path])
    (tmp_path / "com.acme/Turn.yaml").write_text("operator: Turn\n")
    with pytest.raises(SchemaError, match="S104"):
        get_operator_set("com.acme", schemas=registry)


DATED = """operator: Turn
family: acme
versions:
- since: 3
  doc: it
  types: {T: [float, double]}
  inputs: [{name: X, type: T, doc: it}]
  outputs: [{name: Y, type: T, doc: it}]
  change: {types: {T: [+double]}, adapters: {up: derived, down: derived}}
- {since: 1, like: 3, types: {T: [float]}}
special_cases:
- always
- {text: new, since: 3}
- {text: old, until: 1}
implementations:
  acme:
  - {text: all, tested: "1", examples: [always, new]}
  - {text: none, tested: "1", examples: [new]}
  onnxruntime:
  - {text: late, tested: "1.31", since: 3}
examples:
- {name: always, since: 1, inputs: [{float: [1]}], outputs: [{float: [1]}]}
- {name: new, since: 3, inputs: [{float: [2]}], outputs: [{float: [2]}]}
- {name: old, since: 1, until: 1, inputs: [{float: [3]}], outputs: [{float: [3]}]}
"""


def test_an_older_operator_set_has_what_held_then(tmp_path):
    (tmp_path / "com.acme").mkdir()
    (tmp_path / "com.acme/Turn.yaml").write_text(DATED)
    parts = []
    for version in (1, 3):
        (operator,) = get_operator_set("com.acme", version, schemas=[tmp_path]).operators
        plain = operator.root.plain()
        names = [each.name for each in operator.examples]
        parts.append((len(operator.schemas), names, plain["special_cases"], plain["implementations"]))
    none = {"text": "none", "tested": "1"}
    old = {"acme": [{"text": "all", "tested": "1", "examples": ["always"]}, none]}
    assert parts[0] == (1, ["always", "old"], ["always", {"text": "old", "until": 1}], old)
    versions, names, cases, notes = parts[1]
    assert (versions, names, len(cases)) == (2, ["always", "new", "old"], 3)
    assert notes["acme"][1] == {**none, "examples": ["new"]} and [*notes] == ["acme", "onnxruntime"]


def test_a_body_that_a_declaration_states_is_kept_though_it_is_none():
    """Lint and conversions tell of it; without declarations, it is left out with a note."""
    keys = "inputs: [{name: X, type: tensor(float), doc: x}], outputs: [{name: Y, type: tensor(float), doc: y}], "
    found = load_operator_set(
        TEXT.replace("doc: d", f"doc: d, {keys}function: [{{opset: 17, nodes: Y = Nonesuch (X)}}]").encode()
    )
    assert [each.nodes for each in found.schemas[0].function] == ["Y = Nonesuch (X)"]
    assert found.notes == ("the document states no IR version",)
    assert repr(found) == "<OperatorSet com.acme 1: 1 operator>"


def test_the_newest_version_is_taken_and_others_are_refused():
    assert get_operator_set("ai.onnx.ml").version == default_registry().domains["ai.onnx.ml"]
    for domain, version in (("com.nowhere", None), ("", 0), ("", 10_000)):
        with pytest.raises(UsageError, match="U105"):
            get_operator_set(domain, version)
    with pytest.raises(UsageError, match="U103"):
        get_operator_set("ai.onnx.preview").to_bytes("xml")


def test_numbers_that_json_lacks_and_text_that_looks_so():
    value = {"a": [math.nan, math.inf, -math.inf, "!nan", "!", "nan", 1.5, 1, True, None]}
    encoded = encode_json(value)
    assert encoded == {"a": ["!nan", "!inf", "!-inf", "!!nan", "!!", "nan", 1.5, 1, True, None]}
    assert repr(node_of(json.loads(json.dumps(encoded)), Findings(""), escaped=True).plain()) == repr(value)


# The standard's message


@pytest.fixture(scope="module")
def at_21():
    """The operator set of opset 21, and onnx's message of it."""
    written = get_operator_set("", 21)
    return written, theirs.OperatorSetProto.FromString(written.to_bytes())


def test_onnx_reads_the_message_and_its_functions(at_21):
    written, message = at_21
    assert content(load_operator_set(message)) == content(written)
    assert (message.magic, message.domain, message.opset_version, message.ir_version) == ("ONNXOPSET", "", 21, 10)
    assert [each.op_type for each in message.operator] == [each.name for each in written.schemas]
    for each in message.operator:
        schema = default_registry().schema(each.op_type, 21)
        assert each.since_version == schema.since_version and each.status == STABLE
        assert each.doc_string == default_registry().documentation(schema).doc
    bodies = [each for each in message.functions if not each.overload]
    assert len(bodies) > 20 and all(each.node and each.output for each in bodies)
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 21]> m (float x) => (float y) { y = Relu (x) }'
    )
    for body in bodies:
        model.functions.add().CopyFrom(body)
        model.functions[-1].domain = "local"
    model.opset_import.add(domain="local", version=1)
    onnx.checker.check_model(model)
    carriers = [each for each in message.functions if each.overload]
    assert {each.overload for each in carriers} == {CARRIER}
    texts = [text.value for each in carriers[:9] for text in each.metadata_props]
    assert texts == [json.dumps(json.loads(text), separators=(",", ":")) for text in texts]
    assert not any(each.node or each.input or each.output for each in carriers)
    assert {each.name for each in carriers} - {each.op_type for each in message.operator} == {"Scatter", "Upsample"}


def test_a_function_of_the_message_computes_the_operator(at_21):
    found = next(each for each in at_21[1].functions if each.name == "ThresholdedRelu" and not each.overload)
    body = onnx.FunctionProto.FromString(found.SerializeToString())
    body.domain = "local"
    text = '<ir_version: 10, opset_import: ["": 21, "local": 1]> m (float[3] x) => (float[3] y, float[3] z) {'
    model = onnx.parser.parse_model(
        f"{text} y = local.ThresholdedRelu <alpha = 2.0> (x) z = ThresholdedRelu <alpha = 2.0> (x) }}"
    )
    model.functions.append(body)
    one, other = onnx.reference.ReferenceEvaluator(model).run(None, {"x": np.array([1.0, 2.0, 3.0], np.float32)})
    assert one.tolist() == other.tolist() == [0.0, 0.0, 3.0]


# Documents of others


def test_a_document_of_others_is_known_as_far_as_it_tells(foreign, tmp_path):
    found = load_operator_set(foreign)
    named, odd, scaled = found.schemas
    assert [(each.name, each.since_version, each.unknown) for each in found.schemas] == [
        ("Named", 1, "signature"), ("Odd", 3, "signature"), ("Scaled", 2, "types"),
    ]  # fmt: skip
    assert (named.experimental, odd.experimental) == (False, True)
    assert [each.name for each in scaled.inputs] == ["X", "Y"] and [each.name for each in scaled.outputs] == ["Z"]
    assert scaled.allowed_types(scaled.inputs[0]) == ()
    assert scaled.attributes["alpha"].default == pytest.approx(0.1) and scaled.attributes["beta"].type == "float"
    assert found.operators[0].docs[0].doc == "Something."
    assert [note.partition(":")[0] for note in found.notes] == [
        "'Odd' has no status, and is experimental by the default of the message",
        "the signatures are not in the document",
        "types, and which parameters may be left out, are not in the document",
    ]
    for form in FORMS:
        assert load_operator_set(found.to_bytes(form)).schemas == found.schemas


def test_nodes_are_checked_as_far_as_a_document_tells(foreign, tmp_path):
    path = tmp_path / "foreign.onnxopset"
    path.write_bytes(foreign.SerializeToString())
    model = parse_model(MODEL)
    plan = opset.plan(model, 21, schemas=[path])
    assert plan.refusals == []
    assert [note for note in plan.notes if note.startswith("nodes were not checked")] == [
        "nodes were not checked, or by names alone, for lack of a signature: com.foreign.Named, com.foreign.Scaled"
    ]
    gap = opset.infer(model, schemas=[path]).gaps[0]
    assert "not in the document that declares it" in str(gap)
    for wrong in ("Scaled <gamma = 1.0> (x, x)", "Scaled <alpha = 1, beta = 2.0> (x, x)", "Scaled (x, x, x)"):
        refusals = opset.plan(
            parse_model(MODEL.replace("Scaled <alpha = 1.0, beta = 2.0> (x, x)", wrong)), 21, schemas=[path]
        )
        assert [each.code for each in refusals.refusals] == ["C103"], wrong
    older = parse_model(MODEL.replace('"com.foreign": 3', '"com.foreign": 1'))
    assert [each.code for each in opset.plan(older, 21, schemas=[path]).refusals] == ["C102"]
    lowered = opset.lower(model, ["com.foreign.Scaled"], schemas=[path])
    assert [node.op_type for node in lowered.graph.node][-2:] == ["Named", "Relu"]
    assert "Mul" in [node.op_type for node in lowered.graph.node]


def test_a_body_that_yaml_does_not_hold_is_left_out_with_a_note(foreign):
    text = SCALED.replace("Z = Relu (n)", "q = Nonesuch (n)  Z = Relu (q)")
    foreign.functions[0].CopyFrom(onnx.parser.parse_function(text))
    found = load_operator_set(foreign)
    assert found.schemas[2].function == () and any("'Scaled' is left out" in note for note in found.notes)
    foreign.functions[0].opset_import.add(domain="com.other", version=1)
    assert any("it imports com.other" in note for note in load_operator_set(foreign).notes)
    foreign.functions[0].CopyFrom(onnx.parser.parse_function(SCALED.replace('"": 17', '"": 6')))
    assert any("it is for ai.onnx 6, and" in note for note in load_operator_set(foreign).notes)


WRAPPED = onnx.helper.make_sequence_type_proto(onnx.helper.make_tensor_type_proto(1, None))


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (lambda f: f.attribute.append("spare"),
         "the attribute 'spare' of 'Scaled' is left out: nothing tells its type"),
        (lambda f: f.node.append(onnx.parser.parse_node("W = LeakyRelu <alpha: int = @beta> (X)")),
         "the attribute 'beta' of 'Scaled' is left out: nothing tells its type"),
        (lambda f: f.attribute_proto.add(name="plain"),
         "the attribute 'plain' of 'Scaled' is left out: nothing tells its type"),
        (lambda f: f.attribute_proto.append(onnx.helper.make_attribute("held", WRAPPED)),
         "the default of the attribute 'held' of 'Scaled' is left out: YAML holds none"),
        (lambda f: f.attribute_proto.append(onnx.helper.make_attribute("raw", b"\xff")),
         "the default of the attribute 'raw' of 'Scaled' is left out: YAML holds none"),
        (lambda f: f.node.append(onnx.parser.parse_node(
            "W = If (X) <then_branch = a () => (p) { p = Neg (X) }, else_branch = b () => (q) { q = Abs (X) }>")),
         "the function body of 'Scaled' is left out: it has a node with a graph, which bodies do not hold"),
        (lambda f: [f.opset_import.add(domain="com.foreign", version=3),
                    f.node[4].CopyFrom(onnx.parser.parse_node("Z = com.foreign.Nonesuch (n)"))],
         "the function body of 'Scaled' is left out: the body of opset 17 uses Nonesuch, which does not exist"),
    ],
)  # fmt: skip
def test_what_yaml_does_not_hold_is_left_out_with_a_note(foreign, change, note):
    before = load_operator_set(foreign)
    change(foreign.functions[0])
    foreign.functions[0].attribute_proto.append(onnx.helper.make_attribute("last", 5))
    found = load_operator_set(foreign)
    assert found.schemas[2].attributes["last"].default == 5
    added = [each for each in found.notes if each not in before.notes]
    assert note in added and len(added) <= 2
    assert (found.schemas[2].function == ()) == ("body" in note or "beta" in note)


@pytest.mark.parametrize("domain", ["", "ai.onnx"])
def test_a_body_of_the_standard_holds_at_the_opset_that_it_imports(domain):
    """Softmax changed with opset 13; a body of another domain is for all opsets from the one that it imports on."""
    message = theirs.OperatorSetProto(magic="ONNXOPSET", opset_version=12, ir_version=7, domain=domain)
    message.operator.add(op_type="LogSoftmax", since_version=11, status=STABLE)
    text = f'<opset_import: ["": 12], domain: "{domain}"> LogSoftmax (X) => (Y) {{ s = Softmax (X)  Y = Log (s) }}'
    message.functions.append(onnx.parser.parse_function(text))
    found = load_operator_set(message)
    assert [(each.opset, "Softmax" in each.nodes) for each in found.schemas[0].function] == [(12, True)]
    assert not any("is left out" in note for note in found.notes)
    message.domain = message.functions[0].domain = "com.foreign"
    note = "the function body of 'LogSoftmax' is left out: it is for ai.onnx 12, and 'Softmax' changed afterwards"
    assert note in load_operator_set(message).notes


def test_types_and_defaults_of_functions_are_told(foreign):
    function = foreign.functions[0]
    function.value_info.add(name="X", type=WRAPPED)
    function.value_info.add(name="Y", type=onnx.helper.make_optional_type_proto(WRAPPED))
    function.value_info.add(name="Z", type=onnx.helper.make_sparse_tensor_type_proto(1, None))
    held = {"a": [1.5, 2.0], "b": [3, 4], "c": "text", "d": ["x", "y"], "e": 7}
    function.attribute_proto.extend(onnx.helper.make_attribute(name, value) for name, value in held.items())
    scaled = load_operator_set(foreign).schemas[2]
    assert [each.type for each in scaled.inputs] == ["seq(tensor(float))", "optional(seq(tensor(float)))"]
    assert scaled.allowed_types(scaled.outputs[0]) == ()
    kinds = {name: attribute.type for name, attribute in scaled.attributes.items() if name in held}
    assert kinds == {"a": "floats", "b": "ints", "c": "string", "d": "strings", "e": "int"}
    assert [scaled.attributes["alpha"].default, scaled.attributes["beta"].default] == [pytest.approx(0.1), None]
    assert scaled.function[0].where == (("beta", "given"),)  # alpha always has a value
    defaults = {name: scaled.attributes[name].default for name in held}
    assert {name: list(each) if isinstance(each, tuple) else each for name, each in defaults.items()} == held


def test_operators_of_the_standard_in_a_document_are_the_standards(tmp_path):
    get_operator_set("ai.onnx.ml", 3).save(tmp_path / "ml.json")
    registry = registry_with([tmp_path / "ml.json"])
    assert registry.domains == default_registry().domains and registry.is_standard("Scaler", "ai.onnx.ml")
    bare = theirs.OperatorSetProto(magic="ONNXOPSET", opset_version=14, ir_version=7)
    bare.operator.add(op_type="Relu", since_version=14, status=STABLE)
    assert registry_with([load_operator_set(bare)]).is_standard("Relu")
    bare.operator[0].since_version = 12
    with pytest.raises(SchemaError, match="S108"):
        registry_with([load_operator_set(bare)])


def test_a_document_is_newer_than_its_operators(foreign):
    for version in (9, MAX_VERSION):
        foreign.opset_version = version
        assert registry_with([load_operator_set(foreign)]).domains["com.foreign"] == version


# What is wrong


def edited(foreign, change):
    change(foreign)
    return foreign


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda m: setattr(m, "magic", "ONNXOPSETS"), ["S301"]),
        (lambda m: m.ClearField("magic"), ["S301"]),
        (lambda m: setattr(m, "domain", "../evil"), ["S303", "S307"]),
        (lambda m: setattr(m, "domain", "x" * 101), ["S303", "S307"]),
        (lambda m: setattr(m, "opset_version", 0), ["S304", "S304", "S304", "S304"]),
        (lambda m: setattr(m, "opset_version", 2), ["S304"]),
        (lambda m: setattr(m, "opset_version", 2**63 - 1), ["S304"]),
        (lambda m: m.ClearField("opset_version"), ["S104", "S304", "S304", "S304"]),
        (lambda m: setattr(m.operator[0], "since_version", 2**63 - 1), ["S105"]),
        (lambda m: m.operator[0].ClearField("since_version"), ["S105"]),
        (lambda m: m.operator.add(op_type="Odd", since_version=1), ["S305"]),
        (lambda m: m.operator.add(op_type="../../etc/passwd", since_version=1, status=STABLE), ["S215"]),
        (lambda m: m.operator.add(since_version=1, status=STABLE), ["S105"]),
        (lambda m: m.functions.append(m.functions[0]), ["S305"]),
        (lambda m: setattr(m.functions[0], "name", "Other"), ["S307"]),
        (lambda m: setattr(m.functions[0], "domain", "com.other"), ["S307"]),
        (lambda m: m.functions[0].node[2].input.append("nothing"), ["S307"]),
        (lambda m: m.functions[0].node[2].input.extend(["", "nothing"]), ["S307"]),
        (lambda m: m.functions[0].node[2].output.append("X"), ["S307"]),
        (lambda m: [m.functions[0].node[at].output.extend(["", name]) for at, name in ((0, "W"), (2, "X"))], ["S307"]),
        (lambda m: m.functions[0].output.append("W"), ["S307"]),
        (lambda m: m.functions[0].input.append("X"), ["S307"]),
        (lambda m: m.functions[0].attribute.append("alpha"), ["S307"]),
        (lambda m: m.functions.extend([onnx.parser.parse_function(SCALED.replace("Scaled", "Other"))] * 2),
         ["S307", "S305"]),
        (lambda m: m.functions.extend([m.functions[0], onnx.parser.parse_function(SCALED.replace("Scaled", "Other"))]),
         ["S305", "S307"]),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_message_is_refused(foreign, change, expected):
    assert codes(edited(foreign, change)) == expected


@pytest.mark.parametrize(
    ("old", "why"),
    [
        (b"Scales X.", "a text of the operator 'Scaled' is not UTF-8"),
        (b"\x12\x01m", "a text of the function 'Scaled' is not UTF-8"),
    ],
)
def test_texts_that_are_not_utf8_are_refused(foreign, old, why):
    data = foreign.SerializeToString()
    assert old in data
    with pytest.raises(SchemaError) as caught:
        load_operator_set(data.replace(old, old[:-1] + b"\xff", 1))
    finding = caught.value.findings[0]
    assert (finding.code, finding.message) == ("S302", why)


def test_a_document_has_bounds_on_nodes_and_on_faults(foreign, monkeypatch, tmp_path):
    monkeypatch.setattr(reading, "MAX_FUNCTION_NODES", 5)
    assert load_operator_set(foreign).schemas[2].function
    monkeypatch.setattr(reading, "MAX_FUNCTION_NODES", 4)
    with pytest.raises(SchemaError) as caught:
        load_operator_set(foreign)
    assert [each.message for each in caught.value.findings] == ["the function 'Scaled' has more than 4 nodes"]
    for operator in foreign.operator:
        operator.since_version = 0
    del foreign.functions[:]
    assert codes(foreign) == ["S105"] * 3
    monkeypatch.setattr(reading, "MAX_FOLDER_FINDINGS", 2)
    assert codes(foreign) == ["S105", "S105", "S302"]
    monkeypatch.setattr(reading, "MAX_FOLDER_FINDINGS", 1)
    assert codes(foreign) == ["S105", "S302"]
    path = tmp_path / "own.yaml"
    path.write_text(f"{TEXT}- 1\n- 2\n")
    with pytest.raises(SchemaError) as caught:
        load_operator_set(path)
    one, last = caught.value.findings
    assert (one.code, one.place) == ("S105", f"{path}:6:3")
    assert (last.code, last.message) == ("S302", "not all of the document was read")
    assert (last.why, last.place, last.file) == ("what was read has too many faults", "", str(path))


def test_all_that_is_wrong_is_reported_at_once(foreign):
    foreign.operator.add(op_type="a/b", since_version=1, status=STABLE)
    foreign.operator.add(op_type="Named", since_version=1, status=STABLE)
    foreign.functions[0].node[2].input.append("nothing")
    assert sorted(codes(foreign)) == ["S215", "S305", "S307"]


def test_functions_that_use_each_other_are_refused(foreign):
    foreign.operator[2].since_version = 1
    for one, other in (("Named", "Odd"), ("Odd", "Named")):
        head = '<opset_import: ["": 17, "com.foreign": 3], domain: "com.foreign">'
        text = f"{head} {one} (X) => (Y) {{ Y = com.foreign.{other} (X) }}"
        foreign.functions.append(onnx.parser.parse_function(text))
    assert codes(foreign) == ["S238"]


def carrier_edited(change):
    message = pb.OperatorSetProto.FromString(get_operator_set("com.example", schemas=[OWN]).to_bytes())
    change(message)
    return message.SerializeToString()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda m: setattr(m.operator[0], "since_version", 1), ["S306"]),
        (lambda m: setattr(m.operator[0], "status", EXPERIMENTAL), ["S306"]),
        (lambda m: m.ClearField("operator"), ["S306"]),
        (lambda m: setattr(m.functions[0], "name", "Other"), ["S306"]),
        (lambda m: setattr(m.functions[0].metadata_props[0], "value", "{"), ["S302"]),
        (lambda m: setattr(m.functions[0].metadata_props[0], "value", "[" * 5000), ["S302"]),
        (lambda m: setattr(m.functions[0].metadata_props[0], "value", '{"operator": "Stretch"}'), ["S104", "S104"]),
        (lambda m: m.functions[0].metadata_props.add(key="opset.type_sets", value='{"floats": ["int8"]}'), ["S306"]),
        (lambda m: m.functions.add(name="Stretch", domain="com.example", input=["Z"]), ["S306"]),
        (lambda m: [m.functions.add(name=name, domain="com.example", overload=CARRIER).metadata_props.add(
            key="opset.type_sets", value=value) for name, value in (("A", '{"mine": ["int8"]}'),
                                                                    ("B", '{"mine": ["int16"]}'))], ["S306"]),
        (lambda m: m.functions.add().MergeFromString(onnx.parser.parse_function(
            '<opset_import: ["": 17], domain: "com.example"> Stretch (X, times) => (Y) { Y = Identity (X) }'
        ).SerializeToString()), ["S306"]),  # which has no attribute
        (lambda m: setattr(m.functions[0].metadata_props[0], "value", '{"operator": "Stretch", "family": "f", '
                           '"versions": [{"since": 2, "deprecated": true, "doc": "d"}]}'), ["S306"]),
    ],
)  # fmt: skip
def test_a_message_that_contradicts_its_declarations_is_refused(change, expected):
    assert codes(carrier_edited(change)) == expected


ONE = "- {operator: A, family: f, versions: [{since: 1, doc: d}]}\n"
STARTS = [b"", b"\n\tONNXOPSET", b'{"magic": "ONNXOPSET",', b"magic: ONNXOPSET\n"]
TEXT = f"magic: ONNXOPSET\ndomain: com.acme\nopset_version: 1\noperators:\n{ONE}"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("ONNXOPSET", "ONNX", ["S301"]),
        ("magic: ONNXOPSET", "operator: A", ["S301"]),
        ("domain: com.acme", "domain: com..acme", ["S303"]),
        ("domain: com.acme\n", "", ["S104"]),
        ("opset_version: 1", "opset_version: 0", ["S304", "S304"]),
        ("since: 1", "since: 2", ["S304"]),
        ("doc: d", "dog: d", ["S103", "S104"]),
        ("operators:", "more: 1\noperators:", ["S103"]),
        (
            "operators:",
            "type_sets: {own: [nothing], floats: [int8], more: [nothing]}\noperators:",
            ["S306", "S107", "S107"],
        ),
        ("operators:", "type_sets: {floats: [nothing]}\noperators:", ["S107"]),
        ("operator: A", "operator: a b", ["S215"]),
        ("operator: A, ", "", ["S104"]),
        ("operator: A", "operator: 1", ["S105"]),
        (ONE, "- 1\n", ["S105"]),
        (ONE, f"{ONE}- 1\n", ["S105"]),
        (ONE, ONE + ONE, ["S305"]),
        ("operators:", "x: &x [1]\noperators:", ["S101", "S103"]),
    ],
)
def test_what_is_wrong_in_yaml_is_refused_with_its_place(old, new, expected):
    text = TEXT.replace(old, new, 1)
    with pytest.raises(SchemaError) as caught:
        load_operator_set(text.encode())
    assert sorted(each.code for each in caught.value.findings) == sorted(expected)
    right = load_operator_set(TEXT.encode())
    assert right.schemas[0].name == "A" and right.to_bytes("yaml").startswith(TEXT.partition("- ")[0].encode())


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "S301"), (b"{", "S302"), (b"{}", "S301"), (b"[]", "S301"), (b'{"magic": 1}', "S301"),
        (b"\n\tONNXOPSET\x08", "S302"), (b"\n\tONNXOPSET2\x04\xff\xfe\xfd\xfc", "S302"),
        (b"\x00" * 100, "S301"), (b"text", "S301"), (b"\xff\xfe", "S101"),
        (b'{"a":' * 100_000, "S302"), (b"a: " * 3, "S101"), (b" " * (MAX_DOCUMENT + 1), "S302"),
        (b'{"magic": "ONNXOPSET", "magic": 1}', "S302"), (b'{"\\ud800": 1, "magic": "ONNXOPSET"}', "S101"),
    ],
)  # fmt: skip
def test_bytes_that_are_no_document_are_refused(data, expected):
    assert codes(data)[0] == expected


def test_a_pipe_is_no_document(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert codes(tmp_path / "pipe") == ["S301"]
    with pytest.raises(SchemaError, match="S301"):
        registry_with([tmp_path / "pipe"])


@given(st.binary(max_size=400), st.sampled_from(STARTS))
@settings(max_examples=draws(300))
def test_any_bytes_are_read_or_refused(data, start):
    try:
        load_operator_set(start + data)
    except SchemaError as error:
        assert error.findings


@given(st.data())
@settings(max_examples=draws(300))
def test_a_message_with_changed_bytes_is_read_or_refused(data):
    whole = bytearray(load_operator_set(TEXT.encode()).to_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(whole) - 1))
        whole[position] = data.draw(st.integers(0, 255))
    try:
        load_operator_set(bytes(whole))
    except SchemaError as error:
        assert error.findings


# The command line


def test_a_document_goes_out_and_comes_back(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for form, name in (("proto", "own.onnxopset"), ("yaml", "own.yaml"), ("json", "own.json")):
        done = run("export", "--domain", "com.example", "--schemas", OWN, "-o", name)
        assert done.exit_code == 0 and done.stdout == f"wrote {name}: com.example 2, 1 operator\n"
        done = run("import", name, "-o", form, "--format", "json")
        assert done.exit_code == 0, done.stderr
        report = json.loads(done.stdout)
        assert report["files"] == [f"{form}/com.example/Stretch.yaml"] and report["operators"] == ["Stretch"]
        assert report["notes"] == ["adapters are written in Python, which a document does not hold: Stretch"]
        ours, theirs = (registry_with([each]).versions("Stretch", "com.example") for each in (OWN, form))
        assert ours == theirs and [each.change for each in ours] == [each.change for each in theirs]
        assert run("list", "--domain", "com.example", "--schemas", name).exit_code == 0
    texts = {Path(form, "com.example/Stretch.yaml").read_text(encoding="utf-8") for form in FORMS}
    assert len(texts) == 1


@pytest.mark.parametrize("more", [0, 1, 2])
def test_a_document_from_stdin_may_have_as_many_bytes_as_a_file(tmp_path, monkeypatch, more):
    monkeypatch.chdir(tmp_path)
    text = get_operator_set("com.example", schemas=registry_with([OWN])).to_bytes("yaml")
    for module in ("opset.cli.import_", "opset.opsets.documents.reading"):
        monkeypatch.setattr(f"{module}.MAX_DOCUMENT", len(text))
    done = run("import", "-", "-o", "made", stdin=text + b" " * more)
    assert done.exit_code == (3 if more else 0) and ("the document is too large" in done.stderr) == bool(more)
    assert Path("made").exists() == (not more)


@pytest.mark.parametrize(
    ("form", "options"), [("yaml", []), ("yaml", ["--format", "yaml"]), ("json", ["-o", "-", "--format", "json"])]
)
@pytest.mark.parametrize("is_terminal", [False, True])
def test_text_goes_to_stdout_and_to_a_terminal(form, options, is_terminal, capfdbinary, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    asked = ["export", "--domain", "com.example", "--schemas", str(OWN), *options]
    assert cli.main(asked, standalone_mode=False) == 0
    written = get_operator_set("com.example", schemas=registry_with([OWN])).to_bytes(form)
    assert capfdbinary.readouterr() == (written, b"")


def test_a_message_goes_to_a_pipe(capfdbinary):
    asked = ["export", "--domain", "com.example", "--schemas", str(OWN), "--format", "proto"]
    assert cli.main(asked, standalone_mode=False) == 0
    ours = get_operator_set("com.example", schemas=registry_with([OWN]))
    assert capfdbinary.readouterr().out == ours.to_bytes("proto")


def test_nothing_is_overwritten_or_half_written(tmp_path, monkeypatch, foreign):
    monkeypatch.chdir(tmp_path)
    Path("foreign").write_bytes(foreign.SerializeToString())
    Path("schemas/com.foreign").mkdir(parents=True)
    Path("schemas/com.foreign/Odd.yaml").write_text("mine")
    done = run("import", "foreign")
    assert done.exit_code == 2 and "error[U102]" in done.stderr
    assert [each.name for each in Path("schemas/com.foreign").iterdir()] == ["Odd.yaml"]
    assert Path("schemas/com.foreign/Odd.yaml").read_text() == "mine"
    foreign.operator.add(op_type="ODD", since_version=1, status=STABLE)
    Path("foreign").write_bytes(foreign.SerializeToString())
    assert "error[U102]" in run("import", "foreign", "-o", "other").stderr and not Path("other").exists()


def test_a_document_that_cannot_be_read_is_an_unreadable_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bad").write_bytes(b"\n\tONNXOPSET\x08")
    assert run("import", "bad", "-o", "out").exit_code == 3 and not Path("out").exists()
    assert run("import", "nothing").exit_code == 3
    assert run("list", "--schemas", "bad").exit_code == 2
    found = run("lint", "--schemas", "bad")
    assert found.exit_code == 3 and "opset import makes a folder" in found.stdout


def test_a_document_is_read_up_to_a_number_of_operators_and_levels(tmp_path, monkeypatch, foreign):
    count = len(foreign.operator) + len(foreign.functions)
    (tmp_path / "foreign").write_bytes(foreign.SerializeToString())
    assert load_operator_set(tmp_path / "foreign").operators
    for most, words in ((count / 4, "operators$"), ((count - 1) / 4, "operators and functions")):
        monkeypatch.setattr(reading, "MAX_FILES", most)
        with pytest.raises(SchemaError) as caught:
            load_operator_set(tmp_path / "foreign")
        first = next(iter(caught.value.findings))
        assert re.search(words, first.why or first.message)
    value = reduce(lambda inner, _: [inner], range(MAX_DEPTH - 1), 1)
    assert node_of(value, Findings("")).plain() == value
    with pytest.raises(SchemaError, match=rf"S102\] more than {MAX_DEPTH} levels are nested here"):
        node_of([value], Findings(""))


@pytest.mark.parametrize("long", [0, 1])
def test_keys_of_plain_data_have_a_bound(long):
    findings = Findings("")
    node_of({"b": [{"k" * (MAX_KEY + long): 1}]}, findings)
    told = f"a key has at most {MAX_KEY} characters, and {'k' * MAX_KEY!r} has more"
    assert [(each.code, each.message) for each in findings] == [("S102", told)] * long


@pytest.mark.parametrize(
    ("version", "why"), [(3, ""), (4, "version 4: 3 is the highest version of an operator"), (0, "it has no operators")]
)
def test_import_says_what_a_folder_does_not_hold(tmp_path, monkeypatch, foreign, version, why):
    monkeypatch.chdir(tmp_path)
    foreign.opset_version = version or 3
    if not version:
        del foreign.operator[:], foreign.functions[:]
    Path("foreign").write_bytes(foreign.SerializeToString())
    done = run("import", "foreign")
    assert done.exit_code == 0 and ("a folder does not say" in done.stdout) is bool(why) and why in done.stdout


def test_what_import_writes_passes_lint(tmp_path, monkeypatch, foreign):
    monkeypatch.chdir(tmp_path)
    foreign.operator[2].doc_string = "Something odd."
    Path("foreign").write_bytes(foreign.SerializeToString())
    assert run("import", "foreign").exit_code == 0
    done = run("lint", "schemas")
    assert done.exit_code == 0, done.stdout
    assert registry_with(["schemas"]).versions("Scaled", "com.foreign") == registry_with(["foreign"]).versions(
        "Scaled", "com.foreign"
    )


@pytest.mark.parametrize(
    ("name", "form", "begin"),
    [
        ("a.yaml", None, b"magic: "), ("a.json", None, b'{\n "magic"'), ("a.onnxopset", None, b"\n\tONNXOPSET"),
        ("a.yaml", "json", b'{\n "magic"'), ("a.json", "proto", b"\n\tONNXOPSET"), ("a.onnxopset", "yaml", b"magic: "),
    ],
)  # fmt: skip
def test_the_form_of_a_document_is_that_of_the_option_or_of_its_name(tmp_path, monkeypatch, name, form, begin):
    monkeypatch.chdir(tmp_path)
    options = ["--format", form] if form else []
    result = run("export", "--domain", "ai.onnx.preview.training", "-o", name, *options)
    assert result.exit_code == 0 and (tmp_path / name).read_bytes().startswith(begin), (tmp_path / name).read_bytes()[
        :30
    ]


def test_an_operator_set_or_a_folder_may_be_given_alone_and_a_folder_twice():
    operators = get_operator_set("com.example", schemas=OWN)
    forms = [operators, [operators], OWN, str(OWN), [OWN, f"{OWN}/"]]
    found = {tuple(registry_with(each).operators("com.example")) for each in forms}
    assert len(found) == 1 and found != {()}
