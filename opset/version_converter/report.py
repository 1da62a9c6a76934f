"""The report of a conversion, from which its text and its JSON are made.

Domains are named as people write them. Strings of the model are unchanged; the text has them escaped and cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from opset.errors import SHOWN, ModelError, brief_name, listing, safe_text
from opset.model.graph.index import BodyLabels
from opset.plain_text import count_text, table_lines
from opset.schemas.names import domain_name, qualified_name
from opset.version_converter.result import Action, Conversion

FEW = 4
"""Nodes in place of one that are not counted for the reader."""
LONGEST = 8000
"""Characters of the text of a node that is an example, with the nodes that replace it."""
FEW_ELEMENTS = 64
"""Elements of a tensor in such a text."""


class ImportedVersion(NamedTuple):
    """The opset versions of a domain before and after the conversion."""

    domain: str
    before: int
    after: int


class IrVersions(NamedTuple):
    """The IR versions before and after the conversion."""

    before: int
    after: int


class NodePlace(NamedTuple):
    """The place of a node in the given model: the position of its graph in the report's `graphs`, index and name."""

    graph: int
    node: int
    name: str


class ConvertedNode(NamedTuple):
    """A node of the given model, and the nodes that replace it, in ONNX text syntax."""

    given: str
    made: Sequence[str]


class OperatorGroup(NamedTuple):
    """Nodes of one operator that are converted alike.

    `before` and `after` are since_versions; `after` is 0 if the nodes are lowered to other operators. `kept` says that
    the nodes stay as they are, `removed` that they are not in the result, since nothing reads theirs any more.
    `example` shows the first node with the nodes that replace it; None if the nodes stay, or if its text would be long.
    """

    domain: str
    operator: str
    before: int
    after: int
    nodes: int
    kept: bool = True
    steps: Sequence[str] = ()
    becomes: Sequence[str] = ()
    places: Sequence[NodePlace] = ()
    example: ConvertedNode | None = None
    removed: bool = False


class PassedOperator(NamedTuple):
    """Nodes of an operator whose domain has no schemas, so that they stay as they are."""

    domain: str
    operator: str
    nodes: int


class NodeCounts(NamedTuple):
    """The number of nodes of a model, and how many of them are converted, kept, passed through, refused and removed."""

    total: int
    converted: int
    kept: int
    passed: int
    refused: int
    removed: int = 0


@dataclass(frozen=True)
class ConversionReport:
    """The changes by a conversion: versions before and after, groups of nodes (changed ones first), and notes."""

    opsets: Sequence[ImportedVersion]
    ir_version: IrVersions
    operators: Sequence[OperatorGroup]
    graphs: Sequence[str]
    passed: Sequence[PassedOperator]
    notes: Sequence[str]
    nodes: NodeCounts


def conversion_report(conversion: Conversion, *, places: bool = True) -> ConversionReport:
    """Return the report of a conversion; without `places`, the report lists neither places of nodes nor examples.

    Converted nodes come first, grouped by operator, versions and change. Groups of removed nodes follow, and at last
    groups of nodes that stay.
    """
    groups: dict[tuple[Any, ...], list[Action]] = {}
    for action in conversion.actions:
        groups.setdefault(action.kind, []).append(action)
    labels = BodyLabels()
    converted = [
        OperatorGroup(
            domain_name(domain),
            op_type,
            since,
            until,
            len(actions),
            kept=not steps,
            steps=steps,
            becomes=result,
            places=[_place_of(action, labels) for action in actions] if places else (),
            example=_example_of(actions[0], conversion) if places else None,
        )
        for (domain, op_type, since, until, steps, result), actions in sorted(groups.items(), key=itemgetter(0))
    ]
    kept = [
        OperatorGroup(domain_name(domain), op_type, since, until, nodes)
        for (domain, op_type, since, until), nodes in sorted(conversion.kept.items())
    ]
    removed = [
        OperatorGroup(domain_name(domain), op_type, since, since, nodes, kept=False, removed=True)
        for (domain, op_type, since), nodes in sorted(conversion.removed.items())
    ]
    sums = conversion.kept.total(), conversion.passed.total(), conversion.refused, conversion.removed.total()
    counts = len(conversion.actions), *sums
    return ConversionReport(
        opsets=[
            ImportedVersion(domain_name(domain), before, conversion.target.get(domain, before))
            for domain, before in conversion.source.items()
        ],
        ir_version=IrVersions(*conversion.ir_version),
        operators=converted + removed + kept,
        graphs=labels.labels,
        passed=[
            PassedOperator(domain_name(domain), op_type, nodes)
            for (domain, op_type), nodes in sorted(conversion.passed.items())
        ],
        notes=conversion.notes,
        nodes=NodeCounts(sum(counts), *counts),
    )


