"""Models behind URLs: read in few requests, without their weights, and written under a temporary key first."""

import os
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import fsspec
import numpy as np
import onnx
import onnx.helper
import onnx.parser
import pytest

import opset
from opset.errors import ModelError, UsageError
from opset.model.storage.external import is_external, set_reference
from opset.model.storage.remote import BLOCK, RemoteFolder, RemoteSource, list_models
from tests.cli.commands import REFUSED, SMALL, run, run_json

SIZE = 250 << 20


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    return system


def put(system, path, text=SMALL):
    system.pipe_file(path, onnx.parser.parse_model(text).SerializeToString())


class RangeServer(BaseHTTPRequestHandler):
    """Serves ranges of the files in `folder`, and notes each request with the number of bytes that were sent."""

    folder = ""
    requests: list[tuple[str, int]] = []
    knows_ranges = True
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def answer(self, body):
        path = os.path.join(self.folder, os.path.basename(self.path))
        if not os.path.exists(path):
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        size = os.path.getsize(path)
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")) if self.knows_ranges else None
        start, stop = (int(asked[1]), min(int(asked[2] or size - 1), size - 1) + 1) if asked else (0, size)
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{size}")
        if self.knows_ranges:
            self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(stop - start))
        self.end_headers()
        if body:
            with open(path, "rb") as file:
                file.seek(start)
                self.wfile.write(file.read(stop - start))
        type(self).requests.append((self.command, (stop - start) if body else 0))

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path):
    RangeServer.folder, RangeServer.requests, RangeServer.knows_ranges = str(tmp_path), [], True
    started = ThreadingHTTPServer(("127.0.0.1", 0), RangeServer)
    thread = threading.Thread(target=started.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{started.server_port}", tmp_path
    started.shutdown()
    started.server_close()


def large_model(path, tensors=8, nodes=3000):
    """Write a model of 250 MB: many nodes, some large weights, between them small ones."""
    shape = [SIZE // tensors // 4]
    chain = [onnx.helper.make_node("Relu", [f"v{n}"], [f"v{n + 1}"], name=f"relu{n}") for n in range(nodes)]
    graph = onnx.helper.make_graph(
        chain,
        "main",
        [onnx.helper.make_tensor_value_info("v0", 1, [2])],
        [onnx.helper.make_tensor_value_info(f"v{nodes}", 1, [2])],
    )
    for number in range(tensors):
        graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(shape, np.float32), f"w{number}"))
        for small in range(20):
            graph.initializer.append(onnx.numpy_helper.from_array(np.ones(500, np.float32), f"s{number}_{small}"))
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)]), path)


def test_planning_reads_little_of_a_large_model(server):
    url, folder = server
    large_model(folder / "large.onnx")
    assert (folder / "large.onnx").stat().st_size >= SIZE
    RangeServer.requests = []
    (report,) = run_json("convert", f"{url}/large.onnx", "--to", 21, "--plan")["models"]
    assert report["nodes"]["total"] == 3000 and report["status"] == "planned"
    sent = sum(count for _, count in RangeServer.requests)
    assert len(RangeServer.requests) <= 20 and sent <= SIZE * 0.02
    assert all(method == "HEAD" or count for method, count in RangeServer.requests)


def test_a_model_behind_http_is_converted_as_from_a_file(server):
    url, folder = server
    (folder / "a.onnx").write_bytes(onnx.parser.parse_model(SMALL).SerializeToString())
    assert run("convert", f"{url}/a.onnx", "--to", 21, "-o", folder / "out.onnx").exit_code == 0
    assert run("convert", folder / "a.onnx", "--to", 21, "-o", folder / "same.onnx").exit_code == 0
    assert (folder / "out.onnx").read_bytes() == (folder / "same.onnx").read_bytes()
    RangeServer.knows_ranges = False
    assert opset.load(f"{url}/a.onnx").proto.graph.name == "main"
    with pytest.raises(ModelError, match="M101"):
        opset.load(f"{url}/none.onnx")
    result = run("convert", folder / "a.onnx", "--to", 21, "-o", f"{url}/new.onnx")
    assert result.exit_code == 2 and "error[U104]" in result.stderr


