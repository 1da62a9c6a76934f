"""Runtimes that are installed: what they are, which models they load, how answers are kept, and a child that dies."""

import gc
import json
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import onnx.parser
import pytest

import opset
from opset.opsets.runtimes import installed
from opset.opsets.runtimes.installed import LoadCache, Loader, cache_folder
from opset.opsets.runtimes.names import find_runtime, installed_runtime, later_releases

pytest.importorskip("onnxruntime")
RELU = '<ir_version: 8, opset_import: ["": 17]> m (float[2] x) => (float[2] y) { y = Relu (x) }'
LACKING = RELU.replace("Relu (x)", "Nonesuch (x)")
CHILD = """
import json, os, signal, struct, sys, time
answers = os.fdopen(int(os.environ["OPSET_ANSWERS"]), "wb")
def say(**answer): answers.write(json.dumps(answer).encode() + b"\\n"); answers.flush()
{start}
while head := sys.stdin.buffer.read(4):
    model = sys.stdin.buffer.read(*struct.unpack(">I", head))
    {each}
"""


def model(text=RELU):
    return onnx.parser.parse_model(text).SerializeToString()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "opset" / "loading"


@pytest.fixture
def child(tmp_path, monkeypatch, cache):
    """A function that puts a program in the place of that which loads models."""

    def put(each="say(why='')", start="say(version='1.20.5')"):
        program = tmp_path / "child.py"
        program.write_text(CHILD.format(each=each, start=start))
        monkeypatch.setattr(installed, "PROGRAM", program)

    return put


def test_it_is_like_the_nearest_release_that_is_known(cache):
    runtime = find_runtime("installed:onnxruntime")
    version = runtime.loader.version
    nearest = find_runtime(f"onnxruntime=={version}")
    assert (runtime.opsets, runtime.max_ir, runtime.release) == (nearest.opsets, nearest.max_ir, nearest.release)
    assert runtime.name == "installed:onnxruntime" and f"onnxruntime {version} is installed" in runtime.notes[0]
    assert (runtime.title, runtime.how, runtime.lists_operators) == ("the installed onnxruntime", "measured", True)
    assert runtime.notes[1:] == ("kernels are those for which a model of the node alone loads there",)
    assert later_releases(runtime) == []
    assert find_runtime("Installed:ORT").name == runtime.name


def test_models_are_loaded_and_nothing_is_imported_here(cache):
    code = f"""import sys; from opset.opsets.runtimes.installed import Loader; loader = Loader("onnxruntime")
print([loader.load({model()!r}), loader.load({model(LACKING)!r}) != "", "onnxruntime" in sys.modules])"""
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['', True, False]\n"


def test_the_child_ends_with_its_loader(cache, child):
    child()
    loader = Loader("onnxruntime")
    number = loader._process._process.pid
    os.kill(number, 0)
    del loader
    gc.collect()
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def test_answers_are_kept(cache, child):
    child(each="say(why=str(len(model)))")
    first = Loader("onnxruntime")
    assert first.load(b"abc") == "3"
    child(each="say(why='asked again')")
    second = Loader("onnxruntime")
    assert (second.load(b"abc"), second.load(b"abcd")) == ("3", "asked again")
    (file,) = cache.iterdir()
    assert file.name.startswith("onnxruntime-1.20.5-")
    child(start="say(version='1.21')", each="say(why='other')")
    assert Loader("onnxruntime").load(b"abc") == "other"


@pytest.mark.parametrize("content", [b"\xff\x00" * 100, b'{"model": 1, "why": 2}\n[]\n{}\n', b"[" * 100_000, b""])
def test_a_damaged_cache_is_ignored(cache, child, content):
    child(each="say(why='asked')")
    Loader("onnxruntime").load(b"a")
    (file,) = cache.iterdir()
    file.write_bytes(content)
    assert Loader("onnxruntime").load(b"a") == "asked"
    assert Loader("onnxruntime").load(b"a") == "asked"


