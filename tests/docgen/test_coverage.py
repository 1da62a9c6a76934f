"""What there is for each version of an operator, and the Markdown page of it."""

import pytest

from opset.catalog import changes
from opset.docgen import documentation
from opset.docgen.coverage import _lowering_of, _work_of_step, count_column, coverage
from opset.errors import OpsetError
from opset.opsets.registry import default_registry, registry_with
from opset.version_converter.rewrite import Refusal
from opset.version_converter.routes import routes_of
from tests.docgen import domains
from tests.released import RELEASED


@pytest.fixture
def folder(tmp_path):
    return domains.write(tmp_path, "com.acme", domains.operator())


def test_the_standard():
    registry = default_registry()
    rows = {(each.operator, each.since): each for each in coverage(registry, "ai.onnx.ml")}
    assert sum(("ai.onnx.ml", *key) in RELEASED for key in rows) == 25
    assert all(each.kernel == "written" and each.inference for each in rows.values())
    assert rows["TreeEnsemble", 5].lowering == "none" and rows["Scaler", 1].up == ""
    for name in registry.operators("ai.onnx.ml"):
        for each in changes(registry.versions(name, "ai.onnx.ml"), registry.type_sets):
            row = rows[name, each.since]
            works = each.up, each.down
            assert all(work == shown or ":" in work for work, shown in zip(works, (row.up, row.down), strict=True))


def test_lowerings(monkeypatch):
    registry = default_registry()
    monkeypatch.setattr(registry, "operators", lambda _: ["Acosh", "Mish", "Sin", "Upsample", "Abs"])
    rows = {(each.operator, each.since): each for each in coverage(registry, "")}
    assert [rows[each].lowering for each in (("Acosh", 9), ("Mish", 18), ("Sin", 7))] == ["written", "body", "none"]
    assert rows["Upsample", 10].withdrawn and rows["Abs", 13].inference == "same(X)"
    assert count_column(rows.values(), "lowering") == (2, 3)


def test_a_domain_of_data_alone_and_with_hooks(folder):
    (row, first) = coverage(registry_with([folder]), "com.acme")
    assert (row.kernel, row.inference, row.lowering) == ("none", "none", "")
    assert (row.up, row.down, row.bodies) == ("nothing to do", "derived", 1)
    assert (first.since, first.up, first.down, first.bodies) == (1, "", "", 0)
    hooks = folder / "com.acme"
    (hooks / "kernels.py").write_text(
        'from opset.extend import kernel\n@kernel("Scale", since=2, domain="com.acme")\ndef scale(x, b, **_): ...\n'
    )
    (row, first) = coverage(registry_with([folder]), "com.acme")
    assert (row.kernel, first.kernel) == ("written", "none")
    (row, first) = coverage(registry_with([], data=[folder]), "com.acme")
    assert (row.kernel, first.kernel, row.inference) == ("unknown", "unknown", "none")
    (hooks / "kernels.py").write_text("raise ValueError\n")
    with pytest.raises(OpsetError):
        list(coverage(registry_with([folder]), "com.acme"))


def test_the_page(folder):
    page = dict(documentation(registry_with([folder]), "markdown", ["com.acme"]))["coverage.md"].decode()
    assert "| com.acme | 2 | 0 of 2 | 0 of 2 | 1 | 1 |  |\n" in page
    assert "| [Scale](com.acme.md#scale) | 2 | none | none | nothing to do | derived |  |\n" in page


def test_what_there_is_for_a_step():
    routes = routes_of(default_registry())
    found = {
        "written": ("Shape", 15, 13), "derived": ("Multinomial", 22, 7), "nothing to do": ("Relu", 6, 13),
    }  # fmt: skip
    assert {_work_of_step(routes.step("", *each)): each for each in found.values()} == found
    assert [_work_of_step(each) for each in (Refusal("C105", "why"), None)] == ["unknown", "nothing to do"]
    steps = routes.step("", "Gelu", 20, 19), None, Refusal("C105", "why"), Refusal("C201", "why")
    assert [_lowering_of(each) for each in steps] == [
        "body", "none", "unknown", "none",
    ]  # fmt: skip
