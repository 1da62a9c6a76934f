"""What happens to a node that is converted, for each version of its operator and each target opset, as plain data.

`Convertibility(registry).of(operator, domain)` returns

    {"domain": "ai.onnx", "operator": "Softmax", "newest": 28,
     "transitions": [
       {"id": "13-11", "direction": "down", "from": 13, "to": 11, "opset": 12, "kind": "adapt", "how": "written",
        "text": "Transpose the axis to the end: …",
        "operators": [{"domain": "ai.onnx", "operator": "Transpose"}],
        "refusals": [{"code": "C202", "why": "version 11 does not take bfloat16 as `T`", "types": ["bfloat16"]}]}],
     "versions": [
       {"since": 13, "until": 28, "ranges": [
         {"targets": [13, 28], "kind": "keep", "text": "…", "steps": [], "codes": [], "operators": [], "lowered": [],
          "through": []},
         {"targets": [11, 12], "kind": "adapt", "text": "…", "steps": ["13-11"], "codes": ["C202", "C203", "C207"],
          "operators": [{"domain": "ai.onnx", "operator": "Transpose"}], "lowered": [], "through": []}]}]}

Versions are newest first, and so are ranges, which cover 1 to `newest`; `until` is the last opset of a version. `steps`
are the transitions that may touch nodes, by id, in the order in which nodes cross them. A transition's `opset` is that
which its result is written in, `to` is 0 where the operator does not exist on the other side (`id` is "20-lowered").

`kind`, from least to most: of a transition, what may happen to a node on it, and of a range, the most of its steps:

- `keep`: the node stays as it is;
- `check`: it stays as it is, or is refused;
- `adapt`: it is rewritten, mostly as the same operator, or is refused;
- `lower`: it becomes other operators, or is refused;
- `refuse`: every node is refused; of a range, `text` is the reason.

`how` says where a transition comes from: "derived" of the signatures, "written" as a function, of which `text` is the
documentation, "body" of the operator's function body, "" for a refusal. `text` and `why` are sentences and clauses of
inline Markdown, in which names stand in backticks; `also` has what is derived for those nodes that a written adapter
leaves as they are.

`operators` and `refusals` are what may happen, never what must: they are read in the code of adapters (reflection.py)
and in the signatures. `codes` of a range are all with which nodes may be refused on the way to one of its targets, and
`operators` all that its steps make. These are rewritten in their turn where the target lacks them or takes less:
`lowered` has those that become others, `through` the codes with which nodes may be refused for them, each `below` a
target (down), or `from` one on (up): {"code": "C207", "why": "", "below": 7, "operators": [{"domain", "operator"}]}.
Constant and Identity may be made everywhere and are not listed. What any node may be refused for is in `GENERAL`.
Operators of other domains are made for the versions that the model imports and are not followed.

Nothing here knows what an adapter does: transitions are those of the version converter (routes.py), which applies them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from opset.docgen.reflection import UNKNOWN, Reflection, reflect, summary
from opset.errors import OpsetError
from opset.model.elements import ELEMENTS, NUMBERS
from opset.opsets.registry import Registry
from opset.schemas.bodies import body_nodes
from opset.schemas.model import OPTIONAL, SINGLE, OpSchema
from opset.schemas.names import shown
from opset.schemas.signature import DATA_TYPE
from opset.version_converter.bodies import lower_by_body
from opset.version_converter.derive import ATTRIBUTE_ELEMENTS, Counterpart
from opset.version_converter.rewrite import Refusal
from opset.version_converter.routes import Step, routes_of

KEEP, CHECK, ADAPT, LOWER, REFUSE = KINDS = ("keep", "check", "adapt", "lower", "refuse")
IMPLIED = frozenset((("", "Constant"), ("", "Identity")))
"""Operators that any adapter may make."""
GENERAL = (
    {"code": "C103", "why": "the node does not fit its operator at the version that it is written in"},
    {"code": "C206", "why": "in a function, an attribute that decides takes the value of the function's attribute"},
    {"code": "C401", "why": "the conversion takes more steps or bytes than it may"},
)
"""Why any node may be refused, whatever its operator."""
_NEEDS = {
    "need_element": ("C203", "the type of {} is not known"),
    "need_rank": ("C207", "the rank of {} is not known"),
    "need_shape": ("C207", "the shape of {} is not fully known"),
    "need_constant": ("C205", "the value of {} is computed at run time, or a caller may override it"),
}
"""What methods of a node refuse."""
_STAYS = "The node stays as it is."
_CHECKED = "The node stays as it is, unless it is refused."
Key = tuple[str, str]
"""Domain and name of an operator."""
Reason = tuple[str, str]
"""Code of a refusal, and why."""
Data = dict[str, Any]


class Move(NamedTuple):
    """One transition: its data, and what follows from it for the operators that it makes."""

    data: Data
    made: frozenset[Key]
    certain: frozenset[Key]
    """Operators that every node becomes, besides the operator itself, unless it is refused."""
    codes: frozenset[str]
    stays: bool
    """Whether every node goes on as the operator."""
    then: int | None
    """The version as which nodes go on; None where they are other operators, or refused."""
    types: int
    """The first opset that has all element types of the version: below, refusals name the type."""


class Outcome(NamedTuple):
    """What happens to a node on the way to a target."""

    kind: str
    steps: tuple[str, ...] = ()
    reason: str = ""
    """Why every node is refused; "" where some may not be."""
    made: tuple[tuple[Key, int], ...] = ()
    """The operators that the steps make, each with the opset that it is written in."""
    codes: frozenset[str] = frozenset()


_KEPT = Outcome(KEEP)


class Convertibility:
    """What happens to the nodes of the operators of a registry; each transition is read once."""

    def __init__(self, registry: Registry) -> None:
        self._registry, self._routes = registry, routes_of(registry)
        self._names = frozenset(name for domain in registry.domains for name in registry.operators(domain))
        self._moves: dict[tuple[Key, int, bool], Move | None] = {}
        self._outcomes: dict[tuple[Key, int, int], Outcome] = {}
        self._created: dict[tuple[Key, int, int], Outcome] = {}
        self._targets: dict[tuple[Key, int], dict[Reason, list[int]]] = {}
        self._ends: dict[tuple[Key, int], int] = {}

    def of(self, operator: str, domain: str = "") -> Data:
        """Return the convertibility of an operator that the registry has: see the module."""
        schemas = self._registry.versions(operator, domain)
        key, newest = (schemas[0].domain, operator), self._registry.domains[schemas[0].domain]
        moves = [self._move(key, schema.since_version, up) for schema in schemas for up in (False, True)]
        return {
            "domain": shown(key[0]),
            "operator": operator,
            "newest": newest,
            "transitions": [move.data for move in moves if move is not None],
            "versions": [
                {"since": since, "until": self._end(key, since), "ranges": self._ranges(key, since, newest)}
                for since in reversed([schema.since_version for schema in schemas])
            ],
        }

    def _ranges(self, key: Key, since: int, newest: int) -> list[Data]:
        """Return what happens to nodes of one version, by ranges of targets."""
        outcomes = [(target, self._outcome(key, since, target)) for target in range(newest, 0, -1)]
        grouped = groupby(outcomes, lambda each: each[1][:3])
        return [self._range(since, [*group]) for _, group in grouped]

    def _range(self, since: int, group: list[tuple[int, Outcome]]) -> Data:
        """Return what happens to nodes of one version in a range of targets, the highest one first."""
        first, last = group[-1][0], group[0][0]
        outcome = group[0][1]
        lowered: dict[Key, int] = {}
        through: dict[tuple[str, str, Key], int] = {}
        nearest = max if last < since else min
        for name, opset in outcome.made:
            for (code, why), found in self._further(name, opset).items():
                if targets := found[bisect_left(found, first) : bisect_right(found, last)]:
                    target = targets[-1] if last < since else targets[0]
                    if code:
                        known = through.setdefault((code, why, name), target)
                        through[code, why, name] = nearest(known, target)
                    else:
                        lowered[name] = nearest(lowered.get(name, target), target)
        return {
            "targets": [first, last],
            "kind": outcome.kind,
            "text": _text(outcome),
            "steps": [*outcome.steps],
            "codes": sorted(frozenset[str]().union(*(each.codes for _, each in group))),
            "operators": _listed({name for name, _ in outcome.made}),
            "lowered": [_named(name) | _limit(lowered[name], since) for name in sorted(lowered, key=_order)],
            "through": _through(through, since),
        }

    def _further(self, key: Key, opset: int) -> dict[Reason, list[int]]:
        """Return the targets of an operator that is made at an opset: by the codes and reasons with which it may be
        refused there, and by "" those that lack it.
        """
        if (key, opset) not in self._targets:
            found: dict[Reason, list[int]] = {}
            for target in range(1, self._registry.domains[key[0]] + 1):
                inner = self._made(key, opset, target)
                for code in (*inner.codes, *([""] if inner.kind == LOWER else [])):
                    found.setdefault((code, inner.reason if code else ""), []).append(target)
            self._targets[key, opset] = found
        return self._targets[key, opset]

    def _outcome(self, key: Key, since: int, target: int) -> Outcome:
        """Return what happens to the nodes of an operator's version on the way to a target."""
        found = self._outcomes.get((key, since, target))
        if found is None:
            found = self._outcomes[key, since, target] = self._find_outcome(key, since, target)
        return found

    def _find_outcome(self, key: Key, since: int, target: int) -> Outcome:
        if since <= target <= self._end(key, since) or (move := self._move(key, since, target > since)) is None:
            return _KEPT
        data = move.data
        if data["kind"] == REFUSE:
            return Outcome(REFUSE, (data["id"],), data["text"], codes=move.codes)
        rest = _KEPT
        if move.then is not None:
            rest = self._outcome(key, move.then, target)
        codes, reason = {*move.codes, *rest.codes}, rest.reason if move.stays else ""
        for made in move.made:
            inner = self._made(made, data["opset"], target) if made[0] == key[0] else _KEPT
            codes |= inner.codes
            if inner.reason and made in move.certain:
                reason = reason or f"it is expressed by `{_name(made)}`, and {inner.reason}"
        steps = ((data["id"],) if data["kind"] != KEEP else ()) + rest.steps
        kind = max(data["kind"], rest.kind if rest.kind != REFUSE else CHECK, key=KINDS.index)
        if codes and target < move.types:
            codes.add("C202")
        written = tuple((made, data["opset"]) for made in sorted(move.made) if made[0] == key[0])
        if reason:
            return Outcome(REFUSE, steps, reason, (), frozenset(codes))
        return Outcome(kind, steps, "", written + rest.made, frozenset(codes))

    def _made(self, key: Key, opset: int, target: int) -> Outcome:
        """Return what happens to an operator that an adapter makes at an opset."""
        known = (key, opset, target)
        if known not in self._created:
            self._created[known] = self._find_made(key, opset, target)
        return self._created[known]

    def _find_made(self, key: Key, opset: int, target: int) -> Outcome:
        schema = self._registry.schema(key[1], opset, key[0])
        if schema is None or schema.deprecated:
            first = self._registry.versions(key[1], key[0])[0].since_version
            why = f"`{key[1]}` came with version {first}" if schema is None else f"`{key[1]}` is withdrawn"
            return Outcome(REFUSE, reason=why, codes=frozenset(["C201"]))
        return self._outcome(key, schema.since_version, target)

    def _end(self, key: Key, since: int) -> int:
        """Return the last opset of an operator's version."""
        if (key, since) not in self._ends:
            sinces = [each.since_version for each in self._registry.versions(key[1], key[0])]
            ends = [*(each - 1 for each in sinces[1:]), self._registry.domains[key[0]]]
            self._ends |= {(key, version): end for version, end in zip(sinces, ends, strict=True)}
        return self._ends[key, since]

    def _move(self, key: Key, since: int, up: bool) -> Move | None:
        """Return the transition of a version up or down, None where there is none."""
        known = (key, since, up)
        if known not in self._moves:
            self._moves[known] = self._find_move(key, since, up)
        return self._moves[known]

    def _find_move(self, key: Key, since: int, up: bool) -> Move | None:
        final = self._registry.domains[key[0]] if up else since - 1
        if not final:
            return None
        try:
            step = self._routes.step(*key, since, final)
        except OpsetError as error:  # the adapters or function bodies of a domain of one's own cannot be used
            step = Refusal(error.findings[0].code, error.findings[0].message)
        if step is None:
            return None
        versions = [each.since_version for each in self._registry.versions(key[1], key[0])]
        index = versions.index(since) + (1 if up else -1)
        to = versions[index] if 0 <= index < len(versions) else 0
        if isinstance(step, Step):
            to, opset = 0 if step.lowers else step.target.since_version, step.version
            if not step.impossible:
                return self._moved(key, step, _head(since, to, opset, up))
            step = Refusal("C208", step.impossible)
        else:
            opset = to if up else since - 1
        why = step.why
        if step.code == "C201":
            why = f"`{key[1]}` came with version {since}, and nothing older expresses it"
        data = _head(since, to, opset, up) | {"kind": REFUSE, "how": "", "text": why, "also": [], "operators": []}
        none: frozenset[Key] = frozenset()
        return Move(data | {"refusals": [_refusal(step.code, why)]}, none, none, frozenset([step.code]), False, None, 0)

    def _moved(self, key: Key, step: Step, head: Data) -> Move:
        """Return a transition that nodes can cross."""
        derived = _Derivation(step)
        text, also, how = " ".join(derived.does), [], "derived"
        made, certain, stays = derived.operators, frozenset[Key](), True
        refusals, rewrites = derived.refusals, bool(derived.does)
        if step.adapter is lower_by_body:
            text, how, stays = "Replaced by its function body.", "body", False
            made, certain, refusals = _body(step.source)
        elif step.adapter is not None:
            reflection = reflect(step.adapter, key[1], self._names)
            text, how, stays = summary(step.adapter), "written", reflection.stays
            also = [*derived.does] if reflection.leaves and not step.lowers else []
            found = {name: self._key(name, domain, key[0]) for name, domain in reflection.operators}
            rewrites = not reflection.checks
            certain = frozenset(found[name] for name in reflection.certain if name in found)
            made = frozenset(found.values()) | (made if also else frozenset())
            refusals = _written(reflection, step) + (refusals if reflection.leaves and not step.lowers else [])
        going = step.target.since_version if not step.lowers and not step.derived.renamed else None
        if step.derived.renamed:
            renamed = frozenset([(step.target.domain, step.target.name)])
            made, certain = made | renamed, certain | renamed if stays else certain
        refusals = _distinct(refusals)
        kind = LOWER if step.lowers else ADAPT if rewrites or also else CHECK if refusals or step.adapter else KEEP
        data = head | {
            "kind": kind,
            "how": how,
            "text": text or (_CHECKED if refusals else _STAYS),
            "also": also,
            "operators": _listed(made - IMPLIED),
            "refusals": refusals,
        }
        # What stands for the operator itself goes on as that.
        made = made - IMPLIED - ({key} if going else set())
        codes = frozenset(each["code"] for each in refusals)
        return Move(data, made, certain - IMPLIED, codes, stays, going, _first(step))

    def _key(self, name: str, stated: str | None, domain: str) -> Key:
        """Return the operator that an adapter of a domain means by a name, and perhaps a domain."""
        if stated is not None:
            return stated, name
        return (domain if self._registry.versions(name, domain) else ""), name


