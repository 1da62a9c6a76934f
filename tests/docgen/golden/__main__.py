"""The documentation of two small domains, and of an operator of the standard, as files to read.

    python -m tests.docgen.golden        # writes what is in expected/; read the difference
"""

import json
import re
from functools import cache
from pathlib import Path

from opset import __version__
from opset.docgen import documentation
from opset.docgen.convertibility import Convertibility
from opset.docgen.markdown import operator_section
from opset.docgen.operator_pages import Site, operator_page
from opset.docgen.paths import Paths
from opset.opsets.registry import default_registry, registry_with
from tests.outline import outlined

HERE = Path(__file__).parent
EXPECTED = HERE / "expected"
DOMAINS = ["com.clay", "com.paint"]
EMPTY = ([], {}, "", None)
TYPES = ("types/index.html", "types/bool.html", "types/float.html", "types/int32.html")


@cache
def texts():
    """The text of each file that says something of the domains, by its path; of a page of the site its content."""
    registry = registry_with([HERE / "schemas"])
    found = {}
    for path, content in documentation(registry, "markdown", DOMAINS):
        found[path] = content.decode().partition("## Type sets")[0].replace(__version__, "VERSION")
    for path, content in documentation(registry, "html", DOMAINS):
        if path.startswith((*DOMAINS, "opsets/", "families/")) or path in TYPES:
            found[path] = re.search(r"<main.*</main>\n", content.decode(), re.DOTALL)[0]
        elif path == "assets/index.js":
            found["search.txt"] = searched(content.decode())
    for path, content in documentation(registry, "json", DOMAINS):
        if path == "operators.json":
            domains = json.loads(content)["domains"]
            found["operators.txt"] = "".join(f"{line}\n" for domain in domains for line in outlined(domain, EMPTY))
    standard = default_registry()
    site = Site(standard, Paths(standard, [""]), Convertibility(standard), {})
    found["Upsample.txt"] = "".join(f"{line}\n" for line in outlined(operator_page(site, "", "Upsample"), EMPTY))
    found["Upsample.md"] = "".join(f"{line}\n" for line in operator_section(standard, "", "Upsample"))
    return found


def searched(script):
    """What the search knows of the operators, and of pages by their kind, a line for each fact."""
    index = json.loads(script.partition("=")[2].rstrip(";\n"))
    lines = [f"domains {index['domains']}"]
    for name, domain, family, *facts, versions in index["operators"]:
        lines += [f"{name} {index['domains'][domain]} {index['families'][family]}", *(f"  {each!r}" for each in facts)]
        for since, flags, *columns in versions:
            lines.append(f"  {since} {flags} {' '.join(str(index['lists'][each]) for each in columns)}")
    lines += [" | ".join(each).replace("\n", " / ") for each in index["pages"] if "com." in "".join(each[:2])]
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
