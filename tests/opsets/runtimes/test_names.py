"""The names of runtimes as people write them, and the releases that they mean."""

from dataclasses import replace

import pytest

from opset.errors import SchemaError, UsageError
from opset.opsets.runtimes import find_runtime, releases_of, runtime_names
from opset.opsets.runtimes import names as names_of_runtimes
from opset.opsets.runtimes.compiled import standard_tables
from opset.opsets.runtimes.model import release_sort_key
from opset.opsets.runtimes.names import later_releases, releases_named, table_named, tables_with, verify_name

FOUND = [
    ("onnxruntime==1.17", "onnxruntime-cpu", "1.17"),
    ("ort==1.17", "onnxruntime-cpu", "1.17"),
    ("OnnxRuntime == 1.31.0", "onnxruntime-cpu", "1.31"),
    ("onnxruntime==1.17:cuda", "onnxruntime-cuda", "1.17"),
    ("onnxruntime:cuda==1.17", "onnxruntime-cuda", "1.17"),
    ("ort==1.17:CUDAExecutionProvider", "onnxruntime-cuda", "1.17"),
    ("onnxruntime-gpu==1.17", "onnxruntime-cuda", "1.17"),
    ("onnxruntime_gpu==1.17", "onnxruntime-cuda", "1.17"),
    ("onnxruntime-directml==1.20", "onnxruntime-dml", "1.20"),
    ("onnxruntime==1.20:DmlExecutionProvider", "onnxruntime-dml", "1.20"),
    ("onnxruntime-web==1.20", "onnxruntime-web-wasm", "1.20"),
    ("onnxruntime-web==1.20:webgpu", "onnxruntime-web-webgpu", "1.20"),
    ("onnxruntime==1.19:coreml", "onnxruntime-coreml-neuralnetwork", "1.19"),
    ("onnxruntime==1.24:xnnpack", "onnxruntime-xnnpack", "1.24"),
    ("trt==8.6", "tensorrt", "8.6"),
    ("tensorrt==10", "tensorrt", "10.0"),
    ("windows-ml==Windows-11", "windows-ml", "windows-11"),
    ("openvino==2024.6", "openvino", "2024.6"),
    ("triton==23.10", "triton", "23.10"),
]
NOTED = [
    ("onnxruntime==1.17.3", "1.17", "1.17.3 is not known: taken as 1.17"),
    ("onnxruntime==1.5", "1.4", "1.5 is not known: taken as 1.4"),
    ("onnxruntime==1.170", "1.31", "1.170 is newer than those that are known: taken as 1.31"),
    ("onnxruntime==2", "1.31", "2 is newer than those that are known: taken as 1.31"),
    ("onnxruntime==1.31.9", "1.31", "1.31.9 is not known: taken as 1.31"),
    ("onnxruntime-gpu==1.28", "1.24", "1.28 is not known: taken as 1.24"),
    ("openvino==2024.1", "2023.3", "2024.1 is not known: taken as 2023.3"),
    ("tensorrt==8.6.1", "8.6", "8.6.1 is not known: taken as 8.6"),
    ("tensorrt==10.15.1.29", "10.15", "10.15.1.29 is not known: taken as 10.15"),
    ("tensorrt==8.3", "8.2", "8.3 is not known: taken as 8.2"),
]
REFUSED = [
    ("onnxruntim==1.17", "no runtime 'onnxruntim' is known", "did you mean onnxruntime"),
    ("tensortr", "no runtime 'tensortr' is known", "did you mean tensorrt? known: ascend-cann, migraphx"),
    ("onnxruntime==1.17:cuba", "onnxruntime has no provider 'cuba'", "did you mean onnxruntime:cuda"),
    ("onnxruntime==1.17:tensorrt", "onnxruntime has no provider 'tensorrt'", "did you mean tensorrt?"),
    ("onnxruntime==1.20:webgpu", "onnxruntime has no provider 'webgpu'", "did you mean onnxruntime-web:webgpu?"),
    (
        "onnxruntime:cud",
        "onnxruntime has no provider 'cud'",
        "did you mean onnxruntime:cuda or onnxruntime:cpu or onnxruntime:gpu? known: onnxruntime:coreml, "
        "onnxruntime:coreml-mlprogram, onnxruntime:coreml-neuralnetwork, onnxruntime:cpu, onnxruntime:cuda, "
        "onnxruntime:directml, onnxruntime:dml, onnxruntime:gpu, onnxruntime:nnapi, onnxruntime:qnn, "
        "onnxruntime:xnnpack",
    ),
    ("openvino:gpuu", "openvino has no provider 'gpuu'", "did you mean openvino:cpu? known: openvino:cpu"),
    ("acme:gpu", "no runtime 'acme:gpu' is known", "known: ascend-cann, migraphx"),
    ("onnxruntime-gpu=1.17", "no runtime 'onnxruntime-gpu=1.17' is known", "write onnxruntime-gpu==1.17;"),
    ("trt 8.6.1", "no runtime 'trt 8.6.1' is known", "write trt==8.6.1;"),
    ("onnxruntime", "'onnxruntime' names no release of the runtime", "write onnxruntime==RELEASE; known: 1.4, 1.6"),
    ("trt==", "'trt==' names no release of the runtime", "write trt==RELEASE; known: 5.1"),
    ("ort:cuda", "'ort:cuda' names no release of the runtime", "write ort==RELEASE:cuda; known: 1.8"),
    ("onnxruntime==1.1", "what onnxruntime 1.1 accepts is not known", "the oldest known one is 1.4; known: 1.4"),
    ("onnxruntime==latest", "what onnxruntime latest accepts is not known", "known: 1.4, 1.6"),
    ("onnxruntime==²", "what onnxruntime ² accepts is not known", "known: 1.4, 1.6"),
    ("onnxruntime==" + "9" * 5000, "accepts is not known", "known: 1.4, 1.6"),
    ("windows-ml==windows-12", "what windows-ml windows-12 accepts is not known", "known: windows-10-1809"),
    ("", "no runtime '' is known", "known: ascend-cann"),
    ("=" * 5000, "no runtime '' is known", "known: ascend-cann"),
    ("\x1b[31m==1", "is known", "known: ascend-cann"),
]


