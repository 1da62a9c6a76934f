"""`opset conformance`: what counts as which result, what fails a run, and the reports."""

import hashlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from opset.cli.output import json_text
from opset.errors import CorpusError, UsageError
from opset.reference.comparison import Difference
from opset.workflow.conformance import matrix
from opset.workflow.conformance.expectations import compare_expectations, read_expectations
from opset.workflow.conformance.matrix import RuntimeUnderTest
from opset.workflow.conformance.results import Case, Result, _judge_answer, read_corpus, run_corpus, shorten_reason
from opset.workflow.conformance.runtimes import Answer, TestedRuntime
from opset.workflow.corpus import cases as corpus
from tests.cli.commands import heed_interrupts, run, run_json
from tests.docgen.accessibility import faults, parse
from tests.workflow.corpora import COPY, case, write
from tests.workflow.test_runtimes import is_gone

IDENTITY = TestedRuntime("copy", (*shlex.split(COPY),), False, 10)
FAILS = TestedRuntime("fails", ("sh", "-c", "echo no; exit 1"), False, 10)
F = np.float32


def results(folder, *cases, runtime=IDENTITY, jobs=2):
    return run_corpus(read_corpus(write(folder, *cases)), runtime, jobs)


def test_outputs_are_compared_as_the_case_says(tmp_path):
    table = [
        ("same", F([1, np.nan, np.inf]), F([1, np.nan, np.inf]), (0, 0), "pass"),
        ("zeros", F([0.0]), F([-0.0]), (0, 0), "pass"),
        ("near", F([1.001]), F([1]), (1e-2, 0), "pass"),
        ("far", F([1, 1.001]), F([1, 1]), (1e-4, 0), "wrong"),
        ("infinite", F([np.inf]), F([3e38]), (1, 1), "wrong"),
        ("integers_have_no_tolerance", np.array([101]), np.array([100]), (0.5, 5), "wrong"),
        ("types", F([1]), np.array([1.0]), (1, 1), "wrong"),
        ("shapes", F([1]), F([[1]]), (1, 1), "wrong"),
        ("text", np.array(["a", "b"], object), np.array(["a", "c"], object), (1, 1), "wrong"),
        ("bfloat16", F([1]).astype(ml_dtypes.bfloat16), F([1.0078125]).astype(ml_dtypes.bfloat16), (2**-6, 0), "pass"),
        ("int4", np.array([1], ml_dtypes.int4), np.array([2], ml_dtypes.int4), (2, 2), "wrong"),
    ]
    cases = [case(name, value, want, tolerance=tolerance) for name, value, want, tolerance, _ in table]
    found = results(tmp_path / "c", *cases)
    assert [(each.case.name, each.result) for each in found] == [(name, result) for name, *_, result in table]
    far = found[3]
    assert far.why == "output 0: 1 of 2 elements differ; the first at [1]: 1.001 instead of 1.0"
    assert (far.output, round(far.difference.absolute, 6)) == (0, 0.001)


def test_cases_that_break_a_constraint_and_those_drawn_at_random(tmp_path):
    cases = [
        case("broken", kind="invalid"),
        case("drawn", F([1, 2]), F([7, 7]), kind="random"),
        case("drawn_otherwise", F([1, 2]), F([7]), kind="random"),
    ]
    found = results(tmp_path / "c", *cases)
    assert [each.result for each in found] == ["accepted", "pass", "wrong"]
    assert found[2].why == "output 0: it is tensor(float)[2], and tensor(float)[1] is expected"
    assert [each.result for each in results(tmp_path / "c", *cases, runtime=FAILS)] == ["rejected", "error", "error"]


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        (("seq(tensor(float))", None), ""),
        (("tensor(float)", (1,)), "output 0: it is seq(tensor(float)), and tensor(float)[1] is expected"),
        (("tensor(float)", None), "output 0: it is seq(tensor(float)), and tensor(float) is expected"),
    ],
)
def test_a_sequence_drawn_at_random_has_no_shape(declared, why):
    drawn = SimpleNamespace(kind="random", outputs=(declared,))
    found = _judge_answer(drawn, Answer("done", ([F([1])],)), {})
    assert (found.result, found.why) == ("wrong" if why else "pass", why)


