"""Verifies that two models compute the same: `verify(before, after)`."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from opset.budget import Budget, BudgetExceeded, Limits
from opset.errors import (
    Finding,
    FindingList,
    OpsetError,
    RunError,
    UsageError,
    brief_name,
    listing,
    quote,
    safe_text,
)
from opset.file_names import list_paths
from opset.inference.engine.binding import plain_sizes
from opset.model.graph.index import bodies
from opset.model.storage.container import Model, load
from opset.opsets.registry import Registry, Schemas, registry_with
from opset.options import checked_options
from opset.reference.engine.limits import byte_limit, limit_error
from opset.reference.value_info import value_info_of
from opset.tensor_io.files import read_values
from opset.verification.branches import Branches
from opset.verification.comparing import Comparison, InnerValues, differing_weight, leaves, why_different
from opset.verification.distributions import DRAWS, statistics_of, why_distributed_otherwise
from opset.verification.inputs import CAREFUL, Drawing, Drawn
from opset.verification.randomness import random_outputs, without_seeds
from opset.verification.report import (
    DIFFERENT,
    NOT_COMPARED,
    SAME,
    FirstDifference,
    OutputComparison,
    Verification,
    VerifiedRun,
)
from opset.verification.running import REFERENCE, ReferenceRunner, Runner, RuntimeRunner
from opset.verification.tolerances import Roundings, tolerance

SEEDS = 3
MORE_SEEDS = 9
"""Inputs drawn beyond these as long as a branch or body of a loop was not run, or an output had no elements."""
SMALL_SEEDS, HUNT_SEEDS = 20, 150
"""Inputs drawn of a small model, unless an output differs before; and if inner values alone differ, or roundings."""
INSIDE = 1e-4
"""The relative difference of values inside that counts."""
KEPT = 1 << 30
"""Bytes of inner values that are kept to find the first that differs."""
MOST_STEPS, STEPS_FOR_ONE = 100_000, 100
"""Steps that a run of the second model may take at least, and for each step of the first one; more has no end."""
ENOUGH_DRAWN = 40
"""Elements that are drawn again to see whether an output is random: a few may happen to be equal."""
MOST_DISTRIBUTIONS = 6
"""Runs in which random outputs of a small model are drawn many times, to compare their distributions."""
_ROUNDS = ("QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul", "Round")
_LIMITS = ("R301", "R302", "R303")
"""Codes of runs that reached a limit."""
_STOPPED = (*_LIMITS, "R205", "R201")
"""Codes of runs that say nothing about the model's values."""


class VerificationSettings(NamedTuple):
    """The settings of a verification, as `verify` takes them."""

    data: Sequence[Any] = ()
    seeds: int | None = None
    rtol: float | None = None
    atol: float | None = None
    dims: Mapping[str, int] = {}
    with_: str | None = None
    limits: Limits = Limits()


class Interface(NamedTuple):
    """How the inputs and outputs of two models belong together: names in the second model by names in the first.

    `notes` has a line for each pair with different names.
    """

    inputs: dict[str, str]
    outputs: dict[str, str]
    notes: list[str]


