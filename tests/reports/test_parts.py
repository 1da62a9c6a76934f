"""The sections of pages, made of reports with the values that no small model has."""

import json
import re

import pytest

from opset.errors import UsageError
from opset.inference.engine.result import COVERAGE_WORDS
from opset.reports.breaking import breaking_page
from opset.reports.conversions import (
    EffectKind,
    change_parts,
    kinds_of,
    picture_parts,
    release_words,
    targets_words,
    versions_words,
)
from opset.reports.differences import _more
from opset.reports.files import write_page
from opset.reports.findings import finding_parts
from opset.reports.frame import Cell, first_rows, lines_cell, number_cell, safe_lines, words_cell
from opset.reports.inferences import coverage_text, inference_parts
from opset.reports.models import (
    _blocker_parts,
    _detail,
    _facts,
    _findings_cell,
    _mend_parts,
    _models_parts,
    _total_parts,
    _verdict,
    _verdict_of,
    models_page,
)
from opset.reports.verifications import histogram_picture, run_facts, verification_page, verification_parts

GROUP = {
    "domain": "ai.onnx", "operator": "Gelu", "before": 20, "after": 0, "nodes": 2, "kept": False, "steps": ["lowered"],
    "becomes": ["Mul"], "places": [{"graph": 0, "node": 3, "name": ""}, {"graph": 1, "node": 0, "name": "act"}],
    "example": {"given": "y = Gelu (x)", "made": ["y = Mul (x, x)"]},
}  # fmt: skip
KEPT = GROUP | {"operator": "Relu", "before": 14, "after": 14, "kept": True, "places": [], "example": None}
FOUND = {
    "code": "C201", "message": "it cannot be", "why": "none has 'a'", "help": "do else", "place": "node 'n.1'",
    "file": "m.onnx", "at": {"domain": "ai.onnx.ml", "op_type": "Scaler"},
}  # fmt: skip
WORDS = {"converted": "converted", "refused": "refused", "warned": "converted with warnings"}
MODEL = {"input": "m.onnx", "output": None, "status": "converted", "exit_status": 0, "errors": [], "omitted": 0}
OUTPUT = {
    "name": "y", "after": "y", "verdict": "same", "absolute": 0.0, "relative": 0.0, "ulps": 0.0, "elements": 1000,
    "nan_before": 0, "nan_after": 0, "rtol": 0.0, "atol": None, "longest_sum": 1, "histogram": [1000, *[0] * 7],
}  # fmt: skip
RUN = {"source": "drawn with seed 0", "sizes": {"N": 2}, "verdict": "same"}
VERIFIED = {
    "before": "a.onnx", "after": "b.onnx", "with": "opset's reference", "verdict": "same", "runs": [RUN],
    "outputs": [OUTPUT], "first_difference": None, "notes": [], "errors": [],
}  # fmt: skip


def rows_of(table):
    """Return the head of a table and the texts of its rows; further lines of a cell follow its text."""
    return [table.head, *([each.text + "; ".join(each.lines) for each in row] for row in table.rows)]


def test_kinds_are_summed_over_models_with_places_and_their_graphs():
    model = {"operators": [KEPT, GROUP], "graphs": ["graph 'g'", "then_branch"]}
    gelu, relu = kinds_of([model, model, {}])
    assert (gelu.nodes, gelu.models, relu.nodes, relu.models) == (4, 2, 4, 2)
    assert gelu.names == ["number 3, graph 'g'", "act, then_branch"] * 2
    (alone,) = kinds_of([{"operators": [GROUP | {"places": GROUP["places"][:1]}], "graphs": ["graph 'g'"]}])
    assert alone.names == ["number 3"]
    many = [{"graph": 0, "node": each, "name": f"n{each}"} for each in range(700)]
    (kind,) = kinds_of([{"operators": [GROUP | {"places": many}], "graphs": ["g"]}] * 2)
    assert len(kind.names) == 1000 and kind.names[699:701] == ["n699", "n0"]
    others = [GROUP | {"domain": domain, "before": before} for domain, before in (("b", 2), ("ai.onnx", 9), ("b", 1))]
    found = kinds_of([{"operators": [KEPT, *others], "graphs": ["g", "h"]}])
    assert [(each.operator, each.group["before"]) for each in found] == [
        ("Gelu", 9), ("b.Gelu", 1), ("b.Gelu", 2), ("Relu", 14),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("count", "words"),
    [(4, "lowered to Add0, Add1, Add2, Add3"), (5, "lowered to 5 nodes: Add0, Add1, Add2, Add3, Add4")],
)
def test_many_nodes_in_place_of_one_are_counted(count, words):
    kind = EffectKind(GROUP | {"becomes": [f"Add{each}" for each in range(count)]})
    assert (kind.outcome, kind.versions) == (words, "20")
    assert EffectKind(GROUP | {"after": 21}).versions == "20 → 21" == versions_words(20, 21)