def test_a_case_that_is_not_complete_is_missing_and_the_others_are_run(tmp_path):
    cases = [case(name) for name in ("changed", "gone", "unlisted", "more", "elsewhere", "fine")]
    del cases[2][0]["files"]["node/unlisted/test_data_set_0/output_0.pb"]
    more = cases[3][0]["files"]
    more["node/more/test_data_set_0/input_1.pb"] = more["node/more/test_data_set_0/input_0.pb"]
    folder = tmp_path / "c"
    write(folder, *cases)
    (folder / "node/changed/test_data_set_0/output_0.pb").write_bytes(b"")
    (folder / "node/gone/model.onnx").unlink()
    inputs = folder / "node/elsewhere/test_data_set_0/input_0.pb"
    inputs.rename(tmp_path / "input_0.pb")
    inputs.symlink_to(tmp_path / "input_0.pb")
    found = run_corpus(read_corpus(str(folder)), IDENTITY)
    assert [each.result for each in found] == ["missing"] * 5 + ["pass"]
    unlisted = "the model has 1 output, and the manifest lists files for 0"
    words = ["its checksum is another", "No such file", unlisted, "No such file", "leads out"]
    assert all(word in each.why for word, each in zip(words, found, strict=False))


@pytest.mark.parametrize(
    ("path", "data", "why"),
    [
        ("model.onnx", b"\x0a\xff\xff", "it is no ModelProto, or damaged: "),
        ("test_data_set_0/input_0.pb", b"\x0a\xff\xff", "it is no TensorProto, or damaged: "),
        ("test_data_set_0/output_0.pb", b"\x10\x63", "99 is no element type"),
    ],
)
def test_a_damaged_file_makes_no_case(tmp_path, path, data, why):
    entry, files = case("damaged")
    path = f"node/damaged/{path}"
    files[path] = data
    entry["files"][path] = hashlib.sha256(files[path]).hexdigest()
    (found,) = results(tmp_path / "c", (entry, files))
    assert found.result == "missing" and found.why.startswith(why)


def test_a_manifest_that_cannot_be_used_is_an_error(tmp_path):
    entry, _ = case("one")
    broken = [
        b"", b"[]", b"{", b"[" * 100_000, b'{"format": 2, "cases": []}', b'{"format": 1, "cases": [7]}', b"\xff\xfe",
        b'{"format": 1}', b'{"format": 1, "cases": {}}', b'{"format": 1, "cases": ""}', b'{"cases": []}', b'"cases"',
        *(json.dumps({"format": 1, "cases": [{**entry, key: value}]}).encode() for key, value in [
            ("name", "../../etc"), ("name", 3), ("kind", "other"), ("version", "1"), ("tolerance", {"rtol": "nan"}),
            ("tolerance", None), ("files", {}), ("files", {"/etc/passwd": ""}), ("types", 3),
            ("operator", 3), ("types", [3]), ("tolerance", {"rtol": -1, "atol": 0}),
            ("files", {**entry["files"], "node/one/../../x": ""}),
        ]),
        json.dumps({"format": 1, "cases": [entry, entry]}).encode(),
        json.dumps({"format": 1, "cases": [{**entry, "status": "chosen", "because": 3}]}).encode(),
    ]  # fmt: skip
    for text in broken:
        (tmp_path / "manifest.json").write_bytes(text)
        with pytest.raises(CorpusError, match="T221"):
            read_corpus(str(tmp_path))
    with pytest.raises(CorpusError, match="No such file"):
        read_corpus(str(tmp_path / "nothing"))


