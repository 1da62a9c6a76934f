"""Draws what a reader who has seen nothing else explains: functions by name, signature and docstring, and pages.

    python -m judges reading --seed 7 [--functions 40] [--operators 20] [--codes 20] [--beside onnx_ir]

A reader says of each function what it does, and of each sentence of a page whether one reading was enough. At least 36
of 40 functions should be right, at most 4 of them by guess; at most 5 % of the sentences of pages should need a second
reading. What failed is mended, and another seed drawn. Readers differ in strictness: `--beside` mixes in as many
functions of an installed package, so that one reader judges both.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from opset.docgen.markdown import operator_section
from opset.errors import CODES
from opset.explanations import page_of
from opset.opsets.registry import default_registry

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("version_converter", "inference", "schemas", "workflow", "docgen")


def functions(folder: Path, root: Path) -> Iterator[str]:
    """Yield each documented function in a folder: its module, as imported from `root`, its signature, its docstring."""
    for path in sorted(folder.rglob("*.py")):
        module = ".".join(path.relative_to(root).with_suffix("").parts)
        yield from _functions(ast.parse(path.read_text(encoding="utf-8")), module)


def _installed(package: str) -> Path:
    """Return the folder of an installed package. Raises SystemExit if there is none."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise SystemExit(f"the package {package!r} is not installed")
    return Path(found.submodule_search_locations[0])


def _functions(node: ast.AST, where: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if text := ast.get_docstring(child):
                result = f" -> {ast.unparse(child.returns)}" if child.returns else ""
                yield f"{where}\n\n    def {child.name}({ast.unparse(child.args)}){result}\n\n{text}"
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{where}, class {child.name}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what is drawn, numbered; return the exit status."""
    parser = argparse.ArgumentParser(prog="judges reading", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--functions", type=int, default=40, help="how many functions are drawn")
    parser.add_argument("--operators", type=int, default=20, help="how many pages of operators are drawn")
    parser.add_argument("--codes", type=int, default=20, help="how many pages of error codes are drawn")
    parser.add_argument("--beside", metavar="PACKAGE", help="an installed package whose functions are mixed in")
    options = parser.parse_args(arguments)
    draw = random.Random(options.seed)
    drawn = draw.sample(
        [text for name in PACKAGES for text in functions(ROOT / "opset" / name, ROOT)], options.functions
    )
    if options.beside:
        folder = _installed(options.beside)
        drawn += draw.sample(list(functions(folder, folder.parent)), options.functions)
        draw.shuffle(drawn)
    for number, text in enumerate(drawn, 1):
        print(f"## Function {number}: {text}\n")
    registry = default_registry()
    operators = [(domain, name) for domain in registry.domains for name in registry.operators(domain)]
    for domain, name in draw.sample(operators, options.operators):
        print(*operator_section(registry, domain, name), "", sep="\n")
    for code in draw.sample(sorted(CODES), options.codes):
        print(f"{page_of(code)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
