"""Reports on a run of a corpus: how answers are judged, how cases are counted and joined, what is worse than before."""

import json
import re

import numpy as np
import pytest

from opset.errors import UsageError
from opset.reference.comparison import Difference
from opset.workflow.conformance.matrix import (
    FORMAT,
    LETTERS,
    MEANINGS,
    ResultChanges,
    RuntimeUnderTest,
    compare_results,
    corpus_results,
    counts_text,
    html_text,
    markdown_text,
    read_report,
    tables,
)
from opset.workflow.conformance.results import RESULTS, Case, Result, _judge_answer
from opset.workflow.conformance.runtimes import Answer


def case(name="c", kind="node", domain="", operator="Scale", version=1, types=("float",), chosen="", **more):
    files = {"example": f"of {name}", "shows": "C1", "tolerance": (0.0, 0.5), "files": {}}
    return Case(name, kind, domain, operator, version, types=types, chosen=chosen, **{**files, **more})


ONES = np.ones(2, np.float32)


@pytest.mark.parametrize(
    ("of", "answer", "result", "why"),
    [
        (case(), Answer("crash", why="died\n  here"), "crash", "died here"),
        (case(), Answer("timeout"), "timeout", ""),
        (case(kind="invalid"), Answer("refused", why="no"), "refused", "no"),
        (case(kind="invalid"), Answer("error", why="no"), "rejected", "no"),
        (case(kind="invalid"), Answer("done", (ONES,)), "accepted", ""),
        (case(), Answer("error", why="no"), "error", "no"),
        (case(), Answer("done", (ONES, ONES)), "wrong", "it has 2 outputs, and 1 is expected"),
        (case(), Answer("done", (ONES,)), "pass", ""),
        (case(), Answer("done", (ONES + 0.25,)), "pass", ""),
        (case(), Answer("done", (ONES + 1,)), "wrong", None),
        (case(kind="random", outputs=(("tensor(float)", (2,)),)), Answer("done", (ONES + 5,)), "pass", ""),
        (case(kind="random", outputs=(("tensor(float)", None),)), Answer("done", (ONES,)), "pass", ""),
        (case(kind="random", outputs=(("tensor(float)", (3,)),)), Answer("done", (ONES,)), "wrong",
         "output 0: it is tensor(float)[2], and tensor(float)[3] is expected"),
        (case(kind="random", outputs=(("tensor(double)", None),)), Answer("done", (ONES,)), "wrong",
         "output 0: it is tensor(float)[2], and tensor(double) is expected"),
        (case(kind="random", outputs=(("seq(tensor(float))", None),)), Answer("done", ([ONES],)), "pass", ""),
        (case(kind="random", outputs=(("tensor(float)", (2,)),)), Answer("done", ([ONES],)), "wrong",
         "output 0: it is seq(tensor(float)), and tensor(float)[2] is expected"),
        (case(kind="random", outputs=(("tensor(float)", (2,)),) * 2), Answer("done", (ONES,)), "wrong",
         "it has 1 output, and 2 are expected"),
        (case(kind="random", outputs=()), Answer("done", (ONES, ONES)), "wrong",
         "it has 2 outputs, and 0 are expected"),
    ],
)  # fmt: skip
def test_how_an_answer_is_judged(of, answer, result, why):
    found = _judge_answer(of, answer, {"y": ONES})
    assert (found.case, found.result) == (of, result)
    assert found.why == why if why is not None else found.why.startswith("output 0")


def test_whole_numbers_have_no_tolerance_and_the_greatest_difference_is_kept():
    whole = np.array([1, 2])
    assert _judge_answer(case(tolerance=(0.0, 5.0)), Answer("done", (whole + 1,)), {"y": whole}).result == "wrong"
    expected = {"a": ONES, "b": ONES, "c": ONES}
    found = _judge_answer(case(), Answer("done", (ONES + 0.125, ONES + 0.25, ONES)), expected)
    assert (found.result, found.output, found.difference.absolute) == ("pass", 1, 0.25)


