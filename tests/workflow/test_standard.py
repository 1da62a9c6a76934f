"""Every example of every operator of the standard, at every version for which it holds, as `opset test` runs it.

Kernels, inference, function bodies, conversion and the claims of change blocks: what is expected is what the YAML says.
Kernels take all examples, each at its newest version. Inference, bodies and conversion take those that have something
that none before has: a version, attributes, inputs, outputs, choices, types and ranks. Newer versions come first, and
an example at the newest is converted to the first, too: by all adapters between them. Of a broken constraint, each
example at its newest version is taken. `python -m judges thorough` takes all.
"""

from functools import cache, lru_cache

import pytest

from judges.conformance.coverage import distinguished, features
from opset.opsets.registry import default_registry
from opset.reference.example_models import model_of
from opset.schemas.example import example_versions
from opset.schemas.names import domain_name
from opset.workflow.examples.examination import PARTS, Examination, ExampleRunner, examine_subject, subjects
from tests.bounds import THOROUGH

REGISTRY = default_registry()
VERSIONS = [
    pytest.param(schema, id=f"{domain_name(schema.domain)}-{schema.name}-{schema.since_version}")
    for domain in REGISTRY.domains
    for name in REGISTRY.operators(domain)
    for schema in REGISTRY.versions(name, domain)
]
# Operators whose outputs have sizes that only data decides, however small and constant it is; or not even a rank.
DEPENDS_ON_DATA = set(
    "NonZero Unique Compress NonMaxSuppression StringNormalizer StringSplit TfIdfVectorizer ImageDecoder "
    "If Loop Scan SequenceMap Gradient SequenceAt OptionalGetElement CastMap ConcatFromSequence".split()
)
# Where a size depends on what is a variable here, or on a number that is none, so that it gets a name of its own.
NAMED = {
    ("Resize", "size_of_a_region"),
    ("Resize", "not_larger"),
    ("Resize", "not_smaller"),
    ("Squeeze", "all_of_one"),
    ("Squeeze", "empty"),
}
# Transitions that some examples do not cross although they hold on both sides: the code of the refusal.
REFUSED = {
    ("AveragePool", 19, 22): "C204",  # a last window that holds only padding is left out from version 22 on
    ("Gather", 11, 1): "C202",  # indices that may be negative need arithmetic, which version 1 has for floats alone
    ("LpPool", 18, 22): "C204",
    ("MaxPool", 12, 22): "C204",
    ("RoiAlign", 16, 10): "C204",  # how many points a region has is computed, and it is moved, as before 16 none was
}
# Examples of broken constraints that inference does not report, although all inputs are constants: those of values
# that it does not follow. An entry that it does report has to be removed.
SEEN_BY_A_RUN = {
    "Bernoulli": ["above_one", "no_number"],
    "Cast": ["infinite_integer", "not_a_numeral"],
    "CastLike": ["not_a_numeral"],
    "CastMap": ["key_too_large"],
    "ConcatFromSequence": ["empty", "other_shapes"],
    "ConvInteger": ["wrong_number_of_zero_points"],
    "DictVectorizer": ["unknown_key"],
    "Div": ["integer_by_zero"],
    "Gradient": ["of_an_integer"],
    "Loop": ["stacking_other_shapes"],
    "MaxRoiPool": ["infinite_corner", "no_such_image"],
    "MaxUnpool": ["place_outside"],
    "MelWeightMatrix": ["edges_exchanged"],
    "Mod": ["integer_by_zero", "integer_by_zero_as_in_c"],
    "Multinomial": ["impossible"],
    "NegativeLogLikelihoodLoss": ["class_out_of_range", "negative_class"],
    "OneHotEncoder": ["unknown_category"],
    "OptionalGetElement": ["empty"],
    "Pow": ["integer_zero_to_negative", "integer_zero_to_negative_float"],
    "QLinearConv": ["zero_points_of_another_shape"],
    "QLinearMatMul": ["zero_point_of_another_shape"],
    "RegexFullMatch": ["back_reference"],
    "RoiAlign": ["infinite_corner", "no_such_image"],
    "RotaryEmbedding": ["position_out_of_range"],
    "Scan": ["stacking_other_shapes"],
    "SequenceAt": ["before_the_first", "nothing_there", "out_of_range"],
    "SequenceErase": ["empty", "out_of_range"],
    "SequenceInsert": ["out_of_range"],
    "SequenceMap": ["different_lengths"],
    "SoftmaxCrossEntropyLoss": ["class_out_of_range"],
    "TreeEnsemble": ["branch_to_nowhere", "circle"],
    "TreeEnsembleClassifier": ["vote_of_no_leaf"],
    "TreeEnsembleRegressor": ["branch_to_nowhere", "circle"],
}


