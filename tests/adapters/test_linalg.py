"""Gemm's addend: absent since version 11, broadcast in any way since 7; Einsum by products of matrices."""

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
    refused(node, 7, 6, square, "C207", shapes={"b": [3, "M"], "c": [2, "N"]})
    refused(node, 7, 6, square, "C207", shapes={"a": ["M", 3], "c": ["N", 4]})
    refused(node, 7, 6, square, "C207", shapes={"a": [None, 3], "c": [None, 4]})
    refused(node, 7, 6, square, "C207", shapes={"b": [3, None], "c": [2, None]})
    refused(node, 7, 6, column, "C207", shapes={"b": [3, None]})
    refused(node, 7, 6, column, "C207", shapes={"b": None})
    refused(node, 7, 6, square, "C207", shapes={"a": None, "c": ["M", 4]})
    check(node, 7, 6, square, shapes={"a": None, "b": None}, expect=[a @ b + square["c"]], judge=early)
    single = {"a": a, "b": b[:, :1], "c": matrix(2, 1)}
    check(node, 7, 6, single, expect=[a @ b[:, :1] + single["c"]], judge=early, operators=["Gemm"])
    refused(node, 7, 6, {"a": a, "b": b, "c": matrix(1, 2, 4)}, "C103")


@pytest.mark.parametrize("operator", ["MatMul", "Gemm"])
@pytest.mark.parametrize("unknown", ["a", "b", "ab"])
def test_one_factor_shows_how_many_integers_are_added(check, refused, operator, unknown):
    feeds = {name: matrix(*shape).astype(np.int32) for name, shape in (("a", (2, 3)), ("b", (3, 4)), ("c", (4,)))}
    node, shapes = make_node(operator, [*feeds][: 2 + (operator == "Gemm")], ["y"]), dict.fromkeys(unknown)
    given = {name: feeds[name] for name in node.input}
    if len(unknown) == 2:
        refused(node, 9, 8, given, "C207", shapes=shapes)
    else:
        check(node, 9, 8, given, expect=[feeds["a"] @ feeds["b"] + given.get("c", 0)], shapes=shapes)


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


def integers(kind, *shape):
    """Return numbers of the whole range, the least and the greatest among them."""
    limits = np.iinfo(kind)
    x = np.random.default_rng(len(shape)).integers(limits.min, limits.max, shape, kind, endpoint=True)
    x.flat[:2] = [limits.min, limits.max][: x.size]
    return x


WHOLE = [np.int32, np.int64, np.uint32, np.uint64]


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("to", [8, 7])
def test_products_of_integers_wrap(check, kind, to):
    node, open_ = make_node("MatMul", ["a", "b"], ["y"]), {"a": ["M", None]}
    for left, right in (((3, 5), (5, 4)), ((5,), (5,)), ((2, 1, 3, 5), (4, 5, 2)), ((3, 0), (0, 2))):
        feeds = {"a": integers(kind, *left), "b": integers(kind, *right)}
        check(node, 13, to, feeds, shapes=open_ if len(left) == 2 else None, expect=[np.matmul(*feeds.values())])
    ones = np.full((1, 1 << 17), np.iinfo(kind).max, kind)
    check(node, 9, to, {"a": ones, "b": ones.T}, expect=[ones @ ones.T])


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("turned", [False, True])
def test_products_of_integers_with_an_addend(check, kind, turned):
    a, b = integers(kind, 3, 5), integers(kind, 5, 4)
    for alpha, beta, shape in ((1.0, -1.0, (3, 4)), (2.0**33 + 2**12, 2.0**63, (3, 1)), (-3.0, 0.0, ())):
        c = integers(kind, *shape)
        factors = [np.uint64(int(factor) % 2**64).astype(kind) for factor in (alpha, beta)]
        node = make_node("Gemm", ["a", "b", "c"], ["y"], alpha=alpha, beta=beta, transA=turned, transB=turned)
        feeds = {"a": a.T.copy(), "b": b.T.copy(), "c": c} if turned else {"a": a, "b": b, "c": c}
        with np.errstate(over="ignore"):
            check(node, 9, 7, feeds, expect=[a @ b * factors[0] + c * factors[1]])
    small = {"a": np.array([[3, 2]], kind), "b": np.array([[1], [2]], kind), "c": np.array([5], kind)}
    for alpha, beta, expect in ((0.5, 0.5, 6), (0.5, 1.0, 8), (1.0, 0.5, 9)):
        node = make_node("Gemm", ["a", "b", "c"], ["y"], alpha=alpha, beta=beta)
        check(node, 9, 8, small, expect=[np.array([[expect]], kind)])


