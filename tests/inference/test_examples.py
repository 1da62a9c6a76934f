"""Every example of every operator's YAML drives its rule: with its shapes, and with variables in their place."""

from functools import partial

import pytest

from opset.inference.dimensions import variables
from opset.inference.result import infer
from opset.model.arrays import tensor_of
from opset.reference.examples import model_of, type_proto, value_of
from opset.schemas.model import ExampleValue
from tests.conformance import inference
from tests.examples import CASES, check_each

# Operators whose outputs have sizes that only data decides, however small and constant it is; or not even a rank.
DEPENDS_ON_DATA = set(
    "NonZero Unique Compress NonMaxSuppression StringNormalizer StringSplit TfIdfVectorizer ImageDecoder "
    "If Loop Scan SequenceMap Gradient SequenceAt OptionalGetElement CastMap ConcatFromSequence".split()
)

# Where a size depends on what is a variable here, or on a number that is none, so that it gets a name of its own.
NAMED = {
    ("Resize", "size_of_a_region"), ("Resize", "not_larger"), ("Resize", "not_smaller"), ("Split", "sizes_as_data"),
    ("Squeeze", "all_of_one"), ("Squeeze", "empty"), ("Tile", "one_dimension"),
}  # fmt: skip
# What beside integers sizes are computed from.
SCALES = {"OneHot", "Range", "Resize", "Upsample"}
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


def dense(value):
    return value is not None and value.type.startswith("tensor(") and value.content is not None


def common_shape(shapes):
    """Return the sizes that shapes of one rank share, None for those that differ; None for several ranks or none."""
    if len({len(shape) for shape in shapes}) != 1:
        return None
    return tuple(sizes[0] if len({*sizes}) == 1 else None for sizes in zip(*shapes, strict=True))


def model_with(schema, example, constant, symbolic):
    """Return an example's model, some inputs as initializers, the sizes of others as variables; and these variables."""
    model = model_of(schema, example)
    model.ir_version = max(model.ir_version, 4)
    for output in model.graph.output:
        output.ClearField("type")
    sizes = {}
    for place, value in enumerate(example.inputs):
        name = f"input_{place}"
        if value is None:
            continue
        entry = next(each for each in model.graph.input if each.name == name)
        if constant(value):
            model.graph.input.remove(entry)
            model.graph.initializer.append(tensor_of(name, value_of(value)))
        elif symbolic and value.type.startswith("tensor("):
            shape = value_of(value).shape if value.shape is None else value.shape
            entry.type.CopyFrom(type_proto(value.type, shape))
            for axis, dim in enumerate(entry.type.tensor_type.shape.dim):
                dim.dim_param = f"s{place}_{axis}"
                sizes[dim.dim_param] = shape[axis]
        elif value.type.startswith("seq(tensor("):
            entry.type.CopyFrom(type_proto(value.type, common_shape([each.shape for each in value_of(value)])))
        elif value.type.startswith("tensor("):
            entry.type.CopyFrom(type_proto(value.type, value_of(value).shape if value.shape is None else value.shape))
    return model, sizes


def disagreement(type_, value, sizes):
    """Return how a type that was inferred is not that of a value, "" where it may be."""
    if type_ is None:
        return "nothing is known"
    if isinstance(value, ExampleValue) and type_.text != value.type:
        return f"{type_.text}, and the value is {value.type}"
    return inference.disagreement(type_, inference.seen(value_of(value)), sizes, bind=False)


def compare(schema, example, constant, symbolic, complete):
    model, sizes = model_with(schema, example, constant, symbolic)
    result = infer(model, strict=True)
    if example.error:
        reasons = [finding.why for finding in result.findings]
        assert all(finding.code != "I203" for finding in result.findings), result.findings
        broken = [finding.why for finding in result.findings if finding.code != "I101"]  # a contradiction may follow
        assert all(why.startswith(f"{example.error}: ") for why in broken), broken
        if complete and not symbolic:
            assert bool(reasons) != (example.name in SEEN_BY_A_RUN.get(schema.name, ())), reasons
        return
    assert not result.findings
    for place, value in enumerate(example.outputs):
        if value is None:
            continue
        type_ = result.type(f"output_{place}")
        assert disagreement(type_, value, sizes) == ""
        open_ = schema.name in DEPENDS_ON_DATA or (symbolic and (schema.name, example.name) in NAMED)
        if complete and not open_ and type_.kind == "tensor":
            assert type_.shape is not None
            assert all(isinstance(size, int) or variables(size) <= sizes.keys() for size in type_.shape), str(type_)


@pytest.mark.parametrize(("schema", "examples"), CASES)
def test_shapes_are_inferred(schema, examples):
    check_each(partial(compare, constant=dense, symbolic=False, complete=True), schema, examples)


@pytest.mark.parametrize(("schema", "examples"), CASES)
def test_shapes_with_variables_are_inferred(schema, examples):
    def constant(value):
        scales = schema.name in SCALES and dense(value) and value_of(value).ndim < 2
        return scales or (dense(value) and value.type in ("tensor(int64)", "tensor(int32)", "tensor(bool)"))

    def check(schema, example):
        compare(schema, example, constant, symbolic=True, complete=True)
        compare(schema, example, lambda value: False, symbolic=True, complete=False)

    check_each(check, schema, examples)
