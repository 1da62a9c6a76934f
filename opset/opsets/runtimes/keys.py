"""The keys of a runtime's file, in the order in which they are written: shared by the loader and the JSON Schema."""

from __future__ import annotations

from pathlib import Path

SCHEMA = Path(__file__).with_name("runtime.schema.json")

TABLE_KEYS = (
    *("runtime", "title", "aliases", "match", "fallback", "kernels_of", "source", "notes", "casts", "io_types_not"),
    *("releases", "operators", "functions", "faults"),
)
RELEASE_KEYS = (
    *("release", "opset", "ml", "ir", "how", "read_from", "kernels_release", "fallback_release"),
    *("lists_operators", "union_types", "local_functions", "note"),
)
ENTRY_KEYS = (
    *("versions", "opsets", "types", "types_not", "unasked", "input_rank", "constant_inputs", "attributes", "values"),
    *("outputs", "static_shape", "known_ranks", "notes", "since", "until"),
)
FAULT_KEYS = (
    *("versions", "opsets", "types", "input_rank", "attributes", "values", "present", "absent", "empty"),
    *("computed", "known", "scalars", "where", "captures", "states", "when", "result", "gives", "since", "until"),
)
