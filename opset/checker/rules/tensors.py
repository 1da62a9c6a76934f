"""Rules about tensors: their types and dims, the fields and files that hold their values, and the values' forms.

Weights are not read: sizes follow from the lengths of fields. Values are looked at if a rule is about them, in tensors
of at most 64 KiB.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod
from typing import Any, Final

from opset.checker.table import CHECKER, WARNING, CheckContext, StoredTensor
from opset.errors import Finding, ModelError, listing, quote, safe_text
from opset.model.elements import BOOL, ELEMENTS, STRING, Element
from opset.model.storage import external
from opset.model.storage.encoding import element_count, tensor_error
from opset.model.storage.parts import ModelParts
from opset.model.storage.remote import RemoteSource
from opset.model.storage.tensor import SMALL, held_entries, raw_range, whole_tensor
from opset.model.storage.wire import Segment

_RAW: Final = "raw_data"
_RECOVERED: Final = ("M201", "M202", "M203", "M204", "M205", "M206", "M207", "M209")
_OF_FILES: Final = frozenset({"M201", "M202", "M203", "M209"})
"""Codes that are about a file as a whole, and not about the tensors that refer to it."""
_PAGE: Final = 4096
_USUAL_RANK: Final = 8
_DIGEST: Final = re.compile(r"[0-9a-fA-F]{40}")
_ROOT: Final = re.compile(r"/|\\|[A-Za-z]:[/\\]")
_EXPORT: Final = "export the model again: the dims or the data are wrong"


@CHECKER.rule("G501 G502 G503 G504 G509 G511 G512 G513 M201 M202 M203 M204 M205 M206 M207 M209", StoredTensor)
def check_tensor_data(stored: StoredTensor, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each way in which a tensor's type, dims and data do not fit together.

    - G501: it states no element type, or none that exists;
    - G502, G503: values are in several fields, or in a field of another type;
    - G504: an external tensor holds values as well;
    - G509: a segment has no bounds, or lies outside the dims;
    - G511, G512: the checksum is malformed, or the file has another one;
    - G513: the location of a file is absolute;
    - M201 to M207, M209: external data cannot be used, or the size of the data does not fit.
    """
    tensor = stored.proto
    element = ELEMENTS.get(tensor.data_type)
    if element is not None and _is_plain(tensor, element):
        return
    if element is None:
        yield _element_type_fault(stored)
    try:
        held = held_entries(context.model, tensor)
        if external.is_external(tensor):
            yield from _external_faults(stored, context, [*held])
        else:
            yield from _field_faults(stored, element, [*held])
            count = element_count(tensor)
            if tensor.HasField("segment"):
                yield from _segment_faults(stored, count)
                count = tensor.segment.end - tensor.segment.begin
            if element is not None and count >= 0:
                yield from _size_faults(stored, element, count, held)
    except ModelError as error:
        yield from _at(stored, error)


