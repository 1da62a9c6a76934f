"""Recorded outcomes of conversions: the table beside the YAML, what is stale, and the wording of refusals."""

import ast
import json
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from shutil import copytree
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from opset.cli import cli
from opset.docgen.outcomes import FILE, RecordedOutcome, read_table, tables_of, write_table
from opset.errors import Finding, SchemaError
from opset.opsets.registry import default_registry, registry_with
from opset.schemas.example import Example, ExampleValue
from opset.version_converter.rewrite import Refusal
from opset.version_converter.routes import Routes, RouteStep
from opset.version_converter.targets import Target
from opset.workflow.examples.examination import examine_subject
from opset.workflow.examples.outcomes import (
    RecordingRoutes,
    _targets,
    plain_forms,
    record_outcomes,
    stale_tables,
    varied_forms,
    write_tables,
)

OWN = Path(__file__).parents[1] / "opsets" / "own"
ADAPTERS = Path(__file__).parents[2] / "opset" / "adapters"


@pytest.fixture
def folder(tmp_path):
    copytree(OWN, tmp_path / "own")
    return tmp_path / "own"


def run(folder, *arguments):
    return CliRunner().invoke(cli, ["test", str(folder), "--allow-hooks", *arguments], catch_exceptions=False)


def test_without_a_table_nothing_is_compared_and_record_writes_one(folder):
    file = folder / "com.example" / FILE
    assert run(folder).exit_code == 0
    assert not file.exists()
    assert run(folder, "--record").exit_code == 0
    up, down = (read_table(file)["Stretch"][name] for name in ("1-2", "2-1"))
    made = ("Constant", "com.example.Stretch")  # of the opset that the examples' IR version has
    assert (up.always, up.sometimes, up.stays, up.refused) == (made, (), False, ())
    assert (down.always, down.stays) == (("com.example.Stretch",), False)
    assert {code for code, _ in down.refused} == {"C204", "C205"}
    assert run(folder).exit_code == 0
    written = file.read_bytes()
    file.unlink()
    assert run(folder, "--record", "--only", "conversion").exit_code == 0 and file.read_bytes() == written


def test_a_table_without_an_operator_is_stale(folder):
    file = folder / "com.example" / FILE
    file.write_text("{}")
    found = run(folder)
    assert found.exit_code == 1 and "transitions 1-2, 2-1" in found.output
    assert "Stretch: what conversions do with its examples is not what conversions.json says" in found.output
    assert run(folder, "--record").exit_code == 0 and run(folder).exit_code == 0


@pytest.mark.parametrize("name", ["Det", "Squeeze", "Where"])
def test_the_table_of_the_standard_is_what_its_examples_show(name):
    # For all operators: opset test
    registry = default_registry()
    events = {event for schema in registry.versions(name) for event in record_outcomes(registry, schema)}
    assert events and not stale_tables(registry, [("", name)], events)


def test_a_table_that_is_not_what_examples_show_is_stale(folder):
    assert run(folder, "--record").exit_code == 0
    file = folder / "com.example" / FILE
    written = file.read_text()
    file.write_text(written.replace("elements were", "elements had been"))
    found = run(folder)
    assert found.exit_code == 1
    assert "T113" in found.output
    assert "opset test Stretch --record" in found.output
    assert run(folder, "-k", "whole").exit_code == 0  # which is no reason to compare
    assert run(folder, "--record").exit_code == 0
    assert file.read_text() == written


