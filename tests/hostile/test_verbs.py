"""Every class of hostile input on every verb that reads such a thing: an end, a status of ours, clean text.

FORMS lists the ways to call each verb; a verb without an entry fails. Commands that take little share a process, in
which one after the other runs as `python -m opset` would; each process has 2 GB of address space.
"""

import json
import os
import re
from functools import cache
from typing import NamedTuple

import click
import pytest

from judges.hostile import attacks
from judges.hostile.attacks import ESCAPES, documents, files
from judges.hostile.attacks.models import SAMPLE, external, weighty
from judges.hostile.processes import OURS, attack, imported, own
from opset.cli import VERBS, cli

ALL_FORMS = "OPSET_ALL_FORMS" in os.environ
"""Whether every attack runs on every form of a verb, as the judge `attacks` asks; else forms and verbs take turns.

Arguments then take turns of words, too: each gets every fifth one.
"""
EVERY = 48
"""Of how many verbs one takes its turn of an attack that is `alone`, as it takes long; of all if there are fewer."""
EVERY_FORM = 72
"""Of how many forms of verbs one takes its turn of any other attack; of all if there are fewer."""
TOGETHER = 20
"""Commands that share a process."""
BOUNDED = ["--max-steps", "100000", "--max-bytes", "200M", "--timeout", "0.5"]
SMALL = ["--max-bytes", "10M"]

