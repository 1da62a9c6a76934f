"""Rule that the declarations, inference and kernel of an operator agree: examples of changed versions are run."""

from __future__ import annotations

from collections.abc import Iterator

from opset.budget import Limits
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name
from opset.workflow.breaking.report import NONE
from opset.workflow.breaking.rules import BEHAVIOUR, BREAKING, RuleFinding, StateComparison
from opset.workflow.breaking.states import Key

MOST = 40
"""Most operators whose examples are run; for more, `opset test` has several processes."""
LIMITS = Limits(timeout=60)
"""What an evaluation may take."""
PARTS = ("kernel", "inference", "function")
CONVERTING = ("kernels.py", "adapters.py")
"""The files whose edit may change conversions."""
NOT_COMPUTED = "T112"
"""The code of examples that have no kernel."""


@BREAKING.rule("B189", StateComparison, requires=NONE, clause=BEHAVIOUR)
def _examples_fail(comparison: StateComparison) -> Iterator[RuleFinding]:
    """Yield a finding for each fault that examples of new or edited versions show in the newer state.

    Kernels, inference and function bodies are tested. If kernels.py or adapters.py of the domain changed, conversions
    and claims are tested, too. A missing kernel is a fault only if kernels.py changed. Nothing is tested if the
    comparison has no registry, or if more than MOST operators changed. Raises BudgetExceeded if the comparison's budget
    is used up.
    """
    registry = comparison.registry
    changed = changed_versions(comparison)
    if registry is None or len(changed) > MOST:
        return
    from opset.workflow.examples.examination import examine  # kernels need numpy, which takes long to import
    from opset.workflow.examples.functions import NEVER_CALLED

    for key, schemas in changed.items():
        edited = comparison.changed_function_files.get(key[0], frozenset())
        converting = not edited.isdisjoint(CONVERTING)
        parts = (*PARTS, *(("conversion", "claims") if converting else ()))
        findings = examine(registry, schemas, parts=parts, limits=LIMITS, budget=comparison.budget).findings
        for finding in findings:
            if finding.code == NEVER_CALLED or (finding.code == NOT_COMPUTED and "kernels.py" not in edited):
                continue  # a domain may be declared without kernels
            message = f"{finding.code}: {finding.message}{f': {finding.why}' if finding.why else ''}"
            help = f"opset test {domain_name(key[0])}.{key[1]} runs its examples; opset explain {finding.code}"
            domain, name = key
            yield RuleFinding(message, help=help, domain=domain, operator=name, place=finding.place)


def changed_versions(comparison: StateComparison) -> dict[Key, list[OpSchema]]:
    """Return the versions whose examples have to run, by (domain, name) of the operator.

    These are all new versions, and all with an edited signature, declaration or example. If Python files beside the
    YAML of a domain changed, all versions of the domain are returned. If the older state is a release, the result is
    {}, since only the signatures of a release are known.
    """
    versions: dict[Key, list[OpSchema]] = {}
    if comparison.old.released:
        return {}
    for key, operator in comparison.new.operators.items():
        old = comparison.old.operators.get(key)
        functions = key[0] in comparison.changed_function_files
        for since, version in operator.versions.items():
            before = old.versions.get(since) if old is not None else None
            same = before is not None and before.schema == version.schema and before.examples == version.examples
            if functions or not same:
                versions.setdefault(key, []).append(version.schema)
    return versions
