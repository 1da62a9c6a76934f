"""The public names of onnx's modules beside those of opset.compat.onnx, in docs/from-onnx.md.

python -m tests.compat.names   # writes the table anew
"""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import onnx

from opset.compat.onnx.absent import ABSENT

PACKAGE = ""
"""Stands for the package itself."""
PAGE = Path(__file__).parents[2] / "docs" / "from-onnx.md"
HEAD = "## Name by name\n"
MODULES = (
    "checker version_converter shape_inference reference parser printer inliner compose defs helper numpy_helper "
    "external_data_helper utils model_container serialization backend tools"
).split()
MODULES.insert(0, PACKAGE)
SAME = "same"

_OWN_ERROR = "an exception of opset, with all findings: "
_OWN_MESSAGE = "the message is of `opset.model.proto`: the same fields, another class"
_OWN_SCHEMA = "an `OpSchema` of opset; the domain may also stand before the version"
DIFFERENCES = {
    ("checker", "DEFAULT_CONTEXT"): "a `CheckerContext` of the module; those of onnx serve, too",
    ("checker", "LEXICAL_SCOPE_CONTEXT"): "a `LexicalScopeContext` of the module",
    ("checker", "ValidationError"): f"{_OWN_ERROR}`CheckError`",
    ("version_converter", "ConvertError"): f"{_OWN_ERROR}`ConversionError`",
    ("version_converter", "convert_version"): "the same parameters; a refusal names every node that stands in the way",
    ("shape_inference", "InferenceError"): f"{_OWN_ERROR}`InferenceError`",
    ("reference", "ReferenceEvaluator"): "the same parameters; `new_ops` is refused, and `verbose` prints other lines",
    ("parser", "ParseError"): "an exception of opset, with line and column: `ModelError`",
    **{("parser", f"parse_{part}"): _OWN_MESSAGE for part in ("function", "graph", "model", "node")},
    (
        "compose",
        "merge_models",
    ): "the same parameters; opsets and IR versions may differ, and names that clash are renamed",
    ("utils", "extract_model"): "the same parameters; types are always inferred, and weights are not read",
    ("printer", "to_text"): "the same parameters; the text reads back to the same message",
    ("inliner", "inline_selected_functions"): "the same parameters; functions of other versions are converted",
    ("defs", "OpSchema"): "other attributes: [Schemas](#schemas)",
    ("defs", "SchemaError"): f"{_OWN_ERROR}`UsageError`",
    ("defs", "has"): '`"ai.onnx"` is a name of the empty domain; it may also stand before the version',
    ("defs", "get_schema"): _OWN_SCHEMA,
    ("defs", "get_all_schemas"): "in a fixed order, of opset's `OpSchema`",
    ("defs", "get_all_schemas_with_history"): "in a fixed order, of opset's `OpSchema`",
    (
        "defs",
        "get_function_ops",
    ): "the operators that have a body in opset, which are not exactly onnx's",
}
"""What differs about the names that both have, unless they are functions with the same parameters, or equal values."""


def public_names(module):
    """Return the public names that a module of onnx lists or defines, sorted; of a package, also its modules."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    names = {each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.ClassDef)}
    for each in tree.body:
        targets = (
            each.targets if isinstance(each, ast.Assign) else [each.target] if isinstance(each, ast.AnnAssign) else []
        )
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    names |= {*getattr(module, "__all__", ())}
    if not names:
        names = {each.name for each in pkgutil.iter_modules(module.__path__)}
    return sorted(name for name in names if not name.startswith("_"))


def parameters(function):
    """Name, kind and default of each parameter; a default that is no plain value by its class."""
    return [
        (each.name, each.kind, each.default if plain(each.default) else type(each.default).__name__)
        for each in inspect.signature(function).parameters.values()
        if not each.name.startswith("_")
    ]


def plain(default):
    return default is inspect.Parameter.empty or isinstance(default, int | str | bool | None)


def is_same(ours, theirs):
    """Whether two things are functions with the same parameters, or equal texts and numbers."""
    if inspect.isfunction(ours) and inspect.isfunction(theirs):
        return parameters(ours) == parameters(theirs)
    return isinstance(ours, int | str) and ours == theirs


def answer(module, name):
    """Return what opset.compat.onnx has of a name of a module of onnx."""
    advice = ABSENT[""].get(module) or ABSENT.get(module, {}).get(name)
    if advice is not None:
        return f"none: {advice}"
    ours = getattr(importlib.import_module(f"opset.compat.onnx.{module}"), name)
    theirs = getattr(module_of_onnx(module), name)
    return DIFFERENCES.get((module, name)) or (SAME if is_same(ours, theirs) else "")


def module_of_onnx(module):
    """Return a module of onnx, the package itself for PACKAGE."""
    return importlib.import_module(f"onnx.{module}".rstrip("."))


def answers():
    """The answers for all public names, by module and name; modules have rows of their own."""
    return {
        (module, name): answer(module, name)
        for module in MODULES
        for name in public_names(module_of_onnx(module))
        if module or name not in MODULES
    }


def table():
    """Return the section of the page: a row for the names of a module that have one answer."""
    rows = {}
    for (module, name), text in answers().items():
        rows.setdefault((module, text), []).append(f"`{name}`")
    version = onnx.__version__.rpartition(".")[0]
    lines = [
        HEAD,
        f"All public names of the modules of onnx {version}, which has no `hub` and no `mapping` any more. A name that",
        "is *same* stands in `opset.compat.onnx`, with the same parameters.",
        "",
        "| module | names | in `opset.compat.onnx` |",
        "|---|---|---|",
        *(f"| {module or 'onnx'} | {', '.join(names)} | {text} |" for (module, text), names in rows.items()),
    ]
    return "\n".join(lines) + "\n"


def with_table(text):
    """Return the page with the table as its last section."""
    return text.partition(HEAD)[0].rstrip("\n") + "\n\n" + table()


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
