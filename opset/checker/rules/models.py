"""Rules about a model as a whole: its IR version, the operator sets that it imports, its metadata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from opset.checker.table import CHECKER, WARNING, CheckContext
from opset.errors import Finding, ModelError, brief_name, listing, quote
from opset.model.graph.index import Body, check_head, imports_of, normalize_domain
from opset.opsets.registry import default_registry
from opset.opsets.releases import newest_ir_version

MAX_VERSION = 2**31 - 1
"""The greatest version of an operator set that readers of models hold."""
_WRITER = "let the exporter write it, or set it: model.ir_version = 8"


@CHECKER.rule("G101", CheckContext)
def check_ir_version_given(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding if the model states no IR version."""
    if not context.proto.HasField("ir_version"):
        why = "without it, nobody knows which fields and rules the model follows"
        yield Finding("G101", "the model states no IR version", "model", why, _WRITER)


@CHECKER.rule("G102", CheckContext)
def check_ir_version_known(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding if the model states an IR version that was never published."""
    if context.proto.HasField("ir_version") and not 1 <= context.ir_version <= newest_ir_version():
        why = f"versions 1 to {newest_ir_version()} are known"
        yield Finding("G102", f"the IR version {context.ir_version} is not known", "model", why, _WRITER)


@CHECKER.rule("M106 M107 M108 M109", CheckContext)
def check_graph_and_imports(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding if the model has no graph, or if its imports, or a function's, are missing or cannot be read."""
    try:
        check_head(context.proto)
    except ModelError as error:
        yield from error.findings
    for holder, place in importers(context):
        try:
            imports_of(holder, place, context.registry.domains)
        except ModelError as error:
            yield from error.findings


@CHECKER.rule("G104", Body)
def check_domains_imported(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for the first node of each domain that the model, or the function around it, does not import."""
    missing = {domain for _, domain in {*body.operators}} - context.imports(body).keys()
    for index, (_, domain) in enumerate(body.operators):
        if domain in missing:
            missing.discard(domain)
            holder = "function" if body.root.function else "model"
            message = f"the {holder} does not import the domain {domain_text(domain)}"
            why = "a node's operator has to belong to an operator set that is imported"
            help = f"add an opset_import of {domain_text(domain)} with the version that the nodes were written for"
            yield Finding("G104", message, body.location(index), why, help)


@CHECKER.rule("C104", CheckContext)
def check_imports_known(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each domain with schemas that is imported at a version above the newest known one.

    The version after the newest one of the standard, which is in development, is no fault here.
    """
    for holder, place in importers(context):
        for domain, version in _versions(holder):
            newest = context.registry.domains.get(domain)
            if newest is not None and version > newest and not _is_in_development(domain, version):
                message = f"the model imports {domain_text(domain)} at version {version}, which is not known"
                help = "find the opset that fits the nodes: --assume-opset auto; or install a newer release of opset"
                yield Finding("C104", message, place, f"the newest known version is {newest}", help)


@CHECKER.rule("G105", CheckContext)
def check_import_versions(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each domain without schemas that is imported at a version below 1, or above MAX_VERSION."""
    for holder, place in importers(context):
        for domain, version in _versions(holder):
            if domain not in context.registry.domains and not 1 <= version <= MAX_VERSION:
                message = f"the domain {domain_text(domain)} is imported at version {version}"
                why = f"versions of operator sets begin with 1, and end with {MAX_VERSION:,}"
                yield Finding("G105", message, place, why, "import the version that the nodes were written for")


@CHECKER.rule("W106", CheckContext, severity=WARNING)
def check_imports_released(context: CheckContext) -> Iterator[Finding]:
    """Yield a warning for each operator set of the standard that is imported at the version in development."""
    for holder, place in importers(context):
        for domain, version in _versions(holder):
            if _is_in_development(domain, version):
                message = f"the model imports {domain_text(domain)} {version}, which is not released"
                why = f"its nodes are read as those of version {version - 1}; the release may differ"
                yield Finding("W106", message, place, why, "export the model for a released opset")


@CHECKER.rule("W107", CheckContext, severity=WARNING)
def check_imports_unique(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each domain that is imported more than once at the same version."""
    for holder, place in importers(context):
        counts = Counter((normalize_domain(entry.domain), entry.version) for entry in holder.opset_import)
        for (domain, version), count in counts.items():
            if count > 1:
                message = f"the domain {domain_text(domain)} is imported {count} times at version {version}"
                help = "keep one of the equal imports; `opset check --fix` does this"
                yield Finding("W107", message, place, "imports are a set, in which each domain stands once", help)


@CHECKER.rule("W101", CheckContext, severity=WARNING)
def check_imports_used(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for the model, and for each function, that imports domains which no node uses.

    ai.onnx, and the domains of the model's functions, count as used by the model.
    """
    places: dict[str, list[str]] = {}
    for _, place, domain in unused_imports(context):
        places.setdefault(place, []).append(domain_text(domain))
    for place, domains in places.items():
        message = f"the domain {domains[0]} is imported, and no node uses it"
        help = "remove the import; `opset check --fix` does this"
        if len(domains) > 1:
            message = f"the domains {listing(domains)} are imported, and no node uses them"
            help = "remove the imports; `opset check --fix` does this"
        yield Finding("W101", message, place, "a runtime that does not have the operator set refuses the model", help)


def unused_imports(context: CheckContext) -> Iterator[tuple[Any, str, Any]]:
    """Yield (ModelProto or FunctionProto, its place, domain) for each domain that it imports and does not use.

    ai.onnx, and the domains of the model's functions, count as used by the model.
    """
    used = {id(context.proto): {domain for domain, _, _ in context.functions}}
    for body in context.bodies:
        used.setdefault(id(holder_of(body, context)), set()).update(domain for _, domain in {*body.operators})
    for holder, place in importers(context):
        for domain in dict(_versions(holder)):
            if domain and domain not in used[id(holder)]:
                yield holder, place, domain


@CHECKER.rule("W102", CheckContext, severity=WARNING)
def check_metadata_keys(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each key that stands more than once in the metadata of one model, graph, function or node."""
    for message, place in holders_of_metadata(context):
        for key, count in Counter(entry.key for entry in message.metadata_props).items():
            if count > 1:
                what = f"the metadata key {quote(key)} stands {count} times"
                yield Finding("W102", what, place, "a reader may take either value", "keep the value that is meant")


def holders_of_metadata(context: CheckContext) -> Iterator[tuple[Any, str]]:
    """Yield (message, place) for the model, its graphs and functions, and its nodes with metadata."""
    yield context.proto, "model"
    for body in context.bodies:
        yield body.proto, body.label
        yield from ((node, body.location(index)) for index, node in enumerate(body.nodes) if node.metadata_props)


@CHECKER.rule("W103", CheckContext, severity=WARNING, optional=True)
def check_model_domain(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding if the model's `domain` is missing, or is no reversed DNS name, such as com.example.vision."""
    domain = context.proto.domain
    if not domain:
        why = "domain, model_version and the graph's name identify a model"
        yield Finding("W103", "the model names no domain", "model", why, "set it to a name such as com.example.vision")
    elif not _is_reversed_name(domain):
        why = "domains are reversed DNS names, as those of packages in Java"
        yield Finding("W103", f"the domain {quote(domain)} is no reversed DNS name", "model", why, "write com.example")


@CHECKER.rule("W104", CheckContext, severity=WARNING, optional=True)
def check_producer(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each of producer_name and producer_version that the model does not state."""
    for field in ("producer_name", "producer_version"):
        if not getattr(context.proto, field):
            why = "it tells whom to ask about the model"
            yield Finding("W104", f"the model has no {field}", "model", why, "set it to the tool and its version")


@CHECKER.rule("W105", CheckContext, severity=WARNING, optional=True)
def check_operator_set_domains(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each imported domain that is no reversed DNS name, such as com.example."""
    for holder, place in importers(context):
        for domain, _ in _versions(holder):
            if domain and not _is_reversed_name(domain):
                why = "domains of operator sets are reversed DNS names, so that no two organizations share one"
                help = "use a domain such as com.example"
                yield Finding("W105", f"the domain {domain_text(domain)} is no reversed DNS name", place, why, help)


def _is_in_development(domain: Any, version: int) -> bool:
    """Return whether a version of a domain of the standard is the one after the newest that is known."""
    newest = default_registry().domains.get(domain)
    return newest is not None and version == newest + 1


def importers(context: CheckContext) -> Iterator[tuple[Any, str]]:
    """Yield (message, place) for the ModelProto and each FunctionProto: the messages that import operator sets."""
    yield context.proto, "opset_import"
    yield from ((body.proto, body.label) for body in context.bodies if body.function)


def holder_of(body: Body, context: CheckContext) -> Any:
    """Return the message whose imports hold for a body: its FunctionProto, or else the ModelProto."""
    return body.root.proto if body.root.function else context.proto


def _versions(holder: Any) -> list[tuple[Any, int]]:
    """Return (domain, version) for each import of a ModelProto or FunctionProto."""
    return [(normalize_domain(entry.domain), entry.version) for entry in holder.opset_import]


def domain_text(domain: Any) -> str:
    """Return a domain in quotes for a message; "'ai.onnx'" for ""."""
    return f"'{brief_name(domain or 'ai.onnx')}'"


def _is_reversed_name(domain: Any) -> bool:
    """Return whether a domain has at least two parts, with dots between them, of ASCII letters, digits, "-" and "_".

    A part of hyphens and underscores alone does not count.
    """
    parts = domain.split(".") if isinstance(domain, str) else []
    words = [part.replace("-", "").replace("_", "") for part in parts]
    return len(parts) > 1 and all(word.isascii() and word.isalnum() for word in words)
