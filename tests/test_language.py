"""Plain English that an engineer reads once: names of functions, docstrings, and the size of functions.

    python -m tests.test_language                     # the rates of each package
    python -m tests.test_language version_converter   # and each place in one, with what to write instead

The rates were measured in packages of this field and in two widely read ones: onnx's ir-py and onnxscript, httpx and
alembic have 0.2 to 0.8 % of functions that are named by a participle, "where" 6 to 15 times and "what is" up to once in
10,000 words of docstrings.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import opset

PACKAGE = Path(opset.__file__).parent
ROOT = PACKAGE.parent
MODULES = {path.relative_to(ROOT).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match, ast.AsyncFor, ast.AsyncWith)
MAX_LINES, MAX_DEPTH = 80, 4

# First words that no docstring begins with, and what to write instead. A function's begins with "Return", "Yield",
# "Raise" or "Whether", with the imperative of a plain verb, or is a noun phrase; those of modules and classes may say
# what they do ("Reads a file's nodes").
FIRST_WORDS = {
    **dict.fromkeys(("Give", "Gives", "Get", "Gets", "Say", "Says", "Tell", "Tells"), "Return, Yield, Whether, Report"),
    **dict.fromkeys(("Ask", "Asks", "Have", "Has", "Lead"), "the verb for what is done: Call, Keep, Redirect"),
    **dict.fromkeys(("As", "Of", "That", "This", "It"), "a sentence that begins with its subject"),
}
OF_FUNCTIONS = {
    **dict.fromkeys(("Returns", "Yields", "Raises", "Adds", "Checks", "Makes", "Reads", "Runs", "Writes"), "no s"),
}

# Clauses that make a reader go back, their greatest number in 10,000 words of docstrings, and what to write instead.
CLAUSES = {
    r"\bwhere\b": (20, 'where: "if" for a condition, "in which" or a new sentence for a place'),
    r"\bwhat (?:is|are|was|were|it|they|has|a|an|the)\b": (5, "what is, what it: the noun that it stands for"),
    r"\b(?:that|those) of\b": (10, "that of, those of: repeat the noun"),
}
MAX_PARTICIPLES = 2  # of 100 functions
IRREGULAR = frozenset(
    "bound brought built caught chosen done drawn driven fed found frozen given gone grown held hidden kept known laid "
    "led left lost made meant met paid said seen sent shown sold sought spent taken taught thought thrown told torn "
    "understood undone worn written".split()
)
VERBS_IN_ED = frozenset("embed exceed feed need proceed seed speed succeed".split())


class Fault(NamedTuple):
    """A place that a reader stumbles over, and what to write instead."""

    package: str
    kind: str
    where: str
    advice: str


def package_of(name: str) -> str:
    """Return the package of a module's file; `opset` for modules of no package."""
    parts = name.split("/")
    return parts[1] if len(parts) > 2 else "opset"


def is_participle(name: str) -> bool:
    """Whether a name is one word, and that a participle: `converted`, `_taken`."""
    word = name.strip("_")
    return "_" not in word and (word in IRREGULAR or (word.endswith("ed") and word not in VERBS_IN_ED))


