"""Small changes of statements of opset/, each of which is likely to change what some caller sees.

Docstrings, type hints, messages and what stands in a `raise` are left alone. A change replaces the text of one node of
the syntax tree; everything around it stays as it is written.
"""

from __future__ import annotations

import ast
import builtins
import copy
import difflib
import random
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from judges.mutation.scratch import ROOT

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any"}
_WITHOUT_SWAPS = ("isinstance", "min", "max", "op.Add", "op.Mul", "op.And", "op.Or")
"""Functions whose arguments, in another order, are an error, or give the same."""
WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
Change = tuple[str, ast.AST, str]
"""The kind of a change, the node that it replaces, and the text in its place."""


class Mutant(NamedTuple):
    """One change of a file: its lines, its function, its kind, and the text of these lines before and after."""

    file: str
    line: int
    last: int
    function: str
    kind: str
    before: str
    after: str
    replacement: str
    """The text of the lines from `line` to `last`."""

    @property
    def package(self) -> str:
        """The part of opset/ that the file belongs to."""
        return package_of(self.file)

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What identifies the change also after other lines were edited."""
        return self.file, self.function, self.before, self.after

    @property
    def text(self) -> str:
        """The whole text of the file with the change."""
        lines = _lines(self.file)
        before, after = lines[: self.line - 1], lines[self.last :]
        return b"".join([*before, self.replacement.encode("utf-8"), *after]).decode("utf-8")

    @property
    def runs_once(self) -> bool:
        """Whether a process runs the change once: in a module, a class, a default, or a function with a cache."""
        return self.line not in _lines_run_again(self.file)

    def is_python(self) -> bool:
        """Whether the changed file is Python, and another program than before."""
        try:
            return ast.dump(ast.parse(self.text)) != ast.dump(ast.parse(b"".join(_lines(self.file))))
        except SyntaxError:
            return False

    def diff(self) -> str:
        """Return the change as a diff with a few lines around it."""
        old = b"".join(_lines(self.file)).decode("utf-8").splitlines()
        lines = difflib.unified_diff(old, self.text.splitlines(), self.file, self.kind, n=2, lineterm="")
        return "\n".join(lines)


def package_of(file: str) -> str:
    """Return the part of opset/ that a file belongs to: a folder, or `opset` for its modules."""
    parts = file.split("/")
    return parts[1] if len(parts) > 2 else "opset"


def modules(packages: Sequence[str] = ()) -> list[str]:
    """Return the modules of some packages, of all if none is named."""
    files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "opset").rglob("*.py"))
    return [each for each in files if not packages or package_of(each) in packages]


@cache
def _lines(file: str) -> list[bytes]:
    return (ROOT / file).read_bytes().splitlines(keepends=True)


@cache
def _lines_run_again(file: str) -> set[int]:
    """Return the numbers of the lines of a file that are in the body of a function without a cache."""
    nodes = ast.walk(ast.parse(b"".join(_lines(file))))
    functions = [each for each in nodes if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    lines: dict[bool, set[int]] = {True: set(), False: set()}
    for each in functions:
        cached = any(re.match(r"(functools\.)?(lru_)?cache\b", ast.unparse(name)) for name in each.decorator_list)
        lines[cached].update(range(each.body[0].lineno, (each.end_lineno or 0) + 1))
    return lines[False] - lines[True]


def mutants(file: str) -> list[Mutant]:
    """Return the mutants of a file, among them some that are not Python."""
    lines = _lines(file)
    found = [_mutant(file, lines, *change) for change in _changes(ast.parse(b"".join(lines)))]
    return list({each.key: each for each in found}.values())


def draw(seed: int, count: int, packages: Sequence[str] = (), wanted: Sequence[str] = ()) -> list[Mutant]:
    """Return random mutants, the same for the same seed and code; each kind is as likely as the others."""
    rng = random.Random(seed)
    kinds: dict[str, list[Mutant]] = {}
    for file in modules(packages):
        for mutant in mutants(file):
            if wanted and mutant.kind not in wanted:
                continue
            kinds.setdefault(mutant.kind, []).append(mutant)
    chosen: dict[tuple[object, ...], Mutant] = {}
    while kinds and len(chosen) < count:
        kind = rng.choice(sorted(kinds))
        mutant = kinds[kind].pop(rng.randrange(len(kinds[kind])))
        if mutant.is_python():
            chosen[mutant.key] = mutant
        if not kinds[kind]:
            del kinds[kind]
    return list(chosen.values())


def raises(file: str) -> list[Mutant]:
    """Return the mutants of a file that lack one `raise` of an exception of its own, which is not one of Python's."""
    return [each for each in mutants(file) if each.kind == "raise removed" and not _of_python(each)]


