"""Figures about the code that a refactoring moves, of this checkout or of an older one, side by side.

    python -m judges tables [--root DIR] [-v]

All is read from the source; nothing of the checkout is imported. With `--root`, the figures of that checkout stand
beside those of this one. `-v` names what is counted. The tables:

    lines       Python lines and files of each package, and lines of YAML
    imports     that go up in the order of packages, and circles of modules, those for type checking included
    words       rates of docstrings and names, as tests/test_language.py bounds them
    habits      untyped dictionaries, keys by id(), tuple assignments, excluded formatting, names of a form
    rooms       file names and class names that stand several times
    adapters    declared in the YAML, by direction and kind, and written ones
    duplicates  functions whose bodies are equal
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.test_language import CLAUSES, is_participle

ROOT = Path(__file__).resolve().parents[2]
Functions = (ast.FunctionDef, ast.AsyncFunctionDef)
FORMS = frozenset("each found made known given".split())
"""Names that say in which form a value is there, and not what it is."""
ADAPTER = re.compile(r"\b(up|down):\s*\"?(\w+)")


@dataclass(frozen=True)
class Table:
    """Figures by name, and what was counted."""

    figures: Mapping[str, float]
    items: Sequence[str] = ()


class Code:
    """The modules of a checkout: their texts and trees."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths = {
            ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
            for path in sorted((root / "opset").rglob("*.py"))
        }
        self.texts = {name: path.read_text(encoding="utf-8") for name, path in self.paths.items()}
        self.trees = {name: ast.parse(text) for name, text in self.texts.items()}
        self.nodes = [(name, node) for name, tree in self.trees.items() for node in ast.walk(tree)]

    def functions(self) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        """Yield every function with the name of its module."""
        yield from ((name, node) for name, node in self.nodes if isinstance(node, Functions))

    def order(self) -> Sequence[str]:
        """Return the packages from below to above, as the checkout's own test of its architecture lists them."""
        test = self.root / "tests" / "test_architecture.py"
        for node in ast.parse(test.read_text(encoding="utf-8")).body if test.exists() else ():
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ORDER":
                words = [each.value for each in ast.walk(node.value) if isinstance(each, ast.Constant)]
                return " ".join(map(str, words)).split()
        return ()


def part(name: str) -> str:
    """Return the package, or the module of opset/ itself, that a module belongs to; "" for `opset`."""
    return name.split(".")[1] if "." in name else ""


def lines(code: Code) -> Table:
    """Count the lines and files of each package, and the lines of YAML."""
    counts: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for name, path in code.paths.items():
        in_package = len(path.relative_to(code.root).parts) > 2
        package = part(name) if in_package else "opset itself"
        counts[package] += len(code.texts[name].splitlines())
        files[package] += 1
    yaml = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (code.root / "opset").rglob("*.yaml"))
    figures = {f"{package}, lines": counts[package] for package in sorted(counts)}
    figures |= {f"{package}, files": files[package] for package in sorted(files)}
    return Table({**figures, "all, lines": sum(counts.values()), "all, files": sum(files.values()), "YAML": yaml})


def imported(code: Code, name: str) -> Iterator[str]:
    """Yield the modules of the checkout that a module imports anywhere, for type checking alone too."""
    for node in ast.walk(code.trees[name]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in code.trees)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "opset":
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (each if each in code.trees else node.module for each in whole)


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one module (Tarjan's algorithm, without recursion)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    components = []
    for root in graph:
        work = [(root, iter(sorted(graph[root])))] if root not in number else []
        while work:
            node, rest = work[-1]
            if node not in number:
                number[node] = low[node] = len(number)
                path.append(node)
            for each in rest:
                if each not in number:
                    work.append((each, iter(sorted(graph[each]))))
                    break
                if each in path:
                    low[node] = min(low[node], low[each])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    index = path.index(node)
                    if len(path) - index > 1:
                        components.append(path[index:])
                    del path[index:]
    return components


def imports(code: Code) -> Table:
    """Count imports that go up in the order, and circles; modules that import lazily by name are left out."""
    lazy = {name for name, tree in code.trees.items() if any(_is_lazy(node) for node in tree.body)}
    graph = {name: set() if name in lazy else {*imported(code, name)} - {name} for name in code.trees}
    place = {name: number for number, name in enumerate(code.order())}
    up = [
        f"{name} imports {each}"
        for name, targets in graph.items()
        for each in sorted(targets)
        if part(name) in place and part(each) in place and place[part(each)] > place[part(name)]
    ]
    round_trips = [" <-> ".join(sorted(each)) for each in circles(graph)]
    return Table({"imports that go up": len(up), "circles": len(round_trips)}, [*up, *round_trips])


def _is_lazy(node: ast.AST) -> bool:
    return isinstance(node, Functions) and node.name == "__getattr__"


def words(code: Code) -> Table:
    """Count functions that are named by a participle, in 100, and clauses, in 10,000 words of docstrings."""
    functions = [(name, node) for name, node in code.functions()]
    participles = [f"{name}:{node.lineno} {node.name}" for name, node in functions if is_participle(node.name)]
    documented = (ast.Module, ast.ClassDef, *Functions)
    texts = [text for _, node in code.nodes if isinstance(node, documented) and (text := ast.get_docstring(node))]
    number = sum(len(re.findall(r"[A-Za-z']+", text)) for text in texts)
    whole = " ".join(" ".join(text.lower().split()) for text in texts)
    rates = {
        advice.partition(":")[0]: 10_000 * len(re.findall(pattern, whole)) / number
        for pattern, (_, advice) in CLAUSES.items()
    }
    share = 100 * len(participles) / len(functions)
    return Table({"functions": len(functions), "participles, in 100": share, **rates}, participles)


def habits(code: Code) -> Table:
    """Count what the code does against its types: untyped dictionaries, caches by id(), tuple assignments, and such."""
    text = "\n".join(code.texts.values())
    by_id = [
        f"{name}:{node.lineno}"
        for name, node in code.nodes
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "id"
    ]
    pairs = [
        node
        for _, node in code.nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)
    ]
    forms = Counter(node.id for _, node in code.nodes if isinstance(node, ast.Name) and node.id in FORMS)
    number = sum(len(each.splitlines()) for each in code.texts.values())
    figures = {
        "dict[str, Any]": text.count("dict[str, Any]"),
        "id()": len(by_id),
        "a, b = x, y, in 1,000 lines": 1_000 * len(pairs) / number,
        "fmt: skip": text.count("# fmt: skip"),
    }
    return Table(figures | {f"the name {name}": forms[name] for name in sorted(FORMS)}, by_id)


