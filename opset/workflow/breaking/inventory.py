"""Rules about the inventory: domains, operators and versions, and the opsets that introduce them."""

from __future__ import annotations

from collections.abc import Iterator

from opset.errors import listing
from opset.plain_text import count_text
from opset.schemas.diff import signature_diff
from opset.schemas.lock import signature_hash
from opset.schemas.names import domain_name, normalize_domain
from opset.workflow.breaking.report import FORBIDDEN, INFO, NEW_OPSET, NONE, WARN
from opset.workflow.breaking.rules import (
    BREAKING,
    CLARIFIED,
    IMMUTABLE,
    OPSETS,
    OperatorPair,
    RuleFinding,
    StateComparison,
    signature_key,
)
from opset.workflow.breaking.states import Key, OperatorState, released_opsets


@BREAKING.rule("B101", StateComparison, requires=FORBIDDEN, clause=IMMUTABLE)
def _domain_removed(comparison: StateComparison) -> Iterator[RuleFinding]:
    """Yield a finding for each domain that the older state has, and the newer does not."""
    new = comparison.new.domains
    for domain in comparison.old.domains:
        if domain in new:
            continue
        names = {name for each, name in comparison.old.operators if each == domain}
        again = [each for each in new if names & {name for other, name in comparison.new.operators if other == each}]
        message = f"the domain, of {count_text(len(names), 'operator')}, is gone"
        message += f"; {listing(list(map(domain_name, again)))} has operators of the same names" if again else ""
        help = "models import a domain by its name: restore the folder, and add the new name beside it"
        yield RuleFinding(message, domain=domain, help=help)


@BREAKING.rule("B102", StateComparison, requires=FORBIDDEN, clause=IMMUTABLE)
def _operator_removed(comparison: StateComparison) -> Iterator[RuleFinding]:
    """Yield a finding for each operator that only the older state has; operators of removed domains are left out.

    If the domain has a new operator with the same signature and version, the finding says that the old one was probably
    renamed.
    """
    for key, operator in comparison.old.operators.items():
        if key in comparison.new.operators or key[0] not in comparison.new.domains:
            continue
        newest = operator.newest.schema
        same = comparison.new_operators.get((key[0], newest.since_version, signature_key(newest)))
        message = f"the operator is gone{f'; it seems to be {same[0]} now' if same else ''}"
        restore = f"restore its file ({operator.restore})" if operator.restore else "restore its file"
        help = f"{restore}; to withdraw it, opset bump {operator.title}, with 'deprecated: true' in the new version"
        yield RuleFinding(message, domain=key[0], operator=key[1], help=help)


@BREAKING.rule("B103", OperatorPair, requires=FORBIDDEN, clause=IMMUTABLE)
def _version_removed(operators: OperatorPair) -> Iterator[RuleFinding]:
    """Yield a finding for each version of an operator that only the older state has.

    A version that only got another number, such as 13 instead of 12, is left out.
    """
    for since in operators.old.versions:
        if since not in operators.new.versions and since not in operators.version_renumbering:
            restore = operators.old.restore or "restore it"
            yield RuleFinding(f"version {since} is gone", version=since, help=restore)


@BREAKING.rule("B104", OperatorPair, requires=FORBIDDEN, clause=IMMUTABLE)
def _version_renumbered(operators: OperatorPair) -> Iterator[RuleFinding]:
    """Yield a finding for each version that seems to have another number now.

    This is so if only the older state has the old number, only the newer state has the new number, and both versions
    have the same signature.
    """
    for old, new in operators.version_renumbering.items():
        restore = operators.old.restore or "restore the number"
        place = operators.new.place(new, "since")
        yield RuleFinding(f"version {old} is version {new} now", version=old, help=restore, place=place)


@BREAKING.rule("B190", StateComparison, requires=FORBIDDEN, clause=IMMUTABLE)
def _lock_contradicted(comparison: StateComparison) -> Iterator[RuleFinding]:
    """Yield a finding for each released version that both states lack, or whose signature is not the one in lock.json.

    Other rules report versions that only the older state has, and signatures that differ between the states.
    """
    for lock in (comparison.new.lock, comparison.old.lock):
        for domain, operators in (lock or {}).items():
            for name, versions in operators.items():
                key = normalize_domain(domain), name
                operator, before = (state.operators.get(key) for state in (comparison.new, comparison.old))
                is_of_new_state = lock is comparison.new.lock and not comparison.partial
                if operator is None and (before is not None or not is_of_new_state):
                    continue  # B102 has it, or the folder never had the operator, or it is left out
                for since, digest in versions.items():
                    yield from _lock_findings(key, int(since), digest, operator, before)


def _lock_findings(
    key: Key, since: int, digest: str, new_operator: OperatorState | None, old_operator: OperatorState | None
) -> Iterator[RuleFinding]:
    """Yield a finding if a version in the lock is missing from both states, or has changed since the lock was written.

    A version has changed if its signature in the newer state is not the one in the lock. If the older state has the
    version, and the newer state lacks or changes it, other rules report this, and nothing is yielded here.

    Args:
        key: The domain and name of the operator.
        since: The version.
        digest: The hash of its signature in the lock.
        new_operator: The operator in the newer state, None if it is not there.
        old_operator: The operator in the older state, None if it is not there.
    """
    now = new_operator.versions.get(since) if new_operator is not None else None
    then = old_operator.versions.get(since) if old_operator is not None else None
    if now is None:
        if then is None:
            message = f"version {since} is in the lock of released versions, and in neither state"
            yield RuleFinding(
                message, (), "", "", "restore it", *key, since, new_operator.place() if new_operator else ""
            )
    elif signature_hash(now.schema) != digest and (then is None or not signature_diff(then.schema, now.schema)):
        assert new_operator is not None
        help = f"restore it, and put the edit into a new version: opset bump {new_operator.title}"
        message = "the signature is not the one in the lock of released versions"
        yield RuleFinding(message, (), "", "", help, *key, since, new_operator.place(since, "since"))


