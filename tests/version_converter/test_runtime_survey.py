"""Which releases of a runtime take a model: ranges of releases, and the obstacle that is told."""

from types import SimpleNamespace

import pytest
from onnx import parser

from opset.errors import Finding
from opset.model import load
from opset.opsets.registry import default_registry
from opset.version_converter.runtime_survey import (
    AS_IT_IS,
    CONVERTED,
    REFUSED,
    Obstacle,
    ReleaseRange,
    _find_answer,
    _find_obstacle,
    _ranges_with,
    releases_text,
    survey_runtimes,
)
from opset.version_converter.survey import Survey, SurveyOutcome
from tests.version_converter.npu import runtime_file, takes

LETTERS = {"a": AS_IT_IS, "c": CONVERTED, "r": REFUSED}


def releases(count, opsets=(7, 15)):
    def release(number):
        kind = SimpleNamespace(
            name="npu",
            release=f"1.{number}",
            opsets={"": opsets},
            max_ir=None,
            notes=(),
            lists_operators=number > 0 or opsets != (),
        )
        return kind

    return [*map(release, range(count))]


def ranges(text, letter):
    found = _ranges_with(releases(len(text)), [LETTERS[each] for each in text], LETTERS[letter])
    return [(each.first, each.last, each.releases) for each in found]


@pytest.mark.parametrize(
    ("text", "as_it_is", "refused"),
    [
        ("", [], []),
        ("aaa", [("1.0", "1.2", 3)], []),
        ("raar", [("1.1", "1.2", 2)], [("1.0", "1.0", 1), ("1.3", "1.3", 1)]),
        ("arcra", [("1.0", "1.0", 1), ("1.4", "1.4", 1)], [("1.1", "1.1", 1), ("1.3", "1.3", 1)]),
        ("rrrra", [("1.4", "1.4", 1)], [("1.0", "1.3", 4)]),
    ],
)
def test_consecutive_releases_are_joined(text, as_it_is, refused):
    assert (ranges(text, "a"), ranges(text, "r")) == (as_it_is, refused)


def test_ranges_as_text():
    one, three = ReleaseRange("1.0", "1.0", 1), ReleaseRange("1.2", "1.4", 3)
    assert [releases_text(each) for each in ([], [one], [one, three])] == ["", "1.0", "1.0, 1.2 to 1.4"]
    found = _ranges_with(releases(4, opsets=()), [AS_IT_IS] * 4, AS_IT_IS)
    assert [each.lists_operators for each in found] == [False, True]
    assert releases_text(found) == "1.0 (operators not known), 1.1 to 1.3"
    assert releases_text(found[:1]) == "1.0 (operators not known)" and releases_text(found[:1], False) == "1.0"
    assert releases_text([one] * 5).count("1.0") == 5 and releases_text([one] * 9).endswith(" and 4 more")


class Asked:
    """A survey of which the refusals and the lack are given; `targets` are those that it was asked for."""

    registry = SimpleNamespace(domains={"": 20})

    def __init__(self, refusals=(), lack=None):
        self.refusals, self.lack, self.targets = refusals, lack, []

    def convert(self, target):
        self.targets.append(target.runtime.release)
        return SurveyOutcome(self.refusals, {})

    def find_lacks(self, runtime):
        return iter([self.lack] if self.lack else [])


FEW, MANY = Finding("C201", "few", why="one"), Finding("C204", "many", why="others")


@pytest.mark.parametrize(
    ("text", "release"), [("ra", "1.0"), ("rrarr", "1.1"), ("arcr", "1.3"), ("rr", "1.1"), ("crra", "1.2")]
)
def test_which_release_has_the_obstacle(text, release):
    survey = Asked([(FEW, 2), (MANY, 3)])
    found = _find_obstacle(survey, releases(len(text)), [LETTERS[each] for each in text])
    assert found == Obstacle(release, "C204", "many", "others", 5) and survey.targets == [release]


def test_obstacles_that_are_no_nodes():
    assert _find_obstacle(Asked(), releases(2), [AS_IT_IS, CONVERTED]) is None
    unknown = Obstacle("1.1", "U101", "which opsets it takes is not known", "", 0)
    assert _find_obstacle(Asked([(FEW, 1)]), releases(2, (None, None)), [REFUSED] * 2) == unknown
    lack = Asked(lack=Finding("C209", "no", why="so"))
    assert _find_obstacle(lack, releases(2), [REFUSED] * 2) == Obstacle("1.1", "C209", "no", "so", 0)
    assert _find_obstacle(Asked([(FEW, 0), (MANY, 0)]), releases(1), [REFUSED]) == Obstacle(
        "1.0", "C201", "few", "one", 0
    )


def test_answers_for_equal_facts_and_tables_are_used_again():
    alike, other = (SimpleNamespace(answers_alike=lambda runtime, same=same: same) for same in (True, False))
    found = [(other, 1, "other"), (alike, 2, "facts"), (alike, 1, "first"), (alike, 1, "second")]
    assert [_find_answer(found, None, facts) for facts in (1, 2, 3)] == ["first", "facts", None]


EXP = '<ir_version: 8, opset_import: ["": 20]> m (float[2] x) => (float[2] y) { y = Exp (x) }'
SMALL = EXP.replace("version: 8", "version: 10").replace("{ y", "{ z = Cast <to = 17> (x)  y")
RELEASES = [SimpleNamespace(release=each, lists_operators=True) for each in ("1.0", "2.0")]
CALL = """<ir_version: 8, opset_import: ["": 20, "d": 1]> m (float[2] x) => (float[2] y) { y = d.F (x) }
    <opset_import: ["": 20], domain: "d"> F (a) => (b) { b = Exp (a) }"""


