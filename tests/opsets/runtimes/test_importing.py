"""Files of runtimes from facts: entries are merged over releases and over types, and stay the same facts."""

import itertools
import json

from judges.import_runtimes import CPU, document_text, main, merge_boxes, merge_releases
from opset.opsets.runtimes.loader import load_runtime

ENTRY = {"versions": [6, 12]}
OPERATORS = {
    "about": {},
    "runtimes": {
        CPU: {
            "source": "a table", "match": "kernel", "types_are": "union over kernels",
            "releases": {"1.8": {"opset": [7, 14], "ir": 7, "operators": {"": {
                "Abs": [{"versions": [6, 12], "types": {"T": ["float", "double"]}}, {"versions": "13-"}],
                "Add": [{"versions": "7-", "types": {"T": ["float"]}}],
            }}}},
        },
        "tensorrt": {
            "source": "how=changelog: later", "match": "name", "casts": {"double": "float"},
            "releases": {
                "8.5": {"opset": [7, 17], "ir": None, "how": "table", "operators": {"": {
                    "Conv": [{"constant_inputs": ["W"]}], "QuantizeLinear": [{"constant_inputs": ["scale"]}],
                    "Trilu": [{"notes": "of two dimensions"}],
                }}},
                "8.6": {"same_as": "8.5"},
                "9.0": {"base": "8.6", "opset": [7, 17], "ir": None, "how": "changelog", "opset_how": "at least",
                        "operators": {"": {"Trilu": None, "Abs": [{"types": ["float"]}]}}},
            },
        },
        "onnxruntime-web-webnn": {
            "source": "a page", "match": "range", "fallback": CPU,
            "releases": {"1.16": {"opset": [7, 18], "ir": 9, "operators": {"": {
                "Abs": [{"versions": [7, 12]}, {"versions": "13-"}],
                "Unsqueeze": [{"versions": "13-", "constant_inputs": "all but the first"}],
                "Dropout": [{"versions": "12-", "attributes": {"training_mode": 0, "seed": 1}}],
            }}}},
        },
    },
}  # fmt: skip
KERNELS = {
    "releases": ["1.16.3", "1.17.1"],
    "rows": [
        ["", "Abs", 6, 12, {"T": ["double"]}, "1.16.3", "1.17.1"],
        ["", "Abs", 6, 12, {"T": ["float"]}, "1.16.3", "1.17.1"],
        ["", "Abs", 6, 12, {"T": ["float16"]}, "1.17.1", "1.17.1"],
        ["", "Abs", 13, None, {}, "1.16.3", "1.16.3"],
    ],
}
LIMITS = {
    "runtimes": [
        ["onnxruntime", "1.7", 7, 13, 2, 7, "documented", "a page"],
        ["onnxruntime", "1.8", 7, 14, 2, 7, "documented", "a page"],
        ["onnxruntime", "1.16", 7, 19, 3, 9, "measured", "loaded"],
        ["onnxruntime", "1.17", 7, 20, 4, 9, "measured", "loaded"],
        ["windows-ml", "windows-11", None, 12, None, None, "documented", "a page"],
    ]
}


def written(tmp_path, name="out"):
    facts = []
    for number, each in enumerate((OPERATORS, KERNELS, LIMITS)):
        facts.append(tmp_path / f"{number}.json")
        facts[-1].write_text(json.dumps(each))
    assert main([*map(str, facts), "-o", str(tmp_path / name)]) == 0
    return {path.stem: path for path in sorted((tmp_path / name).iterdir())}


def test_the_same_facts_give_the_same_bytes(tmp_path):
    first, second = written(tmp_path), written(tmp_path, "again")
    assert [path.read_bytes() for path in first.values()] == [path.read_bytes() for path in second.values()]
    assert [*first] == [CPU, "onnxruntime-web-webnn", "tensorrt", "windows-ml"]


