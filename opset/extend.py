"""Imports for authors of operators: decorators for kernels, inference and adapters, and the objects that these use.

    from opset.extend import kernel, infer, down, Violation, Refusal

Files beside the YAML of a domain, `kernels.py`, `inference.py` and `adapters.py`, register the functions of its
operators. Tests of an operator run its examples: `model_of`, `feeds_of`, `value_of` and `differences`. Each name,
of extend.pyi, is imported when it is first used, so that a file of adapters does not wait for numpy.
"""

from __future__ import annotations

from opset.public_names import homes, public_name


def __getattr__(name: str) -> object:
    return public_name(__name__, name)


def __dir__() -> list[str]:
    return sorted(homes(__name__))