# The forms of each verb, by what they read. IT stands for the attack, FOLDER for what it is in, SAMPLE for a harmless
# model, OUT for a path at which nothing is yet. Words in the name of a form choose its exit statuses, where an attack
# declares its own. An attack that is `alone` runs on the first form only, and verbs take turns of it.
assert documents.DOCUMENTS  # importing the module fills the table
FORMS = {
    "load": {"MODELS": {"": ["IT"]}},
    "convert": {
        "MODELS": {
            "up": ["FOLDER", "--to", "21", "--force"],
            "down": ["IT", "--to", "7", "-o", "OUT", "--format", "json"],
            "plan up": ["-", "--to", "26", "--plan"],
            "plan for": ["IT", "--for", "onnxruntime==1.17", "--plan"],
        },
        "SCHEMAS": {"": ["SAMPLE", "--to", "21", "--plan", "--schemas", "FOLDER/schemas"]},
        "DOCUMENTS": {"": ["SAMPLE", "--to", "21", "--plan", "--schemas", "IT"]},
        "CONFIGURATIONS": {"": ["SAMPLE", "--to", "21", "--plan"]},
        "STREAMS": {"": ["-", "--to", "21", "-o", "OUT"]},
        "FOLDERS": {"": ["FOLDER", "--to", "21"], "plan": ["FOLDER", "--to", "21", "--plan", "--format", "json"]},
        "ARGUMENTS": {
            "input": ["IT", "--to", "21"], "to": ["SAMPLE", "--to", "IT"], "for": ["SAMPLE", "--for", "IT"],
            "release": ["SAMPLE", "--release", "IT"], "dim": ["SAMPLE", "--to", "21", "--dim", "IT"],
            "freeze": ["SAMPLE", "--to", "21", "--freeze", "IT"],
        },
    },
    "blockers": {
        "MODELS": {
            "for": ["FOLDER", "--for", "onnxruntime==1.17"],
            "json": ["IT", "--for", "tensorrt==8.6", "--inexact-types", "--format", "json"],
            "to": ["-", "--to", "7"],
        },
        "STREAMS": {"": ["-", "--to", "9"]},
        "FOLDERS": {"": ["FOLDER", "--for", "openvino==2025.0"]},
        "SCHEMAS": {
            "": ["SAMPLE", "--to", "21", "--schemas", "FOLDER/schemas"],
            "target": ["SAMPLE", "--for", "tract==0.23", "--target", "IT"],
        },
        "CONFIGURATIONS": {"": ["SAMPLE", "--for", "onnxruntime==1.17"]},
        "ARGUMENTS": {
            "input": ["IT", "--to", "21"], "to": ["SAMPLE", "--to", "IT"], "for": ["SAMPLE", "--for", "IT"],
            "target": ["SAMPLE", "--for", "tract==0.23", "--target", "IT"],
        },
    },
    "info": {
        "MODELS": {
            "": ["IT", "--runtime", "tract", "--format", "json"],
            "stream": ["-", "--runtime", "onnxruntime", "--max-steps", "300000"],
        },
        "STREAMS": {"": ["-", "--runtime", "tract"]},
        "FOLDERS": {"": ["FOLDER", "--runtime", "tract"]},
        "SCHEMAS": {
            "": ["SAMPLE", "--runtime", "tract", "--schemas", "FOLDER/schemas"],
            "target": ["SAMPLE", "--runtime", "tract", "--target", "IT"],
        },
        "CONFIGURATIONS": {"": ["SAMPLE", "--runtime", "tract"]},
        "ARGUMENTS": {
            "input": ["IT", "--runtime", "tract"], "runtime": ["SAMPLE", "--runtime", "IT"],
            "target": ["SAMPLE", "--runtime", "tract", "--target", "IT"],
        },
    },
    "lower": {
        "MODELS": {"": ["IT", "--ops", "LayerNormalization,Gelu", "-o", "OUT"]},
        "STREAMS": {"": ["-", "--ops", "Gelu", "-o", "OUT"]},
        "FOLDERS": {"": ["FOLDER", "--ops", "Gelu", "--plan"]},
        "SCHEMAS": {"": ["SAMPLE", "--ops", "Gelu", "--plan", "--schemas", "FOLDER/schemas"]},
        "CONFIGURATIONS": {"": ["SAMPLE", "--ops", "Gelu", "--plan"]},
        "ARGUMENTS": {"ops": ["SAMPLE", "--ops", "IT"]},
    },
    "verify": {
        "MODELS": {
            "": ["IT", "SAMPLE", "--seeds", "1", *BOUNDED],
            "after json": ["SAMPLE", "IT", "--seeds", "1", "--format", "json", *BOUNDED],
        },
        "STREAMS": {"": ["SAMPLE", "-", "--seeds", "1"]},
        "SCHEMAS": {"": ["SAMPLE", "SAMPLE", "--seeds", "1", "--schemas", "FOLDER/schemas"]},
        "CONFIGURATIONS": {"": ["SAMPLE", "SAMPLE", "--seeds", "1"]},
        "ARGUMENTS": {"dim": ["SAMPLE", "SAMPLE", "--dim", "IT"], "data": ["SAMPLE", "SAMPLE", "--data", "IT"]},
    },
    "check": {
        "MODELS": {
            "": ["IT", "--format", "sarif", "--verify-checksums"],
            "stream": ["-", "--select", "G", "--select", "W"],
            "fix written": ["IT", "--fix", "--fix-casts", "-o", "OUT", "--format", "json"],
            "diff": ["-", "--diff"],
            "for": ["FOLDER", "--for", "onnxruntime==1.17", "--format", "junit"],
        },
        "SCHEMAS": {
            "": ["SAMPLE", "--schemas", "FOLDER/schemas"],
            "target": ["SAMPLE", "--for", "tract==0.23", "--target", "IT"],
        },
        "CONFIGURATIONS": {"": ["SAMPLE"]},
        "STREAMS": {"": ["-"]},
        "FOLDERS": {"": ["FOLDER", "--format", "github"]},
        "ARGUMENTS": {
            "input": ["IT"], "select": ["SAMPLE", "--select", "IT"], "ignore": ["SAMPLE", "--ignore", "IT"],
            "for": ["SAMPLE", "--for", "IT"], "target": ["SAMPLE", "--for", "tract==0.23", "--target", "IT"],
        },
    },
    "infer": {
        "MODELS": {
            "": ["-", "--check-types"],
            "report": ["IT", "--values", "--format", "json"],
            "written": ["IT", "--values", "-o", "OUT", "--overwrite", "--strict"],
        },
        "SCHEMAS": {"": ["SAMPLE", "--schemas", "FOLDER/schemas"]},
        "DOCUMENTS": {"": ["SAMPLE", "--schemas", "IT"]},
        "CONFIGURATIONS": {"": ["SAMPLE"]},
        "STREAMS": {"": ["-"]},
        "FOLDERS": {"": ["FOLDER"]},
        "ARGUMENTS": {
            "input": ["IT"], "dim": ["SAMPLE", "--dim", "IT"], "freeze": ["SAMPLE", "--freeze", "IT"],
        },
    },
    "inline": {
        "MODELS": {"": ["FOLDER", "--force"], "written json": ["IT", "-o", "OUT", "--format", "json"]},
        "SCHEMAS": {"": ["SAMPLE", "-o", "OUT", "--schemas", "FOLDER/schemas"]},
        "CONFIGURATIONS": {"": ["SAMPLE", "-o", "OUT"]},
        "STREAMS": {"": ["-", "-o", "OUT"]},
        "FOLDERS": {"": ["FOLDER"]},
        "ARGUMENTS": {
            "input": ["IT"], "only": ["SAMPLE", "--only", "IT"], "except": ["SAMPLE", "--except", "IT"],
        },
    },
    "extract": {
        "MODELS": {
            "": ["IT", "--outputs", "y", "-o", "OUT"],
            "stream json": ["-", "--inputs", "x", "-o", "OUT", "--format", "json"],
            "added": ["IT", "--add-output", "x,y", "-o", "OUT"],
        },
        "SCHEMAS": {"": ["SAMPLE", "--outputs", "y", "-o", "OUT", "--schemas", "FOLDER/schemas"]},
        "CONFIGURATIONS": {"": ["SAMPLE", "--outputs", "y", "-o", "OUT"]},
        "STREAMS": {"": ["-", "--outputs", "y", "-o", "OUT"]},
        "FOLDERS": {"": ["FOLDER", "--outputs", "y"]},
        "ARGUMENTS": {
            "input": ["IT", "--outputs", "y"], "outputs": ["SAMPLE", "--outputs", "IT"],
            "inputs": ["SAMPLE", "--inputs", "IT"], "added": ["SAMPLE", "--add-output", "IT"],
            "graph": ["SAMPLE", "--outputs", "y", "--graph", "IT"],
            "function": ["SAMPLE", "--outputs", "y", "--function", "IT"],
        },
    },
    "reduce": {
        "MODELS": {
            "": ["IT", "--to", "9", "--tries", "5", "-o", "OUT"],
            "stream json": ["-", "--to", "9", "--differs", "--tries", "5", *BOUNDED, "-o", "OUT", "--format", "json"],
            "failing": ["IT", "--failing", "false {}", "--tries", "1", "-o", "OUT"],
        },
        "SCHEMAS": {
            "": ["SAMPLE", "--to", "9", "-o", "OUT", "--schemas", "FOLDER/schemas"],
            "target": ["SAMPLE", "--for", "tract==0.23", "--target", "IT", "-o", "OUT"],
        },
        "CONFIGURATIONS": {"": ["SAMPLE", "--to", "9", "-o", "OUT"]},
        "STREAMS": {"": ["-", "--to", "9", "-o", "OUT"]},
        "FOLDERS": {"": ["FOLDER", "--to", "9"]},
        "ARGUMENTS": {
            "input": ["IT", "--to", "9"], "node": ["SAMPLE", "--to", "9", "--node", "IT"],
            "failing": ["SAMPLE", "--failing", "IT"],
            "contains": ["SAMPLE", "--failing", "false {}", "--contains", "IT"],
            "to": ["SAMPLE", "--to", "IT"], "for": ["SAMPLE", "--for", "IT"],
            "dim": ["SAMPLE", "--to", "9", "--differs", "--dim", "IT"],
            "target": ["SAMPLE", "--for", "tract==0.23", "--target", "IT"],
        },
    },
    "merge": {
        "MODELS": {
            "": ["IT", "SAMPLE", "--connect", "y=x", "-o", "OUT"],
            "second json": ["SAMPLE", "-", "--connect", "y=x", "-o", "OUT", "--format", "json"],
            "both": ["IT", "IT", "--prefix", "a/", "b/", "-o", "OUT"],
        },
        "SCHEMAS": {"": ["SAMPLE", "SAMPLE", "--connect", "y=x", "-o", "OUT", "--schemas", "FOLDER/schemas"]},
        "CONFIGURATIONS": {"": ["SAMPLE", "SAMPLE", "--connect", "y=x", "-o", "OUT"]},
        "STREAMS": {"": ["-", "SAMPLE", "--connect", "y=x", "-o", "OUT"]},
        "FOLDERS": {"": ["FOLDER", "SAMPLE", "--connect", "y=x"]},
        "ARGUMENTS": {
            "first": ["IT", "SAMPLE"], "second": ["SAMPLE", "IT"], "connect": ["SAMPLE", "SAMPLE", "--connect", "IT"],
            "prefix": ["SAMPLE", "SAMPLE", "--connect", "y=x", "--prefix", "IT", "IT", "-o", "OUT"],
            "to": ["SAMPLE", "SAMPLE", "--to", "IT"], "for": ["SAMPLE", "SAMPLE", "--for", "IT"],
        },
    },
    "run": {
        "MODELS": {
            "": ["IT", "--random", *BOUNDED],
            "json": ["-", "--random", "--trace", "--format", "json", *BOUNDED],
        },
        "VALUES": {
            "": ["SAMPLE", "IT", *SMALL], "named": ["SAMPLE", "x=IT", "--format", "json", *SMALL],
            "compared": ["SAMPLE", "--random", "--compare", "IT", *SMALL], "folder": ["SAMPLE", "FOLDER", *SMALL],
        },
        "SCHEMAS": {"": ["SAMPLE", "--random", "--schemas", "FOLDER/schemas"]},
        "CONFIGURATIONS": {"": ["SAMPLE", "--random"]},
        "STREAMS": {"": ["-", "--random"], "values": ["SAMPLE", "-"]},
        "ARGUMENTS": {
            "model": ["IT"], "values": ["SAMPLE", "IT"],
            "freeze": ["SAMPLE", "--random", "--freeze", "IT"],
            "set": ["SAMPLE", "--set", "IT"], "json": ["SAMPLE", "--set", "x=IT"],
            "value": ["SAMPLE", "--random", "--value", "IT"], "compare": ["SAMPLE", "--random", "--compare", "IT"],
        },
    },
    "show": {
        "MODELS": {"": ["IT"], "stream": ["-", "--format", "json"]},
        "SCHEMAS": {"": ["com.acme.Scale", "--schemas", "FOLDER/schemas"]},
        "DOCUMENTS": {"": ["com.acme.Scale", "--schemas", "IT"]},
        "CONFIGURATIONS": {"": ["Relu"], "model": ["SAMPLE"]},
        "STREAMS": {"": ["-"]},
        "ARGUMENTS": {"": ["IT"], "domain": ["Relu", "--domain", "IT"]},
    },
    "text": {
        "MODELS": {
            "": ["IT"], "limit json": ["-", "--limit", "10", "--format", "json"], "written": ["IT", "-o", "OUT"],
        },
        "STREAMS": {"": ["-"], "text": ["text:-", "-o", "OUT"]},
        "CONFIGURATIONS": {"": ["SAMPLE"]},
        "ARGUMENTS": {"": ["IT"], "output": ["SAMPLE", "-o", "IT.onnxtxt"]},
    },
    "list": {
        "SCHEMAS": {"": ["--schemas", "FOLDER/schemas", "--format", "json"]},
        "DOCUMENTS": {"": ["--schemas", "IT", "--format", "json"]},
        "CONFIGURATIONS": {"": []},
        "ARGUMENTS": {"things": ["IT"], "domain": ["--domain", "IT"], "family": ["--family", "IT"]},
    },
    "diff": {
        "MODELS": {
            "": ["IT", "IT"], "old json": ["IT", "SAMPLE", "--format", "json"],
            "new written": ["SAMPLE", "-", "--set-version", "-o", "OUT"],
            "old page": ["IT", "SAMPLE", "--format", "html"], "new page": ["SAMPLE", "IT", "--report", "OUT"],
        },
        "STREAMS": {"": ["SAMPLE", "-"]},
        "SCHEMAS": {
            "": ["com.acme.Scale", "1", "2", "--schemas", "FOLDER/schemas"],
        },
        "CONFIGURATIONS": {"": ["Relu", "1", "14"]},
        "ARGUMENTS": {
            "": ["IT", "1", "2"], "domain": ["Relu", "1", "14", "--domain", "IT"], "old": ["IT", "SAMPLE"],
            "version": ["SAMPLE", "SAMPLE", "--set-version", "IT", "-o", "out.onnx"],
            "output": ["SAMPLE", "SAMPLE", "--set-version", "-o", "IT/x"],
            "report": ["SAMPLE", "SAMPLE", "--report", "IT/x"],
        },
    },
    "breaking": {
        "SCHEMAS": {"": ["folder:FOLDER/schemas", "--schemas", "FOLDER/schemas", "--format", "json"]},
        "CONFIGURATIONS": {"": ["1.22", "--no-examples"]},
        "ARGUMENTS": {
            "": ["IT"], "rev": ["rev:IT"], "approved": ["1.22", "--approved=IT"], "today": ["1.22", "--today=IT"],
        },
    },
    "docs": {
        "SCHEMAS": {
            "": ["-o", "OUT", "--domain", "com.acme", "--schemas", "FOLDER/schemas"],
            "markdown": ["-o", "OUT", "--format=markdown", "--domain", "com.acme", "--schemas", "FOLDER/schemas"],
        },
        "CONFIGURATIONS": {"": ["-o", "OUT", "--format=json", "--domain", "ai.onnx.preview"]},
        "ARGUMENTS": {
            "domain": ["-o", "out", "--format=json", "--domain", "IT"],
            "output": ["-o", "IT/x", "--format=json", "--domain", "ai.onnx.preview"],
        },
    },
    "targets": {
        "SCHEMAS": {
            "": ["list", "--target", "IT"],
            "show": ["show", "tract==0.23", "--target", "IT", "--format=json"],
        },
        "CONFIGURATIONS": {"": ["list"]},
        "ARGUMENTS": {
            "probed": ["probe", "IT", "Relu"], "probed operator": ["probe", "onnxruntime", "IT"],
            "runtime": ["show", "IT"], "release": ["show", "tract==IT"], "provider": ["show", "ort==1.17:IT"],
            "operator": ["show", "tract==0.23", "IT"], "target": ["list", "--target", "IT"], "action": ["IT"],
        },
    },
    "test": {
        "SCHEMAS": {
            "": ["FOLDER/schemas", "--format", "json"],
            "named": ["com.acme.Scale", "--schemas", "FOLDER/schemas", "--timeout", "2", "-j", "2"],
        },
        "CONFIGURATIONS": {"": ["Relu@14"]},
        "FOLDERS": {"": ["FOLDER"]},
        "ARGUMENTS": {
            "": ["IT"], "path": ["IT/x.yaml"], "only": ["Relu@14", "--only", "IT"], "k": ["Relu@14", "-k", "IT"],
        },
    },
    "check-contribution": {
        "SCHEMAS": {
            "": ["com.acme.Scale", "--schemas", "FOLDER/schemas"],
            "json": ["com.acme.Scale", "--format=json", "--schemas", "FOLDER/schemas"],
        },
        "CONFIGURATIONS": {"": ["Relu", "--format=markdown"]},
        "ARGUMENTS": {
            "": ["IT"], "version": ["Relu@IT"], "state": ["Relu", "--state", "IT"],
            "text": ["Relu", "--state", "model=IT"],
        },
    },
    "testgen": {
        "SCHEMAS": {
            "": ["-o", "OUT", "--all", "--domain", "com.acme", "--schemas", "FOLDER/schemas"],
            "json": ["-o", "OUT", "com.acme.Scale", "--every-version", "--format=json", "--schemas", "FOLDER/schemas"],
        },
        "CONFIGURATIONS": {"": ["-o", "OUT", "Relu"], "list": ["--list", "Relu"]},
        "ARGUMENTS": {
            "": ["-o", "out", "IT"], "domain": ["-o", "out", "Relu", "--domain", "IT"],
            "output": ["-o", "IT/x", "Abs@13"],
        },
    },
    "conformance": {
        "CONFIGURATIONS": {"": ["FOLDER", "--runtime", "false"]},
        "ARGUMENTS": {
            "": ["IT", "--runtime", "false"], "runtime": ["FOLDER", "--runtime", "IT"],
            "python": ["FOLDER", "--runtime", "onnx", "--python", "IT"],
            "expect": ["FOLDER", "--runtime", "false", "--expect", "IT"],
            "baseline": ["FOLDER", "--runtime", "false", "--baseline", "IT"],
            "output": ["FOLDER", "--runtime", "false", "-o", "IT"],
        },
    },
    "lint": {
        "SCHEMAS": {
            "": ["FOLDER/schemas", "--format", "json"], "fix": ["FOLDER/schemas", "--fix", "--lock"],
            "tree": ["FOLDER"], "file": ["IT"], "named": ["--schemas", "FOLDER/schemas", "--released"],
        },
        "CONFIGURATIONS": {"": []},
        "FOLDERS": {"": ["FOLDER"]},
        "ARGUMENTS": {"": ["IT"], "json": ["--json-schema", "IT"]},
    },
    "new": {
        "SCHEMAS": {
            "": ["com.acme.Wide", "--like", "com.acme.Scale", "--schemas", "FOLDER/schemas", "--format", "json"],
        },
        "CONFIGURATIONS": {"": ["com.acme.Wide", "-o", "OUT"]},
        "ARGUMENTS": {
            "": ["com.acme.IT", "-o", "out"], "domain": ["Wide", "--domain", "IT", "-o", "out"],
            "like": ["com.acme.Wide", "--like", "IT", "-o", "out"],
            "family": ["com.acme.Tall", "--family", "IT", "-o", "out"],
            "shape": ["com.acme.Small", "--shape", "IT", "-o", "out"], "output": ["com.acme.Thin", "-o", "IT/x"],
        },
    },
    "bump": {
        "SCHEMAS": {
            "": ["com.acme.Scale", "--check", "--schemas", "FOLDER/schemas", "--format", "json"],
            "written": ["com.acme.Scale", "--schemas", "FOLDER/schemas"],
            "again": ["com.acme.Scale", "--schemas", "FOLDER/schemas"],
        },
        "CONFIGURATIONS": {"": ["com.acme.Scale", "-o", "OUT"]},
        "ARGUMENTS": {
            "": ["com.acme.IT", "-o", "out"], "domain": ["Scale", "--domain", "IT", "-o", "out"],
            "folder": ["com.acme.Scale", "-o", "IT"],
        },
    },
    "export": {
        "SCHEMAS": {
            "": ["--domain", "com.acme", "--schemas", "FOLDER/schemas", "-o", "OUT"],
            "json": ["--domain", "com.acme", "--schemas", "FOLDER/schemas", "--format", "json"],
        },
        "DOCUMENTS": {"": ["--domain", "com.acme", "--schemas", "IT", "-o", "OUT"]},
        "CONFIGURATIONS": {"": ["--domain", "ai.onnx.preview", "-o", "OUT"]},
        "ARGUMENTS": {
            "domain": ["--domain", "IT"], "output": ["--domain", "ai.onnx.preview", "-o", "IT/x"],
            "opset": ["--opset", "IT"],
        },
    },
    "import": {
        "DOCUMENTS": {"": ["IT", "-o", "OUT"], "stream": ["-", "-o", "OUT", "--format", "json"]},
        "CONFIGURATIONS": {"": ["SAMPLE", "-o", "OUT"]},
        "ARGUMENTS": {"": ["IT", "-o", "out"], "output": ["SAMPLE", "-o", "IT/x"]},
    },
    "examples": {"CONFIGURATIONS": {"": ["OUT"]}, "ARGUMENTS": {"": ["IT"]}},
    "explain": {"CONFIGURATIONS": {"": ["C204"]}, "ARGUMENTS": {"": ["IT"]}},
    "schema": {"CONFIGURATIONS": {"": ["check"]}, "ARGUMENTS": {"": ["IT"]}},
    "completion": {"CONFIGURATIONS": {"": ["bash"]}, "ARGUMENTS": {"": ["IT"]}},
}  # fmt: skip
# Reads commands from stdin and runs each as the command line would; behind each is a line with the exit status.
RUNNER = r"""
import json, os, signal, sys
import opset
from opset.cli import main
from opset.cli.signals import STOPPING

def load(path):
    try:
        opset.load(path).SerializeToString()
    except opset.OpsetError as error:
        sys.exit(error.exit_status)

def exchange(event, arguments):
    # Just before the file is opened, it becomes something else.
    global racing
    if event == "open" and racing and str(arguments[0]).endswith(racing[0]):
        (path, change), racing = racing, None
        os.rename(path, path + ".before")
        {"link": lambda: os.symlink(path, path), "pipe": lambda: os.mkfifo(path), "folder": lambda: os.mkdir(path),
         "nothing": lambda: None}[change]()

commands, racing = json.load(sys.stdin), None
sys.addaudithook(exchange)
for arguments, stdin, folder, race in commands:
    os.chdir(folder)
    for number in STOPPING:
        signal.signal(number, signal.SIG_DFL)  # the command before left them ignored, and so would its processes
    with open(stdin, "rb") as file:
        os.dup2(file.fileno(), 0)
    sys.stdin = open(0, closefd=False)
    sys.argv, status, racing = ["opset", *arguments], 0, race
    try:
        load(arguments[1]) if arguments[0] == "load" else main()
    except SystemExit as end:
        status = end.code or 0
    for stream in (sys.stdout, sys.stderr):
        stream.write(f"\n\x1e{status}\n")
        stream.flush()
"""
STATUS = re.compile(r"\n\x1e(\d+)\n")


