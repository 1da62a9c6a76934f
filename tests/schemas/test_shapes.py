"""Declared constraints on inputs: patterns, conditions, what is checked with numbers and with symbolic sizes, texts."""

import pytest

from opset.errors import SchemaError
from opset.inference.building.agreement import SIZES
from opset.inference.building.dimensions import variable
from opset.opsets.registry import default_registry
from opset.schemas.constraints.evaluation import NUMBERS
from opset.schemas.constraints.grammar import parse_condition, parse_expression, parse_pattern
from opset.schemas.constraints.input_shapes import Match, plan_of
from opset.schemas.constraints.violation import Violation
from opset.schemas.yaml.loader import load_operator

HEAD = """\
operator: Op
family: acme
versions:
- since: 1
  doc: It does.
  inputs:
  - {name: X, type: T, doc: x}
  - {name: W, type: T, optional: true, doc: w}
  - {name: K, type: tensor(int64), optional: true, doc: k}
  - {name: Z, type: T, variadic: true, min_arity: 0, doc: z}
  attributes:
    group: {type: int, default: 1, doc: how many}
    kernel: {type: ints, doc: sizes}
    mode: {type: string, default: a, doc: which}
  types:
    T: [float, double]
  constraints:
"""
N, M = variable("N"), variable("M")


def operator_of(folder, constraints):
    (folder / "com.acme").mkdir(exist_ok=True)
    path = folder / "com.acme" / "Op.yaml"
    path.write_text(HEAD + "".join(f"    {line}\n" for line in constraints.split("\n")))
    return load_operator(path, {})


def match(folder, constraints, *shapes, attributes=None, elements=None, given=(), algebra=NUMBERS):
    plan = plan_of(operator_of(folder, constraints).schemas[0])
    found = {"group": 1, "mode": "a", **(attributes or {})}
    result = Match(plan, shapes, found.get, (elements or {}).get, dict(given).get, algebra)
    result.check()
    return result


def broken(folder, constraints, *shapes, **facts):
    try:
        match(folder, constraints, *shapes, **facts)
    except Violation as violation:
        return str(violation)
    return ""


@pytest.mark.parametrize(
    ("constraint", "legal", "illegal"),
    [
        ('{rank: {X: ">= 2"}}', [(1, 1), None], [(1,)]),
        ("{rank: {X: 3 or 4}}", [(1, 1, 1), (1,) * 4], [(1, 1)]),
        ("{rank: {X: 1 <= x < 3 and != 2}}", [(1,)], [(), (1, 1), (1, 1, 1)]),
        ("{rank: {X: len(kernel) + 2}}", [(1, 1, 1, 1)], [(1, 1, 1)]),
        ("{size: {X: 1}}", [(), (1, 1)], [(2,), (0,)]),
        ("{size: {X: 2 * group}}", [(2, 3), (6,)], [(2,), ()]),
        ('{shape: {X: "(N, C, ...)"}}', [(1, 2), (1, 2, 3)], [(1,)]),
        ('{shape: {X: "(n, n)"}}', [(2, 2)], [(2, 3), (2,), (2, 2, 2)]),
        ('{shape: {X: "(..., _, 1 or 2)"}}', [(5, 1), (3, 5, 2)], [(5, 3), (1,)]),
        ("{shape: {X: () or (1)}}", [(), (1,)], [(2,), (1, 1)]),
        ('{shape: {X: "(group, N)", Z: "(N, group)"}}', [(3, 2)], [(2, 3), (4, 3)]),
        ('{shape: {X: "(C, C * group, C + 1)"}}', [(2, 6, 3)], [(2, 5, 3), (2, 6, 2)]),
        ('{shape: {X: "(C, k, k - 1)"}, sizes: {C: multiple of group, k: "> 1"}}', [(6, 4, 3)], [(7, 4, 3), (6, 1, 0)]),
        ('{shape: {X: "(N, C = 7, ...)"}, sizes: {C: 7}}', [(1,), (1, 7, 2)], [(1, 2), ()]),
        ('{rank: {X: "dim(X, -1) // 2"}}', [(1, 4), ()], [(4,)]),
        ("{rank: {X: 0}, where: {mode: b or c}}", [()], [(1,)]),
        ('{rank: {X: 0}, where: {group: ">= 2"}}', [()], [(1,)]),
        ('{rank: {X: 0}, where: {group: "< 2"}}', [(), (1,)], []),
        ("{rank: {X: 0}, where: {W: 1}}", [(), (1,)], []),
    ],
)
def test_one_input(tmp_path, constraint, legal, illegal):
    facts = {"attributes": {"group": 3, "mode": "b", "kernel": (2, 2)}}
    for shape in legal:
        assert broken(tmp_path, f"C3: {constraint}", shape, **facts) == ""
    for shape in illegal:
        assert broken(tmp_path, f"C3: {constraint}", shape, **facts).startswith("C3: ")


