"""Where pages are: paths and anchors that any file system and any link holds, made of names that may be anything."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable

from opset.opsets.registry import Registry
from opset.schemas.names import normalised, shown

LONGEST = 80
"""Characters of a file's name before its suffix."""
TOP = frozenset(("index", "api", "releases", "assets", "errors", "families", "guides", "opsets", "sets", "types"))
"""Names that are those of other pages and folders of the site."""
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_PART = re.compile(r"[A-Za-z0-9_~]([A-Za-z0-9_.~-]*[A-Za-z0-9_~-])?")
_OTHER = re.compile(r"[^A-Za-z0-9_.-]")


def slug(name: str) -> str:
    """Return a name as part of a path or an anchor: other characters than letters, digits, "_", "." and "-" in hex."""
    plain = _OTHER.sub(lambda found: f"~{ord(found[0]):x}", name)
    if not plain.strip(".") or plain[0] in ".-" or plain.endswith(".") or _DEVICES.fullmatch(plain):
        plain = f"_{plain}_"
    if len(plain) > LONGEST:
        plain = f"{plain[: LONGEST - 9]}-{zlib.crc32(name.encode('utf-8', 'surrogatepass')):08x}"
    return plain


def is_harmless(path: str) -> bool:
    """Whether a relative path is made of slugs with suffixes alone: it stays below its folder on any system."""
    return all(
        _PART.fullmatch(part) is not None and len(part) <= LONGEST + 20 and not _DEVICES.fullmatch(part)
        for part in path.split("/")
    )


def slugs(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Return a slug for each name: two never differ in upper and lower case alone, and none is one of `taken`."""
    used = {each.lower() for each in taken}
    found: dict[str, str] = {}
    for name in names:
        base = plain = slug(name)
        number = 1
        while plain.lower() in used:
            number += 1
            plain = f"{base}-{number}"
        used.add(plain.lower())
        found[name] = plain
    return found


class Paths:
    """The paths of a site's pages, relative to its root, for the operators of some domains of a registry."""

    def __init__(self, registry: Registry, domains: Iterable[str]) -> None:
        self.domains = [*domains]
        self._folders = slugs(map(shown, self.domains), TOP)
        self._operators = {domain: slugs(registry.operators(domain), ("index",)) for domain in self.domains}
        families = {
            registry.versions(name, domain)[-1].family for domain in self.domains for name in registry.operators(domain)
        }
        self._families = slugs(sorted(families), ("index",))

    def domain(self, domain: str) -> str:
        """Return the path of the page of a domain."""
        return f"{self._folders[shown(normalised(domain))]}/index.html"

    def operator(self, name: str, domain: str) -> str:
        """Return the path of the page of an operator, "" where it has none."""
        found = self._operators.get(normalised(domain), {}).get(name)
        return f"{self._folders[shown(normalised(domain))]}/{found}.html" if found is not None else ""

    def opset(self, domain: str, version: int) -> str:
        """Return the path of the page of a version of an operator set."""
        return f"opsets/{self._folders[shown(normalised(domain))]}-{version}.html"

    def family(self, family: str) -> str:
        """Return the path of the page of a family."""
        return f"families/{self._families[family]}.html"

    @staticmethod
    def element(name: str) -> str:
        """Return the path of the page of an element type."""
        return f"types/{name}.html"

    @staticmethod
    def error(code: str) -> str:
        """Return the path of the page of an error code."""
        return f"errors/{code}.html"

    @staticmethod
    def guide(name: str) -> str:
        """Return the path of the page of a guide."""
        return f"guides/{slug(name)}.html"
