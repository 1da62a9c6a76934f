"""Judgements of other implementations on the cases of the standard's operators, from their last run.

`python -m judges corpus --write` runs them, and writes judgements.json: the judges with their versions; by operator a
digest of its examples; and by judge the examples and versions with which the judge does not agree. If the digest of the
present examples is another one, nothing is known of the operator.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from opset.opsets.registry import Registry
from opset.schemas.example import Example, example_versions
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name
from opset.schemas.status import STATUSES

FILE = Path(__file__).with_name("judgements.json")
ALL = "*"
Case = tuple[str, str, int, str]
"""Domain, operator, version and name of an example."""


def judgement_data(registry: Registry, judges: Mapping[str, str], agreed: Mapping[str, set[Case]]) -> dict[str, Any]:
    """Return the content of judgements.json: the examples that other implementations, the judges, do not confirm.

    The form is `{"judges": {"onnx": "full name"}, "operators": {"ai.onnx.Add": {"digest": "8dd5…", "onnx": {"nan":
    [13]}}}}`: the judge "onnx" does not confirm the example "nan" at version 13. Every operator of the registry is
    listed; a judge that confirms all of its examples is left out there.

    Args:
        registry: Operators with their examples.
        judges: Full names of the judges by their short names.
        agreed: The cases that each judge confirms, by its short name; a case is (domain, operator, version, example).
    """
    operators = {}
    for domain in registry.domains:
        for name in registry.operators(domain):
            versions = registry.versions(name, domain)
            examples = _examples_with_outputs(registry, name, domain)
            entry: dict[str, Any] = {"digest": digest(examples, versions)}
            for judge, cases in agreed.items():
                agreed_here = {each[2:] for each in cases if each[:2] == (domain, name)}
                others = _disagreeing_versions(agreed_here, examples, versions)
                entry |= {judge: others} if others else {}
            operators[f"{domain_name(domain)}.{name}"] = entry
    return {"judges": dict(judges), "operators": operators}


def _disagreeing_versions(
    agreed: set[tuple[int, str]], examples: Iterable[Example], versions: Iterable[OpSchema]
) -> dict[str, list[int] | str]:
    """Return the versions at which a judge does not confirm an example, by name of the example: `{"nan": [7, 13]}`.

    An example that is confirmed at all its versions is left out. "*" in place of the list stands for all versions of
    the example, and `{"*": "*"}` for all versions of all examples.

    Args:
        agreed: (version, name of the example) for each case that the judge confirms.
        examples: The examples of the operator.
        versions: The versions of the operator.
    """
    by_example: dict[str, list[int] | str] = {}
    sinces = [each.since_version for each in versions]
    whole = True
    for example in examples:
        held = example_versions(example, sinces)
        others = [since for since in held if (since, example.name) not in agreed]
        whole = whole and others == held
        by_example |= {example.name: ALL if others == held else others} if others else {}
    return {ALL: ALL} if by_example and whole else by_example


def digest(examples: Iterable[Example], versions: Iterable[OpSchema]) -> str:
    """Return a hash (12 hex digits) of an operator's examples and of its version numbers, such as 13.

    The order of examples and of numbers counts. All keys of an example count, except its prose and the keys
    `stated` and `chosen`.
    """
    plain = [each._replace(doc="")._asdict() for each in examples]
    values = [[value for key, value in each.items() if key not in STATUSES] for each in plain]
    content = values, [each.since_version for each in versions]
    return hashlib.sha256(repr(content).encode()).hexdigest()[:12]


def _examples_with_outputs(registry: Registry, name: str, domain: str) -> list[Example]:
    """Return the examples of an operator that state outputs; examples that break a constraint state none."""
    return [each for each in registry.examples(name, domain) if each.outputs is not None]


class Judgements:
    """Which other implementations confirm the examples of a registry's operators, by the last run of them."""

    def __init__(self, registry: Registry, stored: Mapping[str, Any] | None = None) -> None:
        """Read which examples other implementations do not confirm.

        Args:
            registry: Operators with their examples.
            stored: The content of judgements.json; None reads the file of this package.
        """
        self._registry = registry
        self._stored = json.loads(FILE.read_text(encoding="utf-8")) if stored is None else stored
        self._known: dict[tuple[str, str], Mapping[str, Any] | None] = {}

    def agreeing_judges(self, schema: OpSchema, example: Example) -> list[str]:
        """Return the titles of the other implementations that confirm an example at an operator version.

        A title is such as "onnxruntime 1.31.1". The answer is read from the record of the last run of the
        implementations (judgements.json). The result is [] in each of these cases:

        - no implementation confirms the example;
        - the example states no outputs;
        - the record has no entry for the operator, such as for an operator that is not in the ONNX standard;
        - the examples or versions of the operator changed after the run.
        """
        entry = self._operator_entry(schema.domain, schema.name)
        if entry is None or example.outputs is None:
            return []
        agreeing = []
        for judge, title in self._stored["judges"].items():
            others = entry.get(judge, {})
            versions = others.get(ALL, others.get(example.name, ()))
            if versions != ALL and schema.since_version not in versions:
                agreeing.append(title)
        return agreeing

    def _operator_entry(self, domain: str, name: str) -> Mapping[str, Any] | None:
        """Return the entry of an operator in judgements.json; None if the entry is missing or outdated.

        In the entry {"digest": "8dd5…", "onnx": {"nan": [13]}}, the judge "onnx" does not confirm the example "nan" at
        version 13. The entry is outdated if examples or versions of the operator changed after the judges were run,
        which the digest, a hash of them, shows. The result is also None if the operator is not the standard's.
        """
        key = domain, name
        if key not in self._known:
            entry = None
            if self._registry.is_standard(name, domain):
                entry = self._stored["operators"].get(f"{domain_name(domain)}.{name}")
            if entry is not None:
                examples = _examples_with_outputs(self._registry, name, domain)
                entry = entry if entry["digest"] == digest(examples, self._registry.versions(name, domain)) else None
            self._known[key] = entry
        return self._known[key]