def test_versions_of_a_model_are_said_and_named_by_releases():
    opsets = [{"domain": "x", "before": 1, "after": 1}, {"domain": "ai.onnx", "before": 13, "after": 21}]
    model = {"opsets": opsets, "ir_version": {"before": 7, "after": 10}}
    assert targets_words(model) == "x 1, ai.onnx 13 → 21, IR version 7 → 10"
    assert [release_words({"opsets": each}) for each in (opsets, opsets[:1], [])] == [
        "1.8.0 → 1.16.0 of onnx", "", "",
    ]  # fmt: skip


def test_operators_that_change_stay_and_are_passed_through_have_a_table_each():
    model = {"operators": [GROUP, KEPT], "graphs": ["g"] * 2, "passed": [{"domain": "x", "operator": "Op", "nodes": 3}]}
    kinds = kinds_of([model])
    (part,) = change_parts(kinds, [model], False)
    (changed,), (kept, passed) = part.tables, part.folded
    assert rows_of(changed) == [
        ["operator", "version", "nodes", "what happens", "which nodes"],
        ["Gelu", "20", "2", "lowered to Mul", "number 3, g; act, g"],
    ]
    assert rows_of(kept.table) == [["operator", "version", "nodes"], ["Relu", "14", "2"]]
    assert kept.title == "Nodes that stay as they are: 2, of 1 operator"
    assert rows_of(passed.table) == [["operator", "nodes"], ["x.Op", "3"]]
    assert passed.title == "Nodes of domains without schemas, which are passed through: 3"
    assert part.texts == []
    (refused,) = change_parts(kinds, [model], True)
    assert refused.texts == ["These nodes could be converted. Nothing was changed, since others cannot."]
    (unchanged,) = change_parts(kinds[1:], [model], True)
    assert unchanged.texts == ["No node changes."] and unchanged.tables == []
    (through,) = change_parts([], [model], False)
    assert [each.title[:16] for each in through.folded] == ["Nodes of domains"]
    assert [*change_parts([], [{}], False)] == []
    (many,) = change_parts(kinds_of([model] * 2), [model] * 2, False)
    assert rows_of(many.tables[0]) == [
        ["operator", "version", "nodes", "models", "what happens"],
        ["Gelu", "20", "4", "2", "lowered to Mul"],
    ]
    assert rows_of(many.folded[0].table) == [["operator", "version", "nodes", "models"], ["Relu", "14", "4", "2"]]
    assert rows_of(many.folded[1].table)[1] == ["x.Op", "6"]


def test_pictures_are_of_the_first_kinds(monkeypatch):
    kinds = [EffectKind(GROUP | {"before": each}, 1, 1, ["n"]) for each in range(63)]
    silent = EffectKind(GROUP | {"example": None}, 1, 1, ["n"])
    stays = EffectKind(GROUP | {"kept": True}, 1, 1, ["n"])
    (part,) = picture_parts([*kinds, silent, stays])
    assert len(part.changes) == 60 and part.texts[1] == "… and 3 more kinds, which the table has"
    assert {each.is_open for each in part.changes} == {False}
    assert [*picture_parts([silent, stays])] == []
    for count, is_open in ((8, True), (9, False)):
        (part,) = picture_parts(kinds[:count])
        assert [each.is_open for each in part.changes] == [is_open] * count and len(part.texts) == 1
    first = part.changes[0]
    monkeypatch.setattr("opset.reports.conversions.MOST_DRAWN", len(first.before) + len(first.after))
    (part,) = picture_parts(kinds[:3])
    assert [bool(each.before) for each in part.changes] == [bool(each.after) for each in part.changes]
    assert [bool(each.after) for each in part.changes] == [True, False, False]