def _first(step: Step) -> int:
    """Return the first opset of ai.onnx that has all element types of a version."""
    taken = {_element(each) for types in step.source.types.values() for each in types} if not step.source.domain else ()
    return max((ELEMENTS[NUMBERS[name]].opset for name in taken if name in NUMBERS), default=0)


def _head(since: int, to: int, opset: int, up: bool) -> Data:
    name = f"{since}-{to}" if to else f"{since}-lowered"
    return {"id": name, "direction": "up" if up else "down", "from": since, "to": to, "opset": opset}


def _written(reflection: Reflection, step: Step) -> list[Data]:
    """Return the refusals that an adapter's code names, and those of outputs that it does not return."""
    schema = step.source
    general = {each["code"] for each in GENERAL}
    found = [_refusal(code, _quoted(why)) for code, why in reflection.refusals if code not in general]
    for method, position in reflection.needs:
        name = schema.inputs[position].name if position is not None and position < len(schema.inputs) else ""
        code, why = _NEEDS[method]
        found.append(_refusal(code, why.format(f"`{name}`" if name else "an input")))
    if schema.max_output > 1 and not reflection.stays:
        found.append(_refusal("C204", f"an output is used that has no equal at version {step.version}"))
    return found


def _body(schema: OpSchema) -> tuple[frozenset[Key], frozenset[Key], list[Data]]:
    """Return the operators that a function body is made of, those of all bodies, and why none may serve a node."""
    bodies = schema.function_bodies(schema.since_version - 1) if not schema.domain else schema.function
    used = []
    for body in bodies:
        names = {("", "Cast") if n.op_type == "CastLike" else (n.domain, n.op_type) for n in body_nodes(body.nodes)}
        used.append(names | ({("", "Cast")} if body.emulate else set()))
    refusals = []
    if all(body.where for body in bodies):
        refusals.append(_refusal("C201", "no function body serves the node's attributes and inputs"))
    if all(body.types for body in bodies):
        refusals.append(_refusal("C202", "no function body is exact for the node's types"))
    if any(body.types or body.emulate or "CastLike" in body.nodes for body in bodies):
        refusals.append(_refusal("C203", "the type of an input is not known"))
    certain = frozenset.intersection(*map(frozenset, used)) - {("", "Cast")} if used else frozenset()
    return frozenset().union(*used), certain, refusals


