"""The documentation of a small domain as files to read, in which every kind of section occurs.

    python -m tests.docgen.golden        # writes what is in expected/; read the difference
"""

import json
import re
from functools import cache
from pathlib import Path

from opset import __version__
from opset.docgen import documentation
from opset.opsets.registry import registry_with

HERE = Path(__file__).parent
EXPECTED = HERE / "expected"
DOMAIN = "com.paint"
TYPES = ("types/index.html", "types/bool.html", "types/float.html", "types/int32.html")


@cache
def texts():
    """The text of each file that says something of the domain, by its path; of a page of the site its content."""
    registry = registry_with([HERE / "schemas"])
    found = {}
    for path, content in documentation(registry, "markdown", [DOMAIN]):
        found[path] = content.decode().partition("## Type sets")[0].replace(__version__, "VERSION")
    for path, content in documentation(registry, "html", [DOMAIN]):
        if path.startswith((DOMAIN, "opsets/", "families/")) or path in TYPES:
            found[path] = re.search(r"<main.*</main>\n", content.decode(), re.DOTALL)[0]
        elif path == "assets/index.js":
            found["search.txt"] = searched(content.decode())
    return found


def searched(script):
    """What the search knows of the operators, and of pages by their kind, a line for each fact."""
    index = json.loads(script.partition("=")[2].rstrip(";\n"))
    lines = [f"domains {index['domains']}"]
    for name, domain, family, *facts, versions in index["operators"]:
        lines += [f"{name} {index['domains'][domain]} {index['families'][family]}", *(f"  {each!r}" for each in facts)]
        for since, flags, *columns in versions:
            lines.append(f"  {since} {flags} {' '.join(str(index['lists'][each]) for each in columns)}")
    lines += [" | ".join(each).replace("\n", " / ") for each in index["pages"] if DOMAIN in "".join(each)]
    return "\n".join(lines) + "\n"


def main():
    """Write the texts, and remove files of texts that are no more."""
    for path in EXPECTED.rglob("*"):
        if path.is_file() and path.relative_to(EXPECTED).as_posix() not in texts():
            path.unlink()
    for path, text in texts().items():
        (EXPECTED / path).parent.mkdir(parents=True, exist_ok=True)
        (EXPECTED / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
