"""The JSON Schema of each report, made of its class: the fields are the keys, and their types the types of values."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from typing import Any

from opset.cli.batch_reports import BatchReport
from opset.cli.error_report import ErrorReport
from opset.cli.output import LISTED, SCHEMA_VERSION
from opset.cli.records import ModelReport
from opset.errors import Finding, FindingList, NodeReference
from opset.verification.report import Verification

DIALECT = "https://json-schema.org/draft/2020-12/schema"
REPORTS: Mapping[str, tuple[str, ...]] = {
    "convert": ("cli.convert:ConvertedReport",),
    "lower": ("cli.convert:ConvertedReport",),
    "inline": ("cli.inline:InliningReport",),
    "extract": ("cli.extract:ExtractionReport",),
    "merge": ("cli.merge:MergingReport",),
    "reduce": ("cli.reduce:ReductionReport",),
    "blockers": ("version_converter.blockers:BlockersReport", "cli.blockers:BlockersBatch"),
    "info": ("description.report:ModelDescription",),
    "check": ("cli.check:CheckReport", "cli.check:CheckBatch"),
    "infer": ("cli.infer:InferenceReport",),
}
"""The classes of a verb's result for one model, and of its report on all models."""
OTHERS: Mapping[str, tuple[str, ...]] = {
    "run": ("cli.run:RunReport",),
    "verify": ("cli.verify:VerificationReport",),
    "text": ("cli.text:PrintedModel",),
    "lint": ("cli.lint:LintReport",),
    "breaking": ("workflow.breaking.report:BreakingReport",),
    "test": ("cli.test:ExamplesReport",),
    "testgen": ("cli.testgen:CorpusReport",),
    "conformance": ("cli.conformance:ConformanceReport",),
    "check-contribution": ("workflow.contribution.checklist:ContributionReport",),
    "targets": ("cli.targets:TargetReport",),
    "diff": ("cli.model_versions:ModelDifference", "catalog:OperatorSetDifference", "cli.operators:OperatorDifference"),
    "show": ("cli.show:ModelContents", "catalog:OperatorSetFacts", "cli.operators:OperatorDescription"),
    "import": ("cli.import_:ImportReport",),
    "new": ("cli.new:AuthoringReport",),
    "bump": ("cli.new:AuthoringReport", "cli.bump:LockReport"),
    "list": (),
    "explain": (),
    "examples": ("cli.examples:WrittenExamples",),
    "completion": ("cli.completion:CompletionScript",),
    "error": ("cli.error_report:ErrorReport",),
}
"""The classes of the objects that other verbs write; "error" is written where a call itself is wrong."""
LISTS: Mapping[str, tuple[str, ...]] = {
    "list": ("cli.list:ListedOperator", "cli.list:ListedDomain", "cli.list:ListedRelease", "cli.list:ListedRuntime"),
    "explain": ("cli.explain:Explanation",),
    "targets": ("cli.targets:ListedTarget", "cli.targets:TargetRelease"),
    "testgen": ("cli.testgen:ListedCase",),
}
"""The classes of what verbs list, each list one of these."""


def report_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a verb's output with `--format json`, or of `error`, for calls that are wrong."""
    schemas = _Schemas()
    if name in REPORTS:
        result, *batch = map(_class_of, REPORTS[name])
        schemas.result = result
        objects = [batch[0] if batch else BatchReport]
    else:
        objects = [*map(_class_of, OTHERS[name])]
    objects += [ErrorReport] if ErrorReport not in objects else []
    wholes = [schemas.of_object(each) for each in objects]
    wholes += [schemas.of_list(_class_of(each)) for each in LISTS.get(name, ())]
    for each in wholes:
        each["properties"] = {"schema_version": {"const": SCHEMA_VERSION}, **each["properties"]}
        each["required"] = ["schema_version", *each["required"]]
    title = {"$schema": DIALECT, "title": f"opset {name} --format json"}
    if name in REPORTS:
        schemas.refer(ModelReport)
    return {**title, **(wholes[0] if len(wholes) == 1 else {"anyOf": wholes}), "$defs": schemas.definitions}


