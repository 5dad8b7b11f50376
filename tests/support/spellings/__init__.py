"""Every spelling of every overload that PyTorch accepts, generated from its own declarations.

    python -m tests.support.spellings --only 'linalg' --show 20

:mod:`.forms` reads the overloads, :mod:`.values` finds arguments that PyTorch accepts,
:mod:`.calls` writes one call in all spellings, :mod:`.sweep` runs them in both libraries.
"""
