"""What changes in nodes that cross a transition, and why they are refused, as it follows from the two signatures.

The sentences are inline Markdown, in which names stand in backticks; opset/docgen/convertibility.py puts them into the
tables of pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opset.model.types import element_of
from opset.schemas.constraints.signature import DATA_TYPE
from opset.schemas.model import OPTIONAL, SINGLE
from opset.version_converter.derivation import ATTRIBUTE_ELEMENTS, Counterpart
from opset.version_converter.routes import RouteStep

Key = tuple[str, str]
"""Domain and name of an operator."""
Data = dict[str, Any]
"""An entry of a table as plain data, such as a refusal."""
_ELEMENT_TYPE = {"string": "the name of the element type", "int": "the number of the element type"}
"""How an attribute of this type names an element type."""


class DerivedChanges:
    """The changes of nodes in a transition, and the refusals, as they follow from the two versions' signatures.

    `does` has the changes as sentences, `refusals` the refusals as plain data, `operators` the operators that are
    added.
    """

    def __init__(self, step: RouteStep) -> None:
        """Collect what happens to nodes in a transition, as it follows from the signatures of the two versions.

        `does` gets the changes as sentences, `refusals` the refusals as plain data, `operators` the operators that are
        added.
        """
        self.does: list[str] = []
        self.refusals: list[Data] = []
        self.operators: frozenset[Key] = frozenset()
        self._source, self._derived = step.source, step.derived
        self._since = step.derived.target.since_version
        if step.derived.renamed:
            self.does.append(f"Replace by `{step.derived.target.name}`.")
        self._describe_attributes()
        self._describe_rewrites()
        self._describe_inputs()
        self._describe_types()

    def _refuse(self, why: str, code: str = "C204", **more: Any) -> None:
        """Append a refusal to `refusals`: its code, its reason `why`, and `more` as further entries of its data."""
        self.refusals.append(refusal_data(code, why) | more)

    def _describe_attributes(self) -> None:
        """Append to `does` what the derived adapter does about attributes, and to `refusals` which nodes it refuses.

        An entry of `does` is a sentence, such as "State `axis` as 1 where it is absent." The attributes are those that
        only one version has, and those whose default has to be stated. A value that has no meaning in the target
        version is a refusal.
        """
        derived, since = self._derived, self._since
        for name in derived.drop:
            self.does.append(f"Drop `{name}`, which never had an effect.")
        for name in derived.unsupported:
            self._refuse(f"`{name}` is given, and version {since} has no equal")
        for name, old in derived.must_equal.items():
            default = self._source.attributes[name].default
            types = enumeration(sorted(derived.only_for.get(name, ())))
            with_types = f", with {types}" if types else ""
            self.does.append(f"Drop `{name}`.")
            if default is not None and default != old:
                means = f"which means {_value_text(default)}, and version {since} means {_value_text(old)}"
                why = f"`{name}` is absent{with_types}, {means}"
                self._refuse(why if old is not None else f"`{name}` has no equal at version {since}")
            why = f"`{name}` is given" if old is None else f"`{name}` is not {_value_text(old)}"
            self._refuse(f"{why}{with_types}: version {since} has no such attribute")
        for name, undefined in derived.undefined.items():
            self._refuse(f"`{name}` is {_value_text(undefined)}, which has no meaning before version {since}")
        for here, there, value in derived.set_defaults:
            absent = "it" if here == there else f"`{here}`"
            where = f" where {absent} is absent" if here in self._source.attributes else ""
            self.does.append(f"State `{there}` as {_value_text(value)}{where}.")

    def _describe_rewrites(self) -> None:
        """Append changes and refusals for attributes whose name, type, range or values differ between the versions."""
        derived, since = self._derived, self._since
        for pair in derived.rewrite:
            self.does += _rewrites_of(pair)
            if pair.is_restricted or pair.source.type != pair.target.type:
                legal = [f"`{pair.target.range}`"] if pair.target.range else []
                legal = [_value_text(choice) for choice in pair.target.choices] or legal
                listed = f" ({enumeration(legal, 'or')})" if legal else ""
                self._refuse(f"`{pair.source.name}` has a value that version {since} does not have{listed}")
        for name in derived.from_front:
            self.does.append(f"Count negative values of `{name}` from the front.")
            self._refuse(f"`{name}` is negative, and the rank is not known", "C207")

    def _describe_inputs(self) -> None:
        """Append changes and refusals for attributes that become inputs, and for inputs that become attributes.

        Refusals for inputs and outputs that the target version lacks, or newly requires, are appended, too.
        """
        derived, since, target = self._derived, self._since, self._derived.target
        for name, position in derived.to_input.items():
            formal = target.inputs[position]
            self.does.append(f"Write `{name}` as a constant for the input `{formal.name}`.")
            declared = self._source.attributes[name]
            if formal.option == SINGLE and declared.default is None and not declared.required:
                self._refuse(f"`{name}` is absent, and its input is required at version {since}")
            kind = "float" if declared.type in ("float", "floats") else "int64"
            if f"tensor({kind})" not in target.allowed_types(formal):
                self._refuse(f"`{name}` is given, and the input `{formal.name}` does not take {kind}", "C202")
        for position, name in derived.to_attribute.items():
            declared, formal = target.attributes[name], self._source.inputs[position]
            self.does.append(f"Write the constant input `{formal.name}` as the attribute `{name}`.")
            self._refuse(f"the input `{formal.name}` is computed at run time", "C205")
            if declared.required and formal.option == OPTIONAL:
                self._refuse(f"the input `{formal.name}` is absent")
            held = ATTRIBUTE_ELEMENTS.get(declared.type.removesuffix("s"), ())
            names = sorted({element_of(each) for each in self._source.allowed_types(formal)}.difference(held))
            if names:
                self._refuse(f"the attribute cannot hold {enumeration(names)}", "C202", types=names)
            if not declared.type.endswith("s"):
                self._refuse(f"the input `{formal.name}` is no single number")
            if declared.choices or declared.range:
                self._refuse(f"`{name}` has a value that version {since} does not have")
        if derived.narrower:
            self._describe_missing()

    def _describe_missing(self) -> None:
        """Append refusals for inputs and outputs that the target version lacks or newly requires."""
        source, target, since = self._source, self._derived.target, self._since
        for word, here, there in (("input", source.inputs, target.inputs), ("output", source.outputs, target.outputs)):
            moved = self._derived.to_attribute if word == "input" else {}
            for position, formal in enumerate(here):
                if position in moved:
                    continue
                if position >= len(there):
                    self._refuse(f"the {word} `{formal.name}` is used, which version {since} does not have")
                elif there[position].option == SINGLE and (formal.option == OPTIONAL or not formal.min_arity):
                    self._refuse(f"the {word} `{formal.name}` is left out, which version {since} requires")
        if target.max_input < source.max_input and len(source.inputs) <= len(target.inputs):
            self._refuse(f"the node has more inputs than version {since} takes")
        if target.max_output < source.max_output and len(source.outputs) <= len(target.outputs):
            self._refuse(f"the node has more outputs than version {since} has")

    def _describe_types(self) -> None:
        """Append changes and refusals for types that the source version allows and the target version does not.

        A type that is computed in a wider type is a change: a sentence in `does`, and Cast in `operators`. Any other
        type is refused. Inputs or outputs of different types are refused if they must have the same type at the target
        version. Nodes with unknown types may be refused, too.
        """
        derived, source, target, since = self._derived, self._source, self._derived.target, self._since
        lost: dict[tuple[str, tuple[str, ...]], None] = {}
        tied: dict[str, list[str]] = {}
        bound: set[str] = set()
        for each in derived.type_restrictions:
            here = (source.outputs if each.outputs else source.inputs)[each.position]
            there = (target.outputs if each.outputs else target.inputs)[each.position]
            missing = tuple(sorted(set(source.allowed_types(here)).difference(target.allowed_types(there))))
            if missing:
                lost[here.type if here.type in source.types else here.name, missing] = None
            else:
                bound.add(there.type)
            if here.name not in tied.setdefault(there.type, []):
                tied[there.type].append(here.name)
        emulated = {f"tensor({name})" for name in derived.emulate}
        for name, types in lost:
            names = [element_of(type_) for type_ in types if type_ not in emulated]
            if names:
                self._refuse(f"version {since} does not take {enumeration(names)} as `{name}`", "C202", types=names)
        for names in (tied[type_] for type_ in tied if type_ in bound):
            both = enumeration([f"`{name}`" for name in names])
            self._refuse(f"{both} are of different types, which version {since} does not allow", "C202")
        if derived.type_restrictions or derived.emulate:
            self._refuse("the type of an input or output is not known", "C203")
        for narrow, wide in derived.emulate.items():
            self.does.append(f"Compute {narrow} in {wide}: cast the inputs to it, and the outputs back.")
            self.operators |= {("", "Cast")}


def _rewrites_of(pair: Counterpart) -> list[str]:
    """Return sentences on how a conversion rewrites an attribute that both versions have: its values, name and type.

    For example, ["Write `axis` as `axes`."]. The list is empty if nothing differs.
    """
    here, there = pair.source, pair.target
    does = [f"Write {_value_text(old)} as {_value_text(new)} in `{here.name}`." for old, new in pair.values.items()]
    if here.name != there.name:
        does.append(f"Write `{here.name}` as `{there.name}`.")
    if here.type != there.type:
        kind = _ELEMENT_TYPE.get(there.type, there.type) if there.kind == DATA_TYPE else there.type
        does.append(f"Write `{there.name}` as {kind}.")
    return does


def refusal_data(code: str, why: str) -> Data:
    """Return a refusal as plain data, {"code": code, "why": why}."""
    return {"code": code, "why": why}


def _value_text(value: Any) -> str:
    """Return the value of an attribute as Markdown: text in backticks, a float in at most seven digits.

    A mapping {"all": 1} stands for any list in which every element is 1: "a list of 1".
    """
    if isinstance(value, dict):
        return f"a list of {_value_text(value['all'])}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value_text, value))}]"
    if isinstance(value, float):
        return f"{value:.7g}"
    return f"`{value}`" if isinstance(value, str) else str(value)


def enumeration(names: Sequence[str], word: str = "and") -> str:
    """Return names as text: "a, b and c"; `word` stands before the last one. One name stands alone; none give ""."""
    return f"{', '.join(names[:-1])} {word} {names[-1]}" if len(names) > 1 else "".join(names)