def test_a_kind_of_change_is_shown_with_its_nodes():
    def shown(**more):
        (part,) = picture_parts([EffectKind(GROUP, **more)])
        return part.changes[0]

    one = shown(nodes=1, names=["a"])
    assert (one.title, one.text) == ("Gelu 20: lowered to Mul", "a. Steps: lowered.")
    assert (one.before_title, one.after_title) == ("Before: Gelu 20", "After: 1 node")
    assert one.code == "y = Gelu (x)\n→\ny = Mul (x, x)"
    assert shown(nodes=3, names=["a", "b", "c"]).text == "a and 2 more. Steps: lowered."
    assert shown(nodes=3, names=["a0", "a1", "a2"]).text == "a0, x 3: 0-2. Steps: lowered."
    assert shown(nodes=3).text == ". Steps: lowered."
    assert shown(nodes=3).title == "Gelu 20, x 3: lowered to Mul"
    undrawn = GROUP | {"example": {"given": "y = If <then = g () => () {}> (x)", "made": ["a = A ()", "b = B ("]}}
    ((change,),) = (part.changes for part in picture_parts([EffectKind(undrawn)]))
    assert (change.before, change.after, change.after_title) == ("", "", "After: 2 nodes")
    many = [f"{'y' if number == 59 else f'v{number + 1}'} = Neg (v{number})" for number in range(60)]
    large = GROUP | {"example": {"given": "y = Gelu (v0)", "made": many}}
    ((change,),) = (part.changes for part in picture_parts([EffectKind(large)]))
    assert (change.before, change.after, change.after_title) == ("", "", "After: 60 nodes")


def test_findings_are_joined_and_those_that_are_left_out_counted():
    other = FOUND | {"why": "none has 'b'", "place": "node 'n.2'"}
    bare = FOUND | {"code": "M101", "message": "torn", "why": "", "help": "", "place": "", "at": None}
    (part,) = finding_parts([{"errors": [FOUND, other, bare]}], "Refusals")
    assert rows_of(part.tables[0]) == [
        ["finding", "operator", "times", "where", "what and why", "help"],
        ["error C201", "ai.onnx.ml.Scaler", "2", "node 'n.1', x 2: 1-2", "it cannot benone has 'a'", "do else"],
        ["error M101", "", "1", "m.onnx", "torn", ""],
    ]
    assert part.tables[0].title == "Refusals by kind" and part.tables[0].more == ""
    assert [each[:6] for each in part.lines] == ["C201: ", "M101: "]
    (part,) = finding_parts([{"errors": [FOUND]}, {"errors": [FOUND, FOUND], "omitted": 2000}], "Findings")
    assert rows_of(part.tables[0])[1][2:4] == ["3", "2"]
    assert part.tables[0].more.strip() == "… and 2,000 more findings, which the report does not list"
    assert [*finding_parts([{"errors": []}], "Findings")] == []
    (part,) = finding_parts([{"errors": [FOUND | {"code": "X999"}, FOUND]}], "Findings")  # of another version
    assert [each[:6] for each in part.lines] == ["C201: "] and len(part.tables[0].rows) == 2


@pytest.mark.parametrize(
    ("model", "words", "kind"),
    [
        ({}, "Converted", "good"),
        ({"status": "warned"}, "Converted with warnings", "warn"),
        ({"error_count": 1, "warning_count": 2}, "Converted: 1 error, 2 warnings", "good"),
        ({"error_count": 1000, "warning_count": 1}, "Converted: 1,000 errors, 1 warning", "good"),
        ({"status": "refused", "exit_status": 1}, "Refused", "bad"),
        ({"nodes": {"refused": 0, "total": 3}}, "Converted", "good"),
        (
            {"status": "refused", "exit_status": 1, "nodes": {"refused": 1, "total": 2}},
            "Refused. 1 of 2 nodes cannot be converted; nothing was written",
            "bad",
        ),
        (
            {"status": "refused", "exit_status": 1, "nodes": {"refused": 0, "total": 2}},
            "Refused. The model cannot be converted; nothing was written",
            "bad",
        ),
        ({"verification": VERIFIED}, "Converted. Verified: same", "good"),
        ({"internal_error": "KeyError: 1", "exit_status": 3}, "Converted. KeyError: 1", "bad"),
    ],
)
def test_the_verdict_on_a_model(model, words, kind):
    assert _verdict_of(MODEL | model, WORDS) == Cell(words, kind)


