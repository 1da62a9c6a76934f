"""Convertibility tables: what they say of well-known transitions, and that conversions of examples bear them out."""

import json
from pathlib import Path
from shutil import copytree

import pytest
from click.testing import CliRunner

from judges.conformance.convertibility import TABLES, contradiction, retyped, row, table, trips
from opset.cli import cli
from opset.docgen.convertibility import KINDS, NOT_RECORDED, Convertibility, _operators_of_bodies, _spans_between
from opset.opsets.registry import default_registry, registry_with
from opset.schemas.model import FunctionBody, OpSchema

OWN = Path(__file__).parents[1] / "opsets" / "own"


def transition(operator, name, domain=""):
    return next(each for each in table(operator, domain)["transitions"] if each["id"] == name)


def refusals(operator, name):
    return {(each["code"], each["why"]) for each in transition(operator, name)["refusals"]}


def names(entries):
    return [each["operator"] for each in entries]


def test_every_target_of_every_version_is_in_one_range():
    for operator in ("Softmax", "Gelu", "Upsample", "Split"):
        found = table(operator, "")
        ids = {each["id"] for each in found["transitions"]}
        for version in found["versions"]:
            targets = [to for each in version["ranges"] for to in range(each["targets"][1], each["targets"][0] - 1, -1)]
            assert targets == list(range(default_registry().domains[""], 0, -1)), (operator, version["since"])
            assert {each["kind"] for each in version["ranges"]} <= {*KINDS}
            assert all(each["text"] and {*each["steps"]} <= ids for each in version["ranges"])
            assert row(operator, "", version["since"], version["since"])["kind"] == "keep"
        assert json.loads(json.dumps(found)) == found


def test_a_written_adapter_has_its_text_operators_and_reasons():
    found = transition("Softmax", "13-11")
    assert (found["kind"], found["how"], found["direction"], found["opset"]) == ("adapt", "written", "down", 12)
    assert found["text"].startswith("Transpose the axis to the end")
    assert names(found["operators"]) == ["Transpose"]
    assert ("C207", "the rank of `input` is not known") in refusals("Softmax", "13-11")
    assert ("C202", "version 11 does not take bfloat16 as `T`") in refusals("Softmax", "13-11")


def test_an_attribute_that_the_target_lacks_is_dropped_where_it_has_the_old_value():
    assert transition("Shape", "15-13")["how"] == "written"
    assert transition("AveragePool", "7-1")["text"] == "Drop `count_include_pad`."
    assert ("C204", "`count_include_pad` is not 0: version 1 has no such attribute") in refusals("AveragePool", "7-1")


def test_types_that_the_target_lacks_are_refused_once():
    lost = "C202", "version 6 does not take bfloat16 as `T`"
    assert refusals("Abs", "13-6") == {lost, ("C203", "the type of an input or output is not known")}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The table of Stretch, whose outcomes `opset test --record` wrote."""
    folder = tmp_path_factory.mktemp("recorded") / "own"
    copytree(OWN, folder)
    assert CliRunner().invoke(cli, ["test", str(folder), "--allow-hooks", "--record"]).exit_code == 0
    return Convertibility(registry_with([folder])).table_of("Stretch", "com.example")


def test_a_domain_of_ones_own_has_the_text_of_its_adapters_and_their_outcomes(recorded):
    found = recorded
    up, down = found["transitions"]
    assert (found["domain"], found["newest"], up["id"], down["id"]) == ("com.example", 2, "1-2", "2-1")
    assert up["text"] == "The number of copies becomes an input; the whole axis is still what is repeated."
    assert [each for each in down["refusals"] if "types" not in each] == [
        {"code": "C204", "why": "before version 2 elements were not repeated by themselves"},
        {"code": "C205", "why": "the value of `times` is computed at run time, or a caller may override it"},
    ]
    assert [each["kind"] for version in found["versions"] for each in version["ranges"]] == [
        "keep",
        "adapt",
        "adapt",
        "keep",
    ]


def test_an_adapter_without_documentation_or_names_of_its_own(tmp_path):
    (tmp_path / "com.example").mkdir()
    for file in (OWN / "com.example").glob("*.yaml"):
        (tmp_path / "com.example" / file.name).write_text(file.read_text())
    (tmp_path / "com.example" / "adapters.py").write_text("""
from functools import partial
from opset.extend import Refusal, down, up

REASONS = {"why": "not <b>now</b>"}

def moved(op, node, code):
    if node.attr("mode") == "each":
        raise Refusal(code, REASONS["why"])
    return getattr(op, "Str" + "etch")(node.input(0))

