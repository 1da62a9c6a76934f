"""Proofs by identity: a node crosses as it is, and one and the same kernel defines both versions."""

from __future__ import annotations

import inspect
import re
from typing import Any

from judges.proofs.subjects import REGISTRY, Subject
from opset.docgen.proofs import ProofPart
from opset.opsets.hooks import Lookup
from opset.reference.registration import LAYER
from opset.schemas.model import OpSchema

_KERNELS = Lookup(LAYER, REGISTRY)


def prove(subject: Subject) -> list[ProofPart]:
    """Return what follows from the signatures alone: that a direction is refused, or that nodes stay as they are."""
    step = subject.step
    if step.impossible:
        return [ProofPart("refused", "", step.impossible)]
    if subject.direction == "lowering" or step.adapter or step.derived.rewrites:
        return []
    kernels = [_kernel(schema) for schema in (step.source, step.target)]
    if kernels[0] != kernels[1] or not _defaults_agree(subject, kernels[0]):
        return []
    shown = "nothing to change" if not step.touches else "a node stays as it is, or is refused"
    about = f"all types but {', '.join(step.derived.emulate)}" if step.derived.emulate else ""
    return [ProofPart("identity", about, f"{shown}; one kernel defines both versions")]


def _kernel(schema: OpSchema) -> Any:
    return _KERNELS.find("kernel", schema.domain, schema.name, schema.since_version, schema.family)


def _defaults_agree(subject: Subject, kernel: Any) -> bool:
    """Whether both versions give the kernel the same value for an attribute that only one has, or that is absent.

    The kernel is called with the attributes of a version, so for one that a version lacks, its own default counts. A
    kernel that asks for its version must not tell these two apart.
    """
    if kernel is None:
        return False
    older, newer = sorted((subject.source, subject.step.target), key=lambda schema: schema.since_version)
    module = inspect.getmodule(inspect.unwrap(kernel.function))
    asked = re.findall(r"context\.version (?:<|>=) (\d+)", inspect.getsource(module)) if module is not None else []
    if any(older.since_version < int(version) <= newer.since_version for version in asked):
        return False
    parameters = inspect.signature(inspect.unwrap(kernel.function)).parameters
    old = subject.step.derived.must_equal
    for name in newer.attributes.keys() - older.attributes.keys():
        declared = newer.attributes[name]
        value = old.get(name, declared.default)
        if name in parameters and not isinstance(value, dict) and parameters[name].default != value:
            return False
    return all(
        older.attributes[name].default == newer.attributes[name].default
        for name in older.attributes.keys() & newer.attributes.keys()
        if not newer.attributes[name].required
    )