def test_the_verdict_on_several_models():
    summary = {"models": 2, "converted": 1, "refused": 0, "warned": 1, "exit_status": 0}
    assert _verdict(summary, WORDS) == Cell("2 models: 1 converted, 1 converted with warnings", "good")
    summary |= {"models": 1, "exit_status": 1}
    assert _verdict(summary, WORDS) == Cell("1 model: 1 converted, 1 converted with warnings", "bad")
    assert _detail({"opsets": []}) == _detail({"ir_version": {}}) == ""


def test_facts_of_a_model():
    assert [*_facts(MODEL | {"input": "-", "output": "-"})] == [("Model", "stdin"), ("Written", "stdout")]
    model = MODEL | {"mended_count": 1000, "coverage": {}, "nodes": {"total": 1}, "output": "o"}
    coverage = dict.fromkeys(COVERAGE_WORDS, 0)
    assert [*_facts(model | {"coverage": coverage})] == [
        ("Model", "m.onnx"), ("Written", "o"), ("Mended", "1,000"), ("Values", "0: none"),
    ]  # fmt: skip
    assert coverage_text(coverage | {"known": 40, "rank": 6}) == "46: 40 known in numbers, 6 of known rank"
    for nodes, words in (({}, "1"), ({"passed": 1, "kept": 2000, "refused": 0}, "1: 1 passed through, 2,000 kept")):
        assert [*_facts(MODEL | {"nodes": {"total": 1} | nodes})][1:] == [("Nodes", words)]
    versions = [{"domain": "ai.onnx", "before": 13, "after": 999}]
    target = {"opsets": versions, "ir_version": {"before": 7, "after": 7}}
    assert [*_facts(MODEL | target)][1:] == [("Target", "ai.onnx 13 → 999, IR version 7")]
    versions[0]["after"] = 13
    assert [*_facts(MODEL | target)][2:] == [("Releases", "1.8.0 of onnx")]


def test_a_row_for_each_of_many_models():
    def table_of(*models, left_out=0):
        (part,) = _models_parts([MODEL | each for each in models], WORDS, left_out)
        return part.tables[0]

    assert rows_of(table_of({}, {"input": "-", "status": "warned"})) == [
        ["model", "verdict", "findings"],
        ["m.onnx", "converted", "none"],
        ["stdin", "converted with warnings", "none"],
    ]
    full = table_of({"output": "o", "verification": VERIFIED, "error_count": 0, "warning_count": 1}, {}, left_out=1000)
    assert rows_of(full) == [
        ["model", "verdict", "what", "verified", "findings", "written"],
        ["m.onnx", "converted", "0 errors, 1 warning", "same", "none", "o"],
        ["m.onnx", "converted", "", "", "none", "nothing"],
    ]
    assert [each.kind for each in full.rows[0]] == ["", "good", "", "good", "quiet", ""]
    assert full.more == "1,000 more models are not on this page; --report FILE.jsonl has all"
    long = table_of(*[{}] * 1001, left_out=2)
    assert long.more == "… and 1 more 2 more models are not on this page; --report FILE.jsonl has all"
    assert [part.tables for part in _models_parts([], WORDS, 0)] == [[]]


def test_findings_on_one_of_many_models():
    assert _findings_cell(MODEL | {"internal_error": "KeyError: 1"}) == Cell("KeyError: 1")
    cell = _findings_cell(MODEL | {"errors": [FOUND]})
    assert cell.lines == ["C201 ai.onnx.ml.Scaler; it cannot be; none has 'a'; at node 'n.1'"]
    assert cell.folded == "1 finding"
    cell = _findings_cell(MODEL | {"errors": [FOUND, FOUND | {"place": ""}, FOUND | {"code": "M1", "at": None}]})
    assert cell.lines == [
        "C201 ai.onnx.ml.Scaler (x 2); it cannot be; none has 'a'",
        "M1; it cannot be; none has 'a'; at node 'n.1'",
    ]
    assert cell.folded == "3 findings"
    cell = _findings_cell(MODEL | {"errors": [FOUND | {"why": "", "place": ""}]})
    assert cell.lines == ["C201 ai.onnx.ml.Scaler; it cannot be"]