up("Stretch", since=2, domain="com.example")(partial(moved, code="C204"))
down("Stretch", since=2, domain="com.example")(lambda op, node: op.Absent(op.Relu(node.input(0)), domain="com.example"))
""")
    up, down = Convertibility(registry_with([tmp_path])).table_of("Stretch", "com.example")["transitions"]
    assert up["text"] == f"By a function without documentation, of Stretch.{NOT_RECORDED}"
    assert (up["kind"], down["kind"]) == ("adapt", "adapt")


def test_an_input_without_an_equal_after_one_that_becomes_an_attribute(tmp_path):
    (tmp_path / "com.acme").mkdir()
    (tmp_path / "com.acme" / "Cut.yaml").write_text("""operator: Cut
family: acme
versions:
- since: 2
  change:
    inputs: {added: [size, offset]}
    attributes: {size: {removed: ints, input: size}}
    meaning: It may begin elsewhere.
    adapters: {up: derived, down: derived}
  doc: Cuts.
  inputs:
  - {name: X, type: tensor(float), doc: values}
  - {name: size, type: tensor(int64), doc: how many}
  - {name: offset, type: tensor(int64), optional: true, doc: from where}
  outputs: [{name: Y, type: tensor(float), doc: some}]
- since: 1
  doc: Cuts.
  inputs: [{name: X, type: tensor(float), doc: values}]
  outputs: [{name: Y, type: tensor(float), doc: some}]
  attributes: {size: {type: ints, required: true, doc: how many}}
""")
    found = Convertibility(registry_with([tmp_path])).table_of("Cut", "com.acme")["transitions"]
    assert [(each["code"], each["why"]) for each in found[1]["refusals"]] == [
        ("C204", "the input `offset` is used, which version 1 does not have"),
        ("C205", "the input `size` is computed at run time"),
    ]


def test_adapters_that_are_not_run_refuse():
    found = Convertibility(registry_with([], data=[OWN])).table_of("Stretch", "com.example")
    assert {each["refusals"][0]["code"] for each in found["transitions"]} == {"C105"}
    assert {each["kind"] for each in found["transitions"]} == {"refuse"}


def test_an_operator_is_lowered_by_its_function_body():
    found = row("Gelu", "", 20, 13)
    assert (found["kind"], found["targets"]) == ("lower", [1, 19])
    assert names(found["operators"]) == ["Add", "Cast", "Erf", "Mul", "Tanh"]
    assert found["lowered"] == [{"domain": "ai.onnx", "operator": "Erf", "below": 9}]
    assert transition("Gelu", "20-lowered")["how"] == "body"
    assert row("Add", "", 14, 6)["through"] and not row("Add", "", 14, 6)["lowered"]


@pytest.mark.parametrize(
    ("bodies", "certain", "codes"),
    [
        ([{}], ["Mul"], []),
        ([{"where": (("Z", "absent"),)}], ["Mul"], ["C201"]),
        ([{"where": (("Z", "absent"),)}, {"nodes": "Y = Add (X, X)"}], [], []),
        ([{"types": {"T": ("tensor(float)",)}}], ["Mul"], ["C202", "C203"]),
        ([{"types": {"T": ("tensor(float)",)}}, {}], ["Mul"], ["C203"]),
        ([{"emulate": {"float16": "float"}}, {}], ["Mul"], ["C203"]),
        ([{}, {"nodes": "t = CastLike (X, X) Y = Mul (t, t)"}], ["Mul"], ["C203"]),
    ],
)
def test_what_function_bodies_make_and_refuse(bodies, certain, codes):
    function = tuple(FunctionBody(1, "Y = Mul (X, X)")._replace(**each) for each in bodies)
    made, found, refusals = _operators_of_bodies(OpSchema("com.acme", "Op", 1, "f", function=function), 1)
    assert sorted(name for _, name in found) == certain and found <= made
    assert [each["code"] for each in refusals] == codes


def test_opsets_between_those_at_which_something_changes():
    assert _spans_between({7, 1}, 9) == [(1, 6), (7, 9)]
    assert _spans_between({9, 1, 12}, 9) == [(1, 8), (9, 9)]


def test_a_withdrawn_operator_becomes_its_replacement():
    assert "Resize" in names(row("Upsample", "", 9, 13)["operators"])


@pytest.mark.parametrize("operator", ["OptionalGetElement", "OptionalHasElement"])
def test_what_may_be_removed_on_the_way_need_not_be_expressed_below(operator):
    """Of a value that is no optional, nothing is left of the node; of an optional, it is as old as the operator."""
    assert (row(operator, "", 18, 10)["kind"], row(operator, "", 15, 10)["kind"]) == ("adapt", "refuse")
    assert {"C201", "C202"} <= {*row(operator, "", 18, 10)["codes"]} and row(operator, "", 18, 10)["targets"] == [1, 14]


def test_what_nothing_expresses_is_refused_with_the_reason():
    found = row("ImageDecoder", "", 20, 13)
    assert (found["kind"], found["codes"], found["targets"]) == ("refuse", ["C201"], [1, 19])
    assert found["text"] == "Refused: `ImageDecoder` came with version 20, and nothing older expresses it."


def test_a_step_that_keeps_every_node_is_no_step():
    assert row("Relu", "", 6, 28) == row("Relu", "", 6, 1)
    assert row("Relu", "", 6, 1)["kind"] == "keep"


@pytest.mark.parametrize("operator", ["Relu", "Split", "Clip", "LabelEncoder", "Unsqueeze", "Equal"])
def test_conversions_of_examples_bear_the_tables_out(operator):
    chosen = [trip for trip in trips([operator]) if not trip.to % 4 or trip.schema.domain][::9]
    assert len(chosen) > 5
    assert not [(trip.name, why) for trip in chosen if (why := contradiction(trip)[1])]


def test_types_that_the_target_lacks_refuse_what_an_adapter_always_rewrites():
    assert "C202" in row("Split", "", 2, 1)["codes"]
    chosen = [other for trip in trips(["Split"]) if trip.to == 1 for other in retyped(trip)][::19]
    assert not [(trip.name, why) for trip in chosen if (why := contradiction(trip)[1])]


def test_the_tables_do_not_depend_on_the_order_in_which_they_are_made():
    assert Convertibility(default_registry()).table_of("Where") == TABLES.table_of("Where")


def test_an_operator_of_very_many_versions_has_a_table_of_the_newest(tmp_path):
    version = """