def test_entries_of_consecutive_releases_are_one(tmp_path, capsys):
    table = load_runtime(written(tmp_path)["tensorrt"])
    assert [row.how for row in table.releases] == ["documented", "documented", "derived"]
    assert table.releases[2].note == "opsets of 9.0: at least" and table.source == "derived: later"
    assert table.entries("Conv", "") == [{"constant_inputs": ["W"]}]
    assert table.entries("Trilu", "") == [{"notes": ["of two dimensions"], "until": "8.6"}]
    assert table.entries("Abs", "") == [{"types": ["float"], "since": "9.0"}]
    assert table.entries("QuantizeLinear", "") == [{"constant_inputs": ["y_scale"]}]
    assert "tensorrt QuantizeLinear: inputs scale -> y_scale" in capsys.readouterr().out


def test_kernels_of_packages_follow_older_tables(tmp_path):
    table = load_runtime(written(tmp_path)[CPU])
    assert [(row.release, row.lists_operators, row.union_types) for row in table.releases] == [
        *(("1.7", False, False), ("1.8", True, True), ("1.16", True, False), ("1.17", True, False))
    ]
    assert [(row.opset, row.ml, row.ir) for row in table.releases[1:3]] == [((7, 14), 2, 7), ((7, 19), 3, 9)]
    assert table.entries("Abs", "") == [
        {**ENTRY, "types": {"T": ["double", "float"]}, "until": "1.16"},
        {**ENTRY, "types": {"T": ["double", "float", "float16"]}, "since": "1.17"},
        {"versions": [13, None], "until": "1.16"},
    ]
    assert table.entries("Add", "") == [{"versions": [7, None], "types": {"T": ["float"]}, "until": "1.8"}]
    assert table.functions("Gelu", "") == [20]


def test_opsets_and_names_that_are_not_the_standards(tmp_path):
    table = load_runtime(written(tmp_path)["onnxruntime-web-webnn"])
    assert (table.releases[0].opset, table.releases[0].ml) == ((7, 19), 3)  # as onnxruntime was measured
    assert [each["versions"] for each in table.entries("Abs", "")] == [[6, 12], [13, None]]
    assert table.entries("Unsqueeze", "")[0]["constant_inputs"] == ["axes"]
    assert table.entries("Dropout", "") == [
        {"versions": [12, None], "attributes": {"seed": 1}, "values": {"training_mode": False}}
    ]
    assert load_runtime(written(tmp_path)["windows-ml"]).releases[0].opset == (None, 12)


def test_types_are_merged_only_where_they_stand_for_the_same_combinations():
    boxes = [{"T": ["a"], "U": ["x"]}, {"T": ["b"], "U": ["x"]}, {"T": ["a"], "U": ["y"]}]
    merged = merge_boxes(boxes)
    assert len(merged) == 2 and points(merged) == points(boxes)
    square = [{"T": [t], "U": [u]} for t in "ab" for u in "xy"]
    assert merge_boxes(square) == [{"T": ["a", "b"], "U": ["x", "y"]}]
    apart = [{"T": ["a"], "U": ["x"]}, {"T": ["b"], "U": ["y"]}, {"T": ["c"]}]
    assert sorted(map(str, merge_boxes(apart))) == sorted(map(str, apart))


def points(boxes):
    return {tuple(zip(each, point, strict=True)) for each in boxes for point in itertools.product(*each.values())}


def test_what_comes_back_is_another_entry():
    entries = {release: {"": {"Abs": [{}]} if release != "2" else {}} for release in "123"}
    assert merge_releases("123", entries, "123") == {"": {"Abs": [{"until": "1"}, {"since": "3"}]}}


def test_the_text_of_a_file_reads_back(tmp_path):
    document = {"runtime": "a", "releases": [{"release": "1", "how": "derived", "note": "x " * 200 + "y"}]}
    path = tmp_path / "a.yaml"
    path.write_text(document_text(document))
    assert load_runtime(path).releases[0].note == "x " * 200 + "y"


def test_faults_stand_with_the_releases_that_the_file_has(tmp_path):
    faults = load_runtime(written(tmp_path)[CPU]).faults("ReduceMax", "")
    assert [(each["result"], each.get("since"), each.get("until")) for each in faults] == [
        ("wrong", None, "1.16"),
        ("fails", "1.17", "1.17"),
        ("fails", None, None),
    ]
    assert load_runtime(written(tmp_path)["tensorrt"]).faults("ReduceMax", "") == []
