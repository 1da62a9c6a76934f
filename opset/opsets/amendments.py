"""Changes that releases of onnx made to released versions of operators, and the versions as a release has them.

Found by comparing what each release from 1.2.3 to 1.23.0 declares: names, arities, types, attributes. Before 1.2,
operator sets were drafts. Corrections of texts and function bodies are not listed: they change no meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from opset.errors import listing
from opset.opsets.releases import RELEASES, release
from opset.schemas.model import OpSchema


class Amendment(NamedTuple):
    """A change that a release made to a version of an operator of the default domain.

    `gained` and `lost` are element types by type parameter. `late`: the version itself came into an operator set that
    an earlier release had; `optional` are attributes that were required before.
    """

    release: str
    since: int
    late: bool = False
    gained: Mapping[str, tuple[str, ...]] = {}
    lost: Mapping[str, tuple[str, ...]] = {}
    optional: tuple[str, ...] = ()
    withdrawn: bool = False

    @property
    def text(self) -> str:
        """The change in words: "onnx 1.3 added bool to T"."""
        did = [f"added {listing(types, len(types))} to {name}" for name, types in self.gained.items()]
        did += [f"removed {listing(types, len(types))} from {name}" for name, types in self.lost.items()]
        did += [f"made '{name}' optional" for name in self.optional]
        did += ["withdrew it"] if self.withdrawn else []
        if self.late:
            first = next(each.name for each in RELEASES if each.opset >= self.since)
            did.append(f"added it to opset {self.since}, which onnx {first} had already released")
        return f"onnx {self.release} {' and '.join(did)}"


_COMPLEX = ("complex64", "complex128")
_INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_OTHERS = (*_INTS, "bool", "string", *_COMPLEX)
_NEW_IN_SIZES = ("uint32", "uint64", "string", *_COMPLEX)


def _gain_types(number: str, since: int, name: str, *types: str) -> tuple[Amendment, ...]:
    """Return a tuple of one amendment: release `number` added element types to the type parameter `name`."""
    return (Amendment(number, since, gained={name: types}),)


# By operator, oldest first.
AMENDMENTS: Mapping[str, tuple[Amendment, ...]] = {
    "Attention": (Amendment("1.23.0", 25, late=True),),
    "Concat": _gain_types("1.3", 4, "T", *_COMPLEX),
    "DepthToSpace": _gain_types("1.3", 1, "T", *_OTHERS),
    "Erf": (Amendment("1.20.0", 13, lost={"T": _INTS}),),
    "Gather": _gain_types("1.3", 1, "T", *_COMPLEX),
    "GlobalLpPool": (
        *_gain_types("1.17.0", 2, "T", "bfloat16"),
        Amendment("1.18.0", 2, lost={"T": ("bfloat16",)}),
        *_gain_types("1.18.0", 22, "T", "bfloat16"),
    ),
    "GroupNormalization": (Amendment("1.18.0", 18, withdrawn=True),),
    "Identity": _gain_types("1.3", 1, "T", *_COMPLEX),
    "If": _gain_types("1.3", 1, "V", *_COMPLEX),
    "Loop": _gain_types("1.3", 1, "V", *_COMPLEX),
    "RandomNormalLike": _gain_types("1.3", 1, "T1", *_COMPLEX),
    "RandomUniformLike": _gain_types("1.3", 1, "T1", *_COMPLEX),
    "Reshape": _gain_types("1.3", 5, "T", *_OTHERS),
    "Shape": _gain_types("1.3", 1, "T", *_NEW_IN_SIZES),
    "Size": _gain_types("1.3", 1, "T", *_NEW_IN_SIZES),
    "Slice": _gain_types("1.3", 1, "T", *_OTHERS),
    "SpaceToDepth": _gain_types("1.3", 1, "T", *_OTHERS),
    "Split": _gain_types("1.3", 2, "T", *_OTHERS),
    "Squeeze": (Amendment("1.3", 1, gained={"T": _COMPLEX}, optional=("axes",)),),
    "Tile": _gain_types("1.3", 6, "T", *_OTHERS),
    "Transpose": _gain_types("1.3", 1, "T", *_OTHERS),
    "Unsqueeze": _gain_types("1.3", 1, "T", *_COMPLEX),
    "Upsample": _gain_types("1.3", 7, "T", *_COMPLEX),
}


def amendments_of(schema: OpSchema) -> tuple[Amendment, ...]:
    """Return the amendments of a version of an operator, oldest first; none if no release changed it."""
    amendments = AMENDMENTS.get(schema.name, ()) if not schema.domain else ()
    return tuple(amendment for amendment in amendments if amendment.since == schema.since_version)


def operators_amended_after(name: str) -> frozenset[str]:
    """Return the names of the standard's operators of which a version was amended after the release `name`."""
    return frozenset(operator for operator in AMENDMENTS if any(_amendments_after(operator, name)))


def _amendments_after(operator: str, name: str) -> Iterator[Amendment]:
    """Yield an operator's amendments that came after a release, newest first."""
    wanted = _release_index(name)
    yield from (
        amendment for amendment in reversed(AMENDMENTS.get(operator, ())) if _release_index(amendment.release) > wanted
    )


def schema_of_release(schema: OpSchema, name: str) -> OpSchema | None:
    """Return a version of an operator as a release of onnx has it.

    Returns:
        None if the version came into its operator set after that release.
    """
    if schema.domain:
        return schema
    for amendment in _amendments_after(schema.name, name):
        if amendment.since != schema.since_version:
            continue
        if amendment.late:
            return None
        types = dict(schema.types)
        for parameter, gained in amendment.gained.items():
            types[parameter] = tuple(type_ for type_ in types[parameter] if type_ not in _tensor_types(gained))
        for parameter, lost in amendment.lost.items():
            types[parameter] += _tensor_types(lost)
        attributes = {
            key: attribute._replace(required=True) if key in amendment.optional else attribute
            for key, attribute in schema.attributes.items()
        }
        schema = replace(
            schema, types=types, attributes=attributes, deprecated=schema.deprecated and not amendment.withdrawn
        )
    return schema


@cache
def _release_index(name: str) -> int:
    """Return the position of a release in RELEASES."""
    return RELEASES.index(release(name))


def _tensor_types(elements: tuple[str, ...]) -> tuple[str, ...]:
    """Return the types of tensors of these elements."""
    return tuple(f"tensor({element})" for element in elements)


def is_ambiguous(schema: OpSchema, opset: int) -> bool:
    """Whether releases of onnx differ at an opset: some have this version, earlier ones still the version before."""
    late = [amendment for amendment in amendments_of(schema) if amendment.late]
    return any(opset < release(amendment.release).opset for amendment in late)


def schema_as_read(schema: OpSchema) -> OpSchema:
    """Return a version of an operator with all types that it had in any release, so that models of each can be read."""
    types = dict(schema.types)
    for amendment in amendments_of(schema):
        for name, lost in amendment.lost.items():
            types[name] += _tensor_types(lost)
    return schema if types == schema.types else replace(schema, types=types)
