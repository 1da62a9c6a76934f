"""Prose and formulas as HTML: Markdown without HTML, and LaTeX as MathML. Both come from files that are untrusted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from html import unescape
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from latex2mathml.converter import convert_to_element
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.emphasis import tokenize as tokenize_emphasis
from markdown_it.token import Token
from markupsafe import Markup, escape

from opset.docgen.code import escape_invisible, highlight

__all__ = ["formula", "html", "inline", "sections", "stylesheet"]

Resolve = Callable[[str], str]

LONGEST_PROSE = 10_000
"""Characters of prose that is read as Markdown, whose cost is more than in proportion; longer prose is plain text."""

_SCHEME = re.compile(r"(?:([a-z][a-z0-9+.-]*):|//)", re.IGNORECASE)
_SCHEMES = ("http", "https", "mailto")
_NOT_IN_SLUG = re.compile(r"[^\w\- ]")


@lru_cache(maxsize=16384)
def html(text: str, resolve: Resolve | None = None, *, page: bool = False) -> Markup:
    """Return Markdown as HTML blocks: the prose of an operator, or with `page`, a guide. Cached.

    Headings of a guide get HTML ids; headings in prose become bold paragraphs. Prose longer than LONGEST_PROSE becomes
    one paragraph of plain text. HTML in the text is shown as text. `resolve` takes the target of each link and returns
    the address to write instead.
    """
    if len(text) > LONGEST_PROSE and not page:
        return Markup("<p>{}</p>\n").format(escape_invisible(text))
    parser = reader()
    tokens = parser.parse(escape_invisible(text))
    _finish_headings(tokens, page)
    for token in tokens:
        for each in token.children or []:
            if resolve and each.type == "link_open":
                each.attrSet("href", resolve(str(each.attrGet("href"))))
        if token.tag in ("th", "td") and (style := token.attrs.pop("style", None)):
            token.attrSet("class", str(style).removeprefix("text-align:"))
    for begin, inside, end in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if begin.type == "th_open" and not inside.content:
            begin.tag = end.tag = "td"  # an empty cell is no heading of its column
    return Markup(parser.renderer.render(tokens, parser.options, {}))


@lru_cache(maxsize=16384)
def inline(text: str) -> Markup:
    """Return a phrase of Markdown as HTML without blocks; one longer than LONGEST_PROSE becomes plain text. Cached."""
    visible = escape_invisible(text)
    return Markup(reader().renderInline(visible)) if len(text) <= LONGEST_PROSE else escape(visible)


@lru_cache(maxsize=1024)
def sections(text: str) -> tuple[tuple[str, str, str], ...]:
    """Return (heading, HTML id, plain text) for each section of a Markdown page. Cached.

    The part before the first heading comes first; its heading and id are "". The page's title begins no section. In the
    text, each paragraph, item and line of code is one line. A table is one line that has each of its words once.
    """
    tokens = reader().parse(escape_invisible(text))
    _finish_headings(tokens, True)
    found: list[tuple[str, str, str]] = []
    heading, anchor = "", ""
    words: list[str] = []
    start = 0
    for number, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag != "h1":
            found.append((heading, anchor, "".join(words)))
            heading, anchor, words = _plain_words(tokens[number + 1]), str(token.attrGet("id")), []
        elif token.type == "inline" and tokens[number - 1].type != "heading_open":
            words += _plain_words(token), "\n" if tokens[number - 1].type == "paragraph_open" else " "
        elif token.type in ("fence", "code_block"):
            words.append(token.content)
        elif token.type == "table_open":
            start = len(words)
        elif token.type == "table_close":
            words[start:] = [" ".join(dict.fromkeys("".join(words[start:]).split())), "\n"]
    return (*found, (heading, anchor, "".join(words)))


def _plain_words(token: Token) -> str:
    """Return the text of a block of Markdown, without marks and addresses of links; a line break becomes a space."""
    return "".join(each.content or " " for each in token.children or [] if each.nesting == 0)


@lru_cache(maxsize=1)
def reader() -> MarkdownIt:
    """Return the Markdown parser for untrusted prose; it is cached.

    It knows tables, shows HTML as text, and makes no link to an unsafe address.
    """
    # No references, whose definitions vanish from the text, and no entities, which may hide control characters.
    parser = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False})
    parser.enable("table").disable(["reference", "entity"])
    parser.inline.ruler.at("emphasis", _parse_emphasis)
    parser.validateLink = _is_harmless  # type: ignore[method-assign]
    parser.normalizeLinkText = str  # type: ignore[method-assign, assignment]
    for rule in (_fence, _code_block, _image, _link_open, _table_open, _table_close):
        parser.add_render_rule(rule.__name__.removeprefix("_"), rule)
    return parser


def _is_harmless(url: str) -> bool:
    """Return whether an address is relative, or has one of the schemes http, https and mailto.

    An address that begins with "//" counts as one with another scheme.
    """
    found = _SCHEME.match(url)
    return found is None or (found[1] or "").lower() in _SCHEMES


def _parse_emphasis(state: StateInline, silent: bool) -> bool:
    """Return whether marks of emphasis, "*" or "_", were read at the position of a Markdown parser.

    Marks are added to `state` for the parser to pair. A run of "*" between two letters or digits is added as plain text
    instead, since `M*N*K` is a product. If `silent`, nothing is read.
    """
    start = end = state.pos
    while end < state.posMax and state.src[end] == "*":
        end += 1
    if start < end and not silent and state.src[start - 1 : start].isalnum() and state.src[end : end + 1].isalnum():
        state.pending += state.src[start:end]
        state.pos = end
        return True
    return tokenize_emphasis(state, silent)


def _finish_headings(tokens: Sequence[Token], page: bool) -> None:
    """Set the HTML ids of headings if `page`, else turn headings into bold paragraphs. `tokens` is changed."""
    used: dict[str, int] = {}
    for number, token in enumerate(tokens):
        if token.type not in ("heading_open", "heading_close"):
            continue
        if not page:
            token.tag = "p"
            if token.nesting == 1:
                token.attrSet("class", "heading")
        elif token.nesting == 1:
            token.attrSet("id", _heading_id(tokens[number + 1], used))


def _heading_id(heading: Token, used: dict[str, int]) -> str:
    """Return the HTML id of a heading, as GitHub makes it ("some-name"), and add it to `used`.

    An id that is in `used` is numbered: "some-name-1". `heading` is the token with the heading's text. `used` maps ids
    to the last number that was appended to them, 0 if none was.
    """
    text = "".join(child.content for child in heading.children or [] if child.type in ("text", "code_inline"))
    base = slug = _NOT_IN_SLUG.sub("", text.strip().lower()).replace(" ", "-") or "section"
    while slug in used:
        used[base] += 1
        slug = f"{base}-{used[base]}"
    used[slug] = 0
    return slug


def _fence(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Return a fenced block of code as HTML; a file name after the language is shown above it.

    A block of a file "*.onnxtxt" is colored as ONNX text. The Markdown parser calls it; `tokens[index]` is the block.
    """
    language, _, file = tokens[index].info.strip().partition(" ")
    shown = highlight(tokens[index].content, "onnx" if file.endswith(".onnxtxt") else language)
    return f'<p class="file"><code>{escape(file)}</code></p>\n{shown}\n' if file else f"{shown}\n"


