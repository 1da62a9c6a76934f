"""Hunts breaking edits of schemas that the report on breaking changes takes for clean, and harmless ones for breaks.

`python -m judges schema_edits --seed 1 --count 1000`. Operators of the standard and of examples/com.acme are
edited, one edit or several at once; judges/fuzz/editing.py knows of each whether it breaks. The edited YAML is read and
compared with what it was. Case 7 of seed 1 is the same at each run; `--case 1/7` shows it. The exit status is 1 where a
breaking edit is clean, a harmless one or a new version on top is an error, or a useless version goes unnoticed.
"""

from __future__ import annotations

import argparse
import copy
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import yaml

from judges.fuzz import editing
from judges.fuzz.editing import BREAKS, HARMLESS, RAISED, USELESS, Document, Draft, spelled
from judges.fuzz.harmless import EDITS
from opset.errors import ComparisonError, SchemaError
from opset.schemas.index import FOLDER
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name
from opset.schemas.yaml.folders import operator_files
from opset.schemas.yaml.loader import Operator, folder_sets, load_folder, load_operator, standard_sets
from opset.schemas.yaml.printer import dump_document
from opset.workflow.breaking import ComparisonReport, compare
from opset.workflow.breaking.states import State, loaded_state

EXAMPLES = Path(__file__).parents[2] / "examples"
STRIPPED = ((), ("examples",), ("examples", "function"), ("examples", "function", "constraints"))
"""What is left out, of both states, until the edited file can be read: examples may need what an edit takes away."""

NEEDS = {"examples": ("expected", "error"), "constraints": ("condition",)}
"""Kinds of edits that have none left without these keys."""


@dataclass
class Case:
    """What was edited, what it is, and what the report said; no report where the comparison was refused."""

    name: str
    operator: str
    verdict: str
    kinds: list[str]
    edits: list[str]
    report: ComparisonReport | None = None
    texts: dict[str, str] = field(default_factory=dict)
    pairs: list[tuple[OpSchema, OpSchema]] = field(default_factory=list)
    disputed: str = ""
    """A node that onnx takes before the edit or after it, not both: `--onnx` looks for one."""

    @property
    def missed(self) -> bool:
        """Whether the report is wrong."""
        if self.report is None:
            return self.verdict in (HARMLESS, RAISED)
        if self.disputed and not self.report.breaks:
            return True
        if self.verdict == USELESS:
            return not self.report.breaks and not self.report.warnings
        return bool(self.report.breaks) != (self.verdict == BREAKS)

    def line(self) -> str:
        """Return the case on one line."""
        found = () if self.report is None else self.report.findings[:4]
        said = "; ".join(f"{each.rule} {each.severity} {each.message}" for each in found) or "nothing found"
        disputed = f" | onnx: {self.disputed}" if self.disputed else ""
        return f"{self.name} {self.operator} {self.verdict}: {'; '.join(self.edits)} | {said}{disputed}"

    def first_rule(self) -> str:
        """Return the rule of the gravest finding that is more than a notice."""
        if self.report is None:
            return "refused"
        return next((each.rule for each in self.report.findings if each.severity != "INFO"), "clean")


@lru_cache(maxsize=1)
def sources() -> list[Path]:
    """Return the operator files that are edited."""
    return sorted([*operator_files(FOLDER), *EXAMPLES.glob("com.acme/*.yaml")])


@lru_cache(maxsize=256)
def _operator(path: Path) -> tuple[Operator, Document]:
    operator = load_operator(path, _sets())
    return operator, spelled(operator.root)


@lru_cache(maxsize=1)
def _sets() -> dict[str, tuple[str, ...]]:
    return standard_sets() | folder_sets(EXAMPLES)


def run(seed: int, number: int, largest: int = 10**6) -> Case:
    """Return a case, compared; draws again until the edited file, of at most `largest` bytes, can be read."""
    paths = [path for path in sources() if path.stat().st_size <= largest]
    for attempt in range(20):
        random = Random(f"{seed}/{number}/{attempt}")
        path = random.choice(paths)
        operator, document = _operator(path)
        opset = operator.schemas[-1].since_version + random.choice([0, 0, 0, 1, 3])
        schemas = {each.since_version: each for each in operator.schemas}
        draft = Draft(random, domain_name(operator.domain), copy.deepcopy(document), schemas, opset)
        own = _sets().keys() - standard_sets().keys()
        draft.sets = {name: [*_sets()[name]] for name in own if f" {name}" in path.read_text()}
        draft.others["Companion"] = editing.small("Companion", opset)
        if random.random() < 0.15:
            draft.domain = "com.example"
            editing.name_a_type_set(draft)
        before = copy.deepcopy(draft)
        verdict, done = _edited(draft)
        if not done:
            continue
        case = Case(f"{seed}/{number}", operator.name, verdict, [*dict(done)], [text for _, text in done])
        original = path.read_text() if not before.sets and random.random() < 0.5 else ""
        if _compare(case, before, draft, original):
            return case
    raise AssertionError(f"case {seed}/{number}: nothing that was drawn could be read")


