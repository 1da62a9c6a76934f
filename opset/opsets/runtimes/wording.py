"""Versions, element types and limits of kernels, in the words that commands and pages share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opset.opsets.runtimes.model import RANGE, Kernel, KernelFault, Span
from opset.schemas.names import domain_name

ANY = "any"
UNION = "types of several parameters are unions over kernels: not every combination need have one"
"""The meaning of `union_types`."""


def versions_text(kernel: Kernel, match: str) -> str:
    """Return the versions that a kernel serves by a match rule, or the opsets of the model: "6 to 12"."""
    if kernel.opsets is not None:
        lowest, highest = kernel.opsets
        return f"opsets {lowest} to {highest}"
    if kernel.versions is None:
        return "all"
    first, last = kernel.versions
    if last is None:
        return f"{first} and later" if match == RANGE else str(first)
    return str(first) if first == last else f"{first} to {last}"


def types_text(kernel: Kernel) -> str:
    """Return the element types that a kernel takes, by parameter: "T: double, float; not int8"."""
    parts = [f"{f'{name}: ' if name else ''}{', '.join(sorted(types))}" for name, types in kernel.types.items()]
    parts += [f"not {', '.join(sorted(kernel.types_not))}"] if kernel.types_not else []
    return "; ".join(parts) or ANY


def limits_text(kernel: Kernel) -> str:
    """Return every limit of a kernel beside versions and types, "" if there is none."""
    parts = []
    if kernel.input_ranks:
        parts.append(f"rank {' or '.join(map(str, sorted(kernel.input_ranks)))}")
    if kernel.constant_inputs:
        parts.append(f"constant: {', '.join(sorted(kernel.constant_inputs))}")
    parts += _values_texts({**kernel.attributes, **kernel.values})
    if kernel.outputs is not None:
        parts.append(f"outputs: {kernel.outputs if isinstance(kernel.outputs, int) else ', '.join(kernel.outputs)}")
    if kernel.static_shape:
        parts.append("shapes are known")
    if kernel.known_ranks:
        parts.append("ranks are known")
    if kernel.unasked:
        parts.append(f"types of {', '.join(sorted(kernel.unasked))} not tried")
    return "; ".join([*parts, *kernel.notes])


def fault_text(fault: KernelFault) -> str:
    """Return the nodes that have a fault, beside their versions: "ceil_mode: 1; with past_key; if …"; "" for all."""
    types = types_text(fault.nodes)
    parts = [types] if types != ANY else []
    parts += [text for text in (limits_text(fault.nodes), *_values_texts(fault.values)) if text]
    for words, names in (
        ("with", fault.present),
        ("without", fault.absent),
        ("no elements:", fault.empty),
        ("no constant:", fault.computed),
        ("known:", fault.known),
        ("scalar:", fault.scalars),
    ):
        parts += [f"{words} {', '.join(sorted(names))}"] if names else []
    parts += map(str, fault.where)
    if fault.captures:
        parts.append("graphs use values from outside")
    if fault.when:
        parts.append(f"if {fault.when}")
    return "; ".join(parts)


def _values_texts(values: Mapping[str, Any]) -> list[str]:
    """Return the values of attributes or inputs as texts: "mode: nearest or linear"."""
    return [
        f"{name}: {' or '.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in values.items()
    ]


def opsets_text(opsets: Mapping[str, Span]) -> str:
    """Return the versions of domains that are known: "ai.onnx 7 to 20, ai.onnx.ml up to 4"."""
    parts = ((domain_name(domain), span_text(span)) for domain, span in opsets.items())
    return ", ".join(f"{name} {text}" for name, text in parts if text)


def span_text(span: Span) -> str:
    """Return the lowest and the highest version as text, "" if neither is known."""
    lowest, highest = span
    if lowest is None:
        return "" if highest is None else f"up to {highest}"
    if lowest == highest:
        return str(lowest)
    return f"from {lowest} on" if highest is None else f"{lowest} to {highest}"
