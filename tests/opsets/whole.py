"""What is said of the documents and the files of runtimes in tables of tests, whole: findings.txt.

python -m tests.opsets.whole        # writes findings.txt; read the difference
"""

from functools import cache
from pathlib import Path

from opset.errors import SchemaError
from opset.opsets.documents.reading import load_operator_set
from opset.opsets.runtimes.loader import parse_runtime
from tests.opsets import test_documents
from tests.opsets.runtimes import test_loader

WRITTEN = Path(__file__).with_name("findings.txt")


def rows(test):
    """The table that a test is parametrized with."""
    return test.pytestmark[0].args[1]


def shown(name, read, *arguments):
    """The lines of a section: what a reading gives as its notes, or is refused with."""
    try:
        found = [f"note: {each}" for each in read(*arguments).notes]
    except SchemaError as error:
        found = [str(each) for each in error.findings]
    return [f"# {name}", *"\n".join(found).splitlines(), ""]


def documents():
    """The name of each document in the tables of tests, and the document."""
    for number, (change, _) in enumerate(rows(test_documents.test_what_is_wrong_in_a_message_is_refused)):
        yield f"a message {number}", test_documents.edited(test_documents.foreign_message(), change)
    for number, (change, _) in enumerate(
        rows(test_documents.test_a_message_that_contradicts_its_declarations_is_refused)
    ):
        yield f"a message with declarations {number}", test_documents.carrier_edited(change)
    for old, new, _ in rows(test_documents.test_what_is_wrong_in_yaml_is_refused_with_its_place):
        yield f"{new!r} in place of {old!r}", test_documents.TEXT.replace(old, new, 1).encode()
    for data, _ in rows(test_documents.test_bytes_that_are_no_document_are_refused):
        if not data.startswith(b"a: "):  # the parsers of YAML differ in what they say
            yield f"the bytes {data[:40]!r}", data
    yield "a message of others", test_documents.foreign_message()
    for number, (change, _) in enumerate(rows(test_documents.test_what_yaml_does_not_hold_is_left_out_with_a_note)):
        message = test_documents.foreign_message()
        change(message.functions[0])
        yield f"a function {number}", message


@cache
def text():
    """All findings and notes, each with its place, reason and help."""
    lines = []
    for name, document in documents():
        lines += shown(name, load_operator_set, document)
    for path, value, _ in (*test_loader.FAULTS, *test_loader.MEANINGS):
        told = "is gone" if value is None else "is null" if value is test_loader.NULL else f"is {value!r}"
        name = f"npu.yaml: {'.'.join(map(str, path))} {told}"
        lines += shown(name, test_loader.load, test_loader.edited(path, value))
    lines += shown("npu.yaml", parse_runtime, test_loader.TEXT.encode(), "npu.yaml")
    return "\n".join(lines)


if __name__ == "__main__":
    WRITTEN.write_text(text(), encoding="utf-8")
