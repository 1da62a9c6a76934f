"""`opset run`: what is told of values that are given twice, or for nothing, and types of values without elements."""

import subprocess

import numpy as np
import pytest

from tests.cli.commands import run_json, save
from tests.cli.test_process import COMMAND, ENVIRONMENT
from tests.cli.test_run import LISTS, add  # noqa: F401
from tests.cli.test_verbs import GOOD, own  # noqa: F401


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["x.npy", "in.npz"], 2, [("U103", "the input 'x' is given twice", "x.npy and in.npz both hold it")]),
        (
            ["in.npz", "in.json"],
            2,
            [
                ("U103", "the input 'x' is given twice", "in.npz and in.json both hold it"),
                ("U103", "the input 'y' is given twice", "in.npz and in.json both hold it"),
            ],
        ),
        (
            ["x.npy", "y=y.npy", "x.pb", "data/input_1.pb"],
            2,
            [
                ("U103", "the input 'x' is given twice", "x.npy and x.pb both hold it"),
                ("U103", "the input 'y' is given twice", "y=y.npy and data/input_1.pb both hold it"),
            ],
        ),
        (
            ["x.npy", "x.pb", "--set", "q=1"],
            1,
            [
                ("U103", "the input 'x' is given twice", "x.npy and x.pb both hold it"),
                ("R102", "--set q=1 names no input", ""),
            ],
        ),
    ],
)
def test_inputs_that_are_given_twice_are_told_with_both_files(add, arguments, status, told):  # noqa: F811
    data = run_json("run", add, *arguments)
    assert [(each["code"], each["message"], each["why"]) for each in data["errors"]] == told
    assert data["exit_status"] == status and "outputs" not in data
    assert [each["help"] for each in data["errors"]] == [
        "leave out one of them" if code == "U103" else "its inputs are x, y" for code, *_ in told
    ]


@pytest.mark.parametrize("seed", "0123")
def test_findings_about_values_have_the_order_of_the_files(add, seed):  # noqa: F811
    environment = {**ENVIRONMENT, "PYTHONHASHSEED": seed}
    names = [f"v{number}" for number in range(6)]
    np.savez("more.npz", z=np.float32([[4, 0]]), **dict.fromkeys(names, np.float32(1)))
    np.savez("wide.npz", **dict.fromkeys(names, np.float32(1)))
    save("wide.onnx", WIDE, add.parent)
    for arguments, said in (
        (["add.onnx", "in.npz", "--compare", "more.npz", "--value", "z"], "there is no output '{}' to compare"),
        (["wide.onnx", "more.npz", "wide.npz"], "the input '{}' is given twice"),
    ):
        done = subprocess.run(
            [*COMMAND, "run", *arguments], env=environment, capture_output=True, text=True, check=False
        )
        found = [line.partition("] ")[2] for line in done.stderr.splitlines() if line.startswith("error[")]
        assert found == [said.format(name) for name in names], done.stderr


WIDE = """<ir_version: 8, opset_import: ["": 13]>
    main (float v0, float v1, float v2, float v3, float v4, float v5) => (float s) {
        s = Sum (v0, v1, v2, v3, v4, v5) }"""


def test_values_without_elements_have_the_types_that_are_declared(folder):
    model = save("lists.onnx", LISTS, folder)
    data = run_json("run", model, "--set", "s=[]", "--set", "o=null", "--set", 't=["a", "b"]')
    assert {name: value["type"] for name, value in {**data["inputs"], **data["outputs"]}.items()} == {
        "s": "seq(tensor(float))", "o": "optional(tensor(float))", "t": "tensor(string)",
        "r": "seq(tensor(float))", "b": "tensor(bool)", "u": "tensor(string)",
    }  # fmt: skip
