"""Attacks that are no models: streams, folders, files of values, configurations, folders of operator YAML."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from pathlib import Path
from typing import Any

from onnx import TensorProto, helper

from judges.hostile.attacks import CONFIGURATIONS, FOLDERS, SCHEMAS, STREAMS, VALUES, Statuses, attack
from judges.hostile.attacks.models import SAMPLE

# Files of values, for the input x of a model: float[2, 3]


def values(every: int | Statuses, file: str) -> Any:
    """Return a decorator for a function that returns the content of a file of values."""
    return attack(VALUES, file, every)


def npy(shape: str = "(2, 3)", data: bytes = bytes(24), descr: str = "'<f4'", header: bytes = b"") -> bytes:
    """Return a file of numpy's form."""
    header = header or f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(header)) + header + data


def zipped(*members: tuple[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return an archive."""
    whole_file = io.BytesIO()
    with zipfile.ZipFile(whole_file, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return whole_file.getvalue()


def harmless(form: str) -> bytes:
    """Return a file of values without fault."""
    tensor = helper.make_tensor("x", TensorProto.FLOAT, [2, 3], [0.0] * 6)
    files = {
        "npy": npy(),
        "npz": zipped(("x.npy", npy())),
        "json": b'{"x": [[0, 0, 0], [0, 0, 0]]}',
        "pb": tensor.SerializeToString(),
    }
    return files[form]


@values(3, "x.npy")
def an_array_that_says_2_to_the_40() -> bytes:
    return npy("(1099511627776, 1048576)")


@values(3, "x.npy")
def an_array_of_rank_600() -> bytes:
    return npy(f"({'1, ' * 600})")


@values(3, "x.npy")
def a_header_of_brackets() -> bytes:
    return npy(header=b"(" * 60_000)


@values(3, "x.npy")
def pickled_objects() -> bytes:
    return npy("(1,)", b"cos\nsystem\n(S'touch pickled'\ntR.", "'|O'")


@values(3, "x.npz")
def an_archive_that_grows_a_thousandfold() -> bytes:
    return zipped(("x.npy", npy("(16777216,)", bytes(1 << 26))))


@values(3, "x.npz")
def an_archive_that_is_cut() -> bytes:
    return zipped(("x.npy", npy()))[:-10]


@values((1, 3), "x.npz")
def an_archive_with_a_name_outside() -> bytes:
    return zipped(("../../x.npy", npy()), ("\x1b[31m.npy", npy()))


@values(3, "x.json")
def json_100_000_deep() -> str:
    return '{"x": ' + "[" * 100_000 + "]" * 100_000 + "}"


@values(3, "x.json")
def json_with_a_number_of_a_million_digits() -> str:
    return '{"x": [' + "9" * 10**6 + "]}"


@values((1, 3), "x.json")
def json_with_a_name_of_escapes() -> str:
    return '{"x": [[1, 2, 3], [4, 5, 6]], "\\u001b[31m\\u202e\\nnext": 1, "\\ud800": 2}'


@values(3, "x.json")
def json_that_is_not_utf_8() -> bytes:
    return b'{"x": "\xff\xfe"}'


@values(3, "x.json")
def json_of_a_sparse_gigabyte(folder: Path) -> None:
    with (folder / "x.json").open("wb") as file:
        file.truncate(1 << 30)


@values(3, "x.pb")
def a_tensor_that_says_2_to_the_40() -> bytes:
    return TensorProto(name="x", data_type=TensorProto.FLOAT, dims=[2**40], raw_data=bytes(24)).SerializeToString()


@values(3, "x.pb")
def a_tensor_of_external_data() -> bytes:
    tensor = TensorProto(name="x", data_type=TensorProto.FLOAT, dims=[2, 3], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="/etc/passwd")
    return tensor.SerializeToString()


@values((2, 3), "x.npy")
def values_from_a_pipe(folder: Path) -> None:
    os.mkfifo(folder / "x.npy")


@values(3, "x.json")
def values_from_a_device(folder: Path) -> None:
    (folder / "x.json").symlink_to("/dev/zero")


# Streams, and folders of models


@attack(STREAMS, "stream", 3)
def zeros_without_end(folder: Path) -> None:
    (folder / "stream").symlink_to("/dev/zero")


@attack(STREAMS, "stream", 3)
def a_text_of_100_megabytes(folder: Path) -> None:
    with (folder / "stream").open("wb") as file:
        file.write(b"text")
        file.truncate(100 << 20)


@attack(FOLDERS, "", (1, 3))
def a_pipe_among_models(folder: Path) -> None:
    os.mkfifo(folder / "a.onnx")
    (folder / "b.onnx").write_bytes(SAMPLE)


@attack(FOLDERS, "", (1, 3))
def links_to_devices_among_models(folder: Path) -> None:
    for name in ("zero", "full", "stdin"):
        (folder / f"{name}.onnx").symlink_to(f"/dev/{name}")


@attack(FOLDERS, "", (0, 1, 3))
def folders_that_contain_themselves(folder: Path) -> None:
    (folder / "com.acme").mkdir()
    (folder / "com.acme" / "again").symlink_to("..")
    (folder / "com.acme" / "Loop.yaml").symlink_to("Loop.yaml")
    (folder / "loop.onnx").symlink_to("loop.onnx")


@attack(FOLDERS, "", (1, 3))
def folders_named_as_files(folder: Path) -> None:
    (folder / "model.onnx").mkdir()
    (folder / "com.acme" / "Scale.yaml").mkdir(parents=True)


@attack(FOLDERS, "", (0, 1, 3))
def names_of_escapes_and_bytes(folder: Path) -> None:
    for name in (b"\x1b[31mred\r\nnext.onnx", b"\xff\xfe.onnx", b"-o.onnx", b"%s{{}}.onnx"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(SAMPLE)


# pyproject.toml in the working folder


def configuration(every: int | Statuses, alone: bool = False) -> Any:
    """Return a decorator for a function that writes a pyproject.toml, with which no verb that reads it works."""
    return attack(
        CONFIGURATIONS, "pyproject.toml", every, alone, explain=0, completion=0, examples=0, schema=0, text=(0, 2)
    )


@configuration(2)
def a_pipe_as_configuration(folder: Path) -> None:
    os.mkfifo(folder / "pyproject.toml")


@configuration(2)
def a_link_to_a_device_as_configuration(folder: Path) -> None:
    (folder / "pyproject.toml").symlink_to("/dev/zero")


@configuration(2)
def a_sparse_configuration_of_20_gigabytes(folder: Path) -> None:
    with (folder / "pyproject.toml").open("wb") as file:
        file.truncate(20 << 30)


@configuration((0, 2))
def a_folder_as_configuration(folder: Path) -> None:
    (folder / "pyproject.toml").mkdir()


@configuration(2)
def a_configuration_of_600_brackets() -> str:
    return "[tool.opset]\nschemas = " + "[" * 600 + "]" * 600


@configuration(2)
def a_configuration_of_100_000_inline_tables() -> str:
    return "[tool.opset]\nschemas = " + "{a=" * 100_000 + "1" + "}" * 100_000


@configuration((0, 2))
def a_key_of_200_kilobytes_of_dots() -> str:
    return "[tool.opset]\nschemas = []\n[" + ".".join("a" * 100_000) + "]\n"


@configuration(2)
def a_nul_in_a_configured_path() -> str:
    return '[tool.opset]\nschemas = ["a\\u0000b"]\n'


@configuration(2)
def escapes_in_a_configured_path() -> str:
    return '[tool.opset]\nschemas = ["\\u001b[31mred\\u202e\\nnext", "' + "x" * 5000 + '"]\n'


@configuration(2)
def a_configuration_that_is_not_utf_8() -> bytes:
    return b"[tool.opset]\nschemas = ['\xff\xfe']\n"


@configuration(2)
def a_configuration_with_numbers_for_folders() -> str:
    return "[tool.opset]\nschemas = [nan, 1979-05-27T07:32:00Z, " + "9" * 100_000 + "]\n"


@configuration((0, 2))
def a_configuration_of_a_thousand_folders() -> str:
    return "[tool.opset]\nschemas = [" + ", ".join(f"'f{n}'" for n in range(1000)) + "]\n"


# Folders of operator YAML, domain com.acme and operator Scale


def schema(
    every: int | Statuses, file: str = "com.acme/Scale.yaml", alone: bool = False, **some: int | Statuses
) -> Any:
    """Return a decorator for a function that returns an operator's YAML; the names of `some` are verbs."""
    return attack(SCHEMAS, f"schemas/{file}", every, alone, **some)


HEAD = "operator: Scale\nfamily: acme\nversions:\n- since: 1\n"
PARAMETERS = "  inputs: [{name: X, type: T, doc: d}]\n  outputs: [{name: Y, type: T, doc: d}]\n  types: {T: [float]}\n"


def scale(doc: str = "Scales.", more: str = "", parameters: str = PARAMETERS) -> str:
    """Return an operator's YAML with more keys in its one version."""
    return f"{HEAD}  doc: {doc}\n{parameters}{more}"


@schema(2, lint=1)
def aliases_that_double_30_times() -> str:
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 30))]
    return "\n".join(lines) + "\n" + scale()


