"""Elements that inference follows are those that the evaluator computes, also at the limits of each type.

Every example of an operator whose elements are followed becomes a model of constants: as it is, and with its first
values, and those of the same type, drawn from the limits of each type that the operator takes. One input after another
becomes sizes N + c and M + c: what follows of them is true of the numbers of the example, and of others. Shapes that
follow from constants are compared for all operators.
"""

from functools import cache

import ml_dtypes  # noqa: F401  registers bfloat16 and small floats with numpy
import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import opset
from opset.errors import OpsetError
from opset.inference.building.dimensions import substitute, variable
from opset.inference.building.elements import round_to_type
from opset.inference.engine.result import infer
from opset.inference.registration import RuleLookup
from opset.reference.example_models import feeds_of, model_of
from opset.schemas.constraints.signature import DATA_TYPE
from tests.bounds import THOROUGH
from tests.examples import PAIRS, REGISTRY

LOOKUP = RuleLookup(REGISTRY)
INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
FLOATS = "float16 float double".split()
WHOLE = [0, 1, -1, 2, 3, 7, 200, 2**24 + 1, -(2**24) - 3, 2**31, 2**53 + 1, 2**62]
REAL = [0.0, -0.0, 1.0, -1.5, 2.5, 0.1, 1 / 3, 2049.0, 65504.0, 70000.0, 2.0**24 + 2, 1e-7, 6e-8, 1e30, -1e300,
        np.inf, -np.inf, np.nan, 4101.0, 7663.0, 9943.0, 9573.0, 9257.0, 3517.0, 2.0**24 - 1, 7.0, 3.0]  # fmt: skip
LIMITED = range(8 if THOROUGH else 4)
"""Of which examples of an operator the values are replaced: each has dozens of variants."""
CAST = range(2 if THOROUGH else 1)
"""Of which examples they are replaced if an attribute names a type: each has hundreds of variants."""
UNFOLLOWED = {
    "Mod": ["sign_of_dividend"],
    "OptionalGetElement": ["bool"],
    "Pad": ["edge", "reflect", "wrap", "wrap_more_than_once"],
    "ReduceMax": ["false_of_nothing", "least_integer", "no_elements"],
    "ReduceMin": ["greatest_integer", "no_elements", "true_of_nothing"],
    "ScatterND": ["empty_tuples"],
}
"""Examples whose elements are not followed, although they are whole numbers: shapes do not depend on such ones."""
SIZES = {"N": 3, "M": 5}
"""The sizes that stand in the place of an example's numbers, in turn."""
OTHERS = {"N": 4, "M": 9}
VARYING = (
    "BitCast ConstantOfShape Div Equal Greater GreaterOrEqual Less LessOrEqual Mod NonZero Pow Range ReduceMean"
    " ReduceProd"
).split()
"""Operators of which sizes do not follow: powers, quotients, long products, and what varies with them."""
UNFOLLOWED_SIZES = UNFOLLOWED | {"Cast": ["to_bool"], "CastLike": ["to_bool"]}
FOLLOWED = ("int32", "int64", "bool")
SHARES = """
    Abs:93 Add:87 And:100 BitCast:92 Cast:78 CastLike:74 Ceil:77 Clip:73 Compress:95 Concat:96 Constant:13
    ConstantOfShape:94 CumProd:46 CumSum:60 Div:85 Equal:98 Expand:95 Flatten:1 Floor:78 Gather:95 GatherElements:45
    GatherND:94 Greater:97 GreaterOrEqual:97 Identity:93 Less:97 LessOrEqual:97 Max:88 Min:90 Mod:80 Mul:79 Neg:91
    NonZero:92 Not:100 OptionalGetElement:85 OptionalHasElement:100 Or:100 Pad:92 Pow:40 Range:94 Reciprocal:77
    ReduceMax:79 ReduceMean:49 ReduceMin:83 ReduceProd:45 ReduceSum:41 Relu:96 Reshape:34 Round:78 Scatter:95
    ScatterElements:93 ScatterND:94 Shape:100 Sign:97 Size:100 Slice:4 Split:93 Sqrt:83 Squeeze:95 Sub:81 Sum:93
    Tile:94 Transpose:95 Unsqueeze:93 Where:80 Xor:100
"""
"""Of how many in a hundred of the elements that are computed below inference knows the value, at least nearly."""
BUDGET = opset.Limits(max_bytes=2**20)
"""Enough for all examples: a limit that is a shape needs more, and is nothing to compare."""