def placed(domain, name):
    """Return the examples of an operator at each version for which they hold, the newest first."""
    return [
        (schema, example)
        for schema in reversed(REGISTRY.versions(name, domain))
        for example in REGISTRY.examples(name, domain)
        if example_versions(example, [schema.since_version])
    ]


@cache
def chosen(domain, name):
    """Return the versions and names of an operator's examples of which more than the kernel is examined."""
    found = placed(domain, name)
    if not THOROUGH:
        models = {(schema.since_version, example.name): model_of(schema, example) for schema, example in found}
        computed = [each for each in found if not each[1].error]
        refused = {example.name: (schema, example) for schema, example in reversed(found) if example.error}
        computed.sort(key=lambda each: models[key(each)].ByteSize())
        covering = [*distinguished(computed, lambda each: traits(each[0], models[key(each)]))]
        found = [*covering[::4], *refused.values()]  # the judge thorough takes all
    return {key(each) for each in found}


def traits(schema, model):
    """Yield the version of an example, and what its model has at any version."""
    yield schema.since_version
    yield from (tuple(trait) for _, *trait in features(model, each_version=False))


def key(pair):
    """Return the version and the name of an example at a version."""
    return pair[0].since_version, pair[1].name


@lru_cache(maxsize=1)
def runner_of(domain, name):
    """Return what runs the examples of an operator, and reads its file once."""
    return ExampleRunner(REGISTRY)


def newest(schema):
    """Return the names of the examples of a version that hold for no newer one; of all if THOROUGH."""
    newer = [
        each.since_version
        for each in REGISTRY.versions(schema.name, schema.domain)
        if each.since_version > schema.since_version and not THOROUGH
    ]
    examples = REGISTRY.examples(schema.name, schema.domain)
    here = [each for each in examples if example_versions(each, [schema.since_version])]
    return {each.name for each in here if not example_versions(each, newer)}


def examined(schema, kernel, whole):
    """Return the report of a version: of some of its examples by the kernel, and of some by all that there is."""
    report = Examination()
    for subject in subjects(REGISTRY, [schema], PARTS):
        if not subject.example or subject.example in whole:
            report += examine_subject(runner_of(schema.domain, schema.name), subject, [*PARTS])
        elif subject.example in kernel:
            report += examine_subject(runner_of(schema.domain, schema.name), subject, ["kernel"])
    return report


@pytest.mark.parametrize("schema", VERSIONS)
def test_the_examples_of_a_version_hold(schema):
    examples = {each.name: each for each in REGISTRY.examples(schema.name, schema.domain)}
    kernel = newest(schema)
    whole = {name for version, name in chosen(schema.domain, schema.name) if version == schema.since_version}
    report = examined(schema, kernel, whole)
    assert report.findings == []
    assert report.passed["kernel"] == len(kernel | whole)
    assert report.passed["inference"] == len(whole)
    gaps = [each for each in report.gaps if (schema.name, each.example) not in NAMED]
    assert schema.name in DEPENDS_ON_DATA or gaps == []
    seen_by_a_run = {*SEEN_BY_A_RUN.get(schema.name, ())}
    assert {name for _, name in report.unseen} == seen_by_a_run & whole
    assert refused_by_a_neighbour(schema, report, examples) <= {*REFUSED.items()}


def refused_by_a_neighbour(schema, report, examples):
    """The conversions of examples that hold on both sides of a transition, and the codes of their refusals."""
    numbers = [each.since_version for each in REGISTRY.versions(schema.name, schema.domain)]
    at = numbers.index(schema.since_version)
    beside = {*numbers[max(at - 1, 0) : at + 2]}
    return {
        ((each.operator, each.since, each.target), each.codes)
        for each in report.refused
        if each.target in beside and example_versions(examples[each.example], [each.target])
    }
