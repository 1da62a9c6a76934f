"""`opset new` and `opset bump`: what they write lints once it is filled in, and every other byte stays as it is.

python -m tests.workflow.test_authoring      # writes authored.txt; read the difference
"""

import ast
import builtins
import difflib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opset
from opset.errors import SchemaError, UsageError
from opset.opsets.registry import Registry, default_registry
from opset.opsets.releases import RELEASES
from opset.reference import registration as kernels
from opset.schemas.index import FOLDER, compile_operators, standard_index
from opset.schemas.lint.context import LINT, LintContext
from opset.schemas.lock import read_lock, signature_hash
from opset.schemas.model import Attribute, OpSchema, Parameter
from opset.schemas.yaml.folders import operator_files
from opset.schemas.yaml.keys import CHANGE_KEYS, GUIDANCE
from opset.schemas.yaml.layout import dump_operator
from opset.schemas.yaml.loader import MAX_VERSION, load_operator, parse_operator, standard_sets
from opset.schemas.yaml.reader import MAX_SIZE
from opset.version_converter import registration as adapters
from opset.workflow.authoring import destinations
from opset.workflow.authoring.blocks import lines_of
from opset.workflow.authoring.bump import (
    _compare_operator,
    _is_incomplete,
    add_version,
    bump,
    compare_with_lock,
    complete_version,
)
from opset.workflow.authoring.destinations import Destination, check_since, destination_of, next_version, split_name
from opset.workflow.authoring.new import _choose_family, _find_original, _initial_document, new_operator, operator_text
from opset.workflow.authoring.stubs import (
    WIDTH,
    _add_imports,
    adapter_stub,
    add_stubs,
    conflicting_definition,
    inference_stub,
    is_registered,
    kernel_stub,
    snake_case,
)
from tests.cli.commands import run
from tests.schemas.linting import lint

PACKAGE = Path(opset.__file__).parent
SETS = standard_sets()
FILES = operator_files(FOLDER)
CONTEXT = LintContext(SETS, read_lock(FOLDER), {("", path.stem) for path in FILES}, None, None, None, True)
SINCE = 1000
EXAMPLE = "examples:\n- {name: plain, since: 1, inputs: [{float: [1, 2]}], outputs: [{float: [1, 2]}]}\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "schemas" / "com.acme"


def filled(folder, name="Thin"):
    """Write an operator, and fill in what is left."""
    new_operator(f"com.acme.{name}")
    path = folder / f"{name}.yaml"
    path.write_text(path.read_text().replace('doc: ""', "doc: it") + EXAMPLE)
    return path


def codes(folder):
    return [finding.code for finding in lint([folder.parent])]


def test_the_newest_version_is_that_of_the_own_domain(folder):
    filled(folder)
    other = folder.parent / "com.other"
    other.mkdir()
    text = (folder / "Thin.yaml").read_text().replace("since: 1", "since: 7")
    (other / "Thick.yaml").write_text(text.replace("operator: Thin", "operator: Thick"))
    newest = [destination_of(domain, folder.parent).newest_version(SETS) for domain in ("com.acme", "com.other")]
    assert newest == [1, 7]
    (folder / "Faulty.yaml").write_text(text.replace("operator: Thin", "operator: Faulty\nnothing: known"))
    assert destination_of("com.acme", folder.parent).newest_version(SETS) == 1
    assert destination_of("com.acme", folder.parent / "nowhere").newest_version(SETS) == 0


# Any operator of the standard


@settings(max_examples=3)
@given(st.sampled_from(FILES))
def test_a_bump_inserts_a_version_and_leaves_every_other_byte(path):
    data = path.read_bytes()
    operator = parse_operator(data, path, SETS)
    added = add_version(operator, data, SINCE, "opset bump", SETS)
    result = parse_operator(added, path, SETS)
    lines, before = lines_of(added.decode()), lines_of(data.decode())
    first = next(index for index, line in enumerate(lines) if line.startswith(f"- since: {SINCE}"))
    more = len(lines) - len(before)
    assert "".join(lines[:first] + lines[first + more :]).encode() == data
    assert not result.transitions[-1].difference
    expected = ["S205", *["S245"] * operator.schemas[-1].deprecated]  # one of a withdrawn operator is not to be added
    assert [finding.code for _, finding in LINT.apply(result, CONTEXT)] == expected
    assert complete_version(result, added, SETS) == added  # nothing was edited yet
    said = added.replace(b"    adapters: {up: derived", b"    clarified: the same\n    adapters: {up: derived", 1)
    result = parse_operator(said, path, SETS)
    final = parse_operator(complete_version(result, said, SETS), path, SETS)
    assert (final.schemas, final.docs) == (result.schemas, result.docs)
    assert dump_operator(final) == dump_operator(parse_operator(dump_operator(final).encode(), path, SETS))


@settings(max_examples=6)
@given(st.sampled_from(FILES))
def test_a_new_operator_like_any_other_loads_with_its_signature(path):
    like = load_operator(path, standard_sets())
    theirs = like.schemas[-1]
    text = operator_text("New", "unary", 1, _initial_document(like, "com.acme", SETS, None), "inference.py")
    (ours,) = parse_operator(text.encode(), "com.acme/New.yaml", SETS).schemas
    for part in ("inputs", "outputs", "attributes", "types", "shape", "determinism", "conditions", "function"):
        assert getattr(ours, part) == getattr(theirs, part), part
    for standard in (False, True):
        ast.parse(add_stubs("", [kernel_stub(ours, standard)], "Kernels."))


# A domain of one's own


def test_what_new_writes_names_what_is_left_and_lints_when_it_is_filled_in(folder):
    made = new_operator("com.acme.Thin")
    assert (made.since, made.family) == (1, "acme")
    assert {Path(path).name: functions for path, functions in made.files.items()} == {
        "Thin.yaml": (),
        "kernels.py": ("thin_1",),
    }
    assert codes(folder) == ["S213", "S212", "S212", "S220"]
    path = folder / "Thin.yaml"
    path.write_text(path.read_text().replace('doc: ""', "doc: it") + EXAMPLE)
    assert codes(folder) == []
    assert run("lint", "--fix", "schemas").stdout.startswith("fixed schemas/com.acme/Thin.yaml\n")
    assert "#" not in path.read_text()


def test_a_stub_raises_and_never_computes(folder):
    filled(folder)
    model = '<ir_version: 8, opset_import: ["com.acme": 1]> g (float[2] x) => (float[2] y) { y = com.acme.Thin (x) }'
    evaluator = opset.ReferenceEvaluator(opset.parse_model(model), schemas=["schemas"])
    with pytest.raises(opset.RunError, match="the kernel of Thin 1 is not written yet"):
        evaluator.run(None, {"x": [1.0, 2.0]})
    new_operator("com.acme.Wide", shape="function")
    wide = model.replace("y = com.acme.Thin (x)", "t = com.acme.Wide (x) y = com.acme.Thin (t)")
    found = opset.infer(opset.parse_model(wide), schemas=["schemas"])
    assert "how the outputs of Wide 1 are inferred is not written yet" in str(found.gaps)