def limits(element):
    """Return values of a type at which arithmetic of another type or without bounds is seen."""
    dtype = helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(element.upper()))
    if element == "bool":
        return np.array([False, True])
    with np.errstate(all="ignore"):
        if element in FLOATS:
            found = np.finfo(dtype)
            return np.array([*REAL, found.max, found.smallest_subnormal, found.eps], dtype)
        found = np.iinfo(dtype)
        kept = [each for each in WHOLE if found.min <= each <= found.max]
        return np.array([found.max, found.min, found.max - 1, *kept], dtype)


@cache
def followed():
    """Return for each operator whose elements are followed its examples, at the first and the last of its versions."""
    found = {}
    for schema, example in PAIRS:
        if not example.error and LOOKUP.find_data(schema) is not None:
            found.setdefault((schema.domain, schema.name), {}).setdefault(example.name, []).append((schema, example))
    return {
        key: [pair for pairs in each.values() for pair in {id(p): p for p in (pairs[0], pairs[-1])}.values()]
        for key, each in found.items()
    }


def variants(number, schema, example):
    """Yield the values of the inputs of an operator's n-th example, and the attributes that change with them."""
    feeds = feeds_of(example)
    if not all(isinstance(value, np.ndarray) for value in feeds.values()):
        return
    yield feeds, {}
    targets = [name for name, each in schema.attributes.items() if each.kind == DATA_TYPE and each.type == "int"]
    first = schema.inputs[0] if schema.inputs else None
    if number not in (CAST if targets else LIMITED) or first is None or "input_0" not in feeds:
        return
    alike = [
        name
        for name in feeds
        if schema.inputs[min(int(name[6:]), len(schema.inputs) - 1)].type == first.type and feeds[name].size <= 8
    ]
    allowed = {each.removeprefix("tensor(").removesuffix(")") for each in schema.allowed_types(first)}
    for element in sorted(allowed & {*INTEGERS, *FLOATS, "bool"}):
        values = limits(element)
        for start in range(0, len(values), min(5, max(feeds["input_0"].size, 3))):
            changed = {
                name: np.resize(np.roll(values, -start - 3 * number), feeds[name].shape).astype(values.dtype)
                for number, name in enumerate(alike)
            }
            for target in [*INTEGERS, *FLOATS, "bool"] if targets else [None]:
                attributes = {name: TensorProto.DataType.Value(target.upper()) for name in targets} if target else {}
                yield feeds | changed, attributes


def in_whole_numbers(schema, example):
    """Return the inputs of an example with small whole numbers in place of floats, None where others are computed."""
    feeds = feeds_of(example)
    for name, value in feeds.items():
        formal = schema.inputs[min(int(name[6:]), len(schema.inputs) - 1)]
        if (
            isinstance(value, np.ndarray)
            and value.dtype.kind == "f"
            and "tensor(int64)" in schema.allowed_types(formal)
        ):
            feeds[name] = value = np.arange(value.size).reshape(value.shape)
        if not isinstance(value, np.ndarray) or value.dtype.name not in FOLLOWED:
            return None
        # Bounds and indices may be far out of range.
        if formal.type == schema.inputs[0].type and not all(-1000 < each < 1000 for each in value.flat):
            return None
    return feeds or None


def of_sizes(schema, example, feeds, name):
    """Return the model of an example with sizes as the elements of an input, each N or M and a number."""
    model, values = constant(schema, example, feeds, {}), feeds[name]
    letters = [*np.resize([*SIZES], values.size)]
    offsets = [int(value) - SIZES[letter] for value, letter in zip(values.flat, letters, strict=True)]
    kept = [each for each in model.graph.initializer if each.name != name]
    nodes = [
        helper.make_node("Shape", ["data"], ["lengths"]),
        helper.make_node("Add", ["lengths", "offsets"], ["moved"]),
        helper.make_node("Reshape", ["moved", "form"], [name]),
        *model.graph.node,
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("data", TensorProto.BOOL, letters)],
        model.graph.output,
        [
            *kept,
            numpy_helper.from_array(np.array(offsets, np.int64), "offsets"),
            numpy_helper.from_array(np.array(values.shape, np.int64), "form"),
        ],
    )
    model.graph.CopyFrom(graph)
    return model


def moved(values):
    """Return the elements of an input where N and M have other values."""
    steps = np.resize([OTHERS[letter] - SIZES[letter] for letter in SIZES], values.size)
    return values + steps.reshape(values.shape)


