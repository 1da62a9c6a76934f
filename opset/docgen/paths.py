"""The paths of a site's pages."""

from __future__ import annotations

from collections.abc import Iterable

from opset.file_names import slug, unique_slugs
from opset.opsets.registry import Registry
from opset.schemas.names import domain_name, normalize_domain

TOP = frozenset(
    (
        *("index", "api", "releases", "assets", "tags", "verbs"),
        *("errors", "families", "guides", "opsets", "runtimes", "sets", "types"),
    )
)
"""Names of other pages and folders of the site."""


def tag_anchor(tag: str) -> str:
    """Return the HTML id that a tag beside an operator has on the page of tags.

    Tags that end in "unknown", such as "signature unknown", have the id of "unknown".
    """
    return slug(tag.rpartition(" ")[2])


class Paths:
    """The paths of a site's pages, relative to its root, for the operators of some domains."""

    def __init__(self, registry: Registry, domains: Iterable[str]) -> None:
        """Choose a folder for each domain, and a file for each operator and each family; no two have the same path."""
        self.domains = [*domains]
        self._folders = unique_slugs(map(domain_name, self.domains), TOP)
        self._operators = {domain: unique_slugs(registry.operators(domain), ("index",)) for domain in self.domains}
        names = ((name, domain) for domain in self.domains for name in registry.operators(domain))
        families = {registry.versions(*each)[-1].family for each in names}
        self._families = unique_slugs(sorted(families), ("index",))

    def domain(self, domain: str) -> str:
        """Return the path of the page of a domain: "ai.onnx/index.html".

        Raises KeyError if the site does not have the domain.
        """
        return f"{self._folders[domain_name(normalize_domain(domain))]}/index.html"

    def operator(self, name: str, domain: str) -> str:
        """Return the path of the page of an operator, "ai.onnx/Softmax.html"; "" if the site lacks the operator."""
        file = self._operators.get(normalize_domain(domain), {}).get(name)
        return f"{self._folders[domain_name(normalize_domain(domain))]}/{file}.html" if file is not None else ""

    def opset(self, domain: str, version: int) -> str:
        """Return the path of the page of a version of an operator set: "opsets/ai.onnx-13.html".

        Raises KeyError if the site does not have the domain. The version is not checked.
        """
        return f"opsets/{self._folders[domain_name(normalize_domain(domain))]}-{version}.html"

    def family(self, family: str) -> str:
        """Return the path of the page of a family: "families/NAME.html".

        Raises KeyError if no operator of the site is in the family.
        """
        return f"families/{self._families[family]}.html"

    @staticmethod
    def element(name: str) -> str:
        """Return the path that the page of an element type has: "types/float.html". The name is not checked."""
        return f"types/{name}.html"

    @staticmethod
    def guide(name: str) -> str:
        """Return the path that the page of a guide has: "guides/NAME.html". The name is not checked."""
        return f"guides/{slug(name)}.html"

    @staticmethod
    def release(name: str) -> str:
        """Return the path that the page of a release of onnx has: "releases/NAME.html". The name is not checked."""
        return f"releases/{slug(name)}.html"

    @staticmethod
    def verb(name: str) -> str:
        """Return the path that the page of a verb has: "verbs/convert.html". The name is not checked."""
        return f"verbs/{slug(name)}.html"

    @staticmethod
    def runtime(name: str) -> str:
        """Return the path that the page of a runtime has: "runtimes/NAME.html". The name is not checked."""
        return f"runtimes/{slug(name)}.html"
