"""Pictures of graphs: nothing overlaps, lines pass no box, text fits, and function bodies are drawn."""

import re
import struct
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import html5lib
import pytest
from onnx import TensorProto, helper

from opset import get_schema, parse_node
from opset.docgen.body import (
    MOST,
    _attribute_text,
    _fold_constant,
    _names_used,
    _shorten_name,
    _value_text,
    _with_short_names,
    _wrap,
    body_graph,
    body_picture,
    replacement_pictures,
)
from opset.docgen.picture import LABEL, SMALL, Box, Diagram, Edge, _points_and_lines, column_count, picture, stylesheet
from opset.opsets.registry import default_registry
from opset.schemas.model import FunctionBody, Parameter

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


def attribute(text):
    return parse_node(f"y = Op <{text}> (x)").attribute[0]


def tensor(data_type, dims=(), **fields):
    return helper.make_attribute("a", TensorProto(data_type=data_type, dims=dims, **fields))


NUMBERS = ", ".join(map(str, range(23)))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("a: int = @b", "@b"),
        ("a = 7", "7"),
        ("a = -0.5", "-0.5"),
        ("a = 0.1234567", "≈0.123457"),
        ("a = [1, -2]", "[1, -2]"),
        ("a = [0.5, 0.1234567]", "[0.5, ≈0.123457]"),
        (f"a = [{NUMBERS}]", f"[{NUMBERS[:-4]}]"),
        ('a = "linear"', '"linear"'),
        (f'a = "{26 * "x"}"', f'"{26 * "x"}"'),
        (f'a = "{27 * "x"}"', f'"{25 * "x"}…"'),
        ('a = ["x"]', ""),
        ("a: graph = g () => (y) { y = Neg (x) }", "{1 node}"),
        ("a: graph = g () => () { }", "{0 nodes}"),
        ("a: tensor = float {0.1}", "0.1"),
        ("a: tensor = double {0.1234567}", "≈0.123457"),
        ("a: tensor = float[1] {0.1}", "[0.1]"),
        (f"a: tensor = int64[22] {{{NUMBERS[:-4]}}}", f"[{NUMBERS[:-4]}]"),
        (f"a: tensor = int64[23] {{{NUMBERS}}}", ""),
        ("a: tensor = uint8 {200}", "200"),
        ("a: tensor = int8[2] {-1, 3}", "[-1, 3]"),
        ("a: tensor = uint16 {7}", "7"),
        ("a: tensor = int16 {-7}", "-7"),
        ("a: tensor = bool {1}", "1"),
        ("a: tensor = uint64 {7}", "7"),
        ("a: tensor = bfloat16 {16256}", "1"),
        ('a: tensor = string {"x"}', ""),
        (tensor(1, raw_data=struct.pack("<f", 0.1)), "0.1"),
        (tensor(11, [1], raw_data=struct.pack("<d", 0.1)), "[0.1]"),
        (tensor(7, [23], raw_data=bytes(8 * 23)), ""),
        (tensor(7, [2], raw_data=bytes(3)), ""),
        (tensor(7, [0]), ""),
        (tensor(99, [1]), ""),
    ],
)
def test_values_of_attributes_are_short_texts(given, text):
    assert _value_text(attribute(given) if isinstance(given, str) else given) == text


@pytest.mark.parametrize(
    ("name", "operator", "text"),
    [
        ("to", "Cast", "int64"),
        ("dtype", "Cast", "int64"),
        ("output_dtype", "Cast", "int64"),
        ("axis", "Cast", "7"),
        ("to", "com.acme.Cast", "7"),
    ],
)
def test_numbers_of_element_types_are_their_names(name, operator, text):
    node = parse_node(f"y = {operator} <{name} = 7> (x)")
    assert _attribute_text(node, node.attribute[0]) == text
    node.attribute[0].ref_attr_name = "b"
    assert _attribute_text(node, node.attribute[0]) == "@b"
    assert _attribute_text(node, helper.make_attribute(name, 0)) == "0"


def test_a_box_that_needs_nothing_is_just_above_the_first_box_that_uses_it():
    boxes = [Box(name, (), "", "node") for name in "abcdef"]
    edges = [Edge(*each) for each in ((0, 1, "a"), (1, 2, "b"), (2, 3, "c"), (4, 3, "e"), (5, 2, "f"), (5, 3, "f"))]
    points, lines = _points_and_lines(Diagram("it", boxes, edges))
    assert [each.layer for each in points] == [0, 1, 2, 3, 2, 1, 2]  # the last is where the line of f passes
    assert len(lines) == 7 and sorted(len(each.above) for each in points) == [0, 0, 0, 1, 1, 2, 3]


def test_the_name_of_a_value_is_left_out_beside_the_output_that_has_it():
    kinds = {"x": "input", "n": "node", "a": "node", "y": "output", "b": "output"}
    boxes = [Box(name, (), "", kind) for name, kind in kinds.items()]
    edges = [Edge(0, 1, "x"), Edge(1, 2, "a"), Edge(2, 3, "y"), Edge(2, 4, "c")]
    shown = re.findall(r">([^<>]+)<", picture(Diagram("it", boxes, edges)))
    assert shown == ["it", "a", "c", *kinds]  # the title, the names of two values, and the boxes


