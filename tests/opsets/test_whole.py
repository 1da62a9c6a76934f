"""All words of findings and notes about documents and files of runtimes, as findings.txt has them."""

from tests.opsets.whole import WRITTEN, text


def test_findings_and_notes_are_as_they_were_read():
    assert text().splitlines() == WRITTEN.read_text(encoding="utf-8").splitlines()
