"""Limits of runtimes: the range of operator set versions and the highest IR version of each release."""

from __future__ import annotations

from typing import NamedTuple

from opset.errors import Finding, UsageError
from opset.schemas.names import near_miss


class RuntimeRelease(NamedTuple):
    """One release of a runtime. None stands for a limit that is not known.

    `how` is "measured" if models of each version were loaded in that release, "documented" if its maker states it.
    A runtime that accepts an operator set may still lack a kernel for one of its operators.
    """

    name: str
    release: str
    min_opset: int | None
    max_opset: int
    max_ml: int | None
    max_ir: int | None
    how: str
    source: str


_LOADED = ("measured", "loaded 2026-11")
_ORT_PAGE = ("documented", "onnxruntime docs, compatibility page")
_TENSORRT = ("documented", "onnx-tensorrt docs/operators.md, release branch")
_WINDOWS = ("documented", "Windows ML, ONNX versions page")

# Within a runtime, oldest release first.
RUNTIMES = (
    RuntimeRelease("onnxruntime", "1.4", 7, 12, 2, 7, *_ORT_PAGE),
    RuntimeRelease("onnxruntime", "1.6", 7, 13, 2, 7, *_ORT_PAGE),
    RuntimeRelease("onnxruntime", "1.7", 7, 13, 2, 7, *_ORT_PAGE),
    RuntimeRelease("onnxruntime", "1.8", 7, 14, 2, 7, *_ORT_PAGE),
    RuntimeRelease("onnxruntime", "1.9", 7, 15, 2, 8, *_ORT_PAGE),
    RuntimeRelease("onnxruntime", "1.10", 7, 15, 2, 8, *_ORT_PAGE),
    RuntimeRelease("onnxruntime", "1.11", 7, 16, 2, 8, *_ORT_PAGE),
    RuntimeRelease("onnxruntime", "1.12", 7, 17, 3, 8, *_ORT_PAGE),
    RuntimeRelease("onnxruntime", "1.13", 7, 17, 3, 8, *_ORT_PAGE),
    RuntimeRelease("onnxruntime", "1.14", 7, 18, 3, 8, *_ORT_PAGE),
    RuntimeRelease("onnxruntime", "1.15", 7, 19, 3, 9, *_LOADED),
    RuntimeRelease("onnxruntime", "1.16", 7, 19, 3, 9, *_LOADED),
    RuntimeRelease("onnxruntime", "1.17", 7, 20, 4, 9, *_LOADED),
    RuntimeRelease("onnxruntime", "1.18", 7, 21, 5, 10, *_LOADED),
    RuntimeRelease("onnxruntime", "1.19", 7, 21, 5, 10, *_LOADED),
    RuntimeRelease("onnxruntime", "1.20", 7, 21, 5, 10, *_LOADED),
    RuntimeRelease("onnxruntime", "1.21", 7, 22, 5, 10, *_LOADED),
    RuntimeRelease("onnxruntime", "1.22", 7, 22, 5, 10, *_LOADED),
    RuntimeRelease("onnxruntime", "1.23", 7, 23, 5, 11, *_LOADED),
    RuntimeRelease("onnxruntime", "1.24", 7, 25, 5, 13, *_LOADED),
    RuntimeRelease("onnxruntime", "1.25", 7, 26, 5, 13, *_LOADED),
    RuntimeRelease("onnxruntime", "1.31", 7, 26, 5, 13, *_LOADED),
    RuntimeRelease("tensorrt", "8.2", 7, 13, None, None, *_TENSORRT),
    RuntimeRelease("tensorrt", "8.5", 7, 17, None, None, *_TENSORRT),
    RuntimeRelease("tensorrt", "9.2", 7, 19, None, None, *_TENSORRT),
    RuntimeRelease("tensorrt", "10.15", 9, 24, None, None, *_TENSORRT),
    RuntimeRelease("rknn-toolkit", "1.7", None, 12, None, None, "documented", "its own refusal message"),
    RuntimeRelease("rknn-toolkit2", "1.6", 12, 19, None, None, "documented", "releases page"),
    RuntimeRelease("ascend-cann", "6.0", 9, 13, None, None, "documented", "atlasatc guide"),
    RuntimeRelease("ascend-cann", "7.0", 9, 18, None, None, "documented", "atlasatc guide"),
    RuntimeRelease("migraphx", "6.2", None, 19, None, None, "documented", "ROCm documentation"),
    RuntimeRelease("windows-ml", "windows-10-1809", None, 7, None, None, *_WINDOWS),
    RuntimeRelease("windows-ml", "windows-10-1903", None, 8, None, None, *_WINDOWS),
    RuntimeRelease("windows-ml", "windows-10-2004", None, 9, None, None, *_WINDOWS),
    RuntimeRelease("windows-ml", "windows-11", None, 12, None, None, *_WINDOWS),
    RuntimeRelease("unity-sentis", "2.5", 7, 15, None, None, "documented", "package documentation"),
    RuntimeRelease("unity-sentis", "2.6", 7, 25, None, None, "documented", "package documentation"),
    RuntimeRelease("st-edge-ai", "3.0", 7, 20, None, None, "documented", "supported operators page"),
    RuntimeRelease("onnx-mlir", "0.5", None, 21, None, None, "documented", "docs/SupportedONNXOps-cpu.md"),
)


def runtime(spec: str) -> RuntimeRelease:
    """Return the row that `name==release` means: the longest listed release that the given one begins with.

    "onnxruntime==1.17.3" is in the row of 1.17. Raises UsageError U101 when there is none, with what there is: a
    release that is not listed is not guessed from its neighbours.
    """
    name, _, wanted = (part.strip() for part in spec.partition("=="))
    rows = [row for row in RUNTIMES if row.name == name.lower()]
    if not rows:
        names = list(dict.fromkeys(row.name for row in RUNTIMES))
        help = f"{near_miss(name.lower(), names)} known: {', '.join(names)}".strip()
        raise UsageError(Finding("U101", f"no runtime {name!r} is known", help=help))
    releases = ", ".join(row.release for row in rows)
    if not wanted:
        help = f"write {rows[-1].name}==RELEASE; known: {releases}"
        raise UsageError(Finding("U101", f"{spec!r} names no release of the runtime", help=help))
    parts = wanted.split(".")
    matching = [row for row in rows if parts[: len(row.release.split("."))] == row.release.split(".")]
    if matching:
        return max(matching, key=lambda row: len(row.release))
    nearest = " and ".join(row.release for row in _nearest_releases(rows, wanted))
    message = f"what {rows[0].name} {wanted} accepts is not known"
    raise UsageError(Finding("U101", message, help=f"nearest: {nearest}; known: {releases}"))


def _nearest_releases(rows: list[RuntimeRelease], wanted: str) -> list[RuntimeRelease]:
    """Return the listed releases just below and just above one that is not listed."""
    below = [row for row in rows if _release_sort_key(row.release) < _release_sort_key(wanted)]
    above = [row for row in rows if _release_sort_key(row.release) > _release_sort_key(wanted)]
    return below[-1:] + above[:1]


def _release_sort_key(release: str) -> list[tuple[int, str]]:
    """Return the sort key of a release: numbers by value, before them other parts by name."""
    parts = [part.lstrip("0") if part.isdecimal() else part for part in release.split(".")]
    return [(len(part) if part.isdecimal() or not part else -1, part) for part in parts]