def test_what_is_worse_and_what_is_better_than_before():
    before = {"a": "pass", "b": "wrong", "c": "refused", "d": "accepted", "e": "error", "f": "rejected", "h": "wrong"}
    after = {"a": "refused", "b": "error", "c": "pass", "d": "missing", "e": "accepted", "f": "pass", "g": "wrong"}
    found = compare_results([Result(case(name), result) for name, result in after.items()], before)
    assert found == ResultChanges(
        [("a", "pass", "refused"), ("d", "accepted", "missing")], [("c", "refused", "pass"), ("e", "error", "accepted")]
    )


def test_numbers_of_cases_as_text():
    assert counts_text({}) == "" and counts_text({"wrong": 2}) == "2w"
    counts = {name: number for number, name in enumerate(RESULTS, 1)}
    others = " ".join(f"{counts[name]}{letter}" for name, letter in LETTERS.items())
    assert counts_text(counts) == f"3 {others}"
    assert {*LETTERS} | {"pass", "rejected"} == {*RESULTS} == {*MEANINGS}


RUN = [
    Result(case("one", types=("float", "int64")), "pass"),
    Result(case("two", version=7), "wrong", "bad <b>", 0, Difference("", "bad", 0.5, 0.25)),
    Result(case("three", version=7, chosen="order"), "error", "fails"),
    Result(case("four"), "crash", "died"),
    *(Result(case(f"r{number}", version=number, types=("int8",)), "refused", f"no Scale({number})")
      for number in (7, 1, 1, 7)),
    Result(case("bad", "invalid", types=("bool",)), "accepted"),
    Result(case("good", "invalid"), "rejected", "C1"),
    Result(case("many", "random", "com.acme", "Wide", 3), "pass"),
]  # fmt: skip


def test_all_tables_of_a_run():
    changes = ResultChanges([("two", "pass", "wrong")], [("one", "error", "pass")])
    run = corpus_results(RuntimeUnderTest("npu", "1.0"), RUN, {"four": "known", "one": "unused"}, changes)
    assert run.totals == {
        "node": {"pass": 1, "wrong": 1, "error": 1, "crash": 1, "refused": 4},
        "random": {"pass": 1}, "invalid": {"rejected": 1, "accepted": 1},
    }  # fmt: skip
    assert run.types == {
        "float": {"pass": 2, "wrong": 1, "error": 1, "crash": 1}, "int64": {"pass": 1}, "int8": {"refused": 4},
    }  # fmt: skip
    assert [each.expected for each in run.cases] == ["", "", "", "known", *[""] * 7]
    assert run.cases[1].difference == (0, 0.5, 0.25) and run.cases[0].difference is None
    assert run.cases[0].domain == "ai.onnx" and run.cases[-1].domain == "com.acme"
    found = [(each.title, [*each.head], [[*row] for row in each.rows], each.matrix) for each in tables(run)]
    cases = ["operator", "versions", "types", "cases", "examples"]
    numbers = {"pass": "2", "rejected": "1", "wrong": "1", "error": "1", "crash": "1", "accepted": "1", "refused": "4"}
    totals = [[name, number, MEANINGS[name]] for name, number in numbers.items()]
    assert found == [
        ("", ["result", "cases", "meaning"], totals, False),
        ("Changes", ["", "case", "before", "now"],
         [["worse", "two", "pass", "wrong"], ["better", "one", "error", "pass"]], False),
        ("Disagreements", ["case", "result", "what happens"], [["two", "wrong", "bad <b>"]], False),
        ("Expected disagreements", [*cases, "reason"], [["Scale", "1", "float", "1c", "of four", "known"]], False),
        ("Choices", [*cases, "what is open"], [["Scale", "7", "float", "1e", "of three", "order"]], False),
        ("Operators of ai.onnx", ["operator", "1", "7", "invalid"],
         [["Scale", "1 1c 2r", "1w 1e 2r", "1 1a"]], True),
        ("Operators of com.acme", ["operator", "3", "invalid"], [["Wide", "1", ""]], True),
        ("Element types", ["type", "pass", "wrong", "error", "crash", "refused"], [
            ["float", "2", "1", "1", "1", ""], ["int64", "1", "", "", "", ""], ["int8", "", "", "", "", "4"]], True),
        ("Refused", [*cases, "what it says"],
         [["Scale", "1, 7", "int8", "4r", "of r1, of r7", "no Scale"]], False),
        ("Accepted", [*cases, "what is broken"], [["Scale", "1", "bool", "1a", "of bad", "C1"]], False),
    ]  # fmt: skip
    text = "11 cases of 2 operators in 3 versions ran on npu 1.0."
    assert tables(run)[0].text == text
    page, marked = html_text(run), markdown_text(run)
    assert marked.startswith(f"# Conformance of npu 1.0\n\n{text}\n\n| result |") and "bad <b>" not in page
    assert text in page and re.findall("<h2[^>]*>([^<]*)<", page) == ["Results", *(title for title, *_ in found[1:])]
    assert re.findall('aria-label="Table: ([^"]*)"', page) == ["Results", *(title for title, *_ in found[1:])]


