"""The conformance corpus: the examples of operators as test cases in the layout of onnx's backend tests.

    node/<name>/model.onnx, data.json (the tolerances), test_data_set_0/input_0.pb …, output_0.pb …
    invalid/<name>/…       without outputs: a constraint is broken, and a runtime should refuse it
    random/<name>/…        without outputs: only their types and shapes are determined
    manifest.json          facts of each case, the judges of its outputs, the hashes of its files

The files depend on the operators alone. Outputs that contradict the kernel of their operator, its function body or
its lowering are findings and no cases.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

from opset.budget import Budget
from opset.errors import Finding, FindingList, ModelError, OpsetError
from opset.file_names import slug
from opset.model.attributes import attribute_value
from opset.model.elements import NUMBERS
from opset.opsets.registry import Registry
from opset.opsets.releases import is_released
from opset.output_folder import Author, WriteCounts, write_folder
from opset.schemas.example import Example, ExampleValue, example_versions, is_random
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name
from opset.schemas.status import ground_of, status_of
from opset.workflow.corpus.judgements import Judgements

if TYPE_CHECKING:
    from opset.workflow.corpus.judging import Judge

AUTHOR = Author("opset testgen", ".opset-corpus", parts=True)
FORMAT = 1
DATA = "test_data_set_0"
NODE, INVALID, RANDOM = "node", "invalid", "random"
_WRAPPERS = re.compile(r"\b(?:optional|seq|map|(?:sparse_)?tensor)\(|[),]")
Progress = Callable[[int, int], None]


class Pick(NamedTuple):
    """An example that becomes a case, at one version of its operator; `name` is the name of the case."""

    schema: OpSchema
    example: Example
    name: str

    @property
    def kind(self) -> str:
        """The kind of the case, which is also its folder.

        It is "invalid" if the example breaks a constraint, "random" if its outputs are random, else "node".
        """
        if self.example.error:
            return INVALID
        return RANDOM if is_random(self.example) else NODE


class Corpus(NamedTuple):
    """The files of a corpus by path, the manifest's entries, and findings about examples that cannot become cases."""

    files: dict[str, bytes]
    cases: list[dict[str, Any]]
    findings: FindingList


def pick_cases(
    registry: Registry,
    operators: Iterable[Sequence[OpSchema]],
    every_version: bool = False,
    wanted: Mapping[Any, Set[int]] = {},
) -> list[Pick]:
    """Return the examples that become cases, each with the version at which it is run.

    The picks are sorted by domain, operator, version and name. No example is run at a version that withdraws the
    operator.

    Args:
        registry: Operators with their examples.
        operators: All versions of each operator.
        every_version: Whether an example is run at every version for which it holds. If not, it is run only at the
            first.
        wanted: The only versions at which examples of an operator are run, by (domain, name) of the operator. For an
            operator that is no key, `every_version` decides.
    """
    picks = []
    labels = _domain_labels(registry)
    for versions in operators:
        schemas = {schema.since_version: schema for schema in versions}
        domain, name = versions[0].domain, versions[0].name
        only = wanted.get((domain, name))
        for example in registry.examples(name, domain):
            held = [each for each in example_versions(example, schemas) if not schemas[each].deprecated]
            if only is not None:
                held = [each for each in held if each in only]
            elif not every_version:
                held = held[:1]
            for version in held:
                title = f"test_{labels[domain]}{name.lower()}_v{version}_{example.name}"
                picks.append(Pick(schemas[version], example, slug(title)))
    return sorted(picks, key=lambda each: (each.schema.domain, each.schema.name, each.schema.since_version, each.name))


def _domain_labels(registry: Registry) -> dict[str, str]:
    """Return the prefix that names of test cases have, by domain, in lower case: `{"": "", "com.acme": "acme_"}`.

    The prefix is the last word of the domain. If another domain has the same last word, the prefix is all words of the
    domain: "com_acme_". Upper and lower case do not count as different.
    """
    last = [domain_name(domain).lower().rpartition(".")[2] for domain in registry.domains]
    labels = {"": ""}
    for domain, word in zip(registry.domains, last, strict=True):
        if domain:
            label = domain.replace(".", "_") if last.count(word) > 1 else word
            labels[domain] = f"{label.lower()}_"
    return labels


