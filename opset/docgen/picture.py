"""Pictures of small graphs as SVG: layers from top to bottom, drawn with classes alone; function bodies of operators.

The layout is Sugiyama's: every box is in the layer below the lowest one that it depends on, values that pass
layers have a point in each of them, sweeps order the layers to avoid crossings, and boxes move towards their
neighbors. All is computed from the order of the boxes, so equal graphs are equal pictures.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import inf
from typing import NamedTuple

from markupsafe import Markup, escape

from opset.errors import escape_text

__all__ = ["Box", "Diagram", "Edge", "picture", "stylesheet"]

LABEL, SMALL, LINE = 8.4, 7.2, 16
"""Width of a character of a label (14 px) and of other text (12 px), and the height of a line, in pixels."""
LONGEST = 30
"""Characters of a line of a box."""
BESIDE, STEM, BETWEEN, MARGIN = 22.0, 22.0, 34.0, 8.0
"""Pixels between boxes, of the stem under a box that has the name of its value, between layers, around all."""
SWEEPS = 8
WIDEST = 12
"""Hundreds of pixels to which a picture is made smaller, at most."""


class Box(NamedTuple):
    """A box of a graph: a node with a label, a link (`href`) and lines of detail.

    If `kind` is "input" or "output", the box stands for a value of the graph instead of a node.
    """

    label: str
    detail: Sequence[str] = ()
    href: str = ""
    kind: str = "node"


class Edge(NamedTuple):
    """A line of the graph: a value that the box at index `start` computes and the box at index `end` reads.

    Edges from one box with equal labels are the same value.
    """

    start: int
    end: int
    label: str = ""


class Diagram(NamedTuple):
    """A graph to draw: boxes, each after those that it reads from, and the edges between them."""

    title: str
    boxes: Sequence[Box]
    edges: Sequence[Edge]


class _Point:
    """A box in its layer, or the place at which an edge passes through a layer.

    `x` is its center, `above` and `below` the points with which lines join it. `labels` are the names of the values
    that leave the box.
    """

    def __init__(self, layer: int, box: Box | None = None, labels: Sequence[str] = ()) -> None:
        """Set the width and height that the texts of the box need; without a box, both are 2. `x` is 0 at first.

        `layer` is the number of the layer, from the top. `labels` are the names of the values that leave the box.
        """
        self.layer, self.box, self.labels, self.x = layer, box, labels, 0.0
        self.above: list[_Point] = []
        self.below: list[_Point] = []
        self.width = self.height = 2.0
        if box:
            texts = [column_count(box.label) * LABEL, *(column_count(line) * SMALL for line in box.detail)]
            names = sum(column_count(label) * SMALL + 10 for label in labels)
            self.width = max(max(texts) + 20, names, 44)
            self.height = LINE * (1 + len(box.detail)) + 10

    def stem_x(self, label: str) -> float:
        """Return the x at which the line of the value `label` leaves the box.

        The values in `labels` leave the box in this order, spread evenly over its width. If `label` is not in `labels`,
        the result is the center of the box.
        """
        if label not in self.labels:
            return self.x
        return self.x + self.width * ((self.labels.index(label) + 0.5) / len(self.labels) - 0.5)


class _PictureLine(NamedTuple):
    """A part of an edge, from one layer to the next."""

    start: _Point
    end: _Point
    label: str


def column_count(text: str) -> int:
    """Return the number of columns that a text takes in a font of fixed width; wide characters take two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def picture(graph: Diagram) -> Markup:
    """Return a graph drawn as SVG in HTML; empty markup if it has no boxes. Equal graphs give equal pictures."""
    if not graph.boxes:
        return Markup("")
    graph = _escape_graph(graph)
    points, lines = _points_and_lines(graph)
    layers = _order_layers(points)
    _place_points(layers)
    left = min(point.x - point.width / 2 for point in points) - MARGIN
    for point in points:
        point.x -= left
    width = max(point.x + point.width / 2 for point in points) + MARGIN
    tops = []
    height = MARGIN
    for layer in layers:
        tops.append(height)
        height += max(point.height for point in layer) + STEM + BETWEEN
    height += MARGIN - STEM - BETWEEN
    outputs = {index: box.label for index, box in enumerate(graph.boxes) if box.kind == "output"}
    named = {(points[edge.start], edge.label) for edge in graph.edges if outputs.get(edge.end) == edge.label}
    drawn = [*_draw_lines(lines, tops, named), *(shape for point in points for shape in _draw_box(point, tops))]
    title = escape(escape_text(graph.title))
    role = "group" if any(box.href for box in graph.boxes) else "img"
    # On a narrow screen it is made smaller as far as it can be read, and scrolled where that is not enough.
    least = min(int(width * 0.7 / 100), WIDEST)
    return Markup(
        f'<div class="picture"><svg class="w{least}" role="{role}" aria-label="{title}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}">'
        f"<title>{title}</title>{''.join(drawn)}</svg></div>"
    )


