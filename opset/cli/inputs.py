"""The models that a command line names, and the names of the files that are written."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from opset.errors import Finding, ModelError, UsageError, safe_text
from opset.model.storage.parts import TEXT_SUFFIX, TEXT_SUFFIXES, text_suffix
from opset.model.storage.remote import is_remote, list_models, local_path, mark_of

STREAM = "-"
TEXT_STREAM = f"text:{STREAM}"
"""Names stdin, or stdout, with a model as text."""
MOST_ENTRIES = 1_000_000
"""Files and folders that are listed for one command."""
MODEL_SUFFIXES = (".onnx", ".pb", *TEXT_SUFFIXES)
SEARCHED_SUFFIXES = (".onnx", TEXT_SUFFIX, ".onnxtext", ".textproto", ".onnxjson")
"""Endings of the files that are the models of a folder: the others belong to other programs more often."""
_PRODUCT = (
    rf"(.+)-(?:opset\d+|inferred|inlined|lowered|part|merged|reduced)"
    rf"((?:\.onnx)?(?:\.onnx|{'|'.join(map(re.escape, TEXT_SUFFIXES))}))"
)
_SEPARATOR = r"[/\\]" if os.sep == "\\" else "/"


class Input(NamedTuple):
    """One model: its path, or "-".

    `found` says that a folder or a pattern was named, and not the model itself. If it was the folder `root`, the model
    is `below` that, else `below` is None. If it was a pattern, the folder of the model is `tree` below the one in which
    the search began. `text` says that the stream holds text.
    """

    path: str
    found: bool = False
    root: str = ""
    below: str | None = None
    text: bool = False
    tree: str | None = None

    @property
    def branch(self) -> str | None:
        """The folder of the model below the one that was searched, None if the model itself was named."""
        return self.tree if self.below is None else self.below

    def absolute(self) -> Input:
        """Return the input with absolute paths, for processes with another working folder."""
        if self.path == STREAM or is_remote(self.path):
            return self
        return self._replace(path=os.path.abspath(self.path), root=self.root and os.path.abspath(self.root))


def stamp_of(model: Input) -> Stamp:
    """Return the state of a model's file, with size -1 if there is none."""
    if is_remote(model.path):
        return Stamp(*mark_of(model.path))
    try:
        status = os.stat(model.path)
    except (OSError, ValueError):
        return Stamp(-1, 0)
    return Stamp(status.st_size, status.st_mtime_ns)


class Stamp(NamedTuple):
    """The state of a model's file: its size, and its time of modification or another mark of its content."""

    size: int
    mtime: int | str


def parse_input(argument: str) -> Input:
    """Return the one model that an argument names."""
    return Input(STREAM, text=argument == TEXT_STREAM) if argument in (STREAM, TEXT_STREAM) else Input(argument)


def name_input(path: str) -> str:
    """Return how messages name an input: its path, or "stdin" for "-" and "text:-"."""
    return "stdin" if path in (STREAM, TEXT_STREAM) else safe_text(path)


def expand_inputs(arguments: Iterable[str], *, products: bool) -> list[Input]:
    """Return the models that files, folders (recursively), patterns and "-" stand for, each once.

    Without `products`, files that an earlier run wrote beside their originals in a folder or pattern are left out.

    Raises:
        ModelError: M101, an argument stands for no model.
        UsageError: U103, folders have more than MOST_ENTRIES entries.
    """
    models: dict[str, Input] = {}
    findings = []
    listing = _Listing()
    for argument in map(local_path, arguments):
        if is_remote(argument):
            matches = _without_products(_models_behind(argument), products)
        elif os.path.isdir(argument):
            matches = _without_products(_models_in_folder(argument, listing), products)
        elif glob.has_magic(argument) and not os.path.lexists(argument):
            paths = sorted(path for path in _matching_paths(argument, listing) if not os.path.isdir(path))
            start = _fixed_folder(argument)
            matches = _without_products([Input(path, True, tree=_tree_of(path, start)) for path in paths], products)
        elif glob.has_magic(argument):
            # Whoever makes a file of that name decides what is read, as for any other file that a pattern finds.
            matches = [Input(argument, found=True)]
        else:
            matches = [parse_input(argument)]
        if not matches:
            why = "no file *.onnx was found, and no model as text"
            help = "check the path; a folder or a pattern has to lead to models, *.onnx or as text (opset explain text)"
            findings.append(Finding("M101", "there is no model here", why=why, help=help, file=argument))
        for model in matches:
            models.setdefault(os.path.normpath(model.path), model)
    if findings:
        raise ModelError(findings)
    return list(models.values())


