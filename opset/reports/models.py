"""The page of a verb that reads models: in full for one model, else with a row for each and sums over all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from opset.errors import Finding
from opset.reports.conversions import change_parts, kinds_of, picture_parts, release_words, targets_words
from opset.reports.findings import SEVERITIES, finding_parts, group_findings, operator_of
from opset.reports.frame import (
    BAD,
    GOOD,
    QUIET,
    WARN,
    Cell,
    Folded,
    ReportPage,
    ReportPart,
    first_rows,
    lines_cell,
    number_cell,
    page_text,
)
from opset.reports.inferences import coverage_text, inference_parts
from opset.reports.verifications import KINDS, verification_parts
from opset.schemas.names import qualified_name

_TITLES: Final = {
    "convert": "Conversion", "lower": "Lowering", "inline": "Inlining", "blockers": "Blockers", "check": "Check",
    "infer": "Inference",
}  # fmt: skip
_REFUSALS: Final = ("convert", "lower", "inline", "blockers")
_MILD: Final = {"warned": WARN, "invalid": WARN, "unchanged": QUIET}
"""Kinds of statuses that are no failure, and not simply good."""


def models_page(
    verb: str, document: Mapping[str, Any], words: Mapping[str, str], command: str = "", left_out: int = 0
) -> str:
    """Return the page of a verb's report on models, as an HTML document.

    One model is shown in full; of several, each has a row, and findings and changes are summed up.

    Args:
        verb: The name of the verb, such as "convert".
        document: The report as `--format json` prints it.
        words: The words that the page shows for each status, such as {"refused": "refused"}.
        command: The command line.
        left_out: How many models the document does not list, though its summary counts them.
    """
    models = document["models"]
    several = len(models) + left_out != 1
    facts = [] if several else [*_facts(models[0])]
    verdict = _verdict(document["summary"], words) if several else _verdict_of(models[0], words)
    parts = [*_models_parts(models, words, left_out)] if several else []
    title = "Refusals" if verb in _REFUSALS else "Findings"
    parts += [*_total_parts(document.get("totals", ()), title)] if several else [*finding_parts(models, title)]
    if not several:
        parts += [*_blocker_parts(models[0]), *_mend_parts(models[0])]
        parts += [*inference_parts(models[0])] if "coverage" in models[0] else []
    done = [each for each in models if not several or each["status"] != "refused"]
    kinds = kinds_of(done)
    is_refused = not several and models[0]["status"] == "refused"
    parts += [*change_parts(kinds, done, is_refused)]
    verified = [(each["input"] if several else "", each["verification"]) for each in models if each.get("verification")]
    parts += [*verification_parts(verified)] if verified else []
    parts += [] if is_refused else [*picture_parts(kinds)]
    notes = [] if several else models[0].get("notes", [])
    notes = [*notes, *document.get("notes", ())]
    parts += [ReportPart("notes", "Notes", lines=notes)] if notes else []
    facts += [("Command", command)] if command else []
    subject = f"{len(models) + left_out:,} models" if several else _name_of(models[0])
    return page_text(ReportPage(f"{_TITLES[verb]} of {subject}", verdict, facts, parts), document)


def _name_of(model: Mapping[str, Any]) -> str:
    """Return the name of a model's file from the report on the model; "stdin" for "-"."""
    return "stdin" if model["input"] == "-" else str(model["input"])


def _kind_of(model: Mapping[str, Any]) -> str:
    """Return BAD, WARN, QUIET or GOOD for the report on a model: the sign and color of its verdict."""
    return BAD if model["exit_status"] else _MILD.get(model["status"], GOOD)


def _verdict_of(model: Mapping[str, Any], words: Mapping[str, str]) -> Cell:
    """Return the cell with the verdict on one model, from the report on it.

    The cell also has versions or counts of findings, the verification, and an internal error. `words` has the words for
    each status.
    """
    text = words[model["status"]]
    text = f"{text[:1].upper()}{text[1:]}"
    if detail := _detail(model):
        text += f": {detail}"
    nodes = model.get("nodes")
    if model["status"] == "refused" and nodes:
        what = f"{nodes['refused']:,} of {nodes['total']:,} nodes" if nodes["refused"] else "The model"
        text += f". {what} cannot be converted; nothing was written"
    verification = model.get("verification")
    if verification:
        text += f". Verified: {verification['verdict']}"
    if model.get("internal_error"):
        text += f". {model['internal_error']}"
    return Cell(text, _kind_of(model))


def _verdict(summary: Mapping[str, int], words: Mapping[str, str]) -> Cell:
    """Return the cell with the number of models, and how many have each status.

    `summary` has the number for each status, `words` the words. The cell is BAD if the exit status is not 0, else GOOD.
    """
    counts = [f"{summary[each]:,} {word}" for each, word in words.items() if summary[each]]
    count = summary["models"]
    kind = BAD if summary["exit_status"] else GOOD
    return Cell(f"{count:,} model{'' if count == 1 else 's'}: {', '.join(counts)}", kind)


def _detail(model: Mapping[str, Any]) -> str:
    """Return the versions, or the numbers of errors and warnings, in a report on a model; "" if it has neither.

    For example, "ai.onnx 13 → 21, IR version 7 → 10" or "2 errors, 1 warning".
    """
    if "opsets" in model and "ir_version" in model:
        return targets_words(model)
    if "error_count" in model:
        counts = [(model["error_count"], "error"), (model["warning_count"], "warning")]
        return ", ".join(f"{count:,} {noun}{'' if count == 1 else 's'}" for count, noun in counts)
    return ""


