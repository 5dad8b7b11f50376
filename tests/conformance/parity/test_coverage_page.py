"""docs/coverage.md and parity_passing.txt come from the same runs of the parity table."""

from collections import Counter

from tests.support.paths import ROOT, TABLES


def test_the_coverage_page_counts_what_the_list_holds() -> None:
    """The page goes stale when entries are added to the list, or taken from it, without it."""
    listed = Counter(
        line.rpartition(" ")[2]
        for line in (TABLES / "parity_passing.txt").read_text().splitlines()
    )
    page = (ROOT / "docs" / "coverage.md").read_text().splitlines()
    header = next(line for line in page if line.startswith("| family |"))
    totals = next(line for line in page if line.startswith("| all |"))
    names = [cell.strip() for cell in header.strip("|").split("|")][1:]
    counts = [cell.strip().partition("/")[0] for cell in totals.strip("|").split("|")][1:]
    shown = dict(zip(names, map(int, counts), strict=True))
    shown.pop("variants")
    assert shown == dict(listed)
