"""Releases of the standard and of runtimes."""

import onnx.helper
import pytest

from opset.errors import UsageError
from opset.opsets.old_runtimes import RUNTIMES, _release_sort_key, runtime
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
    assert [release_with(each).name for each in (1, 9, 13, 99)] == ["1.0", "1.4.1", "1.8.1", RELEASES[-1].name]


def test_a_version_in_development_follows_the_newest_release():
    assert ir_version_of_opset(RELEASES[-1].opset + 1) == ir_version_of_opset(RELEASES[-1].ml + 1, ML) == 14


@pytest.mark.parametrize(("version", "domain"), [(0, ""), (-1, ""), (0, ML), (1, "com.acme")])
def test_an_opset_that_no_release_can_have(version, domain):
    with pytest.raises(UsageError) as caught:
        ir_version_of_opset(version, domain)
    assert caught.value.code == "U101"


@pytest.mark.parametrize(
    ("spec", "row"),
    [
        ("onnxruntime==1.17", ("onnxruntime", "1.17", 7, 20, 4, 9)),
        ("onnxruntime==1.17.3", ("onnxruntime", "1.17", 7, 20, 4, 9)),
        ("OnnxRuntime == 1.31.0", ("onnxruntime", "1.31", 7, 26, 5, 13)),
        ("windows-ml==windows-11", ("windows-ml", "windows-11", None, 12, None, None)),
        ("tensorrt==10.15.1.29", ("tensorrt", "10.15", 9, 24, None, None)),
    ],
)
def test_a_runtime_is_found_by_the_beginning_of_its_release(spec, row):
    found = runtime(spec)
    assert (found.name, found.release, found.min_opset, found.max_opset, found.max_ml, found.max_ir) == row


def test_of_releases_that_begin_alike_the_longest_one_counts(monkeypatch):
    first = runtime("onnxruntime==1.17")
    rows = [first, first._replace(release="1.17.3", max_opset=21), first._replace(release="1.17.3.1", max_opset=22)]
    monkeypatch.setattr("opset.opsets.old_runtimes.RUNTIMES", rows)
    assert [runtime(f"onnxruntime==1.17{rest}").max_opset for rest in ("", ".2", ".3", ".3.9", ".3.1")] == [
        *(20, 20, 21, 21, 22)
    ]


@pytest.mark.parametrize(
    ("spec", "help"),
    [
        ("onnxruntim==1.17", "did you mean onnxruntime? known: onnxruntime, tensorrt"),
        ("onnxruntime", "write onnxruntime==RELEASE; known: 1.4, 1.6"),
        ("onnxruntime==", "write onnxruntime==RELEASE"),
        ("onnxruntime==1.5", "nearest: 1.4 and 1.6"),
        ("onnxruntime==1.1", "nearest: 1.4"),
        ("onnxruntime==1.170", "nearest: 1.31"),
        ("onnxruntime==2", "nearest: 1.31"),
        ("onnxruntime==" + "9" * 5000, "known: 1.4, 1.6"),
        ("onnxruntime==²", "known: 1.4, 1.6"),
    ],
)
def test_an_unknown_runtime_or_release_is_not_guessed(spec, help):
    with pytest.raises(UsageError) as caught:
        runtime(spec)
    assert caught.value.code == "U101"
    assert help in caught.value.help


LIMITS = {
    "onnxruntime": (
        "1.4: 7 12 2 7, 1.6: 7 13 2 7, 1.7: 7 13 2 7, 1.8: 7 14 2 7, 1.9: 7 15 2 8, 1.10: 7 15 2 8, 1.11: 7 "
        "16 2 8, 1.12: 7 17 3 8, 1.13: 7 17 3 8, 1.14: 7 18 3 8, 1.15: 7 19 3 9, 1.16: 7 19 3 9, 1.17: 7 20 4 "
        "9, 1.18: 7 21 5 10, 1.19: 7 21 5 10, 1.20: 7 21 5 10, 1.21: 7 22 5 10, 1.22: 7 22 5 10, 1.23: 7 23 5 "
        "11, 1.24: 7 25 5 13, 1.25: 7 26 5 13, 1.31: 7 26 5 13"
    ),
    "tensorrt": "8.2: 7 13, 8.5: 7 17, 9.2: 7 19, 10.15: 9 24",
    "rknn-toolkit": "1.7: - 12",
    "rknn-toolkit2": "1.6: 12 19",
    "ascend-cann": "6.0: 9 13, 7.0: 9 18",
    "migraphx": "6.2: - 19",
    "windows-ml": "windows-10-1809: - 7, windows-10-1903: - 8, windows-10-2004: - 9, windows-11: - 12",
    "unity-sentis": "2.5: 7 15, 2.6: 7 25",
    "st-edge-ai": "3.0: 7 20",
    "onnx-mlir": "0.5: - 21",
}
"""What runtimes take, entered a second time: least and greatest opset, that of ai.onnx.ml, IR version."""


@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_those_that_were_measured_or_documented(name):
    rows = [[row.release, *row[2:6]] for row in RUNTIMES if row.name == name]
    shown = [f"{release}: {' '.join('-' if each is None else str(each) for each in row)}" for release, *row in rows]
    assert [each.removesuffix(" - -") for each in shown] == LIMITS[name].split(", ")


def test_no_runtime_is_left_out():
    assert {row.name for row in RUNTIMES} == {*LIMITS}


def test_rows_of_a_runtime_are_in_order():
    for name in {row.name for row in RUNTIMES}:
        opsets = [row.max_opset for row in RUNTIMES if row.name == name]
        assert opsets == sorted(opsets)
    assert all(row.how in ("measured", "documented") and row.source for row in RUNTIMES)


def test_releases_are_ordered_by_value_and_names_come_before_numbers():
    releases = ["1.rc", "1.0", "1.2", "1.09", "1.10", "2"]
    assert sorted({*releases}, key=_release_sort_key) == releases