@BREAKING.rule("B105", StateComparison, requires=NEW_OPSET, clause=OPSETS)
def _operator_added(comparison: StateComparison) -> Iterator[RuleFinding]:
    """Yield a finding for each operator that only the newer state has, about its first version.

    It is a notice if the version is above the newest released one of the domain, else an error. Operators of new
    domains are left out. If the older state has some operators only (`partial`), nothing is yielded.
    """
    for key, since in comparison.added_versions:
        operator = comparison.new.operators[key]
        if key not in comparison.old.operators and since == min(operator.versions):
            yield _addition(comparison, operator, since, "the operator was added")


@BREAKING.rule("B106", StateComparison, requires=NEW_OPSET, clause=OPSETS)
def _version_added(comparison: StateComparison) -> Iterator[RuleFinding]:
    """Yield a finding for each version that only the newer state has.

    It is a notice in a new opset, and an error in a released one. First versions of new operators, renumbered versions
    and operators of new domains are left out.
    """
    for key, since in comparison.added_versions:
        operator = comparison.new.operators[key]
        first = key not in comparison.old.operators and since == min(operator.versions)
        pair = comparison.by_key.get(key)
        if not first and not (pair is not None and since in pair.version_renumbering.values()):
            yield _addition(comparison, operator, since, f"version {since} was added")


def _addition(comparison: StateComparison, operator: OperatorState, since: int, message: str) -> RuleFinding:
    """Return the finding that a version or operator was added: a notice in a new opset, an error in a released one.

    `since` is the version, `message` the beginning of the message, such as "the operator was added".
    """
    newest = comparison.newest_released(operator.key)
    opset = f"opset {since} of {domain_name(operator.domain)}"
    where = operator.place(since, "since")
    if since > newest:
        return RuleFinding(f"{message} in the new {opset}", (), INFO, "", "", *operator.key, since, where)
    help = f"give it the since_version {newest + 1}: what {opset} holds is released"
    message = f"{message} in {opset}, which is released: {newest} is its newest"
    return RuleFinding(message, (), "", "", help, *operator.key, since, where)


@BREAKING.rule("B107", StateComparison, requires=NONE, clause=OPSETS, severity=WARN)
def _opset_gap(comparison: StateComparison) -> Iterator[RuleFinding]:
    """Yield a finding for each domain with a gap before its first new opset.

    There is a gap if this opset is more than 1 above the newest released opset. If no opset is released, the first new
    one has to be 1.
    """
    for domain, opsets in _new_opsets(comparison).items():
        newest = comparison.newest_released((domain, ""))
        if opsets and opsets[0] > newest + 1:
            message = f"the opset was raised from {newest} to {opsets[0]}"
            yield RuleFinding(message, domain=domain, version=opsets[0], help=f"use {newest + 1} as the since_version")


@BREAKING.rule("B108", StateComparison, requires=NONE, clause=OPSETS, severity=WARN)
def _opsets_several(comparison: StateComparison) -> Iterator[RuleFinding]:
    """Yield a finding for each domain whose added versions are in more than one new opset."""
    for domain, opsets in _new_opsets(comparison).items():
        if len(opsets) > 1:
            message = f"versions came in {len(opsets)} new opsets: {listing(list(map(str, opsets)))}"
            help = "what is released together is in one opset"
            yield RuleFinding(message, domain=domain, version=opsets[-1], help=help)


def _new_opsets(comparison: StateComparison) -> dict[str, list[int]]:
    """Return the unreleased opsets that versions were added to, by domain, in ascending order: {"com.acme": [3, 4]}.

    An opset is unreleased if it is above the newest release in the older state, and in no release of onnx. If the older
    state has some operators only (`partial`), the result is {}.
    """
    by_domain: dict[str, set[int]] = {}
    for key, since in comparison.added_versions:
        if since > comparison.newest_released(key) and not comparison.partial and since not in released_opsets(key[0]):
            by_domain.setdefault(key[0], set()).add(since)
    return {domain: sorted(opsets) for domain, opsets in sorted(by_domain.items())}


@BREAKING.rule("B109", OperatorPair, requires=NONE, clause=CLARIFIED, severity=INFO)
def _family_moved(operators: OperatorPair) -> Iterator[RuleFinding]:
    """Yield a finding if an operator is in another family, the group that shares Python files."""
    if operators.old.family != operators.new.family:
        yield RuleFinding(f"the family changed: {operators.old.family} -> {operators.new.family}")


@BREAKING.rule("B110", StateComparison, requires=NONE, clause=CLARIFIED, severity=INFO)
def _domain_added(comparison: StateComparison) -> Iterator[RuleFinding]:
    """Yield a finding for each domain that only the newer state has.

    If the older state has some operators only (`partial`), nothing is yielded.
    """
    for domain in comparison.new.domains:
        if domain not in comparison.old.domains and not comparison.partial:
            count = sum(each == domain for each, _ in comparison.new.operators)
            yield RuleFinding(f"the domain was added, with {count_text(count, 'operator')}", domain=domain)