class _Listing:
    """The entries of folders, MOST_ENTRIES at most. Links to folders are not followed, so no folder occurs twice."""

    def __init__(self) -> None:
        self._count = 0

    def list_entries(self, folder: str) -> list[os.DirEntry[str]]:
        """Return a folder's entries by name. Raises OSError, and UsageError U103 if they are too many."""
        listed = []
        with os.scandir(folder or os.curdir) as entries:
            for entry in entries:
                listed.append(entry)
                if self._count + len(listed) > MOST_ENTRIES:
                    why = f"there are more than {MOST_ENTRIES:,} files and folders in what is named"
                    raise _usage_error("the folder is too large", "name a folder below it, or the files", why)
        self._count += len(listed)
        return sorted(listed, key=lambda entry: entry.name)

    def walk_below(self, folder: str) -> Iterator[tuple[str, list[os.DirEntry[str]] | None]]:
        """Yield a folder and all folders below it, as paths relative to it: with their entries, None if unreadable."""
        pending = [""]
        while pending:
            below = pending.pop()
            try:
                entries = self.list_entries(os.path.join(folder, below) if below else folder)
            except OSError:
                yield below, None
                continue
            yield below, entries
            inner = [os.path.join(below, entry.name) for entry in entries if _is_folder(entry, follow=False)]
            pending += reversed(inner)


def _is_folder(entry: os.DirEntry[str], follow: bool) -> bool:
    """Whether an entry is a folder; one that cannot be read is none."""
    try:
        return entry.is_dir(follow_symlinks=follow)
    except OSError:
        return False


def _models_in_folder(folder: str, listing: _Listing) -> list[Input]:
    """Return the models in a folder; a folder that cannot be read is among them, to be reported like a model."""
    models = []
    for below, entries in listing.walk_below(folder):
        place = os.path.join(folder, below) if below else folder
        if entries is None:
            models.append(Input(place, True, folder, below))
            continue
        candidates = [entry for entry in entries if entry.name.endswith(SEARCHED_SUFFIXES)]
        names = [entry.name for entry in candidates if not _is_folder(entry, follow=True)]
        models += [Input(os.path.join(place, name), True, folder, below) for name in names]
    return models


def _models_behind(url: str) -> list[Input]:
    """Return the models that a URL stands for: itself, those in a folder, or those that match a pattern."""
    listed = list_models(url, SEARCHED_SUFFIXES)
    if listed is None:
        return [Input(url)]
    start, found = listed
    branches = [(each, each.removeprefix(start).strip("/").rpartition("/")[0]) for each in found]
    return [Input(each, True, start, branch) for each, branch in branches]


def _fixed_folder(pattern: str) -> str:
    """Return the folder of a pattern before its first wildcard."""
    folder = os.path.dirname(pattern)
    while glob.has_magic(folder):
        folder = os.path.dirname(folder)
    return folder


def _tree_of(path: str, start: str) -> str:
    """Return the folder of a path below the one in which a search began."""
    tree = os.path.relpath(os.path.dirname(path) or os.curdir, start or os.curdir)
    return "" if tree == os.curdir else tree


def _matching_paths(pattern: str, listing: _Listing) -> list[str]:
    """Return the paths that a pattern matches; ** is any number of folders, and no wildcard matches hidden names."""
    drive, rest = os.path.splitdrive(pattern)
    parts = [part for part in re.split(_SEPARATOR, rest) if part]
    paths = [f"{drive}{os.sep if re.match(_SEPARATOR, rest) else ''}"]
    for part in [*parts, "*"] if parts[-1] == "**" else parts:
        if part == "**":
            paths = [
                os.path.join(each, below) if below else each
                for each in paths
                for below, entries in listing.walk_below(each)
                if entries is not None and not any(name.startswith(".") for name in below.split(os.sep))
            ]
        elif glob.has_magic(part):
            paths = [os.path.join(each, name) for each in paths for name in _matching_names(each, part, listing)]
        else:
            paths = [path for each in paths if os.path.lexists(path := os.path.join(each, part))]
        paths = [*dict.fromkeys(paths)]
    return paths


