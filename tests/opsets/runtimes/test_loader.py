"""Files of runtimes: what is read, every fault with its place, limits, and the JSON Schema for editors."""

import copy
import json
import re

import jsonschema
import pytest

from opset.errors import SchemaError
from opset.opsets.runtimes import loader
from opset.opsets.runtimes.compiled import data_files
from opset.opsets.runtimes.keys import ENTRY_KEYS, FAULT_KEYS, RELEASE_KEYS, SCHEMA, TABLE_KEYS
from opset.opsets.runtimes.loader import load_runtime, parse_runtime
from opset.opsets.runtimes.model import HOW, MATCH, RESULTS, make_table
from opset.schemas.yaml.printer import flow
from opset.schemas.yaml.reader import Findings, read
from tests.cli.commands import run

JSON_SCHEMA = json.loads(SCHEMA.read_text())
VALIDATOR = jsonschema.Draft202012Validator(JSON_SCHEMA)
RIGHT = {
    "runtime": "acme-npu",
    "title": "the NPU of ACME",
    "aliases": ["npu", "acme:npu"],
    "match": "range",
    "fallback": "onnxruntime-cpu",
    "source": "its table",
    "notes": ["later ones were not read"],
    "casts": {"double": "float"},
    "io_types_not": ["bfloat16"],
    "releases": [
        {"release": "1.9", "opset": [7, 15], "ml": 3, "ir": 8, "how": "documented", "read_from": "a page"},
        {"release": "1.10", "opset": [7, None], "how": "measured", "fallback_release": "1.20", "union_types": True},
        {"release": "2.0", "opset": None, "ir": None, "how": "derived", "note": "it is new", "lists_operators": False},
    ],
    "operators": {
        "ai.onnx": {
            "Conv": [
                {"versions": [1, 11], "types": {"T": ["float"]}, "input_rank": [4], "constant_inputs": ["W"],
                 "attributes": {"group": 1, "auto_pad": ["NOTSET", "VALID"]}, "until": "1.9"},
                {"versions": [11, None], "types": ["float", "seq(tensor(float))"], "types_not": ["int8"],
                 "unasked": ["T"], "values": {"B": "not negative"}, "outputs": ["Y"], "static_shape": True,
                 "known_ranks": True, "notes": ["it is slow"], "since": "1.10", "until": "1.10"},
            ],
        },
        "com.acme": {"Scale": [{"outputs": 1}]},
    },
    "functions": {"ai.onnx": {"Gelu": [20]}},
    "faults": {
        "ai.onnx": {
            "Relu": [
                {"versions": [6, None], "types": {"T": ["float"]}, "input_rank": [0], "values": {"X": [0, 1]},
                 "attributes": {"alpha": 1}, "present": ["X"], "absent": ["Z"], "empty": ["X"], "computed": ["X"],
                 "known": ["X"], "scalars": ["X"], "captures": True, "states": {"alpha": "X.1"}, "when": "it is hot",
                 "result": "wrong", "gives": "0", "since": "1.9", "until": "2.0"},
                {"types": ["float"], "result": "fails", "gives": "an error"},
            ],
        },
    },
}  # fmt: skip
FAULT = ("faults", "ai.onnx", "Relu", 0)
CONV, NEWER, ROW = ("operators", "ai.onnx", "Conv", 0), ("operators", "ai.onnx", "Conv", 1), ("releases", 0)
NULL = object()
# Where, what stands there instead (None: the key is gone), and the code. Those of the second list are not of form.
FAULTS = [
    (("runtime",), None, "S104"), (("runtime",), "ACME", "S105"), (("runtime",), 3, "S105"), (("kind",), "x", "S103"),
    (("title",), "", "S105"), (("aliases",), "npu", "S105"), (("aliases",), ["a b"], "S105"),
    (("aliases",), ["a:b:c"], "S105"), (("match",), "names", "S105"), (("match",), None, "S104"),
    (("fallback",), "a:b", "S105"), (("source",), ["x"], "S105"), (("notes",), "x", "S105"), (("notes",), [""], "S105"),
    (("casts",), ["double"], "S105"), (("casts", "double"), 1, "S105"), (("io_types_not",), [3], "S105"),
    (("releases",), None, "S104"), (("releases",), [], "S105"), (("releases",), {}, "S105"),
    ((*ROW, "release"), None, "S104"), ((*ROW, "release"), 1.9, "S105"), ((*ROW, "release"), "1 9", "S105"),
    ((*ROW, "how"), None, "S104"), ((*ROW, "how"), "guessed", "S105"), ((*ROW, "opset"), [7], "S105"),
    ((*ROW, "opset"), 7, "S105"), ((*ROW, "opset"), [0, 7], "S105"), ((*ROW, "opset"), [7, "8"], "S105"),
    ((*ROW, "ml"), 0, "S105"), ((*ROW, "ir"), "8", "S105"), ((*ROW, "max"), 1, "S103"),
    ((*ROW, "note"), "", "S105"), ((*ROW, "union_types"), "yes", "S105"),
    ((*CONV, "versions"), [None, 11], "S105"), ((*CONV, "versions"), "1-11", "S105"),
    ((*CONV, "versions"), [1], "S105"), ((*CONV, "types"), "float", "S105"), ((*CONV, "types", "T"), [], "S105"),
    ((*CONV, "types", "T"), ["float", "float"], "S106"), ((*CONV, "input_rank"), 4, "S105"),
    ((*CONV, "input_rank"), [-1], "S105"), ((*CONV, "constant_inputs"), "W", "S105"),
    ((*CONV, "constant_inputs"), [""], "S105"), ((*CONV, "attributes"), ["x"], "S105"),
    ((*CONV, "attributes", "group"), NULL, "S105"), ((*CONV, "attributes", "group"), {"a": 1}, "S105"),
    ((*CONV, "attributes", "group"), [[1]], "S105"),
    ((*CONV, "attributes", "group"), [1, [1]], "S105"), ((*CONV, "kind"), 1, "S103"), ((*NEWER, "outputs"), -1, "S105"),
    ((*NEWER, "outputs"), "Y", "S105"), ((*NEWER, "static_shape"), 1, "S105"), ((*NEWER, "notes"), "x", "S105"),
    ((*NEWER, "since"), 1.1, "S105"), (("operators",), [], "S105"), (("operators", "ai.onnx"), [], "S105"),
    (("operators", "ai.onnx", "Conv"), [], "S105"), (("operators", "ai.onnx", "Conv"), {}, "S105"),
    (("faults",), [], "S105"), (("faults", "ai.onnx", "Relu"), [], "S105"),
    ((*FAULT, "result"), None, "S104"), ((*FAULT, "result"), "odd", "S105"), ((*FAULT, "gives"), None, "S104"),
    ((*FAULT, "gives"), 3, "S105"), ((*FAULT, "when"), [], "S105"), ((*FAULT, "present"), "X", "S105"),
    ((*FAULT, "notes"), ["x"], "S103"), ((*FAULT, "types", "T"), [], "S105"), ((*FAULT, "versions"), 6, "S105"),
    (("functions",), [], "S105"), (("functions", "ai.onnx", "Gelu"), 20, "S105"), (("kernels_of",), "tract", "S103"),
]  # fmt: skip
MEANINGS = [
    ((*ROW, "release"), "1.10", "S106"), ((*ROW, "release"), "3.0", "S105"), ((*ROW, "opset"), [9, 7], "S105"),
    ((*CONV, "versions"), [11, 1], "S105"), ((*CONV, "types", "T"), ["flaot"], "S107"),
    ((*CONV, "types_not"), ["tensor(flaot)"], "S107"), ((*CONV, "until"), "1.1", "S107"),
    ((*NEWER, "since"), "2.0", "S105"), ((*CONV, "opsets"), [7, 9], "S103"), (("match",), "name", "S103"),
    (("match",), "opset", "S103"), ((*ROW, "kernels_release"), "1.0", "S103"),
    ((*FAULT, "where"), ["alpha > "], "S105"),
]  # fmt: skip


