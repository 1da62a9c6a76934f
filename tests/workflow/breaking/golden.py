"""What every rule finds in every pair of states, as one file to read; the fixtures of the rules as folders.

    python -m tests.workflow.breaking.golden      # writes findings.txt and the guide's table; read the difference

A rule has a fixture in opset/workflow/breaking/fixtures.yaml: `old` and `new` are a pair in which it finds something;
`good` is what to do instead. `back` is the way from `new` to `old`.
"""

import re
import tempfile
from functools import cache
from pathlib import Path

from opset.opsets.registry import registry_with
from opset.workflow.breaking import BREAKING, compare
from opset.workflow.breaking.pages import fixtures
from opset.workflow.breaking.states import folder_state
from tests.workflow.breaking.conftest import THIN

HERE = Path(__file__).parent
FINDINGS = HERE / "findings.txt"
RULES = BREAKING.by_code
_FOLDER = tempfile.TemporaryDirectory(prefix="opset-fixtures-")
FOLDER = Path(_FOLDER.name)
_FILE = re.compile(r"([ +-]) ((?:[\w.]+/)?\w+\.(?:yaml|json))")
_VERSION = re.compile(r"^- since: \d+\n((?:  .*\n)+)", re.MULTILINE)


def edited(files, edits):
    """Files after edits: a line names a file, those below are lines of it that go, come or stay.

    "^" stands for the lines of the newest version that come once more; further edits begin with them.
    """
    files = dict(files)
    path, hunk, lines, position = "", [], [], 0
    for line in [*edits.splitlines(), "  …"]:
        named = _FILE.fullmatch(line)
        if not named and line.strip() != "…":
            body = _VERSION.search("\n".join([*lines, ""]))[1] if line == "^" else ""
            hunk += [f"+ {each}" for each in body.splitlines()] if body else [line]
            continue
        if hunk:
            copied = "^" in edits and any(each.startswith("+ - since") for each in hunk)
            before, after = ([each[2:] for each in hunk if each[0] != sign] for sign in "+-")
            starts = range(position, len(lines) - len(before) + 1)
            position = next(start for start in starts if lines[start : start + len(before)] == before)
            lines[position : position + len(before)] = after
            position += 0 if copied else len(after)
            hunk = []
            files[path] = "".join(f"{each}\n" for each in lines)
        if named:
            sign, path = named.groups()
            text = files.pop(path, "") if sign != "+" else THIN.replace("Thin", Path(path).stem) if "/" in path else ""
            lines, position = text.splitlines(), 0
            if sign != "-":
                files[path] = text
    return files


def texts(rule, side):
    """The files of a state by their paths; those of the older state if the rule has no good one."""
    fixture = fixtures()[rule]
    old = edited({"com.acme/Thin.yaml": THIN}, fixture.get("old", ""))
    if side == "old" or (side == "good" and not {"version", "good"} & fixture.keys()):
        return old
    if side == "good" and "good" in fixture:
        return edited(old, fixture["good"])
    new = edited(old, fixture["bad"])
    if side == "new":
        return new
    (name,) = (path for path in new if new[path] != old[path])
    body = _VERSION.search(new[name])[1]
    return {**old, name: old[name].replace("versions:\n", f"versions:\n{fixture['version']}{body}", 1)}


@cache
def folder(rule, side):
    """The folder with a state of a rule."""
    top = FOLDER / rule / side
    for path, text in texts(rule, side).items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text, encoding="utf-8")
    return top


@cache
def state(rule, side):
    return folder_state(folder(rule, side), side)


@cache
def report(rule, side):
    """The comparison of a rule's old state with its new one or with the good one, or of both in the other order."""
    before, after = sides(side)
    registry = registry_with([], data=[folder(rule, after)])
    return compare(state(rule, before), state(rule, after), registry=registry)


def sides(side):
    """The names of the older state and of the newer one."""
    return ("new", "old") if side == "back" else ("old", side)


def pairs():
    every = [(rule, side) for rule in sorted(RULES) for side in ("new", "good", "back")]
    return [(rule, side) for rule, side in every if side != "good" or {"version", "good"} & fixtures()[rule].keys()]


def findings():
    """The text of findings.txt."""
    lines = []
    for rule, side in pairs():
        lines.append(f"{rule} {side}")
        for each in report(rule, side).findings:
            lines.append(f"  {each.severity:4} {each.rule} {each.title}: {each.message} [{each.requires}]")
            lines += [f"    at {each.place.removeprefix(f'{FOLDER}/{rule}/')}"] if each.place else []
            lines += [f"    help: {each.help}"] if each.help else []
    return "\n".join(lines) + "\n"


def table():
    """The rows of the table of rules in docs/breaking-changes.md."""
    rows = ["| code | rule | finds that … | severity | needs |", "|---|---|---|---|---|"]
    for each in (RULES[rule] for rule in sorted(RULES)):
        rows.append(f"| {each.code} | {each.name} | {each.title} | {each.severity} | {each.requires} |")
    return "\n".join(rows) + "\n"


def with_table(guide):
    """Return the guide with the table of rules as the code has it."""
    return re.sub(r"\| code \| rule \|.*?\n(?=\n)", lambda _: table(), guide, flags=re.DOTALL)


GUIDE = HERE.parents[2] / "docs" / "breaking-changes.md"


def main():
    FINDINGS.write_text(findings(), encoding="utf-8")
    GUIDE.write_text(with_table(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{len(RULES)} rules, {len(pairs())} pairs")


if __name__ == "__main__":
    main()
