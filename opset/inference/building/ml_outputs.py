"""Helpers of the rules of the ai.onnx.ml families: rows, labels, scores, and lists in attributes."""

from __future__ import annotations

from functools import partial
from typing import Any

from opset.inference.building.call import Call
from opset.inference.building.dimensions import Size, equal, product
from opset.inference.building.types import Type, tensor
from opset.inference.limits import MAX_RANK
from opset.inference.registration import infer
from opset.schemas.constraints.violation import Violation

ML = "ai.onnx.ml"
infer_ml = partial(infer, domain=ML)


def list_length(call: Call, attribute: str) -> int:
    """Return the length of a list attribute, 0 if the node has neither the attribute nor a default for it."""
    return len(call.attribute(attribute) or ())


def count_rows_and_features(call: Call) -> tuple[Size | None, Size | None]:
    """Return (number of rows, number of features) of the first input.

    The result is (N, C) for the shape [N, C], and (1, C) for the single row [C]. It is (None, None) if the rank is
    unknown. A known rank must be 1 or 2; the operators' constraints demand that.
    """
    shape = call.shape(0)
    if shape is None:
        return None, None
    return (1, shape[0]) if len(shape) == 1 else (shape[0], shape[1])


def label_type_and_count(call: Call, strings: str, integers: str) -> tuple[str, int]:
    """Return the element type of a classifier's labels, "string" or "int64", and the number of labels.

    `strings` and `integers` are the names of two list attributes. The labels are in the attribute `strings`, or if this
    is empty or absent, in the attribute `integers`.
    """
    names = list_length(call, strings)
    return ("string", names) if names else ("int64", list_length(call, integers))


def classifier_outputs(element: str, rows: Size | None, scores: int) -> list[Type]:
    """Return the types of a classifier's two outputs: labels [rows] of type `element`, and floats [rows, scores].

    `rows` is None if it is unknown; `scores` is the number of scores for each row.
    """
    return [tensor(element, (rows,)), tensor("float", (rows, scores))]


def check_one_or_each(call: Call, count: int, label: str, what: str) -> None:
    """Raise Violation `label` if `count` is certainly neither 1 nor the number of features.

    The number of features is the last size of the first input, 1 for a scalar. `label` is the label of a constraint,
    such as "C1"; `what` is the message's word for the things that `count` counts, such as "replacements".
    """
    shape = call.shape(0)
    if shape is None or count == 1:
        return
    columns = shape[-1] if shape else 1
    if equal(columns, count) is False:
        raise Violation(label, f"{count} {what} for {columns} features")


def tensor_length(tensor: Any) -> int:
    """Return the number of elements of a tensor attribute (a TensorProto), 0 for None.

    Raises Violation, without a label, for a negative size or too great a rank.
    """
    dims = tensor.dims if tensor is not None else (0,)
    if len(dims) > MAX_RANK or any(size < 0 for size in dims):
        raise Violation("", f"a tensor of rank {len(dims)}, or with a size below 0")
    count = product(dims)
    assert isinstance(count, int)
    return count


def check_lengths(call: Call, name: str, count: int, columns: Size | None, label: str) -> None:
    """Raise Violation `label` if the list attribute `name` certainly does not have `count` * `columns` items.

    `label` is the label of a constraint, such as "C1". If `columns` is None, which means unknown, nothing is checked.
    """
    length = list_length(call, name)
    if columns is not None and equal(columns * count, length) is False:
        raise Violation(label, f"{length} {name} for {count} rows of {columns}")
