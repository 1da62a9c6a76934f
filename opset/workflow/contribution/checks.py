"""Checks of the checklist that the files of an operator answer: completeness and agreement."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from opset.docgen.markdown import operator_section
from opset.errors import Finding, RunError, safe_text
from opset.inference.registration import LAYER as RULES
from opset.opsets.releases import RELEASES
from opset.plain_text import count_text
from opset.reference.registration import LAYER as KERNELS
from opset.schemas.example import Example
from opset.schemas.lint.context import LINT
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name
from opset.version_converter.registration import LAYER as ADAPTERS
from opset.workflow.contribution.reviewed_version import (
    CONVERSION,
    DESCRIPTION,
    DOCUMENTATION,
    INFERENCE,
    MISSING,
    NOT_APPLICABLE,
    OPEN,
    PASSED,
    POINTS,
    PROPOSAL,
    REFERENCE,
    VERSION,
    WITHDRAWAL,
    Evidence,
    ReviewedVersion,
    is_any,
    is_withdrawn,
)
from opset.workflow.corpus.cases import build_corpus, pick_cases
from opset.workflow.examples.conversions import adapter_failure, convert_example
from opset.workflow.examples.functions import NEVER_CALLED
from opset.workflow.examples.runner import disagreements


def quote_rules(version: ReviewedVersion, *codes: str) -> Iterator[Evidence]:
    """Yield evidence in the state MISSING for each finding of some lint rules on a line of the version in the YAML.

    `codes` are the codes of the rules, such as "S212". Without such findings, nothing is yielded.
    """
    for finding in version.lint_findings:
        if finding.code in codes and version.has_line(finding.place):
            yield _quotation(finding)


def _quotation(finding: Finding) -> Evidence:
    """Return a finding of lint as evidence in the state MISSING.

    If the finding has no help, the help is `opset explain CODE`.
    """
    return Evidence(MISSING, finding.message, finding.place, finding.help or f"opset explain {finding.code}")


# The proposal.


@POINTS.rule("function", ReviewedVersion, clause=PROPOSAL, phrase="A function body, where other operators express it")
def check_function_body(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield one piece of evidence: PASSED if the version has a function body, else OPEN, for the author to state.

    An operator needs a function body if other operators can express it, which only a person can see.
    """
    if version.schema.function:
        count = len(version.schema.function)
        why = f"it has {count} function bod{'y' if count == 1 else 'ies'}"
        yield Evidence(PASSED, why, version.place_of("function"))
    else:
        help = "write 'function:', or state why other operators do not express it"
        yield Evidence(OPEN, "it has no function body", version.place_of(), help)


