"""The Python API page: every public name with its signature and what its docstring says."""

import importlib.util
import re
import sys

import pytest

from opset.docgen import api
from opset.docgen import markup as text
from opset.errors import CODES


@pytest.fixture(scope="module")
def sections():
    return api.api_page()


@pytest.fixture(scope="module")
def entries(sections):
    """All entries and members by anchor."""
    found = [entry for section in sections for entry in section.entries]
    everything = [*found, *(member for entry in found for member in entry.members)]
    assert len({entry.anchor for entry in everything}) == len(everything)
    return {entry.anchor: entry for entry in everything}


def test_every_public_name_is_there_once():
    for module, topics in api.TOPICS.items():
        assert sorted(name for names in topics.values() for name in names.split()) == sorted(module.__all__)


def test_every_entry_says_what_it_is(entries):
    assert [anchor for anchor, entry in entries.items() if not entry.doc.strip()] == []
    assert not [entry for entry in entries.values() if re.search(r"0x[0-9a-f]+|<|Ellipsis|typing\.", entry.signature)]
    assert max(len(line) for entry in entries.values() for line in entry.signature.split("\n")) < 120


def test_signatures(entries):
    assert entries["opset.get_schema"].signature.split("\n") == [
        "get_schema(",
        "    op_type: str,",
        "    max_inclusive_version: int | str | None = None,",
        "    domain: str | int = '',",
        ") -> OpSchema",
    ]
    assert entries["opset.to_text"].signature == "to_text(source: Any, *, limit: int | None = None) -> str"
    assert entries["opset.Inference.coverage"].signature == "coverage: dict[str, int]"
    assert entries["opset.Registry.operators"].signature == "operators(domain: str = '') -> list[str]"
    assert entries["opset.extend.Size"].signature == "Size = Union[int, Dim]"
    assert entries["opset.Model"].signature == "Model" and "opset.Model.save" in entries


def test_members_are_listed_where_they_are_defined(entries):
    assert "opset.OpsetError.finding_list" in entries and "opset.ModelError.finding_list" not in entries


def test_docstrings_are_markdown(entries, sections):
    load = text.html(entries["opset.load"].doc)
    assert '<p class="heading">Parameters</p>\n<ul>\n<li><code>source</code>: ' in load
    assert '<li><a href="#opset.ModelError">ModelError</a>: <a href="errors/M101.html">M101</a> if ' in load
    assert '<a href="errors/U105.html">U105</a>' in text.html(entries["opset.get_schema"].doc)
    assert '<a href="#opset.extend.infer"><code>infer</code></a>' in text.html(entries["opset.extend.data"].doc)
    assert "`data`" in entries["opset.extend.registry_with"].doc  # a parameter, not the function
    assert "├── RunError" in next(section.doc for section in sections if section.title == "Errors")


def test_links_lead_to_what_is_there(entries, sections):
    docs = [entry.doc for entry in entries.values()] + [section.doc for section in sections]
    targets = {target for doc in docs for target in re.findall(r"\]\(([^)]*)\)", doc)}
    anchors = {f"#{anchor}" for anchor in entries}
    assert len(targets) > 20
    assert targets <= anchors | {f"errors/{code}.html" for code in CODES}


