"""What is installed: the distribution's name, and how its extras are asked for."""

__all__ = ["DISTRIBUTION", "install_extra"]

# "mindtorch" on the public index is another project's.
DISTRIBUTION = "mindtorch-engine"


def install_extra(extra: str) -> str:
    """The command that installs what an optional part needs, for a message."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"