def test_symbolic_sizes_are_compared_in_each_part_of_a_condition(tmp_path):
    constraint = 'C1: {shape: {X: "(k)"}, sizes: {k: "> 0 and < 3"}}'
    assert broken(tmp_path, constraint, (N + 5,), algebra=SIZES).startswith("C1: ")
    assert broken(tmp_path, constraint, (N,), algebra=SIZES) == ""


def test_names_stand_for_one_size_and_one_run(tmp_path):
    text = 'C1: {shape: {X: "(N, C, ...D)"}}\nC2: {shape: {W: "(C, ...D)", Z: "(...D, C)"}}'
    assert broken(tmp_path, text, (1, 2, 3, 4), (2, 3, 4), None, (3, 4, 2), (3, 4, 2)) == ""
    assert broken(tmp_path, text, (1, 2, 3), (2, 4)) == "C2: shape(W) = [2, 4] instead of [2, 3]"
    assert broken(tmp_path, text, (1, 2, 3), (3, 3)) == "C2: shape(W) = [3, 3] instead of [2, 3]"
    assert broken(tmp_path, text, (1, 2, 3), None, None, (3, 2), (3, 3)) == "C2: shape(Z) = [3, 3] instead of [3, 2]"
    assert broken(tmp_path, text, None, (2, 4)) == broken(tmp_path, text) == ""


def test_a_run_with_the_name_of_an_attribute_has_its_values(tmp_path):
    constraint = 'C1: {shape: {X: "(N, ...kernel)"}}'
    assert "[1, 3, 5] instead of [N, 3, 4]" in broken(tmp_path, constraint, (1, 3, 5), attributes={"kernel": [3, 4]})
    assert match(tmp_path, constraint, None, attributes={"kernel": [3, 4]}).runs == {"kernel": (3, 4)}
    for attributes in ({}, {"kernel": []}):
        assert match(tmp_path, constraint, (1, 3, 5), attributes=attributes).runs == {"kernel": (3, 5)}
    known = match(tmp_path, constraint, (1, N, 5), attributes={"kernel": [3, 5]}, algebra=SIZES)
    assert known.completed_shapes() == [(1, 3, 5)]


def test_broadcasts_to_an_input_or_a_pattern(tmp_path):
    text = 'C1: {broadcast: {W: X, K: "(M, 4)"}, shape: {X: "(M, _)"}}'
    assert broken(tmp_path, text, (2, 3), (1, 3), (4,)) == ""
    assert broken(tmp_path, text, (2, 3), (2,)) == "C1: shape(W) = [2] does not broadcast to [2, 3]"
    assert broken(tmp_path, text, (2, 3), None, (3, 4)) == "C1: shape(K) = [3, 4] does not broadcast to [2, 4]"
    completed = match(tmp_path, text, (N, M), (2, 1), algebra=SIZES).completed_shapes()
    assert completed == [(2, M), (2, 1)]


def test_elements_and_attributes(tmp_path):
    text = "C1: {values: {K: -rank(X) <= x < rank(X), kernel: 1 or 3}}"
    assert broken(tmp_path, text, (1, 1), None, (2,), elements={2: [-2, 1]}, attributes={"kernel": (1, 3)}) == ""
    assert broken(tmp_path, text, (1, 1), None, (2,), elements={2: [0, 2]}) == "C1: K 2"
    assert broken(tmp_path, text, None, None, (2,), elements={2: [9]}) == ""
    assert broken(tmp_path, text, (1, 1), None, (2,)) == ""
    assert broken(tmp_path, text, (1, 1), attributes={"kernel": (1, 2)}) == "C1: kernel 2"
    text = "C1: {rank: {X: 1}, where: {K: true}}"
    assert broken(tmp_path, text, (), None, (), elements={2: [True]}) == "C1: rank(X) = 0"
    assert broken(tmp_path, text, (), None, (), elements={2: [False]}) == broken(tmp_path, text, (), None, ()) == ""


