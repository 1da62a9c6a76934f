"""Runs the cases of a corpus on a runtime, and compares the outputs with the expected ones.

pass      the outputs are right                      rejected  an invalid case fails, as it should
wrong     they are not                               accepted  it does not
refused   the runtime lacks an operator or type      crash     the process died
error     the runtime fails                          timeout   it did not come to an end
missing   a file of the case is not there, or not the one that the manifest names
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from opset.errors import CorpusError, Finding, OpsetError, safe_text
from opset.model.arrays import decode_message
from opset.plain_text import count_text
from opset.reference.comparison import Difference, differences
from opset.reference.value_info import ValueInfo, value_info_of
from opset.reference.values import type_of
from opset.schemas.names import normalize_domain
from opset.schemas.status import CHOSEN
from opset.schemas.untrusted_files import file_bytes, parse_json
from opset.tensor_io.files import read_values
from opset.workflow.conformance.runtimes import Answer, Request, TestedRuntime, run_requests

__all__ = ["BAD", "GOOD", "RESULTS", "Case", "CorpusFolder", "Result", "read_corpus", "run_corpus"]

RESULTS = ("pass", "rejected", "wrong", "error", "crash", "timeout", "accepted", "refused", "missing")
GOOD = ("pass", "rejected")
REFUSED, ACCEPTED, MISSING = "refused", "accepted", "missing"
BAD = ("wrong", "error", "crash", "timeout")
KINDS = ("node", "random", "invalid")
FORMAT = 1
MANIFEST = "manifest.json"
DATA = "test_data_set_0"
MODEL = "model.onnx"
MOST = 1 << 28
"""Bytes of the values of a case, and of its model."""
_MANIFEST_SIZE = 1 << 26
_READ, _REASON = 8000, 300
"""Characters of a runtime's reason that are read, and that are kept."""
_NAME = re.compile(r"\w[\w.+-]{0,254}", re.ASCII)
_FLOATING = re.compile(r"float|double|complex")
_LOCATION = re.compile(r"(?<![\w.])/(?:[\w.+@-]+/)+(?=[\w.+@-]+)")


class Case(NamedTuple):
    """A case of a corpus, as its manifest describes it.

    `kind` is node, invalid (a constraint is broken) or random; a random case has only types and shapes, in `outputs`.
    `chosen` is the choice that the standard leaves open, "" if it leaves none.
    """

    name: str
    kind: str
    domain: str
    operator: str
    version: int
    example: str
    shows: str
    types: tuple[str, ...]
    tolerance: tuple[float, float]
    files: Mapping[str, str]
    outputs: tuple[tuple[str, tuple[int, ...] | None], ...] = ()
    chosen: str = ""


class CorpusFolder(NamedTuple):
    """A folder with the cases that its manifest lists."""

    folder: str
    cases: tuple[Case, ...]


class Result(NamedTuple):
    """The result of a case, one of RESULTS, and why.

    If an output differs from the expected one, `output` is its 0-based number; if outputs were compared with a
    tolerance, `difference` is the greatest difference. Otherwise, they are None.
    """

    case: Case
    result: str
    why: str = ""
    output: int | None = None
    difference: Difference | None = None


def read_corpus(folder: str) -> CorpusFolder:
    """Return the cases that the manifest of a corpus, manifest.json in the folder, lists; their files are not read yet.

    Raises CorpusError T221 if the manifest cannot be read or is malformed.
    """
    path = os.path.join(folder, MANIFEST)
    try:
        data = parse_json(file_bytes(path, _MANIFEST_SIZE))
        cases = tuple(_parse_cases(data))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        help = "write the corpus with: opset testgen --all -o DIR"
        finding = Finding("T221", "the manifest of the corpus cannot be used", why=why[:1000], help=help, file=path)
        raise CorpusError(finding) from error
    return CorpusFolder(folder, cases)