def faults_of_sizes(schema, example, feeds, name):
    """Yield what is wrong of that which follows from sizes as an input, and "unknown" for elements that do not."""
    (scope,) = infer(of_sizes(schema, example, feeds, name))._engine.all_scopes()
    for sizes, given in ((SIZES, feeds), (OTHERS, feeds | {name: moved(feeds[name])})):
        plain = constant(schema, example, given, {})
        try:
            computed = opset.ReferenceEvaluator(plain, limits=BUDGET).run(None, {})
        except OpsetError:
            continue
        for output, array in zip(plain.graph.output, computed, strict=True):
            if not isinstance(array, np.ndarray):
                continue
            shape, found = scope.types[output.name].shape, scope.constants.get(output.name)
            for size, own in zip(shape or array.shape, array.shape, strict=True):
                # Sizes with other names depend on more than N and M.
                if size is not None and isinstance(told := substitute(size, sizes), int) and told != own:
                    yield f"a size {size} where {own} is, {sizes}"
            if found is None and array.size and array.dtype.name in FOLLOWED:
                yield "unknown"
            for element, own in zip(found.values if found else (), array.flat if found else (), strict=True):
                if element is None:
                    yield "unknown"
                elif not isinstance(element, float) and substitute(element, sizes) != own:
                    yield f"{element} where {own} is, {sizes}"


def constant(schema, example, feeds, attributes):
    """Return the model of an example whose inputs are constants."""
    model = ModelProto.FromString(model_of(schema, example).SerializeToString())
    del model.graph.input[:]
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in feeds.items())
    for output in model.graph.output:
        output.ClearField("type")
    for node in model.graph.node:
        kept = [each for each in node.attribute if each.name not in attributes]
        del node.attribute[:]
        node.attribute.extend([*kept, *(helper.make_attribute(name, value) for name, value in attributes.items())])
    return model


def faults(model, complete=False):
    """Yield each followed element, or None, with the one that the evaluator computes, and whether it is right.

    With `complete`, whole numbers have to be followed.
    """
    try:
        found = infer(model, data_prop=True)
        computed = opset.ReferenceEvaluator(model, limits=BUDGET).run(None, {})
    except OpsetError:
        return
    yield from ((finding, "", False) for finding in found.findings)
    (scope,) = found._engine.all_scopes()
    for output, array in zip(model.graph.output, computed, strict=True):
        constant = scope.constants.get(output.name)
        if not isinstance(array, np.ndarray):
            continue
        assert constant is None or constant.dims == array.shape
        due = complete and array.dtype.name in FOLLOWED
        for ours, theirs in zip(constant.values if constant else [None] * array.size, array.ravel(), strict=True):
            known = isinstance(ours, bool | int | float)
            yield (ours, theirs, same(ours, theirs)) if known else (None, theirs, not due)


def same(ours, theirs):
    """Whether an element is the one computed: no other bit, but any NaN."""
    if isinstance(theirs, bool | np.bool_):
        return isinstance(ours, bool) and ours == bool(theirs)
    if isinstance(theirs, np.integer):
        return isinstance(ours, int) and not isinstance(ours, bool) and ours == int(theirs)
    plain = float(theirs)
    return (ours != ours and plain != plain) or (ours == plain and np.signbit(float(ours)) == np.signbit(plain))


@pytest.mark.parametrize("operator", sorted(followed()), ids=lambda key: key[1])
def test_elements_are_those_that_the_evaluator_computes(operator):
    wrong, known, count = [], 0, 0
    with np.errstate(all="ignore"):
        for number, (schema, example) in enumerate(followed()[operator]):
            for feeds, attributes in variants(number, schema, example):
                for ours, theirs, right in faults(constant(schema, example, feeds, attributes)):
                    count += 1
                    known += ours is not None
                    if not right:
                        wrong.append((schema.since_version, example.name, feeds, attributes, ours, theirs))
            feeds = in_whole_numbers(schema, example)
            if feeds is not None and example.name not in UNFOLLOWED.get(schema.name, ()):
                found = faults(constant(schema, example, feeds, {}), complete=True)
                wrong += [(schema.since_version, example.name, feeds, *each) for each in found if not each[2]]
    assert wrong == []
    share = dict(each.split(":") for each in SHARES.split()).get(operator[1], 1)
    assert THOROUGH or 100 * known / count > int(share) - 3


def test_more_floats_than_a_few_are_followed_if_a_node_computed_them():
    text = """<ir_version: 8, opset_import: ["": 13]> g () => (float[9] y, float[9] z)
        <float[9] w = {1, 1, 1, 1, 1, 1, 1, 1, 1}, int64[1] size = {9}> {
            y = Neg (w)
            ones = ConstantOfShape <value = float[1] {1}> (size)
            z = Neg (ones)
        }"""
    (scope,) = infer(onnx.parser.parse_model(text), data_prop=True)._engine.all_scopes()
    assert "y" not in scope.constants and scope.constants["z"].values == (-1.0,) * 9


