"""Which releases of runtimes take a model: as it is, after a conversion, or not.

    for each in survey_runtimes(Survey(model, registry), releases_of("tensorrt")): ...

A release is not planned if an earlier one of its runtime gave the same answers about everything that was asked.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from opset.errors import Finding, UsageError, listing
from opset.opsets.runtimes import Runtime
from opset.opsets.runtimes.names import releases_named, tables_with
from opset.version_converter.survey import Survey, SurveyOutcome
from opset.version_converter.targets import Target, target_at_runtime

AS_IT_IS, CONVERTED, REFUSED = "as it is", "converted", "refused"
"""Whether a release takes a model."""


class ReleaseRange(NamedTuple):
    """Consecutive releases of a runtime: the first, the last, and how many there are.

    `lists_operators` is False if only opsets and IR versions are known of them.
    """

    first: str
    last: str
    releases: int
    lists_operators: bool = True


LISTED = 5
"""Ranges of releases that text shows."""


def releases_text(ranges: Sequence[ReleaseRange], lists_operators: bool = True) -> str:
    """Return ranges of releases as text: "1.7 (operators not known), 1.14 to 1.17"; "" if there are none.

    Only the first LISTED are shown, with the number of the others. That operators are not known is left out if
    `lists_operators` is False: then the text around says so of the whole runtime.
    """
    texts = []
    for each in ranges:
        text = each.first if each.first == each.last else f"{each.first} to {each.last}"
        texts.append(f"{text} (operators not known)" if lists_operators and not each.lists_operators else text)
    return listing(texts, LISTED)


class Obstacle(NamedTuple):
    """The reason why a release of a runtime does not take a model, even after conversion.

    If nodes are refused, it is the reason of most of them, and `nodes` is the number of all refused nodes; else `nodes`
    is 0.
    """

    release: str
    code: str
    message: str
    why: str
    nodes: int


class RuntimeAnswer(NamedTuple):
    """The releases of a runtime that take a model as it is, only after a conversion, or not at all; oldest first.

    `obstacle` is why one release does not take the model: the last one before the first that takes it, or else the
    newest that does not. It is None if all releases take the model. `lists_operators` is False if only opsets and IR
    versions are known of the newest release.
    """

    runtime: str
    title: str
    lists_operators: bool
    as_it_is: Sequence[ReleaseRange]
    converted: Sequence[ReleaseRange]
    refused: Sequence[ReleaseRange]
    obstacle: Obstacle | None


def survey_runtimes(survey: Survey, names: Iterable[str] = (), files: Sequence[Path] = ()) -> list[RuntimeAnswer]:
    """Return for each runtime which of its releases take a model, in the order of `names`.

    Args:
        survey: The Survey of the model.
        names: The names of runtimes, such as "tensorrt" or "installed:onnxruntime"; by default all known runtimes.
        files: YAML files that describe further runtimes.

    Raises:
        BudgetExceeded: The model has too many different nodes, or a conversion needs more than its budget; see
            `Survey.convert`.
        SchemaError: A file that describes a runtime has faults.
        UsageError: U101 for a name that is not known, T224 for an installed package that cannot be asked.
    """
    known = tables_with(files)
    releases = {each[0].name: each for name in names or known for each in [releases_named(name, known)]}
    return [survey_releases(survey, each) for each in releases.values()]


def survey_releases(survey: Survey, releases: Sequence[Runtime]) -> RuntimeAnswer:
    """Return which of these releases of one runtime take a model as it is, after a conversion, or not at all.

    `releases` has at least one, oldest first. Raises BudgetExceeded as `Survey.convert` does.
    """
    known = _Answers(survey)
    answers = [known.answer_of(each) for each in releases]
    newest = releases[-1]
    return RuntimeAnswer(
        newest.name,
        newest.title,
        newest.lists_operators,
        _ranges_with(releases, answers, AS_IT_IS),
        _ranges_with(releases, answers, CONVERTED),
        _ranges_with(releases, answers, REFUSED),
        _find_obstacle(survey, releases, answers),
    )


class _Answers:
    """The answers found so far for releases of one runtime, reused for releases with equal facts."""

    def __init__(self, survey: Survey) -> None:
        """Start without answers; `survey` is the survey of the model that the releases are to run."""
        self._survey = survey
        self._as_it_is: list[tuple[Runtime, Hashable, bool]] = []
        self._nearest: list[tuple[Runtime, Hashable, bool]] = []
        self._converted: list[tuple[Runtime, Hashable, bool]] = []

    def answer_of(self, runtime: Runtime) -> str:
        """Return whether a release of the runtime takes the model: AS_IT_IS, CONVERTED or REFUSED.

        CONVERTED means that the release takes it only after a conversion. Raises BudgetExceeded if a conversion needs
        more steps or memory than its budget allows.
        """
        survey, ir_version = self._survey, self._survey.index.proto.ir_version
        opsets = survey.index.opsets
        fits = [
            (least or 1) <= opsets[domain] <= (most or opsets[domain])
            for domain, (least, most) in runtime.opsets.items()
            if domain in opsets
        ]
        limit = runtime.max_ir
        facts: Hashable = tuple(fits), tuple(sorted(runtime.opsets)), limit is None or limit >= ir_version
        taken = _find_answer(self._as_it_is, runtime, facts)
        if taken is None:
            has_operators = all(runtime.kernels(*each) for each in survey.unknown)
            taken = has_operators and next(survey.find_lacks(runtime), None) is None
            self._as_it_is.append((runtime, facts, taken))
        if taken:
            return AS_IT_IS
        target = _target_at(runtime, survey)
        if target is None:
            return REFUSED
        nearest = survey.nearest_target(target)
        limits = limit is None or limit >= ir_version, limit is None or limit >= survey.needed_ir[0]
        facts = tuple(sorted(nearest.opsets.items())), nearest.release, limits
        converted = _find_answer(self._nearest, runtime, facts)
        if converted is None:
            converted = survey.convert_nearest(target) is not None
            self._nearest.append((runtime, facts, converted))
        if converted:
            return CONVERTED
        facts = facts, runtime.opsets.get("")
        converted = _find_answer(self._converted, runtime, facts)
        if converted is None:
            converted = not survey.convert(target).refusals
            self._converted.append((runtime, facts, converted))
        return CONVERTED if converted else REFUSED


def _find_answer(found: Iterable[tuple[Runtime, Hashable, bool]], runtime: Runtime, facts: Hashable) -> bool | None:
    """Return the answer, True or False, that was found for a release equivalent to `runtime`; None if there is none.

    The question is whether a release takes the model as it is, or whether it takes the model after a conversion.
    Releases are equivalent if they have equal facts, and the same kernels and faults for the operators that were looked
    up.

    Args:
        found: (release, its facts, its answer) for each release that was examined before.
        runtime: The release in question.
        facts: The facts of `runtime` that decide the answer, besides its kernels and faults.
    """
    for other, others, answer in found:
        if others == facts and other.answers_alike(runtime):
            return answer
    return None


def _target_at(runtime: Runtime, survey: Survey) -> Target | None:
    """Return the target of `runtime`, one release, or None if it is not known which opsets the release takes.

    The operators are those of the survey's registry.
    """
    try:
        return target_at_runtime(runtime, survey.registry)
    except UsageError:  # nothing is known of its opsets
        return None


def _ranges_with(releases: Sequence[Runtime], answers: Sequence[str], answer: str) -> list[ReleaseRange]:
    """Return the releases whose answer is `answer`; consecutive releases are joined to a range.

    Releases of which no operators are known are in ranges of their own. `answers` has one answer for each release.
    """
    ranges: list[ReleaseRange] = []
    before = ""
    for each, found in zip(releases, answers, strict=True):
        if found == answer and before == answer and ranges[-1].lists_operators == each.lists_operators:
            first, _, count, lists_operators = ranges.pop()
            ranges.append(ReleaseRange(first, each.release, count + 1, lists_operators))
        elif found == answer:
            ranges.append(ReleaseRange(each.release, each.release, 1, each.lists_operators))
        before = found
    return ranges


def _find_obstacle(survey: Survey, releases: Sequence[Runtime], answers: Sequence[str]) -> Obstacle | None:
    """Return why a release of a runtime does not take a model; None if all releases take it.

    The release is the last one before the model is taken for the first time: 1.17 if 1.18 is the first that takes it.
    If there is no such release, it is the newest one that refuses the model.

    `answers` has AS_IT_IS, CONVERTED or REFUSED for each of `releases`, oldest first. Raises BudgetExceeded as
    `Survey.convert` does.
    """
    refused = [position for position, answer in enumerate(answers) if answer == REFUSED]
    if not refused:
        return None
    taking = [position for position, answer in enumerate(answers) if answer != REFUSED]
    position = max((each for each in refused if taking and each < taking[0]), default=refused[-1])
    runtime = releases[position]
    target = _target_at(runtime, survey)
    outcome = SurveyOutcome((), {}) if target is None else survey.convert(target)
    if not outcome.refusals:
        lack = next(survey.find_lacks(runtime), None)
        finding = lack or Finding("U101", "which opsets it takes is not known")
        return Obstacle(runtime.release, finding.code, finding.message, finding.why, 0)
    finding, _ = max(outcome.refusals, key=lambda each: each[1])
    return Obstacle(runtime.release, finding.code, finding.message, finding.why, sum(n for _, n in outcome.refusals))
