"""Pictures of graphs: nothing overlaps, lines pass no box, text fits, and function bodies are drawn."""

import re
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import html5lib
import pytest

from opset import get_schema, parse_node
from opset.docgen.body import MOST, _with_short_names, body_graph, body_picture
from opset.docgen.picture import LABEL, SMALL, Box, Diagram, Edge, column_count, picture, stylesheet
from opset.opsets.registry import default_registry
from opset.schemas.model import FunctionBody

HOSTILE = "<script>\x1b\u202e\"'&"


def boxes_of(svg):
    """The rectangles of a picture: left, top, right, bottom."""
    found = re.findall(r'<rect class="\w+" x="([-\d.]+)" y="([-\d.]+)" width="([-\d.]+)" height="([-\d.]+)"', svg)
    return [(x, y, x + width, y + height) for x, y, width, height in (map(float, each) for each in found)]


def bodies():
    registry = default_registry()
    for operator in registry.operators():
        for schema in registry.versions(operator):
            yield from ((schema, body) for body in schema.function)


@pytest.fixture(scope="module")
def pictures():
    """One picture a distinct body."""
    return {body.nodes: (schema, body, body_picture(schema, body)) for schema, body in bodies()}


def test_every_body_of_the_standard_is_drawn(pictures):
    assert len(pictures) > 45
    assert all(drawn.startswith('<div class="picture"') for _, _, drawn in pictures.values())


def test_boxes_do_not_overlap_and_are_in_the_picture(pictures):
    for schema, _, drawn in pictures.values():
        width, height = map(float, re.search(r'viewBox="0 0 (\d+) (\d+)"', drawn).groups())
        boxes = sorted(boxes_of(drawn), key=lambda box: (box[1], box[0]))
        for one, other in pairwise(boxes):
            assert one[1] != other[1] or one[2] + 20 <= other[0], schema.name
        assert all(0 < x < right < width and 0 < y < bottom < height for x, y, right, bottom in boxes), schema.name


def test_lines_pass_no_box(pictures):
    line = re.compile(r"M([\d.]+) ([\d.]+)V([\d.]+)C[\d.]+ [\d.]+ [\d.]+ [\d.]+ ([\d.]+) ([\d.]+)")
    for schema, _, drawn in pictures.values():
        boxes = boxes_of(drawn)
        for x1, y1, y2, x2, y3 in (map(float, each) for each in line.findall(drawn)):
            for left, top, right, bottom in boxes:
                # Down from its box; then to the side, where no box may be.
                assert not (left < x1 < right and y1 < bottom - 0.1 and top + 0.1 < y2), schema.name
                assert bottom <= y2 + 0.1 or top >= y3 - 0.1, schema.name
                assert abs(x1 - x2) < 4000


def test_text_fits_its_box(pictures):
    text = re.compile(r'<text class="(label|detail)" x="([\d.]+)" y="[\d.]+">([^<]*)</text>')
    for schema, _, drawn in pictures.values():
        for group in drawn.split("<rect ")[1:]:
            width = float(re.search(r' width="([\d.]+)"', group)[1])
            for kind, _, shown in text.findall(group.partition("</g>")[0]):
                assert len(shown) * (LABEL if kind == "label" else SMALL) <= width, schema.name


def test_a_body_says_what_it_computes():
    schema = get_schema("Softmax")
    graph = body_graph(schema, schema.function[0], {"Exp": "Exp.html"})
    assert [(box.label, *box.detail) for box in graph.boxes] == [
        ("input",),
        ("ReduceMax", "(input, [@axis])", "keepdims=1"),
        ("Sub", "(input, greatest)"),
        ("Exp", "(shifted)"),
        ("ReduceSum", "(exp, [@axis])", "keepdims=1"),
        ("Div", "(exp, sum)"),
        ("output",),
    ]
    assert [box.href for box in graph.boxes if box.href] == ["Exp.html"]
    assert [graph.boxes[edge.start].label for edge in graph.edges if edge.label == "exp"] == ["Exp", "Exp"]
    assert graph.title == f"Softmax {schema.since_version} as a graph: ReduceMax, Sub, Exp, ReduceSum, Div"


