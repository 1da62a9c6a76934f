"""Inlining: the nodes of model-local functions in place of the nodes that call them.

    inline_functions("model.onnx").save("flat.onnx")
    inline_functions(model, ["com.example.Scale"], exclude=["Scale:half"])

A function is named by its name, with or without its domain before a dot, and its overload behind a colon. Calls are
replaced from the outside to the inside, so that the attributes of an inner call are known when it is replaced. Nothing
recurses, and nodes are charged before they are made: functions that double are refused, not expanded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, overload

from opset.budget import Limits
from opset.errors import ConversionError, Finding, UsageError, listing, quote
from opset.file_names import list_paths
from opset.model import load
from opset.model.graph.index import FunctionKey, ModelIndex
from opset.model.storage.container import MessageT, Model, ModelSource
from opset.opsets.registry import Registry, Schemas, registry_with
from opset.options import checked_options
from opset.preparation import read_model
from opset.schemas.names import domain_name, normalize_domain
from opset.version_converter.calls import Inlining, function_label, inline_chosen
from opset.version_converter.conversion import convert_model
from opset.version_converter.result import Conversion
from opset.version_converter.targets import Target, target_without

if TYPE_CHECKING:
    from typing_extensions import Unpack


class InlineOptions(TypedDict, total=False):
    """The keyword arguments of `inline_functions`, for type checkers; `inline_functions` describes each."""

    exclude: Iterable[str]
    schemas: Schemas
    allow_external_roots: Iterable[str | Path]
    limits: Limits | None


@overload
def inline_functions(
    model: ModelSource, functions: Iterable[str] | None = None, **options: Unpack[InlineOptions]
) -> Model: ...
@overload
def inline_functions(
    model: MessageT, functions: Iterable[str] | None = None, **options: Unpack[InlineOptions]
) -> MessageT: ...
@checked_options
def inline_functions(
    model: Any,
    functions: Iterable[str] | None = None,
    *,
    exclude: Iterable[str] = (),
    schemas: Schemas = (),
    allow_external_roots: Iterable[str | Path] = (),
    limits: Limits | None = None,
) -> Any:
    """Return a model with the nodes of functions in place of their calls; the given model is not changed.

    A function that nothing calls any more is removed.

    Args:
        model: A path, bytes, an opset.Model, or a ModelProto of the onnx package.
        functions: Names of the functions to inline ("Scale", "com.example.Scale", "com.example.Scale:half" with an
            overload), or one text with commas between them; by default all. A name that no function has may be an
            operator, such as "Gelu": its nodes are expressed by other operators, as `lower` does.
        exclude: Names of functions that stay, in the same forms.
        schemas: Folders of operator YAML, for domains of your own.
        allow_external_roots: Folders outside the model's own from which external data may be read.
        limits: How much the inlining may do and add; by default in proportion to the size of the model.

    Returns:
        A ModelProto of the onnx package if `model` is one, else an opset.Model.

    Raises:
        ConversionError: A call cannot be inlined; the error has all refusals.
        ModelError: The model is malformed.
        SchemaError: A file in `schemas` has faults.
        UsageError: A name in `functions` is neither a function nor an operator, or a name in `exclude` is no function.
    """
    loaded = load(model, allow_external_roots=list_paths(allow_external_roots))
    names = None if functions is None else _split_names(functions)
    inlining = inline_model(loaded, names, _split_names(exclude), registry_with(schemas), limits)
    if inlining.model is None:
        raise ConversionError(inlining.refusals)
    return inlining.model.as_given()


def _split_names(names: Iterable[str]) -> list[str]:
    """Return names as a list; if `names` is one text, such as "Scale, Shift", split it at its commas.

    In this text, spaces around a name are removed, and an empty part becomes "". Names in any other collection stay as
    they are.
    """
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]


def inline_model(
    model: Model, names: Iterable[str] | None, exclude: Iterable[str], registry: Registry, limits: Limits | None = None
) -> Inlining:
    """Return the result of inlining functions of a model; the model itself is not changed.

    Args:
        model: The model, as it was loaded.
        names: The functions to inline, None for all. A name that no function has may be an operator, such as "Gelu":
            its nodes are expressed by other operators, and counted in `calls` of the result.
        exclude: The functions that stay.
        registry: The operators that are known.
        limits: Bounds on the work and the size; by default in proportion to the model.

    Returns:
        The result. If a call cannot be inlined, or an operator cannot be expressed by others, its `model` is None, and
        its `refusals` say why.

    Raises:
        ModelError: The model is malformed.
        UsageError: U103 if one of `names` is neither a function nor an operator, or one of `exclude` is no function.
    """
    model, index = read_model(model, registry)
    index.call_order()
    operators = []
    if names is not None:
        names = [*names]
        operators = [name for name in names if _is_operator(name, index, registry)]
        names = [name for name in names if name not in operators]

    def convert(model: Model, target: Target) -> Conversion:
        """Return the conversion of a model to a target, with the registry and limits of the inlining."""
        return convert_model(model, target, registry, limits=limits)

    chosen = _choose_functions(index, names, exclude)
    inlining = inline_chosen(model, index, chosen, registry, limits, convert)
    if operators and inlining.model is not None:
        conversion = convert(inlining.model, target_without(operators, registry))
        inlining.refusals = conversion.refusals
        inlining.model = conversion.model
        inlining.calls.update((action.domain, action.op_type, "") for action in conversion.actions)
    return inlining


def _is_operator(name: str, index: ModelIndex, registry: Registry) -> bool:
    """Whether a name is an operator of the registry, and no function of the model.

    "Gelu" is read as an operator of ai.onnx, or as a function of any domain. "com.example.Scale" is read as Scale of
    the domain com.example.
    """
    domain, _, op_type = name.rpartition(".")
    if any(name in (key[1], f"{domain_name(key[0])}.{key[1]}") for key in index.functions):
        return False
    return bool(registry.since_versions(op_type, normalize_domain(domain)))


def _choose_functions(index: ModelIndex, names: Iterable[str] | None, exclude: Iterable[str]) -> set[FunctionKey]:
    """Return the keys of the functions with these names (None: all functions), without those named in `exclude`.

    A name is written as in "Scale" or "com.example.Scale:half". Raises UsageError U103 for a name that no function has.
    """
    by_name = functions_by_name(index)
    chosen = {*index.functions} if names is None else {key for name in names for key in by_name[name]}
    return chosen - {key for name in exclude for key in by_name[name]}


def functions_by_name(index: ModelIndex) -> Mapping[str, set[FunctionKey]]:
    """Return the keys of functions by name: "Scale", "com.example.Scale", "Scale:half", "com.example.Scale:half".

    "Scale" stands for the functions of this name in all domains; with a domain, only for those of the domain. Without
    ":" and an overload, a name stands for all overloads. Looking up any other name by `[]` raises UsageError U103.
    """
    by_name = _FunctionNames([function_label(key) for key in index.functions])
    for key in index.functions:
        domain, name, overload = key
        for each in (name, f"{domain_name(domain)}.{name}"):
            by_name.setdefault(each, set()).add(key)
            by_name.setdefault(f"{each}:{overload}", set()).add(key)
    return by_name


class _FunctionNames(dict[str, set[FunctionKey]]):
    """The functions of a model by name; looking up an unknown name raises UsageError, which lists `labels`."""

    def __init__(self, labels: list[str]) -> None:
        """Start without names; `labels` are the names of all functions, for the error."""
        super().__init__()
        self._labels = labels

    def __missing__(self, name: str) -> set[FunctionKey]:
        """Raise UsageError U103 for a name that no function has; its help lists the functions."""
        help = f"functions of the model: {listing(self._labels) or 'none'}"
        raise UsageError(Finding("U103", f"the model has no function {quote(name)}", help=help))
