"""A graph at one fold level: boxes for modules and operations, and where they are drawn."""

from __future__ import annotations

import html
from collections import defaultdict
from dataclasses import dataclass, field

from ..reading.values import Graph

__all__ = ["Box", "drawing", "fold"]

WIDTH, HEIGHT, GAP_X, GAP_Y = 190, 44, 24, 34
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1")


@dataclass
class Box:
    """A node, or a module with all that is in it.

    Attributes:
        path: where it is; `name` is what of that is below the open module.
        kind: the operation, or the module's class where it is known.
        nodes: how many nodes it holds; more than one: it can be opened.
        inputs: paths of boxes, in order.
        seconds: of its forward pass.
        inside: whether it is below the open module.
    """

    path: str
    name: str
    kind: str = ""
    nodes: int = 0
    parameters: int = 0
    shape: str = ""
    seconds: float | None = None
    inside: bool = True
    inputs: dict[str, None] = field(default_factory=dict)


def _box_of(path: str, opened: str, depth: int) -> str:
    """The box that a node is drawn in."""
    parts, base = path.split("/"), opened.split("/") if opened else []
    if parts[: len(base)] == base and len(parts) > len(base):
        return "/".join(parts[: len(base) + depth])
    common = 0
    while common < min(len(parts), len(base)) and parts[common] == base[common]:
        common += 1
    return "/".join(parts[: common + 1])


def fold(graph: Graph, opened: str = "", depth: int = 1) -> dict[str, Box]:
    """The boxes of an open module and those outside that it is joined to.

    Args:
        opened: the module's path, "" for the whole.
        depth: how many levels below it have boxes of their own.
    """
    boxes: dict[str, Box] = {}
    places = {path: _box_of(path, opened, depth) for path in list(graph.nodes)}
    for path, node in list(graph.nodes.items()):
        place = places[path]
        inside = place.startswith(f"{opened}/") if opened else True
        box = boxes.get(place)
        if box is None:
            name = place[len(opened) + 1 :] if inside and opened else place
            box = boxes[place] = Box(place, name, inside=inside)
        box.nodes += 1
        box.parameters += node.parameters
        if path == place:
            box.kind, box.seconds, box.shape = node.kind, node.seconds, node.shape
        elif not box.kind or box.path not in graph.nodes:
            box.shape = node.shape or box.shape
        for source in node.inputs:
            of = places.get(source)
            if of is not None and of != place:
                box.inputs[of] = None
    for box in boxes.values():
        if box.path not in graph.nodes:
            box.kind = box.path.rpartition("/")[2].split("[")[0]
    kept = {place for place, box in boxes.items() if box.inside and place != opened}
    for place in list(kept):
        kept |= {source for source in boxes[place].inputs if source != opened}
    for place, box in boxes.items():
        if not box.inside and any(source in kept and boxes[source].inside for source in box.inputs):
            kept.add(place)
    kept.discard(opened)
    found = {place: box for place, box in boxes.items() if place in kept}
    for box in found.values():
        box.inputs = {source: None for source in box.inputs if source in found}
    return found


def _layers(boxes: dict[str, Box]) -> list[list[str]]:
    """Boxes by their distance from the start; edges that lead back in a circle do not count."""
    depth: dict[str, int] = {}
    users: dict[str, list[str]] = defaultdict(list)
    waiting: dict[str, int] = {}
    for path, box in boxes.items():
        waiting[path] = len(box.inputs)
        for source in box.inputs:
            users[source].append(path)
    ready = [path for path, count in waiting.items() if not count]
    left = dict.fromkeys(boxes)
    while left:
        if not ready:
            ready = [next(iter(left))]
        path = ready.pop(0)
        if path not in left:
            continue
        del left[path]
        depth[path] = 1 + max((depth[x] for x in boxes[path].inputs if x in depth), default=-1)
        for user in users[path]:
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
    rows: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for path in boxes:
        rows[depth[path]].append(path)
    return rows


def _places(boxes: dict[str, Box]) -> tuple[dict[str, tuple[float, float]], float, float]:
    """Each box's corner, and the drawing's size: boxes stand below the middle of their inputs."""
    rows = _layers(boxes)
    widest = max((len(row) for row in rows), default=0)
    width = widest * (WIDTH + GAP_X) + GAP_X
    found: dict[str, tuple[float, float]] = {}
    for depth, row in enumerate(rows):

        def middle(path: str) -> float:
            above = [found[x][0] for x in boxes[path].inputs if x in found]
            return sum(above) / len(above) if above else 0.0

        ordered = sorted(row, key=middle)
        start = (width - len(row) * (WIDTH + GAP_X) + GAP_X) / 2
        for at, path in enumerate(ordered):
            found[path] = (start + at * (WIDTH + GAP_X), GAP_Y / 2 + depth * (HEIGHT + GAP_Y))
    return found, width, len(rows) * (HEIGHT + GAP_Y)


def _short(text: str, most: int = 27) -> str:
    return html.escape(text if len(text) <= most else f"…{text[1 - most :]}")


def _edge(start: tuple[float, float], end: tuple[float, float]) -> str:
    x1, y1 = start[0] + WIDTH / 2, start[1] + HEIGHT
    x2, y2 = end[0] + WIDTH / 2, end[1] - 4
    far = y2 - y1 > HEIGHT + 2 * GAP_Y or y2 < y1
    aside = WIDTH * 0.75 if far else 0
    bend = f"{x1 + aside:.0f} {y1 + GAP_Y:.0f} {x2 + aside:.0f} {y2 - GAP_Y:.0f}"
    return (
        f'<path d="M{x1:.0f} {y1:.0f} C{bend} {x2:.0f} {y2:.0f}" fill="none" '
        'stroke="currentColor" opacity=".55" marker-end="url(#insight-arrow)"/>'
    )


def drawing(boxes: dict[str, Box], words: dict[str, str]) -> str:
    """The boxes as SVG. Every text is escaped; `data-box` is a box's position.

    Args:
        words: a second line for boxes.
    """
    places, width, height = _places(boxes)
    kinds = {kind: at for at, kind in enumerate(sorted({box.kind for box in boxes.values()}))}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        'role="group" aria-label="graph">'
        '<defs><marker id="insight-arrow" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="currentColor"/></marker>'
        "</defs>"
    ]
    for path, box in boxes.items():
        parts += [_edge(places[source], places[path]) for source in box.inputs]
    for at, (path, box) in enumerate(boxes.items()):
        x, y = places[path]
        color = _COLORS[kinds[box.kind] % len(_COLORS)]
        opens = box.nodes > 1 or not box.inside
        role = f'role="button" tabindex="0" data-box="{at}"' if opens else 'role="img"'
        told = html.escape(f"{box.path}, {box.kind}, {words.get(path, '')}", quote=True)
        dash = "" if box.inside else ' stroke-dasharray="5 4"'
        parts.append(
            f'<g {role} aria-label="{told}"><title>{told}</title>'
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="6" '
            f'fill="{color}" fill-opacity=".16" stroke="{color}"'
            f' stroke-width="{2 if opens else 1}"{dash}/>'
            f'<text x="{x + 8:.0f}" y="{y + 18:.0f}">{_short(box.name)}</text>'
            f'<text class="small" x="{x + 8:.0f}" y="{y + 34:.0f}">'
            f"{_short(words.get(path, box.kind), 34)}</text></g>"
        )
    return "".join([*parts, "</svg>"])