def edited(path, value):
    document = copy.deepcopy(RIGHT)
    *outer, last = path
    at = document
    for key in outer:
        at = at[key]
    if value is None:
        del at[last]
    else:
        at[last] = None if value is NULL else value
    return document


def load(document):
    return parse_runtime(f"{flow(document)}\n".encode(), "npu.yaml")


def test_all_that_may_stand_in_a_file():
    VALIDATOR.validate(RIGHT)
    table = make_table(load(RIGHT))
    assert (table.name, table.match, table.fallback, table.casts) == (
        *("acme-npu", "range", "onnxruntime-cpu"),
        {"double": "float"},
    )
    assert (table.title, table.source, table.aliases) == ("the NPU of ACME", "its table", ("npu", "acme:npu"))
    assert (table.notes, table.io_types_not) == (("later ones were not read",), {"bfloat16"})
    first, second, third = table.releases
    assert (first.opset, first.ml, first.ir, first.how) == ((7, 15), 3, 8, "documented")
    assert (second.opset, second.fallback_release, second.union_types) == ((7, None), "1.20", True)
    assert (third.opset, third.ir, third.lists_operators) == ((None, None), None, False)
    assert table.domains() == ["", "com.acme"] and table.functions("Gelu", "") == [20]
    older, newer = table.entries("Conv", "")
    assert [[table.holds(each, row.release) for row in table.releases] for each in (older, newer)] == [
        *([True, False, False], [False, True, False])
    ]


