"""Validates the SARIF of every verb against the JSON Schema of the standard, which is not ours to give away.

    python -m judges sarif --schema sarif-schema-2.1.0.json

The schema is in the repository oasis-tcs/sarif-spec, sarif-2.1/schema. Each verb that finds something is called as the
tests of reports call it, in a folder with good and faulty models and operators. The exit status is 1 if a log does not
follow the schema, or if there are no results at all.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from jsonschema.validators import validator_for

from tests.cli.commands import REFUSED, SMALL, run, save
from tests.cli.test_report_schemas import BEFORE, FINDERS
from tests.schemas.texts import SCALE


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 if the SARIF of a verb does not follow the schema."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schema", type=Path, required=True, help="sarif-schema-2.1.0.json")
    schema = json.loads(parser.parse_args(arguments).schema.read_text(encoding="utf-8"))
    validator = validator_for(schema)(schema)
    found = results = 0
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        os.chdir(folder)
        for call in [*FINDERS, ["check", "small.onnx", os.path.join("ä b", "refused%.onnx")]]:
            if call[0] in BEFORE:
                run(*BEFORE[call[0]])
            log = json.loads(run(*call, "--format", "sarif").stdout)
            errors = [*validator.iter_errors(log)]
            results += len(log["runs"][0]["results"])
            found += bool(errors)
            print(f"{' '.join(call)}: {len(log['runs'][0]['results'])} results, {len(errors)} faults")
            for error in errors[:5]:
                print(f"  {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}")
            if validator.is_valid({**log, "version": "2.0.0"}):
                print("  the schema refuses nothing: it is another one")
                found += 1
        os.chdir(before)
    return int(found > 0 or results == 0)


def write_files(folder: Path) -> None:
    """Write the models and operators that the calls name."""
    save("small.onnx", SMALL, folder)
    save("refused.onnx", REFUSED, folder)
    save("ä b/refused%.onnx", REFUSED, folder)
    (folder / "other.onnxtxt").write_text(SMALL.replace("Relu", "Neg"))
    texts = {
        "schemas": SCALE,
        "changed": SCALE.replace("default: 1.0", "default: 2.0"),
        "broken": SCALE.replace("doc: where", "dok: where"),
        "failing": SCALE,
    }
    for name, text in texts.items():
        path = folder / name / "com.acme" / "Scale.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(text)


if __name__ == "__main__":
    raise SystemExit(main())
