"""The inputs that two models are run on: their sizes, and the numbers by which models are told apart."""

import numpy as np
import pytest

import opset
from opset.budget import Limits
from opset.opsets.registry import default_registry
from opset.verification import inputs
from opset.verification.inputs import Drawing, numbers_in

HEAD = '<ir_version: 8, opset_import: ["": 17]> g '


def drawing(text, **dims):
    return Drawing(opset.load(opset.parse_model(HEAD + text)), default_registry(), dims, Limits())


NAMED = "(float[N, M] x) => (float[A, B] y) { y = Neg (x) }"


def test_sizes_differ_from_each_other_and_from_run_to_run():
    assert [*drawing("(float[2] x) => (float[2] y) { y = Neg (x) }").sizes_for(3)] == [{}]
    tried = [[tuple(each.values()) for each in drawing(NAMED).sizes_for(number)] for number in range(8)]
    first = [(2, 3), (3, 3), (1, 1), (1, 1), (2, 3), (3, 3), (1, 1), (100, 2)]
    assert [each[0] for each in tried] == first  # M, N
    assert all(len(each) == len(inputs.SIZES) + (number > 2) for number, each in enumerate(tried))
    assert {*tried[0]} == {*tried[1]} == {*tried[2]}
    assert [each[-1] for each in tried] == [(224, 224), (8, 8)] * 4
    assert {(size, size) for size in (1, 2, 3, 4, 8, 16, 32, 64, 128, 224)} <= {*tried[0]}  # what models ask for
    assert next(drawing(NAMED, N=7).sizes_for(0)) == {"M": 2}
    unnamed = next(drawing("(float[?, ?] x, float[?, ?] z) => (float[A, B] y) { y = MatMul (x, z) }").sizes_for(0))
    assert unnamed == {"x.0": 2, "x.1": 3, "z.0": 2, "z.1": 3}  # the same along the same axis
    text = '(float["1", N, "a.b", "x.100"] x) => (float[A, B, C, D] y) { y = Neg (x) }'
    numbered = next(drawing(text).sizes_for(0))
    assert numbered == {"1": 2, "N": 3, "a.b": 4, "x.100": 5}  # names of their own, and no axes


def test_one_size_may_be_the_sum_of_two_others():
    inputs = drawing("(float[K, L, M] x) => (float[A, B, C] y) { y = Neg (x) }")
    plain = {"K": 2, "L": 3, "M": 4}
    sums = [{**plain, "K": 7}, {**plain, "L": 6}, {**plain, "M": 5}]
    assert [*inputs.sizes_for(0)][:5] == [plain, *sums, {"K": 3, "L": 3, "M": 3}]
    stopped = inputs.sizes_for(0)
    assert [next(stopped) for _ in range(3)] == [plain, *sums[:2]]
    again = [*inputs.sizes_for(0)]  # begins with the sum that was tried last, and tries no other
    assert again[:3] == [sums[1], plain, {"K": 3, "L": 3, "M": 3}]
    for names, count in (("F, G, H, I, J", 30), ("E, F, G, H, I, J", 0)):
        assert len([*drawing(f"(float[{names}] x) => (float[A] y) {{ y = Neg (x) }}").sizes_for(0)]) == 11 + count


OMITTING = '<domain: "d", opset_import: ["": 17]> F (a, omitted) => (b) { b = Clip (a, omitted) }'


def chain(count):
    return f"(float[1] x0) => (float[A] x{count}) {{ {' '.join(f'x{at + 1} = Neg (x{at})' for at in range(count))} }}"


@pytest.mark.parametrize(
    ("text", "small"),
    [
        ("(float[N, 224] x) => (float[A, B] y) { y = Neg (x) }", True),
        ("(float[25000] x) => (float[A] y) { y = Neg (x) }", True),
        ("(float[25001] x) => (float[A] y) { y = Neg (x) }", False),  # too many elements of values
        (f"(float[1] x) => (float[A] y) <float[50001] w = {{{', '.join(['1'] * 50_001)}}}> {{ y = Max (x) }}", False),
        (chain(300), True),
        (chain(301), False),
        (f"(float[2] x) => (float[2] y) {{ y = d.F (x) }} {OMITTING}", True),
    ],
)
def test_small_models_have_few_nodes_and_elements(text, small):
    assert drawing(text).is_small == small