def test_lines_and_names_are_cut_to_a_box():
    assert [*_wrap(["a" * 14, "b" * 13, "c" * 29, "d"])] == [f"{'a' * 14}, {'b' * 13},", f"{'c' * 29},", "d"]
    assert [*_wrap(["a" * 14, "b" * 14, "c"], ")")] == [f"{'a' * 14},", f"{'b' * 14}, c)"] and [*_wrap([])] == []
    name = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
    assert [_shorten_name(name[:length]) for length in (26, 27, 40)] == [
        name[:26], "abcdefgh…klmnopqrstuvwxyz0", "abcdefgh…xyz0123456789ABCD",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("node", "text"),
    [
        ("c = Constant <value_int = 7> ()", "7"),
        ("y = Constant <value_int = 7> ()", None),
        ("c = com.acme.Constant <value_int = 7> ()", None),
        ("c, d = Constant <value_int = 7> ()", None),
        ("c = Constant <value_int = 7, other = 1> ()", None),
        (f'c = Constant <value_string = "{20 * "x"}"> ()', f'"{20 * "x"}"'),
        (f'c = Constant <value_string = "{21 * "x"}"> ()', None),
        ("c = CastLike (two, x)", "2"),
        ("c = CastLike (x, two)", None),
        ("c = Reshape (two, ones)", "[2]"),
        ("c = Reshape (two, zeros)", None),
        ("c = Reshape (ones, ones)", None),
        ("c = Reshape (two)", None),
        ("c = Reshape (two, ones, x)", None),
        ("c = Unsqueeze (two, zeros)", "[2]"),
        ("c = Unsqueeze (two, ones)", None),
        ("c = Squeeze (two, zeros)", None),
        ("c = Neg (two)", None),
        ("c = Neg ()", None),
    ],
)
def test_short_constants_need_no_box(node, text):
    constants = {"two": "2", "ones": "[1]", "zeros": "[0]"}
    assert _fold_constant(parse_node(node), constants, ["y"]) == (text is not None)
    assert constants.get("c") == text and constants.keys() >= {"two", "ones", "zeros"}


def test_names_are_used_also_in_subgraphs_that_do_not_define_them():
    node = parse_node(
        "y = Loop (a, , b) <body: graph = g (p) => (q) <float w = {1}> { q = Op (p, c, w)"
        " r = If (d) <then_branch: graph = h () => (s) { s = Op (e, p, q, r, a) }> t = Op (c) }>"
    )
    assert [*_names_used(node)] == ["a", "b", "c", "d", "e", "a", "c"]
    several = parse_node("y = Op (z)")
    several.attribute.add(name="a", graphs=[node.attribute[0].g] * 2)
    assert [*_names_used(several)].count("d") == 2


def test_a_box_has_a_few_lines_and_a_picture_a_few_boxes_and_edges():
    def lines(count):
        wide = ", ".join(f"a{each}: string = @b{each}{15 * 'x'}" for each in range(count))
        return made(f"y = com.acme.Op <{wide}> ()").boxes[0]

    assert [line[:3] for line in lines(8).detail] == [f"a{each}=" for each in range(8)]
    assert len(lines(9).detail) == 9 and lines(9).detail[-1] == "…" and lines(8).label == "com.acme.Op"
    chain = [f"x{each + 1} = Neg (x{each})" for each in range(46)]
    assert len(made("\n".join(chain[:45])).boxes) == 45 and made("\n".join(chain)) is None
    names = ", ".join(f"i{each}" for each in range(200))
    inputs = [Parameter(f"i{each}", "T") for each in range(201)]
    assert len(made(f"y = Sum ({names})", inputs=inputs).edges) == 200
    assert made(f"y = Sum ({names}, i200)", inputs=inputs) is None


def test_a_node_and_those_that_replace_it_are_drawn():
    def texts(drawn):
        return [(kind, text) for kind, text in re.findall(r'<text class="(\w+)"[^>]*>([^<]*)<', drawn)]

    before, after = replacement_pictures(
        "y = Gelu (x)", ["u = Constant <value_int = 1> ()", "y__a = Neg (x)", "v = Abs (x)", "y = Add (y__a, u)"]
    )
    assert texts(before) == [("label", "x"), ("label", "Gelu"), ("detail", "(x)"), ("label", "y")]
    assert texts(after) == [
        ("value", "…a"), ("label", "x"), ("label", "Neg"), ("detail", "(x)"),
        ("label", "Add"), ("detail", "(…a, 1)"), ("label", "y"),
    ]  # fmt: skip
    assert 'aria-label="Before: Gelu"' in before and 'aria-label="After: Neg, Add"' in after
    many = [f"y__{each + 1} = Neg (y__{each})" for each in range(50)]
    before, after = replacement_pictures("y = Gelu (y__0)", [*many, "y = Abs (y__50)"])
    assert "Gelu" in before and after == ""
    for given in ("y = Gelu (", "y = Gelu (x)\nz = Gelu (x)", ""):
        assert replacement_pictures(given, ["y = Abs (x)"]) == ("", "")
