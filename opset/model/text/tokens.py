"""The tokens of ONNX text syntax: names, texts in quotes, numbers and marks, each with its line and column.

The text is untrusted. It is read once from start to end, and no token is tried a second way.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final, NoReturn

from opset.errors import Finding, ModelError, quote
from opset.model.limits import MAX_TEXT_DEPTH

# The last alternative matches always, so that nothing before it is ever tried a second way.
_TOKEN: Final = re.compile(
    r"""
    \s*
    (?: (?P<comment> \#[^\n]* )
      | (?P<word> [A-Za-z_]\w* )
      | (?P<real> -?\d+ (?: \.\d* (?:[eE][+-]?\d+)? | [eE][+-]?\d+ ) | -(?i:infinity|inf|nan)\b )
      | (?P<whole> -?\d+ )
      | (?P<string> \$? "[^"\\]* (?: \\. [^"\\]* )* " )
      | (?P<mark> => | . )
      | (?P<end>)
    )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_CODE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_CODES: Final = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"'}
_NOT_FINITE: Final = frozenset({"inf", "infinity", "nan"})

INT64: Final = (-(1 << 63), (1 << 63) - 1)


class Tokens:
    """The text and its next token: kind (a group of _TOKEN), text and start."""

    def __init__(self, text: str) -> None:
        self.source, self.depth, self.stop = text, 0, 0
        self.kind, self.text, self.start = "mark", "", 0
        try:
            text.encode()
        except UnicodeEncodeError as error:
            self.text, self.start = text[error.start], error.start
            self.fail("text that UTF-8 can hold")
        self.advance()

    # Tokens

    def advance(self) -> str:
        """Return the text of the next token, and step over it."""
        passed = self.text
        match = self._next()
        self.kind = match.lastgroup
        self.text = match[self.kind]
        self.start, self.stop = match.span(self.kind)
        return passed

    def is_at(self, mark: str) -> bool:
        """Return whether this mark is next."""
        return self.text == mark and self.kind == "mark"

    def next_is(self, mark: str) -> bool:
        """Return whether this mark follows the next token."""
        return bool(self._next()["mark"] == mark)

    def _next(self) -> Any:
        """Return the match of the token behind the next one, or of the first; comments are passed over one by one."""
        # It matches anywhere, the end included. A pattern that repeats comments would keep all of them in memory.
        match: Any = _TOKEN.match(self.source, self.stop)
        while match.lastgroup == "comment":
            match = _TOKEN.match(self.source, match.end())
        return match

    def take(self, mark: str) -> bool:
        """Return whether this mark is next, and if so step over it."""
        is_next = self.is_at(mark)
        if is_next:
            self.advance()
        return is_next

    def expect(self, mark: str, instead: str = "") -> None:
        """Step over a mark; `instead` names what else is possible there."""
        if not self.take(mark):
            self.fail(f"'{mark}'{instead and ' or '}{instead}")

    def list_items(self, end: str, empty: bool = True) -> Iterator[None]:
        """Step through a list with commas up to its end mark; yield once for each item, which the caller reads."""
        if empty and self.take(end):
            return
        yield
        while self.take(","):
            yield
        self.expect(end, "','")

    def fail(self, expected: str, start: int | None = None, code: str = "M301", why: str = "") -> NoReturn:
        """Raise ModelError for the next token, or the one at `start`, with the expected and the present text."""
        start = self.start if start is None else start
        if start != self.start:
            present = quote(self.source[start : self.start].strip())
        elif self.kind == "end":
            present = "the end of the text"
        elif self.text == '"':
            present = "a text in quotes that does not end"
        else:
            present = quote(self.text)
        line = self.source.count("\n", 0, start) + 1
        column = start - self.source.rfind("\n", 0, start)
        raise ModelError(Finding(code, f"expected {expected}, found {present}", f"{line}:{column}", why))

    def enter(self, messages: int) -> None:
        """Count messages inside each other; whoever enters leaves by subtracting them from `self.depth`."""
        self.depth += messages
        if self.depth > MAX_TEXT_DEPTH:
            self.fail(f"at most {MAX_TEXT_DEPTH} messages inside each other", code="M104")

    # Names and literals

    def word(self, expected: str) -> str:
        """Return a word as it is."""
        if self.kind != "word":
            self.fail(expected)
        return self.advance()

    def name(self, expected: str) -> str:
        """Return a name: a word, or anything in quotes."""
        return self.string(expected) if self.kind == "string" else self.word(expected)

    def dotted_names(self, expected: str) -> list[str]:
        """Return names with dots between them."""
        names = [self.name(expected)]
        while self.take("."):
            names.append(self.name(expected))
        return names

    def names(self) -> list[str]:
        """Return the inputs or outputs of a node: a name that is left out before a comma is empty."""
        names = []
        while True:
            if self.kind in ("word", "string"):
                names.append(self.name("a name"))
                if not self.take(","):
                    return names
            elif self.take(","):
                names.append("")
            else:
                return names

    def string(self, expected: str = "a text in quotes") -> str:
        """Return the content of a text in quotes: a backslash quotes a character, after a $ it begins a code."""
        start = self.start
        try:
            return self.data_of_string(expected).decode()
        except UnicodeDecodeError:
            self.fail("text that UTF-8 can hold", start)

    def data_of_string(self, expected: str = "a text in quotes") -> bytes:
        """Return the content of a text in quotes as bytes."""
        if self.kind != "string":
            self.fail(expected)
        if self.text[0] != "$":
            return _ESCAPED.sub(r"\1", self.advance()[1:-1]).encode()
        start, data, stop = self.start, bytearray(), 0
        text = self.advance()[2:-1]
        for code in _CODE.finditer(text):
            data += text[stop : code.start()].encode()
            stop = code.end()
            if code[1]:
                data.append(int(code[1], 16))
            elif code[2] in _CODES:
                data += _CODES[code[2]].encode()
            else:
                self.fail(r"codes such as \n, \t, \r, \\, \" and \x1b behind a $", start)
        return bytes(data) + text[stop:].encode()

    def pattern(self, size: int) -> bytes:
        """Return the bytes of a number that is written as its bits, most significant first: $"7fa00000"."""
        start = self.start
        text = self.string()
        if len(text) != 2 * size or not re.fullmatch("[0-9a-fA-F]*", text):
            self.fail(f"the bits of the number as {2 * size} hexadecimal digits", start)
        return bytes.fromhex(text)[::-1]

    def whole_number(self, lowest: int = INT64[0], highest: int = INT64[1], why: str = "") -> int:
        """Return a whole number within bounds."""
        # Of very many digits Python is slow to make a number, or refuses to.
        number = int(self.text) if self.kind == "whole" and len(self.text) < 1000 else None
        if number is None or not lowest <= number <= highest:
            self.fail(f"a whole number from {lowest} to {highest}", why=why)
        self.advance()
        return number

    def is_real(self) -> bool:
        """Return whether the next token is a number that is not written as a whole one."""
        return self.kind == "real" or (self.kind == "word" and self.text.lower() in _NOT_FINITE)

    def real_number(self, single: bool = True) -> float:
        """Return a number as the nearest that a float, or else a double, has."""
        if self.kind != "whole" and not self.is_real():
            self.fail("a number")
        try:
            number = _nearest_float(self.text) if single else float(self.text)
        except OverflowError:
            number = math.inf
        if math.isinf(number) and self.text[-1] in "0123456789.":
            self.fail(f"a number that a {'float' if single else 'double'} can hold")
        self.advance()
        return number


def _nearest_float(text: str) -> float:
    """Return the float32 nearest to a decimal number, ties to even; raise OverflowError out of range."""
    value = float(text)
    if not math.isfinite(value):
        return value
    nearest: float = struct.unpack("<f", struct.pack("<f", value))[0]
    # Rounding to a double first may have put the number half-way between two floats where it was not quite.
    other = 2 * value - nearest
    if other != nearest and struct.unpack("<f", struct.pack("<f", other))[0] == other and Decimal(text) != value:
        return max(nearest, other) if Decimal(text) > value else min(nearest, other)
    return nearest