@schema(2, lint=1)
def yaml_100_000_brackets_deep() -> str:
    return "operator: " + "[" * 100_000


@schema(2, lint=1)
def yaml_100_000_dashes_deep() -> str:
    return "versions:\n" + "- " * 100_000 + "a"


@schema(2, lint=1)
def yaml_2_000_indents_deep() -> str:
    return "".join(f"{' ' * n}a:\n" for n in range(2_000))


@schema(2, lint=1)
def yaml_of_a_sparse_gigabyte(folder: Path) -> None:
    (folder / "schemas/com.acme").mkdir(parents=True)
    with (folder / "schemas/com.acme/Scale.yaml").open("wb") as file:
        file.truncate(1 << 30)


@schema(2, lint=1)
def yaml_from_a_pipe(folder: Path) -> None:
    (folder / "schemas/com.acme").mkdir(parents=True)
    os.mkfifo(folder / "schemas/com.acme/Scale.yaml")


@schema(2, lint=1)
def yaml_from_a_device(folder: Path) -> None:
    (folder / "schemas/com.acme").mkdir(parents=True)
    (folder / "schemas/com.acme/Scale.yaml").symlink_to("/dev/zero")


@schema(2, lint=1)
def yaml_that_is_not_utf_8() -> bytes:
    return b"operator: \xff\xfe\nfamily: acme\n"


