"""Check of the checklist that the kernel computes every type, and the same values in each.

If no example has a type, examples are cast to it, with values that both types have, such as 0 and 1. The kernel
computes them in the example's own type, which the example confirms, and in the other type; results that both types hold
are compared. Integers wrap and stop at limits in ways of their own, so that one example that agrees is enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from opset.catalog import brief_type
from opset.errors import RunError, listing
from opset.plain_text import count_text
from opset.reference.registration import LAYER as KERNELS
from opset.reference.type_comparison import compare_results, retype_tensor
from opset.reference.values import type_of
from opset.schemas.example import Example, ExampleValue, is_random
from opset.schemas.model import VARIADIC, Parameter
from opset.workflow.contribution.reviewed_version import (
    FLOATS,
    MISSING,
    NOT_APPLICABLE,
    NUMBERS,
    OPEN,
    PASSED,
    POINTS,
    REFERENCE,
    Evidence,
    ReviewedVersion,
    values_of_input,
)


class CastResult(NamedTuple):
    """The result of casting the examples of a version to a type.

    - `computed`: whether the kernel computes any of them; `why`: the fault that was found, "" if there is none;
    - `compared`: whether outputs were compared with outputs in the old type, and agree.
    """

    computed: bool = False
    why: str = ""
    compared: bool = False


@POINTS.rule(
    "all_types",
    ReviewedVersion,
    clause=REFERENCE,
    phrase="A kernel for every type, which computes the same values in each",
)
def check_all_types(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield evidence of whether the kernel computes every type that the version allows, with the same values in each.

    A type is tried with an example that has it, or else with an example that is cast to it. The evidence is

    - MISSING for each type that the kernel does not compute, or computes with other values;
    - OPEN for each type constraint with types that no example has or can be cast to;
    - OPEN, too, for each type constraint with types that the kernel computes, but whose values cannot be compared;
    - PASSED once, if at least one type was tried with success;
    - NOT_APPLICABLE if there is no kernel, or if no input has a type constraint.
    """
    if not version.function_origin(KERNELS, "kernel"):
        yield Evidence(NOT_APPLICABLE, "there is no kernel", version.place_of())
        return
    shown = compared = 0
    if not any(each.type in version.schema.types for each in version.schema.inputs):
        yield Evidence(NOT_APPLICABLE, "no input is of a type constraint", version.place_of("inputs"))
    for name, types in version.schema.types.items():
        indices = [index for index, each in enumerate(version.schema.inputs) if each.type == name]
        untried: list[str] = []
        undetermined: list[str] = []
        place = version.place_of("types", name)
        for type_ in types if indices else ():
            if _example_of_type(version, indices, type_):
                shown += 1
                continue
            tried = _try_type(version, indices, type_) if type_.startswith("tensor(") else CastResult()
            if tried.why:
                verb = "gives something else of" if tried.computed else "does not compute"
                why = f"the kernel {verb} {type_}: {tried.why}"
                help = "correct the kernel, or add an example of the type that shows it right"
                yield Evidence(MISSING, why, place, help)
            elif tried.compared:
                compared += 1
            else:
                (undetermined if tried.computed else untried).append(brief_type(type_))
        for names, what in ((untried, "can be cast to it"), (undetermined, "that is cast to it determines its values")):
            if names:
                why = f"no example of {name} has {listing(names, 8)}, and none {what}"
                yield Evidence(OPEN, why, place, "add an example, or state why one of the other types is enough")
    if shown or compared:
        why = f"{count_text(shown, 'type')} in examples, {compared} with examples cast to them"
        yield Evidence(PASSED, why, version.place_of("types"))


def _example_of_type(version: ReviewedVersion, indices: Iterable[int], type_: str) -> Example | None:
    """Return the first example with outputs in which an input at one of `indices` has the type `type_`, or None.

    `indices` are positions in the operator's declaration. For a variadic input, one value of that type is enough.
    """
    for example in version.examples_with_outputs:
        for index in indices:
            variadic = version.schema.inputs[index].option == VARIADIC
            if any(each is not None and each.type == type_ for each in values_of_input(example, index, variadic)):
                return example
    return None


def _try_type(version: ReviewedVersion, indices: Sequence[int], type_: str) -> CastResult:
    """Run the kernel on examples cast to a type, and return the CastResult: whether it computes the type rightly.

    The inputs at `indices` of each example with outputs are cast. Examples that cannot be cast are left out. An output
    that should have the type, but has another one, is a fault. Wrong values are a fault only if no example gives right
    values.
    """
    refused = wrong = ""
    computed = compared = False
    for example in version.examples_with_outputs:
        cast = _cast_example(version, example, indices, type_)
        if cast is None:
            continue
        try:
            outputs = version.runner.outputs(version.schema, cast)
        except RunError as error:
            if error.code in ("R201", "R202", "R204"):
                refused = refused or f"{error.message}: {error.why}"
            continue
        computed = True
        wanted = [each.type for each in cast.outputs or () if each is not None]
        types = [type_of(each) if hasattr(each, "dtype") else "" for each in outputs]
        for want, have in zip(wanted, types, strict=False):
            if want == type_ != have:  # other types may depend on more than this one
                return CastResult(False, f"it gives {have}")
        why, determined = _compare_with_cast(version, example, cast, outputs)
        wrong = wrong or (f"of the example {example.name} with these values, {why}" if why else "")
        compared |= determined and not why
    if computed:
        return CastResult(True, "" if compared else wrong, compared)
    return CastResult(False, refused)