def line_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a line of the file that a verb writes with `--report FILE`."""
    schemas = _Schemas()
    schemas.result = _class_of(REPORTS[name][0])
    line = schemas.of_object(ModelReport)
    marks = {"schema_version": {"const": SCHEMA_VERSION}, "call": {"type": "string"}, "size": {"type": "integer"}}
    line["properties"] = {**marks, "mtime": {"type": ["integer", "string"]}, **line["properties"]}
    line["required"] = [*marks, "mtime", *line["required"]]
    title = {"$schema": DIALECT, "title": f"a line of opset {name} --report FILE"}
    return {**title, **line, "$defs": schemas.definitions}


def _class_of(path: str) -> type:
    """Return the class that a path names."""
    module, _, name = path.partition(":")
    found: type = getattr(import_module(f"opset.{module}"), name)
    return found


def keys_of(kind: Any) -> Iterator[tuple[str, Any, bool]]:
    """Yield key and type of each field of a report's class, and whether the field may be left out."""
    # Verbs import the report of a verification only to verify.
    hints = typing.get_type_hints(kind, localns={"Verification": Verification})
    if typing.is_typeddict(kind):
        yield from ((name, hint, name not in kind.__required_keys__) for name, hint in hints.items())
        return
    if not is_dataclass(kind):
        yield from ((name, hints[name], False) for name in kind._fields)
        if kind is Finding:
            yield "at", NodeReference, True
        return
    for each in fields(kind):
        yield each.metadata.get("key", each.name), hints[each.name], each.default is not MISSING
        if hints[each.name] is FindingList:
            yield "omitted", int, False


class _Schemas:
    """Schemas of classes, each once; `result` is the class of the result in a report on a model."""

    def __init__(self) -> None:
        self.definitions: dict[str, Any] = {}
        self.result: type | None = None

    def refer(self, kind: Any) -> dict[str, Any]:
        """Return the reference to the schema of a class, which is made if it is not there."""
        if kind.__name__ not in self.definitions:
            self.definitions[kind.__name__] = {}
            self.definitions[kind.__name__] = self.of_object(kind)
        return {"$ref": f"#/$defs/{kind.__name__}"}

    def of_object(self, kind: Any) -> dict[str, Any]:
        """Return the schema of the objects of a class; a further key may come at any time."""
        properties: dict[str, Any] = {}
        required: list[str] = []
        for key, hint, may_lack in keys_of(kind):
            if key:
                properties[key] = self.of_hint(hint)
                required += [] if may_lack else [key]
                continue
            inner = self.result if kind is ModelReport else next(_classes_in(hint))
            below = self.of_object(inner)
            properties |= below["properties"]
            required += [] if kind is ModelReport else below["required"]  # of a model that failed there is no result
        does = (kind.__doc__ or "").partition("\n\n")[0].replace("\n    ", " ")
        return {"description": does, "type": "object", "properties": properties, "required": [*dict.fromkeys(required)]}

    def of_list(self, kind: Any) -> dict[str, Any]:
        """Return the schema of an object that lists objects of a class."""
        properties = {LISTED: {"type": "array", "items": self.refer(kind)}}
        return {"type": "object", "properties": properties, "required": [LISTED]}

    def of_hint(self, hint: Any) -> dict[str, Any]:
        """Return the schema of the values of a type."""
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if hint is FindingList:
            return {"type": "array", "items": self.refer(Finding)}
        if hint in _NAMES:
            return {"type": _NAMES[hint]}
        if origin in (typing.Union, types.UnionType):
            return {"anyOf": [self.of_hint(each) for each in arguments if each is not types.EllipsisType]}
        if origin in (Sequence, list, tuple):
            return {"type": "array", "items": self.of_hint(arguments[0])}
        if origin in (Mapping, dict):
            return {"type": "object", "additionalProperties": self.of_hint(arguments[1])}
        kind = origin or hint
        return self.refer(kind) if is_dataclass(kind) or hasattr(kind, "_fields") else {}


_NAMES: Mapping[Any, str | list[str]] = {
    str: "string",
    int: "integer",
    float: ["number", "string"],  # those that are not finite are texts
    bool: "boolean",
    types.NoneType: "null",
}


def _classes_in(hint: Any) -> Iterator[Any]:
    """Yield the classes of objects in a type."""
    for each in typing.get_args(hint) or (hint,):
        if is_dataclass(each) or hasattr(each, "_fields"):
            yield each