@checked_options
def verify(
    before: Any,
    after: Any,
    *,
    data: Iterable[Any] | os.PathLike[str] | None = None,
    seeds: int | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    dims: Mapping[str, int] | None = None,
    with_: str | None = None,
    schemas: Schemas = (),
    allow_external_roots: Iterable[str | Path] = (),
    limits: Limits | None = None,
) -> Verification:
    """Return whether two models compute the same, by running both on the same inputs.

    Args:
        before: A path, bytes, an opset.Model, or a ModelProto of the onnx package.
        after: The model to compare with it, in one of these forms.
        data: Inputs for one run each: a mapping by name, or the path of a file or a folder of values; several, or one.
            Inputs that are missing are drawn. Without it, all inputs are drawn.
        seeds: How many times inputs are drawn; without it 3, or up to 20 if the model is small, and more if differences
            inside the models show.
        rtol: The relative tolerance; without it, it follows from the types and the sums that an output depends on.
        atol: The absolute tolerance; without it, the relative one times the median magnitude of the output.
        dims: Numbers for sizes that the inputs leave open, by dim_param, or "x.0" for the first size of input x. For
            open sizes without a number, several numbers are tried.
        with_: An installed runtime that runs both, "onnxruntime" or "openvino"; without it, the reference evaluator
            does.
        schemas: Folders of operator YAML, for domains of your own.
        allow_external_roots: Folders outside the models' own from which external data may be read.
        limits: How much time all runs together may take, and how much memory and how many steps each may take.

    Returns:
        The verification; `same` says whether all is within the tolerances.

    Raises:
        ModelError: A model is malformed.
        SchemaError: A file in `schemas` has faults.
        UsageError: U103 if an input cannot be drawn, or `dims`, `seeds` or a tolerance are not valid; T224 if the
            runtime is not installed.
        RunError: R207 if the models have different inputs or outputs, R102 or R105 if `data` does not fit or cannot be
            read, R302 if drawn inputs would take too much memory.
    """
    for name, value, least in ("seeds", seeds, 1), ("rtol", rtol, 0), ("atol", atol, 0):
        if value is not None and not value >= least:  # nan is none, either
            raise UsageError(
                Finding("U103", f"{name} is {value}", help=f"give a number from {least} on, or leave it out")
            )
    registry = registry_with(schemas)
    roots = list_paths(allow_external_roots)
    models = load(before, allow_external_roots=roots), load(after, allow_external_roots=roots)
    settings = VerificationSettings(
        [data] if isinstance(data, Mapping) else list_paths(data or ()),
        seeds,
        rtol,
        atol,
        plain_sizes(dims or {}),
        with_,
        limits or Limits(),
    )
    return verify_models(*models, settings, registry, _name_of(before), _name_of(after))


def verify_models(
    before: Model,
    after: Model,
    settings: VerificationSettings,
    registry: Registry,
    name: str = "before",
    other: str = "after",
) -> Verification:
    """Return the verification of two models that were loaded already.

    Args:
        before: The model.
        after: The model to compare with it.
        settings: The options of `verify`.
        registry: The operators that are known.
        name: The name of the first model in the report.
        other: The name of the second model in the report.

    Raises:
        ModelError: The functions of a model call each other in a cycle.
        UsageError: U103 if an input cannot be drawn, T224 if the runtime is not installed.
        RunError: R207 if the models have different inputs or outputs, or another code if `data` does not fit.
    """
    return _Verifying(before, after, settings, registry).verification(name, other)


def match_interfaces(before: Model, after: Model) -> Interface:
    """Return which inputs and outputs of two models belong together.

    Inputs of the same name belong together; the others are matched in order, each with a note. The same holds for
    outputs. Inputs with a default value do not count.

    Raises:
        RunError: R207 if one model has more inputs or outputs than the other.
    """
    notes: list[str] = []
    matched: list[dict[str, str]] = []
    findings = FindingList()
    for role, one, other in (
        ("input", _required_inputs(before), _required_inputs(after)),
        ("output", [*before.proto.graph.output], [*after.proto.graph.output]),
    ):
        names, others = [each.name for each in one], [each.name for each in other]
        if {*names} == {*others}:
            matched.append(dict(zip(names, names, strict=True)))
            continue
        if len(names) != len(others):
            why = f"{listing(names) or 'none'} before, {listing(others) or 'none'} after"
            findings.append(Finding("R207", f"the models have different {role}s", why=why))
            continue
        kept = {*names} & {*others}
        rest = iter([each for each in others if each not in kept])
        pairs = {each: each if each in kept else next(rest) for each in names}
        notes += [f"{role} {quote(a)} was matched with {quote(b)} by position" for a, b in pairs.items() if a != b]
        matched.append(pairs)
    if findings:
        raise RunError(findings)
    return Interface(matched[0], matched[1], notes)