EQUATIONS = {
    "ij,jk->ik": [(2, 3), (3, 4)],
    "ij,jk": [(0, 3), (3, 4)],
    "bhqd,bhkd->bhqk": [(2, 3, 4, 5), (2, 3, 6, 5)],
    "ij->ji": [(2, 3)],
    "ij->": [(2, 3)],
    "i,i->": [(4,), (4,)],
    "i,j->ij": [(2,), (3,)],
    "...ij,...jk->...ik": [(5, 1, 3, 4), (1, 2, 4, 6)],
    "ii->i": [(3, 3)],
    "...ii->...": [(2, 3, 3)],
    "bijc,bklc->bijkl": [(2, 3, 4, 5), (2, 6, 7, 5)],
    "abc,cd,db->a": [(2, 3, 4), (4, 5), (5, 3)],
    "bnqd,hnd->bqh": [(2, 3, 4, 5), (6, 3, 5)],
    "ijk,ikl,->jl": [(2, 3, 4), (2, 4, 5), ()],
    "ij,i->ij": [(2, 3), (2,)],
    "i,ij->ij": [(2,), (2, 3)],
    "nchw,nhwk->nck": [(2, 3, 4, 5), (2, 4, 5, 6)],
    "bij,bj->bi": [(2, 3, 4), (2, 4)],
    "bj,bij->bi": [(3, 4), (3, 2, 4)],
}
REPEATED = {
    "bik,bkj->bij": [(1, 3, 2), (2, 1, 4)],
    "ij,ij->": [(1, 3), (2, 1)],
    "i,i,i->i": [(1,), (3,), (1,)],
    "ij,jk,k->i": [(2, 1), (3, 4), (1,)],
    "i,i->": [(1,), (1,)],
    "ii,i->i": [(3, 3), (1,)],
}
"""Equations and shapes with dimensions of size 1 that are repeated to match others of the same letter."""


def einsum(equation, count):
    return make_node("Einsum", [f"x{i}" for i in range(count)], ["y"], equation=equation)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_sums_of_products(check, equation):
    rng = np.random.default_rng(3)
    feeds = {f"x{i}": np.asarray(rng.random(s), np.float32) for i, s in enumerate(EQUATIONS[equation])}
    for to in (11, 8):
        check(einsum(equation, len(feeds)), 12, to, feeds, rtol=1e-5, atol=1e-6)
    if "ii" not in equation:
        open_shapes = {name: [f"{name}_{i}" for i in range(value.ndim)] for name, value in feeds.items()}
        check(einsum(equation, len(feeds)), 12, 11, feeds, rtol=1e-5, atol=1e-6, shapes=open_shapes)
    if equation == "ij,jk->ik":
        check(einsum(equation, 2), 12, 11, feeds, rtol=1e-5, atol=1e-6, shapes={"x0": None, "x1": None})


def test_one_size_that_is_not_known_is_left_to_reshape(check):
    x, z = matrix(6, 4).reshape(2, 3, 4), matrix(4, 5)
    product = ["Shape", "Gather", "ReduceProd", "Reshape", "MatMul", "Shape", "Gather", "Reshape"]
    for shapes, operators in (({}, ["Reshape", "MatMul", "Reshape"]), ({"x0": ["N", 3, 4]}, product)):
        check(einsum("ijk,kl->ijl", 2), 12, 11, {"x0": x, "x1": z}, rtol=1e-5, shapes=shapes, operators=operators)


@pytest.mark.parametrize("equation", REPEATED)
def test_dimensions_of_size_1_are_repeated(check, equation):
    rng = np.random.default_rng(3)
    feeds = {f"x{i}": np.asarray(rng.random(shape), np.float32) for i, shape in enumerate(REPEATED[equation])}
    expect = [np.einsum(equation, *feeds.values())]
    partly_open = {name: [None if size > 1 else 1 for size in value.shape] for name, value in feeds.items()}
    for shapes in ({}, partly_open)[: 1 + ("ii" not in equation)]:
        for to in (11, 8):
            check(einsum(equation, len(feeds)), 12, to, feeds, expect=expect, rtol=1e-5, atol=1e-6, shapes=shapes)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int32, np.int64])