def test_elements_tell_how_many_there_are_where_the_shape_is_not_known(tmp_path):
    text = "C1: {size: {K: 2}}"
    assert broken(tmp_path, text, None, None, None, elements={2: [7, 8]}) == ""
    assert broken(tmp_path, text, None, None, None, elements={2: [7]}) == "C1: K has 1 elements"
    assert broken(tmp_path, text, None, None, None) == broken(tmp_path, text) == ""
    assert broken(tmp_path, text, None, None, (N, 2), algebra=SIZES) == ""
    text = "C1: {rank: {X: size(K)}}"
    assert broken(tmp_path, text, (1, 1), None, None, elements={2: [7, 8]}) == ""
    assert broken(tmp_path, text, (1, 1), None, (3, 1)) == "C1: rank(X) = 2"
    assert broken(tmp_path, text, (1, 1), None, (3, 0)) == "C1: rank(X) = 2"
    assert broken(tmp_path, text, (1, 1)) == ""


@pytest.mark.parametrize(
    ("form", "found"),
    [
        ("dim(X, 1)", "C1: rank(X) = 2"), ("dim(X, -2)", ""), ("dim(X, 2)", ""), ("dim(X, -3)", ""),
        ("dim(W, 0)", ""), ("dim(X, 1) // 2", ""), ("dim(X, 1) // dim(X, 0)", ""), ("5 // (group - 3)", ""),
        ("len(kernel)", "C1: rank(X) = 2"), ("len(mode)", ""), ("len(group)", ""), ("-group + 5", ""),
        ("2 or dim(W, 0)", ""), ("!= dim(W, 0)", ""), ("!= 2", "C1: rank(X) = 2"),
        ("multiple of group", "C1: rank(X) = 2"),
        ("multiple of 2", ""), ("multiple of group - 3", ""), ("> 1.5", ""), ("<= 1.5", "C1: rank(X) = 2"),
        (">= 2", ""), ("< 2", "C1: rank(X) = 2"), ("<= 2", ""), ("> 2", "C1: rank(X) = 2"),
        ("dim(X, group)", ""), ("rank(W)", ""), ("dim(X, 0) + group - 3", ""),
    ],
)  # fmt: skip
def test_numbers_that_decide(tmp_path, form, found):
    facts = {"attributes": {"group": 3, "kernel": (1,), "mode": "b"}}
    assert broken(tmp_path, f'C1: {{rank: {{X: "{form}"}}}}', (2, 4), **facts) == found


@pytest.mark.parametrize(
    ("where", "applies"),
    [
        ("{mode: b}", True), ("{mode: a or b}", True), ("{mode: a}", False), ("{mode: bb}", False),
        ("{group: 3}", True), ("{group: 2 or 3}", True), ('{group: "> 3"}', False),
        ("{K: 7}", True), ("{K: 8}", False), ("{Z: 7}", False), ("{W: 1}", False),
        ("{rank(X): 1}", True), ("{rank(X): 2}", False), ("{rank(W): 1}", False), ("{rank(Z): 1}", False),
        ("{mode: b, group: 3}", True), ("{mode: b, group: 4}", False), ("{W: absent}", True), ("{W: given}", False),
        ("{K: given}", True), ("{kernel: given}", False), ("{kernel: absent}", False),
    ],
)  # fmt: skip
def test_a_condition_holds_where_all_that_it_names_does(tmp_path, where, applies):
    facts = {"elements": {2: [7]}, "given": {"W": False, "K": True}}
    for mode in ("b", b"b"):
        found = broken(
            tmp_path,
            f"C1: {{where: {where}, rank: {{X: 0}}}}",
            (5,),
            None,
            (1,),
            attributes={"group": 3, "mode": mode},
            **facts,
        )
        assert found == ("C1: rank(X) = 1" if applies else "")


