"""The files of runtimes: facts that were looked up by hand, and laws that hold for all of them."""

import json
import re
import shutil

import pytest

from opset.model.elements import NUMBERS
from opset.opsets.registry import default_registry
from opset.opsets.runtimes import compiled, find_runtime, releases_of, runtime_names
from opset.opsets.runtimes.compiled import FOLDER, data_files, standard_tables
from opset.opsets.runtimes.loader import load_runtime
from opset.opsets.runtimes.model import HOW, make_kernel, release_sort_key, serves_version

REGISTRY = default_registry()
TABLES = standard_tables()
LIMITS = {
    "onnxruntime-cpu": (
        "1.4: 7 12 2 7, 1.6: 7 13 2 7, 1.7: 7 13 2 7, 1.8: 7 14 2 7, 1.9: 7 15 2 8, 1.10: 7 15 2 8, 1.11: 7 "
        "16 2 8, 1.12: 7 17 3 8, 1.13: 7 17 3 8, 1.14: 7 18 3 8, 1.15: 7 19 3 9, 1.16: 7 19 3 9, 1.17: 7 20 4 "
        "9, 1.18: 7 21 5 10, 1.19: 7 21 5 10, 1.20: 7 21 5 10, 1.21: 7 22 5 10, 1.22: 7 22 5 10, 1.23: 7 23 5 "
        "11, 1.24: 7 25 5 13, 1.25: 7 26 5 13, 1.26: 7 26 5 13, 1.27: 7 26 5 13, 1.28: 7 26 5 13, 1.29: 7 26 5 13, "
        "1.30: 7 26 5 13, 1.31: 7 26 5 13"
    ),
    "rknn-toolkit": "1.7: - 12",
    "rknn-toolkit2": "1.6: 12 19",
    "ascend-cann": "6.0: 9 13, 7.0: 9 18",
    "windows-ml": "windows-10-1809: - 7, windows-10-1903: - 8, windows-10-2004: - 9, windows-11: - 12",
    "unity-sentis": "2.5: 7 15, 2.6: 7 25",
    "st-edge-ai": "3.0: 7 20",
    "onnx-mlir": "0.4.1: 6 19, 0.4.2: 6 20, 0.4.3: 6 21, 0.5: 6 22",
    "openvino": "2023.3: 1 -, 2024.6: 1 -, 2025.4: 1 -, 2026.4: 1 -",
    "onnxruntime-xnnpack": "1.24: 7 25 5 13",
}
"""What runtimes take, entered a second time: least and greatest opset, that of ai.onnx.ml, IR version."""
SOME_LIMITS = {
    "tensorrt": "5.1: 7 9, 8.2: 7 13, 8.5: 7 17, 9.2: 7 19, 10.2: 9 20, 10.15: 9 24, 11.5: 9 25",
    "migraphx": "6.0: - -, 6.2: 1 19, 7.2: 1 19",
    "onnxruntime-cuda": "1.8: 7 14 2 7, 1.24: 7 25 5 13, 1.31: 7 26 5 13",
    "onnxruntime-web-webgpu": "1.16: 7 19 3 9, 1.29: 7 26 5 13",
    "onnxruntime-mobile": "1.8: 13 13 2 7, 1.18: 12 15 5 10",
    "triton": "21.06: 7 14 2 7, 23.10: 7 19 3 9, 26.08: 7 25 5 13",
}
# Runtime, operator: versions, some of the types by parameter, other limits.
KERNELS = [
    ("ort==1.31", "Softmax", ["1-10", "11-12", "13-"], {"T": {"double", "float"}}, {}),
    ("ort==1.20", "Acos", ["7-"], {"T": {"float"}}, {}),
    ("ort==1.21", "Acos", ["7-21", "22-"], {"T": {"float"}}, {}),
    ("ort==1.8", "RoiAlign", ["10-"], {"T1": {"double", "float"}}, {}),
    ("onnxruntime-gpu==1.31", "DeformConv", ["19-21", "22-"], {"T": {"double", "float", "float16"}}, {}),
    ("onnxruntime==1.24:xnnpack", "QLinearConv", ["10-"], {}, {"input_ranks": {4}}),
    ("onnxruntime-web==1.18:webnn", "AveragePool", ["7-9", "10-10", "11-11", "11-18", "19-"], {}, {"input_ranks": {4}}),
    ("onnxruntime-web==1.18:webnn", "Abs", ["6-12", "13-"], {}, {}),
    ("trt==5.1", "Conv", [""], {}, {"input_ranks": {4}, "constant_inputs": {"W"}}),
    ("trt==5.1", "Pad", [""], {}, {"attributes": {"mode": "constant"}, "values": {"constant_value": 0}}),
    ("trt==7.0", "DequantizeLinear", [""], {}, {"constant_inputs": {"x_scale", "x_zero_point"}}),
    ("trt==8.0", "Abs", [""], {"": {"float", "float16", "int32"}}, {}),
    ("openvino==2026.4", "RotaryEmbedding", ["23-23"], {}, {}),
    ("openvino==2026.4", "QLinearMatMul", ["10-10", "21-21"], {}, {"notes": ("one scale for each tensor",)}),
    ("openvino==2023.3", "STFT", ["17-17"], {}, {"constant_inputs": {"frame_step", "window", "frame_length"}}),
    ("migraphx==6.2", "Acos", [""], {"": {"double", "float", "float16", "float8e4m3fnuz"}}, {}),
    ("onnx-mlir==0.4.1", "Add", [""], {}, {"types_not": {"int8", "int16", "uint8", "uint16"}, "opsets": (6, 19)}),
    ("tract==0.15", "Abs", [""], {}, {}),
]


