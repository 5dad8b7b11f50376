"""Devices: a registry of backends, and the backends that register themselves there."""
