"""What the mutants are: changes of statements, each of another meaning; which are listed as changing nothing."""

import ast

import pytest

from judges.mutation import mutants as module
from judges.mutation import reach
from judges.mutation.judging import KILLED, SURVIVED, UNREACHED, judge, listed
from judges.mutation.mutants import draw, mutants, raises
from judges.mutation.reach import Case, choose, closeness
from judges.mutation.scratch import ROOT, Outcome

CODE = '''
"""A module."""


def find(values: list[int], least: int = 3) -> int | None:
    """Return the first."""
    for value in values:
        if value < least and not value:
            continue
        if value == 7:
            raise Refusal("C201", f"not {value + 1}")
    return divmod(max(least, values[0]), 2)
'''
WANTED = {
    ("comparison", "if (value <= least) and not value:"),
    ("comparison", "if (value != 7):"),
    ("and/or", "if (value < least or not value):"),
    ("part of a condition dropped", "if (value < least):"),
    ("not", "if value < least and (value):"),
    ("off by one", "if value == 8:"),
    ("raise removed", "pass"),
    ("continue/break", "break"),
    ("arguments swapped", "return (divmod(2, max(least, values[0])))"),
    ("argument dropped", "return divmod((max(least)), 2)"),
    ("min/max, any/all", "return divmod((min(least, values[0])), 2)"),
    ("returned None", "return None"),
    ("off by one", "def find(values: list[int], least: int = 4) -> int | None:"),
}


@pytest.fixture
def code(monkeypatch):
    monkeypatch.setattr(module, "_lines", lambda file: CODE.encode().splitlines(keepends=True))
    return mutants("opset/found.py")


def test_statements_are_changed_and_nothing_that_is_read_alone(code):
    assert {(each.kind, each.after) for each in code} >= WANTED
    assert not any("max(values[0]" in each.after for each in code)
    for mutant in code:
        assert mutant.is_python() and mutant.function in ("", "find")
        assert ast.get_docstring(ast.parse(mutant.text)) == "A module." and '"C201"' in mutant.text + mutant.before
        assert len(mutant.diff().splitlines()) > 4


def test_a_raise_of_a_name_of_python_is_none_of_ours(monkeypatch):
    for text, count in (
        ("raise Refusal(1)", 1),
        ("raise refusal(1) from None", 1),
        ("raise ValueError", 0),
        ("raise", 0),
    ):
        lines = f"def f():\n    {text}\n".encode().splitlines(keepends=True)
        monkeypatch.setattr(module, "_lines", lambda file, lines=lines: lines)
        assert len(raises("opset/found.py")) == count


def test_keywords_that_state_what_is_so_anyway_are_left_alone(monkeypatch):
    lines = b"def f(a, b):\n    return zip(a, b.astype(int, copy=False), strict=True)\n".splitlines(keepends=True)
    monkeypatch.setattr(module, "_lines", lambda file: lines)
    assert {(each.kind, each.after) for each in mutants("opset/found.py")} == {
        ("returned None", "return None"),
        ("argument dropped", "return (zip(a, strict=True))"),
        ("arguments swapped", "return (zip(b.astype(int, copy=False), a, strict=True))"),
    }


def test_names_of_types_are_left_alone(monkeypatch):
    lines = b'Level = Literal["LOW", "HIGH"]\n'.splitlines(keepends=True)
    monkeypatch.setattr(module, "_lines", lambda file: lines)
    assert mutants("opset/found.py") == []


def test_operands_in_another_order_are_left_alone(monkeypatch):
    lines = b"def f(op, a, b):\n    return op.Sub(op.Add(a, b), max(a, b))\n".splitlines(keepends=True)
    monkeypatch.setattr(module, "_lines", lambda file: lines)
    swapped = [each.after for each in mutants("opset/found.py") if each.kind == "arguments swapped"]
    assert swapped == ["return (op.Sub(max(a, b), op.Add(a, b)))"]


def test_a_round_number_that_bounds_something_is_left_alone(monkeypatch):
    lines = b"LONGEST = 2000\nWIDTH = 64\nfewest = 100\nTWO = 2\n".splitlines(keepends=True)
    monkeypatch.setattr(module, "_lines", lambda file: lines)
    assert {each.line for each in mutants("opset/found.py")} == {2, 3, 4}


def test_a_round_number_is_left_alone_however_it_is_written(monkeypatch):
    bounds = [
        "MAX_X: Final = 100",
        "_MOST: int = 2_000",
        "SIZE: Final = 1 << 20",
        "MAX_TEXT = 64 * 1024",
        "DEEP = 2**24",
    ]
    others = ["WIDTH: Final = 64", "few: Final = 100", "LAST = 2**31 - 1", "TWICE = 2 * WIDTH", "HALF = 64 / 1024"]
    lines = "".join(f"{each}\n" for each in bounds + others).encode().splitlines(keepends=True)
    monkeypatch.setattr(module, "_lines", lambda file: lines)
    assert {each.line for each in mutants("opset/found.py")} == {6, 7, 8, 9, 10}