def shown(row):
    return " ".join("-" if each is None else str(each) for each in row)


def limits_of(name):
    for each in releases_of(name):
        _, ml = each.opsets.get("ai.onnx.ml", (None, None))
        yield f"{each.release}: {shown([*each.opsets[''], ml, each.max_ir])}".removesuffix(" - -")


@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_those_that_were_measured_or_documented(name):
    assert [*limits_of(name)] == LIMITS[name].split(", ")


@pytest.mark.parametrize("name", SOME_LIMITS)
def test_some_limits(name):
    assert {*SOME_LIMITS[name].split(", ")} <= {*limits_of(name)}


@pytest.mark.parametrize(("spec", "operator", "versions", "types", "limits"), KERNELS)
def test_kernels_that_were_looked_up_by_hand(spec, operator, versions, types, limits):
    kernels = find_runtime(spec).kernels(operator)
    assert list(dict.fromkeys(re.sub("None|^$", "", span(each)) for each in kernels)) == versions
    for name, wanted in types.items():
        assert kernels[0].types[name] == wanted
    for key, wanted in limits.items():
        assert getattr(kernels[0], key) == wanted


def span(kernel):
    return f"{kernel.versions[0]}-{kernel.versions[1]}" if kernel.versions else ""


def test_types_of_a_kernel_that_are_no_cross_product_stay_apart():
    kernels = [each for each in find_runtime("ort-gpu==1.31").kernels("Attention") if each.versions == (23, 23)]
    assert sorted((*each.types["T1"], *each.types["T2"]) for each in kernels) == [
        *(("bfloat16", "bfloat16"), ("float", "float"), ("float16", "float16"))
    ]
    assert all(each.types["U"] == {"bool", *each.types["T1"]} for each in kernels)


def test_how_releases_are_known():
    rows = {(each.name, each.release): each for name in runtime_names() for each in releases_of(name)}
    measured = {key for key, each in rows.items() if each.how == "measured"}
    assert {name for name, _ in measured} == {
        *("onnxruntime-cpu", "onnxruntime-cuda", "onnxruntime-web-wasm", "openvino")
    }
    assert rows["tensorrt", "10.2"].how == "derived" and "at least" in rows["tensorrt", "10.2"].notes[0]
    assert rows["onnxruntime-cpu", "1.14"].union_types and not rows["onnxruntime-cpu", "1.16"].union_types
    assert rows["onnxruntime-cuda", "1.24"].union_types and not rows["onnxruntime-cuda", "1.31"].union_types
    assert all(each.source and each.how in HOW and each.title for each in rows.values())


@pytest.mark.parametrize("path", data_files(), ids=lambda path: path.stem)
def test_files_are_read_without_a_fault_and_compiled_as_they_stand(path):
    table = load_runtime(path)
    found = TABLES[path.stem]
    assert table.name == path.stem
    assert (table.releases, table.aliases, table.match) == (found.releases, found.aliases, found.match)
    assert table.read_operators() == found.read_operators()
    releases = [row.release for row in table.releases]
    assert releases == sorted(releases, key=release_sort_key)
    assert path.read_text("utf-8").isascii() and max(map(len, path.read_text("utf-8").splitlines())) <= 120


def test_what_is_compiled_is_built_again_where_it_is_damaged_or_older(tmp_path, monkeypatch):
    data = tmp_path / "opset" / "opsets" / "runtimes" / "data"
    data.mkdir(parents=True)
    names = ["ascend-cann", "onnxruntime-qnn"]
    for name in names:
        shutil.copy(FOLDER / f"{name}.yaml", data)
    monkeypatch.setattr(compiled, "FOLDER", data)

    def read():
        return [json.loads(line) for line in compiled._compiled_lines()]

    (head, *rest), written = read(), (data / "compiled.json").read_bytes()
    assert [head, *rest] == [json.loads(line) for line in written.splitlines()]
    assert [(each["runtime"], each["has_operators"]) for each in head["runtimes"]] == [
        (name, name != names[0]) for name in names
    ]
    assert rest == [TABLES[name].read_operators() for name in names]
    for damaged in (
        b"",
        b"[]",
        b"{",
        b'{"stamp": 1}',
        *(b"\n".join(written.splitlines()[:most]) for most in (1, 2)),
        written + b"{}",
    ):
        (data / "compiled.json").write_bytes(damaged)
        assert read() == [head, *rest]
        assert (data / "compiled.json").read_bytes() == written
    with (data / "ascend-cann.yaml").open("a") as file:
        file.write("# edited\n")
    assert read() == [head, *rest]  # what is installed does not change
    (tmp_path / "pyproject.toml").touch()
    newer, *same = read()
    assert newer["stamp"] != head["stamp"] and same == rest


