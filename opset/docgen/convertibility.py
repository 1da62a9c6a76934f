"""Convertibility of operators: the fate of a node, for each version of its operator and each target, as plain data.

`Convertibility(registry).table_of(operator, domain)` returns

    {"domain": "ai.onnx", "operator": "Softmax", "newest": 28, "omitted": 0,
     "transitions": [
       {"id": "13-11", "direction": "down", "from": 13, "to": 11, "opset": 12, "kind": "adapt", "how": "written",
        "proof": "sampled", "text": "Transpose the axis to the end: …",
        "operators": [{"domain": "ai.onnx", "operator": "Transpose"}],
        "refusals": [{"code": "C202", "why": "version 11 does not take bfloat16 as `T`", "types": ["bfloat16"]}]}],
     "versions": [
       {"since": 13, "until": 28, "ranges": [
         {"targets": [13, 28], "kind": "keep", "text": "…", "steps": [], "codes": [], "operators": [], "lowered": [],
          "through": []},
         {"targets": [11, 12], "kind": "adapt", "text": "…", "steps": ["13-11"], "codes": ["C202", "C203", "C207"],
          "operators": [{"domain": "ai.onnx", "operator": "Transpose"}], "lowered": [], "through": []}]}]}

Versions are newest first, and so are ranges, which cover 1 to `newest`; `until` is the last opset of a version. `steps`
are the transitions that may touch nodes, by id, in the order in which nodes cross them. A transition's `opset` is the
one in which its result is written; `to` is 0 if the operator does not exist on the other side (`id` is "20-lowered").
Of an operator with more than 64 versions, the newest 64 are there, and targets from the oldest of these on; `omitted`
is the number of others.

`proof` is how it is proved that values stay the same: the guide `proofs` has the statements.

`kind`, from least to most: of a transition, what may happen to a node on it, and of a range, the most of its steps:

- `keep`: the node stays as it is;
- `check`: it stays as it is, or is refused;
- `adapt`: it is rewritten, mostly as the same operator, or is refused;
- `lower`: it becomes other operators, or is refused;
- `refuse`: every node is refused; of a range, `text` is the reason.

`how` is the origin of a transition: "derived" from the signatures, "written" as a function, of which `text` is the
documentation, "body" of the operator's function body, "" for a refusal. `text` and `why` are sentences and clauses of
inline Markdown, in which names stand in backticks; `also` has the derived changes of nodes that a written adapter
leaves as they are.

`operators` and `refusals` happen to some nodes: to those of examples, as conversions.json records them (outcomes.py),
as adapters state beside themselves (`refuses`), and as the signatures say. Of an adapter without a record, `text` says
that nothing is known. `codes` of a range are all with which nodes may be refused on the way to one of its targets, and
`operators` all that its steps make. These are rewritten in their turn if the target lacks them or takes less:
`lowered` has those that become others, `through` the codes with which nodes may be refused for them, each `below` a
target (down), or `from` one on (up): {"code": "C207", "why": "", "below": 7, "operators": [{"domain", "operator"}]}.
Constant and Identity may be made everywhere and are not listed. Reasons to refuse any node are in `GENERAL`.
Operators of other domains are made for the versions that the model imports and are not followed.

The transitions are found by the version converter (routes.py), which applies them.
"""

from __future__ import annotations

import inspect
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from opset.docgen.derived_changes import Data, DerivedChanges, Key, enumeration, refusal_data
from opset.docgen.outcomes import RecordedOutcome, tables_of, transition_id
from opset.docgen.proofs import lowering_key, proof_kind, transition_key
from opset.errors import OpsetError
from opset.model.elements import ELEMENTS, NUMBERS
from opset.model.types import element_of
from opset.opsets.registry import Registry
from opset.schemas.function_bodies import body_nodes
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name, normalize_domain
from opset.version_converter.body_lowering import lower_by_body
from opset.version_converter.registration import stated_reasons
from opset.version_converter.rewrite import Refusal
from opset.version_converter.routes import RouteStep, routes_of

