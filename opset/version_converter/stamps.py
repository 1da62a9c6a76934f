"""Wrong stamps: models that import another version of an operator set than their nodes were written for.

    model, notes = assume_opsets(model, AUTO, registry)

A version is possible if every node is valid at it, in forms that runtimes accept too, and if no stated type contradicts
the inferred one. Versions between which no node changes its meaning are one class. If one class is possible, the model
was written for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from opset.budget import ALLOW_MORE, Limits
from opset.errors import ConversionError, Finding, FindingList, InferenceError, safe_text
from opset.inference.engine.result import infer
from opset.model import Model
from opset.model import proto as pb
from opset.model.graph.index import bodies, normalize_domain
from opset.opsets.registry import Registry
from opset.preparation import read_unreleased
from opset.schemas import quirks
from opset.schemas.names import domain_name
from opset.version_converter.conversion import convert_model
from opset.version_converter.helps import NEWER_OPSET
from opset.version_converter.result import Conversion
from opset.version_converter.targets import Target

AUTO: Final = "auto"
"""Stands for the versions that are found."""


class VersionRange(NamedTuple):
    """Opset versions from `first` to `last`, at which all nodes of a model mean the same."""

    first: int
    last: int

    @property
    def text(self) -> str:
        """The range as text: "13", "11 to 17"."""
        return f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"

    def nearest_to(self, version: int) -> int:
        """Return the version in the range that is nearest to `version`: 11 in "11 to 17" for 9."""
        return min(max(version, self.first), self.last)


@dataclass(frozen=True)
class StampGuess:
    """The opset version of one domain that a model was really written for, as far as its nodes show it.

    Attributes:
        domain: The domain.
        stated: The version that the model imports.
        reasons: Why the nodes do not fit the stated version; empty if they fit it.
        candidates: The ranges of versions that the nodes fit, oldest first; empty if they fit the stated version.
    """

    domain: str
    stated: int
    reasons: FindingList
    candidates: tuple[VersionRange, ...] = ()

    @property
    def chosen(self) -> int | None:
        """The version that the nodes were written for, None if it is not certain.

        If the nodes fit the stated version, it is this version. Otherwise, if they fit exactly one range of versions,
        it is the version in that range that is nearest to the stated one.
        """
        if not self.reasons:
            return self.stated
        return self.candidates[0].nearest_to(self.stated) if len(self.candidates) == 1 else None


def assume_opsets(
    model: Model, versions: Mapping[str, int] | str, registry: Registry, limits: Limits | None = None
) -> tuple[Model, list[str]]:
    """Return the model with imports of the opset versions that it was really written for, and notes on the changes.

    Nodes are not changed. Domains that `versions` does not name stay as they are. With AUTO, a model that imports the
    first unreleased version of a domain is read as if it imported the newest released one.

    Args:
        model: The model, which is not changed.
        versions: Versions by domain, or AUTO to find them.
        registry: The operators that are known.
        limits: Bounds on the work of each trial.

    Returns:
        The model, which is the given one if nothing changes, and the notes.

    Raises:
        ConversionError: C106 if AUTO finds no version of a domain that fits all nodes, or several. C401 if the budget
            of a trial with AUTO is used up.
        ModelError: The model is malformed.
    """
    notes: list[str] = []
    if versions != AUTO:
        assert not isinstance(versions, str)
        for domain, version in versions.items():
            stated = _stated_version(model.proto, domain)
            if stated != version:
                model = _restamp(model, domain, version)
                instead = f"not {stated} as it states" if stated else "which the model does not state"
                notes.append(f"read as written for {domain_name(domain)} {version}, {instead}")
        return model, notes
    model = read_unreleased(model, registry, notes)
    findings = FindingList()
    for domain in _known_domains(model.proto, registry):
        guess = guess_opset(model, domain, registry, limits)
        if guess.chosen is None:
            findings.append(_uncertain_finding(guess))
        elif guess.chosen != guess.stated:
            model = _restamp(model, domain, guess.chosen)
            notes.append(
                f"read as written for {domain_name(domain)} {guess.chosen}, not {guess.stated} as it states: "
                f"{_reason_text(guess.reasons[0])}"
            )
    if findings:
        raise ConversionError(findings)
    return model, notes


def guess_opset(model: Model, domain: str, registry: Registry, limits: Limits | None = None) -> StampGuess:
    """Return which opset version of one domain a model was really written for, as far as its nodes show it.

    The version that the model imports is right if all nodes are valid at it and inference finds no contradiction. Else
    all versions are tried. Contradictions that are the same at every version do not count.

    The registry must have schemas of the domain. Raises ModelError if the model is malformed, and ConversionError C401
    if the budget of a trial is used up.
    """
    stated = _stated_version(model.proto, domain)
    newest = registry.domains[domain]
    reasons = FindingList()
    if stated <= newest:
        reasons = _refusals_at(model, domain, stated, registry, limits) or _contradictions(model, registry, limits)
        if not reasons:
            return StampGuess(domain, stated, reasons)
    else:
        message = f"{domain_name(domain)} {stated} is not known"
        reasons.append(Finding("C104", message, "opset_import", f"the newest known version is {newest}", NEWER_OPSET))
    valid = [
        each
        for each in _version_groups(model.proto, domain, registry)
        if not _refusals_at(_restamp(model, domain, each.first), domain, each.first, registry, limits)
    ]
    doubts = [_contradictions(_restamp(model, domain, each.first), registry, limits) for each in valid]
    common = set.intersection(*({finding.place for finding in each} for each in doubts)) if doubts else set()
    # What contradicts at every version is a fault of the model, and says nothing about the version.
    sound = [
        each for each, found in zip(valid, doubts, strict=True) if all(finding.place in common for finding in found)
    ]
    if any(each.first <= stated <= each.last for each in sound):
        return StampGuess(domain, stated, FindingList())
    return StampGuess(domain, stated, reasons, _join_equal(model, domain, sound, registry, limits))


def _join_equal(
    model: Model, domain: str, groups: Sequence[VersionRange], registry: Registry, limits: Limits | None
) -> tuple[VersionRange, ...]:
    """Return `groups` in which neighbors are joined if a conversion between them changes no node of the model.

    A joined range also has the versions between the two ranges, at which the model may not be valid. If the conversion
    is refused, the ranges are not joined.

    Args:
        model: The model, which is not changed.
        domain: The domain of the versions.
        groups: Ranges of versions at which the model is valid, oldest first. The model is converted from the last
            version of one to the first version of the next.
        registry: The operators.
        limits: Bounds on the work of each conversion.
    """
    joined: list[VersionRange] = []
    for group in groups:
        if joined and _is_unchanged(_restamp(model, domain, joined[-1].last), domain, group.first, registry, limits):
            joined[-1] = VersionRange(joined[-1].first, group.last)
        else:
            joined.append(group)
    return tuple(joined)


def _is_unchanged(model: Model, domain: str, version: int, registry: Registry, limits: Limits | None) -> bool:
    """Whether converting a model to a version of a domain succeeds and changes no node; its imports may change."""
    conversion = _try_version(model, domain, version, registry, limits)
    return not conversion.refusals and not conversion.actions


def _version_groups(proto: Any, domain: str, registry: Registry) -> list[VersionRange]:
    """Return the versions of a domain, from 1 to the newest, as ranges in which no operator of the model changes.

    The ranges are in order, oldest first. Each operator of this domain in any graph or function counts. If a known
    deviation of exporters from the standard begins or ends at a version, that is a change, too.
    """
    newest = registry.domains[domain]
    starts = {1}
    for name in {name for body in bodies(proto) for name, own in {*body.operators} if own == domain}:
        starts.update(registry.since_versions(name, domain))
        for quirk in quirks.QUIRKS if not domain else ():
            if name in quirk.operators:
                starts |= {quirk.first, quirk.last + 1}
    ordered = sorted(each for each in starts if each <= newest)
    return [VersionRange(first, after - 1) for first, after in zip(ordered, (*ordered[1:], newest + 1), strict=True)]


def _refusals_at(model: Model, domain: str, version: int, registry: Registry, limits: Limits | None) -> FindingList:
    """Return the refusals of a conversion to `version` of a domain, which the model must already import.

    Such a conversion changes nothing: it refuses each node that is not valid at its opset. Refusals of nodes of other
    domains are left out. Raises ConversionError C401 if the budget is used up.
    """
    conversion = _try_version(model, domain, version, registry, limits)
    others = {
        body.location(index)
        for body in bodies(model.proto)
        for index, (_, own) in enumerate(body.operators)
        if own != domain
    }
    return FindingList(each for each in conversion.refusals if each.place not in others)


def _try_version(model: Model, domain: str, version: int, registry: Registry, limits: Limits | None) -> Conversion:
    """Return the conversion of a model to a version of a domain.

    Raises ConversionError C401 if the budget is used up: a conversion that is cut off says nothing about the version.
    """
    conversion = convert_model(model, Target({domain: version}), registry, limits=limits)
    if stopped := [each for each in conversion.refusals if each.code == "C401"]:
        raise _stopped_error(stopped[0])
    return conversion


def _stopped_error(stopped: Finding) -> ConversionError:
    """Return the error C401 that the search for the opset of a model was stopped.

    `stopped` is the finding C401 or I401 which says that the budget was used up. The error has its reason and place.
    """
    help = f"name the version, --assume-opset 13 or assume_opset=13, or {ALLOW_MORE}"
    message = "the search for the opset that the model was written for was stopped"
    return ConversionError(Finding("C401", message, stopped.place, stopped.why, help))


def _contradictions(model: Model, registry: Registry, limits: Limits | None) -> FindingList:
    """Return the faults that inference finds in a model: types that contradict, or that a node does not take.

    Raises ConversionError C401 if `limits` are given and do not suffice.
    """
    try:
        return FindingList(infer(model, check_type=True, schemas=registry, limits=limits).findings)
    except InferenceError as error:
        if error.code != "I401":
            raise
        raise _stopped_error(error.findings[0]) from None


def _known_domains(proto: Any, registry: Registry) -> Iterator[str]:
    """Yield each domain that a ModelProto imports and of which the registry has schemas."""
    imported = dict.fromkeys(normalize_domain(entry.domain) for entry in proto.opset_import)
    yield from (domain for domain in imported if domain in registry.domains)


def _stated_version(proto: Any, domain: str) -> int:
    """Return the version of a domain that a ModelProto imports, 0 if it does not import the domain."""
    found: list[int] = [each.version for each in proto.opset_import if normalize_domain(each.domain) == domain]
    return found[0] if found else 0


def _restamp(model: Model, domain: str, version: int) -> Model:
    """Return a copy of the model that imports `version` of a domain; nodes are not changed.

    An import is added if the model has none. Functions that import the model's version of the domain import the new
    version, too; other functions stay.
    """
    message = pb.ModelProto()
    message.CopyFrom(model.proto)
    stated = _stated_version(message, domain)
    if not stated:
        message.opset_import.add(domain=domain)
    for holder in (message, *message.functions):
        for entry in holder.opset_import:
            if normalize_domain(entry.domain) == domain and entry.version == stated:
                entry.version = version
    return model.with_proto(message, changed=True)


def _uncertain_finding(guess: StampGuess) -> Finding:
    """Return the finding C106: either no version of the domain fits the model, or several do.

    `guess` is a result of `guess_opset` whose `chosen` is None.
    """
    label = domain_name(guess.domain)
    if not guess.candidates:
        message = f"no version of {label} fits: at each one, some node is not valid"
        why = f"at {guess.stated}, as it states: {_reason_text(guess.reasons[0])}"
        return Finding("C106", message, "opset_import", why, "correct the nodes; opset check names each of them")
    classes = "; ".join(each.text for each in guess.candidates)
    message = f"the model was not written for {label} {guess.stated}, and several versions fit"
    why = f"its nodes are valid at these, and mean something else at each: {classes}"
    prefix = f"{guess.domain}=" if guess.domain else ""
    options = [f"--assume-opset {prefix}{each.nearest_to(guess.stated)}" for each in guess.candidates]
    help = f"say for which version its nodes were written: {' or '.join(options)}"
    return Finding("C106", message, "opset_import", why, help)


def _reason_text(finding: Finding) -> str:
    """Return the location, message and reason of a finding in one line of text."""
    parts = [finding.place, finding.message, finding.why]
    return safe_text(": ".join(part for part in parts if part))
