"""A lint rule about implementations: the standard's text names none."""

from __future__ import annotations

import re
from collections.abc import Iterator

from opset.errors import Finding
from opset.schemas.documentation import Docs
from opset.schemas.lint.context import LINT, LintContext
from opset.schemas.yaml.loader import Operator

_RUNTIME = re.compile(
    r"\b(?:onnx[ -]?runtime|tensorrt|openvino|core ?ml|directml|tf-?lite|ncnn"
    r"|reference (?:evaluators?|implementations?)|the evaluator)\b",
    re.IGNORECASE,
)


@LINT.rule("S246", Operator)
def check_runtimes(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S246 for each text of the standard's description that names a runtime, such as onnxruntime.

    These are the texts of versions, parameters, attributes, constraints and special cases. A text that several versions
    share is one finding, at the newest.
    """
    checked: set[str] = set()
    for schema, docs in zip(reversed(operator.schemas), reversed(operator.docs), strict=True):
        for keys, text in _texts_of(docs):
            name = None if text in checked else _RUNTIME.search(text)
            checked.add(text)
            if name is not None:
                place = operator.place(schema.since_version, *keys)
                help = "write it into 'implementations', with the version of the runtime"
                yield Finding("S246", f"'{name[0]}' stands in the standard's text", place, f"it says: {text}", help)


def _texts_of(docs: Docs) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the texts of a version, each with the path of YAML keys to it: ("inputs", "X", "doc")."""
    yield ("doc",), docs.doc
    for part in ("inputs", "outputs", "attributes", "constraints"):
        for name, text in getattr(docs, part).items():
            yield (part, name, "doc"), text
    for case in docs.special_cases:
        yield ("special_cases", case.text), case.text