def _matching_names(folder: str, pattern: str, listing: _Listing) -> list[str]:
    """Return the names in a folder that match a pattern, none if it cannot be read."""
    try:
        names = [entry.name for entry in listing.list_entries(folder)]
    except OSError:
        return []
    hidden = pattern.startswith(".")
    return [name for name in fnmatch.filter(names, pattern) if hidden or not name.startswith(".")]


def _without_products(inputs: list[Input], products: bool) -> list[Input]:
    """Return the inputs, without `products` only those that no earlier run made from another input."""
    if products:
        return inputs
    paths = {model.path for model in inputs}
    return [model for model in inputs if not ((m := re.fullmatch(_PRODUCT, model.path)) and f"{m[1]}{m[2]}" in paths)]


class Output(NamedTuple):
    """The destination of results: a stream, with `text` as text; a file; a folder; the inputs; or files beside them."""

    stream: bool = False
    text: bool = False
    file: str = ""
    folder: str = ""
    in_place: bool = False

    def absolute(self) -> Output:
        """Return the destination with absolute paths."""
        file, folder = (
            each if not each or is_remote(each) else os.path.abspath(each) for each in (self.file, self.folder)
        )
        return self._replace(file=file, folder=folder)

    def result_path(self, model: Input, suffix: str) -> tuple[str, str]:
        """Return the folder to which a result is written, and its path below it.

        The folder is one that the user named, or has a file that the user named. The result is <name>-<suffix>.onnx,
        or with the input's own ending if that is text; in place it has the input's name.
        """
        if self.folder:
            folder, below = self.folder, model.branch or ""
        elif model.below is not None:
            folder, below = model.root, model.below
        else:
            folder, below = os.path.dirname(model.path), ""
        name = os.path.basename(model.path) if self.in_place else f"{_stem_of(model)}-{suffix}{_extension_of(model)}"
        return folder, os.path.join(below, name)


def suffix_of(opsets: Mapping[str, int]) -> str:
    """Return the suffix of a converted file's name: "opset21", or "ai.onnx.ml3"."""
    if "" in opsets:
        return f"opset{opsets['']}"
    return "-".join(f"{domain}{version}" for domain, version in sorted(opsets.items()))


def refuse_output_as_input(inputs: list[Input]) -> None:
    """Raise UsageError U103 if the second of two inputs is no file, so that it is meant as the output."""
    if len(inputs) != 2 or any(model.path == STREAM or model.found for model in inputs):
        return
    first, second = (model.path for model in inputs)
    if os.path.exists(first) and not os.path.lexists(second):
        help = f"to write the result there: -o {second}"
        raise _usage_error(f"'{second}' is named as an input, and does not exist", help)


def output_for(given: str | None, in_place: bool, inputs: list[Input]) -> Output:
    """Return the destination that `-o` and `--in-place` name. Raises UsageError U103 if it does not fit the inputs."""
    streams = any(model.path == STREAM for model in inputs)
    if in_place:
        if given is not None:
            raise _usage_error("--in-place and -o exclude each other", "give one of them")
        if streams:
            raise _usage_error("a stream cannot be converted in place", "give -o FILE, or -o - for stdout")
        return Output(in_place=True)
    if given is None:
        if not streams:
            _check_distinct_names(inputs, "")
            return Output()
        given = TEXT_STREAM if inputs[0].text else STREAM
    if given in (STREAM, TEXT_STREAM):
        if len(inputs) > 1:
            raise _usage_error("several models do not fit into one stream", "give -o FOLDER")
        return Output(stream=True, text=given == TEXT_STREAM)
    if not (given.endswith(("/", os.sep)) or os.path.isdir(given)):
        # Models that were found go into a folder, unless the name is that of one model.
        several = len(inputs) > 1 or inputs[0].branch is not None
        found = any(model.found for model in inputs) and not given.endswith(MODEL_SUFFIXES)
        if not several:
            return Output(file=given)
        if not (found or os.path.lexists(given)):
            message = f"several models do not fit into one file, '{given}'"
            raise _usage_error(message, f"for a folder that is to be made, write -o {given}/")
    if os.path.lexists(given) and not os.path.isdir(given):
        message = f"'{given}' is no folder, and several models are to be written there"
        raise _usage_error(message, "name a folder with -o")
    _check_distinct_names(inputs, given)
    return Output(folder=given)