def test_sums_blockers_and_mends():
    total = {"operator": "", "code": "C201", "findings": 1000, "models": 2, "why": "so", "help": "else"}
    (part,) = _total_parts([total], "Refusals")
    assert rows_of(part.tables[0]) == [
        ["operator", "code", "times", "models", "why", "help"],
        ["no node", "C201", "1,000", "2", "so", "else"],
    ]
    assert (part.title, part.tables[0].rows[0][1].kind) == ("Refusals by operator", "bad")
    assert [*_total_parts([], "Refusals")] == []
    blocker = {"code": "C201", "domain": "ai.onnx.ml", "operator": "Scaler", "version": 1, "nodes": 1000, "place": "p"}
    blocker |= {"message": "m", "why": "w", "help": "h"}
    (part,) = _blocker_parts({"blockers": [blocker, blocker | {"version": 0, "why": ""}]})
    assert rows_of(part.tables[0])[1:] == [
        ["C201", "ai.onnx.ml.Scaler 1", "1,000", "p", "mw", "h"],
        ["C201", "ai.onnx.ml.Scaler", "1,000", "p", "m", "h"],
    ]
    assert [*_blocker_parts({})] == []
    mend = {"code": "T101", "message": "m", "place": "p"}
    (part,) = _mend_parts({"mended": [mend], "mended_count": 1001, "diff": "-a"})
    assert rows_of(part.tables[0])[1:] == [["T101", "m", "p"]] and part.texts == ["… and 1,000 more"]
    assert [each.code for each in part.folded] == ["-a"]
    (part,) = _mend_parts({"mended": [mend], "mended_count": 1})
    assert part.texts == [] == part.folded
    (part,) = _mend_parts({"mended_count": 0, "diff": "-a"})
    assert part.tables == [] and len(part.folded) == 1
    assert [*_mend_parts({"mended": [], "diff": ""})] == []


def page_texts(page, element):
    """Return the texts of all elements of a kind on a page, without the markup in them."""
    found = re.findall(f"<{element}[ >].*?</{element}>", page)
    return [re.sub("<[^>]*>", " ", each).strip() for each in found]


def test_a_page_of_models_has_what_one_or_several_need():
    changes = {"operators": [GROUP], "graphs": ["g", "h"], "notes": ["noted"], "verification": VERIFIED}
    refused = MODEL | changes | {"status": "refused", "exit_status": 1, "errors": [FOUND]}
    summary = {"models": 2, "converted": 1, "refused": 1, "warned": 0, "exit_status": 1}
    total = {"operator": "", "code": "C201", "findings": 1, "models": 1, "why": "so", "help": "else"}

    def page(*models, left_out=0, command="", **more):
        document = {"models": models, "summary": summary} | more
        return models_page("convert", document, WORDS, command, left_out)

    one = page(MODEL | changes, notes=["of all"])
    assert page_texts(one, "h1") == ["Conversion of m.onnx"]
    assert page_texts(one, "h2") == ["Changes by operator", "Verification", "Changes in pictures", "Notes"]
    assert page_texts(one, "dt") == ["Model"] and "<li>noted</li><li>of all</li>" in one
    assert page_texts(page(MODEL, command="opset convert"), "dt") == ["Model", "Command"]
    assert page_texts(page(refused), "h2") == ["Refusals", "Changes by operator", "Verification", "Notes"]
    several = page(MODEL | changes, refused, totals=[total])
    assert page_texts(several, "h1") == ["Conversion of 2 models"]
    assert page_texts(several, "h2") == [
        "Models", "Refusals by operator", "Changes by operator", "Verification", "Changes in pictures",
    ]  # fmt: skip
    assert "Gelu 20, x 2: lowered to Mul" in several  # those of the refused model are not counted
    assert page_texts(page(MODEL, left_out=1000), "h1") == ["Conversion of 1,001 models"]
    assert page_texts(models_page("check", {"models": [refused], "summary": summary}, WORDS), "h2")[0] == "Findings"


