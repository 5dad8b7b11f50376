"""Trained models on devices: see :mod:`mindtorch.lite.micro` for C code for microcontrollers."""