def test_a_run_without_faults_has_no_tables_of_them():
    run = corpus_results(RuntimeUnderTest("npu", ""), RUN[:1], {})
    assert [each.title for each in tables(run)] == ["", "Operators of ai.onnx", "Element types"]
    assert markdown_text(run).startswith("# Conformance of npu\n\n1 case of 1 operator in 1 version ran on npu.")


def test_operators_of_one_name_are_told_apart_by_their_domains():
    results = [
        Result(case("one", version=20), "refused", "no"),
        Result(case("two", domain="com.acme"), "refused", "no"),
        Result(case("three", operator="Wide"), "refused", "no"),
    ]
    found = {each.title: each.rows for each in tables(corpus_results(RuntimeUnderTest("npu", ""), results, {}))}
    assert [row[:2] for row in found["Refused"]] == [["Wide", "1"], ["ai.onnx.Scale", "20"], ["com.acme.Scale", "1"]]


def report(*cases):
    return {"format": FORMAT, "cases": [{"name": name, "result": result} for name, result in cases]}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (None, "No such file or directory"),
        ({"format": FORMAT + 1, "cases": []}, f"its format is not {FORMAT}"),
        ({"cases": []}, "it has no 'format'"),
        ({"format": FORMAT}, "it has no 'cases'"),
        ({"format": FORMAT, "cases": [{"name": "a"}]}, "it has no 'result'"),
        ({"format": FORMAT, "cases": 3}, "its parts have other types"),
        ({"format": FORMAT, "cases": [3]}, "its parts have other types"),
        ([], "its parts have other types"),
        (report(("a", "fine")), "a case has no result"),
        (report(("a", "pass"), ("b", "fine")), "a case has no result"),
        (report(("a", "fine"), ("b", "pass")), "a case has no result"),
        (report(("a", "pass"), (3, "pass")), "a case has no result"),
        (report(("a", None), ("b", "pass")), "a case has no result"),
    ],
)
def test_an_earlier_report_that_cannot_be_used(data, why, tmp_path):
    path = tmp_path / "conformance.json"
    if data is not None:
        path.write_text(json.dumps(data))
    with pytest.raises(UsageError) as caught:
        read_report(str(path))
    (found,) = caught.value.finding_list
    assert (found.code, found.message, found.file) == ("U103", "the earlier report cannot be used", str(path))
    assert (found.why, found.help) == (why, "name the conformance.json of an earlier run")


def test_an_earlier_report_is_its_results_by_name(tmp_path):
    path = tmp_path / "conformance.json"
    path.write_text(json.dumps(report(*((name, name) for name in RESULTS))))
    assert read_report(str(path)) == {name: name for name in RESULTS}
