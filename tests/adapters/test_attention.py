"""Attention: masks that are short, padding and windows as masks, what version 25 forbids."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import opset
from opset.errors import ConversionError
from tests.bounds import draws

BATCH, HEADS, KV_HEADS, QUERIES, KEYS, PAST, SIZE = 2, 4, 2, 3, 5, 4, 8
INPUTS = ("Q", "K", "V", "mask", "past_key", "past_value", "nonpad")
OUTPUTS = ("Y", "present_key", "present_value", "scores")
TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}


def evaluator(model, feeds):
    return ReferenceEvaluator(model).run(None, dict(feeds))


def values(past=False, nonpad=False, mask=None, flat=False):
    rng = np.random.default_rng(3)

    def normal(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    feeds = {"Q": normal(BATCH, HEADS, QUERIES, SIZE)}
    feeds |= {name: normal(BATCH, KV_HEADS, KEYS, SIZE) for name in ("K", "V")}
    if flat:
        feeds = {name: value.transpose(0, 2, 1, 3).reshape(BATCH, value.shape[2], -1) for name, value in feeds.items()}
    if mask is not None:
        kind, shape = mask
        feeds["mask"] = rng.random(shape) < 0.6 if kind == "bool" else normal(*shape)
    if past:
        feeds |= {name: normal(BATCH, KV_HEADS, PAST, SIZE) for name in ("past_key", "past_value")}
    if nonpad:
        feeds["nonpad"] = np.array([2, 5], np.int64)
    return feeds


def node(feeds, outputs=("Y",), **attributes):
    given = [name if name in feeds else "" for name in INPUTS]
    while not given[-1]:
        given.pop()
    if feeds["Q"].ndim == 3:
        attributes |= {"q_num_heads": HEADS, "kv_num_heads": KV_HEADS}
    return helper.make_node("Attention", given, list(outputs), name="a", **attributes)


def open_shapes(feeds, known):
    """Return shapes without sizes, or none at all."""
    if known == "all":
        return {}
    return {name: [None] * value.ndim if known == "rank" else None for name, value in feeds.items()}


@pytest.mark.parametrize("known", ["all", "rank", "nothing"])
@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("mask", [("bool", (QUERIES, 1)), ("float", (BATCH, 1, 1, 1)), ("float", (1,))])
def test_a_mask_of_one_column_is_repeated(check, build, known, past, flat, mask):
    feeds = values(past, mask=mask, flat=flat)
    total = KEYS + PAST * past
    full = {**feeds, "mask": np.repeat(feeds["mask"], total, axis=-1)}
    made = node(feeds, OUTPUTS, qk_matmul_output_mode=2)
    expect = evaluator(build(node(full, OUTPUTS, qk_matmul_output_mode=2), 24, full, outputs=OUTPUTS), full)
    given = {"shapes": open_shapes(feeds, known), "outputs": OUTPUTS}
    after = check(made, 23, 24, feeds, **given, expect=expect, judge=evaluator, **TOLERANCE)
    assert any(made.op_type == "Expand" for made in after.graph.node)


@pytest.mark.parametrize("mask", [("bool", (QUERIES, KEYS)), ("float", (HEADS, QUERIES, KEYS)), None])
def test_a_mask_of_full_length_stays(check, mask):
    feeds = values(mask=mask)
    check(node(feeds), 23, 24, feeds, operators=["Attention"], outputs=["Y"], judge=evaluator)
    check(node(feeds), 24, 23, feeds, operators=["Attention"], outputs=["Y"], judge=evaluator)


def test_one_key_and_one_column_need_nothing(check):
    feeds = values(mask=("float", (QUERIES, 1)))
    feeds |= {name: feeds[name][:, :, :1] for name in ("K", "V")}
    check(node(feeds), 23, 24, feeds, operators=["Attention"], outputs=["Y"], judge=evaluator)


@pytest.mark.parametrize("known", ["all", "rank", "nothing"])
@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("mask", [("bool", (QUERIES, 2)), ("float", (BATCH, 1, QUERIES, 1)), ("float", (QUERIES, 5))])
def test_a_short_mask_is_filled_up(check, build, known, past, mask):
    feeds = values(past, mask=mask)
    missing = KEYS + PAST * past - mask[1][-1]
    fill = False if mask[0] == "bool" else -np.inf
    widths = [(0, 0)] * (len(mask[1]) - 1) + [(0, missing)]
    full = {**feeds, "mask": np.pad(feeds["mask"], widths, constant_values=fill)}
    expect = evaluator(build(node(full, OUTPUTS), 23, full, outputs=OUTPUTS), full)
    shapes = open_shapes(feeds, known)
    after = check(node(feeds, OUTPUTS), 24, 23, feeds, shapes=shapes, outputs=OUTPUTS, expect=expect, judge=evaluator)
    assert any(made.op_type == "Pad" for made in after.graph.node) == bool(missing or known != "all")


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8])
@pytest.mark.parametrize("columns", [2, KEYS])
def test_a_mask_of_integers_becomes_one_of_floats(check, own, kind, columns):
    feeds = values()
    feeds["mask"] = np.arange(QUERIES * columns).reshape(QUERIES, columns).astype(kind) % 4
    made = node(feeds, left_window_size=1)
    expect = own(made, 25, feeds)
    for to in (24, 23, 22, LOW):
        check(made, 25, to, feeds, outputs=["Y"], expect=expect, **TOLERANCE)


def test_a_mask_in_float16_is_filled_up(check):
    feeds = {name: value.astype(np.float16) for name, value in values(mask=("float", (QUERIES, 2))).items()}
    check(node(feeds), 24, 23, feeds, outputs=["Y"], judge=evaluator)


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("mode", [0, 2, 3])
@pytest.mark.parametrize(
    "mask", [None, ("bool", (QUERIES, KEYS)), ("float", (BATCH, 1, QUERIES, KEYS)), ("float", (HEADS, QUERIES, 5))]
)
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("known", ["all", "nothing"])
def test_padding_becomes_a_mask(check, causal, mode, mask, flat, known):
    feeds = values(nonpad=True, mask=mask, flat=flat)
    outputs = ("Y", "", "", "scores")
    made = node(feeds, outputs, is_causal=causal, qk_matmul_output_mode=mode)
    shapes = {name: shape for name, shape in open_shapes(feeds, known).items() if name != "mask"}
    after = check(made, 24, 23, feeds, shapes=shapes, outputs=["Y", "scores"], judge=evaluator, **TOLERANCE)
    (attention,) = (made for made in after.graph.node if made.op_type == "Attention")
    assert len(attention.input) == 4 and not any(a.name == "is_causal" for a in attention.attribute)


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("cache", ["none", "past", "nonpad"])
@pytest.mark.parametrize("mask", [None, ("bool", (QUERIES, 3)), ("float", (HEADS, QUERIES, 5))])
@pytest.mark.parametrize("window", [(0, -1), (-1, 0), (1, 1), (2, 0), (100, 2**40)])
@pytest.mark.parametrize("to", [24, 23])
def test_a_window_becomes_a_mask(check, causal, cache, mask, window, to):
    feeds = values(cache == "past", cache == "nonpad", mask)
    left, right = window
    made = node(feeds, is_causal=causal, left_window_size=left, right_window_size=right)
    check(made, 25, to, feeds, outputs=["Y"], judge=evaluator, **TOLERANCE)


def test_without_a_window_there_is_nothing_to_do(check):
    feeds = values()
    made = node(feeds, left_window_size=-1)
    after = check(made, 25, 24, feeds, operators=["Attention"], outputs=["Y"], judge=evaluator)
    assert not after.graph.node[0].attribute


@pytest.mark.parametrize("heads", [{"q_num_heads": HEADS}, {"q_num_heads": HEADS, "kv_num_heads": KV_HEADS}])
def test_heads_that_a_dimension_tells_are_dropped(check, heads):
    feeds = values()
    after = check(node(feeds, **heads), 24, 25, feeds, outputs=["Y"], operators=["Attention"], judge=evaluator)
    assert not after.graph.node[0].attribute
    flat = values(flat=True)
    after = check(node(flat), 24, 25, flat, outputs=["Y"], operators=["Attention"], judge=evaluator)
    assert len(after.graph.node[0].attribute) == 2


@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("named", [1, 2])
def test_present_outputs_come_as_a_pair(check, past, named):
    feeds = values(past)
    outputs = ["Y", "", "", "scores"]
    outputs[named] = OUTPUTS[named]
    listed = [name for name in outputs if name]
    after = check(node(feeds, outputs), 24, 25, feeds, outputs=listed, operators=["Attention"], judge=evaluator)
    assert all(after.graph.node[0].output)


def test_present_outputs_beside_padding_are_the_inputs(check, refused):
    feeds = values(nonpad=True)
    made = node(feeds, OUTPUTS)
    operators = ["Attention", "Identity", "Identity"]
    check(made, 24, 25, feeds, outputs=OUTPUTS, operators=operators, judge=evaluator)
    for outputs in (["Y", "present_key"], ["Y", "", "present_value"]):
        named = [name for name in outputs if name]
        check(node(feeds, outputs), 24, 25, feeds, outputs=named, operators=operators[:2], judge=evaluator)
    flat = values(nonpad=True, flat=True)
    refused(node(flat, OUTPUTS), 24, 25, flat, "C204", outputs=OUTPUTS)
    refused(made, 24, 25, feeds, "C207", outputs=OUTPUTS, shapes={"K": None})


@pytest.mark.parametrize(
    ("version", "to", "feeds", "attributes", "code", "shapes"),
    [
        (24, 25, values(), {"q_num_heads": 2}, "C204", {}),
        (24, 25, values(), {"q_num_heads": HEADS}, "C207", {"Q": ["b", "h", "q", "s"]}),
        (24, 25, values(), {"q_num_heads": HEADS}, "C207", {"Q": None}),
        (24, 25, values(past=True, nonpad=True), {}, "C204", {}),
        (24, 23, values(past=True, nonpad=True), {}, "C204", {}),
        (24, 23, {**values(nonpad=True), "past_value": values(past=True)["past_value"]}, {}, "C103", {}),
        (24, 23, values(nonpad=True), {"is_causal": 2}, "C103", {}),
        (24, 23, {**values(), "mask": np.ones((QUERIES, 9), bool)}, {}, "C103", {}),
        (25, 24, values(), {"left_window_size": -2}, "C103", {}),
    ],
)
def test_what_would_lose_meaning_is_refused(refused, version, to, feeds, attributes, code, shapes):
    refused(node(feeds, **attributes), version, to, feeds, code, outputs=["Y"], shapes=shapes)


def test_a_mask_with_more_columns_than_keys_is_told(refused):
    feeds = {**values(), "mask": np.ones((QUERIES, 9), bool)}
    error = refused(node(feeds), 24, 23, feeds, "C103", outputs=["Y"])
    assert f"the mask has 9 columns for {KEYS} keys" in str(error)


def test_the_type_of_a_mask_has_to_be_known(build):
    feeds = values(mask=("float", (QUERIES, 2)))
    source = helper.make_node("Magic", [], ["mask"], domain="my")
    with pytest.warns(UserWarning, match="no inference"):
        model = build([source, node(feeds)], 24, {name: feeds[name] for name in "QKV"}, outputs=["Y"])
    model.opset_import.add(domain="my", version=1)
    with pytest.raises(ConversionError) as caught:
        opset.convert(model, 23)
    assert caught.value.findings[0].code == "C203"


NUMBERS = ["is_causal", "kv_num_heads", "q_num_heads", "left_window_size", "right_window_size", "qk_matmul_output_mode"]


def test_malformed_nodes_are_refused_or_converted(build, attempt):
    ends = set()

    @settings(max_examples=draws(80))
    @given(
        st.sampled_from([(23, 25), (24, 23), (25, 23), (24, 25)]),
        st.dictionaries(st.sampled_from(NUMBERS), st.integers(-(2**63), 2**63 - 1)),
        st.lists(st.sampled_from(INPUTS[3:]), unique=True),
        st.lists(st.one_of(st.none(), st.integers(0, 4)), max_size=5),
    )
    @example((23, 25), {}, [], [2, 4, 3, 8])
    def drawn(versions, numbers, extra, shape):
        version, to = versions
        numbers = {name: number for name, number in numbers.items() if version > 24 or "window" not in name}
        names = [name for name in (INPUTS if version > 23 else INPUTS[:-1]) if name in ("Q", "K", "V", *extra)]
        described = dict.fromkeys(names, (TensorProto.FLOAT, shape))
        wanted = [name if name in names else "" for name in INPUTS[: INPUTS.index(names[-1]) + 1]]
        model = build(helper.make_node("Attention", wanted, ["Y"], **numbers), version, described, outputs=["Y"])
        ends.add(attempt(model, to))

    drawn()
    assert {"converted"} < ends


LOW = 11


@pytest.mark.parametrize("known", ["all", "rank"])
@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("mask", [None, ("bool", (QUERIES, 1)), ("float", (BATCH, 1, QUERIES, 1))])
@pytest.mark.parametrize("causal", [0, 1])
def test_attention_by_its_formula(check, known, past, flat, mask, causal):
    feeds = values(past, mask=mask, flat=flat)
    if mask is not None:
        feeds["mask"] = np.repeat(feeds["mask"], KEYS + PAST * past, axis=-1)
    shapes = {}
    if known == "rank":
        own = {name: "q" if name == "Q" else "k" for name in "QKV"}
        shapes = {
            name: ["b", length, feeds[name].shape[2]] if flat else ["b", feeds[name].shape[1], length, SIZE]
            for name, length in own.items()
        }
        shapes |= {"past_key": [None] * 4, "past_value": [None] * 4}
    outputs = OUTPUTS[:3] if past else OUTPUTS[:1]
    made = node(feeds, outputs, is_causal=causal)
    for to in (22, LOW, 7):
        after = check(made, 23, to, feeds, outputs=outputs, shapes=shapes, **TOLERANCE)
        # Which keys a query may attend to is a constant if it is known.
        compared = any(each.op_type == "Greater" for each in after.graph.node)
        assert to != 22 or compared == (known == "rank" and causal == 1)


@pytest.mark.parametrize("unknown", [["Q"], ["K", "V"], ["past_key", "past_value"]])
def test_a_causal_mask_of_known_and_unknown_lengths(check, unknown):
    feeds = values(past="past_key" in unknown)
    shapes = {name: [*feeds[name].shape[:2], None, SIZE] for name in unknown}
    made = node(feeds, OUTPUTS[: len(feeds) - 2], is_causal=1)
    check(made, 23, LOW, feeds, outputs=OUTPUTS[: len(feeds) - 2], shapes=shapes, **TOLERANCE)


@pytest.mark.parametrize(("length", "operators"), [(64, set()), (65, {"Greater"})])
def test_a_large_causal_mask_is_computed(check, length, operators):
    feeds = {name: np.ones((1, 1, length, 2), np.float32) for name in "QKV"}
    after = check(node(feeds, is_causal=1), 23, 22, feeds, outputs=["Y"], **TOLERANCE)
    assert {"Greater"} & {each.op_type for each in after.graph.node} == operators


@pytest.mark.parametrize("flat", [False, True])
def test_attention_without_known_sizes(check, own, refused, flat):
    feeds = values(flat=flat)
    shapes = {name: ["b", None, None] if flat else ["b", "h", None, "s"] for name in "QKV"}
    made = node(feeds)
    if flat:
        check(made, 23, LOW, feeds, outputs=["Y"], shapes=shapes, **TOLERANCE)
        refused(made, 23, 22, feeds, "C207", outputs=["Y"], shapes=dict.fromkeys("QKV"))
    else:
        shapes["Q"] = ["b", "g", None, "s"]
        heads_of_one = {name: [None, value.shape[1], None, None] for name, value in feeds.items()}
        for each in (shapes, shapes | {"Q": heads_of_one["Q"]}, shapes | {"K": heads_of_one["K"]}):
            check(made, 23, LOW, feeds, outputs=["Y"], shapes=each, expect=own(made, 23, feeds), **TOLERANCE)
        alike = {**feeds, "Q": feeds["Q"][:, :KV_HEADS]}
        check(made, 23, LOW, alike, outputs=["Y"], shapes=shapes | {"Q": ["b", "h", None, "s"]}, **TOLERANCE)


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
@pytest.mark.parametrize("past", [False, True])
def test_scores_of_each_stage(check, own, mode, past):
    feeds = values(past, mask=("float", (QUERIES, KEYS + PAST * past)))
    made = node(feeds, OUTPUTS, qk_matmul_output_mode=mode, softcap=0.5, scale=0.7, is_causal=1)
    before = own(made, 23, feeds)
    check(made, 23, LOW, feeds, outputs=OUTPUTS, expect=before, **TOLERANCE)


@pytest.mark.parametrize("kinds", [("f4", "f8"), ("f8", "f4"), ("f8", "f8"), ("f2", "f2"), ("f2", "f4")])
@pytest.mark.parametrize("precision", [None, TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16])
def test_types_of_attention(check, own, kinds, precision):
    feeds = values()
    feeds = {name: value.astype(kinds[name == "V"]) for name, value in feeds.items()}
    stated = {"softmax_precision": precision} if precision else {}
    made = node(feeds, OUTPUTS, qk_matmul_output_mode=3, **stated)
    near = 1e-12 if kinds == ("f8", "f8") and precision in (None, TensorProto.DOUBLE) else 1e-6
    narrow = "f2" in kinds or precision == TensorProto.FLOAT16
    near = {"rtol": 2e-3, "atol": 2e-3} if narrow else {"rtol": near, "atol": near}
    of_queries, of_values = (helper.np_dtype_to_tensor_dtype(np.dtype(kind)) for kind in kinds)
    types = {"kinds": {**dict.fromkeys(OUTPUTS, of_queries), "present_value": of_values}}
    before = own(made, 23, feeds, **types)
    check(made, 23, LOW, feeds, outputs=OUTPUTS, expect=before, **types, **near)


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_a_query_that_may_attend_to_nothing_gets_zeros(check, own, kind):
    feeds = values(mask=("bool", (QUERIES, KEYS)))
    feeds["mask"][1] = False
    if kind == "float":
        feeds["mask"] = np.where(feeds["mask"], 0, -np.inf).astype(np.float32)
    before = own(node(feeds), 23, feeds)
    assert not before[0][:, :, 1].any()
    check(node(feeds), 23, LOW, feeds, outputs=["Y"], expect=before, **TOLERANCE)


def test_an_excluded_key_that_is_no_number_has_no_effect(check, own):
    feeds = values(mask=("bool", (QUERIES, KEYS)))
    feeds["mask"][:] = True
    feeds["mask"][:, 3] = False
    feeds["K"][:, :, 3] = np.nan
    before = own(node(feeds), 23, feeds)
    assert np.isfinite(before[0]).all()
    check(node(feeds), 23, LOW, feeds, outputs=["Y"], expect=before, **TOLERANCE)


@pytest.mark.parametrize("lengths", [(0, KEYS), (QUERIES, 0)])
def test_empty_attention(check, own, lengths):
    feeds = values(past=True)
    feeds["Q"] = feeds["Q"][:, :, : lengths[0]]
    feeds |= {name: feeds[name][:, :, : lengths[1]] for name in "KV"}
    before = own(node(feeds), 23, feeds)
    check(node(feeds), 23, LOW, feeds, outputs=["Y"], expect=before, **TOLERANCE)


def rotary(flat, interleaved, dim, positions):
    inputs = ["X", "cos", "sin", "ids"][: 4 if positions else 3]
    stated = {"num_heads": 2} if flat else {}
    stated |= {"interleaved": interleaved} if interleaved else {}
    return helper.make_node("RotaryEmbedding", inputs, ["Y"], rotary_embedding_dim=dim, **stated)


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("dim", [0, 4])
@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_rotary_embedding_by_its_formula(check, flat, interleaved, dim, positions, kind):
    rng = np.random.default_rng(4)
    half = (dim or 8) // 2
    feeds = {"X": rng.standard_normal((2, 3, 16) if flat else (2, 2, 3, 8)).astype(kind)}
    for name in ("cos", "sin"):
        feeds[name] = rng.standard_normal((7, half) if positions else (2, 3, half)).astype(kind)
    if positions:
        feeds["ids"] = rng.integers(0, 7, (2, 3))
    near = {"rtol": 2e-3, "atol": 2e-3} if kind is np.float16 else TOLERANCE
    made = rotary(flat, interleaved, dim, positions)
    for to in (22, 11, 7):
        check(made, 23, to, feeds, outputs=["Y"], **near)
    if not flat or not dim:
        open_ = {"X": ["b", "l", None] if flat else ["b", 2, "l", None], **({"ids": ["b", "l"]} if positions else {})}
        check(made, 23, 11, feeds, outputs=["Y"], shapes=open_, **near)


@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("axis", [-2, 1, 3])
@pytest.mark.parametrize("placed", [False, True])
def test_a_cache_is_written_by_its_elements(check, mode, axis, placed):
    rng = np.random.default_rng(5)
    feeds = {"past": rng.random((2, 6, 6, 6), np.float32), "new": rng.random((2, 6, 6, 6), np.float32)}
    feeds["new"] = np.take(feeds["new"], [0, 1], axis)
    feeds |= {"at": np.array([3, 0] if mode == "linear" else [5, 8], np.int64)} if placed else {}
    made = helper.make_node("TensorScatter", list(feeds), ["Y"], mode=mode, axis=axis)
    for shapes in ({}, {name: [None] * value.ndim for name, value in feeds.items()}):
        check(made, 24, 11, feeds, outputs=["Y"], judge=evaluator, shapes=shapes)


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_linear_attention_is_a_loop(check, own, rule, past, shared, kind):
    rng = np.random.default_rng(6)
    heads, kv, size, v_size, length = 4, 2, 3, 5, 6
    feeds = {
        "q": rng.standard_normal((2, length, heads * size)),
        "k": rng.standard_normal((2, length, kv * size)),
        "v": rng.standard_normal((2, length, kv * v_size)),
    }
    if past:
        feeds["s"] = rng.standard_normal((2, kv, size, v_size))
    if "gated" in rule:
        feeds["d"] = -rng.random((2, length, kv if shared else kv * size))
    if "delta" in rule:
        feeds["b"] = rng.random((2, length, 1 if shared else kv))
    feeds = {name: value.astype(kind) for name, value in feeds.items()}
    inputs = [name if name in feeds else "" for name in "qkvsdb"]
    made = helper.make_node(
        "LinearAttention", inputs, ["Y", "present"], q_num_heads=heads, kv_num_heads=kv, update_rule=rule
    )
    near = {"rtol": 2e-2, "atol": 1e-2} if kind is np.float16 else {"rtol": 1e-4, "atol": 1e-5}
    open_ = {name: ["b", "l", value.shape[2]] for name, value in feeds.items() if value.ndim == 3}
    expect = own(made, 27, feeds)
    for to, shapes in ((26, {}), (17, open_), (8, open_)):
        after = check(made, 27, to, feeds, outputs=["Y", "present"], expect=expect, shapes=shapes, **near)
        assert ("Cast" in {each.op_type for each in after.graph.node}) == (kind is np.float16)


def test_linear_attention_of_no_tokens(check):
    feeds = {"q": np.zeros((2, 0, 4), "f"), "k": np.zeros((2, 0, 2), "f"), "v": np.zeros((2, 0, 3), "f")}
    feeds["s"] = np.ones((2, 1, 2, 3), "f")
    made = helper.make_node(
        "LinearAttention", list(feeds), ["Y", "present"], q_num_heads=2, kv_num_heads=1, update_rule="linear"
    )
    shapes = {name: ["b", "l", feeds[name].shape[2]] for name in "qkv"}
    expect = [np.zeros((2, 0, 6), "f"), feeds["s"]]
    check(made, 27, 17, feeds, outputs=["Y", "present"], expect=expect, shapes=shapes)


REFUSED = [
    (23, 22, "C103", "'kv_num_heads' is needed",
     "(float[1,2,4] q) => (float[] y) { y = Attention<q_num_heads=2>(q, q, q) }"),
    (23, 22, "C103", "3 query heads cannot share 2",
     "(float[1,3,2,4] q, float[1,2,2,4] k) => (float[] y) { y = Attention(q, k, k) }"),
    (27, 6, "C201", "it takes a subgraph",
     '(float[1,3,4] q) => (float[] y, float[] s) { y, s = LinearAttention<update_rule="linear", q_num_heads=2, '
     "kv_num_heads=2>(q, q, q) }"),
    (24, 23, "C103", "'axis' is that of the batch",
     "(float[2,3] x) => (float[] y) { c = Relu(x)  y = TensorScatter<axis=-2>(c, c) }"),
    (23, 22, "C103", "5 features cannot be divided into 2",
     "(float[1,2,5] q) => (float[] y) { y = Attention<q_num_heads=2, kv_num_heads=2>(q, q, q) }"),
    (23, 22, "C103", "5 features are rotated, and they make no pairs",
     "(float[1,2,3,5] x, float[5,2] c, int64[1,3] p) => (float[] y) { y = RotaryEmbedding(x, c, c, p) }"),
    (23, 22, "C103", "rotary_embedding_dim 3: rotary_embedding_dim is even",
     "(float[1,2,3,4] x, float[1,3,1] c) => (float[] y) { y = RotaryEmbedding<rotary_embedding_dim=3>(x, c, c) }"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)
