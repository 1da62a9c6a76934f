"""What the checker says of its bad examples and of the models in tables of tests, and what a repair says of them.

python -m tests.checker.whole        # writes findings.txt and mends.txt; read the difference
"""

import re
from functools import cache
from pathlib import Path

import opset
from opset.checker.pages import bad_model, fixtures, good_model, set_field
from opset.checker.table import CHECKER
from opset.opsets.registry import default_registry
from opset.opsets.releases import RELEASES
from tests.checker import (
    test_devices,
    test_functions,
    test_graphs,
    test_repairing,
    test_tensors,
    test_training,
    test_types,
)

HERE = Path(__file__).parent
EXAMPLES = sorted(code for code, fixture in fixtures().items() if "unseen" not in fixture)
NUMBERS = {
    "the newest known version is {}": default_registry().domains[""],
    "versions 1 to {} are known": RELEASES[-1].ir,
    "imports 'ai.onnx' {}, which": RELEASES[-1].opset + 1,
    "read as those of version {};": RELEASES[-1].opset,
}
"""Phrases with the number of the newest version, which the files leave out: a new one changes none of them."""
VARYING = re.compile(r"'[^']*'|\d+")
"""What differs in messages of one form."""


def rows(test):
    """The table that a test is parametrized with."""
    return test.pytestmark[0].args[1]


def models():
    """Each name and model, and the rules that are asked for."""
    for code in EXAMPLES:
        yield code, bad_model(code), [code] if CHECKER.by_code[code].optional else []
    for test in (
        test_functions.test_what_is_found,
        test_graphs.test_what_is_an_error,
        test_graphs.test_what_came_with_a_later_ir_version,
        test_graphs.test_what_is_a_warning,
    ):
        for text, edits, _ in rows(test):
            yield test.__name__, test_graphs.edited(text, edits).SerializeToString(), []
    for test, example in (
        (test_training.test_bindings, "G701"),
        (test_training.test_combined_graph_defines_a_name_once, "G701"),
        (test_training.test_annotations, "G711"),
        (test_devices.test_configurations, "G721"),
        (test_devices.test_shardings, "G721"),
        (test_devices.test_sharded_dimensions, "G721"),
    ):
        for edits, _ in rows(test):
            model = good_model(example)
            for path, value in edits.items():
                set_field(model, path, value)
            yield test.__name__, model.SerializeToString(), []
    for test in (test_tensors.test_data_inside_the_model, test_tensors.test_external_data):
        for made, _ in rows(test):
            yield test.__name__, test_tensors.model_of(made).SerializeToString(), []
    for made, _ in rows(test_tensors.test_sparse_tensors):
        yield "test_sparse_tensors", test_tensors.model_of(sparse=[made]).SerializeToString(), []
    for made, _ in rows(test_types.test_types):
        yield "test_types", test_types.model_of(made).SerializeToString(), []
    for stated, _ in rows(test_types.test_initializers_have_the_type_that_is_stated):
        model = test_types.model_of(stated, initializer=[test_types.initializer()])
        yield "test_initializers", model.SerializeToString(), []


def without_numbers(text):
    """A text without the numbers of the newest versions."""
    for phrase, number in NUMBERS.items():
        text = text.replace(phrase.format(number), phrase.format("…"))
    return text


def findings():
    """The findings of each bad example, and those of the other models whose words no finding before has."""
    lines, seen = [], set()
    heading = ""
    for name, model, select in models():
        found = [*opset.check(model), *(opset.check(model, select=select) if select else ())]
        forms = [VARYING.sub("", f"{each.code} {each.message} {each.why} {each.help}") for each in found]
        shown = [each for each, form in zip(found, forms, strict=True) if name in CHECKER.by_code or form not in seen]
        seen.update(forms)
        if shown and name != heading:
            heading = name
            lines += ["", f"# {name}"]
        lines += [line for each in shown for line in without_numbers(str(each)).splitlines()]
    return lines


def mends():
    """What a repair mends in each bad example, and in the models of its tests, and the codes of what it leaves."""
    given = {code: bad_model(code) for code in EXAMPLES}
    for name, (_, before, _) in test_repairing.MENDED.items():
        given[name] = test_repairing.given_message(before).SerializeToString()
    for name, (_, text, edits) in test_repairing.LEFT.items():
        given[name] = test_repairing.message(text, edits).SerializeToString()
    lines = []
    for name, model in given.items():
        repair = opset.repair(model)
        left = " ".join(each.code for each in repair.left)
        if repair.mended:
            shown = [
                line for each in repair.mended for line in (f"{each.code} {each.message}", f"  where   {each.place}")
            ]
            lines += [f"# {name}", *shown, *([f"left: {left}"] if left else []), ""]
    return lines


@cache
def texts():
    """The text of each file, by its name."""
    return {"findings.txt": "\n".join(findings()), "mends.txt": "\n".join(mends())}


if __name__ == "__main__":
    for name, text in texts().items():
        (HERE / name).write_text(text, encoding="utf-8")
