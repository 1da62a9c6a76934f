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
        kind = SimpleNamespace(name="npu", release=f"1.{number}", opsets={"": opsets}, max_ir=None, notes=())
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