def test_a_table_keeps_operators_that_were_not_tested_and_forgets_those_that_are_gone(folder):
    registry, stretch = registry_with([folder]), ("com.example", "Stretch")
    file = folder / "com.example" / FILE
    assert write_tables(registry, [stretch], set()) == [] and not file.exists()
    for name in ("Second", "Untested"):
        (folder / "com.example" / f"{name}.yaml").touch()
    stated = {"1-2": RecordedOutcome(("Identity",), (), False, ())}
    write_table(file, dict.fromkeys(("Gone", "Stretch", "Untested"), stated))
    events = {
        *((*stretch, "1-2", made, None) for made in (("Mul", "Add"), ("Mul",))),
        *((*stretch, "1-2", None, refusal) for refusal in (("C204", "it is one"), ("C103", "any node"))),
        (*stretch, "2-1", None, None),
        ("com.example", "Second", "2-1", ("Neg",), None),
    }
    (finding,) = stale_tables(registry, [stretch, ("com.example", "Absent")], events)
    assert finding == Finding(
        "T113",
        "Stretch: what conversions do with its examples is not what conversions.json says",
        str(file),
        "transitions 1-2, 2-1",
        "opset test Stretch --record writes it; read the difference",
    )
    assert write_tables(registry, [stretch, ("com.example", "Absent")], events) == [file]
    outcomes = {
        "1-2": RecordedOutcome(("Mul",), ("Add",), False, (("C204", "it is one"),)),
        "2-1": RecordedOutcome((), (), True, ()),
    }
    assert read_table(file) == {"Stretch": outcomes, "Untested": stated}
    assert stale_tables(registry, [stretch], events) == []
    file.unlink()
    second = ("com.example", "Second")
    assert write_tables(registry, [second, stretch], events - {("com.example", "Second", "2-1", ("Neg",), None)}) == [
        file
    ]
    write_table(file, {"Stretch": outcomes, "Untested": stated})
    assert write_tables(registry, [stretch, second], events) == [file]
    made = {"2-1": RecordedOutcome(("Neg",), (), False, ())}
    assert read_table(file) == {"Second": made, "Stretch": outcomes, "Untested": stated}
    assert write_tables(registry, [stretch, second], set()) == [file]
    assert read_table(file) == {"Untested": stated}


def test_one_of_several_versions_is_no_reason_to_compare_a_table(folder):
    assert run(folder, "--record").exit_code == 0
    file = folder / "com.example" / FILE
    file.write_text(file.read_text().replace("elements were", "elements had been"))
    here = ("--schemas", str(folder), "--allow-hooks")
    assert "T113" in CliRunner().invoke(cli, ["test", "Stretch", *here]).output
    alone = CliRunner().invoke(cli, ["test", "Stretch@2", *here])
    assert alone.exit_code == 0 and "T113" not in alone.output
    assert CliRunner().invoke(cli, ["test", "Stretch@2", *here, "--record"]).exit_code == 2


def test_an_operator_without_examples_is_named(folder):
    for path in (folder / "com.example").glob("*.yaml"):
        path.write_text(path.read_text().partition("examples:")[0])
    found = run(folder, "--only", "kernel")
    assert found.exit_code == 1 and "com.example.Stretch has no examples" in found.output


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"A": {"1-2": {}}}', '{"A": {"1-2": {"always": [1], "sometimes": [], "stays": 0, "refused": {}}}}'],
)
def test_a_table_that_cannot_be_read_is_said(folder, text):
    file = folder / "com.example" / FILE
    file.write_text(text)
    with pytest.raises(SchemaError, match="cannot be read"):
        read_table(file)


def test_a_table_that_is_removed_while_tables_are_read_is_empty(tmp_path, monkeypatch):
    file = tmp_path / "com.example" / FILE
    monkeypatch.setattr("opset.docgen.outcomes.files_named", lambda folder, name: [file])
    assert tables_of(SimpleNamespace(folders=())) == {"com.example": {}}


def test_some_examples_alone_are_not_recorded(folder):
    assert run(folder, "--record", "-k", "whole").exit_code == 2


def test_reasons_of_the_standard_name_nothing_of_a_node():
    reasons = [why for table in tables_of(default_registry()).values() for steps in table.values()
               for outcome in steps.values() for _, why in outcome.refused]  # fmt: skip
    assert len(reasons) > 200
    assert not [why for why in reasons if re.search(r"(in|out)put_\d|…", why)]


def parts_without_label(function):
    """Yield the line of each refusal without a label, and the parts of its reason that a node decides."""
    assigned = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            assigned.setdefault(node.targets[0].id, []).append(node.value)
    for call in ast.walk(function):
        named = getattr(call.func, "id", "") if isinstance(call, ast.Call) else ""
        if named not in ("Refusal", "ambiguity") or function.name == "ambiguity":
            continue
        reason = call.args[0 if named == "ambiguity" else 1]
        general = getattr(call.args[0], "value", "") in ("C103", "C206")
        if not general and not any(keyword.arg == "label" for keyword in call.keywords):
            for value in assigned.get(reason.id, []) if isinstance(reason, ast.Name) else [reason]:
                for part in ast.walk(value):
                    if isinstance(part, ast.FormattedValue) and not ast.unparse(part.value).isupper():
                        yield call.lineno, ast.unparse(part.value)


@pytest.mark.parametrize("file", sorted(ADAPTERS.rglob("*.py")), ids=lambda file: file.stem)
def test_a_refusal_that_names_parts_of_a_node_has_a_label(file):
    functions = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)]
    assert not [entry for function in functions for entry in parts_without_label(function)]


