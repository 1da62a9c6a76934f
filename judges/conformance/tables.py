"""Figures about the code: what refactoring moves, for this checkout or an older one.

    python -m judges tables [--root DIR] [-v]

All is read from the source; nothing of the checkout is imported. `-v` names what is counted. The tables:

    lines           Python lines per package
    imports         that go up in the order of packages, and circles of modules, those for type checking included
    adapters        declared in the YAML, by transition and direction
    attributes      kernels, inference and adapters that compare an attribute with a list of legal strings or numbers
    constraints     labels that the kernel of an operator and its inference function both name
    registrations   tables that decorators fill
    element types   modules that list names of element types
    duplicates      functions whose bodies are equal
    docstrings      of functions: their first words
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ORDER = (
    "errors text model schemas opsets inference reference tensor_io checker version_converter adapters extend docgen "
    "workflow cli __main__"
).split()
# Where modules of the older layout, in which opsets/ held all that computes, belong in this one.
EARLIER = {
    "opset.opsets.inference": "inference",
    **{f"opset.opsets.{name}": "reference" for name in "kernels evaluator programs comparison examples slices".split()},
    **{f"opset.opsets.{name}": "tensor_io" for name in "archives datafiles generated literals summary".split()},
}
ELEMENTS = frozenset(
    "bfloat16 float16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float8e8m0 float4e2m1 int4 uint4 int2 "
    "uint2 complex64 complex128".split()
)
LABEL = re.compile(r"C\d+")
Functions = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Table:
    """A figure or several, and what was counted."""

    figures: Sequence[tuple[str, int]]
    items: Sequence[str] = ()


class Code:
    """The modules of a checkout: their trees and lines."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths = {
            ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
            for path in sorted((root / "opset").rglob("*.py"))
        }
        self.texts = {name: path.read_text(encoding="utf-8") for name, path in self.paths.items()}
        self.trees = {name: ast.parse(text) for name, text in self.texts.items()}

    def layer(self, *packages: str) -> dict[str, ast.Module]:
        """Return the modules of the first of these packages that there are."""
        for package in packages:
            if found := {name: tree for name, tree in self.trees.items() if f"{name}.".startswith(f"{package}.")}:
                return found
        return {}

    def kernels(self) -> dict[str, ast.Module]:
        return self.layer("opset.reference.kernels", "opset.opsets.runtime_kernels")

    def inference(self) -> dict[str, ast.Module]:
        return self.layer("opset.inference", "opset.opsets.inference")


def lines(code: Code) -> Table:
    """Count lines per package, and in all."""
    counts: Counter[str] = Counter()
    for name, path in code.paths.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        counts[package] += len(code.texts[name].splitlines())
    return Table([*sorted(counts.items()), ("all", sum(counts.values()))])


def imported(code: Code, name: str) -> Iterator[str]:
    """Yield the modules of the checkout that a module imports anywhere, for type checking alone too."""
    for node in ast.walk(code.trees[name]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in code.trees)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "opset":
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (each if each in code.trees else node.module for each in whole)


