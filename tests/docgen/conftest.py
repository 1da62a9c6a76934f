"""Sites that the tests look at: the standard's, made once for each process, and that of a hostile domain."""

import pytest

from opset.docgen.site import pages
from opset.opsets.registry import default_registry


@pytest.fixture(scope="session")
def site():
    """The files of the standard's site, by path."""
    return dict(pages(default_registry()))


@pytest.fixture(scope="session")
def site_folder(site, tmp_path_factory):
    """A folder that holds the standard's site."""
    folder = tmp_path_factory.mktemp("site")
    for path, content in site.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(content)
    return folder
