"""YAML read strictly: YAML 1.2 scalars, one document, no aliases, tags or duplicate keys, and the place of every value.

The events of PyYAML's parser are taken one by one, so depth is limited before anything recurses and a mapping is seen
before it forgets duplicate keys. One budget is charged for all that a file makes costly, or all files of a folder.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from opset.budget import Budget, BudgetExceeded, Limits
from opset.errors import Finding, SchemaError

MAX_SIZE = 2**20
MAX_DEPTH = 32
MAX_KEY = 256
MAX_STEPS = 2**19
"""Steps of reading the files of a folder: their values, and what a few words stand for. The standard takes 222,000.

It grows with each release and with notes about runtimes; a folder may hold twice as much.
"""
MAX_FINDINGS = 100
MAX_MESSAGE = 500
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The fastest loader of PyYAML that is installed."""

# The core schema of YAML 1.2: `no`, `on`, `012` and `1_000` are not what YAML 1.1 makes of them.
_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]{1,40}|0o[0-7]{1,40}|0x[0-9a-fA-F]{1,40}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,40}|[0-9]{1,40}(\.[0-9]{0,40})?)([eE][-+]?[0-9]{1,9})?")
_INF = re.compile(r"[-+]?\.(inf|Inf|INF)")
_NAN = re.compile(r"\.(nan|NaN|NAN)")


def scalar(text: str) -> bool | int | float | str | None:
    """Return the value of an unquoted YAML scalar by the YAML 1.2 core schema: None, a boolean, a number or text.

    Unlike in YAML 1.1, `no` and `1_000` are text.
    """
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text) or _FALSE.fullmatch(text):
        return bool(_TRUE.fullmatch(text))
    if _INT.fullmatch(text):
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    if _FLOAT.fullmatch(text):
        return float(text)
    if _INF.fullmatch(text) or _NAN.fullmatch(text):
        return float(text.replace(".", ""))
    return text