KEEP, CHECK, ADAPT, LOWER, REFUSE = KINDS = ("keep", "check", "adapt", "lower", "refuse")
IMPLIED = frozenset((("", "Constant"), ("", "Identity")))
"""Operators that any adapter may make."""
GENERAL = (
    {"code": "C103", "why": "the node does not fit its operator at the version that it is written in"},
    {"code": "C206", "why": "in a function, an attribute that decides takes the value of the function's attribute"},
    {"code": "C401", "why": "the conversion takes more steps or bytes than it may"},
)
"""Why any node may be refused, whatever its operator."""
_STAYS = "The node stays as it is."
_CHECKED = "The node stays as it is, unless it is refused."
UNRECORDED = RecordedOutcome((), (), True, ())
NOT_RECORDED = " Nothing records which operators it makes, and why it refuses nodes: `opset test --record` does."
Reason = tuple[str, str]
"""Code of a refusal, and why."""
Span = tuple[int, int]
"""First and last opset of a range."""
MOST_VERSIONS, MOST_TARGETS = 64, 256
"""Versions of an operator that a table has, and ranges of targets in which all operators of a domain are followed."""


class ConversionRow(NamedTuple):
    """A transition of an operator between versions: its plain data, and facts about the nodes that come out of it."""

    data: Data
    made: frozenset[Key]
    certain: frozenset[Key]
    """Operators that every node becomes, besides the operator itself, unless it is refused."""
    codes: frozenset[str]
    stays: bool
    """Whether every node goes on as the operator."""
    then: int | None
    """The version as which nodes go on; None if they become other operators, or are refused."""
    types: int
    """The first opset that has all element types of the version: below, refusals name the type."""
    inner: tuple[tuple[Key, int], ...] = ()
    """The operators that it makes in the same domain, with their versions, 0 if these cannot be made."""


class Lowering(NamedTuple):
    """The operators that a lowering makes: `certain` are made for every node, `made` for at least some nodes."""

    certain: frozenset[Key]
    made: frozenset[Key]


class Fate(NamedTuple):
    """The most that may happen to nodes that are converted to a target, and the codes of errors that may refuse them.

    `kind` is one of KINDS: "keep", "check", "adapt", "lower", "refuse".
    """

    kind: str
    codes: frozenset[str] = frozenset()
    reason: str = ""
    """The reason why every node is refused; "" if some may not be."""


Query = tuple[Key, int, int]
"""An operator, its version, and a target."""
_KEPT = Fate(KEEP)


