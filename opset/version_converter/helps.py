"""The help of refusals: every refusal has some, by its code if the reason itself names none."""

from __future__ import annotations

from opset.opsets.registry import Registry
from opset.schemas.constraints.signature import Misfit, version_that_fits
from opset.schemas.model import OpSchema

CAST = "cast the value to a type that version takes"
KEEP = "keep the opset that the model has, or express what the node computes by other operators"
OTHER_TARGET = "choose another release, or a provider that has it: opset targets show"
"""The help if a runtime does not run a node."""
KEEP_OPERATOR = "keep the operator, or express what the node computes by other operators"
"""The help if there is no lowering of an operator: another opset would not give one."""
NEWER_OPSET = "use a newer opset, or give schemas for it"
CONVERT_FOR = "convert the model for it: opset convert MODEL --for RUNTIME"
_BY_CODE = {
    "C101": "correct the name or the domain, or give the folder of its YAML: --schemas DIR",
    "C102": "import the version for which the exporter wrote the nodes, or find it: --assume-opset auto",
    "C103": "correct the node, or read it as written for another version: --assume-opset auto",
    "C209": OTHER_TARGET,
    "C501": "correct the function or the call, or leave the function out: --except NAME",
}


def help_of_code(code: str) -> str:
    """Return the help for a refusal with a code such as "C101", if the refusal itself has no help.

    It is the advice in _BY_CODE. If the code is not in _BY_CODE, the result is KEEP, a general advice.
    """
    return _BY_CODE.get(code, KEEP)


def cast_help(misfit: Misfit) -> str:
    """Return the advice to cast a value whose type an operator version does not take; "" if no Cast can do so.

    Cast takes only tensors, and no sequence, map or optional. `misfit` says which value has which type.
    """
    return CAST if "tensor(" in misfit.why and not any(kind in misfit.what for kind in ("seq(", "map(", "opt")) else ""


def version_help(
    registry: Registry, schema: OpSchema, inputs: list[str], outputs: list[str], types: dict[str, str | None]
) -> str:
    """Return the help that names another version of an operator that a node fits; "" if it fits none.

    For example: "it fits Squeeze 11: import that version, --assume-opset 11".

    Args:
        registry: The operators that are known.
        schema: The version that the node does not fit.
        inputs: The names of the node's inputs, "" for absent ones.
        outputs: The names of its outputs, "" for absent ones.
        types: The types of its attributes by name, such as "ints"; None for unknown ones.
    """
    fitting = version_that_fits(registry.versions(schema.name, schema.domain), schema, inputs, outputs, types)
    if fitting is None:
        return ""
    version = f"{schema.domain}={fitting.since_version}" if schema.domain else str(fitting.since_version)
    return f"it fits {schema.name} {fitting.since_version}: import that version, --assume-opset {version}"
