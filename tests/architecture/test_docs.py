"""The pages name what there is: paths, links, anchors, environment variables."""

from __future__ import annotations

import fnmatch
import functools
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mindtorch.engine.switches import DESCRIPTIONS, variable

ROOT = next(p for p in Path(__file__).resolve().parents if (p / "pyproject.toml").exists())
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*/*.md")])
FOLDERS = ("mindtorch", "engine", "kernels", "tools", "tests", "benchmarks", "migration_examples",
           "docs", ".ci", ".vscode")  # fmt: skip
# files that users have, and that guides have a reader write
EXAMPLES = {"train.py", "first.py", "script.py", "repro.py", "models.py", "after.py", "unet.py",
            "kernels/cpu/sign_changes.py", "mindtorch/torch/optim/lion.py"}  # fmt: skip
# pages made by programs, of names that are not paths
MADE = {"gaps.md", "cuda-ops.md", "coverage.md"}
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_PATH = re.compile(r"[\w.*/-]+")
_VARIABLE = re.compile(r"MINDTORCH_[A-Z][A-Z_]*")


@functools.cache
def files() -> tuple[str, ...]:
    """Every file of the checkout's folders, and the folders; links are not followed."""
    found = [path.name for path in ROOT.iterdir() if path.is_file()]
    for folder in FOLDERS:
        for parent, names, here in os.walk(ROOT / folder):
            downloaded = ("data",) if folder == "migration_examples" else ()
            names[:] = [n for n in names if n not in ("__pycache__", "api", *downloaded)]
            base = Path(parent).relative_to(ROOT)
            found += [str(base), *(str(base / name) for name in here)]
    return tuple(found)


def text_of(page: Path) -> str:
    """The page without its blocks of code."""
    lines = _FENCED.sub("", page.read_text()).split("\n")
    return "\n".join(line for line in lines if not line.startswith("    "))


def named_paths(page: Path) -> Iterator[str]:
    """What stands in backticks and looks like one of our files, as a pattern."""
    for span in _CODE.findall(text_of(page)):
        path = re.sub(r":\d+$", "", span).rstrip("/")
        path = re.sub(r"<\w+>", "*", path)
        if _PATH.fullmatch(path) is None or path in EXAMPLES:
            continue
        if path.endswith(".py") or path.startswith(tuple(f"{name}/" for name in FOLDERS)):
            yield path


@functools.cache
def ends() -> frozenset[str]:
    """The paths of all files and folders, and what they end in."""
    parts = [path.split("/") for path in files()]
    return frozenset("/".join(each[at:]) for each in parts for at in range(len(each)))


def exists(pattern: str) -> bool:
    """Whether a file or folder has this path, or ends in it where it does not begin on top."""
    if pattern.startswith(("mindtorch/engine", "mindtorch/kernels", "mindtorch/tools")):
        return (ROOT / pattern).exists()  # through the links
    on_top = pattern.split("/")[0] in FOLDERS and "/" in pattern
    known = files() if on_top else ends()
    return pattern in known or ("*" in pattern and bool(fnmatch.filter(known, pattern)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_exist(page: Path) -> None:
    """A file that was moved is named by its new path."""
    if page.name not in MADE:
        assert sorted({path for path in named_paths(page) if not exists(path)}) == []


def anchors(page: Path) -> set[str]:
    """The anchors that headings have, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", _FENCED.sub("", page.read_text()), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {text.strip().replace(" ", "-") for text in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Relative links, and anchors in pages of ours."""
    broken = []
    for link in _LINK.findall(_FENCED.sub("", page.read_text())):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        found = target.exists() and target.is_relative_to(ROOT)
        if not found or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_every_page_is_on_the_map() -> None:
    """docs/index.md leads to each page under docs/."""
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link.partition("#")[0]).resolve()
              for link in _LINK.findall(index.read_text())}  # fmt: skip
    pages = {page for page in PAGES if page.is_relative_to(index.parent)} - {index}
    assert sorted(page.name for page in pages - linked) == []


def test_readme_is_short() -> None:
    """What, for whom, two commands, output, what works, where to read on."""
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def variables_of_page() -> tuple[set[str], set[str]]:
    """Those of docs/environment.md: of the section with the switches, and of the others."""
    text = (ROOT / "docs" / "environment.md").read_text()
    before, _, rest = text.partition("## Looking for a wrong number")
    section, _, after = rest.partition("\n## ")
    return set(_VARIABLE.findall(section)), set(_VARIABLE.findall(before + after))


def test_environment_variables_are_those_of_the_code() -> None:
    """docs/environment.md has every variable that the code reads or sets, and no other."""
    used: dict[str, str] = {}
    for path in files():
        if path.endswith(".py") and path != str(Path(__file__).resolve().relative_to(ROOT)):
            for name in _VARIABLE.findall((ROOT / path).read_text()):
                used.setdefault(name, path)
    switches, others = variables_of_page()
    assert {name: path for name, path in used.items() if name not in switches | others} == {}
    assert others - set(used) == set()


def test_switches_are_those_of_the_engine() -> None:
    """The variables that turn off one mechanism each are made from the engine's table of them."""
    known = {variable(name) for name in DESCRIPTIONS}
    known |= {"MINDTORCH_DEBUG", "MINDTORCH_VERIFY"}
    assert variables_of_page()[0] == known
    guide = (ROOT / "docs" / "guide" / "wrong-number.md").read_text()
    assert known - set(_VARIABLE.findall(guide)) == set()
