"""The rules that YAML names as `shape:`; each is registered by its decorator when this package is imported."""

from importlib import import_module
from pathlib import Path

for _module in sorted(Path(__file__).parent.glob("[!_]*.py")):
    import_module(f"{__name__}.{_module.stem}")
