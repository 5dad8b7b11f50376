"""The command: ``python -m tests.support.spellings``."""

from __future__ import annotations

import argparse
import re

from mindtorch.tools.progress import progress
from tests.support.spellings.forms import every_form
from tests.support.spellings.sweep import Found, report, sweep


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.spellings",
        description="Every spelling of every overload that PyTorch accepts, in both libraries.",
    )
    parser.add_argument("--only", default="", help="names (torch.linalg.norm) to take, a pattern")
    parser.add_argument("--calls", type=int, default=2, help="calls of each overload (2)")
    parser.add_argument("--part", default="0/1", help="of all overloads, for several processes")
    parser.add_argument("--show", type=int, default=6, help="names shown of a kind of failure (6)")
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    forms = [f for f in every_form() if re.search(given.only, f.path)][part::parts]
    found: list[Found] = []
    for form in progress(forms, "overloads"):
        found += sweep(form, given.calls)
    print(report(found, given.show))


if __name__ == "__main__":
    main()