def _escape_graph(graph: Diagram) -> Diagram:
    """Return a graph with control and bidirectional characters in its texts escaped."""
    boxes = [
        Box(escape_text(label), tuple(map(escape_text, detail)), escape_text(href), kind)
        for label, detail, href, kind in graph.boxes
    ]
    return Diagram(graph.title, boxes, [edge._replace(label=escape_text(edge.label)) for edge in graph.edges])


def _points_and_lines(graph: Diagram) -> tuple[list[_Point], list[_PictureLine]]:
    """Return the points and lines of a graph: a point for each box, and for each layer that an edge passes through.

    Edges of the same value share points and lines. The points are placed in layers, but have no `x` yet.
    """
    depth = [0] * len(graph.boxes)
    labels: list[dict[str, None]] = [{} for _ in graph.boxes]
    for edge in sorted(graph.edges, key=lambda edge: edge.end):
        depth[edge.end] = max(depth[edge.end], depth[edge.start] + 1)
        labels[edge.start][edge.label] = None
    for index in {*range(len(depth))} - {edge.end for edge in graph.edges}:  # what needs nothing is just above its use
        depth[index] = min((depth[edge.end] for edge in graph.edges if edge.start == index), default=1) - 1
    boxes = [_Point(depth[index], box, [*labels[index]]) for index, box in enumerate(graph.boxes)]
    passing: dict[tuple[int, str, int], _Point] = {}
    lines: dict[_PictureLine, None] = {}
    for edge in graph.edges:
        end = boxes[edge.end]
        start = boxes[edge.start]
        for layer in range(start.layer + 1, end.layer):
            point = passing.setdefault((edge.start, edge.label, layer), _Point(layer))
            lines[_PictureLine(start, point, edge.label)] = None
            start = point
        lines[_PictureLine(start, end, edge.label)] = None
    for line in lines:
        line.start.below.append(line.end)
        line.end.above.append(line.start)
    return [*boxes, *passing.values()], [*lines]


def _order_layers(points: Sequence[_Point]) -> list[list[_Point]]:
    """Return the points by layer, from the top; in each layer they are ordered such that few lines cross."""
    layers: list[list[_Point]] = [[] for _ in range(1 + max(point.layer for point in points))]
    for point in points:
        layers[point.layer].append(point)
    places = {point: place for layer in layers for place, point in enumerate(layer)}
    best, least = [[*layer] for layer in layers], _count_crossings(layers)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            means = {}
            for place, point in enumerate(layer):
                near = point.above if down else point.below
                means[point] = sum(places[each] for each in near) / len(near) if near else place
            layer.sort(key=means.__getitem__)
            places.update((point, place) for place, point in enumerate(layer))
        if (crossings := _count_crossings(layers)) < least:
            best, least = [[*layer] for layer in layers], crossings
        if not least:
            break
    return best


def _count_crossings(layers: Sequence[Sequence[_Point]]) -> int:
    """Return the number of pairs of lines between neighboring layers that cross."""
    count = 0
    for upper, lower in pairwise(layers):
        places = {point: place for place, point in enumerate(lower)}
        before: list[int] = []
        for point in upper:
            ends = sorted(places[end] for end in point.below)
            count += sum(len(before) - bisect_right(before, end) for end in ends)
            for end in ends:
                insort(before, end)
    return count