class Convertibility:
    """What conversion does to nodes of each operator of a registry, for each version and each target opset.

    Each transition is read once. Results are cached.
    """

    def __init__(self, registry: Registry) -> None:
        """Take the registry of the operators; the table of an operator is computed when it is asked for."""
        self._registry, self._routes = registry, routes_of(registry)
        self._outcomes = tables_of(registry)
        self._transitions: dict[tuple[Key, int, bool], ConversionRow | None] = {}
        self._lowerings: dict[tuple[Key, int], Lowering | None] = {}
        self._fates: dict[Query, Fate] = {}
        self._further: dict[tuple[Key, int, int], dict[Reason, list[Span]]] = {}
        self._spans: dict[str, list[Span]] = {}

    def table_of(self, operator: str, domain: str = "") -> Data:
        """Return a table, as plain data, of what happens to nodes of each version of an operator at each target opset.

        The table has the keys "domain", "operator", "newest", "omitted", "transitions" and "versions". "newest" is the
        newest opset of the domain, "omitted" the number of old versions that are left out (see MOST_VERSIONS). The
        docstring of the module shows an example. An operator that the domain lacks has no transitions and no versions;
        an unknown domain raises KeyError.
        """
        key = (normalize_domain(domain), operator)
        sinces = self._registry.since_versions(key[1], key[0])
        listed = sinces[-MOST_VERSIONS:]
        transitions = [self._transition_of(key, since, up) for since in listed for up in (False, True)]
        spans = self._spans_of(key, listed[0] if len(listed) < len(sinces) else 1)
        return {
            "domain": domain_name(key[0]),
            "operator": operator,
            "newest": self._registry.domains[key[0]],
            "omitted": len(sinces) - len(listed),
            "transitions": [transition.data for transition in transitions if transition is not None],
            "versions": [
                {"since": since, "until": self._last_opset(key, since), "ranges": self._ranges_of(key, since, spans)}
                for since in reversed(listed)
            ],
        }

    def lowering_of(self, operator: str, domain: str, version: int) -> Lowering | None:
        """Return the operators that replace an operator at a target that lacks it; None if nothing replaces it.

        The result has two sets. The operators in `certain` are made for every node, the operators in `made` for at
        least some nodes.

        Args:
            operator: The operator.
            domain: Its domain.
            version: The target version of the domain. For a version that has the operator, the target is a runtime that
                takes this version, but does not run the operator.

        Raises:
            SchemaError: S233 to S236, a function body in a user's domain has faults.
        """
        query = ((normalize_domain(domain), operator), version)
        if query not in self._lowerings:
            self._lowerings[query] = self._find_lowering(*query)
        return self._lowerings[query]

    def _find_lowering(self, key: Key, version: int) -> Lowering | None:
        """Return the operators that replace an operator at a target that lacks it; not cached.

        The result is None if nothing replaces the operator, or if the operator does not exist. `key` is
        (domain, operator), and `version` is the target version of the domain. For a version that has the operator, the
        target is a runtime that takes this version, but does not run the operator.
        """
        sinces = self._registry.since_versions(key[1], key[0])
        if not sinces:
            return None
        final = version if sinces[0] > version else 0
        at = sinces[-1] if final else version
        while isinstance(step := self._routes.step(*key, at, final), RouteStep) and not step.impossible:
            if not step.lowers:
                at = step.version
                continue
            if step.adapter is lower_by_body:
                opset = step.version if not key[0] else step.source.since_version
                made, certain, _ = _operators_of_bodies(step.source, opset)
                return Lowering(certain - IMPLIED, made - IMPLIED)
            outcome = self._outcomes.get(key[0], {}).get(key[1], {}).get(transition_id(step), UNRECORDED)
            certain = frozenset(map(_key_named, outcome.always))
            made = certain.union(map(_key_named, outcome.sometimes))
            return Lowering(certain - IMPLIED, made - IMPLIED)
        return None

    def _ranges_of(self, key: Key, since: int, spans: list[Span]) -> list[Data]:
        """Return ranges of target opsets as plain data, highest first, for nodes of version `since` of an operator.

        A conversion does the same to the nodes for all targets of a range. `key` is (domain, operator). `spans` are the
        smallest ranges, (first, last), lowest first; neighbors with equal results are joined.
        """
        above, below = self._transitions_from(key, since, True), self._transitions_from(key, since, False)
        rows: list[tuple[tuple[Any, ...], list[Span], list[ConversionRow]]] = []
        for span in reversed(spans):
            if span[0] > since:
                crossed = [transition for at, transition in above if span[0] > self._last_opset(key, at)]
            else:
                crossed = [transition for at, transition in below if span[0] < at]
            transitions = [transition for transition in crossed if transition.data["kind"] != KEEP]
            fate = self._fate_of((key, since, span[0]))
            head = (fate.kind, fate.reason, [transition.data["id"] for transition in transitions])
            if not rows or rows[-1][0] != head:
                rows.append((head, [], transitions))
            rows[-1][1].append(span)
        return [self._range_data(key, since, reached, transitions) for _, reached, transitions in rows]

    def _transitions_from(self, key: Key, since: int, up: bool) -> list[tuple[int, ConversionRow]]:
        """Return the transitions that nodes of version `since` cross, in order, as (version before, transition).

        They go to newer versions if `up`, else to older ones. The last one reaches the newest or oldest version,
        refuses all nodes, or replaces them by other operators. `key` is (domain, operator).
        """
        crossed = []
        at: int | None = since
        while at is not None and (transition := self._transition_of(key, at, up)) is not None:
            crossed.append((at, transition))
            at = transition.then
        return crossed

    def _range_data(self, key: Key, since: int, spans: list[Span], transitions: list[ConversionRow]) -> Data:
        """Return a range of target opsets as plain data, for nodes of version `since` of an operator.

        Args:
            key: (domain, operator).
            since: The version of the nodes.
            spans: The parts of the range, (first, last), highest first.
            transitions: The transitions on the way that may change or refuse nodes.
        """
        first, last = spans[-1][0], spans[0][1]
        fates = [self._fate_of((key, since, start)) for start, _ in spans]
        made = set()
        if not fates[0].reason:
            made = {(*each, transition.data["opset"]) for transition in transitions for each in transition.inner}
        limits: dict[tuple[str, str, Key], int] = {}
        down = last < since
        for name, version, opset in made:
            for (code, why), found in self._spans_by_reason(name, version, opset).items():
                reached = [span for span in found if first <= span[0] <= last]
                if not reached:
                    continue
                limit = reached[-1][1] + 1 if down else reached[0][0]
                known = limits.get((code, why, name), limit)
                limits[code, why, name] = max(known, limit) if down else min(known, limit)
        lowered = {name: limit for (code, _, name), limit in limits.items() if not code}
        through = {key: limit for key, limit in limits.items() if key[0]}
        word = "below" if down else "from"
        return {
            "targets": [first, last],
            "kind": fates[0].kind,
            "text": _range_text(fates[0], transitions),
            "steps": [transition.data["id"] for transition in transitions],
            "codes": sorted(frozenset[str]().union(*(each.codes for each in fates))),
            "operators": _operators_data({name for transition in transitions for name in transition.made}),
            "lowered": [_operator_data(name) | {word: lowered[name]} for name in sorted(lowered, key=_sort_key)],
            "through": _further_refusals_data(through, word),
        }

    def _spans_by_reason(self, key: Key, since: int, opset: int) -> dict[Reason, list[Span]]:
        """Return why a node that an adapter made may be refused: (code, why), with the target opsets for each. Cached.

        The target opsets are ranges (first, last), lowest first. The key ("", "") stands for no refusal: it has the
        target opsets at which operators of other names may replace the node.

        Args:
            key: The (domain, operator) of the new node.
            since: The version of the operator, 0 if it does not exist at `opset`.
            opset: The opset in which the adapter writes the node.
        """
        query = (key, since, 0 if since else opset)
        if query not in self._further:
            spans_by_reason: dict[Reason, list[Span]] = {}
            for span in self._spans_of(key, 1):
                inner = self._fate_of((key, since, span[0])) if since else self._fate_without_operator(key, opset)
                for code in (*inner.codes, *([""] if inner.kind == LOWER else [])):
                    spans_by_reason.setdefault((code, inner.reason if code else ""), []).append(span)
            self._further[query] = spans_by_reason
        return self._further[query]

    def _fate_of(self, query: Query) -> Fate:
        """Return what may happen to the nodes of an operator version on the way to a target opset. Cached.

        `query` is ((domain, operator), version, target opset). The result is a Fate, which has a kind, such as "adapt",
        and the codes of errors that may refuse the nodes.
        """
        pending = [] if query in self._fates else [query]
        while pending:
            if missing := [each for each in self._prerequisites(pending[-1]) if each not in self._fates]:
                pending += missing
            else:
                each = pending.pop()
                self._fates[each] = self._find_fate(each)
        return self._fates[query]

    def _prerequisites(self, query: Query) -> list[Query]:
        """Return the queries that have to be answered before `query` can be.

        A query is ((domain, operator), version, target opset). It asks what may happen to the nodes of an operator
        version on the way to the target opset. The first step of this way, to the next version up or down, decides:

        - there is a query about each other operator that the step makes, if it can be made;
        - there is a query about the operator itself at the next version, if nodes go on as this operator.

        The list is empty if no step is needed or known.
        """
        key, _, target = query
        transition = self._first_transition(query)
        if transition is None:
            return []
        made = [(name, since, target) for name, since in transition.inner if since]
        return made if transition.then is None else [*made, (key, transition.then, target)]

    def _first_transition(self, query: Query) -> ConversionRow | None:
        """Return the first transition on the way to a query's target, None if no transition is needed or known.

        A query is ((domain, operator), version, target opset). No transition is needed if the version is in force at
        the target.
        """
        key, since, target = query
        stays = since <= target <= self._last_opset(key, since)
        return None if stays else self._transition_of(key, since, target > since)

    def _find_fate(self, query: Query) -> Fate:
        """Return what may happen to the nodes of an operator version on the way to a target opset; not cached.

        `query` is ((domain, operator), version, target opset). `_fates` must have the answers to the queries of
        `_prerequisites`; else KeyError is raised.
        """
        key, _, target = query
        transition = self._first_transition(query)
        if transition is None:
            return _KEPT
        kind: str = transition.data["kind"]
        if kind == REFUSE:
            return Fate(REFUSE, transition.codes, transition.data["text"])
        rest = self._fates[key, transition.then, target] if transition.then is not None else _KEPT
        if kind == KEEP:
            return rest
        code_sets = [transition.codes, rest.codes]
        reason = rest.reason if transition.stays else ""
        for made, since in transition.inner:
            inner = (
                self._fates[made, since, target]
                if since
                else self._fate_without_operator(made, transition.data["opset"])
            )
            if inner is not _KEPT:
                code_sets.append(inner.codes)
                if inner.reason and made in transition.certain:
                    reason = reason or f"it is expressed by `{_full_name(made)}`, and {inner.reason}"
        codes = frozenset[str]().union(*code_sets)
        if codes and target < transition.types:
            codes |= {"C202"}
        if reason:
            return Fate(REFUSE, codes, reason)
        return Fate(max(kind, CHECK if rest.reason else rest.kind, key=KINDS.index), codes)

    def _fate_without_operator(self, key: Key, opset: int) -> Fate:
        """Return the refusal (C201) of nodes of an operator that does not exist at `opset`.

        The reason says that the operator came with a later version, is withdrawn, or does not exist in the registry.
        `key` is (domain, operator).
        """
        sinces = self._registry.since_versions(key[1], key[0])
        why = f"`{key[1]}` is withdrawn" if sinces and sinces[0] <= opset else f"there is no `{key[1]}`"
        if sinces and opset < sinces[0]:
            why = f"`{key[1]}` came with version {sinces[0]}"
        return Fate(REFUSE, frozenset(["C201"]), why)

    def _last_opset(self, key: Key, since: int) -> int:
        """Return the last opset at which version `since` of an operator is in force.

        This is the opset before the operator's next version, or the newest one of the domain. `key` is (domain,
        operator).
        """
        sinces = self._registry.since_versions(key[1], key[0])
        index = bisect_right(sinces, since)
        return sinces[index] - 1 if index < len(sinces) else self._registry.domains[key[0]]

    def _spans_of(self, key: Key, first: int) -> list[Span]:
        """Return ranges (first, last) of opsets within which no operator of the domain changes, lowest first.

        `key` is (domain, operator). If the domain has more than MOST_TARGETS such ranges, the result has the ranges
        within which this one operator does not change. Ranges that begin before the opset `first` are left out.
        """
        domain = key[0]
        if domain not in self._spans:
            registry = self._registry
            changes = {1}.union(*(registry.since_versions(name, domain) for name in registry.operators(domain)))
            self._spans[domain] = _spans_between(changes, self._registry.domains[domain])
        spans = self._spans[domain]
        if len(spans) > MOST_TARGETS:
            spans = _spans_between({1, *self._registry.since_versions(key[1], key[0])}, self._registry.domains[domain])
        return [span for span in spans if span[0] >= first]

    def _transition_of(self, key: Key, since: int, up: bool) -> ConversionRow | None:
        """Return the transition of an operator from version `since` to the neighboring version. Cached.

        The neighbor is the next newer version if `up` is True, else the next older one. The newest version has no
        transition up, and version 1 has none down: the result is None. An operator that begins above version 1, such as
        Gelu at 20, has a transition down from there: the replacement by other operators, or a refusal. `key` is
        (domain, operator).
        """
        query = (key, since, up)
        if query not in self._transitions:
            self._transitions[query] = self._find_transition(key, since, up)
        return self._transitions[query]

    def _find_transition(self, key: Key, since: int, up: bool) -> ConversionRow | None:
        """Return the transition from version `since` to the next newer version if `up`, else to the next older one.

        The result is None up from the newest version, and down from version 1. Down from a first version above 1, such
        as 20, the transition is the replacement by other operators, or a refusal. If the domain's adapters or function
        bodies have an error, the transition is a refusal with the code of the error.
        """
        final = self._registry.domains[key[0]] if up else since - 1
        if not final:
            return None
        try:
            step = self._routes.step(*key, since, final)
        except OpsetError as error:  # the adapters or function bodies of a domain of one's own cannot be used
            step = Refusal(error.findings[0].code, error.findings[0].message)
        if step is None:
            return None
        versions = self._registry.since_versions(key[1], key[0])
        index = bisect_left(versions, since) + (1 if up else -1)
        to = versions[index] if 0 <= index < len(versions) else 0
        opset = to if up else since - 1
        if isinstance(step, RouteStep):
            to = 0 if step.lowers else step.target.since_version
            opset = step.version
        name = f"{since}-{to}" if to else f"{since}-lowered"
        head: Data = {"id": name, "direction": "up" if up else "down", "from": since, "to": to, "opset": opset}
        if isinstance(step, RouteStep):
            if not step.impossible:
                return self._describe_transition(key, step, head)
            step = Refusal("C208", step.impossible)
        why = step.why
        if step.code == "C201":
            why = f"`{key[1]}` came with version {since}, and nothing older expresses it"
        data = head | {"kind": REFUSE, "how": "", "proof": "", "text": why, "also": [], "operators": []}
        data["refusals"] = [refusal_data(step.code, why)]
        return ConversionRow(data, frozenset(), frozenset(), frozenset([step.code]), False, None, 0)

    def _describe_transition(self, key: Key, step: RouteStep, head: Data) -> ConversionRow:
        """Return the row of a transition that at least some nodes can cross.

        Args:
            key: (domain, operator).
            step: The transition.
            head: Entries of the row's data that are known: "id", "direction", "from", "to" and "opset".
        """
        derived = DerivedChanges(step)
        text = " ".join(derived.does)
        how = "derived"
        also: list[str] = []
        made = derived.operators
        certain = frozenset[Key]()
        refusals = derived.refusals
        rewrites = bool(derived.does)
        stays = True
        if step.adapter is lower_by_body:
            text, how, stays = "Replaced by its function body.", "body", False
            made, certain, refusals = _operators_of_bodies(step.source, step.source.since_version - 1)
        elif step.adapter is not None:
            how = "written"
            text = summary_of(step.adapter) or f"By a function without documentation, of {key[1]}."
            outcome = self._outcomes.get(key[0], {}).get(key[1], {}).get(transition_id(step), UNRECORDED)
            text += NOT_RECORDED if outcome is UNRECORDED else ""
            always = {*map(_key_named, outcome.always)}
            results = always | {*map(_key_named, outcome.sometimes)}
            rewrites = bool(results) or not outcome.stays or outcome is UNRECORDED
            stays = key in always or not results
            also = [*derived.does] if outcome.stays and not step.lowers else []
            certain = frozenset(always) if not outcome.stays else frozenset()
            made = frozenset(results - ({key} if not step.lowers else set())) | (made if also else frozenset())
            # What an adapter makes of the operator itself has to be of types that the other side takes, too.
            kept = [refusal for refusal in refusals if outcome.stays or refusal["code"] == "C202"]
            refused = (*outcome.refused, *stated_reasons(step.adapter))
            refusals = [refusal_data(*each) for each in refused] + ([] if step.lowers else kept)
        next_version = step.target.since_version if not step.lowers and not step.derived.renamed else None
        if step.derived.renamed:
            renamed = frozenset([(step.target.domain, step.target.name)])
            made, certain = made | renamed, certain | renamed if stays else certain
        by_reason = {(refusal["code"], refusal["why"]): refusal for refusal in refusals}
        refusals = [by_reason[reason] for reason in sorted(by_reason, key=lambda reason: reason[0])]
        if step.lowers:
            kind = LOWER
        elif rewrites or also:
            kind = ADAPT
        else:
            kind = CHECK if refusals or step.adapter else KEEP
        data = head | {
            "kind": kind,
            "how": how,
            "proof": _proof_of(key, step),
            "text": text or (_CHECKED if refusals else _STAYS),
            "also": also,
            "operators": _operators_data(made - IMPLIED),
            "refusals": refusals,
        }
        # What stands for the operator itself goes on as that.
        made = made - IMPLIED - ({key} if next_version else set())
        codes = frozenset(refusal["code"] for refusal in refusals)
        own = sorted([name for name in made if name[0] == key[0]], key=_sort_key)
        schemas = {name: self._registry.schema(name[1], step.version, key[0]) for name in own}
        inner = tuple(
            (name, 0 if schema is None or schema.deprecated else schema.since_version)
            for name, schema in schemas.items()
        )
        return ConversionRow(
            data, made, certain - IMPLIED, codes, stays, next_version, _first_opset_of_types(step), inner
        )