@pytest.mark.parametrize(
    ("text", "first", "second", "keys", "letters"),
    [
        (EXP, {}, {}, {}, "aa"),
        (EXP, {}, {}, {"faults": [{"until": "1.0"}]}, "ra"),
        (EXP, {}, {}, {"faults": [{"since": "2.0"}]}, "ar"),
        (EXP, {}, {}, {"faults": [{}]}, "rr"),
        (EXP, {}, {}, {"kernels": [{"until": "1.0"}]}, "ar"),
        (EXP, {}, {}, {"kernels": [{"since": "2.0"}]}, "ra"),
        (EXP, {"ir": 3}, {"ir": 8}, {}, "ca"),
        (EXP, {"ir": 7}, {"ir": 3}, {}, "cc"),
        (EXP, {"ir": 3}, {}, {}, "ca"),
        (SMALL, {"ir": 8}, {"ir": 9}, {}, "rc"),
        (SMALL, {"ir": 9}, {"ir": 8}, {}, "cr"),
        (CALL, {"local_functions": False}, {}, {}, "ca"),
        (CALL, {}, {"local_functions": False}, {}, "ac"),
        (EXP, {"lists_operators": False}, {}, {"kernels": [{"types": {"T": ["double"]}}]}, "ar"),
        (EXP, {}, {}, {"kernels": [{"types": {"T": ["double"]}}], "casts": {"float": "double before 2.0"}}, "ar"),
        (EXP, {}, {}, {"kernels": [{"types": {"T": ["double"]}}], "casts": {"float": "double"}}, "aa"),
    ],
    ids=lambda each: each if isinstance(each, str) and len(each) == 2 else "",
)
def test_a_release_has_the_answer_of_another_only_if_both_take_the_same(tmp_path, text, first, second, keys, letters):
    rows = [{"release": f"{number}.0", "opset": [7, 21], "how": "documented"} for number in (1, 2)]
    rows = [row | more for row, more in zip(rows, (first, second), strict=True)]
    faults = [{"versions": [1, None], "result": "fails", "gives": "it ends"} | each for each in keys.get("faults", ())]
    more = {"casts": keys.get("casts", {})} | ({"faults": {"ai.onnx": {"Exp": faults}}} if faults else {})
    file = runtime_file(tmp_path, takes(Exp=keys.get("kernels", [{}])), releases=rows, **more)
    (answer,) = survey_runtimes(Survey(load(parser.parse_model(text)), default_registry()), ["npu"], [file])
    found = {"a": answer.as_it_is, "c": answer.converted, "r": answer.refused}
    assert {letter: [each[:3] for each in ranges] for letter, ranges in found.items() if ranges} == {
        letter: [each[:3] for each in _ranges_with(RELEASES, [LETTERS[each] for each in letters], LETTERS[letter])]
        for letter in letters
    }


def test_a_release_has_the_answer_of_another_only_if_what_runs_beside_it_takes_the_same(tmp_path):
    """Nodes of the runtime go to another one, which takes Exp from its release 2.0 on."""
    rows = [{"release": f"{number}.0", "opset": [7, 21], "how": "documented"} for number in (1, 2, 3)]
    (tmp_path / "beside").mkdir()
    beside = runtime_file(tmp_path / "beside", takes(Exp=[{"since": "2.0"}]), runtime="cpu", releases=rows)
    file = runtime_file(tmp_path, takes(), releases=rows, fallback="cpu")
    (answer,) = survey_runtimes(Survey(load(parser.parse_model(EXP)), default_registry()), ["npu"], [file, beside])
    assert (answer.refused, answer.as_it_is) == ([ReleaseRange("1.0", "1.0", 1)], [ReleaseRange("2.0", "3.0", 2)])


@pytest.mark.parametrize(
    ("opsets", "letters", "obstacle"),
    [
        ([None], "r", ("1.0", "C209", 0)),
        ([None, [7, 21]], "rc", ("1.0", "C209", 0)),
        ([[7, 8], None, [7, 21], [7, 21]], "rrcc", ("2.0", "C209", 0)),
        ([[7, 21], None], "cr", ("2.0", "C209", 0)),
        ([[7, 21]], "c", None),
        ([[7, 8], [7, 8], [7, 21], [7, 8]], "rrcr", ("2.0", "C209", 1)),
    ],
)
def test_releases_of_which_no_opset_is_known_do_not_take_what_they_would_have_to_convert(
    tmp_path, opsets, letters, obstacle
):
    rows = [{"release": f"{number}.0", "opset": each, "how": "documented"} for number, each in enumerate(opsets, 1)]
    text = '<ir_version: 8, opset_import: ["": 20]> m (float[2] x) => (float[2] y) { y = Gelu (x) }'
    file = runtime_file(tmp_path, takes(Erf=[{"versions": [9, None]}]), releases=rows)
    survey = Survey(load(parser.parse_model(text)), default_registry())
    (answer,) = survey_runtimes(survey, ["npu"], [file])
    releases = {f"{number}.0": letter for number, letter in enumerate(letters, 1)}
    for ranges, letter in ((answer.as_it_is, "a"), (answer.converted, "c"), (answer.refused, "r")):
        assert sum(each.releases for each in ranges) == letters.count(letter)
        assert all(releases[each.first] == releases[each.last] == letter for each in ranges)
    found = answer.obstacle
    assert (found and (found.release, found.code, found.nodes)) == obstacle
