"""Facts of an adapter that its code shows: the operators that it makes, and its reasons to refuse.

An adapter is read, never run: its source, and the source of functions and classes that it uses, as far as they belong
to adapters. The facts are more than one node meets: every operator that is named anywhere, and every reason that may be
raised. Only `certain` holds for every node, unless it is refused.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from opset.errors import CODES
from opset.version_converter.rewrite import Builder, Node, Refusal

Function = ast.FunctionDef | ast.AsyncFunctionDef
Reason = tuple[str, str]
"""Code and reason of a refusal; "…" stands for parts that are known at conversion alone."""
_FOLLOWED = ("opset.adapters", "opset.version_converter")
NEEDS = frozenset(("need_element", "need_rank", "need_shape", "need_constant"))
"""Methods of a node that refuse if their result is not known."""
_BRANCHES = (ast.If, ast.For, ast.While, ast.Try, ast.With)
_CONDITIONAL = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.FunctionDef)
_COMPARED = (ast.Name, ast.Constant, ast.Tuple, ast.List, ast.Set)
UNKNOWN = "…"


class Reflection(NamedTuple):
    """The facts of an adapter.

    - `operators`: names that it may make, with the domain that it states, else None;
    - `certain`: the operators that every node becomes which is not refused;
    - `refusals`: codes and reasons, in the order of the code;
    - `needs`: methods of the node by which it requires a fact, with the input that it names, else None;
    - `stays`: whether the node goes on as the same operator in any case;
    - `leaves`: whether it may leave the node as it is; `checks`: whether it always does, or refuses it.
    """

    operators: frozenset[tuple[str, str | None]]
    certain: frozenset[str]
    refusals: tuple[Reason, ...]
    needs: tuple[tuple[str, int | None], ...]
    stays: bool
    leaves: bool
    checks: bool


class _Part(NamedTuple):
    """The facts of one function, without the functions that it calls."""

    operators: frozenset[tuple[str, str | None]]
    strings: frozenset[str]
    certain: frozenset[str]
    certain_calls: frozenset[str]
    refusals: tuple[Reason, ...]
    names: tuple[str, ...]
    needs: tuple[tuple[str, int | None], ...]
    stays: bool
    checks: bool
    leaves: bool
    """Whether it returns None; functions that it calls for its result are in `returned`."""
    returned: frozenset[str]


def reflect(adapter: Callable[..., Any], operator: str, operators: frozenset[str]) -> Reflection:
    """Return the facts of an adapter of an operator; `operators` are the names of all operators."""
    facts: dict[Any, _Part] = {}
    pending: list[Any] = [_unwrap(adapter)]
    reasons: dict[Reason, None] = {}
    strings: set[str] = set()
    made: set[tuple[str, str | None]] = set()
    calls: dict[Any, dict[str, Any]] = {}
    needs: dict[tuple[str, int | None], None] = {}
    while pending:
        function = pending.pop(0)
        if function in facts or (part := _part_of(function)) is None:
            continue
        facts[function] = part
        reasons.update(dict.fromkeys(part.refusals))
        needs.update(dict.fromkeys(part.needs))
        strings |= part.strings
        made |= part.operators
        values = function.__globals__
        enclosed = _free_variables(function)
        calls[function] = {}
        for name in part.names:
            held = enclosed.get(name, values.get(name))
            for value in _member_values(held, operator) if held is not None else ():
                if isinstance(value, str):
                    strings.add(value)
                elif isinstance(value, type) and _is_followed(value, function):
                    pending += [each for each in vars(value).values() if isinstance(each, FunctionType)]
                elif isinstance(plain := _unwrap(value), FunctionType) and _is_followed(plain, function):
                    pending.append(plain)
                    calls[function][name] = plain
    known = {each for each in made if each[0] in operators}
    named = {name for name, _ in known}
    known |= {(each, None) for each in strings & operators if each not in named}
    first = facts.get(_unwrap(adapter))
    if first is None:  # a callable without source: anything may happen
        return Reflection(frozenset(known), frozenset(), tuple(reasons), tuple(needs), False, True, False)
    reached = _certain_parts(_unwrap(adapter), facts, calls)
    certain = frozenset[str]().union(*(each.certain for each in reached)) & operators
    leaves = any(each.leaves for each in _returned_parts(_unwrap(adapter), facts, calls))
    return Reflection(frozenset(known), certain, tuple(reasons), tuple(needs), first.stays, leaves, first.checks)


def summary_of(adapter: Callable[..., Any]) -> str:
    """Return the first paragraph of an adapter's documentation on one line, "" if it has none."""
    return " ".join((inspect.getdoc(_unwrap(adapter)) or "").split("\n\n")[0].split())