def test_nothing_is_overwritten_and_all_that_is_in_the_way_is_reported(folder):
    filled(folder)
    (folder / "inference.py").write_text("def thin(:\n")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for arguments, expected in (
        (("com.acme.Thin", "--like", "Convv", "--since", "0"), ["U105", "U102", "U103"]),
        (("com.acme.Wide", "--shape", "function"), ["U103"]),
        (("com.acme.9", "--domain", "../up"), ["S215", "S215"]),
        (("com.acme.Wide", "--shape", "same(Q)"), ["U103"]),
        (("com.acme.Wide", "--family", "x" * 257), ["S102"]),
        (("Relu", "-o", "schemas"), ["U102"]),
    ):
        result = run("new", *arguments)
        assert result.exit_code == 2
        assert [line[6:10] for line in result.stderr.splitlines() if line.startswith("error[")] == expected
    assert before == {path: path.read_bytes() for path in folder.iterdir()}


def test_a_function_of_the_same_name_is_in_the_way_and_one_that_is_registered_is_kept(folder):
    filled(folder)
    source = (folder / "kernels.py").read_text()
    (folder / "Thin.yaml").unlink()
    (folder / "kernels.py").write_text(source.replace('"Thin"', '"Thick"'))
    with pytest.raises(UsageError) as caught:
        new_operator("com.acme.Thin")
    assert caught.value.code == "U102" and "thin_1" in str(caught.value)
    (folder / "kernels.py").write_text(source)
    assert [Path(path).name for path in new_operator("com.acme.Thin").files] == ["Thin.yaml"]
    assert (folder / "kernels.py").read_text() == source


def test_what_would_not_read_back_is_not_written(folder):
    path = filled(folder)
    path.write_bytes(data := (path.read_bytes() + b"#").ljust(MAX_SIZE, b"#"))
    with pytest.raises(UsageError, match="cannot be edited line by line"):
        bump("com.acme.Thin", since=2)
    assert path.read_bytes() == data


