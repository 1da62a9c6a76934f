"""Examples of operators: one use each, with the values that go in and come out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from opset.schemas.model import versions_between


class ExampleValue(NamedTuple):
    """A value in an example, as plain data. `type` is spelled as in schemas; only tensors have a `shape`.

    - `tensor(…)`: `content` is the flat list of elements in row-major order; or one element, which all are; or None
      if any values of this shape are right. An element is a bool, a str, an int, a float (ints may stand among
      floats), or for complex numbers a number or text such as `1+2j`.
    - `seq(…)`: a list of values. `optional(…)`: a value, or None if it is empty.
    - `map(…)`: a dict from str or int keys to elements, or to values if the map's value type is a whole type.
    - `sparse_tensor(…)`: {"values": [element, …], "indices": [int, …] or [[int, …], …]}.
    """

    type: str
    content: Any
    shape: tuple[int, ...] | None = None


class Example(NamedTuple):
    """One use of an operator, which holds from version `since` to `until`, or to the newest.

    `attributes` has plain values as its schema's types say: int, float, str, lists of these; an ExampleValue for a
    tensor or sparse_tensor, text for a graph, a type string for a type_proto. None in `inputs` is an absent input, in
    `outputs` one that is not requested. `outputs` is None if the example breaks the constraint labelled `error`.
    `tolerance` is relative and absolute; None stands for the usual one of the element type. `stated` and `chosen` say
    on which ground it stands, as in status.py.
    """

    name: str
    since: int
    until: int | None = None
    doc: str = ""
    stated: str = ""
    chosen: str = ""
    attributes: Mapping[str, Any] = {}
    inputs: tuple[ExampleValue | None, ...] = ()
    outputs: tuple[ExampleValue | None, ...] | None = None
    error: str = ""
    tolerance: float | None = None


def example_versions(example: Example, versions: Iterable[int]) -> list[int]:
    """Return the operator versions in `versions` at which an example holds: from its `since` to its `until`.

    Both are included; an `until` of None stands for no bound.
    """
    return versions_between(versions, example.since, example.until)


def is_random(example: Example) -> bool:
    """Whether an example has a random output: the example states the shape of this output, but no elements."""
    return any(each is not None and each.content is None and each.shape is not None for each in example.outputs or ())


def example_data(example: Example) -> dict[str, Any]:
    """Return an example as plain data, without the fields that have their default."""
    values = {key: getattr(example, key) for key in _EXAMPLE}
    return {key: _plain_data(value) for key, value in values.items() if value != _EXAMPLE[key]}


_EXAMPLE = Example("", 0)._asdict()


def _plain_data(value: Any) -> Any:
    """Return a value in the form that JSON holds: ExampleValues as mappings, tuples as lists, keys as text."""
    if isinstance(value, ExampleValue):
        return {key: _plain_data(getattr(value, key)) for key in ("type", "content", "shape")}
    if isinstance(value, dict):
        return {str(key): _plain_data(each) for key, each in value.items()}
    return [_plain_data(each) for each in value] if isinstance(value, (list, tuple)) else value


def make_examples(examples: dict[str, Any], domain: str, name: str) -> tuple[Example, ...]:
    """Return the examples of an operator from compiled examples, in the order of its file; () if it has none."""
    found = []
    for data in examples["operators"].get(domain, {}).get(name, ()):
        attributes = {key: _make_value(each) for key, each in data.get("attributes", {}).items()}
        values = {side: tuple(map(_make_value, data[side])) for side in ("inputs", "outputs") if side in data}
        found.append(Example(**{**data, "attributes": attributes, **values}))
    return tuple(found)


def _make_value(data: Any) -> Any:
    """Return an attribute or value of an example from plain data, which was read from JSON.

    Each mapping with type, content and shape becomes an ExampleValue, at any depth of lists; other values stay.
    """
    if isinstance(data, list):
        return [_make_value(each) for each in data]
    if not isinstance(data, dict):
        return data
    type_, content, shape = data["type"], data["content"], data["shape"]
    if type_.startswith("map("):
        key_of = str if type_.startswith("map(string") else int
        content = {key_of(key): _make_value(each) for key, each in content.items()}
    elif not type_.startswith(("tensor(", "sparse_tensor(")):
        content = _make_value(content)
    return ExampleValue(type_, content, None if shape is None else tuple(shape))
