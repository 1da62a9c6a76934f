"""ONNX operator sets: what operators mean at a version, and conversion of models between versions.

    import opset
    opset.convert("model.onnx", 21).save("model-21.onnx")

The public names stand in __init__.pyi. Each is imported when it is first used, so that `import opset` costs next to
nothing.
"""

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    from opset.public_names import public_name

    return public_name(__name__, name)


def __dir__() -> list[str]:
    from opset.public_names import homes

    return sorted([*homes(__name__), "__version__"])
