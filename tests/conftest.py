"""What every test module shares."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Examples are the same on every run of CI; a developer's runs look for new ones.
settings.register_profile("developer", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The top folder of the checkout."""
    return Path(__file__).resolve().parent.parent