def _place_points(layers: Sequence[Sequence[_Point]]) -> None:
    """Set the x of all points, without overlap in a layer, and close to the points with which lines join them."""
    for layer in layers:
        _spread_points(layer, [0.0] * len(layer))
    for sweep in range(SWEEPS + 1):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = []
            for point in layer:
                # The last sweep draws straight down what is a chain.
                last = sweep == SWEEPS and point.above
                near = point.above if last else point.above + point.below
                wanted.append(sum(each.x for each in near) / len(near) if near else point.x)
            _spread_points(layer, wanted)
    for _ in range(2):
        for run in _aligned_runs(layers):
            _straighten_run(run, layers)


def _aligned_runs(layers: Sequence[Sequence[_Point]]) -> Iterator[list[_Point]]:
    """Yield lists of two or more points that should have the same x; no point is in two lists.

    A list has the points of one edge, or the boxes of a chain. A chain has no branches: one line leads from each box to
    the next.
    """
    seen: set[_Point] = set()
    for point in (each for layer in layers for each in layer):
        run: list[_Point] = []
        following: _Point | None = point
        while following and following not in seen:
            seen.add(following)
            run.append(following)
            following = _next_in_run(following)
        if len(run) > 1:
            yield run


def _next_in_run(point: _Point) -> _Point | None:
    """Return the point of the next layer that should be straight below `point`, None if there is none.

    A point is a box or the place where an edge passes through a layer; edges of the same value share points. For a
    point of an edge, the result is the next point that is no box, None if only boxes follow. For a box, the result is
    the box below if the only line out of the upper box is the only line into the lower one.
    """
    if point.box:
        only = point.below[0] if len(point.below) == 1 else None
        return only if only and only.box and len(only.above) == 1 else None
    return next((each for each in point.below if not each.box), None)


def _straighten_run(run: Sequence[_Point], layers: Sequence[Sequence[_Point]]) -> None:
    """Move the points of `run` to the same x, in place; they stay if their neighbors in the layers leave no room."""
    low, high = -inf, inf
    for point in run:
        layer = layers[point.layer]
        place = layer.index(point)
        if place:
            low = max(low, layer[place - 1].x + _least_distance(layer[place - 1], point))
        if place + 1 < len(layer):
            high = min(high, layer[place + 1].x - _least_distance(point, layer[place + 1]))
    if low <= high:
        middle = sum(point.x for point in run) / len(run)
        for point in run:
            point.x = min(max(middle, low), high)


def _least_distance(one: _Point, other: _Point) -> float:
    """Return the smallest distance that the centers of two neighbors in a layer may have."""
    return (one.width + other.width) / 2 + BESIDE


def _spread_points(layer: Sequence[_Point], wanted: Sequence[float]) -> None:
    """Set the x of a layer's points, as close to `wanted` as the least distances between neighbors allow.

    `wanted` has a center for each point, in order; the order of the points stays. This is an isotonic regression:
    neighbors that would come too close move to the mean of the centers that they want.
    """
    offsets = [0.0]
    for one, other in pairwise(layer):
        offsets.append(offsets[-1] + _least_distance(one, other))
    pools: list[tuple[float, float, int]] = []
    for point, center, offset in zip(layer, wanted, offsets, strict=True):
        weight = 1.0 if point.box else 4.0
        pool = ((center - offset) * weight, weight, 1)
        while pools and pools[-1][0] / pools[-1][1] > pool[0] / pool[1]:
            before = pools.pop()
            pool = (before[0] + pool[0], before[1] + pool[1], before[2] + pool[2])
        pools.append(pool)
    means = [total / weight for total, weight, count in pools for _ in range(count)]
    for point, mean, offset in zip(layer, means, offsets, strict=True):
        point.x = mean + offset


