"""Every example of every operator's YAML drives its rule: with its shapes, and with variables in their place."""

import pytest

from opset.inference.dimensions import variables
from opset.inference.result import infer
from opset.model.arrays import tensor_of
from opset.reference.examples import model_of, type_proto, value_of
from opset.schemas.model import ExampleValue
from tests.conformance import inference
from tests.examples import CASES

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


def dense(value):
    return value is not None and value.type.startswith("tensor(") and value.content is not None


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
    result = infer(model)
    if example.error:
        told = [finding.why for finding in result.findings]
        assert all(finding.code != "I203" for finding in result.findings), result.findings
        assert all(why.startswith(f"{example.error}: ") or why[:1] != "C" for why in told), told
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


@pytest.mark.parametrize(("schema", "example"), CASES)
def test_shapes_are_inferred(schema, example):
    compare(schema, example, dense, symbolic=False, complete=True)


@pytest.mark.parametrize(("schema", "example"), CASES)
def test_shapes_with_variables_are_inferred(schema, example):
    def constant(value):
        scales = schema.name in SCALES and dense(value) and value_of(value).ndim < 2
        return scales or (dense(value) and value.type in ("tensor(int64)", "tensor(int32)", "tensor(bool)"))

    compare(schema, example, constant, symbolic=True, complete=True)
    compare(schema, example, lambda value: False, symbolic=True, complete=False)
