"""The version of a model: a plain number, or a semantic version in the bits of one (IR specification, "Versioning").

    ModelVersion.parse("1.2.345").number == 0x0001000200000159
    str(ModelVersion.of(0x0001000200000159)) == "1.2.345"

The two highest of the eight bytes are MAJOR, the next two MINOR, the other four PATCH. If MAJOR and MINOR are 0, it is
a plain number: 0.0.7 is 7. The field of a model is an int64, so a MAJOR of 32768 or more makes it negative.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from opset.errors import Finding, UsageError, VersionError, quote

Level = Literal["NONE", "PATCH", "MINOR", "MAJOR"]
"""How much changed from one version of a model to the next."""
LEVELS: Final[tuple[Level, ...]] = ("NONE", "PATCH", "MINOR", "MAJOR")
"""The levels of change, in order."""

_ALL: Final = (1 << 64) - 1
_BITS: Final = {"MAJOR": 16, "MINOR": 16, "PATCH": 32}
_FORMS: Final = "a version is MAJOR.MINOR.PATCH such as 1.2.345, a number such as 7, or all 64 bits such as 0x10000"


class ModelVersion(NamedTuple):
    """A version of a model; a plain number is its `patch`. Versions compare as the numbers without a sign do."""

    major: int
    minor: int
    patch: int

    @classmethod
    def of(cls, number: int) -> ModelVersion:
        """Return the version in the field `model_version` of a model, which may be negative."""
        return cls(number >> 48 & 0xFFFF, number >> 32 & 0xFFFF, number & 0xFFFFFFFF)

    @classmethod
    def parse(cls, text: str) -> ModelVersion:
        """Return the version that a text names: "1.2.345", "7", or all bits as "0x0001000200000159".

        Raises:
            UsageError: U107 if the text is none of these, or a part of it is out of range.
        """
        if re.fullmatch("0[xX][0-9a-fA-F]{1,16}", text):
            return cls.of(int(text, 16))
        if not re.fullmatch(r"\d{1,20}(\.\d{1,20}\.\d{1,20})?", text, re.ASCII):
            raise _no_version_error(text, _FORMS)
        version = cls(*map(int, text.split("."))) if "." in text else cls(0, 0, int(text))
        for (name, bits), part in zip(_BITS.items(), version, strict=True):
            if part >> bits:
                what = name if "." in text else "a plain number"
                raise _no_version_error(text, f"{what} is at most {(1 << bits) - 1}")
        if "." in text and not version.is_semantic:
            why = "MAJOR or MINOR has to be greater than 0, or it would be the plain number"
            raise _no_version_error(text, f"{why} {version.patch}")
        return version

    @property
    def is_semantic(self) -> bool:
        """Whether it is MAJOR.MINOR.PATCH, and not a plain number."""
        return bool(self.major or self.minor)

    @property
    def number(self) -> int:
        """The number of the field `model_version`, an int64."""
        bits = self.major << 48 | self.minor << 32 | self.patch
        return bits - (1 << 64) if bits >> 63 else bits

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}" if self.is_semantic else str(self.patch)

    def after(self, level: Level) -> ModelVersion:
        """Return the lowest version that a model has after a change of a level; a plain number rises by one for any.

        A part that has its greatest value carries: 1.3.0 follows 1.2.4294967295.

        Raises:
            VersionError: V102 if all parts that could rise have their greatest value.
        """
        if level == "NONE":
            return self
        unit = {"MAJOR": 48, "MINOR": 32}.get(level, 0) if self.is_semantic else 0
        bits = ((self.number >> unit) + 1 << unit) & _ALL
        if not bits:
            why = f"the change is {level}, and MAJOR has its greatest value"
            help = "begin a new model: with another name or domain, and version 1.0.0"
            raise VersionError(Finding("V102", f"no model version follows {self}", why=why, help=help))
        return ModelVersion.of(bits)


def _no_version_error(text: str, why: str) -> UsageError:
    """Return the error U107 for a text that names no version."""
    return UsageError(Finding("U107", f"{quote(text)} is not a model version", why=why, help=_FORMS * (why != _FORMS)))
