"""Files that are hard to read or write safely: links, pipes, permissions, races, kills, and deep or huge folders."""

from __future__ import annotations

import os
import signal
import socket
import stat
import struct
import subprocess
import sys
from pathlib import Path

import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

import opset
from judges.hostile.processes import attack, own

SMALL = """<ir_version: 6, opset_import: ["": 11]>
    main (float[2, 3] x) => (float[2, 3] y) { r = Unsqueeze <axes = [0]> (x)  y = Squeeze <axes = [0]> (r) }"""
MODEL = onnx.parser.parse_model(SMALL).SerializeToString()
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(opset.__file__).parents[1])}


def write(path: Path, mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(MODEL)
    path.chmod(mode)
    return path


def with_data(folder: Path, location: str = "weights.bin", size: int = 2400) -> Path:
    """A model whose only tensor is in a file beside it."""
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[size // 4], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size // 4]) for name in "xy")
    nodes = [helper.make_node("Add", ["x", "w"], ["a"]), helper.make_node("Identity", ["a"], ["y"])]
    graph = helper.make_graph(nodes, "main", [x], [y], [tensor])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=6)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    return folder / "m.onnx"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def version(path: Path) -> int:
    return onnx.load(path, load_external_data=False).opset_import[0].version


def listing(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


# Permissions and links


def test_in_place_through_a_link_keeps_the_link_and_the_permissions(tmp_path):
    real = write(tmp_path / "sub" / "real.onnx", 0o600)
    (tmp_path / "link.onnx").symlink_to("sub/real.onnx")
    own(attack("convert", "link.onnx", "--to", "21", "--in-place", cwd=tmp_path), 0)
    assert (tmp_path / "link.onnx").is_symlink()
    assert (version(real), mode(real)) == (21, 0o600)
    assert listing(tmp_path) == ["link.onnx", "sub/real.onnx"]


def test_in_place_through_a_link_out_of_its_folder_needs_permission(tmp_path):
    outside = write(tmp_path / "outside" / "victim.onnx", 0o600)
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "link.onnx").symlink_to(outside)
    refused = own(attack("convert", "in", "--to", "21", "--in-place", cwd=tmp_path), 2)
    assert "U104" in refused.text and "--allow-external-root" in refused.text
    assert outside.read_bytes() == MODEL
    own(attack("convert", "in", "--to", "21", "--in-place", "--allow-external-root", "outside", cwd=tmp_path), 0)
    assert (version(outside), mode(outside)) == (21, 0o600) and (folder / "link.onnx").is_symlink()


def test_the_result_of_a_private_model_is_private(tmp_path):
    path = with_data(tmp_path)
    path.chmod(0o644)
    (tmp_path / "weights.bin").write_bytes(bytes(2400))
    (tmp_path / "weights.bin").chmod(0o640)
    write(tmp_path / "private.onnx", 0o600)
    for arguments in (
        "private.onnx",
        "m.onnx -o copy/",
        "m.onnx -o moved/ --external-data move",
        "m.onnx -o whole/ --external-data inline",
        "m.onnx -o whole.onnxtxt --external-data inline",
    ):
        own(attack("convert", *arguments.split(), "--to", "13", cwd=tmp_path), 0)
    with (tmp_path / "private.onnx").open("rb") as stdin:
        own(attack("convert", "-", "--to", "13", "-o", "piped.onnx", stdin=stdin, cwd=tmp_path))
    public = '<ir_version: 8, opset_import: ["": 11]> p (float[2, 3] x) => (float[2, 3] y) { y = Relu (x) }'
    (tmp_path / "public.onnxtxt").write_text(public)
    (tmp_path / "public.onnxtxt").chmod(0o644)
    for output in "joined.onnx", "joined.onnxtxt":
        pair = "public.onnxtxt", "private.onnx", "--connect", "y=x"
        own(attack("merge", *pair, "-o", output, cwd=tmp_path), 0)
    assert {name: oct(mode(tmp_path / name)) for name in listing(tmp_path)} == {
        "m.onnx": "0o644", "weights.bin": "0o640", "private.onnx": "0o600", "private-opset13.onnx": "0o600",
        "copy/m-opset13.onnx": "0o644", "copy/weights.bin": "0o640", "moved/m-opset13.onnx": "0o644",
        "moved/m-opset13.onnx.data": "0o640", "whole/m-opset13.onnx": "0o640", "whole.onnxtxt": "0o640",
        "piped.onnx": "0o600", "public.onnxtxt": "0o644", "joined.onnx": "0o600", "joined.onnxtxt": "0o600",
    }  # fmt: skip


def test_what_is_replaced_hands_down_its_attributes(tmp_path):
    path = write(tmp_path / "m.onnx", 0o640)
    entries = [(1, 6, -1), (2, 4, 12345), (4, 0, -1), (16, 4, -1), (32, 0, -1)]  # one more user may read it
    access = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(path, "user.origin", b"a hub")
        os.setxattr(path, "system.posix_acl_access", access)
        if os.geteuid() == 0:
            os.chown(path, 12345, 12346)
    except (AttributeError, OSError):
        pytest.skip("this system has no extended attributes here")
    before = path.stat()
    own(attack("convert", "m.onnx", "--to", "21", "--in-place", cwd=tmp_path), 0)
    assert version(path) == 21
    assert (os.getxattr(path, "user.origin"), os.getxattr(path, "system.posix_acl_access")) == (b"a hub", access)
    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    own(attack("convert", "m.onnx", "--to", "20", cwd=tmp_path), 0)  # its group may read nothing, whatever its bits say
    assert mode(tmp_path / "m-opset20.onnx") == 0o600


def test_data_with_a_second_name_is_refused_unless_its_folder_is_allowed(tmp_path):
    path = with_data(tmp_path / "model")
    (tmp_path / "secret").write_bytes(bytes(2400))
    os.link(tmp_path / "secret", path.with_name("weights.bin"))
    asked = ["convert", path, "--to", "13", "-o", tmp_path / "out.onnx", "--external-data", "inline"]
    assert "M209" in own(attack(*asked), 3).text
    assert "M209" in own(attack("run", path, "--random"), 3).text
    assert listing(tmp_path) == ["model/m.onnx", "model/weights.bin", "secret"]
    own(attack(*asked, "--allow-external-root", tmp_path / "model"), 0)


# What a folder may hold


def test_what_is_no_file_in_a_folder_is_reported_and_not_waited_for(tmp_path, monkeypatch):
    folder = tmp_path / "models"
    write(folder / "good.onnx")
    os.mkfifo(folder / "pipe.onnx")
    os.mkfifo(folder / "good-opset21.onnx")  # where the result goes
    (folder / "dangling.onnx").symlink_to("nowhere")
    (folder / "loop.onnx").symlink_to("loop.onnx")
    (folder / "zero.onnx").symlink_to("/dev/zero")
    (folder / "round").symlink_to(".")
    (folder / "and-round").symlink_to(".")
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.onnx")
    for verb, more in (("convert", ["--to", "21"]), ("infer", [])):
        for what in ("models", "models/*.onnx", "models/**/*.onnx"):
            outcome = own(attack(verb, what, *more, "-j", "2", cwd=tmp_path), 3)
            assert outcome.text.count("error[M101]") == 5, outcome.text
    assert stat.S_ISFIFO((folder / "good-opset21.onnx").lstat().st_mode)
    own(attack("convert", "models", "--to", "21", "-o", "out", cwd=tmp_path), 3)
    assert version(tmp_path / "out" / "good-opset21.onnx") == 21


def test_a_deep_and_a_wide_folder(tmp_path):
    deep = str(tmp_path)
    for _ in range(1500):
        deep += "/d"
        os.mkdir(deep)
    write(Path(deep, "m.onnx"))
    try:
        for what in (".", "**/*.onnx"):
            assert "2 values" in own(attack("infer", what, cwd=tmp_path), 0).text
    finally:
        subprocess.run(["rm", "-rf", tmp_path / "d"], check=True)
    for number in range(5_000):
        (tmp_path / f"{number}.txt").touch()
    write(tmp_path / "m.onnx")
    own(attack("infer", ".", cwd=tmp_path), 0)


def test_a_folder_without_bound_is_refused(tmp_path, monkeypatch):
    from opset.cli import inputs

    monkeypatch.setattr(inputs, "MOST_ENTRIES", 10)
    for number in range(6):
        write(tmp_path / "a" / f"{number}.onnx")
        write(tmp_path / "b" / f"{number}.onnx")
    assert len(inputs.expand_inputs([str(tmp_path / "a")], products=True)) == 6
    for arguments in ([tmp_path], [tmp_path / "a", tmp_path / "b"], [tmp_path / "**" / "*"]):
        with pytest.raises(opset.errors.UsageError) as caught:
            inputs.expand_inputs([*map(str, arguments)], products=True)
        assert caught.value.code == "U103"


# Races


EXCHANGE = """
import os, sys
a, b, c = sys.argv[1:]
print("ready", flush=True)
while True:  # what is at a becomes a link, and a folder again
    try:
        os.rename(a, b); os.rename(c, a); os.rename(a, c); os.rename(b, a)
    except OSError:
        pass
"""


@pytest.fixture
def exchanging():
    """Start a process that exchanges a folder for a link as fast as it can, until the test ends."""
    started = []

    def start(folder: Path, link: Path) -> None:
        arguments = [sys.executable, "-c", EXCHANGE, str(folder), f"{folder}-away", str(link)]
        started.append(subprocess.Popen(arguments, stdout=subprocess.PIPE))
        started[-1].stdout.readline()

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_folder_that_is_exchanged_for_a_link_leads_nowhere(tmp_path, exchanging):
    """The folder of data below the output, while data is copied; then a folder below -o, while models are written."""
    path = with_data(tmp_path / "in", "sub/weights.bin")
    (tmp_path / "in" / "sub").mkdir()
    (tmp_path / "in" / "sub" / "weights.bin").write_bytes(bytes(2400))
    outside = tmp_path / "outside"
    outside.mkdir()
    out = tmp_path / "out"
    (out / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to(outside)
    exchanging(out / "sub", tmp_path / "link")
    model = opset.load(path)
    codes = set()
    for _ in range(300):
        try:
            model.save(out / "m.onnx", force=True)
            codes.add("")
        except opset.OpsetError as error:
            codes.add(error.code)
        for each in ("sub", "sub-away"):
            if (out / each).is_dir() and not (out / each).is_symlink():
                (out / each / "weights.bin").unlink(missing_ok=True)
        assert os.listdir(outside) == []
    assert codes <= {"", "M105", "U102", "U103", "U104"} and "" in codes


def test_a_folder_that_is_exchanged_after_the_look_at_it_leads_nowhere(tmp_path, monkeypatch):
    """The same at the worst moment: when the name of the temporary file is drawn."""
    path = with_data(tmp_path / "in", "sub/weights.bin")
    for name in ("in", "out"):
        (tmp_path / name / "sub").mkdir(parents=True)
    (tmp_path / "in" / "sub" / "weights.bin").write_bytes(bytes(2400))
    outside = tmp_path / "outside"
    outside.mkdir()
    model = opset.load(path)
    urandom = os.urandom

    def exchange(count):
        if not (tmp_path / "out" / "away").exists():
            (tmp_path / "out" / "sub").rename(tmp_path / "out" / "away")
            (tmp_path / "out" / "sub").symlink_to(outside)
        return urandom(count)

    monkeypatch.setattr(os, "urandom", exchange)
    model.save(tmp_path / "out" / "m.onnx")
    assert os.listdir(outside) == [] and os.listdir(tmp_path / "out" / "away") == ["weights.bin"]


def test_a_folder_of_models_that_is_exchanged_for_a_link_replaces_nothing_elsewhere(tmp_path, exchanging):
    write(tmp_path / "models" / "sub" / "m.onnx")
    victim = write(tmp_path / "outside" / "m.onnx")
    inode = victim.stat().st_ino
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    exchanging(tmp_path / "models" / "sub", tmp_path / "link")
    from opset.cli.inputs import expand_inputs
    from opset.model.storage.writing import save_in_place

    done = 0
    for _ in range(60):
        for each in expand_inputs([str(tmp_path / "models")], products=True):
            try:
                model = opset.load(each.path)
                model.proto.producer_name = f"{done}"
                save_in_place(model, each.root, os.path.join(each.below, "m.onnx"))
                done += 1
            except opset.OpsetError as error:
                assert error.code in ("M101", "M105", "U104")
        assert victim.stat().st_ino == inode
    assert done


def test_a_link_that_is_exchanged_while_data_is_read(tmp_path, exchanging):
    path = with_data(tmp_path, "weights.bin")
    (tmp_path / "weights.bin").write_bytes(bytes(2400))
    (tmp_path / "other.bin").write_bytes(bytes(2400))
    (tmp_path / "link").symlink_to("other.bin")
    exchanging(tmp_path / "weights.bin", tmp_path / "link")
    model = opset.load(path)
    codes = set()
    for _ in range(3000):
        try:
            model.payload(model.proto.graph.initializer[0])
        except opset.OpsetError as error:
            codes.add(error.code)
    assert codes <= {"M105", "M201", "M202"}


# Kills


SLOW = """
import os, sys, time
import opset
model = opset.load(sys.argv[1])
def flush(descriptor):
    print("written", flush=True)
    time.sleep(60)
os.fsync = flush
model.save(sys.argv[2], force=True)
"""


def start_saving(source: Path, target: Path) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-c", SLOW, str(source), str(target)]
    process = subprocess.Popen(arguments, env=ENVIRONMENT, stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


def test_what_a_killed_process_left_is_removed_by_the_next_save_and_nothing_else(tmp_path):
    path = write(tmp_path / "m.onnx")
    killed = start_saving(path, tmp_path / "out.onnx")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    left = [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]
    assert len(left) == 1
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / ".opset-0123456789abcdef.tmp").symlink_to("precious")
    (tmp_path / ".opset-0123456789abcdea.tmp").mkdir()
    for name in (".opset-0123456789ABCDEF.tmp", ".opset-0123.tmp", "x.opset-0123456789abcdef.tmp"):
        (tmp_path / name).touch()
    if os.geteuid() == 0:
        (tmp_path / ".opset-0123456789abcdeb.tmp").touch()
        os.chown(tmp_path / ".opset-0123456789abcdeb.tmp", 12345, 12345)
    before = {*os.listdir(tmp_path)}
    own(attack("convert", "m.onnx", "--to", "21", cwd=tmp_path), 0)
    assert {*os.listdir(tmp_path)} == before - {*left} | {"m-opset21.onnx"}
    assert (tmp_path / "precious").read_bytes() == b"precious"


def test_what_another_process_is_writing_is_left_alone(tmp_path):
    path = write(tmp_path / "m.onnx")
    busy = start_saving(path, tmp_path / "out.onnx")
    try:
        own(attack("convert", "m.onnx", "--to", "21", cwd=tmp_path), 0)
        assert len([name for name in os.listdir(tmp_path) if name.endswith(".tmp")]) == 1
    finally:
        busy.kill()
        busy.wait()
        busy.stdout.close()


def test_data_named_like_a_temporary_file_is_not_lost(tmp_path):
    name = ".opset-0123456789abcdef.tmp"
    path = with_data(tmp_path, name)
    (tmp_path / name).write_bytes(bytes(2400))
    own(attack("convert", path, "--to", "13"), 0)
    assert (tmp_path / name).exists()
    assert "U103" in own(attack("convert", path, "--to", "13", "-o", f"{tmp_path}/out/"), 2).text


def test_holes_are_not_written(tmp_path):
    path = with_data(tmp_path)
    with (tmp_path / "weights.bin").open("wb") as file:
        file.write(bytes(range(240)) * 10)
        file.truncate(1 << 40)
    for _ in range(2):  # the second time the data is there already
        own(attack("convert", path, "--to", "13", "-o", f"{tmp_path}/out/", "--force"), 0)
    copied = tmp_path / "out" / "weights.bin"
    assert copied.stat().st_size == 1 << 40 and copied.stat().st_blocks < 100
    with copied.open("rb") as file:
        assert file.read(2400) == bytes(range(240)) * 10
