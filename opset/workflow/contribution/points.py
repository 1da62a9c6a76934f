"""Points of the checklist of a contribution: what is written for an operator, and whether it agrees."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from opset.docgen.markdown import operator_section
from opset.errors import RunError, safe_text
from opset.inference.registration import LAYER as RULES
from opset.opsets.releases import RELEASES
from opset.reference.example_models import model_of
from opset.reference.registration import LAYER as KERNELS
from opset.schemas.model import Example, OpSchema
from opset.schemas.names import shown
from opset.version_converter.registration import LAYER as ADAPTERS
from opset.workflow.contribution.candidate import (
    CONVERSION,
    DESCRIPTION,
    DOCUMENTATION,
    INFERENCE,
    MISSING,
    NOT_APPLICABLE,
    OPEN,
    PASSED,
    PROPOSAL,
    REFERENCE,
    VERSION,
    WITHDRAWAL,
    Candidate,
    Item,
    counted,
    point,
)
from opset.workflow.corpus.cases import corpus, picked
from opset.workflow.examples.bench import disagreements
from opset.workflow.examples.crossings import broken, conversion

# The proposal.


@point(PROPOSAL)
def function(it: Candidate) -> Iterator[Item]:
    """A function body, where other operators express it."""
    if it.schema.function:
        count = len(it.schema.function)
        yield Item(PASSED, f"it has {count} function bod{'y' if count == 1 else 'ies'}", it.place("function"))
    else:
        help = "write 'function:', or state why other operators do not express it"
        yield Item(OPEN, "it has no function body", it.place(), help)


@point(PROPOSAL)
def model(it: Candidate) -> Iterator[Item]:
    """A model that needs it."""
    yield Item(OPEN, "which model needs it is not known here", it.place(), "name one that others can see")


@point(PROPOSAL)
def framework(it: Candidate) -> Iterator[Item]:
    """A framework that has it."""
    named = [each for each in it.docs.counterparts if each != "numpy"]
    why = f"it names counterparts in {', '.join(named)}" if named else "it names no counterpart in a framework"
    yield Item(OPEN, why, it.place("counterparts"), "say which framework has it, and where it differs")


@point(PROPOSAL)
def numpy(it: Candidate) -> Iterator[Item]:
    """The semantics of numpy, where numpy has it."""
    text = it.docs.counterparts.get("numpy")
    if text:
        yield Item(PASSED, f"numpy: {text}", it.place("counterparts", "numpy"))
    else:
        help = "add 'counterparts: {numpy: …}', or state that numpy has no such function"
        yield Item(OPEN, "it names no counterpart in numpy", it.place("counterparts"), help)


@point(PROPOSAL)
def attributes(it: Candidate) -> Iterator[Item]:
    """Attributes rather than inputs."""
    kinds = ("int", "uint", "bool", "string")
    found = [
        each.name
        for each in it.schema.inputs[1:]
        if each.type != it.schema.inputs[0].type
        and all(type_.removeprefix("tensor(").startswith(kinds) for type_ in it.schema.allowed(each))
    ]
    for name in found:
        why = f"the input {name} holds integers, flags or text alone"
        yield Item(OPEN, why, it.place("inputs", name), "make it an attribute, or state why it has to be computed")
    if not found:
        yield Item(PASSED, "no further input holds integers, flags or text alone", it.place("inputs"))


@point(PROPOSAL)
def general(it: Candidate) -> Iterator[Item]:
    """No more complex than its uses, and as general as is simple."""
    yield Item(OPEN, "no machine can weigh this", it.place(), "say which cases were left out, and why")


# The description.


@point(DESCRIPTION, withdrawn=None)
def doc(it: Candidate) -> Iterator[Item]:
    """A description that leaves nothing open."""
    gaps = []
    if not it.docs.doc.strip():
        gaps.append(Item(MISSING, "it says nothing about itself", it.place("doc"), "write 'doc:'"))
    for part in ("inputs", "outputs", "attributes"):
        for name, phrase in getattr(it.docs, part).items():
            if not phrase.strip():
                gaps.append(Item(MISSING, f"{name} has no doc", it.place(part, name), "write 'doc:'"))
    if "special_cases" not in it.operator.root.value and not it.schema.deprecated:
        help = "add 'special_cases', a list, which is empty where there are none"
        gaps.append(Item(MISSING, "it names no special cases", it.place("special_cases"), help))
    yield from gaps or [Item(PASSED, "it, its parameters and its special cases have prose", it.place("doc"))]


@point(DESCRIPTION)
def page(it: Candidate) -> Iterator[Item]:
    """Examples in the description."""
    found = [*it.results]
    if found:
        yield Item(PASSED, f"{counted(len(found))} on its page", it.example_place(found[0]))
    else:
        yield Item(MISSING, "no example with outputs holds for it", it.end, "add one below 'examples:'")


@point(DESCRIPTION)
def counterparts(it: Candidate) -> Iterator[Item]:
    """Its counterparts in frameworks."""
    if it.docs.counterparts:
        yield Item(PASSED, f"it names {', '.join(it.docs.counterparts)}", it.place("counterparts"))
    else:
        yield Item(OPEN, "it names no counterparts", it.place(), "add 'counterparts:', or state that there are none")


@point(DESCRIPTION)
def formula(it: Candidate) -> Iterator[Item]:
    """A formula or pseudo-code."""
    if it.docs.formula:
        yield Item(PASSED, "it has a formula", it.place("formula"))
    elif it.schema.function:
        yield Item(PASSED, "its function body is its pseudo-code", it.place("function"))
    else:
        help = "add 'formula:', or state that the words of 'doc' say all of it"
        yield Item(OPEN, "it has neither a formula nor a function body", it.place("doc"), help)


# The reference implementation.


@point(REFERENCE)
def kernel(it: Candidate) -> Iterator[Item]:
    """A reference implementation."""
    if origin := it.origin(KERNELS, "kernel"):
        yield Item(PASSED, "it has a kernel", origin)
    else:
        yield it.lacks(KERNELS, "no kernel is written for it", it.place(), f"write one: {KERNELS.guide}")


@point(REFERENCE)
def computed(it: Candidate) -> Iterator[Item]:
    """Examples that the kernel computes."""
    yield from _examined(it, "kernel", "computed by the kernel")


def _examined(it: Candidate, part: str, what: str) -> Iterator[Item]:
    report = it.tested(part)
    for each in report.findings:
        help = each.help or f"opset test {it.title}@{it.since} shows it alone"
        yield Item(MISSING, f"{each.message}: {each.why}", each.place, help)
    if report.passed[part]:
        yield Item(PASSED, f"{counted(report.passed[part])} {what}", it.example_place(it.examples[0]))
    if not it.examples:
        yield Item(MISSING, "no example holds for it", it.end, "add one below 'examples:'")
    for (_, reason), count in report.skipped.items():
        yield Item(NOT_APPLICABLE, f"{counted(count)} not run: {reason}", it.place())


# The version.


@point(VERSION, withdrawn=None)
def since(it: Candidate) -> Iterator[Item]:
    """The version number."""
    domain = shown(it.schema.domain)
    locked = it.lock.get(domain, {})
    place = it.place("since")
    if str(it.since) in locked.get(it.schema.name, {}):
        yield Item(PASSED, "it is released, and locked", place)
        return
    if not locked:
        why = f"no version of {domain} is released"
        yield Item(NOT_APPLICABLE, why, place, f"at a release: opset lint --lock {safe_text(it.folder)}")
        return
    newest = max(int(since) for versions in locked.values() for since in versions)
    newest = max(newest, RELEASES[-1].opset_of(it.schema.domain))
    if it.since == newest + 1:
        yield Item(PASSED, f"{newest} is the newest released version of {domain}", place)
    else:
        why = f"{newest} is the newest released version of {domain}"
        yield Item(MISSING, why, place, f"write 'since: {newest + 1}'")


_CHANGE_RULES = ("S201", "S205", "S208", "S209", "S210", "S229")
"""The codes of lint rules for change blocks."""


@point(VERSION, withdrawn=None)
def change(it: Candidate) -> Iterator[Item]:
    """What changed from the version before."""
    if it.transition is None:
        yield Item(NOT_APPLICABLE, "it is the first version", it.place())
        return
    found = [each for each in it.linted if each.code in _CHANGE_RULES and it.holds(each.place)]
    for each in found:
        yield Item(MISSING, each.message, each.place, each.help or f"opset explain {each.code}")
    if not found:
        yield Item(PASSED, "its change block says what differs from the version before", it.place("change"))


@point(VERSION, withdrawn=None)
def rules(it: Candidate) -> Iterator[Item]:
    """No lint rule is broken."""
    for each in it.linted:
        yield Item(MISSING, f"{each.code}: {each.message}", each.place, each.help or f"opset explain {each.code}")
    if not it.linted:
        yield Item(PASSED, "opset lint finds nothing in its file", f"{it.operator.path}:1:1")


# Tests of conversions.


@point(CONVERSION, withdrawn=None)
def adapters(it: Candidate) -> Iterator[Item]:
    """Adapters up and down."""
    if it.transition is None:
        yield Item(NOT_APPLICABLE, "it is the first version", it.place())
        return
    change = it.transition.change
    for direction, declared in (("up", change.up), ("down", change.down)):
        place = it.place("change", "adapters", direction)
        if declared != "written":
            yield Item(PASSED, f"{direction}: {declared}", place)
        elif origin := it.origin(ADAPTERS, direction):
            yield Item(PASSED, f"{direction}: {declared}", origin)
        else:
            help = f"write @{direction}({it.schema.name!r}, since={it.since}): {ADAPTERS.guide}"
            yield it.lacks(ADAPTERS, f"{direction}: written, and there is none", place, help)


@point(CONVERSION, withdrawn=None)
def upgrade(it: Candidate) -> Iterator[Item]:
    """Examples that are converted up."""
    if it.transition is None:
        yield Item(NOT_APPLICABLE, "it is the first version; its examples go up once there is a newer one", it.place())
    else:
        yield from _crossed(it, it.transition.old, it.schema, it.transition.change.up)


@point(CONVERSION, withdrawn=None)
def downgrade(it: Candidate) -> Iterator[Item]:
    """Examples that are converted down."""
    if it.transition is None:
        yield Item(NOT_APPLICABLE, "it is the first version", it.place())
    elif it.schema.deprecated:
        yield Item(NOT_APPLICABLE, "it is withdrawn", it.place("deprecated"))
    else:
        yield from _crossed(it, it.schema, it.transition.old, it.transition.change.down)


def _crossed(it: Candidate, source: OpSchema, target: OpSchema, declared: str) -> Iterator[Item]:
    """Yield whether examples of one version compute the same at another one."""
    way = f"{source.since_version} -> {target.since_version}"
    same: list[Example] = []
    refused: Counter[str] = Counter()
    for example in it.bench.examples(source):
        there = conversion(it.bench, model_of(source, example), source, target.since_version)
        if failed := broken(there):
            help = "correct the adapter: opset explain T110"
            yield Item(MISSING, f"{way}: an adapter fails on {example.name}: {failed}", it.example_place(example), help)
            continue
        if there.model is None:
            refused.update({each.code for each in there.refusals})
            continue
        try:
            wrong = disagreements(example, it.bench.run(there.model.proto, example))
        except RunError as error:
            wrong = [f"{error.message}: {error.why}"]
        if wrong:
            why = f"{way}: {example.name} computes something else: {wrong[0]}"
            yield Item(MISSING, why, it.example_place(example), "correct the adapter")
        else:
            same.append(example)
    left = "".join(f"; {count} refused ({code})" for code, count in sorted(refused.items()))
    if same:
        yield Item(PASSED, f"{way}: {counted(len(same))} computed alike{left}", it.example_place(same[0]))
    elif declared.startswith("impossible"):
        yield Item(NOT_APPLICABLE, f"{way}: {declared}", it.place("change", "adapters"))
    else:
        help = f"add an example with outputs that holds at version {source.since_version} and can be converted"
        yield Item(MISSING, f"{way}: no example is converted{left}", it.end, help)


# Documentation and test data.


@point(DOCUMENTATION, withdrawn=None)
def documentation(it: Candidate) -> Iterator[Item]:
    """Documentation, generated."""
    lines = operator_section(it.registry, it.schema.domain, it.schema.name)
    why = f"its page is made of the file: {len(lines)} lines of Markdown"
    yield Item(PASSED, why, it.place("doc"), f"opset show {it.title}, or opset docs")


@point(DOCUMENTATION)
def test_data(it: Candidate) -> Iterator[Item]:
    """Test data, generated."""
    schema = it.schema
    versions = it.registry.versions(schema.name, schema.domain)
    picks = picked(it.registry, [versions], True, {(schema.domain, schema.name): {it.since}})
    made = corpus(it.registry, picks, budget=it.bench.budget)
    for each in made.findings:
        yield Item(MISSING, f"{each.message}: {each.why}", it.end, each.help or f"opset explain {each.code}")
    if made.cases:
        kinds = Counter(case["kind"] for case in made.cases)
        count = ", ".join(f"{kinds[kind]} {kind}" for kind in sorted(kinds))
        yield Item(PASSED, f"cases of opset testgen: {count}", it.end, f"opset testgen {it.title}@{it.since} -o DIR")
    elif not made.findings:
        yield Item(MISSING, "no example holds for it, so there are no cases", it.end, "add examples")


# Inference.


@point(INFERENCE)
def inference(it: Candidate) -> Iterator[Item]:
    """A rule or function for its outputs."""
    if it.schema.shape:
        yield Item(PASSED, f"by the rule {it.schema.shape}", it.place("shape"))
    elif origin := it.origin(RULES, "infer"):
        yield Item(PASSED, "by a function", origin)
    else:
        help = f"name a rule, 'shape: same(X)', or write a function: {RULES.guide}"
        yield it.lacks(RULES, "nothing says how its outputs are inferred", it.place(), help)


@point(INFERENCE)
def inferred(it: Candidate) -> Iterator[Item]:
    """Tests of the inference."""
    yield from _examined(it, "inference", "inferred, with sizes and with dim_params")


@point(INFERENCE)
def rank(it: Candidate) -> Iterator[Item]:
    """The rank at least."""
    report = it.tested("inference")
    gaps = {each.example: each for each in report.gaps if "[" not in each.known}
    for each in it.examples:
        if each.name in gaps:
            why = f"the rank of an output is not known in the example {each.name} ({gaps[each.name].form})"
            yield Item(OPEN, why, it.example_place(each), "state why data alone decides it")
    if not report.passed["inference"]:
        yield Item(NOT_APPLICABLE, "no example is inferred", it.place("shape"))
    elif not gaps:
        yield Item(PASSED, "the rank of every output is known", it.place("shape"))


# Withdrawing an operator.


@point(WITHDRAWAL, withdrawn=True)
def replacement(it: Candidate) -> Iterator[Item]:
    """An operator that replaces it."""
    schema = it.schema
    place = it.place("replacement")
    if not schema.replacement:
        yield Item(MISSING, "it names no replacement", it.place("deprecated"), "write 'replacement:'")
    elif it.registry.versions(schema.replacement, schema.domain) or it.registry.versions(schema.replacement):
        yield Item(PASSED, f"{schema.replacement} replaces it", place)
    else:
        yield Item(MISSING, f"there is no operator {schema.replacement}", place, "add it first")


@point(WITHDRAWAL, withdrawn=True)
def replacement_named(it: Candidate) -> Iterator[Item]:
    """Documentation that leads to the replacement."""
    if it.schema.replacement and re.search(rf"\b{re.escape(it.schema.replacement)}\b", it.docs.doc):
        yield Item(PASSED, f"'doc' names {it.schema.replacement}", it.place("doc"))
    else:
        help = "say which operator replaces it, and how its inputs and attributes become those of the other one"
        yield Item(MISSING, "'doc' does not name the replacement", it.place("doc"), help)


@point(WITHDRAWAL, withdrawn=True)
def announced(it: Candidate) -> Iterator[Item]:
    """Release notes that name it."""
    why = "release notes are not part of the schemas"
    yield Item(OPEN, why, it.place("deprecated"), "name it in the release notes")
