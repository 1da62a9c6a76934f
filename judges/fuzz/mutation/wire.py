"""Mutations of bytes: of protobuf's records, with lengths that still agree, and of bytes whatever they are."""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass, field
from typing import Any

__all__ = ["mutate_bytes", "mutate_names", "mutate_records"]


@dataclass
class Record:
    """A field on the wire: its number, its wire type, and its bytes or the records in it."""

    number: int
    wire: int
    data: bytes = b""
    inner: list[Record] = field(default_factory=list)

    def encoded(self) -> bytes:
        content = b"".join(each.encoded() for each in self.inner) or self.data
        head = varint(self.number << 3 | self.wire)
        return head + (varint(len(content)) if self.wire == 2 else b"") + content


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 127) << shift
        position, shift = position + 1, shift + 7
        if byte < 128:
            return value, position


def records(data: bytes, descriptor: Any) -> list[Record]:
    """Return the records of a sound message; those of messages inside are read, too."""
    found, position = [], 0
    while position < len(data):
        tag, position = read_varint(data, position)
        number, wire, start = tag >> 3, tag & 7, position
        known = descriptor.fields_by_number.get(number)
        if wire == 2:
            length, start = read_varint(data, position)
            position = start + length
        else:
            position = read_varint(data, position)[1] if wire == 0 else position + (8 if wire == 1 else 4)
        record = Record(number, wire, data[start:position])
        if wire == 2 and known is not None and known.message_type is not None:
            record.inner = records(record.data, known.message_type)
        found.append(record)
    return found


def mutate_records(rng: random.Random, model: Any) -> tuple[bytes, str]:
    """Return a model's bytes with other wire types, numbers, values, repetitions or orders of records."""
    top = Record(0, 2, inner=records(model.SerializeToString(), model.DESCRIPTOR))
    done = []
    for _ in range(rng.choice((1, 1, 2, 4))):
        owners = [top]
        for owner in owners:  # grows while it is walked
            owners += [each for each in owner.inner if each.inner]
        siblings = rng.choice(owners).inner
        if not siblings:
            break
        index = rng.randrange(len(siblings))
        record = siblings[index]
        did = rng.choice(["wire", "number", "value", "again", "merge", "order", "raw", "unknown", "packed"])
        if did == "wire":
            siblings[index] = Record(record.number, rng.randrange(8), record.data)
        elif did == "number":
            record.number = rng.choice((0, 1, record.number + 1, record.number ^ 1, 100, 536870911, 2**29))
        elif did == "value":
            sizes = (0, 1, 127, 2**31, 2**32 - 1, 2**63, 2**64 - 1)
            siblings[index] = Record(record.number, 0, rng.choice([varint(each) for each in sizes] + [b"\xff" * 11]))
        elif did == "again":
            siblings += [record] * rng.choice((1, 1, 3))
        elif did == "merge":
            siblings.append(Record(record.number, 2, inner=copy.deepcopy(rng.choice(owners).inner)))
        elif did == "order":
            rng.shuffle(siblings)
        elif did == "raw":
            siblings[index] = Record(record.number, 2, rng.randbytes(rng.choice((0, 1, 4, 40))))
        elif did == "unknown":
            number, wire = rng.choice((90, 1000, 536870911)), rng.choice((0, 2, 3, 4, 5))
            siblings.insert(index, Record(number, wire, b"\x08\x01\x02\x03"))
        else:
            siblings.insert(index, Record(record.number, 2, record.data * 3))
        done.append(f"{did} of field {record.number}")
    return b"".join(each.encoded() for each in top.inner), "records: " + ", ".join(done)


def mutate_bytes(rng: random.Random, data: bytes, other: bytes) -> tuple[bytes, str]:
    """Return bytes flipped, cut, inserted, repeated or joined with those of another model."""
    changed = bytearray(data)
    done = []
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(len(changed) + 1)
        span = rng.choice((1, 1, 2, 4, 16, 100))
        did = rng.choice(["flip", "set", "cut", "insert", "repeat", "splice", "end", "length"])
        if did == "flip" and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif did == "set":
            changed[at : at + 1] = bytes([rng.choice((0, 1, 127, 128, 255))])
        elif did == "cut":
            del changed[at : at + span]
        elif did == "insert":
            changed[at:at] = rng.randbytes(span)
        elif did == "repeat":
            changed[at:at] = changed[at : at + span] * rng.choice((1, 2, 10))
        elif did == "splice":
            start = rng.randrange(len(other) + 1)
            changed[at : at + span] = other[start : start + rng.choice((span, len(other)))]
        elif did == "end":
            del changed[at:]
        elif did == "length" and at < len(changed):
            changed[at] = (changed[at] + rng.choice((-1, 1))) % 256
        done.append(f"{did} at {at}")
    return bytes(changed), "bytes: " + ", ".join(done)


def mutate_names(rng: random.Random, data: bytes, names: list[str]) -> tuple[bytes, str]:
    """Return bytes in which a name that occurs is not valid UTF-8 in some of its occurrences."""
    encoded = [each.encode() for each in names if each]
    name = rng.choice(encoded) if encoded else data[:1]
    odd = rng.choice((b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf8"))
    new = (odd * len(name))[: len(name)]
    return data.replace(name, new, rng.choice((1, 1, 2, -1))), f"{name[:40]!r} is {new[:40]!r}"
