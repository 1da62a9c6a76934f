"""Checks the calls that operators name as counterparts in numpy, torch, tensorflow, jax and scikit-learn.

    python -m judges counterparts [-k PATTERN]

Of each call in backticks, every name has to exist in its library, and take as many arguments and the keywords that are
given; functions without a signature in Python, as most of torch's, are looked up by name alone. The libraries are not
test extras: one that is not installed is left out, with a line that says so. The exit status is 1 where a call cannot
be right. tensorflow needs an environment of its own where it wants other versions.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

from opset.opsets.registry import default_registry

MODULES = {
    "np": "numpy",
    "scipy": "scipy scipy.special scipy.signal.windows",
    "torch": "torch torch.nn.attention.flex_attention torch.ao.nn.quantized.functional",
    "torchvision": "torchvision torchvision.ops torchvision.io torchvision.transforms.functional",
    "torchaudio": "torchaudio torchaudio.functional",
    "tf": "tensorflow",
    "jax": "jax jax.nn jax.scipy.special",
    "jnp": "jax.numpy",
    "sklearn": "sklearn sklearn.preprocessing",
    "math": "math",
    "functools": "functools",
    "re": "re",
}
"""By the name that calls begin with: the module it stands for, and those that have to be imported besides."""
ESTIMATORS = "preprocessing impute linear_model svm ensemble feature_extraction feature_extraction.text"
"""The modules of sklearn whose classes are named alone."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 where a call cannot be right."""
    parser = argparse.ArgumentParser(description="Checks the calls that operators name as counterparts.")
    parser.add_argument("-k", metavar="PATTERN", default="", help="only operators whose name matches")
    pattern = re.compile(parser.parse_args(arguments).k)
    roots, missing = libraries()
    print(f"not installed, left out: {', '.join(missing) or 'none'}")
    found, checked = 0, set()
    for operator, text in counterparts():
        if pattern.search(operator) and (operator, text) not in checked:
            checked.add((operator, text))
            for wrong in faults(text, roots):
                print(f"{operator}: {wrong}")
                found += 1
    print(f"{len(checked)} counterparts, {found} findings")
    return min(found, 1)


def libraries() -> tuple[dict[str, Any], list[str]]:
    """Return what calls may begin with, and the names of libraries that cannot be imported."""
    roots: dict[str, Any] = {}
    missing = []
    for name, modules in MODULES.items():
        first, *others = modules.split()
        try:
            roots[name] = importlib.import_module(first)
            for module in others:
                importlib.import_module(module)
        except (ImportError, OSError, RuntimeError):
            roots.pop(name, None)
            missing.append(name)
    if "sklearn" in roots:
        for module in ESTIMATORS.split():
            classes = vars(importlib.import_module(f"sklearn.{module}"))
            roots |= {name: value for name, value in classes.items() if inspect.isclass(value) and name[0].isupper()}
    return roots, missing


def counterparts() -> Iterator[tuple[str, str]]:
    """Yield the operator and the text of each counterpart of each version."""
    registry = default_registry()
    for domain in registry.domains:
        for name in registry.operators(domain):
            for schema in registry.versions(name, domain):
                for text in registry.documentation(schema).counterparts.values():
                    yield name, text


def faults(text: str, roots: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the code in a text."""
    for code in re.findall(r"`([^`]+)`", text):
        if re.fullmatch(r"[.\w]+", code) and "." not in code[1:]:
            continue  # a word, or the name of a method
        try:
            tree = ast.parse(code.replace("…", "..."))
        except SyntaxError as error:
            yield f"{code}: {error.msg}"
            continue
        for node in ast.walk(tree):
            try:
                if isinstance(node, ast.Call):
                    _bind(node, named(node.func, roots))
                elif isinstance(node, ast.Attribute):
                    named(node, roots)
            except (AttributeError, TypeError) as error:
                yield f"{code}: {error}"


def named(node: ast.expr, roots: dict[str, Any]) -> Any:
    """Return what a dotted name stands for, None where it begins with anything but a library."""
    if isinstance(node, ast.Name):
        return roots.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = named(node.value, roots)
    return None if owner is None else getattr(owner, node.attr)


def _bind(call: ast.Call, function: Any) -> None:
    """Raise TypeError where a function takes other arguments than those of a call."""
    if function is None or any(isinstance(each, ast.Starred) for each in call.args):
        return
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # written in C
    signature.bind(*call.args, **{each.arg: each.value for each in call.keywords if each.arg})
