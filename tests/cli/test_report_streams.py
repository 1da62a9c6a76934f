"""The report on all models as a page: which models are on it, and which are counted alone."""

import pytest

from opset.cli import report_streams
from opset.cli.breaking import _finding_of
from opset.cli.defaults import _is_at_most
from opset.cli.records import ModelReport
from opset.cli.report_streams import PageStream
from opset.errors import Finding, FindingList
from opset.workflow.breaking.report import Break


@pytest.mark.parametrize(
    ("statuses", "kept", "left_out"),
    [
        ("00", "00", 0),
        ("000", "00", 1),
        ("0010", "001", 1),
        ("00111", "0011", 1),
        ("1111100", "1111", 3),
        ("0000011", "0011", 3),
    ],
)
def test_models_beyond_the_bound_are_on_a_page_if_they_have_faults(statuses, kept, left_out, monkeypatch):
    monkeypatch.setattr(report_streams, "MOST_ON_PAGE", 2)
    stream = PageStream("a.html", "check", {}, False)
    for number, status in enumerate(statuses):
        stream.add(ModelReport(f"{number}", None, None, FindingList(), "any", int(status)), status)
    assert ("".join(stream._texts), stream._left_out) == (kept, left_out)


def test_what_breaks_as_a_finding():
    broken = Break("B125", "ERR", "new version", "com.acme", "Thin", 2, "it changed", "a.yaml:3", "why", "help")
    finding = Finding("B125", "com.acme.Thin 2: it changed", "a.yaml:3", "why", "help")
    assert _finding_of(broken) == finding


@pytest.mark.parametrize(
    ("text", "fits"), [("3", True), ("3.0", True), ("3.01", False), ("-1", True), ("inf", False), ("many", True)]
)
def test_a_limit_of_a_configuration_is_at_most_its_default(text, fits):
    assert _is_at_most(text, 3) == fits
