"""`opset run`: computes a model on the reference kernels, shows what comes out, and compares it."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from opset.cli import output
from opset.cli.configuration import registry_for, schemas_option
from opset.cli.inputs import STREAM
from opset.errors import Finding, OpsetError, RunError, UsageError, printable
from opset.text import columns, styled

SMALL = 8
"""How many elements a value has at most whose elements are shown."""
MAX_STDIN = 1 << 26
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _bytes(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """Give the number of bytes that "512M" stands for."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d{1,18})([KMGT]?)B?", value.upper())
    if match is None:
        raise click.BadParameter(f"{value!r} is no number of bytes such as 4096, 512M or 2G")
    return int(match[1]) * _UNITS[match[2]]


@click.command(no_args_is_help=True)
@click.argument("model")
@click.argument("inputs", nargs=-1, metavar="[INPUTS]...")
@click.option("--set", "literals", multiple=True, metavar="NAME=JSON", help="An input, written out. Repeatable.")
@click.option("--random", "drawn", is_flag=True, help="Draw the inputs that are not given.")
@click.option("--dim", "dims", multiple=True, metavar="NAME=SIZE",
              help="Size of a dimension to draw: N=2, or by input and axis: x.0=2. Repeatable.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N",
              help="Of drawn inputs, and of random operators without a seed of their own.")
@click.option("--value", "names", multiple=True, metavar="NAME",
              help="Give this value of the graph in place of the outputs. Repeatable.")
@click.option("-o", "--output", "given", metavar="FILE|DIR",
              help="Write the values to .npz, .npy or .json, or to a folder, as .pb.")
@click.option("--save-inputs", is_flag=True, help="Write the inputs to the folder, too.")
@click.option("--force", is_flag=True, help="Overwrite an output that exists.")
@click.option("--compare", "expected", metavar="FILE|DIR",
              help="Compare with expected values; exit status 1 where they differ.")
@click.option("--rtol", type=click.FloatRange(min=0), metavar="X", help="Relative tolerance; else by element type.")
@click.option("--atol", type=click.FloatRange(min=0), metavar="X", help="Absolute tolerance; else by element type.")
@click.option("--trace", is_flag=True, help="Show every value as it is computed.")
@click.option("--max-steps", type=click.IntRange(min=1), metavar="N", help="Run at most N nodes.")
@click.option("--max-bytes", callback=_bytes, metavar="SIZE", help="Bytes of all values at once: 512M, 2G.")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Stop after so long.")
@click.option("--allow-external-root", "roots", type=click.Path(path_type=Path), multiple=True, metavar="DIR",
              help="Another folder that external data may lie in. Repeatable.")
@schemas_option
@click.option("-q", "--quiet", is_flag=True, help="Write no report, errors alone.")
@output.format_option
def command(
    model: str, inputs: tuple[str, ...], literals: tuple[str, ...], drawn: bool, dims: tuple[str, ...], seed: int,
    names: tuple[str, ...], given: str | None, save_inputs: bool, force: bool, expected: str | None,
    rtol: float | None, atol: float | None, trace: bool, max_steps: int | None, max_bytes: int | None,
    timeout: float | None, roots: tuple[Path, ...], folders: tuple[Path, ...], quiet: bool, form: str,
) -> int:  # fmt: skip
    """Compute a model's outputs on the reference kernels.

    MODEL is a file, or - for stdin. INPUTS are files of values: .npz by name, .npy and .pb (alone, or as NAME=FILE),
    .json, a folder of test data (input_0.pb and on), or - for JSON on stdin.
    """
    from opset.opsets.evaluator import Limits, ReferenceEvaluator

    report = Report(model, form, quiet)
    try:
        if STREAM in inputs and model == STREAM:
            raise UsageError(Finding("U103", "model and inputs cannot both come from stdin"))
        limits = Limits(max_steps or Limits().max_steps, max_bytes, timeout)
        evaluator = ReferenceEvaluator(
            sys.stdin.buffer if model == STREAM else model,
            registry=registry_for(folders), limits=limits, seed=seed, trace=report.traced if trace else None,
            allow_external_roots=roots,
        )  # fmt: skip
        feeds = Feeds(evaluator, limits.bytes())
        feeds.read(inputs, literals)
        if drawn or dims:
            feeds.draw(_sizes(dims), seed)
        asked = list(names) or evaluator.output_names
        wanted = _expected(expected, evaluator, asked, limits.bytes()) if expected is not None else {}
        report.inputs(feeds)
        with _progress(evaluator):
            values = dict(zip(asked, evaluator.run(asked, feeds.values), strict=True))
        report.outputs(values, evaluator.steps)
        if given is not None:
            _write(given, values, feeds if save_inputs else None, evaluator, force)
            report.data["output"] = given
        if expected is not None:
            report.compare(values, wanted, rtol, atol)
    except OpsetError as error:
        findings = [each.in_file("stdin" if model == STREAM else model) for each in error.findings]
        return report.failed(findings, error.exit_status)
    return report.finish()