def build_corpus(
    registry: Registry, picks: Sequence[Pick], progress: Progress | None = None, budget: Budget | None = None
) -> Corpus:
    """Check examples by their kernels, function bodies and lowerings, and return the corpus of their test cases.

    Some examples become findings of the corpus in place of cases: T211 or T212 if an implementation contradicts the
    example, T213 if it cannot be written as a case or if an earlier case has the same name. An example that nothing can
    compute is still a case.

    Args:
        registry: Operators with their kernels.
        picks: Examples that become cases.
        progress: Called after each example with the number of examples done so far, and the number of all examples.
        budget: Work of all evaluations together.

    Raises:
        BudgetExceeded: If the budget is used up.
    """
    from opset.workflow.corpus.judging import Judge  # which imports numpy

    corpus = Corpus({}, [], FindingList())
    judge = Judge(registry, budget)
    judgements = Judgements(registry)
    names: set[str] = set()
    for done, pick in enumerate(picks, 1):
        try:
            if pick.name.lower() in names:
                message = "two examples would be one case"
                raise OpsetError(Finding("T213", message, help="give one of them another name"))
            _add_case(corpus, registry, judge, judgements, pick)
            names.add(pick.name.lower())
        except OpsetError as error:
            schema = pick.schema
            place = f"{domain_name(schema.domain)} {schema.name} {schema.since_version}, example {pick.example.name}"
            corpus.findings.extend(each._replace(place=place) for each in error.findings)
        if progress is not None:
            progress(done, len(picks))
    lines = ",\n".join(json.dumps(case) for case in corpus.cases)
    corpus.files["manifest.json"] = f'{{"format": {FORMAT}, "cases": [\n{lines}\n]}}\n'.encode()
    return corpus


def write_corpus(folder: str, corpus: Corpus) -> WriteCounts:
    """Write a corpus to a folder, and return the counts of files written and removed.

    Files that have the same content already are not written. Files of an earlier corpus that are not in the new one are
    removed. Raises UsageError U102 if files that `opset testgen` did not write are in the way, U103 if the manifest is
    damaged, U104 if writing fails.
    """
    return write_folder(folder, AUTHOR, "corpus", corpus.files)


def _add_case(corpus: Corpus, registry: Registry, judge: Judge, judgements: Judgements, pick: Pick) -> None:
    """Add the files of a case to a corpus, and an entry to its list of cases.

    Raises OpsetError T213 if the example cannot be written as a case, T211 or T212 if an implementation contradicts it;
    then nothing is added.
    """
    from opset.reference.example_models import model_of, value_of
    from opset.workflow.corpus.judging import case_tolerance

    schema, example = pick.schema, pick.example
    try:
        model = _complete_model(model_of(schema, example), schema, example)
        feeds = {f"input_{index}": value_of(each) for index, each in enumerate(example.inputs) if each is not None}
        expected = [] if pick.kind != NODE else [value_of(each) for each in example.outputs or () if each is not None]
        files = {"model.onnx": model.SerializeToString(deterministic=True)}
        inputs = zip(feeds, feeds.values(), _value_types(example.inputs), strict=True)
        files |= {f"{DATA}/input_{number}.pb": _tensor_bytes(*each) for number, each in enumerate(inputs)}
        if pick.kind == NODE:
            named = [each.name for each in model.graph.output]
            outputs = zip(named, expected, _value_types(example.outputs or ()), strict=True)
            files |= {f"{DATA}/output_{number}.pb": _tensor_bytes(*each) for number, each in enumerate(outputs)}
    except (ModelError, ValueError, OverflowError) as error:
        why = error.why or error.message if isinstance(error, ModelError) else str(error)
        raise OpsetError(Finding("T213", "the example cannot be written as a case", why=why)) from error
    judged_by = judge.judge_example(schema, example)
    judged_by += judgements.agreeing_judges(schema, example) if pick.kind == NODE else []
    rtol_atol, reason = case_tolerance(example, expected) if pick.kind == NODE else (None, "")
    if rtol_atol is not None:
        files["data.json"] = f"{json.dumps(rtol_atol)}\n".encode()
    values = [each for each in (*example.inputs, *(example.outputs or ())) if each is not None]
    shapes = [{"type": each.type, "shape": each.shape} for each in example.outputs or () if each is not None]
    # Of a map, the types of its keys and values count.
    elements = {word for each in values for word in _WRAPPERS.sub(" ", each.type).split()}
    shows = example.doc or example.name.replace("_", " ")
    if example.error:
        constraint = registry.documentation(schema).constraints.get(example.error, "")
        shows = f"{example.error}: {constraint}".rstrip(": ")
    paths = {f"{pick.kind}/{pick.name}/{path}": data for path, data in sorted(files.items())}
    corpus.files.update(paths)
    corpus.cases.append(
        {
            "name": pick.name,
            "kind": pick.kind,
            "domain": domain_name(schema.domain),
            "operator": schema.name,
            "version": schema.since_version,
            "opsets": {domain_name(each.domain): each.version for each in model.opset_import},
            "ir_version": model.ir_version,
            "example": example.name,
            "shows": shows,
            "status": status_of(example),
            **({"because": ground} if (ground := ground_of(example)) else {}),
            **({"error": example.error} if example.error else {}),
            "types": sorted(elements),
            **({"outputs": shapes} if pick.kind == RANDOM else {}),
            "tolerance": rtol_atol,
            "tolerance_reason": reason,
            "judged_by": judged_by,
            "files": {path: hashlib.sha256(data).hexdigest() for path, data in paths.items()},
        }
    )


