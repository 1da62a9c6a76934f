"""Options of the public functions, checked at the door: a value of another kind is one error, before any work.

    @checked_options
    def infer(model, *, limits=None): ...

The kind of an option follows from its name, which means the same in each function.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

from opset.budget import Limits
from opset.errors import Finding, UsageError, quote
from opset.numbers import is_number

_Function = TypeVar("_Function", bound=Callable[..., Any])
_ITEMS = (list, tuple, set, frozenset)
"""Kinds of several values that can be looked at more than once."""


class _Kind(NamedTuple):
    """What an option may be, in words, and an example of it. `none` says whether it may be None without a default None.

    Of an option that takes several values or one, `fits` is asked about each.
    """

    fits: Callable[[Any], bool]
    words: str
    example: str
    several: bool = False
    none: bool = False


def _is_text(value: Any) -> bool:
    """Whether a value is text."""
    return isinstance(value, str)


def _is_name(value: Any) -> bool:
    """Whether a value is a name: text, or the bytes of a name in a model that are no UTF-8."""
    return isinstance(value, str | bytes)


def _is_path(value: Any) -> bool:
    """Whether a value is a path."""
    return isinstance(value, str | os.PathLike)


def _is_whole(value: Any) -> bool:
    """Whether a value is an integer, 0 or greater; a bool is none."""
    return is_number(value, whole=True)


def _is_positive(value: Any) -> bool:
    """Whether a value is an integer above 0."""
    return _is_whole(value) and value > 0


def _is_index(value: Any) -> bool:
    """Whether a value is an integer."""
    return hasattr(value, "__index__") and not hasattr(value, "__len__")


def _is_switch(value: Any) -> bool:
    """Whether a value is true or false: a bool of Python or numpy, 0 or 1."""
    return (isinstance(value, int | float) and value in (0, 1)) or type(value).__name__ in ("bool_", "bool")


def _is_table(value: Any) -> bool:
    """Whether a value is a mapping with names as its keys."""
    return isinstance(value, Mapping) and all(map(_is_name, value))


def _is_opsets(value: Any) -> bool:
    """Whether a value is an opset, or a mapping of domains to versions."""
    return _is_positive(value) or (_is_table(value) and all(map(_is_positive, value.values())))


def _is_pairs(value: Any) -> bool:
    """Whether a value connects outputs with inputs: a mapping, or a list of pairs of text."""
    pairs = value.items() if isinstance(value, Mapping) else value
    return isinstance(value, Mapping | Sequence) and all(
        isinstance(pair, tuple | list) and len(pair) == 2 and all(map(_is_text, pair)) for pair in pairs
    )


def _is_symptom(value: Any) -> bool:
    """Whether a value is a command, as text or as its words, or a function."""
    return callable(value) or _is_text(value) or (isinstance(value, list | tuple) and all(map(_is_text, value)))


def _is_schemas(value: Any) -> bool:
    """Whether a value is a path, an operator-set document or a registry."""
    return _is_path(value) or type(value).__name__ in ("OperatorSet", "Registry")


_NAMES = "a name, or a list of names"
_KINDS = {
    "add_outputs": _Kind(_is_name, _NAMES, '["scores"]', several=True, none=True),
    "allow_external_roots": _Kind(_is_path, "a folder, or a list of folders", '["weights/"]', several=True),
    "atol": _Kind(is_number, "a number, 0 or greater", "1e-5"),
    "connect": _Kind(_is_pairs, "a dict of outputs to inputs, or a list of pairs", '{"out": "in"}'),
    "contains": _Kind(_is_text, "text", '"Segmentation fault"'),
    "dims": _Kind(_is_table, "a dict of names to sizes", '{"batch": 4}'),
    "exclude": _Kind(_is_name, _NAMES, '["local.Block"]', several=True),
    "executor": _Kind(lambda value: _is_text(value) or hasattr(value, "submit"), "an executor, or its address", '"tcp://…"'),
    "failing": _Kind(_is_symptom, "a command as text or as a list, or a function", '"python try.py {}"'),
    "freeze": _Kind(_is_name, _NAMES, '["axes"]', several=True),
    "function": _Kind(_is_text, "text", '"local.Block"'),
    "functions": _Kind(_is_name, _NAMES, '["local.Block"]', several=True),
    "graph": _Kind(_is_text, "text", '"/Loop.body"'),
    "ignore": _Kind(_is_text, "a code, or a list of codes", '["W101"]', several=True),
    "inputs": _Kind(_is_name, _NAMES, '["x"]', several=True),
    "ir_version": _Kind(_is_positive, "an integer above 0", "8"),
    "jobs": _Kind(_is_whole, "an integer, 0 or greater", "4"),
    "limit": _Kind(_is_whole, "an integer, 0 or greater", "20"),
    "limits": _Kind(lambda value: isinstance(value, Limits), "Limits", "opset.Limits(timeout=60)"),
    "max_tries": _Kind(_is_whole, "an integer, 0 or greater", "500"),
    "node": _Kind(_is_text, "text", '"/Add_2"'),
    "op_type": _Kind(_is_text, "text", '"Softmax"'),
    "operators": _Kind(_is_name, _NAMES, '["Gelu"]', several=True),
    "opsets": _Kind(_is_opsets, "an opset, or a dict of domains to versions", '{"ai.onnx": 17}'),
    "output": _Kind(_is_path, "a path", '"converted/"'),
    "outputs": _Kind(_is_name, _NAMES, '["y"]', several=True),
    "progress": _Kind(callable, "a function", "lambda done, all: print(done, all)"),
    "rtol": _Kind(is_number, "a number, 0 or greater", "1e-3"),
    "runtimes": _Kind(_is_text, "a runtime, or a list of runtimes", '["tensorrt"]', several=True),
    "schemas": _Kind(_is_schemas, "a folder, a document or a registry, or several", '["schemas"]', several=True),
    "seconds": _Kind(is_number, "a number, 0 or greater", "60"),
    "seed": _Kind(_is_whole, "an integer, 0 or greater", "0"),
    "seeds": _Kind(_is_whole, "an integer, 0 or greater", "5"),
    "select": _Kind(_is_text, "a code, or a list of codes", '["M1"]', several=True),
    "sizes": _Kind(_is_table, "a dict of names to sizes", '{"batch": 4}'),
    "targets": _Kind(_is_path, "a file, or a list of files", '["chips.yaml"]', several=True),
    "text": _Kind(_is_text, "text", '"y = Relu (x)"'),
    "trace": _Kind(callable, "a function", "print"),
    "domain": _Kind(lambda value: isinstance(value, str | int), "text", '"ai.onnx.ml"'),
    "max_inclusive_version": _Kind(lambda value: isinstance(value, str) or _is_index(value), "an integer", "13"),
    "version": _Kind(_is_index, "an integer", "13"),
    "with_": _Kind(_is_text, "text", '"onnxruntime"'),
} | {
    name: _Kind(_is_switch, "True or False", "True")
    for name in (
        "casts", "check_type", "data_prop", "differs", "force", "full", "full_check", "inexact_types", "overwrite",
        "strict", "strict_mode", "verify_checksums", "weights",
    )
}  # fmt: skip

_MESSAGE = _Kind(lambda value: hasattr(value, "SerializeToString"), "a message of protobuf", "model.graph.node[0]")
_MESSAGES = ("attribute", "function", "graph", "node", "sparse", "tensor", "value")
"""What the first parameter of a function of a part of a model is called."""


def checked_options(function: _Function) -> _Function:
    """Return a function that checks the kinds of its options first; one that does not fit is a UsageError U103."""
    parameters = inspect.signature(function).parameters
    kinds = {name: _kind_of(parameter) for name, parameter in parameters.items()}
    names = [*parameters]
    title = function.__qualname__.removesuffix(".__init__")

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        """Check the options, and call the function."""
        checked = [
            value if (kind := kinds[name]) is None else _check_option(title, parameters[name], kind, value)
            for name, value in zip(names, arguments, strict=False)
        ]
        for name, value in options.items():
            if (kind := kinds.get(name)) is not None:
                options[name] = _check_option(title, parameters[name], kind, value)
        return function(*checked, *arguments[len(checked) :], **options)

    return cast(_Function, call)


def _kind_of(parameter: inspect.Parameter) -> _Kind | None:
    """Return the kind of an option or of a message; None if the function itself looks at it."""
    is_message = parameter.name in _MESSAGES and parameter.default is parameter.empty
    return _MESSAGE if is_message else _KINDS.get(parameter.name)


def _check_option(function: str, parameter: inspect.Parameter, kind: _Kind, value: Any) -> Any:
    """Return the value of an option, an iterator as a list. Raises UsageError U103 if it does not fit."""
    if value is None and (kind.none or parameter.default is None):
        return None
    if kind.several and not kind.fits(value):
        if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
            value = value if isinstance(value, _ITEMS) else [*value]
            if all(map(kind.fits, value)):
                return value
    elif kind.fits(value):
        return value
    shown = quote(value) if isinstance(value, str) else quote(repr(value))
    message = f"the option '{parameter.name}' of {function} cannot be {shown}"
    why = f"it is {type(value).__name__}, and has to be {kind.words}"
    raise UsageError(Finding("U103", message, why=why, help=f"write {parameter.name}={kind.example}, for example"))
