"""A model is written whole or not at all, and never over anything that was not to be replaced."""

import errno
import fcntl
import io
import os
import random
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from types import SimpleNamespace

import onnx
import pytest

from opset.errors import ModelError, UsageError
from opset.model import load, write_stream
from opset.model.storage import atomic as files
from opset.model.storage import copying, reading, wire
from opset.model.storage.source import Access, FileSource
from opset.model.storage.writing import save_below, save_in_place, write_below
from opset.model.text.syntax import parse_model


def delimited(number, content):
    return wire.header(number, len(content)) + content


def encoded(size=5000, name=b"w"):
    weight = b"\x08" + wire.varint(size) + b"\x10\x02" + delimited(8, name) + delimited(9, os.urandom(size))
    return b"\x08\x0a" + delimited(7, delimited(5, weight) + delimited(2, b"g"))


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A model in a file that stays on disk."""
    monkeypatch.setattr(reading, "IN_MEMORY", 0)
    (tmp_path / "in.onnx").write_bytes(encoded())
    return load(tmp_path / "in.onnx")


def touched(data):
    message = onnx.ModelProto.FromString(data)
    message.producer_name = "touched"
    return message.SerializeToString()


def code_of(save, *arguments, kind=UsageError, **options):
    with pytest.raises(kind) as caught:
        save(*arguments, **options)
    return caught.value.code


def test_an_existing_file_is_replaced_only_when_asked(model, tmp_path):
    out = tmp_path / "out.onnx"
    out.write_bytes(b"precious")
    assert code_of(model.save, out) == "U102"
    assert out.read_bytes() == b"precious"
    model.save(out, force=True)
    assert out.read_bytes() == (tmp_path / "in.onnx").read_bytes()
    dangling = tmp_path / "dangling.onnx"
    dangling.symlink_to("nowhere")
    assert code_of(model.save, dangling) == "U102"
    assert sorted(os.listdir(tmp_path)) == ["dangling.onnx", "in.onnx", "out.onnx"]


def test_a_file_that_appears_meanwhile_is_not_replaced(model, tmp_path, monkeypatch):
    fsync = os.fsync

    def appear(descriptor):  # after the look whether something is there, before the rename
        (tmp_path / "out.onnx").write_bytes(b"precious")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", appear)
    monkeypatch.delattr(os, "replace")  # which would not notice
    assert code_of(model.save, tmp_path / "out.onnx") == "U102"
    assert (tmp_path / "out.onnx").read_bytes() == b"precious"
    assert sorted(os.listdir(tmp_path)) == ["in.onnx", "out.onnx"]
    monkeypatch.setattr(os, "fsync", fsync)
    model.save(tmp_path / "other.onnx")
    assert (tmp_path / "other.onnx").read_bytes() == (tmp_path / "in.onnx").read_bytes()


def test_the_input_may_be_replaced_by_its_own_conversion(model, tmp_path):
    path = tmp_path / "in.onnx"
    before = path.read_bytes()
    assert code_of(model.save, path) == "U102"
    model.proto.producer_name = "touched"
    model.save(path, force=True)
    assert path.read_bytes() == touched(before)
    model.save(path, force=True)  # the source is still the file that was opened
    assert path.read_bytes() == touched(before)


def test_a_link_at_the_output_is_replaced_and_not_followed(model, tmp_path):
    (tmp_path / "blob").write_bytes(b"shared")
    (tmp_path / "out.onnx").symlink_to("blob")
    os.link(tmp_path / "blob", tmp_path / "hard.onnx")
    for name in ("out.onnx", "hard.onnx"):
        model.save(tmp_path / name, force=True)
        assert not (tmp_path / name).is_symlink()
        assert (tmp_path / name).read_bytes() == (tmp_path / "in.onnx").read_bytes()
    assert (tmp_path / "blob").read_bytes() == b"shared"


def test_outputs_that_cannot_be_written(model, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for path in (
        tmp_path,
        tmp_path / "none" / "out.onnx",
        tmp_path / "file" / "out.onnx",
        tmp_path / ("x" * 300),
        f"{tmp_path}/new/",
        "",
        "a\0b",
        "/proc/out.onnx",
        "/dev/full",
    ):
        for force in (False, True):
            assert code_of(model.save, path, force=force) == "U104"
    assert sorted(os.listdir(tmp_path)) == ["file", "in.onnx"]
    with pytest.raises(UsageError) as caught:
        model.save(tmp_path / ("x" * 300))
    assert caught.value.why == os.strerror(errno.ENAMETOOLONG)


def test_access_rights(model, tmp_path):
    old = os.umask(0o027)
    try:
        model.save(tmp_path / "new.onnx")
    finally:
        os.umask(old)
    (tmp_path / "kept.onnx").write_bytes(b"")
    os.chmod(tmp_path / "kept.onnx", 0o604)
    model.save(tmp_path / "kept.onnx", force=True)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("new.onnx", "kept.onnx")] == [0o640, 0o604]


@pytest.mark.parametrize("target", ["nowhere", "in.onnx"])
def test_a_file_in_place_of_a_link_has_the_rights_of_a_new_file(model, tmp_path, target):
    (tmp_path / "link.onnx").symlink_to(target)
    os.chmod(tmp_path / "in.onnx", 0o604)
    for name in ("new.onnx", "link.onnx"):
        model.save(tmp_path / name, force=True)
    modes = [stat.S_IMODE((tmp_path / name).lstat().st_mode) for name in ("new.onnx", "link.onnx")]
    assert modes[0] == modes[1] != 0o777 and not (tmp_path / "link.onnx").is_symlink()


def test_an_error_without_a_number_is_told_by_its_message(model, tmp_path, monkeypatch):
    def fail(descriptor):
        raise OSError("the volume is gone")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UsageError) as caught:
        model.save(tmp_path / "out.onnx")
    (finding,) = caught.value.findings
    assert (finding.code, finding.why) == ("U104", "the volume is gone")


def across_devices(*_, **__):
    raise OSError(18, "Invalid cross-device link")


def is_saved_twice(model, folder):
    data = (folder / "in.onnx").read_bytes()
    model.save(folder / "same.onnx")
    model.proto.producer_name = "touched"  # what follows is shifted by some bytes
    model.save(folder / "touched.onnx")
    assert (folder / "same.onnx").read_bytes() == data
    assert (folder / "touched.onnx").read_bytes() == touched(data)
    assert sorted(os.listdir(folder)) == ["in.onnx", "same.onnx", "touched.onnx"]


@pytest.mark.parametrize("way", [None, across_devices, lambda *_: 0, lambda o, t, n, a: os.write(t, os.pread(o, 7, a))])
def test_every_way_to_copy(model, tmp_path, monkeypatch, way):
    monkeypatch.setattr(os, "copy_file_range", way) if way else monkeypatch.delattr(os, "copy_file_range")
    is_saved_twice(model, tmp_path)


def test_systems_that_lack_something(model, tmp_path, monkeypatch):
    monkeypatch.delattr(os, "pread")
    monkeypatch.delattr(os, "preadv")
    monkeypatch.setattr(os, "supports_dir_fd", set())
    monkeypatch.setattr(os, "link", across_devices)
    is_saved_twice(model, tmp_path)
    assert code_of(model.save, tmp_path / "same.onnx") == "U102"
    (tmp_path / "weights").write_bytes(b"1234")
    external = onnx.TensorProto(name="w", data_type=2, dims=[4], data_location=1)
    external.external_data.add(key="location", value="weights")
    (tmp_path / "m.onnx").write_bytes(b"\x08\x0a" + delimited(7, delimited(5, external.SerializeToString())))
    loaded = load(tmp_path / "m.onnx")
    assert loaded.payload(loaded.proto.graph.initializer[0]) == b"1234"


@pytest.mark.parametrize("failing", ["fsync", "replace", "open", "copy_file_range"])
def test_nothing_is_left_behind_by_a_failure(model, tmp_path, monkeypatch, failing):
    (tmp_path / "out.onnx").write_bytes(b"precious")

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, failing, fail)
        assert code_of(model.save, tmp_path / "out.onnx", force=True) == "U104"
    assert (tmp_path / "out.onnx").read_bytes() == b"precious"
    assert sorted(os.listdir(tmp_path)) == ["in.onnx", "out.onnx"]


FULL_DISK = """
import resource, sys
from opset.errors import UsageError
from opset.model import load
model = load(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))  # files grow to this size and no further
try:
    model.save(sys.argv[2], force=True)
