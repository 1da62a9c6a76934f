"""All of the documentation of the standard, in every form: `python -m tests.docgen.whole [FORM]...`, a minute or two.

- The bytes are the same whatever the hash seed, the locale, the time zone and the folder are, and in a second run.
- The JSON form follows its JSON Schema.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jsonschema

from opset.docgen import FORMS
from tests.docgen.domains import tree

ROOT = Path(__file__).parents[2]
SETTINGS = [
    {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "UTC"},
    {"PYTHONHASHSEED": "2", "LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu"},
]


def made(form, folder, settings, *arguments):
    """The files that `opset docs` writes under some settings."""
    command = [sys.executable, "-m", "opset", "docs", "-o", str(folder), "--format", form, "--quiet", *arguments]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT), **settings}, check=True)
    return tree(folder)


def differences(form, folder, *arguments):
    """Return the names of files that differ between runs under different settings, and the files of the last run."""
    first, second = (made(form, folder / f"{form}{each}", SETTINGS[each], *arguments) for each in (0, 1))
    again = made(form, folder / f"{form}1", SETTINGS[1], *arguments)
    names = first.keys() | second.keys() | again.keys()
    return [each for each in sorted(names) if not first.get(each) == second.get(each) == again.get(each)], again


def main(forms):
    with tempfile.TemporaryDirectory() as folder:
        for form in forms or FORMS:
            begun = time.monotonic()
            wrong, files = differences(form, Path(folder))
            size = sum(map(len, files.values()))
            print(f"{form}: {len(files)} files, {size / 1e6:.1f} MB, three runs in {time.monotonic() - begun:.0f} s")
            if form == "json":
                document, schema = (json.loads(files[each]) for each in ("operators.json", "operators.schema.json"))
                wrong += [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(document)]
            for each in wrong:
                print(f"  wrong: {each}")
            if wrong:
                return 1
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("forms", nargs="*", choices=[*FORMS, []], metavar="FORM", help=f"{', '.join(FORMS)}; all")
    sys.exit(main(parser.parse_args().forms))
