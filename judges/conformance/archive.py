"""The test cases that released wheels of the onnx package hold as files: models as they were written then.

    python -m judges archive --fetch FOLDER        downloads the wheels with pip, extracts the cases
    python -m judges matrix --archive FOLDER       runs the matrix over them

A case is kept once, under the first release that has it, in FOLDER/cases/<name>@<release>/ as the wheel has it:
model.onnx and test_data_set_<n>/{input,output}_<n>.pb. Two are the same when models and data are, the doc strings,
the producer and the IR version of the model aside. The folder is best outside the repository.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, numpy_helper

from judges.conformance.judge import Case, is_random, opset_of

RELEASES = (
    "1.2.1 1.2.2 1.2.3 1.3.0 1.4.0 1.4.1 1.5.0 1.6.0 1.7.0 1.8.0 1.8.1 1.9.0 1.10.0 1.10.1 1.10.2 1.11.0 1.12.0 1.13.0 "
    "1.13.1 1.14.0 1.14.1 1.15.0 1.16.0 1.16.1 1.16.2 1.17.0 1.18.0 1.19.0 1.19.1 1.20.0 1.20.1 1.21.0 1.22.0"
).split()

# The wheels are read, not installed, so any platform will do; between them these interpreters have one of each release.
PYTHONS = {"3.6": ("cp36m",), "3.9": ("cp39",), "3.12": ("cp312", "abi3")}
PLATFORMS = ("manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64", "manylinux_2_28_x86_64")

# Cases of one node and, under the other names, of small graphs; "real" only names large models to download.
MEMBER = re.compile(
    r"onnx/backend/test/data/(?:node|simple|pytorch-operator|pytorch-converted)/"
    r"([\w.-]+)/(model\.onnx|test_data_set_\d+/(?:input|output)_\d+\.pb)"
)

# Cases that are wrong in themselves, by a pattern of name and release, and why; they are left out. Most were corrected
# by a later release, whose case is in the archive, too.
BROKEN: dict[str, str] = {
    # Not a model of any released operator set.
    r"test_operator_(lstm|rnn|rnn_single_layer)@1\.2\.1": "ConstantFill was experimental and never released",
    r"test_dynamic_slice\w*@1\.4\.0": "DynamicSlice was experimental and never released",
    r"test_mvn@1\.3\.0": "MeanVarianceNormalization was experimental before opset 9, the model imports 8",
    r"test_thresholdedrelu\w*@1\.(2\.1|3\.0|4\.0)": "ThresholdedRelu was experimental before opset 10",
    # Stored values or inputs that cannot be meant.
    r"test_cast_(FLOAT_to_STRING|STRING_to_FLOAT)@1\.4\.0": "the strings stored are addresses in memory",
    r"test_castlike_BFLOAT16_to_FLOAT(_expanded)?@1\.(12|14)\.0": "`like` has not the rank that the model declares",
    r"test_rotary_embedding_\w*rotary_dim@1\.18\.0": "caches of 4 columns where rotary_embedding_dim / 2 is 2",
    # Outputs of something else than what the model says.
    r"test_resize_upsample_sizes_nearest_(ceil_half_pixel|floor_align_corners|round_prefer_ceil_asymmetric)@1\.6\.0": (
        "the outputs are of the nearest_mode in the name, which the model leaves out"
    ),
    r"test_unique_not_sorted_without_axis@1\.6\.0": "Y is sorted, in contradiction to sorted=0 and to `indices`",
    r"test_sequence_insert_at_front@1\.8\.0": "the outputs are of an insertion at the end",
    r"test_convtranspose_autopad_same@1\.9\.0": "SAME_LOWER in the model, outputs of SAME_UPPER",
    r"test_col2im_pads@1\.13\.0": "one of 25 sums lacks an addend",
    r"test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True@1\.(15|17)\.0": (
        "windows that ceil_mode lets reach beyond the padding are divided by their whole size"
    ),
    r"test_qlinearmatmul_[23]D_int8_float(16|32)@1\.16\.0": "results outside int8 wrap around instead of saturating",
    r"test_l2normalization_axis_0@1\.19\.0": "zero divided by a norm of zero is NaN there, and zero by the standard",
    r"test_cast_FLOAT(16)?_to_U?INT4@1\.(16|17|18)\.0": "values out of range, whose cast the standard leaves undefined",
    r"test_cast_FLOAT(16)?_to_FLOAT4E2M1@1\.18\.0": "casts NaN to a type without NaN",
    r"test_attention_3d\w*(?<!_expanded)@1\.18\.0": "the heads are cut from the wrong axis of 3D inputs",
    r"test_attention_[34]d_gqa\w*(?<!_expanded)@1\.(18|19)\.0": "the heads of K and V are repeated in the wrong order",
    r"test_attention_[34]d_\w*qk_matmul_(bias|softcap)\w*(?<!_expanded)@1\.(18\.0|19\.[01])": (
        "qk_matmul_output_mode 1 and 2 are exchanged, and softcap comes after the mask"
    ),
}

# Expected outputs of double precision, where the model computes in single precision on values up to 100.
IMPRECISE = re.compile(r"test_dft_inverse")

Files = dict[str, bytes]


def wheel_of(release: str, folder: Path) -> Path:
    """The wheel of a release in the folder, downloaded if it is not there; raises OSError where pip finds none."""
    said = ""
    for python, abis in PYTHONS.items():
        for wheel in folder.glob(f"onnx-{release}-*.whl"):
            return wheel
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--implementation=cp", f"--python-version={python}", *(f"--abi={abi}" for abi in abis)]
        command += [*(f"--platform={name}" for name in PLATFORMS), f"--dest={folder}", f"onnx=={release}"]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    for wheel in folder.glob(f"onnx-{release}-*.whl"):
        return wheel
    raise OSError(f"no wheel of onnx {release}: {said}")


def members(wheel: Path) -> Iterator[tuple[str, Files]]:
    """Yield the cases in a wheel: the name, and the files by their path within the case."""
    with zipfile.ZipFile(wheel) as archive:
        found: dict[str, list[tuple[str, zipfile.ZipInfo]]] = defaultdict(list)
        for entry in archive.infolist():
            if match := MEMBER.fullmatch(entry.filename):
                found[match[1]].append((match[2], entry))
        for name, entries in sorted(found.items()):
            yield name, {path: archive.read(entry) for path, entry in sorted(entries, key=lambda pair: pair[0])}


def digest(files: Mapping[str, bytes]) -> str:
    """Hash of what a case computes: the data, and the model without what only tells where it is from."""
    model = onnx.load_from_string(files["model.onnx"])
    for field in ("ir_version", "producer_name", "producer_version", "doc_string", "model_version"):
        model.ClearField(field)
    for node in model.graph.node:
        node.ClearField("doc_string")
    whole = hashlib.sha256(model.SerializeToString(deterministic=True))
    for path, data in files.items():
        if path != "model.onnx":
            whole.update(f"\0{path}\0{len(data)}\0".encode() + data)
    return whole.hexdigest()


def fetch(folder: Path) -> None:
    """Download every release and extract the cases that no release before it has; tell what each adds."""
    wheels, cases = folder / "wheels", folder / "cases"
    wheels.mkdir(parents=True, exist_ok=True)
    seen: set[tuple[str, str]] = set()
    for release in RELEASES:
        total = new = 0
        for name, files in members(wheel_of(release, wheels)):
            total += 1
            key = name, digest(files)
            if key in seen:
                continue
            seen.add(key)
            new += 1
            for path, data in files.items():
                target = cases / f"{name}@{release}" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
        print(f"{release:>8} {total:>6,} cases, {new:>6,} of them new")
    print(f"{len(seen):,} cases in {cases}")


def value_of(data: bytes, type_: onnx.TypeProto) -> Any:
    """Return a stored value as arrays, lists of arrays or None."""
    kind = type_.WhichOneof("value")
    if kind == "sequence_type":
        sequence = onnx.SequenceProto()
        sequence.ParseFromString(data)
        return numpy_helper.to_list(sequence)
    if kind == "optional_type":
        optional = onnx.OptionalProto()
        optional.ParseFromString(data)
        # An empty one of release 1.10 tells the kind of what it does not hold, which to_optional would then read.
        filled = any(field.name.endswith("_value") for field, _ in optional.ListFields())
        return numpy_helper.to_optional(optional) if filled else None
    tensor = onnx.load_tensor_from_string(data)
    if type_.tensor_type.elem_type == TensorProto.BFLOAT16:
        tensor.data_type = TensorProto.BFLOAT16  # up to release 1.18, the bits are stored as uint16
    return numpy_helper.to_array(tensor)


def archived_cases(folder: Path, pattern: str = "", limit: int | None = None) -> list[Case]:
    """Return the cases of a folder that `fetch` made whose name the pattern is found in; each set of data is a case."""
    cases = []
    for path in sorted((folder / "cases").iterdir(), key=release_and_name):
        if not re.search(pattern, path.name) or is_broken(path):
            continue
        model = onnx.load_model(path / "model.onnx", load_external_data=False)
        sets = sorted(path.glob("test_data_set_*"))
        for data in sets:
            feeds = values_of(data, "input", fed(model.graph, len(list(data.glob("input_*.pb")))))
            expected = list(values_of(data, "output", model.graph.output).values())
            name = path.name if len(sets) == 1 else f"{path.name}/{data.name}"
            atol = 1e-4 if IMPRECISE.match(name) else 1e-7
            cases.append(Case(name, model, feeds, expected, atol=atol, random=is_random(name, model)))
    return cases[:limit]


def is_broken(path: Path) -> bool:
    """Return whether the case in a folder is one of those that are wrong in themselves."""
    return any(re.fullmatch(broken, path.name) for broken in BROKEN)


def release_and_name(path: Path) -> tuple[list[int], str]:
    name, _, release = path.name.rpartition("@")
    return [int(part) for part in release.split(".")], name


def fed(graph: onnx.GraphProto, count: int) -> Sequence[onnx.ValueInfoProto]:
    """Return the inputs that the files are for: all, or, where initializers stand among them as in IR 3, the others."""
    initialized = {tensor.name for tensor in graph.initializer}
    free = [value for value in graph.input if value.name not in initialized]
    return free if len(free) == count else graph.input


def values_of(folder: Path, kind: str, declared: Sequence[onnx.ValueInfoProto]) -> dict[str, Any]:
    """Return the stored values of the inputs or outputs by name; raises OSError where one is missing."""
    return {
        value.name: value_of((folder / f"{kind}_{number}.pb").read_bytes(), value.type)
        for number, value in enumerate(declared)
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch the archive, and tell what is in it."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges archive", description=about)
    parser.add_argument("--fetch", type=Path, metavar="FOLDER", required=True, help="where wheels and cases are kept")
    options = parser.parse_args(arguments)
    fetch(options.fetch)
    opsets = Counter(opset_of(case.model) for case in archived_cases(options.fetch))
    print("by opset: " + ", ".join(f"{opset}: {count:,}" for opset, count in sorted(opsets.items(), key=str)))
    return 0