except UsageError as error:
    sys.exit(f"{error.code} {error.why}")
"""


@pytest.mark.parametrize(
    ("mode", "same_group", "granted"),
    [(0o660, True, 0o660), (0o660, False, 0o600), (0o664, False, 0o664), (0o640, True, 0o640), (0o400, True, 0o600)],
)
def test_a_new_file_grants_what_its_sources_grant(mode, same_group, granted, tmp_path):
    folder = files.OpenFolder(str(tmp_path))
    group = files._group_in(folder)
    source = SimpleNamespace(access=Access(mode, group if same_group else group + 1))
    assert files._mode_of_new_file(folder, [SimpleNamespace(access=None), source]) == granted
    assert files._mode_of_new_file(folder, [source, SimpleNamespace(access=Access(0o606, group))]) == granted & 0o606
    folder.close()


@pytest.mark.parametrize(
    ("mode", "platform", "own"),
    [(0o755, "linux", True), (0o2755, "linux", False), (0o755, "darwin", False)],
)
def test_a_new_file_gets_the_group_that_the_system_gives_it(mode, platform, own, tmp_path, monkeypatch):
    folder = files.OpenFolder(str(tmp_path))
    group = os.getegid() + 7
    status = SimpleNamespace(st_mode=mode, st_gid=group)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", lambda descriptor: status)
        patch.setattr(sys, "platform", platform)
        assert files._group_in(folder) == (os.getegid() if own else group)
    folder.close()


def test_a_file_that_cannot_grow_leaves_the_old_one(tmp_path):
    (tmp_path / "in.onnx").write_bytes(encoded(3_000_000))
    (tmp_path / "out.onnx").write_bytes(b"precious")
    arguments = [sys.executable, "-c", FULL_DISK, tmp_path / "in.onnx", tmp_path / "out.onnx"]
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (1, "U104 File too large\n")
    assert (tmp_path / "out.onnx").read_bytes() == b"precious"
    assert sorted(os.listdir(tmp_path)) == ["in.onnx", "out.onnx"]


@pytest.mark.parametrize("during", ["copy_file_range", "fsync", "link"])
def test_an_interrupt_leaves_nothing_behind(model, tmp_path, monkeypatch, during):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, during, interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.save(tmp_path / "out.onnx")
    assert os.listdir(tmp_path) == ["in.onnx"]


SAVE = """
import sys
from opset.model import load
model = load(sys.argv[1])
print("loaded", flush=True)
model.proto.producer_name = "touched"
while True:
    model.save(sys.argv[2], force=True)
    model.save(sys.argv[2] + ".moved", force=True, external="inline")
