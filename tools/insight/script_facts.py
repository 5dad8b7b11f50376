"""What a script is run with: its arguments, its code's version, the machine."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mindtorch

__all__ = ["code_version", "environment", "optimizer_settings", "parsed_arguments"]

_SECRET = re.compile(r"token|passw|secret|credential|api.?key", re.IGNORECASE)


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parsed_arguments(arguments: Sequence[str]) -> dict[str, Any]:
    """`--lr 0.1 --batch=8 data --amp` as {"lr": 0.1, "batch": 8, "argument 1": "data", ...}.

    Values of arguments that are named like secrets are left out.
    """
    found: dict[str, Any] = {}
    waiting = ""
    position = 0
    for text in arguments:
        option = re.fullmatch(r"--?([A-Za-z][\w.-]*)(?:=(.*))?", text, re.DOTALL)
        if option is not None:
            name, given = option[1], option[2]
            found[name] = True if given is None else _value(given)
            waiting = name if given is None else ""
        elif waiting:
            found[waiting], waiting = _value(text), ""
        else:
            position += 1
            found[f"argument {position}"] = _value(text)
    return {name: "***" if _SECRET.search(name) else value for name, value in found.items()}


def _git(folder: Path, *arguments: str) -> str | None:
    git = shutil.which("git")
    if git is None:
        return None
    try:
        done = subprocess.run(
            [git, "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def code_version(script: Path) -> dict[str, Any]:
    """The script's path and digest; its checkout's commit, and whether files of it were changed."""
    found: dict[str, Any] = {"script": str(script)}
    if script.is_file():
        found["sha256"] = hashlib.sha256(script.read_bytes()).hexdigest()
        folder = script.resolve().parent
        commit = _git(folder, "rev-parse", "HEAD")
        if commit:
            found["commit"] = commit
            changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
            found["changed"] = bool(changed)
    return found


def environment() -> dict[str, Any]:
    """The machine and what is installed."""
    return {
        "mindtorch": mindtorch.__version__, "python": platform.python_version(),
        "machine": platform.node(), "system": platform.platform(), "cores": os.cpu_count(),
    }  # fmt: skip


def optimizer_settings(optimizer: Any) -> dict[str, Any]:
    """The class and the plain settings of the first group; rates of further groups."""
    found: dict[str, Any] = {"optimizer": type(optimizer).__name__}
    for at, group in enumerate(optimizer.param_groups[:8]):
        for name, value in group.items():
            plain = isinstance(value, (int, float, str, bool, tuple)) and name != "params"
            if plain and (at == 0 or name == "lr"):
                key = "learning_rate" if name == "lr" else name
                found[key if at == 0 else f"{key} of group {at}"] = value
    found["parameters"] = sum(p.numel() for g in optimizer.param_groups for p in g["params"])
    return found
