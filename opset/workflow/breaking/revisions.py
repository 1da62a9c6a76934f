"""Reads schemas of a git revision from the repository's objects, without checking them out.

Commands of git run without a shell, and take no option from the name of a revision. The environment forbids the one
program that a repository's configuration could run: the transport of a clone that lacks objects. The caller's
variables of git are left out, since a hook's name another repository.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from threading import Event, Timer
from typing import NamedTuple

from opset.errors import ComparisonError, Finding, SchemaError, quote, safe_text
from opset.schemas.names import normalize_domain
from opset.schemas.untrusted_files import file_bytes
from opset.workflow.breaking.states import (
    FUNCTIONS,
    Key,
    OperatorState,
    State,
    base_type_sets,
    hash_of,
    loaded_state,
    no_operators_finding,
    unreadable_error,
)

SECONDS = 60
MAX_BYTES = 1 << 26
"""Most bytes of the files of a revision together, and of the output of one command."""
MAX_ENTRIES = 200_000
"""Files and folders in a folder of schemas and in the folders of its domains."""
FOLDERS = 500
"""Folders that are listed by one command."""
MAX_SAID = 1 << 16
"""Bytes of the errors of a command that are read."""
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "LC_ALL": "C",
}


class Blob(NamedTuple):
    """A file at a git revision: its path below the folder of schemas, and the hash that names its object."""

    path: str
    object: str


class Revision(NamedTuple):
    """The schema files of a folder at a git revision.

    `prefix` is the folder's path in the repository, `name` the revision as the user gave it, `commit` its hash.
    """

    folder: Path
    prefix: str
    name: str
    commit: str
    blobs: tuple[Blob, ...]


def revision_state(folder: Path, revision: str, beside: State) -> State:
    """Return the state of the operators that a folder had at a git revision.

    Args:
        folder: Folder of operator YAML in a repository.
        revision: Tag, branch or commit.
        beside: The present state of the folder. If types.yaml is unchanged since the revision, operators of unchanged
            files are taken from this state, and not read again.

    Raises:
        ComparisonError: B191 if git cannot read the revision, B192 if its schemas cannot be read, B193 if it has none.
    """
    at_revision = find_revision(folder, revision)
    files = [each for each in at_revision.blobs if _is_operator_file(each.path)]
    if not files:
        raise ComparisonError(no_operators_finding(f"{folder} at {revision}", str(folder)))
    texts = {each.path: each for each in at_revision.blobs if each.path in ("types.yaml", "lock.json")}
    same: dict[str, OperatorState] = {}
    digits = len(at_revision.commit)
    sets = texts["types.yaml"].object if "types.yaml" in texts else ""
    if _object_name(folder / "types.yaml", digits) == sets:
        for each in files:
            domain, file = each.path.split("/")
            operator = beside.operators.get((normalize_domain(domain), file.removesuffix(".yaml")))
            if operator is not None and _object_name(folder / domain / file, digits) == each.object:
                same[each.path] = operator
    functions = [each for each in at_revision.blobs if _is_function_file(each.path)]
    wanted = [each for each in (*files, *texts.values(), *functions) if each.path not in same]
    contents = _read_contents(at_revision, wanted)
    try:
        state = _read_state(at_revision, files, same, contents)
        return replace(state, functions={each.path: hash_of(contents[each.path]) for each in functions})
    except SchemaError as error:
        raise unreadable_error(f"{folder} at {revision}", error) from None


def _read_state(
    revision: Revision, files: Sequence[Blob], same: Mapping[str, OperatorState], contents: Mapping[str, bytes]
) -> State:
    """Return the state of a revision's operator files.

    Args:
        revision: The revision.
        files: Its operator files.
        same: The operators of unchanged files by path; these files are not read.
        contents: The bytes of all other files by path, also of types.yaml and lock.json if they exist.

    Raises:
        SchemaError: If files have faults, with the findings of all of them.
    """
    from opset.schemas.lock import parse_lock
    from opset.schemas.yaml.loader import Operator, load_sets, parse_operator
    from opset.schemas.yaml.reader import reading_budget

    where = f"{revision.name}:{revision.prefix or './'}"  # the loader takes the domain from the folder of a path
    complete = "types.yaml" in contents and any(each.path.startswith("ai.onnx/") for each in files)
    sets = base_type_sets(complete)
    if "types.yaml" in contents:
        sets = load_sets(f"{where}types.yaml", sets, contents["types.yaml"])
    operators: list[Operator] = []
    findings: list[Finding] = []
    budget = reading_budget()
    for each in files:
        if each.path in same:
            continue
        try:
            operators.append(parse_operator(contents[each.path], f"{where}{each.path}", sets, budget))
        except SchemaError as error:
            findings += error.findings
            if len(findings) > MAX_FINDINGS or budget.steps > budget.max_steps:
                break
    if findings:
        raise SchemaError(findings)
    lock = parse_lock(contents["lock.json"], f"{where}lock.json") if "lock.json" in contents else None
    every: dict[Key, OperatorState] = {each.key: each for each in same.values()}
    for key, operator in loaded_state(operators, revision.name).operators.items():
        path = os.path.join(os.fspath(revision.folder), key[0] or "ai.onnx", f"{key[1]}.yaml")
        restore = f"git checkout {shlex.quote(revision.name)} -- {shlex.quote(path)}"
        every[key] = replace(operator, restore=restore)
    return State(revision.name, dict(sorted(every.items())), sets, lock)


MAX_FINDINGS = 500


def _is_operator_file(path: str) -> bool:
    """Return whether a path below the folder of schemas is `<domain>/<Operator>.yaml`."""
    return path.count("/") == 1 and Path(path).suffix == ".yaml"


def _is_function_file(path: str) -> bool:
    """Return whether a path below the folder of schemas is a file with Python functions of a domain.

    These are FOLDER/kernels.py, FOLDER/inference.py and FOLDER/adapters.py. The content is not looked at.
    """
    return path.count("/") == 1 and path.rpartition("/")[2] in FUNCTIONS


def _object_name(path: Path, digits: int) -> str:
    """Return the hash by which git names the content of a file; "" if the file cannot be read or is too large.

    `digits` is the length of the repository's hashes: 40 for SHA-1, 64 for SHA-256.
    """
    try:
        data = file_bytes(path, MAX_BYTES)
    except (OSError, ValueError):
        return ""
    algorithm = "sha1" if digits == 40 else "sha256"
    return hashlib.new(algorithm, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


# git.


def find_revision(folder: Path, revision: str) -> Revision:
    """Return the schema files that a folder had at a git revision; no files if the folder had none then.

    Args:
        folder: A folder of schemas in a repository. Only files in its upper two levels count.
        revision: A tag, a branch or a commit.

    Raises:
        ComparisonError: B191 if git cannot read the revision, if the folder is not in the revision, if the folder has
            too many files, or if an operator file or a folder is a link or a submodule.
    """
    if not revision or revision.startswith("-") or not revision.isprintable():
        raise _revision_error(revision, "this is no name of a revision", "name a tag, a branch or a commit")
    where = _run_git(folder, revision, "rev-parse", "--show-prefix", "--show-toplevel", "--is-shallow-repository")
    prefix, _, shallow = where.decode("utf-8", "surrogateescape").split("\n")[:3]
    missing = "name a tag, a branch or a commit (in CI, fetch it first), or else a folder, a file or a release of ONNX"
    if shallow == "true":
        missing = "the clone is shallow: git fetch --unshallow --tags"
    named = f"{revision}^{{commit}}"
    printed = _run_git(folder, revision, "rev-parse", "--verify", "--quiet", named, missing=missing)
    commit = printed.decode("ascii", "replace").strip()
    tree = f"{commit}:{prefix}"
    return Revision(folder, prefix, revision, commit, tuple(_list_blobs(folder, prefix, revision, tree)))


def _list_blobs(folder: Path, prefix: str, revision: str, tree: str) -> Iterator[Blob]:
    """Yield the schema files in the upper two levels of a git tree; deeper levels are not listed.

    These are operator files, Python files of functions, types.yaml and lock.json.

    Args:
        folder: The folder of schemas.
        prefix: Its path in the repository.
        revision: The revision as the user gave it, for messages.
        tree: The tree of the folder, as git names it: COMMIT:PATH.

    Raises:
        ComparisonError: B191 if git fails, if there are more than MAX_ENTRIES files, or if an operator file or a folder
            is a link or a submodule.
    """
    missing = f"the folder {prefix or '.'} has to be in the revision; where it was elsewhere, compare with a copy of it"
    left = MAX_ENTRIES

    def list_entries(*folders: str) -> list[tuple[str, str, str, str]]:
        """Return (mode, kind, hash, path) of each entry of the folders.

        Raises ComparisonError B191 if there are more than MAX_ENTRIES in all.
        """
        nonlocal left
        entries = _run_git(folder, revision, "ls-tree", "-z", "--full-tree", tree, "--", *folders, missing=missing)
        left -= entries.count(b"\0")
        if left < 0:
            where = prefix or "the repository"
            raise _revision_error(revision, f"{where} has too many files", "name the folder of the schemas")
        lines = [each.partition(b"\t") for each in entries.split(b"\0")[:-1]]
        facts = [(head.decode("ascii").split(" "), path) for head, _, path in lines]
        return [(mode, kind, name, path.decode("utf-8", "surrogateescape")) for (mode, kind, name), path in facts]

    upper = list_entries()
    folders = [f"{path}/" for _, kind, _, path in upper if kind == "tree"]
    lower = [list_entries(*folders[first : first + FOLDERS]) for first in range(0, len(folders), FOLDERS)]
    for mode, kind, name, path in chain(upper, *lower):
        is_ours = _is_operator_file(path) or path in ("types.yaml", "lock.json")
        # A folder of operators may be a link or a submodule: what it held is not in this tree.
        is_link = mode == "120000" and (is_ours or "/" not in path)
        if is_link or kind == "commit":
            why = f"{quote(path)} is a {'link' if is_link else 'submodule'} there"
            raise _revision_error(revision, why, "compare with a copy of it: opset breaking DIR")
        if is_ours and not path.isprintable():
            raise _revision_error(revision, f"{quote(path)} is badly named there")
        if is_ours or (_is_function_file(path) and mode != "120000"):
            yield Blob(path, name)


def _read_contents(revision: Revision, blobs: Sequence[Blob]) -> dict[str, bytes]:
    """Return the bytes of files of a revision by path; {} for no files.

    Raises ComparisonError B191 if git fails, if a file is missing, or if the files have more than MAX_BYTES together.
    """
    if not blobs:
        return {}
    asked = "".join(f"{blob.object}\n" for blob in blobs).encode()
    sizes = _run_git(revision.folder, revision.name, "cat-file", "--batch-check", stdin=asked).splitlines()
    for blob, line in zip(blobs, sizes, strict=True):
        if line.endswith(b"missing"):
            help = "the clone lacks objects: git fetch, or clone without --filter"
            raise _revision_error(revision.name, f"{blob.path} is not in the repository", help)
    if (total := sum(int(line.split()[2]) for line in sizes)) > MAX_BYTES:
        raise _revision_error(revision.name, f"the files have {total:,} bytes, and at most {MAX_BYTES:,} are read")
    data = _run_git(revision.folder, revision.name, "cat-file", "--batch", stdin=asked)
    contents: dict[str, bytes] = {}
    start = 0
    for blob in blobs:
        end = data.index(b"\n", start)
        size = int(data[start:end].split()[2])
        contents[blob.path] = data[end + 1 : end + 1 + size]
        start = end + size + 2
    return contents


def _run_git(folder: Path, revision: str, *arguments: str, stdin: bytes = b"", missing: str = "") -> bytes:
    """Return the output of a git command that runs in a folder, as bytes.

    Args:
        folder: The folder in which it runs.
        revision: The revision, for messages.
        arguments: The arguments of git.
        stdin: The input of the command.
        missing: The help of the error if git returns another status than 0.

    Raises:
        ComparisonError: B191 if git fails, takes more than SECONDS, or prints more than MAX_BYTES.
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")} | _ENVIRONMENT
    command = ["git", "--no-pager", *arguments]
    try:
        status, printed, said = _command_output(command, folder, environment, stdin)
    except FileNotFoundError:
        help = "install git, or compare with a folder: opset breaking DIR"
        why = "there is no git" if folder.is_dir() else f"{folder} is no folder"
        raise _revision_error(revision, why, help) from None
    except (OSError, ValueError) as error:
        raise _revision_error(revision, getattr(error, "strerror", None) or str(error)) from error
    except subprocess.TimeoutExpired:
        raise _revision_error(revision, f"git took more than {SECONDS} seconds") from None
    if len(printed) > MAX_BYTES:
        why = f"git {arguments[0]} prints more than {MAX_BYTES:,} bytes"
        raise _revision_error(revision, why, "name the folder of the schemas")
    if status:
        lines = said.decode("utf-8", "backslashreplace").strip().splitlines()
        why = safe_text(lines[0], 300) if lines else "there is no such revision"
        raise _revision_error(revision, why, missing or "the folder has to be in a git repository that you own")
    return printed