def _is_plain(tensor: Any, element: Element) -> bool:
    """Return whether a tensor has no fault for sure: raw_data of the right size in the message, and nothing else.

    Tensors of other forms may be right, too.
    """
    raw, dims = tensor.raw_data, tensor.dims[:]
    return (
        bool(raw and element.bits)
        and len(dims) <= _USUAL_RANK
        and min(dims, default=0) >= 0
        and len(raw) == -(-prod(dims) * element.bits // 8)
        and not (tensor.float_data or tensor.int32_data or tensor.int64_data or tensor.double_data)
        and not (tensor.uint64_data or tensor.string_data or tensor.opset_payload)
        and not (tensor.data_location or tensor.HasField("segment"))
    )


def _at(stored: StoredTensor, error: ModelError) -> Iterator[Finding]:
    """Yield the findings of an error about a tensor, at the tensor's place.

    The error is raised again if one of its codes is not in _RECOVERED.
    """
    for finding in error.findings:
        if finding.code not in _RECOVERED:
            raise error
        yield finding._replace(place=stored.place)


def _element_type_fault(stored: StoredTensor) -> Finding:
    """Return the finding for a tensor without an element type, or of one that does not exist."""
    number = stored.proto.data_type
    message = f"the element type {number} does not exist" if number else "the tensor states no element type"
    why = "without it the bytes of the data have no meaning"
    return Finding("G501", message, stored.place, why, "set data_type to the TensorProto.DataType of the values")


def _field_faults(stored: StoredTensor, element: Element | None, fields: list[str]) -> Iterator[Finding]:
    """Yield a finding if values are in several fields, and one for each field that is not for their type.

    `fields` are the fields that hold values. `element` is the element type; if it is None, not known, any field will
    do.
    """
    if len(fields) > 1:
        message = f"the tensor holds values in {listing(fields)}"
        yield Finding("G502", message, stored.place, "readers take them from different fields", "keep one of them")
    for field in fields if element else ():
        if element and field != element.field and (field != _RAW or element.number == STRING):
            message = f"values of type {element.name} are in {field}"
            alone = "" if element.number == STRING else " or raw_data"
            why = f"they belong in {element.field}{alone}"
            yield Finding("G503", message, stored.place, why, f"write them to {element.field}{alone}, or set data_type")


def _segment_faults(stored: StoredTensor, count: int) -> Iterator[Finding]:
    """Yield a finding if a bound of the tensor's segment is missing, or lies outside of its `count` elements."""
    segment = stored.proto.segment
    missing = [name for name in ("begin", "end") if not segment.HasField(name)]
    if missing:
        why = "begin and end say which of the tensor's elements are here"
        message = f"the segment has no {' and no '.join(missing)}"
        yield Finding("G509", message, stored.place, why, "set both, or remove the segment")
    elif not 0 <= segment.begin <= segment.end <= count:
        message = f"the segment from {segment.begin} to {segment.end} lies outside of the tensor"
        yield Finding("G509", message, stored.place, f"by its dims it has {count} elements", "correct the bounds")


def _size_faults(
    stored: StoredTensor, element: Element, count: int, held: dict[str, tuple[int, int]]
) -> Iterator[Finding]:
    """Yield a finding M206 if the one field that holds values has too few or too many for `count` elements.

    `held` has the least and the greatest possible number of entries by field; nothing is yielded for several fields.
    """
    if len(held) > 1:
        return
    field, (least, most) = next(iter(held.items()), (element.field, (0, 0)))
    if field not in (element.field, _RAW) or (field == _RAW and not element.bits):
        return
    asked = -(-count * element.bits // 8) if field == _RAW else _entries(element, count)
    if not least <= asked <= most:
        unit = "bytes" if field == _RAW else "entries"
        found = f"{least}" if least == most else f"{least} to {most}"
        why = f"{field} has {found} {unit}, and {count} elements of type {element.name} are {asked}"
        yield tensor_error(stored.proto, why).findings[0]._replace(place=stored.place, help=_EXPORT)


def _entries(element: Element, count: int) -> int:
    """Return how many entries `count` elements of a type take in its field: two for a complex number.

    Elements of 2 and 4 bits are packed, so that an entry has 8 bits.
    """
    if element.name.startswith("complex"):
        return 2 * count
    return -(-count * element.bits // 8) if element.bits in (2, 4) else count


def _external_faults(stored: StoredTensor, context: CheckContext, fields: list[str]) -> Iterator[Finding]:
    """Yield a finding for each fault of a tensor's external data.

    A fault of a whole file is reported once for all its tensors. `fields` are the fields that hold values in the model.
    """
    tensor, files = stored.proto, context.data_files
    if fields:
        message = f"the tensor is external, and holds values in {listing(fields)}"
        why = "readers take them from the file or from the model"
        yield Finding("G504", message, stored.place, why, "clear the field, or data_location and external_data")
    absolute = any(entry.key == "location" and _is_absolute(entry.value) for entry in tensor.external_data)
    if absolute:
        why = "locations are relative to the model's folder, so that both can be moved together"
        help = "write the path from the model's folder to the file"
        yield Finding("G513", "the location of external data is absolute", stored.place, why, help)
    segment, faults = external.locate(files, tensor)
    for fault in faults:
        if absolute and fault.code == "M201":
            continue
        if files is not None and fault.code in _OF_FILES:
            location = external.reference(tensor).location
            if location in files.reported:
                continue
            files.reported.add(location)
        if fault.code != "M206" or tensor.data_type in ELEMENTS:  # else G501 says so
            yield fault._replace(place=stored.place)
    yield from _checksum_faults(stored, context, segment)


def _is_absolute(location: Any) -> bool:
    """Return whether a path begins at a root, on any system: "/", a backslash, or a drive letter."""
    return isinstance(location, str) and _ROOT.match(location) is not None


def _checksum_faults(stored: StoredTensor, context: CheckContext, segment: Segment | None) -> Iterator[Finding]:
    """Yield a finding if the stated checksum is malformed, or differs from the digest of the file.

    The file is read only if `verify_checksums` is set. `segment` is the tensor's part of the file, None if there is no
    file. Nothing is yielded without a checksum.
    """
    stated = next((entry.value for entry in stored.proto.external_data if entry.key == "checksum"), None)
    if stated is None:
        return
    if not isinstance(stated, str) or not _DIGEST.fullmatch(stated):
        message = f"the checksum {quote(stated)} is no SHA-1 digest"
        why = "a SHA-1 digest has 40 hexadecimal digits"
        yield Finding("G511", message, stored.place, why, "write the digest of the whole file, or remove the entry")
    elif context.options.verify_checksums and context.data_files is not None and segment is not None:
        file = segment.source
        assert isinstance(file, external.ExternalFile | RemoteSource)
        found = context.data_files.checksum(file)
        if found != stated.lower():
            message = "the file of external data does not have its checksum"
            why = f"the model states {stated.lower()}, and the file has {found}"
            help = "copy or download the file again; it was changed, or belongs to another model"
            yield Finding("G512", message, stored.place, why, help, file.name)


@CHECKER.rule("G505 G506 G507 G508", StoredTensor)
def check_tensor_values(stored: StoredTensor, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding if values do not have the form that their type asks for.

    - G505: a string is not UTF-8, begins with a byte order mark, or ends with NUL;
    - G506: a boolean is neither 0 nor 1;
    - G507: a number is beyond the range of the element type;
    - G508: bits of raw_data that belong to no element are set.

    External tensors are not read, and numbers only in small tensors.
    """
    tensor = stored.proto
    if tensor.data_type not in _VALUES_CHECKED or external.is_external(tensor):
        return
    element = ELEMENTS[tensor.data_type]
    try:
        if element.number == STRING:
            yield from _string_faults(stored)
        elif element.bits in (2, 6):
            yield from _unused_bits_faults(stored, element, context.model)
        elif element.number == BOOL and _raw_bytes(context.model, tensor).translate(None, b"\0\1"):
            yield _bool_fault(stored)
        whole = whole_tensor(context.model, tensor, SMALL)
    except ModelError as error:
        yield from _at(stored, error)
        return
    numbers = getattr(whole, element.field) if whole is not None and element.number != STRING else ()
    if 0 < len(numbers) <= SMALL:
        low, high = min(numbers), max(numbers)
        least, most = _number_range(element)
        if low < least or high > most:
            if element.number == BOOL:
                yield _bool_fault(stored)
            else:
                wrong = low if low < least else high
                message = f"the number {wrong} does not fit the element type {element.name}"
                why = f"{element.field} holds numbers from {least} to {most} for it"
                yield Finding("G507", message, stored.place, why, "correct the values, or data_type")


_VALUES_CHECKED: Final = frozenset(
    number
    for number, element in ELEMENTS.items()
    if number == STRING or (element.field in ("int32_data", "uint64_data") and element.name not in ("int32", "uint64"))
)
"""Element types whose values have a form to be checked."""


def _number_range(element: Element) -> tuple[int, int]:
    """Return the least and the greatest number that the field of a type may hold, such as (0, 1) for bool.

    Small floats are in the field by their bits, as unsigned integers.
    """
    if element.number == BOOL:
        return 0, 1
    if element.bits in (2, 4):  # a byte of packed elements, which some writers take as a signed one
        return -128, 255
    if element.name.startswith("int"):
        return -(1 << element.bits - 1), (1 << element.bits - 1) - 1
    return 0, (1 << element.bits) - 1


def _raw_bytes(model: ModelParts, tensor: Any) -> bytes:
    """Return the raw_data of a tensor inside the model, b"" if it has more than SMALL bytes."""
    segment = raw_range(model, tensor)
    if segment is not None:
        return segment.read() if segment.size <= SMALL else b""
    data: bytes = tensor.raw_data
    return data if len(data) <= SMALL else b""


def _bool_fault(stored: StoredTensor) -> Finding:
    """Return the finding for a boolean that is neither 0 nor 1."""
    why = "readers disagree on what another number means"
    return Finding("G506", "a boolean is neither 0 nor 1", stored.place, why, "write 1 for true and 0 for false")


def _string_faults(stored: StoredTensor) -> Iterator[Finding]:
    """Yield a finding for the first string of a tensor that is not UTF-8, begins with a BOM, or ends with NUL."""
    for index, value in enumerate(stored.proto.string_data):
        try:
            text = value.decode()
        except UnicodeDecodeError as error:
            fault = f"is not valid UTF-8: {error.reason}"
        else:
            if text.startswith("\ufeff"):
                fault = "begins with a byte order mark"
            elif text.endswith("\0"):
                fault = "ends with a NUL character"
            else:
                continue
        message = f"the string {index} of the tensor {fault}"
        why = "strings are UTF-8, without byte order mark and without NUL at their end"
        yield Finding("G505", message, stored.place, why, "write the text as UTF-8 alone")
        return


def _unused_bits_faults(stored: StoredTensor, element: Element, model: ModelParts) -> Iterator[Finding]:
    """Yield a finding if bits behind the last element of a packed tensor, in the last byte of its raw_data, are set."""
    used = element_count(stored.proto) * element.bits % 8
    segment = raw_range(model, stored.proto)
    data = stored.proto.raw_data if segment is None else b""
    if segment is not None and segment.size:
        data = Segment(segment.source, segment.end - 1, segment.end).read()
    if used and data and data[-1] >> used:
        message = "bits behind the last element of the tensor are set"
        why = f"elements of type {element.name} are packed, and the bits that are left of the last byte are zero"
        yield Finding("G508", message, stored.place, why, "clear these bits")


@CHECKER.rule("W501 W502 W503", StoredTensor, severity=WARNING)
def check_tensor_references(stored: StoredTensor, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each part of a tensor that readers ignore, or take differently.

    - W501: it is a segment of a greater tensor;
    - W502: it has entries of external data, and is not external;
    - W503: keys of external data are unknown, or stand twice.
    """
    tensor = stored.proto
    if tensor.HasField("segment"):
        why = "no format is defined for the other segments, and readers find only this one"
        help = "put the whole tensor into one message, or into a file"
        yield Finding("W501", "the tensor is a segment of a greater one", stored.place, why, help)
    if not tensor.external_data:
        return
    if not external.is_external(tensor):
        why = "data_location is not EXTERNAL, so the data is looked for in the model"
        help = "set data_location to EXTERNAL, or remove the entries"
        yield Finding("W502", "the tensor has external_data, and is not external", stored.place, why, help)
    elif odd := external.odd_keys_of(tensor):
        help = "keep location, offset, length and checksum, once each"
        if any(entry.key == "basepath" for entry in tensor.external_data):
            help = f"{help}; basepath is left from a load by the onnx package"
        yield Finding("W503", external.ODD_KEYS, stored.place, odd, help)


@CHECKER.rule("W504", StoredTensor, severity=WARNING, optional=True)
def check_offsets(stored: StoredTensor, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding if external data does not begin at a multiple of 4096 bytes, the size of a page."""
    if external.is_external(stored.proto):
        try:
            offset = external.reference(stored.proto).offset
        except ModelError:
            return
        if offset % _PAGE:
            message = f"the offset {offset} of external data is no multiple of {_PAGE}"
            why = "only such parts of a file can be mapped into memory"
            yield Finding("W504", message, stored.place, why, "write the file again: save(…, external='move')")


@CHECKER.rule("W505", CheckContext, severity=WARNING)
def check_files_reachable(context: CheckContext) -> Iterator[Finding]:
    """Yield a warning if the model has external data and did not come from a path, so that no file was checked."""
    if context.model.folder is None and (locations := external.locations(context.proto)):
        message = f"the files of external data were not checked: {listing([*map(safe_text, locations)], 3)}"
        why = "their paths begin at the model's folder, and the model did not come from a path"
        yield Finding("W505", message, "model", why, "check the model by its path")