def test_an_input_that_has_a_default_is_not_drawn():
    inputs = drawing("(float[2] x, float[2] w, float[2] v) => (float[2] y) <float[2] w = {1, 2}> { y = Sum (x, w, v) }")
    assert inputs.draw({}, 1).feeds.keys() == {"x", "v"} == inputs.complete({}, 1).keys()
    assert inputs.complete({"w": np.array([3, 4], np.float32)}, 1).keys() == {"x", "v"}


def test_the_numbers_of_a_model_are_found():
    text = f"""(float[2] x, bool c) => (float[2] y)
        <float[2] w = {{0.5, 0}}, int64[1] i = {{3}}, float[17] many = {{{", ".join(["9"] * 17)}}}> {{
        e = Elu <alpha = 2.5> (x) k = Constant <value = float[1] {{-1.5}}> ()
        big = Constant <value = float {{1000000}}> ()
        y = If (c) <then_branch = t () => (float[2] a) <float v = {{7}}> {{ a = Add (e, v) }},
                    else_branch = z () => (float[2] b) {{ b = Selu <gamma = 4.0> (x) }}> }}"""
    found = numbers_in(opset.load(opset.parse_model(HEAD + text))).tolist()
    assert found == [-1.5, 0.5, 2.5, 4.0, 7.0]
    weights = ", ".join(
        f"float[16] w{at} = {{{', '.join(str(16 * at + each + 1) for each in range(16))}}}" for at in range(6)
    )
    for node in (
        "y = Neg (x)",
        "y = If (c) <then_branch = t () => (float[2] a) { a = Elu <alpha = 0.5> (x) }, "
        "else_branch = e () => (float[2] b) { b = Neg (x) }>",
    ):  # those of the main graph suffice
        text = f"(float[2] x, bool c) => (float[2] y) <{weights}> {{ {node} }}"
        assert numbers_in(opset.load(opset.parse_model(HEAD + text))).tolist() == [*range(1, 65)]


def drawn(kind, seed, constant="", size="[4000]"):
    text = f"({kind}{size} x) => ({kind}[A] y) <float c = {{{constant or 0}}}> {{ y = Identity (x) }}"
    return drawing(text).draw({}, seed).feeds["x"]


def test_floats_differ_in_kind_from_seed_to_seed():
    plain = drawn("float", 0)
    assert 2 < np.abs(plain).max() < 6 and (plain * 2 % 1 != 0).any()
    halves = drawn("float", 2)
    assert (halves * 2 % 1 == 0).all() and len({*halves.tolist()}) > 5 and abs(halves.mean()) < 0.1
    assert {*drawn("float", 3).tolist()} == {-1, 0, 1}
    assert {*drawn("float", 11).tolist()} == {-1, 0, 1}
    whole = drawn("float", 7)
    assert (whole % 1 == 0).all() and 5 < np.abs(whole).max() < 20
    near = drawn("float", 4, "250")
    assert 1000 < np.count_nonzero((np.abs(near) > 230) & (np.abs(near) < 270)) < 3000  # beside those of the model
    assert all(np.abs(drawn("float", seed, "250")).max() < 20 for seed in (0, 2))
    assert {float(each) for each in near if each > 200} == {np.float32(250 * share) for share in (0.95, 1, 1.05)}
    assert max(np.abs(drawn("float", seed)).max() for seed in range(20)) > 400
    assert all({*np.sign(drawn("float", seed)).tolist()} >= {-1, 1} for seed in (0, 1, 2, 4, 6, 8))
    signs = {seed: {*np.sign(drawn("float", seed)).tolist()} - {0} for seed in range(5, 40, 4)}
    assert {seed: {-1: "below", 1: "above", 0: "both"}[sum(each)] for seed, each in signs.items()} == {
        5: "below", 9: "both", 13: "above", 17: "below", 21: "below", 25: "both", 29: "above", 33: "below", 37: "below",
    }  # fmt: skip
    assert [np.abs(drawn("float", seed)).max() < 1 for seed in (5, 9, 13, 17, 25)] == [False, True, False, True, True]
    single = [float(drawn("float", seed, size="[1]")[0]) for seed in range(60)]
    assert max(single) > 10 and min(single) < -10
    assert [float(drawn("float", seed, "250", size="[1]")[0]) for seed in range(9)] == single[:9]
    assert drawn("float", 8).dtype == np.float32 and drawn("float16", 5).dtype == np.float16