SHAPES = '''"""Shapes."""
from functools import cached_property
from collections.abc import Callable
from typing import Any, NamedTuple, Union
import pathlib

Length = Union[int, "Circle"]
"""A length, see `Circle`."""
Lengths: Any = Callable[[Length], pathlib.Path] | None
Area = "Length | Circle"
LIMIT: int = len("abc")
"""The greatest `LIMIT`.

    of `Circle` in code

It is low.
"""
UNKNOWN = object()
other, LIMITS = 1, 2
LIMITS = [3]


class _Base:
    """What nobody sees."""

    def __init__(self, size: int) -> None:
        """`size` is that of all.
        Nothing is made."""

    def grown(self, by: "Length" = 1, /, *more: int, exact=False, **others: str) -> "_Base":
        """Grow it.

        `by` is how much.
        `more` are others.
        """

    @property
    def size(self) -> pathlib.Path:
        """Its size."""

    def hidden(self): ...

    def fill(self, paint: str, *more: int) -> str:
        """Fill it. Raises S101.

        Args:
            paint: The color: `hidden` is none.
                `Circle` takes them all:

                - "red"
            *more: Numbers.

        Returns:
            The color of
            `Circle`.

        Yields:
            Nothing.
        Raises:
            ModelError: if S101 holds.

        Args are over.
            It is `Circle`.
        """


class Shape(_Base):
    """A shape. Raises S101 and `S102`, or ModelError; no `X`.
    Raises ConversionError, too.
    It is `Shape`.
    """

    kind = "shape"

    def _private(self): ...

    @classmethod
    def made(cls, text: str = "a b", *, limit: float = ...) -> "Shape":
        """Make one; `Circle` is another, `text` is what it is."""

    @staticmethod
    def none(anything=UNKNOWN, /, *, Circle: int, **others):
        """Make none of `Circle`."""


class Circle(Shape):
    """A circle."""

    def grown(self) -> None:
        """Grow it."""

    @cached_property
    def area(self) -> "Length":
        """Its area."""


class Model(Shape):
    """One that is made."""

    def __init__(self, size: int) -> None:
        """Nobody reads this."""


class Point(NamedTuple):
    """A point."""

    x: int
    y: int = 0


class Plain(ValueError):
    """An error without a constructor."""


def shape_that_has_a_long_name(first: int, second: str = "", third: "Length | None" = None, *rest: int, a: int = 1):
    """Return it."""


def shape_t(first: int, second: str = "", *, third: "Length | None" = None, x: int = 0) -> int:
    """Return what has a signature of 88 characters."""


def shape_ts(first: int, second: str = "", *, third: "Length | None" = None, x: int = 0) -> int:
    """Return what has a signature of 89 characters."""
'''