def test_nothing_is_written_through_a_link(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    folder.parent.mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    assert run("new", "com.acme.Thin").exit_code == 2
    assert not any((tmp_path / "elsewhere").iterdir())
    folder.unlink()
    folder.parent.rmdir()
    folder.parent.symlink_to(tmp_path / "elsewhere")
    assert "error[U104] schemas/ here is not used" in run("new", "com.acme.Thin").stderr
    assert not any((tmp_path / "elsewhere").iterdir())


def test_the_standard_is_written_to_in_a_checkout_alone(monkeypatch, tmp_path):
    assert destination_of("ai.onnx", None).standard
    monkeypatch.setattr(destinations, "FOLDER", tmp_path / "a" / "b" / "c")
    with pytest.raises(UsageError, match="no checkout of its sources"):
        destination_of("", None)


def test_where_functions_of_the_standard_and_of_others_are_written(tmp_path):
    standard = destination_of("", None)
    for layer, path in ((kernels.LAYER, "reference/kernels"), (adapters.LAYER, "adapters/families")):
        assert standard.hooks_path(layer, "norm") == FOLDER.parent / path / "norm.py"
        assert standard.hooks_path(layer, "norm").exists()
    own = destination_of("com.acme", tmp_path)
    assert own.hooks_path(kernels.LAYER, "norm") == tmp_path / "com.acme" / "kernels.py"
    assert standard.newest_version({}) == default_registry().domains[""]


def test_imports_are_added_where_they_belong():
    stub = kernel_stub(load_operator(FOLDER / "ai.onnx" / "If.yaml", standard_sets()).schemas[-1], True)
    text = add_stubs('"""Kernels."""\n\nimport ast\n\nfrom opset.zip import a\n', [stub], "")
    assert text.startswith(
        '"""Kernels."""\n\nimport ast\n\nfrom opset.reference.numerics.arrays import Array\n'
        "from opset.reference.registration import kernel\nfrom opset.zip import a\n"
    )
    more = add_stubs("from opset.reference.registration import Graph\n\nx = 1\n", [stub], "")
    assert "from opset.reference.registration import Graph, kernel\n" in more
    assert add_stubs(text, [], "") == text
    windows = "from opset.reference.registration import kernel\r\n\x0c\r\nx = 1  \r\n\r\n"
    text = add_stubs(windows, [stub], "")
    assert "\r\n\x0c\r\nx = 1  \r\n\r\n" in text and text.startswith("from opset.reference.numerics")
    assert text.count("\n") == text.count("\r\n")


def test_names_of_a_strangers_operator_never_become_code():
    names = ("x):\n    import os", "def", "Y", "y", "context")
    schema = OpSchema(
        "com.acme",
        "Thin",
        1,
        "acme",
        tuple(Parameter(name, "T") for name in names),
        attributes={name: Attribute(name, "int") for name in ("a): pass", "y", "alpha")},
    )
    for standard in (False, True):
        (function,) = (node for node in ast.parse(kernel_stub(schema, standard).text).body)
        arguments = function.args
        assert [each.arg for each in arguments.args] == [f"input_{number}" for number in range(5)]
        assert [each.arg for each in arguments.kwonlyargs] == ["y", "alpha"] and arguments.kwarg.arg == "attributes"


# Versions


def test_a_widening_from_the_copy_to_the_declared_change(folder):
    path = filled(folder)
    path.write_text("# ours\r\n" + path.read_text().replace("\n", "\r\n"), newline="")
    text = path.read_bytes()
    assert run("bump", "com.acme.Thin").stdout.startswith("version 2 of Thin, a copy of version 1 to be edited\nwrote ")
    assert codes(folder) == ["S205"]
    added = path.read_bytes()
    assert added.count(b"\r\n") == added.count(b"\n") and text.startswith(b"# ours\r\n")
    wider = added.replace(b"T: floats", b"T: [floats, int32]  # as asked for", 1)
    path.write_bytes(wider.replace(b"up: derived, down: derived", b"up: derived, down: written", 1))
    result = run("bump", "com.acme.Thin", "--format", "json")
    data = json.loads(result.stdout)
    assert (data["done"], data["since"]) == ("completed", 2)
    assert data["files"][1]["functions"] == ["thin_2_down"]
    final = path.read_text()
    assert "    types: {T: [+int32]}\n    adapters: {up: derived, down: written}\n" in final
    assert "- since: 1\n  like: 2\n  types:\n    T: floats\n" in final
    assert "# as asked for" in final and final.startswith("# ours\n") and "#:" not in final
    assert [each.types["T"] for each in parse_operator(path.read_bytes(), path, SETS).schemas] == [
        SETS["floats"],
        tuple(sorted((*SETS["floats"], "tensor(int32)"))),
    ]
    for step in data["next"]:
        # The kernel is a stub, and an example of int32 is left to write.
        unwritten = step["command"].startswith(("opset test", "opset lint"))
        assert run(*step["command"].split()[1:]).exit_code == unwritten, step
    model = '<ir_version: 8, opset_import: ["com.acme": 2]> g (float[2] x) => (float[2] y) { y = com.acme.Thin (x) }'
    with pytest.raises(opset.ConversionError, match="is not written yet"):
        opset.convert(opset.parse_model(model), {"com.acme": 1}, schemas=["schemas"])


def test_a_new_version_has_the_special_cases_that_do_not_end(folder):
    path = filled(folder)
    notes = "implementations: {opset: [{text: It is slow., until: 1}]}\n"
    path.write_text(path.read_text() + f"special_cases: [NaN stays NaN., {{text: Ties are kept., until: 1}}]\n{notes}")
    assert bump("com.acme.Thin")[1] == "added"
    docs = parse_operator(path.read_bytes(), path, SETS).docs
    assert [[case.text for case in each.special_cases] for each in docs] == [
        ["NaN stays NaN.", "Ties are kept."],
        ["NaN stays NaN."],
    ]


def test_a_change_block_keeps_the_lines_that_do_not_differ(folder):
    path = filled(folder)
    bump("com.acme.Thin")
    text = path.read_text().replace("T: floats", "T: [floats, int32]", 1)
    said = "    # said by hand\n    meaning: It is wider.\n    types: {T: [+int8]}\n"
    path.write_text(text.replace("    adapters:", f"{said}    adapters:", 1))
    bump("com.acme.Thin")
    change = "    # said by hand\n    meaning: It is wider.\n    types: {T: [+int32]}\n    adapters: {up: derived"
    assert change in path.read_text()
    path.write_text(path.read_text().replace("types: {T: [+int32]}", "types:\n      # as asked for\n      T: [+int8]"))
    bump("com.acme.Thin")
    assert "      # as asked for\n    types: {T: [+int32]}\n" in path.read_text()
    path.write_text(path.read_text().replace("types: {T: [+int32]}", "types: {T: [+int8]}  # why"))
    with pytest.raises(UsageError, match="comments of this change block would be lost"):
        bump("com.acme.Thin")


def test_a_change_block_on_one_line_is_written_anew(folder):
    path = filled(folder)
    bump("com.acme.Thin")
    text = path.read_text().replace("T: floats", "T: [floats, int32]", 1)
    head, tail = text[: text.index("  change:")], text[text.index("  doc:") :]
    adapters = "adapters: {up: derived, down: derived}"
    path.write_text(f"{head}  change: {{meaning: It is wider., types: {{T: [+int8]}}, {adapters}}}\n{tail}")
    assert bump("com.acme.Thin")[1] == "completed"
    written = f"  change:\n    types: {{T: [+int32]}}\n    meaning: It is wider.\n    {adapters}\n  doc: it\n"
    assert f"- since: 2\n{written}" in path.read_text()
    path.write_text(f"{head}  change: {{meaning: It is wider., {adapters}}}  # why\n{tail}")
    with pytest.raises(UsageError, match="comments of this change block would be lost"):
        bump("com.acme.Thin")


@pytest.mark.parametrize("version", ["{since: 1, doc: d, inputs: [], outputs: []}", "{since: 1,\n  doc: d}"])
def test_a_version_in_flow_style_is_left_alone(folder, version):
    folder.mkdir(parents=True)
    (folder / "Thin.yaml").write_text(f"operator: Thin\nfamily: acme\nversions:\n- {version}\n")
    with pytest.raises(UsageError, match="cannot be edited line by line"):
        bump("com.acme.Thin")


def test_a_version_in_place_of_the_one_that_was_locked_is_the_first(folder):
    path = filled(folder)
    path.write_text(path.read_text().replace("#:", "#"))
    assert run("lint", "--lock", "schemas").exit_code == 0
    path.write_text(path.read_text().replace("since: 1", "since: 2"))
    before = path.read_bytes()
    with pytest.raises(UsageError, match="Thin needs no new version") as raised:
        bump("com.acme.Thin")
    assert raised.value.finding_list[0].why == "version 2 is the first, and not released yet"
    assert path.read_bytes() == before


def test_check_compares_with_what_was_released(folder):
    path = filled(folder)
    assert run("bump", "com.acme.Thin", "--check").exit_code == 0
    path.write_text(path.read_text().replace("#:", "#"))
    assert run("lint", "--lock", "schemas").exit_code == 0
    assert "not needed" in run("bump", "com.acme.Thin", "--check").stdout
    path.write_text(path.read_text().replace("T: floats", "T: [floats, int32]", 1))
    result = run("bump", "com.acme.Thin", "--check")
    assert result.exit_code == 1 and "types: {T: [+int32]}" in result.stdout
    path.write_text(path.read_text().replace("T: [floats, int32]", "T: floats", 1))
    assert bump("com.acme.Thin")[1] == "added"
    state = compare_with_lock("com.acme.Thin")
    assert (state.edited, state.developed) == ([], [2])
    assert bump("com.acme.Thin")[1] == "unedited"  # version 2 is in development, and stays the newest
    path.write_text(path.read_text().replace("  change:\n", "  change:\n    clarified: all of it\n", 1))
    assert [bump("com.acme.Thin")[1] for _ in range(2)] == ["completed", "unchanged"]
    assert new_operator("com.acme.Wide").since == 2
    more = "  attributes: {n: {type: int, default: 1, doc: n}}\n  shape:"
    path.write_text(path.read_text().replace("  shape:", more, 1))
    assert compare_with_lock("com.acme.Thin").difference == {"attributes": {"n": {"added": "int", "default": 1}}}
    lock = folder.parent / "lock.json"
    lock.write_text(lock.read_text().replace('"1":', '"2":'))  # the newest is released, and an older one is not
    state = compare_with_lock("com.acme.Thin")
    assert (state.developed, state.difference) == ([1], {})


MIXED = """\
operator: Mixed
family: signals
versions:
- since: 2
  change: {adapters: {up: written, down: written}}
  doc: It does more.
  inputs:
  - {name: X, type: T, doc: values}
  - {name: n, type: T, doc: more}
  outputs:
  - {name: Y, type: T, doc: results}
  attributes: {a: {type: int, default: 1, doc: a}, b: {type: float, default: 0.5, doc: b}}
  types: {T: [double]}
- since: 1
  doc: It did.
  inputs:
  - {name: X, type: T, doc: values}
  - {name: n, type: T, doc: more}
  outputs:
  - {name: Y, type: T, doc: results}
  attributes: {a: {type: int, default: 1, doc: a}}
  types: {T: [float]}
"""


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        ("[double]", "[double, int32]", {"types": {"T": ["+int32"]}}),
        ("[double]", "floats", {}),
        ("[float]", "[float, double]", {"types": {"T": ["+double"]}}),
        (
            "doc: b}",
            "doc: b}, c: {type: int, default: 3, doc: c}",
            {"attributes": {"c": {"added": "int", "default": 3}}},
        ),
        ("default: 1,", "default: 2,", {"attributes": {"a": {"default": [1, 2]}}}),
        ("default: 0.5,", "default: 2.0,", {}),
        (", b: {type: float, default: 0.5, doc: b}", "", {}),
        ("doc: more}", "doc: more}\n  - {name: m, type: T, optional: true, doc: m}", {"inputs": {"added": ["m"]}}),
        ("name: n, type: T", "name: n, type: T, optional: true", {"inputs": {"arity": {"n": ["single", "optional"]}}}),
        ("doc: results}", "doc: results}\n  - {name: Z, type: T, doc: z}", {"outputs": {"added": ["Z"]}}),
        ("name: Y, type: T", "name: Y, type: tensor(int64)", {"outputs": {"retyped": {"Y": ["T", "tensor(int64)"]}}}),
        ("doc: It does", "deprecated: true\n  doc: It does", {"deprecated": True}),
        ("doc: It does", "experimental: true\n  doc: It does", {"experimental": True}),
        ("doc: It does", "deprecated: true\n  experimental: true\n  doc: It does", {}),
    ],
)
def test_one_edit_of_a_released_version_is_told(old, new, difference):
    path = Path("com.acme/Mixed.yaml")
    released = parse_operator(MIXED.encode(), path, SETS)
    lock = {"com.acme": {"Mixed": {str(each.since_version): signature_hash(each) for each in released.schemas}}}
    assert _compare_operator(released, lock, SETS).edited == []
    edited = parse_operator(MIXED.replace(old, new, 1).encode(), path, SETS)
    (found,) = _compare_operator(edited, lock, SETS).edited
    was = next(each for each in released.schemas if each.since_version == found.since)
    assert found == (1 if old == "[float]" else 2, found.place, was if difference else None, difference)