def _command_output(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], stdin: bytes
) -> tuple[int, bytes, bytes]:
    """Run a command, and return (exit status, bytes of its output, bytes of its error output).

    The command is ended once it has printed more than MAX_BYTES. Only the first MAX_SAID bytes of its error output are
    returned. Raises OSError or ValueError if the command cannot be started, subprocess.TimeoutExpired if it takes more
    than SECONDS.
    """
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as errors:
        asked.write(stdin)
        asked.seek(0)
        with subprocess.Popen(
            command, cwd=folder, env=environment, stdin=asked, stdout=subprocess.PIPE, stderr=errors
        ) as process:
            assert process.stdout is not None
            late = Event()

            def end() -> None:
                """Kill the process, and note that its time was over."""
                late.set()
                process.kill()

            timer = Timer(SECONDS, end)
            timer.start()
            try:
                printed = process.stdout.read(MAX_BYTES + 1)
                if len(printed) > MAX_BYTES:
                    process.kill()
                status = process.wait()
            except BaseException:
                process.kill()
                raise
            finally:
                timer.cancel()
        if late.is_set():
            raise subprocess.TimeoutExpired(command, SECONDS)
        errors.seek(0)
        return status, printed, errors.read(MAX_SAID)


def _revision_error(revision: str, why: str, help: str = "") -> ComparisonError:
    """Return the error B191: a revision cannot be read, for the reason `why`; `help` says what to do."""
    return ComparisonError(Finding("B191", f"the revision {quote(revision)} cannot be read", why=why, help=help))
