"""How a model moves from one operator set version to another: plan, derive, apply, report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from opset.errors import Finding, UsageError
from opset.model import load
from opset.model.index import imports_of
from opset.opsets.registry import Registry, default_registry, registry_with
from opset.version_converter.conversion import Plan, apply
from opset.version_converter.conversion import plan as _plan
from opset.version_converter.targets import Target, of_release, of_runtime, of_version, within

__all__ = ["Plan", "Target", "apply", "convert", "plan", "target_of"]


def target_of(
    to: int | str | Mapping[str, int] | None = None,
    *,
    release: str | None = None,
    runtime: str | None = None,
    ir_version: int | None = None,
    registry: Registry | None = None,
) -> Target:
    """Return the target that exactly one of `to`, `release` ("1.15") and `runtime` ("onnxruntime==1.17") names.

    Raises UsageError U101 for a target that is not known, U103 where none or several are given.
    """
    registry = registry or default_registry()
    if sum(given is not None for given in (to, release, runtime)) != 1:
        raise UsageError(
            Finding("U103", "a conversion needs one target", help="give one of: a version, a release, a runtime")
        )
    if release is not None:
        return of_release(release, registry, ir_version)
    if runtime is not None:
        return of_runtime(runtime, registry, ir_version)
    assert to is not None
    return of_version(to, registry, ir_version)


def plan(
    model: Any,
    to: int | str | Mapping[str, int] | None = None,
    *,
    release: str | None = None,
    runtime: str | None = None,
    ir_version: int | None = None,
    schemas: Iterable[str | Path] = (),
    allow_external_roots: Iterable[str | Path] = (),
) -> Plan:
    """Return how a model would move to the target, with every refusal; nothing is changed or written.

    Takes what `convert` takes. Raises ModelError for a malformed model, UsageError for a target that is not known.
    """
    folders = tuple(schemas)
    registry = registry_with(folders) if folders else default_registry()
    target = target_of(to, release=release, runtime=runtime, ir_version=ir_version, registry=registry)
    loaded = load(model, allow_external_roots=tuple(allow_external_roots))
    return _plan(loaded, within(target, imports_of(loaded.proto, "opset_import", registry.domains)), registry)


def convert(
    model: Any,
    to: int | str | Mapping[str, int] | None = None,
    *,
    release: str | None = None,
    runtime: str | None = None,
    ir_version: int | None = None,
    schemas: Iterable[str | Path] = (),
    allow_external_roots: Iterable[str | Path] = (),
) -> Any:
    """Return the model at other operator set versions, computing the same; the given one is not touched.

    `model` is a path, bytes, an opset.Model or a ModelProto of the onnx package, which then comes back as one.
    `to` is an opset version (21), "domain=version", or a mapping {"": 21, "ai.onnx.ml": 3}.
    Raises ConversionError with all refusals, ModelError for a malformed model, UsageError for an unknown target.
    """
    loaded = load(model, allow_external_roots=tuple(allow_external_roots))
    made = plan(
        loaded, to, release=release, runtime=runtime, ir_version=ir_version, schemas=schemas
    )
    return apply(made).as_given()
