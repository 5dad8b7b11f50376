"""Capture: a call of a function becomes a graph, its side effects and its inputs."""
