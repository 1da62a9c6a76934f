"""Imports run one way, slow packages are imported where they are needed alone, and modules stay short."""

import ast
import os
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import onnx.parser
import pytest

import opset
from opset.schemas.index import standard_index

ROOT = Path(opset.__file__).parent
MODULES = {
    ".".join(("opset", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}
# Parts from below to above: each may import those before it, and itself.
ORDER = (
    "advice public_names errors rules plain_text plain_formula html_text file_names numbers budget options "
    "child_process model schemas output_folder opsets preparation inference reference tensor_io checker "
    "version_converter adapters extend composition verification reduction description catalog compat explanations "
    "docgen reports workflow cli __main__"
).split()
# A program that another process runs, with the runtimes that are tested: no module of the package.
WORKER = "opset.workflow.conformance.worker"
# Another one, with the runtime that is installed, which loads models to see what it takes.
LOADER = "opset.opsets.runtimes.loading_program"
# And one that runs a model in it.
RUNNER = "opset.verification.runtime_program"
# Which modules may import a package that is not part of Python; none may import onnx or a runtime but these.
ALLOWED = {
    # A Model gives itself to a caller's onnx or onnx-ir: imported in `to_onnx` and `to_ir`, and for checkers of types.
    "onnx": (WORKER, "opset.model.storage.container"),
    "onnx_ir": ("opset.model.storage.container",),
    "onnxruntime": (WORKER, LOADER, RUNNER),
    "openvino": (LOADER, RUNNER),
    "google": ("opset.model",),
    "click": ("opset.cli",),
    "yaml": ("opset.schemas.yaml.reader",),
    "numpy": (
        "opset.model.arrays",
        "opset.reference",
        "opset.tensor_io",
        "opset.cli.run",
        "opset.verification",
        WORKER,
    ),
    "ml_dtypes": ("opset.model.arrays", "opset.reference"),
    "re2": ("opset.reference.kernels.text",),
    "PIL": ("opset.reference.kernels.image",),
    "jinja2": ("opset.docgen", "opset.reports", "opset.workflow"),
    "markupsafe": ("opset.docgen", "opset.reports"),
    "markdown_it": ("opset.docgen",),
    "pygments": ("opset.docgen",),
    "latex2mathml": ("opset.docgen",),
    "typing_extensions": ("opset.version_converter",),  # for checkers of types, which all know it
    "tomli": ("opset.cli.configuration",),
    "tqdm": ("opset.cli.progress",),
    "distributed": ("opset.cli.working",),
    "fsspec": ("opset.model.storage.remote",),
}


@cache
def imports(name):
    """The names of the modules that a module imports anywhere, for type checking alone too."""
    return frozenset(imported(name))


def imported(name):
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (each if each in MODULES else node.module for each in whole)


def part(module):
    return module.split(".")[1] if "." in module else ""


def run(code, *arguments, cwd=None):
    environment = {**os.environ, "PYTHONPATH": str(ROOT.parent)}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=True
    )


def test_every_part_has_its_place_in_the_order():
    assert {part(name) for name in MODULES} - {""} <= set(ORDER)


def test_imports_run_one_way():
    below = {each: {"", *ORDER[: position + 1]} for position, each in enumerate(ORDER)}
    wrong = [
        f"{name} imports {each}, which is above it"
        for name in MODULES
        if name != "opset"
        for each in imports(name)
        if each.split(".")[0] == "opset" and part(each) not in below[part(name)]
    ]
    assert not wrong, "\n".join(wrong)


def test_no_modules_import_each_other_in_a_circle():
    # Packages whose names are imported lazily (PEP 562) point at their own modules without importing them.
    graph = {name: {each for each in imports(name) if each in MODULES} for name in MODULES}
    graph["opset.model"] = set()
    TopologicalSorter(graph).prepare()


def reachable(start):
    """Every module of opset that the given ones import, directly or through others."""
    found, pending = set(), [*start]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += [each for each in imports(name) if each in MODULES]
    return found


def test_kernels_do_not_import_what_runs_them():
    kernels = [name for name in MODULES if name.startswith(("opset.reference.kernels.", "opset.reference.numerics."))]
    assert len(kernels) > 30
    engine = {name for name in MODULES if name.startswith("opset.reference.engine.")}
    assert len(engine) > 8
    assert not reachable(kernels) & engine


def test_families_do_not_import_engines():
    families = [name for name in MODULES if ".families." in name or name.startswith("opset.inference.building.")]
    assert len(families) > 60
    engine = {name for name in MODULES if name.startswith("opset.inference.engine.")}
    assert len(engine) > 12
    found = {name: sorted(imports(name) & engine) for name in families}
    wrong = [f"{name} imports {', '.join(names)}" for name, names in found.items() if names]
    assert not wrong, "\n".join(["an engine calls families, and they do not import it:", *wrong])


def test_a_family_has_the_same_name_in_every_layer():
    kernels, inference, adapters = (
        {name.removeprefix(f"{package}.") for name in MODULES if name.startswith(f"{package}.")}
        for package in ("opset.reference.kernels", "opset.inference.families", "opset.adapters.families")
    )
    assert len(kernels) > 30
    assert kernels == inference, "each family has kernels and inference"
    assert adapters < kernels, "an adapter belongs to a family that has kernels"


def test_packages_are_imported_where_they_belong():
    known = {*sys.stdlib_module_names, "opset"}
    misplaced = [
        f"{name} imports {package}, which {', '.join(ALLOWED.get(package, ())) or 'nothing'} may import"
        for name in MODULES
        for package in sorted({imported.split(".")[0] for imported in imports(name)} - known)
        if not any(f"{name}.".startswith(f"{allowed}.") for allowed in ALLOWED.get(package, ()))
    ]
    assert not misplaced, "\n".join(misplaced)


@pytest.mark.parametrize("program", [WORKER, LOADER, RUNNER])
def test_a_program_with_runtimes_is_imported_by_nothing(program):
    assert program in MODULES and not [name for name in MODULES if program in imports(name)]


def test_a_module_has_at_most_800_lines():
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in MODULES.items()}
    assert {name: f"{lines} lines: split it" for name, lines in lengths.items() if lines > 800} == {}