def part(name: str) -> str:
    """Return the part of the order that a module belongs to, which for `opset` itself is none."""
    earlier = next((EARLIER[key] for key in EARLIER if f"{name}.".startswith(f"{key}.")), None)
    return earlier or (name.split(".")[1] if "." in name else "")


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one module (Tarjan's algorithm, without recursion)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    found = []
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
                        found.append(path[index:])
                    del path[index:]
    return found


def imports(code: Code) -> Table:
    """Count imports that go up in ORDER, and circles of modules; modules that import lazily by name are left out."""
    lazy = {name for name, tree in code.trees.items() if any(_named(node, "__getattr__") for node in tree.body)}
    graph = {name: set() if name in lazy else {*imported(code, name)} - {name} for name in code.trees}
    up = [
        f"{name} imports {each}"
        for name, targets in graph.items()
        for each in sorted(targets)
        if part(name) and part(each) in ORDER and ORDER.index(part(each)) > ORDER.index(part(name))
    ]
    round_trips = [" <-> ".join(sorted(each)) for each in circles(graph)]
    return Table([("imports that go up", len(up)), ("circles", len(round_trips))], [*up, *round_trips])


def _named(node: ast.AST, name: str) -> bool:
    return isinstance(node, Functions) and node.name == name


def adapters(code: Code) -> Table:
    """Count what transitions declare about their adapters, and the functions that are written."""
    declared: Counter[str] = Counter()
    transitions = 0
    for path in sorted((code.root / "opset" / "schemas").glob("*/*.yaml")):
        text = path.read_text(encoding="utf-8")
        transitions += len(re.findall(r"^  change:", text, re.MULTILINE))
        for entry in re.findall(r"adapters:\s*\{(.*?)\}", text, re.DOTALL):
            for direction, kind in re.findall(r"\b(up|down):\s*\"?(\w+)", entry):
                declared[f"{direction} {kind}"] += 1
    functions = sum(
        _decorator(each) in ("up", "down")
        for tree in code.layer("opset.adapters").values()
        for node in ast.walk(tree)
        if isinstance(node, Functions)
        for each in node.decorator_list
    )
    return Table([("transitions", transitions), *sorted(declared.items()), ("functions written", functions)])


def _decorator(node: ast.AST) -> str:
    called = node.func if isinstance(node, ast.Call) else node
    return called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""


def attributes(code: Code) -> Table:
    """Count comparisons of an attribute with a list of what is legal."""
    found: dict[str, list[str]] = {"lists of strings": [], "lists of numbers": []}
    kernels = code.kernels()
    for name, tree in (kernels | code.inference() | code.layer("opset.adapters")).items():
        constants = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for function in (node for node in ast.walk(tree) if isinstance(node, Functions)):
            parameters = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg) and name in kernels}
            for left, right in compared(function):
                right = constants.get(right.id, right) if isinstance(right, ast.Name) else right
                if (kind := listed(right)) and is_attribute(left, parameters):
                    found[kind].append(f"{name}:{left.lineno} {ast.unparse(left)} {ast.unparse(right)}")
    items = [item for each in found.values() for item in each]
    return Table([(kind, len(each)) for kind, each in found.items()], items)


