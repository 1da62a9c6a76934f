"""Examples of operators as Python to paste: a model of one node by onnx.helper, its inputs by numpy, and a run."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from opset.model.elements import ELEMENTS
from opset.model.types import nest_elements
from opset.schemas.model import VARIADIC, Example, ExampleValue, OpSchema, Parameter

LONGEST = 2000
"""Characters of code that a page shows."""
LONGEST_COMMAND = 100
"""Characters of a command that a page shows."""
_DTYPES = {each.name: each.dtype for each in ELEMENTS.values()}
_NUMPY = frozenset(
    "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128 object".split()
)


class _Unsupported(Exception):
    """A value that onnx.helper and numpy do not write in a line."""


def python_code(schema: OpSchema, example: Example, newest: int) -> str:
    """Return an example as Python code that makes its model and prints its outputs; "" if it would be too long.

    Args:
        schema: The version of the operator that the code uses.
        example: An example with outputs, not one of an error.
        newest: The newest version of ai.onnx, which graphs in attributes of other domains import.
    """
    if example.outputs is None:
        return ""
    try:
        code = _code_of(schema, example, newest)
    except _Unsupported:
        return ""
    return code if len(code) <= LONGEST else ""


def _code_of(schema: OpSchema, example: Example, newest: int) -> str:
    """Return the code of an example. Raises _Unsupported if a value has no short form."""
    inputs = _name_values(schema.inputs, example.inputs)
    taken = {name for name, value in inputs if value is not None}
    outputs = [
        (f"new_{name}" if name in taken else name, value)
        for name, value in _name_values(schema.outputs, example.outputs or ())
    ]
    words = [_quote(schema.name), _names_text(inputs), _names_text(outputs)]
    words += [f"domain={_quote(schema.domain)}"] if schema.domain else []
    kinds = {name: schema.attributes[name].type for name in example.attributes}
    words += [f"{name}={_attribute_text(kinds[name], value)}" for name, value in example.attributes.items()]
    node = f"node = helper.make_node({', '.join(words)})"
    given = [(name, value) for name, value in inputs if value is not None]
    feeds = ", ".join(f"{_quote(name)}: {_value_text(value)}" for name, value in given)
    made = [(name, value) for name, value in outputs if value is not None]
    imports = {schema.domain: schema.since_version}
    if schema.domain and any(kind.startswith("graph") for kind in kinds.values()):
        imports[""] = newest
    opsets = ", ".join(f"helper.make_opsetid({_quote(domain)}, {version})" for domain, version in imports.items())
    lines = [
        node,
        f"inputs = {_infos_text(given)}",
        f"outputs = {_infos_text(made)}",
        'graph = helper.make_graph([node], "example", inputs, outputs)',
        f"model = helper.make_model(graph, opset_imports=[{opsets}])",
        f"print(opset.ReferenceEvaluator(model).run(None, {{{feeds}}}))",
    ]
    if command := _command(schema.name, given):
        lines.append(f'save(model, "{schema.name}.onnx")  # {command}')
    return "\n".join([*_imports(lines), "", *lines, ""])


def _imports(lines: Sequence[str]) -> Iterable[str]:
    """Yield the imports that code needs."""
    words = {*re.findall(r"\w+", "\n".join(lines))}
    if "ml_dtypes" in words:
        yield "import ml_dtypes"
    yield "import opset"
    if names := [name for name in ("array", "inf", "nan") if name in words]:
        yield f"from numpy import {', '.join(names)}"
    names = [name for name in ("TensorProto", "helper", "parser", "save") if name in words]
    yield f"from onnx import {', '.join(names)}"


def _name_values(
    parameters: Sequence[Parameter], values: Sequence[ExampleValue | None]
) -> list[tuple[str, ExampleValue | None]]:
    """Return values with the names of their parameters; those of a variadic parameter are numbered."""
    named = []
    for position, value in enumerate(values):
        parameter = parameters[min(position, len(parameters) - 1)]
        number = f"_{position - len(parameters) + 2}" if parameter.option == VARIADIC else ""
        named.append((f"{parameter.name}{number}", value))
    return named


def _names_text(named: Iterable[tuple[str, ExampleValue | None]]) -> str:
    """Return the list of names of a node's inputs or outputs; that of an omitted one is ""."""
    return f"[{', '.join(_quote(name if value is not None else '') for name, value in named)}]"


def _infos_text(named: Iterable[tuple[str, ExampleValue]]) -> str:
    """Return the list of types and shapes of named values."""
    infos = []
    for name, value in named:
        if value.type.startswith("tensor("):
            element = _element_text(value.type[7:-1])
            infos.append(f"helper.make_tensor_value_info({_quote(name)}, {element}, {list(_shape_of(value))})")
        else:
            infos.append(f"helper.make_value_info({_quote(name)}, {_type_text(value.type)})")
    return f"[{', '.join(infos)}]"


