"""The prose of an operator's versions: descriptions, conditions, special cases, and what runtimes do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class SpecialCase(NamedTuple):
    """The behavior of an operator at a limit, in a sentence or two; `stated` and `chosen` as in status.py."""

    text: str
    stated: str = ""
    chosen: str = ""


class ImplementationNote(NamedTuple):
    """The behavior of one implementation of an operator, beside the standard's text.

    `name` is a runtime, or OWN for the evaluator of this package; `tested` is the version of the runtime with which the
    behavior was seen. `examples` names the examples with which it disagrees.
    """

    name: str
    text: str
    tested: str = ""
    examples: tuple[str, ...] = ()


class Docs(NamedTuple):
    """The prose of one version: a description, and a phrase for every input, output and attribute.

    `constraints` maps labels, `C1` and on, to conditions that a node meets, in words or as a formula. `formula` is
    LaTeX, `special_cases` says what happens at limits, `counterparts` the equal calls of numpy and of frameworks.
    `implementations` says what some runtimes do.
    """

    doc: str
    inputs: Mapping[str, str] = {}
    outputs: Mapping[str, str] = {}
    attributes: Mapping[str, str] = {}
    constraints: Mapping[str, str] = {}
    formula: str = ""
    special_cases: Sequence[SpecialCase] = ()
    counterparts: Mapping[str, str] = {}
    implementations: Sequence[ImplementationNote] = ()


def make_docs(prose: dict[str, Any], domain: str, name: str, since: int) -> Docs:
    """Return the prose of the operator version with the since_version `since`, from compiled prose.

    Raises KeyError if there is none.
    """
    docs = Docs(*prose["operators"][domain][name][str(since)])
    notes = (ImplementationNote(*each) for each in docs.implementations)
    return docs._replace(
        special_cases=tuple(SpecialCase(*each) for each in docs.special_cases),
        implementations=tuple(each._replace(examples=tuple(each.examples)) for each in notes),
    )
