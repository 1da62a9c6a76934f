"""Operators of ai.onnx.ml, which take each row on its own."""

from __future__ import annotations

from opset.inference.axes.carriers.elementwise import require_other
from opset.inference.axes.places import Blocked, Place, carries
from opset.inference.axes.steps import AxisStep

ML = "ai.onnx.ml"


@carries("Binarizer", "Imputer", "LabelEncoder", "CategoryMapper", "Scaler", "OneHotEncoder", domain=ML)
def per_feature(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the input, which is also its Place in the output.

    This holds for Scaler, OneHotEncoder and similar operators. Raises Blocked for an Imputer or Scaler if the resized
    axis is the last axis of the input: the last axis counts the features, and each feature is treated differently.
    """
    place = step.data_place()
    if step.call.schema.name in ("Imputer", "Scaler"):
        require_other(step, place, len(step.shape(0)) - 1)
    return place


PER_ROW = """
LinearClassifier LinearRegressor Normalizer SVMClassifier SVMRegressor TreeEnsemble TreeEnsembleClassifier
TreeEnsembleRegressor
""".split()


@carries(*PER_ROW, domain=ML)
def per_row(step: AxisStep) -> Place:
    """Return the Place of the resized axis in the outputs of a classifier, regressor or Normalizer: the rows.

    Raises Blocked if the axis does not count the rows, or if the input is no matrix.
    """
    place = step.data_place()
    if len(step.shape(0)) != 2:
        raise Blocked("its input is no matrix of rows")
    require_other(step, place, 1)
    return place


@carries("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(step: AxisStep) -> Place:
    """Return the Place of the resized axis in the output of ArrayFeatureExtractor: its place in the data.

    Raises Blocked in these cases:

    - the resized axis is the last axis of the data, along which features are picked;
    - the data has fewer than two axes;
    - the indices have the resized axis.
    """
    step.require_shared(1)
    place = step.data_place()
    if len(step.shape(0)) < 2:
        raise Blocked("it picks slices by their positions")
    require_other(step, place, len(step.shape(0)) - 1)
    return place


@carries("FeatureVectorizer", domain=ML)
def feature_vectorizer(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of FeatureVectorizer: axis 0, the rows.

    Raises Blocked if an input is not a matrix, or if the resized axis of an input is not its rows.
    """
    places = {step.place(index) for index in range(step.count)}
    if places != {Place(0)} or any(len(step.shape(index)) != 2 for index in range(step.count)):
        raise Blocked("its inputs are not all rows of the slices")
    return Place(0)


@carries("ZipMap", domain=ML)
def zip_map(step: AxisStep) -> Place:
    """Return the Place of the resized axis in the output of ZipMap: the rows.

    The output is a list with a map for each row of the input. Raises Blocked if the resized axis is not the rows of a
    matrix.
    """
    place = step.data_place()
    if place.axis or len(step.shape(0)) != 2:
        raise Blocked("its input is no matrix of rows")
    return place