@cache
def definitions() -> list[tuple[str, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Return every module, class and function with the name of its file; all files are parsed and walked once."""
    found = []
    for name, path in MODULES.items():
        pending: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
        for node in pending:
            pending += (child for _, children in blocks(node) for child in children)
            if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)):
                found.append((name, node))
    return found


def blocks(node: ast.AST) -> Iterator[tuple[str, list[ast.AST]]]:
    """Yield the blocks of a statement with their fields; expressions, nine nodes of ten, have none."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        if children := getattr(node, field, None):
            yield field, children


@cache
def documented() -> list[tuple[str, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """Return each docstring with the name of its file and its node."""
    return [(name, node, text) for name, node in definitions() if (text := ast.get_docstring(node))]


def words() -> Counter[str]:
    """Return the number of words in docstrings of each package."""
    found: Counter[str] = Counter()
    for name, _, text in documented():
        found[package_of(name)] += len(re.findall(r"[A-Za-z']+", text))
    return found


def clauses() -> Iterator[Fault]:
    """Yield the clauses in docstrings that make a reader go back."""
    for name, node, text in documented():
        for pattern, (_, advice) in CLAUSES.items():
            for match in re.finditer(pattern, " ".join(text.lower().split())):
                around = match.string[max(0, match.start() - 30) : match.end() + 30]
                yield Fault(package_of(name), pattern, f"{name}:{getattr(node, 'lineno', 1)}: …{around}…", advice)


def functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield every function with the name of its file."""
    yield from ((name, node) for name, node in definitions() if isinstance(node, FUNCTIONS))


def participles() -> Iterator[Fault]:
    """Yield the functions that are named by a participle."""
    advice = "a verb for what it does (convert_node), or a noun for what it returns (conversion)"
    for name, node in functions():
        if is_participle(node.name):
            yield Fault(package_of(name), "participle", f"{name}:{node.lineno}: {node.name}", advice)


def first_words() -> Iterator[Fault]:
    """Yield the docstrings that begin with a word that says nothing."""
    for name, node, text in documented():
        avoided = FIRST_WORDS | OF_FUNCTIONS if isinstance(node, FUNCTIONS) else FIRST_WORDS
        if (word := text.split()[0]) in avoided:
            yield Fault(package_of(name), "first word", f"{name}:{getattr(node, 'lineno', 1)}: {word}", avoided[word])


def large_functions() -> Iterator[Fault]:
    """Yield the functions that are too long or too deep."""
    for name, node in functions():
        lines, levels = (node.end_lineno or 0) - node.lineno + 1, depth(node)
        if lines > MAX_LINES or levels > MAX_DEPTH:
            where = f"{name}:{node.lineno}: {node.name}: {lines} lines, {levels} levels of blocks"
            yield Fault(package_of(name), "size", where, f"at most {MAX_LINES} lines and {MAX_DEPTH} levels: split it")


def depth(node: ast.AST) -> int:
    """Return how many blocks are nested in a function; `elif` is one with its `if`, inner functions do not count."""
    deepest = 0
    for field, children in blocks(node):
        for child in children:
            if isinstance(child, (*FUNCTIONS, ast.ClassDef)):
                continue
            is_elif = (
                isinstance(node, ast.If) and field == "orelse" and isinstance(child, ast.If) and len(children) == 1
            )
            deepest = max(deepest, depth(child) + (isinstance(child, BLOCKS) and not is_elif))
    return deepest


def test_the_language_is_plain():
    total, of_functions, found = words().total(), sum(1 for _ in functions()), [*clauses()]
    faults = [*first_words(), *large_functions()]
    for pattern, (bound, _) in CLAUSES.items():
        these = [each for each in found if each.kind == pattern]
        if len(these) * 10_000 > bound * total:
            faults += these
    named = [*participles()]
    if len(named) * 100 > MAX_PARTICIPLES * of_functions:
        faults += named
    assert not faults, "\n".join(f"{each.where}\n    write {each.advice}" for each in faults)


def main(packages: list[str]) -> None:
    """Print the rates of each package, and the faults of those that are named."""
    counts = words()
    of_functions = Counter(package_of(name) for name, _ in functions())
    found = [*participles(), *clauses(), *first_words(), *large_functions()]
    print(f"{'package':20}{'participles %':>14}" + "".join(f"{each.strip(chr(92) + 'b')[:12]:>14}" for each in CLAUSES))
    for package in [*sorted(counts), "all"]:
        these = [each.kind for each in found if package in (each.package, "all")]
        total = counts.total() if package == "all" else counts[package]
        number = of_functions.total() if package == "all" else of_functions[package]
        rates = "".join(f"{these.count(each) / total * 10_000:14.1f}" for each in CLAUSES)
        print(f"{package:20}{these.count('participle') / number * 100:14.1f}{rates}")
    for fault in found:
        if fault.package in packages:
            print(f"{fault.where}\n    write {fault.advice}")


if __name__ == "__main__":
    main(sys.argv[1:])
