"""Reads the file of a runtime strictly: every fault at once, each with its line and column.

    runtime: acme-npu                  # what --for takes; small letters, digits, - and _
    title: the NPU of ACME             # its name in words
    aliases: [acme, "acme:npu"]        # other names; NAME:PROVIDER is written NAME==RELEASE:PROVIDER
    match: range                       # kernel | range | name | opset: see MATCH in model.py
    fallback: onnxruntime-cpu          # the runtime that runs the nodes which this one does not take
    kernels_of: onnxruntime-cpu        # in place of match: it has the kernels of that one, if `operators` stands
                                       # here those of the operators that are named, with these limits in addition
    source: the maker's table          # where this is from
    notes: [later ones were not read]  # what a user should know
    casts: {double: float}             # types that are computed in another one
    io_types_not: [bfloat16]           # types that inputs and outputs of a model cannot have
    releases:                          # oldest first
    - {release: "1.0", opset: [7, 17], ml: 3, ir: 8, how: documented}
    operators:
      ai.onnx:
        Conv:
        - {versions: [1, 11], types: {T: [float]}, input_rank: [4], constant_inputs: [W], until: "1.0"}
    functions: {ai.onnx: {Gelu: [20]}} # versions whose function the runtime may run where it has no kernel
    faults:                            # classes of nodes that it takes, and computes wrongly or fails at
      ai.onnx:
        AveragePool:
        - {versions: [7, 18], attributes: {ceil_mode: 1}, result: wrong, gives: sums over too much, until: "1.0"}

A row of `releases` may have `read_from`, `note`, `kernels_release` and `fallback_release` (the releases of these
runtimes), `lists_operators: false` (its operators are not known), `local_functions: false` (it runs no functions that
a model defines) and `union_types: true` (see Release in model.py). A limit that is not known is null or left out.
`since` and `until` name the first and the last release that have an entry; without them, it holds from the first
release of the file, or up to the last. `opset explain runtimes` has the keys of an entry.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from opset.errors import Finding, SchemaError, safe_text
from opset.opsets.runtimes.keys import ENTRY_KEYS, FAULT_KEYS, RELEASE_KEYS, TABLE_KEYS
from opset.opsets.runtimes.model import (
    HOW,
    KERNEL,
    MATCH,
    NAMES_IN_FAULTS,
    OPSET,
    RANGE,
    RESULTS,
    RuntimeTable,
    make_table,
    parse_comparison,
    release_sort_key,
)
from opset.schemas.names import normalize_domain
from opset.schemas.type_sets import is_type
from opset.schemas.untrusted_files import file_bytes
from opset.schemas.yaml.fields import Fields
from opset.schemas.yaml.reader import MAX_SIZE, Findings, YamlNode, read

MAX_RELEASES = 256
MAX_OPERATORS = 1024
MAX_VERSION = 2**31 - 1
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_ALIAS = re.compile(rf"{_NAME.pattern}(:[a-z0-9._-]{{1,64}})?")
_RELEASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


def load_runtime(path: Path) -> RuntimeTable:
    """Return the runtime that a file describes. Raises SchemaError with all faults of the file."""
    try:
        data = file_bytes(path, MAX_SIZE)
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise SchemaError([Finding("S101", f"{safe_text(path)} cannot be read", why=why)]) from error
    return make_table(parse_runtime(data, str(path)), str(path))


def parse_runtime(data: bytes, file: str) -> dict[str, Any]:
    """Return the content of a runtime's file as plain data, in which "" is the domain ai.onnx.

    Args:
        data: The bytes of the file.
        file: Its name, for messages.

    Raises:
        SchemaError: The file has faults; it holds all of them.
    """
    findings = Findings(file)
    root = read(data, findings)
    document = _TableReader(findings).table(root)
    if findings:
        raise SchemaError(findings)
    return document


class _TableReader(Fields):
    """Reads the nodes of a file into plain data; faults go to `findings`."""

    def table(self, node: YamlNode) -> dict[str, Any]:
        """Return the content of the file as plain data."""
        fields = self.mapping(node, TABLE_KEYS, ("runtime", "releases"))
        document: dict[str, Any] = {}
        if "runtime" in fields:
            document["runtime"] = self._matching_text(
                fields["runtime"], _NAME, "a name of small letters, digits, - and _"
            )
        for key in ("title", "source"):
            if key in fields:
                document[key] = self.phrase(fields[key])
        for key in ("fallback", "kernels_of"):
            if key in fields:
                document[key] = self._matching_text(fields[key], _NAME, "the name of a runtime")
        for key in ("notes", "io_types_not", "aliases"):
            if key in fields:
                read_one = {"notes": self.phrase, "io_types_not": self._type}.get(key, self._alias)
                document[key] = [read_one(each) for each in self._list(fields[key])]
        if "casts" in fields:
            document["casts"] = {name: self.phrase(each) for name, each in self.names(fields["casts"], "casts").items()}
        document |= self._match(fields, node)
        rows = self._releases(fields["releases"], "kernels_of" in fields) if "releases" in fields else []
        if rows:
            document["releases"] = rows
        self._known = [row["release"] for row in rows]
        if "operators" in fields:
            match = document.get("match", "")
            help = "leave out an operator that is not taken"
            document["operators"] = self._by_operator(fields["operators"], lambda each: self._entry(each, match), help)
        if "functions" in fields:
            document["functions"] = self._functions(fields["functions"])
        if "faults" in fields:
            document["faults"] = self._by_operator(
                fields["faults"], self._fault, "leave out an operator without faults"
            )
        return document

    def _match(self, fields: dict[str, YamlNode], node: YamlNode) -> dict[str, str]:
        """Return {"match": RULE}; {} if the file has the kernels of another runtime, whose rule then holds."""
        if "kernels_of" not in fields:
            if "match" in fields:
                return {"match": self.choice(fields["match"], [*MATCH])}
            if "operators" in fields:
                self.findings.add("S104", "the key 'match' is missing", node, f"it is one of {', '.join(MATCH)}")
            return {}
        for key in ("match", "fallback"):
            if key in fields:
                help = "leave it out: the runtime that 'kernels_of' names states it"
                self.findings.add("S103", f"{key!r} does not stand beside 'kernels_of'", fields[key], help)
        return {}

    def _releases(self, node: YamlNode, of_another: bool) -> list[dict[str, Any]]:
        """Return the rows in `releases`, oldest first; `of_another` if the runtime has the kernels of another one."""
        rows: list[dict[str, Any]] = []
        for each in self._list(node, MAX_RELEASES, "releases"):
            row = self._release(each, of_another)
            names = [before["release"] for before in rows]
            if not row.get("release"):
                continue
            if row["release"] in names:
                self.findings.add("S106", f"the release {row['release']!r} stands here twice", each)
                continue
            if names and release_sort_key(row["release"]) < release_sort_key(names[-1]):
                self.report_wrong(each, "a release that is newer than the one above")
            rows.append(row)
        if not rows:
            self.report_wrong(node, "a list of at least one release")
        return rows

    def _release(self, node: YamlNode, of_another: bool) -> dict[str, Any]:
        """Return one row in `releases`; `of_another` if the runtime has the kernels of another one."""
        fields = self.mapping(node, RELEASE_KEYS, ("release", "how"))
        row: dict[str, Any] = {}
        for key, each in fields.items():
            if key in ("release", "kernels_release", "fallback_release"):
                row[key] = self._matching_text(each, _RELEASE, "a release in quotes, without spaces")
                if key == "kernels_release" and not of_another:
                    self.findings.add("S103", "'kernels_release' stands only beside 'kernels_of'", fields[key])
            elif key == "how":
                row[key] = self.choice(each, [*HOW])
            elif key == "opset":
                if each.value is not None:
                    row[key] = self._span(each, (True, True))
            elif key in ("ml", "ir"):
                if each.value is not None:
                    row[key] = self.within(each, 1, MAX_VERSION, 1)
            elif key in ("lists_operators", "union_types", "local_functions"):
                row[key] = self.flag(each)
            else:
                row[key] = self.phrase(each)
        return row

    def _by_operator(
        self, node: YamlNode, read_one: Callable[[YamlNode], dict[str, Any]], help_if_none: str
    ) -> dict[str, Any]:
        """Return the entries by domain and operator."""
        operators: dict[str, Any] = {}
        for domain, each in self.names(node, "domains").items():
            entries: dict[str, Any] = {}
            for name, listed in self.mapping(each).items():
                if not self.name(each.keys[name]):
                    continue
                if len(entries) == MAX_OPERATORS:
                    self.findings.add("S102", f"there are at most {MAX_OPERATORS} operators", each.keys[name])
                    break
                entries[name] = [read_one(one) for one in self._list(listed)]
                if not entries[name]:
                    self.report_wrong(listed, "a list of at least one entry", help_if_none)
            operators[normalize_domain(domain)] = entries
        return operators

    def _entry(self, node: YamlNode, match: str) -> dict[str, Any]:
        """Return one entry of an operator, which describes a kernel; `match` is the file's match rule."""
        fields = self.mapping(node, ENTRY_KEYS)
        return self._values_of(fields, match) | self._since_until(fields)

    def _values_of(self, fields: dict[str, YamlNode], match: str) -> dict[str, Any]:
        """Return the limits of an entry, without its releases."""
        entry: dict[str, Any] = {}
        for key, each in fields.items():
            if key in ("versions", "opsets"):
                wanted = {KERNEL: "versions", RANGE: "versions", OPSET: "opsets"}.get(match, "")
                if match and key != wanted:
                    self.findings.add("S103", f"{key!r} does not stand here where 'match' is {match!r}", each)
                entry[key] = self._span(each, (False, key == "versions"))
            elif key == "types":
                entry[key] = self._types(each)
            elif key in ("types_not", "unasked", "constant_inputs", "notes"):
                read_one = {"types_not": self._type, "notes": self.phrase}.get(key, self.name)
                entry[key] = [read_one(one) for one in self._list(each)]
            elif key == "input_rank":
                entry[key] = [self.within(one, 0, MAX_VERSION, 0) for one in self._list(each)]
            elif key in ("attributes", "values"):
                entry[key] = {name: self._required_value(one) for name, one in self.names(each, key).items()}
            elif key == "outputs":
                is_list = isinstance(each.value, list)
                entry[key] = [*map(self.name, each.value)] if is_list else self.within(each, 0, MAX_VERSION, 0)
            elif key in ("static_shape", "known_ranks"):
                entry[key] = self.flag(each)
        return entry

    def _fault(self, node: YamlNode) -> dict[str, Any]:
        """Return one fault of an operator."""
        fields = self.mapping(node, FAULT_KEYS, ("result", "gives"))
        fault = self._values_of(fields, "") | self._since_until(fields)
        for key in NAMES_IN_FAULTS:
            if key in fields:
                fault[key] = [*map(self.name, self._list(fields[key]))]
        for key in ("when", "gives"):
            if key in fields:
                fault[key] = self.phrase(fields[key])
        if "where" in fields:
            fault["where"] = [*map(self._comparison, self._list(fields["where"]))]
        if "captures" in fields:
            fault["captures"] = self.flag(fields["captures"])
        if "states" in fields:
            fault["states"] = {name: self._size(each) for name, each in self.names(fields["states"], "states").items()}
        if "result" in fields:
            fault["result"] = self.choice(fields["result"], [*RESULTS])
        return fault

    def _comparison(self, node: YamlNode) -> str:
        """Return a comparison of an attribute or an element of an input, such as `scales[0] != 1`."""
        text = self.text(node)
        if parse_comparison(text) is None:
            self.report_wrong(node, "a comparison", "write strides > kernel_shape, or scales[0] != 1")
        return text

    def _size(self, node: YamlNode) -> str:
        """Return the words for the size of an input along an axis, such as `R.2`."""
        text = self.name(node)
        if not re.fullmatch(r".+\.\d{1,3}", text):
            self.report_wrong(node, "the size of an input along an axis", "write R.2 for that of R along axis 2")
            return f"{text}.0"
        return text

    def _since_until(self, fields: dict[str, YamlNode]) -> dict[str, str]:
        """Return the first and the last release of an entry, if it names them."""
        span: dict[str, str] = {}
        for key in ("since", "until"):
            if key in fields:
                release = self.text(fields[key])
                if release in self._known:
                    span[key] = release
                elif isinstance(fields[key].value, str):
                    self.report_unknown(fields[key], "release", release, self._known)
        if len(span) == 2 and self._known.index(span["since"]) > self._known.index(span["until"]):
            self.report_wrong(fields["until"], "a release that is not older than 'since'")
        return span

    def _types(self, node: YamlNode) -> Any:
        """Return lists of types by parameter, or one list for the data inputs together."""
        if isinstance(node.value, list):
            return self._type_list(node)
        return {name: self._type_list(each) for name, each in self.names(node, "types").items()}

    def _type_list(self, node: YamlNode) -> list[str]:
        types = [self._type(each) for each in self._list(node)]
        if not types:
            self.report_wrong(node, "a list of at least one type")
        if len(set(types)) < len(types):
            twice = next(type_ for number, type_ in enumerate(types) if type_ in types[:number])
            self.findings.add("S106", f"the type {twice!r} stands here twice", node)
        return types

    def _type(self, node: YamlNode) -> str:
        """Return an element type, or a whole type that is no tensor."""
        text = self.name(node)
        if text and not is_type(text if "(" in text else f"tensor({text})"):
            self.findings.add("S107", f"there is no type {text!r}", node, "write float, or seq(tensor(float))")
        return text

    def _alias(self, node: YamlNode) -> str:
        return self._matching_text(node, _ALIAS, "a name of small letters, or NAME:PROVIDER in quotes")

    def _matching_text(self, node: YamlNode, pattern: re.Pattern[str], wanted: str) -> str:
        """Return text that matches a pattern; else "", and the finding that `wanted` has to stand there."""
        text = self.text(node)
        if isinstance(node.value, str) and not pattern.fullmatch(text):
            self.report_wrong(node, wanted)
            return ""
        return text

    def _span(self, node: YamlNode, open_ends: tuple[bool, bool]) -> list[int | None]:
        """Return [lowest, highest] version; null is no limit, where `open_ends` permits it at the (low, high) end."""
        items = self.items(node)
        if len(items) != 2:
            if isinstance(node.value, list):
                self.report_wrong(node, "a list of the lowest and the highest version")
            return [1, None]
        lowest, highest = (
            None if each.value is None and may_be_open else self.within(each, 1, MAX_VERSION, 1)
            for each, may_be_open in zip(items, open_ends, strict=True)
        )
        if lowest is not None and highest is not None and lowest > highest:
            self.report_wrong(items[1], "a version that is not below the first one")
        return [lowest, highest]

    def _required_value(self, node: YamlNode) -> Any:
        """Return the requirement of an attribute or an input: a value, a list of values, or words."""
        values = node.value if isinstance(node.value, list) else [node]
        if any(isinstance(each.value, (list, dict)) or each.value is None for each in values):
            self.report_wrong(node, "a value, a list of values, or what it has to be in words")
            return ""
        return node.plain()

    def _functions(self, node: YamlNode) -> dict[str, Any]:
        """Return the versions that may run by their function, by domain and operator."""
        return {
            normalize_domain(domain): {
                name: [self.within(one, 1, MAX_VERSION, 1) for one in self._list(listed)]
                for name, listed in self.names(each, "operators").items()
            }
            for domain, each in self.names(node, "domains").items()
        }

    def _list(self, node: YamlNode, most: int = 256, what: str = "entries") -> list[YamlNode]:
        """Return the items of a list, the first `most` if it is longer, with a finding that calls them `what`."""
        items = self.items(node)
        if len(items) > most:
            self.findings.add("S102", f"there are at most {most} {what}", node)
        return [*islice(items, most)]
