"""Output types of operators that encode or rearrange: LabelEncoder, OneHotEncoder, DictVectorizer and others."""

from __future__ import annotations

from opset.inference.building.call import Call
from opset.inference.building.dimensions import Size, product, product_if_known
from opset.inference.building.ml_outputs import (
    check_one_or_each,
    infer_ml,
    label_type_and_count,
    list_length,
    tensor_length,
)
from opset.inference.building.types import Shape, Type, element_of, sequence, tensor
from opset.model.elements import element_name
from opset.schemas.constraints.violation import Violation


@infer_ml("ArrayFeatureExtractor")
def array_feature_extractor_1(call: Call) -> Shape:
    """Return the shape of X with the number of indices as last size; a vector counts as one row.

    The number is None if it is unknown. Raises Unknown if the rank of X is unknown. Raises Violation C1 if there are no
    indices, C2 if X is a scalar or an index is out of range; no index may be negative.
    """
    indices = call.shape(1)
    count = None if indices is None else product_if_known(indices)
    if count == 0:
        raise Violation("C1", "there are no indices")
    shape = call.require_shape(0)
    if not shape:
        raise Violation("C2", "X has no entries")
    columns = shape[-1]
    for index in call.elements(1) or ():
        if isinstance(index, int) and (index < 0 or (isinstance(columns, int) and index >= columns)):
            raise Violation("C2", f"index {index}, and {columns} entries")
    return ((1,) if len(shape) == 1 else shape[:-1]) + (count,)


@infer_ml("CastMap")
def cast_map_1(call: Call) -> Type:
    """Return the type of one row, (1, length), with the element type that the attribute `cast_to` names.

    The length is the attribute `max_map` for a sparse map, and None, unknown, for a dense one.
    """
    elements = {"TO_FLOAT": "float", "TO_STRING": "string", "TO_INT64": "int64"}
    count = call.attribute("max_map") if call.attribute("map_form") == "SPARSE" else None
    return tensor(elements[call.attribute("cast_to")], (1, count))


@infer_ml("CategoryMapper", "LabelEncoder")
def category_mapper_1(call: Call) -> Type:
    """Return the output type of CategoryMapper, and of LabelEncoder before version 2, with the shape of X.

    Strings in X give int64, and int64 gives strings. The element type is None for any other or unknown X.
    """
    return tensor({"string": "int64", "int64": "string"}.get(call.dtype(0) or ""), call.shape(0))


@infer_ml("DictVectorizer")
def dict_vectorizer_1(call: Call) -> Type:
    """Return the type of one row, (1, number of words in the vocabulary), with the element type of the map's values.

    The element type is None if the map's type is unknown.
    """
    _, count = label_type_and_count(call, "string_vocabulary", "int64_vocabulary")
    map_ = call.type(0)
    return tensor(element_of(map_.inner) if map_ is not None else None, (1, count))


@infer_ml("FeatureVectorizer")
def feature_vectorizer_1(call: Call) -> Shape:
    """Return (rows, features) for the output of FeatureVectorizer; a number is None if it is unknown.

    The features are the sum of `inputdimensions`, or if this is absent, of the columns of the inputs. A vector counts
    as one row. Raises Violation C1 if `inputdimensions` does not have a number for each input, C2 if inputs have
    different numbers of rows.
    """
    dimensions = call.attribute("inputdimensions")
    if dimensions is not None and len(dimensions) != call.input_count:
        raise Violation("C1", f"inputdimensions {list(dimensions[:8])}, {call.input_count} inputs")
    rows: Size | None = None
    columns: list[Size] = []
    for index in range(call.input_count):
        shape = call.shape(index)
        if shape is not None:
            rows = call.same(rows, shape[0] if len(shape) > 1 else 1, "C2", "the number of rows")
            columns.append(product(shape[1:] if len(shape) > 1 else shape))
    if dimensions is not None:
        return rows, sum(dimensions)
    return rows, sum(columns) if len(columns) == call.input_count else None


@infer_ml("Imputer")
def imputer_1(call: Call) -> Shape:
    """Return the shape of the output, which is the shape of X. Raises Unknown if its rank is unknown.

    Raises Violation C1 if the number of replacements is certainly neither 1 nor the number of features.
    """
    element = call.dtype(0)
    if element is not None:
        name = "imputed_value_floats" if element in ("float", "double") else "imputed_value_int64s"
        check_one_or_each(call, list_length(call, name), "C1", "replacements")
    return call.require_shape(0)


@infer_ml("LabelEncoder", since=2)
def label_encoder_2(call: Call) -> Type:
    """Return the type with the shape of X and the element type of the node's values.

    Raises Violation with one of these labels:

    - C1 if keys or values are absent, or in several attributes;
    - C2 if there is not one value for each key;
    - C3 if the keys do not have the element type of X;
    - C4 if `default_tensor` is not one element of the values' type.
    """
    (keys, key_count), (values, value_count) = _dtype_and_count(call, "keys"), _dtype_and_count(call, "values")
    if key_count != value_count:
        raise Violation("C2", f"{key_count} keys and {value_count} values")
    element = call.dtype(0)
    if None not in (keys, element) and keys != element:
        raise Violation("C3", f"keys of {keys} for elements of {element}")
    default = call.attribute("default_tensor")
    if default is not None and call.attribute("values_tensor") is not None:
        default_type = element_name(default.data_type)
        if tensor_length(default) != 1 or default_type != values:
            raise Violation("C4", f"default_tensor of {tensor_length(default)} elements of {default_type}")
    return tensor(values, call.shape(0))


def _dtype_and_count(call: Call, what: str) -> tuple[str | None, int]:
    """Return (element type, number) of the keys or values of a LabelEncoder.

    `what` is "keys" or "values". The keys are in one of the attributes `keys_floats`, `keys_int64s`, `keys_strings` and
    `keys_tensor`; the names are alike for values. The element type is None if the type of the tensor is unknown. Raises
    Violation C1 if no attribute has elements, or if several have.
    """
    forms: list[tuple[str | None, int]] = [
        (element, list_length(call, f"{what}_{element}s")) for element in ("float", "int64", "string")
    ]
    tensor = call.attribute(f"{what}_tensor")
    if tensor is not None:
        forms.append((element_name(tensor.data_type), tensor_length(tensor)))
    filled = [form for form in forms if form[1]]
    if len(filled) != 1:
        raise Violation("C1", f"{len(filled) or 'none'} of the forms of {what} are given")
    return filled[0]


@infer_ml("OneHotEncoder")
def one_hot_encoder_1(call: Call) -> Shape:
    """Return the shape of X followed by the number of categories. Raises Unknown if the rank of X is unknown.

    Raises Violation C1 if X has strings and the categories do not, or the other way round.
    """
    categories, count = label_type_and_count(call, "cats_strings", "cats_int64s")
    element = call.dtype(0)
    if element is not None and (element == "string") != (categories == "string"):
        raise Violation("C1", f"categories are {categories}s, and X is of {element}")
    return (*call.require_shape(0), count)


@infer_ml("ZipMap")
def zip_map_1(call: Call) -> Type | None:
    """Return the type of a sequence of maps from labels to float scores; the sequence has a map for each row.

    The labels are strings if the attribute `classlabels_strings` has elements, else int64.
    """
    element, _ = label_type_and_count(call, "classlabels_strings", "classlabels_int64s")
    return sequence(Type("map", element, None, tensor("float", ())))
