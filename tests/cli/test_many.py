"""Many models: one line for each, a sum, a report from which a call goes on, shards, limits, executors."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx.numpy_helper
import onnx.parser
import pytest

import opset
from opset.cli import batch, working
from opset.cli.records import ModelReport, View, brief_line
from opset.cli.working import WINDOW, in_order
from opset.errors import Finding, FindingList
from tests.cli.commands import REFUSED, SMALL, run, run_json, save, version
from tests.cli.test_process import ENVIRONMENT, finish, process, wait_until


@pytest.fixture
def many(folder):
    """Twelve models in folders, of which two are refused below opset 20."""
    models = [onnx.parser.parse_model(text).SerializeToString() for text in (SMALL, REFUSED)]
    for number in range(12):
        path = folder / "in" / "abc"[number % 3] / f"m{number:02}.onnx"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(models[number in (4, 7)])
    return folder


def written(folder="out"):
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*.onnx"))


def lines_of(path="out.jsonl"):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_a_line_for_each_model_and_the_sum_of_refusals(many):
    result = run("convert", "in", "--to", 12, "-o", "out")
    *lines, total = result.stdout.split("12 models: ")
    assert (result.exit_code, result.stderr, len(lines)) == (1, "", 1)
    each = lines[0].splitlines()
    assert len(each) == 12
    assert each[0] == "in/a/m00.onnx: converted, ai.onnx 11 -> 12, IR version 6, wrote out/a/m00-opset12.onnx"
    assert each[5].startswith("in/b/m04.onnx: refused, ai.onnx 20 -> 12, IR version 9 -> 7, C")
    assert total.splitlines()[0] == "10 converted, 2 refused"
    sums = [line for line in total.splitlines() if "StringConcat" in line]
    assert sums[0].startswith("C201 StringConcat: 4 findings in 2 models: ")
    data = run_json("convert", "in", "--to", 12, "-o", "other")
    assert {(row["operator"], row["findings"], row["models"]) for row in data["totals"]} >= {("StringConcat", 4, 2)}
    assert run("convert", "in", "--to", 12, "--plan", "-v").stdout.count("nodes: ") == 12


def test_quiet_writes_a_line_for_each_failure_alone(many):
    result = run("convert", "in", "--to", 12, "-o", "out", "-q", "-j", 2)
    assert result.stdout == ""
    assert [line.partition(":")[0] for line in sorted(result.stderr.splitlines())] == ["in/b/m04.onnx", "in/b/m07.onnx"]


def test_the_tree_of_a_folder_and_of_a_pattern_is_kept(many):
    run("convert", "in", "--to", 21, "-o", "out")
    run("convert", "in/*/m*.onnx", "--to", 21, "-o", "other")
    assert written("out") == written("other")
    assert "b/m01-opset21.onnx" in written()
    for name in "abc":
        os.rename(min((many / "in" / name).glob("*.onnx")), many / "in" / name / "model.onnx")
    assert run("convert", "in/*/model.onnx", "--to", 21, "-o", "same").exit_code == 0
    assert written("same") == [f"{name}/model-opset21.onnx" for name in "abc"]


def test_a_report_is_a_line_for_each_model_and_goes_on(many):
    call = ("convert", "in", "--to", 12, "-o", "out", "--report", "out.jsonl")
    first = run(*call)
    reports = lines_of()
    assert [each["input"] for each in reports] == [each.path for each in batch.expand_inputs(["in"], products=True)]
    assert {each["schema_version"] for each in reports} == {1} and "started" not in Path("out.jsonl").read_text()
    whole = Path("out.jsonl").read_bytes()
    again = run(*call)
    assert (again.exit_code, again.stderr) == (1, "")
    assert again.stdout.splitlines()[:2] == [
        "12 models: 10 converted, 2 refused",
        "  12 of them were in out.jsonl already",
    ]
    assert Path("out.jsonl").read_bytes() == whole
    assert again.stdout.splitlines()[2:] == first.stdout.splitlines()[13:]
    # What changed is done again: a model, and a result that is gone.
    os.utime("in/a/m00.onnx", (1, 1))
    os.remove("out/a/m00-opset12.onnx")
    os.remove("out/b/m01-opset12.onnx")
    assert "  10 of them were" in run(*call).stdout
    assert lines_of()[0]["mtime"] == 10**9
    # So is everything with other options.
    assert "already" not in run(*call, "--force", "--freeze", "all").stdout


def test_a_report_has_each_model_as_soon_as_it_is_done(folder, monkeypatch):
    def yield_records(shop, jobs, number, *processes):
        """Yield the last model first, as if the first one took longer."""
        for each in reversed([*working.yield_records(shop, jobs, number, 1, None, False)]):
            yield each
            done.append([Path(line["input"]).name for line in lines_of()])

    done = []
    monkeypatch.setattr(batch, "yield_records", yield_records)
    paths = [save(f"{name}.onnx", SMALL, folder) for name in "abc"]
    for options in [], ["-v"]:  # -v reports in full
        assert run("check", *paths, "--report", "out.jsonl", *options).exit_code == 0
        assert done == [["c.onnx"], ["c.onnx", "b.onnx"], ["c.onnx", "b.onnx", "a.onnx"]]
        assert [Path(line["input"]).name for line in lines_of()] == ["a.onnx", "b.onnx", "c.onnx"]
        os.remove("out.jsonl")
        done.clear()


def test_a_torn_line_is_cut_and_a_result_without_a_line_is_written_again(many):
    call = ("convert", "in", "--to", 12, "-o", "out", "--report", "out.jsonl")
    run(*call)
    whole = Path("out.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    call_of = lines_of()[0]["call"]
    begun = [
        json.dumps({"call": call_of, "started": json.loads(line)["input"], "time": 1}).encode() + b"\n"
        for line in lines
    ]
    Path("out.jsonl").write_bytes(b"".join([*begun[:6], *lines[:4], lines[4][:40]]))
    result = run(*call)
    assert result.exit_code == 2 and "4 of them were" in result.stdout
    # The results of those of which no work had begun are not ours to replace.
    states = [each["errors"][0]["code"] if each["errors"] else each["status"] for each in lines_of()]
    assert states[:5] == ["converted"] * 5 and states[5] == "C201"
    assert "U102" in states[6:]


@pytest.mark.parametrize("content", ["{}\n", "import os\n", '{"a": 1}', "\x08\x07"])
def test_a_file_that_is_no_report_is_left_alone(content, small):
    Path("out.jsonl").write_text(content)
    result = run("convert", "small.onnx", "--to", 21, "--report", "out.jsonl")
    assert result.exit_code == 2 and "error[U102] the file is there, and holds no report" in result.stderr
    assert Path("out.jsonl").read_text() == content


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"output": "b.onnx", "status": "ok"}, "a.onnx: converted, wrote b.onnx"),
        (
            {"errors": FindingList([Finding("C204", "no"), Finding("C205", "nor")])},
            "a.onnx: refused, C204 no and 1 more",
        ),
        ({"internal_error": "internal error: X"}, "a.onnx: refused, internal error: X"),
    ],
)
def test_the_line_of_a_model_says_what_became_of_it(fields, expected):
    report = ModelReport("a.onnx", None, None, FindingList(), "refused", 1)
    assert brief_line(replace(report, **fields), View(), {"ok": "converted"}) == expected


def no_space(*arguments):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_report_that_cannot_be_written_is_said(small, monkeypatch):
    call = ("check", "small.onnx", "--report")
    assert "error[U104]" in run(*call, "none/out.jsonl").stderr
    for function in ("write", "fsync"):  # while it grows, and at its end
        with monkeypatch.context() as patch:
            patch.setattr(os, function, no_space)
            result = run(*call, "out.jsonl")
        assert result.exit_code == 2 and "error[U104]" in result.stderr and "No space left" in result.stderr
        assert sorted(os.listdir()) == ["out.jsonl", "small.onnx"]


def test_a_report_is_written_by_one_call_at_a_time(small):
    holding = "import fcntl; f = open('out.jsonl', 'a'); fcntl.lockf(f, fcntl.LOCK_EX); print(flush=True); input()"
    command = [sys.executable, "-IS", "-c", holding]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        result = run("check", "small.onnx", "--report", "out.jsonl")
        other.communicate(b"\n")
    assert result.exit_code == 2 and "another call writes it" in result.stderr
    assert run("check", "small.onnx", "--report", "out.jsonl").exit_code == 0


def test_other_forms_are_made_of_the_report(many):
    call = ("check", "in", "--report", "out.jsonl", "--format")
    first = [run(*call, form).stdout for form in ("sarif", "json", "junit")]
    assert [run(*call, form).stdout for form in ("sarif", "json", "junit")] == first
    assert first == [run("check", "in", "--format", form).stdout for form in ("sarif", "json", "junit")]
    totals = run_json("blockers", "in", "--to", 12, "--report", "b.jsonl")["blockers"]
    assert totals == run_json("blockers", "in", "--to", 12, "--report", "b.jsonl")["blockers"] != []


def test_calls_that_are_killed_and_run_again_give_the_same_report(many):
    call = ["convert", "in", "--to", "12", "-o", "out", "--report", "out.jsonl", "-j", "2"]
    run(*call[:5], "whole", "--report", "whole.jsonl")
    for seconds in (0.2, 0.3, 0.35, 0.4, 0.45, 0.5):
        started = process(*call)
        time.sleep(seconds)
        started.send_signal(signal.SIGKILL)
        finish_or_killed(started)
    status, _, errors = finish(process(*call))
    assert status == 1, errors

    def plain(path, output):
        return [
            {key: value for key, value in each.items() if key != "call"} | {"output": each["output"] and output}
            for each in lines_of(path)
        ]

    assert plain("out.jsonl", "") == plain("whole.jsonl", "")
    assert written("out") == written("whole")


def finish_or_killed(started):
    started.communicate(timeout=600)
    assert started.returncode in (0, 1, -signal.SIGKILL)


def test_shards_are_parts_of_the_whole(many):
    parts = [run_json("check", "in", "--shard", f"{number}/3")["models"] for number in (1, 2, 3)]
    names = [each["input"] for part in parts for each in part]
    assert sorted(names) == [each.path for each in batch.expand_inputs(["in"], products=True)]
    (many / "in/a/a.onnx").write_bytes((many / "in/a/m00.onnx").read_bytes())
    more = run_json("check", "in", "--shard", "1/3")["models"]
    assert {each["input"] for each in parts[0]} <= {each["input"] for each in more}
    for wrong in ("0/3", "4/3", "1", "a/b"):
        assert run("check", "in", "--shard", wrong).exit_code == 2


BAD = r"""
import multiprocessing, os, signal, sys, time
multiprocessing.set_start_method("fork")  # so that workers find what is replaced here
import opset.cli.convert
from opset.cli import main