@schema(2, lint=1)
def yaml_with_tags_of_python() -> str:
    return scale("!!python/object/apply:os.system ['touch tagged']")


@schema((0, 2), lint=1)
def escapes_in_the_name_of_an_operator() -> str:
    return scale().replace("operator: Scale", 'operator: "Scale\\e[31m\\u202e\\nnext"')


@schema((0, 2), "com.acme/Scale\x1b[31m\nnext.yaml", lint=1)
def escapes_in_the_name_of_a_file() -> str:
    return scale().replace("operator: Scale", 'operator: "Scale\\e[31m\\nnext"')


@schema((0, 2), lint=(0, 1))
def escapes_and_templates_in_a_doc() -> str:
    return scale('"\\e[31mred\\u202e\\0 {{ 7 * 7 }} ${HOME} <script>alert(1)</script>"')


@schema(2, lint=1)
def parameters_without_a_name() -> str:
    return scale(parameters="  inputs: [{type: T, doc: d}]\n  outputs: [{type: T}]\n  types: {T: [float]}\n")


@schema((0, 2), lint=1)
def versions_whose_signatures_do_not_differ() -> str:
    older = scale().removeprefix("operator: Scale\nfamily: acme\nversions:\n")
    return f"operator: Scale\nfamily: acme\nversions:\n{older.replace('since: 1', 'since: 2')}{older}"


