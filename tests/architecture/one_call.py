"""The frames of two warm calls, as docs/guide/one-call.md shows them.

`python -m tests.architecture.one_call` writes them into the page.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindtorch.torch as torch

ROOT = next(p for p in Path(__file__).resolve().parents if (p / "pyproject.toml").exists())
PAGE = ROOT / "docs" / "guide" / "one-call.md"
WARM = 4  # calls before the one that is looked at
_BLOCK = re.compile(r"(<!-- frames: (\w+) -->\n```\n).*?(```\n)", re.DOTALL)


def calls() -> dict[str, Callable[[], Any]]:
    """The calls that the page follows."""
    torch.manual_seed(0)
    x = torch.randn(8, 16)
    weight, bias = (torch.randn(*shape).requires_grad_() for shape in ((4, 16), (4,)))
    return {
        "relu": lambda: torch.relu(x),
        "linear": lambda: torch.nn.functional.linear(x, weight, bias),
    }


def frames(call: Callable[[], Any]) -> list[tuple[str, str]]:
    """(git path and line, function) of each frame of a warm call, and compiled kernels."""
    found: list[tuple[str, str]] = []

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            found.append((_place(frame.f_code), frame.f_code.co_name))
        elif event == "c_call" and type(argument.__self__).__name__ == "_Closure":
            found.append(("compiled kernel", argument.__name__))

    for _ in range(WARM):
        call()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    own = [(place, name) for place, name in found[1:] if not place.startswith("/")]
    return [each for each in own if each[1] not in ("<listcomp>", "<genexpr>")]


def _place(code: Any) -> str:
    name, generated, _ = code.co_filename.partition(" (")  # generated code: by what generates it
    path = Path(name)
    if not path.exists():
        return f"{code.co_filename}:{code.co_firstlineno}"
    path = path.resolve()
    relative = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return f"{relative} (generated)" if generated else f"{relative}:{code.co_firstlineno}"


def page_with(text: str) -> str:
    """The page ``text`` with the frames as they are now."""
    known = calls()

    def block(match: re.Match[str]) -> str:
        found = frames(known[match[2]])
        width = max(len(place) for place, _ in found)
        lines = [f"{place:{width}}  {name}\n" for place, name in found]
        return match[1] + "".join(lines) + match[3]

    return _BLOCK.sub(block, text)


if __name__ == "__main__":
    written, current = PAGE.read_text(), page_with(PAGE.read_text())
    if "--check" in sys.argv:
        sys.exit(written != current and "run python -m tests.architecture.one_call")
    PAGE.write_text(current)
