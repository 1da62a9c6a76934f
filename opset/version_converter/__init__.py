"""Conversion of models from one operator set version to another.

`conversion` prepares a model and tries strategies, `body_conversion` plans and changes each body, `crossing` takes a
node across transitions, `ir_version` ends the work, and `report` shows it. They use `routes` (which transitions an
operator crosses), adapters (`derivation`, `registration`, called with `rewrite`) and `facts` about values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, overload

from opset.budget import Limits
from opset.errors import ConversionError, Finding, SchemaError, UsageError
from opset.file_names import list_paths
from opset.model import Model, load
from opset.opsets.registry import Registry, Schemas, default_registry, registry_with
from opset.options import checked_options
from opset.preparation import Freeze
from opset.version_converter.conversion import convert_model
from opset.version_converter.result import Conversion
from opset.version_converter.targets import (
    Target,
    target_of_model,
    target_of_release,
    target_of_runtime,
    target_of_version,
    target_without,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from opset.model.storage.container import MessageT, ModelLike, ModelSource

    class ConvertOptions(TypedDict, total=False):
        """The keyword arguments of `convert` and `plan`, for type checkers; `convert` describes each."""

        release: str | None
        runtime: str | None
        ir_version: int | None
        schemas: Schemas
        dims: Mapping[str, int | str] | None
        freeze: Freeze
        targets: Iterable[str | Path]
        inexact_types: bool
        allow_external_roots: Iterable[str | Path]
        limits: Limits | None
        assume_opset: int | str | Mapping[str, int] | None

    class LowerOptions(TypedDict, total=False):
        """The keyword arguments of `lower`, for type checkers; `convert` describes each."""

        schemas: Schemas
        dims: Mapping[str, int | str] | None
        freeze: Freeze
        allow_external_roots: Iterable[str | Path]
        limits: Limits | None


__all__ = ["Conversion", "Target", "convert", "convert_model", "lower", "plan", "target_of", "target_without"]


def target_of(
    to: int | str | Mapping[str, int] | None = None,
    *,
    release: str | None = None,
    runtime: str | None = None,
    ir_version: int | None = None,
    registry: Registry | None = None,
    targets: Iterable[str | Path] = (),
    inexact_types: bool = False,
    keeps_opsets: bool = False,
) -> Target:
    """Return the target that `to`, `release` ("1.15") or `runtime` ("onnxruntime==1.17") names.

    `to` and `runtime` may be given together. If `to`, `release` and `runtime` are all missing, the target keeps the
    opsets of a model. Such a call needs `ir_version` or `keeps_opsets`.

    Args:
        to: Opset versions: 21, "domain=version" or a mapping, as for `convert`. If `runtime` is given, too, a model
            gets these versions, and not those of the runtime that suit it best.
        release: A release of ONNX.
        runtime: A release of a runtime.
        ir_version: The IR version that a converted model gets.
        registry: The operators that are known; by default those of the standard.
        targets: YAML files that describe further runtimes. If no runtime is asked for, faults in them are a note.
        inexact_types: Whether a node for which the runtime has no other kernel may compute in a type that gives other
            results. Needs `runtime`.
        keeps_opsets: Whether a call without `to`, `release`, `runtime` and `ir_version` is permitted.

    Raises:
        UsageError: U101 if the target is not known. U103 if `to`, `release`, `runtime` and `ir_version` are all missing
            and `keeps_opsets` is False. U103 if `release` is given beside `to` or `runtime`, or if `inexact_types` is
            given without `runtime`.
        SchemaError: A file that describes a runtime has faults.
    """
    registry = registry or default_registry()
    for name, text in ("release", release), ("runtime", runtime):
        if text is not None and not isinstance(text, str):
            example = {"release": "release='1.20'", "runtime": "runtime='onnxruntime==1.17'"}[name]
            raise UsageError(Finding("U101", f"the {name} {text!r} is no text", help=f"write it in quotes: {example}"))
    given = sum(choice is not None for choice in (runtime if to is None else to, release))
    if given > 1 or (not given and ir_version is None and not keeps_opsets):
        help = "pass one of `to`, `release` and `runtime`, or a runtime and `to`"
        raise UsageError(Finding("U103", "a conversion needs one target", help=help))
    if inexact_types and runtime is None:
        help = "they are permitted for a runtime: --for onnxruntime==1.17"
        raise UsageError(Finding("U103", "inexact types need a runtime", help=help))
    files = [*map(Path, list_paths(targets))]
    if runtime is not None:
        return target_of_runtime(runtime, registry, ir_version, files, inexact_types, to)
    if release is not None:
        target = target_of_release(release, registry, ir_version)
    else:
        target = target_of_model(ir_version) if to is None else target_of_version(to, registry, ir_version)
    return target._replace(notes=(*target.notes, *_notes_on_unused(files)))


def _notes_on_unused(files: Sequence[Path]) -> list[str]:
    """Return a note if files of runtimes have faults; they are not used, as the target is no runtime."""
    if not files:
        return []
    from opset.opsets.runtimes.names import tables_with  # most conversions need no runtime

    try:
        tables_with(files)
    except (SchemaError, UsageError) as error:
        brief = error.findings[0].brief
        return [f"a file of `targets` has faults, and is not needed, as no runtime is asked for: {brief}"]
    return []


@checked_options
def plan(
    model: ModelLike,
    to: int | str | Mapping[str, int] | None = None,
    *,
    release: str | None = None,
    runtime: str | None = None,
    ir_version: int | None = None,
    schemas: Schemas = (),
    dims: Mapping[str, int | str] | None = None,
    freeze: Freeze = (),
    targets: Iterable[str | Path] = (),
    inexact_types: bool = False,
    allow_external_roots: Iterable[str | Path] = (),
    limits: Limits | None = None,
    assume_opset: int | str | Mapping[str, int] | None = None,
) -> Conversion:
    """Return what `convert` would change in a model, or would refuse: a Conversion whose `model` is None.

    The arguments are those of `convert`. A refusal raises no error here; it is in the `refusals` of the result.

    Raises:
        ConversionError: If `assume_opset` is "auto": C106 if no versions, or several, fit all nodes; C401 if the budget
            of this search is used up.
        InferenceError: I501 or I502 if a size in `dims` that the model states as a number cannot be replaced.
        ModelError: The model is malformed.
        SchemaError: A file in `schemas` or `targets` has faults.
        UsageError: The target is not known, no input has a name in `dims`, or no initializer has one in `freeze`.
    """
    registry = registry_with(schemas)
    target = target_of(
        to,
        release=release,
        runtime=runtime,
        ir_version=ir_version,
        registry=registry,
        targets=targets,
        inexact_types=inexact_types,
        keeps_opsets=bool(dims or freeze),
    )
    loaded = load(model, allow_external_roots=list_paths(allow_external_roots))
    loaded, notes = _assume(loaded, assume_opset, registry, limits)
    conversion = convert_model(loaded, target, registry, dims, limits, freeze)
    conversion.notes[:0] = notes
    conversion.model = None
    return conversion


@overload
def convert(
    model: ModelSource, to: int | str | Mapping[str, int] | None = None, **options: Unpack[ConvertOptions]
) -> Model: ...
@overload
def convert(
    model: MessageT, to: int | str | Mapping[str, int] | None = None, **options: Unpack[ConvertOptions]
) -> MessageT: ...
@checked_options
def convert(
    model: Any,
    to: int | str | Mapping[str, int] | None = None,
    *,
    release: str | None = None,
    runtime: str | None = None,
    ir_version: int | None = None,
    schemas: Schemas = (),
    dims: Mapping[str, int | str] | None = None,
    freeze: Freeze = (),
    targets: Iterable[str | Path] = (),
    inexact_types: bool = False,
    allow_external_roots: Iterable[str | Path] = (),
    limits: Limits | None = None,
    assume_opset: int | str | Mapping[str, int] | None = None,
) -> Any:
    """Return a model that computes the same at other operator set versions; the given model is not changed.

    Args:
        model: A path, bytes, an opset.Model, or a ModelProto of the onnx package.
        to: An opset version (21), "domain=version", or a mapping {"": 21, "ai.onnx.ml": 3}. Without `to`, `release` and
            `runtime`, the model keeps its opsets; then `ir_version`, `dims` or `freeze` must be given.
        release: A release of ONNX ("1.15") in place of `to`.
        runtime: A release of a runtime ("onnxruntime==1.17") in place of `to`: every node becomes one that it runs.
        ir_version: The IR version of the result. By default, the version of the model changes only as far as the target
            needs.
        schemas: Folders of operator YAML, for domains of your own.
        dims: Sizes of inputs by name: a dim_param such as "N", or "x.0" for the first size of input x. A number for an
            open size helps if the conversion depends on this size. A size that the model states as a number can also be
            replaced, by another number or by a variable, which is text; `change_sizes` describes it. The result is
            right for these sizes only. Its inputs state them, and its outputs state the sizes that follow.
        freeze: Names of initializers that a caller could override and that become constants, or "all" for all of these.
            They are not inputs of the result.
        targets: YAML files that describe further runtimes.
        inexact_types: Whether nodes for which the runtime has no other kernel may compute in a type in which results
            may differ: double in float, int64 in int32. The notes of the plan name them.
        allow_external_roots: Folders outside the model's own from which external data may be read.
        limits: How much the conversion may do and add; by default in proportion to the size of the model.
        assume_opset: The versions that the model was really written for, in a form of `to`, if it states wrong ones;
            "auto" finds them (`opset explain C106`).

    Returns:
        A ModelProto of the onnx package if `model` is one, else an opset.Model.

    Raises:
        ConversionError: The conversion is refused; the error has all refusals.
        InferenceError: I501 or I502 if a size in `dims` that the model states as a number cannot be replaced.
        ModelError: The model is malformed.
        SchemaError: A file in `schemas` or `targets` has faults.
        UsageError: The target is not known, no input has a name in `dims`, or no initializer has one in `freeze`.
    """
    registry = registry_with(schemas)
    target = target_of(
        to,
        release=release,
        runtime=runtime,
        ir_version=ir_version,
        registry=registry,
        targets=targets,
        inexact_types=inexact_types,
        keeps_opsets=bool(dims or freeze),
    )
    loaded = load(model, allow_external_roots=list_paths(allow_external_roots))
    loaded, _ = _assume(loaded, assume_opset, registry, limits)
    return _model_of(convert_model(loaded, target, registry, dims, limits, freeze))


@overload
def lower(model: ModelSource, operators: str | Iterable[str], **options: Unpack[LowerOptions]) -> Model: ...
@overload
def lower(model: MessageT, operators: str | Iterable[str], **options: Unpack[LowerOptions]) -> MessageT: ...
@checked_options
def lower(
    model: Any,
    operators: str | Iterable[str],
    *,
    schemas: Schemas = (),
    dims: Mapping[str, int | str] | None = None,
    freeze: Freeze = (),
    allow_external_roots: Iterable[str | Path] = (),
    limits: Limits | None = None,
) -> Any:
    """Return a model that computes the same without these operators ("Gelu", "com.example.Scale"), at the same opsets.

    `operators` is a list of names, or one text with commas between them; a name without a domain is one of ai.onnx.
    Each operator is expressed by others, for a runtime that lacks it. The given model is not changed. `convert`
    describes the other arguments.

    Returns:
        A ModelProto of the onnx package if `model` is one, else an opset.Model.

    Raises:
        ConversionError: An operator cannot be expressed by others; the error has all refusals.
        InferenceError: I501 or I502 if a size in `dims` that the model states as a number cannot be replaced.
        ModelError: The model is malformed.
        SchemaError: A file in `schemas` has faults.
        UsageError: No operator is given, one is not known, no input has a name in `dims`, or no initializer has one in
            `freeze`.
    """
    registry = registry_with(schemas)
    names = operators.split(",") if isinstance(operators, str) else operators
    target = target_without([name.strip() for name in names], registry)
    loaded = load(model, allow_external_roots=list_paths(allow_external_roots))
    return _model_of(convert_model(loaded, target, registry, dims, limits, freeze))


def _assume(
    model: Model, versions: int | str | Mapping[str, int] | None, registry: Registry, limits: Limits | None
) -> tuple[Model, list[str]]:
    """Return the model with imports of the opset versions that it was really written for, and notes for the user.

    The given model is not changed. It is returned itself, without notes, if `versions` is None.

    Args:
        model: The model, as it was loaded.
        versions: The versions in a form of `to`, "auto" to find them, or None.
        registry: The operators that are known.
        limits: Bounds on the work of the search.

    Raises:
        ConversionError: C106 if "auto" finds no versions, or several, that fit all nodes of the model; C401 if `limits`
            do not suffice for "auto".
        ModelError: The model is malformed.
        UsageError: U101 for a version that is not known.
    """
    if versions is None:
        return model, []
    from opset.version_converter.stamps import AUTO, assume_opsets  # few models need it

    named = versions if versions == AUTO else target_of_version(versions, registry).opsets
    return assume_opsets(model, named, registry, limits)


def _model_of(conversion: Conversion) -> Any:
    """Return the model that a conversion made: a ModelProto of onnx if the user gave one, else an opset.Model.

    Raises ConversionError with all refusals if the conversion was refused.
    """
    if conversion.model is None:
        raise ConversionError(conversion.refusals)
    return conversion.model.as_given()