def test_of_several_elements_none_is_the_one_that_decides(tmp_path):
    text = "C1: {where: {K: 7}, rank: {X: 0}}"
    for elements in ([7, 7], [], None):
        assert broken(tmp_path, text, (5,), None, (2,), elements={2: elements}) == ""
    assert broken(tmp_path, text, (5,), None, (1,), attributes={"mode": None}, elements={2: [7]}) == "C1: rank(X) = 1"
    text = "C1: {where: {group: 1}, rank: {X: 0}}"
    assert broken(tmp_path, text, (5,), attributes={"group": None}) == ""


def test_what_is_bound_is_what_certainly_fits(tmp_path):
    found = match(tmp_path, 'C1: {shape: {X: "(n, 2) or (2, n)"}}', (N, M), algebra=SIZES)
    assert (found.sizes, found.completed_shapes()) == ({}, [(N, M)])
    found = match(tmp_path, 'C1: {shape: {X: "(n, 2) or (2, n)"}}', (7, M), algebra=SIZES)
    assert (found.sizes, found.completed_shapes()) == ({"n": 7}, [(7, 2)])
    found = match(tmp_path, 'C1: {shape: {X: "(n, 2) or (n)"}}', (N, M), algebra=SIZES)
    assert (found.sizes, found.completed_shapes()) == ({"n": N}, [(N, 2)])
    found = match(tmp_path, 'C1: {shape: {X: "(n) or (2)"}}', (N,), algebra=SIZES)
    assert (found.sizes, found.completed_shapes()) == ({"n": N}, [(N,)])
    found = match(tmp_path, 'C1: {shape: {X: "(N, ...D)", W: "(2, ...D, N)"}}', (7, M, 3), None, algebra=SIZES)
    assert found.completed_shapes() == [(7, M, 3), (2, M, 3, 7)]
    found = match(tmp_path, 'C1: {shape: {X: "(2, ...D)", W: "(...D)"}}', None, None, algebra=SIZES)
    assert found.completed_shapes() == [None, None]
    assert match(tmp_path, 'C1: {shape: {X: "(n, 2) or (n)"}}', None, algebra=SIZES).completed_shapes() == [None]
    assert match(tmp_path, 'C1: {shape: {X: "(n, 2)"}}', None, algebra=SIZES).completed_shapes() == [(None, 2)]
    found = match(tmp_path, 'C1: {shape: {X: "(N, ...D, C)", W: "(...D)"}}', (1, M, 3, 4), (2, N), algebra=SIZES)
    assert (found.sizes, found.runs) == ({"N": 1, "C": 4}, {"D": (2, 3)})
    assert found.completed_shapes() == [(1, 2, 3, 4), (2, 3)]
    found = match(tmp_path, 'C1: {shape: {X: "(C = 1, ...)", W: "(n, C = 1)"}}', None, None, algebra=SIZES)
    assert found.completed_shapes() == [None, None]
    text = 'C1: {broadcast: {W: "(a, b)"}, shape: {X: "(a, b)"}}'
    assert match(tmp_path, text, (N, 4), (3, 1), algebra=SIZES).sizes == {"a": 3, "b": 4}
    assert match(tmp_path, text, None, (3, 1), algebra=SIZES).sizes == {"a": 3, "b": None}
    text = 'C1: {broadcast: {W: "(a, 4)"}, shape: {X: "(a, _)"}}'
    assert match(tmp_path, text, None, (3, 1), algebra=SIZES).sizes == {"a": 3}


