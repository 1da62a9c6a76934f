"""Builds the package: a wheel has the compiled YAML, guides and examples; the description has no links to files."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


def ours(root: str, name: str) -> Any:
    """Return a module of the folder that is being built."""
    sys.path.insert(0, root)
    try:
        module = import_module(name)
    finally:
        sys.path.remove(root)
    if Path(root, "opset") not in Path(module.__file__ or "").parents:
        raise RuntimeError(f"{module.__file__} was imported in place of the folder that is being built")
    return module


class CustomBuildHook(BuildHookInterface):
    """Compiles the YAML, so that an installed package never parses it, and puts guides and examples into a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        index = ours(self.root, "opset.schemas.index")
        index.build_index(index.FOLDER)
        ours(self.root, "opset.opsets.runtimes.compiled").build()
        if self.target_name == "wheel" and version == "standard":  # an editable installation reads docs/
            build_data["force_include"].update(ours(self.root, "opset.docgen.guides").files_in_wheel(Path(self.root)))


class CustomMetadataHook(MetadataHookInterface):
    """Takes the README as description, with links to files in words: a package index has no such files."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = ours(self.root, "opset.docgen.guides").plain_text(text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