def test_a_draw_is_the_same_for_the_same_seed():
    drawn = draw(3, 20, ["tensor_io"])
    assert drawn == draw(3, 20, ["tensor_io"]) != draw(4, 20, ["tensor_io"])
    assert {each.package for each in drawn} == {"tensor_io"} and len({each.kind for each in drawn}) > 4


def test_a_jump_is_reached_where_its_condition_is(code, monkeypatch):
    monkeypatch.setattr(reach, "_hash_now", lambda file: "now")
    found = reach.Reach([])
    line = CODE.splitlines().index("        if value < least and not value:") + 1
    case = Case("tests/test_found.py::test_it", 0.1)
    found.files["opset/found.py"] = [("now", [case], {line: [0]})]
    reached = {(each.line - line, each.kind) for each in code if found.tests(each) == [case]}
    assert (1, "continue/break") in reached and (0, "not") in reached
    assert {number for number, kind in reached if kind not in ("continue/break", "off by one")} == {0}


def test_tests_of_the_same_family_come_first():
    file = "opset/inference/families/norm.py"
    modules = [
        "tests/inference/test_norm.py",
        "tests/inference/test_infer.py",
        "tests/adapters/test_norm.py",
        "tests/a.py",
    ]
    assert [closeness(each, file) for each in modules] == [0, 1, 2, 3]


def test_a_budget_is_shared_by_the_modules():
    tests = [Case(f"{name}.py::{number}", 1) for name in "ab" for number in range(4)] + [Case("c.py::0", 100)]
    assert [each.name for each in choose(tests, 3)] == ["a.py::0", "a.py::1", "b.py::0"]
    assert choose(tests[-1:], 3) == tests[-1:]


class Reached:
    """Records by which one test reaches every mutant."""

    def __init__(self, here=True):
        self.here = here

    def tests(self, mutant):
        return self.tests_of_file(mutant) if self.here else []

    def tests_of_file(self, mutant):
        return [Case("tests/inference/test_infer.py::test", 1)]


class Copy:
    """A checkout in which tests end with a status."""

    def __init__(self, folder, status=0):
        self.temporary, self.environment, self.texts, self.status = folder, {}, [], status

    def write(self, name, text):
        self.texts.append(text)

    def restore(self):
        self.texts.append("")

    def pytest(self, *arguments, seconds):
        return Outcome(self.status, "")


def test_what_no_test_finds_survives_and_is_taken_back(code, tmp_path):
    copy = Copy(tmp_path)
    assert judge(code[0], Reached(), copy, 60).fate == SURVIVED
    assert copy.texts == [code[0].text, ""]


def test_what_is_listed_exists_and_has_a_reason():
    for (file, function, before, after), reason in listed().items():
        lines = [" ".join(line.split()) for line in (ROOT / file).read_text(encoding="utf-8").splitlines()]
        assert before != after and reason and function is not None
        assert before.split("\n")[0] in lines or before in " ".join(lines), f"{file}: {before}"


def test_what_runs_in_processes_without_a_record_is_found_by_tests_of_its_file(code, tmp_path):
    assert judge(code[0], Reached(here=False), Copy(tmp_path), 60).fate == UNREACHED
    assert judge(code[0], Reached(here=False), Copy(tmp_path, 1), 60).fate == KILLED


def test_a_table_is_reached_by_the_tests_of_its_name(code):
    records = reach.Reach([])
    records.cases = {"tests/test_found.py": [Case("a", 1)], "tests/cli/test_other.py": [Case("b", 1)]}
    inside = next(each for each in code if each.kind == "raise removed")
    default = next(each for each in code if each.before.startswith("def "))
    assert (inside.runs_once, default.runs_once) == (False, True)
    assert records.tests(inside) == []
    assert records.tests(default) == [Case("a", 1)]


def test_a_value_of_a_test_is_computed_as_its_module_is_collected(code, monkeypatch, tmp_path):
    inside = next(each for each in code if each.kind == "raise removed")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    records = reach.Reach([])
    records.cases = {"tests/cli/test_other.py": [Case("a", 1), Case("b", 2)], "tests/cli/test_more.py": [Case("c", 1)]}
    monkeypatch.setattr(reach, "_hash_now", lambda file: "now")
    for line, found in ((inside.line, ["a", "b"]), (inside.line + 1, [])):
        lines = {str(line): ["tests/cli/test_other.py"]}
        records.collected = {"files": {inside.file: lines}, "sources": {inside.file: "now"}}
        assert [each.name for each in records.tests(inside)] == found


def test_a_function_with_a_cache_runs_once(monkeypatch):
    for decorator, once in (("@cache", True), ("@functools.lru_cache(maxsize=1)", True), ("@cached_property", False)):
        module._lines_run_again.cache_clear()
        text = f"{decorator}\ndef found():\n    return max(1, 2)\n".encode()
        monkeypatch.setattr(module, "_lines", lambda file, text=text: text.splitlines(keepends=True))
        assert {each.runs_once for each in mutants("opset/found.py")} == {once}
