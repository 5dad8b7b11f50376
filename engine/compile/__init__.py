"""Graphs: what a function does to tensors, as a flat list of typed op applications.

Nothing is imported here: a module that asks for guards loads no compiler.
"""
