"""The Python API from its docstrings: what `opset` and `opset.extend` offer, by topic, as plain data for a page."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

import opset
import opset.extend
from opset import errors
from opset.errors import CODES
from opset.public_names import homes

__all__ = ["PublicName", "Section", "api_page"]

WIDTH = 88
"""Characters of a signature that is one line."""

TOPICS = {
    opset: {
        "Models": "load Model info ModelDescription to_text parse_model parse_graph parse_function parse_node",
        "Versions of models": "compare_models ModelComparison compare_interfaces InterfaceComparison ModelVersion",
        "Checks": (
            "check check_model repair Repair check_node check_graph check_function check_tensor check_sparse_tensor "
            "check_value_info check_attribute"
        ),
        "Conversion": "convert plan Conversion convert_many ModelReport lower inline_functions",
        "Parts and wholes": "extract merge reduce",
        "Verification": "verify Verification",
        "Types and shapes": "infer Inference infer_shapes change_sizes",
        "Evaluation": "ReferenceEvaluator",
        "Operators": "get_schema OpSchema Registry",
        "Operator sets": "get_operator_set load_operator_set OperatorSet",
        "Limits": "Limits",
        "Errors": (
            "OpsetError Finding UsageError SchemaError ModelError CheckError InferenceError ConversionError RunError"
        ),
    },
    opset.extend: {
        "Kernels": "kernel KernelContext rounded_once",
        "Inference functions": (
            "infer data Call Unknown Type tensor sequence optional Shape Size Dim Constant variable "
            "equal less maximum minimum product ceil_div broadcast"
        ),
        "Adapters and lowerings": "up down lower Node Builder Result Refusal",
        "Constraints": "Violation",
        "Element types": "NUMBERS element_name",
        "Tests of operators": "registry_with parse_model example_versions model_of feeds_of value_of differences",
    },
}
# Names in signatures that stand for several types, and where they are.
_ALIASES = {
    "ModelLike": "opset.model.storage.container",
    "Schemas": "opset.opsets.registry",
    "Freeze": "opset.preparation",
    "Names": "opset.composition.extraction",
    "Connections": "opset.composition.merging",
}
# Classes whose objects are made by functions, or handed to those of an author: their constructors are internal.
_MADE = frozenset("Model Inference Registry Builder Call Dim KernelContext Node".split())

_NAME = re.compile(r"`[^`\n]+`|\b[A-Z]\d{3}\b|\b[A-Z][a-z]+Error\b")
_MODULE = re.compile(r"\b(?:typing|collections\.abc|os|builtins|pathlib|opset(?:\.\w+)*)\.(?=\w)")
_NO_VALUE = re.compile(r"<.*>|Ellipsis")
# Sections of docstrings in Google's form, and whether they list entries: "name: text".
_SECTIONS = {"Args:": ("Parameters", True), "Raises:": ("Raises", True)}
_SECTIONS |= {"Returns:": ("Returns", False), "Yields:": ("Yields", False)}
_ENTRY = re.compile(r" {4}(\*{0,2}\w+): +(?=\S)")


class PublicName(NamedTuple):
    """A public name or a member of a class, as the API page shows it; `doc` is Markdown.

    `kind` is "function", "class", "method", "property", "type" or "constant"; `anchor` is the HTML id. Links in `doc`
    are relative to the root of the site.
    """

    name: str
    anchor: str
    kind: str
    signature: str
    doc: str
    members: tuple[PublicName, ...] = ()


class Section(NamedTuple):
    """A topic of the API page: its title, HTML id (`anchor`), text (`doc`), and public names in reading order."""

    module: str
    title: str
    anchor: str
    doc: str
    entries: tuple[PublicName, ...]


def api_page() -> list[Section]:
    """Return the sections of the page on the Python API: the public names of `opset` and `opset.extend` by topic."""
    sections = []
    for module, topics in TOPICS.items():
        for title, names in topics.items():
            doc = _markdown(inspect.getdoc(errors) or "", (), module) if title == "Errors" else ""
            sections.append(_section(module, title, doc, [_entry(module, name) for name in names.split()]))
        if module is opset:
            aliases = [_alias(module, name, import_module(home)) for name, home in _ALIASES.items()]
            doc = "Signatures name these; they are no names of the module."
            sections.append(_section(module, "Types of parameters", doc, aliases))
    return sections


def _section(module: ModuleType, title: str, doc: str, entries: Sequence[PublicName]) -> Section:
    """Return a section of the API page, with the names of one topic.

    Its HTML id is made of the module's name and the title: "opset-types-and-shapes".
    """
    anchor = f"{module.__name__}-{title.lower().replace(' ', '-')}"
    return Section(module.__name__, title, anchor, doc, tuple(entries))


def _entry(module: ModuleType, name: str) -> PublicName:
    """Return the entry of a public name of `opset` or `opset.extend`: a class, a function, a type alias or a constant.

    The entry of a class lists its public methods and properties.
    """
    thing = getattr(module, name)
    anchor = f"{module.__name__}.{name}"
    if inspect.isclass(thing):
        ours = [vars(base) for base in thing.__mro__ if base.__module__.startswith("opset.")]
        is_made = name in _MADE or not any(each.keys() & {"__init__", "__new__"} for each in ours)
        signature = name if is_made else _signature(name, thing)
        doc = _doc(thing) if is_made else f"{_doc(thing)}\n\n{_doc(vars(thing).get('__init__'))}"
        members = tuple(_members(thing, anchor, module))
        return PublicName(name, anchor, "class", signature, _markdown(doc.strip(), (), module), members)
    if inspect.isfunction(thing):
        return PublicName(name, anchor, "function", _signature(name, thing), _function_doc(thing, module))
    return _alias(module, name, import_module(homes(module.__name__)[name]))


def _alias(module: ModuleType, name: str, home: ModuleType) -> PublicName:
    """Return the entry of a type alias or constant that `module` offers and the module `home` assigns.

    Raises AssertionError if `home` does not assign it.
    """
    signature, doc = _declaration_of(home, name)
    kind = "type" if signature.startswith(f"{name} =") else "constant"
    return PublicName(name, f"{module.__name__}.{name}", kind, signature, _markdown(doc, (), module))


@cache
def _public_classes() -> frozenset[type]:
    """Return all classes among the public names of `opset` and `opset.extend`; each has an entry of its own. Cached."""
    things = [getattr(module, name) for module in TOPICS for name in module.__all__]
    return frozenset(each for each in things if inspect.isclass(each))


def _members(cls: type, anchor: str, module: ModuleType) -> Iterator[PublicName]:
    """Yield the public methods and properties of a class.

    Members that it inherits from a private class are included. Those of a public base class are left out: the base
    class has an entry of its own. `anchor` is the HTML id of the class, `module` the module whose page names it.
    """
    seen = set()
    for base in cls.__mro__:
        if not base.__module__.startswith("opset.") or (base in _public_classes() and base is not cls):
            continue
        for name, member in vars(base).items():
            called = getattr(member, "__func__", member)  # of a static or a class method
            value = getattr(member, "fget", None) or getattr(member, "func", None) or called
            if name.startswith("_") or name in seen or not inspect.isfunction(value):
                continue
            seen.add(name)
            where = f"{anchor}.{name}"
            if value is called:
                bound = not isinstance(member, staticmethod)
                signature, doc = _signature(name, value, bound), _function_doc(value, module)
                yield PublicName(name, where, "method", signature, doc)
            else:
                returned = _annotation(inspect.signature(value).return_annotation)
                yield PublicName(name, where, "property", f"{name}: {returned}", _markdown(_doc(value), (), module))


def _doc(thing: Any) -> str:
    """Return the docstring of a class or function; "" if it has none, or if another package defines it."""
    doc = "" if getattr(thing, "__module__", "").partition(".")[0] != "opset" else thing.__doc__
    return inspect.cleandoc(doc or "")


def _function_doc(function: Callable[..., Any], module: ModuleType) -> str:
    """Return the docstring of a function as Markdown, in which public names are links; "" if it has none.

    A link leads to the entry of the name in `module`, or else in `opset`. Names of the function's parameters are no
    links.
    """
    return _markdown(_doc(function), inspect.signature(function).parameters, module)


def _declaration_of(module: ModuleType, name: str) -> tuple[str, str]:
    """Return the declaration of a name that a module assigns, and the docstring below it.

    The docstring is "" if there is none. A type alias is declared with its value, "Alias = str | int"; any other name
    with the type of its value, "NAME: dict". Raises AssertionError if the module does not assign the name at its top
    level.
    """
    for statement, following in pairwise(ast.parse(inspect.getsource(module)).body):
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            if isinstance(target, ast.Name) and target.id == name:
                doc = following.value if isinstance(following, ast.Expr) else None
                text = inspect.cleandoc(str(doc.value)) if isinstance(doc, ast.Constant) else ""
                value = statement.value  # of a type, in quotes where it names what is defined below
                if isinstance(value, ast.Subscript | ast.BinOp | ast.Constant):
                    stated = str(value.value) if isinstance(value, ast.Constant) else ast.unparse(value)
                    return f"{name} = {_MODULE.sub('', stated)}".replace("'", ""), text
                return f"{name}: {type(getattr(module, name)).__name__}", text
    raise AssertionError(f"{module.__name__} does not assign {name}")


def _signature(name: str, function: Callable[..., Any], bound: bool = False) -> str:
    """Return the signature of a function or class as Python code.

    A signature that is longer than WIDTH has each parameter on its own line. If `bound`, the first parameter, `self` or
    `cls`, is left out. For a class, no returned type is shown.
    """
    signature = inspect.signature(function)
    parameters = [*signature.parameters.values()][bound:]
    shown: list[str] = []
    last = None
    for each in parameters:
        if last is each.POSITIONAL_ONLY and each.kind is not last:
            shown.append("/")
        if each.kind is each.KEYWORD_ONLY and last not in (each.KEYWORD_ONLY, each.VAR_POSITIONAL):
            shown.append("*")
        last = each.kind
        shown.append(_parameter(each))
    returned = signature.return_annotation
    result = "" if inspect.isclass(function) or returned is signature.empty else f" -> {_annotation(returned)}"
    line = f"{name}({', '.join(shown)}){result}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {each}," for each in shown), f"){result}"])


def _parameter(parameter: inspect.Parameter) -> str:
    """Return a parameter as Python code, with its annotation and default.

    A default whose repr is no Python code, such as `<object object at 0x7f…>`, is shown as `...`.
    """
    stars = "*" * (parameter.kind is parameter.VAR_POSITIONAL) + "**" * (parameter.kind is parameter.VAR_KEYWORD)
    text = f"{stars}{parameter.name}"
    annotated = parameter.annotation is not parameter.empty
    if annotated:
        text += f": {_annotation(parameter.annotation)}"
    if parameter.default is not parameter.empty:
        default = _NO_VALUE.sub("...", repr(parameter.default))
        text += f" = {default}" if annotated else f"={default}"
    return text


def _annotation(annotation: Any) -> str:
    """Return a type annotation as Python code without names of modules, such as `Any` for `typing.Any`."""
    stated = getattr(annotation, "__forward_arg__", annotation)
    text = stated if isinstance(stated, str) else inspect.formatannotation(stated)
    return _MODULE.sub("", text)


def _markdown(doc: str, parameters: Iterable[str], module: ModuleType) -> str:
    """Return a docstring as Markdown, with links at public names and error codes.

    After a full stop, a line that begins with "Raises " or a parameter in backticks begins a new paragraph. Names in
    `parameters` are never links. `module` is `opset` or `opset.extend`.
    """
    names = [*parameters]
    begin = (*(f"`{name}`" for name in names), "Raises ")
    lines: list[str] = []
    for line in _lay_out_sections(doc.split("\n")):
        if lines and lines[-1].endswith(".") and line.startswith(begin):
            lines.append("")
        lines.append(line if line.startswith("    ") else _NAME.sub(lambda found: _link(found[0], names, module), line))
    return "\n".join(lines)


def _lay_out_sections(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a docstring as Markdown: `Args:`, `Returns:`, `Yields:` and `Raises:` become headings.

    Parameters and exceptions become items of a list.
    """
    title = ""
    lists_entries = False
    for line in lines:
        if line in _SECTIONS:
            title, lists_entries = _SECTIONS[line]
            yield f"#### {title}"
            yield ""
        elif not title or (line and not line.startswith("    ")):
            title = ""
            yield line
        elif not lists_entries:
            yield line[4:]
        elif entry := _ENTRY.match(line):
            name = entry[1] if title == "Raises" else f"`{entry[1]}`"
            yield f"- {name}: {line[entry.end() :]}"
        else:
            yield f"  {line[8:]}".rstrip()


def _link(text: str, parameters: Iterable[str], module: ModuleType) -> str:
    """Return `text` as a Markdown link if it is an error code or a public name; otherwise unchanged.

    `text` may be in backticks. A public name is searched in `module`, then in `opset`. Names in `parameters` are not
    links.
    """
    name = text.strip("`")
    if name in CODES:
        return f"[{text}](errors/{name}.html)"
    for each in (module, opset):
        if name in each.__all__ and name not in parameters:
            return f"[{text}](#{each.__name__}.{name})"
    return text
