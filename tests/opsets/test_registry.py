"""The registry against onnx's own, version by version, and the resolution of since_version."""

import subprocess
import sys

import onnx.defs
import onnx.helper
import pytest

import opset.opsets.registry as registry_module
from opset import get_operator_set
from opset.errors import SchemaError, UsageError
from opset.opsets.registry import (
    Registry,
    default_registry,
    entry_point_folders,
    files_named,
    get_schema,
    registry_with,
)
from tests.released import RELEASED, is_released, newest

THEIRS = {
    (schema.domain, schema.name, schema.since_version): schema for schema in onnx.defs.get_all_schemas_with_history()
}
OURS = {
    (schema.domain, schema.name, schema.since_version): schema
    for domain in default_registry().domains
    for name in default_registry().operators(domain)
    for schema in default_registry().versions(name, domain)
}
COMPARED = {key: schema for key, schema in OURS.items() if is_released(schema)}
OPTIONS = {"Single": "single", "Optional": "optional", "Variadic": "variadic"}


def parameters(formals):
    category = onnx.defs.OpSchema.DifferentiationCategory.Differentiable
    return [
        (
            each.name,
            each.type_str,
            OPTIONS[each.option.name],
            each.is_homogeneous,
            each.min_arity,
            each.differentiation_category == category,
        )
        for each in formals
    ]


def attributes(schema):
    for name, each in schema.attributes.items():
        default = onnx.helper.get_attribute_value(each.default_value) if each.default_value.type else None
        if isinstance(default, bytes):
            default = default.decode()
        elif isinstance(default, list):
            default = tuple(item.decode() if isinstance(item, bytes) else item for item in default)
        yield name, each.type.name.lower(), repr(default), each.required  # repr tells -0.0 from 0.0


def test_the_same_versions_are_released():
    assert len(RELEASED) == 659
    assert COMPARED.keys() == RELEASED == THEIRS.keys()