@pytest.mark.parametrize(
    ("released", "locked", "developed", "difference"),
    [
        ([1, 2, 3], [1, 2], [3], {"types": {"T": ["+float16"]}}),
        ([1, 2, 3], [1], [2, 3], {"types": {"T": ["+float16"]}}),
        ([1, 2, 3], [1, 3], [2], {}),
        ([1, 2, 3], [1, 2, 3], [], {}),
        ([1, 2, 3], [], [1, 2, 3], {"types": {"T": ["+float16"]}}),
        ([1, 2], [1], [2], {"types": {"T": ["+double"]}}),
        ([1], [], [1], {}),
    ],
)
def test_what_is_in_development_is_all_that_the_lock_lacks(released, locked, developed, difference):
    types = {1: "[float]", 2: "[double, float]", 3: "[double, float, float16]"}
    head, _, older = MIXED.partition("- since: 2")
    first = "- since: 1" + older.partition("- since: 1")[2]
    change = "\n  change: {adapters: {up: derived, down: derived}}"
    texts = [first.replace("since: 1", f"since: {n}{change * (n > 1)}").replace("[float]", types[n]) for n in released]
    operator = parse_operator("".join([head, *texts[::-1]]).encode(), Path("com.acme/Mixed.yaml"), SETS)
    hashes = {str(each.since_version): signature_hash(each) for each in operator.schemas}
    lock = {"com.acme": {"Mixed": {str(since): hashes[str(since)] for since in locked}}}
    state = _compare_operator(operator, lock, SETS)
    assert (state.edited, state.developed, state.locked, state.difference) == ([], developed, bool(locked), difference)


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        ("doc: more}", "doc: more}\n  - {name: m, type: T, optional: true, doc: m}", {"inputs": {"added": ["m"]}}),
        ("doc: results}", "doc: results}\n  - {name: Z, type: T, doc: z}", {"outputs": {"added": ["Z"]}}),
        ("doc: more}", "doc: more}\n  - {name: m, type: T, doc: m}\n  - {name: k, type: T, doc: k}", {}),
        ("[float]", "[float, double]", {"types": {"T": ["+double"]}}),
        ("[float]", "[double]", {}),
        (
            ", doc: a}",
            ", doc: a}, b: {type: int, default: 2, doc: b}",
            {"attributes": {"b": {"added": "int", "default": 2}}},
        ),
    ],
)
def test_one_edit_of_the_only_version_is_told(old, new, difference):
    head, _, first = MIXED.partition("- since: 2")
    text = head + "- since: 1" + first.partition("- since: 1")[2]
    released = parse_operator(text.encode(), Path("com.acme/Mixed.yaml"), SETS)
    lock = {"com.acme": {"Mixed": {"1": signature_hash(released.schemas[0])}}}
    edited = parse_operator(text.replace(old, new, 1).encode(), Path("com.acme/Mixed.yaml"), SETS)
    (found,) = _compare_operator(edited, lock, SETS).edited
    assert (found.before, found.difference) == (released.schemas[0] if difference else None, difference)


def test_an_edit_is_told_where_versions_have_other_type_constraints():
    text = MIXED.replace("types: {T: [double]}", "types: {T: [string, bool]}").replace(
        "name: n, type: T", "name: n, type: U"
    )
    text = text.replace("types: {T: [float]}", "types: {T: [string, bool], U: [int8, bool]}")
    text = text.replace("name: n, type: U", "name: n, type: T", 1)
    released = parse_operator(text.encode(), Path("com.acme/Mixed.yaml"), SETS)
    lock = {"com.acme": {"Mixed": {str(each.since_version): signature_hash(each) for each in released.schemas}}}
    for old, new, difference in (
        ("{T: [string, bool]}", "{T: [int4, bool]}", {"T": ["+int4", "-string"]}),
        ("U: [int8, bool]", "U: [int8, bool, int4]", {"U": ["+int4"]}),
    ):
        edited = parse_operator(text.replace(old, new).encode(), Path("com.acme/Mixed.yaml"), SETS)
        (found,) = _compare_operator(edited, lock, SETS).edited
        assert found.difference == {"types": difference}


