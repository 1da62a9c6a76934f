"""What the loader and the rules say of the operator files in tables of tests, whole: findings.txt.

python -m tests.schemas.whole        # writes findings.txt; read the difference
"""

import tempfile
from functools import cache
from pathlib import Path

from opset.errors import SchemaError
from opset.schemas.index import FOLDER
from opset.schemas.yaml.loader import load_operator, load_sets
from tests.schemas import test_examples, test_lint, test_loader

WRITTEN = Path(__file__).with_name("findings.txt")
SETS = load_sets(FOLDER / "types.yaml")


def rows(test):
    """The table that a test is parametrized with."""
    return test.pytestmark[0].args[1]


def files():
    """The name and the text of each operator file that cannot be loaded."""
    for name, (text, _) in test_loader.BROKEN.items():
        yield f"Scale.yaml: {name}", text
    for case, _ in rows(test_loader.test_special_cases_that_cannot_hold):
        yield f"Scale.yaml: special_cases: [one, {case}]", f"{test_loader.SCALE}special_cases: [one, {case}]\n"
    for notes, _ in rows(test_loader.test_notes_that_cannot_hold):
        text = f"{test_loader.INPUT}implementations: {notes}\n{test_loader.SHOWN}"
        yield f"Scale.yaml: implementations: {notes}", text
    for entry, *_ in rows(test_loader.test_declarations_that_do_not_fit):
        yield f"Scale.yaml: an attribute {entry}", test_loader.declared(entry)
    for name, (text, _) in test_examples.BROKEN.items():
        yield f"Any.yaml: {name}", test_examples.HEAD + text


def said_of_files(folder):
    """The findings of the loader about each of these files."""
    for name, text in files():
        path = folder / "com.acme" / name.partition(":")[0]
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        try:
            load_operator(path, SETS)
        except SchemaError as error:
            yield name, error.findings
        path.unlink()


def said_by_rules(folder):
    """The findings of the rules about each of their examples, of this rule and of others."""
    for name, (text, *_) in test_lint.BROKEN.items():
        yield name, test_lint.lint([test_lint.write(folder, text)], ())


@cache
def text():
    """All findings, each with its place, reason and help."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for said in (said_of_files, said_by_rules):
            for name, findings in said(Path(folder)):
                shown = "\n".join(map(str, findings)).replace(f"{Path(folder) / 'com.acme'}/", "")
                lines += [f"# {name}", shown, ""]
    return "\n".join(lines)


if __name__ == "__main__":
    WRITTEN.write_text(text(), encoding="utf-8")