def test_a_reason_that_is_stated_beside_an_adapter_is_one_that_adapters_raise():
    nodes = [node for file in ADAPTERS.rglob("*.py") for node in ast.walk(ast.parse(file.read_text()))]
    texts = Counter(str(node.value).replace("'", "`") for node in nodes if isinstance(node, ast.Constant))
    calls = [node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "refuses"]
    named = {node.targets[0].id: node.value.value for node in nodes  # a reason that stands once has a name
             if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
             and isinstance(node.value, ast.Constant)}  # fmt: skip
    reads = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    reasons = [each for call in calls for each in call.args[1:]]
    assert not [
        each.id for each in reasons if isinstance(each, ast.Name) and (each.id not in named or reads[each.id] < 3)
    ]
    stated = Counter(each.value for each in reasons if isinstance(each, ast.Constant))
    assert len(stated) > 40
    assert not [reason for reason, count in stated.items() if texts[reason] <= count]


@pytest.mark.parametrize("refused", [{"C999": ["why"]}, {"C204": [1]}])
def test_a_table_states_known_codes_and_texts(tmp_path, refused):
    entry = {"always": [], "sometimes": [], "stays": True, "refused": {"C204": ["why"]}}
    (tmp_path / FILE).write_text(json.dumps({"Stretch": {"1-2": entry}}))
    assert read_table(tmp_path / FILE)["Stretch"]["1-2"].refused == (("C204", "why"),)
    (tmp_path / FILE).write_text(json.dumps({"Stretch": {"1-2": {**entry, "refused": refused}}}))
    with pytest.raises(SchemaError) as caught:
        read_table(tmp_path / FILE)
    assert caught.value.code == "T113"


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("BatchNormalization", 9, [1, 5, 6, "near 8", "near 14", 15, 28]),
        ("Softmax", 11, ["near 13", 28]),
        ("Clip", 11, [1, 5, "near 10"]),
        ("Upsample", 9, []),
    ],
)
def test_opsets_to_which_outcomes_are_recorded(name, version, expected):
    registry = default_registry()
    targets = _targets(Routes(registry), registry, registry.schema(name, version))
    assert [f"near {each.opsets['']}" if near else each.opsets[""] for each, near in targets] == expected


def test_outcomes_of_a_lowering_are_recorded_of_an_operator_of_another_domain():
    registry = default_registry()
    schema = registry.schema("Scaler", 1, "ai.onnx.ml")
    lowering = RouteStep(schema, schema, 0, None, lambda op, node: None, "", True, lowers=True)
    routes = SimpleNamespace(step=lambda domain, name, version, final: None if final else lowering)
    target = Target({}, lowered=frozenset({("Scaler", "ai.onnx.ml")}))
    assert [*_targets(routes, registry, schema)] == [(target, True)]


UNUSED = "the output `Mask` is used, which has no equal at version 7"


@pytest.mark.parametrize(
    ("outputs", "result", "made", "events"),
    [
        (["y"], None, [], {(None, None)}),
        (["y"], "z", ["", "com.acme"], {(("Abs", "com.acme.Abs"), None)}),
        (["y"], "z", [], {(("Identity",), None)}),
        (["y", ""], ("z",), [""], {(("Abs",), None)}),
        (["y", ""], ("z", ""), [""], {(("Abs",), None)}),
        (["y", "m"], ["z", "n"], [""], {(("Abs",), None)}),
        (["y", "m"], "z", [""], {(("Abs",), None), (None, ("C204", UNUSED))}),
        (["y", "m"], ("z", ""), [""], {(("Abs",), None), (None, ("C204", UNUSED))}),
        (["y", "m", "more"], ("z", "n"), [""], {(("Abs",), None)}),  # the operator has two outputs
        (["y"], Refusal("C205", "it is one"), [""], {(None, ("C205", "it is one"))}),
    ],
)
def test_what_an_adapter_did_is_an_event(outputs, result, made, events):
    def adapter(op, node):
        if isinstance(result, Refusal):
            raise result
        return result

    schema = SimpleNamespace(
        domain="com.acme", name="It", since_version=9, outputs=[SimpleNamespace(name=each) for each in ("Y", "Mask")]
    )
    target = SimpleNamespace(since_version=7)
    step = SimpleNamespace(adapter=adapter, source=schema, target=target, version=7, lowers=False)
    recorded = set()
    op = SimpleNamespace(made=[(SimpleNamespace(domain=each, op_type="Abs"), None) for each in made])
    call = partial(
        RecordingRoutes._call,
        SimpleNamespace(_events=recorded),
        step,
        op,
        SimpleNamespace(outputs=outputs, schema=schema),
    )
    if isinstance(result, Refusal):
        with pytest.raises(Refusal):
            call()
    else:
        assert call() is result
    assert recorded == {("com.acme", "It", "9-7", *each) for each in events}


