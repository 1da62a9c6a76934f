"""Sizes of dimensions that are not numbers yet: sums, products, quotients, maxima and minima of variables.

A size is an `int`, or a `Dim`: a polynomial with whole coefficients in atoms. An atom is a variable, which stands for a
number that is not negative, or a function of sizes: floor(a/b), max, min, or `broadcast`, the size that dimensions of
these sizes are broadcast to. Every operation returns the canonical form, so that sizes that are equal by the rules
known here are equal objects, and a size without variables is an int:

    N = variable("N"); str(2 * N + 1) == "2*N + 1"; (N + 4) // 2 == N // 2 + 2; ceil_div(N, 2) == (N + 1) // 2

A size of more than MAX_SIZE parts, or with a number beyond 64 bits, raises TooComplex: models are untrusted, and a size
that doubles with every node must not cost more with every node. Every operation charges the current budget (`charge`)
for the parts that it works on, even if it raises TooComplex.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import reduce
from math import gcd, prod
from operator import and_, floordiv
from typing import Union

from opset.inference.building.work import charge
from opset.inference.limits import MAX_BOUND_DEPTH, MAX_BOUND_SIZE, MAX_SIZE

_LIMIT = 2**63
_LONG_NAME = 32  # characters that count as one part

Atom = Union[str, "Function"]
Monomial = tuple[Atom, ...]
Size = Union[int, "Dim"]
"""One dimension of a shape: a number, or an expression of variables."""


class TooComplex(Exception):
    """An expression would be too large: more than MAX_SIZE parts, or a number beyond 64 bits."""


class Function:
    """A function of sizes as part of an expression: `floor` (numerator, denominator), `max`, `min` or `broadcast`."""

    __slots__ = ("_hash", "arguments", "name", "size", "text")

    def __init__(self, name: str, arguments: tuple[Size, ...]) -> None:
        """Store a name, such as "max", and arguments. Raises TooComplex if they are too long, or a number too large."""
        self.name = name
        self.arguments = arguments
        self.size: int = 1 + sum(argument.size if isinstance(argument, Dim) else 1 for argument in arguments)
        charge(self.size)
        numbers = (argument for argument in arguments if isinstance(argument, int))
        if self.size > MAX_SIZE or not all(map(_fits_64_bits, numbers)):
            raise TooComplex
        if name == "floor":
            self.text = f"floor({_operand_text(arguments[0], '/')}/{_operand_text(arguments[1], '')})"
        else:
            self.text = f"{name}({', '.join(map(_size_text, arguments))})"
        self._hash = hash((name, arguments))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Function)
            and self._hash == other._hash
            and self.name == other.name
            and self.arguments == other.arguments
        )

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


class Dim:
    """A size with variables, such as 2*N + 1.

    It is computed with by +, -, *, // and %, together with ints or other Dims. The result is again a Dim, or an int if
    no variable is left; TooComplex is raised if it is too large. `terms` are pairs of a product of variables and
    functions (a tuple) and its coefficient: ((("N",), 2), ((), 1)) for 2*N + 1.
    """

    __slots__ = ("_hash", "_text", "size", "terms")

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        """Store `terms`, pairs of a monomial and its coefficient, which must be in canonical order.

        Charges the budget for their parts. Raises TooComplex if there are more than MAX_SIZE parts, or if a coefficient
        does not fit into 64 bits.
        """
        self.terms = terms
        self._hash = hash(terms)
        self._text = ""
        size = 0
        for monomial, coefficient in terms:
            if not _fits_64_bits(coefficient):
                raise TooComplex
            size += 1
            for atom in monomial:
                size += 1 + len(atom) // _LONG_NAME if isinstance(atom, str) else atom.size
        self.size = size
        charge(size)
        if size > MAX_SIZE:
            raise TooComplex

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Dim) and self._hash == other._hash and self.terms == other.terms)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        """Return the text that `parse_size` reads again: "2*N + 1", or just the name for a variable."""
        if not self._text:
            atom = _only_atom(self)
            self._text = atom if isinstance(atom, str) else _size_text(self)
        return self._text

    __repr__ = __str__

    def __add__(self, other: Size) -> Size:
        """Return the sum, an int if no variable is left. Raises TooComplex if it is too large."""
        if not isinstance(other, int | Dim):
            return NotImplemented
        terms = dict(self.terms)
        for monomial, coefficient in _terms_of(other):
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return _canonical_size(terms)

    __radd__ = __add__

    def __neg__(self) -> Size:
        return _canonical_size({monomial: -coefficient for monomial, coefficient in self.terms})

    def __sub__(self, other: Size) -> Size:
        return self + -other

    def __rsub__(self, other: Size) -> Size:
        return -self + other

    def __mul__(self, other: Size) -> Size:
        """Return the product. Raises TooComplex if it is too large."""
        if not isinstance(other, int | Dim):
            return NotImplemented
        terms: dict[Monomial, int] = {}
        pairs = len(self.terms) * len(_terms_of(other))
        charge(pairs)
        if pairs > MAX_SIZE * 4:
            raise TooComplex
        for left, first in self.terms:
            for right, second in _terms_of(other):
                product = left + right if not (left and right) else tuple(sorted(left + right, key=str))
                terms[product] = terms.get(product, 0) + first * second
        return _canonical_size(terms)

    __rmul__ = __mul__

    def __floordiv__(self, other: Size) -> Size:
        """Return the quotient rounded down, such as floor(N/2). Raises ZeroDivisionError for the divisor 0."""
        if not isinstance(other, int | Dim):
            return NotImplemented
        return _floor_quotient(self, other)

    def __rfloordiv__(self, other: Size) -> Size:
        return _floor_quotient(other, self)

    def __mod__(self, other: Size) -> Size:
        """Return the remainder of the division, size - divisor * (size // divisor), with // rounding down.

        Raises ZeroDivisionError for the divisor 0, TooComplex if the result is too large.
        """
        return self - other * _floor_quotient(self, other)

    def __rmod__(self, other: Size) -> Size:
        return other - self * _floor_quotient(other, self)


def variable(name: str) -> Dim:
    """Return the variable called `name` as a size. Raises TooComplex if the name is too long."""
    return _size_of_atom(name)


def variables(size: Size | None) -> set[str]:
    """Return the names of the variables in a size, also in arguments of functions; a number, or None, has none."""
    return {atom for atom in _atoms_in(size) if isinstance(atom, str)}


def has_function(size: Size, name: str) -> bool:
    """Whether a size contains a function called `name` anywhere: "floor", "max", "min" or "broadcast"."""
    return any(isinstance(atom, Function) and atom.name == name for atom in _atoms_in(size))


def _atoms_in(size: Size | None) -> Iterator[Atom]:
    """Yield the names of variables and the Functions in a size, also in arguments of functions, with repetitions."""
    pending = [size]
    for part in pending:
        for monomial, _ in part.terms if isinstance(part, Dim) else ():
            for atom in monomial:
                yield atom
                if not isinstance(atom, str):
                    pending.extend(atom.arguments)


def substitute(size: Size, values: Mapping[str, Size]) -> Size:
    """Return a size with variables replaced: N + M with {"N": 3} is M + 3.

    Variables without an entry in `values` stay; an entry may be a number or another size. Raises TooComplex if the
    result is too large, ZeroDivisionError if a divisor becomes 0, ValueError if the arguments of a `broadcast` become
    different numbers other than 1.
    """
    if isinstance(size, int):
        return size
    charge(size.size)
    if values.keys().isdisjoint(variables(size)):
        return size
    total: Size = 0
    for monomial, coefficient in size.terms:
        product: Size = coefficient
        for atom in monomial:
            if isinstance(atom, str):
                product = product * (values[atom] if atom in values else variable(atom))
            else:
                # Expressions are at most MAX_SIZE deep, so the recursion is bounded.
                arguments = [substitute(argument, values) for argument in atom.arguments]
                product = product * _FUNCTIONS[atom.name](*arguments)
        total = total + product
    return total


def product(sizes: Iterable[Size]) -> Size:
    """Return the product of sizes, 1 for no sizes. Raises TooComplex if the product is too large."""
    result: Size = prod(sizes)
    return result


def apply_to_sizes(function: Callable[..., Size | None], *sizes: Size | None) -> Size | None:
    """Return `function(*sizes)`, or None if a size is unknown (None) or the function raises TooComplex."""
    for size in sizes:
        if size is None:
            return None
    try:
        return function(*sizes)
    except TooComplex:
        return None


def product_if_known(sizes: Iterable[Size | None]) -> Size | None:
    """Return the product of sizes, or None if a size is unknown (None) or the product too complex.

    If any size is 0, the product is 0, also beside unknown sizes.
    """
    factors = list(sizes)
    return 0 if 0 in factors else apply_to_sizes(lambda *known: product(known), *factors)


def sum_if_known(sizes: Iterable[Size | None]) -> Size | None:
    """Return the sum of sizes, or None if a size is unknown (None) or the sum too complex."""
    return apply_to_sizes(lambda *known: sum(known, start=0), *sizes)


def ceil_div(size: Size, divisor: Size) -> Size:
    """Return size / divisor, rounded up. Raises ZeroDivisionError for divisor 0, TooComplex for too large a result."""
    return -(-size // divisor)


def maximum(*sizes: Size) -> Size:
    """Return the largest size: N + 1 of N and N + 1, the symbolic max(4, N) of N and 4. At least one size is needed."""
    return _extreme_size("max", sizes, lambda a, b: at_most(a, b) is True)


def minimum(*sizes: Size) -> Size:
    """Return the smallest size: N of N and N + 1, the symbolic min(4, N) of N and 4. At least one size is needed."""
    return _extreme_size("min", sizes, lambda a, b: at_most(b, a) is True)


def broadcast(*sizes: Size) -> Size:
    """Return the size to which dimensions of these sizes broadcast, 1 for no sizes.

    A number other than 1 decides: N and 3 broadcast to 3. Several different variables give a symbolic size, such as
    broadcast(M, N). Raises ValueError for two different numbers other than 1. Symbolic sizes are not compared.
    """
    flat = list(_flatten("broadcast", sizes))
    known = {size for size in flat if isinstance(size, int)} - {1}
    if len(known) > 1:
        raise ValueError(f"{' and '.join(map(str, sorted(known)))} cannot be broadcast together")
    if known:
        return known.pop()
    rest = sorted({size for size in flat if size != 1}, key=str)
    if not rest:
        return 1
    return rest[0] if len(rest) == 1 else _size_of_atom(Function("broadcast", tuple(rest)))


def equal(left: Size | None, right: Size | None) -> bool | None:
    """Return whether two sizes are equal, None if that depends on the values of their variables.

    N and N + 1 give False, N and 3 give None. None is also returned if a size is unknown or no answer is found.
    """
    if left is None or right is None:
        return None
    if left == right:
        return True
    try:
        difference = left - right
    except TooComplex:
        return None
    if isinstance(difference, int):
        return difference == 0
    low, high = _close_bounds_of(difference)
    if (low is not None and low > 0) or (high is not None and high < 0):
        return False
    # A common factor of all coefficients of variables that does not divide the constant: 2*N + 1 is never 4.
    factor = gcd(*(coefficient for monomial, coefficient in difference.terms if monomial))
    constant = dict(difference.terms).get((), 0)
    return False if factor > 1 and constant % factor else None


def at_most(left: Size | None, right: Size | None) -> bool | None:
    """Return True if left <= right for all values of the variables, False if for no values, else None.

    N and N + 1 give True, N and 3 None. The result is also None if a size is unknown (None) or no answer is found.
    """
    if left is None or right is None:
        return None
    try:
        low, high = _close_bounds_of(right - left)
    except TooComplex:
        return None
    if low is not None and low >= 0:
        return True
    return False if high is not None and high < 0 else None


def less(left: Size | None, right: Size | None) -> bool | None:
    """Return True if left < right for all values of the variables, False if for no values, else None.

    N and N + 1 give True, N and 3 None. The result is also None if a size is unknown (None) or no answer is found.
    """
    more = at_most(right, left)
    return None if more is None else not more


def lower_bound(size: Size) -> int | None:
    """Return a number that a size is never below (2 for N + 2, as N is at least 0), or None if none is found."""
    return _bounds_of(size)[0]


def upper_bound(size: Size) -> int | None:
    """Return a number that a size never exceeds (5 for 5 - N, as N is at least 0), or None if none is found."""
    return _bounds_of(size)[1]


def parse_size(text: str) -> Size | None:
    """Return the size whose printed form is exactly `text`, as `str` prints it, or None if there is no such size.

    "batch - size" is a difference. "batch-size" gives None, as `str` puts blanks around a minus; callers take such a
    text for the name of one variable. Inside a larger size, such a name is in quotes: `2*"batch-size"`.
    """
    if len(text) > 2 * _LONG_NAME * MAX_SIZE:
        return None
    tokens = re.findall(_TOKEN, text)
    if "".join(tokens) != text or len(tokens) > 8 * MAX_SIZE:
        return None
    reader = _SizeReader([token for token in tokens if token != " "])
    try:
        size = reader.read_sum(0)
    except (_NotASize, TooComplex, ZeroDivisionError, ValueError):
        return None
    if reader.peek_token() or (isinstance(size, int) and not _fits_64_bits(size)):
        return None
    return size if str(size) == text else None


# Canonical form


def _fits_64_bits(number: int) -> bool:
    """Whether the absolute value of a number is below 2**63, so that the number and its negative fit into 64 bits."""
    return abs(number) < _LIMIT


def _terms_of(size: Size) -> tuple[tuple[Monomial, int], ...]:
    """Return the terms of a size as (product of variables and functions, coefficient); a number has the product ()."""
    return size.terms if isinstance(size, Dim) else (((), size),)


def _canonical_size(terms: dict[Monomial, int]) -> Size:
    """Return the sum of `terms`, coefficients by product of variables and functions, in canonical form.

    {("N",): 2, (): 1} gives 2*N + 1; without variables, the result is an int. Raises TooComplex if it is too large.
    """
    kept = [term for term in terms.items() if term[1]]
    if not kept:
        return 0
    if len(kept) == 1 and not kept[0][0]:
        return kept[0][1]
    kept.sort(key=lambda term: (-len(term[0]), [str(atom) for atom in term[0]]))  # those with the most atoms first
    return Dim(tuple(kept))


def _size_of_atom(atom: Atom) -> Dim:
    """Return an atom as a size: a variable, given by its name such as "N", or a function such as floor(N / 2)."""
    return Dim((((atom,), 1),))


def _only_atom(size: Size) -> Atom | None:
    """Return the variable's name, or the Function, if a size is nothing else: N for N; None for 2*N or N + 1."""
    if isinstance(size, Dim) and len(size.terms) == 1:
        monomial, coefficient = size.terms[0]
        if coefficient == 1 and len(monomial) == 1:
            return monomial[0]
    return None


def _flatten(name: str, sizes: Iterable[Size]) -> Iterator[Size]:
    """Yield each size; in place of a size that is a function called `name`, yield its arguments.

    For "max", max(M, N) gives M and N. Functions within the arguments are not taken apart.
    """
    for size in sizes:
        atom = _only_atom(size)
        yield from atom.arguments if isinstance(atom, Function) and atom.name == name else (size,)


def _floor_quotient(size: Size, divisor: Size) -> Size:
    """Return size / divisor, rounded down, in canonical form: (2*N + M) // 2 is N + floor(M/2).

    A divisor with variables counts as not 0. Raises ZeroDivisionError for the divisor 0, or TooComplex.
    """
    if divisor == 0:
        raise ZeroDivisionError
    if size == 0:
        return 0
    if isinstance(divisor, Dim):  # counts as not 0: if it is 0, the model has no such size
        size, divisor = _cancel_common_factors(size, divisor)
    if isinstance(divisor, Dim):
        quotient = _exact_quotient(size, divisor) if isinstance(size, Dim) else None
        return quotient if quotient is not None else _size_of_atom(Function("floor", (size, divisor)))
    if divisor < 0:
        size = -size
        divisor = -divisor
    if divisor == 1 or isinstance(size, int):
        return size // divisor if isinstance(size, int) else size
    out: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, coefficient in size.terms:
        whole, left = divmod(coefficient, divisor)
        # -N/2 stays under the floor as such: floor((2*M - N)/2) = M + floor(-N/2), not M - N + floor(N/2)
        if monomial and left and coefficient < 0:
            whole += 1
            left -= divisor
        out[monomial], rest[monomial] = whole, left
    inner = _canonical_size(rest)
    if isinstance(inner, int):  # the constant alone: less than the divisor, and not negative
        return _canonical_size(out)
    factor = gcd(divisor, *(coefficient for monomial, coefficient in inner.terms if monomial))
    if factor > 1:  # floor((2*x + 1)/4) = floor(x/2)
        inner = Dim(tuple([(monomial, c // factor) for monomial, c in inner.terms if c // factor]))
        divisor //= factor
    constant = dict(inner.terms).get((), 0)
    nested = _only_atom(inner - constant)
    if isinstance(nested, Function) and nested.name == "floor" and isinstance(by := nested.arguments[1], int):
        # floor((floor(x/a) + c)/b) = floor((x + a*c)/(a*b)), for whole a, b above 0
        return _canonical_size(out) + _floor_quotient(nested.arguments[0] + by * constant, by * divisor)
    if all(coefficient < 0 for monomial, coefficient in inner.terms if monomial):
        # Upside down: floor(-N/2) = -floor((N + 1)/2), which is how rounding up looks.
        return _canonical_size(out) - _floor_quotient(-inner + (divisor - 1), divisor)
    low, high = _bounds_of(inner)
    if low is not None and high is not None and low // divisor == high // divisor:
        return _canonical_size(out) + low // divisor
    return _canonical_size(out) + _size_of_atom(Function("floor", (inner, divisor)))


def _exact_quotient(size: Dim, divisor: Dim) -> Size | None:
    """Return size / divisor, such as N for N*M / M, or None if there is a remainder or the quotient is too complex."""
    monomial, by = divisor.terms[0]
    lead = Counter(monomial)
    left: Size = size
    result: Size = 0
    for _ in range(MAX_SIZE):
        if left == 0:
            return result
        if isinstance(left, int):
            return None
        monomial, coefficient = left.terms[0]
        rest = Counter(monomial)
        if not rest >= lead:
            return None
        if coefficient % by:
            return None
        part = _canonical_size({tuple((rest - lead).elements()): coefficient // by})
        try:
            result = result + part
            left = left - part * divisor
        except TooComplex:
            return None
    return None


def _cancel_common_factors(size: Size, divisor: Size) -> tuple[Size, Size]:
    """Return a size and its divisor without the factors that all terms of both share: (2*N*M, 4*N) gives (M, 2)."""
    terms = (*_terms_of(size), *_terms_of(divisor))
    factor = gcd(*(coefficient for _, coefficient in terms))
    shared = reduce(and_, (Counter(monomial) for monomial, _ in terms))
    if factor == 1 and not shared:
        return size, divisor

    def without(whole: Size) -> Size:
        """Return a size whose terms are divided by the common number and the common variables and functions."""
        terms = _terms_of(whole)
        return _canonical_size({tuple((Counter(m) - shared).elements()): c // factor for m, c in terms})

    return without(size), without(divisor)


def _extreme_size(name: str, sizes: tuple[Size, ...], covered: Callable[[Size, Size], bool]) -> Size:
    """Return the maximum or the minimum of sizes; `name` is "max" or "min".

    A size that makes no difference is dropped, such as N beside N + 1 in a maximum: `covered(N, N + 1)` is True. The
    result is the only size that is left, or a function such as max(4, N). Raises TooComplex if too many are left.
    """
    kept: list[Size] = []
    for size in dict.fromkeys(_flatten(name, sizes)):
        if not any(covered(size, other) for other in kept):
            kept = [other for other in kept if not covered(other, size)]
            kept.append(size)
            if len(kept) > MAX_SIZE:
                raise TooComplex
    if len(kept) == 1:
        return kept[0]
    kept.sort(key=lambda size: (isinstance(size, Dim), str(size)))
    return _size_of_atom(Function(name, tuple(kept)))


_FUNCTIONS: dict[str, Callable[..., Size]] = {
    "floor": floordiv,
    "max": maximum,
    "min": minimum,
    "broadcast": broadcast,
}


# Bounds

_Bounds = tuple[int | None, int | None]


def _bounds_of(size: Size) -> _Bounds:
    """Return (lower, upper) bound of a size, both inclusive, None for one that is not found: (2, None) for N + 2."""
    if isinstance(size, int):
        return size, size
    charge(len(size.terms))
    low: int | None = 0
    high: int | None = 0
    for monomial, coefficient in size.terms:
        bounds = [None if bound is None else bound * coefficient for bound in _monomial_bounds(monomial)]
        least, most = bounds if coefficient > 0 else bounds[::-1]
        low = None if low is None or least is None else low + least
        high = None if high is None or most is None else high + most
        if low is None and high is None:
            break
    return low, high


def _close_bounds_of(size: Size) -> _Bounds:
    """Return the (lower, upper) bound of a size, both inclusive; a bound that is not found is None.

    It finds more bounds than `_bounds_of`, such as the lower bound 0 of N - floor(N/2). For a large size, it finds
    only those of `_bounds_of`.
    """
    low, high = _bounds_of(size)
    if isinstance(size, int) or size.size > MAX_BOUND_SIZE:
        return low, high
    with suppress(TooComplex):
        low = _close_lower_bound(size, MAX_BOUND_DEPTH) if low is None else low
    with suppress(TooComplex):
        most = _close_lower_bound(-size, MAX_BOUND_DEPTH) if high is None else None
        high = high if most is None else -most
    return low, high


def _close_lower_bound(size: Size, depth: int) -> int | None:
    """Return a lower bound of a size, or None if none is found.

    If `_bounds_of` finds none, simpler sizes are bounded, such as N and 2 in place of max(N, 2). `depth` is how many
    floors, maxima and minima within each other may be replaced so. Raises TooComplex if a size becomes too large.
    """
    low = _bounds_of(size)[0]
    if low is not None or depth == 0 or isinstance(size, int):
        return low
    for monomial, factor in size.terms:
        atom = monomial[0] if len(monomial) == 1 else ""
        if isinstance(atom, str):
            continue
        rest = size - Dim(((monomial, factor),))
        if atom.name == "floor" and isinstance(divisor := atom.arguments[1], int):
            # (x - d + 1)/d <= floor(x/d) <= x/d
            inner = atom.arguments[0] - (divisor - 1) if factor > 0 else atom.arguments[0]
            low = _close_lower_bound(factor * inner + divisor * rest, depth - 1)
            if low is not None:
                return -(-low // divisor)
        elif atom.name in ("max", "min"):
            bounds = [_close_lower_bound(rest + factor * argument, depth - 1) for argument in atom.arguments]
            known_bounds = [low for low in bounds if low is not None]
            if (atom.name == "max") == (factor > 0) and known_bounds:
                return max(known_bounds)
            if len(known_bounds) == len(bounds):
                return min(known_bounds)
    return None


def _monomial_bounds(monomial: Monomial) -> _Bounds:
    """Return (lower, upper) bound of a product of variables and functions; None for a bound that is not found."""
    low: int | None = 1
    high: int | None = 1
    for atom in monomial:
        least, most = (0, None) if isinstance(atom, str) else _function_bounds(atom)
        if len(monomial) == 1:
            return least, most
        if least is None or least < 0:
            return None, None
        low = None if low is None else low * least
        high = None if high is None or most is None else high * most
    return low, high


def _function_bounds(atom: Function) -> _Bounds:
    """Return the (lower, upper) bound of a function of sizes such as max(N, 3), None for a bound that is unknown.

    Bounds are inclusive, and follow from the bounds of the function's arguments.
    """
    if atom.name == "floor":
        low, high = _bounds_of(atom.arguments[0])
        divisor = atom.arguments[1]
        if isinstance(divisor, int):
            return None if low is None else low // divisor, None if high is None else high // divisor
        least = lower_bound(divisor)
        return (0, high) if low is not None and low >= 0 and least is not None and least >= 0 else (None, None)
    bounds = [_bounds_of(argument) for argument in atom.arguments]
    lows = [low for low, _ in bounds]
    highs = [high for _, high in bounds]
    known_lows = [low for low in lows if low is not None]
    known_highs = [high for high in highs if high is not None]
    if atom.name == "max":
        return max(known_lows, default=None), max(known_highs) if len(known_highs) == len(highs) else None
    if atom.name == "min":
        return min(known_lows) if len(known_lows) == len(lows) else None, min(known_highs, default=None)
    return 0, None


# Text


_VARIABLE = r"[^\W\d][\w.]*"


def _size_text(size: Size) -> str:
    """Return the text of a size, without brackets around it: "2*N - 1".

    Negative terms come last. A name that could be misread, such as "a-b", is in quotes. A count of windows is written
    in its usual form: "floor((H - 3)/2) + 1" rather than the equal "floor((H + 1)/2) - 1".
    """
    if isinstance(size, int):
        return str(size)
    terms = list(size.terms)
    constant = terms[-1][1] if not terms[-1][0] else 0
    floors = [
        (monomial[0], at)
        for at, (monomial, coefficient) in enumerate(terms)
        if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], Function) and monomial[0].name == "floor"
    ]
    atom, at = floors[0] if len(floors) == 1 else (None, 0)
    divisor = atom.arguments[1] if atom is not None else 0
    if constant < 0 and atom is not None and isinstance(divisor, int) and _fits_64_bits((constant - 1) * divisor):
        # As windows are counted: floor((H - 3)/2) + 1, not floor((H + 1)/2) - 1, which is the same.
        shown = f"floor({_operand_text(atom.arguments[0] + (constant - 1) * divisor, '/')}/{divisor})"
        parts = [(1, shown) if index == at else _term_text(*term) for index, term in enumerate(terms[:-1])]
        parts.append((1, "1"))
    else:
        parts = [_term_text(*term) for term in terms]
    parts = [part for part in parts if part[0] > 0] + [part for part in parts if part[0] < 0]
    text = "".join(f" {'+' if sign > 0 else '-'} {word}" for sign, word in parts)
    return text[3:] if text.startswith(" + ") else f"-{text[3:]}"


def _term_text(monomial: Monomial, coefficient: int) -> tuple[int, str]:
    """Return the sign of a term, 1 or -1, and its text without the sign: (-1, "2*N") for -2*N.

    `monomial` is the product of variables and functions, () for the constant.
    """
    words = [_atom_text(atom) for atom in monomial]
    if abs(coefficient) != 1 or not words:
        words.insert(0, str(abs(coefficient)))
    return (1 if coefficient > 0 else -1), "*".join(words)


def _atom_text(atom: Atom) -> str:
    """Return the text of a function, or the name of a variable; a name that is no word, such as "a-b", is quoted."""
    if isinstance(atom, Function) or re.fullmatch(_VARIABLE, atom):
        return str(atom)
    return '"' + atom.replace('"', '""') + '"'


def _operand_text(size: Size, operator: str) -> str:
    """Return the text of the numerator or divisor of a division, in brackets if it could else be misread.

    Sums and negative sizes are in brackets: "(N + 1)". A product is in brackets only as divisor. `operator` is "/" for
    the numerator, "" for the divisor.
    """
    text = _size_text(size)
    simple = isinstance(size, int) or (len(size.terms) == 1 and (operator == "/" or "*" not in text))
    return text if simple and not text.startswith("-") else f"({text})"


_TOKEN = r"""[^\W\d][\w.]*|"(?:[^"]|"")*"|[0-9]+|[-+*/(),]| """


class _NotASize(Exception):
    """The text that is read is not the text of a size."""


class _SizeReader:
    """Reads a size from the tokens of its text, such as ["2", "*", "N"]; spaces are not among them.

    The methods raise _NotASize if the tokens are no size or have too many open brackets, and the errors of arithmetic
    with sizes: TooComplex, ZeroDivisionError, ValueError. `depth` is the number of open brackets before the next token.
    """

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.position = 0

    def peek_token(self) -> str:
        """Return the next token without moving past it, or "" at the end."""
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take_token(self, wanted: str = "") -> str:
        """Return the next token and move past it.

        Raises _NotASize at the end, or if `wanted` is given and the next token is another one.
        """
        token = self.peek_token()
        if not token or (wanted and token != wanted):
            raise _NotASize
        self.position += 1
        return token

    def read_sum(self, depth: int) -> Size:
        """Read one or more terms joined by + and -, and return their sum; `depth` is the number of open brackets."""
        if depth > MAX_SIZE:
            raise _NotASize
        negative = self.peek_token() == "-"
        if negative:
            self.take_token()
        total = self.read_product(depth)
        total = -total if negative else total
        while self.peek_token() in ("+", "-"):
            total = total + self.read_product(depth) if self.take_token() == "+" else total - self.read_product(depth)
        return total

    def read_product(self, depth: int) -> Size:
        """Read one or more factors joined by *, and return their product; `depth` is the number of open brackets."""
        result = self.read_factor(depth)
        while self.peek_token() == "*":
            self.take_token()
            result = result * self.read_factor(depth)
        return result

    def read_factor(self, depth: int) -> Size:
        """Read a number, variable, function or sum in brackets, and return a size. Raises _NotASize if none is next."""
        token = self.take_token()
        if token == "(":
            inner = self.read_sum(depth + 1)
            self.take_token(")")
            return inner
        if token[0] in "0123456789":
            return int(token)
        if token[0] == '"':
            return variable(token[1:-1].replace('""', '"'))
        if not re.fullmatch(_VARIABLE, token):
            raise _NotASize
        if self.peek_token() != "(" or token not in _FUNCTIONS:
            return variable(token)
        self.take_token("(")
        if token == "floor":
            numerator = self.read_product(depth + 1)
            self.take_token("/")
            result = numerator // self.read_factor(depth + 1)
        else:
            arguments = [self.read_sum(depth + 1)]
            while self.peek_token() == ",":
                self.take_token()
                arguments.append(self.read_sum(depth + 1))
            result = _FUNCTIONS[token](*arguments)
        self.take_token(")")
        return result
