"""Which transitions take an operator from one version to another, and what they can mean for its nodes.

Routes depend on operator and versions alone, so those of the standard's operators are kept across models.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from opset.errors import KEPT, SchemaError
from opset.opsets.amendments import amendments_of, is_ambiguous, schema_as_read, schema_in
from opset.opsets.hooks import TRUST, Lookup
from opset.opsets.registry import Registry, default_registry
from opset.schemas import quirks
from opset.schemas.model import Change, OpSchema
from opset.schemas.names import shown
from opset.version_converter.derive import Derived, derive
from opset.version_converter.registration import LAYER, Adapter
from opset.version_converter.rewrite import Refusal

Counted = tuple[str, str, int, int]
"""Domain, operator, since_version before and after: what nodes are counted by."""


class Step(NamedTuple):
    """One transition of one operator in one direction: what is derived, and the written adapter if there is one."""

    source: OpSchema
    target: OpSchema
    version: int
    """Opset that the result is written in."""
    derived: Derived
    adapter: Adapter | None
    impossible: str
    touches: bool
    """Whether any node can need more than to be left alone."""
    lowers: bool = False
    """Whether the adapter is a lowering: the operator does not exist on the other side."""


class Verdict(Enum):
    """What happens to all nodes of an operator."""

    KEEP = auto()
    PASS = auto()
    """There are no schemas of the domain."""
    CHECK = auto()
    """Types and attributes alone decide, so one node of a signature decides for all."""
    CONVERT = auto()
    REFUSE = auto()


class Route(NamedTuple):
    """What happens to the nodes of one operator, as which they are counted, and why they are refused."""

    verdict: Verdict
    counted: Counted
    refusal: Refusal | None = None


class Restriction(NamedTuple):
    """A version of an operator as a release has it, where nodes of that version need not fit, and why.

    `stated`: the newest release has it so, too; then types that would have to be inferred are not.
    """

    schema: OpSchema
    derived: Derived
    why: str
    stated: bool


class Routes:
    """The routes and transitions of the operators of a registry, each found once.

    With a release of onnx, they end at the versions that are in force in it, as it has them.
    """

    def __init__(self, registry: Registry, release: str = "") -> None:
        self.release = release
        self._registry, self._adapters = registry, Lookup(LAYER, registry)
        self._ends: dict[tuple[str, str, int], int] = {}
        self._restrictions: dict[tuple[str, str, int], Restriction | None] = {}
        self._steps: dict[tuple[str, str, int, int], Step | Refusal | None] = {}
        self._routes: dict[tuple[str, str, int, int], Route] = {}

    def route(self, op_type: str, domain: str, versions: Mapping[str, int], opsets: Mapping[str, int]) -> Route:
        """Return what happens to nodes of an operator that are written in `versions`, on the way to `opsets`."""
        if domain not in self._registry.domains:
            return Route(Verdict.PASS, (domain, op_type, 0, 0))
        if domain not in versions:
            why = f"the model does not import the domain '{shown(domain)}' that the node uses"
            return Route(Verdict.REFUSE, (domain, op_type, 0, 0), Refusal("C102", why))
        key = (op_type, domain, versions[domain], self._end(domain, op_type, opsets.get(domain, versions[domain])))
        if key not in self._routes:
            self._routes[key] = self._find_route(*key)
        return self._routes[key]

    def _find_route(self, op_type: str, domain: str, version: int, final: int) -> Route:
        schema = self._registry.schema(op_type, version, domain)
        if schema is None:
            known = self._registry.versions(op_type, domain)
            own = None if domain else quirks.alias(op_type, version)
            if own is not None and (final <= own.last or own.becomes_standard):
                return Route(Verdict.PASS, (own.origin, op_type, 0, 0))
            if own is not None:
                why = f"it is no operator of the standard; onnxruntime has it in that domain up to version {own.last}"
                return Route(Verdict.REFUSE, (domain, op_type, 0, 0), Refusal("C101", why))
            if not known:
                refusal = Refusal("C101", f"there is no operator {op_type} in {shown(domain)}")
            else:
                why = f"it came with version {known[0].since_version}, and the model imports {version}"
                refusal = Refusal("C102", why, "import the version that the exporter wrote")
            return Route(Verdict.REFUSE, (domain, op_type, 0, 0), refusal)
        end = self._registry.schema(op_type, final, domain)
        counted = (domain, op_type, schema.since_version, end.since_version if end is not None else 0)
        at, verdict = version, Verdict.KEEP
        while (step := self.step(domain, op_type, at, final)) is not None:
            if isinstance(step, Refusal):
                return Route(Verdict.REFUSE, counted, step)
            if step.adapter or step.impossible or step.derived.rewrites:
                return Route(Verdict.CONVERT, counted)
            if step.touches:
                verdict = Verdict.CHECK
            at = step.version
        if self.older(domain, op_type, version) is not None:
            return Route(Verdict.CONVERT, counted)
        restriction = self.restriction(domain, op_type, final)
        if verdict is Verdict.KEEP and restriction is not None:
            verdict = Verdict.CONVERT if restriction.stated else Verdict.CHECK
        return Route(verdict, counted)

    def older(self, domain: str, op_type: str, version: int) -> OpSchema | None:
        """Return the version of an operator that some release has at an opset, where a later one has a newer one."""
        schema = self._registry.schema(op_type, version, domain)
        if schema is None or not is_ambiguous(schema, version):
            return None
        return self._registry.schema(op_type, schema.since_version - 1, domain)

    def restriction(self, domain: str, op_type: str, version: int) -> Restriction | None:
        """Return what restricts an operator at an opset of the release, None where all nodes of its version fit."""
        key = (domain, op_type, version)
        if key not in self._restrictions:
            self._restrictions[key] = self._find_restriction(*key)
        return self._restrictions[key]

    def _find_restriction(self, domain: str, op_type: str, version: int) -> Restriction | None:
        schema = self._in_force(self._registry.schema(op_type, self._end(domain, op_type, version), domain))
        if schema is None:
            return None
        today = self._registry.schema(op_type, schema.since_version, domain)
        assert today is not None
        read = schema_as_read(today)
        if schema == read:
            return None
        why = "; ".join(each.text for each in amendments_of(today))
        return Restriction(schema, derive(read, schema, Change()), why, stated=schema == today)

    def _end(self, domain: str, op_type: str, final: int) -> int:
        """Return the opset up to which an operator's versions are in force at an opset of the release."""
        key = (domain, op_type, final)
        if key not in self._ends:
            schema, end = self._registry.schema(op_type, final, domain), final
            while schema is not None and self._in_force(schema) is None:
                end = schema.since_version - 1
                schema = self._registry.schema(op_type, end, domain)
            self._ends[key] = end
        return self._ends[key]

    def _in_force(self, schema: OpSchema | None) -> OpSchema | None:
        return schema_in(schema, self.release) if schema is not None and self.release else schema

    def step(self, domain: str, op_type: str, version: int, final: int) -> Step | Refusal | None:
        """Return the next transition of an operator from a version towards the final one, None if there is none."""
        key = (domain, op_type, version, self._end(domain, op_type, final))
        if key not in self._steps:
            self._steps[key] = self._find_step(*key)
        return self._steps[key]

    def _find_step(self, domain: str, op_type: str, version: int, final: int) -> Step | Refusal | None:
        source = self._registry.schema(op_type, version, domain)
        known = self._registry.versions(op_type, domain)
        if source is None:
            return Refusal("C101", f"there is no operator {op_type} at version {version}")
        position = known.index(source)
        if final > version:
            if position + 1 == len(known) or known[position + 1].since_version > final:
                return None
            newer = target = known[position + 1]
            written_in, direction = target.since_version, "up"
        elif final >= source.since_version:
            return None
        elif not final and (step := self._by_body(source, known[0], version)) is not None:
            return step
        elif position == 0:
            return self._lowering(domain, op_type, source)
        else:
            newer, target = source, known[position - 1]
            written_in, direction = source.since_version - 1, "down"
        source, target = schema_as_read(source), self._in_force(target) or target
        change = newer.change
        if change is None:
            raise RuntimeError(f"{op_type} {newer.since_version} declares no change")
        if change.renamed and direction == "up":
            target = self._registry.schema(target.replacement, written_in, domain) or target
        stated = change.up if direction == "up" else change.down
        adapter = None
        if stated == "written":
            hook = self._adapters.find(direction, domain, op_type, newer.since_version, newer.family)
            adapter = hook.function if hook is not None else None
            if adapter is None and (why := self._adapters.left_out(domain)):
                return Refusal("C105", why, TRUST)
            if adapter is None:
                stated = "impossible: no adapter is written for it"
        impossible = stated.removeprefix("impossible:").strip() if stated.startswith("impossible") else ""
        if target.deprecated and adapter is None:
            use = f"; {target.replacement} takes its place" if target.replacement else ""
            impossible = impossible or f"{op_type} is withdrawn at version {written_in}{use}"
        derived = derive(source, target, change)
        touches = bool(adapter or impossible or derived.touches)
        return Step(source, target, written_in, derived, adapter, impossible, touches)

    def _lowering(self, domain: str, op_type: str, source: OpSchema) -> Step | Refusal:
        """Return the step that expresses an operator's first version by operators that are older."""
        since = source.since_version
        hook = self._adapters.find("lower", domain, op_type, since, source.family) if since > 1 else None
        if hook is None:
            if (step := self._by_body(source, source, since - 1)) is not None:
                return step
            if since > 1 and (why := self._adapters.left_out(domain)):
                return Refusal("C105", why, TRUST)
            return Refusal("C201", f"{op_type} came with version {since}", f"convert to {since} or newer")
        return _expressed(source, since - 1, hook.function)

    def _by_body(self, source: OpSchema, first: OpSchema, version: int) -> Step | None:
        """Return the step that expresses an operator by its function body, None where it has none or a lowering.

        Raises SchemaError S233 to S236 where the body of an operator of one's own is wrong.
        """
        since = first.since_version
        if not source.function or self._adapters.find("lower", source.domain, source.name, since, source.family):
            return None
        if not source.domain and not source.function_bodies(version):
            return None
        # What reads text is imported where it is needed.
        from opset.schemas.lint.body_rules import faults
        from opset.version_converter.body_lowering import lower_by_body

        if not self._registry.is_standard(source.name, source.domain):
            versions = self._registry.versions
            if found := list(islice(faults(source, lambda domain, name: versions(name, domain)), KEPT)):
                raise SchemaError(found)
        return _expressed(source, version, lower_by_body)


def _expressed(source: OpSchema, version: int, adapter: Adapter) -> Step:
    """Return the step that expresses an operator by others, written in a version."""
    return Step(source, source, version, derive(source, source, Change()), adapter, "", touches=True, lowers=True)


def routes_of(registry: Registry, release: str = "") -> Routes:
    """Return the routes of a registry: kept where all operators are of the standard, whose adapters do not change."""
    return _standard_routes(release) if registry is default_registry() else Routes(registry, release)


@lru_cache(maxsize=8)
def _standard_routes(release: str) -> Routes:
    return Routes(default_registry(), release)
