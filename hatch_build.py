"""Compiles the operator YAML when the package is built, so that an installed one never parses YAML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sys.path.insert(0, self.root)
        try:
            from opset.schemas.index import FOLDER, build
        finally:
            sys.path.remove(self.root)
        if Path(self.root, "opset", "schemas") != FOLDER:
            raise RuntimeError(f"{FOLDER} was imported in place of the folder that is being built")
        build(FOLDER)