def _code_block(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Return an indented block of code as HTML.

    The Markdown parser calls it; `tokens[index]` is the block.
    """
    return f"{highlight(tokens[index].content)}\n"


def _image(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Return the alternative text of an image as HTML; it is shown instead of the image.

    The Markdown parser calls it; `tokens[index]` is the image.
    """
    return str(escape(self.renderInlineAsText(tokens[index].children, options, env)))


def _link_open(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Return the start tag of a link, without the link's title.

    The Markdown parser calls it; `tokens[index]` is the link.
    """
    return f'<a href="{escape(str(tokens[index].attrGet("href")))}">'


def _table_open(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Return the start tags of a table, within a region that scrolls if the table is wide.

    The Markdown parser calls it; the arguments are not used.
    """
    return '<div class="table"><table>\n'


def _table_close(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Return the end tags of a table and of the region around it.

    The Markdown parser calls it; the arguments are not used.
    """
    return "</table></div>\n"


LONGEST_FORMULA = 2000
"""Characters of a formula that is drawn; a longer one is shown as its source."""

_MACRO = re.compile(r"\\(?:new|renew|provide|def|let|DeclareMath)")
_ESCAPE = re.compile(r"\\([_%&#${} ])")
_BLANK = re.compile(r"\n *\n")
_LENGTH = re.compile(r"-?[0-9.]{1,6}em")
_WORD = re.compile(r"\w+")
_UNDER = {
    "msub": "munder",
    "msup": "mover",
    "msubsup": "munderover",
    "munder": "munder",
    "mover": "mover",
    "munderover": "munderover",
}
"""Elements with scripts, and those that have them as limits."""
_LARGE, _OPENING, _CLOSING = "∑∏", "([{|⌊⌈⟨", ")]}|⌋⌉⟩"
_SIGNS = ("+", "-", "\u2212")
# What a formula may consist of, and the values of attributes, None for any length. All else is shown as source.
_ELEMENTS = frozenset(
    "math mfrac mi mn mo mover mrow mspace msqrt mroot mstyle msub msubsup msup mtable mtd mtext mtr munder munderover "
    "mpadded mphantom".split()
)
_ATTRIBUTES: dict[str, tuple[str, ...] | None] = {
    "accent": ("true", "false"), "depth": None, "display": ("block",), "displaystyle": ("true", "false"),
    "fence": ("true", "false"), "form": ("prefix", "infix", "postfix"), "height": None, "largeop": ("true", "false"),
    "linethickness": ("0",), "lspace": None, "mathvariant": ("normal",), "maxsize": None, "minsize": None,
    "movablelimits": ("true", "false"), "rspace": None, "scriptlevel": ("0", "1", "2"),
    "separator": ("true", "false"), "stretchy": ("true", "false"), "width": None,
    "class": ("align", "center", "left", "lines", "right"),
}  # fmt: skip


class _UnreadableFormula(Exception):
    """Raised for a LaTeX formula that cannot surely be written as MathML."""


@lru_cache(maxsize=4096)
def formula(latex: str) -> Markup:
    """Return a LaTeX formula as MathML in HTML. Cached.

    A formula that cannot surely be converted, or is longer than LONGEST_FORMULA, is its source in a `<pre>`.
    """
    source = escape_invisible(latex)
    try:
        if len(source) > LONGEST_FORMULA or _MACRO.search(source):
            raise _UnreadableFormula
        # A blank line ends a line. The environment `aligned` is not known to the parser; `align*` looks the same.
        known = _BLANK.sub(r" \\\\ ", source).replace("{aligned}", "{align*}")
        read = convert_to_element(known, display="block")
        drawn = "".join(_serialize(_arrange(read[0])))
    except Exception:  # its parser has no error of its own: a malformed formula is an IndexError, a RuntimeError, …
        return Markup('<pre class="formula">{}</pre>').format(source)
    annotation = f'<annotation encoding="application/x-tex">{escape(source)}</annotation>'
    math = f'<math display="block"><semantics>{drawn}{annotation}</semantics></math>'
    return Markup(f'<div class="formula">{math}</div>')


def _arrange(row: Element) -> Element:
    """Change a row of MathML, in place, to forms that browsers know; return the same row.

    Neighboring letters become words, alignment becomes a CSS class, and several lines become a table.
    """
    for element in row.iter():
        element.text = unescape(element.text or "")
        if element.tag == "mtext":
            element.text = _ESCAPE.sub(r"\1", element.text)
        if align := element.attrib.pop("columnalign", ""):
            element.set("class", align)
        if element.attrib.pop("columnspacing", ""):
            element.set("class", "align")
        element.attrib.pop("rowspacing", "")
    for element in row.iter():
        _space_functions(element)
        _join_letters(element)
    _break_lines(row)
    return row


def _core_of(element: Element) -> Element:
    """Return the innermost base of an element with subscripts or superscripts; any other element unchanged."""
    while element.tag in _UNDER and len(element):
        element = element[0]
    return element


def _space_functions(parent: Element) -> None:
    """Set the space around functions, signs and bars in a MathML element, in place.

    Names of functions become operators (`<mo>`). The subscripts and superscripts of sums, of products, and of functions
    that the parser wrote as `<mo>`, such as max, become limits below and above them; those of other functions, such as
    log, stay as they are.
    """
    children = [*parent]
    for before, child, after in zip([None, *children], children, [*children[1:], None], strict=False):
        core = _core_of(child)
        text = core.text or ""
        if core.tag == "mo" and text in ("|", "\u2016"):
            core.attrib.update(lspace="0em", rspace="0em")
        begins = before is None or (_core_of(before).tag == "mo" and (_core_of(before).text or "") not in _CLOSING)
        if core.tag == "mo" and text in _SIGNS and begins:
            core.set("form", "prefix")
        is_word = core.tag in ("mi", "mo") and len(text) > 1 and text.replace(" ", "").isalpha()
        if core is not child and core.tag == "mo" and (is_word or text in _LARGE):
            child.tag = _UNDER[child.tag]
            core.set("movablelimits", "true")
        if is_word and text != "mod" and parent.tag not in _UNDER:
            core.tag = "mo"
            ends = after is None or (_core_of(after).text or "") in _OPENING
            core.attrib.update(lspace="0em" if begins else "0.167em", rspace="0em" if ends else "0.167em")


def _join_letters(parent: Element) -> None:
    """Join neighboring children that are upright letters into one element with a word, in place."""
    word: Element | None = None
    for child in [*parent]:
        upright = child.get("mathvariant") == "normal" and _WORD.fullmatch(child.text or "")
        if not upright:
            word = None
        elif word is None:
            word = child
        else:
            word.text = f"{word.text}{child.text}"
            word.attrib.pop("mathvariant", None)
            parent.remove(child)


def _break_lines(row: Element) -> None:
    """Turn a formula of several lines into a table with a row for each line, in place.

    A formula of one line stays unchanged.
    """
    lines: list[list[Element]] = [[]]
    for child in [*row]:
        if child.get("linebreak") == "newline":
            lines.append([])
        else:
            lines[-1].append(child)
    if len(lines) == 1:
        return
    row.clear()
    table = SubElement(row, "mtable", {"class": "lines", "displaystyle": "true"})
    for line in filter(None, lines):
        SubElement(SubElement(table, "mtr"), "mtd", {"class": "left"}).extend(line)


def _serialize(element: Element) -> Iterator[str]:
    """Yield a MathML element as HTML, in pieces.

    Raises _UnreadableFormula for an element, text or value that is not allowed, KeyError for an unknown attribute.
    """
    text = element.text or ""
    if element.tag not in _ELEMENTS or "\\" in text or not text.replace("\xa0", " ").isprintable():
        raise _UnreadableFormula
    yield f"<{element.tag}"
    for name, value in element.attrib.items():
        allowed = _ATTRIBUTES[name]
        if value not in allowed if allowed is not None else not _LENGTH.fullmatch(value):
            raise _UnreadableFormula
        yield f' {name}="{value}"'
    yield f">{escape(text)}"
    for child in element:
        yield from _serialize(child)
    yield f"</{element.tag}>"


def stylesheet() -> str:
    """Return the CSS of file names above code, headings in prose, tables and formulas."""
    return (
        ".file { margin-bottom: 0; font-weight: 600; }\n"
        ".file + .code { margin-top: 0.25em; }\n"
        ".heading { font-weight: 700; }\n"
        ".table { overflow-x: auto; }\n"
        "th.right, td.right { text-align: right; }\n"
        "th.center, td.center { text-align: center; }\n"
        ".formula { overflow-x: auto; }\n"
        "math mtd.left { text-align: left; text-align: -webkit-left; }\n"
        "math mtd.right { text-align: right; text-align: -webkit-right; }\n"
        "math .align > mtr > mtd { padding-left: 0; padding-right: 0; }\n"
    )