SHARED = """\
operator: Shared
family: signals
versions:
- since: 2
  change:
    attributes: {a: {default: [1, 2]}}
    meaning: It is so.
    adapters: {up: written, down: written}
  doc: It does.
  inputs: [{name: X, type: T, doc: values}]
  outputs: [{name: Y, type: T, doc: results}]
  attributes: {a: {type: int, default: 2, doc: a}, b: {type: int, default: 2, doc: b}}
  types: {T: [float]}
  constraints: {C1: it is so}
- since: 1
  doc: It does.
  inputs: [{name: X, type: T, doc: values}]
  outputs: [{name: Y, type: T, doc: results}]
  attributes: {a: {type: int, default: 1, doc: a}, b: {type: int, default: 2, doc: b}}
  types: {T: [float]}
"""


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ("", "", ["", "  like: 2", "  attributes: {a: {default: 1}}", "  constraints: null", ""]),
        ("- since: 1", "- since: 1  # first",
         ["  # first", "  like: 2", "  attributes: {a: {default: 1}}", "  constraints: null", ""]),
        ("default: 1, doc: a}", "default: 1, doc: c}",
         ["", "  like: 2", "  attributes: {a: {default: 1, doc: c}}", "  constraints: null", ""]),
        ("[float]}\nend", "[double]}  # kept\n",
         ["", "  like: 2", "  attributes: {a: {default: 1}}", "  types: {T: [double]}  # kept", "  constraints: null",
          ""]),
        ("- since: 1\n  doc: It does.", "- since: 1\n  doc: It did.", None),
        ("doc: b}}\n  types: {T: [float]}\nend", "doc: b}}  # lost\n  types: {T: [float]}\n", None),
        ("- since: 1\n", "- since: 1\n  like: 2\n", None),
    ],
)  # fmt: skip
def test_an_older_version_is_written_as_the_difference_from_the_newest(old, new, left):
    text = f"{SHARED}end".replace(old, new).removesuffix("end")
    operator = parse_operator(text.encode(), Path("com.acme/Shared.yaml"), SETS)
    completed = complete_version(operator, text.encode(), SETS).decode()
    if left is None:
        assert completed == text
    else:
        head, _, rest = completed.partition("- since: 1")
        assert rest.split("\n") == left
        keys = re.findall(r"^    (\w+):", head, re.MULTILINE)
        assert keys == sorted(keys, key=CHANGE_KEYS.index) and ("types" in keys) == ("[double]" in text)


def test_which_version_comes_next():
    assert next_version(28, 28, 13) == 29 and next_version(28, 28, 0) == 29
    assert next_version(29, 28, 13) == 29 and next_version(29, 28, 29) == 0  # 29 is in development
    assert next_version(0, 0, 0) == 1 and next_version(3, 0, 0) == 3 and next_version(3, 0, 3) == 4
    released = {domain: destination_of(domain, None).newest_released({}) for domain in ("", "ai.onnx.ml", "com.own")}
    assert released == {"": RELEASES[-1].opset, "ai.onnx.ml": RELEASES[-1].ml, "com.own": 0}


OF_NAMES = "letters, digits and _, at most 100, as in LayerNormalization"
OF_DOMAINS = "as in com.acme, at most 100 characters"


@pytest.mark.parametrize(
    ("name", "domain", "found"),
    [
        ("", None, [("the operator name '' is no identifier", OF_NAMES)]),
        ("9Thin", None, [("the operator name '9Thin' is no identifier", OF_NAMES)]),
        ("Th in", "com.acme", [("the operator name 'Th in' is no identifier", OF_NAMES)]),
        ("../Thin", None, [
            ("the operator name '/Thin' is no identifier", OF_NAMES),
            ("the domain '.' is not made of words and dots", OF_DOMAINS)]),
        ("Thin\0", None, [(r"the operator name 'Thin\x00' is no identifier", OF_NAMES)]),
        ("x" * 101, "", None),
        ("Thin", "x" * 101, None),
        ("com..acme.Thin", None, [("the domain 'com..acme' is not made of words and dots", OF_DOMAINS)]),
        ("..Thin", None, [("the domain '.' is not made of words and dots", OF_DOMAINS)]),
        ("Thin", "../up", [("the domain '../up' is not made of words and dots", OF_DOMAINS)]),
        ("a/b.Thin", None, [("the domain 'a/b' is not made of words and dots", OF_DOMAINS)]),
        ("com.acme.Thin", "com.acme", [("the operator name 'com.acme.Thin' is no identifier", OF_NAMES)]),
    ],
)  # fmt: skip
def test_names_are_checked(name, domain, found):
    with pytest.raises(UsageError) as caught:
        split_name(name, domain)
    assert {each.code for each in caught.value.finding_list} == {"S215"}
    if found is not None:
        assert [(each.message, each.help) for each in caught.value.finding_list] == found


@pytest.mark.parametrize(
    ("name", "domain", "found"),
    [
        ("Thin", None, ("", "Thin")),
        ("Thin", "ai.onnx", ("", "Thin")),
        ("ai.onnx.Thin", None, ("", "Thin")),
        ("ai.onnx.ml.Thin_2", None, ("ai.onnx.ml", "Thin_2")),
        ("x" * 100, "y" * 100, ("y" * 100, "x" * 100)),
    ],
)
def test_a_name_is_split_at_its_last_dot(name, domain, found):
    assert split_name(name, domain) == found


def test_a_file_that_declares_another_operator_is_refused(folder):
    path = filled(folder)
    path.write_text(path.read_text().replace("operator: Thin", "operator: Thick"))
    with pytest.raises(UsageError, match="badly named"):
        bump("com.acme.Thin")
    path.write_text("operator: [")
    with pytest.raises(SchemaError):
        bump("com.acme.Thin")


# A version in development


CBRT = """\
operator: Cbrt
family: unary
versions:
- since: {since}
  doc: Computes the cube root of each element.
  inputs: [{{name: X, type: T, doc: values}}]
  outputs: [{{name: Y, type: T, doc: roots}}]
  types: {{T: floats_ir4}}
  shape: same(X)
"""


def test_a_version_in_development_follows_from_the_yaml_alone(tmp_path):
    newest = default_registry().domains[""] + 1
    path = FOLDER / "ai.onnx" / "Erf.yaml"
    erf = parse_operator(path.read_bytes(), path, SETS)
    copied = add_version(erf, path.read_bytes(), newest, "", SETS)
    wider = re.sub(rb"    T: .*", b"    T: [floats_ir9, int4]", copied, count=1)
    wider = complete_version(parse_operator(wider, path, SETS), wider, SETS)
    operators = [
        parse_operator(wider, path, SETS),
        parse_operator(CBRT.format(since=newest).encode(), "ai.onnx/Cbrt.yaml", SETS),
    ]
    registry = Registry([(standard_index(), None, None), compile_operators(operators, SETS)])
    assert registry.domains == {**default_registry().domains, "": newest}
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Erf (x) }'
    there = opset.convert(opset.parse_model(text), newest, schemas=registry)
    assert there.opset_import[0].version == newest and there.ir_version == 8
    back = opset.convert(there, 13, schemas=registry)
    assert opset.ReferenceEvaluator(back).run(None, {"x": [0.0, 10.0]})[0].tolist() == [0, 1]
    text = f'<ir_version: 14, opset_import: ["": {newest}]> g (float8e5m2[N] x) => (float8e5m2[N] y) {{ y = Erf (x) }}'
    model = opset.parse_model(text)
    assert opset.infer(model, schemas=registry).findings == ()
    assert opset.ReferenceEvaluator(model, schemas=registry).run(None, {"x": [0.0]})[0].tolist() == [0]
    with pytest.raises(opset.ConversionError):
        opset.convert(model, RELEASES[-1].opset, schemas=registry)
    text = text.replace("Erf", "Cbrt").replace("float8e5m2", "float")
    assert str(opset.infer(opset.parse_model(text), schemas=registry).shape("y")) == "(N,)"


