"""The rules that YAML names as `shape:`; each is registered by its decorator when this package is imported."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