def test_a_reason_is_one_line_without_the_folders_of_a_machine():
    assert shorten_reason("a\n  b\x1b[31m /home/me/src/op.cc:12: c") == r"a b\x1b[31m op.cc:12: c"
    assert len(shorten_reason("x y " * 10_000)) == 300


LIST = """
copy:
- {cases: [far], result: wrong, reason: It copies.}
- {cases: ["other_*"], result: error, reason: It fails.}
- {cases: [unknown], result: crash, reason: It is not there.}
- {cases: ["any_*", free], result: varies, reason: It reads memory that nothing set.}
"""


def test_named_disagreements_are_strict(tmp_path):
    path = tmp_path / "list.yaml"
    path.write_text(LIST)
    cases = [case("far", F([2]), F([1])), case("other_one"), case("other_two", F([2]), F([1])), case("fine")]
    cases += [case("any_one"), case("any_two", F([2]), F([1])), case("free")]
    found = compare_expectations(read_expectations(str(path), "copy"), results(tmp_path / "c", *cases), str(path))
    varies = dict.fromkeys(["any_one", "any_two", "free"], "It reads memory that nothing set.")
    assert found.reasons == {"far": "It copies.", "other_one": "It fails.", "other_two": "It fails.", **varies}
    assert [each.message for each in found.findings] == [
        "other_one is expected to be error, and is pass",
        "other_two is expected to be error, and is wrong",
    ]
    assert {each.code for each in found.findings} == {"T226"} and found.findings[0].place == f"{path}:4"
    assert found.unused == ["unknown"]


def test_what_the_standard_leaves_open_fails_no_run_and_is_reported_apart(tmp_path):
    chosen = {"status": "chosen", "because": "ties are not defined"}
    write(tmp_path / "c", case("tie", F([2]), F([1]), **chosen), case("fine", status="derived"))
    report = tmp_path / "r"
    path = tmp_path / "list.yaml"
    path.write_text("copy:\n- {cases: [tie], result: error, reason: It fails.}\n")
    named = ("--runtime", COPY, "--name", "copy", "--expect", str(path))
    done = run("conformance", tmp_path / "c", *named, "-o", report)
    assert done.exit_code == 0 and "1 of them is where the standard leaves it open" in done.stdout
    assert run("conformance", tmp_path / "c", *named[:4], "--strict").exit_code == 0
    data = json.loads((report / "conformance.json").read_text())
    assert [(each["result"], each.get("chosen")) for each in data["cases"]] == [
        ("wrong", "ties are not defined"),
        ("pass", None),
    ]
    assert "## Choices" in (report / "conformance.md").read_text()
    write(tmp_path / "d", case("tie", F([2]), F([1]), status="stated", because="13 summary"))
    done = run("conformance", tmp_path / "d", *named[:4])
    assert done.exit_code == 1 and "T225" in done.stderr


def test_the_list_for_onnxruntime_names_each_case_once():
    path = Path(__file__).parents[2] / "judges" / "conformance" / "disagreements.yaml"
    names = [name for entry in read_expectations(str(path), "onnxruntime") for name in entry.cases]
    assert len(names) > 100 and len({*names}) == len(names)


ENTRY = "- {cases: [a], result: wrong, reason: why}"
KEYS = "an entry has the keys cases, reason, result, all of them"
RESULTS = "and not one of wrong, error, crash, timeout, accepted, varies"