"""


def test_a_kill_leaves_the_old_file_or_the_new_one(tmp_path):
    data = encoded(3_000_000)
    (tmp_path / "in.onnx").write_bytes(data)
    out = tmp_path / "out.onnx"
    rng = random.Random(1)
    allowed = {b"old", touched(data)}
    for _ in range(8):
        out.write_bytes(b"old")
        child = subprocess.Popen(
            [sys.executable, "-c", SAVE, str(tmp_path / "in.onnx"), str(out)], stdout=subprocess.PIPE
        )
        child.stdout.readline()
        time.sleep(rng.random() * 0.05)
        child.send_signal(signal.SIGKILL)
        child.wait(timeout=60)
        child.stdout.close()
        assert out.read_bytes() in allowed


def test_pipes_and_devices_are_written_to(model, tmp_path):
    data = (tmp_path / "in.onnx").read_bytes()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    thread = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    thread.start()
    model.save(pipe)
    thread.join(timeout=300)
    assert read == [data]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    model.save("/dev/null")
    lines = f"from opset.model import load; load({str(tmp_path / 'in.onnx')!r}).save('/dev/stdout')"
    assert subprocess.run([sys.executable, "-c", lines], capture_output=True, check=True, timeout=60).stdout == data
    with (tmp_path / "redirected").open("wb") as file:
        file.write(b"before ")
        file.flush()
        subprocess.run([sys.executable, "-c", lines], stdout=file, check=True, timeout=60)
    assert (tmp_path / "redirected").read_bytes() == b"before " + data


@pytest.mark.parametrize("folder", ["/dev/fd", "/proc/self/fd", "/dev/../dev/fd"])
def test_a_descriptor_is_written_to(model, tmp_path, folder):
    with (tmp_path / "out").open("wb") as file:
        file.write(b"before ")
        file.flush()
        model.save(f"{folder}/{file.fileno()}")
        file.write(b" after")
    assert (tmp_path / "out").read_bytes() == b"before " + (tmp_path / "in.onnx").read_bytes() + b" after"


def test_the_stream_of_errors_is_written_to(model, tmp_path, capfdbinary):
    model.save("/dev/stderr")
    assert tuple(capfdbinary.readouterr()) == (b"", (tmp_path / "in.onnx").read_bytes())


class Narrow(io.RawIOBase):
    """A stream that takes a few bytes at a time."""

    def __init__(self):
        self.taken = bytearray()

    def writable(self):
        return True

    def write(self, data):
        part = bytes(data[:777])
        self.taken += part
        return len(part)


def test_streams(model, tmp_path):
    data = (tmp_path / "in.onnx").read_bytes()
    whole, narrow = io.BytesIO(), Narrow()
    write_stream(model, whole)
    write_stream(model, narrow)
    assert whole.getvalue() == bytes(narrow.taken) == data
    assert code_of(write_stream, model, io.StringIO()) == "U103"
    assert code_of(write_stream, model, io.BytesIO(), external="move") == "U103"
    assert code_of(model.save, tmp_path / "out.onnx", external="elsewhere") == "U103"
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb", buffering=0) as closed, pytest.raises(BrokenPipeError):
        write_stream(model, closed)


def test_a_model_that_became_too_large(tmp_path):
    path = tmp_path / "big.onnx"
    size = 3 << 30
    tensor = b"\x08" + wire.varint(size) + b"\x10\x02"
    with path.open("wb") as file:  # a sparse file
        rest = len(tensor) + len(wire.header(9, size)) + size
        head = wire.header(5, rest)
        file.write(b"\x08\x0a" + wire.header(7, len(head) + rest) + head + tensor + wire.header(9, size))
        file.truncate(file.tell() + size)
    model = load(path)
    assert code_of(model.SerializeToString, kind=ModelError) == "M111"
    model.proto.producer_name = "touched"
    assert code_of(model.save, tmp_path / "out.onnx", kind=ModelError) == "M111"
    assert os.listdir(tmp_path) == ["big.onnx"]


def test_a_model_that_is_reached_by_a_link_is_replaced_where_it_is(model, tmp_path):
    (tmp_path / "here" / "below").mkdir(parents=True)
    (tmp_path / "else").mkdir()
    for name, target in (("in", "below/m.onnx"), ("out", "../else/m.onnx")):
        (tmp_path / "here" / name).symlink_to(target)
    model.proto.producer_name = "new"
    here = tmp_path / "here"
    for mode in ("copy", "link", "move"):
        assert code_of(save_in_place, model, here, "in", external=mode) == "U103"
    assert code_of(save_in_place, model, here, "out") == "U104"
    assert not [*here.rglob("*.onnx"), *(tmp_path / "else").iterdir()]
    save_in_place(model, here, "in")
    save_in_place(model, here, "out", [tmp_path / "else"])
    for path in (here / "below" / "m.onnx", tmp_path / "else" / "m.onnx"):
        assert onnx.load(path).producer_name == "new"
    (here / "m.onnx").write_bytes(b"old")
    (here / "m.onnx.data").write_bytes(b"precious")
    assert code_of(save_in_place, model, here, "m.onnx", external="move") == "U102"
    assert (here / "m.onnx.data").read_bytes() == b"precious"
    save_in_place(model, here, "m.onnx", external="move", force=True)
    assert (here / "m.onnx.data").read_bytes() != b"precious"


def test_a_file_that_comes_while_another_is_written_stays(model, tmp_path, monkeypatch):
    write = copying.write_pieces

    def raced(*arguments):
        write(*arguments)
        (tmp_path / "out.onnx").write_bytes(b"precious")

    monkeypatch.setattr(files, "write_pieces", raced)
    assert code_of(model.save, tmp_path / "out.onnx") == "U102"
    assert (tmp_path / "out.onnx").read_bytes() == b"precious"
    assert sorted(os.listdir(tmp_path)) == ["in.onnx", "out.onnx"]


def test_a_file_that_ends_while_it_is_copied(tmp_path):
    (tmp_path / "short").write_bytes(b"abc")
    with (
        (tmp_path / "short").open("rb") as origin,
        (tmp_path / "copy").open("wb") as target,
        pytest.raises(ModelError) as caught,
    ):
        copying._copy_range(origin.fileno(), 0, 4, target.fileno(), "short", 0)
    assert (caught.value.code, caught.value.file) == ("M105", "short")
    assert (tmp_path / "copy").read_bytes() == b"abc"


def test_data_is_copied_in_parts(tmp_path, monkeypatch):
    (tmp_path / "data").write_bytes(bytes(range(25)))
    monkeypatch.delattr(os, "copy_file_range", raising=False)
    monkeypatch.setattr(copying, "COPIED_AT_ONCE", 10)
    read, sizes = copying.read_into, []

    def counted(origin, offset, part, name):
        sizes.append(len(part))
        return read(origin, offset, part, name)

    monkeypatch.setattr(copying, "read_into", counted)
    with (tmp_path / "data").open("rb") as origin, (tmp_path / "copy").open("wb") as target:
        copying._copy_range(origin.fileno(), 2, 22, target.fileno(), "data", 0)
    assert (tmp_path / "copy").read_bytes() == bytes(range(2, 24))
    assert sizes == [10, 10, 2]


def test_what_is_copied_is_flushed_to_the_disk_by_and_by(tmp_path, monkeypatch):
    (tmp_path / "data").write_bytes(bytes(range(25)))
    monkeypatch.delattr(os, "copy_file_range", raising=False)
    monkeypatch.setattr(copying, "COPIED_AT_ONCE", 5)
    monkeypatch.setattr(copying, "FLUSHED_AT_ONCE", 8)
    flushed = []
    with (tmp_path / "data").open("rb") as origin, (tmp_path / "copy").open("wb") as target:

        def advised(descriptor, offset, length, advice):
            flushed.append((descriptor == target.fileno(), offset, length, advice == os.POSIX_FADV_DONTNEED))

        monkeypatch.setattr(os, "posix_fadvise", advised)
        assert copying._copy_range(origin.fileno(), 2, 22, target.fileno(), "data", 0) == 20
        assert flushed == [(True, 0, 10, True), (True, 10, 10, True)]
        monkeypatch.delattr(os, "posix_fadvise")
        assert copying._copy_range(origin.fileno(), 2, 22, target.fileno(), "data", 20) == 20
    assert (tmp_path / "copy").read_bytes() == bytes(range(2, 24)) * 2


@pytest.mark.parametrize("durable", [True, False])
def test_files_that_can_be_made_again_do_not_wait_for_the_disk(tmp_path, monkeypatch, durable):
    waited = []
    monkeypatch.setattr(os, "fsync", waited.append)
    write_below(tmp_path, {"a": b"1", os.path.join("b", "c"): b"2"}, durable=durable)
    assert [(tmp_path / name).read_bytes() for name in ("a", "b/c")] == [b"1", b"2"]
    assert bool(waited) is durable


def test_a_folder_that_another_process_makes_meanwhile_is_used(tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    with files.Files(force=False) as together:
        above = together.folder(str(tmp_path))
        status, asked = files.OpenFolder.status, []

        def late_status(folder, name):
            asked.append(name)
            return None if len(asked) == 1 else status(folder, name)  # at first, as it was a moment before

        with monkeypatch.context() as patched:
            patched.setattr(files.OpenFolder, "status", late_status)
            folder = together.inside(above, ["out"])
        together.write(files.OutputPlace(folder, "a"), [b"1"])
        together.commit()
    assert (tmp_path / "out" / "a").read_bytes() == b"1"


def test_what_a_killed_process_left_is_removed_unless_somebody_writes(tmp_path):
    model = load(parse_model('<ir_version: 8, opset_import: ["": 17]> g (float x) => (float y) { y = Neg (x) }'))
    for folder in ("free", "busy"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / ".opset-0123456789abcdef.tmp").write_bytes(b"left")
        (tmp_path / folder / ".opset-0123456789abcdee.tmp").mkdir()
        (tmp_path / folder / ".opset-other.tmp").write_bytes(b"somebody's")
    descriptor = os.open(tmp_path / "busy", os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)  # as a process that writes does
        for folder in ("free", "busy"):
            model.save(tmp_path / folder / "m.onnx")
    finally:
        os.close(descriptor)
    stay = [".opset-0123456789abcdee.tmp", ".opset-other.tmp", "m.onnx"]
    assert sorted(os.listdir(tmp_path / "free")) == stay
    assert sorted(os.listdir(tmp_path / "busy")) == sorted([".opset-0123456789abcdef.tmp", *stay])


@pytest.mark.parametrize("whose", ["nobody's", "another's"])
def test_what_another_process_left_or_removes_is_let_be(model, tmp_path, monkeypatch, whose):
    name = ".opset-0123456789abcdef.tmp"
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / name).write_bytes(b"left")
    status, user = files.OpenFolder.status, os.geteuid() + (whose == "another's")

    def late_status(folder, entry):
        if entry == name and whose == "nobody's":
            os.unlink(tmp_path / "folder" / name)  # as another process does meanwhile
        return status(folder, entry)

    monkeypatch.setattr(files.OpenFolder, "status", late_status)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    model.save(tmp_path / "folder" / "m.onnx")
    assert sorted(os.listdir(tmp_path / "folder")) == [name] * (whose == "another's") + ["m.onnx"]


def test_a_folder_that_is_written_to_stays_the_same_if_another_gets_its_name(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "link").symlink_to("one")
    folder = files.OpenFolder(str(tmp_path / "link"))
    (tmp_path / "one").rename(tmp_path / "other")
    (tmp_path / "one").mkdir()
    os.close(folder.open("file", os.O_CREAT | os.O_WRONLY))
    folder.close()
    assert (os.listdir(tmp_path / "one"), os.listdir(tmp_path / "other")) == ([], ["file"])


def test_a_model_is_saved_below_a_folder_unless_something_is_there(model, tmp_path):
    save_below(model, str(tmp_path), os.path.join("a", "m.onnx"))
    (tmp_path / "a" / "folder").mkdir()
    for name, code, why in (("m.onnx", "U102", ""), ("folder", "U104", "it is a folder")):
        with pytest.raises(UsageError) as caught:
            save_below(model, str(tmp_path), os.path.join("a", name))
        assert (caught.value.code, caught.value.why) == (code, why)
    save_below(model, str(tmp_path), os.path.join("a", "m.onnx"), force=True)
    assert sorted(os.listdir(tmp_path / "a")) == ["folder", "m.onnx"]


def test_a_folder_that_is_written_to_is_locked_for_all(tmp_path):
    """Others may write as well, and nobody removes files."""
    folder = files.OpenFolder(str(tmp_path))
    folder.lock(())
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        with pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)


def test_a_file_with_holes_is_written_with_them(tmp_path):
    source, target = tmp_path / "sparse", tmp_path / "copy"
    with open(source, "wb") as file:
        file.write(b"x" * 4096)
        file.seek(1 << 20)
        file.write(b"y" * 4096)
        file.truncate(1 << 22)
    with open(source, "rb") as file:
        ranges = [*copying.data_ranges(file.fileno(), 0, 1 << 22)]
        inside = [*copying.data_ranges(file.fileno(), 4096, 1 << 19)]
    if sum(end - start for start, end in ranges) == 1 << 22:
        pytest.skip("the file system keeps no holes")
    assert (ranges, inside) == ([(0, 4096), (1 << 20, (1 << 20) + 4096)], [])
    given = FileSource(os.open(source, os.O_RDONLY), "sparse")
    with open(target, "w+b") as made:
        copying.write_pieces(made.fileno(), [wire.Segment(given, 0, given.size)])
        assert [*copying.data_ranges(made.fileno(), 0, 1 << 22)] == ranges
    assert target.read_bytes() == source.read_bytes()
    with open(target, "w+b") as made:
        copying.write_pieces(made.fileno(), [b"begin", wire.Segment(given, 100, given.size), b"end"])
    assert target.read_bytes() == b"begin" + source.read_bytes()[100:] + b"end"


def test_extended_attributes_and_the_owner_stay_with_a_file_that_is_replaced(model, tmp_path):
    out = tmp_path / "out.onnx"
    out.write_bytes(b"old")
    try:
        os.setxattr(out, "user.note", b"kept")
        os.setxattr(out, "user.other", b"too")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    owners = (4321, 1234) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    os.chown(out, *owners)
    out.chmod(0o640)
    model.save(out, force=True)
    status = out.stat()
    assert out.read_bytes() == model.SerializeToString() and stat.S_IMODE(status.st_mode) == 0o640
    assert (status.st_uid, status.st_gid) == owners
    assert {name: os.getxattr(out, name) for name in os.listxattr(out)} == {"user.note": b"kept", "user.other": b"too"}


def test_without_hard_links_a_file_that_appears_is_not_replaced_either(model, tmp_path, monkeypatch):
    out = tmp_path / "out.onnx"

    def refused(*arguments, **options):
        out.write_bytes(b"precious")
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(os, "link", refused)
    assert code_of(model.save, out) == "U102"
    assert out.read_bytes() == b"precious" and [*tmp_path.glob(".opset-*")] == []
    model.save(out, force=True)
    assert out.read_bytes() == model.SerializeToString()


AS_ANOTHER_USER = """
import os, sys
import opset
folder = sys.argv[1]
os.mkdir(f"{folder}/imported")  # all modules are, which another user may not read
opset.load(f"{folder}/read/in/m.onnx").save(f"{folder}/imported/m.onnx")
os.geteuid() or os.setuid(65534)
model = opset.load(f"{folder}/read/in/m.onnx")
assert model.payload(model.proto.graph.initializer[0]) == b"0123456789abcdef"
model.save(f"{folder}/write/m.onnx")
"""


def test_folders_that_may_be_entered_and_not_listed_are_read_and_written():
    message = onnx.ModelProto(ir_version=8, opset_import=[onnx.helper.make_opsetid("", 17)])
    tensor = message.graph.initializer.add(name="w", data_type=1, dims=[4], data_location=1)
    tensor.external_data.add(key="location", value="data/w.bin")
    message.graph.name = "g"
    with tempfile.TemporaryDirectory() as folder:  # everybody may reach it, which a folder of pytest is not
        os.chmod(folder, 0o755)
        os.makedirs(f"{folder}/read/in/data")
        os.mkdir(f"{folder}/write")
        for name, data in (("m.onnx", message.SerializeToString()), ("data/w.bin", b"0123456789abcdef")):
            with open(f"{folder}/read/in/{name}", "wb") as file:
                file.write(data)
        modes = {"read/in/data": 0o111, "read/in": 0o111, "read": 0o111, "write": 0o333}
        for name, mode in modes.items():
            os.chmod(f"{folder}/{name}", mode)
        done = subprocess.run([sys.executable, "-c", AS_ANOTHER_USER, folder], capture_output=True, text=True)
        for name in reversed(modes):
            os.chmod(f"{folder}/{name}", 0o755)
        assert done.returncode == 0, done.stderr
        with open(f"{folder}/write/m.onnx", "rb") as file:
            assert file.read() == message.SerializeToString()
        with open(f"{folder}/write/data/w.bin", "rb") as file:
            assert file.read() == b"0123456789abcdef"
