"""Writes the YAML of runtimes, opset/opsets/runtimes/data/, from files of facts.

    python -m judges import_runtimes runtime_operators.json ort_cpu_kernels.json runtimes.json [-o FOLDER]

The facts are three JSON files, which are told apart by their keys; running it again gives the same bytes. What it
corrects is printed.

runtime_operators.json: {"about": …, "runtimes": {name: runtime}}. A runtime has `source`, `match`, and if they apply
`fallback`, `note`, `casts`, `io_types_not`, `types_are`, `kernels_of` (a sentence that begins with the runtime), and
`releases`. A release is {"same_as": r}, or has `opset` (lowest and highest, null), `ir`, `how` ("table" or
"changelog"), `opset_how`, `read_from`, and `operators`: {domain: {operator: [entry, …]}}; with `base`, these replace
operators of that release, and null removes one. An entry has `versions` ([first, last] or "first-") or `opsets`, and
limits; `types` are by type parameter, or a list for the data inputs.

ort_cpu_kernels.json: {"releases": ["1.16.3", …], "rows": [[domain, operator, first version, last one or null, {type
parameter: [element type, …]}, first release, last release], …]}, the kernels of onnxruntime's CPU provider.

runtimes.json: {"runtimes": [[runtime, release, lowest opset, highest opset, highest ai.onnx.ml, highest IR version,
how, source], …]}. Rows of onnxruntime in it win over what the other files say of opsets and IR versions, for every
provider.

What was measured of faults is in the YAML alone, and stays as it is there. Entries that are equal in consecutive
releases become one, with `since` and `until`. Kernels of one version that
differ in the types of one parameter become one entry; types that are no cross product stay several entries.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import onnx
import yaml

from opset.opsets.registry import default_registry
from opset.opsets.runtimes.compiled import FOLDER
from opset.opsets.runtimes.keys import ENTRY_KEYS, RELEASE_KEYS, TABLE_KEYS
from opset.opsets.runtimes.loader import parse_runtime
from opset.opsets.runtimes.model import release_sort_key
from opset.schemas.names import domain_name
from opset.schemas.yaml.printer import flow

WIDTH = 120
CPU = "onnxruntime-cpu"
Operators = dict[str, dict[str, list[dict[str, Any]]]]
"""Entries by domain and operator."""


class Names(NamedTuple):
    """The title of a runtime and its other names."""

    title: str
    aliases: Sequence[str] = ()


def _providers(package: str, *providers: str) -> list[str]:
    """Return the names of providers of onnxruntime, as a part of a package."""
    packages = [package, "ort"] if package == "onnxruntime" else [package]
    return [f"{each}:{provider}" for each in packages for provider in providers]


NAMES = {
    CPU: Names("onnxruntime on the CPU", ["onnxruntime", "ort", *_providers("onnxruntime", "cpu")]),
    "onnxruntime-cuda": Names(
        "onnxruntime with the CUDA provider",
        ["onnxruntime-gpu", "ort-gpu", *_providers("onnxruntime", "cuda", "gpu"), "onnxruntime-gpu:cuda"],
    ),
    "onnxruntime-dml": Names(
        "onnxruntime with the DirectML provider",
        ["onnxruntime-directml", "ort-directml", "directml", *_providers("onnxruntime", "dml", "directml")],
    ),
    "onnxruntime-web-wasm": Names(
        "onnxruntime-web in WebAssembly", ["onnxruntime-web", "ort-web", *_providers("onnxruntime-web", "wasm", "cpu")]
    ),
    "onnxruntime-web-webgpu": Names("onnxruntime-web with WebGPU", _providers("onnxruntime-web", "webgpu", "jsep")),
    "onnxruntime-web-webgl": Names("onnxruntime-web with WebGL", _providers("onnxruntime-web", "webgl")),
    "onnxruntime-web-webnn": Names("onnxruntime-web with WebNN", _providers("onnxruntime-web", "webnn")),
    "onnxruntime-coreml-neuralnetwork": Names(
        "onnxruntime with the CoreML provider, in the form NeuralNetwork",
        _providers("onnxruntime", "coreml", "coreml-neuralnetwork"),
    ),
    "onnxruntime-coreml-mlprogram": Names(
        "onnxruntime with the CoreML provider, in the form MLProgram", _providers("onnxruntime", "coreml-mlprogram")
    ),
    "onnxruntime-nnapi": Names("onnxruntime with the NNAPI provider", _providers("onnxruntime", "nnapi")),
    "onnxruntime-qnn": Names("onnxruntime with the QNN provider", _providers("onnxruntime", "qnn")),
    "onnxruntime-xnnpack": Names("onnxruntime with the XNNPACK provider", _providers("onnxruntime", "xnnpack")),
    "onnxruntime-mobile": Names("onnxruntime-mobile, the package with few operators", ["ort-mobile"]),
    "tensorrt": Names("TensorRT", ["trt"]),
    "openvino": Names("OpenVINO on the CPU", ["ov", "openvino:cpu"]),
    "migraphx": Names("MIGraphX; releases are those of ROCm"),
    "onnx-mlir": Names("onnx-mlir on the CPU", ["onnx-mlir:cpu"]),
    "tract": Names("tract", ["tract-onnx"]),
    "rknn-toolkit": Names("RKNN-Toolkit"),
    "rknn-toolkit2": Names("RKNN-Toolkit2", ["rknn", "rknn2"]),
    "ascend-cann": Names("CANN of Ascend", ["cann", "ascend"]),
    "windows-ml": Names("Windows ML", ["winml"]),
    "unity-sentis": Names("Sentis of Unity", ["sentis"]),
    "st-edge-ai": Names("ST Edge AI Core", ["stedgeai"]),
}
TOLD = {"onnxruntime": CPU}
"""Runtimes that rows of limits name otherwise."""
HOW = {"table": "documented", "changelog": "derived"}
MEASURED = {("onnxruntime-cuda", "1.31"), ("onnxruntime-web-wasm", "1.27"), ("onnxruntime-web-wasm", "1.30")}
"""Releases of which the facts say that the package itself was asked, beside all of OpenVINO."""
BY_OPSET = {"onnxruntime-web-webnn"}
"""Runtimes whose table has opsets of models in place of versions of operators: Abs from 7 in place of 6."""
RENAMED = {
    ("QuantizeLinear", "scale"): ["y_scale"],
    ("QuantizeLinear", "zero_point"): ["y_zero_point"],
    ("DequantizeLinear", "scale"): ["x_scale"],
    ("DequantizeLinear", "zero_point"): ["x_zero_point"],
    ("QLinearConv", "W"): ["w"],
    ("QLinearConv", "scale"): ["x_scale", "w_scale", "y_scale"],
    ("QLinearConv", "zero_point"): ["x_zero_point", "w_zero_point", "y_zero_point"],
    ("QLinearMatMul", "scale"): ["a_scale", "b_scale", "y_scale"],
    ("QLinearMatMul", "zero_point"): ["a_zero_point", "b_zero_point", "y_zero_point"],
    ("Trilu", "K"): ["k"],
}
"""Inputs that the facts name otherwise than the standard."""
PARAMETERS = {("RoiAlign", "T"): "T1", ("Not", "T1"): "T"}
"""Type parameters that are named otherwise than the standard's."""
CASTS = {CPU: {"float16": "float"}}
"""Types that a runtime casts to others if no kernel takes them, which its tables do not say."""
LIMITS: dict[tuple[str, str], dict[str, Any]] = {
    (CPU, "GRU"): {"attributes": {"layout": [0]}},
    (CPU, "LSTM"): {"attributes": {"layout": [0]}},
    (CPU, "RNN"): {"attributes": {"layout": [0]}},
    **{
        ("openvino", name): {"known_ranks": True}
        for name in ("ConstantOfShape", "Expand", "If", "Loop", "Reshape", "Squeeze", "Unsqueeze")
    },
    ("openvino", "Pad"): {"attributes": {"mode": "not wrap"}},
    ("openvino", "Attention"): {"types": {"U": ["bfloat16", "bool", "float", "float16"]}},
    ("openvino", "Einsum"): {"attributes": {"equation": None}},
    ("openvino", "GRU"): {"attributes": {"layout": None}},
    ("openvino", "NegativeLogLikelihoodLoss"): {"attributes": {"ignore_index": None}},
    ("openvino", "RNN"): {"attributes": {"layout": None}},
}
"""Limits of kernels other than tables say, as models of the standard's node cases showed (`judges runtimes`).

None lifts one of an attribute."""
NO_FUNCTIONS = frozenset(("openvino",))
"""Runtimes of which no release runs functions that a model defines."""
NO_BODY = frozenset(("Swish",))
"""Operators whose function no release of onnxruntime runs, as 1.24 and 1.31 showed."""
ALL_BUT_FIRST = "all but the first"
UNION = "union over kernels"
_REGISTRY = re.compile(r"\w+ package\b(?= \w)")
"""A package with the name of the registry that it is from."""
_MAP = re.compile(r"map\((\w+),tensor\((\w+)\)\)")


