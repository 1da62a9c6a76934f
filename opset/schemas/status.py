"""The status of a special case or an example: stated by the standard, derived from it, or chosen if it leaves it open.

A special case or an example says `stated: CLAUSE`, or `chosen: REASON`; otherwise it is derived from statements of the
standard. If it needs several sentences of the standard, the least certain one decides.

A clause is a version of the operator with a part of its text (`13 summary`, `13 attribute axis`, `13 input X`,
`13 output Y`, `13 type T`, `13 body`), or a document and a section of it (`Broadcasting.md multidirectional`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from opset.schemas.documentation import SpecialCase
from opset.schemas.example import Example
from opset.schemas.model import OpSchema

STATED, DERIVED, CHOSEN = "stated", "derived", "chosen"
STATUSES = (STATED, DERIVED, CHOSEN)
CLAUSE = "13 summary, 13 attribute NAME, 13 input NAME, 13 output NAME, 13 type NAME, 13 body, or DOCUMENT SECTION"
_OF_VERSION = re.compile(r"([1-9][0-9]{0,9}) (?:(summary|body)|(attribute|input|output|type) (\S+))")
_OF_DOCUMENT = re.compile(r"(?!(?:version|summary|body|attribute|input|output|type) )[^\W\d]\S* \S.*", re.IGNORECASE)
_SUBJECT = r"(?:standard|text|specification|document|version \d+|neither)"
_OPEN = re.compile(
    rf"\b(?:undefined|unspecified|contradicts? itself|left open|{_SUBJECT} leaves?\b[^.;]*\bopen"
    rf"|{_SUBJECT} (?:does not|do not|sets no|gives no|has no|names no|says nothing)"
    r"|(?:is|are|was|were) not (?:defined|stated|specified|determined)"
    r"|(?:runtimes|implementations)(?: may)? (?:differ|disagree))\b",
    re.IGNORECASE,
)


Grounded = SpecialCase | Example


def status_of(item: Grounded) -> str:
    """Return how a special case or example follows from the standard: "chosen", "stated" or "derived".

    An item with a reason for a choice is "chosen", an item with a clause of the standard "stated". An item with neither
    is "derived" from the standard.
    """
    return CHOSEN if item.chosen else STATED if item.stated else DERIVED


def ground_of(item: Grounded) -> str:
    """Return the clause of the standard that states a special case or example, such as "13 summary".

    If the standard leaves the item open, the result is the reason for the choice that was made. It is "" if the item is
    derived from the standard.
    """
    return item.chosen or item.stated


def status_words(status: str, ground: str) -> str:
    """Return a status and its ground as a phrase: "stated: version 13, summary"; "" for the status "derived"."""
    if status == STATED and (found := _OF_VERSION.fullmatch(ground)):
        ground = f"version {found[1]}, {ground.partition(' ')[2]}"
    return "" if status == DERIVED else f"{status}: {ground}"


def is_open(text: str) -> bool:
    """Whether a text says that the standard leaves something open, by a word such as "undefined"."""
    return bool(_OPEN.search(text))


def clause_fault(clause: str, versions: Sequence[OpSchema], newest: int, complete: bool = True) -> str:
    """Return why a text names no clause of the standard; "" if it names one.

    Args:
        clause: A version and a part of its text, such as "13 attribute axis". A document and a section, such as
            "Broadcasting.md multidirectional", are accepted, and not looked up.
        versions: The versions of the operator.
        newest: The newest version whose text may be cited.
        complete: Whether `versions` are all versions of the operator. If not, a clause of a missing version is
            accepted.
    """
    if _OF_DOCUMENT.fullmatch(clause):
        return ""
    found = _OF_VERSION.fullmatch(clause)
    if found is None:
        return "it is neither a version with a part of its text nor a document with a section"
    schema = next((each for each in versions if each.since_version == int(found[1])), None)
    if schema is None:
        return f"the operator has no version {found[1]}" if complete else ""
    if schema.since_version > newest:
        return f"it is a text of version {found[1]}, and states something of version {newest}"
    kind, name = found[3], found[4]
    names = {
        "attribute": [*schema.attributes],
        "type": [*schema.types],
        "input": [each.name for each in schema.inputs],
        "output": [each.name for each in schema.outputs],
    }
    return "" if kind is None or name in names[kind] else f"version {found[1]} has no {kind} {name!r}"
