"""Quantisation after training: weights of 1 to 16 bits, and 8 bits for weights and activations."""