def test_folders_and_patterns_of_a_store(memory):
    put(memory, "/in/a/m.onnx")
    put(memory, "/in/b/m.onnx", REFUSED)
    put(memory, "/in/b/n.onnx")
    memory.pipe_file("/in/b/notes.txt", b"")
    result = run("convert", "memory://in", "--to", 21, "-o", "memory://out")
    assert result.exit_code in (0, 1) and "3 models: " in result.stdout
    assert sorted(memory.find("/out")) == [f"/out/{each}-opset21.onnx" for each in ("a/m", "b/n")]
    assert run("convert", "memory://in/*/m.onnx", "--to", 22, "-o", "memory://out").exit_code in (0, 1)
    assert "/out/a/m-opset22.onnx" in memory.find("/out")
    assert run("check", "memory://in/a/m.onnx", "-q").exit_code == 0
    beside = run("convert", "memory://in/a/m.onnx", "--to", 21)
    assert beside.exit_code == 0 and "/in/a/m-opset21.onnx" in memory.find("/in")
    assert "error[U102]" in run("convert", "memory://in/a/m.onnx", "--to", 21).stderr
    assert not [each for each in memory.find("/") if each.endswith(".tmp")]


@pytest.mark.parametrize(
    ("url", "listed"),
    [
        ("memory://in/b", ("in/b", ["in/b/c/n.onnx", "in/b/m.onnx"])),
        ("memory://in/b/", ("in/b", ["in/b/c/n.onnx", "in/b/m.onnx"])),
        ("memory://in/*/m.onnx", ("in", ["in/a/m.onnx", "in/b/m.onnx"])),
        ("memory://in/b/none/", ("in/b/none", [])),
        ("memory://in/b/notes.txt", None),
        ("memory://in/b/m.onnx", None),
        ("memory://in/none", None),
        ("HTTPS://host/folder/", None),
    ],
)
def test_what_a_url_stands_for(memory, url, listed):
    for path in ("/in/a/m.onnx", "/in/b/m.onnx", "/in/b/c/n.onnx", "/in/b/notes.txt"):
        memory.pipe_file(path, b"")
    start, found = listed or ("", [])
    expected = (f"memory:///{start}", [f"memory:///{each}" for each in found])
    assert list_models(url, (".onnx",)) == (listed and expected)


def test_a_report_goes_on_with_models_of_a_store(memory, folder):
    put(memory, "/in/a.onnx")
    put(memory, "/in/b.onnx")
    call = ("check", "memory://in", "--report", "out.jsonl")
    run(*call)
    assert "2 of them were" in run(*call).stdout
    put(memory, "/in/b.onnx", SMALL.replace("Relu", "Abs"))
    assert "1 of them was" in run(*call).stdout


def test_a_file_url_is_a_path(folder):
    (folder / "a b.onnx").write_bytes(onnx.parser.parse_model(SMALL).SerializeToString())
    call = ("convert", f"file://{folder}/a b.onnx", "--to", 21, "-o", f"file://{folder}/out.onnx")
    assert run(*call).exit_code == 0 and (folder / "out.onnx").exists()


def test_what_is_written_appears_at_once(memory, monkeypatch):
    model = opset.load(onnx.parser.parse_model(SMALL))
    seen = []
    move = type(memory).mv

    def watch(self, source, target, **more):
        seen.append((source, target, self.exists(target)))
        return move(self, source, target, **more)

    monkeypatch.setattr(type(memory), "mv", watch)
    model.save("memory://out/m.onnx")
    ((source, target, was_there),) = seen
    assert re.fullmatch(r"/out/\.opset-\w+\.tmp", source) and target == "/out/m.onnx" and not was_there
    assert opset.load("memory://out/m.onnx").proto == model.proto
    with pytest.raises(UsageError, match="the output exists already"):
        model.save("memory://out/m.onnx")
    model.save("memory://out/m.onnx", force=True)
    assert [target for _, target, _ in seen] == ["/out/m.onnx"] * 2 and memory.find("/out") == ["/out/m.onnx"]

    def fail(self, *_, **__):
        raise OSError("no such bucket")

    monkeypatch.setattr(type(memory), "mv", fail)
    with pytest.raises(UsageError, match="no such bucket"):
        model.save("memory://out/n.onnx")
    assert memory.find("/out") == ["/out/m.onnx"]


def external_model(location):
    """Return the bytes of a model whose weight is at a location beside it."""
    model = opset.load(onnx.parser.parse_model(SMALL.replace("main", "ext"))).proto
    tensor = model.graph.initializer.add(name="w", data_type=1, dims=[4])
    set_reference(tensor, location, 0, 16)
    assert is_external(tensor)
    return model.SerializeToString()


