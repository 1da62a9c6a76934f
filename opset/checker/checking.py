"""Checks models, and parts of models, by the rules of the specification."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from opset.budget import Limits
from opset.checker.table import CHECKER, ERROR, CheckContext, CheckOptions
from opset.errors import CheckError, Finding, FindingList, UsageError
from opset.model import load
from opset.model.storage.container import ModelLike
from opset.opsets.registry import Schemas, registry_with
from opset.options import checked_options
from opset.rules import Rule

COMPATIBILITY = "G406"
"""The code of functions that use other versions of operators than the model imports."""
UNKNOWN = "G312"
"""The code of operators of domains without schemas."""
MISFITS, INFERRED = "G3", "I"
"""The beginnings of the codes of nodes that do not fit their operators, and of the codes of inference."""


@checked_options
def check(
    model: ModelLike,
    *,
    full: bool = True,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    verify_checksums: bool = False,
    schemas: Schemas = (),
    limits: Limits | None = None,
    allow_external_roots: Iterable[str | os.PathLike[str]] = (),
) -> FindingList:
    """Return the findings of the specification's rules on a model.

    Weights are not read, but for small tensors whose values a rule needs.

    Args:
        model: A path, bytes, an opset.Model, or a ModelProto of the onnx package; it is not changed.
        full: Whether types and shapes are inferred, and compared with those that the model states.
        select: Codes, or beginnings of codes, of the rules to run; by default, all rules that are not optional.
        ignore: Codes, or beginnings of codes, of rules that do not run.
        verify_checksums: Whether files of external data are read to compare their checksums.
        schemas: Folders of operator YAML, for domains of your own.
        limits: How much the inference may take; without them, that is in proportion to the model.
        allow_external_roots: Folders outside the model's own that may hold external data.

    Returns:
        The findings, each with its `severity`. The first thousand are kept, the others counted.

    Raises:
        ModelError: The file cannot be read as a model.
        InferenceError: I401 if `limits` do not suffice.
        UsageError: U103 if no rule has such a code.
    """
    loaded = load(model, allow_external_roots=allow_external_roots)
    options = CheckOptions(full, verify_checksums, limits)
    codes = select_codes(select, ignore)
    return check_context(CheckContext(loaded, registry_with(schemas), options), codes)


@checked_options
def check_model(
    model: ModelLike,
    full_check: bool = False,
    skip_opset_compatibility_check: bool = False,
    check_custom_domain: bool = False,
    **options: Any,
) -> None:
    """Check a model as onnx.checker.check_model does, but report all errors at once. Nothing is returned.

    Args:
        model: A path, bytes, an opset.Model, or a ModelProto of the onnx package.
        full_check: Whether types and shapes are inferred, and compared with those that the model states.
        skip_opset_compatibility_check: Whether functions may have other versions of operators than the model has.
        check_custom_domain: Whether operators of domains without schemas are errors.
        options: As of `check`.

    Raises:
        CheckError: The model breaks a rule of the specification; warnings are no errors.
        ModelError: The file cannot be read as a model.
    """
    ignored = {*options.pop("ignore", ())}
    ignored |= {COMPATIBILITY} if skip_opset_compatibility_check else set()
    codes = set(select_codes(options.pop("select", ()), ignored)) | ({UNKNOWN} if check_custom_domain else set())
    raise_errors(check(model, full=full_check, select=codes, **options))


def raise_errors(findings: FindingList) -> None:
    """Raise CheckError with the findings that are errors; do nothing if all are warnings or there are none."""
    errors = FindingList(each for each in findings if each.severity == ERROR)
    if errors:
        raise CheckError(errors)


def select_codes(select: Iterable[str] = (), ignore: Iterable[str] = ()) -> frozenset[str]:
    """Return the codes of the rules to run.

    Args:
        select: Codes, or beginnings of codes such as "G3"; by default, the codes of all rules that are not optional.
        ignore: Codes, or beginnings of codes, that are left out, also if `select` names them. One text is one code.

    Raises:
        UsageError: U103 if one of these texts is not the beginning of any rule's code.
    """
    known = CHECKER.by_code
    select, ignore = ([text] if isinstance(text, str) else [*text] for text in (select, ignore))
    chosen = {code for code, rule in known.items() if not rule.optional}
    if select:
        chosen = {code for each in select for code in _codes_of(each, known)}
    return frozenset(chosen - {code for each in ignore for code in _codes_of(each, known)})


def _codes_of(text: str, known: Collection[str]) -> list[str]:
    """Return the codes in `known` that begin with a text, in any case of letters.

    Raises UsageError (U103) if none does, and for "".
    """
    codes = [code for code in known if code.startswith(text.upper())] if text else []
    if not codes:
        from opset.schemas.names import near_miss

        help = near_miss(text.upper(), known) or "codes, or their beginnings: G, G3, W203"
        raise UsageError(Finding("U103", f"no rule of the checker has the code {text!r}", help=help))
    return codes


def check_context(context: CheckContext, codes: frozenset[str]) -> FindingList:
    """Return the findings of the rules with these codes on a model.

    Rules that do not hold for its IR version do not run. The first thousand findings are kept, the others counted.
    """
    return FindingList(find(context, codes))


def find(context: CheckContext, codes: frozenset[str]) -> Iterator[Finding]:
    """Yield the findings on a model by the rules with these codes, if the rules hold for its IR version.

    Inference reports nothing of a node that does not fit its operator: the codes I… are left out at places that have a
    finding G3….
    """
    misfits: set[str] = set()
    rules: dict[type, list[Rule[Finding]]] = {}
    for thing in context.things():
        kind = type(thing)
        if kind not in rules:
            rules[kind] = [rule for rule in CHECKER.select(kind, codes) if _holds(rule, context.ir_version)]
        for rule in rules[kind]:
            arguments = () if thing is context else (context,)
            for finding in rule.check(thing, *arguments):
                if finding.code[:2] == MISFITS:
                    misfits.add(finding.place)
                if finding.code in codes and (finding.code[:1] != INFERRED or finding.place not in misfits):
                    yield finding


def _holds(rule: Rule[Finding], ir_version: int) -> bool:
    """Return whether a rule holds for models of an IR version; both of its limits are inclusive.

    A negative IR version counts as 0, before all limits.
    """
    return rule.since <= max(ir_version, 0) and (rule.until is None or ir_version <= rule.until)
