"""Which modules belong to the quick subset, `pytest -m quick`; what makes processes and garbage collection cheap."""

import contextlib
import gc
import importlib
import os
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings

from judges.conformance.coverage import pairwise
from judges.conformance.validity import watch
from tests.bounds import THOROUGH, draws

# Hundreds of processes are started, and half of what the start of one takes is to compile the package anew. To compile
# the tests with what pytest adds to their assertions takes fifteen seconds.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# What installed runtimes answer is kept for the tests of this run alone.
os.environ["XDG_CACHE_HOME"] = os.path.join(tempfile.gettempdir(), f"opset-tests-{os.getuid()}")

# No test bounds time, which hypothesis does unless it is told otherwise.
settings.register_profile("opset", deadline=None, max_examples=draws(100))
settings.load_profile("opset")

FOLDER = Path(__file__).parent
# A few modules of each package, chosen by the time of the processor that they take, about 40 s in all: without cases of
# the standard, drawn values, and the rates of language.
QUICK = {
    "": "architecture public_names",
    "adapters": "cast training",
    "cli": "convert infer",
    "docgen": "api",
    "inference": "hooks infer rules",
    "model": "external index proto save types",
    "opsets": "registry releases",
    "reference": "control_flow conversion elementwise hooks packages random",
    "schemas": "diff examples lock signature",
    "tensor_io": "random_inputs statistics",
    "version_converter": "convert derivation",
    "workflow": "runtimes",
}
EXAMINED = ("adapters", "opsets", "version_converter")
"""Folders in which each conversion is examined; elsewhere models are hostile, or steps are counted."""
MODULES = {FOLDER / folder / f"test_{name}.py" for folder, names in QUICK.items() for name in names.split()}


def pytest_ignore_collect(collection_path, config):
    """Leave out modules unread where only quick ones are selected: some collect the cases of the standard."""
    if config.getoption("markexpr") == "quick" and collection_path.match("test_*.py"):
        return collection_path not in MODULES or None
    return None


@pytest.fixture(autouse=True)
def _results_are_valid(request):
    """Hold that each model that a test of a converter gets in its own process is valid, unless the given one is not."""
    marked = request.node.get_closest_marker("malformed") or request.node.get_closest_marker("judged")
    exempt = marked or "attempt" in request.fixturenames
    if exempt or request.path.parent.name not in EXAMINED:
        yield
        return
    with watch() as found:
        yield
    assert not found, "; ".join(found)


def pytest_collection_modifyitems(config, items):
    """Mark quick tests; of the combinations of three or more parameters, keep those that have every pair of values.

    If one case is named, all stay.
    """
    for item in items:
        if item.path in MODULES:
            item.add_marker(pytest.mark.quick)
    if not THOROUGH and not any("[" in each for each in config.args):
        left_out = {item for cases in _combined(items).values() for item in _beyond_pairs(cases)}
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]


def _combined(items):
    """Return the cases of each test for which three or more parameters are combined, with the values of each."""
    found = defaultdict(dict)
    for item in items:
        marks = [*item.iter_markers("parametrize")]
        if len(marks) > 2:
            names = [each.args[0].split(",") if isinstance(each.args[0], str) else each.args[0] for each in marks]
            values = item.callspec.params
            found[item.obj][item] = [tuple(id(values[name.strip()]) for name in each) for each in names]
    return found


def _beyond_pairs(cases):
    """Return the cases without which those left have every pair of values of two parameters."""
    kept = {*pairwise([*cases.values()])}
    return [item for number, item in enumerate(cases) if number not in kept]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Report a test that passes by one message of its worker in place of six, most of what a small test takes."""
    if not hasattr(item.config, "workerinput"):
        return None
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    passed = all(report.passed for report in reports)
    for report in reports:
        if report.when == "call" or not passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


def pytest_configure():
    missing = [str(path.relative_to(FOLDER)) for path in MODULES if not path.exists()]
    assert not missing, f"these modules of the quick subset do not exist: {missing}"


def pytest_sessionstart(session):
    """Import this worker's share of the test modules: each is compiled by one worker, and read by the others."""
    gc.disable()  # until all tests are collected: nothing of them is garbage
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args != session.config.getini("testpaths"):
        return
    modules = [path for path in sorted(FOLDER.rglob("test_*.py")) if not pytest_ignore_collect(path, session.config)]
    for path in modules[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        with contextlib.suppress(Exception):  # a module that cannot be imported is reported when it is collected
            importlib.import_module(".".join(path.relative_to(FOLDER.parent).with_suffix("").parts))


def pytest_collection_finish():
    """Leave what was collected, half a gigabyte of test items and cases, out of every later garbage collection.

    The little garbage among it stays: to collect it takes a second of each worker.
    """
    gc.freeze()
    gc.enable()
