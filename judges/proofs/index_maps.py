"""Reads a model as a map from indices of its outputs to elements of its inputs, with sizes that are variables of z3.

A tensor is a shape and a function of an index; sizes and integers are terms of z3, and data is opaque: an element of an
input is an uninterpreted function of its index. Operators are written from the specification. What the operators of a
model demand of sizes is collected: of the original these are premises, of the converted model they are to be proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import z3

Term = Any
"""An int, a bool, or a term of z3."""
Index = Sequence[Term]
Value = z3.DeclareSort("Value")


class NotReadError(Exception):
    """A model has an operator, or a form of one, that is not read as an index map."""


@dataclass(frozen=True)
class Tensor:
    """A shape, and the element at an index; `flat`, if known, is the element at a position in row-major order."""

    shape: tuple[Term, ...]
    at: Callable[[Index], Term]
    flat: Callable[[Term], Term] | None = None

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


@dataclass
class Demands:
    """Terms that must hold so that a model can run."""

    terms: list[Term] = field(default_factory=list)
    reads: list[Term] = field(default_factory=list)
    """What must hold of the indices that were read up to now."""

    def add(self, term: Term) -> None:
        """Demand a term, unless it is known to hold."""
        if term is not True and not z3.is_true(plain(term)):
            self.terms.append(term)


def plain(term: Term) -> Term:
    """Return a term in its simplest form, a number of Python if it is one."""
    if isinstance(term, (bool, int)):
        return term
    simple = z3.simplify(term)
    if z3.is_int_value(simple):
        return simple.as_long()
    return simple


def number(term: Term) -> int:
    """Return a term that is a number; raise NotReadError for any other."""
    simple = plain(term)
    if isinstance(simple, bool) or not isinstance(simple, int):
        raise NotReadError(f"{simple} is no number")
    return simple


def same(a: Term, b: Term) -> bool:
    """Whether two terms are the same in their simplest form."""
    a, b = plain(a), plain(b)
    if isinstance(a, int) or isinstance(b, int):
        return isinstance(a, int) and isinstance(b, int) and a == b
    return bool(a.eq(b))


def when(condition: Term, then: Term, otherwise: Term) -> Term:
    """Return the term for a condition."""
    condition = plain(condition) if not isinstance(condition, bool) else condition
    if isinstance(condition, bool):
        return then if condition else otherwise
    if z3.is_true(condition):
        return then
    return otherwise if z3.is_false(condition) else z3.If(condition, then, otherwise)


def both(*conditions: Term) -> Term:
    """Return whether all conditions hold."""
    return z3.And(*conditions) if conditions else True


def least(a: Term, b: Term) -> Term:
    """Return the smaller one of two terms."""
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else when(a <= b, a, b)


def most(a: Term, b: Term) -> Term:
    """Return the larger one of two terms."""
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else when(a >= b, a, b)


def times(terms: Sequence[Term]) -> Term:
    """Return a product."""
    return plain(math.prod(terms))


def floor_div(a: Term, b: Term) -> Term:
    """Return a quotient rounded down, of a divisor that is positive."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return a if same(b, 1) else plain(_term(a) / b)


def floor_mod(a: Term, b: Term) -> Term:
    """Return a remainder of a divisor that is positive."""
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    return 0 if same(b, 1) else _term(a) % b


def _term(value: Term) -> Any:
    """Return a number as a term of z3."""
    return z3.IntVal(value) if isinstance(value, int) else value


def holds(comparison: Term) -> Any:
    """Return a comparison, of numbers or terms, as a term."""
    return z3.BoolVal(comparison) if isinstance(comparison, bool) else comparison


def quotient(a: Term, b: Term) -> Term:
    """Return a quotient of integers rounded toward zero, as Div does."""
    if isinstance(b, int):
        a, b = (a, b) if b > 0 else (-a, -b)
        return when(a >= 0, floor_div(a, b), -floor_div(-a, b))
    positive = when(b > 0, b, -b)
    magnitude = floor_div(when(a >= 0, a, -a), positive)
    return when((a >= 0) == (b > 0), magnitude, -magnitude)


def remainder(a: Term, b: Term) -> Term:
    """Return a remainder with the sign of the divisor, as Mod does."""
    if isinstance(b, int) and b > 0:
        return floor_mod(a, b)
    return when(b > 0, floor_mod(a, b), -floor_mod(-a, -b))


def vector(terms: Sequence[Term]) -> Tensor:
    """Return a tensor of rank 1."""
    return Tensor((len(terms),), lambda index: pick(terms, index[0]))


def scalar(term: Term) -> Tensor:
    """Return a tensor of rank 0."""
    return Tensor((), lambda _: term, lambda _: term)


def pick(terms: Sequence[Term], position: Term) -> Term:
    """Return the term at a position that may be a variable."""
    position = plain(position)
    if isinstance(position, int):
        return terms[position] if 0 <= position < len(terms) else _nothing_like(terms)
    if not terms:
        raise NotReadError("an element of nothing")
    chosen = terms[-1]
    for at in reversed(range(len(terms) - 1)):
        chosen = when(position == at, terms[at], chosen)
    return chosen


def _nothing_like(terms: Sequence[Term]) -> Term:
    """Return a variable of its own: what stands outside of a tensor is equal to nothing."""
    sample = terms[0] if terms else 0
    return z3.FreshInt("outside") if isinstance(sample, int) else z3.FreshConst(sample.sort(), "outside")


