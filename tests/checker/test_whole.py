"""All words of findings and mends, with their places, reasons and help, as findings.txt and mends.txt have them."""

import pytest

from tests.checker.whole import HERE, texts


@pytest.mark.parametrize("name", ["findings.txt", "mends.txt"])
def test_findings_and_mends_are_as_they_were_read(name):
    assert texts()[name].splitlines() == (HERE / name).read_text(encoding="utf-8").splitlines()