def test_whole_floats_are_added_to_sizes():
    text = """<ir_version: 8, opset_import: ["": 13]> g (float[N, 3] x) => (float[M, K] y, float[M, K] z)
        <float two = {2}> {
            sizes = Cast <to = 1> (shape)  shape = Shape (x)
            a = Add (two, sizes)  b = Cast <to = 7> (a)  y = ConstantOfShape (b)
            c = Add (sizes, two)  d = Cast <to = 7> (c)  z = ConstantOfShape (d)
        }"""
    found = infer(onnx.parser.parse_model(text), data_prop=True)
    assert [str(found.type(name)) for name in ("y", "z")] == ["float[N + 2, 5]"] * 2


@pytest.mark.parametrize("operator", sorted(followed()), ids=lambda key: key[1])
def test_elements_that_follow_of_sizes_are_true_of_numbers(operator):
    wrong = []
    for schema, example in followed()[operator]:
        feeds = in_whole_numbers(schema, example) or {}
        for name, values in feeds.items():
            small = 0 < values.size <= 8 and -1000 < values.min() <= values.max() < 1000
            if schema.since_version < 7 or values.dtype != np.int64 or not small:
                continue
            if schema.name == "Reshape" and name == "input_1" and values.min() < 1:
                continue  # sizes that are 0 or -1 by chance are taken as sizes
            found = {*faults_of_sizes(schema, example, feeds, name)}
            formal = schema.inputs[min(int(name[6:]), len(schema.inputs) - 1)]
            left_out = schema.name in VARYING or example.name in UNFOLLOWED_SIZES.get(schema.name, ())
            # Other inputs decide which elements there are.
            if left_out or formal.type != schema.inputs[0].type:
                found -= {"unknown"}
            wrong += [(schema.name, schema.since_version, example.name, name, each) for each in found]
    assert wrong == []


@pytest.mark.parametrize("domain", REGISTRY.domains)
def test_types_that_follow_from_constants_are_those_that_the_evaluator_computes(domain):
    last = {(schema.name, example.name): (schema, example) for schema, example in PAIRS if schema.domain == domain}
    wrong, count = [], 0
    for schema, example in last.values():
        feeds = feeds_of(example)
        if example.error or not all(isinstance(value, np.ndarray) and value.size <= 64 for value in feeds.values()):
            continue
        model = constant(schema, example, feeds, {})
        try:
            with np.errstate(all="ignore"):
                found, computed = infer(model, data_prop=True), opset.ReferenceEvaluator(model, seed=0).run(None, {})
        except OpsetError:
            continue
        for output, array in zip(model.graph.output, computed, strict=True):
            shape = found.shape(output.name)
            if shape is not None and isinstance(array, np.ndarray):
                count += 1
                known = len(shape) == array.ndim and all(
                    not isinstance(size, int) or size == own for size, own in zip(shape, array.shape, strict=True)
                )
                if not known or found.findings:
                    wrong.append((schema.name, example.name, shape, array.shape, found.findings))
    assert wrong == []
    assert count > 0


@pytest.mark.parametrize(
    ("type_", "given", "rounded"),
    [
        ("int8", (-129, -128, 127, 128), (None, -128, 127, None)), ("uint8", (-1, 0, 255, 256), (None, 0, 255, None)),
        ("int16", (-32769, -32768, 32767, 32768), (None, -32768, 32767, None)),
        ("uint16", (-1, 65535, 65536), (None, 65535, None)),
        ("uint32", (-1, 2**32 - 1, 2**32), (None, 2**32 - 1, None)),
        ("int32", (-(2**31) - 1, -(2**31), 2**31 - 1, 2**31), (None, -(2**31), 2**31 - 1, None)),
        ("int64", (-(2**63) - 1, -(2**63), 2**63 - 1, 2**63), (None, -(2**63), 2**63 - 1, None)),
        ("uint64", (-1, 2**64 - 1, 2**64), (None, 2**64 - 1, None)), ("int8", (-1.9, 1.9, 127.5), (-1, 1, 127)),
        ("int8", (float("nan"), float("inf"), "1", b"1", None), (None,) * 5), ("int4", (1, -9), (None, None)),
        ("float", (0.1, 2**24 + 1, 3.5e38), (0.10000000149011612, 2.0**24, None)),
        ("float16", (0.1, 65519, 65520), (0.0999755859375, 65504.0, None)), ("double", (0.1, 3), (0.1, 3.0)),
        ("bool", (0, 2, 0.5, True), (False, True, True, True)), ("bfloat16", (1.0,), (None,)), (None, (1,), (None,)),
    ],
)  # fmt: skip
def test_numbers_are_rounded_to_the_values_of_their_type(type_, given, rounded):
    found = tuple(round_to_type(each, type_) for each in given)
    assert (found, [*map(type, found)]) == (rounded, [*map(type, rounded)])


def test_a_size_stays_whatever_its_type():
    assert [round_to_type(variable("N"), type_) for type_ in ("int8", "float16", None)] == [variable("N")] * 3