class Importer:
    """The facts of some files, and what was corrected in them."""

    def __init__(self, files: Iterable[Path]) -> None:
        self.registry = default_registry()
        self.corrections: dict[str, None] = {}
        self.runtimes: dict[str, dict[str, Any]] = {}
        self.cpu: dict[str, Any] = {"releases": [], "rows": []}
        self.limits: dict[str, dict[str, list[Any]]] = {}
        for file in files:
            facts = json.loads(file.read_bytes())
            if "rows" in facts:
                self.cpu = facts
            elif isinstance(facts["runtimes"], dict):
                self.runtimes = facts["runtimes"]
            else:
                for name, release, *row in facts["runtimes"]:
                    self.limits.setdefault(TOLD.get(name, name), {})[release] = row

    def documents(self) -> dict[str, dict[str, Any]]:
        """Return the files by name."""
        documents = {name: self._document(name, facts) for name, facts in self.runtimes.items()}
        for name, rows in self.limits.items():
            if name not in documents:
                documents[name] = self._limits_alone(name, rows)
        return documents

    def _limits_alone(self, name: str, limits: Mapping[str, list[Any]]) -> dict[str, Any]:
        """Return the file of a runtime whose operators are not known."""
        rows = [self._row(name, release, {}) for release in sorted(limits, key=release_sort_key)]
        sources = list(dict.fromkeys(row.pop("read_from") for row in rows))
        return self._head(name, {"source": "; ".join(sources)}) | {"releases": rows}

    def _head(self, name: str, facts: Mapping[str, Any]) -> dict[str, Any]:
        names = NAMES[name]
        kept = {key: facts[key] for key in ("fallback", "source", "casts", "io_types_not") if key in facts}
        if "kernels_of" in facts:
            kept |= {"kernels_of": CPU, "notes": [_upper(facts["kernels_of"])]}
        elif "match" in facts:
            kept["match"] = facts["match"]
        if "source" in kept:
            kept["source"] = _REGISTRY.sub("package", kept["source"].replace("how=changelog", "derived"))
        if name == CPU:
            kept["source"] += "; from 1.16 on the kernels that its packages register"
        elif "note" in facts:
            kept["notes"] = [*kept.get("notes", []), facts["note"]]
        if name in CASTS:
            kept["casts"] = {**kept.get("casts", {}), **CASTS[name]}
        return {"runtime": name, "title": names.title, "aliases": [*names.aliases], **kept}

    def _document(self, name: str, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the file of a runtime with operators."""
        operators = {release: self._operators_at(facts["releases"], release) for release in facts["releases"]}
        rows = {release: self._told(facts["releases"], release) for release in operators}
        if name == CPU:
            self._add_kernels(operators, rows)
        if name == "onnxruntime-web-wasm":
            rows = {release: {} for release in self.runtimes["onnxruntime-web-webgpu"]["releases"]}
        limits = self.limits.get(name, {})
        releases = sorted({*rows, *limits}, key=release_sort_key)
        for release in releases:
            if name != CPU and release in operators and facts.get("types_are") == UNION:
                rows[release]["union_types"] = (name, release) not in MEASURED
        listed = [self._row(name, release, rows.get(release, {})) for release in releases]
        document = self._head(name, facts) | {"releases": listed}
        known = [release for release in releases if release in operators]
        for row in listed:
            if operators and row["release"] not in operators:
                row["lists_operators"] = False
        if operators:
            corrected = {release: self._corrected(name, release, operators[release]) for release in known}
            document["operators"] = merge_releases(known, corrected, releases)
        if name == CPU:
            document["functions"] = _functions()
        if operators:
            document["faults"] = _listed_faults(name, known)
        return document

    def _told(self, releases: Mapping[str, Any], release: str) -> dict[str, Any]:
        """Return what is told of a release, or of the one that it is the same as."""
        row = releases[release]
        return self._told(releases, row["same_as"]) if "same_as" in row else dict(row)

    def _operators_at(self, releases: Mapping[str, Any], release: str) -> Operators:
        """Return the entries of a release, put together from those that it is based upon."""
        row = releases[release]
        if "same_as" in row:
            return self._operators_at(releases, row["same_as"])
        operators = self._operators_at(releases, row["base"]) if "base" in row else {}
        for domain, changed in row["operators"].items():
            entries = {**operators.get(domain, {}), **changed}
            operators[domain] = {name: each for name, each in entries.items() if each is not None}
        return operators

    def _add_kernels(self, operators: dict[str, Operators], rows: dict[str, dict[str, Any]]) -> None:
        """Add the kernels that the packages register, which are exact, to the older tables."""
        for row in rows.values():
            row["union_types"] = True
        packages = self.cpu["releases"]
        for number, package in enumerate(packages):
            release = ".".join(package.split(".")[:2])
            rows[release] = {"read_from": f"kernels that the wheel {package} registers", "how": "measured"}
            operators[release] = {}
            for domain, name, first, last, types, since, until in self.cpu["rows"]:
                if packages.index(since) <= number <= packages.index(until):
                    entries = operators[release].setdefault(domain, {}).setdefault(name, [])
                    entries.append({"versions": [first, last], "types": types})

    def _row(self, name: str, release: str, told: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row of a release."""
        row: dict[str, Any] = {"release": release, "opset": told.get("opset"), "ir": told.get("ir")}
        row["how"] = HOW.get(told.get("how", "table"), told.get("how"))
        if name == "openvino" or (name, release) in MEASURED:
            row["how"] = "measured"
        elif name == "onnxruntime-web-wasm":
            row["how"] = "derived"
        row |= {key: told[key] for key in ("read_from", "union_types") if told.get(key)}
        if name in NO_FUNCTIONS:
            row["local_functions"] = False
        if told.get("opset_how"):
            row["note"] = f"opsets of {release}: {told['opset_how']}"
        own = self.limits.get(name, {}).get(release)
        if own is not None and name not in (CPU, *self.runtimes):
            self._take_limits(row, own)
        elif name == CPU and own is not None:
            tables = "kernels of docs/OperatorKernels.md" if release in self.runtimes[CPU]["releases"] else ""
            self._take_limits(row, own, told.get("read_from") or tables)
        elif name.startswith("onnxruntime"):
            self._take_neighbor(name, row, release)
        if told.get("opset") and row["opset"] != told["opset"]:
            self._note(f"{name} {release}: opsets {told['opset']} -> {row['opset']}, as measured")
        if told.get("ir") and row["ir"] != told["ir"]:
            self._note(f"{name} {release}: IR version {told['ir']} -> {row['ir']}, as measured")
        if own is not None and name in self.runtimes and name != CPU and own[:2] != row["opset"]:
            self._note(
                f"{name} {release}: opsets {own[:2]} in the older table, {row['opset']} in the newer one, is kept"
            )
        if name in ("onnxruntime-web-wasm", "onnxruntime-mobile"):
            row |= {"ml": None, "ir": None, "note": None}
            row["opset"] = None if name == "onnxruntime-web-wasm" else row["opset"]
        return {key: row[key] for key in RELEASE_KEYS if row.get(key) is not None}

    def _take_limits(self, row: dict[str, Any], limits: Sequence[Any], kernels_from: str = "") -> None:
        lowest, highest, ml, ir, how, source = limits
        row |= {"opset": [lowest, highest], "ml": ml, "ir": ir, "how": how}
        row["read_from"] = f"{source}; {kernels_from}" if kernels_from else source

    def _take_neighbor(self, name: str, row: dict[str, Any], release: str) -> None:
        """Take the limits of onnxruntime at the release; between two rows that are equal, theirs."""
        rows = self.limits[CPU]
        if release in rows:
            lowest, highest, ml, ir, *_ = rows[release]
        else:
            order = sorted(rows, key=release_sort_key)
            older = [each for each in order if release_sort_key(each) < release_sort_key(release)]
            newer = [each for each in order if release_sort_key(each) > release_sort_key(release)]
            if not newer or rows[older[-1]][:4] != rows[newer[0]][:4]:
                return
            lowest, highest, ml, ir, *_ = rows[older[-1]]
            row["note"] = f"opsets and IR version of {release}: those of {older[-1]} and {newer[0]}, which are equal"
        if name == "onnxruntime-mobile":
            return
        row |= {"opset": [lowest, highest], "ml": ml, "ir": ir}

    def _note(self, text: str) -> None:
        self.corrections[text] = None

    def _corrected(self, name: str, release: str, operators: Operators) -> Operators:
        """Return the entries of a release in the form of the files, with the standard's names."""
        return {
            domain: {
                operator: [self._entry(name, release, domain, operator, entry) for entry in entries]
                for operator, entries in sorted(listed.items())
            }
            for domain, listed in operators.items()
        }

    def _entry(
        self, runtime: str, release: str, domain: str, operator: str, entry: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return one entry in the form of the files."""
        entry = dict(entry)
        schemas = self.registry.versions(operator, domain)
        if isinstance(versions := entry.get("versions"), str):
            entry["versions"] = [int(versions.removesuffix("-")), None]
        if runtime in BY_OPSET and schemas:
            first, last = entry["versions"]
            held = max([each.since_version for each in schemas if each.since_version <= first], default=first)
            if held != first:
                self._note(f"{runtime} {operator}: from opset {first} -> from version {held}")
            entry["versions"] = [held, last]
        if isinstance(entry.get("notes"), str):
            entry["notes"] = [entry["notes"]]
        if "constant_inputs" in entry:
            entry["constant_inputs"] = self._inputs(runtime, operator, domain, entry["constant_inputs"])
        if isinstance(entry.get("types"), dict):
            entry["types"] = {
                PARAMETERS.get((operator, key), key): sorted(map(_spelled, each))
                for key, each in sorted(entry["types"].items())
            }
        limits = LIMITS.get((runtime, operator), {})
        attributes = {**entry.get("attributes", {}), **limits.get("attributes", {})}
        entry |= limits | {"attributes": {name: value for name, value in attributes.items() if value is not None}}
        self._correct_attributes(runtime, operator, domain, entry)
        return {key: entry[key] for key in ENTRY_KEYS if entry.get(key) not in (None, [], {})}

    def _inputs(self, runtime: str, operator: str, domain: str, names: Any) -> list[str]:
        """Return the names of inputs as the standard has them."""
        schemas = self.registry.versions(operator, domain)
        if names == ALL_BUT_FIRST:
            return list(dict.fromkeys(each.name for schema in schemas for each in schema.inputs[1:]))
        corrected = [new for name in names for new in RENAMED.get((operator, name), [name])]
        if corrected != names:
            self._note(f"{runtime} {operator}: inputs {', '.join(names)} -> {', '.join(corrected)}")
        return corrected

    def _correct_attributes(self, runtime: str, operator: str, domain: str, entry: dict[str, Any]) -> None:
        """Take out attributes that no version has; one that is an input counts among the values."""
        schemas = self.registry.versions(operator, domain)
        attributes = {name for schema in schemas for name in schema.attributes}
        inputs = {each.name for schema in schemas for each in schema.inputs}
        wrong = [name for name in entry["attributes"] if name not in attributes]
        for name in wrong:
            value = entry["attributes"][name]
            if name in inputs:
                entry["values"] = {**entry.get("values", {}), name: bool(value) if value in (0, 1) else value}
            self._note(f"{runtime} {operator}: attribute {name} -> {'an input' if name in inputs else 'left out'}")
        entry["attributes"] = {key: each for key, each in entry["attributes"].items() if key not in wrong}


def _upper(text: str) -> str:
    return f"the kernels are those of {text}"


def _spelled(type_: str) -> str:
    """Return a type as the standard's YAML spells it: of maps and sequences, too."""
    return _MAP.sub(r"map(\1, \2)", type_)


def _functions() -> dict[str, Any]:
    """Return the versions that the standard defines by functions, as the installed package of onnx has them."""
    functions: dict[str, dict[str, list[int]]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.has_function or schema.has_context_dependent_function:
            if schema.name in NO_BODY:
                continue
            functions.setdefault(schema.domain, {}).setdefault(schema.name, []).append(schema.since_version)
    return {
        domain: {name: sorted(versions) for name, versions in sorted(listed.items())}
        for domain, listed in sorted(functions.items())
    }


def merge_releases(
    known: Sequence[str], operators: Mapping[str, Operators], releases: Sequence[str]
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the entries of all releases, each once with the releases that have it.

    Args:
        known: The releases whose operators are known, oldest first.
        operators: The entries of each of them.
        releases: All releases of the file, oldest first.
    """
    domains = sorted({domain for each in operators.values() for domain in each})
    merged: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for domain in domains:
        names = sorted({name for each in operators.values() for name in each.get(domain, ())})
        merged[domain] = {
            name: _merge_operator(known, [operators[each].get(domain, {}).get(name, []) for each in known], releases)
            for name in names
        }
    return merged


def _merge_operator(
    known: Sequence[str], entries: Sequence[list[dict[str, Any]]], releases: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the entries of one operator; those of one version are merged in the way that needs fewer entries."""
    groups: dict[str, list[list[dict[str, Any]]]] = {}
    for number, listed in enumerate(entries):
        for entry in listed:
            rest = {key: value for key, value in entry.items() if key != "types"}
            groups.setdefault(json.dumps(rest), [[] for _ in known])[number].append(entry)
    merged = []
    for rest, by_release in groups.items():
        boxes = [[each.get("types") for each in listed] for listed in by_release]
        by_whole = _intervals([merge_boxes(each) for each in boxes])
        by_part = _by_part(boxes)
        chosen = by_part if by_part is not None and len(by_part) < len(by_whole) else by_whole
        for types, first, last in chosen:
            entry = json.loads(rest) | ({"types": types} if types is not None else {})
            if known[first] != releases[0] and first:
                entry["since"] = known[first]
            if last < len(known) - 1:
                entry["until"] = known[last]
            merged.append({key: entry[key] for key in ENTRY_KEYS if key in entry})
    return sorted(merged, key=lambda entry: (_entry_order(entry), release_sort_key(entry.get("since", "0"))))


def _entry_order(entry: Mapping[str, Any]) -> list[int]:
    first, last = entry.get("versions") or entry.get("opsets") or [0, 0]
    return [first, last or 10**6]


Types = dict[str, list[str]] | list[str] | None
Interval = tuple[Types, int, int]


def _intervals(by_release: Sequence[list[Types]]) -> list[Interval]:
    """Return each item with the first and the last position of every run of releases that have it."""
    intervals: list[Interval] = []
    texts = [{json.dumps(each): each for each in listed} for listed in by_release]
    for text, item in {text: item for each in texts for text, item in each.items()}.items():
        for first in range(len(texts)):
            if text in texts[first] and (first == 0 or text not in texts[first - 1]):
                last = first
                while last + 1 < len(texts) and text in texts[last + 1]:
                    last += 1
                intervals.append((item, first, last))
    return sorted(intervals, key=lambda each: (each[1], each[2], json.dumps(each[0])))


def _by_part(boxes: Sequence[list[Types]]) -> list[Interval] | None:
    """Return entries for the combinations of types that the same releases have; None if types are not by parameter."""
    if not all(isinstance(each, dict) for listed in boxes for each in listed):
        return None
    if len({tuple(each) for listed in boxes for each in listed if isinstance(each, dict)}) != 1:
        return None
    atoms: list[list[Types]] = []
    for listed in boxes:
        found: list[Types] = []
        for each in listed:
            assert isinstance(each, dict)
            found += [{name: [type_] for name, type_ in zip(each, point, strict=True)}
                      for point in itertools.product(*each.values())]  # fmt: skip
        atoms.append(found)
    together: dict[tuple[int, int], list[Types]] = {}
    for atom, first, last in _intervals(atoms):
        together.setdefault((first, last), []).append(atom)
    return [(types, first, last) for (first, last), each in sorted(together.items()) for types in merge_boxes(each)]


def merge_boxes(boxes: Iterable[Types]) -> list[Types]:
    """Return types that stand for the same combinations in fewer entries: two that differ in one parameter are one."""
    merged = list({json.dumps(each): each for each in boxes}.values())
    if not all(isinstance(each, dict) for each in merged):
        return merged
    tables: list[dict[str, list[str]]] = [each for each in merged if isinstance(each, dict)]
    for name in sorted({name for each in tables for name in each}, reverse=True):
        grouped: dict[str, dict[str, list[str]]] = {}
        for each in tables:
            rest = json.dumps({key: types for key, types in each.items() if key != name} | {"": name in each})
            if rest in grouped and name in each:
                grouped[rest] = {**each, name: sorted({*grouped[rest][name], *each[name]})}
            else:
                grouped[rest] = each
        tables = list(grouped.values())
    return sorted(tables, key=json.dumps)  # type: ignore[return-value]


def _listed_faults(name: str, releases: Sequence[str]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the faults that the file of a runtime lists for some releases, oldest first; {} if there is no file."""
    path = FOLDER / f"{name}.yaml"
    listed = yaml.safe_load(path.read_text(encoding="utf-8")).get("faults", {}) if path.exists() else {}
    return {
        domain: {operator: found for operator in faults if (found := [*_faults_within(faults[operator], releases)])}
        for domain, faults in listed.items()
    }


def _faults_within(faults: Iterable[Mapping[str, Any]], releases: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the faults that one of the releases has; `since` and `until` are of these."""
    keys = {release: release_sort_key(release) for release in releases}
    for fault in faults:
        since, until = (release_sort_key(fault[key]) if key in fault else None for key in ("since", "until"))
        have = [
            release
            for release, key in keys.items()
            if (since is None or since <= key) and (until is None or key <= until)
        ]
        if have:
            ends = {"since": have[0], "until": have[-1]}
            yield {key: ends.get(key, value) for key, value in fault.items()}


def document_text(document: Mapping[str, Any]) -> str:
    """Return the text of a runtime's file."""
    lines: list[str] = []
    for key in TABLE_KEYS:
        value = document.get(key)
        if value in (None, [], {}):
            continue
        if key == "releases":
            lines += ["releases:", *(line for each in value for line in _wrapped(f"- {flow(each)}", "   "))]
        elif key in ("operators", "faults"):
            lines.append(f"{key}:")
            for domain, operators in value.items():
                lines.append(f"  {domain_name(domain)}:")
                for name, entries in operators.items():
                    lines.append(f"    {flow(name)}:")
                    lines += [line for each in entries for line in _wrapped(f"    - {flow(each)}", "       ")]
        elif key == "functions":
            lines.append("functions:")
            for domain, operators in value.items():
                lines.append(f"  {domain_name(domain)}:")
                lines += [f"    {flow(name)}: {flow(versions)}" for name, versions in operators.items()]
        else:
            lines += _wrapped(f"{key}: {flow(value)}", "  ")
    return "\n".join(lines) + "\n"


def _wrapped(line: str, indent: str) -> list[str]:
    """Return lines of flow style that are short enough; in YAML a line break within text is a space."""
    if len(line) <= WIDTH:
        return [line]
    start = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line.lstrip(),
        WIDTH,
        initial_indent=start,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files; return the exit status."""
    parser = argparse.ArgumentParser(prog="judges import_runtimes", description=__doc__.partition("\n")[0])
    parser.add_argument("facts", nargs="+", type=Path, metavar="FACTS")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER, metavar="FOLDER")
    options = parser.parse_args(arguments)
    importer = Importer(options.facts)
    options.output.mkdir(parents=True, exist_ok=True)
    for name, document in importer.documents().items():
        text = document_text(document)
        parse_runtime(text.encode(), f"{name}.yaml")
        (options.output / f"{name}.yaml").write_text(text, "utf-8")
        entries = sum(len(each) for listed in document.get("operators", {}).values() for each in listed.values())
        print(f"{name}: {len(document['releases'])} releases, {entries} entries, {len(text):,} bytes")
    print(*importer.corrections, sep="\n")
    return 0
