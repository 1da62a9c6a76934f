"""Sites that the tests look at: the standard's, made once for each process, and that of a hostile domain."""

import re

import pytest

from opset.docgen.site import pages
from opset.opsets.registry import default_registry

TAG = re.compile(rb"<[a-z][^<>]*>")
VALUE = re.compile(rb'="[^"]*"|=([^\s"<>]+)')


def quoted(page):
    """A page with quotes around the value of every attribute: pages leave out those that HTML does not need."""
    return TAG.sub(lambda tag: VALUE.sub(lambda each: b'="%b"' % each[1] if each[1] else each[0], tag[0]), page)


@pytest.fixture(scope="session")
def progress():
    """What was reported while the standard's site was made: how many pages were done, and of how many."""
    return []


@pytest.fixture(scope="session")
def written(progress):
    """The files of the standard's site, by path."""
    return dict(pages(default_registry(), progress=lambda done, total: progress.append((done, total))))


@pytest.fixture(scope="session")
def site(written):
    """The files of the standard's site, by path; pages have quotes around all values."""
    return {path: quoted(content) if path.endswith(".html") else content for path, content in written.items()}


@pytest.fixture(scope="session")
def site_folder(written, tmp_path_factory):
    """A folder that holds the standard's site."""
    folder = tmp_path_factory.mktemp("site")
    for path, content in written.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(content)
    return folder