@pytest.mark.parametrize(("spec", "name", "release"), FOUND)
def test_names_and_aliases(spec, name, release):
    found = find_runtime(spec)
    assert (found.name, found.release) == (name, release)
    assert not any("taken as" in note for note in found.notes)


@pytest.mark.parametrize(("spec", "release", "note"), NOTED)
def test_another_release_is_taken_with_a_note(spec, release, note):
    found = find_runtime(spec)
    assert (found.release, found.notes[0]) == (release, note)


@pytest.mark.parametrize(("spec", "message", "help"), REFUSED)
def test_what_is_not_known_is_an_error_that_names_what_is(spec, message, help):
    with pytest.raises(UsageError) as caught:
        find_runtime(spec)
    finding = caught.value
    assert finding.code == "U101" and message in finding.message and help in finding.help
    assert len(str(finding)) < 3000 and "\x1b" not in str(finding)


def test_every_alias_leads_to_its_runtime_and_no_other():
    taken = {}
    for name in runtime_names():
        table = find_runtime(f"{name}=={releases_of(name)[0].release}").table
        for alias in (name, *table.aliases):
            assert taken.setdefault(alias, name) == name
            assert releases_of(alias)[0].name == name


def test_fallbacks_are_of_the_same_release_or_of_the_newest():
    cuda = find_runtime("onnxruntime-gpu==1.17")
    assert (cuda.fallback.name, cuda.fallback.release) == ("onnxruntime-cpu", "1.17")
    webgpu = find_runtime("onnxruntime-web==1.29:webgpu")
    assert (webgpu.fallback.name, webgpu.fallback.release) == ("onnxruntime-web-wasm", "1.29")
    assert find_runtime("onnxruntime-qnn==2.0").fallback.release == "1.31"
    assert find_runtime("tensorrt==8.6").fallback is None


def test_releases_are_ordered_by_value_and_names_come_before_numbers():
    releases = ["1.rc", "1.0", "1.2", "1.09", "1.10", "2"]
    assert sorted({*releases}, key=release_sort_key) == releases


NPU = """runtime: npu
match: range
fallback: {fallback}
releases:
- {{release: "1.0", opset: [7, 15], how: documented}}
operators: {{ai.onnx: {{Relu: [{{versions: [6, null]}}]}}}}
"""


def files(tmp_path, *texts):
    paths = []
    for number, text in enumerate(texts):
        paths.append(tmp_path / f"{number}.yaml")
        paths[-1].write_text(text)
    return paths