class Command(NamedTuple):
    """The arguments of `opset`, the statuses that it may end with, the file on stdin, and the working folder.

    `race` is a file that becomes something else before it is opened: a link to itself, a pipe, a folder, nothing.
    """

    arguments: list[str]
    statuses: tuple[int, ...]
    stdin: str
    folder: str
    race: tuple[str, str] | None = None


def performed(commands, together=TOGETHER):
    """Return what is wrong with the way in which commands end."""
    wrong, left = {}, list(commands)
    while left:
        some = left[:together]
        plain = [(each.arguments, each.stdin, each.folder, each.race) for each in some]
        outcome = imported(RUNNER, stdin=json.dumps(plain).encode())
        texts = [STATUS.split(text.decode("utf-8", "surrogateescape")) for text in (outcome.stdout, outcome.stderr)]
        ended = len(texts[0]) // 2
        faults = [fault(*each) for each in zip(some, texts[0][1::2], texts[0][::2], texts[1][::2], strict=False)]
        if ended < len(some):
            faults.append(f"died with {outcome.status} after {outcome.seconds:.1f} s and {outcome.megabytes:.0f} MB")
        for command, why in zip(some, faults, strict=False):
            if why:
                wrong[" ".join(part if len(part) < 120 else f"{part[:40]}…" for part in command.arguments)] = why
        left = left[len(faults) :]
    return wrong


