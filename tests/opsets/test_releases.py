"""Releases of the standard."""

import onnx.helper
import pytest

from opset.errors import UsageError
from opset.opsets.releases import ML, RELEASES, TRAINING, ir_version_of_opset, opset_beside, release, release_with


def test_the_table_is_that_of_onnx():
    theirs = [tuple(row) for row in onnx.helper.VERSION_TABLE]
    ours = [tuple(row) if row.training else tuple(row[:4]) for row in RELEASES]
    assert set(theirs) <= set(ours)
    assert len(ours) == len(set(ours)) == 34


def test_versions_never_go_back():
    numbers = [tuple(map(int, row.name.split("."))) for row in RELEASES]
    assert numbers == sorted(numbers)
    for column in ("ir", "opset", "ml", "training"):
        values = [getattr(row, column) for row in RELEASES]
        assert values == sorted(values)


def test_a_patch_release_has_the_versions_of_its_release():
    """Only 1.1 raised its operator set in a patch; onnx's table leaves some patches out."""
    rows = {}
    for row in RELEASES:
        rows.setdefault(row.name.split(".")[1], set()).add(tuple(row[1:]))
    assert {minor: found for minor, found in rows.items() if len(found) > 1} == {"1": {(3, 5, 1, 0), (3, 6, 1, 0)}}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("1.15", "1.15.0"),
        ("1.16", "1.16.2"),
        ("1.16.0", "1.16.0"),
        ("1.4", "1.4.1"),
        ("1.1", "1.1.2"),
        ("1.2.0", "1.2"),
    ],
)
def test_a_release_is_found_by_the_beginning_of_its_number(name, found):
    assert release(name).name == found


@pytest.mark.parametrize("name", ["1.1x", "2", "", "1.16.9", "1.24", "1.", "one", "1.2.1", "9" * 5000])
def test_an_unknown_release_is_an_error_that_tells_the_known_ones(name):
    with pytest.raises(UsageError) as caught:
        release(name)
    assert caught.value.code == "U101"
    assert "1.23.0" in caught.value.help


def test_opset_of_a_domain():
    row = release("1.6")
    assert [row.opset_of(domain) for domain in ("", "ai.onnx", ML, TRAINING, "com.acme")] == [11, 11, 2, 0, 0]


def test_ir_version_of_an_opset():
    assert [ir_version_of_opset(version) for version in (1, 2, 4, 5, 8, 9, 10, 15, 21, 28)] == [
        *(3, 3, 3, 3, 3, 4, 5, 8, 10, 14)
    ]
    assert [ir_version_of_opset(version, ML) for version in (1, 2, 3, 4, 5)] == [3, 6, 8, 9, 10]
    assert ir_version_of_opset(1, TRAINING) == 7
    assert ir_version_of_opset(13, "ai.onnx") == 7


def test_the_newest_opset_that_goes_with_others_and_the_release_of_one():
    given = [{}, {ML: 1}, {ML: 2}, {ML: 3}, {ML: 99}, {TRAINING: 1}, {ML: 2, TRAINING: 1}, {"com.acme": 7}]
    assert [opset_beside(each) for each in given] == [8, 8, 11, 18, 28, 14, 14, 8]
    assert [opset_beside(each, 10) for each in given] == [22, 8, 11, 18, 28, 14, 14, 22]
    assert [opset_beside({}, ir_version) for ir_version in (0, 3, 4, 7, 99)] == [8, 8, 9, 14, 28]
    assert [release_with(each).name for each in (1, 9, 13, 99)] == ["1.0", "1.4.1", "1.8.1", RELEASES[-1].name]


def test_a_version_in_development_follows_the_newest_release():
    assert ir_version_of_opset(RELEASES[-1].opset + 1) == ir_version_of_opset(RELEASES[-1].ml + 1, ML) == 14


@pytest.mark.parametrize(
    ("version", "domain", "message", "help"),
    [
        (0, "", "no ONNX release has version 0 of ai.onnx", "ai.onnx goes from 1 to 28"),
        (-1, "", "no ONNX release has version -1 of ai.onnx", "ai.onnx goes from 1 to 28"),
        (0, ML, f"no ONNX release has version 0 of {ML}", f"{ML} goes from 1 to 5"),
        (1, "com.acme", "no ONNX release has version 1 of com.acme", "com.acme is not part of the ONNX releases"),
    ],
)
def test_an_opset_that_no_release_can_have(version, domain, message, help):
    with pytest.raises(UsageError) as caught:
        ir_version_of_opset(version, domain)
    assert [(each.code, each.message, each.help) for each in caught.value.findings] == [("U101", message, help)]
