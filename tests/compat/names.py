"""The public names of onnx's modules beside those of opset.compat.onnx, in docs/from-onnx.md.

python -m tests.compat.names   # writes the table anew
"""

import importlib
import inspect
import types
from pathlib import Path

import onnx

from opset.compat.onnx.absent import ABSENT

PAGE = Path(__file__).parents[2] / "docs" / "from-onnx.md"
HEAD = "## Name by name\n"
MODULES = (
    "checker version_converter shape_inference reference parser printer inliner compose defs helper numpy_helper "
    "external_data_helper utils"
).split()


def public_names(module):
    """Return the public names that a module defines, or lists as its own."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    return sorted(
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and not isinstance(thing, types.ModuleType)
        and name not in ("TYPE_CHECKING", "IR_VERSION")
        and getattr(thing, "__module__", module.__name__).startswith(module.__name__)
    )


def plain(default):
    """Return a default that both can have, or its kind: a context is an object of either package."""
    return default if isinstance(default, bool | int | str | None) else "object"


def is_same(ours, theirs):
    """Whether two functions take the same parameters, by name, order and default; what is compiled counts as same."""
    try:
        pairs = [
            [(each.name, plain(each.default)) for each in inspect.signature(one).parameters.values()]
            for one in (ours, theirs)
        ]
    except (TypeError, ValueError):
        return True
    return pairs[0] == pairs[1]


def rows():
    """Yield module, name and what opset has of it."""
    for module in MODULES:
        theirs = importlib.import_module(f"onnx.{module}")
        if module in ABSENT[""]:
            count = len(public_names(theirs))
            yield module, f"all {count} names", f"none: {ABSENT[''][module]}"
            continue
        ours = importlib.import_module(f"opset.compat.onnx.{module}")
        for name in public_names(theirs):
            advice = ABSENT.get(module, {}).get(name)
            if advice is not None:
                yield module, f"`{name}`", f"none: {advice}"
            elif hasattr(ours, name):
                same = not callable(getattr(theirs, name)) or is_same(getattr(ours, name), getattr(theirs, name))
                yield module, f"`{name}`", "same" if same else "the same name; parameters differ"
            else:
                yield module, f"`{name}`", "none: internal to onnx"


def table():
    """Return the section of the page."""
    version = onnx.__version__.rpartition(".")[0]
    lines = [
        HEAD,
        f"The public names of onnx {version}, in the modules that programs call. A name that",
        "is *same* stands in `opset.compat.onnx`, with the same parameters.",
        "",
        "| module | name | in `opset.compat.onnx` |",
        "|---|---|---|",
        *(f"| {module} | {name} | {text} |" for module, name, text in rows()),
    ]
    return "\n".join(lines) + "\n"


def with_table(text):
    """Return the page with the table as its last section."""
    return text.partition(HEAD)[0].rstrip("\n") + "\n\n" + table()


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