@pytest.mark.parametrize("domain", ["", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"])
def test_every_signature_is_that_of_onnx(domain):
    for key, ours in COMPARED.items():
        if key[0] != domain:
            continue
        theirs = THEIRS[key]
        for side in ("inputs", "outputs"):
            mine = [
                (p.name, p.type, p.option, p.homogeneous, p.min_arity, p.differentiable) for p in getattr(ours, side)
            ]
            assert mine == parameters(getattr(theirs, side)), (key, side)
        mine = [(a.name, a.type, repr(a.default), a.required) for a in ours.attributes.values()]
        assert sorted(mine) == sorted(attributes(theirs)), key
        allowed = {each.type_param_str: tuple(sorted(each.allowed_type_strs)) for each in theirs.type_constraints}
        assert ours.types == allowed, key
        arity = theirs.min_input, theirs.max_input, theirs.min_output, theirs.max_output
        assert (ours.min_input, ours.max_input, ours.min_output, ours.max_output) == arity, key
        assert ours.deprecated == theirs.deprecated, key
        assert ours.experimental == (theirs.support_level.name == "EXPERIMENTAL"), key
        assert ours.determinism == theirs.node_determinism.name.lower(), key


@pytest.mark.parametrize("domain", ["", "ai.onnx.ml"])
def test_resolution_is_that_of_onnx(domain):
    registry = default_registry()
    for name in registry.operators(domain):
        for version in range(1, newest(domain) + 1):
            ours = registry.schema(name, version, domain)
            try:
                theirs = onnx.defs.get_schema(name, version, domain).since_version
            except onnx.defs.SchemaError:
                theirs = None
            assert (ours and ours.since_version) == theirs, (name, version)


def test_facts_that_look_like_mistakes_are_kept():
    registry = default_registry()
    assert registry.schema("GRU", 1).attributes["direction"].default == "foward"
    assert repr(registry.schema("LabelEncoder", 4, "ai.onnx.ml").attributes["default_float"].default) == "-0.0"
    assert registry.schema("ImageDecoder", 20).attributes["pixel_format"].default == "RGB"
    assert registry.schema("BatchNormalization", 15).attributes["epsilon"].default == 9.999999747378752e-06
    defaults = {a.default for s in OURS.values() for a in s.attributes.values() if isinstance(a.default, tuple)}
    assert (0, 2, 3) in defaults


def test_ai_onnx_is_the_empty_domain():
    registry = default_registry()
    assert registry.schema("Relu", 14, "ai.onnx") is registry.schema("Relu", 14)
    assert registry.operators("ai.onnx") == registry.operators("")
    assert registry.schema("Relu", 14, "ai.onnx").domain == ""


def test_what_is_not_known_is_not_there():
    registry = default_registry()
    assert registry.schema("Relux", 14) is None
    assert registry.schema("Relu", 14, "com.acme") is None
    assert registry.schema("Attention", 22) is None
    assert registry.schema("Relu", 0) is None
    assert registry.versions("Relux") == ()
    assert registry.operators("com.acme") == []


def test_newest_versions_of_the_domains():
    domains = default_registry().domains
    assert {domain: newest(domain) for domain in domains} == {
        "": 28,
        "ai.onnx.ml": 5,
        "ai.onnx.preview": 1,
        "ai.onnx.preview.training": 1,
    }
    highest = {domain: max(key[2] for key in OURS if key[0] == domain) for domain in domains}
    assert domains == {domain: max(newest(domain), version) for domain, version in highest.items()}


def test_a_deprecated_version_is_given_with_its_replacement():
    schema = default_registry().schema("Upsample", 13)
    assert (schema.since_version, schema.deprecated, schema.replacement) == (10, True, "Resize")


def test_the_first_version_alone_has_no_change():
    for key, schema in OURS.items():
        first = default_registry().versions(key[1], key[0])[0]
        assert (schema.change is None) == (schema is first), key


def test_every_version_is_documented():
    for schema in OURS.values():
        docs = default_registry().documentation(schema)
        assert docs.doc
        assert list(docs.inputs) == [p.name for p in schema.inputs]
        assert list(docs.outputs) == [p.name for p in schema.outputs]
        assert list(docs.attributes) == list(schema.attributes)
        assert all((*docs.inputs.values(), *docs.outputs.values(), *docs.attributes.values()))


def test_get_schema():
    assert get_schema("Softmax") is default_registry().versions("Softmax")[-1]
    assert get_schema("Softmax", 28).since_version == 13
    assert get_schema("Softmax", 12).since_version == 11
    assert get_schema("Scaler", 5, "ai.onnx.ml").since_version == 1


@pytest.mark.parametrize(
    ("call", "help"),
    [
        (("Sofmax",), "did you mean Softmax"),
        (("Scaler",), "operator of ai.onnx.ml"),
        (("Relu", None, "com.acme"), "Relu is an operator of ai.onnx"),
        (("Relux", None, "com.acme"), "known: ai.onnx, ai.onnx.ml"),
        (("Attention", 22), "came with version 23"),
    ],
)
def test_get_schema_helps(call, help):
    with pytest.raises(UsageError) as caught:
        get_schema(*call)
    assert caught.value.code == "U105"
    assert help in caught.value.help


VERSION = (
    "- since: {since}\n{more}  doc: does it\n  inputs:\n  - {{name: X, type: T, doc: it}}\n  types:\n    T: {types}\n"
)
CHANGE = "  change:\n{change}    adapters: {{up: derived, down: derived}}\n"


def operator(name, *versions):
    return f"operator: {name}\nfamily: acme\nversions:\n" + "".join(versions)


def acme(folder, **texts):
    (folder / "com.acme").mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / "com.acme" / f"{name}.yaml").write_text(text)
    return folder


def newer(since, change, types="floats", more=""):
    return VERSION.format(since=since, types=types, more=more + CHANGE.format(change=change))


def test_the_example_of_the_versioning_document(tmp_path):
    # Operator sets 1 {A}, 2 {A, B}, 3 {A', B, C}, 4 {B, C'}: that A is gone is a deprecated version.
    wider = "    types: {T: [+bfloat16]}\n"
    gone = "    deprecated: true\n"
    first = [VERSION.format(since=since, types="floats", more="") for since in (1, 2, 3)]
    deprecated = newer(4, gone, "floats_ir4", "  deprecated: true\n  replacement: B\n")
    registry = registry_with(
        [
            acme(
                tmp_path,
                A=operator("A", deprecated, newer(3, wider, "floats_ir4"), first[0]),
                B=operator("B", first[1]),
                C=operator("C", newer(4, wider, "floats_ir4"), first[2]),
            )
        ]
    )

    def since(name, version):
        schema = registry.schema(name, version, "com.acme")
        return schema.since_version if schema and not schema.deprecated else None

    assert [since("A", version) for version in (1, 2, 3, 4)] == [1, 1, 3, None]
    assert [since("B", version) for version in (1, 2, 3, 4)] == [None, 2, 2, 2]
    assert [since("C", version) for version in (1, 2, 3, 4)] == [None, None, 3, 4]
    assert registry.schema("A", 4, "com.acme").replacement == "B"
    assert registry.domains == {**default_registry().domains, "com.acme": 4}
    assert registry.documentation(registry.schema("B", 2, "com.acme")).inputs == {"X": "it"}
    assert registry.documentation(registry.schema("Relu", 14)) == default_registry().documentation(get_schema("Relu"))


def test_a_folder_may_have_type_sets_of_its_own(tmp_path):
    (tmp_path / "types.yaml").write_text("mine: [floats, seq(int64)]\n")
    acme(tmp_path, A=operator("A", VERSION.format(since=1, types="mine", more="")))
    schema = registry_with([tmp_path]).schema("A", 1, "com.acme")
    assert registry_with(tmp_path).schema("A", 1, "com.acme") == schema
    assert registry_with((), data=f"{tmp_path}").schema("A", 1, "com.acme") == schema
    assert schema.types == {"T": ("seq(tensor(int64))", "tensor(double)", "tensor(float)", "tensor(float16)")}


def test_of_two_type_sets_with_one_name_the_first_names_types(tmp_path):
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder, types in zip(folders, ("[float16, int8, string]", "[int16, bool]"), strict=True):
        domain = f"com.{folder.name}"
        (folder / domain).mkdir(parents=True)
        (folder / "types.yaml").write_text(f"mine: {types}\n")
        (folder / domain / "A.yaml").write_text(operator("A", VERSION.format(since=1, types="mine", more="")))
    get_operator_set("com.other", schemas=folders[1:]).save(tmp_path / "other.yaml")
    registry = registry_with([folders[0], tmp_path / "other.yaml"])
    first, second = (registry.schema("A", 1, domain).types["T"] for domain in ("com.one", "com.other"))
    assert second == ("tensor(bool)", "tensor(int16)")
    assert registry.type_sets == {**default_registry().type_sets, "mine": first}
    assert (registry.phrase(first), registry.phrase(second)) == ("mine", "bool, int16")


def test_an_operator_is_declared_once(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        acme(folder, A=operator("A", VERSION.format(since=1, types="floats", more="")))
    (one / "ai.onnx").mkdir()
    (one / "ai.onnx" / "Relu.yaml").write_text(operator("Relu", VERSION.format(since=99, types="floats", more="")))
    with pytest.raises(SchemaError) as caught:
        registry_with([one, other])
    assert [finding.code for finding in caught.value.findings] == ["S108", "S108"]
    assert caught.value.findings[0].place == f"{one}/ai.onnx/Relu.yaml:1:1"
    assert "by the standard" in caught.value.findings[0].message
    assert str(one) in caught.value.findings[1].message


def test_the_findings_of_all_folders_are_told_at_once(tmp_path):
    folders = [tmp_path / "one", tmp_path / "other", tmp_path / "not there"]
    for folder in folders[:2]:
        folder.mkdir()
        acme(folder, A="operator: A\nfamily: acme\nversions: []\n")
    with pytest.raises(SchemaError) as caught:
        registry_with(folders)
    assert [finding.place.split(":")[0] for finding in caught.value.findings] == [
        f"{folders[0]}/com.acme/A.yaml",
        f"{folders[1]}/com.acme/A.yaml",
        str(folders[2]),
    ]


def test_no_folders_give_the_standard_registry():
    assert registry_with([]) is default_registry()


def test_folders_of_entry_points(tmp_path, monkeypatch):
    package = tmp_path / "acme_schemas"
    package.mkdir()
    (package / "__init__.py").write_text("")
    info = tmp_path / "acme-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[opset.schemas]\nacme = acme_schemas\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "entry_points.txt").write_text("[opset.schemas]\nacme = ..\n")  # no package's metadata
    (tmp_path / "other-1.dist-info").mkdir()  # which offers nothing
    assert entry_point_folders() == [package]
    assert registry_module.ENTRY_POINTS == "opset.schemas"
    (tmp_path / "acme_module.py").write_text("")
    for missing in ("acme_module", "acme_module.inner", "acme_nonesuch", "acme_schemas.nonesuch"):
        (info / "entry_points.txt").write_text(f"[opset.schemas]\nacme = {missing}\n")
        assert entry_point_folders() == []
    (info / "entry_points.txt").write_text("[opset.schemas]\nacme = ..\n")
    with pytest.raises(UsageError) as caught:
        entry_point_folders()
    assert (caught.value.code, caught.value.file) == ("U103", str(info / "entry_points.txt"))


def test_a_package_that_cannot_be_read_does_not_hide_the_schemas_of_others(tmp_path, monkeypatch):
    package = tmp_path / "acme_schemas"
    package.mkdir()
    for name in ("acme-1.dist-info", "closed-1.dist-info"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "entry_points.txt").write_text("[opset.schemas]\nacme = acme_schemas\n")
    (package / "__init__.py").write_text("")

    def open_readable(path, mode):
        if "closed" in path:
            raise PermissionError(13, "Permission denied", path)
        return open(path, mode)

    monkeypatch.setattr(registry_module, "open", open_readable, raising=False)
    monkeypatch.setattr("sys.path", [str(tmp_path / "nonesuch"), str(tmp_path)])
    assert entry_point_folders() == [package]


def test_resolving_reads_no_yaml():
    code = (
        "import sys; from opset.opsets.registry import get_schema; get_schema('Softmax', 11); "
        "print(sorted({'yaml', 'numpy', 'difflib', 'importlib.metadata'} & sys.modules.keys()))"
    )
    for _ in range(2):  # the first may find that an index has to be built
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_registry_is_shown_by_its_domains(tmp_path):
    (tmp_path / "com.acme").mkdir()
    (tmp_path / "com.acme" / "A.yaml").write_text("operator: A\nfamily: f\nversions:\n- since: 3\n  doc: it\n")
    shown = repr(registry_with([tmp_path]))
    newest = default_registry().domains
    assert shown.startswith(f"<Registry of ai.onnx {newest['']}, ") and "com.acme 3" in shown


def test_a_file_that_is_in_a_trusted_folder_too_is_not_left_out(tmp_path):
    trusted, data = (tmp_path / name / "com.example" for name in ("trusted", "data"))
    for folder in (trusted, data):
        folder.mkdir(parents=True)
    for name in ("kernels.py", "adapters.py"):
        (data / name).touch()
    (trusted / "kernels.py").symlink_to(data / "kernels.py")
    registry = Registry([], [trusted.parent], [data.parent])
    assert registry.files("com.example", "kernels.py") == (trusted / "kernels.py",)
    left_out = {name: registry.files_left_out("com.example", name) for name in ("kernels.py", "adapters.py")}
    assert left_out == {"kernels.py": (), "adapters.py": (data / "adapters.py",)}


def test_files_of_a_folder_that_is_not_there(tmp_path):
    (tmp_path / "b.domain").mkdir()
    (tmp_path / "a.domain").mkdir()
    (tmp_path / "a.domain" / "folder.py").mkdir()
    for name in ("b.domain/k.py", "a.domain/k.py", "a.domain/K.yaml", "k.py"):
        (tmp_path / name).touch()
    assert files_named(tmp_path, "*.py") == [tmp_path / "a.domain/k.py", tmp_path / "b.domain/k.py"]
    assert files_named(tmp_path / "nowhere", "*.py") == files_named(tmp_path / "k.py", "*.py") == []
    assert files_named("x" * 5000, "*.py") == []


def test_the_examples_of_the_last_operator_are_kept():
    registry = default_registry()
    examples = registry.examples("Relu")
    assert registry.examples("Relu", "ai.onnx") is examples
    assert registry.examples("Celu") != examples == registry.examples("Relu")
