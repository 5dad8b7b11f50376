"""Runs of nodes as steps of one compiled call, on images whose channels lie last."""
