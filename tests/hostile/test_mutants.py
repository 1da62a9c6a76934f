"""Some mutants of each kind: whatever was changed, only errors of the package's own come of it.

`python -m judges mutants` runs as many as one likes; its case KIND:NUMBER of seed 0 is one of these.
"""

import pytest

from judges.fuzz import mutants
from judges.fuzz.mutants import FAULTS, Job, drawn, outcomes_of

COUNTS = {"models": 40, "nodes": 40, "schemas": 10, "values": 40}


@pytest.mark.parametrize("kind", COUNTS)
def test_only_errors_of_our_own_come_of_mutants(kind, monkeypatch):
    monkeypatch.setattr(mutants, "CPU_SECONDS", 120)
    monkeypatch.setattr(mutants, "SECONDS", 1200)
    jobs = [Job(kind, number, 0) for number in range(COUNTS[kind])]
    results = dict(outcomes_of(jobs))
    assert results.keys() == set(jobs)
    faults = {
        f"{job} {outcome.verb}": (outcome.kind, outcome.where)
        for job, outcomes in results.items()
        for outcome in outcomes
        if outcome.kind in FAULTS
    }
    assert faults == {}
    assert "fine" in {outcome.kind for outcomes in results.values() for outcome in outcomes}


@pytest.mark.parametrize("kind", COUNTS)
def test_a_case_depends_on_its_seed_and_number_alone(kind):
    once, again = (drawn(Job(kind, 7, 3)) for _ in range(2))
    assert (once.what, once.files, [*once.verbs]) == (again.what, again.files, [*again.verbs])
    assert drawn(Job(kind, 8, 3)).files != once.files