def _compare_with_cast(
    version: ReviewedVersion, example: Example, cast: Example, outputs: Sequence[Any]
) -> tuple[str, bool]:
    """Return (how outputs in a new type differ from those in the old type, whether any could be compared).

    The kernel computes the values of `cast` in the old type, and the result is compared with `outputs`. The text is ""
    if all outputs agree. The result is ("", False) in these cases:

    - the outputs are random;
    - the old type cannot confirm the new one, as integers cannot confirm floats;
    - the old type cannot hold the values of `cast`;
    - the kernel fails in the old type;
    - an output differs, and its type parameter is not one of the inputs that `cast` changes.

    Args:
        version: The version under review.
        example: The example as it is, in the old type.
        cast: The example with inputs in the new type.
        outputs: The kernel's outputs for `cast`.
    """
    if is_random(example):
        return "", False
    inputs = []
    constraints = set()
    formals = version.schema.inputs
    for index, (own, other) in enumerate(zip(example.inputs, cast.inputs, strict=True)):
        if own != other:
            constraints.add(formals[min(index, len(formals) - 1)].type)
        if own is not None and other is not None and own.type != other.type:
            own = retype_tensor(other, own.type) if _has_like_values(own.type, other.type) else None
            if own is None:
                return "", False
        inputs.append(own)
    try:
        base = version.runner.outputs(version.schema, example._replace(inputs=tuple(inputs)))
    except RunError:
        return "", False
    determined = False
    for index, want, have in _array_pairs(base, outputs):
        why, some = compare_results(want, have, example.tolerance or 0.0)
        determined |= some
        formal = version.schema.outputs[min(index, len(version.schema.outputs) - 1)]
        if why and formal.type not in constraints:
            return "", False  # which type it has may decide what is meant, as where bits are kept
        if why:
            return f"{why.format(index)} in {type_of(want)}", True
    return "", determined


def _has_like_values(base: str, type_: str) -> bool:
    """Return whether outputs computed in the type `base` can confirm outputs computed in the type `type_`.

    A tensor of floats confirms every type. A tensor of integers confirms only tensors of integers and bools. Any other
    `base` confirms nothing.
    """
    whole = "tensor(int", "tensor(uint"
    return base.startswith(FLOATS) or (base.startswith(whole) and type_.startswith((*whole, "tensor(bool")))


def _array_pairs(base: Sequence[Any], outputs: Sequence[Any]) -> Iterator[tuple[int, Any, Any]]:
    """Yield (index of the output, array in `base`, array in `outputs`) for each pair of arrays at the same place.

    `base` and `outputs` are lists of outputs. The arrays of a sequence are paired one by one. Arrays without a partner
    are left out, and so are pairs whose array in `base` has text or complex numbers. Of a complex array in `outputs`,
    the real part is yielded.
    """
    for index, pair in enumerate(zip(base, outputs, strict=False)):
        lists = [each if isinstance(each, list) else [each] for each in pair]
        for want, have in zip(*lists, strict=False):
            if hasattr(want, "dtype") and hasattr(have, "dtype") and want.dtype.kind not in "Oc":
                yield index, want, have.real if have.dtype.kind == "c" else have


def _cast_example(version: ReviewedVersion, example: Example, indices: Sequence[int], type_: str) -> Example | None:
    """Return a copy of an example with some inputs cast to a type, such as "tensor(int8)"; None if it cannot be cast.

    `indices` are the positions of the inputs with one type constraint; these inputs are cast. Outputs with this
    constraint get the type, too, but keep their elements. An example cannot be cast in these cases:

    - one of these inputs is no tensor of numbers, or all are left out;
    - the type is text;
    - the example has an attribute that is a graph.
    """
    element = type_[7:-1]
    constraint = version.schema.inputs[indices[0]].type
    values = [each for index in indices for each in values_of_input(example, index, True)]
    graphs = any(version.schema.attributes[name].type.startswith("graph") for name in example.attributes)
    if graphs or element == "string" or any(each is not None and not each.type.startswith(NUMBERS) for each in values):
        return None

    def is_cast(formals: tuple[Parameter, ...], index: int) -> bool:
        """Return whether the input or output at `index` has the type constraint.

        `formals` are the declared inputs or outputs; the last one stands for all further ones.
        """
        return formals[min(index, len(formals) - 1)].type == constraint

    inputs = [*example.inputs]
    for index, each in enumerate(inputs):
        if each is not None and is_cast(version.schema.inputs, index):
            inputs[index] = _cast_value(each, type_)
    if not any(each is not None and each.type == type_ for each in inputs):
        return None
    outputs = [*(example.outputs or ())]
    for index, each in enumerate(outputs):
        if each is not None and is_cast(version.schema.outputs, index):
            outputs[index] = each._replace(type=type_)
    return example._replace(inputs=tuple(inputs), outputs=tuple(outputs))


def _cast_value(value: ExampleValue, type_: str) -> ExampleValue:
    """Return a tensor value in another type, such as "tensor(int8)"; its shape stays.

    For an integer type, each element becomes 0 or 1: its whole part modulo 2, 0 for NaN and infinities. For bool, it
    becomes a bool. For other types, the elements stay.
    """
    element = type_[7:-1]
    many = isinstance(value.content, list)
    numbers = value.content if many else [value.content]
    if element.startswith(("int", "uint")):  # 0 and 1 are in every type
        numbers = [int(abs(each)) % 2 if math.isfinite(each) else 0 for each in numbers]
    elif element == "bool":
        numbers = [*map(bool, numbers)]
    return ExampleValue(type_, numbers if many else numbers[0], value.shape)
