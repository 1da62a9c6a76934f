"""Code as HTML: ONNX text syntax, Python, YAML, JSON, shell and sessions of a terminal, colored by classes alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from markupsafe import Markup, escape
from pygments.lexer import RegexLexer, bygroups, include
from pygments.token import (
    Comment,
    Error,
    Generic,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
    Whitespace,
    _TokenType,
)

from opset.errors import escape_text
from opset.model.elements import NUMBERS

__all__ = ["OnnxLexer", "escape_invisible", "highlight", "stylesheet"]

LONGEST = 20_000
"""Characters of a text that is colored; a longer one is shown plain."""

# Class of a token: of its own type, or of the nearest type above it.
_CLASSES = {
    Comment: "c", Keyword: "k", Keyword.Type: "t", Keyword.Constant: "n", Name.Function: "f", Name.Class: "f",
    Name.Variable.Instance: "v", Name.Decorator: "v", Name.Tag: "a", Name.Attribute: "a", Name.Builtin: "t",
    Number: "n", String: "s", Operator.Word: "k", Generic.Prompt: "p", Generic.Output: "o", Text: "", Error: "",
}  # fmt: skip
# Colors on #f6f7f9 and on #1b1f27; every one has a contrast of at least 4.5 to 1.
_COLORS = {
    "a": ("#7a4100", "#e0b070"), "c": ("#5c6470", "#9aa5b4"), "f": ("#0b55a8", "#7ab8ff"), "k": ("#8a1f7d", "#e394dc"),
    "n": ("#9a3412", "#f2a272"), "o": ("#4a5360", "#aab4c2"), "p": ("#5c6470", "#9aa5b4"), "s": ("#1f6b35", "#86d69b"),
    "t": ("#00657a", "#66cfe0"), "v": ("#8f1d3f", "#ff9db5"),
}  # fmt: skip

_TYPES = rf"(?:{'|'.join(sorted(NUMBERS))}|seq|optional|map|sparse_tensor|opaque)\b"
_KINDS = r"(?:float|int|string|tensor|graph|sparse_tensor|type_proto)s?\b"

_groups: Any = bygroups  # which has no types


class OnnxLexer(RegexLexer):
    """Pygments lexer of ONNX text syntax: models, graphs, functions and nodes."""

    name = "ONNX text"
    aliases = ["onnx"]
    tokens = {
        "root": [
            (r"<", Punctuation, "attributes"),
            include("all"),
        ],
        "attributes": [
            (r">", Punctuation, "#pop"),
            (r"\{", Punctuation, "body"),
            (r"[A-Za-z_]\w*(?=\s*[:=])", Name.Attribute),
            include("all"),
        ],
        "body": [
            (r"\}", Punctuation, "#pop"),
            include("root"),
        ],
        "all": [
            (r"\s+", Whitespace),
            (r"#[^\n]*", Comment),
            # One without an end is read to the end of the text, and not again from each of its characters.
            (r'\$?"[^"\\]*(?:\\(?s:.)[^"\\]*)*(?:"|\\?\Z)', String),
            (r"@\w+", Name.Variable.Instance),
            (rf"(:)(\s*)({_KINDS})", _groups(Punctuation, Whitespace, Keyword.Type)),
            (rf"{_TYPES}(?!\s*[:=)}}>])", Keyword.Type),
            # A graph in an attribute has its inputs in the same place, with an arrow behind them.
            (
                rf"(=)(\s*)(?!{_TYPES})([A-Za-z_][\w+.-]*)(?=\s*(?::\s*\w+\s*)?(?:<|\([^()]*\)(?!\s*=>)))",
                _groups(Punctuation, Whitespace, Name.Function),
            ),
            (r"=>", Punctuation),
            (r"-?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|(?:inf|infinity|nan)\b)", Number),
            (r"[A-Za-z_]\w*", Name),
            (r".", Punctuation),
        ],
    }


def escape_invisible(text: str) -> str:
    """Return text in which each character that is not printable is a Python escape, such as \\u202e; line feeds stay.

    `str.isprintable` decides, so a no-break space is escaped, too. Tabs become spaces, and CR LF becomes LF.
    """
    if text.isprintable():
        return text
    return "\n".join(escape_text(line) for line in text.expandtabs(4).replace("\r\n", "\n").split("\n"))


@lru_cache(maxsize=64)
def _lexer_of(language: str) -> Any:
    """Return the Pygments lexer of a language: "onnx" for ONNX text, else a name that Pygments knows. Cached."""
    if language == "onnx":
        return OnnxLexer(stripnl=False)
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(language, stripnl=False)


_LANGUAGES = frozenset("onnx python console yaml sh json toml".split())
_SHELLS = frozenset(("console", "sh"))


def highlight(text: str, language: str = "", links: Mapping[str, str] | None = None) -> Markup:
    """Return code as an HTML `<pre>` in which tokens have a CSS class for their kind.

    Code in a language that is not one of _LANGUAGES, or of more than LONGEST characters, gets no classes. Invisible
    characters are escaped. `links` maps operators, as ONNX text names them, to the addresses to which they link.
    """
    text = escape_invisible(text).rstrip() + "\n"
    tokens = [*_lexer_of(language).get_tokens(text)] if language in _LANGUAGES and len(text) <= LONGEST else []
    if language in _SHELLS:  # their lexers take the "1" of "1.17" for a number
        tokens = [(Text if kind in Number else kind, value) for kind, value in tokens]
    if "".join(value for _, value in tokens) == text:
        content = "".join(_token_spans(tokens, links or {}))
    else:
        content = str(escape(text))
        language = "text"
    # What is wider than the page is scrolled: with the keyboard, too.
    return Markup(f'<pre class="code {language}"><code>{content.rstrip()}</code></pre>')


def _token_spans(tokens: Iterable[tuple[_TokenType, str]], links: Mapping[str, str]) -> Iterator[str]:
    """Yield tokens as HTML: each as a `<span>` with a CSS class, or as a link.

    The texts are escaped. Text of a kind without a class, and line breaks, get no `<span>`.

    Args:
        tokens: Pairs of a kind and a text, as Pygments returns them.
        links: The address of each operator that becomes a link, by the text of the token that names it.
    """
    for kind, text in tokens:
        shown = str(escape(text.rstrip("\n")))
        name = _class_of(kind)
        if name == "f" and text in links:
            yield f'<a class="f" href="{escape(links[text])}">{shown}</a>'
        else:
            yield f'<span class="{name}">{shown}</span>' if name and shown else shown
        yield "\n" * (len(text) - len(text.rstrip("\n")))


@lru_cache(maxsize=256)
def _class_of(kind: _TokenType) -> str:
    """Return the CSS class of a kind of token, or of the nearest kind above it that has one; "" if none has."""
    above: _TokenType | None = kind
    while above is not None:
        if above in _CLASSES:
            return _CLASSES[above]
        above = above.parent
    return ""


def stylesheet() -> str:
    """Return the CSS that colors code in the light and the dark color scheme."""
    return "".join(f".code .{name} {{ color: light-dark({', '.join(colors)}); }}\n" for name, colors in _COLORS.items())
