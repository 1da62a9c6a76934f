"""Reads the examples of an operator file, which hold for the operator's versions from `since` to `until`.

examples:
- name: plain
  since: 13
  until: 14                            left out if it holds to the newest version
  doc: ...
  stated: 13 attribute axis            the clause of the standard that says so; or chosen, and why: see status.py
  attributes: {axis: 0, body: "..."}   a tensor as a value below, a type as text, a graph in ONNX text syntax, which
                                       is printed as a literal block with a node a line
  inputs: [{float: [[1, 2], [3, 4]]}, null]          null: absent, or an output that is not requested
  outputs: [{float: [[0.1, 0.2], [0.3, 0.4]]}]
  tolerance: 1e-3                      if the usual one of the element type is not apt
- {name: other, like: plain, attributes: {axis: 1}}          all else is that of an example above: see likeness.py
- {name: wrong_axis, since: 13, attributes: {axis: 2}, inputs: [...], error: C1}    the constraint that it breaks

A value has one type and its content:
  {float: [[1, 2], [3, 4]]}, {float: 1.5}            a tensor as nested lists, a scalar
  {float: [], shape: [0, 3]}                         a flat list in this shape
  {float: 1.5, shape: [2, 3]}                        one element everywhere
  {float: 0..23, shape: [2, 3, 4]}                   0, 1, ... 23; without shape in one dimension
  {float: null, shape: [2, 3]}                       an output: any values of this shape
  {seq(float): [[1, 2], {value: 1.5, shape: [2]}]}   items are contents
  {optional(float): null}, {optional(float): [1]}    nothing, or a content
  {"map(int64, float)": {"1": 0.5}}                  keys are text or integers
  {float: [5, 6], indices: [0, 7], shape: [10]}      a sparse tensor, as an attribute
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any

from opset.model.elements import NUMBERS
from opset.schemas.documentation import Docs
from opset.schemas.example import Example, ExampleValue, example_versions
from opset.schemas.model import SIGNATURE, UNBOUNDED, OpSchema
from opset.schemas.names import advise_name
from opset.schemas.type_sets import expand
from opset.schemas.yaml.likeness import Likeness
from opset.schemas.yaml.reader import Findings, YamlNode

MAX_DIMENSION = 2**20
MAX_RANK = 32

_KEYS = (*Example._fields, "like")
_NAME = re.compile(r"[A-Za-z0-9_]{1,80}")
_COUNT = re.compile(r"(-?[0-9]{1,19})\.\.(-?[0-9]{1,19})")
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,19}")
_COMPLEX = re.compile(r"[-+0-9.einfaj]{1,80}")
_LARGE = {"double": math.inf, "float": 3.4e38, "bfloat16": 3.3e38, "float16": 65_504}
_SMALLEST_LIMIT = 6
"""Numbers up to which each type of floats, and any other one, has no bound."""
_DECLARE = "declare the signature, and remove 'unknown'"
"""The advice on an example of a version whose signature is not known."""
_HOLDS = "an example holds for all versions from 'since' to 'until'"
"""The advice on an example that does not fit one of its versions."""


class Examples(Likeness):
    """Reads the examples of one operator from YAML nodes; faults become findings.

    Each method may raise SchemaError: after MAX_FINDINGS findings, or if the budget of work is used up.
    """

    def __init__(
        self, findings: Findings, schemas: Sequence[OpSchema], docs: Sequence[Docs], broken: Collection[int] = ()
    ) -> None:
        """Take the versions of the operator, with which examples are compared.

        Args:
            findings: Gets the faults of examples.
            schemas: The versions of the operator.
            docs: The prose of the versions, in the same order.
            broken: The since_versions of versions with faults, with which examples are not compared.
        """
        super().__init__(findings)
        self.broken = broken
        self.schemas = {schema.since_version: schema for schema in schemas}
        self.constraints = {schema.since_version: each.constraints for schema, each in zip(schemas, docs, strict=True)}
        self.required = {
            since: [each.name for each in schema.attributes.values() if each.required]
            for since, schema in self.schemas.items()
        }
        self.complete: dict[str, dict[str, YamlNode]] = {}
        """The keys of the examples above by name, with the keys that each takes over by `like`."""

    def read(self, node: YamlNode) -> tuple[Example, ...]:
        """Return the examples in a YAML list; faults are added as findings.

        Of examples with the same name, which is a fault, only the last one is returned.
        """
        examples: dict[str, Example] = {}
        for each in self.items(node):
            example = self.example(each)
            if example.name and example.name in examples:
                self.findings.add("S106", f"the example {example.name!r} is duplicate", each.value["name"])
            examples[example.name] = example
        return tuple(examples.values())

    def example(self, node: YamlNode) -> Example:
        """Return one example; faults are added as findings, and parts with faults have their default or a substitute.

        It is a fault, too, if the example does not fit the signature of a version for which it holds.
        """
        fields = self.inherit_keys(self.mapping(node, _KEYS, ("name",)))
        name = self.name(fields.get("name"))
        if name and not _NAME.fullmatch(name):
            self.report_wrong(fields["name"], "a name of at most 80 letters, digits and _")
        since, until = self.span(fields, self.schemas)
        if "outputs" in fields and "error" in fields:
            at = node.keys.get("error", node)
            help = "write null for the one of the example that it is like" if "like" in fields else ""
            self.findings.add("S103", "an example has outputs or an error, not both", at, help)
        elif isinstance(node.value, dict) and not {"outputs", "error"} & fields.keys():
            help = "or 'error': the constraint that it breaks"
            self.findings.add("S104", "the key 'outputs' is missing", node, help)
        if "since" not in fields and isinstance(node.value, dict):
            self.findings.add("S104", "the key 'since' is missing", node)
        if "tolerance" in fields and "outputs" not in fields:
            self.findings.add("S103", "'tolerance' belongs to outputs", node.keys.get("tolerance", node))
        outputs = self.values(fields["outputs"], unknown=True) if "outputs" in fields else None
        stated, chosen = self.grounds(fields)
        example = Example(
            name=name,
            since=since or 0,
            until=until,
            doc=self.text(fields.get("doc")),
            stated=stated,
            chosen=chosen,
            inputs=self.values(fields["inputs"]) if "inputs" in fields else (),
            outputs=None if "error" in fields else outputs,
            error=self.name(fields.get("error")),
            tolerance=self.tolerance(fields["tolerance"]) if "tolerance" in fields else None,
        )
        known = [each for each in self.schemas if each not in self.broken]
        versions = [self.schemas[each] for each in example_versions(example, known)] if since else []
        self.findings.charge(len(versions), node)
        example = example._replace(attributes=self.attributes(node, fields.get("attributes"), versions))
        if example.error:
            self.check_label(fields["error"], example.error, versions)
        else:
            self.check_signature(node, fields, example, versions)
        return example

    def inherit_keys(self, fields: dict[str, YamlNode]) -> dict[str, YamlNode]:
        """Return all keys of an example: its own, and the keys inherited from the earlier example that `like` names.

        If no earlier example has this name, a finding is added, and only the example's own keys are returned. The
        result is stored in `self.complete` by the example's name, since later examples may be `like` this one.
        """
        like = self.name(fields.get("like"))
        if like in self.complete:
            fields = self.complete_example(fields, self.complete[like])
        elif like:
            self.report_unknown(fields["like"], "example above", like, self.complete)
        if name := self.name(fields.get("name")):
            self.complete[name] = fields
        return fields

    def tolerance(self, node: YamlNode) -> float:
        """Return the number at a node; if it is negative, infinite or no number, add a finding and return 0.0."""
        value = node.value
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf:
            return float(value)
        self.report_wrong(node, "a number that is not negative")
        return 0.0

    def check_label(self, node: YamlNode, label: str, versions: Sequence[OpSchema]) -> None:
        """Add a finding if a version has no constraint `label`; only the first such version is named.

        `node` is the YAML node of the label, at the key `error` of an example.
        """
        for schema in versions:
            known = self.constraints[schema.since_version]
            if label not in known:
                message = f"version {schema.since_version} has no constraint {label!r}"
                self.findings.add("S107", message, node, advise_name(label, known))
                return

    def check_signature(
        self, node: YamlNode, fields: dict[str, YamlNode], example: Example, versions: Sequence[OpSchema]
    ) -> None:
        """Add a finding if an example's inputs do not fit a version, in number or type; likewise for its outputs.

        Only the first version that does not fit is named. The place of the finding is the key `inputs` or `outputs` in
        `fields`, the keys of the example. If this key is missing, the place is `node`, the example itself.
        """
        for side, values in (("input", example.inputs), ("output", example.outputs or ())):
            at = fields.get(f"{side}s", node)
            self.findings.charge(len(values) * len(versions), at)
            any(self.report_misfit(at, side, values, schema) for schema in versions)

    def report_misfit(self, at: YamlNode, side: str, values: Sequence[ExampleValue | None], schema: OpSchema) -> bool:
        """Return whether values misfit the inputs, or outputs, of a version in number or type; if so, add a finding.

        Absent values (None) fit any input or output. `side` is "input" or "output", `at` the YAML node of the values.
        """
        since, parameters = schema.since_version, getattr(schema, f"{side}s")
        if schema.unknown == SIGNATURE and values:
            self.findings.add("S105", f"the {side}s of version {since} are not known", at, _DECLARE)
            return True
        least, most = getattr(schema, f"min_{side}"), getattr(schema, f"max_{side}")
        if not least <= len(values) <= most:
            count = f"{least}" if least == most else f"at least {least}" if most == UNBOUNDED else f"{least} to {most}"
            self.findings.add("S105", f"version {since} has {count} {side}s, not {len(values)}", at)
            return True
        for index, value in enumerate(values):
            parameter = parameters[min(index, len(parameters) - 1)]
            allowed = schema.allowed_types(parameter)
            if value is not None and value.type not in allowed and (allowed or not schema.unknown):
                help = _HOLDS
                message = f"{parameter.name} cannot be {value.type} at version {since}"
                self.findings.add("S105", message, at.value[index], help)
                return True
        return False

    # Attributes.

    def attributes(self, example: YamlNode, node: YamlNode | None, versions: Sequence[OpSchema]) -> dict[str, Any]:
        """Return the values of an example's attributes by name.

        An attribute that one of the versions does not have is left out, with a finding. For each attribute that a
        version requires and that is missing, a finding is added, too.

        Args:
            example: The YAML node of the example.
            node: The YAML node of its attributes, None if it has none.
            versions: The versions for which the example holds.
        """
        values: dict[str, Any] = {}
        given = {} if node is None else self.mapping(node)
        required = [name for schema in versions for name in self.required[schema.since_version]]
        self.findings.charge(len(given) * len(versions) + len(required), example)
        for name, each in given.items():
            for schema in versions:
                if name not in schema.attributes:
                    message = f"version {schema.since_version} has no attribute {name!r}"
                    having = [each.since_version for each in versions if name in each.attributes]
                    help = advise_name(name, schema.attributes)
                    if having:
                        before = [each for each in having if each < schema.since_version]
                        help = f"{_HOLDS}: {f'until: {before[-1]}' if before else f'since: {having[0]}'}"
                    if schema.unknown == SIGNATURE:
                        message, help = f"the attributes of version {schema.since_version} are not known", _DECLARE
                    assert node is not None
                    self.findings.add("S107", message, node.keys[name], help)
                    break
            else:
                for type_ in sorted({schema.attributes[name].type for schema in versions}):
                    values[name] = self.attribute(each, type_)
        for name in dict.fromkeys(required):
            if name not in given:
                self.findings.add("S104", f"the attribute {name!r} is missing", node or example)
        return values

    def attribute(self, node: YamlNode, type_: str) -> Any:
        """Return the value of an attribute from its YAML node; `type_` is the type of the attribute, such as "ints".

        A tensor is an ExampleValue. A graph is text, and so is a type, such as "tensor(float)". For a type of several
        values, such as "ints", the result is a list. If the YAML is wrong, a finding is added, and a substitute such as
        0, "" or None is returned.
        """
        if type_.endswith("s"):
            return [self.attribute(each, type_[:-1]) for each in self.items(node)]
        if type_ == "tensor":
            return self.read_content(node)
        if type_ == "sparse_tensor":
            return self.sparse(node)
        if type_ == "graph":
            return self.phrase(node)
        if type_ == "type_proto":
            return self.type(node)
        value = self.value(node, type_)
        return float(node.value) if type_ == "float" and isinstance(node.value, int | float) else value

    # Values.

    def values(self, node: YamlNode, unknown: bool = False) -> tuple[ExampleValue | None, ...]:
        """Return the values in a YAML list, such as the inputs of an example; null is an absent value and gives None.

        For a wrong value, a finding is added. The result then has None in its place, or a value in which the wrong
        elements are replaced.

        `unknown` says whether a tensor may leave its elements open, as {float: null, shape: [2]} does.
        """
        return tuple(None if each.value is None else self.read_content(each, unknown) for each in self.items(node))

    def read_content(self, node: YamlNode, unknown: bool = False) -> ExampleValue | None:
        """Return the value that a mapping {TYPE: CONTENT} stands for, such as {float: [1, 2]}.

        Each fault is added as a finding. The result is None if no type can be read, or if it is the type of a sparse
        tensor. Wrong elements of a tensor are replaced by substitutes.

        A tensor with a shape may have null as its content, if `unknown` is True: the example then says nothing about
        the elements.
        """
        fields = self.mapping(node)
        key = self.type_key(node, fields, ("shape",))
        if key is None:
            return None
        type_ = self.type(node.keys[key])
        if "shape" in fields and not type_.startswith("tensor("):
            help = "write {value: …, shape: …} for a tensor inside"
            self.findings.add("S103", "'shape' belongs to a tensor", node.keys["shape"], help)
        elif type_.startswith("tensor("):
            return self.tensor(fields[key], type_, fields.get("shape"), unknown)
        return self.content(fields[key], type_, unknown)

    def type_key(self, node: YamlNode, fields: dict[str, YamlNode], others: Sequence[str]) -> str | None:
        """Return the key of a value's mapping that names its type: the only key in `fields` that is not in `others`.

        If there is no such key, or more than one, add a finding about `node`, the mapping, and return None.
        """
        keys = [key for key in fields if key not in others]
        if len(keys) == 1:
            return keys[0]
        if isinstance(node.value, dict):
            self.report_wrong(node, "one type with its content, such as {float: [1, 2]},")
        return None

    def type(self, node: YamlNode) -> str:
        """Return the type that a node names, as schemas spell it: "tensor(float)" for `float`.

        If there is no such type, add a finding and return "".
        """
        text = self.text(node)
        try:
            (type_,) = expand(text, {})
        except KeyError:
            self.report_unknown(node, "type", text, NUMBERS)
            return ""
        return type_

    def content(self, node: YamlNode, type_: str, unknown: bool) -> ExampleValue | None:
        """Return the value of type `type_` that a node stands for, such as a list for "seq(tensor(float))".

        If the node is wrong, a finding is added, and None or a value with substitutes is returned. A sparse tensor is
        wrong here. An unknown type gives None without a finding. If `unknown`, null may stand for all elements of a
        tensor with a shape: the example leaves them open.
        """
        kind, _, inner = type_.removesuffix(")").partition("(")
        if kind == "tensor" and isinstance(node.value, dict):
            fields = self.mapping(node, ("value", "shape"), ("value",))
            return self.tensor(fields["value"], type_, fields.get("shape"), unknown) if "value" in fields else None
        if kind == "tensor":
            return self.tensor(node, type_, None, unknown)
        if kind == "seq":
            return ExampleValue(type_, [self.content(each, inner, unknown) for each in self.items(node)])
        if kind == "optional":
            return ExampleValue(type_, None if node.value is None else self.content(node, inner, unknown))
        if kind == "map":
            keys, _, values = inner.partition(", ")
            entries = self.mapping(node)
            content = {
                self.map_key(node.keys[key], keys): (
                    self.element(each, values) if values in NUMBERS else self.content(each, values, unknown)
                )
                for key, each in entries.items()
            }
            return ExampleValue(type_, content)
        if kind == "sparse_tensor":
            self.report_wrong(node, "a value that is not sparse")
        return None

    def map_key(self, node: YamlNode, element: str) -> str | int:
        """Return the key of a map: a str if `element`, the type of its keys, is "string", else an int.

        If the key should be an int, but is no integer of the type `element`, a finding is added and 0 is returned.
        """
        text = str(node.value)
        if element == "string":
            return text
        if not _WHOLE.fullmatch(text):
            self.report_wrong(node, f'a key of type {element}, such as "1",')
            return 0
        key: int = self.element(YamlNode(int(text), node.line, node.column), element)
        return key

    def sparse(self, node: YamlNode) -> ExampleValue | None:
        """Return the sparse tensor that a mapping describes, such as {float: [5, 6], indices: [0, 7], shape: [10]}.

        If a key is missing, a finding is added and None is returned. The same holds if there is not one index for each
        element. An element that the type does not have, such as 300 in int8, is a finding; 0 takes the place of 300.
        """
        fields = self.mapping(node, required=("indices", "shape"))
        key = self.type_key(node, fields, ("indices", "shape"))
        if key is None or not {"indices", "shape"} <= fields.keys():
            return None
        type_ = self.type(node.keys[key])
        values = self.tensor(fields[key], type_, None) if type_.startswith("tensor(") else None
        indices = self.tensor(fields["indices"], "tensor(int64)", None)
        shape = self.shape(fields["shape"])
        if values is None or values.shape is None or len(values.shape) != 1:
            self.report_wrong(fields[key], "a list of elements")
        elif indices.shape not in (values.shape, (*values.shape, len(shape))):
            self.report_wrong(fields["indices"], "one index, or one list of indices, for each element")
        else:
            indices = fields["indices"].plain()
            return ExampleValue(f"sparse_{type_}", {"values": values.content, "indices": indices}, shape)
        return None

    # Tensors.

    def tensor(self, node: YamlNode, type_: str, shape: YamlNode | None, unknown: bool = False) -> ExampleValue:
        """Return a tensor of type `type_`; for wrong elements or a wrong number of them, add a finding.

        Wrong elements are replaced by substitutes.

        Args:
            node: The elements: a scalar or nested lists. With a `shape`, they are a flat list, or one element for all.
                A count such as `0..23` stands for the numbers from 0 to 23.
            type_: The type, such as "tensor(float)".
            shape: The YAML node of the shape; None if the nesting of the lists is the shape.
            unknown: Whether null may stand for all elements of a tensor with a `shape`: the example leaves them open.
        """
        element = type_[len("tensor(") : -1]
        wanted = None if shape is None else self.shape(shape)
        count = _COUNT.fullmatch(node.value) if isinstance(node.value, str) and element != "string" else None
        own: tuple[int, ...] = ()
        content: Any = None
        if node.value is None:
            if not unknown or shape is None:
                help = "an output may leave them open, with a shape" if unknown else ""
                self.report_wrong(node, "the elements", help)
        elif isinstance(node.value, list):
            nodes, own = self.flatten(node)
            content = [self.element(each, element) for each in nodes]
        elif count:
            content = self.read_count(node, element, int(count[1]), int(count[2]))
            own = (len(content),)
        else:
            content = self.element(node, element)
        if wanted is None:
            return ExampleValue(type_, content, own)
        if own == ():
            self.findings.charge(math.prod(wanted), node)
        elif len(own) != 1:
            self.report_wrong(node, "a flat list, since the shape is said,")
        elif own[0] != math.prod(wanted):
            self.findings.add("S105", f"{own[0]} elements do not make the shape {list(wanted)}", shape)
        return ExampleValue(type_, content, wanted)

    def flatten(self, node: YamlNode) -> tuple[list[YamlNode], tuple[int, ...]]:
        """Return the elements of nested lists in row-major order, and the shape: (2, 3) for two lists of three.

        A node that is no list gives ([node], ()). If lists of one level have different lengths, or if something else
        stands beside a list, a finding is added and the result is ([], (0,)), as for an empty list.
        """
        level, shape = [node], list[int]()
        while level and isinstance(level[0].value, list):
            length = len(level[0].value)
            for each in level:
                if not isinstance(each.value, list) or len(each.value) != length:
                    self.report_wrong(each, f"a list of {length}, as beside it,")
                    return [], (0,)
            shape.append(length)
            level = [inner for each in level for inner in each.value]
        return level, tuple(shape)

    def read_count(self, node: YamlNode, element: str, first: int, last: int) -> list[Any]:
        """Return the whole numbers from `first` to `last`, both included.

        If `last` is smaller than `first`, add a finding and return []. If the type `element` cannot hold one of the
        numbers, add a finding and return the numbers nevertheless.
        """
        if last < first:
            self.report_wrong(node, "a count that goes up")
            return []
        self.findings.charge(last - first + 1, node)
        for end in {first, last}:
            self.element(YamlNode(end, node.line, node.column), element)
        return list(range(first, last + 1))

    def shape(self, node: YamlNode) -> tuple[int, ...]:
        """Return the sizes in a YAML list.

        If there are more than MAX_RANK sizes, or a size is not from 0 to MAX_DIMENSION, add a finding and return (). An
        item that is no whole number counts as 0, with a finding.
        """
        shape = tuple(self.number(each) for each in self.items(node))
        if len(shape) > MAX_RANK or not all(0 <= each <= MAX_DIMENSION for each in shape):
            self.report_wrong(node, f"at most {MAX_RANK} dimensions from 0 to {MAX_DIMENSION}")
            return ()
        return shape

    @staticmethod
    def _is_within(value: float, element: str) -> bool:
        """Whether a number is in the range of `element`, an element type of floats; True for NaN and infinities."""
        from opset.model.storage.encoding import encode  # which few examples need

        if not math.isfinite(value) or element not in NUMBERS:
            return True
        try:
            encode(NUMBERS[element], [value])
        except (struct.error, OverflowError, ValueError):
            return False
        return True

    def element(self, node: YamlNode, element: str) -> Any:
        """Return one element of a tensor or map from its YAML node; `element` is its type, such as "int8".

        If the type does not have this element, a finding is added, and the result, such as 0 or None, is of no use.
        """
        value = node.value
        if element == "string":
            return self.text(node)
        if element == "bool":
            return self.flag(node)
        if "int" in element:
            bits = int(element.rpartition("int")[2])
            low, high = (0, 2**bits) if element.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1))
            return self.within(node, low, high - 1, 0)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if abs(value) > _LARGE.get(element, _SMALLEST_LIMIT) and not self._is_within(value, element):
                self.report_wrong(node, f"a number in the range of {element}", "infinity is written .inf or -.inf")
            return value
        if element.startswith("complex") and isinstance(value, str) and _COMPLEX.fullmatch(value):
            with suppress(ValueError):
                complex(value)
                return value
        self.report_wrong(node, 'a number such as "1+2j"' if element.startswith("complex") else "a number")
        return None
