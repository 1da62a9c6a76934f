"""Every kind of section of a page, its words, order and links, as small domains show them; golden/ has the files."""

from tests.docgen.golden.__main__ import EXPECTED, texts


def test_pages_of_small_domains_are_as_they_were_read():
    written = {path.relative_to(EXPECTED).as_posix(): path for path in EXPECTED.rglob("*") if path.is_file()}
    assert written.keys() == texts().keys()
    for path, text in texts().items():
        assert text.splitlines() == written[path].read_text(encoding="utf-8").splitlines(), path