def _proof_of(key: Key, step: RouteStep) -> str:
    """Return how it was proved that a transition keeps values ("sampled", "symbolic"), "" if it was not.

    `key` is (domain, operator).
    """
    since = step.source.since_version
    if step.lowers:
        return proof_kind(lowering_key(*key, since))
    return proof_kind(transition_key(*key, since, step.target.since_version))


def _first_opset_of_types(step: RouteStep) -> int:
    """Return the first opset of ai.onnx that has all element types of a transition's source version.

    The result is 0 in other domains, and if the version takes no tensors.
    """
    if step.source.domain:
        return 0
    taken = {element_of(type_) for types in step.source.types.values() for type_ in types}
    return max((ELEMENTS[NUMBERS[name]].opset for name in taken if name in NUMBERS), default=0)


def _operators_of_bodies(schema: OpSchema, opset: int) -> tuple[frozenset[Key], frozenset[Key], list[Data]]:
    """Return (operators in any body, operators in all bodies, refusals) for the function bodies of an operator.

    `opset` is the opset of the bodies. Operators are (domain, name). Cast stands for CastLike, and for the casts to a
    wider type that a body may declare. Cast is left out of the operators in all bodies, since some nodes need none.
    The refusals, as plain data, say why a node may fit none of the bodies.
    """
    bodies = schema.function_bodies(opset) if not schema.domain else schema.function
    used = []
    for body in bodies:
        names = {(normalize_domain(node.domain), node.op_type) for node in body_nodes(body.nodes)}
        casts = {("", "Cast")} if body.emulate or ("", "CastLike") in names else set()
        used.append(names - {("", "CastLike")} | casts)
    refusals = []
    if all(body.where for body in bodies):
        refusals.append(refusal_data("C201", "no function body serves the node's attributes and inputs"))
    if all(body.types for body in bodies):
        refusals.append(refusal_data("C202", "no function body is exact for the node's types"))
    if any(body.types or body.emulate or "CastLike" in body.nodes for body in bodies):
        refusals.append(refusal_data("C203", "the type of an input is not known"))
    certain = frozenset.intersection(*map(frozenset, used)) - {("", "Cast")} if used else frozenset()
    return frozenset().union(*used), certain, refusals


