"""Resolution of the kernel of an operator, by its domain, name and the version that a body imports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from opset.errors import Finding, RunError, safe_text
from opset.inference.engine.operators import find_schema
from opset.opsets.hooks import TRUST, Lookup
from opset.opsets.registry import Registry
from opset.reference import registration
from opset.schemas import quirks
from opset.schemas.constraints.input_shapes import Plan, plan_of
from opset.schemas.constraints.signature import advise_signature, attribute_misfits
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name, normalize_domain

_UNUSED = frozenset(("consumed_inputs",))
"""Attributes of the first versions that named buffers to reuse, and never had a meaning."""


@dataclass(frozen=True, slots=True)
class ResolvedKernel:
    """The schema, kernel, defaults of attributes and legal input types that nodes of an operator share at one version.

    `legal_attributes` holds the names and types of attributes that were found legal. `plan` says which of the declared
    constraints are to be checked. Without a kernel, the function bodies of the schema compute the operator.
    """

    schema: OpSchema | None
    kernel: registration.Kernel | None
    defaults: dict[str, Any]
    plan: Plan | None = None
    fallback: ResolvedKernel | None = None
    quirk: quirks.Quirk | None = None
    """What computes nodes that break the constraints of the schema in a form that runtimes accept, and that form."""
    legal_types: set[Any] = field(default_factory=set)
    legal_attributes: set[frozenset[tuple[str, str]]] = field(default_factory=set)
    _legal_inputs: dict[Any, set[Any]] = field(default_factory=dict)

    def legal_inputs(self, attributes: Mapping[str, Any]) -> set[Any]:
        """Return the inputs that were found legal beside these attributes, a set that equal nodes share."""
        if self.plan is None:
            return set()
        key = tuple([attributes.get(name) for name in self.plan.attributes])
        try:
            return self._legal_inputs.setdefault(key, set())
        except TypeError:  # a malformed attribute that has no hash
            return set()

    def stated_attributes(self, types: Mapping[str, str], location: Callable[[], str]) -> list[str]:
        """Return the names of a node's attributes that have a value, by the types of all.

        Raises RunError R202 with all attributes that the operator does not have or has with another type, and required
        attributes that are missing.
        """
        stated = {name: type_ for name, type_ in types.items() if type_ != "undefined" and name not in _UNUSED}
        if self.kernel is None or not self.kernel.any_attributes:
            stated = {name: type_ for name, type_ in stated.items() if not quirks.is_internal(name)}
        key = frozenset(stated.items())
        if key not in self.legal_attributes:
            if findings := [*self._attribute_findings(stated, location())]:
                raise RunError(findings)
            self.legal_attributes.add(key)
        return [*stated]

    def keyword_arguments(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments that the kernel takes by keyword: the stated values, and defaults for the others."""
        return {**self.defaults, **values} if values else self.defaults

    def _attribute_findings(self, types: Mapping[str, str], location: str) -> Iterable[Finding]:
        """Yield a finding for each attribute that is unknown, missing, or of another type."""
        kernel = self.kernel
        unknown = set() if kernel is None or kernel.any_attributes else {*types} - kernel.attributes
        if self.schema is not None:
            for misfit in attribute_misfits(self.schema, types):
                if misfit.name not in _UNUSED:
                    unknown.discard(misfit.name)
                    yield Finding("R202", misfit.what, location, misfit.why, advise_signature(self.schema))
        for name in sorted(unknown):
            help = "leave it out" if self.schema is None else f"let the kernel take it by keyword: (x, *, {name})"
            yield Finding("R202", f"the kernel takes no attribute '{safe_text(name)}'", location, help=safe_text(help))


class Resolver:
    """Finds the kernels of one model's operators, each once."""

    def __init__(self, registry: Registry, strict: bool = False) -> None:
        """Take the registry; if `strict`, forms that runtimes accept against the standard are errors."""
        self.registry = registry
        self._strict = strict
        self._resolved: dict[tuple[str, str, int], ResolvedKernel] = {}
        self._kernels = Lookup(registration.LAYER, registry)

    def resolve(self, node: Any, imports: Mapping[str, int], location: Callable[[], str]) -> ResolvedKernel:
        """Return the kernel of a node in a body of these imports; `location` returns its path. Raises RunError R201."""
        domain = normalize_domain(node.domain)
        key = (node.op_type, domain, imports.get(domain, 0))
        if key not in self._resolved:
            self._resolved[key] = self._resolve(node, *key, imports, location)
        return self._resolved[key]

    def _resolve(
        self,
        node: Any,
        operator: str,
        domain: str,
        version: int,
        imports: Mapping[str, int],
        location: Callable[[], str],
    ) -> ResolvedKernel:
        """Return the kernel of an operator at one version, with the fallback of its quirk. Raises RunError R201."""
        schema = find_schema(self.registry, operator, version, domain, self._strict)
        since = schema.since_version if schema is not None else version
        name, family = (schema.name, schema.family) if schema is not None else (operator, "")
        kernel = self._kernels.find("kernel", domain, name, since, family)
        expressed = kernel is None and schema is not None and schema.function and not schema.deprecated
        if (kernel is None and not expressed) or (schema is None and domain in self.registry.domains):
            raise RunError(self._unknown_operator(location(), node, domain, imports, schema))
        formal = schema.attributes if schema is not None else {}
        defaults = {
            name: attribute.default
            for name, attribute in formal.items()
            if kernel is None or kernel.any_attributes or name in kernel.attributes
        }
        resolved = ResolvedKernel(schema, kernel, defaults, plan_of(schema) if schema is not None else None)
        if schema is None or domain or self._strict or (quirk := quirks.quirk_of_values(operator, version)) is None:
            return resolved
        fallback = resolved
        if quirk.stand_in is not None:
            fallback = self._resolve(node, operator, domain, quirk.stand_in[1], imports, location)
        return replace(resolved, fallback=fallback, quirk=quirk)

    def _unknown_operator(
        self, location: str, node: Any, domain: str, imports: Mapping[str, int], schema: OpSchema | None
    ) -> Finding:
        """Return the finding that an operator has no kernel, with the reason."""
        name = safe_text(node.op_type)
        shown_domain = safe_text(domain_name(domain))
        if schema is not None and (left_out := self._kernels.left_out(domain)):
            why, help = left_out, TRUST
        elif schema is not None:
            why = f"{shown_domain} {schema.name} {schema.since_version} has no kernel"
            help = f"use {schema.replacement}" if schema.replacement else "register one: opset explain evaluating"
        elif domain not in imports:
            why, help = f"the domain {shown_domain} is not imported", "add it to opset_import"
        elif versions := self.registry.versions(node.op_type, domain):
            since = versions[0].since_version
            why = f"it was added in version {since} of {shown_domain}, and {imports[domain]} is imported"
            help = "import a newer version"
        else:
            why = f"{shown_domain} {imports[domain]} has no such operator, and the model no such function"
            help = self.registry.near_miss(node.op_type, domain) if domain in self.registry.domains else ""
            help = help or "declare it and register a kernel: opset explain evaluating"
        return Finding("R201", f"the operator {name} cannot be computed", location, why, help)
