"""Helpers for training."""
