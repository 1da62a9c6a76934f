"""Attacks on `opset run`: memory that views, sequences and summaries hide, kernels without a clock, many outputs."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import opset
from judges.hostile.processes import attack, own
from opset import Limits, ReferenceEvaluator, RunError
from opset.cli.supervision import POSSIBLE
from opset.model.text.syntax import parse_model
from opset.reference.engine import limits as reference_limits
from tests.cli.commands import heed_interrupts

HEAD = '<ir_version: 10, opset_import: ["": 21]>'
MEGABYTE = 1 << 20
forked = pytest.mark.skipif(not POSSIBLE, reason="no process can be copied here")


def saved(folder, graph, name="model.onnx"):
    path = folder / name
    path.write_bytes(parse_model(f"{HEAD} {graph}").SerializeToString())
    return path


def refused(graph, feeds, most):
    """Return the code of the error that a graph ends with, None without one."""
    evaluator = ReferenceEvaluator(parse_model(f"{HEAD} {graph}"), limits=Limits(max_bytes=most))
    try:
        evaluator.run(None, feeds)
    except RunError as error:
        return error.code
    return None


# -- bytes: what is alive --

SLICES = """g (int64 n, bool go, int64[1] size) => (float[k, 1] y) {
    y = Loop (n, go) <body = turn (int64 i, bool c) => (bool again, float[1] one) {
        again = Identity (c)
        whole = ConstantOfShape <value: tensor = float[1] {1}> (size)
        zero = Constant <value_ints = [0]> ()
        end = Constant <value_ints = [1]> ()
        one = Slice (whole, zero, end)
    }>
}"""


def test_a_part_of_a_large_array_does_not_keep_the_whole(tmp_path):
    """60 parts of arrays of 40 MB take 2.4 GB where each keeps its array."""
    ended = own(attack("run", saved(tmp_path, SLICES), "--set", "n=60", "--set", "go=true", "--set", "size=[10000000]",
                       "--max-bytes", "100M"), 0)  # fmt: skip
    assert ended.megabytes < 300


def test_a_large_part_counts_as_the_whole():
    graph = """g (int64[1] size, int64[1] zero, int64[1] end) => (float[a] u, float[b] v) {
        x = ConstantOfShape (size)  v = Slice (x, zero, end)  p = Identity (x)  u = Neg (x) }"""
    feeds = {"size": np.array([MEGABYTE]), "zero": np.array([0]), "end": np.array([MEGABYTE - 1])}
    assert refused(graph, feeds, 11 * MEGABYTE) == "R302"
    assert refused(graph, feeds, 32 * MEGABYTE) is None


GROWING = """g (int64 n, bool go, seq(float[a]) s) => (seq(float[a]) y) {
    y = Loop (n, go, s) <body = turn (int64 i, bool c, seq(float[a]) before) => (bool again, seq(float[a]) after) {
        again = Identity (c)
        size = Constant <value_ints = [250000]> ()
        x = ConstantOfShape (size)
        after = SequenceInsert (before, x)
    }>
}"""


def test_sequences_count():
    feeds = {"n": np.array(30), "go": np.array(True), "s": []}
    assert refused(GROWING, feeds, 20 * MEGABYTE) == "R302"
    assert refused(GROWING, feeds, 100 * MEGABYTE) is None


def test_empty_tensors_of_a_sequence_count():
    graph = GROWING.replace("[250000]", "[0]")
    assert refused(graph, {"n": np.array(20_000), "go": np.array(True), "s": []}, MEGABYTE) == "R302"


def test_what_is_carried_counts_while_an_iteration_runs():
    graph = """g (int64 n, bool go, float[a] x) => (float[a] y) {
        y = Loop (n, go, x) <body = turn (int64 i, bool c, float[a] before) => (bool again, float[a] after) {
            again = Identity (c)  after = Neg (before) }> }"""
    feeds = {"n": np.array(3), "go": np.array(True), "x": np.zeros(MEGABYTE // 4, np.float32)}
    assert refused(graph, feeds, 2 * MEGABYTE + MEGABYTE // 2) == "R302"  # the input, what is carried, what is computed
    assert refused(graph, feeds, 4 * MEGABYTE) is None


def test_initializers_inputs_and_constants_count():
    weights = "{" + ", ".join(["1"] * 50_000) + "}"
    graph = f"g (float[n] x) => (float[n] y) <float[50000] w = {weights}> {{ y = Add (x, w) }}"
    x = np.zeros(50_000, np.float32)
    assert refused(graph, {"x": x}, 500_000) == "R302"
    assert refused(graph, {"x": x}, 700_000) is None
    constant = f"w = Constant <value: tensor = float[50000] {weights}> ()"
    graph = f"g (float[n] x) => (float[n] y) {{ {constant} y = Add (x, w) }}"
    assert refused(graph, {"x": x}, 500_000) == "R302"
    assert refused(graph, {"x": x}, 700_000) is None


def test_texts_that_parts_keep_count():
    x = np.array([f"{number:0>1000}" for number in range(2000)], object)
    graph = """g (string[n] x, int64[1] zero, int64[1] end) => (string[m] y) {
        c = StringConcat (x, x)  y = Slice (c, zero, end) }"""
    feeds = {"x": x, "zero": np.array([0]), "end": np.array([1500])}
    assert refused(graph, feeds, 6 * MEGABYTE) == "R302"


# -- bytes: beside the values --


def test_a_summary_takes_no_multiple_of_the_output(tmp_path):
    model = saved(tmp_path, "g (int64[1] n) => (uint8[k] y) { y = ConstantOfShape <value: tensor = uint8[1] {7}> (n) }")
    ended = own(attack("run", model, "--set", "n=[300000000]", "--max-bytes", "400M"), 0)
    assert ended.megabytes < 550 and "std 0" in ended.text


def test_memory_that_the_system_does_not_have_is_an_error_of_the_evaluation(tmp_path):
    model = saved(
        tmp_path,
        """g (int64[1] n) => (uint8[k] y) {
        x = ConstantOfShape <value: tensor = uint8[1] {1}> (n)  y = BitwiseNot (x) }""",
    )
    assert "R302" in own(attack("run", model, "--set", "n=[1100000000]", "--max-bytes", "64G"), 1).text


@pytest.mark.parametrize("target", ["out.json", "out.npz", "out/"])
def test_memory_for_a_file_is_part_of_the_limit(tmp_path, target):
    model = saved(tmp_path, "g (int64[1] n) => (uint8[k] y) { y = ConstantOfShape <value: tensor = uint8[1] {1}> (n) }")
    ended = attack("run", model, "--set", "n=[700000000]", "-o", target, cwd=tmp_path)
    assert "R302" in own(ended, 1).text
    assert [each.name for each in tmp_path.iterdir()] == ["model.onnx"]


def test_the_default_limit_is_what_the_process_can_have(tmp_path):
    model = saved(tmp_path, "g (int64[1] n) => (float[k] y) { y = ConstantOfShape (n) }")
    ended = attack("run", model, "--set", "n=[700000000]")
    assert "it needs 2,800,000,000 bytes" in own(ended, 1).text


def test_the_limits_of_control_groups_are_found():
    files = [*reference_limits.control_group_files("0::/a/b\n5:cpu,memory:/docker/c\n3:cpuset:/x\n")]
    assert [each for each in files if "unified" not in each] == [
        "/sys/fs/cgroup/a/b/memory.max",
        "/sys/fs/cgroup/a/memory.max",
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/docker/c/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ]


def test_the_default_limit_is_the_smallest_of_control_groups(monkeypatch):
    texts = {
        "/proc/self/cgroup": "0::/a/b",
        "/proc/self/statm": "0 0",
        "/sys/fs/cgroup/a/b/memory.max": "max",
        "/sys/fs/cgroup/a/memory.max": "123456789",
    }
    monkeypatch.setattr(reference_limits, "_read_text", lambda path: texts.get(path, ""))
    assert reference_limits.byte_limit(Limits()) == 123456789


# -- time --

ONES = "ConstantOfShape <value: tensor = float[1] {1}>"
WITHOUT_A_CLOCK = {
    "MatMul": f"g (int64[2] s) => (float[a, b] y) {{ x = {ONES} (s)  y = MatMul (x, x) }}",
    "Det": f"g (int64[2] s) => (float y) {{ x = {ONES} (s)  y = Det (x) }}",
    "Conv": f"""g (int64[4] s, int64[4] t) => (float[a, b, c, d] y) {{
        x = {ONES} (s)  w = {ONES} (t)  y = Conv (x, w) }}""",
    "DFT": f"g (int64[3] s) => (float[a, b, c] y) {{ x = {ONES} (s)  y = DFT (x) }}",
    "Einsum": f"""g (int64[2] s) => (double[a, b] y) {{
        f = {ONES} (s)  x = Cast <to = 11> (f)  y = Einsum <equation = "ij,jk->ik"> (x, x) }}""",
    "LRN": f"""g (int64[4] s) => (float[a, b, c, d] y) {{
        x = {ONES} (s)  y = LRN <size = 3001, alpha = 0.1, beta = 0.7> (x) }}""",
    "Sort": f"""g (int64[1] s, int64[1] k) => (float[a] y, int64[a] z) {{
        x = {ONES} (s)  r = RandomNormalLike (x)  y, z = TopK (r, k) }}""",
}
SIZES = {
    "MatMul": ["s=[6000, 6000]"],
    "Det": ["s=[6000, 6000]"],
    "DFT": ["s=[1, 9999991, 1]"],
    "Conv": ["s=[1, 4000, 100, 100]", "t=[4000, 4000, 1, 1]"],
    "Einsum": ["s=[5000, 5000]"],
    "LRN": ["s=[1, 3000, 50, 50]"],
    "Sort": ["s=[9999991]", "k=[5]"],
}


@forked
@pytest.mark.parametrize("name", WITHOUT_A_CLOCK)
def test_a_kernel_without_a_clock_ends_in_time(tmp_path, name):
    given = [part for size in SIZES[name] for part in ("--set", size)]
    ended = own(attack("run", saved(tmp_path, WITHOUT_A_CLOCK[name]), *given, "--timeout", "0.5"), 0, 1)
    assert (ended.status == 0) == ("error" not in ended.text)
    assert ended.status == 0 or "R303" in ended.text or "R302" in ended.text


@pytest.mark.parametrize("graph", [WITHOUT_A_CLOCK["MatMul"], WITHOUT_A_CLOCK["Einsum"]])
def test_large_products_check_the_time_between_pieces(graph, monkeypatch):
    monkeypatch.setattr("opset.reference.numerics.products.WORK", 1 << 24)
    clock = iter(range(10_000))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    evaluator = ReferenceEvaluator(parse_model(f"{HEAD} {graph}"), limits=Limits(timeout=8))
    with pytest.raises(RunError, match="R303"):
        evaluator.run(None, {"s": np.array([1500, 1500])})
    clock = iter(range(10_000))
    assert evaluator.run(None, {"s": np.array([300, 300])})[0][0, 0] == 300


def test_pieces_of_a_product_are_the_product(monkeypatch):
    rng = np.random.default_rng(0)
    for shapes in ((600, 40), (40, 700)), ((3, 2, 300, 40), (2, 40, 50)), ((5, 1, 4, 3), (1, 6, 3, 2)):
        a, b = (rng.integers(-9, 9, shape).astype(np.float32) for shape in shapes)
        model = parse_model(f"{HEAD} g (float[n] a, float[n] b) => (float[n] y) {{ y = MatMul (a, b) }}")
        for value in (*model.graph.input, *model.graph.output):
            value.type.tensor_type.ClearField("shape")
        monkeypatch.setattr("opset.reference.numerics.products.WORK", 1)
        assert np.array_equal(ReferenceEvaluator(model).run(None, {"a": a, "b": b})[0], np.matmul(a, b))


def test_no_result_is_past_the_limit(monkeypatch):
    clock = iter((0, 0.5, 2))  # at the start, before the only node, at the end
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    evaluator = ReferenceEvaluator(
        parse_model(f"{HEAD} g (float[n] x) => (float[n] y) {{ y = Neg (x) }}"), limits=Limits(timeout=1)
    )
    with pytest.raises(RunError, match="R303"):
        evaluator.run(None, {"x": np.zeros(1, np.float32)})


def test_many_outputs_take_as_long_as_they_are_many(tmp_path):
    model = parse_model(f"{HEAD} g (float[1] x) => (float[1] y) {{ y = Neg (x) }}")
    for number in range(15_000):
        model.graph.node.add(op_type="Neg", input=["x"], output=[f"y{number}"])
        model.graph.output.add().CopyFrom(model.graph.output[0])
        model.graph.output[-1].name = f"y{number}"
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    own(attack("run", path, "--set", "x=[1]", "-q"), 0)


# -- the process that is ended --

ENDLESS = """g (bool go, float[n] x) => (float[n] y) {
    y = Loop (, go, x) <body = turn (int64 i, bool c, float[n] s) => (bool again, float[n] t) {
        again = Identity (c)  t = Neg (s) }>
}"""


def started(folder, *options):
    """Return a run without end, and the id of the process that evaluates."""
    command = [sys.executable, "-m", "opset", "run", saved(folder, ENDLESS), "--set", "go=true", "--set", "x=[1]"]
    environment = {**os.environ, "PYTHONPATH": str(Path(opset.__file__).parents[1])}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    run = subprocess.Popen([*map(str, command), *options], env=environment, **streams, preexec_fn=heed_interrupts)
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
    until = time.monotonic() + 300
    while not (found := children.read_text().split()) and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.3)
    return run, int(found[0])


def alive(process):
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] not in "ZX"


linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")


@linux
@pytest.mark.parametrize(
    ("number", "status", "said"),
    [
        (signal.SIGINT, 130, b"interrupted\n"),
        (signal.SIGTERM, 143, b""),
    ],
)
def test_a_signal_ends_both_processes(tmp_path, number, status, said):
    run, child = started(tmp_path, "--timeout", "600")
    run.send_signal(number)
    assert run.communicate(timeout=300)[1] == said
    assert run.returncode == status and not alive(child)


@linux
def test_a_process_that_is_killed_is_out_of_memory(tmp_path):
    run, child = started(tmp_path, "--timeout", "600", "--format", "json")
    os.kill(child, signal.SIGKILL)
    report = json.loads(run.communicate(timeout=300)[0])
    assert run.returncode == report["exit_status"] == 1
    assert [each["code"] for each in report["errors"]] == ["R302"]


@linux
def test_a_process_that_nobody_waits_for_ends_by_itself(tmp_path):
    run, child = started(tmp_path, "--timeout", "3")
    run.kill()
    run.communicate()
    until = time.monotonic() + 300
    while alive(child) and time.monotonic() < until:
        time.sleep(0.1)
    assert not alive(child)


def test_streams_are_those_of_the_caller(tmp_path):
    model = saved(tmp_path, "g (float[n] x) => (float[n] y) { y = Neg (x) }")
    ended = own(attack("run", model, "-", "--trace", "--timeout", "600", stdin=b'{"x": [1, 2]}'), 0)
    assert b"[-1, -2]" in ended.stdout and b"y  tensor(float)[2]" in ended.stderr


def test_an_output_is_whole_or_not_there(tmp_path):
    model = saved(tmp_path, "g (int64[1] n) => (float[k] y) { y = ConstantOfShape (n) }")
    ended = attack("run", model, "--set", "n=[20000000]", "-o", "out.json", "--timeout", "2", cwd=tmp_path)
    assert "R303" in own(ended, 1).text
    assert not (tmp_path / "out.json").exists()