class Feeds:
    """The inputs of a run: values by name, and where each is from."""

    def __init__(self, evaluator: Any, limit: int) -> None:
        self.evaluator, self.limit = evaluator, limit
        self.values: dict[str, Any] = {}
        self.origins: dict[str, str] = {}
        self.declared = {each.name: each for each in evaluator.inputs}

    def read(self, inputs: Sequence[str], literals: Sequence[str]) -> None:
        """Read files and written-out values. Raises with all that is wrong with them."""
        findings: list[Finding] = []
        status: type[OpsetError] = UsageError
        for each in (*inputs, *literals):
            try:
                self._literal(each) if each in literals and each not in inputs else self._file(each)
            except OpsetError as error:
                findings += error.findings
                status = type(error)
        if findings:
            raise status(findings)

    def draw(self, sizes: Mapping[str, int], seed: int) -> None:
        """Draw what has not been given and has no default."""
        from opset.opsets.random_inputs import draw_inputs

        absent = [each.name for each in self.evaluator.inputs if each.name not in self.values and not each.has_default]
        graph = self.evaluator.model.proto.graph
        values = draw_inputs([each for each in graph.input if each.name in set(absent)], sizes, seed, self.limit)
        for name, value in values.items():
            self._add(name, value, f"drawn with seed {seed}")

    def _file(self, argument: str) -> None:
        from opset.opsets import datafiles

        declared = list(self.evaluator.inputs)
        if argument == STREAM:
            text = sys.stdin.buffer.read(MAX_STDIN + 1)
            for name, value in datafiles.read_json(text, declared, "stdin", MAX_STDIN).items():
                self._add(name, value, "stdin")
            return
        name, equals, path = argument.partition("=")
        if equals and not os.path.lexists(argument):
            if name not in self.declared:
                raise self._unknown(name)
            values = datafiles.read_values(path, [self.declared[name]], self.limit)
            if len(values) != 1:
                help = "name the file alone: its values have names"
                raise UsageError(Finding("U103", f"it holds {len(values)} values, not one", help=help, file=path))
            self._add(name, next(iter(values.values())), path)
            return
        values = datafiles.read_values(argument, declared, self.limit)
        for name, value in values.items():
            lone = len(values) == 1 and name not in self.declared and argument.endswith((".npy", ".pb"))
            self._add(self._next() or name if lone else name, value, argument)

    def _next(self) -> str:
        """Give the first input that has neither a value nor a default."""
        return next((name for name in self.evaluator.input_names if name not in self.values), "")

    def _literal(self, argument: str) -> None:
        from opset.opsets import datafiles

        name, equals, text = argument.partition("=")
        if not equals:
            raise UsageError(Finding("U103", f"'{printable(argument)}' is not NAME=JSON", help="write x=[1,2,3]"))
        if name not in self.declared:
            raise self._unknown(name)
        import json

        whole = f"{{{json.dumps(name)}: {text}}}"
        for key, value in datafiles.read_json(whole, [self.declared[name]], f"--set {name}", MAX_STDIN).items():
            self._add(key, value, "--set")

    def _unknown(self, name: str) -> RunError:
        help = f"its inputs are {', '.join(map(printable, self.declared)) or 'none'}"
        return RunError(Finding("R102", f"the model has no input '{printable(name)}'", help=help))

    def _add(self, name: str, value: Any, origin: str) -> None:
        if name in self.values:
            why = f"by {self.origins[name]} and by {origin}"
            raise UsageError(Finding("U103", f"the input '{printable(name)}' is given twice", why=why))
        self.values[name], self.origins[name] = value, origin