def test_a_cache_that_cannot_be_used_is_ignored(tmp_path, monkeypatch, child, cache):
    child(each="say(why='asked')")
    (tmp_path / "opset").write_text("a file")
    assert Loader("onnxruntime").load(b"a") == "asked"
    (tmp_path / "opset").unlink()
    cache.mkdir(parents=True)
    found = LoadCache("onnxruntime", "1.20.5")
    os.mkfifo(found._path)
    assert Loader("onnxruntime").load(b"a") == "asked"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "opset"


def test_several_processes_add_to_one_cache(cache):
    caches = [LoadCache("onnxruntime", "1") for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: [caches[n].add(f"{n}-{i}", "w" * 300) for i in range(50)], range(4)))
    assert len(LoadCache("onnxruntime", "1")._read()) == 200
    (file,) = cache.iterdir()
    assert all(json.loads(line) for line in file.read_text().splitlines())


def test_a_package_that_is_not_there(cache, child):
    child(start="say(absent='ModuleNotFoundError: No module')")
    with pytest.raises(opset.UsageError, match="T224") as caught:
        installed_runtime("openvino")
    assert "No module" in caught.value.why and "pip install openvino" in caught.value.help


@pytest.mark.parametrize(
    ("start", "words"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV"),
        ("sys.exit(3)", "exit status 3"),
        ("answers.write(b'rubbish\\n'); answers.flush(); time.sleep(60)", "its answer cannot be read"),
        ("time.sleep(60)", "it took more than 1 seconds"),
    ],
)
def test_a_child_that_does_not_start(cache, child, monkeypatch, start, words):
    monkeypatch.setattr(installed, "STARTING", 1.0)
    child(start=start)
    with pytest.raises(opset.UsageError, match="T224") as caught:
        Loader("onnxruntime")
    assert words in caught.value.why


@pytest.mark.parametrize(
    ("interpreter", "why"),
    [("", "there is no Python interpreter to start"), ("/nowhere/python", "No such file or directory")],
)
def test_a_child_whose_interpreter_is_not_there(cache, child, monkeypatch, interpreter, why):
    child()
    monkeypatch.setattr(sys, "executable", interpreter)
    with pytest.raises(opset.UsageError, match="T224") as caught:
        Loader("onnxruntime")
    assert (caught.value.message, caught.value.why) == ("the installed onnxruntime cannot be asked", why)


def test_a_model_with_which_the_child_dies_does_not_load(cache, child):
    child(each="os.kill(os.getpid(), signal.SIGABRT) if model == b'bad' else say(why='')")
    loader = Loader("onnxruntime")
    assert loader.load(b"good") == ""
    assert loader.load(b"bad") == "its process died: ended by SIGABRT"
    assert loader.load(b"another") == ""
    assert LoadCache("onnxruntime", "1.20.5")._read().keys() == {
        installed.hashlib.sha256(each).hexdigest()[:32] for each in (b"good", b"another")
    }


def test_a_child_that_always_dies_is_given_up(cache, child):
    child(each="os.kill(os.getpid(), signal.SIGABRT)")
    loader = Loader("onnxruntime")
    assert loader.load(b"1") and loader.load(b"2")
    with pytest.raises(opset.UsageError, match="T224"):
        loader.load(b"3")


def test_a_model_that_takes_too_long_does_not_load(cache, child, monkeypatch):
    monkeypatch.setattr(installed, "LOADING", 0.5)
    child(each="time.sleep(60)")
    assert "it took more than 0.5 seconds" in Loader("onnxruntime").load(b"1")


def test_a_forked_process_has_a_child_of_its_own(cache, child):
    child(each="say(why=str(os.getpid()))")
    loader = Loader("onnxruntime")
    ours = loader.load(b"1")
    reader, writer = os.pipe()
    if not (forked := os.fork()):
        os.write(writer, loader.load(b"2").encode())
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(forked, 0)
    assert os.read(reader, 100).decode() not in ("", ours)
    assert loader.load(b"3") == ours


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("installed:openviino", "did you mean openvino?"),
        ("installed:tensorrt", "these can be asked: onnxruntime, openvino"),
        ("installed:onnxruntime==1.17", "has one release alone"),
    ],
)
def test_names_that_cannot_be_asked(spec, words):
    with pytest.raises(opset.UsageError, match="U101") as caught:
        find_runtime(spec)
    assert words in str(caught.value)
