"""Blockers of conversions: what stands in the way of a target, by operator and reason, in one model and in several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from opset.errors import Finding
from opset.schemas.names import domain_name, normalize_domain
from opset.version_converter.report import (
    ImportedVersion,
    IrVersions,
    NodeCounts,
    OperatorGroup,
    PassedOperator,
    conversion_report,
)
from opset.version_converter.result import Conversion
from opset.version_converter.targets import Target

if TYPE_CHECKING:
    from opset.opsets.runtimes import Runtime


LACKING = ("C201", "C209")
"""Refusals of nodes that a later release of a runtime may run: it has no operator of that version, or no kernel."""


class Blocker(NamedTuple):
    """Nodes of one operator that are refused for one reason; `operator` is "" if the whole model is refused.

    - `version`: the since_version of the operator; `nodes`: how many nodes; `place`: the location of the first node;
    - `code`, `message`, `why`, `help`: as in the finding.
    """

    domain: str
    operator: str
    version: int
    nodes: int
    code: str
    message: str
    why: str
    help: str
    place: str


@dataclass(frozen=True)
class BlockersReport:
    """The refusals of a conversion, and the operators whose nodes would be rewritten."""

    opsets: Sequence[ImportedVersion]
    ir_version: IrVersions
    blockers: Sequence[Blocker]
    rewritten: Sequence[OperatorGroup]
    passed: Sequence[PassedOperator]
    notes: Sequence[str]
    nodes: NodeCounts


class TotalBlocker(NamedTuple):
    """An operator that is refused for one reason in several models: how many nodes in all, and in how many models."""

    domain: str
    operator: str
    nodes: int
    models: int
    code: str
    why: str
    help: str


def blockers_report(conversion: Conversion, *, places: bool = True) -> BlockersReport:
    """Return the refusals of a conversion, and the operators whose nodes would be rewritten.

    Refusals of the whole model come first; they name no operator and count no nodes. Then one Blocker follows for each
    operator version and reason, with the number of its nodes. Without `places`, the report does not locate rewritten
    nodes.
    """
    report = conversion_report(conversion, places=places)
    blockers = [
        Blocker(domain_name(domain), op_type, version, nodes, *_parts_of(finding))
        for (domain, op_type, version, *_), (finding, nodes) in conversion.blocked.items()
    ]
    of_nodes = {blocker.message for blocker in blockers}
    whole = [finding for finding in conversion.refusals if finding.message not in of_nodes]
    return BlockersReport(
        opsets=report.opsets,
        ir_version=report.ir_version,
        blockers=[Blocker("", "", 0, 0, *_parts_of(finding)) for finding in whole] + blockers,
        rewritten=[group for group in report.operators if not group.kept],
        passed=report.passed,
        notes=report.notes,
        nodes=report.nodes,
    )


def with_releases(report: BlockersReport, target: Target, later: Iterable[Runtime]) -> BlockersReport:
    """Return the report in which the help for a missing kernel names the first later release that has the kernel.

    Args:
        report: The report on one model.
        target: The target of the conversion; if it is no runtime, the report is returned unchanged.
        later: The later releases of the runtime, oldest first.
    """
    runtime = target.runtime
    if runtime is None:
        return report
    reached = {each.domain: each.after for each in report.opsets}
    later = tuple(later)
    blockers = [_with_release(each, runtime, later, reached.get(each.domain, 0)) for each in report.blockers]
    return replace(report, blockers=blockers)


class BlockerSums:
    """The blockers of several models, summed up by operator and reason; `models` is the number of models added."""

    def __init__(self) -> None:
        """Start without models."""
        self.models = 0
        self._totals: dict[tuple[object, ...], TotalBlocker] = {}

    def add(self, blockers: Iterable[Blocker]) -> None:
        """Add the blockers of one model to the sums, and count the model, even if it has none.

        There is one sum for each operator and reason; versions are not told apart. The numbers of nodes are added up,
        and the model counts once.
        """
        self.models += 1
        seen = set()
        for each in blockers:
            finding = Finding(each.code, "", why=each.why)
            key = (each.domain, each.operator, finding.kind)
            total = self._totals.get(key)
            if total is None:
                total = TotalBlocker(each.domain, each.operator, 0, 0, each.code, each.why, each.help)
            models = total.models + (key not in seen)
            self._totals[key] = total._replace(nodes=total.nodes + each.nodes, models=models)
            seen.add(key)

    def rows(self) -> list[TotalBlocker]:
        """Return one entry for each operator and reason, those in most models first, then those with most nodes.

        Entries with equal numbers are sorted by operator and reason.
        """
        totals = self._totals.values()
        return sorted(totals, key=lambda each: (-each.models, -each.nodes, each.operator, each.why))


def _parts_of(finding: Finding) -> tuple[str, str, str, str, str]:
    """Return (code, message, why, help, place) of a finding."""
    return finding.code, finding.message, finding.why, finding.help, finding.place


def _with_release(blocker: Blocker, runtime: Runtime, later: Sequence[Runtime], opset: int) -> Blocker:
    """Return the blocker with its help replaced by the first later release with a kernel for its operator version.

    The blocker is returned unchanged if it is not about a missing kernel (LACKING has the codes), if `runtime` has such
    a kernel, or if no later release has one.

    `later` are the later releases of the runtime, oldest first. `opset` is the version of the blocker's domain in the
    target.
    """
    domain = normalize_domain(blocker.domain)
    opset = max(opset, blocker.version)
    is_lacking = blocker.operator and blocker.code in LACKING and not _has_version(runtime, blocker, domain, opset)
    release = next((each.release for each in later if _has_version(each, blocker, domain, opset)), "")
    if not is_lacking or not release:
        return blocker
    return blocker._replace(help=f"{runtime.name} {release} has a kernel of {blocker.operator} {blocker.version}")


def _has_version(runtime: Runtime, blocker: Blocker, domain: str, opset: int) -> bool:
    """Whether a runtime has a kernel for the operator and version of a blocker (refused nodes of one operator).

    `opset` is the version of `domain` that the model imports.
    """
    _, most = runtime.opsets.get(domain, (None, None))
    if most is not None and most < blocker.version:
        return False
    kernels = runtime.kernels(blocker.operator, domain)
    return any(runtime.takes_version(each, blocker.version, opset) for each in kernels)
