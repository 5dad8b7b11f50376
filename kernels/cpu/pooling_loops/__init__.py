"""Loops of pooling, by layout and window."""
