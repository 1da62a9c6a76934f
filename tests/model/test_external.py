"""External data: what may be read, and what becomes of it when the model is saved."""

import gc
import io
import os
import socket

import numpy as np
import onnx
import pytest
from onnx import external_data_helper, helper, numpy_helper

from opset.errors import ModelError, UsageError
from opset.model import load
from opset.model.storage import atomic as files
from opset.model.storage import reading, writing
from opset.model.storage.external import Folder, JoinedFolder, findings, leads_out, replace_locations

DATA = bytes(range(256)) * 8


def tensor(name, size, **entries):
    """Return a tensor of bytes that refers to other files."""
    made = onnx.TensorProto(name=name, data_type=onnx.TensorProto.UINT8, dims=[size], data_location=1)
    for key, value in entries.items():
        made.external_data.add(key=key, value=str(value))
    return made


def model_of(*tensors):
    node = helper.make_node("Constant", [], ["y"], value=numpy_helper.from_array(np.arange(4), "small"))
    return helper.make_model(helper.make_graph([node], "g", [], [], tensors))


def write(folder, *tensors, data=DATA, name="m.onnx"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "weights").write_bytes(data)
    (folder / name).write_bytes(model_of(*tensors).SerializeToString())
    return folder / name


def test_a_location_that_no_text_holds_is_refused():
    model = model_of(tensor("w", 4, location="weights"))
    with pytest.raises(UsageError, match="cannot be found from another folder") as caught:
        replace_locations(model, {"weights": "w\udcff"})
    assert caught.value.code == "U103" and model.graph.initializer[0].external_data[0].value == "weights"


def test_a_location_is_replaced_where_it_stands_alone():
    made = tensor("w", 4, location="weights", note="weights", offset=0)
    model = model_of(made, tensor("v", 4, location="other"), tensor("u", 4, note="weights"))
    model.graph.initializer[1].name = "weights"
    replace_locations(model, {"weights": "moved"})
    entries = [[(each.key, each.value) for each in one.external_data] for one in model.graph.initializer]
    assert entries == [
        [("location", "moved"), ("note", "weights"), ("offset", "0")],
        [("location", "other")],
        [("note", "weights")],
    ]


@pytest.mark.parametrize(
    ("folder", "location", "led"),
    [("a", "w", "w"), (".", "w", "a/w"), ("b", "c/w", "../a/c/w"), ("b", "/w", "/w"), ("a", "/w", "/w")],
)
def test_a_location_leads_from_another_folder_to_the_same_file(tmp_path, folder, location, led):
    own = Folder(str(tmp_path / "a" / "m.onnx"))
    assert own.location_from(str(tmp_path / folder), location) == led


def payloads(loaded):
    return [loaded.payload(tensor) for tensor in loaded.proto.graph.initializer]


def error_of(path, **options):
    loaded = load(path, **options)
    with pytest.raises(ModelError) as caught:
        payloads(loaded)
    assert [finding.code for finding in findings(loaded.proto, loaded.folder)] == [caught.value.code]
    assert caught.value.place == "tensor 'w'"
    return caught.value


# What may be read


def test_data_is_read_by_offset_and_length(tmp_path):
    path = write(
        tmp_path / "model",
        tensor("whole", 2048, location="weights"),
        tensor("part", 10, location="weights", offset=5, length=10),
        tensor("end", 8, location="weights", offset=2040),
        tensor("none", 0, location="weights", offset=2048, length=0),
        tensor("summed", 3, location="./weights", offset="0007", checksum="da39a3"),
    )
    loaded = load(path)
    assert payloads(loaded) == [DATA, DATA[5:15], DATA[-8:], b"", DATA[7:10]]
    assert findings(loaded.proto, loaded.folder) == []


def test_a_folder_below_and_a_way_back_are_inside(tmp_path):
    (tmp_path / "model" / "sub").mkdir(parents=True)
    (tmp_path / "model" / "sub" / "deep").write_bytes(b"deep")
    (tmp_path / "model" / "inner").symlink_to("sub")
    path = write(
        tmp_path / "model",
        tensor("a", 4, location="sub/deep"),
        tensor("b", 4, location="sub/../weights"),
        tensor("c", 4, location="../model/weights"),
        tensor("d", 4, location="inner/deep"),
    )
    assert payloads(load(path)) == [b"deep", DATA[:4], DATA[:4], b"deep"]


@pytest.fixture
def secret(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(b"secret")
    return tmp_path / "outside" / "secret"


def outside_locations(tmp_path, secret):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "link").symlink_to(secret)
    (folder / "door").symlink_to(secret.parent)
    (folder / "chain").symlink_to("link")
    return ["../outside/secret", str(secret), "link", "chain", "door/secret", "x/../../outside/secret", "..", ".", "/"]


