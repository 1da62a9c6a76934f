"""All rules on folders of domains, as tests apply them."""

from pathlib import Path

from opset.errors import FindingList
from opset.schemas.index import FOLDER
from opset.schemas.lint.rules import Hooks, check_target
from opset.schemas.selection import select_operators


def lint(folders=(FOLDER,), written=None, kernels=None, inferred=None):
    """Return the findings about folders of domains, with these hooks; findings of the loader come first."""
    selection = select_operators((), map(Path, folders))
    findings = FindingList(selection.findings)
    for target in selection.targets:
        findings += check_target(target, lambda families: Hooks(written, kernels, inferred)).findings
    return findings