def test_releases_share_the_kernels_that_they_have_in_common():
    table = make_table(load(edited(("operators", "ai.onnx", "Abs"), [{}, {"since": "1.10"}])))
    first, second, third = (table.kernels("Abs", "", row.release) for row in table.releases)
    assert (len(first), len(second), third) == (1, 2, ())  # the third lists no operators
    assert first[0] is second[0]


TWICE = [
    (("releases",), {}), ((*ROW, "opset"), [7, "8"]), (CONV[:-1], {}), (("kernels_of",), "tract"),
    (("match",), "name"), (("match",), "opset"),
]  # fmt: skip
"""Faults of which there are two findings: a second one follows from the first, or two keys do not stand there."""


def hold_codes(caught, path, value, code):
    """Hold that the findings are those of one fault; entries that name a release which a fault took are told, too."""
    codes = [each.code for each in caught.value.finding_list if each.code == code or each.code != "S107"]
    assert codes == [code] * (2 if (path, value) in TWICE else 1)


@pytest.mark.parametrize(("path", "value", "code"), FAULTS)
def test_faults_of_form_are_found_by_the_loader_and_by_the_json_schema(path, value, code):
    document = edited(path, value)
    with pytest.raises(SchemaError) as caught:
        load(document)
    hold_codes(caught, path, value, code)
    assert not VALIDATOR.is_valid(document)


def test_the_type_that_stands_twice_is_named():
    with pytest.raises(SchemaError, match="the type 'int8' stands here twice"):
        load(edited((*CONV, "types", "T"), ["float", "int8", "bool", "int8"]))


@pytest.mark.parametrize(("path", "value", "code"), MEANINGS)
def test_faults_of_meaning_are_found_by_the_loader(path, value, code):
    with pytest.raises(SchemaError) as caught:
        load(edited(path, value))
    hold_codes(caught, path, value, code)


TEXT = """runtime: npu
match: kernel
releases:
- {release: "1.0", how: guessed}
operators:
  ai.onnx:
    Relu:
    - {versions: [6, 13], types: {T: [flaot]}, sicne: "1.0"}
    - {versions: [14, null], until: "1.1"}
"""