def test_whatever_lies_outside_is_refused(tmp_path, secret):
    for location in outside_locations(tmp_path, secret):
        error = error_of(write(tmp_path / "model", tensor("w", 6, location=location)))
        assert error.code == "M201", location
        assert "allow" in error.help
    # a name with the model's folder as its beginning is another folder
    (tmp_path / "model2").mkdir()
    (tmp_path / "model2" / "d").write_bytes(b"secret")
    assert error_of(write(tmp_path / "model", tensor("w", 6, location="../model2/d"))).code == "M201"


def test_a_folder_may_be_allowed(tmp_path, secret):
    for location in outside_locations(tmp_path, secret)[:5]:
        path = write(tmp_path / "model", tensor("w", 6, location=location))
        assert payloads(load(path, allow_external_roots=[secret.parent])) == [b"secret"]
        assert payloads(load(path, allow_external_roots=str(secret.parent))) == [b"secret"]
        # Its first character, "/", is no folder that anybody allowed.
        assert error_of(path, allow_external_roots=f"{tmp_path / 'elsewhere'}").code == "M201"
        assert error_of(path, allow_external_roots=[tmp_path / "elsewhere"]).code == "M201"


def test_odd_locations(tmp_path, monkeypatch):
    for location, code in [
        ("missing", "M202"),
        ("weights/inside", "M202"),
        ("loop", "M201"),
        ("x" * 300, "M202"),
        ("we\0ights", "M201"),
        ("", "M207"),
        ("folder", "M203"),
        ("pipe", "M203"),
        ("socket", "M203"),
    ]:
        folder = tmp_path / "model"
        if not folder.exists():
            (folder / "folder").mkdir(parents=True)
            (folder / "loop").symlink_to("loop")
            os.mkfifo(folder / "pipe")
            with socket.socket(socket.AF_UNIX) as listener:
                monkeypatch.chdir(folder)  # a path of a socket has to be short
                listener.bind("socket")
        assert error_of(write(folder, tensor("w", 4, location=location))).code == code, location
    assert error_of(write(folder, tensor("w", 4))).code == "M207"
    assert error_of(write(folder, tensor("w", 4, offset=0, length=4))).code == "M207"


def test_a_device_in_an_allowed_folder_is_still_refused(tmp_path):
    path = write(tmp_path, tensor("w", 4, location="/dev/zero"))
    assert error_of(path).code == "M201"
    assert error_of(path, allow_external_roots=["/dev"]).code == "M203"


@pytest.mark.parametrize(
    ("code", "entries"),
    [
        ("M204", {"offset": "-1"}),
        ("M204", {"offset": "+1"}),
        ("M204", {"offset": ""}),
        ("M204", {"offset": " 1"}),
        ("M204", {"offset": "1_0"}),
        ("M204", {"offset": "0x10"}),
        ("M204", {"offset": "1e3"}),
        ("M204", {"offset": "\u0661"}),
        ("M204", {"offset": "\u00b2"}),
        ("M204", {"offset": "9" * 19}),
        ("M204", {"offset": "9" * 100_000}),
        ("M204", {"length": "4.0"}),
        ("M205", {"offset": "2045"}),
        ("M205", {"offset": str(2**63 - 1)}),
        ("M206", {"length": "3"}),
        ("M206", {"length": "5"}),
        ("M206", {"length": str(2**63 - 1)}),
    ],
)
def test_offsets_and_lengths(tmp_path, code, entries):
    error = error_of(write(tmp_path, tensor("w", 4, location="weights", **entries)))
    assert error.code == code
    assert len(str(error)) < 1000


def test_dims_and_types(tmp_path):
    for data_type, dims, code in [
        (onnx.TensorProto.UINT8, [-4], "M206"),
        (onnx.TensorProto.UINT8, [2**62, 2**62], "M206"),
        (onnx.TensorProto.UINT8, [2**40] * 100_000, "M206"),
        (onnx.TensorProto.UINT8, [2**40], "M205"),
        (onnx.TensorProto.FLOAT, [513], "M205"),
        (onnx.TensorProto.STRING, [4], "M206"),
        (onnx.TensorProto.UNDEFINED, [4], "M206"),
        (77, [4], "M206"),
    ]:
        made = tensor("w", 0, location="weights")
        made.data_type = data_type
        made.dims[:] = dims
        assert error_of(write(tmp_path, made)).code == code
    made = tensor("w", 0, location="weights", length=3)
    made.data_type, made.dims[:] = onnx.TensorProto.INT4, [5]
    assert payloads(load(write(tmp_path, made))) == [DATA[:3]]