@pytest.mark.parametrize(
    ("text", "place", "why"),
    [
        ("[]", "", "it has no list for the runtime 'copy', only for: none"),
        (f"other:\n{ENTRY}\nmore: []", "", "it has no list for the runtime 'copy', only for: other, more"),
        ("copy: 3", ":1:7", "it is no list of entries"),
        (f"copy:\n{ENTRY}\n- 3", ":3:3", KEYS),
        ("copy: [{cases: [a], result: wrong}]", ":1:8", KEYS),
        ("copy: [{cases: [], result: wrong, reason: why}]", ":1:16", "`cases` is no list of names or patterns"),
        ("copy: [{cases: a, result: wrong, reason: why}]", ":1:16", "`cases` is no list of names or patterns"),
        ("copy: [{cases: [a, ''], result: wrong, reason: x}]", ":1:16", "`cases` is no list of names or patterns"),
        ("copy: [{cases: [a, 1], result: wrong, reason: x}]", ":1:16", "`cases` is no list of names or patterns"),
        ("copy: [{cases: [a], result: pass, reason: why}]", ":1:29", f"`result` is 'pass', {RESULTS}"),
        ("copy: [{cases: [a], result: wrong, reason: ' '}]", ":1:44", "`reason` is no text"),
        ("copy: [{cases: [a], result: wrong, reason: 3}]", ":1:44", "`reason` is no text"),
    ],
)
def test_a_list_that_cannot_be_used_is_an_error(tmp_path, text, place, why):
    path = tmp_path / "list.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_expectations(str(path), "copy")
    (found,) = caught.value.findings
    assert (found.code, found.place, found.why) == ("T227", f"{path}{place}" if place else "", why)
    assert found.file == ("" if place else str(path))
    wanted = "write the list below the runtime's name" if "no list for" in why else "an entry is {cases: [NAME, …], re"
    assert found.help.startswith(wanted)


def test_a_list_that_cannot_be_read_is_an_error(tmp_path):
    path = tmp_path / "list.yaml"
    twice = f"copy:\n{ENTRY}\n" * 2
    for text, why in (("", "no document"), ("[", "expected node content"), (twice, "the key 'copy' is duplicate")):
        path.write_text(text)
        with pytest.raises(UsageError, match="T227") as caught:
            read_expectations(str(path), "copy")
        assert why in caught.value.why and caught.value.place.startswith(f"{path}:") and caught.value.help
    with pytest.raises(UsageError, match=r"why +No such file"):
        read_expectations(str(tmp_path / "nothing"), "copy")


def result_of(name, result, kind="node", *, operator="", version=1, types=("float",), chosen="", **to):
    """What a runtime made of a case that is named, of Abs or of an operator of another domain."""
    names = ("ai.onnx.ml", operator) if operator else ("", "Abs")
    case = Case(name, kind, *names, version, name, f"shows {name}", types, (0.0, 0.0), {}, chosen=chosen)
    return Result(case, result, **to)


def test_a_list_is_compared_with_all_cases_that_it_names(tmp_path):
    path = tmp_path / "list.yaml"
    path.write_text("""copy:
- {cases: [a1, "a*"], result: wrong, reason: One.}
- {cases: ["?2", "c[12]"], result: accepted, reason: Two.}
""")
    entries = read_expectations(str(path), "copy")
    run = [
        result_of("a1", "wrong"),
        result_of("a2", "error", chosen="open"),
        result_of("a3", "crash"),
        result_of("a4", "crash"),
        result_of("a5", "refused"),
        result_of("b2", "rejected"),
        result_of("c1", "accepted"),
        result_of("d1", "error"),
    ]
    found = compare_expectations(entries, run, "list")
    assert found.reasons == {**dict.fromkeys(["a1", "a2", "a3", "a4", "a5"], "One."), "b2": "Two.", "c1": "Two."}
    changed, better = "state what happens now, and why", "remove the entry, or this case from it"
    assert [(each.message, each.place, each.why, each.help) for each in found.findings] == [
        ("a3 is expected to be wrong, and is crash", "list:2", "the entry says: One.", changed),
        ("a5 is expected to be wrong, and is refused", "list:2", "the entry says: One.", better),
        ("b2 is expected to be accepted, and is rejected", "list:3", "the entry says: Two.", better),
    ]
    assert found.unused == []