def _key_named(name: str) -> Key:
    """Return (domain, operator) for a name in conversions.json: ("", "Cast") for "Cast".

    The domain stands before the operator in all other names: "ai.onnx.ml.Scaler".
    """
    domain, _, operator = name.rpartition(".")
    return domain, operator


def summary_of(adapter: Callable[..., Any]) -> str:
    """Return the first paragraph of an adapter's docstring as one line, "" if it has none.

    The adapter may be a `functools.partial`: then the docstring of its function is read.
    """
    if isinstance(adapter, partial):
        adapter = adapter.func
    return " ".join((inspect.getdoc(adapter) or "").split("\n\n")[0].split())


def _spans_between(changes: Iterable[int], newest: int) -> list[Span]:
    """Return the ranges (first, last) of opsets up to `newest`, lowest first, that begin at `changes`.

    Each range ends before the next one begins. For example, {1, 7} and 9 give [(1, 6), (7, 9)].
    """
    starts = sorted(each for each in changes if each <= newest)
    return [*zip(starts, [*(each - 1 for each in starts[1:]), newest], strict=True)]


def _range_text(fate: Fate, transitions: Sequence[ConversionRow]) -> str:
    """Return a sentence on what happens to nodes for a range of targets, such as "Expressed by `Mul`.".

    `transitions` are the transitions that may change or refuse nodes on the way to these targets.
    """
    if fate.kind == REFUSE:
        return f"Refused: {fate.reason}."
    if fate.kind in (KEEP, CHECK):
        return _STAYS if fate.kind == KEEP else _CHECKED
    made = {key for transition in transitions for key in transition.made}
    names = enumeration([f"`{_full_name(key)}`" for key in sorted(made, key=_sort_key)])
    if fate.kind == LOWER and transitions[-1].data["text"].endswith(NOT_RECORDED):
        return "Expressed by older operators."
    if fate.kind == LOWER:
        return f"Expressed by {names}." if names else "Expressed by constants."
    return f"Rewritten where needed, with {names}." if names else "Rewritten where needed."