convert = opset.cli.convert.convert_model

def misbehave(model, *others, **more):
    kind = os.path.basename(model.path).split(".")[0]
    if kind == "hang":
        time.sleep(600)
    elif kind == "eat":
        hoard = [bytes(1 << 20) for _ in range(4096)]
    elif kind == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    return convert(model, *others, **more)

opset.cli.convert.convert_model = misbehave
main()
"""


def test_models_that_hang_eat_memory_or_crash_are_records(many):
    data = (many / "in/a/m00.onnx").read_bytes()
    for name in ("hang", "eat", "crash"):
        (many / "in" / f"{name}.onnx").write_bytes(data)
    limits = ["--timeout", "3", "--max-memory", "300M", "-j", "2", "--report", "out.jsonl"]
    call = ["convert", "in", "--to", "21", "-o", "out", "-q", *limits]
    finished = subprocess.run([sys.executable, "-c", BAD, *call], env=ENVIRONMENT, capture_output=True, timeout=120)
    assert (finished.returncode, finished.stdout) == (70, b"")
    reports = {each["input"]: each for each in lines_of()}
    codes = {name: each["errors"][0]["code"] for name, each in reports.items() if each["status"] == "failed"}
    assert codes == {"in/hang.onnx": "C401", "in/eat.onnx": "U106", "in/crash.onnx": "U108"}
    assert len(written()) == 12 - 2 and len(reports) == 15


def test_records_that_wait_too_long_for_another_are_not_held():
    late = [*range(1, WINDOW + 10), 0, WINDOW + 10]
    found = [index for index, _ in in_order((index, None) for index in late)]
    assert sorted(found) == sorted(late) and found.index(0) > WINDOW
    assert [index for index, _ in in_order((index, None) for index in (2, 1, 0, 3))] == [0, 1, 2, 3]
    taken = []
    records = in_order((taken.append(index) or index, None) for index in range(4))
    assert [len(taken) for _ in records] == [1, 2, 3, 4]  # one that is next does not wait


def test_check_tells_what_would_change_and_writes_nothing(many):
    before = sorted(Path("in").rglob("*"))
    assert run("convert", "in/a", "--to", 11, "--check").exit_code == 0
    assert run("convert", "in/a", "--to", 21, "--check").exit_code == 1
    assert run("lower", "in/a", "--ops", "Relu", "--check").exit_code == 1
    assert run("lower", "in/a", "--ops", "Gelu", "--check").exit_code == 0
    assert run("inline", "in/a", "--check").exit_code == 0
    assert sorted(Path("in").rglob("*")) == before


def test_an_executor_from_python_runs_the_same_tasks(many):
    from opset.cli.working import Job, run_on_executor
    from tests.cli.shops import make_shop

    shop = make_shop()
    models = batch.expand_inputs(["in"], products=True)
    with ThreadPoolExecutor(2) as executor:
        found = dict(run_on_executor(shop, map(Job, models), executor))
    assert [found[index].report.input for index in range(12)] == [each.path for each in models]
    assert [found[index].report.status for index in range(12)].count("refused") == 2


@pytest.mark.parametrize("make", [lambda: None, lambda: ThreadPoolExecutor(2), lambda: ProcessPoolExecutor(1)])
def test_reports_come_from_any_executor_in_python(many, make):
    reports = list(opset.convert_many(["in/a", Path("in/b")], 12, output="out", executor=make()))
    assert sorted(os.path.relpath(each.input) for each in reports) == sorted(
        each.path for each in batch.expand_inputs(["in/a", "in/b"], products=True)
    )
    converted = [each for each in reports if each.status == "converted"]
    assert sorted(os.path.relpath(each.output, "out") for each in converted) == written()
    assert all(opset.load(each.output).opset_import[0].version == 12 for each in converted)
    refused = next(each for each in reports if each.status == "refused")
    assert refused.errors[0].code == "C201" and refused.result.conversion.nodes.refused == 4
    assert repr(refused).startswith(f"<ModelReport {refused.input}: refused, C201") and "\n" not in repr(refused)


def test_a_plan_from_python_writes_nothing_and_errors_come_at_once(many):
    before = sorted(Path().rglob("*"))
    statuses = [each.status for each in opset.convert_many("in", release="1.7", limits=opset.Limits(timeout=60))]
    assert (statuses.count("planned"), len(statuses)) == (10, 12) and sorted(Path().rglob("*")) == before
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    for more, code in ((["none*.onnx"], "M101"), (["in", 12, "nonesuch"], "U103")):
        with pytest.raises(opset.OpsetError, match=code):
            opset.convert_many(more[0], 12, **({"executor": more[2]} if more[2:] else {}))
    with pytest.raises(opset.UsageError, match="U110") as raised:
        next(opset.convert_many("in", 12, executor=closed))
    assert "shutdown" in raised.value.finding_list[0].why


def test_a_plan_from_python_leaves_out_what_an_earlier_run_wrote(many, tmp_path):
    original = next(Path("in").rglob("*.onnx"))
    (tmp_path / "some").mkdir()
    for name in ("m.onnx", "m-opset12.onnx"):
        (tmp_path / "some" / name).write_bytes(original.read_bytes())
    found = [
        sorted(os.path.basename(each.input) for each in opset.convert_many(tmp_path / "some", 12, output=output))
        for output in (None, tmp_path / "made")
    ]
    assert found == [["m.onnx"], ["m-opset12.onnx", "m.onnx"]]


def test_the_page_of_a_report_is_named(many):
    for number, inputs in enumerate((["in"], [str(next(Path("in").rglob("*.onnx")))])):
        page = f"page{number}.html"
        assert run("check", *inputs, "--report", page).stdout.splitlines()[-1] == f"report: {page}"
        assert page not in run("check", *inputs, "--report", page, "--force", "--quiet").stdout


def test_a_part_without_models_is_said_plainly(many):
    parts = [run("convert", "in/a", "--to", 12, "-o", "out", "--shard", f"{part}/40").stdout for part in range(1, 41)]
    assert parts.count("no models\n") > 30


def test_what_waits_is_canceled_if_nobody_asks_for_it(many):
    with ThreadPoolExecutor(1) as executor:
        reports = opset.convert_many("in", 12, output="out", executor=executor)
        next(reports)
        reports.close()
    assert 1 <= len(written()) <= 3


def test_the_same_on_a_dask_cluster(many):
    """By its address on the command line, and as a client from Python."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        address = cluster.scheduler_address.removeprefix("tcp://")
        result = run("convert", "in", "--to", 12, "-o", "out", "--executor", f"dask://{address}", "--format", "json")
        with Client(cluster, set_as_default=False) as client:
            reports = [*opset.convert_many("in", 12, output="other", executor=client)]
    data = json.loads(result.stdout)
    models = [os.path.abspath(each.path) for each in batch.expand_inputs(["in"], products=True)]
    assert (result.exit_code, data["summary"]["converted"], data["summary"]["refused"]) == (1, 10, 2)
    assert [each["input"] for each in data["models"]] == models == sorted(each.input for each in reports)
    assert len(written()) == 10 and written("other") == written()
    assert {each.input: each.status for each in reports} == {each["input"]: each["status"] for each in data["models"]}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--executor", "ray://somewhere"], "U103"),
        (["--executor", "dask://127.0.0.1:1"], "U110"),
        (["--executor", "dask://127.0.0.1:1", "--max-memory", "1G"], "U103"),
    ],
)
def test_executors_that_cannot_be_used(options, code, small, monkeypatch):
    monkeypatch.setattr("opset.cli.working._CONNECT_SECONDS", 0.5)
    result = run("convert", "small.onnx", "--to", 21, *options)
    assert result.exit_code == 2 and f"error[{code}]" in result.stderr


