"""Runtimes as data: which operators, versions and types each release takes; one YAML file a runtime, in data/."""

from opset.opsets.runtimes.model import Kernel, Runtime
from opset.opsets.runtimes.names import find_runtime, releases_of, runtime_names

__all__ = ["Kernel", "Runtime", "find_runtime", "releases_of", "runtime_names"]