def _certain_parts(function: Any, facts: Mapping[Any, _Part], calls: Mapping[Any, Mapping[str, Any]]) -> list[_Part]:
    """Return a function and the functions that it calls in any case."""
    return [facts[each] for each in _reachable_functions(function, facts, calls, lambda part: part.certain_calls)]


def _returned_parts(function: Any, facts: Mapping[Any, _Part], calls: Mapping[Any, Mapping[str, Any]]) -> list[_Part]:
    """Return a function and the functions whose result it may return."""
    return [facts[each] for each in _reachable_functions(function, facts, calls, lambda part: part.returned)]


def _reachable_functions(
    function: Any,
    facts: Mapping[Any, _Part],
    calls: Mapping[Any, Mapping[str, Any]],
    of: Callable[[_Part], frozenset[str]],
) -> list[Any]:
    """Return a function, and all functions that it reaches by the names that `of` returns for its facts."""
    seen: dict[Any, None] = {}
    pending = [function]
    while pending:
        each = pending.pop()
        if each not in seen and each in facts:
            seen[each] = None
            pending += [calls[each][name] for name in of(facts[each]) if name in calls[each]]
    return [*seen]


def _unwrap(function: Any) -> Any:
    """Return the function inside of decorators, partials and methods."""
    while callable(function):
        inner = inspect.unwrap(function)
        inner = inner.func if isinstance(inner, partial) else inner
        inner = getattr(inner, "__func__", inner)
        if inner is function:
            break
        function = inner
    return function


def _is_followed(value: Any, user: Any) -> bool:
    """Whether a function or class belongs to adapters: to ours, or to files of the one that uses it."""
    module = str(getattr(value, "__module__", ""))
    if module == user.__module__ or module.startswith(_FOLLOWED):
        return not issubclass(value, Builder | Node | Refusal) if isinstance(value, type) else True
    top = module.partition(".")[0]
    return top != "opset" and top not in sys.stdlib_module_names and isinstance(value, FunctionType)


def _free_variables(function: Any) -> dict[str, Any]:
    """Return the values of a function's free variables."""
    variables = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            variables[name] = cell.cell_contents
        except ValueError:  # not bound yet
            continue
    return variables


def _member_values(value: Any, operator: str, deep: int = 3) -> Iterator[Any]:
    """Yield a global value, or the values in it; of a table by operators, only the values for this one."""
    if isinstance(value, Mapping) and deep:
        for each in [value[operator]] if operator in value else value.values():
            yield from _member_values(each, "", deep - 1)
    elif isinstance(value, tuple | list | set | frozenset) and deep:
        for each in value:
            yield from _member_values(each, "", deep - 1)
    elif isinstance(value, str) or callable(value):
        yield value


def _part_of(function: Any) -> _Part | None:
    """Return the facts of a function, None if its source is not there."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    cached = _FILES.get(code.co_filename)
    if cached is None or cached[0] is not function.__globals__:
        cached = _FILES[code.co_filename] = function.__globals__, _functions_in(code.co_filename)
    key = code.co_firstlineno, code.co_name
    found = cached[1].get(key)
    if isinstance(found, Function):  # its tree is large, and not kept
        found = cached[1][key] = _read_function(found, function.__globals__)
    return found


_FILES: dict[str, tuple[Mapping[str, Any], dict[tuple[int, str], Function | _Part]]] = {}
"""The functions of files, or their facts, with the globals that they were read with: a file may be run again."""


def _functions_in(file: str) -> dict[tuple[int, str], Function | _Part]:
    """Return the functions of a file by the line in which they begin, decorators included, and by name."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, ValueError, SyntaxError):
        return {}
    functions: dict[tuple[int, str], Function | _Part] = {}
    pending: list[ast.stmt] = [*tree.body]
    while pending:
        node = pending.pop()
        if isinstance(node, Function):
            functions[min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]), node.name] = node
        for field in ("body", "orelse", "finalbody"):
            pending += getattr(node, field, ())
    return functions


