"""Stubs of functions for an author to write, which refuse until then, and their insertion into files of hooks."""

from __future__ import annotations

import ast
import keyword
import re
import textwrap
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from opset.schemas.model import VARIADIC, OpSchema
from opset.schemas.names import domain_name

_KINDS = {"int": "int", "float": "float", "string": "str", "ints": "tuple[int, ...]", "floats": "tuple[float, ...]"}
WIDTH = 120
"""Characters of a line."""
_HELD = "\0"  # a space at which no line ends
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Stub(NamedTuple):
    """A function to add to a Python file, with its imports and the decorator that registers it.

    `since` is the version in the decorator, 0 if it has none; `domain` is "" for ai.onnx.
    """

    name: str
    decorator: str
    domain: str
    operator: str
    since: int
    text: str
    imports: Mapping[str, tuple[str, ...]]


@lru_cache(maxsize=1)
def _templates() -> Any:
    """Return the Jinja environment that loads the templates of this package."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # slow

    return Environment(
        loader=PackageLoader("opset.workflow.authoring"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        auto_reload=False,
    )


def render_template(template: str, **values: Any) -> str:
    """Return the text of a template of this package, such as "kernel.py.jinja", filled with all values that it uses."""
    text: str = _templates().get_template(template).render(values)
    return text


def snake_case(name: str) -> str:
    """Return an operator's name in the form of a Python function: "layer_normalization" for "LayerNormalization"."""
    return _WORDS.sub("_", name).lower()


def kernel_stub(schema: OpSchema, standard: bool) -> Stub:
    """Return the stub of a new operator's kernel, which raises an error until the author has written it.

    If `standard`, the stub is for the code of opset itself, with type hints and other imports.
    """
    imports: dict[str, tuple[str, ...]] = {"opset.extend": ("kernel",)}
    if standard:
        imports = {"opset.reference.registration": ("kernel",), "opset.reference.numerics.arrays": ("Array",)}
    signature = _kernel_signature(schema, standard)
    if "Any" in re.findall(r"\w+", signature):
        imports |= {"typing": ("Any",)}
    return _make_stub("kernel", "kernel.py.jinja", schema, 0, imports, signature=signature)


def inference_stub(schema: OpSchema, standard: bool) -> Stub:
    """Return the stub of an inference function, which infers nothing until the author has written it.

    If `standard`, the stub is for the code of opset itself, with type hints and other imports.
    """
    imports: dict[str, tuple[str, ...]] = {"opset.extend": ("Call", "Unknown", "infer")}
    if standard:
        imports = {
            "opset.inference.building.call": ("Call", "Unknown"),
            "opset.inference.registration": ("infer",),
            "opset.inference.building.types": ("Shape",),
        }
    returns = "Shape" if standard else "tuple"
    return _make_stub("infer", "inference.py.jinja", schema, 0, imports, returns=returns)


def adapter_stub(schema: OpSchema, direction: str, standard: bool) -> Stub:
    """Return the stub of a version's adapter, which refuses every node until the author has written it.

    `direction` is "up" (to this version) or "down" (from it). If `standard`, the stub is for the code of opset itself,
    with type hints and other imports.
    """
    names = ("Builder", "Node", "Refusal", "Result")
    imports: dict[str, tuple[str, ...]] = {"opset.extend": (*names, direction)}
    if standard:
        imports = {"opset.version_converter.registration": (direction,), "opset.version_converter.rewrite": names}
    return _make_stub(direction, "adapter.py.jinja", schema, schema.since_version, imports, f"_{direction}")


def _make_stub(
    decorator: str,
    template: str,
    schema: OpSchema,
    since: int,
    imports: Mapping[str, tuple[str, ...]],
    suffix: str = "",
    **values: str,
) -> Stub:
    """Return a stub made from a template; its function is named by operator, version and `suffix`: "thin_2_up".

    Args:
        decorator: The name of the decorator that registers the function, such as "kernel".
        template: The file name of the template.
        schema: The version of the operator.
        since: The version that the decorator names; 0 if it names none.
        imports: Names that the stub imports, by module.
        suffix: The end of the function's name, such as "_up".
        values: Texts that fill the template.
    """
    name = f"{snake_case(schema.name)}_{schema.since_version}{suffix}"
    arguments = [f'"{schema.name}"'] + ([f"since={since}"] if since else [])
    arguments += [f'domain="{schema.domain}"'] if schema.domain else []
    text = render_template(
        template,
        decorator=decorator,
        arguments=", ".join(arguments),
        function=name,
        operator=schema.name,
        since=schema.since_version,
        **values,
    )
    return Stub(name, decorator, schema.domain, schema.name, since, text, imports)