def rounds_otherwise(before: Model, after: Model) -> bool:
    """Whether the second model has fewer nodes of an operator that rounds to whole numbers, such as QuantizeLinear.

    A node in its place may round halves differently, which only some inputs show.
    """
    counts = [
        Counter(operator for body in bodies(each.proto) for operator, domain in body.operators if not domain)
        for each in (before, after)
    ]
    return any(counts[0][name] > counts[1][name] for name in _ROUNDS)


class _Verifying:
    """Runs two models and compares them."""

    def __init__(self, before: Model, after: Model, settings: VerificationSettings, registry: Registry) -> None:
        self.settings, self.registry = settings, registry
        self.models = before, after
        self.budget = Budget(Limits(timeout=settings.limits.timeout))
        self.interface = match_interfaces(before, after)
        self.drawing = Drawing(before, registry, settings.dims, settings.limits)
        self.notes = [*self.interface.notes]
        self.runs: list[VerifiedRun] = []
        self.comparisons = {
            name: Comparison(name, other, settings.rtol, settings.atol)
            for name, other in self.interface.outputs.items()
        }
        self._random = random_outputs(before, registry)
        self.first: FirstDifference | None = None
        self._reasons: dict[str, str] = {}
        """Why runs were not compared, each with what to do; "" if that does not follow from the reason."""
        self._located = False
        self._last: tuple[Drawn, Mapping[str, Any]] | None = None
        """The inputs of the last run in which the outputs were the same, for both models."""
        self._inside = ""
        self._distributions = 0
        self._stopped = False
        """Whether a run reached a limit, as runs on other inputs would."""
        self.branches = Branches(before, registry)
        if settings.with_ is not None:
            self.branches.missed.clear()  # a runtime does not say what it runs
        self.runners = [self._make_runner(number) for number in (0, 1)]

    def _make_runner(self, number: int) -> Runner:
        """Return a Runner for the first model (`number` 0) or the second one (1)."""
        limits, model = self.settings.limits, self.models[number]
        if self.settings.with_ is not None:
            return RuntimeRunner(model, ("before", "after")[number], self.settings.with_, limits, self.budget)
        return ReferenceRunner(model, self.registry, limits, self.budget)

    def verification(self, name: str, other: str) -> Verification:
        """Run both models, and return the verification; `name` and `other` are the names of the models in it.

        If the time is used up, the runs so far count, and a note says so. Raises RunError if `data` does not fit or
        inputs take too much memory, UsageError if inputs cannot be drawn or the runtime is not installed.
        """
        errors = FindingList()
        try:
            for drawn, outputs in self._runs_of_first():
                self._compare(drawn, outputs)
        except BudgetExceeded as error:
            self._reasons.update((str(each), each.help) for each in limit_error(error).findings)
            self.notes.append(f"not all runs were made: {error.why}")
        outputs = [each.result() for each in self.comparisons.values()]
        compared = any(run.verdict == SAME for run in self.runs)
        verdict = DIFFERENT if self._differs else SAME if compared else NOT_COMPARED
        self._note_weak_comparisons()
        if verdict == DIFFERENT:
            errors += _differences(outputs, self.runs, self.first)
        elif verdict == NOT_COMPARED:
            why, help = next(iter(self._reasons.items()), ("no run was made", ""))
            help = help or "give inputs: --data; or sizes: --dim"
            errors.append(Finding("C702", "nothing could be compared", why=why, help=help))
        return Verification(
            name,
            other,
            self._runner_name(),
            verdict,
            self.runs,
            outputs,
            self.first,
            [*dict.fromkeys(self.notes)],
            errors,
        )

    def _runner_name(self) -> str:
        """Return what runs the models, for the report: the reference evaluator, or a runtime with its version."""
        if self.settings.with_ is None:
            return REFERENCE
        version = next((each.version for each in self.runners if isinstance(each, RuntimeRunner)), "")
        return f"{self.settings.with_} {version}".strip()

    def _runs_of_first(self) -> Iterator[tuple[Drawn, list[Any]]]:
        """Yield (inputs, outputs) of each run that the first model made, with the inputs in `data` or with drawn ones.

        A run that the first model does not make is recorded, and not yielded. The number of drawn inputs depends on
        what the runs show, as the constants above say.
        """
        for number, given in enumerate(self.settings.data):
            drawn = self._read_inputs(given, number)
            try:
                yield drawn, self.runners[0].run(drawn.feeds, self.branches.trace)
            except RunError as error:
                self._note_failed_run(drawn, error)
        if self.settings.data:
            return
        seeds = self._least_seeds()
        most = max(seeds, (self.settings.seeds or SEEDS) + MORE_SEEDS)
        seed = 0
        while seed < most and not self._stopped and not (seed >= SEEDS and self._differs):
            if (
                seed >= seeds
                and not self.branches.missed
                and not any(each.is_empty for each in self.comparisons.values())
            ):
                break
            yield from self._draw_runs(seed)
            seed += 1
            if seed == seeds == SMALL_SEEDS and self.settings.seeds is None and self._is_doubtful():
                seeds = most = HUNT_SEEDS

    @property
    def _differs(self) -> bool:
        """Whether the models differed in one of the runs so far."""
        return any(run.verdict == DIFFERENT for run in self.runs)

    def _least_seeds(self) -> int:
        """Return how many times inputs are drawn at least."""
        if self.settings.seeds is not None:
            return self.settings.seeds
        return SMALL_SEEDS if self.settings.with_ is None and self.drawing.is_small else SEEDS

    def _draw_runs(self, seed: int) -> Iterator[tuple[Drawn, list[Any]]]:
        """Yield one pair of inputs, drawn with a seed, and the outputs of the first model.

        Several sizes and ranges are tried, and the first with which the model runs count. If it runs with none, nothing
        is yielded, and the failed run is recorded. Raises UsageError U103 if an input cannot be drawn, RunError R302 if
        inputs take too much memory.
        """
        failures: list[tuple[Drawn, RunError]] = []
        for sizes in self.drawing.sizes_for(seed):
            for attempt in range(len(CAREFUL)):
                drawn = self.drawing.draw(sizes, seed, attempt)
                try:
                    outputs = self.runners[0].run(drawn.feeds, self.branches.trace)
                except RunError as error:
                    failures.append((drawn, error))
                    if error.findings[0].code[:2] in ("R3", "R1") or error.findings[0].code in (*_STOPPED, "R206"):
                        break
                    continue
                if failures:
                    self._note_failure(*failures[0])
                yield drawn, outputs
                return
            if failures and failures[-1][1].findings[0].code in _STOPPED:
                break
        self._note_failed_run(*failures[0])

    def _note_failure(self, drawn: Drawn, error: RunError) -> None:
        """Add a note of the sizes with which the first model does not run, if it leaves sizes open."""
        if drawn.sizes:
            sizes = ", ".join(f"{safe_text(name)}={size}" for name, size in drawn.sizes.items())
            self.notes.append(f"the model before does not run with {sizes}: {_message(error)}")

    def _note_failed_run(self, drawn: Drawn, error: RunError) -> None:
        """Add a run with the verdict "not compared", since the first model does not run with these inputs."""
        why = f"the model before does not run: {_message(error)}"
        self._stopped |= error.findings[0].code in _STOPPED
        self._reasons[why] = _help_of(error)
        self.runs.append(VerifiedRun(drawn.source, drawn.seed, drawn.sizes, NOT_COMPARED, why))

    def _read_inputs(self, given: Any, number: int) -> Drawn:
        """Return the inputs in `given`, a mapping by name or a path; missing inputs are drawn, with a note.

        `number` is the index of `given` among the data. Raises RunError R102 for an input that the model does not have,
        R105 if a file cannot be read; UsageError U103 if a missing input cannot be drawn.
        """
        source = f"data {number + 1}"
        declared = [value_info_of(value) for value in self.models[0].proto.graph.input]
        if isinstance(given, Mapping):
            feeds = dict(given)
        else:
            source = str(given)
            feeds = read_values(source, declared, byte_limit(self.settings.limits), "input")
        names = [each.name for each in declared]
        if unknown := [name for name in feeds if name not in names]:
            help = f"its inputs are {listing(names) or 'none'}"
            message = f"the model has no input {listing(unknown, show=quote)}"
            raise RunError(Finding("R102", message, help=help, file=safe_text(source)))
        missing = [each for each in self.interface.inputs if each not in feeds]
        if missing:
            feeds |= self.drawing.complete(feeds, number)
            self.notes.append(f"{safe_text(source)} has no values for {listing(missing)}, which were drawn")
        return Drawn(source, None, dict(self.settings.dims), feeds)

    def _compare(self, drawn: Drawn, outputs: Sequence[Any]) -> None:
        """Run the second model on the inputs of a run of the first, and compare its outputs with `outputs`.

        The run is added to `runs`. If the second model does not run, the verdict is "different", or "not compared" if
        it only reached a limit.
        """
        feeds = {self.interface.inputs.get(name, name): value for name, value in drawn.feeds.items()}
        steps = self.runners[0].steps
        most = max(MOST_STEPS, STEPS_FOR_ONE * steps)
        try:
            found = self.runners[1].run(feeds, max_steps=most)
        except RunError as error:
            is_stopped = error.findings[0].code in _STOPPED and self.runners[1].steps <= most
            why = f"the model after does not run: {_message(error)}"
            if self.runners[1].steps > most:
                why = f"the model after does not come to an end: more than {most:,} steps, {steps:,} before"
            if is_stopped:
                self._stopped = True
                self.notes.append(f"{drawn.source} was not compared: {why}")
            verdict = NOT_COMPARED if is_stopped else DIFFERENT
            self._reasons[why] = _help_of(error)
            self.runs.append(VerifiedRun(drawn.source, drawn.seed, drawn.sizes, verdict, why))
            return
        names = [each.name for each in self.models[0].proto.graph.output]
        others = [each.name for each in self.models[1].proto.graph.output]
        values, other_values = dict(zip(names, outputs, strict=True)), dict(zip(others, found, strict=True))
        roundings = self._roundings(drawn)
        self._mark_random(drawn)
        same = True
        allowed: dict[str, float] = {}
        for name, comparison in self.comparisons.items():
            allowed[name], longest = _tolerance_for(values[name], name, comparison.after, roundings)
            same &= comparison.add(values[name], other_values[comparison.after], allowed[name], longest)
        is_random = any(each.random for each in self.comparisons.values())
        distributed = not (same and is_random) or self._compare_distributions(drawn, feeds)
        verdict = SAME if same and distributed else DIFFERENT
        self.runs.append(VerifiedRun(drawn.source, drawn.seed, drawn.sizes, verdict))
        if same:
            self._last = drawn, feeds
        elif not self._located:
            self._find_first_difference(drawn, feeds, max(allowed.values()))

    def _roundings(self, drawn: Drawn) -> list[Roundings | None]:
        """Return the roundings of the first model and of the second; None for a model whose types are not found."""
        open_sizes = {name: drawn.sizes[name] for name in self.drawing.open_sizes if name in drawn.sizes}
        found: list[Roundings | None] = []
        for drawing in (self.drawing, Drawing(self.models[1], self.registry, self.settings.dims, self.settings.limits)):
            inference = drawing.inference({name: open_sizes[name] for name in drawing.open_sizes if name in open_sizes})
            found.append(None if inference is None else Roundings(inference.index, inference))
        return found

    def _mark_random(self, drawn: Drawn) -> None:
        """Set `random` of the comparison of each output that depends on random numbers in this run.

        Such outputs are not compared by value. An output that may depend on them, by a Dropout, is drawn again to see
        it.
        """
        certain, doubtful = self._random
        if doubtful:
            with suppress(RunError):  # if a runtime alone can run the model, it is not known
                doubtful = self._changing_outputs(drawn, doubtful)
        for name, comparison in self.comparisons.items():
            comparison.random = name in certain or name in doubtful

    def _changing_outputs(self, drawn: Drawn, doubtful: Iterable[str]) -> set[str]:
        """Return the outputs of the first model, of those in `doubtful`, that change if other random numbers are drawn.

        Raises:
            RunError: The reference evaluator does not run the model.
        """
        (values,), found, left = self._outputs_by_seed(0, drawn.feeds, range(1)), set[str](), {*doubtful}
        fewest = min(sum(each.size for each in leaves(values[name])) for name in left)
        for seed in range(1, max(ENOUGH_DRAWN // max(fewest, 1), 1) + 1):
            (again,) = self._outputs_by_seed(0, drawn.feeds, (seed,))
            found |= {name for name in left if why_different(values[name], again[name], 0.0, 0.0)}
            left -= found
            if not left:
                break
        return found

    def _compare_distributions(self, drawn: Drawn, feeds: Mapping[str, Any]) -> bool:
        """Return whether each random output has the same distribution in both models, on the inputs of a run.

        True if this is not tested: if a runtime runs the models, if they are not small, or after MOST_DISTRIBUTIONS
        runs. The two models draw with different seeds, since draws that mirror each other would seem to differ too
        often.
        """
        if self.settings.with_ is not None or self._distributions >= MOST_DISTRIBUTIONS or not self.drawing.is_small:
            return True
        self._distributions += 1
        names = [name for name, each in self.comparisons.items() if each.random]
        try:
            first, *before = self._outputs_by_seed(0, drawn.feeds, range(DRAWS + 1))
            after = self._outputs_by_seed(1, feeds, range(DRAWS + 1, 2 * DRAWS + 1))
        except RunError as error:
            self.notes.append(f"the distributions of random outputs were not compared: {_message(error)}")
            return True
        same = True
        for name in names:
            comparison = self.comparisons[name]
            one = [statistics_of(each[name], first[name]) for each in before]
            other = [statistics_of(each[comparison.after], first[name]) for each in after]
            same &= comparison.add_distribution(why_distributed_otherwise(one, other))
        return same

    def _outputs_by_seed(self, number: int, feeds: Mapping[str, Any], seeds: Iterable[int]) -> list[dict[str, Any]]:
        """Return for each seed the outputs by name of the first model (`number` 0) or the second one (1).

        Raises RunError if the reference evaluator does not run the model.
        """
        model = without_seeds(self.models[number])
        names = [each.name for each in model.proto.graph.output]
        runners = (ReferenceRunner(model, self.registry, self.settings.limits, self.budget, seed) for seed in seeds)
        return [dict(zip(names, each.run(feeds), strict=True)) for each in runners]

    def _is_doubtful(self) -> bool:
        """Whether other inputs may show a difference, although no output differs so far.

        They may if weights or values inside the models differ, or if the second model rounds otherwise.
        """
        return self._differs_inside() or (self._last is not None and rounds_otherwise(*self.models))

    def _differs_inside(self) -> bool:
        """Whether weights or values inside the models differ, although no output did in the last run.

        The reason is kept for a note.
        """
        if self._last is None:
            return False
        if name := differing_weight(*self.models):
            self._inside = f"the weight {brief_name(name)} differs, and no output does"
            return True
        values = self._inner_values(*self._last, INSIDE)
        if values is None or values.first is None:
            return False
        name, place, _, why = values.first
        self._inside = f"{brief_name(name)} differs inside, and no output does: {why} ({place})"
        return True

    def _find_first_difference(self, drawn: Drawn, feeds: Mapping[str, Any], allowed: float) -> None:
        """Store in `first` the first value inside the models that differs in a run.

        Nothing is stored if a runtime runs the models. `feeds` are the inputs of the second model, `allowed` is the
        relative tolerance unless the caller set one.
        """
        self._located = True
        values = self._inner_values(drawn, feeds, allowed if self.settings.rtol is None else self.settings.rtol)
        if values is not None and values.first is not None:
            self.first = FirstDifference(*values.first)
        if values is not None and values.cut:
            self.notes.append("not all inner values fit into memory; an earlier one may differ")

    def _inner_values(self, drawn: Drawn, feeds: Mapping[str, Any], rtol: float) -> InnerValues | None:
        """Return the comparison of all values inside the models, in a run of both; None if a runtime runs them.

        `feeds` are the inputs of the second model, `rtol` is the relative tolerance. If a model stops, a note says so,
        and the values so far are returned.
        """
        before, after = self.runners
        if not (isinstance(before, ReferenceRunner) and isinstance(after, ReferenceRunner)):
            return None
        values = InnerValues(min(KEPT, byte_limit(self.settings.limits) // 2))
        try:
            before.run(drawn.feeds, values.keep)
            values.start_comparing(rtol)
            after.run(feeds, values.compare)
        except RunError as error:
            self.notes.append(f"the first difference was not found: {_message(error)}")
        return values

    def _note_weak_comparisons(self) -> None:
        """Add notes about what the runs do not show.

        These are differences inside the models, outputs whose comparison says little, and graphs that were never run.
        """
        if self._inside and not self._differs:
            self.notes.append(self._inside)
        told = {name: each.why_little for name, each in self.comparisons.items()}
        little = {name: why for name, why in told.items() if why}
        self.notes += [f"{brief_name(name)}: {why}" for name, why in little.items()]
        if self.branches.missed:
            self.notes.append(
                f"never run, so not compared: {listing(sorted(self.branches.missed))}; give inputs: --data"
            )
        if little and len(little) == len(told) and self.interface.inputs:
            self.notes.append("little was compared; give inputs of your own: --data")


def _tolerance_for(value: Any, name: str, other: str, roundings: Sequence[Roundings | None]) -> tuple[float, int]:
    """Return (relative tolerance, length of the longest sum on the way) of an output.

    Args:
        value: the output in the first model.
        name: its name in the first model.
        other: its name in the second model.
        roundings: the roundings of the first model and of the second, None if they are not known; without any, the
            tolerance is the greatest of the type.
    """
    names = zip(roundings, (name, other), strict=True)
    known = [each.values.get(key, (0.0, 1, 0.0)) for each, key in names if each is not None]
    most, length, unit = (max(column) for column in zip(*known, strict=True)) if known else (math.inf, 1, 0.0)
    return max((tolerance(each.dtype, (most, length, unit)) for each in leaves(value)), default=0.0), int(length)


def _required_inputs(model: Model) -> list[Any]:
    """Return the ValueInfoProtos of a model's inputs without those that an initializer gives a default value."""
    graph = model.proto.graph
    defaults = {tensor.name for tensor in graph.initializer}
    defaults |= {tensor.values.name for tensor in graph.sparse_initializer}
    return [value for value in graph.input if value.name not in defaults]


def _differences(
    outputs: Sequence[OutputComparison], runs: Sequence[VerifiedRun], first: FirstDifference | None
) -> Iterator[Finding]:
    """Yield a finding C701 for each output that differs, and for each reason why only one of the models ran.

    `first` is the first value inside the models that differs; its place is named.
    """
    help = "to accept the difference: --rtol, --atol"
    for each in outputs:
        if each.verdict == DIFFERENT:
            place = first.after if first is not None else ""
            yield Finding("C701", f"the output {quote(each.name)} differs", place, each.why, help)
    for why in dict.fromkeys(run.why for run in runs if run.verdict == DIFFERENT and run.why):
        help = "opset run MODEL shows more; give inputs on which both run: --data"
        yield Finding("C701", "the outputs differ: one model does not run", why=why, help=help)


def _help_of(error: RunError) -> str:
    """Return what to do against an error if a limit was reached, else ""."""
    finding = error.findings[0]
    return finding.help if finding.code in _LIMITS else ""


def _message(error: OpsetError) -> str:
    """Return the first finding of an error as one line of text."""
    finding = error.findings[0]
    return safe_text(
        f"{finding.message}{f' ({finding.place})' if finding.place else ''}: {finding.why or finding.code}"
    )


def _name_of(source: Any) -> str:
    """Return the path of a model that was given as a path, else "a model"."""
    return str(source) if isinstance(source, str | Path) else "a model"