def _sizes(dims: Sequence[str]) -> dict[str, int]:
    sizes = {}
    for each in dims:
        name, _, size = each.rpartition("=")
        if not name or not re.fullmatch(r"\d{1,18}", size):
            raise UsageError(Finding("U103", f"'{printable(each)}' is not NAME=SIZE", help="write --dim N=2"))
        sizes[name] = int(size)
    return sizes


def _expected(path: str, evaluator: Any, asked: Sequence[str], limit: int) -> dict[str, Any]:
    """Give the expected values of a file. Raises UsageError U103 where it has none of those that are computed."""
    from opset.opsets import datafiles
    from opset.opsets.evaluator import Declared

    outputs = {each.name: each for each in evaluator.outputs}
    declared = [outputs.get(name) or Declared(name, None, None) for name in asked]
    values: dict[str, Any] = datafiles.read_values(path, declared, limit, prefix="output")
    if not set(values) & set(asked):
        there, computed = (", ".join(map(printable, each)) or "nothing" for each in (values, asked))
        why = f"it has {there}, and {computed} is computed"
        raise UsageError(Finding("U103", "nothing can be compared", why=why, file=path))
    return values


def _write(given: str, values: Mapping[str, Any], feeds: Feeds | None, evaluator: Any, force: bool) -> None:
    from opset.opsets import datafiles

    types = {each.name: each.type for each in (*evaluator.inputs, *evaluator.outputs)}
    if feeds is not None:
        if os.path.splitext(given)[1] in (".npz", ".npy", ".json"):
            help = "name a folder: -o data/"
            raise UsageError(Finding("U103", "inputs and outputs go to a folder together", help=help))
        datafiles.write_values(os.path.join(given, ""), feeds.values, types, prefix="input", force=force)
        given = os.path.join(given, "")
    datafiles.write_values(given, values, types, force=force)