def _further_refusals_data(limits: dict[tuple[str, str, Key], int], word: str) -> list[Data]:
    """Return the reasons why nodes that adapters made may be refused, as plain data.

    An entry is {"code": "C202", "why": REASON, "below": 13, "operators": [...]}. Operators with the same code, reason
    and opset share an entry.

    Args:
        limits: An opset for each (code, reason, operator).
        word: The key of the opset in an entry: "below" if nodes may be refused at targets below the opset, "from" if at
            the opset and above.
    """
    grouped: dict[tuple[str, str, int], list[Key]] = {}
    for (code, why, key), limit in sorted(limits.items()):
        grouped.setdefault((code, why, limit), []).append(key)
    return [
        {"code": code, "why": why, word: limit, "operators": _operators_data(keys)}
        for (code, why, limit), keys in grouped.items()
    ]


@lru_cache(maxsize=4096)
def _operator_data(key: Key) -> Data:
    """Return {"domain": ..., "operator": ...} for an operator, (domain, name). Cached: do not change the result."""
    return {"domain": domain_name(key[0]), "operator": key[1]}


def _sort_key(key: Key) -> tuple[str, str]:
    """Return (name, domain), by which operators are sorted by name first; `key` is (domain, name)."""
    return key[1], key[0]


def _full_name(key: Key) -> str:
    """Return the full name of an operator, (domain, name): "Cast" in ai.onnx, else "ai.onnx.ml.Scaler"."""
    return f"{key[0]}.{key[1]}" if key[0] else key[1]


def _operators_data(keys: Iterable[Key]) -> list[Data]:
    """Return operators, (domain, name), as [{"domain": ..., "operator": ...}], sorted by name, then domain."""
    return [_operator_data(key) for key in sorted(keys, key=_sort_key)]
