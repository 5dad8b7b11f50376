"""Nested tensors in the jagged layout, where torch has them."""
