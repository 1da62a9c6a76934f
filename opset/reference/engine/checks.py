"""Checks of a node's inputs and outputs against its schema, and the errors of a kernel as findings about its node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opset.errors import Finding, OpsetError, RunError, safe_text
from opset.opsets.faults import describe_exception, raise_interrupt
from opset.opsets.registry import Registry
from opset.plain_text import count_text
from opset.reference.engine.limits import out_of_memory
from opset.reference.engine.programs import ABSENT, ProgramStep
from opset.reference.limits import MAX_KEY, MAX_LEGAL
from opset.reference.values import outline, type_of
from opset.schemas.constraints.input_shapes import Match
from opset.schemas.constraints.signature import advise_signature, arity_misfits, check_constraints, type_misfits
from opset.schemas.constraints.violation import Violation
from opset.schemas.model import OpSchema, Parameter


def check_inputs(step: ProgramStep, inputs: Sequence[Any], location: str) -> None:
    """Raise RunError R202 with every way in which inputs do not fit the operator's schema."""
    if step.schema is None:
        return
    # A step has no slots for inputs that are left out at the end.
    values = [*inputs, *[None] * (step.schema.min_input - len(inputs))]
    types = [_input_type(step.schema, index, value) for index, value in enumerate(values)]
    misfits = [*arity_misfits(step.schema, types), *type_misfits(step.schema, types, bare_optionals=True)]
    if misfits:
        help = advise_signature(step.schema)
        raise RunError(Finding("R202", misfit.what, location, misfit.why, help) for misfit in misfits)


def _input_type(schema: OpSchema, index: int, value: Any) -> str | None:
    """Return the type of an input, "" if it is left out, None if the value alone does not determine it."""
    if value is None:
        formal = _parameter_at(schema.inputs, index)
        return None if formal is not None and _can_be_optional(schema, formal) else ""
    type_ = type_of(value)
    return None if "?" in type_ else type_


def _parameter_at(formals: Sequence[Parameter], index: int) -> Parameter | None:
    """Return the parameter of a position, the last one for those behind it; None if there are no parameters."""
    return formals[min(index, len(formals) - 1)] if formals else None


def _can_be_optional(schema: OpSchema, formal: Parameter) -> bool:
    """Whether a parameter of a schema takes optional values."""
    return any(type_.startswith("optional(") for type_ in schema.allowed_types(formal))


def check_declared_constraints(step: ProgramStep, inputs: Sequence[Any]) -> None:
    """Raise Violation if a step breaks a constraint that its operator declares."""
    plan = step.plan
    if plan is None:
        return
    key: tuple[Any, ...]
    if plan.checks:
        key = tuple([value.shape if value.__class__ is np.ndarray else value is None for value in inputs])
        if plan.elements:
            key = (key, *[_content_key(inputs, index) for index in plan.elements])
    else:
        key = tuple([value.ndim if value.__class__ is np.ndarray else None for value in inputs])
    if key in step.legal_inputs:
        return
    shapes = [value.shape if isinstance(value, np.ndarray) else None for value in inputs]
    ranks = [None if shape is None else len(shape) for shape in shapes]
    check_constraints(plan.schema, step.attributes, ranks)

    def elements(index: int) -> list[Any] | None:
        value = inputs[index] if index < len(inputs) else None
        return value.ravel().tolist() if isinstance(value, np.ndarray) else None

    def has_value(name: str) -> bool:
        if name in plan.schema.attributes:
            value = step.attributes.get(name)
            return value is not None and not (isinstance(value, tuple | list) and not value)
        index = plan.positions[name]
        return index < len(inputs) and inputs[index] is not None

    if plan.checks:
        Match(plan, shapes, step.attributes.get, elements, has_value).check()
    if len(step.legal_inputs) >= MAX_LEGAL:
        step.legal_inputs.clear()
    step.legal_inputs.add(key)