def _read_function(function: Function, values: Mapping[str, Any]) -> _Part:
    """Return the facts of a function, read from its tree."""
    operators: set[tuple[str, str | None]] = set()
    strings: set[str] = set()
    names: dict[str, None] = {}
    needs: dict[tuple[str, int | None], None] = {}
    stated: set[ast.AST] = set()
    refusals: list[Reason] = []
    returns: list[ast.expr | None] = []
    nodes = list(_walk(function))
    assigned = _assignments(nodes)
    for node in nodes:
        if isinstance(node, ast.Name):
            names[node.id] = None
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                strings.add(node.value)
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Attribute) and called.attr in NEEDS:
                needs[called.attr, _input_position(node.args, values)] = None
            elif isinstance(called, ast.Attribute) and (domain := _stated_domain(node, values)) is not None:
                operators.add((called.attr, domain))
                stated.add(called)
            elif isinstance(called, ast.Name) and values.get(called.id) is Refusal:
                refusals += _refusal_reasons(node, assigned, values)
        elif isinstance(node, ast.Attribute):
            if node not in stated:
                operators.add((node.attr, None))
        elif isinstance(node, ast.Return):
            returns.append(node.value)
    certain, certain_calls = _certain_names(function)
    results = [each for value in returns for each in _returned_expressions(value, assigned)]
    leaves = any(result is None for result in results) or not isinstance(function.body[-1], ast.Return | ast.Raise)
    called_names = {
        result.func.id for result in results if isinstance(result, ast.Call) and isinstance(result.func, ast.Name)
    }
    return _Part(
        frozenset(operators),
        frozenset(strings),
        certain,
        certain_calls,
        tuple(refusals),
        (*names,),
        (*needs,),
        stays=all(result is None or _is_copy(result) for result in results),
        checks=all(result is None for result in results),
        leaves=leaves,
        returned=frozenset(called_names),
    )


def _input_position(arguments: list[ast.expr], values: Mapping[str, Any]) -> int | None:
    """Return the index of the input that a call names, None if it is computed."""
    first = arguments[0] if arguments else None
    value = first.value if isinstance(first, ast.Constant) else None
    value = values.get(first.id) if isinstance(first, ast.Name) else value
    return value if isinstance(value, int) else None


def _returned_expressions(
    value: ast.expr | None, assigned: Mapping[str, list[ast.expr]], deep: int = 4
) -> Iterator[ast.expr | None]:
    """Yield the expressions that a function may return; None stands for nothing."""
    if isinstance(value, ast.IfExp) and deep:
        for each in (value.body, value.orelse):
            yield from _returned_expressions(each, assigned, deep - 1)
    elif isinstance(value, ast.BoolOp) and deep:
        for each in value.values:
            yield from _returned_expressions(each, assigned, deep - 1)
    elif isinstance(value, ast.Name) and deep and value.id in assigned:
        for each in assigned[value.id]:
            yield from _returned_expressions(each, assigned, deep - 1)
    else:
        yield None if value is None or (isinstance(value, ast.Constant) and value.value is None) else value