def test_keys_without_meaning_are_reported_and_of_two_the_last_counts(tmp_path):
    made = tensor("w", 4, location="nowhere", basepath="/etc")
    made.external_data.add(key="location", value="weights")
    loaded = load(write(tmp_path, made))
    assert payloads(loaded) == [DATA[:4]]
    (finding,) = findings(loaded.proto, loaded.folder)
    assert (finding.code, finding.why) == ("M208", "not known, or given twice: 'location', 'basepath'")
    for name in "abcdefgh":
        made.external_data.add(key=name, value="")
    (finding,) = findings(load(write(tmp_path, made)).proto, loaded.folder)
    assert finding.why == f"not known, or given twice: 'location', 'basepath', {', '.join(map(repr, 'abcdef'))}"


def test_all_findings_at_once(tmp_path):
    path = write(tmp_path, tensor("a", 4, location="no"), tensor("b", 4), tensor("c", 9999, location="weights"))
    assert [finding.code for finding in findings(load(path).proto, load(path).folder)] == ["M202", "M207", "M205"]


def hub(tmp_path, *tensors):
    """Write a model as the cache of a model hub has it: links in a snapshot, that lead to blobs."""
    blobs, snapshot = tmp_path / "hub" / "blobs", tmp_path / "hub" / "snapshots" / "x"
    write(blobs, *tensors, name="abc")
    os.rename(blobs / "weights", blobs / "def")
    snapshot.mkdir(parents=True)
    (snapshot / "model.onnx").symlink_to("../../blobs/abc")
    (snapshot / "model.onnx_data").symlink_to("../../blobs/def")
    return snapshot / "model.onnx"


def test_the_layout_of_a_hub_cache(tmp_path, secret):
    path = hub(tmp_path, tensor("w", 2048, location="model.onnx_data"))
    assert payloads(load(path)) == [DATA]
    os.unlink(path.with_name("model.onnx_data"))
    path.with_name("model.onnx_data").symlink_to(secret)
    assert error_of(path).code == "M201"


def test_a_plain_model_may_not_follow_the_same_links(tmp_path):
    path = hub(tmp_path, tensor("w", 2048, location="model.onnx_data"))
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)
    assert error_of(path).code == "M201"


def test_the_folder_of_the_model_may_be_reached_by_a_link(tmp_path, monkeypatch):
    write(tmp_path / "real", tensor("w", 4, location="weights"))
    (tmp_path / "alias").symlink_to("real")
    assert payloads(load(tmp_path / "alias" / "m.onnx")) == [DATA[:4]]
    monkeypatch.chdir(tmp_path / "real")
    loaded = load("m.onnx")
    monkeypatch.chdir(tmp_path)
    assert payloads(loaded) == [DATA[:4]]


def test_a_data_file_that_changes(tmp_path):
    path = write(tmp_path, tensor("w", 2048, location="weights"))
    segment = load(path).folder.file("weights", "")
    os.truncate(tmp_path / "weights", 100)
    with pytest.raises(ModelError) as caught:
        segment.read(0, 10)
    assert caught.value.code == "M105"
    os.replace(path, tmp_path / "weights")
    with pytest.raises(ModelError) as caught:
        segment.read(0, 10)
    assert caught.value.code == "M105"


def test_a_link_that_is_put_in_between_is_not_followed(tmp_path, secret):
    path = write(tmp_path / "model", tensor("w", 6, location="sub/d"))
    (tmp_path / "model" / "sub").mkdir()
    (tmp_path / "model" / "sub" / "d").write_bytes(b"honest")
    opened = load(path).folder.file("sub/d", "")
    os.rename(tmp_path / "model" / "sub", tmp_path / "model" / "moved")
    (tmp_path / "model" / "sub").symlink_to("moved")
    with pytest.raises(ModelError) as caught:
        opened.read(0, 6)
    assert caught.value.code in ("M201", "M202")


def test_a_model_without_a_folder(tmp_path):
    path = write(tmp_path, tensor("w", 4, location="weights"))
    loaded = load(path.read_bytes())
    with pytest.raises(ModelError) as caught:
        payloads(loaded)
    assert (caught.value.code, caught.value.help) == ("M202", "load the model by its path")
    for mode in ("auto", "keep"):
        loaded.save(tmp_path / f"{mode}.onnx", external=mode)
        assert (tmp_path / f"{mode}.onnx").read_bytes() == path.read_bytes()
    for mode in ("copy", "link", "inline", "move"):
        with pytest.raises(UsageError) as refused:
            loaded.save(tmp_path / "out.onnx", external=mode)
        assert refused.value.code == "U103"
    plain = load(model_of().SerializeToString())
    for mode in ("copy", "link", "inline", "move"):
        plain.save(tmp_path / f"{mode}.onnx", external=mode)
    assert not list(tmp_path.glob("*.data"))


# What becomes of it