def test_external_data_goes_with_the_model(memory):
    memory.pipe_file("/in/m.onnx", external_model("data/w.bin"))
    memory.pipe_file("/in/data/w.bin", b"0123456789abcdef")
    model = opset.load("memory://in/m.onnx")
    assert model.payload(model.proto.graph.initializer[0]) == b"0123456789abcdef"
    model.save("memory://out/m.onnx")
    assert memory.cat_file("/out/data/w.bin") == b"0123456789abcdef"
    model.save("memory://in/n.onnx")
    assert "/in/data/w.bin" in memory.find("/in")
    model.save("memory://out/whole.onnx", external="inline")
    whole = opset.load("memory://out/whole.onnx")
    assert whole.proto.graph.initializer[0].raw_data == b"0123456789abcdef"
    for mode in ("move", "link"):
        with pytest.raises(UsageError, match="U103"):
            model.save("memory://out/x.onnx", external=mode)


def test_external_data_behind_a_url_is_not_linked(memory, tmp_path):
    memory.pipe_file("/in/m.onnx", external_model("w.bin"))
    memory.pipe_file("/in/w.bin", b"0123456789abcdef")
    with pytest.raises(UsageError) as caught:
        opset.load("memory://in/m.onnx").save(tmp_path / "x.onnx", external="link")
    assert (caught.value.code, caught.value.why) == ("U103", "it is behind a URL, and cannot be linked")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "location", ["../secret", "/etc/passwd", "file:///etc/passwd", "a/../../b", "x?y", "a\\b", "%2e%2e/b"]
)
def test_external_data_is_in_the_folder_of_the_model_alone(memory, location):
    memory.pipe_file("/in/m.onnx", external_model(location))
    model = opset.load("memory://in/m.onnx")
    with pytest.raises(ModelError, match="M201"):
        model.payload(model.proto.graph.initializer[0])
    assert RemoteFolder("memory://in/m.onnx").real_path("data/./w") == "memory://in/data/w"


def test_reads_that_go_on_are_one_request_each_larger(memory):
    memory.pipe_file("/in/data.bin", bytes(range(256)) * (1 << 14))
    source = RemoteSource("memory://in/data.bin")
    asked = []
    fetch = source._fetch
    source._fetch = lambda start, end: asked.append((start, end)) or fetch(start, end)
    for offset in range(0, source.size, 1 << 14):
        assert source.read(offset, 1 << 14)[:3] == b"\0\1\2"
    assert len(asked) <= 6 and asked[0] == (0, BLOCK) and asked[1][0] == BLOCK
    source.read(1 << 21, 10)
    assert asked[-1] == (1 << 21, (1 << 21) + BLOCK)
    memory.pipe_file("/in/data.bin", b"short")
    with pytest.raises(ModelError, match="M105"):
        source.read(0, 100)


def test_what_cannot_be_reached(memory, monkeypatch):
    with pytest.raises(UsageError, match="U110"):
        opset.load("nonesuch://a/b.onnx")
    assert "error[M101]" in run("check", "memory://in/none.onnx").stderr
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    result = run("check", "s3://bucket/m.onnx")
    assert result.exit_code == 2 and "pip install 'opset[remote]' s3fs" in result.stderr


def failing(error):
    """Return a method of a file system that fails."""

    def fail(*arguments, **options):
        raise error

    return fail


@pytest.mark.parametrize(
    ("method", "does", "url", "code", "why"),
    [
        ("info", lambda *_, **__: {"type": "file"}, "in/a.onnx", "M101", "does not tell its size"),
        ("info", failing(PermissionError("denied")), "in/a.onnx", "M101", "PermissionError: denied"),
        ("info", lambda *_, **__: {"type": "directory"}, "in/a.onnx", "M101", "it is a folder"),
        ("cat_file", failing(OSError("gone")), "in/a.onnx", "M101", "OSError: gone"),
        ("cat_file", lambda *_, **__: b"short", "in/a.onnx", "M105", ""),
        ("cat_file", lambda *_, **__: bytes(10_000), "in/a.onnx", "M105", ""),
        ("find", failing(PermissionError("denied")), "in/", "U110", "PermissionError: denied"),
        ("glob", failing(OSError("gone")), "in/*.onnx", "U110", "OSError: gone"),
    ],
)
def test_what_a_store_fails_at_is_said(memory, monkeypatch, method, does, url, code, why):
    put(memory, "/in/a.onnx")
    monkeypatch.setattr(type(memory), method, does)
    read = opset.load if url.endswith("a.onnx") else lambda each: list_models(each, (".onnx",))
    with pytest.raises((ModelError, UsageError)) as caught:
        read(f"memory://{url}")
    assert caught.value.code == code and why in caught.value.why


def test_a_read_past_the_end_is_a_file_that_changed(memory):
    memory.pipe_file("/in/data.bin", b"short")
    source = RemoteSource("memory://in/data.bin")
    assert source.read(3, 2) == b"rt"
    with pytest.raises(ModelError, match="M105"):
        source.read(3, 3)