def _draw_lines(lines: Iterable[_PictureLine], tops: Sequence[float], named: set[tuple[_Point, str]]) -> Iterator[str]:
    """Yield the SVG of lines, arrows and names of values.

    Args:
        lines: The lines.
        tops: The y of each layer.
        named: The values whose names are drawn already, as (point, label). Values that get their names here are added.
    """
    ends: dict[_Point, list[_PictureLine]] = {}
    for line in lines:
        ends.setdefault(line.end, []).append(line)
    for each in ends.values():
        each.sort(key=lambda line: line.start.stem_x(line.label))
    curves, arrows, names = [], [], []
    for line in lines:
        start, end = line.start, line.end
        among = ends[end]
        x1 = start.stem_x(line.label)
        x2 = end.x + end.width * ((among.index(line) + 1) / (len(among) + 1) - 0.5) if end.box else end.x
        y1 = tops[start.layer] + (start.height if start.box else 0)
        y2 = tops[end.layer] - STEM - BETWEEN
        y3 = tops[end.layer] - (5 if end.box else 0)
        middle = (y2 + STEM + y3) / 2
        curve = f"C{x1:.0f} {middle:.0f} {x2:.0f} {middle:.0f} {x2:.0f} {y3:.0f}"
        curves.append(f"M{x1:.0f} {y1:.0f}V{y2 + STEM:.0f}{curve}")
        if end.box:
            arrows.append(f"M{x2:.0f} {tops[end.layer]:.0f}l-4 -8h8z")
        if start.box and start.box.kind == "node" and line.label and (start, line.label) not in named:
            named.add((start, line.label))
            names.append(f'<text class="value" x="{x1:.0f}" y="{y1 + 14:.0f}">{escape(line.label)}</text>')
    yield f'<path class="edge" d="{"".join(curves)}"/><path class="arrow" d="{"".join(arrows)}"/>'
    yield from names


def _draw_box(point: _Point, tops: Sequence[float]) -> Iterator[str]:
    """Yield the SVG of a box with label, detail and link; nothing for a point that is no box.

    `tops` has the y of each layer.
    """
    if not (box := point.box):
        return
    x, y = point.x - point.width / 2, tops[point.layer]
    radius = 5 if box.kind == "node" else point.height / 2
    yield f'<a href="{escape(box.href)}">' if box.href else "<g>"
    yield (
        f'<rect class="{box.kind}" x="{x:.0f}" y="{y:.0f}" width="{point.width:.0f}" height="{point.height:.0f}" '
        f'rx="{radius:.0f}"/>'
    )
    yield f'<text class="label" x="{point.x:.0f}" y="{y + LINE + 2:.0f}">{escape(box.label)}</text>'
    for number, line in enumerate(box.detail, 2):
        yield f'<text class="detail" x="{point.x:.0f}" y="{y + number * LINE + 1:.0f}">{escape(line)}</text>'
    yield "</a>" if box.href else "</g>"


def stylesheet() -> str:
    """Return the CSS of pictures for the light and the dark color scheme."""
    widths = "".join(f".picture .w{least} {{ min-width: {least}00px; }}\n" for least in range(1, WIDEST + 1))
    return f"{widths}{_STYLE}"


_STYLE = """\
.picture { overflow-x: auto; margin: 1em 0; background: light-dark(#fff, #14171c); }
.picture svg { display: block; max-width: 100%; height: auto; margin: auto; }
.picture text { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 12px;
  text-anchor: middle; fill: currentColor; }
.picture .label { font-size: 14px; font-weight: 600; }
.picture .value { font-style: italic; paint-order: stroke; stroke: light-dark(#fff, #14171c); stroke-width: 5px; }
.picture rect { fill: light-dark(#eef3fa, #202a38); stroke: light-dark(#5b7aa5, #7f9cc7); }
.picture .input { fill: light-dark(#e8f5ea, #1c2f22); stroke: light-dark(#3d8050, #6fb784); }
.picture .output { fill: light-dark(#fdf1e3, #362a1b); stroke: light-dark(#a56a20, #d19a55); }
.picture .edge { fill: none; stroke: light-dark(#6b7480, #97a1ae); }
.picture .arrow { fill: light-dark(#6b7480, #97a1ae); }
.picture a:hover rect, .picture a:focus rect { stroke-width: 2.5; }
.picture a { color: inherit; }
.picture a .label { fill: light-dark(#0b55a8, #7ab8ff); }
"""
