"""Graphs as text of the onnx package, in which calls may stand within calls, and constants for themselves.

`v = Reshape(p, Concat<axis=0>(Gather(Shape(p), [0]), [-1]))` is five nodes and a value of a name: a number is a
Constant of int64 or, with a point or an exponent, of float; `[0]` is a vector, and `uint8 {3}` any other constant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

__all__ = ["Sketch", "flatten"]

Shape = tuple[int, ...]
NAMES = re.compile(r'\s*((?:\w+|"")(?:, (?:\w+|""))*) = ')
CONSTANT = re.compile(r"(?P<stated>\w+(\[\d+\])? \{[^}]*\})|(?P<vector>\[[^\]]*\])|(?P<number>-?\d[\w.+-]*)")
OPERATOR = re.compile(r'""|[\w.]*')


@dataclass(frozen=True)
class Sketch:
    """A graph, whose name ends with its opset, inputs, weights, what else is imported (`"ai.onnx.ml": 1`), functions.

    `weights` are initializers drawn at random, by shape; so are `feeds` that are a shape, others are given as they are.
    """

    text: str
    feeds: Mapping[str, Any]
    weights: Mapping[str, Shape] = field(default_factory=dict)
    imports: str = ""
    functions: str = ""

    @property
    def name(self) -> str:
        """The name of the graph."""
        return self.text.partition(" ")[0]

    @property
    def opset(self) -> int:
        """The opset that the name ends with."""
        return int(self.name.rpartition("_opset")[2])


def flatten(text: str, numbers: Iterator[int] | None = None) -> str:
    """Return the text of graphs and functions with one node for each call and each constant."""
    numbers = numbers or count()
    parts, at = [], 0
    while (arrow := text.find("=>", at)) >= 0:
        start = _end(text, arrow + 2, "{") + 1
        end = _end(text, start, "}")
        parts.append(text[at:start])
        place = start
        while text[place:end].strip():
            names = NAMES.match(text, place)
            assert names, text[place:end]
            _, place = _value(text, names.end(), parts, numbers, names[1])
        at = end
    return "".join(parts) + text[at:]


def _end(text: str, at: int, stop: str) -> int:
    """Return the place of the next character of a kind that stands in no brackets and no string."""
    depth, quoted = 0, False
    while depth or quoted or text[at] not in stop or text[at - 1 : at + 1] == "=>":
        quoted ^= text[at] == '"'
        if not quoted and text[at - 1 : at + 1] != "=>":
            depth += (text[at] in "<([{") - (text[at] in ">)]}")
        at += 1
    return at


def _value(text: str, at: int, nodes: list[str], numbers: Iterator[int], names: str = "") -> tuple[str, int]:
    """Add the nodes of an expression; return the name of its value, and the place behind it."""
    if constant := CONSTANT.match(text, at):
        names = names or f"Constant_{next(numbers)}"
        nodes.append(f"\n{names} = Constant<value={_tensor(constant)}>()")
        return names, constant.end()
    operator = OPERATOR.match(text, at)
    assert operator, text[at:]
    at, attributes, arguments = operator.end(), "", list[str]()
    if text[at] == "<":
        end = _end(text, at + 1, ">")
        attributes, at = f"<{flatten(text[at + 1 : end], numbers)}>", end + 1
    elif text[at] != "(":
        return operator[0], at
    at = _skip(text, at + 1)
    while text[at] != ")":
        name, at = _value(text, at, nodes, numbers)
        arguments.append(name)
        at = _skip(text, at + (text[at] == ","))
    names = names or f"{operator[0].rpartition('.')[2]}_{next(numbers)}"
    nodes.append(f"\n{names} = {operator[0]}{attributes}({', '.join(arguments)})")
    return names, at + 1


def _skip(text: str, at: int) -> int:
    """Return the place of the next character that is no white space."""
    return at + len(text[at:]) - len(text[at:].lstrip())


def _tensor(constant: re.Match[str]) -> str:
    """Return a constant as the onnx package writes it."""
    text = constant[0]
    if constant["stated"]:
        return text
    element = "float" if re.search(r"[.e]", text) else "int64"
    return f"{element}[{text.count(',') + 1}] {{{text[1:-1]}}}" if constant["vector"] else f"{element} {{{text}}}"
