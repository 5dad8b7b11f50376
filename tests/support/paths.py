"""Where things lie in the checkout, for tests that read files or start programs."""

from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
ROOT = TESTS.parent
GOLDEN_FILES = TESTS / "golden"
PROGRAMS = TESTS / "programs"
TABLES = TESTS / "tables"