def _shape_of(value: ExampleValue) -> tuple[int, ...]:
    """Return the shape of a tensor in an example: as stated, or that of a plain list or a scalar."""
    if value.shape is not None:
        return value.shape
    return (len(value.content),) if isinstance(value.content, list) else ()


def _type_text(text: str, shape: tuple[int, ...] | None = None) -> str:
    """Return the call of onnx.helper that makes a type; the shape is that of its tensor."""
    for prefix, maker in (("seq(", "sequence"), ("optional(", "optional")):
        if text.startswith(prefix):
            return f"helper.make_{maker}_type_proto({_type_text(text[len(prefix) : -1])})"
    if text.startswith("map("):
        key, _, inner = text[4:-1].partition(", ")
        return f"helper.make_map_type_proto({_element_text(key)}, {_type_text(f'tensor({inner})', ())})"
    if not text.startswith("tensor("):
        raise _Unsupported
    return f"helper.make_tensor_type_proto({_element_text(text[7:-1])}, {list(shape) if shape is not None else None})"


def _element_text(name: str) -> str:
    """Return the name of an element type in onnx.TensorProto."""
    return f"TensorProto.{name.upper()}"


def _value_text(value: ExampleValue) -> str:
    """Return the Python expression of a value."""
    kind, content = value.type, value.content
    if kind.startswith("tensor("):
        return _array_text(kind[7:-1], content, _shape_of(value))
    if kind.startswith("seq("):
        return f"[{', '.join(map(_value_text, content))}]"
    if kind.startswith("optional("):
        return "None" if content is None else _value_text(content)
    raise _Unsupported


def _array_text(element: str, content: Any, shape: tuple[int, ...]) -> str:
    """Return the call of numpy that makes an array; `content` is a list, or one value that fills the shape."""
    if content is None:
        raise _Unsupported
    dtype = _DTYPES[element]
    type_ = _quote(dtype) if dtype in _NUMPY else f"ml_dtypes.{dtype}"
    if element.startswith("complex"):
        content = [complex(each) for each in content] if isinstance(content, list) else complex(content)
    text = f"array({content!r}, {type_})"
    if isinstance(content, list):
        return text if shape == (len(content),) else f"{text}.reshape({', '.join(map(str, shape)) or '()'})"
    return text if shape == () else f"{text[:-1]}).repeat({math.prod(shape)}).reshape({', '.join(map(str, shape))})"


def _attribute_text(kind: str, value: Any) -> str:
    """Return the Python expression of an attribute's value."""
    if re.search(r"\binput_\d", str(value)):  # a name of the example's own model
        raise _Unsupported
    if kind in ("int", "float", "string", "ints", "floats", "strings"):
        if isinstance(value, (list, tuple)) and not value:
            raise _Unsupported  # onnx.helper cannot tell the type of an empty list
        if kind in ("float", "floats"):
            value = [*map(float, value)] if kind == "floats" else float(value)
        return repr(list(value) if isinstance(value, tuple) else value)
    if kind == "graph":
        return f'parser.parse_graph("""{value.strip()}""")'
    if kind == "tensor" and isinstance(value, ExampleValue) and value.type.startswith("tensor("):
        content = value.content if isinstance(value.content, list) else [value.content]
        shape = [*_shape_of(value)]
        if math.prod(shape) != len(content) or value.type[7:-1] not in ("float", "double", "int32", "int64", "bool"):
            raise _Unsupported
        return f'helper.make_tensor("", {_element_text(value.type[7:-1])}, {shape}, {content!r})'
    raise _Unsupported


def _command(operator: str, given: Iterable[tuple[str, ExampleValue]]) -> str:
    """Return the command that runs the model on the same inputs; "" if it would be long, or has values beyond JSON."""
    words = [f"opset run {operator}.onnx"]
    for name, value in given:
        nested = _json_value(value)
        if nested is None:
            return ""
        words.append(f"--set '{name}={json.dumps(nested)}'")
    command = " ".join(words)
    simple = "NaN" not in command and "Infinity" not in command and command.count("'") == 2 * (len(words) - 1)
    return command if simple and len(command) <= LONGEST_COMMAND else ""


def _json_value(value: ExampleValue) -> Any:
    """Return a tensor's elements as nested lists, None if JSON has no form for them."""
    content, shape = value.content, _shape_of(value)
    if not value.type.startswith("tensor(") or "complex" in value.type or content is None or not all(shape):
        return None
    if isinstance(content, list):
        return nest_elements(content, shape)
    return None if shape else content


def _quote(text: str) -> str:
    """Return a Python string literal in double quotes."""
    return json.dumps(text)