def _value_types(values: Iterable[ExampleValue | None]) -> Iterator[str]:
    """Return an iterator of the types of values, such as "tensor(float)"; each None among the values is left out."""
    return (each.type for each in values if each is not None)


def _tensor_bytes(name: str, value: Any, type_: str) -> bytes:
    """Return a value as the bytes of a .pb file with a TensorProto, SequenceProto, OptionalProto or MapProto.

    `name` is the name in the message, `type_` the type of the value, such as "tensor(float)". Raises ModelError M206 if
    no message holds the value.
    """
    from opset.model.arrays import message_of

    data: bytes = message_of(name, value, type_).SerializeToString(deterministic=True)
    return data


def _complete_model(model: Any, schema: OpSchema, example: Example) -> Any:
    """Add the types of outputs to the ModelProto of an example, in place, and return the model.

    An output whose type is not known gets none. If the operator's domain is not one of onnx, the IR version becomes the
    lowest one, from 3 on, that the features of the model need.
    """
    from opset.reference.example_models import type_proto

    values = [each for each in example.outputs or () if each is not None]
    for output, value in zip(model.graph.output, values, strict=False):
        output.type.CopyFrom(type_proto(value.type, value.shape))
    if example.outputs is None:
        for output, kind in zip(model.graph.output, _output_types(model, schema, example), strict=False):
            if kind:
                output.type.CopyFrom(type_proto(kind))
    if not is_released(schema.domain):
        from opset.model.features import body_features, model_features
        from opset.model.graph.index import bodies

        lowest = 3
        found = [*model_features(model), *(each for body in bodies(model) for each, _ in body_features(body, lowest))]
        model.ir_version = max([lowest, *(each.ir_version for each in found if not each.is_annotation)])
    return model


def _output_types(model: Any, schema: OpSchema, example: Example) -> Iterator[str]:
    """Yield the type of each declared output of an operator, for an example that states no outputs.

    It is the first of these that is known:

    - the type of an input with the same type constraint;
    - the only allowed type;
    - the type whose elements the attribute `to` or `dtype` names.

    The type is "" if none is known, or if the output does not allow it. `model` is the ModelProto of the example; its
    first node is the operator's.
    """
    bound = {}
    for index, value in enumerate(example.inputs):
        if value is not None:
            bound[schema.inputs[min(index, len(schema.inputs) - 1)].type] = value.type
    named = [attribute_value(each) for each in model.graph.node[0].attribute if each.name in ("to", "dtype")]
    elements = {number: name for name, number in NUMBERS.items()}
    for output in schema.outputs:
        allowed = schema.allowed_types(output)
        type_ = bound.get(output.type, allowed[0] if len(allowed) == 1 else "")
        if not type_ and named:
            type_ = f"tensor({elements.get(named[0], '')})"
        yield type_ if type_ in allowed else ""
