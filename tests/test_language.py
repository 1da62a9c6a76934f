"""Plain English that an engineer reads once: first words of docstrings and phrases; and the size of functions."""

import ast
import re
from pathlib import Path

import opset

PACKAGE = Path(opset.__file__).parent
ROOT = PACKAGE.parent
MODULES = {path.relative_to(ROOT).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}
TEXTS = [
    *MODULES.values(),
    *sorted(PACKAGE.rglob("*.yaml")),
    *sorted(PACKAGE.rglob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY", "examples/README")),
]

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

# Phrases that a reader stumbles over (regular expressions, lower case), and what to write instead.
PHRASES = {
    r"stands? twice": "is a duplicate, occurs twice",
    r"of which the|as of which|either of which": "whose; a new sentence",
    r"(?<!\.)tells?|told": "says, shows, reports, determines",
    r"c[ao]me late|what came late": "was added in a later version",
    r"where knowledge ends": "where inference stops",
    r"asked for": "required, requested",
    r"said of": "applies to, is stated about",
    r"if not said": "by default",
    r"look(s|ed) at": "is checked, is read",
    r"sp(eaks?|oke) of": "covers, lists, names",
    r"held (to|against)|holds? (it|them|the \w+|a \w+)( of \w+)? (to|against)": "is checked against, is compared with",
    r"what (comes|came) out": "the result, the outputs",
    r"strangers": "untrusted",
    r"(is|are) off": "is invalid",
    r"(is|are) apt": "is suitable",
    r"believe[sd]?": "trusts, takes as correct",
    r"called (as|after)": "named after",
    r"(the )?far side": "the target version",
    r"turn to turn|some turns|turns give|takes? turns": "iterations",
    r"(goes|went) away": "is removed, was closed",
    r"anew": "again",
    r"nothing but": "only",
    r"ever different": "always different",
    r"of so many": "of this size, of `count` elements",
    r"(is|be) had": "is available",
    r"all of each other": "derivatives of each other",
    r"lies? (in|beside|below|within)": "is in, is beside",
    r"(one|those|what) that (came|went)": "an added or removed one",
    r"that brought": "that introduced",
    r"stands? (at|behind|before|beside|newest|by|within|after)": "is at, follows, precedes",
    r"gives? back": "returns",
    r"by itself alone|for itself alone": "only",
}
STUMBLES = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b")

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match, ast.AsyncFor, ast.AsyncWith)


def functions(name):
    """Every function of a module with its dotted name."""

    def walk(node, inside):
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, (*FUNCTIONS, ast.ClassDef))
            below = (*inside, child.name) if named else inside
            if named and not isinstance(child, ast.ClassDef):
                yield f"{name.removesuffix('.py')}:{'.'.join(below)}", child
            yield from walk(child, below)

    return walk(TREES[name], ())


def depth(node):
    """How many blocks are nested in a function; elif is one with its if, and inner functions count for themselves."""
    deepest = 0
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, (*FUNCTIONS, ast.ClassDef)):
                continue
            is_elif = isinstance(node, ast.If) and field == "orelse" and isinstance(child, ast.If) and len(value) == 1
            deepest = max(deepest, depth(child) + (isinstance(child, BLOCKS) and not is_elif))
    return deepest


def prose(path):
    """A file's text with its lines joined: those of a comment or of adjacent string literals, too."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = re.sub(r"[\"']\s*\n\s*[rf]?[\"'](?![\"'])", "", text)
        return re.sub(r"\s*\n\s*(?:# ?)?", " ", text)
    return re.sub(r"\s+", " ", text)


def test_docstrings_begin_plainly():
    documented = (ast.Module, ast.ClassDef, *FUNCTIONS)
    bad = []
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, documented) and (text := ast.get_docstring(node)):
                avoided = FIRST_WORDS | OF_FUNCTIONS if isinstance(node, FUNCTIONS) else FIRST_WORDS
                if (word := text.split()[0]) in avoided:
                    bad.append(f"{name}:{getattr(node, 'lineno', 1)}: {word}: write {avoided[word]}")
    assert not bad, "\n".join(["first words of docstrings:", *bad])


def test_nothing_makes_a_reader_stumble():
    found = []
    for path in TEXTS:
        text = prose(path).lower()
        for match in STUMBLES.finditer(text):
            around = text[max(0, match.start() - 40) : match.end() + 20]
            advice = [instead for phrase, instead in PHRASES.items() if re.fullmatch(phrase, match[0])]
            found += [f"{path.relative_to(ROOT)}: …{around}…: write {instead}" for instead in advice]
    assert not found, "\n".join(["phrases:", *found])


def test_functions_are_short_and_flat():
    assert TREES
    large = {
        where: f"{node.end_lineno - node.lineno + 1} lines, {depth(node)} levels"
        for name in MODULES
        for where, node in functions(name)
        if node.end_lineno - node.lineno >= 80 or depth(node) > 4
    }
    assert large == {}
