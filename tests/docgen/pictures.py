"""The pictures in docs/pictures/, as the documentation draws them.

python -m tests.docgen.pictures        # writes them
"""

import re
from pathlib import Path

from opset.docgen.body import body_picture
from opset.docgen.picture import Box, Diagram, Edge, picture, stylesheet
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


def woven(count, step):
    """A picture of boxes that read from each other by a rule, so that lines cross and pass layers."""
    boxes = [Box(f"in{number}", kind="input") for number in range(3)]
    edges = []
    for number in range(3, count):
        label = ("漢字" if number == 5 else f"Op{number}") * (1 + number % 3)
        detail = ("d" * (number * step % 23 + 1),) * (number % 4)
        boxes.append(Box(label, detail, "op.html" if number == 4 else ""))
        starts = {
            number * step % number,
            (number * number * step + 1) % number,
            number - 1 if number % 3 else number // 2,
        }
        edges += [Edge(start, number, f"v{start}_{(start + number) % 2}") for start in sorted(starts)]
    boxes.append(Box("out", kind="output"))
    return picture(Diagram("woven", boxes, [*edges, Edge(count - 1, count, "out")]))


def main():
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "gelu.svg").write_text(f"{drawing('Gelu')}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
