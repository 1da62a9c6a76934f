"""Binds sizes that a model leaves open to numbers: `dims=` of conversion, inference and evaluation, `--dim`.

A name is a dim_param, or "x.0" for the first size of input x if that size has no dim_param. A dim_param stands for the
same number in the whole model, except in functions, which have variables of their own.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from posixpath import commonprefix
from typing import Any

from opset.errors import Finding, UsageError, listing, quote, safe_text
from opset.inference.building.dimensions import Dim, parse_size, variables
from opset.inference.building.types import fill_proto, type_from_proto
from opset.inference.engine.sizes import Sizes, variables_of
from opset.inference.limits import MAX_BOUND
from opset.model import proto as pb
from opset.model.graph.walking import subgraphs
from opset.model.storage.container import Model

__all__ = [
    "bind_dims",
    "check_dim_names",
    "dim_params",
    "free_dim_names",
    "open_dim_names",
    "plain_sizes",
    "stated_dim_names",
]

_INNER = {"sequence_type": "elem_type", "optional_type": "elem_type", "map_type": "value_type"}


def plain_sizes(sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Return sizes by name, with integers of numpy and the like as Python ints; other values stay as they are."""
    return {
        name: operator.index(size) if hasattr(size, "__index__") and not isinstance(size, bool) else size
        for name, size in sizes.items()
    }


def bind_dims(model: Model, dims: Mapping[str, int]) -> Model:
    """Return a copy of a model in which the sizes named in `dims` are numbers, in all graphs but not in functions.

    Args:
        model: the model; it is returned itself if `dims` is empty.
        dims: numbers by name of a size: a dim_param, or "x.0" for the first size of input x if that size has no
            dim_param. Names that the model does not have are ignored. If "2*N" gets a number, so does N.

    Raises:
        UsageError: U103 if a number is negative, no int, or too large; or if a dim_param such as "2*N" cannot be its
            number, or contradicts the number of N.
    """
    if not dims:
        return model
    dims = plain_sizes(dims)
    findings = [
        Finding("U103", f"{size!r} is no size for '{safe_text(name)}'", help="a size is an integer, 0 or greater")
        for name, size in dims.items()
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= MAX_BOUND
    ]
    if findings:
        raise UsageError(findings)
    message = pb.ModelProto()
    message.CopyFrom(model.proto)
    graphs = root_graphs(message)
    dims = _with_variables(dims, open_dim_names(model))
    for name, dim in _open_dims(value for graph in graphs for value in graph.input):
        if not dim.dim_param and name in dims:
            dim.dim_value = dims[name]
    sizes = Sizes(dims)
    while graphs:
        graph = graphs.pop()
        for value in (*graph.input, *graph.output, *graph.value_info):
            stated = type_from_proto(value.type, sizes.read_dimension)
            if stated is not None:
                fill_proto(value.type, stated, False)
        graphs += [inner for node in graph.node for _, inner in subgraphs(node)]
    return model.with_proto(message, changed=True)


def _with_variables(dims: Mapping[str, int], known: Iterable[str]) -> dict[str, int]:
    """Return `dims` with the numbers of variables that follow from expressions: "past + 1" of 4 adds "past" of 3.

    Only expressions in `known`, the names of the model, are looked at. Raises UsageError U103 if an expression cannot
    have its number in `dims`, or contradicts the number of its variable.
    """
    values = dict(dims)
    findings = []
    for name in sorted(dims.keys() & set(known)):
        size, number = parse_size(name), dims[name]
        solved = _solve(size, number) if isinstance(size, Dim) else None
        if solved is None:
            continue
        variable, value = solved
        if value is None or values.setdefault(variable, value) != value:
            beside = "" if value is None else f" where {quote(variable)} is {values[variable]}"
            help = f"set {quote(variable)} alone: the size follows"
            findings.append(Finding("U103", f"the size {quote(name)} is not {number}{beside}", help=help))
    if findings:
        raise UsageError(findings)
    return values