def test_integers_differ_in_kind_from_seed_to_seed():
    def limits(kind, seed):
        found = drawn(kind, seed)
        return int(found.min()), int(found.max())

    assert [limits("int64", seed) for seed in range(6)] == [
        (0, 3), (-1000, 1000), (0, 16), (-5, 5), (0, 16), (0, 16),
    ]  # fmt: skip
    assert limits("uint8", 1) == (0, 255) and limits("int8", 1) == (-128, 127) and limits("uint8", 3) == (0, 5)
    assert {*drawn("bool", 1).tolist()} == {True, False}


def test_numbers_beyond_the_plain_ones_are_drawn_for_odd_seeds_and_while_nothing_fails():
    pads = drawing("(float[3, 3, 3, 3] x, int64[8] p) => (float[A, B, C, D] y) { y = Pad (x, p) }")
    beyond = [
        [seed for seed in range(16) if not {*pads.draw({}, seed, attempt).feeds["p"].tolist()} <= {0, 1}]
        for attempt in (0, 1, 3)
    ]
    assert beyond == [[3, 5, 7, 9, 11, 13, 15], [3, 5, 7, 9, 11, 13, 15], []]


def test_later_attempts_draw_more_carefully():
    text = drawing(
        "(int64[400] i, float[400] x, float[400] u) => (float[A] y, int64[B] z) { y = Sqrt (u) z = Abs (i) }"
    )
    first, again, second, third = (text.draw({}, 1, attempt).feeds for attempt in (0, 1, 3, 4))
    assert first["i"].min() < 0 and not np.array_equal(first["i"], again["i"])
    assert again["i"].min() < 0 and (second["i"].min(), second["i"].max()) == (0, 1)
    assert (third["i"].min(), third["i"].max()) == (1, 4)
    assert all(text.draw({}, seed, attempt).feeds["u"].min() > 0 for seed in range(6) for attempt in range(5))
    assert (second["u"] % 1 != 0).any()  # whole numbers are for integers
    assert not np.array_equal(text.draw({}, 1, 4).feeds["i"], text.draw({}, 1, 5).feeds["i"])
    assert np.array_equal(text.draw({}, 1, 4).feeds["i"], third["i"])


def test_integers_of_a_large_range_are_drawn_from_all_of_it():
    text = '<ir_version: 8, opset_import: ["": 18]> g (int64[40] a) => (int64[A] y) { y = BitwiseNot (a) }'
    inputs = Drawing(opset.load(opset.parse_model(text)), default_registry(), {}, Limits())
    for seed in (0, 1):
        found = np.sort(inputs.draw({}, seed).feeds["a"])
        assert found[0] < -(2**29) < 2**29 < found[-1] and np.diff(found).min() > 1


def test_a_few_seeds_reach_each_index():
    inputs = drawing(
        "(float[5] d, int64[1] i, int64[3] j) => (float[A] y, float[B] z) { y = Gather (d, i) z = Gather (d, j) }"
    )
    feeds = [inputs.draw({}, seed).feeds for seed in range(10)]
    assert {int(each["i"][0]) for each in feeds} == {*range(-5, 5)}
    assert {index for each in feeds[:5] for index in each["j"].tolist()} == {*range(-5, 5)}


def test_sizes_that_are_expressions_follow():
    drawn = drawing('(float["past + 1", N] x, float[past] z) => (float[A, B] y) { y = Neg (x) }')
    assert drawn.open_sizes == ["N", "past"]
    feeds = drawn.draw(next(drawn.sizes_for(0)), 0).feeds
    assert feeds["x"].shape[0] == feeds["z"].shape[0] + 1