@POINTS.rule("model", ReviewedVersion, clause=PROPOSAL, phrase="A model that needs it")
def check_models(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield one piece of evidence, always OPEN: only the author can name a model that needs the operator."""
    yield Evidence(OPEN, "which model needs it is not known here", version.place_of(), "name one that others can see")


@POINTS.rule("framework", ReviewedVersion, clause=PROPOSAL, phrase="A framework that has it")
def check_frameworks(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield one piece of evidence, always OPEN: only the author can say which framework has the operator.

    Its reason names the frameworks under `counterparts` in the YAML, except numpy.
    """
    named = [each for each in version.docs.counterparts if each != "numpy"]
    why = f"it names counterparts in {', '.join(named)}" if named else "it names no counterpart in a framework"
    yield Evidence(OPEN, why, version.place_of("counterparts"), "say which framework has it, and where it differs")


@POINTS.rule("numpy", ReviewedVersion, clause=PROPOSAL, phrase="The semantics of numpy, where numpy has it")
def check_numpy(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield one piece of evidence: PASSED if `counterparts` in the YAML names numpy, else OPEN.

    OPEN stands for evidence that the author has to state: here, that numpy has no such function.
    """
    text = version.docs.counterparts.get("numpy")
    if text:
        yield Evidence(PASSED, f"numpy: {text}", version.place_of("counterparts", "numpy"))
    else:
        help = "add 'counterparts: {numpy: …}', or state that numpy has no such function"
        yield Evidence(OPEN, "it names no counterpart in numpy", version.place_of("counterparts"), help)


@POINTS.rule("attributes", ReviewedVersion, clause=PROPOSAL, phrase="Attributes rather than inputs")
def check_attributes(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield evidence that is OPEN for each input that can hold only integers, flags or text: should it be an attribute?

    The first input, and inputs with the same type as the first, are left out. If there is no such input, the evidence
    is PASSED.
    """
    kinds = ("int", "uint", "bool", "string")
    names = [
        each.name
        for each in version.schema.inputs[1:]
        if each.type != version.schema.inputs[0].type
        and all(type_.removeprefix("tensor(").startswith(kinds) for type_ in version.schema.allowed_types(each))
    ]
    for name in names:
        why = f"the input {name} holds integers, flags or text alone"
        help = "make it an attribute, or state why it has to be computed"
        yield Evidence(OPEN, why, version.place_of("inputs", name), help)
    if not names:
        yield Evidence(PASSED, "no further input holds integers, flags or text alone", version.place_of("inputs"))


@POINTS.rule(
    "general", ReviewedVersion, clause=PROPOSAL, phrase="No more complex than its uses, and as general as is simple"
)
def check_generality(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield one piece of evidence, always OPEN.

    It asks whether the operator is simple and general enough, which only people can judge.
    """
    yield Evidence(OPEN, "no machine can weigh this", version.place_of(), "say which cases were left out, and why")


# The description.


@POINTS.rule(
    "doc", ReviewedVersion, clause=DESCRIPTION, applies=is_any, phrase="A description that leaves nothing open"
)
def check_description(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield evidence that is MISSING for each part of the version that lacks a description; PASSED if none does.

    The version itself and its inputs, outputs and attributes need a description. Unless the version is withdrawn, its
    file must have the key `special_cases`, too, which may be an empty list.
    """
    gaps = [each._replace(help="write 'doc:'") for each in quote_rules(version, "S212", "S213")]
    if not version.schema.deprecated:
        gaps += map(_quotation, LINT.by_code["S239"].check(version.operator, None))  # lint demands it of the standard
    why = "it, its parameters and its special cases have prose"
    yield from gaps or [Evidence(PASSED, why, version.place_of("doc"))]


@POINTS.rule("page", ReviewedVersion, clause=DESCRIPTION, phrase="Examples in the description")
def check_examples_on_page(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield one piece of evidence: PASSED if an example with outputs holds for the version, else MISSING.

    The page of the operator in the documentation shows such examples.
    """
    examples = [*version.examples_with_outputs]
    if examples:
        yield Evidence(
            PASSED, f"{count_text(len(examples), 'example')} on its page", version.example_place(examples[0])
        )
    else:
        why = "no example with outputs holds for it"
        yield Evidence(MISSING, why, version.examples_place, "add one below 'examples:'")


@POINTS.rule("counterparts", ReviewedVersion, clause=DESCRIPTION, phrase="Its counterparts in frameworks")
def check_counterparts(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield one piece of evidence: PASSED if `counterparts` in the YAML names any framework, else OPEN.

    OPEN stands for evidence that the author has to state.
    """
    if version.docs.counterparts:
        yield Evidence(PASSED, f"it names {', '.join(version.docs.counterparts)}", version.place_of("counterparts"))
    else:
        help = "add 'counterparts:', or state that there are none"
        yield Evidence(OPEN, "it names no counterparts", version.place_of(), help)


@POINTS.rule("formula", ReviewedVersion, clause=DESCRIPTION, phrase="A formula or pseudo-code")
def check_formula(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield one piece of evidence: PASSED if the version has a formula or a function body, else OPEN.

    OPEN stands for evidence that the author has to state.
    """
    if version.docs.formula:
        yield Evidence(PASSED, "it has a formula", version.place_of("formula"))
    elif version.schema.function:
        yield Evidence(PASSED, "its function body is its pseudo-code", version.place_of("function"))
    else:
        help = "add 'formula:', or state that the words of 'doc' say all of it"
        yield Evidence(OPEN, "it has neither a formula nor a function body", version.place_of("doc"), help)


# The reference implementation.


@POINTS.rule("kernel", ReviewedVersion, clause=REFERENCE, phrase="A reference implementation")
def check_kernel(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield one piece of evidence: PASSED with the place of the version's kernel, or MISSING if it has none."""
    if origin := version.function_origin(KERNELS, "kernel"):
        yield Evidence(PASSED, "it has a kernel", origin)
    else:
        help = f"write one: {KERNELS.guide}"
        yield version.missing_function(KERNELS, "no kernel is written for it", version.place_of(), help)


@POINTS.rule("computed", ReviewedVersion, clause=REFERENCE, phrase="Examples that the kernel computes")
def check_computed_examples(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield evidence of whether the kernel computes the outputs of the examples, as `opset test` finds.

    - MISSING for each finding, and if the version has no examples;
    - PASSED once, for all examples that are computed, if any is;
    - NOT_APPLICABLE for each reason why examples were not run.
    """
    yield from _test_results(version, "kernel", "computed by the kernel")


def _test_results(version: ReviewedVersion, part: str, what: str) -> Iterator[Evidence]:
    """Yield evidence from one part of `opset test` on the version.

    - MISSING for each finding, and if the version has no examples;
    - PASSED once, with the number of tests that passed, if any did;
    - NOT_APPLICABLE for each reason why tests were not run.

    Args:
        version: The version under review.
        part: A key of PARTS, such as "kernel".
        what: The end of the text "3 examples …", such as "computed by the kernel".
    """
    report = version.test_part(part)
    for each in report.findings:
        if each.code == NEVER_CALLED and f" of {version.title} " not in each.message:
            continue  # a function in the domain's files for another operator
        help = each.help or f"opset test {version.title}@{version.since} shows it alone"
        yield Evidence(MISSING, f"{each.message}: {each.why}", each.place, help)
    if report.passed[part]:
        yield Evidence(
            PASSED, f"{count_text(report.passed[part], 'example')} {what}", version.example_place(version.examples[0])
        )
    if not version.examples:
        yield Evidence(MISSING, "no example holds for it", version.examples_place, "add one below 'examples:'")
    for (_, reason), count in report.skipped.items():
        yield Evidence(NOT_APPLICABLE, f"{count_text(count, 'example')} not run: {reason}", version.place_of())


# The version.


@POINTS.rule("since", ReviewedVersion, clause=VERSION, applies=is_any, phrase="The version number")
def check_version_number(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield one piece of evidence of whether the version's number is right: PASSED or MISSING.

    It is right if lock.json lists the version as released, or if the number is the domain's newest released version
    plus 1. If no version of the domain is in the lock, the evidence is NOT_APPLICABLE.
    """
    domain = domain_name(version.schema.domain)
    locked = version.lock.get(domain, {})
    place = version.place_of("since")
    if str(version.since) in locked.get(version.schema.name, {}):
        yield Evidence(PASSED, "it is released, and locked", place)
        return
    if not locked:
        why = f"no version of {domain} is released"
        yield Evidence(NOT_APPLICABLE, why, place, f"at a release: opset lint --lock {safe_text(version.folder)}")
        return
    newest = max(int(since) for versions in locked.values() for since in versions)
    newest = max(newest, RELEASES[-1].opset_of(version.schema.domain))
    if version.since == newest + 1:
        yield Evidence(PASSED, f"{newest} is the newest released version of {domain}", place)
    else:
        why = f"{newest} is the newest released version of {domain}"
        yield Evidence(MISSING, why, place, f"write 'since: {newest + 1}'")


_CHANGE_RULES = ("S201", "S205", "S208", "S209", "S210", "S229")
"""The codes of lint rules for change blocks."""


@POINTS.rule("change", ReviewedVersion, clause=VERSION, applies=is_any, phrase="What changed from the version before")
def check_change_block(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield evidence that is MISSING for each fault of the `change:` block that lint finds; PASSED if there is none.

    A fault is, for example, a difference from the version before that the block does not declare. For the first version
    of the operator, the evidence is NOT_APPLICABLE.
    """
    if version.transition is None:
        yield Evidence(NOT_APPLICABLE, "it is the first version", version.place_of())
        return
    yield from [*quote_rules(version, *_CHANGE_RULES)] or [
        Evidence(PASSED, "its change block says what differs from the version before", version.place_of("change"))
    ]


@POINTS.rule("rules", ReviewedVersion, clause=VERSION, applies=is_any, phrase="No lint rule is broken")
def check_lint_rules(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield evidence that is MISSING for each finding of `opset lint` in the operator's file; PASSED if there is none.

    Findings about other versions of the operator count, too.
    """
    for each in version.lint_findings:
        yield Evidence(MISSING, f"{each.code}: {each.message}", each.place, each.help or f"opset explain {each.code}")
    if not version.lint_findings:
        yield Evidence(PASSED, "opset lint finds nothing in its file", f"{version.operator.path}:1:1")


# Tests of conversions.


@POINTS.rule("adapters", ReviewedVersion, clause=CONVERSION, applies=is_any, phrase="Adapters up and down")
def check_adapters(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield evidence for the adapter up, then for the adapter down.

    - If the `change:` block declares the adapter as derived or impossible: PASSED.
    - If the adapter is declared as written: PASSED if a function is registered for it, else MISSING.

    For the first version of the operator, the only evidence is NOT_APPLICABLE.
    """
    if version.transition is None:
        yield Evidence(NOT_APPLICABLE, "it is the first version", version.place_of())
        return
    change = version.transition.change
    for direction, declared in (("up", change.up), ("down", change.down)):
        place = version.place_of("change", "adapters", direction)
        if declared != "written":
            yield Evidence(PASSED, f"{direction}: {declared}", place)
        elif origin := version.function_origin(ADAPTERS, direction):
            yield Evidence(PASSED, f"{direction}: {declared}", origin)
        else:
            help = f"write @{direction}({version.schema.name!r}, since={version.since}): {ADAPTERS.guide}"
            yield version.missing_function(ADAPTERS, f"{direction}: written, and there is none", place, help)


@POINTS.rule("upgrade", ReviewedVersion, clause=CONVERSION, applies=is_any, phrase="Examples that are converted up")
def check_upgrade(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield evidence of whether examples of the version before, converted to this version, give the same outputs.

    - MISSING for each example whose outputs change, or on which an adapter fails;
    - PASSED once, if any example keeps its outputs;
    - if no example is converted, one piece of evidence: NOT_APPLICABLE if the adapter is declared impossible, else
      MISSING;
    - NOT_APPLICABLE for the first version of the operator.
    """
    if version.transition is None:
        why = "it is the first version; its examples go up once there is a newer one"
        yield Evidence(NOT_APPLICABLE, why, version.place_of())
    else:
        yield from _conversion_results(version, version.transition.old, version.schema, version.transition.change.up)


@POINTS.rule("downgrade", ReviewedVersion, clause=CONVERSION, applies=is_any, phrase="Examples that are converted down")
def check_downgrade(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield evidence of whether examples of this version, converted to the version before, give the same outputs.

    - MISSING for each example whose outputs change, or on which an adapter fails;
    - PASSED once, if any example keeps its outputs;
    - if no example is converted, one piece of evidence: NOT_APPLICABLE if the adapter is declared impossible, else
      MISSING;
    - NOT_APPLICABLE for the first version of the operator, and for a withdrawn one.
    """
    if version.transition is None:
        yield Evidence(NOT_APPLICABLE, "it is the first version", version.place_of())
    elif version.schema.deprecated:
        yield Evidence(NOT_APPLICABLE, "it is withdrawn", version.place_of("deprecated"))
    else:
        yield from _conversion_results(version, version.schema, version.transition.old, version.transition.change.down)


def _conversion_results(
    version: ReviewedVersion, source: OpSchema, target: OpSchema, declared: str
) -> Iterator[Evidence]:
    """Yield evidence of whether examples of `source`, converted to the version `target`, give the same outputs.

    - MISSING for each example whose outputs change or cannot be computed, or on which an adapter fails;
    - PASSED once, if any example keeps its outputs.

    An example whose conversion is refused yields nothing. If no example yields evidence, there is one piece:
    NOT_APPLICABLE if the adapter is declared impossible, else MISSING.

    `declared` is how the `change:` block says that the adapter is made: "derived", "written" or "impossible: REASON".
    """
    way = f"{source.since_version} -> {target.since_version}"
    same: list[Example] = []
    wrong = False
    refused: Counter[str] = Counter()
    for example in version.runner.examples(source):
        _, converted = convert_example(version.runner, source, example, target.since_version)
        if failed := adapter_failure(converted):
            why = f"{way}: an adapter fails on {example.name}: {failed}"
            yield Evidence(MISSING, why, version.example_place(example), "correct the adapter: opset explain T110")
            wrong = True
            continue
        if converted.model is None:
            refused.update({each.code for each in converted.refusals})
            continue
        try:
            differences = disagreements(example, version.runner.run(converted.model.proto, example))
        except RunError as error:
            differences = [f"{error.message}: {error.why}"]
        if differences:
            why = f"{way}: {example.name} computes something else: {differences[0]}"
            yield Evidence(MISSING, why, version.example_place(example), "correct the adapter")
            wrong = True
        else:
            same.append(example)
    left = "".join(f"; {count} refused ({code})" for code, count in sorted(refused.items()))
    if same:
        yield Evidence(
            PASSED, f"{way}: {count_text(len(same), 'example')} computed alike{left}", version.example_place(same[0])
        )
    elif declared.startswith("impossible") and not wrong:
        yield Evidence(NOT_APPLICABLE, f"{way}: {declared}", version.place_of("change", "adapters"))
    elif not wrong:
        help = f"add an example with outputs that holds at version {source.since_version} and can be converted"
        yield Evidence(MISSING, f"{way}: no example is converted{left}", version.examples_place, help)


# Documentation and test data.


@POINTS.rule("documentation", ReviewedVersion, clause=DOCUMENTATION, applies=is_any, phrase="Documentation, generated")
def check_documentation(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield one piece of evidence, always PASSED: the operator's page is generated from its file.

    The reason has the number of lines of the page.
    """
    lines = operator_section(version.registry, version.schema.domain, version.schema.name)
    why = f"its page is made of the file: {len(lines)} lines of Markdown"
    yield Evidence(PASSED, why, version.place_of("doc"), f"opset show {version.title}, or opset docs")


@POINTS.rule("test_data", ReviewedVersion, clause=DOCUMENTATION, phrase="Test data, generated")
def check_test_data(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield evidence of whether `opset testgen` can write test cases from the examples of the version.

    - MISSING for each example that cannot be written as a case, and if the version has no examples;
    - PASSED once, if there are cases, with their number by kind.
    """
    schema = version.schema
    versions = version.registry.versions(schema.name, schema.domain)
    picks = pick_cases(version.registry, [versions], wanted={(schema.domain, schema.name): {version.since}})
    corpus = build_corpus(version.registry, picks, budget=version.runner.budget)
    place = version.examples_place
    for each in corpus.findings:
        yield Evidence(MISSING, f"{each.message}: {each.why}", place, each.help or f"opset explain {each.code}")
    if corpus.cases:
        kinds = Counter(case["kind"] for case in corpus.cases)
        count = ", ".join(f"{kinds[kind]} {kind}" for kind in sorted(kinds))
        command = f"opset testgen {version.title}@{version.since} -o DIR"
        yield Evidence(PASSED, f"cases of opset testgen: {count}", place, command)
    elif not corpus.findings:
        yield Evidence(MISSING, "no example holds for it, so there are no cases", place, "add examples")


# Inference.


@POINTS.rule("inference", ReviewedVersion, clause=INFERENCE, phrase="A rule or function for its outputs")
def check_inference_rule(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield one piece of evidence: PASSED if a rule (`shape:`) or a function infers the outputs, else MISSING."""
    if version.schema.shape:
        yield Evidence(PASSED, f"by the rule {version.schema.shape}", version.place_of("shape"))
    elif origin := version.function_origin(RULES, "infer"):
        yield Evidence(PASSED, "by a function", origin)
    else:
        help = f"name a rule, 'shape: same(X)', or write a function: {RULES.guide}"
        yield version.missing_function(RULES, "nothing says how its outputs are inferred", version.place_of(), help)


@POINTS.rule("inferred", ReviewedVersion, clause=INFERENCE, phrase="Tests of the inference")
def check_inferred_examples(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield evidence of whether inference agrees with the examples, as `opset test` finds.

    Inference runs on each example twice: with the sizes of inputs as numbers, and with names (dim_params) in their
    place. The evidence is

    - MISSING for each finding, and if the version has no examples;
    - PASSED once, for all examples that agree, if any does;
    - NOT_APPLICABLE for each reason why examples were not run.
    """
    yield from _test_results(version, "inference", "inferred, with sizes and with dim_params")


@POINTS.rule("rank", ReviewedVersion, clause=INFERENCE, phrase="The rank at least")
def check_rank(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield evidence of whether inference knows the rank of each output in each example.

    - OPEN for each example in which it does not: the author has to state why;
    - PASSED once, if it knows all ranks;
    - NOT_APPLICABLE if inference agrees with no example.
    """
    report = version.test_part("inference")
    gaps = {each.example: each for each in report.gaps if "[" not in each.known}
    for each in version.examples:
        if each.name in gaps:
            why = f"the rank of an output is not known in the example {each.name} ({gaps[each.name].form})"
            yield Evidence(OPEN, why, version.example_place(each), "state why data alone decides it")
    if not report.passed["inference"]:
        yield Evidence(NOT_APPLICABLE, "inference agrees with no example", version.place_of("shape"))
    elif not gaps:
        yield Evidence(PASSED, "the rank of every output is known", version.place_of("shape"))


# Withdrawing an operator.


@POINTS.rule(
    "replacement", ReviewedVersion, clause=WITHDRAWAL, applies=is_withdrawn, phrase="An operator that replaces it"
)
def check_replacement(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield evidence of whether a withdrawn version names an existing operator that replaces it.

    It is MISSING for each finding of the lint rule S214 about this version, or PASSED once if there is none. The
    replacement is in the version's domain or in ai.onnx.
    """
    why = f"{version.schema.replacement} replaces it"
    yield from [*quote_rules(version, "S214")] or [Evidence(PASSED, why, version.place_of("replacement"))]


@POINTS.rule(
    "replacement_named",
    ReviewedVersion,
    clause=WITHDRAWAL,
    applies=is_withdrawn,
    phrase="Documentation that leads to the replacement",
)
def check_replacement_named(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield one piece of evidence: PASSED if the text `doc` of the version has the name of its replacement as a word.

    It is MISSING if the text does not have this name, or if the version has no replacement.
    """
    if version.schema.replacement and re.search(rf"\b{re.escape(version.schema.replacement)}\b", version.docs.doc):
        yield Evidence(PASSED, f"'doc' names {version.schema.replacement}", version.place_of("doc"))
    else:
        help = "say which operator replaces it, and how its inputs and attributes become those of the other one"
        yield Evidence(MISSING, "'doc' does not name the replacement", version.place_of("doc"), help)


@POINTS.rule("announced", ReviewedVersion, clause=WITHDRAWAL, applies=is_withdrawn, phrase="Release notes that name it")
def check_announcement(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield one piece of evidence, always OPEN: only a person can see whether the release notes name the operator."""
    why = "release notes are not part of the schemas"
    yield Evidence(OPEN, why, version.place_of("deprecated"), "name it in the release notes")