- since: {0}
  change: {{attributes: {{a: {{default: [{1}, {0}]}}}}, adapters: {{up: derived, down: derived}}}}
  doc: Adds nothing.
  inputs: [{{name: x, type: T, doc: values}}]
  outputs: [{{name: y, type: T, doc: the same}}]
  attributes: {{a: {{type: int, default: {0}, doc: a number}}}}
  types: {{T: [float]}}"""
    text = "".join(version.format(each, each - 1) for each in range(100, 0, -1))
    text = text.replace("  change: {attributes: {a: {default: [0, 1]}}, adapters: {up: derived, down: derived}}\n", "")
    (tmp_path / "com.example").mkdir()
    (tmp_path / "com.example" / "Many.yaml").write_text(f"operator: Many\nfamily: example\nversions:{text}\n")
    found = Convertibility(registry_with([tmp_path])).table_of("Many", "com.example")
    oldest = found["versions"][0]["ranges"][-1]
    assert (found["omitted"], len(found["versions"])) == (36, 64)
    assert (oldest["targets"], len(oldest["steps"])) == ([37, 37], 63)


def test_an_operator_is_expressed_from_its_newest_version_on():
    tables = Convertibility(registry_with([Path(__file__).parent / "golden" / "made"]))
    gone, relu = ("com.example", "Gone"), ("", "Relu")
    found = [tables.lowering_of("Late", "com.example", version) for version in (2, 3, 4)]
    assert found == [None, ({gone}, {gone, relu}), None]  # version 4 cannot go down
    assert tables.lowering_of("Nothing", "com.example", 2) is None
    assert tables.lowering_of("Made", "com.example", 2) is None


def test_of_a_domain_with_very_many_changes_only_those_of_the_operator_count(monkeypatch):
    registry = registry_with([Path(__file__).parent / "golden" / "made"])
    whole = Convertibility(registry).table_of("Made", "com.example")
    assert Convertibility(registry)._spans_of(("com.example", "Later"), 1) == [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]
    monkeypatch.setattr("opset.docgen.convertibility.MOST_TARGETS", 5)
    assert Convertibility(registry).table_of("Made", "com.example") == whole
    monkeypatch.setattr("opset.docgen.convertibility.MOST_TARGETS", 4)
    few = Convertibility(registry)
    assert few._spans_of(("com.example", "Later"), 1) == [(1, 2), (3, 5)]
    assert few._spans_of(("com.example", "Made"), 3) == [(3, 4), (5, 5)]
    assert few._spans_of(("com.example", "Made"), 4) == [(5, 5)]
    ranges = [
        [each["targets"] for each in version["ranges"]] for version in few.table_of("Gone", "com.example")["versions"]
    ]
    assert ranges == [[[1, 5]], [[4, 5], [1, 3]]]


JOIN = """\
operator: Join
family: acme
versions:
- since: 2
  change: {attributes: {MOVED}, adapters: {up: derived, down: derived}}
  doc: Joins.
  inputs: [NEW BY]
  outputs: [NEW]
  shape: same(X)
