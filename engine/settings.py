"""What programs set and what is compiled or cached depends on."""

from __future__ import annotations

from typing import Any


class Settings(dict[str, Any]):
    """What a namespace lets programs set and read.

    Attributes:
        key: all of it, to compare.
    """

    key: tuple[Any, ...] = ()

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self.key = tuple(self.values())


settings = Settings()
