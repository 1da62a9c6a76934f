"""Operators on strings have one version each so far: they go up untouched and do not go below it."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

STRING = TensorProto.STRING
WORDS = np.array(["to be", "or", "NOT", "to be"], dtype=object)
NGRAMS = {
    "mode": "TF",
    "min_gram_length": 1,
    "max_gram_length": 2,
    "max_skip_count": 0,
    "ngram_counts": [0, 1],
    "ngram_indexes": [0, 1],
    "pool_strings": ["to be", "or", "NOT"],
}


def evaluator(model, feeds):
    return ReferenceEvaluator(model).run(None, dict(feeds))


@pytest.mark.parametrize(
    ("operator", "since", "attributes", "kind"),
    [
        ("StringNormalizer", 10, {"case_change_action": "UPPER", "stopwords": ["or"], "is_case_sensitive": 1}, STRING),
        ("TfIdfVectorizer", 9, NGRAMS, TensorProto.FLOAT),
        ("RegexFullMatch", 20, {"pattern": "[a-z ]+"}, TensorProto.BOOL),
    ],
)
def test_strings_go_up_as_they_are(check, refused, operator, since, attributes, kind):
    made = helper.make_node(operator, ["x"], ["y"], **attributes)
    feeds, given = {"x": WORDS}, {"x": (STRING, [4])}
    # onnxruntime needs a locale to be installed for StringNormalizer.
    judge = {"judge": evaluator} if operator == "StringNormalizer" else {}
    after = check(made, since, 24, feeds, kinds={"y": kind}, **judge)
    assert after.graph.node[0] == made
    refused(made, since, since - 1, given, "C201", kinds={"y": kind})


def test_joined_and_split_strings_came_with_20(check, refused):
    nodes = [
        helper.make_node("StringConcat", ["x", "x"], ["joined"]),
        helper.make_node("StringSplit", ["joined"], ["parts", "y"]),
    ]
    after = check(nodes, 20, 24, {"x": WORDS}, kinds={"y": TensorProto.INT64})
    assert list(after.graph.node) == nodes
    error = refused(nodes, 20, 19, {"x": (STRING, [4])}, "C201", kinds={"y": TensorProto.INT64})
    assert len(error.findings) == 2