def form(model):
    """What is known of each input of a model: a type with sizes, "constant", or the operator that computes it."""
    known = {}
    for each in model.graph.input:
        tensor = each.type.tensor_type
        dims = [each.dim_param or each.dim_value for each in tensor.shape.dim] if tensor.HasField("shape") else None
        known[each.name] = (tensor.elem_type, dims)
    known |= {each.name: "constant" for each in model.graph.initializer}
    known |= {name: node.op_type for node in model.graph.node[:-1] for name in node.output}
    domains = {each.domain for each in model.opset_import}
    return [known[name] for name in sorted(known)], "example.unknown" in domains


def test_forms_of_an_example_in_which_less_is_known():
    values = ExampleValue("tensor(float)", [1.0, 2.0], (2,)), ExampleValue("tensor(int64)", [1], (1,))
    example = Example("it", 13, inputs=values, outputs=values[:1])
    schema = default_registry().schema("Expand", 13)
    whole = [(1, [2]), (7, [1])]
    assert [form(each) for each in plain_forms(schema, example)] == [(whole, False), ([whole[0], "constant"], False)]
    found = [form(each) for each in varied_forms(schema, example)]
    assert found[:9] == [
        ([(1, [2]), "constant"], False),
        ([(1, ["size_0"]), "constant"], False),
        ([(1, None), "constant"], False),
        (["Unknown", "constant"], True),
        ([(1, [2]), (7, [1])], False),
        ([(1, [2]), (7, ["size_0"])], False),
        ([(1, [2]), (7, None)], False),
        ([(1, [2]), "Unknown"], True),
        ([(1, None), (7, None)], False),
    ]
    types = {each[0][0] for each, _ in found[9:]}
    assert {11, 10, 6, 9} <= types and all(each[1] == "constant" for each, _ in found[9:])
    one = example._replace(inputs=values[:1])
    relu = default_registry().schema("Relu", 14)
    assert [form(each)[0] for each in varied_forms(relu, one)][:4] == [
        [(1, [2])],
        [(1, ["size_0"])],
        [(1, None)],
        ["Unknown"],
    ]
    assert len({str(form(each)[0]) for each in varied_forms(relu, one)} - {"[(1, None)]"}) > 6
    mixed = replace(relu, types={"T": ("seq(tensor(float))", "tensor(double)", "optional(tensor(float))")})
    assert [form(each)[0] for each in varied_forms(mixed, one)][4:] == [[(11, [2])]]
    where = default_registry().schema("Where", 16)
    three = example._replace(inputs=(ExampleValue("tensor(bool)", [True], (1,)), values[0], values[0]))
    unknown = [[each == "Unknown" for each in form(each)[0]] for each in varied_forms(where, three)]
    assert [unknown[number] for number in (3, 7, 11)] == [[True, False, False], *[[False, True, True]] * 2]
    cast = default_registry().schema("Cast", 21)
    found = [form(each)[0] for each in varied_forms(cast, one)][4 : 4 + len(cast.types["T1"]) + 2]
    # Each type of T1 as that of the input; those that older versions lack, as that of a constant, too.
    assert [each for (each,) in found if each[0] in (11, 21, 22, "c")] == [
        (11, [2]),
        (22, [2]),
        "constant",
        (21, [2]),
        "constant",
    ]
    assert [each for (each,) in found if each == "constant"] == ["constant"] * 2


def test_outcomes_are_not_recorded_if_a_test_ends_in_an_internal_error(tmp_path, monkeypatch):
    def examine(runner, subject, parts):
        if subject.example and (parts == ("kernel",) or subject.example == "whole_axis"):
            raise RuntimeError("such")
        return examine_subject(runner, subject, parts)

    copytree(OWN, tmp_path / "own")
    file = tmp_path / "own" / "com.example" / FILE
    command = ["test", str(tmp_path / "own"), "--allow-hooks"]
    monkeypatch.setattr("opset.cli.test.examine_subject", examine)
    for more in ([], ["--record"], ["--only", "kernel", "-j", "2"]):
        found = CliRunner().invoke(cli, [*command, *more])
        assert found.exit_code == 70 and found.stderr.startswith(
            "opset: internal error: RuntimeError: such (test_outcomes"
        )
        assert found.stderr.count("internal error") == 1 and not file.exists()