def _of_python(mutant: Mutant) -> bool:
    name = re.match(r"raise\s*(\w+)?", mutant.before)
    return name is not None and (name[1] is None or hasattr(builtins, name[1]))


def _mutant(file: str, lines: list[bytes], kind: str, node: ast.AST, replacement: str, function: str) -> Mutant:
    """Return the mutant with a node replaced."""
    first, last = node.lineno, node.end_lineno  # type: ignore[attr-defined]
    begin, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
    head, tail, old = lines[first - 1][:begin], lines[last - 1][end:], b"".join(lines[first - 1 : last])
    new = head + replacement.encode("utf-8") + tail
    before, after = (b" ".join(each.split()).decode("utf-8") for each in (old, new))
    return Mutant(file, first, last, function, kind, before, after, new.decode("utf-8"))


def _changes(tree: ast.Module) -> Iterator[tuple[str, ast.AST, str, str]]:
    """Yield every change of a module with the dotted name of the function that it is in."""

    def walk(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST, str, str]]:
        for kind, where, text in _of_node(node):
            yield kind, where, text, function
        for child in _children(node):
            named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            name = f"{function}.{child.name}".lstrip(".") if named else function  # type: ignore[attr-defined]
            yield from walk(child, name)

    return walk(tree, "")


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node that are changed: no docstrings, type hints, messages or parts of strings."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_comment", "bases", "decorator_list"):
            continue
        if name == "keywords":
            value = [each for each in value if not _changes_nothing(node, each)]
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr):
                continue
            if isinstance(child, ast.Raise) and child.exc is not None:
                yield ast.copy_location(ast.Raise(exc=ast.copy_location(ast.Constant(""), child)), child)
            elif isinstance(child, ast.Assign | ast.AnnAssign) and (_is_hint(child) or _is_bound(child)):
                continue
            elif not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):
                yield child


def _changes_nothing(call: ast.AST, keyword: ast.keyword) -> bool:
    """Whether a keyword states what is so anyway, or saves memory alone: `strict` of zip, `copy` of astype."""
    function = call.func if isinstance(call, ast.Call) else None
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    return (name, keyword.arg) in (("zip", "strict"), ("astype", "copy"))


def _is_hint(node: ast.Assign | ast.AnnAssign) -> bool:
    """Whether an assignment names types or what a module exports: nothing that runs depends on it."""
    if isinstance(node, ast.AnnAssign):
        return False
    value, target = node.value, node.targets[0]
    if isinstance(target, ast.Name) and target.id == "__all__":
        return True
    words = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
    return isinstance(value, ast.Subscript | ast.BinOp) and bool(
        words & {"Callable", "Union", "Optional", "Iterator", "Literal"}
    )


def _is_bound(node: ast.Assign | ast.AnnAssign) -> bool:
    """Whether an assignment names a round number that somebody chose: nobody relies on one more or less."""
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    if not (isinstance(target, ast.Name) and target.id.isupper()):
        return False
    value = node.value
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.LShift | ast.Mult | ast.Pow):
        factors = value.left, value.right
        return all(isinstance(each, ast.Constant) and type(each.value) is int for each in factors)
    if not (isinstance(value, ast.Constant) and type(value.value) is int):
        return False
    return value.value >= 50 and value.value % 10 == 0


def _of_node(node: ast.AST) -> Iterator[Change]:
    """Yield what may be put in the place of a node, or of one of its parts."""
    for kind in KINDS.get(type(node), ()):
        yield from kind(node)


def _copied(node: ast.AST, **parts: object) -> str:
    """Return the text of an expression with other parts, in parentheses."""
    new = copy.copy(node)
    for name, value in parts.items():
        setattr(new, name, value)
    return f"({ast.unparse(new)})"


def _comparison(node: ast.Compare) -> Iterator[Change]:
    for index, operator in enumerate(node.ops):
        for other in COMPARISONS[type(operator)]:
            ops = [*node.ops[:index], other(), *node.ops[index + 1 :]]
            yield "comparison", node, _copied(node, ops=ops)


