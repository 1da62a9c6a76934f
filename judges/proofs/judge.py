"""Proves what conversions keep: each transition and each lowering, by identity, all values, z3 and samples.

    python -m judges proofs                       # proves everything, and compares with the recorded facts
    python -m judges proofs -k 'Slice 1-10'       # those whose key has this in it
    python -m judges proofs --symbolic            # z3's proofs alone, which are never sampled
    python -m judges proofs --stale --write       # renews what has changed: schemas/proofs.json and docs/proofs.md

The exit status is 1 where a proof fails, nothing is shown of a subject, or the recorded facts are not these.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Mapping, Sequence

from judges.proofs import exhaustive, identity, sampled, symbolic
from judges.proofs.subjects import Subject, all_subjects, fingerprint
from judges.proofs.table import PAGE, faults_of, page, stale, write_facts
from opset.docgen.proofs import Proof, ProofPart, read_proofs


def prove(subject: Subject) -> tuple[list[ProofPart], list[str]]:
    """Return all that is shown of a subject, and what is wrong."""
    parts = identity.prove(subject)
    emulated = tuple(subject.step.derived.emulate)
    if any(part.kind == "refused" for part in parts) or (parts and not emulated):
        return parts, []
    if parts:
        shown, wrong = exhaustive.prove(subject, emulated)
        if not shown:
            shown, wrong = sampled.prove_emulated(subject)
        return [*parts, *shown], wrong
    wrong = []
    for kind in (symbolic, exhaustive, sampled):
        shown, faults = kind.prove(subject)
        parts += shown
        wrong += faults
    return parts, wrong


def _proved(number: int) -> tuple[int, list[ProofPart], list[str], float]:
    """Return the number of a subject, what is shown of it, what is wrong, and the seconds that it took."""
    start = time.perf_counter()
    parts, wrong = prove(all_subjects()[number])
    return number, parts, wrong, time.perf_counter() - start


def _proved_by_z3(number: int) -> tuple[int, list[ProofPart], list[str], float]:
    start = time.perf_counter()
    parts, wrong = symbolic.prove(all_subjects()[number])
    return number, parts, wrong, time.perf_counter() - start


def main(arguments: Sequence[str] | None = None) -> int:
    """Prove subjects, compare or write what was shown; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges proofs", description=about)
    parser.add_argument("-k", dest="pattern", default="", help="part of the keys of subjects, as 'Slice 1-10 up'")
    parser.add_argument("--stale", action="store_true", help="only those whose adapter has changed since")
    parser.add_argument("--symbolic", action="store_true", help="z3's proofs alone")
    parser.add_argument("--write", action="store_true", help="write the facts, and docs/proofs.md")
    parser.add_argument("-j", dest="jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("-v", dest="verbose", action="store_true", help="show what is shown of each")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    facts = read_proofs()
    subjects = all_subjects()
    chosen = [
        number
        for number, subject in enumerate(subjects)
        if options.pattern in subject.key and not (options.stale and not stale(subject, facts))
    ]
    found: dict[str, Proof] = {}
    failed = 0
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        for number, parts, wrong, seconds in pool.imap_unordered(
            _proved_by_z3 if options.symbolic else _proved, chosen
        ):
            subject = subjects[number]
            if options.symbolic:
                found |= {subject.key: Proof("", parts)} if parts else {}
            else:
                found[subject.key] = Proof(fingerprint(subject), parts)
                wrong = wrong if parts or wrong else ["nothing is shown of it"]
            failed += bool(wrong)
            if wrong or (options.verbose and parts):
                print(f"{subject.key} ({seconds:.1f} s)")
                print(*(f"  {part.kind}: {part.about or 'all'}: {part.shown}" for part in parts), sep="\n")
                print(*(f"  WRONG: {line}" for line in wrong[:5]), sep="\n", flush=True)
    print(f"{len(found)} subjects, {failed} with faults, in {time.perf_counter() - start:.0f} s")
    if options.symbolic:
        return int(failed > 0)
    return int(failed > 0) | _compare_or_write(facts, found, options.write and not failed)


def _compare_or_write(facts: Mapping[str, Proof], found: Mapping[str, Proof], write: bool) -> int:
    """Write the facts and the page, or print how they differ from those that are recorded; return the exit status."""
    if write:
        known = {subject.key for subject in all_subjects()}
        write_facts({key: each for key, each in {**facts, **found}.items() if key in known})
        facts = read_proofs()
        if not (faults := [*faults_of(facts)]):
            PAGE.write_text(page(facts), "utf-8")
    else:
        faults = [f"{key}: the recorded facts are others" for key, each in found.items() if facts.get(key) != each]
    print(*faults, sep="\n", end="\n" if faults else "")
    return int(bool(faults))
