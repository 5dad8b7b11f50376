"""The version of MindSpore whose names and numbers these are."""

__version__ = "2.10.0"
