"""The lock of released versions: a hash of each one's signature, so that an edit of one does not go unseen.

A released version never changes its meaning for a model; its prose, its family and its change block are not
locked. When versions are released, those that the lock does not hold yet are added to it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opset.errors import Finding, SchemaError
from opset.model.storage.writing import write_below
from opset.schemas.model import OpSchema, Parameter
from opset.schemas.names import domain_name
from opset.schemas.untrusted_files import file_bytes, parse_json

if TYPE_CHECKING:
    from opset.schemas.yaml.loader import Operator

LOCK_FILE = "lock.json"
MAX_LOCK = 16 << 20
MAX_SHOWN = 20
_SINCE = re.compile(r"[1-9][0-9]{0,9}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
Lock = dict[str, dict[str, dict[str, str]]]
"""Hashes by domain, operator and since_version."""


def signature_hash(schema: OpSchema) -> str:
    """Return the SHA-256, in hex, of the signature of an operator version; it changes if the signature is edited.

    The signature is name, inputs, outputs, attributes, types and flags. Other fields do not count, such as prose,
    conditions and function bodies.
    """

    def parameters(each: tuple[Parameter, ...]) -> list[Any]:
        """Return the fields of inputs or outputs that belong to the signature, as a list for each."""
        return [[p.name, p.type, p.option, p.homogeneous, p.min_arity] for p in each]

    signature = {
        "name": [schema.domain, schema.name, schema.since_version],
        "inputs": parameters(schema.inputs),
        "outputs": parameters(schema.outputs),
        "attributes": sorted([a.name, a.type, a.default, a.required] for a in schema.attributes.values()),
        "types": schema.types,
        "flags": [schema.deprecated, schema.experimental, schema.determinism],
    }
    text = json.dumps(signature, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_lock(folder: Path) -> Lock:
    """Return the signature hashes of released versions in a folder's lock.json, by domain, operator and since_version.

    The result is {} if there is no such file. Raises SchemaError S204 if the file cannot be read, or is malformed.
    """
    path = folder / LOCK_FILE
    try:
        data = file_bytes(path, MAX_LOCK)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise _reading_error(path, error) from None
    return parse_lock(data, path)


def parse_lock(data: bytes, path: Path | str) -> Lock:
    """Return the signature hashes in the bytes of a lock.json, by domain, operator and since_version.

    `path` is for messages. Raises SchemaError S204 if the bytes are no such file.
    """
    try:
        lock: Lock = parse_json(data)
        listed = [each for operators in lock.values() for versions in operators.values() for each in versions.items()]
        for since, digest in listed:
            if not (_SINCE.fullmatch(since) and _DIGEST.fullmatch(digest)):
                raise ValueError(f"{since[:MAX_SHOWN]!r} is no version with a SHA-256")
    except (ValueError, AttributeError, TypeError) as error:
        raise _reading_error(path, error) from None
    return lock


def _reading_error(path: Path | str, error: Exception) -> SchemaError:
    """Return SchemaError S204: the lock.json at `path` cannot be read, with the reason that an exception gives."""
    why = error.strerror if isinstance(error, OSError) else None
    return SchemaError(Finding("S204", "the lock file cannot be read", place=str(path), why=why or str(error)))


def lock_versions(folder: Path, operators: Iterable[Operator]) -> list[str]:
    """Add the signature hashes of all versions that a folder's lock.json lacks, and return these versions' names.

    A name is written "ai.onnx.Relu:14". Hashes that are in the file stay as they are. If no version is lacking, the
    file is not written, and the result is []. Raises SchemaError S204 if the file cannot be read, UsageError U104 if it
    cannot be written.
    """
    lock = read_lock(folder)
    added = []
    for operator in operators:
        versions = lock.setdefault(domain_name(operator.domain), {}).setdefault(operator.name, {})
        for schema in operator.schemas:
            if str(schema.since_version) not in versions:
                versions[str(schema.since_version)] = signature_hash(schema)
                added.append(f"{domain_name(operator.domain)}.{operator.name}:{schema.since_version}")
    ordered = {
        domain: {
            name: dict(sorted(each.items(), key=lambda item: int(item[0]))) for name, each in sorted(names.items())
        }
        for domain, names in sorted(lock.items())
    }
    if added:
        write_below(folder, {LOCK_FILE: f"{json.dumps(ordered, indent=1)}\n".encode()})
    return added