@pytest.mark.parametrize(
    ("constraint", "shapes", "said"),
    [
        (
            '{shape: {X: "(N, C * group, _, 2 or k)", W: "(C, k)"}}',
            [(1, 2), (5, 5)],
            "shape(X) = [1, 2] instead of [N, C * group, ?, 2 or k]",
        ),
        ('{shape: {X: "(N, ...D)", W: "(...D, N)"}}', [(1, 2), (3, 1)], "shape(W) = [3, 1] instead of [2, 1]"),
        ('{shape: {X: "(-C + 2, dim(X, 0) - 1)", W: (C)}}', [(1,)], "shape(X) = [1] instead of [-C + 2, 0]"),
        ('{shape: {X: "() or (1) or (...D, 2)"}}', [(3,)], "shape(X) = [3] instead of [] or [1] or [...D, 2]"),
        ("{size: {X: 1}}", [(2, 3)], "shape(X) = [2, 3]"),
        ("{size: {X: 6 or 7}}", [(2, 4)], "shape(X) = [2, 4]"),
        ('{shape: {X: (k)}, sizes: {"k - 1": "> 4"}}', [(5,)], "k - 1 = 4"),
        ("{values: {mode: 1}}", [], ""),
        ("{values: {group: 2 or 4}}", [], "group 3"),
        ('{values: {kernel: "< 5"}}', [], "kernel 6"),
        ("{broadcast: {W: X}}", [(2, 3), (3, 3)], "shape(W) = [3, 3] does not broadcast to [2, 3]"),
        ("{broadcast: {W: X}}", [(3,), (3, 3)], "shape(W) = [3, 3] does not broadcast to [3]"),
        ("{broadcast: {W: X}}", [(3, 3), ()], ""),
        ("{broadcast: {W: X}}", [None, (2,)], ""),
        ("{rank: {Z: 2}}", [None, None, None, (1, 1), None, (1,)], "rank(Z) = 1"),
        ("{rank: {K: 2}}", [None, None, (1, 1), (1,)], ""),
    ],
)
def test_what_is_broken_is_told_with_what_was_wanted(tmp_path, constraint, shapes, said):
    facts = {"attributes": {"group": 3, "kernel": (4, 6), "mode": "b"}}
    assert broken(tmp_path, f"C1: {constraint}", *shapes, **facts) == (f"C1: {said}" if said else "")


def test_axes_that_differ(tmp_path):
    text = "C1: {distinct: {kernel: rank(X)}}"
    assert broken(tmp_path, text, (1, 1), attributes={"kernel": (0, 1)}) == ""
    assert broken(tmp_path, text, (1, 1), attributes={"kernel": (0, -2)}) == "C1: kernel [0, 0]"
    assert broken(tmp_path, text, None, attributes={"kernel": (0, -2)}) == ""
    assert broken(tmp_path, text, None, attributes={"kernel": (1, 0, 1)}) == "C1: kernel [1, 0, 1]"
    text = "C1: {distinct: {K: rank(X) + 1}}"
    assert broken(tmp_path, text, (N,), None, (2,), elements={2: [1, -1]}, algebra=SIZES) == "C1: K [1, 1]"
    assert broken(tmp_path, text, (N,), None, (2,), elements={2: [M, M]}, algebra=SIZES) == ""


def test_what_is_given(tmp_path):
    both, one = {"W": True, "K": True}, {"W": True, "K": False}
    assert broken(tmp_path, "C1: {given: {W: true}}", given=one) == broken(tmp_path, "C1: {given: {W: true}}") == ""
    assert broken(tmp_path, "C1: {given: {W: false}}", given=one) == "C1: W is given"
    assert broken(tmp_path, "C1: {given: {kernel: true}}", given={"kernel": False}) == "C1: kernel is left out"
    assert broken(tmp_path, "C1: {given: {W: K}}", given=both) == ""
    assert broken(tmp_path, "C1: {given: {W: K}}", given=one) == "C1: W is given and K is left out"
    assert broken(tmp_path, "C1: {given: {W: K}}", given={"W": True}) == ""
    assert broken(tmp_path, "C1: {given: {W: not K}}", given=one) == ""
    assert broken(tmp_path, "C1: {given: {W: not K}}", given=both) == "C1: W is given and K is given"
    text = "C1: {where: {rank(X): 3, W: given, K: absent}, given: {kernel: true}}"
    assert broken(tmp_path, text, (1, 1, 1), given={**one, "kernel": False}) == "C1: kernel is left out"
    assert broken(tmp_path, text, (1, 1, 1), given={**both, "kernel": False}) == ""
    assert broken(tmp_path, text, (1, 1), given={**one, "kernel": False}) == ""
    assert broken(tmp_path, text, None, given={**one, "kernel": False}) == broken(tmp_path, text, given=one) == ""