def test_dask_is_named_if_it_is_not_installed(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = run("convert", "small.onnx", "--to", 21, "--executor", "dask://127.0.0.1:1")
    assert result.exit_code == 2 and "error[U110] Dask is not installed" in result.stderr


@pytest.mark.parametrize("count", [1, 2])
def test_the_page_of_a_report_is_named_last(small, count):
    shutil.copy("small.onnx", "other.onnx")
    call = ("check", *["small.onnx", "other.onnx"][:count], "--report", "page.html")
    assert run(*call).stdout.splitlines()[-1] == "report: page.html"
    assert "report: " not in run("check", "small.onnx").stdout
    assert run(*call, "--quiet").stdout == "" and Path("page.html").exists()
    assert "report: page.html" not in run(*call, "--format", "json").stdout


def test_results_of_an_earlier_call_are_models_if_another_folder_is_named(small):
    shutil.copy("small.onnx", "small-opset13.onnx")
    planned = [each.input for each in opset.convert_many(".", 14)]
    written = [each.input for each in opset.convert_many(".", 14, output="out")]
    assert (planned, written) == (["./small.onnx"], ["./small-opset13.onnx", "./small.onnx"])


def test_external_data_is_written_from_python_as_by_the_verb(folder):
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 11]> g (float[300] x) => (float[300] y) { y = Add (x, w) }'
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.full(300, 1.5, np.float32), "w"))
    (folder / "in").mkdir()
    onnx.save(model, "in/m.onnx", save_as_external_data=True, size_threshold=0, location="w.bin")
    assert run("convert", "in", "--to", 13, "-o", "verb").exit_code == 0
    assert [each.status for each in opset.convert_many("in", 13, output="python")] == ["converted"]
    made, expected = (
        {path.name: path.read_bytes() for path in (folder / name).iterdir()} for name in ("python", "verb")
    )
    assert made == expected and sorted(made) == ["m-opset13.onnx", "w.bin"]