def compared(function: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what is required to be in what: `x not in (…)`, and what a check of choices is called with."""
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.NotIn):
            yield node.left, node.comparators[0]
        elif isinstance(node, ast.Call) and "choice" in _decorator(node) and len(node.args) > 2:
            yield node.args[1], node.args[2]


def listed(node: ast.expr) -> str:
    """Return which kind of list this is, if it is one of at least two constants."""
    if not isinstance(node, ast.Tuple | ast.List | ast.Set) or len(node.elts) < 2:
        return ""
    values = [each.value for each in node.elts if isinstance(each, ast.Constant)]
    if len(values) < len(node.elts):
        return ""
    return "lists of strings" if all(isinstance(each, str) for each in values) else "lists of numbers"


def is_attribute(node: ast.expr, parameters: set[str]) -> bool:
    """Whether this is an attribute: a kernel's parameter, a name in quotes, or what attribute() or attr() returns."""
    if isinstance(node, ast.Constant):
        return True
    return (isinstance(node, ast.Name) and node.id in parameters) or _decorator(node) in ("attribute", "attr")


def constraints(code: Code) -> Table:
    """Count pairs of operator and label that its kernel and its inference function name, or helpers that they call."""
    kernels, inference = labels(code.kernels(), "kernel"), labels(code.inference(), "infer")
    shared = {operator: kernels[operator] & inference[operator] for operator in sorted(kernels)}
    both = [f"{operator}: {' '.join(sorted(named))}" for operator, named in shared.items() if named]
    return Table([("in both", _size(shared)), ("in kernels", _size(kernels)), ("in inference", _size(inference))], both)


def _size(found: Mapping[str, set[str]]) -> int:
    return sum(map(len, found.values()))


def labels(modules: Mapping[str, ast.Module], decorator: str) -> dict[str, set[str]]:
    """Return by operator the labels in functions registered for it, and in functions of the layer that they call."""
    own: dict[str, set[str]] = {}
    calls: dict[str, set[str]] = {}
    hooks: dict[str, set[str]] = defaultdict(set)
    for name, tree in modules.items():
        for node in (each for each in ast.walk(tree) if isinstance(each, Functions)):
            key = f"{name}:{node.name}"
            words = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
            own[key] = {word for word in words if isinstance(word, str) and LABEL.fullmatch(word)}
            calls[key] = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            for each in node.decorator_list:
                if isinstance(each, ast.Call) and _decorator(each) == decorator:
                    operators = [word.value for word in each.args if isinstance(word, ast.Constant)]
                    for operator in operators:
                        hooks[str(operator)].add(key)
    homes = defaultdict(set)
    for key in own:
        homes[key.split(":")[1]].add(key)
    found: dict[str, set[str]] = defaultdict(set)
    for operator, starts in hooks.items():
        seen, waiting = set(), list(starts)
        while waiting:
            key = waiting.pop()
            if key in seen:
                continue
            seen.add(key)
            module = key.split(":")[0]
            for word in calls[key]:
                local = f"{module}:{word}"
                waiting.extend([local] if local in own else homes[word] if len(homes[word]) == 1 else [])
        found[operator] = set().union(*(own[key] for key in seen))
    return found


def registrations(code: Code) -> Table:
    """Count module-level tables that start empty, and instances of a class of hooks."""
    found = []
    for name, tree in code.trees.items():
        for node in tree.body:
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            empty = isinstance(node.value, ast.Dict | ast.List) and not ast.unparse(node.value).strip("{}[]")
            if empty or (isinstance(node.value, ast.Call) and "Hooks" in ast.unparse(node.value.func)):
                found.append(f"{name}: {ast.unparse(node)[:60]}")
    return Table([("tables", len(found))], found)


def element_types(code: Code) -> Table:
    """Count modules that name at least five of the narrow and complex element types, in strings, keywords or names."""
    found = []
    for name, tree in code.trees.items():
        words: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 500:
                words.update(node.value.lower().replace("_", "").split())
            elif isinstance(node, ast.keyword | ast.Attribute | ast.Name):
                word = next(getattr(node, field) for field in ("arg", "attr", "id") if hasattr(node, field))
                words.add((word or "").lower().replace("_", ""))
        if len(words & ELEMENTS) >= 5:
            found.append(f"{name}: {len(words & ELEMENTS)}")
    return Table([("modules", len(found))], found)


def duplicates(code: Code) -> Table:
    """Count functions of at least three statements whose bodies equal another's, docstrings aside."""
    homes: dict[str, list[str]] = defaultdict(list)
    for name, tree in code.trees.items():
        for node in (each for each in ast.walk(tree) if isinstance(each, Functions)):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            if len(body) >= 3:
                homes["\n".join(map(ast.dump, body))].append(f"{name}:{node.name}")
    found = [" = ".join(each) for each in homes.values() if len(each) > 1]
    return Table([("groups of equal bodies", len(found))], found)


def docstrings(code: Code) -> Table:
    """Count the first words of the docstrings of functions."""
    words = Counter(
        text.split()[0]
        for tree in code.trees.values()
        for node in ast.walk(tree)
        if isinstance(node, Functions) and (text := ast.get_docstring(node))
    )
    shown = words.most_common(12)
    rest = sum(words.values()) - sum(count for _, count in shown)
    return Table([*shown, ("others", rest), ("Give, Say, Tell", sum(words[word] for word in ("Give", "Say", "Tell")))])


TABLES = {
    "lines": lines,
    "imports": imports,
    "adapters": adapters,
    "attributes": attributes,
    "constraints": constraints,
    "registrations": registrations,
    "element types": element_types,
    "duplicates": duplicates,
    "docstrings": docstrings,
}


def text(tables: Iterable[tuple[str, Table]], verbose: bool) -> Iterator[str]:
    """Yield the lines of the report."""
    for name, table in tables:
        yield f"{name}"
        yield from (f"  {count:7,}  {what}" for what, count in table.figures)
        yield from (f"           {item}" for item in table.items if verbose)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges tables", description=about)
    parser.add_argument("--root", type=Path, default=ROOT, metavar="DIR", help="a checkout (default: this one)")
    parser.add_argument("-v", "--verbose", action="store_true", help="name what is counted")
    options = parser.parse_args(arguments)
    code = Code(options.root)
    print("\n".join(text(((name, table(code)) for name, table in TABLES.items()), options.verbose)))
    return 0