def test_a_page_of_a_verification_says_how_it_went():
    for verdict, kind, words in (
        ("same", "good", "✓ The models compute the same"),
        ("different", "bad", "✗ The models differ: 1 of 2 outputs"),
        ("not compared", "warn", "! Nothing could be compared"),
    ):
        outputs = [OUTPUT, OUTPUT | {"name": "z", "verdict": verdict}]
        page = verification_page(VERIFIED | {"verdict": verdict, "outputs": outputs})
        verdict_line = next(each for each in page.splitlines() if 'class="verdict"' in each)
        assert re.sub("<[^>]*>", "", verdict_line) == words and f'"sign {kind}"' in verdict_line
    assert page_texts(page, "dt") == ["Before", "After", "Run with", "Runs"]
    assert page_texts(page, "h1") == ["Verification of a.onnx and b.onnx"]
    assert "Command" in page_texts(verification_page(VERIFIED, "opset verify"), "dt")
    assert json.loads(re.search('id="report">(.*)</script>', page)[1])["outputs"] == outputs
    torn = [RUN, RUN | {"verdict": "not compared"}]
    assert [*run_facts(VERIFIED | {"runs": torn})][1] == ("Runs", "1 compared, of 2")
    assert [*run_facts(VERIFIED | {"runs": torn[:1] * 1000})][1] == ("Runs", "1,000")


def test_outputs_are_joined_and_the_greatest_differences_kept():
    different = OUTPUT | {"verdict": "different", "name": "a", "after": "b", "absolute": "inf", "why": "far"}
    alike = OUTPUT | {"name": "y1", "after": "y1", "relative": 0.125, "nan_before": 1000, "histogram": [1] * 8}
    (part,) = verification_parts(
        [("", VERIFIED | {"outputs": [OUTPUT | {"name": "y0", "after": "y0"}, alike, different]})]
    )
    head, *rows = rows_of(part.tables[0])
    assert head == ["output", "verdict", "greatest difference", "relative", "ulp", "elements", "NaN before, after",
                    "allowed", "differences", "why"]  # fmt: skip
    assert rows == [
        ["a → b", "different", "inf", "0", "0", "1,000", "0", "none", "", "far"],
        ["y0, x 2: 0-1", "same", "0", "0.12", "0", "2,000", "1,000, 0", "none", "", ""],
    ]
    assert "equal: 1,001;" in part.tables[0].rows[1][8].picture and len(part.texts) == 1
    (part,) = verification_parts([("", VERIFIED | {"outputs": []})])
    assert part.texts == [] and [each.title for each in part.tables] == ["Runs, each of both models"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "none"),
        ({"rtol": 1e-5}, "1.0e-05 relative"),
        ({"atol": 0.0}, "none"),
        ({"atol": 1e-6}, "0.0e+00 relative, 1.0e-06 absolute"),
        ({"longest_sum": 2}, "none; sums of 2"),
        ({"rtol": 1e-5, "atol": 1e-6, "longest_sum": 4096}, "1.0e-05 relative, 1.0e-06 absolute; sums of 4,096"),
    ],
)
def test_what_is_allowed_is_said(more, words):
    outputs = [OUTPUT, OUTPUT | more, OUTPUT | {"atol": 0.0}]
    (part,) = verification_parts([("", VERIFIED | {"outputs": outputs, "runs": []})])
    (table,) = part.tables
    assert rows_of(table)[1][table.head.index("allowed")] == words


def test_runs_first_differences_and_notes_of_one_model_and_of_several():
    first = {"value": "h", "why": "far", "before": "1", "after": "2"}
    runs = [RUN | {"source": f"file {each}"} for each in (1, 2)]
    runs += [RUN | {"sizes": {}, "verdict": "not compared", "why": "no input"}] * 2
    verified = VERIFIED | {"first_difference": first, "notes": ["noted"], "runs": runs}
    (part,) = verification_parts([("", verified)])
    assert part.texts[1] == "The first inner value that differs is h: far. Before: 1; after: 2."
    assert rows_of(part.tables[1]) == [
        ["inputs", "sizes", "verdict", "why"],
        ["file 1 x 2: 1-2", "N=2", "same", ""],
        ["drawn with seed 0 x 2", "", "not compared", "no input"],
    ]
    assert part.lines == ["noted"]
    (part,) = verification_parts([("m.onnx", verified), ("n.onnx", VERIFIED)])
    assert part.texts[1] == "m.onnx: the first inner value that differs is h: far. Before: 1; after: 2."
    (table,) = part.tables
    assert table.head[:2] == ["model", "output"] and [row[0].text for row in table.rows] == ["m.onnx", "n.onnx"]
    assert part.lines == ["m.onnx: noted"]
    (part,) = verification_parts([("m.onnx", VERIFIED | {"outputs": []}), ("n.onnx", VERIFIED)])
    assert len(part.texts) == 1 and part.texts[0].startswith("Bars count elements")