def _walk(function: Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body in order, without operands of comparisons, which make nothing."""
    pending: list[ast.AST] = [*reversed(function.body)]
    if ast.get_docstring(function, clean=False) is not None:
        pending.pop()
    while pending:
        node = pending.pop()
        yield node
        inner = _children(node)
        if isinstance(node, ast.Compare):
            inner = [each for each in inner if not isinstance(each, _COMPARED)]
        pending += reversed(inner)


def _children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes in a node, without the context of names."""
    children: list[ast.AST] = []
    for field in node._fields:
        if field != "ctx":
            value = getattr(node, field, None)
            if isinstance(value, ast.AST):
                children.append(value)
            elif type(value) is list:
                children += [each for each in value if isinstance(each, ast.AST)]
    return children


def _stated_domain(call: ast.Call, values: Mapping[str, Any]) -> str | None:
    """Return the domain that a call states, None if it states none."""
    for keyword in call.keywords:
        if keyword.arg == "domain":
            value = values.get(keyword.value.id) if isinstance(keyword.value, ast.Name) else None
            value = keyword.value.value if isinstance(keyword.value, ast.Constant) else value
            return value if isinstance(value, str) else None
    return None


def _is_copy(value: ast.expr) -> bool:
    """Whether a result is the node itself, in this or another form."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    return value.func.attr == "copy" and not any(keyword.arg == "op_type" for keyword in value.keywords)


def _assignments(nodes: list[ast.AST]) -> dict[str, list[ast.expr]]:
    """Return the values that are assigned to each name."""
    values: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    values.setdefault(target.id, []).append(node.value)
    return values


def _refusal_reasons(
    call: ast.Call, assigned: Mapping[str, list[ast.expr]], values: Mapping[str, Any]
) -> Iterator[Reason]:
    """Yield the codes and reasons that a refusal may have."""
    codes = _possible_texts(call.args[0], assigned, values) if call.args else []
    for code in codes:
        if code in CODES:
            for why in _possible_texts(call.args[1], assigned, values) if len(call.args) > 1 else [""]:
                yield code, why if why.strip(UNKNOWN) else CODES[code]


def _possible_texts(
    value: ast.expr, assigned: Mapping[str, list[ast.expr]], values: Mapping[str, Any], deep: int = 4
) -> list[str]:
    """Return the texts that an expression may give, with a mark for each part that is not known."""
    if isinstance(value, ast.Constant):
        return [str(value.value)]
    if isinstance(value, ast.FormattedValue):
        known = isinstance(value.value, ast.Name) and values.get(value.value.id)
        return [str(known)] if isinstance(known, int | str) and known is not False else [UNKNOWN]
    if isinstance(value, ast.Name) and deep:
        if value.id in assigned:
            return [text for each in assigned[value.id] for text in _possible_texts(each, assigned, values, deep - 1)]
        known = values.get(value.id)
        return [known] if isinstance(known, str) else [UNKNOWN]
    if isinstance(value, ast.IfExp) and deep:
        return [
            text for each in (value.body, value.orelse) for text in _possible_texts(each, assigned, values, deep - 1)
        ]
    parts: list[ast.expr] = []
    if isinstance(value, ast.JoinedStr):
        parts = value.values
    elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        parts = [value.left, value.right]
    if not parts or not deep:
        return [UNKNOWN]
    texts = [""]
    for part in parts:
        texts = [text + more for text in texts for more in _possible_texts(part, assigned, values, deep - 1)][:8]
    return texts


def _certain_names(function: Function) -> tuple[frozenset[str], frozenset[str]]:
    """Return the operators made and the functions called on every way through a function."""
    operators: set[str] = set()
    called: set[str] = set()
    for statement in function.body:
        if isinstance(statement, _BRANCHES):
            if _can_return(statement):
                break
            continue
        pending: list[ast.AST] = [statement]
        while pending:
            node = pending.pop()
            if isinstance(node, _CONDITIONAL):
                continue
            if isinstance(node, ast.Call):
                if isinstance(node.func, ast.Attribute):
                    operators.add(node.func.attr)
                elif isinstance(node.func, ast.Name):
                    called.add(node.func.id)
            if isinstance(node, ast.IfExp):
                pending.append(node.test)
            elif isinstance(node, ast.BoolOp):
                pending.append(node.values[0])
            else:
                pending += _children(node)
        if isinstance(statement, ast.Return | ast.Raise):
            break
    return frozenset(operators), frozenset(called)


def _can_return(statement: ast.stmt) -> bool:
    """Whether a statement may end the function."""
    pending: list[ast.stmt] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Return):
            return True
        for field in ("body", "orelse", "finalbody", "handlers"):
            pending += getattr(node, field, ())
    return False