def test_cases_that_vary_are_named_by_several_patterns(tmp_path):
    path = tmp_path / "list.yaml"
    path.write_text("""copy:
- {cases: [a1, b1, none, c1], result: varies, reason: It reads.}
- {cases: [b1, d1], result: wrong, reason: It copies.}
""")
    run = [
        result_of(name, result) for name, result in (("a1", "wrong"), ("b1", "pass"), ("c1", "crash"), ("d1", "error"))
    ]
    found = compare_expectations(read_expectations(str(path), "copy"), run, "list")
    assert found.reasons == {**dict.fromkeys(["a1", "b1", "c1"], "It reads."), "d1": "It copies."}
    assert [each.message for each in found.findings] == ["d1 is expected to be wrong, and is error"]
    assert found.unused == ["none"]


def test_reports_are_deterministic_and_hold_hostile_text_as_data(tmp_path):
    nasty = "<script>alert(1)</script> | `x` [a](http://b) {{ 777 * 7 }} \x1b[31m\u202e"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{nasty}\nEND\nexit 1\n")
    program.chmod(0o755)
    cases = [case("one", shows=nasty, operator="<b>"), case("two", kind="invalid", shows=nasty), case("three")]
    first = results(tmp_path / "c", *cases, runtime=TestedRuntime(nasty, (str(program),), False, 10))
    data = matrix.corpus_results(RuntimeUnderTest(nasty, "<i>"), first, {"three": nasty})
    files = matrix.report_files(data, json_text(data), "")
    again = results(tmp_path / "c", *cases, runtime=TestedRuntime(nasty, (str(program),), False, 10), jobs=1)
    same = matrix.corpus_results(data.runtime, again, {"three": nasty})
    assert matrix.report_files(same, json_text(same), "") == files
    page = files["conformance.html"].decode()
    assert "<script" not in page and "5439" not in page and "\x1b" not in page and "\u202e" not in page
    assert faults(parse(page)) == []
    assert "http:" not in page.replace("http://b", "") and "https:" not in page
    text = files["conformance.md"].decode()
    assert "<script" not in text.replace(r"\<script", "") and "\x1b" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.replace(r"\|", "").count("|") for line in rows if "what happens" in line or "error" in line}) <= 2


def test_the_matrix_counts(tmp_path):
    cases = [
        case("a", version=1),
        case("b", F([2]), F([1]), version=13),
        case("c", version=13),
        case("d", kind="invalid"),
        case("e", operator="Abs", types=["int4", "float"]),
    ]
    data = matrix.corpus_results(RuntimeUnderTest("copy", ""), results(tmp_path / "c", *cases), {})
    identity = {"1": {"pass": 1}, "13": {"pass": 1, "wrong": 1}}
    assert data.operators == [
        ("ai.onnx", "Abs", {"16": {"pass": 1}}, {}),
        ("ai.onnx", "Identity", identity, {"accepted": 1}),
    ]
    assert data.totals == {"node": {"pass": 3, "wrong": 1}, "random": {}, "invalid": {"accepted": 1}}
    assert data.types == {"float": {"pass": 3, "wrong": 1}, "int4": {"pass": 1}}
    text = matrix.markdown_text(data)
    assert "| operator | 1 | 13 | 16 | invalid |" in text and "| Identity | 1 | 1 1w |  | 1a |" in text
    page = matrix.html_text(data)
    assert re.findall(r'class="other"[^>]*>(.*?)<', page) == ["1 1w", "1a"]  # no names, and no cells of other tables