def test_symbolic_sizes_complete_each_other(tmp_path):
    text = 'C1: {shape: {X: "(N, C, ...)", W: "(C, k * group)"}}\nC2: {shape: {K: (k)}}'
    found = match(tmp_path, text, (N, M, 5), (3, 8), (2,), attributes={"group": 4}, algebra=SIZES)
    assert (found.sizes, found.completed_shapes()) == ({"N": N, "C": 3, "k": 2}, [(N, 3, 5), (3, 8), (2,)])
    assert match(tmp_path, text, (N, M, 5), None, algebra=SIZES).completed_shapes() == [(N, M, 5), (M, None)]
    assert match(tmp_path, text, None, None, algebra=SIZES).completed_shapes() == [None, (None, None)]
    assert broken(tmp_path, text, (N, N + 1), (N, 4), algebra=SIZES).startswith("C1: shape(W) = [N, 4]")
    assert broken(tmp_path, text, (N, M), (N, 4), algebra=SIZES) == ""
    assert broken(tmp_path, "C1: {sizes: {n: multiple of 2}, shape: {X: (n)}}", (2 * N + 1,), algebra=SIZES) != ""
    assert broken(tmp_path, "C1: {size: {X: 1}}", (N, 2), algebra=SIZES) != ""
    assert broken(tmp_path, "C1: {size: {X: 1}}", (N, M), algebra=SIZES) == ""


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        ('{rank: {X: ">= 2", W: 3 or 4, K: 0}}', "rank(X) >= 2, rank(W) is 3 or 4, and K is a scalar"),
        ('{shape: {X: "(N, C, ...)", W: (C), K: (C)}}', "shape(X) = (N, C, ...), and shape(W) = shape(K) = (C)"),
        ("{shape: {X: () or (1)}}", "shape(X) is () or (1)"),
        ("{size: {X: 1, K: 1, W: 2}}", "X and K have one element each, and W has 2 elements"),
        ("{values: {K: -rank(X) <= x < rank(X)}}", "-rank(X) <= each of K < rank(X)"),
        ("{values: {K: 0 <= x < 4}, size: {K: 1}}", "K has one element, and 0 <= K < 4"),
        ("{sizes: {C: multiple of group}, shape: {X: (C)}}", "shape(X) = (C), and C is a multiple of group"),
        ("{broadcast: {W: X, K: X}}", "W and K broadcast to X in one direction"),
        ("[{where: {mode: b}, rank: {X: 1}}, {rank: {X: 2}}]", "rank(X) = 1, if mode = b; rank(X) = 2"),
        ("{rank: {X: 1}, text: X is a vector}", "X is a vector"),
        ("{given: {W: true, kernel: false}}", "W is given, and kernel is left out"),
        (
            "{given: {W: K, kernel: K, Z: true, X: true}}",
            "W and kernel are given if and only if K is, and Z and X are given",
        ),
        ("{size: {X: 2 * group, W: 3, K: 3}}", "size(X) = 2 * group, and W and K have 3 elements each"),
        ("{values: {group: 0, kernel: 0}}", "group = 0, and each of kernel = 0"),
        ("{values: {K: true, W: 1 or 2}}", "each of K = true, and each of W is 1 or 2"),
        ("{distinct: {K: rank(X)}}", "K names no dimension twice"),
        ("{given: {W: K}}", "W is given if and only if K is"),
        ("{given: {W: not K}}", "either W or K is given"),
        ("{where: {rank(X): 3, K: absent}, given: {W: true}}", "W is given, if rank(X) = 3, and K is left out"),
    ],
)
def test_the_text_follows_from_what_is_declared(tmp_path, constraint, text):
    assert operator_of(tmp_path, f"C1: {constraint}").docs[0].constraints == {"C1": text}


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        ("{rank: {Q: 2}}", "S107: there is no input 'Q'"),
        ("{rank: {X: two}}", "S107: there is no size or int attribute 'two'"),
        ("{rank: {X: rank(Q)}}", "S107: there is no input 'Q'"),
        ("{rank: {X: len(group2)}}", "S107: there is no attribute 'group2'"),
        ("{rank: {X: mode}}", "S107: there is no size or int attribute 'mode'"),
        ('{rank: {X: ">="}}', "S105: '>=' ends where a number"),
        ("{rank: {X: []}}", "S105: text has to stand here"),
        ("{shape: {X: (C}}", "S105: ')' is missing"),
        ('{shape: {X: "(..., ...)"}}', "S105: '(..., ...)' has two runs"),
        ('{shape: {X: "(C = 1, D)"}}', "S105: only the last sizes"),
        ("{shape: {X: (x)}}", "S105: another name than x"),
        ("{shape: {X: (C) (C)}}", "S105: '(' is not expected"),
        ("{shape: {X: (" + "(" * 40 + "}}", "S105: "),
        ("{broadcast: {X: Q}}", "S107: there is no input 'Q'"),
        ("{values: {Q: 1}}", "S107: there is no input or attribute 'Q'"),
        ("{where: {Q: 1}, rank: {X: 1}}", "S107: there is no attribute or input 'Q'"),
        ("{where: {kernel: 1}, rank: {X: 1}}", "S105: an attribute of one number"),
        ("{where: {group: rank(X)}, rank: {X: 1}}", "S105: a condition with numbers alone"),
        ("{distinct: {Q: 1}}", "S107: there is no input or attribute 'Q'"),
        ("{distinct: {K: rank(}}", "S105: "),
        ("{given: {X: Q}}", "S107: there is no input or attribute 'Q'"),
        ("{given: {X: W K}}", "S105: 'W K' does not say"),
        ("{where: {rank(Q): 1}, rank: {X: 1}}", "S107: there is no attribute or input 'rank(Q)'"),
        ("{where: {rank(X): given}, rank: {X: 1}}", "S105: "),
        ("{where: {group: 1}}", "S104: a condition is missing"),
        ("{ranks: {X: 1}}", "S103: the key 'ranks' is not known"),
        ("[]", "S105: at least one condition"),
        ("[text]", "S105: text, or a mapping"),
        ("1", "S105: text, or a mapping"),
    ],
)
def test_what_cannot_be_read_is_found(tmp_path, constraint, message):
    with pytest.raises(SchemaError) as caught:
        operator_of(tmp_path, f"C1: {constraint}")
    assert any(f"{each.code}: {each.message}".startswith(message) for each in caught.value.findings)


