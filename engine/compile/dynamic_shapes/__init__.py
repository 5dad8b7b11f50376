"""Graphs for many sizes: shape families and their specializations."""