RUN = [
    result_of("a", "pass"), result_of("b", "wrong", version=13, why="it differs"),
    result_of("c", "error", why="none for Abs(13)"), result_of("d", "crash", why="ended", chosen="ties"),
    result_of("e", "timeout", version=6, why="late"),
    result_of("f", "accepted", "invalid"), result_of("g", "rejected", "invalid"),
    result_of("h", "refused", why="no Abs(1) here", types=("int4",)),
    result_of("i", "refused", version=13, why="no Abs(13) here", types=("int8", "int4")), result_of("j", "missing"),
    result_of("k", "pass", "random", operator="Zed", version=2),
    result_of("l", "wrong", operator="Zed", version=2, why="other", output=1,
           difference=Difference("", "other", 0.5, float("inf"))),
]  # fmt: skip
COLUMNS = (
    "The columns are the versions that introduced a definition. A number is that of cases that pass; a letter says "
    "what others do: w wrong, e error, c crash, t timeout, r refused, a accepted, m missing. The last column has the "
    "cases that break a constraint."
)
PAGE = """# Conformance of it 1.2

12 cases of 2 operators in 4 versions ran on it 1.2.

| result | cases | meaning |
| --- | --- | --- |
| pass | 2 | the outputs are those of the case, within its tolerance |
| rejected | 1 | a case that breaks a constraint of its operator fails, as it should |
| wrong | 2 | an output is not the expected one |
| error | 1 | the runtime fails on a valid case |
| crash | 1 | the process of the runtime died |
| timeout | 1 | the case did not come to an end |
| accepted | 1 | a case that breaks a constraint of its operator is computed |
| refused | 2 | the runtime says that it lacks the operator, its version or an element type |
| missing | 1 | a file of the case is not there, or is not the one of the manifest |

## Changes

Beside the earlier report.

|  | case | before | now |
| --- | --- | --- | --- |
| worse | b | pass | wrong |
| worse | h | pass | refused |
| better | a | wrong | pass |
| better | i | wrong | refused |

## Disagreements

| case | result | what happens |
| --- | --- | --- |
| e | timeout | late |
| l | wrong | other |

## Expected disagreements

Each with its reason.

| operator | versions | types | cases | examples | reason |
| --- | --- | --- | --- | --- | --- |
| Abs | 1 | float | 1e | c | known |
| Abs | 13 | float | 1w | b | known |

## Choices

What the standard leaves open: these are no faults, and fail no run.

| operator | versions | types | cases | examples | what is open |
| --- | --- | --- | --- | --- | --- |
| Abs | 1 | float | 1c | d | ties |

## Operators of ai.onnx

{COLUMNS}

| operator | 1 | 6 | 13 | invalid |
| --- | --- | --- | --- | --- |
| Abs | 1 1e 1c 1r 1m | 1t | 1w 1r | 1 1a |

## Operators of ai.onnx.ml

{COLUMNS}

| operator | 2 | invalid |
| --- | --- | --- |
| Zed | 1 1w |  |

## Element types

Cases count for each type that their inputs and outputs have.

| type | pass | wrong | error | crash | timeout | refused | missing |
| --- | --- | --- | --- | --- | --- | --- | --- |
| float | 2 | 2 | 1 | 1 | 1 |  | 1 |
| int4 |  |  |  |  |  | 2 |  |
| int8 |  |  |  |  |  | 1 |  |

## Refused

What the runtime says it lacks.

| operator | versions | types | cases | examples | what it says |
| --- | --- | --- | --- | --- | --- |
| Abs | 1, 13 | int4, int8 | 2r | h, i | no Abs here |

## Accepted

Cases that break a constraint of their operator, and are computed all the same.

| operator | versions | types | cases | examples | what is broken |
| --- | --- | --- | --- | --- | --- |
| Abs | 1 | float | 1a | f | shows f |
"""


def test_the_page_of_a_report():
    before = {"a": "wrong", "b": "pass", "h": "pass", "i": "wrong", "e": "wrong", "f": "refused", "z": "pass"}
    reasons = {"a": "unused", "b": "known", "c": "known", "d": "unused", "f": "too"}
    data = matrix.corpus_results(RuntimeUnderTest("it", "1.2"), RUN, reasons, matrix.compare_results(RUN, before))
    assert matrix.markdown_text(data) == PAGE.replace("{COLUMNS}", COLUMNS)
    assert {each.name: each.expected for each in data.cases if each.expected} == {
        "b": "known",
        "c": "known",
        "f": "too",
    }
    cases = json.loads(json_text(data))["cases"]
    assert {each["name"]: each["difference"] for each in cases if "difference" in each} == {
        "l": {"output": 1, "absolute": 0.5, "relative": "inf"}
    }
    assert cases[1] == {
        "name": "b", "kind": "node", "domain": "ai.onnx", "operator": "Abs", "version": 13, "example": "b",
        "shows": "shows b", "types": ["float"], "result": "wrong", "why": "it differs", "expected": "known",
    }  # fmt: skip


