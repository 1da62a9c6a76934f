"""What released onnx packages declare, beside our operators as of their releases: versions, types, attributes.

python -m judges releases FOLDER…   # folders of onnx packages, each named after its release: 1.20.0

Such a folder has the package's `onnx/`, unpacked. Ends with 1 where anything differs.
"""

import argparse
import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from opset.opsets.amendments import schema_of_release
from opset.opsets.registry import default_registry
from opset.opsets.releases import release
from opset.schemas.model import OpSchema

OURS = default_registry()
Declared = dict[tuple[str, str, int], tuple[bool, dict[str, frozenset[str]], dict[str, bool]]]
"""Domain, operator, since_version -> whether it is withdrawn, types by parameter, attributes with "required"."""


def declared_by(folder: Path) -> Declared:
    """Return what the onnx package in a folder declares; a process loads one package at most."""
    (file,) = (folder / "onnx").glob("onnx_cpp2py_export*.so")
    spec = importlib.util.spec_from_file_location("onnx_cpp2py_export", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {
        (each.domain, each.name, each.since_version): (
            each.deprecated,
            {types.type_param_str: frozenset(types.allowed_type_strs) for types in each.type_constraints},
            {name: attribute.required for name, attribute in each.attributes.items()},
        )
        for each in module.defs.get_all_schemas_with_history()
    }


def plain(schema: OpSchema):
    attributes = {name: attribute.required for name, attribute in schema.attributes.items()}
    return schema.deprecated, {name: frozenset(types) for name, types in schema.types.items()}, attributes


def expected(name: str) -> Declared:
    """Return what our operators are as of a release."""
    opsets = release(name)
    found = {}
    for domain in OURS.domains:
        for operator in OURS.operators(domain):
            for schema in OURS.versions(operator, domain):
                as_of = schema_of_release(schema, name)
                if as_of is not None and schema.since_version <= opsets.opset_of(domain):
                    found[domain, operator, schema.since_version] = plain(as_of)
    return found


def differences(theirs: Declared, ours: Declared) -> list[str]:
    known = {domain for domain, *_ in ours}
    lines = []
    for key in sorted({*ours, *(key for key in theirs if key[0] in known)}):
        if theirs.get(key) != ours.get(key):
            lines.append(f"{key[0] or 'ai.onnx'} {key[1]} {key[2]}: {theirs.get(key)} there, {ours.get(key)} here")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Print how each release differs from our operators; return the exit status."""
    parser = argparse.ArgumentParser(prog="judges releases", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="an onnx package, named after its release")
    folders = parser.parse_args(arguments).folders
    if len(folders) > 1:  # of one library, a process loads one version
        command = [sys.executable, "-m", "judges", "releases"]
        return max(subprocess.run([*command, folder]).returncode for folder in folders)
    folder = Path(folders[0])
    theirs = declared_by(folder)
    lines = differences(theirs, expected(folder.name))
    print(f"onnx {folder.name}: {len(theirs)} versions of operators, {len(lines)} differ", *lines, sep="\n  ")
    return 1 if lines else 0