@schema((0, 2), lint=1)
def defaults_beyond_a_float() -> str:
    some = "  attributes:\n" + "".join(
        f"    a{n}: {{type: {kind}, default: {default}, doc: d}}\n"
        for n, (kind, default) in enumerate(
            [("float", "1e400"), ("float", "1e39"), ("float", ".nan"), ("floats", "[.inf, -1e400]"), ("int", "9" * 30),
             ("float", "9" * 400), ("int", "1e30"), ("float", "0x" + "f" * 40), ("floats", "[" + "9" * 40 + "]"),
             ("int", "0x" + "f" * 40)]
        )
    )  # fmt: skip
    return scale(more=some)


@schema((0, 2), lint=(0, 1))
def a_default_that_is_no_number() -> str:
    return scale(more="  attributes:\n    a: {type: float, default: .nan, doc: d}\n")


@schema((0, 2), lint=(0, 1))
def a_version_of_2_to_the_70() -> str:
    return scale().replace("since: 1", f"since: {2**70}")


@schema((0, 2), lint=1)
def ten_thousand_versions() -> str:
    versions = "".join(f"- since: {n}\n  like: 1\n" for n in range(10_000, 1, -1))
    return scale().replace("versions:\n", f"versions:\n{versions}")


@schema(2, lint=1)
def versions_that_are_like_each_other() -> str:
    return "operator: Scale\nfamily: acme\nversions:\n- since: 2\n  like: 1\n- since: 1\n  like: 2\n"


@schema((0, 2), lint=(0, 1))
def a_constraint_100_000_brackets_deep() -> str:
    return scale(more=f'  constraints:\n    C1: "{"(" * 100_000}rank(X){")" * 100_000} == 1"\n')


@schema((0, 2), lint=1)
def a_range_100_000_brackets_deep() -> str:
    return scale(more=f'  attributes:\n    a: {{type: int, doc: d, range: "{"(" * 100_000}"}}\n')


@schema((0, 2), lint=1)
def a_shape_rule_100_000_brackets_deep() -> str:
    return scale(more=f'  shape: "{"same(" * 100_000}X"\n')


@schema((0, 2), lint=(0, 1))
def a_function_body_100_000_brackets_deep() -> str:
    return scale(more=f'  function: "{{ Y = If <then_branch = {"{" * 100_000}"\n')


@schema((0, 2), lint=1)
def a_type_10_000_deep() -> str:
    return scale(more=f"    I: ['{'seq(' * 10_000}float{')' * 10_000}']\n")


@schema((0, 2), lint=1)
def examples_with_values_of_2_to_the_40() -> str:
    values = "  inputs: {X: {shape: [1099511627776], data: [1]}}\n  outputs: {Y: [.nan]}\n"
    return f"{scale()}examples:\n- name: big\n  since: 1\n{values}"


@schema((0, 2), lint=(0, 1, 2))
def three_hundred_files(folder: Path) -> None:
    (folder / "schemas/com.acme").mkdir(parents=True)
    for number in range(300):
        text = scale().replace("Scale", f"Scale{number}")
        (folder / f"schemas/com.acme/Scale{number}.yaml").write_text(text)


@schema((0, 2), lint=1, file=(0, 1))
def type_sets_that_double_30_times(folder: Path) -> str:
    (folder / "schemas").mkdir()
    sets = "s0: [float, double]\n" + "".join(f"s{n}: [s{n - 1}, s{n - 1}]\n" for n in range(1, 30))
    (folder / "schemas/types.yaml").write_text(sets)
    return scale().replace("[float]", "s29")