def _kernel_signature(schema: OpSchema, typed: bool) -> str:
    """Return the parameters of a kernel as Python text, such as "(x, *, axis)": inputs by position, attributes by name.

    Inputs are in lower case; a variadic one is "*x". No parameter has a default. If the name of an input is not
    possible in Python, or another parameter has it, the input is called "input_0", by its index. All attributes whose
    names are not possible in Python become one parameter, **attributes. If `typed`, the text has type hints
    and the type of the result. Long text has line breaks.
    """
    taken = {*schema.attributes, "context"}
    inputs: list[str] = []
    for number, parameter in enumerate(schema.inputs):
        name = parameter.name.lower()
        if not _is_name(name) or name in taken:
            name = f"input_{number}"
        taken.add(name)
        none = " | None" if parameter.option == "optional" else ""
        inputs.append(f"{'*' * (parameter.option == VARIADIC)}{name}{f': Array{none}' if typed else ''}")
    named = [each for each in schema.attributes.values() if _is_name(each.name)]
    attributes = [f"{each.name}: {_annotation(each)}" if typed else each.name for each in named]
    if attributes and not any(each.startswith("*") for each in inputs):
        attributes.insert(0, "*")
    if len(named) < len(schema.attributes):
        attributes.append("**attributes: Any" if typed else "**attributes")
    returns = (" -> Array" if len(schema.outputs) == 1 else " -> tuple[Array, ...]") if typed else ""
    together = ", ".join([*inputs, *attributes])
    if len(schema.name) + len(together) + len(returns) > WIDTH - 20:
        parts = (each.replace(" ", _HELD) for each in [*inputs, *attributes])
        lines = textwrap.wrap(", ".join(parts), WIDTH - 8, break_long_words=False)
        together = "".join(f"\n    {line}" for line in lines).replace(_HELD, " ") + ",\n"
    return f"({together}){returns}"


def _annotation(attribute: Any) -> str:
    """Return the type hint, as text, of a kernel's parameter for an attribute: "int", "float | None", or "Any".

    It ends with "| None" if the attribute is optional and has no default. It is "Any" for tensors, graphs and other
    types that are neither numbers nor text.
    """
    kind = _KINDS.get(attribute.type, "Any")
    absent = not attribute.required and attribute.default is None and kind != "Any"
    return f"{kind} | None" if absent else kind


def _is_name(text: str) -> bool:
    """Return whether a text can be the name of a parameter in Python: an ASCII identifier that is no keyword.

    Soft keywords, such as "match", are no keywords here.
    """
    return text.isascii() and text.isidentifier() and not keyword.iskeyword(text)


def add_stubs(source: str, stubs: Iterable[Stub], docstring: str) -> str:
    """Return the text of a Python file with stubs added at its end, and their imports at its top.

    Whether the file has the functions already is not checked.

    Args:
        source: Text of the file, "" for a new one.
        stubs: Functions to add.
        docstring: Docstring of the module, written only if the file is new.

    Raises:
        SyntaxError: If the file is not Python.
    """
    text = source if source.strip() else f'"""{docstring}"""\n'
    end = "\r\n" if "\r\n" in text else "\n"
    for stub in stubs:
        text += "" if text.endswith(("\n", "\r")) else end
        text = _add_imports(text + f"\n\n{stub.text}".replace("\n", end), stub.imports, end)
    return text


def _add_imports(text: str, imports: Mapping[str, tuple[str, ...]], end: str) -> str:
    """Return Python source with imports added for names that it does not import yet with `from … import`.

    `imports` has the names by module; `end` is the line ending. Raises SyntaxError if the source is not Python.
    """
    for module, names in imports.items():
        body = ast.parse(text).body
        froms = [node for node in body if isinstance(node, ast.ImportFrom) and node.module]
        imported = {alias.asname or alias.name for node in froms for alias in node.names}
        if not (missing := {*names} - imported):
            continue
        lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)  # a form feed ends no line
        statement = next((node for node in froms if node.module == module), None)
        imported_there = [ast.unparse(each) for each in statement.names] if statement is not None else []
        if statement is not None and lines[statement.lineno - 1] == _import_line(module, imported_there) + end:
            lines[statement.lineno - 1] = _import_line(module, [*missing, *imported_there]) + end
        else:
            at, apart = _import_position(body, module)
            lines[at:at] = [end] * apart + [_import_line(module, missing) + end]
        text = "".join(lines)
    return text


def _import_line(module: str, names: Iterable[str]) -> str:
    """Return the line that imports `names`, sorted, from a module, without line ending."""
    return f"from {module} import {', '.join(sorted(names))}"


def _import_position(body: list[ast.stmt], module: str) -> tuple[int, bool]:
    """Return the 0-based index of the line before which to import `module`, and whether to put an empty line before it.

    `body` are the statements of the file.
    """
    top = module.partition(".")[0]
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {node.lineno: getattr(node, "module", None) or "" for node in imports}
    beside = [node for node in imports if names[node.lineno].partition(".")[0] == top]
    for node in beside:
        if names[node.lineno] > module:
            return node.lineno - 1, False
    for node in reversed(beside or imports):
        return node.end_lineno or 0, not beside
    docstring = body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return (body[0].end_lineno or 0, True) if docstring else (0, False)


def conflicting_definition(source: str, stub: Stub) -> str:
    """Return "NAME, line N" of a top-level function or class in Python source that has the same name as a stub.

    The result is "" if there is none. Raises SyntaxError if the source is not Python.
    """
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == stub.name:
            return f"{node.name}, line {node.lineno}"
    return ""


def is_registered(source: str, stub: Stub) -> bool:
    """Return whether a decorator in Python source registers a function for the domain, operator and version of a stub.

    The source is parsed, and not run: a domain that is no literal counts as the stub's. If the stub's decorator names
    no version, a function for any version counts. Raises SyntaxError if the source is not Python.
    """
    for node in ast.parse(source).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for each in node.decorator_list:
            if not isinstance(each, ast.Call) or not isinstance(each.func, ast.Name) or each.func.id != stub.decorator:
                continue
            names = [argument.value for argument in each.args if isinstance(argument, ast.Constant)]
            values = {
                one.arg: one.value.value if isinstance(one.value, ast.Constant) else None for one in each.keywords
            }
            domain = values.get("domain", "")
            is_domain = domain is None or domain in (stub.domain, domain_name(stub.domain))
            if stub.operator in names and is_domain and (not stub.since or values.get("since") == stub.since):
                return True
    return False
