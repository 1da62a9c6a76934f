"""All words of findings about operator files, with their places, reasons and help, as findings.txt has them."""

from tests.schemas.whole import WRITTEN, text


def test_findings_are_as_they_were_read():
    assert text().splitlines() == WRITTEN.read_text(encoding="utf-8").splitlines()
