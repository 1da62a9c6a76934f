"""Routes of operators: the transitions from one version to another, and the decision on the nodes that follows.

Routes depend on operator and versions alone, so they are kept across models for the standard's operators.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from opset.errors import KEPT, SchemaError
from opset.opsets.amendments import amendments_of, is_ambiguous, schema_as_read, schema_of_release
from opset.opsets.hooks import TRUST, Lookup
from opset.opsets.registry import Registry, default_registry
from opset.schemas import quirks
from opset.schemas.model import Change, OpSchema
from opset.schemas.names import domain_name
from opset.version_converter.derivation import DerivedAdapter, derive_adapter
from opset.version_converter.registration import LAYER, Adapter, is_in_place
from opset.version_converter.rewrite import Refusal


class VersionChange(NamedTuple):
    """An operator and its since_versions before and after a conversion, by which nodes are counted.

    `until` is 0 if the operator is lowered; both are 0 if the operator is not known.
    """

    domain: str
    op_type: str
    since: int
    until: int


class RouteStep(NamedTuple):
    """One transition of an operator in one direction: its derived adapter, and its written adapter if there is one.

    `source` and `target` are the operator's versions before and after. The derived adapter follows from the difference
    of the two schemas; a written adapter is a function.
    """

    source: OpSchema
    target: OpSchema
    version: int
    """Opset that the result is written in."""
    derived: DerivedAdapter
    adapter: Adapter | None
    impossible: str
    """The reason why no node can cross, "" if one may."""
    touches: bool
    """Whether any node can need more than to be left alone."""
    lowers: bool = False
    """Whether the adapter is a lowering: the operator does not exist on the other side."""


class Verdict(Enum):
    """What happens to all nodes of an operator in a conversion."""

    KEEP = auto()
    PASS = auto()
    """There are no schemas of the domain."""
    CHECK = auto()
    """Types and attributes alone decide, so one node of a signature decides for all."""
    CONVERT = auto()
    REFUSE = auto()


class Route(NamedTuple):
    """What happens to all nodes of an operator (`verdict`), its versions, and the refusal if the nodes are refused."""

    verdict: Verdict
    change: VersionChange
    refusal: Refusal | None = None


class Restriction(NamedTuple):
    """An operator version in the form that a release of onnx gives it, if this release rejects some of its nodes.

    `derived` checks a node against that form. `why` is the reason in words. `stated` says that the newest release of
    onnx has the same form; then only types that the model states are compared with it.
    """

    schema: OpSchema
    derived: DerivedAdapter
    why: str
    stated: bool


class Routes:
    """The transitions of all operators of a registry, and what happens to nodes between two opsets; results are cached.

    If `release` names a release of onnx, operators are taken in the form that this release gives them.
    """

    def __init__(self, registry: Registry, release: str = "") -> None:
        """Take the operators, and the release of onnx at which they are read: "1.15.0", or "" for the newest."""
        self.release = release
        self.registry = registry
        self._adapters = Lookup(LAYER, registry)
        self._ends: dict[tuple[str, str, int], int] = {}
        self._older: dict[tuple[str, str, int], OpSchema | None] = {}
        self._restrictions: dict[tuple[str, str, int], Restriction | None] = {}
        self._steps: dict[tuple[str, str, int, int], RouteStep | Refusal | None] = {}
        self._routes: dict[tuple[str, str, int, int], Route] = {}

    def route(self, op_type: str, domain: str, versions: Mapping[str, int], opsets: Mapping[str, int]) -> Route:
        """Return what happens to all nodes of an operator: whether they stay, are checked, converted or refused.

        Nodes of a domain without schemas stay, with the verdict PASS. Nodes of a domain that `versions` lacks are
        refused, with C102. Results are cached.

        Args:
            op_type: The operator.
            domain: Its domain.
            versions: The opsets in which the nodes are written, by domain.
            opsets: The opsets of the target, by domain. A domain that is missing keeps its version.

        Raises:
            SchemaError: S233 to S236, a function body in a user's domain has faults.
        """
        if domain not in self.registry.domains:
            return Route(Verdict.PASS, VersionChange(domain, op_type, 0, 0))
        if domain not in versions:
            why = f"the model does not import the domain '{domain_name(domain)}' that the node uses"
            return Route(Verdict.REFUSE, VersionChange(domain, op_type, 0, 0), Refusal("C102", why))
        key = (
            op_type,
            domain,
            versions[domain],
            self.last_in_force(domain, op_type, opsets.get(domain, versions[domain])),
        )
        if key not in self._routes:
            self._routes[key] = self._find_route(*key)
        return self._routes[key]

    def _find_route(self, op_type: str, domain: str, version: int, final: int) -> Route:
        """Return what happens to all nodes of an operator from opset `version` to opset `final`; nothing is cached.

        They may stay, be checked, be converted or be refused. Both opsets are of `domain`, which must have schemas.
        """
        schema = self.registry.schema(op_type, version, domain)
        if schema is None:
            return self._route_of_unknown(op_type, domain, version, final)
        end = self.registry.schema(op_type, final, domain)
        change = VersionChange(domain, op_type, schema.since_version, end.since_version if end is not None else 0)
        at, verdict = version, Verdict.KEEP
        while (step := self.step(domain, op_type, at, final)) is not None:
            if isinstance(step, Refusal):
                return Route(Verdict.REFUSE, change, step)
            if step.adapter or step.impossible or step.derived.rewrites:
                return Route(Verdict.CONVERT, change)
            if step.touches:
                verdict = Verdict.CHECK
            at = step.version
        if self.older_version(domain, op_type, version) is not None:
            return Route(Verdict.CONVERT, change)
        restriction = self.restriction(domain, op_type, final)
        if restriction is not None:
            verdict = Verdict.CONVERT if restriction.stated else Verdict.CHECK
        return Route(verdict, change)

    def _route_of_unknown(self, op_type: str, domain: str, version: int, final: int) -> Route:
        """Return the route of an operator that does not exist at `version`, the opset in which its nodes are written.

        The verdict is REFUSE with the refusal C102 if a later version has the operator, else REFUSE with C101.

        There is an exception for operators of onnxruntime that exporters write without a domain, such as
        LayerNormalization at opset 16. The verdict for such an operator is PASS (its nodes stay) in two cases:

        - onnxruntime accepts the operator without a domain at `final`, the target's opset;
        - the standard has the operator, with the same meaning, from a later opset on.

        In any other case, the verdict for such an operator is REFUSE with C101.
        """
        change = VersionChange(domain, op_type, 0, 0)
        sinces = self.registry.since_versions(op_type, domain)
        alias = None if domain else quirks.alias(op_type, version)
        if alias is not None and (final <= alias.last or alias.becomes_standard):
            return Route(Verdict.PASS, change._replace(domain=alias.origin))
        if alias is not None:
            why = f"it is no operator of the standard; onnxruntime has it in that domain up to version {alias.last}"
            return Route(Verdict.REFUSE, change, Refusal("C101", why))
        if not sinces:
            why = f"there is no operator {op_type} in {domain_name(domain)}"
            return Route(Verdict.REFUSE, change, Refusal("C101", why, self.registry.near_miss(op_type, domain)))
        why = f"it came with version {sinces[0]}, and the model imports {version}"
        help = "import the version for which the exporter wrote the nodes"
        return Route(Verdict.REFUSE, change, Refusal("C102", why, help))

    def schema_in_force(self, op_type: str, domain: str, opset: int) -> OpSchema | None:
        """Return the version of an operator that is in force at an opset, None if there is none.

        If these routes are for an old release of onnx, versions that this release lacks do not count. None is also
        returned for a domain without schemas.
        """
        if domain not in self.registry.domains:
            return None
        return self.registry.schema(op_type, self.last_in_force(domain, op_type, opset), domain)

    def older_version(self, domain: str, op_type: str, version: int) -> OpSchema | None:
        """Return the older version of an operator if releases of onnx differ in its version at one opset, else None.

        `version` is this opset of the domain. If, for example, early releases have version 13 of the operator at it,
        and later releases have version 16, the result is version 13. The operator must exist at this opset.
        """
        key = (domain, op_type, version)
        if key not in self._older:
            schema = self.registry.schema(op_type, version, domain)
            assert schema is not None
            before = schema.since_version - 1
            self._older[key] = self.registry.schema(op_type, before, domain) if is_ambiguous(schema, version) else None
        return self._older[key]

    def restriction(self, domain: str, op_type: str, version: int) -> Restriction | None:
        """Return how the release of onnx of these routes restricts an operator at opset `version`, None if not at all.

        A restriction rejects some nodes that the operator's version takes, such as nodes of certain types.
        """
        key = (domain, op_type, version)
        if key not in self._restrictions:
            self._restrictions[key] = self._find_restriction(*key)
        return self._restrictions[key]

    def _find_restriction(self, domain: str, op_type: str, version: int) -> Restriction | None:
        """Return how the release of onnx of these routes restricts an operator at opset `version`, None if not at all.

        A restriction rejects some nodes that the operator's version takes, such as nodes of certain types. Nothing is
        cached.
        """
        schema = self._schema_in_force(
            self.registry.schema(op_type, self.last_in_force(domain, op_type, version), domain)
        )
        if schema is None:
            return None
        today = self.registry.schema(op_type, schema.since_version, domain)
        assert today is not None
        read = schema_as_read(today)
        if schema == read:
            return None
        why = "; ".join(amendment.text for amendment in amendments_of(today))
        return Restriction(schema, derive_adapter(read, schema, Change()), why, stated=schema == today)

    def last_in_force(self, domain: str, op_type: str, final: int) -> int:
        """Return the highest opset up to `final` whose version of an operator is in the release of these routes.

        If the release lacks the newest version, such as 13, the result is the opset before that version, 12. If the
        release lacks all versions, the result is the opset before the first one. If the operator has no version at
        `final`, the result is `final`.
        """
        key = (domain, op_type, final)
        if key not in self._ends:
            schema, end = self.registry.schema(op_type, final, domain), final
            while schema is not None and self._schema_in_force(schema) is None:
                end = schema.since_version - 1
                schema = self.registry.schema(op_type, end, domain)
            self._ends[key] = end
        return self._ends[key]

    def _schema_in_force(self, schema: OpSchema | None) -> OpSchema | None:
        """Return an operator version as these routes' release of onnx defines it, None if the release lacks it.

        If these routes are for no particular release, the version is returned unchanged.
        """
        return schema_of_release(schema, self.release) if schema is not None and self.release else schema

    def step(self, domain: str, op_type: str, version: int, final: int) -> RouteStep | Refusal | None:
        """Return the next transition of an operator from opset `version` towards opset `final`, which may be older.

        With `final` 0, the transitions lead down to the operator's lowering. Returns None if there is no further
        transition. A transition that no node can cross is returned with the reason in its field `impossible`. Returns a
        Refusal instead of a transition:

        - C101 if there is no operator at `version`;
        - C105 if an adapter or lowering is missing, but may be in the user's hooks, which were not run;
        - C201 if the operator has no lowering.

        Raises SchemaError S233 to S236 if a function body in a user's domain has faults.
        """
        key = (domain, op_type, version, self.last_in_force(domain, op_type, final))
        if key not in self._steps:
            self._steps[key] = self._find_step(*key)
        return self._steps[key]

    def _version_beside(self, schema: OpSchema, offset: int) -> OpSchema | None:
        """Return the version of an operator after `schema` if `offset` is 1, before it if it is -1; None at the end."""
        sinces = self.registry.since_versions(schema.name, schema.domain)
        position = sinces.index(schema.since_version) + offset
        if not 0 <= position < len(sinces):
            return None
        return self.registry.schema(schema.name, sinces[position], schema.domain)

    def step_down(self, domain: str, op_type: str, version: int) -> RouteStep | Refusal:
        """Return the next transition of an operator from opset `version` down, at last its lowering; see `step`."""
        step = self.step(domain, op_type, version, 0)
        assert step is not None
        return step

    def _find_step(self, domain: str, op_type: str, version: int, final: int) -> RouteStep | Refusal | None:
        """Compute and return the next transition of an operator from opset `version` towards opset `final`.

        The method `step` caches the result. `final` may be older than `version`; 0 leads down to the operator's
        lowering.

        Returns None if there is no further transition. A transition that no node can cross is returned with the reason
        in its field `impossible`. Returns a Refusal instead of a transition:

        - C101 if there is no operator at `version`;
        - C105 if an adapter or lowering is missing, but may be in the user's hooks, which were not run;
        - C201 if the operator has no lowering.

        Raises SchemaError S233 to S236 if a function body in a user's domain has faults.
        """
        source = self.registry.schema(op_type, version, domain)
        if source is None:
            return Refusal("C101", f"there is no operator {op_type} at version {version}")
        if final > version:
            target = self._version_beside(source, 1)
            if target is None or target.since_version > final:
                return None
            newer, written_in, direction = target, target.since_version, "up"
        elif final >= source.since_version:
            return None
        elif not final and (step := self._find_lowering_in_place(source, version)) is not None:
            return step
        else:
            target = self._version_beside(source, -1)
            if target is None:
                return self._find_lowering(domain, op_type, source)
            newer, written_in, direction = source, source.since_version - 1, "down"
        source = schema_as_read(source)
        target = self._schema_in_force(target) or target
        change = newer.change
        if change is None:
            raise RuntimeError(f"{op_type} {newer.since_version} declares no change")
        if change.renamed and direction == "up":
            target = self.registry.schema(target.replacement, written_in, domain) or target
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
        derived = derive_adapter(source, target, change)
        touches = bool(adapter or impossible or derived.touches)
        return RouteStep(source, target, written_in, derived, adapter, impossible, touches)

    def _find_lowering(self, domain: str, op_type: str, source: OpSchema) -> RouteStep | Refusal:
        """Return the step that expresses an operator by older operators, such as Gelu by Erf, Mul and others.

        `source` is the schema of the operator's first version. The result is the refusal C201 if there is no such step.
        It is the refusal C105 if a Python file of the user that may have the step was not run, as its folder is not
        trusted. Raises SchemaError S233 to S236 if a function body in a user's domain has faults.
        """
        since = source.since_version
        hook = self._adapters.find("lower", domain, op_type, since, source.family) if since > 1 else None
        if hook is None:
            if (step := self._find_body_lowering(source, since, since - 1)) is not None:
                return step
            if why := self._adapters.left_out(domain):
                return Refusal("C105", why, TRUST)
            return Refusal("C201", f"{op_type} came with version {since}", f"convert to {since} or newer")
        return _lowering_step(source, since - 1, hook.function)

    def _find_lowering_in_place(self, source: OpSchema, version: int) -> RouteStep | None:
        """Return the step that expresses an operator by others of the same opset, `version`; None if there is none.

        If the operator's first version has a lowering written in Python, this is the step. Such a lowering must be
        marked by `in_place`, except in version 1; without the mark, the result is None. If there is no lowering in
        Python, the function body of `source` is the step. Raises SchemaError S233 to S236 if a function body in a
        user's domain has faults.
        """
        since = self.registry.since_versions(source.name, source.domain)[0]
        hook = self._adapters.find("lower", source.domain, source.name, since, source.family)
        if hook is None or (since > 1 and not is_in_place(hook.function)):
            return self._find_body_lowering(source, since, version)
        return _lowering_step(source, version, hook.function)

    def _find_body_lowering(self, source: OpSchema, first: int, version: int) -> RouteStep | None:
        """Return the step that expresses an operator by its function body, with nodes written in opset `version`.

        Returns None if `source` has no body for this opset. Also returns None if a lowering of the operator's first
        version, `first`, is written in Python, as this is preferred. Raises SchemaError S233 to S236 if a body in a
        user's domain has faults.
        """
        if not source.function or self._adapters.find("lower", source.domain, source.name, first, source.family):
            return None
        if not source.domain and not source.function_bodies(version):
            return None
        # The parser of text is imported only if it is needed.
        from opset.schemas.lint.body_rules import body_faults
        from opset.version_converter.body_lowering import lower_by_body

        if not self.registry.is_standard(source.name, source.domain):
            versions = self.registry.versions
            if findings := list(islice(body_faults(source, lambda domain, name: versions(name, domain)), KEPT)):
                raise SchemaError(findings)
        return _lowering_step(source, version, lower_by_body)


def _lowering_step(source: OpSchema, version: int, adapter: Adapter) -> RouteStep:
    """Return the step in which `adapter` expresses an operator by others, which are written in opset `version`."""
    return RouteStep(
        source, source, version, derive_adapter(source, source, Change()), adapter, "", touches=True, lowers=True
    )


def routes_of(registry: Registry, release: str = "") -> Routes:
    """Return the Routes of a registry for a release of onnx, "" for the newest; cached for the standard's registry."""
    return _standard_routes(release) if registry is default_registry() else Routes(registry, release)


@lru_cache(maxsize=64)
def _standard_routes(release: str) -> Routes:
    """Return the Routes of the standard's registry for a release of onnx; cached."""
    return Routes(default_registry(), release)


def another_target(step: RouteStep, domain: str, version: int) -> str:
    """Return the advice to convert to versions that are reached without `step`, which refuses a node.

    It is "convert to 12 or older" for a step up to 13, and "convert to 13 or newer" for a step from 13 down. `domain`
    is the domain of the node, `version` its opset before the step.
    """
    label = f"{domain} " if domain else ""
    if step.version < version:
        return f"convert to {label}{step.source.since_version} or newer"
    return f"convert to {label}{step.target.since_version - 1} or older"