# In a copy of the package, where operators of the standard may be written


def test_the_standard_gets_an_operator_and_a_version_in_a_copy_of_the_package(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "opset", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PACKAGE.parent / "pyproject.toml", tmp_path)
    schemas = tmp_path / "opset" / "schemas" / "ai.onnx"

    def files():
        return {
            str(each.relative_to(tmp_path)): each.read_text()
            for each in (tmp_path / "opset").rglob("*.[py]*")
            if each.suffix in (".py", ".yaml") and "__pycache__" not in each.parts
        }

    def touched(*arguments, status=0):
        before = files()
        command = [sys.executable, "-m", "opset", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stderr
        return done.stdout, {name: text for name, text in files().items() if before.get(name) != text}

    erf = (schemas / "Erf.yaml").read_text()
    printed, changed = touched("bump", "Erf", "--format", "json")
    since = json.loads(printed)["since"]
    assert since >= RELEASES[-1].opset
    assert changed.keys() == {"opset/schemas/ai.onnx/Erf.yaml"}
    (text,) = changed.values()
    head, _, versions = erf.partition("versions:\n")
    assert text.startswith(f"{head}versions:\n- since: {since}\n") and text.endswith(versions)
    (schemas / "Erf.yaml").write_text(re.sub(r"    T: .*", "    T: floats_ir9", text, count=1))
    _, changed = touched("bump", "Erf")
    change = re.search(r"  change:\n.*?(?=  doc:)", changed["opset/schemas/ai.onnx/Erf.yaml"], re.DOTALL)[0]
    added = re.search(r"types: \{T: \[(.*)\]\}", change)[1].split(", ")
    assert "+float8" in added and "adapters: {up: derived, down: derived}" in change
    printed, changed = touched("bump", "Erf", "--check")
    assert f"in development: {since}: {{types: {{T: [+float8]}}}}" in printed and not changed

    printed, changed = touched("new", "Cbrt", "--family", "unary", "--shape", "function", "--format", "json")
    assert json.loads(printed)["since"] == since
    kernels, inference = "opset/reference/kernels/unary.py", "opset/inference/families/unary.py"
    assert changed.keys() == {"opset/schemas/ai.onnx/Cbrt.yaml", kernels, inference}
    assert "\noperator: Cbrt\nfamily: unary\n" in changed["opset/schemas/ai.onnx/Cbrt.yaml"]
    for name, decorator in ((kernels, "kernel"), (inference, "infer")):
        (function,) = [
            each
            for each in ast.parse(changed[name]).body
            if isinstance(each, ast.FunctionDef) and each.name == f"cbrt_{since}"
        ]
        assert ast.unparse(function.decorator_list[0]).startswith(f"{decorator}('Cbrt'")
        assert isinstance(function.body[-1], ast.Raise)


TYPED = [
    (
        "Resize",
        """(
    x: Array, roi: Array | None, scales: Array | None, sizes: Array | None, *, antialias: int,
    axes: tuple[int, ...] | None, coordinate_transformation_mode: str, cubic_coeff_a: float, exclude_outside: int,
    extrapolation_value: float, keep_aspect_ratio_policy: str, mode: str, nearest_mode: str,
) -> Array""",
    ),
    ("Loop", "(m: Array | None, cond: Array | None, *v_initial: Array, body: Any) -> Array"),
    ("TopK", "(x: Array, k: Array, *, axis: int, largest: int, sorted: int) -> tuple[Array, ...]"),
    ("Concat", "(*inputs: Array, axis: int) -> Array"),
    (
        "LSTM",
        """(
    x: Array, w: Array, r: Array, b: Array | None, sequence_lens: Array | None, initial_h: Array | None,
    initial_c: Array | None, p: Array | None, *, activation_alpha: tuple[float, ...] | None,
    activation_beta: tuple[float, ...] | None, activations: Any, clip: float | None, direction: str,
    hidden_size: int | None, input_forget: int, layout: int,
) -> tuple[Array, ...]""",
    ),
]
OWN = [
    ("TopK", "(x, k, *, axis, largest, sorted)"),
    ("Concat", "(*inputs, axis)"),
    ("Relu", "(x)"),
    (
        "LSTM",
        """(
    x, w, r, b, sequence_lens, initial_h, initial_c, p, *, activation_alpha, activation_beta, activations, clip,
    direction, hidden_size, input_forget, layout,
)""",
    ),
]


@pytest.mark.parametrize(
    ("standard", "family", "original", "chosen", "found"),
    [
        (True, "unary", "binary", "unary", []),
        (True, None, "binary", "binary", []),
        (True, None, None, "own", [("the family is not given", "--family, or --like; known: ")]),
        (True, "unry", "binary", "unry", [("there is no family unry", "did you mean unary")]),
        (True, "zzzzzz", None, "zzzzzz", [("there is no family zzzzzz", "--family, or --like; known: ")]),
        (False, "unry", None, "unry", []),
        (False, None, None, "own", []),
    ],
)
def test_which_family_a_new_operator_has(standard, family, original, chosen, found):
    destination = SimpleNamespace(standard=standard, domain="com.own")
    findings = []
    like = original and SimpleNamespace(family=original)
    assert _choose_family(destination, family, like, findings) == chosen
    assert [(each.code, each.message) for each in findings] == [("S216", message) for message, _ in found]
    assert all(each.help.startswith(help) for each, (_, help) in zip(findings, found, strict=True))


@pytest.mark.parametrize(
    ("like", "original", "found"),
    [
        ("Exp", ("", "Exp"), []),
        ("ai.onnx.Exp", ("", "Exp"), []),
        ("Scaler", ("ai.onnx.ml", "Scaler"), []),
        ("com.acme.Own", ("com.acme", "Own"), []),
        ("Own", ("com.acme", "Own"), []),
        ("ai.onnx.ml.Exp", None, [("U105", "there is no operator ai.onnx.ml.Exp to be like", "did you mean Exp")]),
        ("Expp", None, [("U105", "there is no operator Expp to be like", "did you mean Exp")]),
        ("Ex p", None, [("S215", "the operator name 'Ex p' is no identifier", "")]),
    ],
)
def test_which_operator_a_new_one_is_like(folder, like, original, found):
    filled(folder, "Own")
    findings = []
    operator = _find_original(like, destination_of("com.acme", None), SETS, findings)
    assert (operator and (operator.domain, operator.name)) == original
    assert [(each.code, each.message) for each in findings] == [each[:2] for each in found]
    assert all(each.help.startswith(help) for each, (*_, help) in zip(findings, found, strict=True))


@pytest.mark.parametrize(("name", "signature"), TYPED)
def test_kernels_of_the_standard_have_types(name, signature):
    schema = next(each for each in reversed(default_registry().versions(name)) if each.since_version < 25)
    stub = kernel_stub(schema, True)
    assert f"def {stub.name}{signature}:" in stub.text
    assert ("typing" in stub.imports) == ("Any" in signature)


def test_a_long_name_stays_in_one_piece_in_a_kernel_to_write():
    schema = default_registry().versions("LeakyRelu")[-1]
    names = ["long_" * 30, "second"]
    attributes = {name: schema.attributes["alpha"]._replace(name=name) for name in names}
    head, _, _ = kernel_stub(replace(schema, attributes=attributes), True).text.partition(" ->")
    lines = ["    x: Array, *,", f"    {names[0]}: float,", "    second: float,", ")"]
    assert head.partition("(\n")[2].splitlines() == lines


def test_no_kernel_to_write_has_a_line_that_is_too_long():
    for name in default_registry().operators(""):
        schema = default_registry().versions(name)[-1]
        for typed in (True, False):
            head = kernel_stub(schema, typed).text.partition(":\n    ")[0].partition("def ")[2]
            lines = f"def {head}:".splitlines()
            assert max(map(len, lines)) <= WIDTH, (name, typed)
            joined = " ".join(each.strip() for each in lines).replace("( ", "(").replace(", )", ")")
            assert len(lines) == 1 or len(joined) > WIDTH - 20, (name, typed)


@pytest.mark.parametrize("standard", [True, False])
def test_functions_to_write_import_what_there_is(standard):
    schema = default_registry().versions("Softmax")[-1]
    stubs = [kernel_stub(schema, standard), inference_stub(schema, standard)]
    stubs += [adapter_stub(schema, direction, standard) for direction in ("up", "down")]
    for stub in stubs:
        for module, names in stub.imports.items():
            assert all(hasattr(importlib.import_module(module), name) for name in names), (stub.name, module)
            assert module == "typing" or module.startswith("opset.extend") != standard
        words = {each.id for each in ast.walk(ast.parse(stub.text)) if isinstance(each, ast.Name)}
        assert {name for names in stub.imports.values() for name in names} == words - {*dir(builtins)}, stub.name
    assert [(stub.name, stub.decorator, stub.operator, stub.since) for stub in stubs] == [
        ("softmax_13", "kernel", "Softmax", 0),
        ("softmax_13", "infer", "Softmax", 0),
        ("softmax_13_up", "up", "Softmax", 13),
        ("softmax_13_down", "down", "Softmax", 13),
    ]
    decorators = ['@kernel("Softmax")', '@infer("Softmax")', '@up("Softmax", since=13)', '@down("Softmax", since=13)']
    assert [line for stub in stubs for line in stub.text.splitlines() if line.startswith("@")] == decorators


@pytest.mark.parametrize(("name", "signature"), OWN)
def test_kernels_of_ones_own_have_none(name, signature):
    schema = next(each for each in reversed(default_registry().versions(name)) if each.since_version < 25)
    stub = kernel_stub(schema, False)
    assert f"def {stub.name}{signature}:" in stub.text and stub.imports == {"opset.extend": ("kernel",)}


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("Relu", "relu"),
        ("LayerNormalization", "layer_normalization"),
        ("LSTM", "lstm"),
        ("MatMul", "mat_mul"),
        ("RMSNormalization", "rms_normalization"),
        ("Conv2D", "conv2_d"),
        ("GatherND", "gather_nd"),
    ],
)
def test_how_functions_are_named(name, function):
    assert snake_case(name) == function