def fault(command, status, stdout, stderr):
    """Return what is wrong with an outcome, or ""."""
    text = stdout + stderr
    late = "R303" in text and "--timeout" in command.arguments
    if int(status) not in command.statuses and not (int(status) == 1 and late):
        return f"{status} instead of {command.statuses}: {text[-600:]!r}"
    if "Traceback" in text or "internal error" in text:
        return text[-600:]
    if dirty := [line[:80] for line in text.split("\n") if not line.isprintable()]:
        return f"unprintable: {dirty}"
    if "json" in command.arguments and stdout.strip():
        json.loads(stdout, parse_constant=pytest.fail)
    return ""


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A function that returns a folder with an attack in it."""

    @cache
    def build(table, name):
        folder = tmp_path_factory.mktemp("attack")
        getattr(attacks, table)[name].build(folder)
        return folder

    return build


@cache
def turns(table, verb, form):
    """Return the names of the attacks of a table that a form of a verb takes its turn of."""
    forms = [(other, each) for other in FORMS for each in FORMS[other].get(table, ())]
    firsts = [(other, next(iter(FORMS[other][table]))) for other in FORMS if table in FORMS[other]]
    found = set()
    for number, (name, each) in enumerate(getattr(attacks, table).items()):
        taking, every = (firsts, EVERY) if each.alone else (forms, EVERY_FORM)
        every = 1 if ALL_FORMS else min(every, len(taking), len(getattr(attacks, table)))
        if (verb, form) in taking and number % every == taking.index((verb, form)) % every:
            found.add(name)
    return found


@pytest.fixture
def commands(built, tmp_path):
    """A function that returns the commands of a form for all attacks of a table."""
    sample = tmp_path / "sample.onnx"
    sample.write_bytes(SAMPLE)

    def of(table, verb, form):
        arguments = FORMS[verb][table][form]
        for name, each in getattr(attacks, table).items():
            if name in turns(table, verb, form):
                folder = built(table, name)
                it = folder / each.file
                places = {"FOLDER": folder, "IT": it, "SAMPLE": sample, "OUT": tmp_path / name}
                filled = [replaced(argument, places) for argument in arguments]
                statuses, stdin = each.ends(*reversed(form.split()), verb), it if "-" in arguments else os.devnull
                if verb == "lower":
                    statuses = *statuses, 0  # where none of the operators is in the model, it is left as it is
                if verb == "blockers" or "for" in form.split():
                    statuses = *statuses, 0, 1  # nothing is written, and a runtime may take the model as it is
                if verb == "reduce":
                    statuses = *statuses, 0, 2  # nothing may be refused, and any command may fail on it
                    if "--differs" in arguments:
                        statuses = *statuses, 1, 3  # it cannot be run, or has data that no array holds
                if verb == "check":
                    statuses = *statuses, 0, 1  # what keeps others from reading a model is a finding like any other
                if verb == "verify":
                    statuses = *statuses, 1, 2, 3  # no inputs fit some models, and faults of others show in a run
                if verb in ("info", "diff"):
                    statuses = *statuses, 0  # a model is shown or compared even if it cannot be converted
                if verb in ("extract", "merge"):
                    statuses = *statuses, 0, 1, 2  # weights are not read, and the model may not have the names
                if verb == "breaking" and table == "SCHEMAS":
                    statuses = 0, 3  # a state that cannot be read is not compared
                if verb == "targets":
                    statuses = *statuses, 0, 2  # no operator is a runtime, and it reads no folder of operators
                if verb == "test":
                    statuses = *statuses, 1, 3  # nothing may be left to test; what a path leads to is what it reads
                if verb == "import":
                    statuses = (0, 2, 3) if table == "DOCUMENTS" else (2, 3)  # or the configuration is wrong
                if verb in ("new", "bump"):
                    statuses = *statuses, 0, 2  # they read little of the folder
                if verb == "conformance":
                    statuses = (2, 3)  # faults of the configuration; or the folder is no corpus
                if verb == "check-contribution":
                    statuses = *statuses, 1  # what can be read lacks points of the checklist
                yield name, Command([verb, *filled], statuses, str(stdin), str(folder))

    return of


def replaced(argument, places):
    """Return an argument with the names of places replaced by their paths."""
    return re.sub("|".join(places), lambda match: str(places[match[0]]), argument)


CASES = [
    (table, verb, form)
    for verb, tables in FORMS.items()
    for table, forms in tables.items()
    if table != "ARGUMENTS"
    for form in forms
]


@pytest.mark.parametrize(("table", "verb", "form"), CASES, ids=[" ".join(each).lower().strip() for each in CASES])
def test_attacks_end_with_a_status_of_ours(table, verb, form, commands):
    attacking = getattr(attacks, table)
    made = dict(commands(table, verb, form))
    together = [made[name] for name in made if not attacking[name].alone]
    alone = [made[name] for name in made if attacking[name].alone]
    assert performed(together) | performed(alone, 1) == {}


def test_every_attack_runs_on_a_verb_and_every_form_is_attacked():
    assert all(turns(*case) for case in CASES)
    for table in {table for table, _, _ in CASES}:
        assert set().union(*(turns(*case) for case in CASES if case[0] == table)) == {*getattr(attacks, table)}, table


def reads(command):
    """Return the tables of what a verb reads, by the names of its parameters."""
    names = {name for each in command.params for name in [each.name, *each.opts, each.metavar or ""]}
    tables = {
        "MODELS": {"INPUT...", "model", "OPERATOR|MODEL", "[OPERATOR]|OLD"},
        "STREAMS": {"INPUT...", "model", "OPERATOR|MODEL", "[OPERATOR]|OLD"},
        "SCHEMAS": {"--schemas", "[PATH]...", "--target"},
        "FOLDERS": {"INPUT...", "[PATH]..."},
        "VALUES": {"[VALUES]..."},
        "DOCUMENTS": {"document"},
    }
    return {table for table, words in tables.items() if names & words} | {"CONFIGURATIONS", "ARGUMENTS"}


def test_every_verb_is_attacked_by_all_that_it_reads():
    assert FORMS.keys() == VERBS.keys() | {"load"}
    for verb in VERBS:
        assert FORMS[verb].keys() >= reads(cli.get_command(click.Context(cli), verb)), verb


WORDS = {
    "escapes": ESCAPES.replace("\0", ""),
    "no text": "\udcff\udcfe.onnx",
    "long": "x" * 100_000,
    "up": "../" * 2000 + "etc/passwd",
    "brackets": "[*" * 20,
    "stars": "**/" * 300 + "x",
    "number": "9" * 10_000,
    "nothing": "",
    "equals": "=" * 1000,
    "json": "[" * 4000,
}


@pytest.mark.parametrize("verb", [verb for verb in FORMS if "ARGUMENTS" in FORMS[verb]])
def test_arguments_are_data(verb, tmp_path):
    sample = tmp_path / "sample.onnx"
    sample.write_bytes(SAMPLE)
    filled = [
        [replaced(argument, {"SAMPLE": sample, "IT": word}) for argument in arguments]
        for place, arguments in enumerate(FORMS[verb]["ARGUMENTS"].values(), [*FORMS].index(verb))
        for number, word in enumerate(WORDS.values())
        if ALL_FORMS or place % 5 == number % 5
    ]
    assert performed([Command([verb, *each], tuple(OURS), os.devnull, str(tmp_path)) for each in filled], 40) == {}


RACES = {
    "model.onnx": [["convert", "model.onnx", "--to", "21", "--plan"], ["infer", "model.onnx"], ["show", "model.onnx"],
                   ["convert", ".", "--to", "21"], ["run", "model.onnx"], ["load", "model.onnx"]],
    "weights": [["run", "model.onnx"], ["convert", "model.onnx", "--to", "21", "-o", "other/", "--force"]],
    "x.npy": [["run", "sample.onnx", "x.npy"], ["run", "sample.onnx", "--random", "--compare", "x.npy"]],
    "x.json": [["run", "sample.onnx", "x.json"]],
    "x.npz": [["run", "sample.onnx", "x.npz"]],
    "x.pb": [["run", "sample.onnx", "x.pb"]],
    "Scale.yaml": [["lint", "schemas"], ["list", "--schemas", "schemas"], ["show", "Relu", "--schemas", "schemas"],
                   ["diff", "Relu", "1", "14", "--schemas", "schemas"]],
    "pyproject.toml": [["list"], ["lint"]],
}  # fmt: skip


@pytest.mark.parametrize("change", ["link", "pipe", "folder", "nothing"])
def test_files_that_are_exchanged_before_they_are_opened(change, tmp_path):
    commands = []
    for name, verbs in RACES.items():
        for number, arguments in enumerate(verbs):
            folder = tmp_path / f"{name}{number}"
            (folder / "schemas" / "com.acme").mkdir(parents=True)
            (folder / "sample.onnx").write_bytes(SAMPLE)
            (folder / "model.onnx").write_bytes(external(folder, "weights"))
            (folder / "pyproject.toml").write_text('[tool.opset]\nschemas = ["schemas"]\n')
            (folder / "schemas" / "com.acme" / "Scale.yaml").write_text(files.scale())
            for form in ("npy", "npz", "json", "pb"):
                (folder / f"x.{form}").write_bytes(files.harmless(form))
            path = next(folder.rglob(name))
            commands.append(Command(arguments, tuple(OURS), os.devnull, str(folder), (str(path), change)))
    assert performed(commands) == {}


# Before the first piece of a file is read, the file becomes shorter.
SHRINKING = r"""
import os, sys
from opset.cli import main
def shrinking(real):
    def read(*arguments):
        os.truncate("model.onnx", 100)
        return real(*arguments)
    return read
os.pread, os.preadv = shrinking(os.pread), shrinking(os.preadv)
main()
"""


@pytest.mark.parametrize("size", [1000, 4 << 20])
@pytest.mark.parametrize("verb", ["convert", "infer", "run", "show"])
def test_a_file_that_shrinks_while_it_is_read(verb, size, tmp_path):
    (tmp_path / "model.onnx").write_bytes(weighty(size))
    more = ["--to", "21"] if verb == "convert" else []
    assert "M105" in own(imported(SHRINKING, verb, "model.onnx", *more, cwd=tmp_path), 3).text


def test_attacks_in_several_processes(built):
    folders = [built("MODELS", name) for name in attacks.MODELS if name.startswith(("random", "data_", "nodes_in"))]
    outcome = attack("convert", *folders, "--to", "21", "--plan", "-j", "3", "--format", "json")
    reports = json.loads(own(outcome, 3).stdout)["models"]
    assert len(reports) == len(folders) and {each["exit_status"] for each in reports} == {0, 3}