def _content_key(inputs: Sequence[Any], index: int) -> Any:
    """Return an input's type and bytes as part of a key; for large inputs a new object, which is equal to no other."""
    value = inputs[index] if index < len(inputs) else None
    if value.__class__ is not np.ndarray:
        return None
    return (value.dtype, value.tobytes()) if value.nbytes <= MAX_KEY and not value.dtype.hasobject else object()


def check_outputs(step: ProgramStep, result: Any, location: str) -> None:
    """Check the types of a kernel's results.

    Raises:
        RunError: R202 for a type that an attribute requests and only a newer version has, R204 for no value, for one
            that is no tensor, or for more values than the operator has outputs. Of a user's kernel, always R204.
    """
    schema = step.schema
    if schema is None:
        return
    is_own = step.kernel is not None and step.kernel.is_own
    help = f"correct the kernel, {safe_text(step.kernel.origin)}, or its YAML" if step.kernel and is_own else ""
    name = f"{schema.name} {schema.since_version}"
    results = result if result.__class__ is tuple else (result,)
    for index, slot in enumerate(step.outputs):
        formal = _parameter_at(schema.outputs, index)
        if slot == ABSENT or formal is None or _can_be_optional(schema, formal):
            continue
        value = results[index] if index < len(results) else None
        if value is None:
            why = f"{name} does not have it with these inputs and attributes"
            raise RunError(Finding("R204", f"there is no output '{formal.name}'", location, why, help))
        if isinstance(value, np.ndarray) and type(value) not in (np.ndarray, np.memmap):
            why = f"the kernel returns a {type(value).__name__}: numpy.asarray makes an array of it"
            raise RunError(Finding("R204", f"the output '{formal.name}' is no plain array", location, why, help))
        type_ = type_of(np.asarray(value) if isinstance(value, np.generic) else value)
        allowed = schema.allowed_types(formal)
        if type_ in allowed:
            continue
        is_tensor = isinstance(value, np.ndarray | np.generic)
        if is_tensor or all(allowed_type.startswith("tensor(") for allowed_type in allowed):
            message = f"the output '{formal.name}' cannot be {type_}"
            is_requested = is_tensor and not is_own
            code, help = ("R202", advise_signature(schema)) if is_requested else ("R204", help)
            raise RunError(Finding(code, message, location, f"{name} has {', '.join(allowed)}", help))
    if schema.outputs and len(results) > schema.max_output:
        why = f"{name} has {count_text(schema.max_output, 'output')}, and its kernel returns {len(results)} values"
        raise RunError(Finding("R204", "there are too many results", location, why, help))


def kernel_error(
    step: ProgramStep, inputs: Sequence[Any], error: BaseException, location: str, registry: Registry
) -> BaseException:
    """Return the exception of a kernel as an error that names the node, its inputs and the constraint."""
    raise_interrupt(error)
    if isinstance(error, OpsetError):
        return type(error)(finding if finding.place else finding._replace(place=location) for finding in error.findings)
    inputs_are = f"its inputs are {', '.join(map(outline, inputs)) or 'none'}"
    if isinstance(error, Violation):
        name = safe_text(step.schema.name if step.schema else step.node.op_type)
        text = registry.documentation(step.schema).constraints.get(error.label, "") if step.schema else ""
        message = f"{name} requires: {text}" if text else f"{name} breaks {error.label}"
        why = "; ".join(part for part in (error.detail, inputs_are) if part)
        return RunError(Finding("R203", message, location, f"{error.label}: {why}"))
    if isinstance(error, MemoryError):
        return out_of_memory(location, str(error))
    help = ""
    if step.kernel is not None and step.kernel.is_own:
        help = "correct the kernel, or declare a constraint that excludes these inputs"
        said = describe_exception(error, step.kernel.origin)
    else:
        said = (str(error) if isinstance(error, ValueError | IndexError) else f"{type(error).__name__}: {error}")[:500]
    message = "the operator cannot be computed on these inputs"
    return RunError(Finding("R204", message, location, f"{said}; {inputs_are}", help))