SHOWN = """\
## opset.shapes: Shapes of things (opset.shapes-shapes-of-things)
opset.shapes.Shape class
  Shape(size: int)
  |A shape. Raises [S101](errors/S101.html) and [`S102`](errors/S102.html), or [ModelError](#opset.ModelError); no `X`.
  |
  |Raises [ConversionError](#opset.ConversionError), too.
  |It is [`Shape`](#opset.shapes.Shape).
    opset.shapes.Shape.made method
      made(text: str = 'a b', *, limit: float = ...) -> Shape
      |Make one; [`Circle`](#opset.shapes.Circle) is another, `text` is what it is.
    opset.shapes.Shape.none method
      none(anything=..., /, *, Circle: int, **others)
      |Make none of `Circle`.
    opset.shapes.Shape.grown method
      grown(by: Length = 1, /, *more: int, exact=False, **others: str) -> _Base
      |Grow it.
      |
      |`by` is how much.
      |
      |`more` are others.
    opset.shapes.Shape.size property
      size: Path
      |Its size.
    opset.shapes.Shape.hidden method
      hidden()
      |
    opset.shapes.Shape.fill method
      fill(paint: str, *more: int) -> str
      |Fill it. Raises [S101](errors/S101.html).
      |
      |#### Parameters
      |
      |- `paint`: The color: `hidden` is none.
      |  [`Circle`](#opset.shapes.Circle) takes them all:
      |
      |  - "red"
      |- `*more`: Numbers.
      |
      |#### Returns
      |
      |The color of
      |[`Circle`](#opset.shapes.Circle).
      |
      |#### Yields
      |
      |Nothing.
      |#### Raises
      |
      |- [ModelError](#opset.ModelError): if [S101](errors/S101.html) holds.
      |
      |Args are over.
      |    It is `Circle`.
opset.shapes.Circle class
  Circle(size: int)
  |A circle.
    opset.shapes.Circle.grown method
      grown() -> None
      |Grow it.
    opset.shapes.Circle.area property
      area: Length
      |Its area.
    opset.shapes.Circle.size property
      size: Path
      |Its size.
    opset.shapes.Circle.hidden method
      hidden()
      |
    opset.shapes.Circle.fill method
      fill(paint: str, *more: int) -> str
      |Fill it. Raises [S101](errors/S101.html).
      |
      |#### Parameters
      |
      |- `paint`: The color: `hidden` is none.
      |  [`Circle`](#opset.shapes.Circle) takes them all:
      |
      |  - "red"
      |- `*more`: Numbers.
      |
      |#### Returns
      |
      |The color of
      |[`Circle`](#opset.shapes.Circle).
      |
      |#### Yields
      |
      |Nothing.
      |#### Raises
      |
      |- [ModelError](#opset.ModelError): if [S101](errors/S101.html) holds.
      |
      |Args are over.
      |    It is `Circle`.
opset.shapes.Model class
  Model
  |One that is made.
    opset.shapes.Model.grown method
      grown(by: Length = 1, /, *more: int, exact=False, **others: str) -> _Base
      |Grow it.
      |
      |`by` is how much.
      |
      |`more` are others.
    opset.shapes.Model.size property
      size: Path
      |Its size.
    opset.shapes.Model.hidden method
      hidden()
      |
    opset.shapes.Model.fill method
      fill(paint: str, *more: int) -> str
      |Fill it. Raises [S101](errors/S101.html).
      |
      |#### Parameters
      |
      |- `paint`: The color: `hidden` is none.
      |  [`Circle`](#opset.shapes.Circle) takes them all:
      |
      |  - "red"
      |- `*more`: Numbers.
      |
      |#### Returns
      |
      |The color of
      |[`Circle`](#opset.shapes.Circle).
      |
      |#### Yields
      |
      |Nothing.
      |#### Raises
      |
      |- [ModelError](#opset.ModelError): if [S101](errors/S101.html) holds.
      |
      |Args are over.
      |    It is `Circle`.
opset.shapes.Point class
  Point(x: int, y: int = 0)
  |A point.
opset.shapes.Plain class
  Plain
  |An error without a constructor.
opset.shapes.shape_that_has_a_long_name function
  shape_that_has_a_long_name(
      first: int,
      second: str = '',
      third: Length | None = None,
      *rest: int,
      a: int = 1,
  )
  |Return it.
opset.shapes.shape_t function
  shape_t(first: int, second: str = '', *, third: Length | None = None, x: int = 0) -> int
  |Return what has a signature of 88 characters.
opset.shapes.shape_ts function
  shape_ts(
      first: int,
      second: str = '',
      *,
      third: Length | None = None,
      x: int = 0,
  ) -> int
  |Return what has a signature of 89 characters.
## opset.shapes: Constants (opset.shapes-constants)
opset.shapes.Length type
  Length = Union[int, Circle]
  |A length, see [`Circle`](#opset.shapes.Circle).
opset.shapes.Lengths type
  Lengths = Callable[[Length], Path] | None
  |
opset.shapes.Area type
  Area = Length | Circle
  |
opset.shapes.LIMIT constant
  LIMIT: int
  |The greatest [`LIMIT`](#opset.shapes.LIMIT).
  |
  |    of `Circle` in code
  |
  |It is low.
opset.shapes.UNKNOWN constant
  UNKNOWN: object
  |
opset.shapes.LIMITS constant
  LIMITS: list
  |"""


def shown(entry, indent=""):
    yield f"{indent}{entry.anchor} {entry.kind}"
    yield from (f"{indent}  {line}" for line in entry.signature.split("\n"))
    yield from (f"{indent}  |{line}" for line in entry.doc.split("\n"))
    for each in entry.members:
        yield from shown(each, f"{indent}    ")


def test_all_kinds_of_names_of_a_module(tmp_path, monkeypatch):
    (tmp_path / "shapes.py").write_text(SHAPES)
    spec = importlib.util.spec_from_file_location("opset.shapes", tmp_path / "shapes.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "opset.shapes", module)
    spec.loader.exec_module(module)
    names = "Shape Circle Model Point Plain shape_that_has_a_long_name shape_t shape_ts"
    constants = "Length Lengths Area LIMIT UNKNOWN LIMITS"
    module.__all__ = f"{names} {constants}".split()
    monkeypatch.setattr(api, "homes", lambda name: dict.fromkeys(constants.split(), name))
    monkeypatch.setattr(api, "TOPICS", {module: {"Shapes of things": names, "Constants": constants}})
    api._public_classes.cache_clear()
    try:
        found = api.api_page()
    finally:
        api._public_classes.cache_clear()
    lines = []
    for section in found:
        lines.append(f"## {section.module}: {section.title} ({section.anchor}){section.doc}")
        lines += [line for entry in section.entries for line in shown(entry)]
    assert "\n".join(lines) == SHOWN
