"""The models that a command line names, and the names of the files that are written."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import click

from opset.errors import Finding, ModelError, UsageError

STREAM = "-"
_PRODUCT = re.compile(r"(.+)-(?:opset\d+|inferred)\.onnx")


class Input(NamedTuple):
    """One model: its path, or "-"; `below` is its place in the folder that was named, None if it was named itself."""

    path: str
    below: str | None = None


def expand(arguments: Iterable[str], *, products: bool) -> list[Input]:
    """Return the models that files, folders (recursively), patterns and "-" stand for, each once.

    Without `products`, files that an earlier run wrote beside their originals in a folder or pattern are left out.
    Raises ModelError M101 where an argument stands for nothing.
    """
    found: dict[str, Input] = {}
    findings = []
    for argument in arguments:
        if argument == STREAM:
            named = [Input(STREAM)]
        elif os.path.isdir(argument):
            named = _chosen(_below(argument), products)
        elif glob.has_magic(argument) and not os.path.lexists(argument):
            paths = sorted(path for path in glob.iglob(argument, recursive=True) if not os.path.isdir(path))
            named = _chosen([Input(path) for path in paths], products)
        else:
            named = [Input(argument)]
        if not named:
            findings.append(Finding("M101", "there is no model here", why="no file *.onnx was found", file=argument))
        for each in named:
            found.setdefault(os.path.normpath(each.path), each)
    if findings:
        raise ModelError(findings)
    return list(found.values())


def _below(folder: str) -> list[Input]:
    found = []
    for place, folders, files in os.walk(folder):
        folders.sort()
        below = os.path.relpath(place, folder)
        below = "" if below == os.curdir else below
        found += [Input(os.path.join(place, file), below) for file in sorted(files) if file.endswith(".onnx")]
    return found


def _chosen(inputs: list[Input], products: bool) -> list[Input]:
    paths = {each.path for each in inputs}
    if products:
        return inputs
    return [each for each in inputs if not ((m := _PRODUCT.fullmatch(each.path)) and f"{m[1]}.onnx" in paths)]


class Output(NamedTuple):
    """Where results go: `stream`; the given `file`; below the given `folder`; in place; or else beside the input."""

    stream: bool = False
    file: str = ""
    folder: str = ""
    in_place: bool = False

    def path(self, model: Input, suffix: str) -> str:
        """Return the file that a result is written to: in a folder, <name>-<suffix>.onnx; "-" for stdout."""
        if self.stream:
            return STREAM
        if self.in_place:
            return model.path
        if self.file:
            return self.file
        return os.path.join(_folder(model, self.folder), f"{_stem(model)}-{suffix}.onnx")


def suffix(opsets: Mapping[str, int]) -> str:
    """Return the suffix of a converted file's name: "opset21", or "ai.onnx.ml3"."""
    if "" in opsets:
        return f"opset{opsets['']}"
    return "-".join(f"{domain}{version}" for domain, version in sorted(opsets.items()))


def output_for(given: str | None, in_place: bool, inputs: list[Input]) -> Output:
    """Return where the results of `-o` and `--in-place` go. Raises UsageError U103 where they do not fit the inputs."""
    streams = any(each.path == STREAM for each in inputs)
    if in_place:
        if given is not None:
            raise _unfit("--in-place and -o exclude each other", "give one of them")
        if streams:
            raise _unfit("a stream cannot be converted in place", "give -o FILE, or -o - for stdout")
        return Output(in_place=True)
    if given is None:
        if not streams:
            _check_names(inputs, "")
            return Output()
        given = STREAM
    if given == STREAM:
        if len(inputs) > 1:
            raise _unfit("several models do not fit into one stream", "give -o FOLDER")
        return Output(stream=True)
    several = len(inputs) > 1 or inputs[0].below is not None
    if not (several or given.endswith(os.sep) or os.path.isdir(given)):
        return Output(file=given)
    if os.path.lexists(given) and not os.path.isdir(given):
        raise _unfit(f"'{given}' is no folder, and several models are to be written there", "name a folder with -o")
    _check_names(inputs, given)
    return Output(folder=given)


def _check_names(inputs: list[Input], folder: str) -> None:
    seen: dict[tuple[str, str], str] = {}
    for each in inputs:
        key = _folder(each, folder), _stem(each)
        if key in seen:
            why = f"'{seen[key]}' and '{each.path}' would be written to the same file"
            raise _unfit("two models have one name", "convert them one by one", why)
        seen[key] = each.path


def _folder(model: Input, folder: str) -> str:
    return os.path.join(folder, model.below or "") if folder else os.path.dirname(model.path)


def _stem(model: Input) -> str:
    name = os.path.basename(model.path)
    return "stdin" if name == STREAM else os.path.splitext(name)[0]


def _sizes(ctx: click.Context, param: click.Parameter, options: Iterable[str]) -> dict[str, int]:
    """Return the numbers of `--dim NAME=N`. Raises BadParameter."""
    found: dict[str, int] = {}
    for each in options:
        name, _, size = each.rpartition("=")
        if not name or not re.fullmatch(r"\d{1,18}", size, re.ASCII):
            raise click.BadParameter(f"{each!r} is not NAME=N")
        if found.setdefault(name, int(size)) != int(size):
            raise click.BadParameter(f"'{name}' is given two numbers")
    return found


dims_option = click.option(
    "--dim", "dims", multiple=True, callback=_sizes, metavar="NAME=N",
    help="Number for a dim_param, or for x.0, the first size of input x. Repeatable.",
)  # fmt: skip


def _unfit(message: str, help: str, why: str = "") -> UsageError:
    return UsageError(Finding("U103", message, why=why, help=help))