def _parse_cases(data: Any) -> Iterator[Case]:
    """Yield the cases that the content of a manifest lists.

    Raises ValueError if the manifest is malformed, or if two cases have the same name.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT or not isinstance(data.get("cases"), list):
        raise ValueError(f"it is no list of cases of format {FORMAT}")
    names: set[str] = set()
    for number, entry in enumerate(data["cases"]):
        try:
            case = _parse_case(entry)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"case number {number} is malformed: {type(error).__name__}: {error}") from error
        if case.name in names:
            raise ValueError(f"two cases are named {case.name}")
        names.add(case.name)
        yield case


def _parse_case(entry: Any) -> Case:
    """Return the case that an entry of a manifest describes.

    Raises ValueError, KeyError, TypeError or AttributeError if it is malformed.
    """
    texts = [entry[key] for key in ("name", "kind", "domain", "operator", "example", "shows")]
    types = tuple(entry["types"])
    files = dict(entry["files"])
    if not all(isinstance(each, str) for each in (*texts, *types, *files, *files.values())):
        raise ValueError("what should be text is not")
    name, kind, domain, operator, example, shows = texts
    if not _NAME.fullmatch(name) or kind not in KINDS or type(entry["version"]) is not int:
        raise ValueError("its name, kind or version is no such thing")
    base = f"{kind}/{name}/"
    if f"{base}{MODEL}" not in files or not all(
        each.startswith(base) and all(map(_NAME.fullmatch, each.split("/"))) for each in files
    ):
        raise ValueError(f"its files are not {base}{MODEL} and others below {base}")
    tolerance = (0.0, 0.0)
    if kind == "node":
        tolerance = float(entry["tolerance"]["rtol"]), float(entry["tolerance"]["atol"])
        if not all(math.isfinite(each) and each >= 0 for each in tolerance):
            raise ValueError("its tolerance is no number")
    listed = entry["outputs"] if kind == "random" else ()
    outputs = tuple(
        (str(each["type"]), None if each["shape"] is None else tuple(map(int, each["shape"]))) for each in listed
    )
    chosen = (entry.get("because") or CHOSEN) if entry.get("status") == CHOSEN else ""
    if not isinstance(chosen, str):
        raise ValueError("what should be text is not")
    subject = name, kind, normalize_domain(domain), operator, entry["version"]
    return Case(*subject, example, shows, types, tolerance, files, outputs, chosen)


def run_corpus(
    corpus: CorpusFolder,
    runtime: TestedRuntime,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
    on_version: Callable[[str], None] = lambda version: None,
) -> list[Result]:
    """Run each case of a corpus on a runtime, and return the results in the order of the cases.

    A case whose files cannot be used is not run, and has the result "missing".

    Args:
        corpus: Cases to run.
        runtime: Runtime that runs them.
        jobs: Number of cases that run at once.
        progress: Called after each case that was run, with two numbers: of cases that are done, and of all.
        on_version: Called with the version of the runtime, if it states one; once for each process.

    Raises:
        UsageError: T224 if the runtime cannot be started.
    """
    results: dict[int, Result] = {}
    expected: dict[int, dict[str, Any]] = {}

    def requests() -> Iterator[tuple[int, Request]]:
        """Yield (0-based number, request) for each case; a case without usable files gets the result MISSING."""
        for number, case in enumerate(corpus.cases):
            try:
                request, expected[number] = _read_request(corpus.folder, case)
            except OpsetError as error:
                results[number] = Result(case, MISSING, error.why or error.message)
            except (OSError, ValueError) as error:
                results[number] = Result(case, MISSING, getattr(error, "strerror", None) or str(error))
            else:
                yield number, request

    for number, answer in run_requests(runtime, requests(), jobs, on_version):
        results[number] = _judge_answer(corpus.cases[number], answer, expected.pop(number))
        if progress is not None:
            progress(len(results), len(corpus.cases))
    return [results[number] for number in range(len(corpus.cases))]


def _read_request(folder: str, case: Case) -> tuple[Request, dict[str, Any]]:
    """Return the request that runs a case, and the expected outputs by name, in their order; {} if none are stated.

    Only files that the manifest lists for the case are read. Raises OpsetError, OSError or ValueError if a file cannot
    be used: for example, its checksum is not the manifest's, or a link leads out of the corpus.
    """
    model = b""
    root = os.path.join(os.path.realpath(folder), "")
    for relative, digest in case.files.items():
        path = os.path.join(folder, *relative.split("/"))
        if not os.path.realpath(path).startswith(root):
            raise ValueError(f"{relative} leads out of the corpus")
        try:
            data = file_bytes(path, MOST)
        except OSError as error:
            raise ValueError(f"{relative}: {error.strerror or error}") from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise ValueError(f"{relative} is not the file of the manifest: its checksum is another one")
        model = data if relative.endswith(f"/{MODEL}") else model
    graph = decode_message("ModelProto", model).graph
    inputs = [value_info_of(each) for each in graph.input]
    outputs = [value_info_of(each) for each in graph.output]
    whole = os.path.join(folder, case.kind, case.name)
    sets = os.path.join(whole, DATA)
    inputs_by_name = _read_case_values(sets, inputs, case, "input")
    expected = _read_case_values(sets, outputs, case, "output") if case.kind == "node" else {}
    return Request(model, inputs_by_name, outputs, os.path.join(whole, MODEL), sets), expected


def _read_case_values(folder: str, declared: Sequence[ValueInfo], case: Case, role: str) -> dict[str, Any]:
    """Return the inputs or outputs of a case by name, read from .pb files in a folder.

    `declared` are the inputs or outputs of the model, `role` is "input" or "output". Raises ValueError if the manifest
    does not list exactly one file for each of them.
    """
    listed = {each.rpartition("/")[2] for each in case.files if f"/{DATA}/{role}_" in each}
    if listed != {f"{role}_{number}.pb" for number in range(len(declared))}:
        raise ValueError(
            f"the model has {count_text(len(declared), role)}, and the manifest lists files for {len(listed)}"
        )
    values = read_values(folder, declared, MOST, role) if declared else {}
    return {each.name: values[each.name] for each in declared}


def _judge_answer(case: Case, answer: Answer, expected: Mapping[str, Any]) -> Result:
    """Compare a runtime's answer to a case with `expected`, the expected outputs by name, and return the result.

    - The answers "crash", "timeout" and "refused" are results as they are.
    - A case that breaks a constraint is "rejected" if the answer is an error, else "accepted".
    - For any other case, an error is "error". Outputs are "pass" or "wrong".

    A result "wrong" says how the outputs differ; "pass" has the greatest difference within the tolerance. Only floats
    and complex numbers have a tolerance. Random outputs are judged by `_judge_random`.
    """
    why = shorten_reason(answer.why)
    if answer.kind in ("crash", "timeout", REFUSED):
        return Result(case, answer.kind, why)
    if case.kind == "invalid":
        return Result(case, "rejected", why) if answer.kind == "error" else Result(case, ACCEPTED)
    if answer.kind == "error":
        return Result(case, "error", why)
    count = len(case.outputs if case.kind == "random" else expected)
    if len(answer.outputs) != count:
        are = "is" if count == 1 else "are"
        why = f"it has {count_text(len(answer.outputs), 'output')}, and {count} {are} expected"
        return Result(case, "wrong", why)
    if case.kind == "random":
        return _judge_random(case, answer.outputs)
    worst: tuple[int, Difference] | None = None
    for number, (want, have) in enumerate(zip(expected.values(), answer.outputs, strict=True)):
        # Only floating-point numbers have a tolerance.
        tolerance = case.tolerance if _FLOATING.search(type_of(want)) else (0.0, 0.0)
        for difference in differences(want, have, *tolerance):
            if difference.why:
                why = f"output {number}{difference.where}: {difference.why}"
                return Result(case, "wrong", shorten_reason(why), number, difference)
            if worst is None or difference.absolute > worst[1].absolute:
                worst = number, difference
    return Result(case, "pass", "", *(worst or (None, None)))


def _judge_random(case: Case, outputs: Sequence[Any]) -> Result:
    """Return the result of a case with random outputs: "pass" or "wrong".

    Only the types and shapes of the outputs are compared; there are as many as the case has.
    """
    for number, (have, (kind, shape)) in enumerate(zip(outputs, case.outputs, strict=True)):
        actual_shape = getattr(have, "shape", None)
        if type_of(have) != kind or (shape is not None and actual_shape != shape):
            actual = [*actual_shape] if actual_shape is not None else ""
            sizes = f"{actual}, and {kind}{[*shape] if shape is not None else ''}"
            return Result(case, "wrong", f"output {number}: it is {type_of(have)}{sizes} is expected", number)
    return Result(case, "pass")


def shorten_reason(text: str) -> str:
    """Return a text of a runtime on one line, without the folders of paths, and cut to _REASON characters."""
    return safe_text(_LOCATION.sub("", " ".join(text[:_READ].split())), _REASON)