def test_a_model_is_in_the_report_while_an_earlier_one_is_at_work(folder):
    os.mkfifo(folder / "slow.onnx")
    data = save("quick.onnx", SMALL, folder).read_bytes()
    started = process("check", "slow.onnx", "quick.onnx", "-j", 2, "--report", "out.jsonl")
    pipe = os.open("slow.onnx", os.O_RDWR)  # a reader waits until something is written
    wait_until(lambda: Path("out.jsonl").exists() and '"quick.onnx"' in Path("out.jsonl").read_text())
    writer = threading.Thread(target=lambda: (os.write(pipe, data), os.close(pipe)))
    writer.start()
    status, stdout, stderr = finish(started)
    writer.join()
    assert (status, stderr) == (0, "")
    assert stdout.decode() == "quick.onnx: no findings\nslow.onnx: no findings\n2 models: 2 clean\n"
    assert [json.loads(line)["input"] for line in Path("out.jsonl").read_text().splitlines()] == [
        "slow.onnx", "quick.onnx",
    ]  # fmt: skip


def test_results_go_to_urls_of_files(folder):
    save("in/small.onnx", SMALL, folder)
    one = run("convert", "in/small.onnx", "--to", 13, "-o", f"file://{folder}/one.onnx")
    assert (one.exit_code, one.stderr) == (0, "") and one.stdout.endswith(f"  wrote {folder}/one.onnx\n")
    many = run("convert", f"file://{folder}/in", "--to", 13, "-o", f"file://{folder}/many/")
    assert many.exit_code == 0 and f"  wrote {folder}/many/small-opset13.onnx\n" in many.stdout
    assert version("one.onnx") == version("many/small-opset13.onnx") == 13