def test_files_stand_in_the_folder_of_data():
    assert [path.stem for path in data_files()] == [*TABLES] and FOLDER.name == "data"


NO_TYPES = {("onnxruntime-dml", "Equal", 7, "T"), ("onnxruntime-cpu", "QuantizeLinear", 23, "T2")}
"""Kernels that name only types which the version does not have; that of QuantizeLinear is of 1.23 alone."""
ORT = ("onnxruntime-cpu", "onnxruntime-cuda", "onnxruntime-dml", "onnxruntime-web-webgpu", "onnxruntime-web-webnn")
NO_OPERATORS = {"Affine", "Crop", "DynamicSlice", "ImageScaler", "MemcpyFromHost", "MemcpyToHost",
                "ParametricSoftplus", "Scale", "ScaledTanh", "SimplifiedLayerNormalization"}  # fmt: skip
"""Operators that onnxruntime registers in the standard's domain, which never had them, or had them as experiments."""
NO_VERSIONS = {
    *((name, "LayerNormalization") for name in ORT),
    *((name, "MeanVarianceNormalization") for name in (ORT[0], ORT[2])),
    *((name, "ThresholdedRelu") for name in ORT[:3]),
    ("onnxruntime-cuda", "ReduceMin"),
    *(("onnxruntime-dml", name) for name in ("If", "Scatter")),
    ("onnxruntime-web-webnn", "Where"),
}
"""Entries for versions that the operator does not have: most are registered all the same, and they serve no node."""
NO_PARAMETERS = {
    *((name, "LayerNormalization", "V") for name in ORT[:3]),
    ("onnxruntime-cpu", "GatherND", "Tind"), ("onnxruntime-cuda", "GatherND", "Tind"),
    ("onnxruntime-cuda", "AveragePool", "I"), ("onnxruntime-cpu", "StringNormalizer", "T"),
}  # fmt: skip
"""Type parameters that kernels name and the operator does not have."""


def entries():
    for table in TABLES.values():
        for domain in table.domains():
            for operator in table.operators(domain):
                for entry in table.entries(operator, domain):
                    yield table, domain, operator, entry


def test_operators_are_those_of_the_standard():
    unknown = {
        (table.name, operator) for table, domain, operator, _ in entries() if not REGISTRY.versions(operator, domain)
    }
    assert unknown == {("onnxruntime-cpu", name) for name in NO_OPERATORS}


def test_kernels_serve_versions_that_there_are():
    idle = set()
    for table, domain, operator, entry in entries():
        versions = [each.since_version for each in REGISTRY.versions(operator, domain)]
        if versions and not any(serves_version(make_kernel(entry), since, table.match) for since in versions):
            idle.add((table.name, operator))
    assert idle == NO_VERSIONS


def test_parameters_inputs_attributes_and_outputs_are_those_of_the_operator():
    wrong = set()
    for table, domain, operator, entry in entries():
        schemas, kernel = REGISTRY.versions(operator, domain), make_kernel(entry)
        inputs = {each.name for schema in schemas for each in schema.inputs}
        outputs = {each.name for schema in schemas for each in schema.outputs}
        types = {name for schema in schemas for name in schema.types}
        attributes = {name for schema in schemas for name in schema.attributes}
        named = {*kernel.types} - {""} - types - inputs - outputs
        named |= (kernel.constant_inputs | {*kernel.values}) - inputs
        named |= {*kernel.attributes} - attributes
        named |= kernel.unasked - types
        named |= {*(kernel.outputs if isinstance(kernel.outputs, tuple) else ())} - outputs
        wrong |= {(table.name, operator, name) for name in named if schemas}
    assert wrong == NO_PARAMETERS


def allowed_types(schema, name):
    formal = next((each for each in (*schema.inputs, *schema.outputs) if each.name == name), None)
    return schema.types.get(name) or (schema.allowed_types(formal) if formal is not None else ())


def test_types_are_some_that_a_version_of_the_operator_has():
    """Kernels may take more types than the operator has, but each serves at least one of each parameter's."""
    wrong = set()
    for table, domain, operator, entry in entries():
        kernel = make_kernel(entry)
        for types in kernel.types.values():
            assert all(each in NUMBERS or "(" in each for each in types)
        for schema in REGISTRY.versions(operator, domain):
            if serves_version(kernel, schema.since_version, table.match):
                for name, types in kernel.types.items():
                    allowed = allowed_types(schema, name)
                    whole = {each if "(" in each else f"tensor({each})" for each in types}
                    if allowed and not whole & {*allowed}:
                        wrong.add((table.name, operator, schema.since_version, name))
    assert wrong == NO_TYPES