def test_the_exit_status_says_what_kind_of_fault_there_is(tmp_path):
    good = write(tmp_path / "good", case("a"), case("b", kind="invalid"))
    bad = write(tmp_path / "bad", case("a"), case("far", F([2]), F([1])), case("worse", F([3]), F([1])))
    empty = write(tmp_path / "empty")
    (tmp_path / "list.yaml").write_text("copy: [{cases: [far, worse], result: wrong, reason: It copies.}]")
    (tmp_path / "wide.yaml").write_text("copy: [{cases: ['*'], result: wrong, reason: It copies.}]")
    lacks = "sh -c 'echo none; exit 77'"
    named = ["--name", "copy", "--expect", tmp_path / "list.yaml"]
    for status, code, words in (
        (0, "", [good, "--runtime", COPY]), (3, "T223", [good, "--runtime", COPY, "--min-cases", 3]),
        (1, "T225", [bad, "--runtime", COPY]), (0, "", [bad, "--runtime", COPY, *named]),
        (1, "T226", [bad, "--runtime", COPY, "--name", "copy", "--expect", tmp_path / "wide.yaml"]),
        (0, "", [good, "--runtime", COPY, *named]), (1, "T226", [good, "--runtime", COPY, *named, "--strict"]),
        (3, "T223", [good, "--runtime", lacks]), (0, "", [good, "--runtime", lacks, "--min-cases", 0]),
        (1, "T225", [good, "--runtime", lacks, "--min-cases", 0, "--strict"]), (3, "T223", [empty, "--runtime", COPY]),
        (2, "T224", [good, "--runtime", "no-such-program"]), (3, "T221", [tmp_path / "none", "--runtime", COPY]),
        (2, "U103", [good, "--runtime", "sh 'x"]), (2, "U103", [good, "--runtime", COPY, "--baseline", good]),
        (2, "T227", [bad, "--runtime", COPY, "--expect", tmp_path / "list.yaml"]),
    ):  # fmt: skip
        done = run("conformance", *words)
        assert done.exit_code == status and f"[{code}]" in (done.stderr or "[]"), (words, done.stderr)
    os.unlink(tmp_path / "good/node/a/model.onnx")
    done = run("conformance", good, "--runtime", COPY)
    assert done.exit_code == 3 and "error[T222] a is not complete" in done.stderr


def test_reports_are_written_and_compared_with_earlier_ones(tmp_path):
    corpus = write(tmp_path / "c", case("a"), case("b", F([2]), F([1])))
    first = run("conformance", corpus, "--runtime", COPY, "-o", tmp_path / "out")
    assert first.stdout.splitlines()[:3] == [f"{COPY}: 2 cases", "        pass  wrong", "  node     1      1"]
    assert sorted(os.listdir(tmp_path / "out")) == ["conformance.html", "conformance.json", "conformance.md"]
    assert run("conformance", corpus, "--runtime", COPY, "-o", tmp_path / "out").exit_code == 2
    write(tmp_path / "c", case("a", F([2]), F([1])), case("b"))
    report = tmp_path / "out/conformance.json"
    data = run_json("conformance", corpus, "--runtime", COPY, "--baseline", report, "-o", tmp_path / "out", "--force")
    assert data["changes"] == {"worse": [["a", "pass", "wrong"]], "better": [["b", "wrong", "pass"]]}
    assert [each["code"] for each in data["errors"]] == ["T225", "T228"] and data["exit_status"] == 1
    assert data == json.loads(report.read_text())
    assert "| worse | a | pass | wrong |" in (tmp_path / "out/conformance.md").read_text()


