"""The table of proofs: complete and current; and the reading of models as index maps, beside the evaluator."""

import random
from itertools import islice

import numpy as np
import pytest
import z3

import opset
from judges.proofs import identity, symbolic
from judges.proofs.exhaustive import _all_values
from judges.proofs.index_cases import CASES
from judges.proofs.index_maps import NotReadError, read_model
from judges.proofs.index_operators import tensor_of_array
from judges.proofs.subjects import all_subjects, fingerprint, transition_count
from judges.proofs.table import PAGE, faults_of, page
from opset.docgen.proofs import KINDS, kind_of, read_proofs
from tests.released import is_released

SUBJECTS = {subject.key: subject for subject in all_subjects()}


def test_every_transition_and_every_lowering_has_a_current_row():
    assert [*faults_of(read_proofs())] == []


def test_each_of_the_432_transitions_is_a_row_in_both_directions():
    facts = {**read_proofs()}
    transitions = [each for each in all_subjects() if each.before]
    released = [each for each in transitions if is_released(opset_schema(each))]
    assert len(released) == 2 * 432 and len(transitions) == 2 * transition_count()
    assert all(kind_of(facts[each.key].parts) in KINDS for each in transitions)


def opset_schema(subject):
    return subject.source if subject.direction == "down" else subject.step.target


def test_the_page_shows_the_facts():
    assert PAGE.read_text("utf-8") == page(read_proofs())


def test_what_is_missing_or_changed_is_named_with_the_command_that_renews_it():
    facts = {**read_proofs()}
    entry = facts.pop("ai.onnx Slice 1-10 down")
    missing = "ai.onnx Slice 1-10 down has no row: python -m judges proofs --write -k 'ai.onnx Slice 1-10 down'"
    assert [*faults_of(facts)] == [missing]
    (changed,) = faults_of(facts | {"ai.onnx Slice 1-10 down": entry._replace(fingerprint="0")})
    assert "its adapter has changed since it was proved" in changed and "-k 'ai.onnx Slice 1-10 down'" in changed
    (empty,) = faults_of(facts | {"ai.onnx Slice 1-10 down": entry._replace(parts=[])})
    assert "nothing was shown" in empty


def test_the_fingerprint_follows_what_an_adapter_calls(monkeypatch):
    subject = SUBJECTS["ai.onnx Slice 1-10 down"]
    before = fingerprint(subject)
    other = SUBJECTS["ai.onnx Slice 1-10 up"].step.adapter
    assert fingerprint(subject._replace(step=subject.step._replace(adapter=other))) != before
    calls = subject.step.adapter.__globals__
    monkeypatch.setitem(calls, "_computed_indices", calls["_slice_at_run_time"])
    assert fingerprint(subject) != before


def test_identity_needs_one_kernel_and_no_change_of_nodes():
    assert identity.prove(SUBJECTS["ai.onnx Relu 6-13 up"])[0].kind == "identity"
    assert identity.prove(SUBJECTS["ai.onnx Softmax 11-13 up"]) == []  # written
    assert identity.prove(SUBJECTS["ai.onnx Cast 1-6 up"]) == []  # rewritten
    assert identity.prove(SUBJECTS["ai.onnx Shape 13-15 up"]) == []  # another kernel


@pytest.mark.parametrize(("element", "count"), [("uint8", 256), ("float8e5m2", 256), ("bfloat16", 65536), ("int4", 16)])
def test_all_values_are_different_values(element, count):
    values = _all_values(element)
    assert len(values) == count
    assert len({value.tobytes() for value in values}) == count


def concrete(term, rng, known):
    """Return a size or an integer of a case as a number, the same for each name."""
    return known.setdefault(str(term), rng.randint(1, 4)) if isinstance(term, z3.ExprRef) else term


def instance(case, rng):
    """Return feeds for a case: data whose elements are their positions, other inputs as they are read."""
    known = {}
    feeds = {}
    for value in case.model.graph.input:
        tensor = case.inputs[value.name]
        shape = [concrete(size, rng, known) for size in tensor.shape]
        if value.type.tensor_type.elem_type == 7:
            terms = [tensor.at(index) for index in np.ndindex(*shape)]
            if any(isinstance(each, z3.ExprRef) and not z3.is_const(each) for each in terms):
                feeds[value.name] = np.zeros(shape, np.int64)  # a function of the index
            else:
                feeds[value.name] = np.array([concrete(each, rng, known) for each in terms], np.int64).reshape(shape)
        else:
            feeds[value.name] = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(np.float32)
    return feeds


MOVING = [name for name in CASES if name not in ("And", "Or", "Xor", "Equal", "Greater", "Less", "Div", "Pow", "Mean")]


@pytest.mark.parametrize("operator", MOVING)
def test_a_model_is_read_as_the_evaluator_runs_it(operator):
    compared = 0
    for subject in all_subjects():
        if subject.operator != operator or subject.direction == "up":
            continue
        cases = [*symbolic.cases_of(subject)]
        for number, case in enumerate(random.Random(1).sample(cases, min(len(cases), 12))):
            feeds = instance(case, random.Random(number))
            try:
                expected = opset.ReferenceEvaluator(case.model).run(None, feeds)
            except opset.errors.OpsetError:
                continue  # the numbers are not legal for the node
            inputs = {name: tensor_of_array(np.asarray(value, np.int64)) for name, value in feeds.items()}
            inputs = {**{name: each for name, each in case.inputs.items() if name not in feeds}, **inputs}
            try:
                values = read_model(case.model, inputs).values
                for output, array in zip(case.model.graph.output, expected, strict=True):
                    read = values[output.name]
                    assert [*read.shape] == [*array.shape], case.name
                    for index in np.ndindex(*array.shape):
                        assert number_of(read.at(index)) == int(array[index]), (case.name, index)
            except NotReadError:
                continue
            compared += 1
    assert compared or not any(
        each.operator == operator and each.direction != "up" and [*islice(symbolic.cases_of(each), 1)]
        for each in all_subjects()
    )


def number_of(term):
    """Return the number that a term of z3 is, or that an opaque constant of data is named after."""
    term = z3.simplify(term) if isinstance(term, z3.ExprRef) else term
    return int(float(str(term).removeprefix("constant ").strip("|")))


def decided(key, change):
    """Return how the first cases of a subject are decided if `change` is made to each converted model."""
    subject = SUBJECTS[key]
    original = opset.convert

    def convert(model, to):
        made = original(model, to)
        change(made)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(symbolic.opset, "convert", convert)
        return {symbolic.decide(subject, case)[0] for case in islice(symbolic.cases_of(subject), 12)}


def test_what_is_right_is_proved():
    assert decided("ai.onnx Slice 1-10 up", lambda made: None) == {"proved"}


def test_a_bound_that_is_off_by_one_is_found():
    def shift(made):
        starts = next(each for each in made.graph.node if each.op_type == "Constant").attribute[0].t
        starts.raw_data = (np.frombuffer(starts.raw_data, np.int64) + 1).tobytes()

    assert "wrong" in decided("ai.onnx Slice 1-10 up", shift)


def test_another_axis_is_found():
    def turn(made):
        made.graph.node[-1].attribute[0].i = 0

    assert decided("ai.onnx Concat 1-4 up", lambda made: None) == {"proved"}
    assert "wrong" in decided("ai.onnx Concat 1-4 up", turn)
