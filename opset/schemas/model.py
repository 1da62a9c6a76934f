"""The frozen form of an operator's YAML, version by version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from opset.html_text import Table, html_of, missing_attribute, one_line
from opset.schemas.names import domain_name

if TYPE_CHECKING:
    from opset.schemas.documentation import Docs, SpecialCase

SINGLE, OPTIONAL, VARIADIC = "single", "optional", "variadic"
UNBOUNDED = 2**31 - 1
"""What the standard counts as the arity of a variadic parameter."""
OWN = "opset"
"""The name of the evaluator of this package among implementations."""
TYPES, SIGNATURE = "types", "signature"
"""What is not known of a version that a document of others declares: its types, or all of its signature."""


class Parameter(NamedTuple):
    """A formal input or output. `type` names a type constraint of the schema, or is one type: `tensor(int64)`."""

    name: str
    type: str
    option: str = SINGLE
    homogeneous: bool = True
    min_arity: int = 1
    differentiable: bool = False


class Attribute(NamedTuple):
    """A formal attribute. `type` is the AttributeType's name in lower case; `default` None means that there is none.

    A default is an int, a str, the float that a float32 holds (1e-05 is 9.999999747378752e-06), or a tuple of these.

    The other fields declare which values are legal; for a list they hold for each element. They are no part of the
    signature that is locked. opset/schemas/constraints/signature.py checks them.

    - `choices`: the legal values; of a `data_type`, element types by name or names of type constraints of the schema.
    - `range`: comparisons such as ">= 0" or "-rank <= x < rank"; see opset/schemas/constraints/grammar.py.
    - `kind`: "bool" (0 or 1), "axis", "axes", "data_type" (the number of an element type) or "any_case" (words in which
      upper and lower case are the same).
    - `constraint`: the label of the constraint that an illegal value breaks.
    """

    name: str
    type: str
    default: Any = None
    required: bool = False
    choices: tuple[Any, ...] = ()
    range: str = ""
    kind: str = ""
    constraint: str = ""


class Condition(NamedTuple):
    """One condition on the inputs of a node that a constraint declares; `form` is written as grammar.py says.

    By `kind`:

    - "given": the input or attribute `subject` is given ("true"), left out ("false"), or given if and only if another
      one is ("NAME") or is not ("not NAME"); an empty list counts as left out;
    - "rank", "size": the rank of the input `subject`, or how many elements it has, meets the condition `form`;
    - "shape": the shape of the input fits the pattern `form`;
    - "values": each element of the input, or the value of the attribute, meets the condition;
    - "distinct": no two elements of the input, or of the attribute, are the same axis of `form` dimensions;
    - "sizes": the expression `subject` of sizes that patterns name meets the condition;
    - "broadcast": the input broadcasts in one direction to the shape of the input, or to the pattern, `form`.

    It is checked only if all premises in `where` hold: by name, conditions on attributes, on inputs of one element and
    on `rank(input)`, or the words "given" and "absent".
    """

    label: str
    kind: str
    subject: str
    form: str
    where: tuple[tuple[str, str], ...] = ()


class AttributeChange(NamedTuple):
    """Declarations about an attribute that was added, removed or changed, which no diff shows.

    - `old`: for an attribute that was added, or became required: the value with which the newer version behaves as the
      older one does without it. A mapping {"all": 1} means a list of ones, however long. An attribute without default
      may also be absent. For an added one it is the new default, unless YAML or a written adapter up says otherwise.
    - `ignored`: for a removed one: it never had an effect, so it may be dropped.
    - `input`: for a removed one: the name of the input that carries its value now.
    - `negative`: for an axis that stayed: negative values, which count from the end, came with the newer version.
    - `only_for`: for an added one: the element types of inputs or outputs for which alone it has an effect.
    - `renamed`: for an added one: the name that it had in the older version.
    - `values`: for one of both versions: values of the older version, with the newer ones that mean the same.
    - `undefined`: for one of the older version: a value to which that version gives no meaning.
    """

    old: Any = None
    ignored: bool = False
    input: str = ""
    negative: bool = False
    only_for: tuple[str, ...] = ()
    renamed: str = ""
    values: Mapping[Any, Any] = {}
    undefined: Any = None


def translate_value(schema: OpSchema, name: str, value: Any) -> Any:
    """Return the value of an attribute at the version `schema` that means the same as `value` at the version before.

    `name` is the attribute. The `change:` block of the version lists the values that are replaced by others, such as
    numbers by words. Any other value is returned unchanged.
    """
    facet = schema.change.attributes.get(name) if schema.change is not None else None
    return facet.values.get(value, value) if facet is not None and isinstance(value, str | int) else value


def is_old_value(value: Any, old: Any) -> bool:
    """Whether the attribute value `value` is equal to `old`.

    `old` is declared in the `change:` block of a version. It is the value with which a node means the same as in the
    version before. If `old` is {"all": 1}, every list or tuple of ones is equal to it, even an empty one.
    """
    if isinstance(old, dict):
        return isinstance(value, list | tuple) and all(item == old["all"] for item in value)
    return bool(value == old)


class Change(NamedTuple):
    """What happened between the version before and this one, as its YAML declares it.

    `diff` repeats the computed signature difference, in the form of schemas/diff.py (lint compares them). `attributes`
    has an entry for every added attribute, and for removed ones with a declaration. `meaning` says what
    changed beyond the signature, `clarified` that only wording did. `up` and `down` are "derived", "written" or
    "impossible: reason". `emulate` maps element types that came to older ones: an operator that casts its inputs to the
    other type, and its outputs back, computes the same. `renamed`: a withdrawn operator goes on under the name of its
    replacement.
    """

    diff: Mapping[str, Any] = {}
    attributes: Mapping[str, AttributeChange] = {}
    emulate: Mapping[str, str] = {}
    renamed: bool = False
    meaning: str = ""
    clarified: str = ""
    up: str = "derived"
    down: str = "derived"


class FunctionBody(NamedTuple):
    """An operator in terms of other operators: nodes as ONNX text, in which `@name` is the value of an attribute.

    The nodes are right for ai.onnx from opset `opset` on. The body serves nodes that meet `where`: by attribute, its
    value or a condition on it, by input or attribute "given" or "absent", by `rank(input)` a condition. `types` maps
    type constraints to the types that it is right for, unless these are all of the schema. Of the element types
    that `emulate` maps, inputs are cast to the other type first, and outputs back. A `CastLike` to an input is one to
    its element type, and a Constant may have any attribute that came with later opsets.
    """

    opset: int
    nodes: str
    where: tuple[tuple[str, str], ...] = ()
    types: Mapping[str, tuple[str, ...]] = {}
    emulate: Mapping[str, str] = {}


_PLACES = {
    "type_constraints": "schema.types",
    "has_function": "schema.function",
    "function_body": "schema.function",
    "support_level": "schema.experimental",
    "shape_inference": "schema.shape",
    "description": "schema.doc",
    "examples": "Registry.examples(name, domain), or `opset show NAME`",
    "version": "schema.since_version",
    "formula": "schema.docs.formula",
    "constraints": "schema.docs.constraints",
    "op_type": "schema.name",
}
"""Where to find what a schema does not have, by the name under which it is looked for."""


@dataclass(frozen=True, slots=True, repr=False)
class OpSchema:
    """One operator at one version: its signature, and the change that led to it (None for the first version).

    `types` maps a constraint's name to the types that it allows, sorted. `shape` names the rule by which the outputs'
    shapes are inferred, "" if a function does it. `conditions` are the constraints on inputs that can be checked; like
    the declarations of attributes, they are no part of the locked signature. `function` are the operator's function
    bodies, highest opset first; they are no part of the signature either.
    `unknown` is "" unless a document of others declares the version: with TYPES, its parameters and attributes are
    known by name, and neither their types nor which may be left out; with SIGNATURE, not even these.
    Schemas are equal if all their fields are, apart from `change` and `prose`.
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
    shape: str = ""
    change: Change | None = field(default=None, hash=False, compare=False)
    conditions: tuple[Condition, ...] = field(default=(), hash=False)
    function: tuple[FunctionBody, ...] = field(default=(), hash=False)
    unknown: str = ""
    prose: Callable[[], Docs] | None = field(default=None, hash=False, compare=False)
    """Reads the prose of the version when it is asked for, None for a schema without prose."""

    def __repr__(self) -> str:
        """Return the domain and the signature as one line."""
        return one_line("OpSchema", f"{domain_name(self.domain)} {self._signature()}")

    def _repr_html_(self) -> str:
        """Return the signature and the prose as HTML tables, for notebooks."""
        docs = self.docs
        parameters = [
            Table(
                f"{side}s",
                ("name", "type", "", "meaning"),
                [(each.name, each.type, each.option, words.get(each.name, "")) for each in listed],
            )
            for side, listed, words in (("input", self.inputs, docs.inputs), ("output", self.outputs, docs.outputs))
        ]
        attributes = [
            (each.name, each.type, "required" if each.required else each.default, docs.attributes.get(each.name, ""))
            for each in self.attributes.values()
        ]
        tables = [
            Table("", (), [(line,) for line in docs.doc.splitlines() if line]),
            *parameters,
            Table("attributes", ("name", "type", "default", "meaning"), attributes),
            Table("types", ("name", "types"), [(name, ", ".join(types)) for name, types in self.types.items()]),
            Table("constraints", (), [*docs.constraints.items()]),
            Table("special cases", (), [(each.text,) for each in docs.special_cases]),
        ]
        return html_of(f"{domain_name(self.domain)} {self._signature()}", tables)

    def _signature(self) -> str:
        """Return name, version, inputs, attributes and outputs as one line of text."""
        inputs, outputs = (", ".join(each.name for each in listed) for listed in (self.inputs, self.outputs))
        attributes = f"; {', '.join(self.attributes)}" if self.attributes else ""
        return f"{self.name} {self.since_version} ({inputs}{attributes}) -> ({outputs})"

    if not TYPE_CHECKING:  # a checker of types knows the names

        def __getattr__(self, name: str) -> NoReturn:
            """Raise AttributeError for the missing attribute `name`.

            If schemas have it under another name, the message says so.
            """
            raise missing_attribute("OpSchema", name, _PLACES, dir(type(self)))

    @property
    def docs(self) -> Docs:
        """All prose of the version; empty if it has none."""
        from opset.schemas.documentation import Docs  # few calls read prose

        return Docs("") if self.prose is None else self.prose()

    @property
    def doc(self) -> str:
        """The description of the operator, "" if it has no prose."""
        return self.docs.doc

    @property
    def special_cases(self) -> Sequence[SpecialCase]:
        """The behavior at limits, such as NaN and empty tensors; empty if it has no prose."""
        return self.docs.special_cases

    @property
    def min_input(self) -> int:
        """The smallest number of inputs that a node may have; 0 if it is unknown which inputs may be left out."""
        return 0 if self.unknown else _arity(self.inputs)[0]

    @property
    def max_input(self) -> int:
        """The largest number of inputs that a node may have; 2**31 - 1 if it is unbounded or unknown."""
        return UNBOUNDED if self.unknown == SIGNATURE else _arity(self.inputs)[1]

    @property
    def min_output(self) -> int:
        """The smallest number of outputs that a node may have; 0 if it is unknown which outputs may be left out."""
        return 0 if self.unknown else _arity(self.outputs)[0]

    @property
    def max_output(self) -> int:
        """The largest number of outputs that a node may have; 2**31 - 1 if it is unbounded or unknown."""
        return UNBOUNDED if self.unknown == SIGNATURE else _arity(self.outputs)[1]

    def function_bodies(self, opset: int) -> tuple[FunctionBody, ...]:
        """Return the function bodies to use at an opset of ai.onnx, highest opset first.

        Bodies for later opsets are left out. If several bodies are for the same nodes and types, only the one with the
        highest opset is returned.
        """
        found: dict[str, FunctionBody] = {}
        for body in self.function:
            if body.opset <= opset:
                found.setdefault(repr((body.where, body.types)), body)
        return tuple(found.values())

    def allowed_types(self, parameter: Parameter) -> tuple[str, ...]:
        """Return the types that an input or output of this schema may have, such as "tensor(float)"; () if unknown."""
        return self.types.get(parameter.type, (parameter.type,) if parameter.type else ())


def unknown_words(unknown: str) -> str:
    """Return a clause that says which parts of an operator version are not known.

    `unknown` is the field `unknown` of the version's schema: TYPES or SIGNATURE.
    """
    if unknown == SIGNATURE:
        return "its signature is not in the document that declares it"
    return "types, and which parameters may be left out, are not in the document that declares it"


def versions_between(versions: Iterable[int], since: int | None, until: int | None) -> list[int]:
    """Return the members of `versions` from `since` to `until`, both included; None stands for no bound."""
    return [each for each in versions if (since is None or since <= each) and (until is None or each <= until)]


def _arity(parameters: tuple[Parameter, ...]) -> tuple[int, int]:
    """Return the smallest and the largest number of inputs, or of outputs, that a node may have.

    The largest is UNBOUNDED if there is a variadic parameter.
    """
    least = most = 0
    for position, parameter in enumerate(parameters, 1):
        if parameter.option == VARIADIC:
            least, most = position - 1 + parameter.min_arity, UNBOUNDED
        else:
            most = position
            if parameter.option == SINGLE:
                least = position
    return least, most