def test_the_kernels_of_opset_agree_with_their_corpus(tmp_path):
    made = run("testgen", "Abs", "Bernoulli", "-o", tmp_path / "c")
    assert made.exit_code == 0
    data = run_json("conformance", tmp_path / "c", "--runtime", "opset", "--strict")
    assert data["exit_status"] == 0 and data["runtime"]["version"]
    assert {kind: [*counts] for kind, counts in data["totals"].items()} == {
        "node": ["pass"],
        "random": ["pass"],
        "invalid": ["rejected"],
    }


def test_an_interrupt_ends_all_processes_and_removes_what_they_left(tmp_path):
    program = tmp_path / "program"
    pid = tmp_path / "pid"
    program.write_text(f"#!/bin/sh\nsleep 60 & echo $! > {pid}.new\nmv {pid}.new {pid}; wait\n")
    program.chmod(0o755)
    corpus = write(tmp_path / "c", case("a"))
    (tmp_path / "temporary").mkdir()
    where = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    words = [sys.executable, "-m", "opset", "conformance", corpus, "--runtime", str(program)]
    process = subprocess.Popen(words, env=where, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts)
    try:
        for _ in range(500):
            if pid.exists():
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
    finally:
        process.kill()
    assert (process.returncode, errors) == (130, "interrupted\n")
    assert is_gone(pid.read_text().strip())
    assert os.listdir(tmp_path / "temporary") == []


def test_without_a_corpus_that_of_the_standard_is_made_and_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pick_cases = corpus.pick_cases
    monkeypatch.setattr(corpus, "pick_cases", lambda *some, **more: pick_cases(*some, **more)[:3])
    runtime = "sh -c 'exit 77'"
    done = run("conformance", "--runtime", runtime, "--min-cases", 0, "-o", tmp_path / "out", "--format", "junit")
    assert done.exit_code == 0 and '<testsuite name="." tests="1"' in done.stdout and os.listdir(tmp_path) == ["out"]
    assert "3 cases" in (tmp_path / "out" / "conformance.md").read_text()


@pytest.mark.parametrize("names", [["md"], ["json", "html"]])
def test_a_report_that_exists_is_told_before_anything_is_run(tmp_path, monkeypatch, names):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "cases", case("one"))
    (tmp_path / "out").mkdir()
    for name in names:
        (tmp_path / "out" / f"conformance.{name}").touch()
    result = run("conformance", "cases", "--runtime", "touch started", "-o", "out")
    assert result.exit_code == 2 and not (tmp_path / "started").exists() and result.stdout == ""
    assert [line for line in result.stderr.splitlines() if "where" in line] == [
        f"  where   out/conformance.{name}" for name in names
    ]
    assert all((tmp_path / "out" / f"conformance.{name}").read_bytes() == b"" for name in names)
    assert run("conformance", "cases", "--runtime", "touch started", "-o", "out", "--force").exit_code == 1
    assert (tmp_path / "started").exists() and all(Path(f"out/conformance.{name}").stat().st_size for name in names)


def test_what_is_open_is_not_worse_than_before(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chosen = {"status": "chosen", "because": "ties are not defined"}
    write(tmp_path / "c", case("tie", **chosen), case("plain"))
    assert run("conformance", "c", "--runtime", COPY, "-o", "out").exit_code == 0
    write(tmp_path / "c", case("tie", F([2]), F([1]), **chosen), case("plain"))
    result = run("conformance", "c", "--runtime", COPY, "--baseline", "out/conformance.json")
    assert (result.exit_code, result.stderr) == (0, "") and "  1 worse and 0 better than before\n" in result.stdout
    write(tmp_path / "c", case("tie", F([2]), F([1]), **chosen), case("plain", F([2]), F([1])))
    result = run("conformance", "c", "--runtime", COPY, "--baseline", "out/conformance.json")
    assert [line for line in result.stderr.splitlines() if line.startswith("error")] == [
        "error[T225] plain: wrong", "error[T228] plain was pass, and is wrong",
    ]  # fmt: skip
