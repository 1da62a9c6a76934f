"""Examples of operators as Python to paste: a model of one node by onnx.helper, its inputs by numpy, and a run.

Pages hold what differs between examples; assets/site.js puts it into the code around it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from opset.catalog import value_text
from opset.model.elements import ELEMENTS
from opset.model.types import nest_elements
from opset.schemas.example import Example, ExampleValue
from opset.schemas.model import VARIADIC, OpSchema, Parameter

LONGEST = 1500
"""Characters of the parts of an example that has code."""
LONGEST_COMMAND = 60
"""Characters of the values in a command, with the names of its inputs and the operator."""
_DTYPES = {each.name: each.dtype for each in ELEMENTS.values()}
_NUMPY = frozenset(
    "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128 object".split()
)


_SHOWN = frozenset("float double float16 int8 uint8 int16 uint16 int32 uint32 int64 uint64".split())
"""Types whose values are written as a page shows them."""
_NEGATIVE_ZERO = re.compile(r"-0(?![.\d])")
"""What Python reads as an integer without its sign."""


class _Unsupported(Exception):
    """Raised for a value that cannot be written as Python in one line."""


def python_parts(schema: OpSchema, example: Example, newest: int, shown: Sequence[str]) -> str:
    """Return the parts of an example's Python code as JSON, from which assets/site.js makes the code.

    The parts are, in this order:

    - the operator, its domain, and [domain, version] for each import;
    - the attributes, as arguments in Python;
    - the inputs, each as [name, type, shape, value], and the outputs, each as [name, type, shape];
    - the values for a command that runs the model; this part is missing if there is no such command.

    An absent input or output is 0. The shape of anything but a tensor is 0, too. The value of an input is 1 if the text
    in `shown` is Python code for the input's value. Then assets/site.js takes the code from the page.

    The result is "" if the example shows an error, is too long, or has values without a short form.

    Args:
        schema: The version of the operator that the code uses.
        example: The example.
        newest: The newest version of ai.onnx. The code imports it if an operator of another domain has a graph as an
            attribute.
        shown: The text that the page shows for each input.
    """
    try:
        text = json.dumps(_parts_of(schema, example, newest, shown), separators=(",", ":"))
    except _Unsupported:
        return ""
    return text if len(text) <= LONGEST else ""


def _parts_of(schema: OpSchema, example: Example, newest: int, shown: Sequence[str]) -> list[Any]:
    """Return the parts of an example's Python code, which `python_parts` writes as JSON.

    They are [operator, domain, imports, attributes, inputs, outputs, values]. The values are the inputs of a command
    that runs the model. A list without values means that there is no such command, such as for inputs that are NaN.
    Raises _Unsupported if the example shows an error, or a value has no short form.

    Args:
        schema: The version of the operator.
        example: The example.
        newest: The newest version of ai.onnx.
        shown: The text that the page shows for each input.
    """
    if example.outputs is None:
        raise _Unsupported
    inputs = _name_values(schema.inputs, example.inputs)
    taken = {name for name, value in inputs if value is not None}
    outputs = [
        (f"new_{name}" if name in taken else name, value)
        for name, value in _name_values(schema.outputs, example.outputs)
    ]
    kinds = {name: schema.attributes[name].type for name in example.attributes}
    attributes = [f"{name}={_attribute_text(kinds[name], value)}" for name, value in example.attributes.items()]
    imports = [[schema.domain, schema.since_version]]
    if schema.domain and any(kind.startswith("graph") for kind in kinds.values()):
        imports.append(["", newest])
    given = [(name, value, text) for (name, value), text in zip(inputs, shown, strict=True) if value is not None]
    values = _command_values(schema.name, given)
    return [
        schema.name,
        schema.domain,
        imports,
        ", ".join(attributes),
        [
            0 if value is None else [name, *_type_parts(value), 1 if _is_value(value, text) else _value_text(value)]
            for (name, value), text in zip(inputs, shown, strict=True)
        ],
        [0 if value is None else [name, *_type_parts(value)] for name, value in outputs],
        *([values] if values else []),
    ]


def _name_values(
    parameters: Sequence[Parameter], values: Sequence[ExampleValue | None]
) -> list[tuple[str, ExampleValue | None]]:
    """Return (name, value) for each value; the name is its parameter's, and an absent value is None.

    The values of a variadic parameter are numbered from 1: "data_0_1", "data_0_2".
    """
    named = []
    for position, value in enumerate(values):
        parameter = parameters[min(position, len(parameters) - 1)]
        number = f"_{position - len(parameters) + 2}" if parameter.option == VARIADIC else ""
        named.append((f"{parameter.name}{number}", value))
    return named


def _type_parts(value: ExampleValue) -> tuple[str, list[int] | int]:
    """Return the element type and the shape of a tensor, ("FLOAT", [2, 3]).

    For any other value, the result is (Python code that makes its TypeProto, 0).
    """
    if value.type.startswith("tensor("):
        return value.type[7:-1].upper(), [*_shape_of(value)]
    return _type_text(value.type), 0


def _shape_of(value: ExampleValue) -> tuple[int, ...]:
    """Return the shape of a tensor in an example.

    If the example does not state it, a list of n elements has the shape (n,), and a single value ().
    """
    if value.shape is not None:
        return value.shape
    return (len(value.content),) if isinstance(value.content, list) else ()


def _type_text(text: str, shape: tuple[int, ...] | None = None) -> str:
    """Return Python code that makes a TypeProto by onnx.helper.

    `text` is the type, such as "seq(tensor(float))". `shape` is the shape of a tensor, None if it is not known; tensors
    in sequences and optionals have none. Raises _Unsupported for a sparse tensor.
    """
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
    """Return the Python name of an element type such as "float": "TensorProto.FLOAT"."""
    return f"TensorProto.{name.upper()}"


def _is_value(value: ExampleValue, text: str) -> bool:
    """Return whether `text`, which the page shows for a value, is Python code for exactly this value.

    The result is False for anything but a tensor, for an empty one, and for element types that are not in _SHOWN.
    """
    element, shape = value.type[7:-1], _shape_of(value)
    if not value.type.startswith("tensor(") or element not in _SHOWN:
        return False
    listed = isinstance(value.content, list)
    if value.content is None or (shape and not listed) or not all(shape) or _NEGATIVE_ZERO.search(text):
        return False
    return text == value_text(nest_elements(value.content, shape) if listed else value.content)


def _value_text(value: ExampleValue) -> str:
    """Return Python code for a value: a numpy array, a list, or "None" for an empty optional.

    Raises _Unsupported for a value of another type, and for a tensor whose elements the example does not state.
    """
    kind, content = value.type, value.content
    if kind.startswith("tensor("):
        return _array_text(kind[7:-1], content, _shape_of(value))
    if kind.startswith("seq("):
        return f"[{', '.join(map(_value_text, content))}]"
    if kind.startswith("optional("):
        return "None" if content is None else _value_text(content)
    raise _Unsupported


def _array_text(element: str, content: Any, shape: tuple[int, ...]) -> str:
    """Return Python code for a numpy array.

    Args:
        element: The element type, such as "float".
        content: A list of elements, or one element that fills the shape. Raises _Unsupported if it is None.
        shape: The shape.
    """
    if content is None:
        raise _Unsupported
    if element.startswith("complex"):
        content = [complex(each) for each in content] if isinstance(content, list) else complex(content)
    text = f"array({content!r}, {_dtype_text(element)})"
    if isinstance(content, list):
        return text if shape == (len(content),) else f"{text}.reshape({', '.join(map(str, shape)) or '()'})"
    return text if shape == () else f"{text[:-1]}).repeat({math.prod(shape)}).reshape({', '.join(map(str, shape))})"


def _dtype_text(element: str) -> str:
    """Return Python code for the numpy dtype of an element type: `"float32"` for "float".

    A type that numpy does not have is code such as `ml_dtypes.bfloat16`. Raises KeyError for an unknown element type.
    """
    dtype = _DTYPES[element]
    return _quote(dtype) if dtype in _NUMPY else f"ml_dtypes.{dtype}"


def _attribute_text(kind: str, value: Any) -> str:
    """Return Python code for the value of an attribute.

    `kind` is the type of the attribute, such as "ints". Raises _Unsupported for these values:

    - an empty list;
    - a tensor of one number that stands for all elements, or of an element type such as float16;
    - text with the name of an input in the model of the example, such as "input_0";
    - a value of a type without a short form, such as a list of graphs.
    """
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


def _command_values(operator: str, given: Iterable[tuple[str, ExampleValue, str]]) -> list[str | int]:
    """Return the values of inputs for the command that runs an example's model; [] if there is no such command.

    A value is JSON text, such as "[1.5, 2]". If the page shows an input as valid JSON, its value is 0: the command has
    the shown text. There is no command in these cases:

    - JSON cannot hold a value, such as NaN;
    - the JSON text has a single quote;
    - names and values together are longer than LONGEST_COMMAND.

    Args:
        operator: The name of the operator, which is in the command.
        given: (name, value, text that the page shows) for each input.
    """
    values: list[str | int] = []
    length = len(operator)
    for name, value, shown in given:
        nested = _json_value(value)
        if nested is None:
            return []
        text = json.dumps(nested)
        length += len(name) + len(text)
        if length > LONGEST_COMMAND or any(word in text for word in ("NaN", "Infinity", "'")):
            return []
        same = _is_value(value, shown) and _is_json(shown)
        values.append(0 if same else text)
    return values


def _is_json(text: str) -> bool:
    """Return whether a text is valid JSON."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _json_value(value: ExampleValue) -> Any:
    """Return the elements of a tensor as nested lists, or as one value for a scalar; None if it cannot be given so.

    None is returned for an empty tensor, for complex numbers, and for values that are no tensors. None is also returned
    if the example does not state each element. NaN and infinities are returned, although JSON has none.
    """
    content, shape = value.content, _shape_of(value)
    if not value.type.startswith("tensor(") or "complex" in value.type or content is None or not all(shape):
        return None
    if isinstance(content, list):
        return nest_elements(content, shape)
    return None if shape else content


def _quote(text: str) -> str:
    """Return text as a Python string literal in double quotes, in ASCII."""
    return json.dumps(text)
