"""Lint rules about examples: that there are some, and that they show what there is to see."""

from __future__ import annotations

from collections.abc import Iterator

from opset.errors import Finding
from opset.schemas.diff import Transition
from opset.schemas.lint_context import LintContext, Rule
from opset.schemas.loader import Operator
from opset.schemas.model import AttributeChange, Docs, Example, example_versions


def changed_attributes(operator: Operator) -> Iterator[tuple[str, AttributeChange, Transition]]:
    """Yield each attribute that a transition changes or names, with what it declares."""
    for step in operator.transitions:
        changed = step.difference.get("attributes", {})
        for name in sorted(changed.keys() | step.change.attributes.keys()):
            yield name, step.change.attributes.get(name, AttributeChange()), step


def has_examples(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Every operator has an example, where others have (S220)."""
    if context.exemplary and not operator.examples:
        yield Finding("S220", f"{operator.name} has no example", place=f"{operator.path}:1:1")


def constraints_broken(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Every constraint is broken by an example (S221). Where versions say the same, one example does."""
    broken = {
        (example.error, docs.constraints[example.error])
        for example in operator.examples
        if example.error
        for docs in _docs_of(operator, example)
    }
    for schema, docs in reversed(list(zip(operator.schemas, operator.docs, strict=True))):
        for constraint in docs.constraints.items() if operator.examples else ():
            if constraint in broken:
                continue
            broken.add(constraint)
            place = operator.place(schema.since_version, "constraints", constraint[0])
            message = f"no example breaks {constraint[0]} of {operator.name} {schema.since_version}"
            yield Finding("S221", message, place=place, help=f"add one with 'error: {constraint[0]}'")


def _docs_of(operator: Operator, example: Example) -> list[Docs]:
    docs = {schema.since_version: each for schema, each in zip(operator.schemas, operator.docs, strict=True)}
    return [docs[since] for since in example_versions(example, docs)]


def attributes_set(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Every attribute that has an effect is set by an example (S222)."""
    done = {name for example in operator.examples for name in example.attributes}
    done |= {name for name, declared, _ in changed_attributes(operator) if declared.ignored}
    for schema in reversed(operator.schemas if operator.examples else ()):
        for name in sorted(schema.attributes.keys() - done):
            place = operator.place(schema.since_version, "attributes", name)
            yield Finding("S222", f"no example sets {name} of {operator.name}", place=place)
        done |= schema.attributes.keys()


def examples_differ(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """No two examples are the same (S223)."""
    first: dict[str, str] = {}
    for position, example in enumerate(operator.examples):
        content = repr(example._replace(name="", doc=""))
        if content in first:
            node = operator.root.value["examples"].value[position]
            place = f"{operator.path}:{node.line}:{node.column}"
            yield Finding("S223", f"the example {example.name} is the same as {first[content]}", place=place)
        first.setdefault(content, example.name)


EXAMPLE_RULES: tuple[Rule, ...] = (has_examples, constraints_broken, attributes_set, examples_differ)
