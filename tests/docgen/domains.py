"""Folders of operator YAML for the tests of the documentation: a small domain, and hostile ones."""

import json
import os

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "![a](http://example.org/x)",
    "[a](https://example.org)",
    "[a]: https://example.org\n\n[a] <https://example.org> https://example.org www.a.org",
    "```\n<script>\n```",
    "~~~~\n<script>",
    "a\x1b[31mb\u202ec\u2028e\x85f\x7f",
    "&lt;script&gt; &#x202e;",
    "{{ 1 }} {% x %}",
    "| a |\n| - |\n| <b onclick=x> `|` |",
    "# <i>\n\na\n===\nb\n---",
    "</p></div><!--",
    "`</code>`` <b>",
    "***",
    "> 1. - <u>",
    "1. a\n   - b\n\n         <x>\n2. c",
    "    <pre>",
    "\\",
    "\\<b>",
    "`",
    "a `` b ` c",
    "$x$ ~~y~~ *z* __q__",
    "-",
    "+ a",
    "7) b",
    "<!DOCTYPE x>",
    "<?php ?>",
    "<![CDATA[x]]>",
    "[^1]: x",
    "a\n: b",
    "=1+1",
    "line  \n<br>",
    "* * *",
    "```math\n\\href{x}{y}\n```",
]
NAMES = [
    "<b>",
    "Contents",
    "|",
    "`",
    "..",
    "CON",
    "con",
    "a/b",
    "../../up",
    "a\\b",
    "nul.txt",
    "*x*",
    "[a](b)",
    "![a](b)",
    "x" * 190,
    "Étage",
    ".hidden",
    "-o",
    "a b",
    "$x$",
    "_x_",
    "&lt;",
    "# a",
    "x" * 190 + "y",
]


def operator(name="Scale", text="scales", **also):
    """The declaration of an operator with one text in all places that take prose."""
    version = {
        "since": 2,
        "doc": text,
        "formula": text,
        "counterparts": {"numpy": text},
        "change": {
            "inputs": {"added": ["B"]},
            "types": {"T": ["+double"]},
            "attributes": {"mode": {"added": "string", "default": "a"}},
            "meaning": text,
            "clarified": text,
            "adapters": {"up": "derived", "down": "derived"},
        },
        "inputs": [{"name": "X", "type": "T", "doc": text}, {"name": "B", "type": "T", "optional": True, "doc": text}],
        "outputs": [{"name": "Y", "type": "T", "doc": text}],
        "attributes": {
            "alpha": {"type": "float", "default": 1e-05, "doc": text},
            "mode": {"type": "string", "default": "a", "doc": text},
            "ints": {"type": "ints", "default": [1, -1], "doc": text},
        },
        "types": {"T": ["float", "double"]},
        "constraints": {"C1": text},
        "function": [{"opset": 14, "nodes": "Y = Mul (X, X)\n"}],
    }
    older = {
        "since": 1,
        "doc": text,
        "inputs": [{"name": "X", "type": "T", "doc": text}],
        "outputs": [{"name": "Y", "type": "T", "doc": text}],
        "attributes": {key: version["attributes"][key] for key in ("alpha", "ints")},
        "types": {"T": ["float"]},
    }
    example = {
        "name": "one",
        "since": 1,
        "doc": text,
        "attributes": {"alpha": 0.5},
        "inputs": [{"float": [[1.5, ".nan"], [2, 3]]}],
        "outputs": [{"float": [[0.75, ".inf"], [1, 1.5]]}],
    }
    cases = [{"text": text, "since": 2}, {"text": "two", "since": 2}]
    versions = [version, older]
    document = {"operator": name, "family": "acme", "versions": versions, "special_cases": cases, "examples": [example]}
    return document | also


def write(folder, domain, *operators):
    """Write operators into a folder of schemas, as YAML in the form of JSON, and return the folder."""
    place = folder / domain
    place.mkdir(parents=True)
    for number, each in enumerate(operators):
        text = json.dumps(each).replace('".nan"', ".nan").replace('".inf"', ".inf")
        (place / f"Operator{number}.yaml").write_text(text)
    return folder


def hostile(folder):
    """Write domains whose names and texts would do something if they were not escaped; return the folder."""
    write(folder, "com.acme", *(operator(f"Op{number}", text) for number, text in enumerate(HOSTILE)))
    write(folder, "Com.Acme", *(operator(name) for name in NAMES))
    for domain in ("CON", "<i>[x](y)|`*", "...", "-rf"):
        write(folder, domain, operator())
    return folder


def tree(folder):
    """The files of a folder by their paths, without the manifest."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != ".opset-docs"]
    return {path.relative_to(folder).as_posix().replace(os.sep, "/"): path.read_bytes() for path in paths}
