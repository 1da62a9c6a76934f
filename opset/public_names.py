"""The public names of a module, which its stub file states: each is imported when it is first used (PEP 562)."""

from __future__ import annotations

import ast
import sys
from functools import cache
from importlib import import_module
from typing import Any


@cache
def homes(module: str) -> dict[str, str]:
    """Return the modules that define the public names of a module, by name."""
    file = sys.modules[module].__file__
    with open(f"{file}i", encoding="utf-8") as stub:
        statements = ast.parse(stub.read()).body
    imports = [each for each in statements if isinstance(each, ast.ImportFrom)]
    return {alias.name: each.module or "" for each in imports for alias in each.names}


def _hint(module: str, name: str) -> str:
    """Return where to look for a name that a module does not have, "" for names that programs try on any module."""
    if name.startswith("__"):
        return ""
    from difflib import get_close_matches  # slow to import, and needed for errors alone

    near = get_close_matches(name, homes(module))
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f"; dir({module}) lists its names, and opset.compat.onnx has those of the onnx package"


def public_name(module: str, name: str) -> Any:
    """Return the value of a public name of a module, or of `__all__`, and keep it there.

    Raises:
        AttributeError: If the module has no such name; the error says where to look.
    """
    if name != "__all__" and name not in homes(module):
        raise AttributeError(f"module '{module}' has no attribute '{name}'{_hint(module, name)}")
    value = sorted(homes(module)) if name == "__all__" else getattr(import_module(homes(module)[name]), name)
    setattr(sys.modules[module], name, value)
    return value