def _edited(draft: Draft) -> tuple[str, list[tuple[str, str]]]:
    """Edit a draft; return the verdict, and what was done by kind."""
    random = draft.random
    if (mode := random.random()) < 0.03:
        return USELESS, [("useless_version", editing.useless_version(draft))]
    done = [("raised_version", editing.raise_version(draft))] if mode < 0.15 else []
    breaking = draft.raised or random.random() < 0.7
    able = [name for name, (verdict, _) in EDITS.items() if breaking or verdict == HARMLESS]
    wanted = random.choice([1, 1, 1, 1, 1, 1, 2, 2, 3, 5])
    for _ in range(20 * wanted):
        name = random.choice(able)
        if wanted and not draft.closed and (text := EDITS[name][1](draft)):
            done.append((name, text))
            wanted -= 1
    if draft.raised and len(done) > 1:
        draft.raised, below = False, random.random() < 0.3
        name = random.choice([name for name, (verdict, _) in EDITS.items() if verdict == BREAKS])
        if below and name != "operator_added_late" and (text := EDITS[name][1](draft)):
            return BREAKS, [*done, (name, f"below it, {text}")]
        late = any(name == "operator_added_late" for name, _ in done)
        return BREAKS if late else RAISED, done
    return BREAKS if any(EDITS[name][0] == BREAKS for name, _ in done) else HARMLESS, done


def _compare(case: Case, before: Draft, after: Draft, original: str) -> bool:
    """Read and compare both states; return whether they could be read."""
    for left_out in STRIPPED:
        if any(kind.startswith(NEEDS.get(each, "-")) for kind in case.kinds for each in left_out):
            return False
        try:
            old = _state("before", before, original if not left_out else "", left_out, case.texts)
            new = _state("after", after, "", left_out, case.texts)
        except SchemaError:
            continue
        case.pairs = [*_pairs(old, new)]
        try:
            case.report = compare(old, new)
        except ComparisonError:
            case.report = None
        return True
    return False


def _pairs(old: State, new: State) -> Iterator[tuple[OpSchema, OpSchema]]:
    """Yield versions of both states."""
    for key in old.operators.keys() & new.operators.keys():
        before, after = old.operators[key].versions, new.operators[key].versions
        yield from ((before[since].schema, after[since].schema) for since in before.keys() & after.keys())


def _ask_onnx(cases: Sequence[Case]) -> None:
    from judges.fuzz.judged_by_onnx import disputed

    for case in cases:
        found = (disputed(old, new) for old, new in case.pairs if old != new)
        case.disputed = str(next((node for node in found if node is not None), ""))


def _state(name: str, draft: Draft, original: str, left_out: Sequence[str], texts: dict[str, str]) -> State:
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / draft.domain
        folder.mkdir()
        documents = dict(draft.others)
        if not draft.deleted:
            documents[draft.document["operator"]] = _without(draft.document, left_out)
        for each, document in documents.items():
            text = original if original and each == draft.document["operator"] else _text(document, draft.random)
            (folder / f"{each}.yaml").write_text(text)
            texts[f"{name}/{each}"] = text
        if draft.sets:
            (Path(root) / "types.yaml").write_text(dump_sets(draft.sets))
        operators, sets = load_folder(root, standard_sets())
        return loaded_state(operators, name, sets)


def dump_sets(sets: dict[str, list[str]]) -> str:
    """Return the text of a file of type sets."""
    return "".join(f"{name}: [{', '.join(types)}]\n" for name, types in sets.items())


def _without(document: Document, left_out: Sequence[str]) -> Document:
    versions = [{key: value for key, value in each.items() if key not in left_out} for each in document["versions"]]
    return {key: value for key, value in document.items() if key not in left_out} | {"versions": versions}


def _text(document: Document, random: Random) -> str:
    """Return a document as YAML: as files of this project are laid out, or otherwise."""
    form = random.choice(["own", "own", "block", "flow", "comments"])
    if form == "block":
        return yaml.safe_dump(document, sort_keys=False, width=random.choice([40, 80, 1000]), allow_unicode=True)
    if form == "flow":
        return yaml.safe_dump(document, sort_keys=False, default_flow_style=True, allow_unicode=True)
    text = dump_document(document)
    return text.replace("\n- since:", "\n# a version\n- since:") if form == "comments" else text


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases and print what was found by kind of edit; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m judges schema_edits", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--onnx", action="store_true", help="also ask onnx for nodes that are legal in one state alone")
    parser.add_argument("--case", help="show one case, such as 1/7, with both states")
    given = parser.parse_args(arguments)
    if given.case:
        case = run(*map(int, given.case.split("/")))
        print(case.line(), *(f"--- {name}\n{text}" for name, text in case.texts.items()), sep="\n")
        return int(case.missed)
    cases = [run(given.seed, number) for number in range(given.count)]
    if given.onnx:
        _ask_onnx(cases)
        print(f"{sum(bool(case.disputed) for case in cases)} in which onnx takes a node in one state alone")
    _print(cases)
    return int(any(case.missed for case in cases))


def _print(cases: Sequence[Case]) -> None:
    verdicts = Counter(case.verdict for case in cases)
    print(f"{len(cases)} cases: {', '.join(f'{count} {verdict}' for verdict, count in sorted(verdicts.items()))}")
    alone: dict[str, Counter[Any]] = {}
    for case in cases:
        for kind in case.kinds:
            counts = alone.setdefault(kind, Counter())
            counts["all"] += 1
            if len(case.kinds) == 1:
                counts[case.first_rule()] += 1
    for kind, counts in sorted(alone.items()):
        first = ", ".join(f"{rule} {count}" for rule, count in counts.most_common() if rule != "all")
        print(f"  {counts['all']:5} {kind:24} {f'alone: {first}' if first else ''}")
    missed = [case for case in cases if case.missed]
    print(f"{len(missed)} wrong")
    for case in missed:
        print(f"  {case.line()}")
