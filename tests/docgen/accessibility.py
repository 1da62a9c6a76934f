"""What pages need so that everybody can read them, as far as it can be seen without a browser."""

import re
from itertools import pairwise

import html5lib

HEADING = re.compile(r"h[1-6]")


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    least, most = sorted((luminance(one), luminance(other)))
    return (most + 0.05) / (least + 0.05)


def parse(page):
    """Return the root of a page, which has to be valid HTML."""
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)


def text_of(element):
    return " ".join("".join(element.itertext()).split())


def local_name(element):
    return str(element.tag).rpartition("}")[2]


def faults(root):
    """Return what keeps a page from being read by all: landmarks, headings, names of regions and pictures, tables."""
    found = []
    elements = [each for each in root.iter() if isinstance(each.tag, str)]
    parents = {child: parent for parent in elements for child in parent}
    named = [each.get("id") for each in elements if each.get("id")]
    found += [f"two elements have the id {each}" for each in {*named} if named.count(each) > 1]
    found += ["the page states no language"] if not root.get("lang") else []
    found += ["there is not one main"] if sum(local_name(each) == "main" for each in elements) != 1 else []
    found += ["there is not one h1"] if sum(local_name(each) == "h1" for each in elements) != 1 else []
    levels = [int(local_name(each)[1]) for each in elements if HEADING.fullmatch(local_name(each))]
    found += [f"h{low} is followed by h{high}" for low, high in pairwise(levels) if high > low + 1]
    regions = [each for each in elements if each.get("role") == "region" or local_name(each) == "section"]
    names = []
    for each in regions:
        label = each.get("aria-labelledby")
        name = each.get("aria-label") or next((text_of(e) for e in elements if label and e.get("id") == label), "")
        names.append(name)
    found += [f"a region has no name of its own: {each}" for each in {*names} if not each or names.count(each) > 1]
    for each in elements:
        kind = local_name(each)
        if kind == "table":
            heads = [cell for cell in each.iter() if local_name(cell) == "th"]
            found += ["a cell th has no scope"] if any(not cell.get("scope") for cell in heads) else []
            found += ["a table has no caption"] if local_name(each[0]) != "caption" else []
            found += ["a table cannot be scrolled"] if parents[each].get("tabindex") != "0" else []
            widths = {len(row) for row in each.iter() if local_name(row) == "tr"}
            found += [f"rows of a table have {widths} cells"] if len(widths) > 1 else []
        elif kind == "svg" and not (each.get("role") in ("img", "group") and each.get("aria-label")):
            found.append("a picture has no name")
        elif kind == "details" and (local_name(each[0]) != "summary" or not text_of(each[0])):
            found.append("something folded has no summary")
        elif each.get("class", "").startswith("sign") and len(text_of(each).split()) < 2:
            found.append("a sign has no word beside it")
    return found
