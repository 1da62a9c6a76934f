"""Lint rules about examples: operators have some, and they cover constraints, attributes and types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import attrgetter

from opset.errors import Finding
from opset.schemas.example import example_versions
from opset.schemas.lint.context import LINT, LintContext, changed_attributes
from opset.schemas.model import OpSchema
from opset.schemas.untrusted_files import file_matches
from opset.schemas.yaml.keys import GUIDANCE
from opset.schemas.yaml.loader import Operator
from opset.schemas.yaml.reader import MAX_SIZE

has_read_examples = attrgetter("examples_read")


@LINT.rule("S220", Operator, applies=has_read_examples)
def check_for_examples(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S220 if an operator has no example, but must have one.

    It must have one if `context.examples_required`, or if its file still has lines of guidance from `opset new`.
    """
    required = context.examples_required
    if not operator.examples and (required or file_matches(operator.path, _GUIDANCE, MAX_SIZE)):
        yield Finding("S220", f"{operator.name} has no example", place=f"{operator.path}:1:1")


@LINT.rule("S221", Operator, applies=has_read_examples)
def check_broken_constraints(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S221 for each constraint that no example breaks; operators without examples are skipped.

    An example breaks the constraint that its key `error` names. If a constraint has the same label and text in several
    versions, one example of it is enough.
    """
    docs_of = {schema.since_version: docs for schema, docs in zip(operator.schemas, operator.docs, strict=True)}
    broken = {
        (example.error, docs_of[since].constraints[example.error])
        for example in operator.examples
        if example.error
        for since in example_versions(example, docs_of)
    }
    for schema, docs in reversed(list(zip(operator.schemas, operator.docs, strict=True))):
        for constraint in docs.constraints.items() if operator.examples else ():
            if constraint in broken:
                continue
            broken.add(constraint)
            place = operator.place(schema.since_version, "constraints", constraint[0])
            message = f"no example breaks {constraint[0]} of {operator.name} {schema.since_version}"
            yield Finding("S221", message, place=place, help=f"add one with 'error: {constraint[0]}'")


@LINT.rule("S222", Operator, applies=lambda operator: operator.examples_read and operator.gaps == frozenset())
def check_set_attributes(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S222 for each attribute that no example sets, at the newest version that has the attribute.

    Attributes that a `change:` block declares as `ignored`, and operators without examples, are skipped.
    """
    done = {name for example in operator.examples for name in example.attributes}
    done |= {name for name, declared, _ in changed_attributes(operator) if declared.ignored}
    for schema in reversed(operator.schemas if operator.examples else ()):
        for name in sorted(schema.attributes.keys() - done):
            place = operator.place(schema.since_version, "attributes", name)
            yield Finding("S222", f"no example sets {name} of {operator.name}", place=place)
        done |= schema.attributes.keys()


@LINT.rule("S223", Operator, applies=has_read_examples)
def check_equal_examples(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S223 for each example that is equal to an earlier one in all keys except `name` and `doc`."""
    first: dict[str, str] = {}
    for position, example in enumerate(operator.examples):
        content = repr(example._replace(name="", doc=""))
        if content in first:
            place = operator.place_of(operator.root.value["examples"].value[position])
            yield Finding("S223", f"the example {example.name} is the same as {first[content]}", place=place)
        first.setdefault(content, example.name)


@LINT.rule("S240", Operator, applies=has_read_examples)
def check_example_types(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S240 for each kind of type, such as signed integers, that a version adds and no example shows.

    In the first version, all types are new. Operators without examples, versions with a subgraph, and deprecated
    versions are skipped.
    """
    before: dict[int, OpSchema | None] = {step.new.since_version: step.old for step in operator.transitions}
    for schema in operator.schemas if operator.examples and operator.gaps is not None else ():
        since = schema.since_version
        first = schema is operator.schemas[0] and schema.change is None
        graphs = any(attribute.type.startswith("graph") for attribute in schema.attributes.values())
        if schema.deprecated or graphs or not (first or since in before):
            continue
        missing = missing_types(operator, schema, before.get(since))
        for kind, types in sorted(missing.items()):
            names = [_TENSOR.sub(r"\1", each) for each in types]
            constraint = next(name for name, known in schema.types.items() if types[0] in known)
            message = f"no example of {operator.name} {since} has a value of {kind}, which the version adds"
            help = f"add one from version {since} on, with {' or '.join(names[:MOST_NAMED])}"
            if first:
                message = f"no example of {operator.name} {since} has a value of {kind}"
            yield Finding("S240", message, place=operator.place(since, "types", constraint), help=help)


def missing_types(operator: Operator, schema: OpSchema, older: OpSchema | None) -> dict[str, list[str]]:
    """Return the kinds of new types that no example of the version `schema` shows, each with its new types.

    A kind is a phrase such as "a signed integer". A type of an input or output is new if the version `older` does not
    have it; if `older` is None, all types are new. Types in `emulate` of the `change:` block need no example.
    """
    used = {parameter.type for parameter in (*schema.inputs, *schema.outputs)}
    added = {each for name, types in schema.types.items() if name in used for each in types}
    added -= {each for types in older.types.values() for each in types} if older is not None else set()
    if schema.change is not None:
        added -= {f"tensor({element})" for element in schema.change.emulate}
    holding = [each for each in operator.examples if example_versions(each, [schema.since_version])]
    shown = {
        value.type for example in holding for value in (*example.inputs, *(example.outputs or ())) if value is not None
    }
    kinds: dict[str, list[str]] = {}
    for each in sorted(added):
        kinds.setdefault(kind_of_type(each), []).append(each)
    return {kind: types for kind, types in kinds.items() if shown.isdisjoint(types)}


def kind_of_type(type_: str) -> str:
    """Return the kind of a type, such as "a signed integer"; types of one kind are computed alike.

    A type that is alone in its kind has its element type as kind, such as "bool".
    """
    for wrapper, kind in _WRAPPERS.items():
        if type_.startswith(wrapper):
            return kind
    element = type_.removeprefix("tensor(").removesuffix(")")
    return next((kind for kind, elements in _KINDS.items() if element in elements), element)


MOST_NAMED = 4
_GUIDANCE = re.compile(rf"^[ \t]*{GUIDANCE}".encode(), re.MULTILINE)
"""The beginning of a line of guidance, as `opset new` writes it."""
_TENSOR = re.compile(r"\btensor\((\w+)\)")
_WRAPPERS = {
    "optional(seq(": "an optional sequence",
    "optional(": "an optional type",
    "seq(": "a sequence",
    "map(": "a map",
    "sparse_tensor(": "a sparse tensor",
}
_KINDS = {
    "float": ("float16", "float", "double"),
    "a signed integer": ("int8", "int16", "int32", "int64"),
    "an unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "an integer of 2 or 4 bits": ("int2", "int4", "uint2", "uint4"),
    "a float of 8 bits": ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"),
    "a float of a microscaling format": ("float4e2m1", "float6e2m3", "float6e3m2", "float8e8m0"),
    "a complex number": ("complex64", "complex128"),
}