def rooms(code: Code) -> Table:
    """Count names of files and of classes that stand more than once."""
    files = Counter(path.name for path in code.paths.values() if path.name not in ("__init__.py", "__main__.py"))
    classes = Counter(node.name for _, node in code.nodes if isinstance(node, ast.ClassDef))
    twice = [f"{name}: {count}" for counts in (files, classes) for name, count in counts.most_common() if count > 1]
    figures = {
        "file names that stand twice": sum(count > 1 for count in files.values()),
        "class names that stand twice": sum(count > 1 for count in classes.values()),
    }
    return Table(figures, twice)


def adapters(code: Code) -> Table:
    """Count what transitions declare about their adapters, and the functions that are written."""
    declared: Counter[str] = Counter()
    for path in sorted((code.root / "opset" / "schemas").rglob("*.yaml")):
        for entry in re.findall(r"adapters:\s*\{(.*?)\}", path.read_text(encoding="utf-8"), re.DOTALL):
            declared.update(f"{direction} {kind}" for direction, kind in ADAPTER.findall(entry))
    written = sum(_decorator(each) in ("up", "down") for _, node in code.functions() for each in node.decorator_list)
    return Table({**dict(sorted(declared.items())), "functions written": written})


def _decorator(node: ast.AST) -> str:
    called = node.func if isinstance(node, ast.Call) else node
    return called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""


def duplicates(code: Code) -> Table:
    """Count functions of at least three statements whose bodies equal another's, docstrings aside."""
    homes: dict[str, list[str]] = defaultdict(list)
    for name, node in code.functions():
        body = node.body[1:] if ast.get_docstring(node) else node.body
        if len(body) >= 3:
            homes["\n".join(map(ast.dump, body))].append(f"{name}:{node.name}")
    equal = [" = ".join(each) for each in homes.values() if len(each) > 1]
    return Table({"groups of equal bodies": len(equal)}, equal)


TABLES = {
    "lines": lines,
    "imports": imports,
    "words": words,
    "habits": habits,
    "rooms": rooms,
    "adapters": adapters,
    "duplicates": duplicates,
}


def report(code: Code, before: Code | None = None, verbose: bool = False) -> Iterator[str]:
    """Yield the lines of the tables: each figure, after that of the checkout `before` if there is one."""
    for name, count in TABLES.items():
        table = count(code)
        earlier = count(before).figures if before else {}
        yield f"{name}"
        for words in dict.fromkeys([*earlier, *table.figures]):
            columns = [*([earlier.get(words, 0)] if before else []), table.figures.get(words, 0)]
            yield "".join(f"{each:9,.1f}" if each % 1 else f"{each:9,.0f}" for each in columns) + f"  {words}"
        yield from (f"           {item}" for item in table.items if verbose)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges tables", description=about)
    parser.add_argument("--root", type=Path, metavar="DIR", help="an older checkout, whose figures stand before")
    parser.add_argument("-v", "--verbose", action="store_true", help="name what is counted")
    options = parser.parse_args(arguments)
    before = Code(options.root) if options.root else None
    print("\n".join(report(Code(ROOT), before, options.verbose)))
    return 0
