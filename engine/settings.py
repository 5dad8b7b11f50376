"""What programs set and what is compiled or cached depends on."""

from __future__ import annotations

from typing import Any

from .switches import switches, variable, when_changed


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


class CompilePolicy:
    """What all compiled functions do.

    Attributes:
        stance: of ``torch.compiler.set_stance``; "default" compiles.
        disabled: whether functions run eagerly.
        eager: why functions run eagerly, "" where they do not: what follows from these two and
            from :mod:`.switches`.
        limit: how often a function may be traced for one structure of arguments.
        recompiled: raised where a function would be traced a second time; None lets it.
    """

    limit = 8
    recompiled: type[Exception] | None = None

    def __init__(self) -> None:
        self._stance = "default"
        self._disabled = False
        self.update()

    def update(self) -> None:
        """Work out :attr:`eager`, which each call asks for."""
        self.eager = ""
        if self._disabled:
            self.eager = "compilation is disabled"
        elif self._stance == "force_eager":
            self.eager = "the stance is force_eager"
        elif not switches.compile:
            self.eager = f"{variable('compile')}=0"

    @property
    def stance(self) -> str:
        return self._stance

    @stance.setter
    def stance(self, value: str) -> None:
        self._stance = value
        self.update()

    @property
    def disabled(self) -> bool:
        return self._disabled

    @disabled.setter
    def disabled(self, value: bool) -> None:
        self._disabled = value
        self.update()


policy = CompilePolicy()
when_changed(policy.update)