def refuse_report_as_model(report: str | None, inputs: Iterable[Input], output: Output | None) -> None:
    """Raise UsageError U103 if a report and a model that is read or written are one file."""
    if report is None:
        return
    models = {model.path for model in inputs} | ({output.file} if output is not None else set())
    if os.path.realpath(report) in {os.path.realpath(path) for path in models if path and path != STREAM}:
        raise _usage_error(f"'{report}' is the report and a model", "name another file with --report")


def _check_distinct_names(inputs: list[Input], folder: str) -> None:
    """Raise UsageError U103 if two results would be written to the same file."""
    seen: dict[tuple[str, str], str] = {}
    for model in inputs:
        place = os.path.join(folder, model.branch or "") if folder else os.path.dirname(model.path)
        key = place, _stem_of(model) + _extension_of(model)
        if key in seen:
            why = f"'{seen[key]}' and '{model.path}' would be written to the same file"
            raise _usage_error("two models have one name", "convert them one by one", why)
        seen[key] = model.path


def _extension_of(model: Input) -> str:
    """Return the extension of the result for a model: text stays text, also as .onnx.textproto."""
    suffix = TEXT_SUFFIX if model.text else text_suffix(model.path) or ".onnx"
    return f".onnx{suffix}" if model.path.endswith(f".onnx{suffix}") else suffix


def _stem_of(model: Input) -> str:
    """Return the name of a model's file without its extension."""
    name, extension = os.path.basename(model.path), _extension_of(model)
    if name == STREAM:
        return "stdin"
    return name.removesuffix(extension) if name.endswith(extension) else os.path.splitext(name)[0]


def _parse_sizes(ctx: click.Context, param: click.Parameter, options: Iterable[str]) -> dict[str, int | str]:
    """Return the sizes of `--dim NAME=N`. Raises BadParameter for another form, or two sizes of one name."""
    sizes: dict[str, int | str] = {}
    for option in options:
        name, _, text = option.rpartition("=")
        if not name or not re.fullmatch(r"[0-9]{1,18}|[^\W\d]\w*", text):
            raise click.BadParameter(f"{option!r} is not NAME=N, in which N is a number or the name of a variable")
        size = int(text) if text[0].isdecimal() else text
        if sizes.setdefault(name, size) != size:
            raise click.BadParameter(f"'{name}' is given two sizes: {sizes[name]} and {size}")
    return sizes


def _sizes_option(help: str) -> Callable[[Any], Any]:
    """Return the option `--dim`, which a command takes as `dims`."""
    return click.option("--dim", "dims", multiple=True, callback=_parse_sizes, metavar="NAME=N", help=help)


dims_option = _sizes_option(
    "Size of a dim_param, or of x.0, the first axis of input x. A fixed size may become a variable. Repeatable."
)
numbers_option = _sizes_option("Number for a dim_param, or for x.0, the first axis of input x. Repeatable.")
"""The option of verbs that evaluate models, in which a size cannot stay open."""
roots_option = click.option(
    "--allow-external-root",
    "roots",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="DIR",
    help="Another folder in which external data is allowed. Repeatable.",
)
freeze_option = click.option(
    "--freeze",
    multiple=True,
    metavar="NAME|all",
    help="Make an initializer that inputs list, or all of them, a constant. Repeatable.",
)


def _usage_error(message: str, help: str, why: str = "") -> UsageError:
    """Return the error for arguments that do not fit each other."""
    return UsageError(Finding("U103", message, why=why, help=help))
