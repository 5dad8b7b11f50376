"""torch's functions by subject; each registers what it defines (see ``_registry``)."""