FORM = "write 4, '3 or 4', '>= 2' or '-rank(X) <= x < rank(X)'"
SHAPED = "write '(N, C, ...)', '(C * group, 1 or 2)' or '() or (1)'"


@pytest.mark.parametrize(
    ("constraint", "help"),
    [
        ("{rank: {X: 1 2}}", FORM),
        ("{size: {X: 1 2}}", FORM),
        ("{values: {K: 1 2}}", FORM),
        ("{where: {group: 1 2}, rank: {X: 1}}", FORM),
        ("{where: {K: 1 2}, rank: {X: 1}}", FORM),
        ("{shape: {X: 1 2}}", SHAPED),
        ("{broadcast: {X: (1}}", FORM),
        ("{distinct: {K: 1 2}}", "write rank(X)"),
        ("{sizes: {C: 1 2}, shape: {X: (C)}}", "write '> 0' or 'multiple of group'"),
        ("{given: {W: K X}}", "write true, false, NAME or not NAME"),
        ("{where: {group: 1}}", "one of given, rank, shape, size, sizes, values, distinct, broadcast"),
        ("{ranks: {X: 1}, rank: {X: 1}}", "did you mean rank?"),
        ("{rank: {XX: 1}}", "did you mean X?"),
        ("{given: {W: kernels}}", "did you mean kernel?"),
        ("{rank: {X: len(kernels)}}", "did you mean kernel?"),
        ("{rank: {X: groups}}", "did you mean group?"),
        ("{where: {modes: a}, rank: {X: 1}}", "did you mean mode?"),
        ("{values: {kernels: 1}}", "did you mean kernel?"),
    ],
)
def test_what_helps_where_a_condition_cannot_be_read(tmp_path, constraint, help):
    with pytest.raises(SchemaError) as caught:
        operator_of(tmp_path, f"C1: {constraint}")
    assert [each.help for each in caught.value.findings] == [help]