def elements(tensor: Tensor) -> list[Term]:
    """Return the elements of a tensor whose sizes are numbers, in row-major order."""
    sizes = [number(size) for size in tensor.shape]
    return [plain(tensor.at(index)) for index in product(*map(range, sizes))]


def of_elements(terms: Sequence[Term], shape: Sequence[int]) -> Tensor:
    """Return a tensor with these elements in row-major order."""
    return Tensor(tuple(shape), lambda index: pick(terms, position_of(index, shape)))


def position_of(index: Index, shape: Sequence[Term]) -> Term:
    """Return the position of an index in row-major order."""
    position: Term = 0
    for at, size in zip(index, shape, strict=True):
        position = position * size + at
    return plain(position)


def data(name: str, shape: Sequence[Term], is_flat: bool = False) -> Tensor:
    """Return an input of opaque elements, a function of the index, or of the position in row-major order."""
    if is_flat:
        function = z3.Function(name, z3.IntSort(), Value)
        return Tensor(
            tuple(shape), lambda index: function(position_of(index, shape)), lambda position: function(position)
        )
    if not shape:
        return scalar(z3.Const(name, Value))
    function = z3.Function(name, *[z3.IntSort()] * len(shape), Value)
    return Tensor(tuple(shape), lambda index: function(*index))


def broadcast_shape(demands: Demands, *shapes: Sequence[Term]) -> tuple[Term, ...]:
    """Return the shape that shapes broadcast to, as in numpy."""
    rank = max(map(len, shapes))
    result: list[Term] = []
    for axis in range(rank):
        size: Term = 1
        for shape in shapes:
            if (own := axis - rank + len(shape)) < 0 or same(shape[own], 1) or same(shape[own], size):
                continue
            if same(size, 1):
                size = shape[own]
            else:
                other = shape[own]
                demands.add(z3.Or(size == other, size == 1, other == 1))
                size = when(size == 1, other, size)
        result.append(size)
    return tuple(result)


def broadcast(tensor: Tensor, shape: Sequence[Term]) -> Callable[[Index], Term]:
    """Return the elements of a tensor at the indices of a shape that it broadcasts to."""

    def at(index: Index) -> Term:
        own = index[len(shape) - tensor.rank :]
        wide = shape[len(shape) - tensor.rank :]
        return tensor.at(
            [
                0 if same(size, 1) else place if same(size, whole) else when(size == 1, 0, place)
                for place, size, whole in zip(own, tensor.shape, wide, strict=True)
            ]
        )

    return at


def elementwise(demands: Demands, function: Callable[..., Term], *tensors: Tensor) -> Tensor:
    """Return a function of the elements of tensors that are broadcast."""
    shape = broadcast_shape(demands, *(each.shape for each in tensors))
    readers = [broadcast(each, shape) for each in tensors]
    return Tensor(shape, lambda index: function(*(read(index) for read in readers)))


def reshape(demands: Demands, x: Tensor, shape: Sequence[Term]) -> Tensor:
    """Return a tensor in a shape of as many elements."""
    sizes = tuple(map(plain, shape))
    pairs = _matched(x.shape, sizes)
    if pairs is not None:
        return Tensor(sizes, lambda index: x.at([0 if at is None else index[at] for at in pairs]), x.flat)
    demands.add(times(x.shape) == times(sizes))
    flat = x.flat
    if flat is None and all(isinstance(plain(size), int) for size in x.shape):
        strides = [times(x.shape[axis + 1 :]) for axis in range(x.rank)]
        flat = lambda position: x.at(  # noqa: E731
            [floor_mod(floor_div(position, stride), size) for stride, size in zip(strides, x.shape, strict=True)]
        )
    if flat is None:
        raise NotReadError("a Reshape across sizes that are not known")
    return Tensor(sizes, lambda index: flat(position_of(index, sizes)), flat)


def _matched(before: Sequence[Term], after: Sequence[Term]) -> list[int | None] | None:
    """Return for each axis before the axis after that has its size, None for a size of 1; None if there are others."""
    pairs: list[int | None] = []
    rest = [axis for axis, size in enumerate(after) if not same(size, 1)]
    for size in before:
        if same(size, 1):
            pairs.append(None)
        elif rest and same(size, after[rest[0]]):
            pairs.append(rest.pop(0))
        else:
            return None
    return None if rest else pairs


@dataclass
class Reading:
    """A model that is read: the values of its graph, by name, and what its operators demand."""

    values: dict[str, Tensor]
    demands: Demands = field(default_factory=Demands)


def read_model(model: Any, inputs: Mapping[str, Tensor]) -> Reading:
    """Return the values of a model's graph for these inputs; raise NotReadError if there is another operator."""
    from judges.proofs.index_operators import apply, tensor_of_constant

    reading = Reading(dict(inputs))
    for initializer in model.graph.initializer:
        if initializer.name not in reading.values:
            reading.values[initializer.name] = tensor_of_constant(initializer)
    version = next(each.version for each in model.opset_import if not each.domain)
    for node in model.graph.node:
        outputs = apply(node, version, [reading.values[name] if name else None for name in node.input], reading.demands)
        reading.values |= dict(zip(node.output, outputs, strict=False))
    return reading