@pytest.mark.parametrize(
    ("since", "own", "released", "why", "least"),
    [
        (3, 2, 1, None, 0),
        (2, 2, 1, "the newest version of Thin is 2", 3),
        (0, 0, 0, "versions are counted from 1", 1),
        (5, 2, 5, "version 5 is released", 6),
        (6, 2, 5, None, 0),
        (5, 5, 5, "the newest version of Thin is 5", 6),
        (MAX_VERSION, 2, 5, None, 0),
        (MAX_VERSION + 1, 2, 5, "version 5 is released", 6),
    ],
)
def test_which_versions_an_author_may_choose(since, own, released, why, least):
    found = check_since(since, own, released, "Thin")
    assert (found is None) == (why is None)
    if found is not None:
        assert found.why.startswith(why) and found.help == f"versions go from {least} to {MAX_VERSION}"
        assert (found.code, found.message) == ("U103", f"--since {since} is not possible")


ACME = 'domain="com.acme"'


@pytest.mark.parametrize(
    ("source", "registered", "there"),
    [
        ("", False, ""),
        ("x = 1\n\n\ndef other(): pass\n", False, ""),
        ("def thin_2_up(): pass\n", False, "1"),
        ("\nclass thin_2_up: pass\n", False, "2"),
        ('@up("Thin", since=2, domain="com.acme")\ndef any(): pass\n', True, ""),
        ('@up("Thin", since=2)\ndef any(): pass\n', False, ""),
        ('@up("Thin", since=2, domain="com.other")\ndef any(): pass\n', False, ""),
        (f'@down("Thin", since=2, {ACME})\ndef any(): pass\n', False, ""),
        (f'@up("Wide", since=2, {ACME})\ndef any(): pass\n', False, ""),
        (f'@up("Thin", since=3, {ACME})\ndef any(): pass\n', False, ""),
        (f'@up("Thin", since=TWO, {ACME})\ndef any(): pass\n', False, ""),
        ('@other\n@a.up("Thin", since=2)\n@up("Thin", domain=names.D, since=2)\ndef any(): pass\n', True, ""),
        ("@up(THIN, since=2)\ndef any(): pass\n", False, ""),
        ('@up("Thin", since=2)\nclass Any: pass\n', False, ""),
        (f'@up("Thin", {ACME})\ndef any(): pass\n\n\n@up("Thin", since=2, {ACME})\ndef more(): pass\n', True, ""),
    ],
)
def test_what_a_file_of_functions_has_already(source, registered, there):
    stub = adapter_stub(OpSchema("com.acme", "Thin", 2, "acme"), "up", False)
    assert is_registered(source, stub) == registered
    assert conflicting_definition(source, stub) == (f"thin_2_up, line {there}" if there else "")
    kernel = kernel_stub(OpSchema("com.acme", "Thin", 2, "acme"), False)
    assert is_registered('@kernel("Thin", domain="com.acme")\ndef any(): pass\n', kernel)
    kernel = kernel_stub(OpSchema("", "Thin", 2, "acme"), True)
    assert is_registered('@kernel("Thin")\ndef any(): pass\n', kernel)
    assert is_registered('@kernel("Thin", domain="ai.onnx")\ndef any(): pass\n', kernel)
    assert not is_registered('@kernel("Thin", domain="com.acme")\ndef any(): pass\n', kernel)


def test_the_last_line_of_a_file_gets_an_end_before_more_is_added(folder):
    path = filled(folder)
    text = path.read_text()
    path.write_text(text.partition("#: What holds")[0].rstrip("\n"))
    bump("com.acme.Thin")
    first, second = path.read_text().split("- since: ")[1:]
    assert first.endswith("  shape: same(X)\n") and second.endswith("  shape: same(X)")