def test_a_runtime_of_a_file(tmp_path):
    found = find_runtime("NPU==1.0.1", files(tmp_path, NPU.format(fallback="onnxruntime-cpu")))
    assert (found.name, found.release, found.opsets[""], found.max_ir) == ("npu", "1.0", (7, 15), None)
    assert found.notes == ("1.0.1 is not known: taken as 1.0",)
    assert [found.takes_version(each, 14, 15) for each in found.kernels("Relu")] == [True]
    assert found.kernels("Gelu") == () and found.fallback.release == "1.31"
    with pytest.raises(UsageError):
        find_runtime("npu==1.0")


def test_files_that_do_not_go_together(tmp_path):
    texts = {
        "there is no runtime": [NPU.format(fallback="onnxruntime")],
        "known already": [NPU.format(fallback="tract").replace("npu", "tensorrt")],
        "a runtime 'npu' is known already": [NPU.format(fallback="tract")] * 2,
        "'onnxruntime-cpu' is known": [NPU.format(fallback="onnxruntime-cuda").replace("npu", "onnxruntime-cpu")],
        "leads back to it": [NPU.format(fallback="other"), NPU.format(fallback="npu").replace(": npu", ": other", 1)],
    }
    for message, given in texts.items():
        with pytest.raises(SchemaError) as caught:
            find_runtime("npu==1.0", files(tmp_path, *given))
        assert message in str(caught.value)
        assert caught.value.code == {"there": "S107", "leads": "S105"}.get(message[:5], "S106")
        assert all(each.place.startswith(str(tmp_path)) for each in caught.value.findings)
    wrong = files(tmp_path, "runtime: a\n", "runtime: b\n")
    with pytest.raises(SchemaError) as caught:
        find_runtime("npu==1.0", wrong)
    assert [each.place.partition(":")[0] for each in caught.value.finding_list] == [str(each) for each in wrong]


GROWING = """runtime: npu
match: range
%s
releases:
- {release: "1", opset: [7, 15], how: documented}
- {release: "2", opset: [7, 15], how: documented}
operators: {ai.onnx: {Relu: [{}], Conv: [{}, {since: "2"}]}}
faults: {ai.onnx: {Relu: [{result: fails, gives: x}], Conv: [{result: fails, gives: x, since: "2"}]}}
"""


@pytest.mark.parametrize(
    ("more", "kernels", "faults", "alike"),
    [
        ("", [], [], True),
        ("", ["Relu", "Abs"], ["Relu", "Abs"], True),
        ("", ["Relu", "Conv"], ["Relu"], False),
        ("", ["Relu"], ["Relu", "Conv"], False),
        ("casts: {double: float}", ["Relu"], ["Relu"], True),
        ("casts: {double: float, int64: int32 before 2}", ["Relu"], ["Relu"], False),
        ("fallback: tract", ["Relu"], ["Relu"], True),
        ("fallback: tract", ["Relu"], ["Relu"], None),
    ],
)
def test_releases_answer_alike_if_all_that_was_asked_is_the_same(tmp_path, more, kernels, faults, alike):
    first, second = releases_of("npu", files(tmp_path, GROWING % more))
    if alike is None:  # only one of the two has a fallback
        second = replace(second, fallback=None)
    for operator in kernels:
        first.kernels(operator)
    for operator in faults:
        first.faults(operator)
    assert first.answers_alike(second) is bool(alike)


@pytest.mark.parametrize("name", ["tensorrt", "onnxruntime:cuda", "onnxruntime-web:webgpu", "triton", "windows-ml"])
def test_later_releases_are_those_behind(name):
    every = releases_of(name)
    for position in (0, 1, len(every) - 1):
        later = later_releases(every[position])
        assert [each.release for each in later] == [each.release for each in every[position + 1 :]]
        for one, other in zip(later, every[position + 1 :], strict=True):
            assert (one.opsets, one.max_ir, one.notes) == (other.opsets, other.max_ir, other.notes)
            beside = [
                (each.name, each.release) if each is not None else None
                for runtime in (one, other)
                for each in (runtime.fallback, runtime.kernels_of)
            ]
            assert beside[:2] == beside[2:]