- since: 1
  doc: Joins.
  inputs: [OLD]
  outputs: [OLD]
  attributes: {HELD}
  shape: same(X)
"""
MOVED = {
    "MOVED": "by: {removed: int, input: By}",
    "HELD": "by: {type: int, required: true, doc: step}",
    " BY": ", {name: By, type: tensor(int64), doc: step}",
}


@pytest.mark.parametrize(
    ("old", "new", "words", "up", "down"),
    [
        (
            ["X", "Y"],
            ["X", "Y, optional: true", "Z, optional: true"],
            {},
            [],
            [
                "the input `Y` is left out, which version 1 requires",
                "the input `Z` is used, which version 1 does not have",
                "the output `Y` is left out, which version 1 requires",
                "the output `Z` is used, which version 1 does not have",
            ],
        ),
        (
            ["X", "Y"],
            ["X", "Y, variadic: true"],
            {},
            [],
            ["the node has more inputs than version 1 takes", "the node has more outputs than version 1 has"],
        ),
        (
            ["X"],
            ["X, variadic: true, min_arity: 0"],
            {},
            [],
            [
                "the input `X` is left out, which version 1 requires",
                "the output `X` is left out, which version 1 requires",
                "the node has more inputs than version 1 takes",
                "the node has more outputs than version 1 has",
            ],
        ),
        (
            ["X", "Y, variadic: true"],
            ["X", "Y, optional: true"],
            {},
            ["the node has more inputs than version 2 takes", "the node has more outputs than version 2 has"],
            [],
        ),
        (
            ["X"],
            ["X, optional: true"],
            MOVED,
            [],
            [
                "the input `By` is no single number",
                "the input `X` is left out, which version 1 requires",
                "the output `X` is left out, which version 1 requires",
                "the input `By` is computed at run time",
            ],
        ),
    ],
)
def test_inputs_and_outputs_that_only_one_version_has_or_requires(tmp_path, old, new, words, up, down):
    text = JOIN
    for word, value in ({"MOVED": "", "HELD": "", " BY": ""} | words).items():
        text = text.replace(word, value)
    for word, formals in (("OLD", old), ("NEW", new)):
        text = text.replace(word, ", ".join(f"{{name: {each}, type: tensor(float), doc: one}}" for each in formals))
    (tmp_path / "com.acme").mkdir()
    (tmp_path / "com.acme" / "Join.yaml").write_text(text)
    found = Convertibility(registry_with([tmp_path])).table_of("Join", "com.acme")["transitions"]
    assert [[each["why"] for each in transition["refusals"]] for transition in found] == [up, down]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("int", "float", ["Write `k` as float.", "Write `k` as int."]),
        ("float", "int", ["Write `k` as int.", "Write `k` as float."]),
        (
            "int, kind: data_type",
            "string, kind: data_type",
            ["Write `k` as the name of the element type.", "Write `k` as the number of the element type."],
        ),
    ],
)
def test_an_attribute_of_another_type_is_written_as_that(tmp_path, old, new, words):
    types = f"{old.partition(',')[0]}, {new.partition(',')[0]}"
    text = (
        JOIN.replace("MOVED", f"k: {{type: [{types}]}}")
        .replace(" BY", "")
        .replace("HELD", f"k: {{type: {old}, doc: a}}")
    )
    text = text.replace("OLD", "X").replace("NEW", "X").replace("inputs: [X]", f"inputs: [{FORMAL}]")
    text = text.replace("outputs: [X]", f"outputs: [{FORMAL}]")
    text = text.replace("  shape", f"  attributes: {{k: {{type: {new}, doc: a}}}}\n  shape", 1)
    (tmp_path / "com.acme").mkdir()
    (tmp_path / "com.acme" / "Join.yaml").write_text(text)
    found = Convertibility(registry_with([tmp_path])).table_of("Join", "com.acme")["transitions"]
    assert [transition["text"] for transition in found] == words


FORMAL = "{name: X, type: tensor(float), doc: one}"
