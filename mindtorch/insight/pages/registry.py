"""The pages of the application, in the order of its menu."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["PAGES", "Page", "page"]


class Page(NamedTuple):
    """A page.

    Attributes:
        name: the last part of its address; "" for the start.
        title, icon: in the menu; icons have Material's names.
        choice: which trainings it shows: "many", "one", or "none" for no choice.
        build: `build(view)` puts its elements in place.
    """

    name: str
    title: str
    icon: str
    choice: str
    build: Callable[[Any], None]


PAGES: list[Page] = []


def page(
    name: str, title: str, icon: str, choice: str = "one"
) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Register a function that builds a page from a :class:`~mindtorch.insight.pages.view.View`.

    Args:
        name, title, icon, choice: of :class:`Page`.

    Raises:
        ValueError: there is a page of that name.
    """
    if any(each.name == name for each in PAGES):
        raise ValueError(f"there is a page {name!r} already")

    def register(build: Callable[[Any], None]) -> Callable[[Any], None]:
        PAGES.append(Page(name, title, icon, choice, build))
        return build

    return register