def made(nodes, **fields):
    schema = get_schema("Softmax")
    return body_graph(replace(schema, **fields), FunctionBody(18, nodes), {})


def test_constants_subgraphs_and_omitted_inputs():
    graph = made(
        """
        half = Constant <value: tensor = double {0.70710678}> ()
        large = Constant <value_ints: ints = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]> ()
        tenth = Constant <value: tensor = float {0.1}> ()
        k = Cast <to = 7> (input)
        r = Resize <mode = "linear"> (half, , large)
        output = If (k) <then_branch: graph = g () => (a) { b = Neg (r)  a = Add (b, half) }>
        unused = Neg (tenth)
        """
    )
    assert [(box.label, *box.detail) for box in graph.boxes] == [
        ("input",),
        ("Constant", "value_ints=[1, 2, 3, 4, 5…"),
        ("Cast", "(input)", "to=int64"),
        ("Resize", "(≈0.707107, \u2013, large)", 'mode="linear"'),
        ("If", "(k)", "then_branch={2 nodes}"),
        ("Neg", "(0.1)"),
        ("output",),
    ]
    edges = defaultdict(set)
    for edge in graph.edges:
        edges[graph.boxes[edge.end].label].add(edge.label)
    assert edges == {"Cast": {"input"}, "Resize": {"large"}, "If": {"k", "r"}, "output": {"output"}}


def test_what_cannot_be_drawn_is_nothing():
    schema = get_schema("Softmax")
    chain = "\n".join(f"x{number + 1} = Neg (x{number})" for number in range(MOST + 1))
    for nodes in ("", "y = Add (", chain, "c = Constant <value_int: int = 1> ()"):
        assert body_picture(schema, FunctionBody(18, nodes)) == ""
    assert picture(Diagram("", [], [])) == ""
    assert "Neg" in body_picture(schema, FunctionBody(18, "a = Neg (a)\nb = Neg (nothing)\nc = Neg (d)\nd = Neg (c)"))


def test_names_that_a_conversion_made_are_cut():
    node = parse_node("y__one, y, yes__two = Op (y__Mul, x__Mul, z__, , w)")
    short = _with_short_names(node, ["y", "z"])
    assert ([*short.output], [*short.input]) == (["…one", "y", "yes__two"], ["…Mul", "x__Mul", "…", "", "w"])
    assert node.output[0] == "y__one"


def test_hostile_names_are_inert():
    boxes = [Box(HOSTILE, (HOSTILE,), "a.html?" + HOSTILE), Box("漢字" * 9, kind="output")]
    drawn = picture(Diagram(HOSTILE, boxes, [Edge(0, 1, HOSTILE)]))
    body = made('"%s" = Neg (input)\noutput = Neg ("%s")' % (("<b>\u202e&",) * 2))
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    parser.parse(f"<!doctype html><html><head><title>t</title></head><body>{drawn}{picture(body)}</body></html>")
    for each in (drawn, picture(body)):
        assert each.isprintable()
        assert not re.search(r"<script|<b>|style=| on\w+=", each)
    assert column_count("漢字a") == 5


def test_equal_graphs_are_equal_pictures():
    schema = get_schema("DynamicQuantizeLinear")
    assert body_picture(schema, schema.function[0]) == body_picture(schema, schema.function[0])


def test_links_make_a_picture_a_group():
    assert 'role="img"' in picture(Diagram("t", [Box("a")], []))
    assert 'role="group"' in picture(Diagram("t", [Box("a", href="b.html")], []))
    assert "light-dark(" in stylesheet()


def test_a_picture_is_made_smaller_to_seven_tenths_in_steps_of_100_and_scrolled_from_1200_on():
    seen = set()
    for size in range(5, 250, 3):
        drawn = picture(Diagram("t", [Box("a" * size)], []))
        least, width = map(int, re.search(r'class="w(\d+)".* viewBox="0 0 (\d+) ', drawn).groups())
        assert least == 12 if width > 1715 else 0.7 * width - 100.5 < 100 * least < 0.7 * width + 0.5
        seen.add(least)
    assert seen == {*range(13)}