def _solve(size: Dim, number: int) -> tuple[str, int | None] | None:
    """Return the variable of a size, and its value if the size is `number`: ("N", 3) for 2*N + 1 and the number 7.

    The value is None if it would be negative or a fraction. The result is None if the size has several variables, or
    has one in a product or a function.
    """
    named = [(monomial, coefficient) for monomial, coefficient in size.terms if monomial]
    if len(named) != 1 or len(named[0][0]) != 1 or not isinstance(name := named[0][0][0], str):
        return None
    rest = number - sum(coefficient for monomial, coefficient in size.terms if not monomial)
    value, left = divmod(rest, named[0][1])
    return name, None if left or value < 0 else value


def open_dim_names(model: Model) -> set[str]:
    """Return the names by which `bind_dims` can give numbers to sizes of a model's inputs.

    They are the dim_params, the variables in a dim_param such as "2*N", and "x.0" for the first size of input x if this
    size is neither a number nor a dim_param. Inputs of training graphs are included.
    """
    values = [value for graph in root_graphs(model.proto) for value in graph.input]
    names = (dim.dim_param or name for name, dim in _open_dims(values))
    return variables_of(values) | {name for name in names if isinstance(name, str)}


def dim_params(model: Model) -> dict[str, str]:
    """Return the dim_params of the main graph's inputs by the names of their axes: {"x.0": "N"}."""
    return {name: dim.dim_param for name, dim in _open_dims(model.proto.graph.input) if isinstance(dim.dim_param, str)}


def free_dim_names(model: Model) -> set[str]:
    """Return the names that `open_dim_names` returns, without expressions such as "2*N"."""
    names = open_dim_names(model)
    return {name for name in names if variables(parse_size(name)) <= {name}}


def stated_dim_names(model: Model) -> set[str]:
    """Return a name of each size that the main graph's inputs state as a number: "x.0" for the first size of x."""
    return {
        f"{value.name}.{axis}"
        for value in model.proto.graph.input
        for axis, dim in enumerate(value.type.tensor_type.shape.dim)
        if dim.HasField("dim_value") and dim.dim_value >= 0
    }


def check_dim_names(names: Iterable[str], known: Iterable[str], stated: Iterable[str]) -> None:
    """Raise UsageError U103 if one of `names` is not in `known`, with a finding for each.

    The help of a finding lists the names in `known` and `stated`; names with a similar beginning come first. `stated`
    are the names of sizes that are numbers already.
    """
    wanted = set(names)
    others = {*known, *stated} - wanted

    def nearness(name: str, other: str) -> tuple[int, str]:
        """Return a key that sorts `other` first if its beginning agrees with `name` for many characters."""
        return -len(commonprefix([str(name), str(other)])), str(other)  # bytes, if one is no UTF-8

    if unknown := wanted - {*known}:
        raise UsageError(
            Finding(
                "U103",
                f"the model has no dimension variable {quote(name)}",
                help=f"there are: {listing(sorted(others, key=partial(nearness, name))) or 'none'}",
            )
            for name in sorted(unknown, key=str)
        )


def root_graphs(message: Any) -> list[Any]:
    """Return the main graph of a ModelProto, then the initialization and algorithm graphs of its training_info."""
    graphs = [message.graph]
    for training in message.training_info:
        graphs += [getattr(training, part) for part in ("initialization", "algorithm") if training.HasField(part)]
    return graphs


def _open_dims(values: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """Yield (name, Dimension message) for each size of the ValueInfoProtos `values` that is no number.

    The name consists of the value and the axis: "x.0" for the first size of x. A dim_param is not used as the name.
    Tensors inside of sequences, optionals and maps count, too.
    """
    for value in values:
        kind = value.type
        while (field := kind.WhichOneof("value")) in _INNER:
            kind = getattr(getattr(kind, field), _INNER[field])
        if field in ("tensor_type", "sparse_tensor_type"):
            for axis, dim in enumerate(getattr(kind, field).shape.dim):
                if not dim.HasField("dim_value") or dim.dim_value < 0:
                    yield f"{value.name}.{axis}", dim
