"""The documentation of two small domains, and of an operator of the standard, as files to read.

python -m tests.docgen.golden        # writes what is in expected/; read the difference
"""

import json
import re
from functools import cache
from pathlib import Path
from unittest.mock import patch

from opset import __version__
from opset.docgen import documentation, index_pages, site, verb_pages
from opset.docgen.api import PublicName, Section
from opset.docgen.convertibility import Convertibility
from opset.docgen.guides import Guide
from opset.docgen.markdown import operator_section
from opset.docgen.operator_pages import Site, operator_page
from opset.docgen.paths import Paths
from opset.docgen.picture import Box, Diagram, Edge, picture
from opset.docgen.runtime_facts import facts_of_runtimes
from opset.docgen.runtime_pages import runtime_pages, runtimes_index
from opset.errors import CODES
from opset.opsets.registry import default_registry, registry_with
from opset.opsets.releases import RELEASES
from tests.outline import outlined

HERE = Path(__file__).parent
EXPECTED = HERE / "expected"
DOMAINS = ["com.clay", "com.paint"]
GUIDES = (
    Guide("index", "Guides", "# Guides\n", "", "this list"),
    Guide("firing", "Firing *clay*", "# Firing\n\n[Glazing](glazing.md#hot) or [not](other.md).\n", "How", "in a kiln"),
    Guide("glazing", "Glazing", "# Glazing\n\n## Hot\n\n    glaze\n", "How", "after it"),
    Guide("clay", "Clay", "# Clay\n", "What", "of which <all> is made"),
)
COMMANDS = (
    Guide("firing", "Firing", "$ opset fire a\n$ opset fire b \\\n    --hot\n$ opset fire c\n$ opset glaze\n", "", ""),
    Guide("glazing", "Glazing", "$ opset fire a\n$ opset fire d\nopset glaze\n    $ opset glaze\n", "", ""),
    Guide("clay", "Clay", "$ opset fire e\n", "", ""),
    Guide("paint", "Paint", "$ opset fire f\n", "", ""),
)
VERBS = (
    verb_pages.VerbPage("fire", "Fires clay.", "opset fire CLAY\n", "Fires *it*.\n\nTwice.", (("--hot", "How hot."),)),
    verb_pages.VerbPage(
        "glaze", "Glazes it.", "opset glaze\n", "", (("-o, --output FILE", "Where to."), ("-v", "Tells."))
    ),
    verb_pages.VerbPage("break", "Breaks it.", "opset break\n", "Breaks.", ()),
)
SECTIONS = [
    Section("opset", "Models", "opset-models", "Of *models*.", (
        PublicName("load", "opset.load", "function", "load(path: str) -> Model", "Return a model."),
        PublicName("Model", "opset.Model", "class", "Model", "A model.", (
            PublicName("save", "opset.Model.save", "method", "save(path: str) -> None", "Write it."),
        )),
    )),
    Section("opset.extend", "Types", "opset.extend-types", "", (
        PublicName("Size", "opset.extend.Size", "type", "Size = int", "A size."),
    )),
]  # fmt: skip
EMPTY = ([], {}, "", None)
TABLES = ("Softmax", "Gelu", "DFT")
"""Operators of the standard with much that a table of convertibility can say."""
TRANSITIONS = ("Add", "AveragePool", "Bernoulli", "BlackmanWindow", "LpPool", "Mish", "ThresholdedRelu")
WOVEN = ((8, 3), (14, 3), (16, 7), (20, 11))
RUNTIMES = ("onnxruntime-mobile", "triton", "tensorrt", "migraphx", "rknn-toolkit2")
BLOCK, LINE = re.compile(r"(?<!\n)(?=<(?:aside|d[dlt]|div|h\d|li|p|pre|section|t[rdh]|[ou]l)[ >])"), "\n"
"""Where a block begins, for which a page has no line of its own."""
TYPES = ("types/index.html", "types/bool.html", "types/float.html", "types/int32.html")


@cache
def woven(count, step):
    """A picture of boxes that read from each other by a rule, so that lines cross and pass layers."""
    boxes = [Box(f"in{number}", kind="input") for number in range(3)]
    edges = []
    for number in range(3, count):
        label = ("漢字" if number == 5 else f"Op{number}") * (1 + number % 3)
        detail = ("d" * (number * step % 23 + 1),) * (number % 4)
        boxes.append(Box(label, detail, "op.html" if number == 4 else ""))
        starts = {
            number * step % number,
            (number * number * step + 1) % number,
            number - 1 if number % 3 else number // 2,
        }
        edges += [Edge(start, number, f"v{start}_{(start + number) % 2}") for start in sorted(starts)]
    boxes.append(Box("out", kind="output"))
    return picture(Diagram("woven", boxes, [*edges, Edge(count - 1, count, "out")]))