class _Derivation:
    """What a transition does to nodes by the signatures alone, and what it refuses."""

    def __init__(self, step: Step) -> None:
        self.does: list[str] = []
        self.refusals: list[Data] = []
        self.operators: frozenset[Key] = frozenset()
        self._source, self._derived = step.source, step.derived
        self._since = step.derived.target.since_version
        derived = self._derived
        if derived.renamed:
            self.does.append(f"Replace by `{derived.target.name}`.")
        self._attributes()
        self._values()
        self._inputs()
        self._types()

    def _refuse(self, code: str, why: str, **more: Any) -> None:
        self.refusals.append(_refusal(code, why) | more)

    def _attributes(self) -> None:
        """Describe the attributes that only one side has."""
        derived, since = self._derived, self._since
        for name in derived.drop:
            self.does.append(f"Drop `{name}`, which never had an effect.")
        for name in derived.unsupported:
            self._refuse("C204", f"`{name}` is given, and version {since} has no equal")
        for name, old in derived.must_equal.items():
            default = self._source.attributes[name].default
            types = _enumeration(sorted(derived.only_for.get(name, ())))
            self.does.append(f"Drop `{name}`.")
            if default is not None and default != old:
                why = f"`{name}` is absent, which means {_value(default)}, and version {since} means {_value(old)}"
                self._refuse("C204", why if old is not None else f"`{name}` has no equal at version {since}")
            why = f"`{name}` is given" if old is None else f"`{name}` is not {_value(old)}"
            self._refuse("C204", f"{why}{f', with {types}' if types else ''}: version {since} has no such attribute")
        for name, undefined in derived.undefined.items():
            self._refuse("C204", f"`{name}` is {_value(undefined)}, which has no meaning before version {since}")
        for here, there, value in derived.set_defaults:
            absent = "it" if here == there else f"`{here}`"
            where = f" where {absent} is absent" if here in self._source.attributes else ""
            self.does.append(f"State `{there}` as {_value(value)}{where}.")

    def _values(self) -> None:
        """Describe the attributes that are written in another way."""
        derived, since = self._derived, self._since
        for pair in derived.rewrite:
            self.does += _rewritten(pair)
            if pair.restricted or pair.here.type != pair.there.type:
                legal = _legal(pair)
                self._refuse("C204", f"`{pair.here.name}` has a value that version {since} does not have{legal}")
        for name in derived.from_front:
            self.does.append(f"Count negative values of `{name}` from the front.")
            self._refuse("C207", f"`{name}` is negative, and the rank is not known")

    def _inputs(self) -> None:
        """Describe attributes that become inputs and back, and inputs and outputs that the other side lacks."""
        derived, since, target = self._derived, self._since, self._derived.target
        for name, position in derived.to_input.items():
            formal = target.inputs[position]
            self.does.append(f"Write `{name}` as a constant for the input `{formal.name}`.")
            if formal.option == SINGLE and self._source.attributes[name].default is None:
                self._refuse("C204", f"`{name}` is absent, and its input is required at version {since}")
            kind = "float" if self._source.attributes[name].type in ("float", "floats") else "int64"
            if f"tensor({kind})" not in target.allowed(formal):
                self._refuse("C202", f"`{name}` is given, and the input `{formal.name}` does not take {kind}")
        for position, name in derived.to_attribute.items():
            declared, formal = target.attributes[name], self._source.inputs[position]
            self.does.append(f"Write the constant input `{formal.name}` as the attribute `{name}`.")
            self._refuse("C205", f"the input `{formal.name}` is computed at run time")
            if declared.required and formal.option == OPTIONAL:
                self._refuse("C204", f"the input `{formal.name}` is absent")
            held = ATTRIBUTE_ELEMENTS.get(declared.type.removesuffix("s"), ())
            others = {_element(each) for each in self._source.allowed(formal)}.difference(held)
            if others:
                names = sorted(others)
                self._refuse("C202", f"the attribute cannot hold {_enumeration(names)}", types=names)
            if not declared.type.endswith("s"):
                self._refuse("C204", f"the input `{formal.name}` is no single number")
            if declared.choices or declared.range:
                self._refuse("C204", f"`{name}` has a value that version {since} does not have")
        if derived.narrower:
            self._narrower()

    def _narrower(self) -> None:
        source, target, since = self._source, self._derived.target, self._since
        for word, here, there in (
            ("input", source.inputs, target.inputs), ("output", source.outputs, target.outputs)
        ):  # fmt: skip
            moved = self._derived.to_attribute if word == "input" else {}
            for position, formal in enumerate(here):
                if position in moved:
                    continue
                if position >= len(there):
                    self._refuse("C204", f"the {word} `{formal.name}` is used, which version {since} does not have")
                elif formal.option != SINGLE and there[position].option == SINGLE:
                    self._refuse("C204", f"the {word} `{formal.name}` is left out, which version {since} requires")
        if target.max_input < source.max_input and len(source.inputs) <= len(target.inputs):
            self._refuse("C204", f"the node has more inputs than version {since} takes")
        if target.max_output < source.max_output and len(source.outputs) <= len(target.outputs):
            self._refuse("C204", f"the node has more outputs than version {since} has")

    def _types(self) -> None:
        """Describe the element types that the other side does not take."""
        derived, source, target, since = self._derived, self._source, self._derived.target, self._since
        lost: dict[tuple[str, tuple[str, ...]], None] = {}
        tied: dict[str, list[str]] = {}
        for each in derived.type_restrictions:
            here = (source.outputs if each.outputs else source.inputs)[each.position]
            there = (target.outputs if each.outputs else target.inputs)[each.position]
            missing = tuple(sorted(set(source.allowed(here)).difference(target.allowed(there))))
            if missing:
                lost[here.type if here.type in source.types else here.name, missing] = None
            elif here.name not in tied.setdefault(there.type, []):
                tied[there.type].append(here.name)
        emulated = {f"tensor({name})" for name in derived.emulate}
        for (name, types), _ in lost.items():
            types = tuple(each for each in types if each not in emulated)
            names = [_element(each) for each in types]
            if names:
                self._refuse("C202", f"version {since} does not take {_enumeration(names)} as `{name}`", types=names)
        for names in tied.values():
            both = _enumeration([f"`{name}`" for name in names])
            self._refuse("C202", f"{both} are of different types, which version {since} does not allow")
        if derived.type_restrictions or derived.emulate:
            self._refuse("C203", "the type of an input or output is not known")
        for narrow, wide in derived.emulate.items():
            self.does.append(f"Compute {narrow} in {wide}: cast the inputs to it, and the outputs back.")
            self.operators |= {("", "Cast")}


