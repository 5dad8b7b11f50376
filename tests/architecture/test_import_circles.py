"""No files import each other in a circle but those that are known to."""

from __future__ import annotations

import json

import pytest

from tests.architecture import counts, import_graph
from tests.architecture.import_graph import Import, circles
from tests.architecture.sources import Source

SHOWN = 5  # of the ways round a circle


def shortest_way(edges: list[Import], members: list[str]) -> str:
    """A shortest circle through the first of the members, as ``a -> b -> a``."""
    inside = set(members)
    graph: dict[str, list[Import]] = {}
    for edge in edges:
        if edge.path in inside and edge.target in inside:
            graph.setdefault(edge.path, []).append(edge)
    start = members[0]
    ways: list[list[Import]] = [[edge] for edge in graph[start]]
    seen = {start}
    while ways:
        way = ways.pop(0)
        end = way[-1].target
        if end == start:
            return "; ".join(map(str, way))
        if end not in seen:
            seen.add(end)
            ways += [[*way, edge] for edge in graph[end]]
    return ""


def test_there_are_no_new_circles() -> None:
    """Imports inside functions count: they hide a circle, and do not dissolve it."""
    known = [set(members) for members in json.loads(counts.CIRCLES.read_text())]
    edges = import_graph.without_by_name()
    new = []
    for members in circles(edges):
        if not any(set(members) <= circle for circle in known):
            added = [m for m in members if not any(m in circle for circle in known)]
            ways = {shortest_way(edges, [m, *members]) for m in added or members[:1]}
            shortest = sorted(ways, key=lambda way: (way.count(";"), way))[:SHOWN]
            new.append("\n    ".join([f"a circle of {len(members)} files", *shortest]))
    assert not new, "\n".join(new)


def source(path: str, text: str) -> Source:
    return Source(path, path.removesuffix(".py").replace("/", "."), "engine", text)


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("import p.b", "import p.a", 1),
        ("from p import b", "from p import a", 1),
        ("from . import b", "def f():\n    from .a import x", 1),
        ("try:\n    from .b import x\nexcept ImportError:\n    pass", "from .a import x", 1),
        ("from .b import x", "if TYPE_CHECKING:\n    from .a import X", 0),
        ("from .b import x", "import q.a", 0),
    ],
)
def test_circles_are_found_in_every_spelling(first: str, second: str, found: int) -> None:
    """The check above is only worth something if it sees every import."""
    paths = {"p.a": "p/a.py", "p.b": "p/b.py"}
    both = [source("p/a.py", first), source("p/b.py", second)]
    edges = [edge for each in both for edge in import_graph.imports_of(each, paths)]
    assert len(circles(edges)) == found