@pytest.mark.parametrize(
    ("constraint", "condition"),
    [
        ("{rank: {X: 2}}", ("rank", "X", "2")),
        ("{values: {group: 1.5}}", ("values", "group", "1.5")),
        ("{where: {K: true}, rank: {X: 1}}", ("rank", "X", "1", (("K", "true"),))),
        (
            "{where: {rank(X): 1, W: given, mode: a}, size: {X: 1}}",
            ("size", "X", "1", (("rank(X)", "1"), ("W", "given"), ("mode", "a"))),
        ),
        ("{given: {W: true}}", ("given", "W", "true")),
    ],
)
def test_what_is_read_of_a_condition(tmp_path, constraint, condition):
    (schema,) = operator_of(tmp_path, f"C7: {constraint}").schemas
    assert [(*each,) for each in schema.conditions] == [("C7", *condition, *[()] * (len(condition) == 3))]


def test_conditions_are_in_the_order_of_their_labels_and_kinds(tmp_path):
    text = "C10: {rank: {X: 1}}\nC9: {shape: {X: (C)}, given: {W: true}}\nC1: in words"
    operator = operator_of(tmp_path, text)
    assert [(each.label, each.kind) for each in operator.schemas[0].conditions] == [
        ("C9", "given"),
        ("C9", "shape"),
        ("C10", "rank"),
    ]
    assert [*operator.docs[0].constraints] == ["C1", "C9", "C10"]


@pytest.mark.parametrize(("count", "is_read"), [(256, True), (257, False)])
def test_a_version_has_so_many_conditions(tmp_path, count, is_read):
    text = "C1: [" + ", ".join(["{rank: {X: 1}}"] * (count - 2)) + ", {rank: {X: 1}, where: {W: given}}]"
    if is_read:
        assert len(operator_of(tmp_path, text).schemas[0].conditions) == count - 1
        return
    with pytest.raises(SchemaError) as caught:
        operator_of(tmp_path, text)
    assert caught.value.message == "a version has at most 256 conditions, those of 'where' included"


def test_constraints_are_inherited_and_read_with_the_names_of_each_version(tmp_path):
    older = "- since: 1\n  like: 2\n  inputs:\n  - {name: Y, type: T, doc: y}\n  types:\n    T: float\n"
    text = HEAD.replace("since: 1", "since: 2\n  change: {adapters: {up: written, down: written}}")
    path = tmp_path / "com.acme" / "Op.yaml"
    path.parent.mkdir()
    path.write_text(f"{text}    C1: {{rank: {{X: 2}}}}\n{older}")
    with pytest.raises(SchemaError, match="there is no input 'X'"):
        load_operator(path, {})
    path.write_text(f"{text}    C1: {{rank: {{X: 2}}}}\n{older.replace('name: Y', 'name: X')}")
    new, old = load_operator(path, {}).schemas[::-1]
    assert new.conditions == old.conditions != ()
    path.write_text(path.read_text().replace("like: 2", "like: 1"))
    with pytest.raises(SchemaError, match="there is no newer version 1"):
        load_operator(path, {})


STRANGE = ["", "(", ")", "1 +", "x <", "< x < 2", "#", "(" * 500, "1e999999", "multiple of", "() or", "...", "(=1)"]


@pytest.mark.parametrize("text", STRANGE)
def test_no_text_is_too_strange_to_be_refused(text):
    for parse in (parse_pattern, parse_condition, parse_expression):
        try:
            parse(text)
        except ValueError as error:
            assert str(error)


@pytest.mark.parametrize(
    ("operator", "elements", "attributes", "variadic"),
    [
        ("Reshape", (), (), 2**31),
        ("TopK", (1,), ("axis",), 2**31),
        ("Tile", (1,), (), 2**31),
        ("Pad", (3,), ("mode",), 2**31),
        ("Slice", (3, 4), (), 2**31),
        ("Unsqueeze", (1,), (), 2**31),
        ("Concat", (), ("axis",), 0),
        ("GatherND", (), ("batch_dims",), 2**31),
    ],
)
def test_what_checks_of_an_operator_depend_on(operator, elements, attributes, variadic):
    plan = plan_of(default_registry().versions(operator)[-1])
    assert (plan.elements, plan.attributes, plan.variadic, plan.runs) == (elements, attributes, variadic, ())
    assert plan.positions == {each.name: index for index, each in enumerate(plan.schema.inputs)}
    assert plan_of(default_registry().versions("Identity")[-1]) is None
