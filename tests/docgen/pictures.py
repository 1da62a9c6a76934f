"""The pictures in docs/pictures/, as the documentation draws them.

python -m tests.docgen.pictures        # writes them
"""

import re
from pathlib import Path

from opset.docgen.body import body_picture
from opset.docgen.picture import stylesheet
from opset.opsets.registry import default_registry

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
LIGHT = re.compile(r"light-dark\(([^,]+), [^)]+\)")


def drawing(operator):
    """The function body of an operator as a picture of its own, on white."""
    schema = default_registry().versions(operator, "")[-1]
    found = re.search(r"<svg.*</svg>", str(body_picture(schema, schema.function[-1])), re.DOTALL)[0]
    style = LIGHT.sub(r"\1", stylesheet()).replace(".picture ", "")
    head = f"<style>svg {{ background: #fff; font-family: sans-serif; }}\n{style}</style>"
    return found.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1).replace("<title>", f"{head}<title>", 1)


def main():
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "gelu.svg").write_text(f"{drawing('Gelu')}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