def test_what_a_release_has_of_another_runtime_is_taken_from_it():
    (mobile, cpu) = (find_runtime(f"{name}==1.10") for name in ("onnxruntime-mobile", "onnxruntime"))
    assert (mobile.kernels_of.name, mobile.kernels_of.release) == ("onnxruntime-cpu", "1.10")
    assert (mobile.max_ir, mobile.match, mobile.lists_operators) == (cpu.max_ir, cpu.match, True)
    assert mobile.union_types == cpu.union_types and mobile.opsets[""][1] <= cpu.opsets[""][1]
    web = find_runtime("onnxruntime-web==1.30")
    assert web.notes == tuple(f"onnxruntime-cpu: {each}" for each in web.kernels_of.notes) and web.notes
    assert web.fallback is web.kernels_of.fallback is None


def test_a_release_that_is_not_known_is_told_with_those_that_are():
    with pytest.raises(UsageError) as caught:
        find_runtime("windows-ml==0.1")  # none of its releases is a number
    listed = "known: windows-10-1809, windows-10-1903, windows-10-2004, windows-11"
    assert (caught.value.message, caught.value.help) == ("what windows-ml 0.1 accepts is not known", listed)
    with pytest.raises(UsageError) as caught:
        find_runtime("unity-sentis==1.0")
    assert caught.value.help == "the oldest known one is 2.5; known: 2.5, 2.6"


@pytest.mark.parametrize(
    ("release", "taken", "note"),
    [
        ("v8.6", "8.6", ""),
        ("8.6.0.post1", "8.6", ""),
        ("8.6+cu118", "8.6", ""),
        ("8.6.1.6+cuda-12.0", "8.6", "8.6.1.6+cuda-12.0 is not known: taken as 8.6"),
        ("V99.1", "11.5", "V99.1 is newer than those that are known: taken as 11.5"),
    ],
)
def test_marks_of_tags_and_builds_make_no_other_release(release, taken, note):
    runtime = find_runtime(f"tensorrt=={release}")
    assert (runtime.release, [each for each in runtime.notes if " taken as " in each]) == (taken, [note] * bool(note))


@pytest.mark.parametrize("release", ["8.6rc1", "8.6.dev1", "8.6+", "vv8.6", "8.6+a b", "v"])
def test_other_words_are_no_release(release):
    with pytest.raises(UsageError, match="accepts is not known"):
        find_runtime(f"tensorrt=={release}")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tensorrt", ""),
        ("trt==1.0", ""),
        ("installed:onnxruntime", ""),
        ("tensorrrt", "no runtime 'tensorrrt' is known"),
        ("installed:onnxruntime==1.17", "the installed runtime has one release alone"),
        ("installed:tensorrt", "the installed 'tensorrt' cannot be asked"),
    ],
)
def test_names_are_verified_without_their_releases(name, message):
    if not message:
        verify_name(name, standard_tables())
        return
    with pytest.raises(UsageError) as caught:
        verify_name(name, standard_tables())
    assert (caught.value.code, caught.value.message) == ("U101", message)


def test_an_installed_runtime_has_no_table():
    with pytest.raises(UsageError) as caught:
        table_named("installed:onnxruntime", standard_tables())
    assert caught.value.message == "an installed runtime has no releases to list"
    assert caught.value.help == "opset targets probe onnxruntime shows what the installed runtime accepts"


ANY = "[{versions: [1, null]}]"


def test_operators_that_no_version_has_are_noted(tmp_path, monkeypatch):
    text = NPU.format(fallback="tract").replace("Relu:", f"Reluu: {ANY}, Gelu: {ANY}, {{}}: {ANY}, Relu:")
    listed = "ai.onnx has no {}, which {} lists"
    (file,) = files(tmp_path, text.replace("{}", "Yyyy"))
    (runtime,) = releases_named("npu", tables_with([file]))
    assert runtime.notes == (listed.format("'Reluu' (did you mean Relu or PRelu or Selu?), 'Yyyy'", file),)
    (file,) = files(tmp_path, text.replace("{}", f": {ANY}, ".join(f"X{number}y{number}" for number in range(8))))
    (note,) = find_runtime("npu==1.0", [file]).notes
    assert (
        note.startswith("ai.onnx has no 'Reluu' (did you mean Relu or PRelu or Selu?), 'X0y0', ") and "'X6y6'" in note
    )
    assert "'X7y7'" not in note and " and 1 more" in note
    monkeypatch.setattr(names_of_runtimes, "MAX_FILES", 1)
    assert "npu" in tables_with([file])
    with pytest.raises(UsageError, match="2 files of runtimes are given; at most 1 are read"):
        tables_with([file, file])