def headline(report: ConversionReport) -> str:
    """Return the versions of a conversion as one line: "ai.onnx 13 -> 21, IR version 7 -> 10".

    A version that stays is written once: "ai.onnx 13". Of many domains, only the first are listed.
    """
    versions = [f"{each.domain} {_versions_text(each)}" for each in report.opsets]
    return f"{listing(versions, SHOWN)}, IR version {_versions_text(report.ir_version)}"


def report_lines(report: ConversionReport) -> list[str]:
    """Return the lines of text below the headline: a table of operators, domains without schemas, notes, node counts.

    A part without content is left out. Of many notes, only the first are shown, with the number of the others.
    """
    kinds: Counter[tuple[str, str, str]] = Counter()
    for group in report.operators:
        name = qualified_name(group.domain, group.operator)
        counts = Counter(group.becomes)
        made = listing([name if count == 1 else f"{count} {name}" for name, count in counts.items()])
        becomes = (
            "kept" if group.kept else "removed: nothing reads it any more" if group.removed else f"converted to {made}"
        )
        if not group.after:
            size = len(group.becomes)
            becomes = f"lowered to {made}" if size <= FEW else f"lowered to {size} nodes: {made}"
        kinds[brief_name(name), _versions_text(group), becomes] += group.nodes
    rows = [["operator", "version", "nodes", "what happens"]]
    rows += [[name, versions, str(nodes), becomes] for (name, versions, becomes), nodes in kinds.items()]
    lines = table_lines(rows, right=[2]) if kinds else []
    domains: dict[str, list[str]] = {}
    for passed in report.passed:
        domains.setdefault(passed.domain, []).append(f"{passed.operator} ({passed.nodes})")
    for domain, names in domains.items():
        why = f"as there are no schemas of {brief_name(domain)}"
        lines.append(f"  passed through, {why}: {listing(names, SHOWN)}")
    lines += [f"  note: {safe_text(note)}" for note in report.notes[:SHOWN]]
    if len(report.notes) > SHOWN:
        lines.append(f"  … and {len(report.notes) - SHOWN:,} more notes")
    total, *numbers = report.nodes
    if total:
        words = ("converted", "kept", "passed through", "refused", "removed")
        parts = [f"{number} {word}" for number, word in zip(numbers, words, strict=True) if number]
        lines.append(f"  {count_text(total, 'node')}: {', '.join(parts)}")
    return lines


def refusal_line(nodes: NodeCounts) -> str:
    """Return the last line of text about a refused conversion: "2 of 5 nodes cannot be converted; nothing was written."

    If no node is refused, the line is about "the model" as a whole.
    """
    what = f"{nodes.refused} of {count_text(nodes.total, 'node')}" if nodes.refused else "the model"
    return f"{what} cannot be converted; nothing was written."


def _place_of(action: Action, labels: BodyLabels) -> NodePlace:
    """Return the place of the node that an action converted.

    The place has the number that `labels` gives to the node's graph; a new graph is added to `labels`.
    """
    body, index = action.body, action.node_index
    return NodePlace(labels.number_of(body), index, body.names[index])


def _example_of(action: Action, conversion: Conversion) -> ConvertedNode | None:
    """Return the node of an action, and the nodes that replace it, as text.

    Returns None if the text would be longer than LONGEST, or if a name is not valid text. Also returns None if the
    conversion has kept no example of the new nodes for this kind of action.
    """
    nodes = [action.body.nodes[action.node_index], *conversion.examples.get(action.kind, ())]
    try:
        given, *made = [_text_of(node) for node in nodes]
    except ModelError:  # a name is no text
        return None
    is_short = len(given) + sum(map(len, made)) <= LONGEST
    return ConvertedNode(given, made) if is_short and made else None


def _text_of(node: Any) -> str:
    """Return a node in ONNX text syntax, without its metadata and documentation.

    Values of tensors with more than FEW_ELEMENTS elements are left out. For a node of more than LONGEST bytes, the
    result is LONGEST + 1 spaces, which callers take for a text that is too long. Raises ModelError if a name in the
    node is not valid text.
    """
    from opset.model.text.printing import to_text  # most conversions write no text

    if node.ByteSize() > LONGEST:
        return " " * (LONGEST + 1)
    plain = type(node)()
    plain.CopyFrom(node)
    plain.ClearField("metadata_props")
    plain.ClearField("doc_string")
    lines = to_text(plain, limit=FEW_ELEMENTS).splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))


def _versions_text(versions: ImportedVersion | IrVersions | OperatorGroup) -> str:
    """Return versions as text: "13 -> 21"; only the first if both are equal, or if the second is 0."""
    same = versions.before == versions.after
    return f"{versions.before}" if same or not versions.after else f"{versions.before} -> {versions.after}"
