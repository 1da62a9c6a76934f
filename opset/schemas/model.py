"""The frozen form of an operator's YAML: what it says, version by version."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SINGLE, OPTIONAL, VARIADIC = "single", "optional", "variadic"
UNBOUNDED = 2**31 - 1
"""What the standard counts as the arity of a variadic parameter."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A formal input or output. `type` names a type constraint of the schema, or is one type: `tensor(int64)`."""

    name: str
    type: str
    option: str = SINGLE
    homogeneous: bool = True
    min_arity: int = 1
    differentiable: bool = False


@dataclass(frozen=True, slots=True)
class Attribute:
    """A formal attribute. `type` is the AttributeType's name in lower case; `default` None means that there is none.

    A default is an int, a str, the float that a float32 holds (1e-05 is 9.999999747378752e-06), or a tuple of these.
    """

    name: str
    type: str
    default: Any = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class AttributeChange:
    """What a diff cannot see about an attribute that came, went or changed its default.

    - `old`: for an attribute that came: the value with which the newer version behaves as the older one does.
      A mapping {"all": 1} means a list of ones, however long. An attribute without default may also be absent.
      Where the YAML says nothing, it is the new default.
    - `ignored`: for one that went: it never had an effect, so it may be dropped.
    - `input`: for one that went: the name of the input that carries its value now.
    """

    old: Any = None
    ignored: bool = False
    input: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """What happened between the version before and this one, as its YAML declares it.

    `diff` repeats the computed signature difference, in the form of schemas/diff.py (lint compares them). `attributes`
    has an entry for every attribute that came, and for those that went of which something is said. `meaning` says what
    changed beyond the signature, `clarified` that only wording did. `up` and `down` are "derived", "written" or
    "impossible: reason".
    """

    diff: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, AttributeChange] = field(default_factory=dict)
    meaning: str = ""
    clarified: str = ""
    up: str = "derived"
    down: str = "derived"


@dataclass(frozen=True, slots=True)
class OpSchema:
    """One operator at one version: its signature, and the change that led to it (None for the first version).

    `types` maps a constraint's name to the types that it allows, sorted. Equality and hash are by identity of content.
    """

    domain: str
    name: str
    since_version: int
    family: str
    inputs: tuple[Parameter, ...] = ()
    outputs: tuple[Parameter, ...] = ()
    attributes: dict[str, Attribute] = field(default_factory=dict, hash=False)
    types: dict[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    deprecated: bool = False
    replacement: str = ""
    experimental: bool = False
    determinism: str = "deterministic"
    function: str = ""
    change: Change | None = field(default=None, hash=False, compare=False)

    @property
    def min_input(self) -> int:
        """Smallest number of inputs that a node may have."""
        return _arity(self.inputs)[0]

    @property
    def max_input(self) -> int:
        """Largest number of inputs that a node may have; 2**31 - 1 where it is not bounded."""
        return _arity(self.inputs)[1]

    @property
    def min_output(self) -> int:
        """Smallest number of outputs that a node may have."""
        return _arity(self.outputs)[0]

    @property
    def max_output(self) -> int:
        """Largest number of outputs that a node may have; 2**31 - 1 where it is not bounded."""
        return _arity(self.outputs)[1]

    def allowed(self, parameter: Parameter) -> tuple[str, ...]:
        """Types that a parameter of this schema may have."""
        return self.types.get(parameter.type, (parameter.type,))


@dataclass(frozen=True, slots=True)
class Docs:
    """The prose of one version: what the operator does, and a phrase for every input, output and attribute."""

    doc: str
    inputs: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)


def _arity(parameters: tuple[Parameter, ...]) -> tuple[int, int]:
    least = most = 0
    for position, parameter in enumerate(parameters, 1):
        if parameter.option == VARIADIC:
            least, most = position - 1 + parameter.min_arity, UNBOUNDED
        else:
            most = position
            if parameter.option == SINGLE:
                least = position
    return least, most