@dataclass(slots=True)
class YamlNode:
    """A value in a YAML file with its line and column, counted from 1; `keys` has the nodes of a mapping's keys."""

    value: Any
    line: int
    column: int
    keys: dict[str, YamlNode] = field(default_factory=dict)

    def size(self) -> int:
        """Return the number of values in this node, itself included; values at any depth count."""
        return sum(1 for _ in nodes_below([self]))

    def places(self) -> Iterator[str]:
        """Yield "line:column" of this node and of each value and key in it."""
        for node in nodes_below([self]):
            yield from (f"{each.line}:{each.column}" for each in (node, *node.keys.values()))

    def plain(self) -> Any:
        """Return the value as lists, dictionaries and scalars, without lines and columns."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value


def nodes_below(nodes: Iterable[YamlNode]) -> Iterator[YamlNode]:
    """Yield `nodes` and all nodes in them, level by level."""
    level = [*nodes]
    while level:
        yield from level
        held = [node.value for node in level if isinstance(node.value, (list, dict))]
        level = [each for value in held for each in (value.values() if isinstance(value, dict) else value)]


def reading_budget() -> Budget:
    """Return a new budget of MAX_STEPS steps, which bounds the reading of all files of a folder."""
    return Budget(Limits(), max_steps=MAX_STEPS)


class Findings(list[Finding]):
    """The findings about one file, at most MAX_FINDINGS; files of a folder share a `budget` of work."""

    def __init__(self, file: str, budget: Budget | None = None) -> None:
        """Begin a list of findings about `file`, the path in their locations.

        If `budget` is None, the file gets a budget of its own.
        """
        super().__init__()
        self.file = file
        self._budget = budget or reading_budget()

    def charge(self, steps: int, at: YamlNode | None = None) -> None:
        """Charge steps of work to the budget; if it is used up, add a finding about `at` and raise SchemaError."""
        try:
            self._budget.charge(steps)
        except BudgetExceeded:
            help = "values count, those that are shared once more, and types, elements and versions of examples"
            self.add("S102", f"reading the files of this folder takes more than {MAX_STEPS:,} steps", at, help)
            raise SchemaError(self) from None

    def add(self, code: str, message: str, at: YamlNode | None = None, help: str = "") -> None:
        """Add a finding about the node `at`, or about line 1 if that is None; an equal finding is not added again.

        Raises SchemaError as soon as there are MAX_FINDINGS.
        """
        place = ":".join(filter(None, (self.file, f"{at.line}:{at.column}" if at else "1:1")))
        finding = Finding(code, message[:MAX_MESSAGE], place=place, help=help[:MAX_MESSAGE])
        if finding not in self:  # versions that share a key read it more than once
            self.append(finding)
        if len(self) >= MAX_FINDINGS:
            raise SchemaError(self)


def read(data: bytes, findings: Findings, loader: Any = LOADER, most: int = MAX_SIZE) -> YamlNode:
    """Return the only document in the bytes of a YAML file as nodes; faults are added to `findings`.

    Raises SchemaError after a fault that ends reading: there are more than `most` bytes or MAX_DEPTH nested levels, the
    bytes are not UTF-8, the syntax is faulty, or there is no document. Raises SchemaError also if there are
    MAX_FINDINGS, or if the budget of work is used up.

    Args:
        data: The bytes.
        findings: Gets the faults.
        loader: A loader class of PyYAML.
        most: The number of bytes that are accepted.
    """
    if len(data) > most:
        findings.add("S102", f"the file has {len(data):,} bytes; at most {most:,} are accepted")
        raise SchemaError(findings)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        *lines, line = data[: error.start].decode("utf-8").split("\n")
        findings.add("S101", "the file is not UTF-8", YamlNode(None, len(lines) + 1, len(line) + 1))
        raise SchemaError(findings) from None
    root = None
    try:
        root = _build(_events(text, loader), findings)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.context, error.problem) if part)
        help = _help_with_blanks(text, mark)
        if not help and "cannot start any token" in what:
            help = "put text that begins with a sign in quotes: '> 0'"
        is_deep = "nesting depth" in what  # newer releases of libyaml read ahead, and have a limit of their own
        code, what = ("S102", f"more than {MAX_DEPTH} levels are nested here") if is_deep else ("S101", what)
        findings.add(code, what, YamlNode(None, mark.line + 1, mark.column + 1) if mark else None, help)
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # such as an escape beyond Unicode
        findings.add("S101", str(error).splitlines()[0])
    if root is None:
        if not findings:
            findings.add("S101", "the file holds no document")
        raise SchemaError(findings)
    return root


def _help_with_blanks(text: str, mark: Any) -> str:
    """Return the advice to indent with blanks if a line at an error begins with a tab or the like; else "".

    `mark` is the place of the error in `text`, as PyYAML states it, or None. The line of the error and the line before
    it are checked.
    """
    lines = text.splitlines()[max(mark.line - 1, 0) : mark.line + 1] if mark else []
    for line in lines:
        if (first := line.lstrip(" ")[:1]).isspace():
            return f"indent with blanks: the line has {'a tab' if first == chr(9) else f'U+{ord(first):04X}'}"
    return ""


def _events(text: str, loader_class: Any) -> Iterator[Any]:
    """Yield the events of a YAML text, parsed by a loader class of PyYAML."""
    loader = loader_class(text)
    try:
        while loader.check_event():
            yield loader.get_event()
    finally:
        loader.dispose()


def _build(events: Iterator[Any], findings: Findings) -> YamlNode | None:
    """Return the root node of a document from the events of a YAML parser, None if there is no document.

    Faults are added to `findings`. Raises SchemaError if more than MAX_DEPTH levels are nested.
    """
    root: YamlNode | None = None
    stack: list[tuple[YamlNode, YamlNode | None]] = []
    for event in events:
        if isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            stack.pop()
            continue
        if isinstance(event, yaml.DocumentStartEvent) and root is not None:
            findings.add("S101", "a second document starts here", _node(event))
            break
        if not isinstance(event, yaml.NodeEvent):
            continue
        node = _node(event, findings)
        findings.charge(1, node)
        if not stack:
            root = node
        else:
            stack[-1] = _attach(*stack[-1], node, findings)
        if isinstance(node.value, (list, dict)):
            stack.append((node, None))
            if len(stack) > MAX_DEPTH:
                findings.add("S102", f"more than {MAX_DEPTH} levels are nested here", node)
                raise SchemaError(findings)
    return root


def _node(event: Any, findings: Findings | None = None) -> YamlNode:
    """Return the node that a parser event begins: a scalar with its value, or an empty list or mapping.

    Faults, such as anchors, aliases and tags, are added to `findings`; if that is None, the event is not checked.
    """
    node = YamlNode(None, event.start_mark.line + 1, event.start_mark.column + 1)
    if isinstance(event, yaml.SequenceStartEvent):
        node.value = []
    elif isinstance(event, yaml.MappingStartEvent):
        node.value = {}
    elif isinstance(event, yaml.ScalarEvent):
        node.value = event.value if event.style else scalar(event.value)
        if isinstance(node.value, str) and not node.value.isascii() and re.search("[\ud800-\udfff]", node.value):
            assert findings is not None
            findings.add("S101", "a lone surrogate is not a character", node)
        if findings is not None and node.value in (math.inf, -math.inf) and _FLOAT.fullmatch(event.value):
            findings.add("S105", "the number is larger than a float can be", node, "write .inf for infinity")
    if findings is not None:
        if isinstance(event, yaml.AliasEvent) or event.anchor:
            findings.add("S101", "anchors and aliases are not accepted", node, "write the value out")
        elif event.tag:
            findings.add("S101", "tags are not accepted", node, "leave it out; quote a string that looks otherwise")
    return node


def _attach(
    parent: YamlNode, key: YamlNode | None, node: YamlNode, findings: Findings
) -> tuple[YamlNode, YamlNode | None]:
    """Add a node to its parent, as an item of a list or as the value of `key`.

    If `node` is itself a key, it is not added. A finding is added if the key is no text, too long or duplicate. The
    value of a duplicate key is dropped.

    Args:
        parent: The list or mapping.
        key: The key to which `node` is the value; None if `node` is an item of a list or itself a key.
        node: The node.
        findings: Gets the faults.

    Returns:
        The parent, and the key whose value comes next: `node` if it is a key, else None.
    """
    if isinstance(parent.value, list):
        parent.value.append(node)
        return parent, None
    if key is None:
        if not isinstance(node.value, str):
            findings.add("S105", "a key has to be text", node, "quote it")
        elif len(node.value) > MAX_KEY:
            findings.add("S102", f"a key has at most {MAX_KEY} characters", node)
        elif node.value in parent.keys:
            findings.add("S106", f"the key {node.value!r} is duplicate in this mapping", node)
        return parent, node
    if isinstance(key.value, str) and key.value not in parent.keys:
        parent.keys[key.value] = key
        parent.value[key.value] = node
    return parent, None