def _facts(model: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (name, text) for facts about the only model of a report: its file, versions, numbers of nodes.

    Facts that the report on it does not have are left out.
    """
    yield "Model", _name_of(model)
    if model["output"] is not None:
        yield "Written", "stdout" if model["output"] == "-" else model["output"]
    if "opsets" in model and "ir_version" in model:
        yield "Target", targets_words(model)
        if releases := release_words(model):
            yield "Releases", releases
    if "mended_count" in model:
        yield "Mended", f"{model['mended_count']:,}"
    if "coverage" in model:
        yield "Values", coverage_text(model["coverage"])
    elif nodes := model.get("nodes"):
        counts = {name: count for name, count in nodes.items() if count and name != "total"}
        words = {"passed": "passed through"}
        parts = [f"{count:,} {words.get(name, name)}" for name, count in counts.items()]
        yield "Nodes", f"{nodes['total']:,}{': ' if parts else ''}{', '.join(parts)}"


def _models_parts(models: Sequence[Mapping[str, Any]], words: Mapping[str, str], left_out: int) -> Iterator[ReportPart]:
    """Yield the section with a row for each model.

    `words` has the words for each status. `left_out` is the number of models that the report does not list.
    """
    rows = []
    has_detail = any(map(_detail, models))
    has_output = any(each["output"] for each in models)
    has_verified = any(each.get("verification") for each in models)
    for model in models:
        verification = model.get("verification")
        row = [
            Cell(_name_of(model)),
            Cell(words[model["status"]], _kind_of(model)),
            *([Cell(_detail(model))] if has_detail else []),
            *(
                [Cell(verification["verdict"], KINDS[verification["verdict"]]) if verification else Cell()]
                * has_verified
            ),
            _findings_cell(model),
            Cell(model["output"] or ("nothing" if has_output else "")),
        ]
        rows.append(row)
    head = [
        "model",
        "verdict",
        *(["what"] if has_detail else []),
        *(["verified"] * has_verified),
        "findings",
        "written",
    ]
    table = first_rows("Models and what became of each", head, rows)
    if left_out:
        more = f"{left_out:,} more models are not on this page; --report FILE.jsonl has all"
        table = table._replace(more=f"{table.more} {more}".strip())
    yield ReportPart("models", "Models", tables=[table] if rows else [])


def _findings_cell(model: Mapping[str, Any]) -> Cell:
    """Return the cell with the findings on one of several models; they are folded behind their number.

    The cell is "none" if there are none, and only the message of an internal error if there is one.
    """
    if model.get("internal_error"):
        return Cell(model["internal_error"])
    lines = []
    for group in group_findings([model]):
        first = group[0][1]
        count = f" (x {len(group):,})" if len(group) > 1 else ""
        words = [f"{first['code']} {operator_of(first)}".strip() + count, first["message"], first["why"]]
        place = f"at {first['place']}" if first["place"] and len(group) == 1 else ""
        lines.append("; ".join(each for each in (*words, place) if each))
    if not lines:
        return Cell("none", QUIET)
    number = len(model["errors"]) + model["omitted"]
    cell = lines_cell(lines, "findings", shown=0)
    return cell._replace(folded=f"{number:,} finding{'' if number == 1 else 's'}")


def _total_parts(totals: Sequence[Mapping[str, Any]], title: str) -> Iterator[ReportPart]:
    """Yield the section with the sums of findings over models, by operator and reason; nothing if there are none.

    `totals` are the sums in the report. `title` is the word for the findings, "Refusals".
    """
    rows = [
        [
            Cell(each["operator"] or "no node"),
            Cell(each["code"], SEVERITIES[Finding(each["code"], "").severity]),
            number_cell(f"{each['findings']:,}"),
            number_cell(f"{each['models']:,}"),
            Cell(each["why"]),
            Cell(each["help"]),
        ]
        for each in totals
    ]
    if rows:
        head = ["operator", "code", "times", "models", "why", "help"]
        yield ReportPart("findings", f"{title} by operator", tables=[first_rows(f"{title} of all models", head, rows)])


def _blocker_parts(model: Mapping[str, Any]) -> Iterator[ReportPart]:
    """Yield the section on the reasons why a model cannot be converted; nothing if there are none.

    It has a row for each operator and reason. `model` is the report on the model.
    """
    rows = [
        [
            Cell(each["code"], BAD),
            Cell(_operator_words(each)),
            number_cell(f"{each['nodes']:,}"),
            Cell(each["place"]),
            Cell(each["message"], lines=[each["why"]] if each["why"] else []),
            Cell(each["help"]),
        ]
        for each in model.get("blockers", ())
    ]
    if rows:
        head = ["finding", "operator", "nodes", "where first", "what and why", "help"]
        yield ReportPart("blockers", "Blockers", tables=[first_rows("Blockers by operator and reason", head, rows)])


def _operator_words(blocker: Mapping[str, Any]) -> str:
    """Return the operator of a blocker with its version, "Softmax 13"; "" if it is about the whole model."""
    name = qualified_name(blocker["domain"], blocker["operator"])
    return f"{name} {blocker['version']}" if blocker["version"] else name


def _mend_parts(model: Mapping[str, Any]) -> Iterator[ReportPart]:
    """Yield the section on faults that were mended in a model, with the difference as text; nothing without both."""
    mended = model.get("mended", ())
    rows = [[Cell(each["code"], GOOD), Cell(each["message"]), Cell(each["place"])] for each in mended]
    tables = [first_rows("What was mended", ["rule", "what", "where"], rows)] if rows else []
    difference = model.get("diff", "")
    folded = [Folded("The difference as text", code=difference)] if difference else []
    if rows or folded:
        left = model["mended_count"] - len(mended)
        yield ReportPart("mended", "Mended", [f"… and {left:,} more"] if left > 0 else [], tables, folded=folded)