SMALL = """<ir_version: 6, opset_import: ["": 11]>
    main (float[2, 3] x) => (float[2, 3] y) { r = Unsqueeze <axes = [0]> (x)  s = Softmax (r)  y = Squeeze (s) }"""
SLOW = set(
    "numpy ml_dtypes yaml rich jinja2 markdown_it pygments latex2mathml "
    "onnx onnxruntime importlib.metadata asyncio".split()
)


@pytest.mark.parametrize(
    ("arguments", "also"),
    [
        (["--help"], {"google.protobuf", "opset.schemas", "opset.model"}),
        (
            ["convert", "model.onnx", "--to", "21"],
            {
                "multiprocessing",
                "opset.cli.show",
                "opset.model.text.protobuf",
                "google.protobuf.json_format",
                "opset.schemas.yaml.loader",
                "opset.opsets.runtimes",
                "opset.version_converter.availability",
                "opset.version_converter.lacks",
                "opset.version_converter.opset_choice",
                "opset.version_converter.blockers",
                "hashlib",
                "xml",
                "queue",
                "shlex",
                "opset.cli.findings_formats",
                "opset.inference.engine.binding",
                "opset.verification",
                "opset.version_converter.branches",
                "opset.version_converter.calls",
                "opset.version_converter.function_copies",
                "opset.version_converter.ir_functions",
                "opset.version_converter.stacking",
            },
        ),
        (["explain", "C204"], {"google.protobuf", "opset.model"}),
    ],
)
def test_the_command_line_starts_without_what_it_does_not_need(arguments, also, tmp_path):
    standard_index()  # built where it is older than the YAML, which takes the YAML's reader
    (tmp_path / "model.onnx").write_bytes(onnx.parser.parse_model(SMALL).SerializeToString())
    code = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
        "from opset.cli import main; main()"
    )
    done = run(code, *arguments, cwd=tmp_path)
    assert (SLOW | also) & set(done.stderr.split()) == set()
    if arguments[0] == "convert":
        assert (tmp_path / "model-opset21.onnx").exists()


def test_opset_itself_imports_next_to_nothing():
    code = "import sys; before = set(sys.modules); import opset; print(*(set(sys.modules) - before))"
    done = run(code)
    assert {name for name in done.stdout.split() if "opset" in name} == {"opset"}
    assert not {"google", "json", "dataclasses"} & set(done.stdout.split())