def test_no_elements_have_no_bars():
    assert histogram_picture([]) == histogram_picture([0] * 8) == ""


def test_where_inference_stops_and_the_types_of_values():
    gap = {"values": [{"name": "a"}, {"name": "b"}], "graph": 0, "place": "node 'n'", "reason": ""}
    node = {"graph": 0, "name": "", "operator": "Add", "node": 7, "outputs": [{"name": "a", "type": None}]}
    typed = node | {"name": "n", "outputs": [{"name": "b", "type": 1}]}
    model = {"gaps": [gap, gap | {"reason": "so"}], "graphs": ["graph 'g'"], "nodes": [node, typed]}
    gaps, values = inference_parts(model | {"types": [{"shown": "float[]"}, {"shown": "float[2]"}]})
    assert rows_of(gaps.tables[0]) == [
        ["value", "where", "why"],
        ["a, b", "graph 'g', node 'n'", "no reason is known"],
        ["a, b", "graph 'g', node 'n'", "so"],
    ]
    assert rows_of(values.tables[0]) == [
        ["value", "type", "where"],
        ["a", "not known", "graph 'g', node number 7 (Add)"],
        ["b", "float[2]", "graph 'g', node 'n' (Add)"],
    ]
    (values,) = inference_parts({"gaps": [], "graphs": [], "nodes": []})
    assert (values.id, values.tables) == ("values", [])
    (values,) = inference_parts({"gaps": []})
    assert values.texts == ["opset infer --values --report shows the type of each value."]


BREAK = {
    "rule": "B132", "severity": "ERR", "requires": "none", "message": "gone", "why": "it was there", "help": "put back",
    "approved": "", "domain": "x", "operator": "Op", "version": 1, "place": "Op.yaml",
}  # fmt: skip


def test_breaks_that_say_the_same_are_a_row():
    findings = [
        BREAK,
        BREAK | {"version": 2, "place": "Op.yaml"},
        BREAK | {"operator": "", "version": 0, "place": ""},
        BREAK | {"requires": "major", "approved": "as planned"},
        BREAK | {"severity": "WARN", "message": "less"},
        BREAK | {"severity": "INFO", "message": "more"},
    ]
    counts = {"ERR": 1, "WARN": 1000, "INFO": 2, "approved": 0}
    document = {"counts": counts, "clean": False, "compared": "a → b", "operators": 1000, "versions": 2000}
    document |= {"requires": "", "findings": findings, "notes": []}
    page = breaking_page(document)
    rows = [re.sub(" +", " ", each) for each in page_texts(page.replace("\n", ""), "tr")]
    assert rows == [
        "finding what changed operators requires where why help",
        "✗ break B132 gone x.Op 1, 2 x Op.yaml it was there put back",
        "✓ approved B132 gone x.Op 1 major Op.yaml approved: as planned put back",
        "! warning B132 less x.Op 1 Op.yaml it was there put back",
        "finding what changed operators where why help",
        "· notice B132 more x.Op 1 Op.yaml it was there put back",
    ]
    assert page_texts(page, "p")[0] == "✗  Breaking: 1 break, 1,000 warnings, 2 notices"
    assert page_texts(page, "dt") == ["Compared", "Operators"]
    assert page_texts(page, "dd")[1] == "1,000, in 2,000 versions"
    assert page_texts(page, "summary") == ["1 notice"] and page_texts(page, "h2") == ["Findings"]
    notices = breaking_page(document | {"findings": findings[-1:]})
    assert page_texts(notices, "summary") == ["1 notice"] and page_texts(notices, "h2") == ["Findings"]
    clean = breaking_page(document | {"findings": [], "notes": ["noted"], "clean": True, "requires": "minor"}, "opset")
    assert page_texts(clean, "h2") == ["Notes"] and page_texts(clean, "dt")[2:] == ["Requires", "Command"]


