"""Finds how operators are inferred: the schema at the imported version, the rule, and the data function."""

from __future__ import annotations

from collections.abc import Mapping

from opset.errors import brief_name
from opset.inference.engine.outcomes import OperatorInference
from opset.inference.registration import RuleLookup
from opset.model.graph.index import Operator
from opset.opsets.amendments import schema_as_read
from opset.opsets.registry import Registry
from opset.schemas import quirks
from opset.schemas.model import OpSchema, unknown_words
from opset.schemas.names import domain_name, normalize_domain


def find_schema(registry: Registry, op_type: str, version: int, domain: str, strict: bool) -> OpSchema | None:
    """Return an operator's schema at an opset version, or None if there is none.

    With `strict`, the schema allows only the types of the newest text of the standard. Without it, the schema also
    allows types that an earlier release of the same version allowed. An operator that only runtimes know is then found,
    too: it has the schema of the standard operator that stands for it.
    """
    schema = registry.schema(op_type, version, domain)
    if strict:
        return schema
    if schema is None and not domain:
        alias = quirks.alias(op_type, version)
        schema = registry.schema(*alias.stand_in) if alias is not None and alias.stand_in is not None else None
    return None if schema is None else schema_as_read(schema)


class Operators:
    """Finds how operators are inferred (schema, rule, data function), and caches it by version."""

    def __init__(self, registry: Registry, follow_data: bool, strict: bool = False) -> None:
        """Store the operators and how they are inferred.

        Args:
            registry: the operators.
            follow_data: whether elements of small tensors are computed.
            strict: whether a node that violates the standard is a problem even if runtimes accept it.
        """
        self._registry = registry
        self._follow_data = follow_data
        self._strict = strict
        self._rules = RuleLookup(registry)
        self._tables: dict[tuple[tuple[str, int], ...], dict[Operator, OperatorInference]] = {}
        self._by_schema: dict[OpSchema, OperatorInference] = {}

    def table(self, imports: Mapping[str, int]) -> dict[Operator, OperatorInference]:
        """Return the dict of how operators are inferred at these opset imports, by (name, domain) of the operator.

        `imports` has the opset version of each domain. The dict is empty at first, and callers add to it. Equal imports
        give the same dict.
        """
        return self._tables.setdefault(tuple(sorted(imports.items())), {})

    def find(self, operator: Operator, imports: Mapping[str, int]) -> OperatorInference:
        """Return how an operator is inferred at its version in `imports`, which has opset versions by domain.

        If the operator has no schema or no rule, `why` of the result is the reason. The result is not cached here.
        Raises InferenceError if the rules or Python files of its domain cannot be used.
        """
        op_type, domain = operator
        domain = normalize_domain(domain)
        version = imports.get(domain, 0)
        schema = find_schema(self._registry, op_type, version, domain, self._strict)
        name, shown_domain = brief_name(op_type), brief_name(domain_name(domain))
        if schema is None:
            if domain not in imports:
                return OperatorInference(None, why=f"the domain {shown_domain} is not imported")
            if domain not in self._registry.domains:
                return OperatorInference(None, why=f"there are no schemas of the domain {shown_domain}")
            return OperatorInference(None, why=f"{shown_domain} {version} has no operator {name}")
        rule = self._rules.find(schema)
        why = ""
        if rule is None:
            why = self._rules.left_out(domain) or f"there is no rule for the outputs of {name} {schema.since_version}"
            why += f": {unknown_words(schema.unknown)}" if schema.unknown else ""
        data = self._rules.find_data(schema) if self._follow_data else None
        inference = OperatorInference(schema, rule, data, why)
        quirk = quirks.quirk_of_values(op_type, version) if not domain and not self._strict else None
        if quirk is not None:
            inference.tolerated = quirk.form
            inference.fallback = OperatorInference(schema, rule, data)
            if quirk.stand_in is not None:
                inference.fallback = self.find(operator, {**imports, "": quirk.stand_in[1]})
        return inference

    def of_schema_alone(self, schema: OpSchema) -> OperatorInference:
        """Return how a node that is not in the model is inferred: by the rule of `schema`, without computing elements.

        The result is cached by schema.
        """
        if schema not in self._by_schema:
            self._by_schema[schema] = OperatorInference(schema, self._rules.find(schema))
        return self._by_schema[schema]
