"""Optimizer updates: pure steps, and fused steps over many tensors."""