@contextlib.contextmanager
def _progress(evaluator: Any) -> Iterator[None]:
    """Show on a terminal, once a second, how many nodes have been run."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()

    def tell() -> None:
        while not done.wait(1):
            sys.stderr.write(f"[{evaluator.steps:,} nodes]\r")
            sys.stderr.flush()

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


class Report:
    """What is told of a run: collected as data, and written as text or JSON."""

    def __init__(self, model: str, form: str, quiet: bool) -> None:
        self.form, self.quiet = form, quiet
        self.name = "stdin" if model == STREAM else model
        self.findings: list[Finding] = []
        self.data: dict[str, Any] = {
            "model": model, "inputs": [], "trace": [], "outputs": [], "comparison": [], "steps": 0, "output": None,
            "errors": [], "exit_status": 0,
        }  # fmt: skip

    def traced(self, place: str, name: str, value: Any) -> None:
        """Note, and in text write at once, a value that was computed."""
        entry = {"node": place, "name": name, **described(value)}
        if self.form == "json":
            self.data["trace"].append(entry)
        elif not self.quiet:
            sys.stdout.write(f"{printable(place)}\n{columns([_row(entry)], '    ')[0]}\n")

    def inputs(self, feeds: Feeds) -> None:
        """Note what goes in."""
        self.data["inputs"] = [
            {"name": name, **described(value, statistics=False), "from": feeds.origins[name]}
            for name, value in feeds.values.items()
        ]

    def outputs(self, values: Mapping[str, Any], steps: int) -> None:
        """Note what comes out."""
        self.data["outputs"] = [{"name": name, **described(value)} for name, value in values.items()]
        self.data["steps"] = steps

    def compare(
        self, values: Mapping[str, Any], wanted: Mapping[str, Any], rtol: float | None, atol: float | None
    ) -> None:
        """Note how values differ from those that were expected."""
        from opset.opsets.comparison import differences

        for name in [*values, *(set(wanted) - set(values))]:
            if name not in wanted or name not in values:
                why = "nothing is expected of it" if name in values else "it is expected, and not computed"
                self.data["comparison"].append({"name": name, "same": None, "why": why})
                continue
            found = list(differences(wanted[name], values[name], rtol, atol))
            wrong = [each for each in found if each.why]
            self.data["comparison"].append({
                "name": name,
                "same": not wrong,
                "absolute": max((each.absolute for each in found), default=0.0),
                "relative": max((each.relative for each in found), default=0.0),
                "why": "; ".join(f"{each.where} {each.why}".strip() for each in wrong[:5]),
            })  # fmt: skip
            self.findings += [
                Finding("R401", "an output differs from what was expected", f"output '{printable(name)}'{each.where}",
                        each.why, "if that is as it should be, widen --rtol or --atol", self.name)
                for each in wrong
            ]  # fmt: skip

    def failed(self, findings: Sequence[Finding], status: int) -> int:
        """Tell what went wrong; give the exit status."""
        self.findings = list(findings)
        return self.finish(status)

    def finish(self, status: int | None = None) -> int:
        """Write the report; give the exit status."""
        status = (1 if self.findings else 0) if status is None else status
        self.data["errors"] = [asdict(finding) for finding in self.findings]
        self.data["exit_status"] = status
        if not self.quiet and (self.form == "json" or self.data["outputs"]):
            output.write_product(self.data, self._text, self.form)
        if self.findings and (self.form == "text" or self.quiet):
            output.write_errors(self.findings)
        return status

    def _text(self) -> list[str]:
        counts = f"{self.data['steps']:,} node{'' if self.data['steps'] == 1 else 's'} run"
        lines = [f"{styled(printable(self.name), 'bold', sys.stdout)}: {counts}"]
        rows = [["input", *_row(each), printable(each["from"])] for each in self.data["inputs"]]
        rows += [["output", *_row(each)] for each in self.data["outputs"]]
        lines += columns(rows)
        for each in self.data["comparison"]:
            lines.append(f"  {printable(each['name'])}: {_verdict(each)}")
        if self.data["output"] is not None:
            lines.append(f"  wrote {printable(self.data['output'])}")
        return lines


def _verdict(entry: Mapping[str, Any]) -> str:
    if entry["same"] is None:
        return f"not compared: {entry['why']}"
    greatest = f"greatest difference {entry['absolute']:.3g}, relative {entry['relative']:.3g}"
    return f"{'as expected' if entry['same'] else 'differs'} ({greatest})"


def _row(entry: Mapping[str, Any]) -> list[str]:
    """Give the cells of a value: name, type, shape, and its elements or statistics."""
    if entry["shape"] is None:
        shape = f"{entry['entries']} entries" if "entries" in entry else ""
    else:
        shape = "x".join(map(str, entry["shape"])) or "scalar"
    known = []
    if "values" in entry:
        known.append(_shortly(entry["values"]))
    elif "min" in entry:
        known += [f"{key} {entry[key]:.6g}" for key in ("min", "max", "mean", "std")]
    known += [f"{entry[key]} {key}" for key in ("nan", "inf") if entry.get(key) and "values" not in entry]
    return [printable(entry["name"]), entry["type"], shape, printable(", ".join(known))]


def _shortly(values: Any) -> str:
    if isinstance(values, list):
        return f"[{', '.join(map(_shortly, values))}]"
    return f"{values:.6g}" if isinstance(values, float) else str(values)


def described(value: Any, statistics: bool = True) -> dict[str, Any]:
    """Give type, shape and statistics of a value; its elements where they are few.

    The statistics are those of the finite elements, and how many are not.
    """
    import numpy as np

    from opset.opsets.evaluator import type_of

    found: dict[str, Any] = {"type": type_of(value), "shape": None}
    if not isinstance(value, np.ndarray):
        if isinstance(value, list | dict):
            found["entries"] = len(value)
        return found
    found["shape"] = list(value.shape)
    if not statistics:
        return found
    plain: Any = value
    if value.dtype.kind not in "OUSbiufc":
        plain = value.astype(np.float64 if "float" in value.dtype.name else np.int64)
    if value.size <= SMALL:
        found["values"] = plain.astype(str).tolist() if plain.dtype.kind == "c" else plain.tolist()
    if plain.dtype.kind in "iuf" and value.size:
        with np.errstate(all="ignore"):
            finite = plain if plain.dtype.kind in "iu" else plain[np.isfinite(plain)]
            if plain.dtype.kind == "f":
                found["nan"] = int(np.isnan(plain).sum())
                found["inf"] = int(np.isinf(plain).sum())
            if finite.size:
                numbers = {"min": finite.min(), "max": finite.max()}
                numbers |= {"mean": finite.mean(dtype=np.float64), "std": finite.std(dtype=np.float64)}
                found |= {key: number.item() for key, number in numbers.items()}
    return found
