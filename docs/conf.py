"""Settings of Sphinx, for `make docs`: the pages of this folder, and one page of reference for each
public module, made from docstrings as they are at run time (many functions are made by code)."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path.insert(0, str(ROOT))

project = "mindtorch"
author = "the authors of mindtorch"
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_parser"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
exclude_patterns = ["conf.py"]
html_theme = "alabaster"
html_theme_options = {"page_width": "1100px", "sidebar_width": "240px", "fixed_sidebar": False}
html_sidebars = {"**": ["about.html", "searchfield.html", "navigation.html"]}
html_show_sourcelink = False
# A page may begin with small headings; `Node` alone is a name of several modules.
suppress_warnings = ["myst.header", "ref.python"]
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "member-order": "alphabetical"}
default_role = "code"
myst_heading_anchors = 3
napoleon_include_init_with_doc = False
napoleon_use_ivar = True

PACKAGES = ("mindtorch.torch", "mindtorch.mindspore", "mindtorch.serving.client",
            "mindtorch.serving.server")
# modules that hold the bodies of functions published elsewhere
_BODIES = ("mindtorch.torch.functions",)


def public_modules() -> Iterator[ModuleType]:
    """The packages' modules without an underscore in their path, outer ones first."""
    outer = importlib.import_module("mindtorch")
    found = [outer]
    for each in pkgutil.iter_modules(outer.__path__):  # packages follow, the engine's not
        if not each.ispkg and not each.name.startswith("_"):
            found.append(importlib.import_module(f"mindtorch.{each.name}"))
    for name in PACKAGES:
        package = importlib.import_module(name)
        found.append(package)
        for each in pkgutil.walk_packages(package.__path__, f"{name}."):
            private = any(part.startswith("_") for part in each.name.split("."))
            if not private and not each.name.startswith(_BODIES):
                found.append(importlib.import_module(each.name))
    return iter(sorted(found, key=lambda module: (module.__name__.count("."), module.__name__)))


def public_names(module: ModuleType) -> list[str]:
    """What ``module`` offers that is documented: functions and classes of ours."""
    listed = getattr(module, "__all__", None)
    names = sorted(set(listed if listed is not None else vars(module)))
    return [name for name in names if not name.startswith("_") and _is_ours(module, name)]


def _is_ours(module: ModuleType, name: str) -> bool:
    value = getattr(module, name, None)
    if not (inspect.isroutine(value) or inspect.isclass(value)):
        return False
    home = getattr(value, "__module__", None) or ""
    return home.split(".")[0] in {"mindtorch", "torch", "mindspore"} and bool(inspect.getdoc(value))


def write_reference(app: Any = None) -> None:
    """Write ``docs/api``: each object stands on the page of the outermost module that has it."""
    folder = DOCS / "api"
    folder.mkdir(exist_ok=True)
    written: dict[int, str] = {}
    pages = []
    for module in public_modules():
        own, elsewhere = [], []
        for name in public_names(module):
            value = getattr(module, name)
            home = written.setdefault(id(value), module.__name__)
            (own if home == module.__name__ else elsewhere).append(name)
        if own:
            pages.append(module.__name__)
            _write(folder / f"{module.__name__}.rst", _page(module, own, elsewhere))
    _write(folder / "index.rst", _contents(pages))
    for stale in folder.glob("*.rst"):
        if stale.stem not in {*pages, "index"}:
            stale.unlink()


def _page(module: ModuleType, own: list[str], elsewhere: list[str]) -> str:
    title = module.__name__
    lines = [title, "=" * len(title), "", f".. py:module:: {title}"]
    outer, _, last = title.rpartition(".")
    if outer and getattr(sys.modules[outer], last) is not module:  # a function has that name, too
        lines.append("   :no-index:")
    lines.append("")
    lines += [*_with_blocks((inspect.getdoc(module) or "").splitlines()), ""]
    if elsewhere:
        lines += ["Also here: " + ", ".join(f"``{name}``" for name in elsewhere) + ".", ""]
    for name in own:
        kind = "class" if inspect.isclass(getattr(module, name)) else "function"
        lines += [f".. auto{kind}:: {title}.{name}", ""]
    return "\n".join(lines)


def _contents(pages: list[str]) -> str:
    return "\n".join([
        "Reference", "=========", "",
        "One page for each public module, made from the docstrings.", "",
        ".. toctree::", "   :maxdepth: 1", "", *(f"   {page}" for page in pages), "",
    ])  # fmt: skip


def _write(path: Path, text: str) -> None:
    """Write ``text``, unless the file has it already: Sphinx reads anew what is newer."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


_LITERAL = re.compile(r"(``.+?``|:\w+:`[^`]+`|`[^`]+`)")


def _escaped(lines: list[str]) -> list[str]:
    """Plain text as reStructuredText: stars, bars and trailing underscores mean themselves."""
    result = []
    for line in lines:
        parts = _LITERAL.split(line)
        parts[::2] = [re.sub(r"([*|\\])|(?<=\w)_(?=\W|$)", r"\\\g<0>", part) for part in parts[::2]]
        result.append("".join(parts))
    return result


def _with_blocks(lines: list[str]) -> list[str]:
    """A module's text, whose indented lines are code."""
    result: list[str] = []
    inside = False
    for line in lines:
        indented = line.startswith("    ")
        if indented and not inside:
            result += ["", "::", ""]
        elif inside and line and not indented:
            result.append("")
        inside = indented or (inside and not line)
        result += [line] if indented else _escaped([line])
    return result


def escape_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: Any) -> None:
    """Called by autodoc before napoleon reads the sections."""
    lines[:] = _escaped(list(lines))


def skip_lazy(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Called by autodoc for each member: attributes that are computed when first read have no
    signature, and are described by their class."""
    return True if type(obj).__name__ == "lazy_property" else None


_OUTSIDE = re.compile(r"(?<!!)\[([^\]]+)\]\((\.\./[^)#\s]+)[^)]*\)")


def name_files_outside(app: Any, page: str, source: list[str]) -> None:
    """Called for each page: links to files that the site does not have become their names."""
    folder = (DOCS / page).parent

    def named(match: re.Match[str]) -> str:
        target = (folder / match[2]).resolve()
        if target.is_relative_to(DOCS):
            return match[0]
        path = f"`{target.relative_to(ROOT)}`"
        return path if match[1].strip("`") in path else f"{match[1]} ({path})"

    source[0] = _OUTSIDE.sub(named, source[0])


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", name_files_outside)
    app.connect("autodoc-skip-member", skip_lazy)
    app.connect("builder-inited", write_reference)
    app.connect("autodoc-process-docstring", escape_docstring, priority=400)