def _rewritten(pair: Counterpart) -> list[str]:
    """Return what is done to an attribute that both sides have."""
    here, there = pair.here, pair.there
    does = [f"Write {_value(old)} as {_value(new)} in `{here.name}`." for old, new in pair.values.items()]
    if here.name != there.name:
        does.append(f"Write `{here.name}` as `{there.name}`.")
    if here.type != there.type:
        kind = "the name of the element type" if there.kind == DATA_TYPE and there.type == "string" else there.type
        kind = "the number of the element type" if there.kind == DATA_TYPE and there.type == "int" else kind
        does.append(f"Write `{there.name}` as {kind}.")
    return does


def _legal(pair: Counterpart) -> str:
    """Return in brackets what an attribute may be on the other side."""
    legal = [_value(each) for each in pair.there.choices] or ([f"`{pair.there.range}`"] if pair.there.range else [])
    return f" ({_enumeration(legal, 'or')})" if legal else ""


def _refusal(code: str, why: str) -> Data:
    return {"code": code, "why": why}


def _distinct(refusals: Iterable[Data]) -> list[Data]:
    """Return refusals by code, each once."""
    found = {(each["code"], each["why"]): each for each in refusals}
    return [found[key] for key in sorted(found, key=lambda key: key[0])]


def _quoted(why: str) -> str:
    """Return a reason with the names in it in backticks."""
    why = why.replace(f"'{UNKNOWN}'", UNKNOWN)
    return why.replace("'", "`") if why.count("'") % 2 == 0 else why


