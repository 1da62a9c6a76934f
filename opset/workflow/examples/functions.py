"""Checks that each function in a domain's files belongs to an operator: one that nobody calls is a typing error."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from opset.errors import Finding
from opset.inference import registration as inference
from opset.opsets.hooks import Layer
from opset.opsets.registry import Registry
from opset.reference import registration as kernels
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name
from opset.version_converter import registration as adapters
from opset.workflow.examples.runner import Examination

NEVER_CALLED = "T111"
"""The code of a function that belongs to no operator."""
LAYERS: dict[str, tuple[Layer, str]] = {
    "kernel": (kernels.LAYER, "kernel"),
    "inference": (inference.LAYER, "inference function"),
    "conversion": (adapters.LAYER, "adapter"),
}
"""Where the functions of a part are found, and how messages name one."""


def has_functions(registry: Registry, domain: str) -> bool:
    """Return whether a domain has Python files of kernels, inference functions or adapters that may be run."""
    return any(registry.files(domain, layer.file) for layer, _ in LAYERS.values())


def check_functions(registry: Registry, domain: str, part: str, report: Examination) -> None:
    """Add a finding T111 to a report for each function in Python files of a domain that no operator version calls.

    `part`, a key of PARTS, says which functions are checked: "kernel" the kernels, "inference" the inference functions,
    "conversion" the adapters. For another part, nothing is checked. Each finding counts as one failed test.
    """
    if part not in LAYERS:
        return
    layer, noun = LAYERS[part]
    for (kind, of, operator), hooks in layer.run_files(registry.files(domain, layer.file)).items():
        versions = registry.versions(operator, of)
        used = _versions_in_use(kind, versions, sorted(hooks))
        for since in sorted(hooks.keys() - used):
            name = f"{domain_name(of)}.{operator}{f' {since}' if since else ''}"
            message = f"the {noun} of {name} (@{kind}) is never called"
            if versions:
                numbers = ", ".join(str(each.since_version) for each in versions)
                why = f"{_NEEDS[kind]}; its versions are {numbers}"
                help = "correct 'since', or remove the function"
            else:
                why = f"{domain_name(of)} declares no operator {operator}"
                help = registry.near_miss(operator, of) or "correct the name, or remove the function"
            report.count(part, [Finding(NEVER_CALLED, message, hooks[since].origin, why, help)])


_NEEDS = {
    "kernel": "a kernel holds from a version of the operator on, up to the next kernel",
    "infer": "it holds from a version without a rule in 'shape' on, up to the next function",
    "data": "it holds from a version of the operator on, up to the next function",
    "up": "an adapter is for a version whose change block says 'up: written'",
    "down": "an adapter is for a version whose change block says 'down: written'",
    "lower": "a lowering is for the first version",
}


def _versions_in_use(kind: str, versions: Sequence[OpSchema], sinces: Sequence[int]) -> set[int]:
    """Return the version numbers under which functions of one kind are called by some version of the operator.

    Which versions call a function depends on its kind:

    - "up" and "down": a version whose `change:` block declares that this adapter is "written".
    - "lower": the first version.
    - Other kinds, such as "kernel": every version. It calls the function with the highest number that is not above its
      own. If kernels are registered for 1 and 7, version 6 calls kernel 1, and version 13 calls kernel 7.
    - "infer" is like "kernel", but a version with a shape rule calls none.

    Args:
        kind: The name of the decorator, such as "kernel", "infer", "up" or "lower".
        versions: All versions of the operator, oldest first.
        sinces: The versions under which functions are registered, sorted.
    """
    if kind in ("up", "down"):
        return {each.since_version for each in versions if each.change and getattr(each.change, kind) == "written"}
    if kind == "lower":
        return {each.since_version for each in versions[:1]}
    asked = [each.since_version for each in versions if kind != "infer" or not each.shape]
    return {sinces[position - 1] for each in asked if (position := bisect_right(sinces, each))}
