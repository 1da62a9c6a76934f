"""Fixes of the operator sets that a model and its functions import."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from opset.checker.fixes.entries import remove_entries
from opset.checker.rules.models import domain_text, holder_of, importers, unused_imports
from opset.checker.rules.nodes import form_of, node_findings
from opset.checker.table import CHECKER, CheckContext, Mend
from opset.model.graph.index import Body, normalize_domain
from opset.preparation import repeated_imports


@CHECKER.fix("W107")
def remove_equal_imports(context: CheckContext) -> Iterator[Mend]:
    """Remove imports that repeat an earlier one, domain and version, from the model and its functions.

    Yields a Mend for each import.
    """
    for holder, place in importers(context):
        repeated = repeated_imports(holder)
        for entry in [holder.opset_import[position] for position in repeated]:
            message = f"a second import of {domain_text(entry.domain)} at version {entry.version} was removed"
            yield Mend("W107", message, place)
        remove_entries(holder.opset_import, repeated)


@CHECKER.fix("G104 W401")
def add_missing_imports(context: CheckContext) -> Iterator[Mend]:
    """Import domains that nodes, or functions of the model, use and nothing imports, if their version is certain.

    Yields a Mend for each import.
    """
    bodies: dict[int, list[Body]] = {}
    for body in context.bodies:
        bodies.setdefault(id(holder_of(body, context)), []).append(body)
    elsewhere = _imported_versions([body.proto for body in context.bodies if body.function])
    for holder, place in importers(context):
        imported = {normalize_domain(entry.domain) for entry in holder.opset_import}
        users: dict[str, list[tuple[Body, int]]] = {}
        own = bodies.get(id(holder), [])
        for body, index in ((each, index) for each in own for index in range(len(each.operators))):
            domain = body.operators[index][1]
            if domain not in imported and isinstance(domain, str):
                users.setdefault(domain, []).append((body, index))
        for domain, _, _ in context.functions if holder is context.proto else ():
            if domain not in imported and isinstance(domain, str):
                users.setdefault(domain, [])  # W401
        for domain, nodes in users.items():
            source = "as in the functions" if holder is context.proto else "as in the model"
            version, why = _certain_version(domain, nodes, elsewhere.get(domain, set()), source, context)
            if version:
                holder.opset_import.add(domain=domain, version=version)
                message = f"the domain {domain_text(domain)} is imported at version {version}: {why}"
                yield Mend("G104" if nodes else "W401", message, place)
        if holder is context.proto:  # it is the first
            elsewhere = _imported_versions([holder])


def _imported_versions(holders: Iterable[Any]) -> dict[Any, set[int]]:
    """Return {domain: versions}: all that a ModelProto or FunctionProtos import."""
    versions: dict[Any, set[int]] = {}
    for entry in (each for holder in holders for each in holder.opset_import):
        versions.setdefault(normalize_domain(entry.domain), set()).add(entry.version)
    return versions


@CHECKER.fix("W101")
def remove_unused_imports(context: CheckContext) -> Iterator[Mend]:
    """Remove imports of domains that no node uses; ai.onnx, and domains of the model's functions, stay.

    Yields a Mend for each import.
    """
    found = [*unused_imports(context)]
    unused = {(id(holder), domain) for holder, _, domain in found}
    for holder in {id(holder): holder for holder, _, _ in found}.values():
        entries = enumerate(holder.opset_import)
        positions = [at for at, entry in entries if (id(holder), normalize_domain(entry.domain)) in unused]
        remove_entries(holder.opset_import, positions)
    for _, place, domain in found:
        yield Mend("W101", f"the import of {domain_text(domain)}, which no node uses, was removed", place)


def _certain_version(
    domain: str, nodes: list[tuple[Body, int]], elsewhere: Collection[int], source: str, context: CheckContext
) -> tuple[int, str]:
    """Return (version, reason): the version of a domain at which these nodes were surely written; (0, "") if none is.

    A model takes the version that its functions import, and a function the version that the model imports, if all nodes
    fit it. Without such an import, the lowest version at which the nodes fit is returned, if they mean the same at all
    versions at which they fit.

    Args:
        domain: The domain.
        nodes: The nodes of the domain, as (body, index).
        elsewhere: The versions of the domain that the functions of a model import, or the model of a function.
        source: The reason that says so.
        context: The model.
    """
    calls = [each for each in nodes if each[0].function_key(each[1]) not in context.functions]
    fitting = _fitting_versions(domain, calls, context) if domain in context.registry.domains else {}
    if len(elsewhere) == 1 and (domain not in context.registry.domains or {*elsewhere} <= fitting.keys()):
        return next(iter(elsewhere)), source
    if elsewhere:
        return 0, ""
    if not calls:
        return 1, "its operators are functions of the model"
    if len({*fitting.values()}) == 1:
        return min(fitting), "its nodes mean the same at all versions at which they fit"
    return 0, ""


def _fitting_versions(domain: str, nodes: list[tuple[Body, int]], context: CheckContext) -> dict[int, tuple[int, ...]]:
    """Return {version: since_versions} for the versions of a domain at which all nodes fit.

    Each node of `nodes`, given as (body, index), has the since_version of its operator. The domain must have schemas.
    """
    forms: dict[Any, tuple[Body, int]] = {}
    for body, index in nodes:
        form = form_of(body.operators[index], body.reads[index], body.computes[index], body.attributes[index])
        forms[form if None not in form else (body, index)] = body, index
    fits: dict[tuple[Any, int], bool] = {}
    found: dict[int, tuple[int, ...]] = {}
    for version in range(1, context.registry.domains[domain] + 1):
        sinces = []
        for form, (body, index) in forms.items():
            name = body.operators[index][0]
            schema = context.registry.schema(name, version, domain) if isinstance(name, str) else None
            if schema is None or schema.deprecated:
                break
            key = form, schema.since_version
            if key not in fits:
                fits[key] = not any(node_findings(schema, version, body, index))
            if not fits[key]:
                break
            sinces.append(schema.since_version)
        else:
            found[version] = tuple(sinces)
    return found