def test_sums_of_products_by_type(check, dtype):
    rng = np.random.default_rng(3)
    feeds = {"x0": rng.integers(-9, 9, (2, 3)).astype(dtype), "x1": rng.integers(-9, 9, (3, 4)).astype(dtype)}
    check(einsum("ij,jk->ik", 2), 12, 11, feeds, expect=[feeds["x0"] @ feeds["x1"]])


def test_equations_that_do_not_fit(refused):
    x = matrix(2, 3)
    refused(einsum("ij,jk->ik", 1), 12, 11, {"x0": x}, "C103")
    refused(einsum("ijk->i", 1), 12, 11, {"x0": x}, "C103")
    refused(einsum("i...j,jk...->ik...", 2), 12, 11, {"x0": x, "x1": matrix(3, 4, 5)}, "C103")
    refused(einsum("ii->i", 1), 12, 11, {"x0": matrix(3, 3)}, "C207", shapes={"x0": ["N", "N"]})
    refused(einsum("ijk,jkl->il", 2), 12, 11, {"x0": matrix(2, 0, 3), "x1": matrix(0, 3, 2)}, "C204")


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_small_determinants(check, kind, size):
    x = np.random.default_rng(size).integers(-9, 10, (2, 4, size, size)).astype(kind) / kind(4)
    expect = np.linalg.det(x.astype(np.float64)).astype(kind)
    for to in (10, 7):
        made = make_node("Det", ["x"], ["y"])
        check(made, 11, to, {"x": x}, expect=[expect], rtol=float(np.finfo(kind).eps) * 4, atol=1e-12)
        check(made, 11, to, {"x": x}, expect=[expect], rtol=1e-2, atol=1e-12, shapes={"x": ["N", "M", size, size]})
        check(made, 11, to, {"x": x[0, 1]}, expect=[expect[0, 1]], rtol=float(np.finfo(kind).eps) * 4, atol=1e-12)


def test_large_determinants_are_refused(refused):
    made = make_node("Det", ["x"], ["y"])
    refused(made, 11, 10, {"x": np.eye(4, dtype=np.float32)}, "C204")
    refused(made, 11, 10, {"x": np.eye(2, dtype=np.float32)}, "C204", shapes={"x": ["N", "N"]})


REFUSED = [
    (
        12,
        11,
        "C103",
        "1 terms, 2 inputs",
        '(float[] x, float[] z) => (float[] y) { y = Einsum<equation="ij->ij">(x, z) }',
    ),
    (
        7,
        6,
        "C207",
        "how 'C' is broadcast",
        "(float[3] x, float[3,4] z, float[m,4] c) => (float[] y) { y = Gemm<transA=1>(x, z, c) }",
    ),
    (
        7,
        6,
        "C207",
        "how 'C' is broadcast",
        "(float[2,3] x, float[3] z, float[2,n] c) => (float[] y) { y = Gemm(x, z, c) }",
    ),
    (12, 11, "C103", "'i' is 2 and 3 in one term", '(float[2,3] x) => (float[] y) { y = Einsum<equation="ii->i">(x) }'),
    (12, 11, "C204", "a diagonal of", '(float[100000,100000] x) => (float[] y) { y = Einsum<equation="ii->i">(x) }'),
    (9, 8, "C207", "how many products of integers", "(int32[2,K] x, int32[K,2] z) => (int32[] y) { y = MatMul(x, z) }"),
    (
        9,
        8,
        "C204",
        "524289 products of integers are added",
        "(int64[524289,2] x, int64[2,K] z, int64[2,2] c) => (int64[] y) { y = Gemm<transA=1, transB=1>(x, z, c) }",
    ),
    (9, 8, "C103", "no matrices", "(int64[2] x, int64[2] z, int64 c) => (int64[] y) { y = Gemm(x, z, c) }"),
    (9, 8, "C103", "no matrices", "(int64[2,2] x, int64[2] z, int64 c) => (int64[] y) { y = Gemm(x, z, c) }"),
    (9, 8, "C103", "no matrices", "(int64[2] x, int64[2,2] z, int64 c) => (int64[] y) { y = Gemm(x, z, c) }"),
]


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)


def test_an_equation_that_is_no_text_is_refused(refused):
    node = make_node("Einsum", ["x"], ["y"], equation=b"\xff->")
    error = refused(node, 12, 11, {"x": np.ones((2, 3), np.float32)}, "C103")
    assert error.findings[0].why == "the equation is not valid UTF-8"