@cache
def texts():
    """The text of each file that says something of the domains, by its path; of a page of the site its content."""
    registry = registry_with([HERE / "schemas"])
    found = {}
    for path, content in documentation(registry, "markdown", DOMAINS):
        found[path] = content.decode().partition("## Type sets")[0].replace(__version__, "VERSION")
    with patch.multiple(site, guides=lambda: GUIDES, api_page=lambda: SECTIONS):
        html = [*documentation(registry, "html", DOMAINS)]
    for path, content in html:
        if path.startswith((*DOMAINS, "opsets/", "families/", "guides/")) or path in (*TYPES, "index.html", "api.html"):
            shown = re.search(r"<main.*</main>", content.decode(), re.DOTALL)[0]
            found[path] = f"{BLOCK.sub(LINE, shown)}\n"
        elif path == "assets/index.js":
            found["search.txt"] = searched(content.decode())
    for path, content in documentation(registry, "json", DOMAINS):
        if path == "operators.json":
            domains = json.loads(content)["domains"]
            found["operators.txt"] = "".join(f"{line}\n" for domain in domains for line in outlined(domain, EMPTY))
    standard = default_registry()
    runtimes = facts_of_runtimes(standard)
    of_standard = Site(standard, Paths(standard, [""]), Convertibility(standard), {}, runtimes)
    ml = Site(standard, Paths(standard, ["ai.onnx.ml"]), of_standard.convertibility, {})
    changed = [number for number in range(1, len(RELEASES)) if 0 < RELEASES[number - 1].ml < RELEASES[number].ml]
    more = [index_pages._release_page(ml, ["ai.onnx.ml"], *RELEASES[number - 1 : number + 1]) for number in changed[1:]]
    more = [*more, runtimes_index(of_standard)]
    lines = [*indexes(registry), *(line for page in more for line in outlined(page._asdict(), EMPTY))]
    found["pages.txt"] = "".join(f"{line}\n" for line in lines)
    found["Upsample.txt"] = "".join(f"{line}\n" for line in outlined(operator_page(of_standard, "", "Upsample"), EMPTY))
    found["Upsample.md"] = "".join(f"{line}\n" for line in operator_section(standard, "", "Upsample", runtimes))
    with patch.object(verb_pages, "guides", lambda: COMMANDS):
        pages = [*verb_pages.verb_pages(VERBS)]
    found["verbs.txt"] = "".join(
        f"{line}\n" for page in pages for line in (page.path, *outlined(page._asdict(), EMPTY))
    )
    pages = {page.path: page.page for page in runtime_pages(of_standard)}
    shown = [shortened(pages[Paths.runtime(name)]) for name in RUNTIMES]
    found["runtimes.txt"] = "".join(f"{line}\n" for page in shown for line in outlined(page, EMPTY))
    tables = [of_standard.convertibility.table_of(name) for name in TABLES]
    made = Convertibility(registry_with([HERE / "made"]))
    tables += [made.table_of(name, "com.example") for name in ("Made", "Gone", "Lost")]
    tables += [of_standard.convertibility.table_of(name)["transitions"] for name in TRANSITIONS]
    tables.append(lowerings_of(standard, of_standard.convertibility))
    found["convertibility.txt"] = "".join(f"{line}\n" for each in tables for line in outlined(each, EMPTY))
    found["pictures.txt"] = "".join(woven(*each).replace("><", ">\n<") + "\n" for each in WOVEN)
    return found


def shortened(page):
    """The data of the page of a runtime, with the first two of the operators that each table lists."""
    page["operators"]["groups"][2:] = []
    for row in (row for each in page["fates"] for row in each["table"]["rows"]):
        row["cells"][1]["links"][2:] = []
    return page


def lowerings_of(standard, convertibility):
    """The operators that express some of the standard, and at which versions of the operator set."""
    found = {}
    for operator in ("Acosh", "AffineGrid", "Gelu", "MelWeightMatrix", "Relu", "Resize", "Sin"):
        for version in range(1, standard.domains[""] + 1):
            if (lowering := convertibility.lowering_of(operator, "", version)) is not None:
                names = (
                    ["".join(each) for each in sorted(lowering.certain)],
                    ["".join(each) for each in sorted(lowering.made)],
                )
                found.setdefault(f"{operator}: {names}", []).append(version)
    return {key: f"{min(versions)} to {max(versions)}" for key, versions in found.items()}


def indexes(registry):
    """The data of those index pages that are not of one domain, with the first two of what they list."""
    chosen = Paths(registry, ["ai.onnx.preview.training", *DOMAINS[:1]])
    of_both = Site(registry, chosen, Convertibility(registry), {})
    few = {"CODES": dict([*CODES.items()][:2]), "RELEASES": RELEASES[:1] + RELEASES[8:9] + RELEASES[11:12]}
    with patch.multiple(index_pages, **few):
        pages = [*index_pages.index_pages(of_both, index_pages.operators_of(of_both))]
    for page in pages:
        if page.path == "sets.html":
            page.page["parts"][0]["table"]["rows"][2:] = []
        if page.path.startswith(("errors/", "releases", "sets.html", "tags.html")):
            yield from (page.path, *outlined(page._asdict()))
        else:
            yield f"{page.path}: {page.page['description']}"


def searched(script):
    """What the search knows of the operators, and of pages by their kind, a line for each fact."""
    index = json.loads(script.partition("=")[2].rstrip(";\n"))
    lines = [f"domains {index['domains']}"]
    for name, domain, family, *facts, versions in index["operators"]:
        lines += [f"{name} {index['domains'][domain]} {index['families'][family]}", *(f"  {each!r}" for each in facts)]
        for since, flags, *columns in versions:
            lines.append(f"  {since} {flags} {' '.join(str(index['lists'][each]) for each in columns)}")
    shown = [each for each in index["pages"] if "com." in "".join(each[:2]) or each[1].startswith(("guides", "api"))]
    lines += [" | ".join(each).replace("\n", " / ") for each in shown]
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