def test_every_fault_of_a_file_is_reported_with_its_place(tmp_path):
    path = tmp_path / "npu.yaml"
    path.write_text(TEXT)
    with pytest.raises(SchemaError) as caught:
        load_runtime(path)
    found = [(each.code, each.place.removeprefix(f"{path}:"), each.help) for each in caught.value.finding_list]
    assert sorted(found) == [
        ("S103", "8:48", "did you mean since?"),
        ("S105", "4:25", ""),
        ("S107", "8:39", "write float, or seq(tensor(float))"),
        ("S107", "9:37", "did you mean 1.0?"),
    ]


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b"a: [", b"[" * 1000, b"a: &a 1", b"- 1\n- 2", b"3", b"x: " + b"a" * 2**20, b"\0",
     b"runtime: a\nreleases: [" + b'{release: "1", how: measured},' * 1000 + b"]",
     b"runtime: a\nmatch: name\nreleases: [{release: '1', how: derived}]\noperators: {a: {"
     + b",".join(b"o%d: [{}]" % number for number in range(2000)) + b"}}",
     b"runtime: a\naliases: [" + b"x," * 1000 + b"]\nreleases: [{release: '1', how: derived}]"],
)  # fmt: skip
def test_files_that_are_none_or_too_large(data):
    with pytest.raises(SchemaError) as caught:
        parse_runtime(data, "npu.yaml")
    assert len(caught.value.finding_list) <= 100
    assert all(re.match(r"npu.yaml:\d+:\d+$", each.place) for each in caught.value.finding_list)


def test_a_file_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "missing.yaml", tmp_path):
        with pytest.raises(SchemaError) as caught:
            load_runtime(path)
        assert caught.value.code == "S101" and str(path) in str(caught.value)


def test_the_json_schema_has_the_keys_of_the_loader_and_a_command_prints_it():
    jsonschema.Draft202012Validator.check_schema(JSON_SCHEMA)
    assert json.loads(run("lint", "--json-schema", "runtime").stdout) == JSON_SCHEMA
    parts = JSON_SCHEMA["$defs"]
    assert [*JSON_SCHEMA["properties"]] == [*TABLE_KEYS]
    assert [*parts["release"]["properties"]] == [*RELEASE_KEYS]
    assert [*parts["entry"]["properties"]] == [*ENTRY_KEYS]
    assert [*parts["fault"]["properties"]] == [*FAULT_KEYS]
    assert parts["fault"]["properties"]["result"]["enum"] == [*RESULTS]
    assert parts["release"]["properties"]["how"]["enum"] == [*HOW]
    assert JSON_SCHEMA["properties"]["match"]["enum"] == [*MATCH]


@pytest.mark.parametrize("path", data_files(), ids=lambda path: path.stem)
def test_the_files_of_this_package_are_valid(path):
    assert [each.message for each in VALIDATOR.iter_errors(read(path.read_bytes(), Findings("x")).plain())] == []


def test_operators_whose_names_are_wrong_or_too_many_are_told_alone(monkeypatch):
    wrong = [{"versions": "1 to 2"}]
    document = edited(("operators", "com.acme"), {"a\nb": wrong, "Scale": wrong, "Turn": [{}]})
    with pytest.raises(SchemaError) as caught:
        load(document)
    assert [each.code for each in caught.value.finding_list] == ["S105", "S105"]  # of the name, and of Scale
    monkeypatch.setattr(loader, "MAX_OPERATORS", 1)
    document = edited(("operators", "com.acme"), {name: [{}] for name in ("Scale", "Turn", "Twist")})
    with pytest.raises(SchemaError) as caught:
        load(document)
    assert [each.message for each in caught.value.finding_list] == ["there are at most 1 operators"]
    load(edited(("operators", "com.acme"), {"Scale": [{}]}))


def test_lists_that_are_too_long_are_told_with_their_place(monkeypatch):
    text = "runtime: npu\nmatch: name\nreleases: [{release: '1', how: derived}]\noperators: {}\nnotes: [%s]\n"
    parse_runtime((text % ("a, " * 256)).encode(), "npu.yaml")
    monkeypatch.setattr(loader, "MAX_RELEASES", 0)
    with pytest.raises(SchemaError) as caught:
        parse_runtime((text % ("a, " * 257)).encode(), "npu.yaml")
    assert [(each.code, each.message, each.place) for each in caught.value.finding_list] == [
        ("S102", "there are at most 256 entries", "npu.yaml:5:8"),
        ("S102", "there are at most 0 releases", "npu.yaml:3:11"),
        ("S105", "a list of at least one release has to stand here", "npu.yaml:3:11"),
    ]
