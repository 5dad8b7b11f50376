"""Lazy mode: Python runs at each call, ops wait and run compiled where their trace is known."""
