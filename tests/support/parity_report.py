"""What the runs of ``tests.support.parity`` found, by family: open and passing entries, a table.

    python -m tests.support.parity_report out0.json out1.json --open open.txt
    python -m tests.support.parity_report out*.json --passing tests/tables/parity_passing.txt
    python -m tests.support.parity_report out*.json --coverage docs/coverage.md
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from torch.testing._internal.common_methods_invocations import op_db

from tests.support import parity
from tests.support.parity_families import FAMILIES, family


def families() -> dict[str, str]:
    """The family of each entry, by its title."""
    return {parity.title(info): family(info) for info in op_db}


def read(paths: Iterable[str]) -> list[dict[str, str]]:
    """The records of all runs; a later file's replace an earlier one's."""
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for path in paths:
        records = json.loads(Path(path).read_text())
        again = {(r["entry"], r["dtype"]) for r in records}
        found = {key: r for key, r in found.items() if key[:2] not in again}
        found.update({(r["entry"], r["dtype"], r["stage"]): r for r in records})
    return list(found.values())


def open_entries(records: list[dict[str, str]]) -> str:
    """A line for each check that does not pass, by family."""
    known = families()
    lines: dict[str, list[str]] = defaultdict(list)
    for r in records:
        if r["status"] != "pass":
            text = f"{r['entry']} | {r['dtype']} {r['stage']} | {r['status']}: {r['why']}"
            lines[known[r["entry"]]].append(text.replace("\n", " "))
    parts = []
    for each in sorted(lines, key=FAMILIES.index):
        parts += [f"== {each}: {len(lines[each])}", *sorted(lines[each]), ""]
    return "\n".join(parts)


def passing(records: list[dict[str, str]]) -> str:
    """``entry dtype`` for each pair whose checks all pass, errors aside."""
    failed = {(r["entry"], r["dtype"]) for r in records if r["status"] != "pass"}
    every = {(r["entry"], r["dtype"]) for r in records if r["stage"] != "errors"}
    errors = {
        (r["entry"], "errors") for r in records if r["stage"] == "errors" and r["status"] == "pass"
    }
    return "\n".join(f"{entry} {what}" for entry, what in sorted((every - failed) | errors)) + "\n"


def coverage(records: list[dict[str, str]]) -> str:
    """The table of docs/coverage.md: families against types, and every entry that is open."""
    known = families()
    good: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    worst: dict[tuple[str, str], bool] = {}
    for r in records:
        passed = r["status"] == "pass"
        column = (r["entry"], r["stage"] if r["stage"] in ("errors", "variants") else r["dtype"])
        worst[column] = worst.get(column, True) and passed
    for (entry, name), passed in worst.items():
        for row in (known[entry], "all"):
            good[row, name][0] += passed
            good[row, name][1] += 1
    columns = [c for c in (*parity.CLAIMED, "variants", "errors") if ("all", c) in good]
    lines = [
        "# Coverage of PyTorch's table of ops", "",
        "PyTorch ships a table of its functions with sample inputs (`op_db`, 702 entries). "
        "`python -m tests.support.parity` runs them",
        "through PyTorch and through us. A type's column "
        "counts the entries whose values, shapes, types and gradients", "agree, of those that "
        "PyTorch supports in that type; *variants*: methods and in-place forms; *errors*: type and",
        "text of the exceptions for wrong arguments. Made by "
        "`python -m tests.support.parity_report`;",
        "`python -m tests.conformance.parity.derivatives` compares second gradients and tangents.",
        "",
        "| family | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns),
    ]  # fmt: skip
    for row in (*FAMILIES, "all"):
        cells = ["{}/{}".format(*good[row, c]) if (row, c) in good else "" for c in columns]
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    lines += ["", "## Open", "", "| entry | where | why |", "|---|---|---|"]
    grouped: dict[tuple[str, str], list[str]] = defaultdict(list)
    for r in records:
        if r["status"] != "pass":
            why = " ".join(r["why"].split()).replace("|", "\\|").replace("`", "'")[:100]
            grouped[r["entry"], why].append(f"{r['dtype']} {r['stage']}".strip())
    for (entry, why), places in sorted(grouped.items()):
        lines.append(f"| `{entry}` | {', '.join(places)} | {why} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("reports", nargs="+", help="JSON files of tests.support.parity")
    parser.add_argument("--open", help="write the checks that do not pass")
    parser.add_argument("--passing", help="write the pairs that pass")
    parser.add_argument("--coverage", help="write the table of docs/coverage.md")
    options = parser.parse_args()
    records = read(options.reports)
    for path, text in (
        (options.open, open_entries), (options.passing, passing), (options.coverage, coverage),
    ):  # fmt: skip
        if path:
            Path(path).write_text(text(records))
    print(parity.summary(records))


if __name__ == "__main__":
    main()