def test_cells_and_tables():
    assert words_cell("a", None, 0, "", kind="good", folded="f") == Cell("a 0", "good", folded="f")
    assert number_cell(3) == Cell("3", column="right")
    assert [Cell().is_full, Cell("a").is_full, Cell(lines=["a"]).is_full, Cell(picture="a").is_full] == [
        False,
        *[True] * 3,
    ]
    assert [Cell(kind=each).sign for each in ("good", "added", "")] == ["✓", "+", ""]
    assert lines_cell([], "places") == Cell()
    assert lines_cell(["a"], "places") == Cell("a")
    assert lines_cell(["a", "b", "c"], "places") == Cell(lines=["a", "b", "c"])
    assert lines_cell(["a"] * 4, "places") == Cell(lines=["a"] * 4, folded="4 places")
    assert lines_cell(["a"] * 50, "places").lines == ["a"] * 50
    assert lines_cell(["a"] * 1051, "places") == Cell(lines=["a"] * 50 + ["… and 1,001 more"], folded="1,051 places")
    rows = [[Cell(str(each)), Cell(), Cell("x" if each == 1000 else "")] for each in range(1001)]
    assert first_rows("t", ["a", "b", "c"], rows, "k")._replace(rows=()) == ("t", ["a"], (), "… and 1 more", "k")
    assert first_rows("t", ["a", "b", "c"], rows[:1000]).more == ""
    assert safe_lines("a\x1b\nb") == "a\\x1b\nb" and _more(0) == "" and _more(1000) == "… and 1,000 more"


@pytest.mark.parametrize(
    ("listed", "left_out", "subject", "verdict"),
    [
        (1, 0, "m.onnx", "Converted"),
        (2, 0, "2 models", "2 models: 2 converted"),
        (1, 1, "2 models", "2 models: 2 converted"),
        (2, 1, "3 models", "3 models: 3 converted"),
        (1, 2, "3 models", "3 models: 3 converted"),
        (0, 1200, "1,200 models", "1,200 models: 1,200 converted"),
    ],
)
def test_models_that_are_not_listed_count_in_the_title(listed, left_out, subject, verdict):
    count = listed + left_out
    summary = {"models": count, "converted": count, "refused": 0, "warned": 0, "exit_status": 0}
    document = {"models": [MODEL] * listed, "summary": summary, "totals": []}
    page = models_page("convert", document, WORDS, left_out=left_out)
    assert re.search("<title>(.*?)</title>", page)[1] == f"Conversion of {subject}"
    assert verdict in page


@pytest.mark.parametrize(
    ("counts", "bars"),
    [
        ([7, 0, 0, 0, 0, 0, 0, 0], [("", 2, 0.0, 30.0)]),
        ([0, 0, 0, 1, 0, 0, 0, 0], [("", 56, 0.0, 30.0)]),
        ([0, 0, 0, 0, 0, 0, 0, 3], [("beyond", 128, 0.0, 30.0)]),
        ([3, 15, 0, 255, 0, 15, 0, 3],
         [("", 2, 22.5, 7.5), ("", 20, 15.0, 15.0), ("", 56, 0.0, 30.0), ("beyond", 92, 15.0, 15.0),
          ("beyond", 128, 22.5, 7.5)]),
        ([10**12, 0, 1, 0, 0, 0, 0, 0], [("", 2, 0.0, 30.0), ("", 38, 28.0, 2.0)]),
    ],
)  # fmt: skip
def test_each_bar_has_its_place_and_stands_on_the_line(counts, bars):
    picture = str(histogram_picture(counts))
    found = re.findall('<rect(?: class="(.*?)")? x="(.*?)" y="(.*?)" width="14" height="(.*?)"/>', picture)
    assert [(kind, *map(float, numbers)) for kind, *numbers in found] == bars
    assert re.findall('<text x="(.*?)".*?>(.*?)</text>', picture) == [
        ("9", "="), ("45", ".01"), ("81", "1"), ("117", "100"),
    ]  # fmt: skip


def test_a_page_takes_the_place_of_another_file_if_it_is_forced_to(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("mine")
    with pytest.raises(UsageError, match="U102"):
        write_page(str(path), "new")
    assert path.read_text() == "mine"
    write_page(str(path), "new", force=True)
    assert path.read_text() == "new"
