"""Gemm's addend: absent since version 11, broadcast in any way since 7."""

import math

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto
from onnx.helper import make_node
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun


class Gemm(OpRun):
    """Gemm as before version 7, which accepts few shapes of C."""

    op_domain = ""

    def _run(self, a, b, c, alpha=None, beta=None, transA=None, transB=None, broadcast=None):
        product = alpha * (a.T if transA else a) @ (b.T if transB else b)
        if broadcast:
            assert c.size == 1 or c.shape in (product.shape, product.shape[1:])
        else:
            assert c.shape == product.shape
        return (product + beta * c,)


def early(model, feeds):
    return ReferenceEvaluator(model, new_ops=[Gemm]).run(None, feeds)


def matrix(*shape):
    return np.asarray(np.arange(math.prod(shape)).reshape(shape) % 5 - 1, np.float32)


@pytest.mark.parametrize("shape", [(2, 4), (4,), (1, 4), (2, 1), (1, 1), (1,), ()])
@pytest.mark.parametrize("turned", [False, True])
def test_the_addend_broadcasts_less(check, shape, turned):
    a, b, c = matrix(2, 3), matrix(3, 4), np.asarray(matrix(*shape) + 2)
    expect = 0.5 * a @ b + 2 * c
    if turned:
        a, b = a.T.copy(), b.T.copy()
    node = make_node("Gemm", ["a", "b", "c"], ["y"], alpha=0.5, beta=2.0, transA=int(turned), transB=int(turned))
    check(node, 7, 6, {"a": a, "b": b, "c": c}, expect=[expect], judge=early)
    # And back: without `broadcast` the same comes out.
    broadcast = {} if c.shape == (2, 4) else {"broadcast": 1}
    if shape in [(2, 4), (4,), (1, 1), (1,), ()]:
        node = make_node("Gemm", ["a", "b", "c"], ["y"], **broadcast)
        plain = (a.T if turned else a) @ (b.T if turned else b) + c
        if not turned:
            check(node, 6, 7, {"a": a, "b": b, "c": c}, expect=[plain], operators=["Gemm"])


def test_the_addend_with_unknown_dimensions(check, refused):
    a, b = matrix(2, 3), matrix(3, 4)
    node = make_node("Gemm", ["a", "b", "c"], ["y"])
    square, column, row = ({"a": a, "b": b, "c": matrix(*shape)} for shape in ((2, 4), (2, 1), (4,)))
    for shapes in ({"a": ["M", 3], "b": [3, 4], "c": ["M", 4]}, {"a": [2, 3], "b": [3, "N"], "c": [2, "N"]}):
        check(node, 7, 6, square, shapes=shapes, expect=[a @ b + square["c"]], judge=early, operators=["Gemm"])
    check(node, 7, 6, row, shapes={"a": None, "b": None, "c": [None]}, expect=[a @ b + row["c"]], judge=early)
    refused(node, 7, 6, square, "C207", shapes={"c": None})
    refused(node, 7, 6, square, "C207", shapes={"c": [None, 4]})
    refused(node, 7, 6, square, "C207", shapes={"c": [2, None]})
    refused(node, 7, 6, square, "C207", shapes={"c": [2, "N"]})
    refused(node, 7, 6, column, "C207", shapes={"b": [3, None]})
    single = {"a": a, "b": b[:, :1], "c": matrix(2, 1)}
    check(node, 7, 6, single, expect=[a @ b[:, :1] + single["c"]], judge=early, operators=["Gemm"])
    refused(node, 7, 6, {"a": a, "b": b, "c": matrix(1, 2, 4)}, "C103")


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("absent", [["a", "b"], ["a", "b", ""]])
def test_an_absent_addend_is_zero(check, kind, absent):
    a, b = matrix(2, 3).astype(kind), matrix(3, 4).astype(kind)
    node = make_node("Gemm", absent, ["y"], alpha=2.0, beta=math.inf)
    after = check(node, 11, 9, {"a": a, "b": b}, expect=[2 * a @ b])
    assert "beta" not in {attribute.name for attribute in after.graph.node[-1].attribute}


def test_an_absent_addend_keeps_the_sign_of_zero(check):
    feeds = {"a": np.float32([[-0.0]]), "b": np.float32([[1.0]])}
    nodes = [make_node("Gemm", ["a", "b"], ["t"]), make_node("Reciprocal", ["t"], ["y"])]
    check(nodes, 11, 7, feeds, expect=[np.float32([[-math.inf]])])


def test_a_given_addend_stays(check):
    feeds = {"a": matrix(2, 3), "b": matrix(3, 4), "c": matrix(4)}
    check(make_node("Gemm", list(feeds), ["y"], beta=0.5), 11, 7, feeds, operators=["Gemm"])


@pytest.mark.parametrize(
    ("operator", "since", "shapes", "attributes"),
    [("Det", 22, [(3, 3)], {}), ("Einsum", 28, [(2, 3), (3, 4)], {"equation": "ij,jk->ik"})],
)
def test_bfloat16_goes_through_float(check, operator, since, shapes, attributes):
    feeds = {f"x{i}": matrix(*shape) * 2 + np.eye(*shape, dtype=np.float32) for i, shape in enumerate(shapes)}
    casts = [make_node("Cast", [name], [f"{name}_"], to=TensorProto.BFLOAT16) for name in feeds]
    nodes = [
        *casts,
        make_node(operator, [f"{name}_" for name in feeds], ["b"], **attributes),
        make_node("Cast", ["b"], ["y"], to=TensorProto.FLOAT),
    ]
    exact = np.linalg.det(feeds["x0"]) if operator == "Det" else feeds["x0"] @ feeds["x1"]
    expect = np.asarray(exact, np.float32).astype(ml_dtypes.bfloat16).astype(np.float32)
    check(nodes, since, since - 1, feeds, expect=[expect], rtol=2**-7, atol=1e-5)