def _value(value: Any) -> str:
    """Return a value of an attribute as the documentation writes it."""
    if isinstance(value, dict):
        return f"a list of {_value(value['all'])}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, float):
        return f"{value:.7g}"
    return f"`{value}`" if isinstance(value, str) else str(value)


def _element(type_: str) -> str:
    return type_.removeprefix("tensor(").removesuffix(")") if type_.startswith("tensor(") else type_


def _enumeration(names: Sequence[str], word: str = "and") -> str:
    return f"{', '.join(names[:-1])} {word} {names[-1]}" if len(names) > 1 else "".join(names)


def _text(outcome: Outcome) -> str:
    """Return what happens to nodes in a range of targets as a sentence."""
    if outcome.kind == REFUSE:
        return f"Refused: {outcome.reason}."
    if outcome.kind in (KEEP, CHECK):
        return _STAYS if outcome.kind == KEEP else _CHECKED
    names = _enumeration([f"`{_name(key)}`" for key in sorted({made for made, _ in outcome.made}, key=_order)])
    if outcome.kind == LOWER:
        return f"Expressed by {names}." if names else "Expressed by constants."
    return f"Rewritten where needed, with {names}." if names else "Rewritten where needed."


def _through(found: dict[tuple[str, str, Key], int], since: int) -> list[Data]:
    """Return codes and reasons by which operators that were made may be refused, with the target nearest to `since`."""
    grouped: dict[tuple[str, str, int], list[Key]] = {}
    for (code, why, key), target in sorted(found.items()):
        grouped.setdefault((code, why, target), []).append(key)
    return [
        {"code": code, "why": why} | _limit(target, since) | {"operators": _listed(keys)}
        for (code, why, target), keys in grouped.items()
    ]


def _limit(target: int, since: int) -> Data:
    """Return from which target on, away from a version, something happens."""
    return {"below": target + 1} if target < since else {"from": target}


def _named(key: Key) -> Data:
    return {"domain": shown(key[0]), "operator": key[1]}


def _order(key: Key) -> tuple[str, str]:
    return key[1], key[0]


def _name(key: Key) -> str:
    return f"{key[0]}.{key[1]}" if key[0] else key[1]


def _listed(keys: Iterable[Key]) -> list[Data]:
    return [_named(key) for key in sorted(keys, key=_order)]
