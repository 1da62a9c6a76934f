"""What every rule finds in every pair of states, as one file to read; and the bad example of each rule's page.

    python -m tests.workflow.breaking.golden        # writes findings.txt and the pages; read the difference

A rule has a folder in fixtures/: `old` and `new` are a pair in which it finds something; `good` is what to do instead.
`back` is the way from `new` to `old`.
"""

import difflib
import itertools
import re
from functools import cache
from pathlib import Path

from opset.opsets.registry import registry_with
from opset.workflow.breaking import RULES, compare
from opset.workflow.breaking.states import folder_state

HERE = Path(__file__).parent
FIXTURES, FINDINGS = HERE / "fixtures", HERE / "findings.txt"
PAGES = HERE.parents[2] / "opset" / "explain"


@cache
def state(rule, side):
    return folder_state(FIXTURES / rule / side, side)


@cache
def report(rule, side):
    """The comparison of a rule's old state with its new one or with the good one, or of both in the other order."""
    before, after = sides(side)
    registry = registry_with([], data=[FIXTURES / rule / after])
    return compare(state(rule, before), state(rule, after), registry=registry)


def sides(side):
    """The names of the older state and of the newer one."""
    return ("new", "old") if side == "back" else ("old", side)


def pairs():
    every = [(rule, side) for rule in sorted(RULES) for side in ("new", "good", "back")]
    return [(rule, side) for rule, side in every if (FIXTURES / rule / sides(side)[1]).is_dir()]


def findings():
    """The text of findings.txt."""
    lines = []
    for rule, side in pairs():
        lines.append(f"{rule} {side}")
        for each in report(rule, side).findings:
            lines.append(f"  {each.severity:4} {each.rule} {each.title}: {each.message} [{each.requires}]")
            lines += [f"    at {each.place.removeprefix(f'{FIXTURES}/{rule}/')}"] if each.place else []
            lines += [f"    help: {each.help}"] if each.help else []
    return "\n".join(lines) + "\n"


def difference(rule):
    """What is different in the new state of a rule, as the lines of a page."""
    old, new = (
        {
            path.relative_to(FIXTURES / rule / side).as_posix(): path.read_text(encoding="utf-8").splitlines()
            for path in sorted((FIXTURES / rule / side).rglob("*.yaml"))
        }
        for side in ("old", "new")
    )
    lines = []
    for path in sorted(old.keys() | new.keys()):
        if path not in old or path not in new:
            lines.append(f"{'-' if path in old else '+'} {path}")
        elif old[path] != new[path]:
            changed = [*difflib.unified_diff(old[path], new[path], lineterm="", n=1)][2:]
            lines += [f"  {path}", *("  …" if line.startswith("@@") else f"{line[0]} {line[1:]}" for line in changed)]
    return "".join(f"    {line}\n" for line in lines)


def with_difference(rule, page):
    """Return a page whose bad example is the pair of its rule."""
    return re.sub(r"(?<=## Bad\n\n).*?(?=\n## Good)", lambda _: difference(rule), page, flags=re.DOTALL)


def table():
    """The rows of the table of rules in docs/breaking-changes.md."""
    rows = ["| code | rule | finds that … | severity | needs |", "|---|---|---|---|---|"]
    for each in (RULES[rule] for rule in sorted(RULES)):
        rows.append(f"| {each.id} | {each.name} | {each.title} | {each.severity} | {each.requires} |")
    return "\n".join(rows) + "\n"


def with_table(guide):
    """Return the guide with the table of rules as the code has it."""
    return re.sub(r"\| code \| rule \|.*?\n(?=\n)", lambda _: table(), guide, flags=re.DOTALL)


GUIDE = HERE.parents[2] / "docs" / "breaking-changes.md"


def main():
    FINDINGS.write_text(findings(), encoding="utf-8")
    for rule in RULES:
        page = PAGES / f"{rule}.md"
        page.write_text(with_difference(rule, page.read_text(encoding="utf-8")), encoding="utf-8")
    GUIDE.write_text(with_table(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{len(RULES)} rules, {len(list(itertools.chain(*pairs()))) // 2} pairs")


if __name__ == "__main__":
    main()