PART = tensor("part", 100, location="weights", offset=7, length=100)
WHOLE = tensor("whole", 2048, location="sub/more", length=2048)
INLINE = helper.make_tensor("inline", onnx.TensorProto.UINT8, [3000], bytes(3000), raw=True)
TYPED = helper.make_tensor("typed", onnx.TensorProto.INT64, [500], range(500))
FLOATS = helper.make_tensor("floats", onnx.TensorProto.FLOAT, [500], [0.5] * 500)
SMALL = helper.make_tensor("small", onnx.TensorProto.INT64, [3], range(3))
MORE = DATA[::-1]


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A model with data in two files, in itself, and in subgraphs and sparse tensors."""
    monkeypatch.setattr(reading, "IN_MEMORY", 0)
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "sub" / "more").write_bytes(MORE)
    return write(tmp_path / "in", PART, WHOLE, INLINE, TYPED, FLOATS, SMALL)


def values(path):
    """Return what the onnx package reads: the values of all initializers."""
    model = onnx.load_model(path, load_external_data=False)
    external_data_helper.load_external_data_for_model(model, str(path.parent))
    return [numpy_helper.to_array(tensor).tolist() for tensor in model.graph.initializer]


def is_external(path):
    model = onnx.load_model(path, load_external_data=False)
    return [tensor.name for tensor in model.graph.initializer if tensor.data_location == 1]


def listing(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


def changed(path):
    loaded = load(path)
    loaded.proto.producer_name = "touched"
    return loaded


def test_beside_the_model_data_is_not_even_opened(path, tmp_path):
    for name in ("weights", "sub"):
        (path.parent / name).rename(tmp_path / name)  # what is not there cannot be opened
    changed(path).save(path.with_name("out.onnx"))
    changed(path).save(path.with_name("kept.onnx"), external="keep")
    for name in ("weights", "sub"):
        (tmp_path / name).rename(path.parent / name)
    assert values(path.with_name("out.onnx")) == values(path.with_name("kept.onnx")) == values(path)
    assert len(listing(path.parent)) == 5


def test_elsewhere_it_is_copied(path, tmp_path):
    (tmp_path / "out").mkdir()
    out = tmp_path / "out" / "out.onnx"
    changed(path).save(out)
    assert listing(tmp_path / "out") == ["out.onnx", "sub/more", "weights"]
    assert values(out) == values(path)
    assert (tmp_path / "out" / "sub" / "more").stat().st_nlink == 1
    load(path).save(out, force=True, external="copy")
    assert out.read_bytes() == path.read_bytes()


def test_files_that_are_there_already_are_left_and_others_copied(path, tmp_path):
    for there in ("weights", "sub/more"):
        out = tmp_path / there.partition("/")[0]
        (out / there).parent.mkdir(parents=True)
        (out / there).write_bytes((path.parent / there).read_bytes())
        before = (out / there).stat()
        changed(path).save(out / "out.onnx")
        assert listing(out) == ["out.onnx", "sub/more", "weights"]
        assert values(out / "out.onnx") == values(path)
        assert (out / there).stat().st_mtime_ns == before.st_mtime_ns


def test_it_may_be_linked(path, tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    out, roots = tmp_path / "out" / "out.onnx", [path.parent]
    before = payloads(load(path))
    changed(path).save(out, external="link")
    assert os.path.samefile(tmp_path / "out" / "sub" / "more", path.parent / "sub" / "more")
    assert listing(tmp_path / "out") == ["out.onnx", "sub/more", "weights"]
    assert payloads(load(out, allow_external_roots=[tmp_path / "out"])) == before
    with pytest.raises(ModelError, match="M209"):
        payloads(load(path))
    again = load(path, allow_external_roots=roots)
    again.save(out, external="link", force=True)  # the links are there already
    assert listing(tmp_path / "out") == ["out.onnx", "sub/more", "weights"]
    assert payloads(again) == before
    os.unlink(tmp_path / "out" / "weights")

    def across_devices(*_, **__):
        raise OSError(18, "Invalid cross-device link")

    with monkeypatch.context() as patch, pytest.raises(UsageError) as caught:
        patch.setattr(os, "link", across_devices)
        load(path, allow_external_roots=roots).save(tmp_path / "out" / "other.onnx", external="link")
    assert caught.value.code == "U104"
    assert caught.value.help == "copy the data instead: external='copy', --external-data copy"
    assert listing(tmp_path / "out") == ["out.onnx", "sub/more"]


def test_a_file_that_is_exchanged_while_it_is_linked_gets_no_name(path, tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    (tmp_path / "other").write_bytes(b"of somebody else")
    link = os.link
    for exchange in (lambda _, target, **how: link(tmp_path / "other", target, **how), lambda *_, **how: None):
        monkeypatch.setattr(os, "link", exchange)
        with pytest.raises(UsageError) as caught:
            changed(path).save(tmp_path / "out" / "out.onnx", external="link")
        assert (caught.value.code, caught.value.why) == ("U104", "the file was exchanged meanwhile")
    assert listing(tmp_path / "out") == []


def test_one_file_by_two_names_is_copied_once(tmp_path):
    (tmp_path / "out").mkdir()
    locations = {"a": "weights", "b": "./weights", "c": "more"}
    path = write(tmp_path / "in", *[tensor(name, 4, location=each) for name, each in locations.items()])
    (path.parent / "more").write_bytes(DATA)
    load(path).save(tmp_path / "out" / "copy.onnx", external="copy")
    assert payloads(load(tmp_path / "out" / "copy.onnx")) == payloads(load(path))
    assert listing(tmp_path / "out") == ["copy.onnx", "more", "weights"]


def test_taking_the_data_from_a_tensor_leaves_what_is_not_ours(path):
    loaded = load(path)
    for made in loaded.proto.graph.initializer:
        made.opset_payload.append(b"foreign")
        loaded.clear_data(made)
        assert {field.name for field, _ in made.ListFields()} == {"dims", "data_type", "name", "opset_payload"}
        assert list(made.opset_payload) == [b"foreign"]


def test_it_may_be_left_behind_on_purpose(path, tmp_path):
    (tmp_path / "out").mkdir()
    changed(path).save(tmp_path / "out" / "out.onnx", external="keep")
    assert listing(tmp_path / "out") == ["out.onnx"]


def test_it_may_be_put_into_the_model(path, tmp_path):
    changed(path).save(tmp_path / "out.onnx", external="inline")
    assert listing(tmp_path)[-1] == "out.onnx" and len(listing(tmp_path)) == 4
    assert is_external(tmp_path / "out.onnx") == []
    assert values(tmp_path / "out.onnx") == values(path)
    stream = io.BytesIO()
    writing.write_stream(changed(path), stream, external="inline")
    assert stream.getvalue() == (tmp_path / "out.onnx").read_bytes()
    with open(tmp_path / "opened.onnx", "wb") as opened:
        changed(path).save(f"/dev/fd/{opened.fileno()}", external="inline")
    assert (tmp_path / "opened.onnx").read_bytes() == stream.getvalue()


def test_all_large_data_may_be_moved_into_one_file(path, tmp_path):
    (tmp_path / "out").mkdir()
    out = tmp_path / "out" / "out.onnx"
    changed(path).save(out, external="move")
    assert listing(tmp_path / "out") == ["out.onnx", "out.onnx.data"]
    assert is_external(out) == ["part", "whole", "inline", "typed", "floats"]
    assert values(out) == values(path)
    assert findings(load(out).proto, load(out).folder) == []
    for tensor in onnx.load_model(out, load_external_data=False).graph.initializer:
        assert int({e.key: e.value for e in tensor.external_data}.get("offset", 0)) % 4096 == 0
    again = tmp_path / "again.onnx"
    load(out).save(again, external="inline")
    assert values(again) == values(path)


@pytest.mark.parametrize("name", ["in/m.onnx", "in/weights", "in/sub/more"])
def test_data_that_is_moved_may_be_read_by_those_who_could_read_all_of_it(path, tmp_path, name):
    for each in ("in/m.onnx", "in/weights", "in/sub/more"):
        (tmp_path / each).chmod(0o600 if each == name else 0o644)
    changed(path).save(tmp_path / "out.onnx", external="move")
    assert (tmp_path / "out.onnx.data").stat().st_mode & 0o777 == 0o600


def test_copies_lie_in_a_limited_number_of_folders(tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    for name in ("a", "b"):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "w").write_bytes(DATA)
    tensors = [tensor(name, 10, location=f"{name}/w") for name in ("a", "b")]
    model = helper.make_model(helper.make_graph([], "g", [], [], tensors))
    (tmp_path / "in" / "m.onnx").write_bytes(model.SerializeToString())
    monkeypatch.setattr(files, "MAX_FOLDERS", 2)
    with pytest.raises(UsageError) as caught:
        changed(tmp_path / "in" / "m.onnx").save(tmp_path / "out" / "m.onnx", external="copy")
    assert (caught.value.code, caught.value.message) == ("U103", "the data is spread over more than 2 folders")
    assert "external='move'" in caught.value.help and listing(tmp_path / "out") == []
    monkeypatch.setattr(files, "MAX_FOLDERS", 3)
    changed(tmp_path / "in" / "m.onnx").save(tmp_path / "out" / "m.onnx", external="copy")
    assert listing(tmp_path / "out") == ["a/w", "b/w", "m.onnx"]


def test_a_file_is_no_folder_to_write_to(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        files.OpenFolder(str(tmp_path / "file"))


def test_everywhere_in_a_model(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "IN_MEMORY", 0)
    inner = helper.make_graph([], "inner", [], [], [tensor("i", 10, location="weights")])
    large = helper.make_tensor("c", onnx.TensorProto.UINT8, [3000], bytes(3000), raw=True)
    nodes = [
        helper.make_node("If", ["c"], ["y"], then_branch=inner),
        helper.make_node("Constant", [], ["z"], value=large),
        helper.make_node("Lists", [], [], tensors=[tensor("l", 10, location="weights", offset=20)]),
    ]
    sparse = helper.make_sparse_tensor(
        tensor("values", 2, location="weights"), helper.make_tensor("at", onnx.TensorProto.INT64, [2], [0, 1]), [9]
    )
    graph = helper.make_graph(nodes, "g", [], [], sparse_initializer=[sparse])
    function = helper.make_function("d", "f", [], [], [nodes[0]], [])
    function.attribute_proto.append(helper.make_attribute("a", tensor("f", 4, location="weights", offset=9)))
    model = helper.make_model(graph, functions=[function])
    model.training_info.add().algorithm.CopyFrom(inner)
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    (tmp_path / "weights").write_bytes(DATA)
    load(path).save(tmp_path / "inline.onnx", external="inline")
    load(path).save(tmp_path / "moved.onnx", external="move")
    external_data_helper.load_external_data_for_model(model, str(tmp_path))
    sparse.values.raw_data = DATA[:2]  # the onnx package overlooks these
    for name in ("inline.onnx", "moved.onnx"):
        read = load(tmp_path / name)
        main = read.proto.graph
        branch = main.node[0].attribute[0].g.initializer[0]
        assert read.payload(branch) == DATA[:10]
        assert read.payload(read.proto.training_info[0].algorithm.initializer[0]) == DATA[:10]
        assert read.payload(read.proto.functions[0].node[0].attribute[0].g.initializer[0]) == DATA[:10]
        assert read.payload(read.proto.functions[0].attribute_proto[0].t) == DATA[9:13]
        assert read.payload(main.node[1].attribute[0].t) == bytes(3000)
        assert read.payload(main.node[2].attribute[0].tensors[0]) == DATA[20:30]
        assert read.payload(main.sparse_initializer[0].values) == DATA[:2]
        assert branch.data_location == (name == "moved.onnx")


def test_existing_data_files_are_safe(path, tmp_path):
    out = tmp_path / "out"
    (out / "sub").mkdir(parents=True)
    (out / "weights").write_bytes(b"precious")
    (out / "sub" / "more").write_bytes(MORE)  # the same content is no conflict
    before = (out / "sub" / "more").stat().st_ino
    with pytest.raises(UsageError) as caught:
        changed(path).save(out / "out.onnx", external="copy")
    assert (caught.value.code, caught.value.file) == ("U102", str(out / "weights"))
    (out / "out.onnx.data").write_bytes(b"precious too")
    with pytest.raises(UsageError) as caught:
        changed(path).save(out / "out.onnx", external="move")
    assert (caught.value.code, caught.value.file) == ("U102", str(out / "out.onnx.data"))
    assert listing(out) == ["out.onnx.data", "sub/more", "weights"]
    assert (out / "weights").read_bytes() == b"precious"

    os.link(out / "weights", tmp_path / "other name")  # replacing is not writing into: other names keep their content
    for mode in ("copy", "move"):
        changed(path).save(out / "out.onnx", external=mode, force=True)
        assert values(out / "out.onnx") == values(path)
    assert (tmp_path / "other name").read_bytes() == b"precious"
    assert (out / "sub" / "more").stat().st_ino == before


@pytest.mark.parametrize("at", [0, -1])
def test_an_existing_data_file_that_differs_in_one_byte_is_safe(path, tmp_path, monkeypatch, at):
    monkeypatch.setattr("opset.model.storage.parts.CHUNK", 16)
    held = bytearray((path.parent / "weights").read_bytes())
    held[at] ^= 1
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "weights").write_bytes(held)
    with pytest.raises(UsageError) as caught:
        changed(path).save(tmp_path / "out" / "out.onnx", external="copy")
    assert caught.value.code == "U102"
    assert (tmp_path / "out" / "weights").read_bytes() == held


def test_links_at_the_target_are_not_followed(path, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "victim").write_bytes(b"precious")
    (out / "weights").symlink_to("../victim")
    with pytest.raises(UsageError) as caught:
        changed(path).save(out / "out.onnx")
    assert caught.value.code == "U102"
    changed(path).save(out / "out.onnx", force=True)
    assert (tmp_path / "victim").read_bytes() == b"precious"
    assert not (out / "weights").is_symlink()
    (tmp_path / "second").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "second" / "sub").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError) as caught:
        changed(path).save(tmp_path / "second" / "out.onnx", force=True)
    assert caught.value.code == "U103"
    assert listing(tmp_path / "elsewhere") == []
    assert os.listdir(tmp_path / "second") == ["sub"]


def test_data_never_lands_outside_of_the_output_folder(tmp_path, secret):
    (tmp_path / "out").mkdir()
    for location in ("../outside/secret", str(secret), "sub/../weights", ".opset-0123456789abcdef.tmp"):
        (tmp_path / "model" / "sub").mkdir(parents=True, exist_ok=True)
        path = write(tmp_path / "model", tensor("w", 6, location=location))
        (tmp_path / "model" / ".opset-0123456789abcdef.tmp").write_bytes(DATA)
        loaded = load(path, allow_external_roots=[secret.parent])
        with pytest.raises(UsageError) as caught:
            loaded.save(tmp_path / "out" / "m.onnx")
        assert caught.value.code == "U103"
        loaded.save(tmp_path / "out" / "moved.onnx", external="move", force=True)
        assert payloads(load(tmp_path / "out" / "moved.onnx")) == payloads(loaded)
    assert listing(tmp_path / "out") == ["moved.onnx", "moved.onnx.data"]


def test_the_output_never_replaces_data_that_the_model_uses(path, tmp_path):
    for mode in ("auto", "keep", "inline", "move"):
        with pytest.raises(UsageError) as caught:
            load(path).save(path.with_name("weights"), external=mode, force=True)
        assert caught.value.code == "U102"
        with pytest.raises(UsageError) as caught:
            writing.save_below(load(path), str(path.parent), "weights", external=mode, force=True)
        assert caught.value.code == "U102"
    moved = tmp_path / "m.onnx"
    load(path).save(moved, external="move")
    before = (tmp_path / "m.onnx.data").read_bytes()
    with pytest.raises(UsageError) as caught:
        load(moved).save(moved, external="move", force=True)
    assert caught.value.code == "U102"
    assert (tmp_path / "m.onnx.data").read_bytes() == before
    (tmp_path / "out").mkdir()
    with pytest.raises(UsageError) as caught:
        load(path).save(tmp_path / "out" / "weights")  # a data file would have the name of the output
    assert caught.value.code == "U103"


@pytest.mark.parametrize("mode", ["copy", "link", "inline", "move"])
def test_a_save_is_all_or_nothing(path, tmp_path, mode):
    (tmp_path / "out").mkdir()
    for break_it, code in [
        (lambda: os.truncate(path.parent / "sub" / "more", 100), "M205"),
        (lambda: os.unlink(path.parent / "sub" / "more"), "M202"),
        (lambda: (path.parent / "sub" / "more").symlink_to("/etc/hostname"), "M201"),
    ]:
        break_it()
        if code == "M205" and mode in ("copy", "link"):
            continue  # files are taken as they are
        with pytest.raises(ModelError) as caught:
            changed(path).save(tmp_path / "out" / "out.onnx", external=mode)
        assert caught.value.code == code
        assert os.listdir(tmp_path / "out") == []


@pytest.mark.parametrize("mode", ["copy", "link", "move"])
def test_a_failure_at_the_last_step_takes_the_data_back(path, tmp_path, monkeypatch, mode):
    (tmp_path / "out").mkdir()
    renamed = []

    def failing_for_the_model(way):
        def attempt(old, new, **within):
            if new.endswith(".onnx"):
                raise OSError(5, "Input/output error")
            renamed.append(new)
            way(old, new, **within)

        return attempt

    for name in ("link", "replace"):
        monkeypatch.setattr(os, name, failing_for_the_model(getattr(os, name)))
    with pytest.raises(UsageError) as caught:
        changed(path).save(tmp_path / "out" / "out.onnx", external=mode)
    assert caught.value.code == "U104"
    assert renamed
    assert os.listdir(tmp_path / "out") == []


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="the system does not list open files")
@pytest.mark.parametrize("mode", ["auto", "copy", "link", "inline", "move"])
def test_no_file_stays_open(path, tmp_path, mode):
    (tmp_path / "taken").write_bytes(b"precious")
    for name in ("folder", "out"):
        (tmp_path / name).mkdir()
    loaded = changed(path)
    gc.collect()
    before = os.listdir("/proc/self/fd")
    loaded.save(tmp_path / "out" / "first.onnx", external=mode)
    for name in ("taken", "folder"):
        with pytest.raises(UsageError):
            loaded.save(tmp_path / name, external=mode)
    assert os.listdir("/proc/self/fd") == before


def test_all_problems_of_copying_are_told_at_once(path, tmp_path):
    (tmp_path / "out" / "sub").mkdir(parents=True)
    (tmp_path / "out" / "weights").write_bytes(b"precious")
    (tmp_path / "out" / "sub" / "more").write_bytes(b"precious")
    with pytest.raises(UsageError) as caught:
        changed(path).save(tmp_path / "out" / "out.onnx")
    assert [finding.code for finding in caught.value.findings] == ["U102", "U102"]
    (path.parent / "sub" / "more").unlink()
    with pytest.raises(ModelError) as mixed:  # of which one is of the model
        changed(path).save(tmp_path / "out" / "out.onnx")
    assert [finding.code for finding in mixed.value.findings] == ["U102", "M202"]


def test_inline_data_beyond_the_limit(tmp_path):
    (tmp_path / "weights").touch()
    os.truncate(tmp_path / "weights", 3 << 30)
    (tmp_path / "m.onnx").write_bytes(model_of(tensor("w", 3 << 30, location="weights")).SerializeToString())
    with pytest.raises(ModelError) as caught:
        load(tmp_path / "m.onnx").save(tmp_path / "out.onnx", external="inline")
    assert caught.value.code == "M111"
    with pytest.raises(ModelError) as caught:
        load(tmp_path / "m.onnx").payload(tensor("w", 3 << 30, location="weights"), limit=1 << 20)
    assert caught.value.code == "M206"
    assert listing(tmp_path) == ["m.onnx", "weights"]


def test_the_output_beside_a_hub_snapshot_needs_no_copy(tmp_path):
    path = hub(tmp_path, tensor("w", 2048, location="model.onnx_data"))
    changed(path).save(path.with_name("new.onnx"))
    changed(path).save(path, force=True)
    assert not path.is_symlink()
    assert (tmp_path / "hub" / "blobs" / "abc").exists()
    changed(tmp_path / "hub" / "blobs" / "abc")
    (tmp_path / "out").mkdir()
    restored = hub(tmp_path / "again", tensor("w", 2048, location="model.onnx_data"))
    changed(restored).save(tmp_path / "out" / "m.onnx")
    assert (tmp_path / "out" / "model.onnx_data").read_bytes() == DATA
    assert not (tmp_path / "out" / "model.onnx_data").is_symlink()


@pytest.mark.parametrize(
    ("location", "out"),
    [
        ("w", False), ("a/w", False), ("a/../w", False), ("..w", False), ("a/../../w", True), ("../w", True),
        ("..", True), ("/w", True), ("./../w", True), ("", False),
    ],
)  # fmt: skip
def test_which_locations_lead_out_of_their_folder(location, out):
    assert leads_out(location) is out


def test_the_folder_of_a_model_to_which_another_was_joined(tmp_path):
    """Each location is that of the model which it came from, also as it is seen from elsewhere."""
    for name in ("one", "two", "one/in"):
        (tmp_path / name).mkdir()
    first, second = (Folder(str(tmp_path / name / "m.onnx")) for name in ("one", "two"))
    one, two, elsewhere = (str(tmp_path / each) for each in ("one", "two", "one/in"))
    assert [first.is_own(each) for each in (one, two)] == [True, False]
    assert [first.location_from(each, "w") for each in (one, two, elsewhere)] == ["w", "../one/w", "../w"]
    assert first.location_from(two, "/w") == "/w"

    joined = JoinedFolder(first, second, {"../two/w": "w", "v": "../one/v"})
    assert joined.path == one and joined.location_from(one, "w") == "w"
    assert joined.location_from(two, "../two/w") == "w" and joined.location_from(two, "w") == "../one/w"
    assert joined.real_path("../two/w") == os.path.join(os.path.realpath(two), "w")
    assert (
        joined.real_path("w") == joined.real_path("v").replace("/v", "/w") == os.path.join(os.path.realpath(one), "w")
    )
    assert not joined.is_own(one)
    inside, outside = (JoinedFolder(first, second, {each: "w"}) for each in ("in/w", "../w"))
    assert [inside.is_own(one), inside.is_own(two), outside.is_own(one)] == [True, False, False]


def test_locations_that_lead_out_of_a_joined_folder_get_names_in_it(tmp_path):
    first, second = (Folder(str(tmp_path / name / "m.onnx")) for name in ("one", "two"))
    located = {"../two/w.bin": "w.bin", "v": "v", "/tmp/w.bin": "/tmp/w.bin", "../three/v": "../three/v"}
    joined = JoinedFolder(first, second, located)
    brought, moved = joined.brought_inside([*located, "w.bin"])
    assert moved == {"../two/w.bin": "w_1.bin", "/tmp/w.bin": "w_2.bin", "../three/v": "v_1"}
    assert [brought.real_path(each) for each in ("w_1.bin", "v", "v_1", "w.bin")] == [
        os.path.join(os.path.realpath(tmp_path), each) for each in ("two/w.bin", "two/v", "three/v", "one/w.bin")
    ]
