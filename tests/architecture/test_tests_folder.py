"""The tests lie in a tree like that of the sources, in folders that can be read at a glance."""

import sys
from pathlib import Path

from tests.support.paths import TESTS


def test_no_folder_holds_more_than_thirty_files() -> None:
    """A longer list hides what is there; a subject that grows gets folders of its own."""
    folders = [TESTS, *(path for path in TESTS.rglob("*") if path.is_dir())]
    held = {
        str(folder.relative_to(TESTS)): sum(path.is_file() for path in folder.iterdir())
        for folder in folders
        if folder.name != "__pycache__"
    }
    assert {folder: count for folder, count in held.items() if count > 30} == {}


def test_every_test_lies_in_the_folder_of_its_subject() -> None:
    """At the top is only what all of them share."""
    assert {path.name for path in TESTS.glob("*.py")} == {"conftest.py"}


def test_the_folder_of_tests_is_not_searched_for_modules() -> None:
    """Its folders torch, mindtorch and mindspore would be imported in place of the packages."""
    assert TESTS not in {Path(place).resolve() for place in sys.path}
