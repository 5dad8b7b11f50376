"""Guards: what must still hold for a captured graph to be run again."""
