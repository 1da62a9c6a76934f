"""docs/json.md: the keys of each report are those of its class.

To write the tables anew: python -m tests.cli.test_json
"""

import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path

import pytest

from opset.catalog import OperatorSetDifference, OperatorSetFacts
from opset.cli.batch_reports import BatchReport
from opset.cli.blockers import BlockersBatch
from opset.cli.bump import LockReport
from opset.cli.check import CheckBatch, CheckReport
from opset.cli.completion import CompletionScript
from opset.cli.conformance import ConformanceReport
from opset.cli.convert import ConvertedReport
from opset.cli.error_report import ErrorReport
from opset.cli.examples import WrittenExamples
from opset.cli.explain import Explanation
from opset.cli.extract import ExtractionReport
from opset.cli.import_ import ImportReport
from opset.cli.infer import InferenceReport
from opset.cli.inline import InliningReport
from opset.cli.lint import LintReport
from opset.cli.list import ListedDomain, ListedOperator, ListedRelease, ListedRuntime
from opset.cli.merge import MergingReport
from opset.cli.model_versions import ModelDifference
from opset.cli.new import AuthoringReport
from opset.cli.records import ModelReport
from opset.cli.reduce import ReductionReport
from opset.cli.report_schemas import keys_of
from opset.cli.run import RunReport
from opset.cli.show import ModelContents
from opset.cli.targets import ListedTarget, TargetRelease, TargetReport
from opset.cli.test import ExamplesReport
from opset.cli.testgen import CorpusReport, ListedCase
from opset.cli.text import PrintedModel
from opset.cli.verify import VerificationReport
from opset.description.report import ModelDescription
from opset.errors import Finding, FindingList
from opset.verification.report import Verification
from opset.version_converter.blockers import BlockersReport
from opset.version_converter.report import ConversionReport
from opset.workflow.breaking.report import BreakingReport
from opset.workflow.contribution.checklist import ContributionReport

PAGE = Path(__file__).parents[2] / "docs" / "json.md"
REPORTS = {
    "All that work on models": [BatchReport, ModelReport, Finding],
    "`convert`, `lower`": [ConvertedReport, ConversionReport],
    "`verify`, and `--verify` of others": [VerificationReport, Verification],
    "`blockers`": [BlockersBatch, BlockersReport],
    "`info`": [ModelDescription],
    "a call that is wrong": [ErrorReport],
    "`check`": [CheckBatch, CheckReport],
    "`infer`": [InferenceReport],
    "`inline`": [InliningReport],
    "`extract`": [ExtractionReport],
    "`merge`": [MergingReport],
    "`reduce`": [ReductionReport],
    "`run`": [RunReport],
    "`show`": [OperatorSetFacts, ModelContents],
    "`list`": [ListedOperator, ListedDomain, ListedRelease, ListedRuntime],
    "`targets`": [ListedTarget, TargetRelease, TargetReport],
    "`diff` of two versions of an operator set": [OperatorSetDifference],
    "`diff` of two models": [ModelDifference],
    "`lint`": [LintReport],
    "`breaking`": [BreakingReport],
    "`test`": [ExamplesReport],
    "`testgen`": [CorpusReport, ListedCase],
    "`conformance`": [ConformanceReport],
    "`import`": [ImportReport],
    "`check-contribution`": [ContributionReport],
    "`text`, `explain`, `examples`, `completion`": [PrintedModel, Explanation, WrittenExamples, CompletionScript],
    "`new`, `bump`": [AuthoringReport, LockReport],
}
WORDS = {str: "text", int: "number", float: "number", bool: "true or false", types.NoneType: "null"}


def parts_of(hint):
    """Yield the classes of objects in a type."""
    if typing.get_args(hint):
        for each in typing.get_args(hint):
            yield from parts_of(each)
    elif is_dataclass(hint) or hasattr(hint, "_fields"):
        yield hint


def words_of(hint):
    """Return a type in the words of the page."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is FindingList:
        return "list of Finding"
    if isinstance(hint, typing.TypeVar):
        return "result"
    if is_dataclass(origin):
        return origin.__name__
    if origin in (Sequence, list, tuple):
        return f"list of {words_of(arguments[0])}"
    if origin in (Mapping, dict):
        return f"object of {words_of(arguments[1])}"
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(words_of(each) for each in arguments if each is not types.EllipsisType))
    return WORDS.get(hint) or (hint.__name__ if [*parts_of(hint)] else "any value")


def rows_of(kind, seen):
    """Yield the row of a class, and those of the classes in its fields, unless they were seen before."""
    if kind in seen:
        return
    seen.add(kind)
    cells = []
    below = []
    for key, hint, optional in keys_of(kind):
        words = words_of(hint)
        if optional:
            words = words.removesuffix(" or null")
        cells.append(
            f"`{key}`{'?' if optional else ''} {words}" if key else f"those of its {words.removesuffix(' or null')}"
        )
        below += parts_of(hint)
    does = kind.__doc__.partition("\n\n")[0].replace("\n    ", " ").replace("None", "null")
    yield f"| {kind.__name__} | {does} | {'; '.join(cells).replace('|', '&#124;')} |"
    for each in below:
        yield from rows_of(each, seen)


def tables():
    """Yield the lines of all tables."""
    seen = set()
    for title, kinds in REPORTS.items():
        yield from ("", f"## {title}", "", "| object | contents | keys |", "|---|---|---|")
        for kind in kinds:
            yield from rows_of(kind, seen)


def page_with_tables():
    """Return the page with the tables of the present classes below its introduction."""
    introduction = PAGE.read_text(encoding="utf-8").partition("\n## ")[0]
    return "\n".join([introduction.rstrip("\n"), *tables()]) + "\n"


def test_the_page_has_the_keys_of_the_reports():
    assert PAGE.read_text(encoding="utf-8") == page_with_tables()


@pytest.mark.parametrize("kind", [kind for kinds in REPORTS.values() for kind in kinds])
def test_fields_have_types_that_people_read(kind):
    assert all("Any" not in words_of(hint) for _, hint, _ in keys_of(kind))


if __name__ == "__main__":
    PAGE.write_text(page_with_tables(), encoding="utf-8")