@pytest.mark.parametrize("output", [[], ["-o", "out/"], ["--in-place"]])
def test_a_second_input_that_is_not_there_is_an_output_only_where_none_is_named(small, folder, output):
    result = run("convert", "small.onnx", "new.onnx", "--to", 13, *output)
    if not output:
        assert result.exit_code == 2 and "error[U103] 'new.onnx' is named as an input, and does not" in result.stderr
        assert result.stdout == "" and version("small.onnx") == 11
        return
    assert result.exit_code == 3 and "error[M101] the file cannot be read\n  where   new.onnx\n" in result.stderr
    assert result.stdout.endswith("2 models: 1 converted, 1 failed\n")
    assert version("out/small-opset13.onnx" if "-o" in output else "small.onnx") == 13


@pytest.mark.parametrize(
    ("count", "options", "in_order"),
    [(3, [], True), (12, [], False), (12, ["-v"], True), (12, ["--format", "json"], True)],
)
def test_full_reports_are_in_the_order_of_the_models_and_lines_as_they_come(
    count, options, in_order, folder, monkeypatch
):
    def yield_backward(*arguments):
        yield from reversed([*yield_records(*arguments)])

    yield_records = batch.yield_records
    monkeypatch.setattr(batch, "yield_records", yield_backward)
    names = [f"in/{number:02}.onnx" for number in range(count)]
    for name in names:
        save(name, SMALL, folder)
    found = re.findall(r"in/\d+\.onnx", run("check", *names, *options).stdout)
    assert [*dict.fromkeys(found)] == (names if in_order else names[::-1])


@pytest.mark.parametrize(
    ("models", "said"),
    [
        (opset.parse_model(SMALL), "not ModelProto"),
        ([opset.parse_model(SMALL)], "not ModelProto"),
        (b"", "not bytes"),
        ([3], "not int"),
    ],
)
def test_models_are_given_by_their_paths(models, said):
    with pytest.raises(opset.UsageError, match=f"the path of a model is needed, {said}"):
        opset.convert_many(models, 21)


def test_names_and_folders_may_be_given_alone(small):
    for options in {"freeze": "all"}, {"freeze": ["all"]}:
        assert [each.status for each in opset.convert_many(small, 21, **options)] == ["planned"]
    with pytest.raises(opset.SchemaError, match="there is no such file or folder\n  where   nowhere:1:1"):
        opset.convert_many(small, 21, schemas="nowhere")
    with pytest.raises(opset.UsageError, match="0 processes convert no models"):
        opset.convert_many(small, 21, jobs=0)
