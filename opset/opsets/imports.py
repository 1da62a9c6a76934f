"""Which operator sets a model or a function is written in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opset.errors import Finding, ModelError, printable

if TYPE_CHECKING:
    from opset.opsets.registry import Registry


def imports_of(body: Any, place: str, registry: Registry) -> dict[str, int]:
    """Return the domains that a ModelProto or FunctionProto imports, "ai.onnx" as "".

    Raises ModelError M107 where there is none, M108 where a domain is a duplicate (IR specification, Operator Sets).
    """
    found: dict[str, int] = {}
    findings = []
    for entry in body.opset_import:
        domain = "" if entry.domain == "ai.onnx" else entry.domain
        if domain.__class__ is bytes:
            findings.append(Finding("M106", f"the domain {printable(domain)} is not valid UTF-8", place))
        elif domain in found:
            shown = printable(domain) or "ai.onnx"
            findings.append(
                Finding(
                    "M108", f"the domain '{shown}' is imported twice, at {found[domain]} and {entry.version}", place,
                    why='"" and "ai.onnx" are one domain' if not domain else "",
                    help="keep the import that the nodes were written for",
                )
            )
        elif entry.version < 1 and domain in registry.domains:
            findings.append(Finding("M107", f"the domain '{printable(domain) or 'ai.onnx'}' has no version", place))
        else:
            found[domain] = entry.version
    if findings:
        raise ModelError(findings)
    return found


def check_model_head(proto: Any) -> None:
    """Raise ModelError where a ModelProto lacks what every model must have."""
    if not proto.HasField("graph"):
        raise ModelError(Finding("M109", "the model has no graph"))
    if proto.ir_version >= 3 and not proto.opset_import:
        raise ModelError(
            Finding(
                "M107", "the model imports no operator set",
                why="from IR version 3 a model must name the operator sets that it uses",
                help="add an opset_import with the version that the exporter wrote",
            )
        )