def _logic(node: ast.BoolOp) -> Iterator[Change]:
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "and/or", node, _copied(node, op=other)
    for index in range(len(node.values)):
        rest = [*node.values[:index], *node.values[index + 1 :]]
        yield (
            "part of a condition dropped",
            node,
            _copied(node, values=rest) if rest[1:] else f"({ast.unparse(rest[0])})",
        )


def _negation(node: ast.UnaryOp) -> Iterator[Change]:
    if isinstance(node.op, ast.Not | ast.USub):
        yield "not" if isinstance(node.op, ast.Not) else "constant", node, f"({ast.unparse(node.operand)})"


def _constant(node: ast.Constant) -> Iterator[Change]:
    value = node.value
    if isinstance(value, bool):
        yield "constant", node, str(not value)
    elif isinstance(value, int):
        yield "off by one", node, str(value + 1)
        if value > 0:
            yield "off by one", node, str(value - 1)
    elif isinstance(value, float):
        yield "constant", node, repr(value * 2 + 1)
    elif isinstance(value, str) and WORD.fullmatch(value):
        yield "constant", node, repr(f"{value}_")


def _arithmetic(node: ast.BinOp) -> Iterator[Change]:
    if (other := ARITHMETIC.get(type(node.op))) is not None:
        yield "arithmetic", node, _copied(node, op=other())


def _call(node: ast.Call) -> Iterator[Change]:
    plain = not any(isinstance(each, ast.Starred) for each in node.args)
    if plain and len(node.args) > 1:
        yield "argument dropped", node, _copied(node, args=node.args[:-1])
        for index in range(0 if ast.unparse(node.func) in _WITHOUT_SWAPS else len(node.args) - 1):
            args = [*node.args]
            args[index : index + 2] = reversed(args[index : index + 2])
            yield "arguments swapped", node, _copied(node, args=args)
    for index, keyword in enumerate(node.keywords):
        if keyword.arg is not None and not _changes_nothing(node, keyword):
            yield (
                "argument dropped",
                node,
                _copied(node, keywords=[*node.keywords[:index], *node.keywords[index + 1 :]]),
            )
    if isinstance(node.func, ast.Name) and node.func.id in OPPOSITES:
        yield "min/max, any/all", node, _copied(node, func=ast.Name(OPPOSITES[node.func.id]))


def _choice(node: ast.IfExp) -> Iterator[Change]:
    yield "condition", node, _copied(node, body=node.orelse, orelse=node.body)


def _condition(node: ast.If | ast.While) -> Iterator[Change]:
    if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
        yield "condition", node.test, f"(not ({ast.unparse(node.test)}))"


def _filter(node: ast.comprehension) -> Iterator[Change]:
    for test in node.ifs:
        yield "filter dropped", test, "True"


def _returned(node: ast.Return) -> Iterator[Change]:
    value = node.value
    if value is None or (isinstance(value, ast.Constant) and value.value is None):
        return
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        return  # a constant
    yield "returned None", node, "return None"


def _jump(node: ast.stmt) -> Iterator[Change]:
    yield "continue/break", node, "break" if isinstance(node, ast.Continue) else "continue"
    if isinstance(node, ast.Continue):
        yield "continue/break", node, "pass"


def _removed(node: ast.stmt) -> Iterator[Change]:
    if isinstance(node, ast.Raise):
        if node.exc is not None:
            yield "raise removed", node, "pass"
    elif not isinstance(node, ast.Expr) or isinstance(node.value, ast.Call):
        yield "statement removed", node, "pass"


def _defaults(node: ast.arguments) -> Iterator[Change]:
    for default in (*node.defaults, *filter(None, node.kw_defaults)):
        if isinstance(default, ast.Constant):
            for _, where, text in _constant(default):
                yield "default changed", where, text


KINDS = {
    ast.Compare: (_comparison,), ast.BoolOp: (_logic,), ast.UnaryOp: (_negation,), ast.Constant: (_constant,),
    ast.BinOp: (_arithmetic,), ast.Call: (_call,), ast.IfExp: (_choice,), ast.If: (_condition,),
    ast.While: (_condition,), ast.comprehension: (_filter,), ast.Return: (_returned,), ast.Continue: (_jump,),
    ast.Break: (_jump,), ast.Raise: (_removed,), ast.Expr: (_removed,), ast.AugAssign: (_removed,),
    ast.arguments: (_defaults,),
}  # fmt: skip