@pytest.mark.parametrize(
    ("source", "at"),
    [
        ("", "from b.x import n\n"),
        ("import a\nx = 1\n", "import a\n\nfrom b.x import n\nx = 1\n"),
        ('"""Doc."""\nx = 1\n', '"""Doc."""\n\nfrom b.x import n\nx = 1\n'),
        ("x = 1\n", "from b.x import n\nx = 1\n"),
        ("from b.w import m\nx = 1\n", "from b.w import m\nfrom b.x import n\nx = 1\n"),
        ("from b.y import m\nx = 1\n", "from b.x import n\nfrom b.y import m\nx = 1\n"),
        ("from b.x import m\n", "from b.x import m, n\n"),
        ("from b.x import m, n\n", "from b.x import m, n\n"),
        ("from a import k\nfrom b.x import m\n", "from a import k\nfrom b.x import m, n\n"),
        ("from b.x import z as y\n", "from b.x import n, z as y\n"),
        ("from c import n\n", "from c import n\n"),
        ("from b.x import (\n    m,\n)\n", "from b.x import (\n    m,\n)\nfrom b.x import n\n"),
        ("from b.w import m\nfrom c import k\n", "from b.w import m\nfrom b.x import n\nfrom c import k\n"),
        ("import b.a\nimport c\n", "import b.a\nimport c\n\nfrom b.x import n\n"),
    ],
)
def test_where_an_import_is_added(source, at):
    assert _add_imports(source, {"b.x": ("n",)}, "\n") == at


# All that is written, word for word

WRITTEN = Path(__file__).with_name("authored.txt")
GAMMA = "    gamma: {type: float, default: 0.5, doc: it}\n"
STEPS = {
    "new com.acme.Thin": (),
    "lint schemas --fix": (
        ('doc: ""', "doc: it", 3),
        ("  types:", f"  attributes:\n{GAMMA}  types:", 1),
        ("#: Examples", "special_cases: []\n#: Examples", 1),
        ("#: Examples", f"{EXAMPLE}#: Examples", 1),
        ("since: 1, inputs: [{float", "since: 1, attributes: {gamma: 1.0}, inputs: [{float", 1),
    ),
    "lint schemas --lock": (),
    "bump com.acme.Thin": (),
    "bump com.acme.Thin --check": (
        ("T: floats", "T: [floats, int32]", 1),
        (GAMMA, f"{GAMMA}    beta: {{type: int, default: 1, doc: it}}\n", 1),
        ("up: derived, down: derived", "up: written, down: written", 1),
    ),
    "bump com.acme.Thin --format json": (),
    "bump com.acme.Thim": (),
    "bump com.acme.Nothing": (),
    "bump Thin --schemas schemas": (),
    "bump com.acme.Thin --since 1": (),
    "bump com.acme.Thin --since 2": (),
    "bump com.acme.Thin --since 7": (),
    "bump com.acme.Thin --check --format json": (("T: floats\n", "T: [double, float]\n", 1),),
    "new com.acme.Deep --like TopK --shape function --family deep --since 3": (),
    "new com.acme.Many --like Scaler --family deep": (),
    "new com.acme.Same --like com.acme.Thin": (),
}
"""Commands, each with what is replaced in Thin.yaml before: a text by another one, so many times."""


def session(folder):
    """What each command prints and writes: new files, and what differs in others."""
    before = {}
    path = folder / "schemas" / "com.acme" / "Thin.yaml"
    for command, edits in STEPS.items():
        for text, other, count in edits:
            path.write_text(path.read_text().replace(text, other, count))
            before[path] = path.read_text()
        done = run(*command.split())
        yield f"$ opset {command}\n{done.stdout}{done.stderr}[{done.exit_code}]\n"
        for each in sorted((folder / "schemas").rglob("*.*")):
            text = each.read_text() if each.is_file() and each.suffix != ".pyc" else ""
            old = before.get(each, "")
            before[each] = text
            name = each.relative_to(folder)
            lines = difflib.unified_diff(old.splitlines(), text.splitlines(), f"{name}", "", n=0, lineterm="")
            yield from [f"--- {name}\n{text}"] * bool(text and not old)
            yield from [f"{line}\n" for line in lines if old and not line.startswith("+++")]


def test_what_is_printed_and_written_word_for_word(folder):
    assert "".join(session(folder.parents[1])) == WRITTEN.read_text()


TWICE = """operator: Twice
family: activation
versions:
- since: 2
  change: {CHANGE}
  doc: Returns twice `X`, or `n` times.
  inputs: [{name: X, type: T, doc: values}]
  outputs: [{name: Y, type: T, doc: results}]
  attributes: {n: {type: int, default: 2, doc: how often}}
  types: {T: [float]}
- since: 1
  doc: Returns twice `X`.
  inputs: [{name: X, type: T, doc: values}]
  outputs: [{name: Y, type: T, doc: results}]
  types: {T: [float]}
"""
ADAPTERS = "adapters: {up: derived, down: derived}"


@pytest.mark.parametrize(
    ("change", "edit", "incomplete"),
    [
        ("attributes: {n: {added: int, default: 2}}, ", ("?", ""), False),
        ("attributes: {n: {added: int, default: 2}}, ", ("- since: 1", f"{GUIDANCE} more\n- since: 1"), True),
        ("", ("?", ""), True),
        ("", ("  attributes: {n: {type: int, default: 2, doc: how often}}\n", ""), True),
        ("meaning: Another. ,", ("  attributes: {n: {type: int, default: 2, doc: how often}}\n", ""), False),
    ],
)
def test_a_newest_version_is_incomplete_with_guidance_or_without_what_changed(change, edit, incomplete):
    text = TWICE.replace("CHANGE", f"{change}{ADAPTERS}").replace(*edit)
    operator = parse_operator(text.encode(), "com.acme/Twice.yaml", standard_sets())
    assert _is_incomplete(operator, text.encode()) is incomplete
    first = f"{text.partition('- since: 2')[0]}- since: 1{text.partition('- since: 1')[2]}{GUIDANCE}"
    assert not _is_incomplete(parse_operator(first.encode(), "com.acme/Twice.yaml", standard_sets()), first.encode())


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        WRITTEN.write_text("".join(session(Path(folder))))


if __name__ == "__main__":
    main()


def test_operators_of_other_domains_are_none_of_a_domain(tmp_path):
    for name in ("com.acme/Thin", "com.other/Narrow"):
        (tmp_path / f"{name}.yaml").parent.mkdir()
        (tmp_path / f"{name}.yaml").touch()
    destination = Destination(tmp_path, tmp_path, "com.acme", False)
    assert [each.name for each in destination.yaml_files()] == ["Thin.yaml"]
    new = "opset new Narow --domain com.acme writes a new one"
    for name, help in (("Thinn", "did you mean Thin?"), ("Narow", new), ("Narrow", "did you mean com.other.Narrow?")):
        with pytest.raises(UsageError) as raised:
            destination.read_operator(name, {})
        assert raised.value.findings[0].help == help
